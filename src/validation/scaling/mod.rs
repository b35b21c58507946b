//! `menura validate scaling`: pulses per second over threads and over triangles, after Goodin et al. 2018, figure 3 and
//! the timing in section 3.3.
//!
//! An HDL-64E stands in courtyards of growing size. The timed work is the work of `run` and `record` for each packet of
//! a scan: poses, nine rays per pulse, echoes and their errors. Numbers of threads and ray casters (the processor's, a
//! GPU, Embree) take turns, so that other load on the machine affects all of them equally; the best turn of each
//! counts.
//!
//! The paper's curve was not read off its figure. Its text states that an LMS 291 on 4 processors, and an HDL-64E on
//! 40, simulate 6.8 s in 4.7 s. Speeds depend on the machine, so only ratios within a run are compared.

mod plot;
mod table;

use std::sync::Arc;

use serde_json::json;

use super::{Comparison, ExperimentError, Findings, Plot, Run, Scope};
use crate::config::rig::Rig;
use crate::config::toml::overrides::Override;
use crate::devices::families::catalogue;
use crate::engine::caster::probe_gpu;
use crate::engine::{LiveWorld, build_devices, default_workers};
use crate::sensors::lidar::Scratch;
use crate::sensors::{MeasurementRequest, Sensor, Subject};
use crate::time::{Epoch, SimTime};
use crate::timing::clock::Stopwatch;
use crate::world::raycast::embree;

/// Profile of the lidar; it is 2 m above the ground.
const LIDAR: &str = "velodyne-hdl64e-s2";
/// Duration of a rotation.
const ROTATION: SimTime = SimTime(100_000_000);
/// Rays per pulse.
const RAYS_A_PULSE: f64 = 9.0;
/// Number of packets that are computed repeatedly in each timed turn, spread over the rotation so that every direction
/// counts: full form, short form.
const PACKETS: (usize, usize) = (64, 4);
/// Number of timed turns for each number of threads and each ray caster: full form, short form.
const TURNS: (usize, usize) = (5, 2);
/// Approximate duration of a timed turn, seconds: full form, short form.
const TURN_S: (f64, f64) = (0.5, 0.05);
/// Simulated time over elapsed time in Goodin et al. 2018, section 3.3.
const PAPER_REAL_TIME: f64 = 6.8 / 4.7;
/// Smallest accepted ratio of the speed of two threads to the speed of one.
const LEAST_GAIN: f64 = 1.8;
/// Number of triangles of the scene that is as large as the one of Goodin et al. 2018.
const PAPER_TRIANGLES: u64 = 191_245_324;

choices! {
    /// Size of the courtyard, which sets the numbers of blades of grass, of trees, and of triangles per tree.
    Size {
        /// 0.36 million triangles: grass alone
        Small = "0.36m",
        /// 2 million triangles: ten times as much grass
        Middle = "2m",
        /// 20 million triangles: two million blades of grass and a tree
        Large = "20m",
        /// 191 million triangles: two million blades of grass and 50 trees, as in the paper
        Paper = "191m",
    }
}

impl Size {
    /// All sizes.
    pub const ALL: [Self; 4] = [Self::Small, Self::Middle, Self::Large, Self::Paper];

    fn parameters(self) -> [(&'static str, u64); 3] {
        let (blades, trees, tree_triangles) = match self {
            Self::Small => (22_500, 0, 1_000),
            Self::Middle => (225_000, 0, 1_000),
            Self::Large => (2_000_000, 1, 3_500_000),
            Self::Paper => (2_000_000, 50, 3_500_000),
        };
        [
            ("world.parameters.grass_blades", blades),
            ("world.parameters.trees", trees),
            ("world.parameters.tree_triangles", tree_triangles),
        ]
    }
}

/// Options of the experiment.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// Scenes, by their number of triangles
    pub triangles: Vec<Size>,
    /// Numbers of threads; if empty: 1, 2, 4, … up to the number of processors
    pub threads: Vec<u32>,
    /// Whether to leave out Embree
    pub no_embree: bool,
    /// Whether to leave out the GPU
    pub no_gpu: bool,
}

