//! Hokuyo's scanners: differences between firmwares, and settings in a rig.
//!
//! Directions are steps: counter-clockwise seen from above, the profile's front step is forward.

pub use super::profile_texts::Code;
use super::profile_texts::{MODES, codes, state_lines, state_modes, status, text};
use crate::config::profile::lag;
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{By, OneOf, Time, TrueOrFalse};
use crate::config::toml::reader::{Field, Limit};
use crate::wire::scip::coding::largest;
use crate::wire::scip::request::{NAMES, Name};

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
    /// A USB device in the role of a serial port, whose rate has no effect.
    Usb,
}

/// Treatment of a host that connects while another is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondHost {
    /// A second host is served after the first has left.
    Waits,
    /// The second host is served, and the first no longer.
    TakesOver,
}

/// Direction at whose time a scan is timestamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampAt {
    /// At step 0.
    StepZero,
    /// Straight backward, where a revolution begins.
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

/// Order of echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoOrder {
    /// The nearest first.
    NearToFar,
    /// The farthest first.
    FarToNear,
    /// Strongest echo first.
    StrongestFirst,
}

/// Behaviour after the last requested scan of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLastScan {
    /// The laser is switched off.
    Standby,
    /// The laser stays on.
    SingleScan,
}

/// The stream that may be requested while one runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnotherStream {
    /// Any command; it replaces the present one.
    Replaces,
    /// The same command only; others are denied.
    SameCommand,
}

/// Origin of limits.
pub(super) const PROTOCOL: &str = "SCIP";

pub(super) fn seconds_limit() -> Limit<f64> {
    Limit::new(0.0..=3600.0, "s", "Menura")
}

fn seconds() -> Time {
    Time(seconds_limit(), 1e9)
}

/// A time in milliseconds, from `least` to 1000.
fn milliseconds(least: f64) -> Time {
    Time(Limit::new(least..=1000.0, "ms", PROFILES), 1e6)
}

/// A value that three characters of a message hold.
fn three_characters(least: i128, unit: &'static str) -> Limit<i128> {
    Limit::new(least..=i128::from(largest(3)), unit, "SCIP: three characters")
}

fn echo_count(field: &Field<'_>) -> Option<usize> {
    field.integer::<u8>(&Limit::new(1..=3, "", "SCIP, ND: up to three echoes")).map(usize::from)
}

/// A firmware of one of Hokuyo's scanners.
#[derive(Clone, Debug)]
pub struct HokuyoProfile {
    /// Identity that the scanner reports.
    pub identity: Identity,
    /// Connection to hosts.
    pub connection: Connection,
    /// Steps of a revolution.
    pub steps: Steps,
    /// Times of scans.
    pub timing: Timing,
    /// The motor.
    pub motor: Motor,
    /// Encoding of distances.
    pub distances: Distances,
    /// Rules for the echoes that are sent.
    pub echoes: EchoRules,
    /// Encoding of intensities.
    pub intensity: IntensityScale,
    /// Protocol.
    pub protocol: Protocol,
    /// Answers.
    pub statuses: Statuses,
    /// Texts of the answer to II.
    pub state: StateTexts,
    /// Behaviour when the scanner fails.
    pub failure: Failure,
    /// Defaults that a rig may override.
    pub defaults: HokuyoSettings,
}

keys! {
    /// Texts of `VV` and `PP`.
    #[derive(Clone, Debug)]
    pub struct Identity {
        /// Maker, as `VV` reports it.
        pub vendor: String, By(text);
        /// Product, as `VV` reports it.
        pub product: String, By(text);
        /// The model: `MODL` of `PP`.
        pub model: String, By(text);
        /// The firmware's version: `FIRM` of `VV`.
        pub firmware: String, By(text);
        /// Protocol, as `VV` reports it.
        pub protocol: String, By(text);
        /// The serial number: `SERI` of `VV`.
        pub serial_number: String, By(text);
    }
}

/// Connection to hosts.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Kind of the interface.
    pub interface: HostInterface,
    /// Treatment of a second host.
    pub second_host: SecondHost,
    /// Bit rates that `SS` accepts; the first is the factory setting. Empty with Ethernet.
    pub bit_rates: Vec<u32>,
    /// Whether commands are answered while the scanner starts; otherwise they wait.
    pub listens_while_booting: bool,
}

/// The steps of a revolution.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Steps of a whole rotation: `ARES`.
    pub per_turn: u32,
    /// The first step that is measured: `AMIN`.
    pub first: u32,
    /// The last step that is measured: `AMAX`.
    pub last: u32,
    /// Straight ahead: `AFRT`.
    pub front: u32,
    /// Last step that may be requested.
    pub last_accepted: u32,
}

