//! Velodynes with fixed optics: HDL-32E, VLP-16, Puck Hi-Res, VLP-32C, VLS-128.
//!
//! All lasers fire once per sequence, sequences follow without a pause, and whole sequences fill 1206-byte
//! packets ([`layout`]). Differences between models are data.
//!
//! Sources: manuals of the HDL-32E, VLP-16 (63-9243), VLP-32C (63-9325) and VLS-128; captures of each for facts that
//! the manuals lack: points without return, jitter of the azimuth, and packets that stay incomplete until the next
//! rotation if the sector is narrow.

mod boards;
mod control;
pub(crate) mod decoder;
mod describe;
mod family;
mod inertial;
pub(crate) mod layout;
mod planner;
mod position;
mod position_settings;
pub mod profile;
mod profile_read;
mod web;
mod web_settings;

pub use self::family::VelodyneFamily;
use std::sync::Arc;

use super::spinning::backlog::PacketPlan as _;
use super::spinning::clock::DeviceClock;
use super::spinning::program::{Program, stall_notice_ns};
use super::spinning::rotor::Rotor;
use super::spinning::stream::{MeasuredPacket, PacketStream};
use super::spinning::view::View;
use super::{CableSignal, Device, Transmit};
use crate::config::profile::FamilyData;
use crate::config::profile::network::HostAddress;
use crate::config::rig::faults::DeviceFaults;
use crate::config::rig::faults::Timed;
use crate::sensors::lidar::Lidar;
use crate::sensors::lidar_with_imu::with_imu;
use crate::sensors::noise::{NoiseSource, Quantity, RequestNoise};
use crate::sensors::optics_fault::LidarFault;
use crate::sensors::pattern::LaserGeometry;
use crate::sensors::{Measurement, MeasurementRequest, Outcome, PulseReturns, Return, Sensor};
use crate::spinning::return_mode::ReturnMode;
use crate::time::{Epoch, SimTime};
use crate::velodyne::profile::{VelodyneLaser, VelodynePacket, VelodyneProfile, VelodyneSettings};
use crate::wire::http::{HttpRequest, HttpResponse};
use crate::wire::velodyne::{self as wire, DATA_PACKET_LEN, DataPacket, FULL_TURN_CENTIDEG, Point};
use boards::Boards;
use control::{Configuration, Limits};
use inertial::Inertial;
use layout::Holds;
use planner::{PacketPlan, Planner};
use position::PositionSender;
use web::Web;

/// An emulated Velodyne with fixed optics.
pub struct Velodyne {
    packet: VelodynePacket,
    /// Distance counts per metre.
    counts_per_m: f64,
    settings: VelodyneSettings,
    lasers: Vec<VelodyneLaser>,
    sequence_ns: u64,
    configuration: Configuration,
    limits: Limits,
    web: Web,
    stream: PacketStream<Planner>,
    noise: NoiseSource,
    epoch: Epoch,
    clock: DeviceClock,
    boards: Boards,
    position: PositionSender,
    /// IMU; HDL-32E only.
    inertial: Option<Inertial>,
    optics_faults: Vec<Timed<LidarFault>>,
}

impl Velodyne {
    /// A unit that already rotates at its set speed at the start of the run, unless its settings start it at rest. It
    /// sends to `host`; with `None`, to the factory destination.
    pub fn new(
        profile: &VelodyneProfile,
        settings: &VelodyneSettings,
        host: Option<HostAddress>,
        noise: NoiseSource,
        epoch: Epoch,
        faults: &DeviceFaults,
    ) -> Self {
        let configuration = Configuration::at_power_on(profile, settings, host);
        let (motor, rpm) = (&settings.motor, settings.rotation_rate_rpm);
        let rotor = Rotor::at_power_on(motor, rpm, settings.start_azimuth_rad);
        let program = Program::new(configuration.mode(), rotor);
        let planner = Planner::new(profile.lasers.clone(), profile.sequence_ns, motor);
        let mut unit = Self {
            packet: profile.packet.clone(),
            counts_per_m: profile.packet.distance_unit_m.recip(),
            limits: Limits {
                rpm: [profile.rotation_rates.min_rpm, profile.rotation_rates.max_rpm],
                rpm_step: profile.rotation_rates.step_rpm,
                returns: profile.return_modes.clone(),
            },
            web: Web {
                profile: profile.web.clone(),
                saved: configuration.clone(),
                up_at: SimTime::ZERO,
            },
            configuration,
            stream: PacketStream::new(program, planner, settings.lag_ns),
            settings: settings.clone(),
            lasers: profile.lasers.clone(),
            sequence_ns: profile.sequence_ns,
            noise,
            epoch,
            clock: DeviceClock::new(&settings.clock, epoch),
            boards: Boards::new(&profile.thermal),
            position: PositionSender::new(&profile.position, noise),
            inertial: profile.position_imu.as_ref().map(|imu| Inertial::new(imu, noise)),
            optics_faults: Vec::new(),
        };
        unit.change_faults(SimTime::ZERO, faults);
        unit
    }

