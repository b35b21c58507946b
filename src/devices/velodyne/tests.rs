use crate::families::catalogue;
use crate::velodyne::profile::VelodyneProfile;
use std::sync::Arc;

use super::*;
use crate::Output;
use crate::config::profile::Profile;
use crate::sensors::FiringSlot;
use crate::sensors::Subject;
use crate::spinning::clock_settings::ClockReference;
use crate::spinning::stream::Planner as _;
use crate::wire::velodyne::position::PositionPacket;

/// UTC at the start of the run: 1 234 567 890 us past the hour.
const START: &str = "2026-06-01T12:20:34.56789Z";

fn unit(name: &str, change: impl FnOnce(&mut VelodyneSettings)) -> Velodyne {
    let profile: Arc<Profile> =
        catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"));
    let Some(driver) = profile.data::<VelodyneProfile>() else { panic!("{name}") };
    let mut settings = driver.defaults.clone();
    settings.azimuth_jitter_centideg = 0.0;
    settings.clock.reference = ClockReference::Utc;
    change(&mut settings);
    let epoch = Epoch::new(START.parse().unwrap());
    let (noise, faults) = (NoiseSource::new(1, name), DeviceFaults::default());
    Velodyne::new(driver, &settings, None, noise, epoch, &faults)
}

fn dual(settings: &mut VelodyneSettings) {
    settings.return_mode = ReturnMode::Dual;
}

/// Measures the next packet; returns the output and its bytes. `returns` provides the returns of each firing.
fn packet(
    unit: &mut Velodyne,
    returns: impl Fn(usize, &FiringSlot) -> PulseReturns,
) -> (Transmit, Vec<u8>) {
    let mut requests = std::iter::from_fn(|| unit.poll_request(SimTime(u64::MAX)));
    // On an HDL-32E, the first request can be for the IMU.
    let request = requests.find(|request| matches!(request.subject, Subject::Sweep(_))).unwrap();
    let Subject::Sweep(sweep) = &request.subject else { panic!("no sweep") };
    let returns = sweep.firings.iter().enumerate().map(|(i, slot)| returns(i, slot)).collect();
    unit.handle_measurement(&Measurement::new(request, Outcome::Returns(returns)));
    let transmit = unit.poll_transmit().unwrap();
    let Output::Datagram { bytes, .. } = transmit.output.clone() else { panic!("no bytes") };
    (transmit, bytes)
}

fn echo(range_m: f32, intensity: f32) -> Option<Return> {
    Some(Return { range_m, intensity, signal: 1.0 })
}

/// Packet for the common input of the protocol notes: one laser measures 12.346 m (slightly more, because half a count
/// of 4 mm is not exact in f32) with intensity 77 at 123.45 degrees.
fn golden(name: &str, laser: u16, change: impl FnOnce(&mut VelodyneSettings)) -> Vec<u8> {
    let mut unit = unit(name, |settings| {
        settings.start_azimuth_rad = 123.45f64.to_radians();
        change(settings);
    });
    let (_, bytes) = packet(&mut unit, |_, slot| match slot.laser == laser {
        true => PulseReturns { first: echo(10.0, 0.99), second: echo(12.3461, 0.77) },
        false => PulseReturns::default(),
    });
    bytes
}

#[test]
fn points_stand_where_the_manuals_say() {
    let last = |settings: &mut VelodyneSettings| settings.return_mode = ReturnMode::Last;
    let one = |name: &str, laser: u16| {
        let mut unit = unit(name, |settings| {
            settings.start_azimuth_rad = 123.45f64.to_radians();
            last(settings);
        });
        let seen = PulseReturns { first: echo(12.3461, 0.77), second: None };
        let (_, bytes) = packet(&mut unit, |_, slot| match slot.laser == laser {
            true => seen,
            false => PulseReturns::default(),
        });
        bytes
    };
    for (name, laser, block, point, bytes, tail) in [
        ("velodyne-hdl32e-2.2", 15, 0, 49, [0x1d, 0x18, 77], [0x38, 0x21]),
        ("velodyne-vlp16-3.0", 3, 0, 13, [0x1d, 0x18, 77], [0x38, 0x22]),
        ("velodyne-vlp16-3.0", 3, 0, 61, [0x1d, 0x18, 77], [0x38, 0x22]),
        ("velodyne-puck-hires-3.0", 3, 0, 13, [0x1d, 0x18, 77], [0x38, 0x24]),
        ("velodyne-vlp32c-3.0", 5, 0, 19, [0x0f, 0x0c, 77], [0x38, 0x28]),
    ] {
        let sent = one(name, laser);
        assert_eq!(sent[block..block + 4], [0xff, 0xee, 0x39, 0x30], "{name}");
        assert_eq!(sent[point..point + 3], bytes, "{name}");
        assert_eq!(sent[1200..1206], [0xd2, 0x02, 0x96, 0x49, tail[0], tail[1]], "{name}");
    }
    let sent = one("velodyne-vls128-5.1", 70);
    assert_eq!(sent[200..204], [0xff, 0xcc, 0x39, 0x30]);
    assert_eq!(sent[222..225], [0x0f, 0x0c, 77]);
    assert_eq!(sent[1204..1206], [0x38, 0xa1]);
}

