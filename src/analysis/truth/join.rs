//! Ground truth of each decoded point.

use std::collections::{HashMap, VecDeque};

use glam::{DQuat, DVec3};
use sha2::{Digest, Sha256};

use super::file::{Names, TruthFileError, TruthReader};
use super::points::{PointPacket, PointPlace, SensorPoint};
use crate::wire::truth::{FiringRecord, MIRRORED, NONE, PacketRecord, PoseRecord, ReturnRecord};

/// Packets of a capture may be in another order than in the ground truth, by up to this time, nanoseconds: faults delay
/// packets, and networks reorder them. The clocks of the capture and of the run may also differ by this time.
const DISORDER_NS: u64 = 5_000_000_000;

/// The first eight bytes of a packet's SHA-256.
type Digest8 = [u8; 8];

/// Finds the ground truth of captured packets. The packets must be in about the same order as in the ground truth file.
pub struct Joiner {
    reader: TruthReader,
    known: HashMap<Digest8, VecDeque<PacketRecord>>,
    /// Due time (nanoseconds) and digest of each packet in `known`, in the order of the file. Used to remove old
    /// packets.
    order: VecDeque<(u64, Digest8)>,
    /// Due time of the latest packet that was found, nanoseconds, and its [`PointPacket::at_ns`].
    found: Option<(u64, i128)>,
    /// Due time of the latest packet that was read, nanoseconds.
    read_ns: u64,
    is_over: bool,
    has_packets: bool,
}

/// Ground truth of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointTruth {
    /// Firing of the point.
    pub firing: FiringRecord,
    /// Return of the point.
    pub seen: ReturnRecord,
    /// Pose of the sensor at the time of the firing.
    pub pose: PoseRecord,
}

impl PointTruth {
    /// Converts a point from the sensor's frame to World, metres.
    pub fn in_world(&self, position_m: DVec3) -> DVec3 {
        let turn = DQuat::from_array(self.pose.orientation);
        turn * position_m + DVec3::from_array(self.pose.position_m)
    }

    /// Whether the return is from a mirror image.
    pub fn is_mirrored(&self) -> bool {
        self.seen.slots & MIRRORED != 0
    }
}

impl Joiner {
    /// A joiner that has not read any ground truth from `reader` yet.
    pub fn new(reader: TruthReader) -> Self {
        Self {
            reader,
            known: HashMap::new(),
            order: VecDeque::new(),
            found: None,
            read_ns: 0,
            is_over: false,
            has_packets: false,
        }
    }

    /// Names to which the numbers of the ground truth refer.
    pub fn names(&self) -> &Names {
        self.reader.names()
    }

    /// Reads the ground truth until it finds one of `packets`, because a capture may start anywhere in a run. Returns
    /// false if the ground truth has none of them.
    ///
    /// # Errors
    /// The ground truth cannot be read or has no packets.
    pub fn skip_to(&mut self, packets: &[PointPacket]) -> Result<bool, TruthFileError> {
        let wanted: HashMap<Digest8, i128> =
            packets.iter().map(|packet| (digest(&packet.bytes), packet.at_ns)).collect();
        while self.read_one()? {
            if let Some((due, last)) = self.order.back().copied() {
                if let Some(at_ns) = wanted.get(&last) {
                    self.found = Some((due, *at_ns));
                    return Ok(true);
                }
                self.forget(due);
            }
        }
        if self.has_packets { Ok(false) } else { Err(TruthFileError::NoPackets) }
    }

    /// Ground truth of a packet; `None` if there is none, for example because a fault changed the packet's bytes.
    ///
    /// # Errors
    /// The ground truth cannot be read.
    pub fn find(&mut self, packet: &PointPacket) -> Result<Option<PacketRecord>, TruthFileError> {
        let digest = digest(&packet.bytes);
        let expected_ns = self.run_time_ns(packet.at_ns).unwrap_or(0);
        loop {
            if let Some(record) = self.known.get_mut(&digest).and_then(VecDeque::pop_front) {
                if self.found.is_none_or(|(due_ns, _)| due_ns <= record.due_ns) {
                    self.found = Some((record.due_ns, packet.at_ns));
                }
                self.forget(record.due_ns);
                return Ok(Some(record));
            }
            if self.read_ns > expected_ns.saturating_add(DISORDER_NS) || !self.read_one()? {
                return Ok(None);
            }
            // The recording may lack many packets that the ground truth has.
            self.forget(expected_ns.min(self.read_ns));
        }
    }

