//! Commands: their effects and answers.

use super::profile::{AnotherStream, Code, StateTexts};
use super::profile_texts::MODES;
use super::stream::Stream;
use super::values::Wanted;
use super::{Hokuyo, Phase, Simulation, Single};
use crate::time::SimTime;
use crate::wire::scip::coding::encode;
use crate::wire::scip::message::{Line, Message, Status};
use crate::wire::scip::request::{Name, Request, RequestError, RequestLine, ScanCommand};

/// Status of a successful command.
pub(super) const DONE: Code = *b"00";
/// A reboot needs two `RB` commands within this time, nanoseconds.
const REBOOT_WITHIN_NS: u64 = 1_000_000_000;
/// Parameter of `CR` for the slowest speed.
const SLOWEST: u32 = 10;
/// Parameter of `CR` that restores the fastest speed.
const FASTEST_AGAIN: u32 = 99;
/// Parameters of `DB` that simulate a failure immediately: 1 simulates a failure under SCIP 1.1, 2 one under SCIP 2.0.
const SIMULATED_AT_ONCE: [u32; 2] = [1, 2];
/// Largest parameter of `DB` that simulates a failure. The parameters from 3 on simulate it during a stream.
const LAST_SIMULATED: u32 = 5;
/// Parameter of `DB` that ends the simulation.
const SIMULATION_ENDS: u32 = 10;

/// Kind of answer to a command.
pub(super) enum Answer {
    /// A message, sent at once.
    Message(Message),
    /// A message, sent at the next tick of the unit's clock.
    AtTick(Message),
    /// The answer contains a scan and follows after the measurement of that scan.
    WithScan,
}

impl Hokuyo {
    /// Executes a command line.
    pub(super) fn obey(&mut self, at: SimTime, line: &RequestLine) -> Answer {
        let bytes = &line.bytes;
        if self.is_scip1 {
            let is_change = bytes == Name::Scip2.word().as_bytes();
            self.is_scip1 &= !is_change;
            let status = Status::Scip1(if is_change { b'0' } else { b'E' });
            return Answer::Message(Message { echo: bytes.clone(), status, lines: Vec::new() });
        }
        let statuses = &self.profile.statuses;
        let status = |code: Code| Answer::Message(Message::status(bytes, code));
        if line.is_too_long {
            return status(statuses.buffer);
        }
        let request = match Request::parse(bytes, self.profile.protocol.needs_semicolon) {
            Ok(request) => request,
            Err(error) => {
                return status(match error {
                    RequestError::Unknown => statuses.unknown,
                    RequestError::TooShort => statuses.too_short,
                    RequestError::TooLong => statuses.too_long,
                    RequestError::LongText => statuses.long_text,
                    RequestError::BadCharacter => statuses.bad_character,
                });
            }
        };
        if !self.profile.protocol.commands.contains(&request.name) {
            return status(match request.name {
                Name::Ss => statuses.no_bit_rate,
                Name::Cr => statuses.no_motor_speed,
                Name::Hs => statuses.no_sensitivity,
                Name::Db => statuses.no_simulation,
                _ => statuses.not_supported,
            });
        }
        if let Some(scan) = request.name.scan() {
            return self.scans(at, bytes, &request, scan);
        }
        let code = match request.name {
            Name::Vv | Name::Pp | Name::Ii | Name::St => return self.tell(at, bytes, request.name),
            Name::Tm => return self.time(at, bytes, &request),
            Name::Bm => self.laser_on(at),
            Name::Qt => self.quit(at),
            Name::Ss => self.change_bit_rate(&request),
            Name::Cr => self.change_speed(at, &request),
            Name::Hs => self.change_sensitivity(&request),
            Name::Db => self.simulate(at, &request),
            Name::Rs => self.reset(at, true),
            Name::Rt => self.reset(at, false),
            Name::Rb => self.reboot(at),
            Name::Sl => self.sleep(at),
            Name::Scip2 => statuses.scip2_again,
            _ => statuses.not_supported,
        };
        Answer::Message(Message::status(bytes, code))
    }

    /// Status code of the answer to a command that the present state does not allow.
    fn refusal(&self) -> Code {
        match self.phase {
            Phase::Failed { .. } => self.profile.statuses.failed,
            Phase::Verifying { .. } => self.profile.statuses.unstable,
            _ => self.profile.statuses.denied,
        }
    }

