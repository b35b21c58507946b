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
        let address = found?.next().ok_or_else(|| "the host name has no address".to_owned())?;
        if address.port() == 0 {
            return Err("no program can receive at port 0; allowed: 1 to 65535".to_owned());
        }
        Ok(Self::Poses(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poses_need_a_port() {
        let target: TruthTarget = "udp:127.0.0.1:7000".parse().unwrap();
        assert!(matches!(target, TruthTarget::Poses(to) if to.port() == 7000));
        assert!("udp:127.0.0.1:0".parse::<TruthTarget>().unwrap_err().contains("port 0"));
    }
}
