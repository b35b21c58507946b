//! Encoders that report a joint's position in lines of text, and turning heads that also take commands.
//!
//! The unit samples its joint 1000 times per second and counts steps ([`counting`]). It writes a line at its
//! output rate and a line at each passage of the index mark. A head with a commanded joint executes and answers
//! host commands ([`motor`]). The profile selects datagrams or a serial line for the output.
//! [`crate::wire::joint_lines`] has the formats.

mod counting;
mod datagrams;
mod decoder;
mod describe;
mod family;
mod faults;
mod motor;
pub mod profile;

pub use self::family::JointEncoderFamily;

use std::collections::VecDeque;

use self::counting::{Counter, UnitClock};
use self::faults::EncoderStuck;
use self::motor::Motor;
use self::profile::{JointEncoderProfile, JointEncoderSettings, OutputWay, SAMPLES_PER_S};
use super::{Device, Output, Transmit};
use crate::config::profile::network::PortIndex;
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::config::rig::joints::{JointConfig, JointKind};
use crate::sample_series::SampleSeries;
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::noise::NoiseSource;
use crate::sensors::{Measurement, MeasurementRequest, Outcome};
use crate::serial::uart::Uart;
use crate::time::SimTime;
use crate::wire::joint_lines::{Command, MAX_COMMAND_LEN, Message};
use crate::wire::line::LineSettings;
use crate::world::joints::JointState;

/// Time between samples.
const SAMPLE_NS: u64 = 1_000_000_000 / SAMPLES_PER_S as u64;

/// An emulated encoder or turning head.
pub struct JointEncoder {
    profile: JointEncoderProfile,
    settings: JointEncoderSettings,
    counter: Counter,
    clock: UnitClock,
    motor: Option<Motor>,
    stuck: Vec<Timed<EncoderStuck>>,
    /// Active fault of a stuck encoder: index of the fault, number of its window, and held position of the joint.
    stuck_at: Option<(usize, u64, f64)>,
    series: SampleSeries,
    /// Measured samples that are not due yet.
    samples: VecDeque<Sample>,
    last: Option<(SimTime, JointState)>,
    /// Lines that wait for the end of the output latency, each with the time of its sample and its fault effects.
    held: VecDeque<(SimTime, Vec<u8>, Vec<FaultEffect>)>,
    port: Uart,
    datagrams: VecDeque<Transmit>,
    orders: VecDeque<Transmit>,
    heard: Heard,
    /// Answers that wait until all samples before their commands are measured, each with the time at which its command
    /// was complete.
    answers: VecDeque<(SimTime, Vec<u8>)>,
    /// All samples before this time are measured.
    known_to: SimTime,
    now: SimTime,
}

struct Sample {
    at: SimTime,
    state: JointState,
    fault_effects: Vec<FaultEffect>,
}

/// Collects the bytes of a host's command lines.
#[derive(Default)]
struct Heard {
    /// Bytes of the line that is being received. At most one byte more than the longest command is stored, which is
    /// enough to recognise a line that is too long.
    line: Vec<u8>,
}

impl Heard {
    /// Adds a byte; returns a complete line, which can be too long for a command.
    fn take(&mut self, byte: u8) -> Option<Vec<u8>> {
        if matches!(byte, b'\r' | b'\n') {
            // The second byte of a two-byte line end does not end another line.
            let is_line = !self.line.is_empty();
            return is_line.then(|| std::mem::take(&mut self.line));
        }
        if self.line.len() <= MAX_COMMAND_LEN {
            self.line.push(byte);
        }
        None
    }
}

impl JointEncoder {
    /// Encoder or turning head. `joint` is the measured joint with its index in the rig; without a joint, the unit has
    /// no motor.
    pub fn new(
        profile: &JointEncoderProfile,
        settings: &JointEncoderSettings,
        joint: Option<(usize, &JointConfig)>,
        noise: NoiseSource,
    ) -> Self {
        let kind = joint.map_or(JointKind::Revolute, |(_, joint)| joint.kind);
        let counter = Counter::new(settings, kind);
        Self {
            profile: profile.clone(),
            settings: settings.clone(),
            clock: UnitClock::new(settings, noise),
            motor: joint.and_then(|joint| Motor::of(profile, counter.clone(), joint)),
            counter,
            stuck: Vec::new(),
            stuck_at: None,
            series: SampleSeries::new(SAMPLE_NS),
            samples: VecDeque::new(),
            last: None,
            held: VecDeque::new(),
            port: Uart::new(settings.baud_rate, profile.unit.transmit_buffer_bytes),
            datagrams: VecDeque::new(),
            orders: VecDeque::new(),
            heard: Heard::default(),
            answers: VecDeque::new(),
            known_to: SimTime::ZERO,
            now: SimTime::ZERO,
        }
    }

    /// Sets the faults inside the unit.
    pub fn set_faults(&mut self, faults: &DeviceFaults) {
        self.stuck = faults.kind();
    }

    /// Processes due samples and the answers between them. An answer waits until all samples before its command are
    /// measured, so that the order of bytes does not depend on when measurements arrive.
    fn process(&mut self) {
        loop {
            let answer = self.answers.front().map(|(at, _)| *at);
            let until = answer.map_or(self.now, |at| at.min(self.now));
            if let Some(sample) = self.samples.pop_front_if(|sample| sample.at <= until) {
                self.release(sample.at);
                self.look_at(sample);
            } else if let Some((at, bytes)) =
                self.answers.pop_front_if(|(at, _)| *at < self.known_to)
            {
                self.release(at);
                self.port.send(SimTime(at.0 + self.profile.motor.reply_delay_ns), bytes);
            } else {
                break;
            }
        }
    }

