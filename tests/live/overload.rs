//! Tests on a machine that is made too slow: each policy for late packets acts as documented, and is counted.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use menura::engine::run::RealTimeRun;
use menura::engine::stats::{DeviceFigures, simulated_s};
use menura::time::SimTime;
use menura::timing::clock::thread_cpu_ns;
use menura::world::raycast::{Hit, Pulse, RayCaster, Stencil};

use crate::common;

/// A caster that uses two additional microseconds of processor time per ray. With nine rays per pulse, a worker then
/// needs five times the available time to render a VLP-16's packets (384 pulses every 1.3 ms).
struct Slow(Box<dyn RayCaster>);

impl Slow {
    fn wait(stencil: &Stencil, pulses: &[Pulse]) {
        // Busy waiting uses a processor like ray casting does, even if other threads want one: the real-time factor is
        // computed from processor time.
        let until_ns = thread_cpu_ns() + 2000 * (stencil.len() * pulses.len()) as u64;
        while thread_cpu_ns() < until_ns {
            std::hint::spin_loop();
        }
    }
}

impl RayCaster for Slow {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        self.0.cast(stencil, pulses, hits);
        Self::wait(stencil, pulses);
    }

    fn cast_at(&self, stencil: &Stencil, pulses: &[Pulse], at: &[SimTime], hits: &mut [Hit]) {
        self.0.cast_at(stencil, pulses, at, hits);
        Self::wait(stencil, pulses);
    }
}

/// A caster whose rays hit nothing.
struct Nothing;

impl RayCaster for Nothing {
    fn cast(&self, _: &Stencil, _: &[Pulse], hits: &mut [Hit]) {
        hits.fill(Hit::MISS);
    }

    fn cast_at(&self, _: &Stencil, _: &[Pulse], _: &[SimTime], hits: &mut [Hit]) {
        hits.fill(Hit::MISS);
    }
}

const DURATION: Duration = Duration::from_millis(300);
/// Number of data packets whose first firing is within the run (24 firings of 55.296 us each), and of position packets
/// of a unit with seed 0.
const PACKETS: u64 = 227 + 43;

fn overloaded(late: &str) -> DeviceFigures {
    run_with(Box::new(Slow(Box::new(Nothing))), late, 1)
}

fn run_with(caster: Box<dyn RayCaster>, late: &str, workers: usize) -> DeviceFigures {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let still = r#"{ kind = "still" }"#;
    let text = lidar_in("room", still, late, workers, &receiver);
    let (rig, mut world) = common::load(&text);
    world.caster = caster;
    let run = RealTimeRun::new(&rig, &world).unwrap_or_else(|e| panic!("{e}"));
    run.run(Some(DURATION), &AtomicBool::new(false), |_| {});
    run.figures(DURATION).remove(0)
}

/// A rig with one VLP-16 that sends to `receiver`.
fn lidar_in(
    scene: &str,
    trajectory: &str,
    late: &str,
    workers: usize,
    receiver: &UdpSocket,
) -> String {
    format!(
        r#"
[world]
scene = "{scene}"
[robot]
trajectory = {trajectory}
[engine]
workers = {workers}
late = "{late}"
render_ahead_ms = 40
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = {{ translation_m = [0.0, 0.0, 1.5] }}
link = {{ udp = {{ to = "{}" }} }}
"#,
        receiver.local_addr().unwrap()
    )
}

/// Checks each policy for late packets in a real scene: rays hit grass and leaves, the robot turns, and packets contain
/// returns.
#[test]
fn each_policy_does_the_same_in_the_courtyard() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let circle = r#"{ kind = "circle", radius_m = 20.0, speed_m_s = 2.0 }"#;
    let text = |late| lidar_in("courtyard", circle, late, 1, &receiver);
    let (_, mut world) = common::load(&text("late"));
    world.caster = Box::new(Slow(world.caster));
    for late in ["late", "drop", "thin"] {
        let rig = common::rig(&text(late), &[]);
        let run = RealTimeRun::new(&rig, &world).unwrap_or_else(|e| panic!("{e}"));
        run.run(Some(DURATION), &AtomicBool::new(false), |_| {});
        let figures = run.figures(DURATION).remove(0);
        assert_eq!(figures.packets + figures.dropped, PACKETS, "{late}: {figures:?}");
        assert!(figures.points > 0, "{late}: {figures:?}");
        assert_eq!(figures.dropped > 0, late == "drop", "{late}: {figures:?}");
        assert_eq!(figures.thinned > 0, late == "thin", "{late}: {figures:?}");
        if late == "drop" {
            assert_eq!((figures.sent_late, figures.misses), (0, figures.dropped), "{figures:?}");
        } else {
            assert_eq!(figures.misses, figures.sent_late, "{late}: {figures:?}");
        }
        assert!(late != "late" || figures.sent_late > 0, "{figures:?}");
    }
}

#[test]
fn late_packets_all_leave_and_are_counted() {
    let figures = overloaded("late");
    assert_eq!((figures.packets, figures.dropped, figures.thinned), (PACKETS, 0, 0));
    assert!(figures.sent_late > 0 && figures.misses == figures.sent_late, "{figures:?}");
}

#[test]
fn dropped_packets_are_counted() {
    let figures = overloaded("drop");
    assert!(figures.dropped > 0, "{figures:?}");
    assert_eq!((figures.packets + figures.dropped, figures.sent_late), (PACKETS, 0));
    assert_eq!((figures.misses, figures.thinned), (figures.dropped, 0));
}

#[test]
fn thinned_packets_all_leave_and_are_counted() {
    let figures = overloaded("thin");
    assert_eq!((figures.packets, figures.dropped), (PACKETS, 0));
    assert!(figures.thinned > 0 && figures.thinned < PACKETS, "{figures:?}");
}

