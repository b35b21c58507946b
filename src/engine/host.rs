//! Properties of this host that affect the timing of sent packets, read from `/proc` and `/sys`.
//!
//! All files are read below a root folder, so that tests can describe a host by files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::links::card_clock;
use crate::timing::clock_state::CLOCK_SOURCE;

/// Properties of a host. A value that the kernel does not report is `None`, empty, 0 or false.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostFacts {
    /// Release of the kernel, as in `uname -r`.
    pub kernel_release: String,
    /// Build of the kernel, as in `uname -v`.
    pub kernel_build: String,
    /// Whether the kernel has real-time preemption (PREEMPT_RT).
    pub is_preempt_rt: bool,
    /// Model name of the processor.
    pub processor: String,
    /// Number of cores that are online.
    pub cores: usize,
    /// Whether the host is a virtual machine.
    pub is_virtual: bool,
    /// Share of the processors' time since boot that the hypervisor gave to other guests (stolen time), 0 to 1.
    pub stolen_share: Option<f64>,
    /// Load average over one minute: mean number of threads that run, wait for a processor, or wait uninterruptibly,
    /// mostly for I/O.
    pub load: Option<f64>,
    /// Frequency governors in use; empty where frequencies cannot be set.
    pub governors: BTreeSet<String>,
    /// Longest exit latency of the enabled idle states, microseconds.
    pub deepest_idle_us: Option<u32>,
    /// Cores that the kernel keeps free of other work (`isolcpus`), as a list in the kernel's notation, such as
    /// `2-3,5`.
    pub isolated_cores: String,
    /// Whether two logical cores share a physical core (SMT).
    pub has_siblings: Option<bool>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// Time per period for which real-time threads may run, microseconds; -1: no limit.
    pub rt_runtime_us: Option<i64>,
    /// Length of the period of [`HostFacts::rt_runtime_us`], microseconds.
    pub rt_period_us: Option<i64>,
    /// Timer slack: time by which the kernel may extend the sleeps of ordinary threads,
    /// nanoseconds.
    pub timer_slack_ns: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Rights of this process.
    pub rights: Rights,
    /// Default receive buffer of sockets, bytes.
    pub receive_buffer_bytes: Option<u64>,
    /// Largest receive buffer that a socket can request, bytes.
    pub max_receive_buffer_bytes: Option<u64>,
    /// Lowest port that a program without `CAP_NET_BIND_SERVICE` can open.
    pub first_free_port: Option<u32>,
    /// Network interfaces that are up or whose state is unknown, sorted by name, without loopback.
    pub interfaces: Vec<InterfaceFacts>,
    /// USB serial adapters.
    pub adapters: Vec<AdapterFacts>,
}

/// Rights of the calling process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rights {
    /// Real-time scheduling: `CAP_SYS_NICE`, or the limit `rtprio`.
    pub real_time: bool,
    /// Unlimited locked memory: `CAP_IPC_LOCK`, or the limit `memlock`.
    pub locked_memory: bool,
    /// `CAP_NET_RAW`, for sending by a chosen network interface.
    pub net_raw: bool,
    /// `CAP_NET_ADMIN`, for additional addresses and for launch times.
    pub net_admin: bool,
    /// `CAP_NET_BIND_SERVICE`, for source ports below [`HostFacts::first_free_port`].
    pub low_ports: bool,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InterfaceFacts {
    /// Name as in `ip link`.
    pub name: String,
    /// Speed, megabits per second.
    pub speed_mbit_s: Option<u64>,
    /// Whether the card has a PTP clock and timestamps packets itself.
    pub has_clock: bool,
}

/// A USB serial adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdapterFacts {
    /// Name as in `/dev`, such as `ttyUSB0`.
    pub name: String,
    /// Longest time for which the adapter may hold back received bytes, milliseconds.
    pub latency_ms: Option<u32>,
}

impl HostFacts {
    /// Whether the kernel has this version or a later one.
    pub fn is_at_least(&self, major: u32, minor: u32) -> bool {
        let mut parts = self.kernel_release.split(|c: char| !c.is_ascii_digit());
        let mut number = || parts.next().and_then(|text| text.parse().ok()).unwrap_or(0);
        let release: (u32, u32) = (number(), number());
        release >= (major, minor)
    }
}

/// Bit of this capability in `CapEff` (`linux/capability.h`): ports below [`HostFacts::first_free_port`].
const CAP_NET_BIND_SERVICE: u32 = 10;
/// Bit of this capability in `CapEff` (`linux/capability.h`): network configuration.
const CAP_NET_ADMIN: u32 = 12;
/// Bit of this capability in `CapEff` (`linux/capability.h`): raw and packet sockets.
const CAP_NET_RAW: u32 = 13;
/// Bit of this capability in `CapEff` (`linux/capability.h`): locked memory without a limit.
const CAP_IPC_LOCK: u32 = 14;
/// Bit of this capability in `CapEff` (`linux/capability.h`): real-time scheduling.
const CAP_SYS_NICE: u32 = 23;

