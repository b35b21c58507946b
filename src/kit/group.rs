//! Process groups: started, measured and ended as a whole, so that no process remains.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::kit::clock;

/// Environment variable whose value, the mark, is the same for all processes of a group.
pub const MARK: &str = "MENURA_TEST";
/// Largest number of searches for marked processes when a group is killed.
const PASSES: usize = 100;
/// Number of consecutive searches that must find no marked process before the group counts as ended.
const ENOUGH_EMPTY: usize = 3;
/// Shortest time between two searches for the processes of a group.
const SEARCH: Duration = Duration::from_millis(500);
/// Time between two checks whether a process has ended.
const TICK: Duration = Duration::from_millis(5);

/// A process with all its descendants. Dropping the value kills them.
#[derive(Debug)]
pub struct Group {
    child: Child,
    mark: String,
    status: Option<ExitStatus>,
    /// Time and result of the last search for processes of the group.
    found: Option<(Instant, Vec<i32>)>,
}

impl Group {
    /// Starts `command` as the leader of its own group, marked with `mark`.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn start(command: &mut Command, mark: &str) -> io::Result<Self> {
        let child = command.env(MARK, mark).process_group(0).spawn()?;
        Ok(Self { child, mark: mark.to_owned(), status: None, found: None })
    }

    /// The first process, for access to its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Exit status of the first process, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Waits up to `patience` for the first process to end. Returns its exit status, or `None` if it still runs.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let until = clock::now() + patience;
        while self.ended().is_none() && clock::now() < until {
            clock::sleep(TICK);
        }
        self.status
    }

    /// Asks the processes of the group to end (SIGTERM). After at most `patience`, kills the group with all
    /// descendants.
    pub fn end(&mut self, patience: Duration) {
        if self.ended().is_none() {
            self.signal(Signal::TERM);
            self.wait(patience);
        }
        self.kill();
    }

    /// Kills the group at once, like a power cut.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        if self.ended().is_none() {
            self.status = self.child.wait().ok();
        }
        kill_marked(&self.mark);
    }

    /// Resident memory of the group, bytes. A new process is included after at most half a second.
    pub fn memory_bytes(&mut self) -> u64 {
        // A search is expensive: it reads a file of every process of this computer.
        let last = self.found.take().filter(|(at, _)| at.elapsed() < SEARCH);
        let (at, members) = last.unwrap_or_else(|| (clock::now(), self.members()));
        let resident = |pid: &i32| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.trim().trim_end_matches(" kB").parse::<u64>().ok()
        };
        let kb: u64 = members.iter().filter_map(resident).sum();
        self.found = Some((at, members));
        kb * 1024
    }

    /// IDs of the group's processes.
    fn members(&self) -> Vec<i32> {
        let is_own = |pid: &i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // After the name in brackets follow state, parent and group.
            let group = stat.rsplit_once(") ").and_then(|(_, fields)| fields.split(' ').nth(2));
            group.and_then(|group| group.parse().ok()) == Some(self.child.id())
        };
        processes().filter(is_own).collect()
    }

    /// Total time for which the first process was ready to run but had no processor.
    pub fn waited(&self) -> Duration {
        let path = format!("/proc/{}/schedstat", self.child.id());
        let text = fs::read_to_string(path).unwrap_or_default();
        let waited_ns = text.split(' ').nth(1).and_then(|field| field.parse().ok());
        Duration::from_nanos(waited_ns.unwrap_or(0))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Kills every process with this mark, in any group, and the processes that they start during the search.
fn kill_marked(mark: &str) {
    let wanted = format!("{MARK}={mark}");
    let is_marked = |pid: &i32| {
        // A process that has ended and waits for its parent has no environment.
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let mut empty_passes = 0;
    for _ in 0..PASSES {
        let marked: Vec<_> = processes().filter(is_marked).filter_map(Pid::from_raw).collect();
        if marked.is_empty() {
            // During exec, a process briefly has no environment, so one empty search proves nothing.
            empty_passes += 1;
            if empty_passes == ENOUGH_EMPTY {
                return;
            }
            clock::sleep(Duration::from_millis(1));
            continue;
        }
        empty_passes = 0;
        // All processes are stopped before they are killed: otherwise each could start the next one in time.
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in &marked {
                let _ = kill_process(*pid, signal);
            }
        }
    }
}

/// Memory of this computer, bytes; `u64::MAX` if unknown.
pub fn computer_memory_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kb.map_or(u64::MAX, |kb| kb * 1024)
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Stdio;

    #[test]
    fn what_leaves_its_group_ends_too() {
        let script = "setsid sleep 300 & echo $!; exec sleep 300";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut group = Group::start(&mut command, "group-test-1").unwrap();
        let mut said = [0; 16];
        let length = group.child().stdout.take().unwrap().read(&mut said).unwrap();
        let runaway: i32 = std::str::from_utf8(&said[..length]).unwrap().trim().parse().unwrap();
        assert!(group.ended().is_none() && group.memory_bytes() > 100_000);
        group.end(Duration::from_secs(2));
        assert!(group.ended().is_some());
        let is_there = || {
            let stat = fs::read_to_string(format!("/proc/{runaway}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        let until = clock::now() + Duration::from_secs(5);
        while is_there() && clock::now() < until {
            clock::sleep(TICK);
        }
        assert!(!is_there(), "process {runaway} is still there");
    }

    #[test]
    fn processes_that_start_each_other_end_all() {
        // Each process starts the next one in a new session and ends; the last one starts none.
        let script =
            "if [ $1 -gt 0 ]; then sleep 0.01; setsid sh -c \"$0\" \"$0\" $(($1 - 1)) & fi";
        let mut command = Command::new("sh");
        command.args(["-c", script, script, "2000"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut group = Group::start(&mut command, "group-test-3").unwrap();
        let is_there = || {
            let marked = format!("{MARK}=group-test-3");
            let has = |pid: i32| {
                let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                variables.split(|byte| *byte == 0).any(|variable| variable == marked.as_bytes())
            };
            processes().any(has)
        };
        clock::sleep(Duration::from_millis(200));
        // During exec, a process briefly has no environment.
        let until = clock::now() + Duration::from_secs(5);
        let mut was_there = false;
        while !was_there && clock::now() < until {
            was_there = is_there();
        }
        assert!(was_there);
        group.end(Duration::from_secs(1));
        clock::sleep(Duration::from_millis(200));
        assert!(!is_there());
    }

    #[test]
    fn its_end_is_seen() {
        let mut group =
            Group::start(Command::new("sh").args(["-c", "exit 3"]), "group-test-2").unwrap();
        assert_eq!(group.wait(Duration::from_secs(5)).unwrap().code(), Some(3));
    }
}
