//! Pulses per second in the courtyard at its three sizes, for an HDL-64E S2 with nine rays per
//! pulse.
//!
//! `cargo bench --bench courtyard` prints load time, memory and pulse rates for each size. The bench measures whole
//! packets: poses, rays, echoes, errors. "Real time" is 1.333 M pulses/s. Figures depend on the machine and its other
//! load: compare them within one run only.

use menura::devices::families::catalogue;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

use menura::config::rig::Rig;
use menura::config::toml::overrides::Override;
use menura::devices::Built;
use menura::engine::{LiveWorld, build_devices};
use menura::sensors::lidar::Scratch;
use menura::sensors::{MeasurementRequest, Sensor, Subject};
use menura::time::{Epoch, SimTime};
use menura::timing::clock::Stopwatch;

/// Sizes of the courtyard: name, number of grass blades, number of trees, triangles per tree.
const SIZES: [(&str, u64, u32, u32); 3] = [
    ("0.36 M triangles", 22_500, 0, 1_000),
    ("20 M triangles", 2_000_000, 1, 3_500_000),
    ("191 M triangles", 2_000_000, 50, 3_500_000),
];
/// Number of packets per measurement. They are spread evenly over one rotation, so that all directions contribute.
const PACKETS: u64 = 64;
/// Pulses per second of an HDL-64E S2.
const REAL_TIME_HZ: f64 = 384.0 / 288e-6;

fn rig(grass_blades: u64, trees: u32, tree_triangles: u32) -> Rig {
    let overrides = [
        ("device.roof-lidar.profile", "velodyne-hdl64e-s2".to_owned()),
        ("world.parameters.grass_blades", grass_blades.to_string()),
        ("world.parameters.trees", trees.to_string()),
        ("world.parameters.tree_triangles", tree_triangles.to_string()),
    ]
    .map(|(key, value)| Override { key: key.into(), value });
    Rig::default_rig(&overrides, catalogue()).unwrap_or_else(|faults| panic!("{faults}"))
}

/// [`PACKETS`] measurement requests of `lidar`, evenly spread over its first rotation.
fn requests(lidar: &mut Built) -> Vec<MeasurementRequest> {
    let rotation = SimTime(100_000_000);
    let all: Vec<_> = std::iter::from_fn(|| lidar.device.poll_request(rotation)).collect();
    let step = all.len() / PACKETS as usize;
    all.into_iter().step_by(step).take(PACKETS as usize).collect()
}

fn measure(rig: &Rig, world: &LiveWorld, sensor: &dyn Sensor, requests: &[MeasurementRequest]) {
    let surroundings = world.surroundings(&rig.devices[0].body_from_sensor);
    let mut scratch = Scratch::default();
    for request in requests {
        std::hint::black_box(sensor.measure(request.clone(), &surroundings, &mut scratch));
    }
}

/// Number of rays that are cast for each pulse.
const RAYS_PER_PULSE: f64 = 9.0;

fn pulses_of(request: &MeasurementRequest) -> u64 {
    match &request.subject {
        Subject::Instant | Subject::Series { .. } | Subject::Tile(_) => 0,
        Subject::Sweep(sweep) => sweep.firings.len() as u64,
    }
}

/// Resident memory of this process, MiB; 0 if unknown.
fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}

fn courtyard(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("courtyard");
    group.sample_size(10).warm_up_time(Duration::from_secs(1));
    group.measurement_time(Duration::from_secs(5));
    for (name, grass_blades, trees, tree_triangles) in SIZES {
        let rig = rig(grass_blades, trees, tree_triangles);
        let watch = Stopwatch::start();
        let world = LiveWorld::load(&rig).unwrap_or_else(|error| panic!("{error}"));
        let loaded = watch.elapsed();
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().expect("a constant"));
        let mut lidar = build_devices(&rig, epoch).remove(0);
        let requests = requests(&mut lidar);
        let sensor = lidar.sensor.clone();
        let pulses = requests.iter().map(pulses_of).sum::<u64>();
        eprintln!(
            "\n{name}: {} triangles, {} instances; loaded in {:.1} s; trees {} MB, resident {} MB",
            world.summary.instanced_triangles,
            world.summary.instances,
            loaded.as_secs_f64(),
            world.summary.tracer_bytes / 1_000_000,
            resident_mb(),
        );
        for threads in [1, 2] {
            let watch = Stopwatch::start();
            let rounds = 4;
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for _ in 0..rounds {
                            measure(&rig, &world, sensor.as_ref(), &requests);
                        }
                    });
                }
            });
            let rate = (pulses * rounds * threads) as f64 / watch.elapsed().as_secs_f64();
            eprintln!(
                "{name}: {threads} threads {:.3} M pulses/s, {:.2} M rays/s, {:.2} of real time",
                rate / 1e6,
                rate * RAYS_PER_PULSE / 1e6,
                rate / REAL_TIME_HZ,
            );
        }
        group.throughput(Throughput::Elements(pulses));
        group.bench_function(BenchmarkId::new("one thread", name), |bencher| {
            bencher.iter(|| measure(&rig, &world, sensor.as_ref(), &requests));
        });
    }
    group.finish();
}

criterion_group!(benches, courtyard);
criterion_main!(benches);
