//! The SICK LMS 2xx: LMS200, 211, 221 and 291, including the -S14.
//!
//! ```text
//! STARTING --power-on telegram--> on request <--> streaming        (mode 0x20 0x24 ...)
//!     ^                              ^  |            |
//!     +------- reset (any) --+       |  v            v
//!                            +---- installation (password)
//! ```
//!
//! A fault can cut the power at any time, also in the middle of a telegram; when the power returns, the scanner starts
//! again.
//!
//! Each command is acknowledged by a single byte and then answered. No scan is sent before the answer. `commands` has
//! the commands, `stream` selects the scans, `mirror` has the angle of the mirror, `telegrams` encodes values.
//!
//! Sources: the drivers named in [`crate::wire::sick_lms2xx`]; the profile determines all other behaviour. Telegrams
//! whose layout is in no driver (fields, contours, values with fields, Cartesian values) are answered as unknown
//! commands.

mod capture;
mod commands;
pub(crate) mod decoder;
mod describe;
mod family;
mod faults;
mod hearing;
mod mirror;
pub mod profile;
mod stream;
mod telegrams;
#[cfg(test)]
mod tests;

use self::capture::{Belongs, Capture};
pub use self::family::SickLms2xxFamily;
use self::faults::{Refusal, refusals};
use self::hearing::{Heard, Hearing};
use self::mirror::{Mirror, Pattern};
use self::stream::Stream;
use self::telegrams::{Encoder, Format};
use super::motor_stall::before;
use super::power_cycle::{PowerCycle, back_at, next_cut};
use super::{Device, PacketTruth, Transmit};
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::sensors::fault::FaultEffect;
use crate::sensors::lidar::Lidar;
use crate::sensors::noise::NoiseSource;
use crate::sensors::optics_fault::{LidarFault, dirt_at};
use crate::sensors::pattern::LaserGeometry;
use crate::sensors::receiver::ReceiverSetting;
use crate::sensors::{Measurement, MeasurementRequest, Outcome};
use crate::serial::uart::Uart;
use crate::sick_lms2xx::profile::{
    Motor, PowerOnMode, SickLms2xxProfile, SickLms2xxSettings, SpoiltTelegram,
};
use crate::time::SimTime;
use crate::wire::line::LineSettings;
use crate::wire::sick_lms2xx::command::{Command, Mode, Subrange};
use crate::wire::sick_lms2xx::configuration::Configuration;
use crate::wire::sick_lms2xx::reply::{Body, Reply};
use crate::wire::sick_lms2xx::{
    ACK, ERROR_IS_OVER, FROM_SCANNER, LineRate, NAK, Variant, frame, status_byte,
};

/// An emulated LMS 2xx.
pub struct SickLms2xx {
    profile: SickLms2xxProfile,
    settings: SickLms2xxSettings,
    noise: NoiseSource,
    mirror: Mirror,
    /// Configuration that survives a power cycle.
    stored: Stored,
    /// End of the start-up; `None` outside the start-up.
    starting: Option<SimTime>,
    mode: Mode,
    uart: Uart,
    /// Baud rate that applies after all queued bytes are sent.
    rate: LineRate,
    hearing: Hearing,
    task: Option<Task>,
    stream: Option<Stream>,
    next_request: u64,
    /// Number of telegrams with values since power-on.
    telegrams: u64,
    clock: SimTime,
    optics_faults: Vec<Timed<LidarFault>>,
    refusals: Vec<Timed<Refusal>>,
    cuts: Vec<Timed<PowerCycle>>,
    /// `Some` while the power is off; the inner value is the time at which the power returns, `None` if it stays off.
    off: Option<Option<SimTime>>,
    /// Number of resets and power cycles.
    boots: u16,
    /// Time up to which all events are processed.
    done_to: SimTime,
}

/// State that survives a power cycle.
#[derive(Clone, Debug)]
struct Stored {
    configuration: Configuration,
    variant: Variant,
    /// Whether the baud rate survives a power cycle, too.
    keeps_rate: bool,
}

