//! Drive bases as data: who they say they are, how they talk, how their motors are wired.

pub use super::protocol::BaseProtocol;

/// One firmware of a drive base or motor controller.
#[derive(Clone, Debug)]
pub struct BaseProfile {
    /// What it speaks.
    pub protocol: BaseProtocol,
    /// Who it says it is.
    pub identity: BaseIdentity,
    /// Baud rates it can be set to, the factory's first.
    pub baud_rates: Vec<u32>,
    /// Bytes its transmitter holds; what does not fit is not sent.
    pub transmit_buffer_bytes: usize,
    /// From power-on or a reset until it listens, nanoseconds.
    pub boot_ns: u64,
    /// Values a rig may override.
    pub defaults: BaseSettings,
}

/// What a unit says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseIdentity {
    /// Name of the model.
    pub model: String,
    /// Serial number, where the protocol tells one.
    pub serial: u32,
    /// Firmware's version as the product tells it.
    pub firmware: String,
}

/// What a rig may set on a base.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseSettings {
    /// Baud rate at power-on.
    pub baud_rate: u32,
    /// From the last byte of a command to the first of its answer, nanoseconds.
    pub reply_delay_ns: u64,
    /// Whether the host's bytes take their time on the line: true for a pseudo-terminal, where they
    /// arrive at once; a real serial line has taken it already.
    pub is_input_paced: bool,
    /// Motors and encoders.
    pub wheels: WheelSettings,
    /// Voltages, currents, temperatures.
    pub power: PowerSettings,
    /// What only this protocol has.
    pub dialect: Dialect,
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
    /// Of the main battery, volts.
    pub battery_v: f64,
    /// Of the supply of the electronics, volts.
    pub logic_v: f64,
    /// Below this the main battery is low, volts.
    pub low_battery_v: f64,
    /// Charge of the main battery, percent.
    pub charge_percent: f64,
    /// Of the main battery when full, watt-hours.
    pub capacity_wh: f64,
    /// What the electronics take, amperes.
    pub idle_current_a: f64,
    /// What a motor takes beyond that, amperes for each m/s of its tread.
    pub motor_current_a_s_m: f64,
    /// Of electronics and motors, degrees C.
    pub temperature_c: f64,
}

/// What a protocol has that the others do not.
#[derive(Clone, Debug, PartialEq)]
pub enum Dialect {
    /// See [`RoboClawSettings`].
    RoboClaw(RoboClawSettings),
    /// See [`CreateSettings`].
    CreateOi(CreateSettings),
    /// See [`KangarooSettings`].
    Kangaroo(KangarooSettings),
    /// See [`SabertoothSettings`].
    Sabertooth(SabertoothSettings),
    /// See [`HorizonSettings`].
    Horizon(HorizonSettings),
}

impl Dialect {
    /// Of a protocol, with nothing set.
    pub fn empty(protocol: BaseProtocol) -> Self {
        match protocol {
            BaseProtocol::RoboClaw => Self::RoboClaw(RoboClawSettings::default()),
            BaseProtocol::CreateOi => Self::CreateOi(CreateSettings::default()),
            BaseProtocol::Kangaroo => Self::Kangaroo(KangarooSettings::default()),
            BaseProtocol::Sabertooth => Self::Sabertooth(SabertoothSettings::default()),
            BaseProtocol::Horizon => Self::Horizon(HorizonSettings::default()),
        }
    }
}

/// How many bits a RoboClaw's status has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusWidth {
    /// Old firmware.
    #[default]
    Bits16,
    /// New firmware: errors in the low half, warnings in the high.
    Bits32,
}

words!(StatusWidth: "16-bit" => Bits16, "32-bit" => Bits32);

/// The order in which a RoboClaw tells the gains of its speed controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PidOrder {
    /// Proportional, integral, differential.
    #[default]
    Pid,
    /// Differential, proportional, integral, as they are set.
    Dpi,
}

words!(PidOrder: "pid" => Pid, "dpi" => Dpi);

