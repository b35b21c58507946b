//! Dust as spheres that rise, drift, grow and vanish. Their positions depend only on the time and the seed.

use std::sync::Arc;

use glam::DVec3;
use rand_xoshiro::SplitMix64;

use crate::config::rig::weather::DustConfig;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::sensors::weather::particles::uniform;
use crate::time::SimTime;
use crate::world::moving::MovingObject;

/// Interval at which positions are computed, ns. At 10 m/s, an object moves 1 cm per interval.
const TICK_NS: u64 = 1_000_000;
/// Standard gravity, m/s².
const GRAVITY_M_S2: f64 = 9.80665;

/// All sources of dust in a world.
pub(super) struct Plumes {
    sources: Vec<Source>,
    objects: Arc<[MovingObject]>,
}

struct Source {
    config: DustConfig,
    wind: DVec3,
    draws: NoiseSource,
}

/// A sphere of dust at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sphere {
    /// Centre of the sphere in the world, metres.
    pub centre: DVec3,
    /// Radius of the sphere, metres.
    pub radius_m: f64,
    /// Age of the sphere, seconds.
    pub age_s: f64,
    /// Extinction coefficient within the sphere, one way, 1/m.
    pub extinction_per_m: f64,
    /// Backscatter coefficient within the sphere, 1/(m sr).
    pub backscatter_per_m_sr: f64,
    /// Share of light, 0 to 1, that this sphere removes from a beam through its middle in MAVS's dust model.
    pub mavs_loss: f64,
}

/// Initial position and velocity of a sphere of dust.
#[derive(Clone, Copy, Debug)]
struct Birth {
    number: u64,
    position: DVec3,
    velocity: DVec3,
}

/// Spheres at all instants of a measurement request, cached by a measuring thread.
#[derive(Default)]
pub(super) struct Clouds {
    first_tick: u64,
    ticks: Vec<Vec<Cloud>>,
    /// Starts of spheres, kept from earlier requests. The indices are the source and the sphere's number modulo the
    /// list's length.
    births: Vec<Vec<Option<Birth>>>,
}

/// The spheres of a source at one instant.
#[derive(Default)]
pub(super) struct Cloud {
    /// Centre of a bounding ball around all spheres, World, metres.
    centre: DVec3,
    radius_m: f64,
    pub spheres: Vec<Sphere>,
}

impl Cloud {
    /// Whether a line from `origin` along the unit vector `direction` may meet a sphere.
    pub fn is_near(&self, origin: DVec3, direction: DVec3) -> bool {
        let to = self.centre - origin;
        let along = to.dot(direction);
        to.length_squared() - along * along <= self.radius_m * self.radius_m
            && along >= -self.radius_m
    }
}

impl Clouds {
    /// Removes all spheres; call it when the world changes.
    pub fn clear(&mut self) {
        self.ticks.clear();
        self.births.clear();
    }

    /// The clouds at `at`, which must be within the prepared interval.
    pub fn at(&self, at: SimTime) -> &[Cloud] {
        let tick = (at.0 / TICK_NS - self.first_tick) as usize;
        &self.ticks[tick]
    }
}

impl Plumes {
    /// The plumes of `dust` in a wind with the velocity `wind` (World, m/s). `objects` are the moving objects of the
    /// world.
    pub fn new(dust: &[DustConfig], wind: DVec3, seed: u64, objects: Arc<[MovingObject]>) -> Self {
        let source = |config: &DustConfig| Source {
            config: config.clone(),
            wind,
            // Device names contain no slash, so no device has these random numbers.
            draws: NoiseSource::new(seed, &format!("dust/{}", config.name)),
        };
        Self { sources: dust.iter().map(source).collect(), objects }
    }

    /// Whether there is no dust.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Computes the spheres of all instants from `start` to `end` into `clouds`.
    pub fn prepare(&self, start: SimTime, end: SimTime, clouds: &mut Clouds) {
        let (first, last) = (start.0 / TICK_NS, end.0 / TICK_NS);
        clouds.first_tick = first;
        clouds.births.resize_with(self.sources.len(), Vec::new);
        let wanted = (last - first + 1) as usize;
        clouds.ticks.resize_with(wanted.max(clouds.ticks.len()), Vec::new);
        for (tick, list) in (first..=last).zip(&mut clouds.ticks) {
            let at_s = (tick * TICK_NS) as f64 * 1e-9;
            list.resize_with(self.sources.len(), Cloud::default);
            for ((source, cloud), births) in self.sources.iter().zip(list).zip(&mut clouds.births) {
                source.cloud_at(at_s, &self.objects, births, cloud);
            }
        }
    }
}

