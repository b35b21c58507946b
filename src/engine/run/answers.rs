//! Stimuli and responses of a run: finds the first packet that carries a stimulus, listens for responses, and passes
//! both to the tracker.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::config::rig::responses::{ResponseConfig, ResponseSource, StimulusCause};
use crate::config::rig::{DeviceId, Rig};
use crate::engine::SetupError;
use crate::engine::packet::Seen;
use crate::engine::responses::{Event, Matcher, ResponseFigures, ResponseTracker};
use crate::links::tcp_server::{ServerEvent, TcpServer};
use crate::time::SimTime;
use crate::timing::clock::MonotonicClock;
use crate::wire::port::Peer;

/// Longest delay until the end of a run is noticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// Largest number of events that wait for the tracker. Further events are lost and logged.
const QUEUE: usize = 4096;
/// Longest datagram that is searched, bytes.
const LONGEST: usize = 65_536;

/// Finds the packets that are the first to carry a stimulus.
pub struct Carried {
    causes: Vec<StimulusCause>,
    /// For each stimulus, the number of the latest time window in which a packet has carried the stimulus; the windows
    /// are those of the causing object or fault.
    windows: Vec<Option<u64>>,
}

impl Carried {
    /// Creates the state at the start of a run: no packet has carried a stimulus yet.
    pub fn new(rig: &Rig) -> Self {
        let causes: Vec<_> = rig.stimuli.iter().map(|stimulus| stimulus.cause).collect();
        Self { windows: vec![None; causes.len()], causes }
    }

    /// Stimuli, one bit each, that a packet is the first to carry. `seen` has the objects from which the packet has returns;
    /// `None`: no objects.
    pub fn by_objects(&mut self, seen: Option<Seen>) -> u32 {
        let Some(Seen { objects, from, to }) = seen else { return 0 };
        self.first(|cause| match cause {
            StimulusCause::Object { object, schedule } if objects >> object & 1 == 1 => {
                schedule.window_between(from, to)
            }
            _ => None,
        })
    }

    /// Stimuli, one bit each, that fault number `fault` causes in its time window number `window`; 0 if an earlier
    /// packet has already carried the stimuli of this window.
    pub fn by_fault(&mut self, fault: usize, window: u64) -> u32 {
        self.first(|cause| (cause == StimulusCause::Fault(fault)).then_some(window))
    }

    fn first(&mut self, window_of: impl Fn(StimulusCause) -> Option<u64>) -> u32 {
        let mut first = 0;
        for (index, (cause, last)) in self.causes.iter().zip(&mut self.windows).enumerate() {
            let window = window_of(*cause);
            if window.is_some() && window > *last {
                *last = window;
                first |= 1 << index;
            }
        }
        first
    }
}

/// Receives all responses of a rig and computes their statistics.
pub struct Answers {
    responses: Vec<ResponseConfig>,
    sources: Vec<Source>,
    tracker: Mutex<ResponseTracker>,
    events: Sender<Event>,
    queue: Receiver<Event>,
}

/// A port at which a response arrives.
pub struct Source {
    response: usize,
    port: Port,
}

enum Port {
    Udp(UdpSocket),
    Tcp(TcpServer),
}

/// A response that a host sends as bytes to a device, with the matcher that searches these bytes.
pub struct DeviceResponse {
    device: DeviceId,
    response: usize,
    matcher: Matcher,
}

impl Answers {
    /// Opens the ports at which the responses of `rig` arrive.
    pub fn open(rig: &Rig) -> Result<Self, SetupError> {
        let mut sources = Vec::new();
        for (response, config) in rig.responses.iter().enumerate() {
            let port = match config.source {
                ResponseSource::Udp(address) => UdpSocket::bind(address).map(Port::Udp),
                ResponseSource::Tcp(address) => TcpServer::listen(&[address]).map(Port::Tcp),
                ResponseSource::Device(_) => continue,
            };
            let name = || config.name.clone();
            let port = port.map_err(|error| SetupError::Response { response: name(), error })?;
            sources.push(Source { response, port });
        }
        let (events, queue) = bounded(QUEUE);
        let tracker = Mutex::new(ResponseTracker::new(&rig.stimuli, &rig.responses));
        Ok(Self { responses: rig.responses.clone(), sources, tracker, events, queue })
    }

