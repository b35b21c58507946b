//! Events other than scans: evaluation fields, inputs and outputs.
//!
//! A host that subscribes gets the present state at once, as in a log of an LMS511, and then every change.

use super::SickLms1xx;
use super::scans::{Clocks, since_1970};
use crate::Output;
use crate::sick_lms1xx::profile::Protocol;
use crate::time::SimTime;
use crate::wire::cola::scan_data::ClockTime;
use crate::wire::cola::telegram::{Kind, Telegram, Value};
use crate::wire::cola::{Dialect, frame};

/// Names of the events.
pub const EVENTS: [&str; 3] = ["LFErec", "LIDoutputstate", "LIDinputstate"];
/// Number of outputs of an extension in LIDoutputstate; the extension is not connected.
const EXTERNAL: usize = 8;
/// State of an output that does not exist.
const ABSENT: u8 = 2;

/// Digital outputs.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// Number of changes of each output.
    changes: Vec<u32>,
    /// Time of the last change.
    changed: SimTime,
    /// Bits of the outputs in LMDscandata; a bit is set while its output is on.
    pub bits: [u8; 2],
}

impl Outputs {
    /// Outputs at power-on. `ready`, the end of the start-up or the start of the run, counts as their last change.
    pub fn new(protocol: &Protocol, ready: SimTime) -> Self {
        let changes = vec![protocol.output_changes; usize::from(protocol.outputs)];
        Self { changes, changed: ready, bits: protocol.digital_outputs }
    }

    /// Sets an output (numbered from 1) at `now`; returns whether it changed. `None` for an unknown output or state.
    pub fn set(&mut self, now: SimTime, number: u8, state: u8) -> Option<bool> {
        let output = usize::from(number).checked_sub(1)?;
        let changes = self.changes.get_mut(output).filter(|_| state <= 1)?;
        let is_other = self.bits[0] >> output & 1 != state;
        if is_other {
            *changes = changes.wrapping_add(1);
            self.changed = now;
            self.bits[0] ^= 1 << output;
        }
        Some(is_other)
    }

    /// Resets the counters of changes.
    pub fn reset_changes(&mut self) {
        self.changes.fill(0);
    }

    /// Values of LIDoutputstate in a version of the telegram.
    fn values(&self, version: u16, clocks: &Clocks) -> Vec<Value> {
        let own = self.changes.iter().zip(0u32..);
        let own = own.map(|(changes, output)| (self.bits[0] >> output & 1, *changes));
        let pairs = own.chain([(ABSENT, 0); EXTERNAL]);
        let pairs = pairs.flat_map(|(state, changes)| [Value::U8(state), Value::U32(changes)]);
        let (changed_us, time) = match version {
            0 => (0, vec![Value::U16(0)]),
            _ => (clocks.uptime_us(self.changed), time_values(&clocks.time(self.changed))),
        };
        let head = [Value::U16(version), Value::U32(changed_us)];
        head.into_iter().chain(pairs).chain(time).collect()
    }
}

/// Values of a time at the end of a telegram with states.
fn time_values(time: &ClockTime) -> Vec<Value> {
    let ClockTime { year, month, day, hour, minute, second, microsecond } = *time;
    let bytes = [month, day, hour, minute, second].map(Value::U8);
    [Value::U16(1), Value::U16(year)]
        .into_iter()
        .chain(bytes)
        .chain([Value::U32(microsecond)])
        .collect()
}

impl SickLms1xx {
    /// Values of an event, or of the variable with the same name; `None` for an unknown name.
    pub(super) fn state_of(&self, event: &str) -> Option<Vec<Value>> {
        let Protocol { telegram_version: version, inputs_read_us, inputs_read_clock_us, .. } =
            self.profile.protocol;
        Some(match event {
            // No evaluation field is configured.
            "LFErec" => vec![Value::U16(0)],
            "LIDoutputstate" => self.outputs.values(version, &self.clocks),
            "LIDinputstate" => {
                let inputs = [const { Value::U8(0) }; 4];
                let head = [Value::U16(version), Value::U32(inputs_read_us)].into_iter();
                let read = since_1970(SimTime(1000 * u64::from(inputs_read_clock_us)));
                head.chain(inputs).chain(time_values(&read)).collect()
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
