//! Firmware profile of a Hokuyo scanner, and its settings in a rig.
//!
//! Directions are steps, counter-clockwise from above; the profile's front step is forward.

pub use super::profile_texts::Code;
use super::profile_texts::{MODES, codes, state_lines, state_modes, status, text};
use crate::config::profile::lidar::{self, BeamSettings, NoiseSettings};
use crate::config::profile::read::PROFILES;
use crate::config::profile::{Profile, lag};
use crate::config::toml::key_types::{
    Among, By, Listed, OneOf, Table, Text, Time, TrueOrFalse, plain,
};
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::config::toml::reader::{Field, Limit, TableReader};
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

/// Interface by which hosts connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostInterface {
    /// TCP.
    Ethernet,
    /// A serial line.
    Serial,
    /// USB as a serial port; the bit rate has no effect.
    Usb,
}

/// Treatment of a host that connects while another is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondHost {
    /// A second host is served when the first has disconnected.
    Waits,
    /// The second host is served instead of the first.
    TakesOver,
}

/// Direction of the mirror at the timestamp of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampAt {
    /// At step 0.
    StepZero,
    /// At the rear, where a revolution begins.
    Rear,
}

/// Distance that is reported for a cluster of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterRule {
    /// The shortest distance of the cluster.
    Minimum,
    /// The distance of the first step of the cluster.
    First,
}

/// Echo that formats with one echo per pulse report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoChoice {
    /// The nearest echo.
    First,
    /// The strongest echo.
    Strongest,
    /// The farthest echo.
    Last,
}

/// Order of a pulse's echoes in formats with several echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoOrder {
    /// The nearest echo first.
    NearToFar,
    /// The farthest echo first.
    FarToNear,
    /// The strongest echo first.
    StrongestFirst,
}

/// State of the laser after the last requested scan of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLastScan {
    /// The laser is switched off.
    Standby,
    /// The laser stays on.
    SingleScan,
}

/// Stream that a host can request while another stream runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnotherStream {
    /// Any stream; it replaces the present one.
    Replaces,
    /// A stream that the same command requests; other streams are refused.
    SameCommand,
}

/// Name of the protocol as the source of limits in error messages.
pub(super) const PROTOCOL: &str = "SCIP";

/// Largest step number. A scan with this many steps fits into a message, even with three echoes and intensities per step.
const MOST_STEPS: i128 = 2880;

fn seconds() -> Time {
    Time(Limit::new(0.0..=3600.0, "s", "Menura"), 1e9)
}

/// Key type of a time in milliseconds, from `least` to 1000.
fn milliseconds(least: f64) -> Time {
    Time(Limit::new(least..=1000.0, "ms", PROFILES), 1e6)
}

/// Limits of an integer that is sent as three characters: from `least` to the largest such number.
fn three_characters(least: i128, unit: &'static str) -> Limit<i128> {
    Limit::new(least..=i128::from(largest(3)), unit, "SCIP: three characters")
}

fn echo_count(field: &Field<'_>) -> Option<usize> {
    field.integer::<u8>(&Limit::new(1..=3, "", "SCIP, ND: up to three echoes")).map(usize::from)
}

keys! {
    /// Profile of the firmware of a Hokuyo scanner.
    #[derive(Clone, Debug)]
    pub struct HokuyoProfile {
        /// Identity that the product reports.
        pub identity: Identity, Table("[identity]");
        /// Connection of hosts.
        pub connection: Connection, Table("[connection]");
        /// The steps of a revolution, counter-clockwise seen from above.
        pub steps: Steps, Table("[steps]");
        /// Times of scans.
        pub timing: Timing, Table("[timing]");
        /// The motor of the mirror.
        pub motor: Motor, Table("[motor]");
        /// Distances as they are sent, millimetres, and the codes below them.
        pub distances: Distances, Table("[distances]");
        /// Echoes of a pulse that are distinguished.
        pub echoes: EchoRules, Table("[echoes]");
        /// Intensities as they are sent: white * (reflectance * (at_m / range)^falloff)^power.
        pub intensity: IntensityScale, Table("[intensity]");
        /// Behaviour of the scanner's protocol.
        pub protocol: Protocol, Table("[protocol]");
        /// Answers to commands that the scanner cannot obey: two digits or capitals each.
        pub statuses: Statuses, Table("[statuses]");
        /// Answer to `II`.
        pub state: StateTexts, Table("[state]");
        /// Behaviour when a fault holds the motor, or `DB` simulates a failure.
        pub failure: Failure, Table("[failure]");
    } then optics => |root| lidar::profile_optics(root, &reach()); {
        /// Defaults that a rig may override.
        pub defaults: HokuyoSettings = HokuyoSettings {
            power_on_stream: None,
            start_up_ns: 0,
            uptime_ns: 60_000_000_000,
            clock: ScannerClock::default(),
            lag_ns: timing.lag_ns,
            bit_rate: connection.bit_rates.first().copied().unwrap_or(0),
            serial_number: identity.serial_number.clone(),
            is_sensitive: false,
            beam: optics.0,
            noise: optics.1,
        };
    }
}