/// Result for one number of threads with one ray caster in one scene.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Number of triangles of the scene, including copies.
    pub triangles: u64,
    /// Name of the ray caster: `Menura`, `GPU` or `Embree`.
    pub caster: &'static str,
    /// Number of threads.
    pub threads: u32,
    /// Pulses per second in the best turn.
    pub pulses_per_s: f64,
}

/// Results of all scenes, ray casters and numbers of threads.
pub(super) struct Measurements {
    /// Results, in the order of scenes, casters and threads.
    pub rows: Vec<Measured>,
    /// Pulses per second of the real device.
    pub real_time_hz: f64,
    /// Name of the GPU with its driver, or the reason why no GPU is used.
    pub gpu: Result<String, String>,
    /// Scenes that the GPU refused, or in which the GPU stopped working, each with the reason.
    pub refused: Vec<(Size, String)>,
    /// Version of Embree, or the reason why it is not used.
    pub embree: Result<String, String>,
}

impl Measurements {
    fn of(&self, triangles: u64, caster: &str, threads: u32) -> Option<&Measured> {
        self.rows
            .iter()
            .find(|row| (row.triangles, row.caster, row.threads) == (triangles, caster, threads))
    }

    /// Numbers of triangles of all scenes, ascending.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.rows.iter().map(|row| row.triangles).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Largest number of threads that compute; threads that wait for a GPU are not included.
    pub fn most_threads(&self) -> u32 {
        let computing = self.rows.iter().filter(|row| row.caster != "GPU");
        computing.map(|row| row.threads).max().unwrap_or(1)
    }

    /// Best result of the GPU in a scene.
    pub fn of_gpu(&self, triangles: u64) -> Option<&Measured> {
        let rows = self.rows.iter().filter(|row| (row.triangles, row.caster) == (triangles, "GPU"));
        rows.max_by(|one, other| one.pulses_per_s.total_cmp(&other.pulses_per_s))
    }
}

impl Run for Scaling {
    const NAME: &'static str = "scaling";
    const ABOUT: &'static str =
        "Measure pulses per second for numbers of threads and triangles, compared with Embree";

    fn run(&self, scope: &Scope) -> Result<Findings, ExperimentError> {
        let measured = self.measure(scope)?;
        Ok(Findings {
            text: table::text(&measured),
            report: report(&measured),
            plots: vec![Plot::main(plot::draw(&measured))],
            comparisons: comparisons(&measured, scope),
        })
    }
}

