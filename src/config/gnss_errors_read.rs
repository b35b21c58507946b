//! Reads how a GNSS receiver errs: models, their combinations, what is stated.

use crate::config::gnss::{BestFix, ErrorKind, ErrorModel, ErrorPreset, FixGrade};
use crate::config::gnss_read::RECEIVER;
use crate::config::toml::reader::{Field, Limit, TableReader};

const ERRORS: &str = "Menura's error models";

/// Of a range error.
pub(crate) fn uere_limit() -> Limit<f64> {
    Limit::new(0.001..=100.0, "m", RECEIVER)
}

/// Of the velocity's error.
pub(crate) fn velocity_limit() -> Limit<f64> {
    Limit::new(0.0..=10.0, "m/s", ERRORS)
}

/// What a profile says of each kind of fix.
pub(crate) fn grades(mut table: TableReader<'_>) -> Option<[FixGrade; 4]> {
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

/// What a rig says of a receiver's errors.
pub(crate) enum Errors {
    /// A combination.
    Preset(ErrorPreset),
    /// Its own.
    Models(Vec<ErrorModel>),
}

/// A rig's `errors`: the name of a combination, or an array of models.
pub(crate) fn errors(field: &Field<'_>) -> Option<Errors> {
    if field.is_array() {
        return models(field).map(Errors::Models);
    }
    field
        .choice(&ErrorPreset::WORDS, "Mahajan et al. 2024; else an array of models")
        .map(Errors::Preset)
}

fn models(field: &Field<'_>) -> Option<Vec<ErrorModel>> {
    let expected = "an array of tables such as { model = \"gaussian\", std_m = [1.0, 1.0, 2.0] }";
    let (items, place) = field.array(expected)?;
    // Random draws tell 16 models of a process apart.
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
    let times_dop = table.optional("times_dop").boolean().unwrap_or(false);
    let metres = Limit::new(-1000.0..=1000.0, "m", ERRORS);
    let std = Limit::new(0.0..=1000.0, "m", ERRORS);
    let positive = |unit| Limit::new(1e-6..=1e6, unit, ERRORS);
    let kind = match model {
        Model::Gaussian => {
            let mean_m = table.optional("mean_m").numbers::<3>(&metres).unwrap_or_default();
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
            let radius_m = table.optional("radius_m").number(&positive("m")).unwrap_or(1.0);
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
