//! Decodes messages of a Hokuyo scanner to its host.

use serde_json::{Map, Value, json};

use super::profile::HokuyoProfile;
use crate::decoder::facts::Facts;
use crate::decoder::{Content, Frame, Place, Scan, StreamDecoder, Totals};
use crate::wire::ParseError;
use crate::wire::framer::Framer;
use crate::wire::scip::message::{Line, Message, Messages, Status};
use crate::wire::scip::request::{Name, Request};
use crate::wire::scip::scan::{ScanData, Step, TIME_PERIOD_MS};

/// Parameters for decoding scans. They come from the latest `PP` answer in the stream. Before the first answer they come
/// from the profile or, without a profile, from a UTM-30LX-EW.
#[derive(Clone, Copy, Debug)]
struct Geometry {
    per_turn: u32,
    front: u32,
    min_mm: u32,
    max_mm: u32,
}

impl Default for Geometry {
    fn default() -> Self {
        Self { per_turn: 1440, front: 540, min_mm: 23, max_mm: 60_000 }
    }
}

impl Geometry {
    fn of(profile: &HokuyoProfile) -> Self {
        Self {
            per_turn: profile.steps.per_turn,
            front: profile.steps.front,
            min_mm: profile.distances.min_mm,
            max_mm: profile.distances.max_mm,
        }
    }

    /// Adopts the parameters of a `PP` answer; keeps all old ones if the answer lacks a parameter.
    fn learn(&mut self, lines: &[Line]) {
        let value = |key: &str| {
            let texts = lines.iter().filter_map(|line| std::str::from_utf8(line.text()).ok());
            let mut values = texts.filter_map(|text| text.strip_prefix(key)?.strip_prefix(':'));
            values.next()?.parse::<u32>().ok()
        };
        if let (Some(per_turn @ 1..), Some(front), Some(min_mm), Some(max_mm)) =
            (value("ARES"), value("AFRT"), value("DMIN"), value("DMAX"))
        {
            *self = Self { per_turn, front, min_mm, max_mm };
        }
    }
}

pub(super) struct ScipDecoder {
    framer: Framer<Messages>,
    framed_bytes: u64,
    geometry: Geometry,
    scans: u64,
    broken_scans: u64,
    refusals: u64,
    first: Option<String>,
    /// Times of the first and last scan, milliseconds. The time of the last scan continues to rise when the scanner's
    /// clock wraps.
    times_ms: Option<(u64, u64)>,
}

impl StreamDecoder for ScipDecoder {
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Frame> {
        loop {
            let piece = self.framer.next_piece(input)?;
            let (offset, length) = (piece.offset, piece.bytes.len() as u64);
            let Some(message) = piece.frame else { continue };
            self.framed_bytes += length;
            let received = self.receive(message);
            return Some(Frame {
                offset,
                length,
                kind: Some(received.kind()),
                is_telling: true,
                content: Box::new(received),
            });
        }
    }

    fn end(&mut self) {
        self.framer.end();
    }

    fn skipped_bytes(&self) -> u64 {
        self.framer.taken() - self.framed_bytes
    }

    fn rewind(&mut self) {
        *self = Self { geometry: self.geometry, ..Self::new(None) };
    }

    fn title(&self) -> &'static str {
        "Hokuyo SCIP"
    }

    fn has_scans(&self) -> bool {
        true
    }

    fn item(&self) -> &'static str {
        "message"
    }

    fn margin(&self, place: &Place) -> String {
        let time = place.time_s.map(|time_s| format!("{time_s:12.6} s  ")).unwrap_or_default();
        format!("{:6}  {time}", place.number)
    }

    fn headline(&self, totals: &Totals) -> String {
        totals.framed("messages")
    }

    fn facts(&self, totals: &Totals) -> Facts {
        let mut facts = Facts::default();
        facts.add_data("format", "scip");
        facts.add_data("messages", totals.frames);
        facts.add_data("bytes", totals.framed_bytes);
        totals.add_kinds(&mut facts, "names", false);
        facts.add_data("scans", self.scans);
        if let Some(first) = &self.first {
            facts.add_line("first scan", first);
        }
        let clock_s = self.times_ms.map(|(first, last)| (last - first) as f64 / 1e3);
        facts.add_known("scanner_s", clock_s, "scanner's clock", |s| format!("{s:.3} s"));
        facts.add_count("broken_scans", self.broken_scans, "scans that cannot be read");
        facts.add_count("refusals", self.refusals, "commands refused");
        facts.add_count("skipped_bytes", self.skipped_bytes(), "bytes outside of messages");
        facts.add_data("duration_s", totals.duration_s());
        facts
    }
}

impl ScipDecoder {
    pub(super) fn new(profile: Option<&HokuyoProfile>) -> Self {
        Self {
            framer: Framer::new(Messages),
            framed_bytes: 0,
            geometry: profile.map(Geometry::of).unwrap_or_default(),
            scans: 0,
            broken_scans: 0,
            refusals: 0,
            first: None,
            times_ms: None,
        }
    }

    fn receive(&mut self, message: Message) -> Received {
        let name = Request::parse(&message.echo, false).ok().map(|request| request.name);
        if name == Some(Name::Pp) {
            self.geometry.learn(&message.lines);
        }
        let scan = scan_in(&message);
        match &scan {
            Some(Ok(scan)) => {
                self.scans += 1;
                let time_ms = u64::from(scan.data.time_ms);
                let period = u64::from(TIME_PERIOD_MS);
                self.times_ms = Some(match self.times_ms {
                    None => (time_ms, time_ms),
                    // Adds the time since the last scan, during which the clock can wrap.
                    Some((first, last)) => {
                        (first, last + (time_ms + period - last % period) % period)
                    }
                });
                let words = scan.words(&self.geometry);
                self.first.get_or_insert(words);
            }
            Some(Err(_)) => self.broken_scans += 1,
            None => {}
        }
        let is_refusal = match message.status {
            Status::Code(code) => code[0] != b'9' && code != *b"00",
            Status::Scip1(code) => code != b'0',
        };
        self.refusals += u64::from(is_refusal);
        Received { message, name, scan, geometry: self.geometry }
    }
}

