//! Analysis of one sender's datagrams: arrival jitter, gaps, losses, order, clock difference.
//!
//! Every packet has its own time: the device's timestamp, or, without a timestamp, the packet's number times the
//! period. The jitter is the arrival minus this own time, minus a straight line below all these differences. The line
//! has the offset and the rate difference of the two clocks, and the smallest delay. Only data packets have a jitter:
//! other packets, such as position packets, have no constant period.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::analysis::flows::Senders;
use crate::analysis::gaps::{DEVICE_TOLERANCE, Gaps};
use crate::devices::decoder::datagram::{DATA, Stamp};
use crate::time::SimTime;
use crate::timing::{ErrorFigures, ErrorRecord, Timeline};

/// Number of first packets that determine a stream's period and whether its timestamps are usable.
const SAMPLE: usize = 32;
/// Number of packets whose jitter is computed together; the smallest jitter among them is zero.
const CHUNK: usize = 65_536;
/// Number of recent timestamps that are kept for detecting duplicates.
const REMEMBERED: usize = 64;
/// Largest gap, in periods. After a longer gap, or a step back by more than [`REMEMBERED`] periods, the sender counts
/// as restarted.
const LONGEST_GAP: f64 = 1e6;

/// Datagrams of one sender.
#[derive(Debug, Default)]
pub struct Stream {
    packets: u64,
    bytes: u64,
    cut: u64,
    unrecognised: u64,
    unstamped: u64,
    /// Source and destination port.
    ports: [u16; 2],
    senders: Senders,
    /// Names of the sender's protocol: for packets without timestamps, and with timestamps. `None` until the first data
    /// packet.
    protocols: Option<[&'static str; 2]>,
    /// Number of datagrams other than data, by kind.
    other_kinds: BTreeMap<&'static str, u64>,
    other_protocol: Option<&'static str>,
    sample: Vec<Seen>,
    judged: Option<Judged>,
    first_ns: u64,
    last_ns: u64,
}

/// Arrival of a datagram, and the device's timestamp in it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    arrival_ns: u64,
    stamp: Option<Stamp>,
}

/// State of a stream whose first packets have shown its period and whether its timestamps are usable.
#[derive(Debug)]
struct Judged {
    is_stamped: bool,
    period_ns: f64,
    start_ns: u64,
    /// Timestamp of the latest packet.
    last_stamp: Option<Stamp>,
    /// Own time of the latest packet (see the module), nanoseconds after the own time of the first packet.
    own_ns: i64,
    highest_ns: i64,
    taken: u64,
    remembered: Vec<Stamp>,
    /// Gaps between the timestamps.
    gaps: Gaps,
    reordered: u64,
    duplicates: u64,
    restarts: u64,
    least_offset_us: Option<i64>,
    course: Timeline,
    chunk: Vec<(u64, i64, i64)>,
    jitter: ErrorRecord,
}

/// Statistics of one sender's datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamFigures {
    /// Local address of the stream.
    pub at: String,
    /// Address of the sender.
    pub from: String,
    /// Protocol of the sender's family. For a stream without data packets, or with mostly unrecognised ones: protocol
    /// and kind of more than half of its packets, or `other` if there is no such kind.
    pub kind: String,
    /// Number of datagrams.
    pub packets: u64,
    /// Number of payload bytes.
    pub bytes: u64,
    /// Number of datagrams that were truncated because they are longer than those of any product.
    pub cut: u64,
    /// Number of datagrams other than data, by kind. Of the timing figures, only `span_s` and `rate_hz` include them.
    #[serde(default)]
    pub other_kinds: BTreeMap<String, u64>,
    /// Number of datagrams that no family sends, including truncated ones.
    pub unrecognised: u64,
    /// Number of datagrams without a kernel timestamp.
    pub unstamped: u64,
    /// Time from the first to the last datagram, seconds.
    pub span_s: f64,
    /// Datagrams per second.
    pub rate_hz: f64,
    /// Period of the packets, microseconds: from their timestamps, or from the arrivals if they have none; 0 if
    /// unknown.
    pub period_us: f64,
    /// Number of missing packets according to the timestamps; `None` without usable timestamps.
    pub lost: Option<u64>,
    /// Number of gaps in the timestamps; `None` without usable timestamps.
    pub gaps: Option<u64>,
    /// Longest gap in the timestamps, microseconds; 0 without a gap, `None` without usable timestamps.
    pub longest_gap_us: Option<f64>,
    /// Number of packets that arrived after a packet with a later timestamp; `None` without usable timestamps.
    pub reordered: Option<u64>,
    /// Number of packets with the timestamp of an earlier packet; `None` without usable timestamps.
    pub duplicates: Option<u64>,
    /// Number of restarts of the sender: jumps of the timestamps that are too large for lost or reordered packets.
    pub restarts: u64,
    /// Jitter of the data packets, as the module defines it.
    pub jitter: ErrorFigures,
    /// This host's clock minus the device's, including the smallest delay, microseconds; `None` without usable
    /// timestamps. Timestamps repeat after a period such as an hour, so the value is within half of that period.
    pub clock_offset_us: Option<f64>,
    /// Rate of this host's clock relative to the device's, parts per million; positive if this host is faster; `None`
    /// without usable timestamps.
    pub clock_drift_ppm: Option<f64>,
    /// Facts about a camera's images, as name and text; empty for other devices. Packets of images leave in bursts and
    /// have no jitter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<(String, String)>,
}

