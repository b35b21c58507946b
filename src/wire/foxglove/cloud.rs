//! `foxglove.PointCloud` as Protocol Buffers, and its description for Foxglove: a `FileDescriptorSet`.

use crate::protobuf::Message;

/// Full name of the message type.
pub const NAME: &str = "foxglove.PointCloud";

/// Type of a number in a point's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// `UINT8`.
    U8 = 1,
    /// `UINT16`.
    U16 = 3,
    /// `FLOAT32`.
    F32 = 7,
}

/// A field of each point: name, offset in the point's record, and type.
pub type PointField = (&'static str, u32, Number);

/// Points at one instant, in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cloud<'a> {
    /// Time, nanoseconds of POSIX time.
    pub unix_ns: u64,
    /// Frame of the coordinates `x`, `y` and `z`.
    pub frame: &'a str,
    /// Size of a point, bytes.
    pub stride: u32,
    /// Fields of the points.
    pub fields: &'a [PointField],
    /// Records of the points, little-endian.
    pub data: &'a [u8],
}

impl Cloud<'_> {
    /// Bytes of the message.
    pub fn emit(&self) -> Vec<u8> {
        // The pose of the points is the frame's origin, without rotation.
        let (origin, rotation) = (Message::default(), Message::default().double(4, 1.0));
        let pose = Message::default().message(1, &origin).message(2, &rotation);
        let head = Message::default()
            .message(1, &time(self.unix_ns))
            .data(2, self.frame)
            .message(3, &pose)
            .fixed(4, self.stride);
        let whole = self.fields.iter().fold(head, |message, (name, offset, number)| {
            let field = Message::default().data(1, name);
            let field = unless_zero(field, *offset, |field, offset| field.fixed(2, offset));
            message.message(5, &field.integer(3, *number as u64))
        });
        whole.data(6, self.data).into_bytes()
    }
}

/// `google.protobuf.Timestamp`. Nanoseconds of 0 are omitted, as other writers of the format do.
pub(super) fn time(unix_ns: u64) -> Message {
    const NANOS: u64 = 1_000_000_000;
    let seconds = Message::default().integer(1, unix_ns / NANOS);
    unless_zero(seconds, unix_ns % NANOS, |stamp, nanos| stamp.integer(2, nanos))
}

fn unless_zero<N: Default + PartialEq>(
    message: Message,
    value: N,
    add: impl FnOnce(Message, N) -> Message,
) -> Message {
    if value == N::default() { message } else { add(message, value) }
}

/// Number of the field type `double` in a `FileDescriptorSet`.
const DOUBLE: u64 = 1;
/// Number of the field type `int64`.
const INT64: u64 = 3;
/// Number of the field type `int32`.
const INT32: u64 = 5;
/// Number of the field type `fixed32`.
const FIXED32: u64 = 7;
/// Number of the field type `string`.
pub(super) const STRING: u64 = 9;
/// Number of the field type `message`.
pub(super) const MESSAGE: u64 = 11;
/// Number of the field type `bytes`.
pub(super) const BYTES: u64 = 12;
/// Number of the field type `enum`.
const ENUM: u64 = 14;

/// A field in a `FileDescriptorSet`: name, number, whether it is repeated, number of its type, and name of its type
/// (for messages and enums; otherwise empty).
pub(super) type Described = (&'static str, u64, bool, u64, &'static str);

/// Names of the values 0, 1, 2 … of Foxglove's `NumericType`.
const NUMBERS: [&str; 9] =
    ["UNKNOWN", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32", "FLOAT64"];

fn described(name: &str, fields: &[Described]) -> Message {
    let start = Message::default().data(1, name);
    fields.iter().fold(start, |message, &(name, number, repeats, kind, of)| {
        let label = if repeats { 3 } else { 1 };
        let field =
            Message::default().data(1, name).integer(3, number).integer(4, label).integer(5, kind);
        message.message(2, &if of.is_empty() { field } else { field.data(6, of) })
    })
}

fn file(name: &str, package: &str, messages: &[Message], needs: &[&str]) -> Message {
    let start = Message::default().data(1, name).data(2, package);
    let start = needs.iter().fold(start, |file, other| file.data(3, other));
    let whole = messages.iter().fold(start, |file, message| file.message(4, message));
    whole.data(12, "proto3")
}

/// The `FileDescriptorSet` of `messages` in the file `name`, which imports `google.protobuf.Timestamp`.
pub(super) fn describe_with_time(name: &str, messages: &[(&str, &[Described])]) -> Vec<u8> {
    let messages: Vec<_> = messages.iter().map(|(name, fields)| described(name, fields)).collect();
    with_time(name, &messages)
}

fn with_time(name: &str, messages: &[Message]) -> Vec<u8> {
    const STAMP: &str = "google/protobuf/timestamp.proto";
    let stamp =
        described("Timestamp", &[("seconds", 1, false, INT64, ""), ("nanos", 2, false, INT32, "")]);
    Message::default()
        .message(1, &file(STAMP, "google.protobuf", &[stamp], &[]))
        .message(1, &file(name, "foxglove", messages, &[STAMP]))
        .into_bytes()
}

/// The `FileDescriptorSet` of [`NAME`].
pub fn description() -> Vec<u8> {
    let axes =
        [("x", 1, false, DOUBLE, ""), ("y", 2, false, DOUBLE, ""), ("z", 3, false, DOUBLE, "")];
    let turns = [&axes[..], &[("w", 4, false, DOUBLE, "")]].concat();
    let pose = [
        ("position", 1, false, MESSAGE, ".foxglove.Vector3"),
        ("orientation", 2, false, MESSAGE, ".foxglove.Quaternion"),
    ];
    let numbers =
        (0..).zip(NUMBERS).fold(Message::default().data(1, "NumericType"), |kinds, one| {
            kinds.message(2, &Message::default().data(1, one.1).integer(2, one.0))
        });
    let field = [
        ("name", 1, false, STRING, ""),
        ("offset", 2, false, FIXED32, ""),
        ("type", 3, false, ENUM, ".foxglove.PackedElementField.NumericType"),
    ];
    let cloud = [
        ("timestamp", 1, false, MESSAGE, ".google.protobuf.Timestamp"),
        ("frame_id", 2, false, STRING, ""),
        ("pose", 3, false, MESSAGE, ".foxglove.Pose"),
        ("point_stride", 4, false, FIXED32, ""),
        ("fields", 5, true, MESSAGE, ".foxglove.PackedElementField"),
        ("data", 6, false, BYTES, ""),
    ];
    let messages = [
        described("Vector3", &axes),
        described("Quaternion", &turns),
        described("Pose", &pose),
        described("PackedElementField", &field).message(4, &numbers),
        described("PointCloud", &cloud),
    ];
    with_time("foxglove/PointCloud.proto", &messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloud_is_what_the_reference_encoder_writes() {
        let points = [&1.5_f32.to_le_bytes()[..], &258_u16.to_le_bytes()].concat();
        let cloud = Cloud {
            unix_ns: 1_780_315_199_900_000_001,
            frame: "device/a",
            stride: 6,
            fields: &[("x", 0, Number::F32), ("ring", 4, Number::U16)],
            data: &points,
        };
        // Generated by Google's Python module from Foxglove's definitions (foxglove-schemas-protobuf 0.4.0).
        let expected = "0a0c08bfe8f5d0061081d293ad0312086465766963652f611a0d0a00120921000000000000f03f2506000000\
             2a050a017818072a0d0a0472696e671504000000180332060000c03f0201";
        let hex: String = cloud.emit().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
