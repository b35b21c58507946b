//! Functions for several test files.

#![allow(dead_code, reason = "not every test file needs all of it")]

pub mod dialogue;
pub mod faulty;
pub mod ranks;
pub mod scanner;
pub mod sky;

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use menura::config::rig::Rig;
use menura::config::toml::overrides::Override;
use menura::devices::families::catalogue;
use menura::engine::LiveWorld;
use menura::engine::record::record;
use menura::engine::run::RealTimeRun;
use menura::links::pcap::PcapRecorder;
use menura::wire::ethernet::FrameHeader;
use pcap_file::pcap::PcapReader;

/// Path of a reference file or folder, which is not part of the repository: below `$MENURA_SHARED`, or in `../shared`
/// beside the crate. Tests that need one are ignored by default; `tools/test` runs them if the data exists.
pub fn shared(path: &str) -> PathBuf {
    let root = std::env::var_os("MENURA_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let file = root.join(path);
    assert!(
        file.exists(),
        "{} is missing; docs/TESTING.md says where it is looked for",
        file.display()
    );
    file
}

/// A command that runs Menura's binary with the default log level.
pub fn menura() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_menura"));
    command.env_remove("MENURA_LOG");
    command
}

/// Standard output of the program with these arguments; it must succeed.
pub fn printed(args: &[&str]) -> String {
    let output = menura().args(args).output().expect("the program");
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

/// Standard output of a program as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Standard error of a program as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// A capture of twenty datagrams to the broadcast address of the loopback network; returns its path.
pub fn broadcast_capture(folder: &Path) -> String {
    capture_of(folder, (0..20).map(|number| number * 1_000_000))
}

/// A capture of datagrams to the broadcast address of the loopback network at these times, nanoseconds.
pub fn capture_of(folder: &Path, times_ns: impl Iterator<Item = i128>) -> String {
    let capture = folder.join("broadcast.pcap");
    let header = FrameHeader {
        source_mac: [2; 6],
        destination_mac: [0xff; 6],
        source_ip: [127, 0, 0, 1].into(),
        destination_ip: [127, 255, 255, 255].into(),
        source_port: 443,
        destination_port: 9,
        ttl: 255,
        dont_fragment: true,
        identification: 0,
        udp_checksum: false,
    };
    let mut recorder = PcapRecorder::create(&capture, header).unwrap();
    for time_ns in times_ns {
        recorder.write(1_780_315_200_000_000_000 + time_ns, &[7; 100]).unwrap();
    }
    recorder.finish().unwrap();
    capture.to_str().expect("UTF-8").to_owned()
}

/// Width of a PNG file, and its pixels as red, green and blue.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn picture(path: &Path) -> (u32, Vec<[u8; 3]>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("a picture"));
    let mut decoder = png::Decoder::new(file);
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().expect("a PNG");
    let mut samples = vec![0; reader.output_buffer_size().expect("a size that fits")];
    let info = reader.next_frame(&mut samples).expect("a whole PNG");
    assert_eq!(info.color_type, png::ColorType::Rgb);
    (info.width, samples.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect())
}

/// Reads the rig `text`, with some keys replaced.
pub fn rig(text: &str, sets: &[(&str, &str)]) -> Rig {
    let set = |(key, value): &(&str, &str)| Override { key: (*key).into(), value: (*value).into() };
    let overrides: Vec<Override> = sets.iter().map(set).collect();
    Rig::parse("test rig", text, Path::new("."), &overrides, catalogue())
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Loads the world of the rig.
pub fn world(rig: &Rig) -> LiveWorld {
    LiveWorld::load(rig).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads the rig `text` and loads its world.
pub fn load(text: &str) -> (Rig, LiveWorld) {
    let rig = rig(text, &[]);
    let world = world(&rig);
    (rig, world)
}

/// A free port of this host, for UDP and TCP.
///
/// It is below the kernel's ephemeral ports, and each process starts its search at another port. So another process is
/// unlikely to take the port before the test binds it.
pub fn free_port() -> u16 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id() * 61;
    loop {
        let port = 20_000 + ((begin + ASKED.fetch_add(1, Ordering::Relaxed)) % 12_000) as u16;
        if UdpSocket::bind(("127.0.0.1", port)).is_ok()
            && TcpListener::bind(("127.0.0.1", port)).is_ok()
        {
            return port;
        }
    }
}

/// Records `rig` for `duration`; returns the files by name.
pub fn recorded(rig: &Rig, duration: Duration) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    record(rig, &world(rig), duration, None, folder.path(), &AtomicBool::new(false), |_| {})
        .unwrap();
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect()
}

