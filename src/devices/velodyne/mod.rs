//! Velodynes with fixed optics: HDL-32E, VLP-16, Puck Hi-Res, VLP-32C, VLS-128.
//!
//! All lasers fire once in a sequence, sequences follow one another without a pause, and whole
//! sequences fill 1206-byte packets ([`layout`]). What differs between models is data.
//!
//! Sources: the manuals of the HDL-32E, VLP-16 (63-9243), VLP-32C (63-9325) and VLS-128; captures
//! of each for what they leave out: points without return, jitter of the azimuth, packets that a
//! narrow field of view holds open until the next turn.

pub mod layout;
pub mod rotor;

use std::collections::VecDeque;
use std::f64::consts::TAU;
use std::sync::Arc;

use super::{Device, Output, Transmit};
use crate::config::hdl64e::ReturnMode;
use crate::config::velodyne::{VelodyneLaser, VelodynePacket, VelodyneProfile, VelodyneSettings};
use crate::sensors::beam::EchoSelection;
use crate::sensors::lidar::Lidar;
use crate::sensors::noise::{NoiseSource, Quantity, RequestNoise};
use crate::sensors::pattern::LaserGeometry;
use crate::sensors::{
    FiringSlot, Measurement, MeasurementRequest, Outcome, PulseReturns, Return, RotorMotion,
    Subject, Sweep,
};
use crate::time::{Epoch, SimTime};
use crate::wire::velodyne::{
    self as wire, Block, DATA_PACKET_LEN, DataPacket, FULL_TURN_CENTIDEG, Point,
};
use layout::{BlockPlan, Holds, Layout};

/// One unit.
pub struct Velodyne {
    packet: VelodynePacket,
    settings: VelodyneSettings,
    lasers: Vec<VelodyneLaser>,
    layout: Layout,
    sequence_ns: u64,
    /// Of packets whose sequences follow one another, as nearly all do.
    even_firings: Arc<[FiringSlot]>,
    noise: NoiseSource,
    epoch: Epoch,
    /// Sequences since the first instant, those outside the field of view too.
    next_sequence: u64,
    next_request: u64,
    planned: VecDeque<PacketPlan>,
    ready: VecDeque<Transmit>,
}

/// A packet that is being measured.
struct PacketPlan {
    index: u64,
    /// The starts of its sequences.
    starts: Vec<SimTime>,
}

