//! `--truth`: a file, or an address for poses.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// Destination of the ground truth.
#[derive(Clone, Debug)]
pub enum TruthTarget {
    /// A file with the complete ground truth.
    File(PathBuf),
    /// An address that gets poses as datagrams.
    Poses(SocketAddr),
}

impl FromStr for TruthTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(address) = text.strip_prefix("udp:") else {
            return Ok(Self::File(text.into()));
        };
        let found =
            address.to_socket_addrs().map_err(|error| format!("{error}; write udp:HOST:PORT"));
        found?.next().map(Self::Poses).ok_or_else(|| "the host name has no address".to_owned())
    }
}
