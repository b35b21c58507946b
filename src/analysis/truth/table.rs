//! Table of decoded points, with their ground truth if given.

use std::path::Path;

use super::file::{Names, TruthReader};
use super::join::{Joiner, PacketJoin, PointTruth};
use super::points::{PointPacket, SensorPoint, each_packet};
use crate::analysis::ReportError;
use crate::config::profile::Profile;
use crate::wire::truth::NONE;

/// Number of packets at the start of a recording. If none of them is in the ground truth, the files are of different
/// runs.
const FIRST: usize = 64;

/// A row of the table: one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointRow {
    /// Number of the point's packet, from 0.
    pub packet: u64,
    /// Time of the firing, seconds since the start of the run. For a point that the ground truth lacks: the packet's
    /// time, seconds since the start of the run. If no ground truth is given: the packet's time, seconds, see
    /// [`PointPacket::at_ns`].
    pub time_s: f64,
    /// The decoded point.
    pub point: SensorPoint,
    /// Ground truth of the point; `None` if there is none.
    pub truth: Option<PointTruth>,
}

/// Counts of packets and points, with and without ground truth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinCounts {
    /// Number of packets with points.
    pub packets: u64,
    /// Number of packets without ground truth: a fault has changed them, or they are from another run. All packets, if
    /// no ground truth is given.
    pub unknown_packets: u64,
    /// Number of points.
    pub points: u64,
    /// Number of points without ground truth; all points, if no ground truth is given.
    pub unknown_points: u64,
    /// Message about unusable parts of the recording.
    pub lost: Option<String>,
}

/// Calls `see` with every point of `recording`, and with the names in the ground truth. If `truth` is given, points are
/// labelled with its ground truth. Returns the counts and these names, which are empty without `truth`.
///
/// # Errors
/// A file cannot be read or is damaged, `truth` is of another run, or `see` fails.
pub fn each_point(
    recording: &Path,
    profile: Option<&Profile>,
    truth: Option<&Path>,
    see: &mut dyn FnMut(&PointRow, &Names) -> Result<(), String>,
) -> Result<(JoinCounts, Names), ReportError> {
    let told = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut joiner = match truth {
        None => None,
        Some(path) => {
            let reader = TruthReader::open(path);
            Some(Joiner::new(reader.map_err(|error| ReportError::Input(told(path, &error)))?))
        }
    };
    let mut counts = JoinCounts::default();
    let mut first: Vec<PointPacket> = Vec::new();
    let mut has_begun = joiner.is_none();
    let mut one = |packet: PointPacket, joiner: &mut Option<Joiner>| -> Result<(), String> {
        counts.packets += 1;
        counts.points += packet.points.len() as u64;
        let found = match (joiner.as_mut(), truth) {
            (Some(joiner), Some(path)) => joiner.find(&packet).map_err(|e| told(path, &e))?,
            _ => None,
        };
        counts.unknown_packets += u64::from(found.is_none());
        let run_time_ns = joiner.as_ref().and_then(|joiner| joiner.run_time_ns(packet.at_ns));
        let packet_s = run_time_ns.map_or(packet.at_ns as f64, |ns| ns as f64) * 1e-9;
        let join = found.as_ref().map(PacketJoin::new);
        let no_names = Names::default();
        let names = joiner.as_ref().map_or(&no_names, Joiner::names);
        for point in &packet.points {
            let truth = join.as_ref().and_then(|join| join.find(point));
            counts.unknown_points += u64::from(truth.is_none());
            let time_s = match &truth {
                Some(truth) => truth.firing.time_ns as f64 * 1e-9,
                None => packet_s,
            };
            see(&PointRow { packet: packet.number, time_s, point: *point, truth }, names)?;
        }
        Ok(())
    };
    let begin = |first: &[PointPacket], joiner: &mut Option<Joiner>| -> Result<(), String> {
        let (Some(joiner), Some(path)) = (joiner, truth) else { return Ok(()) };
        match joiner.skip_to(first).map_err(|error| told(path, &error))? {
            true => Ok(()),
            false => Err(format!(
                "none of its first {} packets is in {}: the files are of different runs",
                first.len(),
                path.display()
            )),
        }
    };
    let lost = each_packet(recording, profile, &mut |packet| {
        if has_begun {
            return one(packet, &mut joiner);
        }
        first.push(packet);
        if first.len() < FIRST {
            return Ok(());
        }
        has_begun = true;
        begin(&first, &mut joiner)?;
        first.drain(..).try_for_each(|packet| one(packet, &mut joiner))
    })?;
    if !has_begun {
        begin(&first, &mut joiner).map_err(ReportError::Input)?;
        let rest = first.drain(..).try_for_each(|packet| one(packet, &mut joiner));
        rest.map_err(ReportError::Input)?;
    }
    if let (Some(joiner), Some(path)) = (&mut joiner, truth) {
        joiner.check_rest().map_err(|error| ReportError::Input(told(path, &error)))?;
    }
    let names = joiner.map(|joiner| joiner.names().clone()).unwrap_or_default();
    counts.lost = lost;
    Ok((counts, names))
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// 32-bit floating-point numbers.
    F32(Vec<f32>),
    /// 64-bit floating-point numbers.
    F64(Vec<f64>),
    /// Bytes.
    U8(Vec<u8>),
    /// 16-bit unsigned integers.
    U16(Vec<u16>),
    /// 32-bit unsigned integers.
    U32(Vec<u32>),
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column, such as `range_m`; a suffix gives the unit. `x`, `y` and `z` are metres.
    pub name: &'static str,
    /// Values, one for each point.
    pub values: Values,
}

