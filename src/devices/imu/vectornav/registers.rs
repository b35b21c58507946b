//! What a VN-100 remembers.
//!
//! Contents and counts of values after VectorNav's library (`registers.h`); factory values of
//! tuning registers are the profile's, and change nothing here.

use std::collections::BTreeMap;

use crate::devices::imu::Unit;
use crate::devices::imu::profile::ImuProfile;
use crate::wire::vectornav::binary::{GROUPS, Layout};
use crate::wire::vectornav::error;

/// Registers that hold measurements; nobody may write them.
pub const MEASUREMENTS: [u8; 9] = [8, 9, 15, 17, 18, 19, 20, 27, 54];

/// Identity, written in the factory.
const IDENTITY: [u8; 4] = [1, 2, 3, 4];
/// Rates of text output, Hz.
const TEXT_RATES_HZ: [u32; 11] = [1, 2, 4, 5, 10, 20, 25, 40, 50, 100, 200];
/// Longest user tag.
const TAG_LEN: usize = 20;

/// One of the three binary outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BinaryOutput {
    /// Bit 0: this port.
    pub ports: u8,
    /// Samples between two packets.
    pub divisor: u16,
    /// What it holds; `None` when it is off.
    pub layout: Option<Layout>,
    text: String,
}

impl BinaryOutput {
    /// Whether it leaves by the first port.
    pub fn is_on(&self) -> bool {
        self.ports & 1 != 0 && self.layout.is_some()
    }
}

/// All registers but those of measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    tag: String,
    identity: [String; 4],
    /// Bits a second.
    pub baud_rate: u32,
    /// Type of text output, 0: off.
    pub text_type: u8,
    /// Rate of text output, Hz.
    pub text_rate_hz: u32,
    /// Binary outputs 1 to 3.
    pub binary: [BinaryOutput; 3],
    stored: BTreeMap<u8, String>,
}

impl Registers {
    /// As the factory, or the rig, set them; `stored` are those that change nothing here.
    pub fn factory(unit: &Unit, stored: BTreeMap<u8, String>) -> Self {
        let identity = &unit.profile.identity;
        let text_type = unit
            .profile
            .messages
            .first()
            .and_then(|m| super::MESSAGES.iter().find(|(name, _)| name == m))
            .map_or(0, |(_, code)| *code);
        let off = BinaryOutput { text: "0,1,0".into(), divisor: 1, ..BinaryOutput::default() };
        Self {
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
            stored,
        }
    }

    /// Whether lines are checked by a CRC16.
    pub fn has_long_checksum(&self) -> bool {
        self.protocol_field(4) == Some(3)
    }

    /// Whether faults are answered with `$VNERR`.
    pub fn reports_errors(&self) -> bool {
        self.protocol_field(6) != Some(0)
    }

    fn protocol_field(&self, place: usize) -> Option<u8> {
        self.stored.get(&30)?.split(',').nth(place)?.parse().ok()
    }

    /// The content of a register.
    pub fn read(&self, id: u8) -> Option<String> {
        Some(match id {
            0 => self.tag.clone(),
            1..=4 => self.identity[usize::from(id) - 1].clone(),
            5 => self.baud_rate.to_string(),
            6 => self.text_type.to_string(),
            7 => self.text_rate_hz.to_string(),
            75..=77 => self.binary[usize::from(id) - 75].text.clone(),
            _ => self.stored.get(&id)?.clone(),
        })
    }

    /// Writes a register.
    ///
    /// # Errors
    /// A code of `$VNERR`; nothing has changed then.
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
            id if IDENTITY.contains(&id) => return Err(error::UNAUTHORIZED_ACCESS),
            5 => self.baud_rate = one_of(values, &profile.baud_rates)?,
            6 => {
                let codes: Vec<u32> =
                    super::MESSAGES.iter().map(|(_, code)| u32::from(*code)).collect();
                self.text_type = one_of(values, &codes)? as u8;
            }
            7 => self.text_rate_hz = one_of(values, &TEXT_RATES_HZ)?,
            75..=77 => self.binary[usize::from(id) - 75] = binary_output(values)?,
            _ => {
                let stored = self.stored.get_mut(&id).ok_or(error::INVALID_REGISTER)?;
                let wanted = stored.split(',').count();
                count(values.len(), wanted, wanted)?;
                let all_finite = values.iter().all(|v| v.parse::<f64>().is_ok_and(f64::is_finite));
                // Counters and status in text output are not done.
                let appends = id == 30 && values[..4].iter().any(|v| v.parse() != Ok(0.0));
                if !all_finite || appends {
                    return Err(error::INVALID_PARAMETER);
                }
                *stored = values.join(",");
            }
        }
        Ok(())
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

/// A value that must be in a list, and perhaps the number of a port after it: 1 is this one.
fn one_of(values: &[&str], allowed: &[u32]) -> Result<u32, u8> {
    count(values.len(), 1, 2)?;
    if values.get(1).is_some_and(|port| !matches!(*port, "1" | "2" | "3")) {
        return Err(error::INVALID_PARAMETER);
    }
    let value = values[0].parse().map_err(|_| error::INVALID_PARAMETER)?;
    allowed.contains(&value).then_some(value).ok_or(error::INVALID_PARAMETER)
}

/// `ports, divisor, groups, mask …`: the masks in hex, one for each group in the groups byte.
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
