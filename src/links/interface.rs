//! Finds the network interface of a route.

use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Name of the network interface by which datagrams to `to` leave, according to the routing table.
///
/// # Errors
/// The system has no route to `to`, or no interface has the route's source address.
pub fn towards(to: SocketAddr) -> io::Result<String> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let probe = UdpSocket::bind(any)?;
    probe.set_broadcast(true)?;
    probe.connect(to)?;
    let ours = probe.local_addr()?.ip();
    let is_ours = |address: &nix::ifaddrs::InterfaceAddress| {
        address.address.as_ref().is_some_and(|storage| {
            storage.as_sockaddr_in().is_some_and(|a| ours == a.ip())
                || storage.as_sockaddr_in6().is_some_and(|a| ours == a.ip())
        })
    };
    nix::ifaddrs::getifaddrs()?
        .find(is_ours)
        .map(|address| address.interface_name)
        .ok_or_else(|| io::Error::other(format!("no network interface has the address {ours}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_is_found() {
        assert_eq!(towards("127.0.0.1:2368".parse().unwrap()).unwrap(), "lo");
    }
}
