//! Events other than scans: evaluation fields, inputs and outputs.
//!
//! A host that subscribes gets the present state at once, as in a log of an LMS511, and then every change.

use super::SickLms1xx;
use crate::Output;
use crate::sick_lms1xx::profile::Protocol;
use crate::time::SimTime;
use crate::wire::cola::telegram::{Kind, Telegram, Value};
use crate::wire::cola::{Dialect, frame};

/// Names of the events.
pub const EVENTS: [&str; 3] = ["LFErec", "LIDoutputstate", "LIDinputstate"];
/// Number of the scanner's own outputs in LIDoutputstate.
const OUTPUTS: usize = 6;
/// Number of outputs of an extension in LIDoutputstate; the extension is not connected.
const EXTERNAL: usize = 8;
/// State of an output that does not exist.
const ABSENT: u8 = 2;

/// Digital outputs, each with its state and its number of changes.
#[derive(Clone, Debug)]
pub struct Outputs {
    states: [u8; OUTPUTS],
    changes: [u32; OUTPUTS],
    /// Bits of the outputs in LMDscandata; a bit is set while its output is low.
    pub bits: [u8; 2],
}

impl Outputs {
    /// Outputs at power-on.
    pub fn new(protocol: &Protocol) -> Self {
        let is_there = |output: usize| output < usize::from(protocol.outputs);
        Self {
            states: std::array::from_fn(|output| if is_there(output) { 0 } else { ABSENT }),
            changes: std::array::from_fn(|output| {
                if is_there(output) { protocol.output_changes } else { 0 }
            }),
            bits: protocol.digital_outputs,
        }
    }

    /// Sets an output (numbered from 1); returns whether it changed. `None` for an unknown output or state.
    pub fn set(&mut self, number: u8, state: u8) -> Option<bool> {
        let output = usize::from(number).checked_sub(1)?;
        let known = self.states.get_mut(output).filter(|known| **known != ABSENT && state <= 1)?;
        let is_other = *known != state;
        *known = state;
        self.changes[output] = self.changes[output].wrapping_add(is_other.into());
        // In LMDscandata, an output's bit is set while the output is low.
        let bit = 1 << output;
        self.bits[0] = if state == 0 { self.bits[0] | bit } else { self.bits[0] & !bit };
        Some(is_other)
    }

    /// Resets the counters of changes.
    pub fn reset_changes(&mut self) {
        self.changes = [0; OUTPUTS];
    }

    fn values(&self) -> Vec<Value> {
        let own = self.states.iter().copied().zip(self.changes);
        let pairs = own.chain([(ABSENT, 0); EXTERNAL]);
        let pairs = pairs.flat_map(|(state, changes)| [Value::U8(state), Value::U32(changes)]);
        [Value::U16(0), Value::U32(0)].into_iter().chain(pairs).chain([Value::U16(0)]).collect()
    }
}

impl SickLms1xx {
    /// Values of an event, or of the variable with the same name; `None` for an unknown name.
    pub(super) fn state_of(&self, event: &str) -> Option<Vec<Value>> {
        Some(match event {
            // No evaluation field is configured.
            "LFErec" => vec![Value::U16(0)],
            "LIDoutputstate" => self.outputs.values(),
            "LIDinputstate" => {
                let inputs = [const { Value::U8(0) }; 4];
                let head = [Value::U16(0), Value::U32(0)].into_iter();
                head.chain(inputs).chain([Value::U16(0)]).collect()
            }
            _ => return None,
        })
    }

    /// Sends the event `EVENTS[event]` to all hosts that subscribe to it, or only to the host with the index `only`.
    /// The telegram leaves later than the answer to the host's command, because drivers expect to receive the answer
    /// alone.
    pub(super) fn tell_event(&mut self, at: SimTime, event: usize, only: Option<usize>) {
        let Some(values) = self.state_of(EVENTS[event]) else { return };
        let telegram = Telegram::new(Kind::Happened, EVENTS[event], values);
        let subscribed: Vec<_> = self
            .clients
            .iter()
            .enumerate()
            .filter(|(client, _)| only.is_none_or(|only| only == *client))
            .filter_map(|(_, host)| Some((host.peer, host.events[event]?)))
            .collect();
        let at = SimTime(at.0 + self.profile.protocol.reply_ns);
        for (peer, dialect) in subscribed {
            let bytes = frame::emit(dialect, &telegram.emit(dialect));
            self.send(at, 0, Output::BytesTo(peer, bytes), &[], &Default::default());
        }
    }

    /// Subscribes a host to an event, or ends the subscription.
    pub(super) fn subscribe_event(&mut self, client: usize, event: &str, to: Option<Dialect>) {
        if let Some(place) = EVENTS.iter().position(|known| *known == event) {
            self.clients[client].events[place] = to;
            self.happened.extend(to.map(|_| (client, place)));
        }
    }
}
