//! Device family of the GigE Vision cameras.

use std::sync::Arc;

use super::faults::KINDS;
use super::profile::{CameraProfile, CameraSettings, ImageSize, PtpState};
use super::{GigeCamera, calibration, decoder, describe};
use crate::Built;
use crate::commands::CommandTable;
use crate::config::profile::{
    Control, ControlKind, DeviceFaultKind, GpsInputRefusal, Product, Profile,
};
use crate::config::toml::diagnostic::Diagnostics;
use crate::config::toml::key_types::RequiredKeys;
use crate::config::toml::keys::Keys;
use crate::decoder::Hints;
use crate::decoder::datagram::DatagramDecoder;
use crate::family::{Family, Readers, Unit};
use crate::ptp::faults::FAULTS;
use crate::wire::gige::PORT;

/// Family `gige-camera`.
#[derive(Debug)]
pub struct GigeCameraFamily;

impl Family for GigeCameraFamily {
    type Profile = CameraProfile;
    type Settings = CameraSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| RequiredKeys::read(root),
        defaults: |profile| &profile.defaults,
        settings: |table, _, profile| {
            Keys::over(table, &profile.defaults, |all, keys| all.read_keys(keys, profile))
        },
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "gige-camera"
    }

    fn product(&self, profile: &CameraProfile) -> Product {
        Product {
            controls: &[Control {
                key: "gvcp",
                meaning: "Address of the camera's commands (GVCP); clients expect port 3956. It \
                          also receives broadcasts to that port.",
                kind: ControlKind::Datagrams { hears_broadcasts: true, answers_all: false },
                port: Some(PORT),
            }],
            has_gps_input: true,
            sees_colours: true,
            ..Product::of_datagrams("a camera", profile.datagram_ports())
        }
    }

    fn streaming(
        &self,
        _profile: &CameraProfile,
        settings: &CameraSettings,
    ) -> Option<CameraSettings> {
        let streams = CameraSettings { streams_alone: true, ..settings.clone() };
        (!settings.streams_alone).then_some(streams)
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &KINDS
    }

    fn ptp_faults(&self) -> &'static [DeviceFaultKind] {
        FAULTS
    }

    fn gps_input_refusal(&self, settings: &CameraSettings) -> Option<GpsInputRefusal> {
        settings.line1.is_some().then_some(GpsInputRefusal {
            title: "`gps_cable` conflicts with `line1`",
            label: "remove this or `line1`",
        })
    }

    fn follows_ptp(&self, settings: &CameraSettings) -> bool {
        settings.ptp.has_slave()
    }

    fn speaks_ptp(&self, settings: &CameraSettings) -> bool {
        settings.ptp == PtpState::Wire
    }

    fn sends_images(&self) -> bool {
        true
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let host = unit.config.link.datagram_host();
        let noise = unit.noise();
        let mut device = GigeCamera::new(unit.profile, unit.settings, host, noise, unit.epoch);
        device.set_faults(unit.faults);
        if let Some(address) = unit.config.link.own_address() {
            device.set_address(address);
        }
        let sensor = device.sensor(unit.epoch);
        Built { device: Box::new(device), sensor }
    }

    fn summary(&self, _profile: &CameraProfile, settings: &CameraSettings) -> String {
        let ImageSize { width, height } = settings.image_size;
        format!(
            "{width} x {height} {}, {} Hz",
            settings.start.pixel_format.word(),
            settings.start.frame_rate_hz
        )
    }

    fn datagram_decoder(
        &self,
        _profile: Option<&CameraProfile>,
        hints: &Hints<'_>,
        _known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        let is_named =
            hints.profile.is_some_and(|profile| profile.data::<CameraProfile>().is_some());
        Ok(Some(Box::new(decoder::CameraDecoder::new(is_named))))
    }

    /// Calibration as YAML for ROS' `camera_info_manager`.
    fn calibration_file(
        &self,
        profile: &CameraProfile,
        settings: &CameraSettings,
        extension: &str,
        baseline_m: f64,
    ) -> Option<String> {
        let is_yaml = ["", "yaml", "yml"].contains(&extension);
        is_yaml.then(|| calibration::yaml(profile, settings, baseline_m))
    }

    fn commands(&self, _profile: &CameraProfile) -> Vec<CommandTable> {
        CommandTable::parse_all(&[
            ("GVCP commands", include_str!("commands.csv")),
            ("Features", include_str!("features.csv")),
        ])
    }
}
