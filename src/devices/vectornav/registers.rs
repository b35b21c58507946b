//! Registers of a VN-100.
//!
//! Contents and numbers of values follow VectorNav's library (`registers.h`) and the user manual; the profile has the
//! factory values. `commands.csv` has the effect of each register.

use std::collections::{BTreeMap, BTreeSet};

use glam::{DMat3, DQuat, DVec3};

use super::models::models_at;
use super::names::MESSAGES;
use crate::imu::Unit;
use crate::imu::conditioning::{Correction, rotation_of_rows};
use crate::imu::output::Measured;
use crate::imu::profile::ImuProfile;
use crate::wire::vectornav::binary::{GROUPS, Layout};
use crate::wire::vectornav::error;

/// Read-only registers with measurements, each with the code of the text output that has the same values.
pub const MEASUREMENTS: [(u8, u8); 12] = [
    (8, 1),
    (9, 2),
    (15, 8),
    (17, 10),
    (18, 11),
    (19, 12),
    (20, 13),
    (27, 14),
    (54, 19),
    (80, 30),
    (239, 16),
    (240, 17),
];

/// Tuning registers of the attitude filter that profiles do not list, with factory values: advanced tuning of
/// magnetometer and accelerometer, gyro tuning, indoor heading, state of the velocity compensation. Layouts follow
/// VectorNav's library, which does not contain the values.
const TUNING: [(u8, &str); 5] = [
    (37, "0,0,0,0,0,0,0,0,0"),
    (39, "0,0,0,0,0,0,0,0,0"),
    (40, "0,0,0,0,0,0,0,0,0"),
    (48, "0"),
    (52, "0,0,0,0,0,0,0,0"),
];

/// Read-only registers with values that the unit computes itself.
const READ_ONLY: [u8; 2] = [47, 52];

/// Read-only registers with the unit's identity.
const IDENTITY: [u8; 4] = [1, 2, 3, 4];
/// Rates of text output, Hz.
const TEXT_RATES_HZ: [u32; 11] = [1, 2, 4, 5, 10, 20, 25, 40, 50, 100, 200];
/// Largest length of the user tag, bytes.
const TAG_LEN: usize = 20;

/// Configuration of one of the three binary outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BinaryOutput {
    /// Bit mask of ports; bit 0 is the connected port.
    pub ports: u8,
    /// Number of samples from one packet to the next.
    pub divisor: u16,
    /// Content of the output; `None` if the output is off.
    pub layout: Option<Layout>,
    text: String,
}

impl BinaryOutput {
    /// Whether the output is enabled on the connected port.
    pub fn is_on(&self) -> bool {
        self.ports & 1 != 0 && self.layout.is_some()
    }
}

/// All registers except the read-only ones with measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    tag: String,
    identity: [String; 4],
    /// Bit rate, bits per second.
    pub baud_rate: u32,
    /// Type of text output, 0: off.
    pub text_type: u8,
    /// Rate of text output, Hz.
    pub text_rate_hz: u32,
    /// Binary outputs 1 to 3.
    pub binary: [BinaryOutput; 3],
    /// Number of pulses of the sync output since the last start.
    pub sync_out_count: u32,
    /// Whether the host has reported a magnetic disturbance (first) and an acceleration disturbance (second).
    pub known_disturbances: [bool; 2],
    /// Registers 5 to 7 of the second port, which is not connected.
    second_port: [u32; 3],
    stored: BTreeMap<u8, String>,
    /// Registers that a host has written since the factory values were loaded.
    written: BTreeSet<u8>,
    effects: Effects,
}

/// Effects of the registers in numerical form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Corrections of registers 23, 25 and 84: magnetic field, acceleration, angular rate.
    pub corrections: [Correction; 3],
    /// Filters of register 85: magnetic field, acceleration, angular rate, temperature, pressure.
    pub filters: [MeanFilter; 5],
    /// Configuration of increments (register 82).
    pub increments: IncrementsConfig,
    /// Magnetic reference that the host has set, as a model or vector: north, east, down, gauss.
    pub magnetic_reference: Option<DVec3>,
    /// Gravity reference that the host has set, as a model or vector: specific force of a unit at rest, which is opposite to
    /// gravity; north, east, down, m/s².
    pub gravity_reference: Option<DVec3>,
    /// Whether text output (first) and sampling (second) wait for a pulse at the sync input. Such a pulse never arrives.
    pub waits_for_sync: [bool; 2],
    /// Number of samples from one pulse of the sync output to the next; 0: no pulses.
    pub sync_out_every: u64,
    /// Appended fields (register 30).
    pub appended: Appended,
}

