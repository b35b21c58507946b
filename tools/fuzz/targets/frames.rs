//! Check of framed streams: however the stream is divided into portions, each decoded frame is encoded to its original
//! bytes.

use menura::wire::framer::{Framer, Framing};

/// Decodes `bytes` in portions; the first byte is the length of a portion. Checks that each frame is encoded to its
/// original bytes, and returns the frames.
pub fn come_back<F: Framing>(
    format: F,
    bytes: &[u8],
    emit: fn(&F::Frame, &mut Vec<u8>),
) -> Vec<F::Frame> {
    let cut = usize::from(bytes.first().copied().unwrap_or(1)).max(1);
    let mut framer = Framer::new(format);
    let mut found = Vec::new();
    for mut portion in bytes.chunks(cut) {
        while let Some(piece) = framer.next_piece(&mut portion) {
            let Some(frame) = piece.frame else { continue };
            let mut again = Vec::new();
            emit(&frame, &mut again);
            assert_eq!(again, piece.bytes);
            found.push(frame);
        }
    }
    found
}
