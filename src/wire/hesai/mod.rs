//! What Hesai's Pandar40P, Pandar64, PandarQT64 and PandarXT say: [`data`] packets, laid out as [`mod@format`]
//! says, and [`gps`] packets by UDP,
//! which are least significant byte first, and the commands of [`ptc`] by TCP, which are most significant
//! byte first.
//!
//! Sources: Hesai's manuals, HesaiLidar_SDK_2.0, HesaiLidar_General_SDK, nebula; captures of real units for
//! what they leave out.

pub mod data;
pub mod format;
pub mod gps;
pub mod ptc;

#[cfg(test)]
mod tests;
