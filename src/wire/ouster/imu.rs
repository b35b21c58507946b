//! IMU packets of the profile `LEGACY`: one sample in 48 bytes.

use crate::record::record;

/// Length of a packet, bytes.
pub const IMU_PACKET_LEN: usize = 48;

record! {
    /// Packet of one sample.
    #[derive(Copy, Default)]
    ImuPacket: Le 48 {
        /// Time of the sample on the unit's system clock, nanoseconds.
        system_ns: u64,
        /// Time when the accelerometer was read, nanoseconds.
        acceleration_ns: u64,
        /// Time when the gyro was read, nanoseconds.
        gyro_ns: u64,
        /// Specific force along x, y and z, g.
        acceleration_g: [f32; 3],
        /// Angular rates about x, y and z, degrees/s.
        angular_rate_deg_s: [f32; 3],
    }
}
