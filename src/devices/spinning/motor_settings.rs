//! Motor of a head: keys of profiles and rigs.

use crate::config::profile::read::PROFILES;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::{Limit, TableReader};

/// Motor of a head, and the lasers' behaviour while it is slow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MotorSettings {
    /// Rate at which the motor changes its speed, rpm/s.
    pub acceleration_rpm_s: u32,
    /// Speed from which lasers fire, rpm.
    pub interlock_rpm: u32,
    /// Whether a unit whose lasers do not fire sends packets without returns, or none.
    pub sends_when_dark: bool,
    /// Whether the rotor is at rest at the first instant and spins up; otherwise it is at its speed.
    pub starts_at_rest: bool,
}

/// Speeds that a head can be set to, rpm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RotationRates {
    /// The lowest.
    pub min_rpm: u32,
    /// The highest.
    pub max_rpm: u32,
    /// Step of rotation rates.
    pub step_rpm: u32,
}

impl MotorSettings {
    /// Whether the motor's interlock lets lasers fire at this speed.
    pub(crate) fn lasers_fire_at(&self, rpm: f64) -> bool {
        rpm >= f64::from(self.interlock_rpm)
    }
}

/// Reads `[motor]` of a profile.
pub(crate) fn profile(table: TableReader<'_>) -> Option<MotorSettings> {
    let mut motor = MotorSettings::default();
    read(Keys::of_profile(table), &mut motor)?;
    Some(motor)
}

/// Reads `motor` of a rig's settings.
pub(crate) fn settings(keys: &mut Keys<'_>, motor: &mut MotorSettings) {
    let field = keys.field("motor").such_as("{ starts_at_rest = true }");
    keys.table_in(&field, "a motor", motor, read);
}

/// Reads `motor` of a unit whose lasers fire at the set speed only; for a profile, without the key about the
/// start of a run.
pub(crate) fn plain(mut keys: Keys<'_>, motor: &mut MotorSettings) -> Option<()> {
    acceleration(&mut keys, motor);
    beginning(&mut keys, motor);
    keys.finish()
}

/// Reads the keys of a profile, without the one about the start of a run.
fn read(mut keys: Keys<'_>, motor: &mut MotorSettings) -> Option<()> {
    acceleration(&mut keys, motor);
    let speed = Limit::new(0..=6000, "rpm", PROFILES);
    keys.integer("interlock_rpm", &speed, &mut motor.interlock_rpm);
    keys.boolean("sends_when_dark", &mut motor.sends_when_dark);
    beginning(&mut keys, motor);
    keys.finish()
}

fn acceleration(keys: &mut Keys<'_>, motor: &mut MotorSettings) {
    let pace = Limit::new(1..=100_000, "rpm/s", "Menura: no motor is stronger");
    keys.integer("acceleration_rpm_s", &pace, &mut motor.acceleration_rpm_s);
}

fn beginning(keys: &mut Keys<'_>, motor: &mut MotorSettings) {
    if !keys.is_profile() {
        keys.boolean("starts_at_rest", &mut motor.starts_at_rest);
    }
}
