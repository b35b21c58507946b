//! Tests of signs, windows and puddles in recorded packets, with nine rays and each profile's noise. Expected values
//! are computed here from the geometry and the equations of docs/MATERIALS.md.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use menura::config::profile::lidar::{BeamSettings, NoiseSettings};
use menura::engine::build_devices;
use menura::frames::Transform;
use menura::sensors::lidar::{Lidar, Scratch, Watch};
use menura::sensors::noise::NoiseSource;
use menura::sensors::pattern::LaserGeometry;
use menura::sensors::receiver::{EchoSelection, ReceiverSetting};
use menura::sensors::{
    FiringSlot, Measurement, MeasurementRequest, Outcome, RotorMotion, Sensor, Subject, Sweep,
};
use menura::time::{Epoch, SimTime};
use menura::wire::framer::Framer;
use menura::wire::sick_lms2xx::frame::{Item, Telegrams};
use menura::wire::sick_lms2xx::reply::{Body, Reply};
use menura::wire::velodyne::DataPacket;

use crate::common;

/// Height of the sensor above the floor, metres.
const SENSOR_M: f64 = 1.0;

/// An upright rectangle that faces the x axis: its distance, range of y, range of z (metres), and material.
type Wall<'a> = (f64, [f64; 2], [f64; 2], &'a str);

