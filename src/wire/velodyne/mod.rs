//! Formats of Velodyne lidars: data and position packets, the status bytes of the HDL-64E, and the commands
//! on its serial line.
//!
//! Each module names its sources.

mod data;
pub mod hdl64e_command;
pub mod hdl64e_status;
pub mod position;
pub mod telemetry;

pub use data::{
    BLOCK_LEN, BLOCKS, Bank, Block, DATA_PACKET_LEN, DataPacket, FULL_TURN_CENTIDEG, HOUR_US,
    Issue, Model, POINT_LEN, Point, ReturnMode, SLOTS, TAIL, TIMESTAMP, begin_block, blocks_mut,
};
