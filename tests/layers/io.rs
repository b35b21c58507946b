//! Layers that compute do no I/O, start no threads and read no clock: bytes and time are arguments.

use crate::imports::layer_of;
use crate::paths::paths_of;
use crate::{Fault, fault};

/// Layers that must not access the system or read a clock.
pub const LAYERS: &[&str] = &["wire", "world", "sensors", "devices"];

/// Parts of the standard library and of crates that access the system.
const BANNED: &[&[&str]] = &[
    &["std", "env"],
    &["std", "fs"],
    &["std", "net"],
    &["std", "os"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "io", "stderr"],
    &["std", "io", "stdin"],
    &["std", "io", "stdout"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
    &["axum"],
    &["crossbeam_channel"],
    &["libc"],
    &["libloading"],
    &["nix"],
    &["rtrb"],
    &["rustix"],
    &["serialport"],
    &["socket2"],
    &["thread_priority"],
    &["tokio"],
    &["wgpu"],
];

/// Types of `std::net` that only represent addresses.
const ADDRESSES: &[&str] = &[
    "AddrParseError",
    "IpAddr",
    "Ipv4Addr",
    "Ipv6Addr",
    "SocketAddr",
    "SocketAddrV4",
    "SocketAddrV6",
];

/// Exceptions: file or folder, start of an allowed path, and reason.
pub const ALLOWED: &[(&str, &[&str], &str)] = &[
    ("src/world/loaders/", &["std", "fs"], "scenes are loaded before the run"),
    ("src/world/trajectory/files.rs", &["std", "fs"], "trajectories are loaded before the run"),
    ("src/world/raycast/memory.rs", &["rustix"], "huge pages are asked of the system"),
    ("src/world/raycast/embree/library.rs", &["libloading"], "the library is found at run time"),
    ("src/world/raycast/embree/library.rs", &["std", "env"], "a variable names the library"),
    ("src/world/raycast/gpu/device.rs", &["wgpu"], "a GPU casts rays"),
    ("src/world/raycast/gpu/mod.rs", &["std", "env"], "a variable names the GPU"),
    ("src/world/raycast/gpu/", &["std", "thread"], "one thread serves the GPU"),
];

pub fn io_faults(file: &str, text: &str) -> Vec<Fault> {
    let Some(layer) = layer_of(file).filter(|layer| LAYERS.contains(layer)) else {
        return Vec::new();
    };
    reaching_paths(file, text)
        .into_iter()
        .filter(|(names, _)| {
            let allowed = |(place, path, _): &(&str, &[&str], &str)| {
                file.starts_with(place) && starts_with(names, path)
            };
            !ALLOWED.iter().any(allowed)
        })
        .map(|(names, line)| fault(file, line, format!("`{layer}` must not use `{names}`")))
        .collect()
}

/// Reports the rows of [`ALLOWED`] that no file needs.
pub fn idle_allowances(files: &[(String, String)]) -> Vec<Fault> {
    let needed = |place: &str, path: &[&str]| {
        files.iter().filter(|(file, _)| file.starts_with(place)).any(|(file, text)| {
            reaching_paths(file, text).iter().any(|(names, _)| starts_with(names, path))
        })
    };
    ALLOWED
        .iter()
        .filter(|(place, path, _)| !needed(place, path))
        .map(|(place, path, _)| fault(place, 0, format!("does not need `{}`", path.join("::"))))
        .collect()
}

/// Paths that access the system or a clock, with their lines.
fn reaching_paths(file: &str, text: &str) -> Vec<(String, usize)> {
    let reaches = |names: &[String]| {
        let path = names.join("::");
        let asks_clock = matches!(names, [.., clock, now] if now == "now" && clock.starts_with(char::is_uppercase));
        let is_address = path.starts_with("std::net")
            && names.get(2).is_some_and(|name| ADDRESSES.contains(&name.as_str()));
        let all_of_time = path == "std::time";
        // A single name may be a variable.
        let banned = names.len() > 1 && BANNED.iter().any(|banned| starts_with(&path, banned));
        asks_clock || all_of_time || banned && !is_address
    };
    let paths = paths_of(file, text).into_iter();
    paths.filter(|path| reaches(&path.names)).map(|p| (p.names.join("::"), p.line)).collect()
}

fn starts_with(path: &str, start: &[&str]) -> bool {
    let mut names = path.split("::");
    start.iter().all(|name| names.next() == Some(name))
}

mod checker {
    use super::*;
    use crate::lines;

    #[test]
    fn finds_io_threads_and_clocks() {
        let text = "\
use std::net::UdpSocket;
use std::time::{Duration, Instant};
use std::{fmt, fs as files};
use tokio::time::sleep;
use std::time::Duration;
fn f() { ::std::fs::read(\"x\"); }
use std::net::{IpAddr, SocketAddr};
use std::{net, time};
fn g() { time::Instant::now(); jiff::Timestamp::now(); self.now(); crate::time::now(); }
fn h() { std::thread::spawn(f); rustix::mm::madvise(); nix::unistd::fork(); }
use {serialport::SerialPort, std::process::Command, socket2::Socket};
use std::io::{self, Read};
fn i(libc: u8) { libc.to_string() }
";
        let wanted = [1, 2, 3, 4, 6, 8, 8, 9, 9, 10, 10, 10, 11, 11, 11];
        for layer in LAYERS {
            let faults = io_faults(&format!("src/{layer}/a.rs"), text);
            assert_eq!(lines(&faults), wanted, "{faults:?}");
        }
        assert_eq!(io_faults("src/links/a.rs", text), []);
        assert_eq!(
            io_faults("src/devices/a.rs", text)[0].to_string(),
            "src/devices/a.rs:1: `devices` must not use `std::net::UdpSocket`"
        );
    }

    #[test]
    fn allows_what_is_named_and_no_more() {
        let text = "use std::fs;\nuse std::process::Command;";
        assert_eq!(lines(&io_faults("src/world/loaders/obj.rs", text)), [2]);
        assert_eq!(lines(&io_faults("src/world/moving.rs", text)), [1, 2]);
        let files = [("src/world/loaders/obj.rs".to_owned(), text.to_owned())];
        assert_eq!(idle_allowances(&files).len(), ALLOWED.len() - 1);
    }
}
