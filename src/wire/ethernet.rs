//! UDP datagrams in Ethernet frames: builds frames for recordings, and finds datagrams in captures.
//!
//! [`FrameHeader`] describes the frames that products send: Ethernet II, IPv4 without options, UDP. It reproduces
//! parsed frames byte for byte, as [`crate`] promises. [`Content::find`] reads the frames of any capture: also VLAN
//! tags, IPv6, raw IP, the Linux "cooked" and the loopback link types, and padding.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use etherparse::{
    EtherType, Ethernet2Header, IpNumber, Ipv4Header, LaxNetSlice, LaxSlicedPacket, LinkSlice,
    TransportSlice, UdpHeader,
};

use super::ParseError;

/// Length of the three headers before the payload, bytes.
pub const HEADER_LEN: usize = 14 + IP_HEADER_LEN + UDP_HEADER_LEN;
const IP_HEADER_LEN: usize = 20;
const UDP_HEADER_LEN: usize = 8;
/// Largest payload of an IPv4 datagram, bytes.
pub const MAX_PAYLOAD_LEN: usize = u16::MAX as usize - IP_HEADER_LEN - UDP_HEADER_LEN;

/// Addresses and header fields of a product's frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The sender's MAC address.
    pub source_mac: [u8; 6],
    /// The receiver's MAC address.
    pub destination_mac: [u8; 6],
    /// The sender's IP address.
    pub source_ip: Ipv4Addr,
    /// The receiver's IP address.
    pub destination_ip: Ipv4Addr,
    /// UDP source port.
    pub source_port: u16,
    /// UDP destination port.
    pub destination_port: u16,
    /// IP time to live.
    pub ttl: u8,
    /// IP don't-fragment flag.
    pub dont_fragment: bool,
    /// IP identification.
    pub identification: u16,
    /// Whether the UDP checksum is computed; if not, the field is zero.
    pub udp_checksum: bool,
}

impl FrameHeader {
    /// Replaces the contents of `frame` with a frame that contains `payload`. Allocates only if the capacity of `frame`
    /// is too small. Rejects a payload longer than [`MAX_PAYLOAD_LEN`].
    pub fn emit(&self, payload: &[u8], frame: &mut Vec<u8>) -> Result<(), ParseError> {
        let too_long = || ParseError::Length {
            what: "UDP payload",
            need: MAX_PAYLOAD_LEN,
            got: payload.len(),
        };
        let ethernet = Ethernet2Header {
            source: self.source_mac,
            destination: self.destination_mac,
            ether_type: EtherType::IPV4,
        };
        let udp_len = u16::try_from(UDP_HEADER_LEN + payload.len()).map_err(|_| too_long())?;
        let mut ip = Ipv4Header::new(
            udp_len,
            self.ttl,
            IpNumber::UDP,
            self.source_ip.octets(),
            self.destination_ip.octets(),
        )
        .map_err(|_| too_long())?;
        ip.dont_fragment = self.dont_fragment;
        ip.identification = self.identification;
        ip.header_checksum = ip.calc_header_checksum();
        let udp = if self.udp_checksum {
            let (source, destination) = (self.source_port, self.destination_port);
            UdpHeader::with_ipv4_checksum(source, destination, &ip, payload)
        } else {
            let (source, destination) = (self.source_port, self.destination_port);
            UdpHeader::without_ipv4_checksum(source, destination, payload.len())
        }
        .map_err(|_| too_long())?;

        frame.clear();
        frame.extend_from_slice(&ethernet.to_bytes());
        frame.extend_from_slice(&ip.to_bytes());
        frame.extend_from_slice(&udp.to_bytes());
        frame.extend_from_slice(payload);
        Ok(())
    }

    /// Header and payload of a frame that [`FrameHeader::emit`] could have written. Rejects all other frames
    /// (options, tags, fragments, wrong checksums, padding).
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), ParseError> {
        let Content::Udp(datagram) = Content::find(LinkType::ETHERNET, frame)? else {
            return Err(foreign("protocol", 0));
        };
        let (Some((source_mac, destination_mac)), Some(ipv4)) = (datagram.macs, datagram.ipv4)
        else {
            return Err(foreign("IP version", 6));
        };
        let (IpAddr::V4(source_ip), IpAddr::V4(destination_ip)) =
            (datagram.source.ip(), datagram.destination.ip())
        else {
            return Err(foreign("IP version", 6));
        };
        let header = Self {
            source_mac,
            destination_mac,
            source_ip,
            destination_ip,
            source_port: datagram.source.port(),
            destination_port: datagram.destination.port(),
            ttl: datagram.ttl,
            dont_fragment: ipv4.dont_fragment,
            identification: ipv4.identification,
            udp_checksum: datagram.udp_checksum != UdpChecksum::Absent,
        };
        let mut again = Vec::with_capacity(frame.len());
        header.emit(datagram.payload, &mut again)?;
        match again.iter().zip(frame).position(|(ours, theirs)| ours != theirs) {
            Some(at) => Err(foreign("header byte", u64::from(frame[at]))),
            None if again.len() != frame.len() => {
                Err(ParseError::Length { what: "frame", need: again.len(), got: frame.len() })
            }
            None => Ok((header, datagram.payload)),
        }
    }
}

