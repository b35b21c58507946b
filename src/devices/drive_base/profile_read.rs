//! Reads the profile of a drive base, and what a rig sets on one.

use super::profile::{
    BaseIdentity, BaseProfile, BaseProtocol, BaseSettings, Channels, CreateSettings, Dialect,
    HorizonSettings, KangarooSettings, PidOrder, PowerSettings, RoboClawLayout, RoboClawSettings,
    SabertoothMode, SabertoothSettings, StatusWidth, WheelSettings,
};
use crate::config::profile::{Profile, baud_rate};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};

/// Where limits come from that no product sets.
const PROFILES: &str = "Menura's profiles, see firmware-profiles/example-drive-base.toml";

fn limit(least: f64, most: f64, unit: &'static str) -> Limit<f64> {
    Limit::new(least..=most, unit, PROFILES)
}

fn whole(least: i128, most: i128, unit: &'static str, origin: &str) -> Limit<i128> {
    Limit::new(least..=most, unit, origin)
}

/// Reads what a profile says besides its name and sources.
pub(super) fn profile(mut root: TableReader<'_>, protocol: BaseProtocol) -> Option<BaseProfile> {
    let identity = root.required("identity").table("[identity]").and_then(identity);
    let line = root.required("line").table("[line]").and_then(line);
    let mut all = BaseSettings {
        baud_rate: 0,
        reply_delay_ns: 0,
        is_input_paced: false,
        wheels: WheelSettings::default(),
        power: PowerSettings::default(),
        dialect: Dialect::empty(protocol),
    };
    let mut keys = Keys::of_profile(root);
    tables(&mut keys, &mut all);
    let complete = keys.finish();
    let line = line?;
    all.baud_rate = *line.baud_rates.first()?;
    all.reply_delay_ns = line.reply_delay_ns;
    all.is_input_paced = line.is_input_paced;
    Some(BaseProfile {
        protocol,
        identity: identity?,
        baud_rates: line.baud_rates,
        transmit_buffer_bytes: line.transmit_buffer_bytes,
        boot_ns: line.boot_ns,
        defaults: complete.map(|()| all)?,
    })
}

fn identity(mut table: TableReader<'_>) -> Option<BaseIdentity> {
    let mut text = |key| {
        let field = table.required(key);
        let text = field.text("what the product says of itself")?;
        if text.value.len() <= 46 && text.value.chars().all(|c| (' '..='~').contains(&c)) {
            return Some(text.value);
        }
        let fault = text.place.fault(
            format!("`{key}` cannot be sent"),
            "allowed: at most 46 printable ASCII characters",
        );
        field.fault(
            fault.note("limit from the wire formats: a RoboClaw's version has 48 with its end"),
        );
        None
    };
    let (model, firmware) = (text("model"), text("firmware"));
    let number = whole(0, i128::from(u32::MAX), "", "the wire formats: four bytes");
    let serial = table.required("serial").integer(&number);
    table.finish();
    Some(BaseIdentity { model: model?, serial: serial?, firmware: firmware? })
}

struct Line {
    baud_rates: Vec<u32>,
    transmit_buffer_bytes: usize,
    reply_delay_ns: u64,
    boot_ns: u64,
    is_input_paced: bool,
}

fn delay_limit() -> Limit<f64> {
    limit(0.0, 10_000.0, "ms")
}

fn line(mut table: TableReader<'_>) -> Option<Line> {
    let expected = "baud rates, the factory's first";
    let baud = whole(1200, 4_000_000, "baud", "UARTs");
    let field = table.required("baud_rates");
    let rates = field.array_of(1..=usize::MAX, expected).and_then(|(items, place)| {
        if items.is_empty() {
            field.fault(place.fault("a serial line has a rate", format!("allowed: {expected}")));
            return None;
        }
        items.iter().map(|item| item.integer(&baud)).collect::<Option<Vec<u32>>>()
    });
    let buffer = whole(64, 1_000_000, "bytes", PROFILES);
    let transmit_buffer_bytes = table.required("transmit_buffer_bytes").integer(&buffer);
    let mut delay =
        |key| table.required(key).number(&delay_limit()).map(|ms| (ms * 1e6).round() as u64);
    let (reply_delay_ns, boot_ns) = (delay("reply_delay_ms"), delay("boot_ms"));
    let is_input_paced = table.required("paced_input").boolean();
    table.finish();
    Some(Line {
        baud_rates: rates?,
        transmit_buffer_bytes: transmit_buffer_bytes?,
        reply_delay_ns: reply_delay_ns?,
        boot_ns: boot_ns?,
        is_input_paced: is_input_paced?,
    })
}

