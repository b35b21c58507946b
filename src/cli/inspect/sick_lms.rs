//! The bytes of a SICK LMS 2xx: every telegram in a recording of its line.
//!
//! A recording may hold either side of the line or both. When each telegram left stands in the
//! `.idx.csv` that `menura record` writes beside a `.bin`; without it telegrams have offsets only.
//!
//! A scan does not say how its values share their bits between range and flags: that is the
//! measuring mode of the configuration. It is taken from telegrams that tell it, else guessed from
//! values that mean "no echo" in one mode only.

mod plot;
mod words;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::super::CliError;
use crate::links::serial_record::SerialIndex;
use crate::wire::sick_lms2xx::command::Command;
use crate::wire::sick_lms2xx::configuration::Configuration;
use crate::wire::sick_lms2xx::data::{MeasuringMode, Range, Values};
use crate::wire::sick_lms2xx::frame::{FrameReader, Item};
use crate::wire::sick_lms2xx::reply::{Body, Reply};
use crate::wire::sick_lms2xx::{FROM_SCANNER, Variant};

/// What the user asked for.
#[derive(Clone, Debug)]
pub(super) struct Request<'a> {
    /// The recording.
    pub file: &'a Path,
    /// One JSON object a line.
    pub json: bool,
    /// At most this many telegrams are printed.
    pub most: u64,
    /// Where to draw which scan, counted from 1.
    pub plot: Option<(&'a Path, u64)>,
    /// Angle and resolution, as far as the profile fixes them.
    pub variant: Option<Variant>,
}

/// Whether a file begins like the line of a scanner: a sound telegram within its first bytes.
pub(super) fn is_one(file: &Path) -> bool {
    let mut head = Vec::new();
    let Ok(input) = File::open(file) else { return false };
    if input.take(1 << 14).read_to_end(&mut head).is_err() {
        return false;
    }
    let mut reader = FrameReader::new();
    reader.push(&head);
    let mut items = std::iter::from_fn(|| reader.next_item());
    items.any(|item| match item {
        Item::Telegram { address, payload } if address >= FROM_SCANNER => {
            Reply::parse(&payload).is_ok()
        }
        _ => false,
    })
}

/// Prints the telegrams in a file and a summary, and draws a scan if that is asked for.
pub(super) fn run(request: &Request<'_>) -> Result<(), CliError> {
    let wrong = |error: &dyn std::fmt::Display| {
        CliError::Input(format!("error: {}: {error}", request.file.display()))
    };
    let told = Told::gather(request.file).map_err(|error| wrong(&error))?;
    let mut out = BufWriter::new(io::stdout().lock());
    match report(request, &told, &mut out).and_then(|()| out.flush()) {
        // Whoever read our output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
        Err(error) => return Err(CliError::failed("cannot write the report", &error)),
        Ok(()) => {}
    }
    let Some((path, number)) = request.plot else { return Ok(()) };
    let scan = told.scan(request.file, number).map_err(|error| wrong(&error))?;
    let scan = scan
        .ok_or_else(|| wrong(&format!("there is no scan {number}: it has {}", told.scans.count)))?;
    let variant = request.variant.or(told.variant);
    let points = plot::points(&scan, told.mode, variant);
    let picture = plot::draw(&request.file.display().to_string(), number, &scan, &points);
    picture
        .save_with_format(path, image::ImageFormat::Png)
        .map_err(|error| CliError::failed(format!("cannot write {}", path.display()), &error))?;
    eprintln!("drew scan {number} to {}", path.display());
    Ok(())
}

/// What a whole recording says.
struct Told {
    bytes: u64,
    kinds: BTreeMap<String, u64>,
    telegrams: u64,
    bad_crcs: u64,
    strays: u64,
    mode: MeasuringMode,
    /// Angle and resolution, if a telegram tells them.
    variant: Option<Variant>,
    scans: Scans,
    index: SerialIndex,
}

/// What all scans have in common.
#[derive(Default)]
struct Scans {
    count: u64,
    values: u64,
    without_echo: u64,
    first_s: Option<f64>,
    last_s: Option<f64>,
    nearest_m: Option<f64>,
    farthest_m: Option<f64>,
}

/// Calls `see` for everything on the line with its offset and length.
fn read(file: &Path, mut see: impl FnMut(u64, u64, Item) -> io::Result<()>) -> io::Result<u64> {
    let mut input = File::open(file)?;
    let mut reader = FrameReader::new();
    let mut portion = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let count = input.read(&mut portion)?;
        bytes += count as u64;
        reader.push(&portion[..count]);
        loop {
            let offset = reader.position();
            let item = match reader.next_item() {
                Some(item) => item,
                // A telegram that the file's end cuts off.
                None if count == 0 => match reader.give_up() {
                    Some(item) => item,
                    None => break,
                },
                None => break,
            };
            see(offset, reader.position() - offset, item)?;
        }
        if count == 0 {
            return Ok(bytes);
        }
    }
}

/// The values of a telegram that has any.
fn values_of(body: &Body) -> Option<&Values> {
    match body {
        Body::Scan { values, .. }
        | Body::Mean { values, .. }
        | Body::Subrange { values, .. }
        | Body::MeanSubrange { values, .. }
        | Body::Reflectivity { values, .. } => Some(values),
        _ => None,
    }
}

