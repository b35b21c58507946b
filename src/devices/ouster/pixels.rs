//! What a pixel says of the echoes of a pulse.
//!
//! The models are simple and stated in `docs/OUSTER.md`: the signal is in proportion to what the receiver
//! gets, near infrared to the reflectance of what is met, and reflectivity is linear up to a white diffuse
//! target and logarithmic above it. None of them has shot noise.

use super::profile::Photons;
use super::words::ReturnOrder;
use crate::sensors::{Echoes, Return};
use crate::wire::ouster::format::LidarFormat;
use crate::wire::ouster::lidar::{Pixel, PixelReturn};

/// Reflectivity of a white diffuse target; retro-reflectors are above it.
const DIFFUSE_FULL_SCALE: f32 = 100.0;

/// Makes pixels of echoes.
#[derive(Clone, Copy, Debug)]
pub struct PixelMaker {
    signal_at_1m: f32,
    white: f32,
    sky: u16,
    /// Reflectivities for a factor of e in reflectance.
    retro_scale: f32,
    beam_origin_m: f32,
    max_range_mm: u32,
    range_step_mm: u32,
    steps_per_m: f32,
    returns: usize,
    order: ReturnOrder,
}

impl PixelMaker {
    /// For packets of a format; `signal_multiplier` times as many photons are counted.
    pub fn new(
        photons: &Photons,
        beam_origin_m: f64,
        format: LidarFormat,
        range_step_mm: u32,
        order: ReturnOrder,
        signal_multiplier: f32,
    ) -> Self {
        let full_gain = libm::log(photons.retro_full_gain);
        Self {
            signal_at_1m: photons.signal_at_1m as f32 * signal_multiplier,
            white: photons.white_near_infrared as f32,
            sky: photons.sky_near_infrared.round() as u16,
            retro_scale: ((255.0 - f64::from(DIFFUSE_FULL_SCALE)) / full_gain) as f32,
            beam_origin_m: beam_origin_m as f32,
            max_range_mm: format.max_range_mm(),
            range_step_mm,
            steps_per_m: 1000.0 / range_step_mm as f32,
            returns: format.returns(),
            order,
        }
    }

    /// The pixel for these echoes, nearest first.
    #[inline]
    pub fn pixel(&self, echoes: &Echoes) -> Pixel {
        let echoes = echoes.as_slice();
        let returns = match (echoes, self.returns) {
            ([], _) => {
                let returns = [PixelReturn::default(); 2];
                return Pixel { returns, near_infrared: self.sky };
            }
            ([only], _) => [self.one(only), PixelReturn::default()],
            (several, 1) => [self.one(&self.best(several)), PixelReturn::default()],
            (several, _) => self.two(several).map(|echo| self.one(&echo)),
        };
        let seen: f32 = echoes.iter().map(|echo| echo.intensity).sum();
        // A cast ends at the greatest number.
        Pixel { returns, near_infrared: (self.white * seen.min(1.0) + 0.5) as u16 }
    }

    /// Whichever echo comes first of two.
    fn is_before(&self, a: &Return, b: &Return) -> bool {
        match self.order {
            ReturnOrder::StrongestToWeakest => a.signal >= b.signal,
            ReturnOrder::FarthestToNearest => a.range_m >= b.range_m,
            ReturnOrder::NearestToFarthest => a.range_m <= b.range_m,
        }
    }

    fn best(&self, echoes: &[Return]) -> Return {
        let first = echoes[0];
        echoes
            .iter()
            .fold(first, |best, echo| if self.is_before(&best, echo) { best } else { *echo })
    }

    /// The two strongest echoes, in their order.
    fn two(&self, echoes: &[Return]) -> [Return; 2] {
        let [mut first, mut second] = [echoes[0], echoes[1]];
        if second.signal > first.signal {
            (first, second) = (second, first);
        }
        for echo in &echoes[2..] {
            if echo.signal > first.signal {
                (first, second) = (*echo, first);
            } else if echo.signal > second.signal {
                second = *echo;
            }
        }
        if self.is_before(&first, &second) { [first, second] } else { [second, first] }
    }

