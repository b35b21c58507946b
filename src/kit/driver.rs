//! The driver under test: starts it, reads its output, monitors it and ends it.

use std::io;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use crate::kit::adapter::Adapter;
use crate::kit::clock;
use crate::kit::group::{Group, computer_memory_bytes};
use crate::kit::listener::Listener;
use crate::kit::placeholders::Placeholders;

/// Time between two checks of the driver.
const TICK: Duration = Duration::from_millis(50);
/// Longest time for the driver to end after a request.
const ENDING: Duration = Duration::from_secs(2);

/// Share of this computer's memory above which the driver is killed, to protect other programs.
const MOST_MEMORY: f64 = 0.5;

/// Inputs for the start of a driver.
pub struct Start<'a> {
    /// The command, with placeholders replaced.
    pub command: &'a [String],
    /// `NAME=VALUE` environment variables of the case.
    pub env: &'a [String],
    /// Placeholders about the sensor.
    pub placeholders: &'a Placeholders,
    /// Properties of the driver.
    pub adapter: &'a Adapter,
    /// Value of the environment variable `MENURA_TEST` of the driver's processes, by which they are recognised.
    pub mark: &'a str,
}

/// The driver under test: its process, once it is started, and the record of it.
pub struct Driver<'a> {
    start: Start<'a>,
    group: Mutex<Option<Group>>,
    state: Mutex<State>,
    over: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// First unrequested end of the driver: time and reason.
    ended: Option<(Instant, String)>,
    memory: Vec<(Instant, u64)>,
    /// Longest time for which the watching thread had no processor.
    stalled: Duration,
    /// Total time for which the driver has waited for a processor.
    waited: Duration,
}

/// Record of a driver, including its restarts.
#[derive(Debug)]
pub struct Life {
    /// Time and reason of the first unrequested end; `None` if the driver still ran at the end.
    pub ended: Option<(Instant, String)>,
    /// Memory of the driver over time, bytes.
    pub memory: Vec<(Instant, u64)>,
    /// Longest time for which the watching thread had no processor.
    pub stalled: Duration,
    /// Total time for which the driver's process waited for a processor. After restarts, the largest value of one
    /// process.
    pub waited: Duration,
}

impl<'a> Driver<'a> {
    /// A driver that is not started yet.
    pub fn new(start: Start<'a>) -> Self {
        Self {
            start,
            group: Mutex::default(),
            state: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    /// Starts the driver. Threads of `scope` read the driver's output until the driver ends.
    ///
    /// # Errors
    /// The program does not exist or cannot be started.
    pub fn launch<'scope>(
        &'scope self,
        listener: &'scope Listener<'_>,
        scope: &'scope Scope<'scope, '_>,
    ) -> io::Result<()> {
        let (program, arguments) =
            self.start.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments);
        // Python then writes its output without a buffer, so that lines arrive in time.
        command.env("PYTHONUNBUFFERED", "1");
        command.envs(self.start.placeholders.variables());
        command.envs(self.start.env.iter().filter_map(|pair| pair.split_once('=')));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Group::start(&mut command, self.start.mark)?;
        let child = group.child();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        scope.spawn(|| stdout.map(|pipe| listener.read_lines(pipe)));
        scope.spawn(|| stderr.map(|pipe| listener.read_lines(pipe)));
        // The previous process, if any, has ended.
        *self.group.lock().expect("no holder panics") = Some(group);
        Ok(())
    }

    /// Waits until the driver is ready or `stop` is set; the error has the reason why the driver is not ready.
    pub fn wait_ready(&self, listener: &Listener<'_>, stop: &AtomicBool) -> Result<(), String> {
        let adapter = self.start.adapter;
        let begun = clock::now();
        let within = Duration::from_secs_f64(adapter.ready_within_s);
        loop {
            let is_ready = listener.with(|output| {
                let told = output.observations.iter().any(|seen| seen.event == "ready");
                told || match &adapter.ready {
                    Some(ready) => output.matches.contains_key(ready.as_str()),
                    None => begun.elapsed() >= Duration::from_secs_f64(adapter.start_s),
                }
            });
            if is_ready || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if let Some(how) = self.how_it_ended() {
                return Err(format!("the driver ended before it was ready: {how}"));
            }
            if begun.elapsed() > within {
                return Err(format!("the driver was not ready after {} s", adapter.ready_within_s));
            }
            clock::sleep(Duration::from_millis(5));
        }
    }

