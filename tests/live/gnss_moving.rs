//! Tests of satellites that a moving object hides for a while: in the sensor's view, and in the sentences of a
//! recording and of a live run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Duration;

use crate::common;
use crate::common::sky::{Sides, is_hidden};
use menura::config::rig::Rig;
use menura::devices::families::catalogue;
use menura::engine::build_devices;
use menura::engine::run::RealTimeRun;
use menura::sensors::lidar::Scratch;
use menura::sensors::{MeasurementRequest, Outcome, Subject};
use menura::time::{Epoch, SimTime};
use menura::wire::framer::Framer;
use menura::wire::gnss_stream::{Frame, GnssStream};
use menura::wire::nmea::{Content, RawSentence, Sentence};

/// Names of the rig's GNSS receivers.
const RECEIVERS: [&str; 2] = ["ublox", "garmin"];
/// Height of the antenna above the ground, metres; the robot is at rest.
const ANTENNA_M: f64 = 1.0;
/// Half-angle of the bundle of rays to a satellite, as in the profiles, degrees.
const SPREAD_DEG: f64 = 2.0;
/// Length, width and height of a lorry, metres.
const LORRY_M: [f64; 3] = [12.0, 2.6, 4.0];
/// y of the lorry's path relative to the antenna (negative: south), metres.
const ASIDE_M: f64 = -3.0;
/// Start of the recordings and runs, seconds after midnight UTC.
const START_S: f64 = (9.0 * 60.0 + 27.0) * 60.0 + 25.0;

/// GNSS receivers on an open plain, and a lorry with the trajectory `way` (TOML); `rest` is added to the rig.
fn rig(folder: &Path, way: &str, rest: &str) -> Rig {
    let plain = "v -300 -300 0\nv 300 -300 0\nv 300 300 0\nv -300 300 0\nf 1 2 3 4\n";
    std::fs::write(folder.join("plain.obj"), plain).unwrap();
    let text = format!(
        r#"
seed = 9
start_utc = 2026-11-21T09:27:25Z
origin = {{ latitude_deg = 47.285, longitude_deg = 8.565, altitude_m = 547.6 }}
[world]
scene = "plain.obj"
[[world.object]]
name = "lorry"
body = "box"
size_m = {LORRY_M:?}
trajectory = {way}
[robot]
trajectory = {{ kind = "still" }}
[[device]]
name = "ublox"
profile = "ublox-m8n"
mount = {{ translation_m = [0.0, 0.0, {ANTENNA_M}] }}
link = {{ pty = "ublox" }}
settings = {{ baud_rate = 38400 }}
[[device]]
name = "garmin"
profile = "garmin-18x-lvc"
mount = {{ translation_m = [0.0, 0.0, {ANTENNA_M}] }}
link = {{ pty = "garmin" }}
settings = {{ baud_rate = 9600, sentences = ["RMC", "GGA", "GSA", "GSV"] }}
{rest}"#
    );
    Rig::parse("test rig", &text, folder, &[], catalogue())
        .unwrap_or_else(|faults| panic!("{faults}"))
}

/// Box of the lorry, if its centre is at `x_m`.
fn lorry_at(x_m: f64) -> Sides {
    let half = LORRY_M.map(|side| side / 2.0);
    [[x_m - half[0], x_m + half[0]], [ASIDE_M - half[1], ASIDE_M + half[1]], [0.0, LORRY_M[2]]]
}

/// Whether the lorry, if there is one, hides a satellite; `None` if the satellite is near an edge of the lorry.
fn hides(lorry: Option<&Sides>, direction_rad: [f64; 2], spread_deg: f64) -> Option<bool> {
    let from_m = [0.0, 0.0, ANTENNA_M];
    lorry.map_or(Some(false), |sides| {
        is_hidden(sides, from_m, direction_rad, spread_deg.to_radians())
    })
}

