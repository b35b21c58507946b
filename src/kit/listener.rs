//! Reads a driver's output: lines, datagrams, files and answers become observations by the rules of the adapter.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read as _};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::{Map, Value};

use crate::kit::adapter::Read;
use crate::kit::clock;
use crate::kit::clouds;
use crate::kit::group::Group;
use crate::kit::observation::{Line, Observation, at_path};

/// Longest line, bytes; the rest is read as another line.
const MAX_LINE: usize = 16 << 20;
/// Longest part of a line that is kept for reports, characters. Patterns are applied to whole lines.
const KEPT_LINE: usize = 200;
/// Number of most recent lines that are kept.
const MOST_LINES: usize = 5000;
/// Largest number of observations, and of lines that match one pattern. With more of them, the case is not judged.
const MOST_EVENTS: usize = 500_000;
/// Largest number of points in all kept observations. With more points, only one in [`THINNING`] of them is kept.
const MOST_POINTS: usize = 5_000_000;
/// Factor by which points are thinned. It has no common factor with the usual numbers of lasers, so that points of all
/// lasers remain.
const THINNING: usize = 7;
/// Largest size of a cloud file, bytes.
const MAX_CLOUD_BYTES: u64 = 256 << 20;
/// Longest part of each output stream of a command that is read, bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// Time between two checks of sockets and files.
const TICK: Duration = Duration::from_millis(20);

/// Output of the driver in one test case: its lines, and the observations from all sources.
#[derive(Debug, Default)]
pub struct DriverOutput {
    /// The latest lines of the driver's output.
    pub lines: VecDeque<Line>,
    /// For each pattern that a line has matched: all its lines.
    pub matches: BTreeMap<String, Vec<Line>>,
    /// Observations in order of arrival.
    pub observations: Vec<Observation>,
    /// Reason why the output cannot be judged; `None` if it can.
    pub unusable: Option<String>,
    points: usize,
    /// Number of times that the points were thinned.
    thinned: u32,
}

impl DriverOutput {
    /// The kept share of the points as its inverse: 1 if all points are kept, n if one in n is kept.
    pub fn one_point_in(&self) -> usize {
        THINNING.pow(self.thinned)
    }

    fn keep(&mut self, mut observation: Observation) {
        if self.observations.len() == MOST_EVENTS {
            self.unusable = Some(too_many("events"));
            return;
        }
        if self.thinned > 0 {
            observation.thin(self.one_point_in());
        }
        self.points += observation.points.len();
        self.observations.push(observation);
        while self.points > MOST_POINTS {
            self.thinned += 1;
            self.observations.iter_mut().for_each(|kept| kept.thin(THINNING));
            self.points = self.observations.iter().map(|kept| kept.points.len()).sum();
        }
    }
}

fn too_many(what: &str) -> String {
    format!("the driver reported more than {MOST_EVENTS} {what}, too many for the kit to judge")
}

/// Collects the output of a driver from several threads.
pub struct Listener<'a> {
    reads: &'a [Read],
    /// Patterns by their texts.
    patterns: BTreeMap<&'a str, &'a Regex>,
    output: Mutex<DriverOutput>,
}

impl<'a> Listener<'a> {
    /// A listener that applies the rules `reads`, and keeps each line that matches one of `patterns`.
    pub fn new(reads: &'a [Read], patterns: impl IntoIterator<Item = &'a Regex>) -> Self {
        let patterns = patterns.into_iter().map(|pattern| (pattern.as_str(), pattern)).collect();
        Self { reads, patterns, output: Mutex::default() }
    }

    /// Calls `look` with the output so far; returns its result.
    pub fn with<T>(&self, look: impl FnOnce(&DriverOutput) -> T) -> T {
        look(&self.output.lock().expect("no holder panics"))
    }

    /// Returns all output so far.
    pub fn take(self) -> DriverOutput {
        self.output.into_inner().expect("no holder panics")
    }

