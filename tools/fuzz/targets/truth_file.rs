//! Any bytes as a truth file: reading ends, and only a file with an end is read to its end.

use menura::analysis::truth::file::TruthReader;

/// What every MCAP file ends with.
const MAGIC: &[u8] = b"\x89MCAP0\r\n";

pub fn run(bytes: &[u8]) {
    let mut reader = TruthReader::new(bytes);
    loop {
        match reader.next_packet() {
            Ok(Some(_)) => {}
            Ok(None) => {
                assert!(bytes.ends_with(MAGIC));
                return;
            }
            Err(_) => return,
        }
    }
}