    /// Converts a packet's [`PointPacket::at_ns`] to nanoseconds since the start of the run: counts from the latest
    /// packet that was found. `None` if no packet was found yet.
    pub fn run_time_ns(&self, at_ns: i128) -> Option<u64> {
        let (due_ns, found_at_ns) = self.found?;
        let since_ns = u64::try_from(at_ns - found_at_ns).unwrap_or(0);
        Some(due_ns.saturating_add(since_ns))
    }

    /// Reads the rest of the ground truth, so that all of it is verified.
    ///
    /// # Errors
    /// The ground truth is damaged.
    pub fn check_rest(&mut self) -> Result<(), TruthFileError> {
        self.is_over = true;
        self.reader.check_rest()
    }

    /// Reads the next packet with firings; returns whether there was one.
    fn read_one(&mut self) -> Result<bool, TruthFileError> {
        while !self.is_over {
            let Some((_, record)) = self.reader.next_packet()? else {
                self.is_over = true;
                break;
            };
            self.has_packets = true;
            if record.firings.is_empty() {
                continue;
            }
            self.read_ns = self.read_ns.max(record.due_ns);
            self.order.push_back((record.due_ns, record.sha256));
            self.known.entry(record.sha256).or_default().push_back(record);
            return Ok(true);
        }
        Ok(false)
    }

    /// Removes packets that were due more than [`DISORDER_NS`] before `now_ns`.
    fn forget(&mut self, now_ns: u64) {
        while let Some((_, digest)) =
            self.order.pop_front_if(|(due, _)| *due + DISORDER_NS < now_ns)
        {
            if let Some(waiting) = self.known.get_mut(&digest) {
                while waiting.front().is_some_and(|first| first.due_ns + DISORDER_NS < now_ns) {
                    waiting.pop_front();
                }
                if waiting.is_empty() {
                    self.known.remove(&digest);
                }
            }
        }
    }
}

/// Finds the ground truth of the points of one packet.
pub struct PacketJoin<'a> {
    record: &'a PacketRecord,
    /// Indices of firings by laser, in the order of time.
    by_laser: HashMap<usize, Vec<usize>>,
    /// Angles of all firings, counterclockwise from forward (degrees, -180..180), with their indices.
    by_angle: Vec<(f64, usize)>,
    /// Smallest step between successive angles, degrees; steps of at most 0.05 degrees are ignored.
    spacing_deg: f64,
}

