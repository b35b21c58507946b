//! Reads the trajectory of a driven robot.

use super::drive::{DriveConfig, DriveModel, TwistInput};
use super::parts::socket;
use crate::config::toml::reader::{Limit, TableReader};

const FORMAT: &str = "the rig format, driven robots";

#[derive(Clone, Copy)]
enum Model {
    SkidSteer,
}

const MODELS: &[(&str, Model)] = &[("skid-steer", Model::SkidSteer)];

/// Reads what is behind `kind = "drive"`; `position_m` and `yaw_rad` have been read.
pub fn drive(
    table: &mut TableReader<'_>,
    position_m: [f64; 3],
    yaw_rad: f64,
) -> Option<DriveConfig> {
    let model = match table.required("model").choice(MODELS, FORMAT) {
        None => None,
        Some(Model::SkidSteer) => {
            let y_icr = Limit::new(0.01..=10.0, "m", FORMAT);
            let speed = Limit::new(0.01..=100.0, "m/s", FORMAT);
            let lag = Limit::new(0.0..=10_000.0, "ms", FORMAT);
            let y_icr_m = table.required("y_icr_m").number(&y_icr);
            let max_speed_m_s = table.required("max_speed_m_s").number(&speed);
            let lag_s = table.optional("lag_ms").number_or(&lag, 0.0) * 1e-3;
            y_icr_m.zip(max_speed_m_s).map(|(y_icr_m, max_speed_m_s)| DriveModel::SkidSteer {
                y_icr_m,
                max_speed_m_s,
                lag_s,
            })
        }
    };
    let twist_field = table.optional("twist");
    let listen = if twist_field.is_written() { socket(&twist_field) } else { None };
    let hold = Limit::new(10.0..=60_000.0, "ms", FORMAT);
    let hold_ms = table.optional("twist_hold_ms").number_or(&hold, 500.0);
    let twist =
        listen.map(|(listen, _)| TwistInput { listen, hold_ns: (hold_ms * 1e6).round() as u64 });
    Some(DriveConfig { model: model?, position_m, yaw_rad, twist })
}
