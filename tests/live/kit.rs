//! `menura test` end to end: short suites with drivers in shell and Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::common::{self, stderr, stdout};

const RIG: &str = r#"
seed = 3
[world]
scene = "room"
parameters = { size_m = [20.0, 20.0, 6.0] }
[robot]
trajectory = { kind = "still", position_m = [3.0, -2.0, 0.0] }
[[device]]
name = "imu"
profile = "vectornav-vn100"
link = { tcp = "127.0.0.1:4001" }
"#;

/// A driver that reads a VN-100 over TCP and prints its specific force; its first argument selects an error.
const DRIVER: &str = r#"
import json, os, socket, sys, time
fault = sys.argv[1]
link = socket.create_connection((os.environ["MENURA_TCP_HOST"], int(os.environ["MENURA_TCP_PORT"])))
print(json.dumps({"event": "ready"}), flush=True)
buffer, begun = b"", time.time()
while True:
    data = link.recv(4096)
    if not data:
        sys.exit("the link is closed")
    buffer += data
    *lines, buffer = buffer.split(b"\n")
    for line in lines:
        fields = line.split(b"*")[0].split(b",")
        if fields[0] != b"$VNYMR" or len(fields) != 13:
            continue
        force = [float(field) for field in fields[7:10]]
        if fault == "scale":
            force = [9.81 * value for value in force]
        print(json.dumps({"event": "imu", "force_m_s2": force}), flush=True)
    if fault == "dies" and time.time() - begun > 0.7:
        sys.exit(7)
    if fault == "hangs" and time.time() - begun > 0.7:
        os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "654321")
        time.sleep(1e6)
"#;

/// A program that prints all bytes from a terminal until the terminal closes.
const READ_TERMINAL: &str = r#"
import os, sys, time
until = time.monotonic() + 10
while not os.path.exists(sys.argv[1]) and time.monotonic() < until:
    time.sleep(0.01)
port = os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY)
while True:
    try:
        data = os.read(port, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.stdout.buffer.flush()
"#;

/// A driver for a VN-100 that ignores checksums; it waits for the port, and ends when the port closes.
const READ_VN100: &str = r#"
import json, os, sys, termios, time
while True:
    try:
        port = os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY)
        break
    except OSError:
        time.sleep(0.02)
mode = termios.tcgetattr(port)
mode[0] = mode[1] = mode[3] = 0
mode[4] = mode[5] = termios.B115200
termios.tcsetattr(port, termios.TCSANOW, mode)
buffer = b""
while True:
    try:
        data = os.read(port, 4096)
    except OSError:
        break
    if not data:
        break
    *lines, buffer = (buffer + data).split(b"\n")
    for line in lines:
        fields = line.split(b"*")[0].split(b",")
        try:
            force = [float(field) for field in fields[7:10]]
        except ValueError:
            continue
        if len(force) == 3:
            print(json.dumps({"event": "imu", "force_m_s2": force}), flush=True)
"#;

const SUITE: &str = r#"
summary = "for the tests of the kit"
rig = "rig.toml"

[[case]]
name = "steady"
title = "Nothing happens"
real = "They do so."
good = "It tells the force."
first = "sensor"
lasts_s = 1.5
expect = [
  { kind = "gap", of = "imu", at_most_s = 0.5 },
  { kind = "near-truth", of = "imu", quantity = "force", tolerance = 0.5 },
  { kind = "alive" },
]

[[case]]
name = "noise"
title = "Bits are flipped"
real = "Cables do so."
good = "It tells what is right."
first = "sensor"
lasts_s = 1.0
fault = [{ kind = "line-noise", start_s = 0.0, rate = 0.02 }]
expect = [{ kind = "count", of = "imu", at_most = 1000 }]

[[case]]
name = "lidar-only"
title = "A laser dies"
real = "They do so."
good = "It goes on."
lasts_s = 1.0
fault = [{ kind = "laser-dead", start_s = 0.0, lasers = [1] }]
expect = [{ kind = "alive" }]

[[case]]
name = "web-only"
title = "Somebody changes the speed"
real = "They do so."
good = "It goes on."
lasts_s = 1.0
web = [{ at_s = 0.5, path = "/cgi/setting", body = "rpm=300" }]
expect = [{ kind = "alive" }]

