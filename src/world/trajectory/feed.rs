//! A motion that another simulator controls: poses and twists that arrive during the run.
//!
//! Between datagrams the body moves with its last twist, which is constant in the body's frame (a screw motion). A pose
//! applies from the time at which it is valid, not from its arrival. This needs the difference between the sender's
//! clock and the run's clock. The difference is computed under the assumption that the fastest datagrams had no delay.
//! The pose of a slower datagram is extrapolated by the datagram's delay. If nothing arrives for
//! [`FeedConfig::hold_after_ns`], the body stops at its position at that time.
//!
//! Datagrams contain no accelerations. They are computed from the change between the last two twists.
//!
//! This module opens no socket; the engine passes the datagrams in.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use glam::{DQuat, DVec3};
use serde::Serialize;

use crate::config::rig::FeedConfig;
use crate::frames::{Body, Transform, World, quat_about};
use crate::time::SimTime;
use crate::wire::feed::{FeedFault, PoseTwist};
use crate::world::body_state::{BodyState, ShownPose};

/// Largest number of stored poses. Poses before the latest one serve firings that are rendered late.
const KEPT: usize = 64;
/// Largest forward step of sequence numbers within a stream, as in RFC 3550 (`MAX_DROPOUT`).
const MAX_DROPOUT: u64 = 3000;
/// Largest backward step of sequence numbers within a stream, as in RFC 3550 (`MAX_MISORDER`).
const MAX_MISORDER: u64 = 100;
/// Largest relative drift between the sender's clock and the run's clock; an assumption.
const DRIFT: f64 = 2e-4;

/// The latest poses of a sender. One thread writes, all threads read.
#[derive(Debug)]
pub struct Feed {
    config: FeedConfig,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: VecDeque<Arc<Sample>>,
    /// Log entries that [`Feed::take_log`] has not returned yet; `None` if no log is kept.
    log: Option<VecDeque<Logged>>,
    sender: Option<Sender>,
    /// The sender's last datagram, if its sequence number or time was far from those of the previous datagrams. The
    /// next datagram may confirm it.
    stray: Option<Sender>,
    is_held: bool,
    counts: FeedCounts,
}

/// A pose with its twist.
#[derive(Debug)]
struct Sample {
    event: FeedEvent,
    source: PoseSource,
    /// Latest time at which a packet showed this pose, plus 1 ns; 0 if no packet did.
    shown_until: AtomicU64,
    /// Value of `shown_until` at the last call of [`Feed::take_shown`].
    shown_told: AtomicU64,
    /// Serial number of the pose among the accepted ones, from 1.
    serial: u64,
    /// Time when the pose is valid, on the run's clock.
    at: SimTime,
    pose: Transform<World, Body>,
    /// Velocity, Body frame.
    velocity_m_s: DVec3,
    /// Angular rate, Body frame.
    rate_rad_s: DVec3,
    /// Change of `velocity_m_s` per second since the previous pose; zero without a previous pose.
    velocity_change_m_s2: DVec3,
    /// Change of `rate_rad_s` per second since the previous pose; zero without a previous pose.
    rate_change_rad_s2: DVec3,
}

/// A log entry that [`Feed::take_log`] has not returned yet.
#[derive(Debug)]
enum Logged {
    /// A pose that readers may still use.
    Pose(Arc<Sample>),
    /// A finished row.
    Row(Box<FeedRow>),
}

/// Event that an entry of the pose feed's log reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedEvent {
    /// The rig's pose before the first datagram.
    Start,
    /// The first pose of a sender, also after a hold or a restart of the sender.
    First,
    /// A pose of the sender that also sent the previous pose.
    Pose,
    /// A pose at which the sender's clock jumped.
    Jump,
    /// No datagram arrived; the body is held from this time on.
    Hold,
}

impl FeedEvent {
    /// Name of the event in the log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::First => "first",
            Self::Pose => "pose",
            Self::Jump => "jump",
            Self::Hold => "hold",
        }
    }
}