/// Settings that take effect only at a start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Started {
    /// Reference frame rotation (register 26).
    pub user_from_sensor: DQuat,
    /// Startup gyro bias (register 43), rad/s.
    pub gyro_bias_rad_s: DVec3,
}

/// Settings of the moving mean of one measured quantity (register 85).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeanFilter {
    /// Number of samples in the mean.
    pub window: usize,
    /// Mode: 0 off, bit 0 uncompensated values, bit 1 compensated values.
    pub mode: u8,
}

impl MeanFilter {
    /// Whether the filter applies to a branch: 0 uncompensated, 1 compensated.
    pub fn acts_on(&self, branch: usize) -> bool {
        self.mode & (1 << branch) != 0
    }
}

/// Configuration of increments (register 82).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncrementsConfig {
    /// Whether velocity increments are in north-east-down instead of body axes.
    pub in_ned: bool,
    /// Whether the startup gyro bias (register 43) is subtracted from angular rates.
    pub with_bias: bool,
    /// Whether gravity is removed from velocity increments.
    pub without_gravity: bool,
}

/// Fields appended to text output (register 30).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Appended counter or time: 0 none, 1 sync input count, 2 sync input time, 3 sync output count, 4 PPS time.
    pub counter: u32,
    /// Appended status: 0 none, 1 attitude filter, 2 navigation.
    pub status: u32,
}

impl Registers {
    /// Factory values with the rig's changes; `stored` has the contents of the registers that the profile lists.
    pub fn factory(unit: &Unit, mut stored: BTreeMap<u8, String>) -> Self {
        for (id, content) in TUNING {
            stored.entry(id).or_insert_with(|| content.to_owned());
        }
        let identity = &unit.profile.identity;
        let text_type = unit
            .settings
            .messages
            .first()
            .and_then(|m| MESSAGES.iter().find(|(name, _)| name == m))
            .map_or(0, |(_, code)| *code);
        let off = BinaryOutput { text: "0,1,0".into(), divisor: 1, ..BinaryOutput::default() };
        let mut made = Self {
            tag: String::new(),
            identity: [
                identity.model.clone(),
                identity.hardware.clone(),
                identity.serial.clone(),
                identity.firmware.clone(),
            ],
            baud_rate: unit.settings.baud_rate,
            text_type,
            text_rate_hz: unit.settings.rate_hz,
            binary: [off.clone(), off.clone(), off],
            sync_out_count: 0,
            known_disturbances: [false; 2],
            second_port: [unit.settings.baud_rate, u32::from(text_type), unit.settings.rate_hz],
            stored,
            written: BTreeSet::new(),
            effects: Effects::default(),
        };
        made.derive();
        made
    }

    /// Whether lines have a CRC16.
    pub fn has_long_checksum(&self) -> bool {
        self.protocol_field(4) == Some(3)
    }

    /// Whether errors are answered with `$VNERR`.
    pub fn reports_errors(&self) -> bool {
        self.protocol_field(6) != Some(0)
    }

    /// Whether an error turns text output off.
    pub fn errors_stop_text(&self) -> bool {
        self.protocol_field(6) == Some(2)
    }

    fn protocol_field(&self, place: usize) -> Option<u32> {
        self.numbers(30).get(place).map(|x| *x as u32)
    }

