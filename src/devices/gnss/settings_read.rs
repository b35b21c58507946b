//! Reads the settings of a GNSS receiver's physics from profiles and rigs.

use crate::config::toml::key_types::{Degrees, NumberOr, OneOf, Time, TrueOrFalse};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::sensors::gnss::settings::{
    Acquisition, BestFix, ErrorKind, ErrorModel, ErrorPreset, FixGrade, ReceiverSettings,
    SkySettings,
};

/// Source of limits in messages, where no receiver sets them.
pub const PROFILES: &str = "Menura's profiles, see firmware-profiles/example-gnss.toml";
/// Source of the models' limits in messages.
pub const RECEIVER: &str = "Menura's GNSS receivers";
const ERRORS: &str = "Menura's error models";

/// A limit from 0 to `most`.
pub fn up_to(most: f64, unit: &'static str) -> Limit<f64> {
    Limit::new(0.0..=most, unit, RECEIVER)
}

fn hdop() -> Limit<f64> {
    Limit::new(0.1..=1000.0, "", RECEIVER)
}

/// A time of up to a day.
fn within_a_day() -> Time {
    Time(up_to(86_400.0, "s"), 1e9)
}

keys! {
    in profile and rig; for Acquisition as pub(super) fn acquisition(is_rover: bool);
    /// Time until satellites are tracked.
    startup_ns as "startup_s", within_a_day();
    /// Whether the HDOP falls slowly to its final value.
    is_filtered as "filtered", TrueOrFalse;
    /// HDOP at the start.
    hdop_initial, hdop();
    /// Time constant with which the HDOP falls.
    time_constant_s, Limit::new(0.001..=3600.0, "s", RECEIVER);
    /// The HDOP after a long time; "sky" takes it from the satellites' geometry.
    hdop_final, NumberOr(hdop(), "sky", PROFILES);
    /// The largest HDOP of a fix in three dimensions.
    hdop_3d, hdop();
    /// The largest HDOP of a fix in two dimensions.
    hdop_2d => hdop_2d;
    /// Best kind of fix that the receiver reaches; with "corrections", the received RTCM 3 decides.
    best_fix, OneOf(&BEST_FIXES[..if is_rover { 5 } else { BestFix::WORDS.len() }], RECEIVER);
    /// Time from the first fix until it is differential.
    differential_after_ns as "differential_after_s", within_a_day();
    /// Time from the first fix until it is RTK float.
    rtk_float_after_ns as "rtk_float_after_s", within_a_day();
    /// Time from the first fix until it is RTK fixed.
    rtk_fixed_after_ns as "rtk_fixed_after_s", within_a_day();
}

fn hdop_2d(all: &mut Acquisition, keys: &mut Keys<'_>) {
    let field = keys.field_or("hdop_2d", all.hdop_2d);
    let read = field.number(&hdop());
    if let (Some(hdop_2d), Some(place)) = (read, field.place())
        && hdop_2d < all.hdop_3d
    {
        let label = format!("hdop_3d is {}, hdop_2d is {hdop_2d}", all.hdop_3d);
        keys.table.fault(place.fault("`hdop_2d` must not be less than `hdop_3d`", label));
    }
    keys.put(read, &mut all.hdop_2d);
}

/// Words for the best fix: a kind of fix, or that corrections decide.
pub const BEST_FIXES: [(&str, Option<BestFix>); 5] = [
    ("standalone", Some(BestFix::Standalone)),
    ("differential", Some(BestFix::Differential)),
    ("rtk-float", Some(BestFix::RtkFloat)),
    ("rtk-fixed", Some(BestFix::RtkFixed)),
    ("corrections", None),
];

keys! {
    in profile and rig; for SkySettings as pub(super) fn sky();
    /// Half the opening angle of the nine rays towards a satellite. Blocked rays attenuate its signal.
    ray_spread_rad as "ray_spread_deg", Degrees(up_to(30.0, "degrees"));
    /// Weaker satellites are not tracked.
    min_cno_dbhz, up_to(60.0, "dB-Hz");
    /// Standard deviation of the signals' C/N0 from second to second.
    cno_std_db, up_to(10.0, "dB");
}

/// Reads the errors: a profile has `accuracy` for each kind of fix, and a rig replaces parts of it for all
/// kinds.
pub fn accuracy(keys: &mut Keys<'_>, all: &mut ReceiverSettings) {
    if keys.is_profile() {
        let read = keys.table.required("accuracy").table("`accuracy`").and_then(grades);
        keys.put(read, &mut all.grades);
        return;
    }
    match errors(&keys.table.optional("errors")) {
        Some(Errors::Preset(preset)) => all.apply(preset),
        Some(Errors::Models(models)) => {
            all.grades.iter_mut().for_each(|grade| grade.errors.clone_from(&models));
        }
        None => {}
    }
    let words = [("model", false), ("zero", true)];
    let stated = keys.table.optional("stated");
    all.states_zero = stated.choice_or(&words, ERRORS, all.states_zero);
    let uere_m = keys.table.optional("uere_m").number(&uere_limit());
    let velocity = keys.table.optional("velocity_std_m_s").number(&velocity_limit());
    for grade in &mut all.grades {
        grade.uere_m = uere_m.unwrap_or(grade.uere_m);
        grade.velocity_std_m_s = velocity.unwrap_or(grade.velocity_std_m_s);
    }
}

