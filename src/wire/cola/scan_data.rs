//! `LMDscandata`: one scan, streamed (`sSN`) or requested (`sRA`).

use super::Dialect;
use super::Refusal;
use super::fields::{Reader, Writer};

const NAME: &str = "LMDscandata";
const STREAMED: &str = "sSN";
const ASKED_FOR: &str = "sRA";

/// Reason why bytes are not a scan telegram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanDataError {
    /// The content is another telegram.
    #[error("this telegram is not LMDscandata")]
    OtherTelegram,
    /// A field is wrong.
    #[error("LMDscandata: {field}: {why}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Reason for rejecting the field.
        why: Refusal,
    },
}

/// One scan. Raw values have the unit of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ScanData {
    /// Whether the telegram is `sSN` instead of `sRA`.
    pub is_streamed: bool,
    /// Version of the format: 0 or 1.
    pub version: u16,
    /// Device number, set by the user.
    pub device_number: u16,
    /// Serial number.
    pub serial_number: u32,
    /// Status bytes: (0, 0) no error, (0, 1) error, (0, 2) pollution warning, (0, 4) or (0, 5) pollution error.
    pub status: [u8; 2],
    /// Number of telegrams passed to the interface.
    pub telegram_counter: u16,
    /// Number of the scan.
    pub scan_counter: u16,
    /// Time from power-on to the zero index of the scan, microseconds.
    pub start_us: u32,
    /// Time since power-on at which the scan was passed to the interface, microseconds.
    pub transmission_us: u32,
    /// States of the inputs, one bit each.
    pub digital_inputs: [u8; 2],
    /// States of the outputs, one bit each.
    pub digital_outputs: [u8; 2],
    /// Angle of the layer; 0 in scanners with one layer.
    pub layer_angle: u16,
    /// Scan frequency, 1/100 Hz.
    pub scan_frequency_centihz: u32,
    /// Pulses per second, in units of 100 Hz.
    pub measurement_frequency_hundred_hz: u32,
    /// States of the encoders.
    pub encoders: Vec<Encoder>,
    /// Channels with values of 16 bits.
    pub channels_16: Vec<Channel<u16>>,
    /// Channels with values of 8 bits.
    pub channels_8: Vec<Channel<u8>>,
    /// Trailer after the channels, if it has the known form.
    pub trailer: Option<Trailer>,
    /// Bytes after the trailer; without a trailer of the known form, all bytes after the channels.
    pub rest: Vec<u8>,
}

/// The state of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Encoder {
    /// Position in ticks.
    pub position: u32,
    /// Speed, ticks per millimetre.
    pub speed: u16,
}

/// A measured value for each direction.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Channel<T> {
    /// Name: `DIST1` ... `DIST5`, `RSSI1` ..., `ANGL1`.
    pub name: [u8; 5],
    /// IEEE 754 bits of the scale factor of the values. In distance channels, it converts counts to millimetres.
    pub scale_factor_bits: u32,
    /// IEEE 754 bits of the scale offset of the values.
    pub scale_offset_bits: u32,
    /// Direction of the first value, 1/10000 degree, counter-clockwise; 90 degrees is forward.
    pub start_angle: i32,
    /// Step between directions, 1/10000 degree.
    pub angular_step: u16,
    /// Measured values before scaling, in the order of directions.
    pub values: Vec<T>,
}

impl<T> Channel<T> {
    /// Scale factor of the values. In distance channels, it converts counts to millimetres.
    pub fn scale_factor(&self) -> f32 {
        f32::from_bits(self.scale_factor_bits)
    }
}

/// Trailer after the channels.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Trailer {
    /// Position of the scanner.
    pub position: Option<Position>,
    /// Device name, set by the user.
    pub device_name: Option<Vec<u8>>,
    /// Comment, set by the user.
    pub comment: Option<Vec<u8>>,
    /// The scanner's clock at the scan.
    pub time: Option<ClockTime>,
    /// 0: no data of an event follows. Other values: the data of the event is in [`ScanData::rest`].
    pub event: u16,
}

