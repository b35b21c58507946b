//! Tests with bytes of real GNSS receivers, which are split, decoded, encoded again and compared.

use std::collections::BTreeMap;

use menura::wire::framer::Framer;
use menura::wire::gnss_stream::{Frame, GnssStream};
use menura::wire::nmea::{Content, RawSentence, Sentence};
use menura::wire::ubx::{Message, MessageId, name};

use crate::common;

/// Frames of a stream with their bytes; `None` for bytes outside of frames.
type Pieces = Vec<(Option<Frame>, Vec<u8>)>;

fn pieces(file: &str) -> Pieces {
    let bytes = std::fs::read(common::shared(file)).unwrap();
    let mut framer = Framer::new(GnssStream);
    let mut pieces = Vec::new();
    for mut chunk in bytes.chunks(100) {
        while let Some(piece) = framer.next_piece(&mut chunk) {
            pieces.push((piece.frame, piece.bytes.to_vec()));
        }
    }
    framer.end();
    while let Some(piece) = framer.next_piece(&mut &[][..]) {
        pieces.push((piece.frame, piece.bytes.to_vec()));
    }
    let joined: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    assert_eq!(joined, bytes);
    pieces
}

/// Decodes every line and frame, encodes it again and compares the bytes; returns the number of messages of each kind.
fn survive(pieces: &Pieces) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (frame, bytes) in pieces {
        let (what, again) = match frame {
            Some(Frame::Line(line)) => {
                let raw = RawSentence::parse(line).unwrap();
                let sentence = Sentence::from_raw(&raw).expect("a known type").unwrap();
                (raw.address, sentence.to_bytes())
            }
            Some(Frame::Ubx(frame)) => {
                let again = match Message::from_frame(frame) {
                    Some(message) => message.unwrap().to_frame(),
                    None => frame.clone(),
                };
                (frame.id.to_string(), again.to_bytes())
            }
            Some(Frame::Rtcm3(_)) => panic!("no RTCM in these"),
            None => continue,
        };
        assert_eq!(again, *bytes, "{what}");
        *counts.entry(what).or_default() += 1;
    }
    counts
}

fn noise(pieces: &Pieces) -> Vec<u8> {
    let noise = pieces.iter().filter(|(frame, _)| frame.is_none());
    noise.flat_map(|(_, bytes)| bytes.clone()).collect()
}

/// Bytes of a ZED-F9P with HPG 1.11 and NMEA 4.10, from the daemon tests of gpsd.
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
    // The rest is the file's header.
    assert!(noise(&pieces).split(|b| *b == b'\n').all(|l| l.is_empty() || l.starts_with(b"#")));
}

/// Bytes of a ZED-F9P with HPG 1.11: UBX with high-precision positions.
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

/// Bytes of a NEO-M8T with raw measurements. Menura has names for messages with raw measurements, but does not decode
/// their fields.
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

/// The messages of an epoch agree with each other, so the fields have the right offsets.
#[test]
#[ignore = "needs reference data"]
fn messages_of_an_epoch_agree() {
    let pieces = pieces("captures/gnss/ublox-zed-f9p-hp.ubx.log");
    let messages = pieces.iter().filter_map(|(frame, _)| match frame {
        Some(Frame::Ubx(frame)) => Message::from_frame(frame).map(Result::unwrap),
        _ => None,
    });
    let (mut pvt, mut compared) = (None, [0; 4]);
    for message in messages {
        match (message, &pvt) {
            (Message::NavPvt(new), _) => pvt = Some(new),
            (Message::NavHpposllh(hp), Some(pvt)) => {
                compared[0] += 1;
                assert_eq!(hp.itow_ms, pvt.itow_ms);
                assert_eq!((hp.lat_1e7_deg, hp.lon_1e7_deg), (pvt.lat_1e7_deg, pvt.lon_1e7_deg));
                assert!(hp.lat_hp_1e9_deg.abs() <= 99 && hp.height_hp_100um.abs() <= 9);
                assert!((hp.h_acc_100um / 10).abs_diff(pvt.h_acc_mm) <= 1);
            }
            (Message::NavDop(dop), Some(pvt)) => {
                compared[1] += 1;
                assert_eq!(dop.p_dop_centi, pvt.p_dop_centi);
                let horizontal = libm::hypot(dop.n_dop_centi.into(), dop.e_dop_centi.into());
                assert!((horizontal - f64::from(dop.h_dop_centi)).abs() < 2.0);
            }
            (Message::NavTimeutc(utc), Some(pvt)) => {
                compared[2] += 1;
                assert_eq!(
                    (utc.year, utc.second, utc.nano_ns),
                    (pvt.year, pvt.second, pvt.nano_ns)
                );
            }
            (Message::NavSat(sat), Some(pvt)) => {
                compared[3] += 1;
                let used = sat.satellites.iter().filter(|s| s.flags & 8 != 0).count();
                assert_eq!(used, usize::from(pvt.num_sv));
            }
            _ => {}
        }
    }
    assert!(compared.iter().all(|&count| count > 0), "{compared:?}");
}

/// Another NMEA parser reads the same values from the same lines.
#[test]
#[ignore = "needs reference data"]
fn the_nmea_crate_agrees() {
    let pieces = pieces("captures/gnss/ublox-zed-f9p-nmea.log");
    let mut compared = 0;
    for (frame, line) in &pieces {
        let Some(Frame::Line(_)) = frame else { continue };
        let raw = RawSentence::parse(line).unwrap();
        let text = std::str::from_utf8(line).unwrap();
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
