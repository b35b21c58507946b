//! The configuration that a host writes (UCWP): a datagram to the lidar, which does not answer it.

use super::layout::Layout;
use super::values::{TIME_LEN, read_time};
use crate::ParseError;
use crate::record::{Record as _, record};

/// Length of a datagram, bytes.
pub const UCWP_LEN: usize = 1248;
const ID: [u8; 8] = [0xaa, 0x00, 0xff, 0x11, 0x22, 0x22, 0xaa, 0xaa];
const USED: usize = 48;

record! {
    /// The used part of a datagram; the remaining bytes are zero.
    Ucwp: Be 48 {
        /// First bytes, `aa 00 ff 11 22 22 aa aa`.
        id: [u8; 8],
        /// Rotation rate, rpm: 300, 600 or 1200; any other value stops the motor.
        rpm: u16,
        /// IP address of the lidar.
        lidar_ip: [u8; 4],
        /// IP address to which the lidar sends its packets.
        host_ip: [u8; 4],
        /// MAC address of the lidar.
        mac: [u8; 6],
        /// UDP ports: MSOP local and remote, DIFOP local and remote.
        ports: [u16; 4],
        /// Sector in which lasers fire: first and last angle, hundredths of a degree.
        fov: [u16; 2],
        /// UTC: calendar date and time of day.
        time: [u8; TIME_LEN],
        /// Angle of the rotor at the start of each second, degrees.
        phase_deg: u16,
    }
}

impl Ucwp {
    /// Reads a datagram.
    ///
    /// # Errors
    /// The length or the first bytes are wrong.
    pub fn read(bytes: &[u8]) -> Result<Self, ParseError> {
        if bytes.len() != UCWP_LEN {
            let (what, need) = ("a UCWP datagram", UCWP_LEN);
            return Err(ParseError::Length { what, need, got: bytes.len() });
        }
        let read = Self::parse(&bytes[..USED])?;
        match read.id == ID {
            true => Ok(read),
            false => Err(ParseError::value("first byte of UCWP", read.id[0], "0xaa")),
        }
    }

    /// Bytes of the datagram.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Self { id: ID, ..self.clone() }.to_bytes();
        bytes.resize(UCWP_LEN, 0);
        bytes
    }

    /// The configured time, microseconds of POSIX time; `None` if it is invalid.
    pub fn unix_us(&self) -> Option<i64> {
        read_time(Layout::Rs16, self.time)
    }
}
