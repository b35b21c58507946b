//! The VectorNav VN-100: registers, text output, binary outputs.
//!
//! A command is answered once, well before the 50 ms after which VectorNav's library repeats it. The library
//! takes any answer for the expected one, so a second answer would shift all later answers.
//!
//! | file | holds |
//! |---|---|
//! | `registers` | registers and their effects |
//! | `view` | processing from a sample to the values of outputs |
//! | `text`, `packets` | text and binary output |

mod answers;
mod decoder;
mod models;
mod names;
mod packets;
pub mod registers;
mod text;
mod view;

use std::collections::BTreeMap;

use glam::DQuat;

use self::answers::VectorNavAnswers;
pub use self::names::MESSAGES;
use self::packets::binary;
use self::registers::{MEASUREMENTS, Registers, Started};
use self::text::{line_len, suffix, text};
use self::view::{Chain, Increments, Processed, View, ViewStream};
use crate::imu::answers::read as read_answers;
use crate::imu::{ImuFamily, Protocol, Unit};
use crate::sensors::imu::Sample;
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::vectornav::binary::Group;
use crate::wire::vectornav::{Checksum, Frame, Line, VectorNav, error};

/// Family of VectorNav's VN-100.
pub const FAMILY: ImuFamily = ImuFamily {
    key: "vectornav",
    messages: || MESSAGES.iter().map(|(name, ..)| *name).collect(),
    dialect: read_answers::<VectorNavAnswers>,
    commands: &[("VectorNav registers", include_str!("commands.csv"))],
    decoder: decoder::decoder,
};

/// A VN-100 unit.
pub struct VectorNavUnit {
    framer: Framer<VectorNav>,
    registers: Registers,
    saved: Registers,
    factory: Registers,
    is_paused: bool,
    /// Settings that took effect at the last start.
    started: Started,
    chain: Chain,
    text: ViewStream,
    binary: [ViewStream; 3],
    /// Sums of angle and velocity increments since a host last asked for them: by register 80 (0), by `VNBOM` for output
    /// 1 to 3.
    polled: [Increments; 4],
    tare: DQuat,
    latest: Option<Processed>,
    /// Time until which the unit is silent.
    silent_until: SimTime,
    sample_rate_hz: f64,
}

impl VectorNavUnit {
    /// A unit that has saved the profile's settings; `stored` has the contents of the registers that the profile lists.
    pub fn new(unit: &Unit, stored: BTreeMap<u8, String>) -> Self {
        let factory = Registers::factory(unit, stored);
        let started = factory.at_start();
        let mut made = Self {
            framer: Framer::new(VectorNav),
            registers: factory.clone(),
            saved: factory.clone(),
            factory,
            is_paused: !unit.settings.is_streaming,
            started,
            chain: Chain::default(),
            text: ViewStream::every(1),
            binary: [const { 1 }; 3].map(ViewStream::every),
            polled: Default::default(),
            tare: DQuat::IDENTITY,
            latest: None,
            silent_until: SimTime::ZERO,
            sample_rate_hz: f64::from(unit.profile.output.sample_rate_hz),
        };
        made.retime(unit);
        made
    }

    /// Restarts the streams whose rates the registers have changed.
    fn retime(&mut self, unit: &Unit) {
        let text = unit.divisor(self.registers.text_rate_hz);
        if self.text.divisor() != text {
            self.text = ViewStream::every(text);
        }
        for (stream, output) in self.binary.iter_mut().zip(&self.registers.binary) {
            let divisor = u64::from(output.divisor.max(1));
            if stream.divisor() != divisor {
                *stream = ViewStream::every(divisor);
            }
        }
    }

    fn line(&self, body: impl Into<String>) -> Vec<u8> {
        let checksum =
            if self.registers.has_long_checksum() { Checksum::Crc16 } else { Checksum::Xor };
        let mut bytes = Vec::new();
        Line::new(body, checksum).emit(&mut bytes);
        bytes
    }

    fn on_line(&mut self, now: SimTime, line: &Line, unit: &mut Unit) {
        let answer = match line.checked() {
            None => Err(error::INVALID_CHECKSUM),
            Some(_) => self.obey(now, line, unit),
        };
        match answer {
            Ok(Some(body)) => unit.reply(now, self.line(body)),
            Ok(None) => {}
            Err(code) => {
                if self.registers.reports_errors() {
                    unit.reply(now, self.line(format!("VNERR,{code:02X}")));
                }
                if self.registers.errors_stop_text() {
                    self.registers.text_type = 0;
                }
            }
        }
    }