impl Stream {
    /// A stream with these source and destination ports.
    pub fn between(ports: [u16; 2]) -> Self {
        Self { ports, ..Self::default() }
    }

    /// Adds a datagram with the kernel's timestamp `arrival_ns`, POSIX time, nanoseconds. With `is_cut`, the payload is
    /// truncated.
    pub fn take(&mut self, arrival_ns: Option<u64>, payload: &[u8], is_cut: bool) {
        self.packets += 1;
        self.bytes += payload.len() as u64;
        self.cut += u64::from(is_cut);
        // A packet of an image is recognised only together with the previous packets.
        self.senders.picture(self.ports, payload);
        let sender = self.senders.of(self.ports, payload).filter(|_| !is_cut);
        let mut is_other = sender.is_some_and(|(sender, _)| sender.sends_images());
        match sender {
            Some((sender, head)) if head.kind == DATA => {
                self.protocols.get_or_insert_with(|| [false, true].map(|has| sender.protocol(has)));
            }
            Some((sender, head)) => {
                is_other = true;
                *self.other_kinds.entry(head.kind).or_default() += 1;
                self.other_protocol.get_or_insert_with(|| sender.protocol(head.stamp.is_some()));
            }
            None => self.unrecognised += 1,
        }
        let stamp =
            sender.and_then(|(_, head)| head.stamp).filter(|stamp| stamp.us < stamp.period_us);
        let Some(arrival_ns) = arrival_ns else {
            self.unstamped += 1;
            return;
        };
        if self.first_ns == 0 {
            self.first_ns = arrival_ns;
        }
        self.last_ns = arrival_ns;
        if is_other {
            return;
        }
        let seen = Seen { arrival_ns, stamp };
        if let Some(judged) = &mut self.judged {
            return judged.take(seen);
        }
        self.sample.push(seen);
        if self.sample.len() == SAMPLE {
            self.judge();
        }
    }

    fn judge(&mut self) {
        self.judged = Judged::by(&self.sample);
        if let Some(judged) = &mut self.judged {
            self.sample.drain(..).for_each(|seen| judged.take(seen));
        } else {
            self.sample.clear();
        }
    }

    /// Statistics so far; more datagrams may follow.
    pub fn figures(&mut self, at: SocketAddr, from: SocketAddr) -> StreamFigures {
        if self.judged.is_none() && self.sample.len() >= 2 {
            self.judge();
        }
        let span_s = self.last_ns.saturating_sub(self.first_ns) as f64 * 1e-9;
        let stamped = self.packets - self.unstamped;
        let is_stamped = self.judged.as_ref().is_some_and(|judged| judged.is_stamped);
        let kind = match self.protocols {
            Some(protocols) if self.unrecognised <= self.packets / 2 => {
                protocols[usize::from(is_stamped)].to_owned()
            }
            _ => self.other_kind().unwrap_or_else(|| "other".to_owned()),
        };
        let mut figures = StreamFigures {
            at: at.to_string(),
            from: from.to_string(),
            kind,
            packets: self.packets,
            bytes: self.bytes,
            cut: self.cut,
            other_kinds: self.other_kinds.iter().map(|(k, n)| ((*k).to_owned(), *n)).collect(),
            unrecognised: self.unrecognised,
            unstamped: self.unstamped,
            span_s,
            rate_hz: if span_s > 0.0 { (stamped - 1) as f64 / span_s } else { 0.0 },
            period_us: 0.0,
            lost: None,
            gaps: None,
            longest_gap_us: None,
            reordered: None,
            duplicates: None,
            restarts: 0,
            jitter: ErrorFigures::default(),
            clock_offset_us: None,
            clock_drift_ppm: None,
            images: Vec::new(),
        };
        if let Some(judged) = &mut self.judged {
            judged.tell(&mut figures);
        }
        if let Some(sender) = self.senders.likeliest().filter(|sender| sender.sends_images()) {
            let lines = sender.status_lines().into_iter();
            figures.images = lines.map(|(name, text)| (name.to_owned(), text)).collect();
        }
        figures
    }

