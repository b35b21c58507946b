use proptest::prelude::*;

use super::*;
use crate::framer::Framer;
use crate::sick_lms2xx::configuration::Configuration;
use crate::sick_lms2xx::data::Unit;
use crate::sick_lms2xx::frame::{Item, Telegrams, emit};
use crate::sick_lms2xx::status_byte;
use crate::tests::hex;

fn check(bytes: &[u8], body: Body) {
    let reply = Reply { body, status: status_byte::FAMILY };
    assert_eq!(emit(0x80, &reply.emit()), bytes, "{reply:?}");
    let payload = reply.emit();
    let telegram = Item::Telegram { address: 0x80, payload: payload.clone() };
    assert_eq!(Framer::new(Telegrams::default()).frames(bytes), [telegram]);
    assert_eq!(Reply::parse(&payload).unwrap(), reply);
}

fn text(text: &str) -> [u8; 21] {
    let mut bytes = [b' '; 21];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes[20] = 0;
    bytes
}

fn values(count: usize, millimetres: u16) -> Values {
    Values {
        quarters: 0,
        is_partial: false,
        unit: Unit::Millimetres,
        values: vec![millimetres; count],
    }
}

/// `head`, then `middle` repeated, then `tail`; all in hex.
fn around(head: &str, middle: (&str, usize), tail: &str) -> Vec<u8> {
    hex(&format!("{head} {} {tail}", format!("{} ", middle.0).repeat(middle.1)))
}

#[test]
fn short_replies_are_those_that_drivers_expect() {
    let variant = |angle_deg, resolution_centideg| Body::VariantSwitched {
        accepted: true,
        variant: Variant { angle_deg, resolution_centideg },
    };
    let part = Subrange { first: 1, last: 5 };
    let five = Values { values: vec![1000, 1001, 1002, 0x1fff, 0x1ff7], ..values(0, 0) };
    for (bytes, body) in [
        ("02 80 03 00 A0 00 10 16 0A", Body::Switched(SwitchResult::Done)),
        ("02 80 03 00 A0 01 10 14 0B", Body::Switched(SwitchResult::WrongPassword)),
        ("02 80 02 00 92 10 7F 33", Body::IncorrectCommand),
        ("02 80 02 00 91 10 79 30", Body::ResetConfirmed),
        ("02 80 07 00 BB 01 B4 00 64 00 10 5B 30", variant(180, 100)),
        ("02 80 07 00 BB 01 64 00 19 00 10 BB 46", variant(100, 25)),
        ("02 80 02 00 B2 10 3F 13", Body::Errors(Vec::new())),
        (
            "02 80 17 00 BA 4C 4D 53 32 30 30 3B 33 30 31 30 36 3B 56 30 32 2E 33 30 20 00 10 2D C1",
            Body::Type { text: text("LMS200;30106;V02.30") },
        ),
        (
            "02 80 17 00 BA 4C 4D 53 32 39 31 3B 53 30 35 3B 58 30 31 2E 32 37 20 20 20 00 10 E6 CA",
            Body::Type { text: text("LMS291;S05;X01.27") },
        ),
        (
            "02 80 17 00 BA 4C 4D 53 32 39 31 3B 53 31 34 3B 58 30 31 2E 32 37 20 20 20 00 10 B6 FA",
            Body::Type { text: text("LMS291;S14;X01.27") },
        ),
        (
            "02 80 17 00 90 4C 4D 53 32 39 31 3B 53 30 35 3B 58 30 31 2E 32 37 20 20 20 00 10 A7 F5",
            Body::PowerOn { text: text("LMS291;S05;X01.27") },
        ),
        (
            "02 80 12 00 B7 01 00 05 00 05 40 E8 03 E9 03 EA 03 FF 1F F7 1F 10 FC D9",
            Body::Subrange { part, values: five, indices: None },
        ),
    ] {
        check(&hex(bytes), body);
    }
}