    /// Executes a command. Returns the body of the answer, or `None` if no further answer is needed; the error is a
    /// code of `$VNERR`.
    fn obey(&mut self, now: SimTime, line: &Line, unit: &mut Unit) -> Result<Option<String>, u8> {
        let (command, values) = line.fields();
        let echo = || Ok(Some(line.body.clone()));
        match command {
            "VNRRG" => {
                let id = register_number(values.first())?;
                let content = match values[1..] {
                    [] => self.read(id, unit).ok_or(error::INVALID_REGISTER)?,
                    [port] => format!("{},{port}", self.registers.read_of_port(id, port)?),
                    _ => return Err(error::TOO_MANY_PARAMETERS),
                };
                Ok(Some(format!("VNRRG,{id:02},{content}")))
            }
            "VNWRG" => {
                let id = register_number(values.first())?;
                if MEASUREMENTS.iter().any(|(known, _)| *known == id) {
                    return Err(error::UNAUTHORIZED_ACCESS);
                }
                let before = self.registers.clone();
                self.registers.write(id, &values[1..], &unit.profile)?;
                let byte_rate = self.bytes_per_second();
                if byte_rate > f64::from(self.registers.baud_rate) / 10.0 {
                    self.registers = before;
                    return Err(error::INSUFFICIENT_BAUD_RATE);
                }
                unit.reply(now, self.line(format!("VNWRG,{id:02},{}", values[1..].join(","))));
                if self.registers.baud_rate != unit.port.line().baud {
                    unit.port.change_rate(now, self.registers.baud_rate);
                }
                self.retime(unit);
                Ok(None)
            }
            "VNASY" => {
                self.is_paused = !switch(values.first())?;
                echo()
            }
            "VNWNV" => {
                self.saved = self.registers.clone();
                echo()
            }
            "VNRST" | "VNRFS" => {
                if command == "VNRFS" {
                    self.saved = self.factory.clone();
                }
                unit.reply(now, self.line(line.body.clone()));
                self.restart(now, unit);
                Ok(None)
            }
            "VNTAR" => {
                if let Some(view) = self.view(None, unit) {
                    self.tare = view.ned_from_body.conjugate();
                }
                echo()
            }
            "VNBOM" => {
                let number: usize = values.first().and_then(|v| v.parse().ok()).unwrap_or(0);
                let output = self.registers.binary.get(number.wrapping_sub(1));
                let layout = output.and_then(|output| output.layout);
                let layout = layout.ok_or(error::INVALID_PARAMETER)?;
                let has_increments = layout.fields().any(|(group, bit, _)| {
                    matches!((group, bit), (Group::Common, 11) | (Group::Imu, 6 | 7))
                });
                if let Some(view) = self.view(has_increments.then_some(number), unit) {
                    unit.reply(now, binary(layout, &view));
                }
                Ok(None)
            }
            // The filter's status reports the disturbance; the emulated attitude is not affected.
            "VNKMD" | "VNKAD" => {
                let on = switch(values.first())?;
                self.registers.known_disturbances[usize::from(command == "VNKAD")] = on;
                echo()
            }
            "VNSGB" => {
                self.registers.set_startup_bias(self.chain.gyro_bias_rad_s());
                echo()
            }
            _ => Err(error::INVALID_COMMAND),
        }
    }

    fn restart(&mut self, now: SimTime, unit: &mut Unit) {
        self.registers = self.saved.clone();
        self.started = self.registers.at_start();
        self.chain = Chain::default();
        self.polled = Default::default();
        self.is_paused = !unit.settings.is_streaming;
        self.tare = DQuat::IDENTITY;
        self.latest = None;
        self.silent_until = SimTime(now.0 + unit.profile.line.serial.boot_ns);
        unit.restart(self.silent_until);
        if self.registers.baud_rate != unit.port.line().baud {
            unit.port.change_rate(now, self.registers.baud_rate);
        }
        self.retime(unit);
    }

