//! `menura replay`: sends a capture's datagrams again with their original timing.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::certify::CertifyArgs;
use super::run::tell_refusals;
use super::stop::stop_on_signal;
use super::{CliError, all, console, summary};
use crate::analysis::capture::{CaptureReader, Source};
use crate::analysis::damage::Damage;
use crate::config::rig::{EngineConfig, Lead, SchedulerChoice, StampChoice};
use crate::engine::certificate::{Account, Certificate, digest};
use crate::engine::os::Grant;
use crate::engine::replay::{Replay, ReplayPacket, ReplayRun};
use crate::engine::replay_times::{JumpLimits, ReplayTimes};
use crate::time::SimTime;
use crate::time::duration::parse_duration;

/// Largest capture that is kept in memory, bytes.
const MAX_CAPTURE_BYTES: u64 = 4 << 30;
/// Largest number of distinct destinations.
const MOST_STREAMS: usize = 256;

/// Arguments of `menura replay`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Capture with UDP datagrams (pcap, pcapng, or a ROS 2 bag, .db3 or .mcap), or the recording of a serial device (.bin)
    capture: PathBuf,

    /// Write a serial device's recording to a pseudo-terminal with this name, once a program opens it
    #[arg(long, value_name = "PATH", conflicts_with_all = ["to", "port", "duration", "certificate", "require"])]
    pty: Option<PathBuf>,

    /// Send to this address, or ADDRESS:PORT [default: as captured]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_target)]
    to: Option<Target>,

    /// Send only the datagrams to this port of the capture; may be repeated
    #[arg(long, value_name = "PORT")]
    port: Vec<u16>,

    /// Repeat the capture for this long: 10s, 2min [default: once]
    #[arg(long, value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Longest wait where the capture has a pause or its clock jumps ahead
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    max_gap: Duration,

    /// Treat a backward step of the timestamps that exceeds this as a clock that was set
    ///
    /// Packets after a smaller backward step are sent together with those before them.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_duration)]
    max_back: Duration,

    /// Spin for this many microseconds before each due time instead of sleeping
    #[arg(long, value_name = "US", default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=10_000))]
    spin_us: u64,

    /// Submit datagrams to the kernel this many microseconds early; "auto" derives the value from
    /// transmit timestamps
    #[arg(long, value_name = "US", default_value = "0", value_parser = parse_lead)]
    lead_us: Lead,

    /// Pin the sending thread to this core and keep other threads of Menura off it
    #[arg(long, value_name = "CORE")]
    send_core: Option<usize>,

    /// Start a standby sender on this core; it sends when the first sender is delayed
    #[arg(long, value_name = "CORE", requires = "send_core")]
    standby_core: Option<usize>,

    /// Scheduling of the sending thread
    #[arg(long, default_value = SchedulerChoice::Fifo.word(), value_parser = choice_parser(SchedulerChoice::WORDS))]
    scheduler: SchedulerChoice,

    /// Let the kernel send datagrams at their due times; needs the qdisc etf or fq
    #[arg(long)]
    launch_time: bool,

    /// Source of transmit timestamps: the kernel, or a network card with its own clock
    #[arg(long, default_value = StampChoice::Kernel.word(), value_parser = choice_parser(StampChoice::WORDS))]
    stamps: StampChoice,

    #[command(flatten)]
    certify: CertifyArgs,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    ip: IpAddr,
    port: Option<u16>,
}

/// Command-line parser for a choice with the same words as in rigs.
fn choice_parser<T: Copy + Send + Sync + 'static, const N: usize>(
    words: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words.map(|(word, _)| word)).map(move |given| {
        let chosen = words.into_iter().find(|(word, _)| *word == given);
        chosen.expect("clap takes no other word").1
    })
}

fn parse_lead(text: &str) -> Result<Lead, String> {
    if text == Lead::AUTO {
        return Ok(Lead::Auto);
    }
    let us = text.parse().ok().filter(|us| (0.0..=Lead::MOST_US).contains(us));
    let us = us.ok_or_else(|| format!("\"{}\", or 0 to {} us", Lead::AUTO, Lead::MOST_US))?;
    Ok(Lead::of_us(us))
}

