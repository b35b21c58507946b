//! The thread that writes the ground truth of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use crossbeam_channel::{Receiver, TryRecvError};
use mcap::McapError;
use serde_json::json;

pub use super::file::{TruthError, TruthFigures, TruthFile};
use super::labels::Labels;
use super::{
    JsonMessage, PacketEvent, TruthEvent, frames, kinds, measured, messages, packets, poses,
};
use crate::config::rig::{DeviceId, Rig};
use crate::engine::LiveWorld;
use crate::engine::faults::Row;
use crate::engine::faults::log::{FaultWords, Windows};
use crate::engine::host_events::HostInput;
use crate::engine::host_log;
use crate::sensors::Measurement;
use crate::sensors::camera::truth::FrameTruth;
use crate::time::{Epoch, SimTime};
use crate::timing::clock::MonotonicClock;

/// Time between two checks of an empty queue.
const REST: Duration = Duration::from_millis(10);
/// Largest number of events between two checks of the clock.
const EVENTS_A_LOOK: u32 = 64;

/// Orders the ground truth of a run by time and writes it to a file. At one instant, poses come first, then devices in
/// the rig's order, then faults, then host commands.
pub struct TruthLog<'a> {
    rig: &'a Rig,
    world: &'a LiveWorld,
    epoch: Epoch,
    out: TruthFile,
    labels: Labels,
    windows: Windows,
    words: FaultWords,
    devices: Vec<String>,
    /// Events that are not written yet, because events with earlier times may still arrive. Sorted by time, rank and
    /// order of arrival.
    waiting: BTreeMap<(SimTime, usize, u64), Item>,
    arrived: u64,
    /// Number of instants, at the rig's `truth_rate_hz`, whose poses have been added to `waiting` so far.
    rows: u64,
    row_s: f64,
    buffer: Vec<u8>,
}

enum Item {
    Poses,
    Packet(PacketEvent),
    Frame(DeviceId, Box<FrameTruth>),
    Message(JsonMessage),
    Fault(Row),
    HostInput(HostInput),
}

