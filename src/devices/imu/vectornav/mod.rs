//! The VectorNav VN-100: registers, text output, binary outputs.
//!
//! A command is answered once, well before the 50 ms after which VectorNav's library asks again: it
//! takes any answer for the one it waits for, so a second one would shift all that follow.
//!
//! What is not done: counters and status behind text output (register 30), and the filters'
//! tuning registers, which are stored and read back but change nothing.

pub mod registers;

use std::collections::BTreeMap;

use glam::{DMat3, DQuat, DVec3};

use super::output::{Measured, Stream, f32s, ned_from_frd, roll_pitch_yaw};
use super::{Protocol, Unit};
use crate::sensors::imu::{Sample, earth};
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::record::put_le;
use crate::wire::vectornav::binary::{BinaryPacket, Group, Layout};
use crate::wire::vectornav::{Checksum, Format, Frame, Line, VectorNav, error};
use registers::Registers;

/// What the unit can send by itself at power-on, with the code of register 6.
pub const MESSAGES: [(&str, u8); 12] = [
    ("ypr", 1),
    ("qtn", 2),
    ("qmr", 8),
    ("mag", 10),
    ("acc", 11),
    ("gyr", 12),
    ("mar", 13),
    ("ymr", 14),
    ("yba", 16),
    ("yia", 17),
    ("imu", 19),
    ("off", 0),
];

/// A sample as this family tells it: forward-right-down and north-east-down.
struct View {
    measured: Measured,
    attitude: DQuat,
    /// Yaw, pitch, roll, degrees.
    ypr_deg: DVec3,
    temperature_c: f64,
    pressure_kpa: f64,
    time_ns: u64,
    yaw_pitch_roll_std_deg: [f32; 3],
    gravity_m_s2: f64,
}

/// See the module.
pub struct VectorNavUnit {
    framer: Framer<VectorNav>,
    registers: Registers,
    saved: Registers,
    factory: Registers,
    is_paused: bool,
    text: Stream,
    binary: [Stream; 3],
    tare: DQuat,
    latest: Option<View>,
    /// Does not talk before this.
    silent_until: SimTime,
    sample_rate_hz: f64,
}

impl VectorNavUnit {
    /// A unit with the profile's settings saved.
    pub fn new(unit: &Unit, stored: BTreeMap<u8, String>) -> Self {
        let factory = Registers::factory(unit, stored);
        let mut made = Self {
            framer: Framer::new(VectorNav),
            registers: factory.clone(),
            saved: factory.clone(),
            factory,
            is_paused: !unit.settings.is_streaming,
            text: Stream::every(1),
            binary: [const { 1 }; 3].map(Stream::every),
            tare: DQuat::IDENTITY,
            latest: None,
            silent_until: SimTime::ZERO,
            sample_rate_hz: f64::from(unit.profile.sample_rate_hz),
        };
        made.retime(unit);
        made
    }

    /// Streams follow their registers.
    fn retime(&mut self, unit: &Unit) {
        let text = unit.divisor(self.registers.text_rate_hz);
        if self.text.divisor() != text {
            self.text = Stream::every(text);
        }
        for (stream, output) in self.binary.iter_mut().zip(&self.registers.binary) {
            let divisor = u64::from(output.divisor.max(1));
            if stream.divisor() != divisor {
                *stream = Stream::every(divisor);
            }
        }
    }

