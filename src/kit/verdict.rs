//! Verdicts of test cases, with their evidence.

use std::time::Duration;

/// Verdict of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The driver met all expectations.
    Passed,
    /// The driver did not meet an expectation.
    Failed,
    /// Skipped: the case cannot be run or judged here. The text is the reason.
    NotApplicable(String),
    /// Inconclusive: the test bench failed, not the driver. The text is the reason.
    BenchFailed(String),
}

impl Verdict {
    /// Whether the verdict lets the whole run pass.
    pub fn is_fine(&self) -> bool {
        matches!(self, Self::Passed | Self::NotApplicable(_))
    }

    /// The verdict in one or two words.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotApplicable(_) => "not applicable",
            Self::BenchFailed(_) => "bench failed",
        }
    }
}

/// One expectation that was not met.
#[derive(Clone, Debug, PartialEq)]
pub struct Complaint {
    /// Text of the expectation.
    pub expected: String,
    /// Text of the actual result, with figures.
    pub found: String,
    /// Approximate time, seconds after the start of the case; `None` if the complaint has no particular time.
    pub at_s: Option<f64>,
    /// Whether the complaint concerns values, not times. A slow machine causes late reports, and wrong values only if
    /// it happens to lose packets.
    pub is_about_values: bool,
}

/// Result of a case that was run or skipped.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the case.
    pub case: String,
    /// Suite of the case.
    pub suite: String,
    /// Short description of the case.
    pub title: String,
    /// Behaviour of real units.
    pub real: String,
    /// Behaviour of a good driver.
    pub good: String,
    /// Verdict of the case.
    pub verdict: Verdict,
    /// Expectations that were not met.
    pub complaints: Vec<Complaint>,
    /// Further remarks, such as expectations that could not be checked, or a busy machine.
    pub notes: Vec<String>,
    /// Packets, faults and output lines around the failure.
    pub evidence: String,
    /// Shell commands that reproduce the same bytes; empty if the files of the case are not kept.
    pub repeat: String,
    /// Duration of the run.
    pub took: Duration,
}

impl Outcome {
    /// One line: the reason for skipping, the error of the bench, or the first complaint; empty if the case passed.
    pub fn reason(&self) -> String {
        match &self.verdict {
            Verdict::Passed => String::new(),
            Verdict::NotApplicable(reason) | Verdict::BenchFailed(reason) => {
                reason.lines().next().unwrap_or_default().to_owned()
            }
            Verdict::Failed => self.reason_of_complaints(),
        }
    }

    /// The first complaint, on one line; empty without complaints.
    pub fn reason_of_complaints(&self) -> String {
        match self.complaints.first() {
            Some(first) => format!("expected: {}; found: {}", first.expected, first.found),
            None => String::new(),
        }
    }
}
