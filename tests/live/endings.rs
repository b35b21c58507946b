//! Tests of how commands end, with the real binary: with a full disk, a closed pipe, a signal, or an unreachable host.
//! In every case, the requested files are complete.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use crate::common::{self, stderr, stdout};
use serde_json::Value;
use tempfile::TempDir;

/// An address in a TEST-NET (RFC 5737). From the loopback address, sending to it fails at once, independent of this
/// host's routes.
const NOWHERE: &str = "203.0.113.7:2368";

fn menura(arguments: &[&str]) -> Command {
    let mut command = common::menura();
    command.env("COLUMNS", "100").args(arguments);
    command
}

fn output(arguments: &[&str]) -> Output {
    menura(arguments).output().expect("the binary runs")
}

fn full() -> File {
    File::options().write(true).open("/dev/full").expect("Linux has it")
}

/// A folder with `rig.toml`: a static robot in a room, with the given devices.
struct Bench(TempDir);

impl Bench {
    fn new(devices: &str) -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        let rig = format!(
            "seed = 3\n[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n{devices}"
        );
        fs::write(bench.0.path().join("rig.toml"), rig).unwrap();
        bench
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    fn rig(&self) -> String {
        self.path("rig.toml")
    }

    fn json(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.path(name)).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text:?}"))
    }
}

/// A lidar with one ray per pulse, which any machine renders in time.
fn lidar(link: &str) -> String {
    format!(
        "[[device]]\nname = \"lidar\"\nprofile = \"velodyne-vlp16-3.0\"\nlink = {{ udp = {{ {link} }} }}\n\
         settings = {{ beam = {{ shape = \"ray\" }} }}\n"
    )
}

/// An open socket, and a lidar that sends to it.
fn heard_lidar() -> (UdpSocket, String) {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap();
    let link = format!("to = \"{}\"", port.local_addr().unwrap());
    (port, lidar(&link))
}

fn refused_lidar() -> String {
    lidar(&format!("to = \"{NOWHERE}\", from = \"127.0.0.1:0\""))
}

/// Devices without requests from hosts: a scanner on a pseudo-terminal that no program has open, and one on TCP without
/// a client.
fn idle_scanners(bench_of: &Path) -> String {
    format!(
        "[[device]]\nname = \"scanner\"\nprofile = \"sick-lms291-s05-x1.27\"\n\
         link = {{ pty = \"{}\" }}\n\
         [[device]]\nname = \"network\"\nprofile = \"sick-lms111\"\n\
         link = {{ tcp = [\"127.0.0.1:0\"] }}\n",
        bench_of.join("scanner").display()
    )
}

// --- output ---

#[test]
fn a_run_writes_its_files_although_nothing_can_be_printed() {
    let (_port, devices) = heard_lidar();
    type Set = fn(&mut Command);
    // Name of the case, standard streams, exit code, text on standard error.
    let cases: [(&str, Set, i32, &str); 4] = [
        ("full output", |c| _ = c.stdout(full()).stderr(Stdio::piped()), 1, "No space left"),
        ("full talk", |c| _ = c.stderr(full()).stdout(Stdio::piped()), 0, ""),
        ("both full", |c| _ = c.stdout(full()).stderr(full()), 1, ""),
        ("both closed", |c| _ = c.stdout(closed()).stderr(closed()), 0, ""),
    ];
    for (case, set, code, told) in cases {
        let bench = Bench::new(&devices);
        let files = ["report.json", "one.json", "two.html"].map(|name| bench.path(name));
        let mut command = menura(&["run", &bench.rig(), "--duration", "300ms"]);
        command.args([
            "--report",
            &files[0],
            "--certificate",
            &files[1],
            "--certificate",
            &files[2],
        ]);
        set(&mut command);
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{case}: {}", stderr(&output));
        assert!(stderr(&output).contains(told), "{case}: {}", stderr(&output));
        let packets = bench.json("report.json")["devices"][0]["packets"].as_u64().unwrap();
        assert!(packets > 200, "{case}: {packets}");
        assert_eq!(bench.json("one.json")["devices"][0]["packets"], packets, "{case}");
        assert!(fs::read_to_string(&files[2]).unwrap().ends_with("</html>\n"), "{case}");
    }
}