fn foreign(field: &'static str, value: u64) -> ParseError {
    ParseError::Value {
        field,
        value,
        allowed: "only plain Ethernet II, IPv4 without options and UDP are accepted",
    }
}

/// Link type of a capture, by its number in the registry at tcpdump.org: the format of the header before the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: four bytes of address family.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// Raw IP, as numbered on some operating systems.
    pub const RAW_BSD: Self = Self(12);
    /// Raw IP.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked", from `tcpdump -i any`.
    pub const LINUX_SLL: Self = Self(113);
    /// IPv4.
    pub const IPV4: Self = Self(228);
    /// IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked", second version.
    pub const LINUX_SLL2: Self = Self(276);
}

/// Content of a captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A UDP datagram that is not fragmented. The capture may lack bytes at its end, see [`Datagram::missing`].
    Udp(Datagram<'a>),
    /// Other content: the name of its protocol, or the reason why it is not decoded, such as `IP fragment`.
    Other(&'static str),
}

/// A UDP datagram with data from its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Source and destination MAC addresses, if the link type has them.
    pub macs: Option<([u8; 6], [u8; 6])>,
    /// Source IP address and UDP port.
    pub source: SocketAddr,
    /// Destination IP address and UDP port.
    pub destination: SocketAddr,
    /// IP time to live or hop limit.
    pub ttl: u8,
    /// Fields that only IPv4 has.
    pub ipv4: Option<Ipv4Fields>,
    /// State of the UDP checksum.
    pub udp_checksum: UdpChecksum,
    /// Payload of the datagram.
    pub payload: &'a [u8],
    /// Number of bytes that the capture lacks at the payload's end.
    pub missing: usize,
}

/// Header fields that only IPv4 has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Fields {
    /// Don't-fragment flag.
    pub dont_fragment: bool,
    /// IP identification.
    pub identification: u16,
    /// Whether the header checksum is correct.
    pub checksum_ok: bool,
}

/// State of a UDP checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpChecksum {
    /// The checksum is zero: it was not computed.
    Absent,
    /// The checksum is correct.
    Good,
    /// The checksum is wrong, or cannot be checked because bytes are missing.
    Bad,
}

impl<'a> Content<'a> {
    /// Searches for a UDP datagram in a captured frame.
    ///
    /// # Errors
    /// The frame ends within its headers, or headers contradict each other.
    pub fn find(link: LinkType, frame: &'a [u8]) -> Result<Self, ParseError> {
        match sliced(link, frame)? {
            Some(sliced) => Self::of(&sliced),
            None => Ok(Content::Other("unknown link type")),
        }
    }