    /// Protocol and packet kind of a stream without data packets; `None` if no kind has the majority of the packets.
    fn other_kind(&self) -> Option<String> {
        let (kind, count) = self.other_kinds.iter().max_by_key(|(_, count)| **count)?;
        let protocol = self.other_protocol?;
        (*count > self.packets / 2).then(|| format!("{protocol} {kind}"))
    }
}

impl Judged {
    /// Determines from the first packets of a stream whether their timestamps are usable, and the period. `None` for
    /// fewer than two packets, or if the timestamps are not usable and most packets arrive at the same time.
    fn by(sample: &[Seen]) -> Option<Self> {
        let first = sample.first()?;
        let arrivals = sample.windows(2).map(|w| w[1].arrival_ns.saturating_sub(w[0].arrival_ns));
        let arrival_ns = median(arrivals.map(|ns| ns as f64))?;
        let steps: Vec<f64> = sample
            .windows(2)
            .filter_map(|w| Some(w[1].stamp?.since_us(w[0].stamp?) * 1000))
            .filter(|ns| *ns > 0)
            .map(|ns| ns as f64)
            .collect();
        // Real timestamps advance evenly and not faster than packets arrive. They may advance more slowly, because
        // pauses of the sender are not part of their time. An HDL-64E S1 has other data at the timestamp's place, which
        // do not advance.
        let stamps_ns = median(steps.iter().copied());
        let span_ns = sample.last()?.arrival_ns.saturating_sub(first.arrival_ns) as f64;
        let is_stamped = stamps_ns.is_some_and(|ns| {
            let even = steps.iter().filter(|step| (*step - ns).abs() < 2e3 + 0.01 * ns).count();
            let stamped_ns = ns * (sample.len() - 1) as f64;
            even * 4 >= (sample.len() - 1) * 3 && stamped_ns < span_ns * 2.0 + 1e7
        });
        let period_ns = if is_stamped { stamps_ns? } else { arrival_ns };
        (period_ns > 0.0).then(|| Self {
            is_stamped,
            period_ns,
            start_ns: first.arrival_ns,
            last_stamp: first.stamp,
            own_ns: 0,
            highest_ns: -1,
            taken: 0,
            remembered: Vec::with_capacity(REMEMBERED),
            gaps: Gaps::of_period(period_ns * 1e-3),
            reordered: 0,
            duplicates: 0,
            restarts: 0,
            least_offset_us: None,
            course: Timeline::default(),
            chunk: Vec::new(),
            jitter: ErrorRecord::default(),
        })
    }

    fn take(&mut self, seen: Seen) {
        let number = self.taken;
        if self.is_stamped {
            let Some(stamp) = seen.stamp else { return };
            if !self.follow(stamp) {
                return;
            }
            self.compare_clocks(seen.arrival_ns, stamp);
        } else {
            self.own_ns = (number as f64 * self.period_ns) as i64;
        }
        self.taken += 1;
        let since_start = seen.arrival_ns.wrapping_sub(self.start_ns) as i64;
        let late_ns = since_start.saturating_sub(self.own_ns);
        self.course.record(SimTime(self.own_ns.max(0) as u64), late_ns);
        self.chunk.push((number, self.own_ns, late_ns));
        if self.chunk.len() == CHUNK {
            self.work_out();
        }
    }

