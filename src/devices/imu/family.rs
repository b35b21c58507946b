//! The families of IMUs: each speaks one protocol.

use std::sync::Arc;

use super::profile::{ImuProfile, ImuSettings};
use super::{Imu, ImuFamily, describe, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::{Product, Profile};
use crate::config::toml::reader::TableReader;
use crate::decoder::StreamDecoder;
use crate::describe::Section;
use crate::family::{Family, Unit};
use crate::sensors::imu::settings::TriadErrors;

impl Family for ImuFamily {
    type Profile = ImuProfile;
    type Settings = ImuSettings;

    fn key(&self) -> &'static str {
        self.key
    }

    fn read_profile(&self, root: TableReader<'_>) -> Option<ImuProfile> {
        profile_read::profile(root, *self)
    }

    fn product(&self, _profile: &ImuProfile) -> Product {
        Product::on_a_line("an IMU")
    }

    fn defaults<'p>(&self, profile: &'p ImuProfile) -> &'p ImuSettings {
        &profile.defaults
    }

    fn read_settings(
        &self,
        table: TableReader<'_>,
        file: &Profile,
        profile: &ImuProfile,
    ) -> Option<ImuSettings> {
        profile_read::settings(table, file, profile)
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let name = &unit.config.name;
        let mut device = Imu::new(unit.profile, unit.settings, unit.seed, name, unit.epoch);
        device.limit_series(unit.config.longest_series_ns);
        let sensor = Arc::new(device.sensor());
        Built { device: Box::new(device), sensor }
    }

    fn describe(&self, profile: &ImuProfile) -> Vec<Section> {
        describe::sections(profile)
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