impl<'a> TruthLog<'a> {
    /// Writer for the ground truth of a run of `rig` to `file`; `epoch` is the UTC of the first instant.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(
        file: TruthFile,
        rig: &'a Rig,
        world: &'a LiveWorld,
        epoch: Epoch,
    ) -> Result<Self, TruthError> {
        let mut log = Self {
            rig,
            world,
            epoch,
            out: file,
            labels: Labels::of(rig, world),
            windows: Windows::of(rig),
            words: FaultWords::of(rig),
            devices: rig.devices.iter().map(|device| device.name.clone()).collect(),
            waiting: BTreeMap::new(),
            arrived: 0,
            rows: 0,
            row_s: 1.0 / rig.engine.truth_rate_hz,
            buffer: Vec::new(),
        };
        match log.begin() {
            Ok(()) => Ok(log),
            Err(error) => Err(log.out.wrong(error)),
        }
    }

    /// Writes events until all senders are dropped. An event is written once its time has passed: by `clock` if there
    /// is one, otherwise by [`TruthEvent::Until`].
    ///
    /// # Errors
    /// Errors of writing; later events are still removed from the queue.
    pub fn keep(
        mut self,
        events: &Receiver<TruthEvent>,
        clock: Option<MonotonicClock>,
    ) -> Result<TruthFigures, TruthError> {
        let mut outcome = Ok(());
        let mut since_look = 0;
        loop {
            // Old events are written from time to time, even if new ones arrive without a pause.
            since_look += 1;
            if let Some(clock) = clock
                && since_look == EVENTS_A_LOOK
            {
                since_look = 0;
                if outcome.is_ok() {
                    outcome = self.settle(clock.now());
                }
            }
            match next(events, clock) {
                Ok(TruthEvent::Until(until)) => {
                    if outcome.is_ok() {
                        outcome = self.settle(until);
                    }
                }
                Ok(event) => {
                    if outcome.is_ok() {
                        self.take(event);
                    }
                }
                Err(NoEvent::Yet(now)) => {
                    if outcome.is_ok() {
                        outcome = self.settle(now);
                    }
                }
                Err(NoEvent::AnyMore) => break,
            }
        }
        match outcome {
            Ok(()) => self.finish(),
            Err(error) => Err(self.out.wrong(error)),
        }
    }

    /// Writes the metadata, and the names of devices, labels, materials, meshes and objects, to which messages refer by
    /// number.
    fn begin(&mut self) -> Result<(), McapError> {
        let devices = self.rig.devices.iter().map(|device| {
            json!({
                "name": device.name,
                "profile": device.profile.name,
                "topic": packets_topic(&device.name),
            })
        });
        let names = messages::names(self.world, &self.labels, devices.collect());
        let metadata = [
            ("menura", env!("CARGO_PKG_VERSION").to_owned()),
            ("rig", self.rig.name.clone()),
            ("seed", self.rig.seed.to_string()),
            ("start_utc", self.epoch.start().to_string()),
            ("scene", self.world.summary.scene.clone()),
        ];
        self.out.write_metadata(metadata)?;
        let names = serde_json::to_vec(&names).unwrap_or_default();
        let at = self.log_time(SimTime::ZERO);
        self.out.attach("names.json", "application/json", at, &names)?;
        let meshes: Vec<u8> = self.labels.meshes().iter().flat_map(|m| m.to_le_bytes()).collect();
        self.out.attach("instances.u32", "application/octet-stream", at, &meshes)
    }

    fn take(&mut self, event: TruthEvent) {
        match event {
            TruthEvent::Packet(packet) => {
                self.wait(packet.due, self.rank_of(packet.device) + 1, Item::Packet(packet));
            }
            TruthEvent::Measured(device, measurement) => {
                self.take_measurement(device, &measurement)
            }
            TruthEvent::Clock(device, account) => {
                let topic = format!("/devices/{}/clock", self.devices[device.0]);
                let error_ns = account.error_ns(self.epoch.unix_ns(account.at));
                let value = messages::clock(&account, error_ns);
                let message = JsonMessage { topic, kind: &kinds::CLOCK, value };
                self.wait(account.at, self.rank_of(device), Item::Message(message));
            }
            TruthEvent::Frame(device, frame) => {
                self.wait(frame.due, self.rank_of(device), Item::Frame(device, frame));
            }
            TruthEvent::Fault(row) => self.wait_fault(row),
            TruthEvent::FaultAdded(fault) => {
                self.windows.add(fault.schedule);
                self.words.add(self.rig, &fault);
            }
            TruthEvent::Rescheduled(index, schedule) => self.windows.reschedule(index, schedule),
            TruthEvent::HostInput(input) => self.wait(input.at, usize::MAX, Item::HostInput(input)),
            TruthEvent::Until(_) => {}
        }
    }

    /// Rank of a device's measurements among the events of one instant, which are written by ascending rank. The rank
    /// of its packets is one higher; poses have rank 0.
    fn rank_of(&self, device: DeviceId) -> usize {
        1 + 2 * device.0
    }

    fn wait(&mut self, at: SimTime, rank: usize, item: Item) {
        self.arrived += 1;
        self.waiting.insert((at, rank, self.arrived), item);
    }

    fn wait_fault(&mut self, row: Row) {
        self.wait(row.at, 1 + 2 * self.devices.len() + row.fault, Item::Fault(row));
    }

    fn take_measurement(&mut self, device: DeviceId, measurement: &Measurement) {
        let rank = self.rank_of(device);
        let all = measured::messages_of(&self.devices[device.0], measurement, &self.epoch);
        for (at, message) in all {
            self.wait(at, rank, Item::Message(message));
        }
    }

    /// Writes all events before `until`. If poses are final only up to an earlier instant, writes only the events
    /// before that instant.
    fn settle(&mut self, until: SimTime) -> Result<(), McapError> {
        let until = poses::known_at(self.world, until);
        loop {
            let next = SimTime::from_secs_f64(self.rows as f64 * self.row_s);
            if next >= until {
                break;
            }
            self.waiting.insert((next, 0, 0), Item::Poses);
            self.rows += 1;
        }
        if let Some(last) = until.0.checked_sub(1) {
            let mut opened = Vec::new();
            self.windows.announce(SimTime(last), |row| opened.push(row));
            opened.into_iter().for_each(|row| self.wait_fault(row));
        }
        while let Some(first) = self.waiting.first_entry() {
            let (at, _, _) = *first.key();
            if at >= until {
                break;
            }
            let item = first.remove();
            self.write(at, item)?;
        }
        Ok(())
    }

    fn write(&mut self, at: SimTime, item: Item) -> Result<(), McapError> {
        let log_time = self.log_time(at);
        let out = &mut self.out;
        match item {
            Item::Poses => {
                let mut all = Vec::new();
                poses::tell(self.rig, self.world, &self.epoch, at, &mut |one| all.push(one));
                all.iter().try_for_each(|message| out.write_json(message, log_time))
            }
            Item::Packet(packet) => {
                let topic = packets_topic(&self.devices[packet.device.0]);
                self.buffer.clear();
                packets::record_of(&packet, &self.labels).emit(&mut self.buffer);
                out.write_packet(&topic, log_time, &self.buffer)
            }
            Item::Frame(device, frame) => {
                let config = &self.rig.devices[device.0];
                let surroundings = self.world.surroundings_of(device, &config.body_from_sensor);
                let pose = surroundings.world_from_sensor(frame.middle());
                let all =
                    frames::messages_of(&config.name, &frame, &pose, &self.epoch, &self.labels);
                all.iter().try_for_each(|message| out.write_json(message, log_time))
            }
            Item::Message(message) => out.write_json(&message, log_time),
            Item::Fault(row) => {
                let value = messages::fault(row.at, row.window, &self.words.note(&row));
                let message = JsonMessage { topic: "/faults".into(), kind: &kinds::FAULT, value };
                out.write_json(&message, log_time)
            }
            Item::HostInput(input) => {
                let line = host_log::line_of(&input, &self.devices);
                out.write_text("/hosts", &kinds::SAID, log_time, &line)
            }
        }
    }

    fn log_time(&self, at: SimTime) -> u64 {
        u64::try_from(self.epoch.unix_ns(at)).unwrap_or_default()
    }

    fn finish(mut self) -> Result<TruthFigures, TruthError> {
        while let Some(((at, _, _), item)) = self.waiting.pop_first() {
            if let Err(error) = self.write(at, item) {
                return Err(self.out.wrong(error));
            }
        }
        self.out.finish()
    }
}

/// Reason why [`next`] returns no event.
enum NoEvent {
    /// No event waits; the value is the present time.
    Yet(SimTime),
    AnyMore,
}

/// The next event. In real time the thread polls, because waking it would be a system call for each event.
fn next(
    events: &Receiver<TruthEvent>,
    clock: Option<MonotonicClock>,
) -> Result<TruthEvent, NoEvent> {
    let Some(clock) = clock else { return events.recv().map_err(|_| NoEvent::AnyMore) };
    // Read before the queue: all events sent before this time are then in the queue.
    let now = clock.now();
    events.try_recv().map_err(|error| match error {
        TryRecvError::Disconnected => NoEvent::AnyMore,
        TryRecvError::Empty => {
            clock.rest(REST);
            NoEvent::Yet(now)
        }
    })
}

/// Topic of the messages about a device's packets.
fn packets_topic(device: &str) -> String {
    format!("/devices/{device}/packets")
}
