//! Compares a driver's reports with the expectations of a case.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use regex::Regex;

use crate::kit::expectation::{ANY, Check, Expectation, Nearness, Quantity};
use crate::kit::observation::{Line, Observation};
use crate::kit::truth::Truth;
use crate::time::SimTime;

/// Events that are not sensor data.
const NOT_OF_THE_SENSOR: [&str; 2] = ["ready", "message"];

/// Record of a case, for the verdict.
pub struct CaseRecord<'a> {
    /// The driver's observations, in order of arrival.
    pub observations: &'a [Observation],
    /// The latest lines of the driver's output.
    pub lines: &'a VecDeque<Line>,
    /// For each pattern that a line has matched: all its lines.
    pub matches: &'a BTreeMap<String, Vec<Line>>,
    /// Start of the case: the zero of its times.
    pub zero: Instant,
    /// Times at which the sensor was switched on.
    pub switched_on: &'a [Instant],
    /// Time at which the sensor was first switched on, seconds of POSIX time.
    pub start_unix_s: f64,
    /// Duration of the case, seconds.
    pub lasts_s: f64,
    /// Ground truth of the device.
    pub truth: &'a Truth,
    /// Memory of the driver: pairs of time (seconds after the start of the case) and megabytes.
    pub memory: &'a [(f64, f64)],
    /// Time (seconds after the start of the case) and reason of the driver's end, if it was not requested.
    pub ended: Option<(f64, String)>,
}

/// Result of one comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The expectation is met.
    Fine,
    /// The expectation is not met: a message, and the approximate time in seconds after the start of the case.
    Wrong(String, Option<f64>),
    /// Inconclusive: the driver does not report the required values. The text names them.
    NotTold(String),
}

impl CaseRecord<'_> {
    /// Converts an instant to seconds after the start of the case (negative before it).
    pub fn seconds(&self, at: Instant) -> f64 {
        match at.checked_duration_since(self.zero) {
            Some(after) => after.as_secs_f64(),
            None => -self.zero.duration_since(at).as_secs_f64(),
        }
    }

    /// Converts an instant to the time of the rig, which starts at zero at each power-on.
    pub fn rig_time(&self, at: Instant) -> SimTime {
        let on = self.switched_on.iter().rev().find(|on| **on <= at).or(self.switched_on.first());
        let since = on.and_then(|on| at.checked_duration_since(*on)).unwrap_or_default();
        SimTime(since.as_nanos() as u64)
    }

    /// Observations of `event` between two times, in seconds after the start of the case. The name [`ANY`] means all
    /// events with sensor data.
    fn between(&self, event: &str, from_s: f64, to_s: f64) -> Vec<&Observation> {
        let is_meant = |seen: &&Observation| match event {
            ANY => !NOT_OF_THE_SENSOR.contains(&seen.event.as_str()),
            event => seen.event == event,
        };
        let is_then = |seen: &&Observation| (from_s..=to_s).contains(&self.seconds(seen.at));
        self.observations.iter().filter(is_meant).filter(is_then).collect()
    }
}

