//! How a Velodyne's head is driven: what a profile says, and what a rig may set.

use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Field, Limit, TableReader};

/// How a head is driven, and what its lasers do while it is slow.
#[derive(Clone, Debug, PartialEq)]
pub struct MotorSettings {
    /// The motor changes the speed by so much a second, rpm/s.
    pub acceleration_rpm_s: u32,
    /// Lasers fire at this speed and above, rpm.
    pub interlock_rpm: u32,
    /// Whether a unit whose lasers do not fire sends packets without returns, or none.
    pub sends_when_dark: bool,
    /// Whether the rotor stands at the first instant and spins up; otherwise it is at its speed.
    pub starts_at_rest: bool,
}

impl MotorSettings {
    /// Whether lasers fire, if they are on, at a speed.
    pub fn lasers_fire_at(&self, rpm: f64) -> bool {
        rpm >= f64::from(self.interlock_rpm)
    }
}

/// Reads `[motor]` of a profile.
pub(crate) fn profile(table: TableReader<'_>) -> Option<MotorSettings> {
    motor(table, None)
}

/// Reads `motor` of a rig's settings; what it leaves out is the profile's.
pub(crate) fn settings(field: &Field<'_>, profile: &MotorSettings) -> MotorSettings {
    let read = field.table("a motor").and_then(|table| motor(table, Some(profile)));
    read.unwrap_or_else(|| profile.clone())
}

/// Without `defaults` every key must be there but the one that says how a run begins.
fn motor(mut table: TableReader<'_>, defaults: Option<&MotorSettings>) -> Option<MotorSettings> {
    let mut field = |key| match defaults {
        None => table.required(key),
        Some(_) => table.optional(key),
    };
    let pace = Limit::new(1..=100_000, "rpm/s", "Menura: no motor is stronger");
    let acceleration_rpm_s = field("acceleration_rpm_s").integer(&pace);
    let speed = Limit::new(0..=6000, "rpm", PROFILES);
    let interlock_rpm = field("interlock_rpm").integer(&speed);
    let sends_when_dark = field("sends_when_dark").boolean();
    let mut starts_at_rest = None;
    if defaults.is_some() {
        starts_at_rest = table.optional("starts_at_rest").boolean();
    }
    table.finish();
    Some(MotorSettings {
        acceleration_rpm_s: acceleration_rpm_s.or(defaults.map(|d| d.acceleration_rpm_s))?,
        interlock_rpm: interlock_rpm.or(defaults.map(|d| d.interlock_rpm))?,
        sends_when_dark: sends_when_dark.or(defaults.map(|d| d.sends_when_dark))?,
        starts_at_rest: starts_at_rest.or(defaults.map(|d| d.starts_at_rest)).unwrap_or(false),
    })
}