impl Scaling {
    fn measure(&self, scope: &Scope) -> Result<Measurements, ExperimentError> {
        let mut sizes = scope.of(self.triangles.clone(), vec![Size::Small]);
        sizes.sort_unstable();
        sizes.dedup();
        let mut threads = match self.threads.is_empty() {
            true => doublings(default_workers() as u32),
            false => self.threads.clone(),
        };
        threads.sort_unstable();
        threads.dedup();
        let unasked = || Err("disabled by an option".to_owned());
        let embree = match self.no_embree {
            true => unasked(),
            false => embree::find()
                .map(|(version, path)| format!("{version}, {path}"))
                .map_err(|error| first_line(&error)),
        };
        let mut gpu = match self.no_gpu {
            true => unasked(),
            false => probe_gpu().map_err(|problem| first_line(&problem)),
        };
        let mut casters = vec!["Menura"];
        casters.extend(gpu.is_ok().then_some("GPU"));
        casters.extend(embree.is_ok().then_some("Embree"));
        let mut rows: Vec<Measured> = Vec::new();
        let mut refused = Vec::new();
        let mut real_time_hz = 0.0;
        let turns = scope.of(TURNS.0, TURNS.1);
        let packets = scope.of(PACKETS.0, PACKETS.1);
        let in_scene = casters.len() * threads.len() + usize::from(gpu.is_ok());
        let steps = sizes.len() * turns * in_scene;
        let progress = scope.progress("measuring", steps as u64);
        for size in sizes {
            let mut benches = Vec::new();
            for caster in &casters {
                let bench = match Bench::new(size, caster, packets) {
                    // The processor's ray caster loaded the same scene before, so the GPU is the reason for the error.
                    Err(error) if *caster == "GPU" => {
                        refused.push((size, first_line(&error)));
                        continue;
                    }
                    bench => bench?,
                };
                real_time_hz = bench.real_time_hz;
                // A GPU is also measured with threads that wait for it, beside one for each processor.
                let in_flight = bench.world.caster.in_flight() as u32;
                let more = (in_flight > 1).then_some(in_flight + default_workers() as u32);
                let more = more.filter(|count| !threads.contains(count));
                let counts = threads.iter().copied().chain(more);
                benches.extend(counts.map(|threads| (*caster, threads, bench.clone())));
            }
            let turn_s = scope.of(TURN_S.0, TURN_S.1);
            let mut best = vec![0.0f64; benches.len()];
            for _ in 0..turns {
                for ((_, threads, bench), best) in benches.iter().zip(&mut best) {
                    *best = best.max(bench.turn(*threads, turn_s));
                    progress.advance(1);
                }
            }
            let lost = benches.iter().find_map(|(_, _, bench)| bench.world.caster.lost());
            refused.extend(lost.map(|why| (size, format!("the GPU was lost: {why}"))));
            for ((caster, threads, bench), pulses_per_s) in benches.iter().zip(best) {
                let triangles = bench.world.summary.instanced_triangles;
                if bench.world.caster.lost().is_none() {
                    rows.push(Measured { triangles, caster, threads: *threads, pulses_per_s });
                }
            }
        }
        if let Some((_, why)) = refused.first()
            && !rows.iter().any(|row| row.caster == "GPU")
        {
            gpu = Err(why.clone());
        }
        Ok(Measurements { rows, real_time_hz, gpu, refused, embree })
    }
}

fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// The numbers 1, 2, 4 … and `most`.
fn doublings(most: u32) -> Vec<u32> {
    let mut all: Vec<u32> =
        (0..).map(|i| 1 << i).take_while(|threads| *threads < most.max(1)).collect();
    all.push(most.max(1));
    all
}

/// A lidar in a courtyard, with the measurement requests of some of its packets.
#[derive(Clone)]
struct Bench {
    rig: Arc<Rig>,
    world: Arc<LiveWorld>,
    sensor: Arc<dyn Sensor>,
    requests: Arc<[MeasurementRequest]>,
    pulses: u64,
    real_time_hz: f64,
}

impl Bench {
    fn new(size: Size, caster: &str, packets: usize) -> Result<Self, ExperimentError> {
        let caster = format!("{:?}", caster.to_ascii_lowercase());
        let mut sets =
            vec![("device.roof-lidar.profile", format!("{LIDAR:?}")), ("engine.caster", caster)];
        sets.extend(size.parameters().map(|(key, value)| (key, value.to_string())));
        let set = |(key, value): (&str, String)| Override { key: key.into(), value };
        let sets: Vec<Override> = sets.into_iter().map(set).collect();
        let rig = Rig::default_rig(&sets, catalogue())?;
        let world =
            LiveWorld::load(&rig).map_err(|error| ExperimentError::Input(error.to_string()))?;
        let mut lidar = build_devices(&rig, Epoch::new(jiff::Timestamp::UNIX_EPOCH)).remove(0);
        let all: Vec<_> = std::iter::from_fn(|| lidar.device.poll_request(ROTATION)).collect();
        let fired: u64 = all.iter().map(pulses_of).sum();
        let step = (all.len() / packets).max(1);
        let requests: Arc<[_]> = all.into_iter().step_by(step).take(packets).collect();
        Ok(Self {
            pulses: requests.iter().map(pulses_of).sum(),
            real_time_hz: fired as f64 / ROTATION.as_secs_f64(),
            rig: Arc::new(rig),
            world: Arc::new(world),
            sensor: lidar.sensor,
            requests,
        })
    }

