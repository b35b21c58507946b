//! MIP, the packets of MicroStrain (LORD, HBK) inertial sensors.
//!
//! `75 65 | descriptor set | payload length | fields | checksum`. A field is `length | descriptor | data`; its length
//! includes the length byte and the descriptor. Numbers are most significant byte first. The checksum is Fletcher's
//! over all bytes before it. Source: the maker's MIP SDK and a recording of a device.

use super::checksum::fletcher8;
use super::framer::{Framing, NoFrame, head, require, whole};

const SYNC: [u8; 2] = [0x75, 0x65];
/// Length of a packet in addition to its payload, bytes.
pub const OVERHEAD: usize = 6;
/// Longest data of a field, bytes.
pub const MAX_FIELD_DATA: usize = 253;

/// Descriptor sets: groups of commands or measurements.
pub mod set {
    /// Base commands: ping, idle, device information.
    pub const BASE: u8 = 0x01;
    /// Commands of the 3DM family: formats, rates, streams.
    pub const THREE_DM: u8 = 0x0c;
    /// Commands of the estimation filter.
    pub const FILTER: u8 = 0x0d;
    /// Commands to the processor that communicates with the host.
    pub const SYSTEM: u8 = 0x7f;
    /// Measurements of the inertial sensors.
    pub const SENSOR_DATA: u8 = 0x80;
    /// Results of the estimation filter.
    pub const FILTER_DATA: u8 = 0x82;
}

/// One packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Descriptor set of the fields, see [`set`].
    pub descriptor_set: u8,
    /// Fields in the order of the wire.
    pub fields: Vec<Field>,
}

/// One field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Descriptor of the field, within its packet's descriptor set.
    pub descriptor: u8,
    /// The data, at most [`MAX_FIELD_DATA`] bytes.
    pub data: Vec<u8>,
}

/// Answers to commands.
pub mod reply {
    /// Descriptor of the field with the result of a command.
    pub const ACK: u8 = 0xf1;
    /// The command was executed.
    pub const OK: u8 = 0x00;
    /// The command is unknown.
    pub const UNKNOWN_COMMAND: u8 = 0x01;
    /// A value of a parameter is not allowed.
    pub const BAD_PARAMETER: u8 = 0x03;
    /// The command could not be executed.
    pub const FAILED: u8 = 0x04;
}

impl Field {
    /// A field with this descriptor and this data.
    pub fn new(descriptor: u8, data: impl Into<Vec<u8>>) -> Self {
        Self { descriptor, data: data.into() }
    }

    /// Acknowledgement of the command with the descriptor `command`. `code` is a code of [`reply`].
    pub fn ack(command: u8, code: u8) -> Self {
        Self::new(reply::ACK, [command, code])
    }

    /// Length on the wire, bytes.
    pub fn wire_len(&self) -> usize {
        2 + self.data.len()
    }

    /// A field of floats.
    pub fn of_f32s(descriptor: u8, values: &[f32]) -> Self {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
        Self { descriptor, data }
    }

    /// The data as floats; `None` if its length is not a multiple of four.
    pub fn f32s(&self) -> Option<Vec<f32>> {
        let (values, rest) = self.data.as_chunks::<4>();
        rest.is_empty().then(|| values.iter().map(|bytes| f32::from_be_bytes(*bytes)).collect())
    }
}

impl Packet {
    /// A packet with these fields.
    pub fn new(descriptor_set: u8, fields: impl Into<Vec<Field>>) -> Self {
        Self { descriptor_set, fields: fields.into() }
    }

    /// Appends `fields` as packets of the set `descriptor_set`. A new packet begins when the next field does not fit
    /// into 255 bytes of payload.
    pub fn emit_all(descriptor_set: u8, fields: Vec<Field>, out: &mut Vec<u8>) {
        let mut packet = Packet { descriptor_set, fields: Vec::new() };
        let mut payload = 0;
        for field in fields {
            if payload + field.wire_len() > 255 {
                packet.emit(out);
                packet.fields.clear();
                payload = 0;
            }
            payload += field.wire_len();
            packet.fields.push(field);
        }
        if !packet.fields.is_empty() {
            packet.emit(out);
        }
    }

    /// Appends the packet.
    ///
    /// # Panics
    /// If the fields have more than 255 bytes; [`Packet::emit_all`] splits them into packets.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let payload: usize = self.fields.iter().map(Field::wire_len).sum();
        let length = u8::try_from(payload).expect("fields of one packet take at most 255 bytes");
        let start = out.len();
        out.extend(SYNC);
        out.extend([self.descriptor_set, length]);
        for field in &self.fields {
            out.extend([field.wire_len() as u8, field.descriptor]);
            out.extend_from_slice(&field.data);
        }
        let sum = fletcher8(&out[start..]);
        out.extend(sum);
    }
}

/// Splits the payload into fields; `None` if the fields' lengths do not match the payload's length.
fn fields(mut payload: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while let Some((&length, _)) = payload.split_first() {
        let (field, rest) = payload.split_at_checked(length.into())?;
        let (&[_, descriptor], data) = field.split_first_chunk()?;
        fields.push(Field { descriptor, data: data.to_vec() });
        payload = rest;
    }
    Some(fields)
}

/// Finds [`Packet`]s in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Mip;

impl Framing for Mip {
    type Frame = Packet;

    fn max_len(&self) -> usize {
        OVERHEAD + 255
    }

    fn begins(&self, byte: u8) -> bool {
        byte == SYNC[0]
    }

