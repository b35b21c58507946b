//! The GNSS receivers as a family.

use std::sync::Arc;

use super::faults::FAULTS;
use super::profile::{GnssProfile, GnssSettings};
use super::{Gnss, commands, decoder, describe, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::{Product, Profile};
use crate::config::toml::reader::TableReader;
use crate::decoder::StreamDecoder;
use crate::describe::Section;
use crate::family::{Family, Unit};
use crate::sensors::gnss::SkySensor;

/// `gnss`
#[derive(Debug)]
pub struct GnssFamily;

impl Family for GnssFamily {
    type Profile = GnssProfile;
    type Settings = GnssSettings;

    fn key(&self) -> &'static str {
        "gnss"
    }

    fn read_profile(&self, root: TableReader<'_>) -> Option<GnssProfile> {
        profile_read::profile(root)
    }

    fn product(&self, _profile: &GnssProfile) -> Product {
        Product { has_gps_output: true, ..Product::on_a_line("a receiver") }
    }

    fn defaults<'p>(&self, profile: &'p GnssProfile) -> &'p GnssSettings {
        &profile.defaults
    }

    fn read_settings(
        &self,
        table: TableReader<'_>,
        _file: &Profile,
        profile: &GnssProfile,
    ) -> Option<GnssSettings> {
        profile_read::settings(table, profile)
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &FAULTS
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let faults = unit.faults.kind();
        let sensor = SkySensor::new(&unit.settings.receiver, unit.epoch).with_faults(&faults);
        let mut device = Gnss::new(unit.profile, unit.settings, &sensor, unit.noise(), unit.epoch);
        device.set_faults(&faults);
        Built { device: Box::new(device), sensor: Arc::new(sensor) }
    }

    fn describe(&self, profile: &GnssProfile) -> Vec<Section> {
        describe::sections(profile)
    }

    fn summary(&self, _profile: &GnssProfile, settings: &GnssSettings) -> String {
        let outputs = settings.sentences.iter().map(|kind| kind.word());
        let outputs: Vec<_> = outputs.chain(settings.messages.iter().map(String::as_str)).collect();
        let rate = 1e9 / settings.period_ns as f64;
        format!("{rate} Hz, {} baud, {}", settings.baud, outputs.join(" "))
    }

    fn commands(&self, profile: &GnssProfile) -> Vec<CommandTable> {
        commands::tables(profile)
    }

    fn stream_decoder(&self, profile: Option<&GnssProfile>) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(decoder::GnssDecoder::new(profile)))
    }
}
