//! The suites and rigs that are part of the program: the files of `test-suites/`.

// `EMBEDDED_SUITES` and `EMBEDDED_RIGS`: name, path and text of each file, sorted by name.
include!(concat!(env!("OUT_DIR"), "/embedded_suites.rs"));

/// Path and text of the suite with this name; `None` if there is none.
pub fn suite(name: &str) -> Option<(&'static str, &'static str)> {
    find(EMBEDDED_SUITES, name)
}

/// Names of the suites.
pub fn suite_names() -> impl Iterator<Item = &'static str> {
    EMBEDDED_SUITES.iter().map(|(name, ..)| *name)
}

/// Path and text of the rig with this name; `None` if there is none.
pub fn rig(name: &str) -> Option<(&'static str, &'static str)> {
    find(EMBEDDED_RIGS, name)
}

/// Names of the rigs.
pub fn rig_names() -> impl Iterator<Item = &'static str> {
    EMBEDDED_RIGS.iter().map(|(name, ..)| *name)
}

/// Names of the rigs, each with a description: the first line of its file, which is a comment.
pub fn rigs() -> impl Iterator<Item = (&'static str, &'static str)> {
    EMBEDDED_RIGS.iter().map(|(name, _, text)| {
        let first = text.lines().next().unwrap_or_default();
        (*name, first.trim_start_matches(['#', ' ']))
    })
}

fn find(
    files: &[(&str, &'static str, &'static str)],
    wanted: &str,
) -> Option<(&'static str, &'static str)> {
    files.iter().find(|(name, ..)| *name == wanted).map(|(_, file, text)| (*file, *text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::rig::Rig;
    use crate::devices::families::catalogue;
    use crate::kit::suite::Suite;

    #[test]
    fn embedded_suites_and_rigs_are_sound() {
        assert_eq!(
            suite_names().collect::<Vec<_>>(),
            ["all", "base", "camera", "gnss", "imu", "lidar", "scanner"]
        );
        for name in suite_names() {
            let suite = Suite::load(name).unwrap_or_else(|faults| panic!("{faults}"));
            assert!(!suite.cases.is_empty() && suite.rig.is_some(), "{name}");
            for case in &suite.cases {
                assert!(!case.expectations.is_empty(), "{}", case.name);
                let last = case.faults.iter().map(|fault| fault.start_s).fold(0.0, f64::max);
                assert!(last < case.lasts_s, "{}: a fault begins after its end", case.name);
            }
        }
        for (name, _, text) in EMBEDDED_RIGS {
            let rig = Rig::parse(name, text, std::path::Path::new(""), &[], catalogue());
            rig.unwrap_or_else(|faults| panic!("{faults}"));
        }
    }
}
