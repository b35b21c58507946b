//! Decoders of the output of devices.
//!
//! A family can have decoders: a [`StreamDecoder`] splits the bytes of a serial line or a TCP connection into
//! frames, a [`datagram::DatagramDecoder`] decodes datagrams. `menura::analysis` reads recordings, counts
//! frames and prints reports.

pub mod datagram;
pub mod facts;
pub mod picture;
pub mod readings;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use self::facts::Facts;
use self::readings::{Inertial, PositionFix};
use crate::config::profile::Profile;

/// Hints of the user about the sender of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'a> {
    /// Firmware profile of the sender.
    pub profile: Option<&'a Profile>,
    /// Whether to use the profile even if the recording comes from another product.
    pub anyway: bool,
    /// File with the unit's calibration.
    pub calibration: Option<&'a Path>,
}

impl Hints<'_> {
    /// The profile that the user named, with `profile` as its part for one device family. Returns `None` if the user
    /// named no profile, or if `profile` is `None`.
    pub(crate) fn named<P: Clone>(&self, profile: Option<&P>) -> Option<Named<P>> {
        Some(Named::new(&self.profile?.name, profile?))
    }
}

/// A profile that the user named: its name, and its part for one device family.
#[derive(Clone, Debug)]
pub(crate) struct Named<P> {
    pub name: String,
    pub profile: Arc<P>,
}

impl<P: Clone> Named<P> {
    pub fn new(name: &str, profile: &P) -> Self {
        Self { name: name.to_owned(), profile: Arc::new(profile.clone()) }
    }
}

/// A contradiction between a recording and the named profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Whether the recording comes from another product. If false, the product is similar, and the recording can be
    /// decoded.
    pub is_other_product: bool,
    /// The contradiction as a part of a sentence.
    pub text: String,
}

/// Splits a byte stream, in pieces of any length, into frames.
pub trait StreamDecoder {
    /// The next frame. Consumes bytes from the start of `input`; call it until it returns `None`, which means that all
    /// of `input` is consumed.
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Frame>;

    /// Ends the stream and drops an incomplete frame. The bytes of the dropped frame can contain complete frames;
    /// [`StreamDecoder::next_frame`] with an empty input then returns them.
    fn end(&mut self);

    /// Number of bytes outside frames so far, including an incomplete frame.
    fn skipped_bytes(&self) -> u64;

    /// Returns to the start of the stream. The decoder keeps the facts about the sender. It uses them for decoding if
    /// the stream was read to its end.
    fn rewind(&mut self);

    /// Whether frames can be decoded correctly only after the whole stream has been read once.
    fn needs_two_passes(&self) -> bool {
        false
    }

    /// Probability, 0 to 1, that a stream with the first bytes `head` belongs to this decoder's family. It is the
    /// fraction of these bytes in frames that no other family sends, but at least [`StreamDecoder::least_likelihood`].
    fn likelihood(&mut self, head: &[u8]) -> f64 {
        let mut rest = head;
        let frames = std::iter::from_fn(|| self.next_frame(&mut rest));
        let own: u64 = frames.filter(|frame| frame.is_telling).map(|frame| frame.length).sum();
        self.rewind();
        (own as f64 / head.len().max(1) as f64).max(self.least_likelihood())
    }

    /// Smallest result of [`StreamDecoder::likelihood`], for a stream without a characteristic frame. It is above 0 for
    /// a decoder that accepts any bytes.
    fn least_likelihood(&self) -> f64 {
        0.0
    }

    /// Contradiction between the first bytes of a stream and the decoder's profile; `None` without a contradiction or
    /// a profile.
    fn misfit(&mut self, _head: &[u8]) -> Option<String> {
        None
    }

    /// Name of the device for the title of a plot.
    fn title(&self) -> &'static str;

    /// Whether frames can contain scans.
    fn has_scans(&self) -> bool {
        false
    }

    /// Word for a frame in JSON: `frame`, `message` or `telegram`.
    fn item(&self) -> &'static str {
        "frame"
    }

    /// Start of the line about a frame: its time, or its offset in the stream if times are unknown.
    fn margin(&self, place: &Place) -> String {
        match place.time_s {
            Some(time_s) => format!("{time_s:12.6}  "),
            None => format!("{:10}  ", place.offset),
        }
    }

    /// First line of a text summary, after the file name.
    fn headline(&self, totals: &Totals) -> String {
        format!("{}, {} bytes, {} {}s", self.title(), totals.bytes, totals.frames, self.item())
    }

    /// Facts about all frames.
    fn facts(&self, _totals: &Totals) -> Facts {
        Facts::default()
    }

    /// Text summary of all frames.
    fn summary(&self, name: &str, totals: &Totals) -> String {
        let mut text = format!("{name}: {}\n", self.headline(totals));
        for (label, said) in self.facts(totals).into_lines() {
            let colon = if label.is_empty() { "" } else { ": " };
            text += &format!("  {label}{colon}{said}\n");
        }
        text
    }

    /// JSON summary of all frames.
    fn summary_fields(&self, totals: &Totals) -> Map<String, Value> {
        self.facts(totals).into_fields()
    }
}

