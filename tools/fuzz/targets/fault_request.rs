//! Fault requests to a run: any bytes are parsed or rejected with a message, and a parsed fault belongs to a device of
//! the rig.

use std::sync::LazyLock;

use menura::config::rig::Rig;
use menura::config::rig::fault_read::live_fault;
use menura::devices::families::catalogue;
use menura::engine::live_faults::{FaultRequest, toml_of};

static RIG: LazyLock<Rig> = LazyLock::new(|| {
    Rig::default_rig(&[], catalogue()).expect("the rig that runs when none is given")
});

pub fn run(bytes: &[u8]) {
    let keys = match FaultRequest::parse(bytes) {
        Ok(FaultRequest::Start(keys)) => keys,
        Ok(_) => return,
        Err(told) => return assert!(!told.is_empty()),
    };
    let Ok(text) = toml_of(&keys) else { return };
    match live_fault(&text, &RIG, "live-1", catalogue()) {
        Ok((fault, _)) => assert!(fault.device < RIG.devices.len()),
        Err(told) => assert!(!told.render(false).is_empty()),
    }
}
