//! Datagrams of the Ouster OS0, OS1 and OS2, firmware 2.0 to 3.2.
//!
//! [`mod@format`] has the layout of each `udp_profile_lidar`. [`lidar`] writes and reads lidar packets, [`imu`] IMU
//! packets, [`commands`] host commands over TCP. Packets are least significant byte first.
//!
//! Sources: the firmware user manual and the parser of ouster-sdk 1.0.1; captures of real devices for facts that
//! these sources lack.

pub mod commands;
pub mod format;
pub mod imu;
pub mod lidar;

#[cfg(test)]
mod tests;