    fn laser_on(&mut self, at: SimTime) -> Code {
        match self.phase {
            Phase::Standby if self.is_unstable(at) => *b"01",
            Phase::Verifying { .. } => *b"01",
            Phase::Standby => {
                self.phase = Phase::Single;
                DONE
            }
            Phase::Sleeping => {
                let until = SimTime(at.0 + self.profile.timing.wake_ns);
                self.phase = Phase::Waking { until, laser: true };
                DONE
            }
            Phase::Single | Phase::Streaming => *b"02",
            _ => self.refusal(),
        }
    }

    fn quit(&mut self, at: SimTime) -> Code {
        match self.phase {
            Phase::Single | Phase::Streaming => self.stand_by(),
            Phase::Sleeping => {
                let until = SimTime(at.0 + self.profile.timing.wake_ns);
                self.phase = Phase::Waking { until, laser: false };
            }
            Phase::Waking { until, .. } => self.phase = Phase::Waking { until, laser: false },
            Phase::Verifying { until, resumes, .. } => {
                self.forget_scans();
                self.phase = Phase::Verifying { until, resumes, laser: false };
            }
            Phase::TimeAdjustment => {
                let code = self.profile.statuses.quit_in_time_adjustment;
                if code == DONE {
                    self.stand_by();
                }
                return code;
            }
            Phase::Off { .. } | Phase::Booting { .. } | Phase::Standby | Phase::Failed { .. } => {}
        }
        DONE
    }

    fn sleep(&mut self, _: SimTime) -> Code {
        match self.phase {
            Phase::Standby | Phase::Single | Phase::Streaming => {
                self.stand_by();
                self.phase = Phase::Sleeping;
                DONE
            }
            _ => self.refusal(),
        }
    }

    fn change_bit_rate(&mut self, request: &Request<'_>) -> Code {
        let (Some(_), Ok([rate])) = (&self.uart, request.numbers()) else { return *b"01" };
        if !self.profile.connection.bit_rates.contains(&rate) {
            return *b"02";
        }
        if self.bit_rate == rate {
            return *b"03";
        }
        self.next_bit_rate = Some(rate);
        DONE
    }

    fn change_speed(&mut self, at: SimTime, request: &Request<'_>) -> Code {
        let Ok([slower]) = request.numbers() else { return *b"01" };
        let motor = self.profile.motor;
        let slower = match slower {
            FASTEST_AGAIN => 0,
            slower if slower <= SLOWEST => slower,
            _ => return *b"02",
        };
        let rpm = motor.speed_rpm - slower * motor.speed_step_rpm;
        if rpm == self.rpm {
            return *b"03";
        }
        self.turn_at(at, rpm);
        DONE
    }

    fn change_sensitivity(&mut self, request: &Request<'_>) -> Code {
        match request.numbers() {
            Ok([mode @ (0 | 1)]) if self.is_sensitive == (mode == 1) => *b"02",
            Ok([mode @ (0 | 1)]) => {
                self.is_sensitive = mode == 1;
                DONE
            }
            _ => *b"01",
        }
    }

    fn simulate(&mut self, at: SimTime, request: &Request<'_>) -> Code {
        let Ok([number]) = request.numbers() else { return *b"01" };
        let is_failed = matches!(self.phase, Phase::Failed { .. });
        match (number, &self.simulation) {
            (SIMULATION_ENDS, None) => *b"03",
            (SIMULATION_ENDS, Some(simulation)) => {
                let has_failed = simulation.has_failed;
                self.simulation = None;
                if is_failed && has_failed {
                    self.stand_by();
                }
                DONE
            }
            (1..=LAST_SIMULATED, None) if is_failed => *b"05",
            (1..=LAST_SIMULATED, Some(_)) => *b"02",
            (1..=LAST_SIMULATED, None) => {
                self.simulation = Some(Simulation { number, has_failed: false });
                if SIMULATED_AT_ONCE.contains(&number) {
                    self.fail(at, None);
                }
                DONE
            }
            _ => *b"01",
        }
    }