[[case]]
name = "comes-back"
title = "It comes back with a key that there is not"
real = "They do so."
good = "It goes on."
lasts_s = 1.0
power_cut = [{ off_s = 0.2, on_s = 0.4, set = ["device.{device}.settings.power_on_stream=MD"] }]
expect = [{ kind = "alive" }]

[[case]]
name = "untold"
title = "Nothing happens to what is not told"
real = "They have temperatures."
good = "It may tell them."
first = "sensor"
lasts_s = 1.5
expect = [{ kind = "value", of = "imu", field = "temperature_c", least = 0 }, { kind = "alive" }]
"#;

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("rig.toml"), RIG).unwrap();
        std::fs::write(folder.path().join("suite.toml"), SUITE).unwrap();
        std::fs::write(folder.path().join("driver.py"), DRIVER).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn test(&self, options: &[&str], driver: &[&str]) -> Output {
        retry_while_machine_is_busy(|| {
            let mut command = common::menura();
            command.current_dir(self.folder.path()).env("COLUMNS", "100");
            command.args(["test", "suite.toml"]).args(options).arg("--").args(driver);
            command.output().expect("the binary runs")
        })
    }
}

/// Runs the kit, and runs it again if it reports that the machine was too busy to judge a driver or to record a
/// failure. After eight attempts, the last output is returned.
fn retry_while_machine_is_busy(judge: impl Fn() -> Output) -> Output {
    let mut output = judge();
    for _ in 0..7 {
        let told = stdout(&output);
        if told.contains("bench failed") || told.contains("could not be recorded again") {
            output = judge();
        }
    }
    output
}

#[test]
fn a_good_driver_passes_and_what_cannot_be_is_told() {
    let bench = Bench::new();
    let output = bench.test(
        &["--jobs", "2", "--junit", "verdicts.xml", "--html", "verdicts.html"],
        &["python3", "driver.py", "good"],
    );
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{told}{}", stderr(&output));
    assert!(told.contains("passed          steady\npassed          noise\n"), "{told}");
    assert!(
        told.contains(
            "not applicable  lidar-only: vectornav-vn100 does not support the fault \"laser-dead\"\n\
             not applicable  web-only: the case needs the device's web interface (`link.web` in the rig)\n\
             not applicable  comes-back: unknown key `power_on_stream`"
        ),
        "{told}"
    );
    assert!(
        told.contains(
            "not applicable  untold: the driver does not report `temperature_c` with `imu`\n"
        ),
        "{told}"
    );
    assert!(told.ends_with("\n2 passed, 0 failed, 4 not applicable\n"), "{told}");
    let junit = std::fs::read_to_string(bench.path("verdicts.xml")).unwrap();
    assert!(junit.contains("tests=\"6\" failures=\"0\" errors=\"0\" time="), "{junit}");
    assert!(junit.contains("skipped=\"4\" timestamp="), "{junit}");
    let page = std::fs::read_to_string(bench.path("verdicts.html")).unwrap();
    assert!(page.contains("<b>2 passed, 0 failed, 4 not applicable</b>"), "{page}");
}

