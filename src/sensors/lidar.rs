//! A spinning lidar on a moving robot: measures the pulses of a packet and returns their echoes.

mod aim;
mod truth_keeper;

use std::cell::RefCell;
use std::sync::Arc;

use self::aim::Aim;
use self::truth_keeper::Fired;
use self::truth_keeper::TruthKeeper;
use super::beam::{self, Spot};
use super::lidar_faults::{Detected, Received, SweepFaults};
use super::noise::{NoiseSource, Quantity};
use super::pattern::LaserGeometry;
use super::receiver::{self, Backscatter, EchoSelection, Errors, Gathered, Receiver, Reception};
use super::surfaces::{Glimpse, Glimpses};
use super::truth::{Origin, Sources};
use super::weather::{AirOptics, AirScratch, Flight, Stop, Weather};
use super::{
    Echoes, FiringSlot, MAX_ECHOES, Measurement, MeasurementRequest, Outcome, PulseReturns, Return,
    Subject, Surroundings, Sweep,
};
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::rig::faults::Timed;
use crate::frames::{Body, Sensor, Transform, World};
use crate::sensors::optics_fault::LidarFault;
use crate::time::SimTime;
use crate::world::raycast::{Hit, Pulse};

/// Identifiers of the random errors of range and intensity, for each reported echo.
const ERRORS: [[Quantity; 2]; MAX_ECHOES] = [
    [Quantity::FirstRange, Quantity::FirstIntensity],
    [Quantity::SecondRange, Quantity::SecondIntensity],
    [Quantity::ThirdRange, Quantity::ThirdIntensity],
    [Quantity::FourthRange, Quantity::FourthIntensity],
    [Quantity::FifthRange, Quantity::FifthIntensity],
];

/// Physics of one spinning lidar. All threads that measure for it share it.
#[derive(Clone, Debug)]
pub struct Lidar {
    lasers: Vec<LaserGeometry>,
    /// Beam footprint for each [`Thinning`].
    spots: [Spot; 3],
    half_axes_m: [f64; 2],
    apex_behind_m: f64,
    air_optics: AirOptics,
    beam: BeamSettings,
    receiver: Receiver,
    settings: NoiseSettings,
    errors: Errors,
    noise: NoiseSource,
    faults: Vec<Timed<LidarFault>>,
}

/// Reusable buffers for a measurement's pulses and hits; keep one per thread.
#[derive(Default)]
pub struct Scratch {
    /// Indices of each request's firings, sorted by laser. Pulses of one laser are neighbours in the world, and casters
    /// are faster with neighbours.
    order: Vec<u32>,
    /// For each laser, the index of its next firing in `order`.
    places: Vec<u32>,
    pulses: Vec<Pulse>,
    /// Firing time of each of `pulses`.
    fired: Vec<SimTime>,
    hits: Vec<Hit>,
    glimpses: Glimpses,
    scatter: Vec<Backscatter>,
    /// Ends of a pulse's rays.
    stops: Vec<Stop>,
    air: AirScratch,
    receiver: RefCell<receiver::Buffers>,
    /// Light of each of `pulses`.
    gathered: Vec<Gathered>,
    thinning: Thinning,
    is_thinned: bool,
    watch: Watch,
    keeps_truth: bool,
    /// Origins of a pulse's light, for ground truth.
    origins: Vec<Origin>,
}

/// Moving objects whose first return is reported as the stimulus of a latency measurement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    /// Index of the first object, in the numbering of [`Hit::instance`].
    pub first_instance: u32,
    /// Watched objects: bit `n` is set if object `first_instance + n` is watched. Only the first 64 objects can be
    /// watched.
    pub objects: u64,
}

/// Number of returns that a fault removes, and number of returns that it changes. Each pair is one return without and
/// with the fault.
fn differences(pairs: impl Iterator<Item = (Option<Return>, Option<Return>)>) -> (u64, u64) {
    pairs.fold((0, 0), |(lost, changed), (here, there)| match (here, there) {
        (Some(_), None) => (lost + 1, changed),
        (Some(here), Some(there)) if here != there => (lost, changed + 1),
        _ => (lost, changed),
    })
}

