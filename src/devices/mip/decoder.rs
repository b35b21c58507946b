//! Decodes MIP packets.

use serde_json::{Map, Value};

use crate::decoder::StreamDecoder;
use crate::decoder::readings::Inertial;
use crate::imu::output::frd;
use crate::imu::readings::{attitude, some, vector};
use crate::sensors::imu::earth::STANDARD_GRAVITY_M_S2;
use crate::serial::decoder::{FrameDecoder, Shown, Summary, hex, shortest};
use crate::wire::mip::{self, Mip};

pub(super) fn decoder(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, Mip, Summary::Rates, show)
}

fn show(frame: &mip::Packet) -> Option<Shown> {
    let (kind, fields) = fields(frame);
    Some(Shown::new(kind, fields).with_inertial(inertial(frame)))
}

/// Kind and fields of a packet, for the decoder's output.
fn fields(packet: &mip::Packet) -> (String, Map<String, Value>) {
    use crate::wire::mip::{reply, set};
    let is_data = packet.descriptor_set >= set::SENSOR_DATA;
    let fields = packet.fields.iter().map(|field| {
        let value = match field.f32s() {
            Some(values) if has_floats(packet.descriptor_set, field.descriptor) => {
                shortest(&values)
            }
            _ => hex(&field.data).into(),
        };
        (format!("{:02x}", field.descriptor), value)
    });
    let is_reply = packet.fields.iter().any(|field| field.descriptor == reply::ACK);
    let kind = match (is_data, is_reply) {
        (true, _) => "data",
        (_, true) => "reply",
        _ => "command",
    };
    (format!("{kind} {:#04x}", packet.descriptor_set), fields.collect())
}

/// Whether a data field is known to consist of floats only.
fn has_floats(descriptor_set: u8, descriptor: u8) -> bool {
    use crate::wire::mip::set;
    descriptor_set == set::SENSOR_DATA && matches!(descriptor, 0x04..=0x0c | 0x17)
}

fn inertial(packet: &mip::Packet) -> Option<Inertial> {
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
