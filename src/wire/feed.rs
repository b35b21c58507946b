//! Poses and twists from another simulator, one per datagram: input of `kind = "feed"`.
//!
//! The format is bincode with integers of fixed length (`wincode`'s default): consecutive little-endian fields without
//! gaps. `docs/FEED.md` has the table of offsets.

/// Length of a datagram, bytes.
pub const DATAGRAM_LEN: usize = 128;
/// First four bytes of every datagram.
pub const MAGIC: [u8; 4] = *b"MNFD";
/// Version of the format, sent in every datagram.
pub const VERSION: u32 = 1;

/// Largest distance from the origin along an axis, metres.
pub const MAX_POSITION_M: f64 = 1e5;
/// Largest speed, m/s.
pub const MAX_SPEED_M_S: f64 = 1e3;
/// Largest angular rate, rad/s.
pub const MAX_RATE_RAD_S: f64 = 1e2;

/// Pose and twist of a body, as received from another simulator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseTwist {
    /// The constant [`MAGIC`].
    pub magic: [u8; 4],
    /// The constant [`VERSION`].
    pub version: u32,
    /// Number of the datagram, counted by the sender.
    pub sequence: u64,
    /// Time of the pose on the sender's clock, nanoseconds from any origin.
    pub time_ns: u64,
    /// Position of the body in the World frame, metres.
    pub position_m: [f64; 3],
    /// Rotation from the Body frame to World, a unit quaternion: x, y, z, w.
    pub orientation_xyzw: [f64; 4],
    /// Velocity of the body's origin relative to World, in the Body frame, m/s.
    pub velocity_m_s: [f64; 3],
    /// Angular rate of the body relative to World, in the Body frame, rad/s.
    pub angular_rate_rad_s: [f64; 3],
}

/// The fields in order. A tuple, because `wincode`'s derive takes long to build.
type Fields = ([u8; 4], u32, u64, u64, [f64; 3], [f64; 4], [f64; 3], [f64; 3]);

/// Reason for rejecting a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedFault {
    /// The datagram does not have [`DATAGRAM_LEN`] bytes.
    #[error("a datagram of the feed has {DATAGRAM_LEN} bytes")]
    Length,
    /// The datagram has another magic or version.
    #[error("a datagram of the feed begins with `MNFD` and version {VERSION}")]
    Version,
    /// A value is not finite, or exceeds its limit, such as [`MAX_SPEED_M_S`].
    #[error(
        "a value is out of range; allowed: {MAX_POSITION_M} m, {MAX_SPEED_M_S} m/s, {MAX_RATE_RAD_S} rad/s"
    )]
    Value,
    /// The quaternion is not of unit length.
    #[error("the orientation is not a unit quaternion: its length must be 0.99 to 1.01")]
    Orientation,
}

impl PoseTwist {
    /// Reads a datagram. The quaternion's length must be between 0.99 and 1.01.
    ///
    /// # Errors
    /// The datagram is not a valid pose.
    pub fn decode(datagram: &[u8]) -> Result<Self, FeedFault> {
        if datagram.len() != DATAGRAM_LEN {
            return Err(FeedFault::Length);
        }
        let fields: Fields = wincode::deserialize(datagram).map_err(|_| FeedFault::Length)?;
        let (magic, version, sequence, time_ns, ..) = fields;
        let (.., position_m, orientation_xyzw, velocity_m_s, angular_rate_rad_s) = fields;
        let read = Self {
            magic,
            version,
            sequence,
            time_ns,
            position_m,
            orientation_xyzw,
            velocity_m_s,
            angular_rate_rad_s,
        };
        if (read.magic, read.version) != (MAGIC, VERSION) {
            return Err(FeedFault::Version);
        }
        // NaN is in no range.
        let within = |values: &[f64], most: f64| values.iter().all(|v| v.abs() <= most);
        let is_sane = within(&read.position_m, MAX_POSITION_M)
            && within(&read.velocity_m_s, MAX_SPEED_M_S)
            && within(&read.angular_rate_rad_s, MAX_RATE_RAD_S)
            && read.orientation_xyzw.iter().all(|part| part.is_finite());
        if !is_sane {
            return Err(FeedFault::Value);
        }
        let norm = read.orientation_xyzw.iter().map(|q| q * q).sum::<f64>().sqrt();
        if (norm - 1.0).abs() > 0.01 {
            return Err(FeedFault::Orientation);
        }
        Ok(read)
    }

