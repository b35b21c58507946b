//! Random numbers for shapes and positions, determined by a seed.
//!
//! Each item has its own random stream, identified by the seed, its kind and its number. The items therefore depend neither
//! on the order of the work nor on the number of threads.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

/// The random stream of item `index` of the kind `kind`.
pub fn stream(seed: u64, kind: u64, index: u64) -> SplitMix64 {
    let of_kind = SplitMix64::seed_from_u64(seed).next_u64() ^ kind;
    let of_thing = SplitMix64::seed_from_u64(of_kind).next_u64() ^ index;
    SplitMix64::seed_from_u64(SplitMix64::seed_from_u64(of_thing).next_u64())
}

/// A random number, uniform in `low..high`.
pub fn uniform(rng: &mut SplitMix64, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.random::<f64>()
}

/// A random angle, uniform in `0..2 pi`, radians.
pub fn angle(rng: &mut SplitMix64) -> f64 {
    uniform(rng, 0.0, std::f64::consts::TAU)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_in_seed_kind_and_index() {
        let mut firsts: Vec<u64> =
            [(1, 2, 3), (2, 2, 3), (1, 3, 3), (1, 2, 4), (1, 3, 2), (3, 2, 1), (0, 0, 0)]
                .iter()
                .map(|&(seed, kind, index)| stream(seed, kind, index).next_u64())
                .collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 7);
        assert_eq!(stream(1, 2, 3), stream(1, 2, 3));
    }

    #[test]
    fn uniform_draws_fill_their_interval() {
        let mut rng = stream(5, 0, 0);
        let draws: Vec<f64> = (0..10_000).map(|_| uniform(&mut rng, -2.0, 4.0)).collect();
        assert!(draws.iter().all(|d| (-2.0..4.0).contains(d)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 1.0).abs() < 0.06, "{mean}");
    }
}
