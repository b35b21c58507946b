//! Livox's lidars of the protocol "SDK 2": Mid-360 and HAP.
//!
//! Hosts discover a unit by a broadcast and set and read keys by UDP. [`commands`] has the commands, [`values`] the
//! settings, [`states`] the state of the unit. [`planner`] schedules packets, [`pattern`] has the beam directions,
//! [`points`] encodes echoes, [`clock`] provides timestamps.
//!
//! [`first`] has the lidars of the older protocol "SDK 1".
//!
//! Sources: Livox-SDK2 1.3.3 (MIT); Livox's documents of the protocol; conversations with the maker's SDK.

mod clock;
mod commands;
mod complex;
pub(crate) mod decoder;
mod describe;
mod family;
mod faults;
pub mod first;
mod hap;
mod held;
mod inertial;
mod pattern;
mod planner;
mod points;
pub mod profile;
mod profile_read;
mod states;
mod timeline;
mod unit_states;
mod values;

pub use self::family::LivoxFamily;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use glam::DVec3;

use super::spinning::backlog::{Backlog, PacketPlan as _};
use super::{CableSignal, Device, Output, Transmit};
use crate::config::profile::network::HostAddress;
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::livox::profile::{LivoxProfile, LivoxSettings};
use crate::ptp::PtpSlave;
use crate::sensors::lidar::Lidar;
use crate::sensors::lidar_with_imu::with_imu;
use crate::sensors::multi_echo::MultiEchoLidar;
use crate::sensors::noise::NoiseSource;
use crate::sensors::optics_fault::LidarFault;
use crate::sensors::pattern::LaserGeometry;
use crate::sensors::{Measurement, MeasurementRequest, Outcome, Sensor, Subject};
use crate::time::{Epoch, SimTime};
use crate::wire::livox::data::{POINTS, inertial_packet, seal};
use crate::wire::livox::key::{key, state};
use crate::wire::port::Peer;
use crate::wire::ptp::identity_of;
use clock::LivoxClock;
use held::held;
use inertial::Inertial;
use pattern::Pattern;
use planner::{PacketPlan, Planner};
use points::{Mode, PointMaker};
use states::States;
use timeline::Timeline;
use values::Values;

/// A lidar of SDK 2.
pub struct Livox {
    profile: Arc<LivoxProfile>,
    settings: LivoxSettings,
    /// Latest time passed to the device.
    now: SimTime,
    values: Values,
    /// Destination of datagrams until a host sets another: the rig's host, or else the factory destination.
    stored_host: HostAddress,
    /// Whether datagrams have a destination.
    has_host: bool,
    states: States,
    modes: Timeline<Mode>,
    planner: Planner,
    backlog: Backlog<PacketPlan>,
    maker: PointMaker,
    inertial: Inertial,
    imu_on: Timeline<bool>,
    imu_packets: u16,
    clock: LivoxClock,
    next_push: SimTime,
    pushes: u32,
    busy_until: SimTime,
    restarts: u32,
    address: Ipv4Addr,
    noise: NoiseSource,
    optics_faults: Vec<Timed<LidarFault>>,
}

