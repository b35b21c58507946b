//! Ground truth of a packet as a message: little-endian records of fixed length. `docs/TRUTH.md` describes every
//! byte.
//!
//! ```text
//! head 48 | poses 64 each | firings 24 each | returns 24 each
//! ```

use super::ParseError;

/// Name of the messages' schema.
pub const SCHEMA: &str = "menura.Packet";
/// Encoding of the messages.
pub const ENCODING: &str = "x-menura-packet";
/// Version of the layout.
pub const VERSION: u16 = 1;
/// Length of the header, bytes.
pub const HEAD_LEN: usize = 48;
/// Length of a pose, bytes.
pub const POSE_LEN: usize = 64;
/// Length of a firing, bytes.
pub const FIRING_LEN: usize = 24;
/// Length of a return, bytes.
pub const RETURN_LEN: usize = 24;
/// Offset of the pose count in the header, bytes. The counts of firings and of returns follow the pose count.
const COUNTS: usize = 32;
/// Bit of [`ReturnRecord::slots`]: the surface was seen in a mirror.
pub const MIRRORED: u8 = 0x80;
/// Index that means no object or no material.
pub const NONE: u16 = u16::MAX;

/// Kind of link by which bytes leave a device. The discriminants are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// A datagram.
    Datagram = 0,
    /// Bytes on a serial line.
    Line = 1,
    /// Bytes to one of the hosts that are connected by TCP.
    Peer = 2,
}

/// Ground truth of a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketRecord {
    /// Kind of link by which the packet leaves.
    pub way: Way,
    /// Index of the device's port.
    pub port: u8,
    /// Length of the packet, bytes.
    pub len: u32,
    /// Number of the packet, counted for each port.
    pub number: u64,
    /// Time when the packet is due, nanoseconds from the start of the run.
    pub due_ns: u64,
    /// The first eight bytes of the SHA-256 of the packet's bytes.
    pub sha256: [u8; 8],
    /// Poses of the sensor, in order of time.
    pub poses: Vec<PoseRecord>,
    /// Pulses whose results are in the packet, including pulses without a reported return.
    pub firings: Vec<FiringRecord>,
    /// Returns, in the order of the firings.
    pub returns: Vec<ReturnRecord>,
}

/// Pose of the sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseRecord {
    /// Time, nanoseconds from the start of the run.
    pub time_ns: u64,
    /// Position in World: east, north, up, metres.
    pub position_m: [f64; 3],
    /// Rotation from the sensor's axes to World: quaternion x, y, z, w.
    pub orientation: [f64; 4],
}

/// A pulse of a laser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiringRecord {
    /// Time, nanoseconds from the start of the run.
    pub time_ns: u64,
    /// Azimuth of the beam in the sensor's frame, radians clockwise from forward.
    pub azimuth_rad: f32,
    /// Elevation of the beam in the sensor's frame, radians.
    pub elevation_rad: f32,
    /// Index of the pulse's first return in [`PacketRecord::returns`].
    pub first_return: u32,
    /// Index of the laser.
    pub laser: u16,
    /// Number of the pulse's records in [`PacketRecord::returns`], at least 1: a pulse without a reported return has
    /// one record.
    pub returns: u8,
}

/// A return or, for a pulse without a reported return, the nearest surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReturnRecord {
    /// Measured range before rounding for the wire, metres; NaN if the device reports no return.
    pub reported_m: f32,
    /// True range of the surface, metres; NaN if nothing was hit.
    pub true_m: f32,
    /// Index of the instance that was hit; for a moving object, the scene's number of instances plus the object's
    /// index. All ones if no surface was hit, for example if rain reflected the pulse.
    pub instance: u32,
    /// Index of the material in the scene or, for a moving object, in the object; [`NONE`] if no surface was hit.
    pub material: u16,
    /// Index of the label in the file's list of labels.
    pub label: u16,
    /// Cosine of the angle of incidence, times 65535.
    pub cos_incidence: u16,
    /// Share of the echo's light that this surface reflected, times 65535.
    pub share: u16,
    /// Index of the moving object; [`NONE`] for static surfaces, and if no surface was hit.
    pub object: u16,
    /// Reason why the return is not from the nearest surface, or why there is no return: discriminant of `Why` in
    /// `sensors::truth`.
    pub why: u8,
    /// Reported echoes that contain the return, one bit each (dual return: 1 strongest, 2 last), and [`MIRRORED`].
    pub slots: u8,
}

