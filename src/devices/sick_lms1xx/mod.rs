//! The SICK LMS1xx and LMS5xx: network scanners with the protocol CoLa.
//!
//! ```text
//! STARTING --> MEASURING <--> STOPPED      LMCstopmeas, LMCstartmeas
//!                  ^  ^-----> STANDBY      LMCstandby, LMCstartmeas
//!                  +--------- PREPARING    while the motor starts or changes its speed
//!                                ^------- STALLED    a fault of the rig stalls the motor
//!   OFF --> STARTING         a fault of the rig cuts the power; mSCreboot
//! ```
//!
//! Each host has its own login, dialect and subscription. `commands.rs` has commands, `scans.rs` telegrams
//! with measured values, `scanning.rs` the mirror.
//!
//! Nothing is measured until a host connects, unless the rig sets a power-on stream. From then on, the scanner stores
//! the latest scan for single requests (`sRN LMDscandata`), also while it is stopped or in standby. Subscribers get the
//! scans that begin after their command, or every n-th of them if the output interval is n.
//!
//! Sources: see [`crate::wire::cola`]. The profile contains the facts that these sources lack.

mod clients;
mod commands;
pub(crate) mod decoder;
mod describe;
mod family;
mod power;
pub mod profile;
mod scanning;
mod scans;
mod states;
#[cfg(test)]
mod tests;

pub use self::family::SickLms1xxFamily;
use std::collections::VecDeque;

use self::clients::Client;
use self::commands::{Answer, STORED};
use self::power::Parameters;
use self::scanning::Mirror;
use self::scans::{Clocks, DataConfig, Scan, Telegrams};
use self::states::Outputs;
use super::{Device, Output, PacketTruth, Transmit};
use crate::config::rig::faults::{DeviceFaults, Timed};
use crate::motor_stall::{MotorStall, before};
use crate::power_cycle::{PowerCycle, back_at};
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::multi_echo::MultiEchoLidar;
use crate::sensors::noise::NoiseSource;
use crate::sensors::optics_fault::{LidarFault, dirt_at};
use crate::sensors::{Measurement, MeasurementRequest, Outcome};
use crate::sick_lms1xx::profile::{
    AcceptedDialects, ScanMode, ScannerStatus, SickLms1xxProfile, SickLms1xxSettings,
};
use crate::time::{Epoch, SimTime};
use crate::wire::cola::telegram::Telegram;
use crate::wire::cola::{Dialect, frame};
use crate::wire::port::Peer;

/// An emulated LMS1xx or LMS5xx.
pub struct SickLms1xx {
    profile: SickLms1xxProfile,
    settings: SickLms1xxSettings,
    noise: NoiseSource,
    clocks: Clocks,
    phase: Phase,
    mirror: Mirror,
    clients: Vec<Client>,

    /// Parameters that commands change.
    now: Parameters,
    /// Parameters that survive a power cycle: those at the last mEEwriteall, or those of the rig before the first one.
    saved: Parameters,
    /// Parameters that mSCloadfacdef and mSCloadappdef restore.
    factory: Parameters,
    outputs: Outputs,
    /// Number of restarts in this run, by power cycles and mSCreboot.
    boots: u32,
    /// Whether mSCreboot was called; the scanner reboots after the answer.
    reboots: bool,
    /// Whether a digital output has changed its state; subscribers are notified after the answer to the command.
    outputs_changed: bool,
    /// New subscriptions (host, event) whose first telegram follows after the answer.
    happened: Vec<(usize, usize)>,

    /// Whether the unit currently requests measurements of scans.
    is_measuring: bool,
    next_request: u64,
    next_revolution: u64,
    /// Unanswered measurement requests: index of the request, and revolution.
    asked: VecDeque<(u64, u64)>,
    /// Measured scans whose telegrams are not due yet.
    ahead: VecDeque<Scan>,
    /// The scan that single requests get.
    latest: Option<Scan>,
    /// Number of telegrams with scans since power-on. In a run, they count only while a host is connected or with
    /// `power_on_stream`.
    given_out: u64,
    clock: SimTime,
    last_due: SimTime,
    ready: VecDeque<Transmit>,
    optics_faults: Vec<Timed<LidarFault>>,
    stalls: Vec<Timed<MotorStall>>,
    cuts: Vec<Timed<PowerCycle>>,
    /// Time up to which all events are processed.
    done_to: SimTime,
}

