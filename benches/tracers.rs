//! Compares Menura's ray tracer, a GPU and Embree: the same pulses in the same scenes within one run. They take turns
//! of a fraction of a second, so that other load of the machine affects all of them equally.
//!
//! ```text
//! cargo bench --bench tracers                                        # the whole table
//! cargo bench --bench tracers -- --scene courtyard-20m --sensor hdl-64e-s2 --seconds 5
//! cargo bench --bench tracers --features gpu -- --scene courtyard-191m --threads 2 --threads 64 --no-embree
//! ```
//!
//! The timed call is `RayCaster::cast`: nine rays per pulse in, hits with range, cosine and reflectance out. As sensors
//! request them, pulses arrive packet by packet and laser by laser, from eight positions on the courtyard's lane.
//! Embree runs as in other simulators, without closing the edges between triangles (`--robust` closes them, as `caster
//! = "embree"` does). With `--features gpu`, a GPU takes turns too. A thread waits while the GPU casts its rays, so give
//! the GPU more threads than processors: `--threads 2 --threads 64`.
//!
//! A second table has the whole pipeline of products with the same firing pattern: ray casting, physics (poses, echoes,
//! noise) and encoding, each per pulse, with the profile's detector and with a simple one alternately.

#[path = "tracers/pipeline.rs"]
mod pipeline;
#[path = "tracers/scenes.rs"]
mod scenes;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use glam::DVec3;
use menura::config::profile::lidar::{BeamSettings, BeamShape};
use menura::config::rig::objects::ObjectShape;
use menura::config::rig::{RobotConfig, TrajectoryConfig};
use menura::frames::{GeoOrigin, Geodetic};
use menura::sensors::beam;
use menura::time::SimTime;
use menura::timing::clock::Stopwatch;
use menura::world::builtin::{bodies, courtyard};
use menura::world::ground::{GroundHeight, Terrain};
use menura::world::moving::{MovingCaster, MovingObject};
use menura::world::raycast::embree::{self, EmbreeCaster, EmbreeSettings, Packets};
use menura::world::raycast::{BvhCaster, Hit, Pulse, RayCaster, Stencil};
use menura::world::scene::Scene;
use menura::world::trajectory::Trajectory;

