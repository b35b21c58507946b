//! The host log: host commands of a run, in a file that `menura record --host-log` replays.
//!
//! Each line is a JSON object. The first describes the run; each further line is one host event, in the order
//! of effect. `docs/DRIVING.md` lists the keys.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

use super::host_events::{HostInput, HostTarget, Payload};
use crate::config::rig::{DeviceId, Rig};
use crate::time::SimTime;
use crate::wire::drive_order::DriveOrder;
use crate::wire::http::{HttpMethod, HttpRequest};
use crate::wire::port::Peer;

/// Version of the format.
const VERSION: u32 = 1;

/// The first line of the log.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    menura_host_log: u32,
    rig: String,
    seed: u64,
    /// UTC at the start of the run.
    start_utc: String,
}

/// Any line but the first. Bytes are written in hexadecimal.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    t_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    /// Number of the connection, and index of the device's TCP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<(u64, u8)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connected: Option<bool>,
    /// Address of the client; omitted if it is this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RequestLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptp: Option<PtpLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptp_left: Option<PtpLeftLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<AddressLine>,
    /// The datagram of a drive command to the robot.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestLine {
    method: String,
    path: String,
    /// Query of the request; omitted if empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    query: String,
    body: String,
    /// Address of the sender; omitted if it is this machine.
    #[serde(default = "this_machine", skip_serializing_if = "is_this_machine")]
    from: IpAddr,
}

/// A PTP message with its receive timestamp.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PtpLine {
    stamped_ns: u64,
    /// Address of the sender; omitted for broadcasts and multicasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Ipv4Addr>,
    bytes: String,
}

/// Departure of a PTP message of the device: the number that the device gave it, and its transmit timestamp.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PtpLeftLine {
    key: u32,
    at_ns: u64,
}

/// Result of a device's request for another IP address: the requested address, and whether the device has it from now
/// on.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddressLine {
    ip: Ipv4Addr,
    moves: bool,
}

fn this_machine() -> IpAddr {
    Ipv4Addr::LOCALHOST.into()
}

fn is_this_machine(address: &IpAddr) -> bool {
    *address == this_machine()
}

const METHODS: [(&str, HttpMethod); 5] = [
    ("get", HttpMethod::Get),
    ("post", HttpMethod::Post),
    ("put", HttpMethod::Put),
    ("delete", HttpMethod::Delete),
    ("other", HttpMethod::Other),
];

/// Encodes an input as a line of the log, without line end; `devices` are the names of the rig's devices.
pub fn line_of(input: &HostInput, devices: &[String]) -> Vec<u8> {
    serde_json::to_vec(&Line::of(input, devices)).expect("a line is plain values")
}

impl Line {
    fn of(input: &HostInput, devices: &[String]) -> Self {
        let mut line = Self { t_ns: input.at.0, ..Self::default() };
        if let HostTarget::Device(device) = input.to {
            line.device = Some(devices[device.0].clone());
        }
        match &input.payload {
            Payload::Bytes(bytes) => line.bytes = Some(hex(bytes)),
            Payload::Connected(peer, connected) => {
                line.is_of(*peer);
                line.connected = Some(*connected);
            }
            Payload::PeerBytes(peer, bytes) => {
                line.is_of(*peer);
                line.bytes = Some(hex(bytes));
            }
            Payload::Request(request) => {
                let (method, _) = METHODS
                    .iter()
                    .find(|(_, method)| *method == request.method)
                    .expect("all methods have a word");
                line.request = Some(RequestLine {
                    method: (*method).to_owned(),
                    path: request.path.clone(),
                    query: request.query.clone(),
                    body: hex(&request.body),
                    from: request.from,
                });
            }
            Payload::Ptp { stamped, from, bytes } => {
                let (stamped_ns, from, bytes) = (stamped.0, *from, hex(bytes));
                line.ptp = Some(PtpLine { stamped_ns, from, bytes });
            }
            Payload::PtpLeft { key, at } => {
                line.ptp_left = Some(PtpLeftLine { key: *key, at_ns: at.0 });
            }
            Payload::Address { ip, moves } => {
                line.address = Some(AddressLine { ip: *ip, moves: *moves });
            }
            Payload::Order(order) => line.order = Some(hex(&order.encode())),
        }
        line
    }

    fn is_of(&mut self, peer: Peer) {
        self.peer = Some((peer.connection, peer.port));
        self.from = Some(peer.from).filter(|address| !is_this_machine(address));
    }
}

/// Writes the host log of a run.
pub struct HostLog {
    sink: Box<dyn Write + Send>,
    devices: Vec<String>,
}

impl HostLog {
    /// A log of a run of `rig`; `start` is the UTC at the start of the run.
    ///
    /// # Errors
    /// Errors of `sink`.
    pub fn new(
        rig: &Rig,
        start: jiff::Timestamp,
        mut sink: Box<dyn Write + Send>,
    ) -> io::Result<Self> {
        let (rig_name, seed) = (rig.name.clone(), rig.seed);
        let head =
            Head { menura_host_log: VERSION, rig: rig_name, seed, start_utc: start.to_string() };
        serde_json::to_writer(&mut sink, &head)?;
        sink.write_all(b"\n")?;
        let devices = rig.devices.iter().map(|device| device.name.clone()).collect();
        Ok(Self { sink, devices })
    }

