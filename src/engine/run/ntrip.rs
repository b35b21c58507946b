//! Corrections over the network: an NTRIP caster serves the messages of a base, a client fetches corrections
//! for a rover.
//!
//! A caster serves only whole RTCM 3 messages with a correct CRC from the base's port. Memory is bounded: [`TcpServer`]
//! limits the number of clients, [`MAX_HEAD`] the request of each client, and [`WAITING`] the messages that wait for
//! the caster's thread; a client that reads too slowly loses messages. Bytes that a client receives from a caster go to
//! the rover like bytes of its host, and into the host log.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::listeners::{LinkFaults, tell};
use crate::config::rig::faults::WireFault;
use crate::config::rig::ntrip::{CasterConfig, Login, NtripConfig};
use crate::config::rig::{DeviceId, Rig};
use crate::devices::{Output, Transmit};
use crate::engine::SetupError;
use crate::engine::host_events::{HostEvent, HostInput, HostTarget, Payload};
use crate::links::tcp_server::{ServerEvent, TcpServer};
use crate::time::SimTime;
use crate::timing::clock::MonotonicClock;
use crate::wire::framer::Framer;
use crate::wire::gnss_stream::{Frame, GnssStream};
use crate::wire::ntrip::{Answer, Chunks, MAX_HEAD, NoHead, Request, Source, chunk};
use crate::wire::port::Peer;

/// Longest delay until the end of a run, or a new message of a base station, is noticed.
const PATIENCE: Duration = Duration::from_millis(20);
/// Largest number of a base's messages that wait for the caster's thread.
const WAITING: usize = 256;
/// Largest number of messages that a fault delays at the same time: one hour at eight messages per second.
const MOST_LATE: usize = 8 * 3600;
/// Largest number of bytes per read.
const PIECE: usize = 4096;
/// Longest silence of a caster before the client connects again.
const SILENCE: Duration = Duration::from_secs(30);
/// Longest time to establish a connection to one address, or to send data.
const CONNECTING: Duration = Duration::from_secs(3);
/// Stack of the thread that connects, bytes; the system's resolver uses much of it.
const CONNECTING_STACK: usize = 512 << 10;
/// Pause after the first failed attempt; each further pause is twice as long, up to the second value.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// The casters and clients of a rig, by device.
pub struct Ntrip {
    casters: BTreeMap<usize, Caster>,
    clients: BTreeMap<usize, Client>,
}

impl Ntrip {
    /// Opens the casters of `rig`.
    pub fn open(rig: &Rig) -> Result<Self, SetupError> {
        let place = rig.origin;
        let devices = || rig.devices.iter().enumerate();
        let casters = devices().filter_map(|(index, device)| {
            let config = device.caster.as_ref()?;
            let caster =
                Caster::open(config, &device.name, [place.latitude_deg, place.longitude_deg]);
            let caster =
                caster.map_err(|error| SetupError::Control { device: device.name.clone(), error });
            Some(caster.map(|caster| (index, caster)))
        });
        let casters = casters.collect::<Result<_, _>>()?;
        let clients = devices().filter_map(|(index, device)| {
            let config = device.ntrip.clone()?;
            Some((index, Client { config, latest_gga: Mutex::default() }))
        });
        Ok(Self { casters, clients: clients.collect() })
    }

    /// Passes output of `device` to the NTRIP caster or client of the device, if there is one.
    pub fn take(&self, device: DeviceId, transmit: &Transmit) {
        let Output::Bytes(bytes) = &transmit.output else { return };
        if let Some(caster) = self.casters.get(&device.0) {
            caster.take(bytes);
        }
        if let Some(client) = self.clients.get(&device.0) {
            client.take(bytes);
        }
    }

    /// The casters, each with the base station that it serves.
    pub fn casters(&self) -> impl Iterator<Item = (DeviceId, &Caster)> {
        self.casters.iter().map(|(device, caster)| (DeviceId(*device), caster))
    }

    /// The clients, each with its rover.
    pub fn clients(&self) -> impl Iterator<Item = (DeviceId, &Client)> {
        self.clients.iter().map(|(device, client)| (DeviceId(*device), client))
    }
}

