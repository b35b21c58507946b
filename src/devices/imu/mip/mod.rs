//! MicroStrain 3DM: commands in packets, answered in one packet each, and two streams of data, the
//! sensors' and the filter's, whose fields the host chooses with a decimation each.
//!
//! A field of an answer says what became of a command; what was asked for stands in the field
//! after it. An unknown command is refused, not left unanswered. Few descriptors are advertised,
//! because drivers set up all they find.

use glam::DVec3;

use super::output::{Measured, Stream, f32s, ned_from_frd, roll_pitch_yaw, wxyz};
use super::{Protocol, Unit};
use crate::devices::imu::answers::MipAnswers;
use crate::sensors::imu::{Sample, earth};
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::mip::{Field, Mip, Packet, reply, set};

/// Fields of [`set::SENSOR_DATA`] and [`set::FILTER_DATA`] the unit can send, by their names in
/// profiles.
pub const MESSAGES: [(&str, u8, u8); 15] = [
    ("accel", set::SENSOR_DATA, 0x04),
    ("gyro", set::SENSOR_DATA, 0x05),
    ("mag", set::SENSOR_DATA, 0x06),
    ("delta-angle", set::SENSOR_DATA, 0x07),
    ("delta-velocity", set::SENSOR_DATA, 0x08),
    ("quaternion", set::SENSOR_DATA, 0x0a),
    ("euler", set::SENSOR_DATA, 0x0c),
    ("ticks", set::SENSOR_DATA, 0x0e),
    ("gps-time", set::SENSOR_DATA, 0x12),
    ("pressure", set::SENSOR_DATA, 0x17),
    ("filter-quaternion", set::FILTER_DATA, 0x03),
    ("filter-euler", set::FILTER_DATA, 0x05),
    ("filter-status", set::FILTER_DATA, 0x10),
    ("filter-time", set::FILTER_DATA, 0x11),
    ("filter-gravity", set::FILTER_DATA, 0x13),
];

/// Commands that are answered, as "descriptors" lists them.
const COMMANDS: [(u8, u8); 19] = [
    (set::BASE, base::PING),
    (set::BASE, base::IDLE),
    (set::BASE, base::DEVICE_INFO),
    (set::BASE, base::DESCRIPTORS),
    (set::BASE, base::BUILT_IN_TEST),
    (set::BASE, base::RESUME),
    (set::BASE, base::RESET),
    (set::THREE_DM, dm::POLL_SENSOR),
    (set::THREE_DM, dm::POLL_FILTER),
    (set::THREE_DM, dm::SENSOR_BASE_RATE),
    (set::THREE_DM, dm::SENSOR_FORMAT),
    (set::THREE_DM, dm::FILTER_FORMAT),
    (set::THREE_DM, dm::FILTER_BASE_RATE),
    (set::THREE_DM, dm::POLL_DATA),
    (set::THREE_DM, dm::BASE_RATE),
    (set::THREE_DM, dm::FORMAT),
    (set::THREE_DM, dm::STREAM),
    (set::THREE_DM, dm::SETTINGS),
    (set::THREE_DM, dm::BAUD_RATE),
];

/// Commands of [`set::BASE`].
mod base {
    pub const PING: u8 = 0x01;
    pub const IDLE: u8 = 0x02;
    pub const DEVICE_INFO: u8 = 0x03;
    pub const DESCRIPTORS: u8 = 0x04;
    pub const BUILT_IN_TEST: u8 = 0x05;
    pub const RESUME: u8 = 0x06;
    pub const RESET: u8 = 0x7e;
    pub const INFO_REPLY: u8 = 0x81;
    pub const DESCRIPTORS_REPLY: u8 = 0x82;
    pub const TEST_REPLY: u8 = 0x83;
}