#[test]
fn dual_return_has_the_last_in_even_blocks() {
    let vlp16 = golden("velodyne-vlp16-3.0", 3, dual);
    assert_eq!(vlp16[..4], vlp16[100..104]);
    assert_eq!((&vlp16[13..16], &vlp16[113..116]), (&[0x1d, 0x18, 77][..], &[0x88, 0x13, 99][..]));
    assert_eq!(vlp16[1204..1206], [0x39, 0x22]);
    let vls128 = golden("velodyne-vls128-5.1", 70, dual);
    assert_eq!(vls128[400..404], [0xff, 0xcc, 0x39, 0x30]);
    assert_eq!(vls128[422..425], [0x0f, 0x0c, 77]);
    assert_eq!(vls128[522..525], [0xc4, 0x09, 99]);
    for block in 8..12 {
        assert_eq!(vls128[100 * block..100 * block + 4], [0xff, 0xff, 0x39, 0x30]);
    }
}

#[test]
fn rates_are_those_of_the_manuals() {
    for (name, single, twice) in [
        ("velodyne-hdl32e-2.2", 1808.45, 3616.90),
        ("velodyne-vlp16-3.0", 753.52, 1507.04),
        ("velodyne-puck-hires-3.0", 753.52, 1507.04),
        ("velodyne-vlp32c-3.0", 1507.04, 3014.08),
        ("velodyne-vls128-5.1", 6253.91, 18_761.73),
    ] {
        assert!((unit(name, |_| {}).data_rate_hz() - single).abs() < 0.01, "{name}");
        assert!((unit(name, dual).data_rate_hz() - twice).abs() < 0.01, "{name}");
    }
}

#[test]
fn firings_keep_to_the_grid_at_every_rate() {
    // Packet periods of the manuals, of firmware 5.2.3.0, and of a capture of another VLS-128.
    for (name, period_us) in [
        ("velodyne-hdl32e-2.2", 552.96),
        ("velodyne-vlp16-3.0", 1327.104),
        ("velodyne-puck-hires-3.0", 1327.104),
        ("velodyne-vlp32c-3.0", 663.552),
        ("velodyne-vls128-5.1", 159.9),
        ("velodyne-vls128-5.1-captured", 165.84),
        ("velodyne-vls128-5.2", 173.4),
    ] {
        for rpm in (300..=1200).step_by(60) {
            let mut unit = unit(name, |settings| settings.rotation_rate_rpm = rpm);
            let mut sweeps = std::iter::from_fn(|| unit.poll_request(SimTime(u64::MAX)))
                .filter_map(|request| match request.subject {
                    Subject::Sweep(sweep) => Some((request.start, sweep)),
                    _ => None,
                });
            let ((start, sweep), (next_start, next)) =
                (sweeps.next().unwrap(), sweeps.next().unwrap());
            let period_ns = (period_us * 1000f64).round() as u64;
            assert_eq!(next_start.0 - start.0, period_ns, "{name} at {rpm} rpm");
            let step = (next.azimuth_at(0) - sweep.azimuth_at(0)).to_degrees();
            let expected = f64::from(rpm) * 6.0 * period_us * 1e-6;
            assert!((step - expected).abs() < 1e-9, "{name} at {rpm} rpm: {step}");
        }
    }
}

#[test]
fn lasers_fire_when_the_manual_says() {
    let mut unit = unit("velodyne-vlp16-3.0", |_| {});
    let request = unit.poll_request(SimTime(u64::MAX)).unwrap();
    let Subject::Sweep(sweep) = &request.subject else { panic!("no sweep") };
    // Laser 15 in the last sequence.
    assert_eq!(sweep.firings[383].offset_ns, 23 * 55_296 + 15 * 2304);
}

#[test]
fn a_narrow_view_holds_a_packet_open() {
    let mut unit = unit("velodyne-vlp32c-3.0", |settings| {
        settings.sector_deg = [270, 91];
    });
    let mut last_start = SimTime::ZERO;
    let mut widest = 0;
    for _ in 0..400 {
        let (plan, _) = unit.stream.planner.next(&unit.stream.program, SimTime(u64::MAX)).unwrap();
        let starts: Vec<_> = plan.starts.iter().collect();
        for start in &starts {
            let degree = unit.stream.program.rotor().turn(*start) * 360.0;
            assert!(!(91.0..270.0).contains(&degree), "{degree}");
        }
        let gap = starts.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap();
        widest = widest.max(gap);
        assert!(plan.start() >= last_start);
        last_start = plan.start();
    }
    // The gap of 179 degrees between sectors takes about 50 ms at 600 rpm.
    assert!((49_600_000..49_900_000).contains(&widest), "{widest}");
    let share = unit.data_rate_hz() / 1507.04;
    assert!((share - 181.0 / 360.0).abs() < 1e-4);
}

#[test]
fn what_was_given_up_leaves_a_gap() {
    let mut unit = unit("velodyne-vlp16-3.0", |_| {});
    unit.poll_request(SimTime(u64::MAX)).unwrap();
    let (transmit, _) = packet(&mut unit, |_, _| PulseReturns::default());
    assert_eq!(transmit.due, SimTime(2 * 1_327_104));
}

mod changes;
mod hold_over;
mod stall;
mod web;
