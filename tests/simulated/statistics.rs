//! Statistics of recorded packets in a static scene: spread of ranges, intensities and azimuths, pulses without a
//! return, and the maximum ranges of Velodyne's and SICK's lidars. The scene consists of panels that face the sensor;
//! pulses have all their rays and the profile's noise. Expected values are computed here from the profiles' numbers and
//! the equations of docs/PHYSICS.md.
//!
//! Seeds are fixed, so a test passes always or never. A correct device exceeds each limit with one of ten thousand
//! seeds; each test also shows that it detects devices that are wrong by some per cent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use menura::analysis::capture::{CaptureReader, Source};
use menura::analysis::flows::{Analysis, ports_of};
use menura::analysis::stream::RecordedStream;
use menura::config::rig::Rig;
use menura::devices::decoder::Hints;
use menura::devices::decoder::datagram::DATA;
use menura::devices::families::catalogue;
use menura::engine::record::record;
use menura::wire::ethernet::Content;
use menura::wire::velodyne::{DATA_PACKET_LEN, DataPacket};

use crate::common;

/// Value that a standard normal variable exceeds with the probability 1e-4.
const Z_1E4: f64 = 3.719;
/// Height of the sensor and of the centre of every panel, metres.
const HEIGHT_M: f64 = 50.0;

/// A panel that faces the sensor.
#[derive(Clone, Copy, Debug)]
struct Panel {
    /// Azimuth of the centre, clockwise from forward, degrees.
    azimuth_deg: f64,
    range_m: f64,
    reflectance: f64,
    /// Width and height as angles seen from the sensor, degrees.
    angles_deg: [f64; 2],
}

impl Panel {
    fn size_m(&self) -> [f64; 2] {
        self.angles_deg.map(|angle| 2.0 * self.range_m * libm::tan(angle.to_radians() / 2.0))
    }
}

/// The numeric values of a profile's file, by the path of their keys.
struct Numbers(toml::Table);

impl Numbers {
    fn of(profile: &str) -> Self {
        let path = format!("{}/firmware-profiles/{profile}.toml", env!("CARGO_MANIFEST_DIR"));
        Self(std::fs::read_to_string(path).unwrap().parse().unwrap())
    }

    fn get(&self, path: &str) -> f64 {
        let mut keys = path.split('.');
        let mut value = &self.0[keys.next().unwrap()];
        for key in keys {
            value = &value[key];
        }
        value.as_float().or(value.as_integer().map(|whole| whole as f64)).unwrap()
    }

    /// Signal at the detection limit: reflectance divided by the square of the range, for the target of the data sheet.
    fn threshold(&self) -> f64 {
        self.get("beam.sees.reflectance") / self.get("beam.sees.at_m").powi(2)
    }

    /// Variance of the measured range for a given signal, m².
    fn range_variance_m2(&self, signal: f64) -> f64 {
        let power = self.get("noise.weak_range_power");
        let weakness = libm::pow(self.threshold() / signal, power);
        self.get("noise.range_std_m").powi(2)
            + self.get("noise.weak_range_std_m").powi(2) * weakness
    }

    /// Probability that a signal is detected, if the threshold is `k` times the noise.
    fn detection(&self, signal: f64, k: f64) -> f64 {
        let above = k * (signal / self.threshold() - 1.0);
        0.5 * libm::erfc(-above / std::f64::consts::SQRT_2)
    }

    /// Range at which half of the pulses on a panel are detected, or the largest reported range, metres.
    fn reach_m(&self, reflectance: f64) -> f64 {
        (reflectance / self.threshold()).sqrt().min(self.get("beam.max_range_m"))
    }
}

/// Value that a chi-squared variable with `freedom` degrees of freedom exceeds with the same probability as a standard
/// normal variable exceeds `z` (Wilson and Hilferty 1931).
fn chi_squared(freedom: f64, z: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + z * spread.sqrt()).powi(3)
}

