//! Products: measurements and commands in, bytes out. No I/O; time is an argument.
//!
//! A device says what it wants measured ([`Device::poll_request`]), is handed the answers in the
//! same order ([`Device::handle_measurement`]) and then has bytes to send
//! ([`Device::poll_transmit`]). Who measures, on which thread and how far ahead is the engine's
//! affair.
//!
//! A new firmware of a known family is a profile and needs no code. A new family is one file in
//! [`crate::wire`], one here, and one arm in [`build`].

pub mod hdl64e;

use std::sync::Arc;

use crate::config::profile::DriverProfile;
use crate::config::rig::{DeviceConfig, DeviceSettings};
use crate::sensors::lidar::Lidar;
use crate::sensors::noise::NoiseSource;
use crate::sensors::{Measurement, MeasurementRequest};
use crate::time::{Epoch, SimTime};

/// Bytes that leave together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// When they leave.
    pub due: SimTime,
    /// Points with a return in them, for the status view.
    pub points: u32,
    /// The bytes.
    pub payload: Vec<u8>,
}

/// One product's behaviour.
pub trait Device: Send {
    /// What to measure next, if its first firing is before `horizon`. Call until `None`.
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest>;

    /// The answer to the oldest request that has none yet. Afterwards call
    /// [`Device::poll_transmit`] until `None`.
    fn handle_measurement(&mut self, measurement: &Measurement);

    /// Bytes to send; due times never go back.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// Transmits a second when all goes well.
    fn nominal_rate_hz(&self) -> f64;
}

/// A device and the sensor that measures for it.
pub struct Built {
    /// The product.
    pub device: Box<dyn Device>,
    /// Its physics; measures on any thread.
    pub sensor: Arc<Lidar>,
}

/// Builds the device that `config` describes.
pub fn build(config: &DeviceConfig, seed: u64, epoch: Epoch) -> Built {
    let noise = NoiseSource::new(seed, &config.name);
    match (&config.profile.driver, &config.settings) {
        (DriverProfile::VelodyneHdl64e(profile), DeviceSettings::VelodyneHdl64e(settings)) => {
            let device = hdl64e::Hdl64e::new(profile, settings, noise, epoch);
            let sensor = Arc::new(device.lidar());
            Built { device: Box::new(device), sensor }
        }
    }
}
