//! The report on the telegrams of a SICK LMS1xx or LMS5xx, from a recording of what a host would
//! get (`.bin`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::cli::CliError;
use crate::links::serial_record::SerialIndex;
use crate::wire::cola::Dialect;
use crate::wire::cola::frame::{self, Next};
use crate::wire::cola::scan_data::{ScanData, ScanDataError};
use crate::wire::cola::telegram::Telegram;

/// No telegram is longer: five echoes with RSSI in CoLa-A take 60 kB.
const LONGEST: usize = 1 << 20;

/// What to report on.
pub struct Request<'a> {
    /// The bytes.
    pub file: &'a Path,
    /// For machines instead of people.
    pub json: bool,
    /// At most this many telegrams are printed.
    pub most: u64,
}

/// Whether a file begins with a telegram.
pub fn is_one(file: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(file).and_then(|file| file.take(9).read_to_end(&mut start));
    read.is_ok()
        && (start.starts_with(b"\x02s")
            || (start.starts_with(&[2; 4]) && start.get(8) == Some(&b's')))
}

/// Writes the report to standard output.
pub fn run(request: &Request<'_>) -> Result<(), CliError> {
    let mut out = BufWriter::new(io::stdout().lock());
    match report(request, &mut out).and_then(|()| Ok(out.flush()?)) {
        // Whoever read our output has seen enough.
        Err(ReportError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(ReportError::Output(error)) => Err(CliError::failed("cannot write the report", &error)),
        Err(ReportError::Input(error)) => {
            Err(CliError::Input(format!("error: {}: {error}", request.file.display())))
        }
        Ok(()) => Ok(()),
    }
}

#[derive(Debug, thiserror::Error)]
enum ReportError {
    #[error(transparent)]
    Output(#[from] io::Error),
    #[error("{0}")]
    Input(io::Error),
}

fn report(request: &Request<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let file = File::open(request.file).map_err(ReportError::Input)?;
    let mut stream = Stream::new(BufReader::new(file));
    let index = SerialIndex::beside(request.file).map_err(ReportError::Input)?;
    let mut summary = Summary::default();
    while let Some(found) = stream.next().map_err(ReportError::Input)? {
        let time_s = index.time_s(found.offset);
        let scan =
            ScanData::is_in(&found.content).then(|| ScanData::parse(found.dialect, &found.content));
        summary.see(&found, scan.as_ref(), time_s);
        if summary.telegrams <= request.most {
            let number = summary.telegrams;
            if request.json {
                line(out, &object(number, &found, scan.as_ref(), time_s))?;
            } else {
                writeln!(out, "{}", words(number, &found, scan.as_ref(), time_s))?;
            }
        }
    }
    summary.noise = stream.noise;
    let name = request.file.display().to_string();
    if request.json {
        line(out, &summary.object(&name))?;
    } else {
        if summary.telegrams > request.most {
            writeln!(out, "… and {} more", summary.telegrams - request.most)?;
        }
        write!(out, "{}", summary.words(&name))?;
    }
    Ok(())
}

/// A telegram with its place in the file.
struct Found {
    offset: u64,
    length: usize,
    dialect: Dialect,
    content: Vec<u8>,
}

/// Telegrams of a file from front to back; keeps little of it.
struct Stream<R> {
    input: R,
    buffer: Vec<u8>,
    /// Where the buffer begins in the file.
    offset: u64,
    is_over: bool,
    noise: u64,
}

impl<R: Read> Stream<R> {
    fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), offset: 0, is_over: false, noise: 0 }
    }

    fn next(&mut self) -> io::Result<Option<Found>> {
        loop {
            match frame::next(&self.buffer, LONGEST) {
                Next::Frame { dialect, content, length } => {
                    let content = content.to_vec();
                    let found = Found { offset: self.offset, length, dialect, content };
                    self.skip(length);
                    return Ok(Some(found));
                }
                Next::Noise(length) => {
                    self.noise += length as u64;
                    self.skip(length);
                }
                Next::Incomplete if self.is_over => {
                    self.noise += self.buffer.len() as u64;
                    self.buffer.clear();
                    return Ok(None);
                }
                Next::Incomplete => {
                    let read = self.input.by_ref().take(1 << 16).read_to_end(&mut self.buffer)?;
                    self.is_over = read == 0;
                }
            }
        }
    }

    fn skip(&mut self, length: usize) {
        self.buffer.drain(..length);
        self.offset += length as u64;
    }
}

type Scan = Result<ScanData, ScanDataError>;

#[derive(Default)]
struct Summary {
    telegrams: u64,
    bytes: u64,
    noise: u64,
    names: BTreeMap<String, u64>,
    dialects: BTreeMap<&'static str, u64>,
    broken_scans: u64,
    scans: u64,
    missing_scans: u64,
    first: Option<ScanData>,
    last_counter: Option<u16>,
    times_s: Option<(f64, f64)>,
}

