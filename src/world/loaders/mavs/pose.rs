//! Poses: yaw, pitch and roll in radians, position, scale, and rotations for meshes that were exported with other axes.

use glam::{DAffine3, DMat3, DVec3};

use super::super::error::Fault;
use super::super::json::{Node, Object};
use crate::frames::quat_about;

/// Transform from a mesh to World for a copy in `Objects`: scale, roll about y, pitch about x, yaw about z, then position.
/// The three rotations are left-handed: clockwise as seen from the axis' positive end.
pub fn of_object(object: &Object) -> Result<DAffine3, Fault> {
    let Parts { angles: [yaw, pitch, roll], position, scale } = parts(object)?;
    let turned =
        quat_about(DVec3::Z, -yaw) * quat_about(DVec3::X, -pitch) * quat_about(DVec3::Y, -roll);
    let axes = DMat3::from_quat(turned) * DMat3::from_diagonal(scale);
    Ok(DAffine3::from_mat3_translation(axes, position))
}

/// Transform from a mesh to World for a `Surface Mesh`: yaw about z, pitch about x, roll about y, then scale along World's
/// axes, then position. The three rotations are right-handed: counter-clockwise as seen from the axis' positive end.
pub fn of_surface(object: &Object) -> Result<DAffine3, Fault> {
    let Parts { angles: [yaw, pitch, roll], position, scale } = parts(object)?;
    let turned =
        quat_about(DVec3::Y, roll) * quat_about(DVec3::X, pitch) * quat_about(DVec3::Z, yaw);
    let axes = DMat3::from_diagonal(scale) * DMat3::from_quat(turned);
    Ok(DAffine3::from_mat3_translation(axes, position))
}

/// Rotation of the mesh by the flags `Rotate Y to Z`, `Rotate X to Y` and `Rotate Y to X`, in this order. It comes
/// before all other transforms.
pub fn turn(object: &Object) -> Result<DAffine3, Fault> {
    let mut axes = DMat3::IDENTITY;
    for (key, turn) in [
        ("Rotate Y to Z", Y_TO_Z),
        // (x, y, z) becomes (-y, x, z).
        ("Rotate X to Y", DMat3::from_cols(DVec3::Y, DVec3::NEG_X, DVec3::Z)),
        // (x, y, z) becomes (y, -x, z).
        ("Rotate Y to X", DMat3::from_cols(DVec3::NEG_Y, DVec3::X, DVec3::Z)),
    ] {
        if object.or(key, false, Node::flag)? {
            axes = turn * axes;
        }
    }
    Ok(DAffine3::from_mat3(axes))
}

/// Rotation for meshes with y up: (x, y, z) becomes (x, -z, y).
pub const Y_TO_Z: DMat3 = DMat3::from_cols(DVec3::X, DVec3::Z, DVec3::NEG_Y);

struct Parts {
    angles: [f64; 3],
    position: DVec3,
    scale: DVec3,
}

fn parts(object: &Object) -> Result<Parts, Fault> {
    Ok(Parts {
        angles: object.or("YawPitchRoll", [0.0; 3], Node::numbers)?,
        position: object.or("Position", [0.0; 3], Node::numbers)?.into(),
        scale: object.or("Scale", [1.0; 3], Node::numbers)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;
    use std::path::Path;

    use super::super::super::json::Document;
    use super::*;

    fn posed(text: &str, read: fn(&Object) -> Result<DAffine3, Fault>, p: [f64; 3]) -> [f64; 3] {
        let document = Document::new(Path::new("s"), text.as_bytes()).unwrap();
        let object = document.root().unwrap().object().unwrap();
        let p = read(&object).unwrap().transform_point3(p.into());
        // Rounded for comparison.
        p.to_array().map(|c| (c * 1e9).round() / 1e9 + 0.0)
    }

    #[test]
    fn objects_turn_clockwise_after_their_scale() {
        let yaw = format!(
            r#"{{"YawPitchRoll": [{FRAC_PI_2}, 0, 0], "Position": [10, 20, 30],
                             "Scale": [2, 1, 1]}}"#
        );
        assert_eq!(posed(&yaw, of_object, [1.0, 0.0, 0.0]), [10.0, 18.0, 30.0]);
        let pitch = format!(r#"{{"YawPitchRoll": [0, {FRAC_PI_2}, 0]}}"#);
        assert_eq!(posed(&pitch, of_object, [0.0, 1.0, 0.0]), [0.0, 0.0, -1.0]);
        let roll = format!(r#"{{"YawPitchRoll": [0, 0, {FRAC_PI_2}]}}"#);
        assert_eq!(posed(&roll, of_object, [0.0, 0.0, 1.0]), [-1.0, 0.0, 0.0]);
        // Roll acts first, then pitch, then yaw.
        let all = format!(r#"{{"YawPitchRoll": [{FRAC_PI_2}, {FRAC_PI_2}, {FRAC_PI_2}]}}"#);
        assert_eq!(posed(&all, of_object, [0.0, 0.0, 1.0]), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn surfaces_turn_the_other_way_before_their_scale() {
        let yaw = format!(r#"{{"YawPitchRoll": [{FRAC_PI_2}, 0, 0], "Scale": [2, 1, 1]}}"#);
        assert_eq!(posed(&yaw, of_surface, [1.0, 0.0, 0.0]), [0.0, 1.0, 0.0]);
        assert_eq!(posed(&yaw, of_surface, [0.0, 1.0, 0.0]), [-2.0, 0.0, 0.0]);
    }

    #[test]
    fn turns_apply_in_the_listed_order() {
        let p = [1.0, 2.0, 3.0];
        for (text, expected) in [
            ("{}", p),
            (r#"{"Rotate Y to Z": true}"#, [1.0, -3.0, 2.0]),
            (r#"{"Rotate X to Y": true}"#, [-2.0, 1.0, 3.0]),
            (r#"{"Rotate Y to X": true}"#, [2.0, -1.0, 3.0]),
            (r#"{"Rotate Y to X": true, "Rotate Y to Z": true}"#, [-3.0, -1.0, 2.0]),
        ] {
            assert_eq!(posed(text, turn, p), expected, "{text}");
        }
    }
}
