//! Messages that drivers send in the first second, byte for byte, and the product's answers.

use super::*;
use crate::wire::ubx::mon_more::{MonGnss, MonPatch, SecUniqid};
use crate::wire::ubx::nav::NavSvin;
use crate::wire::ubx::nav_more::NavGeofence;
use crate::wire::ubx::rxm::RxmRtcm;

const M8N: &str = "ublox-m8n";
const HPG_1_32: &str = "ublox-zed-f9p-hpg1.32";

fn bench(name: &str) -> Bench {
    let mut bench = Bench::new(name, |settings| settings.baud = 115_200);
    bench.run(0.5);
    bench
}

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

fn takes(bench: &mut Bench, class: u8, id: u8, payload: &str) -> bool {
    let frame = Frame::new(MessageId::new(class, id), hex(payload));
    is_ack(&bench.ask_frame(&frame), frame.id)
}

fn answer(bench: &mut Bench, class: u8, id: u8) -> Vec<u8> {
    let frame = Frame::new(MessageId::new(class, id), Vec::new());
    let frames = bench.ask_frame(&frame);
    let answer = frames.into_iter().find(|answer| answer.id == frame.id);
    answer.unwrap_or_else(|| panic!("no answer to {}", frame.id)).payload
}

/// Sends a complete frame of a driver; returns whether it was acknowledged.
fn takes_frame(bench: &mut Bench, frame: &str) -> bool {
    let frame = Frame::parse(&hex(frame)).unwrap();
    is_ack(&bench.ask_frame(&frame), frame.id)
}

#[test]
fn rates_of_messages_that_do_not_come_are_kept() {
    const RXM_RTCM: &str = "b5 62 06 8a 09 00 00 01 00 00 69 02 91 20 01 b7 3a";
    for name in [F9P, HPG_1_32] {
        let mut bench = bench(name);
        assert!(takes_frame(&mut bench, RXM_RTCM), "{name}");
        assert_eq!(bench.device.store.get(Key(0x2091_0269)), 1);
        // Menura does not send RXM-MEASX, but its rate can be set.
        assert!(is_ack(&bench.ask(&valset(&[item(Key(0x2091_0205), 1)])), CfgValset::ID));
        bench.sent.clear();
        bench.run(2.0);
        assert!(!bench.frames().iter().any(|frame| frame.id.class == 0x02), "{name}");
        // Message 1005 of station 2003, from the standard.
        let rtcm = "d3 00 13 3e d7 d3 02 02 98 0e de ef 34 b4 bd 62 ac 09 41 98 6f 33 36 0b 98";
        bench.sent.clear();
        bench.say(&hex(rtcm));
        bench.run(0.2);
        let frames = bench.frames();
        let told = frames.iter().find(|frame| frame.id == RxmRtcm::ID).unwrap();
        let told = RxmRtcm::parse(&told.payload).unwrap();
        assert_eq!((told.version, told.message, told.station), (2, 1005, 2003), "{name}");
    }
}

