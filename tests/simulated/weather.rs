//! Tests of weather in recorded packets, with nine rays and the profiles' noise, as users have it.

// Expected values need not have the same bits on every machine.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::time::Duration;

use menura::config::profile::lidar::{BeamSettings, NoiseSettings};
use menura::config::rig::Rig;
use menura::devices::sick_lms2xx::profile::SickLms2xxSettings;
use menura::devices::velodyne::profile::VelodyneSettings;
use menura::sensors::surfaces::wet_reflectance;
use menura::wire::framer::Framer;
use menura::wire::sick_lms2xx::data::{MeasuringMode, Range};
use menura::wire::sick_lms2xx::frame::{Item, Telegrams};
use menura::wire::sick_lms2xx::reply::{Body, Reply};
use menura::wire::velodyne::DataPacket;

use crate::common;

/// All kinds of weather at once, on a moving robot in a scene with grass.
const ALL: &str = r#"
seed = 11
start_utc = 2026-06-01T12:00:00Z

[world]
scene = "courtyard"
parameters = { grass_blades = 20000, trees = 4, tree_triangles = 2000 }

[[world.object]]
name = "truck"
body = "car"
trajectory = { kind = "line", start_m = [4.0, 6.0, 0.0], speed_m_s = 8.0 }
follow_ground = true

[world.weather]
wind_m_s = [2.0, -1.0, 0.0]

[world.weather.rain]
rate_mm_h = 20.0

[world.weather.fog]
visibility_m = 150.0

[world.weather.snow]
rate_mm_h = 1.0
kind = "wet"

[[world.weather.dust]]
name = "yard"
position_m = [8.0, 2.0, 0.5]
start_s = -9.0

[[world.weather.dust]]
name = "trail"
object = "truck"
position_m = [-2.0, 0.0, 0.3]
rate_per_s = 200.0

[robot]
trajectory = { kind = "circle", radius_m = 20.0, speed_m_s = 2.0 }
follow_ground = true

[[device]]
name = "roof"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 2.0] }
link = { udp = { to = "127.0.0.1:9" } }
settings = { return_mode = "dual" }

[[device]]
name = "front"
profile = "sick-lms291-s05-x1.27"
mount = { translation_m = [0.4, 0.0, 0.6] }
link = { pty = "front" }
settings = { baud_rate = 500000, power_on_mode = "continuous", start_up_s = 0.0 }

[[device]]
name = "rear"
profile = "sick-lms111"
mount = { translation_m = [-0.4, 0.0, 0.6], roll_pitch_yaw_deg = [0.0, 0.0, 180.0] }
link = { tcp = ["127.0.0.1:2111", "127.0.0.1:2112"] }
settings = { power_on_stream = "cola-b" }
"#;

fn recorded(rig: &Rig, duration_ms: u64) -> BTreeMap<String, Vec<u8>> {
    let mut files = common::recorded(rig, Duration::from_millis(duration_ms));
    files.retain(|name, _| name.ends_with(".pcap") || name.ends_with(".bin"));
    files
}

#[test]
fn bytes_do_not_depend_on_the_number_of_workers() {
    for law in ["\"spheres\"", "\"mavs\""] {
        let of = |workers| {
            let sets = [("engine.workers", workers), ("world.weather.dust_law", law)];
            recorded(&common::rig(ALL, &sets), 60)
        };
        let one = of("1");
        assert!(one.len() == 3 && one.values().all(|bytes| bytes.len() > 1000));
        assert!(one == of("2"), "two workers give other bytes than one");
        assert!(one == of("4"), "four workers give other bytes than one");
    }
}

#[test]
fn a_table_without_weather_leaves_every_byte_as_it_is() {
    let clear = |extra: &str| {
        let (before, rest) = ALL.split_once("[world.weather]").unwrap();
        let (_, after) = rest.split_once("[robot]").unwrap();
        recorded(&common::rig(&format!("{before}{extra}[robot]{after}"), &[]), 60)
    };
    let without = clear("");
    assert!(without == clear("[world.weather]\nwind_m_s = [5.0, 0.0, 0.0]\n"));
    assert!(without != recorded(&common::rig(ALL, &[]), 60));
}