/// The tables that a rig may override key by key.
fn tables(keys: &mut Keys<'_>, all: &mut BaseSettings) {
    keys.table("wheels", "[wheels]", &mut all.wheels, wheels);
    keys.table("power", "[power]", &mut all.power, power);
    match &mut all.dialect {
        Dialect::RoboClaw(own) => keys.table("roboclaw", "[roboclaw]", own, roboclaw),
        Dialect::CreateOi(own) => keys.table("create", "[create]", own, create),
        Dialect::Kangaroo(own) => keys.table("kangaroo", "[kangaroo]", own, kangaroo),
        Dialect::Sabertooth(own) => keys.table("sabertooth", "[sabertooth]", own, sabertooth),
        Dialect::Horizon(own) => keys.table("horizon", "[horizon]", own, horizon),
    }
}

fn wheels(mut keys: Keys<'_>, all: &mut WheelSettings) -> Option<()> {
    keys.number("counts_per_m", &limit(1.0, 1e7, "counts"), &mut all.counts_per_m);
    keys.number("max_speed_m_s", &limit(0.01, 100.0, "m/s"), &mut all.max_speed_m_s);
    keys.boolean("swapped", &mut all.is_swapped);
    keys.boolean("left_reversed", &mut all.is_left_reversed);
    keys.boolean("right_reversed", &mut all.is_right_reversed);
    keys.finish()
}

fn power(mut keys: Keys<'_>, all: &mut PowerSettings) -> Option<()> {
    keys.number("battery_v", &limit(0.0, 320.0, "V"), &mut all.battery_v);
    keys.number("logic_v", &limit(0.0, 320.0, "V"), &mut all.logic_v);
    keys.number("low_battery_v", &limit(0.0, 320.0, "V"), &mut all.low_battery_v);
    keys.number("charge_percent", &limit(0.0, 100.0, "%"), &mut all.charge_percent);
    keys.number("capacity_wh", &limit(0.0, 32_767.0, "Wh"), &mut all.capacity_wh);
    keys.number("idle_current_a", &limit(0.0, 100.0, "A"), &mut all.idle_current_a);
    let slope = limit(0.0, 1000.0, "A s/m");
    keys.number("motor_current_a_s_m", &slope, &mut all.motor_current_a_s_m);
    keys.number("temperature_c", &limit(-100.0, 300.0, "degrees C"), &mut all.temperature_c);
    keys.finish()
}

fn roboclaw(mut keys: Keys<'_>, all: &mut RoboClawSettings) -> Option<()> {
    keys.integer("address", &whole(128, 135, "", "RoboClaw's packet serial"), &mut all.address);
    keys.boolean("all_addresses", &mut all.answers_all_addresses);
    keys.time_ns("packet_gap_ms", &limit(1.0, 10_000.0, "ms"), 1e6, &mut all.packet_gap_ns);
    let timeout = Limit::new(0.0..=25_500.0, "ms", "RoboClaw's packet serial: one byte of 100 ms");
    keys.time_ns("timeout_ms", &timeout, 1e6, &mut all.timeout_ns);
    keys.choice("status", &StatusWidth::WORDS, PROFILES, &mut all.status);
    keys.boolean("signed_speeds", &mut all.has_signed_speeds);
    keys.choice("pid_order", &PidOrder::WORDS, PROFILES, &mut all.pid_order);
    let gain = Limit::new(0.0..=65_535.0, "", "RoboClaw's packet serial: 16 bits before the point");
    let default = all.velocity_gains.to_vec();
    keys.with_default("velocity_gains", default, &mut all.velocity_gains, |f| f.numbers(&gain));
    let gain =
        Limit::new(0.0..=4_000_000.0, "1/s", "RoboClaw's packet serial: 22 bits before the point");
    keys.number("position_gain", &gain, &mut all.position_gain);
    keys.choice("layout", &RoboClawLayout::WORDS, PROFILES, &mut all.layout);
    keys.finish()
}

