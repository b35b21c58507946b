//! Schedules packets. Packets have fixed times, whether they are sent or skipped.

use std::collections::VecDeque;
use std::sync::Arc;

use glam::DVec3;

use super::pattern::Pattern;
use super::points::Mode;
use super::profile::LivoxProfile;
use super::timeline::Timeline;
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::{FiringSlot, RotorMotion, Sweep};
use crate::spinning::backlog;
use crate::time::SimTime;
use crate::wire::livox::data::POINTS;

/// A packet to be measured.
#[derive(Clone, Debug)]
pub struct PacketPlan {
    number: u64,
    start: SimTime,
    span_ns: u64,
    period_ns: u64,
    /// Sequence number of the packet; skipped packets use no number.
    pub sequence: u16,
    /// Mode at the packet's first point.
    pub mode: Mode,
    /// Beam directions of the packet's points.
    pub aims: Arc<[DVec3]>,
}

impl backlog::PacketPlan for PacketPlan {
    fn number(&self) -> u64 {
        self.number
    }

    fn start(&self) -> SimTime {
        self.start
    }

    fn last(&self) -> SimTime {
        SimTime(self.start.0 + self.span_ns)
    }

    fn ends(&self) -> SimTime {
        SimTime(self.start.0 + self.period_ns)
    }
}

/// Schedules packets in order.
#[derive(Debug)]
pub struct Planner {
    profile: LivoxProfile,
    pattern: Pattern,
    slots: Arc<[FiringSlot]>,
    next: u64,
    /// Numbers of the latest packets that are planned to be sent, ascending.
    planned: VecDeque<u64>,
    sequence: u16,
}

/// Largest number of packets in `planned`. Fewer packets than this are planned ahead at any time.
const KEPT: usize = 4096;

impl Planner {
    pub fn new(profile: &LivoxProfile, pattern: Pattern) -> Self {
        let rate_hz = u64::from(profile.pattern.point_rate_hz);
        let lines = profile.pattern.form.lines() as u64;
        // Lines fire together.
        let group_ns = |group: u64| group * lines * 1_000_000_000 / rate_hz;
        let slots = (0..POINTS as u64).map(|point| FiringSlot {
            offset_ns: group_ns(point / lines) as u32,
            laser: (point % lines) as u16,
        });
        Self {
            pattern,
            slots: slots.collect(),
            next: 0,
            planned: VecDeque::new(),
            sequence: 0,
            profile: profile.clone(),
        }
    }

    /// The next packet to send, and its measurement; `None` if the packet does not start before `horizon`.
    pub fn next(
        &mut self,
        modes: &Timeline<Mode>,
        is_stopped: impl Fn(SimTime) -> bool,
        horizon: SimTime,
    ) -> Option<(PacketPlan, Sweep)> {
        loop {
            let number = self.next;
            let start = SimTime(self.profile.packet_start_ns(number));
            if start >= horizon {
                return None;
            }
            self.next += 1;
            let mode = modes.at(start);
            if !mode.is_on || is_stopped(start) {
                continue;
            }
            let groups = POINTS / self.profile.pattern.form.lines();
            let aims: Arc<[DVec3]> =
                self.pattern.aims(mode.group(number * groups as u64), groups).into();
            let setting = ReceiverSetting {
                threshold_factor: mode.threshold_factor,
                blanked_m: mode.blanked_m,
            };
            let sweep = Sweep {
                number,
                rotor: RotorMotion::steered(Arc::clone(&aims)),
                selection: EchoSelection::Strongest,
                receiver: setting,
                firings: Arc::clone(&self.slots),
            };
            let plan = PacketPlan {
                number,
                sequence: self.sequence,
                start,
                span_ns: sweep.span_ns().into(),
                period_ns: self.profile.packet_start_ns(number + 1) - start.0,
                mode: mode.clone(),
                aims,
            };
            self.sequence = self.sequence.wrapping_add(1);
            self.planned.push_back(number);
            if self.planned.len() > KEPT {
                self.planned.pop_front();
            }
            return Some((plan, sweep));
        }
    }

    /// Goes back to the first packet, sent or skipped, that starts at or after `from`. Returns its number and its end;
    /// `None` if the planner has not reached that packet.
    pub fn undo(&mut self, from: SimTime) -> Option<(u64, SimTime)> {
        let estimate = u128::from(from.0) * u128::from(self.profile.pattern.point_rate_hz)
            / (POINTS as u128 * 1_000_000_000);
        let mut first = estimate as u64;
        while self.profile.packet_start_ns(first) < from.0 {
            first += 1;
        }
        (first < self.next).then(|| {
            self.next = first;
            while self.planned.pop_back_if(|number| *number >= first).is_some() {
                self.sequence = self.sequence.wrapping_sub(1);
            }
            (first, SimTime(self.profile.packet_start_ns(first + 1)))
        })
    }
}
