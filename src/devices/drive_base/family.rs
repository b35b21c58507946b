//! The drive bases as a family with one driver word for each protocol.

use std::sync::Arc;

use super::faults::{FAULTS, FAULTS_OF_MUTE};
use super::profile::{BaseProfile, BaseProtocol, BaseSettings};
use super::{DriveBase, commands, decoder, describe, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::{DeviceFaultKind, Product, Profile};
use crate::config::toml::reader::TableReader;
use crate::decoder::StreamDecoder;
use crate::describe::Section;
use crate::family::{Family, Unit};
use crate::sensors::odometry::WheelSensor;

/// A base that speaks this protocol, whose word is the driver's.
#[derive(Debug)]
pub struct BaseFamily(pub BaseProtocol);

impl Family for BaseFamily {
    type Profile = BaseProfile;
    type Settings = BaseSettings;

    fn key(&self) -> &'static str {
        self.0.word()
    }

    fn read_profile(&self, root: TableReader<'_>) -> Option<BaseProfile> {
        profile_read::profile(root, self.0)
    }

    fn product(&self, _profile: &BaseProfile) -> Product {
        Product { drives: true, ..Product::on_a_line("a drive base") }
    }

    fn defaults<'p>(&self, profile: &'p BaseProfile) -> &'p BaseSettings {
        &profile.defaults
    }

    fn read_settings(
        &self,
        table: TableReader<'_>,
        file: &Profile,
        profile: &BaseProfile,
    ) -> Option<BaseSettings> {
        profile_read::settings(table, file, profile)
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        if self.0 == BaseProtocol::Sabertooth { &FAULTS_OF_MUTE } else { &FAULTS }
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let mut device = DriveBase::new(unit.profile, unit.settings, unit.faults.kind());
        device.limit_series(unit.config.longest_series_ns);
        Built { device: Box::new(device), sensor: Arc::new(WheelSensor) }
    }

    fn describe(&self, profile: &BaseProfile) -> Vec<Section> {
        describe::sections(profile)
    }

    fn summary(&self, _profile: &BaseProfile, settings: &BaseSettings) -> String {
        let wheels = &settings.wheels;
        format!("{} baud, up to {} m/s", settings.baud_rate, wheels.max_speed_m_s)
    }

    fn stream_decoder(&self, _profile: Option<&BaseProfile>) -> Option<Box<dyn StreamDecoder>> {
        Some(decoder::decoder(self.0))
    }

    fn commands(&self, profile: &BaseProfile) -> Vec<CommandTable> {
        commands::tables(profile)
    }
}
