//! The only place that prints: results to standard output, talk to standard error.
//!
//! Nothing here panics. A reader that has seen enough (`| head`) ends a result quietly. A result that
//! cannot be written, as on a full disk, is an error of the command; talk that cannot be written is
//! lost, for there is nobody to tell.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::CliError;

/// Prints a result as it stands. What is to last is written to its file before.
///
/// # Errors
/// Standard output cannot be written; that nobody reads it any more is no error.
pub fn print(text: impl Display) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    verdict(out.write_all(text.to_string().as_bytes()).and_then(|()| out.flush()))
}

/// Where questions are asked: standard error, so that an answer on standard output stays alone.
pub fn questions() -> impl Write {
    io::stderr()
}

/// Says a line on standard error.
pub fn say(line: impl Display) {
    // In one piece, so that lines of two threads do not mix.
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Prints what clap answers: help and the version as a result, what is wrong as talk.
///
/// # Errors
/// As [`print`].
pub fn print_answer(answer: &clap::Error) -> Result<(), CliError> {
    let printed = answer.print().and_then(|()| io::stdout().flush());
    if answer.use_stderr() { Ok(()) } else { verdict(printed) }
}

/// Whether standard error may have colours.
pub fn has_colours() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stderr().is_terminal() && !no_color
}

/// Whether results and talk are seen in the same place, as on a terminal.
pub fn is_one_terminal() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// Has what is logged said on standard error: warnings, or what `MENURA_LOG` asks for.
pub fn start_log() {
    let wanted = std::env::var("MENURA_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let filter = wanted.unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN));
    let log = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // It would tell of what it cannot write by a macro that panics.
        .log_internal_errors(false)
        .with_target(false);
    tracing_subscriber::registry().with(log).with(filter).init();
}

/// Standard output for a report that may be long, written as it is made.
pub struct LongResult {
    out: BufWriter<StdoutLock<'static>>,
    goes_on: bool,
    failure: Option<io::Error>,
}

impl LongResult {
    /// After a failure the report is to be made all the same if it `goes_on`; otherwise whoever makes
    /// it gets an error and may stop.
    pub fn new(goes_on: bool) -> Self {
        Self { out: BufWriter::new(io::stdout().lock()), goes_on, failure: None }
    }

    /// Writes what is still on its way.
    ///
    /// # Errors
    /// As [`print`].
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
