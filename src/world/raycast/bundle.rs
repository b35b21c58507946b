//! Bundles: pulses that traverse the trees together.
//!
//! A bundle has its own frame: `z` points along its middle and `x` from its first pulse towards its last. The origin is
//! the exit point of its first pulse. Each ray is `x = slope_x z + shift_x` there (and the same in `y`), so that rays
//! may start at different points and have a common depth `z`. Exit points are close together, even if the rays of a
//! pulse meet far behind them. A register has eight lanes, and each lane holds one ray. Rays are ordered along `x`, so
//! that a small surface affects few registers.
//!
//! Parallel rays ([`super::shade`]) have no slopes. Boxes and triangles are compared with their shifts instead.

use glam::{DMat3, DVec3, Mat3};

use super::{MAX_RAYS, Pulse, Stencil};

/// Number of rays in a register.
pub const LANES: usize = 8;
/// Number of registers in a bundle. It equals the number of `f32` in a register, so that one operation can select among
/// the registers.
pub const REGISTERS: usize = 8;
/// Number of rays in a bundle. A set of rays is stored as the bits of a `u64`.
pub const MAX_LANES: usize = LANES * REGISTERS;
/// Largest angle between the first pulse of a bundle and any other one, radians.
const MAX_SPREAD_RAD: f64 = 0.05;
/// Largest angle between successive pulses of a bundle, radians. With wider gaps, a bundle would visit nodes that lie
/// between its pulses and that no ray hits.
const MAX_STEP_RAD: f64 = 0.01;
/// Largest distance of a pulse's exit point from that of the first pulse, metres.
const MAX_SHIFT_M: f64 = 0.05;
/// Largest half-axis of the beam footprint at a distance of 1 m, metres. Wider pulses are not bundled.
const MAX_SPOT_M: f64 = 0.1;
/// Rounding margin of culling, relative to the size of coordinates: about 16 times half an ulp.
pub const ROUNDING: f32 = 1e-6;
/// Stands for a missing index, such as that of the surface if a ray has no hit.
pub const NONE: u32 = u32::MAX;

/// One value for each lane of a register.
pub type Lanes = [f32; LANES];
/// One value for each ray of a bundle.
pub type PerRay<T> = [T; MAX_LANES];

/// A stencil with its rays in the four orders that a bundle may need: along either axis of the beam footprint,
/// ascending or descending.
pub struct Spot {
    orders: [SpotOrder; 4],
    rays: usize,
    reach: [f64; 2],
}

struct SpotOrder {
    a: [f32; MAX_RAYS],
    b: [f32; MAX_RAYS],
    ray: [u8; MAX_RAYS],
}

