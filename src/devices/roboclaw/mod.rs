//! A RoboClaw in packet serial mode.
//!
//! A fraction of full duty becomes the same fraction of the speed `max_speed_m_s`. The answer to command 48 converts
//! the set speeds back to duties. While the main or the logic voltage is outside its limits, the motors stand still.
//! [`motion`] has moves by a distance and to a position, [`settings`] the settings. An unknown command is discarded,
//! with all bytes that follow it without a pause.

mod motion;
mod profile;
mod settings;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use self::motion::{Goal, Move, Moves, STEP_NS};
use self::profile::{RoboClawLayout, RoboClawSettings, StatusWidth};
use self::settings::Values;
use crate::drive_base::faults::FAULTS;
use crate::drive_base::mixer::{Mixer, around_64, seven_bits};
use crate::drive_base::{BaseFamily, PERIOD_NS, Protocol, Unit};
use crate::serial::decoder::frameless;
use crate::time::SimTime;
use crate::wire::ParseError;
use crate::wire::framer::Framer;
use crate::wire::record::Reader;
use crate::wire::roboclaw::{ACK, Item, RoboClaw, STORED, answer, command};

/// Family of Basicmicro's RoboClaw in packet serial mode.
pub const FAMILY: BaseFamily = BaseFamily {
    key: "roboclaw",
    dialect: || Arc::new(RoboClawSettings::default()),
    faults: &FAULTS,
    commands: &[("RoboClaw packet serial", include_str!("commands.csv"))],
    decoder: frameless,
};

/// Unit of the timeout in commands 14 and 15, nanoseconds.
const TIMEOUT_UNIT_NS: u64 = 100_000_000;
/// Key that commands 80 and 94 must contain, from the maker's libraries.
const KEY: u32 = 0xe22e_ab7a;
/// Number of different values of a 32-bit counter.
const COUNTER_VALUES: i64 = 1 << 32;
/// Number of wheel states in the second over which command 108 averages.
const AVERAGED_STATES: usize = (1_000_000_000 / PERIOD_NS) as usize;
/// Time between the two answers to command 253, nanoseconds. An assumption: long enough for a host that discards its
/// input after the first answer, as the maker's library roboclaw_3 does.
const STORING_NS: u64 = 5_000_000;

/// Status bits of an encoder.
mod encoder {
    pub const UNDERFLOW: u8 = 1;
    pub const BACKWARD: u8 = 2;
    pub const OVERFLOW: u8 = 4;
}

/// A RoboClaw.
pub struct RoboClawUnit {
    own: RoboClawSettings,
    framer: Framer<RoboClaw>,
    /// Time of the last byte.
    heard_at: SimTime,
    /// Whether input is discarded until a pause, after an unknown command.
    is_lost: bool,
    /// Time of the last valid packet.
    fed_at: SimTime,
    timeout_ns: u64,
    mixer: Mixer,
    moves: [Moves; 2],
    stepped_at: SimTime,
    /// For each counter, its count divided by [`COUNTER_VALUES`], rounded down.
    laps: [i64; 2],
    /// For each counter, the flags of underflow and overflow since its status was last read.
    wraps: [u8; 2],
    /// Counts of the motors during the last second, one entry for each wheel state, the oldest first.
    past_counts: VecDeque<[i64; 2]>,
    values: Values,
    /// Values that survive a power cycle.
    stored: Values,
    eeprom: BTreeMap<u8, u16>,
}

impl RoboClawUnit {
    /// A controller that is just switched on.
    pub fn new(own: RoboClawSettings, unit: &Unit) -> Self {
        let values = Values::factory(&own, unit);
        Self {
            stored: values.clone(),
            values,
            timeout_ns: own.timeout_ns,
            own,
            framer: Framer::new(RoboClaw),
            heard_at: SimTime::ZERO,
            is_lost: false,
            fed_at: SimTime::ZERO,
            mixer: Mixer::default(),
            moves: Default::default(),
            stepped_at: SimTime::ZERO,
            laps: [0; 2],
            wraps: [0; 2],
            past_counts: VecDeque::new(),
            eeprom: BTreeMap::new(),
        }
    }

