//! `[engine]`: how a run is rendered and sent.

use std::net::Ipv4Addr;

use crate::wire::ptp::{DelayMechanism, Transport};

/// `[engine]`
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// Ray caster.
    pub caster: CasterChoice,
    /// Threads that cast rays; `None`: one per core.
    pub workers: Option<usize>,
    /// Time by which a packet may be rendered before it is due, nanoseconds.
    pub render_ahead_ns: u64,
    /// Policy for a packet that is not ready when due.
    pub late: LatePolicy,
    /// A packet that leaves later than this counts as a miss, nanoseconds.
    pub miss_threshold_ns: u64,
    /// Rate of `truth.csv`, Hz.
    pub truth_rate_hz: f64,
    /// Time before each due time for which the sender spins, nanoseconds.
    pub spin_ns: u64,
    /// Time before the due time at which a datagram is submitted to the kernel.
    pub lead: Lead,
    /// Scheduling of the sending thread by the kernel.
    pub scheduler: SchedulerChoice,
    /// Core reserved for the sender; `None`: any core.
    pub send_core: Option<usize>,
    /// Core of a standby sender, which sends packets that the first sender missed because it lost its core;
    /// `None`: no standby.
    pub standby_core: Option<usize>,
    /// Submit datagrams to the kernel ahead of time, with launch times.
    pub launch_time: bool,
    /// Source of the times at which datagrams left.
    pub stamps: StampChoice,
    /// PTP master on this host.
    pub ptp: Option<PtpMasterConfig>,
}

/// `[engine.ptp]`: settings of a PTP master on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtpMasterConfig {
    /// Address of the master.
    pub address: Ipv4Addr,
    /// Network interface of the master; `None`: that of the address.
    pub interface: Option<String>,
    /// Domain of the master.
    pub domain: u8,
    /// `priority1` of the master: lower is better.
    pub priority_1: u8,
    /// Transport of the messages.
    pub transport: Transport,
    /// Mechanism that measures the path delay.
    pub delay: DelayMechanism,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            caster: CasterChoice::Auto,
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

/// Time before the due time at which a datagram is submitted to the kernel, to make up for the kernel's
/// delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// A fixed lead, nanoseconds.
    Fixed {
        /// Lead in nanoseconds, at most [`Lead::MOST_US`].
        ns: u64,
    },
    /// The lead is estimated for each device from the timestamps of its departures.
    Auto,
}

impl Lead {
    /// Value of the key for [`Lead::Auto`].
    pub const AUTO: &'static str = "auto";
    /// The longest, microseconds.
    pub const MOST_US: f64 = 100.0;

    /// A fixed lead of `us` microseconds.
    pub fn of_us(us: f64) -> Self {
        Self::Fixed { ns: (us * 1e3).round() as u64 }
    }
}

words!(SchedulerChoice: "fifo" => Fifo, "deadline" => Deadline, "normal" => Normal);
/// Scheduling of the sending thread by the kernel.
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

words!(CasterChoice: "auto" => Auto, "gpu" => Gpu, "menura" => Menura, "embree" => Embree);
/// Ray casters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CasterChoice {
    /// A GPU if one passes the self-test, otherwise Menura's own ray tracer.
    #[default]
    Auto,
    /// A GPU.
    Gpu,
    /// Menura's own ray tracer, on the processor.
    Menura,
    /// Intel's Embree, loaded when the rig is; see `menura_world::world::raycast::embree`.
    Embree,
}

words!(LatePolicy: "late" => Late, "drop" => Drop, "thin" => Thin);
/// Policy for a packet that is not ready when due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatePolicy {
    /// Send the packet as soon as it is ready, and count it.
    Late,
    /// Drop the packet, and count it.
    Drop,
    /// Cast with fewer rays a pulse while rendering falls behind, counted; sent as soon as it is
    /// ready.
    Thin,
}
