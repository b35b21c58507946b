//! Bytes that real GNSS receivers sent: taken apart, decoded, encoded again, compared byte for byte.

mod common;

use std::collections::BTreeMap;

use menura::wire::gnss_stream::{Piece, PieceKind, Splitter};
use menura::wire::nmea::{Content, RawSentence, Sentence};
use menura::wire::ubx::{Frame, Message, MessageId, name};

fn pieces(file: &str) -> Vec<Piece> {
    let bytes = std::fs::read(common::shared(file)).unwrap();
    let mut splitter = Splitter::default();
    let mut pieces = Vec::new();
    for chunk in bytes.chunks(100) {
        splitter.push(chunk);
        pieces.extend(std::iter::from_fn(|| splitter.next_piece()));
    }
    pieces.extend(std::iter::from_fn(|| splitter.next_at_end()));
    let joined: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
    assert_eq!(joined, bytes);
    pieces
}

/// Decodes and encodes every line and frame; how many of each message there were.
fn survive(pieces: &[Piece]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for piece in pieces {
        let (what, again) = match piece.kind {
            PieceKind::Line => {
                let raw = RawSentence::parse(&piece.bytes).unwrap();
                let sentence = Sentence::from_raw(&raw).expect("a known type").unwrap();
                (raw.address, sentence.to_bytes())
            }
            PieceKind::Ubx => {
                let frame = Frame::parse(&piece.bytes).unwrap();
                let again = match Message::from_frame(&frame) {
                    Some(message) => message.unwrap().to_frame(),
                    None => frame.clone(),
                };
                (frame.id.to_string(), again.to_bytes())
            }
            PieceKind::Rtcm3 => panic!("no RTCM in these"),
            PieceKind::Noise => continue,
        };
        assert_eq!(again, piece.bytes, "{what}");
        *counts.entry(what).or_default() += 1;
    }
    counts
}

fn noise(pieces: &[Piece]) -> Vec<u8> {
    let noise = pieces.iter().filter(|piece| piece.kind == PieceKind::Noise);
    noise.flat_map(|piece| piece.bytes.clone()).collect()
}

/// ZED-F9P, HPG 1.11, NMEA 4.10, from gpsd's daemon tests.
#[test]
#[ignore = "needs reference data"]
fn zed_f9p_sentences_survive() {
    let pieces = pieces("captures/gnss/ublox-zed-f9p-nmea.log");
    let counts = survive(&pieces);
    for (address, count) in [
        ("GNRMC", 29),
        ("GNVTG", 29),
        ("GNGGA", 29),
        ("GNGSA", 116),
        ("GPGSV", 174),
        ("GLGSV", 174),
        ("GAGSV", 174),
        ("GBGSV", 174),
        ("GNGLL", 29),
        ("GNGST", 29),
        ("GNZDA", 29),
        ("GNGBS", 29),
    ] {
        assert_eq!(counts.get(address), Some(&count), "{address}");
    }
    // All else is the file's header.
    assert!(noise(&pieces).split(|b| *b == b'\n').all(|l| l.is_empty() || l.starts_with(b"#")));
}

/// ZED-F9P, HPG 1.11, UBX with high-precision positions.
#[test]
#[ignore = "needs reference data"]
fn zed_f9p_frames_survive() {
    let pieces = pieces("captures/gnss/ublox-zed-f9p-hp.ubx.log");
    let counts = survive(&pieces);
    for message in [
        "NAV-PVT",
        "NAV-POSECEF",
        "NAV-HPPOSECEF",
        "NAV-HPPOSLLH",
        "NAV-DOP",
        "NAV-VELECEF",
        "NAV-TIMEGPS",
        "NAV-TIMEUTC",
        "NAV-TIMELS",
        "NAV-EOE",
    ] {
        assert_eq!(counts.get(message), Some(&29), "{message}");
    }
    assert_eq!(counts.get("NAV-SAT"), Some(&3));
    assert!(noise(&pieces).is_ascii());
}