keys! {
    /// Times of scans.
    #[derive(Clone, Copy, Debug)]
    pub struct Timing {
        /// Direction of the mirror at the time of a scan: at step 0, or straight behind.
        pub stamp_at as "time_stamp": StampAt, OneOf(&StampAt::WORDS, PROFILES);
        /// Time from the last step until the scan is sent.
        pub send_delay_ns as "send_delay_ms": u64, milliseconds(0.0);
        /// Scans leave at multiples of this of the scanner's clock; 0 for any time.
        pub send_tick_ns as "send_tick_ms": u64, milliseconds(0.0);
        /// Answers to `TM1` leave at multiples of this of the scanner's clock; 0 for any time.
        pub clock_tick_ns as "clock_tick_ms": u64, milliseconds(0.0);
        /// Time from a command to its answer.
        pub reply_ns as "reply_ms": u64, milliseconds(0.01);
        /// Time from power-on or reboot until the scanner is ready.
        pub boot_ns as "boot_s": u64, seconds();
        /// Time from the second `RB` until the scanner closes its connections and reboots.
        pub reboot_after_ns as "reboot_after_s": u64, seconds();
        /// Time from sleep until the scanner is ready.
        pub wake_ns as "wake_s": u64, seconds();
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
    }
}

/// The motor.
#[derive(Clone, Copy, Debug)]
pub struct Motor {
    /// Revolutions a minute: `SCAN`.
    pub speed_rpm: u32,
    /// Reduction of the speed by each step of `CR`.
    pub speed_step_rpm: u32,
    /// Time of a speed change, nanoseconds.
    pub settle_ns: u64,
    /// Time from rest to full speed, nanoseconds.
    pub spin_up_ns: u64,
}

keys! {
    /// Encoding of distances.
    #[derive(Clone, Copy, Debug)]
    pub struct Distances {
        /// Least distance; smaller numbers are codes.
        pub min_mm: u32, three_characters(1, "mm");
        /// The largest distance, `DMAX`.
        pub max_mm: u32, three_characters(1, "mm");
        /// Code for a step without an echo.
        pub no_echo: u32, three_characters(0, "");
        /// Code for an echo nearer than the least distance.
        pub too_near: u32, three_characters(0, "");
        /// Code for a step that is not measured.
        pub not_measured: u32, three_characters(0, "");
        /// Value of a cluster of steps: the least distance, or the first.
        pub cluster: ClusterRule, OneOf(&ClusterRule::WORDS, PROFILES);
    }
}

keys! {
    /// Rules for the echoes that are sent.
    #[derive(Clone, Copy, Debug)]
    pub struct EchoRules {
        /// Largest number of echoes of a pulse.
        pub count: usize, By(echo_count);
        /// Echo that commands for one echo send.
        pub single: EchoChoice, OneOf(&EchoChoice::WORDS, PROFILES);
        /// Order of the echoes that commands for several echoes send.
        pub order: EchoOrder, OneOf(&EchoOrder::WORDS, PROFILES);
    }
}

keys! {
    /// Intensities as they are sent: `white (reflectance (at_m / range)^falloff)^power`.
    #[derive(Clone, Copy, Debug)]
    pub struct IntensityScale {
        /// The counts of a white surface at `at_m`.
        pub white: f64, Limit::new(0.0..=f64::from(largest(3)), "", PROTOCOL);
        /// Distance of the white surface of `white`.
        pub at_m: f64, Limit::new(0.01..=100.0, "m", PROFILES);
        /// The power of distance with which light falls; 0 if the scanner compensates for distance.
        pub falloff: f64, Limit::new(0.0..=4.0, "", PROFILES);
        /// The power of light with which counts grow; 1 for a linear receiver.
        pub power: f64, Limit::new(0.0..=4.0, "", PROFILES);
        /// The largest number of counts.
        pub largest: u32, three_characters(0, "");
    }
}

