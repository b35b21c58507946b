//! Device family of the LMS1xx and LMS5xx.

use std::sync::Arc;

use super::profile::{SickLms1xxProfile, SickLms1xxSettings};
use super::{SickLms1xx, commands, decoder, describe};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::{AngleSense, Interface, LidarTraits, Product};
use crate::config::toml::key_types::RequiredKeys;
use crate::config::toml::keys::Keys;
use crate::decoder::StreamDecoder;
use crate::family::{Family, Readers, Unit};
use crate::motor_stall::MOTOR_STALL;
use crate::optics_fault::WINDOW_DIRTY;
use crate::power_cycle::POWER_CYCLE;
use crate::wire::cola::Dialect;

/// Family `sick-lms1xx`.
#[derive(Debug)]
pub struct SickLms1xxFamily;

impl Family for SickLms1xxFamily {
    type Profile = SickLms1xxProfile;
    type Settings = SickLms1xxSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| RequiredKeys::read(root),
        defaults: |profile| &profile.defaults,
        settings: |table, profile, driver| {
            Keys::over(table, &driver.defaults, |all, keys| all.read_keys(keys, profile, driver))
        },
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "sick-lms1xx"
    }

    fn product(&self, _profile: &SickLms1xxProfile) -> Product {
        Product {
            lidar: Some(LidarTraits { lasers: 1, angles: AngleSense::CounterClockwiseFromRight }),
            interface: Interface::Server,
            server_ports: &[2111, 2112],
            ..Product::on_a_line("a scanner with one laser")
        }
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[WINDOW_DIRTY, MOTOR_STALL, POWER_CYCLE]
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let mut device = SickLms1xx::new(unit.profile, unit.settings, unit.noise(), unit.epoch);
        device.set_faults(unit.faults);
        let sensor = Arc::new(device.lidar());
        Built { device: Box::new(device), sensor }
    }

    fn streaming(
        &self,
        _profile: &SickLms1xxProfile,
        settings: &SickLms1xxSettings,
    ) -> Option<SickLms1xxSettings> {
        let power_on_stream = Some(Dialect::B);
        let waits = settings.power_on_stream.is_none();
        waits.then(|| SickLms1xxSettings { power_on_stream, ..settings.clone() })
    }

    fn summary(&self, _profile: &SickLms1xxProfile, settings: &SickLms1xxSettings) -> String {
        let stream = settings.power_on_stream.map_or("off", |dialect| dialect.word());
        format!("{}, power-on stream {stream}", describe::mode_words(&settings.mode))
    }

    fn stream_decoder(
        &self,
        _profile: Option<&SickLms1xxProfile>,
    ) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(decoder::ColaDecoder::new()))
    }

    fn commands(&self, profile: &SickLms1xxProfile) -> Vec<CommandTable> {
        vec![commands::table(profile)]
    }
}