/// Value of the HTTP header `Authorization`.
fn authorization(login: &Login) -> String {
    let Login { user, password } = login;
    format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
}

/// An NTRIP caster that serves one base station.
pub struct Caster {
    base: String,
    server: TcpServer,
    mount_point: String,
    authorization: Option<String>,
    table: String,
    sent: (Sender<Vec<u8>>, Receiver<Vec<u8>>),
}

/// State of a caster's client.
enum Listener {
    /// The client's request so far.
    Asking(Vec<u8>),
    /// The client receives the stream.
    Hearing { is_chunked: bool },
    /// The client has received an answer other than the stream, or was disconnected.
    Served,
}

impl Caster {
    fn open(config: &CasterConfig, base: &str, place_deg: [f64; 2]) -> io::Result<Self> {
        let source = Source {
            mount_point: &config.mount_point,
            latitude_deg: place_deg[0],
            longitude_deg: place_deg[1],
            has_login: config.login.is_some(),
        };
        Ok(Self {
            base: base.to_owned(),
            server: TcpServer::listen(&[config.listen])?,
            mount_point: config.mount_point.clone(),
            authorization: config.login.as_ref().map(authorization),
            table: source.table(),
            sent: bounded(WAITING),
        })
    }

    /// Name of the base station.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Text for the caster in the status view.
    pub fn describe(&self) -> String {
        let address = self.server.addresses().next();
        address.map_or_else(String::new, |at| format!("ntrip://{at}/{}", self.mount_point))
    }

    /// Passes bytes of the base to the caster's thread. If its queue is full, the bytes are lost.
    fn take(&self, bytes: &[u8]) {
        let _ = self.sent.0.try_send(bytes.to_vec());
    }

    /// Serves clients until `over` is set.
    pub fn serve(&self, clock: MonotonicClock, faults: &LinkFaults, over: &AtomicBool) {
        let mut buffer = [0; PIECE];
        let mut listeners: Vec<(Peer, Listener)> = Vec::new();
        let mut messages = Framer::new(GnssStream);
        let mut late: VecDeque<(SimTime, Vec<u8>)> = VecDeque::new();
        while !over.load(Ordering::Relaxed) {
            let now = clock.now();
            let is_gone = faults.have(now, &WireFault::CasterGone);
            let is_mounted = !faults.have(now, &WireFault::CasterUnmounted);
            listeners.retain(|(peer, listener)| {
                let stays =
                    !is_gone && (is_mounted || !matches!(listener, Listener::Hearing { .. }));
                if !stays {
                    self.server.disconnect(*peer);
                }
                stays
            });
            let mut happened = |event: ServerEvent<'_>| match event {
                ServerEvent::Connected(peer) if is_gone => self.server.disconnect(peer),
                ServerEvent::Connected(peer) => {
                    listeners.push((peer, Listener::Asking(Vec::new())));
                }
                ServerEvent::Disconnected(peer) => listeners.retain(|(other, _)| *other != peer),
                ServerEvent::Bytes(peer, bytes) => {
                    let found = listeners.iter_mut().find(|(other, _)| *other == peer);
                    // Later bytes of a client, such as its GGA, are ignored: a base does not use them.
                    if let Some((_, listener @ Listener::Asking(_))) = found {
                        self.answer(peer, listener, bytes, is_mounted);
                    }
                }
            };
            if let Err(error) = self.server.receive(&mut buffer, PATIENCE, &mut happened) {
                tracing::warn!("the NTRIP caster of {} has ended: {error}", self.base);
                return;
            }
            let now = clock.now();
            let delay_ns = faults.find(now, |fault| match fault {
                WireFault::CasterLate { delay_ns } => Some(*delay_ns),
                _ => None,
            });
            let is_silent = faults.have(now, &WireFault::CasterSilent);
            while let Ok(bytes) = self.sent.1.try_recv() {
                let due = SimTime(now.0 + delay_ns.unwrap_or(0));
                for frame in messages.frames(&bytes) {
                    if let Frame::Rtcm3(message) = frame
                        && !is_silent
                        && late.len() < MOST_LATE
                    {
                        late.push_back((due, message.to_vec()));
                    }
                }
            }
            // Messages that are still delayed when the fault ends are sent at once.
            while late.front().is_some_and(|(due, _)| *due <= now || delay_ns.is_none()) {
                if let Some((_, message)) = late.pop_front() {
                    self.hand_out(&listeners, &message);
                }
            }
        }
    }

    fn answer(&self, peer: Peer, listener: &mut Listener, bytes: &[u8], is_mounted: bool) {
        let Listener::Asking(asked) = listener else { return };
        let room = MAX_HEAD - asked.len().min(MAX_HEAD);
        asked.extend(&bytes[..bytes.len().min(room)]);
        let request = match Request::parse(asked) {
            Err(NoHead::Incomplete) => return,
            Err(NoHead::Refused) => {
                self.server.disconnect(peer);
                *listener = Listener::Served;
                return;
            }
            Ok(request) => request,
        };
        let is_known = is_mounted && request.mount_point == self.mount_point;
        let answer = if request.mount_point.is_empty() {
            Answer::Table(self.table.clone())
        } else if !is_known && request.is_version_2 {
            Answer::NotFound
        } else if !is_known {
            Answer::Table(self.table.clone())
        } else if self.authorization.is_some() && request.authorization != self.authorization {
            Answer::Unauthorized
        } else {
            Answer::Stream { is_chunked: request.is_version_2 }
        };
        self.server.send_to(peer, &answer.to_bytes(&request));
        *listener = match answer {
            Answer::Stream { is_chunked } => Listener::Hearing { is_chunked },
            _ => {
                self.server.disconnect(peer);
                Listener::Served
            }
        };
    }

    fn hand_out(&self, listeners: &[(Peer, Listener)], message: &[u8]) {
        for (peer, listener) in listeners {
            match listener {
                Listener::Hearing { is_chunked: true } => {
                    self.server.send_to(*peer, &chunk(message));
                }
                Listener::Hearing { is_chunked: false } => {
                    self.server.send_to(*peer, message);
                }
                Listener::Asking(_) | Listener::Served => {}
            }
        }
    }
}

