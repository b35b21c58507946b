//! Times of rotations, and of firings that the encoder triggers.

use super::rotor::{Rotor, SPEED_TOLERANCE, part_of_turn};
use crate::time::SimTime;

/// First time after `after` at which the rotor's angle is 0. If `after` is the start of the run, this time itself
/// counts too. `None` if the known schedule of the rotor has no such time.
pub fn begin(rotor: &Rotor, after: SimTime) -> Option<SimTime> {
    if after == SimTime::ZERO && rotor.turn(after) == 0.0 && !rotor.is_still(after) {
        return Some(after);
    }
    rotor.next_zero(after)
}

/// Whether the rotor's speed deviates from `rpm` by at most the fraction `SPEED_TOLERANCE`.
pub fn is_at_speed(rotor: &Rotor, rpm: u32, at: SimTime) -> bool {
    let rpm = f64::from(rpm);
    (rotor.rpm(at) - rpm).abs() <= rpm * SPEED_TOLERANCE
}

/// Time at which the rotor has completed the fraction `share` of the rotation that began at `turn`; `rpm` is the rotor's
/// approximate speed.
pub fn fires_at(rotor: &Rotor, rpm: u32, turn: SimTime, share: f64) -> SimTime {
    const MINUTE_NS: f64 = 60e9;
    let ns_a_turn = MINUTE_NS / f64::from(rpm);
    let mut at = turn.0 as f64 + share * ns_a_turn;
    // One step is exact at constant speed; during a phase correction, three steps leave an error below 1 ns.
    for _ in 0..3 {
        let whole = SimTime(at.round().max(0.0) as u64);
        let missing = part_of_turn(share - rotor.turn(whole) + 0.5) - 0.5;
        let step_ns = missing * ns_a_turn;
        at = whole.0 as f64 + step_ns;
        if step_ns.abs() <= 0.5 {
            break;
        }
    }
    SimTime(at.round().max(turn.0 as f64) as u64)
}

/// `count * over / under`, rounded down, for example the start of a packet from its number. Products beyond
/// 64 bits are correct, but much slower.
#[inline]
pub fn scaled(count: u64, over: u64, under: u64) -> u64 {
    match count.checked_mul(over) {
        Some(product) => product / under,
        None => (u128::from(count) * u128::from(over) / u128::from(under)) as u64,
    }
}

/// Reduces the ratio `over / under` to lowest terms.
pub fn reduced([over, under]: [u64; 2]) -> [u64; 2] {
    let (mut divisor, mut rest) = (over, under);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    [over / divisor.max(1), under / divisor.max(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_beyond_64_bits_are_right() {
        let [over, under] = reduced([60_000_000_000, 126 * 125 * 600]);
        assert_eq!([over, under], [400_000, 63]);
        for count in [0, 1, 62, 1_000_000_007, u64::MAX / over, u64::MAX / over + 1, 1 << 50] {
            let whole = u128::from(count) * 60_000_000_000 / (126 * 125 * 600);
            assert_eq!(u128::from(scaled(count, over, under)), whole);
        }
    }
}
