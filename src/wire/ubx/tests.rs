use proptest::prelude::*;

use super::cfg::*;
use super::mon::*;
use super::nav::*;
use super::*;
use crate::tests::hex as bytes;

/// Frames from the interface description, with their checksums.
const GOLDEN: &[&str] = &[
    "B5 62 01 07 5C 00 98 EA ED 20 EA 07 0B 15 09 1B 19 37 16 00 00 00 88 FF FF FF 03 01 EA 0C AA F4 \
     1A 05 6C 27 2F 1C 10 5B 08 00 90 9F 07 00 B0 04 00 00 08 07 00 00 00 00 00 00 DA 05 00 00 00 00 \
     00 00 DA 05 00 00 40 54 89 00 3C 00 00 00 E0 93 04 00 69 00 00 00 00 00 00 00 00 00 00 00 00 00 \
     00 00 0B 4E",
    "B5 62 01 03 10 00 98 EA ED 20 03 0D 00 08 84 67 00 00 02 D0 02 00 7A A1",
    "B5 62 01 04 12 00 98 EA ED 20 78 00 69 00 3A 00 53 00 40 00 2D 00 2E 00 AF A4",
    "B5 62 01 14 24 00 00 00 00 00 98 EA ED 20 AA F4 1A 05 6C 27 2F 1C 10 5B 08 00 90 9F 07 00 0C F9 \
     03 03 E0 2E 00 00 50 46 00 00 BB C8",
    "B5 62 01 61 04 00 98 EA ED 20 F5 DF",
    "B5 62 0D 01 10 00 80 EE ED 20 00 00 00 00 D0 F3 FF FF 8D 09 03 30 23 5E",
    "B5 62 05 01 02 00 06 08 16 3F",
    "B5 62 05 00 02 00 06 00 0D 32",
    "B5 62 06 00 14 00 01 00 00 00 D0 08 00 00 00 96 00 00 23 00 23 00 00 00 00 00 CF 30",
    "B5 62 06 01 03 00 01 07 01 13 51",
    "B5 62 06 08 06 00 FA 00 01 00 01 00 10 96",
    "B5 62 06 8A 0A 00 00 01 00 00 01 00 21 30 64 00 51 B9",
    "B5 62 06 8B 08 00 00 00 00 00 01 00 21 30 EB 07",
    "B5 62 06 8B 0A 00 01 00 00 00 01 00 21 30 64 00 52 C7",
];

fn message(hex: &str) -> Message {
    Message::from_frame(&Frame::parse(&bytes(hex)).unwrap()).unwrap().unwrap()
}

#[test]
fn golden_frames_survive_with_their_meaning() {
    for hex in GOLDEN {
        assert_eq!(message(hex).to_frame().to_bytes(), bytes(hex), "{hex}");
    }
}

#[test]
fn meaning_is_right() {
    let Message::NavPvt(pvt) = message(GOLDEN[0]) else { panic!() };
    assert_eq!((pvt.year, pvt.month, pvt.day), (2026, 11, 21));
    assert_eq!((pvt.lat_1e7_deg, pvt.lon_1e7_deg), (472_852_332, 85_652_650));
    assert_eq!((pvt.height_mm, pvt.h_msl_mm, pvt.vel_ned_mm_s), (547_600, 499_600, [0, 1498, 0]));
    assert_eq!((pvt.fix_type, pvt.num_sv, pvt.p_dop_centi), (3, 12, 105));
    let Message::CfgValset(set) = message(GOLDEN[11]) else { panic!() };
    assert_eq!(set.items, [Item { key: Key(0x3021_0001), value: 100 }]);
    let Message::CfgMsg(msg) = message(GOLDEN[9]) else { panic!() };
    assert_eq!(msg, CfgMsg::ThisPort(NavPvt::ID, 1));
}

#[test]
fn a_zed_f9p_tells_its_versions_in_220_bytes() {
    let ver = MonVer::new(
        "EXT CORE 1.00 (f10c36)",
        "00190000",
        [
            "ROM BASE 0x118B2060",
            "FWVER=HPG 1.13",
            "PROTVER=27.12",
            "MOD=ZED-F9P",
            "GPS;GLO;GAL;BDS",
            "SBAS;QZSS",
        ],
    );
    let frame = ver.to_frame().to_bytes();
    assert_eq!(frame[..6], [0xb5, 0x62, 0x0a, 0x04, 0xdc, 0x00]);
    assert_eq!(frame[frame.len() - 2..], [0xf3, 0xb0]);
}

#[test]
fn polls_and_wrong_lengths_are_not_messages() {
    for (id, length) in [(NavPvt::ID, 91), (NavPvt::ID, 0), (CfgPrt::ID, 1), (MonVer::ID, 41)] {
        let frame = Frame::new(id, vec![0; length]);
        assert!(Message::from_frame(&frame).unwrap().is_err(), "{id} {length}");
    }
    let rows = Frame::new(NavSat::ID, vec![0, 0, 0, 0, 1, 2, 0, 0, 1, 2, 3]);
    assert!(Message::from_frame(&rows).unwrap().is_err());
    assert!(Message::from_frame(&Frame::new(MessageId::new(0x99, 1), vec![])).is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes: Vec<u8>) {
        if let Ok(frame) = Frame::parse(&bytes) {
            prop_assert_eq!(frame.to_bytes(), bytes);
        }
    }

    #[test]
    fn any_payload_of_any_message_is_answered_and_comes_back(
        index in 0..34_usize,
        payload in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let ids: Vec<MessageId> = (0..=u16::MAX)
            .map(|both| MessageId::new((both >> 8) as u8, both as u8))
            .filter(|id| matches!(id.class, 1 | 5 | 6 | 10 | 13) && name(*id).is_some())
            .collect();
        let frame = Frame::new(ids[index % ids.len()], payload);
        if let Some(Ok(message)) = Message::from_frame(&frame) {
            prop_assert_eq!(message.to_frame(), frame);
        }
    }

    #[test]
    fn fixed_messages_keep_every_byte(payload in prop::collection::vec(any::<u8>(), 92)) {
        for (id, length) in [
            (NavPvt::ID, 92), (NavCov::ID, 64), (NavRelposned::ID, 64), (NavSol::ID, 52),
            (NavHpposllh::ID, 36), (NavTimels::ID, 24), (CfgNav5::ID, 36), (CfgTp5::ID, 32),
        ] {
            let frame = Frame::new(id, payload[..length].to_vec());
            let message = Message::from_frame(&frame).unwrap().unwrap();
            prop_assert_eq!(message.to_frame(), frame);
        }
    }

    #[test]
    fn items_survive(values in prop::collection::vec((1..=5_u32, any::<u16>(), any::<u64>()), 0..64)) {
        let items: Vec<Item> = values.into_iter().map(|(size, id, value)| {
            let key = Key(size << 28 | 0x21 << 16 | u32::from(id));
            let bits = key.value_len().unwrap() * 8;
            Item { key, value: value & (u64::MAX >> (64 - bits)) }
        }).collect();
        let set = CfgValset { layers: 1, items, ..CfgValset::default() };
        let frame = set.to_frame();
        prop_assert_eq!(CfgValset::parse(&frame.payload).unwrap(), set);
    }
}
