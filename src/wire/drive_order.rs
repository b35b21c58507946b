//! Drive commands for a robot whose rig has no drive base (motor controller), one per datagram: input of
//! `trajectory = { kind = "drive", twist = "ADDRESS:PORT", … }`.
//!
//! Fixed little-endian fields without padding, as in [`super::feed`]; `docs/DRIVING.md` has the table of
//! offsets. In Python: `struct.pack("<4sIIdd", b"MNDR", 1, 0, forward_m_s, turn_rad_s)`.

/// Length of a datagram, bytes.
pub const DATAGRAM_LEN: usize = 28;
/// First four bytes of every datagram.
pub const MAGIC: [u8; 4] = *b"MNDR";
/// Version of the format, sent in every datagram.
pub const VERSION: u32 = 1;
/// Largest speed, m/s.
pub const MAX_SPEED_M_S: f64 = 100.0;
/// Largest angular rate, rad/s.
pub const MAX_RATE_RAD_S: f64 = 100.0;

/// Command to the robot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DriveOrder {
    /// Kind 0: drive with this speed and rate of turn.
    Twist {
        /// Forward speed, m/s.
        forward_m_s: f64,
        /// Rate of turn, positive to the left, rad/s.
        turn_rad_s: f64,
    },
    /// Kind 1: return to the pose at the start of the run.
    Reset,
    /// Kind 2: brake and ignore other commands until [`DriveOrder::Release`].
    EmergencyStop,
    /// Kind 3: end the emergency stop.
    Release,
}

/// Magic, version, kind, forward speed in m/s, rate of turn to the left in rad/s.
type Fields = ([u8; 4], u32, u32, f64, f64);

/// Reason for rejecting a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderFault {
    /// The datagram does not have [`DATAGRAM_LEN`] bytes.
    #[error("a drive command has {DATAGRAM_LEN} bytes")]
    Length,
    /// The datagram has another magic or version.
    #[error("a drive command begins with `MNDR` and version {VERSION}")]
    Version,
    /// Unknown kind of command.
    #[error("unknown kind of drive command; allowed: 0 to 3")]
    Kind,
    /// A value is not finite or too large, or is not 0 in an unused field.
    #[error(
        "a value is out of range; allowed: {MAX_SPEED_M_S} m/s, {MAX_RATE_RAD_S} rad/s, 0 if unused"
    )]
    Value,
}

impl DriveOrder {
    /// Reads a datagram. In all kinds except 0, speed and rate of turn must be 0.
    ///
    /// # Errors
    /// The datagram is not a valid command.
    pub fn decode(datagram: &[u8]) -> Result<Self, OrderFault> {
        if datagram.len() != DATAGRAM_LEN {
            return Err(OrderFault::Length);
        }
        let (magic, version, kind, forward_m_s, turn_rad_s): Fields =
            wincode::deserialize(datagram).map_err(|_| OrderFault::Length)?;
        if (magic, version) != (MAGIC, VERSION) {
            return Err(OrderFault::Version);
        }
        let bare = |order| {
            let is_bare = forward_m_s.to_bits() == 0 && turn_rad_s.to_bits() == 0;
            is_bare.then_some(order).ok_or(OrderFault::Value)
        };
        match kind {
            // NaN is in no range.
            0 if forward_m_s.abs() <= MAX_SPEED_M_S && turn_rad_s.abs() <= MAX_RATE_RAD_S => {
                Ok(Self::Twist { forward_m_s, turn_rad_s })
            }
            0 => Err(OrderFault::Value),
            1 => bare(Self::Reset),
            2 => bare(Self::EmergencyStop),
            3 => bare(Self::Release),
            _ => Err(OrderFault::Kind),
        }
    }

    /// Bytes of the datagram.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, forward_m_s, turn_rad_s) = match *self {
            Self::Twist { forward_m_s, turn_rad_s } => (0, forward_m_s, turn_rad_s),
            Self::Reset => (1, 0.0, 0.0),
            Self::EmergencyStop => (2, 0.0, 0.0),
            Self::Release => (3, 0.0, 0.0),
        };
        let fields: Fields = (MAGIC, VERSION, kind, forward_m_s, turn_rad_s);
        wincode::serialize(&fields).expect("plain fields fit into memory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected bytes are those of `struct.pack("<4sIIdd", b"MNDR", 1, 0, 0.5, -1.0)` in Python.
    #[test]
    fn the_layout_is_that_of_the_table() {
        let order = DriveOrder::Twist { forward_m_s: 0.5, turn_rad_s: -1.0 };
        let mut expected = b"MNDR\x01\0\0\0\0\0\0\0".to_vec();
        expected.extend([0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf]);
        assert_eq!(order.encode(), expected);
        assert_eq!(DriveOrder::decode(&expected), Ok(order));
        for order in [DriveOrder::Reset, DriveOrder::EmergencyStop, DriveOrder::Release] {
            assert_eq!(DriveOrder::decode(&order.encode()), Ok(order));
        }
    }

    #[test]
    fn what_is_no_order_is_refused() {
        let twist = |forward_m_s, turn_rad_s| {
            DriveOrder::decode(&DriveOrder::Twist { forward_m_s, turn_rad_s }.encode())
        };
        assert!(twist(MAX_SPEED_M_S, -MAX_RATE_RAD_S).is_ok());
        assert_eq!(twist(100.1, 0.0), Err(OrderFault::Value));
        assert_eq!(twist(0.0, f64::NAN), Err(OrderFault::Value));
        assert_eq!(twist(f64::NEG_INFINITY, 0.0), Err(OrderFault::Value));
        let changed = |at: usize, byte: u8| {
            let mut bytes = DriveOrder::Reset.encode();
            bytes[at] = byte;
            DriveOrder::decode(&bytes)
        };
        assert_eq!(changed(0, b'm'), Err(OrderFault::Version));
        assert_eq!(changed(4, 2), Err(OrderFault::Version));
        assert_eq!(changed(8, 4), Err(OrderFault::Kind));
        assert_eq!(changed(20, 1), Err(OrderFault::Value));
        assert_eq!(DriveOrder::decode(&DriveOrder::Reset.encode()[1..]), Err(OrderFault::Length));
    }
}
