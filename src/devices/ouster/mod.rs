//! Ouster OS0, OS1 and OS2: 32, 64 or 128 beams, all of which fire at the same time. Each firing gives one column of
//! pixels.
//!
//! [`planner`] selects the columns of a packet, [`pixels`] encodes measured echoes, [`clock`] timestamps
//! columns. [`config`] is the configuration that hosts set by the HTTP interface ([`http`]) or by
//! [`commands`], [`control`] applies it to the stream.
//!
//! Rotor angles are encoder angles: 0 is the direction of the connector, which is backward in the sensor
//! frame. So one rotation is one frame.
//!
//! Sources: firmware user manual, HTTP API guide, ouster-sdk 1.0.1, captures of real units.

mod clock;
mod commands;
mod conduct;
mod config;
mod control;
pub(crate) mod decoder;
mod describe;
mod documents;
mod family;
mod faults;
mod http;
mod inertial;
mod pixels;
mod planner;
pub mod profile;
mod profile_read;
mod window;
pub mod words;

pub use self::family::OusterFamily;
use std::net::{IpAddr, Ipv4Addr};
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
use crate::ouster::profile::{OusterProfile, OusterSettings};
use crate::ouster::words::TimestampMode;
use crate::ptp::PtpSlave;
use crate::sensors::lidar::Lidar;
use crate::sensors::lidar_with_imu::with_imu;
use crate::sensors::multi_echo::MultiEchoLidar;
use crate::sensors::noise::NoiseSource;
use crate::sensors::optics_fault::LidarFault;
use crate::sensors::pattern::LaserGeometry;
use crate::sensors::{Echoes, Measurement, MeasurementRequest, Outcome, Sensor};
use crate::tcp_hosts::TcpHosts;
use crate::time::{Epoch, SimTime};
use crate::wire::http::{HttpRequest, HttpResponse};
use crate::wire::ouster::commands::CommandLines;
use crate::wire::ouster::format::{COLUMNS, LidarFormat};
use crate::wire::ouster::lidar::{Column, Footer, Header, PacketWriter};
use crate::wire::port::Peer;
use crate::wire::ptp::identity_of;
use crate::wire::record::Record as _;
use clock::OusterClock;
use control::Control;
use faults::{OusterFaults, announced_ns};
use inertial::Inertial;
use pixels::PixelMaker;
use planner::{PacketPlan, Planner};

/// Mask of the frame number, which has 16 bits except in the functional safety format.
const FRAME_MASK: u32 = 0xffff;

/// An emulated Ouster.
pub struct Ouster {
    profile: OusterProfile,
    settings: OusterSettings,
    stream: PacketStream<Planner>,
    control: Control,
    /// Destination of packets.
    host: HostAddress,
    clock: OusterClock,
    inertial: Inertial,
    /// Times at which IMU packets are switched on (`true`) or off (`false`), oldest first.
    imu_on: Vec<(SimTime, bool)>,
    /// Hosts connected to the TCP port for commands.
    hosts: TcpHosts<CommandLines>,
    noise: NoiseSource,
    epoch: Epoch,
    optics_faults: Vec<Timed<LidarFault>>,
    faults: OusterFaults,
}

impl Ouster {
    /// A unit that is already running at the start of the run, unless its settings start it at rest or in standby. It
    /// sends to `host`; with `None`, to the factory destination.
    pub fn new(
        profile: &OusterProfile,
        settings: &OusterSettings,
        host: Option<HostAddress>,
        noise: NoiseSource,
        epoch: Epoch,
        faults: &DeviceFaults,
    ) -> Self {
        let network = &profile.network;
        let host = host.unwrap_or_else(|| HostAddress {
            ip: IpAddr::from(network.destination_ip),
            ports: vec![network.destination_port, OusterProfile::IMU_UDP_PORT],
        });
        let port = |place: usize| host.ports.get(place).copied().unwrap_or_default();
        let control = Control::new(profile, settings, host.ip, [port(0), port(1)]);
        let rotor = Rotor::at_power_on(&settings.motor, control.rpm(), settings.start_azimuth_rad);
        let program = Program::new(control.mode(SimTime::ZERO), rotor);
        let planner = Planner::new(profile.beams.len());
        let mut unit = Self {
            stream: PacketStream::new(program, planner, settings.lag_ns),
            imu_on: vec![(SimTime::ZERO, control.sends_imu())],
            clock: OusterClock::new(
                &settings.clock,
                epoch,
                identity_of(profile.network.source_mac),
                noise,
            ),
            inertial: Inertial::new(&profile.imu, noise),
            profile: profile.clone(),
            settings: settings.clone(),
            control,
            host,
            hosts: TcpHosts::default(),
            noise,
            epoch,
            optics_faults: Vec::new(),
            faults: OusterFaults::default(),
        };
        if unit.clock.slave().is_some() {
            // With a PTP master, packets wait for the master's messages as they do for a GNSS receiver.
            unit.connect_receiver();
        }
        unit.follow_clock();
        unit.change_faults(SimTime::ZERO, faults);
        unit
    }

