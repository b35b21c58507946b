//! Device family of Livox's lidars with the protocol SDK 2.

use std::sync::Arc;

use super::profile::{LivoxProfile, LivoxSettings, PtpState, TargetState};
use super::{Livox, decoder, describe, faults, profile_read};
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
use crate::optics_fault::{LASER_DEAD, WINDOW_DIRTY};
use crate::ptp::faults::{FAULTS, PTP_LOST};
use crate::spinning::clock_settings;
use crate::wire::livox::command::SEARCH_PORT;

const SEARCH: Control = Control {
    key: "search",
    meaning: "Address that receives searches; real units use port 56000. It also receives \
              broadcasts to that port.",
    kind: ControlKind::Datagrams { hears_broadcasts: true, answers_all: true },
    port: Some(SEARCH_PORT),
};
const SDK: Control = Control {
    key: "sdk",
    meaning: "Address of the unit's UDP commands; real units listen at port 56100.",
    kind: ControlKind::Datagrams { hears_broadcasts: false, answers_all: false },
    port: Some(56_100),
};

/// Family `livox`.
#[derive(Debug)]
pub struct LivoxFamily;

impl Family for LivoxFamily {
    type Profile = LivoxProfile;
    type Settings = LivoxSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| profile_read::profile(root),
        defaults: |profile| &profile.defaults,
        settings: |table, _, profile| profile_read::settings(table, profile),
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "livox"
    }

    fn product(&self, profile: &LivoxProfile) -> Product {
        Product {
            // A HAP receives commands on the port for discovery.
            controls: if profile.ports.command == SEARCH_PORT { &[SEARCH] } else { &[SEARCH, SDK] },
            has_gps_input: true,
            lidar: Some(LidarTraits {
                lasers: profile.pattern.form.lines(),
                angles: AngleSense::CounterClockwiseFromForward,
            }),
            ..Product::of_datagrams("a lidar", profile.datagram_ports())
        }
    }

    fn streaming(
        &self,
        _profile: &LivoxProfile,
        settings: &LivoxSettings,
    ) -> Option<LivoxSettings> {
        let is_silent =
            settings.target_state != TargetState::Sampling || !settings.stored_destination;
        is_silent.then(|| LivoxSettings {
            target_state: TargetState::Sampling,
            stored_destination: true,
            ..settings.clone()
        })
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[LASER_DEAD, WINDOW_DIRTY, PTP_LOST, faults::HMS]
    }

    fn ptp_faults(&self) -> &'static [DeviceFaultKind] {
        FAULTS
    }

    fn gps_input_refusal(&self, settings: &LivoxSettings) -> Option<GpsInputRefusal> {
        clock_settings::gps_input_refusal(&settings.clock.own)
    }

    fn follows_ptp(&self, settings: &LivoxSettings) -> bool {
        settings.clock.ptp.has_slave()
    }

    fn speaks_ptp(&self, settings: &LivoxSettings) -> bool {
        settings.clock.ptp == PtpState::Wire
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let host = unit.config.link.datagram_host();
        let mut device = Livox::new(unit.profile, unit.settings, host, unit.noise(), unit.epoch);
        device.limit_series(unit.config.longest_series_ns);
        device.set_faults(unit.faults);
        if let Some(address) = unit.config.link.own_address() {
            device.set_address(address);
        }
        if unit.config.cable_from.is_some() {
            device.connect_receiver();
        }
        let sensor = device.sensor();
        Built { device: Box::new(device), sensor }
    }

    fn summary(&self, profile: &LivoxProfile, settings: &LivoxSettings) -> String {
        let imu = if settings.imu_enable { ", IMU" } else { "" };
        format!("{} points/s, {}{imu}", profile.pattern.point_rate_hz, settings.data_type.word())
    }

    fn datagram_decoder(
        &self,
        profile: Option<&LivoxProfile>,
        hints: &Hints<'_>,
        known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        let named = hints.named(profile);
        Ok(Some(Box::new(decoder::LivoxDecoder::new(named, known))))
    }

    fn commands(&self, profile: &LivoxProfile) -> Vec<CommandTable> {
        vec![
            CommandTable::parse("Commands", include_str!("commands.csv")),
            super::commands::keys_of(profile),
        ]
    }
}