#[test]
fn transactions_start_go_on_and_apply() {
    let mut bench = bench(F9P);
    let start = "b5 62 06 8a 0a 00 01 01 01 00 01 00 21 30 c8 00 b7 93";
    assert!(takes_frame(&mut bench, start), "start");
    let period = |bench: &Bench| bench.device.store.get(Key(0x3021_0001));
    assert_eq!(period(&bench), 1000, "nothing is applied before the end");
    let step = |transaction, layers, items: &[Item]| CfgValset {
        version: 1,
        layers,
        transaction,
        reserved1: 0,
        items: items.to_vec(),
    };
    let rate = item(Key(0x3021_0001), 250);
    assert!(is_ack(&bench.ask(&step(2, 1, &[rate])), CfgValset::ID), "goes on");
    assert!(is_ack(&bench.ask(&step(3, 1, &[])), CfgValset::ID), "applies");
    assert_eq!(period(&bench), 250);
    // A step without a start, another layer, an unknown key, another CFG message: each discards the transaction.
    assert!(!is_ack(&bench.ask(&step(3, 1, &[])), CfgValset::ID));
    let slow = item(Key(0x3021_0001), 500);
    let mut spoil = |say: &dyn Fn(&mut Bench)| {
        assert!(is_ack(&bench.ask(&step(1, 1, &[slow])), CfgValset::ID));
        say(&mut bench);
        assert!(!is_ack(&bench.ask(&step(3, 1, &[])), CfgValset::ID));
        assert_eq!(bench.device.store.get(Key(0x3021_0001)), 250);
    };
    spoil(&|bench| assert!(!is_ack(&bench.ask(&step(2, 2, &[slow])), CfgValset::ID)));
    spoil(&|bench| {
        let unknown = item(Key(0x3021_7777), 1);
        assert!(!is_ack(&bench.ask(&step(2, 1, &[unknown])), CfgValset::ID));
    });
    spoil(&|bench| drop(answer(bench, 0x06, 0x08)));
    // A forbidden value is refused only when the transaction is applied.
    let wild = item(Key(0x2011_0021), 99);
    assert!(is_ack(&bench.ask(&step(1, 1, &[wild, slow])), CfgValset::ID));
    assert!(!is_ack(&bench.ask(&step(3, 1, &[])), CfgValset::ID));
    assert_eq!(period(&bench), 250);
    // Items to be removed are also removed only when the transaction is applied.
    assert!(is_ack(&bench.ask(&step(0, 6, &[slow])), CfgValset::ID));
    let forget = |transaction, keys: &[Key]| CfgValdel {
        version: 1,
        layers: 6,
        transaction,
        reserved1: 0,
        keys: keys.to_vec(),
    };
    assert!(is_ack(&bench.ask(&forget(1, &[slow.key])), CfgValdel::ID));
    let asked = CfgValget::Request { layer: 2, position: 0, keys: vec![slow.key] };
    assert!(is_ack(&bench.ask(&asked), CfgValget::ID));
    assert!(!is_ack(&bench.ask(&forget(3, &[])), CfgValdel::ID), "CFG-VALGET has ended it");
    assert!(is_ack(&bench.ask(&forget(1, &[slow.key])), CfgValdel::ID));
    assert!(is_ack(&bench.ask(&forget(3, &[])), CfgValdel::ID));
    assert!(!is_ack(&bench.ask(&asked), CfgValget::ID));
}

#[test]
fn one_system_stays_on() {
    let mut bench = bench(HPG_1_32);
    let ena = [0x1f, 0x21, 0x22, 0x25].map(|n| item(Key(0x1031_0000 + n), 0));
    assert!(!is_ack(&bench.ask(&valset(&ena)), CfgValset::ID));
    assert!(is_ack(&bench.ask(&valset(&ena[1..])), CfgValset::ID));
    // The first signal of the last system cannot be disabled.
    assert!(!is_ack(&bench.ask(&valset(&[item(Key(0x1031_0001), 0)])), CfgValset::ID));
    let none = "00 00 3c 01 00 08 10 00 00 00 11 11";
    assert!(!takes(&mut bench, 0x06, 0x3e, none));
}

#[test]
fn an_m8n_takes_several_ports_at_once() {
    let mut bench = Bench::new(M8N, |_| {});
    bench.run(1.5);
    let ports = "b5 62 06 00 28 00 01 00 00 00 d0 08 00 00 80 25 00 00 21 00 03 00 00 00 00 00 \
                 03 00 00 00 d0 08 00 00 80 25 00 00 21 00 03 00 00 00 00 00 74 e2";
    assert!(takes_frame(&mut bench, ports));
    assert!(bench.device.store.is_set(Key(0x1078_0001)));
    // One invalid block invalidates the whole message.
    let bad = "01 00 00 00 d0 08 00 00 80 25 00 00 07 00 00 00 00 00 00 00 \
               09 00 00 00 d0 08 00 00 80 25 00 00 07 00 03 00 00 00 00 00";
    assert!(!takes(&mut bench, 0x06, 0x00, bad));
    assert!(bench.device.store.is_set(Key(0x1074_0001)));
    // Fields of a port other than protocols are read back.
    let i2c = "00 00 99 00 86 00 00 00 00 00 00 00 07 00 03 00 02 00 00 00";
    assert!(takes(&mut bench, 0x06, 0x00, i2c));
    let frames = bench.ask_frame(&Frame::new(CfgPrt::ID, vec![0]));
    assert!(frames.contains(&Frame::new(CfgPrt::ID, hex(i2c))), "{frames:?}");
}

