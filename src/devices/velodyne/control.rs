//! Settings that can be changed during a run, and their application to the stream.

use core::net::Ipv4Addr;

use super::Velodyne;
use crate::config::profile::network::HostAddress;
use crate::spinning::clock::PpsState;
use crate::spinning::return_mode::ReturnMode;
use crate::spinning::rotor::Phase;
use crate::spinning::view::View;
use crate::time::{Epoch, SimTime};
use crate::velodyne::profile::{VelodyneProfile, VelodyneSettings};
use crate::{Output, Transmit};

const SECOND_NS: i128 = 1_000_000_000;

/// Configuration in the unit's web interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Target speed, rpm; 0 stops the rotor.
    pub rpm: u32,
    /// Echoes that are reported.
    pub returns: ReturnMode,
    /// Sector in which lasers fire.
    pub view: View,
    /// Whether lasers fire.
    pub laser_on: bool,
    /// Phase lock of the rotor to PPS.
    pub phase_lock: PhaseLock,
    /// Destination of packets.
    pub host: HostAddress,
    /// The unit's own address, as the web interface sets and shows it. It has no effect on packets: the rig's link
    /// determines their source address.
    pub net: NetConfiguration,
}

/// Phase lock: angle of the rotor at each PPS pulse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseLock {
    /// Whether phase lock is enabled.
    pub is_on: bool,
    /// Angle at the pulse, hundredths of a degree, 0..36000.
    pub offset_centideg: u16,
}

/// A unit's own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetConfiguration {
    /// IPv4 address of the unit.
    pub addr: Ipv4Addr,
    /// Network mask.
    pub mask: Ipv4Addr,
    /// Address of the gateway.
    pub gateway: Ipv4Addr,
    /// Whether the unit requests an address by DHCP.
    pub dhcp: bool,
}

/// Mode of the unit: settings that determine when lasers fire and which echoes are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    pub returns: ReturnMode,
    /// Sector in which lasers fire.
    pub view: View,
    /// Whether lasers fire, if the rotor is fast enough.
    pub laser_on: bool,
    /// Whether the unit is up; false during a restart.
    pub is_up: bool,
}

/// Limits of a model's configuration.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Lowest and highest speed, rpm; 0 is allowed too.
    pub rpm: [u32; 2],
    /// Step of the speed, rpm.
    pub rpm_step: u32,
    /// Return modes of the firmware.
    pub returns: Vec<ReturnMode>,
}

impl Configuration {
    /// Configuration at power-on, from rig and profile; `host` replaces the factory destination.
    pub fn at_power_on(
        profile: &VelodyneProfile,
        settings: &VelodyneSettings,
        host: Option<HostAddress>,
    ) -> Self {
        let network = &profile.network;
        let factory_host = HostAddress {
            ip: network.destination_ip.into(),
            ports: vec![network.destination_port, profile.position.port],
        };
        let [a, b, c, _] = network.source_ip.octets();
        Self {
            rpm: settings.rotation_rate_rpm,
            returns: settings.return_mode,
            view: View(settings.sector_deg),
            laser_on: true,
            phase_lock: PhaseLock::default(),
            host: host.unwrap_or(factory_host),
            net: NetConfiguration {
                addr: network.source_ip,
                mask: Ipv4Addr::new(255, 255, 255, 0),
                gateway: Ipv4Addr::new(a, b, c, 1),
                dhcp: false,
            },
        }
    }

    /// Mode that this configuration sets while the unit is up.
    pub fn mode(&self) -> Mode {
        Mode { returns: self.returns, view: self.view, laser_on: self.laser_on, is_up: true }
    }
}

impl Velodyne {
    /// Applies the configuration `wanted`; changes take effect with the next rotation.
    pub fn configure(&mut self, wanted: Configuration) {
        if wanted == self.configuration {
            return;
        }
        let at = self.stream.program.takes_effect(self.stream.now);
        self.send_to(at, wanted.host.clone());
        self.configuration = wanted;
        self.follow_configuration(at);
    }

    /// Adapts lasers and rotor to the configuration from `at` on.
    pub(super) fn follow_configuration(&mut self, at: SimTime) {
        let (mode, rpm, phase) =
            (self.configuration.mode(), self.configuration.rpm, self.wanted_phase());
        let program = &mut self.stream.program;
        if program.ends_with(&mode, rpm, phase) {
            return;
        }
        let at = at.max(self.web.up_at);
        program.set_mode(at, mode);
        program.set_drive(at, rpm, phase);
        self.stream.plan_again(at);
    }

    /// Sends packets to `host` from `at` on.
    pub(super) fn send_to(&mut self, at: SimTime, host: HostAddress) {
        if host != self.configuration.host {
            self.stream.send(Transmit::new(at, Output::Host(host)));
        }
    }

    /// Phase that the rotor must keep; `None` if phase lock is off or PPS is not locked.
    pub(super) fn wanted_phase(&self) -> Option<Phase> {
        let PhaseLock { is_on, offset_centideg } = self.configuration.phase_lock;
        let is_on = is_on && self.clock.pps(self.stream.now) == PpsState::Locked;
        is_on.then(|| Phase {
            turn: f64::from(offset_centideg) / 36_000.0,
            second: first_second(self.epoch),
        })
    }
}

/// First whole second of UTC in the run, at which the PPS rises.
fn first_second(epoch: Epoch) -> SimTime {
    SimTime((-epoch.unix_ns(SimTime::ZERO)).rem_euclid(SECOND_NS) as u64)
}
