//! Decodes telegrams that a SICK LMS1xx or LMS5xx sends to hosts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::decoder::facts::Facts;
use crate::decoder::{Content, Frame, Place, Scan, StreamDecoder, Totals};
use crate::wire::cola::Dialect;
use crate::wire::cola::frame::{self, Cola};
use crate::wire::cola::scan_data::{ScanData, ScanDataError};
use crate::wire::cola::telegram::Telegram;
use crate::wire::framer::Framer;

/// Longest accepted telegram, bytes. The largest telegrams, with five echoes and RSSI in CoLa-A, have 60 kB.
const LONGEST: usize = 1 << 20;

pub(super) struct ColaDecoder {
    framer: Framer<Cola>,
    framed_bytes: u64,
    dialects: BTreeMap<&'static str, u64>,
    scans: u64,
    broken_scans: u64,
    missing_scans: u64,
    first: Option<ScanData>,
    last_counter: Option<u16>,
}

impl StreamDecoder for ColaDecoder {
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Frame> {
        loop {
            let piece = self.framer.next_piece(input)?;
            let (offset, length) = (piece.offset, piece.bytes.len() as u64);
            let Some(frame::Frame { dialect, content }) = piece.frame else { continue };
            let scan = ScanData::is_in(&content).then(|| ScanData::parse(dialect, &content));
            let telegram = Received { dialect, content, scan };
            self.framed_bytes += length;
            self.count(&telegram);
            return Some(Frame {
                offset,
                length,
                kind: Some(telegram.name()),
                is_telling: true,
                content: Box::new(telegram),
            });
        }
    }

    fn end(&mut self) {}

    fn skipped_bytes(&self) -> u64 {
        self.framer.taken() - self.framed_bytes
    }

    fn rewind(&mut self) {
        *self = Self::new();
    }

    fn title(&self) -> &'static str {
        "SICK LMS1xx or LMS5xx"
    }

    fn has_scans(&self) -> bool {
        true
    }

    fn item(&self) -> &'static str {
        "telegram"
    }

    fn margin(&self, place: &Place) -> String {
        let time = place.time_s.map(|time_s| format!("{time_s:12.6} s  ")).unwrap_or_default();
        format!("{:6}  {time}", place.number)
    }

    fn headline(&self, totals: &Totals) -> String {
        totals.framed("telegrams")
    }

    fn facts(&self, totals: &Totals) -> Facts {
        let mut facts = Facts::default();
        facts.add_data("format", "cola");
        facts.add_data("telegrams", totals.frames);
        facts.add_data("bytes", totals.framed_bytes);
        let dialects = self.dialects.iter().map(|(word, count)| format!("{word} {count}"));
        let dialects: Vec<_> = dialects.collect();
        facts.add("dialects", json!(self.dialects), "dialects", dialects.join(", "));
        totals.add_kinds(&mut facts, "names", false);
        facts.add_data("scans", self.scans);
        let (key, gaps) = ("counter_gaps", self.missing_scans);
        match &self.first {
            Some(scan) => {
                facts.add_line("first scan", scan_words(scan));
                facts.add(key, gaps, "scans missing (counter gaps)", gaps.to_string());
            }
            None => facts.add_data(key, gaps),
        }
        facts.add_count("broken_scans", self.broken_scans, "scans that cannot be read");
        facts.add_count("skipped_bytes", self.skipped_bytes(), "bytes outside of telegrams");
        facts.add_data("duration_s", totals.duration_s());
        facts
    }
}

impl ColaDecoder {
    pub(super) fn new() -> Self {
        Self {
            framer: Framer::new(Cola { max_content: LONGEST }),
            framed_bytes: 0,
            dialects: BTreeMap::new(),
            scans: 0,
            broken_scans: 0,
            missing_scans: 0,
            first: None,
            last_counter: None,
        }
    }

    fn count(&mut self, telegram: &Received) {
        *self.dialects.entry(dialect_word(telegram.dialect)).or_default() += 1;
        match &telegram.scan {
            Some(Ok(scan)) => {
                self.scans += 1;
                if let Some(last) = self.last_counter.replace(scan.scan_counter) {
                    let step = scan.scan_counter.wrapping_sub(last);
                    self.missing_scans += u64::from(step).saturating_sub(1);
                }
                self.first.get_or_insert_with(|| scan.clone());
            }
            Some(Err(_)) => self.broken_scans += 1,
            None => {}
        }
    }
}

/// A received telegram, with its scan if it has one.
struct Received {
    dialect: Dialect,
    content: Vec<u8>,
    scan: Option<Result<ScanData, ScanDataError>>,
}

impl Received {
    /// Type and name of the telegram, such as `sRA STlms`; `not understood` if it has none.
    fn name(&self) -> String {
        match Telegram::head(&self.content) {
            Ok((kind, name, _)) => format!("{} {name}", kind.word()).trim_end().to_string(),
            Err(_) => "not understood".to_string(),
        }
    }
}

