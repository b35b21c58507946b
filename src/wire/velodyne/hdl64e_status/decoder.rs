//! Reassembles the rolling stream, packet by packet.

use super::{
    CYCLE_PACKETS, LIVE_TYPES, LiveStatus, MARKER, ROLLING_LEN, ROLLING_PER_CYCLE, RollingStream,
    StatusFormat, StatusTable, ThresholdTypes, is_warning, slot_of, type_of,
};
use crate::ParseError;

/// Reassembles the rolling stream from the status bytes of consecutive packets.
///
/// The decoder stores at most one stream. The order of the types shows a lost packet; the decoder then drops the
/// current stream and waits for the next `UNIT#`. If sixteen successive packets or a multiple of sixteen are lost, the
/// types do not show the loss, but the laser indices or the checksum are wrong.
#[derive(Clone, Debug)]
pub struct StatusDecoder {
    /// Position of the last packet in its cycle, 0..16; `None` before the first packet and after an unknown type.
    last_slot: Option<usize>,
    /// The stream so far; empty until the marker arrives.
    stream: Vec<u8>,
    /// Rolling bytes of the current cycle, for finding the marker.
    cycle: Vec<u8>,
    /// Format of the stream; `None` until the first warning byte, whose type differs between the formats.
    format: Option<StatusFormat>,
    live: [Option<u8>; LIVE_TYPES.len()],
    breaks: u64,
}

/// Result of a packet: a complete or an invalid table, or a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusEvent {
    /// The packet has the last byte of a valid stream.
    Table(Box<StatusTable>),
    /// The packet has the last byte of an invalid stream.
    BadTable(ParseError),
    /// The packet does not follow the previous one: packets are missing, or the type is unknown.
    OutOfOrder,
}

impl Default for StatusDecoder {
    fn default() -> Self {
        Self {
            last_slot: None,
            stream: Vec::with_capacity(ROLLING_LEN),
            cycle: Vec::with_capacity(ROLLING_PER_CYCLE),
            format: None,
            live: [None; LIVE_TYPES.len()],
            breaks: 0,
        }
    }
}

impl StatusDecoder {
    /// Creates a decoder that waits for the first packet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes type and value of the next packet. Returns an event if the packet completes a stream or does not
    /// follow the previous packet.
    pub fn feed(&mut self, kind: u8, value: u8) -> Option<StatusEvent> {
        let Some(slot) = slot_of(kind) else {
            return Some(self.lose_sync(None));
        };
        let expected = self.last_slot.map(|last| (last + 1) % CYCLE_PACKETS as usize);
        let broken = expected.is_some_and(|expected| expected != slot);
        let lost = broken.then(|| self.lose_sync(Some(slot)));
        self.last_slot = Some(slot);

        let Some(rolling) = slot.checked_sub(LIVE_TYPES.len()) else {
            self.live[slot] = Some(value);
            self.cycle.clear();
            return lost;
        };
        if self.stream.is_empty() {
            self.await_marker(rolling, value);
            return lost;
        }
        self.take(kind, value)
    }

    /// Last live values; `None` until each of the nine was received at least once.
    pub fn live(&self) -> Option<LiveStatus> {
        let mut values = [0; LIVE_TYPES.len()];
        for (value, live) in values.iter_mut().zip(self.live) {
            *value = live?;
        }
        Some(LiveStatus::from_values(values))
    }

    /// Last value of the live type `kind`, such as `b'T'`; `None` if no value was received, or if `kind` is not a live
    /// type.
    pub fn live_value(&self, kind: u8) -> Option<u8> {
        LIVE_TYPES.iter().position(|live| *live == kind).and_then(|slot| self.live[slot])
    }

    /// Number of received bytes of the current stream; 0 before its start.
    pub fn collected(&self) -> usize {
        self.stream.len()
    }

    /// Number of interruptions, each reported as [`StatusEvent::OutOfOrder`]. Several packets lost in a row count once.
    pub fn breaks(&self) -> u64 {
        self.breaks
    }

    fn lose_sync(&mut self, slot: Option<usize>) -> StatusEvent {
        self.breaks += 1;
        self.last_slot = slot;
        self.stream.clear();
        self.cycle.clear();
        self.format = None;
        StatusEvent::OutOfOrder
    }

    /// Starts a stream if the current cycle begins with the marker.
    fn await_marker(&mut self, rolling: usize, value: u8) {
        // The first cycle is incomplete if reception started within it.
        if self.cycle.len() != rolling {
            return;
        }
        self.cycle.push(value);
        if self.cycle == MARKER {
            self.stream.extend_from_slice(&MARKER);
        }
    }