/// The datagram that contained a pose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoseSource {
    /// Arrival on the run's clock.
    pub arrived: SimTime,
    /// Source address of the datagram.
    pub sender: SocketAddr,
    /// Sequence number that the sender gave the datagram.
    pub sequence: u64,
    /// Time when the pose is valid, on the sender's clock.
    pub time_ns: u64,
}

/// An entry of a feed's log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedRow {
    /// The event that changed the pose.
    pub event: FeedEvent,
    /// Time from which the pose applies.
    pub at: SimTime,
    /// Pose of the body at `at`.
    pub world_from_body: Transform<World, Body>,
    /// Velocity from `at` on, Body frame.
    pub velocity_m_s: DVec3,
    /// Angular rate from `at` on, Body frame.
    pub rate_rad_s: DVec3,
    /// Source of the pose; `None` for rows without a datagram.
    pub source: Option<PoseSource>,
    /// Latest time at which a packet showed this pose; `None` if no packet did.
    pub shown_until: Option<SimTime>,
}

impl FeedRow {
    fn at_rest(event: FeedEvent, at: SimTime, world_from_body: Transform<World, Body>) -> Self {
        let (velocity_m_s, rate_rad_s) = (DVec3::ZERO, DVec3::ZERO);
        let (source, shown_until) = (None, None);
        Self { event, at, world_from_body, velocity_m_s, rate_rad_s, source, shown_until }
    }
}

impl Logged {
    /// Whether the entry can no longer change.
    fn is_final(&self) -> bool {
        match self {
            Self::Pose(sample) => Arc::strong_count(sample) == 1,
            Self::Row(_) => true,
        }
    }

    fn row(self) -> FeedRow {
        match self {
            Self::Row(row) => *row,
            Self::Pose(sample) => FeedRow {
                event: sample.event,
                at: sample.at,
                world_from_body: sample.pose,
                velocity_m_s: sample.velocity_m_s,
                rate_rad_s: sample.rate_rad_s,
                source: Some(sample.source),
                shown_until: sample.shown_until.load(Ordering::Relaxed).checked_sub(1).map(SimTime),
            },
        }
    }
}

/// An accepted pose, for a copy of the feed in another process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedPose {
    /// Serial number of the pose among the accepted ones, from 1.
    pub serial: u64,
    /// Time when the pose is valid, on the run's clock.
    pub at: SimTime,
    /// Time of arrival, on the run's clock.
    pub arrived: SimTime,
    /// Pose of the body at `at`.
    pub world_from_body: Transform<World, Body>,
    /// Velocity from `at` on, Body frame.
    pub velocity_m_s: DVec3,
    /// Angular rate from `at` on, Body frame.
    pub rate_rad_s: DVec3,
    /// Change of `velocity_m_s` per second since the previous pose; zero without a previous pose.
    pub velocity_change_m_s2: DVec3,
    /// Change of `rate_rad_s` per second since the previous pose; zero without a previous pose.
    pub rate_change_rad_s2: DVec3,
}

/// Poses that a copy of a feed does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedNews {
    /// Serial number of the oldest pose that the feed still stores; the copy drops older ones.
    pub oldest: u64,
    /// The new poses, in the order of their serial numbers.
    pub poses: Vec<FeedPose>,
}

/// A sender of poses, with the sequence number and the time of its latest datagram.
#[derive(Clone, Copy, Debug)]
struct Sender {
    address: SocketAddr,
    sequence: u64,
    time_ns: u64,
    /// The run's clock minus the sender's clock, nanoseconds, under the assumption that the fastest datagrams had no
    /// delay.
    ahead_ns: i128,
}

/// Counts of datagrams and events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FeedCounts {
    /// Accepted poses.
    pub poses: u64,
    /// Rejected datagrams: they contained no valid pose.
    pub refused: u64,
    /// Rejected datagrams: their sender does not own the feed.
    pub strangers: u64,
    /// Rejected poses: they arrived after a later one, or twice.
    pub outdated: u64,
    /// Rejected poses: their sequence number or time is too far from the previous ones.
    pub strays: u64,
    /// Poses that never arrived, from gaps in the sequence numbers.
    pub missing: u64,
    /// Number of times that the feed stopped and the body was held.
    pub holds: u64,
    /// Number of times the sender's clock jumped.
    pub clock_jumps: u64,
}

