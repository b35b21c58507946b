//! The data packets of one flow: who sends them, how fast, how complete.

use std::collections::BTreeMap;

use super::gaps::Gaps;
use crate::wire::velodyne::hdl64e_status::{
    S1Status, StatusDecoder, StatusEvent, StatusFormat, StatusTable,
};
use crate::wire::velodyne::{Bank, DataPacket, FULL_TURN_CENTIDEG, HOUR_US, Model};

/// Issues kept as examples.
const MAX_EXAMPLES: usize = 3;
/// A pause longer than this says nothing about the rotor.
const MAX_ROTOR_STEP_NS: i128 = 50_000_000;
/// A device's clock does not jitter: more than this many periods is a gap.
const DEVICE_GAP_PERIODS: f64 = 1.5;
/// The capturing host's does.
const CAPTURE_GAP_PERIODS: f64 = 4.0;

/// Which HDL-64E.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// First.
    S1,
    /// S2 and S2.1.
    S2,
    /// S3.
    S3,
    /// One of the two with a status cycle.
    S2OrS3,
}

/// Who sends data packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// An HDL-64E.
    Hdl64e(Generation),
    /// A unit that gives its product id.
    Other(Model),
    /// Nothing fits.
    Unknown,
}

impl Unit {
    /// What the unit is called.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Hdl64e(Generation::S1) => "HDL-64E S1",
            Unit::Hdl64e(Generation::S2) => "HDL-64E S2",
            Unit::Hdl64e(Generation::S3) => "HDL-64E S3",
            Unit::Hdl64e(Generation::S2OrS3) => "HDL-64E S2 or S3",
            Unit::Other(model) => model.name(),
            Unit::Unknown => "unknown",
        }
    }

    /// Whether its packets carry a timestamp.
    pub fn has_timestamp(self) -> bool {
        self != Unit::Hdl64e(Generation::S1)
    }

    /// Metres of one step of distance.
    pub fn distance_unit_m(self) -> f64 {
        match self {
            Unit::Other(model) => model.distance_unit_m(),
            _ => Model::Hdl64e.distance_unit_m(),
        }
    }
}

/// Least, most and mean of steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range {
    count: u64,
    sum: u64,
    /// The least.
    pub min: u32,
    /// The most.
    pub max: u32,
}

impl Range {
    fn see(&mut self, value: u32) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.sum += u64::from(value);
        self.count += 1;
    }

    /// `None` for no step at all.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// The data packets of a flow.
#[derive(Debug, Default)]
pub struct DataFlow {
    /// How many.
    pub packets: u64,
    /// How many hold two returns of each firing.
    pub dual_packets: u64,
    /// Points sent.
    pub points: u64,
    /// Of these, the ones without a return.
    pub zero_points: u64,
    /// From one azimuth to the next within packets, 0.01 degrees.
    pub azimuth_step: Range,
    /// How often the azimuth passed zero.
    pub turns: u64,
    /// How often the azimuth went back.
    pub azimuth_back: u64,
    /// Faults of packets.
    pub issues: u64,
    /// The first of them, with their packet's number in the flow.
    pub issue_examples: Vec<String>,
    /// The last two bytes of the last packet.
    pub last_status: [u8; 2],
    /// First and last device timestamp, microseconds past the hour.
    pub timestamps_us: Option<(u32, u32)>,
    /// How often the device timestamp went back.
    pub timestamps_back: u64,
    /// Of the device's timestamps.
    device_gaps: Gaps,
    /// Of the capture's times.
    capture_gaps: Gaps,
    /// Calibration tables received whole.
    pub tables: u64,
    /// Calibration tables received with a fault.
    pub bad_tables: u64,
    /// The last whole one.
    pub table: Option<Box<StatusTable>>,
    /// The status cycle.
    pub decoder: StatusDecoder,
    /// S1: the last temperature, degrees C.
    pub s1_temperature_c: Option<f64>,
    /// S1: the last version.
    pub s1_version: Option<u16>,
    models: BTreeMap<Option<Model>, u64>,
    upper_blocks: u64,
    lower_blocks: u64,
    saw_warning_type: bool,
    last_packet: Option<(i128, u16)>,
    last_azimuth: Option<u16>,
    rotor_centideg: u64,
    rotor_ns: i128,
}

impl DataFlow {
    /// Who sends, judged by all packets so far.
    pub fn unit(&self) -> Unit {
        let hdl64e = self.models.get(&Some(Model::Hdl64e)).copied().unwrap_or(0);
        // An S1 in groups of whole datagrams names itself in one of four.
        if hdl64e * 8 >= self.packets && hdl64e > 0 {
            return Unit::Hdl64e(self.generation());
        }
        let most = self.models.iter().max_by_key(|(_, count)| **count);
        most.and_then(|(model, _)| *model).map_or(Unit::Unknown, Unit::Other)
    }

    /// Rotor speed, rpm.
    pub fn rotation_rate_rpm(&self) -> Option<f64> {
        (self.rotor_ns > 0).then(|| self.rotor_centideg as f64 * 1e9 / self.rotor_ns as f64 / 600.0)
    }

