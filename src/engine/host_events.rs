//! Events that hosts cause during a run: commands to devices and to the robot.

use std::net::Ipv4Addr;

use tokio::sync::oneshot;

use super::render::{Rendered, Renderer};
use crate::config::rig::DeviceId;
use crate::devices::Device;
use crate::time::SimTime;
use crate::wire::drive_order::DriveOrder;
use crate::wire::http::{HttpRequest, HttpResponse};
use crate::wire::port::Peer;
use crate::world::actuation::Actuation;

/// An input from a host during a run, with the channel for its answer.
pub struct HostEvent {
    /// The input, with its target and its time of arrival.
    pub input: HostInput,
    /// Channel for the answer, if the input is a request.
    pub reply: Option<oneshot::Sender<HttpResponse>>,
}

/// A host's input to a device or to the robot.
#[derive(Clone, Debug, PartialEq)]
pub struct HostInput {
    /// Time of arrival. After a device has processed the input: the time at which the input took effect.
    pub at: SimTime,
    /// Target of the input: a device or the robot.
    pub to: HostTarget,
    /// Content of the input.
    pub payload: Payload,
}

/// Target of a host's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTarget {
    /// A device.
    Device(DeviceId),
    /// The robot itself, if it has no drive base.
    Robot,
}

/// Content of a host's input, or an event that reaches a device in the same way.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Bytes on a serial line, or corrections from an NTRIP caster.
    Bytes(Vec<u8>),
    /// A host has connected by TCP (`true`) or disconnected (`false`).
    Connected(Peer, bool),
    /// Bytes from a host that is connected by TCP.
    PeerBytes(Peer, Vec<u8>),
    /// A request to a web interface.
    Request(HttpRequest),
    /// A PTP message with its receive timestamp.
    Ptp {
        /// The kernel's receive timestamp.
        stamped: SimTime,
        /// Address of the sender for unicast messages; `None` for broadcasts and multicasts.
        from: Option<Ipv4Addr>,
        /// Bytes of the message, without network headers.
        bytes: Vec<u8>,
    },
    /// A PTP message of the device has left.
    PtpLeft {
        /// Number by which the device identifies the message.
        key: u32,
        /// The kernel's transmit timestamp.
        at: SimTime,
    },
    /// Result of the device's request for another address.
    Address {
        /// The requested address.
        ip: Ipv4Addr,
        /// Whether the device has this address from now on; otherwise it keeps its old one.
        moves: bool,
    },
    /// A drive command to the robot.
    Order(DriveOrder),
}

impl From<HostInput> for HostEvent {
    fn from(input: HostInput) -> Self {
        Self { input, reply: None }
    }
}

impl Renderer<'_> {
    /// Passes a host's input, which arrived at `input.at`, to the device or the robot. Returns the time at which the
    /// input takes effect, and the answer to a request.
    ///
    /// A replay that passes the same input at the returned time gets the same effect. An input to a device that arrived
    /// before the first instant takes effect right after that instant. Without this rule, its order relative to the
    /// measurements at the first instant would depend on chance.
    pub fn hear(
        &mut self,
        input: &HostInput,
        out: &mut dyn FnMut(Rendered),
    ) -> (SimTime, Option<HttpResponse>) {
        let HostInput { at, to, payload } = input;
        let device = match (to, payload) {
            (HostTarget::Robot, Payload::Order(order)) => {
                let heard = self.slowest().max(*at);
                self.actuate(heard, *at, actuation(order));
                return (heard, None);
            }
            (HostTarget::Robot, _) => return (*at, None),
            (HostTarget::Device(device), _) => *device,
        };
        let (device, port) = match self.line_of(device) {
            Some((receiver, port)) => (receiver, Some(port)),
            None => (device, None),
        };
        let at = &SimTime(at.0.max(1));
        // Cable signals and measurements up to this time reach the device first. A replay has the same order.
        self.advance_to(device, *at, out);
        let mut tell = |event: &mut dyn FnMut(&mut dyn Device, SimTime)| {
            self.handle(
                device,
                *at,
                |device, now| {
                    event(device, now);
                    now
                },
                out,
            )
        };
        match payload {
            Payload::Bytes(bytes) => {
                let mut hear = |device: &mut dyn Device, now| match port {
                    Some(port) => device.handle_line_input(now, port, bytes),
                    None => device.handle_input(now, bytes),
                };
                (tell(&mut hear), None)
            }
            Payload::PeerBytes(peer, bytes) => {
                (tell(&mut |device, now| device.handle_peer_input(now, *peer, bytes)), None)
            }
            Payload::Connected(peer, connected) => {
                (tell(&mut |device, now| device.handle_peer(now, *peer, *connected)), None)
            }
            Payload::Request(request) => {
                let mut answer = None;
                let heard =
                    tell(&mut |device, now| answer = Some(device.handle_http(now, request)));
                (heard, answer)
            }
            Payload::Ptp { stamped, from, bytes } => {
                (tell(&mut |device, now| device.handle_ptp(now, *stamped, *from, bytes)), None)
            }
            Payload::PtpLeft { key, at } => {
                (tell(&mut |device, now| device.handle_ptp_departure(now, *key, *at)), None)
            }
            Payload::Address { ip, moves } => {
                (tell(&mut |device, now| device.handle_address(now, *ip, *moves)), None)
            }
            Payload::Order(_) => (*at, None),
        }
    }
}

fn actuation(order: &DriveOrder) -> Actuation {
    match *order {
        DriveOrder::Twist { forward_m_s, turn_rad_s } => {
            Actuation::Twist { forward_m_s, turn_rad_s }
        }
        DriveOrder::Reset => Actuation::Reset,
        DriveOrder::EmergencyStop => Actuation::EmergencyStop(true),
        DriveOrder::Release => Actuation::EmergencyStop(false),
    }
}