/// Pauses the first worker until the others have cast this number of pulses, for at most half a second.
struct HoldsFirst {
    until: u64,
    pulses: AtomicU64,
    /// Number of pulses that had been cast when the first worker continued.
    meanwhile: &'static AtomicU64,
}

impl RayCaster for HoldsFirst {
    fn cast(&self, _: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        hits.fill(Hit::MISS);
        if self.pulses.fetch_add(pulses.len() as u64, Ordering::Relaxed) == 0 {
            let cast = || self.pulses.load(Ordering::Relaxed);
            for _ in 0..100 {
                if cast() >= self.until {
                    break;
                }
                std::thread::park_timeout(Duration::from_millis(5));
            }
            self.meanwhile.store(cast(), Ordering::Relaxed);
        }
    }

    fn cast_at(&self, stencil: &Stencil, pulses: &[Pulse], _: &[SimTime], hits: &mut [Hit]) {
        self.cast(stencil, pulses, hits);
    }
}

#[test]
fn what_waits_behind_a_worker_that_is_held_up_is_limited() {
    static MEANWHILE: AtomicU64 = AtomicU64::new(0);
    // At most 128 requests wait; the run has 227 requests of 384 pulses.
    let until = 180 * 384;
    let caster = HoldsFirst { until, pulses: AtomicU64::new(0), meanwhile: &MEANWHILE };
    let figures = run_with(Box::new(caster), "late", 2);
    assert_eq!((figures.packets, figures.dropped), (PACKETS, 0));
    let meanwhile = MEANWHILE.load(Ordering::Relaxed);
    // The paused worker may have the second request, when the first one no longer waits.
    assert!((1..=129 * 384).contains(&meanwhile), "{meanwhile} pulses");
}

/// Results of a lidar that needs five times as much processor time as the only worker has, and of an IMU in the same
/// rig.
struct Neighbours {
    lidar: DeviceFigures,
    imu: DeviceFigures,
    took_s: f64,
    real_time_factor: f64,
}

/// Runs the rig for one simulated second with the policy `late`; a packet is late after 20 ms.
fn lidar_beside_imu(late: &str) -> Neighbours {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let text = format!(
        r#"
[world]
scene = "room"
[robot]
trajectory = {{ kind = "still" }}
[engine]
workers = 1
late = "{late}"
miss_threshold_us = 20000
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
link = {{ udp = {{ to = "{}" }} }}
[[device]]
name = "imu"
profile = "wheeltec-n100"
link = {{ tcp = "127.0.0.1:0" }}
"#,
        receiver.local_addr().unwrap(),
    );
    let (rig, mut world) = common::load(&text);
    world.caster = Box::new(Slow(Box::new(Nothing)));
    let run = RealTimeRun::new(&rig, &world).unwrap_or_else(|e| panic!("{e}"));
    run.run(Some(Duration::from_secs(1)), &AtomicBool::new(false), |_| {});
    let took = run.took();
    let [lidar, imu] = run.figures(took).try_into().expect("two devices");
    let real_time_factor = run.real_time_factor();
    Neighbours { lidar, imu, took_s: took.as_secs_f64(), real_time_factor }
}

/// Number of IMU frames in one second.
const IMU_FRAMES: u64 = 200;

#[test]
fn a_device_without_rays_is_not_held_up_by_a_lidar_that_is_too_heavy() {
    let Neighbours { lidar, imu, took_s, real_time_factor } = lidar_beside_imu("late");
    assert_eq!((imu.packets, lidar.dropped), (IMU_FRAMES, 0), "{imu:?}");
    // Less than a quarter: a busy machine may delay some frames even without the lidar.
    assert!(imu.sent_late < IMU_FRAMES / 4, "{imu:?}");
    assert!(lidar.sent_late > lidar.packets / 2, "{lidar:?}");
    // The run reports its duration, the delay of the lidar, and the simulated time.
    assert!(took_s > 2.5 && lidar.behind_s > 1.5, "{took_s} s, {lidar:?}");
    assert!(imu.behind_s < lidar.behind_s / 4.0, "{imu:?}");
    let simulated_s = simulated_s(&[lidar, imu], Duration::from_secs_f64(took_s));
    assert!((simulated_s - 1.0).abs() < 0.2, "{simulated_s} s");
    assert!(real_time_factor > 0.0 && real_time_factor < 0.3, "{real_time_factor}");
}

#[test]
fn dropping_delivers_no_less_than_sending_late_and_all_that_costs_nothing() {
    let (late, drop) = (lidar_beside_imu("late"), lidar_beside_imu("drop"));
    let data_rate_hz = |run: &Neighbours| run.lidar.ports[0].packets as f64 / run.took_s;
    let (rendered_hz, delivered_hz) = (data_rate_hz(&late), data_rate_hz(&drop));
    assert!(delivered_hz > 0.75 * rendered_hz, "{delivered_hz} of {rendered_hz} packets a second");
    assert_eq!((drop.lidar.sent_late, drop.imu.sent_late), (0, 0));
    assert_eq!(drop.imu.packets + drop.imu.dropped, IMU_FRAMES);
    assert!(drop.imu.packets > IMU_FRAMES * 3 / 4, "{:?}", drop.imu);
    assert_eq!(drop.lidar.ports[0].packets + drop.lidar.ports[1].packets, drop.lidar.packets);
    // The load is the same, even if parts of it are dropped.
    let factor = drop.real_time_factor;
    assert!(drop.took_s < 2.0 && factor < 0.3, "{} s, {factor} of real time", drop.took_s);
}
