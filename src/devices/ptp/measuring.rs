//! Measurement of offset and path delay by a slave.

use super::request::{Request, neighbour_request};
use super::servo::Order;
use super::{DelayMechanism, PendingSync, PtpSlave, SECOND_NS, interval_ns};
use crate::sensors::noise::Quantity;
use crate::time::SimTime;
use crate::wire::ptp::{Body, Message, NO_INTERVAL, Target, Timestamp};

/// The path delay is the median of this many latest measurements.
const MEDIAN_OF: usize = 10;
/// Largest plausible delay, nanoseconds.
const LONGEST_DELAY_NS: i128 = SECOND_NS as i128;
/// Index of the first random stream for delay requests; streams of measurements have lower indices.
const REQUEST_DRAWS: u64 = 1 << 61;

impl PtpSlave {
    pub(super) fn forget_delay(&mut self) {
        self.request = None;
        self.neighbours.forget();
        self.delays.clear();
        self.delay_ns = None;
    }

    /// Evaluates a Sync once both it and its follow-up have arrived.
    pub(super) fn pair(&mut self, now: SimTime) {
        let (Some((first, at_ns, correction)), Some((second, left))) =
            (self.sync.arrived, self.sync.left)
        else {
            return;
        };
        if first == second {
            self.sync = PendingSync::default();
            self.follow(now, left + correction, at_ns);
        }
    }

    /// Updates offset and clock by a Sync that left at `left` on the master's clock and arrived at `at_ns` on the
    /// slave's clock, nanoseconds.
    pub(super) fn follow(&mut self, now: SimTime, left: i128, at_ns: i128) {
        self.latest = Some((left, at_ns));
        let Some(delay_ns) = self.delay_ns else { return };
        self.offset_ns = at_ns - left - delay_ns;
        let interval_s = interval_ns(self.log_sync) as f64 / 1e9;
        match self.servo.sample(self.offset_ns, at_ns, interval_s) {
            Order::Wait => {}
            Order::Rate(ppb) => self.clock.steer(now, 0, ppb),
            Order::Step(ppb) => {
                self.clock.steer(now, -self.offset_ns, ppb);
                // Messages under way have timestamps from before the step.
                self.latest = None;
                self.request = None;
                self.sync = PendingSync::default();
                self.delays.clear();
            }
        }
    }

    /// Sends a delay request to the master or to the neighbour.
    pub(super) fn ask(&mut self) {
        self.next_request = self.next_draw();
        self.sequence = self.sequence.wrapping_add(1);
        let (body, log_interval) = match self.settings.delay {
            DelayMechanism::EndToEnd => (Body::DelayReq(Timestamp::default()), NO_INTERVAL),
            DelayMechanism::PeerToPeer => {
                neighbour_request(self.settings.transport, self.log_delay)
            }
        };
        let sequence = self.sequence;
        let message = Message::new(self.settings.domain, self.port, sequence, body);
        let host = self.followed().and_then(|parent| self.asked.address(parent));
        let to = match self.settings.delay {
            DelayMechanism::EndToEnd => host.map_or(Target::All, Target::Host),
            DelayMechanism::PeerToPeer => Target::Neighbours,
        };
        let key = self.send_to(to, Message { log_interval, ..message });
        self.request = key.map(|key| Request::new(sequence, key));
        self.send_by_line();
    }

    /// Random time of the next request, at most two intervals from now, so that the slaves of a master do not send at
    /// the same time.
    pub(super) fn next_draw(&mut self) -> SimTime {
        self.requests += 1;
        let noise = self.noise.request(REQUEST_DRAWS + self.requests);
        let part = u64::from(noise.whole(0, Quantity::PtpRequest, 1, u8::MAX));
        SimTime(self.now.0 + 2 * interval_ns(self.log_delay) / u64::from(u8::MAX) * part)
    }

    /// Processes an answer or follow-up to the delay request with this sequence number; `note` stores the message's
    /// times in the request.
    pub(super) fn hear_answer(&mut self, sequence: u16, note: impl FnOnce(&mut Request)) {
        if let Some(request) = self.request.as_mut().filter(|own| own.sequence == sequence) {
            note(request);
            self.measure_delay();
        }
    }

    /// Computes the path delay if all times for it are known.
    pub(super) fn measure_delay(&mut self) {
        let Some(request) = self.request else { return };
        let to_master = || {
            let ((sync_left, sync_at), (there, _)) = (self.latest?, request.there_ns?);
            Some(((sync_at - sync_left) + (there - request.left_ns?)) / 2)
        };
        let delay = match self.settings.delay {
            DelayMechanism::EndToEnd => to_master(),
            DelayMechanism::PeerToPeer => request.to_neighbour_ns(),
        };
        let Some(delay) = delay else { return };
        self.request = None;
        if delay.abs() > LONGEST_DELAY_NS {
            return;
        }
        self.delays.push_back(delay);
        if self.delays.len() > MEDIAN_OF {
            self.delays.pop_front();
        }
        let mut sorted: Vec<_> = self.delays.iter().copied().collect();
        sorted.sort_unstable();
        let middle = sorted.len() / 2;
        self.delay_ns = Some(match sorted.len() % 2 {
            0 => (sorted[middle - 1] + sorted[middle]) / 2,
            _ => sorted[middle],
        });
    }
}
