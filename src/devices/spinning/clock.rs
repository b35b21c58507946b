//! A clock of microseconds past the hour: an oscillator disciplined by a GNSS receiver's pulse per second (PPS)
//! and NMEA sentences.
//!
//! The count has two parts. While PPS is locked, each rising edge sets the sub-second part to zero. Each sentence with
//! a time (only a valid one, if the settings require that) sets hours, minutes and seconds, and the date if the
//! sentence has one. The two parts are independent. Without both, the oscillator counts freely: from power-on, or from
//! the last setting (holdover). PPS is locked when it has been steady for `pps_lock_s` (the qualifier in the manual).
//! The lock is lost with the first unsteady pulse, or without a pulse for `pps_absent_after_s`.
//!
//! The hour has 3600 s, without a leap second: 23:59:60 counts like the following 0:00:00.
//!
//! Sources: VLP-16 manual 63-9243, section 7.4 and appendix G; HDL-64E S3 manual, page 19.

use std::collections::VecDeque;

use jiff::civil::DateTime;

use crate::CableSignal;
use crate::spinning::clock_settings::{ClockReference, ClockSettings, TimeSentence};
use crate::time::{Epoch, SimTime};
use crate::wire::line::{LineSettings, received};
use crate::wire::nmea::RawSentence;

const SECOND_NS: i128 = 1_000_000_000;
const DAY_NS: i128 = 86_400 * SECOND_NS;
/// POSIX time that the clock shows at power-up, 2000-01-01T00:00:00Z.
const POWER_UP_NS: i128 = 946_684_800 * SECOND_NS;
/// Number of past settings of the clock that are kept: enough for at least half an hour. With them, packets that are
/// measured late on a slow machine get the right timestamps.
const KEPT_SETTINGS: usize = 4096;
/// Longest sentence that is accepted, including its line end.
const LONGEST_SENTENCE: usize = 306;

/// A device's clock and GPS input.
#[derive(Clone, Debug)]
pub struct DeviceClock {
    settings: ClockSettings,
    epoch: Epoch,
    /// Past settings of the clock, the latest first.
    past: VecDeque<Setting>,
    pps: Pps,
    /// Bytes of the sentence that is being received.
    line: Vec<u8>,
    sentence: Vec<u8>,
    sentence_at: Option<SimTime>,
    /// Time of the last sentence whose time was accepted.
    valid_at: Option<SimTime>,
}

/// A setting of the clock by PPS, a sentence, a host or a restart; the oscillator counts on from the new time.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// Oscillator ticks, one per nanosecond, at which the clock was set.
    at_ticks: i128,
    /// New time, nanoseconds of POSIX time.
    to_ns: i128,
}

/// State of the PPS (time pulse) input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PpsState {
    /// No pulse has arrived, or none for the time `pps_absent_after_s`.
    Absent,
    /// Pulses arrive, but have not been steady for long enough.
    Synchronizing,
    /// The clock is locked: each pulse sets it.
    Locked,
    /// The last pulse was not one second after the previous one.
    Error,
}

/// Recent pulses at the PPS input. The pulses determine the PPS state.
#[derive(Clone, Copy, Debug, Default)]
struct Pps {
    last_ticks: Option<i128>,
    /// Number of successive intervals between pulses that were one second long, within the tolerance.
    steady: u32,
    is_wrong: bool,
}

impl DeviceClock {
    /// A clock that was powered up `settings.power_up_us` before the start of the run.
    pub fn new(settings: &ClockSettings, epoch: Epoch) -> Self {
        Self {
            epoch,
            past: VecDeque::from([Setting {
                at_ticks: 0,
                to_ns: POWER_UP_NS + i128::from(settings.power_up_us) * 1000,
            }]),
            pps: Pps::default(),
            line: Vec::new(),
            sentence: Vec::new(),
            sentence_at: None,
            valid_at: None,
            settings: settings.clone(),
        }
    }