/// Compares one expectation with the record.
pub fn judge(expectation: &Expectation, record: &CaseRecord<'_>) -> Found {
    let from_s = expectation.from_s;
    let to_s = expectation.to_s.unwrap_or(record.lasts_s);
    let within = |at: Instant| (from_s..=to_s).contains(&record.seconds(at));
    let chosen = |of| record.between(of, from_s, to_s);
    let times =
        |of| -> Vec<f64> { chosen(of).iter().map(|seen| record.seconds(seen.at)).collect() };
    let first_match = |pattern: &Regex| {
        let lines = record.matches.get(pattern.as_str());
        lines.into_iter().flatten().find(|line| within(line.at))
    };
    let length_s = to_s - from_s;
    match &expectation.check {
        Check::Rate { of, at_least_hz, at_most_hz } => {
            let rate_hz = times(of).len() as f64 / length_s;
            limited(rate_hz, *at_least_hz, *at_most_hz, " Hz", from_s)
        }
        Check::PointRate { of, at_least_hz, at_most_hz } => {
            let count: usize = chosen(of).iter().map(|seen| seen.point_count).sum();
            limited(
                count as f64 / length_s,
                *at_least_hz,
                *at_most_hz,
                " points per second",
                from_s,
            )
        }
        Check::Count { of, at_least, at_most } => {
            let times = times(of);
            match times.len() as u64 {
                count if count < *at_least => Found::Wrong(format!("{count} times"), Some(to_s)),
                count if count > *at_most => {
                    let first = times.get(*at_most as usize).copied();
                    Found::Wrong(format!("{count} times"), first)
                }
                _ => Found::Fine,
            }
        }
        Check::Gap { of, at_most_s } => longest_gap(&times(of), from_s, to_s, *at_most_s),
        Check::Resumes { of, within_s } => {
            let times = times(of);
            match times.first() {
                None => Found::Wrong("no further events".into(), Some(from_s)),
                Some(first) if first - from_s > *within_s => {
                    Found::Wrong(format!("after {:.2} s", first - from_s), Some(from_s))
                }
                Some(first) => longest_gap(&times, *first, to_s, *within_s),
            }
        }
        Check::NearTruth { of, near } => near_truth(record, &chosen(of), of, near),
        Check::Value { of, field, least, most, share } => {
            let seen = chosen(of);
            let told = seen.iter().filter_map(|seen| Some((*seen, seen.number(field)?)));
            let (mut count, mut wrong) = (0_u64, Vec::new());
            for (seen, value) in told {
                count += 1;
                if !(*least..=*most).contains(&value) {
                    wrong.push((record.seconds(seen.at), value));
                }
            }
            if count == 0 {
                return nothing_told(&seen, of, &[field]);
            }
            let Some((at_s, value)) = wrong.first() else { return Found::Fine };
            if wrong.len() as f64 <= share * count as f64 {
                return Found::Fine;
            }
            let text = format!("{} of {count} values out of range, first {value}", wrong.len());
            Found::Wrong(text, Some(*at_s))
        }
        Check::TellsNot { of, field } => {
            let seen = chosen(of);
            let mut told = seen.iter().filter(|seen| seen.tells(field)).peekable();
            let Some(first) = told.peek().copied() else { return Found::Fine };
            let text = format!(
                "{} of {} have this field, first {}",
                told.count(),
                seen.len(),
                first.brief()
            );
            Found::Wrong(text, Some(record.seconds(first.at)))
        }
        Check::Steady { of, field, tolerance_s } => {
            let seen = chosen(of);
            let told: Vec<_> = seen
                .iter()
                .filter_map(|seen| Some((record.seconds(seen.at), seen.number(field)?)))
                .collect();
            if told.is_empty() {
                return nothing_told(&seen, of, &[field]);
            }
            let jump = |pair: &&[(f64, f64)]| {
                let off_s = (pair[1].1 - pair[0].1) - (pair[1].0 - pair[0].0);
                off_s.abs() > *tolerance_s
            };
            match told.windows(2).find(jump) {
                None => Found::Fine,
                Some(pair) => Found::Wrong(
                    format!(
                        "it went from {:.3} to {:.3} s in {:.3} s",
                        pair[0].1,
                        pair[1].1,
                        pair[1].0 - pair[0].0
                    ),
                    Some(pair[1].0),
                ),
            }
        }
        Check::Says(pattern) => match first_match(pattern) {
            Some(_) => Found::Fine,
            None => Found::Wrong("no such line".into(), Some(to_s)),
        },
        Check::SaysNot(pattern) => match first_match(pattern) {
            None => Found::Fine,
            Some(line) => Found::Wrong(format!("\"{}\"", line.text), Some(record.seconds(line.at))),
        },
        Check::Alive => match &record.ended {
            None => Found::Fine,
            Some((at_s, how)) => Found::Wrong(format!("it ended: {how}"), Some(*at_s)),
        },
        Check::Memory { at_most_mb, growth_mb } => {
            let within: Vec<_> =
                record.memory.iter().filter(|(at, _)| (from_s..=to_s).contains(at)).collect();
            let (Some(first), Some(last)) = (within.first(), within.last()) else {
                return Found::NotTold("the driver's memory was not measured".into());
            };
            let most = within.iter().map(|(_, mb)| *mb).fold(0.0, f64::max);
            if most > *at_most_mb {
                return Found::Wrong(format!("{most:.1} MB"), Some(last.0));
            }
            let grown = last.1 - first.1;
            match grown > *growth_mb {
                true => {
                    let text = format!(
                        "memory grew by {grown:.1} MB, from {:.1} to {:.1}",
                        first.1, last.1
                    );
                    Found::Wrong(text, Some(last.0))
                }
                false => Found::Fine,
            }
        }
    }
}