impl Velodyne {
    /// A unit that has been running at its set speed since before the first instant.
    pub fn new(
        profile: &VelodyneProfile,
        settings: &VelodyneSettings,
        noise: NoiseSource,
        epoch: Epoch,
    ) -> Self {
        let is_dual = settings.return_mode == ReturnMode::Dual;
        let layout = Layout::new(profile.lasers.len(), is_dual);
        let starts: Vec<_> =
            (0..layout.sequences as u64).map(|k| SimTime(k * profile.sequence_ns)).collect();
        Self {
            packet: profile.packet.clone(),
            settings: settings.clone(),
            even_firings: firings(&profile.lasers, &starts),
            lasers: profile.lasers.clone(),
            layout,
            sequence_ns: profile.sequence_ns,
            noise,
            epoch,
            next_sequence: 0,
            next_request: 0,
            planned: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// The physics that measures for this unit.
    pub fn lidar(&self) -> Lidar {
        let geometry = |laser: &VelodyneLaser| LaserGeometry {
            elevation_rad: laser.elevation_rad,
            azimuth_offset_rad: laser.azimuth_offset_rad,
            exit_up_m: laser.vertical_offset_m,
            ..LaserGeometry::default()
        };
        Lidar::new(
            self.lasers.iter().map(geometry).collect(),
            &self.settings.beam,
            &self.settings.noise,
            self.noise,
        )
    }

    /// The rotor's angle in turns, 0..1.
    fn turn(&self, at: SimTime) -> f64 {
        // Whole numbers until the last step, so that no day is long enough to drift.
        let turn_ns = 60_000_000_000u128;
        let turned = u128::from(at.0) * u128::from(self.settings.rotation_rate_rpm) % turn_ns;
        let start = self.settings.start_azimuth_rad / TAU;
        (turned as f64 / turn_ns as f64 + start).rem_euclid(1.0)
    }

    fn is_in_view(&self, turn: f64) -> bool {
        let [first, last] = self.settings.field_of_view_deg.map(f64::from);
        let degree = turn * 360.0;
        if (last + 1.0 - first).rem_euclid(360.0) == 0.0 {
            true
        } else if first <= last {
            (first..last).contains(&degree)
        } else {
            degree >= first || degree < last
        }
    }

    /// The share of a turn in which lasers fire.
    fn view_share(&self) -> f64 {
        let [first, last] = self.settings.field_of_view_deg.map(f64::from);
        let view = (last - first).rem_euclid(360.0);
        if view == 359.0 { 1.0 } else { view / 360.0 }
    }

    /// The start of the first sequence from `from` on that is in view, and its number.
    fn next_in_view(&self, from: u64) -> Option<(u64, SimTime)> {
        // A turn at the slowest rate has fewer sequences than this; a view of no width has none.
        let turn = 60_000_000_000 / (self.sequence_ns * u64::from(self.settings.rotation_rate_rpm));
        (from..=from + 2 * turn)
            .map(|sequence| (sequence, SimTime(sequence * self.sequence_ns)))
            .find(|(_, start)| self.is_in_view(self.turn(*start)))
    }

    fn azimuth_centideg(&self, start: SimTime, noise: &RequestNoise, sequence: usize) -> u16 {
        let jitter = self.settings.azimuth_jitter_centideg;
        let error =
            if jitter == 0.0 { 0.0 } else { noise.standard_normal(sequence, Quantity::Encoder) };
        let full = f64::from(FULL_TURN_CENTIDEG);
        let reported = (self.turn(start) * full + jitter * error).rem_euclid(full);
        reported.round() as u16 % FULL_TURN_CENTIDEG
    }

    fn point(&self, echo: Option<Return>, firing: usize, noise: &RequestNoise) -> Point {
        let [low, high] = self.packet.dark_intensity;
        let dark = || Point {
            distance: 0,
            intensity: noise.whole(firing, Quantity::DarkIntensity, low, high),
        };
        let Some(echo) = echo else { return dark() };
        let counts = (f64::from(echo.range_m) / self.packet.distance_unit_m).round();
        if !(1.0..=65_535.0).contains(&counts) {
            return dark();
        }
        let full = f64::from(self.packet.diffuse_full_scale);
        let intensity = (f64::from(echo.intensity) * full).round().clamp(0.0, 255.0);
        Point { distance: counts as u16, intensity: intensity as u8 }
    }

    fn block(
        &self,
        plan: &BlockPlan,
        azimuths: &[u16],
        returns: &[PulseReturns],
        noise: &RequestNoise,
    ) -> Block {
        let azimuth_centideg = azimuths[plan.sequence];
        if plan.holds == Holds::Nothing {
            let points = [Point { distance: 0, intensity: 0 }; wire::SLOTS];
            return Block { flag: self.packet.filler_flag, azimuth_centideg, points };
        }
        let points = std::array::from_fn(|slot| {
            let (sequence, laser) = self.layout.source(plan, slot);
            let firing = sequence * self.lasers.len() + laser;
            let seen = &returns[firing];
            let echo = match plan.holds {
                Holds::Last => seen.second,
                Holds::Only | Holds::Strongest | Holds::Nothing => seen.first,
            };
            self.point(echo, firing, noise)
        });
        Block { flag: plan.bank.flag(), azimuth_centideg, points }
    }

    fn data_packet(&self, plan: &PacketPlan, returns: &[PulseReturns]) -> DataPacket {
        let noise = self.noise.request(plan.index);
        let azimuths: Vec<_> = plan
            .starts
            .iter()
            .enumerate()
            .map(|(sequence, start)| self.azimuth_centideg(*start, &noise, sequence))
            .collect();
        let mode = match self.settings.return_mode {
            ReturnMode::Strongest => wire::ReturnMode::Strongest,
            ReturnMode::Last => wire::ReturnMode::Last,
            ReturnMode::Dual => wire::ReturnMode::Dual,
        };
        let stamped = SimTime(plan.starts[0].0 + self.packet.timestamp_offset_ns);
        DataPacket {
            blocks: self.layout.blocks.map(|plan| self.block(&plan, &azimuths, returns, &noise)),
            tail: DataPacket::tail_with(
                self.epoch.micros_past_hour(stamped),
                [mode.byte(), self.packet.product_id],
            ),
        }
    }
}

/// The firings of the sequences that start at `starts`, laser by laser within each.
fn firings(lasers: &[VelodyneLaser], starts: &[SimTime]) -> Arc<[FiringSlot]> {
    let first = starts.first().copied().unwrap_or_default();
    starts
        .iter()
        .flat_map(|start| {
            let after_ns = (start.0 - first.0) as u32;
            lasers.iter().enumerate().map(move |(index, laser)| FiringSlot {
                offset_ns: after_ns + laser.firing_offset_ns,
                laser: index as u16,
            })
        })
        .collect()
}

impl Device for Velodyne {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        let (mut sequence, first) = self.next_in_view(self.next_sequence)?;
        if first >= horizon {
            return None;
        }
        let mut starts = vec![first];
        while starts.len() < self.layout.sequences {
            let (next, start) = self.next_in_view(sequence + 1)?;
            sequence = next;
            starts.push(start);
        }
        self.next_sequence = sequence + 1;
        let last = starts.len() as u64 - 1;
        let is_even = starts[last as usize].0 - first.0 == last * self.sequence_ns;
        let sweep = Sweep {
            number: self.next_request,
            rotor: RotorMotion::even(
                self.turn(first) * TAU,
                f64::from(self.settings.rotation_rate_rpm) / 60.0 * TAU,
            ),
            selection: match self.settings.return_mode {
                ReturnMode::Strongest => EchoSelection::Strongest,
                ReturnMode::Last => EchoSelection::Last,
                ReturnMode::Dual => EchoSelection::OtherAndLast,
            },
            firings: match is_even {
                true => self.even_firings.clone(),
                false => firings(&self.lasers, &starts),
            },
        };
        let index = self.next_request;
        self.next_request += 1;
        self.planned.push_back(PacketPlan { index, starts });
        Some(MeasurementRequest { index, start: first, subject: Subject::Sweep(sweep) })
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let index = measurement.request.index;
        let Outcome::Returns(returns) = &measurement.outcome else { return };
        // Those before it were given up.
        while self.planned.front().is_some_and(|plan| plan.index < index) {
            self.planned.pop_front();
        }
        let Some(plan) = self.planned.pop_front() else { return };
        let packet = self.data_packet(&plan, returns);
        let mut payload = vec![0; DATA_PACKET_LEN];
        packet.emit(payload.first_chunk_mut().expect("the packet's length"));
        let points = packet.blocks.iter().flat_map(|b| &b.points).filter(|p| p.distance != 0);
        let ends = plan.starts[plan.starts.len() - 1].0 + self.sequence_ns;
        self.ready.push_back(Transmit {
            due: SimTime(ends + self.settings.lag_ns),
            points: points.count() as u32,
            output: Output::Bytes(payload),
        });
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.ready.pop_front()
    }

    fn nominal_rate_hz(&self) -> f64 {
        self.view_share() * 1e9 / (self.layout.sequences as f64 * self.sequence_ns as f64)
    }
}

#[cfg(test)]
mod tests;
