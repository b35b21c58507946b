//! Common parts of drive bases and motor controllers on a serial line.
//!
//! [`DriveBase`] reads the state of the wheels every millisecond and updates its counters ([`encoders`]). A byte from
//! the host is processed when its last bit has arrived. Wheel states, bytes and timed events are processed in order of
//! time. A [`Protocol`] executes and answers commands. Each protocol is a family with a [`BaseFamily`] and a folder of
//! its own.
//!
//! Commands become set points of the tracks ([`Actuation::Treads`]); the vehicle model determines the motion. The
//! answer to a query that is complete at time T uses the last wheel state at or before T. If that state is not measured
//! yet, the device waits for it. A live run and a recording of the same host commands therefore have the same bytes.

mod describe;
pub mod encoders;
mod family;
pub mod faults;
pub(crate) mod mixer;
pub mod profile;
mod profile_read;
pub mod unit;

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

use self::faults::{BaseFault, condition};
use self::profile::{BaseProfile, BaseSettings};
pub use self::unit::Unit;
use super::{Device, Transmit};
use crate::config::profile::DeviceFaultKind;
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::config::toml::keys::Keys;
use crate::decoder::StreamDecoder;
use crate::sample_series::SampleSeries;
use crate::sensors::{Measurement, MeasurementRequest, Outcome};
use crate::time::SimTime;
use crate::wire::line::LineSettings;
use crate::world::actuation::Actuation;
use crate::world::vehicle::WheelState;

/// A family of drive bases with a common protocol.
#[derive(Clone, Copy, Debug)]
pub struct BaseFamily {
    /// Value of a profile's `driver` key.
    pub key: &'static str,
    /// Default settings of this protocol, before a profile is read.
    pub dialect: fn() -> Arc<dyn Dialect>,
    /// Fault kinds that a unit can have.
    pub faults: &'static [DeviceFaultKind],
    /// Title and CSV text of each command table.
    pub commands: &'static [(&'static str, &'static str)],
    /// Makes a decoder for the output of units; the argument is the family's key.
    pub decoder: fn(&'static str) -> Box<dyn StreamDecoder>,
}

/// Protocol-specific settings of a drive base.
pub trait Dialect: Any + Debug + Send + Sync {
    /// Reads this protocol's settings table from a profile or rig file. Returns a copy of these settings with the
    /// values that were read.
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect>;

    /// Creates the protocol state of a unit at power-on.
    fn start(&self, unit: &Unit) -> Box<dyn Protocol>;
}

/// Protocol of a product: executes and answers commands from the host, and sends messages. The times passed to the
/// methods must not decrease.
pub trait Protocol: Send {
    /// Processes bytes from the host; the last byte was complete at `at`.
    fn on_input(&mut self, at: SimTime, bytes: &[u8], unit: &mut Unit);

    /// Time of the next event other than a command; `None` if no event is planned.
    fn next_due(&self, _unit: &Unit) -> Option<SimTime> {
        None
    }

    /// Processes the event that is due at `_at`, the time that [`Protocol::next_due`] has returned. Afterwards,
    /// [`Protocol::next_due`] must return a later time or `None`.
    fn on_time(&mut self, _at: SimTime, _unit: &mut Unit) {}

    /// Called every millisecond while the unit has power, after `_unit` has received the state of wheels and battery at
    /// `_at`.
    fn on_state(&mut self, _at: SimTime, _unit: &mut Unit) {}

    /// Handles a cut of the motor power: the robot brakes, regardless of the set points.
    fn on_stop(&mut self, at: SimTime, unit: &mut Unit) {
        unit.stop(at);
    }

    /// Returns the protocol's state after a power cycle, with the settings that survive it.
    fn switched_on(&self, _at: SimTime, unit: &mut Unit) -> Box<dyn Protocol> {
        let dialect = unit.settings.dialect.clone();
        dialect.start(unit)
    }

    /// Number of messages per second that the unit sends on its own, without a query.
    fn rate_hz(&self) -> f64 {
        0.0
    }
}

/// Time between wheel states.
pub(crate) const PERIOD_NS: u64 = 1_000_000;
/// Largest number of bytes from the host that are received and not processed yet, an assumption; further bytes are
/// lost.
const INPUT_BYTES: usize = 4096;

/// An emulated drive base or motor controller.
pub struct DriveBase {
    unit: Unit,
    protocol: Box<dyn Protocol>,
    faults: Vec<Timed<BaseFault>>,
    series: SampleSeries,
    /// Measured wheel states that are not due yet.
    states: VecDeque<WheelState>,
    /// Number of wheel states received so far, including substitutes for those whose requests were revoked.
    known: u64,
    /// Number of wheel states that were processed so far.
    taken: u64,
    /// Bytes from the host, each with the time at which it is complete.
    input: VecDeque<(SimTime, u8)>,
    /// Time at which the last byte received from the host is complete.
    input_until: SimTime,
    now: SimTime,
}

impl DriveBase {
    /// A unit that is switched on at the start of the run.
    pub fn new(
        profile: &BaseProfile,
        settings: &BaseSettings,
        faults: Vec<Timed<BaseFault>>,
    ) -> Self {
        let unit = Unit::new(profile, settings);
        Self {
            protocol: settings.dialect.start(&unit),
            unit,
            faults,
            series: SampleSeries::new(PERIOD_NS),
            states: VecDeque::new(),
            known: 0,
            taken: 0,
            input: VecDeque::new(),
            input_until: SimTime::ZERO,
            now: SimTime::ZERO,
        }
    }

