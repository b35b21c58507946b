//! Packets in progress: being measured, waiting for their timestamps, or ready to leave.

use std::collections::VecDeque;

use crate::config::profile::network::PortIndex;
use crate::sensors::fault::FaultEffect;
use crate::time::SimTime;
use crate::{Output, PacketTruth, Transmit};

/// Data of a planned packet that are known before its measurement.
pub trait PacketPlan {
    /// Number of the packet; a packet that is planned again keeps it.
    fn number(&self) -> u64;

    /// Time of the packet's first firing.
    fn start(&self) -> SimTime;

    /// Last time at which a change of settings or a stall of the rotor can affect the packet, usually the time of its
    /// last firing.
    fn last(&self) -> SimTime;

    /// End of the packet's last firing.
    fn ends(&self) -> SimTime;

    /// The packet's timestamps are final when all clock signals up to this time are known.
    fn clock_needed_to(&self) -> SimTime {
        self.start()
    }
}

/// Packets of one device by stage, each stage in the order of packet numbers.
#[derive(Debug)]
pub struct Backlog<P> {
    next_request: u64,
    /// Packets that are being measured, each with the index of its request.
    planned: VecDeque<(u64, P)>,
    /// Measured packets that wait for their timestamps.
    held: VecDeque<Held<P>>,
    /// Complete outputs, due now or later.
    pub ready: VecDeque<Transmit>,
}

/// A packet that waits for its timestamp.
#[derive(Debug)]
pub struct Held<P> {
    pub plan: P,
    /// Time at which the packet's timestamp is taken.
    pub stamped: SimTime,
    /// Number of points with a return.
    pub points: u32,
    pub due: SimTime,
    /// The packet's bytes, without the timestamp.
    pub payload: Vec<u8>,
    pub fault_effects: Vec<FaultEffect>,
    pub truth: PacketTruth,
}

impl<P> From<Held<P>> for Transmit {
    fn from(held: Held<P>) -> Self {
        let Held { points, fault_effects, truth, .. } = held;
        Self { points, fault_effects, truth, ..Self::datagram(held.due, held.payload) }
    }
}

impl<P: PacketPlan> Backlog<P> {
    /// Reserves the next request index. Call this for requests that measure no packet.
    pub fn count_request(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request - 1
    }

    /// Registers the request to measure `plan`; returns its index.
    pub fn ask(&mut self, plan: P) -> u64 {
        let index = self.count_request();
        self.planned.push_back((index, plan));
        index
    }

    /// Removes and returns the packet of request `index`; `None` if the packet has been planned again. Earlier packets
    /// without a measurement are dropped, because their requests were revoked.
    pub fn answered(&mut self, index: u64) -> Option<P> {
        while self.planned.pop_front_if(|(asked, _)| *asked < index).is_some() {}
        self.planned.pop_front_if(|(asked, _)| *asked == index).map(|(_, plan)| plan)
    }

    /// Time of the first firing of the oldest packet that is being measured.
    pub fn oldest_start(&self) -> Option<SimTime> {
        self.planned.front().map(|(_, plan)| plan.start())
    }

    /// Adds a packet that waits for its timestamp.
    pub fn hold(&mut self, packet: Held<P>) {
        self.held.push_back(packet);
    }

    /// Removes and returns the next packet, if its timestamp is final. All clock signals up to `known_to` are known;
    /// later ones can still change timestamps.
    pub fn known_by(&mut self, known_to: SimTime) -> Option<Held<P>> {
        self.held.pop_front_if(|held| held.plan.clock_needed_to() <= known_to)
    }

    /// Drops the incomplete packets from `number` on and the complete ones that are due at `due` or later. An
    /// [`Output::Revoke`] withdraws complete packets that were already taken from [`Self::ready`].
    pub fn revoke(&mut self, number: u64, due: SimTime) {
        self.planned.retain(|(_, plan)| plan.number() < number);
        self.held.retain(|held| held.plan.number() < number);
        let port = PortIndex::DATA;
        self.ready.retain(|transmit| transmit.due < due || transmit.output.port() != Some(port));
        self.ready.push_back(Transmit::new(due, Output::Revoke(port)));
    }
}

impl<P> Default for Backlog<P> {
    fn default() -> Self {
        Self {
            next_request: 0,
            planned: VecDeque::new(),
            held: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packet `n` begins at `10 n` ns and is due at `10 n + 10` ns.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Plan(u64);

    impl PacketPlan for Plan {
        fn number(&self) -> u64 {
            self.0
        }

        fn start(&self) -> SimTime {
            SimTime(self.0 * 10)
        }

        fn last(&self) -> SimTime {
            self.ends()
        }

        fn ends(&self) -> SimTime {
            due(self.0)
        }
    }

    fn due(number: u64) -> SimTime {
        SimTime(number * 10 + 10)
    }

    fn hold(backlog: &mut Backlog<Plan>, plan: Plan) {
        let (stamped, due) = (plan.start(), due(plan.0));
        let (payload, fault_effects) = (Vec::new(), Vec::new());
        let truth = PacketTruth::default();
        backlog.hold(Held { plan, stamped, points: 0, due, payload, fault_effects, truth });
    }

    #[test]
    fn what_was_given_up_or_planned_again_is_not_answered() {
        let mut backlog = Backlog::default();
        let asked: Vec<_> = (0..4).map(|number| backlog.ask(Plan(number))).collect();
        assert_eq!(backlog.answered(asked[1]), Some(Plan(1)), "packet 0 was given up");
        assert_eq!(backlog.oldest_start(), Some(SimTime(20)));
        backlog.revoke(3, due(3));
        assert_eq!(backlog.ask(Plan(3)), 4);
        assert_eq!(backlog.answered(2), Some(Plan(2)));
        assert_eq!(backlog.answered(3), None, "it was planned again");
        assert_eq!(backlog.answered(4), Some(Plan(3)));
    }

    #[test]
    fn a_revocation_leaves_what_came_before_and_what_is_no_packet() {
        let mut backlog = Backlog::default();
        hold(&mut backlog, Plan(3));
        hold(&mut backlog, Plan(4));
        backlog.ready.push_back(Transmit::datagram(due(1), Vec::new()));
        backlog.ready.push_back(Transmit::datagram(due(2), Vec::new()));
        let position = Output::Datagram { port: PortIndex(1), bytes: Vec::new() };
        backlog.ready.push_back(Transmit::new(due(2), position.clone()));
        backlog.revoke(2, due(2));
        assert!(backlog.known_by(SimTime(1000)).is_none());
        let left: Vec<_> = backlog.ready.iter().map(|t| (t.due, t.output.clone())).collect();
        let data = (due(1), Transmit::datagram(due(1), Vec::new()).output);
        let revocation = (due(2), Output::Revoke(PortIndex::DATA));
        assert_eq!(left, [data, (due(2), position), revocation]);
    }

    #[test]
    fn a_packet_waits_until_its_first_firing_has_been_heard_of() {
        let mut backlog = Backlog::default();
        hold(&mut backlog, Plan(1));
        assert!(backlog.known_by(SimTime(9)).is_none());
        assert_eq!(backlog.known_by(SimTime(10)).map(|held| held.plan), Some(Plan(1)));
    }
}
