//! MicroStrain 3DM: hosts send commands in packets, and the unit answers each packet. The host selects fields and
//! decimations of two data streams, one of the sensors and one of the filter.
//!
//! The first field of an answer has the result of the command; the next field has the requested data. Unknown commands
//! are refused.
//!
//! | file | holds |
//! |---|---|
//! | `commands` | descriptors of commands |
//! | `base` | commands of the sets base and system, and the device's status |
//! | `gps_time` | GPS time, which a host sets |
//! | `settings` | values that are written, read, saved, loaded and reset by one rule |
//! | `streams` | formats, streams on and off |
//! | `low_pass` | low-pass filters of scaled quantities |
//! | `filter_commands` | commands of the filter that are not settings |
//! | `estimator` | the estimation filter as hosts see it |
//! | `fields` | data fields of a sample |
//! | `identity` | identity of the unit |
//!
//! The user's biases and iron compensation (sensor frame) are applied to a sample first, then the rotation to the
//! vehicle frame, then the low-pass filters.

mod answers;
mod base;
pub mod commands;
mod decoder;
mod estimator;
mod fields;
mod filter_commands;
mod gps_time;
mod identity;
mod low_pass;
pub mod settings;
mod state;
mod streams;

use glam::DVec3;

use self::answers::MipAnswers;
use self::commands::{VEHICLE, dm, function};
pub use self::fields::DATA as MESSAGES;
use self::fields::{DATA, Moment, field};
use self::gps_time::GpsTime;
use self::identity::range;
use self::low_pass::Filters;
use self::settings::{Memory, Values};
use self::state::{LowPass, MipSettings};
use self::streams::{DataStream, MAX_FIELDS, place_of};
use crate::frames::quat_from_rpy;
use crate::imu::answers::read as read_answers;
use crate::imu::conditioning::{Conditioning, Correction};
use crate::imu::output::{Measured, Stream, frd};
use crate::imu::{ImuFamily, Protocol, Unit};
use crate::sensors::imu::{Sample, earth};
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::mip::{Field, Mip, Packet, reply, set};
use estimator::Estimator;

/// Family of the MicroStrain 3DM with the protocol MIP.
pub const FAMILY: ImuFamily = ImuFamily {
    key: "microstrain-mip",
    messages: || MESSAGES.iter().map(|(name, ..)| *name).collect(),
    dialect: read_answers::<MipAnswers>,
    commands: &[("MIP commands", include_str!("commands.csv"))],
    decoder: decoder::decoder,
};

/// A running measurement of the gyro bias, requested by a host.
#[derive(Clone, Copy, Debug)]
struct Capture {
    until: SimTime,
    sum: DVec3,
    count: u32,
}

/// A 3DM unit.
pub struct MipUnit {
    /// Answers that the profile fixes.
    answers: MipAnswers,
    framer: Framer<Mip>,
    data: [DataStream; 2],
    is_idle: bool,
    current: MipSettings,
    saved: MipSettings,
    factory: MipSettings,
    memory: Memory,
    estimator: Estimator,
    filters: Filters,
    capture: Option<Capture>,
    gps_time: GpsTime,
    /// Number of bytes received since the start or the last reset.
    bytes_read: u32,
    /// Number of samples since the start or the last reset.
    samples: u32,
    latest: Option<(Moment, Measured)>,
    every: Stream,
    silent_until: SimTime,
    base_rates_hz: [u32; 2],
    /// Baud rate that takes effect after the answer to the present command; `None`: no change.
    next_baud: Option<u32>,
}

/// The fields after the acknowledgement, or an error code of [`reply`].
type Answer = Result<Vec<Field>, u8>;

