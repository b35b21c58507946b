//! Frames in a stream of bytes. The stream arrives in pieces of any length and may have other bytes between frames.
//!
//! A format defines start and end of its frames ([`Framing`]). [`Framer`] keeps the bytes of an incomplete
//! frame and skips bytes outside frames.

/// Reason why bytes do not begin with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFrame {
    /// More bytes are needed.
    Incomplete,
    /// The first byte does not begin a frame. A later byte may.
    Refused,
}

/// Every parse error becomes [`NoFrame::Refused`], because a stream needs no reason for skipping bytes.
impl From<super::ParseError> for NoFrame {
    fn from(_: super::ParseError) -> Self {
        Self::Refused
    }
}

/// Rules for finding the frames of a format. If several formats share a line, one implementation finds the frames of
/// all of them; the first byte of a frame shows its format.
pub trait Framing {
    /// A complete frame. Most formats accept only frames with a correct checksum.
    type Frame;

    /// Largest length of a frame, bytes.
    fn max_len(&self) -> usize;

    /// Whether a frame can begin with this byte.
    fn begins(&self, byte: u8) -> bool;

    /// The frame at the start of `bytes`, and its length. [`Framing::begins`] must accept the first byte. The result
    /// does not depend on the bytes after the frame.
    ///
    /// # Errors
    /// [`NoFrame::Refused`] if no frame starts at the first byte, [`NoFrame::Incomplete`] if the end of the frame is
    /// missing so far.
    fn scan(&self, bytes: &[u8]) -> Result<(Self::Frame, usize), NoFrame>;
}

/// The first `N` bytes; [`NoFrame::Incomplete`] if there are fewer.
pub(crate) fn head<const N: usize>(bytes: &[u8]) -> Result<[u8; N], NoFrame> {
    bytes.first_chunk().copied().ok_or(NoFrame::Incomplete)
}

/// The first `length` bytes; [`NoFrame::Incomplete`] if there are fewer.
pub(crate) fn whole(bytes: &[u8], length: usize) -> Result<&[u8], NoFrame> {
    bytes.get(..length).ok_or(NoFrame::Incomplete)
}

/// Returns [`NoFrame::Refused`] if the condition is false.
pub(crate) fn require(is_so: bool) -> Result<(), NoFrame> {
    if is_so { Ok(()) } else { Err(NoFrame::Refused) }
}

/// A frame, or bytes between two frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece<'a, T> {
    /// Offset from the first byte of the stream.
    pub offset: u64,
    /// All bytes of the frame, or the bytes outside frames.
    pub bytes: &'a [u8],
    /// The frame; `None` for bytes outside frames.
    pub frame: Option<T>,
}

/// Finds frames in a stream. A framer stores at most twice the length of the longest frame. The frames found do not
/// depend on how the stream is divided into pieces.
#[derive(Clone, Debug, Default)]
pub struct Framer<F> {
    format: F,
    buffer: Vec<u8>,
    /// Number of bytes at the start of `buffer` that were already returned.
    used: usize,
    /// Number of bytes of the stream that were already returned.
    position: u64,
    /// Whether the stream has ended, so that an incomplete frame counts as bytes outside frames.
    is_over: bool,
}

impl<F: Framing> Framer<F> {
    /// A framer at the start of a stream.
    pub fn new(format: F) -> Self {
        Self { format, buffer: Vec::new(), used: 0, position: 0, is_over: false }
    }

    /// The next frame, or the bytes before it. Takes bytes from the start of `input` as needed. Call until it returns
    /// `None`; all of `input` is then taken.
    pub fn next_piece(&mut self, input: &mut &[u8]) -> Option<Piece<'_, F::Frame>> {
        self.is_over &= input.is_empty();
        let mut skipped = 0;
        let (frame, length) = loop {
            let rest = &self.buffer[self.used + skipped..];
            match self.scan(rest) {
                // Return the skipped bytes first. The next call finds this frame again.
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

    /// The next frame; skips bytes between frames. See [`Framer::next_piece`].
    pub fn next_frame(&mut self, input: &mut &[u8]) -> Option<F::Frame> {
        loop {
            if let Some(frame) = self.next_piece(input)?.frame {
                return Some(frame);
            }
        }
    }

    /// Adds `input` to the stream; returns all frames that are then complete. Bytes between frames are skipped.
    pub fn frames(&mut self, mut input: &[u8]) -> Vec<F::Frame> {
        std::iter::from_fn(|| self.next_frame(&mut input)).collect()
    }

    /// Ends the stream, or marks a pause after which an incomplete frame does not continue. Then call
    /// [`Framer::next_piece`] with empty input: it returns the bytes of the incomplete frame as bytes outside frames,
    /// and complete frames that it finds among them.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Number of bytes taken so far.
    pub fn taken(&self) -> u64 {
        self.position + (self.buffer.len() - self.used) as u64
    }

    /// Whether bytes of an incomplete frame are stored.
    pub fn is_amid(&self) -> bool {
        self.used < self.buffer.len()
    }

    /// Discards an incomplete frame, as a receiver does after a pause within a frame.
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

    /// Moves bytes from `input` into the buffer, up to a total of twice the length of the longest frame.
    fn take(&mut self, input: &mut &[u8]) {
        self.buffer.drain(..self.used);
        self.used = 0;
        let room = 2 * self.format.max_len() - self.buffer.len();
        let (taken, rest) = input.split_at(room.min(input.len()));
        self.buffer.extend_from_slice(taken);
        *input = rest;
    }
}
