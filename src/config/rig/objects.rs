//! Moving objects of the world: `[[world.object]]` of a rig.

use std::path::PathBuf;

use glam::DAffine3;

use crate::rig::RobotConfig;
use crate::toml::diagnostic::Place;

/// A rigid object with its own motion. Its body frame is forward-left-up. Built-in bodies stand on the origin of the
/// frame.
#[derive(Clone, Debug)]
pub struct ObjectConfig {
    /// Name of the object, unique in the rig; files are named after it.
    pub name: String,
    /// Shape and material.
    pub body: ObjectBody,
    /// Motion, configured like that of the robot.
    pub motion: RobotConfig,
    /// Place of the value of `body` in the rig file, for messages.
    pub body_place: Place,
    /// Place of the trajectory, or of its file name, in the rig file, for messages.
    pub trajectory_place: Place,
}

/// Shape and material of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectBody {
    /// A simple shape.
    BuiltIn {
        /// Shape of the object.
        shape: ObjectShape,
        /// Length (forward), width and height, metres.
        size_m: [f64; 3],
        /// Diffuse reflectance, 0..=1.
        reflectance: f64,
    },
    /// A file: `.gltf`, `.glb`, `.obj`, `.ply` or `.stl`. Relative paths refer to the rig file's folder.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Transform from the file's frame (z up) to the body frame of the object.
        body_from_mesh: DAffine3,
    },
}

/// A simple shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectShape {
    /// A box.
    Box,
    /// An upright cylinder, round if length and width are equal.
    Cylinder,
    /// Hull, cabin and four wheels.
    Car,
    /// Legs in stride, trunk, arms and head.
    Person,
}

impl ObjectShape {
    /// Names of shapes in a rig.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("box", Self::Box),
        ("cylinder", Self::Cylinder),
        ("car", Self::Car),
        ("person", Self::Person),
    ];

    /// Default length, width and height, metres.
    pub fn default_size_m(self) -> [f64; 3] {
        match self {
            Self::Box => [1.0, 1.0, 1.0],
            Self::Cylinder => [1.0, 1.0, 2.0],
            Self::Car => [4.5, 1.8, 1.5],
            Self::Person => [0.5, 0.55, 1.75],
        }
    }
}
