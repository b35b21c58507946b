//! Past one machine: one process has the devices, others measure for them.
//!
//! ```text
//! rank 0                                              ranks 1, 2, …
//! scheduler --jobs--> board --> lead.rs --orders-->   serve.rs --> threads that measure
//!           <---------- answers <------- replies ---
//! ```
//!
//! Rank 0 holds devices, clock and sender, and measures what casts no rays. The others read the same rig and load
//! the same world; what only rank 0 knows goes to them with the orders: how the robot is driven, what feeds
//! say, which faults began meanwhile ([`motion`]). [`pack`] has the bytes, [`mod@line`] what carries them. Between
//! processes the program `menura-mpi` does (`src/mpi`), the only one that knows MPI.
//!
//! Answers come in any order, and devices get them in the order in which they asked, as from threads: the
//! bytes are the same for any number of ranks.

pub mod launcher;
pub mod lead;
pub mod line;
pub(crate) mod motion;
pub mod pack;
pub mod serve;
pub mod station;
pub(crate) mod twin_world;
