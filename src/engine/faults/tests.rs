use crate::devices::families::catalogue;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::devices::Output;
use crate::wire::port::Peer;

const PEER: Peer = Peer { connection: 1, port: 0, from: IpAddr::V4(Ipv4Addr::LOCALHOST) };

const DEVICES: &str = r#"
seed = 5
[world]
scene = "room"
[robot]
trajectory = { kind = "still" }
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
link = { udp = { to = "127.0.0.1:2368" } }
[[device]]
name = "gnss"
profile = "ublox-zed-f9p-hpg1.32"
link = { pty = "/tmp/menura-never-opened" }
[[device]]
name = "scanner"
profile = "sick-lms111"
link = { tcp = "127.0.0.1:2111" }
[[device]]
name = "udp-commands"
profile = "robosense-rs16"
link = { udp = { to = "127.0.0.1:6699", difop_port = 7788 }, ucwp = "127.0.0.2:7788" }
"#;
const LIDAR: usize = 0;
const GNSS: usize = 1;
const SCANNER: usize = 2;
const UDP_COMMANDS: usize = 3;

fn rig(faults: &str) -> Rig {
    Rig::parse("rig.toml", &format!("{DEVICES}{faults}"), Path::new(""), &[], catalogue())
        .unwrap_or_else(|faults| panic!("{faults}"))
}

fn one(device: &str, keys: &str) -> Rig {
    rig(&format!("[[fault]]\ndevice = \"{device}\"\nstart_s = 1e-6\nduration_s = 1e-3\n{keys}"))
}

/// Packet `n` is due at `n` microseconds and holds `n` in each of 100 bytes.
fn packet(n: u64) -> Transmit {
    Transmit::bytes(SimTime(1000 * n), vec![n as u8; 100])
}

const DATA: Stream = Stream::Port(PortIndex::DATA);

/// Passes the outputs `given` of a device through the faults. Returns the outputs that remain, in the order of departure,
/// and the effects of the faults.
fn passed(rig: &Rig, device: usize, given: Vec<Transmit>) -> (Vec<Transmit>, Vec<Row>) {
    let mut faults = WireFaults::new(rig);
    let mut left = Vec::new();
    for transmit in given {
        faults.apply(DeviceId(device), transmit, &mut |transmit| left.push(transmit));
    }
    faults.finish(&mut |_, transmit| left.push(transmit));
    left.sort_by_key(|transmit| transmit.due);
    let rows = faults.rows().collect();
    (left, rows)
}

fn numbers(left: &[Transmit]) -> Vec<u8> {
    left.iter().map(|transmit| transmit.output.bytes().unwrap()[0]).collect()
}

#[test]
fn only_the_window_and_only_the_device_are_concerned() {
    let rig = one("lidar", "kind = \"packet-loss\"\nprobability = 1");
    let (left, rows) = passed(&rig, LIDAR, vec![packet(0), packet(1), packet(1000), packet(1001)]);
    assert_eq!(numbers(&left), [0, 1001u64 as u8]);
    let data = |number| Some((DATA, number));
    assert_eq!(rows.iter().map(|row| row.packet).collect::<Vec<_>>(), [data(1), data(2)]);
    assert!(rows.iter().all(|row| row.effect == Effect::Lost));
    let (left, rows) = passed(&rig, GNSS, vec![packet(1)]);
    assert_eq!((left.len(), rows.len()), (1, 0));
}

#[test]
fn what_is_held_back_is_overtaken_by_as_many_as_asked() {
    let rig = rig(
        "[[fault]]\ndevice = \"lidar\"\nstart_s = 2e-6\nduration_s = 1e-6\nkind = \"reordering\"\n\
         probability = 1\nby_packets = 3",
    );
    let (left, rows) = passed(&rig, LIDAR, (0..8).map(packet).collect());
    assert_eq!(numbers(&left), [0, 1, 3, 4, 5, 2, 6, 7]);
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].packet, rows[0].effect),
        (Some((DATA, 2)), Effect::HeldBack { packets: 3 })
    );
    // No packet is held back for ever.
    let (left, _) = passed(&rig, LIDAR, (0..4).map(packet).collect());
    assert_eq!(left.len(), 4);
}

