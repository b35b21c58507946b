//! Every setting that a u-blox receiver acknowledges takes effect or is stored, as the command tables state.

use std::collections::HashMap;

use super::*;
use crate::gnss::items::{ON_INPUT, ROWS, Row, USB, is_made};
use crate::gnss::legacy::LEGACY;
use crate::wire::ubx::mon::MonHw;

const M8N: &str = "ublox-m8n";
const HPG_1_32: &str = "ublox-zed-f9p-hpg1.32";

/// Items with an effect: name, a value other than the factory's, and items to set first.
type Acting = (&'static str, u64, &'static [(&'static str, u64)]);
const FIXED: &[(&str, u64)] = &[
    ("TMODE-ECEF_X", 428_000_000),
    ("TMODE-ECEF_Y", 64_000_000),
    ("TMODE-ECEF_Z", 466_000_000),
    ("TMODE-LAT", 470_000_000),
    ("TMODE-MODE", 2),
];
const FIXED_LLH: &[(&str, u64)] =
    &[("TMODE-LAT", 470_000_000), ("TMODE-POS_TYPE", 1), ("TMODE-MODE", 2)];
/// A fence around the bench, 30 m wide.
const FENCE: &[(&str, u64)] = &[
    ("GEOFENCE-FENCE1_LAT", 472_852_332),
    ("GEOFENCE-FENCE1_LON", 85_652_650),
    ("GEOFENCE-FENCE1_RAD", 1500),
    ("GEOFENCE-USE_FENCE1", 1),
];
const FENCE2: &[(&str, u64)] = &[
    ("GEOFENCE-FENCE2_LAT", 472_852_332),
    ("GEOFENCE-FENCE2_LON", 85_652_650),
    ("GEOFENCE-FENCE2_RAD", 1500),
    ("GEOFENCE-USE_FENCE2", 1),
];
const FENCE3: &[(&str, u64)] = &[
    ("GEOFENCE-FENCE3_LAT", 472_852_332),
    ("GEOFENCE-FENCE3_LON", 85_652_650),
    ("GEOFENCE-FENCE3_RAD", 1500),
    ("GEOFENCE-USE_FENCE3", 1),
];
const FENCE4: &[(&str, u64)] = &[
    ("GEOFENCE-FENCE4_LAT", 472_852_332),
    ("GEOFENCE-FENCE4_LON", 85_652_650),
    ("GEOFENCE-FENCE4_RAD", 1500),
    ("GEOFENCE-USE_FENCE4", 1),
];
/// Items that act only with corrections; the rover tests cover them.
const OF_ROVERS: &str = "NAVSPG-CONSTR_DGNSSTO";

const ACTING: &[Acting] = &[
    ("RATE-MEAS", 200, &[]),
    ("RATE-NAV", 2, &[]),
    ("RATE-TIMEREF", 0, &[("RATE-MEAS", 143)]),
    ("UART1-BAUDRATE", 460_800, &[]),
    ("UART1-ENABLED", 0, &[]),
    ("UART1INPROT-UBX", 0, &[]),
    ("UART1INPROT-NMEA", 0, &[]),
    ("UART1OUTPROT-UBX", 0, &[]),
    ("UART1OUTPROT-NMEA", 0, &[]),
    ("NMEA-PROTVER", 23, &[]),
    ("NMEA-HIGHPREC", 1, &[]),
    ("NMEA-MAINTALKERID", 1, &[]),
    ("NMEA-GSVTALKERID", 1, &[]),
    ("NMEA-FILT_GPS", 1, &[]),
    ("NMEA-FILT_GLO", 1, &[]),
    ("NMEA-FILT_GAL", 1, &[]),
    ("NMEA-FILT_BDS", 1, &[]),
    ("NMEA-FILT_QZSS", 1, &[]),
    ("NMEA-OUT_ONLYGPS", 1, &[]),
    ("NMEA-OUT_FROZENCOG", 1, &[]),
    ("INFMSG-NMEA_UART1", 0, &[]),
    ("INFMSG-UBX_UART1", 7, &[]),
    ("NAVSPG-FIXMODE", 1, &[]),
    ("NAVSPG-DYNMODEL", 5, &[]),
    ("NAVSPG-INIFIX3D", 1, &[]),
    ("NAVSPG-UTCSTANDARD", 5, &[]),
    ("NAVSPG-CONSTR_ALT", 12_345, &[("NAVSPG-FIXMODE", 1)]),
    ("NAVSPG-INFIL_MINSVS", 60, &[]),
    ("NAVSPG-INFIL_MAXSVS", 6, &[]),
    ("NAVSPG-INFIL_MINCNO", 42, &[]),
    ("NAVSPG-INFIL_MINELEV", 40, &[]),
    ("NAVSPG-INFIL_NCNOTHRS", 60, &[]),
    ("NAVSPG-INFIL_CNOTHRS", 60, &[("NAVSPG-INFIL_NCNOTHRS", 3)]),
    ("NAVSPG-OUTFIL_PDOP", 1, &[]),
    ("NAVSPG-OUTFIL_TDOP", 1, &[]),
    ("NAVSPG-OUTFIL_PACC", 0, &[]),
    ("NAVSPG-OUTFIL_TACC", 1, &[]),
    ("NAVHPG-DGNSSMODE", 2, &[]),
    ("SIGNAL-GPS_ENA", 0, &[]),
    ("SIGNAL-GLO_ENA", 0, &[]),
    ("SIGNAL-GAL_ENA", 0, &[]),
    ("SIGNAL-BDS_ENA", 0, &[]),
    ("SIGNAL-QZSS_ENA", 0, &[]),
    ("SIGNAL-GPS_L1CA_ENA", 0, &[]),
    ("SIGNAL-GLO_L1_ENA", 0, &[]),
    ("SIGNAL-GAL_E1_ENA", 0, &[]),
    ("SIGNAL-BDS_B1_ENA", 0, &[]),
    ("SIGNAL-GPS_L2C_ENA", 0, &[]),
    ("SIGNAL-GLO_L2_ENA", 0, &[]),
    ("SIGNAL-GAL_E5B_ENA", 0, &[]),
    ("SIGNAL-BDS_B2_ENA", 0, &[]),
    ("ITFM-ENABLE", 1, &[]),
    ("TMODE-MODE", 1, &[]),
    ("TMODE-SVIN_MIN_DUR", 5, &[("TMODE-SVIN_ACC_LIMIT", 1_000_000), ("TMODE-MODE", 1)]),
    ("TMODE-SVIN_ACC_LIMIT", 1_000_000, &[("TMODE-MODE", 1)]),
    ("TMODE-POS_TYPE", 1, FIXED),
    ("TMODE-FIXED_POS_ACC", 900, FIXED),
    ("TMODE-ECEF_X", 428_000_300, FIXED),
    ("TMODE-ECEF_Y", 64_000_300, FIXED),
    ("TMODE-ECEF_Z", 466_000_300, FIXED),
    ("TMODE-ECEF_X_HP", 90, FIXED),
    ("TMODE-ECEF_Y_HP", 90, FIXED),
    ("TMODE-ECEF_Z_HP", 90, FIXED),
    ("TMODE-LAT", 470_000_300, FIXED_LLH),
    ("TMODE-LON", 80_000_300, FIXED_LLH),
    ("TMODE-HEIGHT", 50_300, FIXED_LLH),
    ("TMODE-LAT_HP", 90, FIXED_LLH),
    ("TMODE-LON_HP", 90, FIXED_LLH),
    ("TMODE-HEIGHT_HP", 90, FIXED_LLH),
    ("ODO-USE_ODO", 1, &[]),
    ("NAV2-OUT_ENABLED", 1, &[]),
    ("NAVSPG-ACKAIDING", 1, &[]),
    ("UART1INPROT-RTCM3X", 0, &[]),
    ("UART1OUTPROT-RTCM3X", 0, &[]),
    ("RTCM-DF003_OUT", 7, &[]),
    ("UART2-ENABLED", 0, &[]),
    ("UART2-BAUDRATE", 57_600, &[]),
    ("UART2INPROT-RTCM3X", 0, &[]),
    (OF_ROVERS, 10, &[]),
    ("NAVSPG-WKNROLLOVER", 3000, &[]),
    ("GEOFENCE-USE_FENCE1", 1, &[]),
    ("GEOFENCE-USE_FENCE2", 1, &[]),
    ("GEOFENCE-USE_FENCE3", 1, &[]),
    ("GEOFENCE-USE_FENCE4", 1, &[]),
    ("GEOFENCE-CONFLVL", 5, FENCE),
    ("GEOFENCE-FENCE1_LAT", 0, FENCE),
    ("GEOFENCE-FENCE1_LON", 0, FENCE),
    ("GEOFENCE-FENCE1_RAD", 0, FENCE),
    ("GEOFENCE-FENCE2_LAT", 0, FENCE2),
    ("GEOFENCE-FENCE2_LON", 0, FENCE2),
    ("GEOFENCE-FENCE2_RAD", 0, FENCE2),
    ("GEOFENCE-FENCE3_LAT", 0, FENCE3),
    ("GEOFENCE-FENCE3_LON", 0, FENCE3),
    ("GEOFENCE-FENCE3_RAD", 0, FENCE3),
    ("GEOFENCE-FENCE4_LAT", 0, FENCE4),
    ("GEOFENCE-FENCE4_LON", 0, FENCE4),
    ("GEOFENCE-FENCE4_RAD", 0, FENCE4),
    ("TP-TP1_ENA", 0, &[]),
    ("TP-USE_LOCKED_TP1", 0, &[]),
    ("TP-POL_TP1", 0, &[]),
    ("TP-TIMEGRID_TP1", 1, &[]),
    ("TP-PULSE_DEF", 1, &[("TP-FREQ_LOCK_TP1", 5)]),
    ("TP-PULSE_LENGTH_DEF", 0, &[("TP-DUTY_LOCK_TP1", 0x4049_0000_0000_0000)]),
    ("TP-ANT_CABLEDELAY", 1050, &[]),
    ("TP-USER_DELAY_TP1", 5000, &[]),
    ("TP-PERIOD_TP1", 500_000, &[("TP-LEN_TP1", 50_000)]),
    ("TP-PERIOD_LOCK_TP1", 500_000, &[]),
    ("TP-LEN_TP1", 50_000, &[]),
    ("TP-LEN_LOCK_TP1", 200_000, &[]),
    ("TP-FREQ_TP1", 5, &[("TP-PULSE_DEF", 1), ("TP-LEN_TP1", 50_000)]),
    ("TP-FREQ_LOCK_TP1", 5, &[("TP-PULSE_DEF", 1)]),
    ("TP-DUTY_TP1", 0x4034_0000_0000_0000, &[("TP-PULSE_LENGTH_DEF", 0)]),
    ("TP-DUTY_LOCK_TP1", 0x4034_0000_0000_0000, &[("TP-PULSE_LENGTH_DEF", 0)]),
    ("USB-ENABLED", 0, &[]),
    ("USBINPROT-UBX", 0, &[]),
    ("USBINPROT-NMEA", 0, &[]),
    ("USBINPROT-RTCM3X", 0, &[]),
    ("USBOUTPROT-UBX", 0, &[]),
    ("USBOUTPROT-NMEA", 0, &[]),
    ("USBOUTPROT-RTCM3X", 0, &[]),
    ("INFMSG-UBX_USB", 7, &[]),
    ("INFMSG-NMEA_USB", 0, &[]),
    ("UART2INPROT-UBX", 1, &[("UART2OUTPROT-UBX", 1)]),
    ("UART2INPROT-NMEA", 1, &[("UART2OUTPROT-NMEA", 1)]),
    ("UART2OUTPROT-UBX", 1, &[]),
    ("UART2OUTPROT-NMEA", 1, &[]),
    ("UART2OUTPROT-RTCM3X", 0, &[]),
    ("INFMSG-UBX_UART2", 7, &[("UART2OUTPROT-UBX", 1), ("UART2INPROT-NMEA", 1)]),
    ("INFMSG-NMEA_UART2", 0, &[("UART2OUTPROT-NMEA", 1), ("UART2INPROT-NMEA", 1)]),
    ("RTCM-DF003_IN_FILTER", 1, &[]),
    ("RTCM-DF003_IN", 2003, &[("RTCM-DF003_IN_FILTER", 1)]),
];

/// RTCM message 1005 of station 2003, from the standard.
const RTCM_1005: &[u8] =
    b"\xd3\0\x13\x3e\xd7\xd3\x02\x02\x98\x0e\xde\xef\x34\xb4\xbd\x62\xac\x09\x41\x98\x6f\x33\x36\x0b\x98";

fn bench(name: &str) -> Bench {
    Bench::new(name, |settings| {
        let kinds = crate::gnss::profile::SentenceKind::WORDS;
        let sentences = kinds.iter().map(|(_, kind)| *kind);
        settings.sentences =
            sentences.filter(|kind| !format!("{kind:?}").starts_with('P')).collect();
        let names =
            ["NAV-PVT", "NAV-SAT", "NAV-SIG", "NAV-TIMEUTC", "NAV-SVIN", "MON-RF", "TIM-TP"];
        let more = ["NAV-GEOFENCE", "NAV-ODO", "NAV-HPPOSLLH", "NAV2-PVT", "RTCM-1230"];
        settings.messages =
            [&names[..], &more[..]].concat().into_iter().map(String::from).collect();
        settings.baud = 921_600;
        // The robot is too slow for its course to be shown.
        settings.min_course_speed_m_s = 3.0;
        let acquisition = &mut settings.receiver.acquisition;
        acquisition.best_fix = Some(crate::sensors::gnss::settings::BestFix::RtkFixed);
        (acquisition.rtk_float_after_ns, acquisition.rtk_fixed_after_ns) = (SECOND, 3 * SECOND);
    })
}

fn named(name: &str) -> &'static Row {
    ROWS.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no item {name}"))
}

/// All output except acknowledgements: bytes, baud rate, and PPS with its times.
#[derive(Debug, PartialEq)]
enum Sent {
    Bytes(Vec<u8>),
    Line(LineSettings),
    Edge(u64, bool),
    Aside(u8, Vec<u8>),
}

/// Output when `items` are set before the first epoch and the host then sends a command in each protocol.
fn stream(name: &str, items: &[Item]) -> Vec<Sent> {
    let mut bench = bench(name);
    // Connect the other ports and give them output.
    bench.device.wire(&[USB]);
    for (message, port) in [
        (MessageId::new(0xf5, 0xe6), UART2),
        (MessageId::new(0xf5, 0xe6), USB),
        (MessageId::new(0x01, 0x07), UART2),
        (MessageId::new(0xf0, 0x00), UART2),
    ] {
        bench.device.store.set(rate_key(message, port).unwrap(), 1);
    }
    bench.run(0.3);
    for chunk in items.chunks(64) {
        bench.say(&valset(chunk).to_frame().to_bytes());
        bench.run(0.1);
    }
    bench.run(7.0 - items.len().div_ceil(64) as f64 * 0.1);
    bench.say(&Frame::new(MonVer::ID, vec![]).to_bytes());
    bench.say(b"$PSRF100,0,38400,8,1,0*3C\r\n");
    let rate = rate_key(MessageId::new(0x02, 0x32), UART1).unwrap();
    bench.device.store.set(rate, 1);
    bench.say(RTCM_1005);
    let by_cable = CableSignal::Bytes(RTCM_1005.to_vec(), LineSettings::eight_n_one(38_400));
    bench.device.handle_cable(SimTime(bench.now_ns), &by_cable);
    bench.say(&Frame::new(MessageId::new(0x13, 0x40), vec![0x20; 12]).to_bytes());
    let poll = Frame::new(MonVer::ID, vec![]).to_bytes();
    for port in [UART2, USB] {
        for bytes in [&poll[..], b"$PSRF100,0,38400,8,1,0*3C\r\n"] {
            bench.device.handle_line_input(SimTime(bench.now_ns), port, bytes);
        }
    }
    bench.device.handle_line_input(SimTime(bench.now_ns), USB, RTCM_1005);
    bench.run(4.0);
    let ack = is_ack_of(CfgValset::ID);
    let acks = bench.frames().iter().filter(|frame| **frame == ack).count();
    let naks = bench.frames().iter().filter(|frame| frame.id == AckNak::ID).count();
    assert_eq!(naks, 0, "{items:x?}");
    let is_mute = items
        .iter()
        .any(|item| [Key(0x1052_0005), Key(0x1074_0001)].contains(&item.key) && item.value == 0);
    assert!(is_mute || acks == items.chunks(64).len(), "{items:x?}: {acks}");
    let kept = bench.sent.into_iter().filter_map(|sent| match sent.output {
        Output::Bytes(bytes) if Frame::parse(&bytes).is_ok_and(|f| f.id.class == 0x05) => None,
        Output::Bytes(bytes) => Some(Sent::Bytes(bytes)),
        Output::Line(line) => Some(Sent::Line(line)),
        Output::PulsePerSecond(high) => Some(Sent::Edge(sent.due.0, high)),
        Output::Aside { port, bytes, .. } => Some(Sent::Aside(port, bytes)),
        _ => None,
    });
    kept.collect()
}

fn is_ack_of(id: MessageId) -> Frame {
    AckAck { class: id.class, id: id.id }.to_frame()
}

#[test]
fn every_setting_that_acts_changes_the_stream() {
    for profile in [F9P, HPG_1_32] {
        let device = bench(profile).device;
        for row in ROWS.iter().filter(|row| row.is_in(&device.profile) && row.message.is_none()) {
            let listed = ACTING.iter().any(|(name, ..)| *name == row.name);
            assert_eq!(row.acts, listed, "{}: items.csv and this test differ", row.name);
        }
    }
    // Streams without the setting.
    let mut without = HashMap::new();
    for (name, value, before) in ACTING.iter().filter(|(name, ..)| *name != OF_ROVERS) {
        let of = |name: &str, value: u64| item(named(name).key, value);
        let items: Vec<Item> = before.iter().map(|(name, value)| of(name, *value)).collect();
        let with = [items.clone(), vec![of(name, *value)]].concat();
        let is_new =
            name.starts_with("NAV2-") || name.starts_with("RTCM-DF003_IN") || name.contains("QZSS");
        let profile = if is_new { HPG_1_32 } else { F9P };
        let without = without.entry((profile, before)).or_insert_with(|| stream(profile, &items));
        assert!(*without != stream(profile, &with), "{name} changes nothing");
    }
}

#[test]
fn every_setting_that_is_kept_only_is_read_back_and_changes_nothing() {
    for name in [F9P, HPG_1_32] {
        let mut bench = bench(name);
        bench.run(0.3);
        let rows: Vec<&Row> = ROWS
            .iter()
            .filter(|row| row.is_in(&bench.device.profile))
            .filter(|row| row.message.is_none() && !row.acts)
            .collect();
        assert!(rows.len() > 100, "{}", rows.len());
        let mut items = Vec::new();
        for row in rows {
            let factory = bench.device.store.get(row.key);
            let other = match row.name {
                // The emulated lines are always 8N1.
                "UART1-STOPBITS" | "UART1-DATABITS" | "UART1-PARITY" | "UART2-STOPBITS"
                | "UART2-DATABITS" | "UART2-PARITY" => factory,
                _ => factory ^ 1,
            };
            items.push(item(row.key, other));
        }
        for chunk in items.chunks(64) {
            assert!(is_ack(&bench.ask(&valset(chunk)), CfgValset::ID));
            let keys = chunk.iter().map(|item| item.key).collect();
            let asked = CfgValget::Request { layer: 0, position: 0, keys };
            let answer = CfgValget::Answer { layer: 0, position: 0, items: chunk.to_vec() };
            assert!(bench.ask(&asked).contains(&answer.to_frame()), "{name}");
        }
        // All of these items together have no effect on the output.
        assert!(stream(name, &items) == stream(name, &[]), "{name}");
    }
}

/// Every message of the product can be enabled; it is sent if Menura implements it.
#[test]
fn a_message_that_is_made_comes() {
    for name in [M8N, F9P, HPG_1_32] {
        let mut bench = Bench::new(name, |settings| {
            settings.sentences = Vec::new();
            settings.baud = 921_600;
        });
        bench.run(6.0);
        bench.device.store.set(key::NAV2_OUT_ENABLED, 1);
        // Message 1005 needs a position.
        let place = bench.origin.origin().to_ecef() * 100.0;
        for (key, cm) in key::TMODE_ECEF.into_iter().zip(place.to_array()) {
            bench.device.store.set(key, u64::from(cm as i32 as u32));
        }
        bench.device.store.set(key::TMODE_MODE, 2);
        let mut came = 0;
        for row in ROWS.iter() {
            let Some(id) = row.message else { continue };
            let has = row.is_in(&bench.device.profile);
            assert_eq!(is_ack(&bench.ask(&CfgMsg::ThisPort(id, 1)), CfgMsg::ID), has);
            let rate = rate_key(id, UART1).unwrap();
            if bench.device.profile.receiver.dialect == GnssDialect::Ublox9 {
                let set = is_ack(&bench.ask(&valset(&[item(rate, 1)])), CfgValset::ID);
                assert_eq!(set, has, "{name} {}", row.name);
            }
            bench.sent.clear();
            // A subframe takes six seconds.
            bench.run(if row.name == "RXM-SFRBX" { 6.2 } else { 1.2 });
            let is_here = match id.class {
                0xf5 => super::base::corrections(&bench).iter().any(|number| {
                    row.name.strip_prefix("RTCM-").is_some_and(|name| {
                        name.split_once('.').map_or(name, |(name, _)| name) == number.to_string()
                    })
                }),
                0xf0 => bench.sentences().iter().any(|s| s.address.ends_with(&row.name[5..])),
                _ => bench.frames().iter().any(|frame| frame.id == id),
            };
            let is_sent = is_made(&bench.device.profile, id) && !ON_INPUT.contains(&id);
            assert_eq!(is_here, has && is_sent, "{name} {}", row.name);
            came += usize::from(is_here);
            assert_eq!(is_ack(&bench.ask(&CfgMsg::ThisPort(id, 0)), CfgMsg::ID), has);
        }
        assert!(came >= 25, "{name}: {came}");
    }
}

/// The older messages set the same items, polls return the present items, and a message exists only if the product
/// has its items.
#[test]
fn the_older_messages_are_other_words_for_the_items() {
    for name in [M8N, F9P, HPG_1_32] {
        let mut bench = Bench::new(name, |settings| settings.baud = 921_600);
        bench.run(0.5);
        for legacy in &LEGACY {
            let frames = bench.ask_frame(&Frame::new(legacy.id, vec![]));
            let answer = frames.iter().find(|frame| frame.id == legacy.id);
            let is_here = match (name, legacy.id.id) {
                (M8N, 0x70 | 0x71) => false,
                // HPG 1.11 receives no SBAS.
                (F9P, 0x16) => false,
                // Only generation 8 has power modes.
                (F9P | HPG_1_32, 0x11 | 0x3b | 0x86) => false,
                _ => true,
            };
            assert_eq!(is_ack(&frames, legacy.id), is_here, "{name} {}", legacy.id);
            assert_eq!(answer.is_some(), is_here, "{name} {}", legacy.id);
            let Some(answer) = answer.cloned() else { continue };
            // Setting the present content again is accepted and changes nothing.
            let before: Vec<_> = bench.device.store.factory().map(|(key, _)| key).collect();
            let before: Vec<u64> = before.iter().map(|key| bench.device.store.get(*key)).collect();
            assert!(is_ack(&bench.ask_frame(&answer), legacy.id), "{name} {}", legacy.id);
            let after: Vec<_> = bench.device.store.factory().map(|(key, _)| key).collect();
            let after: Vec<u64> = after.iter().map(|key| bench.device.store.get(*key)).collect();
            assert_eq!(before, after, "{name} {}", legacy.id);
            let again = bench.ask_frame(&Frame::new(legacy.id, vec![]));
            assert!(again.contains(&answer), "{name} {}", legacy.id);
        }
    }
}

/// Effects of CFG-NAV5, CFG-NMEA, CFG-ITFM, CFG-TP5 and CFG-GNSS on the output of a NEO-M8N.
#[test]
fn an_m8_follows_its_own_messages() {
    let mut bench = Bench::new(M8N, |settings| {
        settings.messages = ["NAV-PVT", "MON-HW"].map(String::from).to_vec();
        settings.baud = 115_200;
    });
    bench.run(8.0);
    assert_eq!(bench.pvts().last().unwrap().fix_type, 3);
    let nav5 = CfgNav5 {
        mask: 0b100,
        fix_mode: 1,
        fixed_altitude_cm: 12_300,
        dynamic_model: 5,
        ..CfgNav5::default()
    };
    assert!(is_ack(&bench.ask(&nav5), CfgNav5::ID));
    bench.run(3.0);
    let flat = *bench.pvts().last().unwrap();
    assert_eq!((flat.fix_type, flat.h_msl_mm), (2, 123_000));
    // The mask excluded the dynamic model. The model for use at sea gives no fix at 547 m.
    let sea = CfgNav5 { mask: 0b101, fix_mode: 3, dynamic_model: 5, ..CfgNav5::default() };
    assert!(is_ack(&bench.ask(&sea), CfgNav5::ID));
    bench.run(5.0);
    assert_eq!(bench.pvts().last().unwrap().fix_type, 0);
    let wild = CfgNav5 { mask: 0b101, fix_mode: 9, ..sea };
    assert!(!is_ack(&bench.ask(&wild), CfgNav5::ID));

    // NMEA 4.1 adds the navigation status to RMC.
    let mut nmea = vec![0; 20];
    (nmea[1], nmea[11]) = (0x41, 1);
    let nmea = Frame::new(MessageId::new(0x06, 0x17), nmea);
    assert!(is_ack(&bench.ask_frame(&nmea), nmea.id));
    bench.sent.clear();
    bench.run(2.0);
    let rmc = bench.sentences().into_iter().find(|s| s.address.ends_with("RMC")).unwrap();
    assert_eq!(rmc.fields.len(), 13);

    let hardware = |bench: &Bench| {
        let frame = bench.frames().into_iter().rfind(|frame| frame.id == MonHw::ID).unwrap();
        MonHw::parse(&frame.payload).unwrap()
    };
    assert_eq!(hardware(&bench).flags >> 2 & 3, 0);
    let itfm = [0xf3, 0xac, 0x62, 0xad, 0x1e, 0x43, 0, 0];
    let itfm = Frame::new(MessageId::new(0x06, 0x39), itfm.to_vec());
    assert!(is_ack(&bench.ask_frame(&itfm), itfm.id));
    bench.run(2.0);
    assert_eq!(hardware(&bench).flags >> 2 & 3, 1);

    let frames = bench.ask_frame(&Frame::new(CfgTp5::ID, vec![0]));
    let answer = frames.iter().find(|frame| frame.id == CfgTp5::ID).unwrap();
    let tp5 = CfgTp5::parse(&answer.payload).unwrap();
    assert_eq!((tp5.flags, tp5.period_locked, tp5.length_locked), (0xf7, 1_000_000, 100_000));
    let half = CfgTp5 { flags: tp5.flags & !0x10, length_locked: 1 << 31, ..tp5 };
    let dual = CfgNav5 { mask: 0b101, fix_mode: 3, ..CfgNav5::default() };
    assert!(is_ack(&bench.ask(&dual), CfgNav5::ID) && is_ack(&bench.ask(&half), CfgTp5::ID));
    bench.run(8.0);
    bench.sent.clear();
    bench.run(3.0);
    let edges: Vec<u64> = bench
        .sent
        .iter()
        .filter(|sent| matches!(sent.output, Output::PulsePerSecond(_)))
        .map(|sent| sent.due.0)
        .collect();
    assert!((edges[2] - edges[1]).abs_diff(500 * MS) < 1000, "{edges:?}");
    assert!(!is_ack(&bench.ask(&CfgTp5 { index: 1, ..tp5 }), CfgTp5::ID));
}

/// A Garmin's answers show the settings in effect: a two-dimensional fix at the requested height, and empty fields
/// for an unknown sentence.
#[test]
fn a_garmin_says_what_it_does() {
    let mut bench = Bench::new("garmin-18x-lvc", |settings| settings.baud = 38_400);
    bench.run(8.0);
    bench.sent.clear();
    bench.say(b"$PGRMC,2,123.0,12,,,,,,A,8,5,2,4,20*1C\r\n");
    bench.say(b"$PGRMC1,1,2,2,,,,2,W,P*52\r\n");
    bench.say(b"$PGRMO,PGRMV,1*28\r\n");
    bench.run(0.5);
    let answers: Vec<RawSentence> =
        bench.sentences().into_iter().filter(|s| s.address.starts_with("PGRM")).collect();
    let fields = |address: &str| {
        let of = answers.iter().find(|answer| answer.address == address);
        of.map(|answer| answer.fields.join(","))
    };
    assert_eq!(fields("PGRMC").unwrap(), "2,123.0,12,,,,,,A,8,5,2,4,20");
    // Binary output is not supported.
    assert_eq!(fields("PGRMC1").unwrap(), "1,1,2,,,,2,W,P,,,,,,");
    assert_eq!(fields("PGRMO"), None);
    bench.run(4.0);
    let sentences = bench.sentences();
    let last = |address: &str| sentences.iter().rfind(|s| s.address == address).unwrap();
    assert_eq!(last("GPGSA").fields[1], "2");
    assert_eq!(last("GPGGA").fields[8], "123.0");
    // NMEA 2.3 adds the mode field.
    assert_eq!(last("GPRMC").fields.len(), 12);
}

/// Programs send most commands without a checksum, and PGRMC1 with 15 fields.
#[test]
fn a_garmin_accepts_commands_without_a_checksum() {
    let mut bench = Bench::new("garmin-18x-lvc", |settings| settings.baud = 38_400);
    bench.run(1.0);
    bench.sent.clear();
    bench.say(b"$PGRMO,,2\r\n$PGRMC1,1,1,2,,,,2,W,N,,,,1,2,2\r\n$PGRMCE*00\r\n");
    bench.run(0.5);
    let told: Vec<String> =
        bench.sentences().iter().map(|s| format!("{},{}", s.address, s.fields.join(","))).collect();
    assert_eq!(told, ["PGRMO,,2", "PGRMC1,1,1,2,,,,2,W,N,,,,1,2,2"]);
}

/// PGRMI restarts the search for satellites and keeps the settings. With R the receiver keeps the time, with A it
/// forgets it.
#[test]
fn a_garmin_starts_its_search_again() {
    for (command, keeps_time) in [("R", true), ("A", false)] {
        let mut bench = Bench::new("garmin-18x-lvc", |settings| settings.baud = 38_400);
        bench.run(9.5);
        let commands = format!("$PGRMO,,2\r\n$PGRMO,GPRMC,1\r\n$PGRMI,,,,,,,{command}\r\n");
        bench.say(commands.as_bytes());
        bench.sent.clear();
        bench.run(10.0);
        let sentences = bench.sentences();
        let rmc: Vec<_> = sentences.iter().filter(|s| s.address == "GPRMC").collect();
        assert_eq!(rmc.len() + 3, sentences.len(), "{command}: three answers and RMC only");
        let (first, last) = (&rmc[0].fields, &rmc[rmc.len() - 1].fields);
        assert_eq!((first[1].as_str(), last[1].as_str()), ("V", "A"), "{command}");
        assert_eq!(!first[0].is_empty(), keeps_time, "{command}");
    }
}

#[test]
fn a_garmins_vtg_has_whole_degrees_and_the_magnetic_course() {
    let mut bench = Bench::new("garmin-18x-lvc", |settings| {
        settings.receiver.apply(ErrorPreset::None);
        settings.receiver.grades.iter_mut().for_each(|grade| grade.velocity_std_m_s = 0.0);
        settings.sentences = vec![crate::gnss::profile::SentenceKind::Vtg];
    });
    bench.run(9.0);
    let fields = bench.sentences().pop().unwrap().fields;
    // The robot drives east at 1.5 m/s; the declination is 2.5 to 4.5 degrees there.
    assert!(matches!(fields[2].as_str(), "086" | "087"), "{fields:?}");
    assert_eq!((fields[0].as_str(), &fields[3..].join(",")[..]), ("090", "M,002.9,N,0005.4,K"));
}

/// Declination, course at standstill, corrections and satellites without a signal are formatted as in captures of
/// receivers.
#[test]
fn a_garmin_and_a_ublox_write_their_fields_as_real_ones_do() {
    use crate::config::rig::{RobotConfig, TrajectoryConfig};
    use crate::sensors::gnss::settings::BestFix;
    for (name, talker) in [("garmin-18x-lvc", "GP"), (F9P, "GN")] {
        let mut bench = Bench::new(name, |settings| {
            settings.receiver.apply(ErrorPreset::None);
            settings.receiver.acquisition.best_fix = Some(BestFix::Differential);
            settings.receiver.acquisition.differential_after_ns = SECOND;
            settings.receiver.sky.min_cno_dbhz = 38.0;
            settings.baud = 38_400;
        });
        bench.run(9.0);
        let still = TrajectoryConfig::Still { position_m: [13.5, 0.0, 0.0], yaw_rad: 0.0 };
        let still = RobotConfig::new(still, false);
        bench.trajectory = Trajectory::new(&still, &bench.origin, None).unwrap();
        bench.run(1.0);
        bench.sent.clear();
        bench.run(3.0);
        let is_garmin = name != F9P;
        let sentences = bench.sentences();
        let last = |kind: &str| {
            let address = format!("{talker}{kind}");
            sentences.iter().rfind(|s| s.address == address).unwrap().fields.clone()
        };
        let rmc = last("RMC");
        let course = if is_garmin { "090.0" } else { "" };
        assert_eq!(rmc[7], course, "{name}: it drove east and stands");
        if is_garmin {
            // The World Magnetic Model gives three to four degrees there in 2026.
            assert!((2.5..4.5).contains(&rmc[9].parse::<f64>().unwrap()), "{rmc:?}");
            assert_eq!(rmc[10], "E");
        } else {
            assert_eq!((&*rmc[9], &*rmc[10]), ("", ""));
        }
        let gga = last("GGA");
        let station = if is_garmin { "" } else { "0000" };
        assert_eq!((&*gga[5], &*gga[12], &*gga[13]), ("2", "", station), "{name}: {gga:?}");
        let gsv = sentences.iter().filter(|s| s.address == "GPGSV" && s.fields.len() > 6);
        let signals: Vec<_> = gsv.flat_map(|s| s.fields[3..].chunks_exact(4)).collect();
        let without = if is_garmin { "00" } else { "" };
        assert!(signals.iter().any(|satellite| satellite[3] == without), "{name}: {signals:?}");
        assert!(!is_garmin || signals.iter().all(|satellite| !satellite[3].is_empty()));
    }
}