/// Instance and range, metres, of each hit on a surface.
fn met(hits: &[Hit]) -> impl Iterator<Item = (u32, f32)> {
    hits.iter().filter(|hit| hit.range_m.is_finite()).map(|hit| (hit.instance, hit.range_m))
}

impl Received for PulseReturns {
    #[inline]
    fn of_one(echo: Option<Return>, selection: EchoSelection) -> Self {
        receiver::of_one(echo, selection)
    }

    fn difference(&self, other: &Self) -> (u64, u64) {
        differences([(self.first, other.first), (self.second, other.second)].into_iter())
    }

    fn slots(&self) -> impl Iterator<Item = Option<Return>> {
        [self.first, self.second].into_iter()
    }

    fn has_return_near(&self, range_m: f32, within_m: f32) -> bool {
        let both = self.first.iter().chain(&self.second);
        both.into_iter().any(|echo| (echo.range_m - range_m).abs() <= within_m)
    }

    fn with_errors(&self, measured: impl Fn(Return, [Quantity; 2]) -> Return) -> Self {
        let first = self.first.map(|echo| measured(echo, ERRORS[0]));
        let second = if self.second == self.first {
            first
        } else {
            self.second.map(|echo| measured(echo, ERRORS[1]))
        };
        Self { first, second }
    }
}

impl Received for Echoes {
    #[inline]
    fn of_one(echo: Option<Return>, _selection: EchoSelection) -> Self {
        let mut all = Self::default();
        echo.into_iter().for_each(|echo| all.push(echo));
        all
    }

    fn difference(&self, other: &Self) -> (u64, u64) {
        let there = |place| other.as_slice().get(place).copied();
        let here = self.as_slice().iter().enumerate();
        differences(here.map(|(place, echo)| (Some(*echo), there(place))))
    }

    fn slots(&self) -> impl Iterator<Item = Option<Return>> {
        self.as_slice().iter().copied().map(Some)
    }

    fn has_return_near(&self, range_m: f32, within_m: f32) -> bool {
        self.as_slice().iter().any(|echo| (echo.range_m - range_m).abs() <= within_m)
    }

    fn with_errors(&self, measured: impl Fn(Return, [Quantity; 2]) -> Return) -> Self {
        let mut all = Self::default();
        for (echo, errors) in self.as_slice().iter().zip(ERRORS) {
            all.push(measured(*echo, errors));
        }
        all
    }
}

/// Number of rays per pulse, reduced if rendering is too slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thinning {
    /// All rays of the beam footprint.
    #[default]
    None,
    /// Five rays with `SpotRule::Even`, otherwise all.
    Half,
    /// The centre ray.
    Single,
}

impl Thinning {
    /// All levels, from all rays to a single one.
    pub const ALL: [Self; 3] = [Self::None, Self::Half, Self::Single];

    fn rays(self) -> u8 {
        match self {
            Self::None => u8::MAX,
            Self::Half => 5,
            Self::Single => 1,
        }
    }
}

impl Lidar {
    /// A lidar with `lasers`; [`FiringSlot::laser`] refers to them.
    pub fn new(
        mut lasers: Vec<LaserGeometry>,
        beam: &BeamSettings,
        settings: &NoiseSettings,
        noise: NoiseSource,
    ) -> Self {
        for (index, laser) in lasers.iter_mut().enumerate() {
            let bias = |std, quantity| receiver::laser_bias(std, &noise, index, quantity);
            laser.azimuth_offset_rad +=
                bias(settings.laser_azimuth_std_rad, Quantity::LaserAzimuth);
            laser.elevation_rad += bias(settings.laser_elevation_std_rad, Quantity::LaserElevation);
        }
        Self {
            spots: Thinning::ALL.map(|thinning| Spot::new(beam, thinning.rays())),
            half_axes_m: beam::half_axes_m(beam),
            apex_behind_m: beam::apex_behind_m(beam),
            air_optics: AirOptics::of(beam),
            receiver: Receiver::new(beam, settings.signal_to_noise),
            errors: Errors::new(settings, beam.threshold(), lasers.len(), noise),
            lasers,
            beam: beam.clone(),
            settings: settings.clone(),
            noise,
            faults: Vec::new(),
        }
    }

