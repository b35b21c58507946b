//! Words for values of headers, in the text and the JSON report.

use crate::wire::ethernet::{LinkType, UdpChecksum};

/// Word for the state of a UDP checksum.
pub fn udp_checksum(state: UdpChecksum) -> &'static str {
    match state {
        UdpChecksum::Absent => "absent",
        UdpChecksum::Good => "good",
        UdpChecksum::Bad => "bad",
    }
}

/// Name of a link type.
pub fn link(link: LinkType) -> String {
    match link {
        LinkType::ETHERNET => "Ethernet".to_owned(),
        LinkType::LINUX_SLL | LinkType::LINUX_SLL2 => "Linux cooked".to_owned(),
        LinkType::NULL | LinkType::LOOP => "loopback".to_owned(),
        LinkType::RAW | LinkType::RAW_BSD | LinkType::IPV4 | LinkType::IPV6 => "raw IP".to_owned(),
        LinkType(number) => format!("link type {number}"),
    }
}

/// Text of a MAC address.
pub fn mac(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// POSIX time in nanoseconds as RFC 3339 text; as a number if it is outside the calendar's range.
pub fn instant(unix_ns: i128) -> String {
    jiff::Timestamp::from_nanosecond(unix_ns)
        .map_or_else(|_| format!("{unix_ns} ns"), |timestamp| timestamp.to_string())
}
