//! A Kangaroo x2 with its Sabertooth, with packets and text on the same line.
//!
//! Only queries are answered. A channel accepts moves after its start. A cut of the motor power during a move and a
//! serial timeout set an error; answers report it until the next start clears it. Homing sets the present position to
//! zero, as without a limit switch. Tuning commands (3 to 8 of command 25) are accepted without effect.
//!
//! | file | holds |
//! |---|---|
//! | `channel` | commands and state of a channel |
//! | `text` | lines of text |

mod channel;
mod decoder;
mod profile;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use self::channel::{Channel, Goal, error};
use self::profile::{Channels, KangarooSettings};
use self::text::Order;
use crate::drive_base::faults::FAULTS;
use crate::drive_base::{BaseFamily, Protocol, Unit};
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::kangaroo::{
    Item, Kangaroo, Packet, REPLY, command, flag, put_number, take_byte, take_number,
};

/// Family of Dimension Engineering's Kangaroo x2, with packets and text.
pub const FAMILY: BaseFamily = BaseFamily {
    key: "kangaroo",
    dialect: || Arc::new(KangarooSettings::default()),
    faults: &FAULTS,
    commands: &[
        ("Kangaroo packets", include_str!("packets.csv")),
        ("Kangaroo text", include_str!("text.csv")),
    ],
    decoder: decoder::decoder,
};

/// Names of channels: `1` and `2` are independent channels; `D` (drive) and `T` (turn) are mixed ones.
const NAMES: [u8; 4] = *b"12DT";
/// Baud rates, indexed by the value in the baud command.
const BAUD_RATES: [u32; 4] = [9600, 19_200, 38_400, 115_200];
/// Period of speed updates towards a position, nanoseconds.
const STEP_NS: u64 = 10_000_000;
/// Counts per line of an encoder.
const COUNTS_PER_LINE: f64 = 4.0;
/// Largest number in a packet.
const LARGEST: f64 = ((1 << 29) - 1) as f64;

/// Types of values in get and move commands. With [`INCREMENT`] added, the value is relative to the set point.
pub(super) mod what {
    pub const POSITION: u8 = 0x01;
    pub const SPEED: u8 = 0x02;
    pub const RAMP: u8 = 0x03;
    pub const SET_POSITION: u8 = 0x05;
    pub const SET_SPEED: u8 = 0x06;
    pub const MIN: u8 = 0x08;
    pub const MAX: u8 = 0x09;
    pub const INCREMENT: u8 = 0x40;
}

/// Numbers of the actions of the system command.
mod system {
    pub const POWER_DOWN: u8 = 0x00;
    pub const POWER_DOWN_ALL: u8 = 0x01;
    pub const BAUD: u8 = 0x20;
    pub const SERIAL_TIMEOUT: u8 = 0x21;
}

/// A Kangaroo with its Sabertooth.
pub struct KangarooUnit {
    own: KangarooSettings,
    framer: Framer<Kangaroo>,
    /// Last sequence code of each channel name, in the order of [`NAMES`].
    sequence: [u8; 4],
    channels: [Channel; 2],
    timeout_ns: u64,
    fed_at: SimTime,
    next_step: SimTime,
}

impl KangarooUnit {
    /// A controller that is just switched on.
    pub fn new(own: KangarooSettings) -> Self {
        let channel = || Channel::new(own.counts_per_unit);
        Self {
            channels: [channel(), channel()],
            timeout_ns: own.serial_timeout_ns,
            framer: Framer::new(Kangaroo),
            sequence: [0; 4],
            fed_at: SimTime::ZERO,
            next_step: SimTime::ZERO,
            own,
        }
    }

    /// Index of the channel's name in [`NAMES`], and index of the channel. `None`: the name is unknown, or the mode
    /// does not have this channel.
    fn channel(&self, name: u8) -> (Option<usize>, Option<usize>) {
        let place = NAMES.iter().position(|known| *known == name.to_ascii_uppercase());
        let first = if self.own.channels == Channels::Mixed { 2 } else { 0 };
        (place, place.and_then(|place| place.checked_sub(first)).filter(|index| *index < 2))
    }

