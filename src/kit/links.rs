//! Links of a case: free ports and new pseudo-terminals, so that cases can run in parallel, and placeholders for these
//! links.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::config::profile::ControlKind;
use crate::config::rig::{ControlConfig, DeviceConfig, LineConfig, LinkConfig, Rig};
use crate::kit::placeholders::Placeholders;

/// Ports that the cases of this run use.
#[derive(Debug, Default)]
pub struct Ports {
    given: Mutex<HashSet<u16>>,
    addresses: AtomicU16,
}

impl Ports {
    /// Returns a free UDP or TCP port of the loopback interface.
    ///
    /// # Errors
    /// The system has no free port.
    pub fn free(&self, is_udp: bool) -> std::io::Result<u16> {
        loop {
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let port = match is_udp {
                true => UdpSocket::bind(any)?.local_addr()?.port(),
                false => TcpListener::bind(any)?.local_addr()?.port(),
            };
            if self.given.lock().expect("no holder panics").insert(port) {
                return Ok(port);
            }
        }
    }

    /// Returns an address of the loopback interface on which this UDP port is free. Devices whose hosts always use the
    /// product's port need an address of their own.
    ///
    /// # Errors
    /// The system has no such address.
    fn own_address(&self, port: u16) -> std::io::Result<Ipv4Addr> {
        // Different runs of the kit start in different networks, so that they rarely collide.
        let network = 64 + (std::process::id() % 128) as u8;
        let mut last = std::io::Error::from(std::io::ErrorKind::AddrInUse);
        for _ in 0..1000 {
            let [high, low] = self.addresses.fetch_add(1, Ordering::Relaxed).to_be_bytes();
            if low == 0 {
                continue;
            }
            let address = Ipv4Addr::new(127, network, high, low);
            match UdpSocket::bind((address, port)) {
                Ok(_) => return Ok(address),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// The links of a case's devices.
#[derive(Clone, Debug, Default)]
pub struct CaseLinks {
    /// `KEY=VALUE` settings that set the links of the devices in the rig.
    pub sets: Vec<String>,
    /// Placeholders about the device under test and the other devices.
    pub placeholders: Placeholders,
    /// Pseudo-terminals that exist once the rig runs.
    pub terminals: Vec<PathBuf>,
    /// Destination of the data of the device under test, if it sends datagrams.
    pub data: Option<SocketAddr>,
    /// Address of the web interface of the device under test, if it has one.
    pub web: Option<SocketAddr>,
    /// Addresses for command datagrams of the device under test, by their key in a rig.
    pub commands: Vec<(&'static str, SocketAddr)>,
}

/// Gives every device of `rig` its own links; new pseudo-terminals are in `folder`. If `keep` is true, the rig's links
/// are kept. `subject` is the index of the device under test.
///
/// # Errors
/// The system has no free port.
pub fn of_case(
    rig: &Rig,
    subject: usize,
    keep: bool,
    folder: &Path,
    ports: &Ports,
) -> std::io::Result<CaseLinks> {
    let mut links = CaseLinks::default();
    // The device under test comes first in messages; its placeholders have no prefix.
    let others = (0..rig.devices.len()).filter(|device| *device != subject);
    for index in std::iter::once(subject).chain(others) {
        let device = &rig.devices[index];
        let prefix = if index == subject { String::new() } else { format!("{}.", device.name) };
        let sought = device.profile.product.controls.iter().find_map(|control| {
            let is_sought = matches!(
                control.kind,
                ControlKind::Datagrams { hears_broadcasts: true, answers_all: false }
            );
            control.port.filter(|_| is_sought && !keep)
        });
        let own = sought.map(|port| ports.own_address(port)).transpose()?;
        let mut one = OneDevice { device, prefix, keep, folder, ports, own, links: &mut links };
        one.link(index == subject)?;
        one.controls(index == subject)?;
    }
    Ok(links)
}

struct OneDevice<'a> {
    device: &'a DeviceConfig,
    prefix: String,
    keep: bool,
    folder: &'a Path,
    ports: &'a Ports,
    /// The device's own loopback address, if hosts always use the product's port.
    own: Option<Ipv4Addr>,
    links: &'a mut CaseLinks,
}

impl OneDevice<'_> {
    fn set(&mut self, key: &str, value: &str) {
        self.links.sets.push(format!("device.{}.link.{key}={value}", self.device.name));
    }

    fn tell(&mut self, name: &str, value: impl Into<String>) {
        self.links.placeholders.add(format!("{}{name}", self.prefix), value);
    }

    fn link(&mut self, is_subject: bool) -> std::io::Result<()> {
        match &self.device.link {
            LinkConfig::Udp { udp, further_ports } => {
                let mut to = udp.to;
                if !self.keep {
                    to = SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports.free(true)?));
                    self.set("udp.to", &format!("\"{to}\""));
                    // Source port 0, because units of other cases may use the rig's port.
                    if let Some(from) = udp.from.filter(|from| from.port() != 0) {
                        self.set("udp.from", &format!("\"{}\"", SocketAddr::new(from.ip(), 0)));
                    }
                }
                if let Some(own) = self.own {
                    let port = udp.from.map_or(0, |from| from.port());
                    self.set("udp.from", &format!("\"{own}:{port}\""));
                }
                let from = self.own.map(IpAddr::V4).or(udp.from.map(|from| from.ip()));
                let from = from.filter(|ip| !ip.is_unspecified());
                let loopback = to.ip().is_loopback().then_some(IpAddr::V4(Ipv4Addr::LOCALHOST));
                self.tell("udp_host", to.ip().to_string());
                self.tell("udp_port", to.port().to_string());
                if let Some(ip) = from.or(loopback) {
                    self.tell("sensor_ip", ip.to_string());
                }
                let ports = self.device.profile.ports().iter();
                let further = ports.filter_map(|port| port.rig_key.map(|key| key.name));
                for (key, usual) in further.zip(further_ports) {
                    let mut port = *usual;
                    if !self.keep {
                        port = self.ports.free(true)?;
                        self.set(&format!("udp.{key}"), &port.to_string());
                    }
                    self.tell(key, port.to_string());
                }
                if is_subject {
                    self.links.data = Some(to);
                }
            }
            LinkConfig::Line(line) => self.line("", line)?,
            LinkConfig::TcpServer(addresses) => {
                let mut addresses = addresses.clone();
                if !self.keep {
                    for address in &mut addresses {
                        *address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports.free(false)?));
                    }
                    let quoted: Vec<_> = addresses.iter().map(|a| format!("\"{a}\"")).collect();
                    let value = match &quoted[..] {
                        [one] => one.clone(),
                        several => format!("[{}]", several.join(", ")),
                    };
                    self.set("tcp", &value);
                }
                for (number, address) in addresses.iter().enumerate() {
                    let suffix =
                        if number == 0 { String::new() } else { format!("_{}", number + 1) };
                    self.tell(&format!("tcp_host{suffix}"), address.ip().to_string());
                    self.tell(&format!("tcp_port{suffix}"), address.port().to_string());
                }
            }
        }
        Ok(())
    }

    /// Sets up a serial line. `key` is the prefix of its keys: empty for the device's link, otherwise with a dot at the
    /// end.
    fn line(&mut self, key: &str, line: &LineConfig) -> std::io::Result<()> {
        let word = key.replace('.', "_");
        match line {
            LineConfig::Pty(options) => {
                let mut path = options.path.clone();
                if !self.keep {
                    let name = format!("{}{}", self.device.name, key.trim_end_matches('.'));
                    path = self.folder.join(format!("{name}.tty"));
                    self.set(&format!("{key}pty"), &format!("{:?}", path.display().to_string()));
                }
                self.tell(&format!("{word}pty"), path.display().to_string());
                self.links.terminals.push(path);
            }
            LineConfig::Serial(options) => {
                self.tell(&format!("{word}serial"), options.port.display().to_string());
            }
            LineConfig::Tcp(address) => {
                let mut address = *address;
                if !self.keep {
                    address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports.free(false)?));
                    self.set(&format!("{key}tcp"), &format!("\"{address}\""));
                }
                self.tell(&format!("{word}tcp_host"), address.ip().to_string());
                self.tell(&format!("{word}tcp_port"), address.port().to_string());
            }
        }
        Ok(())
    }

    fn controls(&mut self, is_subject: bool) -> std::io::Result<()> {
        let mut keys = self.device.profile.product.controls.iter();
        for control in &self.device.controls {
            let kind = match control {
                ControlConfig::Web(_) => ControlKind::Web,
                ControlConfig::Commands { .. } => ControlKind::Commands,
                ControlConfig::Datagrams { hears_broadcasts, answers_all, .. } => {
                    let (hears_broadcasts, answers_all) = (*hears_broadcasts, *answers_all);
                    ControlKind::Datagrams { hears_broadcasts, answers_all }
                }
                ControlConfig::Line(_) => ControlKind::SerialPort,
            };
            // Both lists have the product's order; a rig may omit some controls.
            let Some(key) = keys.find(|known| known.kind == kind).map(|known| known.key) else {
                continue;
            };
            match control {
                ControlConfig::Web(address)
                | ControlConfig::Commands { address, .. }
                | ControlConfig::Datagrams { address, .. } => {
                    let mut address = *address;
                    let is_udp = matches!(control, ControlConfig::Datagrams { .. });
                    if let Some(own) = self.own.filter(|_| is_udp) {
                        address = SocketAddr::from((own, address.port()));
                        self.set(key, &format!("\"{address}\""));
                    } else if !self.keep {
                        if !address.ip().is_loopback() {
                            address.set_ip(Ipv4Addr::LOCALHOST.into());
                        }
                        address.set_port(self.ports.free(is_udp)?);
                        self.set(key, &format!("\"{address}\""));
                    }
                    if is_subject && is_udp {
                        self.links.commands.push((key, address));
                    }
                    self.tell(key, address.to_string());
                    if is_subject && kind == ControlKind::Web {
                        self.links.web = Some(address);
                    }
                }
                ControlConfig::Line(line) => self.line(&format!("{key}."), line)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::toml::overrides::Override;
    use crate::devices::families::catalogue;

    #[test]
    fn links_of_cases_do_not_meet() {
        let rig = Rig::default_rig(&[], catalogue()).unwrap();
        let ports = Ports::default();
        let links = |folder: &str| of_case(&rig, 0, false, Path::new(folder), &ports).unwrap();
        let (one, other) = (links("/tmp/one"), links("/tmp/other"));
        assert_ne!(one.data, other.data);
        let sets: Vec<Override> = one.sets.iter().map(|set| set.parse().unwrap()).collect();
        let changed = Rig::default_rig(&sets, catalogue()).unwrap_or_else(|told| panic!("{told}"));
        let udp = changed.devices[0].link.udp().expect("a lidar");
        assert_eq!(Some(udp.to), one.data);
        assert_eq!(one.placeholders.get("sensor_ip"), Some("127.0.0.1"));
        assert_eq!(one.placeholders.get("gnss.pty"), Some("/tmp/one/gnss.tty"));
        let kept = of_case(&rig, 3, true, Path::new("/tmp/x"), &ports).unwrap();
        assert!(kept.sets.is_empty());
        assert_eq!(kept.placeholders.get("pty"), Some("/tmp/menura/gnss"));
    }
}