/// Up to [`REGISTERS`] registers of rays, and the nearest hit so far of each ray.
#[repr(align(64))]
pub struct Bundle {
    /// Change of `x` per metre of `z` along each ray.
    pub slope_x: PerRay<f32>,
    pub slope_y: PerRay<f32>,
    /// `x` of each ray at `z = 0`.
    pub shift_x: PerRay<f32>,
    pub shift_y: PerRay<f32>,
    /// Depth at which each ray starts.
    pub start: PerRay<f32>,
    /// Metres along a ray per metre of depth.
    pub stretch: PerRay<f32>,
    /// Upper bound of the depth of each ray's nearest hit; without a hit so far, upper bound of the depth at which the
    /// ray ends. Minus infinity in lanes without a ray.
    pub depth: PerRay<f32>,
    pub depth_low: PerRay<f32>,
    /// The least of `depth`, without the lanes that have no ray.
    pub nearest: f32,
    /// The greatest of `depth`.
    pub deepest: f32,
    /// The greatest depth at which a ray can end.
    pub farthest: f32,
    /// Whether `nearest` and `deepest` must be computed again because of new hits.
    pub is_stale: bool,
    /// Whether any ray has a hit.
    pub has_hit: bool,
    /// Whether all rays have the direction `z`. Such rays only test whether anything is in the way: a ray leaves the
    /// traversal at the first hit found, even if it is not the nearest.
    pub is_parallel: bool,
    /// Instance of each ray's nearest hit, as an index into `BvhCaster::placed`; [`NONE`] without a hit.
    pub placed: PerRay<u32>,
    /// Slot, in the mesh, of the triangle that each ray hits.
    pub slot: PerRay<u32>,
    /// For each register, the bounds of its rays' [`Bundle::sides`].
    pub spans: Spans,
    /// Bounds of all rays' [`Bundle::sides`], by axis.
    pub low: [f32; 2],
    pub high: [f32; 2],
    /// Upper bounds of `|x|` and of `|y|` of all rays, at `z = 0` and at all negative depths to which rays extend.
    pub shift: [f32; 2],
    /// The least of `start`.
    pub least_start: f32,
    /// Rounding error of depths, metres. It grows with the distance from the rays' starts back to the point where the
    /// rays meet.
    pub rounding_m: f32,
    /// Rotates World to the bundle's frame.
    pub from_world: Mat3,
    /// The inverse of `from_world`, in double precision.
    pub to_world: DMat3,
    /// Origin of the frame, in World.
    pub origin: DVec3,
    /// Sum of the largest changes of `x` and of `y` along a ray, per metre of depth.
    pub steepness: f32,
    /// Index of the bundle's first pulse among the pulses of the call.
    pub first: usize,
    /// For each lane, the index of its ray among the rays of all pulses in the bundle.
    pub ray: [u16; MAX_LANES],
    /// Number of lanes in use.
    pub lanes: usize,
}

/// Buffers of [`Bundle::aim`]. They are kept between bundles, because filling them with zeros takes longer than
/// forming a bundle of few rays. After the last lane in use, they have space for a whole stencil.
pub struct Room {
    ray: [Wide<f32>; 3],
    from: [Wide<f32>; 3],
    begin: Wide<f32>,
    range: Wide<f32>,
    index: Wide<u16>,
}

type Wide<T> = [T; MAX_LANES + MAX_RAYS];

impl Room {
    pub fn new() -> Self {
        const ZERO: Wide<f32> = [0.0; MAX_LANES + MAX_RAYS];
        Self {
            ray: [ZERO; 3],
            from: [ZERO; 3],
            begin: ZERO,
            range: ZERO,
            index: [0; MAX_LANES + MAX_RAYS],
        }
    }
}

/// Bounds of the slopes of the rays in each register, by axis. For parallel rays, the bounds are those of the shifts.
#[repr(align(32))]
pub struct Spans {
    pub low: [[f32; REGISTERS]; 2],
    pub high: [[f32; REGISTERS]; 2],
}

impl Spot {
    pub fn new(stencil: &Stencil) -> Self {
        let offsets = stencil.offsets();
        let order = |axis: usize, sign: f32| {
            let mut rays: Vec<usize> = (0..offsets.len()).collect();
            rays.sort_by(|&i, &j| (sign * offsets[i][axis]).total_cmp(&(sign * offsets[j][axis])));
            let ray = |place: usize| rays[place.min(rays.len() - 1)];
            SpotOrder {
                a: std::array::from_fn(|place| offsets[ray(place)][0]),
                b: std::array::from_fn(|place| offsets[ray(place)][1]),
                ray: std::array::from_fn(|place| ray(place) as u8),
            }
        };
        let reach = |axis: usize| {
            offsets.iter().fold(0.0, |reach: f64, offset| reach.max(f64::from(offset[axis].abs())))
        };
        Self {
            orders: [order(0, 1.0), order(0, -1.0), order(1, 1.0), order(1, -1.0)],
            rays: offsets.len(),
            reach: [reach(0), reach(1)],
        }
    }

