//! The usual sentences, field by field.
//!
//! Empty fields are `None`, because receivers leave unknown values empty.

use serde::Serialize;

use super::super::ParseError;
use super::number::not_a;
use super::{Angle, Date, Number, Position, RawSentence, Time};

/// A field at the end of a sentence that only later versions of NMEA 0183 define.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Tail<T> {
    /// The sentence ends before the field.
    #[default]
    Absent,
    /// The field is empty.
    Empty,
    /// The field has a value.
    Value(T),
}

/// Reads a sentence's fields one by one.
struct Reader<'a> {
    fields: std::slice::Iter<'a, String>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<&'a str, ParseError> {
        let missing = ParseError::Length { what: "sentence's fields", need: 1, got: 0 };
        self.fields.next().map(String::as_str).ok_or(missing)
    }

    fn left(&self) -> usize {
        self.fields.len()
    }
}

/// A value that occupies one or more fields of a sentence.
trait Field: Sized {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError>;
    fn write(&self, out: &mut Vec<String>);
}

/// A value that occupies exactly one field of a sentence.
trait Scalar: Sized + std::fmt::Display {
    fn read_text(text: &str) -> Result<Self, ParseError>;
}

impl Scalar for Number {
    fn read_text(text: &str) -> Result<Self, ParseError> {
        Self::read(text)
    }
}

impl Scalar for Time {
    fn read_text(text: &str) -> Result<Self, ParseError> {
        Self::read(text)
    }
}

impl Scalar for Date {
    fn read_text(text: &str) -> Result<Self, ParseError> {
        Self::read(text)
    }
}

impl Scalar for char {
    fn read_text(text: &str) -> Result<Self, ParseError> {
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(letter), None) => Ok(letter),
            _ => Err(not_a("letter", text)),
        }
    }
}

impl Scalar for String {
    fn read_text(text: &str) -> Result<Self, ParseError> {
        Ok(text.to_string())
    }
}

impl<T: Scalar> Field for Option<T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let text = reader.next()?;
        if text.is_empty() { Ok(None) } else { T::read_text(text).map(Some) }
    }

    fn write(&self, out: &mut Vec<String>) {
        out.push(self.as_ref().map(T::to_string).unwrap_or_default());
    }
}

impl<T: Scalar> Field for Tail<T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        if reader.left() == 0 {
            return Ok(Self::Absent);
        }
        Ok(Option::<T>::read(reader)?.map_or(Self::Empty, Self::Value))
    }

    fn write(&self, out: &mut Vec<String>) {
        match self {
            Self::Absent => {}
            Self::Empty => out.push(String::new()),
            Self::Value(value) => out.push(value.to_string()),
        }
    }
}

impl<T: Field, const N: usize> Field for [T; N] {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let items: Vec<T> = (0..N).map(|_| T::read(reader)).collect::<Result<_, _>>()?;
        Ok(items.try_into().unwrap_or_else(|_| unreachable!("N were read")))
    }

    fn write(&self, out: &mut Vec<String>) {
        for item in self {
            item.write(out);
        }
    }
}

impl Field for Option<Position> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let texts = [reader.next()?, reader.next()?, reader.next()?, reader.next()?];
        if texts.iter().all(|text| text.is_empty()) {
            return Ok(None);
        }
        let [latitude, north, longitude, east] = texts;
        Ok(Some(Position {
            latitude: Angle::read(latitude, 2, 90.0)?,
            is_north: one_of(north, "N", "S")?,
            longitude: Angle::read(longitude, 3, 180.0)?,
            is_east: one_of(east, "E", "W")?,
        }))
    }

    fn write(&self, out: &mut Vec<String>) {
        let Some(at) = self else {
            out.extend(std::iter::repeat_n(String::new(), 4));
            return;
        };
        out.push(at.latitude.to_string());
        out.push(if at.is_north { "N" } else { "S" }.to_string());
        out.push(at.longitude.to_string());
        out.push(if at.is_east { "E" } else { "W" }.to_string());
    }
}

fn one_of(text: &str, yes: &str, no: &str) -> Result<bool, ParseError> {
    if text == yes {
        Ok(true)
    } else if text == no {
        Ok(false)
    } else {
        Err(not_a("hemisphere", text))
    }
}

