//! Interface of a product to the rest of Menura.
//!
//! A device requests measurements ([`Device::poll_request`]) and gets the answers in the same order
//! ([`Device::handle_measurement`]). It receives bytes from the host ([`Device::handle_input`]) and the time
//! ([`Device::advance`]), and returns output ([`Device::poll_transmit`]).

use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::config::profile::FamilyData;
use crate::config::profile::network::{HostAddress, PortIndex};
use crate::config::rig::faults::DeviceFaults;
use crate::ptp::account::ClockAccount;
use crate::ptp::{PtpSend, PtpSlave};
use crate::sensors::camera::lens::Lens;
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

/// Shortest time from a host command to its effect on output, nanoseconds: earlier packets may already be submitted
/// to the kernel.
pub const REACTION_NS: u64 = 20_000_000;

/// An output of a device, with its due time.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmit {
    /// Due time; for bytes on a serial line, the start of the first start bit.
    pub due: SimTime,
    /// Number of points with a return in the packet.
    pub points: u32,
    /// Bytes, signal or command that the device emits at `due`.
    pub output: Output,
    /// Effects of faults inside the device on this output.
    pub fault_effects: Vec<FaultEffect>,
    /// Ground truth of the output's returns, if requested.
    pub truth: PacketTruth,
}

/// Ground truth of a packet, carried with the packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketTruth {
    /// Number of the packet among the packets of its port, from 0, assigned when the packet leaves the device.
    /// Duplicates have the same number.
    pub number: u64,
    /// Ground truth of the sweeps with returns in the packet; empty if ground truth is not recorded.
    pub sweeps: Vec<Arc<SweepTruth>>,
    /// Lens of the image that begins with this packet, in pixels of the image; `None` for other packets.
    pub lens: Option<Box<Lens>>,
}

impl From<Option<&Arc<SweepTruth>>> for PacketTruth {
    fn from(sweep: Option<&Arc<SweepTruth>>) -> Self {
        Self { sweeps: sweep.cloned().into_iter().collect(), ..Self::default() }
    }
}

impl Transmit {
    /// An output without points.
    pub fn new(due: SimTime, output: Output) -> Self {
        Self { due, points: 0, output, fault_effects: Vec::new(), truth: PacketTruth::default() }
    }

    /// A datagram from port 0, without points.
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
        /// UDP payload.
        bytes: Vec<u8>,
    },
    /// Bytes on the serial line, back to back at the baud rate.
    Bytes(Vec<u8>),
    /// Bytes on a port other than the link's, for cables and further lines within the rig. Empty: only the settings of
    /// the port change.
    Aside {
        /// Port, one of the product's `line_ports`.
        port: u8,
        /// Settings of the port.
        line: LineSettings,
        /// Bytes, back to back at the baud rate of the port.
        bytes: Vec<u8>,
    },
    /// One telegram to one of the hosts connected to the device's server.
    BytesTo(Peer, Vec<u8>),
    /// Closes the connection to a host.
    Disconnect(Peer),
    /// New settings of the device's serial port, due when the line is free.
    Line(LineSettings),
    /// The pulse-per-second line rises (`true`) or falls.
    PulsePerSecond(bool),
    /// Withdraws all datagrams of this port that the device returned before and that are due at this time or later,
    /// because a command has changed the device.
    Revoke(PortIndex),
    /// New destination of datagrams that are due at this instant or later; ports with the number 0 keep their
    /// destination.
    Host(HostAddress),
    /// Sets whether datagrams that are due at this instant or later may be fragmented.
    Fragments(bool),
    /// The device requests this IP address for the datagrams that it sends and receives. [`Device::handle_address`]
    /// reports the answer, at this instant or later. A granted address applies from then on.
    Address(Ipv4Addr),
    /// A command to the robot's drive or joints, not sent on the device's link.
    Actuate(Actuation),
}

impl Output {
    /// Bytes of a datagram, on the serial line or to one host; `None` for other output, including [`Output::Aside`].
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
            | Self::Address(_)
            | Self::Actuate(_) => None,
        }
    }

    /// Port of a datagram; `None` for other output.
    pub fn port(&self) -> Option<PortIndex> {
        match self {
            Self::Datagram { port, .. } => Some(*port),
            _ => None,
        }
    }

    /// Sort key for outputs with equal due times: 1 plus the port's index for datagrams, 0 for other output. The order
    /// thus does not depend on the order of the measurements.
    pub fn rank(&self) -> u8 {
        self.port().map_or(0, |port| port.0.saturating_add(1))
    }

    /// Like [`Output::bytes`], but mutable.
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
            | Self::Address(_)
            | Self::Actuate(_) => None,
        }
    }
}

/// Signal on a cable from another device of the rig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CableSignal {
    /// The pulse-per-second line rises (`true`) or falls.
    PulsePerSecond(bool),
    /// Bytes, with the settings of the sending serial port; the last bit has just arrived.
    Bytes(Vec<u8>, LineSettings),
}

/// Behaviour of a product. Times passed to it never decrease.
pub trait Device: Send {
    /// The next request for a measurement, if its first firing is before `horizon`. Call it until it returns
    /// `None`.
    ///
    /// Measurements are requested ahead of time. If a later command makes one unnecessary, the device ignores the
    /// answer.
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest>;