/// Passes packets through the rig's faults. `given` lists packet numbers; 0 stands for a change of the device's address.
/// Returns the surviving outputs as such numbers, each with its due time.
fn moved(rig: &Rig, given: &[u64]) -> Vec<(u64, SimTime)> {
    let given = given.iter().enumerate().map(|(place, number)| match number {
        0 => Transmit::new(SimTime(1000 * place as u64), Output::Address(Ipv4Addr::LOCALHOST)),
        number => packet(*number),
    });
    let (left, _) = passed(rig, LIDAR, given.collect());
    let name = |transmit: &Transmit| transmit.output.bytes().map_or(0, |bytes| bytes[0].into());
    left.iter().map(|transmit| (name(transmit), transmit.due)).collect()
}

#[test]
fn a_move_waits_for_packets_that_are_delayed() {
    let names = |left: &[(u64, SimTime)]| left.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let given = [1, 2, 3, 0, 4, 5];
    for keys in ["kind = \"packet-loss\"\nprobability = 0", "kind = \"delay\"\ndelay_ms = 5"] {
        let left = moved(&one("lidar", keys), &given);
        assert_eq!(names(&left), given, "{keys}");
    }
    // A packet that is not delayed overtakes the move.
    let one_delayed = "[[fault]]\ndevice = \"lidar\"\nstart_s = 2e-6\nduration_s = 1e-6\n";
    let rig_of = |keys| rig(&format!("{one_delayed}{keys}"));
    let left = moved(&rig_of("kind = \"delay\"\ndelay_ms = 0.0025"), &given);
    assert_eq!(left[2..5], [(4, SimTime(4000)), (2, SimTime(4500)), (0, SimTime(4500))]);
    // A packet that is held back leaves before the move, even if too few packets have overtaken it.
    let left = moved(&rig_of("kind = \"reordering\"\nprobability = 1\nby_packets = 3"), &given);
    assert_eq!(names(&left), [1, 3, 2, 0, 4, 5]);
    let copied = moved(&rig_of("kind = \"duplication\"\nprobability = 1\nafter_us = 4.5"), &given);
    assert_eq!(names(&copied), [1, 2, 3, 4, 5, 2, 0]);
    let down = moved(&rig_of("kind = \"link-down\""), &given);
    assert_eq!(names(&down), [1, 3, 0, 4, 5]);
}

