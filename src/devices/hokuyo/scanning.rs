//! Selection of the scans to measure, and their output.

use std::ops::RangeInclusive;

use super::commands::DONE;
use super::profile::{AfterLastScan, StampAt};
use super::stream::Stream;
use super::values::scan_data;
use super::{Hokuyo, Phase};
use crate::sensors::receiver::ReceiverSetting;
use crate::time::SimTime;
use crate::wire::scip::message::{Message, Status};

impl Hokuyo {
    pub(super) fn receiver(&self) -> ReceiverSetting {
        let factor =
            if self.is_sensitive { self.profile.protocol.sensitive_threshold } else { 1.0 };
        ReceiverSetting { threshold_factor: factor as f32, ..ReceiverSetting::default() }
    }

    /// Time to transmit a message of the stream on the serial line, nanoseconds; 0 without a serial line.
    pub(super) fn line_ns(&self, stream: &Stream) -> u64 {
        self.uart.as_ref().map_or(0, |uart| uart.duration_ns(stream.message_len()))
    }

    /// The next revolution to measure, and its steps; `None` if there is none to request now.
    pub(super) fn next_wanted(&mut self) -> Option<(u64, RangeInclusive<u32>)> {
        match self.phase {
            Phase::Single => {
                let single = self.single.as_ref().filter(|single| !single.is_asked)?;
                let from = self.now.max(self.unstable_until);
                Some((self.turning.first_from(from), single.wanted.measured(&self.profile)))
            }
            Phase::Streaming => {
                let mut stream = self.stream.take()?;
                let line_ns = self.line_ns(&stream);
                let waiting = self.asked.len() + self.ahead.len();
                let next = stream.plan(waiting, line_ns, |revolution| self.leaves(revolution));
                let steps = stream.wanted.measured(&self.profile);
                self.stream = Some(stream);
                next.map(|next| (next, steps))
            }
            _ => None,
        }
    }

    /// Sends the oldest measured scan at `at`. A scan of a stream is dropped if the serial line is still transmitting.
    pub(super) fn give_out_scan(&mut self, at: SimTime) {
        let Some(scan) = self.ahead.pop_front() else { return };
        let stamp_at = match self.profile.timing.stamp_at {
            StampAt::StepZero => self.turning.time_of(scan.revolution, 0),
            StampAt::Rear => self.turning.begins(scan.revolution),
        };
        let time_ms = self.clock.ms(stamp_at);
        if let Some(single) = self.single.take() {
            let (data, points) = scan_data(&self.profile, &single.wanted, &scan, time_ms);
            let lines = data.lines(single.wanted.format);
            let message = Message { echo: single.echo, status: Status::Code(DONE), lines };
            self.say(at, points, &message, scan.fault_effects, scan.truth);
            return self.answered(at);
        }
        // The line is still transmitting, so the scan is dropped.
        if self.uart.as_ref().is_some_and(|uart| uart.free_at() > at) {
            return;
        }
        let Some(stream) = &mut self.stream else { return };
        let (echo, is_last) = stream.next_echo();
        let (data, points) = scan_data(&self.profile, &stream.wanted, &scan, time_ms);
        let lines = data.lines(stream.wanted.format);
        let message = Message { echo, status: Status::Code(*b"99"), lines };
        self.say(at, points, &message, scan.fault_effects, scan.truth);
        if is_last {
            self.forget_scans();
            self.phase = match self.profile.protocol.after_last_scan {
                AfterLastScan::Standby => Phase::Standby,
                AfterLastScan::SingleScan => Phase::Single,
            };
        } else {
            self.fail_as_simulated(at);
        }
    }

    /// Drops the oldest measurement request, which was revoked, so that another revolution is requested.
    pub(super) fn ask_again(&mut self) {
        self.asked.pop_front();
        if let Some(single) = &mut self.single {
            single.is_asked = false;
        }
    }
}
