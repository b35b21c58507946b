//! Tests with other ranks that measure: the bytes are the same as from one process for any number of ranks, and every
//! failure has a message. Here ranks are threads; `tools/test --only mpi` starts processes.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common;
use crate::common::ranks::{load_of, loaded, with_others, with_serving};
use crossbeam_channel::unbounded;
use menura::config::rig::Rig;
use menura::engine::LiveWorld;
use menura::engine::feed_log::FeedLog;
use menura::engine::host_events::{HostInput, HostTarget, Payload};
use menura::engine::host_log::Conversation;
use menura::engine::ranks::lead::Lead;
use menura::engine::ranks::line::Line;
use menura::engine::ranks::pack::{Loaded, Reply};
use menura::engine::record::{Stretch, own_threads, record_by};
use menura::engine::run::RealTimeRun;
use menura::engine::workers::{Casters, RemoteWorkers};
use menura::time::SimTime;
use menura::wire::drive_order::DriveOrder;
use menura::wire::feed::{MAGIC, PoseTwist, VERSION};

/// A rig with nine rays per pulse, noise, weather, an object, a rotating head and faults; lidars with one, two and five
/// echoes; devices measured by rank 0 and devices measured by other ranks.
const RIG: &str = r#"
seed = 11
start_utc = 2026-06-01T12:59:59.9Z

[world]
scene = "courtyard"
parameters = { grass_blades = 20000, trees = 4, tree_triangles = 2000 }

[world.weather]
wind_m_s = [1.0, 0.5, 0.0]
[world.weather.fog]
visibility_m = 60.0
[world.weather.rain]
rate_mm_h = 5.0

[[world.object]]
name = "box"
body = "box"
size_m = [1.0, 2.0, 1.5]
trajectory = { kind = "circle", radius_m = 6.0, speed_m_s = 3.0 }

[robot]
trajectory = { kind = "circle", radius_m = 10.0, speed_m_s = 2.0 }
follow_ground = true

[[joint]]
name = "head"
translation_m = [0.1, 0.0, 0.9]
motion = { kind = "constant-rate", rate_deg_s = 109.0 }

[[device]]
name = "roof"
profile = "velodyne-hdl64e-s3"
mount = { translation_m = [0.3, 0.0, 2.0], roll_pitch_yaw_deg = [0.0, 2.0, 10.0] }
link = { udp = { to = "127.0.0.1:9" } }
settings = { return_mode = "dual" }

[[device]]
name = "scanner"
profile = "sick-lms111"
mount = { parent = "head", roll_pitch_yaw_deg = [90.0, 0.0, 0.0] }
link = { tcp = "127.0.0.1:0" }
settings = { power_on_stream = "cola-b" }

[[device]]
name = "imu"
profile = "vectornav-vn100"
link = { pty = "imu" }

[[fault]]
device = "roof"
kind = "window-dirty"
transmission = 0.3
from_deg = 0
to_deg = 90
start_s = 0.05

[[fault]]
device = "roof"
kind = "packet-loss"
probability = 0.2
start_s = 0.1
"#;

const DRIVEN: &str = r#"
seed = 7
start_utc = 2026-06-01T12:00:00Z

[world]
scene = "andabata-field"

[robot]
follow_ground = true
footprint_m = [0.67, 0.54]

[robot.trajectory]
kind = "drive"
model = "skid-steer"
y_icr_m = 0.45
max_speed_m_s = 0.68
time_constant_ms = 35.0
position_m = [-20.0, -20.0, 0.0]
yaw_deg = 8.5
body_height_m = 0.81
twist = "127.0.0.1:7100"

[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 0.73] }
link = { udp = { to = "127.0.0.1:9" } }
"#;

const FED: &str = r#"
seed = 7
[world]
scene = "room"
[[world.object]]
name = "cart"
body = "box"
size_m = [1.0, 1.0, 1.0]
trajectory = { kind = "feed", listen = "127.0.0.1:CART" }
[robot]
trajectory = { kind = "feed", listen = "127.0.0.1:ROBOT" }
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.5] }
link = { udp = { to = "127.0.0.1:9" } }
"#;

/// Records `rig`; the ranks of `lead` cast the rays, or this process without `lead`. Returns the files by name.
fn recorded(
    rig: &Rig,
    world: &LiveWorld,
    duration: Duration,
    hosts: Option<&Conversation>,
    lead: Option<&Lead>,
) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let stretch = Stretch { rig, world, duration, start: rig.start_utc, stop: &stop };
    let casters = match lead {
        Some(lead) => Casters::Elsewhere(lead),
        None => own_threads(rig, world),
    };
    record_by(casters, stretch, hosts, folder.path(), |_| {}).unwrap();
    files_of(folder.path())
}

fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect()
}

fn assert_same(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>, what: &str) {
    assert!(one.keys().eq(other.keys()), "{what}: {:?}", other.keys());
    for (name, bytes) in one {
        assert!(*bytes == other[name], "{what}: {name} has other bytes");
    }
}

#[test]
fn recordings_are_those_of_one_process_with_the_truth() {
    let duration = Duration::from_millis(250);
    let rig = common::rig(RIG, &[]);
    let mut world = common::world(&rig);
    world.keeps_truth = true;
    let alone = recorded(&rig, &world, duration, None, None);
    for name in ["roof.pcap", "scanner.bin", "imu.bin", "truth.mcap", "faults.csv"] {
        assert!(alone[name].len() > 1000, "{name}: {}", alone[name].len());
    }
    assert!(String::from_utf8_lossy(&alone["faults.csv"]).contains("changed_returns"));
    for others in [1, 3] {
        let shared = with_others(RIG, &[], &rig, &world, others, |lead| {
            let files = recorded(&rig, &world, duration, None, Some(lead));
            for figures in lead.figures() {
                assert!(figures.answers > 10 && figures.workers > 0, "{figures:?}");
                assert!(figures.answer_bytes > figures.order_bytes / 2, "{figures:?}");
                assert!(figures.away_ns > figures.busy_ns, "{figures:?}");
            }
            assert_eq!(lead.caster(), "processor");
            // The second recording must not depend on state of the first.
            let again = recorded(&rig, &world, duration, None, Some(lead));
            assert_same(&files, &again, "a second time");
            files
        });
        assert_same(&alone, &shared, &format!("{others} other ranks"));
    }
}

#[test]
fn a_robot_that_is_driven_is_where_rank_0_knows_it_to_be() {
    let inputs = (0..60_u64).map(|step| {
        let turn_rad_s = if step % 20 < 10 { 0.7 } else { -0.5 };
        HostInput {
            at: SimTime(step * 20_000_000 + 123_457),
            to: HostTarget::Robot,
            payload: Payload::Order(DriveOrder::Twist { forward_m_s: 0.5, turn_rad_s }),
        }
    });
    let start = "2026-06-01T12:00:00Z".parse().unwrap();
    let hosts = Conversation { start, inputs: inputs.collect(), is_cut_off: false };
    let duration = Duration::from_millis(1200);
    let rig = common::rig(DRIVEN, &[]);
    let world = common::world(&rig);
    let alone = recorded(&rig, &world, duration, Some(&hosts), None);
    let still = recorded(&rig, &world, duration, None, None);
    assert!(alone["lidar.pcap"] != still["lidar.pcap"], "it was not driven");
    for others in [1, 2] {
        let shared = with_others(DRIVEN, &[], &rig, &world, others, |lead| {
            recorded(&rig, &world, duration, Some(&hosts), Some(lead))
        });
        assert_same(&alone, &shared, &format!("{others} other ranks"));
    }
}

/// Poses of a feed arrive in real time, so runs differ. Therefore only numbers are checked: of packets, of logged
/// poses, and of poses that a packet has shown.
#[test]
fn feeds_reach_other_ranks_and_what_they_showed_comes_back() {
    let [robot, cart] = [(); 2].map(|()| common::free_port());
    let text = FED.replace("ROBOT", &robot.to_string()).replace("CART", &cart.to_string());
    let rig = common::rig(&text, &[]);
    let world = common::world(&rig);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("feed.csv");
    let figures = with_others(&text, &[], &rig, &world, 2, |lead| {
        let mut run = RealTimeRun::new(&rig, &world).unwrap();
        run.cast_elsewhere(lead);
        let file = std::fs::File::create(&log).unwrap();
        run.log_feed("robot", FeedLog::new(Box::new(file)).unwrap());
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| send_poses(&run, [robot, cart], &over));
            run.run(Some(Duration::from_millis(1500)), &AtomicBool::new(false), |_| {});
            over.store(true, Ordering::Relaxed);
        });
        run.figures(run.took())
    });
    assert!(figures[0].packets > 500, "{:?}", figures[0].packets);
    let text = std::fs::read_to_string(&log).unwrap();
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<_> = rows.headers().unwrap().iter().map(str::to_owned).collect();
    let place = names.iter().position(|name| name.contains("shown")).expect("a column");
    let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
    let shown = rows.iter().filter(|row| !row[place].is_empty()).count();
    // Poses that arrive between two packets, or while a busy machine is paused, are never shown.
    assert!(rows.len() > 50 && shown > 10, "{shown} of {} rows", rows.len());
}

