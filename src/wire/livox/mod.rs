//! Livox's protocol "SDK 2": commands and keys of Mid-360 and HAP, and their packets of points and inertial samples. The
//! older protocol "SDK 1" is in [`first`].
//!
//! One UDP datagram is one frame or one packet; numbers are little-endian.

pub mod command;
pub mod data;
pub mod first;
pub mod key;
