//! What every lidar that sends datagrams does, whatever it is told.

use menura::config::profile::network::PortIndex;
use menura::devices::{Device, Output};
use menura::sensors::{Measurement, Outcome};
use menura::time::SimTime;

/// How far ahead packets are asked for.
const AHEAD_NS: u64 = 100_000_000;
/// Requests that are answered at a time.
const REQUESTS: usize = 40;

/// What a lidar measures and sends.
pub struct Stream {
    /// A measurement that saw nothing.
    pub nothing: fn() -> Outcome,
    /// Whether a datagram may have so many bytes: of the data port, and of another.
    pub may_be: [fn(usize) -> bool; 2],
}

/// Has `unit` go on at `now`. What has left is never taken back, and due times go back only as far as
/// packets are taken back; `last_due` is that of the last one.
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
