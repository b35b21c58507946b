//! A camera under a uniform sky.

use super::lens::Model;
use super::*;
use crate::config::rig::schedule::Schedule;
use crate::config::rig::{RobotConfig, TrajectoryConfig};
use crate::frames::{Body, GeoOrigin, Geodetic, Sensor as SensorFrame, Transform};
use crate::time::Epoch;
use crate::world::raycast::OpenSky;
use crate::world::trajectory::Trajectory;

const SIDE: u32 = 160;
const CHIP: Chip = Chip {
    is_colour: false,
    pixel_um: 4.0,
    efficiency: [0.6; 3],
    full_well_e: 10_000.0,
    read_noise_e: 6.0,
    dark_e_s: 0.0,
    dsnu_e: 1.0,
    prnu: 0.008,
};

fn camera() -> Camera {
    let lens = Lens {
        size: [SIDE; 2],
        focal_px: [2000.0; 2],
        centre_px: [0.5 * f64::from(SIDE - 1); 2],
        model: Model::Rational([0.0; 8]),
    };
    let optics = Optics { lens, f_number: 4.0, transmission: 0.9, vignetting: [0.0; 2] };
    let light = Light { sun: Some([0.6, 0.0]), turbidity: 3.0, sky: Sky::Overcast };
    Camera::new(
        CHIP,
        optics,
        light,
        NoiseSource::new(7, "front"),
        Epoch::new(jiff::Timestamp::UNIX_EPOCH),
    )
}

/// Counts of one frame of a camera that looks vertically upward, from row `rows[0]` up to, but not including, row `rows[1]`.
fn taken(camera: &Camera, number: u64, exposure_us: u64, rows: [u32; 2]) -> Vec<u16> {
    let shot = Shot {
        number,
        exposure_ns: exposure_us * 1000,
        line_ns: 0,
        region: [0, 0, SIDE, SIDE],
        binning: [1; 2],
        gain_db: 0.0,
        black: 200.0,
        before: None,
    };
    let origin =
        GeoOrigin::new(Geodetic { latitude_deg: 33.0, longitude_deg: -88.0, altitude_m: 92.0 });
    let still = TrajectoryConfig::Still { position_m: [0.0; 3], yaw_rad: 0.0 };
    let trajectory = Trajectory::new(&RobotConfig::new(still, false), &origin, None).unwrap();
    let up = -std::f64::consts::FRAC_PI_2;
    let surroundings = Surroundings {
        caster: &OpenSky,
        trajectory: &trajectory,
        origin: &origin,
        carrier: None,
        body_from_sensor: Transform::<Body, SensorFrame>::from_rpy(DVec3::ZERO, 0.0, up, 0.0),
        weather: None,
    };
    let tile = Tile { shot: Arc::new(shot), rows };
    let subject = Subject::Tile(tile);
    let request = MeasurementRequest { index: 0, start: SimTime::ZERO, subject };
    let measured = camera.measure(request, &surroundings, &mut Scratch::default());
    match measured.outcome {
        Outcome::Pixels(counts) => counts,
        other => panic!("{other:?}"),
    }
}

/// EMVA 1288, 6.3 and 6.6: gain and dark noise from pairs of frames, whose difference has no fixed pattern.
#[test]
fn the_photon_transfer_curve_gives_gain_and_read_noise_back() {
    let camera = camera();
    let mut points = Vec::new();
    for (step, exposure_us) in [0, 100, 200, 400, 600, 800, 1000].into_iter().enumerate() {
        let pair = [0, 1].map(|one| taken(&camera, 2 * step as u64 + one, exposure_us, [0, SIDE]));
        let count = pair[0].len() as f64;
        let mean = pair.iter().flatten().map(|c| f64::from(*c)).sum::<f64>() / (2.0 * count);
        let difference = |at: usize| f64::from(pair[0][at]) - f64::from(pair[1][at]);
        let square: f64 = (0..pair[0].len()).map(|at| difference(at).powi(2)).sum();
        let offset: f64 = (0..pair[0].len()).map(difference).sum::<f64>() / count;
        points.push((mean, 0.5 * (square / count - offset * offset)));
    }
    let (dark_mean, dark_variance) = points[0];
    let (mut above, mut below) = (0.0, 0.0);
    for (mean, variance) in &points[1..] {
        above += (mean - dark_mean) * (variance - dark_variance);
        below += (mean - dark_mean) * (mean - dark_mean);
    }
    let gain = above / below;
    let expected = f64::from(FULL_SCALE) / CHIP.full_well_e;
    assert!((gain / expected - 1.0).abs() < 0.02, "{gain} {expected}");
    let read_e = (dark_variance - 1.0 / 12.0).sqrt() / gain;
    assert!((read_e / CHIP.read_noise_e - 1.0).abs() < 0.05, "{read_e}");
    let (brightest, _) = points[points.len() - 1];
    assert!(brightest > 1500.0 && brightest < 3900.0, "{brightest}");
}

#[test]
fn neighbours_have_noise_of_their_own() {
    let camera = camera();
    let pair = [0, 1].map(|number| taken(&camera, number, 500, [0, SIDE]));
    let noise: Vec<f64> =
        pair[0].iter().zip(&pair[1]).map(|(a, b)| f64::from(*a) - f64::from(*b)).collect();
    let variance = noise.iter().map(|n| n * n).sum::<f64>() / noise.len() as f64;
    for step in [1, SIDE as usize] {
        let together: f64 = noise.iter().zip(&noise[step..]).map(|(a, b)| a * b).sum();
        let share = together / noise.len() as f64 / variance;
        assert!(share.abs() < 0.03, "{step}: {share}");
    }
}

#[test]
fn a_frame_is_the_same_in_any_tiles() {
    let schedule = Schedule { start: SimTime::ZERO, duration_ns: None, period_ns: None };
    let faults = [
        // Blur brings light from other tiles.
        CameraFault::Defocus { blur_px: 7.0 },
        CameraFault::Dirt { spots: 5, size: 0.2, transmission: 0.3 },
        CameraFault::StuckPixels { share: 0.01, level: None },
    ];
    let faults: Vec<Timed<CameraFault>> =
        (0..).zip(faults).map(|(fault, kind)| Timed { fault, schedule, kind }).collect();
    let [sound, faulty] = [camera(), camera().with_faults(&faults)].map(|camera| {
        let whole = taken(&camera, 3, 500, [0, SIDE]);
        // The second and third tile start within a block of pixels.
        let parts = [[0, 37], [37, 54], [54, SIDE]].map(|rows| taken(&camera, 3, 500, rows));
        assert_eq!(whole, parts.concat());
        whole
    });
    assert_ne!(sound, faulty);
}