/// The writing end of a pipe whose reading end is closed.
fn closed() -> std::io::PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer
}

#[test]
fn no_command_panics_where_it_cannot_print() {
    let bench = Bench::new(&refused_lidar());
    let rig = bench.rig();
    let recorded = bench.path("out");
    let bytes = format!("{recorded}/lidar.pcap");
    let picture = bench.path("picture.svg");
    let chart = bench.path("arrivals.html");
    let port = common::free_port().to_string();
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap().to_string();
    let commands: &[&[&str]] = &[
        &["record", &rig, "--duration", "250ms", "--force", "--out", &recorded],
        &["--help"],
        &["--version"],
        &["run", "--help"],
        &["check", &rig],
        &["profiles"],
        &["profiles", "velodyne-vlp16-3.0"],
        &["profiles", "velodyne-hdl64e-s2", "--calibration", "-"],
        &["scenes"],
        &["doctor", "--measure", "5ms"],
        &["doctor", "--measure", "5ms", "--json"],
        &["inspect", &bytes],
        &["inspect", &bytes, "--json"],
        &["inspect", &bytes, "--json", "--plot", &picture],
        &["replay", &bytes, "--to", &to],
        &["probe", "--listen", &port, "--duration", "50ms", "--plot", &chart],
        &["probe", "--listen", &port, "--duration", "50ms", "--json"],
        &["twin", &bytes, "--profile", "velodyne-vlp16-3.0", "--scene", "room"],
        &["validate", "allan", "wheeltec-n100", "--duration", "1min"],
    ];
    for arguments in commands {
        let whole = output(arguments);
        assert!(matches!(whole.status.code(), Some(0 | 1)), "{arguments:?}: {}", stderr(&whole));
        for name in [&picture, &chart] {
            let _ = fs::remove_file(name);
        }
        let on_full = menura(arguments).stdout(full()).output().unwrap();
        let told = stderr(&on_full);
        assert_eq!(on_full.status.code(), Some(1), "{arguments:?}: {told}");
        let expected = "error: cannot write to standard output: No space left on device";
        assert!(told.contains(expected), "{arguments:?}: {told}");
        assert!(!told.contains("panicked"), "{arguments:?}: {told}");
        for name in [&picture, &chart] {
            let is_asked_for = arguments.contains(&name.as_str());
            assert_eq!(Path::new(name).exists(), is_asked_for, "{arguments:?}");
        }
        let on_closed = menura(arguments).stdout(closed()).output().unwrap();
        let told = stderr(&on_closed);
        assert_eq!(on_closed.status.code(), whole.status.code(), "{arguments:?}: {told}");
        assert!(!told.contains("panicked") && !told.contains("pipe"), "{arguments:?}: {told}");
        let silent = menura(arguments).stdout(Stdio::null()).stderr(full()).status().unwrap();
        assert_eq!(silent.code(), whole.status.code(), "{arguments:?} with full talk");
    }
    let wrong = menura(&["dance"]).stderr(full()).status().unwrap();
    assert_eq!(wrong.code(), Some(2));
}

