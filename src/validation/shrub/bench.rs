//! Records the returns of a lidar from a shrub and from a wall.

use std::time::Duration;

use crate::validation::ExperimentError;
use crate::validation::recording::{self, Point};

const RIG: &str = include_str!("rig.toml");
/// Distance from the lidar to the stem or the wall, metres.
pub const DISTANCE_M: f64 = 8.0;
/// Height of the lidar above the ground, metres: parts of the crown are above and below it.
pub const HEIGHT_M: f64 = 1.2;
/// Smallest height above the ground of points on the shrub, metres; lower points are on the pot or the ground.
const POT_M: f64 = 0.35;
/// Largest horizontal distance of points on the shrub from the stem, metres.
const CROWN_M: f64 = 0.5;
/// Half-width of the sector straight ahead in which returns of single lasers are used, degrees.
const WINDOW_DEG: f64 = 2.0;
/// Largest distance between neighbouring shots on the shrub, metres.
const NEIGHBOUR_M: f64 = 0.016;
/// Largest time between neighbouring shots, nanoseconds.
const NEIGHBOUR_NS: u64 = 2_000_000;

/// Rules by which the rays of a pulse form its return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The rule of Goodin et al. 2018: the ray with the strongest signal.
    Ray,
    /// All rays within 1 m form one return, weighted by their energy.
    Cluster,
    /// The beam that the emulator uses by default for the HDL-64E today.
    Today,
}

impl Rule {
    pub const ALL: [Self; 3] = [Self::Ray, Self::Cluster, Self::Today];

    /// Name of the rule in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ray => "strongest ray (the paper's)",
            Self::Cluster => "mean over 1 m",
            Self::Today => "today's default",
        }
    }

    fn replacement(self) -> (&'static str, String) {
        let paper = r#"beam = { paper = "goodin-2018" }"#;
        let beam = match self {
            Self::Ray => paper,
            Self::Cluster => r#"beam = { paper = "goodin-2018", echoes = "window" }"#,
            Self::Today => "beam = {}",
        };
        (paper, beam.to_owned())
    }
}

/// Parameters that Goodin et al. 2018 do not give; the experiment sweeps them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// Height of the lidar above the ground, metres.
    pub height_m: f64,
    /// Mean radius of a leaf, metres.
    pub leaf_radius_m: f64,
    pub leaves: u32,
}

impl Default for Setup {
    fn default() -> Self {
        Self { height_m: HEIGHT_M, leaf_radius_m: 0.025, leaves: 700 }
    }
}

/// Ranges of all returns from the shrub, metres: one rotation at each of `places` positions on a circle, `step_deg`
/// degrees apart.
pub fn around(
    setup: &Setup,
    rule: Rule,
    (places, step_deg): (u32, f64),
    rate_rpm: u32,
    seed: u64,
    progress: &dyn Fn(),
) -> Result<Vec<f64>, ExperimentError> {
    let turn_s = 60.0 / f64::from(rate_rpm);
    let step_rad = step_deg.to_radians();
    let trajectory = format!(
        "{{ kind = \"circle\", center_m = [0.0, 0.0, {:?}], radius_m = {DISTANCE_M:?}, \
         speed_m_s = {:?} }}",
        setup.height_m,
        DISTANCE_M * step_rad / turn_s
    );
    let parameters =
        format!("{{ leaf_radius_m = {:?}, leaves = {} }}", setup.leaf_radius_m, setup.leaves);
    let sets = [
        ("seed", seed.to_string()),
        ("robot.trajectory", trajectory),
        ("world.parameters", parameters),
    ];
    let rig = recording::rig("shrub-histogram", &lidar(rule, rate_rpm), &sets)?;
    let world = recording::world(&rig)?;
    let duration = Duration::from_secs_f64(turn_s * f64::from(places));
    let mut ranges_m = Vec::new();
    let mut turns = 0;
    recording::decode(&rig, &world, duration, &mut |sweep| {
        if sweep.leaves.as_secs_f64() / turn_s > f64::from(turns) {
            turns += 1;
            progress();
        }
        // The shrub is to the left of the lidar.
        let from_shrub = sweep.points.iter().filter(|p| is_of_shrub(p, [0.0, DISTANCE_M], setup));
        ranges_m.extend(from_shrub.map(Point::range_m));
    })?;
    Ok(ranges_m)
}

