//! Drops and flakes: particles with exponentially distributed sizes. The nearest and largest ones have their own
//! echoes.

use std::f64::consts::FRAC_PI_4;

use rand::Rng;
use rand_xoshiro::SplitMix64;

use super::optics::{AirOptics, Overlap};

/// Extinction cross-section divided by geometric cross-section, for particles much larger than the wavelength
/// (van de Hulst 1957).
const EXTINCTION_EFFICIENCY: f64 = 2.0;
/// Smallest return of a simulated particle, as a share of the detection threshold.
const WEAKEST_SHARE: f64 = 0.125;
/// Largest distance of a simulated particle, metres, even if a receiver could detect farther ones.
const FARTHEST_M: f64 = 30.0;
/// Largest mean number of simulated particles per pulse; farther particles are omitted.
const MOST: f64 = 200.0;
/// Number of range steps of an [`InBeam`] table.
const STEPS: usize = 512;

/// Particles in the air: `N(D) = n0 exp(-slope D)` per cubic metre and millimetre of diameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Particles {
    /// Particles per cubic metre and millimetre at a diameter of zero (`n0`).
    pub n0_per_m3_mm: f64,
    /// Decay with the diameter, 1/mm.
    pub slope_per_mm: f64,
    /// Smallest simulated diameter, mm.
    pub least_mm: f64,
    /// Largest simulated diameter, mm.
    pub most_mm: f64,
    /// Share of the light that a particle scatters back, relative to a white diffuse surface with its cross-section.
    pub reflectance: f64,
}

impl Particles {
    /// Extinction coefficient, 1/m: the integral of cross-sections over all diameters.
    pub fn extinction_per_m(&self) -> f64 {
        let square_mm = 2.0 * self.n0_per_m3_mm / self.slope_per_mm.powi(3);
        EXTINCTION_EFFICIENCY * FRAC_PI_4 * square_mm * 1e-6
    }

    /// Number of particles per cubic metre with at least this diameter, counting only simulated diameters.
    pub fn count_above(&self, diameter_mm: f64) -> f64 {
        let from = diameter_mm.max(self.least_mm);
        if from >= self.most_mm {
            return 0.0;
        }
        let tail = |d: f64| libm::exp(-self.slope_per_mm * d);
        self.n0_per_m3_mm / self.slope_per_mm * (tail(from) - tail(self.most_mm))
    }
}

/// A particle in the beam of a pulse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Met {
    /// Distance of the particle, metres.
    pub range_m: f64,
    /// Diameter of the particle, mm.
    pub diameter_mm: f64,
    /// Strength of the particle's return, defined like [`Backscatter::reflectance`](super::Backscatter), for a ray that
    /// nothing stops before the particle.
    pub reflectance: f64,
}

/// Table over range: expected number of simulated particles in the beam of a pulse, up to each range. A particle is
/// simulated if its return is at least [`WEAKEST_SHARE`] of the detection threshold.
#[derive(Clone, Debug)]
pub(super) struct InBeam {
    particles: Particles,
    optics: AirOptics,
    overlap: Overlap,
    extinction_per_m: f64,
    from_m: f64,
    step_m: f64,
    /// Expected number of particles from `from_m` to the end of each step.
    expected: Vec<f64>,
}

impl InBeam {
    /// A table of the simulated `particles` in a beam, in air with this total extinction (one way, 1/m).
    pub fn new(
        particles: Particles,
        optics: &AirOptics,
        overlap: Overlap,
        extinction_per_m: f64,
    ) -> Self {
        let from_m = overlap.begins_m;
        let mut table = Self {
            particles,
            optics: *optics,
            overlap,
            extinction_per_m,
            from_m,
            step_m: 0.0,
            expected: Vec::new(),
        };
        // Coarse steps find the end of the table, fine steps fill it.
        let end_m = FARTHEST_M.min(optics.max_range_m);
        let coarse = (end_m - from_m).max(0.0) / STEPS as f64;
        let (mut last_m, mut sum) = (from_m, 0.0);
        for step in 0..STEPS {
            let middle = from_m + (step as f64 + 0.5) * coarse;
            let more = table.density_per_m(middle) * coarse;
            if sum + more > MOST {
                break;
            }
            sum += more;
            if more > 1e-9 {
                last_m = from_m + (step + 1) as f64 * coarse;
            }
        }
        table.step_m = (last_m - from_m) / STEPS as f64;
        let mut sum = 0.0;
        table.expected = (0..STEPS)
            .map(|step| {
                let middle = from_m + (step as f64 + 0.5) * table.step_m;
                sum += table.density_per_m(middle) * table.step_m;
                sum
            })
            .collect();
        table
    }

    /// Expected number of simulated particles per metre of the beam, at `range_m`.
    pub fn density_per_m(&self, range_m: f64) -> f64 {
        let [width, height] = self.optics.size_m(range_m);
        let passed = self.passed(range_m);
        let whole = passed * self.particles.reflectance / (range_m * range_m);
        let weakest = WEAKEST_SHARE * self.optics.threshold;
        if whole <= weakest {
            return 0.0;
        }
        let least_mm = 1e3 * (weakest / whole * width * height).sqrt();
        FRAC_PI_4 * width * height * self.particles.count_above(least_mm)
    }

    /// Mean number of simulated particles per pulse.
    pub fn expected(&self) -> f64 {
        self.expected.last().copied().unwrap_or(0.0)
    }

    /// Share of the light that is not lost on the way out and back, times the overlap with the receiver.
    fn passed(&self, range_m: f64) -> f64 {
        self.overlap.at(range_m) * libm::exp(-2.0 * self.extinction_per_m * range_m)
    }

    /// Calls `met` with the particles of a pulse, nearest first. They are a Poisson process in range.
    pub fn draw(&self, random: &mut SplitMix64, mut met: impl FnMut(Met, &mut SplitMix64)) {
        let all = self.expected();
        let mut until = 0.0;
        if all <= 0.0 {
            return;
        }
        loop {
            until -= libm::log(1.0 - uniform(random));
            if until >= all {
                return;
            }
            let step = self.expected.partition_point(|&sum| sum <= until).min(STEPS - 1);
            let before = if step == 0 { 0.0 } else { self.expected[step - 1] };
            let within = (until - before) / (self.expected[step] - before);
            let range_m = self.from_m + (step as f64 + within) * self.step_m;
            if let Some(particle) = self.particle(range_m, uniform(random)) {
                met(particle, random);
            }
        }
    }

    /// A particle at `range_m`; `None` if the return of every particle there would be too weak to be simulated. `rank`,
    /// 0..1, is its quantile in the distribution of simulated diameters: 0 for the smallest.
    fn particle(&self, range_m: f64, rank: f64) -> Option<Met> {
        let [width, height] = self.optics.size_m(range_m);
        let passed = self.passed(range_m) * self.particles.reflectance;
        let area = width * height;
        let weakest = WEAKEST_SHARE * self.optics.threshold * range_m * range_m;
        let Particles { slope_per_mm, least_mm, most_mm, .. } = self.particles;
        let from_mm = (1e3 * (weakest / passed * area).sqrt()).max(least_mm);
        if from_mm.is_nan() || from_mm >= most_mm {
            return None;
        }
        let span = 1.0 - libm::exp(-slope_per_mm * (most_mm - from_mm));
        let diameter_mm = from_mm - libm::log(1.0 - rank * span) / slope_per_mm;
        let share = (diameter_mm * diameter_mm * 1e-6 / area).min(1.0);
        Some(Met { range_m, diameter_mm, reflectance: passed * share })
    }
}

/// A uniform random number in `0..1`.
pub(super) fn uniform(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}
