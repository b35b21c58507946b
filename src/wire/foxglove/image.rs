//! `foxglove.CompressedImage` as Protocol Buffers, and its description.

use super::cloud::{BYTES, MESSAGE, STRING, describe_with_time, time};
use crate::protobuf::Message;

/// The message's name.
pub const NAME: &str = "foxglove.CompressedImage";

/// An image of a camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompressedImage<'a> {
    /// Time, nanoseconds of POSIX time.
    pub unix_ns: u64,
    /// The camera's frame: x right, y down, z forward.
    pub frame: &'a str,
    /// Format of the file: `jpeg`.
    pub format: &'a str,
    /// The file.
    pub data: &'a [u8],
}

impl CompressedImage<'_> {
    /// The message.
    pub fn emit(&self) -> Vec<u8> {
        let head = Message::default().message(1, &time(self.unix_ns)).data(2, self.data);
        head.data(3, self.format).data(4, self.frame).into_bytes()
    }
}

/// The `FileDescriptorSet` of [`NAME`].
pub fn description() -> Vec<u8> {
    let fields = [
        ("timestamp", 1, false, MESSAGE, ".google.protobuf.Timestamp"),
        ("data", 2, false, BYTES, ""),
        ("format", 3, false, STRING, ""),
        ("frame_id", 4, false, STRING, ""),
    ];
    describe_with_time("foxglove/CompressedImage.proto", &[("CompressedImage", &fields)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_what_the_reference_encoder_writes() {
        let image = CompressedImage {
            unix_ns: 1_780_315_199_900_000_001,
            frame: "device/a/optical",
            format: "jpeg",
            data: &[0xff, 0xd8, 0xff],
        };
        // By Google's Python module from Foxglove's own definitions (foxglove-schemas-protobuf 0.4.0).
        let expected = "0a0c08bfe8f5d0061081d293ad031203ffd8ff1a046a70656722106465766963652f612f6f70746963616c";
        let hex: String = image.emit().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