    /// Positions (counts) or speeds (counts/s) of both channels. `of_motor` returns the position or the speed of the motor
    /// with an index.
    fn measured(&self, of_motor: impl Fn(usize) -> f64) -> [f64; 2] {
        let [first, second] = [of_motor(0), of_motor(1)];
        match self.own.channels {
            Channels::Independent => [first, second],
            Channels::Mixed => [(first + second) / 2.0, (first - second) / 2.0 / self.turn_share()],
        }
    }

    /// Motion of the left motor (motor 1) per unit of motion of channel `T`; negative if positive values of `T` turn left.
    fn turn_share(&self) -> f64 {
        if self.own.turns_right { self.own.turn_share } else { -self.own.turn_share }
    }

    fn positions(&self, unit: &Unit) -> [f64; 2] {
        self.measured(|motor| unit.counts(motor) as f64)
    }

    fn speeds(&self, unit: &Unit) -> [f64; 2] {
        self.measured(|motor| unit.speed_counts_s(motor))
    }

    /// Sets the motors' speeds from the channels' targets: by ramps with the acceleration `accel` (counts/s²), or at
    /// once if it is `None`.
    fn apply(&mut self, at: SimTime, accel: Option<f64>, unit: &mut Unit) {
        let positions = self.positions(unit);
        let most = unit.settings.wheels.max_speed_m_s * unit.settings.wheels.counts_per_m;
        let gain = self.own.position_gain_hz;
        let wanted: [f64; 2] =
            std::array::from_fn(|i| self.channels[i].wanted_speed(positions[i], gain, most));
        let motors = match self.own.channels {
            Channels::Independent => wanted,
            Channels::Mixed => {
                let turn = wanted[1] * self.turn_share();
                [wanted[0] + turn, wanted[0] - turn]
            }
        };
        let motors = motors.map(|counts_s| unit.metres(counts_s));
        match accel {
            Some(accel) => {
                let accel_m_s2 = unit.metres(accel);
                (0..2).for_each(|motor| unit.ramp(at, motor, motors[motor], accel_m_s2));
            }
            None => unit.drive(at, motors.map(Some)),
        }
    }

    fn on_packet(&mut self, at: SimTime, packet: &Packet, unit: &mut Unit) {
        if packet.address != self.own.address {
            return;
        }
        self.fed_at = at;
        let &[name, flags, ref rest @ ..] = packet.data.as_slice() else { return };
        let (place, index) = self.channel(name);
        if packet.command == command::GET {
            return self.on_get(at, name, flags, rest, unit);
        }
        let mut rest = rest;
        if flags & flag::SEQUENCE != 0 {
            let Some((&code, after)) = rest.split_first() else { return };
            rest = after;
            let Some(place) = place else { return };
            if std::mem::replace(&mut self.sequence[place], code) == code {
                // The command was executed already; only its answer was lost.
                return;
            }
        }
        let Some(index) = index else { return };
        match packet.command {
            command::START => self.start(at, index, unit),
            command::HOME => self.home(at, index, unit),
            command::UNITS => {
                let (desired, machine) = (take_number(&mut rest), take_number(&mut rest));
                if let (Some(desired), Some(machine)) = (desired, machine) {
                    self.channels[index].set_units(desired.into(), machine.into());
                }
            }
            command::MOVE => {
                let scale =
                    if flags & flag::RAW != 0 { 1.0 } else { self.channels[index].counts_per_unit };
                let mut order = Order::default();
                while let Some((&kind, after)) = rest.split_first() {
                    rest = after;
                    let Some(number) = take_number(&mut rest) else { return };
                    order.put(kind, f64::from(number) * scale);
                }
                self.move_channel(at, index, &order, unit);
            }
            command::SYSTEM => self.on_system(at, index, rest, unit),
            _ => {}
        }
    }

