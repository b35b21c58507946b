//! Device family of Hesai's spinning lidars.

use std::sync::Arc;

use super::profile::{HesaiProfile, HesaiSettings, PtpState};
use super::{Hesai, calibration, control, decoder, describe, faults, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::{
    AngleSense, Control, ControlKind, GpsInputRefusal, LidarTraits, Product, Profile,
};
use crate::config::toml::diagnostic::Diagnostics;
use crate::decoder::Hints;
use crate::decoder::datagram::DatagramDecoder;
use crate::family::{Family, Readers, Unit};
use crate::motor_stall::MOTOR_STALL;
use crate::optics_fault::{LASER_DEAD, WINDOW_DIRTY};
use crate::ptp::faults::{FAULTS, PTP_LOST};
use crate::spinning::clock_settings;
use crate::wire::ptp::Transport;

/// Family `hesai`.
#[derive(Debug)]
pub struct HesaiFamily;

impl Family for HesaiFamily {
    type Profile = HesaiProfile;
    type Settings = HesaiSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| profile_read::profile(root),
        defaults: |profile| &profile.defaults,
        settings: profile_read::settings,
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "hesai"
    }

    fn product(&self, profile: &HesaiProfile) -> Product {
        Product {
            controls: &[Control {
                key: "ptc",
                meaning: "Address of the unit's TCP commands; real units listen at port 9347.",
                kind: ControlKind::Commands,
                port: Some(9347),
            }],
            has_gps_input: true,
            lidar: Some(LidarTraits {
                lasers: profile.lasers.len(),
                angles: AngleSense::ClockwiseFromForward,
            }),
            ..Product::of_datagrams("a spinning lidar", profile.ports())
        }
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[LASER_DEAD, WINDOW_DIRTY, MOTOR_STALL, PTP_LOST, faults::HIGH_TEMPERATURE]
    }

    fn gps_input_refusal(&self, settings: &HesaiSettings) -> Option<GpsInputRefusal> {
        clock_settings::gps_input_refusal(&settings.clock.own)
    }

    fn ptp_faults(&self) -> &'static [DeviceFaultKind] {
        FAULTS
    }

    fn follows_ptp(&self, settings: &HesaiSettings) -> bool {
        settings.clock.ptp.has_slave()
    }

    fn speaks_ptp(&self, settings: &HesaiSettings) -> bool {
        settings.clock.ptp == PtpState::Wire
    }

    fn ptp_transport(&self, settings: &HesaiSettings) -> Transport {
        control::transport_of(&settings.clock)
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let host = unit.config.link.datagram_host();
        let Unit { profile, settings, epoch, faults, .. } = *unit;
        let mut device = Hesai::new(profile, settings, host, unit.noise(), epoch, faults);
        if let Some(address) = unit.config.link.own_address() {
            device.set_address(address);
        }
        if unit.config.cable_from.is_some() {
            device.connect_receiver();
        }
        let sensor = device.sensor();
        Built { device: Box::new(device), sensor }
    }

    fn summary(&self, _profile: &HesaiProfile, settings: &HesaiSettings) -> String {
        format!("{} rpm, {}", settings.rotation_rate_rpm, settings.return_mode.name())
    }

    fn datagram_decoder(
        &self,
        profile: Option<&HesaiProfile>,
        hints: &Hints<'_>,
        known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        let named = hints.named(profile);
        Ok(Some(Box::new(decoder::HesaiDecoder::new(named, known))))
    }

    fn calibration_file(
        &self,
        profile: &HesaiProfile,
        settings: &HesaiSettings,
        extension: &str,
        _baseline_m: f64,
    ) -> Option<String> {
        let lasers = calibration::lasers_of(profile, &settings.serial);
        ["", "csv"].contains(&extension).then(|| calibration::table(&lasers))
    }

    fn commands(&self, _profile: &HesaiProfile) -> Vec<CommandTable> {
        vec![CommandTable::parse("PTC commands", include_str!("ptc.csv"))]
    }
}
