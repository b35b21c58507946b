//! Compares a GPU with the processor: the same rig gives the same files, byte for byte.
//!
//! Needs a build with the feature `gpu` (`cargo test --features gpu`) and a GPU. Mesa's lavapipe is sufficient with
//! `MENURA_GPU=llvmpipe`. Tests that need a GPU are ignored by default; `tools/test --only gpu` runs them.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use menura::config::rig::{CasterChoice, Override, Rig, SceneSource};
use menura::devices::families::catalogue;
use menura::engine::LiveWorld;
use menura::engine::record::{Stretch, own_threads, record_by};
use menura::engine::workers::{Casters, RemoteWorkers};

use crate::common;

type Files = BTreeMap<String, Vec<u8>>;

/// Records `rig` with its ground truth; `caster` casts the rays, or other ranks if `remote` is given. Returns the
/// files, and the number of pulses that a GPU of this process cast.
fn recorded(
    rig: &Rig,
    caster: CasterChoice,
    duration: Duration,
    remote: Option<&dyn RemoteWorkers>,
) -> (Files, u64) {
    let mut rig = rig.clone();
    rig.engine.caster = caster;
    let mut world = LiveWorld::load(&rig).unwrap_or_else(|error| panic!("{}: {error}", rig.name));
    assert_eq!(world.summary.caster.starts_with("GPU "), caster == CasterChoice::Gpu);
    world.keeps_truth = true;
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let (start, rig) = (rig.start_utc, &rig);
    let stretch = Stretch { rig, world: &world, duration, start, stop: &stop };
    let casters = remote.map_or_else(|| own_threads(rig, &world), Casters::Elsewhere);
    record_by(casters, stretch, None, folder.path(), |_| {})
        .unwrap_or_else(|error| panic!("{}: {error}", rig.name));
    assert_eq!(world.caster.lost(), None);
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let read = |entry: std::fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
    };
    (files.map(read).collect(), world.caster.pulses_by_gpu())
}

/// Fails if a file of one recording is missing in the other or has other bytes.
fn assert_equal(name: &str, by_processor: &Files, by_gpu: &Files) {
    assert!(by_processor.keys().eq(by_gpu.keys()), "{name}: other files");
    for (file, bytes) in by_processor {
        let other = &by_gpu[file];
        let place = bytes.iter().zip(other).position(|(one, other)| one != other);
        assert!(bytes == other, "{name}: {file} differs at byte {place:?} of {}", bytes.len());
    }
}

/// All examples except the meadow, whose scene belongs to the user. Fields of grass are made sparse, so that scenes are
/// built quickly. A robot whose poses come from outside stands still.
#[test]
#[ignore = "needs a Vulkan driver"]
fn all_example_rigs_have_the_same_bytes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let set = |text: &str| -> Override { text.parse().expect("an override") };
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    let mut compared = Vec::new();
    let mut with_gpu = Vec::new();
    for path in paths.iter().filter(|path| !path.ends_with("meadow.toml")) {
        let mut sets = Vec::new();
        if path.ends_with("feed.toml") {
            sets.push(set("robot.trajectory={ kind = \"still\" }"));
        }
        let load = |sets: &[Override]| {
            Rig::load(path, sets, catalogue()).unwrap_or_else(|faults| panic!("{faults}"))
        };
        if matches!(load(&sets).world.scene, SceneSource::Courtyard(_)) {
            let thin = ["grass_blades=20000", "trees=10", "tree_triangles=1000"];
            sets.extend(thin.map(|text| set(&format!("world.parameters.{text}"))));
        }
        let rig = load(&sets);
        let has_cameras = rig.devices.iter().any(|device| device.profile.product.sees_colours);
        // A camera without a trigger starts its first frame at the first instant.
        let duration = Duration::from_millis(if has_cameras { 10 } else { 60 });
        let [(by_processor, none), (by_gpu, pulses)] = [CasterChoice::Menura, CasterChoice::Gpu]
            .map(|caster| recorded(&rig, caster, duration, None));
        assert_equal(&rig.name, &by_processor, &by_gpu);
        assert_eq!(none, 0, "{}", rig.name);
        with_gpu.extend((pulses > 0).then(|| rig.name.clone()));
        compared.push(by_gpu.values().map(Vec::len).sum::<usize>());
    }
    assert!(compared.len() >= 25 && compared.iter().all(|bytes| *bytes > 1000), "{compared:?}");
    // The processor casts the few pulses of GNSS receivers, and packets with fewer than 600 rays.
    assert!(with_gpu.len() >= 12, "{with_gpu:?}");
}