    /// Limits the duration of each requested series of samples to `longest_ns`. Call it before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        self.series.limit(longest_ns);
    }

    /// Processes everything that is due, in order of time, as far as wheel states are known.
    fn process(&mut self) {
        loop {
            let next_state = SimTime(self.taken * PERIOD_NS);
            match self.next_event() {
                Some(at) if at <= self.now && at < next_state => self.act(at),
                _ if next_state <= self.now => {
                    let Some(wheels) = self.states.pop_front() else { return };
                    self.take(next_state, wheels);
                }
                _ => return,
            }
        }
    }

    /// Processes the wheel state at `at`.
    fn take(&mut self, at: SimTime, wheels: WheelState) {
        self.taken += 1;
        let since = at.0.checked_sub(PERIOD_NS).map(SimTime);
        let now = condition(&self.faults, since, at);
        let before = std::mem::replace(&mut self.unit.condition, now.clone());
        self.unit.encoders.step(wheels, &now);
        if before.is_stopped != now.is_stopped {
            self.unit.tell(at, Actuation::EmergencyStop(now.is_stopped));
            if now.is_stopped && now.is_powered {
                self.protocol.on_stop(at, &mut self.unit);
            } else if !now.is_stopped {
                // The vehicle model has lost the set points, so they are sent again.
                self.unit.actuate(at);
            }
        }
        match (before.is_powered, now.is_powered) {
            (true, false) => self.unit.restart(at),
            (false, true) => {
                self.unit.restart(at);
                let baud = self.unit.settings.baud_rate;
                if self.unit.port.line().baud != baud {
                    self.unit.port.change_rate(at, baud);
                }
                self.protocol = self.protocol.switched_on(at, &mut self.unit);
            }
            _ => {}
        }
        if now.is_powered {
            self.protocol.on_state(at, &mut self.unit);
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        let own = self.unit.next_ramp().into_iter().chain(self.protocol.next_due(&self.unit));
        let own = own.filter(|_| self.unit.condition.is_powered);
        own.chain(self.input.front().map(|(at, _)| *at)).min()
    }

    /// Processes the first event that is due at `at`.
    fn act(&mut self, at: SimTime) {
        let is_powered = self.unit.condition.is_powered;
        if is_powered && self.unit.next_ramp().is_some_and(|next| next <= at) {
            self.unit.step_ramps(at);
        } else if is_powered && self.protocol.next_due(&self.unit).is_some_and(|next| next <= at) {
            self.protocol.on_time(at, &mut self.unit);
        } else if let Some((_, byte)) = self.input.pop_front()
            && is_powered
            && at >= self.unit.listens_from
        {
            self.protocol.on_input(at, &[byte], &mut self.unit);
        }
    }
}

impl Device for DriveBase {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        self.series.poll_request(horizon)
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let Outcome::Wheels(states) = &measurement.outcome else { return };
        let first = measurement.request.start.0 / PERIOD_NS;
        if let Some(next) = states.first() {
            // The first state of this measurement also stands for the states whose requests were revoked.
            while self.known < first {
                self.known += 1;
                self.states.push_back(*next);
            }
        }
        self.known += states.len() as u64;
        self.states.extend(states);
        self.process();
    }

    fn handle_input(&mut self, now: SimTime, bytes: &[u8]) {
        self.advance(now);
        let byte_ns =
            if self.unit.settings.times.is_input_paced { self.unit.port.duration_ns(1) } else { 0 };
        for byte in bytes.iter().take(INPUT_BYTES.saturating_sub(self.input.len())) {
            self.input_until = SimTime(self.input_until.max(now).0 + byte_ns);
            self.input.push_back((self.input_until, *byte));
        }
        self.process();
    }

    fn advance(&mut self, now: SimTime) {
        self.now = self.now.max(now);
        self.process();
    }

    fn change_faults(&mut self, _at: SimTime, faults: &DeviceFaults) {
        self.faults = faults.kind();
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.unit.actuations.pop_front().or_else(|| self.unit.port.poll())
    }

    fn nominal_rate_hz(&self) -> f64 {
        self.protocol.rate_hz()
    }

    fn line(&self) -> Option<LineSettings> {
        Some(LineSettings::eight_n_one(self.unit.settings.baud_rate))
    }
}

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
pub(crate) mod walk;
