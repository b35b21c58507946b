//! Device families of IMUs, one per protocol.

use std::sync::Arc;

use super::profile::{ImuProfile, ImuSettings};
use super::{Imu, ImuFamily, describe, profile};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::Product;
use crate::decoder::StreamDecoder;
use crate::family::{Family, Readers, Unit};
use crate::sensors::imu::settings::TriadErrors;

impl Family for ImuFamily {
    type Profile = ImuProfile;
    type Settings = ImuSettings;
    const READERS: Readers<Self> = Readers {
        profile: |family, root| profile::profile(root, *family),
        defaults: |profile| &profile.defaults,
        settings: profile::settings,
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        self.key
    }

    fn product(&self, _profile: &ImuProfile) -> Product {
        Product::on_a_line("an IMU")
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let name = &unit.config.name;
        let mut device = Imu::new(unit.profile, unit.settings, unit.seed, name, unit.epoch);
        device.limit_series(unit.config.longest_series_ns);
        let sensor = Arc::new(device.sensor());
        Built { device: Box::new(device), sensor }
    }

    fn inertial_errors(&self, profile: &ImuProfile) -> Option<[TriadErrors; 3]> {
        let model = &profile.defaults.model;
        Some([model.gyro, model.accel, model.mag])
    }

    fn streaming(&self, _profile: &ImuProfile, settings: &ImuSettings) -> Option<ImuSettings> {
        let waits = !settings.is_streaming;
        waits.then(|| ImuSettings { is_streaming: true, ..settings.clone() })
    }

    fn summary(&self, _profile: &ImuProfile, settings: &ImuSettings) -> String {
        format!("{} Hz, {} baud", settings.rate_hz, settings.baud_rate)
    }

    fn commands(&self, _profile: &ImuProfile) -> Vec<CommandTable> {
        CommandTable::parse_all(self.commands)
    }

    fn stream_decoder(&self, _profile: Option<&ImuProfile>) -> Option<Box<dyn StreamDecoder>> {
        Some((self.decoder)(self.key))
    }
}
