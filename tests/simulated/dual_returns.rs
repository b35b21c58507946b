//! Dual return of Velodynes like the VLP-16: the last echo, and the strongest one, or the second strongest if the
//! strongest is the last (manual 63-9243, section 6.2.3). Pulses of nine rays hit up to three walls, each with a third
//! of the rays. The reported echoes are checked in the sensor's measurement and in the packets.

use menura::devices::Output;
use menura::engine::build_devices;
use menura::sensors::lidar::Scratch;
use menura::sensors::{Outcome, Surroundings};
use menura::time::{Epoch, SimTime};
use menura::wire::velodyne::{DATA_PACKET_LEN, DataPacket};
use menura::world::raycast::{Hit, Pulse, RayCaster, Stencil};

use crate::common;

/// Signal of an echo with the strength 1, as reflectance / range², 1/m²: about six times the VLP-16's detection
/// threshold.
const UNIT: f64 = 5e-4;

/// Range of an echo (metres), and its strength in units.
type Echo = (f64, f64);

/// Walls that are hit by the left, the middle and the right rays of each pulse.
struct Walls([Option<Echo>; 3]);

/// Shares of a rectangular footprint's energy in its left, middle and right rays: the weights of the three-point
/// Gauss-Legendre rule.
const SHARES: [f64; 3] = [5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0];

impl RayCaster for Walls {
    fn cast(&self, stencil: &Stencil, pulses: &[Pulse], hits: &mut [Hit]) {
        assert_eq!((stencil.len(), hits.len()), (9, 9 * pulses.len()));
        for (index, hit) in hits.iter_mut().enumerate() {
            let [across, _] = stencil.offsets()[index % 9];
            let column = 1 + usize::from(across > 0.0) - usize::from(across < 0.0);
            *hit = self.0[column].map_or(Hit::MISS, |(range_m, strength)| {
                let reflectance = strength * UNIT * range_m * range_m / SHARES[column];
                Hit {
                    range_m: range_m as f32,
                    cos_incidence: 1.0,
                    reflectance: reflectance as f32,
                    instance: 0,
                    triangle: 0,
                    material: 0,
                }
            });
        }
    }
}

/// The two reported ranges of each pulse that hits `walls`, metres, in the order of [`by_the_manual`]; 0 without an
/// echo. The first list is from the measurement, the second from the odd and the even block of packets.
fn reported(walls: [Option<Echo>; 3], settings: &str) -> (Vec<[f64; 2]>, Vec<[f64; 2]>) {
    let text = format!(
        "seed = 8\n[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n[[device]]\n\
         name = \"lidar\"\nprofile = \"velodyne-vlp16-3.0\"\nlink = {{ udp = {{ to = \"127.0.0.1:9\" }} }}\n\
         mount = {{ translation_m = [0.0, 0.0, 1.0] }}\n\
         settings = {{ return_mode = \"dual\"{settings} }}\n"
    );
    let (rig, world) = common::load(&text);
    let walls = Walls(walls);
    let around = world.surroundings(&rig.devices[0].body_from_sensor);
    let around = Surroundings { caster: &walls, ..around };
    let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
    let mut lidar = build_devices(&rig, epoch).remove(0);
    let mut scratch = Scratch::default();
    let (mut measured, mut told) = (Vec::new(), Vec::new());
    let horizon = SimTime(5_000_000);
    while let Some(request) = lidar.device.poll_request(horizon) {
        let measurement = lidar.sensor.measure(request, &around, &mut scratch);
        let Outcome::Returns(returns) = &measurement.outcome else { panic!("no returns") };
        measured.extend(returns.iter().map(|pulse| {
            [pulse.first, pulse.second].map(|echo| echo.map_or(0.0, |echo| f64::from(echo.range_m)))
        }));
        lidar.device.handle_measurement(&measurement);
    }
    lidar.device.advance(horizon);
    while let Some(transmit) = lidar.device.poll_transmit() {
        let Output::Datagram { bytes, .. } = transmit.output else { continue };
        if bytes.len() != DATA_PACKET_LEN {
            continue;
        }
        let packet = DataPacket::parse(&bytes).unwrap();
        assert!(packet.is_dual_return());
        for pair in packet.blocks.chunks_exact(2) {
            assert_eq!(pair[0].azimuth_centideg, pair[1].azimuth_centideg);
            let points = pair[1].points.iter().zip(&pair[0].points);
            told.extend(
                points
                    .map(|(odd, even)| [odd, even].map(|point| f64::from(point.distance) * 0.002)),
            );
        }
    }
    assert!(measured.len() > 500 && told.len() > 500, "{} {}", measured.len(), told.len());
    (measured, told)
}

