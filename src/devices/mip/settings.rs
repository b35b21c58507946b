//! Settings of a 3DM with the standard functions write, read, save, load and reset: table and values.
//!
//! Layouts and limits follow the maker's MIP SDK (`commands_3dm.h`, `commands_filter.h`).

use std::collections::BTreeMap;

use glam::{DMat3, DVec3};

use super::answers::{MIP_TUNING, MipAnswers};
use super::commands::{dm, filter, function};
use crate::wire::mip::{Field, reply, set};

type Check = fn(&[u8]) -> bool;

/// A setting that a host writes and reads back with the same command.
pub struct Setting {
    /// Descriptor set and descriptor of the command.
    pub command: (u8, u8),
    /// Descriptor of the field in the answer to a read.
    pub reply: u8,
    /// Length of the value, bytes.
    length: usize,
    check: Check,
    /// Whether the setting changes the output. Other settings are only stored, because no filter is computed;
    /// `commands.csv` marks them `kept`.
    pub has_effect: bool,
}

const fn setting(
    command: (u8, u8),
    reply: u8,
    length: usize,
    check: Check,
    has_effect: bool,
) -> Setting {
    Setting { command, reply, length, check, has_effect }
}

const fn of_dm(command: u8, reply: u8, length: usize, check: Check) -> Setting {
    setting((set::THREE_DM, command), reply, length, check, true)
}

const fn of_filter(command: u8, reply: u8, length: usize, check: Check) -> Setting {
    setting((set::FILTER, command), reply, length, check, true)
}

const fn tuning(command: u8, reply: u8, length: usize, check: Check) -> Setting {
    setting((set::FILTER, command), reply, length, check, false)
}

/// All settings with the standard functions.
pub const SETTINGS: [Setting; 29] = [
    of_dm(dm::ACCEL_BIAS, 0x9a, 12, finite),
    of_dm(dm::GYRO_BIAS, dm::GYRO_BIAS_REPLY, 12, finite),
    of_dm(dm::HARD_IRON, 0x9c, 12, finite),
    of_dm(dm::SOFT_IRON, 0x9d, 36, finite),
    of_dm(dm::CONING, 0x9e, 1, flag),
    setting((set::THREE_DM, dm::COMPLEMENTARY), 0x97, 10, complementary, false),
    of_filter(filter::SENSOR_TO_VEHICLE, 0x81, 12, finite),
    of_filter(filter::HEADING_SOURCE, 0x87, 1, heading_source),
    of_filter(filter::AUTO_INIT, 0x88, 1, flag),
    of_filter(filter::REFERENCE_POSITION, 0x90, 25, place),
    of_filter(filter::DECLINATION, 0xb2, 5, source),
    tuning(0x10, 0x80, 1, dynamics_mode),
    tuning(0x14, 0x84, 2, any),
    tuning(0x1a, 0x89, 12, positive),
    tuning(0x1b, 0x8a, 12, positive),
    tuning(0x1c, 0x8b, 24, model),
    tuning(0x1d, 0x8c, 24, model),
    tuning(0x20, 0x8e, 5, threshold),
    tuning(0x25, 0x92, 1, flag),
    tuning(0x28, 0x93, 12, positive),
    tuning(0x2b, 0x96, 12, positive),
    tuning(0x2c, 0x97, 36, positive),
    tuning(0x41, 0xb0, 2, any),
    tuning(0x42, 0xb1, 12, positive),
    tuning(0x44, 0xb3, 25, adaptive),
    tuning(0x45, 0xb4, 25, adaptive),
    tuning(0x46, 0xb5, 17, adaptive),
    // Inclination and magnitude of the magnetic field: real units use them only to reject disturbed fields.
    tuning(0x4c, 0xbc, 5, source),
    tuning(0x4d, 0xbd, 5, source),
];

fn floats(data: &[u8]) -> impl Iterator<Item = f32> + '_ {
    data.as_chunks::<4>().0.iter().map(|bytes| f32::from_be_bytes(*bytes))
}

fn any(_: &[u8]) -> bool {
    true
}

fn flag(data: &[u8]) -> bool {
    data[0] <= 1
}