/// Cards with holes, a pool, a car and two lidars of different patterns.
const LEAVES: &str = r#"
seed = 5
start_utc = 2026-06-01T12:00:00Z
[world]
scene = "SCENE"
[[world.object]]
name = "walker"
body = "cylinder"
size_m = [0.5, 0.5, 1.8]
trajectory = { kind = "line", start_m = [-3.0, 3.0, 0.0], speed_m_s = 2.0 }
[world.weather]
[world.weather.rain]
rate_mm_h = 10.0
[robot]
trajectory = { kind = "circle", radius_m = 3.0, speed_m_s = 1.5 }
[[device]]
name = "spinning"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.4, 0.0, 0.8] }
link = { udp = { to = "127.0.0.1:9" } }
settings = { return_mode = "dual" }
[[device]]
name = "scanner"
profile = "sick-lms511"
mount = { translation_m = [0.6, 0.0, 0.5] }
link = { tcp = "127.0.0.1:2112" }
"#;

/// Writes an OBJ scene of cards with round holes over a floor; returns its path.
fn cards(folder: &Path) -> String {
    const SIDE: u32 = 16;
    let file = File::create(folder.join("holes.png")).unwrap();
    let mut encoder = png::Encoder::new(file, SIDE, SIDE);
    encoder.set_color(png::ColorType::Grayscale);
    let middle = |x: u32| f64::from(x) - 7.5;
    let texel = |index: u32| {
        let (x, y) = (middle(index % SIDE), middle(index / SIDE));
        if x * x + y * y < 30.0 { 0 } else { 255 }
    };
    let texels: Vec<u8> = (0..SIDE * SIDE).map(texel).collect();
    encoder.write_header().unwrap().write_image_data(&texels).unwrap();
    let materials = "newmtl leaf\nKd 0.5 0.5 0.5\nmap_d holes.png\nnewmtl floor\nKd 0.3 0.3 0.3\n";
    std::fs::write(folder.join("cards.mtl"), materials).unwrap();
    let mut obj = "mtllib cards.mtl\nv -20 -20 0\nv 20 -20 0\nv 20 20 0\nv -20 20 0\nvt 0 0\nvt 1 0\nvt 1 1\n\
                   vt 0 1\nusemtl floor\nf 1/1 2/2 3/3 4/4\nusemtl leaf\n"
        .to_owned();
    // The cards are upright and stand on rings one behind the other, so that rays pass through several holes.
    for index in 0..600_u32 {
        let (sin, cos) = libm::sincos(f64::from(index) * 0.37);
        let radius = 4.0 + f64::from(index % 11);
        let (x, y, z) = (radius * cos, radius * sin, 0.2 + 0.3 * f64::from(index % 5));
        for [along, up] in [[-0.4, 0.0], [0.4, 0.0], [0.4, 0.8], [-0.4, 0.8]] {
            let (x, y, z) = (x - along * sin, y + along * cos, z + up);
            obj += &format!("v {x:.4} {y:.4} {z:.4}\n");
        }
        let first = 5 + 4 * index;
        let corners = [first, first + 1, first + 2, first + 3];
        let corners = corners.iter().zip(1..).map(|(v, t)| format!(" {v}/{t}"));
        obj += &format!("f{}\n", corners.collect::<String>());
    }
    let path = folder.join("cards.obj");
    std::fs::write(&path, obj).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs a Vulkan driver"]
fn masks_objects_and_ranks_have_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let text = LEAVES.replace("SCENE", &cards(folder.path()));
    let rig = common::rig(&text, &[]);
    let duration = Duration::from_millis(60);
    let (alone, _) = recorded(&rig, CasterChoice::Menura, duration, None);
    let (by_gpu, pulses) = recorded(&rig, CasterChoice::Gpu, duration, None);
    assert_equal("alone", &alone, &by_gpu);
    assert!(pulses > 1000, "{pulses}");
    let sets = [("engine.caster", "gpu"), ("engine.workers", "8")];
    let mut own = common::world(&rig);
    own.keeps_truth = true;
    let (shared, _) = common::ranks::with_others(&text, &sets, &rig, &own, 2, |lead| {
        assert!(lead.figures().iter().all(|rank| rank.caster.starts_with("GPU ")));
        let recorded = recorded(&rig, CasterChoice::Menura, duration, Some(lead));
        // Both ranks have the same GPU, and it has cast pulses.
        let caster = lead.caster();
        assert!(caster.starts_with("GPU ") && !caster.contains(';'), "{caster}");
        assert!(!caster.contains("no pulses"), "{caster}");
        recorded
    });
    assert_equal("two ranks with GPUs", &alone, &shared);
}

