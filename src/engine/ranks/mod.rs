//! Distributed ray casting: one process has the devices, the others measure for it.
//!
//! ```text
//! rank 0                                              ranks 1, 2, …
//! scheduler --jobs--> board --> lead.rs --orders-->   serve.rs --> threads that measure
//!           <---------- answers <------- replies ---
//! ```
//!
//! Rank 0 has devices, clock and sender, and measures everything without rays. The others read the same rig
//! and load the same world. Requests carry the facts that only rank 0 knows: motion of a driven robot, poses
//! of feeds, and faults started meanwhile ([`motion`]). [`pack`] defines the bytes, [`mod@line`] transports
//! them. Only the program `menura-mpi` (`src/mpi`) knows MPI.
//!
//! Answers arrive in any order, and devices get them in the order of their requests, as from threads. So the
//! bytes are the same for any number of ranks.

pub mod launcher;
pub mod lead;
pub mod line;
pub(crate) mod motion;
pub mod pack;
pub mod serve;
pub mod station;
pub(crate) mod twin_world;
