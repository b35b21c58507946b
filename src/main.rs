//! The `menura` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    menura::cli::main()
}
