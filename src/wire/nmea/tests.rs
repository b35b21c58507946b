use proptest::prelude::*;

use super::*;

/// Sentences of real receivers: ZED-F9P with and without a fix and in high precision, NEO-M8 with NMEA 4.0, Garmin
/// 18x LVC with 2.0 and 2.3.
const GOLDEN: &[&str] = &[
    "$GNRMC,092725.00,A,4717.11399,N,00833.91590,E,0.004,,211126,,,A,V*16",
    "$GNVTG,,T,,M,0.004,N,0.008,K,A*31",
    "$GNGGA,092725.00,4717.11399,N,00833.91590,E,1,12,0.64,499.6,M,48.0,M,,*4C",
    "$GNGSA,A,3,05,10,13,15,20,21,27,29,,,,,1.05,0.64,0.83,1*01",
    "$GPGSV,2,1,05,05,06,110,19,10,24,284,34,13,37,124,29,15,63,083,11,1*67",
    "$GPGSV,2,2,05,20,52,273,,1*52",
    "$GNGLL,4717.11399,N,00833.91590,E,092725.00,A,A*76",
    "$GNGST,092725.00,23,,,,2.3,3.5,4.0*40",
    "$GNZDA,092725.00,21,11,2026,00,00*76",
    "$GNGNS,092725.00,4717.11399,N,00833.91590,E,AANN,12,0.64,499.6,48.0,,,V*1C",
    "$GNGGA,092725.00,4717.1139912,N,00833.9159034,E,4,12,0.49,499.612,M,48.000,M,1.0,0000*6E",
    "$GNRMC,,V,,,,,,,,,,N,V*37",
    "$GNVTG,,,,,,,,,N*2E",
    "$GNGGA,,,,,,0,00,99.99,,,,,,*56",
    "$GNGSA,A,1,,,,,,,,,,,,,99.99,99.99,99.99,1*33",
    "$GPGSV,1,1,00,1*64",
    "$GNGLL,,,,,,V,N*7A",
    "$GNGST,,,,,,,,*49",
    "$GNZDA,,,,,00,00*56",
    "$GNGNS,,,,,,NNNN,00,99.99,,,,,V*07",
    "$GPRMC,092725.00,A,4717.11399,N,00833.91590,E,0.004,,211126,,,A*72",
    "$GPGSA,A,3,05,10,13,15,20,21,27,29,,,,,1.94,1.01,1.66*02",
    "$GPGSV,2,1,08,05,06,110,19,10,24,284,34,13,37,124,29,15,63,083,11*77",
    "$GPRMC,092725,A,4717.1140,N,00833.9159,E,000.0,000.0,211126,002.9,E*7C",
    "$GPRMC,092725,A,4717.1140,N,00833.9159,E,000.0,000.0,211126,002.9,E,A*11",
    "$GPGGA,092725,4717.1140,N,00833.9159,E,1,08,1.0,499.6,M,48.0,M,,*43",
    "$GPRMC,092725,V,,,,,,,211126,002.9,E,N*3F",
    "$GNTXT,01,01,02,u-blox AG - www.u-blox.com*4E",
    "$GNTXT,01,01,02,ANTSUPERV=AC SD PDoS SR*3E",
    "$GNGBS,003956.00,2.3,3.5,4.0,,,,,,*55",
];

fn line(text: &str) -> Vec<u8> {
    format!("{text}\r\n").into_bytes()
}

#[test]
fn golden_sentences_survive_with_their_meaning() {
    for text in GOLDEN {
        let raw = RawSentence::parse(&line(text)).unwrap_or_else(|e| panic!("{text}: {e}"));
        let sentence = Sentence::from_raw(&raw).expect("a known type");
        let sentence = sentence.unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(String::from_utf8(sentence.to_bytes()).unwrap(), format!("{text}\r\n"));
    }
}

#[test]
fn proprietary_sentences_keep_their_fields() {
    for text in ["$PUBX,00*33", "$PGRMO,,2*75", "$PGRMCE*0E", "$PGRME,3.0,M,5.0,M,6.0,M*2E"] {
        let raw = RawSentence::parse(&line(text)).unwrap();
        assert_eq!(raw.to_bytes(), line(text));
        assert!(Sentence::from_raw(&raw).is_none());
    }
}

#[test]
fn meaning_is_right() {
    let raw = RawSentence::parse(&line(GOLDEN[0])).unwrap();
    let Content::Rmc(rmc) = Sentence::from_raw(&raw).unwrap().unwrap().content else { panic!() };
    let at = rmc.position.unwrap();
    assert!((at.latitude_deg() - 47.285_233_167).abs() < 1e-9);
    assert!((at.longitude_deg() - 8.565_265).abs() < 1e-9);
    assert_eq!(rmc.time.unwrap().hms(), (9, 27, 25.0));
    assert_eq!(rmc.date.unwrap().ymd(), (26, 11, 21));
    assert_eq!(rmc.course_deg, None);
    assert_eq!(rmc.speed_kn.unwrap().to_f64(), 0.004);
    assert_eq!((rmc.mode, rmc.navigation_status), (Tail::Value('A'), Tail::Value('V')));
}