/// Frame of the coordinates `x`, `y` and `z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Frame {
    /// Axes of the sensor: forward, left, up.
    #[default]
    Sensor,
    /// Axes of the world: east, north, up; requires ground truth, and leaves out points without it.
    World,
}

/// Columns of all points.
#[derive(Clone, Debug, PartialEq)]
pub struct PointTable {
    /// Columns in the order in which they are written; the first are `x`, `y` and `z`.
    pub columns: Vec<Column>,
    /// Names of labels; empty without ground truth.
    pub labels: Vec<String>,
    /// Number of points.
    pub len: usize,
}

type Number = (&'static str, Kind, fn(&PointRow) -> f64);

#[derive(Clone, Copy)]
enum Kind {
    F32,
    F64,
    U8,
    U16,
    U32,
}

/// Columns about the decoded points, in addition to the coordinates.
const OF_POINTS: [Number; 5] = [
    ("intensity", Kind::F32, |row| row.point.intensity),
    ("range_m", Kind::F32, |row| row.point.range_m),
    ("laser", Kind::U16, |row| row.point.laser as f64),
    ("packet", Kind::U32, |row| row.packet as f64),
    ("time_s", Kind::F64, |row| row.time_s),
];

/// Columns with ground truth. For points without ground truth, `label` and `is_mirrored` are 0, other integers have
/// their largest value, and floating-point numbers are NaN.
const OF_TRUTH: [Number; 9] = [
    ("label", Kind::U16, |row| row.truth.map_or(0.0, |truth| truth.seen.label.into())),
    ("object", Kind::U16, |row| row.truth.map_or(NONE, |truth| truth.seen.object).into()),
    ("instance", Kind::U32, |row| row.truth.map_or(u32::MAX, |truth| truth.seen.instance).into()),
    ("material", Kind::U16, |row| row.truth.map_or(NONE, |truth| truth.seen.material).into()),
    ("true_range_m", Kind::F32, |row| row.truth.map_or(f32::NAN, |t| t.seen.true_m).into()),
    ("incidence_deg", Kind::F32, |row| row.truth.map_or(f64::NAN, |t| incidence_deg(&t))),
    ("share", Kind::F32, |row| {
        row.truth.map_or(f64::NAN, |truth| f64::from(truth.seen.share) / 65_535.0)
    }),
    ("why", Kind::U8, |row| row.truth.map_or(u8::MAX, |truth| truth.seen.why).into()),
    ("is_mirrored", Kind::U8, |row| {
        row.truth.map_or(0.0, |t| f64::from(u8::from(t.is_mirrored())))
    }),
];

/// Angle between the beam and the surface normal, degrees.
pub fn incidence_deg(truth: &PointTruth) -> f64 {
    libm::acos(f64::from(truth.seen.cos_incidence) / 65_535.0).to_degrees()
}

impl PointTable {
    /// Reads the points of a recording into a table.
    ///
    /// # Errors
    /// See [`each_point`].
    pub fn collect(
        recording: &Path,
        profile: Option<&Profile>,
        truth: Option<&Path>,
        frame: Frame,
    ) -> Result<(Self, JoinCounts), ReportError> {
        let mut rows = Vec::new();
        let (counts, names) = each_point(recording, profile, truth, &mut |row, _| {
            if frame == Frame::Sensor || row.truth.is_some() {
                rows.push(*row);
            }
            Ok(())
        })?;
        Ok((Self::of(&rows, truth.is_some(), frame, names), counts))
    }

    fn of(rows: &[PointRow], has_truth: bool, frame: Frame, names: Names) -> Self {
        let place = |row: &PointRow| match (frame, &row.truth) {
            (Frame::World, Some(truth)) => truth.in_world(row.point.position_m),
            _ => row.point.position_m,
        };
        let places: Vec<_> = rows.iter().map(place).collect();
        let axis = |name: &'static str, axis: usize| {
            let values = places.iter().map(|place| place[axis] as f32).collect();
            Column { name, values: Values::F32(values) }
        };
        let mut columns = vec![axis("x", 0), axis("y", 1), axis("z", 2)];
        let truth = if has_truth { &OF_TRUTH[..] } else { &[] };
        for (name, kind, value) in OF_POINTS.iter().chain(truth) {
            let numbers = rows.iter().map(value);
            let values = match kind {
                Kind::F32 => Values::F32(numbers.map(|number| number as f32).collect()),
                Kind::F64 => Values::F64(numbers.collect()),
                Kind::U8 => Values::U8(numbers.map(|number| number as u8).collect()),
                Kind::U16 => Values::U16(numbers.map(|number| number as u16).collect()),
                Kind::U32 => Values::U32(numbers.map(|number| number as u32).collect()),
            };
            columns.push(Column { name, values });
        }
        Self { columns, labels: names.labels, len: rows.len() }
    }

    /// Values of the column with this name; `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }
}

impl Values {
    /// Appends the bytes of the value at `index`, little-endian, to `out`.
    pub fn put(&self, index: usize, out: &mut Vec<u8>) {
        match self {
            Self::F32(all) => out.extend(all[index].to_le_bytes()),
            Self::F64(all) => out.extend(all[index].to_le_bytes()),
            Self::U8(all) => out.push(all[index]),
            Self::U16(all) => out.extend(all[index].to_le_bytes()),
            Self::U32(all) => out.extend(all[index].to_le_bytes()),
        }
    }

    /// The value at `index` as a floating-point number.
    pub fn number(&self, index: usize) -> f64 {
        match self {
            Self::F32(all) => all[index].into(),
            Self::F64(all) => all[index],
            Self::U8(all) => all[index].into(),
            Self::U16(all) => all[index].into(),
            Self::U32(all) => all[index].into(),
        }
    }

    /// Size of one value, bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::U16(_) => 2,
            Self::F32(_) | Self::U32(_) => 4,
            Self::F64(_) => 8,
        }
    }

    /// Whether values are floating-point numbers.
    pub fn is_fraction(&self) -> bool {
        matches!(self, Self::F32(_) | Self::F64(_))
    }
}
