//! Faults that are started and ended while a rig runs: requests and the list of faults.
//!
//! A client (`menura fault`, the live view) sends its request to the [`FaultControl`] of the run. The scheduler chooses
//! the time of effect, later than all measurements and output so far. So the same fault as a `[[fault]]` with that time
//! as `start_s` gives the same bytes.

use std::sync::Mutex;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::profile::Catalogue;
use crate::config::rig::fault_read::live_fault;
use crate::config::rig::faults::{FaultConfig, FaultKind, WireFault};
use crate::config::rig::joints::JointJam;
use crate::config::rig::schedule::Schedule;
use crate::config::rig::{DeviceId, Rig};
use crate::time::SimTime;

/// Largest number of faults that are added during a run.
pub const MOST_FAULTS: usize = 1000;
/// Largest size of a request, bytes; larger requests are refused.
pub const MAX_REQUEST: usize = 4096;
/// Largest number of requests that wait for the scheduler; further ones are refused.
const ORDER_QUEUE: usize = 16;
/// Longest time to wait for the scheduler.
const PATIENCE: Duration = Duration::from_secs(2);

/// Key that is added to the keys of a live fault in the log; its value is the serial number of the request that started
/// the fault.
pub const TOLD: &str = "told";

/// A client's request, as JSON: `{"start": {"device": …, "kind": …}}`, `{"end": "NAME"}`, `"list"`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultRequest {
    /// Start a fault. The map has the keys of a `[[fault]]` except `start_s` and `period_s`.
    Start(Map<String, Value>),
    /// End the fault of this name.
    End(String),
    /// List the devices of the run, and the faults that were started while it ran.
    List,
}

impl FaultRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// A message for the user about the error in the request.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MAX_REQUEST {
            return Err(format!("a request has at most {MAX_REQUEST} bytes"));
        }
        serde_json::from_slice(bytes).map_err(|error| {
            format!(
                "not a request: {error}; allowed: {{\"start\": {{\"device\": \"NAME\", \"kind\": \
                 \"KIND\", …}}}}, {{\"end\": \"NAME\"}}, \"list\""
            )
        })
    }
}

/// Converts the keys of a fault to TOML, for the rig reader.
///
/// # Errors
/// TOML cannot express a value.
pub fn toml_of(keys: &Map<String, Value>) -> Result<String, String> {
    let table = toml::Table::try_from(keys);
    let text = table.map_err(|error| error.to_string());
    text.and_then(|table| toml::to_string(&table).map_err(|error| error.to_string())).map_err(
        |error| {
            format!("values of a fault's keys must be numbers, strings or lists of them: {error}")
        },
    )
}

/// A fault that was added during a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveFault {
    /// Name of the fault, unique in the run.
    pub name: String,
    /// Name of the device, from the rig.
    pub device: String,
    /// Kind of the fault, as in the key `kind` of a `[[fault]]`.
    pub kind: String,
    /// Time at which the fault takes effect, nanoseconds since the first instant.
    pub begins_ns: u64,
    /// Time at which the fault ends, nanoseconds since the first instant; `None` while unknown.
    pub ends_ns: Option<u64>,
}

/// Request to the scheduler of a run.
pub enum FaultOrder {
    /// Start a fault.
    Begin {
        /// The fault; the scheduler sets its schedule.
        config: Box<FaultConfig>,
        /// Duration; `None` for a fault that ends on request.
        duration_ns: Option<u64>,
        /// All keys of the fault as a line of JSON.
        keys: String,
        /// Keys of the fault in TOML, for the other ranks.
        text: String,
        /// Channel for the answer.
        reply: Sender<Result<LiveFault, String>>,
    },
    /// End a fault.
    End {
        /// Name of the fault.
        name: String,
        /// Channel for the answer.
        reply: Sender<Result<LiveFault, String>>,
    },
}

/// Takes requests for faults of a run and passes them to the scheduler.
pub struct FaultControl {
    orders: Sender<FaultOrder>,
    inbox: Receiver<FaultOrder>,
    active: Mutex<ActiveFaults>,
}

#[derive(Default)]
struct ActiveFaults {
    faults: Vec<LiveFault>,
    /// Live faults of links and NTRIP casters: number of the fault in the run, device, schedule, fault.
    wires: Vec<(usize, DeviceId, Schedule, WireFault)>,
    asked: u64,
}

impl Default for FaultControl {
    fn default() -> Self {
        let (orders, inbox) = bounded(ORDER_QUEUE);
        Self { orders, inbox, active: Mutex::default() }
    }
}

