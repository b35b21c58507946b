//! Hokuyo's scanners: what their firmwares differ in and what a rig may set.
//!
//! Directions are steps: counter-clockwise seen from above, the profile's front step is forward.

use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::wire::scip::request::Name;

words!(HostInterface: "ethernet" => Ethernet, "serial" => Serial, "usb" => Usb);
words!(SecondHost: "waits" => Waits, "takes-over" => TakesOver);
words!(StampAt: "step-0" => StepZero, "rear" => Rear);
words!(ClusterRule: "minimum" => Minimum, "first" => First);
words!(EchoChoice: "first" => First, "strongest" => Strongest, "last" => Last);
words!(EchoOrder:
    "near-to-far" => NearToFar, "far-to-near" => FarToNear, "strongest-first" => StrongestFirst);
words!(AfterLastScan: "standby" => Standby, "single-scan" => SingleScan);
words!(AnotherStream: "replaces" => Replaces, "same-command" => SameCommand);

/// Connection to hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostInterface {
    /// TCP.
    Ethernet,
    /// A serial line.
    Serial,
    /// A USB device that looks like a serial port, whose rate means nothing.
    Usb,
}

/// Treatment of a host that connects while another is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondHost {
    /// The second host is served when the first has gone.
    Waits,
    /// The second host is served, and the first no longer.
    TakesOver,
}

/// At which direction a scan's time is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampAt {
    /// At step 0.
    StepZero,
    /// Straight behind, where a revolution begins.
    Rear,
}

/// Value that is sent for steps that a host has joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterRule {
    /// The step with the least distance.
    Minimum,
    /// The first step.
    First,
}

/// The echo that is sent where there is room for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoChoice {
    /// The nearest.
    First,
    /// The strongest.
    Strongest,
    /// The farthest.
    Last,
}

/// In which order echoes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoOrder {
    /// The nearest first.
    NearToFar,
    /// The farthest first.
    FarToNear,
    /// Strongest echo first.
    StrongestFirst,
}

/// What follows when a stream has sent the last of the scans that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLastScan {
    /// The laser goes off.
    Standby,
    /// The laser stays on.
    SingleScan,
}

/// The stream that may be requested while one runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnotherStream {
    /// Any, and it takes the other's place.
    Replaces,
    /// One of the same command; others are denied.
    SameCommand,
}

/// Two characters that tell how a command went.
pub type Code = [u8; 2];

/// A firmware of one of Hokuyo's scanners.
#[derive(Clone, Debug)]
pub struct HokuyoProfile {
    /// Identity that it reports.
    pub identity: Identity,
    /// Connection to hosts.
    pub connection: Connection,
    /// Its steps.
    pub steps: Steps,
    /// Times of scans.
    pub timing: Timing,
    /// The motor.
    pub motor: Motor,
    /// Distances as they are sent.
    pub distances: Distances,
    /// Rules for the echoes that are sent.
    pub echoes: EchoRules,
    /// Intensities as they are sent.
    pub intensity: IntensityScale,
    /// Protocol.
    pub protocol: Protocol,
    /// Answers.
    pub statuses: Statuses,
    /// Texts of the answer to II.
    pub state: StateTexts,
    /// Behaviour when the scanner fails.
    pub failure: Failure,
    /// Values a rig may override.
    pub defaults: HokuyoSettings,
}

/// Texts of `VV` and `PP`.
#[derive(Clone, Debug)]
pub struct Identity {
    /// `VEND`.
    pub vendor: String,
    /// `PROD`.
    pub product: String,
    /// `MODL`.
    pub model: String,
    /// `FIRM`.
    pub firmware: String,
    /// `PROT`.
    pub protocol: String,
    /// `SERI`.
    pub serial_number: String,
}

/// Connection to hosts.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Kind of the interface.
    pub interface: HostInterface,
    /// Treatment of a second host.
    pub second_host: SecondHost,
    /// Bit rates that `SS` accepts; the first is the factory's. None with Ethernet.
    pub bit_rates: Vec<u32>,
    /// Whether commands are answered while it starts; else they wait.
    pub listens_while_booting: bool,
}

