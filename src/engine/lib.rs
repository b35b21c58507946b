//! The real-time loop and what is around it: [`links`] is where bytes go, [`timing`] statistics of lateness, [`engine`]
//! clocks, deadlines and workers, [`plot`] pictures, [`analysis`] streams that are read back.

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
