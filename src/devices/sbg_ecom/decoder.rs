//! Decodes sbgECom frames.

use glam::DVec3;
use serde_json::{Map, Value};

use crate::decoder::StreamDecoder;
use crate::decoder::readings::Inertial;
use crate::imu::output::frd;
use crate::imu::readings::{attitude, some, vector};
use crate::serial::decoder::{FrameDecoder, Shown, Summary, hex, object};
use crate::wire::sbg_ecom::{self, SbgEcom, class};

pub(super) fn decoder(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, SbgEcom, Summary::Rates, show)
}

fn show(frame: &sbg_ecom::Frame) -> Option<Shown> {
    let (kind, fields) = fields(frame);
    Some(Shown::new(kind, fields).with_inertial(inertial(frame)))
}

/// Kind and fields of a frame, for the decoder's output.
fn fields(frame: &sbg_ecom::Frame) -> (String, Map<String, Value>) {
    use sbg_ecom::Log;
    match Log::parse(frame) {
        Some(Ok(log)) => match &log {
            Log::Status(l) => ("status".into(), object(l)),
            Log::UtcTime(l) => ("utc-time".into(), object(l)),
            Log::ImuData(l) => ("imu-data".into(), object(l)),
            Log::ImuShort(l) => ("imu-short".into(), object(l)),
            Log::Mag(l) => ("mag".into(), object(l)),
            Log::EkfEuler(l) => ("ekf-euler".into(), object(l)),
            Log::EkfQuat(l) => ("ekf-quat".into(), object(l)),
            Log::EkfNav(l) => ("ekf-nav".into(), object(l)),
            Log::Gps1Vel(l) => ("gps1-vel".into(), object(l)),
            Log::Gps1Pos(l) => ("gps1-pos".into(), object(l)),
            Log::Gps1Hdt(l) => ("gps1-hdt".into(), object(l)),
            Log::MagCalib(l) => ("mag-calib".into(), object(l)),
            Log::ShipMotion(l) => ("ship-motion".into(), object(l)),
        },
        _ => {
            let what = if frame.class == class::COMMAND { "command" } else { "log" };
            let said = [("data".to_owned(), hex(&frame.data).into())].into_iter().collect();
            (format!("{what} {}", frame.message), said)
        }
    }
}

fn inertial(frame: &sbg_ecom::Frame) -> Option<Inertial> {
    use sbg_ecom::{ImuShort, Log};
    let stamp_s = |us: u32| Some(f64::from(us) * 1e-6);
    match sbg_ecom::Log::parse(frame)?.ok()? {
        Log::ImuData(log) => Some(Inertial {
            stamp_s: stamp_s(log.timestamp_us),
            gyro_rad_s: Some(frd(vector(log.gyro_rad_s))),
            accel_m_s2: Some(frd(vector(log.accel_m_s2))),
            ..Inertial::default()
        }),
        Log::ImuShort(log) => {
            let is_coarse = log.status & ImuShort::COARSE_GYRO != 0;
            let lsb = if is_coarse { ImuShort::COARSE_GYRO_LSB } else { ImuShort::GYRO_LSB };
            let scaled = |raw: [i32; 3], lsb: f64| {
                Some(frd(DVec3::from_array(raw.map(|x| f64::from(x) / lsb))))
            };
            Some(Inertial {
                stamp_s: stamp_s(log.timestamp_us),
                gyro_rad_s: scaled(log.gyro, lsb),
                accel_m_s2: scaled(log.accel, ImuShort::ACCEL_LSB),
                ..Inertial::default()
            })
        }
        Log::EkfQuat(log) => some(Inertial {
            stamp_s: stamp_s(log.timestamp_us),
            attitude: attitude(log.quaternion.map(f64::from)),
            ..Inertial::default()
        }),
        _ => None,
    }
}
