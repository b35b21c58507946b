//! RTCM 3.3 messages of a base station, as u-blox receivers send them: 1005, MSM4 and MSM7 of GPS,
//! GLONASS, Galileo and BeiDou, 1230, and u-blox's own 4072.
//!
//! Source: RTCM 10403.3, as implemented in `rtcm-rs`, which has all messages except 4072. u-blox has not published
//! the content of 4072 after number and subtype; the content in [`moving_base`] is Menura's own.

use rtcm_rs::msg::*;
use rtcm_rs::prelude::{Message, MessageBuilder};

use super::checksum::crc24q;
use super::navigation::Bits;

/// Satellite system of a multiple signal message (MSM).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// GPS, messages 107x.
    Gps,
    /// GLONASS, messages 108x.
    Glonass,
    /// Galileo, messages 109x.
    Galileo,
    /// BeiDou, messages 112x.
    Beidou,
}

/// Measurements of one signal in a multiple signal message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Number of the satellite within the system.
    pub satellite: u8,
    /// Band and attribute of the signal's RINEX code, such as `1C`.
    pub code: (u8, char),
    /// Pseudorange without the receiver's clock error, metres.
    pub code_m: f64,
    /// Carrier phase as a distance, metres; it must differ from the pseudorange by less than a kilometre.
    pub carrier_m: f64,
    /// Rate of the carrier phase, m/s.
    pub rate_m_s: f64,
    /// Carrier-to-noise ratio, dB-Hz.
    pub cno_dbhz: f64,
    /// Time for which the carrier has been tracked, ms.
    pub lock_ms: u64,
    /// Frequency slot (GLONASS only).
    pub slot: i8,
}

/// Station and time of a multiple signal message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head {
    /// Number of the station, 0 to 4095.
    pub station: u16,
    /// GPS time, ms since the GPS epoch.
    pub gps_ms: i64,
    /// GPS minus UTC, seconds.
    pub leap_s: i8,
    /// Whether another multiple signal message of the same instant follows.
    pub has_more: bool,
}

const WEEK_MS: i64 = 604_800_000;
const DAY_MS: i64 = 86_400_000;
/// Distance that light travels in a millisecond, metres.
pub(super) const LIGHT_M_MS: f64 = 299_792.458;

/// Message 1005: Earth-centred, Earth-fixed position of the antenna reference point, metres. `None` if it cannot be
/// encoded.
pub fn station(station: u16, ecef_m: [f64; 3]) -> Option<Vec<u8>> {
    bytes(&Message::Msg1005(Msg1005T {
        reference_station_id: station,
        gps_flag: 1,
        glonass_flag: 1,
        galileo_flag: 1,
        antenna_ref_point_ecef_x_m: ecef_m[0],
        antenna_ref_point_ecef_y_m: ecef_m[1],
        antenna_ref_point_ecef_z_m: ecef_m[2],
        single_receiver_osc_ind: 1,
        ..Msg1005T::default()
    }))
}

/// Message 1230: zero biases between GLONASS codes and carriers. `None` if it cannot be encoded.
pub fn glonass_biases(station: u16) -> Option<Vec<u8>> {
    let mut glo_code_phase_biases = rtcm_rs::util::DataVec::new();
    for band in [1, 2] {
        let signal_id = GloSigId::new(band, 'C');
        glo_code_phase_biases.push(Msg1230CodePhaseBias { signal_id, bias_m: 0.0 });
    }
    bytes(&Message::Msg1230(Msg1230T {
        reference_station_id: station,
        glo_code_phase_bias_ind: 1,
        glo_code_phase_biases,
    }))
}

