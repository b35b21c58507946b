//! A stream in FdiLink's format: every frame found is written back as it came, portions do not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::wire::fdilink::FdiLink;
use menura::wire::framer::Framer;

fuzz_target!(|bytes: &[u8]| {
    let cut = usize::from(bytes.first().copied().unwrap_or(1)).max(1);
    let mut framer = Framer::new(FdiLink);
    for mut portion in bytes.chunks(cut) {
        while let Some(piece) = framer.next_piece(&mut portion) {
            let Some(frame) = piece.frame else { continue };
            let mut again = Vec::new();
            frame.emit(&mut again);
            assert_eq!(again, piece.bytes);
        }
    }
});