/// Limits of range errors.
fn uere_limit() -> Limit<f64> {
    Limit::new(0.001..=100.0, "m", RECEIVER)
}

/// Limits of velocity errors.
fn velocity_limit() -> Limit<f64> {
    Limit::new(0.0..=10.0, "m/s", ERRORS)
}

/// Reads a profile's errors for each kind of fix.
fn grades(mut table: TableReader<'_>) -> Option<[FixGrade; 4]> {
    let grades = BestFix::WORDS.map(|(word, _)| {
        let mut table = table.required(word).table(&format!("`{word}`"))?;
        let uere_m = table.required("uere_m").number(&uere_limit());
        let velocity_std_m_s = table.required("velocity_std_m_s").number(&velocity_limit());
        let errors = models(&table.required("errors"));
        table.finish();
        Some(FixGrade { errors: errors?, uere_m: uere_m?, velocity_std_m_s: velocity_std_m_s? })
    });
    table.finish();
    let grades: Option<Vec<FixGrade>> = grades.into_iter().collect();
    grades?.try_into().ok()
}

/// A rig's errors of a receiver.
enum Errors {
    /// The name of a combination.
    Preset(ErrorPreset),
    /// A list of models.
    Models(Vec<ErrorModel>),
}

/// Reads a rig's `errors`: the name of a combination, or an array of models.
fn errors(field: &Field<'_>) -> Option<Errors> {
    if field.is_array() {
        return models(field).map(Errors::Models);
    }
    field
        .choice(&ErrorPreset::WORDS, "Mahajan et al. 2024; else an array of models")
        .map(Errors::Preset)
}

fn models(field: &Field<'_>) -> Option<Vec<ErrorModel>> {
    let expected = "an array of tables such as { model = \"gaussian\", std_m = [1.0, 1.0, 2.0] }";
    // Random draws can distinguish 16 models.
    let (items, place) = field.array_of(0..=16, expected)?;
    if items.len() > 16 {
        field.fault(place.fault("too many error models", "allowed: at most 16"));
        return None;
    }
    let models: Vec<_> =
        items.iter().map(|item| item.table("an error model").and_then(model)).collect();
    models.into_iter().collect()
}

#[derive(Clone, Copy)]
enum Model {
    Gaussian,
    RandomWalk,
    GaussMarkov,
}

fn model(mut table: TableReader<'_>) -> Option<ErrorModel> {
    let words = [
        ("gaussian", Model::Gaussian),
        ("random-walk", Model::RandomWalk),
        ("gauss-markov", Model::GaussMarkov),
    ];
    let model = table.required("model").choice(&words, ERRORS)?;
    let times_dop = table.optional("times_dop").boolean_or(false);
    let metres = Limit::new(-1000.0..=1000.0, "m", ERRORS);
    let std = Limit::new(0.0..=1000.0, "m", ERRORS);
    let positive = |unit| Limit::new(1e-6..=1e6, unit, ERRORS);
    let kind = match model {
        Model::Gaussian => {
            let mean_m = table.optional("mean_m").numbers_or(&metres, [0.0; 3]);
            let std_m = table.required("std_m").numbers::<3>(&std);
            std_m.map(|std_m| ErrorKind::Gaussian { mean_m, std_m })
        }
        Model::GaussMarkov => {
            let std_m = table.required("std_m").numbers::<3>(&std);
            let time_constant_s = table.required("time_constant_s").number(&positive("s"));
            let both = std_m.zip(time_constant_s);
            both.map(|(std_m, time_constant_s)| ErrorKind::GaussMarkov { std_m, time_constant_s })
        }
        Model::RandomWalk => {
            let std_m_s2 = table.required("std_m_s2").number(&positive("m/s2"));
            let update = Limit::new(1.0..=1000.0, "Hz", ERRORS);
            let update_hz = table.required("update_hz").number(&update);
            let max_speed_m_s = table.required("max_speed_m_s").number(&positive("m/s"));
            let acceleration = table.required("max_acceleration_m_s2").number(&positive("m/s2"));
            let radius_m = table.optional("radius_m").number_or(&positive("m"), 1.0);
            (|| {
                Some(ErrorKind::RandomWalk {
                    std_m_s2: std_m_s2?,
                    update_hz: update_hz?,
                    max_speed_m_s: max_speed_m_s?,
                    max_acceleration_m_s2: acceleration?,
                    radius_m,
                })
            })()
        }
    };
    table.finish();
    kind.map(|kind| ErrorModel { kind, times_dop })
}
