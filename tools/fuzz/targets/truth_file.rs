//! Any bytes as a ground-truth file: the reader never loops forever, and reports the end of the file only if the bytes
//! end with the MCAP magic bytes.

use menura::analysis::truth::file::TruthReader;

/// Last bytes of every MCAP file.
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
