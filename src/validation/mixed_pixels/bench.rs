//! Records scans of rods before a wall, and finds mixed pixels.

use std::time::Duration;

use glam::DVec2;

use crate::validation::ExperimentError;
use crate::validation::recording;

const RIG: &str = include_str!("rig.toml");
/// Duration of a recording: a complete scan of two rotations and its telegram.
const DURATION: Duration = Duration::from_millis(110);
/// Distance of the rods' axes from the scanner, metres.
pub const ROW_M: f64 = 0.8;
const RODS: i32 = 9;
/// Distance from one rod's axis to the next, metres.
const PITCH_M: f64 = 0.127;
/// Radius of all rods except the middle one, metres.
const RADIUS_M: f64 = 0.0125;
const MIDDLE_RADIUS_M: f64 = 0.0375;
/// Distance from rods and wall beyond which a point belongs to neither, metres.
pub const APART_M: f64 = 0.03;

/// Compared beams and their echo rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beam {
    /// The beam of MAVS, without errors.
    Cast,
    /// The beam of MAVS, with a range error of 1 cm.
    Noisy,
    /// The beam of MAVS, with an angular step of 1 degree.
    Coarse,
    /// The beam footprint as Goodin et al. 2018 print it.
    Printed,
    /// The beam of MAVS, 20 mm wide at the window.
    Wide,
    /// The beam that the emulator uses by default for the LMS 291 today.
    Today,
}

impl Beam {
    pub const ALL: [Self; 6] =
        [Self::Cast, Self::Noisy, Self::Coarse, Self::Printed, Self::Wide, Self::Today];

    /// Name of the beam in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cast => "mavs",
            Self::Noisy => "mavs, errors of 1 cm",
            Self::Coarse => "mavs, steps of 1 degree",
            Self::Printed => "printed spot",
            Self::Wide => "mavs, 20 mm at the window",
            Self::Today => "today's default",
        }
    }

    /// Angular step, degrees.
    fn step_deg(self) -> f64 {
        if self == Self::Coarse { 1.0 } else { 0.5 }
    }

    fn replacements(self) -> Vec<(&'static str, String)> {
        let paper = r#"beam = { paper = "goodin-2018" }"#;
        let beam =
            |keys: &str| vec![(paper, format!(r#"beam = {{ paper = "goodin-2018", {keys} }}"#))];
        match self {
            Self::Cast => Vec::new(),
            Self::Noisy => {
                vec![(
                    "errors = \"none\"",
                    "errors = \"none\", noise = { range_std_m = 0.01 }".into(),
                )]
            }
            Self::Coarse => vec![("resolution_deg = 0.5", "resolution_deg = 1".into())],
            Self::Printed => beam(r#"spot = "printed""#),
            Self::Wide => beam("exit_width_mm = 20.0"),
            Self::Today => vec![(paper, "beam = {}".into())],
        }
    }
}

/// Points of a scan in the plane of the scanner: x towards the rods, metres.
pub type Scan = Vec<DVec2>;

/// Scans of all beams with a wall `offset_m` behind the rods, indexed `[beam][phase]`. `phases` is the number of scans
/// per beam; their directions are offset from each other by equal parts of an angular step.
pub fn scan(offset_m: f64, phases: u32, seed: u64) -> Result<Vec<Vec<Scan>>, ExperimentError> {
    let turns_deg = |beam: Beam| {
        (0..phases).map(move |phase| beam.step_deg() * f64::from(phase) / f64::from(phases))
    };
    let mut copies = Vec::new();
    for beam in Beam::ALL {
        for (phase, turn_deg) in turns_deg(beam).enumerate() {
            let mut replacements = beam.replacements();
            replacements.push(("[0, 0, 0.0]", format!("[0, 0, {turn_deg:?}]")));
            copies.push((format!("scanner-{}-{phase}", beam as usize), replacements));
        }
    }
    let text = recording::with_copies(RIG, "scanner", &copies);
    let sets =
        [("seed", seed.to_string()), ("world.parameters.wall_behind_m", format!("{offset_m:?}"))];
    let rig = recording::rig("mixed-pixels", &text, &sets)?;
    let world = recording::world(&rig)?;
    let mut scans = vec![Scan::new(); copies.len()];
    recording::decode(&rig, &world, DURATION, &mut |sweep| {
        // Only the first scan of each device is kept.
        let scan = &mut scans[sweep.device.0];
        if scan.is_empty() {
            scan.extend(sweep.points.iter().map(|point| point.position_m.truncate()));
        }
    })?;
    let mut scans = scans.into_iter();
    let turned = |(turn_deg, scan): (f64, Scan)| -> Scan {
        let (sin, cos) = libm::sincos(turn_deg.to_radians());
        let turn = DVec2::new(cos, sin);
        scan.into_iter().map(|point| turn.rotate(point)).collect()
    };
    Ok(Beam::ALL
        .map(|beam| turns_deg(beam).zip(scans.by_ref()).map(turned).collect())
        .into_iter()
        .collect())
}

/// Number of points of a scan that are neither on a rod nor on the wall.
pub fn mixed(scan: &Scan, offset_m: f64) -> usize {
    scan.iter().filter(|point| is_mixed(**point, offset_m)).count()
}

pub fn is_mixed(point: DVec2, offset_m: f64) -> bool {
    let from_wall_m = (ROW_M + offset_m - point.x).abs();
    let from_rods_m = (0..RODS).map(|rod| {
        let across_m = f64::from(rod - RODS / 2) * PITCH_M;
        let radius_m = if rod == RODS / 2 { MIDDLE_RADIUS_M } else { RADIUS_M };
        (point.distance(DVec2::new(ROW_M, across_m)) - radius_m).abs()
    });
    from_wall_m >= APART_M && from_rods_m.fold(f64::MAX, f64::min) >= APART_M
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_rods_and_wall_are_not_mixed() {
        for (x, y, mixed) in [
            (0.7875, 0.127, false),
            (0.7625, 0.0, false),
            (1.4, 1.0, false),
            (1.38, 0.3, false),
            (1.0, 0.0, true),
            (0.74, 0.127, true),
        ] {
            assert_eq!(is_mixed(DVec2::new(x, y), 0.6), mixed, "{x} {y}");
        }
    }

    #[test]
    fn every_beam_sees_rods_and_wall_in_a_scan_of_100_degrees() {
        let scans = scan(0.6, 2, 1).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scans.len(), Beam::ALL.len());
        for (beam, scans) in Beam::ALL.into_iter().zip(&scans) {
            let expected = if beam == Beam::Coarse { 101 } else { 201 };
            for scan in scans {
                assert_eq!(scan.len(), expected, "{beam:?}");
                let on_wall = scan.iter().filter(|p| (p.x - 1.4).abs() < 0.03).count();
                assert!(on_wall * 2 > expected, "{beam:?}: {on_wall}");
                assert!(scan.iter().any(|p| (p.x - 0.7625).abs() < 0.02), "{beam:?}");
            }
        }
    }
}
