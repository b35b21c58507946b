//! Analysis of a whole capture: its flows, their senders, and their quality.
//!
//! Memory is bounded: there is a largest number of flows, each of bounded size.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::capture::Captured;
use super::data_flow::DataFlow;
use crate::config::toml::diagnostic::Diagnostics;
use crate::devices::FAMILIES;
use crate::devices::decoder::datagram::{DATA, DatagramDecoder, Head};
use crate::devices::decoder::picture::Picture;
use crate::devices::decoder::{Hints, Misfit};
use crate::devices::families::catalogue;
use crate::wire::ethernet::{Content, Datagram, LinkType, UdpChecksum};

/// Largest number of flows that are analysed; datagrams of further flows are only counted.
const MAX_FLOWS: usize = 64;

/// Analysis of a capture.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Number of packets of any kind.
    pub packets: u64,
    /// Times of the first and the last packet, nanoseconds of POSIX time.
    pub span_unix_ns: Option<(i128, i128)>,
    /// Link type of the first packet.
    pub link: Option<LinkType>,
    /// UDP flows, in the order of appearance.
    pub flows: Vec<Flow>,
    /// Number of datagrams of flows that are not analysed.
    pub crowded_out: u64,
    /// Number of packets other than UDP, by the name of their protocol.
    pub others: BTreeMap<String, u64>,
    /// Number of packets with invalid headers.
    pub broken: u64,
    /// Decoders of all families in their initial state; each new flow gets a copy.
    unseen: Senders,
}

impl Analysis {
    /// An analysis without packets.
    ///
    /// # Errors
    /// Errors in the files that the hints name.
    pub fn new(hints: &Hints<'_>) -> Result<Self, Diagnostics> {
        Ok(Self { unseen: Senders::new(hints)?, ..Self::default() })
    }

    /// Adds the next packet.
    pub fn see(&mut self, packet: &Captured<'_>) {
        self.packets += 1;
        let (first, _) = self.span_unix_ns.unwrap_or((packet.unix_ns, packet.unix_ns));
        self.span_unix_ns = Some((first, packet.unix_ns));
        self.link.get_or_insert(packet.link);
        match Content::find(packet.link, packet.frame) {
            Ok(Content::Udp(datagram)) => {
                let index = self.flow_index(&datagram).or_else(|| {
                    (self.flows.len() < MAX_FLOWS).then(|| {
                        let mut senders = self.unseen.clone();
                        let host = datagram.source.ip();
                        for other in self.flows.iter().filter(|flow| flow.source.ip() == host) {
                            other.aside.iter().for_each(|payload| senders.learn_aside(payload));
                        }
                        self.flows.push(Flow::new(&datagram, packet.unix_ns, senders));
                        self.flows.len() - 1
                    })
                });
                match index {
                    Some(index) => {
                        if self.flows[index].see(&datagram, packet.unix_ns) {
                            self.learn_aside(index, &datagram);
                        }
                    }
                    None => self.crowded_out += 1,
                }
            }
            Ok(Content::Other(name)) => *self.others.entry(name.to_owned()).or_default() += 1,
            Err(_) => self.broken += 1,
        }
    }

    /// Passes a datagram of the flow with this index to the decoders of the sender's other flows.
    fn learn_aside(&mut self, index: usize, datagram: &Datagram<'_>) {
        let host = datagram.source.ip();
        for (_, flow) in self.flows.iter_mut().enumerate().filter(|(other, _)| *other != index) {
            if flow.source.ip() == host {
                flow.senders.learn_aside(datagram.payload);
            }
        }
    }

    /// Decoder of a datagram's sender, and the kind of the datagram. All datagrams of the flow determine the sender.
    /// `None` if no family sends such datagrams.
    pub fn sender(&self, datagram: &Datagram<'_>) -> Option<(&dyn DatagramDecoder, Head)> {
        let flow = self.flow_index(datagram).map(|index| &self.flows[index].senders);
        flow.unwrap_or(&self.unseen).of(ports_of(datagram), datagram.payload)
    }