/// Metres of each value, `None` for those that are no ranges.
fn ranges_m(values: &Values, mode: MeasuringMode) -> impl Iterator<Item = Option<f64>> {
    let metres = values.unit.metres();
    values.values.iter().map(move |value| match mode.split(*value).0 {
        Range::Units(units) => Some(f64::from(units) * metres),
        Range::Special(_) => None,
    })
}

impl Told {
    fn gather(file: &Path) -> io::Result<Self> {
        let mut told = Self {
            bytes: 0,
            kinds: BTreeMap::new(),
            telegrams: 0,
            bad_crcs: 0,
            strays: 0,
            mode: MeasuringMode::FACTORY,
            variant: None,
            scans: Scans::default(),
            index: SerialIndex::beside(file)?,
        };
        let mut stated = None;
        let mut guessed = 0;
        told.bytes = read(file, |_, _, item| {
            if let Item::Telegram { address: FROM_SCANNER.., payload } = item
                && let Ok(reply) = Reply::parse(&payload)
            {
                stated = mode_in(&reply.body).or(stated);
                told.variant = variant_in(&reply.body).or(told.variant);
                let values = values_of(&reply.body).map(|values| &values.values[..]);
                guessed = guessed.max(guess(values.unwrap_or_default()));
            }
            Ok(())
        })?;
        let code = stated.unwrap_or(guessed);
        told.mode = MeasuringMode::from_code(code).unwrap_or(MeasuringMode::FACTORY);
        read(file, |offset, _, item| {
            told.count(offset, item);
            Ok(())
        })?;
        Ok(told)
    }

    fn count(&mut self, offset: u64, item: Item) {
        match item {
            Item::Telegram { address, payload } => {
                self.telegrams += 1;
                let reply =
                    if address >= FROM_SCANNER { Reply::parse(&payload).ok() } else { None };
                let kind = words::kind(address, &payload, reply.as_ref());
                *self.kinds.entry(kind).or_default() += 1;
                if let Some(values) = reply.as_ref().and_then(|reply| values_of(&reply.body)) {
                    let at_s = self.index.time_s(offset);
                    self.scans.see(at_s, ranges_m(values, self.mode));
                }
            }
            Item::Ack => *self.kinds.entry("ACK".to_owned()).or_default() += 1,
            Item::Nak => *self.kinds.entry("NAK".to_owned()).or_default() += 1,
            Item::BadCrc { .. } => self.bad_crcs += 1,
            Item::Stray(_) => self.strays += 1,
        }
    }

