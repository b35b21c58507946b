//! Settings that hosts change during a run, and their application to the stream.
//!
//! A host stages a configuration, and a reinitialisation activates it. Packets stop, and start again with a new
//! `initialization_id` when the unit is ready and the rotor has reached its speed.

use std::net::IpAddr;

use super::Ouster;
use super::config::{self, Effective, Values};
use super::planner::Mode;
use super::profile::{OusterProfile, OusterSettings};
use super::words::{OperatingMode, TimestampMode};
use crate::config::profile::network::HostAddress;
use crate::spinning::rotor::Phase;
use crate::spinning::turns::is_at_speed;
use crate::time::SimTime;
use crate::{Device as _, Output, REACTION_NS, Transmit};

const SECOND_NS: i128 = 1_000_000_000;
/// Mask of initialisation ids, which have 24 bits.
const ID_MASK: u32 = 0x00ff_ffff;

/// Configurations of a unit and other values that its interface stores.
#[derive(Clone, Debug)]
pub(super) struct Control {
    /// Values in effect.
    pub active: Values,
    /// Settings of the unit that result from the active values.
    pub effective: Effective,
    /// Values that take effect with the next reinitialisation.
    pub staged: Values,
    /// Values that take effect with the next restart.
    pub persisted: Values,
    /// Factory values, but with the destination that the rig sets.
    pub factory: Values,
    pub initialization_id: u32,
    /// Time at which the last reinitialisation is complete.
    pub ready_at: SimTime,
    /// Time at which the last restart is complete; until then, the unit ignores input.
    pub up_at: SimTime,
    /// User data, and whether they survive a reset of the configuration.
    pub user_data: (String, bool),
}

impl Control {
    /// State at power-on with the rig's settings.
    pub fn new(
        profile: &OusterProfile,
        settings: &OusterSettings,
        host: IpAddr,
        ports: [u16; 2],
    ) -> Self {
        let active = config::at_power_on(profile, settings, host, ports);
        let factory = config::at_power_on(profile, &profile.defaults, host, ports);
        let effective = Effective::of(profile, &active);
        Self {
            effective: effective.expect("the readers of profile and rig have judged the settings"),
            staged: active.clone(),
            persisted: active.clone(),
            active,
            factory,
            initialization_id: profile.identity.initialization_id,
            ready_at: SimTime::ZERO,
            up_at: SimTime::ZERO,
            user_data: (String::new(), false),
        }
    }

    /// Mode of lidar packets, in effect from `since` on.
    pub fn mode(&self, since: SimTime) -> Mode {
        let now = &self.effective;
        let is_running = now.operating_mode == OperatingMode::Normal;
        Mode {
            is_on: is_running && now.host.is_some() && now.ports[0] != 0,
            since,
            lidar_mode: now.lidar_mode,
            format: now.format,
            window: now.window,
            timestamp_mode: now.timestamp_mode,
            order: now.order,
            signal_multiplier: now.signal_multiplier as f32,
            blanked_m: now.blanked_m as f32,
            initialization_id: self.initialization_id,
        }
    }

    /// Whether IMU packets are sent.
    pub fn sends_imu(&self) -> bool {
        let now = &self.effective;
        let is_running = now.operating_mode == OperatingMode::Normal;
        is_running && now.host.is_some() && now.ports[1] != 0
    }

    /// Set speed of the rotor, rpm; 0 in standby.
    pub fn rpm(&self) -> u32 {
        match self.effective.operating_mode {
            OperatingMode::Normal => self.effective.lidar_mode.rpm(),
            OperatingMode::Standby => 0,
        }
    }
}

impl Ouster {
    /// Stages `values` and activates them.
    ///
    /// # Errors
    /// Returns the reason why the values do not go together; then nothing changes.
    pub(super) fn reinitialise(&mut self, values: Values) -> Result<(), String> {
        let effective = Effective::of(&self.profile, &values)?;
        let down_at = SimTime(self.stream.now.0 + REACTION_NS);
        let ready_at = SimTime(down_at.0 + self.profile.interface.reinitialise_ns);
        self.begin_again(values, effective, down_at, ready_at);
        Ok(())
    }

