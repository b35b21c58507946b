//! PTP, the Precision Time Protocol: messages of IEEE 1588-2019 over UDP and Ethernet, and of IEEE 802.1AS.
//!
//! Over UDP, event messages are sent to [`EVENT_PORT`], all others to [`GENERAL_PORT`]. Numbers are most significant
//! byte first. [`management`] has the data sets of management messages, [`suffix`] the optional parts after a
//! message.
//!
//! Sources: IEEE 1588-2019, clauses 13 to 16, annexes C and E; IEEE 802.1AS-2020, clause 11; captures of linuxptp
//! 3.1.1.

pub mod management;
pub mod suffix;

use std::net::Ipv4Addr;

use self::management::Management;
use super::ParseError;
use super::record::{Be, Field, Reader, Record as _, record};

/// UDP port of event messages, whose departure and arrival get timestamps.
pub const EVENT_PORT: u16 = 319;
/// UDP port of all other messages.
pub const GENERAL_PORT: u16 = 320;
/// Multicast group of all messages except peer delay messages.
pub const PRIMARY_GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 1, 129);
/// Multicast group of peer delay messages, which measure the delay to a neighbour.
pub const PEER_DELAY_GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 107);
/// EtherType of PTP messages.
pub const ETHER_TYPE: u16 = 0x88f7;
/// Ethernet group address of all messages except peer delay messages.
pub const PRIMARY_MAC: [u8; 6] = [0x01, 0x1b, 0x19, 0, 0, 0];
/// Ethernet group address of peer delay messages, and of all messages of IEEE 802.1AS. Bridges do not forward frames
/// to this address.
pub const PEER_DELAY_MAC: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];

words!(Transport: "udp" => Udp, "ethernet" => Ethernet, "802.1as" => Gptp);
/// Transport of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// UDP over IPv4, IEEE 1588.
    #[default]
    Udp,
    /// Ethernet, IEEE 1588.
    Ethernet,
    /// Ethernet, IEEE 802.1AS (gPTP).
    Gptp,
}

impl Transport {
    /// [`Message::sdo`] of messages with this transport.
    pub fn sdo(self) -> u8 {
        u8::from(self == Self::Gptp)
    }
}

words!(DelayMechanism: "e2e" => EndToEnd, "p2p" => PeerToPeer);
/// Mechanism for measuring the path delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelayMechanism {
    /// End-to-end (E2E): delay to the master.
    #[default]
    EndToEnd,
    /// Peer-to-peer (P2P): delay to the neighbour.
    PeerToPeer,
}

/// Destination of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The multicast group of all clocks.
    All,
    /// The multicast group of peer delay messages.
    Neighbours,
    /// One host, by UDP.
    Host(Ipv4Addr),
}

impl Target {
    /// The multicast group for messages with the content `body`.
    pub fn group_of(body: &Body) -> Self {
        if body.is_of_peer_delay() { Self::Neighbours } else { Self::All }
    }
}

/// Length of the header, bytes.
pub const HEADER_LEN: usize = 34;
/// Longest message that fits an Ethernet frame with IPv4 and UDP, bytes.
pub const LONGEST: usize = 1472;
/// Major version of the protocol: 2, in IEEE 1588-2008 and -2019.
pub const VERSION: u8 = 2;
/// TAI minus UTC since 2017, seconds.
pub const UTC_OFFSET_S: i16 = 37;
/// `log_interval` of messages without an interval.
pub const NO_INTERVAL: i8 = 0x7f;

/// Bits of [`Message::flags`].
pub mod flag {
    /// A follow-up message has the exact time (two-step).
    pub const TWO_STEP: u16 = 0x0200;
    /// The message is sent to one host.
    pub const UNICAST: u16 = 0x0400;
    /// The last minute of the UTC day has 61 seconds.
    pub const LEAP_61: u16 = 0x0001;
    /// The last minute of the UTC day has 59 seconds.
    pub const LEAP_59: u16 = 0x0002;
    /// The `utc_offset_s` of an announcement is known to be correct.
    pub const UTC_OFFSET_VALID: u16 = 0x0004;
    /// Times are in the PTP time scale, that is, TAI.
    pub const PTP_TIMESCALE: u16 = 0x0008;
    /// The time is traceable to a primary reference.
    pub const TIME_TRACEABLE: u16 = 0x0010;
    /// The frequency is traceable to a primary reference.
    pub const FREQUENCY_TRACEABLE: u16 = 0x0020;
}

