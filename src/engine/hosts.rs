//! Hosts of a run that is stepped by the work: a log that is repeated, or a program in simulated time.

use super::host_events::Said;
use super::host_log::Conversation;
use crate::config::rig::DeviceId;
use crate::devices::Output;
use crate::time::SimTime;

/// Whoever speaks to the devices of a run in simulated time.
///
/// All devices come to [`Hosts::next`]; what they have sent by then is heard, in the order of each
/// device; then the hosts speak. What they say depends on what they have heard, and so does the run.
pub trait Hosts {
    /// Time when they speak next; `None` if they never will.
    fn next(&self) -> Option<SimTime>;

    /// Receives bytes that leave `device` at `due`.
    fn hear(&mut self, _device: DeviceId, _due: SimTime, _output: &Output) {}

    /// The time has come to `now`, which is [`Hosts::next`]; what they say.
    fn speak(&mut self, now: SimTime) -> Vec<Said>;
}

/// No hosts.
#[derive(Clone, Copy, Debug)]
pub struct NoHosts;

impl Hosts for NoHosts {
    fn next(&self) -> Option<SimTime> {
        None
    }

    fn speak(&mut self, _now: SimTime) -> Vec<Said> {
        Vec::new()
    }
}

/// Hosts of an earlier run.
#[derive(Clone, Copy, Debug)]
pub struct Repeated<'a> {
    said: &'a [Said],
}

impl<'a> Repeated<'a> {
    /// Repeats what hosts sent in `conversation`.
    pub fn new(conversation: &'a Conversation) -> Self {
        Self { said: &conversation.said }
    }
}

impl Hosts for Repeated<'_> {
    fn next(&self) -> Option<SimTime> {
        // Right after the first instant at the soonest, as `Renderer::hear` has it.
        self.said.first().map(|said| said.at.max(SimTime(1)))
    }

    fn speak(&mut self, now: SimTime) -> Vec<Said> {
        let (due, later) = self.said.split_at(self.said.partition_point(|said| said.at <= now));
        self.said = later;
        due.to_vec()
    }
}
