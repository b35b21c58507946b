//! Reads the links of devices.

use super::parts::socket;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::profile::{Catalogue, Control, ControlKind, Interface, Profile};
use crate::rig::claims::{Claims, PathKind};
use crate::rig::short_link::{KINDS, written_out};
use crate::rig::{ControlConfig, LineConfig, LinkConfig};
use crate::toml::diagnostic::Place;
use crate::toml::reader::{Field, Limit, TableReader};
use crate::wire::port::{PtyOptions, PulseLine, SerialOptions, UdpOptions};

/// Largest number of TCP ports of a product that is a server.
const MAX_SERVER_PORTS: usize = 2;
/// Documentation of the key `tcp` of a link.
const LINK_TCP: &str = "Address at which hosts connect: one for a serial line, one or two for a \
                        product with a server.";
/// Documentation of the key `tcp` of a line for commands.
const CONTROL_TCP: &str = "Address at which the host connects.";

/// Reads `link`; returns the link and the controls in it. The kind of the link must be one that the product has; this
/// is not checked if the product is unknown.
pub(crate) fn link(
    mut table: TableReader<'_>,
    profile: Option<&Profile>,
    catalogue: &Catalogue,
    claims: &Claims<'_>,
) -> Option<(LinkConfig, Vec<ControlConfig>)> {
    let place = table.place().clone();
    let written = table.written_among(&KINDS);
    if let [first, second, ..] = written[..] {
        let title = format!("a link cannot have both `{first}` and `{second}`");
        table.fault(place.fault(title, format!("allowed: one of {}", KINDS.join(", "))));
        return None;
    }
    let interface = profile.map(|profile| profile.product.interface);
    let allowed = interface.map_or(&KINDS[..], kinds_of);
    if written.first().is_some_and(|kind| !allowed.contains(kind)) {
        let (title, label) = match interface {
            Some(Interface::Line) => {
                ("this device has a serial line", format!("allowed: one of {}", allowed.join(", ")))
            }
            Some(Interface::Server) => {
                ("hosts connect to this device by TCP", "allowed: tcp".to_string())
            }
            Some(Interface::Datagrams) | None => {
                ("this device sends datagrams", "allowed: udp".to_string())
            }
        };
        let name = profile.map(|profile| profile.name.as_str()).unwrap_or_default();
        table.fault(place.fault(title, label).note(format!("limit from the profile {name}")));
        return None;
    }
    let kind = match written.first() {
        Some(kind) => *kind,
        None => allowed[0],
    };
    let link = match kind {
        // An unknown product may be a server or have a serial line; `server` accepts the addresses of both.
        "tcp" if matches!(interface, Some(Interface::Server) | None) => {
            server(&mut table, claims).map(LinkConfig::TcpServer)
        }
        "pty" | "serial" | "tcp" => {
            let is_usb = profile.is_some_and(|profile| profile.product.is_usb);
            line_of(kind, &mut table, is_usb, LINK_TCP, claims).map(LinkConfig::Line)
        }
        _ => table
            .required("udp")
            .meaning("The device sends datagrams.")
            .such_as("{ to = \"127.0.0.1:2368\" }")
            .table("a UDP link")
            .and_then(|table| udp(table, profile, catalogue, claims)),
    };
    // A product may send datagrams from the port on which it receives commands.
    let from = link.as_ref().and_then(LinkConfig::udp).and_then(|udp| udp.from);
    let further = from.into_iter().flat_map(|from| further_sources(from, profile));
    let own: Vec<_> = from.into_iter().chain(further).collect();
    let controls = controls(&mut table, profile, catalogue, &own, claims);
    table.finish();
    Some((link?, controls?))
}

