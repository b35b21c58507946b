//! SCIP streams, divided into portions of any length: messages and requests have bounded lengths, and each decoded one
//! is encoded to its original bytes.

use menura::wire::framer::Framer;
use menura::wire::scip::message::{LONGEST_MESSAGE, Messages};
use menura::wire::scip::request::{LONGEST_REQUEST, Request, RequestLines};
use menura::wire::scip::scan::ScanData;

pub fn run(bytes: &[u8]) {
    let Some((&cut, bytes)) = bytes.split_first() else { return };
    let mut framer = Framer::new(Messages);
    let mut lines = RequestLines::default();
    for portion in bytes.chunks(usize::from(cut).max(1)) {
        let mut rest = portion;
        while let Some(piece) = framer.next_piece(&mut rest) {
            let Some(message) = piece.frame else { continue };
            assert_eq!(message.to_bytes(), piece.bytes);
            assert!(piece.bytes.len() <= LONGEST_MESSAGE);
            let command =
                Request::parse(&message.echo, false).ok().and_then(|request| request.name.scan());
            if let Some(command) = command
                && let Ok(scan) = ScanData::parse(command.format, &message.lines)
            {
                assert_eq!(scan.lines(command.format), message.lines);
            }
        }
        let mut rest = portion;
        while let Some(line) = lines.next_line(&mut rest) {
            assert!((1..=LONGEST_REQUEST).contains(&line.bytes.len()));
            for needs_semicolon in [false, true] {
                if let Ok(request) = Request::parse(&line.bytes, needs_semicolon) {
                    assert_eq!(request.to_bytes(), line.bytes);
                    let _ = request.numbers::<5>();
                }
            }
        }
        assert!(rest.is_empty());
    }
}
