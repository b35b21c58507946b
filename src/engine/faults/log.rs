//! The fault log: ground truth about the effect of each fault on each packet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use super::{Effect, Row};
use crate::config::profile::network::DatagramPort;
use crate::config::rig::Rig;
use crate::config::rig::faults::FaultConfig;
use crate::config::rig::schedule::Schedule;
use crate::time::SimTime;

/// Time for which a row waits before it is written, nanoseconds. Rows are written in the order of their times, although
/// devices are rendered in any order. The wait suffices, because the times reached by two devices differ by less.
const SETTLING_NS: u64 = 2_000_000_000;

/// Columns of the CSV table.
pub const COLUMNS: [&str; 9] =
    ["time_ns", "device", "fault", "kind", "stream", "packet", "effect", "amount", "keys"];

/// Tracks when the windows of a rig's faults open and close.
#[derive(Default)]
pub struct Windows {
    /// For each fault, the number of the window that opens or closes next, and whether this window is open now; `None`
    /// after the last window.
    next: Vec<Option<(u64, bool)>>,
    schedules: Vec<Schedule>,
}

impl Windows {
    /// Windows of the faults of `rig`.
    pub fn of(rig: &Rig) -> Self {
        let mut windows = Self::default();
        rig.faults.iter().for_each(|fault| windows.add(fault.schedule));
        windows
    }

    /// Adds a fault.
    pub fn add(&mut self, schedule: Schedule) {
        self.next.push(Some((0, false)));
        self.schedules.push(schedule);
    }

    /// Changes the schedule of fault number `index`; past windows stay the same.
    pub fn reschedule(&mut self, index: usize, schedule: Schedule) {
        if let Some(known) = self.schedules.get_mut(index) {
            *known = schedule;
        }
    }

    /// Calls `tell` once for each opening and each closing of a window up to `to` that no earlier call announced.
    pub fn announce(&mut self, to: SimTime, mut tell: impl FnMut(Row)) {
        for (fault, next) in self.next.iter_mut().enumerate() {
            while let Some((window, is_open)) = *next {
                let (opens, closes) = self.schedules[fault].window(window);
                let at = if is_open { closes } else { Some(opens) };
                let Some(at) = at.filter(|&at| at <= to) else { break };
                let effect = if is_open { Effect::Ends } else { Effect::Begins };
                tell(Row { at, fault, packet: None, window, effect });
                *next = match (is_open, self.schedules[fault].period_ns) {
                    (false, _) => Some((window, true)),
                    (true, Some(_)) => Some((window + 1, false)),
                    (true, None) => None,
                };
            }
        }
    }
}

/// Converts the fault numbers in rows to names.
#[derive(Default)]
pub struct FaultWords {
    names: Vec<[String; 3]>,
    /// For each fault, the ports of its device.
    ports: Vec<Vec<DatagramPort>>,
}

/// A row with names in place of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultNote<'a> {
    /// Name of the device, from the rig.
    pub device: &'a str,
    /// Name of the fault, from the rig or from the request that started it.
    pub fault: &'a str,
    /// Kind of the fault, as in the key `kind` of a `[[fault]]`.
    pub kind: &'a str,
    /// Stream of the affected packet, if a packet is affected.
    pub stream: Option<&'a str>,
    /// Number of the affected packet, if a packet is affected.
    pub packet: Option<u64>,
    /// Name of the effect, such as `lost`.
    pub effect: &'static str,
    /// Size of the effect, in the unit that the effect's name states.
    pub amount: Option<u64>,
}

impl FaultWords {
    /// The names of `rig`'s faults.
    pub fn of(rig: &Rig) -> Self {
        let mut words = Self::default();
        rig.faults.iter().for_each(|fault| words.add(rig, fault));
        words
    }

    /// Adds a fault of a device of `rig`.
    pub fn add(&mut self, rig: &Rig, fault: &FaultConfig) {
        let device = &rig.devices[fault.device];
        self.names.push([device.name.clone(), fault.name.clone(), fault.word.to_owned()]);
        self.ports.push(device.profile.ports().to_vec());
    }

