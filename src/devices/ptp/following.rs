//! Selection of the master that a slave follows.

use std::net::Ipv4Addr;

use super::{DelayMechanism, Master, PendingSync, PtpSlave, interval_ns};
use crate::time::SimTime;
use crate::wire::ptp::management::ANY_PORT;
use crate::wire::ptp::{Announce, Body, Message, PortIdentity, Target, suffix};

impl PtpSlave {
    /// Whether an announcement of the port `source`, sent from the address `from`, is accepted. With unicast, only
    /// announcements of configured masters are accepted.
    pub(super) fn is_heard(&mut self, from: Option<Ipv4Addr>, source: PortIdentity) -> bool {
        !self.asked.is_on() || from.is_some_and(|from| self.asked.note(from, source))
    }

    /// Makes the port `source` the master, although it sends Sync without announcements. Does nothing if the slave
    /// already follows a master.
    pub(super) fn adopt(&mut self, source: PortIdentity) {
        if self.followed().is_none() {
            self.lose_master();
            self.is_followed = true;
            self.parent = Some(Master::unannounced(source));
            self.next_request = self.next_draw();
        }
    }

    /// Sends the due requests for unicast messages to the configured masters.
    pub(super) fn ask_for_unicast(&mut self) {
        let logs = [self.settings.log_announce, self.settings.log_sync, self.settings.log_delay];
        for (host, parts) in self.asked.ask(self.now, self.followed(), logs) {
            self.sequence = self.sequence.wrapping_add(1);
            let body = Body::Signaling(ANY_PORT);
            let suffix = suffix::to_bytes(&parts);
            let message = Message::new(self.settings.domain, self.port, self.sequence, body);
            self.send_to(Target::Host(host), Message { suffix, ..message });
        }
    }

    pub(super) fn hear_announce(&mut self, message: &Message, announce: &Announce) {
        let followed = self.followed();
        let (source, flags) = (message.source, message.flags);
        self.masters.hear(self.now, source, announce, flags, followed);
        if followed == Some(source) {
            self.announce_due = self.announced_until();
        }
        self.choose();
    }

    pub(super) fn followed(&self) -> Option<PortIdentity> {
        self.parent.as_ref().filter(|_| self.is_followed).map(|parent| parent.source)
    }

    pub(super) fn announced_until(&self) -> SimTime {
        let timeout = u64::from(self.settings.announce_timeout.max(2));
        SimTime(self.now.0.saturating_add(timeout * interval_ns(self.settings.log_announce)))
    }

    pub(super) fn synchronised_until(&self) -> SimTime {
        match u64::from(self.settings.sync_timeout) {
            0 => SimTime(u64::MAX),
            timeout => SimTime(self.now.0.saturating_add(timeout * interval_ns(self.log_sync))),
        }
    }

    /// Selects the best qualified master, and follows it.
    pub(super) fn choose(&mut self) {
        if !self.settings.is_announced {
            return;
        }
        let followed = self.followed();
        let interval_ns = interval_ns(self.settings.log_announce);
        let Some(best) = self.masters.best(self.now, interval_ns, followed) else { return };
        let best = best.clone();
        if followed != Some(best.source) {
            self.lose_master();
            self.is_followed = true;
            self.announce_due = self.announced_until();
            self.sync_due = self.synchronised_until();
            if self.settings.delay == DelayMechanism::EndToEnd {
                self.next_request = self.next_draw();
            }
        }
        self.parent = Some(best);
    }

    /// Stops following a master; the clock keeps its last rate.
    pub(super) fn lose_master(&mut self) {
        self.is_followed = false;
        (self.announce_due, self.sync_due) = (SimTime(u64::MAX), SimTime(u64::MAX));
        self.sync = PendingSync::default();
        self.latest = None;
        // The path delay to another master can differ; the delay to the neighbour stays the same.
        if self.settings.delay == DelayMechanism::EndToEnd {
            self.forget_delay();
        }
    }
}
