//! Short forms of a device's link: `link = "udp:HOST:PORT"`, `address = "HOST"`, or no link.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use serde_json::{Value as Json, json};

use crate::profile::{Interface, Profile};
use crate::toml::diagnostic::Place;
use crate::toml::reader::{Field, Node, Text, Value};

/// The kinds of link that devices can have.
pub(crate) const KINDS: [&str; 4] = ["udp", "pty", "serial", "tcp"];

/// Kind and destination of a link in the form `KIND:DESTINATION`; `None` for other texts.
pub fn parts(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').filter(|(kind, place)| KINDS.contains(kind) && !place.is_empty())
}

/// Converts a short link to the table that it stands for; `None` if the text has another form.
pub(crate) fn table(text: &str) -> Option<Json> {
    let (kind, place) = parts(text)?;
    Some(match kind {
        "udp" => json!({ "udp": { "to": place } }),
        _ => json!({ kind: place }),
    })
}

/// Examples of short links of these kinds, for messages, separated by commas.
pub fn expected(kinds: &[&str]) -> String {
    let examples = [
        ("udp", "\"udp:127.0.0.1:2368\""),
        ("pty", "\"pty:/tmp/menura/imu\""),
        ("serial", "\"serial:/dev/ttyUSB0\""),
        ("tcp", "\"tcp:127.0.0.1:2111\""),
    ];
    let fitting = examples.iter().filter(|(kind, _)| kinds.contains(kind));
    fitting.map(|(_, example)| *example).collect::<Vec<_>>().join(", ")
}

/// Replaces the short form of a link by its table; `None` if it is invalid. A link in table form is returned unchanged.
/// `kinds` are the kinds of links of the product.
pub(crate) fn written_out<'f>(field: Field<'f>, kinds: &[&str]) -> Option<Field<'f>> {
    let expected = expected(kinds);
    let pattern = format!("^({}):.", kinds.join("|"));
    let Some(text) = field.short_form(&expected, &pattern) else { return Some(field) };
    match table(&text.value).and_then(|link| Node::of_json(link, &text.place)) {
        Some(node) => Some(field.with(node)),
        None => {
            let title = format!("\"{}\" is not a link", text.value);
            let label = format!("allowed: {expected}, or a table");
            field.fault(text.place.fault(title, label));
            None
        }
    }
}

/// Addresses used by links of a rig, so that a default link gets a free one.
#[derive(Debug, Default)]
pub struct Taken {
    ports: HashSet<SocketAddr>,
    /// IP addresses that the default link of a server must not use. A server needs all ports of its address.
    hosts: HashSet<IpAddr>,
}

impl Taken {
    /// Records the link and the address of a device, if they are valid.
    pub(crate) fn note(&mut self, device: &Node) {
        if let Some(link) = device.get("link") {
            self.note_link(link);
        }
        self.hosts
            .extend(device.get("address").and_then(|node| node.as_text()?.parse::<IpAddr>().ok()));
    }

    fn note_link(&mut self, link: &Node) {
        match &link.value {
            Value::String(text) => self.note_text(text),
            Value::Array(items) => items.iter().for_each(|item| self.note_link(item)),
            Value::Table(entries) => entries.iter().for_each(|entry| self.note_link(&entry.node)),
            _ => {}
        }
    }

    /// Records a link in the form `KIND:DESTINATION`, or an address with a port.
    pub fn note_text(&mut self, text: &str) {
        let (kind, place) = parts(text).unwrap_or(("", text));
        let Ok(address) = place.parse::<SocketAddr>() else { return };
        self.ports.insert(address);
        if kind != "udp" {
            self.hosts.insert(address.ip());
        }
    }