    fn on_item(&mut self, at: SimTime, item: &Item, unit: &mut Unit) {
        let is_own = self.own.answers_all_addresses || item.address() == self.values.address();
        match item {
            Item::Unknown { .. } => {
                self.is_lost = true;
                self.framer.clear();
            }
            _ if !is_own || !item.is_sound() => {}
            Item::Read { address, command } => {
                self.fed_at = at;
                let data = self.data(at, *command, unit);
                unit.reply(at, answer(*address, *command, &data));
            }
            Item::ReadOf { address, command, argument } => {
                self.fed_at = at;
                let word = self.eeprom.get(argument).copied().unwrap_or(u16::MAX);
                let [high, low] = word.to_be_bytes();
                // The checksum covers the argument, which the answer does not repeat.
                let said = answer(*address, *command, &[*argument, high, low]);
                unit.reply(at, said[1..].to_vec());
            }
            Item::Write { command, data, .. } => {
                self.fed_at = at;
                // The packet has the length of its command, so no data are missing.
                if self.obey(at, *command, data, unit).is_ok() {
                    unit.reply(at, vec![ACK]);
                    let is_classic = self.own.layout == RoboClawLayout::Classic;
                    if *command == command::WRITE_EEPROM && is_classic {
                        unit.reply(SimTime(at.0 + STORING_NS), vec![STORED]);
                    }
                }
            }
        }
    }

