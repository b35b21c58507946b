//! Arithmetic on many pixels or pulses at once: loops over arrays without branches and calls, which compilers vectorise
//! where `fearless_simd::dispatch` allows it. Each element has the operations of scalar code in the same order, so that
//! all instruction sets give the same bits.

use glam::DVec3;

/// Number of pixels in an array.
pub(super) const LANES: usize = 64;
/// One value for each pixel.
pub(super) type Lanes<T = f64> = [T; LANES];
/// Vectors of the pixels: for each axis or colour, one component for each pixel.
pub(super) type Lanes3 = [Lanes; 3];

pub(super) const ZEROS: Lanes = [0.0; LANES];

/// Doubles from this value on have no fraction.
const WHOLE: f64 = (1u64 << 52) as f64;
/// Doubles that differ from this value by less than 2^51 have no fraction.
const SIGNED_WHOLE: f64 = (3u64 << 51) as f64;

/// A number below 2^52 as a double.
#[inline(always)]
pub(super) fn real(whole: u64) -> f64 {
    f64::from_bits(whole | WHOLE.to_bits()) - WHOLE
}

/// Integer part of a number from 0 to below 2^51.
#[inline(always)]
pub(super) fn whole(real: f64) -> u64 {
    let nearest = (real + WHOLE) - WHOLE;
    let below = if nearest > real { nearest - 1.0 } else { nearest };
    (below + WHOLE).to_bits() ^ WHOLE.to_bits()
}

/// The floor of `along` as an integer in two's complement, and `along` minus its floor.
#[inline(always)]
pub(super) fn cell(along: f64) -> (u64, f64) {
    let nearest = (along + SIGNED_WHOLE) - SIGNED_WHOLE;
    let below = if nearest > along { nearest - 1.0 } else { nearest };
    ((below + SIGNED_WHOLE).to_bits().wrapping_sub(SIGNED_WHOLE.to_bits()), along - below)
}

/// Vector number `k` of vectors that are stored as one array for each component.
#[inline(always)]
pub(super) fn vector<const N: usize>(lanes: &[[f64; N]; 3], k: usize) -> DVec3 {
    DVec3::new(lanes[0][k], lanes[1][k], lanes[2][k])
}

/// Sets vector number `k` of vectors that are stored as one array for each component.
#[inline(always)]
pub(super) fn set<const N: usize>(lanes: &mut [[f64; N]; 3], k: usize, vector: DVec3) {
    [lanes[0][k], lanes[1][k], lanes[2][k]] = vector.to_array();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cut_as_casts_cut_them() {
        for number in [0.0, 0.2, 0.5, 0.999_999, 1.0, 1.5, 2.5, 1e9 + 0.75, 1e15 + 0.5] {
            assert_eq!(whole(number), number as u64, "{number}");
            assert_eq!(real(number as u64), number.floor(), "{number}");
            for number in [number, -number] {
                let (found, part) = cell(number);
                assert_eq!(found as i64, number.floor() as i64, "{number}");
                assert_eq!(part, number - number.floor(), "{number}");
            }
        }
    }
}
