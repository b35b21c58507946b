//! Replies of a scanner: payloads of telegrams to the host.

use super::Variant;
use super::command::Subrange;
use super::configuration::{CONFIGURATION_LEN, OLD_CONFIGURATION_LEN};
use super::data::{ScanInfo, Values};
use super::status::State;
use crate::ParseError;
use crate::record::{Field, Le, Reader, Record, put_le, record};

/// A telegram from the scanner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Content of the reply.
    pub body: Body,
    /// Status byte of the scanner, see [`status_byte`](super::status_byte).
    pub status: u8,
}

record! {
    /// Real-time indices: counters of scans and telegrams, modulo 256. If configured, the scanner adds them to each
    /// scan.
    #[derive(Copy, Eq)]
    Indices: Le 2 {
        /// Index of the scan.
        scan: u8,
        /// Index of the telegram.
        telegram: u8,
    }
}

/// Content of a scanner's reply, by its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// 0x90: the scanner has started.
    PowerOn {
        /// Type text, as in [`Body::Type`].
        text: [u8; 21],
    },
    /// 0x91: the scanner will restart.
    ResetConfirmed,
    /// 0x92: the command is unknown to the scanner.
    IncorrectCommand,
    /// 0xA0: result of changing the operating mode.
    Switched(SwitchResult),
    /// 0xB0: a scan.
    Scan {
        /// Ranges with their info word.
        values: Values,
        /// Real-time indices, if configured.
        indices: Option<Indices>,
    },
    /// 0xB1: state of the scanner.
    Status(Box<State>),
    /// 0xB2: type and number of each error; bit 7 of the type is set if the error has ended.
    Errors(Vec<[u8; 2]>),
    /// 0xB5: operating data.
    OperatingData {
        /// Operating time in units of two hours.
        operating_time: u16,
        /// Number of power-ons.
        power_on_count: u16,
    },
    /// 0xB6: mean of some scans.
    Mean {
        /// Number of scans in the mean.
        scans: u8,
        /// Ranges with their info word.
        values: Values,
        /// Real-time indices, if configured.
        indices: Option<Indices>,
    },
    /// 0xB7: part of a scan.
    Subrange {
        /// Numbers of the first and the last value in the reply.
        part: Subrange,
        /// Ranges with their info word.
        values: Values,
        /// Real-time indices, if configured.
        indices: Option<Indices>,
    },
    /// 0xBA: type of the scanner.
    Type {
        /// Product, variant and software version, such as `LMS291;S05;X01.27`: twenty characters and a zero.
        text: [u8; 21],
    },
    /// 0xBB: result of changing angle and resolution.
    VariantSwitched {
        /// Whether the command was executed.
        accepted: bool,
        /// Current variant.
        variant: Variant,
    },
    /// 0xBF: part of the mean of some scans.
    MeanSubrange {
        /// Number of scans in the mean.
        scans: u8,
        /// Numbers of the first and the last value in the reply.
        part: Subrange,
        /// Ranges with their info word.
        values: Values,
        /// Real-time indices, if configured.
        indices: Option<Indices>,
    },
    /// 0xC4: a scan, with reflectivity for some of its values.
    Reflectivity {
        /// Ranges of the whole scan.
        values: Values,
        /// Numbers of the first and the last value with reflectivity.
        part: Subrange,
        /// Reflectivity values, one byte each.
        reflectivity: Vec<u8>,
        /// Real-time indices, if configured.
        indices: Option<Indices>,
    },
    /// 0xE6: result of making the bit rate permanent.
    PermanentRate {
        /// Whether the command was executed.
        accepted: bool,
    },
    /// 0xF4: configuration, [`CONFIGURATION_LEN`] or [`OLD_CONFIGURATION_LEN`] bytes.
    Configuration(Vec<u8>),
    /// 0xF5: parts of a scan with remission.
    Remission(Vec<RemissionPart>),
    /// 0xF7: result of changing the configuration.
    Configured {
        /// Whether the command was executed.
        accepted: bool,
        /// Current configuration.
        configuration: Vec<u8>,
    },
}

