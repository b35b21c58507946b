//! GNSS receivers: u-blox of generations 8 to 10, Garmin, and any receiver that only sends NMEA.
//!
//! ```text
//! SkySensor (any thread)  ->  Navigator  ->  sentences.rs, messages.rs  ->  uart.rs
//!                              items.rs  <-  ublox.rs, garmin.rs        <-  host commands
//! ```
//!
//! Solutions are at multiples of the solution period, in GPS time or in UTC. The bytes of an epoch follow after the
//! setting `latency_ms`, at the baud rate of the line. Messages that do not fit into the transmit buffer are lost, as
//! in the product. The PPS rises at the second, before the sentences of that second; UBX-TIM-TP describes the next
//! pulse.
//!
//! Sources: u-blox interface descriptions and integration manual, Garmin GPS 18x technical
//! specifications, captures of a ZED-F9P and a NEO-M8T, gpsd 3.22 as a client.

mod base_place;
mod clock;
mod commands;
mod configure;
mod corrections;
pub(crate) mod decoder;
mod describe;
mod family;
mod faults;
mod fences;
mod frozen;
mod further_line;
mod garmin;
mod in_force;
mod item_keys;
mod items;
mod legacy;
mod messages;
mod monitor;
mod navigation_data;
mod output;
mod ports;
mod position_fix;
mod power;
pub mod profile;
mod pulse;
mod rover;
mod sentences;
mod settings_read;
mod signals;
mod survey;
mod systems;
mod times;
mod transactions;
mod ublox;
mod ubx_outputs;

pub use self::family::GnssFamily;
use std::collections::{BTreeMap, VecDeque};

use self::clock::{LeapSeconds, Scale, Stamp, next_on_grid};
use self::configure::Blocks;
use self::items::{
    Protocol, Store, UART2, key, nmea_text_key, rate_key, sentence_id, ubx_text_key,
};
use self::monitor::Traffic;
use self::ports::Port;
use self::rover::Rover;
use self::sentences::Memory;
use self::survey::Survey;
use self::transactions::Transaction;
use self::ubx_outputs::{RTCM, UBX_OUTPUTS};
use super::{CableSignal, Device, Transmit};
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::gnss::profile::{GnssDialect, GnssProfile, GnssSettings, NmeaVersion};
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::gnss::faults::GnssFault;
use crate::sensors::gnss::navigator::{Fix, Navigator, Solution};
use crate::sensors::gnss::observations::{Observation, Observer};
use crate::sensors::gnss::{SkySensor, SkyView};
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::sensors::{Measurement, MeasurementRequest, Outcome, Subject};
use crate::time::{Epoch, SimTime};
use crate::wire::line::LineSettings;
use crate::wire::nmea::{Number, Sentence, Txt};
use crate::wire::ubx::rxm::RxmSfrbx;
use crate::wire::ubx::{Frame, MessageId, Payload};

/// Result of a configuration message: accepted or refused.
type Verdict = Result<(), ()>;

/// Time from a reset of a u-blox receiver to its start-up text. During this time the receiver computes no solution. At
/// the start of the run, the receiver is already on and sends the text at once.
const GREETING_NS: u64 = 200_000_000;
/// Modulus of the week number that satellites send.
const WEEKS: u16 = 1024;
/// Free space in the transmit buffer that the report of lost messages needs, bytes.
const COMPLAINT_BYTES: usize = 48;
/// Request number for random samples of the clock; no epoch has this number.
const CLOCK_REQUEST: u64 = u64::MAX;
/// Standard deviation of the clock drifts of different units, ns/s; an assumption.
const CLOCK_DRIFT_STD_NS_S: f64 = 500.0;

