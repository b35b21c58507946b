//! Distributed ray casting: one process has the devices, the other processes measure for it.
//!
//! ```text
//! rank 0                                              ranks 1, 2, …
//! scheduler --jobs--> queue --> lead.rs --orders-->   serve.rs --> threads that measure
//!           <---------- answers <------- replies ---
//! ```
//!
//! Rank 0 has devices, clock and sender, renders the images of cameras, and makes all measurements without rays. The
//! other ranks read the same rig and load the same world; they measure the sweeps of lidars. Requests include state
//! that only rank 0 has: motion of a driven robot, poses of feeds, and faults started during the run ([`motion`]).
//! [`pack`] defines the bytes, [`mod@line`] transports them. Only the program `menura-mpi` (`src/mpi`) uses MPI.
//!
//! Answers arrive in any order; each device gets them in the order of its requests, as from threads. So the bytes are
//! the same for any number of ranks.

pub mod launcher;
pub mod lead;
pub mod line;
pub(crate) mod motion;
pub mod pack;
pub mod serve;
pub mod station;
pub(crate) mod twin_world;
