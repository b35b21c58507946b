//! Scans on their way from the mirror to a telegram.

use super::mirror::{Mirror, Pattern};
use crate::sensors::fault::FaultEffect;
use crate::sensors::{Measurement, MeasurementRequest, PulseReturns, Return};
use crate::time::SimTime;

/// The revolutions of one telegram: which are asked for, which are measured, and what came of it.
#[derive(Debug)]
pub struct Capture {
    pattern: Pattern,
    first_revolution: u64,
    /// Index of the request for the first revolution, once asked for.
    first_request: u64,
    requested: u64,
    received: u64,
    samples: Vec<Sample>,
    fault_effects: Vec<FaultEffect>,
}

/// What was measured at one place of a scan, summed up over the telegram's scans.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample {
    range_m: f64,
    intensity: f64,
    echoes: u32,
}

/// Where a request's answer belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// To an earlier capture.
    Before,
    /// Here, and nothing was left out before it.
    Here,
    /// Here or later, and something this capture needs was left out.
    TooLate,
}

impl Capture {
    /// The telegram with the first scan that starts at `from` or later.
    pub fn starting_from(mirror: &Mirror, pattern: Pattern, from: SimTime) -> Self {
        let scan = mirror.first_from(from).div_ceil(pattern.revolutions_per_scan());
        Self::of_scan(pattern, scan)
    }

    /// The telegram that begins with scan `scan`.
    pub fn of_scan(pattern: Pattern, scan: u64) -> Self {
        Self {
            first_revolution: scan * pattern.revolutions_per_scan(),
            first_request: u64::MAX,
            requested: 0,
            received: 0,
            samples: vec![Sample::default(); pattern.values()],
            fault_effects: Vec::new(),
            pattern,
        }
    }

    /// What it consists of.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The number of its first scan.
    pub fn scan(&self) -> u64 {
        self.first_revolution / self.pattern.revolutions_per_scan()
    }

    /// The number of the revolution after its last.
    pub fn end_revolution(&self) -> u64 {
        self.first_revolution + self.pattern.revolutions()
    }

    /// When the mirror begins it.
    pub fn begins(&self, mirror: &Mirror) -> SimTime {
        mirror.start(self.first_revolution)
    }

    /// When the mirror has finished it.
    pub fn ends(&self, mirror: &Mirror) -> SimTime {
        mirror.start(self.end_revolution())
    }

    /// When its telegram may leave at the earliest.
    pub fn leaves(&self, mirror: &Mirror) -> SimTime {
        mirror.known_at(self.ends(mirror))
    }

    /// The shift of a partial scan, quarters of a degree.
    pub fn quarter(&self) -> u8 {
        if self.pattern.is_partial { self.pattern.quarter(self.first_revolution) } else { 0 }
    }

    /// The next revolution to measure if it starts before `horizon`, as request `index`.
    /// `None` in the outer option when all are asked for.
    pub fn poll_request(
        &mut self,
        mirror: &Mirror,
        index: u64,
        horizon: SimTime,
    ) -> Option<Option<MeasurementRequest>> {
        if self.requested == self.pattern.revolutions() {
            return None;
        }
        let number = self.first_revolution + self.requested;
        let request = mirror.request(index, number, &self.pattern);
        if request.start >= horizon {
            return Some(None);
        }
        if self.requested == 0 {
            self.first_request = index;
        }
        self.requested += 1;
        Some(Some(request))
    }

    /// Whether the answer to request `index` belongs here.
    pub fn belongs(&self, index: u64) -> Belongs {
        let expected = self.first_request.saturating_add(self.received);
        if self.is_measured() || index < expected {
            Belongs::Before
        } else if index == expected {
            Belongs::Here
        } else {
            Belongs::TooLate
        }
    }

    /// Takes the measurement of its next revolution with its returns; echoes for which `is_seen` does
    /// not hold are left out.
    pub fn add(
        &mut self,
        measurement: &Measurement,
        returns: &[PulseReturns],
        is_seen: impl Fn(&Return) -> bool,
    ) {
        self.fault_effects.extend(&measurement.fault_effects);
        let number = self.first_revolution + self.received;
        for (place, returns) in self.pattern.places(number).zip(returns) {
            let Some(echo) = returns.first.filter(&is_seen) else { continue };
            let Some(sample) = self.samples.get_mut(place) else { continue };
            sample.range_m += f64::from(echo.range_m);
            sample.intensity += f64::from(echo.intensity);
            sample.echoes += 1;
        }
        self.received += 1;
    }

    /// What faults did to its revolutions.
    pub fn fault_effects(&self) -> &[FaultEffect] {
        &self.fault_effects
    }

    /// Whether all revolutions are measured.
    pub fn is_measured(&self) -> bool {
        self.received == self.pattern.revolutions()
    }

    /// Range in metres and intensity at each place, from right to left, means over the telegram's
    /// scans.
    pub fn values(&self) -> impl Iterator<Item = Option<(f64, f64)>> {
        // Partial scans that start at a fraction of a degree are one shorter.
        let count = self.pattern.places(self.first_revolution).count();
        let count = if self.pattern.is_partial { count } else { self.samples.len() };
        self.samples[..count].iter().map(|sample| {
            let echoes = f64::from(sample.echoes);
            (sample.echoes > 0).then(|| (sample.range_m / echoes, sample.intensity / echoes))
        })
    }
}
