//! A master within Menura and the line to it, for slaves that exchange messages with no other clock. The line makes PTP
//! faults possible in recordings and driver tests without network access.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use super::master::{MasterSettings, PtpMaster};
use super::{DelayMechanism, PtpSend, PtpSettings};
use crate::time::{Epoch, SimTime};
use crate::wire::ptp::Transport;

/// Path delay in each direction, nanoseconds (an assumption: a switch and two short cables).
const PATH_NS: u64 = 2_000;
/// Address for documentation (RFC 5737), from which the master's identity is made.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SETTINGS: MasterSettings = MasterSettings {
    domain: 0,
    priority_1: 128,
    transport: Transport::Udp,
    delay: DelayMechanism::EndToEnd,
};

/// A virtual network line from a slave to a PTP master within Menura.
#[derive(Clone, Debug)]
pub struct VirtualLine {
    master: PtpMaster,
    /// Messages on the line: arrival time, direction (true: to the slave, false: to the master), bytes.
    under_way: VecDeque<(SimTime, bool, Vec<u8>)>,
}

impl VirtualLine {
    /// A line to a master whose clock has the UTC of the run.
    pub fn new(epoch: Epoch) -> Self {
        let master = PtpMaster::new(SETTINGS, ADDRESS, epoch, true);
        Self { master, under_way: VecDeque::new() }
    }

    /// Adopts transport and delay mechanism from the slave's settings; the master stays in domain 0.
    pub fn speak(&mut self, settings: &PtpSettings, now: SimTime) {
        self.under_way.clear();
        self.master.speak(settings.transport, settings.delay, now);
    }

    /// Time of the next event: a message arrives, or the master acts.
    pub fn due(&self) -> SimTime {
        let arrives = self.under_way.front().map(|(at, ..)| *at);
        arrives.map_or(self.master.due(), |at| at.min(self.master.due()))
    }

    /// Discards the messages on the line, because the slave is off until `up_at`. At `up_at`, the master sends the
    /// messages that are due by then.
    pub fn restart(&mut self, up_at: SimTime) {
        self.under_way.clear();
        self.master.advance(up_at);
        self.carry(up_at);
    }

    /// Processes the next event due at `at`: an arriving message, or, if none arrives, the actions of the master.
    /// Returns a message that arrives at the slave.
    pub fn advance(&mut self, at: SimTime) -> Option<Vec<u8>> {
        let arrived = self.under_way.pop_front_if(|(arrives, ..)| *arrives <= at);
        let to_slave = match arrived {
            Some((_, true, bytes)) => Some(bytes),
            Some((_, false, bytes)) => {
                self.master.hear(at, at, None, &bytes);
                None
            }
            None => {
                self.master.advance(at);
                None
            }
        };
        self.carry(at);
        to_slave
    }

    /// Sends a message of the slave at `at`.
    pub fn send(&mut self, at: SimTime, sent: PtpSend) {
        self.under_way.push_back((SimTime(at.0 + PATH_NS), false, sent.bytes));
    }

    fn carry(&mut self, at: SimTime) {
        while let Some(sent) = self.master.poll_send() {
            self.under_way.push_back((SimTime(at.0 + PATH_NS), true, sent.bytes));
            if let Some(key) = sent.key {
                self.master.left(key, at);
            }
        }
    }
}