    fn of(sliced: &LaxSlicedPacket<'a>) -> Result<Self, ParseError> {
        let (source_ip, destination_ip, ttl, ipv4, ip_payload) = match &sliced.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                let header = ip.header();
                let fields = Ipv4Fields {
                    dont_fragment: header.dont_fragment(),
                    identification: header.identification(),
                    checksum_ok: header.header_checksum()
                        == header.to_header().calc_header_checksum(),
                };
                let (source, destination) = (header.source_addr(), header.destination_addr());
                let ttl = header.ttl();
                (IpAddr::V4(source), IpAddr::V4(destination), ttl, Some(fields), ip.payload())
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                let header = ip.header();
                let (source, destination) = (header.source_addr(), header.destination_addr());
                let ttl = header.hop_limit();
                (IpAddr::V6(source), IpAddr::V6(destination), ttl, None, ip.payload())
            }
            Some(LaxNetSlice::Arp(_)) => return Ok(Content::Other("ARP")),
            None => return without_ip(sliced),
        };
        if ip_payload.fragmented {
            return Ok(Content::Other("IP fragment"));
        }
        let udp = match &sliced.transport {
            Some(TransportSlice::Udp(udp)) => udp,
            Some(TransportSlice::Tcp(_)) => return Ok(Content::Other("TCP")),
            Some(TransportSlice::Icmpv4(_)) => return Ok(Content::Other("ICMP")),
            Some(TransportSlice::Igmp(_)) => return Ok(Content::Other("IGMP")),
            Some(TransportSlice::Icmpv6(_)) => return Ok(Content::Other("ICMPv6")),
            None if ip_payload.ip_number == IpNumber::UDP => {
                let got = ip_payload.payload.len();
                return Err(ParseError::Length { what: "UDP header", need: UDP_HEADER_LEN, got });
            }
            None => return Ok(Content::Other("IP protocol")),
        };
        let payload = udp.payload();
        let missing = usize::from(udp.length()).saturating_sub(UDP_HEADER_LEN + payload.len());
        let header = udp.to_header();
        let expected = match (source_ip, destination_ip) {
            _ if missing > 0 => None,
            (IpAddr::V4(s), IpAddr::V4(d)) => {
                header.calc_checksum_ipv4_raw(s.octets(), d.octets(), payload).ok()
            }
            (IpAddr::V6(s), IpAddr::V6(d)) => {
                header.calc_checksum_ipv6_raw(s.octets(), d.octets(), payload).ok()
            }
            _ => None,
        };
        let udp_checksum = match udp.checksum() {
            0 => UdpChecksum::Absent,
            checksum if Some(checksum) == expected => UdpChecksum::Good,
            _ => UdpChecksum::Bad,
        };
        let macs = match &sliced.link {
            Some(LinkSlice::Ethernet2(link)) => Some((link.source(), link.destination())),
            _ => None,
        };
        Ok(Content::Udp(Datagram {
            macs,
            source: SocketAddr::new(source_ip, udp.source_port()),
            destination: SocketAddr::new(destination_ip, udp.destination_port()),
            ttl,
            ipv4,
            udp_checksum,
            payload,
            missing,
        }))
    }
}

/// The headers of a captured frame; `None` for an unknown link type.
///
/// # Errors
/// The frame ends within its headers.
pub fn sliced(link: LinkType, frame: &[u8]) -> Result<Option<LaxSlicedPacket<'_>>, ParseError> {
    let header_len = |need| ParseError::Length { what: "link header", need, got: frame.len() };
    let by_ether_type = |at: usize, len: usize| {
        let kind = frame.get(at..at + 2).ok_or_else(|| header_len(len))?;
        let rest = frame.get(len..).ok_or_else(|| header_len(len))?;
        let kind = EtherType(u16::from_be_bytes([kind[0], kind[1]]));
        Ok(LaxSlicedPacket::from_ether_type(kind, rest))
    };
    let bare_ip = |at: usize| {
        let packet = frame.get(at..).ok_or_else(|| header_len(at))?;
        LaxSlicedPacket::from_ip(packet).map_err(|_| ParseError::Length {
            what: "IP header",
            need: IP_HEADER_LEN,
            got: packet.len(),
        })
    };
    let sliced = match link {
        LinkType::ETHERNET => LaxSlicedPacket::from_ethernet(frame).map_err(|_| header_len(14))?,
        LinkType::LINUX_SLL => by_ether_type(14, 16)?,
        LinkType::LINUX_SLL2 => by_ether_type(0, 20)?,
        LinkType::RAW | LinkType::RAW_BSD | LinkType::IPV4 | LinkType::IPV6 => bare_ip(0)?,
        LinkType::NULL | LinkType::LOOP => bare_ip(4)?,
        _ => return Ok(None),
    };
    Ok(Some(sliced))
}