impl MipUnit {
    /// A unit whose data streams have the fields that the settings of `unit` list.
    pub fn new(unit: &Unit, answers: MipAnswers) -> Self {
        let samples_hz = unit.profile.output.sample_rate_hz;
        let divisor = unit.divisor(unit.settings.rate_hz);
        let filter_divisor = unit.divisor(answers.filter_base_rate_hz.min(samples_hz));
        let format = |wanted: u8, base_divisor: u64| {
            let listed = unit.settings.messages.iter();
            let found = listed.filter_map(|m| DATA.iter().find(|(name, ..)| name == m));
            let decimation = (divisor / base_divisor).max(1) as u16;
            found.filter(|(_, s, _)| *s == wanted).map(|(.., d)| (*d, decimation)).collect()
        };
        let factory = MipSettings {
            formats: [format(set::SENSOR_DATA, 1), format(set::FILTER_DATA, filter_divisor)],
            is_on: [unit.settings.is_streaming; 2],
            baud_rate: unit.settings.baud_rate,
            low_pass: [LowPass::FACTORY; 4],
        };
        let is_magnetic = unit.settings.model.attitude.heading_is_magnetic;
        let mut made = Self {
            memory: Memory::new(Values::factory(&answers, is_magnetic)),
            answers,
            framer: Framer::new(Mip),
            data: [
                DataStream::new(set::SENSOR_DATA, 1),
                DataStream::new(set::FILTER_DATA, filter_divisor),
            ],
            is_idle: false,
            current: factory.clone(),
            saved: factory.clone(),
            factory,
            estimator: Estimator::running(is_magnetic),
            filters: Filters::default(),
            capture: None,
            gps_time: GpsTime::unset(SimTime::ZERO, unit.settings.on_for_ns),
            bytes_read: 0,
            samples: 0,
            latest: None,
            every: Stream::every(divisor),
            silent_until: SimTime::ZERO,
            base_rates_hz: [samples_hz, samples_hz / filter_divisor as u32],
            next_baud: None,
        };
        made.retime();
        made
    }

    /// Applies the present formats to the streams.
    fn retime(&mut self) {
        for (data, format) in self.data.iter_mut().zip(&self.current.formats) {
            data.set_format(format);
        }
    }

    fn on_packet(&mut self, now: SimTime, packet: &Packet, unit: &mut Unit) {
        let mut fields = Vec::new();
        let mut polled = Vec::new();
        for command in &packet.fields {
            let set = packet.descriptor_set;
            let outcome = match settings::find(set, command.descriptor) {
                Some(setting) => self.memory.obey(setting, &command.data),
                None => match set {
                    set::BASE => self.obey_base(now, command, unit),
                    set::THREE_DM => match self.dm(now, command, &mut polled, unit) {
                        // The answer follows when the gyro bias has been measured.
                        Ok(None) => continue,
                        Ok(Some(fields)) => Ok(fields),
                        Err(code) => Err(code),
                    },
                    set::FILTER => self.obey_filter(now, command, unit),
                    set::SYSTEM => base::system(command),
                    _ => Err(reply::UNKNOWN_COMMAND),
                },
            };
            if is_unanswered(set, command) {
                continue;
            }
            match outcome {
                Ok(behind) => {
                    fields.push(Field::ack(command.descriptor, reply::OK));
                    fields.extend(behind);
                }
                Err(code) => fields.push(Field::ack(command.descriptor, code)),
            }
        }
        self.retime();
        let mut bytes = Vec::new();
        Packet::emit_all(packet.descriptor_set, fields, &mut bytes);
        for (descriptor_set, fields) in polled {
            Packet::emit_all(descriptor_set, fields, &mut bytes);
        }
        if !bytes.is_empty() {
            unit.reply(now, bytes);
        }
        if let Some(baud) = self.next_baud.take() {
            unit.port.change_rate(now, baud);
        }
    }