fn is_of_shrub(point: &Point, stem_m: [f64; 2], setup: &Setup) -> bool {
    let p = point.position_m;
    let from_stem_m = libm::hypot(p.x - stem_m[0], p.y - stem_m[1]);
    from_stem_m < CROWN_M && p.z + setup.height_m > POT_M
}

/// Returns of one laser from a target that it passes repeatedly.
#[derive(Clone, Debug, Default)]
pub struct Shots {
    /// Ranges, metres.
    pub ranges_m: Vec<f64>,
    /// Pairs of neighbouring shots in a scan: range of the first and of the second, metres.
    pub neighbours_m: Vec<(f64, f64)>,
    /// Sum of heights above the ground, metres.
    heights_m: f64,
    last: Option<(u64, f64, f64)>,
}

impl Shots {
    fn see(&mut self, at_ns: u64, point: &Point, height_m: f64) {
        let (range_m, direction) = (point.range_m(), point.direction_deg().to_radians());
        if let Some((last_ns, last_direction, last_m)) = self.last
            && at_ns - last_ns < NEIGHBOUR_NS
            && (direction - last_direction).abs() * DISTANCE_M <= NEIGHBOUR_M
        {
            self.neighbours_m.push((last_m, range_m));
        }
        self.last = Some((at_ns, direction, range_m));
        self.ranges_m.push(range_m);
        self.heights_m += point.position_m.z + height_m;
    }

    /// Mean height of the returns above the ground, metres.
    pub fn height_m(&self) -> f64 {
        self.heights_m / self.ranges_m.len().max(1) as f64
    }
}

/// Returns of each laser in `turns` rotations, from the shrub (`scene` is `shrub`) or a wall (`room`) straight ahead.
/// The rotation rate is chosen so that directions do not repeat.
pub fn ahead(
    scene: &str,
    rule: Rule,
    turns: u32,
    seed: u64,
    progress: &dyn Fn(),
) -> Result<Vec<Shots>, ExperimentError> {
    let rate_rpm = 303;
    let turn_s = 60.0 / f64::from(rate_rpm);
    let (parameters, x_m) = match scene {
        "room" => ("{ size_m = [16.0, 16.0, 4.0] }", 0.0),
        _ => ("{ leaves = 700 }", -DISTANCE_M),
    };
    let trajectory = format!("{{ kind = \"still\", position_m = [{x_m:?}, 0.0, {HEIGHT_M:?}] }}");
    let sets = [
        ("seed", seed.to_string()),
        ("world.scene", format!("\"{scene}\"")),
        ("world.parameters", parameters.to_owned()),
        ("robot.trajectory", trajectory),
    ];
    let rig = recording::rig("shrub-histogram", &lidar(rule, rate_rpm), &sets)?;
    let world = recording::world(&rig)?;
    let duration = Duration::from_secs_f64(turn_s * f64::from(turns));
    let mut lasers = vec![Shots::default(); 64];
    let mut turned = 0;
    recording::decode(&rig, &world, duration, &mut |sweep| {
        if sweep.leaves.as_secs_f64() / turn_s > f64::from(turned) {
            turned += 1;
            progress();
        }
        for point in sweep.points.iter().filter(|p| p.direction_deg().abs() <= WINDOW_DEG) {
            let is_target = match scene {
                "room" => (point.position_m.x - DISTANCE_M).abs() < 0.5,
                _ => is_of_shrub(point, [DISTANCE_M, 0.0], &Setup::default()),
            };
            if is_target && let Some(laser) = lasers.get_mut(point.laser) {
                laser.see(sweep.leaves.0, point, HEIGHT_M);
            }
        }
    })?;
    Ok(lasers)
}

fn lidar(rule: Rule, rate_rpm: u32) -> String {
    let rate = ("rotation_rate_rpm = 300", format!("rotation_rate_rpm = {rate_rpm}"));
    let copy = ("lidar-0".to_owned(), vec![rule.replacement(), rate]);
    recording::with_copies(RIG, "lidar", &[copy])
}