/// Identity of a clock, which IEEE 1588 derives from a MAC address.
pub type ClockIdentity = [u8; 8];

/// Identity of the clock with this MAC address.
pub fn identity_of([a, b, c, d, e, f]: [u8; 6]) -> ClockIdentity {
    [a, b, c, 0xff, 0xfe, d, e, f]
}

/// Formats an identity as linuxptp does: `020000.fffe.00000a`.
pub fn identity_text([a, b, c, d, e, f, g, h]: ClockIdentity) -> String {
    format!("{a:02x}{b:02x}{c:02x}.{d:02x}{e:02x}.{f:02x}{g:02x}{h:02x}")
}

record! {
    /// A port of a clock.
    #[derive(Copy, Default, Eq, PartialOrd, Ord)]
    PortIdentity: Be 10 {
        /// Identity of the clock.
        clock: ClockIdentity,
        /// Number of the port, from 1.
        port: u16,
    }

    /// A time since the epoch of its time scale.
    #[derive(Copy, Default, Eq)]
    Timestamp: Be 10 {
        /// Upper 16 bits of the seconds.
        seconds_high: u16,
        /// Lower 32 bits of the seconds.
        seconds_low: u32,
        /// Nanoseconds within the second.
        nanos: u32,
    }

    /// Quality of a clock.
    #[derive(Copy, Default, Eq, PartialOrd, Ord)]
    ClockQuality: Be 4 {
        /// Class of the clock: 6 set by a primary reference, 248 default, 255 slave only.
        class: u8,
        /// Code of the accuracy, for example 0x20 for 25 ns; 0xfe: unknown.
        accuracy: u8,
        /// Stability of the clock: logarithm of its variance, scaled as in IEEE 1588; 0xffff: unknown.
        variance: u16,
    }

    /// Announcement of a clock that is master, or offers to be master.
    Announce: Be 30 {
        /// Time of sending: zero or approximate.
        origin: Timestamp,
        /// TAI minus UTC, seconds.
        utc_offset_s: i16,
        /// Reserved: 0.
        reserved: u8,
        /// First priority, compared before all other criteria; lower is better.
        priority_1: u8,
        /// Clock quality of the grandmaster.
        quality: ClockQuality,
        /// Second priority, compared if the quality is equal; lower is better.
        priority_2: u8,
        /// Identity of the grandmaster.
        grandmaster: ClockIdentity,
        /// Number of hops from the grandmaster to the announcing clock: 0 for the grandmaster itself.
        steps_removed: u16,
        /// Code of the time source, for example 0x20 for a GNSS receiver and 0xa0 for an oscillator.
        time_source: u8,
    }

    /// Answer to a delay request: a time, and the port that sent the request.
    Response: Be 20 {
        /// Arrival time of the request, or departure time of the answer.
        at: Timestamp,
        /// Port that sent the request.
        requester: PortIdentity,
    }

    /// Delay request to a neighbour.
    PeerRequest: Be 20 {
        /// Time of sending: zero or approximate.
        origin: Timestamp,
        /// Zeros, which make the request as long as the answer.
        reserved: [u8; 10],
    }

    /// Header of every message as on the wire; [`Message`] has the decoded fields.
    RawHeader: Be 34 {
        /// [`Message::sdo`] in the upper four bits, [`Body::kind`] in the lower four.
        sdo_and_kind: u8,
        /// [`Message::minor_version`] in the upper four bits, [`VERSION`] in the lower four.
        versions: u8,
        /// Length of the whole message, bytes.
        length: u16,
        /// Domain number.
        domain: u8,
        /// Lower part of the SDO id.
        minor_sdo: u8,
        /// Flags, bits of [`flag`].
        flags: u16,
        /// Correction, nanoseconds times 65 536.
        correction: i64,
        /// Bytes that depend on the kind of message.
        specific: [u8; 4],
        /// Port that sent the message.
        source: PortIdentity,
        /// Sequence number; each kind of message has its own sequence.
        sequence: u16,
        /// Kind of message as coded in PTP version 1.
        control: u8,
        /// Logarithm to the base 2 of the interval between messages of this kind, seconds.
        log_interval: i8,
    }
}

