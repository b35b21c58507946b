//! Tests of links that send to sockets of this machine.

use super::*;
use std::net::Ipv6Addr;

fn listener() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

#[test]
fn datagrams_arrive_from_the_address_asked_for() {
    let listener = listener();
    let spare = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let link = UdpLink::open(&UdpOptions {
        from: Some(spare),
        ttl: Some(64),
        dont_fragment: Some(true),
        ..listener.local_addr().unwrap().into()
    })
    .unwrap();
    link.send(&[7; 1206]).unwrap();
    let mut buffer = [0; 2000];
    let (len, from) = listener.recv_from(&mut buffer).unwrap();
    assert_eq!((len, from), (1206, spare));
    assert_eq!(buffer[..len], [7; 1206]);
    assert_eq!(link.bound().socket.ttl_v4().unwrap(), 64);
    let discovery = rustix::net::sockopt::ip_mtu_discover(&link.bound().socket).unwrap();
    assert_eq!(discovery, Ipv4PathMtuDiscovery::DO);
}

#[test]
fn links_of_a_product_leave_from_one_port_that_nobody_else_gets() {
    let (data, gps, state) = (listener(), listener(), listener());
    let from = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let options =
        |to: &UdpSocket| UdpOptions { from: Some(from), ..to.local_addr().unwrap().into() };
    let first = UdpLink::open(&options(&data)).unwrap();
    let second = UdpLink::open_beside(&first, &options(&gps)).unwrap();
    let third = UdpLink::open_beside(&first, &options(&state)).unwrap();
    let other = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
    other.set_reuse_address(true).unwrap();
    assert_eq!(other.bind(&from.into()).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    for (link, listener) in [(first, data), (second, gps), (third, state)] {
        link.send(b"x").unwrap();
        assert_eq!(listener.recv_from(&mut [0; 8]).unwrap(), (1, from));
    }
}

#[test]
fn a_launch_time_is_taken_and_departures_are_stamped() {
    let listener = listener();
    let mut link = UdpLink::open(&listener.local_addr().unwrap().into()).unwrap();
    link.set_launch_clock(LaunchClock::Monotonic).unwrap();
    link.stamp_departures().unwrap();
    // The loopback interface has no packet scheduler, so the datagram leaves at once.
    link.rehearse(link.to());
    assert_eq!(link.send_at(b"first", link.to(), 1).unwrap(), 0);
    link.rehearse(link.to());
    assert_eq!(link.send(b"second").unwrap(), 1);
    let mut buffer = [0; 64];
    for expected in [b"first".as_slice(), b"second"] {
        let length = listener.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], expected);
    }
    let (mut reader, mut stamps) = (StampReader::default(), Vec::new());
    link.departures(&mut reader, &mut stamps).unwrap();
    assert_eq!(stamps.iter().map(|stamp| stamp.key).collect::<Vec<_>>(), [0, 1]);
    assert!(stamps[0].at_ns > 0 && stamps[0].at_ns <= stamps[1].at_ns);
}

/// Datagrams that `listener` receives from a link that prepares and sends alternately, and the keys of their
/// timestamps.
fn prepared_by_turns(listener: &UdpSocket) -> (Vec<Vec<u8>>, Vec<u32>) {
    let to = listener.local_addr().unwrap();
    let link = UdpLink::open(&to.into()).unwrap();
    link.stamp_departures().unwrap();
    let mut buffer = [0; 2000];
    assert!(link.release().is_err());
    assert_eq!(link.prepare(&[1; 1206], to).unwrap(), 0);
    link.rehearse(to);
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    listener.set_nonblocking(false).unwrap();
    link.release().unwrap();
    assert_eq!(link.send(b"sent").unwrap(), 1);
    assert!(link.prepare(&[0; 70_000], to).is_err());
    assert_eq!(link.prepare(b"prepared", to).unwrap(), 2);
    link.release().unwrap();
    assert!(link.release().is_err());
    assert_eq!(link.send(b"").unwrap(), 3);
    let heard = (0..4).map(|_| {
        let length = listener.recv(&mut buffer).unwrap();
        buffer[..length].to_vec()
    });
    let heard = heard.collect();
    let (mut reader, mut stamps) = (StampReader::default(), Vec::new());
    link.departures(&mut reader, &mut stamps).unwrap();
    (heard, stamps.iter().map(|stamp| stamp.key).collect())
}

#[test]
fn a_prepared_datagram_goes_when_it_is_released_and_takes_one_key() {
    assert!(system_keeps_datagrams());
    let (heard, keys) = prepared_by_turns(&listener());
    assert_eq!(heard, [vec![1; 1206], b"sent".to_vec(), b"prepared".to_vec(), vec![]]);
    assert_eq!(keys, [0, 1, 2, 3]);
}

