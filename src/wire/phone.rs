//! Menura's own sentence for the orientation sensors of a phone: compass, inclinometer and gyro.
//!
//! Phones have no serial protocol. Menura sends a phone's measurements as lines of text in the form of NMEA 0183. A
//! terminal can show them, and any NMEA reader can split them:
//!
//! ```text
//! $PMNR,PHONE,<sequence>,<time>,<compass>,<roll>,<pitch>,<gyro x>,<gyro y>,<gyro z>*<checksum>\r\n
//! $PMNR,PHONE,17,0.340,92.31,-0.54,1.20,0.00123,-0.00045,0.10230*54
//! ```
//!
//! | field | unit, decimals | meaning |
//! |---|---|---|
//! | sequence | 0 to 65535 | number of the sentence; wraps to 0 |
//! | time | s, 3 | time on the phone's clock, since it was switched on |
//! | compass | degrees, 2 | heading of the forward axis, 0.00 to 359.99, clockwise from magnetic north |
//! | roll | degrees, 2 | -180.00 to 180.00, positive: right side down |
//! | pitch | degrees, 2 | -90.00 to 90.00, positive: nose up |
//! | gyro | rad/s, 5 | angular rates about forward, left and up |
//!
//! The checksum is the exclusive or of the bytes between `$` and `*`, two upper-case hex digits. The address
//! `PMNR` is proprietary in NMEA's sense; no other use is known.

use super::checksum::xor8;
use super::framer::{Framing, NoFrame, require};

/// One sentence. Each field is an integer; its unit is the last decimal of the text: a compass of 92.31 degrees is
/// 9231.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Sentence {
    /// Number of the sentence, modulo 65536.
    pub sequence: u16,
    /// Time on the phone's clock, ms.
    pub time_ms: u64,
    /// Heading clockwise from magnetic north, 0.01°, 0..36000.
    pub compass_centideg: u16,
    /// Roll, 0.01°, -18000..=18000, positive: right side down.
    pub roll_centideg: i16,
    /// Pitch, 0.01°, -9000..=9000, positive: nose up.
    pub pitch_centideg: i16,
    /// Angular rates about forward, left and up, 10 urad/s.
    pub gyro_10urad_s: [i32; 3],
}

const HEAD: &[u8] = b"$PMNR,PHONE,";

impl Sentence {
    /// Appends the sentence including its line end.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let [x, y, z] = self.gyro_10urad_s.map(|raw| fixed(raw.into(), 5));
        let body = format!(
            "PMNR,PHONE,{},{},{},{},{},{x},{y},{z}",
            self.sequence,
            fixed(self.time_ms.into(), 3),
            fixed(self.compass_centideg.into(), 2),
            fixed(self.roll_centideg.into(), 2),
            fixed(self.pitch_centideg.into(), 2),
        );
        let line = format!("${body}*{:02X}\r\n", xor8(body.as_bytes()));
        out.extend_from_slice(line.as_bytes());
    }

    /// Reads a line without its line end; `None` if [`Sentence::emit`] never writes such a line.
    pub fn parse(line: &str) -> Option<Self> {
        let (body, sum) = line.strip_prefix('$')?.split_once('*')?;
        let mut fields = body.strip_prefix("PMNR,PHONE,")?.split(',');
        let mut next = |decimals| unfixed(fields.next()?, decimals);
        let sentence = Self {
            sequence: next(0)?.try_into().ok()?,
            time_ms: next(3)?.try_into().ok()?,
            compass_centideg: next(2)?.try_into().ok().filter(|c| *c < 36_000)?,
            roll_centideg: next(2)?.try_into().ok().filter(|r: &i16| r.abs() <= 18_000)?,
            pitch_centideg: next(2)?.try_into().ok().filter(|p: &i16| p.abs() <= 9_000)?,
            gyro_10urad_s: [
                next(5)?.try_into().ok()?,
                next(5)?.try_into().ok()?,
                next(5)?.try_into().ok()?,
            ],
        };
        let mut again = Vec::with_capacity(line.len() + 2);
        sentence.emit(&mut again);
        // Each value has only one form: no leading zeros, no "-0.00", no lower-case hex digits.
        let is_same = again.strip_suffix(b"\r\n") == Some(line.as_bytes());
        (is_same && u8::from_str_radix(sum, 16).is_ok()).then_some(sentence)
    }
}

