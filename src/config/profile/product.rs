//! Facts about a product for all layers, whatever its family: connections and capabilities. A family makes
//! them from its profile.

use super::network::DatagramPort;

/// One firmware of a product, without facts that only its family needs.
#[derive(Clone, Debug)]
pub struct Product {
    /// Noun with its article, for messages: "a spinning lidar".
    pub noun: &'static str,
    /// Kind of the product's link.
    pub interface: Interface,
    /// Ports that send datagrams, the port of the data first; empty for products without datagrams.
    pub ports: Vec<DatagramPort>,
    /// Factory TCP ports, if the interface is a server.
    pub server_ports: &'static [u16],
    /// Further ports on which hosts send commands to the product. A rig opens a port by giving it an address.
    pub controls: &'static [Control],
    /// Whether the product outputs PPS and bytes that another device's `gps_cable` may carry.
    pub has_gps_output: bool,
    /// Whether the product has an input for PPS and bytes of another device.
    pub has_gps_input: bool,
    /// Port for corrections, as output of a base and input of a rover, if the product is a GNSS receiver with
    /// that function.
    pub corrections_port: Option<u8>,
    /// Names and numbers of ports that a further device of a rig can connect to a line.
    pub line_ports: Vec<(&'static str, u8)>,
    /// Relation to the joint that carries the device.
    pub joint: JointRole,
    /// Facts for faults of the optics, if the product is a lidar.
    pub lidar: Option<LidarTraits>,
    /// Whether its serial line is USB, which no rate limits.
    pub is_usb: bool,
    /// Whether the host's commands move the robot.
    pub drives: bool,
    /// Whether the sensor measures colours of surfaces.
    pub sees_colours: bool,
}

impl Product {
    /// A product with only a serial line.
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
            line_ports: Vec::new(),
            joint: JointRole::None,
            lidar: None,
            is_usb: false,
            drives: false,
            sees_colours: false,
        }
    }

    /// A product that only sends datagrams, by these ports.
    pub fn of_datagrams(noun: &'static str, ports: Vec<DatagramPort>) -> Self {
        Self { interface: Interface::Datagrams, ports, ..Self::on_a_line(noun) }
    }
}

/// Role of a product for the joint that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointRole {
    /// The product has no role; the joint only moves it.
    None,
    /// Reports the joint's position.
    Tells,
    /// Reports the joint's position, and moves the joint as its host commands.
    Commands,
}

/// Kind of connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// UDP datagrams.
    Datagrams,
    /// A serial line.
    Line,
    /// A TCP server, to which hosts connect.
    Server,
}

/// A port, separate from the link, on which hosts send commands to the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Key of a rig's `link` that sets the address.
    pub key: &'static str,
    /// Kind of the control.
    pub kind: ControlKind,
    /// Factory port, if there is one.
    pub port: Option<u16>,
}

/// Kind of a [`Control`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlKind {
    /// A web interface.
    Web,
    /// A TCP port where hosts give commands, several at a time.
    Commands,
    /// A UDP port for commands.
    Datagrams {
        /// Whether the port receives broadcasts.
        hears_broadcasts: bool,
        /// Whether broadcasts are answered by broadcast instead of unicast.
        answers_all: bool,
    },
    /// A serial port.
    SerialPort,
}

/// Meaning of a rig's angles and laser numbers for a lidar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LidarTraits {
    /// Number of lasers, numbered from 0.
    pub lasers: usize,
    /// Sense of the product's angles.
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
