//! Certificate of a run. It records when each packet was due, when it was submitted to the kernel and when it left. It
//! also describes the host and its clock, and contains hashes of rig, profiles, scene and program.

pub mod digest;
pub mod require;

use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::os::Grant;
use super::ptp_figures::PtpFigures;
use super::run::TimingLog;
use super::stats::{self, DeviceFigures, Lateness, PortPackets};
use crate::config::rig::{EngineConfig, Lead};
use crate::timing::ErrorFigures;
use crate::timing::clock;
use crate::timing::clock_state::ClockState;
use require::{Requirement, Verdict};

/// Name of the file format.
pub const FORMAT: &str = "menura-certificate-2";
/// Older formats that can also be read. The first one has the field `position_packets` instead of
/// [`DeviceTiming::ports`].
const OLDER_FORMATS: [&str; 1] = ["menura-certificate-1"];

/// Record of a run's timing, to be kept as a proof. Keys are stable within a [`FORMAT`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The format: [`FORMAT`], or an older one in an old certificate.
    pub format: String,
    /// Version of Menura that made the run.
    pub menura: String,
    /// File name of the rig, or of the replayed capture.
    pub rig: String,
    /// `--set` options of the command line.
    pub overrides: Vec<String>,
    /// Seed of all random samples of the run.
    pub seed: u64,
    /// Device time at the start of the run, UTC.
    pub start_utc: String,
    /// Time of the host's clock at the start of the run, UTC.
    pub host_start_utc: String,
    /// Duration of the run, seconds.
    pub run_s: f64,
    /// Simulated time of the rig, seconds: less than `run_s` if a device was behind at the end. 0 in certificates of
    /// older versions of Menura.
    #[serde(default)]
    pub simulated_s: f64,
    /// Settings that determined how packets were sent.
    pub sending: Sending,
    /// Rights that Menura requested from the operating system, each with the system's answer.
    pub rights: Vec<Right>,
    /// SHA-256 of the inputs of the run.
    pub hashes: Vec<Hash>,
    /// State of the host's clock.
    pub clock: ClockState,
    /// Properties of the host: [`HostFacts`](super::host::HostFacts) as JSON.
    pub host: serde_json::Value,
    /// Timing of each device's packets, in the rig's order.
    pub devices: Vec<DeviceTiming>,
    /// Requirements, each with its verdict.
    pub requirements: Vec<Verdict>,
}

/// Settings that determined how packets were sent, mainly from `[engine]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sending {
    /// `engine.spin_us`: time for which the sender polls the clock before a packet is due.
    pub spin_us: f64,
    /// `engine.lead_us`: time before the due time at which datagrams are submitted. `None` for `"auto"`: each device
    /// then has its own lead.
    pub lead_us: Option<f64>,
    /// `engine.scheduler`: scheduling class of the sending thread.
    pub scheduler: String,
    /// `engine.send_core`: core that the sending thread is bound to, if any.
    pub send_core: Option<usize>,
    /// `engine.standby_core`: core of the standby sender; `None` without a standby sender.
    #[serde(default)]
    pub standby_core: Option<usize>,
    /// `engine.launch_time`: whether the packet scheduler holds each datagram until its launch time.
    pub launch_time: bool,
    /// `engine.stamps`: requested source of the transmit timestamps.
    #[serde(default)]
    pub stamps: String,
    /// `engine.late`: treatment of packets that are not ready when they are due.
    pub late: String,
    /// `engine.miss_threshold_us`: lateness above which a packet counts as late.
    pub miss_threshold_us: f64,
    /// `engine.render_ahead_ms`: time by which rendering may run ahead of real time.
    pub render_ahead_ms: f64,
    /// Number of threads that cast rays.
    pub workers: usize,
    /// Identity of the ray caster: the processor, a GPU with its driver, or a library; if a GPU was lost, also the
    /// reason. Empty for replays and in certificates of older versions of Menura.
    #[serde(default)]
    pub caster: String,
}

/// A right that Menura requested from the operating system, and the system's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Right {
    /// Description of the requested right.
    pub wish: String,
    /// Whether the operating system granted the requested right, for example real-time priority.
    pub granted: bool,
    /// Reason why the system refused the right; `None` if it was granted.
    pub refused_because: Option<String>,
}

/// SHA-256 of one input of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hash {
    /// Kind of the input: `rig`, `profile`, `scene`, `capture` or `binary`.
    pub part: String,
    /// Name of the input.
    pub name: String,
    /// SHA-256 of the file's bytes; for a scene, of the data that was loaded from it.
    pub sha256: String,
}