/// NTRIP client that fetches corrections for a rover.
pub struct Client {
    config: NtripConfig,
    latest_gga: Mutex<Vec<u8>>,
}

/// Reason why a connection to a caster has ended.
enum Ended {
    /// The run has ended.
    Over,
    /// A network error.
    Network(io::Error),
    /// The caster refused the request or ended the connection, for this reason.
    Refused(String),
    /// The caster sent nothing for too long.
    Silent,
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Network(error)
    }
}

impl Client {
    /// Stores the rover's latest GGA sentence, if the caster is to receive it.
    fn take(&self, bytes: &[u8]) {
        if self.config.gga_every_ns.is_some()
            && bytes.first() == Some(&b'$')
            && bytes.get(3..6) == Some(b"GGA")
        {
            *self.latest_gga.lock().expect("no holder panics") = bytes.to_vec();
        }
    }

    /// Connects to the caster, again after each failure, and passes its bytes to the rover until `over` is set. Bytes
    /// that arrive while the rover's link is down are lost.
    pub fn listen(
        &self,
        device: DeviceId,
        clock: MonotonicClock,
        faults: &LinkFaults,
        events: &Sender<HostEvent>,
        over: &AtomicBool,
    ) {
        let NtripConfig { host, port, mount_point, .. } = &self.config;
        let name = format!("ntrip://{host}:{port}/{mount_point}");
        let mut pause = PAUSES[0];
        let mut told = String::new();
        loop {
            let mut pass = |bytes: Vec<u8>| {
                let at = clock.now();
                if !faults.is_down(at) && !bytes.is_empty() {
                    let payload = Payload::Bytes(bytes);
                    tell(HostInput { at, to: HostTarget::Device(device), payload }, events, over);
                }
            };
            let mut has_come = false;
            let reason = match self.connection(clock, over, &name, &mut has_come, &mut pass) {
                Ended::Over => return,
                Ended::Network(error) => error.to_string(),
                Ended::Refused(reason) => reason,
                Ended::Silent => format!("no corrections for {} s", SILENCE.as_secs()),
            };
            if has_come {
                (pause, told) = (PAUSES[0], String::new());
            }
            // A repeated reason is logged once.
            if reason != told {
                tracing::warn!("{name}: {reason}; trying again");
                told = reason;
            }
            let until = clock.now() + pause;
            while clock.now() < until {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::park_timeout(PATIENCE);
            }
            pause = (pause * 2).min(PAUSES[1]);
        }
    }

