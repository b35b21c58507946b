//! Wrappers around devices, sensors and a ray caster that measure the time of each call.

use std::cell::Cell;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use glam::DVec3;

use super::Stages;
use crate::config::profile::FamilyData;
use crate::config::rig::faults::DeviceFaults;
use crate::devices::ptp::PtpSend;
use crate::devices::ptp::account::ClockAccount;
use crate::devices::{Built, CableSignal, Device, Transmit};
use crate::engine::{LiveWorld, workers};
use crate::sensors::camera::truth::FrameTruth;
use crate::sensors::lidar::Scratch;
use crate::sensors::{Measurement, MeasurementRequest, Sensor, SkyOutlook, Surroundings};
use crate::time::SimTime;
use crate::timing::clock::{Stopwatch, thread_cpu_ns};
use crate::wire::http::{HttpRequest, HttpResponse};
use crate::wire::line::LineSettings;
use crate::wire::port::Peer;
use crate::wire::ptp::Transport;
use crate::world::raycast::{Beams, Finishes, Hit, OpenSky, Pulse, RayCaster, Stencil};

thread_local! {
    /// Processor time of the ray casts in this thread's present measurement, nanoseconds.
    static CAST_NS: Cell<u64> = const { Cell::new(0) };
}

/// Measures the processor time of calls on a thread; the time for reading the clock is subtracted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    own_ns: u64,
}

impl Meter {
    pub(super) fn calibrated() -> Self {
        let empty = Self { own_ns: 0 };
        let least = (0..1000).map(|_| empty.measure(|| ()).1).min();
        Self { own_ns: least.unwrap_or(0) }
    }

    /// Runs `work`; returns its result and its processor time in nanoseconds.
    pub(super) fn measure<T>(self, work: impl FnOnce() -> T) -> (T, u64) {
        let before = thread_cpu_ns();
        let given = work();
        (given, (thread_cpu_ns() - before).saturating_sub(self.own_ns))
    }
}

/// Runs `work`; returns its result and its duration in nanoseconds. For work that takes less time than reading the
/// thread's processor time. The durations split the processor time of the whole thread among the devices.
pub(super) fn timed_briefly<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let watch = Stopwatch::start();
    let given = work();
    (given, watch.elapsed().as_nanos() as u64)
}

/// Cost of a device's stages so far, nanoseconds, and the numbers of its packets and pulses.
#[derive(Debug, Default)]
pub(super) struct Costs {
    /// Processor time.
    cast_ns: AtomicU64,
    /// Processor time.
    physics_ns: AtomicU64,
    /// Duration, see [`timed_briefly`].
    packing_ns: AtomicU64,
    /// Duration, see [`timed_briefly`].
    sending_ns: AtomicU64,
    packets: AtomicU64,
    pulses: AtomicU64,
}

/// Numbers of packets and pulses of a device.
pub(super) struct Counts {
    pub packets: u64,
    pub pulses: u64,
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

impl Costs {
    pub(super) fn count_sent(&self, took_ns: u64) {
        add(&self.packets, 1);
        add(&self.sending_ns, took_ns);
    }

    pub(super) fn stages(&self, simulated_s: f64) -> Stages {
        let part =
            |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64 * 1e-9 / simulated_s;
        Stages {
            cast_s: part(&self.cast_ns),
            physics_s: part(&self.physics_ns),
            packing_s: part(&self.packing_ns),
            sending_s: part(&self.sending_ns),
        }
    }

    pub(super) fn counts(&self) -> Counts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts { packets: count(&self.packets), pulses: count(&self.pulses) }
    }
}

/// Wraps a device and its sensor, so that the processor time of their calls is added to `costs`.
pub(super) fn timed(built: Built, costs: &Arc<Costs>, meter: Meter) -> Built {
    let Built { device, sensor } = built;
    Built {
        device: Box::new(TimedDevice { device, costs: Arc::clone(costs) }),
        sensor: Arc::new(TimedSensor { sensor, costs: Arc::clone(costs), meter }),
    }
}

/// Returns `world` with a caster that adds the processor time of each ray cast to `CAST_NS`.
pub(super) fn with_timed_caster(mut world: LiveWorld, meter: Meter) -> LiveWorld {
    let caster = std::mem::replace(&mut world.caster, Box::new(OpenSky));
    world.caster = Box::new(TimedCaster { caster, meter });
    world
}

struct TimedCaster {
    caster: Box<dyn RayCaster>,
    meter: Meter,
}

impl TimedCaster {
    fn note(&self, work: impl FnOnce()) {
        let ((), took) = self.meter.measure(work);
        CAST_NS.set(CAST_NS.get() + took);
    }
}