fn limited(value: f64, least: f64, most: f64, unit: &str, at_s: f64) -> Found {
    match (least..=most).contains(&value) {
        true => Found::Fine,
        false => Found::Wrong(format!("{value:.1}{unit}"), Some(at_s)),
    }
}

/// Checks the longest gap between `times`, including the gaps to both ends of the period.
fn longest_gap(times: &[f64], from_s: f64, to_s: f64, at_most_s: f64) -> Found {
    let ends = std::iter::once(from_s).chain(times.iter().copied());
    let gaps = ends.zip(times.iter().copied().chain([to_s]));
    let longest = gaps.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    match longest {
        Some((begins, ends)) if ends - begins > at_most_s => Found::Wrong(
            format!("gap of {:.2} s, from {begins:.2} s on", ends - begins),
            Some(begins),
        ),
        _ => Found::Fine,
    }
}

fn nothing_told(seen: &[&Observation], of: &str, fields: &[&str]) -> Found {
    match seen.is_empty() {
        true => Found::Wrong(format!("no `{of}` at all"), None),
        false => {
            let names: Vec<_> = fields.iter().map(|field| format!("`{field}`")).collect();
            Found::NotTold(format!(
                "the driver does not report {} with `{of}`",
                names.join(" and ")
            ))
        }
    }
}

/// Absolute errors of an observation's values of `quantity`, in the unit of [`Quantity::unit`]. The error of a reported
/// time refers to the rig's time at arrival minus `behind_s`. Empty if the observation lacks the quantity.
fn errors(
    record: &CaseRecord<'_>,
    seen: &Observation,
    quantity: Quantity,
    behind_s: f64,
) -> Vec<f64> {
    let at = record.rig_time(seen.at);
    let truth = record.truth;
    let length = |vector: [f64; 3]| glam::DVec3::from_array(vector).length();
    let one = |error: Option<f64>| error.into_iter().collect();
    match quantity {
        Quantity::Range => truth.off_surface_m(at, &seen.points),
        Quantity::Position => one(seen
            .number("lat_deg")
            .zip(seen.number("lon_deg"))
            .map(|(latitude, longitude)| truth.off_position_m(at, latitude, longitude))),
        Quantity::Height => one(seen
            .number("height_m")
            .map(|told| (told - truth.inertial(at).place.altitude_m).abs())),
        Quantity::Altitude => one(seen
            .number("altitude_m")
            .map(|told| (told - truth.inertial(at).place.height_above_sea_level_m()).abs())),
        Quantity::Time => one(seen.number("stamp_s").map(|told| {
            let first = record.switched_on.first().copied().unwrap_or(record.zero);
            let passed = seen.at.saturating_duration_since(first).as_secs_f64();
            (told - record.start_unix_s - passed + behind_s).abs()
        })),
        Quantity::Force => one(seen
            .vector("force_m_s2")
            .map(|told| (length(told) - truth.inertial(at).specific_force_m_s2.length()).abs())),
        Quantity::Rate => one(seen
            .vector("rate_rad_s")
            .map(|told| (length(told) - truth.inertial(at).angular_rate_rad_s.length()).abs())),
        Quantity::Usual => [Quantity::Range, Quantity::Position, Quantity::Force]
            .into_iter()
            .flat_map(|kind| {
                let usual = kind.usual_error();
                errors(record, seen, kind, behind_s).into_iter().map(move |error| error / usual)
            })
            .collect(),
    }
}

