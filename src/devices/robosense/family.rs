//! Device family of RoboSense's lidars.

use std::sync::Arc;

use super::profile::{PtpState, RobosenseProfile, RobosenseSettings};
use super::{Robosense, clock, decoder, describe, profile_read};
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
use crate::motor_stall::MOTOR_STALL;
use crate::optics_fault::{LASER_DEAD, WINDOW_DIRTY};
use crate::ptp::faults::{FAULTS, PTP_LOST};
use crate::spinning::clock_settings;
use crate::wire::ptp::Transport;
use crate::wire::robosense::difop::SyncMode;
use crate::wire::robosense::layout::Layout;

/// Family `robosense`.
#[derive(Debug)]
pub struct RobosenseFamily;

impl Family for RobosenseFamily {
    type Profile = RobosenseProfile;
    type Settings = RobosenseSettings;
    const READERS: Readers<Self> = Readers {
        profile: |_, root| profile_read::profile(root),
        defaults: |profile| &profile.defaults,
        settings: profile_read::settings,
        describe: describe::sections,
    };

    fn key(&self) -> &'static str {
        "robosense"
    }

    fn product(&self, profile: &RobosenseProfile) -> Product {
        const UCWP: &[Control] = &[Control {
            key: "ucwp",
            meaning: "Address that receives the configuration that hosts write by UDP (UCWP).",
            kind: ControlKind::Datagrams { hears_broadcasts: false, answers_all: false },
            port: Some(7788),
        }];
        let has_rotor = profile.packet.layout != Layout::M1;
        Product {
            controls: if profile.interface.has_ucwp { UCWP } else { &[] },
            has_gps_input: profile.sync_modes.contains(&SyncMode::Gps),
            lidar: Some(LidarTraits {
                lasers: profile.lasers.len(),
                angles: match has_rotor {
                    true => AngleSense::ClockwiseFromForward,
                    false => AngleSense::CounterClockwiseFromForward,
                },
            }),
            ..Product::of_datagrams(
                if has_rotor { "a spinning lidar" } else { "a lidar" },
                profile.datagram_ports(),
            )
        }
    }

    fn faults(&self) -> &'static [DeviceFaultKind] {
        &[LASER_DEAD, WINDOW_DIRTY, MOTOR_STALL, PTP_LOST]
    }

    fn gps_input_refusal(&self, settings: &RobosenseSettings) -> Option<GpsInputRefusal> {
        clock_settings::gps_input_refusal(&settings.clock.own)
    }

    fn ptp_faults(&self) -> &'static [DeviceFaultKind] {
        FAULTS
    }

    fn follows_ptp(&self, settings: &RobosenseSettings) -> bool {
        settings.clock.has_slave()
    }

    fn speaks_ptp(&self, settings: &RobosenseSettings) -> bool {
        settings.clock.is_ptp() && settings.clock.ptp == PtpState::Wire
    }

    fn ptp_transport(&self, settings: &RobosenseSettings) -> Transport {
        clock::transport_of(&settings.clock)
    }

    fn build(&self, unit: &Unit<'_, Self>) -> Built {
        let host = unit.config.link.datagram_host();
        let Unit { profile, settings, epoch, faults, .. } = *unit;
        let mut device = Robosense::new(profile, settings, host, unit.noise(), epoch, faults);
        device.limit_series(unit.config.longest_series_ns);
        if let Some(address) = unit.config.link.own_address() {
            device.set_address(address);
        }
        // A receiver sets the clock, and so does a host by UCWP.
        if unit.config.cable_from.is_some() || !unit.config.controls.is_empty() {
            device.connect_receiver();
        }
        let sensor = device.sensor();
        Built { device: Box::new(device), sensor }
    }

    fn summary(&self, profile: &RobosenseProfile, settings: &RobosenseSettings) -> String {
        let mode = settings.return_mode.word();
        match &profile.raster {
            Some(_) => format!("{} frames/s, {mode}", settings.rotation_rate_rpm / 60),
            None => format!("{} rpm, {mode}", settings.rotation_rate_rpm),
        }
    }

    fn datagram_decoder(
        &self,
        profile: Option<&RobosenseProfile>,
        hints: &Hints<'_>,
        known: &'static [Arc<Profile>],
    ) -> Result<Option<Box<dyn DatagramDecoder>>, Diagnostics> {
        let named = hints.named(profile);
        Ok(Some(Box::new(decoder::RobosenseDecoder::new(named, known))))
    }

    fn commands(&self, profile: &RobosenseProfile) -> Vec<CommandTable> {
        match profile.interface.has_ucwp {
            true => vec![CommandTable::parse("UCWP fields", include_str!("ucwp.csv"))],
            false => vec![CommandTable::parse("Web interface", include_str!("web.csv"))],
        }
    }
}
