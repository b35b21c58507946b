//! Decodes the line of a SICK LMS 2xx, in one or both directions.
//!
//! A scan does not contain the measuring mode, which determines the bits for range and for flags. The mode is taken
//! from telegrams with the configuration; without one, it is guessed from the values ([`mode_guess`]).

mod mode_guess;
mod words;

use serde_json::{Map, Value, json};

use self::mode_guess::ModeGuess;
use super::profile::SickLms2xxProfile;
use crate::decoder::facts::Facts;
use crate::decoder::{Content, Frame, Place, Scan, StreamDecoder, Totals};
use crate::wire::framer::Framer;
use crate::wire::sick_lms2xx::command::Command;
use crate::wire::sick_lms2xx::configuration::Configuration;
use crate::wire::sick_lms2xx::data::{MeasuringMode, Range, Values};
use crate::wire::sick_lms2xx::frame::{Item, Telegrams};
use crate::wire::sick_lms2xx::reply::{Body, Reply};
use crate::wire::sick_lms2xx::{FROM_SCANNER, Variant};

#[derive(Default)]
pub(super) struct LmsDecoder {
    framer: Framer<Telegrams>,
    is_over: bool,
    bad_crcs: u64,
    stray_bytes: u64,
    /// Angle and resolution of the profile; `None` without a profile, or if hosts can change them.
    variant: Option<Variant>,
    stream: StreamState,
    /// Whether `stream` comes from an earlier pass over the whole recording and is final.
    is_known: bool,
    expected: Option<Expected>,
}

/// Properties of a stream that a profile predicts.
#[derive(Clone)]
struct Expected {
    /// Type text without the software version, for example `LMS291;S05`.
    type_text: String,
    variants: Vec<Variant>,
    measuring_modes: Vec<MeasuringMode>,
    has_reflectivity: bool,
}

impl Expected {
    fn new(profile: &SickLms2xxProfile) -> Self {
        Self {
            type_text: model_of(&profile.identity.type_text).to_owned(),
            variants: profile.scan.variants.clone(),
            measuring_modes: profile.configuration.measuring_modes.clone(),
            has_reflectivity: profile.reflectivity.telegrams,
        }
    }

    /// Reason why the expected scanner cannot have sent this reply; `None` if it can.
    fn misfit(&self, body: &Body) -> Option<String> {
        if let Body::Type { text } | Body::PowerOn { text } = body {
            let text = String::from_utf8_lossy(text);
            let text = text.trim_matches(|c: char| c == '\0' || c == ' ');
            return (model_of(text) != self.type_text)
                .then(|| format!("its type is {text}, not {}", self.type_text));
        }
        if matches!(body, Body::Reflectivity { .. }) && !self.has_reflectivity {
            return Some("it sends reflectivity, which this model has no telegrams for".to_owned());
        }
        let list = |words: Vec<String>| words.join(", ");
        if let Some(variant) = variant_in(body)
            && !self.variants.contains(&variant)
        {
            let has = list(self.variants.iter().map(degrees).collect());
            return Some(format!("it scans {}; this model has {has}", degrees(&variant)));
        }
        if let Some(code) = mode_in(body)
            && !self.measuring_modes.iter().any(|mode| mode.code() == code)
        {
            return Some(format!(
                "its measuring mode is {code:#04x}, which this model does not have"
            ));
        }
        let values = match body {
            // Some scans take several revolutions with shifted directions. A partial scan is one of these revolutions:
            // its number of values can differ by one.
            Body::Scan { values, .. } | Body::Mean { values, .. } if !values.is_partial => values,
            _ => return None,
        };
        let mut counts: Vec<usize> = self.variants.iter().map(values_in).collect();
        counts.sort_unstable();
        counts.dedup();
        let count = values.values.len();
        // A telegram without values determines nothing.
        (count > 0 && !counts.contains(&count)).then(|| {
            let allowed = list(counts.iter().map(usize::to_string).collect());
            format!("a scan of it has {count} values; this model's have {allowed}")
        })
    }
}

/// Removes the software version from a type text.
fn model_of(text: &str) -> &str {
    text.rsplit_once(';').map_or(text, |(model, _)| model).trim_end()
}

fn degrees(variant: &Variant) -> String {
    let resolution_deg = f64::from(variant.resolution_centideg) / 100.0;
    format!("{} degrees at {resolution_deg}", variant.angle_deg)
}

/// Number of values in a whole scan.
fn values_in(variant: &Variant) -> usize {
    usize::from(variant.angle_deg) * 100 / usize::from(variant.resolution_centideg) + 1
}

/// Properties of a stream that the decoding of scans needs.
#[derive(Clone, Copy, Default)]
struct StreamState {
    /// Measuring mode named in a telegram.
    stated_mode: Option<u8>,
    guess: ModeGuess,
    variant: Option<Variant>,
}

impl StreamState {
    fn see(&mut self, body: &Body) {
        self.stated_mode = mode_in(body).or(self.stated_mode);
        self.variant = variant_in(body).or(self.variant);
        if let Some(values) = values_of(body) {
            self.guess.see(values);
        }
    }

