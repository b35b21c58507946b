//! Reads suite files.

use std::sync::Arc;

use crate::config::toml::diagnostic::{Diagnostics, SourceFile};
use crate::config::toml::reader::{Faults, Field, Limit, TableReader, parse_toml};
use crate::kit::case::{Case, CaseFault, PowerCut};
use crate::kit::case_parts_read::{clock_step, fault, power_cut, stranger, web_post};
use crate::kit::expectation::{Check, Expectation, Nearness, Quantity};
use crate::kit::rig_source::RigSource;
use crate::kit::toml_fields::{FORMAT, optional_strings, pairs, pattern, seconds, tables};

/// Largest number of cases in a file.
const MAX_CASES: usize = 1000;
/// Largest number of faults in a case, and also of power cuts, of variants, and of each other kind of part.
const MAX_PARTS: usize = 100;

/// Content of a suite file.
#[derive(Clone, Debug, Default)]
pub(super) struct SuiteFile {
    pub summary: String,
    pub include: Vec<String>,
    pub rig: Option<String>,
    pub cases: Vec<Case>,
}

/// Reads a suite file.
///
/// # Errors
/// All errors in the file.
pub(super) fn suite(source: &Arc<SourceFile>) -> Result<SuiteFile, Diagnostics> {
    let faults = Faults::default();
    let read = parse_toml(source, &faults).map(|root| {
        let mut table = TableReader::root(root, "a suite", &faults);
        let stem = source.name.rsplit('/').next().unwrap_or_default().trim_end_matches(".toml");
        let text = |field: Field<'_>, expected: &str| field.text(expected).map(|text| text.value);
        let summary =
            text(table.required("summary"), "the purpose of the suite").unwrap_or_default();
        let include = optional_strings(&table.optional("include"), "names of suites");
        let rig = text(table.optional("rig"), "a rig's name or path");
        let cases = tables(&table.optional("case"), "case", MAX_CASES, |table| case(table, stem));
        let cases: Vec<_> = cases.into_iter().flatten().collect();
        let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let title = format!("two cases are named \"{}\"", pair[0]);
            table.fault(table.place().fault(title, "in this file"));
        }
        table.finish();
        SuiteFile { summary, include, rig, cases }
    });
    match (read, faults.into_inner()) {
        (Some(file), faults) if faults.is_empty() => Ok(file),
        (_, faults) => Err(faults),
    }
}

/// Reads a name of a case or suite.
fn name(field: &Field<'_>) -> Option<String> {
    let expected = "1 to 64 of a-z, 0-9 and -";
    let text = field.text(expected)?;
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.value.is_empty() || text.value.len() > 64 || !text.value.chars().all(is_fine) {
        let title = format!("\"{}\" cannot be a case's name", text.value);
        field.fault(text.place.fault(title, format!("allowed: {expected}")));
        return None;
    }
    Some(text.value)
}