/// A GNSS receiver.
pub struct Gnss {
    profile: GnssProfile,
    settings: GnssSettings,
    epoch: Epoch,
    noise: NoiseSource,
    navigator: Navigator,
    store: Store,
    /// Ports of the receiver; the first is the port of the link.
    ports: Vec<Port>,
    /// Index of the port whose input is being processed; answers are sent on this port.
    served: usize,
    /// Pending output of all ports except the link's.
    asides: VecDeque<Transmit>,
    rover: Rover,
    /// Correction messages that a fault delays, with the times at which they are processed.
    late_corrections: VecDeque<(SimTime, Vec<u8>)>,
    /// Epochs that were requested and are not sent yet.
    slots: BTreeMap<SimTime, Slot>,
    next_epoch: SimTime,
    next_index: u64,
    period_ns: u64,
    is_navigating: bool,
    /// Number of solutions so far. A message with the rate n is sent with every n-th solution.
    solutions: u64,
    /// The latest reported solution and its time.
    last: Option<(Solution, Stamp)>,
    faults: Vec<Timed<GnssFault>>,
    /// Value of [`Gnss::first_week`] at the start of the run; a host can set another.
    built_for_week: u16,
    now: SimTime,
    started: SimTime,
    greeting_at: Option<SimTime>,
    edges: VecDeque<Transmit>,
    next_pulse: SimTime,
    falls_at: Option<SimTime>,
    drift_ns_s: f64,
    /// Present settings of older messages, beside the store.
    blocks: Blocks,
    /// Saved settings of older messages; a restart loads them.
    saved_blocks: Blocks,
    /// Items of the open transaction.
    transaction: Option<Transaction>,
    /// Whether the receiver held its surveyed or configured position in the latest solution, which then determines only
    /// time.
    is_held: bool,
    /// Time at which the receiver leaves backup mode.
    wakes_at: Option<SimTime>,
    /// Distance since the last reset of the odometer.
    distance_m: f64,
    total_distance_m: f64,
    /// Garmin: whether sentences have the mode field of NMEA 2.3.
    has_modes: bool,
    /// Garmin: values that sentences keep between epochs.
    memory: Memory,
    /// Garmin: stored fields of commands, by sentence address and field number.
    garmin_kept: BTreeMap<(&'static str, usize), String>,
    survey: Survey,
    observer: Observer,
    /// Raw measurements of the latest epoch.
    observations: Vec<Observation>,
    observed_before: Option<SimTime>,
}

struct Slot {
    index: u64,
    view: Option<Box<SkyView>>,
    fault_effects: Vec<FaultEffect>,
}

impl Gnss {
    /// A receiver that is switched on at the start of the run.
    pub fn new(
        profile: &GnssProfile,
        settings: &GnssSettings,
        sensor: &SkySensor,
        noise: NoiseSource,
        epoch: Epoch,
    ) -> Self {
        let constellation = sensor.constellation().clone();
        let drift = noise.request(CLOCK_REQUEST).standard_normal(0, Quantity::GnssClock);
        let has_text =
            profile.receiver.dialect.is_ublox() && !profile.identity.boot_text.is_empty();
        let store = Store::new(profile, settings);
        let mut receiver = Self {
            navigator: Navigator::new(&settings.receiver, constellation, noise, SimTime::ZERO),
            ports: Port::all(profile, settings, &store),
            store,
            served: 0,
            asides: VecDeque::new(),
            rover: Rover::default(),
            late_corrections: VecDeque::new(),
            slots: BTreeMap::new(),
            next_epoch: SimTime::ZERO,
            next_index: 0,
            period_ns: 0,
            is_navigating: true,
            solutions: 0,
            last: None,
            faults: Vec::new(),
            built_for_week: 0,
            now: SimTime::ZERO,
            started: SimTime::ZERO,
            greeting_at: has_text.then_some(SimTime::ZERO),
            edges: VecDeque::new(),
            next_pulse: SimTime::ZERO,
            falls_at: None,
            drift_ns_s: drift * CLOCK_DRIFT_STD_NS_S,
            blocks: Blocks::of_factory(profile.receiver.dialect),
            saved_blocks: Blocks::of_factory(profile.receiver.dialect),
            transaction: None,
            is_held: false,
            wakes_at: None,
            distance_m: 0.0,
            total_distance_m: 0.0,
            has_modes: profile.nmea.version >= NmeaVersion::V2_3,
            memory: Memory::default(),
            garmin_kept: BTreeMap::new(),
            survey: Survey::default(),
            observer: Observer::new(noise, epoch),
            observations: Vec::new(),
            observed_before: None,
            profile: profile.clone(),
            settings: settings.clone(),
            epoch,
            noise,
        };
        receiver.built_for_week = receiver.first_week();
        receiver.period_ns = receiver.wanted_period_ns();
        receiver.next_epoch = receiver.next_epoch_from(SimTime::ZERO);
        receiver.next_pulse = receiver.next_pulse_from(SimTime::ZERO);
        receiver
    }

