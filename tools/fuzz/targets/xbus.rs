//! A stream in Xbus's format: every frame found is written back as it came, portions do not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::wire::xbus::{Configuration, Item, OutputItem, Xbus};
use menura::wire::stream::StreamDecoder;

fuzz_target!(|bytes: &[u8]| {
    let cut = usize::from(bytes.first().copied().unwrap_or(1)).max(1);
    let mut decoder = StreamDecoder::new();
    for portion in bytes.chunks(cut) {
        decoder.push(portion);
        while let Some((frame, as_sent)) = decoder.next_frame::<Xbus>() {
            let mut again = Vec::new();
            frame.emit(&mut again);
            assert_eq!(again, as_sent);
            if let Ok(items) = Item::parse_all(&frame.data) {
                let mut again = Vec::new();
                items.iter().for_each(|item| item.emit(&mut again));
                assert_eq!(again, frame.data);
                items.iter().for_each(|item| drop(item.reals()));
            }
            let _ = (OutputItem::parse_all(&frame.data), Configuration::parse(&frame.data));
        }
    }
});