/// How long the answers of a RoboClaw are where firmwares differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoboClawLayout {
    /// As in the manual of firmware 4.1.34 and the maker's library `roboclaw_3`.
    #[default]
    Classic,
    /// As in the maker's library `basicmicro` 2.
    Extended,
}

words!(RoboClawLayout: "classic" => Classic, "extended" => Extended);

/// Of a RoboClaw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoboClawSettings {
    /// 128 to 135.
    pub address: u8,
    /// Whether it answers to every address, as it does over USB.
    pub answers_all_addresses: bool,
    /// A longer pause within a packet discards it, nanoseconds.
    pub packet_gap_ns: u64,
    /// Motors stop when no packet has come for so long; 0: never. Nanoseconds.
    pub timeout_ns: u64,
    /// Of its status.
    pub status: StatusWidth,
    /// Whether the speeds of commands 18, 19, 30 and 31 have a sign of their own beside the direction.
    pub has_signed_speeds: bool,
    /// Of its answer to commands 55 and 56.
    pub pid_order: PidOrder,
    /// Proportional, integral, differential gain before a host sets them, times 65536.
    pub velocity_gains: [f64; 3],
    /// Proportional gain of the position controller before a host sets it, 1/s.
    pub position_gain: f64,
    /// Of the answers to commands 59, 75, 77, 81 and 149.
    pub layout: RoboClawLayout,
}

/// Of a Create.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateSettings {
    /// Between the wheels, metres: what it takes for radii and angles.
    pub wheel_base_m: f64,
    /// Of a stream, nanoseconds.
    pub stream_period_ns: u64,
    /// It falls asleep in passive mode when no command has come for so long; 0: never. Nanoseconds.
    pub sleep_after_ns: u64,
    /// What it tells of the true distance and angle: 1, but for early firmware.
    pub distance_scale: f64,
    /// See [`Self::distance_scale`].
    pub angle_scale: f64,
    /// What it prints after a reset.
    pub boot_text: String,
}

/// How the channels of a Kangaroo are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channels {
    /// `1` and `2`, a motor each.
    #[default]
    Independent,
    /// `D` drives, `T` turns.
    Mixed,
}

words!(Channels: "independent" => Independent, "mixed" => Mixed);

/// Of a Kangaroo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KangarooSettings {
    /// 128 to 255.
    pub address: u8,
    /// How they are used.
    pub channels: Channels,
    /// Encoder counts for one unit before a host sets units.
    pub counts_per_unit: f64,
    /// An error when nothing has come for so long; 0: never. Nanoseconds.
    pub serial_timeout_ns: u64,
    /// Whether the motors stop then.
    pub stops_on_timeout: bool,
    /// Whether positions are refused before homing.
    pub needs_home: bool,
    /// Whether positive `T` turns right.
    pub turns_right: bool,
    /// What one unit of `T` adds to one side and takes from the other, units.
    pub turn_share: f64,
    /// Speed towards a position for each metre that is left, 1/s.
    pub position_gain_hz: f64,
}

/// How a Sabertooth is talked to: its switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SabertoothMode {
    /// Packets with address and sum.
    #[default]
    Packet,
    /// A byte for each command.
    Simplified,
}

words!(SabertoothMode: "packet" => Packet, "simplified" => Simplified);

/// Of a Sabertooth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SabertoothSettings {
    /// 128 to 135.
    pub address: u8,
    /// What it understands.
    pub mode: SabertoothMode,
    /// Motors stop when nothing has come for so long; 0: never. Nanoseconds.
    pub timeout_ns: u64,
    /// It hears nothing for so long after its rate was changed, nanoseconds.
    pub restart_ns: u64,
}

/// Of a Husky.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HorizonSettings {
    /// The platform's revision.
    pub revision: u8,
    /// Motors stop when no speed was commanded for so long; 0: never. Nanoseconds.
    pub timeout_ns: u64,
    /// Highest acceleration before a host sets another, m/s².
    pub max_accel_m_s2: f64,
    /// Between left and right wheels, metres: what it takes for turning rates and radii.
    pub track_m: f64,
    /// Highest rate of a subscription, Hz.
    pub max_rate_hz: u32,
    /// Subscriptions at a time.
    pub max_subscriptions: u32,
}
