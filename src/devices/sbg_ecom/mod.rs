//! SBG Ellipse: logs at divisors of a main loop of 200 Hz, and the commands of sbgECom.
//!
//! The unit acknowledges settings, and answers a query with a frame of the same command. Clients that only receive logs
//! send no commands.
//!
//! | file | holds |
//! |---|---|
//! | `settings` | settings and their effects |
//! | `logs`, `gnss` | logs of a sample |
//! | `magnetic` | on-board calibration of the magnetometer |

mod answers;
mod decoder;
mod gnss;
mod logs;
mod magnetic;
pub mod settings;

use std::collections::BTreeMap;

use self::answers::SbgAnswers;
pub use self::logs::MESSAGES;
use self::logs::{Heave, NEVER_SENT, log as log_of};
use self::magnetic::MagneticCalibration;
use self::settings::Settings;
use crate::imu::answers::read as read_answers;
use crate::imu::conditioning::{Conditioning, Correction};
use crate::imu::output::{Stream, frd};
use crate::imu::{ImuFamily, Protocol, Unit};
use crate::sensors::imu::Sample;
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::sbg_ecom::{Frame, OUTPUT_DIVISORS, SbgEcom, class, code, command, log};

/// Family of the SBG Ellipse with the protocol sbgECom.
pub const FAMILY: ImuFamily = ImuFamily {
    key: "sbg-ecom",
    messages: || MESSAGES.iter().map(|(name, ..)| *name).collect(),
    dialect: read_answers::<SbgAnswers>,
    commands: &[("sbgECom commands", include_str!("commands.csv"))],
    decoder: decoder::decoder,
};

/// Output mode "with each PPS". Smaller modes are divisors of the main loop.
const WITH_PULSE: u16 = 10_000;
/// Output mode "with new data".
const WITH_NEW_DATA: u16 = 10_001;

/// Type of the GNSS receiver: NovAtel OEM617D.
const GNSS_TYPE: u8 = 5;
/// Signals of the GNSS receiver: GPS L1 and L2, GLONASS L1 and L2.
const GNSS_SIGNALS: u32 = 0x1b;
/// Capability: heading from two antennas.
const GNSS_DUAL_ANTENNA: u32 = 1;
/// Number of the output port that is the serial line.
const PORT_A: u8 = 0;
/// Number of a second output port, which is not connected.
const PORT_E: u8 = 4;

/// An Ellipse unit.
pub struct SbgUnit {
    /// Fixed answers.
    answers: SbgAnswers,
    framer: Framer<SbgEcom>,
    /// Configuration in use.
    set: Configuration,
    /// Configuration from which the unit starts.
    saved: Configuration,
    streams: BTreeMap<u8, Stream>,
    magnetic: MagneticCalibration,
    heave: Heave,
    silent_until: SimTime,
    sample_rate_hz: f64,
}

/// What commands set and `SETTINGS_ACTION` saves.
#[derive(Clone)]
struct Configuration {
    /// Output mode of each log: its period in main loops, [`WITH_PULSE`] or [`WITH_NEW_DATA`]; 0: the log is not sent.
    divisors: BTreeMap<u8, u16>,
    is_class_on: bool,
    /// Stored output modes that have no effect, because they belong to the second port or to logs that the unit never
    /// sends. The key consists of port, class and message.
    other_outputs: BTreeMap<(u8, u8, u8), u16>,
    /// Stored switches of whole classes that have no effect. The key consists of port and class.
    other_classes: BTreeMap<(u8, u8), bool>,
    settings: Settings,
    /// Rate of the serial line, bits per second.
    baud_rate: u32,
}

impl SbgUnit {
    /// A unit that sends the profile's logs.
    pub fn new(unit: &Unit, answers: SbgAnswers) -> Self {
        let loops = unit.divisor(unit.settings.rate_hz) as u16;
        let is_listed = |name: &str| unit.settings.messages.iter().any(|m| m == name);
        let divisors: BTreeMap<u8, u16> = MESSAGES
            .iter()
            .map(|(name, id)| (*id, if is_listed(name) { loops } else { 0 }))
            .collect();
        let set = Configuration {
            divisors,
            is_class_on: unit.settings.is_streaming,
            other_outputs: BTreeMap::new(),
            other_classes: BTreeMap::new(),
            settings: Settings::factory(&answers.stored),
            baud_rate: unit.settings.baud_rate,
        };
        let mut made = Self {
            answers,
            framer: Framer::new(SbgEcom),
            saved: set.clone(),
            set,
            streams: BTreeMap::new(),
            magnetic: MagneticCalibration::default(),
            heave: Heave::default(),
            silent_until: SimTime::ZERO,
            sample_rate_hz: f64::from(unit.profile.output.sample_rate_hz),
        };
        made.retime(unit);
        made
    }