#[test]
fn bad_drivers_fail_with_evidence_that_can_be_had_again() {
    let bench = Bench::new();
    let output =
        bench.test(&["--only", "steady", "--keep", "kept"], &["python3", "driver.py", "scale"]);
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{told}{}", stderr(&output));
    assert!(told.contains("the force of `imu` is within 0.5 m/s2 of the ground truth"), "{told}");
    assert!(told.contains("on the wire:\n  byte "), "{told}");
    assert!(told.contains("$VNYMR"), "{told}");
    let kept = bench.path("kept/steady");
    for file in
        ["driver.log", "repeat.sh", "evidence.txt", "capture-1/imu.bin", "capture-1/truth.mcap"]
    {
        assert!(kept.join(file).exists(), "{file}: {told}");
    }
    // A replay sends the recording to a terminal.
    let terminal = bench.path("again.tty");
    let mut replay = common::menura()
        .arg("replay")
        .arg(kept.join("capture-1/imu.bin"))
        .args(["--pty", terminal.to_str().unwrap()])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let heard = Command::new("timeout")
        .args(["20", "python3", "-c", READ_TERMINAL, terminal.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(replay.wait().unwrap().success());
    let recorded = std::fs::read(kept.join("capture-1/imu.bin")).unwrap();
    assert!(heard.stdout == recorded, "{} {}", heard.stdout.len(), stderr(&heard));
    // The printed command reproduces the kept bytes.
    let script = std::fs::read_to_string(kept.join("repeat.sh")).unwrap();
    let recorded = std::fs::read(kept.join("capture-1/imu.bin")).unwrap();
    std::fs::remove_dir_all(kept.join("capture-1")).unwrap();
    let path = Path::new(env!("CARGO_BIN_EXE_menura")).parent().unwrap();
    let again = Command::new("sh")
        .args(["-c", &script])
        .env("PATH", format!("{}:{}", path.display(), std::env::var("PATH").unwrap()))
        .output()
        .unwrap();
    assert!(again.status.success(), "{}", stderr(&again));
    assert_eq!(std::fs::read(kept.join("capture-1/imu.bin")).unwrap(), recorded);
}

#[test]
fn a_lidar_is_changed_by_its_web_interface_and_the_recording_knows() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bad_driver.py");
    let output = retry_while_machine_is_busy(|| {
        common::menura()
            .current_dir(folder.path())
            .args(["test", "lidar", "--only", "dual-return-switch", "--keep", "kept", "--"])
            .args(["python3", driver.to_str().unwrap(), "--port", "{udp_port}"])
            .args(["--sensor", "{sensor_ip}", "--fault", "first-mode"])
            .output()
            .unwrap()
    });
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{told}{}", stderr(&output));
    assert!(told.contains("no gap longer than 0.6 s in `points`"), "{told}");
    // The host log has the requests of the web interface that change the mode, so the recording has packets of both
    // modes.
    let kept = folder.path().join("kept/dual-return-switch/capture-1/lidar.pcap");
    let recorded = std::fs::read(kept).unwrap();
    let has = |mode: u8| recorded.windows(2).any(|bytes| bytes == [mode, 0x22]);
    assert!(has(0x37) && has(0x39), "{told}");
    let hosts = folder.path().join("kept/dual-return-switch/hosts-1.csv");
    let hosts = std::fs::read_to_string(hosts).unwrap();
    assert_eq!(hosts.matches("/cgi/setting").count(), 2, "{hosts}");
}

#[test]
fn a_driver_that_dies_or_hangs_is_a_result_and_leaves_nothing() {
    let bench = Bench::new();
    let output = bench.test(&["--only", "steady"], &["python3", "driver.py", "dies"]);
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("it ended: exit code 7"), "{told}");
    let output = bench.test(&["--only", "steady"], &["python3", "driver.py", "hangs"]);
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("gap of "), "{told}");
    let left = Command::new("pgrep").args(["-f", "sleep 654321"]).output().unwrap();
    assert!(left.stdout.is_empty(), "a process is left: {}", stdout(&left));
    let output = bench.test(&["--only", "steady"], &["python3", "driver.py"]);
    // On a busy machine, the driver may fail only after the time limit for becoming ready; the message then differs.
    let told = stdout(&output);
    let is_told = ["it ended: exit code 1", "the driver ended before it was ready: exit code 1"];
    assert!(is_told.iter().any(|words| told.contains(words)), "{told}");
    assert!(told.contains("IndexError"), "its own words are shown: {told}");
}

