//! Any bytes as the ground truth of a packet: an accepted record is encoded to the same bytes.

use menura::wire::truth::PacketRecord;

pub fn run(bytes: &[u8]) {
    let Ok(record) = PacketRecord::parse(bytes) else { return };
    let mut out = Vec::new();
    record.emit(&mut out);
    assert_eq!(out, bytes);
    for firing in &record.firings {
        assert_eq!(record.returns_of(firing).len(), usize::from(firing.returns));
    }
}
