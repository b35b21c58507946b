//! What tests of lidars that spin share.

use crate::{Output, Transmit};

/// What leaves of what a unit has given out: as the engine does, without what was revoked.
pub fn without_revoked(given: Vec<Transmit>) -> Vec<Transmit> {
    let mut kept: Vec<Transmit> = Vec::new();
    for transmit in given {
        match transmit.output {
            Output::Revoke(port) => {
                kept.retain(|old| old.due < transmit.due || old.output.port() != Some(port));
            }
            _ => kept.push(transmit),
        }
    }
    kept
}