#[test]
fn adapters_make_foreign_drivers_speak() {
    let bench = Bench::new();
    // This driver reads the line itself and prints in its own format.
    let shell = "exec 3<>/dev/tcp/$MENURA_TCP_HOST/$MENURA_TCP_PORT; echo up; \
                 while IFS=, read -r -u 3 head y p r mx my mz ax ay az rest; do \
                 [ \"$head\" = '$VNYMR' ] && echo \"z is $az\"; done";
    let judge = "def judge(case):\n    fixes = [o for o in case['observations'] if o['event'] == 'imu']\n    \
                 assert case['truth'][0]['force_m_s2'][2] > 9\n    \
                 return [] if fixes and case['case'] == 'value' else ['no imu in ' + case['case']]\n";
    std::fs::write(bench.path("judge.py"), judge).unwrap();
    std::fs::write(
        bench.path("adapter.toml"),
        "ready = \"^up$\"\n[[read]]\nkind = \"pattern\"\npattern = 'z is (?P<z>\\S+)'\nas = \"imu\"\n\
         [[judge]]\npython = \"judge.py\"\n[[ask]]\ncommand = [\"test\", \"-d\", \"{dir}\"]\n",
    )
    .unwrap();
    std::fs::write(
        bench.path("suite.toml"),
        "summary = \"one\"\nrig = \"rig.toml\"\n[[case]]\nname = \"value\"\ntitle = \"t\"\nreal = \"r\"\n\
         good = \"g\"\nfirst = \"sensor\"\nlasts_s = 1\n\
         expect = [{ kind = \"value\", of = \"imu\", field = \"z\", least = -10.5, most = -9 }]\n\
         [[case]]\nname = \"other\"\ntitle = \"t\"\nreal = \"r\"\ngood = \"g\"\nfirst = \"sensor\"\n\
         lasts_s = 0.5\nexpect = [{ kind = \"says-not\", pattern = \"^z\" }]\n",
    )
    .unwrap();
    let output = bench.test(&["--adapter", "adapter.toml"], &["bash", "-c", shell]);
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{told}{}", stderr(&output));
    assert!(told.contains("passed          value\n"), "{told}");
    assert!(told.contains("no imu in other") && told.contains("found (at 0.0"), "{told}");
}

#[test]
fn every_kind_of_reader_hears_its_driver() {
    let bench = Bench::new();
    std::fs::write(
        bench.path("driver.py"),
        "import os, socket, sys, time\nlink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         to = (os.environ['MENURA_REPORT_HOST'], int(os.environ['MENURA_REPORT_PORT']))\n\
         folder = os.environ['MENURA_DIR']\n\
         def write(name, text):\n    open(f'{folder}/new', 'w').write(text)\n    \
         os.rename(f'{folder}/new', f'{folder}/{name}')\n\
         n = 0\nwhile True:\n    n += 1\n    \
         link.sendto(b'{\"event\": \"by-udp\", \"x\": 1}', to)\n    \
         write('cloud.xyz', f'1 2 {n}\\n4 5 6\\n')\n    write('state.json', '{\"y\": 2}')\n    time.sleep(0.05)\n",
    )
    .unwrap();
    let adapter = |ask: &str| {
        format!(
            "[[read]]\nkind = \"json\"\n[[read]]\nkind = \"cloud\"\npath = \"{{dir}}/cloud.xyz\"\nas = \"cloud\"\n\
             [[read]]\nkind = \"command\"\ncommand = [\"cat\", \"{{dir}}/state.json\"]\nevery_s = 0.2\nas = \"asked\"\n\
             [[ask]]\ncommand = [{ask}]\n"
        )
    };
    std::fs::write(
        bench.path("suite.toml"),
        "summary = \"one\"\nrig = \"rig.toml\"\n[[case]]\nname = \"one\"\ntitle = \"t\"\nreal = \"r\"\n\
         good = \"g\"\nlasts_s = 2\nexpect = [{ kind = \"count\", of = \"by-udp\", at_least = 5 },\n\
         { kind = \"point-rate\", of = \"cloud\", at_least_hz = 2 },\n\
         { kind = \"value\", of = \"asked\", field = \"y\", least = 2, most = 2 },\n\
         { kind = \"memory\", at_most_mb = 500 }, { kind = \"alive\" }]\n",
    )
    .unwrap();
    for (ask, code, said) in [
        ("\"test\", \"-f\", \"{dir}/state.json\"", 0, "passed          one\n"),
        ("\"sh\", \"-c\", \"echo is ill; exit 3\"", 1, "is ill"),
    ] {
        std::fs::write(bench.path("adapter.toml"), adapter(ask)).unwrap();
        let output = bench.test(&["--adapter", "adapter.toml"], &["python3", "driver.py"]);
        let told = stdout(&output);
        assert_eq!(output.status.code(), Some(code), "{told}{}", stderr(&output));
        assert!(told.contains(said), "{told}");
    }
}