/// Message 4072.0: Earth-centred, Earth-fixed position and velocity of a moving base, in metres and m/s, encoded in
/// units of 0.1 mm and 0.1 mm/s. Without `place_and_velocity`: message 4072.1, which has only station and time.
pub fn moving_base(
    station: u16,
    gps_ms: i64,
    place_and_velocity: Option<[[f64; 3]; 2]>,
) -> Vec<u8> {
    let sub_type = i64::from(place_and_velocity.is_none());
    let mut body = Bits::default()
        .put(4072, 12)
        .put(sub_type, 12)
        .put(station.into(), 12)
        .put(gps_ms.rem_euclid(WEEK_MS), 30);
    if let Some([place, velocity]) = place_and_velocity {
        let tenths = |metres: f64| (metres * 1e4).round() as i64;
        body = place.into_iter().fold(body, |body, m| body.put(tenths(m), 38));
        body = velocity.into_iter().fold(body, |body, m| body.put(tenths(m), 32));
    }
    let body = body.bytes();
    let mut frame = vec![0xd3, (body.len() >> 8) as u8, body.len() as u8];
    frame.extend(body);
    let crc = crc24q(&frame).to_be_bytes();
    frame.extend(&crc[1..]);
    frame
}

fn bytes(message: &Message) -> Option<Vec<u8>> {
    MessageBuilder::new().build_message(message).ok().map(<[u8]>::to_vec)
}