/// A satellite in a GSV sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SatelliteInView {
    /// Number of the satellite in the talker's system.
    pub svid: Option<Number>,
    /// Elevation, degrees.
    pub elevation_deg: Option<Number>,
    /// Azimuth, degrees clockwise from north.
    pub azimuth_deg: Option<Number>,
    /// Carrier-to-noise ratio, dB-Hz; `None` if the satellite is not tracked.
    pub cno_dbhz: Option<Number>,
}

impl Field for SatelliteInView {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            svid: Field::read(reader)?,
            elevation_deg: Field::read(reader)?,
            azimuth_deg: Field::read(reader)?,
            cno_dbhz: Field::read(reader)?,
        })
    }

    fn write(&self, out: &mut Vec<String>) {
        self.svid.write(out);
        self.elevation_deg.write(out);
        self.azimuth_deg.write(out);
        self.cno_dbhz.write(out);
    }
}

impl Field for Vec<SatelliteInView> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        // A field that remains after the complete satellites is the number of the signal.
        (0..reader.left() / 4).map(|_| Field::read(reader)).collect()
    }

    fn write(&self, out: &mut Vec<String>) {
        for satellite in self {
            satellite.write(out);
        }
    }
}

/// Text of a TXT sentence, including commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct FreeText(pub String);

impl Field for FreeText {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let mut text = reader.next()?.to_string();
        for part in reader.fields.by_ref() {
            text.push(',');
            text.push_str(part);
        }
        Ok(Self(text))
    }

    fn write(&self, out: &mut Vec<String>) {
        out.extend(self.0.split(',').map(str::to_string));
    }
}

macro_rules! sentences {
    ($($(#[$doc:meta])* $name:ident $type:literal {
        $($(#[$field_doc:meta])* $field:ident: $field_type:ty),+ $(,)?
    })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
            pub struct $name {
                $($(#[$field_doc])* pub $field: $field_type),+
            }

            impl Field for $name {
                fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
                    Ok(Self { $($field: Field::read(reader)?),+ })
                }

                fn write(&self, out: &mut Vec<String>) {
                    $(self.$field.write(out);)+
                }
            }

            impl From<$name> for Content {
                fn from(content: $name) -> Self {
                    Self::$name(content)
                }
            }
        )+

        /// Content of a sentence.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum Content {
            $(#[doc = concat!("`", $type, "`")] $name($name),)+
        }

        impl Content {
            /// Type of the sentence, three letters.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $type),+
                }
            }

            fn read(kind: &str, reader: &mut Reader<'_>) -> Option<Result<Self, ParseError>> {
                match kind {
                    $($type => Some($name::read(reader).map(Self::$name)),)+
                    _ => None,
                }
            }

            fn write(&self, out: &mut Vec<String>) {
                match self {
                    $(Self::$name(content) => content.write(out)),+
                }
            }
        }
    };
}