    /// Sets the faults inside the receiver; the caller also passes them to the GNSS sensor model.
    pub fn set_faults(&mut self, faults: &[Timed<GnssFault>]) {
        self.faults = faults.to_vec();
    }

    fn wanted_period_ns(&self) -> u64 {
        let ms = self.store.get(key::RATE_MEAS) * self.store.get(key::RATE_NAV).max(1);
        (ms * 1_000_000).max(self.profile.receiver.min_period_ns)
    }

    /// The first epoch at or after `from`.
    fn next_epoch_from(&self, from: SimTime) -> SimTime {
        // The time scales of the other systems differ from GPS time or UTC by whole seconds.
        let scale = if self.store.get(key::RATE_TIMEREF) == 0 { Scale::Utc } else { Scale::Gps };
        next_on_grid(self.epoch, scale, from, self.period_ns)
    }

    /// Applies changed settings: baud rates, end of a survey, epochs of solutions, and time pulses.
    fn apply_settings(&mut self, now: SimTime) {
        self.apply_rates(now);
        if !self.surveys() {
            self.survey = Survey::default();
        }
        let period_ns = self.wanted_period_ns();
        let period_changes = period_ns != self.period_ns;
        self.period_ns = period_ns;
        let slots = std::mem::take(&mut self.slots);
        let stays = |at: &SimTime| *at <= now || self.next_epoch_from(*at) == *at;
        let is_moved = slots.keys().any(|at| !stays(at))
            || self.next_epoch_from(self.next_epoch) != self.next_epoch;
        let slots = slots.into_iter().filter(|(at, _)| stays(at)).collect();
        self.slots = slots;
        if is_moved || period_changes {
            self.next_epoch = self.next_epoch_from(SimTime(now.0 + 1));
        }
        if self.next_pulse > now {
            self.next_pulse = self.next_pulse_from(SimTime(now.0 + 1));
        }
    }

    /// Restarts at `now`. With `forgets_time`, the receiver loses its time. With `reloads`, it loads the stored
    /// settings and sends its start-up text, if any.
    fn restart(&mut self, now: SimTime, forgets_time: bool, reloads: bool) {
        self.started = now;
        self.navigator.restart(now, forgets_time);
        self.survey = Survey::default();
        self.rover.restart();
        self.ports.iter_mut().for_each(|port| port.traffic = Traffic::default());
        self.observer.restart();
        self.observations.clear();
        self.last = None;
        self.is_navigating = true;
        self.transaction = None;
        if reloads {
            self.store.load();
            self.blocks = self.saved_blocks.clone();
            let has_text = !self.profile.identity.boot_text.is_empty();
            self.greeting_at = has_text.then_some(SimTime(now.0 + GREETING_NS));
            self.apply_settings(now);
        }
    }

    /// Returns `stamp`, the time at `at`, with its week moved into the range that the receiver can represent.
    fn in_weeks(&self, at: SimTime, stamp: Stamp) -> Stamp {
        match self.first_week() {
            _ if self.rollover_at(at).is_some() => {
                stamp.in_weeks_from(stamp.week.saturating_sub(WEEKS))
            }
            0 => stamp,
            first => stamp.in_weeks_from(first),
        }
    }

    /// First GPS week that the receiver can represent; 0 if the receiver resolves all weeks.
    fn first_week(&self) -> u16 {
        self.store.get(key::WKNROLLOVER) as u16
    }