#[test]
fn copies_and_delays_have_later_due_times() {
    let copied = one("lidar", "kind = \"duplication\"\nprobability = 1\nafter_us = 2.5");
    let (left, _) = passed(&copied, LIDAR, vec![packet(1), packet(2)]);
    assert_eq!(numbers(&left), [1, 2, 1, 2]);
    assert_eq!(left[2].due, SimTime(3500));
    let keys = "kind = \"delay\"\ndelay_ms = 0.005\njitter_ms = 0.004";
    let (left, rows) = passed(&one("lidar", keys), LIDAR, (1..200).map(packet).collect());
    assert_eq!(left.len(), 199);
    let delays: Vec<_> = rows
        .iter()
        .map(|row| match row.effect {
            Effect::Delayed { by_ns } => by_ns,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(delays.iter().all(|delay| (1000..=9000).contains(delay)));
    assert!(*delays.iter().min().unwrap() < 1500 && *delays.iter().max().unwrap() > 8500);
    assert!(numbers(&left).windows(2).any(|w| w[0] > w[1]), "jitter lets packets overtake");
    // Bytes of one connection stay in order.
    let (left, _) = passed(&one("scanner", keys), SCANNER, (1..200).map(packet).collect());
    assert!(numbers(&left).windows(2).all(|w| w[0] < w[1]));
}

#[test]
fn late_bytes_of_a_line_are_overtaken_by_nothing() {
    let late = one("gnss", "kind = \"delay\"\ndelay_ms = 0.5");
    let given = vec![packet(1), packet(900), packet(1100), packet(1500)];
    let (left, _) = passed(&late, GNSS, given);
    assert_eq!(numbers(&left), [1, 900, 1100, 1500].map(|n: u64| n as u8));
    let due_us: Vec<_> = left.iter().map(|transmit| transmit.due.0 / 1000).collect();
    // The third packet has no delay of its own, but must not overtake the second.
    assert_eq!(due_us, [501, 1400, 1400, 1500]);
}

#[test]
fn a_fault_can_be_that_of_one_stream() {
    let only = one("lidar", "kind = \"packet-loss\"\nprobability = 1\nstream = \"position\"");
    assert_eq!(passed(&only, LIDAR, vec![packet(3), packet(4)]).0.len(), 2);
    let only = one("lidar", "kind = \"packet-loss\"\nprobability = 1\nstream = \"data\"");
    assert!(passed(&only, LIDAR, vec![packet(3), packet(4)]).0.is_empty());
}

#[test]
fn cut_and_flipped_packets_are_told_to_the_byte_and_bit() {
    let rig_to = one("lidar", "kind = \"truncation\"\nprobability = 1\nto_bytes = 30");
    let (left, rows) = passed(&rig_to, LIDAR, vec![packet(3)]);
    assert_eq!(left[0].output, Output::Bytes(vec![3; 30]));
    assert_eq!(rows[0].effect, Effect::Cut { to_bytes: 30 });
    let flipping = one("lidar", "kind = \"bit-errors\"\nrate = 0.01");
    let (left, rows) = passed(&flipping, LIDAR, (1..100).map(packet).collect());
    let mut flipped = vec![0u64; 100];
    for transmit in &left {
        let n = (transmit.due.0 / 1000) as usize;
        flipped[n] = transmit
            .output
            .bytes()
            .unwrap()
            .iter()
            .map(|b| u64::from((b ^ n as u8).count_ones()))
            .sum();
    }
    for row in &rows {
        let Effect::Flipped { bits } = row.effect else { panic!("{row:?}") };
        assert_eq!(flipped[row.packet.unwrap().1 as usize + 1], bits);
    }
    assert_eq!(rows.len(), flipped.iter().filter(|bits| **bits > 0).count());
    let all: u64 = flipped.iter().sum();
    assert!((650..950).contains(&all), "{all} of 79200 bits at 1 %");
}

#[test]
fn a_serial_line_loses_bytes_and_finds_its_feet_again() {
    let dropping = one("gnss", "kind = \"dropped-bytes\"\nprobability = 0.25");
    let (left, rows) = passed(&dropping, GNSS, (1..50).map(packet).collect());
    for (transmit, row) in left.iter().zip(&rows) {
        let Effect::Dropped { bytes } = row.effect else { panic!("{row:?}") };
        assert_eq!(transmit.output.bytes().unwrap().len() as u64 + bytes, 100);
    }
    let text = b"$GNGGA,120000.00,3328.27,N,08847.59,W,4,12,0.6,92.0,M,-29.9,M,1.0,0000*5E\r\n";
    let given = || vec![Transmit::bytes(SimTime(5000), text.to_vec())];
    let breaking = one("gnss", "kind = \"framing-breaks\"\nprobability = 0.03");
    let (left, rows) = passed(&breaking, GNSS, given());
    assert!(matches!(rows[0].effect, Effect::Broken { times: 1.. }));
    assert!(left[0].output.bytes().unwrap().contains(&0), "a broken byte reads as zero");
    let noisy = one("gnss", "kind = \"line-noise\"\nrate = 0.01");
    let (left, rows) = passed(&noisy, GNSS, given());
    assert!(matches!(rows[0].effect, Effect::Flipped { .. }));
    assert_ne!(left[0].output.bytes().unwrap(), text);
}

#[test]
fn a_dead_link_loses_or_keeps_as_its_kind_does() {
    let (left, rows) = passed(&one("lidar", "kind = \"link-down\""), LIDAR, vec![packet(1)]);
    assert_eq!((left.len(), rows[0].effect), (0, Effect::Lost));
    let given: Vec<_> = (1..3)
        .map(|n| {
            let Transmit { due, output, .. } = packet(n);
            let Output::Bytes(bytes) = output else { unreachable!() };
            Transmit::new(due, Output::BytesTo(PEER, bytes))
        })
        .collect();
    let (left, _) = passed(&one("scanner", "kind = \"link-down\""), SCANNER, given);
    assert_eq!(numbers(&left), [1, 2]);
    assert!(left.iter().all(|transmit| transmit.due == SimTime(1_001_000)));
}

/// Outputs that pass the faults in two runs. In the first, the last fault of the rig is known from the start. In the second,
/// this fault is started before the first output, and its end becomes known only after `end_after` outputs.
fn known_and_told(
    rig: &Rig,
    device: usize,
    given: &[Transmit],
    end_after: usize,
) -> [Vec<Transmit>; 2] {
    let fault = rig.faults.last().unwrap();
    let (open, schedule) = (
        FaultConfig { schedule: Schedule { duration_ns: None, ..fault.schedule }, ..fault.clone() },
        fault.schedule,
    );
    let mut without = rig.clone();
    without.faults.pop();
    let mut faults = WireFaults::new(&without);
    faults.add(&without, without.faults.len(), &open);
    let mut told = Vec::new();
    for (place, transmit) in given.iter().enumerate() {
        if place == end_after {
            faults.close(without.faults.len(), schedule, &mut |_, transmit| told.push(transmit));
        }
        faults.apply(DeviceId(device), transmit.clone(), &mut |transmit| told.push(transmit));
    }
    faults.finish(&mut |_, transmit| told.push(transmit));
    told.sort_by_key(|transmit| transmit.due);
    [passed(rig, device, given.to_vec()).0, told]
}

#[test]
fn a_link_whose_return_is_told_later_is_as_one_whose_return_is_known() {
    let given: Vec<_> = (0..8)
        .map(|n| {
            let output = Output::BytesTo(PEER, vec![n as u8]);
            Transmit::new(SimTime(300_000 * n), output)
        })
        .collect();
    // The link is down from 1 us on for 1 ms: the second to fourth telegrams wait.
    let rig = one("scanner", "kind = \"link-down\"");
    for end_after in 1..=4 {
        let [known, told] = known_and_told(&rig, SCANNER, &given, end_after);
        assert_eq!(numbers(&known), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(known, told, "told after {end_after}");
    }
    let [known, told] =
        known_and_told(&one("lidar", "kind = \"link-down\""), LIDAR, &[packet(1), packet(2000)], 1);
    assert_eq!((numbers(&known), numbers(&told)), (vec![208], vec![208]));
}

#[test]
fn answers_to_commands_wait_for_the_link_and_have_no_other_fault() {
    let answer = || {
        let output = Output::BytesTo(PEER, vec![1]);
        vec![Transmit::new(SimTime(1000), output)]
    };
    let (left, rows) = passed(&one("lidar", "kind = \"link-down\""), LIDAR, answer());
    assert_eq!(left[0].due, SimTime(1_001_000));
    assert_eq!(rows[0].packet, Some((Stream::Commands, 0)));
    let by_udp = one("udp-commands", "kind = \"link-down\"");
    let (left, rows) = passed(&by_udp, UDP_COMMANDS, answer());
    assert_eq!((left, rows[0].effect), (Vec::new(), Effect::Lost));
    let loss = one("lidar", "kind = \"packet-loss\"\nprobability = 1");
    let (left, rows) = passed(&loss, LIDAR, answer());
    assert_eq!((left, rows.len()), (answer(), 0));
}

#[test]
fn a_lost_time_pulse_takes_no_bytes_with_it() {
    let edge = |high, at| Transmit::new(SimTime(at), Output::PulsePerSecond(high));
    let given = vec![edge(true, 1000), packet(2), edge(false, 3000), edge(true, 2_000_000)];
    let (left, rows) = passed(&one("gnss", "kind = \"pps-loss\""), GNSS, given.clone());
    let said =
        |all: &[Transmit]| all.iter().map(|one| (one.due, one.output.clone())).collect::<Vec<_>>();
    assert_eq!(said(&left), said(&given[1..]));
    assert_eq!((rows.len(), rows[0].packet, rows[0].effect), (1, None, Effect::Lost));
}

proptest! {
    /// For every kind of fault: equal seeds give equal output, other seeds give other output, and no packet is due
    /// earlier than without the fault.
    #[test]
    fn the_seed_decides(seed in 0u64..1000, which in 0usize..6) {
        let kind = [
            "packet-loss\"\nprobability = 0.3",
            "duplication\"\nprobability = 0.3\nafter_us = 1",
            "reordering\"\nprobability = 0.3\nby_packets = 2",
            "delay\"\ndelay_ms = 0.01\njitter_ms = 0.01",
            "truncation\"\nprobability = 0.3",
            "bit-errors\"\nrate = 0.001",
        ][which];
        let rig = |seed| one("lidar", &format!("kind = \"{kind}\nseed = {seed}"));
        let given = || (0..100).map(packet).collect();
        let first = passed(&rig(seed), LIDAR, given());
        prop_assert_eq!(&first, &passed(&rig(seed), LIDAR, given()));
        prop_assert_ne!(&first, &passed(&rig(seed + 1), LIDAR, given()));
        for transmit in &first.0 {
            if let Some(&n) = transmit.output.bytes().and_then(<[u8]>::first)
                && which != 5
            {
                prop_assert!(transmit.due >= SimTime(1000 * u64::from(n)));
            }
        }
    }
}
