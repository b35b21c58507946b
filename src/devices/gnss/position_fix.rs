//! The position that a sentence or a UBX message reports.

use glam::DVec3;

use crate::decoder::readings::PositionFix;
use crate::frames::Geodetic;
use crate::sensors::gnss::settings::BestFix;
use crate::wire::nmea::Content;
use crate::wire::ubx::Message;
use crate::wire::ubx::nav::NavPvt;

const DAY_S: f64 = 86_400.0;
const WEEK_S: f64 = 604_800.0;
/// Metres per degree of latitude, approximately.
const METRES_A_DEGREE: f64 = 111_195.0;

/// Position in the sentence with this address; `None` unless it is a GGA with a fix.
pub(super) fn of_sentence(address: &str, content: &Content) -> Option<PositionFix> {
    let Content::Gga(gga) = content else { return None };
    let grade = match gga.quality?.integer() {
        1 => BestFix::Standalone,
        2 => BestFix::Differential,
        4 => BestFix::RtkFixed,
        5 => BestFix::RtkFloat,
        _ => return None,
    };
    let (at, (hour, minute, second)) = (gga.position?, gga.time?.hms());
    let sea_level_m = gga.altitude_m?.to_f64();
    let separation_m = gga.geoid_separation_m.map_or(0.0, |m| m.to_f64());
    let minutes = libm::pow(10.0, -f64::from(at.latitude.decimals()));
    Some(PositionFix {
        message: address.to_owned(),
        time_s: f64::from(hour) * 3600.0 + f64::from(minute) * 60.0 + second,
        time_period_s: DAY_S,
        grade: Some(grade),
        position: Geodetic {
            latitude_deg: at.latitude_deg(),
            longitude_deg: at.longitude_deg(),
            altitude_m: sea_level_m + separation_m,
        },
        quantum_m: METRES_A_DEGREE / 60.0 * minutes,
        horizontal_accuracy_m: None,
        vertical_accuracy_m: None,
        velocity_enu_m_s: None,
        hdop: gga.hdop.map(|hdop| hdop.to_f64()),
    })
}

/// Position in the UBX message `name`; `None` if the message has no valid position.
pub(super) fn of_message(name: &str, message: &Message) -> Option<PositionFix> {
    let at = |itow_ms: u32, position: Geodetic, quantum_m: f64| PositionFix {
        message: name.to_owned(),
        time_s: f64::from(itow_ms) * 1e-3,
        time_period_s: WEEK_S,
        grade: None,
        position,
        quantum_m,
        horizontal_accuracy_m: None,
        vertical_accuracy_m: None,
        velocity_enu_m_s: None,
        hdop: None,
    };
    let degrees = |latitude: i32, longitude: i32, height_mm: i32| Geodetic {
        latitude_deg: f64::from(latitude) * 1e-7,
        longitude_deg: f64::from(longitude) * 1e-7,
        altitude_m: f64::from(height_mm) * 1e-3,
    };
    let centred = |cm: [f64; 3]| {
        let ecef_m = DVec3::from_array(cm) * 0.01;
        // A receiver without a position reports the centre of the Earth.
        (ecef_m.length() > 6e6).then(|| Geodetic::from_ecef(ecef_m))
    };
    let fix = match message {
        Message::NavPvt(pvt) => {
            let grade = grade_of(pvt)?;
            let [north, east, down] = pvt.vel_ned_mm_s.map(|mm| f64::from(mm) * 1e-3);
            let place = degrees(pvt.lat_1e7_deg, pvt.lon_1e7_deg, pvt.height_mm);
            PositionFix {
                grade: Some(grade),
                horizontal_accuracy_m: Some(f64::from(pvt.h_acc_mm) * 1e-3),
                vertical_accuracy_m: Some(f64::from(pvt.v_acc_mm) * 1e-3),
                velocity_enu_m_s: Some(DVec3::new(east, north, -down)),
                ..at(pvt.itow_ms, place, METRES_A_DEGREE * 1e-7)
            }
        }
        Message::NavPosllh(llh) => PositionFix {
            horizontal_accuracy_m: Some(f64::from(llh.h_acc_mm) * 1e-3),
            vertical_accuracy_m: Some(f64::from(llh.v_acc_mm) * 1e-3),
            ..at(
                llh.itow_ms,
                degrees(llh.lat_1e7_deg, llh.lon_1e7_deg, llh.height_mm),
                METRES_A_DEGREE * 1e-7,
            )
        },
        Message::NavHpposllh(llh) if llh.flags & 1 == 0 => {
            let mut place = degrees(llh.lat_1e7_deg, llh.lon_1e7_deg, llh.height_mm);
            place.latitude_deg += f64::from(llh.lat_hp_1e9_deg) * 1e-9;
            place.longitude_deg += f64::from(llh.lon_hp_1e9_deg) * 1e-9;
            place.altitude_m += f64::from(llh.height_hp_100um) * 1e-4;
            PositionFix {
                horizontal_accuracy_m: Some(f64::from(llh.h_acc_100um) * 1e-4),
                vertical_accuracy_m: Some(f64::from(llh.v_acc_100um) * 1e-4),
                ..at(llh.itow_ms, place, METRES_A_DEGREE * 1e-9)
            }
        }
        Message::NavPosecef(ecef) => at(ecef.itow_ms, centred(ecef.ecef_cm.map(f64::from))?, 0.01),
        Message::NavHpposecef(ecef) if ecef.flags & 1 == 0 => {
            let cm = [0, 1, 2].map(|axis| {
                f64::from(ecef.ecef_cm[axis]) + f64::from(ecef.ecef_hp_100um[axis]) * 0.01
            });
            at(ecef.itow_ms, centred(cm)?, 1e-4)
        }
        _ => return None,
    };
    let place = &fix.position;
    let is_placed = place.latitude_deg.abs() <= 90.0 && place.longitude_deg.abs() <= 180.0;
    is_placed.then_some(fix)
}

