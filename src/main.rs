//! The `menura` binary.

use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of open files that the largest rig needs, with all clients connected. Some programs become slow if they
/// inherit an unlimited number.
const OPEN_FILES: u64 = 65_536;

fn main() -> ExitCode {
    raise_open_files();
    menura::cli::main()
}

/// Raises the soft limit of open files, usually 1024, as far as the hard limit allows.
fn raise_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
    if current.is_some_and(|current| current < wanted) {
        // Without permission, a rig that needs more files fails with a message.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_of_open_files_is_raised_and_never_lowered() {
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(64), ..before }).unwrap();
        raise_open_files();
        let raised = getrlimit(Resource::Nofile);
        let wanted = before.maximum.map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
        assert_eq!((raised.current, raised.maximum), (Some(wanted), before.maximum));
        setrlimit(Resource::Nofile, before).unwrap();
        raise_open_files();
        assert!(getrlimit(Resource::Nofile).current >= before.current.min(Some(wanted)));
    }
}
