//! A stream in SbgEcom's format: every frame found is written back as it came, portions do not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::wire::sbg_ecom::{Log, SbgEcom};
use menura::wire::stream::StreamDecoder;

fuzz_target!(|bytes: &[u8]| {
    let cut = usize::from(bytes.first().copied().unwrap_or(1)).max(1);
    let mut decoder = StreamDecoder::new();
    for portion in bytes.chunks(cut) {
        decoder.push(portion);
        while let Some((frame, as_sent)) = decoder.next_frame::<SbgEcom>() {
            let mut again = Vec::new();
            frame.emit(&mut again);
            assert_eq!(again, as_sent);
            if let Some(Ok(log)) = Log::parse(&frame) {
                assert_eq!(log.frame(), frame);
            }
        }
    }
});
