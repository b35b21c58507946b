//! The real-time loop.
//!
//! A packet's due time is absolute and comes from its firings. One thread sends: it sleeps to
//! the earliest due time, sends, and counts how late it was. After a miss the next packet is due
//! when it always was, so a lidar that slips keeps its phase.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::clock::MonotonicClock;
use super::os::{self, Grant};
use super::render::{Rendered, Renderer};
use super::stats::{DeviceFigures, DeviceStats, Outcome, RenderStats};
use super::{LiveWorld, SetupError, build_devices, default_workers, open_link};
use crate::config::rig::{LatePolicy, Rig};
use crate::devices::Transmit;
use crate::links::udp::UdpLink;
use crate::time::{Epoch, SimTime};

/// Time between deciding on the first instant and that instant: what is rendered ahead before it.
const START_DELAY: Duration = Duration::from_millis(250);
/// The sender looks for new packets at least this often.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
/// Packets on their way to the sender; far more than any render-ahead holds.
const SEND_QUEUE: usize = 4096;

/// A rig on its links, not yet running.
pub struct RealTimeRun<'a> {
    rig: &'a Rig,
    world: &'a LiveWorld,
    links: Vec<UdpLink>,
    stats: Vec<DeviceStats>,
    nominal_rates_hz: Vec<f64>,
    render: RenderStats,
    workers: usize,
    clock: MonotonicClock,
    epoch: Epoch,
}

impl<'a> RealTimeRun<'a> {
    /// Opens every link; the first instant is a quarter of a second from now.
    pub fn new(rig: &'a Rig, world: &'a LiveWorld) -> Result<Self, SetupError> {
        let links = rig.devices.iter().map(open_link).collect::<Result<Vec<_>, _>>()?;
        let (clock, host_utc) = MonotonicClock::starting_in(START_DELAY);
        let epoch = Epoch::new(rig.start_utc.unwrap_or(host_utc));
        Ok(Self {
            rig,
            world,
            stats: links.iter().map(|_| DeviceStats::default()).collect(),
            links,
            nominal_rates_hz: build_devices(rig, epoch)
                .iter()
                .map(|built| built.device.nominal_rate_hz())
                .collect(),
            render: RenderStats::default(),
            workers: rig.engine.workers.unwrap_or_else(default_workers),
            clock,
            epoch,
        })
    }

