//! Rays of a pulse: positions in the beam footprint, and shares of its energy.
//!
//! Offsets are in units of `t = tan(divergence / 2)` at 1 m. Goodin et al. 2018 (Electronics 7(9), 154), section 3.2.1,
//! give a centre and eight points on a circle with the radius `sqrt(2) t / 4`. The source code of their simulator MAVS
//! casts a centre, a cross with arms of `0.7 t` and a diagonal cross of half its width. A uniformly lit disc has a mean
//! square offset of `t² / 4` along each axis, and a uniformly lit rectangle one of `t² / 3`. The points and shares of
//! `even` have exactly these mean squares.

use std::f64::consts::{FRAC_PI_8, SQRT_2, TAU};

use crate::config::profile::lidar::{BeamSettings, BeamShape, SpotRule};
use crate::world::raycast::Stencil;

/// The rays of a pulse.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// Offsets of the rays in units of the half-axes.
    pub stencil: Stencil,
    /// Share of the pulse's energy in each ray. The shares sum to 1.
    pub weights: Vec<f32>,
}

impl Spot {
    /// Footprint of `beam` with `rays` rays (1, 5, 9 or 16), or with the beam's own number if that is smaller. The
    /// shape [`BeamShape::Ray`] always has one ray. Rules other than [`SpotRule::Even`] have nine rays, or one.
    pub fn new(beam: &BeamSettings, rays: u8) -> Self {
        let rays = rays.min(beam.rays);
        if beam.shape == BeamShape::Ray || rays == 1 {
            return Self::of(vec![([0.0, 0.0], 1.0)]);
        }
        let is_rectangle = beam.shape == BeamShape::Rectangular;
        Self::of(match (beam.spot, rays) {
            (SpotRule::Mavs, _) if is_rectangle => grid([0.7, 1.0, 1.0]),
            (SpotRule::Mavs, _) => crosses(0.7, [1.0; 3]),
            (SpotRule::Printed, _) => {
                ring(8, SQRT_2 / 4.0, 0.0).chain([([0.0, 0.0], 1.0)]).collect()
            }
            // Gauss-Legendre points, three and four per side; Abramowitz & Stegun 25.4.30.
            (SpotRule::Even, 16) if is_rectangle => {
                let (near, far) = ((0.339_981_04, 0.652_145_15), (0.861_136_3, 0.347_854_85));
                let side = [(-far.0, far.1), (-near.0, near.1), near, far];
                let all = side.into_iter().flat_map(|(x, a)| side.map(|(y, b)| ([x, y], a * b)));
                all.collect()
            }
            (SpotRule::Even, 9) if is_rectangle => grid([0.774_596_7, 1.6, 0.625]),
            // A centre and a cross. The length of the arms gives the mean square offset of the uniformly lit footprint.
            (SpotRule::Even, 5) => {
                let square = if is_rectangle { 1.0 / 3.0 } else { 0.25 };
                let arm = (2.5f64 * square).sqrt();
                ring(4, arm, 0.0).chain([([0.0, 0.0], 1.0)]).collect()
            }
            // Two rings at the nodes of the Gauss rule for the radius.
            (SpotRule::Even, 16) => {
                let (inner, outer) = (0.459_700_84, 0.888_073_83);
                ring(8, inner, 0.0).chain(ring(8, outer, FRAC_PI_8)).collect()
            }
            // The disc of Abramowitz & Stegun 25.4.61, exact to the fifth degree.
            (SpotRule::Even, _) => crosses(1.0, [4.0, 1.0, 4.0]),
        })
    }

    /// Footprint from offsets with energies, which need not sum to 1. The centre comes first, because the first point
    /// is used where a single point is needed.
    fn of(mut rays: Vec<([f64; 2], f64)>) -> Self {
        rays.sort_by_key(|(offset, _)| *offset != [0.0, 0.0]);
        let sum: f64 = rays.iter().map(|(_, energy)| energy).sum();
        let offsets = rays.iter().map(|(offset, _)| offset.map(|x| x as f32)).collect();
        Self {
            stencil: Stencil::new(offsets).expect("at most sixteen finite rays"),
            weights: rays.iter().map(|(_, energy)| (energy / sum) as f32).collect(),
        }
    }
}

/// Rays at equal angles on a circle, the first at `from_rad`.
fn ring(rays: u8, radius: f64, from_rad: f64) -> impl Iterator<Item = ([f64; 2], f64)> {
    (0..rays).map(move |ray| {
        let (sin, cos) = libm::sincos(from_rad + TAU * f64::from(ray) / f64::from(rays));
        ([radius * cos, radius * sin], 1.0)
    })
}

/// Nine rays: a centre, a cross with arms of length `arm`, and a diagonal cross of half its width. The energies are
/// those of the centre ray, of each ray of the cross, and of each ray of the diagonal cross.
fn crosses(arm: f64, [centre, cross, diagonal]: [f64; 3]) -> Vec<([f64; 2], f64)> {
    let half = arm / 2.0;
    let on_axes = [[arm, 0.0], [-arm, 0.0], [0.0, arm], [0.0, -arm]];
    let corners = [[half, half], [half, -half], [-half, half], [-half, -half]];
    let all = [([0.0, 0.0], centre)].into_iter();
    all.chain(on_axes.map(|p| (p, cross))).chain(corners.map(|p| (p, diagonal))).collect()
}

