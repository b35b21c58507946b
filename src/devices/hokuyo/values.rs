//! Encoding of a measured revolution.

use std::ops::RangeInclusive;

use super::profile::{ClusterRule, EchoChoice, EchoOrder, HokuyoProfile};
use crate::PacketTruth;
use crate::sensors::fault::FaultEffect;
use crate::sensors::{Echoes, Return};
use crate::wire::scip::scan::{Echo, ScanData, ScanFormat, Step};

/// Steps that a host requests, and the format of their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Format of a value.
    pub format: ScanFormat,
    /// First and last step.
    pub steps: RangeInclusive<u32>,
    /// Number of adjacent steps that the scanner reports as one value.
    pub cluster: u32,
}

impl Wanted {
    /// Number of values in a scan.
    pub fn values(&self) -> usize {
        ((self.steps.end() - self.steps.start()) / self.cluster.max(1) + 1) as usize
    }

    /// Range of steps to measure, within the measurable steps; at least one step.
    pub fn measured(&self, profile: &HokuyoProfile) -> RangeInclusive<u32> {
        let (least, most) = (profile.steps.first, profile.steps.last);
        (*self.steps.start()).clamp(least, most)..=(*self.steps.end()).clamp(least, most)
    }
}

/// One measured revolution.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Number of the revolution since power-on.
    pub revolution: u64,
    /// The first step that was measured.
    pub first_step: u32,
    /// Echoes of each step.
    pub echoes: Vec<Echoes>,
    /// Effects of faults on the scan.
    pub fault_effects: Vec<FaultEffect>,
    /// Ground truth of the scan's returns.
    pub truth: PacketTruth,
}

/// Encodes a scan; returns its data and the number of values that are distances.
pub fn scan_data(
    profile: &HokuyoProfile,
    wanted: &Wanted,
    scan: &Scan,
    time_ms: u32,
) -> (ScanData, u32) {
    let cluster = wanted.cluster.max(1);
    let end = *wanted.steps.end();
    let starts = wanted.steps.clone().step_by(cluster as usize);
    let steps: Vec<Step> = starts
        .map(|start| {
            let first = value(profile, wanted.format, scan, start);
            let others = start + 1..=(start + cluster - 1).min(end);
            match profile.distances.cluster {
                ClusterRule::First => first,
                ClusterRule::Minimum => others
                    .map(|step| value(profile, wanted.format, scan, step))
                    .fold(first, |least, other| nearer(profile, least, other)),
            }
        })
        .collect();
    let is_distance = |step: &&Step| step.first.distance >= profile.distances.min_mm;
    let points = steps.iter().filter(is_distance).count() as u32;
    (ScanData { time_ms, steps }, points)
}

/// Returns the value with the shorter distance, of two values of a cluster. Error codes do not count as distances; if
/// neither value is a distance, returns `one`.
fn nearer(profile: &HokuyoProfile, one: Step, other: Step) -> Step {
    let distance = |step: &Step| match least(step) {
        distance if distance >= profile.distances.min_mm => distance,
        _ => u32::MAX,
    };
    if distance(&other) < distance(&one) { other } else { one }
}

fn least(step: &Step) -> u32 {
    let others = step.others.iter().map(|echo| echo.distance);
    others.fold(step.first.distance, u32::min)
}

fn value(profile: &HokuyoProfile, format: ScanFormat, scan: &Scan, step: u32) -> Step {
    let code = |distance: u32| Step { first: Echo { distance, intensity: 0 }, others: Vec::new() };
    let steps = &profile.steps;
    let place = step.checked_sub(scan.first_step).map(|place| place as usize);
    let seen = match place.and_then(|place| scan.echoes.get(place)) {
        Some(echoes) if (steps.first..=steps.last).contains(&step) => echoes.as_slice(),
        _ => return code(profile.distances.not_measured),
    };
    let echo = |seen: &Return| sent(profile, format, seen);
    let seen = &seen[..seen.len().min(profile.echoes.count)];
    if !format.has_echoes {
        let strength = |one: &&Return, other: &&Return| one.signal.total_cmp(&other.signal);
        let one = match profile.echoes.single {
            EchoChoice::First => seen.first(),
            EchoChoice::Last => seen.last(),
            // Among equal echoes the nearest is selected.
            EchoChoice::Strongest => seen.iter().rev().max_by(strength),
        };
        return one.map_or_else(
            || code(profile.distances.no_echo),
            |seen| Step { first: echo(seen), others: Vec::new() },
        );
    }
    let mut all: Vec<&Return> = seen.iter().collect();
    match profile.echoes.order {
        EchoOrder::NearToFar => {}
        EchoOrder::FarToNear => all.reverse(),
        EchoOrder::StrongestFirst => all.sort_by(|one, other| other.signal.total_cmp(&one.signal)),
    }
    match all.split_first() {
        None => code(profile.distances.no_echo),
        Some((first, others)) => {
            Step { first: echo(first), others: others.iter().map(|seen| echo(seen)).collect() }
        }
    }
}

fn sent(profile: &HokuyoProfile, format: ScanFormat, seen: &Return) -> Echo {
    let distances = &profile.distances;
    let distance = match (f64::from(seen.range_m) * 1000.0).round() {
        mm if mm < f64::from(distances.min_mm) => distances.too_near,
        mm if mm > f64::from(distances.max_mm) => distances.no_echo,
        mm => mm as u32,
    };
    let intensity = if format.has_intensity { counts(profile, seen) } else { 0 };
    Echo { distance, intensity }
}

/// Intensity in counts; see [`super::profile::IntensityScale`].
fn counts(profile: &HokuyoProfile, seen: &Return) -> u32 {
    let scale = &profile.intensity;
    let nearness = scale.at_m / f64::from(seen.range_m).max(1e-3);
    let light = f64::from(seen.intensity).max(0.0) * libm::pow(nearness, scale.falloff);
    let counts = scale.white * libm::pow(light, scale.power);
    counts.round().clamp(0.0, f64::from(scale.largest)) as u32
}
