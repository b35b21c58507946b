//! Divides the primitives of a large mesh into parts, for which trees are built separately. A part fits into the
//! caches while it is built, needs little memory, and occupies one processor.
//!
//! The division moves words of 64 bits instead of boxes, because writing boxes to memory takes longer than computing
//! them again. A word has the primitive's index in its lower bits. Its upper bits have the middle of the box, with a
//! resolution of a 4096th of the mesh.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::borders::{BINS, Border};
use super::boxes::Bounds;

/// Number of primitives that are sampled to find the split of a large set.
const SAMPLE: usize = 1 << 14;
/// Each side of a split must contain at least 1 / `LEAST_SHARE` of the sample.
const LEAST_SHARE: usize = 16;
/// Number of bits of a word's index.
pub const INDEX_BITS: u32 = 28;
/// Number of bits of a word's position along each axis.
const PLACE_BITS: u32 = 12;
const _: () = assert!(INDEX_BITS + 3 * PLACE_BITS == 64);

/// Divides primitives into parts by their positions.
pub struct Divider<'a, F> {
    bounds: &'a F,
    /// Point with the position 0 along each axis, in the mesh's frame.
    low: [f32; 3],
    /// Size of a position step along each axis.
    step: [f32; 3],
}

/// The index of the primitive of a word.
pub fn index(word: u64) -> u32 {
    (word & ((1 << INDEX_BITS) - 1)) as u32
}

impl<'a, F: Fn(u32) -> Bounds + Sync> Divider<'a, F> {
    /// A divider for primitives `0..count`, and their words. `bounds` returns a primitive's box; all boxes lie in
    /// `around`.
    pub fn new(count: usize, around: &Bounds, bounds: &'a F) -> (Self, Vec<u64>) {
        let extent = |axis: usize| around.high[axis] - around.low[axis];
        let step = std::array::from_fn(|axis| extent(axis) / (1 << PLACE_BITS) as f32);
        let divider = Self { bounds, low: around.low, step };
        let mut words = Vec::new();
        let all = (0..count as u32).into_par_iter();
        all.map(|index| divider.word(index)).collect_into_vec(&mut words);
        (divider, words)
    }

    fn word(&self, index: u32) -> u64 {
        let Bounds { low, high } = (self.bounds)(index);
        (0..3).fold(u64::from(index), |word, axis| {
            let middle = 0.5 * low[axis] + 0.5 * high[axis];
            let place = ((middle - self.low[axis]) / self.step[axis]) as u64;
            let shift = INDEX_BITS + PLACE_BITS * axis as u32;
            word | place.min((1 << PLACE_BITS) - 1) << shift
        })
    }

    /// The middle of a primitive's box, rounded down to the resolution of the word; returned as a box without size.
    #[inline(always)]
    fn middle(&self, word: u64) -> Bounds {
        let at = std::array::from_fn(|axis| {
            let place = word >> (INDEX_BITS + PLACE_BITS * axis as u32) & ((1 << PLACE_BITS) - 1);
            self.low[axis] + self.step[axis] * place as f32
        });
        Bounds { low: at, high: at }
    }

    /// Splits `all` until each part has at most `most` primitives.
    pub fn divide<'w>(&self, all: &'w mut [u64], most: usize) -> Vec<&'w mut [u64]> {
        if all.len() <= most {
            return vec![all];
        }
        let middle = self.split(all);
        let (near, far) = all.split_at_mut(middle);
        let (mut near, mut far) =
            rayon::join(|| self.divide(near, most), || self.divide(far, most));
        near.append(&mut far);
        near
    }

    /// Moves the primitives before the best border to the front; returns their number, or half of all if no border divides
    /// them well.
    fn split(&self, all: &mut [u64]) -> usize {
        let step = all.len().div_ceil(SAMPLE);
        let sample: Vec<Bounds> =
            all.iter().step_by(step).map(|&word| (self.bounds)(index(word))).collect();
        let half = all.len() / 2;
        let Some(border) = Border::best(sample.iter(), BINS, sample.len() / LEAST_SHARE) else {
            // There is no border, because most primitives are at the same position.
            return half;
        };
        let before = bring_to_front(all, |word| border.is_before(&self.middle(word)));
        // The sample contains primitives at regular intervals, so their positions may differ from those of all others.
        let least = (all.len() / (4 * LEAST_SHARE)).max(1);
        if before < least || all.len() - before < least { half } else { before }
    }
}

/// Moves the words for which `is_first` holds to the front; returns their number.
fn bring_to_front(all: &mut [u64], is_first: impl Fn(u64) -> bool) -> usize {
    let (mut low, mut high) = (0, all.len());
    loop {
        while low < high && is_first(all[low]) {
            low += 1;
        }
        while low < high && !is_first(all[high - 1]) {
            high -= 1;
        }
        if low == high {
            return low;
        }
        all.swap(low, high - 1);
        (low, high) = (low + 1, high - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_the_only_ones_that_lie_apart_makes_no_small_part() {
        const COUNT: usize = 1 << 19;
        const MOST: usize = 1 << 17;
        let step = (COUNT / SAMPLE) as u32;
        // One in sixteen primitives of the first sample is far away, and none of the others is.
        let bounds = |index: u32| {
            let is_apart =
                index.is_multiple_of(step) && (index / step).is_multiple_of(LEAST_SHARE as u32);
            let x = if is_apart { 1000.0 } else { index as f32 / COUNT as f32 };
            Bounds { low: [x, 0.0, 0.0], high: [x + 0.001, 1.0, 1.0] }
        };
        let around = Bounds { low: [0.0; 3], high: [1001.0, 1.0, 1.0] };
        let (divider, mut words) = Divider::new(COUNT, &around, &bounds);
        let parts = divider.divide(&mut words, MOST);
        let mut all: Vec<u32> =
            parts.iter().flat_map(|part| part.iter().copied().map(index)).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..COUNT as u32));
        let least = MOST / (4 * LEAST_SHARE);
        assert!(parts.iter().all(|part| (least..=MOST).contains(&part.len())));
    }
}