/// A rig with one device, and panels as objects.
fn rig(folder: &Path, profile: &str, panels: &[Panel], seed: u64, settings: &str) -> Rig {
    // A scene must not be empty; this triangle is behind the sensor and far below.
    std::fs::write(folder.join("speck.obj"), "v -1 0 -900\nv -2 0 -900\nv -1 1 -900\nf 1 2 3\n")
        .unwrap();
    let mut text = format!(
        "seed = {seed}\nstart_utc = 2026-06-01T12:00:00Z\n[world]\nscene = \"speck.obj\"\n[robot]\n\
         trajectory = {{ kind = \"still\" }}\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        let (sin, cos) = libm::sincos(-panel.azimuth_deg.to_radians());
        let [width_m, height_m] = panel.size_m();
        // The panel's front is at the range; the origin of a box is in the middle of its bottom.
        let (middle_m, foot_m) = (panel.range_m + 0.05, HEIGHT_M - height_m / 2.0);
        text += &format!(
            "[[world.object]]\nname = \"panel-{index}\"\nbody = \"box\"\n\
             size_m = [0.1, {width_m}, {height_m}]\nreflectance = {}\n\
             trajectory = {{ kind = \"still\", position_m = [{}, {}, {foot_m}], yaw_deg = {} }}\n",
            panel.reflectance,
            middle_m * cos,
            middle_m * sin,
            -panel.azimuth_deg,
        );
    }
    let link = match profile.split('-').nth(1).unwrap() {
        "lms111" | "lms511" => "{ tcp = \"127.0.0.1:0\" }",
        scanner if scanner.starts_with("lms") => "{ pty = \"device\" }",
        _ => "{ udp = { to = \"127.0.0.1:9\" } }",
    };
    text += &format!(
        "[[device]]\nname = \"device\"\nprofile = \"{profile}\"\nlink = {link}\n\
         mount = {{ translation_m = [0.0, 0.0, {HEIGHT_M}] }}\nsettings = {{ {settings} }}\n"
    );
    Rig::parse("test rig", &text, folder, &[], catalogue()).unwrap_or_else(|f| panic!("{f}"))
}

/// Elevations of a VLP-16's lasers, degrees, in the order of firing (manual 63-9243, table 9-1).
const VLP16_DEG: [f64; 16] =
    [-15., 1., -13., 3., -11., 5., -9., 7., -7., 9., -5., 11., -3., 13., -1., 15.];
/// Time between the starts of firing sequences, microseconds (manual 63-9243).
const SEQUENCE_US: f64 = 55.296;
/// Time between lasers of a firing sequence, microseconds (manual 63-9243).
const LASER_US: f64 = 2.304;
/// Rotation at 600 rpm, degrees per microsecond.
const DEG_A_US: f64 = 360.0 / 1e5;

/// A shot of a VLP-16, as its packet reports it.
#[derive(Clone, Copy, Debug)]
struct Shot {
    laser: usize,
    /// Azimuth clockwise from forward, computed from the block's azimuth and the firing time, degrees, -180 to 180.
    azimuth_deg: f64,
    /// Range, metres; `None` without a return.
    range_m: Option<f64>,
    intensity: u8,
}

impl Shot {
    /// Azimuth relative to a panel's centre, radians.
    fn beside_rad(&self, panel: &Panel) -> f64 {
        (self.azimuth_deg - panel.azimuth_deg).to_radians()
    }

    /// Range to the plane of a panel (metres), and the cosine of incidence there.
    fn geometry(&self, panel: &Panel) -> (f64, f64) {
        let cosine =
            libm::cos(VLP16_DEG[self.laser].to_radians()) * libm::cos(self.beside_rad(panel));
        (panel.range_m / cosine, cosine)
    }

    /// Signal of a shot whose whole footprint is on a panel.
    fn signal(&self, panel: &Panel) -> f64 {
        let (range_m, cosine) = self.geometry(panel);
        panel.reflectance * cosine / (range_m * range_m)
    }
}

