//! Firmware profile of an encoder or turning head, and its settings in a rig.

use crate::config::profile::lag;
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{
    Among, By, OneOf, Scaled, Table, Text, Time, TrueOrFalse, plain,
};
use crate::config::toml::keys::{Shared, SharedKeys};
use crate::config::toml::reader::{Field, Limit};
use crate::wire::ethernet::FrameHeader;
use crate::wire::joint_lines::{MAX_WORD_LEN, is_word};

/// Internal sample rate, 1/s. The encoder searches for the index mark between successive samples.
pub const SAMPLES_PER_S: u32 = 1000;

/// Baud rates that units and hosts support.
const BAUD_RATES: [u32; 7] = [9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800];

words!(OutputWay: "udp" => Udp, "serial" => Serial);
/// Channel by which the unit sends its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputWay {
    /// One datagram per line.
    Udp,
    /// A serial line.
    Serial,
}

words!(Pass: "one-way" => OneWay, "there-and-back" => ThereAndBack);
/// Extent of one pass of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// A pass leads from one end of the sweep to the other; the next pass returns.
    OneWay,
    /// A pass leads from the first end of the sweep to the other and back.
    ThereAndBack,
}

words!(Counting: "total" => Total, "turn" => Turn);
/// Range of the step count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Unlimited, also negative.
    #[default]
    Total,
    /// From 0 to the steps of one rotation, then again from 0; sliding joints count as with `Total`.
    Turn,
}

fn delay() -> Time {
    Time(Limit::new(0.0..=10_000.0, "ms", PROFILES), 1e6)
}

keys! {
    /// Firmware profile of an encoder or a turning head.
    #[derive(Clone, Debug)]
    pub struct JointEncoderProfile {
        /// Output of the unit's lines.
        pub unit: Output, Table("[unit]");
        /// Commands to a motor.
        pub motor: MotorCommands, Table("[motor]");
        /// Addresses and header fields of recorded frames. A run sends through the host's network stack.
        pub network: FrameHeader,
            By(|field: &Field<'_>| field.table("[network]").and_then(network));
        /// Default settings of a unit.
        pub defaults as "settings": JointEncoderSettings, Shared("[settings]");
    }
}

keys! {
    /// Output of the unit's lines.
    #[derive(Clone, Copy, Debug)]
    pub struct Output {
        /// Whether each line leaves as a datagram, or on a serial line.
        pub way as "output": OutputWay, OneOf(&OutputWay::WORDS, PROFILES);
        /// Time from a sample to the first byte of its message.
        pub delay_ns as "output_delay_ms": u64, delay();
        /// Bytes that the transmitter of the serial line holds.
        pub transmit_buffer_bytes: usize, Limit::new(64..=1_000_000, "bytes", PROFILES);
    }
}

keys! {
    /// Treatment of commands to the motor.
    #[derive(Clone, Copy, Debug)]
    pub struct MotorCommands {
        /// Whether a host's commands move the joint.
        pub takes_commands: bool, TrueOrFalse;
        /// Whether a pass of PS3D leads from one end to the other, or there and back.
        pub pass: Pass, OneOf(&Pass::WORDS, PROFILES);
        /// Speed that one count of a speed character means, for a joint that turns.
        pub speed_unit_rad_s as "speed_unit_rpm": f64, By(|field: &Field<'_>| {
            let rpm = field.number(&Limit::new(1e-6..=1000.0, "rpm", PROFILES))?;
            Some(rpm * std::f64::consts::TAU / 60.0)
        });
        /// Speed that one count of a speed character means, for a joint that slides.
        pub speed_unit_m_s as "speed_unit_mm_s": f64,
            Scaled(Limit::new(1e-6..=1000.0, "mm/s", PROFILES), 1e-3);
        /// Time from the end of a command to the first byte of its answer.
        pub reply_delay_ns as "reply_delay_ms": u64, delay();
    }
}

fn steps() -> Limit<i128> {
    Limit::new(1..=100_000_000, "steps", PROFILES)
}

fn count() -> Limit<i128> {
    Limit::new(-1_000_000_000_000..=1_000_000_000_000, "steps", PROFILES)
}

keys! {
    in profile and rig;
    /// Settings of a unit in a rig.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct JointEncoderSettings {
        /// Outputs per second.
        pub rate_hz: u32, Among(
            &plain((1..=SAMPLES_PER_S).filter(|hz| SAMPLES_PER_S.is_multiple_of(*hz))), "Hz",
            "the unit: lines are every n-th of 1000 samples a second",
        );
        /// Steps that the encoder counts in a turn of a joint that turns.
        pub steps_per_turn: u32, steps();
        /// Steps that the encoder counts in a metre of a joint that slides.
        pub steps_per_m: u32, steps();
        /// The count at the joint's position zero.
        pub zero_count: i64, count();
        /// Whether the count falls while the position rises.
        pub is_reversed as "reversed": bool, TrueOrFalse;
        /// Whether the count continues over turns, or restarts with each turn.
        pub counting: Counting, OneOf(&Counting::WORDS, PROFILES);
        /// Position of the index mark: the count, modulo one turn.
        pub index_count: i64, count();
        /// First characters of an index line; empty for no index lines.
        pub index_word: String, Text(index_word);
        /// Decimals of the milliseconds in a line.
        pub time_decimals: u8, Limit::new(0..=3, "digits", "the line format: microseconds at most");
        /// Width of the millisecond counter in bits; behind its largest value it restarts at 0.
        pub time_bits: u32, Limit::new(16..=48, "bits", PROFILES);
        /// Clock of the unit: reference and errors.
        pub clock: EncoderClock =>
            |all, keys| keys.table("clock", "clock", &mut all.clock, SharedKeys::read);
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        /// Rate of the serial line after power-on.
        pub baud_rate: u32 => |all, keys| {
            keys.table.was_called("baud", "baud_rate");
            keys.typed("baud_rate", &Among(&plain(BAUD_RATES), "baud", "UARTs"), &mut all.baud_rate);
        };
    }
}

keys! {
    in profile and rig;
    /// Errors of a unit's clock, which counts whole milliseconds.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct EncoderClock {
        /// Time that the clock shows at the start.
        pub offset_ns as "offset_ms": i64, Time(Limit::new(-1e9..=1e9, "ms", PROFILES), 1e6);
        /// Drift of the oscillator: positive is fast, negative is slow.
        pub drift_ppm: f64, Limit::new(-1e4..=1e4, "ppm", PROFILES);
        /// Standard deviation of a timestamp.
        pub jitter_s as "jitter_std_ms": f64, Scaled(Limit::new(0.0..=1e3, "ms", PROFILES), 1e-3);
    }
}

fn index_word(field: &Field<'_>) -> Option<String> {
    let expected = "up to 8 of A-Z and 0-9, the first a letter; empty for no index lines";
    let text = field.text_like(expected, Some("^([A-Z][A-Z0-9]{0,7})?$"))?;
    if text.value.is_empty() || is_word(&text.value) {
        return Some(text.value);
    }
    let title = format!("an index line cannot start with \"{}\"", text.value);
    let fault = text.place.fault(title, format!("allowed: {expected}"));
    field.fault(fault.note(format!("limit from the line format: {MAX_WORD_LEN} bytes")));
    None
}
