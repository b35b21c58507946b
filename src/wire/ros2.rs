//! ROS 2 messages that contain packets of lidars, in the CDR encoding of recordings.
//!
//! Sources: the message definitions of velodyne_msgs, pandar_msgs, nebula_msgs and ouster_sensor_msgs; the
//! OMG's DDSI-RTPS for CDR. Other messages are not supported.

use crate::ParseError;

/// Length of CDR's header, bytes: byte order, and two bytes of options.
const HEAD_LEN: usize = 4;
/// Longest packet that fits into a `PandarPacket`, bytes.
const PANDAR_ROOM: usize = 1500;
/// Length of the packet in a `VelodynePacket`, bytes.
const VELODYNE_LEN: usize = 1206;
/// Largest number of packets that are read from a message; further packets are ignored.
const MAX_PACKETS: u32 = 1 << 20;

/// Types of messages with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `velodyne_msgs/msg/VelodyneScan`.
    VelodyneScan,
    /// `pandar_msgs/msg/PandarScan`.
    PandarScan,
    /// `nebula_msgs/msg/NebulaPackets`, of any product.
    NebulaPackets,
    /// `ouster_sensor_msgs/msg/PacketMsg`: one packet without a time.
    PacketMsg,
}

/// A packet of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Arrival time, nanoseconds of POSIX time; `None` if the message has none.
    pub unix_ns: Option<i128>,
    /// Payload of the datagram.
    pub payload: Vec<u8>,
}

/// Content of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// Frame of reference, as named by the sender.
    pub frame_id: String,
    /// Packets in the order of the message.
    pub packets: Vec<Packet>,
}

impl Kind {
    /// Kind for the name of a message type, with or without `msg/`, which older recordings omit; `None` for an
    /// unsupported type.
    pub fn of(type_name: &str) -> Option<Self> {
        let (package, name) = (type_name.split('/').next()?, type_name.rsplit('/').next()?);
        match (package, name) {
            ("velodyne_msgs", "VelodyneScan") => Some(Self::VelodyneScan),
            ("pandar_msgs", "PandarScan") => Some(Self::PandarScan),
            ("nebula_msgs", "NebulaPackets") => Some(Self::NebulaPackets),
            ("ouster_sensor_msgs" | "ouster_msgs" | "ouster_ros", "PacketMsg") => {
                Some(Self::PacketMsg)
            }
            _ => None,
        }
    }

