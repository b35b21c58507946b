//! Expectations about the driver in a test case, as data.

use std::fmt;

use regex::Regex;

/// Name that stands for every event with sensor data.
pub const ANY: &str = "any";

/// One expectation, for a period of the case.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The check that must pass.
    pub check: Check,
    /// Start of the period, seconds after the start of the case.
    pub from_s: f64,
    /// End of the period, seconds after the start of the case (default: the end of the case).
    pub to_s: Option<f64>,
}

/// A check of the driver's reports. `of` is the name of an event: `points`, `fix`, `imu`, a user-defined name, or
/// [`ANY`].
#[derive(Clone, Debug)]
pub enum Check {
    /// Number of events per second.
    Rate {
        /// Name of the event.
        of: String,
        /// Lowest rate, Hz.
        at_least_hz: f64,
        /// Highest rate, Hz.
        at_most_hz: f64,
    },
    /// Longest time without an event; the start and the end of the period count as events.
    Gap {
        /// Name of the event.
        of: String,
        /// Longest permitted time, seconds.
        at_most_s: f64,
    },
    /// Number of events.
    Count {
        /// Name of the event.
        of: String,
        /// Smallest number that passes.
        at_least: u64,
        /// Largest number that passes.
        at_most: u64,
    },
    /// After the start of the period, events resume within a time limit. Later gaps are not longer than the limit
    /// either.
    Resumes {
        /// Name of the event.
        of: String,
        /// Time limit, seconds.
        within_s: f64,
    },
    /// Number of reported points per second.
    PointRate {
        /// Name of the event.
        of: String,
        /// Lowest rate, Hz.
        at_least_hz: f64,
        /// Highest rate, Hz.
        at_most_hz: f64,
    },
    /// A reported value is close to the ground truth.
    NearTruth {
        /// Name of the event.
        of: String,
        /// Allowed deviation.
        near: Nearness,
    },
    /// A field is within limits.
    Value {
        /// Name of the event.
        of: String,
        /// Name of the field.
        field: String,
        /// Smallest value that passes.
        least: f64,
        /// Largest value that passes.
        most: f64,
        /// Share of values that may be outside the limits, 0 to 1.
        share: f64,
    },
    /// Events do not have a certain field.
    TellsNot {
        /// Name of the event.
        of: String,
        /// Name of the field.
        field: String,
    },
    /// A field is a time. From one event to the next it advances by the time between their arrivals.
    Steady {
        /// Name of the event.
        of: String,
        /// Name of the field, which is in seconds.
        field: String,
        /// Tolerance of each advance, seconds.
        tolerance_s: f64,
    },
    /// A line of the driver's output matches this pattern.
    Says(Regex),
    /// No line of the driver's output matches this pattern.
    SaysNot(Regex),
    /// The driver's process still runs at the end of the case.
    Alive,
    /// The driver's memory stays within limits.
    Memory {
        /// Largest memory, MB.
        at_most_mb: f64,
        /// Largest growth during the period, MB.
        growth_mb: f64,
    },
}

/// Allowed deviation from the ground truth.
#[derive(Clone, Debug)]
pub struct Nearness {
    /// The compared quantity.
    pub quantity: Quantity,
    /// Largest permitted error, in the unit of the quantity.
    pub tolerance: f64,
    /// Share of values that may exceed the tolerance, 0 to 1.
    pub share: f64,
    /// Smallest number of values that must be compared; 0: no value is needed.
    pub at_least: u64,
    /// Expected delay of reported times behind the time of the run, seconds.
    pub behind_s: f64,
}

impl Check {
    /// Whether the check can fail only because of wrong values or too many reports, not because of late or too few
    /// reports.
    pub fn is_about_values(&self) -> bool {
        match self {
            Self::NearTruth { near, .. } => near.quantity != Quantity::Time,
            Self::Value { .. } | Self::TellsNot { .. } | Self::SaysNot(_) => true,
            // Without a lower limit, only too many events fail the check.
            Self::Count { at_least, .. } => *at_least == 0,
            Self::PointRate { at_least_hz, .. } | Self::Rate { at_least_hz, .. } => {
                *at_least_hz <= 0.0
            }
            _ => false,
        }
    }

    /// The pattern of output lines that the check is about, if it is about lines.
    pub fn pattern(&self) -> Option<&Regex> {
        match self {
            Self::Says(pattern) | Self::SaysNot(pattern) => Some(pattern),
            _ => None,
        }
    }
}

