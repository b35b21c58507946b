//! The status cycle of the HDL-64E: each accepted stream is encoded to the same bytes. For any order of packets, the
//! decoder does not panic and its memory is bounded.

use menura::wire::velodyne::hdl64e_status::{
    LiveStatus, ROLLING_LEN, RollingStream, S1Status, STREAM_PACKETS, StatusDecoder, StatusEvent,
    StatusFormat, ThresholdTypes,
};

pub fn run(bytes: &[u8]) {
    for format in [StatusFormat::S2, StatusFormat::S3] {
        if let Ok(table) = RollingStream::parse(format, bytes) {
            assert_eq!(RollingStream::emit(&table).bytes()[..], *bytes);
        }
    }

    // The input as pairs of status type and value.
    let mut decoder = StatusDecoder::new();
    for pair in bytes.chunks_exact(2) {
        if let Some(StatusEvent::Table(table)) = decoder.feed(pair[0], pair[1]) {
            RollingStream::emit(&table);
        }
        assert!(decoder.collected() < ROLLING_LEN);
    }
    decoder.live();

    // A valid stream with lost packets: each of the first six bytes sets the number of packets before the next loss.
    let format = if bytes.len().is_multiple_of(2) { StatusFormat::S2 } else { StatusFormat::S3 };
    let table = menura::wire::velodyne::hdl64e_status::StatusTable::new(format);
    let types = if bytes.len() % 4 < 2 { ThresholdTypes::Own } else { ThresholdTypes::Digits };
    let stream = RollingStream::emit(&table).with_threshold_types(types);
    let (mut decoder, mut number) = (StatusDecoder::new(), 0);
    for run in bytes.iter().take(6) {
        for _ in 0..u64::from(*run) * 40 % (2 * STREAM_PACKETS) {
            let (kind, value) = stream.status_pair(number, &LiveStatus::default());
            if let Some(StatusEvent::Table(found)) = decoder.feed(kind, value) {
                // Losses of whole laser records mix two streams, which have the same table here.
                assert_eq!(*found, table);
            }
            number += 1;
        }
        number += 1 + u64::from(*run % 3);
    }

    if let Some(tail) = bytes.first_chunk() {
        assert_eq!(S1Status::parse(*tail).emit(), *tail);
    }
}
