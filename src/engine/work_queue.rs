//! Choice of the next measurement.
//!
//! Each device has its own queue (lane). A worker chooses a request only when it is free to start. This gives four
//! rules:
//!
//! - **Earliest deadline first.** In real time, the lane whose oldest request is needed soonest goes first. An urgent
//!   request waits for at most one packet of another device or, with a GPU, for the packets that a worker takes together.
//! - **A lane that is behind yields.** A lane is behind if its oldest request is late, or if it gave up a request
//!   within the last look-ahead (`ahead_ns`). It goes before the others only if its device has used less of the
//!   workers' time, or if the others have enough look-ahead left. So an overloaded device never delays a device that
//!   needs less than its share. Requests without rays are not in the lanes: a separate thread measures them.
//! - **Give up before casting**, with `engine.late = "drop"`. When a worker would start a packet, the queue checks
//!   whether the packet can still be ready in time. If not, the packet is given up, so workers only cast packets that
//!   can be sent.
//! - **In the order of time** if no clock runs: a recording advances its devices together.

use std::collections::VecDeque;

use super::due_queue::DueQueue;
use crate::config::rig::{DeviceId, LatePolicy};
use crate::sensors::lidar::Thinning;
use crate::time::SimTime;

/// Upper limit of a device's credit, nanoseconds. The credit is the processor time spent on the most expensive device,
/// minus that spent on this device. A device that suddenly needs much processor time is served first until its credit
/// is used up.
const MOST_CREDIT_NS: u64 = 50_000_000;

/// Pace of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// No real time: workers measure as fast as they can, and no packet is late.
    Stepped,
    /// Real time, by the clock.
    RealTime {
        /// Policy for late packets.
        late: LatePolicy,
        /// Time from the request of a packet to its due time, nanoseconds.
        ahead_ns: u64,
        /// Number of waiting requests, of all devices, from which on the rays of urgent requests are reduced.
        backlog: usize,
    },
}

/// A waiting request, with the times that the queue needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<T> {
    /// Device of the request.
    pub device: DeviceId,
    /// Time of the request's first firing or sample.
    pub start: SimTime,
    /// Time at which the answer is needed.
    pub needed: SimTime,
    /// The request itself, which the queue returns.
    pub item: T,
}

/// Next task of a worker.
#[derive(Debug, PartialEq, Eq)]
pub enum Choice<T> {
    /// Measure the request, perhaps with fewer rays.
    Measure(T, Thinning),
    /// Do not measure the request, only report that it was given up: its packet would be too late.
    GiveUp(T),
}

/// Requests that no worker has started.
#[derive(Debug)]
pub struct WorkQueue<T> {
    pace: Pace,
    /// Requests with rays, by device.
    lanes: Vec<Lane<T>>,
    waiting: usize,
    /// Requests with no rays, or only a few lines of sight, of all devices.
    rayless: DueQueue<T>,
}

/// Waiting requests of one device.
#[derive(Debug)]
struct Lane<T> {
    /// Oldest request first.
    waiting: VecDeque<Waiting<T>>,
    /// Processor time that workers spent on the device, nanoseconds. It is raised if it is more than [`MOST_CREDIT_NS`]
    /// below that of another device.
    spent_ns: u64,
    turnaround: Turnaround,
    /// Time at which the device last gave up a request, nanoseconds.
    gave_up_ns: Option<i64>,
}

/// Estimate of the time from a worker's start until the packet is ready: mean and deviation, as TCP estimates
/// round-trip times (RFC 6298).
#[derive(Clone, Copy, Debug, Default)]
struct Turnaround {
    mean_ns: u64,
    deviation_ns: u64,
    /// Time of the last sample, nanoseconds.
    seen_ns: i64,
}

impl<T> Choice<T> {
    /// The same choice about `what(item)`.
    pub fn map<U>(self, what: impl FnOnce(T) -> U) -> Choice<U> {
        match self {
            Self::Measure(item, thinning) => Choice::Measure(what(item), thinning),
            Self::GiveUp(item) => Choice::GiveUp(what(item)),
        }
    }
}

impl<T> WorkQueue<T> {
    /// A queue for the given number of devices.
    pub fn new(pace: Pace, devices: usize) -> Self {
        let lane = || Lane {
            waiting: VecDeque::new(),
            spent_ns: 0,
            turnaround: Turnaround::default(),
            gave_up_ns: None,
        };
        let lanes = (0..devices).map(|_| lane()).collect();
        Self { pace, lanes, waiting: 0, rayless: DueQueue::default() }
    }

