//! Any text as a host log of the default rig: events in order of time, or an error with the number of the line.

use std::sync::LazyLock;

use menura::config::rig::Rig;
use menura::devices::families::catalogue;
use menura::engine::host_log;

static RIG: LazyLock<Rig> =
    LazyLock::new(|| Rig::default_rig(&[], catalogue()).expect("the default rig is right"));

pub fn run(bytes: &[u8]) {
    if let Ok(conversation) = host_log::read(super::text(bytes), &RIG) {
        assert!(conversation.inputs.is_sorted_by_key(|input| input.at));
    }
}
