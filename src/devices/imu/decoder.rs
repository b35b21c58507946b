//! The line of an inertial unit, in any of the protocols.

use serde_json::{Map, Value, json};

use super::measured;
use crate::decoder::readings::{Inertial, Reading};
use crate::decoder::{Fields, Frame, StreamDecoder, Totals, object_of};
use crate::imu::profile::ImuProtocol;
use crate::wire::fdilink::{self, FdiLink};
use crate::wire::framer::{Framer, Framing};
use crate::wire::mip::Mip;
use crate::wire::phone::Phone;
use crate::wire::sbg_ecom::{self, SbgEcom, class};
use crate::wire::vectornav::binary::{BinaryPacket, Group};
use crate::wire::vectornav::{self, VectorNav};
use crate::wire::xbus::{self, Item, Xbus, mid};

/// Of one protocol.
pub(super) fn decoder(protocol: ImuProtocol) -> Box<dyn StreamDecoder> {
    match protocol {
        ImuProtocol::FdiLink => {
            ImuDecoder::boxed(protocol, FdiLink, fdilink_frame, measured::fdilink)
        }
        ImuProtocol::VectorNav => {
            ImuDecoder::boxed(protocol, VectorNav, vectornav_frame, measured::vectornav)
        }
        ImuProtocol::Xbus => ImuDecoder::boxed(protocol, Xbus, xbus_message, measured::xbus),
        ImuProtocol::Mip => ImuDecoder::boxed(protocol, Mip, mip_packet, measured::mip),
        ImuProtocol::SbgEcom => ImuDecoder::boxed(protocol, SbgEcom, sbg_frame, measured::sbg),
        ImuProtocol::Phone => {
            let describe = |sentence: &_| ("phone".into(), object(sentence));
            ImuDecoder::boxed(protocol, Phone, describe, measured::phone)
        }
    }
}

struct ImuDecoder<F: Framing> {
    protocol: ImuProtocol,
    format: F,
    framer: Framer<F>,
    /// What a frame is, and what it says.
    describe: fn(&F::Frame) -> Told,
    /// What was measured, if the frame says it.
    measure: fn(&F::Frame) -> Option<Inertial>,
    framed_bytes: u64,
}

impl<F: Framing + Copy + 'static> ImuDecoder<F> {
    fn boxed(
        protocol: ImuProtocol,
        format: F,
        describe: fn(&F::Frame) -> Told,
        measure: fn(&F::Frame) -> Option<Inertial>,
    ) -> Box<dyn StreamDecoder> {
        let framer = Framer::new(format);
        Box::new(Self { protocol, format, framer, describe, measure, framed_bytes: 0 })
    }
}

impl<F: Framing + Copy> StreamDecoder for ImuDecoder<F> {
    fn next_frame(&mut self, input: &mut &[u8]) -> Option<Frame> {
        let (offset, length, (kind, said), inertial) = loop {
            let piece = self.framer.next_piece(input)?;
            if let Some(frame) = &piece.frame {
                let length = piece.bytes.len() as u64;
                break (piece.offset, length, (self.describe)(frame), (self.measure)(frame));
            }
        };
        self.framed_bytes += length;
        // Lines of text have the form of many other devices'.
        let is_telling = self.protocol != ImuProtocol::VectorNav
            || kind.starts_with("VN")
            || kind.starts_with("binary");
        let content = Box::new(Reading { fields: Fields::of(&kind, said), inertial, fix: None });
        Some(Frame { offset, length, kind: Some(kind), is_telling, content })
    }

    fn end(&mut self) {}

    fn skipped_bytes(&self) -> u64 {
        self.framer.taken() - self.framed_bytes
    }

    fn rewind(&mut self) {
        self.framer = Framer::new(self.format);
        self.framed_bytes = 0;
    }

    fn title(&self) -> &'static str {
        self.protocol.word()
    }

    fn summary(&self, name: &str, totals: &Totals) -> String {
        let Totals { bytes, frames, kinds, .. } = totals;
        let mut text =
            format!("{name}: {}, {bytes} bytes, {frames} frames\n", self.protocol.word());
        let span_s = totals.duration_s().filter(|span_s| *span_s > 0.0);
        for (kind, count) in kinds {
            let rate = span_s.map(|span_s| format!(", {:.1} a second", *count as f64 / span_s));
            text += &format!("  {kind}: {count}{}\n", rate.unwrap_or_default());
        }
        text + &format!("  bytes in no frame: {}\n", self.skipped_bytes())
    }

    fn summary_fields(&self, totals: &Totals) -> Map<String, Value> {
        object_of(json!({
            "format": self.protocol.word(), "bytes": totals.bytes, "frames": totals.kinds,
            "skipped_bytes": self.skipped_bytes(),
        }))
    }
}

/// What a frame is, and what it says.
type Told = (String, Map<String, Value>);

