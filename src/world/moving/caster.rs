//! Ray casting with moving objects.
//!
//! The scene's tree is never rebuilt. Each object has its own tree. The object's pose at a pulse's firing time
//! transforms the pulse into the body's frame. A passing car is therefore stretched or shortened as in a real scan
//! (Elmquist et al. 2021, figure 5).
//!
//! Poses are computed at whole milliseconds of the run and interpolated; at an acceleration of 10 m/s² the error is a
//! micrometre. The times of these poses are the same for every call, so the result of a pulse depends only on its
//! firing time.
//!
//! Cost: an object outside the cone around all pulses of a call costs two poses and one comparison, plus one pose and
//! one comparison for each further millisecond between the first and the last firing. For other objects, each pulse is
//! compared with the object's bounding ball, and only pulses that can hit the ball are transformed and traced (measured
//! in `benches/RESULTS.md`).
//!
//! A GPU casts into the scene and all bodies in one batch, and the rays of shadows into all bodies in another. The
//! processor casts into one object after the other, pulses only up to the hits found so far. The results are the same.
//!
//! If a static and a moving surface have the same range, the static one is hit. Of two moving ones, the first in the
//! rig is hit.

use std::sync::Arc;

use glam::DVec3;

use super::MovingObject;
use crate::frames::{Body, Transform, World};
use crate::time::SimTime;
use crate::world::colours::TextureSpot;
use crate::world::raycast::{Beams, BodyCast, Finishes, Hit, Pulse, RayCaster, Stencil, finishes};
use crate::world::scene::Material;

/// Interval between the poses that are interpolated, nanoseconds.
const SLICE_NS: u64 = 1_000_000;
/// Margin around an object for the errors of interpolation and rounding, metres.
const MARGIN_M: f64 = 1e-3;

/// Casts rays into a static scene, with any [`RayCaster`] for it, and into the objects that move in the scene.
pub struct MovingCaster {
    still: Box<dyn RayCaster>,
    objects: Arc<[MovingObject]>,
    /// Instance index of the first object, see [`Hit::instance`].
    first_instance: u32,
}

impl MovingCaster {
    /// Adds `objects` to the caster `still`, whose scene has `instances` instances. The objects get the next instance
    /// indices.
    pub fn new(still: Box<dyn RayCaster>, instances: usize, objects: Arc<[MovingObject]>) -> Self {
        Self { still, objects, first_instance: instances as u32 }
    }
}

impl RayCaster for MovingCaster {
    /// Casts with all objects at their poses at the start of the run.
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        self.cast_at(stencil, pulses, &vec![SimTime::ZERO; pulses.len()], hits);
    }

    fn cast_at(&self, stencil: &Stencil, pulses: &[Pulse], fired: &[SimTime], hits: &mut [Hit]) {
        assert_eq!(fired.len(), pulses.len(), "one firing time for every pulse");
        let Some(call) = Call::new(stencil, pulses, fired) else { return };
        if self.still.casts_bodies(hits.len()) && self.cast_together(&call, hits) {
            return;
        }
        self.still.cast(stencil, pulses, hits);
        for (index, object) in (0..).zip(self.objects.iter()) {
            call.cast_into(object, self.first_instance + index, hits);
        }
    }

    fn blocked_at(&self, beams: &Beams, from: &[DVec3], fired: &[SimTime], blocked: &mut [bool]) {
        assert_eq!(fired.len(), from.len(), "one time for every place");
        self.still.blocked_at(beams, from, fired, blocked);
        let open: Vec<usize> = (0..from.len()).filter(|index| !blocked[*index]).collect();
        let rays: Vec<_> = open.iter().map(|index| beams.ray(from[*index])).collect();
        let fired: Vec<_> = open.iter().map(|index| fired[*index]).collect();
        let stencil = Stencil::single();
        let Some(call) = Call::new(&stencil, &rays, &fired) else { return };
        let (met, mut casts) = self.meetings(&call);
        let count = casts.iter().map(|cast| cast.pulses.len()).sum();
        let is_cast = self.still.casts_bodies(count)
            && self.still.cast_with_bodies(&stencil, &[], &mut [], &mut casts);
        if !is_cast {
            for BodyCast { body, pulses, hits } in &mut casts {
                body.cast(&stencil, pulses, hits);
            }
        }
        for ((_, chosen), cast) in met.iter().zip(&casts) {
            for (index, hit) in chosen.iter().zip(&cast.hits) {
                blocked[open[*index]] |= hit.range_m.is_finite();
            }
        }
    }

    fn in_flight(&self) -> usize {
        self.still.in_flight()
    }

    fn pulses_per_call(&self) -> usize {
        self.still.pulses_per_call()
    }

    fn lost(&self) -> Option<String> {
        self.still.lost()
    }

    fn pulses_by_gpu(&self) -> u64 {
        self.still.pulses_by_gpu()
    }

    fn finishes(&self) -> Option<&dyn Finishes> {
        let have_some = self.still.finishes().is_some()
            || self.objects.iter().any(|object| object.caster.finishes().is_some());
        have_some.then_some(self)
    }

    fn shading(&self) -> Option<&dyn Finishes> {
        Some(self)
    }
}