/// Format and data of a scan that a host has requested.
struct AskedScan {
    first: u32,
    cluster: u32,
    has_intensity: bool,
    data: ScanData,
}

impl AskedScan {
    fn first_deg(&self, geometry: &Geometry) -> f64 {
        let from_front = f64::from(self.first) - f64::from(geometry.front);
        from_front * 360.0 / f64::from(geometry.per_turn)
    }

    fn step_deg(&self, geometry: &Geometry) -> f64 {
        f64::from(self.cluster) * 360.0 / f64::from(geometry.per_turn)
    }

    fn ranges_m(&self, geometry: &Geometry) -> Vec<Option<f64>> {
        let allowed = geometry.min_mm..=geometry.max_mm;
        let range = |step: &Step| {
            let mm = step.first.distance;
            allowed.contains(&mm).then(|| f64::from(mm) / 1000.0)
        };
        self.data.steps.iter().map(range).collect()
    }

    fn words(&self, geometry: &Geometry) -> String {
        let (first, step) = (self.first_deg(geometry), self.step_deg(geometry));
        let deg = |x: f64| (x * 1e4).round() / 1e4;
        format!("{} values from {} by {} deg", self.data.steps.len(), deg(first), deg(step))
    }
}

/// Parses the scan in a message; `None` if the message cannot contain one.
fn scan_in(message: &Message) -> Option<Result<AskedScan, ParseError>> {
    let request = Request::parse(&message.echo, false).ok()?;
    let command = request.name.scan()?;
    let holds_scan = if command.is_stream { *b"99" } else { *b"00" };
    if message.status != Status::Code(holds_scan) {
        return None;
    }
    let [first, _, cluster] = match request.numbers::<3>() {
        Ok(numbers) => numbers,
        Err(_) => return Some(Err(ParseError::value("parameter", 0u8, "digits"))),
    };
    let has_intensity = command.format.has_intensity;
    let data = ScanData::parse(command.format, &message.lines);
    Some(data.map(|data| AskedScan { first, cluster: cluster.max(1), has_intensity, data }))
}

/// A received message, with its scan if it has one.
struct Received {
    message: Message,
    name: Option<Name>,
    scan: Option<Result<AskedScan, ParseError>>,
    geometry: Geometry,
}

impl Received {
    fn kind(&self) -> String {
        let name = self.name.map_or("not understood", Name::word);
        match self.scan {
            Some(_) => format!("{name} scan"),
            None => name.to_owned(),
        }
    }

    fn status(&self) -> String {
        match self.message.status {
            Status::Code(code) => String::from_utf8_lossy(&code).into_owned(),
            Status::Scip1(code) => char::from(code).to_string(),
        }
    }

    fn texts(&self) -> Vec<String> {
        let lines = self.message.lines.iter();
        lines.map(|line| String::from_utf8_lossy(line.text()).into_owned()).collect()
    }
}

impl Content for Received {
    fn text(&self) -> String {
        let echo = String::from_utf8_lossy(&self.message.echo);
        let said = match &self.scan {
            Some(Ok(scan)) => {
                let ranges = scan.ranges_m(&self.geometry);
                let seen: Vec<f64> = ranges.iter().copied().flatten().collect();
                let nearest = seen.iter().copied().fold(f64::INFINITY, f64::min);
                let farthest = seen.iter().copied().fold(0.0, f64::max);
                let span = match seen.len() {
                    0 => "nothing seen".to_owned(),
                    count => {
                        format!("{count} of {} seen, {nearest:.3} to {farthest:.3} m", ranges.len())
                    }
                };
                format!("{} ms  {span}", scan.data.time_ms)
            }
            Some(Err(error)) => error.to_string(),
            None => self.texts().join("  "),
        };
        format!("{echo}  {}  {said}", self.status()).trim_end().to_owned()
    }

    fn fields(&self) -> Map<String, Value> {
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.into(), value);
        put("echo", json!(String::from_utf8_lossy(&self.message.echo)));
        put("status", json!(self.status()));
        match &self.scan {
            Some(Ok(scan)) => {
                put("time_ms", json!(scan.data.time_ms));
                put("first_deg", json!(scan.first_deg(&self.geometry)));
                put("step_deg", json!(scan.step_deg(&self.geometry)));
                let echoes = |step: &Step| std::iter::once(step.first).chain(step.others.clone());
                let each = |value: fn(crate::wire::scip::scan::Echo) -> u32| -> Value {
                    let steps = scan.data.steps.iter();
                    json!(
                        steps
                            .map(|step| echoes(step).map(value).collect::<Vec<_>>())
                            .collect::<Vec<_>>()
                    )
                };
                put("distances_mm", each(|echo| echo.distance));
                if scan.has_intensity {
                    put("intensities", each(|echo| echo.intensity));
                }
                put("ranges_m", json!(scan.ranges_m(&self.geometry)));
            }
            Some(Err(error)) => {
                put("error", json!(error.to_string()));
            }
            None => {
                put("lines", json!(self.texts()));
            }
        }
        object
    }

    fn scan(&self) -> Option<Scan> {
        let Some(Ok(scan)) = &self.scan else { return None };
        Some(Scan {
            ranges_m: scan.ranges_m(&self.geometry),
            first_deg: scan.first_deg(&self.geometry),
            step_deg: scan.step_deg(&self.geometry),
        })
    }
}
