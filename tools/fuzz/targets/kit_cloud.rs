//! Point-cloud files that a driver under test writes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::kit::clouds;

fuzz_target!(|bytes: &[u8]| {
    for name in ["cloud.pcd", "cloud.xyz"] {
        if let Some(points) = clouds::read(name, bytes) {
            // A point takes at least a letter and the end of its line.
            assert!(points.len() <= bytes.len());
        }
    }
});