    /// Reads lines of `from` until its end.
    pub fn read_lines(&self, from: impl std::io::Read) {
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match from.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => self.take_line(clock::now(), &String::from_utf8_lossy(&bytes)),
            }
        }
    }

    /// Reads JSON objects, one per line, from datagrams until `over` is set.
    pub fn read_datagrams(&self, socket: &UdpSocket, over: &AtomicBool) {
        let mut buffer = vec![0; 65_536];
        let _ = socket.set_read_timeout(Some(TICK));
        while !over.load(Ordering::Relaxed) {
            if let Ok((length, _)) = socket.recv_from(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..length]);
                let at = clock::now();
                text.lines().for_each(|line| self.take_json(at, line.trim()));
            }
        }
    }

    /// Reads a cloud file after each change, until `over` is set.
    pub fn watch_cloud(&self, path: &PathBuf, event: &str, over: &AtomicBool) {
        let mut known = None;
        while !over.load(Ordering::Relaxed) {
            clock::sleep(TICK);
            let Ok(about) = std::fs::metadata(path) else { continue };
            let state = (about.modified().ok(), about.len());
            if known == Some(state) || about.len() > MAX_CLOUD_BYTES {
                continue;
            }
            let Ok(bytes) = std::fs::read(path) else { continue };
            if let Some(points) = clouds::read(&path.to_string_lossy(), &bytes) {
                known = Some(state);
                self.keep(Observation::new(
                    clock::now(),
                    event.to_owned(),
                    clouds::fields(&points),
                ));
            } else if clouds::is_compressed(&bytes) {
                let why = format!(
                    "{} is a compressed PCD file, which the kit cannot read: write it with \
                     `DATA binary` or `DATA ascii`",
                    path.display()
                );
                self.output.lock().expect("no holder panics").unusable = Some(why);
            }
        }
    }

    /// Runs a command repeatedly until `over` is set; each run with exit code 0 gives an observation.
    pub fn ask(&self, command: &[String], every: Duration, event: &str, over: &AtomicBool) {
        let mut next = clock::now();
        while !over.load(Ordering::Relaxed) {
            clock::sleep(TICK);
            if clock::now() < next {
                continue;
            }
            next = clock::now() + every;
            if let Ok((true, said)) = answer(command, every.max(Duration::from_secs(5)), None) {
                let fields = serde_json::from_str(said.trim()).unwrap_or_default();
                self.keep(Observation::new(clock::now(), event.to_owned(), fields));
            }
        }
    }

    fn take_line(&self, at: Instant, line: &str) {
        let line = line.trim_end_matches(['\n', '\r']);
        let text = match line.char_indices().nth(KEPT_LINE) {
            Some((end, _)) => format!("{} ... ({} bytes)", &line[..end], line.len()),
            None => line.to_owned(),
        };
        let is_match = |(_, pattern): &(&&str, &&Regex)| pattern.is_match(line);
        let matched: Vec<_> =
            self.patterns.iter().filter(is_match).map(|(name, _)| *name).collect();
        {
            let mut output = self.output.lock().expect("no holder panics");
            for name in matched {
                let lines = output.matches.entry(name.to_owned()).or_default();
                if lines.len() < MOST_EVENTS {
                    lines.push(Line { at, text: text.clone() });
                } else {
                    output.unusable = Some(too_many(&format!("lines that match `{name}`")));
                }
            }
            if output.lines.len() == MOST_LINES {
                output.lines.pop_front();
            }
            output.lines.push_back(Line { at, text });
        }
        for read in self.reads {
            if let Read::Pattern { pattern, event } = read
                && let Some(found) = pattern.captures(line)
            {
                let field =
                    |name: &str| Some((name.to_owned(), Value::from(found.name(name)?.as_str())));
                let fields = pattern.capture_names().flatten().filter_map(field).collect();
                self.keep(Observation::new(at, event.clone(), fields));
            }
        }
        self.take_json(at, line.trim());
    }

    fn take_json(&self, at: Instant, text: &str) {
        if !text.starts_with('{') {
            return;
        }
        let Ok(object) = serde_json::from_str::<Value>(text) else { return };
        for read in self.reads {
            if let Read::Json { only, event, fields } = read {
                self.keep_all(observation(at, &object, only, event.as_deref(), fields));
            }
        }
    }

    fn keep_all(&self, observation: Option<Observation>) {
        if let Some(observation) = observation {
            self.keep(observation);
        }
    }

    fn keep(&self, observation: Observation) {
        self.output.lock().expect("no holder panics").keep(observation);
    }
}

/// The observation that a JSON object reports; `None` if the object does not have the values `only`, or has no event
/// name although `event` is `None`. Without `fields`, all keys of the object except `event` are kept.
fn observation(
    at: Instant,
    object: &Value,
    only: &[(String, Value)],
    event: Option<&str>,
    fields: &[(String, String)],
) -> Option<Observation> {
    let is_meant = only.iter().all(|(path, value)| at_path(object, path) == Some(value));
    let own = object.get("event").and_then(Value::as_str);
    let event = event.or(own).filter(|_| is_meant)?.to_owned();
    let told: Map<String, Value> = match fields {
        [] => object.as_object()?.clone(),
        fields => {
            let field = |(ours, path): &(String, String)| {
                Some((ours.clone(), at_path(object, path)?.clone()))
            };
            fields.iter().filter_map(field).collect()
        }
    };
    let mut observation = Observation::new(at, event, told);
    observation.fields.shift_remove("event");
    Some(observation)
}

/// Runs a command for at most `patience`, then kills it; returns whether its exit code was 0, and its output (stdout
/// and stderr).
///
/// # Errors
/// The command cannot be started.
pub fn answer(
    command: &[String],
    patience: Duration,
    input: Option<&str>,
) -> std::io::Result<(bool, String)> {
    use std::io::Write;
    let (program, arguments) = command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    static ASKED: AtomicU64 = AtomicU64::new(0);
    let mark = format!("{}-ask-{}", std::process::id(), ASKED.fetch_add(1, Ordering::Relaxed));
    let mut group = Group::start(
        Command::new(program)
            .args(arguments)
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
        &mark,
    )?;
    let child = group.child();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let said = Mutex::new(String::new());
    let mut ended = None;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if let (Some(mut pipe), Some(input)) = (stdin, input) {
                let _ = pipe.write_all(input.as_bytes());
            }
        });
        let said = &said;
        scope.spawn(move || collect(stdout, said));
        scope.spawn(move || collect(stderr, said));
        ended = group.wait(patience);
        // Processes that the command has left behind would keep the pipes open.
        group.kill();
    });
    let mut said = said.into_inner().expect("no holder panics");
    if ended.is_none() {
        said += &format!("no answer within {} s", patience.as_secs_f64());
    }
    Ok((ended.is_some_and(|status| status.success()), said))
}

