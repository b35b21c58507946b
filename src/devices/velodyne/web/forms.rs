//! The forms of the web interface.

use core::net::Ipv4Addr;

use crate::spinning::return_mode::ReturnMode;
use crate::velodyne::control::{Configuration, Limits};

/// Paths of the forms with their keys.
const FORMS: [(&str, &[&str]); 5] = [
    ("/cgi/setting", &["rpm", "returns", "laser", "fov_start", "fov_end"]),
    ("/cgi/setting/fov", &["start", "end"]),
    ("/cgi/setting/host", &["addr", "dport", "tport"]),
    ("/cgi/setting/net", &["addr", "mask", "gateway", "dhcp"]),
    ("/cgi/setting/phaselock", &["enabled", "offset", "offsetInput"]),
];

/// Whether `path` accepts a form.
pub fn is_form(path: &str) -> bool {
    matches!(path, "/cgi/save" | "/cgi/reset") || FORMS.iter().any(|(form, _)| *form == path)
}

/// `configuration` with the changes of a form sent to `path`.
///
/// # Errors
/// Returns a message if the form is empty, has an unknown key, or has an unsupported value. The message names the key.
pub fn apply(
    path: &str,
    body: &[u8],
    configuration: &Configuration,
    limits: &Limits,
) -> Result<Configuration, String> {
    let keys = FORMS.iter().find(|(form, _)| *form == path).map_or(&[][..], |(_, keys)| keys);
    let fields: Vec<_> = form_urlencoded::parse(body).collect();
    if fields.is_empty() {
        return Err(format!("nothing to set; allowed: {}", keys.join(", ")));
    }
    let mut wanted = configuration.clone();
    let form = path.rsplit('/').next().unwrap_or_default();
    for (key, value) in &fields {
        let field = Field { key, value: value.trim() };
        if !keys.contains(&field.key) {
            return Err(format!("{key}: no such key; allowed: {}", keys.join(", ")));
        }
        match (form, field.key) {
            ("fov", "start") | (_, "fov_start") => wanted.view.0[0] = field.number(0, 359)?,
            ("fov", "end") | (_, "fov_end") => wanted.view.0[1] = field.number(0, 359)?,
            ("host", "addr") => wanted.host.ip = field.address()?.into(),
            ("host", "dport") => wanted.host.ports[0] = field.number(1, 65_535)?,
            ("host", "tport") => wanted.host.ports[1] = field.number(1, 65_535)?,
            ("net", "addr") => wanted.net.addr = field.address()?,
            ("net", "mask") => wanted.net.mask = field.address()?,
            ("net", "gateway") => wanted.net.gateway = field.address()?,
            ("net", _) => wanted.net.dhcp = field.switch()?,
            ("phaselock", "enabled") => wanted.phase_lock.is_on = field.switch()?,
            ("phaselock", "offset") => {
                wanted.phase_lock.offset_centideg = field.number(0, 35_999)?;
            }
            // Text that the user typed, in degrees. It is ignored if the form also has the exact value `offset`, which
            // browsers send.
            ("phaselock", _) if fields.iter().any(|(key, _)| key == "offset") => {}
            ("phaselock", _) => wanted.phase_lock.offset_centideg = field.degrees()?,
            (_, "rpm") => wanted.rpm = field.rpm(limits)?,
            (_, "returns") => wanted.returns = field.returns(limits)?,
            _ => wanted.laser_on = field.switch()?,
        }
    }
    Ok(wanted)
}

/// Name of a return mode.
pub fn word(mode: ReturnMode) -> &'static str {
    match mode {
        ReturnMode::Strongest => "Strongest",
        ReturnMode::Last => "Last",
        ReturnMode::Dual => "Dual",
    }
}

struct Field<'a> {
    key: &'a str,
    value: &'a str,
}

impl Field<'_> {
    fn wrong(&self, allowed: impl std::fmt::Display) -> String {
        format!("{}={}; allowed: {allowed}", self.key, self.value)
    }

    fn number(&self, low: u16, high: u16) -> Result<u16, String> {
        let number = self.value.parse().ok().filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| self.wrong(format!("{low} to {high}")))
    }

    fn degrees(&self) -> Result<u16, String> {
        let degrees = self.value.parse::<f64>().ok().filter(|d| (0.0..360.0).contains(d));
        let degrees = degrees.ok_or_else(|| self.wrong("0 to 359.99"))?;
        Ok((degrees * 100.0).round() as u16 % 36_000)
    }

    fn switch(&self) -> Result<bool, String> {
        match self.value.to_ascii_lowercase().as_str() {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(self.wrong("on, off")),
        }
    }

    fn address(&self) -> Result<Ipv4Addr, String> {
        self.value.parse().map_err(|_| self.wrong("an IPv4 address"))
    }

    fn rpm(&self, limits: &Limits) -> Result<u32, String> {
        let ([low, high], step) = (limits.rpm, limits.rpm_step);
        let is_allowed =
            |rpm: &u32| *rpm == 0 || (low..=high).contains(rpm) && rpm.is_multiple_of(step);
        let rpm = self.value.parse().ok().filter(is_allowed);
        rpm.ok_or_else(|| self.wrong(format!("0, or {low} to {high} in steps of {step}")))
    }

    fn returns(&self, limits: &Limits) -> Result<ReturnMode, String> {
        let mut known = limits.returns.iter().copied();
        known.find(|mode| self.value.eq_ignore_ascii_case(word(*mode))).ok_or_else(|| {
            let words: Vec<_> = limits.returns.iter().map(|mode| word(*mode)).collect();
            self.wrong(words.join(", "))
        })
    }
}