#[derive(Parser)]
#[command(about = "Compares Menura's tracer with Embree")]
struct Options {
    /// Scenes, all when left out: courtyard-0.36m, courtyard-20m, courtyard-191m, grass-dense, random-field, poles,
    /// mesh-20m, buildings, boxes
    #[arg(long)]
    scene: Vec<String>,
    /// Sensors, all when left out: hdl-64e-s2, hdl-64e-s1, hdl-32e, vlp-16, vlp-16-1200rpm, os1-128, os2-128, pandar64,
    /// lms-291, lms111, utm-30lx
    #[arg(long)]
    sensor: Vec<String>,
    /// Numbers of threads to measure with; when left out 1, 2, 4 and so on up to as many as there are
    #[arg(long, value_name = "N")]
    threads: Vec<usize>,
    /// Seconds to measure each sensor in each scene
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// MAVS's scenes: the folder that holds `data`; else $MENURA_SHARED/scenes/mavs
    #[arg(long)]
    mavs: Option<PathBuf>,
    /// Have Embree close the edges between triangles
    #[arg(long)]
    robust: bool,
    /// Also measure Menura with this many cars that drive about; may be given again
    #[arg(long, value_name = "N")]
    moving: Vec<usize>,
    /// Leave Embree out
    #[arg(long)]
    no_embree: bool,
    /// Leave the GPU out
    #[arg(long)]
    no_gpu: bool,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// Firing pattern of a sensor.
struct Sensor {
    name: &'static str,
    lasers: Vec<Laser>,
    step_deg: f64,
    /// Direction of the first column, degrees clockwise from forward.
    first_deg: f64,
    /// Number of columns per rotation or scan.
    columns: u32,
    /// Number of columns whose pulses are requested together.
    columns_per_packet: u32,
    shape: BeamShape,
    /// Full divergence angles: horizontal and vertical, radians.
    divergence_rad: [f64; 2],
    /// Width of the beam at the exit, metres.
    exit_width_m: f64,
    max_range_m: f32,
    pulses_per_s: f64,
}

struct Laser {
    /// Elevation above the horizon, degrees.
    elevation_deg: f64,
    /// The laser fires in every column whose number is a multiple of this.
    every: u32,
}

/// `count` lasers with elevations from `first_deg` in steps of `step_deg`, degrees. All of them fire in every column.
fn lasers(first_deg: f64, step_deg: f64, count: u32) -> Vec<Laser> {
    let laser = |k: u32| Laser { elevation_deg: first_deg + step_deg * f64::from(k), every: 1 };
    (0..count).map(laser).collect()
}

/// A sensor that rotates `turns_hz` times per second and fires a column every `cycle_s` seconds.
fn turning(name: &'static str, lasers: Vec<Laser>, turns_hz: f64, cycle_s: f64) -> Sensor {
    let step_deg = 360.0 * turns_hz * cycle_s;
    let in_column: f64 = lasers.iter().map(|laser| 1.0 / f64::from(laser.every)).sum();
    Sensor {
        name,
        pulses_per_s: in_column / cycle_s,
        lasers,
        step_deg,
        first_deg: 0.0,
        columns: (360.0 / step_deg) as u32,
        columns_per_packet: 12,
        shape: BeamShape::Rectangular,
        divergence_rad: [3e-3, 3e-3],
        exit_width_m: 0.0,
        max_range_m: 100.0,
    }
}

/// A sensor with one laser and a mirror. Each scan, which covers `field_deg` degrees, is one telegram.
fn scanner(name: &'static str, field_deg: f64, step_deg: f64, scans_hz: f64) -> Sensor {
    let columns = (field_deg / step_deg).round() as u32 + 1;
    Sensor {
        name,
        lasers: lasers(0.0, 0.0, 1),
        step_deg,
        first_deg: -field_deg / 2.0,
        columns,
        columns_per_packet: columns,
        shape: BeamShape::Circular,
        divergence_rad: [4.4e-3, 4.4e-3],
        exit_width_m: 0.0,
        max_range_m: 80.0,
        pulses_per_s: f64::from(columns) * scans_hz,
    }
}

/// Firing patterns by the products' manuals. The HDL-64E has the elevations of an ideal unit.
fn sensors() -> Vec<Sensor> {
    let hdl64e = |every_lower: u32| {
        let lower = lasers(-8.83, -0.5, 32).into_iter();
        let lower = lower.map(|laser| Laser { every: every_lower, ..laser });
        lasers(2.0, -1.0 / 3.0, 32).into_iter().chain(lower).collect::<Vec<_>>()
    };
    let hdl64e_beam =
        |sensor: Sensor| Sensor { divergence_rad: [2e-3, 2e-3], max_range_m: 120.0, ..sensor };
    let vlp16 = |name: &'static str, turns_hz: f64| Sensor {
        columns_per_packet: 24,
        divergence_rad: [3e-3, 1.5e-3],
        ..turning(name, lasers(-15.0, 2.0, 16), turns_hz, 55.296e-6)
    };
    // Each request covers the columns of one packet of the product.
    let wide = |sensor: Sensor, columns_per_packet, divergence_rad, exit_width_m, max_range_m| {
        Sensor { columns_per_packet, divergence_rad, exit_width_m, max_range_m, ..sensor }
    };
    let os1_128 = turning("os1-128", lasers(-22.5, 45.0 / 127.0, 128), 10.0, 1.0 / 10_240.0);
    let os2_128 = turning("os2-128", lasers(-11.25, 22.5 / 127.0, 128), 10.0, 1.0 / 20_480.0);
    let pandar64 = turning("pandar64", lasers(-25.0, 40.0 / 63.0, 64), 10.0, 1.0 / 18_000.0);
    vec![
        hdl64e_beam(Sensor {
            columns_per_packet: 6,
            ..turning("hdl-64e-s2", hdl64e(1), 10.0, 48e-6)
        }),
        // The lower lasers fire only in every third column: twelve blocks in the nine columns of a packet, a million
        // pulses per second.
        hdl64e_beam(Sensor {
            columns_per_packet: 9,
            ..turning("hdl-64e-s1", hdl64e(3), 10.0, 384e-6 / 9.0)
        }),
        turning("hdl-32e", lasers(-30.67, 4.0 / 3.0, 32), 10.0, 46.08e-6),
        vlp16("vlp-16", 10.0),
        vlp16("vlp-16-1200rpm", 20.0),
        wide(os1_128, 16, [3.1e-3, 3.1e-3], 9.5e-3, 170.0),
        wide(os2_128, 16, [1.6e-3, 1.6e-3], 22e-3, 240.0),
        wide(pandar64, 6, [3e-3, 1.5e-3], 10e-3, 230.0),
        scanner("lms-291", 180.0, 1.0, 75.0),
        Sensor {
            divergence_rad: [15e-3, 15e-3],
            exit_width_m: 8e-3,
            max_range_m: 20.0,
            ..scanner("lms111", 270.0, 0.5, 50.0)
        },
        Sensor {
            divergence_rad: [5e-3, 5e-3],
            exit_width_m: 10e-3,
            max_range_m: 60.0,
            ..scanner("utm-30lx", 270.0, 0.25, 40.0)
        },
    ]
}

