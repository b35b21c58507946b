//! Converts the packets in a bag's messages to frames with datagrams.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

use super::super::bag::{Bag, BagError};
use crate::wire::ethernet::FrameHeader;
use crate::wire::ros2::Kind;

/// First three bytes of the source address in a frame whose message states no addresses. This network is reserved for
/// documentation (RFC 5737). The last byte of the address is derived from the topic's number.
const DOCUMENTED: [u8; 3] = [192, 0, 2];
/// Destination address in a frame whose message states no addresses.
const RECEIVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);

/// Reads a bag and returns each packet in its messages as an Ethernet frame with one UDP datagram.
pub(super) struct Datagrams<'a> {
    bag: Bag<'a>,
    waiting: VecDeque<(i128, FrameHeader, Vec<u8>)>,
    /// Number of messages whose type contains no packets, by message type.
    pub others: BTreeMap<String, u64>,
    /// Number of messages of a packet type that cannot be parsed, plus packets that are too long for a datagram.
    pub unreadable: u64,
}

impl<'a> Datagrams<'a> {
    pub fn new(bag: Bag<'a>) -> Self {
        let (waiting, others) = Default::default();
        Self { bag, waiting, others, unreadable: 0 }
    }

    /// Reads the next datagram into `frame`; returns its time, or `None` at the end.
    pub fn next_into(&mut self, frame: &mut Vec<u8>) -> Result<Option<i128>, BagError> {
        loop {
            while let Some((unix_ns, header, payload)) = self.waiting.pop_front() {
                match header.emit(&payload, frame) {
                    Ok(()) => return Ok(Some(unix_ns)),
                    Err(_) => self.unreadable += 1,
                }
            }
            let Some(message) = self.bag.next_message()? else { return Ok(None) };
            let topic = self.bag.topic(message.topic).cloned().unwrap_or_default();
            let Some(kind) = Kind::of(&topic.type_name) else {
                *self.others.entry(format!("message of {}", topic.type_name)).or_default() += 1;
                continue;
            };
            let Ok(read) = kind.parse(&message.data) else {
                self.unreadable += 1;
                continue;
            };
            let told = addresses(&read.frame_id);
            self.waiting.extend(read.packets.into_iter().map(|packet| {
                let port = kind.usual_port(&packet.payload);
                let [a, b, c] = DOCUMENTED;
                let own = Ipv4Addr::new(a, b, c, (message.topic % 253) as u8);
                let ends = told.unwrap_or_else(|| {
                    [SocketAddrV4::new(own, port), SocketAddrV4::new(RECEIVER, port)]
                });
                let unix_ns = packet.unix_ns.filter(|ns| *ns != 0).unwrap_or(message.unix_ns);
                (unix_ns, header(ends), packet.payload)
            }));
        }
    }
}

/// Value of `frame_id` that states the source and destination of a datagram.
pub fn frame_id(source: std::net::SocketAddr, destination: std::net::SocketAddr) -> String {
    format!("{source}>{destination}")
}

fn addresses(frame_id: &str) -> Option<[SocketAddrV4; 2]> {
    let (source, destination) = frame_id.split_once('>')?;
    Some([source.parse().ok()?, destination.parse().ok()?])
}

fn header([source, destination]: [SocketAddrV4; 2]) -> FrameHeader {
    FrameHeader {
        source_mac: [0; 6],
        destination_mac: [0; 6],
        source_ip: *source.ip(),
        destination_ip: *destination.ip(),
        source_port: source.port(),
        destination_port: destination.port(),
        ttl: 64,
        dont_fragment: false,
        identification: 0,
        udp_checksum: false,
    }
}
