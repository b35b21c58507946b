//! Datagrams of the Ouster OS0, OS1 and OS2, firmware 2.0 to 3.2.
//!
//! [`mod@format`] says how the channel data of each `udp_profile_lidar` is laid out, [`lidar`] writes and
//! reads lidar packets, [`imu`] IMU packets, [`commands`] what hosts say by TCP. In packets everything is least significant byte first.
//!
//! Sources: the firmware user manual and the parser of ouster-sdk 1.0.1; captures of real units for
//! what they leave out.

pub mod commands;
pub mod format;
pub mod imu;
pub mod lidar;

#[cfg(test)]
mod tests;