    /// Limits each requested series of IMU samples to `longest_ns`. Call this before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        if let Some(inertial) = &mut self.inertial {
            inertial.samples.series.limit(longest_ns);
        }
    }

    /// Connects a GNSS receiver: packets then wait until the receiver's signals are known.
    pub fn connect_receiver(&mut self) {
        self.stream.connect_receiver();
    }

    /// The sensor model of this unit.
    pub fn sensor(&self) -> Arc<dyn Sensor> {
        with_imu(self.lidar(), self.inertial.as_ref().map(|_| glam::DVec3::ZERO))
    }

    /// Request for the motion of the base, if an IMU sample is due before `horizon`.
    fn poll_inertial(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        let (start, subject) = self.inertial.as_mut()?.samples.series.poll(horizon)?;
        Some(MeasurementRequest { index: self.stream.count_request(), start, subject })
    }

    /// Data packets per second if the mode at power-on never changes.
    fn data_rate_hz(&self) -> f64 {
        let sequences = self.stream.planner.layout(self.settings.return_mode).sequences;
        let view = View(self.settings.sector_deg);
        view.share() * 1e9 / (sequences as f64 * self.sequence_ns as f64)
    }

    /// Sensor model of the lasers, with the present optical faults.
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
        .with_faults(&self.optics_faults)
    }

    fn azimuth_centideg(&self, start: SimTime, noise: &RequestNoise, sequence: usize) -> u16 {
        let jitter = self.settings.azimuth_jitter_centideg;
        let error =
            if jitter == 0.0 { 0.0 } else { noise.standard_normal(sequence, Quantity::Encoder) };
        let full = f64::from(FULL_TURN_CENTIDEG);
        let reported =
            (self.stream.program.rotor().turn(start) * full + jitter * error).rem_euclid(full);
        reported.round() as u16 % FULL_TURN_CENTIDEG
    }

    fn point(&self, echo: Option<Return>, firing: usize, noise: &RequestNoise) -> Point {
        let [low, high] = self.packet.dark_intensity;
        let dark = || Point {
            distance: 0,
            intensity: noise.whole(firing, Quantity::DarkIntensity, low, high),
        };
        let Some(echo) = echo else { return dark() };
        // Rounds by adding a half: without SSE4.1, `f64::round` is a function call, and there would be two for each
        // point.
        let counts = f64::from(echo.range_m) * self.counts_per_m + 0.5;
        if !(1.0..65_536.0).contains(&counts) {
            return dark();
        }
        Point { distance: counts as u16, intensity: self.intensity(echo.intensity.into()) }
    }

    /// Intensity for a reflectance: linear up to 1 (diffuse targets), logarithmic above (retroreflectors), at most 255.
    fn intensity(&self, reflectance: f64) -> u8 {
        let full = f64::from(self.packet.diffuse_full_scale);
        let share = if reflectance <= 1.0 {
            reflectance * full
        } else {
            let gain = libm::log(reflectance) / libm::log(self.packet.retro_full_gain);
            full + gain * (255.0 - full)
        };
        // A cast saturates at 0 and 255.
        (share + 0.5) as u8
    }

    /// Writes a packet without its timestamp; returns its number of points with a return.
    fn write_packet(
        &self,
        plan: &PacketPlan,
        returns: &[PulseReturns],
        out: &mut [u8; DATA_PACKET_LEN],
    ) -> u32 {
        let noise = self.noise.request(plan.number);
        let layout = self.stream.planner.layout(plan.mode.returns);
        let mut points = 0;
        let mut written = None;
        for (block, out) in layout.blocks.iter().zip(wire::blocks_mut(out)) {
            // Blocks with the same sequence have the same azimuth.
            let azimuth = match written {
                Some((sequence, azimuth)) if sequence == block.sequence => azimuth,
                _ => {
                    let start = plan.starts.at(block.sequence);
                    self.azimuth_centideg(start, &noise, block.sequence)
                }
            };
            written = Some((block.sequence, azimuth));
            if block.holds == Holds::Nothing {
                wire::begin_block(out, self.packet.filler_flag, azimuth).fill([0; wire::POINT_LEN]);
                continue;
            }
            let out = wire::begin_block(out, block.bank.flag(), azimuth);
            let first = layout.first_firing(block);
            // Lasers that did not fire have no entry in `returns`.
            let returns = returns.get(first..).unwrap_or_default();
            let is_second = block.holds == Holds::Last;
            for (slot, out) in out.iter_mut().enumerate() {
                let seen = returns.get(slot);
                let echo = seen.and_then(|seen| if is_second { seen.second } else { seen.first });
                let point = self.point(echo, first + slot, &noise);
                points += u32::from(point.distance != 0);
                *out = point.bytes();
            }
        }
        let mode = match plan.mode.returns {
            ReturnMode::Strongest => wire::ReturnMode::Strongest,
            ReturnMode::Last => wire::ReturnMode::Last,
            ReturnMode::Dual => wire::ReturnMode::Dual,
        };
        let tail = DataPacket::tail_with(0, [mode.byte(), self.packet.product_id]);
        out[wire::TAIL..].copy_from_slice(&tail);
        points
    }

    /// Adds the timestamps to packets whose timestamps are final, and sends these packets.
    fn release(&mut self) {
        while let Some(mut held) = self.stream.next_known() {
            let timestamp_us = self.clock.micros_past_hour(held.stamped);
            held.payload[wire::TIMESTAMP].copy_from_slice(&timestamp_us.to_le_bytes());
            self.stream.send(held.into());
        }
    }
}

