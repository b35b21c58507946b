//! Livox's lidars of the protocol "SDK 1": Mid-40, Mid-70, Avia and Horizon.
//!
//! A unit broadcasts until a host connects by a handshake. It streams to that host as long as heartbeats arrive.
//! [`commands`] has the commands, [`values`] the settings, [`states`] the state of the unit. [`planner`] schedules
//! packets, [`pattern`] has the beam directions, [`points`] encodes echoes. The clock is that of SDK 2.
//!
//! Sources: Livox-SDK 2.3.0 (MIT); Livox's documents of the protocol; a conversation with openpylivoxv2.

mod commands;
mod decoder;
mod describe;
mod family;
mod faults;
mod pattern;
mod planner;
mod points;
pub mod profile;
mod profile_read;
mod states;
mod values;

pub use self::family::LivoxFirstFamily;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use glam::DVec3;

use super::clock::LivoxClock;
use super::held::held;
use super::inertial::Inertial;
use super::timeline::Timeline;
use crate::config::profile::network::HostAddress;
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::ptp::PtpSlave;
use crate::sensors::lidar::Lidar;
use crate::sensors::lidar_with_imu::with_imu;
use crate::sensors::multi_echo::MultiEchoLidar;
use crate::sensors::noise::NoiseSource;
use crate::sensors::optics_fault::LidarFault;
use crate::sensors::pattern::LaserGeometry;
use crate::sensors::{Measurement, MeasurementRequest, Outcome, Sensor, Subject};
use crate::spinning::backlog::{Backlog, PacketPlan as _};
use crate::time::{Epoch, SimTime};
use crate::wire::livox::data::TimeType as SecondTimeType;
use crate::wire::livox::first::command::{id, state};
use crate::wire::livox::first::data::{TimeType, inertial_packet, seal, status};
use crate::wire::port::Peer;
use crate::wire::ptp::identity_of;
use crate::{CableSignal, Device, Output, Transmit};
use pattern::Pattern;
use planner::{PacketPlan, Planner};
use points::{Mode, PointMaker};
use profile::{FirstProfile, FirstSettings};
use states::States;
use values::{Values, static_address};

/// Connection to a host; a unit has at most one.
#[derive(Clone, Debug)]
struct Connection {
    host: IpAddr,
    /// Time at which the connection ends unless a heartbeat arrives.
    until: SimTime,
    /// Whether the host has requested points.
    is_sampling: bool,
}

/// A lidar of SDK 1.
pub struct LivoxFirst {
    profile: Arc<FirstProfile>,
    settings: FirstSettings,
    /// Latest time passed to the device.
    now: SimTime,
    values: Values,
    connection: Option<Connection>,
    /// Whether the unit streams without a connected host; false from the first connection on.
    is_alone: bool,
    /// Whether the unit has an address at which hosts can reach it.
    is_reachable: bool,
    states: States,
    modes: Timeline<Mode>,
    planner: Planner,
    backlog: Backlog<PacketPlan>,
    maker: PointMaker,
    inertial: Option<Inertial>,
    imu_on: Timeline<bool>,
    clock: LivoxClock,
    next_broadcast: SimTime,
    next_abnormal: SimTime,
    /// Number of messages sent without a request.
    messages: u16,
    busy_until: SimTime,
    noise: NoiseSource,
    optics_faults: Vec<Timed<LidarFault>>,
}

impl LivoxFirst {
    /// A unit that is already running at the start of the run, unless its settings require a cold start.
    pub fn new(
        profile: &FirstProfile,
        settings: &FirstSettings,
        noise: NoiseSource,
        epoch: Epoch,
    ) -> Self {
        let profile = Arc::new(profile.clone());
        let values = Values::of(&profile, settings);
        let FirstSettings { prism_rpm, pattern_start_s, .. } = *settings;
        let pattern = Pattern::new(
            profile.pattern.form,
            profile.pattern.pulse_rate_hz,
            prism_rpm,
            pattern_start_s,
        );
        let threshold = settings.beam.threshold();
        let clock =
            LivoxClock::new(&settings.clock, epoch, identity_of(profile.network.source_mac), noise);
        let mut unit = Self {
            now: SimTime::ZERO,
            connection: None,
            is_alone: settings.streams_alone,
            is_reachable: false,
            states: States::new(&profile.interface),
            modes: Timeline::new(values.mode(&profile, false, false)),
            planner: Planner::new(&profile, pattern),
            backlog: Backlog::default(),
            maker: PointMaker::new(profile.points, settings.judged_tags, threshold),
            inertial: profile.imu.map(|imu| Inertial::new(&imu, noise)),
            imu_on: Timeline::new(values.has_imu),
            clock,
            next_broadcast: SimTime::ZERO,
            next_abnormal: SimTime::ZERO,
            messages: 0,
            busy_until: SimTime::ZERO,
            noise,
            optics_faults: Vec::new(),
            values,
            settings: settings.clone(),
            profile,
        };
        if settings.starts_cold {
            unit.states.restart(SimTime::ZERO);
        }
        unit.follow(SimTime::ZERO);
        unit
    }

