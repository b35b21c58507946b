//! Report on a capture: its summary, and a line for each packet.
//!
//! # JSON
//!
//! With `--json`, standard output has one object per line. `"type": "packet"` lines come first, in
//! the order of the file; the last line is `"type": "summary"`. Keys are only ever added.
//!
//! Every packet: `number` (from 1), `time_s` (since the first), `unix_ns` and `kind`:
//! - `data`, `position`, `joint`, `udp`: `source`, `destination` (`address:port`), `ttl`, `udp_checksum`
//!   (`absent`, `good`, `bad`), `length` (payload, bytes), `missing` (bytes the capture left out);
//!   IPv4 also `dont_fragment`, `identification`, `ip_checksum_ok`.
//! - `data`: `model`, `distance_unit_m`, `blocks` (each `flag`, `first_laser`,
//!   `azimuth_centideg`, `distance` and `intensity` of 32 slots, raw), `issues`; `timestamp_us`
//!   except for the HDL-64E S1; HDL-64E S2 and S3 `status` (`type`, `type_byte`, `value`, `name`,
//!   `text`) and `dual_return`; S1 `s1_status`; other models `return_mode`, `factory_bytes`.
//! - `position`: `timestamp_us`, `pps`, `pps_byte`, `nmea`, `imu` (three, raw).
//! - `joint`: `lines` (each `kind`, and of a position or an index mark `time_ms` and `count`).
//! - `other`: `protocol`. `broken`: `error`.
//!
//! Bytes of a serial line or a TCP connection (`.bin`, or `--profile`): an object for each frame, of type
//! `frame`, `message` (GNSS) or `telegram` (LMS1xx and LMS5xx), with `number` (from 1), `offset`, `length`
//! and `time_s` (departure of its first byte, from the index file; else null), and then the frame's content:
//! - LMS 2xx: `kind`; from a telegram `address` and `payload` or, of measured values, `unit`,
//!   `partial`, `shift_deg`, `values` (raw), `ranges_m` (null where there is none), `reflectivity`,
//!   `scan_index`, `telegram_index`, `status_byte`. Summary: `bytes`, `telegrams`, `frames` by kind,
//!   `bad_crc`, `skipped_bytes`, `measuring_mode` and `scans`.
//! - LMS1xx and LMS5xx: `dialect`, `name` (kind and name) and `content`; of a scan instead `status`,
//!   `telegram_counter`, `scan_counter`, `start_us`, `transmission_us`, `scan_frequency_hz`,
//!   `channels` (each `name`, `scale_factor`, `start_angle_deg`, `angular_step_deg`, `values`, raw),
//!   `ranges_m` of the first echo (null where there is none) and `time`. Summary: `telegrams`,
//!   `bytes`, `skipped_bytes`, `dialects`, `names`, `scans`, `broken_scans`, `counter_gaps` and
//!   `duration_s`.
//! - IMU: `kind` and the fields. Summary: `bytes`, `frames` by kind and `skipped_bytes`.
//! - GNSS: `kind`; `nmea`: `address`, `fields` (text) and, for known types, `values`, or `error`;
//!   `ubx`: `message` (its name), `class`, `id` and, for known messages, `values`, or `error`;
//!   `rtcm3`: `message_type`; `noise`: bytes that are none of these. Summary: `bytes`, `messages`
//!   (how many of each) and `noise_bytes`.
//!
//! Summary of a capture: `file`, `format`, `link`, `packets`, `start_unix_ns`, `duration_s`, `flows`,
//! `others`, `broken` and `fault` (null, or the reason why the file could not be read to its end). A flow's
//! `data` has the model, rates, gaps, `misfits` (contradictions to `--profile`) and, under `status`, the
//! content of the status bytes with the calibration of the 64 lasers.

mod json;
mod text;
mod words;

use std::io::Write;

use super::ReportError;
use super::capture::{CaptureError, CaptureReader, Source};
use super::flows::Analysis;

/// Options of a report.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the capture in the report.
    pub name: String,
    /// Whether to write JSON instead of text.
    pub json: bool,
    /// Largest number of packets to print.
    pub packets: u64,
    /// Whether to decode all data as the product that the user named, even if they are from another product.
    pub anyway: bool,
}

impl Options {
    /// Options for a report on a capture called `name` with all packets in full.
    pub fn new(name: &str, json: bool) -> Self {
        Self { name: name.to_owned(), json, packets: u64::MAX, anyway: false }
    }
}

/// Result of the analysis.
#[derive(Debug)]
pub struct Inspected {
    /// Analysis of all packets.
    pub analysis: Analysis,
    /// Error that ended the reading of the capture early, if any.
    pub fault: Option<CaptureError>,
}

/// Writes the report on a capture to `out`. Reads the capture twice, because packets are decoded with facts from the
/// whole capture. `analysis` must be empty.
///
/// # Errors
/// The capture cannot be read at all or contains only another product's data; or the report cannot be written.
pub fn report(
    source: Source<'_>,
    options: &Options,
    mut analysis: Analysis,
    out: &mut dyn Write,
) -> Result<Inspected, ReportError> {
    let mut reader = CaptureReader::open(source).map_err(unreadable)?;
    let format = reader.format();
    let mut fault = None;
    while let Some(packet) = reader.next_frame() {
        match packet {
            Ok(packet) => analysis.see(&packet),
            Err(error) => {
                fault = Some(error);
                break;
            }
        }
    }
    for (name, count) in reader.others() {
        *analysis.others.entry(name).or_default() += count;
    }
    fault = fault.or_else(|| reader.lost());
    if !options.anyway
        && let Some(why) = analysis.other_product()
    {
        return Err(ReportError::OtherProduct(why));
    }
    let fault_text = fault.as_ref().map(ToString::to_string);
    let summary = if options.json { json::summary } else { text::summary };
    if !options.json {
        summary(out, &options.name, format, &analysis, fault_text.as_deref())?;
    }
    print_packets(source, options, &analysis, out)?;
    if options.json {
        summary(out, &options.name, format, &analysis, fault_text.as_deref())?;
    }
    Ok(Inspected { analysis, fault })
}

fn print_packets(
    source: Source<'_>,
    options: &Options,
    analysis: &Analysis,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let Some((first_unix_ns, _)) = analysis.span_unix_ns.filter(|_| options.packets > 0) else {
        return Ok(());
    };
    if !options.json {
        writeln!(out)?;
    }
    let packet = if options.json { json::packet } else { text::packet };
    let mut reader = CaptureReader::open(source).map_err(unreadable)?;
    let count = options.packets.min(analysis.packets);
    for _ in 0..count {
        // The first pass has found and recorded this error.
        let Some(Ok(captured)) = reader.next_frame() else { break };
        packet(out, analysis, &captured, first_unix_ns)?;
    }
    if !options.json && count < analysis.packets {
        writeln!(out, "… and {} more", analysis.packets - count)?;
    }
    Ok(())
}

fn unreadable(error: CaptureError) -> ReportError {
    ReportError::Input(error.to_string())
}
