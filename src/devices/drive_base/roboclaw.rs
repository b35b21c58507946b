//! A RoboClaw in packet serial.
//!
//! A share of full duty becomes the same share of `max_speed_m_s`, and back for commands 48. Commands
//! that move by a distance or to a position (41 to 46, 51, 61 to 67) and those that store settings are
//! not known: like any unknown command they are discarded, with all that follows until a pause.

use super::mixer::{Mixer, around_64, seven_bits};
use super::profile::{PidOrder, RoboClawSettings, StatusWidth};
use super::unit::{Protocol, Unit};
use crate::time::SimTime;
use crate::wire::ParseError;
use crate::wire::framer::Framer;
use crate::wire::record::Reader;
use crate::wire::roboclaw::{ACK, Item, RoboClaw, answer, command};

/// One unit of commands 14 and 15, nanoseconds.
const TIMEOUT_UNIT_NS: u64 = 100_000_000;
/// What commands 47 says of buffers without a command.
const EMPTY_BUFFER: u8 = 0x80;

/// Bits of an encoder's status.
mod encoder {
    pub const UNDERFLOW: u8 = 1;
    pub const BACKWARD: u8 = 2;
    pub const OVERFLOW: u8 = 4;
}

/// Gains and top speed of a motor's speed controller.
#[derive(Clone, Copy, Debug, Default)]
struct VelocityPid {
    /// Proportional, integral, differential, times 65536.
    gains: [u32; 3],
    /// Counts a second at full duty.
    top_counts_s: u32,
}

/// See the module.
pub struct RoboClawUnit {
    own: RoboClawSettings,
    framer: Framer<RoboClaw>,
    /// When the last byte came.
    heard_at: SimTime,
    /// Nothing is understood until a pause.
    is_lost: bool,
    /// When the last packet came.
    fed_at: SimTime,
    timeout_ns: u64,
    mixer: Mixer,
    /// What hosts have set.
    pids: [Option<VelocityPid>; 2],
}

impl RoboClawUnit {
    /// A controller that was just switched on.
    pub fn new(own: RoboClawSettings) -> Self {
        Self {
            timeout_ns: own.timeout_ns,
            own,
            framer: Framer::new(RoboClaw),
            heard_at: SimTime::ZERO,
            is_lost: false,
            fed_at: SimTime::ZERO,
            mixer: Mixer::default(),
            pids: [None; 2],
        }
    }

