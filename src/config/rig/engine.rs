//! `[engine]`: rendering and sending of a run.

use std::net::Ipv4Addr;

use serde_json::Value as Json;

use super::link_read::interface;
use crate::toml::diagnostic::Place;
use crate::toml::key_types::{By, KeyType, Maybe, OneOf, Renamed, Table, Time, TrueOrFalse};
use crate::toml::reader::{Field, Limit, TableReader};
use crate::wire::ptp::{DelayMechanism, Transport};

const FORMAT: &str = "the rig format, [engine]";
const PTP: &str = "IEEE 1588 and 802.1AS";

fn cores() -> Maybe<Limit<i128>> {
    Maybe(Limit::new(0..=1023, "", FORMAT))
}

fn byte() -> Limit<i128> {
    Limit::new(0..=255, "", "IEEE 1588: one byte")
}

keys! {
    with (least_ahead_ms: f64);
    /// `[engine]`: settings of rendering and sending. The default of `render_ahead_ms` is for a robot whose trajectory
    /// the rig defines.
    #[derive(Clone, Debug, PartialEq)]
    pub struct EngineConfig {
        /// Ray tracer: "auto" uses a GPU if one passes the self-test and is faster than the processor, otherwise
        /// Menura's own on the processor ("menura"). "gpu" refuses a rig if there is no such GPU; "embree" uses Intel's
        /// Embree if its library is installed.
        pub caster: CasterChoice = CasterChoice::Auto, OneOf(&CasterChoice::WORDS, FORMAT);
        /// Threads that render (default: the number of cores; with a GPU 16 more, or two more for each core if these are
        /// more).
        pub workers: Option<usize> = None, Maybe(Limit::new(1..=256, "threads", FORMAT));
        /// Time by which rendering may run ahead of real time. Default: 5 with a feed, 20 (at least 5) if a host moves
        /// the robot or a joint.
        pub render_ahead_ns as "render_ahead_ms": u64 = 100_000_000,
            Time(Limit::new(least_ahead_ms..=10_000.0, "ms", FORMAT), 1e6);
        /// Treatment of a packet that is not ready when it is due: send it late, drop it, or cast fewer rays per pulse.
        pub late: LatePolicy = LatePolicy::Late,
            Renamed("send", LatePolicy::Late.word(), OneOf(&LatePolicy::WORDS, FORMAT));
        /// A packet that leaves later than this after its due time is a miss.
        pub miss_threshold_ns as "miss_threshold_us": u64 = 1_000_000,
            Time(Limit::new(1.0..=1_000_000.0, "us", FORMAT), 1e3);
        /// Poses per second in the recorded ground truth.
        pub truth_rate_hz: f64 = 100.0, Limit::new(0.1..=10_000.0, "Hz", FORMAT);
        /// The sender polls the clock for this long before each due time instead of sleeping.
        pub spin_ns as "spin_us": u64 = 100_000, Time(Limit::new(0.0..=10_000.0, "us", FORMAT), 1e3);
        /// Time before the due time at which datagrams are submitted to the kernel; "auto" measures it.
        pub lead as "lead_us": Lead = Lead::Fixed { ns: 0 }, LeadOrAuto;
        /// The scheduling class of the sending thread.
        pub scheduler: SchedulerChoice = SchedulerChoice::Fifo, OneOf(&SchedulerChoice::WORDS, FORMAT);
        /// The core that the sending thread is bound to.
        pub send_core: Option<usize> = None, cores();
        /// Core of a second sending thread, which sends the packets that the first thread has not sent in time.
        pub standby_core: Option<usize> = None, cores();
        /// Whether the network card holds each datagram until its time (SO_TXTIME).
        pub launch_time: bool = false, TrueOrFalse;
        /// Source of the transmit timestamps in the certificate.
        pub stamps: StampChoice = StampChoice::Kernel, OneOf(&StampChoice::WORDS, FORMAT);
        /// Makes this host a PTP grandmaster with the time of the run (`menura run` only).
        pub ptp: Option<PtpMasterConfig> = None, Maybe(Table("[engine.ptp]"));
    }
}

keys! {
    /// `[engine.ptp]`: settings of a PTP master on this host.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PtpMasterConfig {
        /// IPv4 address of this host at which the master sends and receives PTP messages.
        pub address as "master": Ipv4Addr, By(own_address);
        /// Network interface of the master (default: that of the address).
        pub interface: Option<String> = None, Maybe(By(interface));
        /// Domain of the master.
        pub domain: u8 = 0, byte();
        /// `priority1` of the master: lower is better.
        pub priority_1: u8 = 128, byte();
        /// Transport of the master. `ethernet`: IEEE 1588 by layer 2; `802.1as`: gPTP; both need root or CAP_NET_RAW.
        pub transport: Transport = Transport::Udp, OneOf(&Transport::WORDS, PTP);
        /// How the path delay is measured: to the master, or to the neighbour (default: to the neighbour with
        /// `802.1as`).
        pub delay: DelayMechanism = delays(transport)[0].1, OneOf(delays(transport), PTP);
    }
}

/// Source of the motion of the robot and its joints.
#[derive(Clone, Copy)]
pub(super) enum Mover {
    /// The rig; the motion is known from the start.
    Rig,
    /// Another simulator, during the run.
    Feed,
    /// A host, during the run: it drives the robot or commands a joint.
    Computer,
}

/// Minimum of `render_ahead_ms` if hosts move the robot or a joint: long enough for a request's series of samples
/// ([`DeviceConfig::LONGEST_SERIES_DRIVEN_NS`](super::DeviceConfig::LONGEST_SERIES_DRIVEN_NS)) and its computation.
const LEAST_AHEAD_DRIVEN_MS: f64 = 5.0;

