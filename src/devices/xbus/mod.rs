//! Xsens MTi: two states, configuration and measurement.
//!
//! In measurement state the unit streams MTData2. It accepts only changes of state, resets, `ReqData`, `SetNoRotation`
//! and `IccCommand`; other messages are errors. In configuration state it streams nothing and answers every message.
//! The answer to `SetOutputConfiguration` has the configuration in effect; answers to other settings have no data. An
//! answer has the message id of the request plus one. After a reset the unit sends `WakeUp`; it stays in configuration
//! state if the host answers within half a second.
//!
//! The local frame of an item (ENU, NED, NWU) applies to orientations and to values in world axes; sensor axes stay
//! forward, left, up.

mod alignment;
mod answers;
mod compass;
mod decoder;
mod items;

use std::collections::BTreeMap;

use self::alignment::Alignment;
use self::answers::{FilterProfile, XBUS_SETTINGS, XbusAnswers};
use self::compass::Compass;
pub use self::items::MESSAGES;
use self::items::{Moment, item, utc};
use crate::frames::Geodetic;
use crate::imu::answers::read as read_answers;
use crate::imu::output::Stream;
use crate::imu::{ImuFamily, Protocol, Unit};
use crate::sensors::imu::Sample;
use crate::time::SimTime;
use crate::wire::framer::Framer;
use crate::wire::record::Record;
use crate::wire::xbus::{BAUD_IDS, Configuration, Message, OutputItem, Xbus, Xdi, error, mid};

/// Family of the Xsens MTi with the protocol Xbus.
pub const FAMILY: ImuFamily = ImuFamily {
    key: "xsens-xbus",
    messages: || MESSAGES.iter().map(|(name, ..)| *name).collect(),
    dialect: read_answers::<XbusAnswers>,
    commands: &[("Xbus messages", include_str!("commands.csv"))],
    decoder: decoder::decoder,
};

/// Time in which the host can answer `WakeUp`.
const WAKE_UP_WAIT_NS: u64 = 500_000_000;
/// Largest number of items in an output configuration.
const MAX_ITEMS: usize = 32;
/// Rate value of items that are in every message.
const EVERY_MESSAGE: u16 = 0xffff;
/// Unit of UTC corrections: 0.1 ms.
const UTC_TICK_NS: i128 = 100_000;
/// Option flag: the unit stays in configuration state after a start.
const DISABLE_AUTO_MEASUREMENT: u8 = 0x02;

/// Settings that profiles do not list, with factory values: extended output mode of the line, skip factor of strings,
/// transmit delay on a shared line.
const STORED: [(u8, &[u8]); 3] = [
    (mid::SET_EXT_OUTPUT_MODE, &[0, 0]),
    (mid::SET_OUTPUT_SKIP_FACTOR, &[0, 0]),
    (mid::SET_TRANSMIT_DELAY, &[0, 0]),
];
/// Length of the extended settings (eMTS), whose content is encrypted and not published.
const EMTS_BYTES: usize = 1024;
/// First bytes of a sync setting: function "send latest" on the line `ReqData`.
const SEND_LATEST_ON_REQUEST: [u8; 2] = [8, 6];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Measurement,
    Config,
    /// The unit is silent until this time after a reset.
    Booting(SimTime),
    /// `WakeUp` was sent; measurement starts at this time if the host does not answer.
    WokenUp(SimTime),
}

/// An MTi unit.
pub struct XbusUnit {
    /// Fixed answers.
    answers: XbusAnswers,
    framer: Framer<Xbus>,
    state: State,
    output: Vec<OutputItem>,
    streams: BTreeMap<u64, Stream>,
    /// Stored settings, by message id.
    stored: BTreeMap<u8, Vec<u8>>,
    alignment: Alignment,
    compass: Compass,
    /// Latest measurement message, for requests of the host.
    latest_data: Vec<u8>,
    /// UTC set by the host minus true UTC.
    utc_ahead_ns: i128,
    latest: Option<Sample>,
    counter: u16,
    sample_rate_hz: u32,
}