impl Timestamp {
    /// The timestamp `ns` nanoseconds after the epoch of its time scale, limited to the format's range.
    pub fn of_ns(ns: i128) -> Self {
        let seconds = ns.div_euclid(1_000_000_000).clamp(0, (1 << 48) - 1) as u64;
        let nanos = ns.rem_euclid(1_000_000_000) as u32;
        Self { seconds_high: (seconds >> 32) as u16, seconds_low: seconds as u32, nanos }
    }

    /// Nanoseconds since the epoch of the timestamp's time scale.
    pub fn ns(self) -> i128 {
        let seconds = (i128::from(self.seconds_high) << 32) | i128::from(self.seconds_low);
        seconds * 1_000_000_000 + i128::from(self.nanos)
    }
}

/// A PTP message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Upper part of the SDO id, 0 to 15: 0 IEEE 1588, 1 IEEE 802.1AS.
    pub sdo: u8,
    /// Lower part of the SDO id.
    pub minor_sdo: u8,
    /// Minor version: 0 or 1 for version 2.0 or 2.1.
    pub minor_version: u8,
    /// Domain number.
    pub domain: u8,
    /// Flags, bits of [`flag`].
    pub flags: u16,
    /// Correction of the message's time, nanoseconds times 65 536.
    pub correction: i64,
    /// Bytes whose meaning depends on the kind of message.
    pub specific: [u8; 4],
    /// Port that sent the message.
    pub source: PortIdentity,
    /// Sequence number; each kind of message has its own sequence.
    pub sequence: u16,
    /// Kind of message as coded in PTP version 1.
    pub control: u8,
    /// Interval between messages of this kind, base-2 logarithm of seconds.
    pub log_interval: i8,
    /// Content of the message.
    pub body: Body,
    /// Bytes of the suffixes (TLVs), each with a header; usually empty.
    pub suffix: Vec<u8>,
}

/// Content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The master's time. In two-step mode, a follow-up has the time instead.
    Sync(Timestamp),
    /// Requests the delay to the master; contains the sending time: zero or approximate.
    DelayReq(Timestamp),
    /// Requests the delay to a neighbour.
    PeerDelayReq(PeerRequest),
    /// Answer of the neighbour: arrival time of the request.
    PeerDelayResp(Response),
    /// Departure time of a [`Body::Sync`].
    FollowUp(Timestamp),
    /// Answer of the master: arrival time of the request.
    DelayResp(Response),
    /// Departure time of the neighbour's answer.
    PeerDelayFollowUp(Response),
    /// Announcement of a clock that offers to be master.
    Announce(Announce),
    /// The message's suffix contains requests to this port, or answers to its requests.
    Signaling(PortIdentity),
    /// Reads or changes a data set, or answers such a request.
    Management(Management),
}

