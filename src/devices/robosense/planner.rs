//! Selection of the firings of the next packet.
//!
//! All lasers fire once per period; firings have fixed times, independent of the rotor. A packet contains the next
//! firings inside the field of view. In an M1, packet n of each frame starts at a fixed time within the frame.

use std::sync::Arc;

use super::profile::{Returns, RobosenseProfile, TwoReturns, UnitLaser};
use super::raster::Raster;
use crate::sensors::receiver::{EchoSelection, ReceiverSetting};
use crate::sensors::{FiringSlot, RotorMotion, Sweep};
use crate::spinning::backlog;
use crate::spinning::planned::Planned;
use crate::spinning::program::Program;
use crate::spinning::stream::{self, Undone};
use crate::spinning::turns::is_at_speed;
use crate::time::SimTime;
use crate::wire::robosense::layout::{Layout, Phase};
use crate::wire::robosense::msop::FULL_TURN_CENTIDEG;

/// Longest time from the first to the last firing of a packet, nanoseconds. A packet that would take longer is not
/// sent, because the rotor no longer reaches the field of view. This time is longer than a rotation and shorter than
/// the known schedule of the rotor.
const LONGEST_NS: u64 = 1_900_000_000;

/// Mode of the unit: the settings that determine its packets of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Whether packets of points are sent.
    pub is_on: bool,
    /// Set speed of the rotor, rpm.
    pub rpm: u32,
    /// Selection of echoes.
    pub returns: Returns,
    pub order: TwoReturns,
    /// Sector in which lasers fire.
    pub view: FieldOfView,
}

/// Sector in which lasers fire: clockwise from the first angle to the second, which is excluded, hundredths of a
/// degree. If the first angle is greater, the sector includes 0. Equal angles mean the whole rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldOfView(pub [u16; 2]);

impl FieldOfView {
    /// Whether lasers fire at the rotor angle `centideg`, hundredths of a degree.
    pub fn contains(self, centideg: u16) -> bool {
        let [first, last] = self.0;
        match first < last {
            true => (first..last).contains(&centideg),
            false => first == last || centideg >= first || centideg < last,
        }
    }

    /// Width of the sector as a fraction of a rotation.
    pub fn share(self) -> f64 {
        f64::from(self.width_centideg()) / f64::from(FULL_TURN_CENTIDEG)
    }

    /// Width of the sector, hundredths of a degree.
    pub fn width_centideg(self) -> u16 {
        let [first, last] = self.0;
        if first < last { last - first } else { FULL_TURN_CENTIDEG - (first - last) }
    }
}

/// A packet to be measured.
#[derive(Clone, Debug)]
pub struct PacketPlan {
    pub number: u64,
    /// Mode at the first firing.
    pub mode: Mode,
    /// Sequence number of the packet; in an M1, its index in the frame, from 0.
    pub count: u32,
    /// Whether the packet begins with the first or the second return of a firing.
    pub phase: Phase,
    /// Start times of the firings, each with the rotor's angle, hundredths of a degree.
    pub firings: Vec<(SimTime, u16)>,
    /// In an M1, whether this is the second packet for the same firings, with the second returns.
    pub is_second: bool,
    /// Time between firings, nanoseconds.
    pub period_ns: u64,
}

impl backlog::PacketPlan for PacketPlan {
    fn number(&self) -> u64 {
        self.number
    }

    fn start(&self) -> SimTime {
        self.firings[0].0
    }

    fn last(&self) -> SimTime {
        self.firings[self.firings.len() - 1].0
    }

    fn ends(&self) -> SimTime {
        SimTime(self.last().0 + self.period_ns)
    }
}

/// State of the planner, from which the next packet follows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cursor {
    /// Number of the next packet's first firing.
    step: u64,
    /// Sequence number of the next packet.
    count: u32,
    phase: Phase,
}