const PASSES: &str =
    r#"{ kind = "line", start_m = [-60.0, -3.0, 0.0], yaw_deg = 0.0, speed_m_s = 2.0 }"#;
const STANDS: &str = r#"{ kind = "still", position_m = [0.0, -3.0, 0.0] }"#;

/// Box of the passing lorry at a time, seconds after the start.
fn passing_at(second: f64) -> Sides {
    lorry_at(-60.0 + 2.0 * second)
}

/// Stimulus in the rig: the lorry exists only from 20 s to 35 s.
const SHOWN: &str = "[[stimulus]]\nname = \"lorry-comes\"\nobject = \"lorry\"\nstart_s = 20.0\n\
                     duration_s = 15.0\nperiod_s = 1000.0\n";

fn shown_at(second: f64) -> Option<Sides> {
    (20.0..35.0).contains(&second).then(|| lorry_at(0.0))
}

/// Checks for every satellite at every second that the share of open rays agrees with the position of the lorry.
fn compare_views(rig: &Rig, lorry_at: impl Fn(f64) -> Option<Sides>) {
    let world = common::world(rig);
    let epoch = Epoch::new(rig.start_utc.expect("a stated start"));
    let gnss = build_devices(rig, epoch).remove(0);
    let around = world.surroundings(&rig.devices[0].body_from_sensor);
    let mut scratch = Scratch::default();
    let (mut told, mut hidden_at) = ([0; 2], Vec::new());
    for second in 0..60_u32 {
        let at = SimTime(u64::from(second) * 1_000_000_000);
        let request =
            MeasurementRequest { index: second.into(), start: at, subject: Subject::Instant };
        let measured = gnss.sensor.measure(request, &around, &mut scratch);
        let Outcome::Sky(view) = &measured.outcome else { panic!("no view of the sky") };
        let lorry = lorry_at(f64::from(second));
        let mut hidden = 0;
        for seen in &view.satellites {
            let direction = [seen.elevation_rad, seen.azimuth_rad];
            // Some rays to the lowest satellites hit the ground.
            if direction[0] < 3.0_f64.to_radians() {
                continue;
            }
            let Some(is_hidden) = hides(lorry.as_ref(), direction, SPREAD_DEG + 0.3) else {
                continue;
            };
            told[usize::from(is_hidden)] += 1;
            hidden += u32::from(is_hidden);
            let expected = if is_hidden { 0.0 } else { 1.0 };
            assert_eq!(seen.open_share, expected, "second {second}: {seen:?}");
        }
        if hidden > 0 {
            hidden_at.push(second);
        }
    }
    assert!(told[0] > 600 && told[1] > 40, "{told:?}");
    // The lorry hides no satellite at the start, so a sensor that ignored the time would fail.
    assert!(hidden_at.first() > Some(&10) && hidden_at.last() < Some(&50), "{hidden_at:?}");
}

#[test]
fn a_lorry_hides_satellites_while_it_passes() {
    let folder = tempfile::tempdir().unwrap();
    compare_views(&rig(folder.path(), PASSES, ""), |second| Some(passing_at(second)));
}

#[test]
fn a_lorry_hides_satellites_while_it_exists() {
    let folder = tempfile::tempdir().unwrap();
    compare_views(&rig(folder.path(), STANDS, SHOWN), shown_at);
}

/// Content of an epoch's sentences.
#[derive(Clone, Debug, Default)]
struct EpochData {
    second: f64,
    quality: u64,
    /// Number of satellites in use.
    used: u64,
    /// Horizontal dilution of precision.
    hdop: f64,
    /// Numbers of the satellites in the GSA sentences.
    named: BTreeSet<u64>,
    /// For each satellite number: elevation and azimuth (radians), and whether it has a signal.
    in_view: BTreeMap<u64, ([f64; 2], bool)>,
}