/// Reads a case; returns all its variants.
fn case(mut table: TableReader<'_>, suite: &str) -> Option<Vec<Case>> {
    let case_name = name(&table.required("name"));
    let title = table.required("title").text("a short description of the case");
    let real = table.required("real").text("the behaviour of real units, with the source");
    let good = table.required("good").text("the behaviour of a good driver");
    let profiles = optional_strings(&table.optional("profiles"), "patterns of profile names");
    let rig = table.optional("rig");
    let rig = if rig.is_written() { rig.text("a rig's name or path") } else { None };
    let order = [("driver", true), ("sensor", false)];
    let first = table.optional("first");
    let driver_first = if first.is_written() { first.choice(&order, FORMAT) } else { None };
    let driver_after_s = table.optional("driver_after_s").number_or(&seconds(0.0), 0.0);
    let lasts = table.required("lasts_s");
    let lasts_s = lasts.number(&seconds(0.1));
    let start_utc = start(&table.optional("start_utc"));
    let set = pairs(&table.optional("set"), "keys of the rig, each \"KEY=VALUE\"");
    let env = pairs(&table.optional("env"), "variables, each \"NAME=VALUE\"");
    let faults = tables(&table.optional("fault"), "case.fault", MAX_PARTS, fault);
    let power_cuts = tables(&table.optional("power_cut"), "case.power_cut", MAX_PARTS, power_cut);
    let restarts = table.optional("driver_restarts_s");
    let driver_restarts_s = match restarts.is_written() {
        true => restarts.array("seconds").map_or_else(Vec::new, |(items, _)| {
            items.iter().filter_map(|item| item.number(&seconds(0.0))).collect()
        }),
        false => Vec::new(),
    };
    let strangers = tables(&table.optional("stranger"), "case.stranger", MAX_PARTS, stranger);
    let clock = table.optional("clock_step");
    let clock_steps = tables(&clock, "case.clock_step", MAX_PARTS, clock_step);
    let variants = tables(&table.optional("variants"), "case.variants", MAX_PARTS, variant);
    let web = table.optional("web");
    let web_posts = tables(&web, "case.web", MAX_PARTS, web_post);
    let expect = table.required("expect");
    let expectations = tables(&expect, "case.expect", MAX_PARTS, expectation);
    if !expect.is_written() {
        let label = "a case needs at least one [[case.expect]]";
        table.fault(table.place().fault("this case expects nothing", label));
    }
    let place = table.place().clone();
    if let Some(lasts_s) = lasts_s {
        let ends = |part: &Expectation| part.from_s.max(part.to_s.unwrap_or(0.0));
        if let Some(late) = expectations.iter().map(ends).find(|end| *end > lasts_s) {
            let title = format!("an expectation ends at {late} s, after the end of the case");
            table.fault(place.fault(title, format!("the case lasts {lasts_s} s")));
        }
    }
    table.finish();
    let case = Case {
        name: case_name?,
        suite: suite.to_owned(),
        title: title?.value,
        real: real?.value,
        good: good?.value,
        profiles,
        rig: rig.map(|name| RigSource::File(name.value.into())),
        driver_first,
        driver_after_s,
        lasts_s: lasts_s?,
        start_utc,
        set,
        env,
        faults,
        power_cuts,
        driver_restarts_s,
        web_posts,
        strangers,
        clock_steps,
        expectations,
    };
    Some(match &variants[..] {
        [] => vec![case],
        variants => variants.iter().map(|variant| variant.of(&case)).collect(),
    })
}

/// A variant of a case; the variants of a case differ in a value.
struct Variant {
    name: String,
    value: String,
    profiles: Vec<String>,
}

impl Variant {
    /// Returns `case` with the variant's value in place of `{value}`.
    fn of(&self, case: &Case) -> Case {
        let fill = |text: &String| text.replace("{value}", &self.value);
        let key = |(key, value): &(String, String)| (key.clone(), fill(value));
        let fault = |fault: &CaseFault| CaseFault {
            keys: fault.keys.iter().map(key).collect(),
            ..fault.clone()
        };
        let cut = |cut: &PowerCut| PowerCut { set: cut.set.iter().map(fill).collect(), ..*cut };
        Case {
            name: format!("{}-{}", case.name, self.name),
            title: fill(&case.title),
            profiles: if self.profiles.is_empty() { &case.profiles } else { &self.profiles }
                .clone(),
            set: case.set.iter().map(fill).collect(),
            env: case.env.iter().map(fill).collect(),
            faults: case.faults.iter().map(fault).collect(),
            power_cuts: case.power_cuts.iter().map(cut).collect(),
            ..case.clone()
        }
    }
}

fn variant(mut table: TableReader<'_>) -> Option<Variant> {
    let name = name(&table.required("name"));
    let value = table.required("value").text("the text that replaces `{value}`");
    let profiles = optional_strings(&table.optional("profiles"), "patterns of profile names");
    table.finish();
    Some(Variant { name: name?, value: value?.value, profiles })
}

fn start(field: &Field<'_>) -> Option<jiff::Timestamp> {
    if !field.is_written() {
        return None;
    }
    let (written, place) = field.datetime()?;
    match written.to_string().parse() {
        Ok(start) => Some(start),
        Err(error) => {
            let label = "allowed: a date, time and offset, such as 2026-12-31T23:59:58Z";
            field.fault(place.fault(format!("not a date and time: {error}"), label));
            None
        }
    }
}

/// Words for the kinds of expectations in a suite file. [`Field::choice`] needs pairs of word and value; here both are
/// equal.
const KINDS: [(&str, &str); 13] = [
    ("rate", "rate"),
    ("gap", "gap"),
    ("count", "count"),
    ("resumes", "resumes"),
    ("point-rate", "point-rate"),
    ("near-truth", "near-truth"),
    ("value", "value"),
    ("tells-not", "tells-not"),
    ("steady", "steady"),
    ("says", "says"),
    ("says-not", "says-not"),
    ("alive", "alive"),
    ("memory", "memory"),
];

