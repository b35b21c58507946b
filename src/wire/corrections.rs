//! RTCM 3 messages as a rover reads them: station, systems and epoch of corrections.
//!
//! `rtcm-rs` decodes 1005 and 1006 (the base's antenna), MSM4 to MSM7 of GPS, GLONASS, Galileo and BeiDou
//! (observations), and 1230 (GLONASS biases). u-blox's 4072 is recognised by its number, because its content is not
//! published.

use glam::DVec3;
use rtcm_rs::{Message as Rtcm, MessageFrame};

use super::rtcm::{LIGHT_M_MS, System};

/// A correction message of a base.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// The message's number.
    pub number: u16,
    /// Subtype of a message 4072; otherwise 0.
    pub sub_type: u16,
    /// Number of the base station; 0 for a message 4072, whose content is not published.
    pub station: u16,
    /// The part of the content that a rover uses.
    pub content: Content,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Reference point of the base's antenna, and the antenna's height above it.
    Place {
        /// Earth-centred, Earth-fixed position of the reference point, metres.
        ecef_m: DVec3,
        /// Height of the antenna above the reference point, metres; 0 in a message 1005.
        height_m: f64,
    },
    /// Observations of one satellite system at an instant.
    Observations(Observations),
    /// Biases between GLONASS signals. A rover needs them to fix GLONASS ambiguities.
    GlonassBiases,
    /// 4072.0 and 4072.1: messages of a base that may move.
    MovingBase,
    /// A message that a rover does not need.
    Other,
    /// The content is invalid, or the CRC is wrong (see [`Correction::damaged`]).
    Corrupt,
}

/// Observations of one system at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    /// System of the satellites.
    pub system: System,
    /// Time of week of the satellite system, milliseconds; for GLONASS, time of day.
    pub epoch_ms: u32,
    /// Observed signals, at most 64.
    pub signals: Vec<Observed>,
}

/// A signal of a satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Number of the satellite within its system.
    pub svid: u8,
    /// Band of the signal in RINEX's numbering.
    pub band: u8,
    /// Pseudorange, metres.
    pub pseudorange_m: f64,
    /// Carrier phase as a distance, metres, with an unknown integer number of wavelengths; `None` if the message lacks
    /// it.
    pub phase_m: Option<f64>,
}

/// Converts an MSM message to [`Observations`]. Arguments for each message: variant, system, and the names of the
/// fields with the epoch, the fine pseudorange and the fine phase range.
macro_rules! observations {
    ($message:expr; $($variant:ident $system:ident $epoch:ident $code:ident $phase:ident;)*) => {
        match $message {
            $(Rtcm::$variant(m) => {
                let satellites = &m.data_segment.satellite_data;
                let signals = m.data_segment.signal_data.iter().filter_map(|signal| {
                    let satellite =
                        satellites.iter().find(|s| s.satellite_id == signal.satellite_id)?;
                    let whole_ms = satellite.gnss_satellite_rough_range_integer_ms?;
                    let rough_ms =
                        f64::from(whole_ms) + satellite.gnss_satellite_rough_range_mod1ms_ms;
                    let range_m = |fine_ms: f64| (rough_ms + fine_ms) * LIGHT_M_MS;
                    Some(Observed {
                        svid: signal.satellite_id,
                        band: signal.signal_id.band(),
                        pseudorange_m: range_m(signal.$code?),
                        phase_m: signal.$phase.map(range_m),
                    })
                });
                Some(Observations {
                    system: System::$system,
                    epoch_ms: m.$epoch,
                    signals: signals.collect(),
                })
            })*
            _ => None,
        }
    };
}

