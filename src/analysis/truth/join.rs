//! Ground truth of each decoded point.

use std::collections::{HashMap, HashSet, VecDeque};

use glam::{DQuat, DVec3};
use sha2::{Digest, Sha256};

use super::file::{Names, TruthFileError, TruthReader};
use super::points::{PointPacket, PointPlace, SensorPoint};
use crate::wire::truth::{FiringRecord, MIRRORED, NONE, PacketRecord, PoseRecord, ReturnRecord};

/// Packets of a capture may be in another order than in the ground truth, by up to this time, nanoseconds: faults delay
/// packets, and networks reorder them.
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
    /// Due time of the latest packet that was found, nanoseconds.
    found_ns: Option<u64>,
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
            found_ns: None,
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
        let wanted: HashSet<Digest8> = packets.iter().map(|packet| digest(&packet.bytes)).collect();
        while self.read_one()? {
            if let Some((due, last)) = self.order.back().copied() {
                if wanted.contains(&last) {
                    self.found_ns = Some(due);
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
        loop {
            if let Some(record) = self.known.get_mut(&digest).and_then(VecDeque::pop_front) {
                self.found_ns = Some(self.found_ns.unwrap_or(0).max(record.due_ns));
                self.forget(record.due_ns);
                return Ok(Some(record));
            }
            let from = self.found_ns.unwrap_or(0);
            if self.read_ns > from + DISORDER_NS || !self.read_one()? {
                return Ok(None);
            }
        }
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
