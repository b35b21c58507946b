//! The three clocks of an Ouster; one of them timestamps columns and samples.
//!
//! The oscillator counts from power-on. The sync pulse's clock counts with the oscillator, and each pulse sets this
//! clock to the nearest whole second. If the multipurpose input reads NMEA, each valid `$GPRMC` sets its seconds. The
//! PTP clock is that of a simulated errorless master or of a PTP slave, whose master is on the network or within
//! Menura. Without a master, the PTP clock counts like the oscillator.
//!
//! Sources: firmware user manual, section time synchronisation; captures for the resolutions.

use std::collections::VecDeque;

use super::profile::OusterClockSettings;
use super::words::{PtpProfile, PtpState, TimestampMode};
use crate::CableSignal;
use crate::config::rig::faults::Timed;
use crate::ptp::faults::PtpFault;
use crate::ptp::{PtpClock, PtpSlave};
use crate::sensors::noise::NoiseSource;
use crate::time::{Epoch, SimTime};
use crate::wire::line::{LineSettings, received};
use crate::wire::nmea::RawSentence;
use crate::wire::ptp::ClockIdentity;

const SECOND_NS: i128 = 1_000_000_000;
const DAY_NS: i128 = 86_400 * SECOND_NS;
/// Largest number of past clock settings that are stored, for packets whose measurement is late.
const KEPT_SETTINGS: usize = 4096;
const LONGEST_SENTENCE: usize = 306;
/// Time without a pulse after which the pulse counts as lost, nanoseconds.
const PULSE_LOST_NS: u64 = 1_500_000_000;
/// Time without a sentence after which sentences count as lost, nanoseconds.
const NMEA_LOST_NS: u64 = 2_500_000_000;

/// A unit's clocks and their inputs.
#[derive(Clone, Debug)]
pub struct OusterClock {
    settings: OusterClockSettings,
    epoch: Epoch,
    /// Time at which the oscillator count is `up_ns`: the start of the run, or the end of the last restart.
    up_at: SimTime,
    /// Count of the oscillator at `up_at`, nanoseconds.
    up_ns: i128,
    /// Past settings of the sync pulse's clock, the latest first.
    past: VecDeque<Setting>,
    pulse_at: Option<SimTime>,
    pulses: u64,
    period_ns: u64,
    /// Bytes of the sentence that is being received.
    line: Vec<u8>,
    sentence: String,
    sentence_at: Option<SimTime>,
    /// PTP slave; it exchanges messages only if the settings require that.
    ptp: PtpSlave,
    profile: PtpProfile,
    faults: Vec<Timed<PtpFault>>,
}

/// One setting of the sync pulse's clock by a pulse or sentence: the clock reads `to_ns` at the oscillator's count
/// `at_ticks`.
#[derive(Clone, Copy, Debug)]
struct Setting {
    at_ticks: i128,
    to_ns: i128,
}

/// Settings of the multipurpose input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NmeaInput {
    /// Bit rate, bits per second.
    pub baud: u32,
    /// Offset that is added to the time of sentences, seconds.
    pub leap_s: i32,
    /// Whether sentences with status "invalid" are accepted.
    pub takes_invalid: bool,
}

impl OusterClock {
    /// Makes a clock that already runs at the start of the run.
    ///
    /// `identity` and `noise` belong to its PTP slave.
    pub fn new(
        settings: &OusterClockSettings,
        epoch: Epoch,
        identity: ClockIdentity,
        noise: NoiseSource,
    ) -> Self {
        let up_ns = settings.power_up_ns.into();
        let clock = PtpClock::new(settings.drift_s_per_day, SimTime::ZERO, up_ns);
        let how = settings.ptp_options.apply(settings.ptp_profile.settings());
        let ptp = PtpSlave::new(&how, identity, clock, noise, SimTime::ZERO);
        Self {
            ptp: match settings.ptp {
                PtpState::Locked => ptp.simulated(),
                PtpState::Virtual => ptp.with_virtual_master(epoch),
                PtpState::Absent | PtpState::Wire => ptp,
            },
            profile: settings.ptp_profile,
            settings: settings.clone(),
            epoch,
            up_at: SimTime::ZERO,
            up_ns,
            past: VecDeque::new(),
            pulse_at: None,
            pulses: 0,
            period_ns: 0,
            line: Vec::new(),
            sentence: String::new(),
            sentence_at: None,
            faults: Vec::new(),
        }
    }

