//! All experiments on one HTML page without external files.

use std::fmt::Write;

use super::experiments::Experiment;
use super::page::page;
use crate::plot::escape;
use crate::validation::{Comparison, ExperimentError, Findings};

/// CSS of the page: wide tables of text, and figures that are not split between printed pages.
const STYLE: &str = "body{max-width:1000px}td,th,td:first-child{text-align:left}\
table.comparisons{width:100%;table-layout:fixed}table.comparisons td{padding:3px 12px 3px 0;\
border-bottom:1px solid #e2e5e9}th.v{width:84px}pre{font-size:11px;overflow-x:auto;\
background:#f6f7f8;padding:8px}summary{cursor:pointer;color:#1f6fb4}a{color:#1f6fb4}\
svg,tr{break-inside:avoid}h2,h3{break-after:avoid}@media print{body{margin:0;max-width:none}\
pre{white-space:pre-wrap}summary{display:none}}";

/// An experiment with its findings, or its error.
pub type Outcome = (&'static Experiment, Result<Findings, ExperimentError>);

/// The HTML page; `short` states that only the short forms were run.
pub fn validation_page(outcomes: &[Outcome], short: bool) -> String {
    let mut body = String::from("<h1>Experiments</h1>\n");
    let form = if short {
        "Short form of each experiment: it takes seconds and has wider tolerances."
    } else {
        "Full form of each experiment."
    };
    let _ = writeln!(
        body,
        "<p>Results of Menura {} compared with papers and data sheets. {form}</p>\n\
         <table><tr><th>experiment</th><th class=\"v\"></th><th>verdict</th></tr>",
        env!("CARGO_PKG_VERSION")
    );
    for (experiment, outcome) in outcomes {
        let (class, word, line) = match outcome.as_ref().map(Findings::verdict) {
            Ok(verdict) if verdict.judged == 0 => ("note", "reported", verdict.line),
            Ok(verdict) if verdict.holds => ("met", "holds", verdict.line),
            Ok(verdict) => ("unmet", "does not hold", verdict.line),
            Err(error) => ("unmet", "failed", error.to_string()),
        };
        let _ = writeln!(
            body,
            "<tr><td><a href=\"#{name}\">{name}</a></td><td class=\"{class}\">{word}</td>\
             <td>{}</td></tr>",
            escape(&line),
            name = experiment.name,
        );
    }
    body.push_str("</table>\n");
    for (experiment, outcome) in outcomes {
        section(experiment, outcome.as_ref(), &mut body);
    }
    page("Menura: experiments", STYLE, &body)
}

fn section(
    experiment: &Experiment,
    outcome: Result<&Findings, &ExperimentError>,
    body: &mut String,
) {
    let _ = writeln!(
        body,
        "<h2 id=\"{name}\">{name}</h2>\n<p>{}.</p>",
        escape(experiment.about),
        name = experiment.name,
    );
    let findings = match outcome {
        Ok(findings) => findings,
        Err(error) => {
            let _ = writeln!(body, "<p class=\"unmet\">{}</p>", escape(&error.to_string()));
            return;
        }
    };
    body.push_str(
        "<table class=\"comparisons\"><tr><th>compared</th><th>expected</th><th>Menura</th>\
         <th>tolerance and its reason</th><th class=\"v\"></th></tr>\n",
    );
    findings.comparisons.iter().for_each(|comparison| row(comparison, body));
    body.push_str("</table>\n");
    for plot in &findings.plots {
        body.push_str(&plot.figure.svg());
    }
    let _ = writeln!(
        body,
        "<details><summary>all numbers (and {}.json)</summary><pre>{}</pre></details>",
        experiment.name,
        escape(findings.text.trim_end()),
    );
}

fn row(comparison: &Comparison, body: &mut String) {
    let class = match comparison.holds {
        Some(true) => "met",
        Some(false) => "unmet",
        None => "note",
    };
    let _ = writeln!(
        body,
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{}</td></tr>",
        escape(&comparison.what),
        escape(&comparison.paper),
        escape(&comparison.ours),
        escape(&comparison.tolerance),
        comparison.word(),
    );
}