    fn mode(&self) -> MeasuringMode {
        let code = self.stated_mode.unwrap_or_else(|| self.guess.mode());
        MeasuringMode::from_code(code).unwrap_or(MeasuringMode::FACTORY)
    }
}

impl LmsDecoder {
    pub(super) fn new(profile: Option<&SickLms2xxProfile>) -> Self {
        let fixed = profile.filter(|profile| !profile.scan.can_switch_variant);
        Self {
            variant: fixed.map(|profile| profile.defaults.variant),
            expected: profile.map(Expected::new),
            ..Self::default()
        }
    }
}

impl StreamDecoder for LmsDecoder {
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Frame> {
        loop {
            let piece = self.framer.next_piece(input)?;
            let (offset, length) = (piece.offset, piece.bytes.len() as u64);
            let Some(item) = piece.frame else {
                self.stray_bytes += length;
                continue;
            };
            let is_telling = matches!(item, Item::Telegram { .. });
            let (item, kind) = match item {
                Item::Ack => (LineItem::Ack, Some("ACK".to_owned())),
                Item::Nak => (LineItem::Nak, Some("NAK".to_owned())),
                Item::BadCrc { address } => {
                    self.bad_crcs += 1;
                    (LineItem::BadCrc { address }, None)
                }
                Item::Telegram { address, payload } if address < FROM_SCANNER => {
                    let kind = words::command_kind(&payload);
                    (LineItem::Command { address, payload }, Some(kind))
                }
                Item::Telegram { address, payload } => {
                    let reply = Reply::parse(&payload).map_err(|error| error.to_string());
                    if let (Ok(reply), false) = (&reply, self.is_known) {
                        self.stream.see(&reply.body);
                    }
                    let kind = words::reply_kind(&payload, reply.as_ref().ok());
                    let stream = StreamState {
                        variant: self.variant.or(self.stream.variant),
                        ..self.stream
                    };
                    (LineItem::Reply { address, payload, reply, stream }, Some(kind))
                }
            };
            return Some(Frame { offset, length, kind, is_telling, content: Box::new(item) });
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        self.framer.end();
    }

    fn skipped_bytes(&self) -> u64 {
        self.stray_bytes
    }

    fn rewind(&mut self) {
        let is_known = self.is_known || self.is_over;
        let stream = if is_known { self.stream } else { StreamState::default() };
        let (variant, expected) = (self.variant, self.expected.take());
        *self = Self { variant, expected, stream, is_known, ..Self::default() };
    }

    fn misfit(&mut self, head: &[u8]) -> Option<String> {
        let (expected, mut rest) = (self.expected.take()?, head);
        let mut found = None;
        while let Some(piece) = self.framer.next_piece(&mut rest) {
            if let Some(Item::Telegram { address, payload }) = piece.frame
                && address >= FROM_SCANNER
                && let Ok(reply) = Reply::parse(&payload)
            {
                found = found.or_else(|| expected.misfit(&reply.body));
            }
        }
        self.expected = Some(expected);
        self.rewind();
        found
    }

    fn needs_two_passes(&self) -> bool {
        true
    }

    fn title(&self) -> &'static str {
        "SICK LMS 2xx"
    }

    fn has_scans(&self) -> bool {
        true
    }

    fn margin(&self, place: &Place) -> String {
        match place.time_s {
            Some(time_s) => format!("{:>6} {time_s:13.6}  ", place.number),
            None => format!("{:>6} at {:>10}  ", place.number, place.offset),
        }
    }

    fn headline(&self, totals: &Totals) -> String {
        let count = telegrams(totals);
        format!("line of a SICK LMS 2xx, {} bytes, {count} telegrams", totals.bytes)
    }

    fn facts(&self, totals: &Totals) -> Facts {
        let mut facts = Facts::default();
        facts.add_data("format", "sick-lms2xx");
        facts.add_data("bytes", totals.bytes);
        facts.add_data("telegrams", telegrams(totals));
        totals.add_kinds(&mut facts, "frames", false);
        facts.add_count("bad_crc", self.bad_crcs, "telegrams with a wrong CRC");
        facts.add_count("skipped_bytes", self.stray_bytes, "bytes in no telegram");
        let (mode, is_guessed) = (self.stream.mode().code(), self.stream.stated_mode.is_none());
        facts.add_data("measuring_mode", mode);
        facts.add_data("measuring_mode_is_guessed", is_guessed);
        let scans = &totals.scans;
        facts.add_data(
            "scans",
            json!({
                "count": scans.count, "rate_hz": scans.rate_hz(), "values": scans.values,
                "without_range": scans.without_echo,
                "nearest_m": scans.span_m.map(|(near_m, _)| near_m),
                "farthest_m": scans.span_m.map(|(_, far_m)| far_m),
            }),
        );
        if scans.count > 0 {
            let rate = scans.rate_hz().map(|rate| format!(", {rate:.3} a second"));
            facts.add_line("scans", format!("{}{}", scans.count, rate.unwrap_or_default()));
            let share = 100.0 * scans.without_echo as f64 / scans.values.max(1) as f64;
            facts.add_line("values", format!("{}, {share:.1} % without range", scans.values));
            if let Some((near_m, far_m)) = scans.span_m {
                facts.add_line("ranges", format!("{near_m:.3} to {far_m:.3} m"));
            }
            let guessed =
                if is_guessed { ", guessed from the values: no telegram reports it" } else { "" };
            facts.add_line("measuring mode", format!("{mode:#04x}{guessed}"));
        }
        facts
    }
}