/// Reason for rejecting a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedRefusal {
    /// The bytes are no valid pose.
    #[error(transparent)]
    Fault(#[from] FeedFault),
    /// Another sender owns the feed.
    #[error("another sender controls the feed")]
    Stranger,
    /// A pose with a later sequence number, or with the same one, has already arrived.
    #[error("a later pose has already arrived")]
    Outdated,
    /// Sequence number or time is far from those of the previous datagrams, and no other datagram confirms it.
    #[error("its number or time is too far from the previous ones")]
    Stray,
}

impl Sender {
    /// Whether the sender's next datagram may have the sequence number `sequence` and the time `time_ns`. A sender's
    /// time may stop, but not decrease. `ahead_ns` is the run's clock minus the sender's clock according to the next
    /// datagram; it may decrease by at most `limit_ns`.
    fn is_followed_by(&self, sequence: u64, time_ns: u64, ahead_ns: i128, limit_ns: i128) -> bool {
        let is_near = match sequence.checked_sub(self.sequence) {
            Some(forward) => forward <= MAX_DROPOUT,
            None => self.sequence - sequence <= MAX_MISORDER,
        };
        // The number, not the time, shows whether a datagram is outdated.
        let is_in_time = sequence <= self.sequence
            || time_ns >= self.time_ns && ahead_ns >= self.ahead_ns - limit_ns;
        is_near && is_in_time
    }
}

impl Feed {
    /// A feed before the first datagram: the body stands at the rig's pose.
    pub fn new(config: FeedConfig) -> Self {
        Self { config, state: RwLock::default() }
    }

    /// The feed's settings in the rig.
    pub fn config(&self) -> &FeedConfig {
        &self.config
    }

    /// Counts so far.
    pub fn counts(&self) -> FeedCounts {
        self.state.read().expect("no holder panics").counts
    }