    /// Limits series of requested IMU samples to `longest_ns`. Call it before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        if let Some(inertial) = &mut self.inertial {
            inertial.samples.series.limit(longest_ns);
        }
    }

    /// Sets the unit's own address. Hosts can then reach the unit, so it broadcasts to the broadcast port of `host`.
    pub fn set_address(&mut self, address: Ipv4Addr, host: Option<HostAddress>) {
        self.is_reachable = true;
        self.values.address = static_address(address.octets());
        self.clock.set_address(self.profile.network.source_mac, address);
        let port = host.and_then(|host| host.of(FirstProfile::BROADCAST)).map(|to| to.port());
        if let Some(port) = port {
            let mut ports = vec![0; FirstProfile::PORTS];
            ports[FirstProfile::BROADCAST.place()] = port;
            let all = HostAddress { ip: Ipv4Addr::BROADCAST.into(), ports };
            self.backlog.ready.push_back(Transmit::new(SimTime::ZERO, Output::Host(all)));
        }
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
        with_imu(MultiEchoLidar(self.lidar()), self.profile.imu.as_ref().map(|_| imu_m))
    }

    /// Lidar model of the lines for the ray tracer; the pattern gives their directions.
    pub fn lidar(&self) -> Lidar {
        let lines = vec![LaserGeometry::default(); self.profile.pattern.form.lines()];
        let (beam, noise) = (&self.settings.beam, &self.settings.noise);
        Lidar::new(lines, beam, noise, self.noise).with_faults(&self.optics_faults)
    }

    fn is_connected(&self, at: SimTime) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.until > at)
    }

    /// Updates the planned packets from `from` on, because states, values or the connection have changed.
    fn follow(&mut self, from: SimTime) {
        let states = self.states.from(from);
        let ends = self.connection.as_ref().map(|connection| connection.until);
        let mut changes: Vec<SimTime> = states.iter().map(|(at, _)| *at).collect();
        changes.extend(ends.filter(|ends| *ends > from));
        changes.sort_unstable();
        changes.dedup();
        let before = self.modes.clone();
        for (place, at) in changes.iter().enumerate() {
            let (has_host, is_asked) = match &self.connection {
                Some(connection) => (connection.until > *at, connection.is_sampling),
                None => (self.is_alone, true),
            };
            let then = states.iter().rev().find(|(since, _)| since <= at);
            let is_normal = then.is_some_and(|(_, now)| *now == state::NORMAL);
            let mode = self.values.mode(&self.profile, has_host && is_normal, is_asked);
            match place {
                0 => drop(self.modes.set(*at, mode)),
                _ => self.modes.push(*at, mode),
            }
        }
        // A heartbeat extends the stream, whose end is after all planned packets.
        let planned_to = self.planner.planned_to();
        let further = std::iter::successors(Some(from), |at| before.next_change(*at));
        let instants = changes.iter().copied().chain(further).filter(|at| *at < planned_to);
        let has_changed = instants.into_iter().any(|at| before.at(at) != self.modes.at(at));
        if has_changed && let Some((number, due)) = self.planner.undo(from) {
            self.backlog.revoke(number, SimTime(due.0 + self.settings.lag_ns));
        }
    }

    /// Type and value of the timestamp of a packet at `at`, nanoseconds.
    fn time(&self, at: SimTime) -> (TimeType, u64) {
        match self.clock.time_type(at) {
            SecondTimeType::Ptp => (TimeType::Ptp, self.clock.shows_ns(at)),
            SecondTimeType::Gps => (TimeType::Gps, self.clock.shows_ns(at)),
            SecondTimeType::None => match self.clock.since_pulse_ns(at) {
                Some(ns) => (TimeType::Pps, ns),
                None => (TimeType::None, self.clock.shows_ns(at)),
            },
        }
    }

    /// Status in packets and heartbeats.
    fn status(&self, at: SimTime) -> u32 {
        let (time_type, _) = self.time(at);
        let is_lost = self.clock.is_lost(at);
        let synchronisation: u32 = match time_type {
            TimeType::Ptp | TimeType::Gps if is_lost => 4,
            TimeType::None => 0,
            TimeType::Ptp => 1,
            TimeType::Gps => 2,
            TimeType::Pps => 3,
        };
        let has_pulses = self.clock.since_pulse_ns(at).is_some();
        let has_ptp = time_type == TimeType::Ptp && !is_lost;
        faults::bits(self.states.faults(), at)
            | u32::from(has_pulses) << status::PPS
            | u32::from(has_ptp) << status::PTP
            | synchronisation << status::SYNCHRONISATION
    }

    /// Sends the measured packets whose timestamps the clock can determine.
    fn release(&mut self) {
        while let Some(mut held) = self.backlog.known_by(self.clock.known_to(self.now)) {
            let (time_type, time_ns) = self.time(held.stamped);
            seal(&mut held.payload, self.status(held.stamped), time_type, time_ns);
            self.backlog.ready.push_back(held.into());
        }
    }

    /// Sends IMU samples up to now.
    fn release_imu(&mut self) {
        while let Some(truth) = self.inertial.as_mut().and_then(|own| own.samples.next(self.now)) {
            let at = truth.at;
            let mode = self.modes.at(at);
            let (Some(inertial), Some(own)) = (&self.inertial, &self.profile.imu) else { return };
            let is_wanted = mode.is_on || (mode.is_ready && own.sends_when_ready);
            if !is_wanted || self.states.is_stopped(at) || !*self.imu_on.at(at) {
                continue;
            }
            let mut bytes = inertial_packet(&inertial.measured(&truth), mode.slot);
            let (time_type, time_ns) = self.time(at);
            seal(&mut bytes, self.status(at), time_type, time_ns);
            let (due, port) = (inertial.leaves(at), FirstProfile::IMU);
            let output = Output::Datagram { port, bytes };
            self.backlog.ready.push_back(Transmit::new(due, output));
        }
    }

    /// Sends broadcasts and status messages up to now, and disconnects a host without heartbeats.
    fn release_messages(&mut self) {
        while self.next_broadcast <= self.now {
            let at = self.next_broadcast;
            self.next_broadcast = SimTime(at.0 + self.settings.broadcast_period_ns);
            let is_free = !self.is_connected(at) && !self.is_alone;
            if self.is_reachable && is_free && !self.states.is_off(at) {
                let bytes = self.broadcast();
                let output = Output::Datagram { port: FirstProfile::BROADCAST, bytes };
                self.backlog.ready.push_back(Transmit::new(at, output));
            }
        }
        while self.next_abnormal <= self.now {
            let at = self.next_abnormal;
            self.next_abnormal = SimTime(at.0 + self.profile.interface.abnormal_period_ns);
            let is_abnormal = faults::bits(self.states.faults(), at) != 0;
            if is_abnormal && self.is_connected(at) && !self.states.is_off(at) {
                let status = self.status(at).to_le_bytes().to_vec();
                let bytes = self.message(id::STATUS, status);
                let output = Output::Datagram { port: FirstProfile::STATUS, bytes };
                self.backlog.ready.push_back(Transmit::new(at, output));
            }
        }
        self.connection.take_if(|connection| connection.until <= self.now);
    }
}