    fn obey(
        &mut self,
        at: SimTime,
        command: u8,
        data: &[u8],
        unit: &mut Unit,
    ) -> Result<(), ParseError> {
        let bytes = data;
        let mut data = Reader::new("data of a RoboClaw's command", data);
        match command {
            command::M1_FORWARD => self.duty(at, 0, seven_bits(data.u8()?), unit),
            command::M1_BACKWARD => self.duty(at, 0, -seven_bits(data.u8()?), unit),
            command::M2_FORWARD => self.duty(at, 1, seven_bits(data.u8()?), unit),
            command::M2_BACKWARD => self.duty(at, 1, -seven_bits(data.u8()?), unit),
            command::M1_7_BIT => self.duty(at, 0, around_64(data.u8()?), unit),
            command::M2_7_BIT => self.duty(at, 1, around_64(data.u8()?), unit),
            command::MIXED_FORWARD => self.mixer.drive = Some(seven_bits(data.u8()?)),
            command::MIXED_BACKWARD => self.mixer.drive = Some(-seven_bits(data.u8()?)),
            command::MIXED_RIGHT => self.mixer.turn = Some(seven_bits(data.u8()?)),
            command::MIXED_LEFT => self.mixer.turn = Some(-seven_bits(data.u8()?)),
            command::MIXED_DRIVE_7_BIT => self.mixer.drive = Some(around_64(data.u8()?)),
            command::MIXED_TURN_7_BIT => self.mixer.turn = Some(around_64(data.u8()?)),
            command::SET_SERIAL_TIMEOUT => {
                self.timeout_ns = u64::from(data.u8()?) * TIMEOUT_UNIT_NS;
            }
            command::RESET_ENCODERS => (0..2).for_each(|motor| self.set_counts(motor, 0, unit)),
            command::SET_ENCODER_M1 => self.set_counts(0, data.be::<i32>()?.into(), unit),
            command::SET_ENCODER_M2 => self.set_counts(1, data.be::<i32>()?.into(), unit),
            command::DUTY_M1 => self.duty(at, 0, share(data.be()?), unit),
            command::DUTY_M2 => self.duty(at, 1, share(data.be()?), unit),
            command::DUTY => {
                for (motor, duty) in data.be::<[i16; 2]>()?.into_iter().enumerate() {
                    self.duty(at, motor, share(duty), unit);
                }
            }
            command::SPEED_M1 => {
                let speed = self.speed(data.be()?, unit);
                self.go(at, [Some(speed), None], unit);
            }
            command::SPEED_M2 => {
                let speed = self.speed(data.be()?, unit);
                self.go(at, [None, Some(speed)], unit);
            }
            command::SPEED => {
                let speeds = data.be::<[i32; 2]>()?;
                let motors = speeds.map(|counts_s| Some(self.speed(counts_s, unit)));
                self.go(at, motors, unit);
            }
            command::SPEED_ACCEL_M1 | command::SPEED_ACCEL_M2 => {
                let motor = usize::from(command - command::SPEED_ACCEL_M1);
                let (accel, speed) = (data.be::<u32>()?, data.be::<i32>()?);
                self.ramp(at, motor, speed, accel, unit);
            }
            command::SPEED_ACCEL => {
                let accel = data.be::<u32>()?;
                for (motor, speed) in data.be::<[i32; 2]>()?.into_iter().enumerate() {
                    self.ramp(at, motor, speed, accel, unit);
                }
            }
            command::SPEED_TWO_ACCELS => {
                for motor in 0..2 {
                    let (accel, speed) = (data.be::<u32>()?, data.be::<i32>()?);
                    self.ramp(at, motor, speed, accel, unit);
                }
            }
            command::DUTY_ACCEL_M1 | command::DUTY_ACCEL_M2 => {
                let motor = usize::from(command - command::DUTY_ACCEL_M1);
                let (duty, accel) = (data.be::<i16>()?, data.be::<u32>()?);
                self.duty_ramp(at, motor, duty, accel, unit);
            }
            command::DUTY_TWO_ACCELS => {
                for motor in 0..2 {
                    let (duty, accel) = (data.be::<i16>()?, data.be::<u32>()?);
                    self.duty_ramp(at, motor, duty, accel, unit);
                }
            }
            command::MIN_MAIN_VOLTAGE | command::MIN_LOGIC_VOLTAGE => {
                let volts = 6.0 + f64::from(data.u8()?) / 5.0;
                self.values.set_voltage(battery_of(command), 0, volts);
            }
            command::MAX_MAIN_VOLTAGE | command::MAX_LOGIC_VOLTAGE => {
                let volts = f64::from(data.u8()?) / 5.12;
                self.values.set_voltage(battery_of(command), 1, volts);
            }
            command::RESTORE_DEFAULTS | command::WRITE_SETTINGS => {
                if !bytes.is_empty() && data.be::<u32>()? != KEY {
                    // With another key, the command is acknowledged but has no effect (an assumption).
                    return Ok(());
                }
                if command == command::WRITE_SETTINGS {
                    self.stored = self.values.clone();
                } else {
                    self.adopt(at, Values::factory(&self.own, unit), unit);
                }
            }
            command::READ_SETTINGS => self.adopt(at, self.stored.clone(), unit),
            command::SET_CONFIG => {
                let mut values = self.values.clone();
                values.set(command, bytes);
                self.adopt(at, values, unit);
            }
            command::WRITE_EEPROM => {
                let place = data.u8()?;
                self.eeprom.insert(place, data.be()?);
            }
            command::SET_ADDRESS_MIXED => self.values.set(command, bytes),
            _ if self.values.has(command) => self.values.set(command, bytes),
            _ => self.obey_move(at, command, &mut data, unit)?,
        }
        let is_mixed = (command::MIXED_FORWARD..=command::MIXED_TURN_7_BIT).contains(&command);
        if let Some(shares) = self.mixer.motors().filter(|_| is_mixed) {
            for (motor, share) in shares.into_iter().enumerate() {
                self.duty(at, motor, share, unit);
            }
        }
        Ok(())
    }

