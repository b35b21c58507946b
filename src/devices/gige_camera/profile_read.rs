//! Reads the profile of a camera, and what a rig sets on one.

use super::profile::{
    BINNING, CameraProfile, CameraSettings, Identity, LensModel, PtpState, Pulses, Stamped,
    TestPattern, Timing, Trigger,
};
use crate::config::profile::drift;
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::Among;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};
use crate::sensors::camera::{Chip, Sky};
use crate::time::SimTime;
use crate::wire::gige::gvsp::PixelFormat;

const CAMERAS: &str = "Menura's cameras";
const STANDARD: &str = "GigE Vision";

/// Reads all of a profile but its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<CameraProfile> {
    let mut all = CameraSettings::default();
    let network = root.required("network").table("[network]").and_then(network);
    let mut part =
        |key: &'static str, what: &str| root.required(key).table(what).map(Keys::of_profile);
    let identity = part("identity", "[identity]").and_then(|keys| identity(keys, &mut all));
    let sensor = part("sensor", "[sensor]").and_then(sensor);
    let timing = part("timing", "[timing]").and_then(timing);
    let start = part("start", "[start]").and_then(|mut keys| {
        start(&mut keys, &Limit::new(1.0..=1e7, "us", CAMERAS), &mut all);
        keys.finish()
    });
    let lens = part("lens", "[lens]").and_then(|mut keys| {
        lens(&mut keys, &mut all);
        keys.finish()
    });
    root.finish();
    start?;
    lens?;
    let (size, chip) = sensor?;
    Some(CameraProfile {
        network: network?,
        identity: identity?,
        size,
        chip,
        timing: timing?,
        defaults: all,
    })
}

/// Reads a rig's `settings`; what it leaves out is the profile's.
pub(crate) fn settings(table: TableReader<'_>, driver: &CameraProfile) -> Option<CameraSettings> {
    let mut all = driver.defaults.clone();
    let mut keys = Keys::of_rig(table);
    names(&mut keys, &mut all);
    keys.boolean("streams_alone", &mut all.streams_alone);
    let field = keys.table.optional("pixel_format");
    let formats: Vec<_> =
        driver.formats().into_iter().map(|format| (format.word(), format)).collect();
    field.defaults_to(all.pixel_format.word());
    if let Some(format) = field.choice(&formats, "the camera's chip") {
        all.pixel_format = format;
    }
    let [shortest, longest] = driver.timing.exposure_ns.map(|ns| ns as f64 / 1e3);
    let exposure = Limit::new(shortest..=longest, "us", "the profile, [timing]");
    start(&mut keys, &exposure, &mut all);
    lens(&mut keys, &mut all);
    let degrees = Limit::new(-360.0..=360.0, "degrees", CAMERAS);
    let field = keys.table.optional("sun_deg");
    if field.is_written() {
        all.sun = Some(field.numbers::<2>(&degrees)?.map(f64::to_radians));
    }
    keys.number(
        "turbidity",
        &Limit::new(2.0..=6.0, "", "the sky of Preetham et al. 1999"),
        &mut all.turbidity,
    );
    keys.choice("daylight", &Sky::WORDS, CAMERAS, &mut all.sky);
    keys.boolean("truth_labels", &mut all.truth_images.labels);
    keys.boolean("truth_depth", &mut all.truth_images.depth);
    keys.boolean("truth_flow", &mut all.truth_images.flow);
    wiring(&mut keys, &mut all);
    // Sizes are those of the image, whose pixels binning makes larger.
    let shares = |size: [u32; 2]| [size[0] / all.binning / 4 * 4, size[1] / all.binning / 2 * 2];
    let limits = shares(driver.size)
        .map(|size| Limit::new(16..=i128::from(size), "pixels", "the camera's chip, binned"));
    all.image_size = shares(all.image_size);
    for ((key, limit), size) in
        ["image_width", "image_height"].into_iter().zip(&limits).zip(&mut all.image_size)
    {
        keys.integer(key, limit, size);
    }
    keys.finish()?;
    // Steps of the registers.
    all.image_size = [all.image_size[0] / 4 * 4, all.image_size[1] / 2 * 2];
    Some(all)
}

