//! Frames in a stream of bytes that comes in pieces of any length, with anything between them.
//!
//! A format says how its frames begin and end ([`Framing`]); [`Framer`] keeps the bytes of the
//! frame that is not whole yet, and steps over those that belong to none.

/// Why no frame stands at the front of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFrame {
    /// More bytes are needed to tell.
    Incomplete,
    /// The first byte belongs to no frame. A later one may begin one.
    Refused,
}

/// Why it was refused is of no interest to a stream.
impl From<super::ParseError> for NoFrame {
    fn from(_: super::ParseError) -> Self {
        Self::Refused
    }
}

/// How the frames of a format are found. Formats that share a line are one format of several kinds
/// of frame, told apart by the first byte.
pub trait Framing {
    /// A whole frame whose checksum is right.
    type Frame;

    /// No frame is longer, bytes.
    fn max_len(&self) -> usize;

    /// Whether a frame can begin with this byte.
    fn begins(&self, byte: u8) -> bool;

    /// The frame at the front of `bytes` and its length. The first byte is one that
    /// [`Framing::begins`] a frame. The answer does not depend on what follows the frame.
    ///
    /// # Errors
    /// There is none, or not yet.
    fn scan(&self, bytes: &[u8]) -> Result<(Self::Frame, usize), NoFrame>;
}

/// The first `N` bytes.
pub(crate) fn head<const N: usize>(bytes: &[u8]) -> Result<[u8; N], NoFrame> {
    bytes.first_chunk().copied().ok_or(NoFrame::Incomplete)
}

/// The first `length` bytes.
pub(crate) fn whole(bytes: &[u8], length: usize) -> Result<&[u8], NoFrame> {
    bytes.get(..length).ok_or(NoFrame::Incomplete)
}

/// Goes on only if this is so.
pub(crate) fn require(is_so: bool) -> Result<(), NoFrame> {
    if is_so { Ok(()) } else { Err(NoFrame::Refused) }
}

/// A frame, or bytes between two frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece<'a, T> {
    /// Where it begins, counted from the first byte of the stream.
    pub offset: u64,
    /// All its bytes.
    pub bytes: &'a [u8],
    /// `None`: these bytes belong to no frame.
    pub frame: Option<T>,
}

/// Finds frames. Holds no more than twice the longest frame, however long the pieces are; how the
/// stream is cut into pieces does not matter to the frames that are found.
#[derive(Clone, Debug, Default)]
pub struct Framer<F> {
    format: F,
    buffer: Vec<u8>,
    /// Bytes at the front of `buffer` that were handed out.
    used: usize,
    /// Bytes of the stream that were handed out.
    position: u64,
    /// No more bytes will come: what waits for its end belongs to no frame.
    is_over: bool,
}

impl<F: Framing> Framer<F> {
    /// A framer that has seen nothing.
    pub fn new(format: F) -> Self {
        Self { format, buffer: Vec::new(), used: 0, position: 0, is_over: false }
    }

    /// The next frame, or the bytes before it. Takes bytes from the front of `input` as it needs
    /// them; call it until `None`, when all of `input` has been taken.
    pub fn next_piece(&mut self, input: &mut &[u8]) -> Option<Piece<'_, F::Frame>> {
        self.is_over &= input.is_empty();
        let mut skipped = 0;
        let (frame, length) = loop {
            let rest = &self.buffer[self.used + skipped..];
            match self.scan(rest) {
                // The frame is found again by the next call.
                Ok(_) if skipped > 0 => break (None, skipped),
                Ok((frame, length)) => break (Some(frame), length),
                Err(NoFrame::Refused) => {
                    let next = rest[1..].iter().position(|byte| self.format.begins(*byte));
                    skipped += 1 + next.unwrap_or(rest.len() - 1);
                }
                Err(NoFrame::Incomplete) if skipped > 0 => break (None, skipped),
                Err(NoFrame::Incomplete) if input.is_empty() => return None,
                Err(NoFrame::Incomplete) => self.take(input),
            }
        };
        let (start, offset) = (self.used, self.position);
        self.used += length;
        self.position += length as u64;
        Some(Piece { offset, bytes: &self.buffer[start..start + length], frame })
    }

    /// The next frame; bytes between frames are stepped over. See [`Framer::next_piece`].
    pub fn next_frame(&mut self, input: &mut &[u8]) -> Option<F::Frame> {
        loop {
            if let Some(frame) = self.next_piece(input)?.frame {
                return Some(frame);
            }
        }
    }

    /// All frames whose last byte is in `input`.
    pub fn frames(&mut self, mut input: &[u8]) -> Vec<F::Frame> {
        std::iter::from_fn(|| self.next_frame(&mut input)).collect()
    }

    /// No more bytes will come, or too late: a frame that has begun is given up, and
    /// [`Framer::next_piece`] looks for whole ones among its bytes.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Bytes of the stream that were taken so far.
    pub fn taken(&self) -> u64 {
        self.position + (self.buffer.len() - self.used) as u64
    }

    /// Whether a frame has begun and not ended.
    pub fn is_amid(&self) -> bool {
        self.used < self.buffer.len()
    }

    /// Forgets a frame that has begun, as a receiver does after a pause in its middle.
    pub fn clear(&mut self) {
        self.position += (self.buffer.len() - self.used) as u64;
        self.buffer.clear();
        self.used = 0;
    }

    fn scan(&self, bytes: &[u8]) -> Result<(F::Frame, usize), NoFrame> {
        let first = bytes.first().ok_or(NoFrame::Incomplete)?;
        if !self.format.begins(*first) {
            return Err(NoFrame::Refused);
        }
        match self.format.scan(bytes) {
            Err(NoFrame::Incomplete) if self.is_over || bytes.len() >= self.format.max_len() => {
                Err(NoFrame::Refused)
            }
            found => found,
        }
    }

    /// Moves bytes from `input` into the buffer, which has room for one frame more than waits.
    fn take(&mut self, input: &mut &[u8]) {
        self.buffer.drain(..self.used);
        self.used = 0;
        let room = 2 * self.format.max_len() - self.buffer.len();
        let (taken, rest) = input.split_at(room.min(input.len()));
        self.buffer.extend_from_slice(taken);
        *input = rest;
    }
}
