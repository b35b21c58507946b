//! Controller of a Husky A200 with Clearpath's Horizon protocol. `commands.csv` names the source.
//!
//! Speeds are limited to `max_speed_m_s` and to the limit that the host has set. The acceleration in a command is
//! limited to the host's limit; the value 0 selects this limit. Answers have these error codes: 1 for a wrong CRC, 2
//! for an unsupported command, 4 for a wrong length, 8 for a value out of range or a wrong pass code. Settings that a
//! host stores survive resets and power cycles.

mod decoder;
mod profile;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::profile::HorizonSettings;
use crate::drive_base::faults::FAULTS;
use crate::drive_base::{BaseFamily, Protocol, Unit};
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::horizon::{
    Encoders, FirmwareInfo, Frame, Gains, Horizon, Limits, PowerStatus, RawEncoders, SystemStatus,
    Velocity, WheelOutputs, WheelSpeeds, code, kind, payload, platform_info, platform_name, safety,
};
use crate::wire::record::Record;

/// Family of Clearpath's Husky A200 with the protocol Horizon.
pub const FAMILY: BaseFamily = BaseFamily {
    key: "clearpath-horizon",
    dialect: || Arc::new(HorizonSettings::default()),
    faults: &FAULTS,
    commands: &[("Horizon", include_str!("commands.csv"))],
    decoder: decoder::decoder,
};

/// Types of data that can be requested.
const DATA: [u16; 17] = [
    kind::ECHO,
    kind::PLATFORM_INFO,
    kind::PLATFORM_NAME,
    kind::FIRMWARE_INFO,
    kind::SYSTEM_STATUS,
    kind::POWER_STATUS,
    kind::PROCESSOR_STATUS,
    kind::SAFETY_STATUS,
    kind::WHEEL_SPEEDS,
    kind::GAINS,
    kind::WHEEL_OUTPUTS,
    kind::VELOCITY,
    kind::TURN,
    kind::MAX_SPEED,
    kind::MAX_ACCEL,
    kind::ENCODERS,
    kind::RAW_ENCODERS,
];
/// Code at the start of processor commands.
const PASS_CODE: u16 = 0x3a18;
/// Argument of command 2001: restore the settings that a host has stored.
const USER_SETTINGS: u8 = 1;
/// Argument of command 2001: restore the factory settings.
const FACTORY_SETTINGS: u8 = 2;
/// Safety flags that hosts can set and that stop the motors.
const HELD: u16 = safety::LOCKOUT | safety::EMERGENCY_STOP | safety::PAUSE;
/// Date of the firmware as the protocol encodes it: 1 January 2012.
const WRITTEN: u32 = 12 << 21 | 1 << 17 | 1 << 11;
/// Full output, hundredths of a percent.
const FULL_OUTPUT: i16 = 10_000;
/// Frequency value that ends a subscription.
const UNSUBSCRIBE: u16 = 0xffff;
/// Battery status: present, in use, lead-acid.
const BATTERY: u8 = 0x80 | 0x40 | 0x01;

/// A subscription: data that are sent periodically.
#[derive(Clone, Copy, Debug)]
struct Subscription {
    kind: u16,
    since: SimTime,
    rate_hz: u16,
    sent: u64,
}

impl Subscription {
    fn next(&self) -> SimTime {
        SimTime(self.since.0 + (self.sent + 1) * 1_000_000_000 / u64::from(self.rate_hz))
    }
}

/// Settings that hosts can change, store and restore.
#[derive(Clone, Debug)]
struct Stored {
    name: Vec<u8>,
    gains: Gains,
    max_speed: Limits,
    max_accel: Limits,
}

impl Stored {
    fn factory(own: &HorizonSettings, unit: &Unit) -> Self {
        let both = |value: f64| {
            let hundredths = (value * 100.0).round().min(i16::MAX.into()) as i16;
            Limits { forward: hundredths, reverse: hundredths }
        };
        Self {
            name: unit.profile.identity.model.clone().into_bytes(),
            gains: Gains { left: [0; 6], right: [0; 6] },
            max_speed: both(unit.settings.wheels.max_speed_m_s),
            max_accel: both(own.max_accel_m_s2),
        }
    }
}