    /// Processes a datagram that arrived from `sender` at `arrived`. The first sender owns the feed until the feed
    /// has stopped.
    ///
    /// # Errors
    /// Reason for rejecting the datagram; the datagram is counted.
    pub fn take(
        &self,
        arrived: SimTime,
        sender: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), FeedRefusal> {
        let read = PoseTwist::decode(datagram);
        let mut state = self.state.write().expect("no holder panics");
        let state = &mut *state;
        let read = read.inspect_err(|_| state.counts.refused += 1)?;
        // After the feed has stopped, any sender can own it, even one that has restarted.
        let known = state.sender.filter(|_| !state.is_held);
        if known.is_some_and(|known| known.address != sender) {
            state.counts.strangers += 1;
            return Err(FeedRefusal::Stranger);
        }
        let jumps = state.counts.clock_jumps;
        let newest_ns = i128::from(arrived.0) - i128::from(read.time_ns);
        let limit_ns = i128::from(self.config.hold_after_ns);
        let follows = |sender: &Sender| {
            sender.is_followed_by(read.sequence, read.time_ns, newest_ns, limit_ns)
        };
        let stray = state.stray.take().filter(follows).filter(|_| known.is_some());
        let stray = stray.filter(|stray| read.sequence > stray.sequence);
        let known = match (known, stray) {
            (Some(known), None) if !follows(&known) => {
                // A stray datagram that another one confirms comes from a restarted sender.
                let Sender { address, .. } = known;
                let PoseTwist { sequence, time_ns, .. } = read;
                state.stray = Some(Sender { address, sequence, time_ns, ahead_ns: newest_ns });
                state.counts.strays += 1;
                return Err(FeedRefusal::Stray);
            }
            (Some(known), Some(_)) if !follows(&known) => {
                let is_clock = read.sequence.wrapping_sub(known.sequence) <= MAX_DROPOUT;
                state.counts.clock_jumps += u64::from(is_clock);
                None
            }
            (known, _) => known,
        };
        if known.is_some_and(|known| read.sequence <= known.sequence) {
            state.counts.outdated += 1;
            return Err(FeedRefusal::Outdated);
        }
        let ahead_ns = match known {
            None => newest_ns,
            Some(known) => {
                let missing = &mut state.counts.missing;
                *missing += read.sequence - known.sequence - 1;
                self.ahead(known.ahead_ns, newest_ns, arrived, state)
            }
        };
        let PoseTwist { sequence, time_ns, .. } = read;
        state.sender = Some(Sender { address: sender, sequence, time_ns, ahead_ns });
        state.is_held = false;
        state.counts.poses += 1;
        if known.is_none() {
            state.kept.clear();
        }
        let at = (i128::from(read.time_ns) + ahead_ns).clamp(0, arrived.0.into()) as u64;
        let turn = DQuat::from_array(read.orientation_xyzw);
        let event = match known {
            _ if state.counts.clock_jumps > jumps => FeedEvent::Jump,
            None => FeedEvent::First,
            Some(_) => FeedEvent::Pose,
        };
        let velocity_m_s = DVec3::from_array(read.velocity_m_s);
        let rate_rad_s = DVec3::from_array(read.angular_rate_rad_s);
        // After a jump of the clock and after a hold, no earlier pose is stored.
        let before = state.kept.back().filter(|before| before.source.time_ns < time_ns);
        let [velocity_change_m_s2, rate_change_rad_s2] =
            before.map_or([DVec3::ZERO; 2], |before| {
                let dt = (time_ns - before.source.time_ns) as f64 * 1e-9;
                [(velocity_m_s - before.velocity_m_s) / dt, (rate_rad_s - before.rate_rad_s) / dt]
            });
        let sample = Arc::new(Sample {
            event,
            source: PoseSource { arrived, sender, sequence, time_ns },
            shown_until: AtomicU64::new(0),
            shown_told: AtomicU64::new(0),
            serial: state.counts.poses,
            at: SimTime(at),
            pose: Transform::new(DVec3::from_array(read.position_m), turn),
            velocity_m_s,
            rate_rad_s,
            velocity_change_m_s2,
            rate_change_rad_s2,
        });
        if let Some(log) = &mut state.log {
            if state.counts.poses == 1 && at > 0 {
                let row = FeedRow::at_rest(FeedEvent::Start, SimTime::ZERO, self.start());
                log.push_back(Logged::Row(Box::new(row)));
            }
            log.push_back(Logged::Pose(sample.clone()));
        }
        state.kept.push_back(sample);
        if state.kept.len() > KEPT {
            state.kept.pop_front();
        }
        Ok(())
    }

    /// The run's clock minus the sender's clock, nanoseconds, from its previous value `known_ns` and the value
    /// `newest_ns` of the newest datagram. If they differ too much, a clock jump is counted, and the stored poses are
    /// dropped.
    fn ahead(&self, known_ns: i128, newest_ns: i128, arrived: SimTime, state: &mut State) -> i128 {
        let last = state.kept.back().map_or(arrived, |sample| sample.source.arrived);
        let drift_ns = arrived.saturating_since(last).as_nanos() as f64 * DRIFT;
        let limit_ns = i128::from(self.config.hold_after_ns);
        if (newest_ns - known_ns).abs() > limit_ns {
            // The simulator paused, or its time jumped.
            state.counts.clock_jumps += 1;
            state.kept.clear();
            return newest_ns;
        }
        newest_ns.min(known_ns + drift_ns as i128)
    }

