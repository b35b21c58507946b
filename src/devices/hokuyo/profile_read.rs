//! Reads the profile of one of Hokuyo's scanners, and what a rig sets on one.

use super::profile::{
    AfterLastScan, AnotherStream, ClusterRule, Code, Connection, Distances, EchoChoice, EchoOrder,
    EchoRules, Failure, HokuyoProfile, HokuyoSettings, HostInterface, Identity, IntensityScale,
    MODES, Motor, PLACEHOLDERS, Protocol, SecondHost, StampAt, StateTexts, Statuses, Steps, Timing,
};
use crate::config::profile::Profile;
use crate::config::profile::read::PROFILES;
use crate::config::profile::{lag, lidar};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::wire::scip::coding::largest;
use crate::wire::scip::message::{LONGEST_LINE, is_printable};
use crate::wire::scip::request::{NAMES, Name};

const PROTOCOL: &str = "SCIP";
/// Length of the end of a line of information: semicolon and sum.
const BEHIND_TEXT: usize = 2;
/// Key and colon of the longest.
const LONGEST_TEXT: usize = LONGEST_LINE - BEHIND_TEXT - 5;
/// Drivers refuse fewer lines.
const LEAST_STATE_LINES: usize = 7;
/// A value of each step with three echoes and their intensities still fits a message.
const MOST_STEPS: i128 = 2880;

