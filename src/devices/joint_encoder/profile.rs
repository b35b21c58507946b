//! Encoders and turning heads as data: counting, format and clock.

use crate::wire::ethernet::FrameHeader;

/// A firmware profile.
#[derive(Clone, Debug)]
pub struct JointEncoderProfile {
    /// Output of lines.
    pub output: OutputWay,
    /// Whether a motor follows the host's commands.
    pub takes_commands: bool,
    /// Definition of a pass of a sweep.
    pub pass: Pass,
    /// Speed unit of a speed character, rad/s for a joint that turns.
    pub speed_unit_rad_s: f64,
    /// Speed unit 1 of a speed character, m/s, for a joint that slides.
    pub speed_unit_m_s: f64,
    /// Time from the end of a command to the first byte of its answer, nanoseconds.
    pub reply_delay_ns: u64,
    /// Time from a sample to the first byte about it, nanoseconds.
    pub output_delay_ns: u64,
    /// Size of the serial transmit buffer, bytes.
    pub transmit_buffer_bytes: usize,
    /// Headers of datagrams below UDP.
    pub network: FrameHeader,
    /// Defaults that a rig may override.
    pub defaults: JointEncoderSettings,
}

words!(OutputWay: "udp" => Udp, "serial" => Serial);
/// Output of a unit's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputWay {
    /// One datagram for each line.
    Udp,
    /// The head is on a serial line.
    Serial,
}

words!(Pass: "one-way" => OneWay, "there-and-back" => ThereAndBack);
/// Definition of a pass of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The pass goes from one end to the other; the next pass returns.
    OneWay,
    /// The pass goes from the first end to the other and returns.
    ThereAndBack,
}

words!(Counting: "total" => Total, "turn" => Turn);
/// Range of the step count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Unlimited, also negative.
    Total,
    /// From 0 to the steps of one rotation, then again from 0; sliding joints count as with `Total`.
    Turn,
}

/// Settings of a unit in a rig.
#[derive(Clone, Debug, PartialEq)]
pub struct JointEncoderSettings {
    /// Lines a second; a divisor of [`SAMPLES_PER_S`].
    pub rate_hz: u32,
    /// Steps per rotation of a joint that turns.
    pub steps_per_turn: u32,
    /// Steps of a metre of a joint that slides.
    pub steps_per_m: u32,
    /// The count at the joint's position zero.
    pub zero_count: i64,
    /// Whether the count falls while the position rises.
    pub is_reversed: bool,
    /// Kind of counting.
    pub counting: Counting,
    /// Position of the index mark: the count, modulo one turn.
    pub index_count: i64,
    /// First word of an index line; empty for a unit without an index mark.
    pub index_word: String,
    /// Decimals of the milliseconds in a line.
    pub time_decimals: u8,
    /// Number of bits of the clock, which counts whole milliseconds and then starts again.
    pub time_bits: u32,
    /// Time on the clock at the first instant, nanoseconds; may be negative.
    pub clock_offset_ns: i64,
    /// The clock runs fast by this part, in millionths.
    pub clock_drift_ppm: f64,
    /// Standard deviation of the jitter of a time in a line, seconds.
    pub clock_jitter_s: f64,
    /// Output latency in addition to [`JointEncoderProfile::output_delay_ns`], nanoseconds.
    pub lag_ns: u64,
    /// Baud rate of the serial line.
    pub baud: u32,
}

/// Samples a second inside: the index mark is looked for between each two.
pub const SAMPLES_PER_S: u32 = 1000;
