//! Answers of a healthy MTi.

use std::collections::BTreeMap;

use std::sync::Arc;

use super::XbusUnit;
use crate::config::toml::reader::{Field, TableReader};
use crate::imu::answers::{self, bytes, stored, word};
use crate::imu::{Dialect, Protocol, Unit};
use crate::wire::xbus::mid;

/// Answers of an MTi.
#[derive(Clone, Debug, PartialEq)]
pub struct XbusAnswers {
    /// Result of the self-test, a bit for each test that was passed.
    pub self_test: u16,
    /// Filter profiles that can be set.
    pub filter_profiles: Vec<FilterProfile>,
    /// Settings' data by message id.
    pub stored: BTreeMap<u8, Vec<u8>>,
}

/// A filter profile of an MTi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterProfile {
    /// Number that selects the filter profile.
    pub number: u8,
    /// Version of the filter profile.
    pub version: u8,
    /// Name of the filter profile, at most 20 characters.
    pub label: String,
}

impl Dialect for XbusAnswers {
    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(XbusUnit::new(unit, self.clone()))
    }
}

/// An MTi's settings: key, message id, bytes.
pub const XBUS_SETTINGS: [(&str, u8, usize); 9] = [
    ("period", mid::SET_PERIOD, 2),
    ("option_flags", mid::SET_OPTION_FLAGS, 4),
    ("filter_profile", mid::SET_FILTER_PROFILE, 2),
    ("lat_lon_alt", mid::SET_LAT_LON_ALT, 24),
    ("location_id", mid::SET_LOCATION_ID, 2),
    ("string_output_type", mid::SET_STRING_OUTPUT_TYPE, 2),
    ("output_mode", mid::SET_OUTPUT_MODE, 2),
    ("output_settings", mid::SET_OUTPUT_SETTINGS, 4),
    ("error_mode", mid::SET_ERROR_MODE, 2),
];

/// Reads `[answers]`.
pub(super) fn read(root: &mut TableReader<'_>) -> Option<Arc<dyn Dialect>> {
    Some(Arc::new(answers::read(root, xbus)?))
}

fn xbus(table: &mut TableReader<'_>) -> Option<XbusAnswers> {
    let self_test = word(table, "self_test");
    let field = table.required("filter_profiles");
    let filter_profiles = field.array("filter profiles").and_then(|(items, _)| {
        items.iter().map(filter_profile).collect::<Vec<_>>().into_iter().collect()
    });
    let stored = stored(table, &XBUS_SETTINGS, bytes);
    Some(XbusAnswers { self_test: self_test?, filter_profiles: filter_profiles?, stored: stored? })
}

fn filter_profile(item: &Field<'_>) -> Option<FilterProfile> {
    let mut table = item.table("filter_profiles")?;
    let (number, version) = (word(&mut table, "number"), word(&mut table, "version"));
    let field = table.required("label");
    let label = field.text("a name").and_then(|text| {
        let is_good =
            text.value.len() <= 20 && text.value.chars().all(|c| (' '..='~').contains(&c));
        if !is_good {
            let label = "allowed: at most 20 printable ASCII characters";
            field.fault(text.place.fault("`label` cannot be sent", label));
        }
        is_good.then_some(text.value)
    });
    table.finish();
    Some(FilterProfile { number: number?, version: version?, label: label? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imu::tests::dialect;

    #[test]
    fn the_profile_has_them() {
        let xbus = dialect::<XbusAnswers>("xsens-mti30");
        assert_eq!((xbus.self_test, xbus.filter_profiles.len()), (0x1ff, 5));
        assert_eq!(xbus.stored[&0x64], [0, 39]);
    }
}