/// Reads all keys of a profile but its name and sources.
pub(super) fn profile(mut root: TableReader<'_>) -> Option<HokuyoProfile> {
    let identity = root.required("identity").table("[identity]").and_then(identity);
    let connection = root.required("connection").table("[connection]").and_then(connection);
    let steps = root.required("steps").table("[steps]").and_then(steps);
    let timing = root.required("timing").table("[timing]").and_then(timing);
    let motor = root.required("motor").table("[motor]").and_then(motor);
    let distances = root.required("distances").table("[distances]").and_then(distances);
    let echoes = root.required("echoes").table("[echoes]").and_then(echoes);
    let intensity = root.required("intensity").table("[intensity]").and_then(intensity);
    let protocol = root.required("protocol").table("[protocol]").and_then(protocol);
    let statuses = root.required("statuses").table("[statuses]").and_then(statuses);
    let state = root.required("state").table("[state]").and_then(state);
    let failure = root.required("failure").table("[failure]").and_then(failure);
    let optics = lidar::profile_optics(&mut root, &reach());
    root.finish();
    let (identity, connection, (timing, lag_ns)) = (identity?, connection?, timing?);
    let (beam, noise) = optics?;
    let defaults = HokuyoSettings {
        power_on_stream: None,
        start_up_ns: 0,
        uptime_ns: 60_000_000_000,
        drift_ppb: 0,
        lag_ns,
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

fn identity(mut table: TableReader<'_>) -> Option<Identity> {
    let [vendor, product, model, firmware, protocol, serial_number] =
        ["vendor", "product", "model", "firmware", "protocol", "serial_number"]
            .map(|key| text(&table.required(key)));
    table.finish();
    Some(Identity {
        vendor: vendor?,
        product: product?,
        model: model?,
        firmware: firmware?,
        protocol: protocol?,
        serial_number: serial_number?,
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
            "steps that are measured may be asked for",
            format!("allowed: {} or more", steps.last),
        ),
    ];
    (!wrong.contains(&true)).then_some(steps)
}

fn timing(mut table: TableReader<'_>) -> Option<(Timing, u64)> {
    let stamp_at = table.required("time_stamp").choice(&StampAt::WORDS, PROFILES);
    let short = Limit::new(0.0..=1000.0, "ms", PROFILES);
    let [send_delay, send_tick, clock_tick] = ["send_delay_ms", "send_tick_ms", "clock_tick_ms"]
        .map(|key| table.required(key).number(&short).map(|ms| to_ns(ms, 1e6)));
    let reply = Limit::new(0.01..=1000.0, "ms", PROFILES);
    let reply = table.required("reply_ms").number(&reply).map(|ms| to_ns(ms, 1e6));
    let [boot, reboot_after, wake] = ["boot_s", "reboot_after_s", "wake_s"]
        .map(|key| table.required(key).number(&seconds_limit()).map(|s| to_ns(s, 1e9)));
    let lag_ns = lag::of_profile(&mut table);
    table.finish();
    let timing = Timing {
        stamp_at: stamp_at?,
        send_delay_ns: send_delay?,
        send_tick_ns: send_tick?,
        clock_tick_ns: clock_tick?,
        reply_ns: reply?,
        boot_ns: boot?,
        reboot_after_ns: reboot_after?,
        wake_ns: wake?,
    };
    Some((timing, lag_ns?))
}

fn motor(mut table: TableReader<'_>) -> Option<Motor> {
    let speed = Limit::new(60..=12_000, "rpm", PROFILES);
    let speed_rpm = table.required("speed_rpm").integer_that_limits::<u32>(&speed);
    // Ten steps leave a motor that turns.
    let most = i128::from(speed_rpm.unwrap_or(12_000) / 20);
    let step = Limit::new(0..=most, "rpm", "SCIP, CR: ten steps; half of the speed remains");
    let speed_step_rpm = table.required("speed_step_rpm").integer(&step);
    let [settle, spin_up] = ["settle_s", "spin_up_s"]
        .map(|key| table.required(key).number(&seconds_limit()).map(|s| to_ns(s, 1e9)));
    table.finish();
    Some(Motor {
        speed_rpm: speed_rpm?,
        speed_step_rpm: speed_step_rpm?,
        settle_ns: settle?,
        spin_up_ns: spin_up?,
    })
}

fn distances(mut table: TableReader<'_>) -> Option<Distances> {
    let distance = Limit::new(1..=i128::from(largest(3)), "mm", "SCIP: three characters");
    let [min, max] = ["min_mm", "max_mm"].map(|key| table.required(key).integer::<u32>(&distance));
    let code = Limit::new(0..=i128::from(largest(3)), "", "SCIP: three characters");
    let [no_echo, too_near, not_measured] =
        ["no_echo", "too_near", "not_measured"].map(|key| table.required(key).integer(&code));
    let cluster = table.required("cluster").choice(&ClusterRule::WORDS, PROFILES);
    table.finish();
    Some(Distances {
        min_mm: min?,
        max_mm: max?,
        no_echo: no_echo?,
        too_near: too_near?,
        not_measured: not_measured?,
        cluster: cluster?,
    })
}

fn echoes(mut table: TableReader<'_>) -> Option<EchoRules> {
    let count = Limit::new(1..=3, "", "SCIP, ND: up to three echoes");
    let count = table.required("count").integer::<u8>(&count).map(usize::from);
    let single = table.required("single").choice(&EchoChoice::WORDS, PROFILES);
    let order = table.required("order").choice(&EchoOrder::WORDS, PROFILES);
    table.finish();
    Some(EchoRules { count: count?, single: single?, order: order? })
}

fn intensity(mut table: TableReader<'_>) -> Option<IntensityScale> {
    let counts = f64::from(largest(3));
    let white = table.required("white").number(&Limit::new(0.0..=counts, "", PROTOCOL));
    let distance = Limit::new(0.01..=100.0, "m", PROFILES);
    let at_m = table.required("at_m").number(&distance);
    let power = Limit::new(0.0..=4.0, "", PROFILES);
    let falloff = table.required("falloff").number(&power);
    let power = table.required("power").number(&power);
    let most = Limit::new(0..=i128::from(largest(3)), "", "SCIP: three characters");
    let largest = table.required("largest").integer(&most);
    table.finish();
    Some(IntensityScale {
        white: white?,
        at_m: at_m?,
        falloff: falloff?,
        power: power?,
        largest: largest?,
    })
}

fn protocol(mut table: TableReader<'_>) -> Option<Protocol> {
    let commands = table.required("commands").choices(&NAMES, PROTOCOL);
    let needs_semicolon = table.required("text_needs_semicolon").boolean();
    let starts_in_scip1 = table.required("starts_in_scip1").boolean();
    let after = table.required("after_last_scan").choice(&AfterLastScan::WORDS, PROFILES);
    let another = table.required("another_stream").choice(&AnotherStream::WORDS, PROFILES);
    let time_ends_stream = table.required("time_ends_stream").boolean();
    let time_anywhere = table.required("time_anywhere").boolean();
    let threshold = Limit::new(0.01..=100.0, "", PROFILES);
    let sensitive = table.required("sensitive_threshold").number(&threshold);
    table.finish();
    Some(Protocol {
        commands: commands?,
        needs_semicolon: needs_semicolon?,
        starts_in_scip1: starts_in_scip1?,
        after_last_scan: after?,
        another_stream: another?,
        time_ends_stream: time_ends_stream?,
        time_anywhere: time_anywhere?,
        sensitive_threshold: sensitive?,
    })
}

fn statuses(mut table: TableReader<'_>) -> Option<Statuses> {
    let mut codes = [
        "too_short",
        "too_long",
        "unknown",
        "not_supported",
        "long_text",
        "bad_character",
        "buffer",
        "failed",
        "unstable",
        "denied",
        "quit_in_time_adjustment",
        "scip2_again",
        "no_bit_rate",
        "no_motor_speed",
        "no_sensitivity",
        "no_simulation",
        "verifying",
        "stopped",
        "resumed",
    ]
    .map(|key| code(&table.required(key)))
    .into_iter();
    let scan = scan_codes(&table.required("scan"));
    table.finish();
    let mut next = || codes.next().flatten();
    Some(Statuses {
        too_short: next()?,
        too_long: next()?,
        unknown: next()?,
        not_supported: next()?,
        long_text: next()?,
        bad_character: next()?,
        buffer: next()?,
        failed: next()?,
        unstable: next()?,
        denied: next()?,
        quit_in_time_adjustment: next()?,
        scip2_again: next()?,
        no_bit_rate: next()?,
        no_motor_speed: next()?,
        no_sensitivity: next()?,
        no_simulation: next()?,
        verifying: next()?,
        stopped: next()?,
        resumed: next()?,
        scan: scan?,
    })
}

fn scan_codes(field: &Field<'_>) -> Option<[Code; 7]> {
    let expected = "7 codes, as of start, end, cluster, range, order, skip and count";
    let (items, place) = field.array_of(7..=7, expected)?;
    let count = items.len();
    let codes: Option<Vec<Code>> = items.iter().map(code).collect();
    if count != 7 {
        field.fault(place.fault("there are 7 of them", format!("allowed: {expected}")));
        return None;
    }
    codes?.try_into().ok()
}

/// Two characters such as `0E`.
fn code(field: &Field<'_>) -> Option<Code> {
    let expected = "two digits or capitals, such as \"0E\"";
    let text = field.text_like(expected, Some("^[0-9A-Z]{2}$"))?;
    let is_in = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    match text.value.as_bytes() {
        [one, two] if is_in(one) && is_in(two) => Some([*one, *two]),
        _ => {
            let fault = text.place.fault("this is no status", format!("allowed: {expected}"));
            field.fault(fault.note(format!("limit from {PROTOCOL}")));
            None
        }
    }
}

fn state(mut table: TableReader<'_>) -> Option<StateTexts> {
    let lines = state_lines(&table.required("lines"));
    let modes = table.required("modes").table("what each state is called").and_then(|mut table| {
        let modes = MODES.map(|key| text(&table.required(key)));
        table.finish();
        let modes: Option<Vec<String>> = modes.into_iter().collect();
        modes?.try_into().ok()
    });
    let [well, unstable, failed] =
        ["well", "unstable", "failed"].map(|key| text(&table.required(key)));
    table.finish();
    Some(StateTexts {
        lines: lines?,
        modes: modes?,
        well: well?,
        unstable: unstable?,
        failed: failed?,
    })
}

fn state_lines(field: &Field<'_>) -> Option<Vec<String>> {
    let expected = "lines such as \"LASR:{laser}\"";
    let lines = field.strings(expected)?;
    let place = field.place()?;
    let names: Vec<_> = PLACEHOLDERS.iter().map(|name| format!("{{{name}}}")).collect();
    let mut is_good = true;
    if lines.len() < LEAST_STATE_LINES {
        let label = format!("allowed: {LEAST_STATE_LINES} or more; drivers count them");
        field.fault(place.fault("there are too few lines", label));
        is_good = false;
    }
    for line in &lines {
        let plain = names.iter().fold(line.clone(), |line, name| line.replace(name.as_str(), ""));
        let has_one_colon = plain.matches(':').count() == 1;
        let fits = plain.len() <= LONGEST_TEXT && plain.bytes().all(is_printable);
        if !has_one_colon || !fits || plain.contains(['{', '}', ';']) {
            let label = format!(
                "allowed: KEY:text of up to {LONGEST_TEXT} printable ASCII characters but `;`, with {}",
                names.join(" ")
            );
            field.fault(place.fault(format!("\"{line}\" is no line of II"), label));
            is_good = false;
        }
    }
    is_good.then_some(lines)
}

fn failure(mut table: TableReader<'_>) -> Option<Failure> {
    let verify = table.required("verify_s").number(&seconds_limit());
    let recovers = table.required("recovers").boolean();
    let scans = Limit::new(1..=20, "scans", "SCIP, DB: streams of more than 20 scans fail");
    let simulated_after = table.required("simulated_after_scans").integer(&scans);
    table.finish();
    Some(Failure {
        verify_ns: to_ns(verify?, 1e9),
        recovers: recovers?,
        simulated_after: simulated_after?,
    })
}

/// Reads a rig's `settings`; what it leaves out is the profile's.
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
    keys.read("serial_number", &mut all.serial_number, text);
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
    let allowed: Vec<i128> = rates.iter().map(|rate| i128::from(*rate)).collect();
    let limit = Limit::new(1200..=12_000_000, "bit/s", format!("{}, [connection]", profile.file));
    let field = keys.field("baud_rate");
    field.defaults_to(all.bit_rate);
    keys.put(field.integer_among(&limit, &allowed), &mut all.bit_rate);
    if !rates.contains(&all.bit_rate)
        && let Some(place) = field.place()
    {
        let words: Vec<_> = rates.iter().map(u32::to_string).collect();
        let fault = place
            .fault("this scanner has no such bit rate", format!("allowed: {}", words.join(", ")));
        keys.table.fault(fault.note(format!("limit from {}, [connection]", profile.file)));
    }
}

/// Printable characters without those that part lines of information.
fn text(field: &Field<'_>) -> Option<String> {
    let expected = format!("up to {LONGEST_TEXT} printable ASCII characters but `:` and `;`");
    let text = field.text(&expected)?;
    let is_good = |byte: u8| is_printable(byte) && !matches!(byte, b':' | b';');
    if text.value.len() > LONGEST_TEXT || !text.value.bytes().all(is_good) {
        let label = format!("allowed: {expected}");
        let fault = text.place.fault("this text has no place in a line", label);
        field.fault(fault.note(format!("limit from {PROTOCOL}: 71 characters and one colon")));
        return None;
    }
    Some(text.value)
}

fn to_ns(value: f64, unit_ns: f64) -> u64 {
    (value * unit_ns).round() as u64
}

fn seconds_limit() -> Limit<f64> {
    Limit::new(0.0..=3600.0, "s", "Menura")
}

/// Ranges of a beam.
fn reach() -> Limit<f64> {
    Limit::new(0.0..=262.143, "m", "SCIP: three characters of 1 mm")
}
