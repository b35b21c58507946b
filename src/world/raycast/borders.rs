//! Chooses the border where a set of boxes is split. The candidates are the borders between bins. The cost of a
//! border is the sum, over both sides, of the side's area times its number of boxes (Wald, On fast Construction of
//! SAH-based Bounding Volume Hierarchies, 2007).

use super::boxes::Bounds;

/// Largest number of bins along an axis.
pub const BINS: usize = 16;

/// A border that splits a set of boxes by their middles.
pub struct Border {
    bins: Bins,
    axis: usize,
    /// Index of the first bin behind the border.
    bin: usize,
}

/// Equal bins along each axis, into which boxes are sorted by their middles.
struct Bins {
    number: usize,
    low: [f32; 3],
    /// Number of bins per unit of [`place`] along each axis; 0 if all boxes are at the same position.
    scale: [f32; 3],
}

/// Twice the coordinate of the box's middle along an axis.
#[inline(always)]
fn place(bounds: &Bounds, axis: usize) -> f32 {
    bounds.low[axis] + bounds.high[axis]
}

impl Border {
    /// The border with the lowest cost, among the borders of `bins` (at most [`BINS`]) bins along each axis that have
    /// at least `least` boxes on each side; `None` if there is no such border.
    pub fn best<'a>(
        boxes: impl Iterator<Item = &'a Bounds> + Clone,
        bins: usize,
        least: usize,
    ) -> Option<Self> {
        let bins = Bins::new(boxes.clone(), bins.min(BINS));
        let mut counts = [[0usize; BINS]; 3];
        let mut inside = [[Bounds::NOTHING; BINS]; 3];
        for bounds in boxes {
            for axis in 0..3 {
                let bin = bins.of(bounds, axis);
                counts[axis][bin] += 1;
                inside[axis][bin].include(bounds);
            }
        }
        let mut best: Option<(f32, usize, usize)> = None;
        for axis in (0..3).filter(|&axis| bins.scale[axis] > 0.0) {
            let best_here = best_bin(&counts[axis][..bins.number], &inside[axis], least);
            if let Some((cost, bin)) = best_here
                && cost < best.map_or(f32::INFINITY, |best| best.0)
            {
                best = Some((cost, axis, bin));
            }
        }
        best.map(|(_, axis, bin)| Self { bins, axis, bin })
    }

    /// Whether a box is before the border.
    #[inline(always)]
    pub fn is_before(&self, bounds: &Bounds) -> bool {
        self.bins.of(bounds, self.axis) < self.bin
    }
}

impl Bins {
    fn new<'a>(boxes: impl Iterator<Item = &'a Bounds>, number: usize) -> Self {
        let mut places = Bounds::NOTHING;
        for bounds in boxes {
            let at = std::array::from_fn(|axis| place(bounds, axis));
            places.include(&Bounds { low: at, high: at });
        }
        let scale = std::array::from_fn(|axis| {
            let scale = 0.999 * number as f32 / (places.high[axis] - places.low[axis]);
            if scale.is_finite() { scale } else { 0.0 }
        });
        Self { number, low: places.low, scale }
    }

    #[inline(always)]
    fn of(&self, bounds: &Bounds, axis: usize) -> usize {
        let bin = ((place(bounds, axis) - self.low[axis]) * self.scale[axis]) as usize;
        bin.min(self.number - 1)
    }
}

/// The cheapest border: its cost, and the first bin behind it. `None` if no border has at least `least` boxes on each
/// side.
fn best_bin(counts: &[usize], inside: &[Bounds], least: usize) -> Option<(f32, usize)> {
    let all: usize = counts.iter().sum();
    let mut costs_above = [0.0; BINS];
    let (mut above, mut count) = (Bounds::NOTHING, 0);
    for bin in (1..counts.len()).rev() {
        above.include(&inside[bin]);
        count += counts[bin];
        costs_above[bin] = above.half_area() * count as f32;
    }
    let mut best: Option<(f32, usize)> = None;
    let (mut below, mut count) = (Bounds::NOTHING, 0);
    for bin in 1..counts.len() {
        below.include(&inside[bin - 1]);
        count += counts[bin - 1];
        if count < least || all - count < least {
            continue;
        }
        let cost = below.half_area() * count as f32 + costs_above[bin];
        if cost < best.map_or(f32::INFINITY, |best| best.0) {
            best = Some((cost, bin));
        }
    }
    best
}
