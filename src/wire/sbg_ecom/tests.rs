use super::*;
use crate::framer::Framer;
use crate::tests::hex;
use proptest::prelude::*;

const IMU: &str = "FF 5A 03 00 3A 00 40 42 0F 00 FF 03 CD CC CC 3D CD CC 4C BE C3 F5 1C C1 0A \
    D7 23 3C 0A D7 A3 BC 8F C2 F5 3C 00 00 0E 42 CD CC CC 3D CD CC 4C BE C3 F5 1C C1 0A D7 23 \
    3C 0A D7 A3 BC 8F C2 F5 3C 68 F2 33";
const SHORT: &str = "FF 5A 2C 00 20 00 40 42 0F 00 FF 03 9A 99 01 00 CD CC FC FF 3D 0A 63 FF \
    71 3D 0A 00 1F 85 EB FF 52 B8 1E 00 80 23 E7 3A 33";
const QUAT: &str = "FF 5A 07 00 2C 00 40 42 0F 00 F3 04 35 3F 00 00 00 00 00 00 00 00 F3 04 35 \
    3F 6F 12 03 3B 6F 12 03 3B 0A D7 23 3C 32 02 00 00 CD CC 4C 3D CD CC 8C 3F D7 04 33";
const UTC: &str = "FF 5A 02 00 21 00 40 42 0F 00 A7 00 EA 07 0B 15 09 1B 19 00 00 00 00 98 EA \
    ED 20 00 00 00 00 00 00 00 00 00 00 00 00 35 0B 33";

fn emit(frame: &Frame) -> Vec<u8> {
    let mut out = vec![0xa5];
    frame.emit(&mut out);
    out.split_off(1)
}

fn golden(log: Log, text: &str) {
    assert_eq!(emit(&log.frame()), hex(text));
    let frames = Framer::new(SbgEcom).frames(&hex(text));
    assert_eq!(frames, [log.frame()]);
    assert_eq!(Log::parse(&frames[0]), Some(Ok(log)));
}

#[test]
fn logs_are_the_librarys() {
    let (accel, gyro) = ([0.1, -0.2, -9.81], [0.01, -0.02, 0.03]);
    golden(
        Log::ImuData(ImuData {
            timestamp_us: 1_000_000,
            status: 0x03ff,
            accel_m_s2: accel,
            gyro_rad_s: gyro,
            temperature_c: 35.5,
            delta_velocity_m_s2: accel,
            delta_angle_rad_s: gyro,
        }),
        IMU,
    );
    let whole = |x: f32, lsb: f64| ((f64::from(x) * 1e6).round() / 1e6 * lsb).round() as i32;
    golden(
        Log::ImuShort(ImuShort {
            timestamp_us: 1_000_000,
            status: 0x03ff,
            accel: accel.map(|x| whole(x, ImuShort::ACCEL_LSB)),
            gyro: gyro.map(|x| whole(x, ImuShort::GYRO_LSB)),
            temperature: (35.5 * 256.0) as i16,
        }),
        SHORT,
    );
    golden(
        Log::EkfQuat(EkfQuat {
            timestamp_us: 1_000_000,
            quaternion: [0.707_106_77, 0.0, 0.0, 0.707_106_77],
            std_rad: [0.002, 0.002, 0.01],
            status: 0x232,
            declination_inclination_rad: Some([0.05, 1.1]),
        }),
        QUAT,
    );
    golden(
        Log::UtcTime(UtcTime {
            timestamp_us: 1_000_000,
            status: 0x00a7,
            year: 2026,
            month: 11,
            day: 21,
            hour: 9,
            minute: 27,
            second: 25,
            nanosecond: 0,
            time_of_week_ms: 552_463_000,
            clock: [0.0; 3],
        }),
        UTC,
    );
}

#[test]
fn every_log_comes_back() {
    for log in [
        Log::Status(Status { uptime_s: 7, cpu_percent: 30, ..Status::default() }),
        Log::Mag(Mag { status: 0x1ff, mag: [0.5, 0.1, -0.9], ..Mag::default() }),
        Log::EkfEuler(EkfEuler { rpy_rad: [0.1, 0.2, 3.0], ..EkfEuler::default() }),
        Log::EkfEuler(EkfEuler {
            declination_inclination_rad: Some([0.1, 1.0]),
            ..EkfEuler::default()
        }),
        Log::EkfNav(EkfNav { latitude_deg: 47.0, undulation_m: 48.0, ..EkfNav::default() }),
        Log::Gps1Pos(Gps1Pos { altitude_m: 420.0, satellites: 14, ..Gps1Pos::default() }),
        Log::Gps1Hdt(Gps1Hdt { baseline_m: Some(1.5), ..Gps1Hdt::default() }),
    ] {
        assert_eq!(Log::parse(&log.frame()), Some(Ok(log)));
    }
    let lengths = [
        (log::STATUS, 27),
        (log::MAG, 30),
        (log::EKF_EULER, 40),
        (log::EKF_NAV, 72),
        (log::GPS1_VEL, 44),
        (log::GPS1_POS, 57),
        (log::GPS1_HDT, 30),
    ];
    for (message, length) in lengths {
        let frame = Frame { message, class: 0, data: vec![0; length] };
        assert!(Log::parse(&frame).unwrap().is_ok());
        let frame = Frame { message, class: 0, data: vec![0; length + 1] };
        assert!(Log::parse(&frame).unwrap().is_err());
    }
    assert_eq!(Log::parse(&Frame::ack(4, 0)), None);
}

proptest! {
    #[test]
    fn any_log_of_a_right_length_comes_back(message in 0u8..50, data in prop::collection::vec(any::<u8>(), 0..80)) {
        let frame = Frame { message, class: class::LOG, data };
        prop_assert_eq!(&Framer::new(SbgEcom).frames(&emit(&frame))[..], std::slice::from_ref(&frame));
        if let Some(Ok(log)) = Log::parse(&frame) {
            prop_assert_eq!(log.frame(), frame);
        }
    }
}