/// State of the motor and the laser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Without power until this time, or permanently.
    Off { until: Option<SimTime> },
    /// Starting; all input is ignored.
    Starting { until: SimTime },
    /// The motor is stopped.
    Stopped,
    /// Standby: the motor turns and the laser is off.
    Standby,
    /// The motor is spinning up or changes its speed.
    Preparing { until: SimTime },
    /// Scans are measured.
    Measuring,
    /// A fault stalls the motor until this time, or permanently. The motor then restarts, or returns to standby if `standby`
    /// is set.
    Stalled { until: Option<SimTime>, standby: bool },
}

/// Events that [`SickLms1xx::run`] processes in order of time.
#[derive(Clone, Copy, Debug)]
enum Event {
    PowerCut,
    PhaseOver,
    Held,
    ScanOver,
    AnswerDue { client: usize },
}

impl SickLms1xx {
    /// A unit that is switched on at or before the start of the run.
    pub fn new(
        profile: &SickLms1xxProfile,
        settings: &SickLms1xxSettings,
        noise: NoiseSource,
        epoch: Epoch,
    ) -> Self {
        let is_running = settings.start_up_ns == 0;
        let uptime_ns = if is_running { settings.uptime_ns } else { 0 };
        let mode = settings.mode;
        let turned = u128::from(uptime_ns) * u128::from(mode.frequency_centihz) / 100_000_000_000;
        let phase = if is_running {
            Phase::Measuring
        } else {
            Phase::Starting { until: SimTime(settings.start_up_ns) }
        };
        let parameters = Parameters {
            mode,
            output_range: settings.output_range,
            data: DataConfig::new(settings),
            echo_filter: settings.echo_filter,
            host_dialect: settings.host_dialect,
            location_name: settings.location_name.clone().into_bytes(),
            passwords: profile.protocol.passwords(),
            stored: STORED.iter().map(|(name, values)| (*name, values.to_vec())).collect(),
        };
        let on_since = SimTime::ZERO;
        Self {
            noise,
            clocks: Clocks { uptime_ns, clock: settings.clock, epoch, on_since, set: None },
            phase,
            mirror: Mirror::new(
                profile,
                settings.lag_ns,
                mode,
                SimTime(settings.start_up_ns),
                turned as u64,
            ),
            clients: Vec::new(),
            now: parameters.clone(),
            saved: parameters.clone(),
            factory: parameters,
            outputs: Outputs::new(&profile.protocol, SimTime(settings.start_up_ns)),
            boots: 0,
            reboots: false,
            outputs_changed: false,
            happened: Vec::new(),
            is_measuring: false,
            next_request: 0,
            next_revolution: 0,
            asked: VecDeque::new(),
            ahead: VecDeque::new(),
            latest: None,
            given_out: turned as u64 / u64::from(settings.output_interval),
            clock: SimTime::ZERO,
            last_due: SimTime::ZERO,
            ready: VecDeque::new(),
            optics_faults: Vec::new(),
            stalls: Vec::new(),
            cuts: Vec::new(),
            done_to: SimTime::ZERO,
            profile: profile.clone(),
            settings: settings.clone(),
        }
    }

    /// Sets the faults inside the unit. Call this before [`Self::lidar`], which includes the optical faults.
    pub fn set_faults(&mut self, faults: &DeviceFaults) {
        self.optics_faults = faults.kind();
        self.stalls = faults.kind();
        self.cuts = faults.kind();
    }

    /// Status that the scanner reports at `at`: the rig's setting; if that is `Ok`, the pollution of the window.
    fn condition(&self, at: SimTime) -> ScannerStatus {
        match (self.settings.status, dirt_at(&self.optics_faults, at)) {
            (ScannerStatus::Ok, Some(0.0)) => ScannerStatus::PollutionError,
            (ScannerStatus::Ok, Some(_)) => ScannerStatus::PollutionWarning,
            (status, _) => status,
        }
    }

    /// Lidar model of this unit: one beam, which the mirror turns in the scan plane.
    pub fn lidar(&self) -> MultiEchoLidar {
        let (beam, noise) = (&self.settings.beam, &self.settings.noise);
        MultiEchoLidar::single_beam(beam, noise, self.noise, &self.optics_faults)
    }

