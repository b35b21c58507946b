//! Device family of joint encoders and turning heads.

use std::sync::Arc;

use super::profile::{JointEncoderProfile, JointEncoderSettings, OutputWay};
use super::{JointEncoder, datagrams, decoder, describe, faults};
use crate::Built;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::network::DatagramPort;
use crate::config::profile::{Control, Interface, JointRole, Product, Profile};
use crate::config::toml::diagnostic::Diagnostics;
use crate::config::toml::key_types::RequiredKeys;
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::decoder::datagram::DatagramDecoder;
use crate::decoder::{Hints, StreamDecoder};
use crate::family::{Family, Readers, Unit};
use crate::sensors::joint::JointSensor;

/// Family `joint-encoder`.
#[derive(Debug)]
pub struct JointEncoderFamily;

impl Family for JointEncoderFamily {
    type Profile = JointEncoderProfile;
    type Settings = JointEncoderSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| RequiredKeys::read(root),
        defaults: |profile| &profile.defaults,
        settings: |table, _, profile| Keys::over(table, &profile.defaults, SharedKeys::read_keys),
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "joint-encoder"
    }

    fn product(&self, profile: &JointEncoderProfile) -> Product {
        let (noun, joint) = match profile.motor.takes_commands {
            true => ("a turning head", JointRole::Commands),
            false => ("a joint encoder", JointRole::Tells),
        };
        let on_a_line = Product { joint, ..Product::on_a_line(noun) };
        match (profile.unit.way, profile.motor.takes_commands) {
            (OutputWay::Serial, _) => on_a_line,
            (OutputWay::Udp, takes_commands) => Product {
                interface: Interface::Datagrams,
                ports: vec![DatagramPort::data(&profile.network)],
                controls: match takes_commands {
                    true => &[Control::SERIAL_LINE],
                    false => &[],
                },
                ..on_a_line
            },
        }
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &faults::FAULTS
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let joint = unit.config.on.as_ref().map(|(index, joint)| (*index, &**joint));
        let mut device = JointEncoder::new(unit.profile, unit.settings, joint, unit.noise());
        device.set_faults(unit.faults);
        device.limit_series(unit.config.longest_series_ns);
        Built { device: Box::new(device), sensor: Arc::new(JointSensor) }
    }

    fn summary(&self, profile: &JointEncoderProfile, settings: &JointEncoderSettings) -> String {
        let commands = if profile.motor.takes_commands { ", takes commands" } else { "" };
        format!("{} Hz, {} steps a turn{commands}", settings.rate_hz, settings.steps_per_turn)
    }

    fn stream_decoder(
        &self,
        _profile: Option<&JointEncoderProfile>,
    ) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(decoder::JointDecoder::new()))
    }

    fn datagram_decoder(
        &self,
        _profile: Option<&JointEncoderProfile>,
        _hints: &Hints<'_>,
        _known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        Ok(Some(Box::<datagrams::JointDatagrams>::default()))
    }
}
