//! Certificates, requirements, probe and replay, with the real binary. No test asserts a speed: counts, hashes,
//! verdicts and exit codes do not depend on the machine's load.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use menura::engine::run::sender::{SENDER_NAME, STANDBY_NAME};
use serde_json::{Value, json};

use crate::common;

fn menura(arguments: &[&str]) -> Command {
    let mut command = common::menura();
    command.args(arguments);
    command
}

fn output(arguments: &[&str]) -> Output {
    menura(arguments).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// An HDL-64E S2 alone in a room, one ray per pulse: 3472 packets per second.
fn rig(folder: &Path, to: &str) -> String {
    rig_with(folder, "velodyne-hdl64e-s2", &format!("to = \"{to}\""))
}

/// A lidar alone in a room, one ray per pulse.
fn rig_with(folder: &Path, profile: &str, udp: &str) -> String {
    let path = folder.join("rig.toml");
    let text = format!(
        "seed = 3\n[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
         [[device]]\nname = \"lidar\"\nprofile = \"{profile}\"\n\
         mount = {{ translation_m = [0.0, 0.0, 1.5] }}\nlink = {{ udp = {{ {udp} }} }}\n\
         settings = {{ beam = {{ shape = \"ray\" }} }}\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_certificate_accounts_for_every_packet() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let robot = UdpSocket::bind("127.0.0.1:0").unwrap();
    let rig = rig(folder.path(), &robot.local_addr().unwrap().to_string());
    let (first, page) = (at("first.json"), at("first.html"));
    let run = output(&[
        "run",
        &rig,
        "--duration",
        "400ms",
        "--certificate",
        &first,
        "--certificate",
        &page,
        "--require",
        "packets=1389,dropped=0",
        "--require",
        "lidar:refused=0",
    ]);
    assert!(run.status.success(), "{}{}", text(&run.stdout), text(&run.stderr));
    assert!(text(&run.stdout).contains("met: packets=1389: lidar has 1389 packets"));
    let certificate = json(Path::new(&first));
    assert_eq!(certificate["format"], "menura-certificate-2");
    let device = &certificate["devices"][0];
    assert_eq!(device["stamps"], "kernel");
    for series in ["handed", "departed", "in_kernel"] {
        assert_eq!(device[series]["count"], 1389, "{series}");
        let bars = device[series]["histogram"].as_array().unwrap();
        let counts: u64 = bars.iter().map(|bar| bar[1].as_u64().unwrap()).sum();
        assert_eq!(counts, 1389, "{series}");
    }
    // A packet cannot leave before it is submitted; the clocks agree accurately enough.
    assert_eq!(device["in_kernel"]["early"], 0);
    assert!(certificate["clock"]["source"].is_string());
    assert_eq!(certificate["requirements"].as_array().unwrap().len(), 3);
    let page = std::fs::read_to_string(&page).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("All requirements are met") && !page.contains("NaN"));

    let second = at("second.json");
    let run =
        output(&["run", &rig, "--duration", "100ms", "--certificate", &second, "--seed", "4"]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let again = json(Path::new(&second));
    assert_eq!(again["hashes"], certificate["hashes"]);
    let parts: Vec<_> =
        again["hashes"].as_array().unwrap().iter().map(|hash| &hash["part"]).collect();
    assert_eq!(parts, ["rig", "profile", "scene", "binary"]);
    assert_eq!(again["seed"], 4);
}

#[test]
fn a_requirement_that_is_not_met_is_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), &format!("127.0.0.1:{}", common::free_port()));
    let run = output(&["run", &rig, "--duration", "50ms", "--require", "max<1ns,late<=9999"]);
    assert_eq!(run.status.code(), Some(3), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("NOT MET: max<1ns: lidar has"), "{}", text(&run.stdout));
    assert!(text(&run.stdout).contains("met: late<=9999"));
    assert!(text(&run.stderr).contains("1 of 2 requirements not met"));
}

