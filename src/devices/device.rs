//! What a product is to the rest of Menura.
//!
//! A device says what it wants measured ([`Device::poll_request`]), is handed the answers in the
//! same order ([`Device::handle_measurement`]), hears its host ([`Device::handle_input`]) and the
//! time ([`Device::advance`]), and then has something to send ([`Device::poll_transmit`]).

use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::config::profile::FamilyData;
use crate::config::profile::network::{HostAddress, PortIndex};
use crate::config::rig::faults::DeviceFaults;
use crate::ptp::account::ClockAccount;
use crate::ptp::{PtpSend, PtpSlave};
use crate::sensors::camera::truth::FrameTruth;
use crate::sensors::fault::FaultEffect;
use crate::sensors::truth::SweepTruth;
use crate::sensors::{Measurement, MeasurementRequest, Sensor};
use crate::time::SimTime;
use crate::wire::http::{HttpRequest, HttpResponse};
use crate::wire::line::LineSettings;
use crate::wire::port::Peer;
use crate::wire::ptp::Transport;
use crate::world::actuation::Actuation;

/// What a host asks of a device shows in nothing that is due sooner than this after it, nanoseconds:
/// such packets may be with the operating system already.
pub const REACTION_NS: u64 = 20_000_000;

/// Output of a device at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmit {
    /// When. Bytes on a serial line: when the first start bit begins.
    pub due: SimTime,
    /// Points with a return in it, for the status view.
    pub points: u32,
    /// What.
    pub output: Output,
    /// Effects of faults within the device.
    pub fault_effects: Vec<FaultEffect>,
    /// Ground truth of its returns, if it is asked for.
    pub truth: PacketTruth,
}

/// The truth of a packet, on its way beside the packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketTruth {
    /// The place of the packet among those that the device gives out by its port, from 0. It is known
    /// when the packet leaves the device, and a copy of the packet has the same.
    pub number: u64,
    /// The sweeps that it shows returns of; none if truth is not asked for.
    pub sweeps: Vec<Arc<SweepTruth>>,
}

impl From<Option<&Arc<SweepTruth>>> for PacketTruth {
    fn from(sweep: Option<&Arc<SweepTruth>>) -> Self {
        Self { number: 0, sweeps: sweep.cloned().into_iter().collect() }
    }
}

impl Transmit {
    /// Something without points.
    pub fn new(due: SimTime, output: Output) -> Self {
        Self { due, points: 0, output, fault_effects: Vec::new(), truth: PacketTruth::default() }
    }

    /// A datagram from the first port, without points.
    pub fn datagram(due: SimTime, bytes: Vec<u8>) -> Self {
        Self::new(due, Output::Datagram { port: PortIndex::DATA, bytes })
    }

    /// Bytes on the serial line, without points.
    pub fn bytes(due: SimTime, bytes: Vec<u8>) -> Self {
        Self::new(due, Output::Bytes(bytes))
    }
}

/// Output of a device.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// One datagram from one of the device's ports.
    Datagram {
        /// Index of the port.
        port: PortIndex,
        /// The payload.
        bytes: Vec<u8>,
    },
    /// Bytes that follow one another on the line at the line's rate.
    Bytes(Vec<u8>),
    /// Bytes on a port that the link does not lead to, for cables within the rig. None at all: the port runs
    /// so from now on.
    Aside {
        /// The port, of the product's `line_ports`.
        port: u8,
        /// How the port runs.
        line: LineSettings,
        /// The bytes, one after another at the port's rate.
        bytes: Vec<u8>,
    },
    /// One telegram to one of the hosts that are connected to a device with a server.
    BytesTo(Peer, Vec<u8>),
    /// The connection to one of these hosts is closed.
    Disconnect(Peer),
    /// The device's serial port runs like this from now on. Due when the line is free.
    Line(LineSettings),
    /// The pulse-per-second line rises (`true`) or falls.
    PulsePerSecond(bool),
    /// Datagrams of this port that were handed over before and are due then or later are not sent
    /// after all: the device has been told to do something else.
    Revoke(PortIndex),
    /// Datagrams that are due then or later go to another host; those of ports with the number 0 go on as before.
    Host(HostAddress),
    /// Datagrams that are due then or later may be divided on their way, or not.
    Fragments(bool),
    /// The robot's drive, or one of its joints, is told something. Nothing leaves by the device's link.
    Actuate(Actuation),
}

impl Output {
    /// The bytes, if there are any.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Datagram { bytes, .. } | Self::Bytes(bytes) | Self::BytesTo(_, bytes) => {
                Some(bytes)
            }
            Self::Aside { .. }
            | Self::Disconnect(_)
            | Self::Line(_)
            | Self::PulsePerSecond(_)
            | Self::Revoke(_)
            | Self::Host(_)
            | Self::Fragments(_)
            | Self::Actuate(_) => None,
        }
    }

    /// The port that it leaves by, if it is a datagram.
    pub fn port(&self) -> Option<PortIndex> {
        match self {
            Self::Datagram { port, .. } => Some(*port),
            _ => None,
        }
    }

    /// Where it comes among outputs of a device that are due at the same instant: datagrams in the order of their
    /// ports, whichever was measured first, and all else before them.
    pub fn rank(&self) -> u8 {
        self.port().map_or(0, |port| port.0.saturating_add(1))
    }

    /// The bytes, if there are any.
    pub fn bytes_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Datagram { bytes, .. } | Self::Bytes(bytes) | Self::BytesTo(_, bytes) => {
                Some(bytes)
            }
            Self::Aside { .. }
            | Self::Disconnect(_)
            | Self::Line(_)
            | Self::PulsePerSecond(_)
            | Self::Revoke(_)
            | Self::Host(_)
            | Self::Fragments(_)
            | Self::Actuate(_) => None,
        }
    }
}