/// Three by three rays at steps of `reach`. `centre` and `corner` are the energies of the centre ray and of each corner
/// ray, divided by the energy of a ray at the middle of an edge.
fn grid([reach, centre, corner]: [f64; 3]) -> Vec<([f64; 2], f64)> {
    let side = [-reach, 0.0, reach];
    let energy = |x: f64, y: f64| match (x == 0.0, y == 0.0) {
        (true, true) => centre,
        (false, false) => corner,
        _ => 1.0,
    };
    side.into_iter().flat_map(|x| side.map(|y| ([x, y], energy(x, y)))).collect()
}

/// Half-axes of the footprint at 1 m, across (horizontal) and along (vertical), metres: `tan(divergence /
/// 2)`. A circular footprint uses the horizontal divergence for both; [`BeamShape::Ray`] has half-axes of 0.
pub fn half_axes_m(beam: &BeamSettings) -> [f64; 2] {
    let half_axis = |divergence: f64| libm::tan(divergence / 2.0);
    let horizontal = half_axis(beam.divergence_rad[0]);
    match beam.shape {
        BeamShape::Ray => [0.0, 0.0],
        BeamShape::Circular => [horizontal, horizontal],
        BeamShape::Elliptical | BeamShape::Rectangular => {
            [horizontal, half_axis(beam.divergence_rad[1])]
        }
    }
}

/// Distance behind the exit window at which the rays would meet, metres; 0 for a beam without divergence. At the window
/// the beam is `exit_width_m` wide.
pub fn apex_behind_m(beam: &BeamSettings) -> f64 {
    let [across, _] = half_axes_m(beam);
    if across == 0.0 { 0.0 } else { beam.exit_width_m / (2.0 * across) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(shape: BeamShape, spot: SpotRule, rays: u8) -> BeamSettings {
        BeamSettings { shape, spot, rays, divergence_rad: [2e-3, 1e-3], ..BeamSettings::default() }
    }

    /// Mean of `x^m y^n` over the rays, weighted by their energies.
    fn moment(spot: &Spot, m: i32, n: i32) -> f64 {
        let rays = spot.stencil.offsets().iter().zip(&spot.weights);
        rays.map(|([x, y], w)| f64::from(*w) * f64::from(*x).powi(m) * f64::from(*y).powi(n)).sum()
    }

    #[test]
    fn spots_are_as_wide_as_their_rule_says() {
        use BeamShape::{Circular, Elliptical, Rectangular};
        use SpotRule::{Even, Mavs, Printed};
        for (shape, rule, rays, square) in [
            (Circular, Printed, 9, 8.0 / 9.0 / 16.0),
            (Circular, Mavs, 9, (2.0 + 1.0) * 0.49 / 9.0),
            (Rectangular, Mavs, 9, 6.0 * 0.49 / 9.0),
            (Circular, Even, 5, 0.25),
            (Circular, Even, 9, 0.25),
            (Elliptical, Even, 16, 0.25),
            (Rectangular, Even, 5, 1.0 / 3.0),
            (Rectangular, Even, 9, 1.0 / 3.0),
            (Rectangular, Even, 16, 1.0 / 3.0),
        ] {
            let spot = Spot::new(&settings(shape, rule, rays), 16);
            assert_eq!(spot.stencil.len(), usize::from(rays));
            let about = |m, n, expected: f64| {
                let is = moment(&spot, m, n);
                assert!(
                    (is - expected).abs() < 1e-6,
                    "{shape:?} {rule:?} {rays}: x^{m} y^{n} {is}"
                );
            };
            about(0, 0, 1.0);
            about(1, 0, 0.0);
            about(0, 1, 0.0);
            about(1, 1, 0.0);
            about(2, 0, square);
            about(0, 2, square);
            if rule == Even && rays > 5 {
                // Means over a unit disc and over a square.
                let rectangle = shape == Rectangular;
                about(4, 0, if rectangle { 0.2 } else { 0.125 });
                about(2, 2, if rectangle { 1.0 / 9.0 } else { 1.0 / 24.0 });
            }
        }
        assert_eq!(Spot::new(&settings(BeamShape::Ray, Even, 9), 16).weights, [1.0]);
    }

    #[test]
    fn fewer_rays_keep_the_centre_and_the_width() {
        let whole = settings(BeamShape::Circular, SpotRule::Even, 9);
        let five = Spot::new(&whole, 5);
        assert_eq!(five.stencil.len(), 5);
        assert_eq!(five.stencil.offsets()[0], [0.0, 0.0]);
        assert!((moment(&five, 2, 0) - 0.25).abs() < 1e-6);
        assert_eq!(Spot::new(&whole, 1).weights, [1.0]);
    }

    #[test]
    fn half_axes_follow_the_divergence() {
        let [h, v] = half_axes_m(&settings(BeamShape::Rectangular, SpotRule::Even, 9));
        assert!((h - 1e-3).abs() < 1e-8 && (v - 0.5e-3).abs() < 1e-8);
        let circular = settings(BeamShape::Circular, SpotRule::Even, 9);
        assert_eq!(half_axes_m(&circular), [h, h]);
        // SICK prints 15 mrad and 8 mm for the LMS1xx: an apex 0.53 m behind the window.
        let lms1xx = BeamSettings {
            divergence_rad: [15e-3, 1e-3],
            exit_width_m: 8e-3,
            ..settings(BeamShape::Circular, SpotRule::Even, 9)
        };
        assert!((apex_behind_m(&lms1xx) - 0.533).abs() < 1e-3);
    }
}
