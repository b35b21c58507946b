//! Findings about a host: what its properties mean for punctual sending, one line each.

use std::io;

use serde::Serialize;

use crate::cli::percentiles;
use crate::engine::caster::{GpuProblem, Probed};
use crate::engine::host::{AdapterFacts, HostFacts, InterfaceFacts};
use crate::engine::launch;
use crate::engine::wakeups::WakeUps;
use crate::world::raycast::GpuFacts;

/// A condition of the host that was examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the condition.
    pub topic: String,
    /// State of the condition.
    pub state: State,
    /// Observed facts.
    pub found: String,
    /// Recommended change, with its reason.
    pub advice: Option<String>,
}

/// State of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The setting is as required.
    Good,
    /// An administrator can improve the setting.
    Change,
    /// Information; nothing can be changed here.
    Note,
}

impl State {
    /// Word that the report prints for the state.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Change => "change",
            Self::Note => "note",
        }
    }
}

/// Exit latency of idle states above which packets are visibly delayed, microseconds.
const DEEP_IDLE_US: u32 = 20;
/// Smallest sufficient receive buffer, bytes. With less, a driver that is paused for 0.1 s loses
/// packets of an HDL-64E with two returns: 5787 packets/s, which the kernel counts as 2304 bytes
/// each.
const WANTED_RECEIVE_BUFFER_BYTES: u64 = 1_333_000;
/// Largest acceptable wake-up delay for 99.9 % of wake-ups, nanoseconds.
const WANTED_P99_9_NS: u64 = 100_000;

fn good(topic: &str, found: impl Into<String>) -> Finding {
    Finding { topic: topic.into(), state: State::Good, found: found.into(), advice: None }
}

fn note(topic: &str, found: impl Into<String>, advice: &str) -> Finding {
    let advice = Some(advice.to_owned()).filter(|advice| !advice.is_empty());
    Finding { topic: topic.into(), state: State::Note, found: found.into(), advice }
}

fn change(topic: &str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
    let advice = Some(advice.into());
    Finding { topic: topic.into(), state: State::Change, found: found.into(), advice }
}

/// Findings from `facts`, in a fixed order of topics: the most important topics first.
pub fn of_host(facts: &HostFacts) -> Vec<Finding> {
    let mut all = vec![real_time_right(facts), memory_right(facts), load(facts), machine(facts)];
    all.extend([
        kernel(facts),
        isolation(facts),
        governor(facts),
        idle(facts),
        siblings(facts),
        throttling(facts),
        clock_source(facts),
        timer_slack(facts),
        huge_pages(facts),
        network_rights(facts),
        receive_buffers(facts),
    ]);
    all.extend(facts.interfaces.iter().map(interface));
    all.extend(facts.adapters.iter().map(adapter));
    all
}

fn real_time_right(facts: &HostFacts) -> Finding {
    let topic = "real-time priority";
    if facts.rights.real_time {
        return good(topic, "available");
    }
    let how = "other work delays the sender; sudo setcap \
               cap_sys_nice,cap_ipc_lock,cap_net_raw,cap_net_bind_service+ep on the binary, or run as root";
    change(topic, "refused", how)
}

fn memory_right(facts: &HostFacts) -> Finding {
    let topic = "locked memory";
    if facts.rights.locked_memory {
        return good(topic, "without bounds");
    }
    let how = "page faults delay packets; grant cap_ipc_lock, or memlock unlimited in \
               /etc/security/limits.conf";
    change(topic, "bounded", how)
}

fn load(facts: &HostFacts) -> Finding {
    let topic = "load";
    let Some(load) = facts.load else { return note(topic, "unknown", "") };
    let found = format!("{load:.2} on {} cores", facts.cores);
    if load > 0.5 * facts.cores as f64 {
        return change(topic, found, "other programs take cores from the ray casters; stop them");
    }
    good(topic, found)
}

fn machine(facts: &HostFacts) -> Finding {
    let topic = "machine";
    let stolen = facts.stolen_share.unwrap_or_default();
    if facts.is_virtual {
        let found =
            format!("virtual, {:.2} % of its time is stolen by other machines", 100.0 * stolen);
        let how = "packets that are due in stolen time leave late: engine.standby_core helps if \
                   one core at a time is stolen; certify timing on a physical machine";
        return note(topic, found, how);
    }
    good(topic, "physical")
}

