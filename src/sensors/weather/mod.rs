//! Effect of weather on a pulse between lidar and target: weather attenuates the light, and also returns light.
//!
//! The input is the pulse's light from surfaces as [`Backscatter`]s. The output is this light after attenuation, and the
//! light of drops, flakes, fog and dust. The detector computes echoes from all of this light, so that a soft echo can hide
//! or precede a hard one. `docs/PHYSICS.md` has the equations with their sources.

mod dust;
mod fog;
mod optics;
mod particles;
mod plumes;
mod rain;
mod snow;
mod soft;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use glam::DVec3;

use self::dust::{Crossing, depth_to};
use self::fog::Medium;
pub use self::optics::AirOptics;
use self::optics::Overlap;
use self::particles::{InBeam, uniform};
use self::plumes::{Clouds, Plumes};
use self::soft::SoftEcho;
use super::noise::{Quantity, RequestNoise};
use super::receiver::Backscatter;
use super::surfaces::wet_reflectance;
use crate::config::rig::weather::{DustLaw, WeatherConfig};
use crate::time::SimTime;
use crate::world::moving::MovingObject;
use crate::world::raycast::{Hit, RayCaster};

/// The weather of a world. Shared by all threads.
pub struct Weather {
    /// Number that identifies this weather in the threads' caches; never 0.
    id: u64,
    config: WeatherConfig,
    extinction_per_m: f64,
    /// Water film on all surfaces: the share of a surface's texture depth that is filled with water, 0..=1.
    film: f32,
    overlap: Overlap,
    plumes: Plumes,
    beams: RwLock<Vec<(AirOptics, Arc<BeamAir>)>>,
}

/// The `id` of the next [`Weather`]. It starts at 1, because 0 in a cache means that the cache is not in use.
static COUNT: AtomicU64 = AtomicU64::new(1);

/// A thread's cache of the weather during a measurement.
#[derive(Default)]
pub struct AirScratch {
    weather: u64,
    clouds: Clouds,
    crossings: Vec<Crossing>,
}

/// The weather in the beam of one lidar.
struct BeamAir {
    rain: Option<InBeam>,
    snow: Option<InBeam>,
    soft: SoftEcho,
}

/// The weather for one request of a lidar.
pub struct Air<'w> {
    weather: &'w Weather,
    beam: Arc<BeamAir>,
}

/// A pulse on its path through the air.
#[derive(Clone, Copy)]
pub struct Flight<'a> {
    /// Origin of ranges, World, metres.
    pub origin: DVec3,
    /// Unit vector along the beam.
    pub direction: DVec3,
    /// Firing time of the pulse.
    pub at: SimTime,
    /// Random numbers of the pulse's request.
    pub noise: &'a RequestNoise,
    /// Index of the firing in the request.
    pub firing: usize,
    /// For each ray, the distance of the surface that stops it, and the ray's share of the pulse's energy.
    pub stops: &'a [Stop],
}

/// The end of a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Distance of the hit, metres; infinite if nothing is hit.
    pub range_m: f32,
    /// The ray's share of the pulse's energy, 0..=1.
    pub share: f32,
}

/// Extinction coefficient of fog, rain and snow together, one way, 1/m; dust is not included.
pub fn extinction_per_m(config: &WeatherConfig) -> f64 {
    let fog = config.fog.as_ref().map_or(0.0, |fog| fog::medium(fog).extinction_per_m);
    let rain = config.rain.as_ref().map_or(0.0, rain::extinction_per_m);
    let snow = config.snow.as_ref().map_or(0.0, |snow| snow::flakes(snow).extinction_per_m());
    fog + rain + snow
}