/// Schedules packets in order.
#[derive(Debug)]
pub struct Planner {
    profile: Arc<RobosenseProfile>,
    raster: Option<Arc<Raster>>,
    period_ns: u64,
    cursor: Cursor,
    next_number: u64,
    /// Planned packets, each with the planner's state before it and the packet's end.
    planned: Planned<(Cursor, SimTime)>,
    /// Offsets of the firings from the first one, nanoseconds, and firing slots of the last packet; the next packet
    /// usually has the same ones.
    usual: (Vec<u32>, Arc<[FiringSlot]>),
}

impl Planner {
    /// Makes a planner; `raster` is the scan pattern of an M1, `None` for other models.
    pub fn new(profile: Arc<RobosenseProfile>, raster: Option<Arc<Raster>>) -> Self {
        Self {
            period_ns: profile.step_ns(1),
            profile,
            raster,
            cursor: Cursor::default(),
            next_number: 0,
            planned: Planned::default(),
            usual: Default::default(),
        }
    }

    /// Number of successive firings that share a block and are therefore sent with one azimuth.
    fn group(&self, returns: Returns) -> usize {
        match self.profile.packet.layout {
            Layout::Rs16 | Layout::Helios16 if !returns.is_dual() => 2,
            _ => 1,
        }
    }

    /// Packets can start only at firings whose number is a multiple of this.
    fn stride(&self) -> u64 {
        let layout = self.profile.packet.layout;
        if layout == Layout::M1 { layout.firings(false) as u64 } else { 1 }
    }

    /// Firings of the next packet, each with its start time and the rotor's angle (hundredths of a degree), and the
    /// number of the first firing after the packet. No firings if the rotor does not reach the field of view.
    fn gather(&self, program: &Program<Mode>, mode: &Mode) -> (Vec<(SimTime, u16)>, u64) {
        let wanted = self.profile.packet.layout.firings(mode.returns.is_dual());
        let group = self.group(mode.returns) as u64;
        let mut firings = Vec::with_capacity(wanted);
        let mut step = self.cursor.step;
        let at = |step: u64| SimTime(self.profile.step_ns(step));
        let first = at(step);
        while firings.len() < wanted {
            let begins = at(step);
            if begins.0 > first.0 + LONGEST_NS {
                return (Vec::new(), step);
            }
            let azimuth = self.azimuth(program, begins);
            if self.raster.is_some() || mode.view.contains(azimuth) {
                firings.push((begins, azimuth));
                firings.extend((step + 1..step + group).map(|step| (at(step), azimuth)));
            }
            step += group;
        }
        (firings, step)
    }

    fn azimuth(&self, program: &Program<Mode>, at: SimTime) -> u16 {
        if self.raster.is_some() {
            return 0;
        }
        let centideg = program.rotor().turn(at) * f64::from(FULL_TURN_CENTIDEG);
        centideg.round() as u16 % FULL_TURN_CENTIDEG
    }

    fn slots(&mut self, firings: &[(SimTime, u16)]) -> Arc<[FiringSlot]> {
        let start = firings[0].0;
        // In an M1, the firing offsets of packets differ only by rounding.
        let own = |(at, _): &(SimTime, u16)| (at.0 - start.0) as u32;
        let is_usual = match &self.raster {
            Some(_) => firings.len() == self.usual.0.len(),
            None => firings.iter().map(own).eq(self.usual.0.iter().copied()),
        };
        if !is_usual {
            let offsets: Vec<u32> = match &self.raster {
                Some(_) => {
                    (0..firings.len() as u64).map(|f| self.profile.step_ns(f) as u32).collect()
                }
                None => firings.iter().map(own).collect(),
            };
            let lasers = &self.profile.lasers;
            let slot = |after_ns: u32, (laser, own): (usize, &UnitLaser)| FiringSlot {
                offset_ns: after_ns + own.firing_ns,
                laser: laser as u16,
            };
            let firing = |after_ns: &u32| {
                let after_ns = *after_ns;
                lasers.iter().enumerate().map(move |laser| slot(after_ns, laser))
            };
            let all = offsets.iter().flat_map(firing).collect();
            self.usual = (offsets, all);
        }
        self.usual.1.clone()
    }

