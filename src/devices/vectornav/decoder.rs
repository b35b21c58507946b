//! Decodes lines and binary packets of VectorNav.

use glam::DVec3;
use serde_json::{Map, Value, json};

use crate::decoder::StreamDecoder;
use crate::decoder::readings::Inertial;
use crate::imu::output::frd;
use crate::imu::readings::{attitude, some};
use crate::serial::decoder::{FrameDecoder, Shown, Summary, shortest};
use crate::wire::vectornav::binary::{BinaryPacket, Group};
use crate::wire::vectornav::{self, Line, VectorNav};

pub(super) fn decoder(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, VectorNav, Summary::Rates, show)
}

fn show(frame: &vectornav::Frame) -> Option<Shown> {
    let (kind, fields) = fields(frame);
    let is_telling = kind.starts_with("VN") || kind.starts_with("binary");
    let shown = Shown::new(kind, fields).with_inertial(inertial(frame));
    // Lines of text can come from many other devices.
    Some(if is_telling { shown } else { shown.of_many_families() })
}

/// Name and fields of a frame.
fn fields(frame: &vectornav::Frame) -> (String, Map<String, Value>) {
    match frame {
        vectornav::Frame::Line(line) => {
            let (kind, values) = line.fields();
            let checked = match line.checked() {
                Some(_) => "good",
                None => "bad",
            };
            let said = [("values", json!(values)), ("checksum", json!(checked))];
            (kind.to_owned(), said.map(|(k, v)| (k.to_owned(), v)).into_iter().collect())
        }
        vectornav::Frame::Packet(packet) => {
            let mut said = Map::new();
            for (group, bit, _) in packet.layout.fields() {
                let key = format!("{group:?}.{bit}").to_lowercase();
                said.insert(key, binary_field(packet, group, bit));
            }
            (format!("binary {:#04x}", packet.layout.groups()), said)
        }
    }
}

/// Values of a field. The group, bit and length of the field determine their type.
fn binary_field(packet: &BinaryPacket, group: Group, bit: u8) -> Value {
    let bytes = packet.field(group, bit).unwrap_or_default();
    let is_double = matches!(
        (group, bit),
        (Group::Common, 6) | (Group::Gps1 | Group::Gps2, 5 | 6) | (Group::Ins, 1 | 2)
    );
    match bytes.len() {
        8 => json!(bytes.first_chunk().map(|b| u64::from_le_bytes(*b))),
        1 => json!(bytes[0]),
        2 => json!(bytes.first_chunk().map(|b| u16::from_le_bytes(*b))),
        _ if is_double => {
            json!(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect::<Vec<_>>())
        }
        _ => {
            let floats = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b));
            shortest(&floats.collect::<Vec<_>>())
        }
    }
}

fn inertial(frame: &vectornav::Frame) -> Option<Inertial> {
    match frame {
        vectornav::Frame::Line(line) => vectornav_line(line),
        vectornav::Frame::Packet(packet) => some(vectornav_packet(packet)),
    }
}

fn vectornav_line(line: &Line) -> Option<Inertial> {
    line.checked()?;
    let (kind, values) = line.fields();
    // Indices of magnetic field, acceleration, angular rate and quaternion in the line.
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
    // Three numbers of a field, from index `first` on.
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
