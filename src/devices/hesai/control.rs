//! Settings that commands change during a run, and their application to the stream.

use super::Hesai;
use super::planner::{FiringRange, Mode};
use super::profile::{
    ClockSource, HesaiClockSettings, HesaiProfile, HesaiSettings, PtpProfile, PtpTransport,
};
use crate::config::profile::network::HostAddress;
use crate::ptp::PtpSettings;
use crate::spinning::rotor::Phase;
use crate::time::SimTime;
use crate::wire::hesai::data::ReturnMode;
use crate::wire::hesai::ptc::{OwnNetwork, PtpConfiguration, Vlan};
use crate::wire::ptp::Transport;
use crate::{Output, REACTION_NS, Transmit};

/// Settings of a unit that commands can change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Values {
    pub rpm: u32,
    pub returns: ReturnMode,
    pub range_decideg: [u16; 2],
    pub sync_enable: bool,
    pub sync_angle_deg: u16,
    pub source: ClockSource,
    pub standby: bool,
    /// Trigger of firings: 0 by angle, 1 by time; equivalent at constant speed.
    pub trigger: u8,
    /// Destination of packets.
    pub host: HostAddress,
    /// The unit's own address, which commands store and read. The link of the rig determines the address in packets.
    pub network: OwnNetwork,
    pub ptp: PtpConfiguration,
    /// Offset from the PTP master up to which the clock counts as locked. A simulated master is exact, so
    /// the unit is locked at any value.
    pub ptp_lock_offset_us: u8,
}

impl Values {
    /// Initial values from a rig's settings; packets go to `host`.
    pub fn of(profile: &HesaiProfile, settings: &HesaiSettings, host: HostAddress) -> Self {
        let [a, b, c, d] = profile.network.source_ip.octets();
        Self {
            rpm: settings.rotation_rate_rpm,
            returns: settings.return_mode,
            range_decideg: settings.range_decideg,
            sync_enable: settings.sync_enable,
            sync_angle_deg: settings.sync_angle_deg,
            source: settings.clock.source,
            standby: settings.standby,
            trigger: 0,
            host,
            network: OwnNetwork {
                ip: [a, b, c, d],
                mask: [255, 255, 255, 0],
                gateway: [a, b, c, 1],
                vlan: Vlan { is_on: 0, id: 0 },
            },
            ptp: PtpConfiguration {
                profile: settings.clock.ptp_profile as u8,
                domain: 0,
                network: network_of(&settings.clock) as u8,
                log_announce_interval: 1,
                log_sync_interval: 0,
                log_min_delay_interval: 0,
            },
            ptp_lock_offset_us: 1,
        }
    }

    /// The settings that affect packets, for the planner; `up_at` is the end of the unit's last restart.
    pub fn mode(&self, settings: &HesaiSettings, up_at: SimTime) -> Mode {
        Mode {
            is_on: !self.standby,
            rpm: self.rpm,
            returns: self.returns,
            order: settings.dual_order,
            range: FiringRange(self.range_decideg),
            source: self.source,
            has_sequence: settings.has_sequence,
            up_at,
        }
    }

    /// Target speed of the motor, rpm; 0 in standby.
    pub fn driven_rpm(&self) -> u32 {
        if self.standby { 0 } else { self.rpm }
    }
}

/// PTP transport for the settings `clock`; UDP is possible only with the profile IEEE 1588.
fn network_of(clock: &HesaiClockSettings) -> PtpTransport {
    match clock.ptp_profile {
        PtpProfile::Ieee1588 => clock.ptp_transport,
        PtpProfile::Gptp | PtpProfile::Automotive => PtpTransport::L2,
    }
}

/// Settings of a PTP slave for the configuration `wanted`.
fn ptp_settings(wanted: &PtpConfiguration) -> PtpSettings {
    let domain = wanted.domain;
    let is = |profile| wanted.profile == profile as u8;
    if is(PtpProfile::Gptp) {
        return PtpSettings { domain, ..PtpSettings::gptp() };
    }
    if is(PtpProfile::Automotive) {
        return PtpSettings { domain, ..PtpSettings::automotive() };
    }
    let is_udp = wanted.network == PtpTransport::Udp as u8;
    PtpSettings {
        domain,
        transport: if is_udp { Transport::Udp } else { Transport::Ethernet },
        log_announce: wanted.log_announce_interval,
        log_sync: wanted.log_sync_interval,
        log_delay: wanted.log_min_delay_interval,
        ..PtpSettings::default()
    }
}

