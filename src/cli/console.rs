//! The only place that prints: results to standard output, messages to standard error.
//!
//! Output never panics. If the reader closes the pipe (`| head`), output ends without an error. A result that cannot be
//! written, for example on a full disk, is an error of the command. Messages that cannot be written are ignored.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::CliError;

/// Prints a result. A command writes its files before it prints.
///
/// # Errors
/// Standard output cannot be written; a closed pipe is no error.
pub fn print(text: impl Display) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    verdict(out.write_all(text.to_string().as_bytes()).and_then(|()| out.flush()))
}

/// Stream for questions: standard error, so that standard output has only the result.
pub fn questions() -> impl Write {
    io::stderr()
}

/// Prints a line on standard error; write errors are ignored.
pub fn say(line: impl Display) {
    // A single write, so that lines of two threads do not mix.
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Prints clap's answer: help and version as a result, errors as a message.
///
/// # Errors
/// See [`print`].
pub fn print_answer(answer: &clap::Error) -> Result<(), CliError> {
    let printed = answer.print().and_then(|()| io::stdout().flush());
    if answer.use_stderr() { Ok(()) } else { verdict(printed) }
}

/// Whether output on standard error may use colours.
pub fn has_colours() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stderr().is_terminal() && !no_color
}

/// Whether standard output and standard error are both terminals, usually the same one.
pub fn is_one_terminal() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// Prints log records on standard error: warnings, or the level of `MENURA_LOG`.
pub fn start_log() {
    let wanted = std::env::var("MENURA_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let filter = wanted.unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN));
    let log = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // The default prints errors of writing with a macro that panics if it fails.
        .log_internal_errors(false)
        .with_target(false);
    tracing_subscriber::registry().with(log).with(filter).init();
}

/// Standard output for a long report, which is written in pieces.
pub struct LongResult {
    out: BufWriter<StdoutLock<'static>>,
    goes_on: bool,
    failure: Option<io::Error>,
}

impl LongResult {
    /// With `goes_on`, every write returns success, even after a failure. Otherwise a write that fails and all later
    /// ones return [`ErrorKind::BrokenPipe`]. [`LongResult::finish`] returns the first error.
    pub fn new(goes_on: bool) -> Self {
        Self { out: BufWriter::new(io::stdout().lock()), goes_on, failure: None }
    }

    /// Writes buffered output.
    ///
    /// # Errors
    /// Standard output cannot be written, or an earlier write has failed; a closed pipe is no error.
    pub fn finish(mut self) -> Result<(), CliError> {
        let _ = self.flush();
        verdict(self.failure.take().map_or(Ok(()), Err))
    }

    fn attempt<T>(
        &mut self,
        otherwise: T,
        write: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.failure.is_none() {
            match write(&mut self.out) {
                Err(error) if error.kind() != ErrorKind::Interrupted => self.failure = Some(error),
                outcome => return outcome,
            }
        }
        if self.goes_on { Ok(otherwise) } else { Err(ErrorKind::BrokenPipe.into()) }
    }
}

impl Write for LongResult {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), Write::flush)
    }
}

fn verdict(outcome: io::Result<()>) -> Result<(), CliError> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => {
            outcome.map_err(|error| CliError::failed("cannot write to standard output", &error))
        }
    }
}
