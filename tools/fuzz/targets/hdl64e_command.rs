//! Any bytes from a host on the serial line of an HDL-64E: the unit never withdraws sent packets, and does not panic.

use super::drive;
use menura::config::rig::faults::DeviceFaults;
use menura::devices::Device;
use menura::devices::families::catalogue;
use menura::devices::hdl64e::Hdl64e;
use menura::devices::hdl64e::profile::Hdl64eProfile;
use menura::sensors::Outcome;
use menura::sensors::noise::NoiseSource;
use menura::time::{Epoch, SimTime};

const STREAM: drive::Stream = drive::Stream {
    nothing: || Outcome::Returns(Vec::new()),
    may_be: [|len| len == 1206, |len| len == 512],
};

pub fn run(bytes: &[u8]) {
    let Some((&first, said)) = bytes.split_first() else { return };
    let names = ["velodyne-hdl64e-s1", "velodyne-hdl64e-s2", "velodyne-hdl64e-s3"];
    let Ok(profile) = catalogue().profile(names[usize::from(first) % names.len()]) else { return };
    let Some(driver) = profile.data::<Hdl64eProfile>() else { return };
    let Ok(start) = "2026-06-01T12:00:00Z".parse() else { return };
    let noise = NoiseSource::new(1, "roof");
    let mut unit =
        Hdl64e::new(driver, &driver.defaults, noise, Epoch::new(start), &DeviceFaults::default());
    let mut last_due = SimTime::ZERO;
    for (step, piece) in said.chunks(16).take(32).enumerate() {
        let now = SimTime(step as u64 * 30_000_000);
        unit.handle_input(now, piece);
        drive::go_on(&mut unit, &STREAM, now, &mut last_due);
    }
}