fn kernel(facts: &HostFacts) -> Finding {
    let topic = "kernel";
    if facts.is_preempt_rt {
        return good(topic, "fully preemptible (PREEMPT_RT)");
    }
    let how = "kernel drivers can delay the sender; a PREEMPT_RT kernel bounds the delay (Debian: \
               linux-image-rt-amd64)";
    change(topic, "not PREEMPT_RT", how)
}

fn isolation(facts: &HostFacts) -> Finding {
    let topic = "isolated cores";
    match facts.isolated_cores.as_str() {
        "" if facts.cores > 2 => {
            let last = facts.cores - 1;
            let how = format!(
                "the sender shares its core; boot with isolcpus={last} nohz_full={last} \
                 rcu_nocbs={last} and set engine.send_core = {last}"
            );
            change(topic, "none", how)
        }
        "" => note(topic, "none", "two cores are too few to spare one"),
        list => good(topic, list),
    }
}

fn governor(facts: &HostFacts) -> Finding {
    let topic = "frequency";
    let governors = Vec::from_iter(facts.governors.iter().map(String::as_str)).join(", ");
    if governors.is_empty() {
        return note(topic, "not controlled by this kernel", "");
    }
    if facts.governors.iter().all(|governor| governor == "performance") {
        return good(topic, governors);
    }
    let how = "cores slow down between packets; sudo cpupower frequency-set -g performance";
    change(topic, format!("governor {governors}"), how)
}

fn idle(facts: &HostFacts) -> Finding {
    let topic = "idle states";
    match facts.deepest_idle_us {
        None => note(topic, "not controlled by this kernel", ""),
        Some(us) if us <= DEEP_IDLE_US => good(topic, format!("exit within {us} us")),
        Some(us) => {
            let how = format!(
                "a sleeping core wakes late; sudo cpupower idle-set -D {DEEP_IDLE_US}, or boot with \
                 processor.max_cstate=1"
            );
            change(topic, format!("exit takes up to {us} us"), how)
        }
    }
}

fn siblings(facts: &HostFacts) -> Finding {
    let topic = "sibling threads";
    match facts.has_siblings {
        Some(true) => {
            let how = "two threads share a core's units; echo off | sudo tee \
                       /sys/devices/system/cpu/smt/control";
            change(topic, "on", how)
        }
        Some(false) => good(topic, "off or none"),
        None => note(topic, "unknown", ""),
    }
}

/// Finding about the kernel's limit on real-time threads. The sender leaves a tenth of its core to other threads
/// (`engine::run::pauses`).
fn throttling(facts: &HostFacts) -> Finding {
    let topic = "real-time share";
    // From Linux 6.12 on, the kernel reserves time for other threads independently of these settings.
    let is_served = facts.is_at_least(6, 12);
    match (facts.rt_runtime_us, facts.rt_period_us) {
        _ if is_served => good(topic, "950 ms of each second; the sender takes no more than 900"),
        (Some(runtime), Some(period)) if (0..period * 9 / 10).contains(&runtime) => {
            let how = "a sender that spins more is stopped for the rest of each period; sudo sysctl \
                       kernel.sched_rt_runtime_us=950000";
            change(topic, format!("{runtime} of {period} us"), how)
        }
        (Some(runtime), Some(period)) if (0..period).contains(&runtime) => {
            good(topic, format!("{runtime} of {period} us; the sender takes no more than 90 %"))
        }
        (Some(_), _) => good(topic, "all of the time"),
        (None, _) => note(topic, "unknown", ""),
    }
}

fn clock_source(facts: &HostFacts) -> Finding {
    let topic = "clock source";
    match facts.clock_source.as_deref() {
        Some(
            quick @ ("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter"),
        ) => good(topic, quick),
        Some(slow) => {
            let how = "reading it takes more than a microsecond; boot with clocksource=tsc if the \
                       processor's counter is steady";
            change(topic, slow, how)
        }
        None => note(topic, "unknown", ""),
    }
}

fn timer_slack(facts: &HostFacts) -> Finding {
    let found = match facts.timer_slack_ns {
        Some(ns) => format!("{ns} ns for other threads, 1 ns for the sender"),
        None => "1 ns for the sender".to_owned(),
    };
    good("timer slack", found)
}