    /// Applies all values. The line changes to the new baud rate if the profile lists it.
    fn adopt(&mut self, at: SimTime, values: Values, unit: &mut Unit) {
        let is_other = values.baud_rate() != self.values.baud_rate();
        if is_other && unit.profile.line.baud_rates.contains(&values.baud_rate()) {
            unit.port.change_rate(at, values.baud_rate());
        }
        self.values = values;
    }

    /// Executes a move command.
    fn obey_move(
        &mut self,
        at: SimTime,
        command: u8,
        data: &mut Reader<'_>,
        unit: &mut Unit,
    ) -> Result<(), ParseError> {
        use crate::wire::roboclaw::command as c;
        let mut orders = [None; 2];
        match command {
            c::SPEED_DISTANCE_M1 | c::SPEED_DISTANCE_M2 => {
                let motor = usize::from(command - c::SPEED_DISTANCE_M1);
                orders[motor] = Some(distance(0, data)?);
            }
            c::SPEED_DISTANCE => {
                orders = [Some(distance(0, data)?), Some(distance(0, data)?)];
            }
            c::SPEED_ACCEL_DISTANCE_M1 | c::SPEED_ACCEL_DISTANCE_M2 => {
                let motor = usize::from(command - c::SPEED_ACCEL_DISTANCE_M1);
                orders[motor] = Some(distance(data.be()?, data)?);
            }
            c::SPEED_ACCEL_DISTANCE => {
                let accel = data.be()?;
                orders = [Some(distance(accel, data)?), Some(distance(accel, data)?)];
            }
            c::SPEED_TWO_ACCELS_DISTANCE => {
                for order in &mut orders {
                    *order = Some(distance(data.be()?, data)?);
                }
            }
            _ => {
                let (first, kind) = match command {
                    c::SPEED_ACCEL_DECEL_POSITION_M1..=c::SPEED_ACCEL_DECEL_POSITION => {
                        (c::SPEED_ACCEL_DECEL_POSITION_M1, PositionKind::Full)
                    }
                    c::POSITION_M1..=c::POSITION => (c::POSITION_M1, PositionKind::Bare),
                    c::SPEED_POSITION_M1..=c::SPEED_POSITION => {
                        (c::SPEED_POSITION_M1, PositionKind::Speed)
                    }
                    c::PERCENT_POSITION_M1..=c::PERCENT_POSITION => {
                        (c::PERCENT_POSITION_M1, PositionKind::Percent)
                    }
                    _ => return Ok(()),
                };
                let motors = match command - first {
                    2 => 0..2,
                    one => usize::from(one)..usize::from(one) + 1,
                };
                for motor in motors {
                    orders[motor] = Some(self.position(motor, kind, data)?);
                }
            }
        }
        let is_now = data.u8()? == 1;
        if self.is_cut(unit) {
            return Ok(());
        }
        for (motor, order) in orders.into_iter().enumerate() {
            if let Some(order) = order {
                self.moves[motor].put(order, is_now);
                self.moves[motor].step(at, motor, &self.values, unit);
            }
        }
        self.stepped_at = at;
        Ok(())
    }

    fn position(
        &self,
        motor: usize,
        kind: PositionKind,
        data: &mut Reader<'_>,
    ) -> Result<Move, ParseError> {
        let (_, _, [least, most]) = self.values.position(motor);
        let mut order = Move {
            accel_counts_s2: 0.0,
            speed_counts_s: self.values.default_speed_counts_s(motor),
            goal: Goal::Distance(0),
        };
        let mut decel = 0.0;
        if kind == PositionKind::Full {
            order.accel_counts_s2 = data.be::<u32>()?.into();
        }
        if matches!(kind, PositionKind::Full | PositionKind::Speed) {
            order.speed_counts_s = data.be::<u32>()?.into();
        }
        if kind == PositionKind::Full {
            decel = data.be::<u32>()?.into();
        }
        let mut target = match kind {
            PositionKind::Percent => {
                let range = i64::from(most) - i64::from(least);
                let middle = (i64::from(least) + i64::from(most)) / 2;
                middle + i64::from(data.be::<i16>()?) * range / 65_534
            }
            _ => data.be::<i32>()?.into(),
        };
        if least < most {
            target = target.clamp(least.into(), most.into());
        }
        order.goal = Goal::Position(target, decel);
        Ok(order)
    }

