//! Complex numbers, one by one as vectors (real part, imaginary part), and several side by side.

use std::array::from_fn;

use glam::DVec2;

/// The number of length 1 at an angle.
pub(super) fn unit(angle_rad: f64) -> DVec2 {
    let (sin, cos) = libm::sincos(angle_rad);
    DVec2::new(cos, sin)
}

/// The complex conjugate.
pub(super) fn conjugate(z: DVec2) -> DVec2 {
    DVec2::new(z.x, -z.y)
}

/// How many numbers are computed side by side. Compilers make vector instructions of loops of this length.
pub(super) const LANES: usize = 4;

/// Real numbers side by side.
pub(super) type Reals = [f64; LANES];

/// Complex numbers side by side. Each is computed as [`DVec2`] would, so that its bits are the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub re: Reals,
    pub im: Reals,
}

impl Lanes {
    pub const ZERO: Self = Self { re: [0.0; LANES], im: [0.0; LANES] };
    pub const ONE: Self = Self { re: [1.0; LANES], im: [0.0; LANES] };

    /// The numbers of `each`.
    pub fn of(each: [DVec2; LANES]) -> Self {
        Self { re: each.map(|z| z.x), im: each.map(|z| z.y) }
    }

    /// One number in every lane.
    #[inline(always)]
    pub fn all(z: DVec2) -> Self {
        Self { re: [z.x; LANES], im: [z.y; LANES] }
    }

    /// The product.
    #[inline(always)]
    pub fn times(self, by: Self) -> Self {
        Self {
            re: from_fn(|i| self.re[i] * by.re[i] - self.im[i] * by.im[i]),
            im: from_fn(|i| self.im[i] * by.re[i] + self.re[i] * by.im[i]),
        }
    }

    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Self {
            re: from_fn(|i| self.re[i] + other.re[i]),
            im: from_fn(|i| self.im[i] + other.im[i]),
        }
    }

    #[inline(always)]
    pub fn scaled(self, by: f64) -> Self {
        Self { re: self.re.map(|x| x * by), im: self.im.map(|x| x * by) }
    }

    /// The complex conjugates.
    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self { im: self.im.map(|y| -y), ..self }
    }

    /// The powers from the lowest, which is as far below 0 as the highest is above; `N` is odd.
    #[inline(always)]
    pub fn powers<const N: usize>(self) -> [Self; N] {
        let mut powers = [Self::ONE; N];
        let middle = N / 2;
        for harmonic in 1..=middle {
            let next = powers[middle + harmonic - 1].times(self);
            powers[middle + harmonic] = next;
            powers[middle - harmonic] = next.conjugate();
        }
        powers
    }
}
