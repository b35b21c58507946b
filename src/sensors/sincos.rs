//! Sines and cosines of many angles at once, bit-identical to [`libm::sincos`].

/// Sets `sin` and `cos` to the sines and cosines of `angles`, radians.
///
/// The operations are those of libm, which has them from FreeBSD's msun: the angle is reduced to -π/4..=π/4, and two
/// polynomials are evaluated. libm branches to reduce an angle; here the number of quarter turns is a product, and
/// loops have no branch. libm itself computes the rare angles that it reduces differently: those very near π/2, π, 3π/2
/// or 2π, and those beyond 9π/4.
#[inline(always)]
pub(super) fn sincos<const N: usize>(angles: &[f64; N], sin: &mut [f64; N], cos: &mut [f64; N]) {
    let mut is_other = [false; N];
    for k in 0..N {
        let x = angles[k].abs();
        let mut quarters = 0.0;
        for end in QUARTER_ENDS {
            quarters += if x < end { 0.0 } else { 1.0 };
        }
        let is_near = |[from, to]: [f64; 2]| (x >= from) & (x < to);
        let [a, b, c, d] = NEAR_QUARTERS.map(is_near);
        is_other[k] = a | b | c | d | (x >= LAST_END) | x.is_nan();
        // The multiples of the first part of π/2 are exact.
        let z = x - quarters * PIO2_1;
        let y = z - quarters * PIO2_1T;
        let tail = (z - y) - quarters * PIO2_1T;
        let (s, c) = (sine(y, tail, quarters == 0.0), cosine(y, tail));
        let is_odd = (quarters == 1.0) | (quarters == 3.0);
        let (s, c) = (if is_odd { c } else { s }, if is_odd { s } else { c });
        let is_low = (quarters == 2.0) | (quarters == 3.0);
        let is_back = (quarters == 1.0) | (quarters == 2.0);
        let s = if is_low { -s } else { s };
        sin[k] = if angles[k].is_sign_negative() { -s } else { s };
        cos[k] = if is_back { -c } else { c };
    }
    for k in 0..N {
        if is_other[k] {
            (sin[k], cos[k]) = libm::sincos(angles[k]);
        }
    }
}

/// The smallest double whose upper 32 bits are `word`.
const fn from_word(word: u32) -> f64 {
    f64::from_bits((word as u64) << 32)
}

/// Angles from which the nearest multiple of π/2 is the first, second, third and fourth.
const QUARTER_ENDS: [f64; 4] = [
    from_word(0x3fe9_21fc),
    from_word(0x4002_d97d),
    from_word(0x400f_6a7b),
    from_word(0x4015_fdbd),
];
/// Angle from which the nearest multiple of π/2 is beyond the fourth.
const LAST_END: f64 = from_word(0x401c_463c);
/// Intervals around the first four multiples of π/2. The difference from the multiple needs more digits of π there.
const NEAR_QUARTERS: [[f64; 2]; 4] = [
    [from_word(0x3ff9_21fb), from_word(0x3ff9_21fc)],
    [from_word(0x4009_21fb), from_word(0x4009_21fc)],
    [from_word(0x4012_d97c), from_word(0x4012_d97d)],
    [from_word(0x4019_21fb), from_word(0x4019_21fc)],
];
/// The first 33 bits of π/2.
const PIO2_1: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);
/// π/2 minus [`PIO2_1`].
const PIO2_1T: f64 = f64::from_bits(0x3dd0_b461_1a62_6331);

/// Coefficients of the polynomial for sines.
const S: [f64; 6] = [
    f64::from_bits(0xbfc5_5555_5555_5549),
    f64::from_bits(0x3f81_1111_1110_f8a6),
    f64::from_bits(0xbf2a_01a0_19c1_61d5),
    f64::from_bits(0x3ec7_1de3_57b1_fe7d),
    f64::from_bits(0xbe5a_e5e6_8a2b_9ceb),
    f64::from_bits(0x3de5_d93a_5acf_d57c),
];
/// Coefficients of the polynomial for cosines.
const C: [f64; 6] = [
    f64::from_bits(0x3fa5_5555_5555_554c),
    f64::from_bits(0xbf56_c16c_16c1_5177),
    f64::from_bits(0x3efa_01a0_19cb_1590),
    f64::from_bits(0xbe92_7e4f_809c_52ad),
    f64::from_bits(0x3e21_ee9e_bdb4_b1c4),
    f64::from_bits(0xbda8_fae9_be88_38d4),
];

/// Sine of `x + tail`, for `x` in -π/4..=π/4. libm has another formula for angles that needed no reduction.
#[inline(always)]
fn sine(x: f64, tail: f64, is_unreduced: bool) -> f64 {
    let z = x * x;
    let w = z * z;
    let r = S[1] + z * (S[2] + z * S[3]) + z * w * (S[4] + z * S[5]);
    let v = z * x;
    let unreduced = x + v * (S[0] + z * r);
    let reduced = x - ((z * (0.5 * tail - v * r) - tail) - v * S[0]);
    if is_unreduced { unreduced } else { reduced }
}

/// Cosine of `x + tail`, for `x` in -π/4..=π/4.
#[inline(always)]
fn cosine(x: f64, tail: f64) -> f64 {
    let z = x * x;
    let w = z * z;
    let r = z * (C[0] + z * (C[1] + z * C[2])) + w * w * (C[3] + z * (C[4] + z * C[5]));
    let half = 0.5 * z;
    let w = 1.0 - half;
    w + (((1.0 - w) - half) + (z * r - x * tail))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

    use super::*;

    fn compare(angles: &[f64]) {
        for angles in angles.chunks_exact(8) {
            let angles: &[f64; 8] = angles.try_into().unwrap();
            let (mut sin, mut cos) = ([0.0; 8], [0.0; 8]);
            sincos(angles, &mut sin, &mut cos);
            for ((angle, sin), cos) in angles.iter().zip(sin).zip(cos) {
                let (wanted_sin, wanted_cos) = libm::sincos(*angle);
                let bits = [sin.to_bits(), cos.to_bits()];
                assert_eq!(bits, [wanted_sin.to_bits(), wanted_cos.to_bits()], "{angle:e}");
            }
        }
    }

    #[test]
    fn angles_have_the_bits_of_libm() {
        let step = 1.7e-5;
        compare(&(-600_000..600_000).map(|place| f64::from(place) * step).collect::<Vec<_>>());
    }

    /// Angles at and beside all limits, tiny and huge ones, and zeros of both signs.
    #[test]
    fn angles_at_limits_have_the_bits_of_libm() {
        let quarters = (0..40).flat_map(|n| [f64::from(n) * FRAC_PI_2, f64::from(n) * FRAC_PI_4]);
        let limits = QUARTER_ENDS.into_iter().chain(NEAR_QUARTERS.into_iter().flatten());
        let far = [0.0, 1e-320, 1e-200, 3e-9, 1e-8, LAST_END, 1e3, 1e9, 1e300, f64::MAX];
        let places = quarters.chain(limits).chain(far);
        for place in places {
            let beside = (0..64).flat_map(|off| {
                let bits = place.to_bits();
                let near = [bits.wrapping_add(off), bits.saturating_sub(off)];
                let far = [bits.wrapping_add(off << 20), bits.saturating_sub(off << 20)];
                near.into_iter().chain(far).map(f64::from_bits)
            });
            let beside: Vec<f64> = beside.flat_map(|angle| [angle, -angle]).collect();
            let numbers: Vec<f64> = beside.into_iter().filter(|angle| !angle.is_nan()).collect();
            compare(&numbers);
        }
    }
}