    /// Monitors the driver's process and memory until [`Driver::finish`], and restarts the driver if the adapter
    /// requests it.
    pub fn watch<'scope>(
        &'scope self,
        listener: &'scope Listener<'_>,
        scope: &'scope Scope<'scope, '_>,
    ) {
        while !self.over.load(Ordering::Relaxed) {
            let slept = clock::now();
            clock::sleep(TICK);
            let stalled = slept.elapsed().saturating_sub(TICK);
            let (bytes, waited) = {
                let mut group = self.group.lock().expect("no holder panics");
                group.as_mut().map(|group| (group.memory_bytes(), group.waited())).unzip()
            };
            {
                let mut state = self.state.lock().expect("no holder panics");
                state.stalled = state.stalled.max(stalled);
                state.waited = state.waited.max(waited.unwrap_or_default());
                let seen = bytes.filter(|bytes| *bytes > 0).map(|bytes| (clock::now(), bytes));
                state.memory.extend(seen);
            }
            self.end_if_it_takes_too_much(bytes.unwrap_or(0));
            let ended = self.how_it_ended();
            if ended.is_some() && self.start.adapter.respawn && !self.over.load(Ordering::Relaxed) {
                let _ = self.launch(listener, scope);
            }
        }
    }

    /// Kills the driver if its memory, `bytes`, is at least the share [`MOST_MEMORY`] of this computer's memory.
    fn end_if_it_takes_too_much(&self, bytes: u64) {
        if (bytes as f64) < MOST_MEMORY * computer_memory_bytes() as f64 {
            return;
        }
        let mut group = self.group.lock().expect("no holder panics");
        if let Some(group) = group.as_mut() {
            group.kill();
        }
        let how = format!("Menura killed it because it used {} MB of memory", bytes / 1_000_000);
        let mut state = self.state.lock().expect("no holder panics");
        state.ended.get_or_insert_with(|| (clock::now(), how));
    }

    /// Kills and restarts the driver.
    ///
    /// # Errors
    /// See [`Driver::launch`].
    pub fn restart<'scope>(
        &'scope self,
        listener: &'scope Listener<'_>,
        scope: &'scope Scope<'scope, '_>,
    ) -> io::Result<()> {
        let group = self.group.lock().expect("no holder panics").take();
        if let Some(mut group) = group {
            group.kill();
        }
        self.launch(listener, scope)
    }

    /// Whether the driver has ended without a request.
    pub fn has_ended(&self) -> bool {
        self.how_it_ended().is_some()
    }

    /// How the driver ended; `None` if it runs or its end was requested.
    fn how_it_ended(&self) -> Option<String> {
        use std::os::unix::process::ExitStatusExt;
        let mut group = self.group.lock().expect("no holder panics");
        let status = group.as_mut()?.ended()?;
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => status.to_string(),
        };
        let mut state = self.state.lock().expect("no holder panics");
        state.ended.get_or_insert_with(|| (clock::now(), how.clone()));
        Some(how)
    }

    /// Ends the driver with all processes that it started; returns its record.
    pub fn finish(&self) -> Life {
        self.over.store(true, Ordering::Relaxed);
        let had_ended = self.has_ended();
        let group = self.group.lock().expect("no holder panics").take();
        if let Some(mut group) = group {
            group.end(ENDING);
        }
        let mut state = self.state.lock().expect("no holder panics");
        Life {
            ended: state.ended.take().filter(|_| had_ended),
            memory: std::mem::take(&mut state.memory),
            stalled: state.stalled,
            waited: state.waited,
        }
    }
}
