//! Hokuyo's scanners with SCIP: UTM-30LX-EW, UTM-30LX, UST-10LX and 20LX, URG-04LX.
//!
//! ```text
//! BOOTING --> STANDBY --BM--> SINGLE --MD--> STREAMING      MD also starts in STANDBY; QT returns to STANDBY
//!                ^  ^---TM0, TM2--> TIME ADJUSTMENT
//!                |  ^---%SL; QT or BM--> SLEEPING --> WAKING
//!                |
//!             VERIFYING --> FAILED      the motor is stalled, or DB simulates that
//! ```
//!
//! `commands.rs` has commands, `stream.rs` streams, `scanning.rs` the selection of scans, `values.rs` their
//! encoding, `turning.rs` the mirror, `failures.rs` failures, and `power.rs` power-off. The scanner serves one host at
//! a time: on a serial line, or over its connection. When the host disconnects, the scanner enters standby.
//!
//! Only scans that will be sent are measured, and only their requested steps.
//!
//! Sources: see [`crate::wire::scip`]; the profile has the facts that they lack.

mod clock;
mod commands;
pub(crate) mod decoder;
mod describe;
mod failures;
mod family;
mod hosts;
mod power;
pub mod profile;
mod profile_texts;
mod scanning;
mod stream;
#[cfg(test)]
mod tests;
mod turning;
mod values;

use std::collections::VecDeque;

use self::clock::Clock;
use self::commands::Answer;
pub use self::family::HokuyoFamily;
use self::hosts::Host;
use self::profile::{HokuyoProfile, HokuyoSettings, HostInterface, SecondHost};
use self::stream::Stream;
use self::turning::Turning;
use self::values::{Scan, Wanted};
use super::{Device, Output, PacketTruth, Transmit};
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::motor_stall::{MotorStall, before};
use crate::power_cycle::{PowerCycle, back_at};
use crate::sensors::fault::FaultEffect;
use crate::sensors::multi_echo::MultiEchoLidar;
use crate::sensors::noise::NoiseSource;
use crate::sensors::optics_fault::LidarFault;
use crate::sensors::{Measurement, MeasurementRequest, Outcome};
use crate::serial::uart::Uart;
use crate::time::SimTime;
use crate::wire::line::LineSettings;
use crate::wire::port::Peer;
use crate::wire::scip::message::Message;
use crate::wire::scip::request::{Name, Request, RequestLine};

/// Size of the output buffer of a serial line, bytes; a scan with intensities has 7 kB.
const LINE_BUFFER: usize = 1 << 15;
/// A measurement that is missing this long after the planned departure of its scan counts as revoked, nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;

/// An emulated Hokuyo scanner.
pub struct Hokuyo {
    profile: HokuyoProfile,
    settings: HokuyoSettings,
    noise: NoiseSource,
    clock: Clock,
    turning: Turning,
    phase: Phase,
    hosts: Vec<Host>,
    /// Transmitter of the serial line; `None` with Ethernet.
    uart: Option<Uart>,
    /// Whether the scanner is connected by USB, where the bit rate is a setting without effect.
    is_usb: bool,

    // Values that commands change.
    bit_rate: u32,
    rpm: u32,
    /// Time at which the motor reaches the speed that was set last.
    unstable_until: SimTime,
    is_sensitive: bool,
    is_scip1: bool,
    simulation: Option<Simulation>,
    reboot_asked: Option<SimTime>,
    reboot_at: Option<SimTime>,
    /// Bit rate that takes effect after the answer to `SS` or `RS`.
    next_bit_rate: Option<u32>,
    stream: Option<Stream>,
    single: Option<Single>,

    next_request: u64,
    /// Unanswered requests for measurements, the oldest first.
    asked: VecDeque<Asked>,
    /// Measured scans that wait for their departure.
    ahead: VecDeque<Scan>,
    now: SimTime,
    /// Time up to which all events are processed.
    done_to: SimTime,
    last_due: SimTime,
    ready: VecDeque<Transmit>,
    optics_faults: Vec<Timed<LidarFault>>,
    stalls: Vec<Timed<MotorStall>>,
    cuts: Vec<Timed<PowerCycle>>,
}