/// Controller of a Husky A200.
pub struct HorizonUnit {
    own: HorizonSettings,
    framer: Framer<Horizon>,
    subscriptions: Vec<Subscription>,
    settings: Stored,
    /// Settings that survive a reset.
    stored: Stored,
    /// Last command that set the outputs of the wheels.
    outputs: WheelOutputs,
    /// Last command that set a speed and a yaw rate.
    velocity: Velocity,
    /// Last command that set a speed and a turning radius.
    turn: Velocity,
    /// Safety flags set by a host.
    held: u16,
    /// Host time minus time since power-on, ms.
    clock_offset_ms: u32,
    /// Whether the unit restarts after it has sent the pending answer.
    restarts: bool,
    /// Time of the last speed command.
    fed_at: SimTime,
    /// Whether speed commands have timed out.
    is_timed_out: bool,
}

impl HorizonUnit {
    /// A controller that has just been switched on.
    pub fn new(own: HorizonSettings, unit: &Unit) -> Self {
        let settings = Stored::factory(&own, unit);
        let still = Velocity { speed_cm_s: 0, turn: 0, accel_cm_s2: 0 };
        Self {
            stored: settings.clone(),
            settings,
            outputs: WheelOutputs { output: [0; 2] },
            velocity: still,
            turn: still,
            held: 0,
            clock_offset_ms: 0,
            restarts: false,
            own,
            framer: Framer::new(Horizon),
            subscriptions: Vec::new(),
            fed_at: SimTime::ZERO,
            is_timed_out: false,
        }
    }

    fn say(&self, at: SimTime, kind: u16, payload: Vec<u8>, unit: &mut Unit) {
        let mut bytes = Vec::new();
        Frame::new(self.clock_ms(at, unit), kind, payload).emit(&mut bytes);
        unit.reply(at, bytes);
    }

    fn clock_ms(&self, at: SimTime, unit: &Unit) -> u32 {
        ((unit.uptime_ns(at) / 1_000_000) as u32).wrapping_add(self.clock_offset_ms)
    }

    fn on_frame(&mut self, at: SimTime, frame: &Frame, unit: &mut Unit) {
        // Data messages come from controllers, not from hosts.
        if frame.kind >= kind::DATA {
            return;
        }
        let code = match self.obey(at, frame, unit) {
            _ if !frame.is_sound() => code::BAD_CHECKSUM,
            Ok(()) => code::OK,
            Err(code) => code,
        };
        self.say(at, frame.kind, code.to_le_bytes().to_vec(), unit);
        let is_asked_once = frame.kind >= kind::REQUEST && frame.payload == [0, 0];
        if code == code::OK && is_asked_once {
            let wanted = frame.kind - kind::REQUEST + kind::DATA;
            let data = self.data(at, wanted, unit);
            self.say(at, wanted, data, unit);
        }
        if std::mem::take(&mut self.restarts) {
            let stored = self.stored.clone();
            *self = Self::new(self.own.clone(), unit);
            (self.settings, self.stored) = (stored.clone(), stored);
            unit.restart(at);
        }
    }