    /// Output values of the latest sample, for a host that asks for them; `None` before the first sample. With
    /// `sums`, an index of `polled`, the increments are those since the last such call.
    fn view(&mut self, sums: Option<usize>, unit: &Unit) -> Option<View> {
        let now = self.latest.as_ref()?;
        let mut view = ViewStream::every(1).step(now, &self.registers, self.tare, unit)?;
        if let Some(sums) = sums {
            view.delta = self.polled[sums].take(now, self.registers.effects().increments, unit);
        }
        Some(view)
    }

    /// Content of register `id`; `None` if it cannot be read. Reading register 80 restarts its sums.
    fn read(&mut self, id: u8, unit: &Unit) -> Option<String> {
        let Some((_, code)) = MEASUREMENTS.iter().find(|(known, _)| *known == id) else {
            return self.registers.read(id);
        };
        let Some(view) = self.view((id == 80).then_some(0), unit) else {
            return Some(String::new());
        };
        let body = text(*code, &view)?;
        Some(body.split_once(',')?.1.to_owned())
    }

    fn bytes_per_second(&self) -> f64 {
        let registers = &self.registers;
        let appended = registers.effects().appended;
        let line_len = line_len(registers.text_type, appended, registers.has_long_checksum());
        let line = line_len as f64 * f64::from(registers.text_rate_hz);
        let packets = self.registers.binary.iter().map(|output| match output.layout {
            Some(layout) if output.is_on() => {
                layout.packet_len() as f64 * self.sample_rate_hz / f64::from(output.divisor)
            }
            _ => 0.0,
        });
        line + packets.sum::<f64>()
    }
}

fn switch(value: Option<&&str>) -> Result<bool, u8> {
    match value {
        Some(&"0") => Ok(false),
        Some(&"1") => Ok(true),
        Some(_) => Err(error::INVALID_PARAMETER),
        None => Err(error::NOT_ENOUGH_PARAMETERS),
    }
}

fn register_number(value: Option<&&str>) -> Result<u8, u8> {
    let value = value.ok_or(error::NOT_ENOUGH_PARAMETERS)?;
    value.parse().map_err(|_| error::INVALID_REGISTER)
}

impl Protocol for VectorNavUnit {
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit) {
        let [outputs_wait, samples_wait] = self.registers.effects().waits_for_sync;
        if samples_wait {
            return;
        }
        self.registers.count_sync_out(sample.index);
        let now = self.chain.step(sample, &self.registers, &self.started, unit);
        self.polled.iter_mut().for_each(|sums| sums.step(&now));
        let text_view = self.text.step(&now, &self.registers, self.tare, unit);
        let views = self.binary.each_mut().map(|s| s.step(&now, &self.registers, self.tare, unit));
        self.latest = Some(now);
        if sample.truth.at < self.silent_until {
            return;
        }
        if let Some(view) = text_view
            && !self.is_paused
            && !outputs_wait
            && let Some(body) = text(self.registers.text_type, &view)
        {
            let bytes = self.line(body + &suffix(self.registers.effects().appended, &view));
            unit.report(sample, bytes);
        }
        for (view, output) in views.into_iter().zip(&self.registers.binary) {
            let is_on = output.is_on() && !self.is_paused;
            if let (Some(view), Some(layout), true) = (view, output.layout, is_on) {
                unit.report(sample, binary(layout, &view));
            }
        }
    }

    fn on_input(&mut self, now: SimTime, bytes: &[u8], unit: &mut Unit) {
        if now < self.silent_until {
            return;
        }
        for frame in self.framer.frames(bytes) {
            // Hosts do not send binary packets.
            let Frame::Line(line) = frame else { continue };
            self.on_line(now, &line, unit);
            if now < self.silent_until {
                // Bytes after a reset command are ignored.
                self.framer.clear();
                break;
            }
        }
    }

    fn rate_hz(&self) -> f64 {
        if self.is_paused {
            return 0.0;
        }
        let text = match self.registers.text_type {
            0 => 0.0,
            _ if self.registers.effects().waits_for_sync[0] => 0.0,
            _ => self.sample_rate_hz / self.text.divisor() as f64,
        };
        let binary = self.registers.binary.iter().filter(|output| output.is_on());
        text + binary.map(|o| self.sample_rate_hz / f64::from(o.divisor.max(1))).sum::<f64>()
    }
}

#[cfg(test)]
mod tests;