    /// Processes everything due until `until`, in order of time.
    fn run(&mut self, until: SimTime) {
        self.clock = self.clock.max(until);
        while let Some((at, event)) = self.next_event().filter(|(at, _)| *at <= self.clock) {
            self.done_to = self.done_to.max(at);
            match event {
                Event::PowerCut => self.switch_off(at),
                Event::PhaseOver => self.end_phase(at),
                Event::Held => self.hold(at),
                Event::ScanOver => self.give_out_scan(at),
                Event::AnswerDue { client } => self.answer(at, client),
            }
        }
        self.done_to = self.clock;
        self.start_or_stop_asking();
    }

    /// Start of the next stall, or the present time if a stall is active. `None` if none follows or the motor does not turn.
    fn next_hold(&self) -> Option<SimTime> {
        if !matches!(self.phase, Phase::Standby | Phase::Preparing { .. } | Phase::Measuring) {
            return None;
        }
        let from = self.done_to;
        let next = |stall: &Timed<MotorStall>| match stall.is_on(from) {
            true => Some(from),
            false => stall.schedule.next_opening(from),
        };
        self.stalls.iter().filter_map(next).min()
    }

    /// Latest end of the faults that stall the motor at `at`; `None` if one of them never ends or none is active.
    fn let_go(&self, at: SimTime) -> Option<SimTime> {
        let on = self
            .stalls
            .iter()
            .filter_map(|stall| Some(stall.schedule.window(stall.schedule.window_at(at)?).1));
        on.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten()
    }

    fn hold(&mut self, at: SimTime) {
        let until = self.let_go(at);
        self.enter(at, Phase::Stalled { until, standby: self.phase == Phase::Standby });
    }

    /// Effects of the faults that stall the motor at `at`; empty unless the motor is stalled. They mark answers that
    /// report the stall.
    fn stall_touches(&self, at: SimTime) -> Vec<FaultEffect> {
        if !matches!(self.phase, Phase::Stalled { .. }) {
            return Vec::new();
        }
        let effect = |stall: &Timed<MotorStall>| {
            let window = stall.schedule.window_at(at)?;
            Some(FaultEffect { fault: stall.fault, window, kind: EffectKind::Stalled { rpm: 0 } })
        };
        self.stalls.iter().filter_map(effect).collect()
    }

    /// The earliest event; at equal times, changes of state precede scans, and scans precede answers.
    fn next_event(&self) -> Option<(SimTime, Event)> {
        let phase = match self.phase {
            Phase::Starting { until } | Phase::Preparing { until } => {
                Some((until, Event::PhaseOver))
            }
            Phase::Off { until } | Phase::Stalled { until, .. } => {
                until.map(|until| (until, Event::PhaseOver))
            }
            Phase::Stopped | Phase::Standby | Phase::Measuring => None,
        };
        let cut = self.next_cut().map(|at| (at, Event::PowerCut));
        let held = self.next_hold().map(|at| (at, Event::Held));
        let scan =
            self.ahead.front().map(|scan| (scan.mirror.transmission(scan.number), Event::ScanOver));
        let answers = self.clients.iter().enumerate();
        let answers = answers.filter_map(|(client, host)| {
            Some((host.waiting.next_answer()?, Event::AnswerDue { client }))
        });
        [cut, phase, held, scan].into_iter().flatten().chain(answers).min_by_key(|(at, _)| *at)
    }

    fn end_phase(&mut self, at: SimTime) {
        match self.phase {
            Phase::Off { .. } => self.boot(at),
            Phase::Stalled { standby: true, .. } => self.enter(at, Phase::Standby),
            Phase::Stalled { standby: false, .. } => {
                let until = SimTime(at.0 + self.profile.motor.start_ns);
                self.enter(at, Phase::Preparing { until });
            }
            _ => self.begin_measuring(at),
        }
    }

    fn begin_measuring(&mut self, at: SimTime) {
        self.phase = Phase::Measuring;
        self.mirror = self.mirror_from(at, self.mirror.first_from(at));
    }

    /// Creates a mirror in the present scan mode that passes the zero index of revolution `first` at `since`.
    fn mirror_from(&self, since: SimTime, first: u64) -> Mirror {
        Mirror::new(&self.profile, self.settings.lag_ns, self.now.mode, since, first)
    }

