//! Reads the profile of a drive base.

use super::BaseFamily;
use super::profile::{BaseLine, BaseProfile, BaseSettings, PowerSettings, WheelSettings};
use crate::config::toml::key_types::{KeyType, Table};
use crate::config::toml::keys::{Keys, Shared};
use crate::config::toml::reader::TableReader;

/// Reads all keys of a profile except its name and sources.
pub(super) fn profile(mut root: TableReader<'_>, family: BaseFamily) -> Option<BaseProfile> {
    let identity = Table("[identity]").read(&root.required("identity"));
    let says = "Serial line, and times of the unit's answers.";
    let line = Table("[line]").read(&root.required("line").meaning(says));
    let says = "Motors and encoders on the robot.";
    let wheels = Shared("[wheels]").read(&root.required("wheels").meaning(says));
    let says = "The battery and what depends on it.";
    let power = Shared("[power]").read(&root.required("power").meaning(says));
    let mut keys = Keys::of_profile(root);
    let dialect = (family.dialect)().read(&mut keys);
    keys.finish()?;
    let line: BaseLine = line?;
    let (wheels, power): (WheelSettings, PowerSettings) = (wheels?, power?);
    let defaults = BaseSettings {
        baud_rate: *line.baud_rates.first()?,
        reply_delay_ns: line.reply_delay_ns,
        is_input_paced: line.is_input_paced,
        wheels,
        power,
        dialect,
    };
    Some(BaseProfile { family, identity: identity?, line, defaults })
}
