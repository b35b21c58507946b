//! One case of a suite: what happens to a sensor, and what is expected of its driver.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::kit::expectation::Expectation;
use crate::kit::rig_source::RigSource;

/// A case, as its suite says.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Unique among the cases of a run.
    pub name: String,
    /// The suite that it stands in.
    pub suite: String,
    /// Events of the case, in a few words.
    pub title: String,
    /// Behaviour of real units, with its source.
    pub real: String,
    /// Behaviour of a good driver.
    pub good: String,
    /// Patterns of the profiles that it is for; empty for all.
    pub profiles: Vec<String>,
    /// The rig that it needs, if the user names none.
    pub rig: Option<RigSource>,
    /// Whether the driver is ready before the sensor is switched on; `None` leaves it to the link: a serial line has to
    /// be there before a driver can open it.
    pub driver_first: Option<bool>,
    /// How long after the sensor the driver is started, seconds, if the sensor is first.
    pub driver_after_s: f64,
    /// How long it is watched, seconds. All times of a case count from when the driver has settled.
    pub lasts_s: f64,
    /// The civil time of its first instant, if that matters; the sensor is switched on before it.
    pub start_utc: Option<jiff::Timestamp>,
    /// Keys of the rig that are different, `KEY=VALUE`; `{device}` is the device under test.
    pub set: Vec<String>,
    /// Variables of the driver's environment, `NAME=VALUE`.
    pub env: Vec<String>,
    /// Faults of the device, by the keys of `[[fault]]`.
    pub faults: Vec<CaseFault>,
    /// When the sensor loses its power.
    pub power_cuts: Vec<PowerCut>,
    /// Time when the driver is killed and started again, seconds.
    pub driver_restarts_s: Vec<f64>,
    /// Requests to the device's web interface.
    pub web_posts: Vec<WebPost>,
    /// Rogue senders to the driver.
    pub strangers: Vec<Stranger>,
    /// When the clock of the driver's computer is set to another time.
    pub clock_steps: Vec<ClockStep>,
    /// Expectations.
    pub expectations: Vec<Expectation>,
}

/// A fault of the device under test.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFault {
    /// The kind.
    pub kind: String,
    /// Time when it begins, seconds of the case.
    pub start_s: f64,
    /// The device that has it, if it is not the one under test: the receiver at its GPS cable.
    pub on_cable: bool,
    /// Its other keys with their values in TOML.
    pub keys: Vec<(String, String)>,
}

impl CaseFault {
    /// It as an inline table of TOML, on `device`, in a run in which the case begins after `settle_s`.
    pub fn toml(&self, name: &str, device: &str, settle_s: f64) -> String {
        let mut text = format!(
            "{{ name = \"{name}\", device = \"{device}\", kind = \"{}\", start_s = {:?}",
            self.kind,
            self.start_s + settle_s
        );
        for (key, value) in &self.keys {
            let _ = write!(text, ", {key} = {value}");
        }
        text + " }"
    }
}

/// A sensor without power for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerCut {
    /// Time when it goes off, seconds of the case.
    pub off_s: f64,
    /// Time when it is on again.
    pub on_s: f64,
    /// Keys of the rig that are different from then on, `KEY=VALUE`; `{device}` is the device under test.
    pub set: Vec<String>,
}

/// The clock of the driver's computer is set to another time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockStep {
    /// When, seconds of the case.
    pub at_s: f64,
    /// Step of the clock, seconds; negative for a step back.
    pub by_s: f64,
}

/// A form that is sent to the device's web interface.
#[derive(Clone, Debug, PartialEq)]
pub struct WebPost {
    /// When, seconds of the case.
    pub at_s: f64,
    /// Its path, `/cgi/setting`.
    pub path: String,
    /// Body of the request, `rpm=300`.
    pub body: String,
}

/// Somebody else who sends datagrams to the driver, or to the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Stranger {
    /// The data.
    pub sends: Sends,
    /// From when on, seconds of the case.
    pub start_s: f64,
    /// For how long, seconds.
    pub duration_s: f64,
    /// Datagrams a second; a twin sends at its own rate.
    pub rate_hz: f64,
    /// Bytes of each datagram of garbage; random if there is none.
    pub size_bytes: Option<u16>,
    /// Where the datagrams come from, an address of this machine; port 0 is any.
    pub from: SocketAddr,
    /// Keys of the rig that differ in a twin.
    pub set: Vec<String>,
    /// A capture of a real unit (a twin), sent in place of what Menura records.
    pub capture: Option<PathBuf>,
    /// The datagrams that are sent in turn, of one who sends bytes.
    pub datagrams: Vec<Vec<u8>>,
    /// The control of the device to which they go, by its key in a rig; the driver if there is none.
    pub to: Option<String>,
}

/// Data of a rogue sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Bytes without sense, of random lengths or of one.
    Garbage,
    /// Data of a second unit of the same product.
    Twin,
    /// Given datagrams, in turn.
    Bytes,
}

impl Case {
    /// Whether it is for a profile of this name.
    pub fn fits_profile(&self, profile: &str) -> bool {
        self.profiles.is_empty() || self.profiles.iter().any(|pattern| fits(pattern, profile))
    }
}

/// Whether `name` is as `pattern` says, in which `*` stands for any letters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(start) else { return false };
    (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| fits(rest, &name[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_profiles() {
        assert!(fits("velodyne-*", "velodyne-vlp16-3.0"));
        assert!(fits("*lms2*-s05*", "sick-lms291-s05-x1.27"));
        assert!(fits("vectornav-vn100", "vectornav-vn100"));
        assert!(!fits("velodyne-*", "ouster-os0-32-2.5") && !fits("ouster", "ouster-os0"));
    }

    #[test]
    fn a_fault_is_a_table_that_begins_when_the_driver_has_settled() {
        let fault = CaseFault {
            kind: "packet-loss".into(),
            start_s: 1.0,
            on_cable: false,
            keys: vec![("probability".into(), "0.5".into())],
        };
        assert_eq!(
            fault.toml("case-1", "lidar", 1.5),
            "{ name = \"case-1\", device = \"lidar\", kind = \"packet-loss\", start_s = 2.5, \
             probability = 0.5 }"
        );
    }
}
