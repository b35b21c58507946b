//! Encoding of measured values in telegrams.

use super::capture::{Capture, Seen};
use super::mirror::Pattern;
use crate::sick_lms2xx::profile::{ScanIndexCounts, SickLms2xxProfile};
use crate::wire::sick_lms2xx::SpecialValue;
use crate::wire::sick_lms2xx::command::Subrange;
use crate::wire::sick_lms2xx::configuration::Configuration;
use crate::wire::sick_lms2xx::data::{MeasuringMode, Range, ScanInfo, Unit, Values};
use crate::wire::sick_lms2xx::reply::{Body, Indices, RemissionPart};

/// Telegram type of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// All values: 0xB0.
    Scan,
    /// Means over several scans: 0xB6.
    Mean {
        /// Number of scans.
        scans: u8,
    },
    /// Values of a subrange: 0xB7.
    Subrange(Subrange),
    /// Means of a subrange: 0xBF.
    MeanSubrange {
        /// Number of scans.
        scans: u8,
        /// Subrange of values.
        part: Subrange,
    },
    /// All ranges, and the reflectivity of a subrange: 0xC4.
    Reflectivity(Subrange),
    /// Ranges of subranges, each with its reflectivity (remission): 0xF5.
    Remission(Vec<Subrange>),
}

impl Format {
    /// Number of scans averaged in a telegram.
    pub fn scans(&self) -> u8 {
        match self {
            Self::Mean { scans } | Self::MeanSubrange { scans, .. } => *scans,
            _ => 1,
        }
    }

    /// Whether a scan of `values` values can be sent in the format. The number of scans to average must be positive.
    /// The number of subranges must be 1 to 5, and all of them must be within the scan.
    pub fn fits(&self, values: usize) -> bool {
        let parts = match self {
            Self::Scan => return true,
            Self::Mean { scans } => return *scans > 0,
            Self::MeanSubrange { scans: 0, .. } => return false,
            Self::MeanSubrange { part, .. } | Self::Subrange(part) | Self::Reflectivity(part) => {
                std::slice::from_ref(part)
            }
            Self::Remission(parts) => parts,
        };
        (1..=MAX_PARTS).contains(&parts.len()) && parts.iter().all(|part| part.fits(values))
    }
}

/// Largest number of subranges in a telegram (Gearbox).
const MAX_PARTS: usize = 5;

/// Encodes measured values with the scanner's configuration.
#[derive(Debug)]
pub struct Encoder<'a> {
    /// Profile of the scanner's firmware.
    pub profile: &'a SickLms2xxProfile,
    /// Present configuration.
    pub configuration: &'a Configuration,
    /// Detection threshold at standard sensitivity, in the unit of [`Seen::signal`].
    pub threshold: f64,
}

