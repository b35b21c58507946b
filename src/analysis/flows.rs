//! What a capture says as a whole: its flows, who sends them, and how well.
//!
//! Memory is bounded: a fixed number of flows, each of a fixed size.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::capture::Captured;
use super::data_flow::{DataFlow, Unit};
use crate::wire::ParseError;
use crate::wire::ethernet::{Content, Datagram, LinkType, UdpChecksum};
use crate::wire::velodyne::position::{POSITION_PACKET_LEN, PositionPacket};
use crate::wire::velodyne::{Bank, DATA_PACKET_LEN, DataPacket};

/// The port position packets go to.
const POSITION_PORT: u16 = 8308;
/// Flows beyond this are counted, not looked into.
const MAX_FLOWS: usize = 64;

/// The whole capture.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Packets of any kind.
    pub packets: u64,
    /// When the first and the last came, nanoseconds of POSIX time.
    pub span_unix_ns: Option<(i128, i128)>,
    /// Link type of the first packet.
    pub link: Option<LinkType>,
    /// UDP, in the order of appearance.
    pub flows: Vec<Flow>,
    /// Datagrams of flows beyond the number that is looked into.
    pub crowded_out: u64,
    /// Packets that are not UDP, by name.
    pub others: BTreeMap<&'static str, u64>,
    /// Packets whose headers make no sense.
    pub broken: u64,
    /// The user's word on who sends data packets.
    forced: Option<Unit>,
}

/// A frame, looked into.
#[derive(Clone, Debug)]
pub enum Seen<'a> {
    /// A datagram.
    Udp {
        /// Its headers.
        datagram: Datagram<'a>,
        /// What it carries.
        payload: Payload,
    },
    /// Not UDP.
    Other(&'static str),
    /// Its headers make no sense.
    Broken(ParseError),
}

impl<'a> Seen<'a> {
    /// Looks into a frame.
    pub fn in_frame(link: LinkType, frame: &'a [u8]) -> Self {
        match Content::find(link, frame) {
            Ok(Content::Udp(datagram)) => {
                let payload = Payload::of(&datagram);
                Seen::Udp { datagram, payload }
            }
            Ok(Content::Other(name)) => Seen::Other(name),
            Err(error) => Seen::Broken(error),
        }
    }
}

impl Analysis {
    /// Nothing seen yet; `forced` overrules the guess at who sends data packets.
    pub fn new(forced: Option<Unit>) -> Self {
        Self { forced, ..Self::default() }
    }

    /// Takes the next packet.
    pub fn see(&mut self, packet: &Captured<'_>) {
        self.packets += 1;
        let (first, _) = self.span_unix_ns.unwrap_or((packet.unix_ns, packet.unix_ns));
        self.span_unix_ns = Some((first, packet.unix_ns));
        self.link.get_or_insert(packet.link);
        match Seen::in_frame(packet.link, packet.frame) {
            Seen::Udp { datagram, payload } => {
                let index = self.flow_index(&datagram).or_else(|| {
                    (self.flows.len() < MAX_FLOWS).then(|| {
                        self.flows.push(Flow::new(&datagram, packet.unix_ns));
                        self.flows.len() - 1
                    })
                });
                match index {
                    Some(index) => self.flows[index].see(&datagram, &payload, packet.unix_ns),
                    None => self.crowded_out += 1,
                }
            }
            Seen::Other(name) => *self.others.entry(name).or_default() += 1,
            Seen::Broken(_) => self.broken += 1,
        }
    }

    /// Who sends this datagram's data packets, judged by the whole flow.
    pub fn unit_of(&self, datagram: &Datagram<'_>) -> Unit {
        let flow = self.flow_index(datagram).map(|index| &self.flows[index]);
        flow.and_then(|flow| flow.data.as_ref()).map_or(Unit::Unknown, |data| self.unit(data))
    }

    /// Who sends a flow's data packets.
    pub fn unit(&self, data: &DataFlow) -> Unit {
        self.forced.unwrap_or_else(|| data.unit())
    }

    /// The flow with the most data packets.
    pub fn main_data_flow(&self) -> Option<(&Flow, &DataFlow)> {
        let mut best: Option<(&Flow, &DataFlow)> = None;
        for flow in &self.flows {
            if let Some(data) = &flow.data
                && best.is_none_or(|(_, most)| data.packets > most.packets)
            {
                best = Some((flow, data));
            }
        }
        best
    }

    fn flow_index(&self, datagram: &Datagram<'_>) -> Option<usize> {
        self.flows.iter().position(|flow| {
            (flow.source, flow.destination) == (datagram.source, datagram.destination)
        })
    }
}

/// What a UDP payload is.
#[derive(Clone, Debug)]
pub enum Payload {
    /// A lidar's points.
    Data(Box<DataPacket>),
    /// A lidar's GPS and housekeeping.
    Position(Box<PositionPacket>),
    /// Something else.
    Unknown,
}

