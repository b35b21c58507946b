//! The flag that signals set to end a command cleanly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{CliError, console};
use crate::kit::clock;

/// Bit of `SIGHUP` in the signal masks of `/proc`.
const HANGUP_BIT: u64 = 1;
/// Exit code that shells use for an interrupted command.
const INTERRUPTED: i32 = 130;

/// Time after the first signal within which further signals count as the same request: `timeout`, shells and launchers
/// send a signal to the process and another one to its group.
const SAME_WISH: Duration = Duration::from_millis(500);

/// Returns a flag that Ctrl-C, `SIGTERM` and `SIGHUP` set. So a closed terminal also ends a run cleanly, unless the run
/// was started with `nohup`. A Ctrl-C or `SIGTERM` more than half a second after the first signal ends the process at
/// once.
pub fn stop_on_signal() -> Result<Arc<AtomicBool>, CliError> {
    listen_for_signals(true)
}

/// Like [`stop_on_signal`], but a later `SIGTERM` does not end the process at once: launchers may send it several times
/// before they kill the process.
pub fn stop_on_launchers_signal() -> Result<Arc<AtomicBool>, CliError> {
    listen_for_signals(false)
}

/// Returns the flag that signals set. With `terminates`, a later `SIGTERM` ends the process at once.
fn listen_for_signals(terminates: bool) -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let failed = |error| CliError::failed("cannot listen for signals", &error);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    // Handlers are installed before this function returns, so that no early signal is lost.
    let listen = |kind| {
        let _inside = runtime.enter();
        signal(kind).map_err(failed)
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = match ignores_hangups() {
        true => None,
        false => Some(listen(SignalKind::hangup())?),
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            let mut first = None;
            loop {
                let is_impatient = tokio::select! {
                    _ = interrupt.recv() => true,
                    _ = terminate.recv() => terminates,
                    // A closing terminal may send `SIGHUP` twice. `SIGHUP` therefore never ends the process at once.
                    () = next(&mut hangup) => false,
                };
                flag.store(true, Ordering::Relaxed);
                let now = clock::now();
                let first = *first.get_or_insert(now);
                if is_impatient && is_another_wish(first, now) {
                    console::say(
                        "ended at once by a second signal: no summary; unfinished files end with .part",
                    );
                    std::process::exit(INTERRUPTED);
                }
            }
        });
    });
    Ok(stop)
}

fn is_another_wish(first: Instant, now: Instant) -> bool {
    now.duration_since(first) > SAME_WISH
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether this process was started with `SIGHUP` ignored.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & HANGUP_BIT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_follow_at_once_are_one_wish() {
        let first = clock::now();
        for (after_ms, is_another) in [(0, false), (20, false), (500, false), (501, true)] {
            let now = first + Duration::from_millis(after_ms);
            assert_eq!(is_another_wish(first, now), is_another, "{after_ms} ms");
        }
    }
}
