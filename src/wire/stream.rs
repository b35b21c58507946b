//! Frames in a stream of bytes, of any length, cut anywhere, with anything between them.
//!
//! A format says how its frames are found ([`Framing`]); [`StreamDecoder`] keeps what is not
//! whole yet. It never holds more than a frame's greatest length and what was pushed since.

/// What stands at the front of some bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Scan<F> {
    /// A frame, and how many bytes it takes.
    Frame(F, usize),
    /// So many bytes belong to no frame; at least 1.
    Skip(usize),
    /// More bytes are needed to tell.
    Incomplete,
}

/// How frames of a format are found.
pub trait Framing {
    /// A whole, checked frame.
    type Frame;
    /// No frame is longer, bytes: with so many, [`Framing::scan`] never needs more.
    const MAX_LEN: usize;

    /// Looks at the front of `bytes`, which are not empty. What it says of a frame or of bytes to
    /// skip does not depend on what follows.
    fn scan(bytes: &[u8]) -> Scan<Self::Frame>;
}

/// Takes bytes in any portions and gives frames.
#[derive(Clone, Debug, Default)]
pub struct StreamDecoder {
    buffer: Vec<u8>,
    used: usize,
    skipped: u64,
}

impl StreamDecoder {
    /// A decoder that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes. Call [`StreamDecoder::next_frame`] until `None` afterwards.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.used);
        self.used = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame with its bytes.
    pub fn next_frame<F: Framing>(&mut self) -> Option<(F::Frame, &[u8])> {
        loop {
            let rest = &self.buffer[self.used..];
            if rest.is_empty() {
                return None;
            }
            match F::scan(rest) {
                Scan::Frame(frame, len) => {
                    let start = self.used;
                    self.used += len;
                    return Some((frame, &self.buffer[start..start + len]));
                }
                Scan::Skip(len) => self.skip(len),
                Scan::Incomplete if rest.len() >= F::MAX_LEN => self.skip(1),
                Scan::Incomplete => return None,
            }
        }
    }

    /// Bytes so far that belong to no frame.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Bytes that wait for the rest of a frame.
    pub fn waiting(&self) -> &[u8] {
        &self.buffer[self.used..]
    }

    /// Forgets the bytes that wait, as a receiver does after a pause in the middle of a frame.
    pub fn reset(&mut self) {
        let waiting = self.buffer.len() - self.used;
        self.skip(waiting);
    }

    fn skip(&mut self, len: usize) {
        self.used += len;
        self.skipped += len as u64;
    }
}

/// All frames in `bytes`, for tests and tools.
pub fn frames_in<F: Framing>(bytes: &[u8]) -> Vec<F::Frame> {
    let mut decoder = StreamDecoder::new();
    decoder.push(bytes);
    std::iter::from_fn(|| decoder.next_frame::<F>().map(|(frame, _)| frame)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// For `proptest`s of the formats: any bytes leave the decoder alive and small, portions do
    /// not matter, and every frame found is written back as it came.
    pub fn check<F: Framing>(bytes: &[u8], cut: usize, emit: impl Fn(&F::Frame) -> Vec<u8>)
    where
        F::Frame: PartialEq + std::fmt::Debug,
    {
        let whole = frames_in::<F>(bytes);
        let mut decoder = StreamDecoder::new();
        let mut portioned = Vec::new();
        let mut taken = 0;
        for portion in bytes.chunks(cut.max(1)) {
            decoder.push(portion);
            while let Some((frame, as_sent)) = decoder.next_frame::<F>() {
                assert_eq!(emit(&frame), as_sent);
                taken += as_sent.len() as u64;
                portioned.push(frame);
            }
            assert!(decoder.waiting().len() < F::MAX_LEN);
        }
        // NaN is not equal to itself; the bytes were compared above.
        assert_eq!(portioned.len(), whole.len());
        assert_eq!(taken + decoder.skipped() + decoder.waiting().len() as u64, bytes.len() as u64);
    }
}
