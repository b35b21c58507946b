//! Reads recorded byte streams of all families.
//!
//! The family's [`StreamDecoder`] decodes frames; this module counts the frames, gets their times from the index file,
//! and reports them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use serde_json::{Map, Value};

use super::ReportError;
use crate::config::profile::Profile;
use crate::devices::FAMILIES;
use crate::devices::decoder::{Frame, Place, Scan, ScanTotals, StreamDecoder, Totals};
use crate::devices::families::family_of;
use crate::links::serial_record::SerialIndex;

/// Number of bytes at the start of a recording by which its sender is identified.
const HEAD_LEN: u64 = 1 << 14;
/// The named profile can count as wrong only if frames of another family make up at least this share of the first
/// bytes.
const TELLING_SHARE: f64 = 0.5;
/// There is a warning if frames of the named profile make up less than this share of the first bytes.
const STRANGE_SHARE: f64 = 0.1;
/// Largest number of bytes that are read at a time.
const PORTION: usize = 1 << 16;

/// A recorded byte stream with its decoder.
pub struct RecordedStream<'a> {
    path: &'a Path,
    doubt: Option<String>,
    index: SerialIndex,
    decoder: Box<dyn StreamDecoder>,
}

impl<'a> RecordedStream<'a> {
    /// Opens a recording of a device with `profile`; without a profile, the first bytes identify the device. With
    /// `anyway`, the profile is used even if the bytes are another product's.
    ///
    /// # Errors
    /// The recording or its index file cannot be read, the family of `profile` sends no byte streams, or the bytes
    /// contradict the profile and `anyway` is not set.
    pub fn open(
        path: &'a Path,
        profile: Option<&Profile>,
        anyway: bool,
    ) -> Result<Self, ReportError> {
        let unreadable = |error: io::Error| ReportError::Input(error.to_string());
        let mut head = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        file.take(HEAD_LEN).read_to_end(&mut head).map_err(unreadable)?;
        let index = SerialIndex::beside(path).map_err(unreadable)?;
        let Rated { mut decoder, doubt } = match profile {
            Some(profile) => named_decoder(profile, anyway, &head)?,
            None => Rated { decoder: likeliest_decoder(&head).1, doubt: None },
        };
        if decoder.needs_two_passes() {
            each_frame(path, decoder.as_mut(), |_, _| Ok(()))?;
            decoder.rewind();
        }
        Ok(Self { path, doubt, index, decoder })
    }

