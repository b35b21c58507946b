//! Results of an experiment, and the verdict.

use serde_json::{Map, Value, json};

use crate::plot::Figure;

/// Findings of an experiment.
pub struct Findings {
    /// Tables as text.
    pub text: String,
    /// The results as a JSON object.
    pub report: Value,
    /// The results as figures, the most important first.
    pub plots: Vec<Plot>,
    /// Comparisons of results with expected values; the verdict follows from these comparisons.
    pub comparisons: Vec<Comparison>,
}

/// A figure with its name.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Suffix of the file name, which distinguishes the experiment's figures; empty for the first.
    pub stem: &'static str,
    /// Content of the figure; the caller draws it as SVG or PNG.
    pub figure: Figure,
}

impl Plot {
    /// The experiment's main figure.
    pub fn main(figure: Figure) -> Self {
        Self { stem: "", figure }
    }

    /// A further figure of the experiment.
    pub fn further(stem: &'static str, figure: Figure) -> Self {
        Self { stem, figure }
    }
}

/// One number, or one group of numbers, compared with the expected value.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Subject of the comparison, without a full stop.
    pub what: String,
    /// Value from the paper, the data sheet or the equation, with its unit; empty if none is printed.
    pub paper: String,
    /// Menura's result, with its unit.
    pub ours: String,
    /// Tolerance, with its reason.
    pub tolerance: String,
    /// Whether the difference is within the tolerance; `None` if the value is only reported.
    pub holds: Option<bool>,
}

impl Comparison {
    /// A comparison with a tolerance.
    pub fn judged(
        what: impl Into<String>,
        paper: impl Into<String>,
        ours: impl Into<String>,
        tolerance: impl Into<String>,
        holds: bool,
    ) -> Self {
        let tolerance = tolerance.into();
        Self {
            what: what.into(),
            paper: paper.into(),
            ours: ours.into(),
            tolerance,
            holds: Some(holds),
        }
    }

    /// A comparison without a tolerance; `why` is the reason.
    pub fn reported(
        what: impl Into<String>,
        paper: impl Into<String>,
        ours: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            paper: paper.into(),
            ours: ours.into(),
            tolerance: why.into(),
            holds: None,
        }
    }

    /// Word for the result: `holds`, `does not hold` or `reported`.
    pub fn word(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "reported",
        }
    }

    /// One line of text with the word for the result, the subject, Menura's result, the expected value and the
    /// tolerance.
    pub fn line(&self) -> String {
        let mut line = format!("{:13}  {}: {}", self.word(), self.what, self.ours);
        if !self.paper.is_empty() {
            line += &format!(", expected {}", self.paper);
        }
        if !self.tolerance.is_empty() {
            line += &format!(" ({})", self.tolerance);
        }
        line
    }

    fn json(&self) -> Value {
        json!({ "what": self.what, "paper": self.paper, "ours": self.ours,
                "tolerance": self.tolerance, "holds": self.holds })
    }
}

/// Verdict of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Number of comparisons with a tolerance.
    pub judged: usize,
    /// Whether all comparisons with a tolerance hold.
    pub holds: bool,
    /// One line with the verdict.
    pub line: String,
}

impl Verdict {
    /// Verdict of `comparisons`.
    pub fn of(comparisons: &[Comparison]) -> Self {
        let judged = comparisons.iter().filter(|c| c.holds.is_some()).count();
        let broken: Vec<&str> =
            comparisons.iter().filter(|c| c.holds == Some(false)).map(|c| &*c.what).collect();
        let line = match (judged, comparisons) {
            (0, []) => "nothing is judged".to_owned(),
            (0, [first, ..]) => format!("nothing is judged; {}: {}", first.what, first.ours),
            (1, _) if broken.is_empty() => "the comparison holds".to_owned(),
            (n, _) if broken.is_empty() => format!("all {n} comparisons hold"),
            (n, _) => {
                let verb = if broken.len() == 1 { "does" } else { "do" };
                format!("{} of {n} {verb} not hold: {}", broken.len(), broken.join("; "))
            }
        };
        Self { judged, holds: broken.is_empty(), line }
    }
}

impl Findings {
    /// Verdict of all comparisons.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.comparisons)
    }

    /// The findings as JSON: the report with `comparisons`, `holds` and `verdict`.
    pub fn json(&self) -> Value {
        let mut all = match &self.report {
            Value::Object(report) => report.clone(),
            other => Map::from_iter([("report".to_owned(), other.clone())]),
        };
        let verdict = self.verdict();
        let comparisons = self.comparisons.iter().map(Comparison::json).collect::<Vec<_>>();
        all.insert("comparisons".into(), comparisons.into());
        all.insert("holds".into(), verdict.holds.into());
        all.insert("verdict".into(), verdict.line.into());
        Value::Object(all)
    }

    /// The findings as text: the tables, and one line for each comparison.
    pub fn tables(&self) -> String {
        let mut text = self.text.trim_end().to_owned();
        text += "\n\n";
        for comparison in &self.comparisons {
            text += &comparison.line();
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_does_not_hold_is_named_and_what_is_reported_does_not_count() {
        let near = Comparison::judged("mean", "2 m", "2.01 m", "1 %: 20,000 pulses", true);
        let far = Comparison::judged("mode", "1 m", "2 m", "1 %", false);
        let seen = Comparison::reported("edge", "", "1.7 m", "not printed");
        let verdict = Verdict::of(&[near.clone(), seen.clone()]);
        assert_eq!(
            verdict,
            Verdict { judged: 1, holds: true, line: "the comparison holds".into() }
        );
        let verdict = Verdict::of(&[near.clone(), far.clone(), seen.clone()]);
        assert_eq!(
            verdict,
            Verdict { judged: 2, holds: false, line: "1 of 2 does not hold: mode".into() }
        );
        let verdict = Verdict::of(std::slice::from_ref(&seen));
        assert_eq!((verdict.holds, &*verdict.line), (true, "nothing is judged; edge: 1.7 m"));
        assert_eq!(near.line(), "holds          mean: 2.01 m, expected 2 m (1 %: 20,000 pulses)");
        let findings = Findings {
            text: "table\n".into(),
            report: json!({ "seed": 1 }),
            plots: Vec::new(),
            comparisons: vec![near, far],
        };
        let json = findings.json();
        assert_eq!((&json["seed"], &json["holds"]), (&json!(1), &json!(false)));
        assert_eq!(json["comparisons"][1]["holds"], false);
        assert!(findings.tables().starts_with("table\n\nholds "), "{}", findings.tables());
    }
}