impl Encoder<'_> {
    /// Unit of the ranges.
    pub fn unit(&self) -> Unit {
        Unit::from_code(self.configuration.unit()).unwrap_or(Unit::Centimetres)
    }

    fn mode(&self) -> MeasuringMode {
        let code = self.configuration.measuring_mode();
        MeasuringMode::from_code(code).unwrap_or(MeasuringMode::FACTORY)
    }

    /// Makes the telegram of a capture; also returns the number of its values that have an echo. `telegrams` is the number
    /// of earlier telegrams.
    pub fn body(&self, capture: &Capture, format: &Format, telegrams: u64) -> (Body, u32) {
        let indices = self.configuration.sends_indices().then(|| Indices {
            scan: match self.profile.configuration.scan_index_counts {
                ScanIndexCounts::Revolutions => capture.end_revolution() as u8,
                ScanIndexCounts::Scans => capture.scan() as u8,
            },
            telegram: telegrams as u8,
        });
        let all: Vec<_> = capture.values().collect();
        let values = |some: &[Option<Seen>]| self.values(some, capture);
        let seen = |some: &[Option<Seen>]| some.iter().flatten().count() as u32;
        match format {
            Format::Scan => (Body::Scan { values: values(&all), indices }, seen(&all)),
            Format::Mean { scans } => {
                (Body::Mean { scans: *scans, values: values(&all), indices }, seen(&all))
            }
            Format::Subrange(part) => {
                let some = part.of(&all);
                (Body::Subrange { part: *part, values: values(some), indices }, seen(some))
            }
            Format::MeanSubrange { scans, part } => {
                let some = part.of(&all);
                let values = values(some);
                let body = Body::MeanSubrange { scans: *scans, part: *part, values, indices };
                (body, seen(some))
            }
            Format::Reflectivity(part) => {
                let reflectivity = part.of(&all).iter().map(|sample| self.reflectivity(sample));
                let reflectivity = reflectivity.collect();
                let values = values(&all);
                let body = Body::Reflectivity { values, part: *part, reflectivity, indices };
                (body, seen(&all))
            }
            Format::Remission(parts) => {
                let count = parts.iter().map(|part| seen(part.of(&all))).sum();
                let parts = parts.iter().map(|part| self.remission(*part, &all)).collect();
                (Body::Remission(parts), count)
            }
        }
    }

    /// Largest length of a telegram of `pattern` in `format`, bytes.
    pub fn telegram_len(&self, pattern: &Pattern, format: &Format) -> usize {
        let blank = Capture::of_scan(pattern.clone(), 0);
        let (body, _) = self.body(&blank, format, 0);
        let reply = crate::wire::sick_lms2xx::reply::Reply { body, status: 0 };
        reply.emit().len() + crate::wire::sick_lms2xx::frame::OVERHEAD
    }

    fn values(&self, some: &[Option<Seen>], capture: &Capture) -> Values {
        Values {
            quarters: capture.quarter(),
            is_partial: capture.pattern().is_partial,
            unit: self.unit(),
            values: some.iter().map(|sample| self.value(*sample)).collect(),
        }
    }

    /// Encodes the value of one direction; `sample` is `None` if it has no echo.
    pub fn value(&self, sample: Option<Seen>) -> u16 {
        let mode = self.mode();
        let special = |value| mode.value(Range::Special(value), 0);
        let Some(seen) = sample else {
            return if mode.is_amplitude() { 0 } else { special(SpecialValue::AboveMaximum) };
        };
        if mode.is_amplitude() {
            return self.amplitude(seen.signal);
        }
        if self.is_dazzled(&seen) {
            return special(SpecialValue::Dazzled);
        }
        let levels = f64::from(mode.reflectivity_levels() - 1);
        let level = (seen.intensity.clamp(0.0, 1.0) * levels).round() as u16;
        mode.value(Range::Units(self.units(seen.range_m)), level)
    }

    /// Whether an echo is so strong that the scanner reports dazzling instead of a range; never for a detection
    /// threshold of zero.
    fn is_dazzled(&self, seen: &Seen) -> bool {
        let dazzles = self.profile.configuration.dazzling_signal * self.threshold;
        dazzles > 0.0 && seen.signal >= dazzles
    }

    /// Amplitude of an echo on a logarithmic scale: 0 at the detection threshold, the profile's full scale at the dazzling
    /// signal (at least ten times the threshold).
    pub fn amplitude(&self, signal: f64) -> u16 {
        if self.threshold <= 0.0 {
            return self.profile.reflectivity.remission_full_scale;
        }
        let over = (signal / self.threshold).max(1.0);
        let share =
            libm::log(over) / libm::log(self.profile.configuration.dazzling_signal.max(10.0));
        (share.min(1.0) * f64::from(self.profile.reflectivity.remission_full_scale)).round() as u16
    }

    /// Range in the configured unit, limited to 16 bits.
    fn units(&self, range_m: f64) -> u16 {
        (range_m / self.unit().metres()).round().clamp(0.0, f64::from(u16::MAX)) as u16
    }

    fn reflectivity(&self, sample: &Option<Seen>) -> u8 {
        let intensity = sample.map_or(0.0, |seen| seen.intensity.clamp(0.0, 1.0));
        (intensity * f64::from(self.profile.reflectivity.full_scale)).round() as u8
    }

    fn remission(&self, part: Subrange, all: &[Option<Seen>]) -> RemissionPart {
        // In this telegram all 16 bits are range.
        let special = |value: SpecialValue| 0xfff0 | value as u16;
        let full = f64::from(self.profile.reflectivity.remission_full_scale);
        let pair = |sample: &Option<Seen>| match sample {
            Some(seen) => {
                let remission = (seen.intensity.clamp(0.0, 1.0) * full).round() as u16;
                let is_dazzled = self.is_dazzled(seen);
                let range = if is_dazzled {
                    special(SpecialValue::Dazzled)
                } else {
                    self.units(seen.range_m)
                };
                [range, remission]
            }
            None => [special(SpecialValue::AboveMaximum), 0],
        };
        let values: Vec<_> = part.of(all).iter().map(pair).collect();
        let count = values.len() as u16;
        let info = ScanInfo { count, quarters: 0, is_partial: false, unit: self.unit() };
        RemissionPart { part, info, values }
    }
}
