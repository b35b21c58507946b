//! Logs of a run that could not be written.

use std::io;
use std::sync::Mutex;

/// Messages about logs that could not be written.
#[derive(Debug, Default)]
pub struct LogFailures(Mutex<Vec<String>>);

impl LogFailures {
    /// Logs at once that the log `what` cannot be written, and keeps the message for the end of the
    /// run.
    pub fn note(&self, what: &str, error: &io::Error) {
        let text = format!("cannot write the {what}: {error}");
        tracing::error!("{text}");
        self.0.lock().expect("no holder panics").push(text);
    }

    /// Messages about all failures so far, one sentence each.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().expect("no holder panics").clone()
    }
}
