//! Any requests to the web interface of a Velodyne: the unit answers each and keeps sending packets. Due times of data
//! packets never decrease, except after the unit has withdrawn packets: due times then go on from the
//! time of the withdrawal.

use super::drive;
use menura::config::rig::faults::DeviceFaults;
use menura::devices::Device;
use menura::devices::families::catalogue;
use menura::devices::velodyne::Velodyne;
use menura::devices::velodyne::profile::VelodyneProfile;
use menura::sensors::Outcome;
use menura::sensors::noise::NoiseSource;
use menura::time::{Epoch, SimTime};
use menura::wire::http::{HttpMethod, HttpRequest};

const STREAM: drive::Stream = drive::Stream {
    nothing: || Outcome::Returns(Vec::new()),
    may_be: [|len| len == 1206, |len| len == 512],
};

/// Each line is a request: the pause before it in milliseconds (1 byte), then method, path and body, with spaces
/// between them.
pub fn run(bytes: &[u8]) {
    let Ok(profile) = catalogue().profile("velodyne-vlp16-3.0") else { return };
    let Some(driver) = profile.data::<VelodyneProfile>() else { return };
    let Ok(start) = "2026-06-01T12:00:00Z".parse() else { return };
    let noise = NoiseSource::new(1, "puck");
    let mut unit = Velodyne::new(
        driver,
        &driver.defaults,
        None,
        noise,
        Epoch::new(start),
        &DeviceFaults::default(),
    );
    let mut now = SimTime::ZERO;
    let mut last_due = SimTime::ZERO;
    for line in bytes.split(|byte| *byte == b'\n').take(8) {
        let Some((wait, line)) = line.split_first() else { continue };
        now = SimTime(now.0 + u64::from(*wait) * 1_000_000);
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let method = match parts.next() {
            Some(b"GET") => HttpMethod::Get,
            Some(b"POST") => HttpMethod::Post,
            _ => HttpMethod::Other,
        };
        let path = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        let body = parts.next().unwrap_or_default().to_vec();
        let request = HttpRequest { method, path, body, ..HttpRequest::default() };
        let response = unit.handle_http(now, &request);
        assert!((200..600).contains(&response.status));
        drive::go_on(&mut unit, &STREAM, now, &mut last_due);
    }
}