impl Source {
    /// Number of the oldest sphere that exists at `at_s`, and of the next sphere to start.
    fn numbers_at(&self, at_s: f64) -> (u64, u64) {
        let since = at_s - self.config.start_s;
        if since < 0.0 {
            return (0, 0);
        }
        let rate = self.config.rate_per_s;
        let born = (since * rate).floor() as u64 + 1;
        let most = self.config.duration_s.map_or(u64::MAX, |s| (s * rate).ceil() as u64);
        let gone = (since - self.config.life_s) * rate;
        // A sphere vanishes exactly at the end of its lifetime.
        let gone = if gone < 0.0 { 0 } else { gone.floor() as u64 + 1 };
        (gone.min(most), born.min(most))
    }

    fn cloud_at(
        &self,
        at_s: f64,
        objects: &[MovingObject],
        births: &mut Vec<Option<Birth>>,
        cloud: &mut Cloud,
    ) {
        let (first, end) = self.numbers_at(at_s);
        let room = (self.config.life_s * self.config.rate_per_s).ceil() as usize + 2;
        births.resize(room, None);
        cloud.spheres.clear();
        for number in first..end {
            let place = (number % room as u64) as usize;
            let birth = match births[place] {
                Some(birth) if birth.number == number => birth,
                _ => *births[place].insert(self.birth(number, objects)),
            };
            cloud.spheres.push(self.sphere(&birth, at_s));
        }
        let [low, high] = cloud.spheres.iter().fold(
            [DVec3::INFINITY, DVec3::NEG_INFINITY],
            |[low, high], sphere| {
                let reach = DVec3::splat(sphere.radius_m);
                [low.min(sphere.centre - reach), high.max(sphere.centre + reach)]
            },
        );
        (cloud.centre, cloud.radius_m) = match cloud.spheres.is_empty() {
            true => (DVec3::ZERO, -1.0),
            false => (0.5 * (low + high), 0.5 * (high - low).length()),
        };
    }

    fn born_s(&self, number: u64) -> f64 {
        self.config.start_s + number as f64 / self.config.rate_per_s
    }

    fn birth(&self, number: u64, objects: &[MovingObject]) -> Birth {
        let mut random = self.draws.request(number).stream(0, Quantity::DustSphere);
        let place = DVec3::from_array(self.config.position_m);
        let place = match self.config.object {
            None => place,
            Some(object) => {
                let pose = objects[object].pose(SimTime::from_secs_f64(self.born_s(number)));
                pose.rotation * place + pose.translation
            }
        };
        Birth {
            number,
            position: place + cube(&mut random, self.config.source_radius_m),
            velocity: DVec3::from_array(self.config.velocity_m_s)
                + cube(&mut random, self.config.spread_m_s)
                + self.wind,
        }
    }

    fn sphere(&self, birth: &Birth, at_s: f64) -> Sphere {
        let config = &self.config;
        let age_s = (at_s - self.born_s(birth.number)).clamp(0.0, config.life_s);
        let fall_m = 0.5 * config.gravity * GRAVITY_M_S2 * age_s * age_s;
        let radius_m = config.radius_m + config.growth_m_s * age_s;
        // The amount of dust in a growing sphere is constant: the optical depth through its middle is inversely
        // proportional to its cross-section.
        let thinned = config.radius_m / radius_m;
        let depth = -libm::log(config.transmission) * thinned * thinned;
        let extinction_per_m = depth / (2.0 * radius_m);
        Sphere {
            centre: birth.position + birth.velocity * age_s - DVec3::Z * fall_m,
            radius_m,
            age_s,
            extinction_per_m,
            backscatter_per_m_sr: extinction_per_m / config.lidar_ratio_sr,
            mavs_loss: (1.0 - config.transmission) * (1.0 - age_s / config.life_s),
        }
    }
}

/// Random point with a uniform distribution in a cube around zero with edges of 2 `half_edge`.
fn cube(random: &mut SplitMix64, half_edge: f64) -> DVec3 {
    let mut draw = || half_edge * (2.0 * uniform(random) - 1.0);
    DVec3::new(draw(), draw(), draw())
}
