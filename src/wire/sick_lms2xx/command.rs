//! Commands of a host: payloads of telegrams to the scanner.

use super::{LineRate, Variant};
use crate::record::{Reader, Record, record};

record! {
    /// Part of a scan: the values `first` to `last`, counted from 1.
    #[derive(Copy, Eq)]
    Subrange: Le 4 {
        /// Number of the first value, from 1.
        first: u16,
        /// Number of the last value, from 1.
        last: u16,
    }
}

impl Subrange {
    /// Whether a scan of `values` values contains the whole subrange.
    pub fn fits(self, values: usize) -> bool {
        1 <= self.first && self.first <= self.last && usize::from(self.last) <= values
    }

    /// The values of the subrange in `scan`, which must contain the whole subrange.
    pub fn of<T>(self, scan: &[T]) -> &[T] {
        &scan[usize::from(self.first) - 1..usize::from(self.last)]
    }
}

/// A command. An unknown command, or one with unexpected data, is [`Command::Other`]. Every payload can therefore be
/// parsed, and [`Command::emit`] reproduces it byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// 0x10: restarts the scanner.
    Reset,
    /// 0x20: changes the operating mode or the bit rate.
    Switch(Mode),
    /// 0x30: requests values of one scan. The selector 1 means all values; drivers also send other selectors.
    RequestScan {
        /// Selector of the values, 1 for all.
        selector: Vec<u8>,
    },
    /// 0x31: requests the scanner's state.
    Status,
    /// 0x32: requests present and past errors.
    Errors,
    /// 0x35: requests operating time and power-on count.
    OperatingData,
    /// 0x36: requests the mean of some scans.
    RequestMean {
        /// Number of scans in the mean.
        scans: u8,
    },
    /// 0x37: requests part of one scan.
    RequestSubrange(Subrange),
    /// 0x3A: requests the scanner's type.
    Type,
    /// 0x3B: changes angle and resolution.
    SwitchVariant(Variant),
    /// 0x3F: requests part of the mean of `scans` scans.
    RequestMeanSubrange {
        /// Number of scans in the mean.
        scans: u8,
        /// Requested values.
        part: Subrange,
    },
    /// 0x44: requests one scan, and the reflectivity of a part of it.
    RequestReflectivity(Subrange),
    /// 0x66: sets whether the current bit rate also applies after the next power-on.
    PermanentRate(bool),
    /// 0x74: requests the configuration.
    Configuration,
    /// 0x75: requests parts of one scan, each value with its remission.
    RequestRemission(Vec<Subrange>),
    /// 0x77: changes the configuration. Data shorter than the configuration block changes only the block's beginning.
    Configure(Vec<u8>),
    /// Any other command.
    Other {
        /// Command code, the first byte of the payload.
        code: u8,
        /// Bytes after the command code.
        data: Vec<u8>,
    },
}

/// The parameter of command 0x20.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// 0x00: installation mode, in which the configuration can be changed.
    Installation {
        /// Password for installation mode.
        password: [u8; 8],
    },
    /// 0x10: diagnostic mode.
    Diagnostic,
    /// 0x24: sends all values of every scan.
    Continuous,
    /// 0x25: sends values only on request.
    OnRequest,
    /// 0x26: sends means of several scans.
    Mean {
        /// Number of scans in the mean.
        scans: u8,
    },
    /// 0x27: sends part of every scan.
    Subrange(Subrange),
    /// 0x28: sends part of the means of several scans.
    MeanSubrange {
        /// Number of scans in the mean.
        scans: u8,
        /// Requested values.
        part: Subrange,
    },
    /// 0x2A: sends each revolution of the mirror as a partial scan.
    Partial,
    /// 0x2B: sends parts of each scan, each value with its remission.
    Remission(Vec<Subrange>),
    /// 0x30: only checks the password.
    PasswordTest {
        /// Password to check.
        password: [u8; 8],
    },
    /// 0x40, 0x41, 0x42, 0x48: change the bit rate; the mode is unchanged.
    Rate(LineRate),
    /// 0x50: sends all values of every scan, and the reflectivity of a part of the scan.
    Reflectivity(Subrange),
    /// Any other mode.
    Other {
        /// Mode number.
        code: u8,
        /// Data after the number of the mode.
        data: Vec<u8>,
    },
}

impl Command {
    /// The command in a telegram's payload; an empty payload becomes [`Command::Other`] with the code 0.
    pub fn parse(payload: &[u8]) -> Self {
        let Some((&code, data)) = payload.split_first() else {
            return Self::Other { code: 0, data: Vec::new() };
        };
        Self::known(code, data).unwrap_or_else(|| Self::Other { code, data: data.to_vec() })
    }