    /// Whether the feed has stopped at `now`; returns true once for each stop.
    pub fn has_just_stopped(&self, now: SimTime) -> bool {
        let last = |state: &State| state.kept.back().map(|sample| sample.source.arrived);
        let is_over = |state: &State| {
            let silent = last(state).map(|last| now.saturating_since(last).as_nanos());
            !state.is_held && silent.is_some_and(|ns| ns > self.config.hold_after_ns.into())
        };
        if !is_over(&self.state.read().expect("no holder panics")) {
            return false;
        }
        let mut state = self.state.write().expect("no holder panics");
        if !is_over(&state) {
            return false;
        }
        state.is_held = true;
        state.counts.holds += 1;
        let State { kept, log, .. } = &mut *state;
        if let (Some(log), Some(last)) = (log, kept.back()) {
            let hold_ns = self.config.hold_after_ns;
            let held = last.after(hold_ns);
            let row = FeedRow::at_rest(FeedEvent::Hold, SimTime(last.at.0 + hold_ns), held);
            log.push_back(Logged::Row(Box::new(row)));
        }
        true
    }

    /// Starts a log for [`Feed::take_log`].
    pub fn keep_log(&self) {
        self.state.write().expect("no holder panics").log.get_or_insert_default();
    }

    /// Takes the new log rows in order. A pose is included once later poses have replaced it, or after the end of the
    /// run (`is_over`).
    pub fn take_log(&self, is_over: bool) -> Vec<FeedRow> {
        let mut state = self.state.write().expect("no holder panics");
        let Some(log) = &mut state.log else { return Vec::new() };
        let mut rows = Vec::new();
        while let Some(first) = log.pop_front_if(|first| is_over || first.is_final()) {
            rows.push(first.row());
        }
        rows
    }

    /// The rig's pose, which applies before the first datagram.
    fn start(&self) -> Transform<World, Body> {
        let [x, y, z] = self.config.position_m;
        Transform::from_rpy(DVec3::new(x, y, z), 0.0, 0.0, self.config.yaw_rad)
    }

    /// The pose that a firing at `t` shows; `None` before the first pose has arrived.
    pub fn shown_at(&self, t: SimTime) -> Option<ShownPose> {
        let sample = self.sample_at(t)?;
        Some(ShownPose { serial: sample.serial, arrived: sample.source.arrived })
    }

    /// Poses accepted after pose `serial`; `None` if there are none.
    pub fn news_since(&self, serial: u64) -> Option<FeedNews> {
        let state = self.state.read().expect("no holder panics");
        if state.kept.back().is_none_or(|last| last.serial <= serial) {
            return None;
        }
        let oldest = state.kept.front().map_or(0, |first| first.serial);
        let new = state.kept.iter().filter(|sample| sample.serial > serial);
        let told = |sample: &Arc<Sample>| FeedPose {
            serial: sample.serial,
            at: sample.at,
            arrived: sample.source.arrived,
            world_from_body: sample.pose,
            velocity_m_s: sample.velocity_m_s,
            rate_rad_s: sample.rate_rad_s,
            velocity_change_m_s2: sample.velocity_change_m_s2,
            rate_change_rad_s2: sample.rate_change_rad_s2,
        };
        Some(FeedNews { oldest, poses: new.map(told).collect() })
    }

    /// Adds new poses of the original feed to this copy, and drops poses that are no longer in use. Only the original
    /// has the state of senders and the log.
    pub fn repeat(&self, news: &FeedNews) {
        let mut state = self.state.write().expect("no holder panics");
        while state.kept.pop_front_if(|first| first.serial < news.oldest).is_some() {}
        state.kept.extend(news.poses.iter().map(|pose| {
            let FeedPose { serial, at, arrived, .. } = *pose;
            let sender = self.config.listen;
            Arc::new(Sample {
                event: FeedEvent::Pose,
                source: PoseSource { arrived, sender, sequence: serial, time_ns: at.0 },
                shown_until: AtomicU64::new(0),
                shown_told: AtomicU64::new(0),
                serial,
                at,
                pose: pose.world_from_body,
                velocity_m_s: pose.velocity_m_s,
                rate_rad_s: pose.rate_rad_s,
                velocity_change_m_s2: pose.velocity_change_m_s2,
                rate_change_rad_s2: pose.rate_change_rad_s2,
            })
        }));
    }