    /// Adds a request with rays; the requests of one device arrive in order of time.
    pub fn push(&mut self, request: Waiting<T>) {
        self.waiting += 1;
        self.lanes[request.device.0].waiting.push_back(request);
    }

    /// Adds a request with no rays, or only a few lines of sight.
    pub fn push_rayless(&mut self, request: Waiting<T>) {
        self.rayless.push(request.needed, request.item);
    }

    /// Removes and returns the most urgent request with no rays, or only a few lines of sight; `None` if no such
    /// request waits.
    pub fn next_rayless(&mut self) -> Option<Choice<T>> {
        let (_, item) = self.rayless.pop_until(SimTime(u64::MAX))?;
        Some(Choice::Measure(item, Thinning::None))
    }

    /// Whether requests with rays wait.
    pub fn has_rays(&self) -> bool {
        self.waiting > 0
    }

    /// Removes and returns the next request with rays for a worker that is free at `now_ns`, in nanoseconds since the
    /// first instant (negative before it); `None` if no such request waits. Further requests of the same device follow
    /// it, as long as the sum of `size` over all of them is at most `most`, they are `alike`, and their rays are reduced
    /// alike. A request counts at least 1.
    pub fn next_all(
        &mut self,
        now_ns: i64,
        most: usize,
        size: impl Fn(&T) -> usize,
        alike: impl Fn(&T, &T) -> bool,
    ) -> Option<Choice<Vec<T>>> {
        if let Some(hopeless) = self.pop_hopeless(now_ns) {
            return Some(Choice::GiveUp(vec![hopeless.item]));
        }
        let first = self.first_lane(now_ns)?;
        let thinning = |request: &Waiting<T>, waiting| {
            self.pace.thinning(request.needed.0.saturating_sub_signed(now_ns), waiting)
        };
        let lane = &mut self.lanes[first].waiting;
        let request = lane.pop_front()?;
        let common = thinning(&request, self.waiting);
        self.waiting -= 1;
        let size = |item: &T| size(item).max(1);
        let mut left = most.saturating_sub(size(&request.item));
        let mut all = vec![request.item];
        let joins = |first: &T, next: &Waiting<T>, left, waiting| {
            size(&next.item) <= left
                && alike(first, &next.item)
                && thinning(next, waiting) == common
        };
        while let Some(next) = lane.pop_front_if(|next| joins(&all[0], next, left, self.waiting)) {
            self.waiting -= 1;
            left -= size(&next.item);
            all.push(next.item);
        }
        Some(Choice::Measure(all, common))
    }

    /// Index of the lane whose request is measured next at `now_ns`; `None` if all lanes are empty.
    fn first_lane(&self, now_ns: i64) -> Option<usize> {
        let fronts = || {
            let lanes = self.lanes.iter().enumerate();
            lanes.filter_map(|(place, lane)| Some((place, lane, lane.waiting.front()?)))
        };
        let Pace::RealTime { ahead_ns, .. } = self.pace else {
            return fronts().min_by_key(|(_, _, front)| front.start).map(|(place, ..)| place);
        };
        let is_behind = |lane: &Lane<T>, front: &Waiting<T>| {
            let gave_up = lane.gave_up_ns.map(|at_ns| now_ns.saturating_sub(at_ns));
            (front.needed.0 as i64) < now_ns || gave_up.is_some_and(|ago| ago < ahead_ns as i64)
        };
        let next = fronts().filter(|(_, lane, front)| !is_behind(lane, front));
        let next = next.min_by_key(|(_, _, front)| (front.needed, front.start));
        let behind = fronts().filter(|(_, lane, front)| is_behind(lane, front));
        let behind = behind.min_by_key(|(_, lane, front)| (lane.spent_ns, front.start));
        let (next, behind) = match (next, behind) {
            (Some(next), Some(behind)) => (next, behind),
            (one, other) => return one.or(other).map(|(place, ..)| place),
        };
        let left_ns = next.2.needed.0.saturating_sub_signed(now_ns);
        let has_time = left_ns > self.pace.reserve_ns();
        let behind_first = has_time || behind.1.spent_ns < next.1.spent_ns;
        Some(if behind_first { behind.0 } else { next.0 })
    }

    /// Adds `busy_ns` of processor time to a device's account.
    pub fn charge(&mut self, device: DeviceId, busy_ns: u64) {
        self.lanes[device.0].spent_ns += busy_ns;
        let most_ns = self.lanes.iter().map(|lane| lane.spent_ns).max().unwrap_or(0);
        for lane in &mut self.lanes {
            lane.spent_ns = lane.spent_ns.max(most_ns.saturating_sub(MOST_CREDIT_NS));
        }
    }

