//! Tests of the effects of a run on its machine: names of pseudo-terminals, memory of its threads.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common;

/// A running rig with IMUs on pseudo-terminals.
struct Run {
    menura: Child,
}

fn rig(folder: &Path, devices: usize) -> PathBuf {
    let mut text =
        "[world]\nscene = \"room\"\n[robot]\ntrajectory = { kind = \"still\" }\n".to_owned();
    for number in 0..devices {
        text += &format!(
            "[[device]]\nname = \"imu-{number}\"\nprofile = \"wheeltec-n100\"\n\
             link = {{ pty = \"ports/imu-{number}\" }}\n"
        );
    }
    let path = folder.join("rig.toml");
    fs::write(&path, text).unwrap();
    path
}

fn menura(rig: &Path, duration: &str) -> Command {
    let mut command = common::menura();
    command.arg("run").arg(rig).args(["--duration", duration]);
    command
}

fn finished(rig: &Path) -> Output {
    menura(rig, "0.1s").output().unwrap()
}

impl Run {
    /// Starts the run; returns when all `devices` devices send.
    #[allow(clippy::disallowed_methods)] // waits for another process, not for the simulation
    fn start(rig: &Path, devices: usize) -> Self {
        let menura = menura(rig, "120s").stderr(Stdio::null()).spawn().unwrap();
        let run = Self { menura };
        for number in 0..devices {
            let link = rig.with_file_name("ports").join(format!("imu-{number}"));
            let mut host = (0..3000).find_map(|_| {
                std::thread::sleep(Duration::from_millis(10));
                File::open(&link).ok()
            });
            let host = host.as_mut().expect("the link of a running device");
            host.read_exact(&mut [0]).unwrap();
        }
        run
    }

    fn kill(&mut self) {
        self.menura.kill().unwrap();
        self.menura.wait().unwrap();
    }

    /// Size of all threads' stacks except the first one's, bytes: the mappings after guard pages.
    fn stack_bytes(&self) -> u64 {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.menura.id())).unwrap();
        let areas: Vec<(u64, u64, &str)> = maps
            .lines()
            .map(|line| {
                let (range, rest) = line.split_once(' ').unwrap();
                let (start, end) = range.split_once('-').unwrap();
                let number = |text| u64::from_str_radix(text, 16).unwrap();
                (number(start), number(end), rest.split(' ').next().unwrap())
            })
            .collect();
        let is_guard =
            |(start, end, rights): (u64, u64, &str)| rights == "---p" && end - start <= 16 << 10;
        let pairs = areas.windows(2).filter(|pair| is_guard(pair[0]) && pair[0].1 == pair[1].0);
        pairs.filter(|pair| pair[1].2 == "rw-p").map(|pair| pair[1].1 - pair[1].0).sum()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.menura.kill();
        let _ = self.menura.wait();
    }
}

#[test]
fn a_name_that_another_run_uses_is_refused_and_one_that_a_killed_run_left_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), 1);
    let link = folder.path().join("ports/imu-0");
    let mut first = Run::start(&rig, 1);
    let terminal = fs::read_link(&link).unwrap();
    let second = finished(&rig);
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{text}");
    let expected = format!("another running Menura (process {})", first.menura.id());
    assert!(text.contains(&expected) && text.contains("imu-0"), "{text}");
    assert_eq!(fs::read_link(&link).unwrap(), terminal, "the first one's link is as it was");
    first.kill();
    assert!(fs::symlink_metadata(&link).is_ok(), "a killed run removes nothing");
    let third = finished(&rig);
    assert!(third.status.success(), "{}", String::from_utf8_lossy(&third.stderr));
    assert_eq!(fs::read_dir(folder.path().join("ports")).unwrap().count(), 0);
}

#[test]
fn a_link_that_no_run_made_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(folder.path(), 2);
    let link = folder.path().join("ports/imu-1");
    fs::create_dir(folder.path().join("ports")).unwrap();
    symlink("/dev/null", &link).unwrap();
    let refused = finished(&rig);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.contains("there is another symbolic link, to /dev/null,"), "{text}");
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("/dev/null"));
    let count = fs::read_dir(folder.path().join("ports")).unwrap().count();
    assert_eq!(count, 1, "nothing half-started is left");
}

/// If the system permits it, stacks are locked in RAM with all other memory.
#[test]
fn a_serial_device_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let of = |devices| Run::start(&rig(folder.path(), devices), devices).stack_bytes();
    let (one, nine) = (of(1), of(9));
    assert!(one > 0, "no stacks found");
    let each_kib = (nine.saturating_sub(one) / 8) >> 10;
    assert!(each_kib <= 256, "{each_kib} KiB of stack a device");
}