/// A rig with a static lidar in a box.
fn still(size_m: &str, weather: &str, profile: &str, link: &str, settings: &str) -> Rig {
    let text = format!(
        "seed = 5\nstart_utc = 2026-06-01T12:00:00Z\n[world]\nscene = \"room\"\n\
         parameters = {{ size_m = {size_m}, reflectance = 0.5 }}\n{weather}\n\
         [robot]\ntrajectory = {{ kind = \"still\", position_m = [0.0, 0.0, 2.0] }}\n\
         [[device]]\nname = \"a\"\nprofile = \"{profile}\"\nlink = {link}\nsettings = {settings}\n"
    );
    common::rig(&text, &[])
}

fn vlp16(size_m: &str, weather: &str, return_mode: &str) -> Rig {
    let link = "{ udp = { to = \"127.0.0.1:9\" } }";
    let settings = format!("{{ return_mode = \"{return_mode}\" }}");
    still(size_m, weather, "velodyne-vlp16-3.0", link, &settings)
}

/// Every shot of a VLP-16 in the order of the packets: laser, range (0 for none) and intensity byte.
fn shots(rig: &Rig, duration_ms: u64) -> Vec<(usize, f64, u8)> {
    let pcap = recorded(rig, duration_ms).remove("a.pcap").unwrap();
    let packets =
        common::frames(&pcap).into_iter().filter_map(|(_, bytes)| DataPacket::parse(&bytes).ok());
    let points = packets.flat_map(|packet| {
        packet.blocks.into_iter().flat_map(|block| block.points.into_iter().enumerate())
    });
    points.map(|(slot, p)| (slot % 16, f64::from(p.distance) * 0.002, p.intensity)).collect()
}

/// Parameters that determine whether a lidar detects a signal: its threshold, the ratio of the threshold to the noise,
/// and the width of its pulse.
struct Detector {
    threshold: f64,
    signal_to_noise: f64,
    /// Full width of the pulse at half maximum, metres.
    width_m: f64,
}

impl Detector {
    fn of(beam: &BeamSettings, noise: &NoiseSettings) -> Self {
        Self {
            threshold: beam.threshold(),
            signal_to_noise: noise.signal_to_noise,
            width_m: beam.signal_cutoff_m,
        }
    }

    fn of_vlp16(rig: &Rig) -> Self {
        let settings = rig.devices[0].settings::<VelodyneSettings>().unwrap();
        Self::of(&settings.beam, &settings.noise)
    }

    /// Probability that a signal is detected.
    fn chance(&self, signal: f64) -> f64 {
        let above = (signal / self.threshold - 1.0) * self.signal_to_noise;
        0.5 * libm::erfc(-above / 2f64.sqrt())
    }
}

/// Strength of the soft echo of fog at the range `x_m`: the published model, summed over the beam in fine steps.
fn soft_echo(visibility_m: f64, width_m: f64, x_m: f64) -> f64 {
    let extinction = 20f64.ln() / visibility_m;
    let step = 1e-3;
    let part = |i: i32| {
        let r = 0.9 + step * (f64::from(i) + 0.5);
        let off = x_m - r;
        let pulse =
            if off.abs() < width_m { (0.5 * PI * off / width_m).cos().powi(2) } else { 0.0 };
        let overlap = ((r - 0.9) / 0.1).min(1.0);
        PI * extinction / 65.0 * (-2.0 * extinction * r).exp() * overlap / (r * r) * pulse * step
    };
    (0..20_000).map(part).sum()
}

/// Range (metres) and strength of the maximum of the fog's soft echo.
fn soft_top(visibility_m: f64, width_m: f64) -> (f64, f64) {
    let at = (0..200).map(|i| 0.9 + 0.01 * f64::from(i));
    at.map(|x| (x, soft_echo(visibility_m, width_m, x))).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
}

/// Elevations of a VLP-16's lasers, degrees (VLP-16 manual, table 9-1).
const ELEVATIONS_DEG: [i32; 16] = [-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15];