/// State of the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No power until this time; `None`: permanently.
    Off { until: Option<SimTime> },
    /// Starting up after power-on.
    Booting { until: SimTime },
    /// Standby: the motor turns and the laser is off.
    Standby,
    /// The laser is on; single scans are possible.
    Single,
    /// Scans are sent.
    Streaming,
    /// Time adjustment: the host compares clocks.
    TimeAdjustment,
    /// The motor is at rest.
    Sleeping,
    /// The motor is spinning up. `laser`: the laser will be switched on afterwards.
    Waking { until: SimTime, laser: bool },
    /// The scanner pauses to verify an error. `resumes`: it resumes afterwards. `laser`: the laser was on before.
    Verifying { until: SimTime, resumes: bool, laser: bool },
    /// The scanner has failed until this time; `None`: permanently.
    Failed { until: Option<SimTime> },
}

/// A failure that the host simulates by `DB`.
#[derive(Clone, Copy, Debug)]
struct Simulation {
    number: u32,
    /// Whether the failure has occurred.
    has_failed: bool,
}

/// A requested single scan.
#[derive(Clone, Debug)]
struct Single {
    echo: Vec<u8>,
    wanted: Wanted,
    is_asked: bool,
}

/// An unanswered request to measure.
#[derive(Clone, Copy, Debug)]
struct Asked {
    index: u64,
    revolution: u64,
    first_step: u32,
}

/// Kind of the next event. Simultaneous events are processed in this order.
#[derive(Clone, Copy, Debug)]
enum Event {
    PowerCut,
    PhaseOver,
    Held,
    Reboots,
    ScanOver,
    /// The measurement of the oldest request is missing, so the request counts as revoked.
    GivenUp,
    AnswerDue,
}

impl Hokuyo {
    /// A unit that is switched on at or before the start of the run.
    pub fn new(profile: &HokuyoProfile, settings: &HokuyoSettings, noise: NoiseSource) -> Self {
        let is_serial = profile.connection.interface != HostInterface::Ethernet;
        let mut unit = Self {
            noise,
            clock: Clock::new(settings),
            turning: Turning::new(profile.steps, profile.motor.speed_rpm, SimTime::ZERO, 0),
            phase: Phase::Booting { until: SimTime(settings.start_up_ns) },
            hosts: if is_serial { vec![Host::new(None)] } else { Vec::new() },
            uart: is_serial.then(|| Uart::new(settings.bit_rate, LINE_BUFFER)),
            is_usb: false,
            bit_rate: settings.bit_rate,
            rpm: profile.motor.speed_rpm,
            unstable_until: SimTime::ZERO,
            is_sensitive: settings.is_sensitive,
            is_scip1: profile.protocol.starts_in_scip1,
            simulation: None,
            reboot_asked: None,
            reboot_at: None,
            next_bit_rate: None,
            stream: None,
            single: None,
            next_request: 0,
            asked: VecDeque::new(),
            ahead: VecDeque::new(),
            now: SimTime::ZERO,
            done_to: SimTime::ZERO,
            last_due: SimTime::ZERO,
            ready: VecDeque::new(),
            optics_faults: Vec::new(),
            stalls: Vec::new(),
            cuts: Vec::new(),
            profile: profile.clone(),
            settings: settings.clone(),
        };
        if settings.start_up_ns == 0 {
            unit.get_ready(SimTime::ZERO);
        }
        unit
    }

    /// Connects the scanner by USB instead of the serial line: bit rates then have no effect. Call this before the
    /// first input.
    pub fn connect_by_usb(&mut self) {
        self.is_usb = true;
        self.uart = self.uart.take().map(|_| Uart::new(LineSettings::USB.baud, LINE_BUFFER));
    }

    /// Sets the faults inside the unit. Call this before [`Hokuyo::lidar`], which includes the optical faults.
    pub fn set_faults(&mut self, faults: &DeviceFaults) {
        self.optics_faults = faults.kind();
        self.stalls = faults.kind();
        self.cuts = faults.kind();
    }

    /// Lidar model of this unit for the ray tracer: one beam in the mirror's plane.
    pub fn lidar(&self) -> MultiEchoLidar {
        let (beam, noise) = (&self.settings.beam, &self.settings.noise);
        MultiEchoLidar::single_beam(beam, noise, self.noise, &self.optics_faults)
    }

    /// Processes everything due until `until`, in order of time.
    fn run(&mut self, until: SimTime) {
        self.now = self.now.max(until);
        while let Some((at, event)) = self.next_event().filter(|(at, _)| *at <= self.now) {
            let at = at.max(self.done_to);
            self.done_to = at;
            match event {
                Event::PowerCut => self.switch_off(at),
                Event::PhaseOver => self.end_phase(at),
                Event::Held => self.hold(at),
                Event::Reboots => self.boot(at),
                Event::ScanOver => self.give_out_scan(at),
                Event::GivenUp => self.ask_again(),
                Event::AnswerDue => self.answer(at),
            }
        }
        self.done_to = self.now;
    }