/// Signal on a cable from another device of the rig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CableSignal {
    /// The pulse-per-second line rises (`true`) or falls.
    PulsePerSecond(bool),
    /// Bytes, the last bit of which has just arrived, and how the other end's serial port runs.
    Bytes(Vec<u8>, LineSettings),
}

/// One product's behaviour. Instants given to it never go back.
pub trait Device: Send {
    /// What to measure next, if its first firing is before `horizon`. Call until `None`.
    ///
    /// Measuring runs ahead of time: what is asked for may not be wanted any more when it is due,
    /// and then the device does not send it.
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest>;

    /// The answer to the oldest request that has none yet; when indexes are missing before it,
    /// those were given up because they would have come too late.
    fn handle_measurement(&mut self, measurement: &Measurement);

    /// Bytes that arrived from the host at `now`, in pieces of any length.
    fn handle_input(&mut self, _now: SimTime, _bytes: &[u8]) {}

    /// Bytes that arrived at `now` by a port that the link does not lead to, from the host of a further line.
    fn handle_line_input(&mut self, _now: SimTime, _port: u8, _bytes: &[u8]) {}

    /// A host has connected to the device's server, or has gone.
    fn handle_peer(&mut self, _now: SimTime, _peer: Peer, _connected: bool) {}

    /// Bytes that arrived from one of the connected hosts at `now`, in pieces of any length.
    fn handle_peer_input(&mut self, _now: SimTime, _peer: Peer, _bytes: &[u8]) {}

    /// The answer to a request that arrived at `now` at its web interface.
    fn handle_http(&mut self, _now: SimTime, _request: &HttpRequest) -> HttpResponse {
        HttpResponse::text(404, "this device has no web interface")
    }

    /// Its PTP port, if it has one.
    fn ptp_slave(&mut self) -> Option<&mut PtpSlave> {
        None
    }

    /// Whether it hears no PTP message at `now`, because it is off or restarts.
    fn is_deaf(&self, _now: SimTime) -> bool {
        false
    }

    /// Whether the clock that PTP sets stamps its data.
    fn stamps_by_ptp(&self) -> bool {
        true
    }

    /// A PTP message that it heard at `now` may have set its clock.
    fn follow_ptp(&mut self, _now: SimTime) {}

    /// A PTP message, any bytes, that arrived; `from` is who sent it to its address alone. The kernel had it at `stamped`,
    /// which is `now` or before.
    fn handle_ptp(&mut self, now: SimTime, stamped: SimTime, from: Option<Ipv4Addr>, bytes: &[u8]) {
        self.advance(now);
        if self.is_deaf(now) {
            return;
        }
        if let Some(slave) = self.ptp_slave() {
            slave.hear(now, stamped, from, bytes);
            self.follow_ptp(now);
        }
    }

    /// The event message with this key of [`Device::poll_ptp`] left at `stamped`, which is `now` or before.
    fn handle_ptp_departure(&mut self, now: SimTime, key: u32, stamped: SimTime) {
        self.advance(now);
        if let Some(slave) = self.ptp_slave() {
            slave.left(now, key, stamped);
        }
    }

    /// What its PTP clock is or was at an instant, for those who know the true time. Call until `None` as
    /// [`Device::poll_ptp`].
    fn poll_clock(&mut self) -> Option<ClockAccount> {
        let is_stamping = self.stamps_by_ptp();
        let account = self.ptp_slave()?.poll_account()?;
        Some(ClockAccount { is_stamping, ..account })
    }

    /// A frame that it sends, for those who want the truth of it. Call until `None` as [`Device::poll_ptp`].
    fn poll_frame(&mut self) -> Option<FrameTruth> {
        None
    }

    /// What carries its PTP messages from now on, if that is new. To be asked before [`Device::poll_ptp`].
    fn poll_ptp_transport(&mut self) -> Option<Transport> {
        self.ptp_slave()?.poll_transport()
    }

    /// A PTP message that it sends at once. Call until `None` when there is nothing more to transmit.
    fn poll_ptp(&mut self) -> Option<PtpSend> {
        self.ptp_slave()?.poll_send()
    }

    /// A signal that arrived at `now` from the device it is wired to.
    fn handle_cable(&mut self, _now: SimTime, _signal: &CableSignal) {}

    /// The time has come to `now`: what falls due until then is to be done, in its order. The
    /// result must not depend on how many steps lead there.
    fn advance(&mut self, _now: SimTime) {}

    /// From `at` on these are the faults within it, in place of those before; until `at` both say the
    /// same. The device's time has not come to `at`, and nothing that it asked for reaches it. The end of
    /// a window without one may become known by this; its beginning has been told before.
    fn change_faults(&mut self, _at: SimTime, _faults: &DeviceFaults) {}

    /// How long before a fault of this kind begins, or ends, the device decides what it does then,
    /// nanoseconds: so long before it has to be told by [`Device::change_faults`].
    fn fault_notice_ns(&self, _kind: &dyn FamilyData, _begins: bool) -> u64 {
        0
    }

    /// What to send. Bytes come in the order of their due times, those of each port by themselves,
    /// but for what follows [`Output::Revoke`]; nothing is due before the time that the device was told
    /// last. Call until `None` after each of the above.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// Transmits a second when all goes well; 0 when that depends on the host or on what is seen.
    fn nominal_rate_hz(&self) -> f64;

    /// How its serial port runs at power-on; `None` for network devices.
    fn line(&self) -> Option<LineSettings> {
        None
    }
}

/// A device and the sensor that measures for it.
pub struct Built {
    /// The product.
    pub device: Box<dyn Device>,
    /// Its physics; measures on any thread.
    pub sensor: Arc<dyn Sensor>,
}