impl Livox {
    /// A unit that is already running at the start of the run, unless its settings require a cold start. Until a host
    /// sets a destination, it sends to `host` or else to the factory destination; without the setting
    /// `stored_destination`, it sends nothing.
    pub fn new(
        profile: &LivoxProfile,
        settings: &LivoxSettings,
        host: Option<HostAddress>,
        noise: NoiseSource,
        epoch: Epoch,
    ) -> Self {
        let profile = Arc::new(profile.clone());
        let stored_host = host.unwrap_or_else(|| HostAddress {
            ip: IpAddr::from(profile.network.destination_ip),
            ports: profile
                .datagram_ports()
                .iter()
                .map(|port| port.frame.destination_port)
                .collect(),
        });
        let values = Values::of(&profile, settings, &stored_host);
        let LivoxSettings { spin_hz, swing_hz, pattern_start_s, .. } = *settings;
        let threshold = settings.beam.threshold();
        let clock =
            LivoxClock::new(&settings.clock, epoch, identity_of(profile.network.source_mac), noise);
        let mut unit = Self {
            now: SimTime::ZERO,
            has_host: settings.stored_destination,
            states: States::new(&profile.interface, values.target()),
            modes: Timeline::new(values.mode(&profile, false)),
            planner: Planner::new(
                &profile,
                Pattern::of(&profile, [spin_hz, swing_hz], pattern_start_s),
            ),
            backlog: Backlog::default(),
            maker: PointMaker::new(profile.points, settings.echo, settings.tags, threshold),
            inertial: Inertial::new(&profile.imu, noise),
            imu_on: Timeline::new(values.has_imu()),
            imu_packets: 0,
            clock,
            next_push: SimTime(settings.push_period_ns),
            pushes: 0,
            busy_until: SimTime::ZERO,
            restarts: 0,
            address: profile.network.source_ip,
            noise,
            optics_faults: Vec::new(),
            values,
            stored_host,
            settings: settings.clone(),
            profile,
        };
        if settings.starts_cold {
            unit.states.restart(SimTime::ZERO, unit.values.target_after_boot());
        }
        unit.follow(SimTime::ZERO);
        unit
    }

    /// Limits each requested series of IMU samples to a duration of `longest_ns`. Call it before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        self.inertial.samples.series.limit(longest_ns);
    }

    /// Sets the unit's own address.
    pub fn set_address(&mut self, address: Ipv4Addr) {
        self.address = address;
        self.values.set_address(address);
        self.clock.set_address(self.profile.network.source_mac, address);
    }

    /// Sets the faults inside the unit. Call it before [`Self::sensor`].
    pub fn set_faults(&mut self, faults: &DeviceFaults) {
        self.optics_faults = faults.kind();
        self.clock.set_faults(faults.kind());
        self.states.set_faults(faults.kind());
    }

    /// Connects a GNSS receiver: packets then wait until the receiver's signals are known.
    pub fn connect_receiver(&mut self) {
        self.clock.connect_receiver();
    }

    /// The sensor model of this unit.
    pub fn sensor(&self) -> Arc<dyn Sensor> {
        let imu_m = DVec3::from_array(self.settings.imu_place_mm) / 1000.0;
        with_imu(MultiEchoLidar(self.lidar()), Some(imu_m))
    }

    /// Lidar model of the lines for the ray tracer; the pattern gives their directions.
    pub fn lidar(&self) -> Lidar {
        let lines = vec![LaserGeometry::default(); self.profile.pattern.form.lines()];
        let (beam, noise) = (&self.settings.beam, &self.settings.noise);
        Lidar::new(lines, beam, noise, self.noise).with_faults(&self.optics_faults)
    }

    /// Updates the planned packets from `at` on, because states or values have changed.
    fn follow(&mut self, at: SimTime) {
        let mut has_changed = false;
        for (place, (at, now)) in self.states.from(at).into_iter().enumerate() {
            let is_sampling = now == state::SAMPLING && self.has_host;
            let mode = self.values.mode(&self.profile, is_sampling);
            match place {
                0 => has_changed |= self.modes.set(at, mode),
                _ => self.modes.push(at, mode),
            }
        }
        has_changed |= self.modes.next_change(at).is_some();
        if has_changed && let Some((number, ends)) = self.planner.undo(at) {
            self.backlog.revoke(number, SimTime(ends.0 + self.settings.lag_ns));
        }
    }

    /// Sends the measured packets whose timestamps the clock can determine.
    fn release(&mut self) {
        while let Some(mut held) = self.backlog.known_by(self.clock.known_to(self.now)) {
            let stamped = held.stamped;
            seal(&mut held.payload, self.clock.time_type(stamped), self.clock.shows_ns(stamped));
            self.backlog.ready.push_back(held.into());
        }
    }

    /// Sends IMU samples up to now.
    fn release_imu(&mut self) {
        while let Some(truth) = self.inertial.samples.next(self.now) {
            let at = truth.at;
            let is_running = match self.states.at(at) {
                state::SAMPLING => true,
                state::READY => self.profile.imu.sends_when_ready,
                _ => false,
            };
            if !(is_running && self.has_host && *self.imu_on.at(at)) {
                continue;
            }
            let (time_type, time_ns) = (self.clock.time_type(at), self.clock.shows_ns(at));
            let sample = self.inertial.measured(&truth);
            let bytes = inertial_packet(&sample, self.imu_packets, 0, time_type, time_ns);
            self.imu_packets = self.imu_packets.wrapping_add(1);
            let (due, port) = (self.inertial.leaves(at), LivoxProfile::IMU);
            let transmit = Transmit::new(due, Output::Datagram { port, bytes });
            self.backlog.ready.push_back(transmit);
        }
    }

    /// Sends push messages up to now.
    fn release_pushes(&mut self) {
        while self.next_push <= self.now {
            let at = self.next_push;
            self.next_push = SimTime(at.0 + self.settings.push_period_ns);
            if self.has_host && !self.states.is_off(at) {
                let bytes = self.push(self.pushes, at);
                self.pushes = self.pushes.wrapping_add(1);
                let output = Output::Datagram { port: LivoxProfile::STATE, bytes };
                self.backlog.ready.push_back(Transmit::new(at, output));
            }
        }
    }
}