    /// Threads that cast rays.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The UTC of the first instant, as the devices know it.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Time since the first instant.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.clock.now().0)
    }

    /// How many seconds of the rig are rendered in a second of busy workers.
    pub fn real_time_factor(&self) -> f64 {
        self.render.real_time_factor(self.workers)
    }

    /// Pulses cast so far.
    pub fn pulses(&self) -> u64 {
        self.render.pulses()
    }

    /// Each device's figures, were `elapsed` of the run over.
    pub fn figures(&self, elapsed: Duration) -> Vec<DeviceFigures> {
        self.rig
            .devices
            .iter()
            .zip(&self.stats)
            .zip(&self.links)
            .zip(&self.nominal_rates_hz)
            .map(|(((device, stats), link), &nominal_rate_hz)| {
                let to = format!("udp {}", link.to());
                stats.figures(&device.name, &device.profile.name, &to, nominal_rate_hz, elapsed)
            })
            .collect()
    }

    /// Runs until every packet whose first firing is before `duration` has left, or `stop` is
    /// set. `on_start` learns what the system granted.
    pub fn run(
        &self,
        duration: Option<Duration>,
        stop: &AtomicBool,
        on_start: impl FnOnce(&[Grant]) + Send,
    ) {
        let end = duration.map_or(SimTime(u64::MAX), |d| SimTime(d.as_nanos() as u64));
        std::thread::scope(|scope| {
            let devices = build_devices(self.rig, self.epoch);
            let renderer = Renderer::start(
                scope,
                self.workers,
                self.world,
                &self.rig.devices,
                devices,
                &self.render,
            );
            let (packets, queue) = bounded(SEND_QUEUE);
            scope.spawn(move || {
                let mut grants = os::favour_this_thread();
                grants.push(os::lock_memory());
                on_start(&grants);
                self.send_all(&queue, stop);
            });
            self.conduct(renderer, &packets, end, stop);
        });
    }

    /// Keeps the workers supplied and passes what they finish to the sender.
    fn conduct(
        &self,
        mut renderer: Renderer<'_>,
        packets: &Sender<(usize, Transmit)>,
        end: SimTime,
        stop: &AtomicBool,
    ) {
        let ahead = Duration::from_nanos(self.rig.engine.render_ahead_ns);
        let is_given_up_at = |now: SimTime| {
            let drops = self.rig.engine.late == LatePolicy::Drop;
            // A packet this late cannot be sent any more; casting its rays would delay the next.
            let limit_ns = now.0.saturating_sub(self.rig.engine.miss_threshold_ns);
            move |request: &crate::sensors::MeasurementRequest| {
                let span_ns = request.firings.iter().map(|f| f.offset_ns).max().unwrap_or(0);
                drops && request.start.0 + u64::from(span_ns) < limit_ns
            }
        };
        let mut pass_on = |rendered: Rendered| match rendered {
            Rendered::Transmit(unit, transmit) => {
                // Fails only when the sender has stopped, and then so do we.
                let _ = packets.send((unit, transmit));
            }
            Rendered::Skipped(unit) => self.stats[unit].count_dropped(),
        };
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let horizon = (now + ahead).min(end);
            renderer.dispatch(horizon, is_given_up_at(now));
            renderer.flush_all(&mut pass_on);
            if !renderer.is_busy() && horizon == end {
                break;
            }
            if let Ok(done) = renderer.done().recv_timeout(LONGEST_SLEEP) {
                renderer.collect(done, &mut pass_on);
                while let Ok(done) = renderer.done().try_recv() {
                    renderer.collect(done, &mut pass_on);
                }
            }
        }
    }

    /// Sends each packet when it is due, until the conductor has gone and nothing is left.
    fn send_all(&self, queue: &Receiver<(usize, Transmit)>, stop: &AtomicBool) {
        let mut waiting: BinaryHeap<Reverse<Pending>> = BinaryHeap::with_capacity(SEND_QUEUE);
        let mut order = 0;
        let mut is_open = true;
        while !stop.load(Ordering::Relaxed) {
            for (unit, transmit) in queue.try_iter() {
                order += 1;
                waiting.push(Reverse(Pending { due: transmit.due, order, unit, transmit }));
            }
            let latest_wake = self.clock.now() + LONGEST_SLEEP;
            match waiting.peek() {
                Some(Reverse(first)) if first.due > latest_wake => {
                    self.clock.sleep_until(latest_wake);
                }
                Some(Reverse(first)) => {
                    self.clock.sleep_until(first.due);
                    if let Some(Reverse(pending)) = waiting.pop() {
                        self.send(&pending);
                    }
                }
                None if is_open => match queue.recv_timeout(LONGEST_SLEEP) {
                    Ok((unit, transmit)) => {
                        order += 1;
                        waiting.push(Reverse(Pending { due: transmit.due, order, unit, transmit }));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => is_open = false,
                },
                None => break,
            }
        }
    }

    fn send(&self, pending: &Pending) {
        let stats = &self.stats[pending.unit];
        let lateness = self.clock.now().saturating_since(pending.due);
        let is_late = lateness.as_nanos() > u128::from(self.rig.engine.miss_threshold_ns);
        if is_late && self.rig.engine.late == LatePolicy::Drop {
            stats.count_dropped();
            return;
        }
        let link = &self.links[pending.unit];
        let outcome = match link.send(&pending.transmit.payload) {
            Ok(()) if is_late => Outcome::Late,
            Ok(()) => Outcome::OnTime,
            Err(error) => {
                tracing::debug!("{}", link.explain(&error));
                Outcome::Refused
            }
        };
        let Transmit { points, payload, .. } = &pending.transmit;
        stats.count(outcome, *points, payload.len(), lateness);
    }
}

/// A packet that waits for its due time; of equal due times the first to come goes first.
struct Pending {
    due: SimTime,
    order: u64,
    unit: usize,
    transmit: Transmit,
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        (self.due, self.order) == (other.due, other.order)
    }
}
impl Eq for Pending {}
impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Pending {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.order).cmp(&(other.due, other.order))
    }
}
