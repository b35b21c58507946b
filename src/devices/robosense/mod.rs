//! RoboSense's lidars: RS-LiDAR-16 and 32, Bpearl, Helios, Ruby, Airy and M1.
//!
//! [`planner`] selects the firings of a packet, [`raster`] has the directions of an M1's channels, [`returns`] encodes
//! echoes, [`split`] has the firings that two packets share, [`clock`] timestamps packets, [`angles`] has the laser
//! angles of a unit. [`state`] has the settings, the configuration that hosts write, and the status packets (DIFOP).
//! [`inertial`] is the IMU of an Airy.
//!
//! Differences between models are data: layout, angles, firing times, codes of return modes.
//!
//! Sources: RoboSense's user manuals; rs_driver 1.5.19, which decodes this output; angles of real units in ros_rslidar.

mod angles;
mod clock;
pub(crate) mod decoder;
mod describe;
mod family;
mod inertial;
mod m1_points;
mod parts;
mod planner;
pub mod profile;
mod profile_read;
mod raster;
mod returns;
mod split;
mod state;

pub use self::family::RobosenseFamily;
use std::net::Ipv4Addr;
use std::sync::Arc;

use glam::DVec3;

use super::spinning::backlog::{Held, PacketPlan as _};
use super::spinning::program::{Program, stall_notice_ns};
use super::spinning::rotor::Rotor;
use super::spinning::stream::{MeasuredPacket, PacketStream};
use super::{CableSignal, Device, Output, Transmit};
use crate::config::profile::FamilyData;
use crate::config::profile::network::HostAddress;
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::ptp::PtpSlave;
use crate::robosense::profile::{RobosenseProfile, RobosenseSettings, UnitLaser};
use crate::sensors::lidar::Lidar;
use crate::sensors::lidar_with_imu::with_imu;
use crate::sensors::multi_echo::MultiEchoLidar;
use crate::sensors::noise::NoiseSource;
use crate::sensors::optics_fault::LidarFault;
use crate::sensors::{Echoes, Measurement, MeasurementRequest, Outcome, Sensor};
use crate::time::{Epoch, SimTime};
use crate::wire::port::Peer;
use crate::wire::ptp::identity_of;
use crate::wire::robosense::layout::{Layout, Shape, Slot};
use crate::wire::robosense::msop::{self, AngledPoint, Head};
use clock::RobosenseClock;
use inertial::Inertial;
use planner::{PacketPlan, Planner};
use raster::Raster;
use returns::{PointMaker, selected};
use split::SplitFirings;
use state::Values;

/// A RoboSense lidar.
pub struct Robosense {
    profile: Arc<RobosenseProfile>,
    settings: RobosenseSettings,
    /// Lasers of this unit; their angles differ slightly from the profile's.
    lasers: Vec<UnitLaser>,
    raster: Option<Arc<Raster>>,
    stream: PacketStream<Planner>,
    /// Settings in effect.
    values: Values,
    /// Settings that hosts have written; `ucwp_effect` determines when they take effect. DIFOP packets report them.
    stored: Values,
    next_difop: SimTime,
    inertial: Option<Inertial>,
    clock: RobosenseClock,
    points: PointMaker,
    split: SplitFirings,
    /// Time at which the last restart is complete; until then, the unit sends nothing and ignores input.
    up_at: SimTime,
    noise: NoiseSource,
    optics_faults: Vec<Timed<LidarFault>>,
}

