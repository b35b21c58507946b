//! Any bytes as the truth of a packet: what is accepted is written back as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::wire::truth::PacketRecord;

fuzz_target!(|bytes: &[u8]| {
    let Ok(record) = PacketRecord::parse(bytes) else { return };
    let mut out = Vec::new();
    record.emit(&mut out);
    assert_eq!(out, bytes);
    for firing in &record.firings {
        assert_eq!(record.returns_of(firing).len(), usize::from(firing.returns));
    }
});
