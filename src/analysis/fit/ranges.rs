//! Fits the noise of a lidar's ranges, for each laser, from a capture at rest in static surroundings.
//!
//! A cell has the ranges of one laser, from all rotations, within half a degree of azimuth and of elevation. A straight
//! line is fitted to them, or a plane if the laser's elevation varies. A cell of a 2-D scanner has the ranges of one
//! step of its scans, and their mean is fitted. The residual is noise if the cell contains one smooth surface, and
//! larger at an edge or in leaves. So a laser's noise is the median over its cells; cells with more than four times the
//! median variance are first removed, repeatedly.

use serde_json::{Value, json};

use super::fragment::{Fragment, Table, figure};
pub use super::ranges_log::{CELL_DEG, Cell, RangeLog};
use super::{FitError, Log, median};

/// Smallest number of ranges in a cell that is used.
const FEWEST_RANGES: u32 = 8;
/// Smallest number of cells from which the noise of a laser is fitted.
const FEWEST_CELLS: usize = 20;
/// Median of the lasers' standard deviations above which the lidar or its surroundings count as moving, metres.
const MOVED_M: f64 = 0.3;

/// Noise of one laser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaserNoise {
    /// Index of the laser, from 0.
    pub laser: u16,
    /// Standard deviation of the laser's ranges, metres.
    pub range_std_m: f64,
    /// Number of cells from which the noise was fitted.
    pub cells: usize,
    /// Median range of the fitted cells, metres.
    pub range_m: f64,
    /// Median intensity of the fitted cells, in the unit of the packets.
    pub intensity: f64,
}

/// Result of a fit.
#[derive(Clone, Debug)]
pub struct RangeFit {
    /// Noise by laser.
    pub lasers: Vec<LaserNoise>,
    /// Median of the lasers' standard deviations, metres.
    pub range_std_m: f64,
    /// Indices of the lasers with too little data for a fit.
    pub unfitted: Vec<u16>,
    source: String,
    has_others: bool,
    /// Message about unusable parts of the log; `None` if there are none.
    pub lost: Option<String>,
}

/// Fits the range noise of each laser in a log.
///
/// # Errors
/// The log cannot be read, is from another product, is too short, or shows motion.
pub fn fit(log: &Log<'_>) -> Result<RangeFit, FitError> {
    let found = super::ranges_log::read(log)?;
    let identity = log.identity()?;
    let mut fit = fit_ranges(&found)?;
    fit.source = format!("{identity}, {:.1} s at standstill", found.duration_s);
    Ok(fit)
}

/// Like [`fit`], for ranges that were already read from a log.
///
/// # Errors
/// There is too little data, or the ranges show motion.
pub fn fit_ranges(log: &RangeLog) -> Result<RangeFit, FitError> {
    let mut ids: Vec<u16> = log.cells.keys().map(|(laser, _)| *laser).collect();
    ids.dedup();
    let (mut lasers, mut unfitted) = (Vec::new(), Vec::new());
    for laser in ids {
        let cells = log.cells.range((laser, 0)..=(laser, u32::MAX)).map(|(_, cell)| cell);
        match of_laser(laser, cells) {
            Some(noise) => lasers.push(noise),
            None => unfitted.push(laser),
        }
    }
    if lasers.is_empty() {
        let text = format!(
            "it is too short: no laser has {FEWEST_RANGES} ranges in {FEWEST_CELLS} directions of \
             {CELL_DEG} degrees; record about ten rotations, or 20 s of a non-repeating pattern"
        );
        return Err(FitError::Log(text));
    }
    let range_std_m = median(&mut lasers.iter().map(|l| l.range_std_m).collect::<Vec<_>>());
    if range_std_m > MOVED_M {
        let text = format!(
            "ranges of the same direction differ by {range_std_m:.2} m: the lidar or its \
             surroundings moved; a fit needs a capture at standstill"
        );
        return Err(FitError::Log(text));
    }
    let has_others = log.has_others;
    Ok(RangeFit {
        lasers,
        range_std_m,
        unfitted,
        source: String::new(),
        has_others,
        lost: log.lost.clone(),
    })
}

fn of_laser<'a>(laser: u16, cells: impl Iterator<Item = &'a Cell>) -> Option<LaserNoise> {
    let mut kept: Vec<(f64, &Cell)> = cells
        .filter(|cell| cell.count >= FEWEST_RANGES)
        .filter_map(|cell| {
            let (variance, freedom) = cell.variance_m2()?;
            // Cube root of the ratio of the median of a chi-squared distribution to its mean (Wilson and Hilferty
            // 1931).
            let share = 1.0 - 2.0 / (9.0 * freedom);
            Some((variance / (share * share * share), cell))
        })
        .collect();
    loop {
        if kept.len() < FEWEST_CELLS {
            return None;
        }
        let middle = median(&mut kept.iter().map(|(variance, _)| *variance).collect::<Vec<_>>());
        let before = kept.len();
        kept.retain(|(variance, _)| *variance <= 4.0 * middle);
        if kept.len() == before {
            let of = |f: &dyn Fn(&Cell) -> f64| {
                median(&mut kept.iter().map(|(_, cell)| f(cell)).collect::<Vec<_>>())
            };
            return Some(LaserNoise {
                laser,
                range_std_m: middle.sqrt(),
                cells: kept.len(),
                range_m: of(&Cell::mean_range_m),
                intensity: of(&Cell::mean_intensity),
            });
        }
    }
}