    fn obey(&mut self, at: SimTime, frame: &Frame, unit: &mut Unit) -> Result<(), u16> {
        if !frame.is_sound() {
            return Err(code::BAD_CHECKSUM);
        }
        match frame.kind {
            kind::SET_WHEEL_SPEEDS => {
                let wanted: WheelSpeeds = payload(frame).map_err(|_| code::BAD_FORMAT)?;
                let speeds = wanted.speed_cm_s.map(|cm_s| f64::from(cm_s) / 100.0);
                self.go(at, speeds, wanted.accel_cm_s2, unit);
            }
            kind::SET_WHEEL_OUTPUTS => {
                let wanted: WheelOutputs = payload(frame).map_err(|_| code::BAD_FORMAT)?;
                if wanted.output.iter().any(|output| !(-FULL_OUTPUT..=FULL_OUTPUT).contains(output))
                {
                    return Err(code::RANGE);
                }
                self.outputs = wanted;
                let most = unit.settings.wheels.max_speed_m_s;
                let speeds = wanted.output.map(|output| f64::from(output) * most / 1e4);
                self.go(at, speeds, [0; 2], unit);
            }
            kind::SET_VELOCITY => {
                let wanted: Velocity = payload(frame).map_err(|_| code::BAD_FORMAT)?;
                self.velocity = wanted;
                let rate_rad_s = f64::from(wanted.turn) / 100.0;
                self.drive(at, wanted, rate_rad_s, unit);
            }
            kind::SET_TURN => {
                let wanted: Velocity = payload(frame).map_err(|_| code::BAD_FORMAT)?;
                if wanted.turn == 0 {
                    return Err(code::RANGE);
                }
                self.turn = wanted;
                let rate_rad_s = f64::from(wanted.speed_cm_s) / f64::from(wanted.turn);
                self.drive(at, wanted, rate_rad_s, unit);
            }
            kind::SET_MAX_SPEED | kind::SET_MAX_ACCEL => {
                let limits: Limits = payload(frame).map_err(|_| code::BAD_FORMAT)?;
                if limits.forward < 0 || limits.reverse < 0 {
                    return Err(code::RANGE);
                }
                if frame.kind == kind::SET_MAX_SPEED {
                    self.settings.max_speed = limits;
                } else {
                    self.settings.max_accel = limits;
                }
            }
            kind::SET_GAINS => {
                self.settings.gains = payload(frame).map_err(|_| code::BAD_FORMAT)?;
            }
            kind::SET_PLATFORM_NAME => match frame.payload.split_first() {
                Some((length, name)) if usize::from(*length) == name.len() => {
                    self.settings.name = name.to_vec();
                }
                _ => return Err(code::BAD_FORMAT),
            },
            kind::SET_PLATFORM_TIME => {
                let time_ms = frame.payload.as_slice().try_into().map(u32::from_le_bytes);
                let time_ms = time_ms.map_err(|_| code::BAD_FORMAT)?;
                let shown = self.clock_ms(at, unit);
                let offset = time_ms.wrapping_sub(shown);
                self.clock_offset_ms = self.clock_offset_ms.wrapping_add(offset);
            }
            kind::SET_SAFETY => {
                let &[low, high] = frame.payload.as_slice() else { return Err(code::BAD_FORMAT) };
                self.held = u16::from_le_bytes([low, high]) & HELD;
                if self.held != 0 {
                    unit.stop(at);
                }
            }
            kind::RESET | kind::STORE_SETTINGS | kind::RESTORE_SETTINGS => {
                let (pass_code, rest) =
                    frame.payload.split_first_chunk().ok_or(code::BAD_FORMAT)?;
                if u16::from_le_bytes(*pass_code) != PASS_CODE {
                    return Err(code::RANGE);
                }
                match (frame.kind, rest) {
                    (kind::RESET, []) => self.restarts = true,
                    (kind::STORE_SETTINGS, []) => self.stored = self.settings.clone(),
                    (kind::RESTORE_SETTINGS, &[USER_SETTINGS]) => {
                        self.settings = self.stored.clone();
                    }
                    (kind::RESTORE_SETTINGS, &[FACTORY_SETTINGS]) => {
                        self.settings = Stored::factory(&self.own, unit);
                    }
                    (kind::RESTORE_SETTINGS, [_]) => return Err(code::RANGE),
                    _ => return Err(code::BAD_FORMAT),
                }
            }
            request if request >= kind::REQUEST => {
                let wanted = request - kind::REQUEST + kind::DATA;
                if !DATA.contains(&wanted) {
                    return Err(code::BAD_TYPE);
                }
                let &[low, high] = frame.payload.as_slice() else { return Err(code::BAD_FORMAT) };
                self.subscribe(at, wanted, u16::from_le_bytes([low, high]))?;
            }
            _ => return Err(code::BAD_TYPE),
        }
        Ok(())
    }