impl MovingCaster {
    /// Casts into the scene and the objects at the same time. Returns false if the static scene's caster cannot do
    /// this.
    fn cast_together(&self, call: &Call<'_>, hits: &mut [Hit]) -> bool {
        let rays = call.stencil.len();
        let (met, mut casts) = self.meetings(call);
        let is_cast = self.still.cast_with_bodies(call.stencil, call.pulses, hits, &mut casts);
        if is_cast {
            for ((instance, chosen), cast) in met.iter().zip(&casts) {
                keep_nearer(hits, rays, *instance, chosen, &cast.hits);
            }
        }
        is_cast
    }

    /// For each object that pulses can hit, an entry in both lists: its instance with the indices of these pulses, and
    /// the cast of the pulses into its body.
    fn meetings(&self, call: &Call<'_>) -> (Vec<(u32, Vec<usize>)>, Vec<BodyCast>) {
        let (mut met, mut casts) = (Vec::new(), Vec::new());
        for (index, object) in (0..).zip(self.objects.iter()) {
            let (chosen, pulses) = call.meeting(object, |_| f32::INFINITY);
            if !chosen.is_empty() {
                let hits = vec![Hit::MISS; pulses.len() * call.stencil.len()];
                casts.push(BodyCast { body: object.caster.clone(), pulses, hits });
                met.push((self.first_instance + index, chosen));
            }
        }
        (met, casts)
    }

    /// The object that was hit; `None` for a hit on the static scene.
    fn object(&self, hit: &Hit) -> Option<&MovingObject> {
        self.objects.get(hit.instance.checked_sub(self.first_instance)? as usize)
    }
}

impl Finishes for MovingCaster {
    fn material(&self, hit: &Hit) -> Option<&Material> {
        let finishes = match self.object(hit) {
            Some(object) => object.caster.finishes(),
            None => self.still.finishes(),
        };
        finishes?.material(hit)
    }

    fn surface(&self, hit: &Hit) -> Option<&Material> {
        let shading = match self.object(hit) {
            Some(object) => object.caster.shading(),
            None => self.still.shading(),
        };
        shading?.surface(hit)
    }

    fn scene_of(&self, hit: &Hit) -> u32 {
        hit.instance.checked_sub(self.first_instance).map_or(0, |object| object + 1)
    }

    fn normal(&self, pulse: &Pulse, hit: &Hit, fired: SimTime) -> Option<DVec3> {
        let Some(object) = self.object(hit) else {
            return self.still.shading()?.normal(pulse, hit, fired);
        };
        let pose = pose_at(object, fired);
        let (pulse, on_body) = on_body(object, &pose, pulse);
        let normal = object.caster.shading()?.normal(&pulse, &on_body, fired)?;
        Some(pose.direction(normal))
    }

