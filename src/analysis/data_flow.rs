//! Statistics of one sender's data packets: rate, completeness and directions.

use std::collections::VecDeque;

use super::gaps::{DEVICE_TOLERANCE, Found, Gaps};
use crate::devices::decoder::datagram::{Head, Stamp, Sweep, TurnSteps};

/// Largest number of packet errors that are kept as examples.
const MAX_EXAMPLES: usize = 3;
/// A step between packets that takes this long or longer is not used to measure the rotor speed; nanoseconds.
const MAX_ROTOR_STEP_NS: i128 = 50_000_000;
/// Packets count as missing if the capture times of two successive packets differ by more than this number of usual
/// intervals. The limit is high, because the capturing host's clock jitters.
const CAPTURE_GAP_PERIODS: f64 = 4.0;
/// A packet counts as late if its timestamp is older than the newest one by at most this time, microseconds. An older
/// timestamp means that the device's clock was set.
const MAX_LATE_US: i64 = 100_000;
/// Number of packets among which a copy is recognised: those of [`MAX_LATE_US`] from the fastest lidars.
const MOST_RECENT: usize = 1024;
/// A longer step between azimuths, 0.01 degrees, forward or back, crosses directions outside the field of view. A
/// shorter step back is jitter.
const FIELD_EDGE_CENTIDEG: u32 = 1000;
const FULL_TURN_CENTIDEG: i32 = 36_000;
const HALF_TURN_CENTIDEG: u32 = 18_000;

/// Smallest, largest and mean of steps between azimuths, 0.01 degrees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range {
    count: u64,
    sum: u64,
    /// Smallest step.
    pub min: u32,
    /// Largest step.
    pub max: u32,
}

impl Range {
    fn see(&mut self, value: u32) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.sum += u64::from(value);
        self.count += 1;
    }

    /// Mean step; `None` without steps.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// Step from one packet to the next.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Time between the arrivals of the two packets, nanoseconds.
    pub arrival_ns: i128,
    /// Time between the two packets on the device's clock, microseconds; `None` if they have no timestamps.
    pub device_us: Option<i64>,
    /// Angle from the first azimuth of the earlier packet forward to that of the later one, 0.01 degrees.
    advance_centideg: u32,
}

/// Statistics of a sender's data packets.
#[derive(Debug, Default)]
pub struct DataFlow {
    /// Number of packets.
    pub packets: u64,
    /// Number of packets with two returns of each firing.
    pub dual_packets: u64,
    /// Number of points, with and without a return.
    pub points: u64,
    /// Number of points without a return.
    pub zero_points: u64,
    /// Steps between successive azimuths within packets, 0.01 degrees, without `field_edges`.
    pub azimuth_step: Range,
    /// Number of steps within packets that cross directions outside the field of view.
    pub field_edges: u64,
    /// Number of times that the azimuth passed zero.
    pub turns: u64,
    /// Number of times that the azimuth went back.
    pub azimuth_back: u64,
    /// Number of errors in packets.
    pub issues: u64,
    /// Texts of the first errors, each with the number of the packet in the flow.
    pub issue_examples: Vec<String>,
    /// First and last timestamp of the device.
    pub stamps: Option<(Stamp, Stamp)>,
    /// Number of times that the device's time went back.
    pub stamps_back: u64,
    /// The newest timestamp, not counting those from before the device's clock was set back.
    newest: Option<Stamp>,
    /// Timestamps of the latest packets, by which copies are recognised.
    recent: VecDeque<Stamp>,
    /// Number of packets, without copies, that arrived after a packet with a newer timestamp.
    late: u64,
    /// Gaps between packets by the device's timestamps.
    device_gaps: Gaps,
    /// Gaps between packets by the capture's timestamps.
    capture_gaps: Gaps,
    /// Arrival time (POSIX, nanoseconds) and first azimuth (0.01 degrees) of the last packet.
    last_packet: Option<(i128, u16)>,
    last_azimuth: Option<u16>,
    rotor_centideg: u64,
    rotor_ns: i128,
    /// Number of steps per rotation from which the azimuths of the last packet were computed; `None` if packets contain
    /// azimuths.
    turn: Option<TurnSteps>,
}

impl DataFlow {
    /// Rotor speed, rpm; `None` if it is unknown.
    pub fn rotation_rate_rpm(&self) -> Option<f64> {
        (self.rotor_ns > 0).then(|| self.rotor_centideg as f64 * 1e9 / self.rotor_ns as f64 / 600.0)
    }

    /// Gaps by the device's timestamps if the packets have them (`has_stamps`), otherwise by the capture's timestamps.
    pub fn gaps(&self, has_stamps: bool) -> Found {
        if !has_stamps {
            return self.capture_gaps.found();
        }
        let found = self.device_gaps.found();
        // Each late packet was counted as missing before it arrived.
        Found { missing: found.missing.saturating_sub(self.late), ..found }
    }

