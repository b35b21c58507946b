//! `menura fit`: it finds the errors that a rig configures from the rig's recording, its fragments can be read, and
//! captures of real units are fitted or refused.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use menura::analysis::fit::{Form, Fragment, Log, inertial, position, ranges};
use menura::devices::families::catalogue;

use crate::common;

/// A rig with one device at rest, under an open sky or (lidars) in an empty room.
fn rig_of(profile: &str, link: &str, settings: &str) -> String {
    let scene = if link == SERIAL { "rods" } else { "room" };
    format!(
        "seed = 4\nstart_utc = 2026-06-01T12:00:00Z\n[world]\nscene = \"{scene}\"\n\
         [robot]\ntrajectory = {{ kind = \"still\" }}\n\
         [[device]]\nname = \"unit\"\nprofile = \"{profile}\"\n\
         mount = {{ translation_m = [0.0, 0.0, 1.0] }}\nlink = {link}\n\
         settings = {{ {settings} }}\n"
    )
}

/// Records the rig and passes the log to `fit`.
fn recorded<T>(text: &str, duration: Duration, file: &str, fit: impl FnOnce(&Log<'_>) -> T) -> T {
    let rig = common::rig(text, &[]);
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in common::recorded(&rig, duration) {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let path = folder.path().join(file);
    fit(&Log {
        path: &path,
        profile: &rig.devices[0].profile,
        from_s: 0.0,
        to_s: f64::INFINITY,
        rate_hz: None,
    })
}

/// Checks that both forms of a fragment are accepted: the rig's form in a device, the profile's form in the profile.
fn is_taken(fragment: &Fragment, profile: &str, link: &str) {
    let text = rig_of(profile, link, "").replace("settings = {  }\n", "");
    common::rig(&(text + &fragment.text(Form::Rig)), &[]);
    let file = format!("firmware-profiles/{profile}.toml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
    let mut whole: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let part: toml::Table = fragment.text(Form::Profile).parse().unwrap();
    merge(&mut whole, part);
    let text = toml::to_string(&whole).unwrap();
    let read = catalogue().parse_profile(&file, &text).unwrap_or_else(|faults| panic!("{faults}"));
    assert!(read.sources.iter().any(|source| source.contains("at standstill")), "{text}");
}

fn merge(whole: &mut toml::Table, part: toml::Table) {
    for (key, value) in part {
        match (whole.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(part)) => merge(below, part),
            (_, value) => drop(whole.insert(key, value)),
        }
    }
}

const SERIAL: &str = "{ pty = \"unit\" }";

/// The recording has ten minutes at 100 Hz. These samples determine white noise to 0.3 %, from the deviation at an
/// averaging time of one sample. They determine the Gauss-Markov process of 5 s to about 8 % (three axes of 120
/// correlation times); its correlation time is fitted as well.
#[test]
fn an_imus_errors_come_back_from_its_bytes() {
    let profile = "wheeltec-n100";
    let settings = "gyro = { noise_density_deg_s_sqrt_hz = 0.02, bias_instability_deg_h = 60.0, \
                    bias_correlation_s = 5.0 }, accelerometer = { noise_density_ug_sqrt_hz = 300.0, \
                    bias_instability_ug = 0.0 }, magnetometer = { noise_density_ugauss_sqrt_hz = 0.0, \
                    bias_instability_ugauss = 0.0 }";
    let text = rig_of(profile, SERIAL, settings);
    let fit = recorded(&text, Duration::from_secs(600), "unit.bin", |log| {
        inertial::fit(log, 0.0).unwrap_or_else(|error| panic!("{error}"))
    });
    assert!((fit.rate_hz - 100.0).abs() < 0.05, "{}", fit.rate_hz);
    let of = |name| fit.triads.iter().find(|triad| triad.name == name).unwrap().fitted;
    let gyro = of("gyro");
    let density = gyro.found.noise_density.to_degrees();
    assert!((density / 0.02 - 1.0).abs() < 0.02, "{gyro:?}");
    let instability = gyro.found.bias_instability.to_degrees() * 3600.0;
    assert!((instability / 60.0 - 1.0).abs() < 0.3, "{instability} {gyro:?}");
    assert!((2.0..12.0).contains(&gyro.correlation_s), "{gyro:?}");
    let accel = of("accelerometer");
    let density = accel.found.noise_density / 9.806_65e-6;
    assert!((density / 300.0 - 1.0).abs() < 0.02, "{accel:?}");
    // No bias instability was configured, and its upper limit is small.
    assert!(accel.at_most.bias_instability < 60.0 * 9.806_65e-6, "{accel:?}");
    is_taken(&fit.fragment(), profile, SERIAL);
}

/// The recording has ten minutes at 5 Hz, which is 60 times twice the time constant. These positions determine the walk
/// to about 13 %. They would determine the spread to 1 %, if the walk did not contribute to the variance between
/// successive positions.
#[test]
fn a_receivers_walk_and_spread_come_back_from_its_bytes() {
    let profile = "ublox-zed-f9p-hpg1.32";
    let errors = "errors = [{ model = \"gauss-markov\", std_m = [0.05, 0.08, 0.1], time_constant_s = 5.0 }, \
                  { model = \"gaussian\", std_m = [0.02, 0.03, 0.05] }], velocity_std_m_s = 0.07";
    let settings = format!(
        "rate_hz = 5, baud_rate = 460800, sentences = [\"GGA\"], messages = [\"NAV-PVT\", \"NAV-HPPOSLLH\"], {errors}"
    );
    let text = rig_of(profile, SERIAL, &settings);
    let fit = recorded(&text, Duration::from_secs(600), "unit.bin", |log| {
        position::fit(log).unwrap_or_else(|error| panic!("{error}"))
    });
    assert_eq!(fit.log.message, "NAV-HPPOSLLH");
    for (axis, (spread, walk)) in [(0.02, 0.05), (0.03, 0.08), (0.05, 0.1)].into_iter().enumerate()
    {
        assert!((fit.spread_m[axis] / spread - 1.0).abs() < 0.15, "{}", fit.spread_m);
        let found = fit.walk.unwrap().std_m[axis];
        assert!((found / walk - 1.0).abs() < 0.45, "axis {axis}: {found}");
    }
    assert!((2.0..15.0).contains(&fit.walk.unwrap().time_constant_s), "{:?}", fit.walk);
    let velocity = fit.velocity_std_m_s.unwrap();
    assert!((velocity / 0.07 - 1.0).abs() < 0.05, "{velocity}");
    // The UERE, computed from accuracy and HDOP, is that of the profile.
    assert!((fit.log.uere_m.unwrap() / 1.1 - 1.0).abs() < 0.1, "{:?}", fit.log.uere_m);
    is_taken(&fit.fragment(), profile, SERIAL);
}

/// The recording has two seconds, which are twenty rotations: 40 ranges per direction, and some 700 directions per
/// laser.
#[test]
fn a_lidars_noise_comes_back_from_its_packets() {
    let profile = "velodyne-vlp16-3.0";
    let link = "{ udp = { to = \"127.0.0.1:2368\" } }";
    let settings = "noise = { range_std_m = 0.025, weak_range_std_m = 0.0 }";
    let text = rig_of(profile, link, settings);
    let fit = recorded(&text, Duration::from_secs(2), "unit.pcap", |log| {
        ranges::fit(log).unwrap_or_else(|error| panic!("{error}"))
    });
    assert_eq!((fit.lasers.len(), fit.unfitted.len()), (16, 0));
    for laser in &fit.lasers {
        assert!((laser.range_std_m / 0.025 - 1.0).abs() < 0.05, "{laser:?}");
    }
    is_taken(&fit.fragment(), profile, link);
}

/// The recording has ten rotations of 1024 columns; three columns count as one direction.
#[test]
fn an_ousters_noise_comes_back_beam_by_beam() {
    let profile = "ouster-os1-64-2.5";
    let link = "{ udp = { to = \"127.0.0.1:7502\" } }";
    let settings = "noise = { range_std_m = 0.025, weak_range_std_m = 0.0 }";
    let text = rig_of(profile, link, settings);
    let fit = recorded(&text, Duration::from_secs(1), "unit.pcap", |log| {
        ranges::fit(log).unwrap_or_else(|error| panic!("{error}"))
    });
    // Beams near the horizon hit the far end of the room or nothing, so some beams have no fit.
    assert!(fit.lasers.len() >= 60, "{:?}", fit.unfitted);
    for laser in &fit.lasers {
        assert!((laser.range_std_m / 0.025 - 1.0).abs() < 0.05, "{laser:?}");
    }
    is_taken(&fit.fragment(), profile, link);
}

/// The recording has ten frames. A channel's elevation varies, so a cell is limited in azimuth and elevation; it has
/// six points per frame.
#[test]
fn an_m1s_noise_comes_back_channel_by_channel() {
    let profile = "robosense-m1";
    let link = "{ udp = { to = \"127.0.0.1:6699\" } }";
    let settings = "noise = { range_std_m = 0.025, weak_range_std_m = 0.0, azimuth_std_deg = 0.0, \
                    elevation_std_deg = 0.0 }";
    let text = rig_of(profile, link, settings);
    let fit = recorded(&text, Duration::from_secs(1), "unit.pcap", |log| {
        ranges::fit(log).unwrap_or_else(|error| panic!("{error}"))
    });
    assert_eq!((fit.lasers.len(), fit.unfitted.len()), (5, 0));
    for laser in &fit.lasers {
        assert!((laser.range_std_m / 0.025 - 1.0).abs() < 0.05, "{laser:?}");
    }
    is_taken(&fit.fragment(), profile, link);
}

fn menura(what: &str, log: &Path, profile: &str) -> Output {
    let mut command = common::menura();
    command.args(["fit", what]).arg(log).args(["--profile", profile]);
    command.output().unwrap()
}

fn refused(what: &str, log: &Path, profile: &str) -> String {
    let output = menura(what, log, profile);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn logs_that_cannot_be_fitted_get_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let none = folder.path().join("none.bin");
    assert!(refused("allan", &none, "wheeltec-n100").contains("none.bin"));
    let empty = file("empty.bin", b"");
    assert!(
        refused("allan", &empty, "wheeltec-n100").contains("no angular rates and accelerations")
    );
    assert!(refused("gnss", &empty, "ublox-m8n").contains("there are no positions in it"));
    assert!(refused("lidar", &empty, "velodyne-vlp16-3.0").contains("it is empty"));
    assert!(refused("lidar", &empty, "wheeltec-n100").contains("sends no ranges"));
    let nmea = b"$GNGGA,003956.00,4552.65403,S,17030.00668,E,1,12,0.64,14.2,M,1.8,M,,*56\r\n";
    let text = refused("allan", &file("gnss.bin", &nmea.repeat(40)), "wheeltec-n100");
    assert!(text.contains("another product"), "{text}");
    let once = refused("gnss", &file("gga.bin", nmea), "ublox-m8n");
    assert!(once.contains("one epoch only"), "{once}");
}

fn log_of<T>(path: &Path, profile: &str, fit: impl FnOnce(&Log<'_>) -> T) -> T {
    let profile = catalogue().profile(profile).unwrap();
    fit(&Log { path, profile: &profile, from_s: 0.0, to_s: f64::INFINITY, rate_hz: None })
}

/// A VLP-16 in a street for 0.4 s. The manual states ± 3 cm; real units have about 1 cm.
#[test]
#[ignore = "needs reference data"]
fn a_real_vlp16_has_a_centimetre_of_noise() {
    let path = common::shared("captures/velodyne/vlp16-with-position-packets.pcap");
    let fit = log_of(&path, "velodyne-vlp16-3.0", ranges::fit).unwrap();
    println!("{}", fit.fragment().text(Form::Profile));
    assert!(fit.lasers.len() >= 12, "{} lasers", fit.lasers.len());
    assert!((0.003..0.03).contains(&fit.range_std_m), "{}", fit.range_std_m);
}

/// Half a minute of standalone fixes determines the spread between successive positions, which must be below 0.5 m, but
/// no walk.
#[test]
#[ignore = "needs reference data"]
fn real_receivers_positions_spread_by_centimetres() {
    for (file, profile, message) in [
        ("ublox-zed-f9p-hp.ubx.log", "ublox-zed-f9p-hpg1.11", "NAV-HPPOSECEF"),
        ("ublox-zed-f9p-nmea.log", "ublox-zed-f9p-hpg1.11", "GNGGA"),
        ("ublox-neo-m8t.log", "ublox-m8n", "NAV-POSECEF"),
    ] {
        let path = common::shared("captures/gnss").join(file);
        let fit = log_of(&path, profile, position::fit).unwrap_or_else(|e| panic!("{file}: {e}"));
        println!("{}", fit.fragment().text(Form::Profile));
        assert_eq!(fit.log.message, message);
        assert!(fit.walk.is_none() && fit.spread_m.max_element() < 0.5, "{file}: {}", fit.spread_m);
    }
}

#[test]
#[ignore = "needs reference data"]
fn a_real_imu_that_was_moved_is_refused() {
    let path = common::shared("captures/imu/mip-sdk-test-data.mip");
    let fit = |rate_hz| {
        let fit = |log: &Log<'_>| inertial::fit(&Log { rate_hz, ..*log }, 0.0);
        log_of(&path, "microstrain-3dmgx5", fit).unwrap_err().to_string()
    };
    assert!(fit(None).contains("set the sample rate with --rate"));
    assert!(fit(Some(100.0)).contains("the unit was moved"), "{}", fit(Some(100.0)));
}