    /// Restarts with the persisted values; clocks count from zero.
    pub(super) fn restart(&mut self) {
        let down_at = SimTime(self.stream.now.0 + REACTION_NS);
        let up_at = SimTime(down_at.0 + self.profile.interface.boot_ns);
        let values = self.control.persisted.clone();
        let effective = Effective::of(&self.profile, &values);
        let effective = effective.expect("only active and factory values are persisted");
        self.control.up_at = up_at;
        self.clock.restart(up_at);
        for peer in self.hosts.drop_all() {
            self.stream.send(Transmit::new(down_at, Output::Disconnect(peer)));
        }
        self.begin_again(values, effective, down_at, up_at);
    }

    /// Stops packets at `down_at`, and starts them again at `ready_at` with `values` and a new initialisation id.
    /// `effective` are the settings that result from the values.
    fn begin_again(
        &mut self,
        values: Values,
        effective: Effective,
        down_at: SimTime,
        ready_at: SimTime,
    ) {
        let old = self.control.mode(down_at);
        let control = &mut self.control;
        (control.staged, control.active) = (values.clone(), values);
        control.effective = effective;
        control.initialization_id = next_id(control.initialization_id);
        control.ready_at = ready_at;
        if let Some(ip) = control.effective.host {
            let wanted = HostAddress { ip, ports: control.effective.ports.to_vec() };
            // A port 0, to which nothing is sent, changes no destination.
            if wanted != self.host {
                self.host = wanted.clone();
                self.stream.send(Transmit::new(ready_at, Output::Host(wanted)));
            }
        }
        self.imu_on.push((down_at, false));
        self.imu_on.push((ready_at, self.control.sends_imu()));
        let (mode, rpm) = (self.control.mode(ready_at), self.control.rpm());
        let phase = self.wanted_phase();
        let program = &mut self.stream.program;
        program.set_mode(down_at, Mode { is_on: false, ..old });
        program.set_mode(ready_at, mode);
        program.set_drive(down_at, rpm, phase);
        self.stream.plan_again(down_at);
    }

    /// Adapts the rotor's phase to the clock, because a pulse or PTP message can have set the clock.
    pub(super) fn follow_clock(&mut self) {
        let (rpm, phase) = (self.control.rpm(), self.wanted_phase());
        if self.stream.program.rotor().drive() == (rpm, phase) {
            return;
        }
        let earliest = SimTime(self.stream.now.0 + REACTION_NS);
        let at = self.control.ready_at.max(earliest);
        self.stream.program.set_drive(at, rpm, phase);
        self.stream.plan_again(at);
    }

    /// Phase that the rotor must keep; `None` if phase lock is off or the clock has no reference.
    pub(super) fn wanted_phase(&self) -> Option<Phase> {
        let turn = self.control.effective.phase_turn?;
        let has_clock = match self.control.effective.timestamp_mode {
            TimestampMode::InternalOsc => false,
            TimestampMode::SyncPulseIn => self.clock.has_pulse(self.stream.now),
            TimestampMode::Ptp1588 => self.clock.has_ptp(),
        };
        let second = match self.control.effective.timestamp_mode {
            TimestampMode::Ptp1588 => self.clock.ptp_second(self.stream.now),
            _ => SimTime((-self.epoch.unix_ns(SimTime::ZERO)).rem_euclid(SECOND_NS) as u64),
        };
        let kept = self.stream.program.rotor().drive().1.filter(|kept| kept.is_near(turn, second));
        has_clock.then_some(kept.unwrap_or(Phase { turn, second }))
    }

    /// The `status` in the answer to `sensor_info`.
    pub(super) fn status(&self) -> &'static str {
        let now = self.stream.now;
        let is_normal = self.control.effective.operating_mode == OperatingMode::Normal;
        let rpm = self.control.effective.lidar_mode.rpm();
        if now < self.control.ready_at {
            "INITIALIZING"
        } else if self.faults.is_shut_down(now) {
            "ERROR"
        } else if !is_normal {
            "STANDBY"
        } else if !is_at_speed(self.stream.program.rotor(), rpm, now) {
            "INITIALIZING"
        } else {
            "RUNNING"
        }
    }

    /// Whether the unit is restarting, and ignores input.
    pub(super) fn is_down(&self) -> bool {
        self.stream.now < self.control.up_at
    }

    /// Advances the time to `now` before input is processed; returns whether the unit accepts input.
    pub(super) fn hear(&mut self, now: SimTime) -> bool {
        self.advance(now);
        !self.is_down()
    }
}

/// The next initialisation id, never 0.
fn next_id(id: u32) -> u32 {
    // Because the increment is odd, the ids run through all 24-bit values.
    match id.wrapping_add(0x9e37_79b9) & ID_MASK {
        0 => 1,
        next => next,
    }
}
