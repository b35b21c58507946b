//! What a stream of data packets looks like, as numbers that can be held against another's.

use super::position::{PositionFigures, delay_us};
use crate::wire::ethernet::{Content, Datagram, LinkType, UdpChecksum};
use crate::wire::velodyne::position::PositionPacket;
use crate::wire::velodyne::{DataPacket, FULL_TURN_CENTIDEG, HOUR_US};

/// Steps and differences beyond these belong to pauses, not to the stream.
const LONGEST_SPACING_US: f64 = 10_000.0;
const LARGEST_STEP_CENTIDEG: i32 = 1000;

/// A quantity's spread.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    values: Vec<f64>,
}

impl Spread {
    /// Takes a value.
    pub fn see(&mut self, value: f64) {
        self.values.push(value);
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The mean; NaN of nothing.
    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// The standard deviation; NaN of nothing.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / self.values.len() as f64).sqrt()
    }

    /// The value that `share` of all are below; NaN of nothing.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1) as f64;
        sorted.get((share * last).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// Shares of all values in `bins` equal bins from `low` to `high`; what lies outside counts in
    /// the outermost.
    pub fn histogram(&self, low: f64, high: f64, bins: usize) -> Vec<f64> {
        let mut counts = vec![0.0; bins];
        for value in &self.values {
            let bin = ((value - low) / (high - low) * bins as f64).floor();
            counts[(bin.max(0.0) as usize).min(bins - 1)] += 1.0;
        }
        counts.iter().map(|count| count / self.values.len().max(1) as f64).collect()
    }
}

/// The headers that data packets came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Address and port.
    pub source: String,
    /// Address and port.
    pub destination: String,
    /// IP time to live.
    pub ttl: u8,
    /// IP don't-fragment flag.
    pub dont_fragment: Option<bool>,
    /// IP identification.
    pub identification: Option<u16>,
    /// Whether the UDP checksum is there.
    pub has_checksum: bool,
    /// Source and destination.
    pub macs: Option<([u8; 6], [u8; 6])>,
}

impl Headers {
    /// What a datagram's headers say.
    pub fn of(datagram: &Datagram<'_>) -> Self {
        Self {
            source: datagram.source.to_string(),
            destination: datagram.destination.to_string(),
            ttl: datagram.ttl,
            dont_fragment: datagram.ipv4.map(|fields| fields.dont_fragment),
            identification: datagram.ipv4.map(|fields| fields.identification),
            has_checksum: datagram.udp_checksum != UdpChecksum::Absent,
            macs: datagram.macs,
        }
    }
}

/// Data packets, seen as a whole, and position packets beside them.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// How many.
    pub packets: u64,
    /// Between device timestamps, microseconds.
    pub device_spacing_us: Spread,
    /// Between times of arrival, microseconds.
    pub arrival_spacing_us: Spread,
    /// Between azimuths of blocks in a packet, hundredths of a degree, equal ones left out.
    pub azimuth_step_centideg: Spread,
    /// Points with a return, and without.
    pub points: [u64; 2],
    /// Intensities of points with a return, and without.
    pub intensity: [Spread; 2],
    /// Of the first packet.
    pub headers: Option<Headers>,
    /// Return mode and product bytes of the first packet.
    pub factory_bytes: Option<[u8; 2]>,
    /// Azimuth of the first packet's first block, hundredths of a degree.
    pub first_azimuth_centideg: Option<u16>,
    /// When the first and the last came, nanoseconds of POSIX time.
    pub span_unix_ns: Option<(i128, i128)>,
    /// From timestamp to arrival, microseconds of an hour; the two clocks' difference is in it.
    pub delay_us: Spread,
    /// The position packets.
    pub position: PositionFigures,
    last: Option<(u32, i128)>,
}

impl Figures {
    /// Takes a frame; anything but a data or position packet is passed over.
    pub fn see(&mut self, unix_ns: i128, link: LinkType, frame: &[u8]) {
        let Ok(Content::Udp(datagram)) = Content::find(link, frame) else { return };
        if let Ok(packet) = PositionPacket::parse(datagram.payload) {
            self.position.see(unix_ns, &datagram, packet);
        }
        let Ok(packet) = DataPacket::parse(datagram.payload) else { return };
        self.packets += 1;
        self.span_unix_ns = Some((self.span_unix_ns.map_or(unix_ns, |span| span.0), unix_ns));
        self.headers.get_or_insert_with(|| Headers::of(&datagram));
        self.factory_bytes.get_or_insert(packet.status_bytes());
        self.first_azimuth_centideg.get_or_insert(packet.blocks[0].azimuth_centideg);
        self.delay_us.see(delay_us(unix_ns, packet.timestamp_us()));
        self.see_times(unix_ns, packet.timestamp_us());
        self.see_blocks(&packet);
    }

    fn see_times(&mut self, unix_ns: i128, timestamp_us: u32) {
        if let Some((last_us, last_ns)) = self.last {
            let passed_us = i64::from(timestamp_us) - i64::from(last_us);
            let spacing_us = passed_us.rem_euclid(i64::from(HOUR_US)) as f64;
            let arrival_us = (unix_ns - last_ns) as f64 / 1000.0;
            if spacing_us < LONGEST_SPACING_US {
                self.device_spacing_us.see(spacing_us);
            }
            if arrival_us < LONGEST_SPACING_US {
                self.arrival_spacing_us.see(arrival_us);
            }
        }
        self.last = Some((timestamp_us, unix_ns));
    }

    fn see_blocks(&mut self, packet: &DataPacket) {
        for pair in packet.blocks.windows(2) {
            let [from, to] = [&pair[0], &pair[1]].map(|block| i32::from(block.azimuth_centideg));
            let step = (to - from).rem_euclid(FULL_TURN_CENTIDEG.into());
            if (1..LARGEST_STEP_CENTIDEG).contains(&step) {
                self.azimuth_step_centideg.see(step.into());
            }
        }
        for point in packet.blocks.iter().flat_map(|block| &block.points) {
            let kind = usize::from(point.distance == 0);
            self.points[kind] += 1;
            self.intensity[kind].see(point.intensity.into());
        }
    }

    /// The share of points without a return.
    pub fn empty_share(&self) -> f64 {
        self.points[1] as f64 / (self.points[0] + self.points[1]).max(1) as f64
    }

    /// Rotor speed, rpm, from the steps and the spacing.
    pub fn rotation_rate_rpm(&self) -> f64 {
        // Steps within a packet, and as much again to the next packet's first block.
        let steps = self.azimuth_step_centideg.count() as f64 / self.packets as f64 + 1.0;
        let centideg_a_packet = self.azimuth_step_centideg.mean() * steps;
        centideg_a_packet / self.device_spacing_us.mean() * 1e6 / 36_000.0 * 60.0
    }
}