    /// Enters a state without scans. Revolutions are not counted until the scanner measures again, in the present scan
    /// mode.
    fn enter(&mut self, now: SimTime, phase: Phase) {
        self.phase = phase;
        // The time of the next revolution is not known yet.
        self.mirror = self.mirror_from(SimTime(u64::MAX), self.mirror.first_from(now));
        if !matches!(phase, Phase::Stopped | Phase::Standby) {
            self.latest = None;
        }
        self.begin_anew();
        for client in &mut self.clients {
            client.waiting.wake(now);
        }
    }

    fn start_measuring(&mut self, now: SimTime) {
        let delay_ns = match self.phase {
            Phase::Off { .. }
            | Phase::Starting { .. }
            | Phase::Preparing { .. }
            | Phase::Measuring => return,
            Phase::Stalled { until, .. } => {
                self.phase = Phase::Stalled { until, standby: false };
                return;
            }
            Phase::Stopped => self.profile.motor.start_ns,
            Phase::Standby => self.profile.motor.leave_standby_ns,
        };
        self.enter(now, Phase::Preparing { until: SimTime(now.0 + delay_ns) });
    }

    fn change_mode(&mut self, now: SimTime, mode: ScanMode) {
        if mode == self.now.mode {
            return;
        }
        self.now.mode = mode;
        let phase = match self.phase {
            Phase::Measuring | Phase::Preparing { .. } => {
                Phase::Preparing { until: SimTime(now.0 + self.profile.motor.settle_ns) }
            }
            other => other,
        };
        self.enter(now, phase);
    }

    /// Drops all pending measurements; new requests start with the next revolution.
    fn begin_anew(&mut self) {
        self.asked.clear();
        self.ahead.clear();
        self.is_measuring = false;
    }

    fn start_or_stop_asking(&mut self) {
        let is_heard = !self.clients.is_empty() || self.settings.power_on_stream.is_some();
        let wants = is_heard && self.phase == Phase::Measuring;
        if wants && !self.is_measuring {
            self.next_revolution = self.mirror.first_from(self.clock);
        } else if !wants && self.is_measuring {
            self.begin_anew();
            self.latest = None;
        }
        self.is_measuring = wants;
    }

    fn telegrams(&self, scan: &Scan) -> Telegrams<'_> {
        Telegrams {
            profile: &self.profile,
            settings: &self.settings,
            status: self.condition(scan.mirror.zero(scan.number)),
            config: self.now.data,
            echo_filter: self.now.echo_filter,
            location_name: &self.now.location_name,
            clocks: self.clocks,
            digital_outputs: self.outputs.bits,
        }
    }

    /// Sends the oldest complete scan to subscribers and to hosts that wait for a scan.
    fn give_out_scan(&mut self, at: SimTime) {
        let Some(mut scan) = self.ahead.pop_front() else { return };
        scan.telegram = self.given_out;
        if self.now.data.wants(scan.number) {
            self.given_out += 1;
            let (data, points) = self.telegrams(&scan).scan_data(&scan, true);
            for dialect in [Dialect::A, Dialect::B] {
                let wants = |client: &&Client| {
                    client.stream == Some(dialect) && client.stream_from <= scan.number
                };
                let peers: Vec<Peer> =
                    self.clients.iter().filter(wants).map(|client| client.peer).collect();
                let to_nobody =
                    self.clients.is_empty() && self.settings.power_on_stream == Some(dialect);
                if peers.is_empty() && !to_nobody {
                    continue;
                }
                let bytes = frame::emit(dialect, &data.emit(dialect));
                for peer in peers {
                    self.send(
                        at,
                        points,
                        Output::BytesTo(peer, bytes.clone()),
                        &scan.fault_effects,
                        &scan.truth,
                    );
                }
                if to_nobody {
                    let output = Output::Bytes(bytes);
                    self.send(at, points, output, &scan.fault_effects, &scan.truth);
                }
            }
        }
        self.latest = Some(scan);
        for client in &mut self.clients {
            client.waiting.wake(at);
        }
    }

    fn answer(&mut self, at: SimTime, client: usize) {
        let Some(command) = self.clients[client].waiting.first() else { return };
        let dialect = command.dialect;
        let telegram = Telegram::parse(dialect, &command.content);
        let tells_state = telegram.as_ref().is_ok_and(|asked| {
            matches!(asked.name.as_str(), "SCdevicestate" | "STlms" | "LMDscandata")
        });
        let mut fault_effects = if tells_state { self.stall_touches(at) } else { Vec::new() };
        let mut truth = PacketTruth::default();
        let (content, points) = match self.obey(at, client, dialect, telegram) {
            Answer::Telegram(telegram) => (telegram.emit(dialect), 0),
            Answer::NextScan => return self.clients[client].waiting.wait_for_scan(),
            Answer::Scan => {
                let Some(scan) = &self.latest else { return };
                let (data, points) = self.telegrams(scan).scan_data(scan, false);
                fault_effects.clone_from(&scan.fault_effects);
                truth.clone_from(&scan.truth);
                (data.emit(dialect), points)
            }
        };
        let peer = self.clients[client].peer;
        let reply_ns = self.profile.protocol.reply_ns;
        self.clients[client].waiting.answered(at, reply_ns);
        let output = Output::BytesTo(peer, frame::emit(dialect, &content));
        self.send(at, points, output, &fault_effects, &truth);
        for (client, event) in std::mem::take(&mut self.happened) {
            self.tell_event(at, event, Some(client));
        }
        if std::mem::take(&mut self.outputs_changed) {
            self.tell_event(at, 1, None);
        }
        if std::mem::take(&mut self.reboots) {
            self.boot(at);
        }
    }

    fn send(
        &mut self,
        at: SimTime,
        points: u32,
        output: Output,
        fault_effects: &[FaultEffect],
        truth: &PacketTruth,
    ) {
        // Output never overtakes earlier output, even if a scan is late.
        self.last_due = self.last_due.max(at);
        self.ready.push_back(Transmit {
            points,
            fault_effects: fault_effects.to_vec(),
            truth: truth.clone(),
            ..Transmit::new(self.last_due, output)
        });
    }
}

