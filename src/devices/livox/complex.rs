//! Patterns from two uniform rotations: complex arithmetic, and directions from closed forms.

use fearless_simd::prelude::{SimdBase, SimdFloat, SimdFrom};
use fearless_simd::{Level, Simd, dispatch, f64x4};
use glam::{DVec2, DVec3};

/// Complex number of length 1 with this angle.
pub(super) fn unit(angle_rad: f64) -> DVec2 {
    let (sin, cos) = libm::sincos(angle_rad);
    DVec2::new(cos, sin)
}

/// Complex number of length 1 whose angle is `turns` full circles.
fn turned(turns: f64) -> DVec2 {
    unit(std::f64::consts::TAU * (turns - turns.floor()))
}

/// Number of values computed in parallel.
const LANES: usize = 4;

/// Complex numbers in SIMD lanes.
#[derive(Clone, Copy)]
pub(super) struct Lanes<S: Simd> {
    pub re: f64x4<S>,
    pub im: f64x4<S>,
}

impl<S: Simd> Lanes<S> {
    /// Lanes that all hold the complex number `z`.
    #[inline(always)]
    pub fn all(simd: S, z: DVec2) -> Self {
        Self { re: f64x4::splat(simd, z.x), im: f64x4::splat(simd, z.y) }
    }

    /// Numbers from their real and imaginary parts.
    #[inline(always)]
    fn of(simd: S, [re, im]: [[f64; LANES]; 2]) -> Self {
        Self { re: f64x4::simd_from(simd, re), im: f64x4::simd_from(simd, im) }
    }

    /// Product of the numbers in each lane.
    #[inline(always)]
    pub fn times(self, by: Self) -> Self {
        Self { re: self.re * by.re - self.im * by.im, im: self.im * by.re + self.re * by.im }
    }

    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }

    #[inline(always)]
    pub fn scaled(self, by: f64) -> Self {
        Self { re: self.re * by, im: self.im * by }
    }

    /// Complex conjugate of the number in each lane.
    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self { im: -self.im, ..self }
    }

    /// Rotates by a quarter turn (multiplies by i).
    #[inline(always)]
    pub fn ahead(self) -> Self {
        Self { re: -self.im, im: self.re }
    }

    /// Powers 0 to N - 1.
    #[inline(always)]
    pub fn powers<const N: usize>(self) -> [Self; N] {
        let mut powers = [Self::all(self.re.simd, DVec2::X); N];
        for power in 1..N {
            powers[power] = powers[power - 1].times(self);
        }
        powers
    }

    /// Power `power` of a complex number of length 1. `powers` has the number's powers from 0 on; a negative power is
    /// the conjugate of the positive one.
    #[inline(always)]
    fn power<const N: usize>(powers: &[Self; N], power: i32) -> Self {
        let positive = powers[power.unsigned_abs() as usize];
        if power < 0 { positive.conjugate() } else { positive }
    }
}

/// A term of a closed form: (m, n, amplitude) means amplitude * (first rotation)^m * (second rotation)^n, with the
/// rotations as complex numbers of length 1.
pub(super) type Term = (i32, i32, f64);

/// Sum of terms, from the powers of both rotations.
#[inline(always)]
pub(super) fn sum<S: Simd, const N: usize>(
    terms: &[Term],
    powers: &[[Lanes<S>; N]; 2],
) -> Lanes<S> {
    // A loop, because a closure would not get the vector instructions.
    let mut sum = Lanes::all(powers[0][0].re.simd, DVec2::ZERO);
    for (m, n, amplitude) in terms {
        let [one, other] = [Lanes::power(&powers[0], *m), Lanes::power(&powers[1], *n)];
        sum = sum.plus(one.times(other).scaled(*amplitude));
    }
    sum
}

/// A closed form that gives beam directions.
pub(super) trait ClosedForm {
    /// Number of lines that fire together.
    fn lines(&self) -> usize;

    /// Writes unit vectors (forward, left, up) of all lines for `LANES` groups of points, one per lane. `motions` are
    /// the phases of both rotations as complex numbers of length 1.
    fn groups<S: Simd>(&self, motions: [Lanes<S>; 2], aims: &mut [DVec3]);
}

/// Writes the unit vectors (forward, left, up) of `lines` lines to `aims`. The arguments are complex numbers with left
/// as the real and up as the imaginary part. `flat` is the direction at the centre of the lines, `by_line` the
/// difference between adjacent lines (line n - 1 minus line n).
#[inline(always)]
pub(super) fn forward<S: Simd>(
    flat: Lanes<S>,
    by_line: Lanes<S>,
    lines: usize,
    aims: &mut [DVec3],
) {
    let middle = (lines - 1) as f64 / 2.0;
    for line in 0..lines {
        let flat = flat.plus(by_line.scaled(middle - line as f64));
        let square = flat.re * flat.re + flat.im * flat.im;
        let forward = (1.0 - square).max(0.0).sqrt();
        write([forward, flat.re, flat.im], line, lines, aims);
    }
}

/// Writes the coordinates of one line's unit vectors to `aims`, in which the lines of a group are adjacent.
#[inline(always)]
pub(super) fn write<S: Simd>(axes: [f64x4<S>; 3], line: usize, lines: usize, aims: &mut [DVec3]) {
    let [x, y, z] = axes;
    for (lane, aims) in aims.chunks_exact_mut(lines).enumerate() {
        aims[line] = DVec3::new(x[lane], y[lane], z[lane]);
    }
}

/// Two uniform rotations.
#[derive(Clone, Debug)]
pub(super) struct Motions {
    /// Rotation of each motion per group of points, in full circles; `steps` has these rotations as complex numbers of
    /// length 1.
    turns: [f64; 2],
    steps: [DVec2; 2],
    /// Number of groups before the start of the run.
    before: f64,
}

impl Motions {
    /// Rotations by `turns` full circles per group of points; `before` groups precede the start of the run.
    pub fn new(turns: [f64; 2], before: f64) -> Self {
        Self { turns, steps: turns.map(turned), before }
    }

    /// Unit vectors (forward, left, up) of `count` groups from group `first` on; the lines of a group are adjacent.
    pub fn aims(&self, form: &impl ClosedForm, first: u64, count: usize) -> Vec<DVec3> {
        let lines = form.lines();
        let mut aims = vec![DVec3::ZERO; count.next_multiple_of(LANES) * lines];
        let from = self.before + first as f64;
        // All instruction sets give the same bits, because none fuses multiply and add.
        dispatch!(Level::new(), simd => self.write(simd, form, from, &mut aims));
        aims.truncate(count * lines);
        aims
    }

    #[inline(always)]
    fn write<S: Simd>(&self, simd: S, form: &impl ClosedForm, from: f64, aims: &mut [DVec3]) {
        let mut motions = self.turns.map(|turns| turned(turns * from));
        for aims in aims.chunks_exact_mut(LANES * form.lines()) {
            let mut lanes = [[[0.0; LANES]; 2]; 2];
            for lane in 0..LANES {
                for (motion, lanes) in motions.iter_mut().zip(&mut lanes) {
                    [lanes[0][lane], lanes[1][lane]] = motion.to_array();
                }
                motions = [0, 1].map(|n| motions[n].rotate(self.steps[n]));
            }
            let [one, other] = lanes;
            form.groups([Lanes::of(simd, one), Lanes::of(simd, other)], aims);
        }
    }
}
