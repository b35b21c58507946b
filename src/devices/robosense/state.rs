//! Settings of a unit, the configuration that hosts write (UCWP), and status packets (DIFOP).

use std::net::IpAddr;

use super::Robosense;
use super::angles::serial_text;
use super::planner::{FieldOfView, Mode};
use super::profile::{Returns, RobosenseProfile, RobosenseSettings, UcwpEffect};
use crate::config::profile::network::HostAddress;
use crate::spinning::rotor::Phase;
use crate::time::SimTime;
use crate::wire::robosense::difop::Difop;
use crate::wire::robosense::layout::Layout;
use crate::wire::robosense::msop::FULL_TURN_CENTIDEG;
use crate::wire::robosense::ucwp::Ucwp;
use crate::{Output, REACTION_NS, Transmit};

/// Narrowest accepted field of view, hundredths of a degree. In a very narrow field of view, a packet would take many
/// rotations, more than a second.
pub(super) const NARROWEST_CENTIDEG: u16 = 1000;

/// Settings of a unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Values {
    /// Speed of the motor as written, rpm; the motor stops if the unit does not support the speed.
    pub rpm: u16,
    pub returns: Returns,
    pub fov_centideg: [u16; 2],
    pub phase_deg: u16,
    pub phase_lock: bool,
    /// Destination of packets.
    pub host: HostAddress,
    /// The unit's own IP address. Like `mac` and `own_ports`, it is only stored and reported. The link of the rig
    /// determines the address that the unit uses.
    pub own_ip: [u8; 4],
    pub mac: [u8; 6],
    pub own_ports: [u16; 2],
}

impl Values {
    /// Initial values from a rig's settings; packets go to `host`.
    pub fn of(profile: &RobosenseProfile, settings: &RobosenseSettings, host: HostAddress) -> Self {
        Self {
            rpm: settings.rotation_rate_rpm as u16,
            returns: settings.return_mode,
            fov_centideg: settings.fov_centideg,
            phase_deg: settings.phase_deg,
            phase_lock: settings.phase_lock,
            host,
            own_ip: profile.network.source_ip.octets(),
            mac: profile.network.source_mac,
            own_ports: [profile.network.source_port, profile.difop.source_port],
        }
    }

    /// Target speed of the motor, rpm; 0 stops it.
    pub fn driven_rpm(&self, profile: &RobosenseProfile) -> u32 {
        let rpm = u32::from(self.rpm);
        if profile.rates_rpm.contains(&rpm) { rpm } else { 0 }
    }

    /// Mode that these values set: the settings that determine the packets of points.
    pub fn mode(&self, profile: &RobosenseProfile, settings: &RobosenseSettings) -> Mode {
        let rpm = self.driven_rpm(profile);
        Mode {
            is_on: rpm > 0,
            rpm,
            returns: self.returns,
            order: settings.two_returns,
            view: FieldOfView(self.fov_centideg),
        }
    }

    /// Copy of the values, changed by the configuration `ucwp` that a host has written. IP addresses and destination
    /// ports of zero, and unsupported fields of view and phases, do not replace the old values.
    fn written(&self, ucwp: &Ucwp) -> Self {
        let mut values = self.clone();
        values.rpm = ucwp.rpm;
        let [own_msop, msop, own_difop, difop] = ucwp.ports;
        values.own_ports = [own_msop, own_difop];
        if ucwp.host_ip != [0; 4] {
            values.host.ip = IpAddr::from(ucwp.host_ip);
        }
        for (place, port) in [msop, difop].into_iter().enumerate() {
            if let Some(own) = values.host.ports.get_mut(place).filter(|_| port != 0) {
                *own = port;
            }
        }
        if ucwp.lidar_ip != [0; 4] {
            values.own_ip = ucwp.lidar_ip;
        }
        values.mac = ucwp.mac;
        if is_view(ucwp.fov) {
            values.fov_centideg = ucwp.fov;
        }
        if ucwp.phase_deg < 360 {
            values.phase_deg = ucwp.phase_deg;
        }
        values
    }
}

/// Whether the unit accepts a field of view from the angle `first` to the angle `last`, hundredths of a degree.
fn is_view([first, last]: [u16; 2]) -> bool {
    first.max(last) <= FULL_TURN_CENTIDEG
        && FieldOfView([first, last]).width_centideg() >= NARROWEST_CENTIDEG
}