    /// Count of the oscillator at `at`, nanoseconds since power-on.
    fn ticks(&self, at: SimTime) -> i128 {
        let fast_ns_a_day = (self.settings.drift_s_per_day * 1e9).round() as i128;
        let passed = i128::from(at.0) - i128::from(self.up_at.0);
        self.up_ns + passed + (passed * fast_ns_a_day).div_euclid(DAY_NS)
    }

    /// Reading of the sync pulse's clock at `at`, nanoseconds.
    fn pulsed_ns(&self, at: SimTime) -> i128 {
        let ticks = self.ticks(at);
        let then = self.past.iter().find(|setting| setting.at_ticks <= ticks);
        then.or(self.past.back()).map_or(ticks, |set| set.to_ns + ticks - set.at_ticks)
    }

    /// Timestamp of `at` in the mode `mode`, nanoseconds.
    pub fn stamp_ns(&self, mode: TimestampMode, at: SimTime) -> u64 {
        let shown = match (mode, self.settings.ptp) {
            (TimestampMode::Ptp1588, PtpState::Locked) => {
                let ahead_ns = i128::from(self.settings.ptp_ahead_s) * SECOND_NS;
                return (self.epoch.unix_ns(at) + ahead_ns).max(0) as u64;
            }
            (TimestampMode::Ptp1588, PtpState::Wire | PtpState::Virtual) => {
                return u64::try_from(self.ptp.shows_ns(at)).unwrap_or(0);
            }
            (TimestampMode::SyncPulseIn, _) => self.pulsed_ns(at),
            (TimestampMode::InternalOsc | TimestampMode::Ptp1588, _) => self.ticks(at),
        };
        let shown = u64::try_from(shown).unwrap_or(0);
        shown - shown % self.settings.resolution_ns.max(1)
    }

    /// Restarts the clocks: they count from zero at `up_at`, and all input is discarded.
    pub fn restart(&mut self, up_at: SimTime) {
        if self.settings.ptp.has_slave() {
            self.ptp = self.ptp.restarted(up_at);
        }
        (self.up_at, self.up_ns) = (up_at, 0);
        self.past.clear();
        (self.pulse_at, self.pulses, self.period_ns) = (None, 0, 0);
        self.line.clear();
        self.sentence.clear();
        self.sentence_at = None;
    }

    /// Whether a PTP master sets the clock or has set it.
    pub fn has_ptp(&self) -> bool {
        match self.settings.ptp {
            PtpState::Absent => false,
            PtpState::Locked => true,
            PtpState::Wire | PtpState::Virtual => self.ptp.is_set(),
        }
    }

    /// Time of the unit's operating system, nanoseconds of POSIX time; `None` if no PTP slave has set it.
    pub fn system_ns(&self, at: SimTime) -> Option<i128> {
        let is_set = self.settings.ptp.has_slave() && self.ptp.is_set();
        let utc_offset_ns = i128::from(self.ptp.utc_offset_s()) * SECOND_NS;
        is_set.then(|| self.ptp.shows_ns(at) - utc_offset_ns)
    }

    /// PTP profile.
    pub fn ptp_profile(&self) -> PtpProfile {
        self.profile
    }

    /// Selects the PTP profile from `now` on.
    pub fn set_ptp_profile(&mut self, now: SimTime, profile: PtpProfile) {
        self.profile = profile;
        let how = self.settings.ptp_options.apply(profile.settings());
        if let Some(slave) = self.slave() {
            slave.configure(now, how, true);
        }
    }

    /// PTP slave that exchanges messages; `None` if the master is absent, or simulated without errors (`locked`).
    pub fn slave(&mut self) -> Option<&mut PtpSlave> {
        self.settings.ptp.has_slave().then_some(&mut self.ptp)
    }

    /// Replaces the PTP faults.
    pub fn set_faults(&mut self, faults: Vec<Timed<PtpFault>>) {
        self.ptp.set_faults(faults.clone());
        self.faults = faults;
    }