/// The timing of one device's packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceTiming {
    /// Name of the device.
    pub name: String,
    /// Name of the device's profile.
    pub profile: String,
    /// Connection that the device sends on, as text, for example `udp 127.0.0.1:2368` or `serial /dev/ttyUSB0`.
    pub link: String,
    /// Packets sent, including late ones.
    pub packets: u64,
    /// Packets by port; empty for a device without datagrams.
    #[serde(default)]
    pub ports: Vec<PortPackets>,
    /// Payload bytes of all packets sent.
    pub bytes: u64,
    /// Nominal number of packets per second, as the real device sends them.
    pub nominal_rate_hz: f64,
    /// Packets submitted to the kernel later than `engine.miss_threshold_us` after they were due.
    pub sent_late: u64,
    /// Packets not sent because they were too late.
    pub dropped: u64,
    /// Measurements with fewer rays per pulse, because rendering was late.
    #[serde(default)]
    pub thinned: u64,
    /// Delay of the device's measurements behind real time at the end, seconds.
    #[serde(default)]
    pub behind_s: f64,
    /// Packets that the operating system refused to send.
    pub refused: u64,
    /// Reasons for the refusals, each once, in the order of their first occurrence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_because: Vec<String>,
    /// Packets sent whose timing was not recorded, because the recording thread was too slow.
    pub unrecorded: u64,
    /// Source of the times at which packets left: `kernel`, `card`, or `none` for links without
    /// timestamps.
    pub stamps: String,
    /// Number of timestamps that the network card took; the kernel took the others.
    #[serde(default)]
    pub stamped_by_card: u64,
    /// Largest uncertainty of a reading of the network card's clock, microseconds.
    #[serde(default)]
    pub card_comparison_us: f64,
    /// Packets that the standby sender sent, because the first sender had lost its core.
    #[serde(default)]
    pub by_standby: u64,
    /// Final lead: time before the due time at which datagrams are submitted to the kernel, microseconds.
    #[serde(default)]
    pub lead_us: f64,
    /// Packets without a transmit timestamp.
    pub unstamped: u64,
    /// Submission to the kernel minus due time.
    pub handed: ErrorFigures,
    /// Transmit timestamp minus due time.
    pub departed: ErrorFigures,
    /// Transmit timestamp minus submission to the kernel.
    pub in_kernel: ErrorFigures,
    /// Latency from the arrival of a drive command to the submission of the first packet that shows the
    /// motion; none if the robot is not driven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_to_wire_us: Option<Lateness>,
    /// Figures of the device's PTP clock; none without PTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptp: Option<PtpFigures>,
}

impl DeviceTiming {
    /// Statistics of the most precise departure times: of the transmit timestamps if there are any, otherwise of the
    /// submissions to the kernel.
    pub fn evidence(&self) -> &ErrorFigures {
        if self.departed.count > 0 { &self.departed } else { &self.handed }
    }

    /// Whether the device sent nothing although it had data to send.
    pub fn sent_nothing(&self) -> bool {
        self.packets == 0 && self.dropped + self.refused > 0
    }

    fn new(figures: DeviceFigures, timing: &Mutex<TimingLog>) -> Self {
        let timing = timing.lock().expect("no holder panics");
        Self {
            name: figures.name,
            profile: figures.profile,
            link: figures.link,
            packets: figures.packets,
            ports: figures.ports,
            bytes: figures.bytes,
            nominal_rate_hz: figures.nominal_rate_hz,
            sent_late: figures.sent_late,
            dropped: figures.dropped,
            thinned: figures.thinned,
            behind_s: figures.behind_s,
            refused: figures.send_errors,
            refused_because: figures.refused_because,
            unrecorded: figures.unrecorded,
            stamps: match (timing.is_stamped, timing.by_card) {
                (false, _) => "none",
                (true, 0) => "kernel",
                (true, _) => "card",
            }
            .to_owned(),
            stamped_by_card: timing.by_card,
            by_standby: timing.by_standby,
            lead_us: figures.lead_us,
            card_comparison_us: timing.card_uncertainty_ns as f64 / 1e3,
            unstamped: timing.unstamped,
            handed: timing.handed.figures(),
            departed: timing.departed.figures(),
            in_kernel: timing.in_kernel.figures(),
            order_to_wire_us: figures.order_to_wire_us,
            ptp: figures.ptp,
        }
    }
}

