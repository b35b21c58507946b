//! Reads the trajectory of a driven robot.

use super::drive::{DriveBody, DriveConfig, DriveModel, IcrVariation, Suspension, TwistInput};
use super::parts::{seed_limit, socket};
use crate::toml::reader::{Field, Limit, TableReader};

const FORMAT: &str = "the rig format, driven robots";
const SUSPENSION_EXAMPLE: &str =
    "{ stroke_m = 0.065, stiffness_n_m = 3976.6, damping_kg_s = 75.76, mass_kg = 41.0 }";
/// Largest number of materials that a robot drives through.
const MOST_MATERIALS: usize = 100;

#[derive(Clone, Copy)]
enum Model {
    SkidSteer,
    Differential,
    Ackermann,
}

const MODELS: &[(&str, Model)] = &[
    ("skid-steer", Model::SkidSteer),
    ("differential", Model::Differential),
    ("ackermann", Model::Ackermann),
];

/// Reads the keys of `kind = "drive"` except `position_m` and `yaw_rad`. `rig_seed` is the default seed of
/// the ground.
pub fn drive(
    table: &mut TableReader<'_>,
    position_m: [f64; 3],
    yaw_rad: f64,
    rig_seed: u64,
) -> Option<DriveConfig> {
    let Some(model) = table.required("model").choice(MODELS, FORMAT) else {
        // Which keys there are is not known.
        table.drop_unknown(|_| true);
        return None;
    };
    let model = match model {
        Model::SkidSteer => skid_steer(table, rig_seed),
        Model::Differential => differential(table),
        Model::Ackermann => ackermann(table),
    };
    let speed = Limit::new(0.01..=100.0, "m/s", FORMAT);
    let max_speed_m_s = table.required("max_speed_m_s").number(&speed);
    let acceleration = Limit::new(0.01..=1000.0, "m/s2", FORMAT);
    let max_acceleration_m_s2 = table.optional("max_acceleration_m_s2").number(&acceleration);
    let lag = Limit::new(1.0..=10_000.0, "ms", "the vehicle, which is integrated in steps of 1 ms");
    table.was_called("lag_ms", "time_constant_ms");
    let lag_ms = table.optional("time_constant_ms").number_or(&lag, 1e3 * DriveConfig::USUAL_LAG_S);
    let share = Limit::new(0.0..=0.95, "", "physics: a share below 1");
    let slip_field = table.optional("slip");
    slip_field.defaults_to(0.0);
    let slip = sides(&slip_field, &share).unwrap_or_default();
    let body = body(table);
    let suspension = suspension(table);
    let twist = twist(table);
    Some(DriveConfig {
        model: model?,
        max_speed_m_s: max_speed_m_s?,
        max_acceleration_m_s2,
        lag_s: lag_ms * 1e-3,
        slip,
        body,
        suspension,
        position_m,
        yaw_rad,
        twist,
    })
}

/// One number for both sides, or two for left and right.
fn sides(field: &Field<'_>, limit: &Limit<f64>) -> Option<[f64; 2]> {
    if field.is_array() { field.numbers(limit) } else { field.number(limit).map(|both| [both; 2]) }
}

fn length() -> Limit<f64> {
    Limit::new(0.01..=20.0, "m", FORMAT)
}

fn skid_steer(table: &mut TableReader<'_>, rig_seed: u64) -> Option<DriveModel> {
    let y_icr_m = sides(&table.required("y_icr_m"), &length());
    let ahead = Limit::new(-20.0..=20.0, "m", FORMAT);
    let x_icr_m = table.optional("x_icr_m").number_or(&ahead, 0.0);
    let spread = Limit::new(0.0..=0.5, "", "physics: centres stay on their sides");
    let spread = table.optional("icr_spread").number_or(&spread, 0.0);
    let over = Limit::new(0.1..=10_000.0, "m", FORMAT);
    let over_m = table.optional("icr_length_m").number(&over);
    let seed = table.optional("icr_seed").integer(&seed_limit()).unwrap_or(rig_seed);
    let variation = (spread > 0.0).then_some(IcrVariation { spread, over_m, seed });
    Some(DriveModel::SkidSteer { y_icr_m: y_icr_m?, x_icr_m, variation })
}

fn differential(table: &mut TableReader<'_>) -> Option<DriveModel> {
    let track_m = table.required("track_m").number(&length());
    Some(DriveModel::Differential { track_m: track_m? })
}