    /// Executes a command of set 0x0C; `None`: the answer follows later.
    fn dm(
        &mut self,
        now: SimTime,
        command: &Field,
        polled: &mut Vec<(u8, Vec<Field>)>,
        unit: &Unit,
    ) -> Result<Option<Vec<Field>>, u8> {
        let data = command.data.as_slice();
        let settings = [&mut self.current, &mut self.saved, &mut self.factory];
        let answer = match command.descriptor {
            dm::CAPTURE_GYRO_BIAS => {
                self.start_capture(now, data)?;
                return Ok(None);
            }
            dm::SENSOR_BASE_RATE => Ok(vec![self.rate_field(dm::SENSOR_RATE_REPLY, 0, None)]),
            dm::FILTER_BASE_RATE => Ok(vec![self.rate_field(dm::FILTER_RATE_REPLY, 1, None)]),
            dm::BASE_RATE => match data {
                [wanted] => {
                    let place = place_of(*wanted)?;
                    Ok(vec![self.rate_field(dm::RATE_REPLY, place, Some(*wanted))])
                }
                _ => Err(reply::BAD_PARAMETER),
            },
            dm::SENSOR_FORMAT => streams::format(0, data, dm::SENSOR_FORMAT_REPLY, false, settings),
            dm::FILTER_FORMAT => streams::format(1, data, dm::FILTER_FORMAT_REPLY, false, settings),
            dm::FORMAT => match data {
                [function, wanted, rest @ ..] => {
                    let data = [&[*function], rest].concat();
                    streams::format(place_of(*wanted)?, &data, dm::FORMAT_REPLY, true, settings)
                }
                _ => Err(reply::BAD_PARAMETER),
            },
            dm::STREAM => streams::control(data, settings),
            dm::POLL_SENSOR => self.poll(0, data, 3, polled, unit),
            dm::POLL_FILTER => self.poll(1, data, 3, polled, unit),
            dm::POLL_DATA => match data {
                [wanted, rest @ ..] => self.poll(place_of(*wanted)?, rest, 1, polled, unit),
                _ => Err(reply::BAD_PARAMETER),
            },
            dm::SETTINGS => self.all_settings(data),
            dm::BAUD_RATE => self.baud_rate(data, unit),
            dm::SENSOR_LOW_PASS => {
                low_pass::by_descriptor(data, settings, &self.data[0], self.base_rates_hz[0])
            }
            dm::LOW_PASS => low_pass::by_set(data, settings, &self.data[0], self.base_rates_hz[0]),
            dm::SENSOR_RANGE => match data {
                // Each sensor has only one range.
                [function::WRITE, sensor, 1] => range(*sensor, unit).map(|_| Vec::new()),
                [function::READ, sensor] => {
                    range(*sensor, unit).map(|_| vec![Field::new(dm::RANGE_REPLY, [*sensor, 1])])
                }
                [function::SAVE | function::LOAD | function::DEFAULT, 0..=3] => Ok(Vec::new()),
                _ => Err(reply::BAD_PARAMETER),
            },
            dm::DEVICE_STATUS => self.device_status(data, unit).map(|field| vec![field]),
            dm::CALIBRATED_RANGES => match data {
                [sensor] => {
                    let most = (range(*sensor, unit)? as f32).to_be_bytes();
                    Ok(vec![Field::new(dm::RANGES_REPLY, [&[*sensor, 1, 1][..], &most].concat())])
                }
                _ => Err(reply::BAD_PARAMETER),
            },
            _ => Err(reply::UNKNOWN_COMMAND),
        };
        answer.map(Some)
    }

    fn start_capture(&mut self, now: SimTime, data: &[u8]) -> Result<(), u8> {
        let &[high, low] = data else { return Err(reply::BAD_PARAMETER) };
        let ms = u16::from_be_bytes([high, low]);
        if !(1000..=30_000).contains(&ms) {
            return Err(reply::BAD_PARAMETER);
        }
        if self.capture.is_some() {
            return Err(reply::FAILED);
        }
        let until = SimTime(now.0 + u64::from(ms) * 1_000_000);
        self.capture = Some(Capture { until, sum: DVec3::ZERO, count: 0 });
        Ok(())
    }

    /// Updates the measurement of the gyro bias; when it is complete, applies the bias and sends it to the host.
    fn step_capture(&mut self, sample: &Sample, unit: &mut Unit) {
        let Some(capture) = &mut self.capture else { return };
        capture.sum += frd(sample.gyro.value);
        capture.count += 1;
        if sample.truth.at < capture.until {
            return;
        }
        let bias = capture.sum / f64::from(capture.count);
        self.capture = None;
        self.memory.current.put_floats((set::THREE_DM, dm::GYRO_BIAS), &bias.to_array());
        let fields = vec![
            Field::ack(dm::CAPTURE_GYRO_BIAS, reply::OK),
            Field::of_f32s(dm::GYRO_BIAS_REPLY, &bias.to_array().map(|x| x as f32)),
        ];
        let mut bytes = Vec::new();
        Packet::emit_all(set::THREE_DM, fields, &mut bytes);
        unit.reply(sample.truth.at, bytes);
    }

