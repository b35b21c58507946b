//! Interface of a product to the rest of Menura.
//!
//! A device requests measurements ([`Device::poll_request`]), gets the answers in the same order
//! ([`Device::handle_measurement`]), receives the host's bytes ([`Device::handle_input`]) and the time
//! ([`Device::advance`]), and then has output ([`Device::poll_transmit`]).

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

/// Shortest time from a host's command to its effect on output, nanoseconds: earlier packets may already be
/// with the operating system.
pub const REACTION_NS: u64 = 20_000_000;

/// Output of a device at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmit {
    /// Due time; for bytes on a serial line, the start of the first start bit.
    pub due: SimTime,
    /// Number of points with a return in the packet, for the status view.
    pub points: u32,
    /// The output.
    pub output: Output,
    /// Effects of faults within the device.
    pub fault_effects: Vec<FaultEffect>,
    /// Ground truth of the output's returns, if requested.
    pub truth: PacketTruth,
}

/// Ground truth of a packet, carried with the packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketTruth {
    /// Number of the packet among those of its port, from 0. It is assigned when the packet leaves the
    /// device; copies have the same number.
    pub number: u64,
    /// Sweeps with returns in the packet; empty if ground truth is not requested.
    pub sweeps: Vec<Arc<SweepTruth>>,
    /// Lens of the image that begins with the packet, in its pixels; `None` for other packets.
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

    /// A datagram from the first port, without points.
    pub fn datagram(due: SimTime, bytes: Vec<u8>) -> Self {
        Self::new(due, Output::Datagram { port: PortIndex::DATA, bytes })
    }

    /// A chunk of bytes on the serial line, without points.
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
    /// Bytes on a port other than the link's, for cables within the rig. Without bytes: the port's settings
    /// change.
    Aside {
        /// The port, of the product's `line_ports`.
        port: u8,
        /// Settings of the port.
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
    /// Withdraws earlier datagrams of this port that are due at this time or later, because a command changed
    /// the device.
    Revoke(PortIndex),
    /// Datagrams that are due from this instant on go to another host; those of ports with the number 0 keep
    /// their destination.
    Host(HostAddress),
    /// Sets whether datagrams that are due from now on may be fragmented.
    Fragments(bool),
    /// The device requests this address, for the datagrams that it sends and receives. If it can have the address, it
    /// moves at this instant or later. [`Device::handle_address`] gets the answer then.
    Address(Ipv4Addr),
    /// A command to the robot's drive or joints. Nothing leaves by the device's link.
    Actuate(Actuation),
}

impl Output {
    /// The bytes, if any.
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

    /// Port of a datagram.
    pub fn port(&self) -> Option<PortIndex> {
        match self {
            Self::Datagram { port, .. } => Some(*port),
            _ => None,
        }
    }

    /// Order among outputs of a device with equal due times: datagrams by port, in any order of measurement,
    /// and all other output before them.
    pub fn rank(&self) -> u8 {
        self.port().map_or(0, |port| port.0.saturating_add(1))
    }

    /// The bytes, if any.
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
    /// Bytes whose last bit has just arrived, and the settings of the sending serial port.
    Bytes(Vec<u8>, LineSettings),
}

/// Behaviour of one product. Instants passed to it never decrease.
pub trait Device: Send {
    /// The next request for a measurement, if its first firing is before `horizon`. Call it until it returns
    /// `None`.
    ///
    /// Measurements run ahead of time: a requested measurement may be unnecessary when it is due, and the
    /// device then does not send it.
    fn poll_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest>;

    /// Takes the answer to the oldest open request. If indices before it are missing, those requests were
    /// given up because they would have been too late.
    fn handle_measurement(&mut self, measurement: &Measurement);

    /// The host's bytes arrived at `now`, in pieces of any length.
    fn handle_input(&mut self, _now: SimTime, _bytes: &[u8]) {}

    /// Bytes arrived at `now` from the host of a further line, at a port to which the device's link does not
    /// lead.
    fn handle_line_input(&mut self, _now: SimTime, _port: u8, _bytes: &[u8]) {}

    /// A host has connected to the device's server, or has gone.
    fn handle_peer(&mut self, _now: SimTime, _peer: Peer, _connected: bool) {}

    /// Bytes arrived at `now` from one of the connected hosts, in pieces of any length.
    fn handle_peer_input(&mut self, _now: SimTime, _peer: Peer, _bytes: &[u8]) {}

    /// Answers a request that arrived at the web interface at `now`.
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

    /// Takes a PTP message, any bytes; `from` is the sender if it was sent to this address only. The kernel
    /// received it at `stamped`, which is `now` or earlier.
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

    /// State of the PTP clock at an instant, to be compared with the true time. Call it until it returns
    /// `None`, like [`Device::poll_ptp`].
    fn poll_clock(&mut self) -> Option<ClockAccount> {
        let is_stamping = self.stamps_by_ptp();
        let account = self.ptp_slave()?.poll_account()?;
        Some(ClockAccount { is_stamping, ..account })
    }

    /// Ground truth of a frame that the device sends. Call it until it returns `None`, like
    /// [`Device::poll_ptp`].
    fn poll_frame(&mut self) -> Option<FrameTruth> {
        None
    }

    /// New transport of PTP messages, if it has changed. Must be called before [`Device::poll_ptp`].
    fn poll_ptp_transport(&mut self) -> Option<Transport> {
        self.ptp_slave()?.poll_transport()
    }

    /// A PTP message to be sent at once. Call it until it returns `None`.
    fn poll_ptp(&mut self) -> Option<PtpSend> {
        self.ptp_slave()?.poll_send()
    }

    /// Answer to [`Output::Address`]: whether the device `moves` to the address `ip`. Without an answer, it stays.
    fn handle_address(&mut self, _now: SimTime, _ip: Ipv4Addr, _moves: bool) {}

    /// A signal arrived at `now` from the device that is wired to this one.
    fn handle_cable(&mut self, _now: SimTime, _signal: &CableSignal) {}

    /// Advances the device's time to `now`: everything due until then is done, in order. The result must not
    /// depend on the number of steps.
    fn advance(&mut self, _now: SimTime) {}

    /// Replaces the device's inner faults from `at` on; before `at`, old and new ones are equal. The device's
    /// time is before `at`, and no request of it reaches `at`. The call may set the end of an open window;
    /// its start was announced before.
    fn change_faults(&mut self, _at: SimTime, _faults: &DeviceFaults) {}

    /// Time before the start or end of a fault of this kind at which the device needs
    /// [`Device::change_faults`], nanoseconds, because it decides about its output then.
    fn fault_notice_ns(&self, _kind: &dyn FamilyData, _begins: bool) -> u64 {
        0
    }

    /// The next output. Outputs of each port are in the order of their due times, except after
    /// [`Output::Revoke`]; none is due before the device's time. Call it until it returns `None` after each
    /// of the functions above.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// Packets per second in normal operation; 0 if the rate depends on the host or on the scene.
    fn nominal_rate_hz(&self) -> f64;

    /// Settings of the serial port at power-on; `None` for network devices.
    fn line(&self) -> Option<LineSettings> {
        None
    }
}

/// A device and the sensor that measures for it.
pub struct Built {
    /// The product.
    pub device: Box<dyn Device>,
    /// Physics of the device; measures on any thread.
    pub sensor: Arc<dyn Sensor>,
}