impl Weather {
    /// Weather of a rig with the seed `seed`. `objects` are the moving objects of its world, which may raise dust.
    pub fn new(config: &WeatherConfig, seed: u64, objects: Arc<[MovingObject]>) -> Self {
        let wind = DVec3::from_array(config.wind_m_s);
        let [begins_m, complete_m] = config.overlap_m;
        Self {
            id: COUNT.fetch_add(1, Ordering::Relaxed),
            config: config.clone(),
            extinction_per_m: extinction_per_m(config),
            film: config.rain.as_ref().map_or(0.0, rain::film) as f32,
            overlap: Overlap { begins_m, complete_m },
            plumes: Plumes::new(&config.dust, wind, seed, objects),
            beams: RwLock::default(),
        }
    }

    /// Weather for one request of a lidar, with the first pulse fired at `start` and the last one at `end`.
    pub fn around(
        &self,
        optics: &AirOptics,
        start: SimTime,
        end: SimTime,
        scratch: &mut AirScratch,
    ) -> Air<'_> {
        if scratch.weather != self.id {
            scratch.weather = self.id;
            scratch.clouds.clear();
        }
        if !self.plumes.is_empty() {
            self.plumes.prepare(start, end, &mut scratch.clouds);
        }
        Air { weather: self, beam: self.beam(optics) }
    }

    /// Standard deviation of ranges in rain, divided by the range; `None` if the weather changes no ranges.
    pub fn range_error(&self) -> Option<f64> {
        self.config.rain.as_ref().and_then(rain::range_error)
    }

    /// Whether there is rain, fog or snow, which hides the sun.
    pub fn is_overcast(&self) -> bool {
        let WeatherConfig { rain, fog, snow, .. } = &self.config;
        rain.is_some() || fog.is_some() || snow.is_some()
    }

    /// Water film on all surfaces: the share of a surface's texture depth that is filled with water, 0 to 1.
    pub fn film(&self) -> f32 {
        self.film
    }

    /// Computes the dust of all instants from `start` to `end` into `scratch`.
    pub fn prepare_dust(&self, start: SimTime, end: SimTime, scratch: &mut AirScratch) {
        if !self.plumes.is_empty() {
            self.plumes.prepare(start, end, &mut scratch.clouds);
        }
    }

    /// One-way optical depths of a line of sight up to `range_m`. The first is that of fog, rain and snow, the second
    /// that of dust. [`Weather::prepare_dust`] must have prepared `scratch`.
    pub fn optical_depths(
        &self,
        origin: DVec3,
        direction: DVec3,
        at: SimTime,
        range_m: f32,
        scratch: &mut AirScratch,
    ) -> [f64; 2] {
        let range = f64::from(range_m);
        let even = self.extinction_per_m * range;
        if self.plumes.is_empty() {
            return [even, 0.0];
        }
        let AirScratch { clouds, crossings, .. } = scratch;
        crossings.clear();
        dust::cross(clouds.at(at), origin, direction, range, crossings);
        [even, depth_to(range, crossings)]
    }

    /// Darkens the diffuse surfaces in `hits` by their water film.
    pub fn wet(&self, caster: &dyn RayCaster, hits: &mut [Hit]) {
        if self.film == 0.0 {
            return;
        }
        let finishes = caster.finishes();
        let is_matt = |hit: &Hit| finishes.is_none_or(|all| all.material(hit).is_none());
        for hit in hits.iter_mut().filter(|hit| hit.range_m.is_finite()) {
            if is_matt(hit) {
                hit.reflectance = wet_reflectance(hit.reflectance, hit.cos_incidence, self.film);
            }
        }
    }

    /// Effect of the weather on beams with `optics`, cached for each kind of beam.
    fn beam(&self, optics: &AirOptics) -> Arc<BeamAir> {
        let known = |beams: &[(AirOptics, Arc<BeamAir>)]| {
            let same = beams.iter().find(|(known, _)| known == optics);
            same.map(|(_, beam)| Arc::clone(beam))
        };
        let beams = self.beams.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(beam) = known(&beams) {
            return beam;
        }
        drop(beams);
        let beam = Arc::new(BeamAir::new(self, optics));
        let mut beams = self.beams.write().unwrap_or_else(PoisonError::into_inner);
        known(&beams).unwrap_or_else(|| {
            beams.push((*optics, Arc::clone(&beam)));
            beam
        })
    }
}

