//! Hesai's spinning lidars: Pandar40P, Pandar64, PandarQT64, PandarXT-16 and PandarXT-32.
//!
//! [`planner`] selects the firings of a packet, [`returns`] converts measured echoes to blocks, [`clock`]
//! timestamps packets, [`calibration`] has the laser angles of a unit. Hosts connect by TCP: [`commands`] has the
//! commands, [`control`] applies settings to the stream. [`gps`] reports about the GNSS receiver.
//!
//! Differences between models are data: the wire format, the angles, the firing times.
//!
//! Sources: Hesai's manuals; HesaiLidar_SDK_2.0, HesaiLidar_General_SDK and nebula for facts that they lack;
//! captures of real units.

mod calibration;
mod clock;
mod commands;
mod control;
pub(crate) mod decoder;
mod describe;
mod family;
mod faults;
mod gps;
mod planner;
pub mod profile;
mod profile_read;
mod returns;

pub use self::family::HesaiFamily;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::spinning::backlog::{Held, PacketPlan as _};
use super::spinning::program::{Program, stall_notice_ns};
use super::spinning::rotor::Rotor;
use super::spinning::stream::{MeasuredPacket, PacketStream};
use super::{CableSignal, Device, Output, Transmit};
use crate::config::profile::FamilyData;
use crate::config::profile::network::HostAddress;
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::hesai::profile::{ClockSource, HesaiProfile, HesaiSettings, PtpState, UnitLaser};
use crate::ptp::PtpSlave;
use crate::sensors::fault::{EffectKind, effects};
use crate::sensors::lidar::Lidar;
use crate::sensors::multi_echo::MultiEchoLidar;
use crate::sensors::noise::{NoiseSource, Quantity, RequestNoise};
use crate::sensors::optics_fault::LidarFault;
use crate::sensors::pattern::LaserGeometry;
use crate::sensors::{Echoes, Measurement, MeasurementRequest, Outcome, Sensor};
use crate::tcp_hosts::TcpHosts;
use crate::time::{Epoch, SimTime};
use crate::wire::hesai::data::{FULL_TURN_CENTIDEG, PacketWriter, Point, Tail};
use crate::wire::hesai::format::{HAS_SEQUENCE, HeadWords, HesaiFormat};
use crate::wire::hesai::ptc::Ptc;
use crate::wire::port::Peer;
use crate::wire::ptp::identity_of;
use clock::HesaiClock;
use control::Values;
use faults::HighTemperature;
use gps::GpsSender;
use planner::{FiringRange, PacketPlan, Planner};
use returns::{PointMaker, selected};

const SECOND_NS: u64 = 1_000_000_000;
/// Largest random deviation of a varying status word from its value in the profile, counts.
const LIVE_COUNTS: u8 = 4;
/// Number of the first random stream for varying status words, which use one stream per second of the run; packets use
/// lower numbers.
const LIVE_DRAWS: u64 = 1 << 62;

/// An emulated Hesai.
pub struct Hesai {
    profile: Arc<HesaiProfile>,
    settings: HesaiSettings,
    /// Lasers of this unit; their angles differ slightly from the profile's.
    lasers: Vec<UnitLaser>,
    stream: PacketStream<Planner>,
    values: Values,
    hosts: TcpHosts<Ptc>,
    clock: HesaiClock,
    gps: GpsSender,
    points: PointMaker,
    /// Time at which the unit answers again after a restart.
    up_at: SimTime,
    /// Number of restarts since the start of the run.
    restarts: u32,
    /// Whether the unit restarts once it has sent the pending answer.
    reboots: bool,
    noise: NoiseSource,
    epoch: Epoch,
    optics_faults: Vec<Timed<LidarFault>>,
    hot: Vec<Timed<HighTemperature>>,
}