/// Result of command 0x20, coded in one byte: 0, 1, 2 in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchResult {
    /// The mode was changed.
    Done,
    /// The password is wrong.
    WrongPassword,
    /// The scanner cannot change the mode.
    Fault,
}

/// Part of a scan, each value with its remission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemissionPart {
    /// Numbers of the first and the last value of the part.
    pub part: Subrange,
    /// Info word of the values.
    pub info: ScanInfo,
    /// Range without flags, and remission, of each value.
    pub values: Vec<[u16; 2]>,
}

impl Reply {
    /// Encodes the payload of a telegram.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.body.write(&mut out);
        out.push(self.status);
        out
    }

    /// Decodes the payload of a telegram.
    ///
    /// # Errors
    /// The payload has an unknown code, a wrong length or a value that is not allowed.
    pub fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let Some((&status, body)) = payload.split_last() else {
            return Err(ParseError::Length { what: "reply", need: 2, got: 0 });
        };
        let Some((&code, data)) = body.split_first() else {
            return Err(ParseError::Length { what: "reply", need: 2, got: 1 });
        };
        Ok(Self { body: Body::parse(code, data)?, status })
    }
}

impl Body {
    /// Code of the reply's telegram.
    pub fn code(&self) -> u8 {
        match self {
            Self::PowerOn { .. } => 0x90,
            Self::ResetConfirmed => 0x91,
            Self::IncorrectCommand => 0x92,
            Self::Switched(_) => 0xa0,
            Self::Scan { .. } => 0xb0,
            Self::Status(_) => 0xb1,
            Self::Errors(_) => 0xb2,
            Self::OperatingData { .. } => 0xb5,
            Self::Mean { .. } => 0xb6,
            Self::Subrange { .. } => 0xb7,
            Self::Type { .. } => 0xba,
            Self::VariantSwitched { .. } => 0xbb,
            Self::MeanSubrange { .. } => 0xbf,
            Self::Reflectivity { .. } => 0xc4,
            Self::PermanentRate { .. } => 0xe6,
            Self::Configuration(_) => 0xf4,
            Self::Remission(_) => 0xf5,
            Self::Configured { .. } => 0xf7,
        }
    }

