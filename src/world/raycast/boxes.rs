//! Boxes of primitives and of what is above them, while trees are built.

use glam::Vec3A;

/// The bounding box of a primitive, while trees are built.
#[derive(Clone, Copy)]
pub struct Bounded {
    pub low: [f32; 3],
    pub high: [f32; 3],
}

impl Bounded {
    /// The box of no primitive.
    pub const NOTHING: Self = Self { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3] };

    /// Grows to contain `other`.
    pub fn include(&mut self, other: &Self) {
        for axis in 0..3 {
            self.low[axis] = self.low[axis].min(other.low[axis]);
            self.high[axis] = self.high[axis].max(other.high[axis]);
        }
    }

    /// Half of the surface.
    pub fn half_area(&self) -> f32 {
        let [x, y, z]: [f32; 3] = std::array::from_fn(|axis| self.high[axis] - self.low[axis]);
        x * y + y * z + z * x
    }
}

/// A primitive's box, with its index.
#[derive(Clone, Copy)]
pub struct Boxed {
    pub bounds: Bounded,
    pub index: u32,
}

/// A box, as [`Bounded`] is, in vector registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub low: Vec3A,
    pub high: Vec3A,
}

impl Bounds {
    /// The box of nothing.
    pub const NOTHING: Self = Self { low: Vec3A::INFINITY, high: Vec3A::NEG_INFINITY };

    /// The box around both.
    #[inline(always)]
    pub fn union(&self, other: &Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Half of the surface.
    #[inline(always)]
    pub fn half_area(&self) -> f32 {
        let size = self.high - self.low;
        size.dot(Vec3A::new(size.y, size.z, size.x))
    }
}

impl From<&Bounded> for Bounds {
    fn from(bounded: &Bounded) -> Self {
        Self { low: Vec3A::from_array(bounded.low), high: Vec3A::from_array(bounded.high) }
    }
}
