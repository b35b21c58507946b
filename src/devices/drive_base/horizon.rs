//! A Husky A200's controller in Clearpath's Horizon protocol.
//!
//! Speeds are limited to `max_speed_m_s` and to what the host has set, and reached at the acceleration
//! that comes with them, which the host's limit bounds; 0 stands for that limit. A frame with a wrong
//! CRC is answered with code 1. A command of another length is answered with code 4, a negative limit
//! with code 8, and all that is not in this file with code 2.

use super::profile::HorizonSettings;
use super::unit::{Protocol, Unit};
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::horizon::{
    Encoders, Frame, Horizon, Limits, PowerStatus, SystemStatus, WheelSpeeds, code, kind, payload,
    platform_info, safety,
};
use crate::wire::record::Record;

/// What can be asked for.
const DATA: [u16; 6] = [
    kind::PLATFORM_INFO,
    kind::SYSTEM_STATUS,
    kind::POWER_STATUS,
    kind::SAFETY_STATUS,
    kind::WHEEL_SPEEDS,
    kind::ENCODERS,
];
/// Ends a subscription.
const UNSUBSCRIBE: u16 = 0xffff;
/// A lead battery that is present and in use.
const BATTERY: u8 = 0x80 | 0x40 | 0x01;

/// Data that the host wants again and again.
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

/// See the module.
pub struct HorizonUnit {
    own: HorizonSettings,
    framer: Framer<Horizon>,
    subscriptions: Vec<Subscription>,
    /// Forward and backward, m/s.
    max_speed_m_s: [f64; 2],
    max_accel_m_s2: f64,
    /// When speeds were last commanded.
    fed_at: SimTime,
    /// No speed has been commanded for too long.
    is_timed_out: bool,
}

impl HorizonUnit {
    /// A controller that was just switched on.
    pub fn new(own: HorizonSettings, unit: &Unit) -> Self {
        Self {
            max_accel_m_s2: own.max_accel_m_s2,
            own,
            framer: Framer::new(Horizon),
            subscriptions: Vec::new(),
            max_speed_m_s: [unit.settings.wheels.max_speed_m_s; 2],
            fed_at: SimTime::ZERO,
            is_timed_out: false,
        }
    }

    fn say(&self, at: SimTime, kind: u16, payload: Vec<u8>, unit: &mut Unit) {
        let mut bytes = Vec::new();
        Frame::new((unit.uptime_ns(at) / 1_000_000) as u32, kind, payload).emit(&mut bytes);
        unit.reply(at, bytes);
    }

    fn on_frame(&mut self, at: SimTime, frame: &Frame, unit: &mut Unit) {
        // Data come from a controller, not from a host.
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
    }

    fn obey(&mut self, at: SimTime, frame: &Frame, unit: &mut Unit) -> Result<(), u16> {
        if !frame.is_sound() {
            return Err(code::BAD_CHECKSUM);
        }
        match frame.kind {
            kind::SET_WHEEL_SPEEDS => {
                let wanted: WheelSpeeds = payload(frame).map_err(|_| code::BAD_FORMAT)?;
                self.fed_at = at;
                self.is_timed_out = false;
                if unit.is_stopped() {
                    return Ok(());
                }
                for motor in 0..2 {
                    let [forward, backward] = self.max_speed_m_s;
                    let speed = f64::from(wanted.speed_cm_s[motor]) / 100.0;
                    let accel = f64::from(wanted.accel_cm_s2[motor]).abs() / 100.0;
                    let most = self.max_accel_m_s2;
                    let accel = if accel == 0.0 { most } else { accel.min(most) };
                    unit.ramp(at, motor, speed.clamp(-backward, forward), accel);
                }
                Ok(())
            }
            kind::SET_MAX_SPEED | kind::SET_MAX_ACCEL => {
                let limits: Limits = payload(frame).map_err(|_| code::BAD_FORMAT)?;
                if limits.forward < 0 || limits.reverse < 0 {
                    return Err(code::RANGE);
                }
                let limits = [limits.forward, limits.reverse].map(|x| f64::from(x) / 100.0);
                if frame.kind == kind::SET_MAX_SPEED {
                    self.max_speed_m_s = limits;
                } else {
                    self.max_accel_m_s2 = limits[0].max(0.01);
                }
                Ok(())
            }
            request if request >= kind::REQUEST => {
                let wanted = request - kind::REQUEST + kind::DATA;
                if !DATA.contains(&wanted) {
                    return Err(code::BAD_TYPE);
                }
                let &[low, high] = frame.payload.as_slice() else { return Err(code::BAD_FORMAT) };
                self.subscribe(at, wanted, u16::from_le_bytes([low, high]))
            }
            _ => Err(code::BAD_TYPE),
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
            _ => self.safety(unit).to_le_bytes().to_vec(),
        }
    }

    fn safety(&self, unit: &Unit) -> u16 {
        let mut flags = 0;
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
                let time_ms = (unit.uptime_ns(at) / 1_000_000) as u32;
                Frame::new(time_ms, kind, data).emit(&mut bytes);
                unit.report(at, bytes);
            }
        }
    }

    fn rate_hz(&self) -> f64 {
        self.subscriptions.iter().map(|wanted| f64::from(wanted.rate_hz)).sum()
    }
}