    /// Returns the lidar with the optical faults `faults`, which replace all faults set before.
    #[must_use]
    pub fn with_faults(mut self, faults: &[Timed<LidarFault>]) -> Self {
        self.faults = faults.to_vec();
        self
    }

    /// Answers `requests`: fires every pulse of their sweeps from the sensor's pose at its firing time. All pulses are
    /// cast in one call. Requests without a sweep get an empty outcome.
    ///
    /// The pose is computed at the first and the last firing of a sweep, and interpolated in between over at most some
    /// milliseconds (motion during the scan, Elmquist et al. 2021). For a sensor on a joint, this is the pose of the
    /// robot's body; the joint's position is computed at each firing, because a joint may turn far in that time.
    ///
    /// `receive` selects the echoes that the detector reports from a firing's light; errors are added afterwards.
    pub(super) fn fire<T>(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
        outcome: fn(Vec<T>) -> Outcome,
        receive: impl Fn(&Sweep, &[Backscatter], &Reception<'_>) -> T,
    ) -> Vec<Measurement>
    where
        T: Clone + Default + Received,
    {
        scratch.order.clear();
        scratch.pulses.clear();
        scratch.fired.clear();
        let aimed: Vec<Option<Aim<'_>>> = requests
            .iter()
            .map(|MeasurementRequest { start, subject, .. }| match subject {
                Subject::Sweep(sweep) => {
                    let (start, end) = (*start, SimTime(start.0 + u64::from(sweep.span_ns())));
                    let poses = Poses::between(start, end, surroundings);
                    let first = scratch.sort_by_laser(&sweep.firings, self.lasers.len());
                    let noise = self.noise.request(sweep.number);
                    let aim = Aim { start, sweep, poses, noise, surroundings, first };
                    self.aim(&aim, scratch);
                    Some(aim)
                }
                Subject::Instant | Subject::Series { .. } | Subject::Tile(_) => None,
            })
            .collect();
        let Spot { stencil, weights } = &self.spots[scratch.thinning as usize];
        scratch.is_thinned = stencil.len() < self.spots[0].stencil.len();
        // Old contents need no reset, because casters write every hit.
        scratch.hits.resize(scratch.pulses.len() * stencil.len(), Hit::MISS);
        surroundings.caster.cast_at(stencil, &scratch.pulses, &scratch.fired, &mut scratch.hits);
        if let Some(weather) = surroundings.weather {
            weather.wet(surroundings.caster, &mut scratch.hits);
        }
        let finishes = surroundings.caster.finishes();
        if let Some(finishes) = finishes {
            let pulses = (&scratch.pulses[..], &scratch.fired[..]);
            let (caster, hits) = (surroundings.caster, &scratch.hits);
            scratch.glimpses.follow(caster, finishes, stencil, pulses, hits);
        }
        scratch.gathered.clear();
        scratch.gathered.resize(scratch.order.len(), Gathered::Unknown);
        // The air adds light between the surfaces.
        if surroundings.weather.is_none() {
            self.receiver.gather(&scratch.hits, weights, &mut scratch.gathered);
        }
        if finishes.is_some() {
            scratch.glimpses.forget(&mut scratch.gathered);
        }
        let glimpses = std::mem::take(&mut scratch.glimpses);
        let mut fired = Vec::with_capacity(requests.len());
        {
            let mut by_pulse = glimpses.by_pulse(stencil.len());
            let mut next_glimpses = || finishes.and_then(|_| by_pulse.next()?);
            fired.extend(aimed.iter().map(|aim| match aim {
                Some(aim) => self.detect(aim, scratch, &mut next_glimpses, &receive),
                None => Fired::default(),
            }));
        }
        scratch.glimpses = glimpses;
        let answered = requests.into_iter().zip(fired);
        answered.map(|(request, fired)| fired.into_measurement(request, outcome)).collect()
    }

    /// Echoes of the pulses of one sweep. `next_glimpses` returns those of the next pulse if they differ from its hits.
    fn detect<'g, T>(
        &self,
        aim: &Aim<'_>,
        scratch: &mut Scratch,
        mut next_glimpses: impl FnMut() -> Option<&'g [Glimpse]>,
        receive: impl Fn(&Sweep, &[Backscatter], &Reception<'_>) -> T,
    ) -> Fired<T>
    where
        T: Clone + Default + Received,
    {
        let Aim { start, sweep, poses, noise, surroundings, first } = aim;
        let (start, noise) = (*start, noise);
        let Spot { stencil, weights } = &self.spots[scratch.thinning as usize];
        let rays = stencil.len();
        let mut truth = scratch.keeps_truth.then(|| {
            let poses = poses.listed(start, sweep, surroundings);
            TruthKeeper::new(self, start, sweep, noise, poses)
        });
        let mut received = vec![T::default(); sweep.firings.len()];
        let mut seen = 0;
        let common_m = self.errors.common_m(start);
        let faults = SweepFaults::of(&self.faults, start, sweep, &self.lasers);
        let is_plain = truth.is_none() && faults.is_empty();
        if is_plain {
            seen |= self.report_known(aim, common_m, scratch, &mut received);
        }
        let air = surroundings.weather.map(|weather| {
            let end = SimTime(start.0 + u64::from(sweep.span_ns()));
            weather.around(&self.air_optics, start, end, &mut scratch.air)
        });
        for place in *first..first + sweep.firings.len() {
            let firing = scratch.order[place] as usize;
            let glimpses = next_glimpses();
            if is_plain && scratch.gathered[place] != Gathered::Unknown {
                continue;
            }
            let hits = &scratch.hits[place * rays..][..rays];
            scratch.scatter.clear();
            match glimpses {
                None => scratch.scatter.extend(Backscatter::of_hits(hits, weights)),
                Some(glimpses) => scratch.scatter.extend(glimpses.iter().map(|glimpse| {
                    let reflectance = weights[glimpse.ray_of(rays)] * glimpse.reflectance;
                    Backscatter { range_m: glimpse.range_m, reflectance }
                })),
            }
            let mut surfaces = scratch.scatter.len();
            if truth.is_some() {
                scratch.origins.clear();
                let origins = &mut scratch.origins;
                let scatter = scratch.scatter.iter();
                match glimpses {
                    None => {
                        let met = hits.iter().filter(|hit| hit.range_m != f32::INFINITY);
                        origins.extend(scatter.zip(met).map(|(light, hit)| Origin::of(light, hit)));
                    }
                    Some(glimpses) => {
                        origins.extend(scatter.zip(glimpses).map(|(l, g)| Origin::seen(l, g)));
                    }
                }
            }
            if let Some(air) = &air {
                let pulse = &scratch.pulses[place];
                scratch.stops.clear();
                let stop =
                    |(hit, share): (&Hit, &f32)| Stop { range_m: hit.range_m, share: *share };
                scratch.stops.extend(hits.iter().zip(weights).map(stop));
                let flight = Flight {
                    origin: pulse.exit(),
                    direction: pulse.direction,
                    at: scratch.fired[place],
                    noise,
                    firing,
                    stops: &scratch.stops,
                };
                surfaces = air.act(&flight, &mut scratch.air, &mut scratch.scatter);
            }
            let reception = Reception {
                setting: sweep.receiver,
                light: 1.0,
                noise,
                firing,
                buffers: &scratch.receiver,
            };
            let laser = usize::from(sweep.firings[firing].laser);
            let detected = faults.receive(firing, |light| {
                let echoes = receive(sweep, &scratch.scatter, &Reception { light, ..reception });
                let report = echoes.with_errors(|echo, errors| {
                    self.errors.apply(echo, laser, firing, common_m, noise, errors)
                });
                Detected { light, echoes, report }
            });
            if let Some(truth) = &mut truth {
                let sources = Sources {
                    origins: &scratch.origins,
                    scatter: &scratch.scatter,
                    surfaces,
                    width_m: self.receiver.width_m(),
                };
                let reception = Reception { light: detected.light, ..reception };
                truth.note(&sources, &reception, &detected.echoes, &detected.report);
            }
            received[firing] = detected.report;
            if scratch.watch.objects != 0 {
                let watch = &scratch.watch;
                let received = &received[firing];
                seen |= match glimpses {
                    None => self.watched(watch, met(hits), received, surroundings.weather),
                    Some(glimpses) => {
                        let met = glimpses.iter().map(|g| (g.instance, g.range_m));
                        self.watched(watch, met, received, surroundings.weather)
                    }
                };
            }
        }
        let truth = truth.map(|truth| Arc::new(truth.finish()));
        Fired { received, fault_effects: faults.fault_effects(), truth, seen }
    }

    /// Reports the pulses of one sweep whose light forms at most one echo and needs no search; returns the watched objects
    /// with a return, as [`Lidar::watched`]. The sweep has no fault and no ground truth.
    fn report_known<T: Received>(
        &self,
        aim: &Aim<'_>,
        common_m: f32,
        scratch: &Scratch,
        received: &mut [T],
    ) -> u64 {
        let Aim { sweep, noise, first, .. } = aim;
        let Scratch { order, gathered, hits, watch, .. } = scratch;
        let rays = self.spots[scratch.thinning as usize].stencil.len();
        let mut seen = 0;
        for place in *first..*first + sweep.firings.len() {
            let Some(peak) = gathered[place].peak() else { continue };
            let firing = order[place] as usize;
            let (setting, buffers) = (sweep.receiver, &scratch.receiver);
            let reception = Reception { setting, light: 1.0, noise, firing, buffers };
            let echo = peak.and_then(|peak| self.receiver.detect(peak, 0, &reception));
            let laser = usize::from(sweep.firings[firing].laser);
            let report =
                echo.map(|echo| self.errors.apply(echo, laser, firing, common_m, noise, ERRORS[0]));
            received[firing] = T::of_one(report, sweep.selection);
            if watch.objects != 0 {
                let met = met(&hits[place * rays..][..rays]);
                seen |= self.watched(watch, met, &received[firing], None);
            }
        }
        seen
    }

    /// The watched objects that were hit and for which the detector reports a return: one bit each, as in
    /// [`Watch::objects`]. `met` has the instance and the range, metres, of each hit.
    fn watched(
        &self,
        watch: &Watch,
        met: impl Iterator<Item = (u32, f32)>,
        received: &impl Received,
        weather: Option<&Weather>,
    ) -> u64 {
        // Except for its error, an echo lies within the range of the hits that form the echo.
        let within_m = (self.beam.signal_cutoff_m + self.errors.likely_m()) as f32;
        // Five standard deviations, as in `likely_m`.
        let share = 5.0 * weather.and_then(Weather::range_error).unwrap_or(0.0) as f32;
        let objects = met.map(|(instance, range_m)| {
            let object = instance.wrapping_sub(watch.first_instance);
            let bit = 1u64.checked_shl(object).unwrap_or(0) & watch.objects;
            let within_m = within_m + share * range_m;
            if bit != 0 && received.has_return_near(range_m, within_m) { bit } else { 0 }
        });
        objects.fold(0, |seen, object| seen | object)
    }

    /// All echoes of the received light, without errors.
    pub(super) fn echoes(&self, scatter: &[Backscatter], reception: &Reception<'_>) -> Echoes {
        self.receiver.echoes(scatter, reception)
    }
}

impl super::Sensor for Lidar {
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        self.fire(requests, surroundings, scratch, Outcome::Returns, |sweep, scatter, reception| {
            self.receiver.returns(scatter, sweep.selection, reception)
        })
    }
}

