//! Common parts of lidar tests.

use std::sync::Arc;

use crate::config::profile::Profile;
use crate::config::profile::network::PortIndex;
use crate::families::catalogue;
use crate::sensors::{Echoes, Measurement, MeasurementRequest, Outcome, Return, Subject};
use crate::time::{Epoch, SimTime};
use crate::{Device, Output, Transmit};

const MS: u64 = 1_000_000;

/// A profile of the built-in catalogue.
pub fn driver(name: &str) -> Arc<Profile> {
    catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Epoch of the tests' runs.
pub fn epoch() -> Epoch {
    Epoch::new("2026-06-01T12:00:00Z".parse().unwrap())
}

/// Echoes at 10 m and at 20 m, each with intensity and signal.
pub fn echoes(near: [f32; 2], far: [f32; 2]) -> Echoes {
    let mut echoes = Echoes::default();
    for (range_m, [intensity, signal]) in [(10.0, near), (20.0, far)] {
        echoes.push(Return { range_m, intensity, signal });
    }
    echoes
}

/// Runs a unit for `for_ns` nanoseconds from the time `from`, and requests measurements up to `ahead_ns` nanoseconds in
/// advance. Every pulse has the same `echoes`; `other` answers requests other than sweeps. Returns the output without
/// withdrawn datagrams.
pub fn run(
    unit: &mut impl Device,
    from: SimTime,
    [for_ns, ahead_ns]: [u64; 2],
    echoes: Echoes,
    other: impl Fn(&MeasurementRequest) -> Outcome,
) -> Vec<Transmit> {
    let mut sent = Vec::new();
    for now in (from.0 + MS..).step_by(MS as usize).take_while(|now| *now < from.0 + for_ns + MS) {
        while let Some(request) = unit.poll_request(SimTime(now + ahead_ns)) {
            let outcome = match &request.subject {
                Subject::Sweep(sweep) => Outcome::Echoes(vec![echoes; sweep.firings.len()]),
                _ => other(&request),
            };
            unit.handle_measurement(&Measurement::new(request, outcome));
            sent.extend(std::iter::from_fn(|| unit.poll_transmit()));
        }
        unit.advance(SimTime(now));
        sent.extend(std::iter::from_fn(|| unit.poll_transmit()));
    }
    without_revoked(sent)
}

/// Output of a unit, without the datagrams that the unit withdrew by [`Output::Revoke`].
pub fn without_revoked(given: Vec<Transmit>) -> Vec<Transmit> {
    let mut kept: Vec<Transmit> = Vec::new();
    for transmit in given {
        match transmit.output {
            Output::Revoke(port) => {
                kept.retain(|old| old.due < transmit.due || old.output.port() != Some(port));
            }
            _ => kept.push(transmit),
        }
    }
    kept
}

/// Datagrams of a port, with their send times.
pub fn datagrams(sent: &[Transmit], own: PortIndex) -> Vec<(SimTime, &[u8])> {
    let of_port = sent.iter().filter_map(|transmit| match &transmit.output {
        Output::Datagram { port, bytes } if *port == own => Some((transmit.due, bytes.as_slice())),
        _ => None,
    });
    of_port.collect()
}
