//! PPS (time pulse): time, length and edge error.
//!
//! Before the receiver has locked to GNSS time, or if USE_LOCKED_TP1 is off, the items without LOCK in their names
//! apply. In the factory settings their pulse length is 0, so there is no pulse. The configured user delay shifts the
//! edge. The configured cable delay shifts the edge too if it differs from the true cable delay, which is the factory
//! value.

use super::clock::{Scale, next_on_grid};
use super::items::key;
use super::{Gnss, Transmit};
use crate::Output;
use crate::sensors::noise::Quantity;
use crate::time::SimTime;

/// True delay of the antenna cable.
const CABLE_NS: f64 = 50.0;

/// Period and length of a pulse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    period_ns: u64,
    length_ns: u64,
}

impl Gnss {
    fn is_locked(&self) -> bool {
        let age_ns = self.last.as_ref().and_then(|(solution, _)| solution.fix_age_ns);
        age_ns.is_some_and(|age| age >= self.settings.pulse.after_fix_ns)
    }

    /// Present period and length of pulses.
    pub(super) fn shape(&self) -> Shape {
        let get = |item| self.store.get(item);
        let is_locked = self.store.is_set(key::USE_LOCKED_TP1) && self.is_locked();
        let [period, frequency, length, duty] = if is_locked {
            [key::PERIOD_LOCK_TP1, key::FREQ_LOCK_TP1, key::LEN_LOCK_TP1, key::DUTY_LOCK_TP1]
        } else {
            [key::PERIOD_TP1, key::FREQ_TP1, key::LEN_TP1, key::DUTY_TP1]
        };
        let period_ns = match get(key::PULSE_DEF) {
            1 => 1_000_000_000 / get(frequency).max(1),
            _ => get(period) * 1000,
        };
        // Shorter periods are frequency outputs, which a modem line cannot carry.
        let period_ns = period_ns.clamp(10_000_000, 60_000_000_000);
        let length_ns = match get(key::PULSE_LENGTH_DEF) {
            0 => (f64::from_bits(get(duty)).clamp(0.0, 100.0) * 0.01 * period_ns as f64) as u64,
            _ => get(length) * 1000,
        };
        Shape { period_ns, length_ns }
    }

    /// The first pulse at or after `from`.
    pub(super) fn next_pulse_from(&self, from: SimTime) -> SimTime {
        let scale = match self.store.get(key::TIMEGRID_TP1) {
            0 => Scale::Utc,
            _ => Scale::Gps,
        };
        next_on_grid(self.epoch, scale, from, self.shape().period_ns)
    }

    /// Ends the present pulse if its end is due at `due`; otherwise starts the next pulse, if pulses are enabled.
    pub(super) fn pulse(&mut self, due: SimTime) {
        let is_rising_first = self.store.is_set(key::POL_TP1);
        if self.falls_at == Some(due) {
            self.falls_at = None;
            let output = Output::PulsePerSecond(!is_rising_first);
            self.edges.push_back(Transmit::new(due, output));
            return;
        }
        let at = self.next_pulse;
        self.next_pulse = self.next_pulse_from(SimTime(at.0 + 1));
        let Shape { length_ns, .. } = self.shape();
        let is_due = self.is_locked() || !self.waits_for_lock();
        let is_off = self.wakes_at.is_some();
        if is_off || !self.store.is_set(key::TP1_ENA) || !is_due || length_ns == 0 {
            return;
        }
        let jitter =
            self.noise.request(self.gps_second(at)).standard_normal(1, Quantity::GnssPulse);
        let user_ns = f64::from(self.store.get(key::USER_DELAY_TP1) as i32);
        let cable_ns = f64::from(self.store.get(key::ANT_CABLEDELAY) as i16);
        let error_ns = self.quantisation_ns(at)
            + jitter * self.settings.pulse.jitter_std_ns
            + user_ns
            + (CABLE_NS - cable_ns);
        let begins = SimTime(at.0.saturating_add_signed(error_ns.round() as i64)).max(self.now);
        self.edges.push_back(Transmit::new(begins, Output::PulsePerSecond(is_rising_first)));
        let length_ns = length_ns.min((self.next_pulse.0 - at.0).saturating_sub(1_000_000));
        self.falls_at = Some(SimTime(begins.0 + length_ns));
    }

    /// Whether pulses always need a fix. A u-blox receiver can be configured to pulse earlier; other receivers cannot.
    fn waits_for_lock(&self) -> bool {
        !self.profile.receiver.dialect.is_ublox()
    }

    /// Quantisation error of the pulse at `at`, nanoseconds, positive if late: the edge falls on the nearest tick of the
    /// receiver's clock.
    pub(super) fn quantisation_ns(&self, at: SimTime) -> f64 {
        let noise = self.noise.request(self.gps_second(at));
        let phase = f64::from(noise.whole(0, Quantity::GnssPulse, 0, 255)) / 256.0 - 0.5;
        phase * self.settings.pulse.quantum_ns
    }

    fn gps_second(&self, at: SimTime) -> u64 {
        self.epoch.gps_ns(at).div_euclid(1_000_000_000) as u64
    }
}
