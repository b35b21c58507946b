//! MON and TIM messages: who the receiver is, and when its next pulse comes.

use serde::Serialize;

use super::{MessageId, Payload};
use crate::wire::record::record;

message! {
    /// The next time pulse; sent before it.
    TimTp 0x0d 0x01 16 {
        /// Time of week of the pulse.
        tow_ms: u32,
        /// To be added, 2^-32 ms.
        tow_sub_ms: u32,
        /// Error of the pulse by its quantisation.
        quantisation_error_ps: i32,
        /// Week of the pulse.
        week: u16,
        /// Bit 0 time base UTC instead of GNSS, 1 UTC available, 2-3 RAIM, 4 error invalid.
        flags: u8,
        /// Bits 0-3 GNSS of reference, 4-7 whose UTC.
        reference: u8,
    }
}

record! {
    /// Versions of the receiver. Text is padded with zero bytes.
    MonVer: Le {
        /// Of the software.
        software: [u8; 30],
        /// Of the hardware.
        hardware: [u8; 10],
        /// More about both.
        extensions: Vec<[u8; 30]>,
    }
}

impl Payload for MonVer {
    const ID: MessageId = MessageId::new(0x0a, 0x04);
}

impl MonVer {
    /// From text that is cut to 30, 10 and 30 bytes.
    pub fn new<'a>(
        software: &str,
        hardware: &str,
        extensions: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self {
            software: padded(software),
            hardware: padded(hardware),
            extensions: extensions.into_iter().map(padded).collect(),
        }
    }
}

/// Text at the head of `N` bytes.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    for (byte, letter) in bytes.iter_mut().zip(text.bytes()) {
        *byte = letter;
    }
    bytes
}

/// Up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl Serialize for MonVer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("software", &text(&self.software))?;
        map.serialize_entry("hardware", &text(&self.hardware))?;
        let extensions: Vec<String> = self.extensions.iter().map(|e| text(e)).collect();
        map.serialize_entry("extensions", &extensions)?;
        map.end()
    }
}
