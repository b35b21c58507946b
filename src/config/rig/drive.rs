//! Keys of a robot that its computer drives (`kind = "drive"`).

use std::net::SocketAddr;

use serde_json::Value as Json;

use super::parts::{position_limit, seed, socket, turn_limit};
use crate::toml::key_types::{By, Degrees, KeyType, Maybe, OneOrTwo, Scaled, SuchAs, Table};
use crate::toml::reader::{Field, Limit, TableReader};

/// Text that error messages print as the source of the limits.
const FORMAT: &str = "the rig format, driven robots";
const SUSPENSION_EXAMPLE: &str =
    "{ stroke_m = 0.065, stiffness_n_m = 3976.6, damping_kg_s = 75.76, mass_kg = 41.0 }";
/// Largest number of materials that a robot drives through.
const MOST_MATERIALS: usize = 100;

fn length() -> Limit<f64> {
    Limit::new(0.01..=20.0, "m", FORMAT)
}

keys! {
    with (model: Option<DriveModel>);
    /// Settings of a robot with `trajectory = { kind = "drive", … }`: see `menura_world::world::vehicle`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DriveConfig {
        /// Position east, north and up: of a robot that stands; of a feed until the first pose arrives; of a driven robot
        /// at the start.
        pub position_m: [f64; 3] = [0.0; 3], position_limit();
        /// Heading, counter-clockwise from east; of a feed until the first pose arrives.
        pub yaw_rad as "yaw_deg": f64 = 0.0, Degrees(turn_limit());
        /// Highest speed of a track or wheel over ground.
        pub max_speed_m_s: f64, Limit::new(0.01..=100.0, "m/s", FORMAT);
        /// Largest acceleration of a track or wheel (default: limited by the time constant only).
        pub max_acceleration_m_s2: Option<f64> = None, Maybe(Limit::new(0.01..=1000.0, "m/s2", FORMAT));
        /// Time constant with which a track or wheel follows its set point.
        pub lag_s as "time_constant_ms": f64 = DriveConfig::USUAL_LAG_S, Scaled(
            Limit::new(1.0..=10_000.0, "ms", "the vehicle, which is integrated in steps of 1 ms"),
            1e-3
        );
        /// Share of the distance of a track or wheel that is lost to slip; two numbers are left and right.
        pub slip: [f64; 2] = [0.0; 2], OneOrTwo(Limit::new(0.0..=0.95, "", "physics: a share below 1"), 1.0);
        /// Body that collides with obstacles.
        pub body: DriveBody => |table| Some(body(table));
        /// Springs and dampers between the body and its wheels (default: rigid wheels).
        pub suspension: Option<Suspension> = None, Maybe(SuchAs(SUSPENSION_EXAMPLE, Table("a suspension")));
        /// Address that receives twists as datagrams, if no device drives the robot.
        pub twist: Option<TwistInput> => |table| Some(twist(table));
    }
    then {
        /// Model of the drive.
        pub model: DriveModel = model?;
    }
}

keys! {
    with (rig_seed: u64);
    /// Motion model of the robot's tracks or wheels, with the keys of each model.
    #[derive(Clone, Debug, PartialEq)]
    pub enum DriveModel of DriveKind {
        /// Tracks, or wheels that cannot be steered, on both sides.
        SkidSteer = "skid-steer" {
            /// Distance from the robot's middle to the instantaneous centre of rotation (ICR) of each side's track: one
            /// number for both sides, or two: left, right.
            y_icr_m: [f64; 2], OneOrTwo(length(), 1.0);
            /// Distance of the instantaneous centres of rotation (ICR) ahead of the robot's middle.
            x_icr_m: f64 = 0.0, Limit::new(-20.0..=20.0, "m", FORMAT);
            /// Variation of the centres with the ground; `None` for constant ones.
            variation: Option<IcrVariation> => |table| Some(variation(table, rig_seed));
        }
        /// Two driven wheels and a support that slides or swivels.
        Differential = "differential" {
            /// Distance between left and right wheels.
            track_m: f64, length();
        }
        /// Steered front wheels and driven rear wheels, as a car.
        Ackermann = "ackermann" {
            /// Distance between the axles.
            wheelbase_m: f64, length();
            /// Distance between left and right wheels.
            track_m: f64, length();
            /// Largest angle of the wheel in the middle of the front axle, to either side.
            max_steering_rad as "max_steering_deg": f64,
                Degrees(Limit::new(1.0..=80.0, "degrees", "geometry: less than a right angle"));
            /// Highest rate of the steering angle.
            steering_rate_rad_s as "steering_rate_deg_s": f64 = 180f64.to_radians(),
                Degrees(Limit::new(1.0..=10_000.0, "degrees/s", FORMAT));
        }
    }
}