    fn texture_spot(&self, pulse: &Pulse, hit: &Hit, fired: SimTime) -> Option<TextureSpot> {
        let Some(object) = self.object(hit) else {
            return self.still.shading()?.texture_spot(pulse, hit, fired);
        };
        let (pulse, on_body) = on_body(object, &pose_at(object, fired), pulse);
        object.caster.shading()?.texture_spot(&pulse, &on_body, fired)
    }

    fn carried(&self, hit: &Hit, place: DVec3, from: SimTime, to: SimTime) -> DVec3 {
        match self.object(hit) {
            Some(object) => pose_at(object, to).point(pose_at(object, from).inverse().point(place)),
            None => place,
        }
    }
}

/// Pose of an object for pulses fired at `fired`.
fn pose_at(object: &MovingObject, fired: SimTime) -> Transform<World, Body> {
    let slice = fired.0 / SLICE_NS;
    let [before, after] = [slice, slice + 1].map(|slice| object.pose(SimTime(slice * SLICE_NS)));
    before.interpolate(&after, (fired.0 % SLICE_NS) as f64 / SLICE_NS as f64)
}

/// Casts `pulse` again in the frame of a body with this pose, because the hit in World does not identify the part of
/// the body. Returns the pulse in the body's frame and its first hit.
fn on_body(object: &MovingObject, pose: &Transform<World, Body>, pulse: &Pulse) -> (Pulse, Hit) {
    let pulse = in_body(pulse, pose, pulse.max_range_m);
    (pulse, finishes::first_hit(object.caster.as_ref(), pulse))
}

/// The pulses of one call to the caster, and a cone around them.
struct Call<'a> {
    stencil: &'a Stencil,
    pulses: &'a [Pulse],
    fired: &'a [SimTime],
    /// Indices of two time slices: the one with the earliest firing, and the one after the latest firing.
    slices: [u64; 2],
    /// Largest distance between the origin of a pulse and that of the first pulse, metres.
    spread_m: f64,
    axis: DVec3,
    /// Half of the cone's opening angle, including the beams' width, radians.
    half_angle_rad: f64,
    /// Length of the longest rays, metres.
    farthest_m: f64,
    /// Half of the widest beam footprint at a distance of 1 m, metres.
    spot_m: f64,
}

impl<'a> Call<'a> {
    /// Computes the cone around `pulses`; `None` if there are no pulses.
    fn new(stencil: &'a Stencil, pulses: &'a [Pulse], fired: &'a [SimTime]) -> Option<Self> {
        let first = pulses.first()?;
        let (earliest, latest) = (fired.iter().min()?, fired.iter().max()?);
        let reach = stencil.offsets().iter().flatten().fold(0.0, |r: f32, o| r.max(o.abs()));
        let (mut spread, mut spot, mut sum) = (0.0_f64, 0.0_f64, DVec3::ZERO);
        for pulse in pulses {
            spread = spread.max(pulse.origin.distance_squared(first.origin));
            spot =
                spot.max(pulse.half_axis_u.length_squared() + pulse.half_axis_v.length_squared());
            sum += pulse.direction;
        }
        let axis = sum.normalize_or(first.direction);
        let narrowest = pulses.iter().map(|p| p.direction.dot(axis)).fold(1.0, f64::min);
        let spot_m = spot.sqrt() * f64::from(reach);
        Some(Self {
            stencil,
            pulses,
            fired,
            slices: [earliest.0 / SLICE_NS, latest.0 / SLICE_NS + 1],
            spread_m: spread.sqrt(),
            axis,
            half_angle_rad: libm::acos(narrowest.max(-1.0)) + spot_m,
            farthest_m: f64::from(
                pulses.iter().map(|p| p.start_m + p.max_range_m).fold(0.0, f32::max),
            ),
            spot_m,
        })
    }

