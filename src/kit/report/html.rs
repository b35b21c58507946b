//! Writes an HTML page without external files, in light and dark colours.

use std::fmt::Write;

use super::{Counts, Subject, escape};
use crate::kit::verdict::{Outcome, Verdict};

const STYLE: &str = ":root{color-scheme:light dark;--text:#1c2127;--page:#fff;--dim:#59626c;--line:#d5dae0;\
--box:#f4f6f8;--good:#1a7f37;--bad:#b3202a;--link:#1f6fb4}\
@media(prefers-color-scheme:dark){:root{--text:#e4e8ec;--page:#14181c;--dim:#9aa5b0;--line:#343c45;\
--box:#1d2329;--good:#56c271;--bad:#ff7b7b;--link:#74b7f0}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--page);max-width:980px;margin:24px auto;\
padding:0 14px}h1{font-size:22px;margin:0 0 6px}h2{font-size:16px;margin:26px 0 4px}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:4px 12px 4px 0;vertical-align:top;\
border-bottom:1px solid var(--line)}th{font-weight:600}td.v,td:first-child{white-space:nowrap}.passed{color:var(--good)}\
.failed,.bench{color:var(--bad);font-weight:600}.not{color:var(--dim)}.dim{color:var(--dim)}a{color:var(--link)}\
pre{background:var(--box);padding:8px;font-size:12px;overflow-x:auto}section{border-top:2px solid var(--line);\
margin-top:22px}code{word-break:break-all}\
input[name=show]{margin:10px 4px 6px 0}label{margin-right:16px}#bad:checked~table tr.fine,#bad:checked~section.fine,\
#run:checked~table tr.not,#run:checked~section.not{display:none}\
@media print{pre{white-space:pre-wrap}tr,section{break-inside:avoid}}";

/// Radio buttons that filter the cases by style sheets: the page has no scripts.
const FILTER: &str = "<input type=\"radio\" name=\"show\" id=\"all\" checked><label for=\"all\">all cases</label>\
<input type=\"radio\" name=\"show\" id=\"bad\"><label for=\"bad\">failures only</label>\
<input type=\"radio\" name=\"show\" id=\"run\"><label for=\"run\">without cases that are not applicable</label>\n";

/// Returns the HTML page about the `outcomes` of a driver test.
pub fn html(subject: &Subject, outcomes: &[Outcome]) -> String {
    let mut body = String::new();
    let _ = write!(
        body,
        "<h1>Driver test: {}</h1>\n<p><b>{}</b> in {:.0} s.</p>\n<p class=\"dim\">Driver: <code>{}</code><br>\
         Sensor: {} of {}<br>Menura {}, {}</p>\n{FILTER}<table><tr><th>case</th><th>verdict</th><th>what happens</th></tr>\n",
        escape(&subject.suite),
        Counts::of(outcomes).line(),
        subject.took_s,
        escape(&subject.command),
        escape(&subject.device),
        escape(&subject.rig),
        env!("CARGO_PKG_VERSION"),
        subject.begun.strftime("%Y-%m-%d %H:%M UTC"),
    );
    // Failed cases come first.
    let (bad, fine): (Vec<_>, Vec<_>) = outcomes.iter().partition(|o| !o.verdict.is_fine());
    let ordered: Vec<&Outcome> = bad.into_iter().chain(fine).collect();
    for outcome in &ordered {
        let _ = writeln!(
            body,
            "<tr class=\"{}\"><td><a href=\"#{case}\">{case}</a></td><td class=\"v {}\">{}</td><td>{}{}</td></tr>",
            shown(&outcome.verdict),
            class(&outcome.verdict),
            outcome.verdict.word(),
            escape(&outcome.title),
            match outcome.reason() {
                reason if reason.is_empty() => String::new(),
                reason => format!("<br><span class=\"dim\">{}</span>", escape(&reason)),
            },
            case = escape(&outcome.case),
        );
    }
    body += "</table>\n";
    ordered.into_iter().for_each(|outcome| section(outcome, &mut body));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Driver test: {}</title>\
         <style>{STYLE}</style></head><body>\n{body}</body></html>\n",
        escape(&subject.suite)
    )
}

fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::NotApplicable(_) => "not",
        Verdict::BenchFailed(_) => "bench",
    }
}

/// CSS class of a case, for the page's filter.
fn shown(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::NotApplicable(_) => "fine not",
        verdict if verdict.is_fine() => "fine",
        _ => "bad",
    }
}

fn section(outcome: &Outcome, body: &mut String) {
    let case = escape(&outcome.case);
    let _ = write!(
        body,
        "<section id=\"{case}\" class=\"{}\"><h2>{case}: <span class=\"{}\">{}</span></h2>\n<p>{}.</p>\n\
         <p class=\"dim\">Real sensors: {}<br>A good driver: {}</p>\n",
        shown(&outcome.verdict),
        class(&outcome.verdict),
        outcome.verdict.word(),
        escape(outcome.title.trim_end_matches('.')),
        escape(&outcome.real),
        escape(&outcome.good),
    );
    if let Verdict::NotApplicable(why) | Verdict::BenchFailed(why) = &outcome.verdict {
        let _ = writeln!(body, "<p>{}</p>", escape(why));
    }
    for complaint in &outcome.complaints {
        let at = complaint.at_s.map(|at_s| format!(" (at {at_s:.2} s)")).unwrap_or_default();
        let _ = writeln!(
            body,
            "<p>Expected: {}<br>Found{at}: <b>{}</b></p>",
            escape(&complaint.expected),
            escape(&complaint.found)
        );
    }
    for note in &outcome.notes {
        let _ = writeln!(body, "<p class=\"dim\">Note: {}</p>", escape(note));
    }
    for (head, text) in
        [("", &outcome.evidence), ("To repeat with the same bytes:", &outcome.repeat)]
    {
        if !text.is_empty() {
            let head = if head.is_empty() { String::new() } else { format!("<p>{head}</p>\n") };
            let _ = writeln!(body, "{head}<pre>{}</pre>", escape(text.trim_end()));
        }
    }
    body.push_str("</section>\n");
}

#[cfg(test)]
mod tests {
    use super::super::tests::{outcome, subject};
    use super::*;

    #[test]
    fn what_failed_comes_first_and_nothing_is_markup() {
        let none = Verdict::NotApplicable("it has none".into());
        let outcomes =
            [outcome("a", Verdict::Passed), outcome("b", Verdict::Failed), outcome("c", none)];
        let page = html(&subject(), &outcomes);
        assert!(page.find("id=\"b\"").unwrap() < page.find("id=\"a\"").unwrap());
        // The failed case comes first in the table as well, and the page has the filter for failures.
        assert!(page.find("href=\"#b\"").unwrap() < page.find("href=\"#a\"").unwrap());
        assert!(
            page.contains("<tr class=\"bad\"><td><a href=\"#b\"") && page.contains("id=\"bad\"")
        );
        assert!(page.contains("<section id=\"a\" class=\"fine\">"), "{page}");
        assert!(page.contains("<section id=\"c\" class=\"fine not\">"), "{page}");
        assert!(page.contains("A &lt;title&gt;.") && !page.contains("<title>."), "{page}");
        assert!(page.contains("prefers-color-scheme:dark"));
        assert!(!page.contains("http://") && !page.contains("https://"), "it needs nothing else");
    }
}