/// Formats an integer with decimals: `-12345` with two decimals is `-123.45`.
fn fixed(raw: i128, decimals: u32) -> String {
    let unit = 10u128.pow(decimals);
    let sign = if raw < 0 { "-" } else { "" };
    let (whole, part) = (raw.unsigned_abs() / unit, raw.unsigned_abs() % unit);
    match decimals {
        0 => format!("{sign}{whole}"),
        width => format!("{sign}{whole}.{part:0width$}", width = width as usize),
    }
}

fn unfixed(text: &str, decimals: u32) -> Option<i128> {
    let (digits, sign) = text.strip_prefix('-').map_or((text, 1), |digits| (digits, -1));
    let (whole, part) = if decimals == 0 { (digits, "") } else { digits.split_once('.')? };
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let fits = !whole.is_empty() && whole.len() <= 20 && part.len() == decimals as usize;
    if !fits || !all_digits(whole) || !all_digits(part) {
        return None;
    }
    format!("{whole}{part}").parse::<i128>().ok().map(|value| sign * value)
}

/// Finds [`Sentence`]s in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Phone;

impl Framing for Phone {
    type Frame = Sentence;

    fn max_len(&self) -> usize {
        160
    }

    fn begins(&self, byte: u8) -> bool {
        byte == b'$'
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Sentence, usize), NoFrame> {
        require(bytes.iter().zip(HEAD).all(|(byte, right)| byte == right))?;
        let window = &bytes[..bytes.len().min(self.max_len())];
        let end = window.windows(2).position(|pair| pair == b"\r\n").ok_or(NoFrame::Incomplete)?;
        let line = std::str::from_utf8(&bytes[..end]).ok();
        let sentence = line.and_then(Sentence::parse).ok_or(NoFrame::Refused)?;
        Ok((sentence, end + 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use proptest::prelude::*;

    const EXAMPLE: Sentence = Sentence {
        sequence: 17,
        time_ms: 340,
        compass_centideg: 9231,
        roll_centideg: -54,
        pitch_centideg: 120,
        gyro_10urad_s: [123, -45, 10_230],
    };

    fn emit(sentence: &Sentence) -> Vec<u8> {
        let mut out = vec![0xa5];
        sentence.emit(&mut out);
        out.split_off(1)
    }

    #[test]
    fn the_sentence_is_the_documented_one() {
        let text = String::from_utf8(emit(&EXAMPLE)).unwrap();
        let body = "$PMNR,PHONE,17,0.340,92.31,-0.54,1.20,0.00123,-0.00045,0.10230*";
        assert!(text.starts_with(body) && text.ends_with("\r\n"), "{text}");
        assert!(include_str!("phone.rs").contains(&format!("//! {}", text.trim_end())), "{text}");
        assert_eq!(Sentence::parse(text.trim_end()), Some(EXAMPLE));
    }

    #[test]
    fn other_ways_to_write_it_are_refused() {
        for (from, to) in [("17", "017"), ("0.340", ".340"), ("92.31", "392.31"), ("1.20", "1.2")] {
            let body = "PMNR,PHONE,17,0.340,92.31,-0.54,1.20,0.00123,-0.00045,0.10230";
            let body = body.replacen(from, to, 1);
            let line = format!("${body}*{:02X}", xor8(body.as_bytes()));
            assert_eq!(Sentence::parse(&line), None, "{line}");
        }
    }

    fn any_sentence() -> impl Strategy<Value = Sentence> {
        let angles = (0u16..36_000, -18_000i16..=18_000, -9_000i16..=9_000);
        (any::<u16>(), any::<u64>(), angles, any::<[i32; 3]>()).prop_map(
            |(
                sequence,
                time_ms,
                (compass_centideg, roll_centideg, pitch_centideg),
                gyro_10urad_s,
            )| {
                Sentence {
                    sequence,
                    time_ms,
                    compass_centideg,
                    roll_centideg,
                    pitch_centideg,
                    gyro_10urad_s,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn every_sentence_comes_back(sentence in any_sentence()) {
            let bytes = emit(&sentence);
            prop_assert!(bytes.len() <= Phone.max_len());
            prop_assert_eq!(Framer::new(Phone).frames(&bytes), [sentence]);
        }
    }
}