impl FaultControl {
    /// Reads the keys of a fault for `rig` and starts the fault as soon as possible.
    ///
    /// # Errors
    /// A message for the user about the errors in the keys, or the reason for a refusal.
    pub fn start(
        &self,
        rig: &Rig,
        mut keys: Map<String, Value>,
        catalogue: &Catalogue,
    ) -> Result<LiveFault, String> {
        let text = toml_of(&keys)?;
        let told = {
            let mut active = self.active.lock().expect("no holder panics");
            active.asked += 1;
            active.asked
        };
        let default_name = format!("live-{told}");
        let read = live_fault(&text, rig, &default_name, catalogue);
        let (config, duration_ns) = read.map_err(|told| told.render(false))?;
        if let FaultKind::Device(kind) = &config.kind
            && kind.get::<JointJam>().is_some()
        {
            return Err(format!(
                "\"{}\" cannot start during a run, because the motion of joints is computed \
                 before; write it into the rig as [[fault]]",
                config.word
            ));
        }
        for key in ["name", "duration_s"] {
            keys.shift_remove(key);
        }
        // The number in the log shows the order of the requests, in which faults of one device act.
        keys.insert(TOLD.to_owned(), told.into());
        let keys = Value::Object(keys).to_string();
        let config = Box::new(config);
        self.ask(|reply| FaultOrder::Begin { config, duration_ns, keys, text, reply })
    }

    /// Ends the fault of that name as soon as possible.
    ///
    /// # Errors
    /// A message for the user with the reason for the refusal.
    pub fn end(&self, name: &str) -> Result<LiveFault, String> {
        let name = name.to_owned();
        self.ask(|reply| FaultOrder::End { name, reply })
    }

    fn ask(
        &self,
        order: impl FnOnce(Sender<Result<LiveFault, String>>) -> FaultOrder,
    ) -> Result<LiveFault, String> {
        let (reply, answer) = bounded(1);
        self.orders.try_send(order(reply)).map_err(|_| "the run is busy: try again".to_owned())?;
        answer.recv_timeout(PATIENCE).map_err(|_| {
            "the run has not answered: it has ended, or it is busy and may still carry out the \
             request; check its list of faults"
                .to_owned()
        })?
    }

    /// All faults that were started while the rig ran, in the order of their start.
    pub fn faults(&self) -> Vec<LiveFault> {
        self.active.lock().expect("no holder panics").faults.clone()
    }

    /// Whether one of the live faults interrupts the link of `device` at time `at`.
    pub fn is_down(&self, device: DeviceId, at: SimTime) -> bool {
        let down = |fault: &WireFault| (*fault == WireFault::LinkDown).then_some(());
        self.find_wire(device, at, down).is_some()
    }

    /// Calls `of` for each live fault of the link or NTRIP caster of `device` that is active at `at`; returns the first
    /// result.
    pub fn find_wire<T>(
        &self,
        device: DeviceId,
        at: SimTime,
        of: impl Fn(&WireFault) -> Option<T>,
    ) -> Option<T> {
        let active = self.active.lock().expect("no holder panics");
        let own = active.wires.iter().filter(|(_, id, ..)| *id == device);
        own.filter(|(_, _, schedule, _)| schedule.window_at(at).is_some())
            .find_map(|(.., fault)| of(fault))
    }

    /// Queue of requests for the scheduler.
    pub fn orders(&self) -> &Receiver<FaultOrder> {
        &self.inbox
    }

    /// Records that fault number `index` of the run, `config`, was started. The scheduler calls this.
    pub fn note_begin(&self, index: usize, config: &FaultConfig, fault: LiveFault) {
        let mut active = self.active.lock().expect("no holder panics");
        active.faults.push(fault);
        if let FaultKind::Wire(fault) = &config.kind {
            active.wires.push((index, DeviceId(config.device), config.schedule, fault.clone()));
        }
    }

    /// Records the end of fault number `index`; its new `schedule` contains the end. Returns the fault; `None` if no
    /// live fault has the name `name`. The scheduler calls this.
    pub fn note_end(&self, index: usize, name: &str, schedule: Schedule) -> Option<LiveFault> {
        let mut active = self.active.lock().expect("no holder panics");
        for (_, _, known, _) in active.wires.iter_mut().filter(|(place, ..)| *place == index) {
            *known = schedule;
        }
        let fault = active.faults.iter_mut().find(|fault| fault.name == name)?;
        fault.ends_ns = schedule.window(0).1.map(|end| end.0);
        Some(fault.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_or_refused_in_words() {
        let parse = |text: &str| FaultRequest::parse(text.as_bytes());
        assert_eq!(parse("\"list\""), Ok(FaultRequest::List));
        assert_eq!(parse(r#"{"end": "a"}"#), Ok(FaultRequest::End("a".into())));
        let Ok(FaultRequest::Start(keys)) = parse(r#"{"start": {"lasers": [1, 2], "rate": 0.5}}"#)
        else {
            panic!("a start")
        };
        assert_eq!(toml_of(&keys).unwrap(), "lasers = [1, 2]\nrate = 0.5\n");
        for wrong in ["", "{", "\"stop\"", r#"{"start": 5}"#, r#"{"end": "a", "start": {}}"#] {
            assert!(parse(wrong).unwrap_err().contains("allowed: "), "{wrong}");
        }
        let Ok(FaultRequest::Start(keys)) = parse(r#"{"start": {"rate": null}}"#) else {
            panic!("JSON has it")
        };
        assert!(toml_of(&keys).unwrap_err().contains("numbers, strings"));
        assert!(FaultRequest::parse(&vec![b' '; MAX_REQUEST + 1]).unwrap_err().contains("4096"));
    }
}