    fn view(&self, sample: &Sample, measured: Measured, unit: &Unit) -> View {
        let attitude = self.tare * ned_from_frd(sample.attitude);
        let rpy = roll_pitch_yaw(attitude);
        let errors = &unit.settings.model.attitude;
        let deg = |rad: f64| rad.to_degrees() as f32;
        View {
            measured: measured.in_frd(),
            attitude,
            ypr_deg: DVec3::new(rpy.z.to_degrees(), rpy.y.to_degrees(), rpy.x.to_degrees()),
            temperature_c: sample.temperature_c,
            pressure_kpa: sample.pressure_pa / 1000.0,
            time_ns: unit.clock_ns(sample),
            yaw_pitch_roll_std_deg: [
                deg(errors.heading_std_rad),
                deg(errors.roll_pitch_std_rad),
                deg(errors.roll_pitch_std_rad),
            ],
            gravity_m_s2: earth::normal_gravity_m_s2(&sample.truth.place),
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
            }
        }
    }

    /// Carries out a command; the body of the answer, or none if it was given already.
    fn obey(&mut self, now: SimTime, line: &Line, unit: &mut Unit) -> Result<Option<String>, u8> {
        let (command, values) = line.fields();
        let echo = || Ok(Some(line.body.clone()));
        match command {
            "VNRRG" => {
                let id = register_number(values.first())?;
                if values.len() > 1 {
                    return Err(error::TOO_MANY_PARAMETERS);
                }
                let content = self.read(id).ok_or(error::INVALID_REGISTER)?;
                Ok(Some(format!("VNRRG,{id:02},{content}")))
            }
            "VNWRG" => {
                let id = register_number(values.first())?;
                if registers::MEASUREMENTS.contains(&id) {
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
                self.is_paused = match values.first() {
                    Some(&"0") => true,
                    Some(&"1") => false,
                    Some(_) => return Err(error::INVALID_PARAMETER),
                    None => return Err(error::NOT_ENOUGH_PARAMETERS),
                };
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
                if let Some(latest) = &self.latest {
                    self.tare = (self.tare * latest.attitude.conjugate() * self.tare).normalize();
                }
                echo()
            }
            "VNBOM" => {
                let number: usize = values.first().and_then(|v| v.parse().ok()).unwrap_or(0);
                let output = self.registers.binary.get(number.wrapping_sub(1));
                let layout = output.and_then(|output| output.layout);
                let layout = layout.ok_or(error::INVALID_PARAMETER)?;
                if let Some(view) = &self.latest {
                    unit.reply(now, binary(layout, view));
                }
                Ok(None)
            }
            // Hints to the attitude filter, which here is the truth with errors.
            "VNKMD" | "VNKAD" | "VNSGB" => echo(),
            _ => Err(error::INVALID_COMMAND),
        }
    }

    fn restart(&mut self, now: SimTime, unit: &mut Unit) {
        self.registers = self.saved.clone();
        self.is_paused = !unit.settings.is_streaming;
        self.tare = DQuat::IDENTITY;
        self.latest = None;
        self.silent_until = SimTime(now.0 + unit.profile.boot_ns);
        unit.restart(self.silent_until);
        if self.registers.baud_rate != unit.port.line().baud {
            unit.port.change_rate(now, self.registers.baud_rate);
        }
        self.retime(unit);
    }

    /// What a register holds.
    fn read(&self, id: u8) -> Option<String> {
        if !registers::MEASUREMENTS.contains(&id) {
            return self.registers.read(id);
        }
        let Some(view) = &self.latest else { return Some(String::new()) };
        let code = match id {
            8 => 1,
            9 => 2,
            15 => 8,
            17 => 10,
            18 => 11,
            19 => 12,
            20 => 13,
            27 => 14,
            _ => 19,
        };
        let body = text(code, view)?;
        Some(body.split_once(',')?.1.to_owned())
    }

    fn bytes_per_second(&self) -> f64 {
        let line = match self.registers.text_type {
            0 => 0.0,
            // The longest line, quaternion, field, acceleration and rate, has 145 bytes.
            _ => 145.0 * f64::from(self.registers.text_rate_hz),
        };
        let packets = self.registers.binary.iter().map(|output| match output.layout {
            Some(layout) if output.is_on() => {
                layout.packet_len() as f64 * self.sample_rate_hz / f64::from(output.divisor)
            }
            _ => 0.0,
        });
        line + packets.sum::<f64>()
    }
}