impl BeamAir {
    fn new(weather: &Weather, optics: &AirOptics) -> Self {
        let WeatherConfig { rain, fog, snow, .. } = &weather.config;
        let all = weather.extinction_per_m;
        let medium = fog.as_ref().map_or(Medium::default(), fog::medium);
        let in_beam = |particles| InBeam::new(particles, optics, weather.overlap, all);
        Self {
            rain: rain.filter(|rain| rain.drops).map(|rain| in_beam(rain::drops(&rain))),
            snow: snow.filter(|snow| snow.flakes).map(|snow| in_beam(snow::flakes(&snow))),
            soft: SoftEcho::new(medium, all, optics, weather.overlap),
        }
    }
}

impl Flight<'_> {
    /// Distance of the nearest surface, metres; infinite if there is none.
    fn nearest_m(&self) -> f32 {
        self.stops.iter().fold(f32::INFINITY, |nearest, stop| nearest.min(stop.range_m))
    }

    /// Share of the pulse's energy that lights the air between the distances `from_m` and `to_m`, without losses in the
    /// air. A ray that hits a surface between the two distances counts in proportion to its length from `from_m` on.
    fn lit(&self, from_m: f64, to_m: f64) -> f32 {
        let reach = |stop: &Stop| {
            let part = (f64::from(stop.range_m) - from_m) / (to_m - from_m);
            stop.share * part.clamp(0.0, 1.0) as f32
        };
        self.stops.iter().map(reach).sum()
    }

    /// Distance at which one ray ends, metres. The ray is chosen at random, with the rays' shares of the energy as
    /// probabilities; `rank` is a uniform random number in 0..1.
    fn ray_end_m(&self, rank: f64) -> f32 {
        let all: f32 = self.stops.iter().map(|stop| stop.share).sum();
        let mut left = rank as f32 * all;
        let chosen = self.stops.iter().find(|stop| {
            left -= stop.share;
            left < 0.0
        });
        chosen.or(self.stops.last()).map_or(f32::INFINITY, |stop| stop.range_m)
    }
}

