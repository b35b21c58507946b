//! The command line: one file a verb, each with a `Cmd` and its `run`.
//!
//! Results go to standard output, talk to standard error. Exit codes: 0 done, 1 failed while
//! working, 2 the input is wrong and nothing was started, 3 done and found wanting.

mod certificate_page;
mod certify;
mod check;
mod doctor;
pub mod inspect;
mod out_file;
mod probe;
mod profiles;
mod record;
mod replay;
mod rig_args;
mod run;
mod scenes;
mod setup;
mod status;
mod twin;
mod validate;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand};

/// Emulate a robot's sensors on the wire: ray-traced lidar as the bytes real drivers expect.
#[derive(Debug, Parser)]
#[command(name = "menura", version, about, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a rig in real time and send its devices' bytes
    Run(run::Cmd),
    /// Write the bytes of a rig to files, as fast as the machine allows
    Record(record::Cmd),
    /// Validate a rig and everything it names, and send nothing
    Check(check::Cmd),
    /// List the firmware profiles, or show one with its settings and sources
    Profiles(profiles::Cmd),
    /// Print the packets of a capture, or the frames of a recorded serial line
    Inspect(inspect::Cmd),
    /// Send the datagrams of a capture again with their original timing
    Replay(replay::Cmd),
    /// Receive on the robot's computer and measure jitter, gaps and losses
    Probe(probe::Cmd),
    /// Compare an emulated stream with a capture of a real device
    Twin(twin::Cmd),
    /// List the built-in scenes and their parameters
    Scenes(scenes::Cmd),
    /// Check simulated noise and errors against their specification
    Validate(validate::Cmd),
    /// Show what on this host keeps packets from leaving on time, and what to change
    Doctor(doctor::Cmd),
}

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The input is wrong; the text is complete and ready to print. Exit code 2.
    #[error("{0}")]
    Input(String),
    /// The work is done, and what was required of it is not met. Exit code 3.
    #[error("{0}")]
    Unmet(String),
    /// Something failed while working. Exit code 1.
    #[error("{0}")]
    Failed(String),
}

impl CliError {
    /// Something failed while working, told by an error and its causes.
    pub fn failed(what: impl std::fmt::Display, error: &dyn std::error::Error) -> Self {
        let mut text = format!("{what}: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        Self::Failed(text)
    }
}

/// A flag that Ctrl-C and `SIGTERM` set. A second signal ends the process at once.
fn stop_on_signal() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(|error| CliError::failed("cannot listen for signals", &error))?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let mut terminate =
                tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
            for _ in 0..2 {
                match &mut terminate {
                    Some(terminate) => tokio::select! {
                        _ = tokio::signal::ctrl_c() => {}
                        _ = terminate.recv() => {}
                    },
                    None => drop(tokio::signal::ctrl_c().await),
                }
                if flag.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
            }
        });
    });
    Ok(stop)
}

impl Cli {
    /// Runs the command that was asked for and prints its error, if any.
    pub fn run(self) -> ExitCode {
        let outcome = match self.verb {
            Verb::Run(cmd) => cmd.run(),
            Verb::Record(cmd) => cmd.run(),
            Verb::Check(cmd) => cmd.run(),
            Verb::Profiles(cmd) => cmd.run(),
            Verb::Inspect(cmd) => cmd.run(),
            Verb::Replay(cmd) => cmd.run(),
            Verb::Probe(cmd) => cmd.run(),
            Verb::Twin(cmd) => cmd.run(),
            Verb::Scenes(cmd) => cmd.run(),
            Verb::Validate(cmd) => cmd.run(),
            Verb::Doctor(cmd) => cmd.run(),
        };
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(CliError::Input(text)) => {
                eprintln!("{}", text.trim_end());
                ExitCode::from(2)
            }
            Err(CliError::Unmet(text)) => {
                eprintln!("{}", text.trim_end());
                ExitCode::from(3)
            }
            Err(CliError::Failed(text)) => {
                eprintln!("error: {}", text.trim_end());
                ExitCode::FAILURE
            }
        }
    }
}
