//! Requirements on a run's timing, such as `p99.9<100us,late=0`, and verdicts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::DeviceTiming;
use crate::time::duration::describe_us_to;
use crate::timing::is_maximum;

/// A requirement on a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Name of the device to check; `None` for all devices that had something to send.
    device: Option<String>,
    metric: Metric,
    comparison: Comparison,
    /// Limit, in microseconds, microseconds per second, or packets.
    limit: f64,
    /// Text of the requirement as written.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Metric {
    /// Percentile of the absolute error; the value is in percent, 0 to 100.
    Percentile(f64),
    Mean,
    /// Absolute value of the drift: growth of the smallest error over time, microseconds per second.
    Drift,
    Late,
    Dropped,
    /// Number of measurements with fewer rays per pulse than configured.
    Thinned,
    Refused,
    Unstamped,
    Packets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

/// Result of one requirement for one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Text of the requirement as written.
    pub requirement: String,
    /// Name of the device; empty if there is none to check: no device has the name, or no device had anything to send.
    pub device: String,
    /// Measured value: microseconds, microseconds per second, or packets.
    pub measured: f64,
    /// Unit of `measured`: `us`, `us/s` or `packets`.
    pub unit: String,
    /// Whether the requirement is met.
    pub is_met: bool,
    /// If there are too few values for the percentile: their number; `measured` is then their maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum_of: Option<u64>,
    /// Reason for the failure, if the measured value does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

const ALLOWED: &str = "allowed: [DEVICE:]METRIC COMPARISON NUMBER[UNIT], several with commas; \
     metrics p50, p99.9 and so on, max, mean, drift (in a second) with ns, us, ms or s; late, \
     dropped, thinned, refused, unstamped, packets without unit; comparisons <, <=, =, >=, >";

/// Reads a comma-separated list such as `p99.9<100us,late=0,roof-lidar:max<=1ms`.
pub fn parse_list(text: &str) -> Result<Vec<Requirement>, String> {
    text.split(',').map(str::parse).collect()
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = |what: &str| format!("`{text}`: {what}; {ALLOWED}");
        let start = text.find(['<', '=', '>']).ok_or_else(|| wrong("no comparison"))?;
        let (left, rest) = text.split_at(start);
        let signs = [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
            ("=", Comparison::Equal),
        ];
        let (right, comparison) = signs
            .iter()
            .find_map(|(sign, comparison)| Some((rest.strip_prefix(sign)?, *comparison)))
            .ok_or_else(|| wrong("no comparison"))?;
        let (device, metric) = match left.rsplit_once(':') {
            Some((device, metric)) => (Some(device.trim().to_owned()), metric),
            None => (None, left),
        };
        let metric = metric.trim();
        let metric = Metric::parse(metric).ok_or_else(|| wrong("no such metric"))?;
        let limit = if metric.is_time() { micros(right) } else { number(right.trim()) };
        let limit = limit.ok_or_else(|| match metric.is_time() {
            true => wrong("the limit must be a time with a unit, such as 100us"),
            false => wrong("the limit must be a number"),
        })?;
        Ok(Self { device, metric, comparison, limit, text: text.to_owned() })
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)
}

/// Reads a time with its unit as microseconds; `None` if the unit is missing or unknown, or if the number is invalid or
/// negative.
fn micros(text: &str) -> Option<f64> {
    let text = text.trim();
    let units = [("ns", 1e-3), ("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];
    let (value, scale) =
        units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    Some(number(value.trim())? * scale)
}

impl Metric {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "max" => Self::Percentile(100.0),
            "mean" => Self::Mean,
            "drift" => Self::Drift,
            "late" => Self::Late,
            "dropped" => Self::Dropped,
            "thinned" => Self::Thinned,
            "refused" => Self::Refused,
            "unstamped" => Self::Unstamped,
            "packets" => Self::Packets,
            _ => {
                let share = number(text.strip_prefix('p')?)?;
                Some(share).filter(|s| *s <= 100.0).map(Self::Percentile)?
            }
        })
    }

    fn is_time(self) -> bool {
        matches!(self, Self::Percentile(_) | Self::Mean | Self::Drift)
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Drift => "us/s",
            Self::Percentile(_) | Self::Mean => "us",
            _ => "packets",
        }
    }

    fn of(self, device: &DeviceTiming) -> f64 {
        let evidence = device.evidence();
        match self {
            Self::Percentile(share) => evidence.quantile_us(share / 100.0),
            Self::Mean => evidence.mean_us.abs(),
            Self::Drift => evidence.drift_us_per_s.abs(),
            Self::Late => device.sent_late as f64,
            Self::Dropped => device.dropped as f64,
            Self::Thinned => device.thinned as f64,
            Self::Refused => device.refused as f64,
            Self::Unstamped => device.unstamped as f64,
            Self::Packets => device.packets as f64,
        }
    }
}