fn finite(data: &[u8]) -> bool {
    floats(data).all(f32::is_finite)
}

fn positive(data: &[u8]) -> bool {
    floats(data).all(|x| x.is_finite() && x > 0.0)
}

/// Whether the value of a noise model is valid: three finite inverse time constants, then three noise densities above
/// 0.
fn model(data: &[u8]) -> bool {
    finite(data) && positive(&data[12..])
}

fn threshold(data: &[u8]) -> bool {
    flag(data) && floats(&data[1..]).all(|x| x.is_finite() && x >= 0.0)
}

fn adaptive(data: &[u8]) -> bool {
    data[0] <= 2 && finite(&data[1..])
}

/// Whether the source of a declination, inclination or magnitude is valid: 1 none, 2 World Magnetic Model, 3 the value that
/// follows.
fn source(data: &[u8]) -> bool {
    (1..=3).contains(&data[0]) && finite(&data[1..])
}

fn dynamics_mode(data: &[u8]) -> bool {
    (1..=4).contains(&data[0])
}

/// Whether a heading source is valid: 0 none, 1 magnetometer, 3 external, 6 magnetometer and external. Sources with a GNSS
/// receiver (2, 4, 5, 7) are not valid, because the unit has none.
fn heading_source(data: &[u8]) -> bool {
    matches!(data[0], 0 | 1 | 3 | 6)
}

/// Whether the setting of the complementary filter is valid: two switches, and two time constants of 1 to 1000 s.
fn complementary(data: &[u8]) -> bool {
    data[0] <= 1 && data[1] <= 1 && floats(&data[2..]).all(|x| (1.0..=1000.0).contains(&x))
}

fn place(data: &[u8]) -> bool {
    let [latitude, longitude, altitude] = doubles(&data[1..]);
    data[0] <= 1 && latitude.abs() <= 90.0 && longitude.abs() <= 180.0 && altitude.is_finite()
}

fn doubles(data: &[u8]) -> [f64; 3] {
    let mut values = data.as_chunks::<8>().0.iter().map(|bytes| f64::from_be_bytes(*bytes));
    std::array::from_fn(|_| values.next().unwrap_or(f64::NAN))
}

/// Finds the setting of a command; `None` if the command is not a setting.
pub fn find(descriptor_set: u8, command: u8) -> Option<&'static Setting> {
    SETTINGS.iter().find(|s| s.command == (descriptor_set, command))
}

/// Values of settings by command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(BTreeMap<(u8, u8), Vec<u8>>);

impl Values {
    /// Factory values; `is_magnetic`: headings initially refer to magnetic north.
    pub fn factory(answers: &MipAnswers, is_magnetic: bool) -> Self {
        let mut all: BTreeMap<_, _> =
            SETTINGS.iter().map(|s| (s.command, vec![0; s.length])).collect();
        let mut put = |command, value: Vec<u8>| all.insert(command, value);
        let identity = DMat3::IDENTITY.to_cols_array().map(|x| (x as f32).to_be_bytes());
        put((set::THREE_DM, dm::SOFT_IRON), identity.concat());
        put((set::THREE_DM, dm::CONING), vec![1]);
        let ten_seconds = 10f32.to_be_bytes();
        put((set::THREE_DM, dm::COMPLEMENTARY), [&[1, 1][..], &ten_seconds, &ten_seconds].concat());
        put((set::FILTER, filter::HEADING_SOURCE), vec![1]);
        put((set::FILTER, filter::AUTO_INIT), vec![1]);
        let declination = if is_magnetic { 1 } else { 2 };
        put((set::FILTER, filter::DECLINATION), vec![declination, 0, 0, 0, 0]);
        for of_the_field in [0x4c, 0x4d] {
            put((set::FILTER, of_the_field), vec![2, 0, 0, 0, 0]);
        }
        for ((_, id, _), _) in MIP_TUNING {
            let length = find(set::FILTER, id).map_or(0, |s| s.length);
            let text = answers.tuning.get(&id).map_or("", String::as_str);
            let values: Vec<f64> = text.split(',').filter_map(|x| x.trim().parse().ok()).collect();
            // If the value has bytes that are not part of a float, they come first and form an integer.
            let head = if length < 4 { length } else { length % 4 };
            let (first, rest) = values.split_at(usize::from(head > 0).min(values.len()));
            let mut bytes: Vec<u8> = match (head, first) {
                (1, [x]) => vec![*x as u8],
                (2, [x]) => (*x as u16).to_be_bytes().to_vec(),
                _ => Vec::new(),
            };
            bytes.extend(rest.iter().flat_map(|x| (*x as f32).to_be_bytes()));
            bytes.resize(length, 0);
            all.insert((set::FILTER, id), bytes);
        }
        Self(all)
    }

