//! IP addresses of a unit, and their configuration by hosts.

use std::net::Ipv4Addr;

use super::GigeCamera;
use crate::config::rig::faults::MAX_DELAY_MS;
use crate::time::SimTime;
use crate::wire::gige::{Command, ack, command, status};
use crate::wire::port::Peer;
use crate::{Output, Transmit};

/// Register bit of an address configuration method: persistent address.
pub(super) const PERSISTENT: u32 = 1;
/// Register bit of an address configuration method: link-local address (LLA, 169.254.0.0/16).
const LINK_LOCAL: u32 = 1 << 2;
/// Supported address configuration methods; DHCP is not supported.
pub(super) const SUPPORTED: u32 = LINK_LOCAL | PERSISTENT;
/// Payload length of FORCEIP, bytes.
const FORCE_IP_LEN: usize = 56;
/// Time after which a change of address is refused if the link has not granted it. The link grants a change only when
/// all packets that a fault delays have left.
const PATIENCE_NS: u64 = (MAX_DELAY_MS as u64 + 1000) * 1_000_000;

/// Address, subnet mask and gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Addresses {
    pub ip: Ipv4Addr,
    pub mask: Ipv4Addr,
    pub gateway: Ipv4Addr,
}

impl Addresses {
    /// Addresses of a unit to which the rig gives the address `ip`.
    fn of(ip: Ipv4Addr) -> Self {
        let bits = if ip.is_loopback() { 8 } else { 24 };
        let mask = Ipv4Addr::from_bits(u32::MAX << (32 - bits));
        Self { ip, mask, gateway: Ipv4Addr::UNSPECIFIED }
    }

    /// Whether a unit can use these addresses; multicast and broadcast addresses are not usable.
    fn are_usable(&self) -> bool {
        let [ip, mask] = [self.ip, self.mask].map(Ipv4Addr::to_bits);
        let host = ip & !mask;
        // Networks of one or two addresses have no broadcast address.
        let is_host = mask.count_ones() > 30 || (host != 0 && host != !mask);
        let has_mask = mask != 0 && is_mask(self.mask);
        is_unicast(self.ip) && has_mask && is_host && is_empty_or_unicast(self.gateway)
    }
}

fn is_unicast(ip: Ipv4Addr) -> bool {
    (1..224).contains(&ip.octets()[0])
}

fn is_empty_or_unicast(ip: Ipv4Addr) -> bool {
    ip.is_unspecified() || is_unicast(ip)
}

fn is_mask(mask: Ipv4Addr) -> bool {
    mask.to_bits().leading_ones() == mask.to_bits().count_ones()
}

#[derive(Debug)]
pub(super) struct Network {
    pub now: Addresses,
    /// Persistent addresses, used from a restart on if their method is on and they are usable.
    pub persistent: Addresses,
    /// Address configuration methods that are on, as register bits; used at a restart.
    pub ways: u32,
    moving: Option<Moving>,
    restart_at: Option<SimTime>,
}

/// A change of address that the link has not granted yet.
#[derive(Debug)]
struct Moving {
    to: Addresses,
    until: SimTime,
    /// Host that waits for the answer to FORCEIP, and the id of the command; `None` if no host waits.
    asked_by: Option<(Peer, u16)>,
}

impl Network {
    pub fn of(ip: Ipv4Addr) -> Self {
        let now = Addresses::of(ip);
        Self { now, persistent: now, ways: SUPPORTED, moving: None, restart_at: None }
    }

    /// Writes an address register; persistent addresses can be 0.0.0.0. `Err` is the GVCP status of a refusal.
    pub fn set(&mut self, address: u32, value: u32) -> Result<(), u16> {
        let ip = Ipv4Addr::from_bits(value);
        match address {
            // The bit for LLA must be set.
            0x0014 => store(&mut self.ways, value, value & !PERSISTENT == LINK_LOCAL),
            0x064c => store(&mut self.persistent.ip, ip, is_empty_or_unicast(ip)),
            0x065c => store(&mut self.persistent.mask, ip, is_mask(ip)),
            _ => store(&mut self.persistent.gateway, ip, is_empty_or_unicast(ip)),
        }
    }

    /// Configures the addresses again at `at`; the unit ignores hosts until then.
    pub fn restart(&mut self, at: SimTime) {
        self.restart_at = Some(at);
    }