#[test]
fn wrong_requirements_and_files_stop_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), "127.0.0.1:9");
    let nowhere = folder.path().join("no/such/folder.json");
    let nowhere = nowhere.to_str().unwrap();
    for (arguments, expected) in [
        (&["run", &rig, "--require", "p99"][..], "no comparison"),
        (&["run", &rig, "--require", "p99<100"], "a time with a unit"),
        (&["run", &rig, "--require", "imu:late=0"], "allowed: lidar"),
        (&["run", &rig, "--certificate", nowhere], "cannot write the certificate"),
        (&["replay", &rig], "cannot replay"),
        (&["replay", nowhere], "cannot replay"),
        (&["replay", nowhere, "--standby-core", "1"], "--send-core"),
        (
            &["replay", nowhere, "--send-core", "1", "--standby-core", "1"],
            "must differ from --send-core",
        ),
        (&["replay", nowhere, "--lead-us", "101"], "0 to 100 us"),
        (&["probe", "--listen", "0"], "a port from 1 to 65535"),
        (&["probe", "--listen", "70000"], "a port from 1 to 65535"),
        (&["probe"], "--listen"),
    ] {
        let told = output(arguments);
        assert_eq!(told.status.code(), Some(2), "{arguments:?}: {}", text(&told.stderr));
        assert!(text(&told.stderr).contains(expected), "{arguments:?}: {}", text(&told.stderr));
    }
}

#[test]
fn a_card_that_does_not_stamp_is_not_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), "127.0.0.1:9");
    let certificate = folder.path().join("certificate.json");
    let told = output(&[
        "run",
        &rig,
        "--set",
        "engine.stamps=\"card\"",
        "--certificate",
        certificate.to_str().unwrap(),
    ]);
    assert!(!told.status.success());
    assert!(text(&told.stderr).contains("lo has no hardware clock"), "{}", text(&told.stderr));
}

#[test]
fn a_lead_is_found_from_departures() {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), &format!("127.0.0.1:{}", common::free_port()));
    let certificate = folder.path().join("certificate.json");
    let path = certificate.to_str().unwrap();
    let of = |lead: &str| {
        let set = format!("engine.lead_us={lead}");
        let run =
            output(&["run", &rig, "--duration", "300ms", "--set", &set, "--certificate", path]);
        assert!(run.status.success(), "{}", text(&run.stderr));
        let found = json(&certificate);
        (found["sending"]["lead_us"].clone(), found["devices"][0]["lead_us"].as_f64().unwrap())
    };
    let (asked, found) = of("auto");
    assert!(asked.is_null() && found > 0.0 && found <= 100.0, "{asked} {found}");
    assert_eq!(of("2.5"), (2.5.into(), 2.5));
}