    /// Adds an event.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn note(&mut self, input: &HostInput) -> io::Result<()> {
        serde_json::to_writer(&mut self.sink, &Line::of(input, &self.devices))?;
        self.sink.write_all(b"\n")
    }

    /// Writes buffered lines.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn finish(mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// A host log that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// UTC at the start of the run.
    pub start: jiff::Timestamp,
    /// Hosts' inputs, in the order of time.
    pub inputs: Vec<HostInput>,
    /// Whether the last line was incomplete and therefore ignored, as after a crash.
    pub is_cut_off: bool,
}

/// Reason why a log cannot be replayed with this rig.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {problem}")]
pub struct LogFault {
    line: usize,
    problem: String,
}

/// Reads the log `whole` of a run of `rig`.
///
/// # Errors
/// The first line that is wrong, and its error.
pub fn read(whole: &str, rig: &Rig) -> Result<Conversation, LogFault> {
    let at = |line: usize| move |problem: String| LogFault { line: line + 1, problem };
    let mut lines = whole.lines().enumerate();
    let first = lines.next().map_or("", |(_, text)| text);
    let head: Head = serde_json::from_str(first)
        .map_err(|error| at(0)(format!("not the first line of a host log: {error}")))?;
    if head.menura_host_log != VERSION {
        let found = head.menura_host_log;
        return Err(at(0)(format!("host log of version {found}; allowed: {VERSION}")));
    }
    if head.seed != rig.seed {
        let (then, now) = (head.seed, rig.seed);
        return Err(at(0)(format!("the run had seed {then}, but this rig has seed {now}")));
    }
    let start = head.start_utc.parse();
    let start = start.map_err(|error| at(0)(format!("`start_utc` is not a time: {error}")))?;
    let mut inputs: Vec<HostInput> = Vec::new();
    let mut is_cut_off = false;
    for (number, text) in lines {
        let line: Line = match serde_json::from_str(text) {
            Err(error) if error.is_eof() && whole.ends_with(text) => {
                is_cut_off = true;
                break;
            }
            read => read.map_err(|error| at(number)(error.to_string()))?,
        };
        let next = line.input(rig).map_err(at(number))?;
        if inputs.last().is_some_and(|last| next.at < last.at) {
            return Err(at(number)("earlier than the line before it".to_owned()));
        }
        inputs.push(next);
    }
    Ok(Conversation { start, inputs, is_cut_off })
}

impl Line {
    fn input(self, rig: &Rig) -> Result<HostInput, String> {
        let to = match &self.device {
            None => HostTarget::Robot,
            Some(name) => {
                let place = rig.devices.iter().position(|device| device.name == *name);
                let place = place.ok_or_else(|| format!("the rig has no device `{name}`"))?;
                HostTarget::Device(DeviceId(place))
            }
        };
        let from = self.from.unwrap_or_else(this_machine);
        let peer = self.peer.map(|(connection, port)| Peer { connection, port, from });
        if let (HostTarget::Device(_), None, None, None, None, None) =
            (to, peer, self.connected, &self.bytes, &self.request, &self.order)
        {
            let payload = match (self.ptp, self.ptp_left, self.address) {
                (Some(PtpLine { stamped_ns, from, bytes }), None, None) => {
                    let (stamped, bytes) = (SimTime(stamped_ns), unhex(&bytes)?);
                    Some(Payload::Ptp { stamped, from, bytes })
                }
                (None, Some(PtpLeftLine { key, at_ns }), None) => {
                    Some(Payload::PtpLeft { key, at: SimTime(at_ns) })
                }
                (None, None, Some(AddressLine { ip, moves })) => {
                    Some(Payload::Address { ip, moves })
                }
                _ => None,
            };
            if let Some(payload) = payload {
                return Ok(HostInput { at: SimTime(self.t_ns), to, payload });
            }
        }
        let payload = match (to, peer, self.connected, self.bytes, self.request, self.order) {
            (HostTarget::Device(_), None, None, Some(bytes), None, None) => {
                Payload::Bytes(unhex(&bytes)?)
            }
            (HostTarget::Device(_), Some(peer), None, Some(bytes), None, None) => {
                Payload::PeerBytes(peer, unhex(&bytes)?)
            }
            (HostTarget::Device(_), Some(peer), Some(connected), None, None, None) => {
                Payload::Connected(peer, connected)
            }
            (HostTarget::Device(_), None, None, None, Some(request), None) => {
                let (_, method) = METHODS
                    .iter()
                    .find(|(word, _)| *word == request.method)
                    .ok_or("allowed methods: get, post, put, delete, other")?;
                let RequestLine { path, query, body, from, .. } = request;
                let body = unhex(&body)?;
                let method = *method;
                Payload::Request(HttpRequest {
                    method,
                    path,
                    query,
                    body,
                    from,
                    ..Default::default()
                })
            }
            (HostTarget::Robot, None, None, None, None, Some(order)) => {
                let order = DriveOrder::decode(&unhex(&order)?);
                Payload::Order(order.map_err(|fault| fault.to_string())?)
            }
            _ => {
                return Err("allowed: `device` with `bytes`, with `peer` and `bytes` or \
                            `connected`, or with `request`, `ptp`, `ptp_left` or `address`; \
                            or `order` alone"
                    .to_owned());
            }
        };
        Ok(HostInput { at: SimTime(self.t_ns), to, payload })
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let problem = || "bytes are written as pairs of hexadecimal digits".to_owned();
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0).ok_or_else(problem)?;
    Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests;
