//! What could not be written of the logs of a run.

use std::io;
use std::sync::Mutex;

/// What could not be written, for whoever asked for the logs.
#[derive(Debug, Default)]
pub struct LogFailures(Mutex<Vec<String>>);

impl LogFailures {
    /// Says at once that a log, called `what`, cannot be written, and keeps it for the end.
    pub fn note(&self, what: &str, error: &io::Error) {
        let text = format!("cannot write the {what}: {error}");
        tracing::error!("{text}");
        self.0.lock().expect("no holder panics").push(text);
    }

    /// All failures so far.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().expect("no holder panics").clone()
    }
}
