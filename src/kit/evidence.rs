//! Evidence: packets and driver output around the moment of a failure.

use std::collections::VecDeque;
use std::fmt::Write;
use std::path::Path;

use crate::analysis::capture::{CaptureReader, Source};
use crate::links::serial_record::SerialIndex;
use crate::wire::ethernet::Content;

/// Number of packets that are shown before the failure, and again after it.
const PACKETS_AROUND: usize = 3;
/// Number of bytes shown of each packet.
const BYTES_SHOWN: usize = 24;
/// Number of rows of the fault log that are shown.
const FAULT_ROWS: usize = 8;
/// Number of the driver's output lines that are shown before the failure, and again after it.
const LINES_AROUND: usize = 8;
/// Largest part of a serial recording that is read, bytes.
const MAX_SERIAL_BYTES: u64 = 64 << 20;

/// Packets of a device, or bytes of its serial line, around `at_s`, as text; empty if there are none. The recording is
/// in `folder`; `at_s` is in seconds since the start of the recording, `start_unix_ns`.
pub fn packets(folder: &Path, device: &str, start_unix_ns: i128, at_s: f64) -> String {
    let capture = folder.join(format!("{device}.pcap"));
    let bytes = folder.join(format!("{device}.bin"));
    match capture.exists() {
        true => datagrams(&capture, start_unix_ns, at_s),
        false if bytes.exists() => serial(&bytes, at_s),
        false => String::new(),
    }
}

fn datagrams(capture: &Path, start_unix_ns: i128, at_s: f64) -> String {
    let Ok(mut reader) = CaptureReader::open(Source::File(capture)) else { return String::new() };
    let mut before: VecDeque<String> = VecDeque::new();
    let mut after = Vec::new();
    while let Some(Ok(frame)) = reader.next_frame() {
        let time_s = (frame.unix_ns - start_unix_ns) as f64 / 1e9;
        let Ok(Content::Udp(datagram)) = Content::find(frame.link, frame.frame) else { continue };
        let line = || {
            format!(
                "packet {} at {time_s:.6} s to port {}, {} bytes: {}",
                frame.number,
                datagram.destination.port(),
                datagram.payload.len(),
                hex(datagram.payload)
            )
        };
        if time_s < at_s {
            if before.len() == PACKETS_AROUND {
                before.pop_front();
            }
            before.push_back(line());
        } else {
            after.push(line());
            if after.len() == PACKETS_AROUND {
                break;
            }
        }
    }
    before.into_iter().chain(after).collect::<Vec<_>>().join("\n")
}

fn serial(path: &Path, at_s: f64) -> String {
    use std::io::Read;
    let Ok(index) = SerialIndex::beside(path) else { return String::new() };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    if file.and_then(|file| file.take(MAX_SERIAL_BYTES).read_to_end(&mut bytes)).is_err() {
        return String::new();
    }
    // First byte that was written at or after that time.
    let at = (0..bytes.len() as u64)
        .collect::<Vec<_>>()
        .partition_point(|offset| index.time_s(*offset).is_some_and(|time_s| time_s < at_s));
    let from = at.saturating_sub(2 * BYTES_SHOWN);
    let to = (at + 4 * BYTES_SHOWN).min(bytes.len());
    let mut text = String::new();
    for (number, row) in bytes[from..to].chunks(BYTES_SHOWN).enumerate() {
        let offset = from + number * BYTES_SHOWN;
        let time_s = index.time_s(offset as u64).unwrap_or_default();
        let shown: String = row
            .iter()
            .map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' })
            .collect();
        let _ = writeln!(text, "byte {offset} at {time_s:.6} s: {}  {shown}", hex(row));
    }
    text.trim_end().to_owned()
}

/// The first [`BYTES_SHOWN`] bytes in hexadecimal digits; `...` stands for the rest.
fn hex(bytes: &[u8]) -> String {
    let shown: Vec<_> = bytes.iter().take(BYTES_SHOWN).map(|byte| format!("{byte:02x}")).collect();
    let rest = if bytes.len() > BYTES_SHOWN { " ..." } else { "" };
    shown.join(" ") + rest
}

/// Rows of a run's fault log around `at_s`, seconds of the run.
pub fn faults(log: &Path, at_s: f64) -> String {
    let Ok(text) = std::fs::read_to_string(log) else { return String::new() };
    let row = |line: &str| {
        let time_ns: f64 = line.split(',').next()?.parse().ok()?;
        Some((time_ns / 1e9, line.to_owned()))
    };
    let rows: Vec<_> = text.lines().skip(1).filter_map(row).collect();
    let middle = rows.partition_point(|(time_s, _)| *time_s < at_s);
    let from = middle.saturating_sub(FAULT_ROWS / 2);
    let shown = rows.iter().skip(from).take(FAULT_ROWS).map(|(_, line)| line.as_str());
    shown.collect::<Vec<_>>().join("\n")
}

/// Output lines `(seconds, text)` of the driver around `at_s`.
pub fn lines(said: &[(f64, String)], at_s: f64) -> String {
    let middle = said.partition_point(|(time_s, _)| *time_s < at_s);
    let from = middle.saturating_sub(LINES_AROUND);
    let shown = said.iter().skip(from).take(2 * LINES_AROUND);
    shown.map(|(time_s, text)| format!("{time_s:8.3} s  {text}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::serial_record::SerialRecorder;
    use crate::time::SimTime;

    #[test]
    fn bytes_of_a_serial_line_are_found_by_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = SerialRecorder::create(folder.path(), "gnss").unwrap();
        for second in 0..5_u64 {
            recorder
                .write(SimTime(second * 1_000_000_000), format!("line {second}\n").as_bytes())
                .unwrap();
        }
        recorder.finish().unwrap();
        let text = packets(folder.path(), "gnss", 0, 3.0);
        assert!(text.starts_with("byte 0 at 0.000000 s: 6c 69 6e 65 20 30 0a"), "{text}");
        assert!(text.contains("byte 24 at 3.000000 s: 65 20 33 0a"), "{text}");
        assert_eq!(packets(folder.path(), "imu", 0, 3.0), "");
    }

    #[test]
    fn the_middle_of_logs_is_shown() {
        let said: Vec<_> = (0..100).map(|n| (f64::from(n), format!("line {n}"))).collect();
        let text = lines(&said, 50.0);
        assert!(text.starts_with("  42.000 s  line 42\n") && text.ends_with("line 57"), "{text}");
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("faults.csv");
        let rows: String = (0..50).map(|n| format!("{n}000000000,lidar,f,k,,,lost,,\n")).collect();
        std::fs::write(&log, format!("time_ns,device\n{rows}")).unwrap();
        let text = faults(&log, 20.0);
        assert!(text.starts_with("16000000000,") && text.lines().count() == 8, "{text}");
    }
}
