//! Decodes FDILink frames.

use serde_json::{Map, Value};

use crate::decoder::StreamDecoder;
use crate::decoder::readings::Inertial;
use crate::imu::output::frd;
use crate::imu::readings::{attitude, some, vector};
use crate::serial::decoder::{FrameDecoder, Shown, Summary, hex, object};
use crate::wire::fdilink::{self, FdiLink};

pub(super) fn decoder(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, FdiLink, Summary::Rates, show)
}

fn show(frame: &fdilink::Frame) -> Option<Shown> {
    let (kind, fields) = fields(frame);
    Some(Shown::new(kind, fields).with_inertial(inertial(frame)))
}

/// Name and fields of a frame.
fn fields(frame: &fdilink::Frame) -> (String, Map<String, Value>) {
    use fdilink::Packet;
    let (kind, mut said) = match &frame.packet {
        Packet::Imu(p) => ("imu".to_owned(), object(p)),
        Packet::Ahrs(p) => ("ahrs".to_owned(), object(p)),
        Packet::InsGps(p) => ("ins-gps".to_owned(), object(p)),
        Packet::GeodeticPosition(p) => ("geodetic-position".to_owned(), object(p)),
        Packet::Skipped { kind, payload } => {
            let said = [("payload".to_owned(), hex(payload).into())].into_iter().collect();
            (format!("type {kind:#04x}"), said)
        }
    };
    said.shift_insert(0, "sequence".into(), frame.sequence.into());
    (kind, said)
}

fn inertial(frame: &fdilink::Frame) -> Option<Inertial> {
    let stamp_s = |us: i64| Some(us as f64 * 1e-6);
    match &frame.packet {
        fdilink::Packet::Imu(imu) => Some(Inertial {
            stamp_s: stamp_s(imu.timestamp_us),
            gyro_rad_s: Some(frd(vector(imu.gyro_rad_s))),
            accel_m_s2: Some(frd(vector(imu.accel_m_s2))),
            mag_gauss: Some(frd(vector(imu.mag_mgauss)) * 1e-3),
            attitude: None,
        }),
        fdilink::Packet::Ahrs(ahrs) => some(Inertial {
            stamp_s: stamp_s(ahrs.timestamp_us),
            attitude: attitude(ahrs.quaternion.map(f64::from)),
            ..Inertial::default()
        }),
        _ => None,
    }
}
