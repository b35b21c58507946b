//! Reads the settings of the GNSS model (signals, errors, acquisition) from profiles and rigs.

use crate::config::toml::key_types::{By, Degrees, Maybe, NumberOr, OneOf, Time, TrueOrFalse};
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::sensors::gnss::settings::{
    Acquisition, BestFix, ErrorKind, ErrorModel, ErrorPreset, FixGrade, ReceiverSettings,
    SkySettings,
};

/// Source named in messages for limits of profiles.
pub const PROFILES: &str = "Menura's profiles, see firmware-profiles/example-gnss.toml";
/// Source named in messages for limits of the receiver models.
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

/// Values of `best_fix` for a rover: a kind of fix, or `None` if the received corrections determine it.
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

/// Descriptions of the keys for the kinds of fix, in the order of [`BestFix`].
const GRADES: [&str; 4] = [
    "Errors and accuracy of a fix without corrections.",
    "Errors and accuracy of a differential fix.",
    "Errors and accuracy of an RTK fix with float ambiguities.",
    "Errors and accuracy of an RTK fix with fixed ambiguities.",
];

/// Reads the errors and the stated accuracy. The key `accuracy` of a profile has them for each kind of fix. Keys of a
/// rig override parts of them for all kinds of fix.
pub fn accuracy(all: &mut ReceiverSettings, keys: &mut Keys<'_>) {
    if keys.is_profile() {
        let says = "Errors and stated accuracy of each kind of fix.";
        let field = keys.field("accuracy").meaning(says);
        keys.table_in(&field, "`accuracy`", &mut all.grades, |mut keys, grades| {
            for (((word, _), says), all) in BestFix::WORDS.iter().zip(GRADES).zip(grades) {
                let field = keys.field(word).meaning(says);
                keys.table_in(&field, &format!("`{word}`"), all, |mut keys, all| {
                    grade(all, &mut keys);
                    keys.finish()
                });
            }
            keys.finish()
        });
        return;
    }
    let mut rig = RigErrors { states_zero: all.states_zero, ..RigErrors::default() };
    rig.read_into(&mut keys.table);
    match rig.errors {
        Some(Errors::Preset(preset)) => all.apply(preset),
        Some(Errors::Models(models)) => {
            all.grades.iter_mut().for_each(|grade| grade.errors.clone_from(&models));
        }
        None => {}
    }
    all.states_zero = rig.states_zero;
    for grade in &mut all.grades {
        grade.uere_m = rig.uere_m.unwrap_or(grade.uere_m);
        grade.velocity_std_m_s = rig.velocity_std_m_s.unwrap_or(grade.velocity_std_m_s);
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

keys! {
    in profile and rig; for FixGrade as fn grade();
    /// The range error that the receiver states.
    uere_m, uere_limit();
    /// Standard deviation of velocities.
    velocity_std_m_s, velocity_limit();
    /// Models of errors, which add up.
    errors, By(models);
}

keys! {
    /// Errors of a receiver as a rig sets them, for all kinds of fix.
    #[derive(Debug)]
    pub struct RigErrors {
        /// Errors of the receiver: the name of a combination of error models, or an array of models.
        pub errors: Option<Errors> = None, Maybe(By(errors));
        /// Accuracy that the receiver reports: that of its error model, or zero, as simulators without a covariance
        /// report it.
        pub states_zero as "stated": bool = false,
            OneOf(&[("model", false), ("zero", true)], ERRORS);
        /// The range error that the receiver states, for all kinds of fix.
        pub uere_m: Option<f64> = None, Maybe(uere_limit());
        /// Standard deviation of velocities, for all kinds of fix.
        pub velocity_std_m_s: Option<f64> = None, Maybe(velocity_limit());
    }
}

/// Error models that a rig sets.
#[derive(Debug)]
pub enum Errors {
    /// A named combination of models.
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
        .choice(&ErrorPreset::WORDS, "Mahajan et al. 2024; write other models as an array")
        .map(Errors::Preset)
}

fn models(field: &Field<'_>) -> Option<Vec<ErrorModel>> {
    let expected = "an array of tables such as { model = \"gaussian\", std_m = [1.0, 1.0, 2.0] }";
    // The random streams distinguish up to 16 models.
    let (items, place) = field.array_of(0..=16, expected)?;
    if items.len() > 16 {
        field.fault(place.fault("too many error models", "allowed: at most 16"));
        return None;
    }
    let models: Vec<_> =
        items.iter().map(|item| item.table("an error model").and_then(model)).collect();
    models.into_iter().collect()
}

fn std_limit() -> Limit<f64> {
    Limit::new(0.0..=1000.0, "m", ERRORS)
}

fn positive(unit: &'static str) -> Limit<f64> {
    Limit::new(1e-6..=1e6, unit, ERRORS)
}

keys! {
    /// Keys that all error models have.
    #[derive(Debug)]
    pub struct AnyModel {
        /// The kind of error.
        pub model: Model, OneOf(&Model::WORDS, ERRORS);
        /// Whether the error is a range error, which is multiplied by the DOP of each axis.
        pub times_dop: bool = false, TrueOrFalse;
    }
}

keys! {
    /// Keys that depend on the error model.
    #[derive(Debug)]
    pub enum ModelKeys of Model {
        /// Independent errors.
        Gaussian = "gaussian" {
            /// The mean error east, north and up.
            mean_m: [f64; 3] = [0.0; 3], Limit::new(-1000.0..=1000.0, "m", ERRORS);
            /// Standard deviation east, north and up.
            std_m: [f64; 3], std_limit();
        }
        /// A random walk with a restoring acceleration.
        RandomWalk = "random-walk" {
            /// Standard deviation of the random accelerations.
            std_m_s2: f64, positive("m/s2");
            /// Steps of the random walk per second.
            update_hz: f64, Limit::new(1.0..=1000.0, "Hz", ERRORS);
            /// The largest speed of the random walk.
            max_speed_m_s: f64, positive("m/s");
            /// The largest acceleration of the random walk.
            max_acceleration_m_s2: f64, positive("m/s2");
            /// Distance at which the random walk is pulled back.
            radius_m: f64 = 1.0, positive("m");
        }
        /// A first-order Gauss-Markov process.
        GaussMarkov = "gauss-markov" {
            /// Standard deviation east, north and up.
            std_m: [f64; 3], std_limit();
            /// Time constant of the error.
            time_constant_s: f64, positive("s");
        }
    }
}

fn model(mut table: TableReader<'_>) -> Option<ErrorModel> {
    let AnyModel { model, times_dop } = AnyModel::read_keys(&mut table)?;
    let kind = model.read(&mut table).map(|keys| match keys {
        ModelKeys::Gaussian { mean_m, std_m } => ErrorKind::Gaussian { mean_m, std_m },
        ModelKeys::GaussMarkov { std_m, time_constant_s } => {
            ErrorKind::GaussMarkov { std_m, time_constant_s }
        }
        ModelKeys::RandomWalk {
            std_m_s2,
            update_hz,
            max_speed_m_s,
            max_acceleration_m_s2,
            radius_m,
        } => ErrorKind::RandomWalk {
            std_m_s2,
            update_hz,
            max_speed_m_s,
            max_acceleration_m_s2,
            radius_m,
        },
    });
    table.finish();
    kind.map(|kind| ErrorModel { kind, times_dop })
}