    fn look_at(&mut self, Sample { at, state, mut fault_effects }: Sample) {
        let seen = self.stuck_position(at, &state);
        if let Some((_, _, effect)) = seen {
            fault_effects.push(effect);
        }
        let position = seen.map_or(state.position, |(position, ..)| position);
        let now = (at, state);
        let passage = self.last.filter(|_| seen.is_none()).and_then(|last| {
            let word = &self.settings.index_word;
            (!word.is_empty()).then(|| self.counter.passage(&last, &now)).flatten()
        });
        if let Some((passed, position)) = passage {
            let position = self.clock.stamp(passed, self.counter.told(position));
            let word = self.settings.index_word.clone();
            self.report(at, &Message::Index { word, position }, fault_effects.clone());
        }
        let period_ns = 1_000_000_000 / u64::from(self.settings.rate_hz.max(1));
        if at.0.is_multiple_of(period_ns) {
            let position = self.clock.stamp(at, self.counter.told(position));
            self.report(at, &Message::Position(position), fault_effects);
        }
        self.last = Some(now);
        if let Some(order) = self.motor.as_mut().and_then(|motor| motor.look_at(&state)) {
            self.orders.push_back(Transmit::new(at, Output::Actuate(order)));
        }
    }

    /// Position that a stuck encoder reports, with the window and effect of the fault; `None` without the fault.
    fn stuck_position(
        &mut self,
        at: SimTime,
        state: &JointState,
    ) -> Option<(f64, u64, FaultEffect)> {
        let found = self
            .stuck
            .iter()
            .find_map(|fault| fault.schedule.window_at(at).map(|window| (fault.fault, window)));
        let Some((fault, window)) = found else {
            self.stuck_at = None;
            return None;
        };
        let before = self.last.map_or(state.position, |(_, state)| state.position);
        let (_, _, position) = match self.stuck_at {
            Some(stuck) if (stuck.0, stuck.1) == (fault, window) => stuck,
            _ => *self.stuck_at.insert((fault, window, before)),
        };
        Some((position, window, FaultEffect { fault, window, kind: EffectKind::Frozen }))
    }

    /// Limits each series of requested samples to the duration `longest_ns`. Call it before the first request.
    pub fn limit_series(&mut self, longest_ns: u64) {
        self.series.limit(longest_ns);
    }

    fn report(&mut self, at: SimTime, message: &Message, fault_effects: Vec<FaultEffect>) {
        let mut bytes = Vec::new();
        message.emit(&mut bytes);
        self.held.push_back((at, bytes, fault_effects));
        self.release(at);
    }

    /// Sends lines whose output latency has passed at `now`. Answers overtake waiting lines.
    fn release(&mut self, now: SimTime) {
        let lag_ns = self.settings.lag_ns;
        let is_due = |held: &mut (SimTime, Vec<u8>, Vec<FaultEffect>)| held.0.0 + lag_ns <= now.0;
        while let Some((at, bytes, fault_effects)) = self.held.pop_front_if(is_due) {
            let due = SimTime(at.0 + lag_ns + self.profile.unit.delay_ns);
            match self.profile.unit.way {
                OutputWay::Serial => {
                    self.port.send_marked(due, bytes, 0, fault_effects);
                }
                OutputWay::Udp => {
                    let output = Output::Datagram { port: PortIndex::DATA, bytes };
                    let transmit = Transmit { fault_effects, ..Transmit::new(due, output) };
                    self.datagrams.push_back(transmit);
                }
            }
        }
    }

    /// Executes a complete command line and answers it.
    fn obey(&mut self, line: &[u8]) {
        let order = Command::parse(line)
            .and_then(|command| self.motor.as_mut().and_then(|motor| motor.command(command)));
        let answer = if order.is_some() { Message::Ack } else { Message::Nack };
        let mut bytes = Vec::new();
        answer.emit(&mut bytes);
        self.answers.push_back((self.now, bytes));
        if let Some(order) = order {
            self.orders.push_back(Transmit::new(self.now, Output::Actuate(order)));
        }
    }
}

impl Device for JointEncoder {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        self.series.poll_request(horizon)
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let Outcome::Joint(states) = &measurement.outcome else { return };
        let start = measurement.request.start;
        let samples = (0u64..).zip(states).map(|(index, state)| Sample {
            at: SimTime(start.0 + index * SAMPLE_NS),
            state: *state,
            fault_effects: measurement.fault_effects.clone(),
        });
        self.samples.extend(samples);
        self.known_to = SimTime(start.0 + states.len() as u64 * SAMPLE_NS);
        self.process();
    }

    fn handle_input(&mut self, now: SimTime, bytes: &[u8]) {
        self.advance(now);
        if !self.profile.motor.takes_commands {
            return;
        }
        for byte in bytes {
            if let Some(line) = self.heard.take(*byte) {
                self.obey(&line);
            }
        }
        self.process();
    }

    fn advance(&mut self, now: SimTime) {
        self.now = self.now.max(now);
        self.process();
        if self.answers.is_empty() {
            self.release(self.now);
        }
    }

    fn change_faults(&mut self, _at: SimTime, faults: &DeviceFaults) {
        self.set_faults(faults);
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        let order = self.orders.pop_front();
        order.or_else(|| self.datagrams.pop_front()).or_else(|| self.port.poll())
    }

    fn nominal_rate_hz(&self) -> f64 {
        f64::from(self.settings.rate_hz)
    }

    fn line(&self) -> Option<LineSettings> {
        let has_line =
            self.profile.unit.way == OutputWay::Serial || self.profile.motor.takes_commands;
        has_line.then(|| LineSettings::eight_n_one(self.settings.baud_rate))
    }
}

#[cfg(test)]
mod tests;