/// PTP transport at power-on with the settings `clock`.
pub(super) fn transport_of(clock: &HesaiClockSettings) -> Transport {
    match (clock.ptp_profile, clock.ptp_transport) {
        (PtpProfile::Ieee1588, PtpTransport::Udp) => Transport::Udp,
        (PtpProfile::Ieee1588, PtpTransport::L2) => Transport::Ethernet,
        (PtpProfile::Gptp | PtpProfile::Automotive, _) => Transport::Gptp,
    }
}

impl Hesai {
    /// Stores the configuration `wanted`. PTP settings apply at once; packets and rotor change with the next rotation.
    pub(super) fn configure(&mut self, wanted: Values) {
        if wanted == self.values {
            return;
        }
        let at = self.stream.program.takes_effect(self.stream.now);
        if wanted.host != self.values.host {
            self.stream.send(Transmit::new(at, Output::Host(wanted.host.clone())));
        }
        self.values = wanted;
        self.follow_ptp();
        self.follow(at);
    }

    /// Configures the PTP slave, or switches it off.
    pub(super) fn follow_ptp(&mut self) {
        let is_on = self.values.source == ClockSource::Ptp;
        let options = &self.settings.clock.ptp_options;
        let settings = options.apply(ptp_settings(&self.values.ptp));
        if let Some(slave) = &mut self.clock.slave {
            slave.configure(self.stream.now, settings, is_on);
        }
    }

    /// Adapts packets and rotor to the present values and to the state of the clock, from `at` on.
    pub(super) fn follow(&mut self, at: SimTime) {
        let at = at.max(self.up_at);
        let mode = self.values.mode(&self.settings, self.up_at);
        let (rpm, phase) = (self.values.driven_rpm(), self.wanted_phase());
        let program = &mut self.stream.program;
        if program.ends_with(&mode, rpm, phase) {
            return;
        }
        program.set_mode(at, mode);
        program.set_drive(at, rpm, phase);
        self.stream.plan_again(at);
    }

    /// Restarts with the present values: packets stop, hosts are disconnected, and the clock restarts at zero.
    pub(super) fn restart(&mut self) {
        let down_at = SimTime(self.stream.now.0 + REACTION_NS);
        self.up_at = SimTime(down_at.0 + self.profile.interface.boot_ns);
        self.restarts += 1;
        self.clock.restart(self.up_at);
        self.gps.restart(self.up_at);
        for peer in self.hosts.drop_all() {
            self.stream.send(Transmit::new(down_at, Output::Disconnect(peer)));
        }
        let (rpm, up_at) = (self.values.driven_rpm(), self.up_at);
        let mode = self.values.mode(&self.settings, up_at);
        let program = &mut self.stream.program;
        program.set_mode(down_at, Mode { is_on: false, ..mode });
        program.set_mode(up_at, mode);
        program.set_drive(down_at, 0, None);
        // After the restart the unit has no time reference for a phase.
        program.set_drive(up_at, rpm, None);
        self.stream.plan_again(down_at);
    }

    /// Phase that the rotor must keep; `None` if phase lock is off or the clock has no time reference.
    fn wanted_phase(&self) -> Option<Phase> {
        let Values { sync_enable, sync_angle_deg, source, .. } = self.values;
        let has_phase = sync_enable && self.clock.is_kept(source, self.stream.now);
        let second = self.clock.second(source, self.stream.now);
        let turn = f64::from(sync_angle_deg) / 360.0;
        let kept = self.stream.program.rotor().drive().1.filter(|kept| kept.is_near(turn, second));
        has_phase.then_some(kept.unwrap_or(Phase { turn, second }))
    }

    /// Whether the unit is restarting and ignores input.
    pub(super) fn is_down(&self) -> bool {
        self.stream.now < self.up_at
    }
}