    /// PTP faults that affect timestamps of `mode`.
    pub fn faults(&self, mode: TimestampMode) -> &[Timed<PtpFault>] {
        if mode == TimestampMode::Ptp1588 { &self.faults } else { &[] }
    }

    /// The unit's PTP slave.
    pub fn ptp(&self) -> &PtpSlave {
        &self.ptp
    }

    /// First time in the run at which a second of the PTP clock begins, extrapolated from the clock's reading at `now`.
    pub fn ptp_second(&self, now: SimTime) -> SimTime {
        let ahead_ns = match self.settings.ptp {
            PtpState::Wire | PtpState::Virtual => self.ptp.shows_ns(now) - i128::from(now.0),
            PtpState::Absent | PtpState::Locked => self.epoch.unix_ns(SimTime::ZERO),
        };
        SimTime((-ahead_ns).rem_euclid(SECOND_NS) as u64)
    }

    /// Whether sync pulses are arriving at `at`, i.e. the last one is recent.
    pub fn has_pulse(&self, at: SimTime) -> bool {
        self.pulse_at.is_some_and(|then| at.0.saturating_sub(then.0) <= PULSE_LOST_NS)
    }

    /// Whether sentences are arriving at `at`, i.e. the last accepted one is recent.
    pub fn has_nmea(&self, at: SimTime) -> bool {
        self.sentence_at.is_some_and(|then| at.0.saturating_sub(then.0) <= NMEA_LOST_NS)
    }

    /// Number of received pulses, and time between the last two, nanoseconds.
    pub fn pulses(&self) -> (u64, u64) {
        (self.pulses, self.period_ns)
    }

    /// The last accepted sentence; empty without one.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Processes a signal that arrived at `at`. `input` has the settings for reading bytes as NMEA; it is `None` if the
    /// multipurpose input does not read NMEA, and bytes are then ignored.
    pub fn handle_signal(&mut self, at: SimTime, signal: &CableSignal, input: Option<NmeaInput>) {
        match (signal, input) {
            (CableSignal::PulsePerSecond(true), _) => self.handle_pulse(at),
            (CableSignal::Bytes(bytes, line), Some(input)) => {
                for byte in received(bytes, *line, LineSettings::eight_n_one(input.baud)) {
                    self.handle_byte(at, byte, input);
                }
            }
            (CableSignal::PulsePerSecond(false) | CableSignal::Bytes(..), _) => {}
        }
    }

    fn set(&mut self, at: SimTime, to_ns: i128) {
        self.past.push_front(Setting { at_ticks: self.ticks(at), to_ns });
        self.past.truncate(KEPT_SETTINGS);
    }

    fn handle_pulse(&mut self, at: SimTime) {
        if let Some(last) = self.pulse_at {
            self.period_ns = at.0.saturating_sub(last.0);
        }
        (self.pulse_at, self.pulses) = (Some(at), self.pulses + 1);
        let second = (self.pulsed_ns(at) + SECOND_NS / 2).div_euclid(SECOND_NS);
        self.set(at, second * SECOND_NS);
    }

    fn handle_byte(&mut self, at: SimTime, byte: u8, input: NmeaInput) {
        match byte {
            b'$' => self.line = vec![byte],
            b'\r' | b'\n' if !self.line.is_empty() => {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(b"\r\n");
                self.handle_sentence(at, &line, input);
            }
            _ if self.line.is_empty() => {}
            _ if self.line.len() < LONGEST_SENTENCE => self.line.push(byte),
            _ => self.line.clear(),
        }
    }

    fn handle_sentence(&mut self, at: SimTime, line: &[u8], input: NmeaInput) {
        let Ok(raw) = RawSentence::parse(line) else { return };
        let field = |index: usize| raw.fields.get(index).map_or("", String::as_str);
        let is_taken = raw.address == "GPRMC" && (field(1) == "A" || input.takes_invalid);
        let Some(second) = is_taken.then(|| posix_second(field(0), field(8))).flatten() else {
            return;
        };
        self.sentence = String::from_utf8_lossy(line).trim_start_matches('$').trim().to_owned();
        self.sentence_at = Some(at);
        let below_ns = self.pulsed_ns(at).rem_euclid(SECOND_NS);
        self.set(at, (second + i128::from(input.leap_s)) * SECOND_NS + below_ns);
    }
}

