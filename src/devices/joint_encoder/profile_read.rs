//! Reads the profile of an encoder or a turning head, and what a rig sets on one.

use super::profile::{
    Counting, JointEncoderProfile, JointEncoderSettings, OutputWay, Pass, SAMPLES_PER_S,
};
use crate::config::profile::lag;
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{KeyType, Time};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::wire::joint_lines::{MAX_WORD_LEN, is_word};

/// Rates of a UART that units and hosts share.
const BAUD_RATES: [i128; 7] = [9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800];

/// Reads all keys of a profile except its name and sources.
pub(super) fn profile(mut root: TableReader<'_>) -> Option<JointEncoderProfile> {
    let unit = root.required("unit").table("[unit]").and_then(unit);
    let motor = root.required("motor").table("[motor]").and_then(motor);
    let network = root.required("network").table("[network]").and_then(network);
    let settings = root.required("settings").table("[settings]");
    root.finish();
    let mut defaults = NOTHING;
    let complete = settings.and_then(|table| read_settings(Keys::of_profile(table), &mut defaults));
    let (unit, motor) = (unit?, motor?);
    complete?;
    Some(JointEncoderProfile {
        output: unit.output,
        takes_commands: motor.takes_commands,
        pass: motor.pass,
        speed_unit_rad_s: motor.speed_unit_rpm * std::f64::consts::TAU / 60.0,
        speed_unit_m_s: motor.speed_unit_mm_s * 1e-3,
        reply_delay_ns: motor.reply_delay_ns,
        output_delay_ns: unit.output_delay_ns,
        transmit_buffer_bytes: unit.transmit_buffer_bytes,
        network: network?,
        defaults,
    })
}

/// Reads the settings of a rig's device.
pub(super) fn settings(
    table: TableReader<'_>,
    profile: &JointEncoderProfile,
) -> Option<JointEncoderSettings> {
    let mut all = profile.defaults.clone();
    read_settings(Keys::of_rig(table), &mut all)?;
    Some(all)
}

/// Start value for a profile's settings, which are all required.
const NOTHING: JointEncoderSettings = JointEncoderSettings {
    rate_hz: 0,
    steps_per_turn: 0,
    steps_per_m: 0,
    zero_count: 0,
    is_reversed: false,
    counting: Counting::Total,
    index_count: 0,
    index_word: String::new(),
    time_decimals: 0,
    time_bits: 0,
    clock_offset_ns: 0,
    clock_drift_ppm: 0.0,
    clock_jitter_s: 0.0,
    lag_ns: 0,
    baud: 0,
};

struct UnitKeys {
    output: OutputWay,
    output_delay_ns: u64,
    transmit_buffer_bytes: usize,
}

fn delay(field: &Field<'_>) -> Option<u64> {
    Time(Limit::new(0.0..=10_000.0, "ms", PROFILES), 1e6).read(field)
}

fn unit(mut table: TableReader<'_>) -> Option<UnitKeys> {
    let output = table.required("output").choice(&OutputWay::WORDS, PROFILES);
    let output_delay_ns = delay(&table.required("output_delay_ms"));
    let buffer = Limit::new(64..=1_000_000, "bytes", PROFILES);
    let transmit_buffer_bytes = table.required("transmit_buffer_bytes").integer(&buffer);
    table.finish();
    Some(UnitKeys {
        output: output?,
        output_delay_ns: output_delay_ns?,
        transmit_buffer_bytes: transmit_buffer_bytes?,
    })
}

struct MotorKeys {
    takes_commands: bool,
    pass: Pass,
    speed_unit_rpm: f64,
    speed_unit_mm_s: f64,
    reply_delay_ns: u64,
}

fn motor(mut table: TableReader<'_>) -> Option<MotorKeys> {
    let takes_commands = table.required("takes_commands").boolean();
    let pass = table.required("pass").choice(&Pass::WORDS, PROFILES);
    let rpm = Limit::new(1e-6..=1000.0, "rpm", PROFILES);
    let speed_unit_rpm = table.required("speed_unit_rpm").number(&rpm);
    let slide = Limit::new(1e-6..=1000.0, "mm/s", PROFILES);
    let speed_unit_mm_s = table.required("speed_unit_mm_s").number(&slide);
    let reply_delay_ns = delay(&table.required("reply_delay_ms"));
    table.finish();
    Some(MotorKeys {
        takes_commands: takes_commands?,
        pass: pass?,
        speed_unit_rpm: speed_unit_rpm?,
        speed_unit_mm_s: speed_unit_mm_s?,
        reply_delay_ns: reply_delay_ns?,
    })
}