/// Pulses that are requested together, with their firing times.
struct Packet {
    pulses: Vec<Pulse>,
    fired: Vec<SimTime>,
}

/// Number of positions on the lane from which packets are fired.
const PLACES: u32 = 8;
/// Approximate number of pulses that each thread casts before the next tracer takes its turn.
const PULSES: u32 = 24_000;
/// Height of the sensors above the ground, metres.
const HEIGHT_M: f64 = 2.0;

impl Sensor {
    /// The packets that a tracer casts in one turn: from each of [`PLACES`] positions on the lane, some packets that
    /// are spread evenly over a rotation.
    fn packets(&self, ground: &Terrain) -> Vec<Packet> {
        let in_turn = self.columns / self.columns_per_packet;
        let in_packet = (f64::from(self.columns_per_packet) * self.in_column()) as u32;
        let wanted = (PULSES / in_packet / PLACES).clamp(1, in_turn);
        let mut packets = Vec::new();
        for place in 0..PLACES {
            let angle = f64::from(place) / f64::from(PLACES) * std::f64::consts::TAU;
            let (sin, cos) = libm::sincos(angle);
            let [x, y] = [courtyard::LANE_RADIUS_M * cos, courtyard::LANE_RADIUS_M * sin];
            let origin = DVec3::new(x, y, ground.height_m(x, y).unwrap_or(0.0) + HEIGHT_M);
            for k in 0..wanted {
                let packet = (k * in_turn / wanted + place) % in_turn;
                packets.push(self.packet(packet * self.columns_per_packet, origin, angle));
            }
        }
        packets
    }

    /// Mean number of pulses per column.
    fn in_column(&self) -> f64 {
        self.lasers.iter().map(|laser| 1.0 / f64::from(laser.every)).sum()
    }

    /// A beam of nine rays in an evenly illuminated footprint.
    fn beam(&self) -> BeamSettings {
        BeamSettings {
            shape: self.shape,
            rays: 9,
            divergence_rad: self.divergence_rad,
            exit_width_m: self.exit_width_m,
            ..BeamSettings::default()
        }
    }

