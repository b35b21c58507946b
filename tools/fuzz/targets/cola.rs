//! CoLa streams, divided into portions of any length: the framer's memory is bounded, and each decoded frame is encoded
//! to its original bytes.

use menura::wire::cola::Dialect;
use menura::wire::cola::frame::Cola;
use menura::wire::cola::scan_data::ScanData;
use menura::wire::cola::telegram::Telegram;
use menura::wire::framer::Framer;

pub fn run(bytes: &[u8]) {
    let Some((&cut, bytes)) = bytes.split_first() else { return };
    let mut framer = Framer::new(Cola { max_content: 4096 });
    for mut portion in bytes.chunks(usize::from(cut).max(1)) {
        while let Some(piece) = framer.next_piece(&mut portion) {
            let Some(frame) = piece.frame else { continue };
            read(frame.dialect, &frame.content);
            assert_eq!(frame.emit(), piece.bytes);
        }
    }
    for dialect in [Dialect::A, Dialect::B] {
        read(dialect, bytes);
    }
}

fn read(dialect: Dialect, content: &[u8]) {
    if let Ok(scan) = ScanData::parse(dialect, content) {
        assert_eq!(scan.emit(dialect), content);
    }
    if let Ok(telegram) = Telegram::parse(dialect, content) {
        let again = telegram.emit(dialect);
        assert_eq!(Telegram::parse(dialect, &again), Ok(telegram));
    }
}