/// Data of a finished run or replay for its certificate.
pub struct Account<'a> {
    /// File name of the rig or of the capture.
    pub rig: String,
    /// `--set` options of the command line.
    pub overrides: Vec<String>,
    /// Seed of all random samples of the run.
    pub seed: u64,
    /// Device time at the start of the run.
    pub start: jiff::Timestamp,
    /// Time of the host's clock at the start of the run.
    pub host_start: jiff::Timestamp,
    /// Duration of the run.
    pub elapsed: Duration,
    /// Engine settings, which determined how packets were sent.
    pub engine: &'a EngineConfig,
    /// Number of threads that cast rays.
    pub workers: usize,
    /// Identity of the ray caster; empty for a replay.
    pub caster: String,
    /// Rights that Menura requested from the operating system, each with the system's answer.
    pub grants: &'a [Grant],
    /// SHA-256 of the inputs of the run.
    pub hashes: Vec<Hash>,
    /// Each device's counters.
    pub figures: Vec<DeviceFigures>,
    /// The timing of each device's packets.
    pub timing: &'a [Mutex<TimingLog>],
    /// Requirements on the timing.
    pub requirements: &'a [Requirement],
}

impl Certificate {
    /// The certificate of a run that has ended.
    pub fn new(account: Account<'_>) -> Self {
        let simulated_s = stats::simulated_s(&account.figures, account.elapsed);
        let devices: Vec<_> = account
            .figures
            .into_iter()
            .zip(account.timing)
            .map(|(figures, timing)| DeviceTiming::new(figures, timing))
            .collect();
        let verdicts = account.requirements.iter().flat_map(|r| r.judge(&devices)).collect();
        Self {
            format: FORMAT.to_owned(),
            menura: env!("CARGO_PKG_VERSION").to_owned(),
            rig: account.rig,
            overrides: account.overrides,
            seed: account.seed,
            start_utc: account.start.to_string(),
            host_start_utc: account.host_start.to_string(),
            run_s: account.elapsed.as_secs_f64(),
            simulated_s,
            sending: Sending::new(account.engine, account.workers, account.caster),
            rights: account.grants.iter().map(Right::new).collect(),
            hashes: account.hashes,
            clock: ClockState::now(&clock::realtime_offset()),
            host: serde_json::to_value(super::host::facts()).unwrap_or_default(),
            devices,
            requirements: verdicts,
        }
    }

    /// Reads a certificate from its JSON.
    ///
    /// # Errors
    /// The text is not the JSON of a certificate, or the certificate has an unknown format.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
        }
        let head: Head = serde_json::from_str(text)
            .map_err(|error| format!("not a certificate of `menura run`: {error}"))?;
        if head.format != FORMAT && !OLDER_FORMATS.contains(&head.format.as_str()) {
            let allowed =
                [FORMAT].into_iter().chain(OLDER_FORMATS).collect::<Vec<_>>().join("\", \"");
            return Err(format!("its format is \"{}\"; allowed: \"{allowed}\"", head.format));
        }
        serde_json::from_str(text).map_err(|error| format!("a damaged certificate: {error}"))
    }

    /// Whether all requirements are met.
    pub fn is_met(&self) -> bool {
        self.requirements.iter().all(|verdict| verdict.is_met)
    }
}

impl Sending {
    fn new(engine: &EngineConfig, workers: usize, caster: String) -> Self {
        Self {
            spin_us: engine.spin_ns as f64 / 1e3,
            lead_us: match engine.lead {
                Lead::Fixed { ns } => Some(ns as f64 / 1e3),
                Lead::Auto => None,
            },
            scheduler: engine.scheduler.word().to_owned(),
            send_core: engine.send_core,
            standby_core: engine.standby_core,
            launch_time: engine.launch_time,
            stamps: engine.stamps.word().to_owned(),
            late: engine.late.word().to_owned(),
            miss_threshold_us: engine.miss_threshold_ns as f64 / 1e3,
            render_ahead_ms: engine.render_ahead_ns as f64 / 1e6,
            workers,
            caster,
        }
    }
}

impl Right {
    /// Converts a grant of the operating system.
    pub fn new(grant: &Grant) -> Self {
        Self {
            wish: grant.wish.clone(),
            granted: grant.refused.is_none(),
            refused_because: grant.refused.clone(),
        }
    }
}