impl RangeFit {
    /// The fit as the table `noise`, for a profile or for a device's settings in a rig.
    pub fn fragment(&self) -> Fragment {
        let mut table =
            Table { in_profile: "noise".into(), in_rig: "noise".into(), lines: Vec::new() };
        let stds = || self.lasers.iter().map(|laser| laser.range_std_m);
        let (least, most) = (stds().fold(f64::MAX, f64::min), stds().fold(0.0, f64::max));
        let span = format!(
            "median of {} lasers, {} to {}",
            self.lasers.len(),
            figure(least),
            figure(most)
        );
        table.number("range_std_m", self.range_std_m, span);
        table.number("weak_range_std_m", 0.0, "included in range_std_m, at the ranges of the log");
        for l in &self.lasers {
            table.remark(format!(
                "laser {:3}: {} m in {} directions, {:.1} m away, intensity {:.0}",
                l.laser,
                figure(l.range_std_m),
                l.cells,
                l.range_m,
                l.intensity
            ));
        }
        let mut remarks = Vec::new();
        if !self.unfitted.is_empty() {
            let all: Vec<String> = self.unfitted.iter().map(u16::to_string).collect();
            remarks.push(format!("Too few ranges of lasers {}.", all.join(", ")));
        }
        if self.has_others {
            remarks.push(
                "Fitted to the first flow of data packets; other flows were ignored.".to_owned(),
            );
        }
        Fragment { source: self.source.clone(), remarks, tables: vec![table] }
    }

    /// The fit as JSON.
    pub fn report(&self) -> Value {
        let lasers: Vec<Value> = self
            .lasers
            .iter()
            .map(|l| {
                json!({ "laser": l.laser, "range_std_m": l.range_std_m, "directions": l.cells,
                        "range_m": l.range_m, "intensity": l.intensity })
            })
            .collect();
        json!({ "log": self.source, "range_std_m": self.range_std_m, "lasers": lasers,
                "unfitted_lasers": self.unfitted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensors::noise::{NoiseSource, Quantity};

    /// Two lasers in front of a slanted wall; every fifth direction is at an edge. The fit finds their noise, 1 and 3
    /// cm, within 3 %: three standard errors of a median over 80 directions of 40 ranges.
    #[test]
    fn the_noise_of_each_laser_comes_back_between_edges() {
        let noise = NoiseSource::new(3, "lidar");
        let mut log = RangeLog::default();
        for shot in 0..40u64 {
            for (laser, std_m) in [(0u16, 0.01), (1, 0.03)] {
                for place in 0..100u32 {
                    let draws = noise.request(shot * 100 + u64::from(place));
                    let normal = draws.standard_normal(usize::from(laser), Quantity::White);
                    let azimuth = CELL_DEG * (f64::from(place) + (shot % 7) as f64 / 7.0);
                    let edge = if place % 5 == 0 && shot % 2 == 0 { 1.0 } else { 0.0 };
                    let range_m = 5.0 + 0.05 * azimuth + edge + std_m * normal;
                    let cell = log.cells.entry((laser, place)).or_default();
                    cell.see([azimuth, 0.0], range_m, 50.0);
                }
            }
        }
        let fit = fit_ranges(&log).unwrap();
        for (laser, std_m) in fit.lasers.iter().zip([0.01, 0.03]) {
            assert!((laser.range_std_m / std_m - 1.0).abs() < 0.03, "{laser:?}");
            assert_eq!(laser.cells, 80);
        }
        let text = fit.fragment().text(super::super::Form::Profile);
        text.parse::<toml::Table>().unwrap();
        assert!(text.contains("[noise]\nrange_std_m = 0.0"), "{text}");
    }

    #[test]
    fn too_little_and_too_much_are_refused() {
        let mut log = RangeLog::default();
        let refused = |log: &RangeLog| fit_ranges(log).unwrap_err().to_string();
        assert!(refused(&log).contains("too short"));
        for shot in 0..40u32 {
            for place in 0..100 {
                let range_m = 5.0 + f64::from(shot * 7 % 11);
                let azimuth = f64::from(shot % 3) * 0.1;
                log.cells.entry((0, place)).or_default().see([azimuth, 0.0], range_m, 1.0);
            }
        }
        assert!(refused(&log).contains("moved"));
    }
}