impl<'a> PacketJoin<'a> {
    /// Indexes the firings of a packet's ground truth for [`PacketJoin::find`].
    pub fn new(record: &'a PacketRecord) -> Self {
        let mut by_laser: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, firing) in record.firings.iter().enumerate() {
            by_laser.entry(firing.laser.into()).or_default().push(index);
        }
        for firings in by_laser.values_mut() {
            firings.sort_by_key(|&index| record.firings[index].time_ns);
        }
        let angle =
            |firing: &FiringRecord| within_turn(-f64::from(firing.azimuth_rad).to_degrees());
        let mut by_angle: Vec<(f64, usize)> =
            record.firings.iter().enumerate().map(|(index, f)| (angle(f), index)).collect();
        by_angle.sort_by(|one, other| one.0.total_cmp(&other.0));
        // Averaged scans repeat the same angles, so steps near zero are ignored.
        let apart = by_angle.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let spacing_deg = apart.filter(|apart| *apart > 0.05).fold(f64::INFINITY, f64::min);
        Self { record, by_laser, by_angle, spacing_deg }
    }

    /// Ground truth of a point; `None` if the ground truth has no such firing, no reported return of that firing, or no
    /// pose of the sensor.
    pub fn find(&self, point: &SensorPoint) -> Option<PointTruth> {
        let off = |seen: &ReturnRecord| (f64::from(seen.reported_m) - point.range_m).abs();
        let nearest = |one: &(usize, ReturnRecord), other: &(usize, ReturnRecord)| {
            off(&one.1).total_cmp(&off(&other.1))
        };
        let returns = |index: usize| {
            let reported = self.record.returns_of(&self.record.firings[index]).iter();
            reported.filter(|seen| !seen.reported_m.is_nan()).map(move |seen| (index, *seen))
        };
        let (index, seen) = match point.place {
            PointPlace::Firing(firing) => {
                let index = *self.by_laser.get(&point.laser)?.get(firing)?;
                returns(index).min_by(nearest)?
            }
            PointPlace::Angle { deg, step_deg } => {
                let half = 0.5 * self.spacing_deg.min(step_deg);
                let (from, to) = (deg - half, deg + (step_deg - half).max(half));
                self.firings_between(from, to).flat_map(returns).min_by(nearest)?
            }
        };
        let firing = self.record.firings[index];
        Some(PointTruth { firing, seen, pose: self.pose_at(firing.time_ns)? })
    }

    fn firings_between(&self, from_deg: f64, to_deg: f64) -> impl Iterator<Item = usize> {
        let middle = 0.5 * (from_deg + to_deg);
        let half = 0.5 * (to_deg - from_deg);
        let near = move |deg: f64| within_turn(deg - middle).abs() <= half;
        self.by_angle.iter().filter(move |(deg, _)| near(*deg)).map(|(_, index)| *index)
    }

    /// Pose of the sensor at an instant, interpolated between recorded poses; `None` if the record has no poses.
    fn pose_at(&self, time_ns: u64) -> Option<PoseRecord> {
        let poses = &self.record.poses;
        let after = poses.partition_point(|pose| pose.time_ns < time_ns);
        let next = poses.get(after).or(poses.last())?;
        let last = &poses[after.saturating_sub(1)];
        let span = next.time_ns.saturating_sub(last.time_ns) as f64;
        let share = if span > 0.0 {
            (time_ns.saturating_sub(last.time_ns) as f64 / span).min(1.0)
        } else {
            0.0
        };
        let (from, to) = (DQuat::from_array(last.orientation), DQuat::from_array(next.orientation));
        let position =
            DVec3::from_array(last.position_m).lerp(DVec3::from_array(next.position_m), share);
        Some(PoseRecord {
            time_ns,
            position_m: position.to_array(),
            orientation: from.slerp(to, share).to_array(),
        })
    }
}

/// Names of a point's surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointNames<'a> {
    /// Label of the point.
    pub label: &'a str,
    /// Name of the moving object; empty for static surfaces.
    pub object: &'a str,
    /// Name of the material.
    pub material: &'a str,
}

impl Names {
    /// Names of a return's surface.
    pub fn of(&self, seen: &ReturnRecord) -> PointNames<'_> {
        let object = (seen.object != NONE).then(|| self.objects.get(usize::from(seen.object)));
        let materials = match object {
            Some(object) => object.map_or(&[][..], |object| &object.materials),
            None => &self.materials,
        };
        let material = materials.get(usize::from(seen.material));
        let label = self.labels.get(usize::from(seen.label));
        PointNames {
            label: label.map_or("", String::as_str),
            object: object.flatten().map_or("", |object| object.name.as_str()),
            material: material.map_or("", |material| material.name.as_str()),
        }
    }
}

fn digest(bytes: &[u8]) -> Digest8 {
    *Sha256::digest(bytes).first_chunk().expect("a digest has 32 bytes")
}