/// Range and clear-air signal of each shot in the box of [`vlp16`], from a recording in clear air; the lidar is 2 m
/// above the floor. The intensity byte only selects the surface that was hit, because its noise is too large to compute
/// the cosine.
fn walls(size_m: [f64; 3], clear: &[(usize, f64, u8)]) -> Vec<(f64, f64)> {
    let met = |&(laser, range, byte): &(usize, f64, u8)| {
        let sin = f64::from(ELEVATIONS_DEG[laser]).to_radians().sin();
        let height = if sin < 0.0 { 2.0 } else { size_m[2] - 2.0 };
        let told = f64::from(byte) / 50.0;
        let walls = [size_m[0], size_m[1]].map(|size| (0.5 * size / range).min(1.0));
        let level = Some(sin.abs()).filter(|sin| range * sin > height - 0.1);
        let off = |cos: &f64| (cos - told).abs();
        let cosines = walls.into_iter().chain(level);
        let cos = cosines.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap();
        (range, 0.5 * cos / (range * range))
    };
    clear.iter().map(met).collect()
}

#[test]
fn a_vlp16_in_fog_finds_the_walls_that_the_model_leaves() {
    const VISIBILITY_M: f64 = 60.0;
    let size = "[40.0, 30.0, 8.0]";
    let fog = format!("[world.weather.fog]\nvisibility_m = {VISIBILITY_M}\n");
    let clear = shots(&vlp16(size, "", "last"), 100);
    let foggy_rig = vlp16(size, &fog, "last");
    let foggy = shots(&foggy_rig, 100);
    let detector = Detector::of_vlp16(&foggy_rig);
    assert_eq!(clear.len(), foggy.len());
    let (top_m, top) = soft_top(VISIBILITY_M, detector.width_m);
    assert!(detector.chance(top) > 0.999);

    let extinction = 20f64.ln() / VISIBILITY_M;
    let (mut expected, mut variance, mut found, mut soft, mut none) = (0.0, 0.0, 0u32, 0u32, 0u32);
    let (mut sum_clear, mut sum_foggy) = (0.0, 0.0);
    for ((range, signal), (_, seen, _)) in walls([40.0, 30.0, 8.0], &clear).into_iter().zip(foggy) {
        if range == 0.0 {
            // At the detection limit in clear air, nothing is detected in fog.
            continue;
        }
        let chance = detector.chance(signal * (-2.0 * extinction * range).exp());
        expected += chance;
        variance += chance * (1.0 - chance);
        sum_clear += range;
        sum_foggy += seen;
        if (seen - range).abs() < 0.5 {
            found += 1;
        } else if (seen - top_m).abs() < 0.3 {
            soft += 1;
        } else {
            none += 1;
        }
    }
    let all = f64::from(found + soft + none);
    // Tolerance: four standard deviations, plus half a per cent for shots for which the noise of the intensity byte
    // leads to a wrong cosine.
    let error = (f64::from(found) - expected).abs();
    assert!(error < 4.0 * f64::sqrt(variance) + 0.005 * all, "{found} of {all}, not {expected}");
    assert!((0.3..0.95).contains(&(expected / all)), "some are lost and some are not: {expected}");
    assert!(f64::from(none) < 0.002 * all, "{none} of {all} are neither wall nor fog");
    assert!(f64::from(soft) > 0.04 * all && sum_foggy < 0.9 * sum_clear);
}

