//! Selection of the scans in a stream.
//!
//! When the line becomes free, the scanner sends the latest complete scan or the next one, as the profile's
//! [`TransmissionStart`] determines. On a slow line it skips scans; it never queues them. The duration of a telegram is
//! known in advance, so the stream knows which scan it will send next. Only scans that will be sent are measured.

use std::collections::VecDeque;

use super::capture::{Belongs, Capture};
use super::mirror::{Mirror, Pattern};
use super::telegrams::Format;
use crate::sensors::receiver::ReceiverSetting;
use crate::sensors::{Measurement, MeasurementRequest, PulseReturns};
use crate::sick_lms2xx::profile::TransmissionStart;
use crate::time::SimTime;

/// A stream of scans.
#[derive(Debug)]
pub struct Stream {
    /// Pattern of the revolutions that each telegram consists of.
    pattern: Pattern,
    format: Format,
    transmission_start: TransmissionStart,
    /// Transmission time of a telegram.
    telegram_ns: u64,
    /// The first scan that is neither planned nor skipped.
    next_scan: u64,
    /// Time at which the last planned telegram ends and the line is free again.
    line_free: SimTime,
    /// Value of `line_free` before the last telegram was planned.
    line_free_before: SimTime,
    planned: VecDeque<Capture>,
}

impl Stream {
    /// A stream of the scans that start at or after `from`. Each telegram occupies the line for `telegram_ns`.
    pub fn new(
        mirror: &Mirror,
        pattern: Pattern,
        format: Format,
        transmission_start: TransmissionStart,
        telegram_ns: u64,
        from: SimTime,
    ) -> Self {
        Self {
            next_scan: mirror.first_from(from).div_ceil(pattern.revolutions_per_scan()),
            pattern,
            format,
            transmission_start,
            telegram_ns,
            line_free: from,
            line_free_before: from,
            planned: VecDeque::new(),
        }
    }

    /// Format of the telegrams.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Measurement request number `index`, for the next revolution of a planned telegram; `None` unless that revolution
    /// starts before `horizon`.
    pub fn poll_request(
        &mut self,
        mirror: &Mirror,
        receiver: ReceiverSetting,
        index: u64,
        horizon: SimTime,
    ) -> Option<MeasurementRequest> {
        loop {
            // All captures except the last are requested completely.
            let Some(capture) = self.planned.back_mut().filter(|capture| !capture.is_asked_for())
            else {
                self.plan(mirror);
                continue;
            };
            // A stall can begin during the run, so it is checked when a revolution is requested, not when the telegram
            // is planned.
            match capture.held_next(mirror) {
                None => return capture.poll_request(mirror, receiver, index, horizon),
                Some(Some(until)) if until < horizon => {
                    self.planned.pop_back();
                    self.line_free = self.line_free_before;
                    let per_scan = self.pattern.revolutions_per_scan();
                    self.next_scan = mirror.first_from(until).div_ceil(per_scan);
                }
                Some(_) => return None,
            }
        }
    }

    /// Adds a measurement to the capture that needs it. Drops captures that can no longer be completed.
    pub fn take(&mut self, measurement: &Measurement, returns: &[PulseReturns]) {
        let index = measurement.request.index;
        self.planned.retain(|capture| capture.belongs(index) != Belongs::TooLate);
        let wanted = |capture: &&mut Capture| capture.belongs(index) == Belongs::Here;
        if let Some(capture) = self.planned.iter_mut().find(wanted) {
            capture.add(measurement, returns);
        }
    }

    /// Departure time of the next telegram on a line that is free from `line_free` on; `None` until the telegram is
    /// measured.
    pub fn next_due(&self, mirror: &Mirror, line_free: SimTime) -> Option<SimTime> {
        let capture = self.planned.front().filter(|capture| capture.is_measured())?;
        Some(capture.leaves(mirror).max(match self.transmission_start {
            TransmissionStart::ScanEnd => SimTime::ZERO,
            TransmissionStart::LineFree => line_free,
        }))
    }

    /// Removes the capture of the next telegram.
    pub fn pop(&mut self) -> Option<Capture> {
        self.planned.pop_front()
    }

    /// Continues after an answer that occupied the line until `line_free`; scans that were due before that time are
    /// skipped.
    pub fn resume(&mut self, mirror: &Mirror, line_free: SimTime) {
        self.planned.retain(|capture| capture.leaves(mirror) >= line_free);
        let soonest = mirror.first_from(line_free).div_ceil(self.pattern.revolutions_per_scan());
        let next = self.planned.front().map_or(self.next_scan, Capture::scan);
        if next > soonest + 1 {
            self.planned.clear();
            self.next_scan = soonest;
        }
        self.line_free = line_free;
        let leaving: Vec<_> = self.planned.iter().map(|capture| capture.leaves(mirror)).collect();
        leaving.into_iter().for_each(|leaves| self.occupy(leaves));
    }

    /// Mean number of telegrams per second.
    pub fn rate_hz(mut self, mirror: &Mirror) -> f64 {
        const TELEGRAMS: u64 = 60;
        self.plan(mirror);
        let first = self.line_free;
        for _ in 0..TELEGRAMS {
            self.plan(mirror);
        }
        TELEGRAMS as f64 / self.line_free.saturating_since(first).as_secs_f64()
    }

    /// Plans the next telegram.
    fn plan(&mut self, mirror: &Mirror) {
        let capture = self.next_capture(mirror);
        self.next_scan = capture.scan() + self.scans_per_telegram();
        self.occupy(capture.leaves(mirror));
        self.planned.push_back(capture);
    }

    /// Reserves the line for a telegram that can leave at `leaves`.
    fn occupy(&mut self, leaves: SimTime) {
        self.line_free_before = self.line_free;
        self.line_free = SimTime(leaves.max(self.line_free).0 + self.telegram_ns);
    }

    fn scans_per_telegram(&self) -> u64 {
        self.pattern.revolutions() / self.pattern.revolutions_per_scan()
    }

    /// Capture of the next telegram, as if no stall held the mirror.
    fn next_capture(&self, mirror: &Mirror) -> Capture {
        let per_scan = self.pattern.revolutions_per_scan();
        let revolutions = self.pattern.revolutions();
        let known_by = mirror.known_by(self.line_free);
        let after = mirror.first_from(known_by);
        let scan = match self.transmission_start {
            TransmissionStart::ScanEnd => {
                after.saturating_sub(revolutions).div_ceil(per_scan).max(self.next_scan)
            }
            TransmissionStart::LineFree => {
                let is_future = u64::from(mirror.start(after) > known_by);
                (after.saturating_sub(is_future + revolutions) / per_scan).max(self.next_scan)
            }
        };
        Capture::of_scan(self.pattern.clone(), scan)
    }
}
