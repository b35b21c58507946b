//! `errors` of a lidar or an IMU: the errors in the profile, or none.

use crate::toml::reader::TableReader;

/// Reads `errors`; returns whether it disables the errors in the profile. Messages name `origin` as the source of the
/// allowed words.
pub fn are_none(table: &mut TableReader<'_>, origin: &str) -> bool {
    let says = "Errors of the unit: those of the profile, or \"none\", which leaves only the errors that the rig sets \
        itself.";
    let words = [("profile", false), ("none", true)];
    table.optional("errors").meaning(says).choice_or(&words, origin, false)
}