fn huge_pages(facts: &HostFacts) -> Finding {
    let topic = "huge pages";
    match facts.huge_pages.as_deref() {
        Some("never") => {
            let how = "ray casting in large worlds is slower; echo madvise | sudo tee \
                       /sys/kernel/mm/transparent_hugepage/enabled";
            change(topic, "never", how)
        }
        Some(word) => good(topic, word),
        None => note(topic, "unknown", ""),
    }
}

fn network_rights(facts: &HostFacts) -> Finding {
    let topic = "network rights";
    let rights = facts.rights;
    let any_port = rights.low_ports || facts.first_free_port.is_some_and(|port| port <= 443);
    let missing: Vec<_> = [
        (rights.net_raw, "cap_net_raw (sending by a chosen interface)"),
        (any_port, "cap_net_bind_service (source ports below 1024)"),
        (rights.net_admin, "cap_net_admin (own addresses, launch times)"),
    ]
    .into_iter()
    .filter_map(|(has, what)| (!has).then_some(what))
    .collect();
    if missing.is_empty() {
        return good(topic, "all");
    }
    let how = "rigs that need these rights will fail; grant them with setcap or run as root";
    change(topic, format!("without {}", missing.join(", ")), how)
}

fn receive_buffers(facts: &HostFacts) -> Finding {
    let topic = "receive buffers";
    let Some(bytes) = facts.receive_buffer_bytes else { return note(topic, "unknown", "") };
    let most = facts.max_receive_buffer_bytes.unwrap_or(bytes);
    let found = format!("{bytes} bytes, at most {most}");
    if bytes >= WANTED_RECEIVE_BUFFER_BYTES {
        return good(topic, found);
    }
    let how = "a driver on this machine loses packets if it is delayed by some milliseconds; sudo \
               sysctl net.core.rmem_max=4194304 net.core.rmem_default=4194304";
    change(topic, found, how)
}

fn interface(interface: &InterfaceFacts) -> Finding {
    let topic = format!("interface {}", interface.name);
    let speed = interface.speed_mbit_s.map(|mbit| format!("{mbit} Mbit/s, ")).unwrap_or_default();
    if interface.has_clock {
        let found = format!("{speed}stamps packets with its own clock (engine.stamps = \"card\")");
        return good(&topic, found);
    }
    let how = "transmit times are the kernel's, not the wire's";
    note(&topic, format!("{speed}no clock of its own"), how)
}

fn adapter(adapter: &AdapterFacts) -> Finding {
    let topic = format!("adapter {}", adapter.name);
    match adapter.latency_ms {
        Some(ms) if ms > 1 => {
            let how = format!(
                "received bytes are delayed by this time; echo 1 | sudo tee \
                 /sys/bus/usb-serial/devices/{}/latency_timer (Menura sets it itself if it has \
                 the right)",
                adapter.name
            );
            change(&topic, format!("latency timer {ms} ms"), how)
        }
        Some(ms) => good(&topic, format!("latency timer {ms} ms")),
        None => note(&topic, "no latency timer", ""),
    }
}

/// Finding about an interface's queues, from the result of [`launch::schedulers_of`].
pub fn of_queue(interface: &str, tc: io::Result<String>) -> Finding {
    let topic = format!("queue {interface}");
    let kinds = match tc.map(|json| launch::kinds(&json)) {
        Ok(Ok(kinds)) => kinds,
        Ok(Err(why)) => return note(&topic, "unknown", &why),
        Err(why) => return note(&topic, "unknown", &why.to_string()),
    };
    let found = kinds.join(", ");
    if kinds.iter().any(|kind| kind == "etf") {
        return good(&topic, found);
    }
    let how = "launch times (engine.launch_time) need the ETF queue: tc qdisc replace dev … etf \
               clockid CLOCK_TAI delta 200000";
    note(&topic, found, how)
}

/// Finding about the measured wake-ups.
pub fn of_wake_ups(wake_ups: &WakeUps) -> Finding {
    let WakeUps { count, p50_ns, p99_ns, p99_9_ns, max_ns, .. } = wake_ups;
    let [p50, p99, p99_9, max] = [p50_ns, p99_ns, p99_9_ns, max_ns].map(|ns| *ns as f64 / 1e3);
    let shares = [("50", p50), ("99", p99), ("99.9", p99_9)];
    let found = format!("late by {}, of {count}", percentiles::describe(*count, &shares, max));
    if wake_ups.p99_9_ns <= WANTED_P99_9_NS {
        return good("wake-ups", found);
    }
    change("wake-ups", found, "make the changes listed above")
}