impl Device for SickLms1xx {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        self.start_or_stop_asking();
        if !self.is_measuring {
            return None;
        }
        let directions = self.mirror.directions(self.now.output_range);
        let number = self.next_revolution;
        let request = self.mirror.request(self.next_request, number, directions);
        (request.start < horizon).then(|| {
            self.asked.push_back((request.index, number));
            self.next_request += 1;
            self.next_revolution += 1;
            request
        })
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        let Measurement { request, outcome: Outcome::Echoes(echoes), fault_effects, truth, .. } =
            measurement
        else {
            return;
        };
        while let Some((index, number)) = self.asked.front().copied() {
            if index > request.index {
                break;
            }
            self.asked.pop_front();
            if index == request.index {
                self.ahead.push_back(Scan {
                    number,
                    // Known when the telegram leaves.
                    telegram: 0,
                    mirror: self.mirror.clone(),
                    first_direction: self.mirror.directions(self.now.output_range).start,
                    echoes: echoes.clone(),
                    fault_effects: fault_effects.clone(),
                    truth: truth.as_ref().into(),
                });
            }
        }
        self.run(self.clock);
    }

    fn handle_peer(&mut self, now: SimTime, peer: Peer, connected: bool) {
        self.run(now);
        self.clients.retain(|client| client.peer != peer);
        if connected && matches!(self.phase, Phase::Off { .. }) {
            let at = self.clock;
            self.send(at, 0, Output::Disconnect(peer), &[], &PacketTruth::default());
        } else if connected {
            let only = (self.settings.accepted_dialects == AcceptedDialects::Configured)
                .then_some(self.now.host_dialect);
            self.clients.push(Client::new(peer, only, self.settings.power_on_stream));
        }
        self.start_or_stop_asking();
    }

    fn handle_peer_input(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        self.run(now);
        if matches!(self.phase, Phase::Starting { .. }) {
            return;
        }
        let (now, reply_ns) = (self.clock, self.profile.protocol.reply_ns);
        if let Some(client) = self.clients.iter_mut().find(|client| client.peer == peer) {
            client.hear(now, bytes, reply_ns);
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
        if let Phase::Stalled { standby, .. } = self.phase {
            let until = self.let_go(before(at));
            self.phase = Phase::Stalled { until, standby };
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.ready.pop_front()
    }

    fn nominal_rate_hz(&self) -> f64 {
        if self.settings.power_on_stream.is_none() {
            return 0.0;
        }
        let scans_hz = f64::from(self.settings.mode.frequency_centihz) / 100.0;
        scans_hz / f64::from(self.settings.output_interval)
    }
}
