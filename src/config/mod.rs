//! What a user writes: rigs and firmware profiles, read, checked and typed.
//!
//! Everything to the right of this layer works on values that were checked here.

pub mod profile;
pub mod rig;