/// Stage of the present command.
#[derive(Debug)]
enum Task {
    /// ACK or NAK is due.
    Acknowledge { at: SimTime, heard: Heard },
    /// The reply is due.
    Answer { at: SimTime, command: Command },
    /// The reply is a scan that must be measured first.
    Measure { capture: Capture, format: Format },
}

/// Events that [`SickLms2xx::run`] processes in order of time.
#[derive(Clone, Copy, Debug)]
enum Event {
    PowerCut,
    PowerBack,
    Started,
    TelegramGivenUp,
    CommandTaken,
    TaskDue,
    ScanDue,
}

impl SickLms2xx {
    /// A unit whose mirror already rotates at the start of the run.
    pub fn new(
        profile: &SickLms2xxProfile,
        settings: &SickLms2xxSettings,
        noise: NoiseSource,
    ) -> Self {
        let availability = u8::from(settings.real_time_indices) << 1;
        let configuration = Configuration::default()
            .with_sensitivity(settings.sensitivity)
            .with_availability(availability)
            .with_measuring(settings.measuring_mode.code(), settings.unit.code());
        let stored = Stored {
            configuration,
            variant: settings.variant,
            keeps_rate: settings.rate != profile.line.rates[0],
        };
        let mut unit = Self {
            profile: profile.clone(),
            settings: settings.clone(),
            noise,
            mirror: Mirror::new(profile, settings),
            stored,
            starting: None,
            mode: Mode::OnRequest,
            uart: Uart::new(settings.rate.baud(), usize::MAX),
            rate: settings.rate,
            hearing: Hearing::new(settings.address, profile.line.byte_gap_ns),
            task: None,
            stream: None,
            next_request: 0,
            telegrams: 0,
            clock: SimTime::ZERO,
            optics_faults: Vec::new(),
            refusals: Vec::new(),
            cuts: Vec::new(),
            off: None,
            boots: 0,
            done_to: SimTime::ZERO,
        };
        if settings.start_up_ns > 0 {
            unit.starting = Some(SimTime(settings.start_up_ns));
        } else {
            unit.enter_power_on_mode();
        }
        unit
    }

    /// Replaces the internal faults of the unit. Call this before its sensor is requested.
    pub fn set_faults(&mut self, faults: &DeviceFaults) {
        self.optics_faults = faults.kind();
        self.refusals = faults.kind();
        self.cuts = faults.kind();
        self.mirror.set_stalls(&faults.kind());
    }

    /// Severity of the worst error: bits 0 to 2 of the status byte.
    fn error_level(&self, at: SimTime) -> u8 {
        match self.is_held(at) {
            true => self.settings.error_level.max(self.profile.motor.stalled_level),
            false => self.settings.error_level,
        }
    }

    /// Type and number of each reported error, including past ones.
    fn errors(&self, at: SimTime) -> Vec<[u8; 2]> {
        let Motor { stalled_level, stalled_error, .. } = self.profile.motor;
        let mut errors = self.settings.errors.clone();
        if self.is_held(at) {
            errors.push([stalled_level, stalled_error]);
        } else if self.mirror.was_held(at) {
            errors.push([ERROR_IS_OVER | stalled_level, stalled_error]);
        }
        errors
    }

    /// Whether the mirror is below full speed.
    fn is_held(&self, at: SimTime) -> bool {
        self.mirror.held_between(at, at).is_some()
    }

    /// Whether the scanner reports a polluted window at `at`.
    fn is_polluted(&self, at: SimTime) -> bool {
        self.settings.is_polluted || dirt_at(&self.optics_faults, at).is_some()
    }

    /// Lidar model of this unit: one beam, which the mirror turns in the scan plane.
    pub fn lidar(&self) -> Lidar {
        Lidar::new(
            vec![LaserGeometry::default()],
            &self.settings.beam,
            &self.settings.noise,
            self.noise,
        )
        .with_faults(&self.optics_faults)
    }