/// NEO-M8T with raw measurements, which have a name but no fields here.
#[test]
#[ignore = "needs reference data"]
fn neo_m8t_frames_survive() {
    let pieces = pieces("captures/gnss/ublox-neo-m8t.log");
    let counts = survive(&pieces);
    for (message, count) in [
        ("NAV-SOL", 39),
        ("NAV-POSECEF", 39),
        ("NAV-DOP", 39),
        ("NAV-VELECEF", 39),
        ("NAV-TIMEGPS", 39),
        ("NAV-SBAS", 4),
        ("NAV-SAT", 4),
    ] {
        assert_eq!(counts.get(message).copied().unwrap_or(0), count, "{message}: {counts:?}");
    }
    assert_eq!(name(MessageId::new(0x02, 0x15)), Some("RXM-RAWX"));
}

/// An epoch's messages agree with one another, so the fields are where we think they are.
#[test]
#[ignore = "needs reference data"]
fn messages_of_an_epoch_agree() {
    let pieces = pieces("captures/gnss/ublox-zed-f9p-hp.ubx.log");
    let messages = pieces.iter().filter(|piece| piece.kind == PieceKind::Ubx).filter_map(|piece| {
        Message::from_frame(&Frame::parse(&piece.bytes).unwrap()).map(Result::unwrap)
    });
    let mut pvt = None;
    for message in messages {
        match (message, &pvt) {
            (Message::NavPvt(new), _) => pvt = Some(new),
            (Message::NavHpposllh(hp), Some(pvt)) => {
                assert_eq!(hp.itow_ms, pvt.itow_ms);
                assert_eq!((hp.lat_1e7_deg, hp.lon_1e7_deg), (pvt.lat_1e7_deg, pvt.lon_1e7_deg));
                assert!(hp.lat_hp_1e9_deg.abs() <= 99 && hp.height_hp_100um.abs() <= 9);
                assert!((hp.h_acc_100um / 10).abs_diff(pvt.h_acc_mm) <= 1);
            }
            (Message::NavDop(dop), Some(pvt)) => {
                assert_eq!(dop.p_dop_centi, pvt.p_dop_centi);
                let horizontal = libm::hypot(dop.n_dop_centi.into(), dop.e_dop_centi.into());
                assert!((horizontal - f64::from(dop.h_dop_centi)).abs() < 2.0);
            }
            (Message::NavTimeutc(utc), Some(pvt)) => {
                assert_eq!(
                    (utc.year, utc.second, utc.nano_ns),
                    (pvt.year, pvt.second, pvt.nano_ns)
                );
            }
            (Message::NavSat(sat), Some(pvt)) => {
                let used = sat.satellites.iter().filter(|s| s.flags & 8 != 0).count();
                assert_eq!(used, usize::from(pvt.num_sv));
            }
            _ => {}
        }
    }
}

/// Another reader of NMEA gets the same values from the same lines.
#[test]
#[ignore = "needs reference data"]
fn the_nmea_crate_agrees() {
    let pieces = pieces("captures/gnss/ublox-zed-f9p-nmea.log");
    let mut compared = 0;
    for piece in pieces.iter().filter(|piece| piece.kind == PieceKind::Line) {
        let raw = RawSentence::parse(&piece.bytes).unwrap();
        let text = std::str::from_utf8(&piece.bytes).unwrap();
        let Content::Gga(ours) = Sentence::from_raw(&raw).unwrap().unwrap().content else {
            continue;
        };
        let Ok(nmea::ParseResult::GGA(theirs)) = nmea::parse_str(text) else { panic!("{text}") };
        let at = ours.position.unwrap();
        assert!((theirs.latitude.unwrap() - at.latitude_deg()).abs() < 1e-9);
        assert!((theirs.longitude.unwrap() - at.longitude_deg()).abs() < 1e-9);
        assert_eq!(theirs.fix_satellites.unwrap() as f64, ours.satellites.unwrap().to_f64());
        assert!((f64::from(theirs.hdop.unwrap()) - ours.hdop.unwrap().to_f64()).abs() < 1e-6);
        compared += 1;
    }
    assert_eq!(compared, 29);
}