    fn on_item(&mut self, at: SimTime, item: &Item, unit: &mut Unit) {
        let is_own = self.own.answers_all_addresses || item.address() == self.own.address;
        match item {
            Item::Unknown { .. } => {
                self.is_lost = true;
                self.framer.clear();
            }
            _ if !is_own || !item.is_sound() => {}
            Item::Read { address, command } => {
                self.fed_at = at;
                let data = self.data(*command, unit);
                unit.reply(at, answer(*address, *command, &data));
            }
            Item::Write { command, data, .. } => {
                self.fed_at = at;
                // The length is the command's, so that nothing lacks.
                if self.obey(at, *command, data, unit).is_ok() {
                    unit.reply(at, vec![ACK]);
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
        let mut data = Reader::new("data of a RoboClaw's command", data);
        let most = unit.settings.wheels.max_speed_m_s;
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
            command::RESET_ENCODERS => (0..2).for_each(|motor| unit.set_counts(motor, 0)),
            command::SET_ENCODER_M1 => unit.set_counts(0, data.be::<i32>()?.into()),
            command::SET_ENCODER_M2 => unit.set_counts(1, data.be::<i32>()?.into()),
            command::SET_VELOCITY_PID_M1 | command::SET_VELOCITY_PID_M2 => {
                let [d, p, i, top_counts_s] = data.be::<[u32; 4]>()?;
                let motor = usize::from(command - command::SET_VELOCITY_PID_M1);
                self.pids[motor] = Some(VelocityPid { gains: [p, i, d], top_counts_s });
            }
            command::DUTY_M1 => self.duty(at, 0, share(data.be()?), unit),
            command::DUTY_M2 => self.duty(at, 1, share(data.be()?), unit),
            command::DUTY => {
                let duties = data.be::<[i16; 2]>()?;
                self.go(at, duties.map(|duty| Some(share(duty) * most)), unit);
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
            _ => {}
        }
        let is_mixed = (command::MIXED_FORWARD..=command::MIXED_TURN_7_BIT).contains(&command);
        if let Some(shares) = self.mixer.motors().filter(|_| is_mixed) {
            self.go(at, shares.map(|share| Some(share * most)), unit);
        }
        Ok(())
    }

    /// Sets speeds; while the motors' power is cut they are forgotten.
    fn go(&self, at: SimTime, motors_m_s: [Option<f64>; 2], unit: &mut Unit) {
        if !unit.is_stopped() {
            unit.drive(at, motors_m_s);
        }
    }

    fn duty(&self, at: SimTime, motor: usize, share: f64, unit: &mut Unit) {
        let mut motors = [None; 2];
        motors[motor] = Some(share * unit.settings.wheels.max_speed_m_s);
        self.go(at, motors, unit);
    }

    fn speed(&self, counts_s: i32, unit: &Unit) -> f64 {
        unit.metres(counts_s.into())
    }

    fn ramp(&self, at: SimTime, motor: usize, counts_s: i32, accel: u32, unit: &mut Unit) {
        let (to_m_s, accel_m_s2) = (unit.metres(counts_s.into()), unit.metres(accel.into()));
        if !unit.is_stopped() {
            unit.ramp(at, motor, to_m_s, accel_m_s2);
        }
    }

    /// A duty that is reached by so many 32767th a second.
    fn duty_ramp(&self, at: SimTime, motor: usize, duty: i16, accel: u32, unit: &mut Unit) {
        let most = unit.settings.wheels.max_speed_m_s;
        if !unit.is_stopped() {
            unit.ramp(at, motor, share(duty) * most, f64::from(accel) / 32_767.0 * most);
        }
    }

    /// What a read is answered.
    fn data(&self, command: u8, unit: &Unit) -> Vec<u8> {
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
            command::READ_BUFFERS => vec![EMPTY_BUFFER; 2],
            command::READ_PWMS => {
                let most = unit.settings.wheels.max_speed_m_s;
                let duty = |motor| (unit.setpoint_m_s(motor) / most * 32_767.0).round() as i16;
                [duty(0).to_be_bytes(), duty(1).to_be_bytes()].concat()
            }
            command::READ_CURRENTS => {
                let hundredths = |motor| (unit.current_a(motor) * 100.0).round() as i16;
                [hundredths(0).to_be_bytes(), hundredths(1).to_be_bytes()].concat()
            }
            command::READ_VELOCITY_PID_M1 => self.pid(0, unit),
            command::READ_VELOCITY_PID_M2 => self.pid(1, unit),
            command::READ_ENCODERS => both(&|motor| unit.counts(motor) as u32),
            command::READ_RAW_SPEEDS | command::READ_AVERAGE_SPEEDS => {
                both(&|motor| unit.speed_counts_s(motor).round() as i32 as u32)
            }
            command::READ_TEMPERATURE | command::READ_TEMPERATURE_2 => temperature.to_vec(),
            command::READ_TEMPERATURES => [temperature, temperature].concat(),
            command::READ_VOLTAGES => [battery, tenths(power.logic_v).to_be_bytes()].concat(),
            command::READ_STATUS => self.status(unit),
            // Quadrature without limits.
            command::READ_ENCODER_MODES => vec![0; 2],
            _ => Vec::new(),
        }
    }

    fn encoder(&self, motor: usize, unit: &Unit) -> Vec<u8> {
        let counts = unit.counts(motor);
        let mut status = 0;
        if counts < i64::from(i32::MIN) {
            status |= encoder::UNDERFLOW;
        }
        if counts > i64::from(i32::MAX) {
            status |= encoder::OVERFLOW;
        }
        if unit.speed_m_s(motor) < 0.0 {
            status |= encoder::BACKWARD;
        }
        [&(counts as u32).to_be_bytes()[..], &[status]].concat()
    }

    fn told_speed(&self, motor: usize, unit: &Unit) -> Vec<u8> {
        let counts_s = unit.speed_counts_s(motor).round() as i32;
        let told =
            if self.own.has_signed_speeds { counts_s as u32 } else { counts_s.unsigned_abs() };
        [&told.to_be_bytes()[..], &[u8::from(counts_s < 0)]].concat()
    }

    fn pid(&self, motor: usize, unit: &Unit) -> Vec<u8> {
        let wheels = &unit.settings.wheels;
        let factory = || VelocityPid {
            gains: self.own.velocity_gains.map(|gain| (gain * 65_536.0).round() as u32),
            top_counts_s: (wheels.max_speed_m_s * wheels.counts_per_m).round() as u32,
        };
        let VelocityPid { gains: [p, i, d], top_counts_s } =
            self.pids[motor].unwrap_or_else(factory);
        let told = match self.own.pid_order {
            PidOrder::Pid => [p, i, d, top_counts_s],
            PidOrder::Dpi => [d, p, i, top_counts_s],
        };
        told.map(u32::to_be_bytes).concat()
    }

    fn status(&self, unit: &Unit) -> Vec<u8> {
        let (is_stopped, is_low) = (unit.is_stopped(), unit.is_battery_low());
        match self.own.status {
            StatusWidth::Bits16 => {
                let bits = if is_stopped { 0x0004 } else { 0 } | if is_low { 0x0800 } else { 0 };
                u16::to_be_bytes(bits).to_vec()
            }
            StatusWidth::Bits32 => {
                let low = 0x4000 | 0x0008 << 16;
                let bits = u32::from(is_stopped) | if is_low { low } else { 0 };
                u32::to_be_bytes(bits).to_vec()
            }
        }
    }
}

/// A duty as a share of full duty.
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
        let is_watched = self.timeout_ns > 0 && unit.is_driving();
        is_watched.then_some(SimTime(self.fed_at.0 + self.timeout_ns))
    }

    fn on_time(&mut self, at: SimTime, unit: &mut Unit) {
        unit.stop(at);
    }
}