    fn raw(&self, command: (u8, u8)) -> &[u8] {
        self.0.get(&command).map_or(&[], Vec::as_slice)
    }

    /// Stores `values` as the value of a setting that the unit has determined itself, such as a bias.
    pub fn put_floats(&mut self, command: (u8, u8), values: &[f64]) {
        let bytes = values.iter().flat_map(|x| (*x as f32).to_be_bytes()).collect();
        self.0.insert(command, bytes);
    }

    /// First byte of a setting's value; 0 for an unknown setting.
    pub fn byte(&self, command: (u8, u8)) -> u8 {
        self.raw(command).first().copied().unwrap_or(0)
    }

    /// Float at byte `at` of a setting's value.
    pub fn float(&self, command: (u8, u8), at: usize) -> f64 {
        floats(&self.raw(command)[at..]).next().map_or(0.0, f64::from)
    }

    /// Value of a setting of three floats.
    pub fn vector(&self, command: (u8, u8)) -> DVec3 {
        let mut values = floats(self.raw(command)).map(f64::from);
        DVec3::from_array(std::array::from_fn(|_| values.next().unwrap_or(0.0)))
    }

    /// Value of a setting of nine floats: a matrix, row by row.
    pub fn matrix(&self, command: (u8, u8)) -> DMat3 {
        let mut values = floats(self.raw(command)).map(f64::from);
        DMat3::from_cols_array(&std::array::from_fn(|_| values.next().unwrap_or(0.0))).transpose()
    }

    /// Latitude (deg), longitude (deg) and height (m) of the reference position; `None` if it is disabled.
    pub fn reference_position(&self) -> Option<[f64; 3]> {
        let raw = self.raw((set::FILTER, filter::REFERENCE_POSITION));
        (raw.first() == Some(&1)).then(|| doubles(&raw[1..]))
    }
}

/// Three copies of the values: present, saved and factory.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Present values.
    pub current: Values,
    /// Saved values, loaded at power-on.
    pub saved: Values,
    /// Factory values.
    pub factory: Values,
}

impl Memory {
    /// Memory of a new unit.
    pub fn new(factory: Values) -> Self {
        Self { current: factory.clone(), saved: factory.clone(), factory }
    }

    /// Executes a function (`function, value`) on a setting. Returns the field with the value for a read; no field for other
    /// functions.
    ///
    /// # Errors
    /// Returns a code of [`reply`] if the function or the value is invalid.
    pub fn obey(&mut self, setting: &Setting, data: &[u8]) -> Result<Vec<Field>, u8> {
        let command = setting.command;
        let copy = |from: &Values, to: &mut Values| {
            to.0.insert(command, from.raw(command).to_vec());
        };
        match data {
            [function::WRITE, value @ ..] => {
                if value.len() != setting.length || !(setting.check)(value) {
                    return Err(reply::BAD_PARAMETER);
                }
                self.current.0.insert(command, value.to_vec());
            }
            [function::READ, ..] => {
                return Ok(vec![Field::new(setting.reply, self.current.raw(command))]);
            }
            [function::SAVE, ..] => copy(&self.current, &mut self.saved),
            [function::LOAD, ..] => copy(&self.saved, &mut self.current),
            [function::DEFAULT, ..] => copy(&self.factory, &mut self.current),
            _ => return Err(reply::BAD_PARAMETER),
        }
        Ok(Vec::new())
    }
}
