use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use super::*;
use crate::config::profile::network::PortIndex;
use crate::config::rig::ControlConfig;
use crate::devices::families::catalogue;
use crate::devices::{Device, Output, Transmit};
use crate::sensors::imu::ImuSensor;
use crate::sensors::{Measurement, MeasurementRequest};
use crate::wire::http::{HttpRequest, HttpResponse};
use crate::wire::port::Peer;

/// A device that sends datagrams from its second port and answers commands at two TCP ports and a
/// web interface.
#[derive(Default)]
struct Product {
    ready: VecDeque<Transmit>,
    next_datagram_ns: u64,
    /// Number of datagrams of the first port that are sent first and are due after an hour.
    delayed: usize,
}

impl Product {
    fn say(&mut self, now: SimTime, peer: Peer, what: &[u8]) {
        let text = [format!("port {}: ", peer.port).as_bytes(), what].concat();
        self.ready.push_back(Transmit::new(now, Output::BytesTo(peer, text)));
    }
}

impl Device for Product {
    fn poll_request(&mut self, _: SimTime) -> Option<MeasurementRequest> {
        None
    }

    fn handle_measurement(&mut self, _: &Measurement) {}

    fn handle_peer(&mut self, now: SimTime, peer: Peer, connected: bool) {
        if connected {
            self.say(now, peer, b"hello.");
        }
    }

    fn handle_peer_input(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        self.say(now, peer, bytes);
    }

    fn handle_http(&mut self, _: SimTime, request: &HttpRequest) -> HttpResponse {
        HttpResponse::text(200, &format!("this is {}", request.path))
    }

    fn advance(&mut self, now: SimTime) {
        for _ in 0..std::mem::take(&mut self.delayed) {
            let output = Output::Datagram { port: PortIndex::DATA, bytes: vec![7; 3] };
            self.ready.push_back(Transmit::new(SimTime(3_600_000_000_000), output));
        }
        while self.next_datagram_ns <= now.0 {
            let due = SimTime(self.next_datagram_ns);
            let output = Output::Datagram { port: PortIndex(1), bytes: vec![7; 3] };
            self.ready.push_back(Transmit::new(due, output));
            self.next_datagram_ns += 10_000_000;
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.ready.pop_front()
    }

    fn nominal_rate_hz(&self) -> f64 {
        100.0
    }
}

/// Connects, sends `text`, and expects to receive `expected`.
fn converse(address: SocketAddr, text: &str, expected: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut heard = Vec::new();
    stream.write_all(text.as_bytes()).unwrap();
    while !String::from_utf8_lossy(&heard).contains(expected) {
        let mut piece = [0; 256];
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "no {expected:?} in {:?}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&piece[..count]);
    }
}

/// A robot, and a rig with a device that sends it the datagrams of its second port.
fn robot_and_rig() -> (UdpSocket, Rig) {
    let robot = UdpSocket::bind("127.0.0.1:0").unwrap();
    robot.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let port = robot.local_addr().unwrap().port();
    let text = format!(
        "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n[[device]]\n\
         name = \"product\"\nprofile = \"velodyne-vlp16-3.0\"\n\
         link = {{ udp = {{ to = \"127.0.0.1:9\", position_port = {port} }} }}\n"
    );
    (robot, Rig::parse("rig.toml", &text, Path::new(""), &[], catalogue()).unwrap())
}

fn built(product: Product) -> Vec<Built> {
    let sensor = Arc::new(ImuSensor::of_motion_alone());
    vec![Built { device: Box::new(product), sensor }]
}

#[test]
fn packets_that_are_due_much_later_do_not_delay_others() {
    let (robot, mut rig) = robot_and_rig();
    // A device with controls keeps its packets itself until they are due.
    rig.devices[0].controls = Vec::new();
    let world = LiveWorld::load(&rig).unwrap();
    let run = RealTimeRun::new(&rig, &world).unwrap();
    let devices = built(Product { delayed: 5 * SEND_QUEUE, ..Product::default() });
    let stop = AtomicBool::new(false);
    let heard = std::thread::scope(|scope| {
        scope.spawn(|| run.run_devices(devices, None, &stop, |_| ()));
        let heard = (0..50).take_while(|_| robot.recv(&mut [0; 16]).is_ok()).count();
        stop.store(true, Ordering::Relaxed);
        heard
    });
    assert_eq!(heard, 50);
}

#[test]
fn all_controls_of_a_product_that_sends_datagrams_are_heard_and_answered() {
    let (robot, mut rig) = robot_and_rig();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    rig.devices[0].controls = vec![
        ControlConfig::Web(any),
        ControlConfig::Commands { address: any, port: 0 },
        ControlConfig::Commands { address: any, port: 1 },
    ];
    let world = LiveWorld::load(&rig).unwrap();
    let run = RealTimeRun::new(&rig, &world).unwrap();
    let [ControlLink::Web(web), ControlLink::Commands(first), ControlLink::Commands(second)] =
        &run.connections[0].controls[..]
    else {
        panic!("other controls");
    };
    let address = |server: &TcpServer| server.addresses().next().unwrap();
    let devices = built(Product::default());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| run.run_devices(devices, None, &stop, |_| ()));
        converse(address(first), "one", "port 0: hello.port 0: one");
        converse(address(second), "two", "port 1: hello.port 1: two");
        let request = "GET /page HTTP/1.1\r\nHost: product\r\n\r\n";
        converse(web.address(), request, "this is /page");
        let mut datagram = [0; 16];
        assert_eq!(robot.recv(&mut datagram).unwrap(), 3);
        stop.store(true, Ordering::Relaxed);
    });
    let figures = &run.figures(run.elapsed())[0];
    assert_eq!(figures.ports[0].packets, 0);
    assert!(figures.ports[1].packets > 0);
    assert_eq!(figures.packets, figures.ports[1].packets, "answers are no packets");
}