impl Summary {
    fn see(&mut self, found: &Found, scan: Option<&Scan>, time_s: Option<f64>) {
        self.telegrams += 1;
        self.bytes += found.length as u64;
        *self.names.entry(name_of(&found.content)).or_default() += 1;
        *self.dialects.entry(dialect_word(found.dialect)).or_default() += 1;
        if let Some(time_s) = time_s {
            self.times_s = Some((self.times_s.map_or(time_s, |(first, _)| first), time_s));
        }
        match scan {
            Some(Ok(scan)) => {
                self.scans += 1;
                if let Some(last) = self.last_counter {
                    self.missing_scans += u64::from(scan.scan_counter.wrapping_sub(last)) - 1;
                }
                self.last_counter = Some(scan.scan_counter);
                self.first.get_or_insert_with(|| scan.clone());
            }
            Some(Err(_)) => self.broken_scans += 1,
            None => {}
        }
    }

    fn object(&self, name: &str) -> Value {
        json!({
            "type": "summary",
            "file": name,
            "format": "cola",
            "telegrams": self.telegrams,
            "bytes": self.bytes,
            "skipped_bytes": self.noise,
            "dialects": self.dialects,
            "names": self.names,
            "scans": self.scans,
            "broken_scans": self.broken_scans,
            "counter_gaps": self.missing_scans,
            "duration_s": self.times_s.map(|(first, last)| last - first),
        })
    }

    fn words(&self, name: &str) -> String {
        let mut text = format!("{name}: {} telegrams, {} bytes", self.telegrams, self.bytes);
        if let Some((first, last)) = self.times_s {
            text += &format!(", {:.3} s", last - first);
        }
        let dialects: Vec<_> =
            self.dialects.iter().map(|(word, count)| format!("{word} {count}")).collect();
        text += &format!("\n  dialects: {}\n", dialects.join(", "));
        for (name, count) in &self.names {
            text += &format!("  {name}: {count}\n");
        }
        if let Some(scan) = &self.first {
            text += &format!("  first scan: {}\n", scan_words(scan));
            text += &format!("  scans missing by their counter: {}\n", self.missing_scans);
        }
        if self.broken_scans > 0 {
            text += &format!("  scans that cannot be read: {}\n", self.broken_scans);
        }
        if self.noise > 0 {
            text += &format!("  bytes outside of telegrams: {}\n", self.noise);
        }
        text
    }
}

fn dialect_word(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::A => "CoLa-A",
        Dialect::B => "CoLa-B",
    }
}

/// Kind and name, as far as a telegram has them.
fn name_of(content: &[u8]) -> String {
    match Telegram::head(content) {
        Ok((kind, name, _)) => format!("{} {name}", kind.word()).trim_end().to_string(),
        Err(_) => "not understood".to_string(),
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

fn words(number: u64, found: &Found, scan: Option<&Scan>, time_s: Option<f64>) -> String {
    let time = time_s.map(|time_s| format!("{time_s:12.6} s  ")).unwrap_or_default();
    let head = format!("{number:6}  {time}{:6}  ", dialect_word(found.dialect));
    match scan {
        Some(Ok(scan)) => {
            let ranges = ranges_m(scan);
            let seen: Vec<f64> = ranges.iter().copied().flatten().collect();
            let nearest = seen.iter().copied().fold(f64::INFINITY, f64::min);
            let farthest = seen.iter().copied().fold(0.0, f64::max);
            let span = if seen.is_empty() {
                "nothing seen".to_string()
            } else {
                format!("{} of {} seen, {nearest:.3} to {farthest:.3} m", seen.len(), ranges.len())
            };
            let name = name_of(&found.content);
            format!("{head}{name}  scan {}  {} us  {span}", scan.scan_counter, scan.start_us)
        }
        Some(Err(error)) => format!("{head}{error}"),
        None => format!("{head}{}", frame::printable(&found.content)),
    }
}

/// First distances, metres; `None` where there is none.
fn ranges_m(scan: &ScanData) -> Vec<Option<f64>> {
    let Some(channel) = scan.channel(b"DIST1") else { return Vec::new() };
    let scale_m = f64::from(channel.scale_factor()) / 1000.0;
    let range = |value: &u16| (*value != 0).then(|| f64::from(*value) * scale_m);
    channel.values.iter().map(range).collect()
}

fn object(number: u64, found: &Found, scan: Option<&Scan>, time_s: Option<f64>) -> Value {
    let mut object = Map::new();
    object.insert("type".into(), json!("telegram"));
    object.insert("number".into(), json!(number));
    object.insert("offset".into(), json!(found.offset));
    object.insert("length".into(), json!(found.length));
    object.insert("time_s".into(), json!(time_s));
    object.insert("dialect".into(), json!(dialect_word(found.dialect)));
    object.insert("name".into(), json!(name_of(&found.content)));
    match scan {
        Some(Ok(scan)) => scan_object(&mut object, scan),
        Some(Err(error)) => {
            object.insert("error".into(), json!(error.to_string()));
        }
        None => {
            object.insert("content".into(), json!(frame::printable(&found.content)));
        }
    }
    Value::Object(object)
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

fn line(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
