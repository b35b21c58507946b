//! Formats of Hesai's Pandar40P, Pandar64, PandarQT64 and PandarXT. [`data`] packets, with the layouts of
//! [`mod@format`], and [`gps`] packets use UDP, least significant byte first. Commands of [`ptc`] use TCP, most
//! significant byte first.
//!
//! Sources: Hesai's manuals, HesaiLidar_SDK_2.0, HesaiLidar_General_SDK, nebula; captures of real devices for facts
//! that these sources lack.

pub mod data;
pub mod format;
pub mod gps;
pub mod ptc;

#[cfg(test)]
mod tests;
