//! Further line of a receiver: a device of the rig that represents only the line at one of the receiver's ports.
//!
//! The device sends the receiver's output at that port without additional delay. Bytes from its host are passed
//! directly to the receiver.

use std::collections::VecDeque;

use crate::sensors::{Measurement, MeasurementRequest};
use crate::time::SimTime;
use crate::wire::line::LineSettings;
use crate::{CableSignal, Device, Output, Transmit};

/// Line at a further port of a receiver.
#[derive(Debug)]
pub struct FurtherLine {
    line: LineSettings,
    ready: VecDeque<Transmit>,
    now: SimTime,
}

impl FurtherLine {
    /// A line that has the settings `line` until the port changes them.
    pub fn new(line: LineSettings) -> Self {
        Self { line, ready: VecDeque::new(), now: SimTime::ZERO }
    }
}

impl Device for FurtherLine {
    fn poll_request(&mut self, _horizon: SimTime) -> Option<MeasurementRequest> {
        None
    }

    fn handle_measurement(&mut self, _measurement: &Measurement) {}

    fn handle_cable(&mut self, now: SimTime, signal: &CableSignal) {
        let CableSignal::Bytes(bytes, line) = signal else { return };
        if *line != self.line {
            self.line = *line;
            self.ready.push_back(Transmit::new(now, Output::Line(*line)));
        }
        if !bytes.is_empty() {
            self.ready.push_back(Transmit::bytes(now, bytes.clone()));
        }
        self.now = now;
    }

    fn advance(&mut self, now: SimTime) {
        self.now = now;
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.ready.pop_front_if(|transmit| transmit.due <= self.now)
    }

    fn nominal_rate_hz(&self) -> f64 {
        0.0
    }

    fn line(&self) -> Option<LineSettings> {
        Some(self.line)
    }
}
