//! Device families of drive bases, one per protocol.

use std::sync::Arc;

use super::profile::{BaseProfile, BaseSettings};
use super::{BaseFamily, DriveBase, describe, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::{DeviceFaultKind, Product};
use crate::config::toml::keys::Keys;
use crate::decoder::StreamDecoder;
use crate::family::{Family, Readers, Unit};
use crate::sensors::odometry::WheelSensor;

impl Family for BaseFamily {
    type Profile = BaseProfile;
    type Settings = BaseSettings;
    const READERS: Readers<Self> = Readers {
        profile: |family, root| profile_read::profile(root, *family),
        defaults: |profile| &profile.defaults,
        settings: |table, profile, driver| {
            Keys::over(table, &driver.defaults, |all, keys| all.read_keys(keys, profile, driver))
        },
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        self.key
    }

    fn product(&self, _profile: &BaseProfile) -> Product {
        Product { drives: true, ..Product::on_a_line("a drive base") }
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        self.faults
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let mut device = DriveBase::new(unit.profile, unit.settings, unit.faults.kind());
        device.limit_series(unit.config.longest_series_ns);
        Built { device: Box::new(device), sensor: Arc::new(WheelSensor) }
    }

    fn summary(&self, _profile: &BaseProfile, settings: &BaseSettings) -> String {
        let wheels = &settings.wheels;
        format!("{} baud, up to {} m/s", settings.baud_rate, wheels.max_speed_m_s)
    }

    fn stream_decoder(&self, _profile: Option<&BaseProfile>) -> Option<Box<dyn StreamDecoder>> {
        Some((self.decoder)(self.key))
    }

    fn commands(&self, _profile: &BaseProfile) -> Vec<CommandTable> {
        CommandTable::parse_all(self.commands)
    }
}