    /// Bytes of the datagram.
    pub fn encode(&self) -> Vec<u8> {
        let Self { magic, version, sequence, time_ns, .. } = *self;
        let Self { position_m, orientation_xyzw, velocity_m_s, angular_rate_rad_s, .. } = *self;
        let fields: Fields = (
            magic,
            version,
            sequence,
            time_ns,
            position_m,
            orientation_xyzw,
            velocity_m_s,
            angular_rate_rad_s,
        );
        wincode::serialize(&fields).expect("plain fields fit into memory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout of `examples/feed.py`: `struct.pack("<4sIQQ13d", ...)`.
    #[test]
    fn the_layout_is_that_of_the_table() {
        let pose = PoseTwist {
            magic: MAGIC,
            version: VERSION,
            sequence: 0x0102_0304_0506_0708,
            time_ns: 9,
            position_m: [1.0, 2.0, 3.0],
            orientation_xyzw: [0.0, 0.0, 0.6, 0.8],
            velocity_m_s: [4.0, 5.0, 6.0],
            angular_rate_rad_s: [7.0, 8.0, 9.0],
        };
        let bytes = pose.encode();
        assert_eq!(bytes.len(), DATAGRAM_LEN);
        assert_eq!(bytes[..8], *b"MNFD\x01\0\0\0");
        assert_eq!(bytes[8..24], [8, 7, 6, 5, 4, 3, 2, 1, 9, 0, 0, 0, 0, 0, 0, 0]);
        let numbers = [1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0f64];
        let expected: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(bytes[24..], expected);
        assert_eq!(PoseTwist::decode(&bytes), Ok(pose));
    }

    #[test]
    fn what_is_no_pose_is_refused() {
        let pose = PoseTwist {
            magic: MAGIC,
            version: VERSION,
            sequence: 0,
            time_ns: 0,
            position_m: [0.0; 3],
            orientation_xyzw: [0.0, 0.0, 0.0, 1.0],
            velocity_m_s: [0.0; 3],
            angular_rate_rad_s: [0.0; 3],
        };
        let refused = |change: &dyn Fn(&mut PoseTwist)| {
            let mut changed = pose;
            change(&mut changed);
            PoseTwist::decode(&changed.encode()).unwrap_err()
        };
        assert_eq!(refused(&|p| p.magic[3] = b'E'), FeedFault::Version);
        assert_eq!(refused(&|p| p.version = 2), FeedFault::Version);
        assert_eq!(refused(&|p| p.position_m[1] = f64::NAN), FeedFault::Value);
        assert_eq!(refused(&|p| p.velocity_m_s[2] = f64::INFINITY), FeedFault::Value);
        assert_eq!(refused(&|p| p.angular_rate_rad_s[0] = -101.0), FeedFault::Value);
        assert_eq!(refused(&|p| p.orientation_xyzw[3] = f64::NAN), FeedFault::Value);
        for scale in [0.0, 2.0, f64::MAX] {
            let refused = refused(&|p| p.orientation_xyzw = [0.0, 0.0, 0.0, scale]);
            assert_eq!(refused, FeedFault::Orientation, "{scale}");
        }
        let good = pose.encode();
        assert_eq!(PoseTwist::decode(&good[..127]), Err(FeedFault::Length));
        assert_eq!(PoseTwist::decode(&[good, vec![0]].concat()), Err(FeedFault::Length));
    }
}