    fn is_moving(&self) -> bool {
        self.moves.iter().any(Moves::is_active)
    }

    fn times_out_at(&self, unit: &Unit) -> Option<SimTime> {
        let is_watched = self.timeout_ns > 0 && (unit.is_driving() || self.is_moving());
        is_watched.then_some(SimTime(self.fed_at.0 + self.timeout_ns))
    }

    /// Whether the motors have no power, because of an emergency stop or a voltage outside its limits.
    fn is_cut(&self, unit: &Unit) -> bool {
        unit.is_stopped() || self.voltage_faults(unit) != [Ordering::Equal; 2]
    }

    /// Main and logic voltage, each compared with its limits: `Less` is below, `Equal` within, `Greater` above.
    fn voltage_faults(&self, unit: &Unit) -> [Ordering; 2] {
        let measured = [unit.battery_v(), unit.settings.power.logic_v];
        let limits = self.values.voltages_v();
        [0, 1].map(|which| match measured[which] {
            v if v < limits[which][0] => Ordering::Less,
            v if v > limits[which][1] => Ordering::Greater,
            _ => Ordering::Equal,
        })
    }

    /// Sets the speed (m/s) of each motor whose entry is `Some`, and drops the moves of that motor. While the motor
    /// power is cut, only the moves are dropped.
    fn go(&mut self, at: SimTime, motors_m_s: [Option<f64>; 2], unit: &mut Unit) {
        for (moves, _) in self.moves.iter_mut().zip(motors_m_s).filter(|(_, speed)| speed.is_some())
        {
            moves.clear();
        }
        if !self.is_cut(unit) {
            unit.drive(at, motors_m_s);
        }
    }

    /// Sets the duty `share` of a motor, with the default acceleration for duties.
    fn duty(&mut self, at: SimTime, motor: usize, share: f64, unit: &mut Unit) {
        let accel = f64::from(self.values.duty_accel(motor)) / 32_767.0;
        let most = unit.settings.wheels.max_speed_m_s;
        self.ramp_to(at, motor, share * most, accel * most, unit);
    }

    /// Ramps a motor to the speed `m_s` with the acceleration `m_s2` (0: immediately) and drops its moves. While the
    /// motor power is cut, only the moves are dropped.
    fn ramp_to(&mut self, at: SimTime, motor: usize, m_s: f64, m_s2: f64, unit: &mut Unit) {
        self.moves[motor].clear();
        if !self.is_cut(unit) {
            unit.ramp(at, motor, m_s, m_s2);
        }
    }

    fn speed(&self, counts_s: i32, unit: &Unit) -> f64 {
        unit.metres(counts_s.into())
    }

    fn ramp(&mut self, at: SimTime, motor: usize, counts_s: i32, accel: u32, unit: &mut Unit) {
        let (to_m_s, accel_m_s2) = (unit.metres(counts_s.into()), unit.metres(accel.into()));
        self.ramp_to(at, motor, to_m_s, accel_m_s2, unit);
    }

    /// Sets the duty of a motor, with an acceleration of `accel` / 32767 of full duty per second.
    fn duty_ramp(&mut self, at: SimTime, motor: usize, duty: i16, accel: u32, unit: &mut Unit) {
        let most = unit.settings.wheels.max_speed_m_s;
        self.ramp_to(at, motor, share(duty) * most, f64::from(accel) / 32_767.0 * most, unit);
    }

