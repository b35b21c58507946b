//! Result of a fit: tables for a profile or a rig, with the source of their numbers.

use std::fmt::Write;

/// Where the user will paste the fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Tables that replace those of a profile
    Profile,
    /// Settings to put right below a `[[device]]` of a rig
    Rig,
}

/// Tables with fitted values.
#[derive(Clone, Debug, Default)]
pub struct Fragment {
    /// Description of the fitted log, for a comment; in a profile, also for the key `captures` of the table `[source]`.
    pub source: String,
    /// Remarks on the fit that precede the keys.
    pub remarks: Vec<String>,
    /// Tables in order.
    pub tables: Vec<Table>,
}

/// A table of a fragment.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Name of the table in a profile, such as `gyro`.
    pub in_profile: String,
    /// Path of the table below a rig's `settings`; empty for the settings themselves.
    pub in_rig: String,
    /// Lines in order.
    pub lines: Vec<Line>,
}

/// A line of a table.
#[derive(Clone, Debug)]
pub struct Line {
    /// Key; empty for a line with a remark only.
    pub key: String,
    /// Value in TOML.
    pub value: String,
    /// Remark after the value.
    pub remark: String,
}

impl Table {
    /// Adds a number with a remark.
    pub fn number(&mut self, key: &str, value: f64, remark: impl Into<String>) {
        self.raw(key, figure(value), remark);
    }

    /// Adds a TOML value with a remark.
    pub fn raw(&mut self, key: &str, value: impl Into<String>, remark: impl Into<String>) {
        self.lines.push(Line { key: key.into(), value: value.into(), remark: remark.into() });
    }

    /// Adds a remark on its own line.
    pub fn remark(&mut self, remark: impl Into<String>) {
        self.raw("", "", remark);
    }
}

impl Fragment {
    /// The fragment as TOML.
    pub fn text(&self, form: Form) -> String {
        let mut text = String::new();
        let place = match form {
            Form::Profile => "these tables and keys replace those of the profile",
            Form::Rig => "put this right below the [[device]] of a rig",
        };
        let _ = writeln!(text, "# Fitted by Menura {}: {place}.", env!("CARGO_PKG_VERSION"));
        let _ = writeln!(text, "# Log: {}", self.source);
        for remark in &self.remarks {
            let _ = writeln!(text, "# {remark}");
        }
        if form == Form::Profile {
            let _ = write!(text, "\n[source]\ncaptures = [{:?}]\n", self.source);
        }
        for table in &self.tables {
            let name = match (form, table.in_rig.as_str()) {
                (Form::Profile, _) => table.in_profile.clone(),
                (Form::Rig, "") => "device.settings".to_owned(),
                (Form::Rig, below) => format!("device.settings.{below}"),
            };
            let _ = write!(text, "\n[{name}]\n");
            for Line { key, value, remark } in &table.lines {
                let _ = match (key.as_str(), remark.as_str()) {
                    ("", remark) => writeln!(text, "# {remark}"),
                    (key, "") => writeln!(text, "{key} = {value}"),
                    (key, remark) => writeln!(text, "{key} = {value} # {remark}"),
                };
            }
        }
        text
    }
}

/// Text of a number as a TOML float, with four significant digits, or one decimal from 1000 on; `0.0` if it is not
/// finite.
pub fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0.0".to_owned();
    }
    let digits = 3 - libm::floor(libm::log10(value.abs())) as i32;
    let text = format!("{value:.*}", digits.clamp(1, 15) as usize);
    let trimmed = text.trim_end_matches('0');
    if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_a_point() {
        let shown = [0.0, 1.0, 0.0123456, -123.456, 98765.4, 1e-7].map(figure);
        assert_eq!(shown, ["0.0", "1.0", "0.01235", "-123.5", "98765.4", "0.0000001"]);
    }

    #[test]
    fn a_fragment_is_toml_in_both_forms() {
        let mut table =
            Table { in_profile: "gyro".into(), in_rig: "gyro".into(), lines: Vec::new() };
        table.number("range_deg_s", 200.0, "± 2");
        table.remark("nothing else");
        let source = "a \"log\".bin".to_owned();
        let fragment = Fragment { source, remarks: vec!["so".into()], tables: vec![table] };
        let profile: toml::Table = fragment.text(Form::Profile).parse().unwrap();
        assert_eq!(profile["gyro"]["range_deg_s"].as_float(), Some(200.0));
        assert_eq!(profile["source"]["captures"][0].as_str(), Some("a \"log\".bin"));
        let rig = format!("[[device]]\nname = \"x\"\n{}", fragment.text(Form::Rig));
        let rig: toml::Table = rig.parse().unwrap();
        assert_eq!(rig["device"][0]["settings"]["gyro"]["range_deg_s"].as_float(), Some(200.0));
    }
}