    /// Adds the next packet of a sender. `has_stamps`: whether the sender's packets are known to contain times. Returns
    /// the step from the previous packet; `None` for the first packet.
    pub fn see(
        &mut self,
        head: &Head,
        sweep: &Sweep,
        unix_ns: i128,
        has_stamps: bool,
    ) -> Option<Step> {
        self.packets += 1;
        self.dual_packets += u64::from(sweep.is_dual);
        self.points += sweep.returns.len() as u64;
        self.zero_points += sweep.returns.iter().filter(|point| point.is_empty).count() as u64;
        if let (Some(old), Some(new)) = (self.turn, sweep.turn)
            && old.is_guess
            && old.count != new.count
        {
            self.restart_azimuths(old.count, new.count);
        }
        self.turn = sweep.turn;
        let is_late = has_stamps && is_late(head.stamp, self.newest);
        self.see_azimuths(&sweep.azimuths_centideg, is_late);
        self.see_stamp(head.stamp, is_late);
        let step = self.step_to(head.stamp, sweep, unix_ns);
        if let Some(step) = &step {
            self.see_step(step, has_stamps);
        }
        for issue in &sweep.issues {
            self.issues += 1;
            if self.issue_examples.len() < MAX_EXAMPLES {
                self.issue_examples.push(format!("packet {}: {issue}", self.packets));
            }
        }
        step
    }

    /// Discards the statistics of azimuth steps and rotor speed, which were computed with `guessed` steps per rotation,
    /// although a rotation has `steps`. Rescales the stored azimuths accordingly.
    fn restart_azimuths(&mut self, guessed: u16, steps: u16) {
        self.azimuth_step = Range::default();
        (self.azimuth_back, self.field_edges) = (0, 0);
        (self.rotor_centideg, self.rotor_ns) = (0, 0);
        let truly = |azimuth: u16| {
            let steps = u32::from(steps.max(1));
            (u32::from(azimuth) * u32::from(guessed) / steps % FULL_TURN_CENTIDEG as u32) as u16
        };
        self.last_azimuth = self.last_azimuth.map(truly);
        self.last_packet = self.last_packet.map(|(unix_ns, azimuth)| (unix_ns, truly(azimuth)));
    }

    fn see_azimuths(&mut self, azimuths_centideg: &[u16], is_late: bool) {
        // Only within a packet, because packets may be missing between two packets.
        steps_within(azimuths_centideg).for_each(|step| self.azimuth_step.see(step));
        let pairs = azimuths_centideg.windows(2);
        let edges = pairs.filter(|pair| is_field_edge(forward_centideg(pair[0], pair[1])));
        self.field_edges += edges.count() as u64;
        if is_late {
            self.azimuth_back += 1;
            return;
        }
        for azimuth in azimuths_centideg {
            let Some(last) = self.last_azimuth.replace(*azimuth) else { continue };
            let back_centideg = forward_centideg(*azimuth, last);
            self.azimuth_back += u64::from((1..=FIELD_EDGE_CENTIDEG).contains(&back_centideg));
            self.turns += u64::from(passes_zero(last, *azimuth));
        }
    }

    fn see_stamp(&mut self, stamp: Option<Stamp>, is_late: bool) {
        let Some(now) = stamp else { return };
        if is_late {
            // A copy of a packet that has arrived was never counted as missing.
            self.late += u64::from(!self.recent.contains(&now));
        } else if let Some(newest) = self.newest.replace(now) {
            let us = now.since_us(newest);
            if us >= 0 {
                self.device_gaps.see(us as f64, DEVICE_TOLERANCE);
            }
        }
        self.recent.push_back(now);
        if self.recent.len() > MOST_RECENT {
            self.recent.pop_front();
        }
    }

    fn step_to(&mut self, stamp: Option<Stamp>, sweep: &Sweep, unix_ns: i128) -> Option<Step> {
        let last_stamp = self.stamps.map(|(_, last)| last);
        if let Some(now) = stamp {
            self.stamps = Some((self.stamps.map_or(now, |(first, _)| first), now));
        }
        let azimuth = sweep.azimuths_centideg.first().copied().unwrap_or_default();
        let (last_unix_ns, last_azimuth) = self.last_packet.replace((unix_ns, azimuth))?;
        Some(Step {
            arrival_ns: unix_ns - last_unix_ns,
            device_us: stamp.zip(last_stamp).map(|(now, last)| now.since_us(last)),
            advance_centideg: forward_centideg(last_azimuth, azimuth),
        })
    }