impl Robosense {
    /// A unit that is already running at the start of the run, unless its settings start it at rest. It sends to
    /// `host`; with `None`, to the factory destination.
    pub fn new(
        profile: &RobosenseProfile,
        settings: &RobosenseSettings,
        host: Option<HostAddress>,
        noise: NoiseSource,
        epoch: Epoch,
        faults: &DeviceFaults,
    ) -> Self {
        let profile = Arc::new(profile.clone());
        let host = host.unwrap_or_else(|| HostAddress {
            ip: profile.network.destination_ip.into(),
            ports: profile.datagram_ports().iter().map(|p| p.frame.destination_port).collect(),
        });
        let values = Values::of(&profile, settings, host);
        let rpm = values.driven_rpm(&profile);
        let rotor = Rotor::at_power_on(&settings.motor, rpm, settings.start_azimuth_rad);
        let program = Program::new(values.mode(&profile, settings), rotor);
        let lasers = angles::lasers_of(&profile, settings.serial);
        let raster = profile.raster.as_ref().map(|raster| {
            Arc::new(Raster::new(raster, &lasers, profile.packet.layout.firings(false)))
        });
        let planner = Planner::new(profile.clone(), raster.clone());
        let identity = identity_of(profile.network.source_mac);
        let imu = profile.imu.as_ref().filter(|_| settings.has_imu);
        let mut unit = Self {
            lasers,
            raster,
            stream: PacketStream::new(program, planner, settings.lag_ns),
            stored: values.clone(),
            values,
            next_difop: SimTime::ZERO,
            inertial: imu.map(|imu| Inertial::new(imu, profile.packet.celsius, noise)),
            clock: RobosenseClock::new(&settings.clock, epoch, identity, noise),
            points: PointMaker::new(&profile.packet),
            split: SplitFirings::default(),
            profile,
            settings: settings.clone(),
            up_at: SimTime::ZERO,
            noise,
            optics_faults: Vec::new(),
        };
        if unit.clock.slave.is_some() {
            // With a PTP master, packets wait for the master's messages as they do for a GNSS receiver.
            unit.connect_receiver();
        }
        unit.follow(SimTime::ZERO);
        unit.change_faults(SimTime::ZERO, faults);
        unit
    }