/// Data packets in the recording of a VLP-16.
fn vlp16_packets(
    folder: &Path,
    panels: &[Panel],
    seed: u64,
    settings: &str,
    seconds: f64,
) -> Vec<DataPacket> {
    let rig = rig(folder, "velodyne-vlp16-3.0", panels, seed, settings);
    let [pcap] = common::captures(&rig, Duration::from_secs_f64(seconds), ["device"]);
    let frames = common::frames(&pcap).into_iter();
    let data = frames.filter(|(_, payload)| payload.len() == DATA_PACKET_LEN);
    data.map(|(_, payload)| DataPacket::parse(&payload).unwrap()).collect()
}

fn vlp16_shots(packets: &[DataPacket]) -> impl Iterator<Item = Shot> {
    let blocks = packets.iter().flat_map(|packet| &packet.blocks);
    blocks.flat_map(|block| {
        block.points.iter().enumerate().map(|(slot, point)| {
            let laser = slot % 16;
            let after_us = (slot / 16) as f64 * SEQUENCE_US + laser as f64 * LASER_US;
            let azimuth_deg = f64::from(block.azimuth_centideg) / 100.0 + after_us * DEG_A_US;
            Shot {
                laser,
                azimuth_deg: (azimuth_deg + 180.0).rem_euclid(360.0) - 180.0,
                range_m: (point.distance != 0).then(|| f64::from(point.distance) * 0.002),
                intensity: point.intensity,
            }
        })
    })
}

/// Sums over normalised errors.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Spread {
    fn add(&mut self, normalised: f64) {
        self.count += 1.0;
        self.sum += normalised;
        self.squares += normalised * normalised;
    }

    /// Whether the errors, divided by `scale`, can be normal with mean 0 and variance 1: the sum of squares is then
    /// chi-squared, and the mean is normal.
    fn is_standard(&self, scale: f64) -> bool {
        let squares = self.squares / (scale * scale);
        let mean = self.sum / scale / self.count.sqrt();
        let limits = [-Z_1E4, Z_1E4].map(|z| chi_squared(self.count, z));
        (limits[0]..=limits[1]).contains(&squares) && mean.abs() < Z_1E4
    }
}

/// Strong and weak signals of a VLP-16: each laser's ranges (about the plane of the panel) and intensities spread as
/// the profile states.
#[test]
fn ranges_and_intensities_of_each_laser_spread_as_the_profile_says() {
    let numbers = Numbers::of("velodyne-vlp16-3.0");
    let panel = |azimuth_deg, range_m, reflectance| Panel {
        azimuth_deg,
        range_m,
        reflectance,
        angles_deg: [10.0, 34.0],
    };
    let panels = [panel(-10.0, 6.0, 0.6), panel(10.0, 24.0, 0.12)];
    let folder = tempfile::tempdir().unwrap();
    let packets = vlp16_packets(folder.path(), &panels, 41, "sector_deg = [345, 15]", 2.0);
    let mut spreads: BTreeMap<(usize, usize), [Spread; 2]> = BTreeMap::new();
    let mut missing = 0;
    for shot in vlp16_shots(&packets) {
        // Use only beams whose whole footprint is on the panel.
        let hit = panels.iter().enumerate().find(|(_, panel)| shot.beside_rad(panel).abs() < 0.07);
        let Some((place, panel)) = hit else { continue };
        let Some(range_m) = shot.range_m else {
            missing += 1;
            continue;
        };
        let (true_m, cosine) = shot.geometry(panel);
        // Distances have steps of 2 mm, intensities have steps of one.
        let range_variance =
            numbers.range_variance_m2(shot.signal(panel)) + 0.002f64.powi(2) / 12.0;
        let [ranges, intensities] = spreads.entry((place, shot.laser)).or_default();
        ranges.add((range_m - true_m) / range_variance.sqrt());
        let step = 100.0 * numbers.get("noise.intensity_std");
        let of_full_scale = f64::from(shot.intensity) - 100.0 * panel.reflectance * cosine;
        intensities.add(of_full_scale / (step * step + 1.0 / 12.0).sqrt());
    }
    assert_eq!((missing, spreads.len()), (0, 32), "both panels are seen by every laser and pulse");
    for ((place, laser), [ranges, intensities]) in &spreads {
        let what = format!("panel {place}, laser {laser}: {ranges:?} {intensities:?}");
        assert!(ranges.count > 500.0, "{what}");
        assert!(ranges.is_standard(1.0), "{what}");
        assert!(intensities.is_standard(1.0), "{what}");
        // A spread that is wrong by a quarter is detected, for each laser.
        for scale in [0.8, 1.25] {
            assert!(!ranges.is_standard(scale) && !intensities.is_standard(scale), "{what}");
        }
    }
}