fn names(keys: &mut Keys<'_>, all: &mut CameraSettings) {
    let default = all.serial.clone();
    keys.with_default("serial", default, &mut all.serial, |field| {
        field.ascii(15, "a serial number such as \"0001\"")
    });
    let default = all.user_name.clone();
    keys.with_default("user_name", default, &mut all.user_name, |field| {
        field.ascii(15, "a name such as \"front\"")
    });
}

/// What a rig alone can set: what the unit is connected to, and how it counts.
fn wiring(keys: &mut Keys<'_>, all: &mut CameraSettings) {
    keys.choice("trigger", &Trigger::WORDS, CAMERAS, &mut all.trigger);
    keys.choice("test_pattern", &TestPattern::WORDS, CAMERAS, &mut all.test_pattern);
    let field = keys.table.optional("line1").such_as("{ period_s = 0.1 }");
    if field.is_written() {
        let pulses = field.table("pulses such as { period_s = 0.1 }").and_then(pulses);
        all.line1 = pulses.or(all.line1);
    }
    let binning = BINNING.map(|(_, binning)| (binning.into(), binning));
    keys.typed("binning", &Among(&binning, "pixels", CAMERAS), &mut all.binning);
    let block = Limit::new(1..=i128::from(u32::MAX), "", STANDARD);
    keys.integer("first_block", &block, &mut all.first_block);
    keys.choice("ptp", &PtpState::WORDS, "Menura's clocks", &mut all.ptp);
    drift::read(keys, &mut all.drift_s_per_day);
}

fn pulses(mut table: TableReader<'_>) -> Option<Pulses> {
    let period_s = table.required("period_s").number(&Limit::new(1e-5..=3600.0, "s", CAMERAS));
    let seconds = Limit::new(1e-6..=3600.0, "s", CAMERAS);
    let high = table.optional("high_s");
    let start_s = table.optional("start_s").number(&Limit::new(0.0..=1e7, "s", CAMERAS));
    let start_s = start_s.unwrap_or_default();
    let written_s = high.number(&seconds);
    table.finish();
    let period_s = period_s?;
    let high_s = written_s.unwrap_or(0.5 * period_s);
    if let Some(place) = high.place().filter(|_| high_s >= period_s) {
        let title = "`high_s` must be less than `period_s`";
        high.fault(place.fault(title, format!("allowed: less than {period_s} s")));
        return None;
    }
    let ns = |s: f64| (s * 1e9).round() as u64;
    Some(Pulses { start: SimTime(ns(start_s)), period_ns: ns(period_s), high_ns: ns(high_s) })
}

fn start(keys: &mut Keys<'_>, exposure: &Limit<f64>, all: &mut CameraSettings) {
    keys.choice("stamped", &Stamped::WORDS, CAMERAS, &mut all.stamped);
    keys.number("frame_rate_hz", &Limit::new(0.1..=1000.0, "Hz", CAMERAS), &mut all.frame_rate_hz);
    keys.number("exposure_us", exposure, &mut all.exposure_us);
    keys.number("gain_db", &Limit::new(0.0..=48.0, "dB", CAMERAS), &mut all.gain_db);
    keys.integer("packet_bytes", &Limit::new(220..=9000, "bytes", STANDARD), &mut all.packet_bytes);
    if keys.is_profile() {
        keys.choice("pixel_format", &PixelFormat::WORDS, STANDARD, &mut all.pixel_format);
        let size = Limit::new(16..=16_384, "pixels", CAMERAS);
        for (key, size_of) in ["image_width", "image_height"].into_iter().zip(&mut all.image_size) {
            keys.integer(key, &size, size_of);
        }
    }
}