    /// Processes the answer to the oldest open request. If the indices of the answers have a gap, the requests in the
    /// gap were revoked ([`Device::handle_revoked`]).
    fn handle_measurement(&mut self, measurement: &Measurement);

    /// Learns that the oldest open request, which has this index, is revoked: its answer would be too late
    /// (`engine.late = "drop"`). By default, does nothing: the device continues with the next answer.
    fn handle_revoked(&mut self, _index: u64) {}

    /// Processes bytes from the host that arrived at `now`, in pieces of any length.
    fn handle_input(&mut self, _now: SimTime, _bytes: &[u8]) {}

    /// Processes bytes that arrived at `now` from the host of a further line. `port` is the port of this line; it is
    /// not the port of the link.
    fn handle_line_input(&mut self, _now: SimTime, _port: u8, _bytes: &[u8]) {}

    /// Handles the connection or disconnection of a host at the device's server.
    fn handle_peer(&mut self, _now: SimTime, _peer: Peer, _connected: bool) {}

    /// Processes bytes from a connected host that arrived at `now`, in pieces of any length.
    fn handle_peer_input(&mut self, _now: SimTime, _peer: Peer, _bytes: &[u8]) {}

    /// Answers a request that arrived at the web interface at `now`.
    fn handle_http(&mut self, _now: SimTime, _request: &HttpRequest) -> HttpResponse {
        HttpResponse::text(404, "this device has no web interface")
    }

    /// PTP slave of the device, if any.
    fn ptp_slave(&mut self) -> Option<&mut PtpSlave> {
        None
    }

    /// Whether the device ignores PTP messages at `now`, because it is off or restarting.
    fn is_deaf(&self, _now: SimTime) -> bool {
        false
    }

    /// Whether the device timestamps its data with the PTP clock.
    fn stamps_by_ptp(&self) -> bool {
        true
    }

    /// Adapts the device to its clock after a PTP message at `now`, which can have set the clock.
    fn follow_ptp(&mut self, _now: SimTime) {}

    /// Processes a PTP message (arbitrary bytes) that the kernel received at `stamped`, at or before `now`. `from` is
    /// the sender of a unicast message.
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

    /// Handles the departure of a PTP event message that [`Device::poll_ptp`] returned with the key `key`. The message
    /// left at `stamped`, which is at or before `now`.
    fn handle_ptp_departure(&mut self, now: SimTime, key: u32, stamped: SimTime) {
        self.advance(now);
        if let Some(slave) = self.ptp_slave() {
            slave.left(now, key, stamped);
        }
    }

    /// The PTP clock's next comparison with true time, which states its instant. Call it until it returns `None`, like
    /// [`Device::poll_ptp`].
    fn poll_clock(&mut self) -> Option<ClockAccount> {
        let is_stamping = self.stamps_by_ptp();
        let account = self.ptp_slave()?.poll_account()?;
        Some(ClockAccount { is_stamping, ..account })
    }

    /// Ground truth of a camera frame that the device sends. Call it until it returns `None`, like
    /// [`Device::poll_ptp`].
    fn poll_frame(&mut self) -> Option<FrameTruth> {
        None
    }

    /// New transport of PTP messages; `None` if the transport has not changed. Call this before [`Device::poll_ptp`].
    fn poll_ptp_transport(&mut self) -> Option<Transport> {
        self.ptp_slave()?.poll_transport()
    }

    /// A PTP message to send at once. Call it until it returns `None`.
    fn poll_ptp(&mut self) -> Option<PtpSend> {
        self.ptp_slave()?.poll_send()
    }

    /// Handles the answer to [`Output::Address`]; `moves` states whether the device gets the address `ip`. Without an
    /// answer, the device keeps its address.
    fn handle_address(&mut self, _now: SimTime, _ip: Ipv4Addr, _moves: bool) {}

    /// Processes a signal that arrived at `now` from the device at the other end of a cable.
    fn handle_cable(&mut self, _now: SimTime, _signal: &CableSignal) {}

    /// Advances the device's time to `now` and processes everything due until then, in order of time. The result must
    /// not depend on the number of steps.
    fn advance(&mut self, _now: SimTime) {}

    /// Replaces the faults inside the device from `at` on. `at` is later than the device's time and than all requested
    /// measurements. Before `at`, old and new faults are alike; from `at` on, an active fault may end at another time.
    fn change_faults(&mut self, _at: SimTime, _faults: &DeviceFaults) {}

    /// Lead time, nanoseconds: [`Device::change_faults`] must be called this long before a fault of this kind starts
    /// (`begins`) or ends, because the device decides about its output in advance.
    fn fault_notice_ns(&self, _kind: &dyn FamilyData, _begins: bool) -> u64 {
        0
    }

    /// The next output. Outputs of each port are in the order of their due times, except after [`Output::Revoke`]; none
    /// is due before the device's time. After each call of another function of this trait that can cause output, call
    /// it until it returns `None`.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// Packets per second in normal operation; 0 if the rate depends on the host or on the scene.
    fn nominal_rate_hz(&self) -> f64;

    /// Settings of the serial port at power-on; `None` for network devices.
    fn line(&self) -> Option<LineSettings> {
        None
    }
}

/// A device and its sensor model.
pub struct Built {
    /// The device at the start of the run.
    pub device: Box<dyn Device>,
    /// Sensor model of the device; it can measure on any thread.
    pub sensor: Arc<dyn Sensor>,
}