/// The azimuths in packets vary about the rotor's azimuth by the profile's value.
#[test]
fn azimuths_spread_as_the_profile_says() {
    let numbers = Numbers::of("velodyne-vlp16-3.0");
    let folder = tempfile::tempdir().unwrap();
    let packets =
        vlp16_packets(folder.path(), &[], 42, "beam = { rays = 1, shape = \"ray\" }", 0.5);
    let told = numbers.get("packet.azimuth_jitter_centideg");
    // Azimuths have steps of 0.01 degrees.
    let std_centideg = (told * told + 1.0 / 12.0).sqrt();
    let mut spread = Spread::default();
    let blocks = packets.iter().flat_map(|packet| &packet.blocks);
    for (number, block) in blocks.enumerate() {
        let turned = number as f64 * 2.0 * SEQUENCE_US * DEG_A_US * 100.0;
        let off = f64::from(block.azimuth_centideg) - turned;
        spread.add(((off + 18_000.0).rem_euclid(36_000.0) - 18_000.0) / std_centideg);
    }
    assert!(spread.count > 4000.0 && spread.is_standard(1.0), "{spread:?}");
    assert!(!spread.is_standard(0.92) && !spread.is_standard(1.08), "{spread:?}");
}

/// If a beam with a direction error hits a panel at an oblique angle, the direction error also spreads the measured
/// ranges.
#[test]
fn errors_of_direction_show_on_what_the_beam_meets_aslant() {
    let numbers = Numbers::of("velodyne-vlp16-3.0");
    let slant = 0.9;
    let (azimuth_std_deg, range_m) = (0.1f64, 10.0);
    // A panel whose centre is 52 degrees beside the sensor's forward direction.
    let beside_deg = f64::to_degrees(slant);
    let panel = Panel {
        azimuth_deg: -beside_deg,
        range_m,
        reflectance: 0.6,
        angles_deg: [2.0 * beside_deg + 12.0, 20.0],
    };
    let folder = tempfile::tempdir().unwrap();
    let spread_with = |std_deg: f64, seed| {
        let settings = format!("sector_deg = [357, 3], noise = {{ azimuth_std_deg = {std_deg} }}");
        let packets = vlp16_packets(folder.path(), &[panel], seed, &settings, 2.0);
        let mut spread = Spread::default();
        for shot in vlp16_shots(&packets) {
            // Use only lasers near the horizon, so that only the azimuth matters.
            let is_level = VLP16_DEG[shot.laser].abs() < 4.0;
            if !is_level || shot.azimuth_deg.abs() > 2.0 {
                continue;
            }
            let (true_m, _) = shot.geometry(&panel);
            // Change of the range with the direction; the jitter of the reported azimuth counts as an error too.
            let per_rad = true_m * libm::tan(shot.beside_rad(&panel));
            let jitter_deg = numbers.get("packet.azimuth_jitter_centideg") / 100.0;
            let step_deg = 0.01f64 / 12f64.sqrt();
            let angle_variance = [azimuth_std_deg, jitter_deg, step_deg]
                .iter()
                .map(|deg| deg.to_radians().powi(2))
                .sum::<f64>();
            let variance = numbers.range_variance_m2(shot.signal(&panel))
                + 0.002f64.powi(2) / 12.0
                + per_rad * per_rad * angle_variance;
            spread.add((shot.range_m.expect("a near panel") - true_m) / variance.sqrt());
        }
        assert!(spread.count > 1000.0, "{spread:?}");
        spread
    };
    let right = spread_with(azimuth_std_deg, 43);
    // Shots of one block share the jitter of the reported azimuth, which is small relative to the error.
    assert!(right.is_standard(1.0), "{right:?}");
    for wrong in [0.0, 0.85 * azimuth_std_deg, 1.15 * azimuth_std_deg] {
        let wrong = spread_with(wrong, 43);
        assert!(!wrong.is_standard(1.0), "{wrong:?}");
    }
}

