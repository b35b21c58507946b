//! What RoboSense's lidars send and take by UDP: packets of points ([`msop`]) and of state ([`difop`]), inertial samples of
//! an Airy ([`imu`]), and the configuration that hosts write ([`ucwp`]). [`layout`] says how models differ, [`values`] how
//! times, temperatures and angles are written. All is most significant byte first but the temperatures of most heads.
//!
//! Sources: RoboSense's user manuals (RS-LiDAR-16, RS-LiDAR-32, Helios, M1); rs_driver 1.5.19; goldens that it has read.

pub mod difop;
pub mod imu;
pub mod layout;
pub mod msop;
pub mod ucwp;
pub mod values;

#[cfg(test)]
mod tests;
