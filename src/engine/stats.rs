//! Counters of each device's packets, for the status view and the report.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::ptp_figures::{PtpAccounts, PtpFigures};
use super::refusal::Refusal;
use crate::config::profile::network::{DatagramPort, PortIndex};
use crate::config::rig::DeviceId;
use crate::devices::ptp::account::ClockAccount;
use crate::time::SimTime;
use crate::timing::clock::{Stopwatch, thread_cpu_ns};

/// Longest lateness that the histogram holds, nanoseconds; a longer one is recorded as this value. One day, because a
/// machine that is too slow falls further behind during the whole run.
const LATENESS_LIMIT_NS: u64 = 86_400_000_000_000;

/// Largest number of refusal reasons that are recorded separately.
const MOST_REASONS: usize = 8;

/// Counters of one device. The sender writes its counters without waiting. Histograms, refusals and PTP accounts have
/// locks; other threads write them.
#[derive(Debug)]
pub struct DeviceStats {
    sent: AtomicU64,
    points: AtomicU64,
    bytes: AtomicU64,
    sent_late: AtomicU64,
    dropped: AtomicU64,
    /// Number of late and dropped packets that were not ready in time.
    not_ready: AtomicU64,
    send_errors: AtomicU64,
    /// Reasons of refusals, each once, in the order of their first occurrence.
    refusals: Mutex<Vec<(Refusal, String)>>,
    faulted: AtomicU64,
    /// Name of each port, and the number of its packets.
    ports: Vec<(&'static str, AtomicU64)>,
    unrecorded: AtomicU64,
    thinned: AtomicU64,
    lateness_ns: Mutex<Histogram<u64>>,
    shown_on_wire_ns: Mutex<Histogram<u64>>,
    fired_to_wire_ns: Mutex<Histogram<u64>>,
    lead_ns: AtomicU64,
    /// Time at which the latest packet was submitted to the kernel; 0 if none was.
    last_sent_ns: AtomicU64,
    ptp: Mutex<PtpAccounts>,
}

/// Numbers of a device's packets and deadline misses up to an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent, including late ones.
    pub packets: u64,
    /// Packets sent later than `engine.miss_threshold_us` after their due time.
    pub sent_late: u64,
    /// Packets not sent because they were too late.
    pub dropped: u64,
    /// Packets that the system refused.
    pub send_errors: u64,
    /// Time at which the latest packet was submitted to the kernel; `None` before the first.
    pub last_sent: Option<SimTime>,
}

/// Counters of the workers' measurements.
#[derive(Debug)]
pub struct RenderStats {
    devices: Vec<DeviceRendering>,
    pulses: AtomicU64,
    /// Processor time spent on computing the motion of a driven robot, nanoseconds.
    moving_ns: AtomicU64,
}

/// Cost of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Processor time, nanoseconds.
    pub busy_ns: u64,
    /// Wall-clock time of the measurement, nanoseconds.
    pub lasted_ns: u64,
}

impl Effort {
    /// Runs `work`; returns its result and its cost on this thread.
    pub fn of<T>(work: impl FnOnce() -> T) -> (T, Self) {
        let (watch, before_ns) = (Stopwatch::start(), thread_cpu_ns());
        let given = work();
        let busy_ns = thread_cpu_ns().saturating_sub(before_ns);
        (given, Self { busy_ns, lasted_ns: watch.elapsed().as_nanos() as u64 })
    }
}

/// Counters of the workers' measurements for one device.
#[derive(Debug, Default)]
struct DeviceRendering {
    busy_ns: AtomicU64,
    /// Time from the start to the end of measurements, including the time in which a worker had no processor.
    lasted_ns: AtomicU64,
    measured: AtomicU64,
    given_up: AtomicU64,
    /// Start time of the latest measured request, nanoseconds since the first instant.
    rendered_ns: AtomicU64,
    behind_ns: AtomicU64,
}

