//! Resources that only one device of a rig can use: names of pseudo-terminals, serial ports, network ports. Conflicts
//! are reported when the rig is read, before anything starts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Component, Path, PathBuf};

use crate::toml::diagnostic::{Diagnostic, Place};
use crate::toml::reader::Faults;

const ONE_SOCKET: &str = "limit from Linux, udp(7): a port of an address belongs to one socket";

/// Resources claimed so far.
pub struct Claims<'f> {
    faults: &'f Faults,
    paths: RefCell<HashMap<(PathKind, PathBuf), Place>>,
    /// Users of each port, in the order in which they claimed it.
    ports: RefCell<HashMap<(Protocol, u16), Vec<User>>>,
}

/// What a path in the rig names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PathKind {
    /// A symbolic link to a pseudo-terminal.
    PtyLink,
    /// A serial port.
    SerialPort,
}

/// Protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

/// User of a port.
#[derive(Clone)]
struct User {
    /// Network interface to which the socket is bound; `None`: it is not bound to an interface.
    interface: Option<String>,
    address: SocketAddr,
    place: Place,
}

impl<'f> Claims<'f> {
    /// An empty set of claims. Conflicts are reported to `faults`.
    pub(crate) fn new(faults: &'f Faults) -> Self {
        Self { faults, paths: RefCell::default(), ports: RefCell::default() }
    }

    fn tell(&self, fault: Diagnostic) {
        self.faults.borrow_mut().push(fault);
    }

    /// Claims the serial port at `path`, or the path of a pseudo-terminal's link; `place` is the position of the path
    /// in the rig file.
    pub(crate) fn path(&self, kind: PathKind, path: &Path, place: &Place) {
        let first = self.paths.borrow_mut().insert((kind, true_path(kind, path)), place.clone());
        let Some(first) = first else { return };
        let (title, origin) = match kind {
            PathKind::PtyLink => (
                "two pseudo-terminals cannot have one link",
                "the file system: a path names one pseudo-terminal",
            ),
            PathKind::SerialPort => {
                ("two devices cannot use one serial port", "RS-232: a line connects two ends")
            }
        };
        let fault = place.fault(title, "again here").related(&first, "first here");
        self.tell(fault.note(format!("limit from {origin}")));
    }

    /// Claims a port that accepts connections.
    pub(crate) fn tcp(&self, address: SocketAddr, place: &Place) {
        if let Some(fault) = self.port(Protocol::Tcp, address, None, place) {
            self.tell(
                fault.note("limit from Linux, tcp(7): a port of an address has one listener"),
            );
        }
    }

    /// Claims a port that sends or receives datagrams.
    pub(crate) fn udp(&self, address: SocketAddr, interface: Option<&str>, place: &Place) {
        if let Some(fault) = self.port(Protocol::Udp, address, interface, place) {
            self.tell(fault.note(ONE_SOCKET));
        }
    }

    /// Claims a port that the rig does not name but from which a product sends further datagrams.
    pub(crate) fn further_udp(&self, address: SocketAddr, interface: Option<&str>, place: &Place) {
        if let Some(fault) = self.port(Protocol::Udp, address, interface, place) {
            let port = address.port();
            let why = format!("the product sends its further datagrams from port {port}");
            let help = "give each device an address of its own, or leave `from` out";
            self.tell(fault.note(why).note(ONE_SOCKET).help(help));
        }
    }

    fn port(
        &self,
        protocol: Protocol,
        address: SocketAddr,
        interface: Option<&str>,
        place: &Place,
    ) -> Option<Diagnostic> {
        if address.port() == 0 {
            return None; // the system chooses a free port
        }
        let interface = interface.map(str::to_owned);
        let user = User { interface, address, place: place.clone() };
        let mut ports = self.ports.borrow_mut();
        let users = ports.entry((protocol, address.port())).or_default();
        let first = users.iter().find(|other| user.conflicts_with(other)).cloned();
        users.push(user);
        let first = first?;
        let does = match protocol {
            Protocol::Tcp => "listen at",
            Protocol::Udp => "use",
        };
        let title = if first.address == address {
            format!("two sockets cannot {does} {address}")
        } else {
            let both = format!("{} and {address}", first.address);
            format!("two sockets cannot {does} {both}: one includes the other")
        };
        Some(place.fault(title, "again here").related(&first.place, "first here"))
    }
}

impl User {
    /// Whether both addresses overlap, unless the users are bound to different interfaces.
    fn conflicts_with(&self, other: &Self) -> bool {
        let interfaces = (&self.interface, &other.interface);
        let are_apart = matches!(interfaces, (Some(mine), Some(theirs)) if mine != theirs);
        let [mine, theirs] = [self, other].map(|user| user.address.ip().to_canonical());
        !are_apart && (includes(mine, theirs) || includes(theirs, mine))
    }
}

/// Whether a socket at `address` receives what is sent to `other`. The unspecified address of IPv6 includes all of IPv4.
fn includes(address: IpAddr, other: IpAddr) -> bool {
    address == other || address.is_unspecified() && (address.is_ipv6() || other.is_ipv4())
}

/// Returns one path for all spellings of a path, as far as the operating system can resolve them.
fn true_path(kind: PathKind, path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = match (kind, path.parent(), path.file_name()) {
        // The link itself does not exist yet or belongs to another program.
        (PathKind::PtyLink, Some(folder), Some(name)) => {
            folder.canonicalize().ok().map(|folder| folder.join(name))
        }
        _ => path.canonicalize().ok(),
    };
    known.unwrap_or_else(|| without_detours(&path))
}

/// Removes `..` as if no folder were a symbolic link; used for paths that do not exist.
fn without_detours(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(straight.pop()),
            other => straight.push(other),
        }
    }
    straight
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toml::diagnostic::SourceFile;

    /// Each claim has an interface and an address of port 5.
    #[test]
    fn an_unspecified_address_is_compared_with_every_other() {
        let conflicts = |claimed: &[(&str, &str)]| {
            let faults = Faults::default();
            let claims = Claims::new(&faults);
            for (interface, address) in claimed {
                let address = SocketAddr::new(address.parse().unwrap(), 5);
                let place = Place::new(&SourceFile::new("", "", ""), 0..0);
                claims.udp(address, Some(*interface).filter(|name| !name.is_empty()), &place);
            }
            faults.borrow().len()
        };
        for (claimed, count) in [
            (&[("eth0", "10.0.0.1"), ("eth1", "10.0.0.2"), ("eth1", "0.0.0.0")][..], 1),
            (&[("eth0", "10.0.0.1"), ("eth1", "10.0.0.2"), ("eth2", "0.0.0.0")], 0),
            (&[("eth0", "10.0.0.1"), ("eth1", "fe80::1"), ("eth1", "0.0.0.0")], 0),
            (&[("eth0", "10.0.0.1"), ("eth1", "fe80::1"), ("eth1", "::")], 1),
            (&[("", "::"), ("", "10.0.0.1")], 1),
            (&[("", "0.0.0.0"), ("", "fe80::1")], 0),
            (&[("", "10.0.0.1"), ("", "10.0.0.2"), ("", "10.0.0.1")], 1),
        ] {
            assert_eq!(conflicts(claimed), count, "{claimed:?}");
        }
    }
}
