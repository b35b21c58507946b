//! GPS packets: time of the lidar's clock, and the last sentence of the GNSS receiver that sets this clock.

use crate::ParseError;
use crate::record::{Record as _, record};

/// Length of a packet, bytes.
pub const GPS_PACKET_LEN: usize = 512;
/// Space for a sentence, bytes.
pub const SENTENCE_LEN: usize = 84;
const FLAG: [u8; 2] = [0xff, 0xee];
const FILLER: u8 = 0xdf;
const FILLER_LEN: usize = 404;

record! {
    /// Layout of a GPS packet.
    GpsWords: Le 512 {
        /// Start of the packet: bytes `ff ee`.
        flag: [u8; 2],
        /// Year, month, day, second, minute, hour: two digits each, units first.
        digits: [[u8; 2]; 6],
        /// Microseconds within the second.
        micros: u32,
        /// The sentence, padded with zeros.
        sentence: [u8; SENTENCE_LEN],
        /// Padding: bytes `df`.
        filler: [u8; FILLER_LEN],
        /// Status in the sentence: `A`, `V` or a digit; 0 without a sentence.
        status: u8,
        /// 1 while the clock is locked to the PPS, otherwise 0.
        pps: u8,
        /// Zero.
        reserved: [u8; 4],
    }
}

/// Content of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpsPacket {
    /// Year within the century, month, day, hour, minute, second.
    pub date: [u8; 6],
    /// Microseconds within the second.
    pub micros: u32,
    /// Last sentence of the GNSS receiver; may be empty.
    pub sentence: Vec<u8>,
    /// Status in the sentence: `A`, `V` or a digit; 0 without a sentence.
    pub status: u8,
    /// Whether the clock is locked to the PPS.
    pub pps_locked: bool,
}

impl GpsPacket {
    /// Bytes of the packet. A sentence that is too long is truncated.
    pub fn to_bytes(&self) -> Vec<u8> {
        let [year, month, day, hour, minute, second] = self.date;
        let digits = |value: u8| [b'0' + value % 10, b'0' + value / 10 % 10];
        let mut sentence = [0; SENTENCE_LEN];
        let len = self.sentence.len().min(SENTENCE_LEN);
        sentence[..len].copy_from_slice(&self.sentence[..len]);
        GpsWords {
            flag: FLAG,
            digits: [year, month, day, second, minute, hour].map(digits),
            micros: self.micros,
            sentence,
            filler: [FILLER; FILLER_LEN],
            status: self.status,
            pps: self.pps_locked.into(),
            reserved: [0; 4],
        }
        .to_bytes()
    }

    /// Reads a packet.
    ///
    /// # Errors
    /// Length, flag, filler bytes or digits are wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let words = GpsWords::parse(bytes)?;
        if words.flag != FLAG {
            return Err(ParseError::value("flag of a GPS packet", words.flag[0], "0xff 0xee"));
        }
        if let Some(other) = words.filler.iter().find(|byte| **byte != FILLER) {
            return Err(ParseError::value("filler", *other, "0xdf"));
        }
        if words.pps > 1 || words.reserved != [0; 4] {
            return Err(ParseError::value("pulse", words.pps, "0 or 1, and zeros"));
        }
        let mut values = [0; 6];
        for (value, [units, tens]) in values.iter_mut().zip(words.digits) {
            if !(units.is_ascii_digit() && tens.is_ascii_digit()) {
                return Err(ParseError::value("digit", units, "0 to 9"));
            }
            *value = (tens - b'0') * 10 + units - b'0';
        }
        let [year, month, day, second, minute, hour] = values;
        let end = words.sentence.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        Ok(Self {
            date: [year, month, day, hour, minute, second],
            micros: words.micros,
            sentence: words.sentence[..end].to_vec(),
            status: words.status,
            pps_locked: words.pps == 1,
        })
    }
}