impl Hesai {
    /// A unit that is already running at the start of the run, unless `settings` start the unit at rest or in standby.
    /// The unit sends to `host`; if `host` is `None`, to the factory destination of the profile.
    pub fn new(
        profile: &HesaiProfile,
        settings: &HesaiSettings,
        host: Option<HostAddress>,
        noise: NoiseSource,
        epoch: Epoch,
        faults: &DeviceFaults,
    ) -> Self {
        let profile = Arc::new(profile.clone());
        let host = host.unwrap_or_else(|| HostAddress {
            ip: profile.network.destination_ip.into(),
            ports: vec![profile.network.destination_port, profile.gps_udp_port],
        });
        let values = Values::of(&profile, settings, host);
        let rpm = values.driven_rpm();
        let rotor = Rotor::at_power_on(&settings.motor, rpm, settings.start_azimuth_rad);
        let program = Program::new(values.mode(settings, SimTime::ZERO), rotor);
        let planner = Planner::new(profile.clone());
        let mut unit = Self {
            lasers: calibration::lasers_of(&profile, &settings.serial),
            stream: PacketStream::new(program, planner, settings.lag_ns),
            values,
            hosts: TcpHosts::default(),
            clock: HesaiClock::new(
                &settings.clock,
                epoch,
                identity_of(profile.network.source_mac),
                noise,
            ),
            gps: GpsSender::new(SimTime::ZERO),
            points: PointMaker::new(&profile.packet),
            profile,
            settings: settings.clone(),
            up_at: SimTime::ZERO,
            restarts: 0,
            reboots: false,
            noise,
            epoch,
            optics_faults: Vec::new(),
            hot: Vec::new(),
        };
        if unit.clock.slave.is_some() {
            // With a PTP master, packets wait for the master's messages as they do for a GNSS receiver.
            unit.connect_receiver();
        }
        unit.follow_ptp();
        unit.follow(SimTime::ZERO);
        unit.change_faults(SimTime::ZERO, faults);
        unit
    }

    /// Sets the address that the unit's PTP messages come from.
    pub fn set_address(&mut self, address: Ipv4Addr) {
        if let Some(slave) = &mut self.clock.slave {
            slave.set_address(self.profile.network.source_mac, address);
        }
    }

    /// Connects a GNSS receiver, which sets the unit's clock. From then on, each packet waits until all signals of the
    /// receiver that affect the packet's timestamp are known.
    pub fn connect_receiver(&mut self) {
        self.stream.connect_receiver();
    }

    /// The sensor model of this unit.
    pub fn sensor(&self) -> Arc<dyn Sensor> {
        Arc::new(MultiEchoLidar(self.lidar()))
    }

    /// Lidar model of the lasers, with their beam, noise and optical faults.
    pub fn lidar(&self) -> Lidar {
        let lasers = self.lasers.iter().map(|laser| LaserGeometry {
            elevation_rad: laser.elevation_deg.to_radians(),
            azimuth_offset_rad: laser.azimuth_deg.to_radians(),
            ..LaserGeometry::default()
        });
        let (beam, noise) = (&self.settings.beam, &self.settings.noise);
        Lidar::new(lasers.collect(), beam, noise, self.noise).with_faults(&self.optics_faults)
    }

    /// Data packets per second in the present mode at the target speed; 0 in standby.
    fn data_rate_hz(&self) -> f64 {
        if self.values.standby {
            return 0.0;
        }
        let Values { rpm, returns, range_decideg, .. } = self.values;
        let per_packet = self.profile.steps_of_packet(returns);
        let packets = FiringRange(range_decideg).packets(self.profile.steps(rpm), per_packet);
        f64::from(packets) * f64::from(rpm) / 60.0
    }

    /// The motor's speed at `at`, rpm.
    fn rpm(&self, at: SimTime) -> u16 {
        self.stream.program.rotor().rpm(at).round() as u16
    }