/// The multiple signal message of a system: MSM7 with full, precise measurements if `is_full`, otherwise the compact
/// MSM4. `None` if there are more than 64 combinations of satellite and signal code, or the message cannot be encoded.
pub fn multiple_signals(
    system: System,
    is_full: bool,
    head: &Head,
    signals: &[Signal],
) -> Option<Vec<u8>> {
    let tow_ms = head.gps_ms.rem_euclid(WEEK_MS) as u32;
    let beidou_ms = (head.gps_ms - 14_000).rem_euclid(WEEK_MS) as u32;
    // GLONASS counts days in Moscow time, which is three hours ahead of UTC.
    let moscow_ms = (head.gps_ms - i64::from(head.leap_s) * 1000 + 10_800_000).rem_euclid(WEEK_MS);
    let day = Some((moscow_ms / DAY_MS) as u8);
    let day_ms = (moscow_ms % DAY_MS) as u32;
    let rough = rough(signals);

    macro_rules! compact {
        ($message:ident, $body:ident, $data:ident, $row:ident, $id:ident, $time:tt) => {{
            let mut data = $data::default();
            for (satellite_id, range, _, _) in &rough {
                data.satellite_data.push(Msm46Sat {
                    satellite_id: *satellite_id,
                    gnss_satellite_rough_range_integer_ms: Some((range / 1024) as u8),
                    gnss_satellite_rough_range_mod1ms_ms: (range % 1024) as f64 / 1024.0,
                });
            }
            for (signal, fine) in fine(signals, &rough) {
                data.signal_data.push($row {
                    satellite_id: signal.satellite,
                    signal_id: $id::new(signal.code.0, signal.code.1),
                    gnss_signal_fine_pseudorange_ms: Some(fine.code_ms),
                    gnss_signal_fine_phaserange_ms: Some(fine.carrier_ms),
                    gnss_phaserange_lock_time_ind: lock_indicator(signal.lock_ms),
                    half_cycle_ambiguity_ind: 0,
                    gnss_signal_cnr_dbhz: Some(signal.cno_dbhz.round() as u8),
                });
            }
            msm!($message, $body, data, $time)
        }};
    }
    macro_rules! full {
        (
            $message:ident, $body:ident, $data:ident,
            $sat:ident { $($slot:ident)? $(, $reserved:ident)? },
            $row:ident, $id:ident, $time:tt
        ) => {{
            let mut data = $data::default();
            for (satellite_id, range, rate, _slot) in &rough {
                data.satellite_data.push($sat {
                    satellite_id: *satellite_id,
                    gnss_satellite_rough_range_integer_ms: Some((range / 1024) as u8),
                    gnss_satellite_rough_range_mod1ms_ms: (range % 1024) as f64 / 1024.0,
                    gnss_satellite_rough_phaserange_rates_m_s: Some(rate.round() as i16),
                    $($slot: Some(*_slot),)?
                    $($reserved: Default::default(),)?
                });
            }
            for (signal, fine) in fine(signals, &rough) {
                data.signal_data.push($row {
                    satellite_id: signal.satellite,
                    signal_id: $id::new(signal.code.0, signal.code.1),
                    gnss_signal_fine_pseudorange_ext_ms: Some(fine.code_ms),
                    gnss_signal_fine_phaserange_ext_ms: Some(fine.carrier_ms),
                    gnss_phaserange_lock_time_ext_ind: fine_lock_indicator(signal.lock_ms),
                    half_cycle_ambiguity_ind: 0,
                    gnss_signal_cnr_ext_dbhz: Some(signal.cno_dbhz),
                    gnss_signal_fine_phaserange_rate_m_s: Some(fine.rate_m_s),
                });
            }
            msm!($message, $body, data, $time)
        }};
    }
    macro_rules! msm {
        ($message:ident, $body:ident, $data:ident, { $($time:ident: $value:expr),+ }) => {
            Message::$message($body {
                reference_station_id: head.station,
                $($time: $value,)+
                msm_multiple_message_flag: head.has_more.into(),
                data_segment: $data,
                ..$body::default()
            })
        };
    }
    if rough.len() * codes(signals) > MAX_SIGNALS {
        return None;
    }
    let message = match (system, is_full) {
        (System::Gps, false) => compact!(
            Msg1074, Msg1074T, Msg1074Data, Msg1074Sig, GpsSigId,
            { gps_epoch_time_ms: tow_ms }
        ),
        (System::Glonass, false) => compact!(
            Msg1084, Msg1084T, Msg1084Data, Msg1084Sig, GloSigId,
            { glo_day_of_week: day, glo_epoch_time_ms: day_ms }
        ),
        (System::Galileo, false) => compact!(
            Msg1094, Msg1094T, Msg1094Data, Msg1094Sig, GalSigId,
            { gal_epoch_time_ms: tow_ms }
        ),
        (System::Beidou, false) => compact!(
            Msg1124, Msg1124T, Msg1124Data, Msg1124Sig, BdsSigId,
            { bds_epoch_time_ms: beidou_ms }
        ),
        (System::Gps, true) => full!(
            Msg1077, Msg1077T, Msg1077Data, Msm57Sat { , reserved_8_4 }, Msg1077Sig, GpsSigId,
            { gps_epoch_time_ms: tow_ms }
        ),
        (System::Glonass, true) => full!(
            Msg1087, Msg1087T, Msg1087Data,
            Msm57GloSat { glonass_satellite_frequency_channel_number }, Msg1087Sig, GloSigId,
            { glo_day_of_week: day, glo_epoch_time_ms: day_ms }
        ),
        (System::Galileo, true) => full!(
            Msg1097, Msg1097T, Msg1097Data, Msm57Sat { , reserved_8_4 }, Msg1097Sig, GalSigId,
            { gal_epoch_time_ms: tow_ms }
        ),
        (System::Beidou, true) => full!(
            Msg1127, Msg1127T, Msg1127Data, Msm57Sat { , reserved_8_4 }, Msg1127Sig, BdsSigId,
            { bds_epoch_time_ms: beidou_ms }
        ),
    };
    bytes(&message)
}

/// Largest number of cells (combinations of satellite and signal) in a message.
const MAX_SIGNALS: usize = 64;

