//! Checks that the same seed gives the same bytes, for any number of workers, recorded or live.

use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use menura::config::rig::{DeviceId, Override, Rig};
use menura::devices::families::catalogue;
use menura::engine::host_events::{HostInput, HostTarget, Payload};
use menura::engine::host_log::Conversation;
use menura::engine::record::record;
use menura::engine::run::RealTimeRun;
use menura::time::SimTime;
use menura::wire::http::{HttpMethod, HttpRequest};
use menura::wire::velodyne::DataPacket;

use crate::common;

const RIG: &str = r#"
seed = 11
start_utc = 2026-06-01T12:59:59.9Z

[world]
scene = "courtyard"
parameters = { grass_blades = 20000, trees = 4, tree_triangles = 2000 }

[robot]
trajectory = { kind = "circle", radius_m = 20.0, speed_m_s = 2.0 }
follow_ground = true

[[device]]
name = "first"
profile = "velodyne-hdl64e-s3"
mount = { translation_m = [0.3, 0.0, 2.0], roll_pitch_yaw_deg = [0.0, 2.0, 10.0] }
link = { udp = { to = "127.0.0.1:9" } }
settings = { return_mode = "last", noise = { range_std_m = 0.02, azimuth_std_deg = 0.01, intensity_std = 0.01 } }

[[device]]
name = "second"
profile = "velodyne-hdl64e-s1"
link = { udp = { to = "127.0.0.1:9" } }
"#;

fn rig(sets: &[(&str, &str)]) -> Rig {
    common::rig(RIG, sets)
}

/// Captures of both devices with this duration.
fn recorded(rig: &Rig, duration: Duration) -> [Vec<u8>; 2] {
    common::captures(rig, duration, ["first", "second"])
}

fn payloads(pcap: &[u8]) -> Vec<Vec<u8>> {
    common::frames(pcap).into_iter().map(|(_, payload)| payload).collect()
}

#[test]
fn bytes_do_not_depend_on_the_number_of_workers() {
    let of = |workers| recorded(&rig(&[("engine.workers", workers)]), Duration::from_millis(60));
    let one = of("1");
    assert_eq!(payloads(&one[0]).len(), 209);
    assert!(one == of("2"), "two workers give other bytes than one");
    assert!(one == of("4"), "four workers give other bytes than one");
}

/// Points, IMU samples and status messages that are due at the same instant leave in the order of
/// their ports.
#[test]
fn ports_of_a_device_keep_their_order() {
    let text = r#"
seed = 11
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "room"
[robot]
trajectory = { kind = "still" }
[[device]]
name = "lidar"
profile = "livox-mid360"
link = { udp = { to = "127.0.0.1:9" } }
settings = { push_period_s = 0.012 }
"#;
    let of = |workers| {
        let rig = common::rig(text, &[("engine.workers", workers)]);
        let [pcap] = common::captures(&rig, Duration::from_millis(300), ["lidar"]);
        pcap
    };
    let one = of("1");
    assert!(one == of("1") && one == of("4"), "another recording has other bytes");
    // A status message begins with 0xaa; samples are short.
    let port = |payload: &[u8]| match payload {
        [0xaa, ..] => 2,
        _ => u8::from(payload.len() == 60),
    };
    let frames = common::frames(&one);
    let together = frames.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let together: Vec<_> = together.map(|pair| [port(&pair[0].1), port(&pair[1].1)]).collect();
    assert!(together.contains(&[0, 1]) && together.contains(&[1, 2]), "{together:?}");
    assert!(together.iter().all(|[first, second]| first < second), "{together:?}");
}

/// A recording without `start_utc` has a fixed start, so it is the same on any day.
#[test]
fn recordings_without_a_start_are_equal() {
    let undated = RIG.replace("start_utc = 2026-06-01T12:59:59.9Z", "");
    let rig = common::rig(&undated, &[]);
    let of = || recorded(&rig, Duration::from_millis(2));
    assert!(of() == of(), "the second recording has other bytes");
}

#[test]
fn scanners_and_imus_that_wait_for_a_host_stream_in_a_recording() {
    let is_asked_by_nobody = |family: &str| {
        ["sick-", "hokuyo", "vectornav", "xsens-", "microstrain-", "sbg-", "wheeltec-"]
            .iter()
            .any(|start| family.starts_with(start))
    };
    let profiles = catalogue().profiles().iter();
    let names: Vec<&str> = profiles
        .filter(|profile| is_asked_by_nobody(profile.family.key()))
        .map(|profile| profile.name.as_str())
        .collect();
    assert!(names.len() > 15, "{names:?}");
    let file = |name: &str| name.replace('.', "-");
    let device = |name: &&str| format!("[[device]]\nname = {:?}\nprofile = {name:?}\n", file(name));
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    let devices: String = names.iter().map(device).collect();
    std::fs::write(&rig, format!("[world]\nscene = \"room\"\n{devices}")).unwrap();
    let out = folder.path().join("out");
    let mut command = common::menura();
    command.args(["record", "--duration", "1500ms"]).arg(&rig).arg("--out").arg(&out);
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{}", common::stderr(&ended));
    for name in names {
        let bytes = std::fs::metadata(out.join(file(name) + ".bin")).unwrap().len();
        assert!(bytes > 300, "{name}: {bytes} bytes");
    }
}