    /// Oscillator count at `at`, nanoseconds since the start of the run.
    fn ticks(&self, at: SimTime) -> i128 {
        let fast_ns_a_day = (self.settings.drift_s_per_day * 1e9).round() as i128;
        let passed = i128::from(at.0);
        passed + (passed * fast_ns_a_day).div_euclid(DAY_NS)
    }

    /// Time of the clock at `at`, nanoseconds of POSIX time.
    pub fn unix_ns(&self, at: SimTime) -> i128 {
        match self.settings.reference {
            ClockReference::Utc => self.epoch.unix_ns(at),
            ClockReference::FreeRunning => {
                let ticks = self.ticks(at);
                let then = self.past.iter().find(|setting| setting.at_ticks <= ticks);
                let set = then.or(self.past.back());
                set.map_or(ticks, |Setting { at_ticks, to_ns }| to_ns + ticks - at_ticks)
            }
        }
    }

    /// Sets the clock at `at` to `to_ns`, nanoseconds of POSIX time. Has no effect with the reference UTC.
    pub fn set(&mut self, at: SimTime, to_ns: i128) {
        self.past.push_front(Setting { at_ticks: self.ticks(at), to_ns });
        self.past.truncate(KEPT_SETTINGS);
    }

    /// Restarts the device: at `up_at` the clock is set to its power-up time, and earlier pulses and sentences are
    /// forgotten. Times before `up_at` are unchanged.
    pub fn restart(&mut self, up_at: SimTime) {
        self.set(up_at, POWER_UP_NS);
        self.pps = Pps::default();
        self.line.clear();
        self.sentence.clear();
        (self.sentence_at, self.valid_at) = (None, None);
    }

    /// Clock reading at `at`, microseconds since the last full hour, less than 3 600 000 000.
    pub fn micros_past_hour(&self, at: SimTime) -> u32 {
        (self.unix_ns(at).rem_euclid(3600 * SECOND_NS) / 1000) as u32
    }

    /// Date and time of the clock at `at`.
    pub fn civil(&self, at: SimTime) -> DateTime {
        jiff::Timestamp::from_nanosecond(self.unix_ns(at))
            .unwrap_or(jiff::Timestamp::MAX)
            .to_zoned(jiff::tz::TimeZone::UTC)
            .datetime()
    }

    /// State of the PPS input at `at`.
    pub fn pps(&self, at: SimTime) -> PpsState {
        if self.settings.reference == ClockReference::Utc {
            return PpsState::Locked;
        }
        let Some(last) = self.pps.last_ticks else { return PpsState::Absent };
        match self.ticks(at) - last {
            since if since > i128::from(self.settings.pps_absent_after_ns) => PpsState::Absent,
            _ if self.is_locked() => PpsState::Locked,
            _ if self.pps.is_wrong => PpsState::Error,
            _ => PpsState::Synchronizing,
        }
    }

    /// Whether a sentence of an accepted type arrived within the last `nmea_absent_after_s` before `at`; always true if
    /// the clock has the reference UTC.
    pub fn has_nmea(&self, at: SimTime) -> bool {
        self.is_recent(self.sentence_at, at)
    }

    /// Like [`Self::has_nmea`], but only sentences whose time the clock accepts count.
    pub fn has_valid_nmea(&self, at: SimTime) -> bool {
        self.is_recent(self.valid_at, at)
    }

    fn is_recent(&self, sentence_at: Option<SimTime>, at: SimTime) -> bool {
        let limit_ns = u128::from(self.settings.nmea_absent_after_ns);
        self.settings.reference == ClockReference::Utc
            || sentence_at.is_some_and(|then| at.saturating_since(then).as_nanos() <= limit_ns)
    }

    /// The last undamaged sentence of an accepted type, with its line end; empty before the first one.
    pub fn sentence(&self) -> &[u8] {
        &self.sentence
    }

    fn is_locked(&self) -> bool {
        let Pps { last_ticks, steady, is_wrong } = self.pps;
        last_ticks.is_some() && !is_wrong && steady >= self.settings.pps_lock_s
    }