    /// Packet with the pulses of the columns from `first_column` on, laser by laser.
    fn packet(&self, first_column: u32, origin: DVec3, yaw_rad: f64) -> Packet {
        let [across, along] = beam::half_axes_m(&self.beam());
        let apex_behind_m = beam::apex_behind_m(&self.beam());
        let pulse = |elevation_deg: f64, column: u32| {
            let turned = self.first_deg + self.step_deg * f64::from(first_column + column);
            // Clockwise, as these sensors rotate.
            let (sin_a, cos_a) = libm::sincos(yaw_rad - turned.to_radians());
            let (sin_e, cos_e) = libm::sincos(elevation_deg.to_radians());
            let direction = DVec3::new(cos_e * cos_a, cos_e * sin_a, sin_e);
            let left = DVec3::new(-sin_a, cos_a, 0.0);
            let (half_axis_u, half_axis_v) = (left * across, direction.cross(left) * along);
            let max_range_m = self.max_range_m;
            Pulse {
                origin: origin - direction * apex_behind_m,
                start_m: apex_behind_m as f32,
                direction,
                half_axis_u,
                half_axis_v,
                max_range_m,
            }
        };
        // One column after the other; all lasers of a column fire at the same time.
        let column_s = self.in_column() / self.pulses_per_s;
        let fired = |column| SimTime::from_secs_f64(f64::from(first_column + column) * column_s);
        let shots = self.lasers.iter().flat_map(|laser| {
            let columns = (0..self.columns_per_packet).step_by(laser.every as usize);
            columns.map(move |column| (laser.elevation_deg, column))
        });
        let (pulses, fired) =
            shots.map(|(laser, column)| (pulse(laser, column), fired(column))).unzip();
        Packet { pulses, fired }
    }
}

/// A tracer with a number of threads, and its results so far.
struct Entry<'a> {
    name: String,
    threads: usize,
    caster: &'a dyn RayCaster,
    pulses: usize,
    wall: Duration,
    processor: Duration,
}

/// Processor time of this thread.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Measures the wall-clock time and the processor time of work that uses all processors.
struct Building {
    watch: Stopwatch,
    before: Duration,
}

impl Building {
    /// Processor time of all threads.
    fn spent() -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }

    fn start() -> Self {
        Self { watch: Stopwatch::start(), before: Self::spent() }
    }

    fn end(&self) -> String {
        let spent = (Self::spent() - self.before).as_secs_f64();
        format!("{:.1} s ({spent:.1} s of processors)", self.watch.elapsed().as_secs_f64())
    }
}

impl Entry<'_> {
    /// Every thread casts all packets once.
    fn take_turn(&mut self, stencil: &Stencil, packets: &[Packet]) {
        let watch = Stopwatch::start();
        let caster = self.caster;
        let spent = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads)
                .map(|_| {
                    scope.spawn(|| {
                        let mut hits = Vec::new();
                        let start = processor_time();
                        for Packet { pulses, fired } in packets {
                            hits.resize(pulses.len() * stencil.len(), Hit::MISS);
                            caster.cast_at(stencil, pulses, fired, &mut hits);
                            std::hint::black_box(&mut hits);
                        }
                        processor_time() - start
                    })
                })
                .collect();
            workers.into_iter().map(|w| w.join().expect("casters do not panic")).sum::<Duration>()
        });
        self.wall += watch.elapsed();
        self.processor += spent;
        self.pulses += self.threads * packets.iter().map(|p| p.pulses.len()).sum::<usize>();
    }

    fn pulses_per_s(&self) -> f64 {
        self.pulses as f64 / self.wall.as_secs_f64()
    }

    /// Number of pulses divided by the processor time of all threads, 1/s. Other processes affect it less than
    /// [`Entry::pulses_per_s`].
    fn pulses_per_processor_s(&self) -> f64 {
        self.pulses as f64 / self.processor.as_secs_f64()
    }
}

/// GPU ray caster with the scene of `menura`; `None` if the options exclude it or no GPU is available.
#[cfg(feature = "gpu")]
fn by_gpu(menura: &Arc<BvhCaster>, options: &Options) -> Option<Box<dyn RayCaster>> {
    use menura::world::raycast::gpu::GpuCaster;
    if options.no_gpu {
        return None;
    }
    let building = Building::start();
    match GpuCaster::new(menura.clone(), &[], false) {
        Ok(gpu) => {
            let (name, mb) = (gpu.identity(), gpu.memory_bytes() / 1_000_000);
            println!("  GPU {name}: {mb} MB on it, opened in {}", building.end());
            Some(Box::new(gpu))
        }
        Err(why) => {
            println!("  no GPU: {why}");
            None
        }
    }
}

