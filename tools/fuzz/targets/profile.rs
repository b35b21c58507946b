//! A firmware profile of any text is read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use menura::config::profile::Profile;
use menura::devices::family::catalogue;

fuzz_target!(|text: &str| {
    if let Err(faults) = catalogue().parse_profile("any.toml", text) {
        assert!(!faults.to_string().is_empty());
    }
});