impl Device for Livox {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        // Requests must be in the order of their starts: device time advances only to the oldest unanswered request,
        // and everything due by then must have been measured.
        let until = self.inertial.samples.series.next_start().min(horizon);
        let Self { planner, modes, states, .. } = self;
        if let Some((plan, sweep)) = planner.next(modes, |at| states.is_stopped(at), until) {
            let start = plan.start();
            let index = self.backlog.ask(plan);
            return Some(MeasurementRequest { index, start, subject: Subject::Sweep(sweep) });
        }
        let (start, subject) = self.inertial.samples.series.poll(horizon)?;
        Some(MeasurementRequest { index: self.backlog.count_request(), start, subject })
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        match &measurement.outcome {
            Outcome::Inertial(truths) => {
                self.inertial.samples.take(truths);
                self.release_imu();
            }
            Outcome::Echoes(echoes) => {
                let Some(plan) = self.backlog.answered(measurement.request.index) else { return };
                let interval = self.profile.interval();
                let packet =
                    self.maker.packet(&plan.mode, &plan.aims, echoes, plan.sequence, interval);
                let (lag_ns, alerts) = (self.settings.lag_ns, self.states.faults());
                let packet = held(plan, packet, measurement, lag_ns, alerts, &self.clock);
                self.backlog.hold(packet);
                self.release();
            }
            _ => {}
        }
    }

    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        self.advance(now);
        if !self.states.is_off(now) {
            self.clock.handle_signal(now, signal);
        }
    }

    fn handle_peer_input(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        self.advance(now);
        self.hear(peer, bytes);
    }

    fn ptp_slave(&mut self) -> Option<&mut PtpSlave> {
        self.clock.slave.as_mut()
    }

    fn is_deaf(&self, now: SimTime) -> bool {
        self.states.is_off(now)
    }

    fn change_faults(&mut self, at: SimTime, faults: &DeviceFaults) {
        self.set_faults(faults);
        // Packets that the old faults suppressed may now be due, so plan again from `at`. No packet with a later start
        // was planned, so none is revoked.
        self.planner.undo(at);
    }

    fn advance(&mut self, now: SimTime) {
        self.now = self.now.max(now);
        self.clock.advance(now);
        self.release_imu();
        self.release_pushes();
        self.release();
        if self.clock.restart_by(now) {
            self.restarts += 1;
            self.values.put(key::TARGET_STATE, &[self.values.target_after_boot()]);
        }
        // Samples and packets are pending for at most a second, so older states are not needed.
        let before = SimTime(self.now.0.saturating_sub(1_000_000_000));
        self.states.forget(before);
        self.modes.forget(before);
        self.imu_on.forget(before);
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.backlog.ready.pop_front()
    }

    fn nominal_rate_hz(&self) -> f64 {
        let is_sampling = self.has_host && self.states.at(SimTime::ZERO) == state::SAMPLING;
        let points_hz = f64::from(self.profile.pattern.point_rate_hz) / POINTS as f64;
        let imu_hz = if self.values.has_imu() { f64::from(self.profile.imu.rate_hz) } else { 0.0 };
        if is_sampling { points_hz + imu_hz } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