fn probe(port: u16, arguments: &[&str]) -> Child {
    menura(&["probe", "--listen", &port.to_string(), "--json"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a program has bound the port.
#[allow(clippy::disallowed_methods)] // another process opens it
fn wait_for(port: u16) {
    for _ in 0..3000 {
        if UdpSocket::bind(("0.0.0.0", port)).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("nobody listens at {port}");
}

/// Report of a probe at a port while `send` runs. If the machine is too busy to read all packets (the probe counts the
/// packets that its socket drops), the test prints a message and tries again.
fn probed(port: u16, arguments: &[&str], send: impl Fn()) -> Value {
    const ATTEMPTS: usize = 5;
    for attempt in 1..=ATTEMPTS {
        let listening = probe(port, arguments);
        wait_for(port);
        send();
        let dropped = common::dropped_at(port);
        let seen = report(listening);
        if dropped == 0 {
            return seen;
        }
        println!("this machine dropped {dropped} datagrams of attempt {attempt} of {ATTEMPTS}");
    }
    panic!("this machine is too busy: it dropped datagrams in each of {ATTEMPTS} attempts");
}

/// Ends the probe and reads its report.
fn report(probe: Child) -> Value {
    let ended = Command::new("kill").args(["-INT", &probe.id().to_string()]).status().unwrap();
    assert!(ended.success());
    let output = probe.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_probe_sees_what_a_run_and_a_replay_send() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let port = common::free_port();
    let to = format!("127.0.0.1:{port}");
    let rig = rig(folder.path(), &to);

    let (certificate, plot) = (at("certificate.json"), at("arrivals.html"));
    let seen = probed(port, &["--compare", &certificate, "--plot", &plot], || {
        let run = output(&["run", &rig, "--duration", "400ms", "--certificate", &certificate]);
        assert!(run.status.success(), "{}", text(&run.stderr));
    });
    let stream = &seen["streams"][0];
    assert_eq!((&stream["kind"], &stream["packets"]), (&Value::from("velodyne"), &1389.into()));
    for none in ["lost", "gaps", "reordered", "duplicates", "unstamped", "unrecognised"] {
        assert_eq!(stream[none], 0, "{none}");
    }
    let period_us = stream["period_us"].as_f64().unwrap();
    assert!((period_us - 288.0).abs() < 1.0, "{period_us}");
    let comparison = &seen["comparisons"][0];
    assert_eq!((&comparison["sent"], &comparison["missing"]), (&1389.into(), &0.into()));
    let page = std::fs::read_to_string(&plot).unwrap();
    assert!(page.matches("<svg").count() == 2 && page.contains("0 missing"));

    let recorded = output(&["record", &rig, "--duration", "100ms", "--out", &at("out")]);
    assert!(recorded.status.success(), "{}", text(&recorded.stderr));
    let capture = at("out/lidar.pcap");
    let certified = at("replay.json");
    let seen = probed(port, &[], || {
        let replay = output(&[
            "replay",
            &capture,
            "--to",
            &to,
            "--duration",
            "250ms",
            "--certificate",
            &certified,
            "--require",
            "unstamped=0",
        ]);
        assert!(replay.status.success(), "{}", text(&replay.stderr));
    });
    let sent = &json(Path::new(&certified))["devices"][0]["packets"];
    let stream = &seen["streams"][0];
    assert_eq!((&stream["packets"], &stream["lost"]), (sent, &0.into()));
    // The capture is replayed two and a half times, so the timestamps in its packets go back twice.
    assert_eq!((&stream["restarts"], &stream["reordered"]), (&2.into(), &0.into()));
}

#[test]
fn position_packets_are_stamped_and_not_missed_at_the_data_port() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("certificate.json");
    let path = certificate.to_str().unwrap();
    let (port, positions) = (common::free_port(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let position_port = positions.local_addr().unwrap().port();
    let udp = format!("to = \"127.0.0.1:{port}\", position_port = {position_port}");
    let rig = rig_with(folder.path(), "velodyne-vlp16-3.0", &udp);
    let seen = probed(port, &["--compare", path], || {
        let run = output(&["run", &rig, "--duration", "300ms", "--certificate", path]);
        assert!(run.status.success(), "{}", text(&run.stderr));
    });
    let comparison = &seen["comparisons"][0];
    assert_eq!((&comparison["sent"], &comparison["missing"]), (&227.into(), &0.into()));
    let device = &json(&certificate)["devices"][0];
    let all = device["packets"].as_u64().unwrap();
    let ports = [("data", 227), ("position", all - 227)];
    let ports = ports.map(|(name, packets)| json!({ "name": name, "packets": packets }));
    assert_eq!(device["ports"], json!(ports));
    assert!(all > 227, "a unit of 600 rpm makes some within 300 ms");
    assert_eq!((&device["departed"]["count"], &device["unstamped"]), (&all.into(), &0.into()));
    // Certificates of the older format have the packets of the second port under another key.
    let text = std::fs::read_to_string(&certificate).unwrap();
    let old = text.replace("\"ports\"", "\"position_packets\"");
    let old = old.replace("menura-certificate-2", "menura-certificate-1");
    let old = menura::engine::certificate::Certificate::parse(&old).unwrap();
    assert!(old.devices[0].ports.is_empty());
}

/// A thread in `/proc`: its name, its permitted cores, and its scheduling policy (`SCHED_FIFO` is 1, `SCHED_DEADLINE`
/// 6).
fn thread(path: &Path) -> Option<(String, String, u32)> {
    let status = std::fs::read_to_string(path.join("status")).ok()?;
    let value =
        |key: &str| Some(status.lines().find_map(|l| l.strip_prefix(key))?.trim().to_owned());
    let stat = std::fs::read_to_string(path.join("stat")).ok()?;
    // The policy is field 41. Fields are counted after the name, which may contain blanks.
    let policy = stat.rsplit_once(')')?.1.split_whitespace().nth(38)?.parse().ok()?;
    Some((value("Name:")?, value("Cpus_allowed_list:")?, policy))
}

#[test]
fn what_the_system_grants_is_in_force() {
    grants_are_in_force(&[
        ("fifo", "SCHED_FIFO", 1, false),
        ("deadline", "SCHED_DEADLINE", 6, false),
        ("normal", "-", 0, false),
    ]);
}

#[test]
#[ignore = "needs two cores"]
fn what_the_system_grants_a_standby_is_in_force() {
    grants_are_in_force(&[("fifo", "SCHED_FIFO", 1, true)]);
}

/// Checks that a real-time right is reported as granted only if it is in effect. Each case has the scheduler, name of
/// the right, the kernel's number of the policy, and whether a standby sender exists.
#[allow(clippy::disallowed_methods)] // looks at another process while it runs
fn grants_are_in_force(cases: &[(&str, &str, u32, bool)]) {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), &format!("127.0.0.1:{}", common::free_port()));
    let report = folder.path().join("report.json");
    let core = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    for &(scheduler, wish, policy, has_standby) in cases {
        assert!(!has_standby || core > 0, "a sender that stands by needs a second core");
        let pinned = scheduler != "deadline" && core > 0;
        let mut command = menura(&["run", &rig, "--duration", "300ms", "--report"]);
        command.arg(&report).args(["--set", &format!("engine.scheduler={scheduler}")]);
        if pinned {
            command.args(["--set", &format!("engine.send_core={core}")]);
        }
        if has_standby {
            command.args(["--set", &format!("engine.standby_core={}", core - 1)]);
        }
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let tasks = format!("/proc/{}/task", run.id());
        // The threads when the sender was last seen.
        let mut seen = Vec::new();
        let ended = loop {
            if let Some(ended) = run.try_wait().unwrap() {
                break ended;
            }
            let entries = std::fs::read_dir(&tasks).into_iter().flatten();
            let now: Vec<_> = entries.filter_map(|task| thread(&task.ok()?.path())).collect();
            if now.iter().any(|(name, ..)| name == SENDER_NAME) {
                seen = now;
            }
            std::thread::sleep(Duration::from_millis(30));
        };
        assert!(ended.success(), "{scheduler}");
        let granted = |word: &str| {
            let rights = json(&report)["real_time_rights"].clone();
            let is_meant = |right: &&Value| right["wish"].as_str().unwrap().contains(word);
            rights.as_array().unwrap().iter().find(is_meant).is_some_and(|r| r["granted"] == true)
        };
        let (sender, others): (Vec<_>, Vec<_>) =
            seen.into_iter().partition(|(name, ..)| name == SENDER_NAME);
        let [(_, cores, is)] = &sender[..] else { panic!("one sender: {sender:?}") };
        let standby = others.iter().find(|(name, ..)| name == STANDBY_NAME);
        assert_eq!(standby.is_some(), has_standby);
        if let Some((_, cores, is)) = standby {
            if granted("standby: real-time priority") {
                assert_eq!(*is, policy);
            }
            if granted("standby: core") {
                assert_eq!(*cores, (core - 1).to_string());
            }
        }
        if policy == 0 || granted(wish) {
            assert_eq!(*is, policy, "{scheduler}");
        }
        if pinned && granted("for the sender") {
            assert_eq!(*cores, core.to_string(), "{scheduler}");
            let kept_off = others.iter().all(|(_, cores, _)| !cores.ends_with(&core.to_string()));
            assert!(kept_off, "{scheduler}: {others:?}");
        }
    }
}

#[test]
fn a_probe_holds_out_against_anything() {
    let port = common::free_port();
    let listening = probe(port, &[]);
    wait_for(port);
    let hostile = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = ("127.0.0.1", port);
    for length in [0, 1, 4, 1205, 1206, 1207, 9000, 65_507] {
        for fill in [0x00, 0xff, 0xee] {
            hostile.send_to(&vec![fill; length], to).unwrap();
        }
    }
    // The probe also reads packets that arrived before it was stopped.
    let seen = report(listening);
    let stream = &seen["streams"][0];
    // An Ouster's packets have 33 kB, and all of them are read completely.
    assert_eq!((&stream["packets"], &stream["cut"]), (&24.into(), &0.into()));
}