    fn on_system(&mut self, at: SimTime, index: usize, rest: &[u8], unit: &mut Unit) {
        let Some((&part, mut rest)) = rest.split_first() else { return };
        match (part, take_number(&mut rest)) {
            (system::POWER_DOWN, _) => self.power_down(at, &[index], unit),
            (system::POWER_DOWN_ALL, _) => self.power_down(at, &[0, 1], unit),
            (system::BAUD, Some(code)) => {
                let baud = usize::try_from(code).ok().and_then(|code| BAUD_RATES.get(code));
                if let Some(baud) = baud.filter(|baud| unit.profile.line.baud_rates.contains(baud))
                {
                    unit.port.change_rate(at, *baud);
                }
            }
            (system::SERIAL_TIMEOUT, Some(sixteenths)) => {
                self.timeout_ns = match u64::try_from(sixteenths) {
                    Ok(0) => self.own.serial_timeout_ns,
                    Ok(sixteenths) => sixteenths * 1_000_000_000 / 16,
                    Err(_) => 0,
                };
            }
            _ => {}
        }
    }

    fn start(&mut self, at: SimTime, index: usize, unit: &mut Unit) {
        self.channels[index].start();
        self.apply(at, None, unit);
    }

    fn home(&mut self, at: SimTime, index: usize, unit: &mut Unit) {
        let position = self.positions(unit)[index];
        self.channels[index].home(position);
        self.apply(at, None, unit);
    }

    fn power_down(&mut self, at: SimTime, indices: &[usize], unit: &mut Unit) {
        for index in indices {
            self.channels[*index].power_down();
        }
        self.apply(at, None, unit);
    }

    fn move_channel(&mut self, at: SimTime, index: usize, order: &Order, unit: &mut Unit) {
        let (position, speed) = (self.positions(unit)[index], self.speeds(unit)[index]);
        let channel = &mut self.channels[index];
        if !channel.is_ready() {
            return;
        }
        if self.own.needs_home && !channel.is_homed && order.position.is_some() {
            return;
        }
        channel.take(order, position, speed);
        if unit.is_stopped() && channel.goal != Goal::Rest {
            channel.fail(error::CONTROL);
        }
        self.apply(at, order.ramp, unit);
        self.next_step = SimTime(at.0 + STEP_NS);
    }

    /// Value of channel `name` with the type `kind`: a position (counts) or a speed (counts/s). `Err`: the error code that
    /// the answer contains instead.
    fn value(&self, name: u8, kind: u8, unit: &Unit) -> Result<f64, u8> {
        let (place, index) = self.channel(name);
        let index =
            index.ok_or(if place.is_some() { error::WRONG_MODE } else { error::UNKNOWN })?;
        let channel = &self.channels[index];
        if let Some(error) = channel.error() {
            return Err(error);
        }
        let position = self.positions(unit)[index] - channel.zero;
        let speed = self.speeds(unit)[index];
        let is_position = matches!(kind & !what::INCREMENT, what::POSITION | what::SET_POSITION);
        if is_position && self.own.needs_home && !channel.is_homed {
            return Err(error::NOT_HOMED);
        }
        let set = channel.set_points(position, self.own.position_gain_hz);
        match kind {
            what::POSITION => Ok(position),
            what::SPEED => Ok(speed),
            what::SET_POSITION => Ok(set[0]),
            what::SET_SPEED => Ok(set[1]),
            what::MIN => Ok(-LARGEST),
            what::MAX => Ok(LARGEST),
            _ if kind == what::POSITION | what::INCREMENT => Ok(position - set[0]),
            _ if kind == what::SPEED | what::INCREMENT => Ok(speed - set[1]),
            _ => Err(error::UNKNOWN),
        }
    }

    fn is_busy(&self, name: u8, unit: &Unit) -> bool {
        let Some(index) = self.channel(name).1 else { return false };
        let most = unit.settings.wheels.max_speed_m_s * unit.settings.wheels.counts_per_m;
        self.channels[index].is_busy(self.positions(unit)[index], self.speeds(unit)[index], most)
    }