    /// Encodes a packet without its timestamp. The result also has the packet's number of points with a return, and the
    /// effects of faults.
    fn packet(&self, plan: &PacketPlan, echoes: &[Echoes]) -> MeasuredPacket {
        let (format, mode) = (self.profile.packet.format, &plan.mode);
        let noise = self.noise.request(plan.number);
        let is_dual = mode.returns.is_dual();
        let mut payload = vec![0; format.packet_len(mode.has_sequence)];
        let mut writer = PacketWriter::new(format, &mut payload);
        writer.head(&format.head(self.head(is_dual, mode.has_sequence)));
        // Firings outside the sector were not measured.
        let mut measured = echoes.chunks_exact(self.lasers.len());
        let blocks = if is_dual { 2 } else { 1 };
        let mut returns = 0;
        for firing in 0..plan.firings() {
            let azimuth = self.azimuth_centideg(plan, firing, &noise);
            let echoes = plan.is_fired(firing).then(|| measured.next()).flatten();
            let mut put = |block: usize, point: &dyn Fn(usize) -> Point| {
                let out = writer.block(firing * blocks + block, azimuth);
                for (laser, out) in out.chunks_exact_mut(format.point_len()).enumerate() {
                    let point = point(laser);
                    returns += u32::from(point.distance != 0);
                    point.put(out);
                }
            };
            let Some(echoes) = echoes else {
                (0..blocks).for_each(|block| put(block, &|_| self.points.point(None)));
                continue;
            };
            let pairs: Vec<_> = echoes
                .iter()
                .map(|echoes| {
                    selected(mode.returns, mode.order, echoes).map(|echo| self.points.point(echo))
                })
                .collect();
            (0..blocks).for_each(|block| put(block, &|laser| pairs[laser][block]));
        }
        let fault_effects = self.fault_effects(plan);
        MeasuredPacket { payload, points: returns, fault_effects }
    }

    fn fault_effects(&self, plan: &PacketPlan) -> Vec<crate::sensors::fault::FaultEffect> {
        let (from, to) = (plan.start(), plan.last());
        let hot = effects(&self.hot, from, to, EffectKind::AlertActive);
        let is_kept = self.settings.clock.ptp != PtpState::Free;
        let of_ptp = if is_kept { self.clock.faults() } else { &[] };
        hot.chain(crate::ptp::faults::effects(of_ptp, from, to)).collect()
    }

    fn head(&self, is_dual: bool, has_sequence: bool) -> HeadWords {
        let packet = &self.profile.packet;
        HeadWords {
            minor: packet.minor,
            version: 0,
            first_block: is_dual.into(),
            returns: packet.told_returns[usize::from(is_dual)],
            flags: if has_sequence { HAS_SEQUENCE } else { 0 },
        }
    }

    fn azimuth_centideg(&self, plan: &PacketPlan, firing: usize, noise: &RequestNoise) -> u16 {
        let jitter = self.settings.azimuth_jitter_centideg;
        let error =
            if jitter == 0.0 { 0.0 } else { noise.standard_normal(firing, Quantity::Encoder) };
        let full = f64::from(FULL_TURN_CENTIDEG);
        let ahead = 100.0 * self.profile.packet.azimuth_ahead_deg(plan.rpm);
        let told = (plan.azimuth_centideg(firing) + ahead + jitter * error).rem_euclid(full);
        told.round() as u16 % FULL_TURN_CENTIDEG
    }

    /// Status words in a packet with the timestamp `at`.
    fn state_words(&self, at: SimTime) -> [u8; 10] {
        let packet = &self.profile.packet;
        let mut words = packet.status;
        let noise = self.noise.request(LIVE_DRAWS + at.0 / SECOND_NS);
        for place in packet.live_words.iter().copied().map(usize::from) {
            let Some([low, high]) = words.get_mut(place..place + 2) else { continue };
            let wander = noise.whole(place, Quantity::White, 0, 2 * LIVE_COUNTS);
            let word = u16::from_le_bytes([*low, *high]);
            let word = word.saturating_add(wander.into()).saturating_sub(LIVE_COUNTS.into());
            [*low, *high] = word.to_le_bytes();
        }
        let is_hot = faults::rise_c(&self.hot, at).is_some();
        if is_hot && matches!(packet.format, HesaiFormat::Pandar40P | HesaiFormat::Pandar64) {
            words[5] = 1;
        }
        words
    }