    /// Default link on this computer for the device `name`. Its addresses are free, and count as used afterwards.
    pub fn usual(&mut self, profile: &Profile, name: &str) -> Json {
        match profile.product.interface {
            Interface::Line => json!({ "pty": format!("/tmp/menura/{name}") }),
            Interface::Datagrams => {
                let ports = profile.ports();
                let own: Vec<u16> = ports.iter().map(|port| port.frame.destination_port).collect();
                // If the product has adjacent ports, each attempt adds the number of ports to all of them, so that the
                // ports of two devices do not interleave.
                let are_close = own.windows(2).any(|pair| pair[0].abs_diff(pair[1]) < 2);
                let step = if are_close { own.len() as u16 } else { 1 };
                let at = |port: u16, nth: u16| port.wrapping_add(nth.wrapping_mul(step));
                let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
                let is_free = |nth: &u16| {
                    own.iter().all(|port| !self.ports.contains(&address(at(*port, *nth))))
                };
                let nth = (0..u16::MAX).find(is_free).unwrap_or(0);
                self.ports.extend(own.iter().map(|port| address(at(*port, nth))));
                let first = own.first().map_or(0, |port| at(*port, nth));
                let mut udp = serde_json::Map::new();
                udp.insert("to".into(), format!("127.0.0.1:{first}").into());
                for port in ports.iter().filter(|_| nth > 0) {
                    if let Some(key) = port.rig_key {
                        udp.insert(key.name.into(), at(port.frame.destination_port, nth).into());
                    }
                }
                json!({ "udp": udp })
            }
            Interface::Server => {
                // Every server uses the product's own port numbers, so each server needs an IP address of its own.
                let host = |nth: u16| {
                    let [high, low] = (nth + 1).to_be_bytes();
                    IpAddr::from([127, 0, high, low])
                };
                let free = (0..u16::MAX - 1).map(host).find(|host| !self.hosts.contains(host));
                let host = free.unwrap_or(host(0));
                self.hosts.insert(host);
                json!({ "tcp": servers(profile, &host.to_string()) })
            }
        }
    }
}

/// Shortest form of a link: the text `KIND:DESTINATION` if that contains all its keys, otherwise the table.
pub fn shortest(link: Json) -> Json {
    let short = match &link {
        Json::Object(keys) if keys.len() == 1 => match keys.iter().next() {
            Some((kind, Json::String(place))) => Some(format!("{kind}:{place}")),
            Some((kind, Json::Object(udp))) if udp.len() == 1 => {
                udp.get("to").and_then(Json::as_str).map(|to| format!("{kind}:{to}"))
            }
            _ => None,
        },
        _ => None,
    };
    short.map_or(link, Json::from)
}

fn servers(profile: &Profile, host: &str) -> Json {
    let ports = profile.product.server_ports.iter();
    ports.map(|port| Json::from(format!("{host}:{port}"))).collect()
}

/// A device's own IP address, with the position of the address in the file. The device sends from this address. The
/// device's servers use this address with the product's ports.
pub(crate) struct Address {
    ip: IpAddr,
    place: Place,
}

impl Address {
    /// Reads `address`; `None` if the key is missing or invalid.
    pub(crate) fn read(field: &Field<'_>, profile: Option<&Profile>) -> Option<Self> {
        let expected = "the device's own IP address such as \"127.0.0.2\"";
        let pattern = r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)$";
        let Text { value, place } = field.text_like(expected, Some(pattern))?;
        field.node()?;
        let product = profile.map(|profile| (&*profile.name, profile.product.interface));
        if let Some((name, Interface::Line)) = product {
            let fault = place.fault("a device with a serial line has no address", "remove it");
            field.fault(fault.note(format!("limit from the profile {name}")));
            return None;
        }
        let Ok(ip) = value.parse() else {
            let title = format!("\"{value}\" is not an IP address");
            field.fault(place.fault(title, format!("allowed: {expected}")));
            return None;
        };
        Some(Self { ip, place })
    }

    /// Default link of a product that is a server: its ports at this address. `None` for other products.
    pub(crate) fn server(&self, profile: &Profile) -> Option<Json> {
        let is_server = profile.product.interface == Interface::Server;
        is_server.then(|| json!({ "tcp": servers(profile, &self.at(None)) }))
    }

    /// Text of the address, with a port if given.
    fn at(&self, port: Option<u16>) -> String {
        let host = match self.ip {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        port.map_or(host.clone(), |port| format!("{host}:{port}"))
    }

    /// Adds the address to `link`, a table: as the source of datagrams and as the address of controls, where these keys
    /// are missing.
    pub(crate) fn add_to(&self, link: &mut Node, profile: &Profile) {
        let text = |port: u16| {
            let value = Value::String(self.at(Some(port)));
            Node { value, place: self.place.clone() }
        };
        if let Some(data) = profile.ports().first() {
            // On the loopback interface, a host may itself use the product's source port, so the system chooses another
            // port.
            let port = if self.ip.is_loopback() { 0 } else { data.frame.source_port };
            if let Some(udp) = link.get_mut_or_insert("udp", || Node::empty(&self.place)) {
                udp.get_mut_or_insert("from", || text(port));
            }
        }
        for control in profile.product.controls {
            if let Some(port) = control.port {
                link.get_mut_or_insert(control.key, || text(port));
            }
        }
    }
}