/// Seconds of POSIX time from `hhmmss` and `ddmmyy`; `None` if they are invalid.
fn posix_second(time: &str, date: &str) -> Option<i128> {
    let whole = time.split('.').next().unwrap_or_default();
    let pair = |text: &str, at: usize| {
        let two = text.get(at..at + 2).filter(|two| two.bytes().all(|b| b.is_ascii_digit()));
        two.and_then(|two| two.parse::<i8>().ok())
    };
    let (hour, minute, second) = (pair(whole, 0)?, pair(whole, 2)?, pair(whole, 4)?);
    let (day, month, year) = (pair(date, 0)?, pair(date, 2)?, pair(date, 4)?);
    let date = jiff::civil::Date::new(2000 + i16::from(year), month, day).ok()?;
    // A leap second (60) is the first second of the next minute.
    let at = date.at(hour, minute, second.min(59), 0).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(i128::from(at.timestamp().as_second()) + i128::from(second.max(59) - 59))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: NmeaInput = NmeaInput { baud: 9600, leap_s: 37, takes_invalid: false };

    fn clock(change: impl FnOnce(&mut OusterClockSettings)) -> OusterClock {
        let mut settings = OusterClockSettings {
            resolution_ns: 10,
            power_up_ns: 300_400_000_123,
            ptp_ahead_s: 37,
            ..OusterClockSettings::default()
        };
        change(&mut settings);
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        OusterClock::new(&settings, epoch, [0; 8], NoiseSource::new(1, "os1"))
    }

    fn s(seconds: f64) -> SimTime {
        SimTime((seconds * 1e9).round() as u64)
    }

    #[test]
    fn the_oscillator_counts_in_its_steps_from_power_up() {
        let clock = clock(|settings| settings.drift_s_per_day = 86.4);
        let stamp = |at| clock.stamp_ns(TimestampMode::InternalOsc, at);
        assert_eq!(stamp(SimTime(0)), 300_400_000_120);
        assert_eq!(stamp(s(1.0)), 301_401_000_120, "a thousandth fast");
        assert_eq!(clock.stamp_ns(TimestampMode::Ptp1588, s(1.0)), 301_401_000_120, "no master");
    }

    #[test]
    fn a_masters_time_is_tai_to_the_nanosecond() {
        let clock = clock(|settings| settings.ptp = PtpState::Locked);
        let utc_ns = 1_780_315_200_000_000_000;
        let stamp = clock.stamp_ns(TimestampMode::Ptp1588, SimTime(7));
        assert_eq!(stamp, utc_ns + 37_000_000_007);
    }

    #[test]
    fn pulses_set_the_second_and_sentences_the_date() {
        let mut clock = clock(|_| {});
        let stamp = |clock: &OusterClock, at| clock.stamp_ns(TimestampMode::SyncPulseIn, at);
        clock.handle_signal(s(0.5), &CableSignal::PulsePerSecond(true), None);
        assert_eq!(stamp(&clock, s(0.75)), 301_250_000_000);
        assert_eq!(stamp(&clock, s(0.25)), 301_000_000_000 - 250_000_000, "counted back");
        let line = LineSettings::eight_n_one(9600);
        let text = b"$GPRMC,120000,A,3328.27,N,08847.60,W,0.0,0.0,010626,,,A*68\r\n";
        let parsed = RawSentence::parse(text);
        assert!(parsed.is_ok(), "{parsed:?}");
        let bytes = CableSignal::Bytes(text.to_vec(), line);
        clock.handle_signal(s(0.7), &bytes, None);
        assert!(!clock.has_nmea(s(0.7)), "nobody reads it");
        clock.handle_signal(s(0.7), &bytes, Some(INPUT));
        assert_eq!(stamp(&clock, s(0.75)), 1_780_315_237_250_000_000);
        assert!(clock.has_nmea(s(3.0)) && !clock.has_nmea(s(3.3)));
        assert!(clock.has_pulse(s(2.0)) && !clock.has_pulse(s(2.1)));
    }
}
