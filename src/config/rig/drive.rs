//! Keys of a robot that its computer drives.

use std::net::SocketAddr;

/// `trajectory = { kind = "drive", … }`: see `menura_world::world::vehicle`.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveConfig {
    /// Model of the drive.
    pub model: DriveModel,
    /// Highest ground speed of a tread or wheel, m/s.
    pub max_speed_m_s: f64,
    /// Largest acceleration of a track or wheel, m/s²; `None` if only the time constant limits it.
    pub max_acceleration_m_s2: Option<f64>,
    /// Time constant of a tread's or wheel's response, seconds, not 0.
    pub lag_s: f64,
    /// Share of the way of a tread or wheel that is lost over ground: left, right, 0..1.
    pub slip: [f64; 2],
    /// Body that collides with obstacles.
    pub body: DriveBody,
    /// Springs between wheels and body; `None` for rigid wheels.
    pub suspension: Option<Suspension>,
    /// Position of the robot at the first instant: x, y, z, metres.
    pub position_m: [f64; 3],
    /// Heading at the first instant, radians.
    pub yaw_rad: f64,
    /// Input of twists, if no device of the rig drives the robot.
    pub twist: Option<TwistInput>,
}

/// Model of the drive.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveModel {
    /// Treads, or wheels that cannot be steered, on both sides.
    SkidSteer {
        /// Distance from the body's middle to the instantaneous centre of rotation of the left and the right
        /// track, outward, metres.
        y_icr_m: [f64; 2],
        /// Distance of both centres of rotation ahead of the body's middle, metres.
        x_icr_m: f64,
        /// Variation of the centres with the ground; `None` for constant ones.
        variation: Option<IcrVariation>,
    },
    /// Two driven wheels and a support that slides or swivels.
    Differential {
        /// Distance between the wheels, metres.
        track_m: f64,
    },
    /// Steered front wheels and driven rear wheels, as a car.
    Ackermann {
        /// Distance between the axles, metres.
        wheelbase_m: f64,
        /// Distance between left and right wheels, metres.
        track_m: f64,
        /// Largest angle of the wheel in the middle of the front axle, radians.
        max_steering_rad: f64,
        /// Highest steering rate, rad/s.
        steering_rate_rad_s: f64,
    },
}

/// Variation of the centres of rotation with the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct IcrVariation {
    /// Standard deviation of their distance, as a share of the distance.
    pub spread: f64,
    /// Distance over which the ground changes, metres; `None` for uniform ground.
    pub over_m: Option<f64>,
    /// Seed of the random draws.
    pub seed: u64,
}

/// The box that runs into obstacles, above the footprint.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveBody {
    /// Top of the body above the ground, metres.
    pub height_m: f64,
    /// Bottom of the body above the ground, metres: lower obstacles are driven over.
    pub blocks_above_m: f64,
    /// Materials that the robot drives through, by their names in the scene or in the table of materials.
    pub drives_through: Vec<String>,
}

/// Springs and dampers between the body and its four rigid wheels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspension {
    /// Travel of a wheel from hanging free to its stop, metres.
    pub stroke_m: f64,
    /// Stiffness of one wheel, N/m.
    pub stiffness_n_m: f64,
    /// Damping of one wheel, kg/s.
    pub damping_kg_s: f64,
    /// Mass of the body on its springs, kg.
    pub mass_kg: f64,
}

/// Input of twists: see [`crate::wire::drive_order`].
#[derive(Clone, Debug, PartialEq)]
pub struct TwistInput {
    /// The UDP address.
    pub listen: SocketAddr,
    /// Time without a datagram after which the robot stops, nanoseconds.
    pub hold_ns: u64,
}

impl DriveConfig {
    /// The lag when a rig names none, seconds: of the treads of the Andabata paper.
    pub const USUAL_LAG_S: f64 = 0.035;

    /// Defaults of a robot of this model, with tracks of up to 1 m/s.
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

impl DriveModel {
    /// Value of the key in a rig.
    pub fn word(&self) -> &'static str {
        match self {
            Self::SkidSteer { .. } => "skid-steer",
            Self::Differential { .. } => "differential",
            Self::Ackermann { .. } => "ackermann",
        }
    }
}

impl Default for DriveBody {
    fn default() -> Self {
        let drives_through = ["grass", "leaf"].map(str::to_owned).to_vec();
        Self { height_m: 0.5, blocks_above_m: 0.1, drives_through }
    }
}

impl Suspension {
    /// The fastest rate of springs and dampers that is integrated, 1/s.
    pub const FASTEST_PER_S: f64 = 1000.0;

    /// Compression of the springs under the body's weight, metres.
    pub fn static_m(&self) -> f64 {
        // Standard acceleration of free fall, ISO 80000-3.
        self.mass_kg * 9.80665 / (4.0 * self.stiffness_n_m)
    }

    /// The faster of the rates of heave's spring and damper, 1/s.
    pub fn rate_per_s(&self) -> f64 {
        let springs = (4.0 * self.stiffness_n_m / self.mass_kg).sqrt();
        springs.max(4.0 * self.damping_kg_s / self.mass_kg)
    }
}
