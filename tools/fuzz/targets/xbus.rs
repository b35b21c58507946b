//! A stream of Xbus frames: however the stream is divided into portions, each decoded frame is encoded to its original
//! bytes.

use super::frames;
use menura::wire::record::Record;
use menura::wire::xbus::{Configuration, Item, OutputItem, Xbus};

pub fn run(bytes: &[u8]) {
    for frame in frames::come_back(Xbus, bytes, |frame, out| frame.emit(out)) {
        if let Ok(items) = Item::parse_all(&frame.data) {
            let mut again = Vec::new();
            items.iter().for_each(|item| item.emit(&mut again));
            assert_eq!(again, frame.data);
            items.iter().for_each(|item| drop(item.reals()));
        }
        let _ = (OutputItem::parse_all(&frame.data), Configuration::parse(&frame.data));
    }
}