    /// A box around all rays of `pulses`: its middle and half sizes in World, metres.
    #[inline(always)]
    pub fn bounds(&self, pulses: &[Pulse]) -> [DVec3; 2] {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for pulse in pulses {
            // Before scaling, a ray is at least as long as `direction`.
            let length = (f64::from(pulse.start_m) + f64::from(pulse.max_range_m)) * (1.0 + 1e-6);
            let aside = (pulse.half_axis_u.abs() * self.reach[0]
                + pulse.half_axis_v.abs() * self.reach[1])
                * length;
            let (exit, end) = (pulse.exit(), pulse.origin + pulse.direction * length);
            low = low.min(exit.min(end) - aside);
            high = high.max(exit.max(end) + aside);
        }
        [0.5 * (low + high), 0.5 * (high - low)]
    }

    /// Number of pulses from the start of `pulses` that form a bundle.
    #[inline(always)]
    pub fn bundle_len(&self, pulses: &[Pulse]) -> usize {
        let most = MAX_LANES / self.rays;
        let first = &pulses[0];
        let is_narrow = |pulse: &Pulse| {
            let [u, v] = self.reach;
            let spot = pulse.half_axis_u.length_squared() * (u * u)
                + pulse.half_axis_v.length_squared() * (v * v);
            spot <= MAX_SPOT_M * MAX_SPOT_M
        };
        if !is_narrow(first) {
            return 1;
        }
        let exit = first.exit();
        let mut run = 1;
        // A run slightly longer than a bundle is split evenly.
        while run < pulses.len() && run < 2 * most {
            let (previous, next) = (&pulses[run - 1], &pulses[run]);
            let within =
                |a: &Pulse, rad: f64| (next.direction - a.direction).length_squared() <= rad * rad;
            let is_near = within(first, MAX_SPREAD_RAD)
                && within(previous, MAX_STEP_RAD)
                && (next.exit() - exit).length_squared() <= MAX_SHIFT_M * MAX_SHIFT_M
                && is_narrow(next);
            if !is_near {
                break;
            }
            run += 1;
        }
        run.div_ceil(run.div_ceil(most))
    }
}

impl Bundle {
    pub fn new() -> Self {
        Self {
            slope_x: [0.0; MAX_LANES],
            slope_y: [0.0; MAX_LANES],
            shift_x: [0.0; MAX_LANES],
            shift_y: [0.0; MAX_LANES],
            start: [0.0; MAX_LANES],
            stretch: [1.0; MAX_LANES],
            depth: [f32::NEG_INFINITY; MAX_LANES],
            depth_low: [f32::NEG_INFINITY; MAX_LANES],
            nearest: f32::INFINITY,
            deepest: f32::INFINITY,
            farthest: f32::INFINITY,
            is_stale: false,
            has_hit: false,
            is_parallel: false,
            placed: [NONE; MAX_LANES],
            slot: [NONE; MAX_LANES],
            spans: Spans { low: [[0.0; REGISTERS]; 2], high: [[0.0; REGISTERS]; 2] },
            low: [0.0; 2],
            high: [0.0; 2],
            shift: [0.0; 2],
            least_start: 0.0,
            rounding_m: 0.0,
            from_world: Mat3::IDENTITY,
            to_world: DMat3::IDENTITY,
            origin: DVec3::ZERO,
            steepness: 0.0,
            first: 0,
            ray: [0; MAX_LANES],
            lanes: 0,
        }
    }

    /// The coordinates in which rays differ, by axis: slopes, or shifts if the rays are parallel.
    #[inline(always)]
    pub fn sides(&self) -> [&PerRay<f32>; 2] {
        match self.is_parallel {
            false => [&self.slope_x, &self.slope_y],
            true => [&self.shift_x, &self.shift_y],
        }
    }

    /// Number of registers in use.
    #[inline(always)]
    pub fn registers(&self) -> usize {
        self.lanes.div_ceil(LANES)
    }

