//! The whole of `menura inspect` on any bytes: it ends, and its JSON is JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::cli::inspect::{Options, Source, inspect};

fuzz_target!(|bytes: &[u8]| {
    let source = Source::Bytes(bytes);
    let mut text = Vec::new();
    let _ = inspect(source, &Options::new("fuzz", false), &mut text);
    assert!(std::str::from_utf8(&text).is_ok());
    let mut json = Vec::new();
    if inspect(source, &Options::new("fuzz", true), &mut json).is_ok() {
        assert!(json.ends_with(b"}\n"));
    }
});