/// Writes walls and their materials as OBJ files into `folder`; returns the rig's `world` table. A material is `name`,
/// or `name = statements`.
fn scene(folder: &Path, walls: &[Wall<'_>]) -> String {
    let (mut obj, mut mtl) = ("mtllib m.mtl\n".to_owned(), String::new());
    for (index, (x, y, z, material)) in walls.iter().enumerate() {
        for (y, z) in [(y[0], z[0]), (y[1], z[0]), (y[1], z[1]), (y[0], z[1])] {
            writeln!(obj, "v {x} {y} {z}").unwrap();
        }
        let (name, statements) = material.split_once(" = ").unwrap_or((material, ""));
        let v = 4 * index + 1;
        writeln!(obj, "usemtl {name}{index}\nf {v} {} {} {}", v + 1, v + 2, v + 3).unwrap();
        writeln!(mtl, "newmtl {name}{index}\n{statements}").unwrap();
    }
    std::fs::write(folder.join("s.obj"), obj).unwrap();
    std::fs::write(folder.join("m.mtl"), mtl).unwrap();
    format!("[world]\nscene = \"{}\"\n", folder.join("s.obj").display())
}

/// A pulse of a VLP-16 as its packet reports it.
struct Shot {
    /// Unit vector in the sensor's axes: x forward, y left, z up.
    direction: [f64; 3],
    /// Range (metres) and intensity of each return: first the return in the block, then the return in its partner
    /// block.
    returns: [Option<(f64, u8)>; 2],
}

impl Shot {
    /// Positions of the returns in metres from the floor below the sensor, with their intensities.
    fn places(&self) -> impl Iterator<Item = ([f64; 3], u8)> {
        let [x, y, z] = self.direction;
        self.returns.iter().flatten().map(move |&(range_m, intensity)| {
            ([x * range_m, y * range_m, SENSOR_M + z * range_m], intensity)
        })
    }

    /// Range at which the beam crosses the plane at `x`, metres.
    fn range_to(&self, x: f64) -> f64 {
        x / self.direction[0]
    }

    /// Whether the beam crosses the plane at `x` between these y and z.
    fn meets(&self, x: f64, y: [f64; 2], z: [f64; 2]) -> bool {
        let range_m = self.range_to(x);
        let (at_y, at_z) = (self.direction[1] * range_m, SENSOR_M + self.direction[2] * range_m);
        range_m > 0.0 && (y[0]..=y[1]).contains(&at_y) && (z[0]..=z[1]).contains(&at_z)
    }
}

/// Two rotations of a VLP-16 in dual return, one metre above the origin, forward along x.
fn vlp16(world: &str, trajectory: &str) -> Vec<Shot> {
    let rig = format!(
        "seed = 5\n{world}[robot]\ntrajectory = {trajectory}\n[[device]]\nname = \"puck\"\n\
         profile = \"velodyne-vlp16-3.0\"\nmount = {{ translation_m = [0.0, 0.0, {SENSOR_M}] }}\n\
         link = {{ udp = {{ to = \"127.0.0.1:9\" }} }}\nsettings = {{ return_mode = \"dual\" }}\n"
    );
    let rig = common::rig(&rig, &[]);
    let [pcap] = common::captures(&rig, Duration::from_millis(200), ["puck"]);
    let mut shots = Vec::new();
    for (_, payload) in common::frames(&pcap) {
        // Position packets have another length.
        let Ok(packet) = DataPacket::parse(&payload) else { continue };
        for pair in packet.blocks.chunks_exact(2) {
            assert_eq!(pair[0].azimuth_centideg, pair[1].azimuth_centideg);
            for slot in 0..32 {
                // 600 rpm are 3.6 degrees per millisecond.
                let (laser, sequence) = (slot % 16, slot / 16);
                let after_us = 55.296 * sequence as f64 + 2.304 * laser as f64;
                let azimuth_deg = f64::from(pair[0].azimuth_centideg) / 100.0 + 3.6e-3 * after_us;
                let elevation_deg = if laser % 2 == 0 { laser as f64 - 15.0 } else { laser as f64 };
                let (sin_a, cos_a) = libm::sincos(azimuth_deg.to_radians());
                let (sin_e, cos_e) = libm::sincos(elevation_deg.to_radians());
                let seen = |block: usize| {
                    let point = pair[block].points[slot];
                    (point.distance > 0)
                        .then(|| (f64::from(point.distance) * 0.002, point.intensity))
                };
                shots.push(Shot {
                    direction: [cos_e * cos_a, -cos_e * sin_a, sin_e],
                    returns: [seen(0), seen(1)],
                });
            }
        }
    }
    assert!(shots.len() > 50_000, "{}", shots.len());
    shots
}

const STILL: &str = r#"{ kind = "still" }"#;

/// Ranges (metres) in the scans of an LMS 291-S14: 181 values over 90 degrees, from right to left.
fn lms291(world: &str) -> Vec<Vec<Option<f64>>> {
    let rig = format!(
        "seed = 5\n{world}[robot]\ntrajectory = {STILL}\n[[device]]\nname = \"lms\"\n\
         profile = \"sick-lms291-s14\"\nmount = {{ translation_m = [0.0, 0.0, {SENSOR_M}] }}\n\
         link = {{ pty = \"lms\" }}\n\
         settings = {{ baud_rate = 500000, power_on_mode = \"continuous\", unit = \"cm\" }}\n"
    );
    let rig = common::rig(&rig, &[]);
    let files = common::recorded(&rig, Duration::from_secs(1));
    let mut framer = Framer::new(Telegrams::default());
    let (mut rest, mut scans) = (&files["lms.bin"][..], Vec::new());
    while let Some(piece) = framer.next_piece(&mut rest) {
        let Some(Item::Telegram { payload, .. }) = piece.frame else { continue };
        if let Body::Scan { values, .. } = Reply::parse(&payload).unwrap().body {
            let metres = |&value: &u16| (value < 8000).then(|| f64::from(value) * 0.01);
            scans.push(values.values.iter().map(metres).collect());
        }
    }
    assert!(scans.len() > 20, "{}", scans.len());
    scans
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_sign_is_brighter_than_any_wall_near_and_far() {
    let folder = tempfile::tempdir().unwrap();
    let (near, far, wall) = ([-0.4, 0.4], [6.0, 12.0], [-9.0, -1.0]);
    let world = scene(
        folder.path(),
        &[
            (5.0, near, [0.6, 1.4], "stop sign"),
            (50.0, far, [-1.0, 3.0], "road_sign"),
            (5.0, wall, [0.0, 3.0], "wall = Kd 0.5 0.5 0.5"),
        ],
    );
    let shots = vlp16(&world, STILL);
    // Beams whose whole footprint is on the surface: the margin is 0.6 % of the range, half a footprint only 0.2 %.
    let bytes = |x: f64, y: [f64; 2], z: [f64; 2]| -> Vec<f64> {
        let inside = |range: [f64; 2]| [range[0] + 0.006 * x, range[1] - 0.006 * x];
        let on = shots.iter().filter(|shot| shot.meets(x, inside(y), inside(z)));
        on.map(|shot| {
            let (range_m, intensity) = shot.returns[0].expect("the sign is seen");
            assert!((range_m - shot.range_to(x)).abs() < 0.2, "{range_m} at {x}");
            f64::from(intensity)
        })
        .collect()
    };
    let (at_5, at_50) = (bytes(5.0, near, [0.6, 1.4]), bytes(50.0, far, [-1.0, 3.0]));
    assert!(at_5.len() > 100 && at_50.len() > 30, "{} {}", at_5.len(), at_50.len());
    assert!(at_5.iter().chain(&at_50).all(|&byte| byte > 100.0), "{at_5:?} {at_50:?}");
    // The intensity scale is that of reflectance, independent of the sign's distance.
    assert!((mean(&at_5) - mean(&at_50)).abs() < 5.0, "{} {}", mean(&at_5), mean(&at_50));
    let diffuse = bytes(5.0, [-4.0, -1.0], [0.5, 1.5]);
    assert!(diffuse.iter().all(|&byte| byte <= 60.0), "{diffuse:?}");
}

/// The nearer echo is that of the dirt on the pane. The farther one is that of the wall behind it, weakened by the two
/// faces of the pane on the way there and back.
#[test]
fn a_window_gives_two_echoes() {
    let folder = tempfile::tempdir().unwrap();
    let (y, z) = ([1.0, 6.0], [-1.0, 3.0]);
    let world = scene(
        folder.path(),
        &[(5.0, y, z, "window"), (9.0, [-20.0, 20.0], [-3.0, 6.0], "wall = Kd 0.6 0.6 0.6")],
    );
    let shots = vlp16(&world, STILL);
    let through: Vec<&Shot> =
        shots.iter().filter(|shot| shot.meets(5.0, [1.2, 5.0], [0.3, 1.7])).collect();
    assert!(through.len() > 300, "{}", through.len());
    let two = through.iter().filter(|shot| {
        let [Some(last), Some(other)] = shot.returns else { return false };
        (last.0 - shot.range_to(9.0)).abs() < 0.2 && (other.0 - shot.range_to(5.0)).abs() < 0.2
    });
    let share = two.count() as f64 / through.len() as f64;
    assert!(share > 0.99, "{share} of the beams through the window have two echoes");
    // Beside the window, only the wall is hit, and its return is stronger: the window transmits 0.85 of the light that
    // passes it there and back, minus the share of the dirt.
    let of_wall = |inside: bool| -> Vec<f64> {
        let y = if inside { [1.2, 1.8] } else { [-1.8, -1.2] };
        let met = shots.iter().filter(|shot| shot.meets(5.0, y, [0.5, 1.5]));
        met.map(|shot| f64::from(shot.returns[0].unwrap().1)).collect()
    };
    let (behind, beside) = (mean(&of_wall(true)), mean(&of_wall(false)));
    let expected = (0.921 * 0.98_f64).powi(2);
    assert!((behind / beside - expected).abs() < 0.03, "{behind} of {beside}");
}

/// The LMS 291 reports the nearest echo that it detects: that of the dirt on a near window, or that of the wall behind
/// a far window.
#[test]
fn a_scanner_of_one_echo_sees_the_near_window_and_looks_through_the_far_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |window_m: f64| {
        let wide = [-40.0, 40.0];
        let world = scene(
            folder.path(),
            &[
                (window_m, wide, [-2.0, 4.0], "window"),
                (window_m + 8.0, wide, [-2.0, 4.0], "wall = Kd 0.6 0.6 0.6"),
            ],
        );
        // Five to thirty degrees to the left, where there are no specular reflections.
        let scans = lms291(&world);
        let seen = scans.iter().flat_map(|scan| {
            (100..=150).map(|place| {
                let along = libm::cos((0.5 * (place as f64 - 90.0)).to_radians());
                scan[place].map(|range_m| range_m * along)
            })
        });
        seen.collect::<Vec<Option<f64>>>()
    };
    let assert_all_at = |seen: Vec<Option<f64>>, expected: f64| {
        let off: Vec<_> =
            seen.iter().filter(|x| x.is_none_or(|x| (x - expected).abs() > 0.15)).collect();
        assert!(off.is_empty(), "{} of {} not at {expected} m: {off:?}", off.len(), seen.len());
    };
    assert_all_at(at(5.0), 5.0);
    // A reflectance of 0.02 is detected up to 13 m; at 24 m it is more than four standard deviations below the
    // threshold.
    assert_all_at(at(24.0), 32.0);
}

/// On the street's puddle, 8 m away, the lidar of a static robot detects the mirror image of the car behind the puddle,
/// or nothing.
#[test]
fn a_puddle_is_missing_or_mirrors_what_stands_behind_it() {
    let street = |radius_m: f64| {
        let world = format!(
            "[world]\nscene = \"street\"\nparameters = {{ puddle_radius_m = {radius_m:?} }}\n"
        );
        vlp16(&world, STILL)
    };
    let (with, without) = (street(1.9), street(0.0));
    // Range at which a beam hits the puddle, beyond 7.5 m; nearer, its bottom may be detected.
    let to_puddle = |shot: &Shot| -> Option<f64> {
        let range_m = -SENSOR_M / shot.direction[2];
        let [x, y] = [shot.direction[0] * range_m, shot.direction[1] * range_m];
        (libm::hypot(x - 8.0, y - 1.8) < 1.8 && range_m > 7.5).then_some(range_m)
    };
    let over = |shots| -> Vec<(f64, &Shot)> {
        let shots: &Vec<Shot> = shots;
        shots.iter().filter_map(|shot| Some((to_puddle(shot)?, shot))).collect()
    };
    let is_seen = |&(range_m, shot): &(f64, &Shot)| {
        shot.returns.iter().flatten().any(|seen| (seen.0 - range_m).abs() < 0.2)
    };
    let (wet, dry) = (over(&with), over(&without));
    assert!(wet.len() > 100 && wet.len() == dry.len(), "{} {}", wet.len(), dry.len());
    assert!(dry.iter().all(is_seen), "dry asphalt is seen");
    assert!(!wet.iter().any(is_seen), "of the water nothing is seen");
    let images: Vec<[f64; 3]> =
        wet.iter().flat_map(|(_, shot)| shot.places()).map(|(place, _)| place).collect();
    assert!(images.iter().all(|place| place[2] < -0.1), "{images:?}");
    let of_car = images.iter().filter(|[x, y, z]| {
        (x - 10.0).abs() < 0.15 && (1.6..3.6).contains(y) && (-1.5..-0.2).contains(z)
    });
    let (of_car, missing) =
        (of_car.count(), wet.len() - wet.iter().filter(|(_, s)| s.places().count() > 0).count());
    assert!(of_car > 50, "{of_car} points of the mirrored car");
    assert!(missing > 20, "{missing} beams without a return");
    let is_below = |place: &([f64; 3], u8)| place.0[2] < -0.1;
    assert_eq!(without.iter().flat_map(Shot::places).filter(is_below).count(), 0);
}

/// Fires a lidar with one beam, 0.1 rad from straight ahead, at a wide box `car_m` metres ahead, the only watched object.
/// Returns for each of `sweeps` the range of its return, metres, and whether the lidar noticed the box. `scene` has the
/// rig's tables of the world.
fn watched_car(
    scene: &str,
    car_m: f64,
    selection: EchoSelection,
    sweeps: u64,
) -> Vec<(Option<f32>, bool)> {
    let rig = format!(
        "{scene}[[world.object]]\nname = \"car\"\nbody = \"box\"\nsize_m = [1.0, 20.0, 2.0]\n\
         trajectory = {{ kind = \"still\", position_m = [{}, 0.0, 0.0] }}\n\
         [robot]\ntrajectory = {STILL}\n[[device]]\nname = \"a\"\nprofile = \"velodyne-vlp16-3.0\"\n\
         link = {{ udp = {{ to = \"127.0.0.1:9\" }} }}\n",
        car_m + 0.5
    );
    let (_, world) = common::load(&rig);
    let beam = BeamSettings { max_range_m: 100.0, ..BeamSettings::default() };
    let seed = NoiseSource::new(0, "a");
    let lidar = Lidar::new(vec![LaserGeometry::default()], &beam, &NoiseSettings::default(), seed);
    let mount = Transform::from_rpy(glam::DVec3::Z * SENSOR_M, 0.0, 0.0, 0.0);
    let fire = |number| {
        let sweep = Sweep {
            number,
            rotor: RotorMotion::even(0.1, 0.0),
            selection,
            receiver: ReceiverSetting::default(),
            firings: [FiringSlot { offset_ns: 0, laser: 0 }].into(),
        };
        let subject = Subject::Sweep(sweep);
        let request = MeasurementRequest { index: 0, start: SimTime::ZERO, subject };
        let mut scratch = Scratch::default();
        scratch.set_watch(Watch { objects: 1, ..world.watch });
        let measured = lidar.measure(request, &world.surroundings(&mount), &mut scratch);
        let Outcome::Returns(returns) = &measured.outcome else { panic!("no returns") };
        (returns[0].first.map(|echo| echo.range_m), measured.seen == 1)
    };
    (0..sweeps).map(fire).collect()
}

/// An object behind a window counts as seen if the detector reports the object's echo, but not if it reports the
/// window's echo.
#[test]
fn a_stimulus_is_seen_through_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let world = scene(folder.path(), &[(5.0, [-5.0, 5.0], [-1.0, 3.0], "window")]);
    for (selection, range_m, is_seen) in
        [(EchoSelection::First, 5.0, false), (EchoSelection::Strongest, 8.5, true)]
    {
        let fired = watched_car(&world, 8.5, selection, 1);
        let error_m = fired[0].0.unwrap() - range_m / 0.995;
        assert!(error_m.abs() < 0.01 && fired[0].1 == is_seen, "{selection:?}: {fired:?}");
    }
}