    /// Statistics of each response so far.
    pub fn figures(&self) -> Vec<ResponseFigures> {
        let mut tracker = self.tracker.lock().expect("no holder panics");
        self.queue.try_iter().for_each(|event| tracker.take(event));
        tracker.figures()
    }

    /// Ports at which responses arrive; each needs a thread that calls [`Source::listen`].
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Sends an event to the tracker, without waiting. If the queue is full, the event is lost and a warning is logged.
    pub fn tell(&self, event: Event) {
        if self.events.try_send(event).is_err() {
            tracing::warn!("too many events at once: a stimulus or response is not counted");
        }
    }

    /// Reports the stimuli in the bit mask `stimuli` as sent at `at`. A packet that a fault has dropped counts as sent
    /// too.
    pub fn tell_all(&self, stimuli: u32, at: SimTime) {
        for stimulus in (0..u32::BITS as usize).filter(|bit| stimuli >> bit & 1 == 1) {
            self.tell(Event::Left { stimulus, at });
        }
    }

    /// Passes queued events and the present time to the tracker until `over` is set.
    pub fn keep_board(&self, clock: MonotonicClock, over: &AtomicBool) {
        if self.responses.is_empty() {
            return;
        }
        while !over.load(Ordering::Relaxed) {
            let event = self.queue.recv_timeout(PATIENCE);
            let mut tracker = self.tracker.lock().expect("no holder panics");
            event.into_iter().chain(self.queue.try_iter()).for_each(|event| tracker.take(event));
            tracker.look(clock.now());
        }
    }

    /// Responses that hosts send to devices, each with a matcher that has received no bytes yet.
    pub fn of_devices(&self) -> Vec<DeviceResponse> {
        let device = |(response, config): (usize, &ResponseConfig)| match config.source {
            ResponseSource::Device(device) => {
                let (device, matcher) = (DeviceId(device), Matcher::new(&config.pattern));
                Some(DeviceResponse { device, response, matcher })
            }
            ResponseSource::Udp(_) | ResponseSource::Tcp(_) => None,
        };
        self.responses.iter().enumerate().filter_map(device).collect()
    }

    /// Searches bytes from a host of `device` for responses, and reports those that it finds.
    pub fn look_into(
        &self,
        responses: &mut [DeviceResponse],
        device: DeviceId,
        at: SimTime,
        bytes: &[u8],
    ) {
        for found in responses.iter_mut().filter(|response| response.device == device) {
            for _ in 0..found.matcher.push(bytes) {
                self.tell(Event::Heard { response: found.response, at });
            }
        }
    }
}

impl Source {
    /// Reports the responses that arrive until `over` is set.
    pub fn listen(&self, answers: &Answers, clock: MonotonicClock, over: &AtomicBool) {
        let config = &answers.responses[self.response];
        let heard = || answers.tell(Event::Heard { response: self.response, at: clock.now() });
        let outcome = match &self.port {
            Port::Udp(socket) => listen_udp(socket, config, heard, over),
            Port::Tcp(server) => listen_tcp(server, config, heard, over),
        };
        if let Err(error) = outcome {
            tracing::error!("response `{}` is no longer received: {error}", config.name);
        }
    }
}

fn listen_udp(
    socket: &UdpSocket,
    config: &ResponseConfig,
    heard: impl Fn(),
    over: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; LONGEST];
    socket.set_read_timeout(Some(PATIENCE))?;
    while !over.load(Ordering::Relaxed) {
        match socket.recv(&mut buffer) {
            Ok(count) if config.pattern.is_match(&buffer[..count]) => heard(),
            Ok(_) => {}
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
    Ok(())
}

fn listen_tcp(
    server: &TcpServer,
    config: &ResponseConfig,
    heard: impl Fn(),
    over: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; LONGEST];
    let mut talks: HashMap<Peer, Matcher> = HashMap::new();
    while !over.load(Ordering::Relaxed) {
        server.receive(&mut buffer, PATIENCE, &mut |event| match event {
            ServerEvent::Connected(peer) => {
                talks.insert(peer, Matcher::new(&config.pattern));
            }
            ServerEvent::Disconnected(peer) => {
                talks.remove(&peer);
            }
            ServerEvent::Bytes(peer, bytes) => {
                let found = talks.get_mut(&peer).map_or(0, |talk| talk.push(bytes));
                (0..found).for_each(|_| heard());
            }
        })?;
    }
    Ok(())
}
