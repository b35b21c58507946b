use proptest::prelude::*;

use super::management::{
    CurrentDataSet, DefaultDataSet, ParentDataSet, PortDataSet, TimePropertiesDataSet, TimeStatus,
    action, id,
};
use super::*;
use crate::record::Record;

const MASTER: PortIdentity = PortIdentity { clock: [2, 0, 0, 0xff, 0xfe, 0, 0, 0xa], port: 1 };
const SLAVE: PortIdentity = PortIdentity { clock: [2, 0, 0, 0xff, 0xfe, 0, 0, 0xb], port: 1 };

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

#[test]
fn messages_of_linuxptp() {
    let at = |seconds_low, nanos| Timestamp { seconds_high: 0, seconds_low, nanos };
    let message = |source, body, flags, log_interval| Message {
        flags,
        log_interval,
        ..Message::new(0, source, 0, body)
    };
    let announce = Announce {
        origin: Timestamp::default(),
        utc_offset_s: 37,
        reserved: 0,
        priority_1: 10,
        quality: ClockQuality { class: 248, accuracy: 0xfe, variance: 0xffff },
        priority_2: 128,
        grandmaster: MASTER.clock,
        steps_removed: 0,
        time_source: 0xa0,
    };
    let arrived = Response { at: at(0x6b08_8f42, 0x2403_1e78), requester: SLAVE };
    let golden = [
        (
            "0b020040 0000 0000 0000000000000000 00000000 020000fffe00000a 0001 0000 05 01 00000000000000000000 0025 00 0a f8feffff 80 020000fffe00000a 0000 a0",
            message(MASTER, Body::Announce(announce), 0, 1),
        ),
        (
            "0002002c 0000 0200 0000000000000000 00000000 020000fffe00000a 0001 0000 00 00 00000000000000000000",
            message(MASTER, Body::Sync(Timestamp::default()), flag::TWO_STEP, 0),
        ),
        (
            "0802002c 0000 0000 0000000000000000 00000000 020000fffe00000a 0001 0000 02 00 00006b088f3d 263b3a60",
            message(MASTER, Body::FollowUp(at(0x6b08_8f3d, 0x263b_3a60)), 0, 0),
        ),
        (
            "0102002c 0000 0000 0000000000000000 00000000 020000fffe00000b 0001 0000 01 7f 00000000000000000000",
            message(SLAVE, Body::DelayReq(Timestamp::default()), 0, NO_INTERVAL),
        ),
        (
            "09020036 0000 0000 0000000000000000 00000000 020000fffe00000a 0001 0000 03 00 00006b088f42 24031e78 020000fffe00000b 0001",
            message(MASTER, Body::DelayResp(arrived), 0, 0),
        ),
    ];
    for (hex, message) in golden {
        let golden = bytes(hex);
        assert_eq!(Message::parse(&golden).as_ref(), Ok(&message));
        assert_eq!(message.to_bytes(), golden);
        let padded = [golden.as_slice(), &[0, 0]].concat();
        assert_eq!(Message::of_datagram(&padded), Ok(message));
        assert!(Message::parse(&padded).is_err());
    }
}

#[test]
fn a_request_of_pmc_and_its_answer() {
    // Request of pmc -b 1 'GET PORT_DATA_SET', as forwarded by a boundary clock.
    let request = "0d020036 0000 0000 0000000000000000 00000000 020000fffe00000a 0001 0005 04 7f ffffffffffffffff ffff 01 00 00 00 0001 0002 2004";
    let message = Message::parse(&bytes(request)).unwrap();
    let Body::Management(asked) = &message.body else { panic!("{message:?}") };
    assert_eq!((asked.action, asked.id, asked.hops), (action::GET, id::PORT, 0));
    assert_eq!(asked.target, management::ANY_PORT);
    assert_eq!(message.to_bytes(), bytes(request));
    let wrong = |at: usize, byte| {
        let mut changed = bytes(request);
        changed[at] = byte;
        Message::parse(&changed).is_err()
    };
    assert!(wrong(49, 3), "neither data nor error");
    assert!(wrong(51, 1) && wrong(51, 3), "a length that does not fit");
    assert!(wrong(1, 1), "version 1");
    assert!(wrong(0, 4), "a kind that is reserved");
}

#[test]
fn data_sets_are_as_long_as_linuxptp_has_them() {
    fn check<T: Record + PartialEq + std::fmt::Debug>(len: usize) {
        let bytes: Vec<_> = (0..len).map(|at| at as u8).collect();
        assert_eq!(T::parse(&bytes).unwrap().to_bytes(), bytes);
    }
    check::<DefaultDataSet>(20);
    check::<CurrentDataSet>(18);
    check::<ParentDataSet>(32);
    check::<TimePropertiesDataSet>(4);
    check::<PortDataSet>(26);
    check::<TimeStatus>(50);
}

#[test]
fn times_have_48_bits_of_seconds() {
    for ns in [0, 999_999_999, 1_795_751_234_123_456_789, ((1 << 48) - 1) * 1_000_000_000] {
        assert_eq!(Timestamp::of_ns(ns).ns(), ns);
    }
    assert_eq!(Timestamp::of_ns(-5).seconds_low, 0);
    assert_eq!(identity_of([2, 0, 0, 0, 0, 0xb]), SLAVE.clock);
}

proptest! {
    #[test]
    fn what_is_read_is_written_again(
        head in prop::collection::vec(any::<u8>(), 2..120),
        kind in 0u8..16,
    ) {
        let mut bytes = head;
        bytes[0] = bytes[0] & 0xf0 | kind;
        bytes[1] = bytes[1] & 0xf0 | VERSION;
        let length = bytes.len() as u16;
        if let Some(at) = bytes.get_mut(2..4) {
            at.copy_from_slice(&length.to_be_bytes());
        }
        if let Ok(message) = Message::parse(&bytes) {
            prop_assert_eq!(message.to_bytes(), bytes);
        }
    }
}