/// Position of a scanner, set by its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Position {
    /// IEEE 754 bits of x, y and z, then of the rotations about x, y and z.
    pub real_bits: [u32; 6],
    /// Type of rotation: 0 none, 1 pitch, 2 roll, 3 free.
    pub rotation_type: u8,
}

/// The scanner's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ClockTime {
    /// Year.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day, 1 to 31.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 59.
    pub second: u8,
    /// Microseconds within the second.
    pub microsecond: u32,
}

impl ScanData {
    /// The content of the telegram in a dialect.
    pub fn emit(&self, dialect: Dialect) -> Vec<u8> {
        let kind = if self.is_streamed { STREAMED } else { ASKED_FOR };
        let mut to = Writer::new(dialect, &[kind, NAME]);
        to.u16(self.version);
        to.u16(self.device_number);
        to.u32(self.serial_number);
        pair(&mut to, self.status);
        to.u16(self.telegram_counter);
        to.u16(self.scan_counter);
        to.u32(self.start_us);
        to.u32(self.transmission_us);
        pair(&mut to, self.digital_inputs);
        pair(&mut to, self.digital_outputs);
        to.u16(self.layer_angle);
        to.u32(self.scan_frequency_centihz);
        to.u32(self.measurement_frequency_hundred_hz);
        to.u16(self.encoders.len() as u16);
        for encoder in &self.encoders {
            to.u32(encoder.position);
            to.u16(encoder.speed);
        }
        to.u16(self.channels_16.len() as u16);
        for channel in &self.channels_16 {
            channel.write(&mut to, |to, value| to.u16(*value));
        }
        to.u16(self.channels_8.len() as u16);
        for channel in &self.channels_8 {
            channel.write(&mut to, |to, value| to.u8(*value));
        }
        if let Some(trailer) = &self.trailer {
            trailer.write(&mut to);
        }
        to.raw().extend_from_slice(&self.rest);
        to.finish(false)
    }

    /// Reads a content that [`ScanData::emit`] reproduces byte for byte.
    ///
    /// # Errors
    /// The content is another telegram, a field is incomplete, or a CoLa-A number is not in the usual form.
    pub fn parse(dialect: Dialect, content: &[u8]) -> Result<Self, ScanDataError> {
        let (is_streamed, from) = Self::head(content).ok_or(ScanDataError::OtherTelegram)?;
        // Values in CoLa-B always follow a blank.
        if !from.starts_with(b" ") {
            return Err(fault("version")(Refusal::BufferUnderflow));
        }
        let from = &mut Reader::strict(dialect, from);
        let mut scan = Self {
            is_streamed,
            version: from.u16().map_err(fault("version"))?,
            device_number: from.u16().map_err(fault("device number"))?,
            serial_number: from.u32().map_err(fault("serial number"))?,
            status: read_pair(from).map_err(fault("device status"))?,
            telegram_counter: from.u16().map_err(fault("telegram counter"))?,
            scan_counter: from.u16().map_err(fault("scan counter"))?,
            start_us: from.u32().map_err(fault("time since start-up"))?,
            transmission_us: from.u32().map_err(fault("time of transmission"))?,
            digital_inputs: read_pair(from).map_err(fault("digital inputs"))?,
            digital_outputs: read_pair(from).map_err(fault("digital outputs"))?,
            layer_angle: from.u16().map_err(fault("layer angle"))?,
            scan_frequency_centihz: from.u32().map_err(fault("scan frequency"))?,
            measurement_frequency_hundred_hz: from.u32().map_err(fault("measurement frequency"))?,
            ..Self::default()
        };
        for _ in 0..from.u16().map_err(fault("number of encoders"))? {
            let position = from.u32().map_err(fault("encoder position"))?;
            let speed = from.u16().map_err(fault("encoder speed"))?;
            scan.encoders.push(Encoder { position, speed });
        }
        for _ in 0..from.u16().map_err(fault("number of 16-bit channels"))? {
            let channel = Channel::read(from, Reader::u16).map_err(fault("16-bit channel"))?;
            scan.channels_16.push(channel);
        }
        for _ in 0..from.u16().map_err(fault("number of 8-bit channels"))? {
            let channel = Channel::read(from, Reader::u8).map_err(fault("8-bit channel"))?;
            scan.channels_8.push(channel);
        }
        let mut after = from.clone();
        if let Ok(trailer) = Trailer::read(&mut after) {
            scan.trailer = Some(trailer);
            *from = after;
        }
        scan.rest = from.rest().to_vec();
        Ok(scan)
    }

