//! Any bytes as a point-cloud file from a driver under test: parsed or rejected, with at most as many points as bytes.

use menura::kit::clouds;

pub fn run(bytes: &[u8]) {
    for name in ["cloud.pcd", "cloud.xyz"] {
        if let Some(points) = clouds::read(name, bytes) {
            // A point takes at least one character and the end of its line.
            assert!(points.len() <= bytes.len());
        }
    }
}