    /// Converts forward speed and yaw rate to wheel speeds and sets them.
    fn drive(&mut self, at: SimTime, wanted: Velocity, rate_rad_s: f64, unit: &mut Unit) {
        let (speed_m_s, half_m) = (f64::from(wanted.speed_cm_s) / 100.0, self.own.track_m / 2.0);
        let speeds = [speed_m_s - rate_rad_s * half_m, speed_m_s + rate_rad_s * half_m];
        self.go(at, speeds, [wanted.accel_cm_s2; 2], unit);
    }

    /// Sets wheel speeds, m/s, within the limits; an acceleration of 0 means the limit.
    fn go(&mut self, at: SimTime, speeds_m_s: [f64; 2], accels_cm_s2: [i16; 2], unit: &mut Unit) {
        self.fed_at = at;
        self.is_timed_out = false;
        if unit.is_stopped() || self.held != 0 {
            return;
        }
        let Stored { max_speed, max_accel, .. } = &self.settings;
        let metres = |hundredths: i16| f64::from(hundredths) / 100.0;
        let (forward, reverse) = (metres(max_speed.forward), metres(max_speed.reverse));
        for motor in 0..2 {
            let speed_m_s = speeds_m_s[motor].clamp(-reverse, forward);
            let is_forward = speed_m_s >= unit.setpoint_m_s(motor);
            let most = if is_forward { max_accel.forward } else { max_accel.reverse };
            let most = metres(most).max(0.01);
            let accel = metres(accels_cm_s2[motor]).abs();
            let accel = if accel == 0.0 { most } else { accel.min(most) };
            unit.ramp(at, motor, speed_m_s, accel);
        }
    }

    fn subscribe(&mut self, at: SimTime, kind: u16, rate_hz: u16) -> Result<(), u16> {
        if rate_hz == 0 {
            return Ok(());
        }
        if rate_hz != UNSUBSCRIBE && u32::from(rate_hz) > self.own.max_rate_hz {
            return Err(code::FREQUENCY_TOO_HIGH);
        }
        self.subscriptions.retain(|known| known.kind != kind);
        if rate_hz == UNSUBSCRIBE {
            return Ok(());
        }
        if self.subscriptions.len() >= self.own.max_subscriptions as usize {
            return Err(code::TOO_MANY_SUBSCRIPTIONS);
        }
        self.subscriptions.push(Subscription { kind, since: at, rate_hz, sent: 0 });
        Ok(())
    }