    /// Effects of the registers.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    fn derive(&mut self) {
        let field = |place| self.protocol_field(place).unwrap_or(0);
        let [sync_in, sync_out] = [0, 4].map(|place| self.number(32, place));
        let every = self.number(32, 6) as u64 + 1;
        let own = |model_at: usize, from: usize| {
            if self.number(83, model_at) == 1.0 {
                return Some(self.models()[model_at]);
            }
            self.written.contains(&21).then(|| self.vector(21, from))
        };
        self.effects = Effects {
            corrections: [23, 25, 84].map(|id| self.correction(id)),
            filters: self.filters(),
            increments: IncrementsConfig {
                in_ned: self.number(82, 0) == 1.0,
                with_bias: self.number(82, 1) == 1.0,
                without_gravity: self.number(82, 2) == 1.0,
            },
            magnetic_reference: own(0, 0),
            gravity_reference: own(1, 3),
            waits_for_sync: [sync_in == 4.0 || sync_in == 5.0, sync_in == 4.0],
            // A pulse at the start of sampling, when a sample is ready, or when its attitude is ready.
            sync_out_every: if matches!(sync_out, 1.0 | 2.0 | 3.0) { every } else { 0 },
            appended: Appended { counter: field(0), status: field(1) },
        };
    }

    /// Values of a stored register as numbers; 0 for a value that is no number.
    fn numbers(&self, id: u8) -> Vec<f64> {
        let text = self.stored.get(&id).map_or("", String::as_str);
        text.split(',').map(|x| x.trim().parse().unwrap_or(0.0)).collect()
    }

    fn number(&self, id: u8, place: usize) -> f64 {
        self.numbers(id).get(place).copied().unwrap_or(0.0)
    }

    /// Correction in register `id`: nine numbers of a matrix (row by row), then three of an offset.
    fn correction(&self, id: u8) -> Correction {
        let all = self.numbers(id);
        let of = |place: usize| all.get(place).copied().unwrap_or(0.0);
        let matrix = DMat3::from_cols_array(&std::array::from_fn(of)).transpose();
        Correction { matrix, offset: DVec3::new(of(9), of(10), of(11)) }
    }

    /// Settings of registers 26 and 43, which take effect at the next start.
    pub fn at_start(&self) -> Started {
        let all = self.numbers(26);
        let rows = std::array::from_fn(|place| all.get(place).copied().unwrap_or(0.0));
        let bias = self.numbers(43);
        let of = |place: usize| bias.get(place).copied().unwrap_or(0.0);
        Started {
            user_from_sensor: rotation_of_rows(&rows).unwrap_or(DQuat::IDENTITY),
            gyro_bias_rad_s: DVec3::new(of(0), of(1), of(2)),
        }
    }

    fn filters(&self) -> [MeanFilter; 5] {
        let all = self.numbers(85);
        let of = |place: usize| all.get(place).copied().unwrap_or(0.0);
        std::array::from_fn(|i| MeanFilter { window: of(i) as usize, mode: of(5 + i) as u8 })
    }

    fn models(&self) -> [DVec3; 2] {
        let place = self.numbers(83);
        let of = |i: usize| place.get(i).copied().unwrap_or(0.0);
        models_at(of(6), of(7), of(8), of(5))
    }

    fn vector(&self, id: u8, from: usize) -> DVec3 {
        DVec3::from_array(std::array::from_fn(|axis| self.number(id, from + axis)))
    }

    /// Counts a pulse of the sync output, if one is due at sample `index`.
    pub fn count_sync_out(&mut self, index: u64) {
        let every = self.effects.sync_out_every;
        let is_pulse = every > 0 && index.is_multiple_of(every);
        self.sync_out_count = self.sync_out_count.wrapping_add(is_pulse.into());
    }

    /// Status of the attitude filter: exceeded ranges, and disturbances reported by the host.
    pub fn vpe_status(&self, measured: &Measured) -> u16 {
        let any = |axes: [bool; 3]| axes.contains(&true);
        let [magnetic, acceleration] = self.known_disturbances;
        let bits = [
            (2, any(measured.clipped.gyro)),
            (6, any(measured.clipped.mag)),
            (9, any(measured.clipped.accel)),
            (11, magnetic),
            (12, acceleration),
        ];
        bits.iter().fold(0, |word, (bit, on)| word | u16::from(*on) << bit)
    }

    /// Stores the startup gyro bias, rad/s.
    pub fn set_startup_bias(&mut self, bias: DVec3) {
        let text = bias.to_array().map(|x| format!("{x:+010.6}")).join(",");
        self.stored.insert(43, text);
    }

    /// Content of a register; `None` for a register with measurements, and for one that the unit lacks.
    pub fn read(&self, id: u8) -> Option<String> {
        Some(match id {
            0 => self.tag.clone(),
            1..=4 => self.identity[usize::from(id) - 1].clone(),
            5 => self.baud_rate.to_string(),
            6 => self.text_type.to_string(),
            7 => self.text_rate_hz.to_string(),
            // The sync input gets no pulse.
            33 => format!("0,0,{}", self.sync_out_count),
            75..=77 => self.binary[usize::from(id) - 75].text.clone(),
            21 if self.number(83, 0) == 1.0 || self.number(83, 1) == 1.0 => {
                let [field, force] = self.models();
                let pick = |place: usize, model: DVec3| {
                    if self.number(83, place) == 1.0 { model } else { self.vector(21, 3 * place) }
                };
                let all = [pick(0, field), pick(1, force)].map(|v| v.to_array()).concat();
                all.iter().map(|x| format!("{x:+010.6}")).collect::<Vec<_>>().join(",")
            }
            _ => self.stored.get(&id)?.clone(),
        })
    }

    /// Content of register 5, 6 or 7 for the port that the host names.
    ///
    /// # Errors
    /// Returns a code of `$VNERR`.
    pub fn read_of_port(&self, id: u8, port: &str) -> Result<String, u8> {
        match (id, port) {
            (5..=7, "1") => self.read(id).ok_or(error::INVALID_REGISTER),
            (5..=7, "2") => Ok(self.second_port[usize::from(id) - 5].to_string()),
            (5..=7, _) => Err(error::INVALID_PARAMETER),
            _ => Err(error::TOO_MANY_PARAMETERS),
        }
    }

    /// Writes a register.
    ///
    /// # Errors
    /// Returns a code of `$VNERR`; the registers are then unchanged.
    pub fn write(&mut self, id: u8, values: &[&str], profile: &ImuProfile) -> Result<(), u8> {
        if values.is_empty() {
            return Err(error::NOT_ENOUGH_PARAMETERS);
        }
        match id {
            0 => {
                let tag = values.join(",");
                if tag.len() > TAG_LEN {
                    return Err(error::INVALID_PARAMETER);
                }
                self.tag = tag;
            }
            id if IDENTITY.contains(&id) || READ_ONLY.contains(&id) => {
                return Err(error::UNAUTHORIZED_ACCESS);
            }
            33 => {
                count(values.len(), 3, 3)?;
                if values.iter().any(|v| v.parse::<u32>().is_err()) {
                    return Err(error::INVALID_PARAMETER);
                }
                // Zero resets the counter; other values have no effect.
                if values[2].parse() == Ok(0) {
                    self.sync_out_count = 0;
                }
            }
            5..=7 => {
                let codes = MESSAGES.map(|(_, code)| u32::from(code));
                let allowed = match id {
                    5 => profile.line.serial.baud_rates.as_slice(),
                    6 => &codes,
                    _ => &TEXT_RATES_HZ,
                };
                let value = one_of(values, allowed)?;
                match id {
                    _ if values.get(1) == Some(&"2") => {
                        self.second_port[usize::from(id) - 5] = value;
                    }
                    5 => self.baud_rate = value,
                    6 => self.text_type = value as u8,
                    _ => self.text_rate_hz = value,
                }
            }
            75..=77 => self.binary[usize::from(id) - 75] = binary_output(values)?,
            _ => {
                let stored = self.stored.get_mut(&id).ok_or(error::INVALID_REGISTER)?;
                let wanted = stored.split(',').count();
                count(values.len(), wanted, wanted)?;
                let all: Option<Vec<f64>> = values.iter().map(|v| v.trim().parse().ok()).collect();
                let all = all.filter(|all| all.iter().all(|x| x.is_finite()));
                if !all.is_some_and(|all| is_allowed(id, &all)) {
                    return Err(error::INVALID_PARAMETER);
                }
                *stored = values.join(",");
                self.written.insert(id);
                self.derive();
            }
        }
        Ok(())
    }
}

