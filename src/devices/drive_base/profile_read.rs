//! Reads the profile of a drive base.

use super::BaseFamily;
use super::profile::{
    BaseProfile, BaseSettings, LineTimes, PROFILES, PowerSettings, WheelSettings,
};
use crate::config::profile::read::IDENTITY;
use crate::config::toml::key_types::{KeyType, Table};
use crate::config::toml::keys::{Keys, Shared};
use crate::config::toml::reader::TableReader;
use crate::serial::line_read::{SerialLine, line_field};

/// Reads a profile except its name and sources.
pub(super) fn profile(mut root: TableReader<'_>, family: BaseFamily) -> Option<BaseProfile> {
    let identity = Table("[identity]").read(&root.required("identity").meaning(IDENTITY));
    let line = line_field(&mut root).table("[line]").and_then(line);
    let says = "Motors and encoders on the robot.";
    let wheels = Shared("[wheels]").read(&root.required("wheels").meaning(says));
    let says = "Battery and power consumption.";
    let power = Shared("[power]").read(&root.required("power").meaning(says));
    let mut keys = Keys::of_profile(root);
    let dialect = (family.dialect)().read(&mut keys);
    keys.finish()?;
    let (line, times) = line?;
    let (wheels, power): (WheelSettings, PowerSettings) = (wheels?, power?);
    let defaults =
        BaseSettings { baud_rate: *line.baud_rates.first()?, times, wheels, power, dialect };
    Some(BaseProfile { family, identity: identity?, line, defaults })
}

/// Reads `[line]`: the serial line, and times that a rig can override.
fn line(mut table: TableReader<'_>) -> Option<(SerialLine, LineTimes)> {
    let line = SerialLine::read_keys(&mut table, PROFILES);
    let (mut times, mut keys) = (LineTimes::default(), Keys::of_profile(table));
    times.read_keys(&mut keys);
    keys.finish()?;
    Some((line?, times))
}
