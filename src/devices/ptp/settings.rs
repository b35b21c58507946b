//! Settings of a product's PTP slave.

use std::net::Ipv4Addr;

use crate::config::toml::key_types::OneOf;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::Field;
use crate::wire::ptp::{DelayMechanism, Transport};

/// Settings of a slave. Intervals are binary logarithms of seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtpSettings {
    /// Domain; messages of other domains are ignored.
    pub domain: u8,
    /// Transport of messages.
    pub transport: Transport,
    /// Mechanism that measures the path delay.
    pub delay: DelayMechanism,
    /// Interval of announcements, binary logarithm of seconds.
    pub log_announce: i8,
    /// Interval of Sync messages, binary logarithm of seconds, until a master announces another.
    pub log_sync: i8,
    /// Interval of delay requests, binary logarithm of seconds, until a master sets another.
    pub log_delay: i8,
    /// Number of missing announcements after which the master is lost.
    pub announce_timeout: u8,
    /// Number of missing Sync messages after which the master is lost; 0: never.
    pub sync_timeout: u8,
    /// Whether masters announce themselves. Otherwise the slave follows any clock that sends Sync.
    pub is_announced: bool,
    /// Offset above which the clock is stepped at any time, nanoseconds; `None`: no such limit. In any case, a first
    /// offset above 20 us is stepped.
    pub step_ns: Option<u64>,
    /// Masters from which unicast messages are requested; without any, all messages are multicast.
    pub masters: Vec<Ipv4Addr>,
}

impl Default for PtpSettings {
    /// The default profile of IEEE 1588.
    fn default() -> Self {
        Self {
            domain: 0,
            transport: Transport::Udp,
            delay: DelayMechanism::EndToEnd,
            log_announce: 1,
            log_sync: 0,
            log_delay: 0,
            announce_timeout: 3,
            sync_timeout: 0,
            is_announced: true,
            step_ns: None,
            masters: Vec::new(),
        }
    }
}

impl PtpSettings {
    /// Settings of IEEE 802.1AS, as in linuxptp's `gPTP.cfg`.
    pub fn gptp() -> Self {
        Self {
            transport: Transport::Gptp,
            delay: DelayMechanism::PeerToPeer,
            log_announce: 0,
            log_sync: -3,
            sync_timeout: 3,
            ..Self::default()
        }
    }

    /// Settings of the automotive profile of IEEE 802.1AS, as in linuxptp's `automotive-slave.cfg`.
    pub fn automotive() -> Self {
        Self { is_announced: false, step_ns: Some(1_000_000_000), ..Self::gptp() }
    }
}

/// Settings of a PTP slave that only the rig can set. With IEEE 802.1AS, these settings have no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtpOptions {
    /// Mechanism that measures the path delay.
    pub delay: DelayMechanism,
    /// Masters from which unicast messages are requested; see [`PtpSettings::masters`].
    pub masters: Vec<Ipv4Addr>,
}

impl PtpOptions {
    /// Reads `ptp_delay` and `ptp_masters`.
    pub fn read(&mut self, keys: &mut Keys<'_>) {
        let says = "Delay mechanism of IEEE 1588: path delay to the master, or to the neighbour. \
            No product has a command that sets it.";
        let words = OneOf(&DelayMechanism::WORDS, "IEEE 1588");
        keys.of_type("ptp_delay", says, &words, &mut self.delay);
        let default: Vec<_> = self.masters.iter().map(Ipv4Addr::to_string).collect();
        let says = "IPv4 addresses of PTP masters from which unicast messages are requested \
            (default: multicast). No product has a command that sets them.";
        let field = keys.field_or("ptp_masters", default).meaning(says);
        keys.put(addresses(&field), &mut self.masters);
    }

    /// Returns `settings` with the options that the transport supports: `delay` and `masters` over UDP, only `delay`
    /// over Ethernet, none with IEEE 802.1AS.
    pub fn apply(&self, settings: PtpSettings) -> PtpSettings {
        match settings.transport {
            Transport::Udp => {
                PtpSettings { delay: self.delay, masters: self.masters.clone(), ..settings }
            }
            Transport::Ethernet => PtpSettings { delay: self.delay, ..settings },
            Transport::Gptp => settings,
        }
    }
}

fn addresses(field: &Field<'_>) -> Option<Vec<Ipv4Addr>> {
    if !field.is_written() {
        return None;
    }
    let expected = "an IPv4 address such as \"192.168.1.10\"";
    let (items, _) = field.array_up_to(0..=8, "Menura", expected)?;
    let read = items.iter().map(|item| {
        let text = item.text(expected)?;
        let address = text.value.parse();
        if address.is_err() {
            let title = format!("\"{}\" is not an IPv4 address", text.value);
            item.fault(text.place.fault(title, format!("allowed: {expected}")));
        }
        address.ok()
    });
    read.collect()
}
