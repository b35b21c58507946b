//! What devices have sent, read back.
//!
//! A family that can be read back has decoders: a [`StreamDecoder`] takes the bytes of a serial
//! line or a TCP connection apart into frames, a [`datagram::DatagramDecoder`] reads datagrams. What is counted over all frames, where recordings
//! come from and how a report is laid out is the affair of `menura::analysis`.

pub mod datagram;
pub mod facts;
pub mod picture;
pub mod readings;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use self::facts::Facts;
use self::readings::{Inertial, PositionFix};
use crate::config::profile::Profile;

/// The user's hints about a recording's sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'a> {
    /// Its firmware.
    pub profile: Option<&'a Profile>,
    /// Whether the recording is read by the profile even if it is another product's.
    pub anyway: bool,
    /// A file with the unit's own calibration.
    pub calibration: Option<&'a Path>,
}

/// What a recording says against the profile that the user has named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Whether it is another product's; a near relation's otherwise, which can be read all the same.
    pub is_other_product: bool,
    /// What the recording says, for people: a part of a sentence.
    pub text: String,
}

/// Takes a byte stream apart into frames, whatever portions it comes in.
pub trait StreamDecoder {
    /// The next frame. Takes bytes from the front of `input` as it needs them; call it until `None`,
    /// when all of `input` has been taken.
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Frame>;

    /// No bytes come any more: what waited for its rest is no frame. [`StreamDecoder::next_frame`]
    /// may give more afterwards.
    fn end(&mut self);

    /// Bytes so far in no frame, those that wait for their rest included.
    fn skipped_bytes(&self) -> u64;

    /// Goes back to the stream's first byte. What the stream has told about its sender is kept and
    /// used to read it if the stream was seen to its end.
    fn rewind(&mut self);

    /// Whether frames can be read rightly only when the whole stream was seen before.
    fn needs_two_passes(&self) -> bool {
        false
    }

    /// How likely the stream is this decoder's, 0 to 1, by its first bytes: the share in frames
    /// that no other family sends.
    fn likelihood(&mut self, head: &[u8]) -> f64 {
        let mut rest = head;
        let frames = std::iter::from_fn(|| self.next_frame(&mut rest));
        let own: u64 = frames.filter(|frame| frame.is_telling).map(|frame| frame.length).sum();
        self.rewind();
        (own as f64 / head.len().max(1) as f64).max(self.least_likelihood())
    }

    /// The likelihood of a stream that has no telling frame: above 0 if any bytes can be read.
    fn least_likelihood(&self) -> f64 {
        0.0
    }

    /// Why a stream with these first bytes, which is of the family, cannot be of the profile that the
    /// decoder was made for; `None` if it can be, or if the profile is not known.
    fn misfit(&mut self, _head: &[u8]) -> Option<String> {
        None
    }

    /// Name of the device whose bytes these are, in the title of a plot.
    fn title(&self) -> &'static str;

    /// Whether frames hold scans.
    fn has_scans(&self) -> bool {
        false
    }

    /// What a frame is called in JSON: `frame`, `message` or `telegram`.
    fn item(&self) -> &'static str {
        "frame"
    }

    /// What a frame's line begins with: its time, or its place where times are not known.
    fn margin(&self, place: &Place) -> String {
        match place.time_s {
            Some(time_s) => format!("{time_s:12.6}  "),
            None => format!("{:10}  ", place.offset),
        }
    }

    /// The first line of a summary for people, behind the file's name.
    fn headline(&self, totals: &Totals) -> String {
        format!("{}, {} bytes, {} {}s", self.title(), totals.bytes, totals.frames, self.item())
    }

    /// Facts about all frames.
    fn facts(&self, _totals: &Totals) -> Facts {
        Facts::default()
    }

    /// Summary of all frames for people.
    fn summary(&self, name: &str, totals: &Totals) -> String {
        let mut text = format!("{name}: {}\n", self.headline(totals));
        for (label, said) in self.facts(totals).into_lines() {
            let colon = if label.is_empty() { "" } else { ": " };
            text += &format!("  {label}{colon}{said}\n");
        }
        text
    }

    /// Summary of all frames for machines.
    fn summary_fields(&self, totals: &Totals) -> Map<String, Value> {
        self.facts(totals).into_fields()
    }
}