    /// Data of the answer to a read command.
    fn data(&mut self, at: SimTime, command: u8, unit: &Unit) -> Vec<u8> {
        let power = &unit.settings.power;
        let tenths = |value: f64| (value * 10.0).round() as i16 as u16;
        let both = |value: &dyn Fn(usize) -> u32| {
            [value(0).to_be_bytes(), value(1).to_be_bytes()].concat()
        };
        let battery = tenths(unit.battery_v()).to_be_bytes();
        let temperature = tenths(power.temperature_c).to_be_bytes();
        match command {
            command::READ_SERIAL_TIMEOUT => vec![(self.timeout_ns / TIMEOUT_UNIT_NS) as u8],
            command::READ_ENCODER_M1 => self.encoder(0, unit),
            command::READ_ENCODER_M2 => self.encoder(1, unit),
            command::READ_SPEED_M1 | command::READ_RAW_SPEED_M1 => self.told_speed(0, unit),
            command::READ_SPEED_M2 | command::READ_RAW_SPEED_M2 => self.told_speed(1, unit),
            command::READ_VERSION => [unit.profile.identity.firmware.as_bytes(), b"\n\0"].concat(),
            command::READ_MAIN_BATTERY => battery.to_vec(),
            command::READ_LOGIC_BATTERY => tenths(power.logic_v).to_be_bytes().to_vec(),
            command::READ_BUFFERS => self.moves.iter().map(Moves::depth).collect(),
            command::READ_PWMS => {
                let most = unit.settings.wheels.max_speed_m_s;
                let duty = |motor| (unit.setpoint_m_s(motor) / most * 32_767.0).round() as i16;
                [duty(0).to_be_bytes(), duty(1).to_be_bytes()].concat()
            }
            command::READ_CURRENTS => {
                let hundredths = |motor| (unit.current_a(motor) * 100.0).round() as i16;
                [hundredths(0).to_be_bytes(), hundredths(1).to_be_bytes()].concat()
            }
            command::READ_ENCODERS => both(&|motor| unit.counts(motor) as u32),
            command::READ_RAW_SPEEDS => {
                both(&|motor| unit.speed_counts_s(motor).round() as i32 as u32)
            }
            command::READ_AVERAGE_SPEEDS => {
                both(&|motor| self.average_counts_s(motor, unit) as u32)
            }
            command::READ_TEMPERATURE | command::READ_TEMPERATURE_2 => temperature.to_vec(),
            command::READ_TEMPERATURES => [temperature, temperature].concat(),
            command::READ_VOLTAGES => [battery, tenths(power.logic_v).to_be_bytes()].concat(),
            command::READ_STATUS => self.status(unit),
            command::READ_ENCODER_STATUS => {
                [0, 1].map(|motor| self.encoder(motor, unit)[4]).to_vec()
            }
            command::READ_SPEED_ERRORS => errors(self.speed_errors(unit), self.own.layout),
            command::READ_POSITION_ERRORS => errors(self.position_errors(unit), self.own.layout),
            // The emulated controller has no digital outputs, signals or streams.
            command::READ_DIGITAL_OUTPUTS
            | command::READ_SIGNALS
            | command::READ_STREAMS
            | command::READ_SIGNAL_DATA => vec![0],
            command::READ_ALL_STATUS => self.all_status(at, unit),
            _ => self.values.answer(command, &self.own).unwrap_or_default(),
        }
    }

    /// Counter and status of an encoder. Clears the flags of underflow and overflow.
    fn encoder(&mut self, motor: usize, unit: &Unit) -> Vec<u8> {
        let mut status = std::mem::take(&mut self.wraps[motor]);
        if unit.speed_m_s(motor) < 0.0 {
            status |= encoder::BACKWARD;
        }
        [&(unit.counts(motor) as u32).to_be_bytes()[..], &[status]].concat()
    }

    /// Sets a motor's counter, which is neither underflow nor overflow.
    fn set_counts(&mut self, motor: usize, counts: i64, unit: &mut Unit) {
        unit.set_counts(motor, counts);
        self.laps[motor] = counts.div_euclid(COUNTER_VALUES);
    }

