//! The rig of a case. It runs as a child process of the same program, so that its power can be cut and no state
//! remains.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::kit::clock;
use crate::kit::group::Group;
use crate::links::part_file::part_of;

/// Longest time for a rig to load its world and report that it runs.
const LOADING: Duration = Duration::from_secs(60);
/// Longest time for a run to end and complete its files.
const ENDING: Duration = Duration::from_secs(5);

/// If a packet is later than this, milliseconds, a failure is attributed to the busy machine instead of the driver.
const LATE_MS: f64 = 150.0;

/// Runs the rig of a case.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Path of the program `menura`.
    pub menura: PathBuf,
    /// Path of the rig.
    pub rig: PathBuf,
    /// `KEY=VALUE` settings that replace those of the rig.
    pub sets: Vec<String>,
    /// Folder for the files of the case.
    pub folder: PathBuf,
    /// Prefix of the marks of the case's processes (values of `MENURA_TEST`). The rig and the driver have different
    /// marks, so that the rig can end without the driver.
    pub mark: String,
}

/// A period in which the sensor has power without a break.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Number of the period, from 1.
    pub number: usize,
    /// UTC at the start.
    pub start_utc: jiff::Timestamp,
    /// Planned duration, seconds: until the end of the case. A power cut ends the period earlier.
    pub lasts_s: f64,
    /// `[[fault]]` tables as TOML.
    pub faults: String,
    /// `KEY=VALUE` settings that differ in this period.
    pub sets: Vec<String>,
}

/// Figures of one device in the report of a run.
#[derive(Clone, Debug, Default, Deserialize)]
struct Figures {
    name: String,
    #[serde(default)]
    misses: u64,
    #[serde(default)]
    packets: u64,
    #[serde(default)]
    lateness_us: Late,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Late {
    #[serde(default)]
    max: f64,
}

#[derive(Debug, Default, Deserialize)]
struct Report {
    #[serde(default)]
    devices: Vec<Figures>,
}

/// A running rig.
pub struct RunningRig {
    group: Group,
    first_instant: Arc<Mutex<Option<Instant>>>,
    reader: Option<std::thread::JoinHandle<()>>,
    log: PathBuf,
}

impl Bench {
    /// Arguments of `menura VERB RIG` with all settings of a period.
    fn arguments(&self, verb: &str, stretch: &Stretch) -> Vec<String> {
        let mut arguments = vec![verb.to_owned(), self.rig.display().to_string()];
        let own =
            [format!("start_utc={}", stretch.start_utc), format!("fault=[{}]", stretch.faults)];
        for set in self.sets.iter().chain(&stretch.sets).chain(&own) {
            arguments.extend(["--set".to_owned(), set.clone()]);
        }
        arguments.extend(["--duration".to_owned(), format!("{:.3}s", stretch.lasts_s)]);
        arguments
    }

    /// Path of a file of a period.
    pub fn file(&self, stretch: &Stretch, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}-{}.{extension}", stretch.number))
    }