    /// Converts a row to names.
    pub fn note(&self, row: &Row) -> FaultNote<'_> {
        let [device, fault, kind] = &self.names[row.fault];
        let (effect, amount) = row.effect.words();
        let ports = &self.ports[row.fault];
        let stream = row.packet.map(|(stream, _)| stream.word(ports));
        let packet = row.packet.map(|(_, number)| number);
        FaultNote { device, fault, kind, stream, packet, effect, amount }
    }
}

/// Writes rows as CSV. `time_ns`: due time of the packet, or time at which the fault begins or ends, nanoseconds since
/// the first instant. `device`, `fault`, `kind`: names. `stream` and `packet`: stream of the packet, and its number in
/// the stream from zero, counted without faults. `effect`, and `amount` in the unit that the effect's name states. Rows
/// `begins` and `ends` have no packet. `keys`: the keys, as JSON, of a fault that was started while the rig ran.
pub struct FaultLog {
    table: csv::Writer<Box<dyn io::Write + Send>>,
    waiting: BinaryHeap<Reverse<Row>>,
    windows: Windows,
    words: FaultWords,
    latest: SimTime,
    rows: u64,
    /// For each fault, its keys as JSON if it was started while the rig ran, otherwise an empty text.
    keys: Vec<String>,
}

impl FaultLog {
    /// A table for the faults of `rig`, written to `sink`.
    ///
    /// # Errors
    /// Errors of `sink`.
    pub fn new(rig: &Rig, sink: Box<dyn io::Write + Send>) -> io::Result<Self> {
        let mut table = csv::Writer::from_writer(sink);
        table.write_record(COLUMNS)?;
        let mut log = Self {
            table,
            waiting: BinaryHeap::new(),
            windows: Windows::default(),
            words: FaultWords::default(),
            latest: SimTime::ZERO,
            rows: 0,
            keys: Vec::new(),
        };
        for fault in &rig.faults {
            log.add(rig, fault, String::new());
        }
        Ok(log)
    }

    /// Adds a fault of a device of `rig`. `keys` are its keys as JSON if it was started while the rig runs, otherwise
    /// empty.
    pub fn add(&mut self, rig: &Rig, fault: &FaultConfig, keys: String) {
        self.windows.add(fault.schedule);
        self.words.add(rig, fault);
        self.keys.push(keys);
    }

    /// Changes the schedule of fault number `index`; past windows stay the same.
    pub fn reschedule(&mut self, index: usize, schedule: Schedule) {
        self.windows.reschedule(index, schedule);
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn note(&mut self, row: Row) -> io::Result<()> {
        self.latest = self.latest.max(row.at);
        self.waiting.push(Reverse(row));
        self.write_until(SimTime(self.latest.0.saturating_sub(SETTLING_NS)))
    }

    /// Writes the remaining rows of a run that ended at `end`; returns the total number of rows.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn finish(mut self, end: SimTime) -> io::Result<u64> {
        self.windows.announce(end, |row| self.waiting.push(Reverse(row)));
        while let Some(Reverse(row)) = self.waiting.pop() {
            self.write(row)?;
        }
        self.table.flush()?;
        Ok(self.rows)
    }

    fn write_until(&mut self, settled: SimTime) -> io::Result<()> {
        if self.waiting.peek().is_none_or(|Reverse(first)| first.at > settled) {
            return Ok(());
        }
        self.windows.announce(settled, |row| self.waiting.push(Reverse(row)));
        while self.waiting.peek().is_some_and(|Reverse(first)| first.at <= settled) {
            if let Some(Reverse(row)) = self.waiting.pop() {
                self.write(row)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, row: Row) -> io::Result<()> {
        self.rows += 1;
        let FaultNote { device, fault, kind, stream, packet, effect, amount } =
            self.words.note(&row);
        let packet = packet.map(|number| number.to_string()).unwrap_or_default();
        let amount = amount.map(|amount| amount.to_string()).unwrap_or_default();
        let time = row.at.0.to_string();
        let keys = if row.effect == Effect::Begins { &*self.keys[row.fault] } else { "" };
        let stream = stream.unwrap_or_default();
        let cells = [&time, device, fault, kind, stream, &packet, effect, &amount, keys];
        self.table.write_record(cells.map(str::as_bytes))?;
        Ok(())
    }
}