/// At each reflectance and range, the share of pulses without a return is the probability that noise moves the signal
/// below the threshold.
#[test]
fn pulses_are_lost_near_the_threshold_as_the_model_says() {
    let numbers = Numbers::of("velodyne-vlp16-3.0");
    let mut panels = Vec::new();
    for reflectance in [0.05, 0.2, 0.5] {
        for over_threshold in [0.75, 0.88, 1.0, 1.12, 1.3f64] {
            panels.push(Panel {
                azimuth_deg: panels.len() as f64 * 3.0 - 21.0,
                range_m: (reflectance / (numbers.threshold() * over_threshold)).sqrt(),
                reflectance,
                angles_deg: [2.4, 5.0],
            });
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let packets = vlp16_packets(folder.path(), &panels, 44, "sector_deg = [336, 24]", 3.0);
    // `found` has the numbers of shots and of returns for each panel. `expected` has, for each model and panel, the
    // sums of detection probabilities and of their variances.
    let k = numbers.get("noise.signal_to_noise");
    let mut found = vec![(0.0, 0.0); panels.len()];
    let models = [(1.0, k), (1.0, 0.8 * k), (1.0, 1.25 * k), (0.97, k), (1.03, k)];
    let mut expected = vec![vec![(0.0, 0.0); panels.len()]; models.len()];
    for shot in vlp16_shots(&packets) {
        // Use only the lasers at one degree above and below the horizon.
        if VLP16_DEG[shot.laser].abs() > 1.5 {
            continue;
        }
        let hit =
            panels.iter().position(|panel| shot.beside_rad(panel).abs() < 0.9f64.to_radians());
        let Some(place) = hit else { continue };
        let signal = shot.signal(&panels[place]);
        found[place].0 += 1.0;
        found[place].1 += f64::from(u8::from(shot.range_m.is_some()));
        for ((strength, k), sums) in models.iter().zip(&mut expected) {
            let p = numbers.detection(signal * strength, *k);
            sums[place].0 += p;
            sums[place].1 += p * (1.0 - p);
        }
    }
    let statistic = |model: usize| -> f64 {
        let each = found.iter().zip(&expected[model]);
        each.map(|((_, seen), (mean, variance))| (seen - mean).powi(2) / variance).sum()
    };
    let limit = chi_squared(panels.len() as f64, Z_1E4);
    let shares: Vec<String> =
        found.iter().map(|(shots, seen)| format!("{:.3} of {shots}", seen / shots)).collect();
    assert!(found.iter().all(|(shots, _)| *shots > 300.0), "{shares:?}");
    assert!(statistic(0) < limit, "{} over {limit}: {shares:?}", statistic(0));
    for (wrong, model) in models.iter().enumerate().skip(1) {
        assert!(statistic(wrong) > limit, "{model:?}: {} {shares:?}", statistic(wrong));
    }
}

/// A point of a recording.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Azimuth clockwise from forward, degrees.
    azimuth_deg: f64,
    elevation_deg: f64,
    /// Horizontal position: forward and left, metres.
    flat_m: [f64; 2],
}

/// Points of a recording, read by the analysis layer.
fn points(recording: &Path, profile: &str) -> Vec<Point> {
    let profile = catalogue().profile(profile).unwrap_or_else(|faults| panic!("{faults}"));
    let (pcap, stream) = (recording.join("device.pcap"), recording.join("device.bin"));
    let point = |[x, y, z]: [f64; 3]| Point {
        azimuth_deg: -libm::atan2(y, x).to_degrees(),
        elevation_deg: libm::atan2(z, libm::hypot(x, y)).to_degrees(),
        flat_m: [x, y],
    };
    let mut all = Vec::new();
    if stream.exists() {
        let mut stream = RecordedStream::open(&stream, Some(&profile), false).unwrap();
        for number in 1.. {
            let Ok(scan) = stream.scan(number).unwrap() else { break };
            all.extend(scan.points().map(|[x, y]| point([x, y, 0.0])));
        }
        return all;
    }
    let hints = Hints { profile: Some(&profile), ..Hints::default() };
    let mut analysis = Analysis::new(&hints).unwrap_or_else(|faults| panic!("{faults}"));
    let mut reader = CaptureReader::open(Source::File(&pcap)).unwrap();
    while let Some(captured) = reader.next_frame() {
        analysis.see(&captured.unwrap());
    }
    let (flow, _) = analysis.main_data_flow().expect("data packets");
    let sender = flow.senders.likeliest().unwrap();
    let source = sender.point_source().unwrap();
    let mut reader = CaptureReader::open(Source::File(&pcap)).unwrap();
    let mut cloud = Vec::new();
    while let Some(captured) = reader.next_frame() {
        let captured = captured.unwrap();
        let Ok(Content::Udp(datagram)) = Content::find(captured.link, captured.frame) else {
            panic!("a frame that is no datagram")
        };
        if sender.head(ports_of(&datagram), datagram.payload).is_some_and(|head| head.kind == DATA)
        {
            for block in 0..sender.sweep(datagram.payload).azimuths_centideg.len() {
                (source.decode)(datagram.payload, block, &mut cloud);
            }
        }
    }
    all.extend(cloud.iter().map(|seen| point(seen.position_m.to_array())));
    all
}

/// Points in a device's recording of panels.
fn recorded(profile: &str, panels: &[Panel], settings: &str, seconds: f64) -> Vec<Point> {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), profile, panels, 45, settings);
    let world = common::world(&rig);
    let (duration, stop) = (Duration::from_secs_f64(seconds), AtomicBool::new(false));
    record(&rig, &world, duration, None, folder.path(), &stop, |_| {}).unwrap();
    points(folder.path(), profile)
}