/// Settings that no item has are lost at a reset if they are not saved, and CFG-CFG clears and loads them.
#[test]
fn older_messages_are_saved_and_cleared_like_items() {
    let mut bench = Bench::new(M8N, |settings| {
        settings.sentences = Vec::new();
        settings.baud = 115_200;
    });
    bench.run(0.5);
    let ids = [0x00, 0x11, 0x34, 0x3b];
    let all = |bench: &mut Bench| ids.map(|id| answer(bench, 0x06, id));
    let set = [
        "01 00 05 02 d0 08 00 00 00 c2 01 00 07 00 03 00 02 00 00 00".to_owned(),
        "08 01".to_owned(),
        "00 4d 65 6e 75 72 61".to_owned(),
        format!("02 06 00 00 0e 90 42 01 88 13 00 00 10 27 00 00 {}", "00 ".repeat(32)),
    ];
    let set_all = |bench: &mut Bench| {
        for (id, payload) in ids.iter().zip(&set) {
            assert!(takes(bench, 0x06, *id, payload), "{id:02x}");
        }
        assert_eq!(all(bench), set.each_ref().map(|payload| hex(payload)));
    };
    let reset = |bench: &mut Bench| {
        bench.say(&Frame::new(CfgRst::ID, hex("00 00 01 00")).to_bytes());
        bench.run(0.5);
    };
    let factory = all(&mut bench);
    set_all(&mut bench);
    reset(&mut bench);
    assert_eq!(all(&mut bench), factory, "lost");
    set_all(&mut bench);
    assert!(takes(&mut bench, 0x06, 0x09, "00 00 00 00 ff ff 00 00 00 00 00 00"));
    reset(&mut bench);
    assert_eq!(all(&mut bench), set.each_ref().map(|payload| hex(payload)), "saved");
    assert!(takes(&mut bench, 0x06, 0x09, "ff ff 00 00 00 00 00 00 ff ff 00 00"));
    // The port has the factory's baud rate, not that of the rig.
    let (now, expected) = (all(&mut bench), factory);
    assert_eq!((&now[0][..8], &now[0][12..]), (&expected[0][..8], &expected[0][12..]));
    assert_eq!(now[1..], expected[1..], "cleared");
}

/// A field without its mask bit stays as it is, also if the receiver only stores it.
#[test]
fn masks_select_stored_fields() {
    let mut bench = bench(M8N);
    for (mask, limit_s) in [("01", 0), ("08", 9)] {
        // Dynamic model 4; limit of dead reckoning 9 s.
        let nav5 = format!("{mask} 00 04 02 {} 09 {}", "00 ".repeat(9), "00 ".repeat(22));
        assert!(takes(&mut bench, 0x06, 0x24, &nav5));
        assert_eq!(answer(&mut bench, 0x06, 0x24)[13], limit_s, "{mask}");
    }
    // AssistNow Autonomous is in the first mask, the compensation of attenuation in the second.
    for (masks, stored) in [("08 00 00", [0_u8, 0]), ("00 40 00", [0, 1]), ("00 00 80", [2, 1])] {
        let navx5 = format!(
            "02 00 {masks} 00 00 00 {} 02 {} 01 {}",
            "00 ".repeat(12),
            "00 ".repeat(6),
            "00 ".repeat(12)
        );
        assert!(takes(&mut bench, 0x06, 0x23, &navx5));
        let told = answer(&mut bench, 0x06, 0x23);
        assert_eq!([told[20], told[27]], stored, "{masks}");
    }
}

