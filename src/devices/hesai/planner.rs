//! Selection of the next packet's firings.
//!
//! The encoder triggers a firing of all lasers at equal steps of the rotation. At every speed, a rotation consists of a
//! whole number of packets.

use std::sync::Arc;

use super::profile::{ClockSource, DualOrder, HesaiProfile, Stamped, UnitLaser};
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::{FiringSlot, Sweep};
use crate::spinning::backlog;
use crate::spinning::planned::Planned;
use crate::spinning::program::Program;
use crate::spinning::rotor::Rotor;
use crate::spinning::stream::{self, Undone};
use crate::spinning::turns::{begin, fires_at, is_at_speed};
use crate::time::SimTime;
use crate::wire::hesai::data::{FULL_TURN_CENTIDEG, ReturnMode};

/// Number of tenths of a degree in one rotation.
const FULL_TURN_DECIDEG: u32 = 3600;
/// Largest number of firings in a packet.
const MOST_STEPS: usize = 10;

/// Settings of the unit that affect its packets. A `Program` contains the time from which each mode applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Whether packets are sent.
    pub is_on: bool,
    /// Target speed of the rotor, rpm.
    pub rpm: u32,
    pub returns: ReturnMode,
    pub order: DualOrder,
    /// Sector in which lasers fire.
    pub range: FiringRange,
    /// Source of the clock's time.
    pub source: ClockSource,
    /// Whether packets are numbered.
    pub has_sequence: bool,
    /// Time at which the unit's last restart is complete; sequence numbers count from there.
    pub up_at: SimTime,
}

/// Sector in which lasers fire, from the first to the second angle clockwise, tenths of a degree. The sector includes 0
/// if the first angle is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiringRange(pub [u16; 2]);

impl FiringRange {
    /// Whether lasers fire at the angle `decideg`, tenths of a degree.
    pub fn contains(self, decideg: f64) -> bool {
        let [first, last] = self.0.map(f64::from);
        match first <= last {
            true => (first..=last).contains(&decideg),
            false => decideg >= first || decideg <= last,
        }
    }

    /// Number of packets with a firing in the sector, in a rotation of `steps` firings;
    /// `per_packet` is the number of firings per packet.
    pub fn packets(self, steps: u32, per_packet: u32) -> u32 {
        let has_one = |packet: &u32| {
            let own = packet * per_packet..(packet + 1) * per_packet;
            own.into_iter().any(|step| self.contains(decideg(step, steps)))
        };
        (0..steps / per_packet.max(1)).filter(has_one).count() as u32
    }
}

/// Angle of firing `step` in a rotation of `steps` firings, tenths of a degree.
fn decideg(step: u32, steps: u32) -> f64 {
    f64::from(step) * f64::from(FULL_TURN_DECIDEG) / f64::from(steps)
}

/// A packet to be measured.
#[derive(Clone, Debug)]
pub struct PacketPlan {
    pub number: u64,
    /// Mode at the first firing.
    pub mode: Mode,
    /// Sequence number of the packet.
    pub sequence: u32,
    /// Index of the packet's first firing in the rotation.
    first: u32,
    /// Number of firings in the rotation.
    steps: u32,
    /// Start times of the firings; entries from `count` on repeat the last firing.
    at: [SimTime; MOST_STEPS],
    /// Number of firings in the packet.
    count: usize,
    /// Time at which the packet's timestamp is taken.
    pub stamped: SimTime,
    /// Speed of the motor, rounded, rpm.
    pub rpm: u16,
    period_ns: u64,
}

impl PacketPlan {
    /// Number of firings in the packet.
    pub fn firings(&self) -> usize {
        self.count
    }

    /// Azimuth of a firing, hundredths of a degree.
    pub fn azimuth_centideg(&self, firing: usize) -> f64 {
        let share = f64::from(self.first + firing as u32) / f64::from(self.steps);
        share * f64::from(FULL_TURN_CENTIDEG)
    }

    /// Whether the firing is inside the sector, so that its lasers fire.
    pub fn is_fired(&self, firing: usize) -> bool {
        self.mode.range.contains(decideg(self.first + firing as u32, self.steps))
    }
}

impl backlog::PacketPlan for PacketPlan {
    fn number(&self) -> u64 {
        self.number
    }

    fn start(&self) -> SimTime {
        self.at[0]
    }

