//! A pending measurement of the path delay, and answers to the measurements of neighbours.

use crate::wire::ptp::{
    Body, Message, NO_INTERVAL, PeerRequest, PortIdentity, Response, Timestamp, Transport, flag,
};

/// Largest number of answers to neighbours whose departure time is not known yet.
pub const MOST_PENDING: usize = 8;

/// A pending delay request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub sequence: u16,
    pub key: u32,
    /// Departure of the request on the requester's clock, nanoseconds; `None` until it is known.
    pub left_ns: Option<i128>,
    /// Arrival of the request and departure of the answer on the responder's clock, nanoseconds; corrections are
    /// applied. The departure is `None` until it is known; end-to-end measurement does not need it.
    pub there_ns: Option<(i128, Option<i128>)>,
    /// Arrival of the neighbour's answer on the requester's clock, and the answer's correction, nanoseconds.
    pub back: Option<(i128, i128)>,
}

impl Request {
    /// A request that has not left yet. `key` identifies it when its departure is reported.
    pub fn new(sequence: u16, key: u32) -> Self {
        Self { sequence, key, left_ns: None, there_ns: None, back: None }
    }

    /// Processes a neighbour's answer or its follow-up, sent to the port `own`. The message arrived at `at_ns` on the
    /// own clock.
    pub fn hear_neighbour(&mut self, own: PortIdentity, message: &Message, at_ns: i128) {
        if message.sequence != self.sequence {
            return;
        }
        let correction = i128::from(message.correction >> 16);
        match &message.body {
            Body::PeerDelayResp(answer) if answer.requester == own => {
                let Some(there) = valid(answer.at) else { return };
                let is_two_step = message.flags & flag::TWO_STEP != 0;
                self.back = Some((at_ns, correction));
                // In a one-step answer, the correction contains the time from arrival to departure, so both count as
                // the same instant.
                self.there_ns = Some((there, (!is_two_step).then_some(there)));
            }
            Body::PeerDelayFollowUp(answer) if answer.requester == own => {
                if let (Some((_, there_left)), Some(left)) = (&mut self.there_ns, valid(answer.at))
                {
                    *there_left = Some(left + correction);
                }
            }
            _ => {}
        }
    }

    /// Path delay to the neighbour, nanoseconds; `None` until all its times are known.
    pub fn to_neighbour_ns(self) -> Option<i128> {
        let (left, (there, there_left), (back, correction)) =
            (self.left_ns?, self.there_ns?, self.back?);
        Some(((back - left) - (there_left? - there) - correction) / 2)
    }
}

/// Delay request to a neighbour, and its [`Message::log_interval`]. Only requests of IEEE 802.1AS name their interval,
/// `log_delay` (binary logarithm of seconds).
pub fn neighbour_request(transport: Transport, log_delay: i8) -> (Body, i8) {
    let body = PeerRequest { origin: Timestamp::default(), reserved: [0; 10] };
    let log_interval = match transport {
        Transport::Gptp => log_delay,
        Transport::Udp | Transport::Ethernet => NO_INTERVAL,
    };
    (Body::PeerDelayReq(body), log_interval)
}

/// Follow-ups to answers whose departure time is not known yet, each with the key of its answer.
#[derive(Clone, Debug, Default)]
pub struct Neighbours(Vec<(u32, Message)>);

impl Neighbours {
    /// Whether another answer can be sent, because its follow-up can be stored.
    pub fn has_room(&self) -> bool {
        self.0.len() < MOST_PENDING
    }

    /// Answer of the port `own` to the delay request `asked`, which arrived at `at_ns` nanoseconds, and the follow-up
    /// of the answer.
    pub fn answer(own: PortIdentity, asked: &Message, at_ns: i128) -> [Message; 2] {
        let answer = Response { at: Timestamp::of_ns(at_ns), requester: asked.source };
        let message = |body| Message::new(asked.domain, own, asked.sequence, body);
        let reply =
            Message { flags: flag::TWO_STEP, ..message(Body::PeerDelayResp(answer.clone())) };
        let correction = asked.correction;
        [reply, Message { correction, ..message(Body::PeerDelayFollowUp(answer)) }]
    }

    /// Stores `follow_up` until the departure time of the answer that it belongs to is known. `key` identifies that
    /// answer: see [`PtpSend::key`](super::PtpSend::key).
    pub fn wait(&mut self, key: u32, follow_up: Message) {
        self.0.push((key, follow_up));
    }

    /// Removes and returns the follow-up of the answer with the key `key`, and sets its departure time to `at_ns`, the
    /// time at which the answer left, nanoseconds. `None` for an unknown key.
    pub fn left(&mut self, key: u32, at_ns: i128) -> Option<Message> {
        let place = self.0.iter().position(|(pending, _)| *pending == key)?;
        let (_, mut follow_up) = self.0.remove(place);
        if let Body::PeerDelayFollowUp(answer) = &mut follow_up.body {
            answer.at = Timestamp::of_ns(at_ns);
        }
        Some(follow_up)
    }

    /// Drops all stored follow-ups, because the departure of their answers will not be reported any more.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// A timestamp in nanoseconds; `None` if it is invalid.
pub fn valid(at: Timestamp) -> Option<i128> {
    (u64::from(at.nanos) < super::SECOND_NS).then(|| at.ns())
}