/// The steps of a revolution.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Steps of a whole turn: `ARES`.
    pub per_turn: u32,
    /// The first that is measured: `AMIN`.
    pub first: u32,
    /// The last that is measured: `AMAX`.
    pub last: u32,
    /// Straight ahead: `AFRT`.
    pub front: u32,
    /// The last that may be asked for.
    pub last_accepted: u32,
}

/// Times of scans.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Where a scan's time is taken.
    pub stamp_at: StampAt,
    /// Time from the last step to the message, nanoseconds.
    pub send_delay_ns: u64,
    /// Scans leave at multiples of this of its clock, nanoseconds; 0 at any time.
    pub send_tick_ns: u64,
    /// Answers to `TM1` leave at multiples of this of its clock, nanoseconds; 0 at any time.
    pub clock_tick_ns: u64,
    /// Time from a command to its answer, nanoseconds.
    pub reply_ns: u64,
    /// Time from power-on or reboot until it is ready, nanoseconds.
    pub boot_ns: u64,
    /// Time from the second `RB` until it reboots, nanoseconds.
    pub reboot_after_ns: u64,
    /// Time from sleep until it is ready, nanoseconds.
    pub wake_ns: u64,
}

/// The motor.
#[derive(Clone, Copy, Debug)]
pub struct Motor {
    /// Revolutions a minute: `SCAN`.
    pub speed_rpm: u32,
    /// Reduction of the speed by each step of `CR`.
    pub speed_step_rpm: u32,
    /// Until its speed has changed, nanoseconds.
    pub settle_ns: u64,
    /// Time from rest to full speed, nanoseconds.
    pub spin_up_ns: u64,
}

/// Distances as they are sent.
#[derive(Clone, Copy, Debug)]
pub struct Distances {
    /// `DMIN`, millimetres.
    pub min_mm: u32,
    /// `DMAX`, millimetres.
    pub max_mm: u32,
    /// Sent where nothing is seen.
    pub no_echo: u32,
    /// Value that is sent below `DMIN`.
    pub too_near: u32,
    /// Sent of steps that are not measured.
    pub not_measured: u32,
    /// Value that is sent for steps that a host has joined.
    pub cluster: ClusterRule,
}

/// Rules for the echoes that are sent.
#[derive(Clone, Copy, Debug)]
pub struct EchoRules {
    /// Largest number of echoes.
    pub count: usize,
    /// Choice where there is room for one echo.
    pub single: EchoChoice,
    /// Order where there is room for all echoes.
    pub order: EchoOrder,
}

/// Intensities as they are sent: `white (reflectance (at_m / range)^falloff)^power`.
#[derive(Clone, Copy, Debug)]
pub struct IntensityScale {
    /// Intensity of a white surface at `at_m`, counts.
    pub white: f64,
    /// That surface's distance, metres.
    pub at_m: f64,
    /// The power of distance with which light falls; 0 if the scanner makes up for it.
    pub falloff: f64,
    /// The power of light with which counts grow: 1 for a receiver that is linear.
    pub power: f64,
    /// The largest number of counts.
    pub largest: u32,
}

/// Reactions to commands.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// Commands that the scanner accepts.
    pub commands: Vec<Name>,
    /// Whether a host's own text needs a semicolon.
    pub needs_semicolon: bool,
    /// Whether it speaks SCIP 1.1 until it is told `SCIP2.0`.
    pub starts_in_scip1: bool,
    /// Output after the last of several scans.
    pub after_last_scan: AfterLastScan,
    /// Whether a stream may take another's place.
    pub another_stream: AnotherStream,
    /// Whether `TM0` ends a stream; else it is denied.
    pub time_ends_stream: bool,
    /// Whether `TM1` is answered in every state.
    pub time_anywhere: bool,
    /// The threshold with `HS1` as a multiple of that with `HS0`.
    pub sensitive_threshold: f64,
}

