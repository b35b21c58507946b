//! Cameras with GigE Vision.
//!
//! [`control`] answers hosts (GVCP), [`features`] is the table of what they can set, [`stream`] takes frames and sends
//! them (GVSP), [`image`] makes images of the converter's counts.
//!
//! Sources: Aravis 0.8.26 and conversations with it; Wireshark's dissectors; the GigE Vision register table of d3cam.

mod assembly;
mod control;
pub(crate) mod decoder;
mod describe;
mod family;
mod features;
mod image;
pub mod profile;
mod profile_read;
mod stream;

pub use self::family::GigeCameraFamily;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::{Device, Transmit};
use crate::config::profile::network::HostAddress;
use crate::sensors::camera::Camera as CameraSensor;
use crate::sensors::noise::NoiseSource;
use crate::sensors::{Measurement, MeasurementRequest, Outcome, Sensor};
use crate::time::{Epoch, SimTime};
use crate::wire::port::Peer;
use control::Control;
use features::{Features, Values, at};
use profile::{CameraProfile, CameraSettings};
use stream::Stream;

/// One unit.
pub struct GigeCamera {
    profile: CameraProfile,
    settings: CameraSettings,
    features: Features,
    xml: Vec<u8>,
    values: Values,
    /// What UserSet1 keeps.
    saved: Values,
    control: Control,
    stream: Stream,
    address: Ipv4Addr,
    user_name: String,
    /// The latest time that it was given.
    now: SimTime,
    /// It answers nothing until then.
    up_at: SimTime,
    ready: VecDeque<Transmit>,
}

impl GigeCamera {
    /// A unit that has been running since before the first instant. With `streams_alone` it sends to `host`.
    pub fn new(
        profile: &CameraProfile,
        settings: &CameraSettings,
        host: Option<HostAddress>,
    ) -> Self {
        let of_rig = CameraProfile { defaults: settings.clone(), ..profile.clone() };
        let features = Features::of(&of_rig);
        let xml = features.xml(profile).into_bytes();
        let values = Values::of(&features);
        let mut unit = Self {
            control: Control::new(settings.packet_bytes),
            stream: Stream::default(),
            address: profile.network.source_ip,
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

    /// The address that only this unit has.
    pub fn set_address(&mut self, address: Ipv4Addr) {
        self.address = address;
    }

    /// What measures for this unit.
    pub fn sensor(&self, noise: NoiseSource, epoch: Epoch) -> Arc<dyn Sensor> {
        let optics = self.settings.optics(self.profile.size);
        Arc::new(CameraSensor::new(self.profile.chip, optics, self.settings.light(), noise, epoch))
    }

    /// Computes the values that follow from others.
    fn refresh(&mut self) {
        let [width, height] = self.profile.size;
        let binning =
            [at::BINNING_X, at::BINNING_Y].map(|address| self.values.whole(address).max(1));
        let largest = [width / binning[0] / 4 * 4, height / binning[1] / 2 * 2];
        for (address, value) in [
            (at::WIDTH_MAX, largest[0].saturating_sub(self.values.whole(at::OFFSET_X))),
            (at::HEIGHT_MAX, largest[1].saturating_sub(self.values.whole(at::OFFSET_Y))),
        ] {
            self.values.set(address, value.into());
        }
        self.values.set(at::PAYLOAD_SIZE, self.values.payload() as f64);
        let fastest_hz = 1e9 / self.shortest_period_ns() as f64;
        let wanted = self.values.get(at::RATE);
        self.values.set(at::RATE, wanted.min(fastest_hz));
        self.values.set(at::RESULTING_RATE, 1e9 / self.period_ns() as f64);
    }

    /// Time to read a frame out.
    fn readout_ns(&self) -> u64 {
        let rows = self.values.whole(at::HEIGHT) + self.profile.timing.blank_rows;
        u64::from(rows) * self.profile.timing.line_ns
    }

    fn exposure_ns(&self) -> u64 {
        (self.values.get(at::EXPOSURE) * 1e3).round() as u64
    }

    /// Exposure and readout overlap: the longer of both counts.
    fn shortest_period_ns(&self) -> u64 {
        let wire_ns = self.wire_ns();
        self.readout_ns().max(self.exposure_ns()).max(wire_ns).max(1)
    }

    fn period_ns(&self) -> u64 {
        let shortest = self.shortest_period_ns();
        if self.values.get(at::RATE_ENABLE) == 0.0 {
            return shortest;
        }
        shortest.max((1e9 / self.values.get(at::RATE)).round() as u64)
    }

    /// Ticks of the unit's clock: nanoseconds of the run.
    fn ticks(&self, at: SimTime) -> u64 {
        at.0.saturating_sub(self.control.clock_start.0)
    }
}

impl Device for GigeCamera {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        self.next_request(horizon)
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        if let Outcome::Pixels(pixels) = &measurement.outcome {
            self.take_tile(measurement.request.index, pixels);
            self.release();
        }
    }

    fn handle_peer_input(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        self.advance(now);
        self.hear(peer, bytes);
        self.release();
    }

    fn advance(&mut self, now: SimTime) {
        self.now = self.now.max(now);
        self.watch_heartbeat();
        self.release();
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