sentences! {
    /// Position, quality of the fix, and altitude.
    Gga "GGA" {
        /// Time, UTC.
        time: Option<Time>,
        /// Position in WGS84.
        position: Option<Position>,
        /// Quality of the fix: 0 none, 1 autonomous, 2 differential, 4 RTK fixed, 5 RTK float, 6 dead
        /// reckoning.
        quality: Option<Number>,
        /// Number of satellites used; u-blox limits it to 12.
        satellites: Option<Number>,
        /// Horizontal dilution of precision.
        hdop: Option<Number>,
        /// Altitude above mean sea level, metres.
        altitude_m: Option<Number>,
        /// Unit of the altitude, `M`.
        altitude_unit: Option<char>,
        /// Ellipsoidal height minus height above mean sea level, metres.
        geoid_separation_m: Option<Number>,
        /// Unit of the separation, `M`.
        separation_unit: Option<char>,
        /// Age of differential corrections, seconds.
        correction_age_s: Option<Number>,
        /// Id of the reference station.
        station: Option<Number>,
    }
    /// Latitude and longitude, with time and status.
    Gll "GLL" {
        /// Position in WGS84.
        position: Option<Position>,
        /// Time, UTC.
        time: Option<Time>,
        /// Status: A valid, V invalid.
        status: Option<char>,
        /// Mode, from version 2.3 on: N none, A autonomous, D differential, E dead reckoning.
        mode: Tail<char>,
    }
    /// Satellites used for the fix, and dilution of precision.
    Gsa "GSA" {
        /// Mode of operation: A automatic, M manual.
        operation: Option<char>,
        /// Kind of fix: 1 none, 2 two-dimensional, 3 three-dimensional.
        navigation_mode: Option<Number>,
        /// Numbers of the satellites used, all of one system.
        satellites: [Option<Number>; 12],
        /// Position dilution of precision.
        pdop: Option<Number>,
        /// Horizontal dilution of precision.
        hdop: Option<Number>,
        /// Vertical dilution of precision.
        vdop: Option<Number>,
        /// System, from version 4.10 on: 1 GPS and SBAS, 2 GLONASS, 3 Galileo, 4 BeiDou, 5 QZSS.
        system: Tail<String>,
    }
    /// Satellites in view, up to four per message.
    Gsv "GSV" {
        /// Number of messages of the group.
        messages: Option<Number>,
        /// Index of the message, from 1.
        message: Option<Number>,
        /// Number of satellites in view, over all messages.
        in_view: Option<Number>,
        /// Satellites of this message.
        satellites: Vec<SatelliteInView>,
        /// From version 4.10 on: number of the signal, a hex digit.
        signal: Tail<String>,
    }
    /// Position, speed, course and date: the recommended minimum.
    Rmc "RMC" {
        /// Time, UTC.
        time: Option<Time>,
        /// Status: A valid, V invalid.
        status: Option<char>,
        /// Position in WGS84.
        position: Option<Position>,
        /// Speed over ground, knots.
        speed_kn: Option<Number>,
        /// Course over ground from true north, clockwise, degrees.
        course_deg: Option<Number>,
        /// Date, UTC.
        date: Option<Date>,
        /// Magnetic declination, degrees.
        declination_deg: Option<Number>,
        /// Direction of the declination: E or W.
        declination_side: Option<char>,
        /// Mode, from version 2.3 on: N, A, D or E as in GLL, F RTK float, R RTK fixed.
        mode: Tail<char>,
        /// From version 4.10 on: navigational status; V: not provided.
        navigation_status: Tail<char>,
    }
    /// Course and speed over ground.
    Vtg "VTG" {
        /// Course over ground from true north, clockwise, degrees.
        course_true_deg: Option<Number>,
        /// Reference of the true course, `T`.
        true_unit: Option<char>,
        /// Course from magnetic north, degrees.
        course_magnetic_deg: Option<Number>,
        /// Reference of the magnetic course, `M`.
        magnetic_unit: Option<char>,
        /// Speed over ground, knots.
        speed_kn: Option<Number>,
        /// Unit of the speed, `N` (knots).
        knots_unit: Option<char>,
        /// Speed over ground, km/h.
        speed_km_h: Option<Number>,
        /// Unit of the speed, `K` (km/h).
        km_h_unit: Option<char>,
        /// Mode, from version 2.3 on: N, A, D or E, as in GLL.
        mode: Tail<char>,
    }
    /// Error statistics of the position.
    Gst "GST" {
        /// Time, UTC.
        time: Option<Time>,
        /// RMS of the range residuals, metres.
        range_rms_m: Option<Number>,
        /// Semi-major axis of the error ellipse, metres.
        semi_major_m: Option<Number>,
        /// Semi-minor axis of the error ellipse, metres.
        semi_minor_m: Option<Number>,
        /// Orientation of the semi-major axis from true north, degrees.
        orientation_deg: Option<Number>,
        /// Standard deviation of the latitude, metres.
        latitude_m: Option<Number>,
        /// Standard deviation of the longitude, metres.
        longitude_m: Option<Number>,
        /// Standard deviation of the altitude, metres.
        altitude_m: Option<Number>,
    }
    /// Time and date.
    Zda "ZDA" {
        /// Time, UTC.
        time: Option<Time>,
        /// Day: 1 to 31.
        day: Option<Number>,
        /// Month: 1 to 12.
        month: Option<Number>,
        /// Year, four digits.
        year: Option<Number>,
        /// Offset of the local time zone from UTC: hours.
        zone_hours: Option<Number>,
        /// Offset of the local time zone from UTC: minutes beyond the whole hours.
        zone_minutes: Option<Number>,
    }
    /// Position from several satellite systems.
    Gns "GNS" {
        /// Time, UTC.
        time: Option<Time>,
        /// Position in WGS84.
        position: Option<Position>,
        /// Modes, one letter for each system as in RMC: GPS, GLONASS, Galileo, BeiDou and, from version 4.11 on,
        /// QZSS.
        modes: Option<String>,
        /// Number of satellites used.
        satellites: Option<Number>,
        /// Horizontal dilution of precision.
        hdop: Option<Number>,
        /// Altitude above mean sea level, metres.
        altitude_m: Option<Number>,
        /// Ellipsoidal height minus height above mean sea level, metres.
        geoid_separation_m: Option<Number>,
        /// Age of differential corrections, seconds.
        correction_age_s: Option<Number>,
        /// Id of the reference station.
        station: Option<Number>,
        /// From version 4.10 on: navigational status; V: not provided.
        navigation_status: Tail<char>,
    }
    /// Detection of faulty satellites (RAIM).
    Gbs "GBS" {
        /// Time, UTC.
        time: Option<Time>,
        /// Expected error of the latitude, metres.
        latitude_error_m: Option<Number>,
        /// Expected error of the longitude, metres.
        longitude_error_m: Option<Number>,
        /// Expected error of the altitude, metres.
        altitude_error_m: Option<Number>,
        /// Number of the satellite that is most likely at fault.
        svid: Option<Number>,
        /// Probability that a fault is not detected.
        probability: Option<Number>,
        /// Bias of the satellite's range, metres.
        bias_m: Option<Number>,
        /// Standard deviation of the bias, metres.
        bias_std_m: Option<Number>,
        /// From version 4.10 on: number of the satellite system.
        system: Tail<String>,
        /// From version 4.10 on: number of the signal.
        signal: Tail<String>,
    }
    /// Text for users.
    Txt "TXT" {
        /// Number of messages of the group.
        messages: Option<Number>,
        /// Index of the message, from 1.
        message: Option<Number>,
        /// Level of the text: 0 error, 1 warning, 2 notice, 7 user.
        level: Option<Number>,
        /// The text.
        text: FreeText,
    }
}