    /// Executes `RS` (`is_whole`) or `RT`: restores the settings of power-on, but `RT` keeps motor speed and bit rate.
    /// Returns the status.
    fn reset(&mut self, at: SimTime, is_whole: bool) -> Code {
        match self.phase {
            Phase::Failed { .. } | Phase::Verifying { .. } | Phase::Booting { .. } => {
                return self.refusal();
            }
            _ => {}
        }
        self.stand_by();
        self.clock.reset(at);
        self.is_sensitive = self.settings.is_sensitive;
        if is_whole {
            if self.rpm != self.profile.motor.speed_rpm {
                self.turn_at(at, self.profile.motor.speed_rpm);
            }
            self.next_bit_rate = Some(self.settings.bit_rate);
        }
        DONE
    }

    fn reboot(&mut self, at: SimTime) -> Code {
        let is_second =
            self.reboot_asked.is_some_and(|asked| at.0.saturating_sub(asked.0) <= REBOOT_WITHIN_NS);
        if !is_second {
            self.reboot_asked = Some(at);
            return *b"01";
        }
        self.reboot_asked = None;
        self.reboot_at = Some(SimTime(at.0 + self.profile.timing.reboot_after_ns));
        DONE
    }

    fn time(&mut self, at: SimTime, line: &[u8], request: &Request<'_>) -> Answer {
        let status = |code: Code| Answer::Message(Message::status(line, code));
        let is_adjusting = self.phase == Phase::TimeAdjustment;
        match request.numbers() {
            Ok([0]) if is_adjusting => status(*b"02"),
            Ok([0]) => {
                let can = match self.phase {
                    Phase::Standby | Phase::Single => true,
                    Phase::Streaming => self.profile.protocol.time_ends_stream,
                    _ => false,
                };
                if !can {
                    return status(self.refusal());
                }
                self.stand_by();
                self.phase = Phase::TimeAdjustment;
                status(DONE)
            }
            Ok([1]) if is_adjusting || self.profile.protocol.time_anywhere => {
                let tick_ns = self.profile.timing.clock_tick_ns;
                // Without a clock tick, the answer contains the clock reading at the arrival of the request. With one,
                // the answer leaves at the next tick and contains the reading at that time.
                let read_at = match tick_ns {
                    0 => SimTime(at.0.saturating_sub(self.profile.timing.reply_ns)),
                    _ => self.clock.next_tick(at, tick_ns),
                };
                let mut time = Vec::new();
                encode(self.clock.ms(read_at), 4, &mut time);
                let lines = vec![Line::Data(time)];
                Answer::AtTick(Message { echo: line.to_vec(), status: Status::Code(DONE), lines })
            }
            Ok([1]) => status(*b"04"),
            Ok([2]) if is_adjusting => {
                self.stand_by();
                status(DONE)
            }
            Ok([2]) => status(*b"03"),
            _ => status(*b"01"),
        }
    }

    /// Makes the answer to `VV`, `PP`, `II` or `%ST` (`name`).
    fn tell(&self, at: SimTime, line: &[u8], name: Name) -> Answer {
        if name == Name::Pp && self.phase == Phase::TimeAdjustment {
            return Answer::Message(Message::status(line, self.profile.statuses.denied));
        }
        let identity = &self.profile.identity;
        let infos =
            |lines: Vec<String>| lines.into_iter().map(|line| Line::Info(line.into())).collect();
        let lines: Vec<Line> = match name {
            Name::Vv => infos(vec![
                format!("VEND:{}", identity.vendor),
                format!("PROD:{}", identity.product),
                format!("FIRM:{}", identity.firmware),
                format!("PROT:{}", identity.protocol),
                format!("SERI:{}", self.settings.serial_number),
            ]),
            Name::Pp => {
                let (steps, distances) = (&self.profile.steps, &self.profile.distances);
                infos(vec![
                    format!("MODL:{}", identity.model),
                    format!("DMIN:{}", distances.min_mm),
                    format!("DMAX:{}", distances.max_mm),
                    format!("ARES:{}", steps.per_turn),
                    format!("AMIN:{}", steps.first),
                    format!("AMAX:{}", steps.last),
                    format!("AFRT:{}", steps.front),
                    format!("SCAN:{}", self.profile.motor.speed_rpm),
                ])
            }
            Name::Ii => {
                let lines = &self.profile.state.lines;
                infos(lines.iter().map(|line| self.state_line(at, line)).collect())
            }
            _ => vec![Line::Data(format!("{:03}", self.state_number(at)).into())],
        };
        Answer::Message(Message { echo: line.to_vec(), status: Status::Code(DONE), lines })
    }

