//! Data packets of a spinning lidar, from planning to output.

use super::backlog::{Backlog, Held, PacketPlan};
use super::program::Program;
use crate::Transmit;
use crate::sensors::fault::FaultEffect;
use crate::sensors::{Measurement, MeasurementRequest, Subject, Sweep};
use crate::time::SimTime;

/// Plans the data packets of a lidar, one after another.
pub trait Planner {
    type Mode: PartialEq;
    type Plan: PacketPlan;

    /// The next packet and its measurement request; `None` if the packet does not begin before `horizon`.
    fn next(
        &mut self,
        program: &Program<Self::Mode>,
        horizon: SimTime,
    ) -> Option<(Self::Plan, Sweep)>;

    /// Goes back to the first planned packet that a change at `from` affects, and returns it; `None` if the change
    /// affects no planned packet.
    fn undo(&mut self, from: SimTime) -> Option<Undone>;

    /// Drops state that only a change before `before` would need.
    fn forget(&mut self, before: SimTime);

    /// Earliest start of the next packet.
    fn position(&self) -> SimTime;
}

/// The first packet that will be planned again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undone {
    pub number: u64,
    /// End of the packet's last firing, as originally planned.
    pub ends: SimTime,
}

/// Plans packets and requests their measurements. Keeps measured packets until their timestamps are known. After a
/// change, withdraws the packets that the change affects.
pub struct PacketStream<P: Planner> {
    pub program: Program<P::Mode>,
    pub planner: P,
    /// Present time of the device.
    pub now: SimTime,
    backlog: Backlog<P::Plan>,
    /// Time from the end of a packet until it leaves, nanoseconds.
    lag_ns: u64,
    /// Whether a GNSS receiver is connected to the clock.
    is_wired: bool,
}

impl<P: Planner> PacketStream<P> {
    pub fn new(program: Program<P::Mode>, planner: P, lag_ns: u64) -> Self {
        Self {
            program,
            planner,
            now: SimTime::ZERO,
            backlog: Backlog::default(),
            lag_ns,
            is_wired: false,
        }
    }

    /// Connects a GNSS receiver to the clock: packets then wait until the receiver's signals are known.
    pub fn connect_receiver(&mut self) {
        self.is_wired = true;
    }

    /// Measurement request for the next packet; `None` if the packet does not begin before `horizon`.
    pub fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        let planner = &mut self.planner;
        let (plan, sweep) =
            self.program.planned(horizon, |program, known| planner.next(program, known))?;
        let start = plan.start();
        let index = self.backlog.ask(plan);
        Some(MeasurementRequest { index, start, subject: Subject::Sweep(sweep) })
    }

    /// Reserves the next request index. Call this for requests that measure no packet.
    pub fn count_request(&mut self) -> u64 {
        self.backlog.count_request()
    }

    /// The packet of `measurement`; `None` if the packet has been planned again.
    pub fn answered(&mut self, measurement: &Measurement) -> Option<P::Plan> {
        self.backlog.answered(measurement.request.index)
    }

    /// Stores a measured packet without its timestamp; the timestamp is the clock's time at `stamped`.
    pub fn hold(
        &mut self,
        plan: P::Plan,
        stamped: SimTime,
        measurement: &Measurement,
        packet: MeasuredPacket,
    ) {
        let MeasuredPacket { payload, points, mut fault_effects } = packet;
        let truth = measurement.truth.as_ref().into();
        fault_effects.extend(&measurement.fault_effects);
        fault_effects.extend(self.program.rotor().fault_effects(plan.start(), plan.last()));
        let due = SimTime(plan.ends().0 + self.lag_ns);
        self.backlog.hold(Held { plan, stamped, points, due, payload, fault_effects, truth });
    }

    /// Removes and returns the next packet, if its timestamp is final.
    pub fn next_known(&mut self) -> Option<Held<P::Plan>> {
        let known_to = if self.is_wired { self.now } else { SimTime(u64::MAX) };
        self.backlog.known_by(known_to)
    }

    pub fn send(&mut self, transmit: Transmit) {
        self.backlog.ready.push_back(transmit);
    }

    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.backlog.ready.pop_front()
    }

    /// Goes back to the first packet that a change at `from` affects. Later requests plan it and those after it again;
    /// those that are in the output already are revoked.
    pub fn plan_again(&mut self, from: SimTime) {
        let Some(Undone { number, ends }) = self.planner.undo(from) else { return };
        self.backlog.revoke(number, SimTime(ends.0 + self.lag_ns));
    }

    /// Advances the time to `now` and drops state that is no longer needed.
    pub fn advance(&mut self, now: SimTime) {
        self.now = self.now.max(now);
        self.planner.forget(self.now);
        self.program.look_ahead(self.now);
        let needed_from = self.needed_from();
        self.program.forget(needed_from);
    }

    /// Time from which state is still needed: by the next packet, by one that is being measured, or by a change.
    pub fn needed_from(&self) -> SimTime {
        let planned = self.backlog.oldest_start().unwrap_or(self.now);
        self.now.min(planned).min(self.planner.position())
    }
}

/// A packet made from a measurement.
pub struct MeasuredPacket {
    pub payload: Vec<u8>,
    /// Number of points with a return.
    pub points: u32,
    /// Effects of faults; [`PacketStream::hold`] adds the effects of faults of the optics and the rotor.
    pub fault_effects: Vec<FaultEffect>,
}