    fn retime(&mut self, unit: &Unit) {
        let on = self.set.divisors.iter().filter(|(_, mode)| **mode > 0);
        let wanted: Vec<(u8, u64)> =
            on.map(|(id, mode)| (*id, self.loops(*id, *mode, unit))).collect();
        let mut before = std::mem::take(&mut self.streams);
        self.streams = wanted
            .into_iter()
            .map(|(id, loops)| {
                let same = before.remove(&id).filter(|s| s.divisor() == loops);
                (id, same.unwrap_or_else(|| Stream::every(loops)))
            })
            .collect();
    }

    /// Number of main loops from one log `id` to the next in the output mode `mode`.
    fn loops(&self, id: u8, mode: u16, unit: &Unit) -> u64 {
        let is_of_receiver = matches!(id, log::GPS1_VEL | log::GPS1_POS | log::GPS1_HDT);
        let receiver = unit.divisor(self.answers.gnss_rate_hz);
        match mode {
            WITH_PULSE => unit.profile.output.sample_rate_hz.into(),
            WITH_NEW_DATA if is_of_receiver => receiver,
            WITH_NEW_DATA => 1,
            // The GNSS receiver has no new data in between.
            divisor if is_of_receiver => receiver.max(divisor.into()),
            divisor => divisor.into(),
        }
    }

    /// Output mode of a log at a port; `None` for ports or logs that the unit lacks.
    fn output(&self, port: u8, class: u8, id: u8) -> Option<u16> {
        let is_known = self.set.divisors.contains_key(&id) || NEVER_SENT.contains(&id);
        if class != class::LOG || !is_known {
            return None;
        }
        let other = || self.set.other_outputs.get(&(port, class, id)).copied().unwrap_or(0);
        match port {
            PORT_A => Some(self.set.divisors.get(&id).copied().unwrap_or_else(other)),
            PORT_E => Some(other()),
            _ => None,
        }
    }

    fn say(unit: &mut Unit, now: SimTime, frame: &Frame) {
        let mut bytes = Vec::new();
        frame.emit(&mut bytes);
        unit.reply(now, bytes);
    }

    fn on_command(&mut self, now: SimTime, frame: &Frame, unit: &mut Unit) {
        let message = frame.message;
        let answer = |data: Vec<u8>| Frame { message, class: class::COMMAND, data };
        let mut restarts = false;
        let reply = match (message, frame.data.as_slice()) {
            (command::INFO, []) => answer(info(unit)),
            (command::FEATURES, []) => answer(features(&self.answers)),
            (command::OUTPUT_CONF, &[port, id, class]) => match self.output(port, class, id) {
                Some(loops) => answer([&[port, id, class][..], &loops.to_le_bytes()].concat()),
                None => Frame::ack(message, code::INVALID_PARAMETER),
            },
            (command::OUTPUT_CONF, &[port, id, class, low, high]) => {
                let loops = u16::from_le_bytes([low, high]);
                let is_mode = matches!(loops, 0 | WITH_PULSE | WITH_NEW_DATA)
                    || OUTPUT_DIVISORS.contains(&loops);
                if is_mode && self.output(port, class, id).is_some() {
                    if port == PORT_A && self.set.divisors.contains_key(&id) {
                        self.set.divisors.insert(id, loops);
                        self.retime(unit);
                    } else {
                        self.set.other_outputs.insert((port, class, id), loops);
                    }
                    Frame::ack(message, code::NO_ERROR)
                } else {
                    Frame::ack(message, code::INVALID_PARAMETER)
                }
            }
            (command::OUTPUT_CLASS_ENABLE, &[PORT_A, class::LOG]) => {
                answer(vec![PORT_A, class::LOG, self.set.is_class_on.into()])
            }
            (command::OUTPUT_CLASS_ENABLE, &[PORT_A, class::LOG, on @ (0 | 1)]) => {
                self.set.is_class_on = on == 1;
                Frame::ack(message, code::NO_ERROR)
            }
            (command::OUTPUT_CLASS_ENABLE, &[port @ (PORT_A | PORT_E), class @ 0..=4]) => {
                let is_on = self.set.other_classes.get(&(port, class)).copied().unwrap_or(true);
                answer(vec![port, class, is_on.into()])
            }
            (
                command::OUTPUT_CLASS_ENABLE,
                &[port @ (PORT_A | PORT_E), class @ 0..=4, on @ (0 | 1)],
            ) => {
                self.set.other_classes.insert((port, class), on == 1);
                Frame::ack(message, code::NO_ERROR)
            }
            (command::START_MAG_CALIB, data) => {
                let code = self.magnetic.start(data).err();
                Frame::ack(message, code.unwrap_or(code::NO_ERROR))
            }
            (command::COMPUTE_MAG_CALIB, []) => answer(self.magnetic.result()),
            (command::UART_CONF, &[0]) => {
                // Port A, mode "main".
                answer([&[0][..], &self.set.baud_rate.to_le_bytes(), &[1]].concat())
            }
            (command::UART_CONF, &[0, a, b, c, d, _]) => {
                let baud = u32::from_le_bytes([a, b, c, d]);
                if unit.profile.line.serial.baud_rates.contains(&baud) {
                    self.set.baud_rate = baud;
                    Frame::ack(message, code::NO_ERROR)
                } else {
                    Frame::ack(message, code::INVALID_PARAMETER)
                }
            }
            (command::SETTINGS_ACTION, &[action @ 0..=2]) => {
                match action {
                    1 => self.saved = self.set.clone(),
                    2 => self.saved = Self::new(unit, self.answers.clone()).saved,
                    _ => {}
                }
                restarts = true;
                Frame::ack(message, code::NO_ERROR)
            }
            (_, data) => match self.set.settings.obey(message, data) {
                Ok(Some(stored)) => answer(stored),
                Ok(None) => Frame::ack(message, code::NO_ERROR),
                Err(code) => Frame::ack(message, code),
            },
        };
        Self::say(unit, now, &reply);
        if restarts {
            self.set = self.saved.clone();
            self.retime(unit);
            self.magnetic = MagneticCalibration::default();
            self.heave = Heave::default();
            self.silent_until = SimTime(now.0 + unit.profile.line.serial.boot_ns);
            unit.restart(self.silent_until);
        }
        // The answer is sent at the old rate.
        if self.set.baud_rate != unit.port.line().baud {
            unit.port.change_rate(now, self.set.baud_rate);
        }
    }
}

