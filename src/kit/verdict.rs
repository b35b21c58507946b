//! Verdicts of cases, with what they rest on.

use std::time::Duration;

/// Verdict of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The driver did what was expected.
    Passed,
    /// The case failed.
    Failed,
    /// The case cannot be made, or not be judged, here; the reason.
    NotApplicable(String),
    /// The bench failed, not the driver; what happened.
    BenchFailed(String),
}

impl Verdict {
    /// Whether the run as a whole may still pass.
    pub fn is_fine(&self) -> bool {
        matches!(self, Self::Passed | Self::NotApplicable(_))
    }

    /// In a word or two.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotApplicable(_) => "not applicable",
            Self::BenchFailed(_) => "bench failed",
        }
    }
}

/// One thing that was not as expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Complaint {
    /// The expectation.
    pub expected: String,
    /// The finding instead, with figures.
    pub found: String,
    /// Around when, seconds of the case.
    pub at_s: Option<f64>,
    /// Whether it is about what the driver told, and not about when: a machine that is slow makes drivers late, and
    /// sometimes, by packets that are lost, wrong.
    pub is_about_values: bool,
}

/// A case that was run, or could not be.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its name.
    pub case: String,
    /// Its suite.
    pub suite: String,
    /// Events of the case.
    pub title: String,
    /// Behaviour of real units.
    pub real: String,
    /// Behaviour of a good driver.
    pub good: String,
    /// Verdict of the case.
    pub verdict: Verdict,
    /// Complaints.
    pub complaints: Vec<Complaint>,
    /// What should be known beside: expectations that could not be judged, a machine that was busy.
    pub notes: Vec<String>,
    /// Packets, faults and lines around what was wrong.
    pub evidence: String,
    /// The command that gives the same bytes again.
    pub repeat: String,
    /// Duration of the run.
    pub took: Duration,
}

impl Outcome {
    /// Why it is not applicable, what the bench says, or the first complaint; a line.
    pub fn reason(&self) -> String {
        match &self.verdict {
            Verdict::Passed => String::new(),
            Verdict::NotApplicable(reason) | Verdict::BenchFailed(reason) => {
                reason.lines().next().unwrap_or_default().to_owned()
            }
            Verdict::Failed => self.reason_of_complaints(),
        }
    }

    /// The first complaint, a line.
    pub fn reason_of_complaints(&self) -> String {
        match self.complaints.first() {
            Some(first) => format!("expected: {}; found: {}", first.expected, first.found),
            None => String::new(),
        }
    }
}
