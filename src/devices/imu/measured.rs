//! What frames of inertial units have measured, in SI units and forward-left-up axes.

use glam::{DQuat, DVec3};

use super::output::{frd, ned_from_frd};
use crate::decoder::readings::Inertial;
use crate::sensors::imu::earth::STANDARD_GRAVITY_M_S2;
use crate::wire::vectornav::Line;
use crate::wire::vectornav::binary::{BinaryPacket, Group};
use crate::wire::xbus::{Item, Xdi, mid};
use crate::wire::{fdilink, mip, phone, sbg_ecom, vectornav, xbus};

/// A unit that tells nothing but its own frames: `None` if there is nothing in it.
fn some(inertial: Inertial) -> Option<Inertial> {
    let Inertial { gyro_rad_s, accel_m_s2, mag_gauss, attitude, .. } = inertial;
    let has_any = gyro_rad_s.or(accel_m_s2).or(mag_gauss).is_some() || attitude.is_some();
    has_any.then_some(inertial)
}

fn vector(values: [f32; 3]) -> DVec3 {
    DVec3::from_array(values.map(f64::from))
}

/// From w, x, y, z of north-east-down from forward-right-down; that conversion is its own inverse.
fn attitude([w, x, y, z]: [f64; 4]) -> Option<DQuat> {
    let q = DQuat::from_xyzw(x, y, z, w);
    // What a unit sends before it knows is zero.
    (q.is_finite() && q.length_squared() > 0.25).then(|| ned_from_frd(q.normalize()))
}

pub(super) fn fdilink(frame: &fdilink::Frame) -> Option<Inertial> {
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

pub(super) fn vectornav(frame: &vectornav::Frame) -> Option<Inertial> {
    match frame {
        vectornav::Frame::Line(line) => vectornav_line(line),
        vectornav::Frame::Packet(packet) => some(vectornav_packet(packet)),
    }
}

fn vectornav_line(line: &Line) -> Option<Inertial> {
    line.checked()?;
    let (kind, values) = line.fields();
    // Where field, force and rate stand in the line, and the quaternion.
    let (mag, accel, gyro, quaternion) = match kind {
        "VNYMR" => (Some(3), Some(6), Some(9), None),
        "VNQMR" => (Some(4), Some(7), Some(10), Some(0)),
        "VNMAR" | "VNIMU" => (Some(0), Some(3), Some(6), None),
        "VNMAG" => (Some(0), None, None, None),
        "VNACC" => (None, Some(0), None, None),
        "VNGYR" => (None, None, Some(0), None),
        _ => return None,
    };
    let number = |place: usize| values.get(place)?.parse::<f64>().ok().filter(|x| x.is_finite());
    let at = |first: Option<usize>| {
        let [x, y, z] = [0, 1, 2].map(|axis| number(first? + axis));
        Some(frd(DVec3::new(x?, y?, z?)))
    };
    let turned = quaternion.and_then(|first| {
        let [x, y, z, w] = [0, 1, 2, 3].map(|place| number(first + place));
        attitude([w?, x?, y?, z?])
    });
    some(Inertial {
        stamp_s: None,
        gyro_rad_s: at(gyro),
        accel_m_s2: at(accel),
        mag_gauss: at(mag),
        attitude: turned,
    })
}

fn vectornav_packet(packet: &BinaryPacket) -> Inertial {
    let floats = |group, bit| -> Option<Vec<f64>> {
        let (values, rest) = packet.field(group, bit)?.as_chunks::<4>();
        rest.is_empty().then(|| values.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect())
    };
    // The first three numbers of a field from `first` on.
    let three = |group, bit, first: usize| {
        let values = floats(group, bit)?;
        let [x, y, z] = values.get(first..first + 3)?.try_into().ok()?;
        Some(frd(DVec3::new(x, y, z)))
    };
    let (common, imu) = (Group::Common, Group::Imu);
    let stamp = packet.field(common, 0).or(packet.field(Group::Time, 0));
    let quaternion = floats(common, 4).or_else(|| floats(Group::Attitude, 2));
    Inertial {
        stamp_s: stamp
            .and_then(|bytes| bytes.first_chunk())
            .map(|bytes| u64::from_le_bytes(*bytes) as f64 * 1e-9),
        gyro_rad_s: three(common, 5, 0)
            .or_else(|| three(imu, 10, 0))
            .or_else(|| three(common, 9, 3))
            .or_else(|| three(imu, 3, 0)),
        accel_m_s2: three(common, 8, 0)
            .or_else(|| three(imu, 9, 0))
            .or_else(|| three(common, 9, 0))
            .or_else(|| three(imu, 2, 0)),
        mag_gauss: three(common, 10, 0).or_else(|| three(imu, 8, 0)).or_else(|| three(imu, 1, 0)),
        attitude: quaternion.and_then(|q| match q[..] {
            [x, y, z, w] => attitude([w, x, y, z]),
            _ => None,
        }),
    }
}

pub(super) fn xbus(message: &xbus::Message) -> Option<Inertial> {
    if message.mid != mid::MT_DATA2 {
        return None;
    }
    let items = Item::parse_all(&message.data).ok()?;
    let reals = |what: Xdi| items.iter().find(|item| item.xdi.what() == what)?.reals();
    let three = |what| match reals(what)?[..] {
        [x, y, z] => Some(DVec3::new(x, y, z)),
        _ => None,
    };
    let ticks = items.iter().find(|item| item.xdi.what() == Xdi::SAMPLE_TIME_FINE);
    let stamp = ticks.and_then(|item| item.data.first_chunk()).map(|b| u32::from_be_bytes(*b));
    some(Inertial {
        // Ticks of 0.1 ms.
        stamp_s: stamp.map(|ticks| f64::from(ticks) * 1e-4),
        gyro_rad_s: three(Xdi::RATE_OF_TURN),
        accel_m_s2: three(Xdi::ACCELERATION),
        ..Inertial::default()
    })
}

pub(super) fn mip(packet: &mip::Packet) -> Option<Inertial> {
    if packet.descriptor_set != mip::set::SENSOR_DATA {
        return None;
    }
    let field = |descriptor| packet.fields.iter().find(|field| field.descriptor == descriptor);
    let three = |descriptor| match field(descriptor)?.f32s()?[..] {
        [x, y, z] => Some(frd(vector([x, y, z]))),
        _ => None,
    };
    let quaternion = field(0x0a).and_then(|field| field.f32s());
    let ticks = field(0x0e).and_then(|field| field.data.first_chunk());
    some(Inertial {
        stamp_s: ticks.map(|bytes| f64::from(u32::from_be_bytes(*bytes)) * 1e-6),
        gyro_rad_s: three(0x05),
        accel_m_s2: three(0x04).map(|g| g * STANDARD_GRAVITY_M_S2),
        mag_gauss: three(0x06),
        attitude: quaternion.and_then(|q| match q[..] {
            [w, x, y, z] => attitude([w, x, y, z].map(f64::from)),
            _ => None,
        }),
    })
}

pub(super) fn sbg(frame: &sbg_ecom::Frame) -> Option<Inertial> {
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

pub(super) fn phone(sentence: &phone::Sentence) -> Option<Inertial> {
    let gyro = sentence.gyro_10urad_s.map(|raw| f64::from(raw) * 1e-5);
    Some(Inertial {
        stamp_s: Some(sentence.time_ms as f64 * 1e-3),
        gyro_rad_s: Some(DVec3::from_array(gyro)),
        ..Inertial::default()
    })
}