#[test]
fn the_channels_of_cfg_gnss_follow_the_manual() {
    let m8n = "00 20 20 07 00 08 10 00 01 00 01 01 01 01 03 00 01 00 01 01 02 04 08 00 00 00 01 01 \
               03 08 10 00 00 00 01 01 04 00 08 00 00 00 00 03 05 00 03 00 01 00 01 05 \
               06 08 0e 00 01 00 01 01";
    let mut bench = bench(M8N);
    assert_eq!(answer(&mut bench, 0x06, 0x3e), hex(m8n));
    for refused in [
        // No system on; three channels for GPS; 99 channels used of 32; a system on without a signal.
        "00 20 20 02 00 08 10 00 00 00 01 01 06 08 0e 00 00 00 01 01",
        "00 20 20 01 00 03 03 00 01 00 01 01",
        "00 20 63 01 00 08 10 00 01 00 01 01",
        "00 20 20 01 00 08 10 00 01 00 00 01",
        // 33 channels reserved; GPS, GLONASS and BeiDou at once; an unknown system.
        "00 20 20 01 00 19 20 00 01 00 01 01",
        "00 20 20 01 03 02 10 00 01 00 01 01",
        "00 20 20 01 07 02 10 00 01 00 01 01",
    ] {
        assert!(!takes(&mut bench, 0x06, 0x3e, refused), "{refused}");
        assert_eq!(answer(&mut bench, 0x06, 0x3e), hex(m8n), "{refused}");
    }
    let galileo = "00 20 20 07 00 08 10 00 01 00 01 01 01 01 03 00 01 00 01 01 02 04 08 00 01 00 01 \
                   01 03 08 10 00 00 00 01 01 04 00 08 00 00 00 01 03 05 00 03 00 00 00 01 05 06 08 \
                   0e 00 01 00 01 01";
    assert!(takes(&mut bench, 0x06, 0x3e, galileo));
    let reserved = answer(&mut bench, 0x06, 0x3e);
    assert_eq!((reserved[3], reserved[4 + 16], reserved[4 + 20]), (7, 2, 1));
    // Saved channels survive a restart.
    let few = "00 20 1c 01 00 06 0c 00 01 00 01 01";
    assert!(takes(&mut bench, 0x06, 0x3e, few));
    assert!(takes(&mut bench, 0x06, 0x09, "00 00 00 00 ff ff 00 00 00 00 00 00"));
    bench.say(&Frame::new(CfgRst::ID, hex("00 00 01 00")).to_bytes());
    bench.run(0.5);
    assert_eq!(answer(&mut bench, 0x06, 0x3e)[2..7], [0x1c, 7, 0, 6, 12]);

    let f9p = "00 3c 3c 06 00 08 10 00 01 00 11 11 01 03 03 00 01 00 01 01 02 0a 12 00 01 00 21 21 \
               03 02 05 00 01 00 11 11 05 00 04 00 01 00 11 15 06 08 0c 00 01 00 11 11";
    let mut bench = super::conversation::bench(HPG_1_32);
    assert_eq!(answer(&mut bench, 0x06, 0x3e), hex(f9p));
    assert!(takes(&mut bench, 0x06, 0x3e, f9p));
}

#[test]
fn an_m8n_says_who_it_is_and_what_it_has() {
    let mut bench = bench(M8N);
    let gnss = MonGnss::parse(&answer(&mut bench, 0x0a, 0x28)).unwrap();
    assert_eq!((gnss.supported, gnss.factory, gnss.enabled, gnss.simultaneous), (15, 3, 3, 3));
    assert_eq!(MonPatch::parse(&answer(&mut bench, 0x0a, 0x27)).unwrap().count, 0);
    assert_eq!(SecUniqid::parse(&answer(&mut bench, 0x27, 0x03)).unwrap().id.len(), 5);
    let datum = answer(&mut bench, 0x06, 0x06);
    assert_eq!((datum.len(), &datum[..7]), (52, &b"\0\0WGS84"[..]));
    assert_eq!(answer(&mut bench, 0x06, 0x34), b"\0Notice: no data saved!");
    // The older, shorter message leaves the missing fields unchanged.
    let before = answer(&mut bench, 0x06, 0x3b);
    let short = format!("01 06 00 00 0e 90 40 01 {}", "11 ".repeat(36));
    assert!(takes(&mut bench, 0x06, 0x3b, &short));
    let after = answer(&mut bench, 0x06, 0x3b);
    assert_eq!((after.len(), after[0], after[47]), (48, 2, before[47]));
    assert_eq!(after[8..44], [0x11; 36]);
}

