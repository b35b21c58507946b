//! Data types for the settings of a device's ports, and for the hosts connected to them.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// A host that is connected to one of a device's TCP ports, or that sends commands to one of its UDP ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Number of the connection, unique for the device.
    pub connection: u64,
    /// Index of the device's port: the ports of the link come first, then the ports of the control interfaces.
    pub port: u8,
    /// The host's address.
    pub from: IpAddr,
}

/// Settings of a pseudo-terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtyOptions {
    /// Path of the symbolic link to the terminal; Menura creates the link.
    pub path: PathBuf,
    /// Whether a host with a different bit rate receives garbled bytes. If false, bit rates have no effect.
    pub strict_rate: bool,
    /// Pairs `[host, device]` of bit rates that count as equal. Some drivers set a rate by a custom divisor and leave
    /// another rate in the terminal's settings.
    pub rate_aliases: Vec<[u32; 2]>,
}

/// Modem line with the PPS. It is wired to the host's DCD, where the kernel and gpsd expect the PPS.
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
    /// Path of the port's device file, such as `/dev/ttyUSB0`.
    pub port: PathBuf,
    /// Line that carries the PPS; `None` if no line is wired.
    pub pulse_line: Option<PulseLine>,
}

/// Settings of a UDP socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpOptions {
    /// Destination.
    pub to: SocketAddr,
    /// Source address and port; `None`: any.
    pub from: Option<SocketAddr>,
    /// Network interface for sending; `None`: selected by the routing table.
    pub interface: Option<String>,
    /// IP time to live (hop limit), also of multicast. `None`: a rig uses the profile's value, a socket the operating
    /// system's default.
    pub ttl: Option<u8>,
    /// IPv4 don't-fragment flag. `None`: a rig uses the profile's value, a socket the operating system's default.
    pub dont_fragment: Option<bool>,
    /// Whether broadcast destinations are allowed. They are always allowed if `to` ends in 255.
    pub broadcast: bool,
}

impl From<SocketAddr> for UdpOptions {
    fn from(to: SocketAddr) -> Self {
        Self { to, from: None, interface: None, ttl: None, dont_fragment: None, broadcast: false }
    }
}
