//! Any bytes as a CSV file of an IMU: parsed or rejected, fitted or rejected.

use menura::analysis::fit::inertial::{fit_samples, parse_csv};

pub fn run(bytes: &[u8]) {
    for rate_hz in [None, Some(2.0)] {
        if let Ok(log) = parse_csv(bytes, rate_hz)
            && let Ok(fit) = fit_samples(&log, [0.0; 3], [100.0; 3])
        {
            assert!(!fit.triads.is_empty());
        }
    }
}