    /// Connects to the caster. Another thread looks up its name, because a name server that does not answer must not
    /// delay the end of the run.
    fn connect(&self, over: &AtomicBool) -> Result<TcpStream, Ended> {
        let (host, port) = (self.config.host.clone(), self.config.port);
        let (done, connected) = bounded(1);
        let thread = std::thread::Builder::new().name("ntrip connect".into());
        thread.stack_size(CONNECTING_STACK).spawn(move || {
            let stream = (host.as_str(), port).to_socket_addrs().and_then(connect_to_any);
            let _ = done.send(stream);
        })?;
        loop {
            match connected.recv_timeout(PATIENCE) {
                Ok(stream) => return Ok(stream?),
                Err(_) if over.load(Ordering::Relaxed) => return Err(Ended::Over),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::from(ErrorKind::NotConnected).into());
                }
            }
        }
    }

    /// Connects to the caster and passes on its bytes; returns why the connection ended.
    fn connection(
        &self,
        clock: MonotonicClock,
        over: &AtomicBool,
        name: &str,
        has_come: &mut bool,
        pass: &mut dyn FnMut(Vec<u8>),
    ) -> Ended {
        match self.try_connection(clock, over, name, has_come, pass) {
            Ok(never) => match never {},
            Err(ended) => ended,
        }
    }

    fn try_connection(
        &self,
        clock: MonotonicClock,
        over: &AtomicBool,
        name: &str,
        has_come: &mut bool,
        pass: &mut dyn FnMut(Vec<u8>),
    ) -> Result<std::convert::Infallible, Ended> {
        let NtripConfig { host, port, mount_point, login, gga_every_ns } = &self.config;
        let mut stream = self.connect(over)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(CONNECTING))?;
        let request = Request {
            mount_point: mount_point.clone(),
            is_version_2: true,
            authorization: login.as_ref().map(authorization),
        };
        stream.write_all(&request.to_bytes(&format!("{host}:{port}")))?;
        let mut buffer = [0; PIECE];
        let mut head = Some(Vec::new());
        let mut chunks = None;
        let mut heard_at = clock.now();
        let mut next_gga = SimTime::ZERO;
        loop {
            if over.load(Ordering::Relaxed) {
                return Err(Ended::Over);
            }
            let now = clock.now();
            if now.saturating_since(heard_at) > SILENCE {
                return Err(Ended::Silent);
            }
            if let Some(every_ns) = gga_every_ns
                && head.is_none()
                && now >= next_gga
            {
                let gga = self.latest_gga.lock().expect("no holder panics").clone();
                if !gga.is_empty() {
                    stream.write_all(&gga)?;
                    next_gga = now + Duration::from_nanos(*every_ns);
                }
            }
            let count = match stream.read(&mut buffer) {
                Ok(0) => return Err(Ended::Refused("the caster has closed the connection".into())),
                Ok(count) => count,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) =>
                {
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            heard_at = clock.now();
            let mut fresh = buffer[..count].to_vec();
            if let Some(mut so_far) = head.take() {
                so_far.append(&mut fresh);
                match Answer::parse(&so_far) {
                    Err(NoHead::Incomplete) => {
                        head = Some(so_far);
                        continue;
                    }
                    Err(NoHead::Refused) => {
                        return Err(Ended::Refused(
                            "the answer is not from an NTRIP caster".into(),
                        ));
                    }
                    Ok((Answer::Stream { is_chunked }, used)) => {
                        tracing::info!("{name} is connected");
                        chunks = is_chunked.then(Chunks::default);
                        fresh = so_far.split_off(used.min(so_far.len()));
                    }
                    Ok((answer, _)) => return Err(Ended::Refused(reason(&answer, mount_point))),
                }
            }
            if let Some(chunks) = &mut chunks {
                let mut data = Vec::new();
                let taken = chunks.take(&fresh, &mut data);
                fresh = data;
                if taken.is_err() {
                    *has_come |= !fresh.is_empty();
                    pass(fresh);
                    return Err(Ended::Refused("the caster has ended the stream".into()));
                }
            }
            *has_come |= !fresh.is_empty();
            pass(fresh);
        }
    }
}