/// Reads the addresses of a product's controls in `table`.
fn controls(
    table: &mut TableReader<'_>,
    profile: Option<&Profile>,
    catalogue: &Catalogue,
    own: &[SocketAddr],
    claims: &Claims<'_>,
) -> Option<Vec<ControlConfig>> {
    let Some(profile) = profile else {
        // If the product is unknown, controls cannot be checked.
        let mut asked = Vec::new();
        let known = catalogue.profiles().iter().flat_map(|profile| profile.product.controls);
        for Control { key, meaning, .. } in known {
            if !asked.contains(key) {
                asked.push(*key);
                table.optional(key).meaning(meaning).any("as the product has it");
            }
        }
        return Some(Vec::new());
    };
    // The TCP ports of a server have the first numbers, so the controls of a server are numbered after them.
    let is_server = profile.product.interface == Interface::Server;
    let mut ports = if is_server { MAX_SERVER_PORTS as u8.. } else { 0.. };
    let read: Vec<_> = profile
        .product
        .controls
        .iter()
        .filter_map(|control| control_of(control, &mut ports, table, own, claims))
        .collect();
    read.into_iter().collect()
}

/// Reads one control: `None` if it has no address, `Some(None)` if the address is invalid. A control for commands by
/// TCP or UDP uses up the next number of `ports`, with or without an address. An address in `own`, the device's source
/// addresses, is already claimed.
fn control_of(
    control: &Control,
    ports: &mut impl Iterator<Item = u8>,
    table: &mut TableReader<'_>,
    own: &[SocketAddr],
    claims: &Claims<'_>,
) -> Option<Option<ControlConfig>> {
    let field = table.optional(control.key).meaning(control.meaning);
    let port = match control.kind {
        ControlKind::Commands | ControlKind::Datagrams { .. } => ports.next()?,
        ControlKind::Web | ControlKind::SerialPort => 0,
    };
    if !field.is_written() {
        return None;
    }
    Some(match control.kind {
        ControlKind::Web => listening(&field, claims).map(ControlConfig::Web),
        ControlKind::Commands => {
            listening(&field, claims).map(|address| ControlConfig::Commands { address, port })
        }
        ControlKind::Datagrams { hears_broadcasts, answers_all } => {
            socket(&field).map(|(address, place)| {
                if !own.contains(&address) {
                    claims.udp(address, None, &place);
                }
                ControlConfig::Datagrams { address, port, hears_broadcasts, answers_all }
            })
        }
        ControlKind::SerialPort => written_out(field, kinds_of(Interface::Line))?
            .such_as("{ pty = \"/tmp/menura/control\" }")
            .table("a serial line")
            .and_then(|table| line(table, claims))
            .map(ControlConfig::Line),
    })
}

/// Reads a serial line for commands, of any kind: pseudo-terminal, serial port or TCP.
fn line(mut table: TableReader<'_>, claims: &Claims<'_>) -> Option<LineConfig> {
    let kinds = kinds_of(Interface::Line);
    let written = table.written_among(kinds);
    let link = match written[..] {
        [] => line_of(kinds[0], &mut table, false, CONTROL_TCP, claims),
        [kind] => line_of(kind, &mut table, false, CONTROL_TCP, claims),
        _ => {
            let fault = table.place().fault(
                format!("a serial line cannot be {} at once", written.join(" and ")),
                format!("allowed: one of {}", kinds.join(", ")),
            );
            table.fault(fault);
            return None;
        }
    };
    table.finish();
    link
}

/// Reads a line. `kind` is `pty`, `serial` or `tcp`, and is also the key of the line in `table`. A line with `is_usb`
/// has no bit rate. `tcp_meaning` is the documentation of the key `tcp`.
fn line_of(
    kind: &str,
    table: &mut TableReader<'_>,
    is_usb: bool,
    tcp_meaning: &str,
    claims: &Claims<'_>,
) -> Option<LineConfig> {
    match kind {
        "serial" => serial(table, claims).map(LineConfig::Serial),
        "tcp" => {
            let field = table.required("tcp").meaning(tcp_meaning);
            listening(&field, claims).map(LineConfig::Tcp)
        }
        _ => pty(table, is_usb, claims).map(LineConfig::Pty),
    }
}