fn near_truth(record: &CaseRecord<'_>, seen: &[&Observation], of: &str, near: &Nearness) -> Found {
    let Nearness { quantity, tolerance, share, at_least, behind_s } = *near;
    let (mut count, mut wrong) = (0_u64, 0_u64);
    let mut worst = (0.0_f64, None, String::new());
    for observation in seen {
        for (place, error) in
            errors(record, observation, quantity, behind_s).into_iter().enumerate()
        {
            count += 1;
            // This is false if the error is NaN.
            let is_near = error <= tolerance;
            if is_near {
                continue;
            }
            wrong += 1;
            if worst.1.is_none() || error > worst.0 {
                let told = match observation.points.get(place) {
                    Some([x, y, z]) => format!("the point ({x:.2}, {y:.2}, {z:.2})"),
                    None => observation.brief(),
                };
                worst = (error, Some(record.seconds(observation.at)), told);
            }
        }
    }
    let thinned: usize = match quantity {
        Quantity::Range => seen.iter().map(|seen| seen.point_count - seen.points.len()).sum(),
        _ => 0,
    };
    if count + (thinned as u64) < at_least.max(1) {
        if at_least == 0 {
            return Found::Fine;
        }
        if count > 0 || seen.iter().any(|seen| seen.has_points) {
            return Found::Wrong(format!("{count} values, too few"), None);
        }
        return nothing_told(seen, of, quantity.fields());
    }
    if wrong as f64 <= share * count as f64 {
        return Found::Fine;
    }
    let (error, at_s, told) = worst;
    let far = match error.is_finite() {
        true => format!("off by {error:.2} {}", quantity.unit()),
        false => "where the ground truth has nothing".to_owned(),
    };
    Found::Wrong(format!("{wrong} of {count} out of tolerance; the worst is {told}, {far}"), at_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::Rig;
    use crate::devices::families::catalogue;
    use crate::kit::clock;
    use serde_json::{Value, json};
    use std::path::Path;
    use std::sync::LazyLock;
    use std::time::Duration;

    static TRUTH: LazyLock<Truth> = LazyLock::new(|| {
        let (_, text) = crate::kit::library::rig("vlp16").unwrap();
        let sets = ["robot.trajectory.position_m=[0, 0, 0]", "robot.trajectory.yaw_deg=0"];
        let sets = sets.map(|set| set.parse().unwrap());
        let rig = Rig::parse("rig", text, Path::new(""), &sets, catalogue()).unwrap();
        Truth::load(&rig, 0).unwrap()
    });

    /// Compares events `(seconds, name, fields)` of a case of 10 s with `check`.
    fn judged(check: Check, from_s: f64, events: &[(f64, &str, Value)]) -> Found {
        let zero = clock::now();
        let observations: Vec<_> = events
            .iter()
            .map(|(at, event, fields)| {
                let fields = fields.as_object().unwrap().clone();
                Observation::new(zero + Duration::from_secs_f64(*at), (*event).into(), fields)
            })
            .collect();
        let line = Line { at: zero, text: "hello".into() };
        let matched = check.pattern().filter(|pattern| pattern.is_match(&line.text));
        let matches: BTreeMap<_, _> = matched
            .map(|pattern| (pattern.as_str().to_owned(), vec![line.clone()]))
            .into_iter()
            .collect();
        let record = CaseRecord {
            observations: &observations,
            lines: &VecDeque::from([line]),
            matches: &matches,
            zero,
            switched_on: &[zero],
            start_unix_s: 1000.0,
            lasts_s: 10.0,
            truth: &TRUTH,
            memory: &[(0.0, 10.0), (5.0, 12.0), (10.0, 20.0)],
            ended: Some((3.0, "code 1".into())),
        };
        judge(&Expectation { check, from_s, to_s: None }, &record)
    }

    fn each_half_second(until_s: f64, fields: &Value) -> Vec<(f64, &'static str, Value)> {
        (0..=(until_s * 2.0) as u32)
            .map(|n| (f64::from(n) / 2.0, "points", fields.clone()))
            .collect()
    }

    fn of() -> String {
        "points".into()
    }

    #[test]
    fn gaps_count_to_both_ends() {
        let events = each_half_second(6.0, &json!({}));
        let gap = |at_most_s| Check::Gap { of: of(), at_most_s };
        assert_eq!(judged(gap(4.1), 0.0, &events), Found::Fine);
        assert_eq!(
            judged(gap(1.0), 0.0, &events),
            Found::Wrong("gap of 4.00 s, from 6.00 s on".into(), Some(6.0))
        );
        assert_eq!(
            judged(gap(1.0), 8.0, &[]),
            Found::Wrong("gap of 2.00 s, from 8.00 s on".into(), Some(8.0))
        );
        let resumes = Check::Resumes { of: of(), within_s: 1.0 };
        assert!(
            matches!(judged(resumes.clone(), 5.0, &events), Found::Wrong(..)),
            "it stops at 6 s"
        );
        assert_eq!(judged(resumes, 5.0, &each_half_second(10.0, &json!({}))), Found::Fine);
    }

    #[test]
    fn rates_and_counts_are_limited() {
        let events = each_half_second(10.0, &json!({"points": [[1, 2, 3]]}));
        let rate = |at_least_hz, at_most_hz| Check::Rate { of: of(), at_least_hz, at_most_hz };
        assert_eq!(judged(rate(2.0, 2.2), 0.0, &events), Found::Fine);
        assert_eq!(judged(rate(3.0, 9.0), 0.0, &events), Found::Wrong("2.1 Hz".into(), Some(0.0)));
        let points = Check::PointRate { of: of(), at_least_hz: 0.0, at_most_hz: 1.0 };
        assert_eq!(
            judged(points, 0.0, &events),
            Found::Wrong("2.1 points per second".into(), Some(0.0))
        );
        let none = Check::Count { of: ANY.into(), at_least: 0, at_most: 0 };
        assert_eq!(judged(none.clone(), 9.9, &events), Found::Wrong("1 times".into(), Some(10.0)));
        assert_eq!(judged(none, 0.0, &[(1.0, "ready", json!({}))]), Found::Fine);
    }

    #[test]
    fn points_off_the_walls_are_found() {
        let near = |tolerance, share| Check::NearTruth {
            of: of(),
            near: Nearness {
                quantity: Quantity::Range,
                tolerance,
                share,
                at_least: 1,
                behind_s: 0.0,
            },
        };
        let fields = json!({"points": [[10, 0, 0], [0, 9.5, 0]]});
        let events = [(1.0, "points", fields)];
        assert_eq!(judged(near(0.6, 0.0), 0.0, &events), Found::Fine);
        assert_eq!(judged(near(0.3, 0.5), 0.0, &events), Found::Fine);
        assert_eq!(
            judged(near(0.3, 0.4), 0.0, &events),
            Found::Wrong(
                "1 of 2 out of tolerance; the worst is the point (0.00, 9.50, 0.00), off by 0.50 m"
                    .into(),
                Some(1.0)
            )
        );
        let told = [(1.0, "points", json!({"count": 3}))];
        assert_eq!(
            judged(near(0.3, 0.0), 0.0, &told),
            Found::NotTold("the driver does not report `points` with `points`".into())
        );
        assert_eq!(
            judged(near(0.3, 0.0), 0.0, &[]),
            Found::Wrong("no `points` at all".into(), None)
        );
        let usual = Check::NearTruth {
            of: ANY.into(),
            near: Nearness {
                quantity: Quantity::Usual,
                tolerance: 1.0,
                share: 0.0,
                at_least: 1,
                behind_s: 0.0,
            },
        };
        assert!(matches!(judged(usual, 0.0, &events), Found::Wrong(..)));
    }

    #[test]
    fn times_positions_and_forces_are_compared() {
        let place = TRUTH.inertial(SimTime::ZERO).place;
        let fields = |dt: f64, up: f64| {
            json!({"lat_deg": place.latitude_deg, "lon_deg": place.longitude_deg,
                   "stamp_s": 1000.0 + dt, "height_m": place.altitude_m + up,
                   "altitude_m": place.height_above_sea_level_m() + up,
                   "force_m_s2": [0.0, 0.0, 9.8 + up], "rate_rad_s": [0, 0, up]})
        };
        let check = |quantity, fields: &Value| {
            let behind_s = if quantity == Quantity::Time { 1.0 } else { 0.0 };
            let near = Nearness { quantity, tolerance: 0.5, share: 0.0, at_least: 1, behind_s };
            let check = Check::NearTruth { of: "fix".into(), near };
            judged(check, 0.0, &[(1.0, "fix", fields.clone())])
        };
        for (quantity, word) in [
            (Quantity::Time, "m"),
            (Quantity::Position, "m"),
            (Quantity::Height, "m"),
            (Quantity::Altitude, "m"),
            (Quantity::Force, "m"),
            (Quantity::Rate, "m"),
        ] {
            assert_eq!(check(quantity, &fields(0.0, 0.0)), Found::Fine, "{word}");
        }
        for quantity in [Quantity::Height, Quantity::Altitude, Quantity::Force, Quantity::Rate] {
            assert!(matches!(check(quantity, &fields(0.0, 2.0)), Found::Wrong(..)));
        }
        let Found::Wrong(text, _) = check(Quantity::Time, &fields(-3600.0, 0.0)) else { panic!() };
        assert!(text.ends_with("off by 3600.00 s"), "{text}");
    }

    #[test]
    fn what_is_not_to_be_told_is_found() {
        let events =
            [(1.0, "fix", json!({"height_m": null})), (2.0, "fix", json!({"height_m": 3}))];
        let check = Check::TellsNot { of: "fix".into(), field: "height_m".into() };
        assert_eq!(judged(check.clone(), 0.0, &events[..1]), Found::Fine);
        assert_eq!(
            judged(check, 0.0, &events),
            Found::Wrong("1 of 2 have this field, first fix height_m=3".into(), Some(2.0))
        );
    }

    #[test]
    fn stamps_advance_as_time_does() {
        let steady = Check::Steady { of: of(), field: "stamp_s".into(), tolerance_s: 0.2 };
        let events: Vec<_> = [(0.0, 3599.5), (0.5, 3600.0), (1.0, 0.5)]
            .map(|(at, stamp)| (at, "points", json!({"stamp_s": stamp})))
            .to_vec();
        assert_eq!(judged(steady.clone(), 0.0, &events[..2]), Found::Fine);
        assert_eq!(
            judged(steady, 0.0, &events),
            Found::Wrong("it went from 3600.000 to 0.500 s in 0.500 s".into(), Some(1.0))
        );
    }

    #[test]
    fn lines_values_memory_and_ends_are_judged() {
        let says = |text: &str| Regex::new(text).unwrap();
        assert_eq!(judged(Check::Says(says("^hel")), 0.0, &[]), Found::Fine);
        assert!(matches!(judged(Check::Says(says("^hel")), 1.0, &[]), Found::Wrong(..)));
        assert_eq!(
            judged(Check::SaysNot(says("l+")), 0.0, &[]),
            Found::Wrong("\"hello\"".into(), Some(0.0))
        );
        assert_eq!(
            judged(Check::Alive, 0.0, &[]),
            Found::Wrong("it ended: code 1".into(), Some(3.0))
        );
        let memory = |at_most_mb, growth_mb| Check::Memory { at_most_mb, growth_mb };
        assert_eq!(judged(memory(30.0, 10.0), 0.0, &[]), Found::Fine);
        assert_eq!(
            judged(memory(15.0, 99.0), 0.0, &[]),
            Found::Wrong("20.0 MB".into(), Some(10.0))
        );
        assert_eq!(
            judged(memory(30.0, 7.0), 5.0, &[]),
            Found::Wrong("memory grew by 8.0 MB, from 12.0 to 20.0".into(), Some(10.0))
        );
        let value =
            Check::Value { of: "imu".into(), field: "t".into(), least: 0.0, most: 1.0, share: 0.0 };
        let events = [(1.0, "imu", json!({"t": 0.5})), (2.0, "imu", json!({"t": 9}))];
        assert_eq!(judged(value.clone(), 0.0, &events[..1]), Found::Fine);
        assert_eq!(
            judged(value, 0.0, &events),
            Found::Wrong("1 of 2 values out of range, first 9".into(), Some(2.0))
        );
    }
}
