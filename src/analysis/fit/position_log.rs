//! Reads the positions in a recording of a GNSS receiver.

use std::collections::BTreeMap;

use glam::DVec3;

use super::{FitError, Log, median};
use crate::devices::decoder::readings::PositionFix;
use crate::frames::GeoOrigin;
use crate::sensors::gnss::settings::BestFix;

/// Largest number of positions: a week at 10 Hz.
const MAX_FIXES: usize = 6_048_000;
/// Largest permitted share of missing positions.
const MOST_MISSING: f64 = 0.05;

/// Positions of a GNSS receiver at a constant rate.
#[derive(Clone, Debug)]
pub struct PositionLog {
    /// Name of the message with the positions.
    pub message: String,
    /// Interval of the positions, seconds.
    pub interval_s: f64,
    /// Positions relative to the first used one: east, north, up, metres. A missing position repeats the previous one.
    pub positions_m: Vec<DVec3>,
    /// Most frequent kind of fix; `None` if no message states it.
    pub grade: Option<BestFix>,
    /// Resolution of positions in the message, metres.
    pub quantum_m: f64,
    /// Velocities east, north, up, m/s, from messages that have them.
    pub velocities_m_s: Vec<DVec3>,
    /// Reported horizontal accuracy divided by the HDOP of the same epoch, metres: the median of all epochs. `None` if
    /// no epoch has both.
    pub uere_m: Option<f64>,
    /// Number of missing positions.
    pub missing: usize,
}

/// Reads the used part of a log. Positions are from the message type with the finest resolution; types with fewer than
/// 90 % of the epochs of the most frequent type are ignored. Velocities, kind of fix and accuracy are from all message
/// types.
pub fn read(log: &Log<'_>) -> Result<PositionLog, FitError> {
    let mut all: BTreeMap<String, Vec<PositionFix>> = BTreeMap::new();
    // Message types may use different time scales, so times count from the first fix of the same message type.
    let mut starts_s: BTreeMap<String, f64> = BTreeMap::new();
    let (mut count, mut first_period_s) = (0, None);
    log.stream()?.visit(|_, frame| {
        let Some(fix) = frame.content.fix() else { return Ok(()) };
        let first_s: f64 = *first_period_s.get_or_insert(fix.time_period_s);
        let period_s = first_s.min(fix.time_period_s);
        let start_s = *starts_s.entry(fix.message.clone()).or_insert(fix.time_s);
        if !log.is_used((fix.time_s - start_s).rem_euclid(period_s)) {
            return Ok(());
        }
        count += 1;
        if count > MAX_FIXES {
            return Err(format!("it has more than {MAX_FIXES} positions; select a part with --to"));
        }
        all.entry(fix.message.clone()).or_default().push(fix);
        Ok(())
    })?;
    let most = all.values().map(Vec::len).max().unwrap_or(0);
    let finest = all
        .values()
        .filter(|fixes| fixes.len() * 10 >= most * 9)
        .min_by(|a, b| a[0].quantum_m.total_cmp(&b[0].quantum_m));
    let Some(finest) = finest else {
        if !starts_s.is_empty() {
            return Err(FitError::log("there are no positions between --from and --to"));
        }
        let text = "there are no positions in it (GGA, NAV-PVT, NAV-POSLLH, NAV-HPPOSLLH, NAV-POSECEF, \
                    NAV-HPPOSECEF), or none with a fix";
        return Err(FitError::log(text));
    };
    let mut found = series(finest)?;
    found.uere_m = uere_m(&all);
    let grades = || all.values().flatten().filter_map(|fix| fix.grade);
    found.grade = BestFix::WORDS
        .iter()
        .map(|(_, grade)| (grades().filter(|other| other == grade).count(), *grade))
        .filter(|(count, _)| *count > 0)
        .max_by_key(|(count, _)| *count)
        .map(|(_, grade)| grade);
    found.velocities_m_s = all.values().flatten().filter_map(|fix| fix.velocity_enu_m_s).collect();
    Ok(found)
}

