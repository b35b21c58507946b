//! Checks in Python: a function receives the driver's reports and the ground truth, and returns complaints.

use std::time::Duration;

use serde_json::{Value, json};

use crate::kit::adapter::PythonJudge;
use crate::kit::case::Case;
use crate::kit::judge::CaseRecord;
use crate::kit::listener::answer;

/// Longest run time of the function.
const PATIENCE: Duration = Duration::from_secs(60);
/// Prefix of the output line with the complaints of the user's function; other output is ignored.
const MARK: &str = "menura-judge:";
/// Number of complaints that are shown.
const MOST_COMPLAINTS: usize = 10;
/// Number of equal time steps into which a case is divided: the function receives the ground truth at the start and
/// after each step.
const TRUTH_SAMPLES: usize = 1000;

/// Python program that loads the user's function, calls it with the input and prints the complaints that it returns.
const PROGRAM: &str = "\
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location('judge', sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
found = getattr(module, sys.argv[2])(json.load(sys.stdin)) or []
print('\\nmenura-judge:' + json.dumps([str(one) for one in ([found] if isinstance(found, str) else found)]))
";

/// Calls the Python function of `judge`; returns its complaints.
///
/// # Errors
/// Python cannot be started, or the function fails.
pub fn judge(
    judge: &PythonJudge,
    case: &Case,
    record: &CaseRecord<'_>,
) -> Result<Vec<String>, String> {
    let input = input(case, record).to_string();
    let file = judge.file.display().to_string();
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let command = [&python, "-c", PROGRAM, &file, &judge.function].map(str::to_owned);
    let (is_done, said) = answer(&command, PATIENCE, Some(&input))
        .map_err(|error| format!("cannot run {python}: {error}"))?;
    let found = said.lines().find_map(|line| line.strip_prefix(MARK));
    match found.and_then(|found| serde_json::from_str::<Vec<String>>(found).ok()) {
        Some(mut found) if is_done => {
            let more = found.len().saturating_sub(MOST_COMPLAINTS);
            found.truncate(MOST_COMPLAINTS);
            if more > 0 {
                found.push(format!("and {more} more"));
            }
            Ok(found)
        }
        _ => Err(format!("`{}` of {file} failed: {}", judge.function, said.trim())),
    }
}

/// Input of the Python function as JSON: observations, output lines and ground truth of a case.
fn input(case: &Case, record: &CaseRecord<'_>) -> Value {
    let seen = record.observations.iter().map(|seen| {
        let mut fields = seen.fields.clone();
        if seen.has_points {
            fields.insert("points".into(), json!(seen.points));
        }
        json!({
            "t_s": record.seconds(seen.at),
            "event": seen.event,
            "fields": fields,
        })
    });
    let lines = record
        .lines
        .iter()
        .map(|line| json!({ "t_s": record.seconds(line.at), "text": line.text }));
    let step_s = case.lasts_s / TRUTH_SAMPLES as f64;
    let settled = record.switched_on.first().map_or(0.0, |on| -record.seconds(*on));
    let truth = record
        .truth
        .samples((0..=TRUTH_SAMPLES).map(|n| n as f64 * step_s).map(|t| (t, settled + t)));
    json!({
        "case": case.name,
        "lasts_s": case.lasts_s,
        "observations": seen.collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
        "truth": truth,
    })
}
