//! Livox's protocol "SDK 2": commands and keys of Mid-360 and HAP, and their packets of points and IMU samples.
//! [`first`] contains the older protocol "SDK 1".
//!
//! A UDP datagram contains one frame or one packet. Numbers are little-endian.

pub mod command;
pub mod data;
pub mod first;
pub mod key;