    /// Limits the duration of each requested series of IMU samples to `longest_ns`, but a series has at least one sample.
    /// Call this before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        self.inertial.samples.series.limit(longest_ns);
    }

    /// Sets the unit's own IP address, which only its PTP slave uses.
    pub fn set_address(&mut self, address: Ipv4Addr) {
        let mac = self.profile.network.source_mac;
        if let Some(ptp) = self.clock.slave() {
            ptp.set_address(mac, address);
        }
    }

    /// Connects a GNSS receiver: packets then wait until the receiver's output is known.
    pub fn connect_receiver(&mut self) {
        self.stream.connect_receiver();
    }

    /// The sensor model of this unit.
    pub fn sensor(&self) -> Arc<dyn Sensor> {
        let imu_m = DVec3::from_array(self.profile.geometry.imu_m);
        with_imu(MultiEchoLidar(self.lidar()), Some(imu_m))
    }

    /// Lidar model of the beams for the ray tracer, in the sensor frame.
    pub fn lidar(&self) -> Lidar {
        let geometry = self.profile.geometry;
        let beams = self.profile.beams.iter().map(|beam| {
            // A beam's origin is in the column's direction; the beam leaves at its own azimuth offset, clockwise.
            let offset_rad = beam.azimuth_deg.to_radians();
            let (sin, cos) = libm::sincos(offset_rad);
            LaserGeometry {
                elevation_rad: beam.altitude_deg.to_radians(),
                // Column 0 points backward.
                azimuth_offset_rad: std::f64::consts::PI + offset_rad,
                exit_forward_m: geometry.beam_origin_m * cos,
                exit_left_m: geometry.beam_origin_m * sin,
                exit_up_m: geometry.lidar_height_m,
            }
        });
        let (beam, noise) = (&self.settings.beam, &self.settings.noise);
        Lidar::new(beams.collect(), beam, noise, self.noise).with_faults(&self.optics_faults)
    }

    /// Lidar packets per second in the present mode; 0 if none are sent.
    fn data_rate_hz(&self) -> f64 {
        let now = &self.control.effective;
        match self.control.mode(SimTime::ZERO).is_on {
            true => {
                let packets = now.window.packets(now.lidar_mode.columns());
                packets as f64 * f64::from(now.lidar_mode.turns_per_s())
            }
            false => 0.0,
        }
    }

    /// A packet without timestamps and checksum, with its number of returns and the effects of faults.
    fn packet(&self, plan: &PacketPlan, echoes: &[Echoes]) -> MeasuredPacket {
        let (format, pixels) = (plan.mode.format, self.profile.beams.len());
        let mut payload = vec![0; format.packet_len(pixels)];
        let mut header = self.header(plan);
        let mut fault_effects = self.faults.mark(plan.start(), &mut header);
        let of_ptp = self.clock.faults(plan.mode.timestamp_mode);
        fault_effects.extend(crate::ptp::faults::effects(of_ptp, plan.start(), plan.last()));
        let mut writer = PacketWriter::new(format, pixels, &mut payload);
        writer.header(&header);
        let mut maker = PixelMaker::new(
            &self.profile.photons,
            self.profile.geometry.beam_origin_m,
            format,
            self.profile.packet.range_step_mm,
            plan.mode.order,
            plan.mode.signal_multiplier,
        );
        let turn = plan.mode.lidar_mode.columns();
        // Columns that did not fire were not measured.
        let mut measured = echoes.chunks_exact(pixels);
        let mut points = 0;
        for index in 0..COLUMNS {
            let measurement_id = plan.first + index as u16;
            let is_valid = plan.is_valid(index);
            let column = Column { timestamp_ns: 0, measurement_id, is_valid };
            let out = writer.column(index, &column, &header, turn);
            let Some(echoes) = is_valid.then(|| measured.next()).flatten() else { continue };
            points += maker.write_column(echoes, out);
        }
        MeasuredPacket { payload, points, fault_effects }
    }

    fn header(&self, plan: &PacketPlan) -> Header {
        let is_wide = plan.mode.format == LidarFormat::Fusa;
        Header {
            frame_id: if is_wide { plan.frame } else { plan.frame & FRAME_MASK },
            initialization_id: plan.mode.initialization_id,
            serial: self.profile.identity.serial,
            ..Header::default()
        }
    }

    /// Timestamps and sends the measured packets whose timestamps the clock can determine.
    fn release(&mut self) {
        while let Some(mut held) = self.stream.next_known() {
            let Held { plan, payload, .. } = &mut held;
            let format = plan.mode.format;
            let mut writer = PacketWriter::new(format, self.profile.beams.len(), payload);
            for (index, at) in plan.at.iter().enumerate() {
                writer.stamp(index, self.clock.stamp_ns(plan.mode.timestamp_mode, *at));
            }
            writer.finish(match format {
                LidarFormat::Fusa => Footer::Zero,
                _ => self.profile.packet.footer,
            });
            self.stream.send(held.into());
        }
    }

    /// Sends IMU samples up to now.
    fn release_imu(&mut self) {
        while let Some(truth) = self.inertial.samples.next(self.stream.now) {
            let state = self.imu_on.iter().rev().find(|(since, _)| *since <= truth.at);
            let is_on = state.is_some_and(|(_, is_on)| *is_on);
            if !is_on || self.faults.is_shut_down(truth.at) {
                continue;
            }
            let mode = self.control.effective.timestamp_mode;
            let bytes = self.inertial.packet(&truth, &self.clock, mode).to_bytes();
            let port = OusterProfile::IMU_PORT;
            let due = self.inertial.leaves(truth.at);
            self.stream.send(Transmit::new(due, Output::Datagram { port, bytes }));
        }
        let now = self.stream.now;
        let first = self.imu_on.iter().rposition(|(since, _)| since.0 + 1_000_000_000 <= now.0);
        self.imu_on.drain(..first.unwrap_or(0));
    }
}