#[test]
fn a_rogue_sender_without_its_port_is_an_error_of_the_bench() {
    let bench = Bench::new();
    let taken = std::net::UdpSocket::bind("127.0.0.66:0").unwrap();
    let from = taken.local_addr().unwrap();
    let suite = format!(
        "summary = \"one\"\nrig = \"vlp16\"\n[[case]]\nname = \"rogue\"\ntitle = \"t\"\nreal = \"r\"\n\
         good = \"g\"\nlasts_s = 0.5\n\
         stranger = [{{ sends = \"garbage\", start_s = 0.1, duration_s = 0.2, from = \"{from}\" }}]\n\
         expect = [{{ kind = \"count\", of = \"rogue\", at_most = 0 }}]\n"
    );
    std::fs::write(bench.path("suite.toml"), suite).unwrap();
    let mut command = common::menura();
    command.current_dir(bench.folder.path()).args(["test", "suite.toml", "--", "sleep", "60"]);
    let output = command.output().unwrap();
    let told = stdout(&output);
    let expected = format!("bench failed    rogue: cannot open a rogue sender at {from}: ");
    assert!(told.contains(&expected), "{told}");
    assert_eq!(output.status.code(), Some(1), "a case that could not be run is not passed");
}

/// A driver that measures waiting times with the computer's clock fails; a driver that measures them without this clock
/// passes.
#[test]
fn the_clock_of_the_drivers_computer_is_set_while_it_runs() {
    let bench = Bench::new();
    let driver = DRIVER.replace(
        "        force = [float",
        "        if fault == \"wall\" and time.time() < begun:\n            continue\n        force = [float",
    );
    std::fs::write(bench.path("driver.py"), driver).unwrap();
    std::fs::write(
        bench.path("suite.toml"),
        "summary = \"one\"\nrig = \"rig.toml\"\n[[case]]\nname = \"back\"\ntitle = \"t\"\nreal = \"r\"\n\
         good = \"g\"\nfirst = \"sensor\"\nlasts_s = 5\nclock_step = [{ at_s = 2, by_s = -3600 }]\n\
         expect = [{ kind = \"gap\", of = \"imu\", at_most_s = 1.5 }]\n",
    )
    .unwrap();
    let told = stdout(&bench.test(&[], &["python3", "driver.py", "good"]));
    assert!(told.contains("passed          back\n"), "{told}");
    let told = stdout(&bench.test(&[], &["python3", "driver.py", "wall"]));
    let found = told.contains("no gap longer than 1.5 s in `imu`");
    assert!(found && !told.contains("passed   "), "{told}");
    let told = stdout(&bench.test(&["--explain", "back"], &[]));
    assert!(told.contains("- the clock of its computer is set back by 3600 s at 2 s\n"), "{told}");
}

/// A replay of the kept recording shows the failure again, without the kit, the world and the sensor.
#[test]
fn a_receivers_failure_is_seen_again_by_a_replay_of_what_is_kept() {
    let bad_driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bad_driver.py");
    a_failure_is_seen_again(
        "gnss",
        &[bad_driver.to_str().unwrap(), "--fault", "no-checksum", "--tty"],
    );
}

#[test]
fn a_units_failure_is_seen_again_by_a_replay_of_what_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let driver = folder.path().join("driver.py");
    std::fs::write(&driver, READ_VN100).unwrap();
    a_failure_is_seen_again("imu", &[driver.to_str().unwrap()]);
}

