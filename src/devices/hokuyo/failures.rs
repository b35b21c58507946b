//! Failures: the motor is stalled, or `DB` simulates a failure.
//!
//! The scanner first pauses to verify the error. If the error persists, the scanner fails. A stream reports both
//! events.

use super::profile::Code;
use super::{Hokuyo, Phase, Simulation};
use crate::PacketTruth;
use crate::config::rig::faults::Timed;
use crate::motor_stall::MotorStall;
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::time::SimTime;
use crate::wire::scip::message::Message;

/// `DB` simulates failures 3 to 5 only in streams for which the host requested more than this number of scans.
const SIMULATED_IN_STREAMS_OVER: u32 = 20;

impl Hokuyo {
    /// Time at which the next stall stops the motor: now, if a stall is active. `None` without a further stall, or in
    /// states in which the motor does not run.
    pub(super) fn next_hold(&self) -> Option<SimTime> {
        let turns = matches!(
            self.phase,
            Phase::Standby
                | Phase::Single
                | Phase::Streaming
                | Phase::TimeAdjustment
                | Phase::Waking { .. }
        );
        let from = self.done_to;
        let next = |stall: &Timed<MotorStall>| match stall.is_on(from) {
            true => Some(from),
            false => stall.schedule.next_opening(from),
        };
        self.stalls.iter().filter(|_| turns).filter_map(next).min()
    }

    /// Time at which a motor that is stalled at `at` is at full speed again; `None`: never.
    pub(super) fn let_go(&self, at: SimTime) -> Option<SimTime> {
        let closes = |stall: &Timed<MotorStall>| {
            let window = stall.schedule.window_at(at)?;
            Some(stall.schedule.window(window).1)
        };
        // The stall that ends last determines the time.
        let last =
            self.stalls.iter().filter_map(closes).reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b)));
        let closes = last.unwrap_or(Some(at))?;
        Some(SimTime(closes.0.saturating_add(self.profile.motor.spin_up_ns)))
    }

    pub(super) fn hold(&mut self, at: SimTime) {
        let gives_up = SimTime(at.0 + self.profile.failure.verify_ns);
        match self.let_go(at).filter(|turns| *turns <= gives_up) {
            Some(until) => self.verify(at, until, true),
            None => self.verify(at, gives_up, false),
        }
    }

    /// Updates the time at which a motor stalled at `at` runs again, because the faults have changed.
    pub(super) fn reconsider_hold(&mut self, at: SimTime) {
        let Some(turns) = self.let_go(at).filter(|turns| *turns > at) else { return };
        match self.phase {
            Phase::Verifying { until, resumes: false, laser } if turns <= until => {
                self.phase = Phase::Verifying { until: turns, resumes: true, laser };
            }
            Phase::Failed { until: None }
                if self.profile.failure.recovers
                    && !self.simulation.is_some_and(|simulation| simulation.has_failed) =>
            {
                self.phase = Phase::Failed { until: Some(turns) };
            }
            _ => {}
        }
    }

    /// Pauses until `until` to verify an error. `resumes`: the error is over by then; otherwise the scanner fails.
    fn verify(&mut self, at: SimTime, until: SimTime, resumes: bool) {
        let laser = matches!(
            self.phase,
            Phase::Single | Phase::Streaming | Phase::Waking { laser: true, .. }
        );
        self.refuse_single(at);
        self.phase = Phase::Verifying { until, resumes, laser };
        self.say_in_stream(at, self.profile.statuses.verifying);
        self.continue_stream(at);
    }

    pub(super) fn resume(&mut self, at: SimTime, laser: bool) {
        if self.stream.is_some() {
            self.phase = Phase::Streaming;
            self.say_in_stream(at, self.profile.statuses.resumed);
            self.continue_stream(at);
        } else {
            self.phase = if laser { Phase::Single } else { Phase::Standby };
        }
    }

    /// Enters the failed state; `turns` is the time at which the motor is at full speed again, `None`: never.
    pub(super) fn fail(&mut self, at: SimTime, turns: Option<SimTime>) {
        if let Some(simulation) = &mut self.simulation {
            simulation.has_failed = true;
        }
        let is_simulated = self.simulation.is_some_and(|simulation| simulation.has_failed);
        let until = turns.filter(|_| self.profile.failure.recovers && !is_simulated);
        self.refuse_single(at);
        self.phase = Phase::Failed { until };
        self.say_in_stream(at, self.profile.statuses.stopped);
        self.forget_scans();
    }

    /// Refuses the pending request for a single scan.
    fn refuse_single(&mut self, at: SimTime) {
        let Some(single) = self.single.take() else { return };
        let message = Message::status(&single.echo, self.profile.statuses.unstable);
        self.say(at, 0, &message, self.stall_effects(at), PacketTruth::default());
        self.answered(at);
    }

    /// Sends the status `code` as a message of the stream, without a scan.
    fn say_in_stream(&mut self, at: SimTime, code: Code) {
        let Some(stream) = &self.stream else { return };
        let message = Message::status(&stream.echo(), code);
        self.say(at, 0, &message, self.stall_effects(at), PacketTruth::default());
    }

    /// Fault effects of the stalls at `at`; empty unless the scanner is verifying an error or has failed.
    pub(super) fn stall_effects(&self, at: SimTime) -> Vec<FaultEffect> {
        if !matches!(self.phase, Phase::Verifying { .. } | Phase::Failed { .. }) {
            return Vec::new();
        }
        let effect = |stall: &Timed<MotorStall>| {
            let window = stall.schedule.window_at(at)?;
            Some(FaultEffect { fault: stall.fault, window, kind: EffectKind::Stalled { rpm: 0 } })
        };
        self.stalls.iter().filter_map(effect).collect()
    }

    /// Starts the failure that `DB` simulates, if the stream has now sent the required number of scans.
    pub(super) fn fail_as_simulated(&mut self, at: SimTime) {
        let Some(Simulation { number, .. }) = self.simulation else { return };
        let after = self.profile.failure.simulated_after;
        let is_due = self.stream.as_ref().is_some_and(|stream| {
            stream.is_longer_than(SIMULATED_IN_STREAMS_OVER) && stream.sent() == after
        });
        let until = SimTime(at.0 + self.profile.failure.verify_ns);
        match number {
            3 if is_due => self.verify(at, until, true),
            4 if is_due => self.verify(at, until, false),
            5 if is_due => self.fail(at, None),
            _ => {}
        }
    }
}