/// Poses of a sensor from one instant to another.
enum Poses {
    /// Poses of the sensor itself.
    OfSensor([Transform<World, Sensor>; 2]),
    /// Poses of the body, for a joint that carries the sensor.
    OfBody([Transform<World, Body>; 2]),
}

impl Poses {
    fn between(start: SimTime, end: SimTime, surroundings: &Surroundings<'_>) -> Self {
        let instants = [start, end];
        match surroundings.carrier {
            None => Self::OfSensor(instants.map(|at| surroundings.world_from_sensor(at))),
            Some(_) => Self::OfBody(instants.map(|at| surroundings.trajectory.pose(at))),
        }
    }

    /// Poses of the sensor for ground truth, with their offsets from the start of the sweep, ns: the first and the last
    /// one, or, for a sensor on a joint, one per firing time.
    fn listed(
        &self,
        start: SimTime,
        sweep: &Sweep,
        surroundings: &Surroundings<'_>,
    ) -> Vec<(u32, Transform<World, Sensor>)> {
        let span_ns = sweep.span_ns();
        match self {
            Self::OfSensor(ends) => vec![(0, ends[0]), (span_ns, ends[1])],
            Self::OfBody(_) => {
                let mut offsets: Vec<u32> = sweep.firings.iter().map(|f| f.offset_ns).collect();
                offsets.sort_unstable();
                offsets.dedup();
                let pose = |offset: u32| {
                    let share = f64::from(offset) / f64::from(span_ns.max(1));
                    (offset, self.at(share, SimTime(start.0 + u64::from(offset)), surroundings))
                };
                offsets.into_iter().map(pose).collect()
            }
        }
    }