/// A frame of a byte stream.
pub struct Frame {
    /// Offset of the frame's first byte in the stream.
    pub offset: u64,
    /// Length in bytes, including header and checksum.
    pub length: u64,
    /// Name for statistics; `None` for an invalid frame, which is shown but not counted by name.
    pub kind: Option<String>,
    /// Whether only this family sends such a frame.
    pub is_telling: bool,
    /// Content of the frame, for reports and for the analysis of its measurements.
    pub content: Box<dyn Content>,
}

/// Content of a frame.
pub trait Content {
    /// Text, one line.
    fn text(&self) -> String;

    /// Fields for JSON.
    fn fields(&self) -> Map<String, Value>;

    /// The scan in the frame, if any.
    fn scan(&self) -> Option<Scan> {
        None
    }

    /// The IMU measurement in the frame, if any.
    fn inertial(&self) -> Option<Inertial> {
        None
    }

    /// The position in the frame, if any.
    fn fix(&self) -> Option<PositionFix> {
        None
    }
}

/// A sweep of ranges in one plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scan {
    /// Ranges in the order of measurement, metres; `None` without an echo.
    pub ranges_m: Vec<Option<f64>>,
    /// Direction of the first range, counter-clockwise from forward, degrees.
    pub first_deg: f64,
    /// Angle between adjacent ranges, counter-clockwise, degrees.
    pub step_deg: f64,
}

impl Scan {
    /// Points in the scanner's frame (forward, left), metres.
    pub fn points(&self) -> impl Iterator<Item = [f64; 2]> {
        self.ranges_m.iter().enumerate().filter_map(|(index, range_m)| {
            let direction_deg = self.first_deg + index as f64 * self.step_deg;
            let (sin, cos) = libm::sincos(direction_deg.to_radians());
            range_m.map(|range_m| [range_m * cos, range_m * sin])
        })
    }
}

/// Position of a frame in its stream.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Number of the frame in its stream, from 1.
    pub number: u64,
    /// Offset of the first byte in the stream.
    pub offset: u64,
    /// Time of the first byte, seconds since the start of the recording, if known.
    pub time_s: Option<f64>,
}

/// Totals of a stream.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Length of the stream, bytes.
    pub bytes: u64,
    /// Number of frames, including invalid ones that are shown.
    pub frames: u64,
    /// Total length of the frames that `frames` counts, bytes.
    pub framed_bytes: u64,
    /// Number of valid frames by name.
    pub kinds: BTreeMap<String, u64>,
    /// Times of the first and the last frame, seconds since the start of the recording, if known.
    pub times_s: Option<(f64, f64)>,
    /// Totals of the scans.
    pub scans: ScanTotals,
}

/// Totals of all scans in a stream.
#[derive(Clone, Debug, Default)]
pub struct ScanTotals {
    /// Number of scans.
    pub count: u64,
    /// Number of ranges, including ranges without an echo.
    pub values: u64,
    /// Number of ranges without an echo.
    pub without_echo: u64,
    /// Times of the first and the last scan, seconds since the start of the recording, if known.
    pub times_s: Option<(f64, f64)>,
    /// The shortest and the longest range, metres; `None` if no range has an echo.
    pub span_m: Option<(f64, f64)>,
}

impl Totals {
    /// Time from the first to the last frame, seconds; `None` if times are unknown.
    pub fn duration_s(&self) -> Option<f64> {
        self.times_s.map(|(first, last)| last - first)
    }

    /// Text with number, length and duration of the frames; `items` is the word for frames.
    pub fn framed(&self, items: &str) -> String {
        let span = self.duration_s().map(|span_s| format!(", {span_s:.3} s"));
        format!("{} {items}, {} bytes{}", self.frames, self.framed_bytes, span.unwrap_or_default())
    }

    /// Adds the number of frames by name to `facts`. With `has_rates`, the text also has their rates, if known.
    pub fn add_kinds(&self, facts: &mut Facts, key: &'static str, has_rates: bool) {
        facts.add_data(key, json!(self.kinds));
        let span_s = self.duration_s().filter(|span_s| has_rates && *span_s > 0.0);
        for (kind, count) in &self.kinds {
            let rate = span_s.map(|span_s| format!(", {:.1} a second", *count as f64 / span_s));
            facts.add_line("", format!("{kind}: {count}{}", rate.unwrap_or_default()));
        }
    }
}

impl ScanTotals {
    /// Scans per second; `None` with fewer than two scans or without known times.
    pub fn rate_hz(&self) -> Option<f64> {
        let (first_s, last_s) = self.times_s?;
        (self.count > 1 && last_s > first_s).then(|| (self.count - 1) as f64 / (last_s - first_s))
    }
}

/// Content of a frame that consists of a name and fields.
pub(crate) struct Fields {
    /// One line: the name, then each key with its value.
    pub text: String,
    /// Fields for JSON, including the name as `kind`.
    pub fields: Map<String, Value>,
}

impl Fields {
    /// Content of a frame with the name `kind` and the fields `said`.
    pub fn of(kind: &str, said: Map<String, Value>) -> Self {
        let mut text = kind.to_owned();
        for (key, value) in &said {
            text += &format!("  {key} {value}");
        }
        let mut fields = Map::from_iter([("kind".to_owned(), Value::from(kind))]);
        fields.extend(said);
        Self { text, fields }
    }
}

impl Content for Fields {
    fn text(&self) -> String {
        self.text.clone()
    }

    fn fields(&self) -> Map<String, Value> {
        self.fields.clone()
    }
}

/// Fields of `value` if it is a JSON object; otherwise empty.
pub fn object_of(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
