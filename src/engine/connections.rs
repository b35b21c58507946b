//! Opens the connections of a device to its hosts: its link and its controls.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::refusal::Refusal;
use super::{SetupError, launch};
use crate::config::profile::network::PortIndex;
use crate::config::rig::{
    ControlConfig, DeviceConfig, EngineConfig, LineConfig, LinkConfig, StampChoice,
};
use crate::links::card_clock::CardClock;
use crate::links::http::HttpServer;
use crate::links::ptp::PtpLink;
use crate::links::pty::PtyLink;
use crate::links::serial::SerialLink;
use crate::links::tcp::TcpLink;
use crate::links::tcp_server::TcpServer;
use crate::links::udp::UdpLink;
use crate::links::udp_server::{Bound, UdpServer};
use crate::links::{ByteLink, interface};
use crate::wire::line::LineSettings;
use crate::wire::port::{Peer, UdpOptions};

/// Connections of one device to its hosts. Other threads receive from them while the sender sends.
pub struct Connections {
    /// Name of the device for messages; may be empty.
    pub device: String,
    /// Link for the device's output.
    pub link: Link,
    /// Further addresses at which hosts reach the device.
    pub controls: Vec<ControlLink>,
    /// Link for PTP; `None` if the device does not use PTP or has no address of its own.
    pub ptp: Option<PtpLink>,
    /// Sockets that [`Connections::open_at`] has opened and the sender has not taken over yet.
    pub(super) opened: Mutex<Option<Opened>>,
    /// Whether the device has already failed to move to an address that a host requested. Only the first failure is
    /// logged as a warning.
    pub(super) has_stayed: AtomicBool,
}

/// Sockets at another address: one for each port of the link, by [`PortIndex`]; for each control a socket, or `None` if
/// the control does not move; and the link for PTP.
pub(super) struct Opened {
    links: Vec<UdpLink>,
    controls: Vec<Option<Bound>>,
    ptp: Option<PtpLink>,
}

/// An open link for a device's output.
pub enum Link {
    /// Datagrams: one socket for each of the device's ports, by [`PortIndex`].
    Datagrams(Vec<UdpLink>),
    /// A serial line.
    Line(Arc<dyn ByteLink>),
    /// A server for several hosts.
    Server(TcpServer),
}

/// An additional input of a device, opened for hosts.
pub enum ControlLink {
    /// A web interface.
    Web(HttpServer),
    /// A TCP port for commands.
    Commands(TcpServer),
    /// A UDP port for commands.
    Datagrams(UdpServer),
    /// A serial line.
    Line(Arc<dyn ByteLink>),
}

impl Connections {
    /// Opens the connections of a device. A serial port starts with the settings `line`. `engine` determines how
    /// datagrams are sent and timestamped.
    pub fn open(
        device: &DeviceConfig,
        line: LineSettings,
        engine: &EngineConfig,
    ) -> Result<Self, SetupError> {
        let name = || device.name.clone();
        let link = open_link(device, line, engine)
            .map_err(|error| SetupError::Link { device: name(), error })?;
        let sockets = match &link {
            Link::Datagrams(sockets) => sockets.as_slice(),
            Link::Line(_) | Link::Server(_) => &[],
        };
        let controls = device.controls.iter().map(|control| open_control(control, sockets, line));
        let controls = controls
            .collect::<io::Result<_>>()
            .map_err(|error| SetupError::Control { device: name(), error })?;
        let ptp = device.ptp_address().map(|address| {
            let interface = device.link.udp().and_then(|udp| udp.interface.as_deref());
            let link = PtpLink::open(address, interface, true)?;
            // PTP over Ethernet requires a right when the link opens. Opening it here reports a missing right at the
            // start.
            link.carry_by(device.profile.family.ptp_transport(&*device.settings));
            link.open_carrier().map(|()| link)
        });
        let ptp = ptp.transpose().map_err(|error| SetupError::Link { device: name(), error })?;
        Ok(Self {
            device: name(),
            link,
            controls,
            ptp,
            opened: Mutex::default(),
            has_stayed: AtomicBool::default(),
        })
    }