#[test]
fn what_no_card_stamps_the_kernel_does() {
    let listener = listener();
    let link = UdpLink::open(&listener.local_addr().unwrap().into()).unwrap();
    timestamps::stamp_departures(&link.bound().socket, Stamper::Card).unwrap();
    link.send(b"x").unwrap();
    let (mut reader, mut stamps) = (StampReader::default(), Vec::new());
    link.departures(&mut reader, &mut stamps).unwrap();
    assert_eq!(stamps.iter().map(|stamp| stamp.by).collect::<Vec<_>>(), [Stamper::Kernel]);
}

#[test]
#[ignore = "needs IPv6 on the loopback interface"]
fn ipv6_works_too() {
    let listener = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let to = listener.local_addr().unwrap();
    UdpLink::open(&UdpOptions { ttl: Some(3), ..to.into() }).unwrap().send(b"x").unwrap();
    assert_eq!(listener.recv_from(&mut [0; 9]).unwrap().0, 1);
    let (heard, keys) = prepared_by_turns(&listener);
    assert_eq!(heard, [vec![1; 1206], b"sent".to_vec(), b"prepared".to_vec(), vec![]]);
    assert_eq!(keys, [0, 1, 2, 3]);
}

#[test]
fn nobody_listening_is_no_error() {
    let to = listener().local_addr().unwrap();
    let link = UdpLink::open(&to.into()).unwrap();
    for key in 0..20 {
        assert_eq!(link.send(&[0; 100]).unwrap(), key);
    }
}

#[test]
fn broadcast_is_allowed_where_the_address_or_the_option_says_so() {
    let allowed = |to: &str, broadcast| {
        let to: SocketAddr = to.parse().unwrap();
        let link = UdpLink::open(&UdpOptions { broadcast, ..to.into() }).unwrap();
        link.bound().socket.broadcast().unwrap()
    };
    assert!(allowed("255.255.255.255:2368", false));
    assert!(allowed("192.168.3.255:2368", false));
    assert!(allowed("10.0.0.127:2368", true));
    assert!(!allowed("10.0.0.127:2368", false));
}

