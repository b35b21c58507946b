//! Bounding boxes of primitives and nodes during the construction of trees.

use glam::Vec3A;

/// An axis-aligned bounding box, without the alignment padding of [`VectorBounds`].
#[derive(Clone, Copy)]
pub struct Bounds {
    pub low: [f32; 3],
    pub high: [f32; 3],
}

impl Bounds {
    /// Empty box.
    pub const NOTHING: Self = Self { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3] };

    /// Grows to contain `other`.
    pub fn include(&mut self, other: &Self) {
        for axis in 0..3 {
            self.low[axis] = self.low[axis].min(other.low[axis]);
            self.high[axis] = self.high[axis].max(other.high[axis]);
        }
    }

    /// Half of the surface area.
    pub fn half_area(&self) -> f32 {
        let [x, y, z]: [f32; 3] = std::array::from_fn(|axis| self.high[axis] - self.low[axis]);
        x * y + y * z + z * x
    }
}

/// An element of a tree: a triangle, or a part of a mesh that already has a tree.
#[derive(Clone, Copy)]
pub struct Primitive {
    pub bounds: Bounds,
    /// Index of the triangle in the mesh, or index of the part.
    pub index: u32,
}

/// A bounding box with SIMD vectors as corners. It takes more memory than [`Bounds`] but is faster to compute with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorBounds {
    pub low: Vec3A,
    pub high: Vec3A,
}

impl VectorBounds {
    /// Empty box.
    pub const NOTHING: Self = Self { low: Vec3A::INFINITY, high: Vec3A::NEG_INFINITY };

    /// Smallest box that contains `self` and `other`.
    #[inline(always)]
    pub fn union(&self, other: &Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Half of the surface area.
    #[inline(always)]
    pub fn half_area(&self) -> f32 {
        let size = self.high - self.low;
        size.dot(Vec3A::new(size.y, size.z, size.x))
    }
}

impl From<&Bounds> for VectorBounds {
    fn from(bounded: &Bounds) -> Self {
        Self { low: Vec3A::from_array(bounded.low), high: Vec3A::from_array(bounded.high) }
    }
}