#[test]
fn power_is_off_until_something_comes() {
    let mut bench = bench(M8N);
    bench.run(4.0);
    assert!(takes(&mut bench, 0x06, 0x57, "01 00 00 00 50 4f 54 53"));
    let epochs = |bench: &mut Bench| {
        bench.sent.clear();
        bench.run(2.5);
        bench.count("GNRMC") + bench.count("GPRMC")
    };
    assert_eq!(epochs(&mut bench), 0, "stopped");
    assert!(takes(&mut bench, 0x06, 0x57, "01 00 00 00 20 4e 55 52"));
    assert!(epochs(&mut bench) >= 2);
    let sleep = Frame::new(MessageId::new(0x02, 0x41), hex("b8 0b 00 00 02 00 00 00"));
    bench.say(&sleep.to_bytes());
    bench.run(0.5);
    assert_eq!(epochs(&mut bench), 0, "in backup");
    assert!(epochs(&mut bench) >= 1, "after three seconds");
    bench.say(&Frame::new(MessageId::new(0x02, 0x41), hex("00 00 00 00 02 00 00 00")).to_bytes());
    bench.run(0.5);
    assert_eq!(epochs(&mut bench), 0, "in backup for good");
    bench.say(&[0xff]);
    assert!(epochs(&mut bench) >= 1, "woken");
}

#[test]
fn a_survey_and_a_fixed_position_hold_the_antenna() {
    let place = |bench: &mut Bench| {
        bench.sent.clear();
        bench.run(2.0);
        let pvt = *bench.pvts().last().unwrap();
        (pvt.fix_type, pvt.lat_1e7_deg, pvt.lon_1e7_deg, pvt.height_mm, pvt.g_speed_mm_s)
    };
    let new = || {
        let mut bench = Bench::new(HPG_1_32, |settings| {
            settings.messages = ["NAV-PVT", "NAV-SVIN"].map(String::from).to_vec();
            settings.baud = 115_200;
        });
        bench.run(6.0);
        bench
    };
    let mut bench = new();
    let survey = [(0x2003_0001, 1), (0x4003_0010, 5), (0x4003_0011, 500_000)]
        .map(|(key, value)| item(Key(key), value));
    assert!(is_ack(&bench.ask(&valset(&survey)), CfgValset::ID));
    bench.run(10.0);
    let svin = bench.frames().into_iter().rfind(|frame| frame.id == NavSvin::ID).unwrap();
    assert_eq!(NavSvin::parse(&svin.payload).unwrap().valid, 1);
    let first = place(&mut bench);
    assert_eq!((first.0, first.4), (5, 0));
    bench.run(5.0);
    assert_eq!(place(&mut bench), first, "the robot drives on, the antenna is held");

    let mut bench = new();
    let fixed = CfgValset {
        layers: 1,
        items: [
            (0x2003_0001, 2),
            (0x2003_0002, 1),
            (0x4003_0009, 472_000_001),
            (0x4003_000a, 85_000_002),
            (0x4003_000b, 54_321),
            (0x2003_000e, 50),
            (0x4003_000f, 100),
        ]
        .map(|(key, value)| item(Key(key), value))
        .to_vec(),
        ..CfgValset::default()
    };
    assert!(is_ack(&bench.ask(&fixed), CfgValset::ID));
    assert_eq!(place(&mut bench), (5, 472_000_001, 85_000_002, 543_215, 0));
    // The same position by CFG-TMODE3 in ECEF; it is read back as it was set.
    let tmode3 = "00 00 02 00 24 69 83 19 1a 4c d5 03 a0 6e 1d 1b 01 02 03 00 64 00 00 00 \
                  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00";
    assert!(takes(&mut bench, 0x06, 0x71, tmode3));
    let read = answer(&mut bench, 0x06, 0x71);
    assert_eq!(read[..24], hex(tmode3)[..24]);
    assert_eq!(place(&mut bench).0, 5);
    // A position below the ground is not used.
    assert!(is_ack(&bench.ask(&valset(&[item(Key(0x4003_0003), 0)])), CfgValset::ID));
    assert_eq!(place(&mut bench).0, 3);
    assert!(is_ack(&bench.ask(&valset(&[item(Key(0x2003_0001), 0)])), CfgValset::ID));
    assert_ne!(place(&mut bench).4, 0);
}