    /// Limits each requested series of IMU samples to a duration of `longest_ns`. Call it before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        if let Some(inertial) = &mut self.inertial {
            inertial.samples.series.limit(longest_ns);
        }
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
        let imu_m = self.profile.imu.as_ref().map(|imu| DVec3::from_array(imu.place_m));
        with_imu(MultiEchoLidar(self.lidar()), imu_m)
    }

    /// Lidar model of the lasers for the ray tracer.
    pub fn lidar(&self) -> Lidar {
        let lasers = self.lasers.iter().map(|laser| angles::geometry(&self.profile, laser));
        let (beam, noise) = (&self.settings.beam, &self.settings.noise);
        Lidar::new(lasers.collect(), beam, noise, self.noise).with_faults(&self.optics_faults)
    }

    /// Point packets (MSOP) per second in the present mode; 0 if the motor is switched off.
    fn data_rate_hz(&self) -> f64 {
        if self.values.driven_rpm(&self.profile) == 0 {
            return 0.0;
        }
        let (layout, is_dual) = (self.profile.packet.layout, self.values.returns.is_dual());
        let [over, under] = self.profile.period_ns;
        let per_packet = match (layout, is_dual) {
            // With two returns, two packets of a Ruby have three firings, and two packets of an M1 have the same 25
            // firings.
            (Layout::Ruby, true) => 1.5,
            (Layout::M1, true) => 12.5,
            _ => layout.firings(is_dual) as f64,
        };
        let share = match self.raster {
            Some(_) => 1.0,
            None => planner::FieldOfView(self.values.fov_centideg).share(),
        };
        1e9 * under as f64 / over as f64 / per_packet * share
    }

    /// Clock reading at `at`, microseconds of POSIX time.
    fn stamp_us(&self, at: SimTime) -> i64 {
        self.clock.unix_ns(at).div_euclid(1000) as i64
    }

    /// A packet without its timestamp, and the number of its points with a return.
    fn packet(&self, plan: &PacketPlan, echoes: &[Echoes]) -> (Vec<u8>, u32) {
        let packet = &self.profile.packet;
        let (layout, shape, mode) = (packet.layout, packet.layout.shape(), &plan.mode);
        let is_dual = mode.returns.is_dual();
        let mut bytes = vec![0; shape.packet];
        // An M1 numbers the packets of a frame from 1, including those with second returns.
        let count = match (&self.raster, is_dual) {
            (Some(_), true) => 2 * plan.count + 1 + u32::from(plan.is_second),
            (Some(_), false) => plan.count + 1,
            (None, _) => plan.count,
        };
        let head = Head {
            unix_us: 0,
            celsius: packet.celsius,
            count,
            kind: [packet.kind, packet.model],
            returns: self.head_returns(mode.returns),
            sync: 0,
        };
        msop::begin(layout, &head, &mut bytes);
        let returns = match &self.raster {
            Some(raster) => self.angled_points(plan, raster, echoes, &shape, &mut bytes),
            None => {
                let slots = layout.slots(is_dual, plan.phase);
                slots.iter().map(|slot| self.points(plan, slot, echoes, &shape, &mut bytes)).sum()
            }
        };
        (bytes, returns)
    }

    /// Code of the return mode in packet headers. In an Airy's header, it is 0 for all modes with one return.
    fn head_returns(&self, mode: profile::Returns) -> u8 {
        match self.profile.packet.layout {
            Layout::Airy if !mode.is_dual() => 0,
            _ => self.profile.return_code(mode),
        }
    }

    /// Writes the points of `slot`, which is a part of a block; returns the number of points with a return.
    fn points(
        &self,
        plan: &PacketPlan,
        slot: &Slot,
        echoes: &[Echoes],
        shape: &Shape,
        bytes: &mut [u8],
    ) -> u32 {
        let mode = &plan.mode;
        if slot.point == 0 {
            msop::azimuth(shape, slot.block, plan.firings[slot.firing].1, bytes);
        }
        if self.profile.packet.layout == Layout::Ruby && mode.returns.is_dual() {
            msop::return_number(shape, slot.block, 1 + u8::from(slot.is_second), bytes);
        }
        let first = slot.firing * self.lasers.len() + slot.first_laser;
        let Some(echoes) = echoes.get(first..first + slot.lasers) else { return 0 };
        let out = bytes[slot.bytes(shape)].chunks_exact_mut(shape.point);
        let mut returns = 0;
        for (echoes, out) in echoes.iter().zip(out) {
            let echo = selected(mode.returns, mode.order, echoes, slot.is_second);
            let point = self.points.point(echo);
            returns += u32::from(point.distance != 0);
            point.put(out);
        }
        returns
    }

    /// Writes the points of an M1; returns the number of points with a return.
    fn angled_points(
        &self,
        plan: &PacketPlan,
        raster: &Raster,
        echoes: &[Echoes],
        shape: &Shape,
        bytes: &mut [u8],
    ) -> u32 {
        let mode = &plan.mode;
        let number = match (mode.returns.is_dual(), plan.is_second) {
            (false, _) => 0,
            (true, is_second) => 1 + u8::from(is_second),
        };
        let start = plan.start();
        let angles = &raster.packet(plan.count.into()).angles;
        let blocks = plan.firings.iter().zip(angles.chunks_exact(shape.points));
        let mut returns = 0;
        for (block, ((at, _), angles)) in blocks.enumerate() {
            let after_us = ((at.0 - start.0 + 500) / 1000) as u8;
            msop::angled_block(shape, block, after_us, number, bytes);
            let own = block * shape.points..(block + 1) * shape.points;
            let Some(echoes) = echoes.get(own) else { continue };
            let points = shape.point_at(block, 0)..shape.point_at(block, shape.points);
            let out = bytes[points].chunks_exact_mut(shape.point);
            for ((echoes, angles), out) in echoes.iter().zip(angles).zip(out) {
                let echo = selected(mode.returns, mode.order, echoes, plan.is_second);
                let point = self.points.point(echo);
                returns += u32::from(point.distance != 0);
                AngledPoint { point, angles: *angles }.put(out);
            }
        }
        returns
    }

    /// Timestamps and sends the measured packets whose timestamps the clock can determine.
    fn release(&mut self) {
        while let Some(mut held) = self.stream.next_known() {
            let Held { stamped, payload, .. } = &mut held;
            let (stamped, sync) = (*stamped, self.clock.set_by(*stamped) as u8);
            msop::stamp(self.profile.packet.layout, self.stamp_us(stamped), sync, payload);
            self.stream.send(held.into());
        }
    }

    /// Sends IMU samples up to now.
    fn send_imu(&mut self) {
        loop {
            let Some(inertial) = &mut self.inertial else { return };
            let Some(truth) = inertial.samples.next(self.stream.now) else { return };
            if truth.at < self.up_at {
                continue;
            }
            let unix_us = self.clock.unix_ns(truth.at).div_euclid(1000) as i64;
            let bytes = inertial.packet(&truth, unix_us);
            let output = Output::Datagram { port: RobosenseProfile::IMU, bytes };
            let due = inertial.leaves(truth.at);
            self.stream.send(Transmit::new(due, output));
        }
    }
}

