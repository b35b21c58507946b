//! Ports of a device, and hosts that are connected to them, as values.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// A host that is connected to one of a device's TCP ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Number of the connection among those of the device; no number is used twice.
    pub connection: u64,
    /// Index of the device's TCP port: first the link's ports, then those of the controls.
    pub port: u8,
    /// The host's address.
    pub from: IpAddr,
}

/// Settings of a pseudo-terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtyOptions {
    /// A symbolic link to the terminal is made here.
    pub path: PathBuf,
    /// Whether a host with another rate receives garbled bytes. Otherwise rates have no effect.
    pub strict_rate: bool,
    /// Pairs `[host, device]` of rates that are the same, for drivers that reach a rate by a custom
    /// divisor and leave another one in the terminal's settings.
    pub rate_aliases: Vec<[u32; 2]>,
}

/// Modem line with the PPS, wired to the host's DCD, where the kernel and gpsd expect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PulseLine {
    /// Request to send.
    Rts,
    /// Data terminal ready.
    Dtr,
}

/// Settings of a serial port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialOptions {
    /// Path of the port, such as `/dev/ttyUSB0`.
    pub port: PathBuf,
    /// Carries the pulse per second, where one is wired.
    pub pulse_line: Option<PulseLine>,
}

/// Settings of a socket for datagrams.
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