    fn encoder(&self) -> Encoder<'_> {
        Encoder {
            profile: &self.profile,
            configuration: &self.stored.configuration,
            threshold: self.settings.beam.threshold(),
        }
    }

    /// Processes everything due until `until`, in order of time.
    fn run(&mut self, until: SimTime) {
        self.clock = self.clock.max(until);
        while let Some((at, event)) = self.next_event().filter(|(at, _)| *at <= self.clock) {
            self.done_to = self.done_to.max(at);
            match event {
                Event::PowerCut => self.switch_off(at),
                Event::PowerBack => {
                    self.off = None;
                    self.start(at);
                }
                Event::Started => self.started(at),
                Event::TelegramGivenUp => self.hearing.give_up(at),
                Event::CommandTaken => self.take_command(at),
                Event::TaskDue => self.go_on(at),
                Event::ScanDue => self.send_scan(at),
            }
        }
        self.done_to = self.clock;
    }

    fn switch_off(&mut self, at: SimTime) {
        self.forget();
        self.starting = None;
        self.off = Some(back_at(&self.cuts, at));
    }

    /// Drops all state that does not survive a power cycle.
    fn forget(&mut self) {
        self.mode = Mode::OnRequest;
        self.stream = None;
        self.task = None;
        self.telegrams = 0;
        self.hearing.clear();
    }

    /// Restarts at `at`, or as soon as the line is free if that is later, with the power-on baud rate.
    fn start(&mut self, at: SimTime) {
        self.forget();
        self.boots = self.boots.wrapping_add(1);
        let rate = self.power_on_rate();
        self.change_rate(rate);
        let free_at = self.uart.free_at().max(at);
        self.starting = Some(SimTime(free_at.0 + self.settings.restart_ns));
    }

    fn next_event(&self) -> Option<(SimTime, Event)> {
        if let Some(until) = self.off {
            return until.map(|until| (until, Event::PowerBack));
        }
        let cut = next_cut(&self.cuts, self.done_to).map(|at| (at, Event::PowerCut));
        if let Some(until) = self.starting {
            let started = Some((until, Event::Started));
            return [cut, started].into_iter().flatten().min_by_key(|(at, _)| *at);
        }
        let given_up = self.hearing.patience_ends().map(|at| (at, Event::TelegramGivenUp));
        let task = match &self.task {
            Some(Task::Acknowledge { at, .. } | Task::Answer { at, .. }) => {
                Some((*at, Event::TaskDue))
            }
            Some(Task::Measure { capture, .. }) => {
                capture.is_measured().then(|| (capture.leaves(&self.mirror), Event::TaskDue))
            }
            None => self.hearing.next_at().map(|at| (at, Event::CommandTaken)),
        };
        let scan = self.stream.as_ref().filter(|_| self.task.is_none());
        let scan = scan.and_then(|stream| stream.next_due(&self.mirror, self.uart.free_at()));
        let scan = scan.map(|at| (at, Event::ScanDue));
        [cut, given_up, task, scan].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    fn take_command(&mut self, now: SimTime) {
        let Some(heard) = self.hearing.pop() else { return };
        if heard == Heard::Spoilt && self.profile.line.spoilt_telegram == SpoiltTelegram::Silence {
            return;
        }
        let at = SimTime(now.0 + self.profile.line.ack_ns);
        self.task = Some(Task::Acknowledge { at, heard });
    }

    fn go_on(&mut self, at: SimTime) {
        match self.task.take() {
            Some(Task::Acknowledge { heard: Heard::Spoilt, .. }) => {
                self.transmit(at, vec![NAK], 0, Vec::new(), PacketTruth::default());
                self.finish();
            }
            Some(Task::Acknowledge { .. }) if !refusals(&self.refusals, at).is_empty() => {
                let effects = refusals(&self.refusals, at);
                self.transmit(at, vec![NAK], 0, effects, PacketTruth::default());
                self.finish();
            }
            Some(Task::Acknowledge { heard: Heard::Command(command), .. }) => {
                self.transmit(at, vec![ACK], 0, Vec::new(), PacketTruth::default());
                let timing = &self.profile.line;
                let delay_ns = match command {
                    Command::Configure(_) => timing.configure_ns,
                    _ => timing.reply_ns,
                };
                let at = SimTime(self.uart.free_at().0 + delay_ns);
                self.task = Some(Task::Answer { at, command });
            }
            Some(Task::Answer { command, .. }) => self.answer(at, command),
            Some(Task::Measure { capture, format }) => {
                self.send_capture(at, &capture, &format);
                self.finish();
            }
            None => {}
        }
    }

    /// Finishes the present command.
    fn finish(&mut self) {
        self.task = None;
        if let Some(stream) = &mut self.stream {
            stream.resume(&self.mirror, self.uart.free_at());
        }
    }

    fn send_scan(&mut self, at: SimTime) {
        let Some(stream) = &mut self.stream else { return };
        let format = stream.format().clone();
        if let Some(capture) = stream.pop() {
            self.send_capture(at, &capture, &format);
        }
    }

    fn send_capture(&mut self, at: SimTime, capture: &Capture, format: &Format) {
        self.telegrams += 1;
        let (body, points) = self.encoder().body(capture, format, self.telegrams);
        let truth = capture.truth().clone();
        self.send_marked(at, body, points, capture.fault_effects().to_vec(), truth);
    }

    fn send(&mut self, at: SimTime, body: Body) {
        self.send_marked(at, body, 0, Vec::new(), PacketTruth::default());
    }

    fn send_marked(
        &mut self,
        at: SimTime,
        body: Body,
        points: u32,
        mut fault_effects: Vec<FaultEffect>,
        truth: PacketTruth,
    ) {
        fault_effects.extend(self.mirror.fault_effects(at));
        let pollution = if self.is_polluted(at) { status_byte::POLLUTION } else { 0 };
        let implausible = if self.settings.is_implausible { status_byte::IMPLAUSIBLE } else { 0 };
        let status = status_byte::FAMILY | self.error_level(at) | implausible | pollution;
        let address = FROM_SCANNER | self.settings.address;
        let bytes = frame::emit(address, &Reply { body, status }.emit());
        self.transmit(at, bytes, points, fault_effects, truth);
    }

    /// Sends `bytes` at `at`, or when the line is free. Bytes that the next power cut prevents are dropped.
    fn transmit(
        &mut self,
        at: SimTime,
        mut bytes: Vec<u8>,
        points: u32,
        fault_effects: Vec<FaultEffect>,
        truth: PacketTruth,
    ) {
        if let Some(cut) = next_cut(&self.cuts, at) {
            let on_ns = cut.0.saturating_sub(at.max(self.uart.free_at()).0);
            bytes.truncate((on_ns / self.uart.duration_ns(1)) as usize);
        }
        if !bytes.is_empty() {
            self.uart.send_scan(at, bytes, points, fault_effects, truth);
        }
    }

    fn started(&mut self, at: SimTime) {
        self.starting = None;
        let text = self.type_text();
        self.send(at, Body::PowerOn { text });
        self.enter_power_on_mode();
    }

    fn enter_power_on_mode(&mut self) {
        let values = Pattern::whole(&self.profile, self.stored.variant, 1).values() as u16;
        let mode = match self.settings.power_on_mode {
            PowerOnMode::OnRequest => Mode::OnRequest,
            PowerOnMode::Continuous => Mode::Continuous,
            PowerOnMode::Partial => Mode::Partial,
            PowerOnMode::Reflectivity => Mode::Reflectivity(Subrange { first: 1, last: values }),
        };
        self.enter(mode);
    }

    /// Enters an operating mode; its scans start when the line is free.
    fn enter(&mut self, mode: Mode) {
        self.stream = self.stream_format(&mode).map(|(pattern, format)| {
            let telegram = self.encoder().telegram_len(&pattern, &format);
            let telegram_ns = self.uart.duration_ns(telegram);
            let start = self.profile.line.transmission_start;
            Stream::new(&self.mirror, pattern, format, start, telegram_ns, self.uart.free_at())
        });
        self.mode = mode;
    }

    /// Scan pattern and telegram format of the stream in an operating mode; `None` if the mode has no stream.
    fn stream_format(&self, mode: &Mode) -> Option<(Pattern, Format)> {
        let (profile, variant) = (&self.profile, self.stored.variant);
        let format = match mode {
            Mode::Partial => return Some((Pattern::partial(profile, variant), Format::Scan)),
            Mode::Continuous => Format::Scan,
            Mode::Mean { scans } => Format::Mean { scans: *scans },
            Mode::Subrange(part) => Format::Subrange(*part),
            Mode::MeanSubrange { scans, part } => {
                Format::MeanSubrange { scans: *scans, part: *part }
            }
            Mode::Remission(parts) => Format::Remission(parts.clone()),
            Mode::Reflectivity(part) => Format::Reflectivity(*part),
            Mode::Installation { .. }
            | Mode::Diagnostic
            | Mode::OnRequest
            | Mode::PasswordTest { .. }
            | Mode::Rate(_)
            | Mode::Other { .. } => return None,
        };
        Some((Pattern::whole(profile, variant, format.scans()), format))
    }

    /// Baud rate after the next power-on.
    fn power_on_rate(&self) -> LineRate {
        if self.stored.keeps_rate { self.rate } else { self.profile.line.rates[0] }
    }

    /// Type text, padded to twenty characters, and a zero byte.
    fn type_text(&self) -> [u8; 21] {
        let mut text = [b' '; 21];
        for (place, byte) in text.iter_mut().zip(self.profile.identity.type_text.bytes()).take(20) {
            *place = byte;
        }
        text[20] = 0;
        text
    }

    /// Detector setting from the configuration: blanked zone, and factor of the threshold for the configured
    /// sensitivity. The factor is (a / b)², where a and b are the ranges at 10 % reflectance with the standard and with
    /// the configured sensitivity.
    fn receiver_setting(&self) -> ReceiverSetting {
        let configuration = &self.stored.configuration;
        let sensitivity = usize::from(configuration.sensitivity()).min(3);
        let ranges_m = &self.profile.configuration.sensitivity_range_m;
        let share = ranges_m[0] / ranges_m[sensitivity];
        ReceiverSetting {
            threshold_factor: (share * share) as f32,
            blanked_m: f32::from(configuration.blanking_cm()) * 0.01,
        }
    }
}