    /// Error message if every flow of data comes from a product other than the one that the user named; otherwise
    /// `None`.
    pub fn other_product(&self) -> Option<String> {
        let strange = |flow: &Flow| {
            let misfit = flow.misfits().into_iter().find(|misfit| misfit.is_other_product);
            misfit.map(|misfit| misfit.text)
        };
        let mut with_data = self.flows.iter().filter(|flow| flow.data.is_some());
        let main = self.main_data_flow().and_then(|(flow, _)| strange(flow));
        main.filter(|_| with_data.all(|flow| strange(flow).is_some()))
    }

    /// The flow with the most data packets; `None` if no flow has data packets.
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

/// Possible senders of a flow: the decoder of each family that sends datagrams.
#[derive(Debug)]
pub struct Senders(Vec<Box<dyn DatagramDecoder>>);

impl Clone for Senders {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|decoder| decoder.boxed_clone()).collect())
    }
}

impl Default for Senders {
    fn default() -> Self {
        Self::new(&Hints::default()).expect("no hints, no file to read")
    }
}

impl Senders {
    /// Decoders of all families that send datagrams, in their initial state.
    ///
    /// # Errors
    /// Errors in the files that the hints name.
    pub fn new(hints: &Hints<'_>) -> Result<Self, Diagnostics> {
        let known = catalogue().profiles();
        let decoders =
            FAMILIES.iter().filter_map(|family| family.datagram_decoder(hints, known).transpose());
        decoders.collect::<Result<_, _>>().map(Self)
    }

    /// Decoder of the most probable sender.
    pub fn likeliest(&self) -> Option<&dyn DatagramDecoder> {
        likeliest(self.0.iter().map(Box::as_ref))
    }

    /// Decoder of the most probable sender of a datagram, and the kind of the datagram; `None` if no family sends such
    /// datagrams. `ports` are the source and destination ports.
    pub fn of(&self, ports: [u16; 2], payload: &[u8]) -> Option<(&dyn DatagramDecoder, Head)> {
        let able = |decoder: &&dyn DatagramDecoder| decoder.head(ports, payload).is_some();
        let sender = likeliest(self.0.iter().map(Box::as_ref).filter(able))?;
        Some((sender, sender.head(ports, payload)?))
    }

    fn learn(&mut self, datagram: &Datagram<'_>) {
        for decoder in &mut self.0 {
            if decoder.head(ports_of(datagram), datagram.payload).is_some() {
                decoder.learn(datagram.payload);
            }
        }
    }

    /// The image that this datagram completes, if any.
    pub fn picture(&mut self, ports: [u16; 2], payload: &[u8]) -> Option<Picture> {
        let able = |decoder: &&mut Box<dyn DatagramDecoder>| {
            decoder.sends_images() && decoder.head(ports, payload).is_some()
        };
        self.0.iter_mut().filter(able).find_map(|decoder| {
            decoder.learn(payload);
            decoder.picture()
        })
    }

    fn learn_aside(&mut self, payload: &[u8]) {
        self.0.iter_mut().for_each(|decoder| decoder.learn_aside(payload));
    }

    /// All kinds of datagrams other than data.
    pub fn other_kinds(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|decoder| decoder.other_kinds()).copied()
    }
}

fn likeliest<'a>(
    decoders: impl Iterator<Item = &'a dyn DatagramDecoder>,
) -> Option<&'a dyn DatagramDecoder> {
    decoders.max_by(|a, b| a.likelihood().total_cmp(&b.likelihood()))
}

/// Source and destination port.
pub fn ports_of(datagram: &Datagram<'_>) -> [u16; 2] {
    [datagram.source.port(), datagram.destination.port()]
}

