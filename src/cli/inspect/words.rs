//! Values of packets in words, for the text and the JSON report.

use crate::wire::ethernet::{LinkType, UdpChecksum};
use crate::wire::velodyne::hdl64e_status::{StatusFormat, warning};

/// What an HDL-64E's status type stands for.
pub fn status_name(kind: u8) -> &'static str {
    match kind {
        b'H' => "hour",
        b'M' => "minute",
        b'S' => "second",
        b'D' => "day",
        b'N' => "month",
        b'Y' => "year",
        b'G' => "gps",
        b'T' => "temperature_c",
        b'V' => "firmware",
        b'W' => "warnings",
        b'1'..=b'7' => "rolling",
        0xfe | 0xff => "motor_rpm",
        0xfc | 0xfd => "fov_start",
        0xfa | 0xfb => "fov_end",
        0xf9 => "return_mode",
        0xf8 => "power_level",
        _ => "unknown",
    }
}

/// A status type as people write it: a character where it is one.
pub fn status_type(kind: u8) -> String {
    if kind.is_ascii_graphic() { char::from(kind).to_string() } else { format!("{kind:#04x}") }
}

/// A status value in words.
pub fn status_value(kind: u8, value: u8) -> String {
    match kind {
        b'Y' => format!("20{value:02}"),
        b'G' => gps(value).to_owned(),
        b'T' => format!("{value} C"),
        b'V' => firmware(value),
        b'W' => warnings(value),
        b'H' | b'M' | b'S' | b'D' | b'N' => value.to_string(),
        _ => format!("{value:#04x}"),
    }
}

/// The live GPS state.
pub fn gps(value: u8) -> &'static str {
    match value {
        b'A' => "PPS and NMEA",
        b'V' => "NMEA only",
        b'P' => "PPS only",
        0 => "none",
        _ => "unknown",
    }
}

/// Firmware in hex nibbles: 0x47 is 4.07.
pub fn firmware(value: u8) -> String {
    format!("{:x}.{:02x}", value >> 4, value & 0xf)
}

/// Warning bits by name.
pub fn warnings(bits: u8) -> String {
    match bits {
        0 => "none".to_owned(),
        bits => warning::names(bits).join(", "),
    }
}

/// When a table was calibrated.
pub fn calibration_time(time: [u8; 6]) -> Option<String> {
    let [year, month, day, hour, minute, second] = time;
    (time != [0xff; 6])
        .then(|| format!("20{year:02}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"))
}

/// What proves a table.
pub fn proof(format: StatusFormat) -> &'static str {
    match format {
        StatusFormat::S2 => "S2 form, constant 1820 in place",
        StatusFormat::S3 => "S3 form, CRC right",
    }
}

/// The HDL-64E's return mode in its status table.
pub fn table_return_mode(mode: u8) -> &'static str {
    match mode {
        0 => "strongest",
        1 => "last",
        2 => "both",
        _ => "unknown",
    }
}

/// State of a UDP checksum.
pub fn udp_checksum(state: UdpChecksum) -> &'static str {
    match state {
        UdpChecksum::Absent => "absent",
        UdpChecksum::Good => "good",
        UdpChecksum::Bad => "bad",
    }
}

/// A link type by name.
pub fn link(link: LinkType) -> String {
    match link {
        LinkType::ETHERNET => "Ethernet".to_owned(),
        LinkType::LINUX_SLL | LinkType::LINUX_SLL2 => "Linux cooked".to_owned(),
        LinkType::NULL | LinkType::LOOP => "loopback".to_owned(),
        LinkType::RAW | LinkType::RAW_BSD | LinkType::IPV4 | LinkType::IPV6 => "raw IP".to_owned(),
        LinkType(number) => format!("link type {number}"),
    }
}

/// A MAC address.
pub fn mac(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Nanoseconds of POSIX time as RFC 3339; the number itself where no calendar reaches.
pub fn instant(unix_ns: i128) -> String {
    jiff::Timestamp::from_nanosecond(unix_ns)
        .map_or_else(|_| format!("{unix_ns} ns"), |timestamp| timestamp.to_string())
}

/// Text of a capture made fit for a terminal: no control characters.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
