//! Device family of the LMS 2xx.

use std::sync::Arc;

use super::faults::NAK;
use super::profile::{PowerOnMode, SickLms2xxProfile, SickLms2xxSettings};
use super::{SickLms2xx, commands, decoder, describe, profile};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::{AngleSense, LidarTraits, Product};
use crate::config::toml::key_types::RequiredKeys;
use crate::decoder::StreamDecoder;
use crate::family::{Family, Readers, Unit};
use crate::motor_stall::MOTOR_STALL;
use crate::optics_fault::WINDOW_DIRTY;
use crate::power_cycle::POWER_CYCLE;

/// Family `sick-lms2xx`.
#[derive(Debug)]
pub struct SickLms2xxFamily;

impl Family for SickLms2xxFamily {
    type Profile = SickLms2xxProfile;
    type Settings = SickLms2xxSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| RequiredKeys::read(root),
        defaults: |profile| &profile.defaults,
        settings: profile::settings,
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "sick-lms2xx"
    }

    fn product(&self, _profile: &SickLms2xxProfile) -> Product {
        Product {
            lidar: Some(LidarTraits { lasers: 1, angles: AngleSense::CounterClockwiseFromRight }),
            ..Product::on_a_line("a scanner with one laser")
        }
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