    /// Time and kind of the earliest event. Simultaneous events are in the order of [`Event`]; `None` without an event.
    fn next_event(&self) -> Option<(SimTime, Event)> {
        let phase = match self.phase {
            Phase::Booting { until }
            | Phase::Waking { until, .. }
            | Phase::Verifying { until, .. } => Some((until, Event::PhaseOver)),
            Phase::Off { until } | Phase::Failed { until } => {
                until.map(|until| (until, Event::PhaseOver))
            }
            _ => None,
        };
        let cut = self.next_cut().map(|at| (at, Event::PowerCut));
        let held = self.next_hold().map(|at| (at, Event::Held));
        let reboot = self.reboot_at.map(|at| (at, Event::Reboots));
        let scan = self.ahead.front().map(|scan| (self.leaves(scan.revolution), Event::ScanOver));
        let given_up = self
            .asked
            .front()
            .map(|asked| (SimTime(self.leaves(asked.revolution).0 + PATIENCE_NS), Event::GivenUp));
        let hears = match self.phase {
            Phase::Off { .. } => false,
            Phase::Booting { .. } => self.profile.connection.listens_while_booting,
            _ => true,
        };
        let answer = self
            .served()
            .filter(|_| hears)
            .and_then(|place| self.hosts[place].waiting.next_answer());
        let answer = answer.map(|at| (at, Event::AnswerDue));
        [cut, phase, held, reboot, scan, given_up, answer]
            .into_iter()
            .flatten()
            .min_by_key(|(at, _)| *at)
    }

    /// Index of the served host in `hosts`; `None` without a host.
    fn served(&self) -> Option<usize> {
        match self.profile.connection.second_host {
            SecondHost::Waits => (!self.hosts.is_empty()).then_some(0),
            SecondHost::TakesOver => self.hosts.len().checked_sub(1),
        }
    }

    fn is_unstable(&self, at: SimTime) -> bool {
        at < self.unstable_until
    }

    /// Earliest time at which the scan of a revolution can leave.
    fn leaves(&self, revolution: u64) -> SimTime {
        let timing = &self.profile.timing;
        let at = self.turning.ends(revolution).0 + timing.send_delay_ns + self.settings.lag_ns;
        self.clock.next_tick(SimTime(at), timing.send_tick_ns)
    }

    // Phases.

    fn end_phase(&mut self, at: SimTime) {
        match self.phase {
            Phase::Off { .. } => self.boot(at),
            Phase::Booting { .. } => self.get_ready(at),
            Phase::Waking { laser, .. } => {
                self.phase = if laser { Phase::Single } else { Phase::Standby };
            }
            Phase::Verifying { resumes: true, laser, .. } => self.resume(at, laser),
            Phase::Verifying { resumes: false, .. } => self.fail(at, self.let_go(at)),
            _ => self.get_ready(at),
        }
    }

    /// Enters standby, or starts the stream of the setting `power_on_stream`.
    fn get_ready(&mut self, at: SimTime) {
        self.stand_by();
        let Some(command) = self.settings.power_on_stream else { return };
        let (first, last) = (self.profile.steps.first, self.profile.steps.last);
        let line = format!("{}{first:04}{last:04}01000", command.word());
        let bytes = line.as_bytes();
        if let (Ok(request), Some(scan)) = (Request::parse(bytes, true), command.scan()) {
            let wanted = Wanted { format: scan.format, steps: first..=last, cluster: 1 };
            self.stream = Some(Stream::new(&request, wanted, 0, None));
            self.phase = Phase::Streaming;
            self.continue_stream(at);
        }
    }

    /// Switches the laser off and stops measuring.
    fn stand_by(&mut self) {
        self.forget_scans();
        self.phase = Phase::Standby;
    }

    fn forget_scans(&mut self) {
        self.asked.clear();
        self.ahead.clear();
        self.stream = None;
        self.single = None;
    }

    /// Continues the stream with the next revolution.
    fn continue_stream(&mut self, at: SimTime) {
        self.asked.clear();
        self.ahead.clear();
        let line_free = self.uart.as_ref().map_or(SimTime::ZERO, Uart::free_at);
        let at = at.max(self.unstable_until);
        if let Some(stream) = &mut self.stream {
            stream.resume(&self.turning, at, line_free);
        }
        if let Some(single) = &mut self.single {
            single.is_asked = false;
        }
    }

