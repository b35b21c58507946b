//! Processor time of a camera's pixels and of a lidar's pulses, on one thread in the courtyard of the default rig.
//!
//! `cargo bench --bench camera` measures frames of 960 x 600 pixels and packets of the default rig's lidar alternately,
//! so that other programs slow both equally. In the output, "rays" go to surfaces, and "shadows" are rays from there to
//! the sun. `-- --rounds N` sets the number of measured frames.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use glam::DVec3;
use menura::config::rig::Rig;
use menura::devices::Built;
use menura::devices::families::catalogue;
use menura::engine::{LiveWorld, build_devices};
use menura::sensors::Subject;
use menura::sensors::lidar::Scratch;
use menura::time::{Epoch, SimTime};
use menura::timing::clock::thread_cpu_ns;
use menura::world::raycast::{Beams, Finishes, Hit, OpenSky, Pulse, RayCaster, Stencil};

const CAMERA: &str = r#"
[[device]]
name = "camera"
profile = "menura-gv231c"
mount = { translation_m = [0.3, 0.0, 1.5] }
link = { udp = { to = "127.0.0.1:20203", from = "127.0.0.2:20202" }, gvcp = "127.0.0.2:3956" }
settings = { image_width = 960, image_height = 600, frame_rate_hz = 10.0, exposure_us = 1500.0, sun_deg = [45.0, 200.0], streams_alone = true }
"#;
/// Real-time rate of the camera, pixels per second: 10 images of 960 x 600 pixels.
const PIXELS_HZ: f64 = 960.0 * 600.0 * 10.0;
/// Real-time rate of the lidar, pulses per second.
const PULSES_HZ: f64 = 384.0 / 288e-6;

/// Ray caster that counts rays and measures their time.
struct Counting {
    caster: Box<dyn RayCaster>,
    rays: [AtomicU64; 2],
    ns: [AtomicU64; 2],
}

impl Counting {
    fn note(&self, of: usize, rays: usize, work: impl FnOnce()) {
        let before = thread_cpu_ns();
        work();
        self.ns[of].fetch_add(thread_cpu_ns() - before, Ordering::Relaxed);
        self.rays[of].fetch_add(rays as u64, Ordering::Relaxed);
    }
}

// The world owns one reference to the caster; the bench reads the counts through another one.
impl RayCaster for &Counting {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        self.note(0, hits.len(), || self.caster.cast(stencil, pulses, hits));
    }

    fn cast_at(&self, stencil: &Stencil, pulses: &[Pulse], fired: &[SimTime], hits: &mut [Hit]) {
        self.note(0, hits.len(), || self.caster.cast_at(stencil, pulses, fired, hits));
    }

    fn blocked_at(&self, beams: &Beams, from: &[DVec3], fired: &[SimTime], blocked: &mut [bool]) {
        self.note(1, from.len(), || self.caster.blocked_at(beams, from, fired, blocked));
    }

    fn finishes(&self) -> Option<&dyn Finishes> {
        self.caster.finishes()
    }

    fn shading(&self) -> Option<&dyn Finishes> {
        self.caster.shading()
    }
}

/// Sums over all measurements of a device.
#[derive(Default)]
struct Sums {
    all_ns: u64,
    /// Numbers of rays to surfaces and of shadow rays, in this order.
    rays: [u64; 2],
    /// Processor time of the rays to surfaces and of the shadow rays, in this order, nanoseconds.
    ns: [u64; 2],
    /// Number of requested pulses (lidar) or pixels (camera).
    asked: u64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let rounds = arguments.iter().position(|argument| argument == "--rounds");
    let rounds = rounds.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(8_u64);
    let text = Rig::default_text().to_owned() + CAMERA;
    let rig = Rig::parse("bench", &text, Path::new(""), &[], catalogue());
    let rig = rig.unwrap_or_else(|faults| panic!("{faults}"));
    let mut world = LiveWorld::load(&rig).unwrap_or_else(|error| panic!("{error}"));
    let caster = std::mem::replace(&mut world.caster, Box::new(OpenSky));
    let counting = Counting { caster, rays: Default::default(), ns: Default::default() };
    let counting: &'static Counting = Box::leak(Box::new(counting));
    world.caster = Box::new(counting);
    let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().expect("a constant"));
    let mut devices = build_devices(&rig, epoch);
    let camera = devices.pop().expect("the last of the rig");
    let lidar = devices.swap_remove(0);
    let [mut of_lidar, mut of_camera] = [Sums::default(), Sums::default()];
    let mut units = [(lidar, 0, &mut of_lidar), (camera, rig.devices.len() - 1, &mut of_camera)];
    for round in 0..rounds {
        // Each round measures a tenth of a second. Rounds start two seconds apart; the robot drives 4 m in between.
        for (Built { device, sensor }, place, sums) in &mut units {
            let surroundings = world.surroundings(&rig.devices[*place].body_from_sensor);
            let mut scratch = Scratch::default();
            let from = SimTime(2_000_000_000 * round);
            let horizon = SimTime(from.0 + 100_000_000);
            device.advance(from);
            let requests: Vec<_> = std::iter::from_fn(|| device.poll_request(horizon)).collect();
            for request in requests.iter().filter(|request| request.start >= from) {
                let before: [[u64; 2]; 2] = [&counting.rays, &counting.ns]
                    .map(|of| [0, 1].map(|k: usize| of[k].load(Ordering::Relaxed)));
                let begins = thread_cpu_ns();
                let measured = sensor.measure(request.clone(), &surroundings, &mut scratch);
                sums.all_ns += thread_cpu_ns() - begins;
                for (k, (rays, ns)) in before[0].iter().zip(before[1]).enumerate() {
                    sums.rays[k] += counting.rays[k].load(Ordering::Relaxed) - rays;
                    sums.ns[k] += counting.ns[k].load(Ordering::Relaxed) - ns;
                }
                sums.asked += match &request.subject {
                    Subject::Sweep(sweep) => sweep.firings.len() as u64,
                    Subject::Tile(tile) => tile.pixels() as u64,
                    Subject::Instant | Subject::Series { .. } => 0,
                };
                device.handle_measurement(&measured);
                while device.poll_transmit().is_some() {}
            }
        }
    }
    println!(
        "{:<8} {:>12} {:>14} {:>16} {:>14} {:>16}",
        "", "M a second", "M rays a sec.", "M shadows a sec.", "ns beside rays", "share of a core"
    );
    for (name, sums, wanted_hz) in
        [("lidar", &of_lidar, PULSES_HZ), ("camera", &of_camera, PIXELS_HZ)]
    {
        let rate = |count: u64, ns: u64| count as f64 / ns.max(1) as f64 * 1e3;
        let rest_ns = sums.all_ns.saturating_sub(sums.ns[0] + sums.ns[1]);
        println!(
            "{name:<8} {:>12.2} {:>14.2} {:>16.2} {:>14.0} {:>16.2}",
            rate(sums.asked, sums.all_ns),
            rate(sums.rays[0], sums.ns[0]),
            rate(sums.rays[1], sums.ns[1]),
            rest_ns as f64 / sums.asked as f64,
            wanted_hz / 1e6 / rate(sums.asked, sums.all_ns),
        );
    }
    let shadows = of_camera.rays[1] as f64 / of_camera.asked as f64;
    println!("{shadows:.2} shadows a pixel; pulses have nine rays");
}