impl Requirement {
    /// Name of the only device that the requirement covers; `None` if it covers all devices.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Returns a verdict for each device that the requirement covers; if there is none, a single verdict that fails. A
    /// device that sent nothing fails, with one exception: a requirement on `packets` counts 0 packets for a device
    /// that had nothing to send. A requirement on a time also fails if the timing of packets was not recorded.
    pub fn judge(&self, devices: &[DeviceTiming]) -> Vec<Verdict> {
        let is_meant = |device: &&DeviceTiming| match &self.device {
            Some(name) => device.name == *name,
            // Devices without any packet are exempt, such as a scanner that its host has not started.
            None => device.packets + device.dropped + device.refused > 0,
        };
        let verdicts: Vec<_> =
            devices.iter().filter(is_meant).map(|device| self.judge_one(device)).collect();
        if verdicts.is_empty() {
            return vec![self.verdict(String::new(), 0.0, Err("no such device has sent anything"))];
        }
        verdicts
    }

    fn judge_one(&self, device: &DeviceTiming) -> Verdict {
        let measured = self.metric.of(device);
        let is_count_of_none = self.metric == Metric::Packets && !device.sent_nothing();
        let is_met = match self.comparison {
            Comparison::Less => measured < self.limit,
            Comparison::LessOrEqual => measured <= self.limit,
            Comparison::Equal => measured == self.limit,
            Comparison::GreaterOrEqual => measured >= self.limit,
            Comparison::Greater => measured > self.limit,
        };
        let verdict = if device.packets == 0 && !is_count_of_none {
            Err("it has sent nothing")
        } else if self.metric.is_time() && device.unrecorded > 0 {
            Err("not all of its packets were recorded")
        } else if self.metric.is_time() && device.evidence().count == 0 {
            Err("none of its packets was recorded")
        } else {
            Ok(is_met)
        };
        let count = device.evidence().count;
        let is_few = matches!(self.metric, Metric::Percentile(share)
            if share < 100.0 && is_maximum(share / 100.0, count));
        let verdict = self.verdict(device.name.clone(), measured, verdict);
        Verdict { maximum_of: is_few.then_some(count), ..verdict }
    }

    fn verdict(
        &self,
        device: String,
        measured: f64,
        is_met: Result<bool, &'static str>,
    ) -> Verdict {
        Verdict {
            requirement: self.text.clone(),
            device,
            measured,
            unit: self.metric.unit().to_owned(),
            maximum_of: None,
            is_met: is_met.unwrap_or(false),
            why: is_met.err().map(str::to_owned),
        }
    }
}

