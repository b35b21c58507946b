//! Random numbers, each a hash of seed, device, request, firing and quantity. A number thus does not depend on threads,
//! on numbers sampled earlier, or on which other sensor errors are simulated. The generator is SplitMix64, a hash of a
//! counter.

use std::convert::Infallible;

use rand::{SeedableRng, TryRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::SplitMix64;

/// Purpose of a random number. The discriminants are part of the hash, less than 256, and must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Quantity {
    /// Range of a pulse's first reported return.
    FirstRange = 1,
    /// Intensity of a pulse's first reported return.
    FirstIntensity,
    /// Range of a pulse's second reported return.
    SecondRange,
    /// Intensity of a pulse's second reported return.
    SecondIntensity,
    /// Azimuth error of the beam.
    Azimuth,
    /// Elevation error of the beam.
    Elevation,
    /// Intensity byte of a pulse without a return.
    DarkIntensity,
    /// Error of a rotor's reported angle.
    Encoder,
    /// White noise of a GNSS position.
    GnssPosition,
    /// Step of Chrono's random walk of a GNSS position.
    GnssWalk,
    /// Step of a Gauss-Markov process of a GNSS position.
    GnssMarkov,
    /// White noise of a GNSS velocity.
    GnssVelocity,
    /// Error of a GNSS receiver's time.
    GnssClock,
    /// Change of a satellite's carrier-to-noise ratio.
    GnssCarrierToNoise,
    /// Range residual of a satellite.
    GnssResidual,
    /// Jitter of a time pulse's edge.
    GnssPulse,
    /// Error of a motor's reported speed.
    Tachometer,
    /// Delay of a position packet.
    PositionDelay,
    /// Range of a pulse's third echo.
    ThirdRange = 32,
    /// Intensity of a pulse's third echo.
    ThirdIntensity,
    /// Range of a pulse's fourth echo.
    FourthRange,
    /// Intensity of a pulse's fourth echo.
    FourthIntensity,
    /// Range of a pulse's fifth echo.
    FifthRange,
    /// Intensity of a pulse's fifth echo.
    FifthIntensity,
    /// Noise of an echo's signal, for deciding whether the echo is detected.
    Detection,
    /// Common error of all ranges of a scan.
    ScanRange,
    /// Bias of a laser's ranges.
    LaserRange,
    /// Bias of a laser's azimuth.
    LaserAzimuth,
    /// Bias of a laser's elevation.
    LaserElevation,
    /// Time of a PTP slave's delay requests.
    PtpRequest,
    /// Effect of a fault on a PTP message.
    PtpFault,
    /// White noise of a sample.
    White = 64,
    /// Step of a bias instability (Gauss-Markov).
    BiasInstability,
    /// Step of a bias random walk.
    BiasWalk,
    /// Turn-on bias, sampled once per run.
    TurnOnBias,
    /// Scale factor error, sampled once per run.
    ScaleFactor,
    /// Axis misalignment, sampled once per run.
    Misalignment,
    /// Jitter of a sample's timestamp.
    ClockJitter,
    /// Raindrops in a pulse's path.
    RainDrops = 128,
    /// Snowflakes in a pulse's path.
    SnowFlakes,
    /// Range error in the rain model of Goodin et al. 2019.
    RainRange,
    /// Whether a pulse returns from dust before its target.
    DustReturn,
    /// Position and velocity of a sphere of dust.
    DustSphere,
    /// Noise of a pseudorange.
    GnssCode = 192,
    /// Noise of a carrier phase.
    GnssCarrier,
    /// Noise of a Doppler measurement.
    GnssDoppler,
    /// Phases of a satellite's multipath.
    GnssMultipath,
    /// Integer cycles of a carrier phase.
    GnssCycles,
    /// Photons and readout of a pixel.
    Pixel = 224,
    /// Fixed offset and response of a pixel.
    PixelPattern,
    /// Time of a pixel's ray within the exposure, and its position within the pixel.
    PixelTime,
    /// Whether a camera loses a frame.
    FrameLoss,
    /// Whether a pixel is stuck, and how.
    StuckPixel,
    /// Position and size of a spot on a lens.
    LensSpot,
}

/// The random numbers of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoiseSource {
    key: u64,
}

impl NoiseSource {
    /// Random numbers of the device `device_name` in a rig with the seed `seed`. The numbers depend on the device's
    /// name, so adding a device does not change the numbers of other devices.
    pub fn new(seed: u64, device_name: &str) -> Self {
        let key = device_name.bytes().fold(mix(seed, 0), |key, byte| mix(key, u64::from(byte)));
        Self { key }
    }

    /// The random numbers of one request.
    #[inline]
    pub fn request(&self, index: u64) -> RequestNoise {
        RequestNoise { key: mix(self.key, index) }
    }
}

/// The random numbers of one request.
#[derive(Clone, Copy, Debug)]
pub struct RequestNoise {
    key: u64,
}

