//! From a pulse's rays to a receiver's returns.
//!
//! Stencils and the intensity law are those of Goodin et al. 2018, "Unmanned Ground Vehicle
//! Simulation with the Virtual Autonomous Navigation Environment" and its lidar companion
//! (Electronics 7(9) 154): nine rays a pulse, `a = tan(divergence / 2) / sqrt(2)` at 1 m, and
//! `I = rho cos(theta)` for each ray.

use std::f64::consts::FRAC_1_SQRT_2;

use super::{Echoes, PulseReturns, Return};
use crate::config::profile::lidar::{BeamSettings, BeamShape};
use crate::world::raycast::{Hit, MAX_RAYS, Stencil};

/// Which of a pulse's echoes a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoSelection {
    /// The echo with the least range.
    First,
    /// The echo with the most energy; the nearest of several equal ones.
    Strongest,
    /// The echo with the greatest range.
    Last,
    /// The strongest echo as first return, the last as second.
    StrongestAndLast,
    /// The last echo as second return. The first return is the strongest echo, or the second
    /// strongest if the last is the strongest and there is another.
    OtherAndLast,
}

impl EchoSelection {
    /// Whether two echoes are reported.
    fn is_dual(self) -> bool {
        matches!(self, Self::StrongestAndLast | Self::OtherAndLast)
    }
}

/// The stencil of a spot shape, in half-axes.
pub fn stencil(shape: BeamShape) -> Stencil {
    const CENTRE: [f32; 2] = [0.0, 0.0];
    const ON_AXES: [[f32; 2]; 4] = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
    let corners = |a: f32| [[a, a], [a, -a], [-a, a], [-a, -a]];
    let mut offsets = vec![CENTRE];
    match shape {
        BeamShape::Ray => {}
        BeamShape::Rectangular => {
            offsets.extend(corners(1.0));
            offsets.extend(ON_AXES);
        }
        BeamShape::Circular | BeamShape::Elliptical => {
            offsets.extend(ON_AXES);
            offsets.extend(corners(0.5));
        }
    }
    Stencil::new(offsets).expect("nine finite rays")
}

/// The spot's half-axes at 1 m, across (horizontal) and along (vertical), metres. A circular spot
/// takes the horizontal divergence for both.
pub fn half_axes_m(beam: &BeamSettings) -> [f64; 2] {
    let half_axis = |divergence: f64| libm::tan(divergence / 2.0) * FRAC_1_SQRT_2;
    let horizontal = half_axis(beam.divergence_horizontal_rad);
    match beam.shape {
        BeamShape::Ray => [0.0, 0.0],
        BeamShape::Circular => [horizontal, horizontal],
        BeamShape::Elliptical | BeamShape::Rectangular => {
            [horizontal, half_axis(beam.divergence_vertical_rad)]
        }
    }
}

/// Forms a pulse's echoes and picks those that `selection` reports.
///
/// Hits are grouped from near to far. Every hit within the signal cutoff behind an echo's nearest
/// hit belongs to that echo. The echo's range is the mean of its hits' ranges; its intensity is
/// the sum of their `rho cos(theta)` divided by the number of rays in the stencil. Echoes below
/// the detection threshold or outside the range limits are not reported, but their surfaces
/// still block the light behind them.
///
/// `light` is the share of the light that passes the window out and back, 1 if it is clean;
/// intensities are multiplied by it. The detection threshold holds for an echo from the greatest
/// range. Nearer echoes arrive stronger by the inverse square of the distance, so a dirty window
/// hides them later.
pub fn returns(
    hits: &[Hit],
    beam: &BeamSettings,
    light: f32,
    selection: EchoSelection,
) -> PulseReturns {
    let cutoff = beam.signal_cutoff_m as f32;
    let (mut nearest, mut farthest, mut found) = (f32::INFINITY, 0.0f32, 0usize);
    for hit in hits {
        if hit.range_m != f32::INFINITY {
            nearest = nearest.min(hit.range_m);
            farthest = farthest.max(hit.range_m);
            found += 1;
        }
    }
    if found == 0 {
        return PulseReturns::default();
    }
    if farthest - nearest > cutoff {
        return several_echoes(hits, beam, light, selection);
    }
    // Most pulses meet one surface: no need to sort.
    let (mut behind, mut energy) = (0.0f32, 0.0f32);
    for hit in hits {
        if hit.range_m != f32::INFINITY {
            behind += hit.range_m - nearest;
            energy += hit.reflectance * hit.cos_incidence;
        }
    }
    let echo = Return {
        range_m: nearest + behind / found as f32,
        intensity: light * energy / hits.len() as f32,
    };
    let seen = is_seen(&echo, beam, light).then_some(echo);
    PulseReturns { first: seen, second: if selection.is_dual() { seen } else { None } }
}