fn parse_target(text: &str) -> Result<Target, String> {
    if let Ok(ip) = text.parse() {
        return Ok(Target { ip, port: None });
    }
    let address: SocketAddr = text.parse().map_err(|_| "an address, or ADDRESS:PORT".to_owned())?;
    Ok(Target { ip: address.ip(), port: Some(address.port()) })
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if self.standby_core.is_some() && self.standby_core == self.send_core {
            let text = "error: --standby-core must differ from --send-core";
            return Err(CliError::Input(text.to_owned()));
        }
        let is_serial = self.capture.extension().is_some_and(|extension| extension == "bin");
        match (&self.pty, is_serial) {
            (Some(pty), true) => {
                let stop = stop_on_signal()?;
                let times = ReplayTimes::new(self.limits());
                return super::replay_serial::replay(&self.capture, pty, times, &stop);
            }
            (None, true) => {
                let text = "error: a recording of a serial device requires a pseudo-terminal: add \
                            --pty PATH";
                return Err(CliError::Input(text.to_owned()));
            }
            (Some(_), false) => {
                let text = "error: --pty requires a recording of a serial device (.bin)";
                return Err(CliError::Input(text.to_owned()));
            }
            (None, false) => {}
        }
        let (replay, odd, left_out) = self.read()?;
        let whole = left_out.map_or(Ok(()), |left_out| {
            let name = self.capture.display();
            Err(CliError::Input(format!("error: {name}: not sent: {left_out}")))
        });
        let names: Vec<_> = replay.streams.iter().map(|(name, _)| name.as_str()).collect();
        let certifier = self.certify.open(&names)?;
        let engine = EngineConfig {
            spin_ns: self.spin_us * 1000,
            lead: self.lead_us,
            send_core: self.send_core,
            standby_core: self.standby_core,
            scheduler: self.scheduler,
            launch_time: self.launch_time,
            stamps: self.stamps,
            ..EngineConfig::default()
        };
        let hashes = digest::of_replay(&self.capture)
            .map_err(|error| CliError::failed(self.capture.display(), &error))?;
        let stop = stop_on_signal()?;
        let run = ReplayRun::new(&replay, &engine)
            .map_err(|error| CliError::Failed(error.to_string()))?;
        let end = self.duration.unwrap_or(replay.cycle());
        console::say(format_args!(
            "{}: {} datagrams of {} streams, {:.3} s a pass",
            self.capture.display(),
            replay.packets.len(),
            replay.streams.len(),
            replay.cycle().as_secs_f64(),
        ));
        let grants = Mutex::new(Vec::<Grant>::new());
        run.run(SimTime(end.as_nanos() as u64), &stop, |granted| {
            tell_refusals(granted);
            grants.lock().expect("no holder panics").extend_from_slice(granted);
        });
        let elapsed = run.elapsed().min(end);
        let figures = run.figures(elapsed);
        let mut text = summary::summary(&figures, elapsed, None, &engine);
        text.extend(odd.iter().map(|line| format!("differs from the capture: {line}\n")));
        let mut outcomes = Vec::new();
        let mut verdict = Ok(());
        if certifier.is_wanted() {
            let grants = grants.into_inner().expect("no holder panics");
            let certificate = Certificate::new(Account {
                rig: self.capture.display().to_string(),
                overrides: odd,
                seed: 0,
                start: run.host_start(),
                host_start: run.host_start(),
                elapsed,
                engine: &engine,
                workers: 0,
                caster: String::new(),
                grants: &grants,
                hashes,
                figures: figures.clone(),
                timing: run.timing(),
                requirements: &certifier.required,
            });
            let certified = certifier.finish(&certificate);
            outcomes.push(certified.written);
            text += &certified.text;
            verdict = certified.verdict;
        }
        outcomes.extend([console::print(text), summary::all_sent(&figures), verdict, whole]);
        all(outcomes)
    }

    fn limits(&self) -> JumpLimits {
        JumpLimits { most_forward: self.max_gap, most_back: self.max_back }
    }

    /// Reads the capture and prints warnings. Returns the datagrams to send, notes on where replay and capture differ, and
    /// a text about datagrams that are left out; `None` if there are none.
    fn read(&self) -> Result<(Replay, Vec<String>, Option<String>), CliError> {
        let wrong = |why: String| {
            CliError::Input(format!("error: cannot replay {}: {why}", self.capture.display()))
        };
        let bytes = std::fs::metadata(&self.capture).map_err(|e| wrong(e.to_string()))?.len();
        if bytes > MAX_CAPTURE_BYTES {
            return Err(wrong("it is larger than 4 GB; cut it first".into()));
        }
        let mut reader =
            CaptureReader::open(Source::File(&self.capture)).map_err(|e| wrong(e.to_string()))?;
        let mut streams: BTreeMap<SocketAddr, usize> = BTreeMap::new();
        let mut replay = Replay::default();
        let mut times = ReplayTimes::new(self.limits());
        let mut damage = Damage::default();
        while let Some(frame) = reader.next_frame() {
            let frame = frame.map_err(|error| wrong(error.to_string()))?;
            let Some(datagram) = damage.datagram(&frame) else { continue };
            let captured = datagram.destination;
            let is_chosen = self.port.is_empty() || self.port.contains(&captured.port());
            if !is_chosen || captured.port() == 0 {
                continue;
            }
            let to = self.to.map_or(captured, |target| {
                SocketAddr::new(target.ip, target.port.unwrap_or(captured.port()))
            });
            let count = streams.len();
            let stream = *streams.entry(to).or_insert(count);
            if stream == count {
                if count == MOST_STREAMS {
                    return Err(wrong(format!(
                        "more than {MOST_STREAMS} destinations; use --port"
                    )));
                }
                replay.streams.push((to.to_string(), to));
            }
            let (at, payload) = (times.due(frame.unix_ns), datagram.payload.to_vec());
            replay.packets.push(ReplayPacket { stream, at, payload });
        }
        if replay.packets.is_empty() {
            return Err(wrong("it has no complete UDP datagrams of the selected ports".into()));
        }
        let mut odd = times.told();
        odd.extend(damage.told());
        for line in odd.iter().chain(&reader.others_told()) {
            console::say(format_args!("warning: {}: {line}", self.capture.display()));
        }
        let cut = (damage.cut_short > 0)
            .then(|| format!("{} datagrams that the capture truncated", damage.cut_short));
        let lost = reader.lost().map(|lost| lost.to_string());
        let left_out: Vec<_> = cut.into_iter().chain(lost).collect();
        Ok((replay, odd, (!left_out.is_empty()).then(|| left_out.join("; "))))
    }
}
