//! Common parts of drive bases and motor controllers on a serial line.
//!
//! [`DriveBase`] takes the state of the wheels each millisecond, counts it ([`encoders`]), takes each byte of
//! the host when its last bit has arrived, and processes time and bytes in order. A [`Protocol`] executes and
//! answers commands. Each protocol is a family: it states a [`BaseFamily`] and has its own folder.
//!
//! Commands become set points of the tracks ([`Actuation::Treads`]); the vehicle model determines the motion.
//! A question that is complete at T is answered from the wheels' state of the last millisecond at or before
//! T. If that is not measured yet, the device waits for it, so that a run and a recording of its host
//! commands have the same bytes.

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

/// Protocol of a family of drive bases.
#[derive(Clone, Copy, Debug)]
pub struct BaseFamily {
    /// Value of a profile's `driver` key.
    pub key: &'static str,
    /// The settings of this protocol alone, before a profile is read.
    pub dialect: fn() -> Arc<dyn Dialect>,
    /// The internal faults that a unit can have.
    pub faults: &'static [DeviceFaultKind],
    /// Title and text of the tables of commands.
    pub commands: &'static [(&'static str, &'static str)],
    /// Reads the bytes that units send; the family's key names them.
    pub decoder: fn(&'static str) -> Box<dyn StreamDecoder>,
}

/// Settings of one protocol's bases.
pub trait Dialect: Any + Debug + Send + Sync {
    /// The same settings, changed by the protocol's table in a profile or rig.
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect>;

    /// Switches a unit on.
    fn start(&self, unit: &Unit) -> Box<dyn Protocol>;
}

/// The messages and commands of a product. Instants never go back.
pub trait Protocol: Send {
    /// Bytes arrived from the host; the last one was complete at `at`.
    fn on_input(&mut self, at: SimTime, bytes: &[u8], unit: &mut Unit);

    /// Time of the next event without a command.
    fn next_due(&self, _unit: &Unit) -> Option<SimTime> {
        None
    }

    /// The instant of [`Protocol::next_due`] has been reached; the next one is later.
    fn on_time(&mut self, _at: SimTime, _unit: &mut Unit) {}

    /// The motors' power is cut: the robot brakes, whatever the setpoints.
    fn on_stop(&mut self, at: SimTime, unit: &mut Unit) {
        unit.stop(at);
    }

    /// State of the unit when power returns, with the settings that survive.
    fn switched_on(&self, _at: SimTime, unit: &mut Unit) -> Box<dyn Protocol> {
        let dialect = unit.settings.dialect.clone();
        dialect.start(unit)
    }

    /// Messages a second that are sent without single requests.
    fn rate_hz(&self) -> f64 {
        0.0
    }
}

/// Time between two states of the wheels.
const PERIOD_NS: u64 = 1_000_000;
/// Number of the host's bytes that can wait for their time on the line; further bytes are lost.
const INPUT_BYTES: usize = 4096;

/// An emulated unit of the family.
pub struct DriveBase {
    unit: Unit,
    protocol: Box<dyn Protocol>,
    faults: Vec<Timed<BaseFault>>,
    series: SampleSeries,
    /// States that are measured and not yet due.
    states: VecDeque<WheelState>,
    /// Number of states that were measured or given up.
    known: u64,
    /// Number of states that are due.
    taken: u64,
    /// Bytes of the host, each with the instant at which it is complete.
    input: VecDeque<(SimTime, u8)>,
    /// Time at which the last of these bytes is complete.
    input_until: SimTime,
    now: SimTime,
}

impl DriveBase {
    /// A unit that has been on since the first instant.
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

    /// Limits series of samples to `longest_ns`; must be called before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        self.series.limit(longest_ns);
    }

    /// Does everything that is due, in order, as far as the wheels are known.
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

    /// Takes the wheels' state at `at`.
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
                // The drive has forgotten what it was told; the unit has not.
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
    }

    fn next_event(&self) -> Option<SimTime> {
        let own = self.unit.next_ramp().into_iter().chain(self.protocol.next_due(&self.unit));
        let own = own.filter(|_| self.unit.condition.is_powered);
        own.chain(self.input.front().map(|(at, _)| *at)).min()
    }

    /// Does the first thing that is due at `at`.
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
            // States that were given up are taken as the next ones.
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