/// Whether the receiver detects an echo through a window that passes `light`.
fn is_seen(echo: &Return, beam: &BeamSettings, light: f32) -> bool {
    let share_of_range = f64::from(echo.range_m) / beam.max_range_m;
    let least = f64::from(light).max((share_of_range * share_of_range).min(1.0));
    light > 0.0
        && f64::from(echo.intensity) >= beam.detection_threshold * least
        && f64::from(echo.range_m) >= beam.min_range_m
        && f64::from(echo.range_m) <= beam.max_range_m
}

/// All echoes that are detected, nearest first; formed as in [`returns`].
pub fn echoes(hits: &[Hit], beam: &BeamSettings, light: f32) -> Echoes {
    let mut all = Echoes::default();
    each_echo(hits, beam, light, |echo| all.push(echo));
    all
}

/// [`returns`] for hits that may form more than one echo.
fn several_echoes(
    hits: &[Hit],
    beam: &BeamSettings,
    light: f32,
    selection: EchoSelection,
) -> PulseReturns {
    let mut nearest = None;
    let mut strongest: Option<Return> = None;
    let mut runner_up: Option<Return> = None;
    let mut last = None;
    each_echo(hits, beam, light, |echo| {
        nearest = nearest.or(Some(echo));
        if strongest.is_none_or(|s| echo.intensity > s.intensity) {
            runner_up = strongest;
            strongest = Some(echo);
        } else if runner_up.is_none_or(|s| echo.intensity > s.intensity) {
            runner_up = Some(echo);
        }
        last = Some(echo);
    });
    let (first, second) = match selection {
        EchoSelection::First => (nearest, None),
        EchoSelection::Strongest => (strongest, None),
        EchoSelection::Last => (last, None),
        EchoSelection::StrongestAndLast => (strongest, last),
        EchoSelection::OtherAndLast if strongest == last => (runner_up.or(strongest), last),
        EchoSelection::OtherAndLast => (strongest, last),
    };
    PulseReturns { first, second }
}