fn create(mut keys: Keys<'_>, all: &mut CreateSettings) -> Option<()> {
    keys.scaled("wheel_base_mm", &limit(10.0, 10_000.0, "mm"), 1e-3, &mut all.wheel_base_m);
    keys.time_ns("stream_period_ms", &limit(5.0, 10_000.0, "ms"), 1e6, &mut all.stream_period_ns);
    keys.time_ns("sleep_after_s", &limit(0.0, 1e6, "s"), 1e9, &mut all.sleep_after_ns);
    keys.number("distance_scale", &limit(-100.0, 100.0, ""), &mut all.distance_scale);
    keys.number("angle_scale", &limit(-100.0, 100.0, ""), &mut all.angle_scale);
    keys.with_default("boot_text", all.boot_text.clone(), &mut all.boot_text, |field| {
        let text = field.text("what it prints after a reset")?;
        if text.value.is_ascii() && text.value.len() <= 1024 {
            return Some(text.value);
        }
        let label = "allowed: at most 1024 ASCII characters";
        field.fault(text.place.fault("`boot_text` cannot be sent", label));
        None
    });
    keys.finish()
}

fn kangaroo(mut keys: Keys<'_>, all: &mut KangarooSettings) -> Option<()> {
    keys.integer("address", &whole(128, 255, "", "Kangaroo's packet serial"), &mut all.address);
    keys.choice("channels", &Channels::WORDS, PROFILES, &mut all.channels);
    let counts = limit(1e-6, 1e6, "counts");
    keys.number("counts_per_unit", &counts, &mut all.counts_per_unit);
    let timeout = limit(0.0, 3_600_000.0, "ms");
    keys.time_ns("serial_timeout_ms", &timeout, 1e6, &mut all.serial_timeout_ns);
    keys.boolean("stops_on_timeout", &mut all.stops_on_timeout);
    keys.boolean("needs_home", &mut all.needs_home);
    keys.boolean("turns_right", &mut all.turns_right);
    keys.number("turn_share", &limit(0.001, 1000.0, ""), &mut all.turn_share);
    keys.number("position_gain_hz", &limit(0.01, 100.0, "1/s"), &mut all.position_gain_hz);
    keys.finish()
}

fn sabertooth(mut keys: Keys<'_>, all: &mut SabertoothSettings) -> Option<()> {
    keys.integer("address", &whole(128, 135, "", "Sabertooth's packet serial"), &mut all.address);
    keys.choice("mode", &SabertoothMode::WORDS, PROFILES, &mut all.mode);
    let timeout = Limit::new(0.0..=12_700.0, "ms", "Sabertooth's packet serial: 127 of 100 ms");
    keys.time_ns("timeout_ms", &timeout, 1e6, &mut all.timeout_ns);
    keys.time_ns("restart_ms", &delay_limit(), 1e6, &mut all.restart_ns);
    keys.finish()
}

fn horizon(mut keys: Keys<'_>, all: &mut HorizonSettings) -> Option<()> {
    keys.integer("revision", &whole(0, 255, "", "Horizon: one byte"), &mut all.revision);
    keys.time_ns("timeout_ms", &limit(0.0, 60_000.0, "ms"), 1e6, &mut all.timeout_ns);
    let accel = Limit::new(0.01..=300.0, "m/s²", "Horizon: hundredths in 16 bits");
    keys.number("max_accel_m_s2", &accel, &mut all.max_accel_m_s2);
    keys.scaled("track_mm", &limit(10.0, 10_000.0, "mm"), 1e-3, &mut all.track_m);
    keys.integer("max_rate_hz", &whole(1, 1000, "Hz", PROFILES), &mut all.max_rate_hz);
    keys.integer("max_subscriptions", &whole(1, 7, "", PROFILES), &mut all.max_subscriptions);
    keys.finish()
}

/// Reads what a rig sets.
pub(super) fn settings(
    mut table: TableReader<'_>,
    profile: &Profile,
    driver: &BaseProfile,
) -> Option<BaseSettings> {
    let mut all = driver.defaults.clone();
    baud_rate::read(&mut table, profile, &driver.baud_rates, &mut all.baud_rate);
    let mut keys = Keys::of_rig(table);
    keys.time_ns("reply_delay_ms", &delay_limit(), 1e6, &mut all.reply_delay_ns);
    keys.boolean("paced_input", &mut all.is_input_paced);
    tables(&mut keys, &mut all);
    keys.finish()?;
    Some(all)
}