/// A frame of a byte stream.
pub struct Frame {
    /// Offset of the frame's first byte in the stream.
    pub offset: u64,
    /// Bytes, those of the frame's head and check included.
    pub length: u64,
    /// The kind that counts it; `None` for what is shown but is no sound frame.
    pub kind: Option<String>,
    /// Whether no other family sends such a frame.
    pub is_telling: bool,
    /// Content of the frame.
    pub content: Box<dyn Content>,
}

/// Content of a frame.
pub trait Content {
    /// Text for people, one line.
    fn text(&self) -> String;

    /// Content for machines.
    fn fields(&self) -> Map<String, Value>;

    /// The scan in it, if there is one.
    fn scan(&self) -> Option<Scan> {
        None
    }

    /// Inertial measurement in the frame, if there is one.
    fn inertial(&self) -> Option<Inertial> {
        None
    }

    /// The position in it, if there is one.
    fn fix(&self) -> Option<PositionFix> {
        None
    }
}

/// A sweep of ranges in one plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scan {
    /// In the order of measuring, metres; `None` where there was no echo.
    pub ranges_m: Vec<Option<f64>>,
    /// Direction of the first, counterclockwise from straight ahead, degrees.
    pub first_deg: f64,
    /// Step from each to the next, degrees.
    pub step_deg: f64,
}

impl Scan {
    /// Forward and left of the scanner, metres.
    pub fn points(&self) -> impl Iterator<Item = [f64; 2]> {
        self.ranges_m.iter().enumerate().filter_map(|(index, range_m)| {
            let direction_deg = self.first_deg + index as f64 * self.step_deg;
            let (sin, cos) = libm::sincos(direction_deg.to_radians());
            range_m.map(|range_m| [range_m * cos, range_m * sin])
        })
    }
}

/// Where a frame stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Counts from 1.
    pub number: u64,
    /// Offset of the first byte in the stream.
    pub offset: u64,
    /// Time when the first byte left, seconds since the recording's start, if that is known.
    pub time_s: Option<f64>,
}

/// Totals over a whole stream.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Length of the stream.
    pub bytes: u64,
    /// Frames, unsound ones that are shown included.
    pub frames: u64,
    /// In these frames.
    pub framed_bytes: u64,
    /// Sound frames by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Times of the first and last frame, where times are known.
    pub times_s: Option<(f64, f64)>,
    /// The scans among them.
    pub scans: ScanTotals,
}

/// Totals over all scans of a stream.
#[derive(Clone, Debug, Default)]
pub struct ScanTotals {
    /// Number of scans.
    pub count: u64,
    /// Ranges in them, those without an echo included.
    pub values: u64,
    /// Ranges without an echo.
    pub without_echo: u64,
    /// Times of the first and last scan, where times are known.
    pub times_s: Option<(f64, f64)>,
    /// The shortest and the longest range, metres.
    pub span_m: Option<(f64, f64)>,
}

impl Totals {
    /// Time from the first frame to the last, seconds; `None` where times are not known.
    pub fn duration_s(&self) -> Option<f64> {
        self.times_s.map(|(first, last)| last - first)
    }

    /// Number, length and duration of the frames, which people call `items`.
    pub fn framed(&self, items: &str) -> String {
        let span = self.duration_s().map(|span_s| format!(", {span_s:.3} s"));
        format!("{} {items}, {} bytes{}", self.frames, self.framed_bytes, span.unwrap_or_default())
    }

    /// Adds the number of frames of each kind, for people with their rate if that is wanted and known.
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
    /// Scans a second.
    pub fn rate_hz(&self) -> Option<f64> {
        let (first_s, last_s) = self.times_s?;
        (self.count > 1 && last_s > first_s).then(|| (self.count - 1) as f64 / (last_s - first_s))
    }
}

/// A frame that is known by its fields alone.
pub(crate) struct Fields {
    /// Text for people.
    pub text: String,
    /// Content for machines.
    pub fields: Map<String, Value>,
}

impl Fields {
    /// A frame of a kind, and what it says by name.
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

/// The fields of a JSON object.
pub fn object_of(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
