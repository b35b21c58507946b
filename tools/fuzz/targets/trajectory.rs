//! Any text as a trajectory: parsed or rejected with a message. The first byte selects one of four formats.

use menura::frames::{GeoOrigin, Geodetic};
use menura::world::trajectory::files;

pub fn run(bytes: &[u8]) {
    let Some((&format, text)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let home = Geodetic { latitude_deg: 33.0, longitude_deg: -88.0, altitude_m: 90.0 };
    let read = match format % 4 {
        0 => files::parse_tum(text),
        1 => files::parse_csv(text),
        2 => files::parse_vprp(text),
        _ => files::parse_gpx(text, &GeoOrigin::new(home)),
    };
    match read {
        Err(fault) => assert!(!fault.to_string().is_empty()),
        Ok(poses) => assert!(poses.iter().all(|pose| pose.position_m.is_finite())),
    }
}
