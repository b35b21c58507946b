//! What points say of the echoes of a pulse.
//!
//! With one return, the echo that the mode names. With two, the two that the mode names; if they are the same echo, the
//! strongest of the others in the second's place; if there is no other, the same twice.

use super::profile::{PacketProfile, Returns, TwoReturns};
use crate::sensors::{Echoes, Return};
use crate::wire::robosense::msop::Point;

/// The first and the second return of a pulse; of modes with one return the first.
#[inline]
pub fn selected(mode: Returns, order: TwoReturns, echoes: &Echoes) -> [Option<Return>; 2] {
    let echoes = echoes.as_slice();
    let Some(last) = echoes.len().checked_sub(1) else { return [None; 2] };
    let strongest = || strongest_but(echoes, None).unwrap_or(0);
    let one = |place: usize| [Some(echoes[place]), None];
    let (first, second) = match mode {
        Returns::Strongest => return one(strongest()),
        Returns::Last => return one(last),
        Returns::First => return one(0),
        Returns::Dual => (strongest(), last),
        Returns::DualStrongestFirst => (strongest(), 0),
        Returns::DualFirstLast => (0, last),
    };
    let second = match first == second {
        true => strongest_but(echoes, Some(first)).unwrap_or(first),
        false => second,
    };
    let pair = [Some(echoes[first]), Some(echoes[second])];
    match order {
        TwoReturns::StrongestFirst => pair,
        TwoReturns::LastFirst => [pair[1], pair[0]],
    }
}

/// The place of the strongest echo except that at `but`; of equals the nearest.
fn strongest_but(echoes: &[Return], but: Option<usize>) -> Option<usize> {
    let mut best: Option<usize> = None;
    for place in (0..echoes.len()).filter(|place| Some(*place) != but) {
        if best.is_none_or(|best| echoes[place].signal > echoes[best].signal) {
            best = Some(place);
        }
    }
    best
}

/// Makes points of echoes.
#[derive(Clone, Copy, Debug)]
pub struct PointMaker {
    counts_per_m: f32,
    beyond: f32,
    full_scale: f32,
    /// Intensities for a factor of e in reflectance.
    retro_scale: f32,
}

impl PointMaker {
    /// For the packets of a profile.
    pub fn new(packet: &PacketProfile) -> Self {
        let full_scale = f64::from(packet.diffuse_full_scale);
        let retro_scale = (255.0 - full_scale) / libm::log(packet.retro_full_gain);
        Self {
            counts_per_m: packet.layout.distance_unit_m().recip() as f32,
            beyond: f32::from(packet.layout.max_distance()) + 1.0,
            full_scale: full_scale as f32,
            retro_scale: retro_scale as f32,
        }
    }

    /// The point of an echo.
    #[inline]
    pub fn point(&self, echo: Option<Return>) -> Point {
        let Some(echo) = echo else { return Point::default() };
        // A half more and cut off: without SSE4.1 `f32::round` is a call.
        let counts = echo.range_m * self.counts_per_m + 0.5;
        if !(1.0..self.beyond).contains(&counts) {
            return Point::default();
        }
        let reflectance = echo.intensity;
        let intensity = if reflectance <= 1.0 {
            reflectance * self.full_scale
        } else {
            self.full_scale + libm::logf(reflectance) * self.retro_scale
        };
        // A cast ends at 0 and 255.
        Point { distance: counts as u16, intensity: (intensity + 0.5) as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::robosense::layout::Layout;

    fn ranges(mode: Returns, order: TwoReturns, all: &[(f32, f32)]) -> [Option<f32>; 2] {
        let mut echoes = Echoes::default();
        for (range_m, signal) in all {
            echoes.push(Return { range_m: *range_m, intensity: 0.5, signal: *signal });
        }
        selected(mode, order, &echoes).map(|echo| echo.map(|echo| echo.range_m))
    }

    #[test]
    fn modes_name_echoes() {
        let seen = [(5.0, 1.0), (8.0, 3.0), (9.0, 2.0)];
        let of = |mode| ranges(mode, TwoReturns::StrongestFirst, &seen);
        assert_eq!(of(Returns::Strongest), [Some(8.0), None]);
        assert_eq!(of(Returns::Last), [Some(9.0), None]);
        assert_eq!(of(Returns::First), [Some(5.0), None]);
        assert_eq!(of(Returns::Dual), [Some(8.0), Some(9.0)]);
        assert_eq!(of(Returns::DualStrongestFirst), [Some(8.0), Some(5.0)]);
        assert_eq!(of(Returns::DualFirstLast), [Some(5.0), Some(9.0)]);
        let turned = ranges(Returns::Dual, TwoReturns::LastFirst, &seen);
        assert_eq!(turned, [Some(9.0), Some(8.0)]);
        let same = [(5.0, 1.0), (8.0, 3.0)];
        let one = ranges(Returns::Dual, TwoReturns::StrongestFirst, &same);
        assert_eq!(one, [Some(8.0), Some(5.0)], "the strongest is the last");
        let single = ranges(Returns::Dual, TwoReturns::StrongestFirst, &same[..1]);
        assert_eq!((single, of(Returns::Dual)[1]), ([Some(5.0); 2], Some(9.0)));
        assert_eq!(ranges(Returns::Dual, TwoReturns::LastFirst, &[]), [None; 2]);
    }

    #[test]
    fn points_have_units_and_ends() {
        let packet = |layout| PacketProfile {
            layout,
            diffuse_full_scale: 100,
            retro_full_gain: 2000.0,
            ..PacketProfile::default()
        };
        let point = |layout, range_m, intensity| {
            let echo = Return { range_m, intensity, signal: 1.0 };
            let Point { distance, intensity } = PointMaker::new(&packet(layout)).point(Some(echo));
            (distance, intensity)
        };
        assert_eq!(point(Layout::Rs16, 10.0, 0.5), (2000, 50));
        assert_eq!(point(Layout::Helios, 10.0, 1.0), (4000, 100));
        assert_eq!(point(Layout::Airy, 81.0, 2000.0), (16_200, 255));
        assert_eq!(point(Layout::Airy, 82.0, 1.0), (0, 0), "14 bits");
    }
}