    fn all_settings(&mut self, data: &[u8]) -> Answer {
        match data {
            [function::SAVE] => {
                self.saved = self.current.clone();
                self.memory.saved = self.memory.current.clone();
            }
            [function @ (function::LOAD | function::DEFAULT)] => {
                let is_factory = *function == function::DEFAULT;
                let (settings, values) = if is_factory {
                    (&self.factory, &self.memory.factory)
                } else {
                    (&self.saved, &self.memory.saved)
                };
                // The baud rate does not change until a reset.
                let baud_rate = self.current.baud_rate;
                self.current = MipSettings { baud_rate, ..settings.clone() };
                self.memory.current = values.clone();
            }
            _ => return Err(reply::BAD_PARAMETER),
        }
        Ok(Vec::new())
    }

    fn rate_field(&self, descriptor: u8, place: usize, wanted: Option<u8>) -> Field {
        let rate = (self.base_rates_hz[place].min(0xffff) as u16).to_be_bytes();
        Field::new(descriptor, [wanted.as_slice(), &rate].concat())
    }

    /// Polls data: `suppress acknowledgement, count, descriptors` (`width` bytes each). Fields that the unit lacks are
    /// left out. Without descriptors, the fields of the stream's format are polled; the command is refused if there are
    /// none.
    fn poll(
        &self,
        place: usize,
        data: &[u8],
        width: usize,
        polled: &mut Vec<(u8, Vec<Field>)>,
        unit: &Unit,
    ) -> Answer {
        let (&[_, count], list) = data.split_first_chunk().ok_or(reply::BAD_PARAMETER)?;
        if list.len() != usize::from(count) * width || usize::from(count) > MAX_FIELDS {
            return Err(reply::BAD_PARAMETER);
        }
        let own = &self.data[place];
        let wanted: Vec<u8> = if count == 0 {
            own.format().iter().map(|(d, _)| *d).collect()
        } else {
            list.chunks(width).map(|entry| entry[0]).collect()
        };
        if wanted.is_empty() {
            return Err(reply::BAD_PARAMETER);
        }
        let (moment, measured) = self.latest.as_ref().ok_or(reply::FAILED)?;
        let fields = wanted
            .iter()
            .filter_map(|d| field((own.descriptor_set, *d), moment, measured, unit, &self.answers));
        polled.push((own.descriptor_set, fields.collect()));
        Ok(Vec::new())
    }

    fn baud_rate(&mut self, data: &[u8], unit: &Unit) -> Answer {
        match data {
            [function::WRITE, a, b, c, d] => {
                let baud = u32::from_be_bytes([*a, *b, *c, *d]);
                if !unit.profile.line.serial.baud_rates.contains(&baud) {
                    return Err(reply::BAD_PARAMETER);
                }
                self.current.baud_rate = baud;
            }
            [function::READ] => {
                let baud = unit.port.line().baud.to_be_bytes();
                return Ok(vec![Field::new(dm::BAUD_REPLY, baud)]);
            }
            [function::SAVE] => self.saved.baud_rate = self.current.baud_rate,
            [function::LOAD] => self.current.baud_rate = self.saved.baud_rate,
            [function::DEFAULT] => self.current.baud_rate = self.factory.baud_rate,
            _ => return Err(reply::BAD_PARAMETER),
        }
        if self.current.baud_rate != unit.port.line().baud {
            self.next_baud = Some(self.current.baud_rate);
        }
        Ok(Vec::new())
    }