/// Reads `settings` of a profile, or of a rig's device.
fn read_settings(mut keys: Keys<'_>, all: &mut JointEncoderSettings) -> Option<()> {
    let rate = Limit::new(1..=i128::from(SAMPLES_PER_S), "Hz", "the unit: 1000 samples a second");
    let divisors: Vec<i128> = (1..=SAMPLES_PER_S)
        .filter(|hz| SAMPLES_PER_S.is_multiple_of(*hz))
        .map(i128::from)
        .collect();
    keys.with_default("rate_hz", all.rate_hz, &mut all.rate_hz, |field| {
        among(field, &rate, &divisors, "lines are every n-th of 1000 samples a second")
    });
    let steps = Limit::new(1..=100_000_000, "steps", PROFILES);
    keys.integer("steps_per_turn", &steps, &mut all.steps_per_turn);
    keys.integer("steps_per_m", &steps, &mut all.steps_per_m);
    let count = Limit::new(-1_000_000_000_000..=1_000_000_000_000, "steps", PROFILES);
    keys.integer("zero_count", &count, &mut all.zero_count);
    keys.boolean("reversed", &mut all.is_reversed);
    keys.choice("counting", &Counting::WORDS, PROFILES, &mut all.counting);
    keys.integer("index_count", &count, &mut all.index_count);
    let default = all.index_word.clone();
    keys.with_default("index_word", default, &mut all.index_word, index_word);
    let decimals = Limit::new(0..=3, "digits", "the lines: microseconds at most");
    keys.integer("time_decimals", &decimals, &mut all.time_decimals);
    let bits = Limit::new(16..=48, "bits", PROFILES);
    keys.integer("time_bits", &bits, &mut all.time_bits);
    let mut clock = Clock::of(all);
    keys.table("clock", "clock", &mut clock, |mut keys, clock| {
        let offset = Limit::new(-1e9..=1e9, "ms", PROFILES);
        keys.number("offset_ms", &offset, &mut clock.offset_ms);
        let drift = Limit::new(-1e4..=1e4, "ppm", PROFILES);
        keys.number("drift_ppm", &drift, &mut clock.drift_ppm);
        let jitter = Limit::new(0.0..=1e3, "ms", PROFILES);
        keys.number("jitter_std_ms", &jitter, &mut clock.jitter_ms);
        keys.finish()
    });
    all.clock_offset_ns = (clock.offset_ms * 1e6).round() as i64;
    all.clock_drift_ppm = clock.drift_ppm;
    all.clock_jitter_s = clock.jitter_ms * 1e-3;
    lag::read(&mut keys, &mut all.lag_ns);
    let baud = Limit::new(9600..=460_800, "baud", "UARTs");
    keys.table.was_called("baud", "baud_rate");
    keys.with_default("baud_rate", all.baud, &mut all.baud, |field| {
        among(field, &baud, &BAUD_RATES, "rates that a UART of the unit has")
    });
    keys.finish()
}

/// Errors of a clock in the units of a file.
#[derive(Clone)]
struct Clock {
    offset_ms: f64,
    drift_ppm: f64,
    jitter_ms: f64,
}

impl Clock {
    fn of(all: &JointEncoderSettings) -> Self {
        Self {
            offset_ms: all.clock_offset_ns as f64 * 1e-6,
            drift_ppm: all.clock_drift_ppm,
            jitter_ms: all.clock_jitter_s * 1e3,
        }
    }
}

/// A number of a list.
fn among(field: &Field<'_>, limit: &Limit<i128>, allowed: &[i128], why: &str) -> Option<u32> {
    let number = field.integer_among::<u32>(limit, allowed)?;
    if allowed.contains(&number.into()) {
        return Some(number);
    }
    let list: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    let place = field.place()?;
    let title = format!("{number} is none of the unit's");
    let fault = place.fault(title, format!("allowed: {}", list.join(", ")));
    field.fault(fault.note(format!("limit from the unit: {why}")));
    None
}

fn index_word(field: &Field<'_>) -> Option<String> {
    let expected = "up to 8 of A-Z and 0-9, the first a letter; empty for no index lines";
    let text = field.text_like(expected, Some("^([A-Z][A-Z0-9]{0,7})?$"))?;
    if text.value.is_empty() || is_word(&text.value) {
        return Some(text.value);
    }
    let title = format!("an index line cannot start with \"{}\"", text.value);
    let fault = text.place.fault(title, format!("allowed: {expected}"));
    field.fault(fault.note(format!("limit from the lines: {MAX_WORD_LEN} bytes")));
    None
}
