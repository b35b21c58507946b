//! Tests of a receiver's ports, each with its own configuration items. Further devices represent the lines to these ports.

use super::super::further_line::FurtherLine;
use super::*;
use crate::gnss::profile::{LinePort, PortOutput, SentenceKind};
use crate::wire::ubx::mon::MonComms;

const HPG_1_32: &str = "ublox-zed-f9p-hpg1.32";

/// Output of the port `wanted`, which must not be the port of the link.
fn aside(bench: &Bench, wanted: u8) -> Vec<Vec<u8>> {
    let of_port = |transmit: &Transmit| match &transmit.output {
        Output::Aside { port, bytes, .. } if *port == wanted && !bytes.is_empty() => {
            Some(bytes.clone())
        }
        _ => None,
    };
    bench.sent.iter().filter_map(of_port).collect()
}

fn numbers(messages: &[Vec<u8>]) -> Vec<u16> {
    let number = |message: &Vec<u8>| {
        (message[0] == 0xd3).then(|| u16::from(message[3]) << 4 | u16::from(message[4]) >> 4)
    };
    let mut all: Vec<u16> = messages.iter().filter_map(number).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn a_rig_sets_uart2_beside_the_link() {
    let mut bench = Bench::new(HPG_1_32, |settings| {
        settings.sentences = vec![SentenceKind::Rmc];
        settings.uart2 = Some(PortOutput {
            baud: 115_200,
            sentences: vec![SentenceKind::Gga],
            messages: ["NAV-PVT", "RTCM-1077"].map(String::from).to_vec(),
        });
    });
    bench.run(8.0);
    assert!(bench.count("GNRMC") > 5 && bench.count("GNGGA") == 0);
    assert_eq!(bench.pvts().len(), 0, "UART1 has sentences alone");
    let sent = aside(&bench, 2);
    assert_eq!(numbers(&sent), [1077]);
    let starts = |head: &[u8]| sent.iter().filter(|bytes| bytes.starts_with(head)).count();
    assert!(starts(b"$GNGGA") > 5 && starts(b"$GNRMC") == 0);
    assert!(starts(&[0xb5, 0x62, 0x01, 0x07]) > 5);
    assert!(starts(b"$GNTXT") > 5, "UART2 prints the text after a start if it has sentences");
    let fast = LineSettings::eight_n_one(115_200);
    let is_fast = |t: &Transmit| !matches!(t.output, Output::Aside { line, .. } if line != fast);
    assert!(bench.sent.iter().all(is_fast));
}

#[test]
fn uart2_as_the_link_is_asked_and_answers_there() {
    let mut bench = Bench::new(HPG_1_32, |settings| {
        settings.port = LinePort::Uart2;
        settings.sentences = Vec::new();
        settings.messages = ["NAV-PVT", "RTCM-1074"].map(String::from).to_vec();
        settings.baud = 115_200;
    });
    bench.run(8.0);
    assert!(bench.pvts().len() > 5);
    let frames = bench.ask_frame(&Frame::new(CfgPrt::ID, vec![]));
    let answer = frames.iter().find(|frame| frame.id == CfgPrt::ID).unwrap();
    let port = CfgPrt::parse(&answer.payload).unwrap();
    assert_eq!((port.port, port.baud), (2, 115_200));
    // UBX and RTCM 3 are on; NMEA stays off.
    assert_eq!((port.input_protocols, port.output_protocols), (0x21, 0x21));
    assert!(is_ack(&bench.ask(&CfgMsg::ThisPort(NavDop::ID, 1)), CfgMsg::ID));
    let asked = CfgMsg::Poll(NavDop::ID).to_frame();
    let rates = CfgMsg::AllPorts(NavDop::ID, [0, 0, 1, 0, 0, 0]).to_frame();
    assert!(bench.ask_frame(&asked).contains(&rates));
    let frames = bench.ask_frame(&Frame::new(MonComms::ID, vec![]));
    let comms = frames.iter().find(|frame| frame.id == MonComms::ID).unwrap();
    let ports: Vec<u16> =
        MonComms::parse(&comms.payload).unwrap().ports.iter().map(|p| p.port).collect();
    assert_eq!(ports, [0x0201]);
    // A second connection to UART2 receives the same bytes.
    bench.sent.clear();
    bench.run(2.0);
    let link: Vec<_> = bench.bytes().map(|(_, bytes)| bytes.clone()).collect();
    assert_eq!(aside(&bench, 2), link);
}

#[test]
fn usb_has_no_rate_and_a_port_without_a_line_sends_nothing() {
    let mut bench = Bench::new(HPG_1_32, |settings| settings.port = LinePort::Usb);
    assert_eq!(bench.device.line(), Some(LineSettings::USB));
    bench.run(3.0);
    assert!(bench.count("GNRMC") >= 3);
    assert!(bench.sent.iter().all(|t| !matches!(t.output, Output::Aside { .. })));
    let mut wired = Bench::new(HPG_1_32, |settings| settings.port = LinePort::Usb);
    wired.device.wire(&[1]);
    wired.run(3.0);
    assert!(aside(&wired, 1).iter().any(|bytes| bytes.starts_with(b"$GNRMC")));
    // Answers are sent only on the port of the request.
    wired.sent.clear();
    let poll = Frame::new(MonVer::ID, vec![]).to_bytes();
    wired.device.handle_line_input(SimTime(wired.now_ns), 1, &poll);
    wired.run(0.5);
    let is_version = |bytes: &Vec<u8>| bytes.starts_with(&[0xb5, 0x62, 0x0a, 0x04]);
    assert!(aside(&wired, 1).iter().any(is_version));
    assert!(!wired.bytes().any(|(_, bytes)| is_version(bytes)));
}

#[test]
fn a_slow_port_loses_its_own_bytes_only() {
    let names: Vec<String> =
        ["1077", "1087", "1097", "1127"].iter().map(|n| format!("RTCM-{n}")).collect();
    let mut bench = Bench::new(HPG_1_32, |settings| {
        settings.period_ns = 100 * MS;
        settings.baud = 921_600;
        settings.uart2 =
            Some(PortOutput { baud: 4800, sentences: Vec::new(), messages: names.clone() });
    });
    bench.run(15.0);
    assert!(bench.device.ports[1].uart.lost() > 0 && bench.device.ports[0].uart.lost() == 0);
    assert_eq!(bench.device.ports[1].number, 2);
}

#[test]
fn a_further_line_sends_what_the_port_sends_when_it_does() {
    let mut line = FurtherLine::new(LineSettings::eight_n_one(38_400));
    let fast = LineSettings::eight_n_one(115_200);
    let signal = |bytes: &[u8]| CableSignal::Bytes(bytes.to_vec(), fast);
    line.handle_cable(SimTime(5), &signal(&[]));
    line.handle_cable(SimTime(9), &signal(&[1, 2]));
    let all: Vec<_> = std::iter::from_fn(|| line.poll_transmit()).collect();
    let expected =
        [Transmit::new(SimTime(5), Output::Line(fast)), Transmit::bytes(SimTime(9), vec![1, 2])];
    assert_eq!(all, expected);
    assert_eq!(line.line(), Some(fast));
}