    /// Pulses per second of `threads` threads together, each measuring for about `seconds`.
    fn turn(&self, threads: u32, seconds: f64) -> f64 {
        let watch = Stopwatch::start();
        let rounds: u64 = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads).map(|_| scope.spawn(|| self.measure_for(seconds))).collect();
            workers.into_iter().map(|worker| worker.join().unwrap_or(0)).sum()
        });
        (self.pulses * rounds) as f64 / watch.elapsed().as_secs_f64()
    }

    /// Measures all requests repeatedly for at least `seconds`, and at least once; returns the number of repetitions.
    fn measure_for(&self, seconds: f64) -> u64 {
        let surroundings = self.world.surroundings(&self.rig.devices[0].body_from_sensor);
        let mut scratch = Scratch::default();
        let packet = (self.pulses as usize / self.requests.len().max(1)).max(1);
        let per_call = (self.world.caster.pulses_per_call() / packet).max(1);
        let watch = Stopwatch::start();
        let mut rounds = 0;
        while rounds == 0 || watch.elapsed().as_secs_f64() < seconds {
            for requests in self.requests.chunks(per_call) {
                let requests = requests.to_vec();
                std::hint::black_box(self.sensor.measure_all(
                    requests,
                    &surroundings,
                    &mut scratch,
                ));
            }
            rounds += 1;
        }
        rounds
    }
}

fn pulses_of(request: &MeasurementRequest) -> u64 {
    match &request.subject {
        Subject::Instant | Subject::Series { .. } | Subject::Tile(_) => 0,
        Subject::Sweep(sweep) => sweep.firings.len() as u64,
    }
}

fn comparisons(measured: &Measurements, scope: &Scope) -> Vec<Comparison> {
    let mut all = Vec::new();
    let sizes = measured.sizes();
    let Some(largest) = sizes.last().copied() else { return all };
    let gain = |triangles| {
        let one = measured.of(triangles, "Menura", 1)?.pulses_per_s;
        Some(measured.of(triangles, "Menura", 2)?.pulses_per_s / one)
    };
    let gains: Vec<f64> = sizes.iter().filter_map(|size| gain(*size)).collect();
    let what = "speed of two threads over that of one, in every scene";
    let paper = "near linear over processors (figure 3)";
    if let Some(least) = gains.iter().copied().reduce(f64::min) {
        let ours = format!("{least:.2} at least");
        all.push(match scope.short || default_workers() < 2 {
            true => {
                Comparison::reported(what, paper, ours, "the measurements are too short to judge")
            }
            false => Comparison::judged(
                what,
                paper,
                ours,
                format!("{LEAST_GAIN} at least: threads share memory, caches and turbo"),
                least >= LEAST_GAIN,
            ),
        });
    }
    let most = measured.most_threads();
    if let Some(row) = measured.of(largest, "Menura", most) {
        all.push(Comparison::reported(
            format!("simulated over elapsed time, HDL-64E, {most} threads, {largest} triangles"),
            format!("{PAPER_REAL_TIME:.2} on 40 processors, {PAPER_TRIANGLES} triangles"),
            format!("{:.2}", row.pulses_per_s / measured.real_time_hz),
            "another machine, with other load",
        ));
    }
    all.push(match &measured.gpu {
        Ok(name) => {
            let ratio = |size: &u64| {
                let menura = measured.of(*size, "Menura", most)?.pulses_per_s;
                Some(format!("{:.2}", measured.of_gpu(*size)?.pulses_per_s / menura))
            };
            let ratios: Vec<String> = sizes.iter().filter_map(ratio).collect();
            Comparison::reported(
                format!("speed of the GPU over that of {most} threads, by triangles"),
                "",
                ratios.join(", "),
                format!("GPU {name}, with the fastest number of threads that wait for it"),
            )
        }
        Err(why) => Comparison::reported(
            "speed of the GPU over that of the processors",
            "",
            "not measured",
            format!("no GPU: {why}"),
        ),
    });
    match &measured.embree {
        Ok(_) => {
            let ratio = |size: &u64| {
                let menura = measured.of(*size, "Menura", most)?.pulses_per_s;
                Some(menura / measured.of(*size, "Embree", most)?.pulses_per_s)
            };
            let ratios: Vec<String> =
                sizes.iter().filter_map(ratio).map(|ratio| format!("{ratio:.2}")).collect();
            all.push(Comparison::reported(
                format!("speed over Embree's, {most} threads, by triangles"),
                "",
                ratios.join(", "),
                "Embree is optional and not part of the paper",
            ));
        }
        Err(why) => all.push(Comparison::reported(
            "speed over Embree's",
            "",
            "not measured",
            format!("Embree is left out: {why}"),
        )),
    }
    all
}