#[test]
fn rigs_with_every_default_written_give_the_same_recordings() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let folder = tempfile::tempdir().unwrap();
    let few = "world.parameters={ grass_blades = 100, trees = 1, tree_triangles = 1000 }";
    let sets = [
        ("hokuyo", ""),
        ("passing-cylinders", ""),
        ("spinning-head", ""),
        ("street", ""),
        ("georeferenced", few),
        ("ouster", few),
        ("hesai", few),
        ("robosense", few),
    ];
    for (name, set) in sets {
        let path = examples.join(format!("{name}.toml"));
        let sets: Vec<Override> = Some(set)
            .filter(|set| !set.is_empty())
            .into_iter()
            .map(|set| set.parse().unwrap())
            .collect();
        let complete = Rig::complete_text(Some(&path), &sets, catalogue()).unwrap();
        let written = folder.path().join(format!("{name}.toml"));
        std::fs::write(&written, &complete).unwrap();
        let before = Rig::load(&path, &sets, catalogue()).unwrap();
        let after = Rig::load(&written, &[], catalogue())
            .unwrap_or_else(|faults| panic!("{name}: {faults}\n{complete}"));
        let [before, after] =
            [before, after].map(|rig| common::recorded(&rig, Duration::from_millis(50)));
        assert!(before == after, "{name}: other bytes from\n{complete}");
    }
}

/// A request to the web interface changes all measurements after its time, even those that were already rendered when
/// it arrived.
#[test]
fn what_hosts_change_does_not_depend_on_the_number_of_workers() {
    const PUCK: &str = r#"
seed = 7
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "room"
[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 }
[[device]]
name = "puck"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.0, 0.0, 1.0] }
link = { udp = { to = "127.0.0.1:9", position_port = 10 }, web = "127.0.0.1:9" }
"#;
    let form = |at_ms: u64, body: &str| HostInput {
        at: SimTime(at_ms * 1_000_000 + 484_727),
        to: HostTarget::Device(DeviceId(0)),
        payload: Payload::Request(HttpRequest {
            method: HttpMethod::Post,
            path: "/cgi/setting".into(),
            body: body.into(),
            ..HttpRequest::default()
        }),
    };
    let inputs = vec![form(274, "rpm=300"), form(1304, "returns=Dual"), form(1904, "rpm=1200")];
    let hosts =
        Conversation { start: "2026-06-01T12:00:00Z".parse().unwrap(), inputs, is_cut_off: false };
    let of = |workers| {
        let rig = common::rig(PUCK, &[("engine.workers", workers)]);
        let folder = tempfile::tempdir().unwrap();
        let (duration, stop) = (Duration::from_millis(2500), AtomicBool::new(false));
        let world = common::world(&rig);
        record(&rig, &world, duration, Some(&hosts), folder.path(), &stop, |_| {}).unwrap();
        std::fs::read(folder.path().join("puck.pcap")).unwrap()
    };
    let one = of("1");
    let times: Vec<_> = common::frames(&one).into_iter().map(|(at_ns, _)| at_ns).collect();
    assert!(times.len() > 2000, "{}", times.len());
    let later = times.windows(2).position(|pair| pair[1] < pair[0]);
    assert_eq!(later, None, "packets are not in the order of their times");
    for workers in ["1", "2", "3"] {
        assert!(one == of(workers), "{workers} workers give other bytes");
    }
}

#[test]
fn another_seed_gives_other_noise_but_the_same_frames() {
    let of = |seed| {
        recorded(
            &rig(&[("seed", seed), ("world.parameters.seed", "11")]),
            Duration::from_millis(10),
        )
    };
    let (a, b) = (payloads(&of("11")[0]), payloads(&of("12")[0]));
    assert_eq!(a.len(), b.len());
    assert!(a.len() > 30, "{}", a.len());
    for (a, b) in a.iter().zip(&b) {
        assert_ne!(a, b);
        let (a, b) = (DataPacket::parse(a).unwrap(), DataPacket::parse(b).unwrap());
        assert_eq!(a.tail, b.tail);
        for (a, b) in a.blocks.iter().zip(&b.blocks) {
            assert_eq!((a.flag, a.azimuth_centideg), (b.flag, b.azimuth_centideg));
        }
    }
}

