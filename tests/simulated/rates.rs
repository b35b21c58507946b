//! Compares the nominal rate of each device with the packets that it sends.

use std::ops::Range;
use std::sync::Arc;

use menura::config::profile::{Interface, Profile};
use menura::config::rig::Rig;
use menura::devices::families::catalogue;
use menura::devices::{Device, Output};
use menura::engine::build_devices;
use menura::sensors::{Measurement, Outcome};
use menura::time::{Epoch, SimTime};

/// Look-ahead with which a device is polled, nanoseconds.
const AHEAD_NS: u64 = 120_000_000;
const STEP_NS: u64 = 5_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A device with this profile and these settings.
fn device(profile: &str, settings: &str) -> Box<dyn Device> {
    let text = format!(
        "start_utc = 2026-06-01T12:00:00Z\n[world]\nscene = \"room\"\n\
         [robot]\ntrajectory = {{ kind = \"still\" }}\n\
         [[device]]\nname = \"it\"\nprofile = {profile:?}\n\
         link = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\nsettings = {{ {settings} }}\n"
    );
    let rig = Rig::parse("rig.toml", &text, "".as_ref(), &[], catalogue());
    let rig = rig.unwrap_or_else(|faults| panic!("{faults}"));
    let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
    build_devices(&rig, epoch).remove(0).device
}

/// Number of packets of a device that are due within `span_ns`; all measurements have the outcome `nothing`, without
/// returns.
fn packets_within(device: &mut dyn Device, span_ns: Range<u64>, nothing: fn() -> Outcome) -> u64 {
    let (mut now, mut count) = (0, 0);
    while now < span_ns.end + AHEAD_NS {
        now += STEP_NS;
        while let Some(request) = device.poll_request(SimTime(now)) {
            device.handle_measurement(&Measurement::new(request, nothing()));
        }
        device.advance(SimTime(now.saturating_sub(AHEAD_NS)));
        while let Some(packet) = device.poll_transmit() {
            let is_packet = matches!(packet.output, Output::Datagram { .. });
            count += u64::from(is_packet && span_ns.contains(&packet.due.0));
        }
    }
    count
}

/// Checks the number of packets that a device sends during these seconds of a run against its nominal rate.
fn check(profile: &str, settings: &str, seconds: Range<u64>) {
    // This test makes no measurements for IMUs, so they are switched off. Livox lidars of SDK 1 must stream without a
    // host.
    let without_imu = match profile {
        "robosense-airy" => ", imu_enable = false",
        "livox-avia" | "livox-horizon" => ", imu_enable = false, streams_alone = true",
        "livox-mid40" | "livox-mid70" => ", streams_alone = true",
        _ => "",
    };
    let mut device = device(profile, &format!("{settings}{without_imu}"));
    let nominal = device.nominal_rate_hz() * (seconds.end - seconds.start) as f64;
    let nothing =
        match ["hesai", "livox", "robosense"].iter().any(|maker| profile.starts_with(maker)) {
            true => || Outcome::Echoes(Vec::new()),
            false => || Outcome::Returns(Vec::new()),
        };
    let span_ns = seconds.start * SECOND_NS..seconds.end * SECOND_NS;
    let made = packets_within(&mut *device, span_ns, nothing) as f64;
    // Tolerance for the random delays of position packets, and for one packet at each end.
    let most = 4.0 + 2e-4 * nominal;
    assert!((made - nominal).abs() < most, "{profile} {settings}: {made} of {nominal:.1} packets");
}

#[test]
fn every_lidar_sends_its_nominal_rate_in_every_return_mode() {
    let sends_datagrams =
        |profile: &&Arc<Profile>| profile.product.interface == Interface::Datagrams;
    let lidars = catalogue().profiles().iter().filter(sends_datagrams);
    let names: Vec<&str> = lidars.map(|profile| profile.name.as_str()).collect();
    assert!(names.len() >= 10, "{names:?}");
    let modes = ["strongest", "last", "dual"].map(|mode| format!("return_mode = {mode:?}"));
    let units: Vec<(&str, &String)> = names
        .iter()
        .flat_map(|name| modes.iter().map(move |mode| (*name, mode)))
        .filter(|(name, mode)| has_mode(name, mode))
        .collect();
    let checked = units.len();
    let seconds = |name: &str| if name.contains("vls128") { 3 } else { 5 };
    let of_a_thread = units.len().div_ceil(2);
    std::thread::scope(|scope| {
        for part in units.chunks(of_a_thread) {
            // Two threads share the work, because the fastest device sends 19,000 packets per second.
            scope.spawn(move || {
                part.iter().for_each(|(name, mode)| check(name, mode, 0..seconds(name)))
            });
        }
    });
    assert!(checked >= 24, "{checked}");
}

fn has_mode(profile: &str, settings: &str) -> bool {
    let text = format!(
        "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n\
         [[device]]\nname = \"it\"\nprofile = {profile:?}\n\
         link = {{ udp = {{ to = \"127.0.0.1:2368\" }} }}\nsettings = {{ {settings} }}\n"
    );
    Rig::parse("rig.toml", &text, "".as_ref(), &[], catalogue()).is_ok()
}

#[test]
fn a_field_of_view_lowers_the_rate_of_data_packets_alone() {
    for view in ["[0, 89]", "[315, 44]", "[10, 10]"] {
        check("velodyne-vlp16-3.0", &format!("sector_deg = {view}"), 0..20);
    }
}

#[test]
fn a_camera_sends_its_nominal_rate() {
    for settings in ["", ", binning = 2", ", exposure_us = 200000.0", ", packet_bytes = 9000"] {
        for profile in ["menura-gv231c", "menura-gv121m"] {
            // A test pattern needs no rays.
            let settings = format!("streams_alone = true, test_pattern = \"ramp\"{settings}");
            // In the first second, a frame is exposed and read out before the first packet leaves.
            check(profile, &settings, 1..2);
        }
    }
}
