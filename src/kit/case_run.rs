//! The run of one case: starts rig and driver, executes the events, and gives the verdict.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::kit::adapter::{Adapter, Read};
use crate::kit::bench::{Bench, Stretch};
use crate::kit::case::{Case, Stranger};
use crate::kit::case_actions::{What, actions, stretches};
use crate::kit::clock;
use crate::kit::driver::{Driver, Life, Start};
use crate::kit::evidence;
use crate::kit::host_clock::HostClock;
use crate::kit::judge::{CaseRecord, Found, judge};
use crate::kit::links::CaseLinks;
use crate::kit::listener::{DriverOutput, Listener, answer};
use crate::kit::placeholders::Placeholders;
use crate::kit::python;
use crate::kit::stranger::{self, Timed};
use crate::kit::truth::Truth;
use crate::kit::verdict::{Complaint, Outcome, Verdict};
use crate::kit::web;
use crate::links::part_file::PartFile;

/// Longest time for recording the evidence.
const RECORDING: Duration = Duration::from_secs(90);
/// Longest time for a command at the end of a case.
const ASKING: Duration = Duration::from_secs(20);
/// Longest time until a pseudo-terminal appears.
const TERMINAL: Duration = Duration::from_secs(5);
/// If this process gets no processor for longer than this, a failure is attributed to the busy machine instead of the
/// driver.
const STALLED: Duration = Duration::from_millis(400);
/// If the driver waits for a processor for longer than this in total, a failure is attributed to the busy machine
/// instead of the driver.
const WAITED: Duration = Duration::from_millis(700);
/// Largest number of moments (times of complaints) for which evidence is shown.
const MOMENTS: usize = 2;

/// Inputs of one case.
pub struct CaseRun<'a> {
    /// The case.
    pub case: &'a Case,
    /// Rig of the case.
    pub bench: Bench,
    /// Name of the device under test.
    pub device: String,
    /// Links of the devices.
    pub links: CaseLinks,
    /// Faults of the case in TOML.
    pub faults: String,
    /// UTC at power-on of the sensor.
    pub start_utc: jiff::Timestamp,
    /// Time from power-on to the start of the case, seconds.
    pub settle_s: f64,
    /// The command that starts the driver.
    pub command: &'a [String],
    /// Properties of the driver.
    pub adapter: &'a Adapter,
    /// For each rogue sender, the datagrams of its second unit; empty for rogue senders of other kinds.
    pub twins: Vec<Vec<Timed>>,
    /// Ground truth of the device.
    pub truth: Truth,
    /// Path of the device's calibration file, if there is one.
    pub calibration: Option<PathBuf>,
    /// Clock of the driver's computer, if the case changes it.
    pub clock: Option<HostClock>,
    /// Seed of random samples.
    pub seed: u64,
    /// Whether the files of the case are kept.
    pub keep: bool,
    /// In the last attempt: the expectations about values that every earlier attempt has failed, as texts. Otherwise
    /// empty.
    pub wrong_before: Vec<String>,
    /// Stops the case at once when set.
    pub stop: &'a AtomicBool,
}

/// Observations during a case.
struct Seen {
    output: DriverOutput,
    zero: Instant,
    switched_on: Vec<Instant>,
    stretches: Vec<Stretch>,
    life: Life,
    /// Whether the rig ended in time.
    ended_in_time: bool,
    /// Reason why the case cannot be run, such as a setting that the web interface refuses.
    refusal: Option<String>,
    complaints: Vec<Complaint>,
    notes: Vec<String>,
}

/// Adds the placeholders that exist in every case.
pub fn add_common(known: &mut Placeholders, case: &str, dir: &str, report: &str, menura: &str) {
    let (host, port) = report.rsplit_once(':').unwrap_or((report, ""));
    known.add("report_host", host);
    known.add("report_port", port);
    known.add("case", case);
    known.add("dir", dir);
    known.add("menura", menura);
}