    fn head(content: &[u8]) -> Option<(bool, &[u8])> {
        let (kind, rest) = content.split_at_checked(3)?;
        let is_streamed = match kind {
            _ if kind == STREAMED.as_bytes() => true,
            _ if kind == ASKED_FOR.as_bytes() => false,
            _ => return None,
        };
        let after = rest.strip_prefix(b" ")?.strip_prefix(NAME.as_bytes())?;
        // Excludes LMDscandatacfg.
        (after.is_empty() || after.starts_with(b" ")).then_some((is_streamed, after))
    }

    /// Whether a content is a telegram of this kind, complete or not.
    pub fn is_in(content: &[u8]) -> bool {
        Self::head(content).is_some()
    }

    /// The 16-bit channel with this name.
    pub fn channel(&self, name: &[u8; 5]) -> Option<&Channel<u16>> {
        self.channels_16.iter().find(|channel| channel.name == *name)
    }
}

fn fault(field: &'static str) -> impl Fn(Refusal) -> ScanDataError {
    move |why| ScanDataError::Field { field, why }
}

fn pair(to: &mut Writer, [first, second]: [u8; 2]) {
    to.u8(first);
    to.u8(second);
}

fn read_pair(from: &mut Reader<'_>) -> Result<[u8; 2], Refusal> {
    Ok([from.u8()?, from.u8()?])
}

impl<T> Channel<T> {
    fn write(&self, to: &mut Writer, write: impl Fn(&mut Writer, &T)) {
        to.word(&self.name);
        to.real(self.scale_factor_bits);
        to.real(self.scale_offset_bits);
        to.i32(self.start_angle);
        to.u16(self.angular_step);
        to.u16(self.values.len() as u16);
        for value in &self.values {
            write(to, value);
        }
    }

    fn read<'a>(
        from: &mut Reader<'a>,
        read: impl Fn(&mut Reader<'a>) -> Result<T, Refusal>,
    ) -> Result<Self, Refusal> {
        let name = from.word(5)?.try_into().map_err(|_| Refusal::BufferUnderflow)?;
        let (scale_factor_bits, scale_offset_bits) = (from.real()?, from.real()?);
        let (start_angle, angular_step) = (from.i32()?, from.u16()?);
        let values: Result<Vec<T>, Refusal> = (0..from.u16()?).map(|_| read(from)).collect();
        let values = values?;
        Ok(Self { name, scale_factor_bits, scale_offset_bits, start_angle, angular_step, values })
    }
}

impl Trailer {
    fn write(&self, to: &mut Writer) {
        flag(to, self.position.is_some());
        if let Some(position) = &self.position {
            position.real_bits.iter().for_each(|bits| to.real(*bits));
            to.u8(position.rotation_type);
        }
        for text in [&self.device_name, &self.comment] {
            flag(to, text.is_some());
            if let Some(text) = text {
                to.text(text);
            }
        }
        flag(to, self.time.is_some());
        if let Some(time) = &self.time {
            to.u16(time.year);
            for part in [time.month, time.day, time.hour, time.minute, time.second] {
                to.u8(part);
            }
            to.u32(time.microsecond);
        }
        to.u16(self.event);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Refusal> {
        let mut trailer = Self::default();
        if is_set(from)? {
            let mut real_bits = [0; 6];
            for bits in &mut real_bits {
                *bits = from.real()?;
            }
            trailer.position = Some(Position { real_bits, rotation_type: from.u8()? });
        }
        if is_set(from)? {
            trailer.device_name = Some(from.text()?.to_vec());
        }
        if is_set(from)? {
            trailer.comment = Some(from.text()?.to_vec());
        }
        if is_set(from)? {
            trailer.time = Some(ClockTime {
                year: from.u16()?,
                month: from.u8()?,
                day: from.u8()?,
                hour: from.u8()?,
                minute: from.u8()?,
                second: from.u8()?,
                microsecond: from.u32()?,
            });
        }
        trailer.event = from.u16()?;
        Ok(trailer)
    }
}

fn flag(to: &mut Writer, is_set: bool) {
    to.u16(u16::from(is_set));
}

fn is_set(from: &mut Reader<'_>) -> Result<bool, Refusal> {
    match from.u16()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Refusal::InvalidData),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cola::frame;
    use proptest::prelude::*;