/// Collects the output of a pipe in a buffer.
fn collect(pipe: Option<impl std::io::Read>, said: &Mutex<String>) {
    let mut text = Vec::new();
    let _ = pipe.map(|pipe| pipe.take(MAX_ANSWER).read_to_end(&mut text));
    said.lock().expect("no holder panics").push_str(&String::from_utf8_lossy(&text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_become_observations() {
        let reads = [
            Read::Pattern {
                pattern: Regex::new(r"lat (?P<lat_deg>\S+)( lon (?P<lon_deg>\S+))?").unwrap(),
                event: "fix".into(),
            },
            Read::Json {
                only: vec![("class".into(), json!("TPV"))],
                event: Some("fix".into()),
                fields: vec![("lat_deg".into(), "at.lat".into())],
            },
            Read::Json { only: Vec::new(), event: None, fields: Vec::new() },
        ];
        let listener = Listener::new(&reads, []);
        let text = "hello\nlat 1.5\n{\"class\": \"TPV\", \"at\": {\"lat\": 2}}\n{\"class\": \"SKY\"}\n\
                    {\"event\": \"points\", \"points\": []}\n{ broken\n";
        listener.read_lines(text.as_bytes());
        let output = listener.take();
        assert_eq!(output.lines.len(), 6);
        let told: Vec<_> = output.observations.iter().map(Observation::brief).collect();
        assert_eq!(told, ["fix lat_deg=\"1.5\"", "fix lat_deg=2", "points (0 points)"]);
    }

    #[test]
    fn long_lines_are_cut_for_people() {
        let listener = Listener::new(&[], []);
        listener.read_lines("x".repeat(600).as_bytes());
        assert!(listener.take().lines[0].text.ends_with("x ... (600 bytes)"));
    }

    #[test]
    fn lines_that_match_a_pattern_are_all_kept() {
        let patterns = ["^Traceback", "end$", "never"].map(|text| Regex::new(text).unwrap());
        let listener = Listener::new(&[], &patterns);
        listener.read_lines("Traceback\n".as_bytes());
        listener.read_lines("x\n".repeat(MOST_LINES).as_bytes());
        listener.read_lines(format!("{} end\n", "y".repeat(250)).as_bytes());
        let output = listener.take();
        assert_eq!(output.lines.len(), MOST_LINES);
        assert!(output.lines.iter().all(|line| !line.text.contains("Traceback")));
        let found: Vec<_> = output.matches.iter().map(|(p, l)| (p.as_str(), l.len())).collect();
        assert_eq!(found, [("^Traceback", 1), ("end$", 1)]);
        assert!(output.matches["end$"][0].text.ends_with("y ... (254 bytes)"));
    }

    #[test]
    fn too_many_points_are_thinned_and_their_events_stay() {
        let mut output = DriverOutput::default();
        let points = vec![[1.0, 2.0, 3.0]; MOST_POINTS / 2];
        for _ in 0..3 {
            let mut seen = Observation::new(clock::now(), "points".into(), Map::new());
            (seen.points, seen.point_count) = (points.clone(), points.len());
            output.keep(seen);
        }
        assert_eq!((output.observations.len(), output.one_point_in()), (3, 7));
        for seen in &output.observations {
            let kept = (MOST_POINTS / 2).div_ceil(7);
            assert_eq!((seen.point_count, seen.points.len()), (MOST_POINTS / 2, kept));
        }
        assert_eq!(output.unusable, None);
    }

    #[test]
    fn output_with_too_many_events_is_not_judged() {
        let mut output = DriverOutput::default();
        let seen = Observation::new(clock::now(), "fix".into(), Map::new());
        for _ in 0..MOST_EVENTS {
            output.keep(seen.clone());
        }
        assert_eq!(output.unusable, None);
        output.keep(seen);
        assert!(output.unusable.is_some_and(|why| why.contains("more than 500000 events")));
    }

    #[test]
    fn commands_are_judged_by_their_code() {
        let shell = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
        let ask =
            |script: &str| answer(&shell(script), Duration::from_secs(5), Some("in")).unwrap();
        assert_eq!(ask("cat; exit 0"), (true, "in".to_owned()));
        assert_eq!(ask("echo no >&2; exit 3"), (false, "no\n".to_owned()));
        let slow = answer(&shell("exec sleep 60"), Duration::from_millis(50), None).unwrap();
        assert_eq!(slow, (false, "no answer within 0.05 s".to_owned()));
    }
}
