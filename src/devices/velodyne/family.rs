//! Device family of the Velodynes with fixed optics.

use std::sync::Arc;

use super::profile::{VelodyneProfile, VelodyneSettings};
use super::{Velodyne, decoder, describe, profile_read};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::{AngleSense, Control, GpsInputRefusal, LidarTraits, Product, Profile};
use crate::config::toml::diagnostic::Diagnostics;
use crate::decoder::Hints;
use crate::decoder::datagram::DatagramDecoder;
use crate::family::{Family, Readers, Unit};
use crate::motor_stall::MOTOR_STALL;
use crate::optics_fault::{LASER_DEAD, WINDOW_DIRTY};
use crate::spinning::clock_settings;

/// Family `velodyne`.
#[derive(Debug)]
pub struct VelodyneFamily;

impl Family for VelodyneFamily {
    type Profile = VelodyneProfile;
    type Settings = VelodyneSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| profile_read::profile(root),
        defaults: |profile| &profile.defaults,
        settings: profile_read::settings,
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "velodyne"
    }

    fn product(&self, profile: &VelodyneProfile) -> Product {
        Product {
            controls: &[Control::WEB],
            has_gps_input: true,
            lidar: Some(LidarTraits {
                lasers: profile.lasers.len(),
                angles: AngleSense::ClockwiseFromForward,
            }),
            ..Product::of_datagrams("a spinning lidar", profile.ports())
        }
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[LASER_DEAD, WINDOW_DIRTY, MOTOR_STALL]
    }

    fn gps_input_refusal(&self, settings: &VelodyneSettings) -> Option<GpsInputRefusal> {
        clock_settings::gps_input_refusal(&settings.clock)
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let host = unit.config.link.datagram_host();
        let Unit { profile, settings, epoch, faults, .. } = *unit;
        let mut device = Velodyne::new(profile, settings, host, unit.noise(), epoch, faults);
        device.limit_series(unit.config.longest_series_ns);
        if unit.config.cable_from.is_some() {
            device.connect_receiver();
        }
        let sensor = device.sensor();
        Built { device: Box::new(device), sensor }
    }

    fn summary(&self, _profile: &VelodyneProfile, settings: &VelodyneSettings) -> String {
        format!("{} rpm, {}", settings.rotation_rate_rpm, settings.return_mode.word())
    }

    fn datagram_decoder(
        &self,
        profile: Option<&VelodyneProfile>,
        hints: &Hints<'_>,
        known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        let named = hints.named(profile);
        Ok(Some(Box::new(decoder::VelodyneDecoder::new(named, hints.anyway, known))))
    }

    fn commands(&self, _profile: &VelodyneProfile) -> Vec<CommandTable> {
        vec![CommandTable::parse("web interface", include_str!("web.csv"))]
    }
}