/// Number of telegrams with a correct CRC; single bytes (ACK, NAK) are not counted.
fn telegrams(totals: &Totals) -> u64 {
    let telegrams = totals.kinds.iter().filter(|(kind, _)| !["ACK", "NAK"].contains(&&kind[..]));
    telegrams.map(|(_, count)| count).sum()
}

/// A telegram or byte on the line.
enum LineItem {
    Ack,
    Nak,
    BadCrc { address: u8 },
    Command { address: u8, payload: Vec<u8> },
    Reply { address: u8, payload: Vec<u8>, reply: Result<Reply, String>, stream: StreamState },
}

impl Content for LineItem {
    fn text(&self) -> String {
        match self {
            Self::Ack => "< ACK".to_owned(),
            Self::Nak => "< NAK".to_owned(),
            Self::BadCrc { address } => {
                format!("! a telegram with a wrong CRC, address {address:#04x}")
            }
            Self::Command { payload, .. } => {
                format!("> {}", words::command(&Command::parse(payload)))
            }
            Self::Reply { reply: Ok(reply), stream, .. } => {
                format!("< {}", words::reply(reply, stream.mode()))
            }
            Self::Reply { reply: Err(error), payload, .. } => {
                format!("< {:#04x}, not read: {error}", payload[0])
            }
        }
    }

    fn fields(&self) -> Map<String, Value> {
        let kind = |kind: &str| Map::from_iter([("kind".to_owned(), Value::from(kind))]);
        match self {
            Self::Ack => kind("ack"),
            Self::Nak => kind("nak"),
            Self::BadCrc { .. } => kind("bad-crc"),
            Self::Command { address, payload } => words::command_fields(*address, payload),
            Self::Reply { address, payload, reply, stream } => {
                words::reply_fields(*address, payload, reply, stream.mode())
            }
        }
    }

    fn scan(&self) -> Option<Scan> {
        let Self::Reply { reply: Ok(reply), stream, .. } = self else { return None };
        scan_of(&reply.body, stream.mode(), stream.variant)
    }
}

/// Scan in a telegram. Without `variant`, or for a partial scan, angle and resolution follow from the number of values.
fn scan_of(body: &Body, mode: MeasuringMode, variant: Option<Variant>) -> Option<Scan> {
    let values = values_of(body)?;
    let guessed = match (body, values.values.len()) {
        (Body::Reflectivity { .. }, _) => (90.0, 0.5),
        (_, 361) => (180.0, 0.5),
        (_, 101) => (100.0, 1.0),
        (_, 201) => (100.0, 0.5),
        (_, 401) => (100.0, 0.25),
        _ => (180.0, 1.0),
    };
    let (angle_deg, step_deg) = match variant {
        Some(variant) if !values.is_partial => {
            (f64::from(variant.angle_deg), f64::from(variant.resolution_centideg) / 100.0)
        }
        _ => guessed,
    };
    let first = match body {
        Body::Subrange { part, .. } | Body::MeanSubrange { part, .. } => part.first,
        _ => 1,
    };
    let right_deg = f64::from(values.quarters) * 0.25 - angle_deg / 2.0;
    Some(Scan {
        ranges_m: ranges_m(values, mode).collect(),
        first_deg: right_deg + (f64::from(first) - 1.0) * step_deg,
        step_deg,
    })
}

/// Values of a telegram, if any.
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

/// Ranges of the values, metres; `None` for special values.
fn ranges_m(values: &Values, mode: MeasuringMode) -> impl Iterator<Item = Option<f64>> {
    let metres = values.unit.metres();
    values.values.iter().map(move |value| match mode.split(*value).0 {
        Range::Units(units) => Some(f64::from(units) * metres),
        Range::Special(_) => None,
    })
}

/// Measuring mode (block D) in a telegram, if any.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::sick_lms2xx::data::Unit;

    #[test]
    fn values_run_from_right_to_left() {
        let values = Values {
            quarters: 0,
            is_partial: false,
            unit: Unit::Centimetres,
            values: (0..181).map(|index| if index % 180 == 0 { 100 } else { 200 }).collect(),
        };
        let body = Body::Scan { values, indices: None };
        let scan = scan_of(&body, MeasuringMode::FACTORY, None).unwrap();
        let points: Vec<[f64; 2]> = scan.points().collect();
        let near =
            |point: [f64; 2], x: f64, y: f64| (point[0] - x).abs() + (point[1] - y).abs() < 1e-9;
        assert!(near(points[0], 0.0, -1.0), "{:?}", points[0]);
        assert!(near(points[90], 2.0, 0.0), "{:?}", points[90]);
        assert!(near(points[180], 0.0, 1.0), "{:?}", points[180]);
    }
}
