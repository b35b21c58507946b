//! What a receiver makes of a disturbed serial line: eight data bits, no parity, one stop bit.

/// Start, data and stop.
pub const BITS_PER_BYTE: usize = 10;
/// The line rests after the last byte for longer than the receiver takes to find its feet.
const REST_BITS: usize = 2 * BITS_PER_BYTE;

/// The line's level bit by bit while `bytes` are sent back to back, and a rest behind them.
pub fn line_of(bytes: &[u8]) -> Vec<bool> {
    let mut line = Vec::with_capacity(bytes.len() * BITS_PER_BYTE + REST_BITS);
    for byte in bytes {
        line.push(false);
        line.extend((0..8).map(|bit| byte >> bit & 1 == 1));
        line.push(true);
    }
    line.resize(line.len() + REST_BITS, true);
    line
}

/// The bytes a receiver reads from `line`. A byte whose stop bit is low arrives as zero, as Linux
/// hands it to a program that has not asked for marks (termios(3), `PARMRK` off); after it the
/// receiver waits for the line to rise.
pub fn received(line: &[bool]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(line.len() / BITS_PER_BYTE);
    let mut at = 0;
    while at < line.len() {
        if line[at] {
            at += 1;
            continue;
        }
        let Some(frame) = line.get(at + 1..at + BITS_PER_BYTE) else { break };
        let (data, stop) = frame.split_at(8);
        at += BITS_PER_BYTE;
        if stop[0] {
            bytes.push(data.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit)));
        } else {
            bytes.push(0);
            while at < line.len() && !line[at] {
                at += 1;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quiet_line_carries_everything(bytes: Vec<u8>) {
            prop_assert_eq!(received(&line_of(&bytes)), bytes);
        }

        #[test]
        fn any_line_is_read(line: Vec<bool>) {
            prop_assert!(received(&line).len() <= line.len());
        }
    }

    #[test]
    fn a_break_is_one_zero_and_costs_what_it_covers() {
        let mut line = line_of(b"ABC");
        // From the middle of B to the middle of C.
        line[14..26].fill(false);
        let read = received(&line);
        assert_eq!(read[..2], [b'A', 0]);
        assert!(!read.contains(&b'C'));
    }

    #[test]
    fn a_flipped_data_bit_changes_one_byte() {
        let mut line = line_of(b"AB");
        line[1] = !line[1];
        assert_eq!(received(&line), [b'A' ^ 1, b'B']);
    }
}