#[test]
fn the_strongest_echo_of_a_vlp16_in_fog_is_the_fog_where_the_model_has_it_stronger() {
    const VISIBILITY_M: f64 = 100.0;
    let size = "[40.0, 30.0, 8.0]";
    let fog = format!("[world.weather.fog]\nvisibility_m = {VISIBILITY_M}\n");
    let clear = shots(&vlp16(size, "", "strongest"), 100);
    let rig = vlp16(size, &fog, "strongest");
    let foggy = shots(&rig, 100);
    let detector = Detector::of_vlp16(&rig);
    let (top_m, top) = soft_top(VISIBILITY_M, detector.width_m);
    let extinction = 20f64.ln() / VISIBILITY_M;
    let (mut hidden, mut wrong, mut all) = (0.0, 0.0, 0.0);
    for ((range, signal), (_, seen, byte)) in
        walls([40.0, 30.0, 8.0], &clear).into_iter().zip(foggy)
    {
        if range == 0.0 {
            continue;
        }
        let wall = signal * (-2.0 * extinction * range).exp();
        all += 1.0;
        hidden += f64::from(u8::from(wall < top));
        // If both are within a twentieth of each other, the noise of the byte decides.
        let is_near = (wall / top - 1.0).abs() < 0.05;
        let is_fog = (seen - top_m).abs() < 0.3;
        wrong += f64::from(u8::from(is_fog != (wall < top) && !is_near));
        if is_fog {
            let expected = 100.0 * top * top_m * top_m;
            assert!((f64::from(byte) - expected).abs() < 6.0, "{byte} instead of {expected}");
        }
    }
    assert!((0.2..0.9).contains(&(hidden / all)), "{hidden} of {all}");
    assert!(wrong < 0.005 * all, "{wrong} of {all}");
}

#[test]
fn a_vlp16_under_open_sky_finds_as_many_drops_as_the_law_says() {
    const RATE: f64 = 100.0;
    let rain = format!("[world.weather.rain]\nrate_mm_h = {RATE}\n");
    let rig = vlp16("[900.0, 900.0, 400.0]", &rain, "strongest");
    let detector = Detector::of_vlp16(&rig);
    let sky: Vec<f64> = shots(&rig, 300)
        .into_iter()
        .filter(|(laser, _, _)| laser % 2 == 1) // lasers above the horizon
        .map(|(_, range, _)| range)
        .collect();
    // Marshall and Palmer's drops in a beam of 3 by 1.5 mrad, by a sum over range and size.
    let slope = 4.1 * RATE.powf(-0.21);
    let extinction = 3.65e-4 * RATE.powf(0.63);
    let density = |r: f64| {
        let area = 3e-3 * r * 1.5e-3 * r;
        let passed = ((r - 0.9) / 0.1).clamp(0.0, 1.0) * (-2.0 * extinction * r).exp();
        let step = 0.01;
        let part = |i: i32| {
            let d = 0.05 + step * (f64::from(i) + 0.5);
            let share = (d * d * 1e-6 / area).min(1.0);
            let signal = 0.02 * share * passed / (r * r);
            8000.0 * (-slope * d).exp() * step * detector.chance(signal)
        };
        PI / 4.0 * area * (0..795).map(part).sum::<f64>()
    };
    let bins = [0.95, 1.5, 2.0, 2.5, 3.0, 4.0, 7.0];
    let expected: Vec<f64> = bins
        .windows(2)
        .map(|ends| {
            let step = (ends[1] - ends[0]) / 50.0;
            (0..50).map(|i| density(ends[0] + step * (f64::from(i) + 0.5)) * step).sum()
        })
        .collect();
    let found = sky.iter().filter(|range| **range > 0.0).count() as f64;
    let mean: f64 = expected.iter().sum();
    let chance = 1.0 - (-mean).exp();
    let all = sky.len() as f64;
    let error = (all * chance * (1.0 - chance)).sqrt();
    assert!(found > 300.0, "{found} of {all}, {chance}");
    assert!((found - all * chance).abs() < 4.0 * error, "{found} instead of {}", all * chance);
    // Number of detected drops in each range interval. Range noise blurs the ends of the intervals.
    let chi: f64 = bins
        .windows(2)
        .zip(&expected)
        .map(|(ends, share)| {
            let count = sky.iter().filter(|r| (ends[0]..ends[1]).contains(*r)).count() as f64;
            let expected = found * share / mean;
            (count - expected).powi(2) / expected
        })
        .sum();
    // 5 degrees of freedom: 20.5 is exceeded with the probability 1e-3; range noise adds a little.
    assert!(chi < 25.0, "{chi}: {expected:?}");
}

