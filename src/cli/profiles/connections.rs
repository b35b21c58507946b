//! The table of addresses and ports in `docs/CONNECT.md`.

use std::fmt::Write as _;

use crate::cli::new::draft::Draft;
use crate::cli::schema::words;
use crate::config::profile::network::DatagramPort;
use crate::config::profile::{Control, ControlKind, Interface, Profile};
use crate::devices::families::catalogue;

const HEAD: &str = "| profiles | own address | sends to | listens at | `link`, for a driver on the \
                    same computer |\n|---|---|---|---|---|\n";
const NOTHING: &str = "–";

/// Factory addresses, ports and line rates of all products as a Markdown table. Profiles with the same
/// connections share a row.
pub fn connection_table() -> String {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for profile in catalogue().profiles() {
        let cells = cells(profile);
        match rows.iter_mut().find(|(known, _)| *known == cells) {
            Some((_, names)) => names.push(&profile.name),
            None => rows.push((cells, vec![&profile.name])),
        }
    }
    let mut text = HEAD.to_owned();
    for (cells, names) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {cells} |", shortened(&names).join(", "));
    }
    text
}

/// The names in code style. The pattern `velodyne-*`, for example, replaces all names that start with `velodyne-`, if
/// `names` has every profile with this start.
fn shortened(names: &[&str]) -> Vec<String> {
    let all: Vec<&str> = catalogue().profiles().iter().map(|profile| &*profile.name).collect();
    let count = |names: &[&str], start: &str| names.iter().filter(|n| n.starts_with(start)).count();
    let mut short = Vec::new();
    for name in names {
        let mut starts = name.match_indices('-').map(|(at, _)| &name[..=at]);
        let whole = starts.find(|start| {
            let among = count(names, start);
            among > 1 && among == count(&all, start)
        });
        let text = whole.map_or_else(|| format!("`{name}`"), |start| format!("`{start}*`"));
        if !short.contains(&text) {
            short.push(text);
        }
    }
    short
}

fn cells(profile: &Profile) -> String {
    let product = &profile.product;
    let address = match profile.ports().first() {
        Some(port) if product.interface == Interface::Datagrams => port.frame.source_ip.to_string(),
        _ => NOTHING.to_owned(),
    };
    let sends: Vec<String> = profile.ports().iter().map(destination).collect();
    let mut listens: Vec<String> = match product.interface {
        Interface::Server => {
            product.server_ports.iter().map(|port| format!("TCP {port}")).collect()
        }
        Interface::Line => vec![line(profile)],
        Interface::Datagrams => Vec::new(),
    };
    listens.extend(product.controls.iter().map(control));
    let joined = |parts: Vec<String>| match parts.is_empty() {
        true => NOTHING.to_owned(),
        false => parts.join(", "),
    };
    let link = Draft::new("room".to_owned()).free_link("NAME", profile);
    format!("{address} | {} | {} | `{link}`", joined(sends), joined(listens))
}

/// Text of a port's destination. The first port has no key of its own: it uses the link's key `to`.
fn destination(port: &DatagramPort) -> String {
    match port.rig_key {
        Some(key) => format!("`{}` {}", key.name, port.frame.destination_port),
        None => format!("UDP {}:{}", port.frame.destination_ip, port.frame.destination_port),
    }
}

fn control(control: &Control) -> String {
    let kind = match control.kind {
        ControlKind::Web | ControlKind::Commands => "TCP",
        ControlKind::Datagrams { .. } => "UDP",
        ControlKind::SerialPort => "serial line",
    };
    let port = control.port.map_or_else(String::new, |port| format!(" {port}"));
    format!("`{}` {kind}{port}", control.key)
}

/// Text about a product's serial line: `USB`, or `serial line` with the default baud rate if the rate is a setting.
fn line(profile: &Profile) -> String {
    let settings = profile.settings_spec();
    match settings.key("baud_rate").and_then(|rate| rate.default.as_ref()) {
        _ if profile.product.is_usb => "USB".to_owned(),
        Some(rate) => format!("serial line, {} baud", words::written(rate)),
        None => "serial line".to_owned(),
    }
}
