//! Livox's protocol "SDK 1": commands of Mid-40, Mid-70, Horizon and Avia, and their packets of points and IMU
//! samples.

pub mod command;
pub mod data;
