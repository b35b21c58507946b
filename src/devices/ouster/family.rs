//! Device family of the Ousters.

use std::sync::Arc;

use super::profile::{OusterProfile, OusterSettings};
use super::words::PtpState;
use super::{Ouster, decoder, describe, faults, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::{
    AngleSense, Control, ControlKind, DeviceFaultKind, LidarTraits, Product, Profile,
};
use crate::config::toml::diagnostic::Diagnostics;
use crate::decoder::Hints;
use crate::decoder::datagram::DatagramDecoder;
use crate::family::{Family, Readers, Unit};
use crate::motor_stall::MOTOR_STALL;
use crate::optics_fault::{LASER_DEAD, WINDOW_DIRTY};
use crate::ptp::faults::FAULTS;
use crate::wire::ptp::Transport;

const COMMANDS: Control = Control {
    key: "commands",
    meaning: "Address of the unit's TCP commands; clients of real units connect to port 7501.",
    kind: ControlKind::Commands,
    port: Some(7501),
};

/// Family `ouster`.
#[derive(Debug)]
pub struct OusterFamily;

impl Family for OusterFamily {
    type Profile = OusterProfile;
    type Settings = OusterSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| profile_read::profile(root),
        defaults: |profile| &profile.defaults,
        settings: profile_read::settings,
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "ouster"
    }

    fn product(&self, profile: &OusterProfile) -> Product {
        Product {
            controls: match profile.interface.has_tcp_commands {
                true => &[Control::WEB, COMMANDS],
                false => &[Control::WEB],
            },
            has_gps_input: true,
            lidar: Some(LidarTraits {
                lasers: profile.beams.len(),
                angles: AngleSense::CounterClockwiseFromForward,
            }),
            ..Product::of_datagrams("a spinning lidar", profile.ports())
        }
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[
            LASER_DEAD,
            WINDOW_DIRTY,
            MOTOR_STALL,
            faults::ALERT,
            faults::SHOT_LIMITING,
            faults::THERMAL_SHUTDOWN,
        ]
    }

    fn ptp_faults(&self) -> &'static [DeviceFaultKind] {
        FAULTS
    }

    fn follows_ptp(&self, settings: &OusterSettings) -> bool {
        settings.clock.ptp.has_slave()
    }

    fn speaks_ptp(&self, settings: &OusterSettings) -> bool {
        settings.clock.ptp == PtpState::Wire
    }

    fn ptp_transport(&self, settings: &OusterSettings) -> Transport {
        settings.clock.ptp_profile.settings().transport
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let host = unit.config.link.datagram_host();
        let Unit { profile, settings, epoch, faults, .. } = *unit;
        let mut device = Ouster::new(profile, settings, host, unit.noise(), epoch, faults);
        device.limit_series(unit.config.longest_series_ns);
        if let Some(address) = unit.config.link.own_address() {
            device.set_address(address);
        }
        if unit.config.cable_from.is_some() {
            device.connect_receiver();
        }
        let sensor = device.sensor();
        Built { device: Box::new(device), sensor }
    }

    fn summary(&self, _profile: &OusterProfile, settings: &OusterSettings) -> String {
        let OusterSettings { lidar_mode, lidar_format, .. } = settings;
        format!("{}, {}", lidar_mode.word(), lidar_format.name())
    }

    fn datagram_decoder(
        &self,
        profile: Option<&OusterProfile>,
        hints: &Hints<'_>,
        _known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        let named = hints.named(profile);
        Ok(Some(Box::new(decoder::OusterDecoder::new(named))))
    }

    fn commands(&self, profile: &OusterProfile) -> Vec<CommandTable> {
        super::conduct::tables(profile)
    }
}