/// Epochs of a stream of sentences; GSA and GSV follow their GGA.
fn epochs(bytes: &[u8]) -> Vec<EpochData> {
    let mut epochs: Vec<EpochData> = Vec::new();
    for frame in Framer::new(GnssStream).frames(bytes) {
        let Frame::Line(line) = frame else { panic!("only sentences are switched on") };
        let raw = RawSentence::parse(&line).unwrap();
        let Some(sentence) = Sentence::from_raw(&raw) else { continue };
        match sentence.unwrap().content {
            Content::Gga(gga) => {
                let Some(time) = gga.time else { continue };
                let (hour, minute, second) = time.hms();
                let of_day_s = (f64::from(hour) * 60.0 + f64::from(minute)) * 60.0 + second;
                epochs.push(EpochData {
                    second: of_day_s - START_S,
                    quality: gga.quality.map_or(0, |quality| quality.integer()),
                    used: gga.satellites.map_or(0, |count| count.integer()),
                    hdop: gga.hdop.map_or(99.0, |hdop| hdop.to_f64()),
                    ..EpochData::default()
                });
            }
            Content::Gsa(gsa) => {
                let Some(epoch) = epochs.last_mut() else { continue };
                epoch.named.extend(gsa.satellites.iter().flatten().map(|number| number.integer()));
            }
            Content::Gsv(gsv) => {
                let Some(epoch) = epochs.last_mut() else { continue };
                for seen in &gsv.satellites {
                    let [Some(number), Some(elevation), Some(azimuth)] =
                        [seen.svid, seen.elevation_deg, seen.azimuth_deg]
                    else {
                        continue;
                    };
                    let direction = [elevation, azimuth].map(|deg| deg.to_f64().to_radians());
                    // Garmin writes 00 for a satellite without a signal.
                    let is_heard = seen.cno_dbhz.is_some_and(|cno| cno.integer() > 0);
                    epoch.in_view.insert(number.integer(), (direction, is_heard));
                }
            }
            _ => {}
        }
    }
    epochs
}

/// Compares each satellite in the sentences with the position of the lorry, from `settled` seconds on: a hidden
/// satellite has no signal and is not used; an open one has a signal and is used. Returns the number of hidden
/// satellites in each epoch.
fn compare_sentences(
    epochs: &[EpochData],
    settled: f64,
    lorry_at: impl Fn(f64) -> Option<Sides>,
) -> Vec<usize> {
    let judged = epochs.iter().map(|epoch| {
        let lorry = lorry_at(epoch.second);
        let mut hidden = 0;
        for (number, (direction, has_signal)) in &epoch.in_view {
            // Low satellites are masked, and angles have a resolution of one degree.
            if epoch.second < settled || direction[0] < 7.0_f64.to_radians() {
                continue;
            }
            let Some(is_hidden) = hides(lorry.as_ref(), *direction, SPREAD_DEG + 0.9) else {
                continue;
            };
            hidden += usize::from(is_hidden);
            let is_used = epoch.named.contains(number);
            assert_eq!(
                (*has_signal, is_used),
                (!is_hidden, !is_hidden),
                "satellite {number}, {direction:?}: {epoch:?}"
            );
        }
        hidden
    });
    judged.collect()
}

/// Mean of a value over the epochs within a time range.
fn mean(
    epochs: &[EpochData],
    time: std::ops::Range<f64>,
    value: impl Fn(&EpochData) -> f64,
) -> f64 {
    let wanted: Vec<f64> =
        epochs.iter().filter(|epoch| time.contains(&epoch.second)).map(value).collect();
    assert!(wanted.len() >= 3, "{time:?}: {} epochs", wanted.len());
    wanted.iter().sum::<f64>() / wanted.len() as f64
}