fn lens(keys: &mut Keys<'_>, all: &mut CameraSettings) {
    keys.degrees("hfov_deg", &Limit::new(1.0..=170.0, "degrees", CAMERAS), &mut all.hfov_rad);
    let model = all.lens;
    keys.choice("lens_model", &LensModel::WORDS, CAMERAS, &mut all.lens);
    if all.lens != model {
        // Coefficients of another model mean something else.
        all.distortion.clear();
    }
    let coefficient = Limit::new(-100.0..=100.0, "", CAMERAS);
    let default = all.distortion.clone();
    let (model, most) = (all.lens.word(), all.lens.coefficients());
    keys.with_default("distortion", default, &mut all.distortion, |field| {
        let (items, _) = field.array_up_to(0..=8, "OpenCV", "coefficients")?;
        if items.len() > most
            && let Some(place) = field.place()
        {
            let title = format!("`distortion` has too many items for `lens_model` \"{model}\"");
            field.fault(place.fault(title, format!("allowed: {most} items at most")));
            return None;
        }
        items.iter().map(|item| item.number(&coefficient)).collect()
    });
    keys.number("f_number", &Limit::new(0.7..=64.0, "", CAMERAS), &mut all.f_number);
    keys.number("lens_transmission", &Limit::new(0.01..=1.0, "", CAMERAS), &mut all.transmission);
    let default = all.vignetting.to_vec();
    keys.with_default("vignetting", default, &mut all.vignetting, |field| {
        field.numbers::<2>(&coefficient)
    });
}

fn identity(mut keys: Keys<'_>, all: &mut CameraSettings) -> Option<Identity> {
    let mut identity = Identity::default();
    names(&mut keys, all);
    let lengths = [("vendor", 31), ("model_name", 31), ("device_version", 31), ("information", 47)];
    for ((key, most), text) in lengths.into_iter().zip(&mut identity.texts) {
        keys.read(key, text, |field| field.ascii(most, "a text"));
    }
    keys.number(
        "temperature_c",
        &Limit::new(-100.0..=200.0, "degrees C", PROFILES),
        &mut identity.temperature_c,
    );
    keys.integer("schema_minor", &Limit::new(0..=1, "", "GenICam"), &mut identity.schema_minor);
    keys.finish()?;
    Some(identity)
}

fn sensor(mut keys: Keys<'_>) -> Option<([u32; 2], Chip)> {
    let mut size = [0; 2];
    let pixels = Limit::new(16..=16_384, "pixels", PROFILES);
    keys.integer("width", &pixels, &mut size[0]);
    keys.integer("height", &pixels, &mut size[1]);
    let mut chip = Chip {
        is_colour: false,
        pixel_um: 0.0,
        efficiency: [0.0; 3],
        full_well_e: 0.0,
        read_noise_e: 0.0,
        dark_e_s: 0.0,
        dsnu_e: 0.0,
        prnu: 0.0,
    };
    keys.boolean("is_colour", &mut chip.is_colour);
    keys.number("pixel_um", &Limit::new(0.5..=50.0, "um", PROFILES), &mut chip.pixel_um);
    let share = Limit::new(0.0..=1.0, "", PROFILES);
    keys.read("efficiency", &mut chip.efficiency, |field| field.numbers::<3>(&share));
    keys.number(
        "full_well_e",
        &Limit::new(100.0..=1e6, "electrons", PROFILES),
        &mut chip.full_well_e,
    );
    let electrons = Limit::new(0.0..=1e4, "electrons", PROFILES);
    keys.number("read_noise_e", &electrons, &mut chip.read_noise_e);
    keys.number("dark_e_s", &electrons, &mut chip.dark_e_s);
    keys.number("dsnu_e", &electrons, &mut chip.dsnu_e);
    keys.number("prnu", &share, &mut chip.prnu);
    keys.finish()?;
    Some((size, chip))
}

fn timing(mut keys: Keys<'_>) -> Option<Timing> {
    let mut all = Timing::default();
    let us = Limit::new(0.1..=1e8, "us", PROFILES);
    keys.time_ns("line_us", &us, 1e3, &mut all.line_ns);
    keys.boolean("is_rolling", &mut all.is_rolling);
    keys.integer("blank_rows", &Limit::new(0..=10_000, "rows", PROFILES), &mut all.blank_rows);
    keys.time_ns("exposure_min_us", &us, 1e3, &mut all.exposure_ns[0]);
    keys.time_ns("exposure_max_us", &us, 1e3, &mut all.exposure_ns[1]);
    keys.time_ns("trigger_us", &us, 1e3, &mut all.trigger_ns);
    keys.time_ns("reply_us", &us, 1e3, &mut all.reply_ns);
    let ms = Limit::new(0.0..=60_000.0, "ms", PROFILES);
    keys.time_ns("boot_ms", &ms, 1e6, &mut all.boot_ns);
    keys.time_ns("kept_ms", &ms, 1e6, &mut all.kept_ns);
    keys.finish()?;
    Some(all)
}
