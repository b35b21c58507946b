//! `menura packaging`: files that a package contains in addition to the binary.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, CliError};
use crate::links::part_file::OutPath;

/// Writes completions for shells and a man page for each command.
#[derive(Debug, clap::Args)]
pub(super) struct Cmd {
    /// Folder to write to: `man1/`, `bash/`, `zsh/` and `fish/` below it
    #[arg(long, value_name = "DIR")]
    out: OutPath,
}

impl Cmd {
    pub(super) fn run(&self) -> Result<(), CliError> {
        self.write().map_err(|error| {
            CliError::failed(format!("cannot write to {}", self.out.display()), &error)
        })
    }

    fn write(&self) -> io::Result<()> {
        let folder = |name: &str| -> io::Result<PathBuf> {
            let folder = self.out.join(name);
            fs::create_dir_all(&folder)?;
            Ok(folder)
        };
        for (shell, name) in [(Shell::Bash, "bash"), (Shell::Zsh, "zsh"), (Shell::Fish, "fish")] {
            clap_complete::generate_to(shell, &mut Cli::command(), "menura", folder(name)?)?;
        }
        clap_mangen::generate_to(Cli::command(), folder("man1")?)
    }
}
