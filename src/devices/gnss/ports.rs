//! Ports of a receiver: their input and output.
//!
//! The link of a rig's device is connected to one port ([`GnssSettings::port`]). Output of the other ports is
//! [`Output::Aside`]; cables within the rig and further devices ([`super::further_line`]) receive it.

use super::Gnss;
use super::items::{Protocol, Store, UART2, baud_key, enabled_key, output_key};
use super::monitor::{PortState, Traffic};
use super::profile::{GnssDialect, GnssProfile, GnssSettings, LinePort};
use crate::serial::uart::Uart;
use crate::time::SimTime;
use crate::wire::corrections::Correction;
use crate::wire::framer::Framer;
use crate::wire::gnss_stream::{Frame, GnssStream};
use crate::wire::line::LineSettings;
use crate::wire::ubx::OVERHEAD;
use crate::{Output, Transmit};

/// Preamble of an RTCM 3 message, and the bits of its second byte that must be zero.
const RTCM3_HEAD: (u8, u8) = (0xd3, 0xfc);

/// A port of a receiver.
pub(super) struct Port {
    /// u-blox's number of the port.
    pub number: u8,
    /// Whether the port is connected; an unconnected port sends nothing.
    pub is_wired: bool,
    pub uart: Uart,
    pub traffic: Traffic,
    /// Number of lost output messages that were already reported.
    pub lost_told: u64,
    /// Line settings of the bytes that are being sent; [`Uart::line`] returns the settings after all queued bytes.
    line: LineSettings,
    input: Framer<GnssStream>,
}

/// A frame or a damaged RTCM 3 message that a port received.
enum Arrival {
    Frame(Frame),
    /// An RTCM 3 message with a wrong CRC.
    Damaged(Correction),
}

impl Port {
    /// Ports of a receiver with the settings of `store`; the first is the port of the link.
    pub fn all(profile: &GnssProfile, settings: &GnssSettings, store: &Store) -> Vec<Self> {
        let baud = |port: LinePort| match baud_key(port.number()) {
            Some(key) => store.get(key) as u32,
            None => LineSettings::USB.baud,
        };
        let others =
            profile.receiver.dialect.line_ports().iter().filter(|port| **port != settings.port);
        std::iter::once(&settings.port)
            .chain(others)
            .map(|port| {
                let uart = Uart::new(baud(*port), profile.receiver.tx_buffer_bytes);
                Self {
                    number: port.number(),
                    // UART2 can have a cable to another receiver.
                    is_wired: *port == settings.port || *port == LinePort::Uart2,
                    line: uart.line(),
                    uart,
                    traffic: Traffic::default(),
                    lost_told: 0,
                    input: Framer::new(GnssStream),
                }
            })
            .collect()
    }

    /// Splits received bytes into frames and damaged RTCM 3 messages; counts the frames.
    fn take(&mut self, mut bytes: &[u8]) -> Vec<Arrival> {
        let mut all = Vec::new();
        while let Some(piece) = self.input.next_piece(&mut bytes) {
            let Some(frame) = piece.frame else {
                all.extend(damaged(piece.bytes).into_iter().map(Arrival::Damaged));
                continue;
            };
            let (kind, length) = match &frame {
                Frame::Ubx(frame) => (0, frame.payload.len() + OVERHEAD),
                Frame::Line(line) => (1, line.len()),
                Frame::Rtcm3(message) => (2, message.len()),
            };
            let traffic = &mut self.traffic;
            traffic.rx_messages[kind] = traffic.rx_messages[kind].wrapping_add(1);
            traffic.rx_message_bytes = traffic.rx_message_bytes.wrapping_add(length as u32);
            all.push(Arrival::Frame(frame));
        }
        all
    }
}

/// RTCM 3 messages with a wrong CRC in bytes that belong to no frame.
fn damaged(bytes: &[u8]) -> Vec<Correction> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some(at) =
        rest.windows(2).position(|two| two[0] == RTCM3_HEAD.0 && two[1] & RTCM3_HEAD.1 == 0)
    {
        let message = &rest[at..];
        let length = usize::from(message[1]) << 8 | message.get(2).map_or(0, |b| usize::from(*b));
        found.extend(message.get(3..).and_then(Correction::damaged));
        rest = message.get(length + 6..).unwrap_or_default();
    }
    found
}

impl Gnss {
    /// Connects further serial lines to the ports with the u-blox numbers `ports`; the port of the link is left out.
    pub fn wire(&mut self, ports: &[u8]) {
        for port in self.ports.iter_mut().skip(1).filter(|port| ports.contains(&port.number)) {
            port.is_wired = true;
            // The other end must know the baud rate before the first byte.
            self.asides.push_back(aside(port.number, port.uart.line(), SimTime::ZERO, Vec::new()));
        }
    }