#[test]
fn fences_are_told_inside_and_out() {
    for name in [M8N, HPG_1_32] {
        let mut bench = bench(name);
        bench.run(6.0);
        // One fence around the bench, one a kilometre north of it.
        let fences = format!(
            "00 02 01 00 00 00 00 00 {} {} 10 27 00 00 {} {} 10 27 00 00",
            bytes(472_852_332),
            bytes(85_652_650),
            bytes(472_942_332),
            bytes(85_652_650)
        );
        assert!(takes(&mut bench, 0x06, 0x69, &fences));
        assert_eq!(answer(&mut bench, 0x06, 0x69), hex(&fences));
        let told = NavGeofence::parse(&answer(&mut bench, 0x01, 0x39)).unwrap();
        let states: Vec<u8> = told.fences.iter().map(|fence| fence.state).collect();
        assert_eq!((told.status, told.combined, states), (1, 1, vec![1, 2]), "{name}");
        assert!(takes(&mut bench, 0x06, 0x69, "00 00 00 00 00 00 00 00"));
        let told = NavGeofence::parse(&answer(&mut bench, 0x01, 0x39)).unwrap();
        assert_eq!((told.status, told.count), (0, 0));
    }
}

fn bytes(value: i32) -> String {
    value.to_le_bytes().map(|byte| format!("{byte:02x}")).join(" ")
}

const M10: &str = "ublox-max-m10s-spg5.10";

#[test]
fn an_m10_is_configured_by_items_alone() {
    let mut bench = bench(M10);
    let versions = MonVer::parse(&answer(&mut bench, 0x0a, 0x04)).unwrap();
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    assert_eq!(text(&versions.software), "ROM SPG 5.10 (7b202e)");
    assert_eq!(text(&versions.hardware), "000A0000");
    // CFG-GNSS, CFG-NAV5, CFG-MSG, CFG-RATE and CFG-PRT, as sent by drivers for older generations.
    for (id, payload) in [
        (0x3e, ""),
        (0x24, ""),
        (0x01, "01 07 01"),
        (0x08, "c8 00 01 00 01 00"),
        (0x00, "01 00 00 00 d0 08 00 00 00 96 00 00 23 00 03 00 00 00 00 00"),
        (0x06, ""),
    ] {
        assert!(!takes(&mut bench, 0x06, id, payload), "{id:02x}");
    }
    // Factory values of the interface description: GPS and Galileo are on.
    for (key, value) in [
        (key::GPS_ENA, 1),
        (key::GAL_ENA, 1),
        (key::GLO_ENA, 0),
        (key::BDS_ENA, 0),
        (key::BDS_B1C_ENA, 1),
        (key::WKNROLLOVER, 2148),
        (key::INFIL_MINELEV, 5),
    ] {
        assert_eq!(bench.device.store.get(key), value, "{:08x}", key.0);
    }
    // Neither UART2 nor USB, no second signals, no survey, no NAV2.
    for key in [0x4053_0001, 0x1065_0001, 0x1031_0003, 0x2003_0001, 0x1017_0001, 0x2091_0009] {
        assert!(!is_ack(&bench.ask(&valset(&[item(Key(key), 0)])), CfgValset::ID), "{key:08x}");
    }
    // Settings of iNav and ArduPilot: rate, NAV-PVT, power mode, BeiDou B1C.
    let set = [
        item(key::RATE_MEAS, 100),
        item(Key(0x2091_0007), 1),
        item(Key(0x20d0_0001), 0),
        item(key::BDS_ENA, 1),
    ];
    assert!(is_ack(&bench.ask(&valset(&set)), CfgValset::ID));
    assert!(bench.device.systems().contains(&GnssSystem::Beidou));
    let polled = |bench: &mut Bench, class, id| {
        let frame = Frame::new(MessageId::new(class, id), Vec::new());
        bench.ask_frame(&frame).iter().any(|answer| answer.id == frame.id)
    };
    assert!(polled(&mut bench, 0x01, 0x43), "NAV-SIG");
    assert!(polled(&mut bench, 0x0a, 0x38), "MON-RF");
    for (class, id) in [(0x01, 0x14), (0x01, 0x3b), (0x02, 0x15), (0x0a, 0x39), (0x27, 0x09)] {
        assert!(!polled(&mut bench, class, id), "{class:02x} {id:02x}");
    }
    let gnss = MonGnss::parse(&answer(&mut bench, 0x0a, 0x28)).unwrap();
    assert_eq!(gnss.simultaneous, 3);
    let unit = answer(&mut bench, 0x27, 0x03);
    assert_eq!((unit.len(), unit[0]), (10, 2));
}