    /// Effect of a week-rollover fault that is active at `at`; `None` without one, and after a host has changed the first
    /// week.
    fn rollover_at(&self, at: SimTime) -> Option<FaultEffect> {
        if self.first_week() != self.built_for_week {
            return None;
        }
        self.faults.iter().find_map(|fault| match fault.kind {
            GnssFault::WeekRollover => {
                let window = fault.schedule.window_at(at)?;
                let kind = EffectKind::WeeksBehind { weeks: WEEKS.into() };
                Some(FaultEffect { fault: fault.fault, window, kind })
            }
            _ => None,
        })
    }

    /// Leap seconds that the receiver uses.
    fn leap_seconds(&self, solution: &Solution) -> LeapSeconds {
        match solution.is_leap_known {
            true => LeapSeconds::Told { inserted_on: self.settings.leap_second_on },
            false => LeapSeconds::OfFirmware { gps_minus_utc_s: self.settings.firmware_leap_s },
        }
    }

    fn uptime_ms(&self, at: SimTime) -> u32 {
        (at.0.saturating_sub(self.started.0) / 1_000_000) as u32
    }

    /// Processes everything that is due until `now`, in order of time.
    fn run_until(&mut self, now: SimTime) {
        loop {
            let epoch = self.slots.first_key_value().and_then(|(at, slot)| {
                slot.view.as_ref()?;
                Some(SimTime(at.0 + self.settings.latency_ns + self.settings.lag_ns))
            });
            let edge = Some(self.falls_at.map_or(self.next_pulse, |at| at.min(self.next_pulse)));
            let next = [self.greeting_at, epoch, self.wakes_at, edge];
            let Some((due, which)) =
                next.iter().enumerate().filter_map(|(i, due)| Some(((*due)?, i))).min()
            else {
                return;
            };
            if due > now {
                return;
            }
            match which {
                0 => self.greet(due),
                1 => self.send_epoch(due),
                2 => self.wake(due),
                _ => self.pulse(due),
            }
        }
    }

    fn send_epoch(&mut self, due: SimTime) {
        let Some((at, slot)) = self.slots.pop_first() else { return };
        let Some(view) = slot.view else { return };
        if !self.is_navigating || self.wakes_at.is_some() || self.greeting_at.is_some() {
            return;
        }
        self.take_late_corrections(due);
        let mut limits = self.limits();
        limits.corrected = self.corrected_at(at, &view);
        let mut solution = self.navigator.step(at, slot.index, &view, &limits);
        self.note_corrections(&mut solution);
        let signals = self.signals_of_systems();
        let signals_of = |system| signals[system as usize];
        let observations = self.observer.observe(at, slot.index, &view, &solution, signals_of);
        self.survey_with(at, &solution);
        self.is_held = self.hold(&mut solution);
        let leap = self.leap_seconds(&solution);
        let stamp = self.in_weeks(at, Stamp::new(self.epoch, at, leap, solution.time_error_ns));
        let mut fault_effects = slot.fault_effects;
        fault_effects.extend(self.rollover_at(at));
        fault_effects.extend(self.correction_faults_at(at));
        let mut told = (solution, stamp);
        if let Some((old, effect)) = frozen::told_again(&self.faults, &told, self.last.as_ref()) {
            told = old;
            fault_effects.push(effect);
        } else {
            self.observations = observations;
        }
        self.observed_before = self.last.as_ref().map(|(before, _)| before.at);
        self.count_distance(self.observed_before, &told.0);
        if self.profile.receiver.dialect == GnssDialect::Garmin {
            self.memory = self.memory.after(&told.0, told.1.utc.date());
        }
        let before = self.shape();
        self.last = Some(told);
        // The pulse period can change when the receiver locks to GNSS time.
        if self.shape() != before {
            self.next_pulse = self.next_pulse_from(SimTime(due.0 + 1));
        }
        // The output of a late measurement cannot precede earlier output.
        let due = due.max(self.now);
        for place in self.wired() {
            if self.take_overflow(place, due) && self.profile.receiver.dialect.is_ublox() {
                self.send_text(place, due, 0, "txbuf alloc");
            }
            for bytes in self.epoch_output(place, due) {
                self.put(place, due, bytes, fault_effects.clone());
            }
        }
        self.solutions += 1;
    }

