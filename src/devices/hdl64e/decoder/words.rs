//! Text for values of the status bytes.

use crate::wire::velodyne::hdl64e_status::{StatusFormat, warning};

/// Name of an HDL-64E's status type.
pub(super) fn status_name(kind: u8) -> &'static str {
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
        0xf7 => "upper_threshold",
        0xf6 => "lower_threshold",
        _ => "unknown",
    }
}

/// Text of a status type: its ASCII character if printable, otherwise a hexadecimal number.
pub(super) fn status_type(kind: u8) -> String {
    if kind.is_ascii_graphic() { char::from(kind).to_string() } else { format!("{kind:#04x}") }
}

pub(super) fn status_value(kind: u8, value: u8) -> String {
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

/// Text for the state of the GPS input, from its status byte.
pub(super) fn gps(value: u8) -> &'static str {
    match value {
        b'A' => "PPS and NMEA",
        b'V' => "NMEA only",
        b'P' => "PPS only",
        0 => "none",
        _ => "unknown",
    }
}

/// Firmware version from hexadecimal digits: 0x47 is 4.07.
pub(super) fn firmware(value: u8) -> String {
    format!("{:x}.{:02x}", value >> 4, value & 0xf)
}

/// Names of the warning bits that are set, separated by commas; `none` if no bit is set.
pub(super) fn warnings(bits: u8) -> String {
    match bits {
        0 => "none".to_owned(),
        bits => warning::names(bits).join(", "),
    }
}

/// Date of calibration in a status table; `None` if all bytes are 0xff.
pub(super) fn calibration_time(time: [u8; 6]) -> Option<String> {
    let [year, month, day, hour, minute, second] = time;
    (time != [0xff; 6])
        .then(|| format!("20{year:02}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"))
}

/// Text about the check (constant or CRC) that a complete table of this format has passed.
pub(super) fn proof(format: StatusFormat) -> &'static str {
    match format {
        StatusFormat::S2 => "S2 form, constant 1820 correct",
        StatusFormat::S3 => "S3 form, CRC correct",
    }
}

/// Text for the return mode in a status table.
pub(super) fn table_return_mode(mode: u8) -> &'static str {
    match mode {
        0 => "strongest",
        1 => "last",
        2 => "both",
        _ => "unknown",
    }
}