impl Device for Robosense {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        let Some(inertial) = &mut self.inertial else { return self.stream.poll_request(horizon) };
        // Requests must be in the order of their starts: everything due before the oldest request must have been
        // measured.
        let until = inertial.samples.series.next_start().min(horizon);
        self.stream.poll_request(until).or_else(|| {
            let (start, subject) = inertial.samples.series.poll(horizon)?;
            Some(MeasurementRequest { index: self.stream.count_request(), start, subject })
        })
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        match &measurement.outcome {
            Outcome::Inertial(truths) => {
                if let Some(inertial) = &mut self.inertial {
                    inertial.samples.take(truths);
                }
                self.send_imu();
            }
            Outcome::Echoes(_) => {
                let Some(plan) = self.stream.answered(measurement) else { return };
                let joined = match self.profile.packet.layout {
                    Layout::Ruby if plan.mode.returns.is_dual() => {
                        self.split.joined(&plan, measurement, self.lasers.len())
                    }
                    _ => None,
                };
                let measurement = joined.as_ref().unwrap_or(measurement);
                let Outcome::Echoes(echoes) = &measurement.outcome else { return };
                let has_two = self.raster.is_some() && plan.mode.returns.is_dual();
                let second = has_two.then(|| PacketPlan { is_second: true, ..plan.clone() });
                for plan in std::iter::once(plan).chain(second) {
                    let (payload, points) = self.packet(&plan, echoes);
                    let (from, to) = (plan.start(), plan.last());
                    let faults = crate::ptp::faults::effects(self.clock.faults(), from, to);
                    let packet =
                        MeasuredPacket { payload, points, fault_effects: faults.collect() };
                    self.stream.hold(plan, from, measurement, packet);
                }
                self.release();
            }
            _ => {}
        }
    }

    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        self.advance(now);
        if self.is_down() {
            return;
        }
        self.clock.handle_signal(now, signal);
        // The signal may have changed the state of PPS, on which the rotor's phase lock depends.
        let at = self.stream.program.takes_effect(self.stream.now);
        self.follow(at);
    }

    fn handle_peer_input(&mut self, now: SimTime, _peer: Peer, bytes: &[u8]) {
        self.advance(now);
        self.hear(bytes);
    }

    fn ptp_slave(&mut self) -> Option<&mut PtpSlave> {
        self.clock.slave.as_mut()
    }

    fn is_deaf(&self, _now: SimTime) -> bool {
        self.is_down()
    }

    fn follow_ptp(&mut self, now: SimTime) {
        self.follow(self.stream.program.takes_effect(now));
    }

    fn change_faults(&mut self, at: SimTime, faults: &DeviceFaults) {
        self.optics_faults = faults.kind();
        self.stream.program.change_stalls(at, &faults.kind());
        self.clock.set_faults(faults.kind());
    }

    fn fault_notice_ns(&self, kind: &dyn FamilyData, _begins: bool) -> u64 {
        stall_notice_ns(kind)
    }

    fn advance(&mut self, now: SimTime) {
        // A master within Menura changes the clock between two calls of this function, so advance to each of its
        // messages.
        let heard = |unit: &mut Self| unit.clock.slave.as_mut()?.advance_to_message(now);
        while let Some(at) = heard(self) {
            self.stream.advance(at);
            self.follow(self.stream.program.takes_effect(at));
        }
        self.stream.advance(now);
        self.split.forget(self.stream.needed_from());
        self.send_imu();
        self.send_difop();
        self.release();
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.stream.poll_transmit()
    }

    fn nominal_rate_hz(&self) -> f64 {
        let imu_hz = self.profile.imu.filter(|_| self.inertial.is_some()).map_or(0, |i| i.rate_hz);
        self.data_rate_hz() + 1e9 / self.settings.difop_period_ns as f64 + f64::from(imu_hz)
    }
}

#[cfg(test)]
mod tests;