impl Device for SickLms2xx {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        let index = self.next_request;
        let receiver = self.receiver_setting();
        let request = match (&mut self.task, &mut self.stream) {
            (Some(Task::Measure { capture, .. }), _) => {
                capture.poll_request(&self.mirror, receiver, index, horizon)
            }
            (_, Some(stream)) => stream.poll_request(&self.mirror, receiver, index, horizon),
            (_, None) => None,
        };
        self.next_request += u64::from(request.is_some());
        request
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let Outcome::Returns(returns) = &measurement.outcome else { return };
        let index = measurement.request.index;
        let mut is_too_late = false;
        if let Some(Task::Measure { capture, .. }) = &mut self.task {
            match capture.belongs(index) {
                Belongs::Here => capture.add(measurement, returns),
                Belongs::Before => {}
                Belongs::TooLate => is_too_late = true,
            }
        }
        if let Some(stream) = &mut self.stream {
            stream.take(measurement, returns);
        }
        if is_too_late && let Some(Task::Measure { capture, format }) = self.task.take() {
            self.look(self.clock, capture.pattern().clone(), format);
        }
        self.run(self.clock);
    }

    fn handle_input(&mut self, now: SimTime, bytes: &[u8]) {
        let now = now.max(self.clock);
        self.run(now);
        if self.starting.is_none() && self.off.is_none() {
            self.hearing.push(now, bytes);
            self.run(now);
        }
    }

    fn advance(&mut self, now: SimTime) {
        self.run(now);
    }

    fn change_faults(&mut self, at: SimTime, faults: &DeviceFaults) {
        self.set_faults(faults);
        if self.off.is_some() {
            self.off = Some(back_at(&self.cuts, before(at)));
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.uart.poll()
    }

    fn nominal_rate_hz(&self) -> f64 {
        let unit = Self::new(&self.profile, &self.settings, self.noise);
        unit.stream.map_or(0.0, |stream| stream.rate_hz(&self.mirror))
    }

    fn line(&self) -> Option<LineSettings> {
        Some(LineSettings::eight_n_one(self.settings.rate.baud()))
    }
}