impl Device for Velodyne {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        // Requests must be in the order of their starts: device time advances only to the oldest unanswered request,
        // and everything due by then must have been measured.
        let base_from =
            self.inertial.as_ref().map_or(horizon, |inertial| inertial.samples.series.next_start());
        self.stream.poll_request(base_from.min(horizon)).or_else(|| self.poll_inertial(horizon))
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        if let (Outcome::Inertial(truths), Some(inertial)) =
            (&measurement.outcome, &mut self.inertial)
        {
            inertial.samples.take(truths);
            return self
                .position
                .release(self.stream.now, Some(inertial), |transmit| self.stream.send(transmit));
        }
        let Outcome::Returns(returns) = &measurement.outcome else { return };
        let Some(plan) = self.stream.answered(measurement) else { return };
        let mut payload = vec![0; DATA_PACKET_LEN];
        let bytes = payload.first_chunk_mut().expect("the packet's length");
        let points = self.write_packet(&plan, returns, bytes);
        let stamped = SimTime(plan.start().0 + self.packet.timestamp_offset_ns);
        let packet = MeasuredPacket { payload, points, fault_effects: Vec::new() };
        self.stream.hold(plan, stamped, measurement, packet);
        self.release();
    }

    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        self.advance(now);
        if self.is_down() {
            return;
        }
        self.clock.handle_signal(now, signal);
        // The signal can have changed the state of PPS.
        self.follow_configuration(self.stream.program.takes_effect(self.stream.now));
    }

    fn handle_http(&mut self, now: SimTime, request: &HttpRequest) -> HttpResponse {
        self.answer(now, request)
    }

    fn advance(&mut self, now: SimTime) {
        self.stream.advance(now);
        let inertial = self.inertial.as_mut();
        self.position.advance(self.stream.now, &self.clock, &self.boards, inertial, |transmit| {
            self.stream.send(transmit);
        });
        self.release();
    }

    fn change_faults(&mut self, at: SimTime, faults: &DeviceFaults) {
        self.optics_faults = faults.kind();
        self.stream.program.change_stalls(at, &faults.kind());
    }

    fn fault_notice_ns(&self, kind: &dyn FamilyData, _begins: bool) -> u64 {
        stall_notice_ns(kind)
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.stream.poll_transmit()
    }

    fn nominal_rate_hz(&self) -> f64 {
        self.data_rate_hz() + self.position.nominal_rate_hz()
    }
}

#[cfg(test)]
mod tests;