/// Properties of the host that the process runs on.
pub fn facts() -> HostFacts {
    facts_below(Path::new("/"))
}

/// Properties as read from the folders `proc` and `sys` below `root`.
pub fn facts_below(root: &Path) -> HostFacts {
    let files = Files { root };
    let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
    let kernel_build = files.text("proc/sys/kernel/version").unwrap_or_default();
    HostFacts {
        kernel_release: files.text("proc/sys/kernel/osrelease").unwrap_or_default(),
        is_preempt_rt: files.text("sys/kernel/realtime").as_deref() == Some("1")
            || kernel_build.contains("PREEMPT_RT"),
        kernel_build,
        processor: cpuinfo_value(&cpuinfo, "model name").unwrap_or_default(),
        cores: files.text("sys/devices/system/cpu/online").map_or(0, |list| count_of(&list)),
        is_virtual: cpuinfo_value(&cpuinfo, "flags")
            .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
        stolen_share: files.text("proc/stat").and_then(|stat| stolen_share(&stat)),
        load: files.text("proc/loadavg").and_then(|load| load.split(' ').next()?.parse().ok()),
        governors: files
            .cores()
            .filter_map(|core| files.text_at(&core.join("cpufreq/scaling_governor")))
            .collect(),
        deepest_idle_us: files.deepest_idle_us(),
        isolated_cores: files.text("sys/devices/system/cpu/isolated").unwrap_or_default(),
        has_siblings: files.text("sys/devices/system/cpu/smt/active").map(|text| text == "1"),
        clock_source: files.text(CLOCK_SOURCE),
        rt_runtime_us: files.number("proc/sys/kernel/sched_rt_runtime_us"),
        rt_period_us: files.number("proc/sys/kernel/sched_rt_period_us"),
        timer_slack_ns: files.number("proc/self/timerslack_ns"),
        huge_pages: files
            .text("sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|text| chosen(&text)),
        rights: rights(
            &files.text("proc/self/status").unwrap_or_default(),
            &files.text("proc/self/limits").unwrap_or_default(),
        ),
        receive_buffer_bytes: files.number("proc/sys/net/core/rmem_default"),
        max_receive_buffer_bytes: files.number("proc/sys/net/core/rmem_max"),
        first_free_port: files.number("proc/sys/net/ipv4/ip_unprivileged_port_start"),
        interfaces: files.interfaces(),
        adapters: files.adapters(),
    }
}

struct Files<'a> {
    root: &'a Path,
}

impl Files<'_> {
    fn text(&self, path: &str) -> Option<String> {
        self.text_at(&self.root.join(path))
    }

    fn text_at(&self, path: &Path) -> Option<String> {
        Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
    }

    fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// Entries of a folder, sorted by name; empty if the folder does not exist.
    fn entries(&self, path: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        let mut entries: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        entries.sort();
        entries
    }

    fn cores(&self) -> impl Iterator<Item = PathBuf> {
        self.entries(&self.root.join("sys/devices/system/cpu")).into_iter().filter(|path| {
            let number = name_of(path).strip_prefix("cpu").map(str::to_owned);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        })
    }

    fn deepest_idle_us(&self) -> Option<u32> {
        let states = self.cores().flat_map(|core| self.entries(&core.join("cpuidle")));
        let is_on = |state: &PathBuf| self.text_at(&state.join("disable")).as_deref() != Some("1");
        states
            .filter(is_on)
            .filter_map(|state| self.text_at(&state.join("latency"))?.parse().ok())
            .max()
    }

    fn interfaces(&self) -> Vec<InterfaceFacts> {
        /// Content of the file `type` of a loopback interface: `ARPHRD_LOOPBACK` in `linux/if_arp.h`.
        const LOOPBACK: &str = "772";
        let all = self.entries(&self.root.join("sys/class/net")).into_iter();
        let is_up = |path: &PathBuf| {
            let state = self.text_at(&path.join("operstate"));
            state.as_deref() == Some("up") || state.as_deref() == Some("unknown")
        };
        all.filter(is_up)
            .filter(|path| self.text_at(&path.join("type")).as_deref() != Some(LOOPBACK))
            .map(|path| InterfaceFacts {
                speed_mbit_s: self.text_at(&path.join("speed")).and_then(|text| text.parse().ok()),
                has_clock: card_clock::device_of(&self.root.join("sys"), &name_of(&path)).is_ok(),
                name: name_of(&path),
            })
            .collect()
    }

    fn adapters(&self) -> Vec<AdapterFacts> {
        let all = self.entries(&self.root.join("sys/bus/usb-serial/devices")).into_iter();
        all.map(|path| AdapterFacts {
            latency_ms: self.text_at(&path.join("latency_timer")).and_then(|t| t.parse().ok()),
            name: name_of(&path),
        })
        .collect()
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The first value of `key` in a text in the format of `/proc/cpuinfo`.
fn cpuinfo_value(text: &str, key: &str) -> Option<String> {
    let (_, value) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(k, _)| k.trim() == key)?;
    Some(value.trim().to_owned())
}

