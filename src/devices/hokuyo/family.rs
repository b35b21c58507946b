//! Device family of Hokuyo's scanners.

use std::sync::Arc;

use super::profile::{HokuyoProfile, HokuyoSettings, HostInterface};
use super::{Hokuyo, decoder, describe};
use crate::Built;
use crate::commands::{CommandTable, Conduct};
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::{AngleSense, Interface, LidarTraits, Product};
use crate::config::rig::{LineConfig, LinkConfig};
use crate::config::toml::key_types::RequiredKeys;
use crate::config::toml::keys::Keys;
use crate::decoder::StreamDecoder;
use crate::family::{Family, Readers, Unit};
use crate::motor_stall::MOTOR_STALL;
use crate::optics_fault::WINDOW_DIRTY;
use crate::power_cycle::POWER_CYCLE;
use crate::wire::port::PtyOptions;
use crate::wire::scip::request::Name;

/// Whether bit rates have no effect on a link.
fn has_no_rate(link: &LinkConfig) -> bool {
    matches!(link, LinkConfig::Line(LineConfig::Pty(PtyOptions { strict_rate: false, .. })))
}

/// Family `hokuyo`.
#[derive(Debug)]
pub struct HokuyoFamily;

impl Family for HokuyoFamily {
    type Profile = HokuyoProfile;
    type Settings = HokuyoSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| RequiredKeys::read(root),
        defaults: |profile| &profile.defaults,
        settings: |table, profile, driver| {
            Keys::over(table, &driver.defaults, |all, keys| all.read_keys(keys, profile, driver))
        },
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "hokuyo"
    }

    fn product(&self, profile: &HokuyoProfile) -> Product {
        let angles = AngleSense::CounterClockwiseFromForward;
        Product {
            lidar: Some(LidarTraits { lasers: 1, angles }),
            interface: match profile.connection.interface {
                HostInterface::Ethernet => Interface::Server,
                HostInterface::Serial | HostInterface::Usb => Interface::Line,
            },
            server_ports: &[10940],
            is_usb: profile.connection.interface == HostInterface::Usb,
            ..Product::on_a_line("a scanner with one laser")
        }
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[WINDOW_DIRTY, MOTOR_STALL, POWER_CYCLE]
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let mut device = Hokuyo::new(unit.profile, unit.settings, unit.noise());
        if has_no_rate(&unit.config.link) {
            device.connect_by_usb();
        }
        device.set_faults(unit.faults);
        let sensor = Arc::new(device.lidar());
        Built { device: Box::new(device), sensor }
    }

    fn streaming(
        &self,
        profile: &HokuyoProfile,
        settings: &HokuyoSettings,
    ) -> Option<HokuyoSettings> {
        let is_stream = |name: &&Name| name.scan().is_some_and(|scan| scan.is_stream);
        let stream = profile.protocol.commands.iter().find(is_stream).copied();
        let waits = settings.power_on_stream.is_none() && stream.is_some();
        waits.then(|| HokuyoSettings { power_on_stream: stream, ..settings.clone() })
    }

    fn summary(&self, profile: &HokuyoProfile, settings: &HokuyoSettings) -> String {
        let stream = settings.power_on_stream.map_or("off", |command| command.word());
        format!("{}, power-on stream {stream}", describe::scan_words(profile))
    }

    fn stream_decoder(&self, profile: Option<&HokuyoProfile>) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(decoder::ScipDecoder::new(profile)))
    }

    fn commands(&self, profile: &HokuyoProfile) -> Vec<CommandTable> {
        let mut table = CommandTable::parse("SCIP commands", include_str!("scip.csv"));
        for row in &mut table.rows {
            let known = Name::of_word(row.code);
            if known.is_some_and(|name| !profile.protocol.commands.contains(&name)) {
                row.conduct = Conduct::Refused;
                row.note = "the product lacks the command (its communication protocol)";
            }
        }
        vec![table]
    }
}
