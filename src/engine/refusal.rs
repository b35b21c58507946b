//! Reasons why the system refused a packet.

use std::io;

/// Reason for a refusal, which can be passed on without allocating memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An error number of the system.
    System(i32),
    /// An error without a number.
    Other(io::ErrorKind),
    /// Some bytes had no room: the line or the client is too slow.
    NoRoom,
}

impl Refusal {
    /// Converts an error of sending.
    pub fn of(error: &io::Error) -> Self {
        error.raw_os_error().map_or(Self::Other(error.kind()), Self::System)
    }

    /// Converts the refusal to an error.
    pub fn error(self) -> io::Error {
        match self {
            Self::System(number) => io::Error::from_raw_os_error(number),
            Self::Other(kind) => kind.into(),
            Self::NoRoom => io::Error::other("the host reads its bytes too slowly"),
        }
    }
}