impl CaseRun<'_> {
    /// Runs the case; returns the verdict and fills in `outcome`.
    pub fn run(self, outcome: &mut Outcome) -> Verdict {
        let seen = match self.watch() {
            Ok(seen) => seen,
            Err(what) => return Verdict::BenchFailed(what),
        };
        if let Some(why) = seen.refusal {
            return Verdict::NotApplicable(why);
        }
        if let Some(why) = seen.output.unusable {
            return Verdict::BenchFailed(why);
        }
        let (verdict, complaints) = self.verdict(&seen, outcome);
        outcome.complaints.extend(complaints);
        outcome.notes.extend(seen.notes.iter().cloned());
        if verdict != Verdict::Failed {
            return verdict;
        }
        // A failure on a machine that was too busy is not the driver's fault.
        if let Some(why) = self.excuse(&seen) {
            let is_again = |complaint: &Complaint| self.wrong_before.contains(&complaint.expected);
            if !outcome.complaints.iter().any(is_again) {
                let found = outcome.reason_of_complaints();
                return Verdict::BenchFailed(format!("this machine was too busy: {why}; {found}"));
            }
            // Values that are wrong in each attempt do not result from a busy machine.
            outcome
                .notes
                .push(format!("this machine was busy, but every attempt was wrong: {why}"));
        }
        self.show(&seen, outcome);
        verdict
    }

    /// A state of this machine that may explain a failure; `None` if the machine was not too busy.
    fn excuse(&self, seen: &Seen) -> Option<String> {
        if !seen.ended_in_time {
            return Some("the rig did not end in time".into());
        }
        if seen.life.stalled > STALLED {
            let ms = seen.life.stalled.as_millis();
            return Some(format!("the kit got no processor for {ms} ms"));
        }
        if seen.life.waited > WAITED {
            let ms = seen.life.waited.as_millis();
            return Some(format!("the driver waited for a processor for {ms} ms in total"));
        }
        seen.stretches.iter().find_map(|stretch| self.bench.lateness(stretch, &self.device))
    }

    fn watch(&self) -> Result<Seen, String> {
        let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
        let report = UdpSocket::bind("127.0.0.1:0")
            .map_err(|error| failed("no socket for datagrams of the driver", error))?;
        let report_at = report.local_addr().map_err(|error| error.to_string())?.to_string();
        let mut known = self.links.placeholders.clone();
        let dir = self.bench.folder.display().to_string();
        let menura = self.bench.menura.display().to_string();
        add_common(&mut known, &self.case.name, &dir, &report_at, &menura);
        let calibration = self.calibration.as_ref().map(|path| path.display().to_string());
        known.add("calibration", calibration.unwrap_or_default());
        let fill = |words: &[String]| {
            words.iter().map(|word| known.fill(word)).collect::<Result<Vec<_>, _>>()
        };
        let command = fill(self.command)?;
        let mut env = self.case.env.clone();
        env.extend(self.clock.iter().flat_map(HostClock::variables));
        let expected = self.case.expectations.iter().filter_map(|one| one.check.pattern());
        let listener = Listener::new(&self.adapter.reads, expected.chain(&self.adapter.ready));
        let over = AtomicBool::new(false);
        let mark = format!("{}-driver", self.bench.mark);
        let driver = Driver::new(Start {
            command: &command,
            env: &env,
            placeholders: &known,
            adapter: self.adapter,
            mark: &mark,
        });
        let done = std::thread::scope(|scope| {
            // Threads and processes end with the scope, even after an error.
            let _end = EndOfCase { over: &over, driver: &driver };
            scope.spawn(|| listener.read_datagrams(&report, &over));
            for read in &self.adapter.reads {
                match read {
                    Read::Cloud { path, event } => {
                        let path = PathBuf::from(known.fill(path)?);
                        let (listener, over) = (&listener, &over);
                        scope.spawn(move || listener.watch_cloud(&path, event, over));
                    }
                    Read::Ask { command, every_s, event } => {
                        let command = fill(command)?;
                        let every = Duration::from_secs_f64(*every_s);
                        let (listener, over) = (&listener, &over);
                        scope.spawn(move || listener.ask(&command, every, event, over));
                    }
                    Read::Pattern { .. } | Read::Json { .. } => {}
                }
            }
            self.play(&driver, &listener, &over, scope, &known)
        });
        let mut seen = done?;
        seen.output = listener.take();
        let one_in = seen.output.one_point_in();
        if one_in > 1 {
            let text =
                format!("one point in {one_in} was compared: the driver reported too many points");
            seen.notes.push(text);
        }
        Ok(seen)
    }

    /// Starts the rig and the driver, and executes all events in order.
    fn play<'scope>(
        &'scope self,
        driver: &'scope Driver<'scope>,
        listener: &'scope Listener<'scope>,
        over: &'scope AtomicBool,
        scope: &'scope std::thread::Scope<'scope, '_>,
        known: &Placeholders,
    ) -> Result<Seen, String> {
        let bind = |stranger: &Stranger| {
            UdpSocket::bind(stranger.from).map_err(|error| {
                format!("cannot open a rogue sender at {}: {error}", stranger.from)
            })
        };
        let sockets = self.case.strangers.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
        let mut complaints = Vec::new();
        let cannot = |error: std::io::Error| format!("cannot start the driver: {error}");
        let driver_first = self.case.driver_first.unwrap_or(self.links.data.is_some());
        let (start_utc, settle_s) = (self.start_utc, self.settle_s);
        let mut stretches = stretches(self.case, &self.device, start_utc, settle_s, &self.faults);
        // Starts the driver; returns whether it runs, or can be restarted later in the case.
        let launch = |complaints: &mut Vec<Complaint>| -> Result<bool, String> {
            driver.launch(listener, scope).map_err(cannot)?;
            scope.spawn(|| driver.watch(listener, scope));
            let Err(found) = driver.wait_ready(listener, self.stop) else { return Ok(true) };
            let (expected, is_about_values) = ("the driver becomes ready".to_owned(), false);
            complaints.push(Complaint { expected, found, at_s: None, is_about_values });
            let is_restarted = self.adapter.respawn || !self.case.driver_restarts_s.is_empty();
            Ok(is_restarted || !driver.has_ended())
        };
        let mut lives = true;
        if driver_first {
            lives = launch(&mut complaints)?;
        }
        let mut rig = Some(self.bench.start(&stretches[0]).map_err(|error| error.to_string())?);
        let first = rig.as_mut().expect("just started").first_instant()?;
        let zero = first + Duration::from_secs_f64(self.settle_s);
        let mut senders = Vec::new();
        for ((stranger, twin), socket) in self.case.strangers.iter().zip(&self.twins).zip(sockets) {
            let named = |to: &String| self.links.commands.iter().find(|(key, _)| key == to);
            let to = match &stranger.to {
                Some(to) => named(to).map(|(_, address)| *address),
                None => self.links.data,
            };
            let to = to.expect("strangers need a port to send to");
            let seed = self.seed;
            senders.push(
                scope.spawn(move || stranger::send(stranger, twin, &socket, to, zero, seed, over)),
            );
        }
        if !driver_first {
            let until = clock::now() + TERMINAL;
            while self.links.terminals.iter().any(|path| !path.exists()) && clock::now() < until {
                clock::sleep(Duration::from_millis(5));
            }
            self.sleep_until(first + Duration::from_secs_f64(self.case.driver_after_s));
            lives = launch(&mut complaints)?;
        }
        let mut switched_on = vec![first];
        let mut refusal = None;
        // Without a running driver, the events are skipped.
        for action in actions(self.case).into_iter().filter(|_| lives) {
            self.sleep_until(zero + Duration::from_secs_f64(action.at_s));
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            match action.what {
                What::Off => {
                    if let Some(rig) = rig.take() {
                        rig.cut();
                    }
                    // udev also removes the link when a device disappears. A remaining link could lead to a new
                    // pseudo-terminal with the same number, perhaps of another case.
                    for link in &self.links.terminals {
                        let _ = std::fs::remove_file(link);
                    }
                }
                What::On => {
                    let stretch = &mut stretches[switched_on.len()];
                    let mut again = self.bench.start(stretch).map_err(|error| error.to_string())?;
                    switched_on.push(again.first_instant()?);
                    rig = Some(again);
                }
                What::RestartDriver => driver.restart(listener, scope).map_err(cannot)?,
                What::Post(post) => {
                    let to = self.links.web.ok_or("the device has no web interface")?;
                    refusal = web::post(to, &post.path, &post.body)?;
                }
                What::StepClock(step) => {
                    let clock = self.clock.as_ref().ok_or("the driver's clock is not ready")?;
                    let told = clock.step(step.by_s);
                    told.map_err(|error| format!("cannot set the driver's clock: {error}"))?;
                    if !clock.is_used() {
                        let why =
                            "the driver does not load the C library, so its clock cannot be set";
                        refusal = Some(why.into());
                    }
                }
            }
            if refusal.is_some() {
                break;
            }
        }
        if refusal.is_none() && lives {
            self.sleep_until(zero + Duration::from_secs_f64(self.case.lasts_s));
        }
        // The commands run before the driver is asked to end: its output at the end is not judged.
        complaints.extend(self.ask(known)?);
        let life = driver.finish();
        over.store(true, Ordering::Relaxed);
        let is_whole = lives && refusal.is_none() && !self.stop.load(Ordering::Relaxed);
        for (sender, stranger) in senders.into_iter().zip(&self.case.strangers) {
            let sent = sender.join().expect("no sender panics");
            if is_whole && sent == 0 {
                let (from, at_s) = (stranger.from, stranger.start_s);
                return Err(format!("the rogue sender at {from}, from {at_s} s on, sent nothing"));
            }
        }
        let mut ended_in_time = true;
        if let Some(rig) = rig {
            match self.stop.load(Ordering::Relaxed) {
                _ if refusal.is_some() || !lives => rig.cut(),
                true => rig.cut(),
                false => ended_in_time = rig.end(),
            }
        }
        let (output, notes) = (DriverOutput::default(), Vec::new());
        Ok(Seen {
            output,
            zero,
            switched_on,
            stretches,
            life,
            ended_in_time,
            refusal,
            complaints,
            notes,
        })
    }

    fn sleep_until(&self, until: Instant) {
        while !self.stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                return;
            }
            clock::sleep(left.min(Duration::from_millis(50)));
        }
    }

    /// Runs the adapter's commands at the end of the case.
    fn ask(&self, known: &Placeholders) -> Result<Vec<Complaint>, String> {
        let mut complaints = Vec::new();
        for ask in &self.adapter.asks {
            let command: Vec<_> =
                ask.iter().map(|word| known.fill(word)).collect::<Result<_, _>>()?;
            let expected = format!("`{}` ends with code 0", command.join(" "));
            match answer(&command, ASKING, None) {
                Ok((true, _)) => {}
                Ok((false, said)) => {
                    let found = said.trim().chars().take(300).collect();
                    let (at_s, is_about_values) = (Some(self.case.lasts_s), false);
                    complaints.push(Complaint { expected, found, at_s, is_about_values });
                }
                Err(error) => return Err(format!("cannot ask `{}`: {error}", command[0])),
            }
        }
        Ok(complaints)
    }

    /// Compares the observations with the expectations.
    fn verdict(&self, seen: &Seen, outcome: &mut Outcome) -> (Verdict, Vec<Complaint>) {
        let start_unix_s = self.start_utc.as_nanosecond() as f64 / 1e9;
        let seconds = |at: Instant| match at.checked_duration_since(seen.zero) {
            Some(after) => after.as_secs_f64(),
            None => -seen.zero.duration_since(at).as_secs_f64(),
        };
        let memory: Vec<_> = seen
            .life
            .memory
            .iter()
            .map(|(at, bytes)| (seconds(*at), *bytes as f64 / 1e6))
            .collect();
        let record = CaseRecord {
            observations: &seen.output.observations,
            lines: &seen.output.lines,
            matches: &seen.output.matches,
            zero: seen.zero,
            switched_on: &seen.switched_on,
            start_unix_s,
            lasts_s: self.case.lasts_s,
            truth: &self.truth,
            memory: &memory,
            ended: seen.life.ended.as_ref().map(|(at, how)| (seconds(*at), how.clone())),
        };
        let mut complaints = seen.complaints.clone();
        let mut untold = Vec::new();
        let mut judged = 0;
        for expectation in &self.case.expectations {
            match judge(expectation, &record) {
                Found::Fine => judged += usize::from(!is_of_process(expectation)),
                Found::Wrong(found, at_s) => {
                    let is_about_values = at_s.is_some() && expectation.check.is_about_values();
                    let expected = expectation.to_string();
                    complaints.push(Complaint { expected, found, at_s, is_about_values });
                }
                Found::NotTold(why) => untold.push(why),
            }
        }
        for judge in &self.adapter.judges {
            match python::judge(judge, self.case, &record) {
                Ok(wrong) => complaints.extend(wrong.into_iter().map(|found| Complaint {
                    expected: format!("`{}` finds nothing", judge.function),
                    found,
                    at_s: None,
                    is_about_values: false,
                })),
                Err(error) => return (Verdict::BenchFailed(error), complaints),
            }
        }
        if !complaints.is_empty() {
            return (Verdict::Failed, complaints);
        }
        if judged == 0 && !untold.is_empty() && self.adapter.judges.is_empty() {
            return (Verdict::NotApplicable(untold.remove(0)), complaints);
        }
        outcome.notes.extend(untold.into_iter().map(|why| format!("not judged: {why}")));
        (Verdict::Passed, complaints)
    }

    /// Adds the evidence to the outcome: packets, faults and driver output around each failure, and how to reproduce
    /// them. With `keep`, also writes files with the log, the evidence and the commands that reproduce the packets.
    fn show(&self, seen: &Seen, outcome: &mut Outcome) {
        let commands = seen.stretches.iter().map(|stretch| {
            let out = self.bench.folder.join(format!("capture-{}", stretch.number));
            self.bench.record_command(stretch, &out)
        });
        let repeat = commands.collect::<Vec<_>>().join("\n");
        let mut moments: Vec<f64> =
            outcome.complaints.iter().filter_map(|complaint| complaint.at_s).collect();
        moments.dedup_by(|a, b| (*a - *b).abs() < 0.1);
        moments.truncate(MOMENTS);
        if moments.is_empty() {
            moments.push(0.0);
        }
        let said: Vec<_> = seen
            .output
            .lines
            .iter()
            .map(|line| {
                let at = line.at.checked_duration_since(seen.zero);
                let before = || -seen.zero.duration_since(line.at).as_secs_f64();
                (at.map_or_else(before, |after| after.as_secs_f64()), line.text.clone())
            })
            .collect();
        let mut recorded = Vec::new();
        for stretch in &seen.stretches {
            recorded.push(self.bench.record(stretch, "capture", RECORDING));
        }
        for at_s in moments {
            let rig_s = self.settle_s + at_s;
            let on = seen.stretches.iter().rposition(|stretch| {
                let on_ns = stretch.start_utc.as_nanosecond() - self.start_utc.as_nanosecond();
                on_ns as f64 / 1e9 <= rig_s
            });
            let stretch = &seen.stretches[on.unwrap_or(0)];
            let since_ns = stretch.start_utc.as_nanosecond() - self.start_utc.as_nanosecond();
            let run_s = rig_s - since_ns as f64 / 1e9;
            let text = &mut outcome.evidence;
            text.push_str(&format!("Around {at_s:.3} s of the case, {run_s:.3} s of the run:\n"));
            let packets = match &recorded[on.unwrap_or(0)] {
                Ok(folder) => {
                    let start = stretch.start_utc.as_nanosecond();
                    evidence::packets(folder, &self.device, start, run_s)
                }
                Err(error) => format!("(could not be recorded again: {error})"),
            };
            let faults = evidence::faults(&self.bench.file(stretch, "faults", "csv"), run_s);
            for (head, body) in [
                ("on the wire", packets),
                ("faults", faults),
                ("driver output", evidence::lines(&said, at_s)),
            ] {
                if !body.is_empty() {
                    text.push_str(&format!("{head}:\n{body}\n"));
                }
            }
        }
        if self.keep {
            let lines: Vec<_> =
                said.iter().map(|(at_s, text)| format!("{at_s:9.3}  {text}\n")).collect();
            let script = format!("#!/bin/sh\n# The same bytes again.\n{repeat}\n");
            for (name, text) in [
                ("driver.log", &lines.concat()),
                ("repeat.sh", &script),
                ("evidence.txt", &outcome.evidence),
            ] {
                let path = self.bench.folder.join(name);
                if let Err(error) = PartFile::write_whole(&path, text.as_bytes()) {
                    outcome.notes.push(format!("cannot write {}: {error}", path.display()));
                }
            }
            let shown = self.bench.folder.display();
            outcome.notes.push(format!("files of this case: {shown}"));
            outcome.repeat = repeat;
        } else {
            let name = &self.case.name;
            let text = format!(
                "`--only {name} --keep DIR` keeps capture, ground truth, logs and repeat.sh, which \
                 sends the same bytes"
            );
            outcome.notes.push(text);
        }
    }
}

/// Whether a driver that reports nothing can meet the expectation: it concerns the process, or forbids an output line.
fn is_of_process(expectation: &crate::kit::expectation::Expectation) -> bool {
    use crate::kit::expectation::Check;
    matches!(expectation.check, Check::Alive | Check::Memory { .. } | Check::SaysNot(_))
}

/// Ends the driver and the threads of a case when dropped.
struct EndOfCase<'a> {
    over: &'a AtomicBool,
    driver: &'a Driver<'a>,
}

impl Drop for EndOfCase<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.driver.finish();
    }
}
