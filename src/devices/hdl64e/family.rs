//! Device family of the HDL-64E.

use std::sync::Arc;

use super::profile::{Hdl64eProfile, Hdl64eSettings};
use super::{Hdl64e, decoder, describe, profile_read};
use crate::Built;
use crate::config::profile::DeviceFaultKind;
use crate::config::profile::network::DatagramPort;
use crate::config::profile::{AngleSense, Control, GpsInputRefusal, LidarTraits, Product, Profile};
use crate::config::toml::diagnostic::Diagnostics;
use crate::decoder::Hints;
use crate::decoder::datagram::DatagramDecoder;
use crate::family::{Family, Readers, Unit};
use crate::motor_stall::MOTOR_STALL;
use crate::optics_fault::{LASER_DEAD, WINDOW_DIRTY};
use crate::spinning::clock_settings;

/// Family `velodyne-hdl64e`.
#[derive(Debug)]
pub struct Hdl64eFamily;

impl Family for Hdl64eFamily {
    type Profile = Hdl64eProfile;
    type Settings = Hdl64eSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| profile_read::profile(root),
        defaults: |profile| &profile.defaults,
        settings: profile_read::settings,
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "velodyne-hdl64e"
    }

    fn product(&self, profile: &Hdl64eProfile) -> Product {
        Product {
            controls: &[Control::SERIAL_LINE],
            has_gps_input: profile.defaults.clock.is_some(),
            lidar: Some(LidarTraits {
                lasers: profile.defaults.calibration.lasers.len(),
                angles: AngleSense::ClockwiseFromForward,
            }),
            ..Product::of_datagrams("a spinning lidar", vec![DatagramPort::data(&profile.network)])
        }
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[LASER_DEAD, WINDOW_DIRTY, MOTOR_STALL]
    }

    fn gps_input_refusal(&self, settings: &Hdl64eSettings) -> Option<GpsInputRefusal> {
        settings.clock.as_ref().and_then(clock_settings::gps_input_refusal)
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let Unit { profile, settings, epoch, faults, .. } = *unit;
        let mut device = Hdl64e::new(profile, settings, unit.noise(), epoch, faults);
        if unit.config.cable_from.is_some() {
            device.connect_receiver();
        }
        let sensor = Arc::new(device.lidar());
        Built { device: Box::new(device), sensor }
    }

    fn summary(&self, profile: &Hdl64eProfile, settings: &Hdl64eSettings) -> String {
        let rate = profile.timing_of(settings.return_mode).packets_per_second;
        let (rpm, mode) = (settings.rotation_rate_rpm, settings.return_mode.word());
        format!("{rpm} rpm, {mode}, {rate:.0} packets/s")
    }

    /// Text of the calibration file: Velodyne's `db.xml` for the extension `xml`, otherwise the YAML of the ROS driver.
    fn calibration_file(
        &self,
        _profile: &Hdl64eProfile,
        settings: &Hdl64eSettings,
        extension: &str,
        _baseline_m: f64,
    ) -> Option<String> {
        let table = &settings.calibration;
        Some(match extension {
            "xml" => table.to_xml(),
            _ => table.to_yaml(),
        })
    }

    fn datagram_decoder(
        &self,
        profile: Option<&Hdl64eProfile>,
        hints: &Hints<'_>,
        _known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        Ok(Some(Box::new(decoder::Hdl64eDecoder::new(profile, hints)?)))
    }
}