    /// Records that a packet of `device`, which a worker started at `begun_ns`, is ready at `now_ns`.
    pub fn note_ready(&mut self, device: DeviceId, begun_ns: i64, now_ns: i64) {
        let took_ns = now_ns.saturating_sub(begun_ns).max(0) as u64;
        self.lanes[device.0].turnaround.note(took_ns, now_ns);
    }

    /// Gives up a request of `device` that is needed at `needed`, if it cannot be ready in time and late packets are
    /// dropped. Returns true if the request was given up; the caller must then not add it.
    pub fn gives_up(&mut self, device: DeviceId, needed: SimTime, now_ns: i64) -> bool {
        let Pace::RealTime { late: LatePolicy::Drop, ahead_ns, .. } = self.pace else {
            return false;
        };
        let lane = &mut self.lanes[device.0];
        let is_hopeless = (needed.0 as i64) < lane.ready_if_begun_ns(now_ns, ahead_ns);
        if is_hopeless {
            lane.gave_up_ns = Some(now_ns);
        }
        is_hopeless
    }

    /// Removes and returns a request that cannot be ready in time; `None` if there is none, or if late packets are not
    /// dropped.
    fn pop_hopeless(&mut self, now_ns: i64) -> Option<Waiting<T>> {
        let Pace::RealTime { late: LatePolicy::Drop, ahead_ns, .. } = self.pace else {
            return None;
        };
        let popped = self.lanes.iter_mut().find_map(|lane| {
            let ready_ns = lane.ready_if_begun_ns(now_ns, ahead_ns);
            let hopeless = lane.waiting.pop_front_if(|front| (front.needed.0 as i64) < ready_ns)?;
            lane.gave_up_ns = Some(now_ns);
            Some(hopeless)
        })?;
        self.waiting -= 1;
        Some(popped)
    }
}

impl<T> Lane<T> {
    /// Time by which a packet is very likely ready if a worker starts it at `now_ns`, nanoseconds.
    fn ready_if_begun_ns(&self, now_ns: i64, ahead_ns: u64) -> i64 {
        now_ns.saturating_add_unsigned(self.turnaround.likely_ns(now_ns, ahead_ns))
    }
}

impl Pace {
    /// Reserve, nanoseconds. A device that is behind goes first if the other devices need no answer within this time.
    /// The reserve is half of `ahead_ns` if late packets are sent, otherwise three quarters. With less than half, rays
    /// would be reduced, or one slow answer would cause requests to be given up.
    fn reserve_ns(self) -> u64 {
        match self {
            Self::Stepped => 0,
            Self::RealTime { late: LatePolicy::Late, ahead_ns, .. } => ahead_ns / 2,
            Self::RealTime { ahead_ns, .. } => ahead_ns / 4 * 3,
        }
    }

    /// Reduction of the rays for a request that is needed in `left_ns`, while `waiting` requests wait. Only
    /// [`LatePolicy::Thin`] reduces rays.
    fn thinning(self, left_ns: u64, waiting: usize) -> Thinning {
        let Self::RealTime { late: LatePolicy::Thin, ahead_ns, backlog } = self else {
            return Thinning::None;
        };
        match 4 * left_ns / ahead_ns.max(1) {
            _ if waiting < backlog => Thinning::None,
            0 => Thinning::Single,
            1 => Thinning::Half,
            _ => Thinning::None,
        }
    }
}

impl Turnaround {
    fn note(&mut self, took_ns: u64, now_ns: i64) {
        self.seen_ns = now_ns;
        if self.mean_ns == 0 {
            (self.mean_ns, self.deviation_ns) = (took_ns, took_ns / 2);
            return;
        }
        let off_ns = took_ns.abs_diff(self.mean_ns);
        self.deviation_ns = (3 * self.deviation_ns + off_ns) / 4;
        self.mean_ns = (7 * self.mean_ns + took_ns) / 8;
    }

    /// Turnaround time that few requests exceed, nanoseconds; 0 before the first answer. The result is at most half of
    /// `ahead_ns`, and is halved after each `ahead_ns` without an answer: so one slow answer does not stop all
    /// measurements.
    fn likely_ns(&self, now_ns: i64, ahead_ns: u64) -> u64 {
        let likely_ns = (self.mean_ns + 4 * self.deviation_ns).min(ahead_ns / 2);
        let silent_ns = now_ns.saturating_sub(self.seen_ns).max(0) as u64;
        likely_ns >> (silent_ns / ahead_ns.max(1)).min(63)
    }
}

#[cfg(test)]
mod tests;
