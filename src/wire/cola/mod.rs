//! CoLa, the protocol of SICK's network scanners (LMS1xx, LMS5xx, TiM), in its two dialects.
//!
//! A telegram has a kind (`sRN`, `sMN`, ...), a name and values. CoLa-A is all text; in CoLa-B the values are
//! big-endian binary. [`frame`] finds telegrams in a stream. [`telegram`] reads and writes commands and their answers
//! according to a table of names. [`scan_data`] reads and writes the measured values.
//!
//! Sources: SICK's operating instructions of the LMS1xx, LMS500 and LMS4000 (annex on telegrams), the drivers
//! `sick_scan_xd` and `LMS1xx`, MRPT's `CLMS100Eth`, logs of real LMS1xx and LMS5xx in the issues of `sick_scan_xd`,
//! a capture of a TiM5xx, the libraries `snark` and `libsick-lms5xx`, and Wireshark's dissector.

pub mod fields;
pub mod frame;
pub mod scan_data;
pub mod telegram;

/// Dialect of telegrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// CoLa-A: text between STX and ETX.
    A,
    /// CoLa-B: binary with length and checksum.
    B,
}

words!(Dialect: "cola-a" => A, "cola-b" => B);

/// Reason of a scanner's refusal: the number after `sFA`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u16)]
pub enum Refusal {
    /// The method requires a login.
    #[error("access denied")]
    AccessDenied = 0x1,
    /// The scanner has no method with the requested name.
    #[error("unknown method")]
    UnknownMethod = 0x2,
    /// The scanner has no variable with the requested name.
    #[error("unknown variable")]
    UnknownVariable = 0x3,
    /// The command is not possible in the current state.
    #[error("local condition failed")]
    LocalConditionFailed = 0x4,
    /// A value is not allowed.
    #[error("invalid data")]
    InvalidData = 0x5,
    /// The command has too many bytes.
    #[error("buffer overflow")]
    BufferOverflow = 0x7,
    /// The command has too few bytes.
    #[error("buffer underflow")]
    BufferUnderflow = 0x8,
    /// Writing the variable requires a login.
    #[error("write access denied")]
    WriteAccessDenied = 0xA,
    /// The telegram does not begin with a kind of command that the scanner accepts, such as `sRN`.
    #[error("unknown command")]
    UnknownCommand = 0xC,
    /// The scanner has no event with the requested name.
    #[error("unknown event")]
    UnknownEvent = 0xF,
    /// A CoLa-A number is too large.
    #[error("value overflow")]
    ValueOverflow = 0x10,
    /// A character is not allowed in CoLa-A.
    #[error("invalid character")]
    InvalidCharacter = 0x11,
}

impl Refusal {
    /// Error code on the wire.
    pub fn code(self) -> u16 {
        self as u16
    }
}
