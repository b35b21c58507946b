//! One case of a suite: events that happen to a sensor, and expectations of its driver.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::kit::expectation::Expectation;
use crate::kit::rig_source::RigSource;

/// A case as its suite defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the case, unique among the cases of a run.
    pub name: String,
    /// Suite that contains the case.
    pub suite: String,
    /// Events of the case, in a few words.
    pub title: String,
    /// Behaviour of real units, with its source.
    pub real: String,
    /// Behaviour of a good driver.
    pub good: String,
    /// Patterns of the profiles that the case is for; empty for all.
    pub profiles: Vec<String>,
    /// Rig of the case if the user names none.
    pub rig: Option<RigSource>,
    /// Whether the driver must be ready before the sensor is switched on. `None`: depends on the link,
    /// because a serial line must exist before a driver can open it.
    pub driver_first: Option<bool>,
    /// Time from the sensor's start to the driver's, seconds, if the sensor starts first.
    pub driver_after_s: f64,
    /// Duration of the case, seconds. All times of a case count from the moment at which the driver has
    /// settled.
    pub lasts_s: f64,
    /// Civil time of the first instant, if it matters; the sensor is switched on earlier.
    pub start_utc: Option<jiff::Timestamp>,
    /// Keys of the rig that are different, `KEY=VALUE`; `{device}` is the device under test.
    pub set: Vec<String>,
    /// Variables of the driver's environment, `NAME=VALUE`.
    pub env: Vec<String>,
    /// Faults of the device, by the keys of `[[fault]]`.
    pub faults: Vec<CaseFault>,
    /// Times at which the sensor loses its power.
    pub power_cuts: Vec<PowerCut>,
    /// Time when the driver is killed and started again, seconds.
    pub driver_restarts_s: Vec<f64>,
    /// Requests to the device's web interface.
    pub web_posts: Vec<WebPost>,
    /// Rogue senders to the driver.
    pub strangers: Vec<Stranger>,
    /// Changes of the clock of the driver's computer.
    pub clock_steps: Vec<ClockStep>,
    /// Expectations.
    pub expectations: Vec<Expectation>,
}

/// A fault of the device under test.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFault {
    /// The kind.
    pub kind: String,
    /// Start of the fault, seconds of the case.
    pub start_s: f64,
    /// Whether the fault is of the GNSS receiver at the device's GPS cable instead of the device under test.
    pub on_cable: bool,
    /// Other keys of the fault with their values in TOML.
    pub keys: Vec<(String, String)>,
}

impl CaseFault {
    /// The fault as an inline table of TOML for `device`, in a run in which the case begins after `settle_s`.
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
    /// Time of the power cut, seconds of the case.
    pub off_s: f64,
    /// Time when power returns, seconds of the case.
    pub on_s: f64,
    /// Keys of the rig that are different from then on, `KEY=VALUE`; `{device}` is the device under test.
    pub set: Vec<String>,
}

/// The clock of the driver's computer is set to another time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockStep {
    /// Time of the event, seconds of the case.
    pub at_s: f64,
    /// Step of the clock, seconds; negative for a step back.
    pub by_s: f64,
}

/// A form that is sent to the device's web interface.
#[derive(Clone, Debug, PartialEq)]
pub struct WebPost {
    /// Time of the event, seconds of the case.
    pub at_s: f64,
    /// Path of the request, such as `/cgi/setting`.
    pub path: String,
    /// Body of the request, `rpm=300`.
    pub body: String,
}

/// A rogue sender: another program that sends datagrams to the driver or to the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Stranger {
    /// The data.
    pub sends: Sends,
    /// Start, seconds of the case.
    pub start_s: f64,
    /// Duration, seconds.
    pub duration_s: f64,
    /// Datagrams per second; a second unit sends at its own rate.
    pub rate_hz: f64,
    /// Size of each datagram of garbage, bytes (default: random).
    pub size_bytes: Option<u16>,
    /// Source address of the datagrams, an address of this machine; port 0: any.
    pub from: SocketAddr,
    /// Keys of the rig that differ in a twin.
    pub set: Vec<String>,
    /// A capture of a real unit (a second unit), instead of a recording by Menura.
    pub capture: Option<PathBuf>,
    /// Datagrams that a sender of given bytes sends in turn.
    pub datagrams: Vec<Vec<u8>>,
    /// The device's control that receives the datagrams, by its key in a rig (default: the driver receives
    /// them).
    pub to: Option<String>,
}

/// Data of a rogue sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Random bytes, of random lengths or of one length.
    Garbage,
    /// Data of a second unit of the same product.
    Twin,
    /// The given datagrams, in turn.
    Bytes,
}

impl Case {
    /// Whether the case is for the profile with this name.
    pub fn fits_profile(&self, profile: &str) -> bool {
        self.profiles.is_empty() || self.profiles.iter().any(|pattern| fits(pattern, profile))
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for any letters.
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