    /// Default UDP destination port of the product for this payload. The messages themselves contain no ports.
    pub fn usual_port(self, payload: &[u8]) -> u16 {
        match self {
            Self::VelodyneScan | Self::PandarScan | Self::NebulaPackets => 2368,
            // Packets of the IMU are shorter than those of the lidar.
            Self::PacketMsg if payload.len() < 256 => 7503,
            Self::PacketMsg => 7502,
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// The bytes are not a message of this kind.
    pub fn parse(self, bytes: &[u8]) -> Result<Packets, ParseError> {
        let mut cdr = Cdr::new(bytes)?;
        let mut all = Packets::default();
        if self == Self::PacketMsg {
            let len = cdr.word()?;
            let payload = cdr.take(len as usize)?.to_vec();
            all.packets.push(Packet { unix_ns: None, payload });
            return Ok(all);
        }
        cdr.time()?;
        let len = cdr.word()? as usize;
        let text = cdr.take(len)?;
        all.frame_id =
            String::from_utf8_lossy(text.strip_suffix(&[0]).unwrap_or(text)).into_owned();
        let count = cdr.word()?;
        for _ in 0..count.min(MAX_PACKETS) {
            let unix_ns = Some(cdr.time()?);
            let payload = match self {
                Self::VelodyneScan => cdr.take(VELODYNE_LEN)?.to_vec(),
                Self::PandarScan => {
                    let room = cdr.take(PANDAR_ROOM)?;
                    let size = cdr.word()? as usize;
                    let own = room.get(..size).ok_or(ParseError::Length {
                        what: "PandarPacket",
                        need: size,
                        got: PANDAR_ROOM,
                    })?;
                    own.to_vec()
                }
                Self::NebulaPackets | Self::PacketMsg => {
                    let len = cdr.word()? as usize;
                    cdr.take(len)?.to_vec()
                }
            };
            all.packets.push(Packet { unix_ns, payload });
        }
        Ok(all)
    }
}

/// Name of the message type that [`nebula_packet`] writes.
pub const NEBULA_TYPE: &str = "nebula_msgs/msg/NebulaPackets";
/// Definition of [`NEBULA_TYPE`], as ROS 2 recordings store it.
pub const NEBULA_DEFINITION: &str = "\
std_msgs/Header header
nebula_msgs/NebulaPacket[] packets
================================================================================
MSG: nebula_msgs/NebulaPacket
builtin_interfaces/Time stamp
uint8[] data
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
";

/// Encodes a [`NEBULA_TYPE`] message with one packet: a datagram of any length.
///
/// # Errors
/// The time is outside the range of ROS 2: 1901 to 2038.
pub fn nebula_packet(frame_id: &str, unix_ns: i128, payload: &[u8]) -> Result<Vec<u8>, ParseError> {
    let (seconds, nanos) = (unix_ns.div_euclid(1_000_000_000), unix_ns.rem_euclid(1_000_000_000));
    let seconds = i32::try_from(seconds).map_err(|_| ParseError::Value {
        field: "stamp",
        value: seconds.unsigned_abs() as u64,
        allowed: "seconds of 32 bits",
    })?;
    let time = [seconds.to_le_bytes(), (nanos as u32).to_le_bytes()].concat();
    let mut bytes = [&[0, 1, 0, 0], &time[..]].concat();
    bytes.extend((frame_id.len() as u32 + 1).to_le_bytes());
    bytes.extend(frame_id.as_bytes());
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(time);
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(payload);
    Ok(bytes)
}

/// Reads CDR data whose numbers have four bytes.
struct Cdr<'a> {
    bytes: &'a [u8],
    at: usize,
    is_little: bool,
}

impl<'a> Cdr<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let need = HEAD_LEN;
        let order = bytes.get(1).filter(|_| bytes.len() >= need);
        let order = order.ok_or(ParseError::Length { what: "CDR", need, got: bytes.len() })?;
        Ok(Self { bytes, at: HEAD_LEN, is_little: order & 1 == 1 })
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], ParseError> {
        let need = self.at.saturating_add(len);
        let taken = self.bytes.get(self.at..need);
        let got = self.bytes.len();
        let taken = taken.ok_or(ParseError::Length { what: "CDR message", need, got })?;
        self.at = need;
        Ok(taken)
    }

    /// Reads four bytes at the next offset that is a multiple of four, counted from the end of the header.
    fn word(&mut self) -> Result<u32, ParseError> {
        self.at = self.at.next_multiple_of(4);
        let bytes = self.take(4)?.try_into().expect("four bytes");
        Ok(if self.is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn time(&mut self) -> Result<i128, ParseError> {
        let seconds = self.word()?.cast_signed();
        Ok(i128::from(seconds) * 1_000_000_000 + i128::from(self.word()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_comes_back_with_its_time_and_every_byte() {
        let ns = 1_700_000_000_123_456_789;
        for payload in [&[][..], &[1, 2, 3], &[7; 33_000]] {
            let bytes = nebula_packet("10.0.0.1:1>10.0.0.2:2", ns, payload).unwrap();
            let read = Kind::of(NEBULA_TYPE).unwrap().parse(&bytes).unwrap();
            assert_eq!(read.frame_id, "10.0.0.1:1>10.0.0.2:2");
            assert_eq!(read.packets, [Packet { unix_ns: Some(ns), payload: payload.to_vec() }]);
            for cut in 0..bytes.len().min(64) {
                Kind::NebulaPackets.parse(&bytes[..cut]).unwrap_err();
            }
        }
        assert!(nebula_packet("", i128::MAX, &[]).is_err());
    }

    #[test]
    fn packets_of_fixed_room_are_cut_to_their_size() {
        // Big-endian, with an empty frame id and one packet of two bytes.
        let mut bytes = vec![0, 0, 0, 0];
        let mut word = |value: u32| bytes.extend(value.to_be_bytes());
        [5, 6, 1].into_iter().for_each(&mut word);
        bytes.extend([0, 0, 0, 0]);
        [1u32, 7, 8].into_iter().for_each(|value| bytes.extend(value.to_be_bytes()));
        bytes.extend([9; PANDAR_ROOM]);
        bytes.extend(2u32.to_be_bytes());
        let read = Kind::of("pandar_msgs/msg/PandarScan").unwrap().parse(&bytes).unwrap();
        let unix_ns = Some(7_000_000_008);
        assert_eq!(read.packets, [Packet { unix_ns, payload: vec![9, 9] }]);
        *bytes.last_mut().unwrap() = 255;
        let at = bytes.len() - 2;
        bytes[at] = 255;
        Kind::PandarScan.parse(&bytes).unwrap_err();
        assert_eq!(Kind::of("sensor_msgs/msg/PointCloud2"), None);
    }

    #[test]
    fn an_ousters_packets_go_to_their_usual_ports() {
        let bytes = [&[0, 1, 0, 0, 48, 0, 0, 0][..], &[3; 48]].concat();
        let kind = Kind::of("ouster_sensor_msgs/msg/PacketMsg").unwrap();
        let read = kind.parse(&bytes).unwrap();
        assert_eq!(read.packets, [Packet { unix_ns: None, payload: vec![3; 48] }]);
        assert_eq!(kind.usual_port(&read.packets[0].payload), 7503);
        assert_eq!(kind.usual_port(&[0; 24_832]), 7502);
    }
}