/// Converts the fixes of one message type to positions at a constant interval.
fn series(fixes: &[PositionFix]) -> Result<PositionLog, FitError> {
    let first = &fixes[0];
    let period_s = first.time_period_s;
    let times: Vec<f64> =
        fixes.iter().map(|fix| (fix.time_s - first.time_s).rem_euclid(period_s)).collect();
    let steps = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0);
    let interval_s = median(&mut steps.collect::<Vec<_>>());
    if !interval_s.is_finite() {
        return Err(FitError::log(format!("{} has one epoch only", first.message)));
    }
    let origin = GeoOrigin::new(first.position);
    let mut positions_m: Vec<DVec3> = Vec::with_capacity(fixes.len());
    let mut missing = 0;
    for (fix, time_s) in fixes.iter().zip(&times) {
        let index = (time_s / interval_s).round() as usize;
        // Skip a fix that repeats an epoch, or whose time jumps.
        if index < positions_m.len() || index > positions_m.len() + fixes.len() {
            continue;
        }
        while let Some(last) = positions_m.last().copied().filter(|_| positions_m.len() < index) {
            positions_m.push(last);
            missing += 1;
        }
        if missing > fixes.len() {
            break;
        }
        positions_m.push(origin.world_from_geodetic(fix.position));
    }
    if missing as f64 > MOST_MISSING * positions_m.len() as f64 {
        let count = positions_m.len();
        let text =
            format!("{missing} of {count} epochs have no position; a fit needs a log without gaps");
        return Err(FitError::Log(text));
    }
    Ok(PositionLog {
        message: first.message.clone(),
        interval_s,
        positions_m,
        grade: None,
        quantum_m: first.quantum_m,
        velocities_m_s: Vec::new(),
        uere_m: None,
        missing,
    })
}

/// Median ratio of reported horizontal accuracy to HDOP, metres; `None` if no epoch has both values.
fn uere_m(all: &BTreeMap<String, Vec<PositionFix>>) -> Option<f64> {
    // The n-th accuracy is paired with the n-th HDOP, because times of NMEA sentences and UBX messages differ by leap
    // seconds.
    let accuracies = all.values().find(|fixes| fixes[0].horizontal_accuracy_m.is_some())?;
    let hdops = all.values().find(|fixes| fixes[0].hdop.is_some())?;
    let pairs = accuracies.iter().zip(hdops);
    let mut ratios: Vec<f64> = pairs
        .filter_map(|(a, b)| Some(a.horizontal_accuracy_m? / b.hdop.filter(|h| *h > 0.0)?))
        .filter(|ratio| *ratio > 0.0)
        .collect();
    Some(median(&mut ratios)).filter(|uere| uere.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::families::catalogue;
    use crate::wire::nmea::RawSentence;

    #[test]
    fn what_is_before_from_and_after_to_has_no_effect() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gnss.bin");
        let mut bytes = Vec::new();
        // Ninety standalone fixes, then thirty with fixed ambiguities, then ninety differential ones.
        for second in 0..210 {
            let quality = match second {
                0..90 => 1,
                90..120 => 4,
                _ => 2,
            };
            let time = format!("12{:02}{:02}.00", second / 60, second % 60);
            let text =
                format!("{time},4807.03800,N,01131.00000,E,{quality},08,0.9,545.4,M,46.9,M,,");
            RawSentence::new("GPGGA", text.split(',')).emit(&mut bytes);
        }
        std::fs::write(&path, bytes).unwrap();
        let profile = catalogue().profile("ublox-m8n").unwrap();
        let part = |from_s, to_s| {
            read(&Log { path: &path, profile: &profile, from_s, to_s, rate_hz: None })
        };
        let used = part(90.0, 119.0).unwrap();
        assert_eq!((used.positions_m.len(), used.grade), (30, Some(BestFix::RtkFixed)));
        assert_eq!(part(120.0, f64::INFINITY).unwrap().grade, Some(BestFix::Differential));
        let none = part(500.0, f64::INFINITY).unwrap_err().to_string();
        assert!(none.contains("--from"), "{none}");
    }
}