fn report(measured: &Measurements) -> serde_json::Value {
    let refused = measured.refused.iter();
    let refused: Vec<_> =
        refused.map(|(size, why)| json!({ "triangles": size.word(), "reason": why })).collect();
    let rows: Vec<_> = measured
        .rows
        .iter()
        .map(|row| {
            json!({ "triangles": row.triangles, "caster": row.caster, "threads": row.threads,
                    "pulses_per_s": row.pulses_per_s,
                    "real_time": row.pulses_per_s / measured.real_time_hz })
        })
        .collect();
    json!({
        "lidar": LIDAR, "rays_a_pulse": RAYS_A_PULSE, "real_time_pulses_per_s": measured.real_time_hz,
        "processors": default_workers(), "embree": measured.embree.as_ref().ok(),
        "gpu": measured.gpu.as_ref().ok(), "gpu_refused": refused,
        "paper": { "simulated_s": 6.8, "elapsed_s": 4.7, "lms_291_processors": 4,
                   "hdl_64e_processors": 40, "triangles": PAPER_TRIANGLES },
        "measured": rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_up_to_the_processors() {
        assert_eq!(doublings(1), [1]);
        assert_eq!(doublings(2), [1, 2]);
        assert_eq!(doublings(6), [1, 2, 4, 6]);
    }

    /// The short form in the smallest scene. An HDL-64E fires 1.333 million pulses per second; all requests are
    /// measured, with or without Embree, and no speed is compared.
    #[test]
    fn the_short_form_measures_and_judges_nothing() {
        let options = Scaling {
            triangles: Size::ALL.into(),
            threads: vec![2, 1, 1],
            no_embree: true,
            no_gpu: true,
        };
        let scope = Scope { short: true };
        let measured = options.measure(&scope).unwrap_or_else(|error| panic!("{error}"));
        assert!((measured.real_time_hz / 1.333e6 - 1.0).abs() < 0.02, "{}", measured.real_time_hz);
        let rows: Vec<_> = measured.rows.iter().map(|row| (row.caster, row.threads)).collect();
        assert_eq!(rows, [("Menura", 1), ("Menura", 2)]);
        assert!(measured.rows.iter().all(|row| row.pulses_per_s > 0.0));
        assert!((300_000..400_000).contains(&measured.sizes()[0]), "{:?}", measured.sizes());
        let all = comparisons(&measured, &scope);
        assert!(all.iter().all(|comparison| comparison.holds.is_none()), "{all:?}");
        assert!(
            all.iter().any(|comparison| comparison.tolerance.contains("disabled by an option"))
        );
        assert!(table::text(&measured).contains("6.8 s in 4.7 s"));
        assert!(plot::draw(&measured).svg().contains("threads"));
    }
}
