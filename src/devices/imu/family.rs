//! The IMUs as a family with one driver word for each protocol.

use std::sync::Arc;

use super::profile::{ImuProfile, ImuProtocol, ImuSettings};
use super::{Imu, decoder, describe, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::{Product, Profile};
use crate::config::toml::reader::TableReader;
use crate::decoder::StreamDecoder;
use crate::describe::Section;
use crate::family::{Family, Unit};
use crate::sensors::imu::settings::TriadErrors;

/// An IMU that speaks this protocol, whose word is the driver's.
#[derive(Debug)]
pub struct ImuFamily(pub ImuProtocol);

impl Family for ImuFamily {
    type Profile = ImuProfile;
    type Settings = ImuSettings;

    fn key(&self) -> &'static str {
        self.0.word()
    }

    fn read_profile(&self, root: TableReader<'_>) -> Option<ImuProfile> {
        profile_read::profile(root, self.0)
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

    fn summary(&self, _profile: &ImuProfile, settings: &ImuSettings) -> String {
        format!("{} Hz, {} baud", settings.rate_hz, settings.baud_rate)
    }

    fn commands(&self, _profile: &ImuProfile) -> Vec<CommandTable> {
        let (title, text) = match self.0 {
            ImuProtocol::FdiLink => ("FDILink", include_str!("fdilink.csv")),
            ImuProtocol::VectorNav => ("VectorNav registers", include_str!("vectornav.csv")),
            ImuProtocol::Xbus => ("Xbus messages", include_str!("xbus.csv")),
            ImuProtocol::Mip => ("MIP commands", include_str!("mip.csv")),
            ImuProtocol::SbgEcom => ("sbgECom commands", include_str!("sbg_ecom.csv")),
            ImuProtocol::Phone => return Vec::new(),
        };
        vec![CommandTable::parse(title, text)]
    }

    fn stream_decoder(&self, _profile: Option<&ImuProfile>) -> Option<Box<dyn StreamDecoder>> {
        Some(decoder::decoder(self.0))
    }
}
