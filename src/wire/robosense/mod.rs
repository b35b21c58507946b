//! UDP packets of RoboSense's lidars: points ([`msop`]), status ([`difop`]), IMU samples of an Airy ([`imu`]), and
//! the configuration that hosts write ([`ucwp`]). [`layout`] describes the differences between models, [`values`] the
//! representation of times, temperatures and angles. All numbers are most significant byte first, except the
//! temperatures in most headers.
//!
//! Sources: RoboSense's user manuals (RS-LiDAR-16, RS-LiDAR-32, Helios, M1); rs_driver 1.5.19; golden packets that
//! this driver has read.

pub mod difop;
pub mod imu;
pub mod layout;
pub mod msop;
pub mod ucwp;
pub mod values;

#[cfg(test)]
mod tests;