    /// The telegram of scan `number`, from 1.
    fn scan(&self, file: &Path, number: u64) -> io::Result<Option<Body>> {
        let (mut found, mut count) = (None, 0);
        read(file, |_, _, item| {
            if let Item::Telegram { address: FROM_SCANNER.., payload } = item
                && found.is_none()
                && let Ok(reply) = Reply::parse(&payload)
                && values_of(&reply.body).is_some()
            {
                count += 1;
                found = (count == number).then_some(reply.body);
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Block D, if the telegram tells it.
fn mode_in(body: &Body) -> Option<u8> {
    let of_bytes = |bytes: &[u8]| Configuration::default().overlaid(bytes).measuring_mode();
    match body {
        Body::Configuration(bytes) | Body::Configured { configuration: bytes, .. } => {
            Some(of_bytes(bytes))
        }
        Body::Status(state) => Some(state.measuring_mode),
        _ => None,
    }
}

fn variant_in(body: &Body) -> Option<Variant> {
    match body {
        Body::Status(state) => Some(Variant {
            angle_deg: state.angle_deg,
            resolution_centideg: state.resolution_centideg,
        }),
        Body::VariantSwitched { variant, .. } => Some(*variant),
        _ => None,
    }
}

/// The measuring mode whose "no echo" is among the values: 0x06 (15 bits), 0x04 (14 bits) or 0.
fn guess(values: &[u16]) -> u8 {
    match values {
        _ if values.contains(&0x7ff7) => 0x06,
        _ if values.contains(&0x3ff7) => 0x04,
        _ => 0x00,
    }
}

impl Scans {
    fn see(&mut self, at_s: Option<f64>, ranges_m: impl Iterator<Item = Option<f64>>) {
        self.count += 1;
        self.first_s = self.first_s.or(at_s);
        self.last_s = at_s.or(self.last_s);
        for range_m in ranges_m {
            self.values += 1;
            let Some(range_m) = range_m else {
                self.without_echo += 1;
                continue;
            };
            self.nearest_m = Some(self.nearest_m.map_or(range_m, |other| other.min(range_m)));
            self.farthest_m = Some(self.farthest_m.map_or(range_m, |other| other.max(range_m)));
        }
    }

    fn rate_hz(&self) -> Option<f64> {
        let span_s = self.last_s? - self.first_s?;
        (self.count > 1 && span_s > 0.0).then(|| (self.count - 1) as f64 / span_s)
    }
}

fn report(request: &Request<'_>, told: &Told, out: &mut dyn Write) -> io::Result<()> {
    let most = if request.plot.is_some() && request.most == u64::MAX && !request.json {
        0
    } else {
        request.most
    };
    if !request.json {
        text_summary(request.file, told, out)?;
        if most > 0 {
            writeln!(out)?;
        }
    }
    let mut number = 0;
    read(request.file, |offset, length, item| {
        if matches!(item, Item::Stray(_)) {
            return Ok(());
        }
        number += 1;
        if number > most {
            return Ok(());
        }
        let time_s = told.index.time_s(offset);
        let shown = Shown { number, offset, length, time_s, item, mode: told.mode };
        if request.json { shown.json(out) } else { shown.text(out) }
    })?;
    if !request.json && most > 0 && number > most {
        writeln!(out, "… and {} more", number - most)?;
    }
    if request.json { json_summary(request.file, told, out) } else { Ok(()) }
}

/// One line of the report.
struct Shown {
    number: u64,
    offset: u64,
    length: u64,
    time_s: Option<f64>,
    item: Item,
    mode: MeasuringMode,
}

impl Shown {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.time_s {
            Some(time_s) => write!(out, "{:>6} {time_s:13.6}  ", self.number)?,
            None => write!(out, "{:>6} at {:>10}  ", self.number, self.offset)?,
        }
        match &self.item {
            Item::Ack => writeln!(out, "< ACK"),
            Item::Nak => writeln!(out, "< NAK"),
            Item::Stray(byte) => writeln!(out, "  {byte:#04x}"),
            Item::BadCrc { address } => {
                writeln!(out, "! a telegram with a wrong CRC, address {address:#04x}")
            }
            Item::Telegram { address, payload } if *address < FROM_SCANNER => {
                writeln!(out, "> {}", words::command(&Command::parse(payload)))
            }
            Item::Telegram { payload, .. } => match Reply::parse(payload) {
                Ok(reply) => writeln!(out, "< {}", words::reply(&reply, self.mode)),
                Err(error) => writeln!(out, "< {:#04x}, not read: {error}", payload[0]),
            },
        }
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut object = Map::new();
        object.insert("type".into(), "frame".into());
        object.insert("number".into(), self.number.into());
        object.insert("offset".into(), self.offset.into());
        object.insert("length".into(), self.length.into());
        if let Some(time_s) = self.time_s {
            object.insert("time_s".into(), time_s.into());
        }
        match &self.item {
            Item::Ack => drop(object.insert("kind".into(), "ack".into())),
            Item::Nak => drop(object.insert("kind".into(), "nak".into())),
            Item::Stray(_) | Item::BadCrc { .. } => {
                object.insert("kind".into(), "bad-crc".into());
            }
            Item::Telegram { address, payload } => {
                object.insert("address".into(), (*address).into());
                if *address < FROM_SCANNER {
                    words::command_json(&Command::parse(payload), payload, &mut object);
                } else {
                    words::reply_json(payload, self.mode, &mut object);
                }
            }
        }
        writeln!(out, "{}", Value::Object(object))
    }
}

fn text_summary(file: &Path, told: &Told, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}: line of a SICK LMS 2xx, {} bytes, {} telegrams",
        file.display(),
        told.bytes,
        told.telegrams
    )?;
    for (kind, count) in &told.kinds {
        writeln!(out, "  {kind:<28}{count}")?;
    }
    let scans = &told.scans;
    if scans.count > 0 {
        let rate = scans.rate_hz().map(|rate| format!(", {rate:.3} a second")).unwrap_or_default();
        writeln!(out, "  {:<28}{}{rate}", "scans in all", scans.count)?;
        let share = 100.0 * scans.without_echo as f64 / scans.values.max(1) as f64;
        writeln!(out, "  {:<28}{}, {share:.1} % without range", "values", scans.values)?;
        if let (Some(near), Some(far)) = (scans.nearest_m, scans.farthest_m) {
            writeln!(out, "  {:<28}{near:.3} to {far:.3} m", "ranges")?;
        }
        writeln!(out, "  {:<28}{:#04x}", "measuring mode", told.mode.code())?;
    }
    if told.bad_crcs > 0 {
        writeln!(out, "  {:<28}{}", "wrong CRC", told.bad_crcs)?;
    }
    if told.strays > 0 {
        writeln!(out, "  {:<28}{}", "bytes in no telegram", told.strays)?;
    }
    Ok(())
}

fn json_summary(file: &Path, told: &Told, out: &mut dyn Write) -> io::Result<()> {
    let scans = &told.scans;
    let summary = json!({
        "type": "summary", "file": file.display().to_string(), "format": "sick-lms2xx",
        "bytes": told.bytes, "telegrams": told.telegrams, "frames": told.kinds,
        "bad_crc": told.bad_crcs, "skipped_bytes": told.strays,
        "measuring_mode": told.mode.code(),
        "scans": {
            "count": scans.count, "rate_hz": scans.rate_hz(), "values": scans.values,
            "without_range": scans.without_echo, "nearest_m": scans.nearest_m,
            "farthest_m": scans.farthest_m,
        },
    });
    writeln!(out, "{summary}")
}
