//! Schedules packets. Pulses have fixed times; the number of pulses per packet depends on the format.

use std::collections::VecDeque;
use std::sync::Arc;

use glam::DVec3;

use super::super::timeline::Timeline;
use super::pattern::Pattern;
use super::points::Mode;
use super::profile::FirstProfile;
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::{FiringSlot, RotorMotion, Sweep};
use crate::spinning::backlog;
use crate::time::SimTime;

/// A packet to be measured.
#[derive(Clone, Debug)]
pub struct PacketPlan {
    /// Number of the packet's first pulse.
    pulse: u64,
    start: SimTime,
    last: SimTime,
    ends: SimTime,
    /// Mode at the packet's first point.
    pub mode: Mode,
    /// Beam directions of the packet's pulses.
    pub aims: Arc<[DVec3]>,
}

impl backlog::PacketPlan for PacketPlan {
    fn number(&self) -> u64 {
        self.pulse
    }

    fn start(&self) -> SimTime {
        self.start
    }

    fn last(&self) -> SimTime {
        self.last
    }

    fn ends(&self) -> SimTime {
        self.ends
    }
}

/// Schedules packets in order.
#[derive(Debug)]
pub struct Planner {
    profile: Arc<FirstProfile>,
    pattern: Pattern,
    /// First pulse of the next packet.
    next: u64,
    /// First pulses of the latest packets, sent or skipped.
    planned: VecDeque<u64>,
}

/// Largest number of packets in `planned`. Fewer packets than this are planned ahead at any time.
const KEPT: usize = 4096;

impl Planner {
    pub fn new(profile: &Arc<FirstProfile>, pattern: Pattern) -> Self {
        let planned = VecDeque::new();
        Self { profile: Arc::clone(profile), pattern, next: 0, planned }
    }

    fn at(&self, pulse: u64) -> SimTime {
        SimTime(self.profile.pulse_ns(pulse))
    }

    /// The next packet to send, and its measurement; `None` if the packet does not start before `horizon`.
    pub fn next(
        &mut self,
        modes: &Timeline<Mode>,
        is_stopped: impl Fn(SimTime) -> bool,
        horizon: SimTime,
    ) -> Option<(PacketPlan, Sweep)> {
        loop {
            let pulse = self.next;
            let start = self.at(pulse);
            if start >= horizon {
                return None;
            }
            let mode = modes.at(start);
            let pulses = mode.format.pulses() as u64;
            self.next += pulses;
            self.planned.push_back(pulse);
            if self.planned.len() > KEPT {
                self.planned.pop_front();
            }
            if !mode.is_on || is_stopped(start) {
                continue;
            }
            let lines = self.profile.pattern.form.lines() as u64;
            // A packet can start within a group of lines, because the format can change there.
            let (first, skipped) = (pulse / lines, (pulse % lines) as usize);
            let groups = (skipped + pulses as usize).div_ceil(lines as usize);
            let aims = self.pattern.aims(first, groups, mode.repeats);
            let aims: Arc<[DVec3]> = aims[skipped..skipped + pulses as usize].into();
            let firings = (pulse..self.next).map(|pulse| FiringSlot {
                offset_ns: (self.profile.pulse_ns(pulse) - start.0) as u32,
                laser: (pulse % lines) as u16,
            });
            let sweep = Sweep {
                number: pulse,
                rotor: RotorMotion::steered(Arc::clone(&aims)),
                selection: EchoSelection::Strongest,
                receiver: ReceiverSetting {
                    threshold_factor: mode.threshold_factor,
                    blanked_m: 0.0,
                },
                firings: firings.collect(),
            };
            let plan = PacketPlan {
                pulse,
                start,
                last: self.at(self.next - 1),
                ends: self.at(self.next),
                mode: mode.clone(),
                aims,
            };
            return Some((plan, sweep));
        }
    }

    /// Start of the first unplanned packet.
    pub fn planned_to(&self) -> SimTime {
        self.at(self.next)
    }

    /// Goes back to the first planned packet that starts at or after `from`. Returns the number of this packet and the
    /// time of its second pulse, which lies between the end of the previous packet and the end of this one. `None` if
    /// no such packet is planned.
    pub fn undo(&mut self, from: SimTime) -> Option<(u64, SimTime)> {
        let before = self.next;
        while let Some(pulse) =
            self.planned.pop_back_if(|pulse| self.profile.pulse_ns(*pulse) >= from.0)
        {
            self.next = pulse;
        }
        (self.next != before).then(|| (self.next, self.at(self.next + 1)))
    }
}
