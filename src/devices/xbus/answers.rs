//! Fixed answers of an MTi without errors.

use std::collections::BTreeMap;

use super::XbusUnit;
use crate::config::toml::key_types::{By, KeyType, Table};
use crate::config::toml::reader::Field;
use crate::imu::answers::{Setting, bytes, stored, word};
use crate::imu::{Dialect, Protocol, Unit};
use crate::wire::xbus::mid;

keys! {
    /// Fixed answers of an MTi.
    #[derive(Clone, Debug, PartialEq)]
    pub struct XbusAnswers {
        /// The result of the self-test, a bit for each test that was passed.
        pub self_test: u16, word::<u16>();
        /// Filter profiles of the unit.
        pub filter_profiles: Vec<FilterProfile>, By(filter_profiles);
        /// Settings' data by message id.
        pub stored: BTreeMap<u8, Vec<u8>> => |table| {
            let says = |name| format!("Bytes of {name} before a host writes them.");
            stored(table, XBUS_SETTINGS.map(|(setting, name)| (setting, says(name))), bytes)
        };
    }
}

keys! {
    /// A filter profile of an MTi.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FilterProfile {
        /// Number that selects the filter profile.
        pub number: u8, word::<u8>();
        /// Version of the filter profile.
        pub version: u8, word::<u8>();
        /// Name of the filter profile.
        pub label: String, By(label);
    }
}

impl Dialect for XbusAnswers {
    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(XbusUnit::new(unit, self.clone()))
    }
}

/// Settings whose data a profile lists. Each entry has the profile's key, the message id and the number of data bytes, then
/// the name of the message.
pub const XBUS_SETTINGS: [(Setting, &str); 9] = [
    (("period", mid::SET_PERIOD, 2), "SetPeriod"),
    (("option_flags", mid::SET_OPTION_FLAGS, 4), "SetOptionFlags"),
    (
        ("filter_profile", mid::SET_FILTER_PROFILE, 2),
        "SetFilterProfile, the filter profile in use,",
    ),
    (("lat_lon_alt", mid::SET_LAT_LON_ALT, 24), "SetLatLonAlt"),
    (("location_id", mid::SET_LOCATION_ID, 2), "SetLocationID"),
    (("string_output_type", mid::SET_STRING_OUTPUT_TYPE, 2), "SetStringOutputType"),
    (("output_mode", mid::SET_OUTPUT_MODE, 2), "SetOutputMode"),
    (("output_settings", mid::SET_OUTPUT_SETTINGS, 4), "SetOutputSettings"),
    (("error_mode", mid::SET_ERROR_MODE, 2), "SetErrorMode"),
];

fn filter_profiles(field: &Field<'_>) -> Option<Vec<FilterProfile>> {
    let (items, _) = field.array("filter profiles")?;
    let profiles: Vec<_> = items.iter().map(|item| Table("filter_profiles").read(item)).collect();
    profiles.into_iter().collect()
}

fn label(field: &Field<'_>) -> Option<String> {
    let text = field.text("a name")?;
    let is_good = text.value.len() <= 20 && text.value.chars().all(|c| (' '..='~').contains(&c));
    if !is_good {
        let label = "allowed: at most 20 printable ASCII characters";
        field.fault(text.place.fault("`label` cannot be sent", label));
    }
    is_good.then_some(text.value)
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