    /// Missing packets, by the device's timestamps where there are any.
    pub fn gaps(&self) -> &Gaps {
        if self.unit().has_timestamp() { &self.device_gaps } else { &self.capture_gaps }
    }

    fn generation(&self) -> Generation {
        if self.s1_temperature_c.is_some() || self.lower_blocks * 2 <= self.upper_blocks {
            return Generation::S1;
        }
        match self.table.as_ref().map(|table| table.format) {
            Some(StatusFormat::S3) => Generation::S3,
            Some(StatusFormat::S2) => Generation::S2,
            None if self.saw_warning_type || self.dual_packets > 0 => Generation::S3,
            None => Generation::S2OrS3,
        }
    }

    /// Takes the next packet.
    pub fn see(&mut self, packet: &DataPacket, unix_ns: i128) {
        self.packets += 1;
        *self.models.entry(packet.model()).or_default() += 1;
        self.see_status(packet);
        let unit = self.unit();
        self.see_blocks(packet);
        self.see_times(packet, unix_ns, unit);
        for issue in packet.check() {
            self.issues += 1;
            if self.issue_examples.len() < MAX_EXAMPLES {
                self.issue_examples.push(format!("packet {}: {issue}", self.packets));
            }
        }
    }

    fn see_blocks(&mut self, packet: &DataPacket) {
        let dual = packet.is_dual_return();
        self.dual_packets += u64::from(dual);
        for (index, block) in packet.blocks.iter().enumerate() {
            match Bank::from_flag(block.flag) {
                Some(Bank::Upper) => self.upper_blocks += 1,
                Some(Bank::Lower) => self.lower_blocks += 1,
                Some(_) => {}
                None => continue,
            }
            self.points += block.points.len() as u64;
            self.zero_points += block.points.iter().filter(|p| p.distance == 0).count() as u64;

            let azimuth = block.azimuth_centideg;
            let Some(last) = self.last_azimuth.replace(azimuth) else { continue };
            let step = azimuth_step(last, azimuth);
            if step > HALF_TURN_CENTIDEG {
                self.azimuth_back += 1;
                continue;
            }
            self.turns += u64::from(azimuth < last);
            // Between packets there may be packets missing.
            if step > 0 && index > 0 {
                self.azimuth_step.see(step);
            }
        }
    }

    fn see_times(&mut self, packet: &DataPacket, unix_ns: i128, unit: Unit) {
        let azimuth = packet.blocks[0].azimuth_centideg;
        let now_us = packet.timestamp_us();
        let (first_us, last_us) = self.timestamps_us.unwrap_or((now_us, now_us));
        self.timestamps_us = Some((first_us, now_us));
        let Some((last_unix_ns, last_azimuth)) = self.last_packet.replace((unix_ns, azimuth))
        else {
            return;
        };
        let capture_ns = unix_ns - last_unix_ns;
        self.capture_gaps.see(capture_ns.max(0) as f64 / 1000.0, CAPTURE_GAP_PERIODS);

        let hour = i64::from(HOUR_US);
        let device_us = (i64::from(now_us) - i64::from(last_us)).rem_euclid(hour);
        let back = device_us > hour / 2;
        if back {
            self.timestamps_back += u64::from(unit.has_timestamp());
        } else {
            self.device_gaps.see(device_us as f64, DEVICE_GAP_PERIODS);
        }
        let elapsed_ns = match unit.has_timestamp() {
            true if !back => i128::from(device_us) * 1000,
            _ => capture_ns,
        };
        let advance = azimuth_step(last_azimuth, azimuth);
        if elapsed_ns > 0 && elapsed_ns < MAX_ROTOR_STEP_NS && advance < HALF_TURN_CENTIDEG {
            self.rotor_centideg += u64::from(advance);
            self.rotor_ns += elapsed_ns;
        }
    }

    fn see_status(&mut self, packet: &DataPacket) {
        let [kind, value] = packet.status_bytes();
        self.last_status = [kind, value];
        match S1Status::parse(packet.tail) {
            S1Status::Temperature { fraction, degrees_c } => {
                self.s1_temperature_c = Some(f64::from(degrees_c) + f64::from(fraction) / 256.0);
            }
            S1Status::Version { version, .. } => self.s1_version = Some(version),
        }
        if !matches!(self.unit(), Unit::Hdl64e(generation) if generation != Generation::S1) {
            return;
        }
        self.saw_warning_type |= kind == b'W';
        match self.decoder.feed(kind, value) {
            Some(StatusEvent::Table(table)) => {
                self.tables += 1;
                self.table = Some(table);
            }
            Some(StatusEvent::BadTable(_)) => self.bad_tables += 1,
            Some(StatusEvent::OutOfOrder) | None => {}
        }
    }
}

const HALF_TURN_CENTIDEG: u32 = FULL_TURN_CENTIDEG as u32 / 2;

/// Forward from one azimuth to another, 0.01 degrees, below a full turn.
fn azimuth_step(from: u16, to: u16) -> u32 {
    let turn = i32::from(FULL_TURN_CENTIDEG);
    (i32::from(to) - i32::from(from)).rem_euclid(turn) as u32
}