    /// Index of the port with the u-blox number `number`.
    pub(super) fn place_of(&self, number: u8) -> Option<usize> {
        self.ports.iter().position(|port| port.number == number)
    }

    /// u-blox's number of the port whose input is being processed.
    pub(super) fn served_port(&self) -> u8 {
        self.ports[self.served].number
    }

    /// Indices of the connected ports.
    pub(super) fn wired(&self) -> Vec<usize> {
        (0..self.ports.len()).filter(|place| self.ports[*place].is_wired).collect()
    }

    /// Whether the port with the index `place` is connected, enabled and configured to send `protocol`.
    pub(super) fn sends_on(&self, place: usize, protocol: Protocol) -> bool {
        let port = &self.ports[place];
        port.is_wired
            && self.store.is_set(enabled_key(port.number))
            && self.store.is_set(output_key(port.number, protocol))
    }

    /// Applies the configured baud rates to all lines.
    pub(super) fn apply_rates(&mut self, now: SimTime) {
        for port in &mut self.ports {
            let Some(key) = baud_key(port.number) else { continue };
            let baud = self.store.get(key) as u32;
            if baud != port.uart.line().baud {
                port.uart.change_rate(now, baud);
            }
        }
    }

    /// Processes bytes that a port received.
    pub(super) fn take_bytes(&mut self, now: SimTime, place: usize, bytes: &[u8]) {
        if self.profile.receiver.dialect == GnssDialect::Plain {
            return;
        }
        let port = &mut self.ports[place];
        let number = port.number;
        port.traffic.rx_bytes = port.traffic.rx_bytes.wrapping_add(bytes.len() as u32);
        if !self.store.is_set(enabled_key(number)) {
            return;
        }
        if self.wakes_at.is_some() {
            // Corrections from a base do not wake the receiver.
            if number != UART2 || place == 0 {
                self.wake(now);
            }
            return;
        }
        let is_ublox = self.profile.receiver.dialect.is_ublox();
        for arrival in self.ports[place].take(bytes) {
            self.served = place;
            match arrival {
                Arrival::Frame(Frame::Line(line)) => self.handle_line(now, &line),
                Arrival::Frame(Frame::Ubx(frame)) if is_ublox => self.handle_frame(now, &frame),
                Arrival::Frame(Frame::Ubx(_)) => {}
                Arrival::Frame(Frame::Rtcm3(message)) => {
                    self.handle_correction(now, number, &message);
                }
                Arrival::Damaged(correction) => self.handle_damaged(now, number, &correction),
            }
        }
        self.served = 0;
    }

    /// States of the port of the link and of all ports that have sent or received bytes, in the order of their numbers.
    pub(super) fn port_states(&self, now: SimTime) -> Vec<PortState> {
        let is_in_use = |(place, port): &(usize, &Port)| {
            let Traffic { tx_bytes, rx_bytes, .. } = port.traffic;
            *place == 0 || tx_bytes > 0 || rx_bytes > 0
        };
        let state = |(_, port): (usize, &Port)| PortState {
            number: port.number,
            traffic: port.traffic,
            waiting_bytes: port.uart.waiting_bytes(now),
            buffer_bytes: self.profile.receiver.tx_buffer_bytes,
            has_lost: port.uart.lost() > 0,
        };
        let mut all: Vec<_> = self.ports.iter().enumerate().filter(is_in_use).map(state).collect();
        all.sort_by_key(|state| state.number);
        all
    }

    /// The next output of all ports and of the PPS line; `None` if none is due now.
    pub(super) fn next_output(&mut self) -> Option<Transmit> {
        if let Some(aside) = self.asides.pop_front_if(|aside| aside.due <= self.now) {
            return Some(aside);
        }
        let edge = self.edges.front().map(|edge| edge.due);
        let ports = self.ports.iter().map(|port| port.uart.next_due());
        let dues = std::iter::once(edge).chain(ports).enumerate();
        let (due, which) = dues.filter_map(|(which, due)| Some((due?, which))).min()?;
        if due > self.now {
            return None;
        }
        let Some(place) = which.checked_sub(1) else { return self.edges.pop_front() };
        let port = &mut self.ports[place];
        let (number, transmit) = (port.number, port.uart.poll()?);
        let of_aside = match &transmit.output {
            Output::Line(line) => {
                port.line = *line;
                Some(Vec::new())
            }
            Output::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        };
        let aside = of_aside.map(|bytes| aside(number, self.ports[place].line, due, bytes));
        if place > 0 {
            return aside;
        }
        // A cable to another receiver starts at UART2, even if a line is also connected there.
        if number == UART2 {
            self.asides.extend(aside);
        }
        Some(transmit)
    }
}

fn aside(port: u8, line: LineSettings, due: SimTime, bytes: Vec<u8>) -> Transmit {
    Transmit::new(due, Output::Aside { port, line, bytes })
}
