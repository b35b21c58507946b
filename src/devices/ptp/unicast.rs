//! Unicast messages: a slave requests them from its masters, and a master grants them for a limited time.
//!
//! Source: IEEE 1588-2019, clause 16.1.

use std::net::Ipv4Addr;

use super::{SECOND_NS, interval_ns};
use crate::time::SimTime;
use crate::wire::ptp::PortIdentity;
use crate::wire::ptp::suffix::{Part, UnicastCancel, UnicastGrant, UnicastRequest};

/// Message type Announce, in the upper four bits as in requests.
pub const ANNOUNCE: u8 = 0xb0;
/// Message type Sync, in the upper four bits.
pub const SYNC: u8 = 0x00;
/// Message type Delay_Resp, in the upper four bits.
pub const DELAY_RESP: u8 = 0x90;
const KINDS: [u8; 3] = [ANNOUNCE, SYNC, DELAY_RESP];
/// Duration that a slave requests, seconds; the slave renews the request when less than a third of it remains.
const ASKED_S: u32 = 60;
/// Longest granted duration, seconds.
const LONGEST_S: u32 = 300;
/// Granted intervals, binary logarithms of seconds.
const GRANTED: std::ops::RangeInclusive<i8> = -4..=4;
/// Largest number of grants of a master.
const MOST_GRANTS: usize = 192;

/// Masters from which a slave requests unicast messages.
#[derive(Clone, Debug)]
pub struct Asked {
    masters: Vec<AskedMaster>,
    /// Time of the next request.
    next: SimTime,
}

#[derive(Clone, Debug)]
struct AskedMaster {
    address: Ipv4Addr,
    /// Port of the master, after the master has announced itself.
    port: Option<PortIdentity>,
    /// End of the grant for each of [`KINDS`].
    until: [SimTime; 3],
}

impl Asked {
    /// Unicast state of a slave that requests messages from `masters`; the first requests are due at `now`.
    pub fn new(masters: &[Ipv4Addr], now: SimTime) -> Self {
        let master = |address: &Ipv4Addr| AskedMaster {
            address: *address,
            port: None,
            until: [SimTime::ZERO; 3],
        };
        let next = if masters.is_empty() { SimTime(u64::MAX) } else { now };
        Self { masters: masters.iter().map(master).collect(), next }
    }

    /// Whether messages are requested by unicast, because masters are configured.
    pub fn is_on(&self) -> bool {
        !self.masters.is_empty()
    }

    /// Time of the next call of [`Asked::ask`]; the largest [`SimTime`] without masters.
    pub fn due(&self) -> SimTime {
        self.next
    }

    /// The requests to send at `now`, by address of the master, for grants that are missing or end within 20 s: Announce
    /// from every master, Sync and Delay_Resp from the followed one. `logs` are the intervals of Announce, Sync and
    /// Delay_Resp, binary logarithms of seconds.
    pub fn ask(
        &mut self,
        now: SimTime,
        followed: Option<PortIdentity>,
        logs: [i8; 3],
    ) -> Vec<(Ipv4Addr, Vec<Part>)> {
        self.next = SimTime(now.0 + SECOND_NS);
        let soon = SimTime(now.0 + u64::from(ASKED_S) / 3 * SECOND_NS);
        let wanted = |master: &AskedMaster| {
            let is_followed = master.port.is_some() && master.port == followed;
            let kinds = KINDS.into_iter().zip(master.until).zip(logs);
            let lacking = kinds
                .filter(|((kind, until), _)| *until <= soon && (*kind == ANNOUNCE || is_followed));
            let parts: Vec<_> = lacking
                .map(|((kind, _), log_interval)| {
                    Part::Request(UnicastRequest { kind, log_interval, duration_s: ASKED_S })
                })
                .collect();
            (!parts.is_empty()).then_some((master.address, parts))
        };
        self.masters.iter().filter_map(wanted).collect()
    }

    /// Records that the port at `from` has announced itself. Returns false for a host that is not configured.
    pub fn note(&mut self, from: Ipv4Addr, port: PortIdentity) -> bool {
        let master = self.masters.iter_mut().find(|master| master.address == from);
        master.map(|master| master.port = Some(port)).is_some()
    }