    /// Processes a signal of the GPS cable at `at`; times must not decrease.
    pub fn handle_signal(&mut self, at: SimTime, signal: &CableSignal) {
        match signal {
            CableSignal::PulsePerSecond(true) => self.handle_pulse(at),
            CableSignal::PulsePerSecond(false) => {}
            CableSignal::Bytes(bytes, line) => {
                let own = LineSettings::eight_n_one(self.settings.gps_baud);
                for byte in received(bytes, *line, own) {
                    self.handle_byte(at, byte);
                }
            }
        }
    }

    /// Processes a rising edge of the pulse.
    fn handle_pulse(&mut self, at: SimTime) {
        let now = self.ticks(at);
        let passed = self.pps.last_ticks.map(|last| now - last);
        self.pps.last_ticks = Some(now);
        let tolerance = i128::from(self.settings.pps_tolerance_ns);
        match passed {
            Some(passed) if (passed - SECOND_NS).abs() <= tolerance => {
                self.pps.steady = self.pps.steady.saturating_add(1);
                self.pps.is_wrong = false;
            }
            // This is the first pulse since power-up or a restart.
            None => self.pps.steady = 0,
            Some(passed) => {
                self.pps.steady = 0;
                self.pps.is_wrong = passed <= i128::from(self.settings.pps_absent_after_ns);
            }
        }
        if self.is_locked() {
            // The pulse sets the clock to the nearest second, because the clock can be up to half a second fast or
            // slow.
            let second = (self.unix_ns(at) + SECOND_NS / 2).div_euclid(SECOND_NS);
            self.set(at, second * SECOND_NS);
        }
    }

    /// Processes a byte of a sentence. Lines end in CR LF, CR or LF; lines that are too long are ignored.
    fn handle_byte(&mut self, at: SimTime, byte: u8) {
        match byte {
            b'$' => {
                self.line.clear();
                self.line.push(byte);
            }
            b'\r' | b'\n' if !self.line.is_empty() => {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(b"\r\n");
                self.handle_sentence(at, line);
            }
            _ if self.line.is_empty() => {}
            _ if self.line.len() + 2 < LONGEST_SENTENCE => self.line.push(byte),
            _ => self.line.clear(),
        }
    }

    fn handle_sentence(&mut self, at: SimTime, line: Vec<u8>) {
        let Ok(raw) = RawSentence::parse(&line) else { return };
        let known = TimeSentence::WORDS.iter().find(|(word, _)| *word == raw.address);
        let Some((_, kind)) = known.filter(|(_, kind)| self.settings.sentences.contains(kind))
        else {
            return;
        };
        let field = |index: usize| raw.fields.get(index).map_or("", String::as_str);
        let (is_valid, date) = match kind {
            TimeSentence::Rmc => (field(1) == "A", field(8)),
            TimeSentence::Gga => (field(5).parse().is_ok_and(|quality: u8| quality > 0), ""),
        };
        let time = time_of_day(field(0));
        self.sentence = line;
        self.sentence_at = Some(at);
        if let Some(second) = time
            && (is_valid || !self.settings.needs_valid)
        {
            self.valid_at = Some(at);
            let shows_ns = self.unix_ns(at);
            let day_ns = midnight_ns(date).unwrap_or(shows_ns - shows_ns.rem_euclid(DAY_NS));
            let below_second_ns = shows_ns.rem_euclid(SECOND_NS);
            self.set(at, day_ns + i128::from(second) * SECOND_NS + below_second_ns);
        }
    }
}

/// Whole seconds since midnight from `hhmmss`, with or without a fraction; a leap second is second 60.
fn time_of_day(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.len() != 6 || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let pair = |at: usize| whole[at..at + 2].parse::<u32>().ok();
    let (hour, minute, second) = (pair(0)?, pair(2)?, pair(4)?);
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// POSIX time of the start of the day `ddmmyy`, nanoseconds.
fn midnight_ns(text: &str) -> Option<i128> {
    if text.len() != 6 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let pair = |at: usize| text[at..at + 2].parse::<i8>().ok();
    let date = jiff::civil::Date::new(2000 + i16::from(pair(4)?), pair(2)?, pair(0)?).ok()?;
    Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_nanosecond())
}

#[cfg(test)]
mod tests;
