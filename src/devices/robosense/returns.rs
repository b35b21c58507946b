//! Encodes the echoes of a pulse as points.
//!
//! In a mode with one return, a pulse gives one point with the echo that the mode selects. In a mode with two returns,
//! a pulse gives two points. If the mode selects the same echo for both, the strongest other echo replaces it in the
//! second point. If there is no other echo, both points have the same echo.

use super::profile::{PacketProfile, Returns, TwoReturns};
use crate::sensors::{Echoes, Return};
use crate::spinning::returns::{Intensities, strongest_but};
use crate::wire::robosense::msop::Point;

/// Selects the echo of the first or second return of a pulse. `None`: the pulse has no echo, or `is_second` is set in a
/// mode with one return.
#[inline(always)]
pub fn selected(
    mode: Returns,
    order: TwoReturns,
    echoes: &Echoes,
    is_second: bool,
) -> Option<Return> {
    let echoes = echoes.as_slice();
    let last = echoes.len().checked_sub(1)?;
    let strongest = || strongest_but(echoes, None).unwrap_or(0);
    let other = |first: usize, second: usize| match first == second {
        true => strongest_but(echoes, Some(first)).unwrap_or(first),
        false => second,
    };
    // Whether this return is the first one in the mode's name.
    let is_named_first = is_second == (order == TwoReturns::LastFirst);
    let place = match mode {
        _ if is_second && !mode.is_dual() => return None,
        Returns::Strongest => strongest(),
        Returns::Last => last,
        Returns::First => 0,
        Returns::Dual | Returns::DualStrongestFirst if is_named_first => strongest(),
        Returns::DualFirstLast if is_named_first => 0,
        Returns::Dual => other(strongest(), last),
        Returns::DualStrongestFirst => other(strongest(), 0),
        Returns::DualFirstLast => other(0, last),
    };
    echoes.get(place).copied()
}

/// Encodes echoes as points.
#[derive(Clone, Copy, Debug)]
pub struct PointMaker {
    counts_per_m: f32,
    beyond: f32,
    intensities: Intensities,
}

impl PointMaker {
    /// Encoder for the packets of a profile.
    pub fn new(packet: &PacketProfile) -> Self {
        Self {
            counts_per_m: packet.layout.distance_unit_m().recip() as f32,
            beyond: f32::from(packet.layout.max_distance()) + 1.0,
            intensities: Intensities::new(packet.diffuse_full_scale, packet.retro_full_gain),
        }
    }

    /// Encodes an echo as a point. The distance is 0 without an echo, or if the packet format cannot represent the
    /// range.
    #[inline]
    pub fn point(&self, echo: Option<Return>) -> Point {
        let Some(echo) = echo else { return Point::default() };
        // Rounds by adding a half, because `f32::round` is a function call without SSE4.1.
        let counts = echo.range_m * self.counts_per_m + 0.5;
        if !(1.0..self.beyond).contains(&counts) {
            return Point::default();
        }
        Point { distance: counts as u16, intensity: self.intensities.of(echo.intensity) }
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
        [false, true]
            .map(|is_second| selected(mode, order, &echoes, is_second).map(|echo| echo.range_m))
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