impl Air<'_> {
    /// Applies the weather to a pulse: attenuates `light` from surfaces, and adds the light that the air returns. Returns
    /// the number of entries at the start of `light` that come from surfaces: all previous entries, or 0 if the return of
    /// dust has replaced them.
    pub fn act(
        &self,
        flight: &Flight<'_>,
        scratch: &mut AirScratch,
        light: &mut Vec<Backscatter>,
    ) -> usize {
        let surfaces = light.len();
        self.shift_ranges(flight, light);
        let AirScratch { clouds, crossings, .. } = scratch;
        crossings.clear();
        if !self.weather.plumes.is_empty() {
            let farthest = flight.stops.iter().fold(0.0f32, |far, stop| far.max(stop.range_m));
            let (from, along) = (flight.origin, flight.direction);
            dust::cross(clouds.at(flight.at), from, along, f64::from(farthest), crossings);
        }
        if self.weather.config.dust_law == DustLaw::Mavs {
            let chance = || uniform(&mut flight.noise.stream(flight.firing, Quantity::DustReturn));
            if let Some(dust) = dust::mavs_return(crossings, flight.nearest_m(), chance) {
                light.clear();
                light.push(dust);
                return 0;
            }
            crossings.clear();
        }
        self.dim(crossings, light);
        self.add_particles(flight, crossings, light);
        if crossings.is_empty() {
            self.add_uniform(flight, light);
        } else {
            self.add_dust(flight, crossings, light);
        }
        surfaces
    }

    /// Multiplies all ranges of the pulse by one random factor, the range error in rain of Goodin et al. 2019.
    fn shift_ranges(&self, flight: &Flight<'_>, light: &mut [Backscatter]) {
        let Some(share) = self.weather.range_error() else { return };
        let draw = flight.noise.standard_normal(flight.firing, Quantity::RainRange);
        let factor = (1.0 + share * draw) as f32;
        light.iter_mut().for_each(|place| place.range_m *= factor);
    }

    fn dim(&self, crossings: &[Crossing], light: &mut [Backscatter]) {
        let uniform = self.weather.extinction_per_m;
        if uniform == 0.0 && crossings.is_empty() {
            return;
        }
        for place in light {
            let range = f64::from(place.range_m);
            let depth = uniform * range + depth_to(range, crossings);
            place.reflectance *= libm::expf(-2.0 * depth as f32);
        }
    }

    /// Adds the light of drops and flakes that are not behind a surface.
    fn add_particles(
        &self,
        flight: &Flight<'_>,
        crossings: &[Crossing],
        light: &mut Vec<Backscatter>,
    ) {
        let kinds =
            [(&self.beam.rain, Quantity::RainDrops), (&self.beam.snow, Quantity::SnowFlakes)];
        for (kind, quantity) in kinds {
            let Some(kind) = kind else { continue };
            let mut random = flight.noise.stream(flight.firing, quantity);
            kind.draw(&mut random, |particle, random| {
                if flight.ray_end_m(uniform(random)) <= particle.range_m as f32 {
                    return;
                }
                let dust = libm::exp(-2.0 * depth_to(particle.range_m, crossings));
                light.push(Backscatter {
                    range_m: particle.range_m as f32,
                    reflectance: (particle.reflectance * dust) as f32,
                });
            });
        }
    }

    /// Adds the soft echo of air without dust.
    fn add_uniform(&self, flight: &Flight<'_>, light: &mut Vec<Backscatter>) {
        let SoftEcho { stretches, uniform, quiet_m, alone, .. } = &self.beam.soft;
        let Some(alone) = alone else { return };
        let is_far = |range_m: f32| f64::from(range_m) >= *quiet_m;
        if is_far(flight.nearest_m()) && light[..].iter().all(|place| is_far(place.range_m)) {
            light.push(*alone);
            return;
        }
        for stretch in &stretches[..*uniform] {
            let share = flight.lit(stretch.from_m, stretch.to_m);
            if share <= 0.0 {
                return;
            }
            let Backscatter { range_m, reflectance } = stretch.uniform;
            light.push(Backscatter { range_m, reflectance: share * reflectance });
        }
    }

    /// Adds the soft echo of air with dust.
    fn add_dust(&self, flight: &Flight<'_>, crossings: &[Crossing], light: &mut Vec<Backscatter>) {
        let SoftEcho { stretches, uniform, least_per_m, .. } = &self.beam.soft;
        let end_m = crossings.iter().fold(0.0f64, |end, crossing| end.max(crossing.leave_m));
        for (index, stretch) in stretches.iter().enumerate() {
            if index >= *uniform && stretch.from_m >= end_m {
                return;
            }
            let share = flight.lit(stretch.from_m, stretch.to_m);
            if share <= 0.0 {
                return;
            }
            let (mut sum, mut moment) = (0.0, 0.0);
            for crossing in crossings {
                let from = crossing.enter_m.max(stretch.from_m);
                let to = crossing.leave_m.min(stretch.to_m);
                if to > from {
                    let part = crossing.backscatter_per_m_sr * (to - from);
                    sum += part;
                    moment += part * 0.5 * (from + to);
                }
            }
            let length = stretch.to_m - stretch.from_m;
            let dust = stretch.per_coefficient * stretch.passed * sum / length;
            let air = if index < *uniform { f64::from(stretch.uniform.reflectance) } else { 0.0 };
            if sum == 0.0 && air == 0.0 {
                continue;
            }
            let range_m = match dust > 0.0 {
                true => (dust * moment / sum + air * stretch.range_m) / (dust + air),
                false => stretch.range_m,
            };
            let passed = libm::exp(-2.0 * depth_to(range_m, crossings));
            let reflectance = (dust + air) * passed;
            if reflectance > least_per_m * length * range_m * range_m {
                light.push(Backscatter {
                    range_m: range_m as f32,
                    reflectance: share * reflectance as f32,
                });
            }
        }
    }
}