/// Reads `[engine]`, in which every key has a default. The default of `render_ahead_ms` is short if a feed or a
/// host controls the motion. Also returns the position of the value of `caster`; `None` if the rig does not
/// set this key.
pub(super) fn engine(mut table: TableReader<'_>, moved_by: Mover) -> (EngineConfig, Option<Place>) {
    let mut all = EngineConfig::default();
    let least_ahead_ms = match moved_by {
        Mover::Rig => 1.0,
        Mover::Feed => {
            all.render_ahead_ns = 5_000_000;
            1.0
        }
        Mover::Computer => {
            all.render_ahead_ns = 20_000_000;
            LEAST_AHEAD_DRIVEN_MS
        }
    };
    all.read_into(&mut table, least_ahead_ms);
    check_cores(&table, &all);
    let caster = table.place_of("caster");
    table.finish();
    (all, caster)
}

fn check_cores(table: &TableReader<'_>, all: &EngineConfig) {
    if let Some(place) = table
        .place_of("standby_core")
        .filter(|_| all.standby_core == all.send_core || all.send_core.is_none())
    {
        let fault = place.fault(
            "`standby_core` requires a different `send_core`",
            "set `send_core` to another core",
        );
        table.fault(
            fault.note("limit from the rig format: each of the two senders has its own core"),
        );
    }
    if let (Some(place), SchedulerChoice::Deadline) = (table.place_of("send_core"), all.scheduler) {
        let label = "remove it, or set scheduler = \"fifo\"";
        let fault =
            place.fault("`send_core` cannot be combined with scheduler = \"deadline\"", label);
        table
            .fault(fault.note("limit from sched(7): a deadline thread may not be bound to a core"));
    }
}

fn own_address(field: &Field<'_>) -> Option<Ipv4Addr> {
    let expected = "an IPv4 address of this host such as \"192.168.1.10\"";
    let text = field.text_like(expected, Some(r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$"))?;
    let address = text.value.parse().ok();
    if address.is_none() {
        let title = format!("\"{}\" is not an IPv4 address", text.value);
        field.fault(text.place.fault(title, format!("allowed: {expected}")));
    }
    address
}

/// The delay mechanisms of a transport, the default first.
fn delays(transport: Transport) -> &'static [(&'static str, DelayMechanism)] {
    const WORDS: &[(&str, DelayMechanism)] = &DelayMechanism::WORDS;
    if transport == Transport::Gptp { &WORDS[1..] } else { WORDS }
}

/// Time before the due time at which a datagram is submitted to the kernel. It compensates the kernel's delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// The same lead for all devices.
    Fixed {
        /// Lead in nanoseconds, at most [`Lead::MOST_US`].
        ns: u64,
    },
    /// Menura estimates the lead of each device from the timestamps of sent datagrams.
    Auto,
}

impl Lead {
    /// Value of the key for [`Lead::Auto`].
    pub const AUTO: &'static str = "auto";
    /// Largest lead, microseconds.
    pub const MOST_US: f64 = 100.0;

    /// A fixed lead of `us` microseconds.
    pub fn of_us(us: f64) -> Self {
        Self::Fixed { ns: (us * 1e3).round() as u64 }
    }
}

/// Key type of a lead: microseconds, or the word for [`Lead::Auto`].
struct LeadOrAuto;

impl KeyType<Lead> for LeadOrAuto {
    fn read(&self, field: &Field<'_>) -> Option<Lead> {
        if field.is_text() {
            let either = format!("{FORMAT}: \"{}\", or 0 to {} us", Lead::AUTO, Lead::MOST_US);
            return field.choice(&[(Lead::AUTO, Lead::Auto)], &either);
        }
        field.number(&Limit::new(0.0..=Lead::MOST_US, "us", FORMAT)).map(Lead::of_us)
    }

    fn written(&self, lead: &Lead) -> Json {
        match lead {
            Lead::Auto => Lead::AUTO.into(),
            Lead::Fixed { ns } => (*ns as f64 / 1e3).into(),
        }
    }
}

words!(SchedulerChoice: "fifo" => Fifo, "deadline" => Deadline, "normal" => Normal);
/// Scheduling of the sending thread by the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchedulerChoice {
    /// `SCHED_FIFO`: priority over all ordinary threads.
    #[default]
    Fifo,
    /// `SCHED_DEADLINE`: a reserved share of a core.
    Deadline,
    /// `SCHED_OTHER`: the default of ordinary threads.
    Normal,
}

words!(StampChoice: "kernel" => Kernel, "card" => Card);
/// Source of the timestamps of sent datagrams, for a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampChoice {
    /// The driver of the network interface, just before the hardware gets the frame.
    Kernel,
    /// The clock of the network card, when the card sends the frame on the wire.
    Card,
}

words!(CasterChoice: "auto" => Auto, "gpu" => Gpu, "menura" => Menura, "embree" => Embree);
/// Choice of the ray tracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CasterChoice {
    /// A GPU if the rig casts many rays and the GPU passes the self-test and is faster than the processor; otherwise
    /// Menura's own ray tracer on the processor.
    #[default]
    Auto,
    /// A GPU. Loading the world fails if no GPU can be used.
    Gpu,
    /// Menura's own ray tracer, on the processor.
    Menura,
    /// Intel's Embree, loaded together with the rig; see `menura_world::world::raycast::embree`.
    Embree,
}

words!(LatePolicy: "late" => Late, "drop" => Drop, "thin" => Thin);
/// Policy for packets that cannot leave when they are due (`engine.late`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatePolicy {
    /// Send the packet as soon as it is ready, and count it.
    Late,
    /// Drop the packet, and count it.
    Drop,
    /// Reduce the number of rays per pulse while rendering is behind, and count these measurements. Packets are
    /// sent as soon as they are ready.
    Thin,
}
