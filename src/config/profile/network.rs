//! Ports from which a product sends datagrams, and the Ethernet, IP and UDP headers of recorded frames.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::toml::reader::{Field, Limit, TableReader};
use crate::wire::ethernet::FrameHeader;

/// Index of a device's port in the product's list of [`DatagramPort`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortIndex(pub u8);

impl PortIndex {
    /// Index of the first port, whose destination is `link.udp.to`.
    pub const DATA: Self = Self(0);

    /// The index as a `usize`.
    pub fn place(self) -> usize {
        usize::from(self.0)
    }
}

/// A port from which a product sends datagrams.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramPort {
    /// Name of the port in logs and reports.
    pub name: &'static str,
    /// Key of a rig's `link.udp` that changes the destination port; `None` for the first port.
    pub rig_key: Option<PortKey>,
    /// Headers of recorded frames. A live link uses their ports, time to live and don't-fragment flag if the rig does
    /// not set these.
    pub frame: FrameHeader,
    /// Whether the IP identification of recorded frames counts up, starting with that of `frame`.
    pub counts_frames: bool,
}

/// Key of a rig's `link.udp` that changes the destination port of a [`DatagramPort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortKey {
    /// Name of the key.
    pub name: &'static str,
    /// Documentation of the key.
    pub meaning: &'static str,
}

impl PortKey {
    /// Key of the destination port of IMU packets.
    pub const IMU: Self =
        Self { name: "imu_port", meaning: "The destination port of IMU packets." };
    /// Key of the destination port of a Livox's pushes, which report the unit's state.
    pub const STATE: Self = Self {
        name: "state_port",
        meaning: "The destination port of pushes, which report the unit's state.",
    };
}

impl DatagramPort {
    /// The first datagram port of a product. Frames from this port have the headers `frame`.
    pub fn data(frame: &FrameHeader) -> Self {
        Self { name: "data", rig_key: None, frame: frame.clone(), counts_frames: false }
    }
}

/// Destination of a device's datagrams: one host, with a destination port for each of the device's ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAddress {
    /// IP address of the host.
    pub ip: IpAddr,
    /// Destination port for each of the device's ports, indexed by [`PortIndex`].
    pub ports: Vec<u16>,
}

impl HostAddress {
    /// Destination of a port's datagrams; `None` if the device has no such port.
    pub fn of(&self, port: PortIndex) -> Option<SocketAddr> {
        self.ports.get(port.place()).map(|number| SocketAddr::new(self.ip, *number))
    }
}

/// Limits of a UDP port.
pub fn port() -> Limit<i128> {
    Limit::new(1..=65535, "", "UDP")
}

/// Reads `[network]` at the root of a profile; `None` after an error.
pub fn profile_network(root: &mut TableReader<'_>) -> Option<FrameHeader> {
    let says = "Addresses and header fields of recorded frames. A run sends through the host's \
        network stack.";
    root.required("network").meaning(says).table("[network]").and_then(network)
}

/// Reads `[network]`: addresses and header fields of a product's recorded frames, from captures. `None` after an error.
pub fn network(mut table: TableReader<'_>) -> Option<FrameHeader> {
    let mut key = |key, says| table.required(key).meaning(says);
    let source_ip = ipv4(&key("source_ip", "Factory address of the unit."));
    let destination_ip = ipv4(&key("destination_ip", "Factory address of the destination host."));
    let source_port = key("source_port", "UDP source port of datagrams.").integer(&port());
    let destination_port =
        key("destination_port", "UDP destination port of datagrams.").integer(&port());
    let source_mac = mac(&key("source_mac", "The unit's MAC address."));
    let destination_mac = mac(&key("destination_mac", "MAC address of the destination host."));
    let ttl = key("ttl", "The IP time to live.").integer(&Limit::new(1..=255, "", "IPv4"));
    let dont_fragment = key("dont_fragment", "The IP don't-fragment flag.").boolean();
    let id_limit = Limit::new(0..=65535, "", "IPv4");
    let says = "The IP identification, the same in every packet.";
    let identification = key("identification", says).integer(&id_limit);
    let says = "Compute the UDP checksum; it is zero otherwise.";
    let udp_checksum = key("udp_checksum", says).boolean();
    table.finish();
    Some(FrameHeader {
        source_ip: source_ip?,
        destination_ip: destination_ip?,
        source_port: source_port?,
        destination_port: destination_port?,
        source_mac: source_mac?,
        destination_mac: destination_mac?,
        ttl: ttl?,
        dont_fragment: dont_fragment?,
        identification: identification?,
        udp_checksum: udp_checksum?,
    })
}

fn ipv4(field: &Field<'_>) -> Option<Ipv4Addr> {
    let expected = "an IPv4 address such as \"192.168.3.43\"";
    let text = field.text(expected)?;
    let address = text.value.parse().ok();
    if address.is_none() {
        let label = format!("allowed: {expected}");
        field.fault(text.place.fault("not an IPv4 address", label));
    }
    address
}

fn mac(field: &Field<'_>) -> Option<[u8; 6]> {
    let expected = "six bytes in hex such as \"60:76:88:10:20:30\"";
    let text = field.text(expected)?;
    let byte = |part: &str| {
        let is_byte = part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
        is_byte.then(|| u8::from_str_radix(part, 16).ok()).flatten()
    };
    let bytes: Option<Vec<u8>> = text.value.split(':').map(byte).collect();
    let address = bytes.and_then(|bytes| bytes.try_into().ok());
    if address.is_none() {
        let label = format!("allowed: {expected}");
        field.fault(text.place.fault("not a MAC address", label));
    }
    address
}