/// Commands of [`set::THREE_DM`].
mod dm {
    pub const POLL_SENSOR: u8 = 0x01;
    pub const POLL_FILTER: u8 = 0x03;
    pub const SENSOR_BASE_RATE: u8 = 0x06;
    pub const SENSOR_FORMAT: u8 = 0x08;
    pub const FILTER_FORMAT: u8 = 0x0a;
    pub const FILTER_BASE_RATE: u8 = 0x0b;
    pub const POLL_DATA: u8 = 0x0d;
    pub const BASE_RATE: u8 = 0x0e;
    pub const FORMAT: u8 = 0x0f;
    pub const STREAM: u8 = 0x11;
    pub const SETTINGS: u8 = 0x30;
    pub const BAUD_RATE: u8 = 0x40;
    pub const SENSOR_FORMAT_REPLY: u8 = 0x80;
    pub const FILTER_FORMAT_REPLY: u8 = 0x82;
    pub const SENSOR_RATE_REPLY: u8 = 0x83;
    pub const STREAM_REPLY: u8 = 0x85;
    pub const BAUD_REPLY: u8 = 0x87;
    pub const FILTER_RATE_REPLY: u8 = 0x8a;
    pub const RATE_REPLY: u8 = 0x8e;
    pub const FORMAT_REPLY: u8 = 0x8f;
}

/// What a command does with its setting.
mod function {
    pub const WRITE: u8 = 1;
    pub const READ: u8 = 2;
    pub const SAVE: u8 = 3;
    pub const LOAD: u8 = 4;
    pub const DEFAULT: u8 = 5;
}

/// Most fields of a format.
const MAX_FIELDS: usize = 16;

/// One of the two streams.
#[derive(Clone, Debug)]
struct DataStream {
    descriptor_set: u8,
    is_on: bool,
    /// Descriptor, decimation.
    format: Vec<(u8, u16)>,
    /// One a field.
    streams: Vec<Stream>,
}

/// What a host sets and may save.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    formats: [Vec<(u8, u16)>; 2],
    is_on: [bool; 2],
    baud_rate: u32,
}

/// See the module.
pub struct MipUnit {
    /// What it says when it is well.
    answers: MipAnswers,
    framer: Framer<Mip>,
    data: [DataStream; 2],
    is_idle: bool,
    saved: Settings,
    factory: Settings,
    latest: Option<(Sample, Measured)>,
    every: Stream,
    silent_until: SimTime,
    base_rate_hz: u32,
    /// The host is told that it may change the rate only after its answer has left.
    next_baud: Option<u32>,
}

/// An error code of [`reply`], or the fields behind the acknowledgement.
type Answer = Result<Vec<Field>, u8>;

impl MipUnit {
    /// A unit with the profile's fields in its formats.
    pub fn new(unit: &Unit, answers: MipAnswers) -> Self {
        let divisor = unit.divisor(unit.settings.rate_hz) as u16;
        let format = |wanted: u8| {
            let listed = unit.profile.messages.iter();
            let found = listed.filter_map(|m| MESSAGES.iter().find(|(name, ..)| name == m));
            found.filter(|(_, s, _)| *s == wanted).map(|(.., d)| (*d, divisor)).collect::<Vec<_>>()
        };
        let factory = Settings {
            formats: [format(set::SENSOR_DATA), format(set::FILTER_DATA)],
            is_on: [unit.settings.is_streaming; 2],
            baud_rate: unit.settings.baud_rate,
        };
        let empty = |descriptor_set| DataStream {
            descriptor_set,
            is_on: false,
            format: Vec::new(),
            streams: Vec::new(),
        };
        let mut made = Self {
            answers,
            framer: Framer::new(Mip),
            data: [empty(set::SENSOR_DATA), empty(set::FILTER_DATA)],
            is_idle: false,
            saved: factory.clone(),
            factory: factory.clone(),
            latest: None,
            every: Stream::every(divisor.into()),
            silent_until: SimTime::ZERO,
            base_rate_hz: unit.profile.sample_rate_hz,
            next_baud: None,
        };
        made.apply(factory);
        made
    }

    fn apply(&mut self, settings: Settings) {
        for (data, (format, is_on)) in
            self.data.iter_mut().zip(settings.formats.into_iter().zip(settings.is_on))
        {
            data.set_format(format);
            data.is_on = is_on;
        }
    }