    /// Updates the packets' own time and counts losses and duplicates; returns whether the packet is no duplicate.
    fn follow(&mut self, stamp: Stamp) -> bool {
        if self.remembered.contains(&stamp) {
            self.duplicates += 1;
            return false;
        }
        if self.remembered.len() == REMEMBERED {
            self.remembered.remove(0);
        }
        self.remembered.push(stamp);
        let mut step_ns = self.last_stamp.map_or(0, |last| stamp.since_us(last) * 1000);
        let periods = step_ns as f64 / self.period_ns;
        if !(-(REMEMBERED as f64)..=LONGEST_GAP).contains(&periods) {
            self.restarts += 1;
            self.remembered.clear();
            // The sender was restarted: the time continues from the latest packet.
            self.own_ns = self.highest_ns;
            step_ns = self.period_ns as i64;
        }
        self.last_stamp = Some(stamp);
        self.own_ns = self.own_ns.saturating_add(step_ns);
        let ahead_ns = self.own_ns.saturating_sub(self.highest_ns);
        if self.highest_ns < 0 {
            self.highest_ns = self.own_ns;
        } else if ahead_ns <= 0 {
            self.reordered += 1;
        } else {
            self.gaps.see(ahead_ns as f64 * 1e-3, DEVICE_TOLERANCE);
            self.highest_ns = self.own_ns;
        }
        true
    }

    fn compare_clocks(&mut self, arrival_ns: u64, stamp: Stamp) {
        let offset_us = Stamp::of(arrival_ns.into(), stamp.period_us).since_us(stamp);
        let least = self.least_offset_us.get_or_insert(offset_us);
        *least = offset_us.min(*least);
    }

    /// Computes the jitter of the packets in `chunk`.
    fn work_out(&mut self) {
        // The slope is 0 until there are enough windows to estimate it.
        let slope = self.course.drift() * 1e-9;
        let flat =
            |own_ns: i64, late_ns: i64| late_ns.saturating_sub((slope * own_ns as f64) as i64);
        let least = self.chunk.iter().map(|(_, own, late)| flat(*own, *late)).min().unwrap_or(0);
        for (number, own_ns, late_ns) in self.chunk.drain(..) {
            let jitter_ns = flat(own_ns, late_ns).saturating_sub(least);
            self.jitter.record(number, SimTime(own_ns.max(0) as u64), jitter_ns);
        }
    }

