//! SCIP, the protocol of Hokuyo's scanners: lines of ASCII, over TCP or a serial line.
//!
//! A host sends a line ([`request`]). The scanner repeats the line, and sends a status and then lines with a checksum
//! each ([`message`]). Numbers in data are coded with six bits per character ([`coding`]); [`scan`] has the content
//! of scans.
//!
//! Sources: Hokuyo C-42-03320B (SCIP 2.0), and the drivers urg_c, hokuyolx and MRPT for SCIP 2.2.

pub mod coding;
pub mod message;
pub mod request;
pub mod scan;
#[cfg(test)]
mod tests;

/// End of a line.
pub const LF: u8 = b'\n';

/// Checksum of a line: the low six bits of the sum of its characters, plus 0x30.
pub fn sum(line: &[u8]) -> u8 {
    let total = line.iter().fold(0u8, |total, byte| total.wrapping_add(*byte));
    (total & 0x3f) + coding::ZERO
}
