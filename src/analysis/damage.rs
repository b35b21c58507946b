//! Damaged or truncated parts of a capture.

use std::path::Path;

use super::capture::Captured;
use crate::wire::ethernet::{Content, Datagram, UdpChecksum};

/// Counts of damaged frames and datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Frames that end within their headers, or whose headers contradict each other.
    pub broken: u64,
    /// Datagrams that were captured incompletely.
    pub cut_short: u64,
    /// Datagrams in IPv4 packets with a wrong header checksum.
    pub ip_checksums: u64,
    /// Completely captured datagrams with a wrong UDP checksum.
    pub udp_checksums: u64,
}

impl Damage {
    /// Returns the datagram in a frame, and counts damage. `None` if the frame is damaged or has no datagram, or if the
    /// datagram was captured incompletely.
    pub fn datagram<'a>(&mut self, captured: &Captured<'a>) -> Option<Datagram<'a>> {
        let datagram = match Content::find(captured.link, captured.frame) {
            Ok(Content::Udp(datagram)) => datagram,
            Ok(Content::Other(_)) => return None,
            Err(_) => {
                self.broken += 1;
                return None;
            }
        };
        if datagram.missing > 0 {
            self.cut_short += 1;
            return None;
        }
        self.count_checksums(&datagram);
        Some(datagram)
    }

    /// Counts the IP header checksum and the UDP checksum of a completely captured datagram if they are wrong.
    pub fn count_checksums(&mut self, datagram: &Datagram<'_>) {
        self.ip_checksums += u64::from(datagram.ipv4.is_some_and(|fields| !fields.checksum_ok));
        self.udp_checksums += u64::from(datagram.udp_checksum == UdpChecksum::Bad);
    }

    /// Logs a warning for each kind of damage in the capture at `path`. `others` is logged as one more warning: a line
    /// about ignored messages.
    pub fn warn(&self, path: &Path, others: Option<String>) {
        for line in self.told().into_iter().chain(others) {
            tracing::warn!("{}: {line}", path.display());
        }
    }

    /// One line for each kind of damage that occurred.
    pub fn told(&self) -> Vec<String> {
        let offload =
            "used; checksum offload by the network card causes this in captures made on the sender";
        let kinds = [
            (self.broken, "frames with broken headers were left out".to_owned()),
            (self.cut_short, "datagrams are cut short and were left out".to_owned()),
            (
                self.ip_checksums,
                format!("datagrams have a wrong IP header checksum and were {offload}"),
            ),
            (self.udp_checksums, format!("datagrams have a wrong UDP checksum and were {offload}")),
        ];
        let there = kinds.into_iter().filter(|(count, _)| *count > 0);
        there.map(|(count, text)| format!("{count} {text}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ethernet::{FrameHeader, LinkType};

    #[test]
    fn what_is_damaged_is_counted() {
        let header = FrameHeader {
            source_mac: [2; 6],
            destination_mac: [4; 6],
            source_ip: [10, 0, 0, 1].into(),
            destination_ip: [10, 0, 0, 2].into(),
            source_port: 1,
            destination_port: 2,
            ttl: 64,
            dont_fragment: false,
            identification: 0,
            udp_checksum: true,
        };
        let mut frame = Vec::new();
        header.emit(b"payload", &mut frame).unwrap();
        let seen = |frame: &[u8]| {
            let mut damage = Damage::default();
            let captured = Captured { number: 1, unix_ns: 0, link: LinkType::ETHERNET, frame };
            let is_found = damage.datagram(&captured).is_some();
            (is_found, damage)
        };
        let flipped = |at: usize| {
            let mut frame = frame.clone();
            frame[at] ^= 1;
            seen(&frame)
        };
        let none = Damage::default();
        assert_eq!(seen(&frame), (true, none));
        let last = frame.len() - 1;
        assert_eq!(flipped(last), (true, Damage { udp_checksums: 1, ..none }));
        // Only the IP header checksum covers the time to live.
        assert_eq!(flipped(22), (true, Damage { ip_checksums: 1, ..none }));
        assert_eq!(seen(&frame[..last]), (false, Damage { cut_short: 1, ..none }));
        assert_eq!(seen(&frame[..20]), (false, Damage { broken: 1, ..none }));
        let all = Damage { broken: 1, cut_short: 2, ip_checksums: 3, udp_checksums: 4 };
        assert_eq!(all.told().len(), 4);
        assert!(none.told().is_empty());
    }
}