/// The kinds of link for an interface, the default first.
pub(crate) fn kinds_of(interface: Interface) -> &'static [&'static str] {
    match interface {
        Interface::Datagrams => &["udp"],
        Interface::Line => &["pty", "serial", "tcp"],
        Interface::Server => &["tcp"],
    }
}

fn pty(table: &mut TableReader<'_>, is_usb: bool, claims: &Claims<'_>) -> Option<PtyOptions> {
    let field = table
        .required("pty")
        .meaning("Path of a pseudo-terminal, which drivers open as the device's serial port.");
    let path = path(&field, "the path of a symbolic link to make, such as \"/tmp/menura/imu\"");
    if let Some((path, place)) = &path {
        claims.path(PathKind::PtyLink, path, place);
    }
    let strict_rate = table
        .optional("strict_rate")
        .meaning("Garble bytes if the host's bit rate differs from the device's.")
        .boolean_or(!is_usb);
    let aliases = table.optional("rate_aliases").meaning(
        "Pairs of a host's rate and the device's rate that count as equal, for rates that the host \
         cannot set.",
    );
    let mut rate_aliases = Vec::new();
    if let Some((pairs, _)) = aliases.array("pairs [host, device] of bits a second") {
        let baud = Limit::new(50.0..=4_000_000.0, "baud", "Linux, termios(3)");
        for pair in pairs {
            rate_aliases.extend(pair.numbers::<2>(&baud).map(|pair| pair.map(|x| x as u32)));
        }
    }
    let (path, _) = path?;
    Some(PtyOptions { path, strict_rate, rate_aliases })
}

fn serial(table: &mut TableReader<'_>, claims: &Claims<'_>) -> Option<SerialOptions> {
    let field = table.required("serial");
    let field = field.meaning("The serial port that the device is connected to.");
    let port = path(&field, "a serial port such as \"/dev/ttyUSB0\"");
    if let Some((port, place)) = &port {
        claims.path(PathKind::SerialPort, port, place);
    }
    let words = [("rts", PulseLine::Rts), ("dtr", PulseLine::Dtr)];
    let pulse_line = table
        .optional("pulse_line")
        .meaning("Line of the serial port that carries the PPS (time pulse).")
        .choice(&words, "RS-232: lines a host can drive");
    Some(SerialOptions { port: port?.0, pulse_line })
}

/// Reads a path whose last part is a file name; also returns the position of the path in the rig file.
fn path(field: &Field<'_>, expected: &str) -> Option<(PathBuf, Place)> {
    let text = field.text_like(expected, Some("[^./]"))?;
    let path = text.place.source.resolve(&text.value);
    if text.value.is_empty() || path.file_name().is_none() {
        let title = format!("\"{}\" names no file", text.value);
        field.fault(text.place.fault(title, format!("allowed: {expected}")));
        return None;
    }
    Some((path, text.place))
}

/// Reads and claims an address at which a socket accepts connections.
fn listening(field: &Field<'_>, claims: &Claims<'_>) -> Option<SocketAddr> {
    let (address, place) = socket(field)?;
    claims.tcp(address, &place);
    Some(address)
}

