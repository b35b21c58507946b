//! The clock of the driver's computer, changed for the driver only. A small C library is loaded before the driver's own
//! libraries; it lets a case set the clock without root and without effect on other programs.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::kit::group::Group;

/// Source of the library.
const SOURCE: &str = include_str!("host_clock.c");
/// Longest time for the compiler.
const COMPILING: Duration = Duration::from_secs(60);

/// The clock of the computer as the driver of one case sees it.
#[derive(Debug)]
pub struct HostClock {
    library: PathBuf,
    shared: PathBuf,
    ahead_ns: AtomicI64,
}

impl HostClock {
    /// A clock without an offset; its files are in `folder`. `mark` is the mark of the case's processes.
    ///
    /// # Errors
    /// No C compiler exists, or it fails; the message has the reason.
    pub fn new(folder: &Path, mark: &str) -> Result<Self, String> {
        let path = |name| folder.join(name);
        let clock = Self {
            library: path("host_clock.so"),
            shared: path("host_clock"),
            ahead_ns: AtomicI64::new(0),
        };
        let source = path("host_clock.c");
        let cannot = |error: std::io::Error| {
            format!("cannot write the library for the driver's clock: {error}")
        };
        fs::write(&source, SOURCE).map_err(cannot)?;
        fs::write(&clock.shared, [0; 16]).map_err(cannot)?;
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(&clock.library).arg(&source);
        compiler.arg("-ldl").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut group = Group::start(&mut compiler, &format!("{mark}-cc")).map_err(|error| {
            format!("cannot set the driver's clock: cannot start the C compiler `cc`: {error}")
        })?;
        match group.wait(COMPILING) {
            Some(status) if status.success() => Ok(clock),
            _ => Err("cannot set the driver's clock: the C compiler `cc` cannot build its library"
                .into()),
        }
    }

    /// `NAME=VALUE` environment variables for the driver.
    pub fn variables(&self) -> Vec<String> {
        let library = self.library.display().to_string();
        let preload = match std::env::var("LD_PRELOAD") {
            Ok(others) if !others.is_empty() => format!("{library}:{others}"),
            _ => library,
        };
        vec![format!("LD_PRELOAD={preload}"), format!("MENURA_CLOCK={}", self.shared.display())]
    }

    /// Advances the clock by `by_s` seconds; a negative value sets it back.
    ///
    /// # Errors
    /// The file of the clock cannot be written.
    pub fn step(&self, by_s: f64) -> std::io::Result<()> {
        let by_ns = (by_s * 1e9).round() as i64;
        let ahead_ns = self.ahead_ns.fetch_add(by_ns, Ordering::Relaxed).wrapping_add(by_ns);
        let file = fs::OpenOptions::new().write(true).open(&self.shared)?;
        file.write_all_at(&ahead_ns.to_ne_bytes(), 0)
    }

    /// Whether a program has loaded the library.
    pub fn is_used(&self) -> bool {
        fs::read(&self.shared).is_ok_and(|bytes| bytes.iter().skip(8).any(|byte| *byte != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::clock as machine;
    use std::io::{BufRead, BufReader};

    /// Runs `date` while the clock is set.
    #[test]
    fn a_program_sees_its_clock_being_set_and_nobody_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let clock = HostClock::new(folder.path(), "host-clock-test").unwrap();
        assert!(!clock.is_used());
        let script = "for n in 1 2; do date -u +%s; read line; done";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.envs(clock.variables().iter().filter_map(|pair| pair.split_once('=')));
        let begun = machine::now();
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = || lines.next().unwrap().unwrap().parse::<f64>().unwrap();
        let first = next();
        clock.step(-86_400.0).unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"\n").unwrap();
        let second = next();
        drop(child.stdin.take());
        child.wait().unwrap();
        let stepped = first - second - 86_400.0;
        let passed = begun.elapsed().as_secs_f64();
        assert!((-passed - 1.0..=1.0).contains(&stepped), "{first} {second}");
        assert!(clock.is_used());
    }
}