/// Number of different signal codes.
fn codes(signals: &[Signal]) -> usize {
    let mut codes: Vec<_> = signals.iter().map(|signal| signal.code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.len()
}

/// For each satellite: number, rough range in 1/1024 ms, rough rate in m/s, frequency slot.
fn rough(signals: &[Signal]) -> Vec<(u8, i64, f64, i8)> {
    let mut rough: Vec<(u8, i64, f64, i8)> = Vec::new();
    for signal in signals {
        if rough.iter().all(|(satellite, ..)| *satellite != signal.satellite) {
            let range = (signal.code_m / LIGHT_M_MS * 1024.0).round() as i64;
            rough.push((signal.satellite, range, signal.rate_m_s.round(), signal.slot));
        }
    }
    rough
}

/// Differences of a signal from the satellite's rough range and rate.
struct Fine {
    code_ms: f64,
    carrier_ms: f64,
    rate_m_s: f64,
}

fn fine<'a>(
    signals: &'a [Signal],
    rough: &'a [(u8, i64, f64, i8)],
) -> impl Iterator<Item = (&'a Signal, Fine)> {
    signals.iter().filter_map(|signal| {
        let (_, range, rate, _) =
            rough.iter().find(|(satellite, ..)| *satellite == signal.satellite)?;
        let range_ms = *range as f64 / 1024.0;
        let fine = Fine {
            code_ms: signal.code_m / LIGHT_M_MS - range_ms,
            carrier_ms: signal.carrier_m / LIGHT_M_MS - range_ms,
            rate_m_s: signal.rate_m_s - rate,
        };
        Some((signal, fine))
    })
}

/// DF402, code of the minimum lock time: 0 below 32 ms, 1 from 32 ms, 2 from 64 ms, 3 from 128 ms and so on, at most
/// 15.
fn lock_indicator(lock_ms: u64) -> u8 {
    (lock_ms / 32).checked_ilog2().map_or(0, |power| (power + 1).min(15) as u8)
}

/// DF407: code of the lock time: milliseconds below 64 ms, then 32 steps per doubling of the time, at most 704.
fn fine_lock_indicator(lock_ms: u64) -> u16 {
    match lock_ms {
        0..64 => lock_ms as u16,
        67_108_864.. => 704,
        _ => {
            let power = lock_ms.ilog2() - 5;
            (lock_ms >> power) as u16 + 32 * power as u16
        }
    }
}

#[cfg(test)]
mod tests {
    use rtcm_rs::MessageFrame;

    use super::*;

    fn decoded(bytes: &[u8]) -> Message {
        MessageFrame::new(bytes).unwrap().get_message()
    }

    fn signals() -> Vec<Signal> {
        let signal = |satellite, code, code_m: f64| Signal {
            satellite,
            code,
            code_m,
            carrier_m: code_m - 40.0,
            rate_m_s: -512.345_6,
            cno_dbhz: 44.3,
            lock_ms: 100_000,
            slot: -4,
        };
        vec![
            signal(3, (1, 'C'), 22_000_000.123),
            signal(3, (2, 'L'), 22_000_003.5),
            signal(17, (1, 'C'), 25_123_456.7),
        ]
    }

    const HEAD: Head =
        Head { station: 2003, gps_ms: 2445 * WEEK_MS + 552_463_000, leap_s: 18, has_more: true };

    /// A precise message (MSM7) reproduces pseudoranges to half a millimetre, and carrier ranges and rates to a tenth
    /// of a millimetre (per second). A compact message (MSM4) is shorter.
    #[test]
    fn measurements_come_back() {
        let full = multiple_signals(System::Gps, true, &HEAD, &signals()).unwrap();
        let Message::Msg1077(message) = decoded(&full) else { panic!() };
        assert_eq!((message.reference_station_id, message.gps_epoch_time_ms), (2003, 552_463_000));
        assert_eq!(message.msm_multiple_message_flag, 1);
        let data = &message.data_segment;
        for (row, signal) in data.signal_data.iter().zip(signals()) {
            let of =
                data.satellite_data.iter().find(|s| s.satellite_id == row.satellite_id).unwrap();
            let rough_ms = f64::from(of.gnss_satellite_rough_range_integer_ms.unwrap())
                + of.gnss_satellite_rough_range_mod1ms_ms;
            let range_m = |ms: Option<f64>| (rough_ms + ms.unwrap()) * LIGHT_M_MS;
            assert!(
                (range_m(row.gnss_signal_fine_pseudorange_ext_ms) - signal.code_m).abs() < 5e-4
            );
            assert!(
                (range_m(row.gnss_signal_fine_phaserange_ext_ms) - signal.carrier_m).abs() < 1e-4
            );
            let rate = f64::from(of.gnss_satellite_rough_phaserange_rates_m_s.unwrap())
                + row.gnss_signal_fine_phaserange_rate_m_s.unwrap();
            assert!((rate - signal.rate_m_s).abs() < 1e-4);
        }
        let compact = multiple_signals(System::Gps, false, &HEAD, &signals()).unwrap();
        let Message::Msg1074(message) = decoded(&compact) else { panic!() };
        assert_eq!(message.data_segment.signal_data.len(), 3);
        assert!(compact.len() < full.len());
    }