    fn scan(&self, bytes: &[u8]) -> Result<(Packet, usize), NoFrame> {
        let [first, second, descriptor_set, length] = head(bytes)?;
        require([first, second] == SYNC)?;
        let packet = whole(bytes, OVERHEAD + usize::from(length))?;
        let (covered, sum) = packet.split_at(packet.len() - 2);
        require(sum == fletcher8(covered))?;
        let fields = fields(&covered[4..]).ok_or(NoFrame::Refused)?;
        Ok((Packet { descriptor_set, fields }, packet.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use crate::tests::hex;
    use proptest::prelude::*;

    fn emit(packet: &Packet) -> Vec<u8> {
        let mut out = vec![0xa5];
        packet.emit(&mut out);
        out.split_off(1)
    }

    fn golden(packet: Packet, text: &str) {
        assert_eq!(emit(&packet), hex(text));
        assert_eq!(Framer::new(Mip).frames(&hex(text)), [packet]);
    }

    #[test]
    fn commands_and_replies_are_the_sdks() {
        let base = |fields: &[Field]| Packet::new(set::BASE, fields);
        let dm = |fields: &[Field]| Packet::new(set::THREE_DM, fields);
        golden(base(&[Field::new(1, [])]), "75 65 01 02 02 01 E0 C6");
        golden(base(&[Field::ack(1, reply::OK)]), "75 65 01 04 04 F1 01 00 D5 6A");
        golden(base(&[Field::new(2, [])]), "75 65 01 02 02 02 E1 C7");
        golden(base(&[Field::ack(2, 0)]), "75 65 01 04 04 F1 02 00 D6 6C");
        golden(base(&[Field::new(6, [])]), "75 65 01 02 02 06 E5 CB");
        let list = [0x0101u16, 0x0102, 0x0c08, 0x8004, 0x8005, 0x8006];
        let list: Vec<u8> = list.iter().flat_map(|d| d.to_be_bytes()).collect();
        golden(
            base(&[Field::ack(4, 0), Field::new(0x82, list)]),
            "75 65 01 12 04 F1 04 00 0E 82 01 01 01 02 0C 08 80 04 80 05 80 06 1E 9C",
        );
        golden(dm(&[Field::new(0x30, [5])]), "75 65 0C 03 03 30 05 21 47");
        golden(
            dm(&[Field::ack(6, 0), Field::new(0x83, [0x03, 0xe8])]),
            "75 65 0C 08 04 F1 06 00 04 83 03 E8 5B F5",
        );
        golden(
            dm(&[Field::new(8, [1, 3, 4, 0, 10, 5, 0, 10, 6, 0, 10])]),
            "75 65 0C 0D 0D 08 01 03 04 00 0A 05 00 0A 06 00 0A 39 7D",
        );
        golden(dm(&[Field::ack(0x7f, reply::BAD_PARAMETER)]), "75 65 0C 04 04 F1 7F 03 61 AB");
    }

    #[test]
    fn data_is_the_notes() {
        let text = "75 65 80 38 0E 04 3C 27 1D E7 BC A7 1D E7 BF 80 00 00 0E 05 3C 23 D7 0A BC A3 \
            D7 0A 3C F5 C2 8F 0E 06 3E 57 0A 3D 3C F5 C2 8F 3E D7 0A 3D 0E 12 41 20 DC 42 00 00 00 \
            00 09 8D 00 07 D0 FC";
        let mut time = 552_481.0f64.to_be_bytes().to_vec();
        time.extend([0x09, 0x8d, 0x00, 0x07]);
        let packet = Packet::new(
            set::SENSOR_DATA,
            [
                Field::of_f32s(4, &[0.0102, -0.0204, -1.0]),
                Field::of_f32s(5, &[0.01, -0.02, 0.03]),
                Field::of_f32s(6, &[0.21, 0.03, 0.42]),
                Field::new(0x12, time),
            ],
        );
        golden(packet.clone(), text);
        assert_eq!(packet.fields[1].f32s(), Some(vec![0.01, -0.02, 0.03]));
    }

    #[test]
    fn fields_that_do_not_fit_start_a_new_packet() {
        let fields: Vec<_> = (0..30).map(|d| Field::of_f32s(d, &[1.0; 3])).collect();
        let mut out = Vec::new();
        Packet::emit_all(set::SENSOR_DATA, fields.clone(), &mut out);
        let packets = Framer::new(Mip).frames(&out);
        assert_eq!(packets.len(), 2);
        assert_eq!(packets.into_iter().flat_map(|p| p.fields).collect::<Vec<_>>(), fields);
    }

    #[test]
    fn lengths_that_do_not_add_up_are_refused() {
        for payload in [&[0u8, 4][..], &[1], &[4, 4, 0], &[2, 4, 0]] {
            let mut bytes = [&SYNC[..], &[0x80, payload.len() as u8], payload].concat();
            let sum = fletcher8(&bytes);
            bytes.extend(sum);
            assert!(Framer::new(Mip).frames(&bytes).is_empty(), "{bytes:02x?}");
        }
    }

    proptest! {
        #[test]
        fn any_packet_survives(
            descriptor_set: u8,
            fields in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..6),
        ) {
            let fields = fields.into_iter().map(|(d, data)| Field::new(d, data)).collect::<Vec<_>>();
            let packet = Packet { descriptor_set, fields };
            prop_assert_eq!(Framer::new(Mip).frames(&emit(&packet)), [packet]);
        }
    }
}