/// Reads `tcp` of a product that is a server: one or two addresses.
fn server(table: &mut TableReader<'_>, claims: &Claims<'_>) -> Option<Vec<SocketAddr>> {
    let example = "[\"127.0.0.1:2111\", \"127.0.0.1:2112\"]";
    let field = table.required("tcp").meaning(LINK_TCP).such_as(example);
    if field.is_written() && !field.is_array() {
        return listening(&field, claims).map(|address| vec![address]);
    }
    let expected = "one or two addresses and ports to listen at";
    let (items, place) = field.array_of(1..=MAX_SERVER_PORTS, expected)?;
    if items.is_empty() || items.len() > MAX_SERVER_PORTS {
        let label = format!("allowed: one or two addresses and ports such as {example}");
        let fault = place.fault(format!("{} addresses to listen at", items.len()), label);
        field.fault(fault.note("limit from the product: it has two ports"));
        return None;
    }
    let found: Vec<_> = items.iter().map(socket).collect();
    let found: Option<Vec<_>> = found.into_iter().collect();
    let found = found?;
    if let [(first, first_place), (second, place)] = &found[..]
        && first == second
        && first.port() != 0
    {
        let fault = place.fault("two ports cannot have one address", "again here");
        field.fault(fault.related(first_place, "first here"));
        return None;
    }
    for (address, place) in &found {
        claims.tcp(*address, place);
    }
    Some(found.into_iter().map(|(address, _)| address).collect())
}

fn udp(
    mut table: TableReader<'_>,
    profile: Option<&Profile>,
    catalogue: &Catalogue,
    claims: &Claims<'_>,
) -> Option<LinkConfig> {
    let to_field = table.required("to").meaning("Address and port of the destination host.");
    let to = socket(&to_field);
    if let Some((address, place)) = &to
        && (address.port() == 0 || address.ip().is_unspecified())
    {
        let label = "allowed: address and port of the destination host";
        to_field.fault(place.fault("this address cannot be a destination", label));
    }
    let further_ports = further_ports(&mut table, profile, catalogue);
    let from_field = table.optional("from");
    let from_field = from_field.meaning("The source address and port (default: the host's own).");
    let from = socket(&from_field);
    if let (Some((from, place)), Some((to, _))) = (&from, &to)
        && from.is_ipv4() != to.is_ipv4()
    {
        let label = format!("allowed: the family of `to`, {}", to.ip());
        from_field.fault(place.fault("`from` and `to` are not both IPv4 or both IPv6", label));
    }
    let interface_field = table.optional("interface");
    let interface_field =
        interface_field.meaning("The network interface by which datagrams leave.");
    let interface = interface(&interface_field);
    if let Some((from, place)) = &from {
        claims.udp(*from, interface.as_deref(), place);
        for address in further_sources(*from, profile) {
            claims.further_udp(address, interface.as_deref(), place);
        }
    }
    let ttl = table
        .optional("ttl")
        .meaning("The IP time to live (default: the profile's).")
        .integer(&Limit::new(1..=255, "", "the IP header: one byte"));
    let broadcast = table
        .optional("broadcast")
        .meaning("Allow broadcast destinations; addresses that end in 255 are always allowed.")
        .boolean_or(false);
    table.finish();
    let (to, _) = to?;
    let from = from.map(|(from, _)| from);
    let udp = UdpOptions { to, from, interface, ttl, dont_fragment: None, broadcast };
    Some(LinkConfig::Udp { udp, further_ports })
}

/// Source addresses of the product's ports other than the first, if the first port sends from `from`. Addresses that
/// equal `from` are omitted. Empty if the port number of `from` is 0.
fn further_sources(from: SocketAddr, profile: Option<&Profile>) -> Vec<SocketAddr> {
    if from.port() == 0 {
        // If the rig does not set the first source port, the others are not set either.
        return Vec::new();
    }
    let further = profile.map(Profile::ports).unwrap_or_default().iter().skip(1);
    let own = further.map(|port| SocketAddr::new(from.ip(), port.frame.source_port));
    // Two ports of a device may send from the same port, for example those of a Hesai.
    own.filter(|address| *address != from).collect()
}