/// Whether setting `id` accepts data of this length.
fn takes(id: u8, length: usize) -> bool {
    match id {
        // Four bytes of flags to set, then four bytes of flags to clear.
        mid::SET_OPTION_FLAGS => length == 8,
        // Up to ten settings of twelve bytes.
        mid::SET_SYNC_SETTINGS => length.is_multiple_of(12) && length <= 120,
        _ => {
            let listed = XBUS_SETTINGS.iter().map(|((_, known, bytes), _)| (*known, *bytes));
            let more = STORED.iter().map(|(known, value)| (*known, value.len()));
            listed.chain(more).any(|known| known == (id, length))
        }
    }
}

/// Message counter at the start of the run; it includes the messages since power-on.
fn counter_at_start(unit: &Unit) -> u16 {
    let sent =
        u128::from(unit.settings.on_for_ns) * u128::from(unit.settings.rate_hz) / 1_000_000_000;
    (sent & 0xffff) as u16
}

impl XbusUnit {
    /// A unit in measurement state, or in configuration state if the rig disables streaming at the start.
    pub fn new(unit: &Unit, answers: XbusAnswers) -> Self {
        let stored = factory_settings(&answers);
        let mut made = Self {
            answers,
            framer: Framer::new(Xbus),
            state: if unit.settings.is_streaming { State::Measurement } else { State::Config },
            output: Vec::new(),
            streams: BTreeMap::new(),
            stored,
            alignment: Alignment::default(),
            compass: Compass::default(),
            latest_data: Vec::new(),
            utc_ahead_ns: 0,
            latest: None,
            counter: counter_at_start(unit),
            sample_rate_hz: unit.profile.output.sample_rate_hz,
        };
        made.restore_output(unit);
        made
    }

    fn restore_output(&mut self, unit: &Unit) {
        let listed = unit.settings.messages.iter();
        let found = listed.filter_map(|m| MESSAGES.iter().find(|(name, _)| name == m));
        let rate_hz = unit.settings.rate_hz.min(0xffff) as u16;
        let wanted: Vec<_> = found.map(|(_, xdi)| OutputItem { xdi: *xdi, rate_hz }).collect();
        self.configure(&wanted, unit);
    }

    /// Applies the supported items of an output configuration. Items of time and status are in every message, whatever
    /// rate the host requests for them.
    fn configure(&mut self, wanted: &[OutputItem], unit: &Unit) {
        let known = |o: &&OutputItem| MESSAGES.iter().any(|(_, xdi)| *xdi == o.xdi.what());
        let effective = |o: &OutputItem| {
            let comes_always = matches!(o.xdi.0 & 0xf800, 0x1000 | 0xe000);
            let is_orientation =
                matches!(o.xdi.0 & 0xf800, 0x2000) || o.xdi.what() == Xdi::FREE_ACCELERATION;
            let rate_hz = if comes_always {
                EVERY_MESSAGE
            } else {
                let most = if is_orientation {
                    unit.profile.output.max_rate_hz
                } else {
                    unit.profile.output.sample_rate_hz
                };
                // Like 0xFFFF, a rate of 0 selects the highest rate (MT0101P).
                let rate = if o.rate_hz == 0 { most } else { u32::from(o.rate_hz).min(most) };
                let slower = (1..=rate).rev().find(|r| self.sample_rate_hz.is_multiple_of(*r));
                slower.unwrap_or(1) as u16
            };
            OutputItem { xdi: o.xdi, rate_hz }
        };
        self.output = wanted.iter().filter(known).map(effective).collect();
        let divisors = self.output.iter().filter(|o| o.rate_hz != EVERY_MESSAGE);
        self.streams = divisors
            .map(|o| u64::from(self.sample_rate_hz / u32::from(o.rate_hz)))
            .map(|divisor| (divisor, Stream::every(divisor)))
            .collect();
        // If only items without a rate of their own are requested, messages have the rate in the unit's settings.
        if self.streams.is_empty() && !self.output.is_empty() {
            let divisor = unit.divisor(unit.settings.rate_hz);
            self.streams.insert(divisor, Stream::every(divisor));
        }
    }

    fn say(unit: &mut Unit, now: SimTime, mid: u8, data: impl Into<Vec<u8>>) {
        let mut bytes = Vec::new();
        Message::new(mid, data).emit(&mut bytes);
        unit.reply(now, bytes);
    }

