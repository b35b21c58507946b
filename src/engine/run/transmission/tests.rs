//! Tests of devices that move to another address or disconnect a host, over real sockets.

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, TcpStream, UdpSocket};

use crossbeam_channel::{Receiver, bounded};
use rtrb::RingBuffer;

use super::*;
use crate::devices::Transmit;
use crate::engine::connections::ControlLink;
use crate::engine::packet::{FirstShown, Packet};
use crate::engine::run::send_queue;
use crate::links::tcp_server::{ServerEvent, TcpServer};
use crate::wire::port::UdpOptions;

/// A host, and a device at `from` that sends to it.
fn device(from: [u8; 4]) -> (UdpSocket, [Connections; 1]) {
    let host = UdpSocket::bind("127.0.0.1:0").unwrap();
    host.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let options = UdpOptions {
        from: Some((IpAddr::from(from), 0).into()),
        ..host.local_addr().unwrap().into()
    };
    (host, [Link::Datagrams(vec![UdpLink::open(&options).unwrap()]).into()])
}

/// Sends `outputs` in order; `tell` is the queue of events to the device.
fn send(connections: &[Connections; 1], tell: &Sender<HostEvent>, outputs: Vec<Output>) {
    let (stats, lines) = ([DeviceStats::default()], [LineSettings::eight_n_one(9600)]);
    let engine = EngineConfig::default();
    let (clock, _) = MonotonicClock::starting_in(Duration::ZERO);
    let context = SendContext {
        clock,
        connections,
        stats: &stats,
        lines: &lines,
        engine: &engine,
        answers: None,
        tap: None,
        ntrip: None,
        events: Some(tell),
    };
    let (mut queue, packets) = send_queue::with_capacity(100, clock);
    let (log, _entries) = RingBuffer::new(100);
    let mut transmission = Transmission::new(context, packets, log);
    for output in outputs {
        let transmit = Transmit::new(SimTime::ZERO, output);
        assert!(queue.send(Packet {
            device: DeviceId(0),
            transmit,
            first_shown: FirstShown::default()
        }));
    }
    drop(queue);
    while !matches!(transmission.serve(Role::First), Next::Over) {}
}

fn datagram(byte: u8) -> Output {
    Output::Datagram { port: PortIndex::DATA, bytes: vec![byte] }
}

fn heard(host: &UdpSocket) -> (u8, IpAddr) {
    let mut byte = [0; 9];
    let (length, from) = host.recv_from(&mut byte).unwrap();
    assert_eq!(length, 1);
    (byte[0], from.ip())
}

/// The new addresses that were reported to the device.
fn told(events: &Receiver<HostEvent>) -> Vec<Ipv4Addr> {
    let ips = events.try_iter().map(|event| match event.input.payload {
        Payload::Address { ip, moves: true } => ip,
        other => panic!("{other:?}"),
    });
    ips.collect()
}

#[test]
fn a_device_moves_between_its_datagrams_and_is_told() {
    let [first, second, third] = [51, 52, 53].map(|last| Ipv4Addr::new(127, 0, 0, last));
    let (host, connections) = device(first.octets());
    let (tell, events) = bounded(9);
    connections[0].open_at(second).unwrap();
    // A second request is refused and does not affect the first one.
    let error = connections[0].open_at(third).unwrap_err();
    assert!(error.to_string().contains("is not complete"), "{error}");
    assert!(events.is_empty(), "the device learns of the move before the sender has made it");
    send(&connections, &tell, vec![datagram(1), Output::Address(second), datagram(2)]);
    assert_eq!([heard(&host), heard(&host)], [(1, first.into()), (2, second.into())]);
    assert_eq!(told(&events), [second]);
    connections[0].open_at(first).expect("others can have the old address");
    send(&connections, &tell, vec![Output::Address(first), datagram(3)]);
    assert_eq!(heard(&host), (3, first.into()));
    assert_eq!(told(&events), [first]);
}

#[test]
fn a_device_that_cannot_be_told_stays() {
    let [first, second] = [54, 55].map(|last| Ipv4Addr::new(127, 0, 0, last));
    let (host, connections) = device(first.octets());
    let (tell, _events) = bounded(0);
    for byte in 1..3 {
        connections[0].open_at(second).expect("what was not taken over is closed");
        send(&connections, &tell, vec![Output::Address(second), datagram(byte)]);
        assert_eq!(heard(&host), (byte, first.into()));
    }
}

#[test]
fn a_host_of_a_command_port_is_disconnected() {
    let (_host, [unit]) = device([127, 0, 0, 1]);
    let server = TcpServer::listen(&[([127, 0, 0, 1], 0).into()]).unwrap();
    let mut client = TcpStream::connect(server.addresses().next().unwrap()).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut peer = None;
    let mut happened = |event: ServerEvent<'_>| {
        if let ServerEvent::Connected(connected) = event {
            peer = Some(connected);
        }
    };
    server.receive(&mut [0; 9], Duration::from_secs(5), &mut happened).unwrap();
    let connections = [Connections { controls: vec![ControlLink::Commands(server)], ..unit }];
    let (tell, _events) = bounded(9);
    send(&connections, &tell, vec![Output::Disconnect(peer.unwrap())]);
    assert_eq!(client.read(&mut [0; 9]).unwrap(), 0);
}