impl Payload {
    /// Decodes a datagram's payload.
    pub fn of(datagram: &Datagram<'_>) -> Self {
        let ports = [datagram.source.port(), datagram.destination.port()];
        match datagram.payload.len() {
            DATA_PACKET_LEN => match DataPacket::parse(datagram.payload) {
                Ok(packet) if packet.blocks.iter().any(|b| Bank::from_flag(b.flag).is_some()) => {
                    Payload::Data(Box::new(packet))
                }
                _ => Payload::Unknown,
            },
            POSITION_PACKET_LEN => match PositionPacket::parse(datagram.payload) {
                Ok(packet)
                    if ports.contains(&POSITION_PORT)
                        || packet.nmea().is_some_and(|nmea| nmea.starts_with("$GP")) =>
                {
                    Payload::Position(Box::new(packet))
                }
                _ => Payload::Unknown,
            },
            _ => Payload::Unknown,
        }
    }
}

/// A value that should not change from packet to packet.
#[derive(Clone, Copy, Debug)]
pub struct Steady<T> {
    /// Of the first packet.
    pub first: T,
    last: T,
    /// How often it differed from the packet before.
    pub changes: u64,
}

impl<T: PartialEq + Copy> Steady<T> {
    fn new(value: T) -> Self {
        Self { first: value, last: value, changes: 0 }
    }

    fn see(&mut self, value: T) {
        self.changes += u64::from(value != self.last);
        self.last = value;
    }
}

/// Datagrams from one address to another.
#[derive(Debug)]
pub struct Flow {
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// Sender's and receiver's MAC address, of the first packet.
    pub macs: Option<([u8; 6], [u8; 6])>,
    /// How many.
    pub packets: u64,
    /// When the first came, nanoseconds of POSIX time.
    pub first_unix_ns: i128,
    /// When the last came, nanoseconds of POSIX time.
    pub last_unix_ns: i128,
    /// IP time to live.
    pub ttl: Steady<u8>,
    /// Don't-fragment flag; `None` for IPv6.
    pub dont_fragment: Steady<Option<bool>>,
    /// IP identification; `None` for IPv6.
    pub identification: Steady<Option<u16>>,
    /// State of the UDP checksum.
    pub udp_checksum: Steady<UdpChecksum>,
    /// IP headers with a wrong checksum.
    pub bad_ip_checksums: u64,
    /// Of the data packets among them.
    pub data: Option<Box<DataFlow>>,
    /// Of the position packets among them.
    pub position: Option<Box<PositionFlow>>,
}

impl Flow {
    fn new(datagram: &Datagram<'_>, unix_ns: i128) -> Self {
        let ipv4 = datagram.ipv4;
        Self {
            source: datagram.source,
            destination: datagram.destination,
            macs: datagram.macs,
            packets: 0,
            first_unix_ns: unix_ns,
            last_unix_ns: unix_ns,
            ttl: Steady::new(datagram.ttl),
            dont_fragment: Steady::new(ipv4.map(|fields| fields.dont_fragment)),
            identification: Steady::new(ipv4.map(|fields| fields.identification)),
            udp_checksum: Steady::new(datagram.udp_checksum),
            bad_ip_checksums: 0,
            data: None,
            position: None,
        }
    }

    /// Packets a second, from first to last; `None` for fewer than two.
    pub fn rate_hz(&self) -> Option<f64> {
        let span_ns = self.last_unix_ns - self.first_unix_ns;
        (span_ns > 0).then(|| (self.packets - 1) as f64 * 1e9 / span_ns as f64)
    }

    fn see(&mut self, datagram: &Datagram<'_>, payload: &Payload, unix_ns: i128) {
        self.packets += 1;
        self.last_unix_ns = unix_ns;
        self.ttl.see(datagram.ttl);
        self.dont_fragment.see(datagram.ipv4.map(|fields| fields.dont_fragment));
        self.identification.see(datagram.ipv4.map(|fields| fields.identification));
        self.udp_checksum.see(datagram.udp_checksum);
        self.bad_ip_checksums += u64::from(datagram.ipv4.is_some_and(|fields| !fields.checksum_ok));
        match payload {
            Payload::Data(packet) => self.data.get_or_insert_default().see(packet, unix_ns),
            Payload::Position(packet) => self.position.get_or_insert_default().see(packet),
            Payload::Unknown => {}
        }
    }
}

/// The position packets of a flow.
#[derive(Debug, Default)]
pub struct PositionFlow {
    /// How many.
    pub packets: u64,
    /// The last one.
    pub last: PositionPacket,
}

impl PositionFlow {
    fn see(&mut self, packet: &PositionPacket) {
        self.packets += 1;
        self.last = packet.clone();
    }
}
