//! Tests of addresses: FORCEIP, the persistent address, and restarts.

use super::*;

const HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const MASK: [u8; 4] = [255, 0, 0, 0];

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.camera.set_address(HERE);
    bench
}

fn payload(mac: [u8; 6], ip: [u8; 4], mask: [u8; 4], gateway: [u8; 4]) -> [u8; 56] {
    let mut payload = [0; 56];
    payload[2..8].copy_from_slice(&mac);
    payload[20..24].copy_from_slice(&ip);
    payload[36..40].copy_from_slice(&mask);
    payload[52..].copy_from_slice(&gateway);
    payload
}

impl Bench {
    /// Sends FORCEIP; returns the status of the answer, or `None` if the camera does not answer at once.
    fn force(&mut self, ip: [u8; 4], mask: [u8; 4]) -> Option<u16> {
        self.id += 1;
        let payload = payload(self.camera.mac, ip, mask, [0; 4]);
        let answer = self.tell(2, self.id, command::FORCE_IP, &payload)?;
        Some(u16::from_be_bytes([answer[0], answer[1]]))
    }

    /// Reports to the camera whether the link moves to the address `ip`; returns the camera's answer to the host, if it
    /// sends one.
    fn link_says(&mut self, ip: [u8; 4], moves: bool) -> Option<Vec<u8>> {
        self.camera.handle_address(SimTime(self.now), ip.into(), moves);
        let mut answer = None;
        self.drain(&mut answer);
        answer
    }

    fn where_it_is(&mut self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.read(0x24))
    }

    /// Sends DeviceReset from the controlling host, and waits for the restart.
    fn reset(&mut self) {
        self.write(0x0a00, 2);
        self.write(at::RESET, 1);
        self.run_ms(self.camera.profile.timing.boot_ns / 1_000_000 + 1);
    }
}

#[test]
fn a_forced_address_is_taken_when_the_link_has_it() {
    let mut bench = bench();
    assert_eq!(bench.force([127, 0, 0, 3], MASK), None, "the answer waits for the link");
    assert_eq!(bench.asked, [Ipv4Addr::new(127, 0, 0, 3)]);
    assert_eq!(bench.where_it_is(), HERE);
    // A repeated command is not executed again; another host has to wait.
    let id = bench.id - 1;
    let asked = payload(bench.camera.mac, [127, 0, 0, 3], MASK, [0; 4]);
    assert_eq!(bench.tell(2, id, command::FORCE_IP, &asked), None);
    assert_eq!(bench.force([127, 0, 0, 4], MASK), Some(status::BUSY));
    assert_eq!(bench.write_as(2, 0x0a00, 2), status::BUSY, "nobody takes control of it");
    let answer = bench.link_says([127, 0, 0, 3], true).expect("it is answered now");
    assert_eq!(answer, ack_of(status::SUCCESS, id));
    assert_eq!(bench.tell(2, id, command::FORCE_IP, &asked), Some(answer));
    assert_eq!(bench.asked.len(), 1);
    assert_eq!(bench.where_it_is(), Ipv4Addr::new(127, 0, 0, 3));
    assert_eq!(bench.read(0x34), 0xff00_0000);
    // The answer to DISCOVERY has the unchanged MAC address and the new IP address.
    let (_, found) = bench.say_as(3, command::DISCOVERY, &[]);
    assert_eq!(
        (&found[0xa..0x10], &found[0x24..0x28]),
        (&bench.camera.mac[..], &[127, 0, 0, 3][..])
    );
    // A host takes control at the new address and starts the stream.
    bench.open();
    bench.write(at::START, 1);
    bench.run_ms(200);
    assert!(!bench.leaders().is_empty());
    assert_eq!(bench.force([127, 0, 0, 5], MASK), Some(status::ACCESS_DENIED));
}

fn ack_of(status: u16, id: u16) -> Vec<u8> {
    [status, command::FORCE_IP + 1, 0, id].iter().flat_map(|half| half.to_be_bytes()).collect()
}

#[test]
fn an_address_that_the_link_does_not_have_is_refused() {
    let mut bench = bench();
    assert_eq!(bench.force([10, 0, 0, 3], [255, 255, 255, 0]), None);
    let id = bench.id;
    let answer = bench.link_says([10, 0, 0, 3], false);
    assert_eq!(answer, Some(ack_of(status::INVALID_PARAMETER, id)));
    assert_eq!(bench.where_it_is(), HERE);
    // The link does not answer.
    assert_eq!(bench.force([10, 0, 0, 4], [255, 255, 255, 0]), None);
    bench.run_ms(61_001);
    assert_eq!(bench.force([127, 0, 0, 2], MASK), Some(status::SUCCESS), "it is free again");
    // The link moves too late for an answer to the host, but the camera still takes the address.
    assert_eq!(bench.link_says([10, 0, 0, 4], true), None);
    assert_eq!(bench.where_it_is(), Ipv4Addr::new(10, 0, 0, 4));
}