    fn last(&self) -> SimTime {
        self.at[self.count - 1]
    }

    fn ends(&self) -> SimTime {
        SimTime(self.last().0 + self.period_ns).max(self.stamped)
    }

    fn clock_needed_to(&self) -> SimTime {
        self.start().max(self.stamped)
    }
}

/// Position of the planner: the rotation, firing and sequence number with which the next packet starts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cursor {
    /// Start of the present rotation, if any.
    turn: Option<SimTime>,
    /// Time after which the next rotation begins; used if `turn` is `None`.
    after: SimTime,
    /// Index of the next packet's first firing in the rotation.
    step: u32,
    /// Sequence number of the next packet.
    sequence: u32,
    /// [`Mode::up_at`] of the last packet.
    up_at: SimTime,
}

/// Schedules packets in order.
#[derive(Debug)]
pub struct Planner {
    profile: Arc<HesaiProfile>,
    period_ns: u64,
    cursor: Cursor,
    next_number: u64,
    /// Planned packets, each with the planner's position before the packet and with the end of the packet.
    planned: Planned<(Cursor, SimTime)>,
    /// Cache: firing times of the last packet (nanoseconds after its first firing; `None`: outside the sector) and the
    /// firing slots that follow from them. The next packet usually has the same times.
    usual: (Vec<Option<u32>>, Arc<[FiringSlot]>),
}

impl Planner {
    /// A planner for a unit of this firmware.
    pub fn new(profile: Arc<HesaiProfile>) -> Self {
        Self {
            period_ns: profile.period_ns().round() as u64,
            profile,
            cursor: Cursor {
                turn: None,
                after: SimTime::ZERO,
                step: 0,
                sequence: 0,
                up_at: SimTime::ZERO,
            },
            next_number: 0,
            planned: Planned::default(),
            usual: Default::default(),
        }
    }

    /// Continues with the next rotation, which begins after `after`.
    fn leave_turn(&mut self, after: SimTime) {
        self.cursor = Cursor { turn: None, after, step: 0, ..self.cursor };
    }

    /// Start of the rotation to which the next packet belongs; `None` if no such rotation begins before `horizon`.
    fn turn(&mut self, program: &Program<Mode>, horizon: SimTime) -> Option<SimTime> {
        while self.cursor.turn.is_none() {
            let found = begin(program.rotor(), self.cursor.after).filter(|turn| *turn < horizon);
            let Some(turn) = found else {
                // No rotation is known to begin before the horizon.
                self.cursor.after = self.cursor.after.max(before(horizon));
                return None;
            };
            match is_sending(program, turn) {
                true => self.cursor.turn = Some(turn),
                // At the start of the run, `begin` would return the same rotation again.
                false => self.cursor.after = turn.max(SimTime(1)),
            }
        }
        self.cursor.turn
    }

    fn firings(&mut self, offsets_ns: Vec<Option<u32>>) -> Arc<[FiringSlot]> {
        if self.usual.0 != offsets_ns {
            let lasers = &self.profile.lasers;
            let slot = |after_ns: u32, (laser, own): (usize, &UnitLaser)| FiringSlot {
                offset_ns: after_ns + own.firing_ns,
                laser: laser as u16,
            };
            let firing = |after_ns: &u32| {
                let after_ns = *after_ns;
                lasers.iter().enumerate().map(move |laser| slot(after_ns, laser))
            };
            let all = offsets_ns.iter().flatten().flat_map(firing).collect();
            self.usual = (offsets_ns, all);
        }
        self.usual.1.clone()
    }

    fn sweep(&mut self, program: &Program<Mode>, plan: &PacketPlan) -> Sweep {
        let start = plan.at[0];
        let offset_ns =
            |firing: usize| plan.is_fired(firing).then(|| (plan.at[firing].0 - start.0) as u32);
        let end = SimTime(plan.at[plan.count - 1].0 + self.period_ns);
        Sweep {
            number: plan.number,
            rotor: program.rotor().motion(start, end),
            // The model returns all echoes; the device selects.
            selection: EchoSelection::Strongest,
            receiver: ReceiverSetting::default(),
            firings: self.firings((0..plan.count).map(offset_ns).collect()),
        }
    }