    /// Whether output messages of a port were lost since the last report and there is room for another report. If so,
    /// counts these messages as reported.
    fn take_overflow(&mut self, place: usize, at: SimTime) -> bool {
        let room = self.profile.receiver.tx_buffer_bytes;
        let Port { uart, lost_told, .. } = &mut self.ports[place];
        let is_time = uart.lost() > *lost_told && uart.waiting_bytes(at) + COMPLAINT_BYTES <= room;
        if is_time {
            *lost_told = uart.lost();
        }
        is_time
    }

    /// The latest solution as sentences report it, and its time. Sentences cannot express that a fix exceeds the limits;
    /// they report no fix.
    fn shown(&self) -> Option<(Solution, &Stamp)> {
        let (solution, stamp) = self.last.as_ref()?;
        let mut shown = solution.clone();
        if !shown.is_within_limits {
            shown.fix = Fix::None;
        }
        Some((shown, stamp))
    }

    /// Output of the latest epoch on a port, due at `due`: sentences, UBX messages, corrections.
    fn epoch_output(&self, place: usize, due: SimTime) -> Vec<Vec<u8>> {
        let number = self.ports[place].number;
        let rate = |id| rate_key(id, number).map_or(0, |key| self.store.get(key));
        let is_on = |id| rate(id) > 0;
        let is_due = |id| is_on(id) && self.solutions.is_multiple_of(rate(id));
        let mut output = Vec::new();
        if self.sends_on(place, Protocol::Nmea)
            && let Some((shown, stamp)) = self.shown()
        {
            let systems = self.systems();
            let writer = self.writer(&systems);
            for kind in &self.profile.nmea.order {
                if is_due(sentence_id(*kind)) {
                    output.extend(writer.lines(*kind, &shown, stamp));
                }
            }
        }
        let messages = UBX_OUTPUTS.iter().filter(|(name, _)| self.profile.has_message(name));
        if self.profile.receiver.dialect.is_ublox() && self.sends_on(place, Protocol::Ubx) {
            for (_, id) in messages.clone().filter(|(_, id)| id.class != RTCM) {
                // Subframes are sent as they arrive, independent of the solution rate.
                if *id == RxmSfrbx::ID && is_on(*id) {
                    let parts = self.navigation_data();
                    output.extend(parts.iter().map(|part| part.to_frame().to_bytes()));
                } else if is_due(*id)
                    && let Some(frame) = self.message(due, *id)
                {
                    output.push(frame.to_bytes());
                }
            }
        }
        if self.sends_on(place, Protocol::Rtcm3) {
            let due = messages.filter(|(_, id)| id.class == RTCM && is_due(*id));
            output.extend(self.corrections(due.map(|(_, id)| id.id)));
        }
        output
    }

    /// Whether output of `protocol` is enabled on the port whose input is being processed.
    fn sends(&self, protocol: Protocol) -> bool {
        self.sends_on(self.served, protocol)
    }

    fn greet(&mut self, due: SimTime) {
        self.greeting_at = None;
        for text in self.profile.identity.boot_text.clone() {
            for place in self.wired() {
                self.send_text(place, due, 2, &text);
            }
        }
    }