    pub fn is_moving(&self) -> bool {
        self.moving.is_some()
    }

    pub fn is_restarting(&self) -> bool {
        self.restart_at.is_some()
    }

    /// Addresses after a restart.
    fn configured(&self, mac: [u8; 6]) -> Addresses {
        if self.ways & PERSISTENT != 0 && self.persistent.are_usable() {
            return self.persistent;
        }
        // The first and the last 256 addresses are reserved (RFC 3927).
        let ip = Ipv4Addr::new(169, 254, mac[4] % 254 + 1, mac[5]);
        let mask = Ipv4Addr::new(255, 255, 0, 0);
        Addresses { ip, mask, gateway: Ipv4Addr::UNSPECIFIED }
    }
}

fn store<T>(register: &mut T, value: T, is_allowed: bool) -> Result<(), u16> {
    if !is_allowed {
        return Err(status::INVALID_PARAMETER);
    }
    *register = value;
    Ok(())
}

impl GigeCamera {
    /// Handles FORCEIP, which changes the unit's address if it contains the unit's MAC address. Returns the answer;
    /// `Err` is the GVCP status of a refusal. `None`: the command is for another unit, or the answer follows when the
    /// link grants or refuses the change.
    pub(super) fn force_ip(
        &mut self,
        peer: Peer,
        command: &Command<'_>,
    ) -> Option<Result<Vec<u8>, u16>> {
        let Ok(payload) = <&[u8; FORCE_IP_LEN]>::try_from(command.payload) else {
            return Some(Err(status::INVALID_HEADER));
        };
        if payload[2..8] != self.mac {
            return None;
        }
        if self.control.is_controlled() {
            return Some(Err(status::ACCESS_DENIED));
        }
        let asked_by = Some((peer, command.id)).filter(|_| command.wants_ack());
        if let Some(moving) = &self.network.moving {
            return (moving.asked_by != asked_by).then_some(Err(status::BUSY));
        }
        let ip = |at: usize| {
            Ipv4Addr::new(payload[at], payload[at + 1], payload[at + 2], payload[at + 3])
        };
        let to = match ip(20) {
            Ipv4Addr::UNSPECIFIED => self.network.configured(self.mac),
            to => Addresses { ip: to, mask: ip(36), gateway: ip(52) },
        };
        if !to.are_usable() {
            return Some(Err(status::INVALID_PARAMETER));
        }
        let is_there = self.move_to(to, asked_by);
        is_there.then(|| Ok(Vec::new()))
    }

    /// Asks the link to change the device's addresses to `to`. Returns whether the change takes effect at once.
    fn move_to(&mut self, to: Addresses, asked_by: Option<(Peer, u16)>) -> bool {
        if to.ip == self.network.now.ip {
            self.network.now = to;
            return true;
        }
        let until = SimTime(self.now.0 + PATIENCE_NS);
        self.network.moving = Some(Moving { to, until, asked_by });
        self.ready.push_back(Transmit::new(self.now, Output::Address(to.ip)));
        false
    }

    /// Configures the addresses at the end of a restart, and refuses a change that the link has not granted in time.
    pub(super) fn watch_network(&mut self) {
        let now = self.now;
        if self.network.restart_at.take_if(|at| *at <= now).is_some() {
            let to = self.network.configured(self.mac);
            self.move_to(to, None);
        }
        if let Some(moving) = self.network.moving.take_if(|moving| moving.until <= now) {
            self.answer_move(&moving, false);
        }
    }

    /// Processes the link's answer to the request for the address `ip`; `moves`: the link grants the change.
    pub(super) fn take_address(&mut self, ip: Ipv4Addr, moves: bool) {
        let moving = self.network.moving.take_if(|moving| moving.to.ip == ip);
        if moves {
            // The unit uses the address that the link has granted, even after its request has timed out.
            self.network.now = moving.as_ref().map_or(Addresses::of(ip), |moving| moving.to);
        }
        if let Some(moving) = moving {
            self.answer_move(&moving, moves);
        }
    }

    fn answer_move(&mut self, moving: &Moving, moves: bool) {
        let Some((peer, id)) = moving.asked_by else { return };
        let status = if moves { status::SUCCESS } else { status::INVALID_PARAMETER };
        let due = SimTime(self.now.0 + self.profile.timing.reply_ns);
        self.reply(peer, id, due, ack(status, command::FORCE_IP, id, &[]));
    }
}