impl Verdict {
    /// Measured value with its unit: a time in a suitable unit, rounded to six digits or a nanosecond; other values
    /// rounded to a thousandth. Without a value, the reason why none exists.
    pub fn measured_text(&self) -> String {
        match (&self.why, self.unit.as_str()) {
            (Some(why), _) => why.clone(),
            (None, "us") => match self.maximum_of {
                None => describe_us_to(self.measured, 6),
                Some(count) => {
                    format!("{}, the maximum of {count}", describe_us_to(self.measured, 6))
                }
            },
            (None, unit) => format!("{} {unit}", (self.measured * 1000.0).round() / 1000.0),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_met { "met" } else { "NOT MET" };
        let (required, device) = (&self.requirement, &self.device);
        match &self.why {
            Some(why) if device.is_empty() => write!(f, "{word}: {required}: {why}"),
            Some(why) => write!(f, "{word}: {required}: {device}: {why}"),
            None => write!(f, "{word}: {required}: {device} has {}", self.measured_text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SimTime;
    use crate::timing::ErrorRecord;

    fn device(name: &str, errors_us: &[i64]) -> DeviceTiming {
        let mut record = ErrorRecord::default();
        for (n, error) in errors_us.iter().enumerate() {
            record.record(n as u64, SimTime(n as u64 * 1_000_000), error * 1000);
        }
        DeviceTiming {
            name: name.into(),
            profile: "p".into(),
            link: "udp".into(),
            packets: errors_us.len() as u64,
            ports: Vec::new(),
            bytes: 0,
            nominal_rate_hz: 1000.0,
            sent_late: 1,
            dropped: 0,
            thinned: 0,
            behind_s: 0.0,
            refused: 0,
            refused_because: Vec::new(),
            unrecorded: 0,
            stamps: "kernel".into(),
            stamped_by_card: 0,
            by_standby: 0,
            lead_us: 0.0,
            card_comparison_us: 0.0,
            unstamped: 0,
            handed: ErrorRecord::default().figures(),
            departed: record.figures(),
            in_kernel: ErrorRecord::default().figures(),
            order_to_wire_us: None,
            ptp: None,
        }
    }

    fn verdicts(text: &str, devices: &[DeviceTiming]) -> Vec<bool> {
        let all = parse_list(text).unwrap();
        all.iter().flat_map(|r| r.judge(devices)).map(|verdict| verdict.is_met).collect()
    }

    #[test]
    fn verdicts_follow_the_figures() {
        let errors: Vec<i64> = (1..=1000).collect();
        let devices = [device("a", &errors), device("idle", &[])];
        assert_eq!(
            verdicts("p50<510us, p50<400us,max<=1ms,max<1ms", &devices),
            [true, false, true, false]
        );
        assert_eq!(
            verdicts("late=0,late<=1,packets=1000,dropped=0", &devices),
            [false, true, true, true]
        );
        assert_eq!(verdicts("a:p99<1ms,idle:p99<1s,nobody:late=0", &devices), [true, false, false]);
        assert_eq!(verdicts("p99<1s", &devices[1..]), [false]);
        let unrecorded = DeviceTiming { unrecorded: 1, ..device("a", &errors) };
        assert_eq!(verdicts("p50<1s", &[unrecorded]), [false]);
        let verdict = &parse_list("p50<400us").unwrap()[0].judge(&devices)[0];
        assert_eq!(verdict.to_string(), "NOT MET: p50<400us: a has 500.223 us");
        let few = [device("a", &[1; 72])];
        let verdict = &parse_list("p99.9<400us").unwrap()[0].judge(&few)[0];
        assert_eq!(verdict.to_string(), "met: p99.9<400us: a has 1 us, the maximum of 72");
        let verdict = &parse_list("max<400us").unwrap()[0].judge(&few)[0];
        assert_eq!(verdict.to_string(), "met: max<400us: a has 1 us");
    }

    #[test]
    fn a_device_that_sent_nothing_meets_nothing() {
        let all = "late<=1,dropped=0,thinned=0,refused<=9,unstamped=0,packets<=9,max<1s,drift<1ms";
        let refused = DeviceTiming { refused: 3, ..device("a", &[]) };
        let dropped = DeviceTiming { dropped: 3, ..device("a", &[]) };
        for silent in [refused, dropped] {
            assert_eq!(verdicts(all, &[silent]), [false; 8]);
        }
        // A scanner without any request from a host.
        let idle = [device("idle", &[]), device("a", &[1, 2])];
        assert_eq!(verdicts("idle:packets=0,idle:packets>0", &idle), [true, false]);
        assert_eq!(verdicts("idle:late<=1,idle:max<1s", &idle), [false, false]);
        assert_eq!(verdicts("late<=1,max<1s,packets=2", &idle), [true, true, true]);
        let verdict = &parse_list("idle:late<=1").unwrap()[0].judge(&idle)[0];
        assert_eq!(verdict.to_string(), "NOT MET: idle:late<=1: idle: it has sent nothing");
        let slow = &parse_list("max<1us").unwrap()[0].judge(&[device("a", &[19_578])])[0];
        assert_eq!(slow.to_string(), "NOT MET: max<1us: a has 19.578 ms");
    }

    #[test]
    fn what_cannot_be_required_is_told() {
        for (text, what) in [
            ("p99.9", "no comparison"),
            ("p101<1us", "no such metric"),
            ("jitter<1us", "no such metric"),
            ("p99<100", "a time with a unit"),
            ("late=0us", "the limit must be a number"),
            ("late=-1", "the limit must be a number"),
            ("max<nanus", "a time with a unit"),
            ("", "no comparison"),
            ("late=0,", "no comparison"),
        ] {
            let told = parse_list(text).unwrap_err();
            assert!(told.contains(what) && told.contains("allowed: "), "{text}: {told}");
        }
    }
}
