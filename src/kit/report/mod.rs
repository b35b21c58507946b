//! Reports of verdicts: JUnit XML and an HTML page.

pub mod html;
pub mod junit;

use crate::kit::verdict::{Outcome, Verdict};

/// Facts about a test run, for its reports.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Name of the suite.
    pub suite: String,
    /// Name of the rig.
    pub rig: String,
    /// Device under test, with its profile.
    pub device: String,
    /// The command that starts the driver.
    pub command: String,
    /// Time at which the cases started.
    pub begun: jiff::Timestamp,
    /// Duration of all cases, seconds.
    pub took_s: f64,
}

/// Number of cases for each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of passed cases.
    pub passed: usize,
    /// Number of failed cases.
    pub failed: usize,
    /// Number of skipped cases.
    pub not_applicable: usize,
    /// Number of inconclusive cases, in which the bench failed.
    pub bench_failed: usize,
}

impl Counts {
    /// Counts the verdicts of `outcomes`.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            *match outcome.verdict {
                Verdict::Passed => &mut counts.passed,
                Verdict::Failed => &mut counts.failed,
                Verdict::NotApplicable(_) => &mut counts.not_applicable,
                Verdict::BenchFailed(_) => &mut counts.bench_failed,
            } += 1;
        }
        counts
    }

    /// The counts as a line of text.
    pub fn line(&self) -> String {
        let mut parts = vec![format!("{} passed", self.passed), format!("{} failed", self.failed)];
        if self.not_applicable > 0 {
            parts.push(format!("{} not applicable", self.not_applicable));
        }
        if self.bench_failed > 0 {
            parts.push(format!("{} could not be run", self.bench_failed));
        }
        parts.join(", ")
    }
}

/// Escapes `text` for XML and HTML; omits characters that XML does not allow.
fn escape(text: &str) -> String {
    let is_allowed = |c: &char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars().filter(is_allowed) {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Plain text about the failure of a case, with the evidence.
pub fn account(outcome: &Outcome) -> String {
    let mut text = String::new();
    for complaint in &outcome.complaints {
        let at = complaint.at_s.map(|at_s| format!(" (at {at_s:.2} s)")).unwrap_or_default();
        text += &format!("expected: {}\nfound{at}: {}\n", complaint.expected, complaint.found);
    }
    text += &format!("a good driver: {}\nreal sensors: {}\n", outcome.good, outcome.real);
    for note in &outcome.notes {
        text += &format!("note: {note}\n");
    }
    if !outcome.evidence.is_empty() {
        text += &format!("\n{}", outcome.evidence);
    }
    if !outcome.repeat.is_empty() {
        text += &format!("\nto repeat with the same bytes:\n{}\n", outcome.repeat);
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::kit::verdict::Complaint;
    use std::time::Duration;

    pub fn subject() -> Subject {
        Subject {
            suite: "lidar".into(),
            rig: "vlp16.toml".into(),
            device: "lidar (velodyne-vlp16-3.0)".into(),
            command: "driver --port {udp_port} <&>".into(),
            begun: "2026-06-01T12:00:00Z".parse().unwrap(),
            took_s: 4.25,
        }
    }

    pub fn outcome(case: &str, verdict: Verdict) -> Outcome {
        let is_failed = verdict == Verdict::Failed;
        let complaint = Complaint {
            expected: "no gap > 0.5 s".into(),
            found: "2 s \u{1b}[31mwithout".into(),
            at_s: Some(1.5),
            is_about_values: false,
        };
        Outcome {
            case: case.into(),
            suite: "lidar".into(),
            title: "A <title>".into(),
            real: "they do".into(),
            good: "it goes on".into(),
            verdict,
            complaints: if is_failed { vec![complaint] } else { Vec::new() },
            notes: vec!["a & b".into()],
            evidence: if is_failed { "packet 3: 00 ]]>".into() } else { String::new() },
            repeat: String::new(),
            took: Duration::from_millis(1250),
        }
    }

    #[test]
    fn verdicts_are_counted() {
        let not = Verdict::NotApplicable("it is for others".into());
        let outcomes =
            [outcome("a", Verdict::Passed), outcome("b", Verdict::Failed), outcome("c", not)];
        assert_eq!(Counts::of(&outcomes).line(), "1 passed, 1 failed, 1 not applicable");
        assert!(
            account(&outcomes[1]).starts_with("expected: no gap > 0.5 s\nfound (at 1.50 s): 2 s")
        );
    }
}