    fn on_message(&mut self, now: SimTime, message: &Message, unit: &mut Unit) {
        if let State::WokenUp(_) = self.state
            && matches!(message.mid, mid::WAKE_UP_ACK | mid::GO_TO_CONFIG)
        {
            self.state = State::Config;
            if message.mid == mid::WAKE_UP_ACK {
                return;
            }
        }
        let is_streaming = self.state == State::Measurement;
        let ack = message.mid.wrapping_add(1);
        match message.mid {
            mid::GO_TO_CONFIG => {
                self.state = State::Config;
                Self::say(unit, now, ack, []);
            }
            mid::GO_TO_MEASUREMENT => {
                Self::say(unit, now, ack, []);
                self.state = State::Measurement;
            }
            mid::RESET => {
                Self::say(unit, now, ack, []);
                unit.forget_held();
                self.state = State::Booting(SimTime(now.0 + unit.profile.line.serial.boot_ns));
            }
            mid::ICC_COMMAND => match self.compass.obey(&message.data) {
                Ok(data) => Self::say(unit, now, ack, data),
                Err(code) => Self::say(unit, now, mid::ERROR, [code]),
            },
            mid::REQ_DATA if is_streaming => {
                if !self.latest_data.is_empty() {
                    Self::say(unit, now, mid::MT_DATA2, self.latest_data.clone());
                }
            }
            mid::SET_NO_ROTATION | mid::RESET_ORIENTATION => {
                let done = match (message.mid, message.data.as_slice()) {
                    (mid::SET_NO_ROTATION, [high, low]) => {
                        self.alignment.start_update(now, u16::from_be_bytes([*high, *low]));
                        Ok(())
                    }
                    (mid::RESET_ORIENTATION, [0, 0]) if !is_streaming => {
                        self.alignment.store_resets();
                        Ok(())
                    }
                    (mid::RESET_ORIENTATION, [high, low]) => {
                        let code = u16::from_be_bytes([*high, *low]);
                        self.alignment.reset(code, self.latest.as_ref())
                    }
                    _ => Err(error::PARAMETER),
                };
                match done {
                    Ok(()) => Self::say(unit, now, ack, []),
                    Err(code) => Self::say(unit, now, mid::ERROR, [code]),
                }
            }
            mid::WAKE_UP_ACK => {}
            _ if is_streaming => Self::say(unit, now, mid::ERROR, [error::MESSAGE]),
            _ => match self.configure_by(now, message, unit) {
                Ok(data) => Self::say(unit, now, ack, data),
                Err(code) => Self::say(unit, now, mid::ERROR, [code]),
            },
        }
    }