#[test]
fn wrong_sentences_are_refused() {
    for text in [
        "$GNVTG,,,,,,,,,N*2F\r\n", // checksum
        "$GPGSV,1,1,00,1*64\n",    // line end
        "GPGSV,1,1,00,1*64\r\n",   // no $
        "$PGRMCE*0e\r\n",          // lower case
        "$*00\r\n",                // no address
        "$GN\x01*08\r\n",
    ] {
        assert!(RawSentence::parse(text.as_bytes()).is_err(), "{text:?}");
    }
    for fields in [
        "GNGLL,4760.00000,N,00833.91590,E,092725.00,A,A",
        "GNGLL,9100.00000,N,00833.91590,E,092725.00,A,A",
        "GNGLL,4717.00000,X,00833.91590,E,092725.00,A,A",
        "GNGLL,4717.00000,N,00833.91590,,092725.00,A,A",
        "GNGLL,4717.00000,N,00833.91590,E,246000.00,A,A",
        "GNGLL,4717.00000,N,00833.91590,E,092725.00,A,A,A",
        "GNGLL,4717.00000,N,00833.91590,E",
        "GNZDA,,,,5.,00,00",
    ] {
        let mut parts = fields.split(',');
        let raw = RawSentence::new(parts.next().unwrap(), parts);
        assert!(Sentence::from_raw(&raw).unwrap().is_err(), "{fields}");
    }
}

#[test]
fn a_missing_checksum_is_accepted_only_where_it_is_allowed() {
    let raw = RawSentence::parse_optional_checksum(b"$PGRMO,,2\r\n").unwrap();
    assert_eq!(raw.to_bytes(), b"$PGRMO,,2*75\r\n");
    assert_eq!(RawSentence::parse_optional_checksum(&raw.to_bytes()).unwrap(), raw);
    for text in ["$PGRMO,,2*76\r\n", "$PGRMO,,2*\r\n", "$PGRMO,,2\n", "PGRMCE\r\n", "$\r\n"] {
        assert!(RawSentence::parse_optional_checksum(text.as_bytes()).is_err(), "{text:?}");
    }
    assert!(RawSentence::parse(b"$PGRMO,,2\r\n").is_err());
}

#[test]
fn minutes_carry_into_degrees() {
    let angle = |degrees, decimals| Angle::from_degrees(degrees, 2, decimals).to_string();
    assert_eq!(angle(46.999_999_999_9, 5), "4700.00000");
    assert_eq!(angle(-0.5, 4), "0030.0000");
    assert_eq!(
        Position::from_degrees(-0.1, -179.999_999_999_99, 4).longitude.to_string(),
        "18000.0000"
    );
}

#[test]
fn numbers_round_and_pad() {
    assert_eq!(Number::from_f64(-0.04, 1).to_string(), "0.0");
    assert_eq!(Number::from_f64(-28.64, 1).to_string(), "-28.6");
    assert_eq!(Number::from_f64(7.25, 1).padded(3).to_string(), "007.3");
    assert_eq!(Number::from_f64(f64::NAN, 1).to_string(), "0.0");
    assert_eq!(Time::new(9, 27, 25, 999_999_999, 2).to_string(), "092725.99");
    assert_eq!(Date::new(2026, 11, 21).to_string(), "211126");
}

proptest! {
    #[test]
    fn what_is_accepted_comes_back(
        address in "(G[NPLAB](GGA|RMC|GSA|GSV|GLL|VTG|GST|ZDA|GNS|GBS|TXT)|P[A-Z]{2,5})",
        fields in prop::collection::vec("(|[0-9]{1,4}|-?[0-9]{2,5}\\.[0-9]{0,5}|[A-Z]|[ -~]{0,6})", 0..20),
    ) {
        let mut body = format!("{address},{}", fields.join(","));
        body.retain(|c| c != '$' && c != '*');
        let sum = body.bytes().fold(0, |sum, b| sum ^ b);
        let bytes = format!("${body}*{sum:02X}\r\n").into_bytes();
        let raw = RawSentence::parse(&bytes).unwrap();
        prop_assert_eq!(raw.to_bytes(), bytes.clone());
        if let Some(Ok(sentence)) = Sentence::from_raw(&raw) {
            prop_assert_eq!(sentence.to_bytes(), bytes);
        }
    }

    #[test]
    fn angles_are_kept_within_half_a_digit(degrees in -180.0..180.0_f64, decimals in 3_u8..8) {
        let back = Position::from_degrees(degrees / 2.0, degrees, decimals);
        let half = 0.5 / 60.0 / 10_f64.powi(decimals.into()) + 1e-12;
        prop_assert!((back.longitude_deg() - degrees).abs() <= half);
        prop_assert!((back.latitude_deg() - degrees / 2.0).abs() <= half);
    }
}