    /// Serial numbers of the poses that packets have shown since the last call, with the latest time of each. A copy
    /// reports them to the original feed, which keeps the log.
    pub fn take_shown(&self) -> Vec<(u64, SimTime)> {
        let state = self.state.read().expect("no holder panics");
        let shown = state.kept.iter().filter_map(|sample| {
            let until = sample.shown_until.load(Ordering::Relaxed);
            let told = sample.shown_told.fetch_max(until, Ordering::Relaxed);
            (until > told).then(|| (sample.serial, SimTime(until - 1)))
        });
        shown.collect()
    }

    /// Records that a copy has shown the pose `serial` until `until`.
    pub fn note_shown(&self, serial: u64, until: SimTime) {
        let state = self.state.read().expect("no holder panics");
        let logged = state.log.iter().flatten().filter_map(|entry| match entry {
            Logged::Pose(sample) => Some(sample),
            Logged::Row(_) => None,
        });
        if let Some(sample) = state.kept.iter().chain(logged).find(|one| one.serial == serial) {
            sample.shown_until.fetch_max(until.0.saturating_add(1), Ordering::Relaxed);
        }
    }

    fn sample_at(&self, t: SimTime) -> Option<Arc<Sample>> {
        let state = self.state.read().expect("no holder panics");
        let latest = state.kept.iter().rev().find(|sample| sample.at <= t);
        latest.or(state.kept.front()).cloned()
    }

    /// Pose, velocity, acceleration and angular rate at `t`. Records that the pose in use was shown at `t`.
    pub fn state(&self, t: SimTime) -> BodyState {
        let Some(sample) = self.sample_at(t) else { return at_rest(self.start()) };
        sample.shown_until.fetch_max(t.0.saturating_add(1), Ordering::Relaxed);
        let since_ns = t.0.saturating_sub(sample.at.0);
        let is_held = since_ns > self.config.hold_after_ns;
        let pose = sample.after(since_ns.min(self.config.hold_after_ns));
        if is_held {
            return at_rest(pose);
        }
        let turning_m_s2 = sample.rate_rad_s.cross(sample.velocity_m_s);
        BodyState {
            world_from_body: pose,
            velocity_m_s: pose.direction(sample.velocity_m_s),
            acceleration_m_s2: pose.direction(turning_m_s2 + sample.velocity_change_m_s2),
            angular_rate_rad_s: sample.rate_rad_s,
        }
    }

    /// Angular acceleration at `t`, Body frame, rad/s²; zero for a body at rest.
    pub fn angular_acceleration_rad_s2(&self, t: SimTime) -> DVec3 {
        let is_moving =
            |sample: &Arc<Sample>| t.0.saturating_sub(sample.at.0) <= self.config.hold_after_ns;
        let sample = self.sample_at(t).filter(is_moving);
        sample.map_or(DVec3::ZERO, |sample| sample.rate_change_rad_s2)
    }
}

impl Sample {
    /// The pose `since_ns` later.
    fn after(&self, since_ns: u64) -> Transform<World, Body> {
        self.pose * screw(self.velocity_m_s, self.rate_rad_s, since_ns as f64 * 1e-9)
    }
}

fn at_rest(world_from_body: Transform<World, Body>) -> BodyState {
    BodyState {
        world_from_body,
        velocity_m_s: DVec3::ZERO,
        acceleration_m_s2: DVec3::ZERO,
        angular_rate_rad_s: DVec3::ZERO,
    }
}

/// Motion of a body with constant twist in its own frame for `dt` seconds: the exponential of the twist.
fn screw(velocity: DVec3, rate: DVec3, dt: f64) -> Transform<Body, Body> {
    let turn = rate * dt;
    let angle = turn.length();
    let way = velocity * dt;
    if angle < 1e-9 {
        return Transform::new(way + 0.5 * turn.cross(way), quat_about(DVec3::X, 0.0));
    }
    let (sin, cos) = libm::sincos(angle);
    let axis = turn / angle;
    let across = axis.cross(way);
    let bent = way + across * ((1.0 - cos) / angle) + axis.cross(across) * ((angle - sin) / angle);
    Transform::new(bent, quat_about(axis, angle))
}

#[cfg(test)]
mod tests;