    /// Completes and sends the packets whose timestamps are known.
    fn release(&mut self) {
        while let Some(mut held) = self.stream.next_known() {
            let Held { plan, stamped, payload, .. } = &mut held;
            let stamped = *stamped;
            let packet = &self.profile.packet;
            let time = self.clock.civil(plan.mode.source, stamped);
            let (date, micros) = clock::words(time, packet.year_base);
            let tail = Tail {
                status: self.state_words(stamped),
                rpm: plan.rpm,
                date,
                micros,
                return_mode: plan.mode.returns.byte(),
                factory: packet.factory,
                sequence: plan.mode.has_sequence.then_some(plan.sequence),
            };
            PacketWriter::new(packet.format, payload).tail(&tail);
            self.stream.send(held.into());
        }
    }

    fn send_gps(&mut self) {
        while let Some(transmit) = self.gps.next(self.stream.now, &self.clock, self.values.source) {
            self.stream.send(transmit);
        }
    }

    fn reply(&mut self, due: SimTime, peer: Peer, bytes: Vec<u8>) {
        self.stream.send(Transmit::new(due, Output::BytesTo(peer, bytes)));
    }
}

impl Device for Hesai {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        self.stream.poll_request(horizon)
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let Outcome::Echoes(echoes) = &measurement.outcome else { return };
        let Some(plan) = self.stream.answered(measurement) else { return };
        let (packet, stamped) = (self.packet(&plan, echoes), plan.stamped);
        self.stream.hold(plan, stamped, measurement, packet);
        self.release();
    }

    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        self.advance(now);
        if self.is_down() {
            return;
        }
        self.clock.handle_signal(now, signal);
        // The state of PPS can have changed.
        let at = self.stream.program.takes_effect(self.stream.now);
        self.follow(at);
    }

    fn handle_peer(&mut self, now: SimTime, peer: Peer, connected: bool) {
        self.advance(now);
        let is_refused = connected && self.is_down();
        self.hosts.handle(now, peer, connected && !is_refused);
        if is_refused {
            self.stream.send(Transmit::new(now, Output::Disconnect(peer)));
        }
    }

    fn handle_peer_input(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        self.advance(now);
        self.hear(now, peer, bytes);
    }

    fn ptp_slave(&mut self) -> Option<&mut PtpSlave> {
        self.clock.slave.as_mut()
    }

    fn is_deaf(&self, _now: SimTime) -> bool {
        self.is_down()
    }

    fn stamps_by_ptp(&self) -> bool {
        self.values.source == ClockSource::Ptp
    }

    fn follow_ptp(&mut self, now: SimTime) {
        self.follow(self.stream.program.takes_effect(now));
    }

    fn change_faults(&mut self, at: SimTime, faults: &DeviceFaults) {
        self.optics_faults = faults.kind();
        self.stream.program.change_stalls(at, &faults.kind());
        self.clock.set_faults(faults.kind());
        self.hot = faults.kind();
    }

    fn fault_notice_ns(&self, kind: &dyn FamilyData, _begins: bool) -> u64 {
        stall_notice_ns(kind)
    }

    fn advance(&mut self, now: SimTime) {
        // Messages from a master within Menura change the clock between two calls.
        let heard = |unit: &mut Self| unit.clock.slave.as_mut()?.advance_to_message(now);
        while let Some(at) = heard(self) {
            self.stream.advance(at);
            self.follow(self.stream.program.takes_effect(at));
        }
        self.stream.advance(now);
        self.send_gps();
        self.release();
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.stream.poll_transmit()
    }

    fn nominal_rate_hz(&self) -> f64 {
        self.data_rate_hz() + 1.0
    }
}

#[cfg(test)]
mod tests;
