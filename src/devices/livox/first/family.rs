//! Device family of Livox's lidars with the protocol SDK 1.

use std::sync::Arc;

use super::profile::{FirstProfile, FirstSettings};
use super::{LivoxFirst, commands, decoder, describe, faults, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::{
    AngleSense, Control, ControlKind, DeviceFaultKind, GpsInputRefusal, LidarTraits, Product,
    Profile,
};
use crate::config::toml::diagnostic::Diagnostics;
use crate::decoder::Hints;
use crate::decoder::datagram::DatagramDecoder;
use crate::family::{Family, Readers, Unit};
use crate::livox::profile::PtpState;
use crate::optics_fault::{LASER_DEAD, WINDOW_DIRTY};
use crate::ptp::faults::{FAULTS, PTP_LOST};
use crate::spinning::clock_settings;

/// Family `livox-sdk1`.
#[derive(Debug)]
pub struct LivoxFirstFamily;

impl Family for LivoxFirstFamily {
    type Profile = FirstProfile;
    type Settings = FirstSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| profile_read::profile(root),
        defaults: |profile| &profile.defaults,
        settings: |table, _, profile| profile_read::settings(table, profile),
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "livox-sdk1"
    }

    fn product(&self, profile: &FirstProfile) -> Product {
        Product {
            controls: &[Control {
                key: "sdk1",
                meaning: "Address of the unit's UDP commands; real units listen at port 65000, \
                          from which they also send.",
                kind: ControlKind::Datagrams { hears_broadcasts: false, answers_all: false },
                port: Some(FirstProfile::COMMANDS),
            }],
            has_gps_input: true,
            lidar: Some(LidarTraits {
                lasers: profile.pattern.form.lines(),
                angles: AngleSense::CounterClockwiseFromForward,
            }),
            ..Product::of_datagrams("a lidar", profile.datagram_ports())
        }
    }

    fn streaming(&self, _: &FirstProfile, settings: &FirstSettings) -> Option<FirstSettings> {
        let streams = FirstSettings { streams_alone: true, ..settings.clone() };
        (!settings.streams_alone).then_some(streams)
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[LASER_DEAD, WINDOW_DIRTY, PTP_LOST, faults::ABNORMAL]
    }

    fn ptp_faults(&self) -> &'static [DeviceFaultKind] {
        FAULTS
    }

    fn gps_input_refusal(&self, settings: &FirstSettings) -> Option<GpsInputRefusal> {
        clock_settings::gps_input_refusal(&settings.clock.own)
    }

    fn follows_ptp(&self, settings: &FirstSettings) -> bool {
        settings.clock.ptp.has_slave()
    }

    fn speaks_ptp(&self, settings: &FirstSettings) -> bool {
        settings.clock.ptp == PtpState::Wire
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let link = &unit.config.link;
        let mut device = LivoxFirst::new(unit.profile, unit.settings, unit.noise(), unit.epoch);
        device.limit_series(unit.config.longest_series_ns);
        device.set_faults(unit.faults);
        if let Some(address) = link.own_address() {
            device.set_address(address, link.datagram_host());
        }
        if unit.config.cable_from.is_some() {
            device.connect_receiver();
        }
        let sensor = device.sensor();
        Built { device: Box::new(device), sensor }
    }

    fn summary(&self, profile: &FirstProfile, settings: &FirstSettings) -> String {
        let has_imu = profile.imu.is_some() && settings.imu_enable;
        let imu = if has_imu { ", IMU" } else { "" };
        let alone = if settings.streams_alone { ", streams without a host" } else { "" };
        format!(
            "{} pulses/s, {}{imu}{alone}",
            profile.pattern.pulse_rate_hz,
            settings.format().name()
        )
    }

    fn datagram_decoder(
        &self,
        profile: Option<&FirstProfile>,
        hints: &Hints<'_>,
        known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        let named = hints.named(profile);
        Ok(Some(Box::new(decoder::FirstDecoder::new(named, known))))
    }

    fn commands(&self, profile: &FirstProfile) -> Vec<CommandTable> {
        commands::tables_of(profile)
    }
}
