//! Rogue senders to the driver or the device: random bytes, given bytes, or packets of a second unit of the same
//! product.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

use crate::analysis::capture::{CaptureReader, Source};
use crate::analysis::damage::Damage;
use crate::kit::case::{Sends, Stranger};
use crate::kit::clock;

/// Source address of a rogue sender if the case names none: a second address of the loopback interface.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);
/// Longest random datagram, bytes.
pub const LONGEST: u16 = 1500;
/// Number of datagrams at the start of a capture that are used; later ones are ignored.
const MOST: usize = 200_000;

/// A datagram with the time since the first datagram.
pub type Timed = (Duration, Vec<u8>);

/// Datagrams of a capture to its most frequent destination port: the data, without position packets and the like. The
/// capture is pcap, pcapng or a ROS 2 bag with raw packets; IP fragments are reassembled.
///
/// # Errors
/// The file cannot be read, is damaged or has no datagrams.
pub fn twin(recording: &Path) -> Result<Vec<Timed>, String> {
    let mut reader = CaptureReader::open(Source::File(recording)).map_err(|e| e.to_string())?;
    let mut first_ns = None;
    let mut ports: BTreeMap<u16, Vec<Timed>> = BTreeMap::new();
    let mut kept = 0;
    let mut damage = Damage::default();
    while let Some(frame) = reader.next_frame() {
        let frame = frame.map_err(|error| error.to_string())?;
        let Some(datagram) = damage.datagram(&frame) else { continue };
        let since_ns = (frame.unix_ns - *first_ns.get_or_insert(frame.unix_ns)).max(0) as u64;
        if kept < MOST {
            kept += 1;
            let timed = (Duration::from_nanos(since_ns), datagram.payload.to_vec());
            ports.entry(datagram.destination.port()).or_default().push(timed);
        }
    }
    damage.warn(recording, reader.others_told());
    if let Some(lost) = reader.lost() {
        return Err(lost.to_string());
    }
    ports.into_values().max_by_key(Vec::len).ok_or_else(|| "no complete UDP datagrams".to_owned())
}

/// Sends the datagrams of `stranger` from `socket` to `to` for the duration that `stranger` sets, or until `over` is
/// set. `zero` is the start of the case, `seed` determines random bytes. Returns the number of datagrams sent, without
/// those that the system refused.
pub fn send(
    stranger: &Stranger,
    twin: &[Timed],
    socket: &UdpSocket,
    to: SocketAddr,
    zero: Instant,
    seed: u64,
    over: &AtomicBool,
) -> u64 {
    let begins = zero + Duration::from_secs_f64(stranger.start_s);
    let ends = begins + Duration::from_secs_f64(stranger.duration_s);
    let period = Duration::from_secs_f64(1.0 / stranger.rate_hz);
    let mut draws = SplitMix64::seed_from_u64(seed);
    let mut sent = 0;
    let mut send = |bytes: &[u8]| sent += u64::from(socket.send_to(bytes, to).is_ok());
    let wait = |due: Instant| {
        while clock::now() < due && !over.load(Ordering::Relaxed) {
            clock::sleep((due - clock::now().min(due)).min(Duration::from_millis(20)));
        }
        clock::now() >= due && due < ends && !over.load(Ordering::Relaxed)
    };
    match stranger.sends {
        Sends::Garbage => {
            let mut buffer = [0; LONGEST as usize];
            for number in 0_u32.. {
                if !wait(begins + period * number) {
                    break;
                }
                let any = draws.next_u64() % (u64::from(LONGEST) + 1);
                let length = stranger.size_bytes.map_or(any as usize, usize::from);
                draws.fill_bytes(&mut buffer[..length]);
                send(&buffer[..length]);
            }
        }
        Sends::Bytes => {
            for (number, bytes) in (0_u32..).zip(stranger.datagrams.iter().cycle()) {
                if !wait(begins + period * number) {
                    break;
                }
                send(bytes);
            }
        }
        Sends::Twin => {
            for (since, bytes) in twin {
                if !wait(begins + *since) {
                    break;
                }
                send(bytes);
            }
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::families::catalogue;
    use crate::links::pcap::PcapRecorder;

    #[test]
    fn a_twin_sends_data_though_something_else_came_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("twin.pcap");
        let profile = catalogue().profile("velodyne-vlp16-3.0").unwrap();
        let ports = profile.ports();
        let mut recorder = PcapRecorder::create(&path, ports[0].frame.clone()).unwrap();
        recorder.write_in(&ports[1].frame, 0, &[1]).unwrap();
        recorder.write(1_000_000, &[2, 3]).unwrap();
        recorder.write(3_000_000, &[4]).unwrap();
        recorder.finish().unwrap();
        let ms = Duration::from_millis;
        assert_eq!(twin(&path).unwrap(), [(ms(1), vec![2, 3]), (ms(3), vec![4])]);
    }

    #[test]
    fn garbage_comes_from_elsewhere_and_is_the_same_again() {
        let stranger = Stranger {
            sends: Sends::Garbage,
            start_s: 0.0,
            duration_s: 0.2,
            rate_hz: 500.0,
            size_bytes: None,
            from: (ADDRESS, 0).into(),
            set: Vec::new(),
            capture: None,
            datagrams: Vec::new(),
            to: None,
        };
        let heard = |seed| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let over = AtomicBool::new(false);
            let to = socket.local_addr().unwrap();
            let own = UdpSocket::bind(stranger.from).unwrap();
            let sent = send(&stranger, &[], &own, to, clock::now(), seed, &over);
            assert!((50..=101).contains(&sent), "{sent}");
            let mut buffer = [0; 2000];
            let mut all = Vec::new();
            for _ in 0..20 {
                let (length, from) = socket.recv_from(&mut buffer).unwrap();
                assert_eq!(from.ip(), ADDRESS);
                all.push(buffer[..length].to_vec());
            }
            all
        };
        assert_eq!(heard(1), heard(1));
        assert_ne!(heard(1), heard(2));
    }
    #[test]
    fn a_slow_stranger_of_one_size_comes_from_where_the_case_says() {
        let stranger = Stranger {
            sends: Sends::Garbage,
            start_s: 0.0,
            duration_s: 0.3,
            rate_hz: 10.0,
            size_bytes: Some(1206),
            from: "127.0.0.71:0".parse().unwrap(),
            set: Vec::new(),
            capture: None,
            datagrams: Vec::new(),
            to: None,
        };
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let to = socket.local_addr().unwrap();
        let own = UdpSocket::bind(stranger.from).unwrap();
        let over = AtomicBool::new(false);
        let sent = send(&stranger, &[], &own, to, clock::now(), 1, &over);
        assert!((1..=3).contains(&sent), "{sent}");
        let mut buffer = [0; 2000];
        for _ in 0..sent {
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            assert_eq!((length, from.ip()), (1206, stranger.from.ip()));
        }
        // No UDP datagram is that long: the system refuses all of them.
        let datagrams = vec![vec![0; 70_000]];
        let stranger = Stranger { sends: Sends::Bytes, datagrams, ..stranger };
        assert_eq!(send(&stranger, &[], &own, to, clock::now(), 1, &over), 0);
    }
}