    /// Drops the grants of the silent master with this port, so that all its messages are requested again.
    pub fn lose(&mut self, port: PortIdentity) {
        let silent = self.masters.iter_mut().filter(|master| master.port == Some(port));
        silent.for_each(|master| master.until = [SimTime::ZERO; 3]);
    }

    /// Processes grants and cancellations from the master at `from` at `now`.
    pub fn hear(&mut self, now: SimTime, from: Ipv4Addr, parts: &[Part]) {
        let Some(master) = self.masters.iter_mut().find(|master| master.address == from) else {
            return;
        };
        for part in parts {
            let (kind, duration_s) = match part {
                Part::Grant(grant) => (grant.kind, grant.duration_s),
                Part::Cancel(cancel) => (cancel.kind, 0),
                _ => continue,
            };
            if let Some(place) = KINDS.iter().position(|own| *own == kind & 0xf0) {
                let until = now.0 + u64::from(duration_s.min(LONGEST_S)) * SECOND_NS;
                master.until[place] = SimTime(until);
            }
        }
    }

    /// Address of the master with the port `port`; `None` if no master has announced itself with this port.
    pub fn address(&self, port: PortIdentity) -> Option<Ipv4Addr> {
        let master = self.masters.iter().find(|master| master.port == Some(port))?;
        Some(master.address)
    }
}

/// Active grants of a master.
#[derive(Clone, Debug, Default)]
pub struct Grants(Vec<Grant>);

#[derive(Clone, Debug)]
struct Grant {
    host: Ipv4Addr,
    kind: u8,
    log_interval: i8,
    until: SimTime,
    next: SimTime,
}

impl Grants {
    /// Processes the requests and cancellations of `host` at `now`; returns the answers. A master that is not
    /// `is_active` refuses all requests.
    pub fn hear(
        &mut self,
        now: SimTime,
        host: Ipv4Addr,
        parts: &[Part],
        is_active: bool,
    ) -> Vec<Part> {
        self.0.retain(|grant| grant.until > now);
        let mut answers = Vec::new();
        for part in parts {
            match part {
                Part::Request(UnicastRequest { kind, log_interval, duration_s }) => {
                    let kind = kind & 0xf0;
                    self.0.retain(|grant| (grant.host, grant.kind) != (host, kind));
                    let is_granted = is_active
                        && KINDS.contains(&kind)
                        && GRANTED.contains(log_interval)
                        && self.0.len() < MOST_GRANTS;
                    let duration_s = if is_granted { (*duration_s).min(LONGEST_S) } else { 0 };
                    let log_interval = *log_interval;
                    if duration_s > 0 {
                        let until = SimTime(now.0 + u64::from(duration_s) * SECOND_NS);
                        self.0.push(Grant { host, kind, log_interval, until, next: now });
                    }
                    let (reserved, renewal) = (0, u8::from(duration_s > 0));
                    let grant = UnicastGrant { kind, log_interval, duration_s, reserved, renewal };
                    answers.push(Part::Grant(grant));
                }
                Part::Cancel(UnicastCancel { kind, .. }) => {
                    self.0.retain(|grant| (grant.host, grant.kind) != (host, kind & 0xf0));
                    answers.push(Part::Cancelled(UnicastCancel { kind: *kind, reserved: 0 }));
                }
                _ => {}
            }
        }
        answers
    }

    /// Time of the next due Announce or Sync message; the largest [`SimTime`] if neither is granted.
    pub fn due(&self) -> SimTime {
        let sent = self.0.iter().filter(|grant| grant.kind != DELAY_RESP);
        sent.map(|grant| grant.next).min().unwrap_or(SimTime(u64::MAX))
    }

    /// Hosts to which a message of `kind` is due at `now`, each once, with the granted interval of these messages
    /// (binary logarithm of seconds). The next message to each host is due one interval later.
    pub fn take_due(&mut self, now: SimTime, kind: u8) -> Vec<(Ipv4Addr, i8)> {
        self.0.retain(|grant| grant.until > now);
        let due = self.0.iter_mut().filter(|grant| grant.kind == kind && grant.next <= now);
        due.map(|grant| {
            grant.next = SimTime(now.0 + interval_ns(grant.log_interval));
            (grant.host, grant.log_interval)
        })
        .collect()
    }
}