    /// Applies the host's settings to a sample; returns the values from which data fields are made.
    fn moment(&mut self, sample: &Sample, unit: &Unit) -> Moment {
        let values = &self.memory.current;
        let dm = |command| (set::THREE_DM, command);
        let g = earth::STANDARD_GRAVITY_M_S2;
        let vehicle = values.vector(VEHICLE);
        let conditioning = Conditioning {
            accel: Correction::of_offset(values.vector(dm(dm::ACCEL_BIAS)) * g),
            gyro: Correction::of_offset(values.vector(dm(dm::GYRO_BIAS))),
            mag: Correction {
                matrix: values.matrix(dm(dm::SOFT_IRON)),
                offset: values.vector(dm(dm::HARD_IRON)),
            },
            // The angles rotate the sensor frame to the vehicle frame.
            user_from_sensor: quat_from_rpy(vehicle.x, vehicle.y, vehicle.z).conjugate(),
        };
        self.estimator.step(sample, values, &self.answers, unit.epoch);
        let solution = self.estimator.solution(sample, values, &self.answers, unit.epoch);
        let estimated = Sample { attitude: solution.attitude, ..*sample };
        let conditioned = conditioning.apply(&estimated);
        self.filters.step(&conditioned, &self.current.low_pass, unit.dt_s());
        Moment {
            complementary: sample.attitude,
            solution,
            attitude: conditioned.attitude,
            passed: self.filters.last(),
            low_pass: self.current.low_pass,
            is_coning_on: values.byte(dm(dm::CONING)) == 1,
            gps_time: self.gps_time,
            sample: conditioned,
        }
    }
}

/// Whether the host wants no acknowledgement and no error code: in polls with that option, and in GPS time updates with
/// function 6.
fn is_unanswered(descriptor_set: u8, command: &Field) -> bool {
    use commands::base::GPS_TIME;
    matches!(
        (descriptor_set, command.descriptor, command.data.as_slice()),
        (set::BASE, GPS_TIME, [function::WRITE_UNANSWERED, ..])
            | (set::THREE_DM, dm::POLL_SENSOR | dm::POLL_FILTER, [1, ..])
            | (set::THREE_DM, dm::POLL_DATA, [_, 1, ..])
    )
}

impl Protocol for MipUnit {
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit) {
        let (dt_s, decimation) = (unit.dt_s(), unit.profile.output.decimation);
        self.step_capture(sample, unit);
        self.samples = self.samples.wrapping_add(1);
        let moment = self.moment(sample, unit);
        let is_heard = !self.is_idle && sample.truth.at >= self.silent_until;
        for (data, is_on) in self.data.iter_mut().zip(self.current.is_on) {
            let mut fields = Vec::new();
            let descriptors: Vec<u8> = data.format().iter().map(|(d, _)| *d).collect();
            for (descriptor, stream) in descriptors.into_iter().zip(&mut data.streams) {
                if let Some(measured) = stream.step(&moment.sample, dt_s, decimation) {
                    let measured = measured.in_frd();
                    let which = (data.descriptor_set, descriptor);
                    fields.extend(field(which, &moment, &measured, unit, &self.answers));
                }
            }
            if is_on && is_heard && !fields.is_empty() {
                let mut bytes = Vec::new();
                Packet::emit_all(data.descriptor_set, fields, &mut bytes);
                unit.report(sample, bytes);
            }
        }
        if let Some(measured) = self.every.step(&moment.sample, dt_s, decimation) {
            self.latest = Some((moment, measured.in_frd()));
        }
    }

    fn on_input(&mut self, now: SimTime, bytes: &[u8], unit: &mut Unit) {
        if now < self.silent_until {
            return;
        }
        self.bytes_read = self.bytes_read.wrapping_add(bytes.len() as u32);
        for packet in self.framer.frames(bytes) {
            self.on_packet(now, &packet, unit);
            if now < self.silent_until {
                // Bytes after a reset command are ignored.
                self.framer.clear();
                break;
            }
        }
    }

    fn rate_hz(&self) -> f64 {
        let data = self.data.iter().zip(self.current.is_on);
        let on = data.filter(|(_, is_on)| *is_on && !self.is_idle).map(|(data, _)| data);
        let fastest = on.filter_map(|data| {
            let decimation = data.format().iter().map(|(_, d)| u64::from(*d)).min()?;
            Some(f64::from(self.base_rates_hz[0]) / (decimation * data.base_divisor()) as f64)
        });
        fastest.sum()
    }
}

#[cfg(test)]
mod tests;