/// Figures of one device at an instant.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceFigures {
    /// Name of the device.
    pub name: String,
    /// Name of the device's profile.
    pub profile: String,
    /// Link of the device, as text.
    pub link: String,
    /// Packets sent, including late ones.
    pub packets: u64,
    /// Points with a return in the sent packets.
    pub points: u64,
    /// Payload bytes of all sent packets.
    pub bytes: u64,
    /// Packets per second since the first instant.
    pub rate_hz: f64,
    /// Packets per second of the real device.
    pub nominal_rate_hz: f64,
    /// Packets by port; empty for a device that sends no datagrams.
    pub ports: Vec<PortPackets>,
    /// Packets that missed their deadline: `sent_late + dropped`.
    pub misses: u64,
    /// Packets sent late.
    pub sent_late: u64,
    /// Packets not sent because they were too late.
    pub dropped: u64,
    /// Part of `misses`: packets that were not measured or encoded in time. For the other misses, the sender was late.
    pub not_ready: u64,
    /// Packets that the system refused.
    pub send_errors: u64,
    /// Reasons of refusals, each once, in the order of their first occurrence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_because: Vec<String>,
    /// Packets on which a fault of the rig acted.
    pub faulted: u64,
    /// Packets whose lateness was not recorded, because the recording thread was too slow; all counts include them.
    pub unrecorded: u64,
    /// Measurements with fewer rays per pulse because rendering was late; a measurement is, for example, a packet of a
    /// Velodyne or a scan of a SICK. The bytes of such measurements differ from a recording.
    pub thinned: u64,
    /// Delay of the device's measurements behind real time, seconds: that of the latest finished measurement; at the
    /// end of the run, that of the oldest unfinished one.
    pub behind_s: f64,
    /// Lead: time before the due time at which datagrams are submitted to the kernel, microseconds.
    pub lead_us: f64,
    /// Lateness: time from the due time to the submission to the kernel, microseconds.
    pub lateness_us: Lateness,
    /// Latency from the arrival of a pose at the robot's feed to the submission of the first packet that shows it,
    /// microseconds; `None` without a feed or without such a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose_to_wire_us: Option<Lateness>,
    /// Latency from the arrival of a drive command to the submission of the first packet that shows the motion,
    /// microseconds; `None` if the robot is not driven or no such packet was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_to_wire_us: Option<Lateness>,
    /// Latency from a packet's first firing to the packet's submission to the kernel, microseconds; `None` if the robot
    /// is not driven, the device casts no rays, or no packet was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firing_to_wire_us: Option<Lateness>,
    /// Figures of the device's PTP clock; `None` without PTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptp: Option<PtpFigures>,
}

/// Packets of one of a device's ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortPackets {
    /// Name of the port, such as `data`.
    pub name: String,
    /// Packets sent, including late ones.
    pub packets: u64,
}

/// Upper end of the first bin of a histogram of lateness, nanoseconds.
const LEAST_BIN_NS: u64 = 1000;

/// A bin of the histogram of lateness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatenessBin {
    /// Upper end of the bin, microseconds.
    pub up_to_us: f64,
    /// Number of packets in the bin.
    pub packets: u64,
}

/// Percentiles of a lateness, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Median of the values.
    pub p50: f64,
    /// 99 % of the values are no larger.
    pub p99: f64,
    /// 99.9 % of the values are no larger.
    pub p99_9: f64,
    /// Largest value.
    pub max: f64,
}

/// Reason of a deadline miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissCause {
    /// The packet entered the send queue late: it was not measured or encoded in time.
    NotReady,
    /// The packet waited in the send queue, because the sender was late.
    SenderLate,
}

impl MissCause {
    /// Cause of the greater part of a packet's lateness. The packet was due at `due`, entered the send queue
    /// at `ready`, and was handled at `at`.
    pub fn of(due: SimTime, ready: SimTime, at: SimTime) -> Self {
        let late_ns = at.0.saturating_sub(due.0);
        let not_ready_ns = ready.0.saturating_sub(due.0);
        if 2 * not_ready_ns > late_ns { Self::NotReady } else { Self::SenderLate }
    }
}

/// Outcome of submitting a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet was sent before its deadline.
    OnTime,
    /// The packet was sent after its deadline.
    Late,
    /// The system refused the packet.
    Refused(Refusal),
    /// The packet was not sent because it was too late.
    Dropped,
}