    /// Initialises the bundle with `pulses`, at most [`Spot::bundle_len`] of them.
    #[inline(always)]
    pub fn aim(&mut self, spot: &Spot, pulses: &[Pulse], room: &mut Room) {
        let (first, last) = (&pulses[0], &pulses[pulses.len() - 1]);
        let z = (first.direction + last.direction).normalize();
        // If the pulses do not form an arc, their middle may lie elsewhere. Any direction nearby is sufficient.
        let across = last.direction - first.direction;
        let wanted = if across.length_squared() > 1e-12 { across } else { first.half_axis_u };
        let x = (wanted - z * wanted.dot(z))
            .try_normalize()
            .unwrap_or_else(|| z.any_orthonormal_vector());
        self.to_world = DMat3::from_cols(x, z.cross(x), z);
        let from_world = self.to_world.transpose();
        self.from_world = from_world.as_mat3();
        self.origin = first.exit();
        self.lanes = pulses.len() * spot.rays;
        let registers = self.registers().min(REGISTERS);

        for (index, pulse) in pulses.iter().enumerate() {
            let turn = |v: DVec3| (from_world * v).as_vec3();
            let direction = turn(pulse.direction);
            let (u, v) = (turn(pulse.half_axis_u), turn(pulse.half_axis_v));
            let from = turn(pulse.origin - self.origin);
            let order = &spot.orders[if u.x.abs() >= v.x.abs() {
                usize::from(u.x < 0.0)
            } else {
                2 + usize::from(v.x < 0.0)
            }];
            // Lanes after the stencil repeat its last ray, which does not widen the bundle.
            let lane = index * spot.rays;
            for axis in 0..3 {
                let mut block = [0.0f32; MAX_RAYS];
                for (k, ray) in block.iter_mut().enumerate() {
                    *ray = direction[axis] + u[axis] * order.a[k] + v[axis] * order.b[k];
                }
                *from_lane(&mut room.ray[axis], lane) = block;
                *from_lane(&mut room.from[axis], lane) = [from[axis]; MAX_RAYS];
            }
            let mut rays = [0; MAX_RAYS];
            for (k, ray) in rays.iter_mut().enumerate() {
                *ray = u16::from(order.ray[k]) + lane as u16;
            }
            *from_lane(&mut room.index, lane) = rays;
            *from_lane(&mut room.range, lane) = [pulse.max_range_m; MAX_RAYS];
            *from_lane(&mut room.begin, lane) = [pulse.start_m; MAX_RAYS];
        }
        room.range[self.lanes..self.lanes + LANES].fill(f32::NEG_INFINITY);
        let mut most_start_m = 0.0;
        for pulse in pulses {
            most_start_m = max(most_start_m, pulse.start_m);
        }
        let rounding_m = ROUNDING * (most_start_m + MAX_SHIFT_M as f32);
        self.rounding_m = rounding_m;

        (self.low, self.high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
        self.is_stale = false;
        self.has_hit = false;
        let mut start = [f32::INFINITY; LANES];
        let mut nearest = [f32::INFINITY; LANES];
        let mut farthest = [f32::NEG_INFINITY; LANES];
        let mut shift = [[0.0f32; LANES]; 2];
        for register in 0..registers {
            let base = register * LANES;
            self.ray[base..base + LANES].copy_from_slice(&room.index[base..base + LANES]);
            self.placed[base..base + LANES].fill(NONE);
            // The compiler vectorises two loops, but not a single loop with both bodies.
            let mut reach = [0.0; LANES];
            for k in 0..LANES {
                let lane = base + k;
                let along = 1.0 / room.ray[2][lane];
                let (x, y) = (room.ray[0][lane] * along, room.ray[1][lane] * along);
                let stretch = (1.0 + x * x + y * y).sqrt();
                let (from_x, from_y, from_z) =
                    (room.from[0][lane], room.from[1][lane], room.from[2][lane]);
                let (shift_x, shift_y) = (from_x - x * from_z, from_y - y * from_z);
                self.slope_x[lane] = x;
                self.slope_y[lane] = y;
                self.stretch[lane] = stretch;
                self.shift_x[lane] = shift_x;
                self.shift_y[lane] = shift_y;
                let begins = from_z + room.begin[lane] / stretch;
                self.start[lane] = begins;
                reach[k] = begins + room.range[lane] / stretch;
                start[k] = min(start[k], begins);
                shift[0][k] = max(shift[0][k], shift_x.abs());
                shift[1][k] = max(shift[1][k], shift_y.abs());
            }
            for k in 0..LANES {
                let lane = base + k;
                self.depth_low[lane] = reach[k] * (1.0 - ROUNDING) - rounding_m;
                let ends = reach[k] * (1.0 + ROUNDING) + rounding_m;
                self.depth[lane] = ends;
                // Lanes without a ray are ignored.
                nearest[k] =
                    min(nearest[k], if ends > f32::NEG_INFINITY { ends } else { f32::INFINITY });
                farthest[k] = max(farthest[k], ends);
            }
            for (axis, slope) in [&self.slope_x, &self.slope_y].into_iter().enumerate() {
                let slope = of_register(slope, register);
                let (low, high) = (least(slope), most(slope));
                self.spans.low[axis][register] = low;
                self.spans.high[axis][register] = high;
                self.low[axis] = min(self.low[axis], low);
                self.high[axis] = max(self.high[axis], high);
            }
        }
        // These bounds make every shadow miss the registers that are not in use.
        for axis in 0..2 {
            self.spans.low[axis][registers..].fill(f32::INFINITY);
            self.spans.high[axis][registers..].fill(f32::NEG_INFINITY);
        }
        self.nearest = least(&nearest);
        self.farthest = most(&farthest);
        self.deepest = self.farthest;
        self.least_start = least(&start);
        self.shift = [most(&shift[0]), most(&shift[1])];
        // Rays that start behind the origin may be farther from the axis there.
        let behind = max(-self.least_start, 0.0);
        self.steepness = 0.0;
        for axis in 0..2 {
            let steepest = max(self.low[axis].abs(), self.high[axis].abs());
            self.shift[axis] += behind * steepest;
            self.steepness += steepest;
        }
    }

    /// The set of all rays.
    #[inline(always)]
    pub fn all(&self) -> u64 {
        u64::MAX >> (MAX_LANES - self.lanes)
    }

    /// The point of a ray at `depth`, in World.
    #[cfg(test)]
    pub fn point(&self, lane: usize, depth: f32) -> DVec3 {
        let on_ray = |slope: &PerRay<f32>, shift: &PerRay<f32>| {
            f64::from(slope[lane]) * f64::from(depth) + f64::from(shift[lane])
        };
        let x = on_ray(&self.slope_x, &self.shift_x);
        let y = on_ray(&self.slope_y, &self.shift_y);
        self.origin + self.to_world * DVec3::new(x, y, depth.into())
    }
}

/// The part of `values` for the rays of one stencil, starting at `lane`.
#[inline(always)]
fn from_lane<T>(values: &mut Wide<T>, lane: usize) -> &mut [T; MAX_RAYS] {
    values[lane..].first_chunk_mut().expect("room for a stencil")
}

/// `f32::min` as one instruction; if either is NaN, the result is `b`.
#[inline(always)]
pub fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// `f32::max` as one instruction; if either is NaN, the result is `b`.
#[inline(always)]
pub fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The least of eight values.
#[inline(always)]
pub fn least(values: &Lanes) -> f32 {
    // Halving the vector keeps this vectorised.
    let v = values;
    let four = [min(v[0], v[4]), min(v[1], v[5]), min(v[2], v[6]), min(v[3], v[7])];
    min(min(four[0], four[2]), min(four[1], four[3]))
}

/// The greatest of eight values.
#[inline(always)]
pub fn most(values: &Lanes) -> f32 {
    let v = values;
    let four = [max(v[0], v[4]), max(v[1], v[5]), max(v[2], v[6]), max(v[3], v[7])];
    max(max(four[0], four[2]), max(four[1], four[3]))
}

/// The values of the rays in a register.
#[inline(always)]
pub fn of_register<T>(values: &PerRay<T>, register: usize) -> &[T; LANES] {
    &values.as_chunks().0[register & (REGISTERS - 1)]
}

/// Like [`of_register`], but mutable.
#[inline(always)]
pub fn register_mut<T>(values: &mut PerRay<T>, register: usize) -> &mut [T; LANES] {
    &mut values.as_chunks_mut().0[register & (REGISTERS - 1)]
}