    fn tell(&mut self, figures: &mut StreamFigures) {
        self.work_out();
        let drift_ppm = self.course.drift() * 1e-3;
        figures.jitter = self.jitter.figures();
        figures.period_us = self.period_ns * 1e-3;
        figures.restarts = self.restarts;
        if self.is_stamped {
            let found = self.gaps.found();
            // Each reordered packet was counted as missing before it arrived.
            figures.lost = Some(found.missing.saturating_sub(self.reordered));
            figures.gaps = Some(found.gaps);
            figures.longest_gap_us = Some(if found.gaps > 0 { found.longest_us } else { 0.0 });
            figures.reordered = Some(self.reordered);
            figures.duplicates = Some(self.duplicates);
            figures.clock_offset_us = self.least_offset_us.map(|us| us as f64);
            figures.clock_drift_ppm = Some(drift_ppm);
        } else {
            // Without timestamps, the period is an estimate from the first arrivals; the drift is its relative error.
            figures.period_us *= 1.0 + drift_ppm * 1e-6;
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    let middle = all.len() / 2;
    (!all.is_empty()).then(|| *all.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::velodyne::{DATA_PACKET_LEN, HOUR_US};
    use proptest::prelude::*;

    const AT: &str = "127.0.0.1:2368";
    /// 2026-06-01 12:59:59.9 UTC: the next hour starts after a tenth of a second.
    const START_NS: u64 = 1_780_318_799_900_000_000;

    /// A packet with the timestamp `stamp_us`; `None` gives a packet without one, as from an HDL-64E S1.
    fn packet(stamp_us: Option<u32>) -> Vec<u8> {
        let mut bytes = vec![0; DATA_PACKET_LEN];
        for block in 0..12 {
            bytes[block * 100..block * 100 + 2].copy_from_slice(&[0xff, 0xee]);
        }
        bytes[1200..1204].copy_from_slice(&stamp_us.map_or(*b"\x00V 1", u32::to_le_bytes));
        bytes
    }

    fn stamp(own_ns: u64) -> Option<u32> {
        Some(((START_NS + own_ns) / 1000 % u64::from(HOUR_US)) as u32)
    }

    fn figures(stream: &mut Stream) -> StreamFigures {
        stream.figures(AT.parse().unwrap(), "127.0.0.1:443".parse().unwrap())
    }

    /// Statistics of 5000 packets at intervals of 288 us, with clocks that differ by 3 ms and 20 ppm. `arrivals`
    /// returns, for the number of a packet, the delay of each arrival of this packet, microseconds; empty for a lost
    /// packet.
    fn stream(arrivals: impl Fn(u64) -> Vec<u64>) -> StreamFigures {
        let mut stream = Stream::default();
        for number in 0..5000 {
            for late_us in arrivals(number) {
                let own_ns = number * 288_000;
                let drift_ns = own_ns / 50_000;
                let at_ns = START_NS + own_ns + drift_ns + 3_000_000 + late_us * 1000;
                stream.take(Some(at_ns), &packet(stamp(own_ns)), false);
            }
        }
        figures(&mut stream)
    }

    #[test]
    fn an_even_stream_has_no_jitter_and_clocks_are_compared() {
        let seen = stream(|_| vec![0]);
        assert_eq!((seen.kind.as_str(), seen.packets), ("velodyne", 5000));
        assert_eq!(
            (seen.lost, seen.gaps, seen.reordered, seen.duplicates),
            (Some(0), Some(0), Some(0), Some(0))
        );
        assert!(seen.jitter.max_us < 3.0, "{}", seen.jitter.max_us);
        assert!((seen.clock_offset_us.unwrap() - 3000.0).abs() < 2.0);
        assert!((seen.clock_drift_ppm.unwrap() - 20.0).abs() < 1.0, "{:?}", seen.clock_drift_ppm);
        assert!((seen.period_us - 288.0).abs() < 1e-6);
        assert!((seen.rate_hz - 3472.2).abs() < 1.0);
    }

    #[test]
    fn a_sender_that_stalls_at_its_start_is_known_by_its_stamps() {
        let seen = stream(|number| vec![if number < 20 { 0 } else { 400_000 }]);
        assert_eq!((seen.kind.as_str(), seen.lost), ("velodyne", Some(0)));
        assert!((seen.period_us - 288.0).abs() < 1e-6);
    }

    #[test]
    fn losses_repeats_and_order_are_counted() {
        let seen = stream(|number| match number {
            1000..1003 | 2000 => vec![],
            3000 => vec![0, 50],
            n if n % 100 == 7 => vec![150],
            _ => vec![0],
        });
        assert_eq!((seen.lost, seen.gaps, seen.duplicates), (Some(4), Some(2), Some(1)));
        assert_eq!(seen.longest_gap_us, Some(1152.0));
        assert!((seen.jitter.p99_9_us - 150.0).abs() < 3.0, "{}", seen.jitter.p99_9_us);
        assert!(seen.jitter.p50_us < 3.0);
    }

    #[test]
    fn a_packet_that_comes_after_a_later_one_is_not_lost() {
        let mut stream = Stream::default();
        for number in 0..200_u64 {
            let swapped = if (100..102).contains(&number) { 201 - number } else { number };
            let at_ns = START_NS + number * 288_000;
            stream.take(Some(at_ns), &packet(stamp(swapped * 288_000)), false);
        }
        let seen = figures(&mut stream);
        assert_eq!((seen.lost, seen.reordered), (Some(0), Some(1)));
    }

    #[test]
    fn a_stream_without_stamps_is_held_against_its_period() {
        let mut stream = Stream::default();
        for number in 0..5000_u64 {
            let late_ns = if number % 500 == 499 { 700_000 } else { 0 };
            let at_ns = START_NS + number * 384_615 + late_ns;
            stream.take(Some(at_ns), &packet(None), false);
        }
        let seen = figures(&mut stream);
        assert_eq!((seen.kind.as_str(), seen.lost), ("velodyne-s1", None));
        assert!((seen.period_us - 384.615).abs() < 0.01, "{}", seen.period_us);
        assert!((seen.jitter.max_us - 700.0).abs() < 10.0, "{}", seen.jitter.max_us);
        assert!(seen.jitter.p99_us < 5.0);
    }

    #[test]
    fn position_packets_are_no_jitter() {
        use crate::wire::velodyne::position::{POSITION_PACKET_LEN, PositionPacket};
        // Packets of a unit without a GNSS receiver: only the port identifies them.
        for (ports, sentence) in [([8308, 8308], &b""[..]), ([9001, 9002], b"$GPRMC,,V,,,*00")] {
            let mut stream = Stream::between(ports);
            let mut bytes = [0; POSITION_PACKET_LEN];
            for number in 0..200_u64 {
                let own_ns = number * 10_000_000 + number % 3 * 4_000_000;
                let mut position = PositionPacket {
                    timestamp_us: stamp(own_ns).unwrap(),
                    ..PositionPacket::default()
                };
                position.nmea_area[..sentence.len()].copy_from_slice(sentence);
                position.emit(&mut bytes);
                stream.take(Some(START_NS + own_ns), &bytes, false);
            }
            let seen = figures(&mut stream);
            assert_eq!(seen.kind, "velodyne position", "{ports:?}");
            assert_eq!(seen.other_kinds, BTreeMap::from([("position".to_owned(), 200)]));
            assert_eq!((seen.unrecognised, seen.lost, seen.jitter.count), (0, None, 0));
            assert!((seen.rate_hz - 100.0).abs() < 1.0, "{}", seen.rate_hz);
        }
    }

    #[test]
    fn position_packets_among_data_change_no_figure_of_theirs() {
        use crate::wire::velodyne::position::{POSITION_PACKET_LEN, PositionPacket};
        let mut position = [0; POSITION_PACKET_LEN];
        let mut with_sentence = PositionPacket::default();
        with_sentence.nmea_area[..7].copy_from_slice(b"$GPRMC,");
        with_sentence.emit(&mut position);
        for stamped in [true, false] {
            let [mut alone, mut mixed] = [Stream::default(), Stream::default()];
            for number in 0..5000_u64 {
                let own_ns = number * 288_000;
                let bytes = packet(stamp(own_ns).filter(|_| stamped));
                for stream in [&mut alone, &mut mixed] {
                    stream.take(Some(START_NS + own_ns), &bytes, false);
                }
                if number % 14 == 3 {
                    mixed.take(Some(START_NS + own_ns + 70_000), &position, false);
                }
            }
            let [alone, mixed] = [figures(&mut alone), figures(&mut mixed)];
            assert_eq!(
                (&mixed.kind, mixed.lost, &mixed.jitter),
                (&alone.kind, alone.lost, &alone.jitter)
            );
            assert_eq!((mixed.period_us, mixed.unrecognised), (alone.period_us, 0));
            assert_eq!(mixed.other_kinds["position"], 357);
        }
    }

    #[test]
    fn a_sender_that_starts_anew_is_no_loss() {
        let mut stream = Stream::default();
        for number in 0..300_u64 {
            // First the clock is set ahead, then a capture is replayed from its start.
            let own_ns = match number {
                0..100 => number * 288_000,
                100..200 => number * 288_000 + 1_000_000_000_000,
                _ => (number - 200) * 288_000 + 1_000_000_000_000,
            };
            stream.take(Some(START_NS + number * 288_000), &packet(stamp(own_ns)), false);
        }
        let seen = figures(&mut stream);
        assert_eq!((seen.restarts, seen.lost, seen.reordered), (2, Some(0), Some(0)));
        assert!(seen.jitter.max_us < 1.0, "{}", seen.jitter.max_us);
    }

    #[test]
    fn few_or_no_packets_are_answered() {
        assert_eq!(figures(&mut Stream::default()).packets, 0);
        let mut one = Stream::default();
        one.take(Some(START_NS), b"", false);
        assert_eq!(figures(&mut one).kind, "other");
        one.take(Some(START_NS), &packet(None), true);
        one.take(None, &packet(None), false);
        assert_eq!((figures(&mut one).cut, figures(&mut one).unstamped), (1, 1));
    }

    proptest! {
        #[test]
        fn any_datagrams_are_answered(
            seen in prop::collection::vec((any::<Option<u64>>(), any::<Option<u32>>(), any::<bool>()), 0..200),
        ) {
            let mut stream = Stream::default();
            for (at, stamp, is_data) in &seen {
                let bytes = if *is_data { packet(*stamp) } else { vec![1; 7] };
                stream.take(*at, &bytes, false);
            }
            let figures = figures(&mut stream);
            prop_assert_eq!(figures.packets, seen.len() as u64);
            prop_assert!(figures.jitter.count <= figures.packets);
        }
    }
}