/// Reduces an angle to -180..180 degrees.
fn within_turn(deg: f64) -> f64 {
    (deg + 180.0).rem_euclid(360.0) - 180.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::File;

    use super::*;
    use crate::wire::truth::{ENCODING, SCHEMA, Way};

    const SECOND_NS: u64 = 1_000_000_000;
    /// Time of the run's start on the clock of the capture, nanoseconds.
    const START_NS: i128 = 1_780_000_000_000_000_000;

    fn bytes(number: u64) -> Vec<u8> {
        number.to_le_bytes().to_vec()
    }

    fn packet(number: u64, due_ns: u64) -> PointPacket {
        let (bytes, points) = (bytes(number), Vec::new());
        PointPacket { number, at_ns: START_NS + i128::from(due_ns), bytes, points }
    }

    /// A joiner whose ground truth has `count` packets, one per second.
    fn joiner(count: u64) -> Joiner {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("truth.mcap");
        let options = mcap::WriteOptions::new().compression(None);
        let mut writer = mcap::Writer::with_options(File::create(&path).unwrap(), options).unwrap();
        let schema = writer.add_schema(SCHEMA, ENCODING, b"").unwrap();
        let topic = "/devices/lidar/packets";
        let channel_id = writer.add_channel(schema, topic, ENCODING, &BTreeMap::new()).unwrap();
        for number in 0..count {
            let due_ns = number * SECOND_NS;
            let firing = FiringRecord {
                time_ns: due_ns,
                azimuth_rad: 0.0,
                elevation_rad: 0.0,
                first_return: 0,
                laser: 0,
                returns: 0,
            };
            let record = PacketRecord {
                way: Way::Datagram,
                port: 0,
                len: 8,
                number,
                due_ns,
                sha256: digest(&bytes(number)),
                poses: Vec::new(),
                firings: vec![firing],
                returns: Vec::new(),
            };
            let mut message = Vec::new();
            record.emit(&mut message);
            let header = mcap::records::MessageHeader {
                channel_id,
                sequence: 0,
                log_time: due_ns,
                publish_time: due_ns,
            };
            writer.write_to_known_channel(&header, &message).unwrap();
        }
        writer.finish().unwrap();
        Joiner::new(TruthReader::open(&path).unwrap())
    }

    #[test]
    fn packets_after_a_long_gap_of_the_recording_are_found() {
        let mut joiner = joiner(60);
        let first = packet(2, 2 * SECOND_NS);
        assert!(joiner.skip_to(std::slice::from_ref(&first)).unwrap());
        let mut due_ns = |packet: &PointPacket| {
            joiner.find(packet).unwrap().map(|record| record.due_ns / SECOND_NS)
        };
        assert_eq!(due_ns(&first), Some(2));
        // A packet that the ground truth lacks, directly after the gap.
        assert_eq!(due_ns(&packet(1000, 40 * SECOND_NS)), None);
        for number in 41..60 {
            assert_eq!(due_ns(&packet(number, number * SECOND_NS)), Some(number));
        }
        assert_eq!(joiner.order.len(), 6, "old packets are still in memory");
    }

    #[test]
    fn packets_after_a_step_of_the_captures_clock_are_found() {
        let mut joiner = joiner(20);
        let first = packet(2, 2 * SECOND_NS);
        assert!(joiner.skip_to(std::slice::from_ref(&first)).unwrap());
        for number in 2..20 {
            // The clock is set forward by an hour after the sixth packet.
            let step_ns = if number > 5 { 3600 * SECOND_NS } else { 0 };
            let found = joiner.find(&packet(number, number * SECOND_NS + step_ns)).unwrap();
            assert_eq!(found.map(|record| record.number), Some(number));
        }
    }

    #[test]
    fn a_packet_without_ground_truth_has_the_time_of_the_run() {
        let mut joiner = joiner(10);
        assert_eq!(joiner.run_time_ns(START_NS), None);
        let first = packet(2, 2 * SECOND_NS);
        joiner.skip_to(std::slice::from_ref(&first)).unwrap();
        let half_ns = i128::from(SECOND_NS / 2);
        assert_eq!(joiner.run_time_ns(first.at_ns + half_ns), Some(5 * SECOND_NS / 2));
    }
}