    /// Warning: the first bytes contain hardly any frames of the named profile, or they contradict the profile, which
    /// is used all the same because of `anyway`. `None` if there is no warning.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// Title of the sender's family.
    pub fn title(&self) -> &'static str {
        self.decoder.title()
    }

    /// Whether the stream can contain scans, for [`RecordedStream::scan`].
    pub fn has_scans(&self) -> bool {
        self.decoder.has_scans()
    }

    /// Writes the content of at most `most` frames, and a summary.
    ///
    /// # Errors
    /// The recording cannot be read, or the report cannot be written.
    pub fn report(
        &mut self,
        json: bool,
        most: u64,
        out: &mut dyn Write,
    ) -> Result<(), ReportError> {
        let name = self.path.display().to_string();
        // A decoder that needs two passes can report facts about the whole stream first.
        let is_summary_first = self.decoder.needs_two_passes() && !json;
        if is_summary_first {
            let totals = self.each_frame(|_, _, _| Ok(()))?;
            write!(out, "{}", self.decoder.summary(&name, &totals))?;
            if most > 0 {
                writeln!(out)?;
            }
            self.decoder.rewind();
        }
        let item = self.decoder.item();
        let totals = self.each_frame(|decoder, place, frame| match place.number <= most {
            true if json => write_fields(out, item, &place, &frame),
            true => writeln!(out, "{}{}", decoder.margin(&place), frame.content.text()),
            false => Ok(()),
        })?;
        if json {
            let head = [("type", "summary".into()), ("file", name.into())];
            let mut summary = Map::from_iter(head.map(|(key, value)| (key.to_owned(), value)));
            summary.extend(self.decoder.summary_fields(&totals));
            writeln!(out, "{}", Value::Object(summary))?;
            return Ok(());
        }
        if totals.frames > most && most > 0 {
            writeln!(out, "… and {} more", totals.frames - most)?;
        }
        if !is_summary_first {
            if most > 0 && totals.frames > 0 {
                writeln!(out)?;
            }
            write!(out, "{}", self.decoder.summary(&name, &totals))?;
        }
        Ok(())
    }

    /// Returns scan `number`, counted from 1, as `Ok`; if the stream has fewer scans, returns their number as `Err`.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn scan(&mut self, number: u64) -> Result<Result<Scan, u64>, ReportError> {
        self.decoder.rewind();
        let (mut found, mut count) = (None, 0);
        each_frame(self.path, self.decoder.as_mut(), |_, frame| {
            if found.is_none()
                && let Some(scan) = frame.content.scan()
            {
                count += 1;
                found = (count == number).then_some(scan);
            }
            Ok(())
        })?;
        Ok(found.ok_or(count))
    }

    /// Calls `see` for every frame of the stream with the time of its first byte: seconds since the start of the
    /// recording, if known. Ends at the first error of `see`.
    ///
    /// # Errors
    /// The recording cannot be read, or `see` fails.
    pub fn visit(
        &mut self,
        mut see: impl FnMut(Option<f64>, &Frame) -> Result<(), String>,
    ) -> Result<(), ReportError> {
        self.decoder.rewind();
        let index = &self.index;
        let mut refusal = None;
        let visited = each_frame(self.path, self.decoder.as_mut(), |_, frame| {
            see(index.time_s(frame.offset), &frame).map_err(|why| {
                refusal = Some(why);
                io::Error::other("refused")
            })
        });
        match refusal {
            Some(why) => Err(ReportError::Input(why)),
            None => visited.map(|_| ()),
        }
    }

    /// Calls `see` for every frame of the stream; returns the totals.
    fn each_frame(
        &mut self,
        mut see: impl FnMut(&dyn StreamDecoder, Place, Frame) -> io::Result<()>,
    ) -> Result<Totals, ReportError> {
        let mut totals = Totals::default();
        totals.bytes = each_frame(self.path, self.decoder.as_mut(), |decoder, frame| {
            let time_s = self.index.time_s(frame.offset);
            count(&mut totals, &frame, time_s);
            see(decoder, Place { number: totals.frames, offset: frame.offset, time_s }, frame)
        })?;
        Ok(totals)
    }
}

/// A decoder, and a warning if the decoder does not suit the first bytes of the stream.
struct Rated {
    decoder: Box<dyn StreamDecoder>,
    doubt: Option<String>,
}

/// Decoder of the family of `profile` for a byte stream that begins with `head`.
///
/// # Errors
/// The family of `profile` sends no byte streams; or the profile contradicts the bytes, and `anyway` is not set.
fn named_decoder(profile: &Profile, anyway: bool, head: &[u8]) -> Result<Rated, ReportError> {
    let name = &profile.name;
    let Some(mut decoder) = family_of(profile).stream_decoder(Some(profile)) else {
        let text = format!("{name} sends datagrams, not a byte stream; use a capture (.pcap)");
        return Err(ReportError::Input(text));
    };
    let own = decoder.likelihood(head);
    let (best, likeliest) = likeliest_decoder(head);
    let percent = |share: f64| (100.0 * share).round();
    let is_other_family = best >= TELLING_SHARE && own < best / 2.0;
    let why = if is_other_family {
        Some(format!(
            "{} % of the first bytes are frames of {}, {} % are frames of {name}",
            percent(best),
            likeliest.title(),
            percent(own),
        ))
    } else {
        decoder.misfit(head)
    };
    if let Some(why) = why {
        return match anyway {
            true => Ok(Rated { decoder, doubt: Some(why) }),
            false => Err(ReportError::OtherProduct(why)),
        };
    }
    let is_strange = !head.is_empty() && own < STRANGE_SHARE;
    let doubt = is_strange
        .then(|| format!("only {} % of the first bytes are frames of {name}", percent(own)));
    Ok(Rated { decoder, doubt })
}

/// Most probable decoder of a byte stream that begins with `head`, and its [`StreamDecoder::likelihood`], 0 to 1.
fn likeliest_decoder(head: &[u8]) -> (f64, Box<dyn StreamDecoder>) {
    let decoders = FAMILIES.iter().filter_map(|family| family.stream_decoder(None));
    let rated = decoders.map(|mut decoder| (decoder.likelihood(head), decoder));
    // Among equal decoders the first is used.
    let likeliest = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    likeliest.expect("families with byte streams")
}

/// Whether the family of `profile` sends byte streams.
pub fn sends_streams(profile: &Profile) -> bool {
    family_of(profile).stream_decoder(Some(profile)).is_some()
}