/// Number of points of a device's recording on each panel.
fn counts(profile: &str, panels: &[Panel], settings: &str, seconds: f64) -> Vec<f64> {
    let points = recorded(profile, panels, settings, seconds);
    let on = |panel: &Panel| {
        let is_on = |point: &&Point| {
            (point.azimuth_deg - panel.azimuth_deg).abs() < 2.4 && point.elevation_deg.abs() < 1.2
        };
        points.iter().filter(is_on).count() as f64
    };
    panels.iter().map(on).collect()
}

/// Panels with reflectances of 10 % and 80 % stand at 0.9 and 1.1 times the detection range of the profile. The share
/// of pulses with a return is the detection probability of a signal of this strength; beyond the largest reported range
/// it is 0. A second recording, with a detector that detects everything, gives the number of pulses on each panel.
fn sees_as_far_as_its_profile_says(profile: &str, settings: &str, seconds: f64) {
    let numbers = Numbers::of(profile);
    let wanted = [(0.1, 0.9), (0.1, 1.1), (0.8, 0.9), (0.8, 1.1)];
    let panels: Vec<Panel> = wanted
        .iter()
        .enumerate()
        .map(|(place, &(reflectance, of_reach))| Panel {
            azimuth_deg: place as f64 * 10.0 - 15.0,
            range_m: numbers.reach_m(reflectance) * of_reach,
            reflectance,
            angles_deg: [8.0, 5.0],
        })
        .collect();
    let all_seeing =
        format!("{settings}, beam = {{ sees = {{ reflectance = 0.001, at_m = 100.0 }} }}");
    let fired = counts(profile, &panels, &all_seeing, seconds);
    // The farther panel has the same angular size, so the same number of pulses hit it.
    let fired = [fired[0], fired[0], fired[2], fired[2]];
    let seen = counts(profile, &panels, settings, seconds);
    for ((panel, fired), seen) in panels.iter().zip(&fired).zip(&seen) {
        let what = format!("{profile}: {seen} of {fired}, {panel:?}");
        assert!(*fired > 60.0, "{what}");
        let signal = panel.reflectance / (panel.range_m * panel.range_m);
        let is_reported = panel.range_m <= numbers.get("beam.max_range_m");
        let k = numbers.get("noise.signal_to_noise");
        let p = if is_reported { numbers.detection(signal, k) } else { 0.0 };
        let tolerance = Z_1E4 * (p * (1.0 - p) / fired).sqrt() + 0.01;
        assert!((seen / fired - p).abs() < tolerance, "{what}: not {p:.3}");
    }
    // By the data sheet and the model, half of the pulses return at a range between the two.
    for pair in [0, 2] {
        let share = |place: usize| seen[place] / fired[place];
        assert!(share(pair) > 0.75 && share(pair + 1) < 0.4, "{profile}: {seen:?} of {fired:?}");
    }
}