    fn current(&self, unit: &Unit) -> Settings {
        Settings {
            formats: self.data.each_ref().map(|data| data.format.clone()),
            is_on: self.data.each_ref().map(|data| data.is_on),
            baud_rate: self.next_baud.unwrap_or(unit.port.line().baud),
        }
    }

    fn on_packet(&mut self, now: SimTime, packet: &Packet, unit: &mut Unit) {
        let mut fields = Vec::new();
        let mut polled = Vec::new();
        for command in &packet.fields {
            let outcome = match packet.descriptor_set {
                set::BASE => self.base(now, command, unit),
                set::THREE_DM => self.dm(command, &mut polled, unit),
                _ => Err(reply::UNKNOWN_COMMAND),
            };
            match outcome {
                Ok(behind) => {
                    fields.push(Field::ack(command.descriptor, reply::OK));
                    fields.extend(behind);
                }
                Err(code) => fields.push(Field::ack(command.descriptor, code)),
            }
        }
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

    fn base(&mut self, now: SimTime, command: &Field, unit: &mut Unit) -> Answer {
        match command.descriptor {
            base::PING => Ok(Vec::new()),
            base::IDLE => {
                self.is_idle = true;
                Ok(Vec::new())
            }
            base::RESUME => {
                self.is_idle = false;
                Ok(Vec::new())
            }
            base::DEVICE_INFO => Ok(vec![Field::new(base::INFO_REPLY, device_info(unit))]),
            base::DESCRIPTORS => {
                let data = MESSAGES.iter().map(|(_, s, d)| [*s, *d]);
                let all = COMMANDS.iter().map(|(s, d)| [*s, *d]).chain(data);
                let list: Vec<u8> = all.flatten().collect();
                Ok(vec![Field::new(base::DESCRIPTORS_REPLY, list)])
            }
            base::BUILT_IN_TEST => {
                let result = self.answers.built_in_test.to_be_bytes();
                Ok(vec![Field::new(base::TEST_REPLY, result)])
            }
            base::RESET => {
                self.apply(self.saved.clone());
                self.is_idle = false;
                self.latest = None;
                self.silent_until = SimTime(now.0 + unit.profile.boot_ns);
                unit.restart(self.silent_until);
                if self.saved.baud_rate != unit.port.line().baud {
                    self.next_baud = Some(self.saved.baud_rate);
                }
                Ok(Vec::new())
            }
            _ => Err(reply::UNKNOWN_COMMAND),
        }
    }

    fn dm(&mut self, command: &Field, polled: &mut Vec<(u8, Vec<Field>)>, unit: &Unit) -> Answer {
        let data = command.data.as_slice();
        match command.descriptor {
            dm::SENSOR_BASE_RATE => Ok(vec![self.rate_field(dm::SENSOR_RATE_REPLY, None)]),
            dm::FILTER_BASE_RATE => Ok(vec![self.rate_field(dm::FILTER_RATE_REPLY, None)]),
            dm::BASE_RATE => match data {
                [wanted @ (set::SENSOR_DATA | set::FILTER_DATA)] => {
                    Ok(vec![self.rate_field(dm::RATE_REPLY, Some(*wanted))])
                }
                _ => Err(reply::BAD_PARAMETER),
            },
            dm::SENSOR_FORMAT => self.format(0, data, dm::SENSOR_FORMAT_REPLY, false),
            dm::FILTER_FORMAT => self.format(1, data, dm::FILTER_FORMAT_REPLY, false),
            dm::FORMAT => match data {
                [function, wanted, rest @ ..] => {
                    let place = place_of(*wanted)?;
                    let data = [&[*function], rest].concat();
                    self.format(place, &data, dm::FORMAT_REPLY, true)
                }
                _ => Err(reply::BAD_PARAMETER),
            },
            dm::STREAM => self.stream_control(data),
            dm::POLL_SENSOR => self.poll(0, data, 3, polled, unit),
            dm::POLL_FILTER => self.poll(1, data, 3, polled, unit),
            dm::POLL_DATA => match data {
                [wanted, rest @ ..] => self.poll(place_of(*wanted)?, rest, 1, polled, unit),
                _ => Err(reply::BAD_PARAMETER),
            },
            dm::SETTINGS => {
                match data {
                    [function::SAVE] => self.saved = self.current(unit),
                    [function::LOAD] => self.apply(self.saved.clone()),
                    [function::DEFAULT] => self.apply(self.factory.clone()),
                    _ => return Err(reply::BAD_PARAMETER),
                }
                Ok(Vec::new())
            }
            dm::BAUD_RATE => self.baud_rate(data, unit),
            _ => Err(reply::UNKNOWN_COMMAND),
        }
    }

    fn rate_field(&self, descriptor: u8, wanted: Option<u8>) -> Field {
        let rate = (self.base_rate_hz.min(0xffff) as u16).to_be_bytes();
        Field::new(descriptor, [wanted.as_slice(), &rate].concat())
    }

    /// Reads or changes a format: `function, count, (descriptor, decimation) …`.
    fn format(&mut self, place: usize, data: &[u8], answer: u8, names_set: bool) -> Answer {
        let descriptor_set = self.data[place].descriptor_set;
        match data {
            [function::WRITE, count, list @ ..] => {
                let (entries, rest) = list.as_chunks::<3>();
                if !rest.is_empty()
                    || entries.len() != usize::from(*count)
                    || entries.len() > MAX_FIELDS
                {
                    return Err(reply::BAD_PARAMETER);
                }
                let format: Vec<_> = entries
                    .iter()
                    .map(|[d, high, low]| (*d, u16::from_be_bytes([*high, *low])))
                    .collect();
                let is_known = |(d, decimation): &(u8, u16)| {
                    *decimation > 0
                        && MESSAGES.iter().any(|(_, s, known)| s == &descriptor_set && known == d)
                };
                if !format.iter().all(is_known) {
                    return Err(reply::BAD_PARAMETER);
                }
                self.data[place].set_format(format);
                Ok(Vec::new())
            }
            [function::READ, ..] => {
                let format = &self.data[place].format;
                let head = if names_set { vec![descriptor_set] } else { Vec::new() };
                let entries = format.iter().flat_map(|(d, decimation)| {
                    let [high, low] = decimation.to_be_bytes();
                    [*d, high, low]
                });
                let list = head.into_iter().chain([format.len() as u8]).chain(entries);
                Ok(vec![Field::new(answer, list.collect::<Vec<u8>>())])
            }
            [function::SAVE, ..] => {
                self.saved.formats[place] = self.data[place].format.clone();
                Ok(Vec::new())
            }
            [function::LOAD, ..] => {
                self.data[place].set_format(self.saved.formats[place].clone());
                Ok(Vec::new())
            }
            [function::DEFAULT, ..] => {
                self.data[place].set_format(self.factory.formats[place].clone());
                Ok(Vec::new())
            }
            _ => Err(reply::BAD_PARAMETER),
        }
    }

    /// `function, stream, on`: stream 1 or 0x80 the sensors', 3 or 0x82 the filter's, 0 both.
    fn stream_control(&mut self, data: &[u8]) -> Answer {
        let (&[function, which], rest) = data.split_first_chunk().ok_or(reply::BAD_PARAMETER)?;
        let places: &[usize] = match which {
            0 => &[0, 1],
            1 | set::SENSOR_DATA => &[0],
            3 | set::FILTER_DATA => &[1],
            _ => return Err(reply::BAD_PARAMETER),
        };
        for &place in places {
            let data = &mut self.data[place];
            match (function, rest) {
                (function::WRITE, [on @ (0 | 1)]) => data.is_on = *on == 1,
                (function::READ, _) => {
                    return Ok(vec![Field::new(dm::STREAM_REPLY, [which, data.is_on.into()])]);
                }
                (function::SAVE, _) => self.saved.is_on[place] = data.is_on,
                (function::LOAD, _) => data.is_on = self.saved.is_on[place],
                (function::DEFAULT, _) => data.is_on = self.factory.is_on[place],
                _ => return Err(reply::BAD_PARAMETER),
            }
        }
        Ok(Vec::new())
    }

    /// `suppress acknowledgement, count, descriptors`: `width` bytes each. No descriptors: those
    /// of the format. The acknowledgement is always given; hosts skip it.
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
            own.format.iter().map(|(d, _)| *d).collect()
        } else {
            list.chunks(width).map(|entry| entry[0]).collect()
        };
        let (sample, measured) = self.latest.as_ref().ok_or(reply::FAILED)?;
        let fields: Option<Vec<Field>> = wanted
            .iter()
            .map(|d| field((own.descriptor_set, *d), sample, measured, unit, &self.answers))
            .collect();
        polled.push((own.descriptor_set, fields.ok_or(reply::BAD_PARAMETER)?));
        Ok(Vec::new())
    }

    fn baud_rate(&mut self, data: &[u8], unit: &Unit) -> Answer {
        match data {
            [function::WRITE, a, b, c, d] => {
                let baud = u32::from_be_bytes([*a, *b, *c, *d]);
                if !unit.profile.baud_rates.contains(&baud) {
                    return Err(reply::BAD_PARAMETER);
                }
                self.next_baud = Some(baud);
                Ok(Vec::new())
            }
            [function::READ] => {
                let baud = unit.port.line().baud.to_be_bytes();
                Ok(vec![Field::new(dm::BAUD_REPLY, baud)])
            }
            [function::SAVE] => {
                self.saved.baud_rate = unit.port.line().baud;
                Ok(Vec::new())
            }
            [function::LOAD] => {
                self.next_baud = Some(self.saved.baud_rate);
                Ok(Vec::new())
            }
            [function::DEFAULT] => {
                self.next_baud = Some(self.factory.baud_rate);
                Ok(Vec::new())
            }
            _ => Err(reply::BAD_PARAMETER),
        }
    }
}

