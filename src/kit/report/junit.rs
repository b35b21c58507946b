//! Writes JUnit XML for CI services.

use std::fmt::Write;

use super::{Counts, Subject, account, escape};
use crate::kit::verdict::{Outcome, Verdict};

/// The content of the JUnit file.
pub fn junit(subject: &Subject, outcomes: &[Outcome]) -> String {
    let counts = Counts::of(outcomes);
    let figures = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\"",
        outcomes.len(),
        counts.failed,
        counts.bench_failed,
        subject.took_s
    );
    // The Jenkins schema allows `skipped` on `testsuite` only, not on `testsuites`.
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"menura test\" {figures}>\n\
         <testsuite name=\"{}\" {figures} skipped=\"{}\" timestamp=\"{}\">\n<properties>\n",
        escape(&subject.suite),
        counts.not_applicable,
        subject.begun.strftime("%Y-%m-%dT%H:%M:%S"),
    );
    for (name, value) in [
        ("menura", env!("CARGO_PKG_VERSION")),
        ("rig", &subject.rig),
        ("device", &subject.device),
        ("command", &subject.command),
    ] {
        let _ = writeln!(text, "<property name=\"{name}\" value=\"{}\"/>", escape(value));
    }
    text += "</properties>\n";
    for outcome in outcomes {
        case(outcome, &mut text);
    }
    text + "</testsuite>\n</testsuites>\n"
}

fn case(outcome: &Outcome, text: &mut String) {
    let _ = write!(
        text,
        "<testcase name=\"{}\" classname=\"menura.{}\" time=\"{:.3}\">",
        escape(&outcome.case),
        escape(&outcome.suite),
        outcome.took.as_secs_f64()
    );
    let reason = escape(&outcome.reason());
    let _ = match &outcome.verdict {
        Verdict::Passed => Ok(()),
        Verdict::Failed => write!(
            text,
            "\n<failure message=\"{reason}\" type=\"expectation\">{}</failure>\n",
            escape(&account(outcome))
        ),
        Verdict::NotApplicable(_) => write!(text, "\n<skipped message=\"{reason}\"/>\n"),
        Verdict::BenchFailed(what) => {
            write!(text, "\n<error message=\"{reason}\" type=\"bench\">{}</error>\n", escape(what))
        }
    };
    if outcome.verdict == Verdict::Passed && !outcome.notes.is_empty() {
        let notes = escape(&outcome.notes.join("\n"));
        let _ = write!(text, "\n<system-out>{notes}</system-out>\n");
    }
    text.push_str("</testcase>\n");
}

#[cfg(test)]
mod tests {
    use super::super::tests::{outcome, subject};
    use super::*;

    #[test]
    fn any_reader_of_xml_reads_it() {
        let outcomes = [
            outcome("a", Verdict::Passed),
            outcome("b", Verdict::Failed),
            outcome("c", Verdict::NotApplicable("\"it\" is for <others>".into())),
            outcome("d", Verdict::BenchFailed("no\nport".into())),
        ];
        let text = junit(&subject(), &outcomes);
        let events: Result<Vec<_>, _> = xml::EventReader::from_str(&text).into_iter().collect();
        let names: Vec<String> = events
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
            .into_iter()
            .filter_map(|event| match event {
                xml::reader::XmlEvent::StartElement { name, attributes, .. } => {
                    let named = attributes.iter().find(|a| a.name.local_name == "name");
                    Some(match named {
                        Some(a) => format!("{}={}", name.local_name, a.value),
                        None => name.local_name,
                    })
                }
                _ => None,
            })
            .collect();
        assert_eq!(
            names[7..],
            [
                "testcase=a",
                "system-out",
                "testcase=b",
                "failure",
                "testcase=c",
                "skipped",
                "testcase=d",
                "error"
            ]
        );
        let figures = "tests=\"4\" failures=\"1\" errors=\"1\" time=\"4.250\"";
        assert!(text.contains(&format!("<testsuites name=\"menura test\" {figures}>")), "{text}");
        let of_suite = format!("<testsuite name=\"lidar\" {figures} skipped=\"1\" timestamp=");
        assert!(text.contains(&of_suite), "{text}");
        assert!(text.contains("packet 3: 00 ]]&gt;"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
}