keys! {
    /// Texts in the answers to `VV` and `PP`.
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

keys! {
    /// Interface by which hosts connect, and its properties.
    #[derive(Clone, Debug)]
    pub struct Connection {
        /// Whether the scanner is a TCP server or has a serial line.
        pub interface: HostInterface, OneOf(&HostInterface::WORDS, PROFILES);
        /// Whether a second host waits until the first disconnects, or takes over.
        pub second_host: SecondHost, OneOf(&SecondHost::WORDS, PROFILES);
        /// Bit rates that `SS` accepts; the first is the factory setting. With Ethernet there are none.
        pub bit_rates: Vec<u32>, Listed(
            "bit rates, starting with the factory setting",
            Limit::new(1200..=12_000_000, "bit/s", "USB 2.0 at full speed"),
        );
        /// Whether commands are answered while the scanner starts; else they wait.
        pub listens_while_booting: bool, TrueOrFalse;
    } check rates_fit_interface;
}

fn step(least: i128) -> Limit<i128> {
    Limit::new(least..=MOST_STEPS, "", "Menura: a scan must fit into a message")
}

keys! {
    /// Steps of a revolution, counter-clockwise from above.
    #[derive(Clone, Copy, Debug)]
    pub struct Steps {
        /// Steps of a whole turn.
        pub per_turn: u32, step(8);
        /// The first step that is measured.
        pub first: u32, step(0);
        /// The last step that is measured.
        pub last: u32, step(0);
        /// The step straight ahead.
        pub front: u32, step(0);
        /// The last step that a host may ask for.
        pub last_accepted: u32, step(0);
    } check steps_fit;
}

keys! {
    /// Scan timing.
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

keys! {
    /// Motor of the mirror.
    #[derive(Clone, Copy, Debug)]
    pub struct Motor {
        /// The motor's speed.
        pub speed_rpm: u32, By(|field: &Field<'_>| {
            field.integer_that_limits(&Limit::new(60..=12_000, "rpm", PROFILES))
        });
        /// Speed that each of the ten steps of `CR` subtracts.
        pub speed_step_rpm: u32, Limit::new(
            // Ten steps of `CR` must not stop the motor.
            0..=i128::from(speed_rpm.unwrap_or(12_000) / 20),
            "rpm", "SCIP, CR: ten steps must leave half of the speed",
        );
        /// Time from a change of the scan until scans are sent.
        pub settle_ns as "settle_s": u64, seconds();
        /// Time from the end of a stall until scans are sent again.
        pub spin_up_ns as "spin_up_s": u64, seconds();
    }
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
    /// Selection and order of the echoes that are sent.
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
    /// Scale of sent intensities: `white * (reflectance * (at_m / range)^falloff)^power`, at most `largest`.
    #[derive(Clone, Copy, Debug)]
    pub struct IntensityScale {
        /// Intensity that the scanner reports for a white surface at the distance `at_m`, counts.
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
    /// Statuses of failed commands, each of two digits or capital letters.
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
        /// The answer to `SS` of a scanner that has no `SS`.
        pub no_bit_rate: Code, By(status);
        /// The answer to `CR` of a scanner that has no `CR`.
        pub no_motor_speed: Code, By(status);
        /// The answer to `HS` of a scanner that has no `HS`.
        pub no_sensitivity: Code, By(status);
        /// The answer to `DB` of a scanner that has no `DB`.
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
        /// Text for `{mode}` in each state; `{sensitivity}` in it becomes `Normal` or `Sensitive`.
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
    /// Behaviour when a fault stalls the motor or `DB` simulates a failure.
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

keys! {
    in profile and rig with (profile: &Profile, driver: &HokuyoProfile);
    /// Settings of a scanner in a rig; the profile has the defaults.
    #[derive(Clone, Debug)]
    pub struct HokuyoSettings {
        /// Whether hosts get scans from power-on without a request, and in which dialect.
        pub power_on_stream: Option<Name>,
            OneOf(&driver.streams(), &format!("{}, [protocol] commands", profile.file));
        /// Time from the start of the run until the scanner is ready; 0 for a scanner that was on before.
        pub start_up_ns as "start_up_s": u64, seconds();
        /// Time since power-on at the start of the run; the unit's clock and counters show it.
        pub uptime_ns as "uptime_s": u64, Time(Limit::new(0.0..=1e9, "s", "Menura"), 1e9);
        /// Clock of the unit: reference and errors.
        pub clock: ScannerClock => |all, keys| {
            let how = "write clock = { drift_ppm = 20.0 }";
            keys.table.was_called_in("clock_drift_ppm", "clock.drift_ppm", how);
            keys.table("clock", "the clock", &mut all.clock, SharedKeys::read);
        };
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        /// Rate of the serial line after power-on.
        pub bit_rate as "baud_rate": u32 => |all, keys| bit_rate(all, keys, profile, driver);
        /// The serial number that the scanner reports.
        pub serial_number: String, Text(text);
        /// Whether the scanner is in its mode of high sensitivity after power-on, as `HS1` sets it.
        pub is_sensitive as "high_sensitivity": bool, TrueOrFalse;
        /// Optics of the laser beam.
        pub beam: BeamSettings => |all, keys| {
            lidar::rig_beam(keys, "{ shape = \"circular\" }", &reach(), &mut all.beam);
        };
        /// Random errors, as standard deviations.
        pub noise: NoiseSettings =>
            |all, keys| lidar::rig_noise(keys, "{ range_std_m = 0.01 }", &mut all.noise);
    }
}

keys! {
    in profile and rig;
    /// Clock of a scanner.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct ScannerClock {
        /// Drift of the oscillator: positive is fast, negative is slow.
        pub drift_ppm: f64, Limit::new(-10_000.0..=10_000.0, "ppm", "Menura: 1 % of the rate");
    }
}

impl HokuyoProfile {
    /// Permitted values of `power_on_stream`: the names of the accepted stream commands, and `off` for no stream.
    fn streams(&self) -> Vec<(&'static str, Option<Name>)> {
        let is_stream = |name: Name| name.scan().is_some_and(|scan| scan.is_stream);
        let names = NAMES.into_iter();
        let streams =
            names.filter(|(_, name)| is_stream(*name) && self.protocol.commands.contains(name));
        let streams = streams.map(|(word, name)| (word, Some(name)));
        std::iter::once(("off", None)).chain(streams).collect()
    }
}

/// Checks that there are no bit rates with Ethernet, and at least one with other interfaces.
fn rates_fit_interface(table: &TableReader<'_>, all: &Connection) -> bool {
    let fit = all.bit_rates.is_empty() == (all.interface == HostInterface::Ethernet);
    if let Some(place) = table.place_of("bit_rates").filter(|_| !fit) {
        let label = "allowed: none with \"ethernet\", at least one with \"serial\" or \"usb\"";
        table.fault(place.fault("`bit_rates` does not fit `interface`", label));
    }
    fit
}

/// Checks that the steps are in order and within one revolution.
fn steps_fit(table: &TableReader<'_>, steps: &Steps) -> bool {
    let half = steps.per_turn / 2;
    let refuse = |key: &str, is_wrong: bool, title: &str, label: String| {
        if let Some(place) = table.place_of(key).filter(|_| is_wrong) {
            table.fault(place.fault(title, label));
        }
        is_wrong
    };
    let front_is_wrong = steps.front > half || steps.front < steps.first;
    let wrong = [
        refuse(
            "last",
            steps.last <= steps.first || steps.last - steps.first >= steps.per_turn,
            "`last` must be after `first` and within one rotation",
            format!(
                "allowed: more than {}, by less than a rotation of {} steps",
                steps.first, steps.per_turn
            ),
        ),
        refuse(
            "front",
            front_is_wrong,
            "`front` must be a step of the field",
            format!("allowed: {} to {half}, half a rotation", steps.first),
        ),
        refuse(
            "last",
            !front_is_wrong && steps.last >= steps.front + half,
            "`last` must be before the step at the rear",
            format!("allowed: less than {}", steps.front + half),
        ),
        refuse(
            "last_accepted",
            steps.last_accepted < steps.last,
            "`last_accepted` must not be less than `last`",
            format!("allowed: {} or more", steps.last),
        ),
    ];
    !wrong.contains(&true)
}

/// Reads `baud_rate`. Scanners without a serial line do not have this key, so it is an error there.
fn bit_rate(
    all: &mut HokuyoSettings,
    keys: &mut Keys<'_>,
    profile: &Profile,
    driver: &HokuyoProfile,
) {
    keys.table.was_called("bit_rate", "baud_rate");
    let rates = &driver.connection.bit_rates;
    let by = match driver.connection.interface {
        HostInterface::Serial => None,
        HostInterface::Ethernet => Some("Ethernet"),
        HostInterface::Usb => Some("USB"),
    };
    if let Some(by) = by {
        if let Some(place) = keys.table.take_unlisted("baud_rate") {
            let label = format!("{} is connected by {by}", profile.name);
            keys.table.fault(place.fault("this scanner has no serial line", label));
        }
        return;
    }
    let origin = format!("{}, [connection]", profile.file);
    keys.typed(
        "baud_rate",
        &Among(&plain(rates.iter().copied()), "baud", &origin),
        &mut all.bit_rate,
    );
}

/// Limits of the beam's minimum and maximum range, metres.
fn reach() -> Limit<f64> {
    Limit::new(0.0..=262.143, "m", "SCIP: three characters of 1 mm")
}