    /// Processes the next byte of the current stream.
    fn take(&mut self, kind: u8, value: u8) -> Option<StatusEvent> {
        let index = self.stream.len();
        if is_warning(index) {
            let format = if kind == b'W' { StatusFormat::S3 } else { StatusFormat::S2 };
            self.format.get_or_insert(format);
        }
        // Up to the first warning byte, which follows the data of a laser, the two formats have the same types.
        // Threshold bytes may have either of their two types.
        let format = self.format.unwrap_or(StatusFormat::S2);
        let is_expected = |types| type_of(format, types, index) == kind;
        if ![ThresholdTypes::Own, ThresholdTypes::Digits].into_iter().any(is_expected) {
            return Some(self.lose_sync(self.last_slot));
        }
        self.stream.push(value);
        if self.stream.len() < ROLLING_LEN {
            return None;
        }
        let format = self.format.take().unwrap_or(StatusFormat::S2);
        let outcome = RollingStream::parse(format, &self.stream);
        self.stream.clear();
        self.cycle.clear();
        Some(match outcome {
            Ok(table) => StatusEvent::Table(Box::new(table)),
            Err(error) => StatusEvent::BadTable(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::velodyne::hdl64e_status::{STREAM_PACKETS, at, warning};
    use proptest::prelude::*;

    const LIVE: LiveStatus = LiveStatus {
        hour: 12,
        minute: 34,
        second: 56,
        day: 1,
        month: 6,
        year: 26,
        gps: b'A',
        temperature_c: 38,
        firmware: 0x48,
    };

    fn table(format: StatusFormat) -> StatusTable {
        let mut table = StatusTable::new(format);
        for (id, laser) in (0i16..).zip(&mut table.lasers) {
            laser.vertical_centideg = 200 - 40 * id;
            laser.focal_distance_mm = 10_000 + id;
            laser.max_intensity = 255;
        }
        table.source_ip = [192, 168, 3, 43];
        table.set_warnings(warning::PPS | warning::GPS_TIME);
        table
    }

    fn feed_all(
        decoder: &mut StatusDecoder,
        stream: &RollingStream,
        packets: impl IntoIterator<Item = u64>,
    ) -> Vec<StatusEvent> {
        packets
            .into_iter()
            .filter_map(|packet| {
                let (kind, value) = stream.status_pair(packet, &LIVE);
                decoder.feed(kind, value)
            })
            .collect()
    }

    #[test]
    fn a_stream_joined_anywhere_is_found_in_both_formats() {
        for format in [StatusFormat::S2, StatusFormat::S3] {
            let table = table(format);
            for types in [ThresholdTypes::Own, ThresholdTypes::Digits] {
                let stream = RollingStream::emit(&table).with_threshold_types(types);
                for start in [0, 1, 9, 10, 15, 16, 4159] {
                    let mut decoder = StatusDecoder::new();
                    let events = feed_all(&mut decoder, &stream, start..start + 3 * STREAM_PACKETS);
                    let expected = StatusEvent::Table(Box::new(table.clone()));
                    let what = format!("{format:?}, {types:?} from {start}");
                    assert!(events.len() >= 2, "{what}");
                    assert!(events.iter().all(|event| *event == expected), "{what}");
                    assert_eq!(decoder.live(), Some(LIVE));
                    assert_eq!(decoder.breaks(), 0);
                }
            }
        }
    }

    #[test]
    fn a_lost_packet_costs_one_stream() {
        let table = table(StatusFormat::S3);
        let stream = RollingStream::emit(&table);
        for lost in [0, 9, 13, 14, 2000, 4159] {
            let mut decoder = StatusDecoder::new();
            let packets = (0..2 * STREAM_PACKETS).filter(|packet| *packet != lost);
            let events = feed_all(&mut decoder, &stream, packets);
            let tables = events.iter().filter(|e| matches!(e, StatusEvent::Table(_))).count();
            assert_eq!(tables, if lost == 0 { 2 } else { 1 }, "lost {lost}");
            assert_eq!(decoder.breaks(), u64::from(lost != 0), "lost {lost}");
        }
    }

    #[test]
    fn a_lost_cycle_is_seen_by_the_laser_ids() {
        let stream = RollingStream::emit(&table(StatusFormat::S3));
        let mut decoder = StatusDecoder::new();
        let events = feed_all(
            &mut decoder,
            &stream,
            (0..3 * STREAM_PACKETS).filter(|packet| !(1600..1664).contains(packet)),
        );
        assert!(!matches!(events[0], StatusEvent::Table(_)), "{events:?}");
        assert!(matches!(events.last(), Some(StatusEvent::Table(_))), "{events:?}");
    }

    #[test]
    fn a_flipped_bit_spoils_the_crc() {
        let mut stream = RollingStream::emit(&table(StatusFormat::S3));
        stream.bytes[at::LASER_0 + 4] ^= 1;
        let mut decoder = StatusDecoder::new();
        let events = feed_all(&mut decoder, &stream, 0..STREAM_PACKETS);
        assert!(matches!(events[..], [StatusEvent::BadTable(_)]), "{events:?}");
    }

    proptest! {
        #[test]
        fn any_pairs_leave_the_decoder_alive(pairs in prop::collection::vec(any::<(u8, u8)>(), 0..6000)) {
            let mut decoder = StatusDecoder::new();
            for (kind, value) in pairs {
                decoder.feed(kind, value);
                prop_assert!(decoder.collected() < ROLLING_LEN);
            }
        }
    }
}