impl PartialEq for Expectation {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

words!(Quantity: "range" => Range, "position" => Position, "height" => Height, "altitude" => Altitude,
    "time" => Time, "force" => Force, "rate" => Rate, "usual" => Usual);

/// Quantities that can be compared with the ground truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Range of each point; the error is the difference from the range of the first surface in its direction, metres.
    Range,
    /// Latitude and longitude; the error is the horizontal distance in a straight line, metres.
    Position,
    /// Height above the ellipsoid, metres.
    Height,
    /// Height above mean sea level, metres.
    Altitude,
    /// Reported time as UTC, seconds.
    Time,
    /// Magnitude of the specific force, m/s².
    Force,
    /// Magnitude of the angular rate, rad/s.
    Rate,
    /// Range, position and force, as far as the event has them. Each error is divided by the [`Quantity::usual_error`]
    /// of the quantity.
    Usual,
}

impl Quantity {
    /// Unit of the error.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Range | Self::Position | Self::Height | Self::Altitude => "m",
            Self::Time => "s",
            Self::Force => "m/s2",
            Self::Rate => "rad/s",
            Self::Usual => "times the usual error",
        }
    }

    /// Names of the event's fields that hold the quantity.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Range => &["points"],
            Self::Position => &["lat_deg", "lon_deg"],
            Self::Height => &["height_m"],
            Self::Altitude => &["altitude_m"],
            Self::Time => &["stamp_s"],
            Self::Force => &["force_m_s2"],
            Self::Rate => &["rate_rad_s"],
            Self::Usual => &["points", "lat_deg", "force_m_s2"],
        }
    }

    /// Largest usual error of a working sensor, in the unit of [`Quantity::unit`].
    pub fn usual_error(self) -> f64 {
        match self {
            Self::Range => 0.3,
            Self::Position => 10.0,
            _ => 1.0,
        }
    }
}

/// Text of limits, such as `at least 3`; `any` without limits.
fn limits(least: f64, most: f64, unit: &str) -> String {
    match (least > f64::MIN, most < f64::MAX) {
        (true, true) => format!("{least} to {most}{unit}"),
        (true, false) => format!("at least {least}{unit}"),
        (false, true) => format!("at most {most}{unit}"),
        (false, false) => "any".into(),
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.check {
            Check::Rate { of, at_least_hz, at_most_hz } => {
                write!(f, "`{of}` comes at {}", limits(*at_least_hz, *at_most_hz, " Hz"))?;
            }
            Check::Gap { of, at_most_s } => {
                write!(f, "no gap longer than {at_most_s} s in `{of}`")?;
            }
            Check::Count { of, at_least: 0, at_most: 0 } => write!(f, "no `{of}`")?,
            Check::Count { of, at_least, at_most } => {
                let most = if *at_most == u64::MAX { f64::MAX } else { *at_most as f64 };
                write!(f, "`{of}` is reported {} times", limits(*at_least as f64, most, ""))?;
            }
            Check::Resumes { of, within_s } => write!(f, "`{of}` continues within {within_s} s")?,
            Check::PointRate { of, at_least_hz, at_most_hz } => {
                write!(
                    f,
                    "`{of}` has {} points per second",
                    limits(*at_least_hz, *at_most_hz, "")
                )?;
            }
            Check::NearTruth { of, near } => {
                let Nearness { quantity, tolerance, share, behind_s, .. } = near;
                let (word, unit) = (quantity.word(), quantity.unit());
                write!(f, "the {word} of `{of}` is within {tolerance} {unit} of the ground truth")?;
                if *behind_s != 0.0 {
                    write!(f, ", delayed by {behind_s} s")?;
                }
                if *share > 0.0 {
                    write!(f, ", except for {} %", share * 100.0)?;
                }
            }
            Check::Value { of, field, least, most, .. } => {
                write!(f, "`{field}` of `{of}` is {}", limits(*least, *most, ""))?;
            }
            Check::TellsNot { of, field } => write!(f, "`{of}` has no `{field}`")?,
            Check::Steady { of, field, tolerance_s } => {
                write!(f, "`{field}` of `{of}` advances as fast as time, within {tolerance_s} s")?;
            }
            Check::Says(pattern) => write!(f, "the driver prints `{pattern}`")?,
            Check::SaysNot(pattern) => write!(f, "the driver does not print `{pattern}`")?,
            Check::Alive => write!(f, "the driver is alive at the end")?,
            Check::Memory { at_most_mb, growth_mb } => {
                let most = limits(f64::MIN, *at_most_mb, " MB");
                write!(f, "the driver's memory is {most}")?;
                if *growth_mb < f64::MAX {
                    write!(f, " and grows by at most {growth_mb} MB")?;
                }
            }
        }
        match (self.from_s > 0.0, self.to_s) {
            (false, None) => Ok(()),
            (false, Some(to)) => write!(f, " (until {to} s)"),
            (true, None) => write!(f, " (from {} s on)", self.from_s),
            (true, Some(to)) => write!(f, " (from {} to {to} s)", self.from_s),
        }
    }
}
