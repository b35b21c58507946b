//! Records the ranges that scanners measure in stands of grass stems.

use std::f64::consts::PI;
use std::time::Duration;

use super::law::{DEPTH_M, Stand};
use crate::config::rig::Rig;
use crate::validation::ExperimentError;
use crate::validation::recording::{self, Sweep};

const RIG: &str = include_str!("rig.toml");
/// Resolution of distances in the telegrams, metres.
pub const STEP_M: f64 = 0.01;
/// Duration of a recording: 40 scans.
const DURATION: Duration = Duration::from_millis(540);
/// Largest angle of used beams from straight ahead, degrees.
const AHEAD_DEG: f64 = 2.1;
/// Number of used beams per scan.
const BEAMS: usize = 5;
/// Distance from the stand beyond which a return is not from its stems, metres.
const OUTSIDE_M: f64 = 0.1;

/// Depths of one scanner's returns in stands.
#[derive(Clone, Debug, Default)]
pub struct Depths {
    /// Number of pulses.
    pub pulses: usize,
    /// Depths of returns from stems: distance from the front edge along the beam, metres.
    pub depths_m: Vec<f64>,
}

/// Records a random stand with the parameters `stand` and the seed `number`. Returns the depths of each scanner.
pub fn scan(stand: &Stand, number: u64, rig_text: &str) -> Result<Vec<Depths>, ExperimentError> {
    let rig = rig(stand, number, rig_text)?;
    let world = recording::world(&rig)?;
    let mut depths = vec![Depths::default(); rig.devices.len()];
    recording::decode(&rig, &world, DURATION, &mut |sweep| {
        let depths = &mut depths[sweep.device.0];
        depths.pulses += BEAMS;
        depths.depths_m.extend(depths_in(stand, &sweep));
    })?;
    Ok(depths)
}

fn rig(stand: &Stand, number: u64, text: &str) -> Result<Rig, ExperimentError> {
    let Stand { distance_m, stems_per_m2, diameter_m } = stand;
    let parameters = format!(
        "{{ distance_m = {distance_m:?}, stems_per_m2 = {stems_per_m2:?}, diameter_m = {diameter_m:?}, \
         depth_m = {DEPTH_M:?}, width_m = 10.0 }}"
    );
    let sets = [("seed", number.to_string()), ("world.parameters", parameters)];
    recording::rig("grass-distribution", text, &sets)
}

/// Text of the rig with the scanners for all stands.
pub fn scanners() -> &'static str {
    RIG
}

/// Text of a rig with copies of the first scanner, one for each beam divergence.
pub fn scanners_of_widths(divergences_mrad: &[f64]) -> String {
    let copy = |(place, mrad): (usize, &f64)| {
        let width = ("divergence_mrad = 1.0", format!("divergence_mrad = {mrad:?}"));
        (format!("width-{place}"), vec![width])
    };
    let copies: Vec<_> = divergences_mrad.iter().enumerate().map(copy).collect();
    recording::with_copies(RIG, "cast", &copies)
}

fn depths_in(stand: &Stand, sweep: &Sweep) -> Vec<f64> {
    // The stand's edge is defined by the stems' axes. On average, a ray hits their surface pi d / 8
    // before the axis.
    let surface_m = PI / 8.0 * stand.diameter_m;
    let ahead = sweep.points.iter().filter(|point| point.direction_deg().abs() <= AHEAD_DEG);
    let depths = ahead.map(|point| {
        let cos = libm::cos(point.direction_deg().to_radians());
        point.range_m() - stand.distance_m / cos + surface_m
    });
    depths.filter(|depth_m| (-OUTSIDE_M..DEPTH_M + OUTSIDE_M).contains(depth_m)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::grass::law::STANDS;

    #[test]
    fn each_scan_gives_five_pulses_and_thick_stands_stop_nearly_all() {
        let all = scan(&STANDS[3], 1, scanners()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(all.len(), 6);
        for scanner in &all {
            assert!((190..=205).contains(&scanner.pulses), "{}", scanner.pulses);
            let share = scanner.depths_m.len() as f64 / scanner.pulses as f64;
            assert!(share > 0.97, "{share}");
        }
        let widths = scanners_of_widths(&[0.5, 2.0]);
        assert_eq!(rig(&STANDS[0], 1, &widths).unwrap_or_else(|e| panic!("{e}")).devices.len(), 2);
    }
}