    fn on_get(&mut self, at: SimTime, name: u8, flags: u8, rest: &[u8], unit: &mut Unit) {
        let mut rest = rest;
        let mut take = |is_there| take_byte(&mut rest, is_there);
        let echo = take(flags & flag::ECHO != 0);
        let Some(kind) = take(true) else { return };
        let (place, index) = self.channel(name);
        let mut told = flags & (flag::ECHO | flag::RAW | flag::SEQUENCE);
        let scale = match index {
            Some(index) if flags & flag::RAW == 0 => self.channels[index].counts_per_unit,
            _ => 1.0,
        };
        let value = match self.value(name, kind, unit) {
            Ok(counts) => {
                if self.is_busy(name, unit) {
                    told |= flag::BUSY;
                }
                (counts / scale).round() as i64
            }
            Err(error) => {
                told |= flag::ERROR;
                error.into()
            }
        };
        let mut data = vec![name, told];
        data.extend(echo);
        if flags & flag::SEQUENCE != 0 {
            data.push(place.map_or(0, |place| self.sequence[place]));
        }
        data.push(kind);
        put_number(&mut data, value);
        let mut bytes = Vec::new();
        Packet { address: self.own.address, command: REPLY, data }.emit(&mut bytes);
        unit.reply(at, bytes);
    }

    fn on_line(&mut self, at: SimTime, line: &[u8], unit: &mut Unit) {
        self.fed_at = at;
        let Some((name, said)) = text::parse(line) else { return };
        let index = self.channel(name).1;
        match (said, index) {
            (text::TextCommand::Get(kind), _) => {
                let scale = index.map_or(1.0, |index| self.channels[index].counts_per_unit);
                let answer = match self.value(name, kind, unit) {
                    Ok(counts) => {
                        let letter = if kind & !what::INCREMENT == what::SPEED { 'S' } else { 'P' };
                        let is_busy = self.is_busy(name, unit);
                        let letter = if is_busy { letter.to_ascii_lowercase() } else { letter };
                        format!("{letter}{}", (counts / scale).round() as i64)
                    }
                    Err(error) => format!("E{error}"),
                };
                let name = char::from(name.to_ascii_uppercase());
                unit.reply(at, format!("{name},{answer}\r\n").into_bytes());
            }
            (text::TextCommand::Start, Some(index)) => self.start(at, index, unit),
            (text::TextCommand::Home, Some(index)) => self.home(at, index, unit),
            (text::TextCommand::PowerDown, Some(index)) => self.power_down(at, &[index], unit),
            (text::TextCommand::PowerDownAll, Some(_)) => self.power_down(at, &[0, 1], unit),
            (text::TextCommand::Units { desired, machine }, Some(index)) => {
                self.channels[index].set_units(desired, machine);
            }
            (text::TextCommand::Move(order), Some(index)) => {
                let order = order.scaled(self.channels[index].counts_per_unit);
                self.move_channel(at, index, &order, unit);
            }
            (_, None) => {}
        }
    }

    fn times_out_at(&self) -> Option<SimTime> {
        let is_watched = self.timeout_ns > 0 && self.channels.iter().any(Channel::is_ready);
        is_watched.then_some(SimTime(self.fed_at.0 + self.timeout_ns))
    }

    fn steps_at(&self) -> Option<SimTime> {
        self.channels.iter().any(Channel::goes_to_position).then_some(self.next_step)
    }
}

impl Protocol for KangarooUnit {
    fn on_input(&mut self, at: SimTime, bytes: &[u8], unit: &mut Unit) {
        for item in self.framer.frames(bytes) {
            match item {
                Item::Packet(packet) => self.on_packet(at, &packet, unit),
                Item::Line(line) => self.on_line(at, &line, unit),
            }
        }
    }

    fn next_due(&self, _unit: &Unit) -> Option<SimTime> {
        [self.times_out_at(), self.steps_at()].into_iter().flatten().min()
    }

    fn on_time(&mut self, at: SimTime, unit: &mut Unit) {
        if self.times_out_at().is_some_and(|due| at >= due) {
            let stops = self.own.stops_on_timeout;
            for channel in self.channels.iter_mut().filter(|channel| channel.is_ready()) {
                channel.time_out(stops);
            }
            if stops {
                self.apply(at, None, unit);
            }
        }
        if self.steps_at().is_some_and(|due| at >= due) {
            self.next_step = SimTime(at.0 + STEP_NS);
            self.apply(at, None, unit);
        }
    }

    fn on_stop(&mut self, at: SimTime, unit: &mut Unit) {
        for channel in self.channels.iter_mut().filter(|channel| channel.goal != Goal::Rest) {
            channel.fail(error::CONTROL);
        }
        self.apply(at, None, unit);
    }
}
