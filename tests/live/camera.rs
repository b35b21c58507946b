//! GigE Vision cameras and a host on real sockets: units that change their addresses.

use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use menura::wire::gige::{Command, command, status};

use crate::common;

/// A port below the range from which systems assign ports.
const PORT: u16 = 20_341;
const PATIENCE: Duration = Duration::from_secs(60);
const MASK: Ipv4Addr = Ipv4Addr::new(255, 0, 0, 0);

struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Run {
    /// Starts a run of a camera at `ip`, which streams from the start if `host` is given. `more` is TOML that follows
    /// the device in the rig.
    fn start(folder: &Path, ip: Ipv4Addr, host: Option<SocketAddr>, more: &str) -> Self {
        let (to, streams) = (host.unwrap_or(([127, 0, 0, 1], 9).into()), host.is_some());
        let text = format!(
            "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n[[device]]\n\
             name = \"a-camera\"\nprofile = \"menura-gv231c\"\n\
             link = {{ udp = {{ to = \"{to}\", from = \"{ip}:20342\" }}, gvcp = \"{ip}:{PORT}\" }}\n\
             settings = {{ image_width = 64, image_height = 48, frame_rate_hz = 20.0, \
             streams_alone = {streams}, test_pattern = \"ramp\", packet_bytes = 576 }}\n{more}"
        );
        let rig = folder.join("rig.toml");
        std::fs::write(&rig, text).unwrap();
        let mut command = common::menura();
        command.arg("run").arg(&rig).args(["--duration", "300s", "--certificate"]);
        command.arg(folder.join("certificate.json"));
        Self(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Ends the process; returns its standard error.
    fn end(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.0.wait().unwrap().success(), "{said}");
        said
    }
}

struct Host {
    socket: UdpSocket,
    id: u16,
}

impl Host {
    fn new() -> Self {
        Self { socket: udp(), id: 0 }
    }

    /// Sends a command; returns the answer and its source. Commands are repeated, as hosts do: a unit that has just
    /// moved or restarted answers later.
    fn ask(&mut self, to: Ipv4Addr, code: u16, payload: &[u8]) -> (Ipv4Addr, u16, Vec<u8>) {
        self.id += 1;
        let id = self.id;
        let command = Command { flags: 1, code, id, payload }.to_bytes();
        self.socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        for _ in 0..PATIENCE.as_millis() / 200 {
            self.socket.send_to(&command, (to, PORT)).unwrap();
            let mut answer = [0; 1024];
            let Ok((length, SocketAddr::V4(from))) = self.socket.recv_from(&mut answer) else {
                continue;
            };
            assert_eq!(from.port(), PORT);
            if answer[6..8] == id.to_be_bytes() {
                let status = u16::from_be_bytes([answer[0], answer[1]]);
                return (*from.ip(), status, answer[8..length].to_vec());
            }
        }
        panic!("{to} does not answer {code:#x}");
    }

    fn write(&mut self, to: Ipv4Addr, address: u32, value: u32) {
        let payload: Vec<u8> =
            [address, value].iter().flat_map(|word| word.to_be_bytes()).collect();
        let (_, status, _) = self.ask(to, command::WRITE_REGISTER, &payload);
        assert_eq!(status, status::SUCCESS, "{address:#x} = {value:#x}");
    }

    /// IP address and MAC address that the unit at `at` reports.
    fn find(&mut self, at: Ipv4Addr) -> (Ipv4Addr, [u8; 6]) {
        let (from, status, found) = self.ask(at, command::DISCOVERY, &[]);
        assert_eq!((from, status, found.len()), (at, status::SUCCESS, 248));
        let ip = <[u8; 4]>::try_from(&found[0x24..0x28]).unwrap();
        (ip.into(), found[0xa..0x10].try_into().unwrap())
    }

    fn force(&mut self, to: Ipv4Addr, mac: [u8; 6], ip: Ipv4Addr) -> (Ipv4Addr, u16) {
        let mut payload = [0; 56];
        payload[2..8].copy_from_slice(&mac);
        payload[20..24].copy_from_slice(&ip.octets());
        payload[36..40].copy_from_slice(&MASK.octets());
        let (from, status, _) = self.ask(to, command::FORCE_IP, &payload);
        (from, status)
    }
}

fn udp() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Whether no program listens at `ip`; the system reports this at once.
fn is_silent(ip: Ipv4Addr) -> bool {
    let socket = udp();
    socket.connect((ip, PORT)).unwrap();
    socket
        .send(&Command { flags: 1, code: command::DISCOVERY, id: 1, payload: &[] }.to_bytes())
        .unwrap();
    socket.recv(&mut [0; 512]).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[test]
fn a_camera_moves_to_the_address_that_a_host_forces_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second, third] = [41, 42, 43].map(|last| Ipv4Addr::new(127, 0, 0, last));
    let nobodys = Ipv4Addr::new(203, 0, 113, 9);
    let run = Run::start(folder.path(), first, None, "");
    let mut host = Host::new();
    let (ip, mac) = host.find(first);
    assert_eq!(ip, first);
    assert_eq!(host.force(first, mac, second), (second, status::SUCCESS));
    assert_eq!(host.find(second), (second, mac));
    assert!(is_silent(first));
    for port in [PORT, 20_342] {
        UdpSocket::bind((first, port)).expect("others can have the old address");
    }

    // The camera streams from its new address.
    let stream = udp();
    host.write(second, 0x0a00, 2);
    host.write(second, 0x0d18, Ipv4Addr::LOCALHOST.to_bits());
    host.write(second, 0x0d00, stream.local_addr().unwrap().port().into());
    host.write(second, 0x1_0108, 1);
    let mut packet = [0; 2000];
    let (_, from) = stream.recv_from(&mut packet).unwrap();
    assert_eq!((from, packet[4]), ((second, 20_342).into(), 1), "the leader of a frame");
    assert_eq!(host.force(second, mac, first), (second, status::ACCESS_DENIED));

    // An address that this machine does not have is refused.
    host.write(second, 0x0a00, 0);
    assert_eq!(host.force(second, mac, nobodys), (second, status::INVALID_PARAMETER));
    assert_eq!(host.find(second), (second, mac));

    // The persistent address is used after a restart.
    host.write(second, 0x0a00, 2);
    host.write(second, 0x064c, third.to_bits());
    host.write(second, 0x065c, MASK.to_bits());
    host.write(second, 0x1_0310, 1);
    assert_eq!(host.find(third), (third, mac));
    assert!(is_silent(second));
    let said = run.end();
    assert!(said.contains("a-camera: keeps its address"), "{said}");
    assert!(said.contains("no network interface has this address"), "{said}");
}

