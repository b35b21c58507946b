//! Reads the profile of one of Hokuyo's scanners, and what a rig sets on one.

use super::profile::{
    Connection, HokuyoProfile, HokuyoSettings, HostInterface, Identity, Motor, SecondHost, Steps,
    Timing, seconds_limit,
};
use super::profile_texts::text;
use crate::config::profile::Profile;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{lag, lidar};
use crate::config::toml::key_types::{Among, KeyType, Table, Time, plain};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::wire::scip::request::{NAMES, Name};

/// Largest number of steps: with three echoes and their intensities each, they still fit a message.
const MOST_STEPS: i128 = 2880;

/// Reads all keys of a profile except its name and sources.
pub(super) fn profile(mut root: TableReader<'_>) -> Option<HokuyoProfile> {
    let identity = Table("[identity]").read(&root.required("identity"));
    let connection = root.required("connection").table("[connection]").and_then(connection);
    let steps = root.required("steps").table("[steps]").and_then(steps);
    let timing = Table("[timing]").read(&root.required("timing"));
    let motor = root.required("motor").table("[motor]").and_then(motor);
    let distances = Table("[distances]").read(&root.required("distances"));
    let echoes = Table("[echoes]").read(&root.required("echoes"));
    let intensity = Table("[intensity]").read(&root.required("intensity"));
    let protocol = Table("[protocol]").read(&root.required("protocol"));
    let statuses = Table("[statuses]").read(&root.required("statuses"));
    let state = Table("[state]").read(&root.required("state"));
    let failure = Table("[failure]").read(&root.required("failure"));
    let optics = lidar::profile_optics(&mut root, &reach());
    root.finish();
    let (identity, connection, timing): (Identity, Connection, Timing) =
        (identity?, connection?, timing?);
    let (beam, noise) = optics?;
    let defaults = HokuyoSettings {
        power_on_stream: None,
        start_up_ns: 0,
        uptime_ns: 60_000_000_000,
        drift_ppb: 0,
        lag_ns: timing.lag_ns,
        bit_rate: connection.bit_rates.first().copied().unwrap_or(0),
        serial_number: identity.serial_number.clone(),
        is_sensitive: false,
        beam,
        noise,
    };
    Some(HokuyoProfile {
        identity,
        connection,
        steps: steps?,
        timing,
        motor: motor?,
        distances: distances?,
        echoes: echoes?,
        intensity: intensity?,
        protocol: protocol?,
        statuses: statuses?,
        state: state?,
        failure: failure?,
        defaults,
    })
}

fn connection(mut table: TableReader<'_>) -> Option<Connection> {
    let interface = table.required("interface").choice(&HostInterface::WORDS, PROFILES);
    let second_host = table.required("second_host").choice(&SecondHost::WORDS, PROFILES);
    let rates_field = table.required("bit_rates");
    let rates = bit_rates(&rates_field);
    let listens = table.required("listens_while_booting").boolean();
    if let (Some(interface), Some(rates), Some(place)) = (interface, &rates, rates_field.place())
        && rates.is_empty() != (interface == HostInterface::Ethernet)
    {
        let label = "allowed: none with \"ethernet\", at least one with \"serial\"";
        table.fault(place.fault("these bit rates do not go with the interface", label));
        return None;
    }
    table.finish();
    Some(Connection {
        interface: interface?,
        second_host: second_host?,
        bit_rates: rates?,
        listens_while_booting: listens?,
    })
}

fn bit_rates(field: &Field<'_>) -> Option<Vec<u32>> {
    let limit = Limit::new(1200..=12_000_000, "bit/s", "USB 2.0 at full speed");
    let (items, _) = field.array("bit rates, the factory's first")?;
    items.iter().map(|item| item.integer(&limit)).collect()
}