/// How commands are answered that cannot be obeyed.
#[derive(Clone, Copy, Debug)]
pub struct Statuses {
    /// Parameters are missing.
    pub too_short: Code,
    /// There is more than parameters.
    pub too_long: Code,
    /// No such command.
    pub unknown: Code,
    /// A command of other models.
    pub not_supported: Code,
    /// The host's own text is too long.
    pub long_text: Code,
    /// A character that cannot be printed.
    pub bad_character: Code,
    /// The line does not fit into the buffer.
    pub buffer: Code,
    /// The scanner has failed.
    pub failed: Code,
    /// The motor is not at its speed.
    pub unstable: Code,
    /// Not in this state.
    pub denied: Code,
    /// `QT` in time adjustment.
    pub quit_in_time_adjustment: Code,
    /// `SCIP2.0` to a scanner that speaks it.
    pub scip2_again: Code,
    /// `SS` to a model whose bit rate is fixed.
    pub no_bit_rate: Code,
    /// `CR` to a model whose motor speed is fixed.
    pub no_motor_speed: Code,
    /// `HS` to a model with one sensitivity.
    pub no_sensitivity: Code,
    /// `DB` to a model that simulates no failure.
    pub no_simulation: Code,
    /// Of scans: start, end and cluster are no numbers, out of range, reversed, skip and count are no
    /// numbers.
    pub scan: [Code; 7],
    /// The stream pauses to look for an error.
    pub verifying: Code,
    /// The stream ends because the scanner has failed.
    pub stopped: Code,
    /// The stream goes on.
    pub resumed: Code,
}

/// Texts of the answer to II.
#[derive(Clone, Debug)]
pub struct StateTexts {
    /// Its lines, with names in braces for what changes.
    pub lines: Vec<String>,
    /// `{mode}` in each state, in the order of [`MODES`].
    pub modes: [String; MODES.len()],
    /// `{status}` when all is well.
    pub well: String,
    /// `{status}` while the motor is not at its speed.
    pub unstable: String,
    /// `{status}` when the scanner has failed.
    pub failed: String,
}

/// The keys of [`StateTexts::modes`].
pub const MODES: [&str; 8] = [
    "booting",
    "idle",
    "time_adjustment",
    "single_scan",
    "multi_scan",
    "sleep",
    "waking",
    "failed",
];

/// Names that stand in braces in [`StateTexts::lines`].
pub const PLACEHOLDERS: [&str; 8] =
    ["model", "laser", "speed", "mode", "bit_rate", "time", "time_hex", "status"];

/// Behaviour when the scanner fails.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// How long it looks for an error before it gives up, nanoseconds.
    pub verify_ns: u64,
    /// Whether it works again when the cause has gone; else after a reboot.
    pub recovers: bool,
    /// Number of scans of a stream after which the failures of `DB03` to `DB05` begin.
    pub simulated_after: u32,
}

/// What a rig may set on a scanner; the profile gives the defaults.
#[derive(Clone, Debug)]
pub struct HokuyoSettings {
    /// It streams whole scans of this command without being asked; a recording needs it.
    pub power_on_stream: Option<Name>,
    /// Time from the run's first instant until it is ready, nanoseconds; 0 for one that runs
    /// already.
    pub start_up_ns: u64,
    /// How long one that runs already does so, nanoseconds.
    pub uptime_ns: u64,
    /// How much faster its clock is, parts in 10^9.
    pub drift_ppb: i64,
    /// How much later than [`Timing::send_delay_ns`] a scan leaves, nanoseconds.
    pub lag_ns: u64,
    /// Bit rate of the serial line after power-on.
    pub bit_rate: u32,
    /// `SERI`.
    pub serial_number: String,
    /// High sensitivity, as after `HS1`.
    pub is_sensitive: bool,
    /// The optics.
    pub beam: BeamSettings,
    /// The errors.
    pub noise: NoiseSettings,
}