    /// Casts into an object, with the processor instead of the GPU.
    fn cast_into(&self, object: &MovingObject, instance: u32, hits: &mut [Hit]) {
        let rays = self.stencil.len();
        let (chosen, pulses) = self.meeting(object, |index| {
            hits[index * rays..][..rays].iter().map(|hit| hit.range_m).fold(0.0, f32::max)
        });
        if chosen.is_empty() {
            return;
        }
        let mut found = vec![Hit::MISS; chosen.len() * rays];
        object.caster.cast(self.stencil, &pulses, &mut found);
        keep_nearer(hits, rays, instance, &chosen, &found);
    }

    /// Indices of the pulses that can hit `object`, and the same pulses in the object's frame. `farthest_m` takes the
    /// index of a pulse and returns the range to which the pulse's rays are shortened, metres.
    fn meeting(
        &self,
        object: &MovingObject,
        farthest_m: impl Fn(usize) -> f32,
    ) -> (Vec<usize>, Vec<Pulse>) {
        let mut chosen = Vec::new();
        let mut pulses = Vec::new();
        let [first, last] = self.slices;
        let poses: Vec<_> =
            (first..=last).map(|slice| object.pose(SimTime(slice * SLICE_NS))).collect();
        if !self.may_meet(object, &poses) {
            return (chosen, pulses);
        }
        for (index, (pulse, fired)) in self.pulses.iter().zip(self.fired).enumerate() {
            if !object.is_there(*fired) {
                continue;
            }
            let slice = (fired.0 / SLICE_NS - first) as usize;
            let share = (fired.0 % SLICE_NS) as f64 / SLICE_NS as f64;
            let (before, after) = (&poses[slice], &poses[slice + 1]);
            let (from, to) = (before.point(object.centre), after.point(object.centre));
            let centre = from + (to - from) * share;
            // If the object rotates, the centre of the ball moves on a curve. `bend` is at least its distance from the
            // straight line.
            let bend = 0.5 * (to - from).length();
            if self.pulse_meets(pulse, centre, object.radius_m + bend + MARGIN_M) {
                chosen.push(index);
                let pose = before.interpolate(after, share);
                pulses.push(in_body(pulse, &pose, farthest_m(index)));
            }
        }
        (chosen, pulses)
    }

    /// Whether the cone may hit the object's bounding ball at a pose between two successive `poses`.
    fn may_meet(&self, object: &MovingObject, poses: &[Transform<World, Body>]) -> bool {
        let origin = self.pulses[0].origin;
        poses.windows(2).any(|ends| {
            let [from, to] = [&ends[0], &ends[1]].map(|pose| pose.point(object.centre) - origin);
            let middle = 0.5 * (from + to);
            let radius = object.radius_m + (to - from).length() + self.spread_m + MARGIN_M;
            let distance = middle.length();
            if distance <= radius {
                return true;
            }
            if distance > self.farthest_m + radius {
                return false;
            }
            let ball = libm::asin(radius / distance);
            let off = libm::acos((middle.dot(self.axis) / distance).clamp(-1.0, 1.0));
            off <= ball + self.half_angle_rad
        })
    }

    fn pulse_meets(&self, pulse: &Pulse, centre: DVec3, radius: f64) -> bool {
        let away = centre - pulse.origin;
        let along = away.dot(pulse.direction);
        if along < -radius || along > f64::from(pulse.start_m + pulse.max_range_m) + radius {
            return false;
        }
        let aside = away.length_squared() - along * along;
        let reach = radius + self.spot_m * (along.max(0.0) + radius);
        aside <= reach * reach
    }
}

/// Replaces hits by nearer hits on an object. `found` are the hits of the pulses with the indices `chosen`.
fn keep_nearer(hits: &mut [Hit], rays: usize, instance: u32, chosen: &[usize], found: &[Hit]) {
    for (index, found) in chosen.iter().zip(found.chunks(rays)) {
        for (hit, found) in hits[index * rays..][..rays].iter_mut().zip(found) {
            if found.range_m < hit.range_m {
                *hit = Hit { instance, ..*found };
            }
        }
    }
}