/// A sentence of a known type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// Talker, two letters: GP, GL, GA, GB, GQ for one system, GN for several.
    pub talker: String,
    /// Content of the sentence.
    #[serde(flatten)]
    pub content: Content,
}

impl Sentence {
    /// Creates a sentence of `talker`, a code of two letters.
    pub fn new(talker: &str, content: impl Into<Content>) -> Self {
        Self { talker: talker.to_string(), content: content.into() }
    }

    /// Interprets `raw`; `None` if its type is not one of [`Content`], and for proprietary sentences.
    ///
    /// # Errors
    /// A field has the wrong type, or the number of fields is wrong.
    pub fn from_raw(raw: &RawSentence) -> Option<Result<Self, ParseError>> {
        let kind = raw.address.get(2..)?;
        if raw.address.starts_with('P') {
            return None;
        }
        let mut reader = Reader { fields: raw.fields.iter() };
        let content = Content::read(kind, &mut reader)?;
        Some(content.and_then(|content| match reader.left() {
            0 => Ok(Self { talker: raw.address[..2].to_string(), content }),
            left => Err(ParseError::Length {
                what: "sentence's fields",
                need: raw.fields.len() - left,
                got: raw.fields.len(),
            }),
        }))
    }

    /// The sentence with its fields as text.
    pub fn to_raw(&self) -> RawSentence {
        let mut fields = Vec::new();
        self.content.write(&mut fields);
        RawSentence { address: format!("{}{}", self.talker, self.content.kind()), fields }
    }

    /// Bytes of the whole line.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_raw().to_bytes()
    }
}
