//! The built-in `grass-stand`: upright stems at random positions, as in section 3.4.1 of Goodin et al. 2018
//! (Electronics 7, 154).
//!
//! The sensor is at the origin, and the front edge of the stand is `distance_m` to the east. Positions are
//! independent, so some stems touch.

use glam::{DAffine3, DVec3};

use super::planting::add;
use super::solids::{self, ROUND_SIDES, prism};
use crate::config::rig::GrassStandParameters;
use crate::world::materials;
use crate::world::random::{self, uniform};
use crate::world::scene::Scene;

/// Identifier of the stems' random streams.
const STEM: u64 = 1;

/// Builds the stand, on a plane ground at z = 0 that surrounds the stand and the origin.
pub fn build(parameters: &GrassStandParameters) -> Scene {
    let (front, depth) = (parameters.distance_m, parameters.depth_m);
    let half_width = parameters.width_m / 2.0;
    let mut scene = Scene {
        materials: vec![
            materials::by_name("soil"),
            materials::plain("stem", parameters.reflectance as f32),
        ],
        ..Scene::default()
    };
    add(&mut scene, solids::floor(front + depth + half_width, 0), &[DAffine3::IDENTITY]);
    scene.ground = scene.instances.clone();
    let stems = (parameters.stems_per_m2 * parameters.width_m * depth).round() as u64;
    let places: Vec<DAffine3> = (0..stems)
        .map(|stem| {
            let mut rng = random::stream(parameters.seed, STEM, stem);
            let x = uniform(&mut rng, front, front + depth);
            let y = uniform(&mut rng, -half_width, half_width);
            DAffine3::from_translation(DVec3::new(x, y, 0.0))
        })
        .collect();
    let stem = prism("stem", ROUND_SIDES, parameters.diameter_m, parameters.height_m, 1);
    add(&mut scene, stem, &places);
    scene
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_fill_the_stand_evenly() {
        let parameters = GrassStandParameters { stems_per_m2: 100.0, ..Default::default() };
        let scene = build(&parameters);
        let feet: Vec<DVec3> =
            scene.instances[1..].iter().map(|i| i.world_from_mesh.translation).collect();
        assert_eq!(feet.len(), 5000);
        assert!(feet.iter().all(|p| (20.0..25.0).contains(&p.x) && p.y.abs() <= 5.0));
        // Each of a hundred rectangles of 1 m by 0.5 m has 50 ± 7 stems.
        let mut counts = [0i32; 100];
        for p in &feet {
            counts[((p.x - 20.0) as usize).min(4) * 20 + (((p.y + 5.0) * 2.0) as usize).min(19)] +=
                1;
        }
        let variance: f64 =
            counts.iter().map(|&count| f64::from(count - 50).powi(2)).sum::<f64>() / 100.0;
        assert!((30.0..75.0).contains(&variance), "{variance}, of a Poisson process 50");
    }
}