/// Records `rig` for `duration`; returns the captures of these devices, empty for a device without a capture.
pub fn captures<const N: usize>(rig: &Rig, duration: Duration, names: [&str; N]) -> [Vec<u8>; N] {
    let mut files = recorded(rig, duration);
    names.map(|name| files.remove(&format!("{name}.pcap")).unwrap_or_default())
}

/// Frames of a capture: time of departure (nanoseconds since 1970) and payload.
pub fn frames(pcap: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut reader = PcapReader::new(pcap).unwrap();
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let (_, payload) = FrameHeader::parse(&packet.data).unwrap();
        frames.push((packet.timestamp.as_nanos() as u64, payload.to_vec()));
    }
    frames
}

/// A loopback socket with the largest receive buffer that this user may have: on a busy machine, readers are late.
pub fn roomy_socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    make_roomy(&socket);
    socket
}

fn make_roomy(socket: &UdpSocket) {
    menura::links::timestamps::enlarge_receive_buffer(socket, 64 << 20);
}

/// Number of datagrams that the kernel has dropped because the buffer of a socket at this port was full.
pub fn dropped_at(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/self/net/udp").expect("Linux");
    let of = |line: &str| -> Option<u64> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (_, hex) = words.get(1)?.split_once(':')?;
        (u16::from_str_radix(hex, 16).ok()? == port).then(|| words.last()?.parse().ok())?
    };
    table.lines().skip(1).filter_map(of).sum::<u64>()
}

/// Result of one attempt to receive from a sender.
pub struct Heard<T> {
    /// The received data.
    pub told: T,
    /// Number of datagrams that this machine dropped at the receiver's socket.
    pub dropped: u64,
}

/// Largest number of attempts in which this machine may drop datagrams.
const ATTEMPTS: usize = 5;

/// Result of the first attempt in which this machine dropped no datagram. Data that is missing then was lost by the
/// sender, so no further attempt follows.
///
/// # Panics
/// This machine has dropped datagrams in every attempt, so the sender cannot be tested.
pub fn until_whole<T>(mut attempt: impl FnMut() -> Heard<T>) -> T {
    let mut spoilt = Vec::new();
    for _ in 0..ATTEMPTS {
        let heard = attempt();
        if heard.dropped == 0 {
            return heard.told;
        }
        spoilt.push(heard.dropped);
    }
    panic!("this machine dropped datagrams at the test's own socket in each attempt: {spoilt:?}");
}

/// Datagrams that `socket` receives during a run.
pub fn live(run: &RealTimeRun, duration: Duration, socket: &UdpSocket) -> Heard<Vec<Vec<u8>>> {
    let port = socket.local_addr().unwrap().port();
    let before = dropped_at(port);
    let is_over = AtomicBool::new(false);
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    make_roomy(socket);
    let told = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut received, mut buffer) = (Vec::new(), vec![0; 65_536]);
            loop {
                match socket.recv(&mut buffer) {
                    Ok(length) => received.push(buffer[..length].to_vec()),
                    Err(_) if is_over.load(Ordering::Relaxed) => break received,
                    Err(_) => {}
                }
            }
        });
        run.run(Some(duration), &AtomicBool::new(false), |_| {});
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    Heard { told, dropped: dropped_at(port) - before }
}
