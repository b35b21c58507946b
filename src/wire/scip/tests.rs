//! The texts in these tests are from Hokuyo's specification and from recordings quoted by drivers, or are computed by
//! the rules of these sources.

use super::coding::{decode, encode, largest};
use super::message::{Line, Message, Messages, Status};
use super::request::{LONGEST_REQUEST, Name, Request, RequestError, RequestLines};
use super::scan::{Echo, ScanData, ScanFormat, Step};
use super::sum;
use crate::framer::{Framer, Framing, NoFrame};
use proptest::prelude::*;

fn coded(value: u32, characters: usize) -> String {
    let mut out = Vec::new();
    encode(value, characters, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_are_those_of_the_specification() {
    for (value, characters, text) in [
        (1234, 2, "CB"),
        (5432, 3, "1Dh"),
        (16_000_000, 4, "m2@0"),
        (0, 3, "000"),
        (1, 3, "001"),
        (23, 3, "00G"),
        (1000, 3, "0?X"),
        (1200, 3, "0B`"),
        (5000, 3, "1>8"),
        (30_000, 3, "7D`"),
        (60_000, 3, ">YP"),
        (65_533, 3, "?om"),
        (4095, 2, "oo"),
        (123_456, 4, "0N90"),
        (3_600_000, 4, "=^j0"),
        (16_777_215, 4, "oooo"),
    ] {
        assert_eq!(coded(value, characters), text);
        assert_eq!(decode(text.as_bytes()), Ok(value));
    }
    // Values that are too large are clamped.
    assert_eq!(coded(30_000, 2), "oo");
    assert_eq!([2, 3, 4].map(largest), [4095, 262_143, 16_777_215]);
    for wrong in [&b""[..], b"p0", b"0/", b"000000", b"0 0"] {
        assert!(decode(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn sums_are_those_of_the_specification() {
    for (text, expected) in [
        ("CB", '5'),
        ("1Dh", 'M'),
        ("m2@0", '?'),
        ("oo", 'N'),
        ("0N90", 'W'),
        ("=^j0", 'e'),
        ("oooo", 'l'),
        ("VEND:Hokuyo Automatic Co., Ltd.", ';'),
        ("VEND:Hokuyo Automatic Co.,Ltd.", '['),
    ] {
        assert_eq!(char::from(sum(text.as_bytes())), expected, "{text}");
    }
    let statuses = "00P 01Q 02R 03S 04T 05U 06V 07W 10Q 98a 99b 0Aa 0Bb 0Cc 0Dd 0Ee 0Ff 0Gg 0Hh 0Ii \
                    0Ll 0Mm 000@ 002B 003C 004D";
    for word in statuses.split_whitespace() {
        let (code, check) = word.split_at(word.len() - 1);
        assert_eq!(sum(code.as_bytes()), check.as_bytes()[0], "{word}");
    }
}

/// Parses `text`, which contains one message, and checks that writing the message gives `text` again.
fn read(text: &str) -> Message {
    let (message, length) =
        Messages.scan(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}: {text}"));
    assert_eq!(length, text.len());
    assert_eq!(message.to_bytes(), text.as_bytes());
    message
}

#[test]
fn information_is_that_of_real_sensors() {
    let parameters = "PP\n00P\nMODL:UTM-30LX-EW;I\nDMIN:23;7\nDMAX:60000;J\nARES:1440;^\nAMIN:0;?\n\
                      AMAX:1080;Z\nAFRT:540;0\nSCAN:2400;U\n\n";
    let message = read(parameters);
    assert_eq!((message.echo.as_slice(), message.status), (&b"PP"[..], Status::Code(*b"00")));
    assert_eq!(message.lines.len(), 8);
    assert_eq!(message.lines[7], Line::Info(b"SCAN:2400".to_vec()));
    let version = "VV\n00P\nVEND:Hokuyo Automatic Co., Ltd.;;\nPROD:UTM-30LX-EW;R\n\
                   FIRM:1.1.0 (2011-09-30);a\nPROT:SCIP 2.2;P\nSERI:H0123456;J\n\n";
    assert_eq!(read(version).lines.len(), 5);
    let state = "II\n00P\nMODL:UTM-30LX-EW;I\nLASR:OFF;7\nSCSP:2400;i\nMESM:000 Idle;J\n\
                 SBPS:Ethernet 100 [Mbps];<\nTIME:0N90;@\nSTAT:Stable 000 no error.;f\n\n";
    assert_eq!(read(state).lines.len(), 7);
    let old = "PP\n00P\nMODL:URG-04LX(Hokuyo Automatic Co.,Ltd.);N\nDMIN:20;4\nDMAX:5600;_\nARES:1024;\\\n\
               AMIN:44;7\nAMAX:725;o\nAFRT:384;6\nSCAN:600;e\n\n";
    assert_eq!(read(old).lines.len(), 8);
    assert_eq!(read("SCIP2.0\n0\n\n").status, Status::Scip1(b'0'));
}

fn format(name: Name) -> ScanFormat {
    name.scan().unwrap().format
}

fn step(echoes: &[(u32, u32)]) -> Step {
    let all: Vec<Echo> = echoes
        .iter()
        .map(|(distance, intensity)| Echo { distance: *distance, intensity: *intensity })
        .collect();
    Step { first: all[0], others: all[1..].to_vec() }
}

/// Checks that a scan of `steps` is written with the data block `data`, and that the text is read as the same scan.
fn holds(echo: &str, status: &str, name: Name, steps: &[&[(u32, u32)]], data: &str) {
    let steps: Vec<Step> = steps.iter().map(|echoes| step(echoes)).collect();
    let scan = ScanData { time_ms: 123_456, steps };
    let text = format!("{echo}\n{status}\n0N90W\n{data}\n\n");
    let code = [status.as_bytes()[0], status.as_bytes()[1]];
    let lines = scan.lines(format(name));
    let message = Message { echo: echo.into(), status: Status::Code(code), lines };
    assert_eq!(String::from_utf8(message.to_bytes()).unwrap(), text);
    assert_eq!(ScanData::parse(format(name), &read(&text).lines), Ok(scan));
}

#[test]
fn data_blocks_are_cut_every_64_characters() {
    let values: Vec<[(u32, u32); 1]> = (1000..=1024).map(|value| [(value, 0)]).collect();
    let values: Vec<&[(u32, u32)]> = values.iter().map(|value| &value[..]).collect();
    let data = "0?X0?Y0?Z0?[0?\\0?]0?^0?_0?`0?a0?b0?c0?d0?e0?f0?g0?h0?i0?j0?k0?l0E\n?m0?n0?o0@07";
    holds("GD0540056401", "00P", Name::Gd, &values, data);
    // 64 values fill 3 lines of data exactly: no empty line follows.
    let scan = ScanData { time_ms: 0, steps: vec![Step::default(); 64] };
    assert_eq!(scan.lines(format(Name::Md)).len(), 1 + 3);
    let full = |name| {
        let scan = ScanData { time_ms: 0, steps: vec![Step::default(); 1081] };
        let lines = scan.lines(format(name));
        let message = Message { echo: vec![b'M'; 15], status: Status::Code(*b"99"), lines };
        assert_eq!(format(name).message_len(15, 1081), message.to_bytes().len());
        (message.lines.len() - 1, message.to_bytes().len())
    };
    assert_eq!(full(Name::Md), (51, 3372));
    assert_eq!(full(Name::Me), (102, 6717));
}

#[test]
fn scans_are_those_of_the_notes() {
    let md: [&[(u32, u32)]; 5] =
        [&[(1000, 0)], &[(1001, 0)], &[(1002, 0)], &[(1, 0)], &[(30_000, 0)]];
    holds("MD0540054401000", "99b", Name::Md, &md, "0?X0?Y0?Z0017D`4");
    holds("GD0540054401", "00P", Name::Gd, &md, "0?X0?Y0?Z0017D`4");
    let clipped: [&[(u32, u32)]; 5] =
        [&[(1000, 0)], &[(1001, 0)], &[(1002, 0)], &[(1, 0)], &[(4095, 0)]];
    holds("MS0540054401000", "99b", Name::Ms, &clipped, "?X?Y?Z01oo7");
    let me: [&[(u32, u32)]; 3] = [&[(1000, 3200)], &[(1001, 3190)], &[(1002, 3185)]];
    holds("ME0540054201000", "99b", Name::Me, &me, "0?X0b00?Y0af0?Z0aa3");
    let nd: [&[(u32, u32)]; 3] = [&[(1000, 0)], &[(1001, 0), (2500, 0)], &[(1002, 0)]];
    holds("ND0540054201000", "99b", Name::Nd, &nd, "0?X0?Y&0W40?Zi");
    let ne: [&[(u32, u32)]; 2] = [&[(1000, 3200)], &[(1001, 3000), (2500, 900)]];
    holds("NE0540054101000", "99b", Name::Ne, &ne, "0?X0b00?Y0^h&0W40>4:");
}

#[test]
fn what_is_no_scan_is_refused() {
    let lines = |texts: &[&str]| -> Vec<Line> {
        texts.iter().map(|text| Line::Data((*text).into())).collect()
    };
    let long = "0".repeat(64);
    for (name, texts) in [
        (Name::Md, &[][..]),
        (Name::Md, &["0N9"]),
        (Name::Md, &["0N90", "0?"]),
        (Name::Md, &["0N90", "0?X", "0?X"]),
        (Name::Md, &["0N90", "0?X&0?X"]),
        (Name::Nd, &["0N90", "&0?X"]),
        (Name::Nd, &["0N90", "0?X&"]),
        (Name::Me, &["0N90", &long, "0?X"]),
        (Name::Md, &["0N9p", "0?X"]),
    ] {
        assert!(ScanData::parse(format(name), &lines(texts)).is_err(), "{texts:?}");
    }
    // The checksum covers every character.
    assert_eq!(Messages.scan(b"QT\n00Q\n\n"), Err(NoFrame::Refused));
    assert_eq!(Messages.scan(b"PP\n00P\nDMIN:24;7\n\n"), Err(NoFrame::Refused));
    assert_eq!(Messages.scan(b"QT\n00P\n"), Err(NoFrame::Incomplete));
}

#[test]
fn requests_have_parameters_and_a_text() {
    let parse = |line: &'static str| Request::parse(line.as_bytes(), true);
    let request = parse("MD0000108001259;hello").unwrap();
    assert_eq!((request.name, request.text), (Name::Md, &b";hello"[..]));
    assert_eq!(request.numbers(), Ok([0, 1080, 1, 2, 59]));
    assert_eq!(request.to_bytes(), b"MD0000108001259;hello");
    assert_eq!(parse("%ST").unwrap().name, Name::St);
    assert_eq!(parse("SCIP2.0").unwrap().name, Name::Scip2);
    assert_eq!(parse("SS115200").unwrap().numbers(), Ok([115_200]));
    assert_eq!(parse("MD00x0108001259").unwrap().numbers::<5>(), Err(0));
    assert_eq!(parse("MD0000108001-59").unwrap().numbers::<5>(), Err(3));
    for (line, error) in [
        ("MD000010800125", RequestError::TooShort),
        ("TM", RequestError::TooShort),
        ("XX", RequestError::Unknown),
        ("%XX", RequestError::Unknown),
        ("qt", RequestError::Unknown),
        ("QTabc", RequestError::TooLong),
        ("QT;12345678901234567", RequestError::LongText),
        ("QT;\t", RequestError::BadCharacter),
    ] {
        assert_eq!(parse(line), Err(error), "{line}");
    }
    assert_eq!(Request::parse(b"QTabc", false).unwrap().text, b"abc");
    for name in Name::all() {
        assert_eq!(Name::of_word(name.word()), Some(name));
    }
}

#[test]
fn lines_end_with_any_end() {
    let lines = |text: &[u8], portion: usize| {
        let mut reader = RequestLines::default();
        let mut found = Vec::new();
        for mut piece in text.chunks(portion) {
            found.extend(std::iter::from_fn(|| reader.next_line(&mut piece)));
        }
        found
    };
    for portion in [1, 2, 3, 100] {
        let found = lines(b"\n\nQT\r\nPP\rVV\n\x02000EAR00A012\x03II\nBM", portion);
        let texts: Vec<_> = found.iter().map(|line| String::from_utf8_lossy(&line.bytes)).collect();
        assert_eq!(texts, ["QT", "PP", "VV", "II"]);
        assert!(found.iter().all(|line| !line.is_too_long));
        let long = [&[b'x'; 500][..], b"\nQT\n"].concat();
        let found = lines(&long, portion);
        assert_eq!((found[0].bytes.len(), found[0].is_too_long), (LONGEST_REQUEST, true));
        assert_eq!((found[1].bytes.as_slice(), found[1].is_too_long), (&b"QT"[..], false));
    }
}

#[test]
fn messages_are_found_between_other_bytes() {
    let mut stream = b"\x00garbage\nQT\n00P\n\nMD0540054401000\n99b\n0N90W\n0?X\n".to_vec();
    stream.extend(b"PP\n00P\nDMIN:23;7\n\nVV\n0Ee\n\n");
    let echoes: Vec<Vec<u8>> =
        Framer::new(Messages).frames(&stream).into_iter().map(|message| message.echo).collect();
    assert_eq!(echoes, [b"QT".to_vec(), b"PP".to_vec(), b"VV".to_vec()]);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        time_ms in 0u32..1 << 24,
        values in prop::collection::vec(
            prop::collection::vec((0u32..4096, 0u32..1 << 18), 1..4), 0..100),
    ) {
        for name in [Name::Md, Name::Ms, Name::Me, Name::Nd, Name::Ne] {
            let format = format(name);
            let steps = values.iter().map(|echoes| {
                let mut step = step(echoes);
                if !format.has_echoes {
                    step.others.clear();
                }
                if !format.has_intensity {
                    step.first.intensity = 0;
                    step.others.iter_mut().for_each(|echo| echo.intensity = 0);
                }
                step
            });
            let scan = ScanData { time_ms, steps: steps.collect() };
            let message =
                Message { echo: b"X".to_vec(), status: Status::Code(*b"99"), lines: scan.lines(format) };
            let (read, length) = Messages.scan(&message.to_bytes()).unwrap();
            prop_assert_eq!(length, message.to_bytes().len());
            prop_assert_eq!(ScanData::parse(format, &read.lines), Ok(scan));
        }
    }
}
