//! Drive bases as data: who they say they are, how they talk, how their motors are wired.

use std::sync::Arc;

use super::{BaseFamily, Dialect};

/// One firmware of a drive base or motor controller.
#[derive(Clone, Debug)]
pub struct BaseProfile {
    /// Protocol of the product.
    pub family: BaseFamily,
    /// Identity that it reports.
    pub identity: BaseIdentity,
    /// Baud rates it can be set to, the factory's first.
    pub baud_rates: Vec<u32>,
    /// Bytes its transmitter holds; what does not fit is not sent.
    pub transmit_buffer_bytes: usize,
    /// Time from power-on or a reset until it listens, nanoseconds.
    pub boot_ns: u64,
    /// Values a rig may override.
    pub defaults: BaseSettings,
}

/// Identity that a unit reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseIdentity {
    /// Name of the model.
    pub model: String,
    /// Serial number, where the protocol tells one.
    pub serial: u32,
    /// Firmware's version as the product tells it.
    pub firmware: String,
}

/// Settings of a base in a rig.
#[derive(Clone, Debug)]
pub struct BaseSettings {
    /// Baud rate at power-on.
    pub baud_rate: u32,
    /// Time from the last byte of a command to the first of its answer, nanoseconds.
    pub reply_delay_ns: u64,
    /// Whether the host's bytes take their time on the line: true for a pseudo-terminal, where they
    /// arrive at once; a real serial line has taken it already.
    pub is_input_paced: bool,
    /// Motors and encoders.
    pub wheels: WheelSettings,
    /// Voltages, currents, temperatures.
    pub power: PowerSettings,
    /// Settings that only this protocol has.
    pub dialect: Arc<dyn Dialect>,
}

/// How motors and encoders sit on the robot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WheelSettings {
    /// Counts of an encoder for a metre of a tread or of a wheel's circumference.
    pub counts_per_m: f64,
    /// Speed of a tread at full duty, which no command exceeds, m/s.
    pub max_speed_m_s: f64,
    /// False: motor 1 (or `D`'s left) is on the left. True: on the right.
    pub is_swapped: bool,
    /// The left motor and its encoder turn the other way round.
    pub is_left_reversed: bool,
    /// The right motor and its encoder turn the other way round.
    pub is_right_reversed: bool,
}

/// The model of the battery and what hangs on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PowerSettings {
    /// Voltage of the main battery, volts.
    pub battery_v: f64,
    /// Voltage of the electronics' supply, volts.
    pub logic_v: f64,
    /// Below this the main battery is low, volts.
    pub low_battery_v: f64,
    /// Charge of the main battery, percent.
    pub charge_percent: f64,
    /// Capacity of the main battery when full, watt-hours.
    pub capacity_wh: f64,
    /// Current of the electronics, amperes.
    pub idle_current_a: f64,
    /// What a motor takes beyond that, amperes for each m/s of its tread.
    pub motor_current_a_s_m: f64,
    /// Temperature of electronics and motors, degrees C.
    pub temperature_c: f64,
}