/// Names of the lidar profiles that contain one of these words.
fn lidars(words: &[&str]) -> Vec<String> {
    let names = catalogue().profiles().iter().map(|profile| profile.name.clone());
    names.filter(|name| words.iter().any(|word| name.contains(word))).collect()
}

/// A standard normal variable `x` has `|x| > Z_1E6` with the probability 1e-6; for tests of hundreds of lasers.
const Z_1E6: f64 = 4.892;

/// Points of each laser on a panel ahead are distributed about its plane as the profile states. Their spread about the
/// laser's own mean is chi-squared with one degree of freedom less than the number of points, and the means of all
/// lasers spread by the profile's error between lasers. Lasers are distinguished by their elevation. Returns the number
/// of lasers.
fn spreads_as_its_profile_says(profile: &str, settings: &str, seconds: f64, step_m: f64) -> usize {
    let numbers = Numbers::of(profile);
    let panel =
        Panel { azimuth_deg: 0.0, range_m: 7.0, reflectance: 0.6, angles_deg: [12.0, 44.0] };
    let points = recorded(profile, &[panel], settings, seconds);
    let is_on = |point: &&Point| point.azimuth_deg.abs() < 4.0 && point.elevation_deg.abs() < 16.0;
    let mut points: Vec<Point> = points.iter().filter(is_on).copied().collect();
    points.sort_by(|a, b| a.elevation_deg.total_cmp(&b.elevation_deg));
    let lasers: Vec<&[Point]> =
        points.chunk_by(|a, b| b.elevation_deg - a.elevation_deg < 0.03).collect();
    let own_std_m = numbers.get("noise.laser_range_std_m");
    let [mut of_means, mut of_shots] = [Spread::default(); 2];
    for shots in &lasers {
        let mut errors = Spread::default();
        let count = shots.len() as f64;
        for point in *shots {
            let cosine = libm::cos(point.elevation_deg.to_radians())
                * libm::cos(point.azimuth_deg.to_radians());
            let signal = panel.reflectance * cosine.powi(3) / panel.range_m.powi(2);
            let variance = numbers.range_variance_m2(signal) + step_m * step_m / 12.0;
            // Beams that leave the sensor beside its origin have the same distance from the plane.
            errors.add((point.flat_m[0] - panel.range_m) / cosine / variance.sqrt());
        }
        let mean = errors.sum / count;
        let squares = errors.squares - count * mean * mean;
        let limits = [-Z_1E6, Z_1E6].map(|z| chi_squared(count - 1.0, z));
        let what = format!("{profile}, {:.2} degrees: {errors:?}", shots[0].elevation_deg);
        assert!(count >= 25.0, "{what}");
        assert!((limits[0]..=limits[1]).contains(&squares), "{what}: {squares} not {limits:?}");
        let signal = panel.reflectance / panel.range_m.powi(2);
        let variance = numbers.range_variance_m2(signal);
        of_shots.add(mean * count.sqrt());
        of_means.add(mean / (own_std_m * own_std_m / variance + 1.0 / count).sqrt());
    }
    // A scanner has one laser, whose mean is normal.
    assert!(of_means.is_standard(1.0), "{profile}: {of_means:?}");
    // The error between lasers is too large to be caused by the noise of shots.
    assert!(own_std_m == 0.0 || !of_shots.is_standard(1.0), "{profile}: {of_shots:?}");
    lasers.len()
}