#[test]
fn no_packet_of_a_stream_is_lost_when_its_camera_moves() {
    stream_moves([44, 45], "");
}

#[test]
fn packets_that_a_fault_delays_leave_before_the_camera_moves() {
    let delay =
        "[[fault]]\ndevice = \"a-camera\"\nkind = \"delay\"\nstart_s = 0.0\ndelay_ms = 130\n";
    stream_moves([46, 47], delay);
}

/// Moves a streaming camera to another IP address, and checks all its packets and their departures.
fn stream_moves(hosts: [u8; 2], fault: &str) {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = hosts.map(|last| Ipv4Addr::new(127, 0, 0, last));
    let stream = udp();
    let run = Run::start(folder.path(), first, Some(stream.local_addr().unwrap()), fault);
    let mut host = Host::new();
    let (_, mac) = host.find(first);
    let mut numbers = Vec::new();
    let mut moved = 0;
    while moved < 30 {
        let mut packet = [0; 2000];
        let (_, from) = stream.recv_from(&mut packet).unwrap();
        let number = u32::from_be_bytes([0, packet[5], packet[6], packet[7]]);
        numbers.push((u16::from_be_bytes([packet[2], packet[3]]), number, packet[4]));
        if numbers.len() == 20 {
            assert_eq!(host.force(first, mac, second), (second, status::SUCCESS));
        }
        moved += u32::from(from == (second, 20_342).into());
        assert!(from.ip() == if moved > 0 { second } else { first }, "it moves once");
    }
    for pair in numbers.windows(2) {
        let [(block, number, kind), next] = pair else { unreachable!() };
        let is_trailer = *kind == 2;
        let expected = if is_trailer { (block + 1, 0) } else { (*block, number + 1) };
        assert_eq!((next.0, next.1), expected);
    }
    run.end();
    let certificate = std::fs::read(folder.path().join("certificate.json")).unwrap();
    let certificate: serde_json::Value = serde_json::from_slice(&certificate).unwrap();
    let device = &certificate["devices"][0];
    assert!(device["departed"]["count"].as_u64().is_some_and(|count| count > 50), "{device}");
    assert_eq!(device["unstamped"], 0, "every departure has its stamp");
}