impl PacketRecord {
    /// Appends the message to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend(VERSION.to_le_bytes());
        out.extend([self.way as u8, self.port]);
        out.extend(self.len.to_le_bytes());
        out.extend(self.number.to_le_bytes());
        out.extend(self.due_ns.to_le_bytes());
        out.extend(self.sha256);
        for count in [self.poses.len(), self.firings.len(), self.returns.len(), 0] {
            out.extend((count as u32).to_le_bytes());
        }
        for pose in &self.poses {
            out.extend(pose.time_ns.to_le_bytes());
            let numbers = pose.position_m.iter().chain(&pose.orientation);
            numbers.for_each(|number| out.extend(number.to_le_bytes()));
        }
        for firing in &self.firings {
            out.extend(firing.time_ns.to_le_bytes());
            out.extend(firing.azimuth_rad.to_le_bytes());
            out.extend(firing.elevation_rad.to_le_bytes());
            out.extend(firing.first_return.to_le_bytes());
            out.extend(firing.laser.to_le_bytes());
            out.extend([firing.returns, 0]);
        }
        for one in &self.returns {
            out.extend(one.reported_m.to_le_bytes());
            out.extend(one.true_m.to_le_bytes());
            out.extend(one.instance.to_le_bytes());
            let words = [one.material, one.label, one.cos_incidence, one.share, one.object];
            words.iter().for_each(|word| out.extend(word.to_le_bytes()));
            out.extend([one.why, one.slots]);
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// The bytes are not a valid message.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let length = |need: usize| ParseError::Length {
            what: "ground truth of a packet",
            need,
            got: bytes.len(),
        };
        let head = bytes.first_chunk::<HEAD_LEN>().ok_or(length(HEAD_LEN))?;
        let version = u16_at(head, 0);
        if version != VERSION {
            return Err(ParseError::value("version", version, "1"));
        }
        let way = match head[2] {
            0 => Way::Datagram,
            1 => Way::Line,
            2 => Way::Peer,
            other => return Err(ParseError::value("way", other, "0 to 2")),
        };
        let [poses, firings, returns] = [0, 4, 8].map(|place| u32_at(head, COUNTS + place));
        let size = |count: u32, len: usize| (count as usize).saturating_mul(len);
        let need = HEAD_LEN
            .saturating_add(size(poses, POSE_LEN))
            .saturating_add(size(firings, FIRING_LEN))
            .saturating_add(size(returns, RETURN_LEN));
        if need != bytes.len() {
            return Err(length(need));
        }
        let padding = u32_at(head, 44);
        if padding != 0 {
            return Err(ParseError::value("padding", padding, "0"));
        }
        let rest = &bytes[HEAD_LEN..];
        let (pose_bytes, rest) = rest.split_at(poses as usize * POSE_LEN);
        let (firing_bytes, return_bytes) = rest.split_at(firings as usize * FIRING_LEN);
        let firing = |bytes: &[u8]| FiringRecord::get(bytes, returns);
        let firings =
            firing_bytes.chunks_exact(FIRING_LEN).map(firing).collect::<Result<_, _>>()?;
        Ok(Self {
            way,
            port: head[3],
            len: u32_at(head, 4),
            number: u64_at(head, 8),
            due_ns: u64_at(head, 16),
            sha256: head[24..32].try_into().expect("eight bytes"),
            poses: pose_bytes.chunks_exact(POSE_LEN).map(PoseRecord::get).collect(),
            firings,
            returns: return_bytes.chunks_exact(RETURN_LEN).map(ReturnRecord::get).collect(),
        })
    }

    /// Returns of a firing of this message.
    pub fn returns_of(&self, firing: &FiringRecord) -> &[ReturnRecord] {
        let first = firing.first_return as usize;
        self.returns.get(first..first + usize::from(firing.returns)).unwrap_or_default()
    }
}

impl PoseRecord {
    fn get(bytes: &[u8]) -> Self {
        let number = |place: usize| f64::from_bits(u64_at(bytes, 8 + 8 * place));
        Self {
            time_ns: u64_at(bytes, 0),
            position_m: std::array::from_fn(number),
            orientation: std::array::from_fn(|place| number(3 + place)),
        }
    }
}