#[test]
fn a_reader_that_has_seen_enough_ends_a_report_quietly() {
    let bench = Bench::new(&refused_lidar());
    let out = bench.path("out");
    let recorded = output(&["record", &bench.rig(), "--duration", "1s", "--out", &out]);
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    let capture = format!("{out}/lidar.pcap");
    let mut child = menura(&["inspect", &capture, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("{\"type\":\"packet\""), "{first:.60}");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
}

// --- files ---

#[test]
fn a_file_that_cannot_be_written_is_told_and_loses_no_other() {
    let (_port, devices) = heard_lidar();
    let fault = "[[fault]]\ndevice = \"lidar\"\nname = \"hole\"\nkind = \"packet-loss\"\nprobability = 0.5\nstart_s = 0.0\n";
    let bench = Bench::new(&format!("{devices}{fault}"));
    for full_one in ["--report", "--certificate", "--fault-log", "--truth"] {
        let good = ["report.json", "good.json", "faults.csv"].map(|name| bench.path(name));
        for name in &good {
            let _ = fs::remove_file(name);
        }
        let ended = output(&[
            "run",
            &bench.rig(),
            "--duration",
            "300ms",
            full_one,
            "/dev/full",
            "--certificate",
            &good[1],
            // The other two options, or the same one again if it may be repeated.
            if full_one == "--report" { "--certificate" } else { "--report" },
            &good[0],
            if full_one == "--fault-log" { "--certificate" } else { "--fault-log" },
            &good[2],
        ]);
        assert_eq!(ended.status.code(), Some(1), "{full_one}: {}", stderr(&ended));
        assert!(stderr(&ended).contains("No space left"), "{full_one}: {}", stderr(&ended));
        assert!(stdout(&ended).contains("lidar: "), "the summary is printed all the same");
        for name in &good {
            assert!(fs::metadata(name).unwrap().len() > 100, "{full_one}: {name}");
        }
        bench.json("good.json");
        bench.json("report.json");
    }
}

#[test]
fn a_run_that_cannot_start_leaves_files_as_they_were() {
    let bench = Bench::new(&lidar(&format!("to = \"{NOWHERE}\", from = \"203.0.113.9:0\"")));
    let (old, new) = (bench.path("old.json"), bench.path("new.json"));
    fs::write(&old, "precious").unwrap();
    let ended = output(&["run", &bench.rig(), "--certificate", &old, "--report", &new]);
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    assert_eq!(fs::read_to_string(&old).unwrap(), "precious");
    assert!(!Path::new(&new).exists(), "an empty report is none");
}

/// Runs Menura in `bash` with file sizes limited to `blocks` times 1024 bytes, so that a write fails as on a full disk.
fn limited(blocks: u32, arguments: &[&str]) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_menura")]).args(arguments);
    command.env_remove("MENURA_LOG").output().expect("bash runs")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_that_is_cut_off_never_has_the_name_that_was_asked_for() {
    let mount = "mount = { translation_m = [0.0, 0.0, 1.5] }\n";
    let bench = Bench::new(&format!("{}{mount}", refused_lidar()));
    let recorded = bench.path("whole");
    let rig = bench.rig();
    let made = output(&["record", &rig, "--duration", "200ms", "--truth", "--out", &recorded]);
    assert!(made.status.success(), "{}", stderr(&made));
    let capture = format!("{recorded}/lidar.pcap");
    let truth = format!("{recorded}/truth.mcap");
    let folder = bench.path("cut");
    fs::create_dir(&folder).unwrap();
    let at = |name: &str| format!("{folder}/{name}");
    let (las, csv, npz, svg, png) =
        (at("a.las"), at("a.csv"), at("a.npz"), at("a.svg"), at("a.png"));
    let (new, xml) = (at("new.toml"), at("c.xml"));
    fs::write(&las, "precious").unwrap();
    let commands: &[&[&str]] = &[
        &["export", &capture, "--to", "las", "--out", &las],
        &["join", &capture, &truth, "--out", &csv],
        &["join", &capture, &truth, "--out", &npz],
        &["inspect", &capture, "--plot", &svg],
        &["scenes", "room", "--width", "64", "--plot", &png],
        &["profiles", "velodyne-hdl64e-s2", "--calibration", &xml],
        &["new", &new, "--device", "velodyne-vlp16-3.0"],
    ];
    for arguments in commands {
        // An image of plain walls is small, so the limit is lower.
        let ended = limited(u32::from(arguments[0] != "scenes"), arguments);
        let told = stderr(&ended);
        assert_eq!(ended.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.contains("cannot write ") && told.contains("File too large"), "{told}");
        assert_eq!(names(Path::new(&folder)), ["a.las"], "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(&las).unwrap(), "precious");

    // An incomplete recording keeps its data, under the name of an unfinished file.
    let cut = bench.path("part");
    let ended = limited(100, &["record", &rig, "--duration", "10s", "--truth", "--out", &cut]);
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("lidar.pcap.part: File too large"), "{}", stderr(&ended));
    assert_eq!(names(Path::new(&cut)), ["lidar.pcap.part", "truth.csv.part", "truth.mcap.part"]);
}

#[test]
fn a_run_names_every_file_that_it_could_not_write() {
    let (_port, devices) = heard_lidar();
    let bench = Bench::new(&devices);
    let files = ["report.json", "timing.json", "truth.mcap"].map(|name| bench.path(name));
    let ended = limited(
        1,
        &[
            "run",
            &bench.rig(),
            "--duration",
            "300ms",
            "--report",
            &files[0],
            "--certificate",
            &files[1],
            "--truth",
            &files[2],
        ],
    );
    let told = stderr(&ended);
    assert_eq!(ended.status.code(), Some(1), "{told}");
    for file in &files {
        assert!(told.contains(file) && !Path::new(file).exists(), "{file}: {told}");
    }
    assert_eq!(names(bench.0.path()), ["rig.toml", "truth.mcap.part"]);
}

#[test]
fn a_recording_is_replaced_only_if_that_is_wanted() {
    let bench = Bench::new(&refused_lidar());
    let (rig, out) = (bench.rig(), bench.path("out"));
    let words = ["record", &rig, "--duration", "10ms", "--out", &out];
    assert!(output(&words).status.success());
    let capture = Path::new(&out).join("lidar.pcap");
    fs::write(&capture, "precious").unwrap();
    let ended = output(&words);
    assert_eq!(ended.status.code(), Some(2), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("add --force"), "{}", stderr(&ended));
    assert_eq!(fs::read(&capture).unwrap(), b"precious");
    let forced = [&words[..], &["--force"]].concat();
    assert!(output(&forced).status.success());
    assert!(fs::metadata(&capture).unwrap().len() > 100);

    // Two files of a recording must not be the same file.
    fs::remove_file(&capture).unwrap();
    std::os::unix::fs::symlink("truth.csv", &capture).unwrap();
    let ended = output(&forced);
    assert_eq!(ended.status.code(), Some(2), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("would overwrite"), "{}", stderr(&ended));

    // A recording must not overwrite a file that its rig reads.
    fs::remove_file(&capture).unwrap();
    let driven = output(
        &[
            &forced[..],
            &["--set", &format!("robot.trajectory={{kind=\"file\",path=\"{out}/truth.csv\"}}")],
        ]
        .concat(),
    );
    assert_eq!(driven.status.code(), Some(2), "{}", stderr(&driven));
    assert!(stderr(&driven).contains("the file of the rig"), "{}", stderr(&driven));
}

// --- signals ---

/// Sends a signal; asserts that it was delivered.
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[allow(clippy::disallowed_methods)] // waits for another process, not for the simulation
fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        pause();
    }
    panic!("{what} has not come about");
}