    #[test]
    fn every_system_has_its_own_time() {
        for (system, codes) in [
            (System::Glonass, [(1, 'C'), (2, 'C')]),
            (System::Galileo, [(1, 'C'), (7, 'Q')]),
            (System::Beidou, [(2, 'I'), (7, 'I')]),
        ] {
            let all: Vec<Signal> = signals()
                .into_iter()
                .map(|s| Signal { code: codes[usize::from(s.code.0 - 1)], ..s })
                .collect();
            for is_full in [false, true] {
                let bytes = multiple_signals(system, is_full, &HEAD, &all).unwrap();
                match decoded(&bytes) {
                    Message::Msg1087(m) => {
                        // Saturday, 21 November 2026; 09:27:25 UTC in Moscow time.
                        assert_eq!((m.glo_day_of_week, m.glo_epoch_time_ms), (Some(6), 44_845_000));
                        let slot = &m.data_segment.satellite_data[0];
                        assert_eq!(slot.glonass_satellite_frequency_channel_number, Some(-4));
                    }
                    Message::Msg1127(m) => assert_eq!(m.bds_epoch_time_ms, 552_449_000),
                    Message::Msg1097(m) => assert_eq!(m.gal_epoch_time_ms, 552_463_000),
                    Message::Msg1084(_) | Message::Msg1094(_) | Message::Msg1124(_) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn places_come_back() {
        let place = [4_280_000.123_4, 640_000.5, 4_660_000.0];
        let Message::Msg1005(m) = decoded(&station(7, place).unwrap()) else { panic!() };
        assert!((m.antenna_ref_point_ecef_x_m - place[0]).abs() < 1e-9);
        assert!(matches!(decoded(&glonass_biases(7).unwrap()), Message::Msg1230(_)));
        let moving = moving_base(7, HEAD.gps_ms, Some([place, [1.0, -2.0, 0.0]]));
        assert_eq!(MessageFrame::new(&moving).unwrap().message_number(), Some(4072));
        assert_eq!((moving[3], moving[4] >> 4, moving[4] & 15, moving[5]), (0xfe, 8, 0, 0));
    }

    /// Values from the standard's tables of DF402 and DF407.
    #[test]
    fn locks_have_their_indicators() {
        for (ms, compact, fine) in [
            (0, 0, 0),
            (31, 0, 31),
            (32, 1, 32),
            (63, 1, 63),
            (64, 2, 64),
            (126, 2, 95),
            (128, 3, 96),
        ] {
            assert_eq!((lock_indicator(ms), fine_lock_indicator(ms)), (compact, fine), "{ms}");
        }
        assert_eq!((lock_indicator(524_288), fine_lock_indicator(67_108_864)), (15, 704));
    }

    #[test]
    fn no_signals_make_an_empty_message() {
        let head = Head { station: 0, gps_ms: 0, leap_s: 18, has_more: false };
        let message = multiple_signals(System::Gps, true, &head, &[]).unwrap();
        assert_eq!(MessageFrame::new(&message).unwrap().message_number(), Some(1077));
    }
}