/// The fields of a plain struct.
fn object(value: &impl serde::Serialize) -> Map<String, Value> {
    match shortest(value) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// As JSON; numbers of single precision keep the digits they have, where `to_value` would show
/// them in double precision.
fn shortest(value: &impl serde::Serialize) -> Value {
    let text = serde_json::to_string(value).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

fn hex(bytes: &[u8]) -> Value {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<String>().into()
}

fn fdilink_frame(frame: &fdilink::Frame) -> Told {
    use fdilink::Packet;
    let (kind, mut said) = match &frame.packet {
        Packet::Imu(p) => ("imu".to_owned(), object(p)),
        Packet::Ahrs(p) => ("ahrs".to_owned(), object(p)),
        Packet::InsGps(p) => ("ins-gps".to_owned(), object(p)),
        Packet::GeodeticPosition(p) => ("geodetic-position".to_owned(), object(p)),
        Packet::Skipped { kind, payload } => {
            let said = [("payload".to_owned(), hex(payload))].into_iter().collect();
            (format!("type {kind:#04x}"), said)
        }
    };
    said.shift_insert(0, "sequence".into(), frame.sequence.into());
    (kind, said)
}

fn vectornav_frame(frame: &vectornav::Frame) -> Told {
    match frame {
        vectornav::Frame::Line(line) => {
            let (kind, values) = line.fields();
            let checked = match line.checked() {
                Some(_) => "good",
                None => "bad",
            };
            let said = [("values", json!(values)), ("checksum", json!(checked))];
            (kind.to_owned(), said.map(|(k, v)| (k.to_owned(), v)).into_iter().collect())
        }
        vectornav::Frame::Packet(packet) => {
            let mut said = Map::new();
            for (group, bit, _) in packet.layout.fields() {
                let key = format!("{group:?}.{bit}").to_lowercase();
                said.insert(key, binary_field(packet, group, bit));
            }
            (format!("binary {:#04x}", packet.layout.groups()), said)
        }
    }
}

/// A field in the type its length and place suggest.
fn binary_field(packet: &BinaryPacket, group: Group, bit: u8) -> Value {
    let bytes = packet.field(group, bit).unwrap_or_default();
    let is_double = matches!(
        (group, bit),
        (Group::Common, 6) | (Group::Gps1 | Group::Gps2, 5 | 6) | (Group::Ins, 1 | 2)
    );
    match bytes.len() {
        8 => json!(bytes.first_chunk().map(|b| u64::from_le_bytes(*b))),
        1 => json!(bytes[0]),
        2 => json!(bytes.first_chunk().map(|b| u16::from_le_bytes(*b))),
        _ if is_double => {
            json!(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect::<Vec<_>>())
        }
        _ => {
            let floats = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b));
            shortest(&floats.collect::<Vec<_>>())
        }
    }
}

fn xbus_message(message: &xbus::Message) -> Told {
    if message.mid != mid::MT_DATA2 {
        let said = [("data".to_owned(), hex(&message.data))].into_iter().collect();
        return (format!("message {:#04x}", message.mid), said);
    }
    let mut said = Map::new();
    match Item::parse_all(&message.data) {
        Ok(items) => {
            for item in items {
                // Counters, times and states are whole numbers.
                let is_real = !matches!(item.xdi.0 & 0xf800, 0x1000 | 0x3000 | 0xe000);
                let value = item.reals().filter(|_| is_real).map_or_else(
                    || {
                        let whole = item.data.iter().fold(0u128, |x, b| x << 8 | u128::from(*b));
                        u64::try_from(whole).map_or_else(|_| hex(&item.data), Value::from)
                    },
                    |reals| json!(reals),
                );
                said.insert(format!("{:04x}", item.xdi.0), value);
            }
        }
        Err(error) => {
            said.insert("error".into(), error.to_string().into());
        }
    }
    ("MTData2".into(), said)
}

fn mip_packet(packet: &crate::wire::mip::Packet) -> Told {
    use crate::wire::mip::{reply, set};
    let is_data = packet.descriptor_set >= set::SENSOR_DATA;
    let fields = packet.fields.iter().map(|field| {
        let value = match field.f32s() {
            Some(values) if has_floats(packet.descriptor_set, field.descriptor) => {
                shortest(&values)
            }
            _ => hex(&field.data),
        };
        (format!("{:02x}", field.descriptor), value)
    });
    let is_reply = packet.fields.iter().any(|field| field.descriptor == reply::ACK);
    let kind = match (is_data, is_reply) {
        (true, _) => "data",
        (_, true) => "reply",
        _ => "command",
    };
    (format!("{kind} {:#04x}", packet.descriptor_set), fields.collect())
}

/// Whether a field of data is made of floats alone, of those Menura knows.
fn has_floats(descriptor_set: u8, descriptor: u8) -> bool {
    use crate::wire::mip::set;
    descriptor_set == set::SENSOR_DATA && matches!(descriptor, 0x04..=0x0c | 0x17)
}

fn sbg_frame(frame: &sbg_ecom::Frame) -> Told {
    use sbg_ecom::Log;
    match Log::parse(frame) {
        Some(Ok(log)) => match &log {
            Log::Status(l) => ("status".into(), object(l)),
            Log::UtcTime(l) => ("utc-time".into(), object(l)),
            Log::ImuData(l) => ("imu-data".into(), object(l)),
            Log::ImuShort(l) => ("imu-short".into(), object(l)),
            Log::Mag(l) => ("mag".into(), object(l)),
            Log::EkfEuler(l) => ("ekf-euler".into(), object(l)),
            Log::EkfQuat(l) => ("ekf-quat".into(), object(l)),
            Log::EkfNav(l) => ("ekf-nav".into(), object(l)),
            Log::Gps1Vel(l) => ("gps1-vel".into(), object(l)),
            Log::Gps1Pos(l) => ("gps1-pos".into(), object(l)),
            Log::Gps1Hdt(l) => ("gps1-hdt".into(), object(l)),
            Log::MagCalib(l) => ("mag-calib".into(), object(l)),
            Log::ShipMotion(l) => ("ship-motion".into(), object(l)),
        },
        _ => {
            let what = if frame.class == class::COMMAND { "command" } else { "log" };
            let said = [("data".to_owned(), hex(&frame.data))].into_iter().collect();
            (format!("{what} {}", frame.message), said)
        }
    }
}
