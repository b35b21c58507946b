//! Facts about the sensor that the kit passes to the driver: as `{placeholders}` in the driver's command, and as
//! environment variables.

use crate::config::toml::reader::nearest;

/// Names of placeholders with their values, in the order in which messages list them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placeholders {
    all: Vec<(String, String)>,
}

impl Placeholders {
    /// Adds a placeholder.
    pub fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.all.push((name.into(), value.into()));
    }

    /// The value of a placeholder; `None` if the name is unknown.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Replaces `{name}` in `text` by the value of the placeholder. Text in braces that cannot be a name stays
    /// unchanged; `{{` becomes `{`.
    ///
    /// # Errors
    /// A name is unknown.
    pub fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled += &rest[..at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('{') {
                filled.push('{');
                rest = after;
                continue;
            }
            let name = rest.split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
            let Some(name) = name else {
                filled.push('{');
                continue;
            };
            filled += self.get(name).ok_or_else(|| self.unknown(name))?;
            rest = &rest[name.len() + 1..];
        }
        Ok(filled + rest)
    }

    /// Each placeholder as an environment variable: `MENURA_` and the name in capitals, with `_` for other characters
    /// than letters and digits.
    pub fn variables(&self) -> impl Iterator<Item = (String, &str)> {
        self.all.iter().map(|(name, value)| {
            let name: String = name
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
                .collect();
            (format!("MENURA_{name}"), value.as_str())
        })
    }

    fn unknown(&self, name: &str) -> String {
        let names = || self.all.iter().map(|(name, _)| name.as_str());
        let near = nearest(name, names()).map(|near| format!("did you mean {{{near}}}? "));
        let allowed: Vec<_> = names().map(|name| format!("{{{name}}}")).collect();
        format!(
            "this sensor has no {{{name}}}; {}allowed: {}",
            near.unwrap_or_default(),
            allowed.join(", ")
        )
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c);
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_and_others_refused() {
        let mut known = Placeholders::default();
        known.add("udp_port", "2368");
        known.add("gps.pty", "/tmp/gps");
        let fill = |text: &str| known.fill(text);
        assert_eq!(fill("-p{udp_port}, {gps.pty}").unwrap(), "-p2368, /tmp/gps");
        assert_eq!(fill("{{udp_port} {\"a\": 1} {} {").unwrap(), "{udp_port} {\"a\": 1} {} {");
        assert_eq!(
            fill("{udp_prt}").unwrap_err(),
            "this sensor has no {udp_prt}; did you mean {udp_port}? allowed: {udp_port}, {gps.pty}"
        );
        let variables: Vec<_> = known.variables().collect();
        assert_eq!(variables[1], ("MENURA_GPS_PTY".to_owned(), "/tmp/gps"));
    }
}