    /// Changes the speed of the motor at `at`.
    fn turn_at(&mut self, at: SimTime, rpm: u32) {
        let until = SimTime(at.0 + self.profile.motor.settle_ns);
        let next = self.turning.first_from(at);
        self.turning = Turning::new(self.profile.steps, rpm, until, next);
        self.rpm = rpm;
        self.unstable_until = until;
        self.continue_stream(at);
    }

    fn boot(&mut self, at: SimTime) {
        self.hang_up(at);
        self.set_bit_rate(at, self.settings.bit_rate);
        self.clock.reset(at);
        let next = self.turning.first_from(at);
        self.rpm = self.profile.motor.speed_rpm;
        self.turning = Turning::new(self.profile.steps, self.rpm, at, next);
        self.unstable_until = SimTime::ZERO;
        self.is_sensitive = self.settings.is_sensitive;
        self.is_scip1 = self.profile.protocol.starts_in_scip1;
        self.simulation = None;
        self.phase = Phase::Booting { until: SimTime(at.0 + self.profile.timing.boot_ns) };
    }

    /// Sets the bit rate at `at`, or as soon as all queued bytes are sent.
    fn set_bit_rate(&mut self, at: SimTime, rate: u32) {
        let is_other = std::mem::replace(&mut self.bit_rate, rate) != rate;
        if let Some(uart) = &mut self.uart
            && is_other
            && !self.is_usb
        {
            uart.change_rate(at, rate);
        }
    }

    // Hosts.

    fn answer(&mut self, at: SimTime) {
        let Some(place) = self.served() else { return };
        let Some(line): Option<RequestLine> = self.hosts[place].waiting.first().cloned() else {
            return;
        };
        let (at, message) = match self.obey(at, &line) {
            Answer::WithScan => return self.hosts[place].waiting.wait_for_scan(),
            Answer::AtTick(message) => {
                (self.clock.next_tick(at, self.profile.timing.clock_tick_ns), message)
            }
            Answer::Message(message) => (at, message),
        };
        let tells_state = line.bytes.starts_with(Name::Ii.word().as_bytes())
            || line.bytes.starts_with(Name::St.word().as_bytes());
        let fault_effects = if tells_state { self.stall_effects(at) } else { Vec::new() };
        self.say(at, 0, &message, fault_effects, PacketTruth::default());
        if let Some(rate) = self.next_bit_rate.take() {
            self.set_bit_rate(at, rate);
        }
        self.answered(at);
    }

    fn answered(&mut self, at: SimTime) {
        let reply_ns = self.profile.timing.reply_ns;
        if let Some(place) = self.served() {
            self.hosts[place].waiting.answered(at, reply_ns);
        }
    }

    /// Sends a message at `at` by the serial line or to the served host. Without a served host, the message has no
    /// recipient.
    fn say(
        &mut self,
        at: SimTime,
        points: u32,
        message: &Message,
        fault_effects: Vec<FaultEffect>,
        truth: PacketTruth,
    ) {
        let bytes = message.to_bytes();
        if let Some(uart) = &mut self.uart {
            uart.send_scan(at, bytes, points, fault_effects, truth);
            return;
        }
        let peer = self.served().and_then(|place| self.hosts[place].peer);
        let output = peer.map_or_else(
            || Output::Bytes(bytes.clone()),
            |peer| Output::BytesTo(peer, bytes.clone()),
        );
        self.push(at, points, output, fault_effects, truth);
    }

    fn push(
        &mut self,
        at: SimTime,
        points: u32,
        output: Output,
        fault_effects: Vec<FaultEffect>,
        truth: PacketTruth,
    ) {
        // Messages leave in order: a scan that is complete late leaves after all earlier messages.
        self.last_due = self.last_due.max(at);
        self.ready.push_back(Transmit {
            points,
            fault_effects,
            truth,
            ..Transmit::new(self.last_due, output)
        });
    }

