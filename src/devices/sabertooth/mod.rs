//! A Sabertooth without a Kangaroo: hosts set the duty of the motors; only queries in plain text are answered.
//!
//! A fraction of full duty becomes the same fraction of `max_speed_m_s`. Battery voltage limits and ramps are accepted
//! without effect.

mod profile;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use self::profile::{SabertoothMode, SabertoothSettings};
use self::text::{Lines, Target, TextCommand};
use crate::drive_base::faults::FAULTS_OF_MUTE;
use crate::drive_base::mixer::{Mixer, around_64, seven_bits};
use crate::drive_base::{BaseFamily, Protocol, Unit};
use crate::serial::decoder::frameless;
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::sabertooth::{Packet, Sabertooth, command};

/// Family of Dimension Engineering's Sabertooth.
pub const FAMILY: BaseFamily = BaseFamily {
    key: "sabertooth",
    dialect: || Arc::new(SabertoothSettings::default()),
    faults: &FAULTS_OF_MUTE,
    commands: &[
        ("Sabertooth packet serial", include_str!("packets.csv")),
        ("Sabertooth plain text serial", include_str!("text.csv")),
        ("Sabertooth simplified serial", include_str!("bytes.csv")),
    ],
    decoder: frameless,
};

/// Values of command 15, each with the baud rate that it sets.
const BAUD_RATES: [(u8, u32); 5] = [(1, 2400), (2, 9600), (3, 19_200), (4, 38_400), (5, 115_200)];
/// Unit of the timeout in command 14, nanoseconds.
const TIMEOUT_UNIT_NS: u64 = 100_000_000;

/// A Sabertooth.
pub struct SabertoothUnit {
    own: SabertoothSettings,
    framer: Framer<Sabertooth>,
    lines: Lines,
    /// For each motor, whether a text command has shut it down.
    is_shut_down: [bool; 2],
    mixer: Mixer,
    timeout_ns: u64,
    fed_at: SimTime,
    deaf_until: SimTime,
}

impl SabertoothUnit {
    /// A controller that is just switched on.
    pub fn new(own: SabertoothSettings) -> Self {
        Self {
            timeout_ns: own.timeout_ns,
            own,
            framer: Framer::new(Sabertooth),
            lines: Lines::default(),
            is_shut_down: [false; 2],
            mixer: Mixer::default(),
            fed_at: SimTime::ZERO,
            deaf_until: SimTime::ZERO,
        }
    }

    fn on_packet(&mut self, at: SimTime, packet: Packet, unit: &mut Unit) {
        if packet.address != self.own.address {
            return;
        }
        self.fed_at = at;
        let (value, most) = (packet.value, unit.settings.wheels.max_speed_m_s);
        let mut motor = |index: usize, share: f64| {
            let mut motors = [None; 2];
            motors[index] = Some(share * most);
            go(self.is_shut_down, at, motors, unit);
        };
        match packet.command {
            command::M1_FORWARD => motor(0, seven_bits(value)),
            command::M1_BACKWARD => motor(0, -seven_bits(value)),
            command::M2_FORWARD => motor(1, seven_bits(value)),
            command::M2_BACKWARD => motor(1, -seven_bits(value)),
            command::M1_7_BIT => motor(0, around_64(value)),
            command::M2_7_BIT => motor(1, around_64(value)),
            command::MIXED_FORWARD => self.mixer.drive = Some(seven_bits(value)),
            command::MIXED_BACKWARD => self.mixer.drive = Some(-seven_bits(value)),
            command::MIXED_RIGHT => self.mixer.turn = Some(seven_bits(value)),
            command::MIXED_LEFT => self.mixer.turn = Some(-seven_bits(value)),
            command::MIXED_DRIVE_7_BIT => self.mixer.drive = Some(around_64(value)),
            command::MIXED_TURN_7_BIT => self.mixer.turn = Some(around_64(value)),
            command::SERIAL_TIMEOUT => self.timeout_ns = u64::from(value) * TIMEOUT_UNIT_NS,
            command::BAUD_RATE => {
                let baud = BAUD_RATES.iter().find(|(code, _)| *code == value);
                let allowed = baud.filter(|(_, baud)| unit.profile.line.baud_rates.contains(baud));
                if let Some((_, baud)) = allowed {
                    unit.port.change_rate(at, *baud);
                    self.deaf_until = SimTime(at.0 + self.own.restart_ns);
                }
            }
            _ => {}
        }
        let is_mixed =
            (command::MIXED_FORWARD..=command::MIXED_TURN_7_BIT).contains(&packet.command);
        if let Some(shares) = self.mixer.motors().filter(|_| is_mixed) {
            go(self.is_shut_down, at, shares.map(|share| Some(share * most)), unit);
        }
    }