#[cfg(not(feature = "gpu"))]
fn by_gpu(_menura: &Arc<BvhCaster>, options: &Options) -> Option<Box<dyn RayCaster>> {
    if !options.no_gpu {
        println!("  no GPU: this bench was built without the feature gpu");
    }
    None
}

/// The scene of `still` with `count` cars that drive circles at 10 m/s, 5 to 60 m from the centre.
fn with_cars(still: &Arc<BvhCaster>, count: usize) -> MovingCaster {
    let geo = GeoOrigin::new(Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 });
    let car = |k: usize| {
        let place = k as f64 / count as f64;
        let motion = RobotConfig::new(
            TrajectoryConfig::Circle {
                center_m: [0.0; 3],
                radius_m: 5.0 + 55.0 * place,
                speed_m_s: 10.0,
                start_angle_rad: 2.4 * k as f64,
            },
            false,
        );
        let trajectory = Trajectory::new(&motion, &geo, None).expect("a circle");
        let body = bodies::build(ObjectShape::Car, ObjectShape::Car.default_size_m(), 0.5);
        MovingObject::of(&format!("car-{k}"), body, trajectory).expect("a small mesh")
    };
    let instances = still.scene().instances.len();
    MovingCaster::new(Box::new(still.clone()), instances, (0..count).map(car).collect())
}

/// Size that `/proc/self/status` states for `key` (with its colon), MiB; 0 if unknown.
fn status_mb(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}

fn main() {
    let options = Options::parse();
    let sensors = sensors();
    let unknown = |asked: &[String], known: &[&str]| {
        asked.iter().find(|name| !known.contains(&name.as_str())).cloned()
    };
    let names: Vec<&str> = sensors.iter().map(|sensor| sensor.name).collect();
    for (asked, known) in [(&options.scene, &scenes::NAMES[..]), (&options.sensor, &names[..])] {
        if let Some(name) = unknown(asked, known) {
            eprintln!("error: `{name}` is not known; allowed: {}", known.join(", "));
            std::process::exit(2);
        }
    }
    let has_embree = !options.no_embree
        && match embree::find() {
            Ok((version, path)) => {
                println!("Embree {version}, {path}");
                true
            }
            Err(error) => {
                println!("Embree is left out: {error}");
                false
            }
        };
    let is_chosen =
        |asked: &[String], name: &str| asked.is_empty() || asked.iter().any(|a| a == name);
    for name in scenes::NAMES.into_iter().filter(|name| is_chosen(&options.scene, name)) {
        match scenes::load(name, options.mavs.as_deref()) {
            Ok(scene) => {
                let sensors = sensors.iter().filter(|s| is_chosen(&options.sensor, s.name));
                measure_scene(name, scene, sensors, has_embree, &options);
            }
            Err(why) => println!("\n{name}: left out, {why}"),
        }
    }
}

/// Numbers of threads to measure with: the requested ones; otherwise the number of processors, and all powers of two
/// below it.
fn threads_to_use(options: &Options) -> Vec<usize> {
    if !options.threads.is_empty() {
        return options.threads.iter().map(|&threads| threads.max(1)).collect();
    }
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    let powers = std::iter::successors(Some(1), |threads| Some(2 * threads));
    powers.take_while(|&threads| threads < most).chain([most]).collect()
}

