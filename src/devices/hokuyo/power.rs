//! Power-off, and the steps that it shares with a reboot.

use super::hosts::Host;
use super::{Hokuyo, Phase};
use crate::power_cycle::{back_at, next_cut};
use crate::time::SimTime;
use crate::wire::port::Peer;
use crate::{Output, PacketTruth};

impl Hokuyo {
    pub(super) fn next_cut(&self) -> Option<SimTime> {
        let is_off = matches!(self.phase, Phase::Off { .. });
        next_cut(&self.cuts, self.done_to).filter(|_| !is_off)
    }

    /// Cuts the power at `at`. When the power returns the scanner boots; no setting survives.
    pub(super) fn switch_off(&mut self, at: SimTime) {
        self.hang_up(at);
        self.phase = Phase::Off { until: back_at(&self.cuts, at) };
    }

    /// Drops scans, connections and requests.
    pub(super) fn hang_up(&mut self, at: SimTime) {
        self.reboot_asked = None;
        self.reboot_at = None;
        self.next_bit_rate = None;
        self.forget_scans();
        let closed: Vec<Peer> = self.hosts.iter().filter_map(|host| host.peer).collect();
        for peer in closed {
            self.push(at, 0, Output::Disconnect(peer), Vec::new(), PacketTruth::default());
        }
        self.hosts.retain(|host| host.peer.is_none());
        for host in &mut self.hosts {
            *host = Host::new(None);
        }
    }
}