/// A value that usually does not change between packets.
#[derive(Clone, Copy, Debug)]
pub struct Steady<T> {
    /// Value of the first packet.
    pub first: T,
    last: T,
    /// Number of packets whose value differed from the previous packet's.
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
    /// Source address.
    pub source: SocketAddr,
    /// Destination address.
    pub destination: SocketAddr,
    /// Source and destination MAC address of the first packet.
    pub macs: Option<([u8; 6], [u8; 6])>,
    /// Number of packets.
    pub packets: u64,
    /// Arrival of the first packet, POSIX time, nanoseconds.
    pub first_unix_ns: i128,
    /// Arrival of the last packet, POSIX time, nanoseconds.
    pub last_unix_ns: i128,
    /// IP time to live.
    pub ttl: Steady<u8>,
    /// Don't-fragment flag; `None` for IPv6.
    pub dont_fragment: Steady<Option<bool>>,
    /// IP identification; `None` for IPv6.
    pub identification: Steady<Option<u16>>,
    /// State of the UDP checksum.
    pub udp_checksum: Steady<UdpChecksum>,
    /// Number of IP headers with a wrong checksum.
    pub bad_ip_checksums: u64,
    /// Number of whole datagrams with a wrong UDP checksum.
    pub bad_udp_checksums: u64,
    /// Number of datagrams that were captured incompletely.
    pub cut_short: u64,
    /// Possible senders of the flow.
    pub senders: Senders,
    /// Analysis of the flow's data packets.
    pub data: Option<Box<DataFlow>>,
    /// Latest datagram that was passed to the sender's other flows: the first recognised datagram, or a later one other
    /// than data.
    aside: Option<Vec<u8>>,
    /// Number of datagrams other than data, by kind.
    pub other_kinds: BTreeMap<&'static str, u64>,
}

impl Flow {
    fn new(datagram: &Datagram<'_>, unix_ns: i128, senders: Senders) -> Self {
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
            bad_udp_checksums: 0,
            cut_short: 0,
            senders,
            data: None,
            aside: None,
            other_kinds: BTreeMap::new(),
        }
    }

    /// Packets per second between the first and the last; `None` if the last did not arrive after the first, as for a
    /// single packet.
    pub fn rate_hz(&self) -> Option<f64> {
        let span_ns = self.last_unix_ns - self.first_unix_ns;
        (span_ns > 0).then(|| (self.packets - 1) as f64 * 1e9 / span_ns as f64)
    }

    /// Contradictions between the datagrams and the profile that the user named.
    pub fn misfits(&self) -> Vec<Misfit> {
        self.senders.0.iter().flat_map(|decoder| decoder.misfits()).collect()
    }

    /// Adds a datagram; returns whether it must be passed to the sender's other flows.
    fn see(&mut self, datagram: &Datagram<'_>, unix_ns: i128) -> bool {
        self.packets += 1;
        self.last_unix_ns = unix_ns;
        self.ttl.see(datagram.ttl);
        self.dont_fragment.see(datagram.ipv4.map(|fields| fields.dont_fragment));
        self.identification.see(datagram.ipv4.map(|fields| fields.identification));
        self.udp_checksum.see(datagram.udp_checksum);
        self.bad_ip_checksums += u64::from(datagram.ipv4.is_some_and(|fields| !fields.checksum_ok));
        let is_bad = datagram.missing == 0 && datagram.udp_checksum == UdpChecksum::Bad;
        self.bad_udp_checksums += u64::from(is_bad);
        self.cut_short += u64::from(datagram.missing > 0);
        self.senders.learn(datagram);
        let Some((sender, head)) = self.senders.of(ports_of(datagram), datagram.payload) else {
            return false;
        };
        let is_aside = head.kind != DATA || self.aside.is_none();
        if head.kind == DATA {
            let sweep = sender.sweep(datagram.payload);
            let data = self.data.get_or_insert_default();
            data.see(&head, &sweep, unix_ns, sender.has_stamps());
        } else {
            *self.other_kinds.entry(head.kind).or_default() += 1;
        }
        if is_aside {
            self.aside = Some(datagram.payload.to_vec());
        }
        is_aside
    }
}