    /// The next packet, in the rotation that began at `turn`.
    fn plan(&self, rotor: &Rotor, mode: Mode, turn: SimTime) -> PacketPlan {
        let (first, steps) = (self.cursor.step, self.profile.steps(mode.rpm));
        let fires = |step| step_at(rotor, mode.rpm, turn, (step, steps));
        let count = self.profile.steps_of_packet(mode.returns) as usize;
        let at = std::array::from_fn(|firing| fires(first + firing.min(count - 1) as u32));
        let packet = &self.profile.packet;
        let stamped = match packet.stamped {
            Stamped::First => at[0],
            Stamped::Last => at[count - 1],
        };
        PacketPlan {
            number: self.next_number,
            mode,
            sequence: self.cursor.sequence,
            first,
            steps,
            at,
            count,
            stamped: SimTime(stamped.0.saturating_add_signed(packet.stamp_offset_ns)),
            rpm: rotor.rpm(at[0]).round() as u16,
            period_ns: self.period_ns,
        }
    }
}

/// Time of firing `step` in a rotation of `steps` firings that began at `turn`.
fn step_at(rotor: &Rotor, rpm: u32, turn: SimTime, (step, steps): (u32, u32)) -> SimTime {
    fires_at(rotor, rpm, turn, f64::from(step) / f64::from(steps))
}

/// One nanosecond before `at`.
fn before(at: SimTime) -> SimTime {
    SimTime(at.0.saturating_sub(1))
}

/// Whether the unit sends packets at `at`: packets are on, and the rotor is at its set speed.
fn is_sending(program: &Program<Mode>, at: SimTime) -> bool {
    let mode = program.mode(at);
    mode.is_on && is_at_speed(program.rotor(), mode.rpm, at)
}

impl stream::Planner for Planner {
    type Mode = Mode;
    type Plan = PacketPlan;

    fn next(&mut self, program: &Program<Mode>, horizon: SimTime) -> Option<(PacketPlan, Sweep)> {
        loop {
            let turn = self.turn(program, horizon)?;
            let cursor = self.cursor;
            let mode = *program.mode(turn);
            let steps = self.profile.steps(mode.rpm);
            let fires = |step| step_at(program.rotor(), mode.rpm, turn, (step, steps));
            if cursor.step >= steps {
                self.leave_turn(fires(steps - 1));
                continue;
            }
            let start = fires(cursor.step);
            if start >= horizon {
                return None;
            }
            // A change of mode ends the rotation.
            if program.mode(start) != &mode || !is_sending(program, start) {
                self.leave_turn(start);
                continue;
            }
            if self.cursor.up_at != mode.up_at {
                (self.cursor.sequence, self.cursor.up_at) = (0, mode.up_at);
            }
            let plan = self.plan(program.rotor(), mode, turn);
            self.cursor.step += plan.count as u32;
            if !(0..plan.count).any(|firing| plan.is_fired(firing)) {
                continue;
            }
            self.cursor.sequence = self.cursor.sequence.wrapping_add(1);
            self.next_number += 1;
            let (last, ends) = (backlog::PacketPlan::last(&plan), backlog::PacketPlan::ends(&plan));
            self.planned.push(plan.number, last, (cursor, ends));
            let sweep = self.sweep(program, &plan);
            return Some((plan, sweep));
        }
    }

    fn undo(&mut self, from: SimTime) -> Option<Undone> {
        // A rotation can begin exactly at `from`.
        match self.cursor.turn {
            Some(turn) if turn >= from => self.leave_turn(before(from)),
            Some(_) => {}
            None => self.cursor.after = self.cursor.after.min(before(from)),
        }
        let first = self.planned.undo(from)?;
        let (cursor, ends) = first.before;
        (self.next_number, self.cursor) = (first.number, cursor);
        Some(Undone { number: first.number, ends })
    }

    fn forget(&mut self, before: SimTime) {
        self.planned.forget(before);
    }

    fn position(&self) -> SimTime {
        self.cursor.turn.unwrap_or(self.cursor.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_may_run_through_zero() {
        let whole = FiringRange([0, 3600]);
        assert!(whole.contains(0.0) && whole.contains(3599.9));
        assert_eq!(whole.packets(2000, 8), 250);
        let front = FiringRange([2700, 900]);
        assert!(front.contains(3000.0) && front.contains(900.0) && !front.contains(1800.0));
        // From 270 to 90 degrees, both included: 500 firings before 0 and 501 from 0 on.
        assert_eq!(front.packets(2000, 8), 63 + 63);
    }
}
