//! Hosts in a run without real time: a log that is replayed, or a program in simulated time.

use super::host_events::HostInput;
use super::host_log::Conversation;
use crate::config::rig::DeviceId;
use crate::devices::Output;
use crate::time::SimTime;

/// Hosts that communicate with the devices of a run in simulated time.
///
/// All devices advance to the time of [`Hosts::next`]. Then the hosts receive each device's output up to that time, in
/// order of due time. Then the hosts send; their commands may depend on the received output.
pub trait Hosts {
    /// Time at which the hosts send next; `None`: never again.
    fn next(&self) -> Option<SimTime>;

    /// Receives an output that leaves `device` at `due`.
    fn hear(&mut self, _device: DeviceId, _due: SimTime, _output: &Output) {}

    /// Returns the inputs that the hosts send at `now`, the time that [`Hosts::next`] returned.
    fn speak(&mut self, now: SimTime) -> Vec<HostInput>;
}

/// Hosts of a run that has none: they never send.
#[derive(Clone, Copy, Debug)]
pub struct NoHosts;

impl Hosts for NoHosts {
    fn next(&self) -> Option<SimTime> {
        None
    }

    fn speak(&mut self, _now: SimTime) -> Vec<HostInput> {
        Vec::new()
    }
}

/// Replays the hosts of an earlier run.
#[derive(Clone, Copy, Debug)]
pub struct Repeated<'a> {
    inputs: &'a [HostInput],
}

impl<'a> Repeated<'a> {
    /// Replays the host events of `conversation`.
    pub fn new(conversation: &'a Conversation) -> Self {
        Self { inputs: &conversation.inputs }
    }
}

impl Hosts for Repeated<'_> {
    fn next(&self) -> Option<SimTime> {
        // At the earliest 1 ns after the start of the run, as in `Renderer::hear`.
        self.inputs.first().map(|input| input.at.max(SimTime(1)))
    }

    fn speak(&mut self, now: SimTime) -> Vec<HostInput> {
        let (due, later) =
            self.inputs.split_at(self.inputs.partition_point(|input| input.at <= now));
        self.inputs = later;
        due.to_vec()
    }
}
