//! The subset of Protocol Buffers that Menura writes: fields of a message, one after another.

/// A message under construction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    bytes: Vec<u8>,
}

/// Wire type of a field.
#[derive(Clone, Copy)]
enum Layout {
    Varint = 0,
    Eight = 1,
    Counted = 2,
    Four = 5,
}

impl Message {
    /// Appends an integer, an enum's value or a boolean.
    #[must_use]
    pub fn integer(mut self, field: u32, value: u64) -> Self {
        self.tag(field, Layout::Varint);
        self.varint(value);
        self
    }

    /// Appends a `fixed32`.
    #[must_use]
    pub fn fixed(mut self, field: u32, value: u32) -> Self {
        self.tag(field, Layout::Four);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    /// Appends a `double`.
    #[must_use]
    pub fn double(mut self, field: u32, value: f64) -> Self {
        self.tag(field, Layout::Eight);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    /// Appends a `string` or `bytes`.
    #[must_use]
    pub fn data(mut self, field: u32, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.tag(field, Layout::Counted);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// Appends a message as a field.
    #[must_use]
    pub fn message(self, field: u32, value: &Self) -> Self {
        self.data(field, &value.bytes)
    }

    /// All written bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn tag(&mut self, field: u32, layout: Layout) {
        self.varint(u64::from(field) << 3 | layout as u64);
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_as_in_the_documents_of_protocol_buffers() {
        // Examples of the encoding guide: 150 in field 1, "testing" in field 2.
        assert_eq!(Message::default().integer(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let text = Message::default().data(2, "testing").into_bytes();
        assert_eq!(text, [0x12, 7, b't', b'e', b's', b't', b'i', b'n', b'g']);
        // The guide's example of a message within a message.
        let within = Message::default().integer(1, 150);
        let whole = Message::default().message(3, &within).into_bytes();
        assert_eq!(whole, [0x1a, 3, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().fixed(4, 1).into_bytes(), [0x25, 1, 0, 0, 0]);
        assert_eq!(Message::default().double(1, 2.0).into_bytes(), [9, 0, 0, 0, 0, 0, 0, 0, 0x40]);
        assert_eq!(Message::default().integer(16, 0).into_bytes(), [0x80, 0x01, 0]);
    }
}