impl Body {
    /// Number of the message's kind, 0 to 15.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Sync(_) => 0x0,
            Self::DelayReq(_) => 0x1,
            Self::PeerDelayReq(_) => 0x2,
            Self::PeerDelayResp(_) => 0x3,
            Self::FollowUp(_) => 0x8,
            Self::DelayResp(_) => 0x9,
            Self::PeerDelayFollowUp(_) => 0xa,
            Self::Announce(_) => 0xb,
            Self::Signaling(_) => 0xc,
            Self::Management(_) => 0xd,
        }
    }

    /// Whether departure and arrival get timestamps; the message is then sent to [`EVENT_PORT`].
    pub fn is_event(&self) -> bool {
        self.kind() < 0x8
    }

    /// Whether the message is sent to [`PEER_DELAY_GROUP`].
    pub fn is_of_peer_delay(&self) -> bool {
        matches!(self.kind(), 0x2 | 0x3 | 0xa)
    }

    /// Value of [`Message::control`] for this kind.
    fn control(&self) -> u8 {
        match self {
            Self::Sync(_) => 0,
            Self::DelayReq(_) => 1,
            Self::FollowUp(_) => 2,
            Self::DelayResp(_) => 3,
            Self::Management(_) => 4,
            _ => 5,
        }
    }

    fn read(kind: u8, from: &mut Reader<'_>) -> Result<Self, ParseError> {
        Ok(match kind {
            0x0 => Self::Sync(from.be()?),
            0x1 => Self::DelayReq(from.be()?),
            0x2 => Self::PeerDelayReq(from.be()?),
            0x3 => Self::PeerDelayResp(from.be()?),
            0x8 => Self::FollowUp(from.be()?),
            0x9 => Self::DelayResp(from.be()?),
            0xa => Self::PeerDelayFollowUp(from.be()?),
            0xb => Self::Announce(from.be()?),
            0xc => Self::Signaling(from.be()?),
            0xd => Self::Management(from.be()?),
            _ => return Err(ParseError::value("kind", kind, "0 to 3, 8 to 13")),
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Sync(at) | Self::DelayReq(at) | Self::FollowUp(at) => at.emit(out),
            Self::PeerDelayReq(request) => request.emit(out),
            Self::PeerDelayResp(answer)
            | Self::DelayResp(answer)
            | Self::PeerDelayFollowUp(answer) => answer.emit(out),
            Self::Announce(announce) => announce.emit(out),
            Self::Signaling(target) => target.emit(out),
            Self::Management(management) => Field::<Be>::write(management, out),
        }
    }
}

impl Message {
    /// A message of IEEE 1588 version 2.0 without flags, correction or interval.
    pub fn new(domain: u8, source: PortIdentity, sequence: u16, body: Body) -> Self {
        Self {
            sdo: 0,
            minor_sdo: 0,
            minor_version: 0,
            domain,
            flags: 0,
            correction: 0,
            specific: [0; 4],
            source,
            sequence,
            control: body.control(),
            log_interval: NO_INTERVAL,
            body,
            suffix: Vec::new(),
        }
    }

    /// Reads a message; `bytes` must contain nothing else.
    ///
    /// # Errors
    /// The message has a length or a value that is not allowed.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("a PTP message", bytes);
        let head: RawHeader = from.be()?;
        if head.versions & 0x0f != VERSION {
            return Err(ParseError::value("version", head.versions & 0x0f, "2"));
        }
        if usize::from(head.length) != bytes.len() {
            let (need, got) = (head.length.into(), bytes.len());
            return Err(ParseError::Length { what: "a PTP message", need, got });
        }
        let body = Body::read(head.sdo_and_kind & 0x0f, &mut from)?;
        Ok(Self {
            sdo: head.sdo_and_kind >> 4,
            minor_sdo: head.minor_sdo,
            minor_version: head.versions >> 4,
            domain: head.domain,
            flags: head.flags,
            correction: head.correction,
            specific: head.specific,
            source: head.source,
            sequence: head.sequence,
            control: head.control,
            log_interval: head.log_interval,
            body,
            suffix: from.rest().to_vec(),
        })
    }

    /// Reads the message at the start of a datagram, which can have padding after the message.
    ///
    /// # Errors
    /// See [`Message::parse`].
    pub fn of_datagram(bytes: &[u8]) -> Result<Self, ParseError> {
        let length = bytes.get(2..4).map(|length| u16::from_be_bytes([length[0], length[1]]));
        let message = length.and_then(|length| bytes.get(..usize::from(length)));
        Self::parse(message.unwrap_or(bytes))
    }

    /// Bytes of the message. A suffix that makes the message longer than 65 535 bytes is truncated, because the length
    /// field cannot express more.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.body.write(&mut rest);
        rest.extend_from_slice(&self.suffix);
        rest.truncate(usize::from(u16::MAX) - HEADER_LEN);
        let head = RawHeader {
            sdo_and_kind: self.sdo << 4 | self.body.kind(),
            versions: self.minor_version << 4 | VERSION,
            length: (HEADER_LEN + rest.len()) as u16,
            domain: self.domain,
            minor_sdo: self.minor_sdo,
            flags: self.flags,
            correction: self.correction,
            specific: self.specific,
            source: self.source,
            sequence: self.sequence,
            control: self.control,
            log_interval: self.log_interval,
        };
        [head.to_bytes(), rest].concat()
    }
}

#[cfg(test)]
mod tests;
