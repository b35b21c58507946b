//! Selects the echoes of a pulse for the blocks of its firing, and encodes them as points.
//!
//! With one return, a block has the echo of the return mode. With two returns, a pair of blocks has both echoes of the
//! mode. If both are the same echo, the strongest other echo replaces the second. If there is no other echo, the same
//! echo is sent twice, as in captures. A setting determines the order in a pair, because it differs between real units.

use super::profile::{DualOrder, PacketProfile};
use crate::sensors::{Echoes, Return};
use crate::spinning::returns::{Intensities, strongest_but};
use crate::wire::hesai::data::{Point, ReturnMode};
use crate::wire::hesai::format::DISTANCE_UNIT_M;

/// Selects the echoes for the one or two blocks of a firing. `None`: the block has no echo, or the mode has one return
/// and so no second block.
pub fn selected(mode: ReturnMode, order: DualOrder, echoes: &Echoes) -> [Option<Return>; 2] {
    let echoes = echoes.as_slice();
    let Some(last) = echoes.len().checked_sub(1) else { return [None; 2] };
    let strongest = || strongest_but(echoes, None).unwrap_or(0);
    let of = |index: usize| [echoes.get(index).copied(), None];
    let (first, second) = match mode {
        ReturnMode::First => return of(0),
        ReturnMode::Second => return of(1),
        ReturnMode::Strongest => return of(strongest()),
        ReturnMode::Last => return of(last),
        ReturnMode::LastStrongest => (last, strongest()),
        ReturnMode::FirstSecond => (0, 1.min(last)),
        ReturnMode::LastFirst => (last, 0),
        ReturnMode::FirstStrongest => (0, strongest()),
        ReturnMode::StrongestSecond => (strongest(), 1.min(last)),
    };
    let second = match first == second {
        true => strongest_but(echoes, Some(first)).unwrap_or(first),
        false => second,
    };
    // Echoes are in order of range.
    let (near, far) = (first.min(second), first.max(second));
    let (first, second) = match order {
        DualOrder::FartherFirst => (far, near),
        DualOrder::NearerFirst => (near, far),
    };
    [echoes.get(first).copied(), echoes.get(second).copied()]
}

/// Encodes echoes as points.
#[derive(Clone, Copy, Debug)]
pub struct PointMaker {
    counts_per_m: f32,
    reflectivities: Intensities,
    confidence: u8,
}

impl PointMaker {
    /// Encoder for the packets of a profile.
    pub fn new(packet: &PacketProfile) -> Self {
        Self {
            counts_per_m: DISTANCE_UNIT_M.recip() as f32,
            reflectivities: Intensities::new(packet.diffuse_full_scale, packet.retro_full_gain),
            confidence: packet.confidence,
        }
    }

    /// Encodes an echo as a point. The distance is 0 without an echo, or if the packet format cannot represent the
    /// range.
    #[inline]
    pub fn point(&self, echo: Option<Return>) -> Point {
        let none = Point { confidence: self.confidence, ..Point::default() };
        let Some(echo) = echo else { return none };
        // Rounds by adding a half, because `f32::round` is a function call without SSE4.1.
        let counts = echo.range_m * self.counts_per_m + 0.5;
        if !(1.0..65_536.0).contains(&counts) {
            return none;
        }
        let reflectivity = self.reflectivities.of(echo.intensity);
        Point { distance: counts as u16, reflectivity, ..none }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echoes(all: &[(f32, f32)]) -> Echoes {
        let mut echoes = Echoes::default();
        for (range_m, signal) in all {
            let intensity = signal * range_m * range_m;
            echoes.push(Return { range_m: *range_m, intensity, signal: *signal });
        }
        echoes
    }

    fn ranges(mode: ReturnMode, order: DualOrder, seen: &Echoes) -> [Option<f32>; 2] {
        selected(mode, order, seen).map(|echo| echo.map(|echo| echo.range_m))
    }

    #[test]
    fn modes_choose_their_echoes() {
        use ReturnMode::{
            First, FirstSecond, FirstStrongest, Last, LastFirst, LastStrongest, Second, Strongest,
            StrongestSecond,
        };
        let seen = echoes(&[(1.0, 0.2), (2.0, 0.1), (3.0, 0.4), (4.0, 0.3)]);
        let single = |mode| ranges(mode, DualOrder::FartherFirst, &seen)[0];
        let singles = [First, Second, Strongest, Last].map(single);
        assert_eq!(singles, [Some(1.0), Some(2.0), Some(3.0), Some(4.0)]);
        let dual = |mode| ranges(mode, DualOrder::FartherFirst, &seen).map(Option::unwrap);
        assert_eq!(dual(LastStrongest), [4.0, 3.0]);
        assert_eq!(dual(FirstSecond), [2.0, 1.0]);
        assert_eq!(dual(LastFirst), [4.0, 1.0]);
        assert_eq!(dual(FirstStrongest), [3.0, 1.0]);
        assert_eq!(dual(StrongestSecond), [3.0, 2.0]);
        let near = ranges(LastStrongest, DualOrder::NearerFirst, &seen);
        assert_eq!(near, [Some(3.0), Some(4.0)]);
    }

    #[test]
    fn an_echo_that_is_both_makes_room_for_the_next_or_is_told_twice() {
        let order = DualOrder::FartherFirst;
        let strong_last = echoes(&[(1.0, 0.2), (2.0, 0.1), (3.0, 0.4)]);
        let both = ranges(ReturnMode::LastStrongest, order, &strong_last);
        assert_eq!(both, [Some(3.0), Some(1.0)]);
        let strong_first = echoes(&[(1.0, 0.4), (2.0, 0.1), (3.0, 0.2)]);
        let both = ranges(ReturnMode::FirstStrongest, order, &strong_first);
        assert_eq!(both, [Some(3.0), Some(1.0)]);
        let only = echoes(&[(5.0, 0.1)]);
        for (_, mode) in ReturnMode::NAMES.iter().filter(|(_, mode)| mode.is_dual()) {
            assert_eq!(ranges(*mode, order, &only), [Some(5.0); 2], "{mode:?}");
        }
        assert_eq!(ranges(ReturnMode::Second, order, &only), [None, None]);
        assert_eq!(ranges(ReturnMode::LastFirst, order, &Echoes::default()), [None, None]);
    }

    #[test]
    fn distances_are_rounded_and_reflectivity_is_per_cent() {
        let profile = PacketProfile {
            diffuse_full_scale: 100,
            retro_full_gain: 2000.0,
            confidence: 0xff,
            ..PacketProfile::default()
        };
        let maker = PointMaker::new(&profile);
        let point =
            |range_m, intensity| maker.point(Some(Return { range_m, intensity, signal: 0.0 }));
        assert_eq!(point(4.0021, 0.5), Point { distance: 1001, reflectivity: 50, confidence: 255 });
        assert_eq!(point(4.0019, 2000.0).distance, 1000);
        assert_eq!(point(4.0, 2000.0).reflectivity, 255);
        let none = Point { distance: 0, reflectivity: 0, confidence: 255 };
        assert_eq!([point(262.2, 1.0), point(0.001, 1.0), maker.point(None)], [none; 3]);
    }
}