/// Reads the destination port numbers of a product's ports other than the first. If the product is unknown, the keys of
/// all products are accepted.
fn further_ports(
    table: &mut TableReader<'_>,
    profile: Option<&Profile>,
    catalogue: &Catalogue,
) -> Vec<u16> {
    let products: Vec<&Profile> = match profile {
        Some(profile) => vec![profile],
        None => catalogue.profiles().iter().map(Arc::as_ref).collect(),
    };
    let limit = Limit::new(1..=65535, "", "UDP");
    let mut numbers = Vec::new();
    let mut asked = Vec::new();
    for port in products.into_iter().flat_map(|profile| profile.ports()) {
        let Some(key) = port.rig_key.filter(|key| !asked.contains(key)) else { continue };
        asked.push(key);
        let field = table.optional(key.name).meaning(key.meaning);
        numbers.push(field.integer_or(&limit, port.frame.destination_port));
    }
    numbers
}

pub(super) fn interface(field: &Field<'_>) -> Option<String> {
    let expected = "the name of a network interface such as \"eth1\"";
    let text = field.text_like(expected, Some(r"^[^/\s]{1,15}$"))?;
    let bad = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    if text.value.is_empty() || text.value.len() > 15 || text.value.contains(bad) {
        let title = format!("\"{}\" cannot be a network interface", text.value);
        let fault = text.place.fault(title, format!("allowed: {expected}"));
        field.fault(fault.note("limit from Linux: 1 to 15 bytes, no blanks, no slash"));
        return None;
    }
    Some(text.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toml::diagnostic::SourceFile;
    use crate::toml::reader::{Faults, parse_toml};

    const CONTROLS: [Control; 5] = [
        Control::WEB,
        Control { key: "commands", meaning: "", kind: ControlKind::Commands, port: None },
        Control { key: "service", meaning: "", kind: ControlKind::Commands, port: None },
        Control::SERIAL_LINE,
        Control {
            key: "search",
            meaning: "",
            kind: ControlKind::Datagrams { hears_broadcasts: true, answers_all: true },
            port: None,
        },
    ];

    /// Reads a link with the keys in `text` for a product that has all of [`CONTROLS`]. Returns its controls and the
    /// error messages.
    fn read(text: &str) -> (Option<Vec<ControlConfig>>, String) {
        let faults = Faults::default();
        let node = parse_toml(&SourceFile::new("rig.toml", text, ""), &faults).unwrap();
        let mut table = TableReader::root(node, "link", &faults);
        let mut ports = 0..;
        let read: Vec<_> = CONTROLS
            .iter()
            .filter_map(|control| {
                control_of(control, &mut ports, &mut table, &[], &Claims::new(&faults))
            })
            .collect();
        table.finish();
        (read.into_iter().collect(), faults.into_inner().to_string())
    }

    #[test]
    fn a_product_may_have_several_controls_and_a_rig_opens_some() {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let all = "web = \"127.0.0.1:80\"\ncommands = \"127.0.0.1:9347\"\n\
                   service = \"127.0.0.1:7501\"\ncontrol = { tcp = \"127.0.0.1:9\" }\n\
                   search = \"127.0.0.1:7501\"";
        let expected = [
            ControlConfig::Web(address(80)),
            ControlConfig::Commands { address: address(9347), port: 0 },
            ControlConfig::Commands { address: address(7501), port: 1 },
            ControlConfig::Line(LineConfig::Tcp(address(9))),
            ControlConfig::Datagrams {
                address: address(7501),
                port: 2,
                hears_broadcasts: true,
                answers_all: true,
            },
        ];
        assert_eq!(read(all).0.unwrap(), expected);
        // A port has the same number whichever other ports the rig opens.
        let (some, faults) = read("service = \"127.0.0.1:7501\"");
        assert_eq!(some.unwrap(), expected[2..3], "{faults}");
        assert_eq!(read("").0.unwrap(), []);
    }

    #[test]
    fn a_wrong_address_is_told() {
        let (controls, faults) = read("web = \"127.0.0.1:80\"\nservice = \"nowhere\"");
        assert_eq!(controls, None);
        assert!(faults.contains("\"nowhere\" is not an address and port"), "{faults}");
    }
}