    fn example() -> ScanData {
        ScanData {
            is_streamed: true,
            version: 1,
            device_number: 1,
            serial_number: 0x00A1_B2C3,
            telegram_counter: 5,
            scan_counter: 6,
            start_us: 1_000_000,
            transmission_us: 0xF_7120,
            digital_outputs: [0, 7],
            scan_frequency_centihz: 5000,
            measurement_frequency_hundred_hz: 540,
            channels_16: vec![Channel {
                name: *b"DIST1",
                scale_factor_bits: 1.0f32.to_bits(),
                scale_offset_bits: 0,
                start_angle: -450_000,
                angular_step: 5000,
                values: vec![1000, 1001, 0],
            }],
            trailer: Some(Trailer::default()),
            ..ScanData::default()
        }
    }

    #[test]
    fn golden_bytes() {
        let binary = "02 02 02 02 00 00 00 5F 73 53 4E 20 4C 4D 44 73 63 61 6E 64 61 74 61 20 \
            00 01 00 01 00 A1 B2 C3 00 00 00 05 00 06 00 0F 42 40 00 0F 71 20 00 00 00 07 00 00 \
            00 00 13 88 00 00 02 1C 00 00 00 01 44 49 53 54 31 3F 80 00 00 00 00 00 00 FF F9 22 \
            30 13 88 00 03 03 E8 03 E9 00 00 00 00 00 00 00 00 00 00 00 00 00 00 2E";
        let binary: Vec<u8> = binary
            .split_ascii_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();
        assert_eq!(frame::emit(Dialect::B, &example().emit(Dialect::B)), binary);

        let text = "\x02sSN LMDscandata 1 1 A1B2C3 0 0 5 6 F4240 F7120 0 0 7 0 0 1388 21C 0 1 DIST1 \
            3F800000 00000000 FFF92230 1388 3 3E8 3E9 0 0 0 0 0 0 0\x03";
        let scan = ScanData { digital_outputs: [7, 0], ..example() };
        assert_eq!(frame::emit(Dialect::A, &scan.emit(Dialect::A)), text.as_bytes());
        assert_eq!(ScanData::parse(Dialect::A, scan.emit(Dialect::A).as_slice()), Ok(scan));
    }

    /// Drivers find fields by counting tokens or by fixed offsets.
    #[test]
    fn fields_are_where_drivers_look_for_them() {
        let text = example().emit(Dialect::A);
        let tokens: Vec<_> = text.split(|byte| *byte == b' ').collect();
        assert_eq!(tokens[20], b"DIST1");
        assert_eq!(tokens[25], b"3");
        let bytes = frame::emit(Dialect::B, &example().emit(Dialect::B));
        let at = |offset: usize| u32::from_be_bytes(bytes[offset..offset + 4].try_into().unwrap());
        assert_eq!((at(0x26), at(0x2a), at(52), at(56)), (1_000_000, 0xF_7120, 5000, 540));
        assert_eq!(&bytes[64..69], b"DIST1");
    }

