//! Reads ground truth files and labels the points of a recording.
//!
//! [`mod@file`] reads the file record by record. [`join`] finds the ground truth of each packet by the digest of its
//! bytes, and the ground truth of each point by laser and firing, or by its angle in a scan. [`table`] has all points
//! as columns, which [`mod@write`] writes.

pub mod file;
pub mod join;
pub mod points;
pub mod table;
pub mod write;