#[test]
fn another_seed_gives_other_drops() {
    let drops = |seed| {
        let mut rig = vlp16(
            "[900.0, 900.0, 400.0]",
            "[world.weather.rain]\nrate_mm_h = 100.0\n",
            "strongest",
        );
        rig.seed = seed;
        let up = shots(&rig, 20).into_iter().filter(|(laser, _, _)| laser % 2 == 1);
        let seen: Vec<f64> = up.map(|(_, range, _)| range).collect();
        assert!(seen.iter().filter(|range| **range > 0.0).count() > 10);
        seen
    };
    assert!(drops(1) == drops(1));
    assert!(drops(1) != drops(2));
}

/// Ranges in the scans of an LMS 291, from right to left; `None` if the scanner reports no range.
fn scans(rig: &Rig, duration_ms: u64) -> Vec<Vec<Option<f64>>> {
    let bytes = recorded(rig, duration_ms).remove("a.bin").unwrap();
    let (mut framer, mut rest, mut scans) =
        (Framer::new(Telegrams::default()), &bytes[..], Vec::new());
    let settings = rig.devices[0].settings::<SickLms2xxSettings>().unwrap();
    let mode: MeasuringMode = settings.measuring_mode;
    while let Some(piece) = framer.next_piece(&mut rest) {
        let Some(Item::Telegram { payload, .. }) = piece.frame else { continue };
        if let Body::Scan { values, .. } = Reply::parse(&payload).unwrap().body {
            let unit = values.unit.metres();
            let range = |value: &u16| match mode.split(*value).0 {
                Range::Units(units) => Some(f64::from(units) * unit),
                Range::Special(_) => None,
            };
            scans.push(values.values.iter().map(range).collect());
        }
    }
    scans
}

#[test]
fn an_lms291_in_rain_of_goodins_law_loses_what_is_far_and_scatters_the_rest() {
    const RATE: f64 = 10.0;
    let settings =
        "{ baud_rate = 500000, power_on_mode = \"continuous\", start_up_s = 0.0, unit = \"cm\" }";
    let link = "{ pty = \"a\" }";
    let rig = |weather: &str| {
        still("[60.0, 24.0, 8.0]", weather, "sick-lms291-s05-x1.27", link, settings)
    };
    let clear = scans(&rig(""), 1000);
    let wet = rig(&format!("[world.weather.rain]\nrate_mm_h = {RATE}\nlaw = \"goodin_2019\"\n"));
    let rainy = scans(&wet, 1000);
    let settings = wet.devices[0].settings::<SickLms2xxSettings>().unwrap();
    let detector = Detector::of(&settings.beam, &settings.noise);
    assert!(clear.len() > 20 && clear.iter().flatten().all(Option::is_some));
    let extinction = 0.01 * RATE.powf(0.6);
    let count = rainy[0].len();
    let step = PI / (count - 1) as f64;
    let (mut expected, mut variance, mut found) = (0.0, 0.0, 0.0);
    let (mut square, mut near) = (0.0, 0.0);
    for scan in &rainy {
        for (index, seen) in scan.iter().enumerate() {
            // From the right: walls at 12 m on both sides, at 30 m ahead.
            let (sin, cos) = (step * index as f64).sin_cos();
            let (range, incidence) = match (12.0 / cos.abs(), 30.0 / sin) {
                (side, ahead) if side < ahead => (side, cos.abs()),
                (_, ahead) => (ahead, sin),
            };
            let signal = 0.5 * incidence / (range * range) * (-2.0 * extinction * range).exp();
            let chance = detector.chance(signal);
            expected += chance;
            variance += chance * (1.0 - chance);
            found += f64::from(u8::from(seen.is_some()));
            // The wall on the right at normal incidence: only the range error.
            if let (Some(seen), true) = (seen, index < 8) {
                square += (seen / range - 1.0).powi(2);
                near += 1.0;
            }
        }
    }
    let all = (rainy.len() * count) as f64;
    // The range error spreads a signal's distance by 2 %, which the sum above does not include.
    assert!(
        (found - expected).abs() < 4.0 * f64::sqrt(variance) + 0.01 * all,
        "{found} of {all}, not {expected}"
    );
    assert!((0.2..0.9).contains(&(expected / all)), "{expected} of {all}");
    let spread = f64::sqrt(square / near);
    let law = 0.02 * (1.0 - f64::exp(-RATE)).powi(2);
    assert!(
        near > 100.0 && (spread / law - 1.0).abs() < 4.0 / f64::sqrt(2.0 * near),
        "{spread} of {near}"
    );
}

