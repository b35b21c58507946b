//! The real-time loop and its surroundings: [`links`] sends bytes, [`timing`] has statistics of lateness,
//! [`engine`] clocks, deadlines and workers, [`plot`] draws pictures, [`analysis`] reads recorded streams.
//!
//! # For programs that embed Menura
//!
//! | to | use |
//! |---|---|
//! | run a rig in real time | [`engine::RunSession`], [`engine::RunOptions`], [`engine::RunOutcome`] |
//! | observe a run while it runs | [`engine::LiveRun`], [`engine::RealTimeRun`] |
//! | record a rig to files | [`engine::record::record`] |
//! | make single measurements | [`engine::LiveWorld`], [`engine::build_devices`] |
//! | start and end faults | [`engine::run_control::RunControl`] |
//! | read and check certificates | [`engine::certificate::Certificate`] |
//! | read captures, bags and serial recordings | [`analysis::capture`] |
//!
//! Modules that no other crate uses are `pub(crate)`. The other public ones serve `menura` and its tests, and may change.

extern crate menura_wire as wire;

#[path = "../analysis/mod.rs"]
pub mod analysis;
#[path = "mod.rs"]
pub mod engine;
#[path = "../links/mod.rs"]
pub mod links;
#[path = "../plot/mod.rs"]
pub mod plot;
#[path = "../timing/mod.rs"]
pub mod timing;

use menura_config as config;
use menura_devices as devices;
use menura_world::{sensors, world};
use wire::{frames, time};