fn register_number(value: Option<&&str>) -> Result<u8, u8> {
    let value = value.ok_or(error::NOT_ENOUGH_PARAMETERS)?;
    value.parse().map_err(|_| error::INVALID_REGISTER)
}

impl Protocol for VectorNavUnit {
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit) {
        let (dt_s, decimation) = (unit.dt_s(), unit.profile.decimation);
        let text_output = self.text.step(sample, dt_s, decimation);
        let outputs = self.binary.each_mut().map(|s| s.step(sample, dt_s, decimation));
        if sample.truth.at < self.silent_until {
            return;
        }
        if let Some(measured) = text_output {
            let view = self.view(sample, measured, unit);
            if !self.is_paused
                && let Some(body) = text(self.registers.text_type, &view)
            {
                let bytes = self.line(body);
                unit.report(sample, bytes);
            }
            self.latest = Some(view);
        }
        for (place, measured) in outputs.into_iter().enumerate() {
            let output = &self.registers.binary[place];
            let (Some(measured), Some(layout), true) =
                (measured, output.layout, output.is_on() && !self.is_paused)
            else {
                continue;
            };
            let view = self.view(sample, measured, unit);
            unit.report(sample, binary(layout, &view));
        }
    }

    fn on_input(&mut self, now: SimTime, bytes: &[u8], unit: &mut Unit) {
        if now < self.silent_until {
            return;
        }
        for frame in self.framer.frames(bytes) {
            // Binary packets only ever leave a unit.
            let Frame::Line(line) = frame else { continue };
            self.on_line(now, &line, unit);
            if now < self.silent_until {
                // What came behind a reset is not heard.
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
            _ => self.sample_rate_hz / self.text.divisor() as f64,
        };
        let binary = self.registers.binary.iter().filter(|output| output.is_on());
        text + binary.map(|o| self.sample_rate_hz / f64::from(o.divisor.max(1))).sum::<f64>()
    }
}

/// A line of text output without `$` and checksum; `None` for type 0.
fn text(code: u8, view: &View) -> Option<String> {
    let (name, _) = MESSAGES.iter().find(|(_, c)| *c == code && code != 0)?;
    let mut body = format!("VN{}", name.to_ascii_uppercase());
    let m = &view.measured;
    let q = view.attitude;
    let gravity = DVec3::Z * view.gravity_m_s2;
    let ypr = |body: &mut String| Format::Angle.put(body, &view.ypr_deg.to_array());
    let quaternion = |body: &mut String| Format::Quaternion.put(body, &[q.x, q.y, q.z, q.w]);
    let mag = |body: &mut String| Format::Magnetic.put(body, &m.mag.to_array());
    let put_accel =
        |body: &mut String, accel: DVec3| Format::Acceleration.put(body, &accel.to_array());
    let rate = |body: &mut String| Format::AngularRate.put(body, &m.gyro.to_array());
    match code {
        1 => ypr(&mut body),
        2 => quaternion(&mut body),
        10 => mag(&mut body),
        11 => put_accel(&mut body, m.accel),
        12 => rate(&mut body),
        8 | 13 | 14 => {
            match code {
                8 => quaternion(&mut body),
                14 => ypr(&mut body),
                _ => {}
            }
            mag(&mut body);
            put_accel(&mut body, m.accel);
            rate(&mut body);
        }
        16 => {
            ypr(&mut body);
            put_accel(&mut body, m.accel + q.conjugate() * gravity);
            rate(&mut body);
        }
        17 => {
            ypr(&mut body);
            put_accel(&mut body, q * m.accel + gravity);
            rate(&mut body);
        }
        _ => {
            mag(&mut body);
            put_accel(&mut body, m.accel);
            rate(&mut body);
            Format::Temperature.put(&mut body, &[view.temperature_c]);
            Format::Pressure.put(&mut body, &[view.pressure_kpa]);
        }
    }
    Some(body)
}

