//! Corrections over the network: `caster` of a base, and `ntrip` of a rover.

use std::net::SocketAddr;

use super::claims::Claims;
use super::parts::socket;
use crate::toml::key_types::By;
use crate::toml::reader::{Field, Limit, TableReader};

const FORMAT: &str = "NTRIP 2.0";
/// Default TCP port of an NTRIP caster.
const PORT: u16 = 2101;

/// Documentation of the keys `user` and `password` of a caster.
const CLIENTS: [&str; 2] = [
    "The user name that clients must send; required with `password`.",
    "The password that clients must send, unencrypted; required with `user`.",
];
/// Documentation of the keys `user` and `password` of a rover.
const ROVER: [&str; 2] = [
    "The user name for the caster; required with `password`.",
    "The password for the caster, sent unencrypted; required with `user`.",
];

/// User and password, which are sent unencrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
}

keys! {
    with (claims: &Claims<'_>);
    /// A caster that serves the corrections of a base.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CasterConfig {
        /// The address and TCP port at which the caster listens.
        pub listen: SocketAddr, By(|field: &Field<'_>| claimed(field, claims));
        /// The name of the stream (default: the name of the device).
        pub mount_point: String = String::new(), By(word);
        /// Login that clients need, if any.
        pub login: Option<Login> => |table| login(table, CLIENTS);
    }
}

/// A caster from which a rover receives its corrections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NtripConfig {
    /// Name or address of the caster's host.
    pub host: String,
    /// TCP port of the caster.
    pub port: u16,
    /// Name of the stream (mount point) at the caster.
    pub mount_point: String,
    /// Login for the caster; `None` if the rig has none.
    pub login: Option<Login>,
    /// Interval at which the rover's GGA sentence is sent to the caster, nanoseconds; `None`: never.
    pub gga_every_ns: Option<u64>,
}

/// Reads `caster`. If the key `mount_point` is missing, [`CasterConfig::mount_point`] is empty.
pub(super) fn caster(field: &Field<'_>, claims: &Claims<'_>) -> Option<CasterConfig> {
    let mut table = field.table("a caster")?;
    let all = CasterConfig::read_keys(&mut table, claims);
    table.finish();
    all
}

fn claimed(field: &Field<'_>, claims: &Claims<'_>) -> Option<SocketAddr> {
    let (address, place) = socket(field)?;
    claims.tcp(address, &place);
    Some(address)
}

/// Reads `ntrip`.
pub(super) fn client(field: &Field<'_>) -> Option<NtripConfig> {
    let mut table = field.table("a caster to take corrections from")?;
    let field = table.required("caster");
    let field = field.meaning("The host and TCP port of the caster (default port: 2101).");
    let expected = "the host of a caster and its port, such as \"caster.example.org:2101\"";
    let caster = field.text(expected).and_then(|text| {
        let (host, port) = match text.value.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()),
            None => (text.value.as_str(), Some(PORT)),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        match port.filter(|port| *port != 0 && !host.is_empty() && is_word(&host)) {
            Some(port) => Some((host, port)),
            None => {
                let title = format!("\"{}\" is not a host and port", text.value);
                field.fault(text.place.fault(title, format!("allowed: {expected}")));
                None
            }
        }
    });
    let mount_field = table.required("mount_point");
    let mount_point = word(&mount_field.meaning("The name of the stream to request."));
    let login = login(&mut table, ROVER);
    let seconds = Limit::new(1.0..=3600.0, "s", FORMAT);
    let gga_s = table
        .optional("gga_s")
        .meaning(
            "Interval at which the rover's latest GGA sentence is sent to the caster (default: \
             never).",
        )
        .number(&seconds);
    table.finish();
    let (host, port) = caster?;
    Some(NtripConfig {
        host,
        port,
        mount_point: mount_point?,
        login: login?,
        gga_every_ns: gga_s.map(|s| (s * 1e9).round() as u64),
    })
}

/// Reads `user` and `password`; `Some(None)` if both keys are missing. One key alone is an error. `means` has the
/// documentation of the keys.
fn login(table: &mut TableReader<'_>, means: [&str; 2]) -> Option<Option<Login>> {
    let user_field = table.optional("user").meaning(means[0]);
    let password_field = table.optional("password").meaning(means[1]);
    let expected = "printable text without a colon";
    let (user, password) = (user_field.text(expected), password_field.text("printable text"));
    match (user, password) {
        (None, None) => Some(None),
        (Some(user), Some(password)) => {
            let is_printable = |text: &str| text.chars().all(|c| (' '..='~').contains(&c));
            if user.value.contains(':')
                || !is_printable(&user.value)
                || !is_printable(&password.value)
            {
                let title = "`user` or `password` has a character that NTRIP cannot send";
                user_field.fault(user.place.fault(title, format!("allowed: {expected}")));
                return None;
            }
            Some(Some(Login { user: user.value, password: password.value }))
        }
        (Some(one), None) | (None, Some(one)) => {
            let title = "`user` and `password` belong together";
            user_field.fault(one.place.fault(title, "write both, or none"));
            None
        }
    }
}

/// Reads the name of a stream.
fn word(field: &Field<'_>) -> Option<String> {
    let expected = "1 to 100 letters, digits, - _ or .";
    let text = field.text(expected)?;
    if !is_word(&text.value) || text.value.contains(':') {
        let title = format!("\"{}\" is not the name of a stream", text.value);
        field.fault(text.place.fault(title, format!("allowed: {expected}")));
        return None;
    }
    Some(text.value)
}

fn is_word(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
}