#[test]
fn snow_shortens_what_an_lms291_sees() {
    let settings =
        "{ baud_rate = 500000, power_on_mode = \"continuous\", start_up_s = 0.0, unit = \"cm\" }";
    let link = "{ pty = \"a\" }";
    let of = |weather: &str| {
        let rig = still("[60.0, 24.0, 8.0]", weather, "sick-lms291-s05-x1.27", link, settings);
        let scans = scans(&rig, 1000);
        let seen: Vec<f64> = scans.into_iter().flatten().flatten().collect();
        (seen.len(), seen.iter().sum::<f64>() / seen.len() as f64)
    };
    let (clear, clear_m) = of("");
    let (light, light_m) = of("[world.weather.snow]\nrate_mm_h = 0.5\n");
    let (heavy, heavy_m) = of("[world.weather.snow]\nrate_mm_h = 5.0\n");
    // Flakes near the scanner hide walls.
    assert!(clear >= light && light >= heavy, "{clear} {light} {heavy}");
    assert!(clear_m > light_m && light_m > heavy_m, "{clear_m} {light_m} {heavy_m}");
}

#[test]
fn a_cloud_of_dust_stands_before_the_wall_and_nowhere_else() {
    let dust = "[[world.weather.dust]]\nname = \"d\"\nposition_m = [0.0, 6.0, 2.0]\nrate_per_s = 40.0\n\
                life_s = 5.0\ntransmission = 0.6\nspread_m_s = 0.1\nvelocity_m_s = [0.0, 0.0, 0.0]\n\
                growth_m_s = 0.1\nstart_s = -5.0\n";
    let clear = shots(&vlp16("[30.0, 30.0, 8.0]", "", "strongest"), 100);
    let dusty = shots(&vlp16("[30.0, 30.0, 8.0]", dust, "strongest"), 100);
    let mut within = 0;
    for (index, ((_, clear, _), (_, seen, _))) in clear.iter().zip(&dusty).enumerate() {
        if (seen - clear).abs() < 0.3 {
            continue;
        }
        // Spheres reach at most 0.5 + 0.5 + 1.0 m from the centre, which is 6 m away.
        assert!(*seen == 0.0 || (3.0..9.2).contains(seen), "{index}: {seen} for {clear}");
        within += u32::from(*seen > 0.0);
    }
    // The cloud covers about 4 m of the circumference of 38 m at its distance, at most of the heights.
    let share = f64::from(within) / clear.len() as f64;
    assert!((0.01..0.12).contains(&share), "{share}");
}

#[test]
fn rain_wets_the_walls() {
    let size = "[24.0, 20.0, 8.0]";
    let clear = shots(&vlp16(size, "", "strongest"), 60);
    // By default, the film follows from the rain rate: 10 mm/h give 0.61 mm of at most 1.2 mm. In the other cases, the
    // rig sets the film.
    for (key, film) in
        [("", 0.157 * 10f64.powf(0.59) / 1.2), ("film_mm = 0.0", 0.0), ("film_mm = 3.0", 1.0)]
    {
        let rain = format!("[world.weather.rain]\nrate_mm_h = 10.0\ndrops = false\n{key}\n");
        let wet = shots(&vlp16(size, &rain, "strongest"), 60);
        let extinction = 3.65e-4 * 10f64.powf(0.63);
        let (mut expected, mut found) = (0.0, 0.0);
        for ((range, signal), (_, seen, byte)) in
            walls([24.0, 20.0, 8.0], &clear).into_iter().zip(wet)
        {
            assert!((seen - range).abs() < 0.2, "{seen} {range}");
            let cos = signal * range * range / 0.5;
            let darker = wet_reflectance(0.5, cos as f32, film as f32);
            expected += 100.0 * cos * f64::from(darker) * (-2.0 * extinction * range).exp();
            found += f64::from(byte);
        }
        assert!((found / expected - 1.0).abs() < 0.02, "{film}: {found} {expected}");
    }
}
