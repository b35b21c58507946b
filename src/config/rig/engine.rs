//! `[engine]`: how a run is rendered and sent.

use std::net::Ipv4Addr;

use crate::wire::ptp::{DelayMechanism, Transport};

/// `[engine]`
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// Ray caster.
    pub caster: CasterChoice,
    /// Threads that cast rays; `None` takes one per core.
    pub workers: Option<usize>,
    /// How far ahead of its due time a packet may be rendered, nanoseconds.
    pub render_ahead_ns: u64,
    /// Policy for a packet that is not ready when due.
    pub late: LatePolicy,
    /// A packet that leaves later than this counts as a miss, nanoseconds.
    pub miss_threshold_ns: u64,
    /// Rate of `truth.csv`, Hz.
    pub truth_rate_hz: f64,
    /// How long before each due time the sender stops sleeping and watches the clock, nanoseconds.
    pub spin_ns: u64,
    /// How long before its due time a datagram is handed to the kernel.
    pub lead: Lead,
    /// How the kernel schedules the sender.
    pub scheduler: SchedulerChoice,
    /// The core that the sender has to itself; any core when left out.
    pub send_core: Option<usize>,
    /// The core of a second sender, which sends what the first has not when its core was taken
    /// away from it; none when left out.
    pub standby_core: Option<usize>,
    /// Give datagrams to the kernel ahead of time, with the instant at which they are to leave.
    pub launch_time: bool,
    /// Source of the times at which datagrams left.
    pub stamps: StampChoice,
    /// The PTP master that this host is.
    pub ptp: Option<PtpMasterConfig>,
}

/// `[engine.ptp]`: this host is a PTP master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtpMasterConfig {
    /// Its address.
    pub address: Ipv4Addr,
    /// Its network interface; that of the address when left out.
    pub interface: Option<String>,
    /// Its domain.
    pub domain: u8,
    /// Its first priority: the lower the better.
    pub priority_1: u8,
    /// Transport of its messages.
    pub transport: Transport,
    /// Mechanism by which the path delay is measured.
    pub delay: DelayMechanism,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            caster: CasterChoice::Menura,
            workers: None,
            render_ahead_ns: 100_000_000,
            late: LatePolicy::Late,
            miss_threshold_ns: 1_000_000,
            truth_rate_hz: 100.0,
            spin_ns: 100_000,
            lead: Lead::Fixed { ns: 0 },
            scheduler: SchedulerChoice::Fifo,
            send_core: None,
            standby_core: None,
            launch_time: false,
            stamps: StampChoice::Kernel,
            ptp: None,
        }
    }
}

/// How long before its due time a datagram is handed to the kernel: what the kernel needs to pass it
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// A fixed lead, nanoseconds.
    Fixed {
        /// At most [`Lead::MOST_US`].
        ns: u64,
    },
    /// What is found for each device from the timestamps of its departures.
    Auto,
}

impl Lead {
    /// The word for [`Lead::Auto`].
    pub const AUTO: &'static str = "auto";
    /// The longest, microseconds.
    pub const MOST_US: f64 = 100.0;

    /// A fixed lead of `us` microseconds.
    pub fn of_us(us: f64) -> Self {
        Self::Fixed { ns: (us * 1e3).round() as u64 }
    }
}

words!(SchedulerChoice: "fifo" => Fifo, "deadline" => Deadline, "normal" => Normal);
/// How the kernel schedules the sending thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchedulerChoice {
    /// `SCHED_FIFO`: before every ordinary thread.
    #[default]
    Fifo,
    /// `SCHED_DEADLINE`: a reserved share of a core.
    Deadline,
    /// `SCHED_OTHER`, as any thread.
    Normal,
}

words!(StampChoice: "kernel" => Kernel, "card" => Card);
/// Source of the stamps of datagrams that leave, for a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampChoice {
    /// The driver of the network interface, just before the hardware has the frame.
    Kernel,
    /// The network card, by its own clock, when the frame is on the wire.
    Card,
}

words!(CasterChoice: "menura" => Menura, "embree" => Embree);
/// Ray casters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CasterChoice {
    /// Menura's own tracer.
    #[default]
    Menura,
    /// Intel's Embree, loaded when the rig is; see `menura_world::world::raycast::embree`.
    Embree,
}

words!(LatePolicy: "late" => Late, "drop" => Drop, "thin" => Thin);
/// Policy for a packet that is not ready when due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatePolicy {
    /// Sent as soon as it is ready, counted.
    Late,
    /// Not sent, counted.
    Drop,
    /// Cast with fewer rays a pulse while rendering falls behind, counted; sent as soon as it is
    /// ready.
    Thin,
}