/// Finding about a GPU.
pub fn of_gpu(gpu: &GpuFacts) -> Finding {
    let GpuFacts { name, driver, has_f64, is_software } = gpu;
    let precision = if *has_f64 { "double precision" } else { "no double precision" };
    let found = format!("{driver}, {precision}");
    let topic = format!("GPU {name}");
    match is_software {
        true => note(
            &topic,
            found,
            "it computes on the processor and is slower than Menura's own ray tracer; rigs use it \
             only if MENURA_GPU names it",
        ),
        false => note(&topic, found, ""),
    }
}

/// Finding about a host on which no GPU was found.
pub fn without_gpu(why: &GpuProblem) -> Finding {
    let found = match why {
        GpuProblem::NotBuilt => "not searched for",
        _ => "none",
    };
    note("GPU", found, &why.to_string().replace('\n', "; "))
}

/// Advice about a GPU that is slower than the processor.
const SLOWER_GPU: &str =
    "the processor casts the rays of rigs for which it is faster, unless MENURA_GPU names the GPU";

/// Finding about the ray casting of a rig with `engine.caster = "auto"`, from the result of
/// [`caster::measure_gpu`](crate::engine::caster::measure_gpu).
pub fn of_casting(probed: Result<Probed, GpuProblem>) -> Finding {
    let topic = "ray casting";
    match probed {
        Ok(Probed { identity, scene, speeds_hz }) => {
            let [gpu, processor] = speeds_hz.map(|hz| hz / 1e6);
            let found = format!(
                "by {identity}, which has passed the self-test; in {scene}, it casts {gpu:.2} \
                 million pulses per second, the processor {processor:.2}"
            );
            match gpu < processor {
                true => note(topic, found, SLOWER_GPU),
                false => good(topic, found),
            }
        }
        Err(why) => note(topic, "by the processor", &format!("no GPU: {why}").replace('\n', "; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::host::Rights;

    fn best_host() -> HostFacts {
        HostFacts {
            is_preempt_rt: true,
            cores: 8,
            load: Some(0.1),
            governors: ["performance".to_owned()].into(),
            deepest_idle_us: Some(2),
            isolated_cores: "7".into(),
            has_siblings: Some(false),
            clock_source: Some("tsc".into()),
            rt_runtime_us: Some(-1),
            rt_period_us: Some(1_000_000),
            huge_pages: Some("madvise".into()),
            rights: Rights {
                real_time: true,
                locked_memory: true,
                net_raw: true,
                net_admin: true,
                low_ports: true,
            },
            receive_buffer_bytes: Some(4_194_304),
            interfaces: vec![InterfaceFacts {
                name: "eth0".into(),
                speed_mbit_s: Some(1000),
                has_clock: true,
            }],
            adapters: vec![AdapterFacts { name: "ttyUSB0".into(), latency_ms: Some(1) }],
            ..HostFacts::default()
        }
    }

    #[test]
    fn a_host_made_for_it_has_nothing_to_change() {
        let findings = of_host(&best_host());
        assert!(findings.iter().all(|f| f.state == State::Good && f.advice.is_none()));
    }

    /// Each bad condition of a host appears in exactly one finding, with advice.
    #[test]
    fn every_fault_is_found_alone() {
        type Spoil = fn(&mut HostFacts);
        let faults: [(&str, Spoil); 13] = [
            ("real-time priority", |f| f.rights.real_time = false),
            ("locked memory", |f| f.rights.locked_memory = false),
            ("load", |f| f.load = Some(6.0)),
            ("kernel", |f| f.is_preempt_rt = false),
            ("isolated cores", |f| f.isolated_cores.clear()),
            ("frequency", |f| _ = f.governors.insert("powersave".into())),
            ("idle states", |f| f.deepest_idle_us = Some(890)),
            ("sibling threads", |f| f.has_siblings = Some(true)),
            ("real-time share", |f| f.rt_runtime_us = Some(800_000)),
            ("clock source", |f| f.clock_source = Some("hpet".into())),
            ("huge pages", |f| f.huge_pages = Some("never".into())),
            ("receive buffers", |f| f.receive_buffer_bytes = Some(212_992)),
            ("adapter ttyUSB0", |f| f.adapters[0].latency_ms = Some(16)),
        ];
        for (topic, spoil) in faults {
            let mut facts = best_host();
            spoil(&mut facts);
            let open: Vec<_> =
                of_host(&facts).into_iter().filter(|f| f.state == State::Change).collect();
            assert_eq!(open.len(), 1, "{topic}: {open:?}");
            assert_eq!(open[0].topic, topic);
            assert!(open[0].advice.as_ref().is_some_and(|advice| advice.contains("; ")));
        }
    }

    #[test]
    fn only_a_share_below_the_senders_matters_and_on_old_kernels_alone() {
        let host = |release: &str, runtime| HostFacts {
            kernel_release: release.into(),
            rt_runtime_us: Some(runtime),
            ..best_host()
        };
        assert_eq!(throttling(&host("6.1.0-13-amd64", 950_000)).state, State::Good);
        assert_eq!(throttling(&host("6.1.0-13-amd64", 800_000)).state, State::Change);
        assert_eq!(throttling(&host("6.12.1", 800_000)).state, State::Good);
        assert_eq!(throttling(&host("7.0-rc1", 800_000)).state, State::Good);
    }

    #[test]
    fn rights_are_named_one_by_one() {
        let mut facts = best_host();
        facts.rights.low_ports = false;
        let found = network_rights(&facts);
        assert!(found.found.contains("cap_net_bind_service") && !found.found.contains("raw"));
        facts.first_free_port = Some(0);
        assert_eq!(network_rights(&facts).state, State::Good);
    }

    #[test]
    fn a_host_that_tells_nothing_is_answered() {
        assert!(of_host(&HostFacts::default()).len() >= 15);
    }

    #[test]
    fn a_gpu_is_named_with_its_driver_and_its_refusal() {
        let card = GpuFacts {
            name: "RTX 4060".into(),
            driver: "NVIDIA 580.1".into(),
            has_f64: true,
            is_software: false,
        };
        let found = of_gpu(&card);
        assert_eq!((found.topic.as_str(), &found.advice), ("GPU RTX 4060", &None));
        assert_eq!(found.found, "NVIDIA 580.1, double precision");
        let software = of_gpu(&GpuFacts { is_software: true, ..card });
        assert!(software.advice.is_some_and(|advice| advice.contains("MENURA_GPU")));
        assert_eq!(without_gpu(&GpuProblem::NoDevice).found, "none");
        assert_eq!(without_gpu(&GpuProblem::NotBuilt).found, "not searched for");
        let (identity, scene) = ("GPU A".to_owned(), "a courtyard".to_owned());
        let casting = of_casting(Ok(Probed { identity, scene, speeds_hz: [1.234e6, 0.5e6] }));
        let wanted = "by GPU A, which has passed the self-test; in a courtyard, it casts 1.23 \
                      million pulses per second, the processor 0.50";
        assert_eq!((casting.state, casting.found.as_str()), (State::Good, wanted));
        let (identity, scene) = ("GPU A".to_owned(), "a courtyard".to_owned());
        let slower = of_casting(Ok(Probed { identity, scene, speeds_hz: [0.5e6, 1.234e6] }));
        assert_eq!((slower.state, slower.advice.as_deref()), (State::Note, Some(SLOWER_GPU)));
        let refused = of_casting(Err(GpuProblem::NotBuilt));
        assert_eq!((refused.state, refused.found.as_str()), (State::Note, "by the processor"));
        assert!(refused.advice.is_some_and(|advice| advice.contains("; build it with")));
    }

    #[test]
    fn queues_are_read_from_tc() {
        let of = |json: &str| of_queue("eth0", Ok(json.to_owned()));
        let etf = r#"[{"kind":"mq","handle":"8001:"},{"kind":"etf","parent":"8001:1"}]"#;
        assert_eq!(of(etf).state, State::Good);
        let plain = of(r#"[{"kind":"fq_codel","handle":"0:","root":true}]"#);
        assert_eq!((plain.state, plain.found.as_str()), (State::Note, "fq_codel"));
        let absent = of_queue("eth0", Err(io::ErrorKind::NotFound.into()));
        for unknown in [absent, of(""), of("qdisc mq 0: root")] {
            assert_eq!(unknown.found, "unknown");
        }
    }
}