    fn sweep(&mut self, program: &Program<Mode>, plan: &PacketPlan) -> Sweep {
        use backlog::PacketPlan as _;
        let rotor = match &self.raster {
            Some(raster) => RotorMotion::steered(raster.packet(plan.count.into()).aims.clone()),
            None => program.rotor().motion(plan.start(), plan.ends()),
        };
        Sweep {
            number: plan.number,
            rotor,
            // The sensor model returns all echoes; the device selects among them.
            selection: EchoSelection::Strongest,
            receiver: ReceiverSetting::default(),
            firings: self.slots(&plan.firings),
        }
    }
}

/// Whether the unit sends firings at `at`: the mode permits it, and the rotor is at its speed.
fn is_sending(program: &Program<Mode>, at: SimTime) -> bool {
    let mode = program.mode(at);
    mode.is_on && is_at_speed(program.rotor(), mode.rpm, at)
}

impl stream::Planner for Planner {
    type Mode = Mode;
    type Plan = PacketPlan;

    fn next(&mut self, program: &Program<Mode>, horizon: SimTime) -> Option<(PacketPlan, Sweep)> {
        loop {
            let cursor = self.cursor;
            let start = SimTime(self.profile.step_ns(cursor.step));
            if start >= horizon {
                return None;
            }
            let mode = *program.mode(start);
            let is_in_view =
                self.raster.is_some() || mode.view.contains(self.azimuth(program, start));
            if !(is_sending(program, start) && is_in_view) {
                self.cursor.step += self.stride();
                self.cursor.phase = Phase::Even;
                continue;
            }
            let (firings, next_step) = self.gather(program, &mode);
            self.cursor.step = next_step;
            if firings.is_empty() {
                continue;
            }
            let has_rest = self.profile.packet.layout == Layout::Ruby && mode.returns.is_dual();
            let is_odd = cursor.phase == Phase::Odd;
            self.cursor.phase = Phase::Even;
            if has_rest && !is_odd {
                // The next packet starts with the second return of the last firing.
                let last_ns = firings[firings.len() - 1].0.0;
                self.cursor.step = self.profile.step_at(last_ns);
                self.cursor.phase = Phase::Odd;
            }
            let count = match &self.raster {
                Some(raster) => (cursor.step / self.stride() % raster.packets()) as u32,
                None => cursor.count,
            };
            let plan = PacketPlan {
                number: self.next_number,
                mode,
                count,
                phase: if has_rest { cursor.phase } else { Phase::Even },
                firings,
                is_second: false,
                period_ns: self.period_ns,
            };
            self.cursor.count = self.cursor.count.wrapping_add(1);
            self.next_number += 1;
            let (last, ends) = (backlog::PacketPlan::last(&plan), backlog::PacketPlan::ends(&plan));
            self.planned.push(plan.number, last, (cursor, ends));
            let sweep = self.sweep(program, &plan);
            return Some((plan, sweep));
        }
    }

    fn undo(&mut self, from: SimTime) -> Option<Undone> {
        let stride = self.stride();
        let step = self.profile.step_at(from.0).div_ceil(stride) * stride;
        let undone = self.planned.undo(from);
        if let Some(first) = &undone {
            (self.next_number, self.cursor) = (first.number, first.before.0);
        }
        // Firings that were skipped can now be sent.
        if step < self.cursor.step {
            (self.cursor.step, self.cursor.phase) = (step, Phase::Even);
        }
        undone.map(|first| Undone { number: first.number, ends: first.before.1 })
    }

    fn forget(&mut self, before: SimTime) {
        self.planned.forget(before);
    }

    fn position(&self) -> SimTime {
        SimTime(self.profile.step_ns(self.cursor.step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_view_may_run_through_zero() {
        let whole = FieldOfView([0, 36_000]);
        assert!(whole.contains(0) && whole.contains(35_999) && whole.share() == 1.0);
        let front = FieldOfView([27_000, 9000]);
        assert!(front.contains(30_000) && front.contains(0) && !front.contains(18_000));
        assert_eq!(front.width_centideg(), 18_000);
        assert!(FieldOfView([5, 5]).contains(77));
    }
}