fn measure_scene<'a>(
    name: &str,
    scene: Scene,
    sensors: impl Iterator<Item = &'a Sensor>,
    has_embree: bool,
    options: &Options,
) {
    let ground = Terrain::new(&scene);
    let scene = Arc::new(scene);
    let scene_mb = status_mb("VmRSS:");
    let building = Building::start();
    let menura = BvhCaster::new(scene.clone()).unwrap_or_else(|error| panic!("{error}"));
    let menura = Arc::new(menura);
    let built = building.end();
    println!(
        "\n{name}: {:.1} M triangles, {} instances; resident {scene_mb} MB before any tracer",
        scene.instanced_triangles() as f64 / 1e6,
        scene.instances.len()
    );
    println!(
        "  Menura: trees {} MB, built in {built}, resident {} MB, at most {} MB so far",
        menura.memory_bytes() / 1_000_000,
        status_mb("VmRSS:"),
        status_mb("VmHWM:"),
    );
    let embree = has_embree.then(|| {
        let settings = EmbreeSettings { packets: Packets::Eight, robust: options.robust };
        let before_mb = status_mb("VmRSS:");
        let building = Building::start();
        let built = EmbreeCaster::new(scene.clone(), settings);
        let eight = built.unwrap_or_else(|error| panic!("{error}"));
        println!(
            "  Embree: trees and copied triangles {} MB, built in {}, resident {} MB more",
            eight.memory_bytes() / 1_000_000,
            building.end(),
            status_mb("VmRSS:").saturating_sub(before_mb),
        );
        (eight.in_packets_of(Packets::One), eight)
    });
    let gpu = by_gpu(&menura, options);
    println!(
        "  sensor          tracer         threads  M pulses/s  M rays/s  real time   Menura/       CPU  \
         M pulses/    Menura/\n\
         {:63}factor      this     share      CPU s  this, CPU",
        ""
    );
    let moving: Vec<(String, MovingCaster)> = options
        .moving
        .iter()
        .map(|&count| (format!("{count} moving"), with_cars(&menura, count)))
        .collect();
    let threads = threads_to_use(options);
    let mut names = Vec::new();
    for sensor in sensors {
        names.push(sensor.name);
        let mut entries = Vec::new();
        for &threads in &threads {
            let mut add = |name: &str, caster| {
                let (wall, processor) = (Duration::ZERO, Duration::ZERO);
                let name = name.to_owned();
                entries.push(Entry { name, threads, caster, pulses: 0, wall, processor });
            };
            add("Menura", &*menura as &dyn RayCaster);
            for (name, caster) in &moving {
                add(name, caster);
            }
            if let Some(gpu) = &gpu {
                add("GPU", gpu.as_ref());
            }
            if let Some((one, eight)) = &embree {
                add("Embree 1-wide", one);
                add("Embree 8-wide", eight);
            }
        }
        measure_sensor(sensor, &ground, &mut entries, options.seconds);
    }
    pipeline::measure(&*menura, &ground, &names, options.seconds);
}

fn measure_sensor(sensor: &Sensor, ground: &Terrain, entries: &mut [Entry<'_>], seconds: f64) {
    let stencil = beam::Spot::new(&sensor.beam(), 9).stencil;
    let packets = sensor.packets(ground);
    // One turn without a result, so that every tracer starts with warm caches and with memory pages that have been
    // touched.
    for entry in entries.iter_mut() {
        entry.take_turn(&stencil, &packets);
        (entry.pulses, entry.wall, entry.processor) = (0, Duration::ZERO, Duration::ZERO);
    }
    let watch = Stopwatch::start();
    loop {
        for entry in entries.iter_mut() {
            entry.take_turn(&stencil, &packets);
        }
        if watch.elapsed().as_secs_f64() >= seconds {
            break;
        }
    }
    let ours: Vec<_> = entries
        .iter()
        .filter(|entry| entry.name == "Menura")
        .map(|entry| (entry.threads, entry.pulses_per_s(), entry.pulses_per_processor_s()))
        .collect();
    let menura = |threads| {
        let found = ours.iter().find(|entry| entry.0 == threads);
        found.map_or([f64::NAN; 2], |entry| [entry.1, entry.2])
    };
    for entry in entries.iter() {
        let rate = entry.pulses_per_s();
        println!(
            "  {:14}  {:13}  {:>7}  {:>10.3}  {:>8.2}  {:>9.2}  {:>8.2}  {:>6.0} %  {:>9.3}  {:>9.2}",
            sensor.name,
            entry.name,
            entry.threads,
            rate / 1e6,
            rate * stencil.len() as f64 / 1e6,
            rate / sensor.pulses_per_s,
            menura(entry.threads)[0] / rate,
            100.0 * entry.processor.as_secs_f64()
                / (entry.wall.as_secs_f64() * entry.threads as f64),
            entry.pulses_per_processor_s() / 1e6,
            menura(entry.threads)[1] / entry.pulses_per_processor_s(),
        );
    }
}