    /// Number of the scanner's state in the answer to `%ST`.
    fn state_number(&self, at: SimTime) -> u32 {
        let number = match self.phase {
            Phase::Standby => 0,
            Phase::Off { .. } | Phase::Booting { .. } => 1,
            Phase::TimeAdjustment => 2,
            Phase::Single => 3,
            Phase::Streaming => 4,
            Phase::Sleeping => 5,
            Phase::Waking { .. } => 6,
            Phase::Verifying { laser, .. } => match (self.stream.is_some(), laser) {
                (true, _) => 104,
                (false, true) => 103,
                (false, false) => 100,
            },
            Phase::Failed { .. } => 900,
        };
        if number < 5 && number != 1 && self.is_unstable(at) { 100 + number } else { number }
    }

    /// A line of `II` with its placeholders replaced.
    fn state_line(&self, at: SimTime, line: &str) -> String {
        let StateTexts { modes, well, unstable, failed, .. } = &self.profile.state;
        let is_failed = matches!(self.phase, Phase::Failed { .. });
        let is_verifying = matches!(self.phase, Phase::Verifying { .. });
        let mode = match self.phase {
            Phase::Off { .. } | Phase::Booting { .. } => 0,
            Phase::Standby => 1,
            Phase::TimeAdjustment => 2,
            Phase::Single => 3,
            Phase::Streaming => 4,
            Phase::Sleeping => 5,
            Phase::Waking { .. } => 6,
            Phase::Verifying { laser, .. } => match (self.stream.is_some(), laser) {
                (true, _) => 4,
                (false, true) => 3,
                (false, false) => 1,
            },
            Phase::Failed { .. } => MODES.len() - 1,
        };
        let status = match () {
            () if is_failed => failed,
            () if is_verifying || self.is_unstable(at) => unstable,
            () => well,
        };
        let is_lit = matches!(self.phase, Phase::Single | Phase::Streaming);
        let mut time = Vec::new();
        encode(self.clock.ms(at), 4, &mut time);
        let sensitivity = if self.is_sensitive { "Sensitive" } else { "Normal" };
        // The time code can contain any characters, so it is replaced last.
        line.replace("{model}", &self.profile.identity.model)
            .replace("{laser}", if is_lit { "ON" } else { "OFF" })
            .replace("{speed}", &self.rpm.to_string())
            .replace("{mode}", &modes[mode])
            .replace("{sensitivity}", sensitivity)
            .replace("{bit_rate}", &self.bit_rate.to_string())
            .replace("{status}", status)
            .replace("{time_hex}", &format!("{:06X}", self.clock.ms(at)))
            .replace("{time}", &String::from_utf8_lossy(&time))
    }

    /// Executes a scan command: starts a stream, or requests a single scan.
    fn scans(
        &mut self,
        at: SimTime,
        line: &[u8],
        request: &Request<'_>,
        scan: ScanCommand,
    ) -> Answer {
        let status = |code: Code| Answer::Message(Message::status(line, code));
        let codes = self.profile.statuses.scan;
        let numbers = if scan.is_stream {
            request.numbers::<5>()
        } else {
            request.numbers::<3>().map(|[first, last, cluster]| [first, last, cluster, 0, 1])
        };
        let [first, last, cluster, skip, count] = match numbers {
            Ok(numbers) => numbers,
            Err(place) => return status(codes[[0, 1, 2, 5, 6][place.min(4)]]),
        };
        if last > self.profile.steps.last_accepted {
            return status(codes[3]);
        }
        if last < first {
            return status(codes[4]);
        }
        let wanted = Wanted { format: scan.format, steps: first..=last, cluster: cluster.max(1) };
        if !scan.is_stream {
            if self.phase != Phase::Single {
                return status(self.refusal());
            }
            self.single = Some(Single { echo: line.to_vec(), wanted, is_asked: false });
            return Answer::WithScan;
        }
        let may = match (&self.phase, &self.stream) {
            (Phase::Standby | Phase::Single, _) => true,
            (Phase::Streaming, Some(stream)) => {
                self.profile.protocol.another_stream == AnotherStream::Replaces
                    || stream.command() == request.name
            }
            _ => false,
        };
        if !may {
            return status(self.refusal());
        }
        self.forget_scans();
        self.phase = Phase::Streaming;
        let count = (count > 0).then_some(count);
        self.stream = Some(Stream::new(request, wanted, skip, count));
        self.continue_stream(at);
        status(DONE)
    }
}