    /// Handles a message in configuration state; returns the data of the answer, or an error code.
    fn configure_by(
        &mut self,
        now: SimTime,
        message: &Message,
        unit: &mut Unit,
    ) -> Result<Vec<u8>, u8> {
        let data = &message.data;
        let identity = unit.profile.identity.clone();
        Ok(match message.mid {
            // `InitMT`: masters of a bus expect an answer, although an MTi without a bus has nothing to initialise.
            mid::REQ_DID | mid::INIT_MT => device_id(&identity.serial).to_be_bytes().to_vec(),
            mid::REQ_PRODUCT_CODE => format!("{:<20.20}", identity.model).into_bytes(),
            mid::REQ_FW_REV => version(&identity.firmware, 3),
            mid::REQ_HARDWARE_VERSION => version(&identity.hardware, 2),
            // Data length of legacy measurements, which are not supported.
            mid::REQ_DATA_LENGTH => vec![0, 0],
            mid::REQ_EMTS if data.len() <= 2 => vec![0; EMTS_BYTES],
            mid::REQ_EMTS => return Err(error::PARAMETER),
            mid::STORE_FILTER_STATE => Vec::new(),
            mid::REQ_CONFIGURATION => self.configuration(unit).to_bytes(),
            mid::SET_OUTPUT_CONFIGURATION => {
                if !data.is_empty() {
                    let wanted = OutputItem::parse_all(data).map_err(|_| error::PARAMETER)?;
                    if wanted.len() > MAX_ITEMS {
                        return Err(error::PARAMETER);
                    }
                    self.configure(&wanted, unit);
                }
                OutputItem::emit_all(&self.output)
            }
            mid::SET_BAUDRATE => return self.baud_rate(data, unit),
            mid::RESTORE_FACTORY_DEF => {
                self.restore_output(unit);
                self.stored = factory_settings(&self.answers);
                self.alignment = Alignment::default();
                Vec::new()
            }
            mid::RUN_SELFTEST => self.answers.self_test.to_be_bytes().to_vec(),
            mid::REQ_AVAILABLE_PROFILES => self
                .answers
                .filter_profiles
                .iter()
                .flat_map(|FilterProfile { number, version, label }| {
                    [vec![*number, *version], format!("{label:<20}").into_bytes()].concat()
                })
                .collect(),
            mid::SET_UTC_TIME if data.is_empty() => utc(unit, now, self.utc_ahead_ns),
            mid::SET_UTC_TIME => {
                let wanted = time_of(data).ok_or(error::PARAMETER)?;
                self.utc_ahead_ns = wanted.as_nanosecond() - unit.epoch.unix_ns(now);
                Vec::new()
            }
            mid::ADJUST_UTC_TIME => {
                let ticks = data.as_array().copied().map(i32::from_be_bytes);
                self.utc_ahead_ns += i128::from(ticks.ok_or(error::PARAMETER)?) * UTC_TICK_NS;
                Vec::new()
            }
            mid::SET_ALIGNMENT_ROTATION => match data.as_slice() {
                [which @ (0 | 1)] => {
                    let q = self.alignment.rotations[usize::from(*which)];
                    let numbers = [q.w, q.x, q.y, q.z].map(|x| (x as f32).to_be_bytes());
                    [&[*which][..], &numbers.concat()].concat()
                }
                [which @ (0 | 1), numbers @ ..] if numbers.len() == 16 => {
                    let float = |i: usize| std::array::from_fn(|k| numbers[4 * i + k]);
                    let wxyz = std::array::from_fn(|i| f32::from_be_bytes(float(i)));
                    self.alignment.rotations[usize::from(*which)] = Alignment::rotation_of(wxyz)?;
                    Vec::new()
                }
                _ => return Err(error::PARAMETER),
            },
            mid::SET_FILTER_PROFILE if !data.is_empty() => {
                let &[_, number] = data.as_slice() else { return Err(error::PARAMETER) };
                if !self.answers.filter_profiles.iter().any(|p| p.number == number) {
                    return Err(error::PARAMETER);
                }
                self.stored.insert(mid::SET_FILTER_PROFILE, data.clone());
                Vec::new()
            }
            mid::SET_LAT_LON_ALT if !data.is_empty() && told_place(data).is_none() => {
                return Err(error::PARAMETER);
            }
            id => {
                let is_known = XBUS_SETTINGS.iter().any(|((_, known, _), _)| *known == id)
                    || STORED.iter().any(|(known, _)| *known == id);
                if !is_known && id != mid::SET_SYNC_SETTINGS {
                    return Err(error::MESSAGE);
                }
                if data.is_empty() {
                    self.stored.get(&id).cloned().unwrap_or_default()
                } else if takes(id, data.len()) {
                    let kept = if id == mid::SET_OPTION_FLAGS {
                        // The first four bytes are flags to set, the other four are flags to clear.
                        let old = self.stored.get(&id).cloned().unwrap_or(vec![0; 4]);
                        (0..4).map(|i| (old[i] | data[i]) & !data[4 + i]).collect()
                    } else {
                        data.clone()
                    };
                    self.stored.insert(id, kept);
                    Vec::new()
                } else {
                    return Err(error::PARAMETER);
                }
            }
        })
    }

    /// Sets the baud rate that applies after the next reset; if `data` is empty, returns the id of that rate. The
    /// driver of ethz-asl resets the unit after this setting.
    fn baud_rate(&mut self, data: &[u8], unit: &Unit) -> Result<Vec<u8>, u8> {
        match data {
            [] => {
                let baud = self.next_baud(unit);
                let id = BAUD_IDS.iter().find(|(_, rate)| *rate == baud);
                Ok(vec![id.map_or(2, |(id, _)| *id)])
            }
            [id] => {
                let rate = BAUD_IDS.iter().find(|(known, _)| known == id).map(|(_, rate)| *rate);
                let rate = rate.filter(|rate| unit.profile.line.serial.baud_rates.contains(rate));
                let rate = rate.ok_or(error::BAUD_RATE)?;
                self.stored.insert(mid::SET_BAUDRATE, rate.to_be_bytes().to_vec());
                Ok(Vec::new())
            }
            _ => Err(error::PARAMETER),
        }
    }