    /// Switches the rig on.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(&self, stretch: &Stretch) -> io::Result<RunningRig> {
        let log = self.file(stretch, "menura", "log");
        let path = |name, extension| self.file(stretch, name, extension).display().to_string();
        let mut group = Group::start(
            Command::new(&self.menura)
                .args(self.arguments("run", stretch))
                .arg("--json-status")
                .args(["--fault-log", &path("faults", "csv")])
                .args(["--host-log", &path("hosts", "csv")])
                .args(["--report", &path("report", "json")])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(File::create(&log)?),
            &format!("{}-rig", self.mark),
        )?;
        let first_instant = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&first_instant);
        let stdout = group.child().stdout.take();
        let reader = std::thread::spawn(move || {
            for line in stdout.into_iter().flat_map(|out| BufReader::new(out).lines()).flatten() {
                let now = clock::now();
                let status: Option<serde_json::Value> = serde_json::from_str(&line).ok();
                let time_s = status.and_then(|status| status.get("time_s")?.as_f64());
                let mut noted = noted.lock().expect("no holder panics");
                if let (None, Some(time_s)) = (*noted, time_s) {
                    *noted = now.checked_sub(Duration::from_secs_f64(time_s.clamp(0.0, 1e6)));
                }
            }
        });
        Ok(RunningRig { group, first_instant, reader: Some(reader), log })
    }

    /// Records the output of a period again: the same seed gives the same bytes. Returns the folder of the files.
    ///
    /// # Errors
    /// The recording fails or takes longer than `patience`; the message has the reason.
    pub fn record(
        &self,
        stretch: &Stretch,
        name: &str,
        patience: Duration,
    ) -> Result<PathBuf, String> {
        let out = self.folder.join(format!("{name}-{}", stretch.number));
        let mut command = Command::new(&self.menura);
        command.args(self.record_arguments(stretch, &out));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut group = Group::start(&mut command, &format!("{}-record", self.mark))
            .map_err(|e| e.to_string())?;
        let stderr = group.child().stderr.take();
        let said = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.map(|mut pipe| io::Read::read_to_string(&mut pipe, &mut text));
            text
        });
        let ended = group.wait(patience);
        group.kill();
        let said = said.join().unwrap_or_default();
        match ended {
            Some(status) if status.success() => Ok(out),
            Some(_) => Err(said.trim().to_owned()),
            None => Err(format!("it has not ended after {} s", patience.as_secs())),
        }
    }

    fn record_arguments(&self, stretch: &Stretch, out: &Path) -> Vec<String> {
        let mut arguments = self.arguments("record", stretch);
        let force = ["--truth".into(), "--force".into()];
        arguments.extend(force.into_iter().chain(["--out".into(), out.display().to_string()]));
        let hosts = self.file(stretch, "hosts", "csv");
        // After a power cut, the log still has the name of an unfinished file.
        let is_there = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|about| about.len() > 0);
        if let Some(hosts) = [part_of(&hosts), hosts].into_iter().find(is_there) {
            arguments.extend(["--host-log".into(), hosts.display().to_string()]);
        }
        arguments
    }

    /// Shell command that records a period again.
    pub fn record_command(&self, stretch: &Stretch, out: &Path) -> String {
        let arguments = self.record_arguments(stretch, out).into_iter();
        let words = std::iter::once("menura".to_owned()).chain(arguments);
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }

    /// Text about the lateness of `device`'s packets in a period; `None` if the lateness is too small to affect a
    /// driver.
    pub fn lateness(&self, stretch: &Stretch, device: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.file(stretch, "report", "json")).ok()?;
        let report: Report = serde_json::from_str(&text).ok()?;
        let figures = report.devices.into_iter().find(|figures| figures.name == device)?;
        let late_ms = figures.lateness_us.max / 1e3;
        let (misses, packets) = (figures.misses, figures.packets);
        (late_ms > LATE_MS)
            .then(|| format!("{misses} of {packets} packets left late, the latest {late_ms:.0} ms"))
    }
}

impl RunningRig {
    /// Waits until the rig runs; returns its first instant.
    ///
    /// # Errors
    /// The rig ended early (the message has its output), or it takes too long.
    pub fn first_instant(&mut self) -> Result<Instant, String> {
        let until = clock::now() + LOADING;
        loop {
            if let Some(first) = *self.first_instant.lock().expect("no holder panics") {
                return Ok(first);
            }
            if self.group.ended().is_some() {
                let said = std::fs::read_to_string(&self.log).unwrap_or_default();
                return Err(format!("the rig did not start: {}", said.trim()));
            }
            if clock::now() > until {
                return Err(format!("the rig did not start within {} s", LOADING.as_secs()));
            }
            clock::sleep(Duration::from_millis(2));
        }
    }

    /// Cuts the sensor's power by killing the rig.
    pub fn cut(mut self) {
        self.group.kill();
        self.finish();
    }

    /// Waits for the planned end of the rig; returns whether it ended in time.
    pub fn end(mut self) -> bool {
        let is_in_time = self.group.wait(ENDING).is_some();
        self.group.end(ENDING);
        self.finish();
        is_in_time
    }

    fn finish(&mut self) {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:,+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_has_every_key_of_the_run() {
        let bench = Bench {
            menura: "menura".into(),
            rig: "a rig.toml".into(),
            sets: vec!["seed=3".into()],
            folder: "/nowhere".into(),
            mark: "m".into(),
        };
        let stretch = Stretch {
            number: 2,
            start_utc: "2026-06-01T12:00:00Z".parse().unwrap(),
            lasts_s: 2.5,
            faults: "{ kind = \"link-down\" }".into(),
            sets: vec!["device.a.settings.b=1".into()],
        };
        assert_eq!(
            bench.record_command(&stretch, Path::new("out")),
            "menura record 'a rig.toml' --set seed=3 --set device.a.settings.b=1 --set start_utc=2026-06-01T12:00:00Z \
             --set 'fault=[{ kind = \"link-down\" }]' --duration 2.500s --truth --force --out out"
        );
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
