//! Telegrams of the SICK LMS 2xx: LMS200, 211, 220, 221 and 291 on a serial line.
//!
//! ```text
//! 02  address  length (2)  payload (length)  CRC (2)
//! ```
//!
//! All numbers are little-endian. The host sends to the address 0x00; the scanner answers with 0x80 added to the
//! address. `length` is the length of the payload: a code, its data and, only from the scanner, a status byte. Between
//! telegrams the scanner sends the single bytes [`ACK`] and [`NAK`]. [`frame`] splits a stream into telegrams,
//! [`command`] has the host commands, [`reply`] the scanner's replies.
//!
//! Sources: the drivers sicktoolbox, MRPT, Carmen, Player, Robotics Library and Gearbox, which follow SICK's
//! "Telegrams for Configuring and Operating the LMS 2xx" (8007954). Where the drivers contradict each other, the
//! comments of the fields say so.

pub mod command;
pub mod configuration;
pub mod data;
pub mod frame;
pub mod reply;
pub mod status;

use super::record::record;

/// First byte of every telegram.
pub const STX: u8 = 0x02;
/// Acknowledgement: the scanner accepts the telegram and will answer it.
pub const ACK: u8 = 0x06;
/// Negative acknowledgement: the scanner rejects the telegram.
pub const NAK: u8 = 0x15;
/// Offset that the scanner adds to its address in its telegrams.
pub const FROM_SCANNER: u8 = 0x80;
/// Number of bits per byte on the line: start bit, eight data bits, stop bit.
pub const BITS_PER_BYTE: u64 = 10;
/// Factory password of installation mode.
pub const FACTORY_PASSWORD: [u8; 8] = *b"SICK_LMS";

/// Status byte at the end of every telegram from the scanner.
pub mod status_byte {
    /// Product family in bits 3 and 4: an LMS 2xx sets bit 4. In normal operation, all other bits of the byte are 0.
    pub const FAMILY: u8 = 0x10;
    /// Bits 0 to 2: level of a message: 0 none, 1 information, 2 warning, 3 error, 4 fatal error.
    pub const LEVEL: u8 = 0x07;
    /// The measured values are implausible.
    pub const IMPLAUSIBLE: u8 = 0x40;
    /// The window is dirty.
    pub const POLLUTION: u8 = 0x80;
}

/// Bit of an error's type in the reply to command 0x32; set if the error is over (source: Gearbox).
pub const ERROR_IS_OVER: u8 = 0x80;

/// Bit rate of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRate {
    /// 9600 baud, the default after power-on.
    Baud9600,
    /// 19200 baud.
    Baud19200,
    /// 38400 baud.
    Baud38400,
    /// 500000 baud; real scanners need RS-422 for it.
    Baud500000,
}

impl LineRate {
    /// All rates, slowest first.
    pub const ALL: [Self; 4] = [Self::Baud9600, Self::Baud19200, Self::Baud38400, Self::Baud500000];

    /// Bits per second.
    pub fn baud(self) -> u32 {
        match self {
            Self::Baud9600 => 9_600,
            Self::Baud19200 => 19_200,
            Self::Baud38400 => 38_400,
            Self::Baud500000 => 500_000,
        }
    }

    /// Operating mode that selects this rate.
    pub fn mode(self) -> u8 {
        match self {
            Self::Baud38400 => 0x40,
            Self::Baud19200 => 0x41,
            Self::Baud9600 => 0x42,
            Self::Baud500000 => 0x48,
        }
    }

    /// The rate that operating mode `mode` selects; `None` for any other mode.
    pub fn from_mode(mode: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|rate| rate.mode() == mode)
    }

    /// Code of the rate in the status telegram. The low byte is from the Robotics Library; the high byte is
    /// unconfirmed.
    pub fn status_word(self) -> u16 {
        match self {
            Self::Baud500000 => 0x8001,
            Self::Baud38400 => 0x8019,
            Self::Baud19200 => 0x8033,
            Self::Baud9600 => 0x8067,
        }
    }

    /// The rate with this [`LineRate::status_word`]; `None` for an unknown word.
    pub fn from_status_word(word: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|rate| rate.status_word() & 0xff == word & 0xff)
    }
}

record! {
    /// A scanning angle with its resolution.
    #[derive(Copy, Eq)]
    Variant: Le 4 {
        /// Scanning angle, degrees: 100 or 180; 90 for the -S14.
        angle_deg: u16,
        /// Step between neighbouring values, 0.01°: 25, 50 or 100.
        resolution_centideg: u16,
    }
}

impl Variant {
    /// Number of values in a complete scan.
    pub fn values(self) -> usize {
        usize::from(self.angle_deg) * 100 / usize::from(self.resolution_centideg) + 1
    }
}

/// The highest values of a range field, which are codes instead of ranges: a code in the low four bits, with all
/// other bits of the field set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum SpecialValue {
    /// The measured value is invalid.
    Invalid = 0xf,
    /// The receiver is dazzled.
    Dazzled = 0xe,
    /// Operation overflow (SICK's term).
    Overflow = 0xd,
    /// The signal-to-noise ratio is too small.
    LowSignal = 0xb,
    /// Error in reading channel 1.
    ReadError = 0xa,
    /// The range is beyond the largest value, or there is no echo.
    AboveMaximum = 0x7,
}

impl SpecialValue {
    /// All special values.
    pub const ALL: [Self; 6] = [
        Self::Invalid,
        Self::Dazzled,
        Self::Overflow,
        Self::LowSignal,
        Self::ReadError,
        Self::AboveMaximum,
    ];
}
