//! Ground truth of a lidar's sweep, recorded while the sweep is measured.

use std::sync::Arc;

use super::{Lidar, Received, Reception};
use crate::frames::{Sensor, Transform, World};
use crate::sensors::fault::FaultEffect;
use crate::sensors::noise::{Quantity, RequestNoise};
use crate::sensors::receiver::Backscatter;
use crate::sensors::surfaces::Glimpse;
use crate::sensors::truth::{FiringTruth, Origin, Part, ReturnTruth, Sources, SweepTruth, Why};
use crate::sensors::{Measurement, MeasurementRequest, Outcome, Sweep};
use crate::time::SimTime;
use crate::world::raycast::Hit;

/// Result of measuring a sweep: received echoes of each firing, effects of faults, ground truth if it is recorded, and
/// the watched objects with a return.
pub(super) struct Fired<T> {
    pub received: Vec<T>,
    pub fault_effects: Vec<FaultEffect>,
    pub truth: Option<Arc<SweepTruth>>,
    pub seen: u64,
}

impl<T> Default for Fired<T> {
    fn default() -> Self {
        Self { received: Vec::new(), fault_effects: Vec::new(), truth: None, seen: 0 }
    }
}

impl<T> Fired<T> {
    /// Converts the result to the measurement for `request`. `outcome` receives the echoes of all firings.
    pub fn into_measurement(
        self,
        request: MeasurementRequest,
        outcome: impl Fn(Vec<T>) -> Outcome,
    ) -> Measurement {
        let Self { received, fault_effects, truth, seen } = self;
        Measurement { fault_effects, truth, seen, ..Measurement::new(request, outcome(received)) }
    }
}

impl Origin {
    /// Origin of light from a diffuse surface that was hit directly, in clear air.
    pub(super) fn of(light: &Backscatter, hit: &Hit) -> Self {
        Self {
            range_m: hit.range_m,
            reflectance: light.reflectance,
            instance: hit.instance,
            material: hit.material,
            cos_incidence: hit.cos_incidence,
            is_mirrored: false,
        }
    }

    /// Origin of light from a point that is visible, possibly through glass or in a mirror.
    pub(super) fn seen(light: &Backscatter, glimpse: &Glimpse) -> Self {
        Self {
            range_m: glimpse.range_m,
            reflectance: light.reflectance,
            instance: glimpse.instance,
            material: glimpse.material,
            cos_incidence: glimpse.cos_incidence,
            is_mirrored: glimpse.is_mirrored,
        }
    }
}

/// Records the ground truth of a sweep while the sweep is measured.
pub(super) struct TruthKeeper<'a> {
    lidar: &'a Lidar,
    truth: SweepTruth,
    /// Scratch memory.
    parts: Vec<Part>,
}

impl<'a> TruthKeeper<'a> {
    /// Starts recording the ground truth of `sweep`, which starts at `start`. `poses` are the sensor's poses during
    /// the sweep, each with its offset from `start`, nanoseconds.
    pub fn new(
        lidar: &'a Lidar,
        start: SimTime,
        sweep: &Sweep,
        noise: &RequestNoise,
        poses: Vec<(u32, Transform<World, Sensor>)>,
    ) -> Self {
        let firings = sweep.firings.iter().enumerate().map(|(index, firing)| {
            let laser = &lidar.lasers[usize::from(firing.laser)];
            let off = |std, quantity| super::aim::error(std, noise, index, quantity);
            let (aimed_azimuth_rad, aimed_elevation_rad) = sweep.aim(index);
            let azimuth_rad = aimed_azimuth_rad
                + laser.azimuth_offset_rad
                + off(lidar.settings.azimuth_std_rad, Quantity::Azimuth);
            let elevation_rad = aimed_elevation_rad
                + laser.elevation_rad
                + off(lidar.settings.elevation_std_rad, Quantity::Elevation);
            FiringTruth {
                offset_ns: firing.offset_ns,
                azimuth_rad: azimuth_rad.rem_euclid(std::f64::consts::TAU) as f32,
                elevation_rad: elevation_rad as f32,
                laser: firing.laser,
            }
        });
        let firings: Vec<_> = firings.collect();
        let returns = Vec::with_capacity(firings.len() + firings.len() / 4);
        Self { lidar, truth: SweepTruth { start, poses, firings, returns }, parts: Vec::new() }
    }