    fn parse(code: u8, data: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new("reply", data);
        let r = &mut reader;
        let body = match code {
            0x90 => Self::PowerOn { text: r.array()? },
            0x91 => Self::ResetConfirmed,
            0x92 => Self::IncorrectCommand,
            0xa0 => Self::Switched(SwitchResult::from_byte(r.u8()?)?),
            0xb0 => Self::Scan { values: Values::read(r)?, indices: r.le()? },
            0xb1 => Self::Status(Box::new(State::parse(r.rest())?)),
            0xb2 => Self::Errors(r.le()?),
            0xb5 => Self::OperatingData { operating_time: r.le()?, power_on_count: r.le()? },
            0xb6 => {
                let scans = r.u8()?;
                Self::Mean { scans, values: Values::read(r)?, indices: r.le()? }
            }
            0xb7 => {
                let part = r.le()?;
                Self::Subrange { part, values: Values::read(r)?, indices: r.le()? }
            }
            0xba => Self::Type { text: r.array()? },
            0xbb => Self::VariantSwitched { accepted: read_flag(r)?, variant: r.le()? },
            0xbf => {
                let (scans, part) = (r.u8()?, r.le()?);
                let values = Values::read(r)?;
                Self::MeanSubrange { scans, part, values, indices: r.le()? }
            }
            0xc4 => {
                let values = Values::read(r)?;
                let count = usize::from(r.le::<u16>()?);
                let part = r.le()?;
                let reflectivity = r.bytes(count)?.to_vec();
                Self::Reflectivity { values, part, reflectivity, indices: r.le()? }
            }
            0xe6 => Self::PermanentRate { accepted: read_flag(r)? },
            0xf4 => Self::Configuration(read_configuration(r.rest())?),
            0xf5 => Self::Remission(read_remission(r)?),
            0xf7 => Self::Configured {
                accepted: read_flag(r)?,
                configuration: read_configuration(r.rest())?,
            },
            _ => {
                let allowed = "the code of a known reply";
                return Err(ParseError::Value { field: "code", value: code.into(), allowed });
            }
        };
        reader.finish()?;
        Ok(body)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.code());
        match self {
            Self::ResetConfirmed | Self::IncorrectCommand => {}
            Self::PowerOn { text } | Self::Type { text } => out.extend(text),
            Self::Switched(result) => out.push(*result as u8),
            Self::Scan { values, indices } => {
                values.write(out);
                Field::<Le>::write(indices, out);
            }
            Self::Status(state) => state.emit(out),
            Self::Errors(pairs) => out.extend(pairs.as_flattened()),
            Self::OperatingData { operating_time, power_on_count } => {
                out.extend(operating_time.to_le_bytes());
                out.extend(power_on_count.to_le_bytes());
            }
            Self::Mean { scans, values, indices } => {
                out.push(*scans);
                values.write(out);
                Field::<Le>::write(indices, out);
            }
            Self::Subrange { part, values, indices } => {
                part.emit(out);
                values.write(out);
                Field::<Le>::write(indices, out);
            }
            Self::VariantSwitched { accepted, variant } => {
                out.push(u8::from(*accepted));
                variant.emit(out);
            }
            Self::MeanSubrange { scans, part, values, indices } => {
                out.push(*scans);
                part.emit(out);
                values.write(out);
                Field::<Le>::write(indices, out);
            }
            Self::Reflectivity { values, part, reflectivity, indices } => {
                values.write(out);
                out.extend((reflectivity.len() as u16).to_le_bytes());
                part.emit(out);
                out.extend(reflectivity);
                Field::<Le>::write(indices, out);
            }
            Self::PermanentRate { accepted } => out.push(u8::from(*accepted)),
            Self::Configuration(bytes) => out.extend(bytes),
            Self::Remission(parts) => {
                out.extend((parts.len() as u16).to_le_bytes());
                for part in parts {
                    part.part.emit(out);
                    out.extend(part.info.word().to_le_bytes());
                    put_le(out, &part.values);
                }
            }
            Self::Configured { accepted, configuration } => {
                out.push(u8::from(*accepted));
                out.extend(configuration);
            }
        }
    }
}

impl SwitchResult {
    fn from_byte(byte: u8) -> Result<Self, ParseError> {
        match byte {
            0 => Ok(Self::Done),
            1 => Ok(Self::WrongPassword),
            2 => Ok(Self::Fault),
            _ => Err(ParseError::Value {
                field: "result of the switch",
                value: byte.into(),
                allowed: "0 done, 1 wrong password, 2 fault",
            }),
        }
    }
}

fn read_flag(reader: &mut Reader<'_>) -> Result<bool, ParseError> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        byte => {
            let allowed = "0 refused, 1 accepted";
            Err(ParseError::Value { field: "result", value: byte.into(), allowed })
        }
    }
}

fn read_configuration(bytes: &[u8]) -> Result<Vec<u8>, ParseError> {
    if ![CONFIGURATION_LEN, OLD_CONFIGURATION_LEN].contains(&bytes.len()) {
        let (need, got) = (CONFIGURATION_LEN, bytes.len());
        return Err(ParseError::Length { what: "configuration", need, got });
    }
    Ok(bytes.to_vec())
}

fn read_remission(reader: &mut Reader<'_>) -> Result<Vec<RemissionPart>, ParseError> {
    let count: u16 = reader.le()?;
    let mut parts = Vec::new();
    for _ in 0..count {
        let part = reader.le()?;
        let info = ScanInfo::from_word(reader.le()?)?;
        let values = reader.le_vec(info.count)?;
        parts.push(RemissionPart { part, info, values });
    }
    Ok(parts)
}

#[cfg(test)]
mod tests;