    /// Value of the stored setting `id`, which has two bytes; 0 if it is missing.
    fn stored_word(&self, id: u8) -> u16 {
        let bytes = self.stored.get(&id).and_then(|data| data.first_chunk().copied());
        bytes.map_or(0, u16::from_be_bytes)
    }

    /// Whether measurements are sent on request only.
    fn waits_for_request(&self) -> bool {
        let settings = self.stored.get(&mid::SET_SYNC_SETTINGS).map_or(&[][..], Vec::as_slice);
        settings.chunks(12).any(|setting| setting.starts_with(&SEND_LATEST_ON_REQUEST))
    }

    fn next_baud(&self, unit: &Unit) -> u32 {
        let stored = self.stored.get(&mid::SET_BAUDRATE).and_then(|b| b.first_chunk().copied());
        stored.map_or(unit.port.line().baud, u32::from_be_bytes)
    }

    fn configuration(&self, unit: &Unit) -> Configuration {
        let id = device_id(&unit.profile.identity.serial);
        let start = unit.epoch.civil(SimTime::ZERO);
        let digits =
            |text: String| -> [u8; 8] { text.into_bytes().try_into().unwrap_or([b'0'; 8]) };
        Configuration {
            master_id: id,
            // Sample period in ticks of 1/115200 s.
            period: (115_200 / unit.settings.rate_hz.clamp(2, 115_200)) as u16,
            date: digits(format!("{:04}{:02}{:02}", start.year(), start.month(), start.day())),
            time: digits(format!(
                "{:02}{:02}{:02}00",
                start.hour(),
                start.minute(),
                start.second()
            )),
            device_id: id,
            filter_profile: self.stored_word(mid::SET_FILTER_PROFILE),
            firmware: version(&unit.profile.identity.firmware, 3).try_into().unwrap_or_default(),
            ..Configuration::default()
        }
    }
}

/// Factory settings, by message id.
fn factory_settings(answers: &XbusAnswers) -> BTreeMap<u8, Vec<u8>> {
    let more = STORED.iter().map(|(id, value)| (*id, value.to_vec()));
    answers.stored.clone().into_iter().chain(more).collect()
}

/// Parses a time of 12 bytes: ns, year, month, day, hour, minute, second, flags.
fn time_of(data: &[u8]) -> Option<jiff::Timestamp> {
    let &[a, b, c, d, high, low, month, day, hour, minute, second, _] = data else { return None };
    let [month, day, hour, minute, second] =
        [month, day, hour, minute, second].map(|x| i8::try_from(x).unwrap_or(-1));
    let year = i16::try_from(u16::from_be_bytes([high, low])).ok()?;
    let nanosecond = i32::try_from(u32::from_be_bytes([a, b, c, d])).ok()?;
    let time =
        jiff::civil::DateTime::new(year, month, day, hour, minute, second, nanosecond).ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}

/// Parses latitude, longitude and height from the host; `None` for an invalid position.
fn told_place(data: &[u8]) -> Option<Geodetic> {
    let mut values = data.as_chunks::<8>().0.iter().map(|bytes| f64::from_be_bytes(*bytes));
    let place = Geodetic {
        latitude_deg: values.next()?,
        longitude_deg: values.next()?,
        altitude_m: values.next()?,
    };
    let is_place = place.latitude_deg.abs() <= 90.0
        && place.longitude_deg.abs() <= 180.0
        && place.altitude_m.abs() < 1e6;
    is_place.then_some(place)
}

/// Device id from a hexadecimal serial number.
fn device_id(serial: &str) -> u32 {
    u32::from_str_radix(serial, 16).unwrap_or(0)
}