/// Data about the features of the unit and of its GNSS receiver: 110 bytes in the layout of sbgECom.
fn features(answers: &SbgAnswers) -> Vec<u8> {
    // Capabilities: IMU, attitude, navigation, ship motion.
    let mut data = 0xf_u32.to_le_bytes().to_vec();
    data.extend([GNSS_TYPE, answers.gnss_rate_hz.min(255) as u8]);
    data.extend(GNSS_SIGNALS.to_le_bytes());
    data.extend(GNSS_DUAL_ANTENNA.to_le_bytes());
    // Product code, serial number and firmware of the GNSS receiver are unknown.
    data.extend([0; 3 * 32]);
    data
}

/// Data of the unit's identity: product code, serial number, calibration date and versions; 52 bytes in the layout of
/// the library.
fn info(unit: &Unit) -> Vec<u8> {
    let identity = &unit.profile.identity;
    let mut data = identity.model.clone().into_bytes();
    data.resize(32, 0);
    data.extend(identity.serial.parse::<u32>().unwrap_or(0).to_le_bytes());
    data.extend([0; 4]);
    let start = unit.epoch.civil(SimTime::ZERO);
    data.extend((start.year() as u16).to_le_bytes());
    data.extend([start.month() as u8, start.day() as u8]);
    data.extend(revision(&identity.hardware).to_le_bytes());
    data.extend(revision(&identity.firmware).to_le_bytes());
    data
}

/// Version such as `2.5.1` as one integer: one byte each for major, minor, revision and build, major in the highest
/// byte.
fn revision(text: &str) -> u32 {
    let mut numbers = text.split('.').map(|n| n.parse::<u8>().unwrap_or(0));
    u32::from_be_bytes(std::array::from_fn(|_| numbers.next().unwrap_or(0)))
}

impl Protocol for SbgUnit {
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit) {
        let (dt_s, decimation) = (unit.dt_s(), unit.profile.output.decimation);
        let is_heard = self.set.is_class_on && sample.truth.at >= self.silent_until;
        let usual = unit.profile.output.magnetic_unit_gauss;
        self.magnetic.step(frd(sample.mag.value) / usual);
        self.heave.step(sample, dt_s);
        let mag = self.set.settings.magnetometer();
        let conditioning = Conditioning {
            mag: Correction { offset: mag.offset * usual, ..mag },
            user_from_sensor: self.set.settings.vehicle_from_sensor(),
            ..Conditioning::NONE
        };
        let sample = &conditioning.apply(sample);
        for (_, id) in MESSAGES {
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            let Some(measured) = stream.step(sample, dt_s, decimation) else { continue };
            if is_heard {
                let mut bytes = Vec::new();
                let measured = measured.in_frd();
                let log = log_of(
                    id,
                    sample,
                    &measured,
                    &self.set.settings,
                    &self.heave,
                    &self.answers,
                    unit,
                );
                log.frame().emit(&mut bytes);
                unit.report(sample, bytes);
            }
        }
    }

    fn on_input(&mut self, now: SimTime, bytes: &[u8], unit: &mut Unit) {
        if now < self.silent_until {
            return;
        }
        for frame in self.framer.frames(bytes) {
            // Acknowledgements are not answered.
            if frame.class != class::COMMAND || frame.message == command::ACK {
                continue;
            }
            self.on_command(now, &frame, unit);
            if now < self.silent_until {
                // Bytes after a reset command are ignored.
                self.framer.clear();
                break;
            }
        }
    }

    fn rate_hz(&self) -> f64 {
        let on = self.streams.values().filter(|_| self.set.is_class_on);
        on.map(|stream| self.sample_rate_hz / stream.divisor() as f64).sum()
    }
}

#[cfg(test)]
mod tests;