/// A binary output. What a unit without GNSS cannot know is zero.
fn binary(layout: Layout, view: &View) -> Vec<u8> {
    let packet = BinaryPacket::build(layout, |group, bit, out| {
        let start = out.len();
        match group {
            Group::Common => common(bit, view, out),
            Group::Time => {
                if bit == 0 {
                    out.extend(view.time_ns.to_le_bytes());
                }
            }
            Group::Imu => imu(bit, view, out),
            Group::Attitude => attitude(bit, view, out),
            Group::Gps1 | Group::Ins | Group::Gps2 => {}
        }
        out.resize(start + group.field_lengths()[usize::from(bit)], 0);
    });
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

fn quaternion(view: &View, out: &mut Vec<u8>) {
    let q = view.attitude;
    put_le(out, &[q.x, q.y, q.z, q.w].map(|x| x as f32));
}

fn delta_angle(view: &View, out: &mut Vec<u8>) {
    put_le(out, &[view.measured.interval_s as f32]);
    put_le(out, &f32s(view.measured.delta_angle * 1f64.to_degrees()));
}

fn common(bit: u8, view: &View, out: &mut Vec<u8>) {
    let m = &view.measured;
    match bit {
        0 => out.extend(view.time_ns.to_le_bytes()),
        3 => put_le(out, &f32s(view.ypr_deg)),
        4 => quaternion(view, out),
        5 => put_le(out, &f32s(m.gyro)),
        8 => put_le(out, &f32s(m.accel)),
        9 => {
            put_le(out, &f32s(m.accel));
            put_le(out, &f32s(m.gyro));
        }
        10 => {
            put_le(out, &f32s(m.mag));
            put_le(out, &[view.temperature_c as f32, view.pressure_kpa as f32]);
        }
        11 => {
            delta_angle(view, out);
            put_le(out, &f32s(m.delta_velocity));
        }
        _ => {}
    }
}

fn imu(bit: u8, view: &View, out: &mut Vec<u8>) {
    let m = &view.measured;
    match bit {
        1 | 8 => put_le(out, &f32s(m.mag)),
        2 | 9 => put_le(out, &f32s(m.accel)),
        3 | 10 => put_le(out, &f32s(m.gyro)),
        4 => put_le(out, &[view.temperature_c as f32]),
        5 => put_le(out, &[view.pressure_kpa as f32]),
        6 => delta_angle(view, out),
        7 => put_le(out, &f32s(m.delta_velocity)),
        11 => {
            // Saturation: magnetometer x, y, z, accelerometer x, y, z, gyro x, y, z from bit 0 on.
            let axes = [m.clipped.mag, m.clipped.accel, m.clipped.gyro];
            let bits = axes.iter().flatten().enumerate();
            let word = bits.fold(0u16, |word, (bit, on)| word | u16::from(*on) << bit);
            out.extend(word.to_le_bytes());
        }
        _ => {}
    }
}

fn attitude(bit: u8, view: &View, out: &mut Vec<u8>) {
    let m = &view.measured;
    let q = view.attitude;
    let gravity = DVec3::Z * view.gravity_m_s2;
    match bit {
        1 => put_le(out, &f32s(view.ypr_deg)),
        2 => quaternion(view, out),
        3 => {
            // Body from north-east-down, column by column.
            let matrix = DMat3::from_quat(q.conjugate()).to_cols_array();
            put_le(out, &matrix.map(|x| x as f32));
        }
        4 => put_le(out, &f32s(q * m.mag)),
        5 => put_le(out, &f32s(q * m.accel)),
        6 => put_le(out, &f32s(m.accel + q.conjugate() * gravity)),
        7 => put_le(out, &f32s(q * m.accel + gravity)),
        8 => put_le(out, &view.yaw_pitch_roll_std_deg),
        _ => {}
    }
}