#[test]
fn each_velodynes_lasers_spread_as_its_profile_says() {
    for name in lidars(&["hdl", "vlp", "puck", "vls128"]) {
        let is_coarse = name.contains("vlp32c") || name.contains("vls128");
        // `inspect` uses a calibration as ROS does.
        let (settings, seconds) = match name.contains("hdl64e") {
            true => ("rotation_rate_rpm = 900, calibration_reading = \"ros\"", 0.27),
            false => ("sector_deg = [354, 6]", 0.25),
        };
        let step_m = if is_coarse { 0.004 } else { 0.002 };
        let found = spreads_as_its_profile_says(&name, settings, seconds, step_m);
        let lasers = match name.split('-').nth(1).unwrap() {
            "hdl64e" => 40..=64,
            "vls128" => 100..=128,
            "vlp32c" | "hdl32e" => 15..=32,
            _ => 16..=16,
        };
        assert!(lasers.contains(&found), "{name}: {found} lasers of {lasers:?}");
    }
}

#[test]
fn each_scanners_ranges_spread_as_its_profile_says() {
    for name in lidars(&["lms"]) {
        let (settings, step_m) = match name.as_str() {
            "sick-lms511" | "sick-lms111" => ("power_on_stream = \"cola-b\"", 0.001),
            _ => ("baud_rate = 500000, power_on_mode = \"continuous\", unit = \"mm\"", 0.001),
        };
        assert_eq!(spreads_as_its_profile_says(&name, settings, 1.0, step_m), 1, "{name}");
    }
}

#[test]
fn each_hdl64e_sees_as_far_as_its_profile_says() {
    let names = lidars(&["hdl64e"]);
    assert_eq!(names.len(), 3, "{names:?}");
    for name in names {
        sees_as_far_as_its_profile_says(&name, "rotation_rate_rpm = 900", 0.134);
    }
}

#[test]
fn each_other_velodyne_sees_as_far_as_its_profile_says() {
    let names = lidars(&["hdl32e", "vlp", "puck", "vls128"]);
    assert_eq!(names.len(), 7, "{names:?}");
    for name in names {
        sees_as_far_as_its_profile_says(&name, "sector_deg = [338, 22]", 0.35);
    }
}

#[test]
fn each_scanner_sees_as_far_as_its_profile_says() {
    let names = lidars(&["lms"]);
    assert_eq!(names.len(), 7, "{names:?}");
    for name in names {
        let settings = match name.as_str() {
            // Distances above 65.5 m need the coarser scale.
            "sick-lms511" => "power_on_stream = \"cola-b\", scale_factor = 2",
            "sick-lms111" => "power_on_stream = \"cola-b\"",
            _ => "baud_rate = 500000, power_on_mode = \"continuous\"",
        };
        sees_as_far_as_its_profile_says(&name, settings, 1.0);
    }
}