/// Results of a live run.
struct Live {
    /// Packets of the second device.
    received: Vec<Vec<u8>>,
    /// Number of sent packets of all devices, as counted by the run.
    sent: u64,
    dropped: u64,
}

fn live(keys: &[(&str, &str)], duration: Duration) -> Live {
    common::until_whole(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = format!("\"{}\"", socket.local_addr().unwrap());
        let rig = rig(&[keys, &[("device.second.link.udp.to", &address)]].concat());
        let world = common::world(&rig);
        let run = RealTimeRun::new(&rig, &world).unwrap_or_else(|e| panic!("{e}"));
        let heard = common::live(&run, duration, &socket);
        let figures = run.figures(duration);
        let sent = figures.iter().map(|f| f.packets).sum();
        let dropped = figures.iter().map(|f| f.dropped).sum();
        let told = Live { received: heard.told, sent, dropped };
        common::Heard { told, dropped: heard.dropped }
    })
}

#[test]
fn a_live_run_sends_the_recorded_bytes() {
    let duration = Duration::from_millis(50);
    let Live { received, sent, dropped } = live(&[], duration);
    let [first, second] = recorded(&rig(&[]), duration).map(|pcap| payloads(&pcap));
    assert_eq!((sent, dropped), ((first.len() + second.len()) as u64, 0));
    assert_eq!(received.len(), second.len());
    assert!(received == second, "live bytes differ from recorded ones");
}

/// Sends the numbers `sent` to `socket`, which is read only after the last one. Returns the received numbers, and the
/// number of datagrams that this machine dropped.
fn heard(socket: &UdpSocket, sent: impl Iterator<Item = u32>) -> common::Heard<Vec<u32>> {
    let (sender, to) = (UdpSocket::bind("127.0.0.1:0").unwrap(), socket.local_addr().unwrap());
    for number in sent {
        sender.send_to(&number.to_le_bytes(), to).unwrap();
    }
    let dropped = common::dropped_at(to.port());
    socket.set_nonblocking(true).unwrap();
    let mut buffer = [0; 4];
    let told =
        std::iter::from_fn(|| socket.recv(&mut buffer).ok().map(|_| u32::from_le_bytes(buffer)));
    common::Heard { told: told.collect(), dropped }
}

/// Number of datagrams: more than the default receive buffer holds, and fewer than an enlarged one holds.
const MANY: u32 = 2000;

#[test]
fn what_this_machine_drops_is_heard_again() {
    let mut attempts = 0;
    let told = common::until_whole(|| {
        attempts += 1;
        let socket = if attempts == 1 {
            UdpSocket::bind("127.0.0.1:0").unwrap()
        } else {
            common::roomy_socket()
        };
        heard(&socket, 0..if attempts == 1 { MANY } else { 100 })
    });
    assert_eq!((attempts, told.len()), (2, 100));
}

#[test]
fn what_the_sender_loses_is_not_heard_again() {
    let mut attempts = 0;
    let told = common::until_whole(|| {
        attempts += 1;
        heard(&common::roomy_socket(), (0..100).filter(|number| *number != 40))
    });
    assert_eq!((attempts, told.len()), (1, 99));
    assert!(!told.contains(&40));
}

#[test]
#[should_panic(expected = "dropped datagrams at the test's own socket in each attempt")]
fn a_machine_that_always_drops_says_nothing_of_the_sender() {
    common::until_whole(|| heard(&UdpSocket::bind("127.0.0.1:0").unwrap(), 0..MANY));
}

#[test]
fn a_rig_too_heavy_for_its_workers_drops_and_counts_but_keeps_its_phase() {
    // One thread cannot cast 2.3 million pulses of nine rays per second.
    let keys =
        [("engine.workers", "1"), ("engine.late", "\"drop\""), ("engine.render_ahead_ms", "5")];
    let duration = Duration::from_millis(400);
    let Live { received, sent, dropped } = live(&keys, duration);
    let all = recorded(&rig(&keys), duration).map(|pcap| payloads(&pcap));
    assert!(dropped > 0, "nothing was dropped");
    assert_eq!(sent + dropped, (all[0].len() + all[1].len()) as u64);
    // The received packets are, in order, a subset of those that a fast machine would send.
    let mut expected = all[1].iter();
    for packet in &received {
        assert!(
            expected.any(|e| e == packet),
            "a packet is not one of the device's, or out of order"
        );
    }
}