fn expectation(mut table: TableReader<'_>) -> Option<Expectation> {
    let kind = table.required("kind").choice(&KINDS, FORMAT);
    let from_s = table.optional("from_s").number_or(&seconds(0.0), 0.0);
    let to = table.optional("to_s");
    let to_s = if to.is_written() { to.number(&seconds(0.0)) } else { None };
    if let (Some(to_s), Some(place)) = (to_s, to.place())
        && to_s <= from_s
    {
        to.fault(
            place.fault("`to_s` is not after `from_s`", format!("allowed: more than {from_s} s")),
        );
    }
    let check = match kind {
        Some(kind) => check(kind, &mut table),
        None => {
            table.drop_unknown(|_| true);
            None
        }
    };
    table.finish();
    Some(Expectation { check: check?, from_s, to_s })
}

fn check(kind: &str, table: &mut TableReader<'_>) -> Option<Check> {
    let any = Limit::new(-1e15..=1e15, "", FORMAT);
    let positive = |unit| Limit::new(0.0..=1e15, unit, FORMAT);
    let share = Limit::new(0.0..=1.0, "", FORMAT);
    let count = Limit::new(0..=1_000_000_000, "", FORMAT);
    let of = |table: &mut TableReader<'_>| {
        table.required("of").text("the name of an event, such as \"points\"").map(|of| of.value)
    };
    Some(match kind {
        "rate" | "point-rate" => {
            let of = of(table);
            let at_least_hz = table.optional("at_least_hz").number_or(&positive("Hz"), f64::MIN);
            let at_most_hz = table.optional("at_most_hz").number_or(&positive("Hz"), f64::MAX);
            match kind {
                "rate" => Check::Rate { of: of?, at_least_hz, at_most_hz },
                _ => Check::PointRate { of: of?, at_least_hz, at_most_hz },
            }
        }
        "gap" => {
            let of = of(table);
            let at_most_s = table.required("at_most_s").number(&seconds(0.001));
            Check::Gap { of: of?, at_most_s: at_most_s? }
        }
        "count" => {
            let of = of(table);
            let at_least = table.optional("at_least").integer_or(&count, 0);
            let at_most = table.optional("at_most").integer_or(&count, u64::MAX);
            Check::Count { of: of?, at_least, at_most }
        }
        "resumes" => {
            let of = of(table);
            let within_s = table.required("within_s").number(&seconds(0.001));
            Check::Resumes { of: of?, within_s: within_s? }
        }
        "near-truth" => {
            let of = of(table);
            let quantity = table.required("quantity").choice(&Quantity::WORDS, FORMAT);
            let tolerance = table.required("tolerance").number(&positive(""));
            let share = table.optional("share").number_or(&share, 0.0);
            let at_least = table.optional("at_least").integer_or(&count, 1);
            let seconds = Limit::new(-3600.0..=3600.0, "s", FORMAT);
            let behind = table.optional("behind_s");
            let behind_s = behind.number_or(&seconds, 0.0);
            if let (Some(place), Some(quantity)) = (behind.place(), quantity)
                && quantity != Quantity::Time
            {
                let title = format!("`behind_s` applies to times, not to \"{}\"", quantity.word());
                behind.fault(place.fault(title, "allowed with quantity = \"time\""));
            }
            let (of, quantity, tolerance) = (of?, quantity?, tolerance?);
            Check::NearTruth {
                of,
                near: Nearness { quantity, tolerance, share, at_least, behind_s },
            }
        }
        "value" => {
            let of = of(table);
            let field = table.required("field").text("the name of a field");
            let least = table.optional("least").number_or(&any, f64::MIN);
            let most = table.optional("most").number_or(&any, f64::MAX);
            let share = table.optional("share").number_or(&share, 0.0);
            Check::Value { of: of?, field: field?.value, least, most, share }
        }
        "tells-not" => {
            let (of, field) = (of(table), table.required("field").text("the name of a field"));
            Check::TellsNot { of: of?, field: field?.value }
        }
        "steady" => {
            let of = of(table);
            let field = table.optional("field");
            let field = match field.is_written() {
                true => field.text("the name of a field")?.value,
                false => "stamp_s".to_owned(),
            };
            let tolerance_s = table.required("tolerance_s").number(&positive("s"));
            Check::Steady { of: of?, field, tolerance_s: tolerance_s? }
        }
        "says" => Check::Says(pattern(&table.required("pattern"))?),
        "says-not" => Check::SaysNot(pattern(&table.required("pattern"))?),
        "memory" => {
            let mb = Limit::new(0.1..=1e7, "MB", FORMAT);
            let at_most_mb = table.optional("at_most_mb").number_or(&mb, f64::MAX);
            let growth_mb = table.optional("growth_mb").number_or(&mb, f64::MAX);
            Check::Memory { at_most_mb, growth_mb }
        }
        _ => Check::Alive,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let source = SourceFile::new("my-suite.toml", text, "");
        match suite(&source) {
            Ok(file) => format!("{file:?}"),
            Err(faults) => faults.to_string(),
        }
    }

    const CASE: &str = "summary = \"x\"\n[[case]]\nname = \"a\"\ntitle = \"t\"\nreal = \"r\"\ngood = \"g\"\n\
                        lasts_s = 3\n";

    #[test]
    fn a_case_is_read_whole() {
        let source = SourceFile::new(
            "my-suite.toml",
            format!(
                "{CASE}first = \"driver\"\nset = [\"seed=3\"]\n\
                 fault = [{{ kind = \"truncation\", start_s = 1, probability = 0.1, to_bytes = 12 }}]\n\
                 [[case.expect]]\nkind = \"gap\"\nof = \"points\"\nat_most_s = 0.5\nfrom_s = 1\n"
            ),
            "",
        );
        let file = suite(&source).unwrap();
        let case = &file.cases[0];
        assert_eq!((case.name.as_str(), case.suite.as_str()), ("a", "my-suite"));
        assert_eq!(case.driver_first, Some(true));
        assert_eq!(
            case.faults[0].toml("f", "d", 0.5),
            "{ name = \"f\", device = \"d\", kind = \"truncation\", start_s = 1.5, \
             probability = 0.1, to_bytes = 12 }"
        );
        assert_eq!(
            case.expectations[0].to_string(),
            "no gap longer than 0.5 s in `points` (from 1 s on)"
        );
    }

    #[test]
    fn variants_are_cases_of_their_own() {
        let source = SourceFile::new(
            "my-suite.toml",
            format!(
                "{CASE}set = [\"device.{{device}}.settings.x={{value}}\"]\nprofiles = [\"a-*\"]\n\
                 variants = [{{ name = \"one\", value = \"1\" }}, {{ name = \"two\", value = \"2\", profiles = [\"b\"] }}]\n\
                 power_cut = [{{ off_s = 1, on_s = 2, set = [\"y={{value}}\"] }}]\n\
                 clock_step = [{{ at_s = 1, by_s = -3600 }}]\n\
                 [[case.expect]]\nkind = \"alive\"\n"
            ),
            "",
        );
        let cases = suite(&source).unwrap_or_else(|told| panic!("{told}")).cases;
        let brief = |case: &Case| {
            let set = case.set.join(" ") + " " + &case.power_cuts[0].set.join(" ");
            (case.name.clone(), set, case.profiles.join(" "), case.clock_steps[0].by_s)
        };
        let one =
            ("a-one".into(), "device.{device}.settings.x=1 y=1".into(), "a-*".into(), -3600.0);
        let two = ("a-two".into(), "device.{device}.settings.x=2 y=2".into(), "b".into(), -3600.0);
        assert_eq!(cases.iter().map(brief).collect::<Vec<_>>(), [one, two]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        assert_eq!(
            told(&format!("{CASE}[[case.expect]]\nkind = \"gab\"\nof = \"points\"\n")),
            "error: `kind` cannot be \"gab\"\n --> my-suite.toml:9:8\n  |\n9 | kind = \"gab\"\n  |        \
             ^^^^^ allowed: \"rate\", \"gap\", \"count\", \"resumes\", \"point-rate\", \"near-truth\", \
             \"value\", \"tells-not\", \"steady\", \"says\", \"says-not\", \"alive\", \"memory\"\n  |\n  = note: limit from \
             the format of suites, docs/DRIVER-TESTS.md\n  = help: did you mean \"gap\"?"
        );
        let text = told(&format!(
            "{CASE}[[case.expect]]\nkind = \"says\"\npattern = \"(\"\nfrom_s = 1\nto_s = 1\n"
        ));
        assert!(text.contains("not a regular expression"), "{text}");
        assert!(text.contains("`to_s` is not after `from_s`"), "{text}");
        let text = told(CASE);
        assert!(text.contains("this case expects nothing"), "{text}");
        let text =
            told(&format!("{CASE}color = 1\n[[case.expect]]\nkind = \"alive\"\nfrom_s = 4\n"));
        assert!(text.contains("unknown key `color`"), "{text}");
        assert!(text.contains("ends at 4 s, after the end of the case"), "{text}");
    }
}
