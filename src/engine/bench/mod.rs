//! Benchmark of a rig on this machine: real-time factor, and cost of each device.
//!
//! The benchmark renders a period of simulated time with as many workers as a run has, and sends the packets to sockets
//! of this process. [`timed`] measures the processor time of each stage. No file is written, and no link is opened.

mod loopback;
mod timed;

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::bounded;
use serde::Serialize;

use self::loopback::{Loopback, MOST_WAITING, Waiting};
use self::timed::{Costs, Meter};
use super::record::{Stretch, render_devices};
use super::stats::RenderStats;
use super::{LiveWorld, build_devices, caster, default_workers};
use crate::config::rig::Rig;
use crate::time::SimTime;
use crate::timing::clock::{Stopwatch, epoch_now_or, thread_cpu_ns};

/// Processor time of the parts of a rig's work, seconds for each simulated second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stages {
    /// Time for ray casting.
    pub cast_s: f64,
    /// Time for echoes, errors and weather of the sensors, and for all measurements without rays.
    pub physics_s: f64,
    /// Time of the thread that plans measurements and builds packets from them.
    pub packing_s: f64,
    /// Time of the thread that submits packets to the kernel.
    pub sending_s: f64,
}

impl Stages {
    /// Sum of all stages.
    pub fn total_s(&self) -> f64 {
        self.cast_s + self.physics_s + self.packing_s + self.sending_s
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cast_s: self.cast_s + other.cast_s,
            physics_s: self.physics_s + other.physics_s,
            packing_s: self.packing_s + other.packing_s,
            sending_s: self.sending_s + other.sending_s,
        }
    }
}

/// Cost of one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceCost {
    /// Name of the device.
    pub name: String,
    /// Name of the device's profile.
    pub profile: String,
    /// Share of the device in the time of all devices, 0..=1.
    pub share: f64,
    /// Cost by stage.
    #[serde(flatten)]
    pub stages: Stages,
    /// Packets, or pieces of a byte stream, per simulated second; 0 for a device that sends only on request.
    pub packets_per_s: f64,
    /// Pulses, and pixels of cameras, that were cast per simulated second.
    pub pulses_per_s: f64,
}

/// The resource that limits the speed of a rig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The threads that measure.
    Workers,
    /// The single thread that packs measurements into packets.
    Packing,
    /// The thread that sends.
    Sending,
    /// The GPU, and the threads that submit pulses to it.
    Gpu,
    /// The processors: all threads together use all of them.
    Processors,
}

/// Cost of a rig on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchFigures {
    /// Real-time factor; `None` if no cost was measured.
    pub real_time_factor: Option<f64>,
    /// The resource that limits the speed.
    pub limit: Limit,
    /// Unused share of the limiting resource if the rig runs in real time; negative if it cannot run in real time.
    pub headroom: f64,
    /// Cost of all devices together.
    pub stages: Stages,
    /// Cost of moving a driven robot, on the packing thread, seconds per simulated second.
    pub moving_s: f64,
    /// Simulated seconds that the workers render per second. A run prints this value as its real-time factor.
    pub workers_factor: f64,
    /// Cost of each device, in the rig's order.
    pub devices: Vec<DeviceCost>,
    /// Number of processors that the process may use.
    pub processors: usize,
    /// Number of worker threads, which make the measurements.
    pub workers: usize,
    /// Identity of the ray caster; if a GPU was lost, also the reason.
    pub caster: String,
    /// Simulated time that was rendered, seconds.
    pub simulated_s: f64,
    /// Wall-clock duration of the benchmark, seconds.
    pub took_s: f64,
}

