//! What a Velodyne's web interface says of the unit.

use super::profile_read::PROFILES;
use super::reader::{Limit, TableReader};

/// What a Velodyne's web interface says of the unit.
#[derive(Clone, Debug, PartialEq)]
pub struct WebProfile {
    /// `model` of `info.json`.
    pub model: String,
    /// `serial` of `info.json`.
    pub serial: String,
    /// How long it takes to start anew, nanoseconds.
    pub reset_ns: u64,
}

/// Reads `[web]` of a profile.
pub(super) fn profile(mut table: TableReader<'_>) -> Option<WebProfile> {
    let model = table.required("model").text("the model's name such as \"VLP-16\"");
    let serial = table.required("serial").text("a serial number");
    let seconds = Limit::new(0.1..=600.0, "s", PROFILES);
    let reset_s = table.required("reset_s").number(&seconds);
    table.finish();
    Some(WebProfile {
        model: model?.value,
        serial: serial?.value,
        reset_ns: (reset_s? * 1e9).round() as u64,
    })
}