fn steps(mut table: TableReader<'_>) -> Option<Steps> {
    let turn = Limit::new(8..=MOST_STEPS, "", "Menura: a scan fits into a message");
    let per_turn = table.required("per_turn").integer::<u32>(&turn);
    let step = Limit::new(0..=MOST_STEPS, "", "Menura: a scan fits into a message");
    let first = table.required("first").integer::<u32>(&step);
    let last_field = table.required("last");
    let last = last_field.integer::<u32>(&step);
    let front_field = table.required("front");
    let front = front_field.integer::<u32>(&step);
    let accepted_field = table.required("last_accepted");
    let last_accepted = accepted_field.integer::<u32>(&step);
    table.finish();
    let steps = Steps {
        per_turn: per_turn?,
        first: first?,
        last: last?,
        front: front?,
        last_accepted: last_accepted?,
    };
    let half = steps.per_turn / 2;
    let refuse = |field: &Field<'_>, is_wrong: bool, title: &str, label: String| {
        if let Some(place) = field.place().filter(|_| is_wrong) {
            field.fault(place.fault(title, label));
        }
        is_wrong
    };
    let front_is_wrong = steps.front > half || steps.front < steps.first;
    let wrong = [
        refuse(
            &last_field,
            steps.last <= steps.first || steps.last - steps.first >= steps.per_turn,
            "the last step does not follow the first",
            format!("allowed: more than {}, less than a turn of {}", steps.first, steps.per_turn),
        ),
        refuse(
            &front_field,
            front_is_wrong,
            "the front is not among the steps",
            format!("allowed: {} to {half}, half a turn", steps.first),
        ),
        refuse(
            &last_field,
            !front_is_wrong && steps.last >= steps.front + half,
            "the last step lies beyond the rear",
            format!("allowed: less than {}", steps.front + half),
        ),
        refuse(
            &accepted_field,
            steps.last_accepted < steps.last,
            "`last_accepted` must not be less than `last`",
            format!("allowed: {} or more", steps.last),
        ),
    ];
    (!wrong.contains(&true)).then_some(steps)
}

fn motor(mut table: TableReader<'_>) -> Option<Motor> {
    let speed = Limit::new(60..=12_000, "rpm", PROFILES);
    let speed_rpm = table.required("speed_rpm").integer_that_limits::<u32>(&speed);
    // Ten steps leave a motor that turns.
    let most = i128::from(speed_rpm.unwrap_or(12_000) / 20);
    let step = Limit::new(0..=most, "rpm", "SCIP, CR: ten steps; half of the speed remains");
    let speed_step_rpm = table.required("speed_step_rpm").integer(&step);
    let [settle, spin_up] =
        ["settle_s", "spin_up_s"].map(|key| Time(seconds_limit(), 1e9).read(&table.required(key)));
    table.finish();
    Some(Motor {
        speed_rpm: speed_rpm?,
        speed_step_rpm: speed_step_rpm?,
        settle_ns: settle?,
        spin_up_ns: spin_up?,
    })
}

/// Reads a rig's `settings`; missing keys have the profile's values.
pub(super) fn settings(
    table: TableReader<'_>,
    profile: &Profile,
    driver: &HokuyoProfile,
) -> Option<HokuyoSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    power_on_stream(&mut keys, profile, driver, &mut all);
    keys.time_ns("start_up_s", &seconds_limit(), 1e9, &mut all.start_up_ns);
    let uptime = Limit::new(0.0..=1e9, "s", "Menura");
    keys.time_ns("uptime_s", &uptime, 1e9, &mut all.uptime_ns);
    let drift = Limit::new(-10_000.0..=10_000.0, "ppm", "Menura: 1 % of the rate");
    let how = "write clock = { drift_ppm = 20.0 }";
    keys.table.was_called_in("clock_drift_ppm", "clock.drift_ppm", how);
    keys.table("clock", "the clock", &mut all.drift_ppb, |mut keys, drift_ppb| {
        keys.with_default("drift_ppm", *drift_ppb as f64 / 1e3, drift_ppb, |field| {
            field.number(&drift).map(|ppm| (ppm * 1e3).round() as i64)
        });
        keys.finish()
    });
    lag::read(&mut keys, &mut all.lag_ns);
    bit_rate(&mut keys, profile, driver, &mut all);
    keys.with_default("serial_number", all.serial_number.clone(), &mut all.serial_number, text);
    keys.boolean("high_sensitivity", &mut all.is_sensitive);
    lidar::rig_beam(&mut keys, "{ shape = \"circular\" }", &reach(), &mut all.beam);
    lidar::rig_noise(&mut keys, "{ range_std_m = 0.01 }", &mut all.noise);
    keys.finish()?;
    Some(all)
}

fn power_on_stream(
    keys: &mut Keys<'_>,
    profile: &Profile,
    driver: &HokuyoProfile,
    all: &mut HokuyoSettings,
) {
    let streams = NAMES.iter().filter(|(_, name)| {
        name.scan().is_some_and(|scan| scan.is_stream) && driver.protocol.commands.contains(name)
    });
    let streams = streams.map(|(word, name)| (*word, Some(*name)));
    let words: Vec<(&str, Option<Name>)> = std::iter::once(("off", None)).chain(streams).collect();
    let origin = format!("{}, [protocol] commands", profile.file);
    keys.choice("power_on_stream", &words, &origin, &mut all.power_on_stream);
}

/// `baud_rate`, which only scanners with a line have.
fn bit_rate(
    keys: &mut Keys<'_>,
    profile: &Profile,
    driver: &HokuyoProfile,
    all: &mut HokuyoSettings,
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

/// Ranges of a beam.
fn reach() -> Limit<f64> {
    Limit::new(0.0..=262.143, "m", "SCIP: three characters of 1 mm")
}
