//! Share of one core for encoding measurements as packets, without ray casting.
//!
//! `cargo bench --bench encoding` prints one line for each case. The first figure is the model's lidar packets per
//! second. Two pairs of figures follow, one with a return from every pulse and one without any return: the time per
//! packet, from request to bytes, and the product of rate and time, in percent of a core. Cases are each Velodyne with
//! one and with two returns, the largest stream of an Ouster, Hesais with two returns, RoboSenses and Livoxes. The
//! measurements are made beforehand. Each round runs all cases, and the fastest round of a case counts, because other
//! programs only add time. `-- NAME` selects the profiles whose names contain NAME.

use menura::devices::families::catalogue;
use std::hint::black_box;
use std::path::Path;

use menura::config::rig::Rig;
use menura::config::toml::overrides::Override;
use menura::devices::{Built, Device, Output};
use menura::engine::build_devices;
use menura::sensors::{
    Echoes, Measurement, MeasurementRequest, Outcome, PulseReturns, Return, Subject,
};
use menura::time::{Epoch, SimTime};
use menura::timing::clock::Stopwatch;

const ROUNDS: u32 = 25;
/// Number of packets per device and round: so few that their measurements stay in the processor caches, like
/// measurements that a worker has just made.
const PACKETS: usize = 100;
/// The two sets of measurements of a case. `None`: every pulse has a return. `Some(n)`: every n-th pulse has no return;
/// with `Some(1)`, no pulse has a return.
const EMPTY: [Option<usize>; 2] = [None, Some(1)];

/// A device, the measurements for it, and its fastest round so far.
struct Case {
    name: String,
    rig: Rig,
    measurements: [Vec<Measurement>; EMPTY.len()],
    rate_hz: f64,
    packet_ns: [f64; EMPTY.len()],
}

impl Case {
    fn new(profile: &str, return_mode: &str) -> Option<Self> {
        let overrides = [
            ("device.roof-lidar.profile", profile),
            ("device.roof-lidar.settings.return_mode", return_mode),
        ]
        .map(|(key, value)| Override { key: key.into(), value: value.into() });
        // Some models lack some return modes.
        let rig = Rig::default_rig(&overrides, catalogue()).ok()?;
        Some(Self::of(format!("{profile}, {return_mode}"), rig, false))
    }

    /// Case for a lidar whose detector reports all echoes.
    fn echoes(profile: &str, title: &str, settings: &str) -> Self {
        let text = format!(
            "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
             [[device]]\nname = \"lidar\"\nprofile = {profile:?}\n\
             link = {{ udp = {{ to = \"127.0.0.1:7502\" }} }}\n\
             settings = {{ {settings} }}\n"
        );
        let rig = Rig::parse("bench", &text, Path::new(""), &[], catalogue());
        let rig = rig.unwrap_or_else(|faults| panic!("{faults}"));
        Self::of(format!("{profile}, {title}"), rig, true)
    }

    fn of(name: String, rig: Rig, tells_echoes: bool) -> Self {
        let mut built = lidar(&rig);
        let measurements =
            EMPTY.map(|empty| measurements(lidar(&rig).device.as_mut(), empty, tells_echoes));
        // Rate of the timed packets: the device's nominal rate also counts other kinds of packets.
        let starts_ns = measurements[0].iter().map(|m| m.request.start.0);
        let (first_ns, last_ns) = (starts_ns.clone().min(), starts_ns.max());
        let span_ns = last_ns.zip(first_ns).map_or(0, |(last, first)| last - first);
        let rate_hz = (measurements[0].len() - 1) as f64 / (span_ns as f64 * 1e-9);
        Self {
            name: name.clone(),
            measurements,
            rate_hz,
            packet_ns: {
                // A first request, for warm caches and as a check that the device sends.
                let request = built.device.poll_request(SimTime(1));
                assert!(request.is_some(), "{name} asks for nothing");
                [f64::INFINITY; EMPTY.len()]
            },
            rig,
        }
    }

    fn run_round(&mut self) {
        for (measurements, best_ns) in self.measurements.iter().zip(&mut self.packet_ns) {
            let mut device = lidar(&self.rig).device;
            let watch = Stopwatch::start();
            for measurement in measurements {
                black_box(encode(device.as_mut(), measurement));
            }
            let took = watch.elapsed().as_secs_f64() * 1e9 / measurements.len() as f64;
            *best_ns = best_ns.min(took);
        }
    }
}

fn lidar(rig: &Rig) -> Built {
    let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().expect("a constant"));
    build_devices(rig, epoch).remove(0)
}

