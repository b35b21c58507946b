//! Measurement of the scans of a telegram.

use super::mirror::{HeldUntil, Mirror, Pattern};
use crate::PacketTruth;
use crate::sensors::fault::FaultEffect;
use crate::sensors::receiver::ReceiverSetting;
use crate::sensors::{Measurement, MeasurementRequest, PulseReturns};
use crate::time::SimTime;

/// Measurement for one telegram: the revolutions requested and received so far, and their values.
#[derive(Debug)]
pub struct Capture {
    pattern: Pattern,
    first_revolution: u64,
    /// Index of the request for the first revolution; `u64::MAX` before this request.
    first_request: u64,
    requested: u64,
    received: u64,
    samples: Vec<Sample>,
    fault_effects: Vec<FaultEffect>,
    truth: PacketTruth,
}

/// Sums of range, intensity and signal in one direction over the scans of a telegram, and the number of echoes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample {
    range_m: f64,
    intensity: f64,
    signal: f64,
    echoes: u32,
}

/// Values at one position of a telegram: means over its scans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Range, metres.
    pub range_m: f64,
    /// Intensity as in [`crate::sensors::Return::intensity`].
    pub intensity: f64,
    /// Signal as in [`crate::sensors::Return::signal`].
    pub signal: f64,
}

/// Relation of a measurement to a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// The measurement belongs to an earlier capture, or this capture is already complete.
    Before,
    /// The measurement is the next one that this capture needs.
    Here,
    /// The capture is incomplete: a request that it needs was revoked.
    TooLate,
}

impl Capture {
    /// Capture of the earliest telegram whose first scan starts at or after `from`.
    pub fn starting_from(mirror: &Mirror, pattern: Pattern, from: SimTime) -> Self {
        let scan = mirror.first_from(from).div_ceil(pattern.revolutions_per_scan());
        Self::of_scan(pattern, scan)
    }

    /// Capture of the telegram that begins with scan number `scan`.
    pub fn of_scan(pattern: Pattern, scan: u64) -> Self {
        Self {
            first_revolution: scan * pattern.revolutions_per_scan(),
            first_request: u64::MAX,
            requested: 0,
            received: 0,
            samples: vec![Sample::default(); pattern.values()],
            fault_effects: Vec::new(),
            truth: PacketTruth::default(),
            pattern,
        }
    }

    /// Pattern of the revolutions that the telegram consists of.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Number of the first scan.
    pub fn scan(&self) -> u64 {
        self.first_revolution / self.pattern.revolutions_per_scan()
    }

    /// Number of the revolution after the last one.
    pub fn end_revolution(&self) -> u64 {
        self.first_revolution + self.pattern.revolutions()
    }

    /// End of the last revolution.
    pub fn ends(&self, mirror: &Mirror) -> SimTime {
        mirror.start(self.end_revolution())
    }

    /// Earliest time at which the telegram can leave.
    pub fn leaves(&self, mirror: &Mirror) -> SimTime {
        mirror.known_at(self.ends(mirror))
    }

    /// Angular shift of a partial scan, quarters of a degree; 0 for other scans.
    pub fn quarter(&self) -> u8 {
        if self.pattern.is_partial { self.pattern.quarter(self.first_revolution) } else { 0 }
    }

    /// Whether all revolutions have been requested.
    pub fn is_asked_for(&self) -> bool {
        self.requested == self.pattern.revolutions()
    }

    /// If the mirror is below full speed at any time in the next revolution to measure: the time at which it is back at
    /// full speed. Otherwise `None`.
    pub fn held_next(&self, mirror: &Mirror) -> Option<HeldUntil> {
        let number = self.first_revolution + self.requested;
        mirror.held_between(mirror.start(number), mirror.start(number + 1))
    }

    /// The next revolution to measure, as request `index`, if one starts before `horizon`.
    pub fn poll_request(
        &mut self,
        mirror: &Mirror,
        receiver: ReceiverSetting,
        index: u64,
        horizon: SimTime,
    ) -> Option<MeasurementRequest> {
        if self.is_asked_for() {
            return None;
        }
        let number = self.first_revolution + self.requested;
        let request = mirror.request(index, number, &self.pattern, receiver);
        if request.start >= horizon {
            return None;
        }
        if self.requested == 0 {
            self.first_request = index;
        }
        self.requested += 1;
        Some(request)
    }

    /// Relation of the measurement for request `index` to this capture.
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

    /// Adds the measurement of the next revolution.
    pub fn add(&mut self, measurement: &Measurement, returns: &[PulseReturns]) {
        self.fault_effects.extend(&measurement.fault_effects);
        self.truth.sweeps.extend(measurement.truth.clone());
        let number = self.first_revolution + self.received;
        for (place, returns) in self.pattern.places(number).zip(returns) {
            let Some(echo) = returns.first else { continue };
            let Some(sample) = self.samples.get_mut(place) else { continue };
            sample.range_m += f64::from(echo.range_m);
            sample.intensity += f64::from(echo.intensity);
            sample.signal += f64::from(echo.signal);
            sample.echoes += 1;
        }
        self.received += 1;
    }

    /// Effects of faults on the revolutions.
    pub fn fault_effects(&self) -> &[FaultEffect] {
        &self.fault_effects
    }

    /// Ground truth of the returns.
    pub fn truth(&self) -> &PacketTruth {
        &self.truth
    }

    /// Whether all revolutions have been measured.
    pub fn is_measured(&self) -> bool {
        self.received == self.pattern.revolutions()
    }

    /// Values at each position, from right to left; `None` without an echo.
    pub fn values(&self) -> impl Iterator<Item = Option<Seen>> {
        // Partial scans that start at a fraction of a degree have one value fewer.
        let count = self.pattern.places(self.first_revolution).count();
        let count = if self.pattern.is_partial { count } else { self.samples.len() };
        self.samples[..count].iter().map(|sample| {
            let echoes = f64::from(sample.echoes);
            (sample.echoes > 0).then(|| Seen {
                range_m: sample.range_m / echoes,
                intensity: sample.intensity / echoes,
                signal: sample.signal / echoes,
            })
        })
    }
}