    /// Sends a text as TXT sentence and as INF message, each if the settings of the port enable it for this level. Levels: 0
    /// error, 1 warning, 2 notice.
    fn send_text(&mut self, place: usize, at: SimTime, level: u8, text: &str) {
        let number = self.ports[place].number;
        let is_wanted = |item| self.store.get(item) >> level & 1 == 1;
        let has_ubx =
            self.profile.receiver.dialect.is_ublox() && self.sends_on(place, Protocol::Ubx);
        let (nmea, ubx) = (
            self.sends_on(place, Protocol::Nmea) && is_wanted(nmea_text_key(number)),
            has_ubx && is_wanted(ubx_text_key(number)),
        );
        if nmea {
            let number = |value| Some(Number::whole(value).padded(2));
            let level = number(level.into());
            let mut txt = Txt { messages: number(1), message: number(1), level, ..Txt::default() };
            txt.text.0 = text.to_string();
            // Start-up text and warnings always have the talker GN.
            self.put(place, at, Sentence::new("GN", txt).to_bytes(), Vec::new());
        }
        if ubx {
            let frame = Frame::new(MessageId::new(0x04, level), text.as_bytes().to_vec());
            self.put(place, at, frame.to_bytes(), Vec::new());
        }
    }

    /// Sends an answer to the host.
    fn reply(&mut self, now: SimTime, bytes: Vec<u8>) {
        let at = SimTime(now.0 + self.profile.receiver.reply_delay_ns);
        self.put(self.served, at, bytes, Vec::new());
    }

    /// Queues bytes on a port and counts them.
    fn put(&mut self, place: usize, at: SimTime, bytes: Vec<u8>, fault_effects: Vec<FaultEffect>) {
        let length = bytes.len() as u32;
        let Port { uart, traffic, .. } = &mut self.ports[place];
        if uart.send_marked(at, bytes, 0, fault_effects) {
            traffic.tx_bytes = traffic.tx_bytes.wrapping_add(length);
        }
        let waiting = uart.waiting_bytes(at).min(self.profile.receiver.tx_buffer_bytes);
        traffic.tx_peak_bytes = traffic.tx_peak_bytes.max(waiting);
    }
}

impl Device for Gnss {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        while self.next_epoch < horizon {
            let start = self.next_epoch;
            self.next_epoch = SimTime(start.0 + self.period_ns);
            // The epoch can have been requested at an earlier rate.
            if let std::collections::btree_map::Entry::Vacant(slot) = self.slots.entry(start) {
                let index = self.next_index;
                self.next_index += 1;
                slot.insert(Slot { index, view: None, fault_effects: Vec::new() });
                return Some(MeasurementRequest { index, start, subject: Subject::Instant });
            }
        }
        None
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let index = measurement.request.index;
        // Measurements arrive in order: older requests without one were revoked.
        self.slots.retain(|_, slot| slot.index >= index || slot.view.is_some());
        if let Some(slot) = self.slots.get_mut(&measurement.request.start)
            && let Outcome::Sky(view) = &measurement.outcome
        {
            slot.view = Some(view.clone());
            slot.fault_effects = measurement.fault_effects.clone();
        }
        self.run_until(self.now);
    }

    fn handle_input(&mut self, now: SimTime, bytes: &[u8]) {
        self.take_bytes(now, 0, bytes);
    }

    fn handle_line_input(&mut self, now: SimTime, port: u8, bytes: &[u8]) {
        if let Some(place) = self.place_of(port) {
            self.take_bytes(now, place, bytes);
        }
    }

    /// Receives corrections from a base whose UART2 is wired to this receiver's UART2.
    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        let CableSignal::Bytes(bytes, line) = signal else { return };
        // At another baud rate the receiver gets only noise.
        if u64::from(line.baud) == self.store.get(key::UART2_BAUDRATE) {
            self.handle_line_input(now, UART2, bytes);
        }
    }

    fn advance(&mut self, now: SimTime) {
        self.run_until(now);
        self.now = now;
    }

    fn change_faults(&mut self, _at: SimTime, faults: &DeviceFaults) {
        self.faults = faults.kind();
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.next_output()
    }

    fn nominal_rate_hz(&self) -> f64 {
        // The number of GSV and GSA sentences depends on the satellites and systems.
        0.0
    }

    fn line(&self) -> Option<LineSettings> {
        Some(self.ports[0].uart.line())
    }
}

#[cfg(test)]
mod tests;