#[test]
fn scans_are_those_that_drivers_expect() {
    let scan = |values| Body::Scan { values, indices: None };
    for (count, head, tail) in [
        (181, "02 80 6E 01 B0 B5 40", "10 95 6D"),
        (361, "02 80 D6 02 B0 69 41", "10 55 F1"),
        (401, "02 80 26 03 B0 91 41", "10 A9 7A"),
    ] {
        check(&around(head, ("E8 03", count), tail), scan(values(count, 1000)));
    }
    let partial = Values { quarters: 2, is_partial: true, ..values(180, 1000) };
    check(&around("02 80 6C 01 B0 B4 70", ("E8 03", 180), "10 A3 4C"), scan(partial));

    let mut bytes = around("02 80 29 02 C4 B5 40", ("E8 03", 181), "B5 00 01 00 B5 00");
    bytes.extend(around("", ("64", 181), "10 23 71"));
    let part = Subrange { first: 1, last: 181 };
    let reflectivity = vec![100; 181];
    check(
        &bytes,
        Body::Reflectivity { values: values(181, 1000), part, reflectivity, indices: None },
    );
}

#[test]
fn configurations_are_those_that_drivers_expect() {
    let block = Configuration::default().with_measuring(0, 1);
    assert_eq!((block.unit(), block.measuring_mode(), block.sends_indices()), (1, 0, false));
    let configuration = block.bytes().to_vec();
    let zeros = ("00", 21);
    check(
        &around("02 80 24 00 F4 00 00 00 00 00 00 01 00 00 02 02", zeros, "02 00 10 F6 9D"),
        Body::Configuration(configuration.clone()),
    );
    check(
        &around("02 80 25 00 F7 01 00 00 00 00 00 00 01 00 00 02 02", zeros, "02 00 10 0F 1C"),
        Body::Configured { accepted: true, configuration },
    );
}

#[test]
fn the_state_is_what_drivers_expect() {
    let state = State {
        software_version: *b"X01.27 ",
        operating_mode: 0x25,
        manufacturer: *b"SICK AG\0",
        motor_revolutions: 4500,
        angle_deg: 180,
        resolution_centideg: 100,
        restart_mode: 2,
        line_rate_word: 0x8019,
        evaluation_number: 1,
        field_set: 1,
        unit: 1,
        boot_version: *b"X01.27 ",
        ..State::default()
    };
    let telegram = emit(0x80, &Reply { body: Body::Status(Box::new(state)), status: 0x10 }.emit());
    assert_eq!(telegram.len(), 160);
    assert_eq!(telegram[..6], [0x02, 0x80, 0x9a, 0x00, 0xb1, b'X']);
    assert_eq!(telegram[157..], [0x10, 0x2c, 0xaf]);
}

#[test]
fn the_remission_stream_has_pairs() {
    let info = ScanInfo { count: 2, quarters: 0, is_partial: false, unit: Unit::Centimetres };
    let part = Subrange { first: 3, last: 4 };
    let parts = vec![RemissionPart { part, info, values: vec![[100, 7], [200, 8]] }];
    let bytes = Reply { body: Body::Remission(parts), status: 0x10 }.emit();
    let expected = "F5 01 00 03 00 04 00 02 00 64 00 07 00 C8 00 08 00 10";
    assert_eq!(bytes, hex(expected));
}

proptest! {
    #[test]
    fn what_is_accepted_comes_back(
        code in prop_oneof![Just(0xb0u8), Just(0xb6), Just(0xb7), Just(0xbf), Just(0xc4), Just(0xf5), any::<u8>()],
        data in proptest::collection::vec(prop_oneof![0u8..3, any::<u8>()], 0..64),
    ) {
        let payload = [&[code], &data[..]].concat();
        if let Ok(reply) = Reply::parse(&payload) {
            prop_assert_eq!(reply.emit(), payload);
        }
    }

    #[test]
    fn scans_come_back(
        ranges in proptest::collection::vec(any::<u16>(), 0..402),
        quarters in 0u8..4,
        is_partial: bool,
        indices in proptest::option::of(any::<[u8; 2]>()),
    ) {
        let unit = Unit::Centimetres;
        let values = Values { quarters, is_partial, unit, values: ranges };
        let indices = indices.map(|[scan, telegram]| Indices { scan, telegram });
        let part = Subrange { first: 1, last: 2 };
        let reflectivity = vec![1, 2];
        for body in [
            Body::Scan { values: values.clone(), indices },
            Body::Mean { scans: 3, values: values.clone(), indices },
            Body::Subrange { part, values: values.clone(), indices },
            Body::MeanSubrange { scans: 3, part, values: values.clone(), indices },
            Body::Reflectivity { values: values.clone(), part, reflectivity, indices },
        ] {
            let reply = Reply { body, status: 0x10 };
            prop_assert_eq!(Reply::parse(&reply.emit()).unwrap(), reply);
        }
    }
}
