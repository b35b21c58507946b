//! `menura inspect` on any bytes: both reports end, the text is UTF-8, and the JSON is complete.

use menura::analysis::capture::Source;
use menura::analysis::flows::Analysis;
use menura::analysis::report::{Options, report};
use menura::devices::decoder::Hints;

pub fn run(bytes: &[u8]) {
    let source = Source::Bytes(bytes);
    let analysis = || Analysis::new(&Hints::default()).expect("no hints");
    let mut text = Vec::new();
    let _ = report(source, &Options::new("fuzz", false), analysis(), &mut text);
    assert!(std::str::from_utf8(&text).is_ok());
    let mut json = Vec::new();
    if report(source, &Options::new("fuzz", true), analysis(), &mut json).is_ok() {
        assert!(json.ends_with(b"}\n"));
    }
}