/// Renders the first `duration` of a rig in `world` and measures the cost. `progress` gets the simulated time so far.
///
/// # Errors
/// The sockets for the packets cannot be opened, or sending through them fails.
pub fn bench(
    rig: &Rig,
    world: LiveWorld,
    duration: Duration,
    stop: &std::sync::atomic::AtomicBool,
    mut progress: impl FnMut(SimTime),
) -> io::Result<BenchFigures> {
    let meter = Meter::calibrated();
    let world = timed::with_timed_caster(world, meter);
    let costs: Vec<_> = rig.devices.iter().map(|_| Arc::new(Costs::default())).collect();
    let mut loopback = Loopback::open()?;
    let epoch = epoch_now_or(rig.start_utc);
    let devices = build_devices(rig, epoch).into_iter().zip(&costs);
    let devices = devices.map(|(built, costs)| timed::timed(built, costs, meter)).collect();
    let stretch = Stretch { rig, world: &world, duration, start: Some(epoch.start()), stop };
    let watch = Stopwatch::start();
    let mut reached = SimTime::ZERO;
    let stats = RenderStats::new(rig.devices.len());
    let (packets, waiting) = bounded(MOST_WAITING);
    let before_ns = thread_cpu_ns();
    let sending_ns = std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let waiting = waiting; // closed when the thread ends, so that nobody waits for room
            loopback.send_all(&waiting, &costs, meter)
        });
        // A packet that cannot be passed on ends the benchmark; the thread has the reason.
        let rendered = render_devices(stretch, devices, &stats, |device, _, due, output| {
            if due > reached {
                reached = due;
                progress(due);
            }
            let Some(bytes) = output.bytes() else { return Ok(()) };
            let is_datagram = output.port().is_some();
            packets.send(Waiting { device, is_datagram, bytes: bytes.to_vec() })
        });
        drop(packets);
        let sending_ns = sending.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        rendered.map_err(io::Error::other).map(|()| sending_ns)
    })?;
    let packing_ns = (thread_cpu_ns() - before_ns).saturating_sub(stats.moving_ns());
    let took_s = watch.elapsed().as_secs_f64();
    let workers = caster::workers(rig, world.caster.as_ref(), 0);
    let has_gpu = world.caster.in_flight() > 1;
    let processors = default_workers();
    let simulated_s = duration.as_secs_f64();
    let mut taken: Vec<Stages> = costs.iter().map(|costs| costs.stages(simulated_s)).collect();
    let per_second = |taken_ns: u64| taken_ns as f64 * 1e-9 / simulated_s;
    share_out(&mut taken, per_second(packing_ns), |stages| &mut stages.packing_s);
    share_out(&mut taken, per_second(sending_ns), |stages| &mut stages.sending_s);
    let stages = taken.iter().fold(Stages::default(), |sum, one| sum.plus(*one));
    let devices = rig.devices.iter().zip(&costs).zip(taken).map(|((device, costs), taken)| {
        let total_s = stages.total_s();
        let counts = costs.counts();
        DeviceCost {
            name: device.name.clone(),
            profile: device.profile.name.clone(),
            share: if total_s > 0.0 { taken.total_s() / total_s } else { 0.0 },
            stages: taken,
            packets_per_s: counts.packets as f64 / simulated_s,
            pulses_per_s: counts.pulses as f64 / simulated_s,
        }
    });
    let moving_s = stats.moving_ns() as f64 * 1e-9 / simulated_s;
    let (mut limit, mut need) = limit_of(&stages, moving_s, workers, processors);
    if has_gpu && need > 0.0 {
        (limit, need) = with_gpu(limit, need, took_s / simulated_s);
    }
    Ok(BenchFigures {
        real_time_factor: (need > 0.0).then(|| 1.0 / need),
        limit,
        headroom: 1.0 - need,
        stages,
        moving_s,
        workers_factor: match has_gpu {
            true => stats.waiting_real_time_factor(workers, processors),
            false => stats.real_time_factor(workers),
        },
        devices: devices.collect(),
        processors,
        workers,
        caster: world.caster_report(),
        simulated_s,
        took_s,
    })
}

/// Splits `total_s`, the time of a thread, among the devices in proportion to the time of one stage; `of` selects the
/// stage.
fn share_out(all: &mut [Stages], total_s: f64, of: impl Fn(&mut Stages) -> &mut f64) {
    let sum_s: f64 = all.iter_mut().map(|stages| *of(stages)).sum();
    if sum_s > 0.0 {
        all.iter_mut().for_each(|stages| *of(stages) *= total_s / sum_s);
    }
}

/// Returns the resource with the highest load, and this load in real time as a share of the resource's capacity.
fn limit_of(stages: &Stages, moving_s: f64, workers: usize, processors: usize) -> (Limit, f64) {
    let needs = [
        (Limit::Workers, (stages.cast_s + stages.physics_s) / workers.max(1) as f64),
        (Limit::Packing, stages.packing_s + moving_s),
        (Limit::Sending, stages.sending_s),
        (Limit::Processors, (stages.total_s() + moving_s) / processors.max(1) as f64),
    ];
    let most = needs.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    most.expect("there are four")
}

/// The GPU counts as the limit if the benchmark takes more than this factor times the time that the busiest other
/// resource needs.
const WAITED_FOR_GPU: f64 = 1.25;

/// Returns limit and load of a rig with a GPU. `lasted_s` is the duration of the benchmark per simulated second,
/// including the waits for the GPU. `limit` and `need` are the limit and load without the GPU.
fn with_gpu(limit: Limit, need: f64, lasted_s: f64) -> (Limit, f64) {
    let waited = lasted_s > WAITED_FOR_GPU * need;
    (if waited { Limit::Gpu } else { limit }, need.max(lasted_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_scarcest_is_the_limit() {
        let stages =
            |cast_s, packing_s, sending_s| Stages { cast_s, physics_s: 0.5, packing_s, sending_s };
        let limit =
            |stages: Stages, workers, processors| limit_of(&stages, 0.0, workers, processors);
        assert_eq!(limit(stages(3.5, 0.1, 0.1), 2, 8), (Limit::Workers, 2.0));
        assert_eq!(limit(stages(0.5, 1.5, 0.1), 8, 8), (Limit::Packing, 1.5));
        assert_eq!(limit(stages(0.5, 0.1, 1.25), 8, 8), (Limit::Sending, 1.25));
        let (found, need) = limit(stages(2.5, 0.5, 0.5), 4, 4);
        assert_eq!((found, need), (Limit::Processors, 1.0));
        assert_eq!(limit(Stages::default(), 1, 1).1, 0.0);
        assert_eq!(with_gpu(Limit::Processors, 0.5, 0.6), (Limit::Processors, 0.6));
        assert_eq!(with_gpu(Limit::Processors, 0.5, 0.75), (Limit::Gpu, 0.75));
        let driven = limit_of(&stages(0.5, 0.5, 0.1), 0.75, 8, 8);
        assert_eq!(driven, (Limit::Packing, 1.25), "the same thread moves the robot");
    }
}
