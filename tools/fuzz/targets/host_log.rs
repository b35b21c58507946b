//! A host log with anything in it, read for the default rig: a conversation in order, or the line that is wrong.

use std::sync::LazyLock;

use menura::config::rig::Rig;
use menura::devices::families::catalogue;
use menura::engine::host_log;

static RIG: LazyLock<Rig> =
    LazyLock::new(|| Rig::default_rig(&[], catalogue()).expect("the default rig is right"));

pub fn run(bytes: &[u8]) {
    if let Ok(conversation) = host_log::read(super::text(bytes), &RIG) {
        assert!(conversation.input.is_sorted_by_key(|input| input.at));
    }
}
