//! Ports of a device, and hosts that are connected to them, as values.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// A host that is connected to one of a device's TCP ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Counts the connections of the device; no number is used twice.
    pub connection: u64,
    /// Which of the device's TCP ports it connected to: its link's first, then its controls'.
    pub port: u8,
    /// The host's address.
    pub from: IpAddr,
}

/// How a pseudo-terminal is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtyOptions {
    /// A symbolic link to the terminal is made here.
    pub path: PathBuf,
    /// Whether a host at another rate than the device's hears noise. Otherwise rates do not matter.
    pub strict_rate: bool,
    /// Pairs `[host, device]` of rates that are the same, for drivers that reach a rate by a custom
    /// divisor and leave another one in the terminal's settings.
    pub rate_aliases: Vec<[u32; 2]>,
}

/// The modem line that carries the pulse per second. Wired to the host's DCD, where the kernel and
/// gpsd look for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PulseLine {
    /// Request to send.
    Rts,
    /// Data terminal ready.
    Dtr,
}

/// How a serial port is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialOptions {
    /// The port, such as `/dev/ttyUSB0`.
    pub port: PathBuf,
    /// Carries the pulse per second, where one is wired.
    pub pulse_line: Option<PulseLine>,
}

/// How a socket for datagrams is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpOptions {
    /// Destination.
    pub to: SocketAddr,
    /// Source address and port; any when left out.
    pub from: Option<SocketAddr>,
    /// Network interface to leave by; the routing table's choice when left out.
    pub interface: Option<String>,
    /// IP time to live (hop limit), also of multicast. When left out: in a rig the profile's, of a socket the system's.
    pub ttl: Option<u8>,
    /// IPv4 don't-fragment flag. When left out: in a rig the profile's, of a socket the system's.
    pub dont_fragment: Option<bool>,
    /// Allow broadcast destinations; `to` ending in 255 allows it too.
    pub broadcast: bool,
}

impl From<SocketAddr> for UdpOptions {
    fn from(to: SocketAddr) -> Self {
        Self { to, from: None, interface: None, ttl: None, dont_fragment: None, broadcast: false }
    }
}