    /// Resets the state at `at`, because the served host has changed: a host has connected or disconnected.
    fn change_host(&mut self, at: SimTime) {
        match self.phase {
            Phase::Standby | Phase::Single | Phase::Streaming | Phase::TimeAdjustment => {
                self.get_ready(at);
            }
            Phase::Waking { until, .. } => self.phase = Phase::Waking { until, laser: false },
            Phase::Verifying { until, resumes, .. } => {
                self.forget_scans();
                self.phase = Phase::Verifying { until, resumes, laser: false };
            }
            _ => {}
        }
        self.reboot_asked = None;
        let reply_ns = self.profile.timing.reply_ns;
        if let Some(place) = self.served() {
            self.hosts[place].waiting.begin(at, reply_ns);
        }
    }
}

impl Device for Hokuyo {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        let (revolution, steps) = self.next_wanted()?;
        let first_step = *steps.start();
        let request = self.turning.request(self.next_request, revolution, steps, self.receiver());
        if request.start >= horizon {
            return None;
        }
        self.next_request += 1;
        self.asked.push_back(Asked { index: request.index, revolution, first_step });
        let leaves = self.leaves(revolution);
        if let Some(single) = &mut self.single {
            single.is_asked = true;
        } else if let Some(mut stream) = self.stream.take() {
            stream.planned(self.line_ns(&stream), leaves);
            self.stream = Some(stream);
        }
        Some(request)
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let Measurement { request, outcome: Outcome::Echoes(echoes), fault_effects, truth, .. } =
            measurement
        else {
            return;
        };
        while let Some(Asked { index, revolution, first_step }) = self.asked.front().copied() {
            if index > request.index {
                break;
            }
            if index < request.index {
                self.ask_again();
            } else {
                self.asked.pop_front();
                let (echoes, fault_effects) = (echoes.clone(), fault_effects.clone());
                let truth = truth.as_ref().into();
                let scan = Scan { revolution, first_step, echoes, fault_effects, truth };
                self.ahead.push_back(scan);
            }
        }
        self.run(self.now);
    }

    fn handle_input(&mut self, now: SimTime, bytes: &[u8]) {
        self.run(now);
        let (now, reply_ns) = (self.now, self.profile.timing.reply_ns);
        let is_off = matches!(self.phase, Phase::Off { .. });
        if let Some(host) = self.hosts.iter_mut().find(|host| host.peer.is_none() && !is_off) {
            host.hear(now, bytes, reply_ns);
        }
        self.run(now);
    }

    fn handle_peer(&mut self, now: SimTime, peer: Peer, connected: bool) {
        self.run(now);
        let before = self.served().map(|place| self.hosts[place].peer);
        self.hosts.retain(|host| host.peer != Some(peer));
        if connected && matches!(self.phase, Phase::Off { .. }) {
            let none = PacketTruth::default();
            self.push(self.now, 0, Output::Disconnect(peer), Vec::new(), none);
        } else if connected {
            self.hosts.push(Host::new(Some(peer)));
        }
        if self.served().map(|place| self.hosts[place].peer) != before {
            // If no host was served before, nothing is reset: the stream of `power_on_stream` continues for the first
            // host.
            if before.is_some() {
                self.change_host(self.now);
            }
        }
        self.run(self.now);
    }

    fn handle_peer_input(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        self.run(now);
        let (now, reply_ns) = (self.now, self.profile.timing.reply_ns);
        if let Some(host) = self.hosts.iter_mut().find(|host| host.peer == Some(peer)) {
            host.hear(now, bytes, reply_ns);
        }
        self.run(now);
    }

    fn advance(&mut self, now: SimTime) {
        self.run(now);
    }

    fn change_faults(&mut self, at: SimTime, faults: &DeviceFaults) {
        self.set_faults(faults);
        if let Phase::Off { .. } = self.phase {
            self.phase = Phase::Off { until: back_at(&self.cuts, before(at)) };
        }
        self.reconsider_hold(before(at));
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        match &mut self.uart {
            Some(uart) => uart.poll(),
            None => self.ready.pop_front(),
        }
    }

    fn nominal_rate_hz(&self) -> f64 {
        if self.settings.power_on_stream.is_none() {
            return 0.0;
        }
        let mut unit = Self::new(&self.profile, &self.settings, self.noise);
        if self.is_usb {
            unit.connect_by_usb();
        }
        let line_ns = unit.stream.as_ref().map_or(0, |stream| unit.line_ns(stream));
        let turn_ns = 60e9 / f64::from(self.profile.motor.speed_rpm);
        1e9 / (turn_ns * (line_ns as f64 / turn_ns).ceil().max(1.0))
    }

    fn line(&self) -> Option<LineSettings> {
        self.uart.as_ref().map(Uart::line)
    }
}
