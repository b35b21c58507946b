//! `menura replay` of a serial device's recording: sends its bytes again on a pseudo-terminal.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{CliError, console};
use crate::engine::replay_times::ReplayTimes;
use crate::kit::clock;
use crate::links::ByteLink;
use crate::links::pty::PtyLink;
use crate::links::serial_record::SerialIndex;
use crate::wire::line::LineSettings;
use crate::wire::port::PtyOptions;

/// Largest recording that is kept in memory, bytes.
const MAX_BYTES: u64 = 1 << 30;
/// Initial baud rate of the terminal's host end; programs may set any rate.
const BAUD: u32 = 115_200;
/// Interval at which the host's bytes are read.
const TICK: Duration = Duration::from_millis(20);

/// Writes the bytes of `recording`, a `.bin` with its `.idx.csv`, to a new pseudo-terminal at `path`, each write at its
/// time. Starts when a program opens the terminal. Bytes from the host are ignored.
///
/// # Errors
/// The recording cannot be read, or the terminal cannot be created.
pub fn replay(
    recording: &Path,
    path: &Path,
    mut times: ReplayTimes,
    stop: &AtomicBool,
) -> Result<(), CliError> {
    let wrong = |why: String| {
        CliError::Input(format!("error: cannot replay {}: {why}", recording.display()))
    };
    let length = std::fs::metadata(recording).map_err(|error| wrong(error.to_string()))?.len();
    if length > MAX_BYTES {
        return Err(wrong("it is larger than 1 GB; cut it first".into()));
    }
    let bytes = std::fs::read(recording).map_err(|error| wrong(error.to_string()))?;
    let index = SerialIndex::beside(recording).map_err(|error| wrong(error.to_string()))?;
    let due = |(time_s, range)| (Duration::from_nanos(times.due((time_s * 1e9) as i128).0), range);
    let writes: Vec<_> = index.writes(bytes.len()).map(due).collect();
    let Some((span, _)) = writes.last().cloned() else {
        return Err(wrong("its index, .idx.csv, is missing or empty".into()));
    };
    for line in times.told() {
        console::say(format_args!("warning: {}: {line}", recording.display()));
    }
    let options =
        PtyOptions { path: path.to_owned(), strict_rate: false, rate_aliases: Vec::new() };
    let failed = |error: std::io::Error| CliError::failed(path.display(), &error);
    let link = PtyLink::open(options, LineSettings::eight_n_one(BAUD)).map_err(failed)?;
    let span_s = span.as_secs_f64();
    console::say(format_args!(
        "{}: {} bytes in {span_s:.3} s; starts when a program opens {}",
        recording.display(),
        bytes.len(),
        path.display(),
    ));
    let mut ignored = [0; 4096];
    while !link.is_open().map_err(failed)? {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        clock::sleep(Duration::from_millis(5));
    }
    let begun = clock::now();
    let mut sent = 0;
    for (since, range) in writes {
        let due = begun + since;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let left = due.saturating_duration_since(clock::now());
            if left.is_zero() {
                break;
            }
            // Meanwhile the host's bytes are read, so that its writes do not block.
            link.receive(&mut ignored, Duration::ZERO).map_err(failed)?;
            clock::sleep(left.min(TICK));
        }
        sent += link.send(&bytes[range]).map_err(failed)?;
    }
    // The last bytes are still in the terminal's buffer.
    clock::sleep(Duration::from_millis(200));
    console::print(format!("sent {sent} of {} bytes\n", bytes.len()))
}