/// Number of values in a kernel list, for example 5 for `0-3,8`.
fn count_of(list: &str) -> usize {
    let range = |part: &str| -> Option<usize> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').filter_map(range).sum()
}

/// Stolen time as a share of all processor time, from the first line of `/proc/stat`; its eighth column is the stolen
/// time.
fn stolen_share(stat: &str) -> Option<f64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let columns: Vec<f64> = line.split_whitespace().filter_map(|text| text.parse().ok()).collect();
    // The last two columns, time of guests, are included in the first two.
    let all: f64 = columns.iter().take(8).sum();
    let stolen = columns.get(7)?;
    (all > 0.0).then_some(stolen / all)
}

/// The word in square brackets, which marks the current choice in a file of `/sys`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// The rights in `/proc/self/status` and `/proc/self/limits`.
fn rights(status: &str, limits: &str) -> Rights {
    let capabilities = cpuinfo_value(status, "CapEff")
        .and_then(|text| u64::from_str_radix(&text, 16).ok())
        .unwrap_or_default();
    let has = |bit: u32| capabilities >> bit & 1 == 1;
    let soft_limit = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    let rtprio = soft_limit("Max realtime priority").is_some_and(|limit| limit != "0");
    let memlock = soft_limit("Max locked memory").is_some_and(|limit| limit == "unlimited");
    Rights {
        real_time: has(CAP_SYS_NICE) || rtprio,
        locked_memory: has(CAP_IPC_LOCK) || memlock,
        net_raw: has(CAP_NET_RAW),
        net_admin: has(CAP_NET_ADMIN),
        low_ports: has(CAP_NET_BIND_SERVICE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        folder
    }

    #[test]
    fn a_host_that_tells_nothing_has_no_facts() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(facts_below(folder.path()), HostFacts::default());
    }

    #[test]
    fn a_laptop_is_read_as_it_is() {
        let folder = tree(&[
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.99-1"),
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu vme\n"),
            ("proc/stat", "cpu  90 0 5 0 0 0 0 5 7 0\ncpu0 1 2 3"),
            ("proc/loadavg", "0.75 0.50 0.25 1/100 4242"),
            ("proc/self/status", "Name:\tmenura\nCapEff:\t0000000000800000\n"),
            (
                "proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max locked memory         8388608              unlimited            bytes\n\
                 Max realtime priority     0                    0\n",
            ),
            ("sys/devices/system/cpu/online", "0-2,5"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "890"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "1"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
            ("sys/class/net/lo/operstate", "unknown"),
            ("sys/class/net/lo/type", "772"),
            ("sys/class/net/eth0/operstate", "up"),
            ("sys/class/net/eth0/type", "1"),
            ("sys/class/net/eth0/speed", "1000"),
            ("sys/class/net/eth0/device/ptp/ptp0/dev", "248:0"),
            ("sys/class/net/eth1/operstate", "down"),
            ("sys/bus/usb-serial/devices/ttyUSB0/latency_timer", "16"),
        ]);
        let facts = facts_below(folder.path());
        assert!(!facts.is_preempt_rt && !facts.is_virtual);
        assert_eq!((facts.processor.as_str(), facts.cores), ("A Processor", 4));
        assert_eq!((facts.stolen_share, facts.load), (Some(0.05), Some(0.75)));
        assert_eq!(facts.governors, ["performance", "powersave"].map(str::to_owned).into());
        assert_eq!(facts.deepest_idle_us, Some(133));
        assert_eq!(facts.huge_pages.as_deref(), Some("madvise"));
        assert!(facts.rights.real_time && !facts.rights.locked_memory && !facts.rights.net_raw);
        let eth0 =
            InterfaceFacts { name: "eth0".into(), speed_mbit_s: Some(1000), has_clock: true };
        assert_eq!(facts.interfaces, [eth0]);
        assert_eq!(facts.adapters, [AdapterFacts { name: "ttyUSB0".into(), latency_ms: Some(16) }]);
    }

    #[test]
    fn a_real_time_kernel_says_so_in_either_place() {
        let by_file = tree(&[("sys/kernel/realtime", "1")]);
        let by_name = tree(&[("proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian")]);
        assert!(facts_below(by_file.path()).is_preempt_rt);
        assert!(facts_below(by_name.path()).is_preempt_rt);
    }

    #[test]
    fn this_host_has_cores() {
        assert!(facts().cores >= 1);
    }
}
