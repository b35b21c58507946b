//! Tests of a robot that another program moves: it receives poses over UDP, and packets show them.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use menura::engine::feed_log::FeedLog;
use menura::engine::run::RealTimeRun;
use menura::wire::feed::{MAGIC, PoseTwist, VERSION};
use menura::wire::velodyne::{DATA_PACKET_LEN, DataPacket};
use menura::world::trajectory::files::parse_csv;

use crate::common;

fn rig_text(listen: u16, to: u16) -> String {
    format!(
        r#"
[world]
scene = "room"
parameters = {{ size_m = [20.0, 20.0, 4.0] }}

[robot]
trajectory = {{ kind = "feed", listen = "127.0.0.1:{listen}", hold_after_ms = 100, position_m = [2.0, 0.0, 0.0] }}

[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = {{ translation_m = [0.0, 0.0, 1.0] }}
link = {{ udp = {{ to = "127.0.0.1:{to}" }} }}
settings = {{ beam = {{ shape = "ray" }}, errors = "none" }}
"#
    )
}

/// Range straight ahead to the wall at x = 10, metres, if the packet has it.
fn range_ahead_m(packet: &[u8; DATA_PACKET_LEN]) -> Option<f64> {
    let packet = DataPacket::parse(packet).ok()?;
    let block = packet.blocks.iter().find(|block| {
        let azimuth = i32::from(block.azimuth_centideg);
        !(30..=35_970).contains(&azimuth)
    })?;
    // Laser 1 of a VLP-16 has an elevation of one degree.
    let range = f64::from(block.points[1].distance) * 0.002 * 0.999_848;
    (range > 0.0).then_some(range)
}

fn pose(sequence: u64, x: f64) -> PoseTwist {
    PoseTwist {
        magic: MAGIC,
        version: VERSION,
        sequence,
        time_ns: sequence * 10_000_000,
        position_m: [x, 0.0, 0.0],
        orientation_xyzw: [0.0, 0.0, 0.0, 1.0],
        velocity_m_s: [0.0; 3],
        angular_rate_rad_s: [0.0; 3],
    }
}

#[test]
fn packets_show_the_poses_that_came() {
    let receiver = common::roomy_socket();
    receiver.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let listen = common::free_port();
    let text = rig_text(listen, receiver.local_addr().unwrap().port());
    let (rig, world) = common::load(&text);
    assert_eq!(rig.engine.render_ahead_ns, 5_000_000, "a feed leaves no time to render ahead");
    let mut run = RealTimeRun::new(&rig, &world).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("feed.csv");
    let sink = Box::new(std::fs::File::create(&log).unwrap());
    run.log_feed("robot", FeedLog::new(sink).unwrap());
    let stop = AtomicBool::new(false);
    let ahead = || {
        let mut packet = [0; DATA_PACKET_LEN];
        loop {
            assert_eq!(receiver.recv(&mut packet).unwrap(), DATA_PACKET_LEN);
            if let Some(range_m) = range_ahead_m(&packet) {
                return range_m;
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| run.run(None, &stop, |_| {}));
        // The run must end even if a check fails.
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            assert!((ahead() - 8.0).abs() < 0.05, "it stands where the rig says at first");
            let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
            let to = ("127.0.0.1", listen);
            sender.send_to(b"not a pose", to).unwrap();
            sender.send_to(&pose(1, -3.0).encode(), to).unwrap();
            let seen = (0..2000).any(|_| (ahead() - 13.0).abs() < 0.05);
            assert!(seen, "no packet shows the pose");
            // No more poses arrive: the robot keeps its pose, and this is counted.
            for _ in 0..2000 {
                assert!((ahead() - 13.0).abs() < 0.05);
                if run.feeds()[0].1.holds == 1 {
                    break;
                }
            }
            sender.send_to(&pose(2, 5.0).encode(), to).unwrap();
            assert!((0..2000).any(|_| (ahead() - 5.0).abs() < 0.05), "it goes on after a hold");
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = checked {
            std::panic::resume_unwind(panic);
        }
    });
    let (of, counts) = run.feeds()[0];
    assert_eq!((of, counts.poses, counts.refused, counts.missing), ("robot", 2, 1, 0));
    assert!(counts.holds >= 1);
    let latency = run.figures(Duration::from_secs(1))[0].pose_to_wire_us;
    assert!(latency.is_some_and(|latency| latency.max > 0.0), "{latency:?}");
    // The log has all poses, and they form a trajectory.
    let text = std::fs::read_to_string(&log).unwrap();
    let rows: Vec<Vec<_>> = text.lines().map(|line| line.split(',').collect()).collect();
    let of = |event: &str| rows.iter().filter(|row| row[8] == event).collect::<Vec<_>>();
    let firsts = of("first");
    assert_eq!((of("start").len(), firsts.len(), firsts[0][11], firsts[1][11]), (1, 2, "1", "2"));
    assert!(firsts.iter().all(|row| !row[19].is_empty()), "both poses were shown: {text}");
    assert_eq!(of("hold")[0][1], "-3.000000");
    let poses = parse_csv(&text).unwrap();
    assert_eq!(
        (poses.len(), poses[0].position_m.x, poses[1].position_m.x),
        (rows.len() - 1, 2.0, -3.0)
    );
}

#[test]
fn a_recording_cannot_follow_a_feed() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    std::fs::write(&rig, rig_text(7000, 2368)).unwrap();
    let output = common::menura()
        .args(["record", "rig.toml", "--duration", "1s", "--out", "out"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.starts_with("error: a recording cannot follow a feed\n --> rig.toml:7"),
        "{message}"
    );
    assert!(!folder.path().join("out").exists(), "nothing is half-started");
}

#[test]
fn a_feed_log_needs_a_feed() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    let text = rig_text(7000, 2368);
    let still = text.lines().map(|line| match line.starts_with("trajectory") {
        true => "trajectory = { kind = \"still\" }\n".to_owned(),
        false => format!("{line}\n"),
    });
    std::fs::write(&rig, still.collect::<String>()).unwrap();
    let output = common::menura()
        .args(["run", "rig.toml", "--duration", "1s", "--feed-log", "feed.csv"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("no robot or object of this rig has a feed"), "{message}");
    assert!(!folder.path().join("feed.csv").exists());
}