keys! {
    /// Reactions to commands.
    #[derive(Clone, Debug)]
    pub struct Protocol {
        /// The commands that the scanner accepts.
        pub commands: Vec<Name>, By(|field: &Field<'_>| field.choices(&NAMES, PROTOCOL));
        /// Whether a host's own text behind a command needs a semicolon.
        pub needs_semicolon as "text_needs_semicolon": bool, TrueOrFalse;
        /// Whether the scanner speaks SCIP 1.1 until a host sends `SCIP2.0`.
        pub starts_in_scip1: bool, TrueOrFalse;
        /// State of the laser after the last of several scans: off or on.
        pub after_last_scan: AfterLastScan, OneOf(&AfterLastScan::WORDS, PROFILES);
        /// Whether any command for a stream replaces a running one, or only the same command.
        pub another_stream: AnotherStream, OneOf(&AnotherStream::WORDS, PROFILES);
        /// Whether `TM0` ends a stream; otherwise it is denied.
        pub time_ends_stream: bool, TrueOrFalse;
        /// Whether `TM1` is answered without `TM0`.
        pub time_anywhere: bool, TrueOrFalse;
        /// Detection threshold with `HS1`, as a share of that with `HS0`.
        pub sensitive_threshold: f64, Limit::new(0.01..=100.0, "", PROFILES);
    }
}

keys! {
    /// Statuses of commands that fail: two digits or capitals each.
    #[derive(Clone, Copy, Debug)]
    pub struct Statuses {
        /// Parameters are missing.
        pub too_short: Code, By(status);
        /// Characters follow the parameters although a text needs a semicolon.
        pub too_long: Code, By(status);
        /// The command is unknown.
        pub unknown: Code, By(status);
        /// Other models have this command.
        pub not_supported: Code, By(status);
        /// A host's own text has more than 16 characters.
        pub long_text: Code, By(status);
        /// A character cannot be printed.
        pub bad_character: Code, By(status);
        /// A line has more than 64 characters.
        pub buffer: Code, By(status);
        /// The scanner has failed.
        pub failed: Code, By(status);
        /// The motor is not at its speed, or the scanner verifies an error.
        pub unstable: Code, By(status);
        /// The command is not allowed in this state.
        pub denied: Code, By(status);
        /// The answer to `QT` after `TM0`; 00 ends time adjustment.
        pub quit_in_time_adjustment: Code, By(status);
        /// The answer to `SCIP2.0` of a scanner that speaks SCIP 2.0 already.
        pub scip2_again: Code, By(status);
        /// The answer to `SS` if it is not among the commands.
        pub no_bit_rate: Code, By(status);
        /// The answer to `CR` if it is not among the commands.
        pub no_motor_speed: Code, By(status);
        /// The answer to `HS` if it is not among the commands.
        pub no_sensitivity: Code, By(status);
        /// The answer to `DB` if it is not among the commands.
        pub no_simulation: Code, By(status);
        /// In a stream: the scanner pauses to verify an error.
        pub verifying: Code, By(status);
        /// In a stream: the scanner has failed, and the stream ends.
        pub stopped: Code, By(status);
        /// In a stream: the stream continues.
        pub resumed: Code, By(status);
        /// Seven answers to commands for scans: wrong start, wrong end, wrong cluster, out of range, reversed, wrong
        /// skip, wrong count.
        pub scan: [Code; 7], By(codes);
    }
}

keys! {
    /// Texts of the answer to `II`.
    #[derive(Clone, Debug)]
    pub struct StateTexts {
        /// The lines of `II`; names in braces are replaced by values that change.
        pub lines: Vec<String>, By(state_lines);
        /// Text for `{mode}` in each state.
        pub modes: [String; MODES.len()], By(state_modes);
        /// Text for `{status}` without a failure.
        pub well: String, By(text);
        /// Text for `{status}` while the motor is not at its speed.
        pub unstable: String, By(text);
        /// Text for `{status}` when the scanner has failed.
        pub failed: String, By(text);
    }
}

keys! {
    /// Behaviour when a fault holds the motor, or `DB` simulates a failure.
    #[derive(Clone, Copy, Debug)]
    pub struct Failure {
        /// Time for which the scanner looks for an error; a longer fault is a failure.
        pub verify_ns as "verify_s": u64, seconds();
        /// Whether the scanner recovers when the motor turns again; otherwise it needs a reboot.
        pub recovers: bool, TrueOrFalse;
        /// Number of scans of a stream after which the failures of `DB03` to `DB05` begin.
        pub simulated_after as "simulated_after_scans": u32,
            Limit::new(1..=20, "scans", "SCIP, DB: streams of more than 20 scans fail");
    }
}

/// Settings of a scanner in a rig; the profile has the defaults.
#[derive(Clone, Debug)]
pub struct HokuyoSettings {
    /// Stream of whole scans by this command from power-on, without a request; a recording needs it.
    pub power_on_stream: Option<Name>,
    /// Time from the run's first instant until it is ready, nanoseconds; 0 for one that runs
    /// already.
    pub start_up_ns: u64,
    /// Time since power-on at the first instant, nanoseconds.
    pub uptime_ns: u64,
    /// Drift of the clock, parts in 10^9; positive is fast.
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