impl Robosense {
    /// Processes a datagram from a host. There is no answer.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        if !self.profile.interface.has_ucwp || self.is_down() {
            return;
        }
        let ucwp = match Ucwp::read(bytes) {
            Ok(ucwp) => ucwp,
            Err(why) => {
                tracing::debug!("{} ignores a datagram: {why}", serial_text(self.settings.serial));
                return;
            }
        };
        if let Some(unix_us) = ucwp.unix_us() {
            self.clock.set_by_host(self.stream.now, i128::from(unix_us) * 1000);
        }
        self.stored = self.stored.written(&ucwp);
        match self.settings.ucwp_effect {
            UcwpEffect::AtOnce => self.configure(),
            UcwpEffect::Restarts => self.restart(),
            UcwpEffect::Stored => {}
        }
    }

    /// Applies the stored values from the next rotation on.
    fn configure(&mut self) {
        let at = self.stream.program.takes_effect(self.stream.now);
        self.move_host(at);
        self.values = self.stored.clone();
        self.follow(at);
    }

    fn move_host(&mut self, at: SimTime) {
        if self.stored.host != self.values.host {
            self.stream.send(Transmit::new(at, Output::Host(self.stored.host.clone())));
        }
    }

    /// Restarts with the stored values: packets stop, and a PTP slave or GNSS receiver must set the clock again.
    fn restart(&mut self) {
        let down_at = SimTime(self.stream.now.0 + REACTION_NS);
        self.up_at = SimTime(down_at.0 + self.profile.interface.boot_ns);
        self.clock.restart(self.up_at);
        self.next_difop = self.next_difop.max(self.up_at);
        self.move_host(down_at);
        self.values = self.stored.clone();
        let mode = self.values.mode(&self.profile, &self.settings);
        let (rpm, up_at) = (self.values.driven_rpm(&self.profile), self.up_at);
        let program = &mut self.stream.program;
        program.set_mode(down_at, Mode { is_on: false, ..mode });
        program.set_mode(up_at, mode);
        program.set_drive(down_at, 0, None);
        program.set_drive(up_at, rpm, None);
        self.stream.plan_again(down_at);
    }

    /// Updates packets and rotor from `at` on, because the values or the clock have changed.
    pub(super) fn follow(&mut self, at: SimTime) {
        let at = at.max(self.up_at);
        let mode = self.values.mode(&self.profile, &self.settings);
        let (rpm, phase) = (self.values.driven_rpm(&self.profile), self.wanted_phase());
        let program = &mut self.stream.program;
        if program.ends_with(&mode, rpm, phase) {
            return;
        }
        program.set_mode(at, mode);
        program.set_drive(at, rpm, phase);
        self.stream.plan_again(at);
    }

    /// Phase that the rotor must keep; `None` if phase lock is off or has no time reference, or if the unit has no
    /// rotor (M1).
    fn wanted_phase(&self) -> Option<Phase> {
        let now = self.stream.now;
        let has_phase = self.values.phase_lock
            && self.profile.raster.is_none()
            && self.clock.set_by(now) != super::clock::SetBy::Nothing;
        let second = self.clock.second(now);
        let turn = f64::from(self.values.phase_deg) / 360.0;
        let kept = self.stream.program.rotor().drive().1.filter(|kept| kept.is_near(turn, second));
        has_phase.then_some(kept.unwrap_or(Phase { turn, second }))
    }

    /// Whether the unit is restarting; it then ignores input.
    pub(super) fn is_down(&self) -> bool {
        self.stream.now < self.up_at
    }

    /// Sends the DIFOP (device status) packets that are due.
    pub(super) fn send_difop(&mut self) {
        while self.next_difop <= self.stream.now {
            let at = self.next_difop;
            self.next_difop = SimTime(at.0 + self.settings.difop_period_ns);
            let bytes = self.difop(at).to_bytes(self.profile.packet.layout);
            let output = Output::Datagram { port: RobosenseProfile::DIFOP, bytes };
            self.stream.send(Transmit::new(at, output));
        }
    }

    /// Content of a DIFOP (device status) packet that leaves at `at`.
    pub(super) fn difop(&self, at: SimTime) -> Difop {
        let (profile, stored) = (&self.profile, &self.stored);
        let host_ip = match stored.host.ip {
            IpAddr::V4(ip) => ip.octets(),
            IpAddr::V6(_) => [0; 4],
        };
        let to = |place: usize| stored.host.ports.get(place).copied().unwrap_or_default();
        let is_m1 = profile.packet.layout == Layout::M1;
        let interface = &profile.interface;
        Difop {
            rpm: if is_m1 { stored.rpm / 60 } else { stored.rpm },
            ips: [stored.own_ip, host_ip],
            mac: stored.mac,
            ports: [stored.own_ports[0], to(0), stored.own_ports[1], to(1)],
            fov: stored.fov_centideg,
            phase_deg: stored.phase_deg,
            versions: [profile.identity.top_version, profile.identity.bottom_version],
            serial: self.settings.serial,
            returns: profile.return_code(stored.returns),
            sync: [
                self.settings.clock.mode as u8,
                interface.sync_codes[self.clock.set_by(at) as usize],
            ],
            unix_us: self.stamp_us(at),
            supplies: interface.supplies,
            celsius: interface.celsius,
            gps: self.clock.gps_state(at),
            turns_rpm: self.stream.program.rotor().rpm(at).round() as u16,
            sentence: self.clock.sentence().to_vec(),
            mounting: interface.mounting,
            imu_m: profile.imu.map_or([0.0; 3], |imu| imu.place_m.map(|metres| metres as f32)),
            angles: self
                .lasers
                .iter()
                .map(|laser| [Some(laser.elevation_deg), Some(laser.azimuth_deg)])
                .collect(),
        }
    }
}