/// Output of a process that was asked to end. A process that continues is killed.
fn finish(mut child: Child) -> Output {
    for _ in 0..3000 {
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap();
        }
        pause();
    }
    child.kill().unwrap();
    panic!("it goes on: {:?}", child.wait_with_output());
}

// `env` sets the action of the signal at the start, independent of the program that started the tests.

#[test]
fn every_signal_that_ends_a_run_ends_it_in_order() {
    let (heard, ignored) = ("--default-signal=HUP", "--ignore-signal=HUP");
    for (name, hangups) in [("-HUP", heard), ("-TERM", heard), ("-INT", heard), ("-TERM", ignored)]
    {
        let (port, devices) = heard_lidar();
        let bench = Bench::new("");
        let scanners = idle_scanners(bench.0.path());
        let rig = fs::read_to_string(bench.rig()).unwrap();
        let fault = "[[fault]]\ndevice = \"lidar\"\nname = \"hole\"\nkind = \"packet-loss\"\nprobability = 0.5\nstart_s = 0.0\n";
        fs::write(bench.rig(), format!("{rig}{devices}{scanners}{fault}")).unwrap();
        let files = ["report.json", "timing.json", "faults.csv"].map(|name| bench.path(name));
        let child = Command::new("env")
            .args([hangups, env!("CARGO_BIN_EXE_menura")])
            .args(["run", &bench.rig(), "--report", &files[0], "--certificate", &files[1]])
            .args(["--fault-log", &files[2]])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The run has started: packets arrive, and the terminal exists.
        port.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        for _ in 0..50 {
            port.recv(&mut [0; 2048]).unwrap();
        }
        assert!(fs::read_link(bench.path("scanner")).is_ok());
        if hangups == ignored {
            // A run that was started with `nohup` continues after the terminal has closed.
            signal(&child, "-HUP");
            for _ in 0..200 {
                port.recv(&mut [0; 2048]).unwrap();
            }
        } else {
            // A closing terminal, `timeout` and launchers may send the signal twice.
            signal(&child, name);
        }
        signal(&child, name);
        let output = finish(child);
        assert_eq!(output.status.code(), Some(0), "{name}: {:?}", output.status);
        assert!(stdout(&output).contains("lidar: "), "{name}: {}", stdout(&output));
        assert!(fs::symlink_metadata(bench.path("scanner")).is_err(), "{name}: a stale link");
        let packets = bench.json("report.json")["devices"][0]["packets"].as_u64().unwrap();
        assert!(packets >= 50, "{name}: {packets}");
        assert_eq!(bench.json("timing.json")["devices"][0]["packets"], packets, "{name}");
        let faults = fs::read_to_string(&files[2]).unwrap();
        assert!(faults.ends_with('\n') && faults.lines().count() > 20, "{name}: {faults:.200}");
    }
}

