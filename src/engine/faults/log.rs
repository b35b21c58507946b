//! The truth about faults: a table of what each did to which packet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use super::{Effect, Row};
use crate::config::profile::network::DatagramPort;
use crate::config::rig::Rig;
use crate::config::rig::schedule::Schedule;
use crate::time::SimTime;

/// Rows are held back this long, so that they come out in the order of time whichever device was
/// rendered first: far more than devices are ever apart.
const SETTLING_NS: u64 = 2_000_000_000;

/// Writes rows as CSV: `time_ns` since the first instant, when the packet was due; `device`;
/// `fault`; its `kind`; `packet`, counting from zero what the device gave out, faults aside;
/// `effect`; and `amount`, whose unit the effect's name has. `begins` and `ends` have no packet.
pub struct FaultLog {
    table: csv::Writer<Box<dyn io::Write + Send>>,
    waiting: BinaryHeap<Reverse<Row>>,
    /// For each fault, the next window's number and whether it is open already; `None` after the
    /// last.
    next: Vec<Option<(u64, bool)>>,
    names: Vec<[String; 3]>,
    schedules: Vec<Schedule>,
    /// For each fault, the ports of its device.
    ports: Vec<Vec<DatagramPort>>,
    latest: SimTime,
    rows: u64,
}

impl FaultLog {
    /// A table for the faults of `rig`, written to `sink`.
    ///
    /// # Errors
    /// Those of `sink`.
    pub fn new(rig: &Rig, sink: Box<dyn io::Write + Send>) -> io::Result<Self> {
        let mut table = csv::Writer::from_writer(sink);
        let columns =
            ["time_ns", "device", "fault", "kind", "stream", "packet", "effect", "amount"];
        table.write_record(columns)?;
        let names = |fault: &crate::config::rig::faults::FaultConfig| {
            let device = rig.devices[fault.device].name.clone();
            [device, fault.name.clone(), fault.word.to_owned()]
        };
        Ok(Self {
            table,
            waiting: BinaryHeap::new(),
            next: vec![Some((0, false)); rig.faults.len()],
            names: rig.faults.iter().map(names).collect(),
            schedules: rig.faults.iter().map(|fault| fault.schedule).collect(),
            ports: rig
                .faults
                .iter()
                .map(|f| rig.devices[f.device].profile.ports().to_vec())
                .collect(),
            latest: SimTime::ZERO,
            rows: 0,
        })
    }

    /// Takes a row.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn note(&mut self, row: Row) -> io::Result<()> {
        self.latest = self.latest.max(row.at);
        self.waiting.push(Reverse(row));
        self.write_until(SimTime(self.latest.0.saturating_sub(SETTLING_NS)))
    }

    /// Writes what is left of a run that ended at `end`; how many rows there are.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self, end: SimTime) -> io::Result<u64> {
        self.announce(end);
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
        self.announce(settled);
        while self.waiting.peek().is_some_and(|Reverse(first)| first.at <= settled) {
            if let Some(Reverse(row)) = self.waiting.pop() {
                self.write(row)?;
            }
        }
        Ok(())
    }

    /// Adds the rows of windows that open or close until `to`.
    fn announce(&mut self, to: SimTime) {
        for (fault, next) in self.next.iter_mut().enumerate() {
            while let Some((window, is_open)) = *next {
                let (opens, closes) = self.schedules[fault].window(window);
                let at = if is_open { closes } else { Some(opens) };
                let Some(at) = at.filter(|&at| at <= to) else { break };
                let effect = if is_open { Effect::Ends } else { Effect::Begins };
                self.waiting.push(Reverse(Row { at, fault, packet: None, window, effect }));
                *next = match (is_open, self.schedules[fault].period_ns) {
                    (false, _) => Some((window, true)),
                    (true, Some(_)) => Some((window + 1, false)),
                    (true, None) => None,
                };
            }
        }
    }

    fn write(&mut self, row: Row) -> io::Result<()> {
        self.rows += 1;
        let [device, fault, kind] = &self.names[row.fault];
        let (effect, amount) = row.effect.words();
        let ports = &self.ports[row.fault];
        let stream = row.packet.map(|(stream, _)| stream.word(ports)).unwrap_or_default();
        let packet = row.packet.map(|(_, number)| number.to_string()).unwrap_or_default();
        let amount = amount.map(|amount| amount.to_string()).unwrap_or_default();
        let time = row.at.0.to_string();
        let cells = [&time, device, fault, kind, stream, &packet, effect, &amount];
        self.table.write_record(cells.map(str::as_bytes))?;
        Ok(())
    }
}
