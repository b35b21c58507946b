//! Error-free measurements of sensors other than lidars and cameras, as messages.

use serde_json::Value;

use super::kinds::Kind;
use super::poses::device_frame;
use super::{JsonMessage, kinds, messages};
use crate::sensors::{Measurement, Outcome, Subject};
use crate::time::{Epoch, SimTime};

/// Messages about a measurement of `device`, each with its time; none for lidars and cameras.
pub fn messages_of(
    device: &str,
    measurement: &Measurement,
    epoch: &Epoch,
) -> Vec<(SimTime, JsonMessage)> {
    let period_ns = match measurement.request.subject {
        Subject::Series { period_ns, .. } => period_ns,
        Subject::Instant | Subject::Sweep(_) | Subject::Tile(_) => 0,
    };
    let start = measurement.request.start;
    let at = |index: usize| SimTime(start.0 + index as u64 * period_ns);
    let mut all = Vec::new();
    let mut tell = |at: SimTime, what: &str, kind: &'static Kind, value: Value| {
        all.push((at, JsonMessage::of(format!("/devices/{device}/{what}"), kind, value)));
    };
    match &measurement.outcome {
        Outcome::Inertial(truths) => {
            for one in truths {
                tell(one.at, "imu", &kinds::INERTIAL, messages::inertial(one));
            }
        }
        Outcome::Sky(view) => {
            let stamp = messages::timestamp(epoch, start);
            tell(start, "sky", &kinds::SKY, messages::sky(start, view));
            let fix = messages::fix(&stamp, &device_frame(device), view);
            tell(start, "fix", &kinds::FIX, fix);
        }
        Outcome::Wheels(states) => {
            for (index, one) in states.iter().enumerate() {
                tell(at(index), "wheels", &kinds::WHEELS, messages::wheels(at(index), one));
            }
        }
        Outcome::Joint(states) => {
            for (index, one) in states.iter().enumerate() {
                tell(at(index), "joint", &kinds::JOINT, messages::joint(at(index), one));
            }
        }
        Outcome::Returns(_) | Outcome::Echoes(_) | Outcome::Pixels(_) => {}
    }
    all
}