    fn on_line(&mut self, at: SimTime, line: &[u8], unit: &mut Unit) {
        let Some((target, said)) = text::parse(line) else { return };
        self.fed_at = at;
        let motors = match target {
            Target::Motor(motor) => motor..motor + 1,
            Target::Both | Target::Drive | Target::Turn => 0..2,
        };
        let most = unit.settings.wheels.max_speed_m_s;
        match said {
            TextCommand::Set(share) => {
                match target {
                    Target::Drive => self.mixer.drive = Some(share),
                    Target::Turn => self.mixer.turn = Some(share),
                    Target::Motor(_) | Target::Both => {
                        let mut speeds = [None; 2];
                        speeds[motors].fill(Some(share * most));
                        return go(self.is_shut_down, at, speeds, unit);
                    }
                }
                if let Some(shares) = self.mixer.motors() {
                    go(self.is_shut_down, at, shares.map(|share| Some(share * most)), unit);
                }
            }
            TextCommand::Shutdown => {
                let mut speeds = [None; 2];
                speeds[motors.clone()].fill(Some(0.0));
                unit.drive(at, speeds);
                self.is_shut_down[motors].fill(true);
            }
            TextCommand::Startup => self.is_shut_down[motors].fill(false),
            TextCommand::Keep => {}
            TextCommand::Get
            | TextCommand::Battery
            | TextCommand::Current
            | TextCommand::Temperature => {
                for motor in motors {
                    let tenths = |value: f64| (value * 10.0).round() as i32;
                    let power = &unit.settings.power;
                    let (letter, value) = match said {
                        TextCommand::Battery => ("B", tenths(unit.battery_v())),
                        TextCommand::Current => ("C", tenths(unit.current_a(motor))),
                        TextCommand::Temperature => ("T", power.temperature_c.round() as i32),
                        _ => ("", text::output(unit.setpoint_m_s(motor) / most)),
                    };
                    let answer = format!("M{}:{letter}{value}\r\n", motor + 1);
                    unit.reply(at, answer.into_bytes());
                }
            }
        }
    }

    /// Processes a byte of simplified serial: 1 to 127 for motor 1, 128 to 255 for motor 2, 0 to stop both.
    fn on_simplified(&mut self, at: SimTime, byte: u8, unit: &mut Unit) {
        self.fed_at = at;
        let most = unit.settings.wheels.max_speed_m_s;
        let motors = match byte {
            0 => [Some(0.0); 2],
            1..=127 => [Some(around_64(byte) * most), None],
            _ => [None, Some(((f64::from(byte) - 192.0) / 63.0).clamp(-1.0, 1.0) * most)],
        };
        unit.drive(at, motors);
    }
}

/// Sets the speeds of the motors; motors that are shut down do not change.
fn go(is_shut_down: [bool; 2], at: SimTime, mut motors_m_s: [Option<f64>; 2], unit: &mut Unit) {
    for (speed, _) in motors_m_s.iter_mut().zip(is_shut_down).filter(|(_, is)| *is) {
        *speed = None;
    }
    unit.drive(at, motors_m_s);
}

impl Protocol for SabertoothUnit {
    fn on_input(&mut self, at: SimTime, bytes: &[u8], unit: &mut Unit) {
        if at < self.deaf_until {
            return self.framer.clear();
        }
        match self.own.mode {
            SabertoothMode::Packet => {
                for packet in self.framer.frames(bytes) {
                    self.on_packet(at, packet, unit);
                }
                for byte in bytes {
                    if let Some(line) = self.lines.push(*byte) {
                        self.on_line(at, &line, unit);
                    }
                }
            }
            SabertoothMode::Simplified => {
                bytes.iter().for_each(|byte| self.on_simplified(at, *byte, unit));
            }
        }
    }

    fn next_due(&self, unit: &Unit) -> Option<SimTime> {
        let is_watched = self.timeout_ns > 0 && unit.is_driving();
        is_watched.then_some(SimTime(self.fed_at.0 + self.timeout_ns))
    }

    fn on_time(&mut self, at: SimTime, unit: &mut Unit) {
        unit.stop(at);
    }

    /// The controller does not notice that the motor power is cut: the last command applies again when the power
    /// returns.
    fn on_stop(&mut self, _at: SimTime, _unit: &mut Unit) {}
}
