//! GPS time of a 3DM. The unit has no GNSS receiver: its time counts from power-on until a host sets week and second.

use super::commands::base;
use crate::time::SimTime;
use crate::wire::mip::{Field, reply};

const SECOND_NS: i128 = 1_000_000_000;
const WEEK_S: u32 = 604_800;

/// Selectors of the GPS time update: the week, and the whole second of the week.
mod selector {
    pub const WEEK: u8 = 1;
    pub const SECOND: u8 = 2;
}

/// GPS time of a unit, and the parts of it that a host has set.
#[derive(Clone, Copy, Debug)]
pub struct GpsTime {
    /// GPS time minus the time of the run, nanoseconds.
    ahead_ns: i128,
    has_week: bool,
    has_second: bool,
    /// Inverted by each update.
    refresh: bool,
}

impl GpsTime {
    /// Time of a unit that has been on for `uptime_ns` at `at` and that no host has set.
    pub fn unset(at: SimTime, uptime_ns: u64) -> Self {
        let ahead_ns = i128::from(uptime_ns) - i128::from(at.0);
        Self { ahead_ns, has_week: false, has_second: false, refresh: false }
    }

    /// Week and second of the week at `at`.
    pub fn week_and_second(&self, at: SimTime) -> (u16, f64) {
        let ns = (i128::from(at.0) + self.ahead_ns).max(0);
        let week_ns = i128::from(WEEK_S) * SECOND_NS;
        ((ns / week_ns) as u16, (ns % week_ns) as f64 * 1e-9)
    }

    /// Sets the part with the number `which` ([`selector`]). No PPS is connected to the unit, so the value applies at
    /// once; the fraction of the second continues.
    ///
    /// # Errors
    /// Returns a code of [`reply`] for an unknown part, and for a value that is too large.
    pub fn set(&mut self, now: SimTime, which: u8, value: u32) -> Result<(), u8> {
        let (week, second) = self.week_and_second(now);
        let ahead_s = match which {
            selector::WEEK if value <= u32::from(u16::MAX) => {
                self.has_week = true;
                i128::from(WEEK_S) * (i128::from(value) - i128::from(week))
            }
            selector::SECOND if value < WEEK_S => {
                self.has_second = true;
                i128::from(value) - second as i128
            }
            _ => return Err(reply::BAD_PARAMETER),
        };
        self.ahead_ns += ahead_s * SECOND_NS;
        self.refresh = !self.refresh;
        Ok(())
    }

    /// Field with the part number `which` ([`selector`]) at `now`.
    ///
    /// # Errors
    /// Returns a code of [`reply`] for an unknown part.
    pub fn read(&self, now: SimTime, which: u8) -> Result<Field, u8> {
        let (week, second) = self.week_and_second(now);
        let (descriptor, value) = match which {
            selector::WEEK => (base::GPS_WEEK_REPLY, u32::from(week)),
            selector::SECOND => (base::GPS_SECOND_REPLY, second as u32),
            _ => return Err(reply::BAD_PARAMETER),
        };
        Ok(Field::new(descriptor, value.to_be_bytes()))
    }

    /// Flags of the sensor's GPS time, from bit 0: PPS present (never), inverted by each update, set at all, second
    /// valid, week valid (mip_sdk, `data_sensor.h`).
    pub fn flags(&self) -> u16 {
        let is_set = self.has_week || self.has_second;
        let bits = [false, self.refresh, is_set, self.has_second, self.has_week];
        bits.iter().rev().fold(0u16, |word, bit| word << 1 | u16::from(*bit))
    }

    /// Whether a host has set both week and second.
    pub fn is_valid(&self) -> bool {
        self.has_week && self.has_second
    }
}