/// Converts a version such as `1.8.2` to bytes, one per number.
fn version(text: &str, bytes: usize) -> Vec<u8> {
    let mut numbers: Vec<u8> = text.split('.').map(|n| n.parse().unwrap_or(0)).collect();
    numbers.resize(bytes, 0);
    numbers
}

impl Protocol for XbusUnit {
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit) {
        let (dt_s, decimation) = (unit.dt_s(), unit.profile.output.decimation);
        self.alignment.step(sample);
        self.latest = Some(*sample);
        self.compass.step(sample);
        let (made, attitude) = self.alignment.apply(sample);
        let mut ready = BTreeMap::new();
        for (divisor, stream) in &mut self.streams {
            if let Some(measured) = stream.step(&made, dt_s, decimation) {
                ready.insert(*divisor, measured);
            }
        }
        let (true, Some(any)) = (self.state == State::Measurement, ready.values().next()) else {
            return;
        };
        // The factory value is zero: no position is set.
        let told =
            self.stored.get(&mid::SET_LAT_LON_ALT).filter(|data| data.iter().any(|b| *b != 0));
        let now = Moment {
            sample: made,
            attitude,
            host_from_enu: self.alignment.rotations[1],
            clock_ns: unit.clock_ns(sample),
            counter: self.counter,
            utc_ahead_ns: self.utc_ahead_ns,
            told_place: told.and_then(|data| told_place(data)),
            no_rotation: self.alignment.update_status(),
            is_motion_recorded: self.compass.is_recording(),
            raw: *sample,
            ids: (device_id(&unit.profile.identity.serial), self.stored_word(mid::SET_LOCATION_ID)),
        };
        let mut data = Vec::new();
        for output in &self.output {
            let measured = if output.rate_hz == EVERY_MESSAGE {
                Some(any)
            } else {
                ready.get(&u64::from(self.sample_rate_hz / u32::from(output.rate_hz)))
            };
            if let Some(measured) = measured {
                item(output.xdi, &now, measured, unit).emit(&mut data);
            }
        }
        self.counter = self.counter.wrapping_add(1);
        self.latest_data.clone_from(&data);
        if self.waits_for_request() {
            return;
        }
        let mut bytes = Vec::new();
        Message::new(mid::MT_DATA2, data).emit(&mut bytes);
        unit.report(sample, bytes);
    }

    fn on_input(&mut self, now: SimTime, bytes: &[u8], unit: &mut Unit) {
        if matches!(self.state, State::Booting(_)) {
            return;
        }
        for message in self.framer.frames(bytes) {
            self.on_message(now, &message, unit);
            if matches!(self.state, State::Booting(_)) {
                // Bytes after a reset command are ignored.
                self.framer.clear();
                break;
            }
        }
    }

    fn on_time(&mut self, now: SimTime, unit: &mut Unit) {
        if let State::Booting(until) = self.state
            && now >= until
        {
            let baud = self.next_baud(unit);
            if baud != unit.port.line().baud {
                unit.port.change_rate(until, baud);
            }
            unit.restart(until);
            self.counter = 0;
            self.utc_ahead_ns = 0;
            self.alignment.restart();
            self.compass = Compass::default();
            self.latest_data.clear();
            let mut bytes = Vec::new();
            Message::new(mid::WAKE_UP, []).emit(&mut bytes);
            unit.port.send(until, bytes);
            self.state = State::WokenUp(SimTime(until.0 + WAKE_UP_WAIT_NS));
        }
        if let State::WokenUp(until) = self.state
            && now >= until
        {
            let flags = self.stored.get(&mid::SET_OPTION_FLAGS).and_then(|flags| flags.last());
            let stays = flags.is_some_and(|flags| flags & DISABLE_AUTO_MEASUREMENT != 0);
            self.state = if stays { State::Config } else { State::Measurement };
        }
    }

    fn rate_hz(&self) -> f64 {
        if self.state != State::Measurement || self.waits_for_request() {
            return 0.0;
        }
        // Streams with common sample times share messages, so the fastest stream determines the rate.
        let fastest = self.streams.keys().next();
        fastest.map_or(0.0, |divisor| f64::from(self.sample_rate_hz) / *divisor as f64)
    }
}

#[cfg(test)]
mod tests;