/// Calls `see` for every frame of a stream, with the decoder's state after that frame; returns the length of the
/// stream, bytes.
fn each_frame(
    path: &Path,
    decoder: &mut dyn StreamDecoder,
    mut see: impl FnMut(&dyn StreamDecoder, Frame) -> io::Result<()>,
) -> Result<u64, ReportError> {
    let unreadable = |error: io::Error| ReportError::Input(error.to_string());
    let mut input = File::open(path).map_err(unreadable)?;
    let mut portion = vec![0; PORTION];
    let mut bytes = 0;
    loop {
        let length = input.read(&mut portion).map_err(unreadable)?;
        bytes += length as u64;
        if length == 0 {
            decoder.end();
        }
        let mut rest = &portion[..length];
        while let Some(frame) = decoder.next_frame(&mut rest) {
            see(decoder, frame)?;
        }
        if length == 0 {
            return Ok(bytes);
        }
    }
}

fn count(totals: &mut Totals, frame: &Frame, time_s: Option<f64>) {
    totals.frames += 1;
    totals.framed_bytes += frame.length;
    totals.times_s = span(totals.times_s, time_s);
    if let Some(kind) = &frame.kind {
        match totals.kinds.get_mut(kind) {
            Some(count) => *count += 1,
            None => drop(totals.kinds.insert(kind.clone(), 1)),
        }
    }
    if let Some(scan) = frame.content.scan() {
        count_scan(&mut totals.scans, &scan, time_s);
    }
}

fn count_scan(totals: &mut ScanTotals, scan: &Scan, time_s: Option<f64>) {
    totals.count += 1;
    totals.times_s = span(totals.times_s, time_s);
    totals.values += scan.ranges_m.len() as u64;
    for range_m in scan.ranges_m.iter().flatten() {
        let (near_m, far_m) = totals.span_m.unwrap_or((*range_m, *range_m));
        totals.span_m = Some((near_m.min(*range_m), far_m.max(*range_m)));
    }
    totals.without_echo += scan.ranges_m.iter().filter(|range_m| range_m.is_none()).count() as u64;
}

/// Moves the end of the range `times_s` to `next_s`, or starts a range there. Without `next_s`, the range stays
/// unchanged.
fn span(times_s: Option<(f64, f64)>, next_s: Option<f64>) -> Option<(f64, f64)> {
    next_s.map_or(times_s, |next_s| Some((times_s.map_or(next_s, |(first_s, _)| first_s), next_s)))
}

/// Writes a frame as one JSON object.
fn write_fields(out: &mut dyn Write, item: &str, place: &Place, frame: &Frame) -> io::Result<()> {
    let head = [
        ("type", item.into()),
        ("number", place.number.into()),
        ("offset", place.offset.into()),
        ("length", frame.length.into()),
        ("time_s", place.time_s.into()),
    ];
    let mut line: Map<String, Value> =
        head.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    line.extend(frame.content.fields());
    writeln!(out, "{}", Value::Object(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STREAM: &[u8] =
        b"$GPGSV,1,1,00,1*64\r\n\xb5\x62\x05\x01\x02\x00\x06\x08\x16\x3f??$GPX*00\r\n";

    fn report(json: bool) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gnss.bin");
        std::fs::write(&path, STREAM).unwrap();
        let index = "time_s,offset,length\n1.000000000,0,20\n1.250000000,20,10\n";
        std::fs::write(path.with_extension("idx.csv"), index).unwrap();
        let mut out = Vec::new();
        let mut stream = RecordedStream::open(&path, None, false).unwrap();
        stream.report(json, u64::MAX, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn people_read_lines_and_names() {
        let text = report(false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "   1.000000000 s  nmea   $GPGSV,1,1,00,1*64");
        assert_eq!(lines[1], "   1.250000000 s  ubx    ACK-ACK class=6 id=8");
        assert!(lines[2].ends_with("noise  2 bytes"));
        assert!(lines[3].contains("$GPX*00  <- checksum"), "{}", lines[3]);
        assert!(text.contains("41 bytes, 2 of them noise"), "{text}");
    }

    #[test]
    fn machines_read_one_object_a_line() {
        let text = report(true);
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0]["values"]["signal"], "1");
        assert_eq!(lines[1]["message"], "ACK-ACK");
        assert_eq!((&lines[1]["time_s"], &lines[1]["offset"]), (&json!(1.25), &json!(20)));
        assert_eq!(lines[4]["messages"]["GPGSV"], 1);
        assert_eq!(lines[4]["noise_bytes"], 2);
    }
}