/// [`Content::Other`] with the protocol of a frame without an IP header; an error if the IP header is incomplete.
fn without_ip<'a>(sliced: &LaxSlicedPacket<'a>) -> Result<Content<'a>, ParseError> {
    if sliced.stop_err.is_some() {
        let got = sliced.ether_payload().map_or(0, |payload| payload.payload.len());
        return Err(ParseError::Length { what: "IP header", need: IP_HEADER_LEN, got });
    }
    Ok(Content::Other(match sliced.ether_payload().map(|payload| payload.ether_type) {
        Some(EtherType::ARP) => "ARP",
        Some(EtherType(0x88cc)) => "LLDP",
        Some(EtherType(0x88f7)) => "PTP",
        Some(EtherType(kind)) if kind < 0x600 => "LLC",
        _ => "no IP",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: FrameHeader = FrameHeader {
        source_mac: [0x60, 0x76, 0x88, 1, 2, 3],
        destination_mac: [0xff; 6],
        source_ip: Ipv4Addr::new(192, 168, 3, 43),
        destination_ip: Ipv4Addr::new(192, 168, 3, 255),
        source_port: 443,
        destination_port: 2368,
        ttl: 255,
        dont_fragment: true,
        identification: 0,
        udp_checksum: false,
    };

    #[test]
    fn a_data_packet_makes_a_frame_of_1248_bytes() {
        let mut frame = vec![0xa5; 3];
        HEADER.emit(&[0; 1206], &mut frame).unwrap();
        assert_eq!(frame.len(), 1248);
        assert_eq!(frame[14..24], [0x45, 0, 0x04, 0xd2, 0, 0, 0x40, 0, 255, 17]);
        assert_eq!(frame[34..42], [0x01, 0xbb, 0x09, 0x40, 0x04, 0xbe, 0, 0]);
    }

    #[test]
    fn a_payload_beyond_a_datagram_is_refused() {
        let mut frame = Vec::new();
        HEADER.emit(&[0; MAX_PAYLOAD_LEN], &mut frame).unwrap();
        assert!(HEADER.emit(&[0; MAX_PAYLOAD_LEN + 1], &mut frame).is_err());
    }

    #[test]
    fn the_other_link_types_are_taken() {
        let mut frame = Vec::new();
        HEADER.emit(b"payload", &mut frame).unwrap();
        let ip = &frame[14..];
        let with = |head: &[u8]| [head, ip].concat();
        let mut sll = [0; 16];
        sll[14] = 8;
        let mut sll2 = [0; 20];
        sll2[0] = 8;
        let mut vlan = frame[..12].to_vec();
        vlan.extend_from_slice(&[0x81, 0, 0, 7, 8, 0]);
        vlan.extend_from_slice(ip);
        let mut padded = frame.clone();
        padded.extend_from_slice(&[0; 20]);
        for (link, bytes) in [
            (LinkType::ETHERNET, frame.clone()),
            (LinkType::ETHERNET, vlan),
            (LinkType::ETHERNET, padded),
            (LinkType::RAW, ip.to_vec()),
            (LinkType::IPV4, ip.to_vec()),
            (LinkType::NULL, with(&[2, 0, 0, 0])),
            (LinkType::LOOP, with(&[0, 0, 0, 2])),
            (LinkType::LINUX_SLL, with(&sll)),
            (LinkType::LINUX_SLL2, with(&sll2)),
        ] {
            let Ok(Content::Udp(datagram)) = Content::find(link, &bytes) else {
                panic!("{link:?}: no datagram");
            };
            assert_eq!(datagram.payload, b"payload", "{link:?}");
            assert_eq!(datagram.destination, "192.168.3.255:2368".parse().unwrap());
            let (id, ok) = (0, true);
            let fields = Ipv4Fields { dont_fragment: true, identification: id, checksum_ok: ok };
            assert_eq!((datagram.ttl, datagram.ipv4), (255, Some(fields)));
        }
    }

    #[test]
    fn what_emit_would_not_write_is_refused() {
        let mut frame = Vec::new();
        HEADER.emit(b"payload", &mut frame).unwrap();
        assert_eq!(FrameHeader::parse(&frame).unwrap(), (HEADER, b"payload".as_slice()));
        for cut in 0..frame.len() {
            assert!(FrameHeader::parse(&frame[..cut]).is_err(), "cut at {cut}");
        }
        let mut padded = frame.clone();
        padded.push(0);
        assert!(FrameHeader::parse(&padded).is_err());
        for at in [15, 24, 25] {
            let mut broken = frame.clone();
            broken[at] ^= 4;
            assert!(FrameHeader::parse(&broken).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_wrong_checksum_is_told() {
        let header = FrameHeader { udp_checksum: true, ..HEADER };
        let mut frame = Vec::new();
        header.emit(b"payload", &mut frame).unwrap();
        let state = |frame: &[u8]| match Content::find(LinkType::ETHERNET, frame) {
            Ok(Content::Udp(datagram)) => datagram.udp_checksum,
            other => panic!("{other:?}"),
        };
        assert_eq!(state(&frame), UdpChecksum::Good);
        *frame.last_mut().unwrap() ^= 1;
        assert_eq!(state(&frame), UdpChecksum::Bad);
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(
            macs: ([u8; 6], [u8; 6]),
            ips: ([u8; 4], [u8; 4]),
            ports: (u16, u16),
            ip: (u8, bool, u16),
            udp_checksum: bool,
            payload in prop::collection::vec(any::<u8>(), 0..1500),
        ) {
            let header = FrameHeader {
                source_mac: macs.0,
                destination_mac: macs.1,
                source_ip: ips.0.into(),
                destination_ip: ips.1.into(),
                source_port: ports.0,
                destination_port: ports.1,
                ttl: ip.0,
                dont_fragment: ip.1,
                identification: ip.2,
                udp_checksum,
            };
            let mut frame = Vec::new();
            header.emit(&payload, &mut frame).unwrap();
            prop_assert_eq!(FrameHeader::parse(&frame).unwrap(), (header, payload.as_slice()));
        }
    }
}