keys! {
    /// Variation of the centres of rotation with the ground.
    #[derive(Clone, Debug, PartialEq)]
    pub struct IcrVariation {
        /// Variation of `y_icr_m` with the ground: standard deviation as a share of `y_icr_m`.
        pub spread as "icr_spread": f64 = 0.0,
            Limit::new(0.0..=0.5, "", "physics: centres stay on their sides");
        /// Distance over which the ground changes (default: the ground does not change).
        pub over_m as "icr_length_m": Option<f64> = None, Maybe(Limit::new(0.1..=10_000.0, "m", FORMAT));
        /// Seed of the changes of the ground (default: the rig's seed).
        pub seed as "icr_seed": u64 = 0, By(seed);
    }
}

keys! {
    /// Body of the robot for collisions: a box above the robot's footprint.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DriveBody {
        /// Height of the body's box, which obstacles stop.
        pub height_m as "body_height_m": f64 = 0.5, Limit::new(0.02..=20.0, "m", FORMAT);
        /// Obstacles up to this height are driven over.
        pub blocks_above_m: f64 = 0.1, Limit::new(0.01..=5.0, "m", FORMAT);
        /// Materials through which the robot drives, by their names in the scene or in the table of materials.
        pub drives_through: Vec<String> = ["grass", "leaf"].map(str::to_owned).to_vec(),
            Materials;
    }
}

keys! {
    /// Springs and dampers between the body and its four rigid wheels.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Suspension {
        /// Travel of a wheel from hanging free to its stop.
        pub stroke_m: f64, Limit::new(0.001..=2.0, "m", FORMAT);
        /// Stiffness of one wheel's spring.
        pub stiffness_n_m: f64, Limit::new(1.0..=1e7, "N/m", FORMAT);
        /// Damping of one wheel.
        pub damping_kg_s: f64, Limit::new(0.0..=1e6, "kg/s", FORMAT);
        /// Mass that rests on the four springs.
        pub mass_kg: f64, Limit::new(0.1..=100_000.0, "kg", FORMAT);
    }
    check carries_its_mass;
}

/// UDP input of twists (forward speed and rate of turn): see [`crate::wire::drive_order`].
#[derive(Clone, Debug, PartialEq)]
pub struct TwistInput {
    /// UDP address at which Menura receives the twists.
    pub listen: SocketAddr,
    /// Time without a datagram after which the robot stops, nanoseconds.
    pub hold_ns: u64,
}

impl DriveConfig {
    /// Default time constant of a track or wheel, seconds: that of the tracks in the Andabata paper.
    pub const USUAL_LAG_S: f64 = 0.035;

    /// Defaults for a robot of this model, with a maximum speed of 1 m/s.
    pub fn of(model: DriveModel) -> Self {
        Self {
            model,
            max_speed_m_s: 1.0,
            max_acceleration_m_s2: None,
            lag_s: Self::USUAL_LAG_S,
            slip: [0.0; 2],
            body: DriveBody::default(),
            suspension: None,
            position_m: [0.0; 3],
            yaw_rad: 0.0,
            twist: None,
        }
    }
}

impl Suspension {
    /// Largest [`Suspension::rate_per_s`] that the integration supports, 1/s.
    pub const FASTEST_PER_S: f64 = 1000.0;

    /// Compression of each spring at rest under the body's weight, metres.
    pub fn static_m(&self) -> f64 {
        // Standard acceleration of gravity, ISO 80000-3.
        self.mass_kg * 9.80665 / (4.0 * self.stiffness_n_m)
    }