/// Runs the case `noise` of a suite, then its driver again with a replay of the kept capture. The suite's device has
/// the suite's name.
#[allow(clippy::disallowed_methods)] // waits for another process, not for the simulation
fn a_failure_is_seen_again(suite: &str, driver: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let output = retry_while_machine_is_busy(|| {
        let mut command = common::menura();
        command.current_dir(folder.path()).args(["test", suite, "--only", "noise", "--keep"]);
        command.args(["kept", "--", "python3"]).args(driver).arg("{pty}").output().unwrap()
    });
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{told}{}", stderr(&output));
    // The driver's reported events, without `ready`.
    let events = |path: PathBuf| -> Vec<String> {
        let log = std::fs::read_to_string(path).unwrap();
        let event = |line: &str| Some(line[line.find("{\"event\"")?..].to_owned());
        log.lines().filter_map(event).filter(|event| !event.contains("ready")).collect()
    };
    let first = events(folder.path().join("kept/noise/driver.log"));
    assert!(first.len() > 5, "{first:?}");
    let capture = folder.path().join(format!("kept/noise/capture-1/{suite}.bin"));
    // The replay includes the time before the driver started; the driver's first line may have been incomplete.
    let lacks = |again: &[String]| first.iter().skip(1).any(|event| !again.contains(event));
    let mut again = Vec::new();
    // On a busy machine, the second driver may start to read later in the capture than the first one.
    for number in 0..3 {
        let terminal = folder.path().join(format!("replay-{number}.tty"));
        let mut replay = common::menura()
            .arg("replay")
            .arg(&capture)
            .args(["--pty", terminal.to_str().unwrap()])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let log = folder.path().join("replay.log");
        let mut listener = Command::new("python3")
            .args(driver)
            .arg(&terminal)
            .stdout(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        assert!(replay.wait().unwrap().success());
        again = events(log.clone());
        for _ in 0..100 {
            if !lacks(&again) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            again = events(log.clone());
        }
        listener.kill().unwrap();
        listener.wait().unwrap();
        if !lacks(&again) {
            return;
        }
    }
    panic!("{first:?}\n{again:?}");
}

#[test]
fn wrong_input_is_told_and_nothing_is_started() {
    let bench = Bench::new();
    for (options, driver, said) in [
        (
            &["--only", "stedy"][..],
            &["true"][..],
            "the suite `suite.toml` has no case \"stedy\"; allowed: steady,",
        ),
        (
            &["--only", "steady,noise"],
            &["true"],
            "--only \"steady,noise\" names several cases: repeat --only",
        ),
        (
            &[],
            &["driver", "{tcp_prt}"],
            "this sensor has no {tcp_prt}; did you mean {tcp_port}? allowed: ",
        ),
        (&[], &[], "no driver: write its command after `--`"),
        (&["--device", "lidar"], &["true"], "the rig has no device \"lidar\"; allowed: imu"),
        (
            &["--adapter", "none.toml"],
            &["true"],
            "cannot read the adapter `none.toml`: there is no such file",
        ),
        (&["--rig", "none.toml"], &["true"], "cannot read rig `none.toml`"),
        (&[], &["/nowhere/driver"], "there is no program `/nowhere/driver`"),
        (&[], &["no-such-driver"], "there is no program `no-such-driver`"),
        (&["--set", "device.imu.settings.rate=3"], &["true"], "unknown key `rate`"),
    ] {
        let output = bench.test(options, driver);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", stdout(&output));
        assert!(stderr(&output).contains(said), "{options:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{}", stdout(&output));
    }
}

#[test]
fn suites_are_listed_and_explained() {
    let said = |arguments: &[&str]| {
        let output = common::menura().args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    };
    let suites = said(&["test", "--list"]);
    for name in ["all", "lidar", "scanner", "gnss", "imu"] {
        assert!(suites.lines().any(|line| line.starts_with(name)), "{suites}");
    }
    assert!(said(&["test", "lidar", "--list"]).contains("azimuth-wrap"));
    let text = said(&["test", "lidar", "--explain", "power-cycle"]);
    assert!(text.contains("- the sensor has no power from 1 to 2.5 s\n"), "{text}");
    assert!(text.contains("Expected:\n- `any` continues within 2 s (from 2.5 s on)\n"), "{text}");
}

#[test]
fn the_page_has_a_row_for_each_case_of_each_suite() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/DRIVER-TESTS.md");
    let page = std::fs::read_to_string(page).unwrap();
    for name in menura::kit::library::suite_names() {
        let section = page.split(&format!("\n### {name}\n")).nth(1).expect(name);
        let section = section.split("\n#").next().unwrap();
        let mut listed: Vec<_> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let suite = menura::kit::suite::Suite::load(name).unwrap();
        let own = suite.cases.iter().filter(|case| case.suite == name);
        let mut rows: Vec<_> =
            own.map(|case| format!("| `{}` | {} |", case.name, case.title)).collect();
        listed.sort_unstable();
        rows.sort_unstable();
        assert_eq!(listed, rows, "{name}");
    }
}