/// Ranges of the two echoes of a pulse that dual return reports, by the manual. The first one is the strongest echo, or
/// the second strongest if the strongest is the last; among equal echoes, the nearest counts as stronger. The second
/// one is the last echo. A single echo is reported as both.
fn by_the_manual(echoes: &[Echo]) -> [f64; 2] {
    let mut by_range = echoes.to_vec();
    by_range.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = by_range[by_range.len() - 1];
    // The sort is stable, so the nearest of equal echoes is first.
    let mut by_strength = by_range;
    by_strength.sort_by(|a, b| b.1.total_cmp(&a.1));
    let other = by_strength[0];
    let other = if other == last && by_strength.len() > 1 { by_strength[1] } else { other };
    [other.0, last.0]
}

fn compare(walls: [Option<Echo>; 3], settings: &str, tolerance_m: f64) {
    let echoes: Vec<Echo> = walls.into_iter().flatten().collect();
    let expected = by_the_manual(&echoes);
    let (measured, told) = reported(walls, settings);
    for (what, all) in [("measured", measured), ("told", told)] {
        for found in all {
            let is_right = (0..2).all(|place| (found[place] - expected[place]).abs() < tolerance_m);
            assert!(is_right, "{what} of {echoes:?}: {found:?}, not {expected:?}");
        }
    }
}

/// Ranges of the walls in the order of the rays: all six permutations.
const PLACES: [[f64; 3]; 6] = [
    [4.0, 8.0, 12.0],
    [4.0, 12.0, 8.0],
    [8.0, 4.0, 12.0],
    [8.0, 12.0, 4.0],
    [12.0, 4.0, 8.0],
    [12.0, 8.0, 4.0],
];

/// Tolerance with the profile's noise, metres: six standard deviations of the weakest echo, and half a range step of
/// the packets.
const NOISY_M: f64 = 0.1;

#[test]
fn three_echoes_of_different_strengths_in_every_order() {
    for places in PLACES {
        for strengths in PLACES.map(|order| order.map(|x| x / 4.0)) {
            let walls = [0, 1, 2].map(|wall| Some((places[wall], strengths[wall])));
            compare(walls, "", NOISY_M);
        }
    }
}

#[test]
fn two_echoes_are_both_reported_and_one_twice() {
    for strengths in [[1.0, 2.0], [2.0, 1.0]] {
        compare([Some((5.0, strengths[0])), None, Some((9.0, strengths[1]))], "", NOISY_M);
        compare([Some((9.0, strengths[0])), Some((5.0, strengths[1])), None], "", NOISY_M);
    }
    for only in 0..3 {
        let mut walls = [None; 3];
        walls[only] = Some((7.0, 2.0));
        compare(walls, "", NOISY_M);
        let (measured, told) = reported(walls, "");
        // A single echo: both returns are the same measurement, including the noise.
        assert!(measured.iter().chain(&told).all(|[other, last]| other == last));
    }
}

/// Among equal echoes, the nearest counts as the strongest. Their signals are exactly equal, because twice the range
/// with four times the light has no rounding error.
#[test]
fn of_equal_echoes_the_nearest_is_the_strongest() {
    let beside = |near, far| [Some((near, 2.0)), None, Some((far, 2.0))];
    for walls in [beside(6.0, 12.0), beside(12.0, 6.0)] {
        compare(walls, "", NOISY_M);
    }
    // A weaker or stronger echo before, between or behind two equal ones.
    for third in [(3.0, 1.0), (9.0, 1.0), (18.0, 1.0), (3.0, 3.0), (9.0, 3.0), (18.0, 3.0)] {
        compare([Some((6.0, 2.0)), Some(third), Some((12.0, 2.0))], "", NOISY_M);
        compare([Some((12.0, 2.0)), Some(third), Some((6.0, 2.0))], "", NOISY_M);
    }
}

/// Without noise, packets have the ranges of the walls within half a step of 2 mm.
#[test]
fn without_noise_packets_have_the_ranges_to_half_a_step() {
    let walls = [Some((4.0, 3.0)), Some((8.0, 1.0)), Some((12.0, 2.0))];
    compare(walls, ", errors = \"none\"", 0.001_01);
}