impl Default for DeviceStats {
    fn default() -> Self {
        // Two significant digits, so that a percentile is off by 1 % at most.
        let lateness = Histogram::new_with_bounds(1, LATENESS_LIMIT_NS, 2)
            .expect("constant bounds that hdrhistogram allows");
        Self {
            sent: AtomicU64::new(0),
            points: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            sent_late: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            not_ready: AtomicU64::new(0),
            send_errors: AtomicU64::new(0),
            refusals: Mutex::default(),
            faulted: AtomicU64::new(0),
            ports: Vec::new(),
            unrecorded: AtomicU64::new(0),
            thinned: AtomicU64::new(0),
            shown_on_wire_ns: Mutex::new(lateness.clone()),
            fired_to_wire_ns: Mutex::new(lateness.clone()),
            lateness_ns: Mutex::new(lateness),
            lead_ns: AtomicU64::new(0),
            last_sent_ns: AtomicU64::new(0),
            ptp: Mutex::default(),
        }
    }
}

impl DeviceStats {
    /// Counters at zero, for a device with `ports`.
    pub fn new(ports: &[DatagramPort]) -> Self {
        let ports = ports.iter().map(|port| (port.name, AtomicU64::new(0))).collect();
        Self { ports, ..Self::default() }
    }

    /// Counts a packet with `points` points and `bytes` payload bytes that the sender has handled; `port` is the port
    /// of a datagram, otherwise `None`.
    pub fn count(&self, outcome: Outcome, points: u32, bytes: usize, port: Option<PortIndex>) {
        match outcome {
            Outcome::Refused(_) => {
                self.send_errors.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Outcome::Dropped => {
                self.count_dropped();
                return;
            }
            Outcome::Late => {
                self.sent_late.fetch_add(1, Ordering::Relaxed);
            }
            Outcome::OnTime => {}
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.points.fetch_add(points.into(), Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some((_, packets)) = port.and_then(|port| self.ports.get(port.place())) {
            packets.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records the lateness of a packet that was sent.
    pub fn record_lateness(&self, lateness: Duration) {
        record(&self.lateness_ns, lateness);
    }

    /// Records when a packet was submitted to the kernel.
    pub fn note_sent(&self, at: SimTime) {
        self.last_sent_ns.fetch_max(at.0.max(1), Ordering::Relaxed);
    }

    /// Counts so far; needs no lock.
    pub fn counters(&self) -> Counters {
        let last_ns = self.last_sent_ns.load(Ordering::Relaxed);
        Counters {
            packets: self.sent.load(Ordering::Relaxed),
            sent_late: self.sent_late.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            send_errors: self.send_errors.load(Ordering::Relaxed),
            last_sent: (last_ns > 0).then_some(SimTime(last_ns)),
        }
    }

    /// Pairs of lateness (nanoseconds, ascending) and number of packets, so far.
    pub fn lateness_counts(&self) -> Vec<(u64, u64)> {
        let lateness = self.lateness_ns.lock().expect("no holder panics");
        let recorded = lateness.iter_recorded();
        recorded.map(|bin| (bin.value_iterated_to(), bin.count_at_value())).collect()
    }

    /// Records the reason of a refusal. If the reason is new, calls `explain` for its text and returns the text; at
    /// most `MOST_REASONS` reasons are recorded.
    pub fn note_refusal(
        &self,
        refusal: Refusal,
        explain: impl FnOnce() -> String,
    ) -> Option<String> {
        let mut refusals = self.refusals.lock().expect("no holder panics");
        let is_known = refusals.iter().any(|(known, _)| *known == refusal);
        if is_known || refusals.len() == MOST_REASONS {
            return None;
        }
        refusals.push((refusal, explain()));
        refusals.last().map(|(_, reason)| reason.clone())
    }

    /// Counts a late or dropped packet if `cause` is [`MissCause::NotReady`]; the other cause has no counter.
    pub fn count_cause(&self, cause: MissCause) {
        if cause == MissCause::NotReady {
            self.not_ready.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a packet that was not sent because it was too late.
    pub fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a packet on which a fault of the rig acted.
    pub fn count_faulted(&self) {
        self.faulted.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a packet without a recorded lateness.
    pub fn count_unrecorded(&self) {
        self.unrecorded.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a measurement with fewer rays than usual.
    pub fn count_thinned(&self) {
        self.thinned.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a packet, the first to show a pose or a command, was submitted `latency` after the pose or command
    /// arrived.
    pub fn count_pose(&self, latency: Duration) {
        record(&self.shown_on_wire_ns, latency);
    }

    /// Records that a packet was submitted `latency` after its first firing.
    pub fn count_fired(&self, latency: Duration) {
        record(&self.fired_to_wire_ns, latency);
    }

    /// Sets the lead: time before the due time at which datagrams are submitted to the kernel.
    pub fn set_lead(&self, lead: Duration) {
        self.lead_ns.store(lead.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The lead: time before the due time at which datagrams are submitted to the kernel.
    pub fn lead(&self) -> Duration {
        Duration::from_nanos(self.lead_ns.load(Ordering::Relaxed))
    }

    /// Histogram of the lateness in bins by factors of two, without empty bins.
    pub fn lateness_bins(&self) -> Vec<LatenessBin> {
        let lateness = self.lateness_ns.lock().expect("no holder panics");
        let bins = lateness.iter_log(LEAST_BIN_NS, 2.0);
        let bins = bins.map(|bin| LatenessBin {
            up_to_us: bin.value_iterated_to() as f64 / 1e3,
            packets: bin.count_since_last_iteration(),
        });
        bins.filter(|bin| bin.packets > 0).collect()
    }

    /// Records the state and the error of the device's PTP clock at one instant.
    pub fn note_clock(&self, account: &ClockAccount, error_ns: i64) {
        self.ptp.lock().expect("no holder panics").note(account, error_ns);
    }

    /// Figures of the device when the run has lasted `elapsed`. The other arguments are copied into the figures.
    pub fn figures(
        &self,
        name: &str,
        profile: &str,
        link: &str,
        nominal_rate_hz: f64,
        elapsed: Duration,
    ) -> DeviceFigures {
        let packets_of = |(name, packets): &(&'static str, AtomicU64)| PortPackets {
            name: (*name).to_owned(),
            packets: packets.load(Ordering::Relaxed),
        };
        let unless_empty = |histogram: &Mutex<Histogram<u64>>| {
            let histogram = histogram.lock().expect("no holder panics");
            (!histogram.is_empty()).then(|| Lateness::of(&histogram))
        };
        let sent = self.sent.load(Ordering::Relaxed);
        let sent_late = self.sent_late.load(Ordering::Relaxed);
        let dropped = self.dropped.load(Ordering::Relaxed);
        DeviceFigures {
            name: name.to_owned(),
            profile: profile.to_owned(),
            link: link.to_owned(),
            packets: sent,
            points: self.points.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            rate_hz: if elapsed.is_zero() { 0.0 } else { sent as f64 / elapsed.as_secs_f64() },
            nominal_rate_hz,
            ports: self.ports.iter().map(packets_of).collect(),
            misses: sent_late + dropped,
            sent_late,
            dropped,
            not_ready: self.not_ready.load(Ordering::Relaxed),
            send_errors: self.send_errors.load(Ordering::Relaxed),
            refused_because: {
                let refusals = self.refusals.lock().expect("no holder panics");
                refusals.iter().map(|(_, reason)| reason.clone()).collect()
            },
            faulted: self.faulted.load(Ordering::Relaxed),
            unrecorded: self.unrecorded.load(Ordering::Relaxed),
            thinned: self.thinned.load(Ordering::Relaxed),
            behind_s: 0.0,
            lead_us: self.lead().as_nanos() as f64 / 1e3,
            lateness_us: Lateness::of(&self.lateness_ns.lock().expect("no holder panics")),
            pose_to_wire_us: unless_empty(&self.shown_on_wire_ns),
            order_to_wire_us: None,
            firing_to_wire_us: unless_empty(&self.fired_to_wire_ns),
            ptp: self.ptp.lock().expect("no holder panics").figures(),
        }
    }
}

/// Simulated time of a run that took `elapsed`, seconds: `elapsed` minus the delay of the device that is farthest
/// behind.
pub fn simulated_s(figures: &[DeviceFigures], elapsed: Duration) -> f64 {
    let behind_s = figures.iter().map(|device| device.behind_s).fold(0.0, f64::max);
    (elapsed.as_secs_f64() - behind_s).max(0.0)
}

fn record(histogram: &Mutex<Histogram<u64>>, time: Duration) {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    histogram.lock().expect("no holder panics").saturating_record(nanos.max(1));
}

impl DeviceFigures {
    /// Whether the device sent nothing although it had data to send. A device that waits for its host has no
    /// data to send.
    pub fn sent_nothing(&self) -> bool {
        self.packets == 0 && self.dropped + self.send_errors > 0
    }
}

impl Lateness {
    /// Converts a histogram of times in nanoseconds to percentiles in microseconds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let micros = |ns: u64| ns as f64 / 1000.0;
        Self {
            p50: micros(histogram.value_at_quantile(0.5)),
            p99: micros(histogram.value_at_quantile(0.99)),
            p99_9: micros(histogram.value_at_quantile(0.999)),
            max: micros(histogram.max()),
        }
    }
}

impl RenderStats {
    /// Counters at zero, for the given number of devices.
    pub fn new(devices: usize) -> Self {
        let devices = (0..devices).map(|_| DeviceRendering::default()).collect();
        Self { devices, pulses: AtomicU64::new(0), moving_ns: AtomicU64::new(0) }
    }

    /// Counts measurements of a device, with their cost and their number of pulses or camera pixels.
    pub fn count(&self, device: DeviceId, effort: Effort, measured: usize, pulses: usize) {
        let device = &self.devices[device.0];
        device.busy_ns.fetch_add(effort.busy_ns, Ordering::Relaxed);
        device.lasted_ns.fetch_add(effort.lasted_ns, Ordering::Relaxed);
        device.measured.fetch_add(measured as u64, Ordering::Relaxed);
        self.pulses.fetch_add(pulses as u64, Ordering::Relaxed);
    }

    /// Counts a measurement that was given up because it would have been too late.
    pub fn count_given_up(&self, device: DeviceId) {
        self.devices[device.0].given_up.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the time `start` up to which a device is rendered, and the device's delay behind real time.
    pub fn set_rendered(&self, device: DeviceId, start: SimTime, behind_ns: u64) {
        self.devices[device.0].rendered_ns.store(start.0, Ordering::Relaxed);
        self.set_behind(device, behind_ns);
    }

    /// Records the delay of a device behind real time.
    pub fn set_behind(&self, device: DeviceId, behind_ns: u64) {
        self.devices[device.0].behind_ns.store(behind_ns, Ordering::Relaxed);
    }

    /// Delay of a device behind real time.
    pub fn behind(&self, device: DeviceId) -> Duration {
        Duration::from_nanos(self.devices[device.0].behind_ns.load(Ordering::Relaxed))
    }

    /// Number of cast pulses and camera pixels so far.
    pub fn pulses(&self) -> u64 {
        self.pulses.load(Ordering::Relaxed)
    }

    /// Counts processor time spent on computing the motion of a driven robot.
    pub fn count_moving(&self, busy_ns: u64) {
        self.moving_ns.fetch_add(busy_ns, Ordering::Relaxed);
    }

    /// Processor time spent on computing the motion of a driven robot so far, nanoseconds.
    pub fn moving_ns(&self) -> u64 {
        self.moving_ns.load(Ordering::Relaxed)
    }

    /// Share of the measuring time in which the workers had a processor, 0..=1; 1 before the first measurement. Other
    /// threads and programs used the rest.
    pub fn processor_share(&self) -> f64 {
        let sum = |counter: fn(&DeviceRendering) -> &AtomicU64| {
            let counts = self.devices.iter().map(|device| counter(device).load(Ordering::Relaxed));
            counts.sum::<u64>() as f64
        };
        let lasted_ns = sum(|device| &device.lasted_ns);
        if lasted_ns == 0.0 { 1.0 } else { (sum(|device| &device.busy_ns) / lasted_ns).min(1.0) }
    }

    /// Real-time factor of the whole rig with `workers` threads that each have a processor and give up no request.
    /// Above 1, the workers have time to spare; 0 before the first measurement.
    pub fn real_time_factor(&self, workers: usize) -> f64 {
        self.factor(workers, |device| &device.busy_ns)
    }

    /// Like [`RenderStats::real_time_factor`], for workers that share `processors` and mostly wait for a GPU.
    pub fn waiting_real_time_factor(&self, workers: usize, processors: usize) -> f64 {
        let by_processors = self.factor(workers.min(processors), |device| &device.busy_ns);
        by_processors.min(self.factor(workers, |device| &device.lasted_ns))
    }

    /// Real-time factor of `threads` threads; 0 before the first measurement. `counter` selects the time spent on each
    /// device: processor time or wall-clock time.
    fn factor(&self, threads: usize, counter: fn(&DeviceRendering) -> &AtomicU64) -> f64 {
        // Computed for each device, because devices have reached different times.
        let needs: f64 = self.devices.iter().map(|device| device.share_of(counter(device))).sum();
        if needs == 0.0 { 0.0 } else { threads as f64 / needs }
    }
}

impl DeviceRendering {
    /// Number of threads that the device's requests keep busy in real time, if `spent` is the total duration of its
    /// measurements; 0 before the first one.
    fn share_of(&self, spent: &AtomicU64) -> f64 {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let measured = count(&self.measured);
        let requests = measured + count(&self.given_up);
        // Rendered time of the device without the requests that were given up.
        let measured_ns = count(&self.rendered_ns) * measured / requests.max(1.0);
        if measured_ns == 0.0 { 0.0 } else { count(spent) / measured_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_add_up() {
        let stats = DeviceStats::default();
        for micros in 1..=100 {
            let late = if micros > 98 { Outcome::Late } else { Outcome::OnTime };
            stats.count(late, 384, 1206, None);
            stats.record_lateness(Duration::from_micros(micros));
        }
        stats.count(Outcome::Dropped, 384, 1206, None);
        stats.count(Outcome::Refused(Refusal::NoRoom), 384, 1206, None);
        let figures = stats.figures("a", "b", "c", 50.0, Duration::from_secs(2));
        assert_eq!((figures.packets, figures.points), (100, 38_400));
        assert_eq!((figures.misses, figures.sent_late, figures.dropped), (3, 2, 1));
        assert_eq!((figures.send_errors, figures.rate_hz), (1, 50.0));
        assert!((figures.lateness_us.p50 - 50.0).abs() < 1.0);
        assert!((figures.lateness_us.max - 100.0).abs() < 1.0);
    }

    #[test]
    fn a_miss_is_put_down_to_what_took_the_greater_part_of_its_lateness() {
        let cause = |ready, at| MissCause::of(SimTime(1000), SimTime(ready), SimTime(at));
        assert_eq!(cause(0, 3000), MissCause::SenderLate, "it waited in the queue all the time");
        assert_eq!(cause(2000, 3000), MissCause::SenderLate);
        assert_eq!(cause(2001, 3000), MissCause::NotReady);
        assert_eq!(cause(3000, 3000), MissCause::NotReady);
    }

    #[test]
    fn the_real_time_factor_is_that_of_the_whole_rig_however_far_each_device_is() {
        let second = |s: u64| SimTime(s * 1_000_000_000);
        let effort = |ms: u64| Effort { busy_ns: ms * 1_000_000, lasted_ns: ms * 4_000_000 };
        let stats = RenderStats::new(3);
        assert_eq!(stats.real_time_factor(2), 0.0);
        // The first device has reached 10 s, and needs a hundredth of a thread.
        for _ in 0..10 {
            stats.count(DeviceId(0), effort(10), 1, 0);
        }
        stats.set_rendered(DeviceId(0), second(10), 0);
        assert_eq!(stats.real_time_factor(2), 200.0);
        // The second device needs four threads, and has reached 5 s when the others are at 10 s.
        for _ in 0..100 {
            stats.count(DeviceId(1), effort(200), 1, 384);
        }
        stats.set_rendered(DeviceId(1), second(5), 5_000_000_000);
        assert!((stats.real_time_factor(2) - 2.0 / 4.01).abs() < 1e-9);
        assert_eq!(stats.behind(DeviceId(1)), Duration::from_secs(5));
        // If half of its requests are given up, the second device reaches 10 s, and still needs four threads.
        for _ in 0..100 {
            stats.count_given_up(DeviceId(1));
        }
        stats.set_rendered(DeviceId(1), second(10), 0);
        assert!((stats.real_time_factor(2) - 2.0 / 4.01).abs() < 1e-9);
        assert_eq!(stats.pulses(), 38_400);
        // A share of the processor does not change the number of threads that are needed.
        assert_eq!(stats.processor_share(), 0.25);
        // Measurements of workers that wait for a GPU take four times as long as they use a processor.
        let limited = |workers, processors| stats.waiting_real_time_factor(workers, processors);
        assert!((limited(64, 2) - 2.0 / 4.01).abs() < 1e-9, "by the processors");
        assert!((limited(4, 2) - 1.0 / 4.01).abs() < 1e-9, "by the waiting");
    }
}