/// Whether the stored register `id` accepts the values `all`, according to the user manual.
fn is_allowed(id: u8, all: &[f64]) -> bool {
    let whole =
        |place: usize, most: f64| all[place].fract() == 0.0 && (0.0..=most).contains(&all[place]);
    match id {
        26 => all.as_array().is_some_and(|rows| rotation_of_rows(rows).is_some()),
        30 => {
            let most = [4.0, 2.0, 4.0, 2.0, 3.0, 3.0, 2.0];
            (0..7).all(|place| whole(place, most[place])) && all[4] >= 1.0
        }
        32 => {
            (3.0..=6.0).contains(&all[0])
                && whole(1, 1.0)
                && whole(2, 65_535.0)
                && matches!(all[4], 0.0 | 1.0 | 2.0 | 3.0 | 6.0)
                && whole(5, 1.0)
                && whole(6, 65_535.0)
        }
        35 => whole(0, 1.0) && whole(1, 2.0) && whole(2, 1.0) && whole(3, 1.0),
        44 => whole(0, 2.0) && matches!(all[1], 1.0 | 3.0) && whole(2, 5.0) && all[2] >= 1.0,
        51 => whole(0, 1.0),
        // Without a position, the Earth-fixed frame is not supported.
        82 => whole(0, 1.0) && whole(1, 1.0) && whole(2, 1.0),
        83 => {
            let is_place = all[6].abs() <= 90.0 && all[7].abs() <= 180.0;
            whole(0, 1.0) && whole(1, 1.0) && is_place
        }
        85 => (0..5).all(|i| whole(i, 255.0) && whole(5 + i, 3.0)),
        _ => true,
    }
}