/// Kind of a fix; `None` without a valid three-dimensional fix.
fn grade_of(pvt: &NavPvt) -> Option<BestFix> {
    let has_fix = pvt.fix_type == 3 && pvt.flags & 1 != 0;
    has_fix.then_some(match (pvt.flags >> 6, pvt.flags >> 1 & 1) {
        (2, _) => BestFix::RtkFixed,
        (1, _) => BestFix::RtkFloat,
        (_, 1) => BestFix::Differential,
        _ => BestFix::Standalone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::nmea::{RawSentence, Sentence};
    use crate::wire::ubx::nav::{NavHpposecef, NavHpposllh};

    #[test]
    fn a_sentence_tells_its_place_and_how_exactly() {
        let line = b"$GNGGA,003956.00,4552.65403,S,17030.00668,E,1,12,0.64,14.2,M,1.8,M,,*56\r\n";
        let raw = RawSentence::parse(line).unwrap();
        let sentence = Sentence::from_raw(&raw).unwrap().unwrap();
        let fix = of_sentence(&raw.address, &sentence.content).unwrap();
        assert!((fix.position.latitude_deg + 45.877_567_17).abs() < 1e-8, "{fix:?}");
        assert!((fix.position.altitude_m - 16.0).abs() < 1e-9, "{fix:?}");
        assert_eq!((fix.time_s, fix.grade), (2396.0, Some(BestFix::Standalone)));
        assert!((fix.quantum_m - 0.0185).abs() < 1e-3, "{fix:?}");
    }

    #[test]
    fn messages_of_high_precision_agree() {
        let llh = NavHpposllh {
            lat_1e7_deg: 430_722_001,
            lat_hp_1e9_deg: 50,
            lon_1e7_deg: -894_008_000,
            height_mm: 260_001,
            height_hp_100um: -3,
            h_acc_100um: 141,
            ..NavHpposllh::default()
        };
        let flat = of_message("NAV-HPPOSLLH", &Message::NavHpposllh(llh)).unwrap();
        assert!((flat.horizontal_accuracy_m.unwrap() - 0.0141).abs() < 1e-12, "{flat:?}");
        let ecef = flat.position.to_ecef().to_array().map(|m| (m * 1e4).round());
        let centred = NavHpposecef {
            ecef_cm: ecef.map(|tenths| (tenths / 100.0).trunc() as i32),
            ecef_hp_100um: ecef.map(|tenths| (tenths % 100.0) as i8),
            ..NavHpposecef::default()
        };
        let again = of_message("NAV-HPPOSECEF", &Message::NavHpposecef(centred)).unwrap();
        assert!((again.position.latitude_deg - flat.position.latitude_deg).abs() < 2e-9);
        assert!((again.position.altitude_m - flat.position.altitude_m).abs() < 2e-4);
        let nowhere = NavHpposecef { flags: 1, ..centred };
        assert_eq!(of_message("NAV-HPPOSECEF", &Message::NavHpposecef(nowhere)), None);
    }
}