/// The command `menura` with the GPU of this name.
fn menura(gpu: Option<&str>) -> Command {
    let mut command = common::menura();
    match gpu {
        Some(name) => command.env("MENURA_GPU", name),
        None => command.env_remove("MENURA_GPU"),
    };
    command
}

const RIG: &str = "[world]\nscene = \"room\"\n[robot]\ntrajectory = { kind = \"still\" }\n\
                   [engine]\ncaster = \"CASTER\"\n[[device]]\nname = \"lidar\"\n\
                   profile = \"velodyne-vlp16-3.0\"\nlink = { udp = { to = \"127.0.0.1:9\" } }\n";

fn record(command: &mut Command, caster: &str, folder: &Path) -> Output {
    let rig = folder.join("rig.toml");
    std::fs::write(&rig, RIG.replace("CASTER", caster)).unwrap();
    let command = command.arg("record").arg(&rig).args(["--duration", "20ms", "--force", "--out"]);
    command.arg(folder.join("out")).output().unwrap()
}

const NO_SUCH_GPU: Option<&str> = Some("no adapter has this name");

#[test]
fn a_gpu_that_is_not_there_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let refused = record(&mut menura(NO_SUCH_GPU), "gpu", folder.path());
    let told = common::stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(
        told.contains("error: cannot cast with a GPU") && told.contains("rig.toml:6"),
        "{told}"
    );
    let reason = if cfg!(feature = "gpu") { "MENURA_GPU" } else { "--features gpu" };
    assert!(told.contains(reason), "{told}");
    assert!(!folder.path().join("out").exists(), "nothing was recorded");
    let rig = folder.path().join("rig.toml");
    let checked = menura(NO_SUCH_GPU).arg("check").arg(&rig).output().unwrap();
    assert_eq!(checked.status.code(), Some(2), "{}", common::stderr(&checked));
}

#[test]
fn without_a_gpu_auto_says_so_and_casts_by_the_processor() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    for (caster, gpu) in [("menura", None), ("auto", NO_SUCH_GPU)] {
        let mut command = menura(gpu);
        command.env("MENURA_LOG", "info");
        let recorded = record(&mut command, caster, folder.path());
        let told = common::stderr(&recorded);
        assert!(recorded.status.success(), "{told}");
        assert_eq!(told.contains("the processor casts the rays"), caster == "auto", "{told}");
        bytes.push(std::fs::read(folder.path().join("out/lidar.pcap")).unwrap());
    }
    assert!(bytes[0] == bytes[1]);
}

#[test]
#[ignore = "needs a Vulkan driver"]
fn auto_takes_a_gpu_that_is_named_and_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.toml");
    std::fs::write(&rig, RIG.replace("CASTER", "auto")).unwrap();
    let bench =
        common::menura().args(["bench", "--json", "--duration", "100ms"]).arg(&rig).output();
    let bench = bench.unwrap();
    let figures: serde_json::Value = serde_json::from_slice(&bench.stdout).unwrap();
    let gpu = figures["caster"].as_str().unwrap();
    assert!(gpu.starts_with("GPU "), "{figures}");
    assert!(figures["workers"].as_u64() > Some(16), "{figures}");
    let (report, certificate) =
        (folder.path().join("report.json"), folder.path().join("certificate.json"));
    let mut run = common::menura();
    run.arg("run").arg(&rig).args(["--duration", "200ms", "--report"]).arg(&report);
    let ran = run.arg("--certificate").arg(&certificate).output().unwrap();
    assert!(ran.status.success(), "{}", common::stderr(&ran));
    assert!(common::stdout(&ran).contains(&format!("rays were cast by: {gpu}\n")));
    let read = |path: &Path| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    assert_eq!(read(&report)["caster"], gpu);
    assert_eq!(read(&certificate)["sending"]["caster"], gpu);
    let doctor = common::printed(&["doctor", "--measure", "10ms"]);
    let casting = format!("by {gpu}, which has passed the self-test; in a courtyard of 0.");
    assert!(doctor.contains(&casting), "{doctor}");
}
