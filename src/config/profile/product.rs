//! Facts about a product for all layers: connections and capabilities. A family computes them from its profile.

use super::network::DatagramPort;

/// One firmware of a product, without the facts that only its family needs.
#[derive(Clone, Debug)]
pub struct Product {
    /// Noun with its article, for messages: "a spinning lidar".
    pub noun: &'static str,
    /// Kind of the product's link.
    pub interface: Interface,
    /// Ports that send datagrams, the data port first; empty for products without datagrams.
    pub ports: Vec<DatagramPort>,
    /// Factory TCP ports of a server; empty for other interfaces.
    pub server_ports: &'static [u16],
    /// Additional ports on which hosts send commands to the product. A rig opens a port by setting its address.
    pub controls: &'static [Control],
    /// Whether the product has an output of PPS and serial data that another device's `gps_cable` can carry.
    pub has_gps_output: bool,
    /// Whether the product has an input for PPS and serial data of another device.
    pub has_gps_input: bool,
    /// Number of the serial port for corrections, which a base sends and a rover receives; `None` for products without
    /// this function.
    pub corrections_port: Option<u8>,
    /// Serial ports, each with name and number, to which a further device of the rig can be connected by its key
    /// `line_of`, as in `base.uart2`. The further device is only a serial line at that port.
    pub line_ports: Vec<(&'static str, u8)>,
    /// Relation to the joint that carries the device.
    pub joint: JointRole,
    /// Facts for faults of the optics; `None` for products other than lidars.
    pub lidar: Option<LidarTraits>,
    /// Whether the serial line is USB, which has no bit rate.
    pub is_usb: bool,
    /// Whether host commands move the robot.
    pub drives: bool,
    /// Whether the sensor measures colours.
    pub sees_colours: bool,
}

impl Product {
    /// A product whose only link is a serial line.
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

    /// A product that only sends datagrams, from these ports.
    pub fn of_datagrams(noun: &'static str, ports: Vec<DatagramPort>) -> Self {
        Self { interface: Interface::Datagrams, ports, ..Self::on_a_line(noun) }
    }
}

/// Relation of a product to the joint that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointRole {
    /// No relation: the joint only moves the product.
    None,
    /// The product reports the joint's position.
    Tells,
    /// The product reports the joint's position, and moves the joint according to host commands.
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

/// An input for host commands that is separate from the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Key of a rig's `link` that sets the address.
    pub key: &'static str,
    /// Documentation of the key.
    pub meaning: &'static str,
    /// Kind of the control.
    pub kind: ControlKind,
    /// Factory port, if there is one.
    pub port: Option<u16>,
}

impl Control {
    /// A web interface.
    pub const WEB: Self = Self {
        key: "web",
        meaning: "Address of the device's web interface.",
        kind: ControlKind::Web,
        port: Some(80),
    };
    /// A serial line for commands.
    pub const SERIAL_LINE: Self = Self {
        key: "control",
        meaning: "The serial line on which the device takes commands.",
        kind: ControlKind::SerialPort,
        port: None,
    };
}

/// Kind of a [`Control`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlKind {
    /// A web interface.
    Web,
    /// A TCP port for commands, for several hosts at a time.
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

/// Facts about a lidar for checking and interpreting the angles and laser numbers in a rig's faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LidarTraits {
    /// Number of lasers, numbered from 0.
    pub lasers: usize,
    /// Direction and origin of the product's angles.
    pub angles: AngleSense,
}

/// Direction and origin of a lidar's angles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AngleSense {
    /// Clockwise seen from above, 0 is forward.
    ClockwiseFromForward,
    /// Counter-clockwise seen from above, 0 is to the right and 90 degrees forward.
    CounterClockwiseFromRight,
    /// Counter-clockwise seen from above, 0 is forward.
    CounterClockwiseFromForward,
}
