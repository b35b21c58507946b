//! Decodes answers of a Kangaroo.

use serde_json::json;

use crate::decoder::{StreamDecoder, object_of};
use crate::serial::decoder::{FrameDecoder, Shown, Summary, hex};
use crate::wire::kangaroo::{self, Kangaroo, flag};

pub(super) fn decoder(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, Kangaroo, Summary::Counts, show)
}

fn show(item: &kangaroo::Item) -> Option<Shown> {
    let kangaroo::Item::Packet(packet) = item else {
        let kangaroo::Item::Line(line) = item else { return None };
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        // Lines of text can come from many other devices.
        let shown = Shown::new("text", object_of(json!({ "text": text })));
        return Some(shown.of_many_families());
    };
    let [channel, flags, rest @ ..] = packet.data.as_slice() else { return None };
    if packet.command != kangaroo::REPLY {
        let said = json!({ "address": packet.address, "data": hex(&packet.data) });
        return Some(Shown::new(format!("command {:#04x}", packet.command), object_of(said)));
    }
    let mut rest = rest;
    let mut take = |is_there| kangaroo::take_byte(&mut rest, is_there);
    let echo = take(flags & flag::ECHO != 0);
    let sequence = take(flags & flag::SEQUENCE != 0);
    let kind = take(true)?;
    let value = kangaroo::take_number(&mut rest)?;
    let said = json!({
        "address": packet.address, "channel": char::from(*channel).to_string(),
        "is_error": flags & flag::ERROR != 0, "is_busy": flags & flag::BUSY != 0,
        "is_raw": flags & flag::RAW != 0, "echo": echo, "sequence": sequence,
        "type": kind, "value": value,
    });
    Some(Shown::new("reply", object_of(said)))
}