    /// Updates the flags of the counters and the counts of the last second.
    fn follow_counts(&mut self, unit: &Unit) {
        for motor in 0..2 {
            let lap = unit.counts(motor).div_euclid(COUNTER_VALUES);
            self.wraps[motor] |= match lap.cmp(&self.laps[motor]) {
                Ordering::Less => encoder::UNDERFLOW,
                Ordering::Equal => 0,
                Ordering::Greater => encoder::OVERFLOW,
            };
            self.laps[motor] = lap;
        }
        if self.past_counts.len() > AVERAGED_STATES {
            self.past_counts.pop_front();
        }
        self.past_counts.push_back([0, 1].map(|motor| unit.all_counts(motor)));
    }

    /// Average speed of a motor during the last second, counts per second.
    fn average_counts_s(&self, motor: usize, unit: &Unit) -> i64 {
        self.past_counts.front().map_or(0, |past| unit.all_counts(motor) - past[motor])
    }

    fn told_speed(&self, motor: usize, unit: &Unit) -> Vec<u8> {
        let counts_s = unit.speed_counts_s(motor).round() as i32;
        let told =
            if self.own.has_signed_speeds { counts_s as u32 } else { counts_s.unsigned_abs() };
        [&told.to_be_bytes()[..], &[u8::from(counts_s < 0)]].concat()
    }

    fn speed_errors(&self, unit: &Unit) -> [u32; 2] {
        [0, 1].map(|motor| {
            let wanted = unit.setpoint_m_s(motor) * unit.settings.wheels.counts_per_m;
            (wanted - unit.speed_counts_s(motor)).abs().round() as u32
        })
    }

    fn position_errors(&self, unit: &Unit) -> [u32; 2] {
        [0, 1].map(|motor| {
            let counts = self.moves[motor].error_counts(motor, unit).unsigned_abs();
            counts.min(u32::MAX.into()) as u32
        })
    }

    /// Command 73 of the library basicmicro: all measurements in one answer.
    fn all_status(&mut self, at: SimTime, unit: &Unit) -> Vec<u8> {
        let told = |motor| unit.setpoint_m_s(motor) * unit.settings.wheels.counts_per_m;
        let set_speeds = [told(0), told(1)].map(|counts_s| (counts_s.round() as i32).to_be_bytes());
        let status = self.status_bits(unit).to_be_bytes().to_vec();
        let control_errors = [self.speed_errors(unit), self.position_errors(unit)]
            .map(|both| errors(both, RoboClawLayout::Extended));
        let mut read = |command| self.data(at, command, unit);
        [
            ((unit.uptime_ns(at) / 1_000_000) as u32).to_be_bytes().to_vec(),
            status,
            read(command::READ_TEMPERATURES),
            read(command::READ_VOLTAGES),
            read(command::READ_PWMS),
            read(command::READ_CURRENTS),
            read(command::READ_ENCODERS),
            set_speeds.concat(),
            read(command::READ_AVERAGE_SPEEDS),
            control_errors.concat(),
        ]
        .concat()
    }

    fn status(&self, unit: &Unit) -> Vec<u8> {
        let [main, logic] = self.voltage_faults(unit);
        let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
        match self.own.status {
            StatusWidth::Bits16 => {
                let bits = bit(unit.is_stopped(), 0x0004)
                    | bit(main == Ordering::Greater, 0x0020)
                    | bit(logic == Ordering::Greater, 0x0040)
                    | bit(logic == Ordering::Less, 0x0080)
                    | bit(self.is_battery_low(unit), 0x0800);
                bits.to_be_bytes().to_vec()
            }
            StatusWidth::Bits32 => self.status_bits(unit).to_be_bytes().to_vec(),
        }
    }