impl Device for Ouster {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        // Requests must be in the order of their starts: device time advances only to the oldest unanswered request,
        // and everything due by then must have been measured.
        let imu_from = self.inertial.samples.series.next_start();
        self.stream.poll_request(imu_from.min(horizon)).or_else(|| {
            let (start, subject) = self.inertial.samples.series.poll(horizon)?;
            Some(MeasurementRequest { index: self.stream.count_request(), start, subject })
        })
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        match &measurement.outcome {
            Outcome::Inertial(truths) => {
                self.inertial.samples.take(truths);
                self.release_imu();
            }
            Outcome::Echoes(echoes) => {
                let Some(plan) = self.stream.answered(measurement) else { return };
                let (packet, start) = (self.packet(&plan, echoes), plan.start());
                self.stream.hold(plan, start, measurement, packet);
                self.release();
            }
            _ => {}
        }
    }

    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        if self.hear(now) {
            self.clock.handle_signal(now, signal, self.control.effective.nmea);
            self.follow_clock();
        }
    }

    fn ptp_slave(&mut self) -> Option<&mut PtpSlave> {
        self.clock.slave()
    }

    fn is_deaf(&self, _now: SimTime) -> bool {
        self.is_down()
    }

    fn stamps_by_ptp(&self) -> bool {
        self.control.effective.timestamp_mode == TimestampMode::Ptp1588
    }

    fn follow_ptp(&mut self, _now: SimTime) {
        self.follow_clock();
    }

    fn handle_http(&mut self, now: SimTime, request: &HttpRequest) -> HttpResponse {
        match self.hear(now) {
            true => self.answer(request),
            false => HttpResponse::text(503, "the sensor restarts"),
        }
    }

    fn handle_peer(&mut self, now: SimTime, peer: Peer, connected: bool) {
        self.advance(now);
        self.meet(now, peer, connected);
    }

    fn handle_peer_input(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        if self.hear(now) {
            self.hear_lines(peer, bytes);
        }
    }

    fn advance(&mut self, now: SimTime) {
        self.stream.advance(now);
        if let Some(ptp) = self.clock.slave() {
            ptp.advance(now);
        }
        self.release_imu();
        self.release();
    }

    fn change_faults(&mut self, at: SimTime, faults: &DeviceFaults) {
        self.optics_faults = faults.kind();
        self.stream.program.change_stalls(at, &faults.kind());
        self.faults = OusterFaults::of(faults);
        self.clock.set_faults(faults.kind());
        self.stream.planner.set_faults(self.faults.clone());
    }

    fn fault_notice_ns(&self, kind: &dyn FamilyData, begins: bool) -> u64 {
        let announced_ns = if begins { announced_ns(kind) } else { 0 };
        stall_notice_ns(kind).max(announced_ns)
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.stream.poll_transmit()
    }

    fn nominal_rate_hz(&self) -> f64 {
        let imu_hz = if self.control.sends_imu() { self.profile.imu.rate_hz } else { 0 };
        self.data_rate_hz() + f64::from(imu_hz)
    }
}

#[cfg(test)]
mod tests;
