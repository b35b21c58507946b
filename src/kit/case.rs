//! One case of a suite: events at a sensor, and expectations of its driver.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::kit::expectation::Expectation;
use crate::kit::rig_source::RigSource;

/// A case as defined in a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the case, unique among the cases of a run.
    pub name: String,
    /// Name of the suite that contains the case.
    pub suite: String,
    /// Short description of the case.
    pub title: String,
    /// Behaviour of real units, with its source.
    pub real: String,
    /// Behaviour of a good driver.
    pub good: String,
    /// Patterns of the profiles to which the case applies; empty for all.
    pub profiles: Vec<String>,
    /// Rig of the case if the user names none.
    pub rig: Option<RigSource>,
    /// Whether the driver must be ready before the sensor is switched on. `None`: depends on the link, because a serial
    /// line must exist before a driver can open it.
    pub driver_first: Option<bool>,
    /// Time from the sensor's start to the driver's, seconds, if the sensor starts first.
    pub driver_after_s: f64,
    /// Duration of the case, seconds. All times of a case count from its start: the time at which the driver has
    /// settled.
    pub lasts_s: f64,
    /// UTC at the start of the case, if it matters; the sensor is switched on earlier.
    pub start_utc: Option<jiff::Timestamp>,
    /// `KEY=VALUE` settings of the rig for this case; `{device}` stands for the device under test.
    pub set: Vec<String>,
    /// `NAME=VALUE` environment variables of the driver.
    pub env: Vec<String>,
    /// Faults of the device, with the keys of `[[fault]]`.
    pub faults: Vec<CaseFault>,
    /// Periods without power.
    pub power_cuts: Vec<PowerCut>,
    /// Times at which the driver is killed and restarted, seconds after the start of the case.
    pub driver_restarts_s: Vec<f64>,
    /// Requests to the device's web interface.
    pub web_posts: Vec<WebPost>,
    /// Rogue senders during the case.
    pub strangers: Vec<Stranger>,
    /// Steps of the clock of the driver's computer.
    pub clock_steps: Vec<ClockStep>,
    /// Expectations of the driver during the case.
    pub expectations: Vec<Expectation>,
}

/// A fault of the device under test.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFault {
    /// Kind of the fault.
    pub kind: String,
    /// Start of the fault, seconds after the start of the case.
    pub start_s: f64,
    /// Whether the fault affects the GNSS receiver at the device's GPS cable instead of the device itself.
    pub on_cable: bool,
    /// Further keys of the fault, with their values in TOML.
    pub keys: Vec<(String, String)>,
}

impl CaseFault {
    /// The fault as an inline TOML table for `device`, in a run in which the case starts after `settle_s` seconds.
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

/// A period without power.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerCut {
    /// Time of the power cut, seconds after the start of the case.
    pub off_s: f64,
    /// Time at which power returns, seconds after the start of the case.
    pub on_s: f64,
    /// `KEY=VALUE` settings of the rig after power returns; `{device}` stands for the device under test.
    pub set: Vec<String>,
}

/// A step of the clock of the driver's computer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockStep {
    /// Time of the step, seconds after the start of the case.
    pub at_s: f64,
    /// Step of the clock, seconds; negative for a step back.
    pub by_s: f64,
}

/// A form that is sent to the device's web interface.
#[derive(Clone, Debug, PartialEq)]
pub struct WebPost {
    /// Time of the request, seconds after the start of the case.
    pub at_s: f64,
    /// Path of the request, such as `/cgi/setting`.
    pub path: String,
    /// Body of the request, such as `rpm=300`.
    pub body: String,
}

/// A rogue sender: another program that sends datagrams to the driver or to the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Stranger {
    /// Kind of the data.
    pub sends: Sends,
    /// Time of the first datagram, seconds after the start of the case.
    pub start_s: f64,
    /// Duration, seconds.
    pub duration_s: f64,
    /// Datagrams per second; a second unit sends at its own rate.
    pub rate_hz: f64,
    /// Size of each random datagram, bytes (default: random sizes).
    pub size_bytes: Option<u16>,
    /// Source address of the datagrams, an address of this machine; with port 0, the system chooses the port.
    pub from: SocketAddr,
    /// `KEY=VALUE` settings of the second unit's rig.
    pub set: Vec<String>,
    /// Capture whose datagrams are sent as the data of a second unit (default: a recording by Menura).
    pub capture: Option<PathBuf>,
    /// Datagrams that are sent in turn, for [`Sends::Bytes`].
    pub datagrams: Vec<Vec<u8>>,
    /// Rig key of the device's command port that receives the datagrams (default: the driver receives them).
    pub to: Option<String>,
}

/// Kind of a rogue sender's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Random bytes, of random or fixed length.
    Garbage,
    /// Data of a second unit of the same product.
    Twin,
    /// Datagrams that the case lists, one after the other.
    Bytes,
}

impl Case {
    /// Whether the case applies to the profile of this name.
    pub fn fits_profile(&self, profile: &str) -> bool {
        self.profiles.is_empty() || self.profiles.iter().any(|pattern| fits(pattern, profile))
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for any characters.
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
