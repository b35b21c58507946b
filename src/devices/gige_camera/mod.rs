//! Cameras with GigE Vision.
//!
//! [`control`] answers hosts (GVCP). [`features`] is the table of features, from which [`xml`] makes the GenICam
//! description. [`stream`] takes frames and sends them (GVSP), [`image`] converts ADC counts to images, [`lines`] has
//! the electrical lines, [`clock`] timestamps frames, and [`network`] has the addresses.
//!
//! Sources: Aravis 0.8.26 and recorded sessions with it; Wireshark's dissectors; the GigE Vision register table of
//! d3cam.

mod assembly;
mod calibration;
mod clock;
mod control;
pub(crate) mod decoder;
mod describe;
mod family;
mod faults;
mod features;
mod image;
mod lines;
mod network;
pub mod profile;
mod stream;
mod xml;

pub use self::family::GigeCameraFamily;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::{CableSignal, Device, Transmit};
use crate::config::profile::network::HostAddress;
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::ptp::PtpSlave;
use crate::sensors::camera::Camera as CameraSensor;
use crate::sensors::camera::faults::CameraFault;
use crate::sensors::camera::truth::FrameTruth;
use crate::sensors::noise::NoiseSource;
use crate::sensors::{Measurement, MeasurementRequest, Outcome, Sensor};
use crate::time::{Epoch, SimTime};
use crate::wire::port::Peer;
use crate::wire::ptp::identity_of;
use clock::CameraClock;
use control::Control;
use features::{Features, Values, at};
use network::Network;
use profile::{CameraProfile, CameraSettings};
use stream::Stream;

/// A GigE Vision camera.
pub struct GigeCamera {
    profile: CameraProfile,
    settings: CameraSettings,
    features: Features,
    xml: Vec<u8>,
    values: Values,
    /// Values stored in UserSet1.
    saved: Values,
    control: Control,
    clock: CameraClock,
    stream: Stream,
    /// Whether the signal at the input `Line1` is high.
    line_is_high: bool,
    noise: NoiseSource,
    network: Network,
    mac: [u8; 6],
    user_name: String,
    faults: Vec<Timed<CameraFault>>,
    /// Latest time passed to the device.
    now: SimTime,
    /// Time from which the unit answers hosts; earlier, it is still booting.
    up_at: SimTime,
    ready: VecDeque<Transmit>,
}

impl GigeCamera {
    /// A unit that is already running at the start of the run. With the setting `streams_alone`, it streams to `host`
    /// at once.
    pub fn new(
        profile: &CameraProfile,
        settings: &CameraSettings,
        host: Option<HostAddress>,
        noise: NoiseSource,
        epoch: Epoch,
    ) -> Self {
        let of_rig = CameraProfile { defaults: settings.clone(), ..profile.clone() };
        let features = Features::of(&of_rig);
        let xml = features.xml(profile).into_bytes();
        let values = Values::of(&features);
        let mut unit = Self {
            control: Control::new(settings),
            clock: CameraClock::new(
                settings,
                epoch,
                identity_of(profile.network.source_mac),
                noise,
            ),
            stream: Stream::new(settings.first_block),
            line_is_high: false,
            faults: Vec::new(),
            noise,
            network: Network::of(profile.network.source_ip),
            mac: profile.network.source_mac,
            user_name: settings.user_name.clone(),
            now: SimTime::ZERO,
            up_at: SimTime::ZERO,
            ready: VecDeque::new(),
            saved: values.clone(),
            values,
            features,
            xml,
            profile: profile.clone(),
            settings: settings.clone(),
        };
        unit.refresh();
        if settings.streams_alone {
            let port = host.and_then(|host| host.ports.first().copied());
            unit.control.open(port.unwrap_or(profile.network.destination_port));
            unit.start_stream();
        }
        unit
    }

    /// Sets the unit's own address. The last three bytes of the MAC address become those of `address`, as in
    /// `tools/bench-network`.
    pub fn set_address(&mut self, address: Ipv4Addr) {
        self.network = Network::of(address);
        let ([a, b, c, ..], [_, d, e, f]) = (self.mac, address.octets());
        if let Some(slave) = &mut self.clock.slave {
            slave.set_address(self.mac, address);
        }
        self.mac = [a, b, c, d, e, f];
    }