    #[test]
    fn an_unknown_trailer_is_kept() {
        for odd in [&b" 0 0"[..], b" 9 9 9 9 9", b" 0 0 0 0 1 FDIN 7", b""] {
            let scan = ScanData { trailer: None, ..example() };
            let content = [scan.emit(Dialect::A), odd.to_vec()].concat();
            let read = ScanData::parse(Dialect::A, &content).unwrap();
            assert_eq!(read.emit(Dialect::A), content);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let told =
            |dialect, content: &[u8]| ScanData::parse(dialect, content).unwrap_err().to_string();
        for other in [&b"sRA STlms 7"[..], b"sRA LMDscandatacfg 1", b"sSA LMDscandata 1"] {
            assert_eq!(told(Dialect::A, other), "this telegram is not LMDscandata");
        }
        assert_eq!(
            told(Dialect::A, b"sRA LMDscandata 1 1 0x"),
            "LMDscandata: serial number: invalid character"
        );
        let content = example().emit(Dialect::B);
        assert_eq!(
            told(Dialect::B, &content[..80]),
            "LMDscandata: 16-bit channel: buffer underflow"
        );
    }

    fn any_channel<T: Arbitrary + 'static>() -> impl Strategy<Value = Channel<T>> {
        ("[A-Z]{4}[1-5]", any::<(u32, u32, i32, u16)>(), prop::collection::vec(any::<T>(), 0..40))
            .prop_map(|(name, (factor, offset, start_angle, angular_step), values)| Channel {
                name: name.into_bytes().try_into().unwrap(),
                scale_factor_bits: factor,
                scale_offset_bits: offset,
                start_angle,
                angular_step,
                values,
            })
    }

    fn any_trailer() -> impl Strategy<Value = Trailer> {
        let text = || prop::option::of("[ -~]{0,16}".prop_map(String::into_bytes));
        let position = any::<([u32; 6], u8)>()
            .prop_map(|(real_bits, rotation_type)| Position { real_bits, rotation_type });
        let time = any::<(u16, [u8; 5], u32)>().prop_map(
            |(year, [month, day, hour, minute, second], microsecond)| ClockTime {
                year,
                month,
                day,
                hour,
                minute,
                second,
                microsecond,
            },
        );
        (prop::option::of(position), text(), text(), prop::option::of(time), any::<u16>()).prop_map(
            |(position, device_name, comment, time, event)| Trailer {
                position,
                device_name,
                comment,
                time,
                event,
            },
        )
    }

    fn any_scan() -> impl Strategy<Value = ScanData> {
        (
            any::<(bool, u16, u16, u32, [u8; 2], u16, u16, u32, u32)>(),
            any::<([u8; 2], [u8; 2], u16, u32, u32, Vec<(u32, u16)>)>(),
            prop::collection::vec(any_channel::<u16>(), 0..4),
            prop::collection::vec(any_channel::<u8>(), 0..3),
            any_trailer(),
        )
            .prop_map(|(head, more, channels_16, channels_8, trailer)| ScanData {
                is_streamed: head.0,
                version: head.1,
                device_number: head.2,
                serial_number: head.3,
                status: head.4,
                telegram_counter: head.5,
                scan_counter: head.6,
                start_us: head.7,
                transmission_us: head.8,
                digital_inputs: more.0,
                digital_outputs: more.1,
                layer_angle: more.2,
                scan_frequency_centihz: more.3,
                measurement_frequency_hundred_hz: more.4,
                encoders: more
                    .5
                    .into_iter()
                    .map(|(position, speed)| Encoder { position, speed })
                    .collect(),
                channels_16,
                channels_8,
                trailer: Some(trailer),
                rest: Vec::new(),
            })
    }

    proptest! {
        #[test]
        fn every_scan_survives_both_dialects(scan in any_scan()) {
            for dialect in [Dialect::A, Dialect::B] {
                let content = scan.emit(dialect);
                prop_assert_eq!(ScanData::parse(dialect, &content), Ok(scan.clone()));
            }
        }

        #[test]
        fn damaged_scans_come_back_or_are_refused(
            scan in any_scan(), is_binary: bool,
            cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let dialect = if is_binary { Dialect::B } else { Dialect::A };
            let mut content = scan.emit(dialect);
            for (place, byte) in cuts {
                let place = place.index(content.len());
                content[place] = byte;
            }
            if let Ok(read) = ScanData::parse(dialect, &content) {
                prop_assert_eq!(read.emit(dialect), content);
            }
        }
    }
}