    fn known(code: u8, data: &[u8]) -> Option<Self> {
        let mut reader = Reader::new("command", data);
        let command = match code {
            0x10 => Self::Reset,
            0x20 => Self::Switch(Mode::parse(reader.u8().ok()?, reader.rest())),
            0x30 => Self::RequestScan { selector: reader.rest().to_vec() },
            0x31 => Self::Status,
            0x32 => Self::Errors,
            0x35 => Self::OperatingData,
            0x36 => Self::RequestMean { scans: reader.u8().ok()? },
            0x37 => Self::RequestSubrange(reader.le().ok()?),
            0x3a => Self::Type,
            0x3b => Self::SwitchVariant(reader.le().ok()?),
            0x3f => Self::RequestMeanSubrange { scans: reader.u8().ok()?, part: reader.le().ok()? },
            0x44 => Self::RequestReflectivity(reader.le().ok()?),
            0x66 => match reader.u8().ok()? {
                0 => Self::PermanentRate(false),
                1 => Self::PermanentRate(true),
                _ => return None,
            },
            0x74 => Self::Configuration,
            0x75 => Self::RequestRemission(read_parts(&mut reader)?),
            0x77 => Self::Configure(reader.rest().to_vec()),
            _ => return None,
        };
        reader.finish().ok().map(|()| command)
    }

    /// The telegram's payload.
    pub fn emit(&self) -> Vec<u8> {
        let with = |code: u8, data: &[u8]| [&[code], data].concat();
        match self {
            Self::Reset => vec![0x10],
            Self::Switch(mode) => with(0x20, &mode.emit()),
            Self::RequestScan { selector } => with(0x30, selector),
            Self::Status => vec![0x31],
            Self::Errors => vec![0x32],
            Self::OperatingData => vec![0x35],
            Self::RequestMean { scans } => vec![0x36, *scans],
            Self::RequestSubrange(part) => with(0x37, &part.to_bytes()),
            Self::Type => vec![0x3a],
            Self::SwitchVariant(variant) => with(0x3b, &variant.to_bytes()),
            Self::RequestMeanSubrange { scans, part } => {
                [&[0x3f, *scans], &part.to_bytes()[..]].concat()
            }
            Self::RequestReflectivity(part) => with(0x44, &part.to_bytes()),
            Self::PermanentRate(keep) => vec![0x66, u8::from(*keep)],
            Self::Configuration => vec![0x74],
            Self::RequestRemission(parts) => with(0x75, &emit_parts(parts)),
            Self::Configure(bytes) => with(0x77, bytes),
            Self::Other { code, data } => with(*code, data),
        }
    }
}

impl Mode {
    fn parse(code: u8, data: &[u8]) -> Self {
        Self::known(code, data).unwrap_or_else(|| Self::Other { code, data: data.to_vec() })
    }

    fn known(code: u8, data: &[u8]) -> Option<Self> {
        let mut reader = Reader::new("operating mode", data);
        let mode = match code {
            0x00 => Self::Installation { password: reader.array().ok()? },
            0x10 => Self::Diagnostic,
            0x24 => Self::Continuous,
            0x25 => Self::OnRequest,
            0x26 => Self::Mean { scans: reader.u8().ok()? },
            0x27 => Self::Subrange(reader.le().ok()?),
            0x28 => Self::MeanSubrange { scans: reader.u8().ok()?, part: reader.le().ok()? },
            0x2a => Self::Partial,
            0x2b => Self::Remission(read_parts(&mut reader)?),
            0x30 => Self::PasswordTest { password: reader.array().ok()? },
            0x50 => Self::Reflectivity(reader.le().ok()?),
            _ => Self::Rate(LineRate::from_mode(code)?),
        };
        reader.finish().ok().map(|()| mode)
    }

    /// Number of this mode in command 0x20 and in the status telegram.
    pub fn code(&self) -> u8 {
        match self {
            Self::Installation { .. } => 0x00,
            Self::Diagnostic => 0x10,
            Self::Continuous => 0x24,
            Self::OnRequest => 0x25,
            Self::Mean { .. } => 0x26,
            Self::Subrange(_) => 0x27,
            Self::MeanSubrange { .. } => 0x28,
            Self::Partial => 0x2a,
            Self::Remission(_) => 0x2b,
            Self::PasswordTest { .. } => 0x30,
            Self::Rate(rate) => rate.mode(),
            Self::Reflectivity(_) => 0x50,
            Self::Other { code, .. } => *code,
        }
    }

    fn emit(&self) -> Vec<u8> {
        let mut bytes = vec![self.code()];
        match self {
            Self::Diagnostic
            | Self::Continuous
            | Self::OnRequest
            | Self::Partial
            | Self::Rate(_) => {}
            Self::Installation { password } | Self::PasswordTest { password } => {
                bytes.extend(password);
            }
            Self::Mean { scans } => bytes.push(*scans),
            Self::Subrange(part) | Self::Reflectivity(part) => bytes.extend(part.to_bytes()),
            Self::MeanSubrange { scans, part } => {
                bytes.push(*scans);
                bytes.extend(part.to_bytes());
            }
            Self::Remission(parts) => bytes.extend(emit_parts(parts)),
            Self::Other { data, .. } => bytes.extend(data),
        }
        bytes
    }
}