fn ackermann(table: &mut TableReader<'_>) -> Option<DriveModel> {
    let wheelbase_m = table.required("wheelbase_m").number(&length());
    let track_m = table.required("track_m").number(&length());
    let angle = Limit::new(1.0..=80.0, "degrees", "geometry: less than a right angle");
    let max_steering_deg = table.required("max_steering_deg").number(&angle);
    let rate = Limit::new(1.0..=10_000.0, "degrees/s", FORMAT);
    let steering_rate_deg_s = table.optional("steering_rate_deg_s").number_or(&rate, 180.0);
    Some(DriveModel::Ackermann {
        wheelbase_m: wheelbase_m?,
        track_m: track_m?,
        max_steering_rad: max_steering_deg?.to_radians(),
        steering_rate_rad_s: steering_rate_deg_s.to_radians(),
    })
}

/// Reads the body's size; a faulty number is reported, and its default is then never used.
fn body(table: &mut TableReader<'_>) -> DriveBody {
    let usual = DriveBody::default();
    let height = Limit::new(0.02..=20.0, "m", FORMAT);
    let height_field = table.optional("body_height_m");
    let height_m = height_field.number_or(&height, usual.height_m);
    let bottom = Limit::new(0.01..=5.0, "m", FORMAT);
    let bottom_field = table.optional("blocks_above_m");
    let blocks_above_m = bottom_field.number_or(&bottom, usual.blocks_above_m);
    if blocks_above_m >= height_m
        && let Some(place) = bottom_field.place().or_else(|| height_field.place())
    {
        let label = format!(
            "allowed: `blocks_above_m` ({blocks_above_m} m) less than `body_height_m` ({height_m} m)"
        );
        let fault = place.fault("`blocks_above_m` must be less than `body_height_m`", label);
        bottom_field.fault(fault.note(format!("limit from {FORMAT}")));
    }
    let through = table.optional("drives_through");
    through.defaults_to(usual.drives_through.clone());
    let drives_through = if through.is_written() {
        let expected = "names of materials, as in docs/MATERIALS.md or in the scene";
        let names = through.strings(expected).unwrap_or_default();
        if let Some(place) = through.place().filter(|_| names.len() > MOST_MATERIALS) {
            let title = format!("{} materials are too many", names.len());
            let fault = place.fault(title, format!("allowed: at most {MOST_MATERIALS}"));
            through.fault(fault.note(format!("limit from {FORMAT}")));
        }
        names
    } else {
        usual.drives_through
    };
    DriveBody { height_m, blocks_above_m, drives_through }
}

fn suspension(table: &mut TableReader<'_>) -> Option<Suspension> {
    let field = table.optional("suspension").such_as(SUSPENSION_EXAMPLE);
    if !field.is_written() {
        return None;
    }
    let mut table = field.table("a suspension")?;
    let stroke = Limit::new(0.001..=2.0, "m", FORMAT);
    let stroke_m = table.required("stroke_m").number(&stroke);
    let stiffness = Limit::new(1.0..=1e7, "N/m", FORMAT);
    let stiffness_n_m = table.required("stiffness_n_m").number(&stiffness);
    let damping = Limit::new(0.0..=1e6, "kg/s", FORMAT);
    let damping_kg_s = table.required("damping_kg_s").number(&damping);
    let mass = Limit::new(0.1..=100_000.0, "kg", FORMAT);
    let mass_kg = table.required("mass_kg").number(&mass);
    let place = table.place().clone();
    table.finish();
    let springs = Suspension {
        stroke_m: stroke_m?,
        stiffness_n_m: stiffness_n_m?,
        damping_kg_s: damping_kg_s?,
        mass_kg: mass_kg?,
    };
    if springs.static_m() >= springs.stroke_m {
        let label = format!(
            "at rest it gives by {:.3} m; allowed: less than `stroke_m` ({} m)",
            springs.static_m(),
            springs.stroke_m
        );
        let fault = place.fault("the suspension does not carry its mass", label);
        field.fault(fault.note("limit from physics: mass * 9.80665 m/s2 = 4 * stiffness * way"));
        return None;
    }
    if springs.rate_per_s() > Suspension::FASTEST_PER_S {
        let label = format!(
            "its fastest rate is {:.0}/s; allowed: up to {:.0}/s",
            springs.rate_per_s(),
            Suspension::FASTEST_PER_S
        );
        let fault = place.fault("the suspension is too stiff for its mass", label);
        let note = "limit from the vehicle, which is integrated in steps of 1 ms: the square root of \
                    4 * stiffness / mass, and 4 * damping / mass";
        field.fault(fault.note(note).help("leave `suspension` out for rigid wheels"));
        return None;
    }
    Some(springs)
}

fn twist(table: &mut TableReader<'_>) -> Option<TwistInput> {
    let field = table.optional("twist");
    let listen = if field.is_written() { socket(&field) } else { None };
    let hold = Limit::new(10.0..=60_000.0, "ms", FORMAT);
    let hold_ms = table.optional("twist_hold_ms").number_or(&hold, 500.0);
    listen.map(|(listen, _)| TwistInput { listen, hold_ns: (hold_ms * 1e6).round() as u64 })
}