impl Content for Received {
    fn text(&self) -> String {
        let dialect = dialect_word(self.dialect);
        let said = match &self.scan {
            Some(Ok(scan)) => {
                let ranges = ranges_m(scan);
                let seen: Vec<f64> = ranges.iter().copied().flatten().collect();
                let nearest = seen.iter().copied().fold(f64::INFINITY, f64::min);
                let farthest = seen.iter().copied().fold(0.0, f64::max);
                let span = match seen.len() {
                    0 => "nothing seen".to_string(),
                    count => {
                        format!("{count} of {} seen, {nearest:.3} to {farthest:.3} m", ranges.len())
                    }
                };
                let name = self.name();
                format!("{name}  scan {}  {} us  {span}", scan.scan_counter, scan.start_us)
            }
            Some(Err(error)) => error.to_string(),
            None => frame::printable(&self.content).to_string(),
        };
        format!("{dialect:6}  {said}")
    }

    fn fields(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("dialect".into(), json!(dialect_word(self.dialect)));
        object.insert("name".into(), json!(self.name()));
        match &self.scan {
            Some(Ok(scan)) => scan_object(&mut object, scan),
            Some(Err(error)) => {
                object.insert("error".into(), json!(error.to_string()));
            }
            None => {
                object.insert("content".into(), json!(frame::printable(&self.content)));
            }
        }
        object
    }

    fn scan(&self) -> Option<Scan> {
        let Some(Ok(scan)) = &self.scan else { return None };
        let channel = scan.channel(b"DIST1")?;
        let deg = |angle: f64| angle / 10_000.0;
        Some(Scan {
            ranges_m: ranges_m(scan),
            // In the scanner's frame 0 degrees is to the right and 90 degrees is straight ahead.
            first_deg: deg(channel.start_angle.into()) - 90.0,
            step_deg: deg(channel.angular_step.into()),
        })
    }
}

fn dialect_word(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::A => "CoLa-A",
        Dialect::B => "CoLa-B",
    }
}

fn scan_words(scan: &ScanData) -> String {
    let hz = f64::from(scan.scan_frequency_centihz) / 100.0;
    let channels = scan.channels_16.iter().map(|channel| {
        (channel.name, channel.start_angle, channel.angular_step, channel.values.len())
    });
    let channels_8 = scan.channels_8.iter().map(|channel| {
        (channel.name, channel.start_angle, channel.angular_step, channel.values.len())
    });
    let channels: Vec<_> = channels
        .chain(channels_8)
        .map(|(name, start, step, count)| {
            let deg = |wire: f64| (wire / 10_000.0 * 1e4).round() / 1e4;
            let name = name.escape_ascii();
            format!("{name} {count} from {} by {} deg", deg(start.into()), deg(step.into()))
        })
        .collect();
    format!("{hz} Hz, {}", channels.join("; "))
}

/// Distances of the channel DIST1 in each direction, metres; `None` without an echo.
fn ranges_m(scan: &ScanData) -> Vec<Option<f64>> {
    let Some(channel) = scan.channel(b"DIST1") else { return Vec::new() };
    let scale_m = f64::from(channel.scale_factor()) / 1000.0;
    let range = |value: &u16| (*value != 0).then(|| f64::from(*value) * scale_m);
    channel.values.iter().map(range).collect()
}

fn scan_object(object: &mut Map<String, Value>, scan: &ScanData) {
    let mut put = |key: &str, value: Value| object.insert(key.into(), value);
    put("status", json!(scan.status));
    put("telegram_counter", json!(scan.telegram_counter));
    put("scan_counter", json!(scan.scan_counter));
    put("start_us", json!(scan.start_us));
    put("transmission_us", json!(scan.transmission_us));
    put("scan_frequency_hz", json!(f64::from(scan.scan_frequency_centihz) / 100.0));
    let mut channels = Vec::new();
    for channel in &scan.channels_16 {
        let name = channel.name.escape_ascii().to_string();
        channels.push(json!({
            "name": name, "scale_factor": channel.scale_factor(),
            "start_angle_deg": f64::from(channel.start_angle) / 1e4,
            "angular_step_deg": f64::from(channel.angular_step) / 1e4, "values": channel.values,
        }));
    }
    for channel in &scan.channels_8 {
        let name = channel.name.escape_ascii().to_string();
        channels.push(json!({
            "name": name, "scale_factor": channel.scale_factor(),
            "start_angle_deg": f64::from(channel.start_angle) / 1e4,
            "angular_step_deg": f64::from(channel.angular_step) / 1e4, "values": channel.values,
        }));
    }
    put("channels", json!(channels));
    put("ranges_m", json!(ranges_m(scan)));
    let time = scan.trailer.as_ref().and_then(|trailer| trailer.time);
    put(
        "time",
        json!(time.map(|t| format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}",
            t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond
        ))),
    );
}
