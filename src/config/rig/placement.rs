//! Placement of a scene file in the world: `up_axis`, `scale`, `rotate_deg` and `offset_m` of `[world]`.

use std::path::Path;

use glam::{DAffine3, DMat3, DVec3};

use super::parts::{has_extension, turn_limit};
use crate::frames::quat_from_rpy;
use crate::toml::key_types::{Degrees, Maybe, OneOf};
use crate::toml::reader::Limit;

words!(UpAxis: "x" => X, "y" => Y, "z" => Z);
/// The axis of a file that points up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpAxis {
    /// X points up: `(x, y, z)` of the file becomes `(-z, y, x)`.
    X,
    /// Y points up: `(x, y, z)` of the file becomes `(x, -z, y)`.
    Y,
    /// Z points up, as in World.
    Z,
}

impl UpAxis {
    /// Default up axis of a file: y for glTF, by its standard. Other formats do not define it; z is an assumption.
    pub fn of_format(file: &Path) -> Self {
        let is_gltf = has_extension(&file.to_string_lossy(), &["gltf", "glb"]);
        if is_gltf { Self::Y } else { Self::Z }
    }

    /// Rotation that turns this axis to World's z axis, which points up.
    pub fn turn(self) -> DMat3 {
        match self {
            Self::X => DMat3::from_cols(DVec3::Z, DVec3::Y, DVec3::NEG_X),
            Self::Y => DMat3::from_cols(DVec3::X, DVec3::Z, DVec3::NEG_Y),
            Self::Z => DMat3::IDENTITY,
        }
    }
}

const FORMAT: &str = "the rig format, [world]";

keys! {
    /// Placement of a scene file, in this order: turn the axis up, scale, rotate, move.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ScenePlacement {
        /// Axis of a scene file that points up (default: what the format says, else z).
        pub up_axis: Option<UpAxis> = None, Maybe(OneOf(&UpAxis::WORDS, FORMAT));
        /// Metres for each unit of a scene file.
        pub scale: f64 = 1.0, Limit::new(1e-6..=1e6, "metres a unit", FORMAT);
        /// Roll, pitch and yaw by which a scene file is turned.
        pub roll_pitch_yaw_rad as "rotate_deg": [f64; 3] = [0.0; 3], Degrees(turn_limit());
        /// Where the origin of a scene file lies in the world, east, north and up.
        pub offset_m: [f64; 3] = [0.0; 3],
            Limit::new(-1e7..=1e7, "m", "the scene: f32 cannot resolve metres beyond");
    }
}

impl ScenePlacement {
    /// Transform to World from the loader's coordinates of `file`. The loader has already turned up the default up axis of
    /// the file's format.
    pub fn world_from_loaded(&self, file: &Path) -> DAffine3 {
        let usual = UpAxis::of_format(file);
        let up = self.up_axis.unwrap_or(usual).turn() * usual.turn().transpose();
        let [roll, pitch, yaw] = self.roll_pitch_yaw_rad;
        let turned = DMat3::from_quat(quat_from_rpy(roll, pitch, yaw)) * up;
        DAffine3::from_mat3_translation(turned * self.scale, self.offset_m.into())
    }

    /// Text that names the up axis of `file` and the axis's source: the rig, the glTF standard or an assumption.
    pub fn describe_up(&self, file: &Path) -> String {
        let usual = UpAxis::of_format(file);
        let axis = self.up_axis.unwrap_or(usual).word();
        let source = match (self.up_axis, usual) {
            (Some(_), _) => "from the rig",
            (None, UpAxis::Y) => "as glTF defines",
            (None, _) => "assumed",
        };
        format!("up axis {axis}, {source}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_is_turned_up_without_mirroring() {
        for (axis, up) in [(UpAxis::X, DVec3::X), (UpAxis::Y, DVec3::Y), (UpAxis::Z, DVec3::Z)] {
            assert_eq!(axis.turn() * up, DVec3::Z, "{axis:?}");
            assert_eq!(axis.turn().determinant(), 1.0, "{axis:?}");
        }
    }

    #[test]
    fn the_order_is_up_scale_rotate_offset() {
        let quarter = std::f64::consts::FRAC_PI_2;
        let placement = ScenePlacement {
            up_axis: Some(UpAxis::Y),
            scale: 2.0,
            roll_pitch_yaw_rad: [0.0, 0.0, quarter],
            offset_m: [100.0, 0.0, 5.0],
        };
        let near = |got: DVec3, expected: [f64; 3]| (got - DVec3::from(expected)).length() < 1e-12;
        let p = DVec3::new(1.0, 2.0, 3.0);
        // `p` after each step: with z up (1, -3, 2), scaled (2, -6, 4), rotated left (6, 2, 4), moved (106, 2, 9).
        let obj = placement.world_from_loaded(Path::new("a.obj"));
        assert!(near(obj.transform_point3(p), [106.0, 2.0, 9.0]));
        // The loader has already applied the y-up axis of glTF.
        let loaded = UpAxis::Y.turn() * p;
        let gltf = placement.world_from_loaded(Path::new("A.GLB"));
        assert!(near(gltf.transform_point3(loaded), [106.0, 2.0, 9.0]));
        // A glTF file that violates its standard.
        let z_up = ScenePlacement { up_axis: Some(UpAxis::Z), ..ScenePlacement::default() };
        let gltf = z_up.world_from_loaded(Path::new("a.gltf"));
        assert!(near(gltf.transform_point3(loaded), p.to_array()));
        let plain = ScenePlacement::default().world_from_loaded(Path::new("a.gltf"));
        assert!(near(plain.transform_point3(p), p.to_array()));
    }
}