/// Connects to the first of `addresses` that accepts; the error is that of the last one.
fn connect_to_any(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECTING) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Message about a caster's answer that is not a stream.
fn reason(answer: &Answer, mount_point: &str) -> String {
    match answer {
        Answer::Unauthorized => "the caster refuses user and password".to_owned(),
        Answer::NotFound | Answer::Table(_) => {
            format!("the caster has no stream \"{mount_point}\"")
        }
        Answer::Other(status) => format!("the caster answers \"{status}\""),
        Answer::Stream { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::schedule::Schedule;

    const LOCAL: &str = "127.0.0.1";
    /// RTCM message 1005 of station 2003, from the standard.
    const MESSAGE: [u8; 25] = [
        0xd3, 0x00, 0x13, 0x3e, 0xd7, 0xd3, 0x02, 0x02, 0x98, 0x0e, 0xde, 0xef, 0x34, 0xb4, 0xbd,
        0x62, 0xac, 0x09, 0x41, 0x98, 0x6f, 0x33, 0x36, 0x0b, 0x98,
    ];

    fn caster(login: Option<Login>) -> Caster {
        let listen = format!("{LOCAL}:0").parse().unwrap();
        let config = CasterConfig { listen, mount_point: "BASE".to_owned(), login };
        Caster::open(&config, "base", [47.28, 8.57]).unwrap()
    }

    /// Calls `with` with the port of the running caster, whose base station repeats one message.
    fn with_caster(caster: &Caster, with: impl FnOnce(u16)) {
        with_faults(caster, &LinkFaults::default(), with);
    }

    fn with_faults(caster: &Caster, faults: &LinkFaults, with: impl FnOnce(u16)) {
        let (clock, _) = MonotonicClock::starting_in(Duration::ZERO);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| caster.serve(clock, faults, &over));
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    caster.take(b"$GNGGA,no\r\n");
                    caster.take(&MESSAGE);
                    std::thread::park_timeout(PATIENCE);
                }
            });
            let port = caster.server.addresses().next().unwrap().port();
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| with(port)));
            over.store(true, Ordering::Relaxed);
            done.unwrap();
        });
    }

    fn exchange(port: u16, request: &str, least: usize) -> Vec<u8> {
        let mut stream = TcpStream::connect((LOCAL, port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut got = Vec::new();
        let mut buffer = [0; 256];
        while got.len() < least {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) => got.extend(&buffer[..count]),
            }
        }
        got
    }

    #[test]
    fn old_and_new_clients_have_stream_and_table() {
        with_caster(&caster(None), |port| {
            let old = exchange(port, "GET /BASE HTTP/1.0\r\nUser-Agent: NTRIP x\r\n\r\n", 14 + 50);
            assert!(old.starts_with(b"ICY 200 OK\r\n\r\n\xd3"), "{old:?}");
            assert_eq!(old[14..39], MESSAGE, "messages alone");
            let ask = "GET /BASE HTTP/1.1\r\nHost: x\r\nNtrip-Version: Ntrip/2.0\r\n\r\n";
            let new = exchange(port, ask, 400);
            let text = String::from_utf8_lossy(&new);
            assert!(text.starts_with("HTTP/1.1 200 OK\r\nNtrip-Version: Ntrip/2.0"), "{text}");
            assert!(new.windows(29).any(|part| part == [b"19\r\n", &MESSAGE[..]].concat()));
            let table = exchange(port, "GET / HTTP/1.0\r\n\r\n", usize::MAX);
            let table = String::from_utf8(table).unwrap();
            assert!(table.starts_with("SOURCETABLE 200 OK\r\n"), "{table}");
            assert!(table.contains("STR;BASE;") && table.ends_with("ENDSOURCETABLE\r\n"));
            let ask = "GET /OTHER HTTP/1.1\r\nNtrip-Version: Ntrip/2.0\r\n\r\n";
            assert!(exchange(port, ask, usize::MAX).starts_with(b"HTTP/1.1 404"));
            assert_eq!(exchange(port, "SOURCE x /BASE\r\n\r\n", usize::MAX), b"");
        });
    }

    #[test]
    fn every_address_of_a_host_is_tried() {
        let listener = std::net::TcpListener::bind((LOCAL, 0)).unwrap();
        let open = listener.local_addr().unwrap();
        // No program listens at port 1.
        let closed: SocketAddr = format!("{LOCAL}:1").parse().unwrap();
        let stream = connect_to_any([closed, open].into_iter()).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), open);
        let refused = connect_to_any([closed].into_iter()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let error = connect_to_any(std::iter::empty()).unwrap_err();
        assert_eq!(error.to_string(), "the host has no address");
    }

    #[test]
    fn a_login_is_asked_for() {
        let login = Login { user: "u".to_owned(), password: "p".to_owned() };
        with_caster(&caster(Some(login)), |port| {
            let ask = |line: &str| exchange(port, &format!("GET /BASE HTTP/1.0\r\n{line}\r\n"), 12);
            assert!(ask("").starts_with(b"HTTP/1.0 401"));
            assert!(ask("Authorization: Basic dTpx\r\n").starts_with(b"HTTP/1.0 401"));
            assert!(ask("Authorization: Basic dTpw\r\n").starts_with(b"ICY 200 OK"));
        });
    }

    #[test]
    fn a_caster_with_a_fault_is_gone_silent_late_or_without_its_stream() {
        let ask = "GET /BASE HTTP/1.0\r\n\r\n";
        let heard = |fault: WireFault, least: usize| {
            let always = Schedule { start: SimTime::ZERO, duration_ns: None, period_ns: None };
            let faults = LinkFaults { own: vec![(always, fault)], live: None };
            let mut got = Vec::new();
            with_faults(&caster(None), &faults, |port| got = exchange(port, ask, least));
            String::from_utf8_lossy(&got).into_owned()
        };
        assert_eq!(heard(WireFault::CasterGone, usize::MAX), "");
        assert!(heard(WireFault::CasterUnmounted, usize::MAX).starts_with("SOURCETABLE 200 OK"));
        let head = "ICY 200 OK\r\n\r\n";
        assert_eq!(heard(WireFault::CasterSilent, head.len()), head);
        // Delayed messages arrive later.
        assert!(
            heard(WireFault::CasterLate { delay_ns: 200_000_000 }, head.len() + 25).len()
                > head.len()
        );
    }

    #[test]
    fn a_client_takes_what_a_caster_has_or_says_why_not() {
        let caster = caster(None);
        with_caster(&caster, |port| {
            let end_of = |mount_point: &str, port: u16| {
                let over = AtomicBool::new(false);
                let config = NtripConfig {
                    host: LOCAL.to_owned(),
                    port,
                    mount_point: mount_point.to_owned(),
                    login: None,
                    gga_every_ns: Some(1),
                };
                let client = Client { config, latest_gga: Mutex::default() };
                client.take(b"$GNRMC,x\r\n");
                client.take(b"$GNGGA,x\r\n");
                let (clock, _) = MonotonicClock::starting_in(Duration::ZERO);
                let mut data = Vec::new();
                let mut pass = |bytes: Vec<u8>| {
                    data.extend(bytes);
                    over.store(data.len() >= 100, Ordering::Relaxed);
                };
                let ended = client.connection(clock, &over, "it", &mut false, &mut pass);
                (ended, data)
            };
            let (ended, data) = end_of("BASE", port);
            assert!(matches!(ended, Ended::Over));
            assert_eq!(data[..50], [MESSAGE, MESSAGE].concat());
            let (Ended::Refused(reason), _) = end_of("OTHER", port) else { panic!() };
            assert_eq!(reason, "the caster has no stream \"OTHER\"");
        });
        // The caster has ended, so the port refuses connections.
        let port = caster.server.addresses().next().unwrap().port();
        drop(caster);
        let error = TcpStream::connect((LOCAL, port)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }
}
