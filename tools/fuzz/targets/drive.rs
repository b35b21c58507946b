//! Checks of lidars that send datagrams, after any input.

use menura::config::profile::network::PortIndex;
use menura::devices::{Device, Output};
use menura::sensors::{Measurement, Outcome};
use menura::time::SimTime;

/// Time ahead of the current time for which measurements are requested, nanoseconds.
const AHEAD_NS: u64 = 100_000_000;
/// Largest number of requests that are answered in one step.
const REQUESTS: usize = 40;

/// Measurements and datagram lengths of a lidar.
pub struct Stream {
    /// Makes the outcome of a measurement without returns.
    pub nothing: fn() -> Outcome,
    /// Whether a datagram may have this length in bytes: on the data port, and on the other ports.
    pub may_be: [fn(usize) -> bool; 2],
}

/// Advances `unit` to `now` and checks its output: the unit never withdraws datagrams that were due at `now` or earlier, and
/// due times of data packets never decrease, except back to the time of a withdrawal. `last_due` is the due time of the last
/// data packet; it is updated.
pub fn go_on(unit: &mut dyn Device, stream: &Stream, now: SimTime, last_due: &mut SimTime) {
    for _ in 0..REQUESTS {
        let Some(request) = unit.poll_request(SimTime(now.0 + AHEAD_NS)) else { break };
        unit.handle_measurement(&Measurement::new(request, (stream.nothing)()));
    }
    unit.advance(now);
    while let Some(transmit) = unit.poll_transmit() {
        match transmit.output {
            Output::Revoke(_) => {
                assert!(transmit.due > now);
                *last_due = transmit.due;
            }
            Output::Datagram { port: PortIndex::DATA, bytes } => {
                assert!((stream.may_be[0])(bytes.len()));
                assert!(transmit.due >= *last_due);
                *last_due = transmit.due;
            }
            Output::Datagram { bytes, .. } => assert!((stream.may_be[1])(bytes.len())),
            _ => assert!(transmit.due > now),
        }
    }
}
