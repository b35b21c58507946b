//! Cost of a packet from request to bytes, by stage: ray casting, physics, encoding.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use menura::config::rig::Rig;
use menura::config::toml::overrides::Override;
use menura::devices::families::catalogue;
use menura::devices::{Built, Device};
use menura::engine::build_devices;
use menura::frames::{Body, GeoOrigin, Sensor as SensorFrame, Transform};
use menura::sensors::lidar::Scratch;
use menura::sensors::{MeasurementRequest, Subject, Surroundings};
use menura::time::{Epoch, SimTime};
use menura::timing::clock::Stopwatch;
use menura::world::ground::Terrain;
use menura::world::raycast::{Finishes, Hit, Pulse, RayCaster, Stencil};
use menura::world::trajectory::Trajectory;

use super::processor_time;

/// Names of sensors as in the option `--sensor`, each with the profile of the product that has this firing pattern.
const PRODUCTS: [(&str, &str); 3] = [
    ("hdl-64e-s2", "velodyne-hdl64e-s2"),
    ("hdl-32e", "velodyne-hdl32e-2.2"),
    ("vlp-16", "velodyne-vlp16-3.0"),
];
/// Name and settings of each detector: that of the profile, and a simple one. The simple detector groups nearby hits to
/// one echo. It has no detection threshold, and its noise is constant.
const RECEIVERS: [(&str, &[(&str, &str)]); 2] = [
    ("as the profile has it", &[]),
    (
        "groups, constant noise",
        &[
            ("beam.echoes", "window"),
            ("beam.sees.reflectance", "0.0"),
            ("errors", "\"none\""),
            ("noise.range_std_m", "0.01"),
            ("noise.intensity_std", "0.01"),
        ],
    ),
];
/// Number of packets of a case before the next case takes its turn.
const PACKETS: usize = 64;

/// A caster that adds up its processor time.
struct Watched<'a> {
    caster: &'a dyn RayCaster,
    spent_ns: AtomicU64,
}

impl RayCaster for Watched<'_> {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        let start = processor_time();
        self.caster.cast(stencil, pulses, hits);
        let spent = processor_time() - start;
        self.spent_ns.fetch_add(spent.as_nanos() as u64, Ordering::Relaxed);
    }

    fn finishes(&self) -> Option<&dyn Finishes> {
        self.caster.finishes()
    }
}

/// A device with one of [`RECEIVERS`], and the cost of its packets so far.
struct Case {
    name: String,
    built: Built,
    mount: Transform<Body, SensorFrame>,
    trajectory: Trajectory,
    origin: GeoOrigin,
    pulses: usize,
    cast: Duration,
    measure: Duration,
    pack: Duration,
    rate_hz: f64,
    pulses_per_packet: f64,
}

impl Case {
    fn new(profile: &str, name: &str, settings: &[(&str, &str)], ground: &Terrain) -> Self {
        let device = [("device.roof-lidar.profile".to_owned(), profile)];
        let settings = settings
            .iter()
            .map(|(key, value)| (format!("device.roof-lidar.settings.{key}"), *value));
        let overrides: Vec<_> = device
            .into_iter()
            .chain(settings)
            .map(|(key, value)| Override { key, value: value.into() })
            .collect();
        let rig = Rig::default_rig(&overrides, catalogue()).unwrap_or_else(|e| panic!("{e}"));
        let origin = GeoOrigin::new(rig.origin);
        let trajectory = Trajectory::new(&rig.robot, &origin, Some(ground)).expect("a circle");
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().expect("a constant"));
        let built = build_devices(&rig, epoch).remove(0);
        Self {
            name: name.to_owned(),
            rate_hz: built.device.nominal_rate_hz(),
            built,
            mount: rig.devices[0].body_from_sensor,
            trajectory,
            origin,
            pulses: 0,
            cast: Duration::ZERO,
            measure: Duration::ZERO,
            pack: Duration::ZERO,
            pulses_per_packet: 0.0,
        }
    }

    fn take_turn(&mut self, caster: &dyn RayCaster, scratch: &mut Scratch) {
        let watched = Watched { caster, spent_ns: AtomicU64::new(0) };
        let surroundings = Surroundings {
            caster: &watched,
            trajectory: &self.trajectory,
            origin: &self.origin,
            carrier: None,
            body_from_sensor: self.mount,
            weather: None,
        };
        for _ in 0..PACKETS {
            let start = processor_time();
            let request = next_sweep(self.built.device.as_mut());
            let asked = processor_time();
            let measurement = self.built.sensor.measure(request, &surroundings, scratch);
            let measured = processor_time();
            if let Subject::Sweep(sweep) = &measurement.request.subject {
                self.pulses += sweep.firings.len();
                self.pulses_per_packet = sweep.firings.len() as f64;
            }
            self.built.device.handle_measurement(&measurement);
            let sent = self.built.device.poll_transmit();
            let end = processor_time();
            assert!(sent.is_some(), "{}: no packet", self.name);
            self.measure += measured - asked;
            self.pack += (end - measured) + (asked - start);
        }
        self.cast += Duration::from_nanos(watched.spent_ns.into_inner());
    }

    fn clear(&mut self) {
        (self.pulses, self.cast) = (0, Duration::ZERO);
        (self.measure, self.pack) = (Duration::ZERO, Duration::ZERO);
    }

    /// Converts a processor time to nanoseconds per pulse.
    fn ns(&self, spent: Duration) -> f64 {
        spent.as_secs_f64() * 1e9 / self.pulses as f64
    }
}

/// Returns the device's next request for a sweep. Skips requests before it, such as those for samples of the lidar's
/// IMU.
fn next_sweep(device: &mut dyn Device) -> MeasurementRequest {
    let mut requests = std::iter::from_fn(|| device.poll_request(SimTime(u64::MAX / 4)));
    let sweep = requests.find(|request| matches!(request.subject, Subject::Sweep(_)));
    sweep.expect("the device streams on its own")
}

/// Measures the product of each of `sensors` for `seconds`, on one thread, with both detectors in turn. Prints the
/// results.
pub fn measure(caster: &dyn RayCaster, ground: &Terrain, sensors: &[&str], seconds: f64) {
    println!(
        "\n  whole pipeline, one thread: processor time of a pulse, ns\n  {:12} {:26} {:>7} {:>9} \
         {:>8} {:>7} {:>7}  real time",
        "sensor", "receiver", "cast", "receiver", "packing", "all", "of all"
    );
    for (sensor, profile) in PRODUCTS.iter().filter(|(sensor, _)| sensors.contains(sensor)) {
        let mut cases: Vec<Case> = RECEIVERS
            .iter()
            .map(|(name, settings)| Case::new(profile, name, settings, ground))
            .collect();
        let mut scratch = Scratch::default();
        for case in &mut cases {
            case.take_turn(caster, &mut scratch);
            case.clear();
        }
        let watch = Stopwatch::start();
        while watch.elapsed().as_secs_f64() < seconds {
            for case in &mut cases {
                case.take_turn(caster, &mut scratch);
            }
        }
        for case in &cases {
            let all = case.measure + case.pack;
            let receiver = case.measure.saturating_sub(case.cast);
            let all_ns = case.ns(all);
            let share = case.ns(receiver) / all_ns * 100.0;
            let real_time = 1e9 / (all_ns * case.rate_hz * case.pulses_per_packet);
            println!(
                "  {sensor:12} {:26} {:7.0} {:9.0} {:8.0} {all_ns:7.0} {share:6.1} % {real_time:8.2} x",
                case.name,
                case.ns(case.cast),
                case.ns(receiver),
                case.ns(case.pack),
            );
        }
    }
}