#[test]
fn hostile_moves_are_ignored_or_refused() {
    let mut bench = bench();
    let mut other = bench.camera.mac;
    other[5] ^= 1;
    let payload = payload(other, [127, 0, 0, 3], MASK, [0; 4]);
    assert_eq!(bench.tell(2, 900, command::FORCE_IP, &payload), None, "it is for another unit");
    for length in [0, 8, 55] {
        let (status, _) = bench.say_as(2, command::FORCE_IP, &payload[..length]);
        assert_eq!(status, status::INVALID_HEADER);
    }
    for (ip, mask) in [
        ([224, 0, 0, 1], MASK),
        ([239, 192, 0, 1], MASK),
        ([240, 0, 0, 1], MASK),
        ([255, 255, 255, 255], MASK),
        ([0, 0, 0, 1], MASK),
        ([127, 255, 255, 255], MASK),
        ([127, 0, 0, 0], MASK),
        ([192, 168, 1, 255], [255, 255, 255, 0]),
        ([192, 168, 1, 5], [255, 0, 255, 0]),
        ([192, 168, 1, 5], [0; 4]),
    ] {
        assert_eq!(bench.force(ip, mask), Some(status::INVALID_PARAMETER), "{ip:?} {mask:?}");
    }
    let mac = bench.camera.mac;
    let payload = self::payload(mac, [127, 0, 0, 3], MASK, [224, 0, 0, 1]);
    let (status, _) = bench.say_as(2, command::FORCE_IP, &payload);
    assert_eq!(status, status::INVALID_PARAMETER, "the gateway is a multicast address");
    bench.write(0x0a00, 2);
    assert_eq!(bench.force([127, 0, 0, 3], MASK), Some(status::ACCESS_DENIED));
    assert_eq!((bench.where_it_is(), bench.asked.len()), (HERE, 0));
}

#[test]
fn a_persistent_address_is_taken_at_a_restart() {
    let mut bench = bench();
    bench.write(0x0a00, 2);
    for (address, value) in
        [(0x064c, 0x7f00_0007), (0x065c, 0xffff_0000), (0x066c, 0x7f00_0001), (0x0014, 5)]
    {
        bench.write(address, value);
        assert_eq!(bench.read(address), value, "{address:#x}");
    }
    for (address, value) in [
        (0x064c, 0xe000_0001),
        (0x064c, u32::MAX),
        (0x065c, 0xff00_ff00),
        (0x066c, 0xe000_0001),
        (0x0014, 7),
        (0x0014, 1),
        (0x0014, 0x8000_0005),
    ] {
        let status = bench.write_as(1, address, value);
        assert_eq!(status, status::INVALID_PARAMETER, "{address:#x} {value:#x}");
    }
    assert_eq!((bench.where_it_is(), bench.asked.len()), (HERE, 0), "only at a restart");
    bench.reset();
    assert_eq!(bench.asked, [Ipv4Addr::new(127, 0, 0, 7)]);
    assert_eq!(bench.link_says([127, 0, 0, 7], true), None, "no host waits");
    let now = [0x24, 0x34, 0x44].map(|address| bench.read(address));
    assert_eq!(now, [0x7f00_0007, 0xffff_0000, 0x7f00_0001]);
    // A forced address lasts until the next restart, including a restart by FORCEIP to 0.0.0.0.
    bench.force([127, 0, 0, 8], MASK);
    bench.link_says([127, 0, 0, 8], true);
    assert_eq!(bench.where_it_is(), Ipv4Addr::new(127, 0, 0, 8));
    assert_eq!(bench.force([0; 4], [0; 4]), None);
    assert_eq!(bench.asked.last(), Some(&Ipv4Addr::new(127, 0, 0, 7)));
    assert!(bench.link_says([127, 0, 0, 7], true).is_some());
    // Without a persistent address: link-local, unless the link refuses it.
    bench.write(0x0a00, 2);
    bench.write(0x0014, 4);
    bench.reset();
    let link_local = bench.asked.last().unwrap().octets();
    assert_eq!((link_local[..2].to_vec(), link_local[3]), (vec![169, 254], bench.camera.mac[5]));
    assert_eq!(bench.link_says(link_local, false), None);
    assert_eq!(bench.where_it_is(), Ipv4Addr::new(127, 0, 0, 7));
    assert_eq!(bench.read(0x0014), 4);
}