#[test]
fn errors_name_the_option() {
    let text = |options: UdpOptions| UdpLink::open(&options).unwrap_err().to_string();
    let to: SocketAddr = "127.0.0.1:2368".parse().unwrap();
    let taken = listener();
    let taken = taken.local_addr().unwrap();
    for (options, expected) in [
        (UdpOptions::from(SocketAddr::from(([127, 0, 0, 1], 0))), "`to` needs a port"),
        (UdpOptions { ttl: Some(0), ..to.into() }, "`ttl` is 0"),
        (UdpOptions { from: Some(taken), ..to.into() }, "another program has this port"),
        (
            UdpOptions { from: Some("203.0.113.9:2368".parse().unwrap()), ..to.into() },
            "cannot send from 203.0.113.9:2368 (`from`): no network interface has this address",
        ),
        (
            UdpOptions { from: Some("[::1]:2368".parse().unwrap()), ..to.into() },
            "one is IPv4, the other IPv6",
        ),
        (
            UdpOptions { interface: Some("no-such-nic".into()), ..to.into() },
            "cannot send through `interface` \"no-such-nic\"",
        ),
    ] {
        let told = text(options);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn the_destination_can_change() {
    let (first, second) = (listener(), listener());
    let link = UdpLink::open(&first.local_addr().unwrap().into()).unwrap();
    link.send(b"a").unwrap();
    link.set_to(second.local_addr().unwrap()).unwrap();
    link.send(b"b").unwrap();
    for (socket, expected) in [(first, b"a"), (second, b"b")] {
        let mut buffer = [0; 9];
        assert_eq!(socket.recv_from(&mut buffer).unwrap().0, 1);
        assert_eq!(buffer[..1], expected[..]);
    }
    assert!(link.set_to("[::1]:2368".parse().unwrap()).is_err());
    link.set_to("255.255.255.255:2368".parse().unwrap()).unwrap();
    assert!(link.bound().socket.broadcast().unwrap());
}

#[test]
fn a_link_moves_to_another_address_with_what_was_set() {
    let listener = listener();
    listener.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let options = UdpOptions {
        from: Some("127.0.0.11:0".parse().unwrap()),
        dont_fragment: Some(true),
        ..listener.local_addr().unwrap().into()
    };
    let link = UdpLink::open(&options).unwrap();
    let second = UdpOptions { from: Some(link.local_addr().unwrap()), ..options };
    let second = UdpLink::open_beside(&link, &second).unwrap();
    link.stamp_departures().unwrap();
    let before = link.local_addr().unwrap();
    assert_eq!(link.send(b"a").unwrap(), 0);
    let ip = IpAddr::from([127, 0, 0, 12]);
    let other = link.opened_at(ip, None).unwrap();
    let other_second = second.opened_at(ip, Some(&other)).unwrap();
    assert!(link.opened_at(ip, None).is_err(), "nobody else gets the address");
    assert_eq!(link.local_addr().unwrap(), before, "it stays until it is taken over");
    // Hosts can change settings meanwhile.
    link.set_dont_fragment(false).unwrap();
    let broadcast = "127.255.255.255:9".parse().unwrap();
    link.set_to(broadcast).unwrap();
    link.set_to(listener.local_addr().unwrap()).unwrap();
    link.take_over(other).unwrap();
    second.take_over(other_second).unwrap();
    assert_eq!(link.send(b"b").unwrap(), 1, "keys count on");
    second.send(b"c").unwrap();
    let at = SocketAddr::new(ip, before.port());
    for (byte, from) in [(b"a", before), (b"b", at), (b"c", at)] {
        let mut buffer = [0; 9];
        assert_eq!(listener.recv_from(&mut buffer).unwrap(), (1, from));
        assert_eq!(buffer[..1], byte[..]);
    }
    let discovery = rustix::net::sockopt::ip_mtu_discover(&link.bound().socket).unwrap();
    assert_eq!(discovery, Ipv4PathMtuDiscovery::DONT);
    link.send_to(b"e", broadcast).expect("it may still broadcast");
    UdpSocket::bind(before).expect("the old address is free");
    let error = link.opened_at([203, 0, 113, 9].into(), None).unwrap_err();
    assert!(error.to_string().contains("no network interface has this address"), "{error}");
    assert_eq!(link.send(b"d").unwrap(), 3);
    assert_eq!(listener.recv_from(&mut [0; 9]).unwrap(), (1, at));
}

#[test]
fn moves_lose_no_stamps() {
    let listener = listener();
    let options = UdpOptions {
        from: Some("127.0.0.16:0".parse().unwrap()),
        ..listener.local_addr().unwrap().into()
    };
    let link = UdpLink::open(&options).unwrap();
    link.stamp_departures().unwrap();
    let (mut reader, mut stamps) = (StampReader::default(), Vec::new());
    for round in 0..12u8 {
        for _ in 0..round % 4 {
            link.send(b"x").unwrap();
        }
        if round % 3 == 0 {
            link.departures(&mut reader, &mut stamps).unwrap();
        }
        let before = link.local_addr().unwrap();
        // The link moves back and forth between two addresses; the old address is free at once.
        let other = link.opened_at([127, 0, 0, 17 - round % 2].into(), None);
        link.take_over(other.unwrap()).unwrap();
        UdpSocket::bind(before).expect("the old address is free");
        link.send(b"x").unwrap();
    }
    link.departures(&mut reader, &mut stamps).unwrap();
    let keys: Vec<_> = stamps.iter().map(|stamp| stamp.key).collect();
    assert_eq!(keys, (0..30).collect::<Vec<_>>());
}

#[test]
fn a_replaced_socket_without_its_last_stamp_is_closed_all_the_same() {
    let link = UdpLink::open(&listener().local_addr().unwrap().into()).unwrap();
    let bound = || {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        Bound::new(socket, Siblings::default())
    };
    let now = Instant::now();
    let sockets = vec![(bound(), 1, now), (bound(), 0, now + 9 * LAST_STAMPS)];
    let mut replaced = Replaced { stamps: Vec::new(), sockets };
    replaced.sockets.push((bound(), 1, now + 999 * LAST_STAMPS));
    replaced.read(&mut StampReader::default());
    assert_eq!(replaced.sockets.len(), 1, "only one may still get a stamp");
    *link.replaced.lock().unwrap() = replaced;
    link.departures(&mut StampReader::default(), &mut Vec::new()).unwrap();
    assert_eq!(link.replaced.lock().unwrap().sockets.len(), 1);
}

#[test]
fn a_link_without_a_source_moves_after_it_has_sent() {
    let listener = listener();
    let link = UdpLink::open(&listener.local_addr().unwrap().into()).unwrap();
    link.send(b"a").unwrap();
    let other = link.opened_at([127, 0, 0, 15].into(), None).unwrap();
    link.take_over(other).unwrap();
    link.send(b"b").unwrap();
    let mut buffer = [0; 9];
    for (byte, ip) in [(b"a", [127u8, 0, 0, 1]), (b"b", [127, 0, 0, 15])] {
        let (length, from) = listener.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from.ip()), (&byte[..], IpAddr::from(ip)));
    }
}

#[test]
fn send_errors_are_explained() {
    let link = UdpLink::open(&SocketAddr::from(([127, 0, 0, 1], 9)).into()).unwrap();
    let error = link.send(&[0; 70_000]).unwrap_err();
    assert!(link.explain(&error).starts_with("cannot send to 127.0.0.1:9: "));
    assert!(link.explain(&error).contains("MTU"), "{}", link.explain(&error));
    let text = link.explain(&io::Error::from_raw_os_error(libc_code::ENODEV));
    assert!(text.ends_with("plug it in and restart Menura"), "{text}");
}
