//! Description of an encoder or a turning head for `menura profiles NAME`, in addition to its settings.

use super::profile::{JointEncoderProfile, OutputWay};
use crate::describe::{Rows, Section, network_rows, shortest};

pub(super) fn sections(profile: &JointEncoderProfile) -> Vec<Section> {
    let mut all = vec![("device", device(profile))];
    if profile.unit.way == OutputWay::Udp {
        all.push(("network", network_rows(&profile.network)));
    }
    all
}

fn device(profile: &JointEncoderProfile) -> Rows {
    let lines = match profile.unit.way {
        OutputWay::Udp => "a datagram for each line".to_owned(),
        OutputWay::Serial => "on a serial line, 8N1".to_owned(),
    };
    let rpm = profile.motor.speed_unit_rad_s * 60.0 / std::f64::consts::TAU;
    let commands = match profile.motor.takes_commands {
        true => format!(
            "PS3D, TC, SC; speeds 1 to 63 of {} rpm or {} mm/s; a pass is {}",
            shortest(rpm),
            shortest(profile.motor.speed_unit_m_s * 1e3),
            profile.motor.pass.word()
        ),
        false => "none".to_owned(),
    };
    vec![("lines", lines), ("commands", commands)]
}