fn count(found: usize, least: usize, most: usize) -> Result<(), u8> {
    if found < least {
        Err(error::NOT_ENOUGH_PARAMETERS)
    } else if found > most {
        Err(error::TOO_MANY_PARAMETERS)
    } else {
        Ok(())
    }
}

/// Parses one of the `allowed` values, optionally followed by the port number 1 or 2; returns the value.
fn one_of(values: &[&str], allowed: &[u32]) -> Result<u32, u8> {
    count(values.len(), 1, 2)?;
    if values.get(1).is_some_and(|port| !matches!(*port, "1" | "2")) {
        return Err(error::INVALID_PARAMETER);
    }
    let value = values[0].parse().map_err(|_| error::INVALID_PARAMETER)?;
    allowed.contains(&value).then_some(value).ok_or(error::INVALID_PARAMETER)
}

/// Parses `ports, divisor, groups, mask …`; groups and masks are hexadecimal, with one mask per group.
fn binary_output(values: &[&str]) -> Result<BinaryOutput, u8> {
    count(values.len(), 3, 3 + GROUPS)?;
    let hex = |text: &str| u16::from_str_radix(text, 16).map_err(|_| error::INVALID_PARAMETER);
    let ports: u8 = values[0].parse().map_err(|_| error::INVALID_PARAMETER)?;
    let divisor: u16 = values[1].parse().map_err(|_| error::INVALID_PARAMETER)?;
    let groups = hex(values[2])?;
    if ports > 3 || groups > 0x7f || (ports != 0 && divisor == 0) {
        return Err(error::INVALID_PARAMETER);
    }
    let wanted = groups.count_ones() as usize;
    count(values.len() - 3, wanted, wanted)?;
    let mut masks = [0; GROUPS];
    let mut given = values[3..].iter();
    for (group, mask) in masks.iter_mut().enumerate() {
        if groups & (1 << group) != 0 {
            *mask = hex(given.next().unwrap_or(&""))?;
        }
    }
    let layout = if masks == [0; GROUPS] {
        None
    } else {
        Some(Layout::new(masks).map_err(|_| error::INVALID_PARAMETER)?)
    };
    Ok(BinaryOutput { ports, divisor: divisor.max(1), layout, text: values.join(",") })
}