/// Measurements that answer the device's first requests. Ranges differ from pulse to pulse, and each second return is
/// 1.3 m farther than the first. `empty` is an entry of [`EMPTY`].
fn measurements(
    device: &mut dyn Device,
    empty: Option<usize>,
    tells_echoes: bool,
) -> Vec<Measurement> {
    let requests = std::iter::from_fn(|| next_sweep(device));
    let answer = |request: MeasurementRequest| {
        let pulses = match &request.subject {
            Subject::Sweep(sweep) => sweep.firings.len(),
            Subject::Instant | Subject::Series { .. } | Subject::Tile(_) => 0,
        };
        let seen = |range_m: f32| Some(Return { range_m, intensity: 0.37, signal: 1.0 });
        let returns = |pulse: usize| {
            let near_m = 2.0 + ((request.index as usize * 31 + pulse * 17) % 5000) as f32 * 0.011;
            match empty.is_some_and(|every| pulse.is_multiple_of(every)) {
                true => PulseReturns { first: None, second: None },
                false => PulseReturns { first: seen(near_m), second: seen(near_m + 1.3) },
            }
        };
        let outcome = match tells_echoes {
            true => Outcome::Echoes((0..pulses).map(|pulse| echoes(returns(pulse))).collect()),
            false => Outcome::Returns((0..pulses).map(returns).collect()),
        };
        Measurement::new(request, outcome)
    };
    requests.take(PACKETS).map(answer).collect()
}

/// Converts returns to the form in which a detector reports all echoes.
fn echoes(returns: PulseReturns) -> Echoes {
    let mut echoes = Echoes::default();
    returns.first.into_iter().chain(returns.second).for_each(|echo| echoes.push(echo));
    echoes
}

/// The device's next request for a sweep. Other requests, such as an HDL-32E's for the motion of its base, are skipped.
fn next_sweep(device: &mut dyn Device) -> Option<MeasurementRequest> {
    let mut requests = std::iter::from_fn(|| device.poll_request(SimTime(u64::MAX / 4)));
    requests.find(|request| matches!(request.subject, Subject::Sweep(_)))
}

/// Requests and encodes one packet; returns its length, bytes.
fn encode(device: &mut dyn Device, measurement: &Measurement) -> usize {
    black_box(next_sweep(device));
    device.handle_measurement(measurement);
    match device.poll_transmit().map(|transmit| transmit.output) {
        Some(Output::Datagram { bytes, .. }) => bytes.len(),
        other => panic!("no packet but {other:?}"),
    }
}

fn main() {
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let profiles = catalogue().profiles().iter().map(|profile| profile.name.as_str());
    let mut cases: Vec<_> = profiles
        .filter(|name| name.starts_with("velodyne-") && name.contains(&wanted))
        .flat_map(|name| ["strongest", "dual"].map(|mode| Case::new(name, mode)))
        .flatten()
        .collect();
    let greatest = "ouster-os1-128-3.1";
    if greatest.contains(&wanted) {
        let settings =
            "lidar_mode = \"2048x10\", udp_profile_lidar = \"RNG19_RFL8_SIG16_NIR16_DUAL\"";
        cases.push(Case::echoes(greatest, "2048x10 dual", settings));
    }
    for (name, mode) in [
        ("hesai-xt32", "last-strongest"),
        ("hesai-pandar40p", "last-strongest"),
        ("hesai-pandar64", "last-strongest"),
        ("hesai-qt64", "last-first"),
    ] {
        if name.contains(&wanted) {
            cases.push(Case::echoes(name, mode, &format!("return_mode = {mode:?}")));
        }
    }
    for (name, mode) in [
        ("robosense-rs32", "dual"),
        ("robosense-helios", "dual"),
        ("robosense-ruby", "dual"),
        ("robosense-airy", "dual"),
        ("robosense-m1", "strongest"),
        ("robosense-m1", "dual"),
    ] {
        if name.contains(&wanted) {
            let clock = match name {
                "robosense-rs32" => "clock = { reference = \"utc\" }",
                _ => "sync_mode = \"ptp-e2e\", ptp = \"locked\"",
            };
            cases.push(Case::echoes(name, mode, &format!("return_mode = {mode:?}, {clock}")));
        }
    }
    let ptp = "ptp = \"locked\"";
    for (name, kind) in
        [("livox-mid360", "cartesian"), ("livox-mid360", "spherical"), ("livox-hap", "cartesian")]
    {
        if name.contains(&wanted) {
            let settings = format!("data_type = {kind:?}, {ptp}");
            cases.push(Case::echoes(name, kind, &settings));
        }
    }
    for (name, mode) in [("livox-mid70", "strongest"), ("livox-avia", "triple")] {
        if name.contains(&wanted) {
            let settings = format!("return_mode = {mode:?}, streams_alone = true, {ptp}");
            cases.push(Case::echoes(name, mode, &settings));
        }
    }
    for _ in 0..ROUNDS {
        for case in &mut cases {
            case.run_round();
        }
    }
    println!("{:38} {:>10} {:>17} {:>17}", "", "packets/s", "all return", "none returns");
    for case in cases {
        let told = case
            .packet_ns
            .map(|ns| format!("{:5.2} us {:6.2} %", ns / 1e3, ns * 1e-9 * case.rate_hz * 100.0));
        println!("{:38} {:10.1} {:>17} {:>17}", case.name, case.rate_hz, told[0], told[1]);
    }
}