impl FiringRecord {
    fn get(bytes: &[u8], all_returns: u32) -> Result<Self, ParseError> {
        let (first_return, returns) = (u32_at(bytes, 16), bytes[22]);
        if first_return.checked_add(returns.into()).is_none_or(|end| end > all_returns) {
            return Err(ParseError::value("first return", first_return, "an index in the message"));
        }
        if bytes[23] != 0 {
            return Err(ParseError::value("padding", bytes[23], "0"));
        }
        Ok(Self {
            time_ns: u64_at(bytes, 0),
            azimuth_rad: f32::from_bits(u32_at(bytes, 8)),
            elevation_rad: f32::from_bits(u32_at(bytes, 12)),
            first_return,
            laser: u16_at(bytes, 20),
            returns,
        })
    }
}

impl ReturnRecord {
    fn get(bytes: &[u8]) -> Self {
        Self {
            reported_m: f32::from_bits(u32_at(bytes, 0)),
            true_m: f32::from_bits(u32_at(bytes, 4)),
            instance: u32_at(bytes, 8),
            material: u16_at(bytes, 12),
            label: u16_at(bytes, 14),
            cos_incidence: u16_at(bytes, 16),
            share: u16_at(bytes, 18),
            object: u16_at(bytes, 20),
            why: bytes[22],
            slots: bytes[23],
        }
    }
}

fn u16_at(bytes: &[u8], place: usize) -> u16 {
    u16::from_le_bytes(bytes[place..place + 2].try_into().expect("two bytes"))
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(bytes[place..place + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(bytes[place..place + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn record() -> PacketRecord {
        let one = ReturnRecord {
            reported_m: 10.5,
            true_m: 10.25,
            instance: 7,
            material: 3,
            label: 2,
            cos_incidence: 0x8000,
            share: 0xffff,
            object: NONE,
            why: 1,
            slots: 3,
        };
        PacketRecord {
            way: Way::Datagram,
            port: 1,
            len: 1206,
            number: 5,
            due_ns: 1_000_000_007,
            sha256: [1, 2, 3, 4, 5, 6, 7, 8],
            poses: vec![PoseRecord {
                time_ns: 9,
                position_m: [1.0, 2.0, 3.0],
                orientation: [0.0, 0.0, 0.0, 1.0],
            }],
            firings: vec![FiringRecord {
                time_ns: 10,
                azimuth_rad: 1.5,
                elevation_rad: -0.25,
                first_return: 0,
                laser: 15,
                returns: 2,
            }],
            returns: vec![one, ReturnRecord { reported_m: 20.0, ..one }],
        }
    }

    #[test]
    fn a_message_reads_back_and_every_truncation_is_refused() {
        let record = record();
        let mut bytes = Vec::new();
        record.emit(&mut bytes);
        assert_eq!(bytes.len(), HEAD_LEN + POSE_LEN + FIRING_LEN + 2 * RETURN_LEN);
        // The offsets and values are those of docs/TRUTH.md.
        assert_eq!(bytes[..8], [1, 0, 0, 1, 0xb6, 4, 0, 0]);
        assert_eq!(bytes[24..32], record.sha256);
        assert_eq!(bytes[32..44], [1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bytes[HEAD_LEN + POSE_LEN + 20..][..4], [15, 0, 2, 0]);
        assert_eq!(PacketRecord::parse(&bytes), Ok(record.clone()));
        assert_eq!(record.returns_of(&record.firings[0]).len(), 2);
        for len in 0..bytes.len() {
            assert!(PacketRecord::parse(&bytes[..len]).is_err(), "{len}");
        }
        bytes.push(0);
        assert!(matches!(PacketRecord::parse(&bytes), Err(ParseError::Length { .. })));
        bytes.pop();
        for (place, value) in [(0, 2), (2, 3), (44, 1), (112 + 22, 3), (112 + 23, 1)] {
            let mut wrong = bytes.clone();
            wrong[place] = value;
            assert!(
                matches!(PacketRecord::parse(&wrong), Err(ParseError::Value { .. })),
                "{place}"
            );
        }
    }
}