/// Sends a hundred poses per second to each port.
fn send_poses(run: &RealTimeRun<'_>, ports: [u16; 2], over: &AtomicBool) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut sequence = 0;
    while !over.load(Ordering::Relaxed) {
        sequence += 1;
        let time_ns = run.elapsed().as_nanos() as u64;
        for (port, y_m) in ports.into_iter().zip([0.0, 2.0]) {
            let pose = PoseTwist {
                magic: MAGIC,
                version: VERSION,
                sequence,
                time_ns,
                position_m: [time_ns as f64 * 1e-9, y_m, 0.0],
                orientation_xyzw: [0.0, 0.0, 0.0, 1.0],
                velocity_m_s: [1.0, 0.0, 0.0],
                angular_rate_rad_s: [0.0; 3],
            };
            socket.send_to(&pose.encode(), ("127.0.0.1", port)).unwrap();
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
fn a_rank_with_other_data_or_another_program_is_named() {
    let rig = common::rig(RIG, &[]);
    let world = common::world(&rig);
    let never = AtomicBool::new(false);
    let told = |change: &dyn Fn(&mut Loaded), sets: &[(&str, &str)]| {
        with_serving(1, |serving| {
            serving.lead.load(&load_of(RIG, sets));
            let mut own = loaded(&rig, &world);
            change(&mut own);
            let unable = serving.lead.gather(&own, &never).unwrap_err();
            assert!(serving.lead.finish(false).is_ok());
            assert!(unable.is_input, "{}", unable.text);
            unable.text
        })
    };
    let text = told(&|_| (), &[("world.parameters.trees", "5")]);
    assert!(text.contains("rank 1 (here)") && text.contains("the scene courtyard"), "{text}");
    let text = told(&|_| (), &[("robot.trajectory.radius_m", "11.0")]);
    assert!(text.contains("the robot's trajectory differs"), "{text}");
    let text = told(&|own| own.program = "menura 0.0.1, z80".into(), &[]);
    assert!(text.contains("another program") && text.contains("z80"), "{text}");
    let text = told(&|_| (), &[("world.scene", "nowhere.obj")]);
    assert!(text.contains("rank 1") && text.contains("nowhere.obj"), "{text}");
}

#[test]
fn the_casters_of_the_ranks_are_reported_with_later_notes() {
    let (post, _posted) = unbounded();
    let (give, mail) = unbounded();
    let lead = Lead::new(Line { post, mail }, 3);
    let [gpu, processor] =
        ["GPU A", "processor"].map(|caster| Loaded { caster: caster.into(), ..Loaded::default() });
    for (rank, reply) in [
        (1, Reply::Loaded(gpu.clone())),
        (1, Reply::Caster("GPU A; lost".into())),
        (2, Reply::Loaded(processor)),
    ] {
        give.send((rank, reply.encode())).unwrap();
    }
    lead.gather(&gpu, &AtomicBool::new(false)).unwrap();
    assert_eq!(lead.caster(), "rank 1: GPU A; lost; rank 2: processor");
}

#[test]
fn a_rank_that_ends_stops_the_recording_and_is_named() {
    let rig = common::rig(RIG, &[]);
    let world = common::world(&rig);
    let never = AtomicBool::new(false);
    let folder = tempfile::tempdir().unwrap();
    with_serving(2, |serving| {
        serving.lead.load(&load_of(RIG, &[]));
        serving.lead.gather(&loaded(&rig, &world), &never).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        serving.lead.stop_if_lost(Arc::clone(&stop));
        // Longer than any test waits: the run ends because a rank ends.
        let duration = Duration::from_secs(10_000);
        let start = rig.start_utc;
        let stretch = Stretch { rig: &rig, world: &world, duration, start, stop: &stop };
        let casters = Casters::Elsewhere(&serving.lead);
        let recording = record_by(casters, stretch, None, folder.path(), |at| {
            if at > SimTime(100_000_000) {
                serving.stops[1].store(true, Ordering::Relaxed);
            }
        });
        assert!(recording.unwrap().is_cut_short);
        let lost = serving.lead.finish(true).unwrap_err();
        assert!(lost.contains("rank 2 (here)") && lost.contains("signal"), "{lost}");
    });
    let files = files_of(folder.path());
    assert!(common::frames(&files["roof.pcap"]).len() > 100, "readable to the last packet");
    assert!(files["truth.csv"].ends_with(b"\n"));
}