impl Correction {
    /// Reads a message with header and CRC; `None` if the CRC is wrong or the message has no number.
    pub fn parse(message: &[u8]) -> Option<Self> {
        let frame = MessageFrame::new(message).ok()?;
        let head = Self::damaged(frame.data())?;
        let of = |content| Some(Self { content, ..head });
        if head.number == 4072 {
            return of(if head.sub_type <= 1 { Content::MovingBase } else { Content::Other });
        }
        let rtcm = frame.get_message();
        let place = |x, y, z, height_m| Content::Place { ecef_m: DVec3::new(x, y, z), height_m };
        match &rtcm {
            Rtcm::Corrupt => return of(Content::Corrupt),
            Rtcm::Msg1005(m) => {
                return of(place(
                    m.antenna_ref_point_ecef_x_m,
                    m.antenna_ref_point_ecef_y_m,
                    m.antenna_ref_point_ecef_z_m,
                    0.0,
                ));
            }
            Rtcm::Msg1006(m) => {
                return of(place(
                    m.antenna_ref_point_ecef_x_m,
                    m.antenna_ref_point_ecef_y_m,
                    m.antenna_ref_point_ecef_z_m,
                    m.antenna_height_m,
                ));
            }
            Rtcm::Msg1230(_) => return of(Content::GlonassBiases),
            _ => {}
        }
        let observations = observations!(rtcm;
            Msg1074 Gps gps_epoch_time_ms gnss_signal_fine_pseudorange_ms gnss_signal_fine_phaserange_ms;
            Msg1075 Gps gps_epoch_time_ms gnss_signal_fine_pseudorange_ms gnss_signal_fine_phaserange_ms;
            Msg1076 Gps gps_epoch_time_ms gnss_signal_fine_pseudorange_ext_ms gnss_signal_fine_phaserange_ext_ms;
            Msg1077 Gps gps_epoch_time_ms gnss_signal_fine_pseudorange_ext_ms gnss_signal_fine_phaserange_ext_ms;
            Msg1084 Glonass glo_epoch_time_ms gnss_signal_fine_pseudorange_ms gnss_signal_fine_phaserange_ms;
            Msg1085 Glonass glo_epoch_time_ms gnss_signal_fine_pseudorange_ms gnss_signal_fine_phaserange_ms;
            Msg1086 Glonass glo_epoch_time_ms gnss_signal_fine_pseudorange_ext_ms gnss_signal_fine_phaserange_ext_ms;
            Msg1087 Glonass glo_epoch_time_ms gnss_signal_fine_pseudorange_ext_ms gnss_signal_fine_phaserange_ext_ms;
            Msg1094 Galileo gal_epoch_time_ms gnss_signal_fine_pseudorange_ms gnss_signal_fine_phaserange_ms;
            Msg1095 Galileo gal_epoch_time_ms gnss_signal_fine_pseudorange_ms gnss_signal_fine_phaserange_ms;
            Msg1096 Galileo gal_epoch_time_ms gnss_signal_fine_pseudorange_ext_ms gnss_signal_fine_phaserange_ext_ms;
            Msg1097 Galileo gal_epoch_time_ms gnss_signal_fine_pseudorange_ext_ms gnss_signal_fine_phaserange_ext_ms;
            Msg1124 Beidou bds_epoch_time_ms gnss_signal_fine_pseudorange_ms gnss_signal_fine_phaserange_ms;
            Msg1125 Beidou bds_epoch_time_ms gnss_signal_fine_pseudorange_ms gnss_signal_fine_phaserange_ms;
            Msg1126 Beidou bds_epoch_time_ms gnss_signal_fine_pseudorange_ext_ms gnss_signal_fine_phaserange_ext_ms;
            Msg1127 Beidou bds_epoch_time_ms gnss_signal_fine_pseudorange_ext_ms gnss_signal_fine_phaserange_ext_ms;
        );
        of(observations.map_or(Content::Other, Content::Observations))
    }

    /// Reads only the header of a message with a wrong CRC. The number and the station may be wrong, too. `payload` is
    /// the part after the length. `None` if it is too short for a message number.
    pub fn damaged(payload: &[u8]) -> Option<Self> {
        let twelve_bits = |at: usize| {
            let byte = |n: usize| payload.get(at / 8 + n).copied().map(u16::from);
            match at % 8 {
                0 => Some(byte(0)? << 4 | byte(1)? >> 4),
                _ => Some((byte(0)? & 15) << 8 | byte(1)?),
            }
        };
        let number = twelve_bits(0)?;
        let second = twelve_bits(12).unwrap_or(0);
        let (sub_type, station) = if number == 4072 { (second, 0) } else { (0, second) };
        Some(Self { number, sub_type, station, content: Content::Corrupt })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::checksum;

    fn hex(text: &str) -> Vec<u8> {
        text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    }

    fn framed(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xd3, (payload.len() >> 8) as u8, payload.len() as u8];
        bytes.extend(payload);
        let crc = checksum::crc24q(&bytes).to_be_bytes();
        bytes.extend(&crc[1..]);
        bytes
    }

    /// The example of RTCM 10403.1, 4.2.
    #[test]
    fn the_example_of_the_standard_is_a_place() {
        let message =
            hex("d3 00 13 3e d7 d3 02 02 98 0e de ef 34 b4 bd 62 ac 09 41 98 6f 33 36 0b 98");
        let read = Correction::parse(&message).unwrap();
        assert_eq!((read.number, read.station), (1005, 2003));
        let Content::Place { ecef_m, height_m } = read.content else { panic!("{read:?}") };
        let expected = DVec3::new(1_114_104.599_9, -4_850_729.710_8, 3_975_521.464_3);
        assert!((ecef_m - expected).length() < 1e-4, "{ecef_m}");
        assert_eq!(height_m, 0.0);
    }

    #[test]
    fn what_cannot_be_read_is_nothing_or_corrupt() {
        let mut message = framed(&[0x3e, 0xd7, 0xd3]);
        assert_eq!(Correction::parse(&message).unwrap().content, Content::Corrupt, "too short");
        message[4] ^= 1;
        assert_eq!(Correction::parse(&message), None, "wrong CRC");
        assert_eq!(Correction::parse(&framed(&[])), None, "no number");
        let moving = Correction::parse(&framed(&[0xfe, 0x80, 0x00, 0x12])).unwrap();
        assert_eq!((moving.number, moving.content), (4072, Content::MovingBase));
        let other = Correction::parse(&framed(&[0xfe, 0x80, 0x40, 0x12])).unwrap();
        assert_eq!((other.sub_type, other.content), (64, Content::Other));
    }

    proptest! {
        /// Arbitrary content causes no panic, and no signal is outside the format's range.
        #[test]
        fn any_content_is_read_without_harm(
            number in prop_oneof![1001_u16..1300, 4072_u16..4073, any::<u16>()],
            rest in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let mut payload = vec![(number >> 4) as u8, (number << 4) as u8];
            payload.extend(&rest);
            let read = Correction::parse(&framed(&payload)).unwrap();
            if let Content::Observations(all) = read.content {
                prop_assert!(all.signals.len() <= 64);
                prop_assert!(all.signals.iter().all(|s| s.pseudorange_m.is_finite()));
            }
        }
    }
}