    fn see_step(&mut self, step: &Step, has_stamps: bool) {
        self.capture_gaps.see(step.arrival_ns.max(0) as f64 / 1000.0, CAPTURE_GAP_PERIODS);
        let forward_us = step.device_us.filter(|us| *us >= 0);
        let is_back = has_stamps && step.device_us.is_some() && forward_us.is_none();
        self.stamps_back += u64::from(is_back);
        let elapsed_ns = match forward_us {
            Some(us) if has_stamps => i128::from(us) * 1000,
            _ => step.arrival_ns,
        };
        let is_turning = (1..MAX_ROTOR_STEP_NS).contains(&elapsed_ns);
        if is_turning && step.advance_centideg < HALF_TURN_CENTIDEG {
            self.rotor_centideg += u64::from(step.advance_centideg);
            self.rotor_ns += elapsed_ns;
        }
    }
}

/// Forward difference of two azimuths, 0.01 degrees, less than a rotation.
fn forward_centideg(from: u16, to: u16) -> u32 {
    (i32::from(to) - i32::from(from)).rem_euclid(FULL_TURN_CENTIDEG) as u32
}

/// Forward differences of successive azimuths of one packet, 0.01 degrees. Equal azimuths, backward steps and steps
/// across directions outside the field of view are skipped.
pub fn steps_within(azimuths_centideg: &[u16]) -> impl Iterator<Item = u32> {
    let steps = azimuths_centideg.windows(2).map(|pair| forward_centideg(pair[0], pair[1]));
    steps.filter(|step| (1..FIELD_EDGE_CENTIDEG).contains(step))
}

/// Whether a forward step between two azimuths of one packet crosses directions outside the field of view.
fn is_field_edge(step_centideg: u32) -> bool {
    let edge = FIELD_EDGE_CENTIDEG;
    (edge..=FULL_TURN_CENTIDEG as u32 - edge).contains(&step_centideg)
}

/// Whether the azimuth passes zero from one block to the next: it decreases by more than jitter. A
/// lidar with a restricted field of view goes back from the end of the field to its start.
pub fn passes_zero(from_centideg: u16, to_centideg: u16) -> bool {
    u32::from(from_centideg.saturating_sub(to_centideg)) > FIELD_EDGE_CENTIDEG
}

/// Whether a packet with the timestamp `stamp` arrived after one with the newer timestamp `newest`; false if one of the
/// two is unknown.
pub fn is_late(stamp: Option<Stamp>, newest: Option<Stamp>) -> bool {
    let ahead_us = stamp.zip(newest).map(|(stamp, newest)| stamp.since_us(newest));
    ahead_us.is_some_and(|us| (-MAX_LATE_US..0).contains(&us))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::decoder::datagram::DATA;

    const PERIOD_US: u32 = 1000;
    const DEG: u32 = 100;

    /// Statistics of packets with these numbers, in the order of arrival. A packet has ten azimuths, a degree apart. The
    /// lidar rotates once in a tenth of a second and sends only azimuths in `field_deg`.
    fn flow(numbers: impl IntoIterator<Item = u32>, field_deg: std::ops::Range<u32>) -> DataFlow {
        let per_turn = field_deg.len() as u32;
        let mut flow = DataFlow::default();
        for (place, number) in numbers.into_iter().enumerate() {
            let steps = 10 * number..10 * (number + 1);
            let place_of = |nth: u32| (nth / per_turn, field_deg.start + nth % per_turn);
            let all: Vec<_> = steps.map(place_of).collect();
            let (turn, first_deg) = all[0];
            let us = 100_000 * turn + first_deg * 100_000 / 360;
            let azimuths_centideg = all.iter().map(|(_, deg)| (deg * DEG) as u16).collect();
            let stamp = Some(Stamp { us, period_us: 3_600_000_000 });
            let sweep = Sweep { azimuths_centideg, ..Sweep::default() };
            let unix_ns = i128::from(place as u32 * PERIOD_US) * 1000;
            flow.see(&Head { kind: DATA, stamp }, &sweep, unix_ns, true);
        }
        flow
    }

    #[test]
    fn late_packets_are_not_missing() {
        let mut numbers: Vec<u32> = (0..360).collect();
        for place in [50, 150, 250] {
            // Two packets late.
            numbers[place..place + 3].rotate_left(1);
        }
        let flow = flow(numbers, 0..360);
        assert_eq!((flow.gaps(true).missing, flow.gaps(true).gaps), (0, 3));
        assert_eq!((flow.stamps_back, flow.turns), (3, 9));
    }

    #[test]
    fn rotations_of_a_narrow_field_of_view_are_counted() {
        // 125 degrees: the edge of the field is within a packet.
        let flow = flow(0..125, 90..215);
        assert_eq!((flow.turns, flow.azimuth_back), (9, 0));
        assert!(flow.field_edges > 0);
        assert_eq!((flow.azimuth_step.min, flow.azimuth_step.max), (DEG, DEG));
        let around_zero = [(35_900, 100), (6_000, 30_000), (30_000, 29_990)];
        let passes = around_zero.map(|(from, to)| passes_zero(from, to));
        assert_eq!(passes, [true, false, false]);
    }
}
