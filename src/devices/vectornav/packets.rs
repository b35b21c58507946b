//! Packets of binary output.

use glam::DMat3;

use super::view::View;
use crate::imu::output::f32s;
use crate::wire::record::put_le;
use crate::wire::vectornav::binary::{BinaryPacket, Group, Layout};

/// A binary output packet. Values that the unit does not compute, such as those that need GNSS, are zero.
pub fn binary(layout: Layout, view: &View) -> Vec<u8> {
    let packet = BinaryPacket::build(layout, |group, bit, out| {
        let start = out.len();
        match group {
            Group::Common => common(bit, view, out),
            Group::Time => match bit {
                0 => out.extend(view.time_ns.to_le_bytes()),
                8 => out.extend(view.sync_out_count.to_le_bytes()),
                _ => {}
            },
            Group::Imu => imu(bit, view, out),
            Group::Attitude => attitude(bit, view, out),
            Group::Gps1 | Group::Ins | Group::Gps2 => {}
        }
        out.resize(start + group.field_lengths()[usize::from(bit)], 0);
    });
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

fn quaternion(view: &View, out: &mut Vec<u8>) {
    let q = view.attitude;
    put_le(out, &[q.x, q.y, q.z, q.w].map(|x| x as f32));
}

fn delta_angle(view: &View, out: &mut Vec<u8>) {
    put_le(out, &[view.delta.interval_s as f32]);
    put_le(out, &f32s(view.delta.angle_rad * 1f64.to_degrees()));
}

fn common(bit: u8, view: &View, out: &mut Vec<u8>) {
    let m = &view.measured;
    match bit {
        0 => out.extend(view.time_ns.to_le_bytes()),
        3 => put_le(out, &f32s(view.ypr_deg)),
        4 => quaternion(view, out),
        5 => put_le(out, &f32s(m.gyro)),
        8 => put_le(out, &f32s(m.accel)),
        9 => {
            put_le(out, &f32s(view.uncompensated.accel));
            put_le(out, &f32s(view.uncompensated.gyro));
        }
        10 => {
            put_le(out, &f32s(m.mag));
            put_le(out, &[view.temperature_c as f32, view.pressure_kpa as f32]);
        }
        11 => {
            delta_angle(view, out);
            put_le(out, &f32s(view.delta.velocity_m_s));
        }
        _ => {}
    }
}

fn imu(bit: u8, view: &View, out: &mut Vec<u8>) {
    let m = &view.measured;
    match bit {
        1 => put_le(out, &f32s(view.uncompensated.mag)),
        2 => put_le(out, &f32s(view.uncompensated.accel)),
        3 => put_le(out, &f32s(view.uncompensated.gyro)),
        8 => put_le(out, &f32s(m.mag)),
        9 => put_le(out, &f32s(m.accel)),
        10 => put_le(out, &f32s(m.gyro)),
        4 => put_le(out, &[view.temperature_c as f32]),
        5 => put_le(out, &[view.pressure_kpa as f32]),
        6 => delta_angle(view, out),
        7 => put_le(out, &f32s(view.delta.velocity_m_s)),
        11 => {
            // Saturation bits from bit 0: magnetometer x, y, z, accelerometer x, y, z, gyro x, y, z.
            let axes = [m.clipped.mag, m.clipped.accel, m.clipped.gyro];
            let bits = axes.iter().flatten().enumerate();
            let word = bits.fold(0u16, |word, (bit, on)| word | u16::from(*on) << bit);
            out.extend(word.to_le_bytes());
        }
        _ => {}
    }
}

fn attitude(bit: u8, view: &View, out: &mut Vec<u8>) {
    let m = &view.measured;
    let q = view.attitude;
    match bit {
        0 => out.extend(view.vpe_status.to_le_bytes()),
        1 => put_le(out, &f32s(view.ypr_deg)),
        2 => quaternion(view, out),
        3 => {
            // Rotation from north-east-down to the body frame, column by column.
            let matrix = DMat3::from_quat(q.conjugate()).to_cols_array();
            put_le(out, &matrix.map(|x| x as f32));
        }
        4 => put_le(out, &f32s(q * m.mag)),
        5 => put_le(out, &f32s(q * m.accel)),
        6 => put_le(out, &f32s(view.true_acceleration())),
        7 => put_le(out, &f32s(q * view.true_acceleration())),
        8 => put_le(out, &view.yaw_pitch_roll_std_deg),
        _ => {}
    }
}
