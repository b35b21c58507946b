//! The LMS 2xx as a family.

use std::sync::Arc;

use super::faults::NAK;
use super::profile::{PowerOnMode, SickLms2xxProfile, SickLms2xxSettings};
use super::{SickLms2xx, commands, decoder, describe, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::{AngleSense, LidarTraits, Product, Profile};
use crate::config::toml::reader::TableReader;
use crate::decoder::StreamDecoder;
use crate::describe::Section;
use crate::family::{Family, Unit};
use crate::motor_stall::MOTOR_STALL;
use crate::optics_fault::WINDOW_DIRTY;
use crate::power_cycle::POWER_CYCLE;

/// `sick-lms2xx`
#[derive(Debug)]
pub struct SickLms2xxFamily;

impl Family for SickLms2xxFamily {
    type Profile = SickLms2xxProfile;
    type Settings = SickLms2xxSettings;

    fn key(&self) -> &'static str {
        "sick-lms2xx"
    }

    fn read_profile(&self, root: TableReader<'_>) -> Option<SickLms2xxProfile> {
        profile_read::profile(root)
    }

    fn product(&self, _profile: &SickLms2xxProfile) -> Product {
        Product {
            lidar: Some(LidarTraits { lasers: 1, angles: AngleSense::CounterClockwiseFromRight }),
            ..Product::on_a_line("a scanner with one laser")
        }
    }

    fn defaults<'p>(&self, profile: &'p SickLms2xxProfile) -> &'p SickLms2xxSettings {
        &profile.defaults
    }

    fn read_settings(
        &self,
        table: TableReader<'_>,
        file: &Profile,
        profile: &SickLms2xxProfile,
    ) -> Option<SickLms2xxSettings> {
        profile_read::settings(table, file, profile)
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[WINDOW_DIRTY, MOTOR_STALL, NAK, POWER_CYCLE]
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let mut device = SickLms2xx::new(unit.profile, unit.settings, unit.noise());
        device.set_faults(unit.faults);
        let sensor = Arc::new(device.lidar());
        Built { device: Box::new(device), sensor }
    }

    fn describe(&self, profile: &SickLms2xxProfile) -> Vec<Section> {
        describe::sections(profile)
    }

    fn streaming(
        &self,
        _profile: &SickLms2xxProfile,
        settings: &SickLms2xxSettings,
    ) -> Option<SickLms2xxSettings> {
        let power_on_mode = PowerOnMode::Continuous;
        let waits = settings.power_on_mode == PowerOnMode::OnRequest;
        waits.then(|| SickLms2xxSettings { power_on_mode, ..settings.clone() })
    }

    fn summary(&self, _profile: &SickLms2xxProfile, settings: &SickLms2xxSettings) -> String {
        let (baud, mode) = (settings.rate.baud(), settings.power_on_mode.word());
        format!("{}, {baud} baud, {mode}", describe::variant_words(&settings.variant))
    }

    fn stream_decoder(
        &self,
        profile: Option<&SickLms2xxProfile>,
    ) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(decoder::LmsDecoder::new(profile)))
    }

    fn commands(&self, profile: &SickLms2xxProfile) -> Vec<CommandTable> {
        vec![commands::table(profile)]
    }
}