impl RequestNoise {
    /// A random number with the standard normal distribution.
    #[inline]
    pub fn standard_normal(&self, firing: usize, quantity: Quantity) -> f64 {
        // Each random number has its own start of the counter. The distribution nearly always consumes one number, and
        // a few more in its tails.
        self.standard_normal_of(firing, quantity, 0)
    }

    /// Like [`RequestNoise::standard_normal`], for a quantity with several values per firing; `place` is the index of
    /// the value.
    #[inline]
    pub fn standard_normal_of(&self, firing: usize, quantity: Quantity, place: u32) -> f64 {
        let counter = (firing as u64) << 8 | quantity as u64 | u64::from(place) << 48;
        StandardNormal.sample(&mut Counter(mix(self.key, counter)))
    }

    /// A generator for as many random numbers as needed. If a request uses it, do not take random numbers from the
    /// other functions for the same request.
    #[inline]
    pub fn generator(&self) -> SplitMix64 {
        SplitMix64::from_seed(self.key.to_le_bytes())
    }

    /// A generator for as many random numbers as needed, for one quantity of one firing.
    #[inline]
    pub fn stream(&self, firing: usize, quantity: Quantity) -> SplitMix64 {
        let start = mix(self.key, (firing as u64) << 8 | quantity as u64);
        SplitMix64::from_seed(start.to_le_bytes())
    }

    /// A uniform random number in 0..1.
    #[inline]
    pub fn uniform(&self, firing: usize, quantity: Quantity) -> f64 {
        let draw = mix(self.key, (firing as u64) << 8 | quantity as u64);
        (draw >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Three uniform random numbers in 0..1, in steps of 2^-21.
    #[inline(always)]
    pub fn uniform_triple(&self, firing: usize, quantity: Quantity) -> [f64; 3] {
        let draw = mix(self.key, (firing as u64) << 8 | quantity as u64);
        let part =
            |shift: u32| f64::from((draw >> shift) as u32 & 0x1f_ffff) / f64::from(1u32 << 21);
        [part(43), part(22), part(1)]
    }

    /// An integer in `low..=high`, uniform to within 2^-56.
    #[inline]
    pub fn whole(&self, firing: usize, quantity: Quantity, low: u8, high: u8) -> u8 {
        let draw = mix(self.key, (firing as u64) << 8 | quantity as u64);
        let span = u128::from(high - low) + 1;
        low + ((u128::from(draw) * span) >> 64) as u8
    }
}

/// Hash of `key` and `value`: one step of SplitMix64 from a state that combines them.
#[inline(always)]
fn mix(key: u64, value: u64) -> u64 {
    Counter(key ^ value.wrapping_mul(0xd134_2543_de82_ef95)).step()
}

/// SplitMix64 from a given state. It replaces the generator of `rand_xoshiro`: the constructor of that generator is not
/// inlined, and a call of it takes as long as generating a number.
struct Counter(u64);

impl Counter {
    #[inline(always)]
    fn step(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

impl TryRng for Counter {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.step() >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.step())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.step().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_standard_normal() {
        let noise = NoiseSource::new(7, "roof-lidar");
        let n = 200_000usize;
        let draws: Vec<f64> = (0..n)
            .map(|i| noise.request((i / 384) as u64).standard_normal(i % 384, Quantity::FirstRange))
            .collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n as f64;
        let fourth = draws.iter().map(|d| (d - mean).powi(4)).sum::<f64>() / n as f64;
        // Four standard errors: 1/sqrt(n), sqrt(2/n), sqrt(96/n).
        assert!(mean.abs() < 0.009, "{mean}");
        assert!((variance - 1.0).abs() < 0.013, "{variance}");
        assert!((fourth - 3.0).abs() < 0.09, "{fourth}");
        let lag: f64 = draws.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / n as f64;
        assert!(lag.abs() < 0.009, "neighbours correlate: {lag}");
    }

    #[test]
    fn the_counter_is_splitmix64() {
        use rand::Rng;
        for state in [0, 1, 0x1234_5678_9abc_def0, u64::MAX] {
            let (mut ours, mut theirs) = (Counter(state), SplitMix64::seed_from_u64(state));
            for _ in 0..100 {
                assert_eq!(ours.step(), theirs.next_u64());
            }
        }
    }

    #[test]
    fn every_part_of_the_name_counts() {
        let draw = |seed, name: &str, request, firing, quantity| {
            NoiseSource::new(seed, name).request(request).standard_normal(firing, quantity)
        };
        let base = draw(1, "a", 2, 3, Quantity::FirstRange);
        assert_eq!(base, draw(1, "a", 2, 3, Quantity::FirstRange));
        for other in [
            draw(2, "a", 2, 3, Quantity::FirstRange),
            draw(1, "b", 2, 3, Quantity::FirstRange),
            draw(1, "a", 3, 3, Quantity::FirstRange),
            draw(1, "a", 2, 4, Quantity::FirstRange),
            draw(1, "a", 2, 3, Quantity::Azimuth),
        ] {
            assert_ne!(base, other);
        }
    }
}
