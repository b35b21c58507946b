//! What the rest of Menura may know of a product, whatever its family: how it is connected and what
//! can be asked of it. A family makes this from its profile.

use super::network::DatagramPort;

/// One firmware of a product, seen from outside its family.
#[derive(Clone, Debug)]
pub struct Product {
    /// What it is, with its article, for messages: "a spinning lidar".
    pub noun: &'static str,
    /// Kind of its link.
    pub interface: Interface,
    /// The ports it sends datagrams to, that of its data first; none of products that send no
    /// datagrams.
    pub ports: Vec<DatagramPort>,
    /// The TCP ports that it listens on as it is delivered, if its interface is a server.
    pub server_ports: &'static [u16],
    /// How hosts talk to it beside its link. A rig opens those that it gives an address.
    pub controls: &'static [Control],
    /// Whether it sends PPS and bytes that another device's `gps_cable` may carry.
    pub has_gps_output: bool,
    /// Whether it has an input for PPS and bytes of another device.
    pub has_gps_input: bool,
    /// The port by which it sends corrections as a base and takes them as a rover, if it is a GNSS
    /// receiver that can be one.
    pub corrections_port: Option<u8>,
    /// Words and numbers of its ports, if a further device of a rig can be the line that leads to one.
    pub line_ports: &'static [(&'static str, u8)],
    /// Relation to the joint that it sits on.
    pub joint: JointRole,
    /// Facts that faults of its optics need, if it is a lidar.
    pub lidar: Option<LidarTraits>,
    /// Whether its serial line is USB, which no rate limits.
    pub is_usb: bool,
    /// Whether its host's commands move the robot.
    pub drives: bool,
    /// Whether it sees the colours of surfaces.
    pub sees_colours: bool,
}

impl Product {
    /// A product with a serial line and nothing else.
    pub fn on_a_line(noun: &'static str) -> Self {
        Self {
            noun,
            interface: Interface::Line,
            ports: Vec::new(),
            server_ports: &[],
            controls: &[],
            has_gps_output: false,
            has_gps_input: false,
            corrections_port: None,
            line_ports: &[],
            joint: JointRole::None,
            lidar: None,
            is_usb: false,
            drives: false,
            sees_colours: false,
        }
    }

    /// A product that sends datagrams by these ports and has nothing else.
    pub fn of_datagrams(noun: &'static str, ports: Vec<DatagramPort>) -> Self {
        Self { interface: Interface::Datagrams, ports, ..Self::on_a_line(noun) }
    }
}

/// What a product has to do with the joint that it sits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointRole {
    /// Nothing but that it is moved.
    None,
    /// Reports the joint's position.
    Tells,
    /// Reports the joint's position, and moves the joint as its host commands.
    Commands,
}

/// How a product is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// It sends UDP datagrams.
    Datagrams,
    /// It has a serial line.
    Line,
    /// Hosts connect to it by TCP.
    Server,
}

/// A way of hosts to a product beside its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The key of a rig's `link` that gives it an address.
    pub key: &'static str,
    /// Kind of the control.
    pub kind: ControlKind,
    /// Its port as the product is delivered, if it has one.
    pub port: Option<u16>,
}

/// Kind of a [`Control`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlKind {
    /// A web interface.
    Web,
    /// A TCP port where hosts give commands, several at a time.
    Commands,
    /// A UDP port where hosts give commands.
    Datagrams {
        /// Whether it hears what hosts broadcast to the port.
        hears_broadcasts: bool,
        /// Whether it answers such hosts by broadcast; else it answers them alone.
        answers_all: bool,
    },
    /// A serial port.
    SerialPort,
}

/// Meaning of a rig's angles and laser numbers for a lidar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LidarTraits {
    /// Number of lasers; they are numbered from 0.
    pub lasers: usize,
    /// How it counts its own angles.
    pub angles: AngleSense,
}

/// Sense in which a lidar counts its angles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AngleSense {
    /// Clockwise seen from above, 0 is forward.
    ClockwiseFromForward,
    /// Counter-clockwise seen from above, 0 is to the right and 90 degrees forward.
    CounterClockwiseFromRight,
    /// Counter-clockwise seen from above, 0 is forward.
    CounterClockwiseFromForward,
}
