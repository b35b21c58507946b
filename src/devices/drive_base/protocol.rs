//! The protocols that drive bases speak.

/// The protocol a base speaks; what a profile's `driver` key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseProtocol {
    /// Basicmicro's RoboClaw in packet serial.
    RoboClaw,
    /// The Open Interface of a Create 2.
    CreateOi,
    /// Dimension Engineering's Kangaroo x2, in packets and text.
    Kangaroo,
    /// Dimension Engineering's Sabertooth alone.
    Sabertooth,
    /// Clearpath's Horizon, of a Husky A200.
    Horizon,
}

words!(BaseProtocol:
    "roboclaw" => RoboClaw, "create-oi" => CreateOi, "kangaroo" => Kangaroo,
    "sabertooth" => Sabertooth, "clearpath-horizon" => Horizon);