#[test]
fn a_later_signal_ends_a_run_at_once_that_cannot_end_in_order() {
    let (port, devices) = heard_lidar();
    let bench = Bench::new(&devices);
    // The pipe is full and nobody reads it: the summary cannot be printed.
    let (_reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b' '; 65_536]).unwrap();
    let child = Command::new("env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_menura"), "run", &bench.rig()])
        .args(["--report", &bench.path("report.json")])
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    port.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    port.recv(&mut [0; 2048]).unwrap();
    signal(&child, "-INT");
    wait_until("the report", || Path::new(&bench.path("report.json")).exists());
    for _ in 0..30 {
        pause();
    }
    signal(&child, "-INT");
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("ended at once by a second signal"), "{}", stderr(&output));
}

/// Stops a recording of `duration`, with ten thousand poses per second, by the signal `name` as soon as `holds` returns
/// true for the folder of the recording. Returns the exit status and the text on standard error.
fn stopped_recording(
    name: &str,
    duration: &str,
    bench: &Bench,
    holds: impl Fn(&Path) -> bool,
) -> (ExitStatus, String) {
    let out = bench.path("out");
    let child = Command::new("env")
        .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_menura")])
        .args(["record", &bench.rig(), "--duration", duration, "--out", &out])
        .args(["--set", "engine.truth_rate_hz=10000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the recording", || holds(Path::new(&out)));
    signal(&child, name);
    let output = finish(child);
    (output.status, stderr(&output))
}

#[test]
fn a_recording_that_is_stopped_holds_whole_packets_and_their_truth() {
    for name in ["-INT", "-HUP"] {
        let bench = Bench::new(&refused_lidar());
        let has_some = |out: &Path| {
            fs::metadata(out.join("lidar.pcap.part")).is_ok_and(|file| file.len() > 2_000_000)
        };
        let (status, told) = stopped_recording(name, "8000h", &bench, has_some);
        assert_eq!(status.code(), Some(1), "{name}: {status}: {told}");
        assert!(told.contains("stopped before the end"), "{name}: {told}");
        let capture = fs::read(bench.path("out/lidar.pcap")).unwrap();
        let frames = common::frames(&capture);
        let span_s = (frames.last().unwrap().0 - frames[0].0) as f64 * 1e-9;
        let truth = fs::read_to_string(bench.path("out/truth.csv")).unwrap();
        let last = truth.lines().last().unwrap();
        let last_s: f64 = last.split(',').next().unwrap().parse().unwrap();
        assert_eq!(last.split(',').count(), truth.lines().next().unwrap().split(',').count());
        assert!(
            (last_s - span_s).abs() < 0.1,
            "{name}: truth to {last_s} s, packets to {span_s} s"
        );
    }
}

#[test]
fn a_recording_hears_signals_while_it_writes_the_truth() {
    // These scanners have no host, so an hour is rendered quickly; the rest of the time is for writing the ground
    // truth.
    let bench = Bench::new("");
    let rig = fs::read_to_string(bench.rig()).unwrap();
    let scanners = idle_scanners(bench.0.path());
    fs::write(bench.rig(), format!("{rig}{scanners}")).unwrap();
    let has_some = |out: &Path| {
        fs::metadata(out.join("truth.csv.part")).is_ok_and(|file| file.len() > 100_000)
    };
    let (status, told) = stopped_recording("-INT", "1h", &bench, has_some);
    assert_eq!(status.code(), Some(1), "{status}: {told}");
    assert_eq!(status.signal(), None);
    assert!(told.contains("stopped before the end"), "{told}");
}

// --- devices that send nothing ---

#[test]
fn a_device_that_sends_nothing_fails_the_run_and_every_requirement() {
    let (_port, heard) = heard_lidar();
    let bench = Bench::new("");
    let rig = fs::read_to_string(bench.rig()).unwrap();
    let refused = refused_lidar().replace("\"lidar\"", "\"lost\"");
    fs::write(bench.rig(), format!("{rig}{heard}{refused}")).unwrap();
    let report = bench.path("report.json");
    let ended = output(&["run", &bench.rig(), "--duration", "300ms", "--report", &report]);
    let told = stderr(&ended);
    assert_eq!(ended.status.code(), Some(1), "{told}");
    // Reported once, when it happens, with the device, the destination, the reason and a remedy.
    let warnings: Vec<_> =
        told.lines().filter(|line| line.contains("a packet was refused")).collect();
    let [warning] = warnings[..] else { panic!("{told}") };
    for part in ["lost", "203.0.113.7:", "(os error 22)", "127.0.0.1 reaches only this host"] {
        assert!(warning.contains(part), "{part:?}: {warning}");
    }
    // Reported again at the end; failures come first.
    assert!(told.contains("error: lost has sent nothing: all of its "), "{told}");
    // On a busy machine, the other device may have missed packets too.
    let shown = stdout(&ended);
    let mut first = shown.lines().take_while(|line| !line.starts_with("ran "));
    assert!(
        first.any(|line| line.starts_with("lost: ") && line.contains("packets REFUSED: ")),
        "{shown}"
    );
    let report = bench.json("report.json");
    assert_eq!(report["devices"][0].get("refused_because"), None);
    let reasons = report["devices"][1]["refused_because"].as_array().unwrap();
    assert!(
        reasons.len() == 1 && reasons[0].as_str().unwrap().contains("203.0.113.7:"),
        "{reasons:?}"
    );

    let certificate = bench.path("timing.json");
    let page = bench.path("timing.html");
    let required = "late<=999,dropped=0,refused<=9999,unstamped<=9999,lost:packets<=9999,max<3600s";
    let ended = output(&[
        "run",
        &bench.rig(),
        "--duration",
        "300ms",
        "--require",
        required,
        "--certificate",
        &certificate,
        "--certificate",
        &page,
    ]);
    assert_eq!(ended.status.code(), Some(3), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("lost has sent nothing"), "{}", stderr(&ended));
    for verdict in bench.json("timing.json")["requirements"].as_array().unwrap() {
        let is_of_lost = verdict["device"] == "lost";
        assert_eq!(verdict["is_met"], !is_of_lost, "{verdict}");
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("it has sent nothing") && page.contains("packets were refused: "));
}

#[test]
fn devices_that_nobody_asks_for_anything_fail_no_run() {
    let (_port, heard) = heard_lidar();
    let bench = Bench::new("");
    let rig = fs::read_to_string(bench.rig()).unwrap();
    let scanners = idle_scanners(bench.0.path());
    fs::write(bench.rig(), format!("{rig}{heard}{scanners}")).unwrap();
    let ended =
        output(&["run", &bench.rig(), "--duration", "300ms", "--require", "refused=0,packets>0"]);
    assert_eq!(ended.status.code(), Some(0), "{}{}", stdout(&ended), stderr(&ended));
    let ended =
        output(&["run", &bench.rig(), "--duration", "300ms", "--require", "network:late=0"]);
    assert_eq!(ended.status.code(), Some(3), "{}{}", stdout(&ended), stderr(&ended));
    assert!(stdout(&ended).contains("network: it has sent nothing"), "{}", stdout(&ended));
}

#[test]
fn a_replay_to_a_broadcast_address_goes() {
    let folder = tempfile::tempdir().unwrap();
    let capture = common::broadcast_capture(folder.path());
    let ended = output(&["replay", &capture, "--require", "refused=0,packets=20"]);
    assert_eq!(ended.status.code(), Some(0), "{}{}", stdout(&ended), stderr(&ended));
}

/// Output of Menura in a network namespace with the single address 10.9.8.1/26, whose broadcast address is 10.9.8.63.
fn alone(arguments: &[&str]) -> Output {
    let network = "ip link set lo up && ip link add v0 type veth peer name v1 && \
                   ip addr add 10.9.8.1/26 brd + dev v0 && ip link set v0 up && ip link set v1 up && \
                   exec \"$@\"";
    Command::new("unshare")
        .args(["-rn", "sh", "-c", network, "sh", env!("CARGO_BIN_EXE_menura")])
        .args(arguments)
        .output()
        .expect("unshare runs")
}

#[test]
#[ignore = "needs network namespaces"]
fn refusals_say_what_to_do() {
    for (link, code, parts) in [
        ("to = \"10.9.8.63:2368\"", 1, ["10.9.8.63:", "Permission denied", "`broadcast = true`"]),
        ("to = \"198.51.100.7:2368\"", 1, ["198.51.100.7", "Network is unreachable", "`ip route`"]),
        ("to = \"10.9.8.63:2368\", broadcast = true", 0, ["", "", ""]),
    ] {
        let bench = Bench::new(&lidar(link));
        let ended = alone(&["run", &bench.rig(), "--duration", "300ms"]);
        let told = stderr(&ended);
        assert_eq!(ended.status.code(), Some(code), "{link}: {told}");
        for part in parts {
            assert!(
                told.contains(part) && stdout(&ended).contains(part),
                "{link}: {part:?}: {told}"
            );
        }
        let ended = alone(&["run", &bench.rig(), "--duration", "300ms", "--require", "dropped=0"]);
        assert_eq!(ended.status.code(), Some(3 * code), "{link}: {}", stderr(&ended));
    }
    let folder = tempfile::tempdir().unwrap();
    let capture = common::broadcast_capture(folder.path());
    for (to, code) in [("10.9.8.63", 0), ("198.51.100.7", 1), ("255.255.255.255", 1)] {
        let ended = alone(&["replay", &capture, "--to", to]);
        let told = stderr(&ended);
        assert_eq!(ended.status.code(), Some(code), "{to}: {told}");
        if code != 0 {
            assert!(told.contains(&format!("{to}:9: a packet was refused: ")), "{told}");
            assert!(told.contains("there is no route to it"), "{told}");
            assert!(told.contains("all of its 20 packets were refused"), "{told}");
        }
        let ended = alone(&["replay", &capture, "--to", to, "--require", "late<=20,dropped=0"]);
        assert_eq!(ended.status.code(), Some(3 * code), "{to}: {}", stderr(&ended));
        let unmet = stdout(&ended).matches("NOT MET").count();
        assert_eq!(unmet, 2 * code as usize, "{to}: {}", stdout(&ended));
    }
}