    /// Status word of 32 bits: errors in the low half, warnings in the high half.
    fn status_bits(&self, unit: &Unit) -> u32 {
        let [main, logic] = self.voltage_faults(unit);
        let bit = |is_set: bool, bits: u32| if is_set { bits } else { 0 };
        bit(unit.is_stopped(), 0x0001)
            | bit(main == Ordering::Greater, 0x0008 | 0x0004 << 16)
            | bit(logic == Ordering::Greater, 0x0010)
            | bit(logic == Ordering::Less, 0x0020)
            | bit(self.is_battery_low(unit), 0x4000 | 0x0008 << 16)
    }

    fn is_battery_low(&self, unit: &Unit) -> bool {
        unit.is_battery_low() || self.voltage_faults(unit)[0] == Ordering::Less
    }
}

/// Control errors of both motors as data of an answer.
fn errors(both: [u32; 2], layout: RoboClawLayout) -> Vec<u8> {
    match layout {
        RoboClawLayout::Classic => both.map(u32::to_be_bytes).concat(),
        RoboClawLayout::Extended => {
            both.map(|error| (error.min(u16::MAX.into()) as u16).to_be_bytes()).concat()
        }
    }
}

/// Arguments of a position command in addition to the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PositionKind {
    /// Acceleration, speed and deceleration.
    Full,
    /// No further argument.
    Bare,
    /// The speed.
    Speed,
    /// No further argument; the position is a fraction of the range.
    Percent,
}

/// Reads the speed and the distance of a move with the acceleration `accel`.
fn distance(accel: u32, data: &mut Reader<'_>) -> Result<Move, ParseError> {
    let speed_counts_s = f64::from(data.be::<i32>()?);
    let goal = Goal::Distance(data.be()?);
    Ok(Move { accel_counts_s2: accel.into(), speed_counts_s, goal })
}

/// Write command that sets both voltage limits of a battery; the older command `command` sets only one of them.
fn battery_of(command: u8) -> u8 {
    match command {
        command::MIN_MAIN_VOLTAGE | command::MAX_MAIN_VOLTAGE => command::SET_MAIN_VOLTAGES,
        _ => command::SET_LOGIC_VOLTAGES,
    }
}

/// A duty as a fraction of full duty.
fn share(duty: i16) -> f64 {
    (f64::from(duty) / 32_767.0).max(-1.0)
}

impl Protocol for RoboClawUnit {
    fn on_input(&mut self, at: SimTime, bytes: &[u8], unit: &mut Unit) {
        if at.0 - self.heard_at.0 > self.own.packet_gap_ns {
            self.framer.clear();
            self.is_lost = false;
        }
        self.heard_at = at;
        if self.is_lost {
            return;
        }
        for item in self.framer.frames(bytes) {
            self.on_item(at, &item, unit);
        }
    }

    fn next_due(&self, unit: &Unit) -> Option<SimTime> {
        let step = self.is_moving().then_some(SimTime(self.stepped_at.0 + STEP_NS));
        [self.times_out_at(unit), step].into_iter().flatten().min()
    }

    fn on_time(&mut self, at: SimTime, unit: &mut Unit) {
        if self.times_out_at(unit).is_some_and(|due| at >= due) {
            self.on_stop(at, unit);
        }
        self.stepped_at = at;
        for (motor, moves) in self.moves.iter_mut().enumerate() {
            moves.step(at, motor, &self.values, unit);
        }
    }

    fn on_state(&mut self, at: SimTime, unit: &mut Unit) {
        self.follow_counts(unit);
        if (unit.is_driving() || self.is_moving()) && self.is_cut(unit) {
            self.on_stop(at, unit);
        }
    }

    fn on_stop(&mut self, at: SimTime, unit: &mut Unit) {
        self.moves.iter_mut().for_each(Moves::clear);
        unit.stop(at);
    }

    fn switched_on(&self, at: SimTime, unit: &mut Unit) -> Box<dyn Protocol> {
        let mut next = Self::new(self.own.clone(), unit);
        next.adopt(at, self.stored.clone(), unit);
        next.stored = self.stored.clone();
        next.eeprom = self.eeprom.clone();
        Box::new(next)
    }
}