    /// Rate of the heave motion, 1/s: the larger of the springs' angular frequency and the dampers' decay rate.
    pub fn rate_per_s(&self) -> f64 {
        let springs = (4.0 * self.stiffness_n_m / self.mass_kg).sqrt();
        springs.max(4.0 * self.damping_kg_s / self.mass_kg)
    }
}

/// Reads the keys of `kind = "drive"`. `rig_seed` is the default seed of the ground.
pub(super) fn drive(table: &mut TableReader<'_>, rig_seed: u64) -> Option<DriveConfig> {
    let field = table.required("model");
    let field = field.meaning("Vehicle model: how the wheels of a driven robot move it.");
    let Some(kind) = field.choice(&DriveKind::WORDS, FORMAT) else {
        // Without a model, the other allowed keys are unknown, so no key is rejected.
        table.drop_unknown(|_| true);
        return None;
    };
    table.was_called("lag_ms", "time_constant_ms");
    let model = kind.read(table, rig_seed);
    DriveConfig::read_keys(table, model)
}

fn variation(table: &mut TableReader<'_>, rig_seed: u64) -> Option<IcrVariation> {
    let mut all = IcrVariation { seed: rig_seed, ..IcrVariation::default() };
    all.read_into(table);
    (all.spread > 0.0).then_some(all)
}

fn body(table: &mut TableReader<'_>) -> DriveBody {
    let mut all = DriveBody::default();
    all.read_into(table);
    let DriveBody { height_m, blocks_above_m, .. } = all;
    if blocks_above_m >= height_m
        && let Some(place) = table.place_of("blocks_above_m").or(table.place_of("body_height_m"))
    {
        let label = format!(
            "allowed: `blocks_above_m` ({blocks_above_m} m) less than `body_height_m` ({height_m} m)"
        );
        let fault = place.fault("`blocks_above_m` must be less than `body_height_m`", label);
        table.fault(fault.note(format!("limit from {FORMAT}")));
    }
    all
}

/// Key type of a list of material names.
struct Materials;

impl KeyType<Vec<String>> for Materials {
    fn read(&self, field: &Field<'_>) -> Option<Vec<String>> {
        let place = field.place()?;
        let expected = "names of materials, as in docs/MATERIALS.md or in the scene";
        let names = field.strings(expected)?;
        if names.len() > MOST_MATERIALS {
            let title = format!("{} materials are too many", names.len());
            let fault = place.fault(title, format!("allowed: at most {MOST_MATERIALS}"));
            field.fault(fault.note(format!("limit from {FORMAT}")));
        }
        Some(names)
    }

    fn written(&self, names: &Vec<String>) -> Json {
        names.clone().into()
    }
}

/// Reports springs that are too soft or too stiff for the mass; returns whether they are suitable.
fn carries_its_mass(table: &TableReader<'_>, springs: &Suspension) -> bool {
    let place = table.place();
    if springs.static_m() >= springs.stroke_m {
        let label = format!(
            "at rest it is compressed by {:.3} m; allowed: less than `stroke_m` ({} m)",
            springs.static_m(),
            springs.stroke_m
        );
        let fault = place.fault("the suspension is too soft for its mass", label);
        table.fault(
            fault.note("limit from physics: mass * 9.80665 m/s2 = 4 * stiffness * compression"),
        );
        return false;
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
        table.fault(fault.note(note).help("leave `suspension` out for rigid wheels"));
        return false;
    }
    true
}

fn twist(table: &mut TableReader<'_>) -> Option<TwistInput> {
    let field = table.optional("twist");
    let listen = if field.is_written() { socket(&field) } else { None };
    let hold = Limit::new(10.0..=60_000.0, "ms", FORMAT);
    let hold_field = table.optional("twist_hold_ms");
    let hold_field = hold_field.meaning("The robot stops if no twist arrives for this long.");
    let hold_ms = hold_field.number_or(&hold, 500.0);
    listen.map(|(listen, _)| TwistInput { listen, hold_ns: (hold_ms * 1e6).round() as u64 })
}