    /// Pose of the sensor at `at`. `share` is the position of `at` between start (0) and end (1) of the sweep.
    fn at(
        &self,
        share: f64,
        at: SimTime,
        surroundings: &Surroundings<'_>,
    ) -> Transform<World, Sensor> {
        match self {
            Self::OfSensor([start, end]) => start.interpolate(end, share),
            Self::OfBody([start, end]) => start.interpolate(end, share) * surroundings.mount_at(at),
        }
    }
}

impl Scratch {
    /// Sets the number of rays per pulse.
    pub fn set_thinning(&mut self, thinning: Thinning) {
        self.thinning = thinning;
        self.is_thinned = false;
    }

    /// Sets the objects to watch from now on.
    pub fn set_watch(&mut self, watch: Watch) {
        self.watch = watch;
    }

    /// Whether ground truth of measurements is recorded.
    pub fn keeps_truth(&self) -> bool {
        self.keeps_truth
    }

    /// Turns the recording of ground truth on or off.
    pub fn keep_truth(&mut self, keeps_truth: bool) {
        self.keeps_truth = keeps_truth;
    }

    /// Whether the last measurement used fewer rays per pulse than the full beam footprint has.
    pub fn is_thinned(&self) -> bool {
        self.is_thinned
    }

    /// Empties and returns the buffers of pulses and hits, for sensors that are not lidars.
    pub(super) fn rays(&mut self) -> (&mut Vec<Pulse>, &mut Vec<Hit>) {
        self.pulses.clear();
        self.hits.clear();
        (&mut self.pulses, &mut self.hits)
    }

    /// Appends the indices of `firings`, sorted by laser, to `order`; returns the place of the first.
    fn sort_by_laser(&mut self, firings: &[FiringSlot], lasers: usize) -> usize {
        let first = self.order.len();
        self.order.resize(first + firings.len(), 0);
        let lasers_of = firings.iter().map(|firing| usize::from(firing.laser));
        let order = &mut self.order[first..];
        sort(lasers_of, lasers, &mut self.places, |index, place| order[place] = index as u32);
        first
    }
}

/// Sorts `keys`: for each key, calls `put` with the key's index and the key's position in sorted order. Equal keys keep
/// their order. Keys are below `count`; `places` is scratch memory.
fn sort(
    keys: impl Iterator<Item = usize> + Clone,
    count: usize,
    places: &mut Vec<u32>,
    mut put: impl FnMut(usize, usize),
) {
    places.clear();
    places.resize(count + 1, 0);
    keys.clone().for_each(|key| places[key + 1] += 1);
    for key in 0..count {
        places[key + 1] += places[key];
    }
    for (index, key) in keys.enumerate() {
        put(index, places[key] as usize);
        places[key] += 1;
    }
}