/// Transforms `pulse` to the frame of a body; limits its rays to `farthest_m`.
fn in_body(pulse: &Pulse, world_from_body: &Transform<World, Body>, farthest_m: f32) -> Pulse {
    let body_from_world = world_from_body.inverse();
    let turn = |v: DVec3| body_from_world.direction(v);
    Pulse {
        origin: body_from_world.point(pulse.origin),
        direction: turn(pulse.direction),
        half_axis_u: turn(pulse.half_axis_u),
        half_axis_v: turn(pulse.half_axis_v),
        start_m: pulse.start_m,
        max_range_m: pulse.max_range_m.min(farthest_m),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::schedule::Schedule;
    use crate::config::rig::{RobotConfig, TrajectoryConfig};
    use crate::frames::{GeoOrigin, Geodetic};
    use crate::world::raycast::draws::Draws;
    use crate::world::raycast::{BvhCaster, reference};
    use crate::world::scene::Scene;
    use crate::world::trajectory::Trajectory;

    const MS: u64 = 1_000_000;
    /// Latest firing time of a ray in these tests, milliseconds.
    const LATEST_MS: f64 = 400.0;

    /// A caster that implements only `cast` and keeps the default of every other method.
    struct Plain(BvhCaster);

    impl RayCaster for Plain {
        fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
            self.0.cast(stencil, pulses, hits);
        }
    }

    /// A static scene, and a caster with three objects in it. Two objects coincide on the same circle; the first of
    /// them exists only in some time windows. The third passes at 30 m/s.
    fn fixture(draws: &mut Draws, is_plain: bool) -> (Scene, MovingCaster) {
        let origin =
            GeoOrigin::new(Geodetic { latitude_deg: 33.0, longitude_deg: -88.0, altitude_m: 92.0 });
        let circle = || TrajectoryConfig::Circle {
            center_m: [1.0, -1.0, 0.0],
            radius_m: 3.0,
            speed_m_s: 9.0,
            start_angle_rad: 1.0,
        };
        let line =
            TrajectoryConfig::Line { start_m: [-6.0, 2.0, 0.5], yaw_rad: 0.2, speed_m_s: 30.0 };
        let (body, other) = (draws.scene(40, 1.0), draws.scene(40, 1.0));
        let motions = [(&body, circle()), (&body, circle()), (&other, line)];
        let objects = motions.map(|(body, motion)| {
            let trajectory = Trajectory::new(&RobotConfig::new(motion, false), &origin, None);
            MovingObject::of("object", body.clone(), trajectory.unwrap()).unwrap()
        });
        let mut objects = Vec::from(objects);
        let shown = Schedule {
            start: SimTime(50 * MS),
            duration_ns: Some(70 * MS),
            period_ns: Some(130 * MS),
        };
        objects[0].shown = vec![shown];
        let still = draws.scene(60, 5.0);
        let caster = BvhCaster::new(Arc::new(still.clone())).unwrap();
        let caster: Box<dyn RayCaster> =
            if is_plain { Box::new(Plain(caster)) } else { Box::new(caster) };
        let instances = still.instances.len();
        (still, MovingCaster::new(caster, instances, objects.into()))
    }

    /// The reference: casts each ray into the scene, and into each body at its pose when the ray is fired.
    fn expected(
        (still, caster): &(Scene, MovingCaster),
        stencil: &Stencil,
        pulse: &Pulse,
        fired: SimTime,
    ) -> Vec<Hit> {
        let mut nearest = reference::cast(still, stencil, pulse);
        for (instance, object) in (caster.first_instance..).zip(caster.objects.iter()) {
            let [start, end] =
                [fired.0 / MS, fired.0 / MS + 1].map(|ms| object.pose(SimTime(ms * MS)));
            let pose = start.interpolate(&end, (fired.0 % MS) as f64 / MS as f64);
            let found = reference::cast(object.body(), stencil, &in_body(pulse, &pose, f32::MAX));
            for (nearest, found) in nearest.iter_mut().zip(found) {
                if object.is_there(fired) && found.range_m < nearest.range_m {
                    *nearest = Hit { instance, ..found };
                }
            }
        }
        nearest
    }

    fn fired(draws: &mut Draws) -> SimTime {
        SimTime((draws.between(0.0, LATEST_MS) * MS as f64) as u64)
    }

    #[test]
    fn moving_surfaces_are_hit_where_the_definition_says_bit_by_bit() {
        let mut draws = Draws(17);
        let fixture = fixture(&mut draws, false);
        let wide = Stencil::new(vec![[0.0, 0.0], [1.0, 0.0], [0.0, -1.0], [-0.5, 0.5]]).unwrap();
        let mut counts = [0; 4];
        for round in 0..40 {
            let stencil = if round % 2 == 0 { wide.clone() } else { Stencil::single() };
            let origin = draws.vector() * 12.0;
            // Spreads range from pulses close together to all directions. Some beams have a width at the exit.
            let spread = [0.002, 0.05, 0.5, 3.0][round % 4];
            let behind_m = if round % 3 == 0 { 14.0 } else { 0.0 };
            let ahead = (draws.vector() * 3.0 - origin).normalize();
            let pulses: Vec<Pulse> = (0..50)
                .map(|_| {
                    let direction = (ahead + draws.vector() * spread).normalize();
                    let u = direction.any_orthonormal_vector();
                    Pulse {
                        origin: origin + draws.vector() * 0.01 - direction * behind_m,
                        start_m: behind_m as f32,
                        direction,
                        half_axis_u: u * 0.02,
                        half_axis_v: direction.cross(u) * 0.02,
                        max_range_m: if draws.next() > 0.0 { 100.0 } else { 9.0 },
                    }
                })
                .collect();
            let times: Vec<SimTime> = pulses.iter().map(|_| fired(&mut draws)).collect();
            let rays = stencil.len();
            let mut hits = vec![Hit::MISS; pulses.len() * rays];
            fixture.1.cast_at(&stencil, &pulses, &times, &mut hits);
            for ((pulse, time), hits) in pulses.iter().zip(&times).zip(hits.chunks(rays)) {
                assert_eq!(hits, expected(&fixture, &stencil, pulse, *time), "{round} {pulse:?}");
                let hit = hits.iter().filter(|hit| hit.range_m.is_finite());
                hit.for_each(|hit| counts[hit.instance as usize] += 1);
            }
        }
        assert!(counts.iter().all(|count| *count > 30), "{counts:?}");
    }

    #[test]
    fn what_is_blocked_is_what_the_definition_hits() {
        let mut draws = Draws(23);
        for is_plain in [false, true] {
            let fixture = fixture(&mut draws, is_plain);
            let (mut by_still, mut by_moving, mut open) = (0, 0, 0);
            for _ in 0..60 {
                let toward = draws.vector().normalize();
                let beams = Beams { toward, reach_m: draws.between(2.0, 20.0) as f32 };
                let patch = draws.vector() * 3.0 - toward * 2.0;
                let from: Vec<DVec3> = (0..40).map(|_| patch + draws.vector()).collect();
                let times: Vec<SimTime> = from.iter().map(|_| fired(&mut draws)).collect();
                let mut blocked = vec![false; from.len()];
                fixture.1.blocked_at(&beams, &from, &times, &mut blocked);
                for ((from, time), blocked) in from.iter().zip(&times).zip(blocked) {
                    let ray = beams.ray(*from);
                    let [hit] = expected(&fixture, &Stencil::single(), &ray, *time)[..] else {
                        panic!("one ray")
                    };
                    assert_eq!(blocked, hit.range_m.is_finite(), "{from} {time:?} {beams:?}");
                    match (blocked, hit.instance) {
                        (false, _) => open += 1,
                        (true, 0) => by_still += 1,
                        (true, _) => by_moving += 1,
                    }
                }
            }
            let counts = [by_still, by_moving, open];
            assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
        }
    }
}