    fn data(&self, at: SimTime, kind: u16, unit: &Unit) -> Vec<u8> {
        let hundredths = |value: f64| (value * 100.0).round() as i16;
        let power = &unit.settings.power;
        match kind {
            kind::ENCODERS => {
                let travel = |motor| unit.metres(unit.counts(motor) as f64) * 1e3;
                Encoders {
                    count: 2,
                    travel_mm: [travel(0), travel(1)].map(|mm: f64| mm.floor() as i64 as i32),
                    speed_mm_s: [0, 1].map(|motor| (unit.speed_m_s(motor) * 1e3).round() as i16),
                }
                .to_bytes()
            }
            kind::WHEEL_SPEEDS => WheelSpeeds {
                speed_cm_s: [0, 1].map(|motor| (unit.speed_m_s(motor) * 100.0).round() as i16),
                accel_cm_s2: [0; 2],
            }
            .to_bytes(),
            kind::PLATFORM_INFO => {
                let identity = &unit.profile.identity;
                platform_info(&identity.model, self.own.revision, identity.serial)
            }
            kind::SYSTEM_STATUS => SystemStatus {
                uptime_ms: (unit.uptime_ns(at) / 1_000_000) as u32,
                voltages: 3,
                voltage_cv: [hundredths(unit.battery_v()); 3],
                currents: 3,
                current_ca: [power.idle_current_a, unit.current_a(0), unit.current_a(1)]
                    .map(hundredths),
                temperatures: 4,
                temperature_cc: [hundredths(power.temperature_c); 4],
            }
            .to_bytes(),
            kind::POWER_STATUS => PowerStatus {
                count: 1,
                charge: unit.charge_percent().round() as i16,
                capacity_wh: power.capacity_wh as i16,
                description: BATTERY,
            }
            .to_bytes(),
            kind::SAFETY_STATUS => self.safety(unit).to_le_bytes().to_vec(),
            kind::PLATFORM_NAME => platform_name(&self.settings.name),
            kind::FIRMWARE_INFO => {
                let version = unit.profile.identity.firmware.split('.');
                let mut version = version.map(|part| part.parse().unwrap_or(0));
                let firmware = [version.next().unwrap_or(0), version.next().unwrap_or(0)];
                FirmwareInfo { firmware, protocol: [0; 2], written: WRITTEN }.to_bytes()
            }
            // One process without errors.
            kind::PROCESSOR_STATUS => vec![1, 0, 0],
            kind::GAINS => self.settings.gains.to_bytes(),
            kind::WHEEL_OUTPUTS => self.outputs.to_bytes(),
            kind::VELOCITY => self.velocity.to_bytes(),
            kind::TURN => self.turn.to_bytes(),
            kind::MAX_SPEED => self.settings.max_speed.to_bytes(),
            kind::MAX_ACCEL => self.settings.max_accel.to_bytes(),
            kind::RAW_ENCODERS => {
                let ticks = [0, 1].map(|motor| unit.counts(motor) as i32);
                RawEncoders { count: 2, ticks }.to_bytes()
            }
            // An echo has no data.
            _ => Vec::new(),
        }
    }

    fn safety(&self, unit: &Unit) -> u16 {
        let mut flags = self.held;
        if self.is_timed_out {
            flags |= safety::TIMEOUT;
        }
        if unit.is_stopped() {
            flags |= safety::EMERGENCY_STOP;
        }
        flags
    }

    fn times_out_at(&self) -> Option<SimTime> {
        let is_watched = self.own.timeout_ns > 0 && !self.is_timed_out && self.fed_at.0 > 0;
        is_watched.then_some(SimTime(self.fed_at.0 + self.own.timeout_ns))
    }
}

impl Protocol for HorizonUnit {
    fn on_input(&mut self, at: SimTime, bytes: &[u8], unit: &mut Unit) {
        for frame in self.framer.frames(bytes) {
            self.on_frame(at, &frame, unit);
        }
    }

    fn next_due(&self, _unit: &Unit) -> Option<SimTime> {
        let data = self.subscriptions.iter().map(Subscription::next).min();
        [data, self.times_out_at()].into_iter().flatten().min()
    }

    fn on_time(&mut self, at: SimTime, unit: &mut Unit) {
        if self.times_out_at().is_some_and(|due| at >= due) {
            self.is_timed_out = true;
            unit.stop(at);
        }
        for place in 0..self.subscriptions.len() {
            if self.subscriptions[place].next() <= at {
                self.subscriptions[place].sent += 1;
                let kind = self.subscriptions[place].kind;
                let data = self.data(at, kind, unit);
                let mut bytes = Vec::new();
                Frame::new(self.clock_ms(at, unit), kind, data).emit(&mut bytes);
                unit.report(at, bytes);
            }
        }
    }

    fn switched_on(&self, _at: SimTime, unit: &mut Unit) -> Box<dyn Protocol> {
        let mut next = Self::new(self.own.clone(), unit);
        (next.settings, next.stored) = (self.stored.clone(), self.stored.clone());
        Box::new(next)
    }

    fn rate_hz(&self) -> f64 {
        self.subscriptions.iter().map(|wanted| f64::from(wanted.rate_hz)).sum()
    }
}
