//! Device family of the GNSS receivers.

use std::sync::Arc;

use super::faults::FAULTS;
use super::further_line::FurtherLine;
use super::profile::{GnssDialect, GnssProfile, GnssSettings, LinePort, Scope};
use super::{Gnss, commands, decoder, describe};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::{GpsInputRefusal, Product};
use crate::config::toml::key_types::RequiredKeys;
use crate::config::toml::keys::Keys;
use crate::decoder::StreamDecoder;
use crate::family::{Family, Readers, Unit};
use crate::sensors::gnss::SkySensor;
use crate::wire::line::LineSettings;

/// Family `gnss`.
#[derive(Debug)]
pub struct GnssFamily;

impl Family for GnssFamily {
    type Profile = GnssProfile;
    type Settings = GnssSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| RequiredKeys::read(root),
        defaults: |profile| &profile.defaults,
        settings: |table, _, profile| {
            Keys::over(table, &profile.defaults, |all, keys| {
                all.read_keys(keys, &Scope::of(profile))
            })
        },
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "gnss"
    }

    fn product(&self, profile: &GnssProfile) -> Product {
        Product {
            has_gps_output: true,
            corrections_port: (profile.receiver.dialect == GnssDialect::Ublox9)
                .then_some(LinePort::Uart2.number()),
            line_ports: match profile.receiver.dialect.line_ports() {
                // A receiver with one port has no further lines.
                [_] => Vec::new(),
                ports => ports.iter().map(|port| (port.word(), port.number())).collect(),
            },
            ..Product::on_a_line("a receiver")
        }
    }

    fn gps_input_refusal(&self, settings: &GnssSettings) -> Option<GpsInputRefusal> {
        settings.receiver.acquisition.best_fix.is_some().then_some(GpsInputRefusal {
            title: "corrections have no effect on this receiver",
            label: "set `settings.acquisition.best_fix` to \"corrections\"",
        })
    }

    fn link_port(&self, settings: &GnssSettings) -> Option<u8> {
        Some(settings.port.number())
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &FAULTS
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        if unit.config.is_line() {
            let line = LineSettings::eight_n_one(unit.profile.defaults.baud);
            let sensor = SkySensor::new(&unit.settings.receiver, unit.epoch);
            return Built { device: Box::new(FurtherLine::new(line)), sensor: Arc::new(sensor) };
        }
        let faults = unit.faults.kind();
        let sensor = SkySensor::new(&unit.settings.receiver, unit.epoch).with_faults(&faults);
        let mut device = Gnss::new(unit.profile, unit.settings, &sensor, unit.noise(), unit.epoch);
        device.set_faults(&faults);
        device.wire(&unit.config.further_lines);
        Built { device: Box::new(device), sensor: Arc::new(sensor) }
    }

    fn summary(&self, _profile: &GnssProfile, settings: &GnssSettings) -> String {
        let outputs = settings.sentences.iter().map(|kind| kind.word());
        let outputs: Vec<_> = outputs.chain(settings.messages.iter().map(String::as_str)).collect();
        let rate = 1e9 / settings.period_ns as f64;
        let line = match settings.port {
            LinePort::Uart1 => format!("{} baud", settings.baud),
            LinePort::Uart2 => format!("UART2 at {} baud", settings.baud),
            LinePort::Usb => "USB".to_owned(),
        };
        format!("{rate} Hz, {line}, {}", outputs.join(" "))
    }

    fn commands(&self, profile: &GnssProfile) -> Vec<CommandTable> {
        commands::tables(profile)
    }

    fn stream_decoder(&self, profile: Option<&GnssProfile>) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(decoder::GnssDecoder::new(profile)))
    }
}