/// In the rain of Goodin et al. 2019 the range of a car at 40 m has an error of 0.8 m. The car counts as seen all the
/// same, and only in sweeps with a return.
#[test]
fn a_stimulus_is_seen_in_rain() {
    let folder = tempfile::tempdir().unwrap();
    let world = scene(folder.path(), &[(90.0, [-5.0, 5.0], [-1.0, 3.0], "wall")]);
    let weather = "[world.weather.rain]\nrate_mm_h = 5.0\nlaw = \"goodin_2019\"\n";
    let fired = watched_car(&format!("{world}{weather}"), 40.0, EchoSelection::Strongest, 200);
    let errors: Vec<f64> =
        fired.iter().flat_map(|(r, _)| r.map(|r| f64::from(r) - 40.0 / 0.995)).collect();
    assert!(fired.iter().all(|(range_m, is_seen)| range_m.is_some() == *is_seen), "{fired:?}");
    let deviation_m = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
    assert!(errors.len() > 150 && (deviation_m - 0.8).abs() < 0.15, "{fired:?}");
}

/// Sweeps that are measured in one call, with returns through windows and from puddles, a moving object, rain or clear
/// air, a fault and ground truth, are those that are measured one by one.
#[test]
fn sweeps_measured_together_are_those_measured_alone() {
    for rain in ["", "[world.weather.rain]\nrate_mm_h = 20.0\n"] {
        let (rig, world) = common::load(&format!("{TOGETHER}{rain}"));
        let epoch = Epoch::new("2026-01-01T00:00:00Z".parse().unwrap());
        let mut seen = 0;
        for (mut built, device) in build_devices(&rig, epoch).into_iter().zip(&rig.devices) {
            let horizon = SimTime(200_000_000);
            let requests = std::iter::from_fn(|| built.device.poll_request(horizon));
            let sweeps = requests.filter(|request| matches!(request.subject, Subject::Sweep(_)));
            let requests: Vec<MeasurementRequest> = sweeps.take(12).collect();
            assert!(requests.len() > 2, "{}", device.name);
            let surroundings = world.surroundings(&device.body_from_sensor);
            let mut scratch = Scratch::default();
            scratch.set_watch(Watch { objects: 1, ..world.watch });
            let told =
                |all: Vec<Measurement>| all.iter().map(|m| format!("{m:?}")).collect::<Vec<_>>();
            for keeps_truth in [false, true] {
                scratch.keep_truth(keeps_truth);
                let each = |request: &MeasurementRequest| {
                    built.sensor.measure(request.clone(), &surroundings, &mut scratch)
                };
                let alone: Vec<Measurement> = requests.iter().map(each).collect();
                seen += alone.iter().filter(|measured| measured.seen == 1).count();
                let together =
                    built.sensor.measure_all(requests.clone(), &surroundings, &mut scratch);
                assert_eq!(told(together), told(alone), "{} {rain}", device.name);
            }
        }
        assert!(seen > 0, "no lidar sees the car");
    }
}

/// A rig in the wet street with a car that moves, and lidars with two returns, with five echoes and with an IMU.
const TOGETHER: &str = r#"
seed = 3
[world]
scene = "street"
parameters = { puddle_radius_m = 1.9, wetness = 0.6 }
[[world.object]]
name = "car"
body = "car"
size_m = [4.0, 1.8, 1.5]
trajectory = { kind = "circle", radius_m = 5.0, speed_m_s = 6.0 }
[robot]
trajectory = { kind = "line", start_m = [-4.0, 0.0, 0.0], speed_m_s = 1.0 }
[[device]]
name = "puck"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = "udp:127.0.0.1:2368"
settings = { return_mode = "dual" }
[[device]]
name = "scanner"
profile = "sick-lms511"
mount = { translation_m = [0.3, 0.0, 0.6] }
link = { tcp = ["127.0.0.1:2111", "127.0.0.1:2112"] }
settings = { power_on_stream = "cola-b" }
[[device]]
name = "mid"
profile = "livox-mid360"
mount = { translation_m = [0.0, 0.3, 1.0] }
link = { udp = { to = "127.0.0.1:56301" } }
[[fault]]
device = "puck"
kind = "window-dirty"
transmission = 0.4
start_s = 0.0
"#;
