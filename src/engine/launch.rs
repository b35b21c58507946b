//! Launch times: the packet scheduler of a network interface holds a datagram until its launch time. Delays of the
//! sending thread in the millisecond before the launch time then have no effect.
//!
//! Two packet schedulers support launch times: `fq`, and `etf` with a suitable network card. Other packet
//! schedulers silently ignore launch times, so the packet scheduler is checked first.

use std::io;
use std::process::Command;

use serde::Deserialize;

use crate::links::udp::{LaunchClock, UdpLink};

/// Sets up the `ports` of a device for sending through `interface` with launch times.
///
/// # Errors
/// Launch times are unavailable; the message has the reason and the remedy.
pub fn prepare(ports: &mut [UdpLink], interface: &str) -> io::Result<()> {
    let clock = clock_of(interface, &schedulers_of(interface)?).map_err(io::Error::other)?;
    ports.iter_mut().try_for_each(|port| port.set_launch_clock(clock))
}

/// The JSON output of `tc` about the packet schedulers of `interface`.
///
/// # Errors
/// `tc` is missing or fails.
pub fn schedulers_of(interface: &str) -> io::Result<String> {
    let answer = Command::new("tc").args(["-json", "qdisc", "show", "dev", interface]).output();
    let answer = answer.map_err(|error| {
        io::Error::new(error.kind(), format!("`tc` (iproute2), which reports the qdisc: {error}"))
    })?;
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
        return Err(io::Error::other(format!("`tc qdisc show dev {interface}`: {said}")));
    }
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

/// A row of `tc -json qdisc show`.
#[derive(Deserialize)]
struct Row {
    kind: String,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    options: RowOptions,
}

#[derive(Default, Deserialize)]
struct RowOptions {
    clockid: Option<String>,
}

/// Names of the packet schedulers in the output of [`schedulers_of`]; the root scheduler is first.
///
/// # Errors
/// The text is not output of `tc`.
pub fn kinds(json: &str) -> Result<Vec<String>, String> {
    Ok(rows(json)?.into_iter().map(|row| row.kind).collect())
}

fn rows(json: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = serde_json::from_str(json).map_err(|error| format!("tc: {error}"))?;
    rows.sort_by_key(|row| !row.root);
    Ok(rows)
}

/// Clock of launch times on an interface with the packet schedulers in `json`, the output of `tc`.
fn clock_of(interface: &str, json: &str) -> Result<LaunchClock, String> {
    let rows = rows(json)?;
    let queues = || rows.iter().filter(|row| !matches!(row.kind.as_str(), "mq" | "mqprio"));
    if let Some(etf) = queues().find(|row| row.kind == "etf") {
        return match etf.options.clockid.as_deref() {
            Some("TAI" | "CLOCK_TAI") => Ok(LaunchClock::Tai),
            other => Err(format!(
                "the etf qdisc of {interface} uses the clock {}; set `clockid CLOCK_TAI`",
                other.unwrap_or("?"),
            )),
        };
    }
    if queues().count() > 0 && queues().all(|row| row.kind == "fq") {
        return Ok(LaunchClock::Monotonic);
    }
    let present: Vec<_> = rows.iter().map(|row| row.kind.as_str()).collect();
    Err(format!(
        "`engine.launch_time`: {interface} sends through {}, which ignores launch times; run `tc \
         qdisc replace dev {interface} root fq`, use etf if the card supports it, or remove this \
         key",
        if present.is_empty() { "no qdisc".to_owned() } else { present.join(", ") },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_follows_the_scheduler() {
        let etf = r#"[{"kind":"mqprio","handle":"100:","root":true,"options":{}},
            {"kind":"etf","handle":"1:","parent":"100:1",
             "options":{"clockid":"TAI","delta":200000,"offload":true}},
            {"kind":"fq_codel","parent":"100:2"}]"#;
        assert_eq!(clock_of("eth0", etf), Ok(LaunchClock::Tai));
        let wrong = etf.replace("TAI", "REALTIME");
        assert!(clock_of("eth0", &wrong).unwrap_err().contains("clockid CLOCK_TAI"));
        let fq = r#"[{"kind":"mq","root":true},{"kind":"fq","parent":":1"},{"kind":"fq"}]"#;
        assert_eq!(clock_of("eth0", fq), Ok(LaunchClock::Monotonic));
        let none = r#"[{"kind":"noqueue","handle":"0:","root":true,"refcnt":2,"options":{}}]"#;
        let told = clock_of("lo", none).unwrap_err();
        assert!(told.contains("lo sends through noqueue"), "{told}");
        assert!(clock_of("lo", "[]").unwrap_err().contains("no qdisc"));
        assert!(clock_of("lo", "?").unwrap_err().starts_with("tc: "));
        assert_eq!(kinds(fq).unwrap(), ["mq", "fq", "fq"]);
    }
}