/// Forms echoes from near to far and calls `seen` with those that are detected.
fn each_echo(hits: &[Hit], beam: &BeamSettings, light: f32, mut seen: impl FnMut(Return)) {
    let mut order = [(0.0f32, 0.0f32); MAX_RAYS];
    let mut used = 0;
    for hit in hits {
        if hit.range_m == f32::INFINITY {
            continue;
        }
        let entry = (hit.range_m, hit.reflectance * hit.cos_incidence);
        let mut place = used;
        while place > 0 && order[place - 1].0 > entry.0 {
            order[place] = order[place - 1];
            place -= 1;
        }
        order[place] = entry;
        used += 1;
    }
    let cutoff = beam.signal_cutoff_m as f32;
    let rays = hits.len() as f32;
    let mut start = 0;
    while start < used {
        let behind = order[start..used].iter().take_while(|e| e.0 - order[start].0 <= cutoff);
        let (count, ranges, energy) = behind.fold((0usize, 0.0f32, 0.0f32), |sum, entry| {
            (sum.0 + 1, sum.1 + (entry.0 - order[start].0), sum.2 + entry.1)
        });
        let echo = Return {
            range_m: order[start].0 + ranges / count as f32,
            intensity: light * energy / rays,
        };
        start += count;
        if is_seen(&echo, beam, light) {
            seen(echo);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> BeamSettings {
        BeamSettings {
            shape: BeamShape::Rectangular,
            divergence_horizontal_rad: 2e-3,
            divergence_vertical_rad: 1e-3,
            signal_cutoff_m: 1.0,
            min_range_m: 0.9,
            max_range_m: 100.0,
            detection_threshold: 0.0,
        }
    }

    fn hit(range_m: f32, reflectance: f32) -> Hit {
        Hit { range_m, reflectance, cos_incidence: 0.5, ..Hit::MISS }
    }

    #[test]
    fn stencils_have_the_papers_rays() {
        assert_eq!(stencil(BeamShape::Ray).len(), 1);
        for shape in [BeamShape::Rectangular, BeamShape::Circular, BeamShape::Elliptical] {
            let stencil = stencil(shape);
            assert_eq!(stencil.len(), 9);
            let sum = stencil.offsets().iter().fold([0.0, 0.0], |s, o| [s[0] + o[0], s[1] + o[1]]);
            assert_eq!(sum, [0.0, 0.0]);
        }
    }

    #[test]
    fn half_axes_follow_the_divergence() {
        let [h, v] = half_axes_m(&settings());
        assert!((h - 0.707_107e-3).abs() < 1e-8 && (v - 0.353_553e-3).abs() < 1e-8);
        let circular = BeamSettings { shape: BeamShape::Circular, ..settings() };
        assert_eq!(half_axes_m(&circular), [h, h]);
    }

    #[test]
    fn hits_within_the_cutoff_are_one_echo() {
        let hits = [hit(10.0, 0.4), hit(10.8, 0.4), Hit::MISS, hit(20.0, 0.8)];
        let dual = returns(&hits, &settings(), 1.0, EchoSelection::StrongestAndLast);
        let (strongest, last) = (dual.first.unwrap(), dual.second.unwrap());
        // Two rays of 0.4 and one of 0.8, all at cos 0.5, are equally bright: the nearer wins.
        assert!((strongest.range_m - 10.4).abs() < 1e-5);
        assert!((strongest.intensity - 0.1).abs() < 1e-6);
        assert!((last.range_m - 20.0).abs() < 1e-5 && (last.intensity - 0.1).abs() < 1e-6);
    }

    #[test]
    fn strongest_counts_the_energy_of_the_whole_echo() {
        let hits = [hit(5.0, 0.9), hit(9.0, 0.4), hit(9.1, 0.4), hit(9.2, 0.4)];
        let one = |selection| returns(&hits, &settings(), 1.0, selection).first.unwrap().range_m;
        assert!((one(EchoSelection::First) - 5.0).abs() < 1e-5);
        assert!((one(EchoSelection::Strongest) - 9.1).abs() < 1e-5);
        assert!((one(EchoSelection::Last) - 9.1).abs() < 1e-5);
    }

    #[test]
    fn a_dirty_window_dims_and_loses_what_is_far() {
        let beam = BeamSettings { detection_threshold: 0.01, ..settings() };
        let seen = |range_m, light| {
            returns(&[hit(range_m, 0.08)], &beam, light, EchoSelection::Strongest).first
        };
        // 0.08 at cos 0.5 is 0.04, four times the threshold.
        assert_eq!(seen(90.0, 1.0).unwrap().intensity, 0.04);
        // A tenth of the light is 0.004: enough up to sqrt(0.4) of 100 m.
        let dim = seen(63.0, 0.1).unwrap();
        assert!((dim.intensity - 0.004).abs() < 1e-7 && dim.range_m == 63.0);
        assert_eq!(seen(63.5, 0.1), None);
        assert_eq!(seen(2.0, 0.0), None, "nothing comes through");
        // What a clean window loses is not found by a dirty one.
        let faint = [hit(2.0, 0.019)];
        assert_eq!(returns(&faint, &beam, 1.0, EchoSelection::Strongest).first, None);
        assert_eq!(returns(&faint, &beam, 0.5, EchoSelection::Strongest).first, None);
    }

    #[test]
    fn of_several_echoes_the_farther_is_lost_first() {
        let beam = BeamSettings { detection_threshold: 0.01, ..settings() };
        let hits = [hit(10.0, 0.1), hit(90.0, 0.1)];
        let dual = |light| returns(&hits, &beam, light, EchoSelection::StrongestAndLast);
        let range = |echo: Option<Return>| echo.map(|echo| echo.range_m);
        assert_eq!(range(dual(1.0).second), Some(90.0));
        assert_eq!(range(dual(0.2).second), Some(10.0), "the last that is seen is another");
        assert_eq!(echoes(&hits, &beam, 0.2).as_slice().len(), 1);
    }

    #[test]
    fn what_cannot_be_seen_is_left_out() {
        let hits = [hit(0.5, 0.9), hit(50.0, 0.02), hit(150.0, 0.9)];
        let dim = BeamSettings { detection_threshold: 0.01, ..settings() };
        assert_eq!(
            returns(&hits, &dim, 1.0, EchoSelection::StrongestAndLast),
            PulseReturns::default()
        );
        let seen = returns(&hits, &settings(), 1.0, EchoSelection::StrongestAndLast);
        assert_eq!(seen.first, seen.second);
        assert_eq!(seen.first.unwrap().range_m, 50.0);
    }
}