/// Reads a count, then as many subranges as the count states; `None` if the data is too short.
fn read_parts(reader: &mut Reader<'_>) -> Option<Vec<Subrange>> {
    let count: u16 = reader.le().ok()?;
    reader.le_vec(count).ok()
}

fn emit_parts(parts: &[Subrange]) -> Vec<u8> {
    let mut bytes = (parts.len() as u16).to_le_bytes().to_vec();
    bytes.extend(parts.iter().flat_map(|part| part.to_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sick_lms2xx::FACTORY_PASSWORD;
    use crate::sick_lms2xx::frame::emit;
    use crate::tests::hex;
    use proptest::prelude::*;

    #[test]
    fn telegrams_are_those_that_drivers_send() {
        let whole = Subrange { first: 1, last: 181 };
        let variant = |angle_deg, resolution_centideg| {
            Command::SwitchVariant(Variant { angle_deg, resolution_centideg })
        };
        let switch = Command::Switch;
        for (text, command) in [
            ("02 00 01 00 10 34 12", Command::Reset),
            ("02 00 02 00 20 40 50 08", switch(Mode::Rate(LineRate::Baud38400))),
            ("02 00 02 00 20 41 51 08", switch(Mode::Rate(LineRate::Baud19200))),
            ("02 00 02 00 20 42 52 08", switch(Mode::Rate(LineRate::Baud9600))),
            ("02 00 02 00 20 48 58 08", switch(Mode::Rate(LineRate::Baud500000))),
            ("02 00 02 00 20 24 34 08", switch(Mode::Continuous)),
            ("02 00 02 00 20 25 35 08", switch(Mode::OnRequest)),
            ("02 00 02 00 20 2A 3A 08", switch(Mode::Partial)),
            ("02 00 06 00 20 27 01 00 B5 00 12 09", switch(Mode::Subrange(whole))),
            ("02 00 08 00 20 2B 01 00 01 00 B5 00 AF 5A", switch(Mode::Remission(vec![whole]))),
            ("02 00 06 00 20 50 01 00 B5 00 68 B6", switch(Mode::Reflectivity(whole))),
            (
                "02 00 0A 00 20 00 53 49 43 4B 5F 4C 4D 53 BE C5",
                switch(Mode::Installation { password: FACTORY_PASSWORD }),
            ),
            ("02 00 02 00 30 01 31 18", Command::RequestScan { selector: vec![1] }),
            ("02 00 01 00 31 15 12", Command::Status),
            ("02 00 01 00 32 16 12", Command::Errors),
            ("02 00 01 00 35 11 12", Command::OperatingData),
            ("02 00 01 00 3A 1E 12", Command::Type),
            ("02 00 01 00 74 50 12", Command::Configuration),
            ("02 00 05 00 3B 64 00 19 00 E7 72", variant(100, 25)),
            ("02 00 05 00 3B 64 00 32 00 B1 59", variant(100, 50)),
            ("02 00 05 00 3B 64 00 64 00 1D 0F", variant(100, 100)),
            ("02 00 05 00 3B B4 00 32 00 3B 1F", variant(180, 50)),
            ("02 00 05 00 3B B4 00 64 00 97 49", variant(180, 100)),
            ("02 00 02 00 66 01 9D 4E", Command::PermanentRate(true)),
        ] {
            let bytes = hex(text);
            assert_eq!(emit(0, &command.emit()), bytes, "{command:?}");
            assert_eq!(Command::parse(&bytes[4..bytes.len() - 2]), command);
        }
    }

    #[test]
    fn other_data_than_a_command_has_is_kept() {
        for payload in [&[0x31, 0x00][..], &[0x3b, 0xb4, 0x00], &[0x20], &[0x66, 0x02], &[0x77]] {
            assert_eq!(Command::parse(payload).emit(), payload);
        }
        assert!(matches!(Command::parse(&[0x31, 0x00]), Command::Other { code: 0x31, .. }));
        let short = Command::parse(&[0x20, 0x00, b'S']);
        assert!(matches!(short, Command::Switch(Mode::Other { code: 0, .. })), "{short:?}");
    }

    proptest! {
        #[test]
        fn every_payload_comes_back(
            code in prop_oneof![Just(0x20u8), 0x30u8..0x78, any::<u8>()],
            mode in prop_oneof![0x20u8..0x51, any::<u8>()],
            data in proptest::collection::vec(prop_oneof![0u8..3, any::<u8>()], 0..40),
        ) {
            for payload in [[&[code], &data[..]].concat(), [&[0x20, mode], &data[..]].concat()] {
                prop_assert_eq!(Command::parse(&payload).emit(), payload);
            }
        }
    }
}