    /// Records the echoes of a firing. `reported` has them as the device reports them. `detected` has them without
    /// errors, and without faults that block all light.
    pub fn note<T: Received>(
        &mut self,
        sources: &Sources<'_>,
        reception: &Reception<'_>,
        detected: &T,
        reported: &T,
    ) {
        let before = self.truth.returns.len();
        let firing = reception.firing as u32;
        for (slot, (echo, clean)) in reported.slots().zip(detected.slots()).enumerate() {
            let (Some(echo), Some(clean)) = (echo, clean) else { continue };
            let slots = 1u8 << slot;
            let same = |known: &&mut ReturnTruth| known.reported_m == echo.range_m;
            if let Some(known) = self.truth.returns[before..].iter_mut().find(same) {
                known.slots |= slots;
                continue;
            }
            let seen = sources.of_echo(clean.range_m, &mut self.parts);
            let why = self.why(sources, reception, clean.range_m, &seen);
            let reported_m = echo.range_m;
            self.truth.returns.push(ReturnTruth { firing, reported_m, slots, why, ..seen });
        }
        if self.truth.returns.len() == before {
            let is_dark = detected.slots().any(|echo| echo.is_some());
            let missing = self.missing(sources, reception, is_dark);
            self.truth.returns.push(ReturnTruth { firing, ..missing });
        }
    }

    /// Reason why the echo at `range_m` comes from another origin than the nearest surface; [`Why::Nearest`] if it
    /// comes from the nearest surface.
    fn why(
        &self,
        sources: &Sources<'_>,
        reception: &Reception<'_>,
        range_m: f32,
        seen: &ReturnTruth,
    ) -> Why {
        if seen.is_air() {
            return Why::Weather;
        }
        let Some(nearest) = sources.nearest() else { return Why::Nearest };
        if (nearest.range_m - range_m).abs() < sources.width_m || nearest.range_m >= seen.true_m {
            let is_it = (nearest.instance, nearest.material) == (seen.instance, seen.material);
            let is_level = nearest.range_m >= seen.true_m;
            return if is_it || is_level { Why::Nearest } else { Why::Merged };
        }
        let [signal, clear] =
            sources.signals_at(nearest.range_m).map(|signal| signal * reception.light);
        let reports =
            |signal| self.lidar.receiver.reports(nearest.range_m, signal, reception.setting);
        let echoes = self.lidar.receiver.echoes(sources.scatter, reception);
        let near = |range_m: f32| (nearest.range_m - range_m).abs() < sources.width_m;
        if echoes.as_slice().iter().any(|echo| near(echo.range_m)) {
            Why::OtherEcho
        } else if reports(signal) {
            Why::Noise
        } else if reports(clear) {
            Why::Weather
        } else {
            Why::Threshold
        }
    }

    /// Ground truth of a firing without a reported return, with the reason. `is_dark`: the detected echoes were lost to
    /// a fault.
    fn missing(
        &self,
        sources: &Sources<'_>,
        reception: &Reception<'_>,
        is_dark: bool,
    ) -> ReturnTruth {
        let Some(nearest) = sources.nearest() else { return ReturnTruth::MISSING };
        let [signal, clear] = sources.signals_at(nearest.range_m);
        let reports =
            |signal| self.lidar.receiver.reports(nearest.range_m, signal, reception.setting);
        let why = if is_dark || reception.light < 1.0 && reports(signal) {
            Why::Fault
        } else if reports(signal * reception.light) {
            Why::Noise
        } else if reports(clear * reception.light) {
            Why::Weather
        } else {
            Why::Threshold
        };
        ReturnTruth::unreported(nearest, why)
    }

    /// The ground truth of all firings, in the order of the request.
    pub fn finish(mut self) -> SweepTruth {
        // Firings were sorted by laser. The returns of each firing keep their order, from the first echo to the last.
        let returns = &self.truth.returns;
        let mut sorted = vec![ReturnTruth::MISSING; returns.len()];
        let firings = returns.iter().map(|one| one.firing as usize);
        let count = self.truth.firings.len();
        super::sort(firings, count, &mut Vec::new(), |index, place| sorted[place] = returns[index]);
        self.truth.returns = sorted;
        self.truth
    }
}
