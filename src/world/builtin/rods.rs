//! The built-in `rods`: rows of upright rods with walls behind them, on the sides of a square.
//!
//! ```text
//!   |  o  o  o  o  |     the east is on the right
//!   |o            o|     o  a rod, `spacing_m` from the next one, `row_distance_m` from the origin
//!   |o     +      o|     |  a wall, `wall_behind_m` behind its row
//!   |o            o|     +  the origin
//!   |  o  o  o  o  |
//! ```

use glam::DAffine3;

use super::planting::add;
use super::solids::{self, ROUND_SIDES, on_side, prism};
use crate::config::rig::RodsParameters;
use crate::world::materials;
use crate::world::scene::Scene;

/// Builds the rows of rods, and the walls behind them. The ground is the floor z = 0.
pub fn build(parameters: &RodsParameters) -> Scene {
    let out_m = parameters.row_distance_m + parameters.wall_behind_m;
    let width_m = match parameters.wall_width_m {
        0.0 => 2.0 * out_m,
        width_m => width_m,
    };
    let mut scene = Scene {
        materials: vec![
            materials::plain("wall", parameters.wall_reflectance as f32),
            materials::plain("rod", parameters.rod_reflectance as f32),
        ],
        ..Scene::default()
    };
    add(&mut scene, solids::floor(out_m.max(width_m / 2.0), 0), &[DAffine3::IDENTITY]);
    scene.ground = scene.instances.clone();
    let walls = solids::walls(parameters.sides, out_m, width_m, parameters.height_m, 0);
    add(&mut scene, walls, &[DAffine3::IDENTITY]);

    let (mut thin, mut middle) = (Vec::new(), Vec::new());
    for side in 0..parameters.sides {
        for rod in 0..parameters.rods {
            let across =
                (f64::from(rod) - f64::from(parameters.rods - 1) / 2.0) * parameters.spacing_m;
            let foot = on_side(side, parameters.row_distance_m, across).extend(0.0);
            let rods = if rod == parameters.rods / 2 { &mut middle } else { &mut thin };
            rods.push(DAffine3::from_translation(foot));
        }
    }
    let middle_diameter_m = match parameters.middle_diameter_m {
        0.0 => parameters.diameter_m,
        diameter_m => diameter_m,
    };
    for (places, diameter_m) in [(thin, parameters.diameter_m), (middle, middle_diameter_m)] {
        let rod = prism("rod", ROUND_SIDES, diameter_m, parameters.height_m, 1);
        add(&mut scene, rod, &places);
    }
    scene
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    /// The mixed-pixel test of Goodin et al. 2018: nine rods at 0.80 m and a wall 0.6 m behind them.
    #[test]
    fn one_side_is_the_papers_row() {
        let scene = build(&RodsParameters {
            sides: 1,
            rods: 9,
            diameter_m: 0.025,
            middle_diameter_m: 0.075,
            spacing_m: 0.127,
            row_distance_m: 0.8,
            wall_behind_m: 0.6,
            wall_width_m: 6.0,
            height_m: 2.0,
            ..RodsParameters::default()
        });
        let [_, walls, thin, middle] = scene.meshes.as_slice() else { panic!("four meshes") };
        let wall = walls.bounds();
        assert!((wall[0] - DVec3::new(1.4, -3.0, 0.0)).length() < 1e-6, "{wall:?}");
        assert!((wall[1] - DVec3::new(1.4, 3.0, 2.0)).length() < 1e-6, "{wall:?}");
        assert!((thin.bounds()[1].x - 0.0125).abs() < 1e-8);
        assert!((middle.bounds()[1].x - 0.0375).abs() < 1e-8);
        let mut places: Vec<(u32, DVec3)> =
            scene.instances[2..].iter().map(|i| (i.mesh, i.world_from_mesh.translation)).collect();
        places.sort_by(|a, b| a.1.y.total_cmp(&b.1.y));
        assert_eq!(places.len(), 9);
        for (index, (mesh, place)) in places.iter().enumerate() {
            let y = (index as f64 - 4.0) * 0.127;
            assert!((place - DVec3::new(0.8, y, 0.0)).length() < 1e-12);
            assert_eq!(*mesh, if index == 4 { 3 } else { 2 });
        }
    }

    #[test]
    fn four_sides_close_the_square_and_no_rod_stands_in_a_wall() {
        let scene = build(&RodsParameters::default());
        assert_eq!(scene.instances.len(), 2 + 4 * 60);
        let [low, high] = scene.extents();
        assert_eq!((low, high), (DVec3::new(-9.0, -9.0, 0.0), DVec3::new(9.0, 9.0, 5.0)));
        for instance in &scene.instances[2..] {
            let foot = instance.world_from_mesh.translation.truncate().abs();
            assert!((foot.max_element() - 6.0).abs() < 1e-12 && foot.min_element() < 5.95);
        }
        assert_eq!(scene.materials[1].reflectance, 0.5);
    }
}