fn place_of(descriptor_set: u8) -> Result<usize, u8> {
    match descriptor_set {
        set::SENSOR_DATA => Ok(0),
        set::FILTER_DATA => Ok(1),
        _ => Err(reply::BAD_PARAMETER),
    }
}

impl DataStream {
    fn set_format(&mut self, format: Vec<(u8, u16)>) {
        if format != self.format {
            self.streams = format.iter().map(|(_, d)| Stream::every((*d).into())).collect();
            self.format = format;
        }
    }
}

/// Firmware version and five names of 16 characters, right-justified: 82 bytes.
fn device_info(unit: &Unit) -> Vec<u8> {
    let identity = &unit.profile.identity;
    let mut numbers = identity.firmware.split('.').map(|n| n.parse::<u16>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    // 1126 is 1.1.26.
    let version = next().wrapping_mul(1000).wrapping_add(next().wrapping_mul(100));
    let version = version.wrapping_add(next());
    let (name, number) = identity.model.split_once('/').unwrap_or((&identity.model, ""));
    let mut data = version.to_be_bytes().to_vec();
    for text in [name, number, &identity.serial, "", &identity.hardware] {
        data.extend(format!("{text:>16.16}").into_bytes());
    }
    data
}

/// A field about a sample, or `None` for a descriptor the unit does not have.
fn field(
    (descriptor_set, descriptor): (u8, u8),
    sample: &Sample,
    m: &Measured,
    unit: &Unit,
    answers: &MipAnswers,
) -> Option<Field> {
    MESSAGES.iter().find(|(_, s, d)| (*s, *d) == (descriptor_set, descriptor))?;
    let attitude = ned_from_frd(sample.attitude);
    let g = |v: DVec3| f32s(v / earth::STANDARD_GRAVITY_M_S2);
    let of = |values: &[f32]| Field::of_f32s(descriptor, values);
    let raw = |data: Vec<u8>| Field::new(descriptor, data);
    let valid = |mut f: Field| {
        f.data.extend([0, 1]);
        f
    };
    Some(match (descriptor_set, descriptor) {
        (set::SENSOR_DATA, 0x04) => of(&g(m.accel)),
        (set::SENSOR_DATA, 0x05) => of(&f32s(m.gyro)),
        (set::SENSOR_DATA, 0x06) => of(&f32s(m.mag)),
        (set::SENSOR_DATA, 0x07) => of(&f32s(m.delta_angle)),
        (set::SENSOR_DATA, 0x08) => of(&g(m.delta_velocity)),
        (set::SENSOR_DATA, 0x0a) => of(&wxyz(attitude)),
        (set::SENSOR_DATA, 0x0c) => of(&f32s(roll_pitch_yaw(attitude))),
        (set::SENSOR_DATA, 0x0e) => {
            let ticks = unit.clock_ns(sample) / 1000;
            raw((ticks as u32).to_be_bytes().to_vec())
        }
        (set::SENSOR_DATA, 0x12) | (set::FILTER_DATA, 0x11) => raw(gps_time(sample, unit)),
        (set::SENSOR_DATA, _) => of(&[(sample.pressure_pa / 100.0) as f32]),
        (_, 0x03) => valid(of(&wxyz(attitude))),
        (_, 0x05) => valid(of(&f32s(roll_pitch_yaw(attitude)))),
        (_, 0x10) => raw(answers.filter_status.map(u16::to_be_bytes).concat()),
        _ => {
            let down = DVec3::Z * earth::normal_gravity_m_s2(&sample.truth.place);
            valid(of(&f32s(attitude.conjugate() * down)))
        }
    })
}

/// Time of week, week, all valid.
fn gps_time(sample: &Sample, unit: &Unit) -> Vec<u8> {
    const GPS_EPOCH_UNIX_NS: i128 = 315_964_800_000_000_000;
    const LEAP_NS: i128 = 18_000_000_000;
    const WEEK_NS: i128 = 604_800_000_000_000;
    let since = unit.epoch.unix_ns(sample.truth.at) - GPS_EPOCH_UNIX_NS + LEAP_NS;
    let time_of_week_s = since.rem_euclid(WEEK_NS) as f64 * 1e-9;
    let mut data = time_of_week_s.to_be_bytes().to_vec();
    data.extend((since.div_euclid(WEEK_NS) as u16).to_be_bytes());
    data.extend([0, 7]);
    data
}

impl Protocol for MipUnit {
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit) {
        let (dt_s, decimation) = (unit.dt_s(), unit.profile.decimation);
        if let Some(measured) = self.every.step(sample, dt_s, decimation) {
            self.latest = Some((*sample, measured.in_frd()));
        }
        let is_heard = !self.is_idle && sample.truth.at >= self.silent_until;
        for data in &mut self.data {
            let mut fields = Vec::new();
            for ((descriptor, _), stream) in data.format.iter().zip(&mut data.streams) {
                if let Some(measured) = stream.step(sample, dt_s, decimation) {
                    let measured = measured.in_frd();
                    let which = (data.descriptor_set, *descriptor);
                    fields.extend(field(which, sample, &measured, unit, &self.answers));
                }
            }
            if data.is_on && is_heard && !fields.is_empty() {
                let mut bytes = Vec::new();
                Packet::emit_all(data.descriptor_set, fields, &mut bytes);
                unit.report(sample, bytes);
            }
        }
    }

    fn on_input(&mut self, now: SimTime, bytes: &[u8], unit: &mut Unit) {
        if now < self.silent_until {
            return;
        }
        for packet in self.framer.frames(bytes) {
            self.on_packet(now, &packet, unit);
            if now < self.silent_until {
                // What came behind a reset is not heard.
                self.framer.clear();
                break;
            }
        }
    }

    fn rate_hz(&self) -> f64 {
        let on = self.data.iter().filter(|data| data.is_on && !self.is_idle);
        let fastest = on.filter_map(|data| data.format.iter().map(|(_, d)| *d).min());
        fastest.map(|d| f64::from(self.base_rate_hz) / f64::from(d)).sum()
    }
}