/// Both receivers record a lorry that arrives, passes and leaves.
#[test]
fn sentences_of_a_recording_have_fewer_satellites_while_a_lorry_passes() {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), PASSES, "");
    let files = common::recorded(&rig, Duration::from_secs(60));
    for receiver in RECEIVERS {
        let epochs = epochs(&files[&format!("{receiver}.bin")]);
        assert!(epochs.len() >= 57, "{receiver}: {} epochs", epochs.len());
        let hidden = compare_sentences(&epochs, 8.0, |second| Some(passing_at(second)));
        assert!(hidden.iter().sum::<usize>() >= 12, "{receiver}: {hidden:?}");
        let used = |time| mean(&epochs, time, |epoch| epoch.named.len() as f64);
        let hdop = |time| mean(&epochs, time, |epoch| epoch.hdop);
        let (before, beside, after) = (10.0..16.0, 29.0..33.0, 46.0..58.0);
        let counts = [before.clone(), beside.clone(), after.clone()].map(used);
        let dilutions = [before, beside, after].map(hdop);
        assert!(
            counts[1] < counts[0] - 1.4 && counts[1] < counts[2] - 1.4,
            "{receiver} {counts:?}"
        );
        assert!((counts[0] - counts[2]).abs() < 1.0, "{receiver} {counts:?}");
        assert!(dilutions[1] > 1.1 * dilutions[0], "{receiver} {dilutions:?}");
        assert!((dilutions[2] / dilutions[0] - 1.0).abs() < 0.1, "{receiver} {dilutions:?}");
        // GGA counts the satellites of the GSA sentences, up to its maximum of 12.
        for epoch in epochs.iter().filter(|epoch| epoch.quality > 0) {
            assert_eq!(epoch.used, (epoch.named.len() as u64).min(12), "{receiver} {epoch:?}");
        }
    }
}

/// Bytes that arrive at a host which has the port open, until the port is closed.
fn host(port: &Path) -> mpsc::Receiver<Vec<u8>> {
    let mut port = std::fs::File::open(port).unwrap();
    let (heard, arrives) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = port.read(&mut buffer) {
            if heard.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    arrives
}

/// A lorry exists for some seconds. The live run and the recording have the same bytes, and both show the lorry at the
/// right time.
#[test]
fn a_host_reads_of_a_lorry_what_a_recording_has() {
    const SECONDS: u64 = 13;
    let comes = SHOWN.replace("20.0", "6.5").replace("15.0", "3.0");
    let lorry_at = |second| (6.5..9.5).contains(&second).then(|| lorry_at(0.0));
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), STANDS, &comes);
    let mut files = common::recorded(&rig, Duration::from_secs(SECONDS));
    let world = common::world(&rig);
    let run = RealTimeRun::new(&rig, &world).unwrap_or_else(|error| panic!("{error}"));
    let hosts = RECEIVERS.map(|receiver| host(&folder.path().join(receiver)));
    run.run(Some(Duration::from_secs(SECONDS)), &AtomicBool::new(false), |_| {});
    for (receiver, host) in RECEIVERS.into_iter().zip(hosts) {
        let expected = files.remove(&format!("{receiver}.bin")).unwrap();
        let mut heard = Vec::new();
        while heard.len() < expected.len()
            && let Ok(bytes) = host.recv_timeout(Duration::from_secs(2))
        {
            heard.extend(bytes);
        }
        assert!(heard == expected, "{receiver}: a host hears other bytes than a recording has");
        let epochs = epochs(&heard);
        let hidden = compare_sentences(&epochs, 5.0, lorry_at);
        let there: Vec<f64> = epochs
            .iter()
            .zip(&hidden)
            .filter(|(_, hidden)| **hidden > 0)
            .map(|(epoch, _)| epoch.second)
            .collect();
        assert_eq!(there, [7.0, 8.0, 9.0], "{receiver}");
        let used = |second: f64| {
            epochs.iter().find(|epoch| epoch.second == second).map(|epoch| epoch.named.len())
        };
        assert!(used(8.0) < used(6.0) && used(8.0) < used(10.0), "{receiver}: {epochs:?}");
    }
}