    #[inline]
    fn one(&self, echo: &Return) -> PixelReturn {
        // A half more and cut off: without SSE4.1 `f32::round` is a call.
        let steps = ((echo.range_m + self.beam_origin_m) * self.steps_per_m + 0.5) as u32;
        let range_mm = steps.saturating_mul(self.range_step_mm);
        if range_mm == 0 || range_mm > self.max_range_mm {
            return PixelReturn::default();
        }
        PixelReturn {
            range_mm,
            reflectivity: self.reflectivity(echo.intensity),
            signal: (echo.signal * self.signal_at_1m + 0.5) as u16,
        }
    }

    #[inline]
    fn reflectivity(&self, reflectance: f32) -> u8 {
        let counts = if reflectance <= 1.0 {
            reflectance * DIFFUSE_FULL_SCALE
        } else {
            DIFFUSE_FULL_SCALE + libm::logf(reflectance) * self.retro_scale
        };
        (counts + 0.5) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHOTONS: Photons = Photons {
        signal_at_1m: 20_000.0,
        white_near_infrared: 1000.0,
        sky_near_infrared: 40.0,
        retro_full_gain: 2000.0,
    };

    fn echoes(all: &[(f32, f32)]) -> Echoes {
        let mut echoes = Echoes::default();
        for (range_m, signal) in all {
            let intensity = signal * range_m * range_m;
            echoes.push(Return { range_m: *range_m, intensity, signal: *signal });
        }
        echoes
    }

    fn ranges(format: LidarFormat, order: ReturnOrder, seen: &Echoes) -> [u32; 2] {
        let maker = PixelMaker::new(&PHOTONS, 0.016, format, 1, order, 1.0);
        maker.pixel(seen).returns.map(|one| one.range_mm)
    }

    #[test]
    fn the_two_strongest_stand_in_their_order() {
        use ReturnOrder::{FarthestToNearest, NearestToFarthest, StrongestToWeakest};
        let seen = echoes(&[(1.0, 0.2), (2.0, 0.1), (3.0, 0.4), (4.0, 0.3)]);
        let dual = |order| ranges(LidarFormat::Dual, order, &seen);
        assert_eq!(dual(StrongestToWeakest), [3016, 4016]);
        assert_eq!(dual(FarthestToNearest), [4016, 3016]);
        assert_eq!(dual(NearestToFarthest), [3016, 4016]);
        let single = |order| ranges(LidarFormat::Single, order, &seen)[0];
        assert_eq!(single(StrongestToWeakest), 3016);
        assert_eq!(single(FarthestToNearest), 4016);
        assert_eq!(single(NearestToFarthest), 1016);
    }

    #[test]
    fn ranges_are_multiples_of_the_step() {
        let maker =
            PixelMaker::new(&PHOTONS, 0.0, LidarFormat::Legacy, 3, ReturnOrder::default(), 1.0);
        let range_mm = |range_m| maker.pixel(&echoes(&[(range_m, 0.1)])).returns[0].range_mm;
        assert_eq!([2.999, 3.001, 3.002].map(range_mm), [3000, 3000, 3003]);
    }

    #[test]
    fn light_becomes_counts() {
        let order = ReturnOrder::default();
        let maker = PixelMaker::new(&PHOTONS, 0.0, LidarFormat::Single, 1, order, 2.0);
        let pixel = maker.pixel(&echoes(&[(2.0, 0.1)]));
        let first = PixelReturn { range_mm: 2000, reflectivity: 40, signal: 4000 };
        assert_eq!((pixel.returns[0], pixel.near_infrared), (first, 400));
        let empty = maker.pixel(&Echoes::default());
        assert_eq!((empty.returns[0], empty.near_infrared), (PixelReturn::default(), 40));
        let bright = maker.pixel(&echoes(&[(1.0, 2000.0)]));
        let first = PixelReturn { range_mm: 1000, reflectivity: 255, signal: u16::MAX };
        assert_eq!((bright.returns[0], bright.near_infrared), (first, 1000));
        let far = ranges(LidarFormat::Low, order, &echoes(&[(300.0, 0.1)]));
        assert_eq!(far, [0, 0], "15 bits of 8 mm");
    }
}