    /// Replaces the internal faults of the unit.
    pub fn set_faults(&mut self, faults: &DeviceFaults) {
        self.faults = faults.kind();
        self.clock.set_faults(faults.kind());
    }

    /// The sensor model of this unit.
    pub fn sensor(&self, epoch: Epoch) -> Arc<dyn Sensor> {
        let optics = self.settings.optics(self.profile.size());
        let light = self.settings.light();
        let camera = CameraSensor::new(self.profile.sensor.chip, optics, light, self.noise, epoch);
        Arc::new(camera.telling(self.settings.truth_images).with_faults(&self.faults))
    }

    /// Updates the values that depend on other values: largest image size, payload size, and resulting frame rate.
    fn refresh(&mut self) {
        let [width, height] = self.profile.size();
        let binning =
            [at::BINNING_X, at::BINNING_Y].map(|address| self.values.whole(address).max(1));
        self.values.set(at::WIDTH_MAX, (width / binning[0] / 4 * 4).into());
        self.values.set(at::HEIGHT_MAX, (height / binning[1] / 2 * 2).into());
        self.values.set(at::PAYLOAD_SIZE, self.values.payload() as f64);
        self.values.set(at::RESULTING_RATE, 1e9 / self.period_ns() as f64);
    }

    fn readout_ns(&self) -> u64 {
        let rows = self.values.whole(at::HEIGHT) + self.profile.timing.blank_rows;
        u64::from(rows) * self.profile.timing.line_ns
    }

    fn exposure_ns(&self) -> u64 {
        (self.values.get(at::EXPOSURE) * 1e3).round() as u64
    }

    /// Shortest frame period: exposure, readout and transmission overlap, so the longest of the three counts.
    fn shortest_period_ns(&self) -> u64 {
        let wire_ns = self.wire_ns();
        self.readout_ns().max(self.exposure_ns()).max(wire_ns).max(1)
    }

    /// Highest frame rate that exposure, readout and network allow.
    fn fastest_hz(&self) -> f64 {
        1e9 / self.shortest_period_ns() as f64
    }

    fn period_ns(&self) -> u64 {
        let shortest = self.shortest_period_ns();
        let is_triggered = self.values.get(at::TRIGGER_MODE) != 0.0;
        if is_triggered || self.values.get(at::RATE_ENABLE) == 0.0 {
            return shortest;
        }
        shortest.max((1e9 / self.values.get(at::RATE)).round() as u64)
    }
}

impl Device for GigeCamera {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        self.next_request(horizon)
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        if let Outcome::Pixels(pixels) = &measurement.outcome {
            self.take_tile(measurement.request.index, Some((pixels, measurement.picture.as_ref())));
            self.release();
        }
    }

    fn handle_revoked(&mut self, index: u64) {
        self.take_tile(index, None);
        self.release();
    }

    fn handle_peer_input(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        self.advance(now);
        self.hear(peer, bytes);
        self.release();
    }

    fn handle_address(&mut self, now: SimTime, ip: Ipv4Addr, moves: bool) {
        self.advance(now);
        self.take_address(ip, moves);
        self.release();
    }

    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        self.advance(now);
        if let CableSignal::PulsePerSecond(is_high) = signal {
            self.take_edge(now, *is_high);
        }
    }

    fn ptp_slave(&mut self) -> Option<&mut PtpSlave> {
        self.clock.slave.as_mut()
    }

    fn is_deaf(&self, now: SimTime) -> bool {
        now < self.up_at
    }

    fn change_faults(&mut self, _at: SimTime, faults: &DeviceFaults) {
        self.set_faults(faults);
    }

    fn advance(&mut self, now: SimTime) {
        self.now = self.now.max(now);
        if let Some(slave) = &mut self.clock.slave {
            slave.advance(self.now);
        }
        self.watch_heartbeat();
        self.watch_network();
        self.release();
    }

    fn poll_frame(&mut self) -> Option<FrameTruth> {
        self.stream.told.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.ready.pop_front()
    }

    fn nominal_rate_hz(&self) -> f64 {
        if !self.settings.streams_alone {
            return 0.0;
        }
        let packets = self.control.shape().packets(self.values.payload());
        1e9 / self.period_ns() as f64 * f64::from(packets)
    }
}

#[cfg(test)]
mod tests;