    /// Opens sockets for the device's datagrams and for PTP at `address`, for [`Connections::take_over`]. A control for
    /// datagrams that is bound to one address moves too. All other controls stay, as do links without datagrams.
    ///
    /// # Errors
    /// This machine does not have the address, other programs use the ports, or the sender has not taken over earlier
    /// sockets.
    pub fn open_at(&self, address: Ipv4Addr) -> io::Result<()> {
        if self.opened.lock().expect("no holder panics").is_some() {
            let text = "the device's earlier change of address is not complete";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        let ip = IpAddr::V4(address);
        let mut links: Vec<UdpLink> = Vec::new();
        for link in self.sockets() {
            let opened = link.opened_at(ip, links.first())?;
            links.push(opened);
        }
        let controls = self.controls.iter().map(|control| match control {
            ControlLink::Datagrams(server) if !server.address().ip().is_unspecified() => {
                server.opened_at(ip, &links).map(Some)
            }
            _ => Ok(None),
        });
        let controls = controls.collect::<io::Result<_>>()?;
        let ptp = self.ptp.as_ref().map(|ptp| ptp.opened_at(address)).transpose()?;
        *self.opened.lock().expect("no holder panics") = Some(Opened { links, controls, ptp });
        Ok(())
    }

    /// Closes sockets that [`Connections::open_at`] has opened and that are not taken over yet.
    pub fn give_up_opened(&self) {
        *self.opened.lock().expect("no holder panics") = None;
    }

    /// Moves the device to the sockets that [`Connections::open_at`] has opened. The sender calls this while it sends
    /// nothing.
    pub fn take_over(&self) {
        let Some(opened) = self.opened.lock().expect("no holder panics").take() else { return };
        for (link, other) in self.sockets().iter().zip(opened.links) {
            if let Err(error) = link.take_over(other) {
                tracing::warn!("{}: a setting of its new socket failed: {error}", self.device);
            }
        }
        for (control, other) in self.controls.iter().zip(opened.controls) {
            if let (ControlLink::Datagrams(server), Some(other)) = (control, other) {
                server.take_over(other);
            }
        }
        if let (Some(ptp), Some(other)) = (&self.ptp, opened.ptp) {
            ptp.take_over(other);
        }
    }

    /// Message about a packet that `port` did not send: the reason, and the remedy if there is one.
    pub fn explain(&self, port: PortIndex, refusal: Refusal) -> String {
        let error = refusal.error();
        match self.sockets().get(port.place()) {
            Some(socket) => socket.explain(&error),
            None => format!("cannot send on {}: {error}", self.link.describe()),
        }
    }

    /// Sockets of the device's ports, by [`PortIndex`]; empty for a device without datagrams.
    pub fn sockets(&self) -> &[UdpLink] {
        match &self.link {
            Link::Datagrams(sockets) => sockets,
            Link::Line(_) | Link::Server(_) => &[],
        }
    }

    /// Serial port of the device: its link, or else one of its controls; `None` without a serial port.
    pub fn serial_port(&self) -> Option<&dyn ByteLink> {
        match &self.link {
            Link::Line(line) => Some(line.as_ref()),
            Link::Datagrams(_) | Link::Server(_) => {
                self.controls.iter().find_map(|control| match control {
                    ControlLink::Line(line) => Some(line.as_ref()),
                    ControlLink::Web(_) | ControlLink::Commands(_) | ControlLink::Datagrams(_) => {
                        None
                    }
                })
            }
        }
    }

    /// TCP servers of the device: its link and its command ports.
    fn servers(&self) -> impl Iterator<Item = &TcpServer> {
        let commands = self.controls.iter().filter_map(|control| match control {
            ControlLink::Commands(server) => Some(server),
            ControlLink::Web(_) | ControlLink::Datagrams(_) | ControlLink::Line(_) => None,
        });
        let link = match &self.link {
            Link::Server(server) => Some(server),
            Link::Datagrams(_) | Link::Line(_) => None,
        };
        link.into_iter().chain(commands)
    }

    /// Addresses of the hosts that are connected by TCP.
    pub fn hosts(&self) -> Vec<SocketAddr> {
        self.servers().flat_map(TcpServer::connected).collect()
    }

    /// Closes the TCP connection to `peer`, a host of the link or of a command port.
    pub fn disconnect(&self, peer: Peer) {
        if let Some(server) = self.servers().find(|server| server.has_port(peer.port)) {
            server.disconnect(peer);
        }
    }

    /// Sends an answer to `peer`; returns `false` if `peer` is not a host of a control.
    pub fn answer(&self, peer: Peer, bytes: &[u8]) -> bool {
        self.controls.iter().any(|control| match control {
            ControlLink::Commands(server) if server.has_port(peer.port) => {
                server.send_to(peer, bytes);
                true
            }
            ControlLink::Datagrams(server) if server.has_port(peer.port) => {
                server.send_to(peer, bytes);
                true
            }
            _ => false,
        })
    }
}

impl From<Link> for Connections {
    /// Connections with this link and no controls, without a device name.
    fn from(link: Link) -> Self {
        Self {
            device: String::new(),
            link,
            controls: Vec::new(),
            ptp: None,
            opened: Mutex::default(),
            has_stayed: AtomicBool::default(),
        }
    }
}

impl Link {
    /// Text for the link in the status view.
    pub fn describe(&self) -> String {
        match self {
            Self::Datagrams(ports) => {
                ports.first().map_or_else(String::new, |data| format!("udp {}", data.to()))
            }
            Self::Line(line) => line.describe(),
            Self::Server(server) => server.describe(),
        }
    }
}

impl ControlLink {
    /// Text for the control in the status view.
    pub fn describe(&self) -> String {
        match self {
            Self::Web(server) => format!("http://{}", server.address()),
            Self::Commands(server) => format!("commands by {}", server.describe()),
            Self::Datagrams(server) => format!("commands by {}", server.describe()),
            Self::Line(line) => line.describe(),
        }
    }
}

fn open_control(
    control: &ControlConfig,
    sockets: &[UdpLink],
    line: LineSettings,
) -> io::Result<ControlLink> {
    match control {
        ControlConfig::Web(address) => HttpServer::listen(*address).map(ControlLink::Web),
        ControlConfig::Commands { address, port } => {
            TcpServer::listen_as(*port, &[*address]).map(ControlLink::Commands)
        }
        ControlConfig::Datagrams { address, port, hears_broadcasts, answers_all } => {
            let own = sockets.iter().find(|own| own.local_addr().is_ok_and(|at| at == *address));
            let server = match own {
                Some(own) => UdpServer::listen_beside(own, *port, *address, *hears_broadcasts),
                None => UdpServer::listen_as(*port, *address, *hears_broadcasts),
            };
            server.map(|server| server.answering_all(*answers_all)).map(ControlLink::Datagrams)
        }
        ControlConfig::Line(config) => open_line(config, line).map(ControlLink::Line),
    }
}

fn open_link(device: &DeviceConfig, line: LineSettings, engine: &EngineConfig) -> io::Result<Link> {
    match &device.link {
        LinkConfig::Udp { udp, .. } => {
            let mut ports = open_ports(device, udp)?;
            prepare_sending(&mut ports, udp.interface.as_deref(), engine)?;
            Ok(Link::Datagrams(ports))
        }
        LinkConfig::Line(config) => open_line(config, line).map(Link::Line),
        LinkConfig::TcpServer(addresses) => TcpServer::listen(addresses).map(Link::Server),
    }
}

/// Sets up launch times and timestamps of the network card for a device's `ports`, if `engine` requests them.
/// `interface` is the network interface that sends; default: that of the route to the host.
pub fn prepare_sending(
    ports: &mut [UdpLink],
    interface: Option<&str>,
    engine: &EngineConfig,
) -> io::Result<()> {
    let is_by_card = engine.stamps == StampChoice::Card;
    let Some(to) = ports.first().map(UdpLink::to).filter(|_| engine.launch_time || is_by_card)
    else {
        return Ok(());
    };
    let interface = match interface {
        Some(name) => name.to_owned(),
        None => interface::towards(to)?,
    };
    if engine.launch_time {
        launch::prepare(ports, &interface)?;
    }
    if is_by_card {
        let clock = CardClock::open(&interface).map_err(|error| {
            let text =
                format!("timestamps of the network card (`engine.stamps`, `--stamps`): {error}");
            io::Error::new(error.kind(), text)
        })?;
        let clock = Arc::new(clock);
        ports.iter_mut().for_each(|port| port.set_card_clock(Arc::clone(&clock)));
    }
    Ok(())
}

fn open_line(config: &LineConfig, line: LineSettings) -> io::Result<Arc<dyn ByteLink>> {
    Ok(match config {
        LineConfig::Pty(options) => Arc::new(PtyLink::open(options.clone(), line)?),
        LineConfig::Serial(options) => Arc::new(SerialLink::open(options.clone(), line)?),
        LineConfig::Tcp(address) => Arc::new(TcpLink::listen(*address)?),
    })
}

/// Opens a socket for each port of a device. Port numbers that the rig does not set come from the profile.
fn open_ports(device: &DeviceConfig, udp: &UdpOptions) -> io::Result<Vec<UdpLink>> {
    let host = device.link.datagram_host().ok_or(io::ErrorKind::InvalidInput)?;
    let mut links: Vec<UdpLink> = Vec::new();
    for (place, port) in device.profile.ports().iter().enumerate() {
        let to = host.of(PortIndex(place as u8)).ok_or(io::ErrorKind::InvalidInput)?;
        let mut from = udp.from;
        // If the rig does not set the source port of the first socket, the system also chooses the others.
        if let Some(from) = from.as_mut().filter(|from| place > 0 && from.port() != 0) {
            from.set_port(port.frame.source_port);
        }
        let options = UdpOptions {
            to,
            from,
            ttl: udp.ttl.or(Some(port.frame.ttl)),
            dont_fragment: Some(port.frame.dont_fragment),
            ..udp.clone()
        };
        let is_shared = place > 0 && from.is_some_and(|from| from.port() != 0) && from == udp.from;
        links.push(match links.first().filter(|_| is_shared) {
            Some(first) => UdpLink::open_beside(first, &options)?,
            None => UdpLink::open(&options)?,
        });
    }
    Ok(links)
}