impl RayCaster for TimedCaster {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        self.note(|| self.caster.cast(stencil, pulses, hits));
    }

    fn cast_at(&self, stencil: &Stencil, pulses: &[Pulse], fired: &[SimTime], hits: &mut [Hit]) {
        self.note(|| self.caster.cast_at(stencil, pulses, fired, hits));
    }

    fn blocked_at(&self, beams: &Beams, from: &[DVec3], fired: &[SimTime], blocked: &mut [bool]) {
        self.note(|| self.caster.blocked_at(beams, from, fired, blocked));
    }

    fn in_flight(&self) -> usize {
        self.caster.in_flight()
    }

    fn pulses_per_call(&self) -> usize {
        self.caster.pulses_per_call()
    }

    fn lost(&self) -> Option<String> {
        self.caster.lost()
    }

    fn pulses_by_gpu(&self) -> u64 {
        self.caster.pulses_by_gpu()
    }

    fn finishes(&self) -> Option<&dyn Finishes> {
        self.caster.finishes()
    }

    fn shading(&self) -> Option<&dyn Finishes> {
        self.caster.shading()
    }
}

struct TimedSensor {
    sensor: Arc<dyn Sensor>,
    costs: Arc<Costs>,
    meter: Meter,
}

impl Sensor for TimedSensor {
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        let pulses = |request: &MeasurementRequest| workers::pulses(request) as u64;
        add(&self.costs.pulses, requests.iter().map(pulses).sum());
        CAST_NS.set(0);
        let work = || self.sensor.measure_all(requests, surroundings, scratch);
        let (measured, took) = self.meter.measure(work);
        let cast = CAST_NS.get().min(took);
        add(&self.costs.cast_ns, cast);
        add(&self.costs.physics_ns, took - cast);
        measured
    }

    fn sky_outlook(
        &self,
        at: SimTime,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Option<SkyOutlook> {
        self.sensor.sky_outlook(at, surroundings, scratch)
    }
}

/// Calls that only take what earlier calls made are not timed: reading the clock would cost more than they do.
struct TimedDevice {
    device: Box<dyn Device>,
    costs: Arc<Costs>,
}

impl TimedDevice {
    fn note<T>(&mut self, work: impl FnOnce(&mut dyn Device) -> T) -> T {
        let (given, took) = timed_briefly(|| work(self.device.as_mut()));
        add(&self.costs.packing_ns, took);
        given
    }
}

impl Device for TimedDevice {
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        self.note(|device| device.poll_request(horizon))
    }

    fn handle_revoked(&mut self, index: u64) {
        self.note(|device| device.handle_revoked(index));
    }

    fn handle_measurement(&mut self, measurement: &Measurement) {
        self.note(|device| device.handle_measurement(measurement));
    }

    fn handle_input(&mut self, now: SimTime, bytes: &[u8]) {
        self.note(|device| device.handle_input(now, bytes));
    }

    fn handle_line_input(&mut self, now: SimTime, port: u8, bytes: &[u8]) {
        self.note(|device| device.handle_line_input(now, port, bytes));
    }

    fn handle_peer(&mut self, now: SimTime, peer: Peer, connected: bool) {
        self.note(|device| device.handle_peer(now, peer, connected));
    }

    fn handle_peer_input(&mut self, now: SimTime, peer: Peer, bytes: &[u8]) {
        self.note(|device| device.handle_peer_input(now, peer, bytes));
    }

    fn handle_http(&mut self, now: SimTime, request: &HttpRequest) -> HttpResponse {
        self.note(|device| device.handle_http(now, request))
    }

    fn handle_ptp(&mut self, now: SimTime, stamped: SimTime, from: Option<Ipv4Addr>, bytes: &[u8]) {
        self.note(|device| device.handle_ptp(now, stamped, from, bytes));
    }

    fn handle_ptp_departure(&mut self, now: SimTime, key: u32, stamped: SimTime) {
        self.note(|device| device.handle_ptp_departure(now, key, stamped));
    }

    fn poll_clock(&mut self) -> Option<ClockAccount> {
        self.device.poll_clock()
    }

    fn poll_frame(&mut self) -> Option<FrameTruth> {
        self.device.poll_frame()
    }

    fn poll_ptp_transport(&mut self) -> Option<Transport> {
        self.device.poll_ptp_transport()
    }

    fn poll_ptp(&mut self) -> Option<PtpSend> {
        self.device.poll_ptp()
    }

    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        self.note(|device| device.handle_cable(now, signal));
    }

    fn advance(&mut self, now: SimTime) {
        self.note(|device| device.advance(now));
    }

    fn change_faults(&mut self, at: SimTime, faults: &DeviceFaults) {
        self.note(|device| device.change_faults(at, faults));
    }

    fn fault_notice_ns(&self, kind: &dyn FamilyData, begins: bool) -> u64 {
        self.device.fault_notice_ns(kind, begins)
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.device.poll_transmit()
    }

    fn nominal_rate_hz(&self) -> f64 {
        self.device.nominal_rate_hz()
    }

    fn line(&self) -> Option<LineSettings> {
        self.device.line()
    }
}