impl Device for LivoxFirst {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        // Requests must be in the order of their starts: device time advances only to the oldest unanswered request,
        // and everything due by then must have been measured.
        let next_sample = self.inertial.as_ref().map(|own| own.samples.series.next_start());
        let until = next_sample.map_or(horizon, |next| next.min(horizon));
        let Self { planner, modes, states, .. } = self;
        if let Some((plan, sweep)) = planner.next(modes, |at| states.is_stopped(at), until) {
            let start = plan.start();
            let index = self.backlog.ask(plan);
            return Some(MeasurementRequest { index, start, subject: Subject::Sweep(sweep) });
        }
        let (start, subject) = self.inertial.as_mut()?.samples.series.poll(horizon)?;
        Some(MeasurementRequest { index: self.backlog.count_request(), start, subject })
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        match &measurement.outcome {
            Outcome::Inertial(truths) => {
                if let Some(inertial) = &mut self.inertial {
                    inertial.samples.take(truths);
                }
                self.release_imu();
            }
            Outcome::Echoes(echoes) => {
                let Some(plan) = self.backlog.answered(measurement.request.index) else { return };
                let packet = self.maker.packet(&plan.mode, &plan.aims, echoes);
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
        // Skipped packets can become due; no planned packet starts at or after `at`.
        self.planner.undo(at);
    }

    fn advance(&mut self, now: SimTime) {
        self.now = self.now.max(now);
        self.clock.advance(now);
        self.release_imu();
        self.release_messages();
        self.release();
        self.clock.restart_by(now);
        // Pending samples and packets are at most a second old.
        let before = SimTime(self.now.0.saturating_sub(1_000_000_000));
        self.states.forget(before);
        self.modes.forget(before);
        self.imu_on.forget(before);
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.backlog.ready.pop_front()
    }

    fn nominal_rate_hz(&self) -> f64 {
        if !self.modes.at(SimTime::ZERO).is_on {
            return 0.0;
        }
        let pulses = self.settings.format().pulses() as f64;
        let points_hz = f64::from(self.profile.pattern.pulse_rate_hz) / pulses;
        let imu_hz = self.profile.imu.filter(|_| self.values.has_imu).map_or(0, |imu| imu.rate_hz);
        points_hz + f64::from(imu_hz)
    }
}

#[cfg(test)]
mod tests;
