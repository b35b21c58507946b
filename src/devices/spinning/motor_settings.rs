//! Keys of a head's motor in profiles and rigs.

use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::TrueOrFalse;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::Limit;

keys! {
    in profile and rig;
    /// Motor of a head, and whether lasers fire at low speed.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct MotorSettings {
        acceleration {
            /// Change of the rotation rate per second.
            pub acceleration_rpm_s: u32,
                Limit::new(1..=100_000, "rpm/s", "Menura: no motor accelerates faster");
        }
        interlock {
            /// Lowest rotation rate at which lasers fire.
            pub interlock_rpm: u32, Limit::new(0..=6000, "rpm", PROFILES);
            /// Whether packets without returns are sent while no laser fires.
            pub sends_when_dark: bool, TrueOrFalse;
        }
        start {
            /// Whether the head stands at the start of the run and spins up.
            pub starts_at_rest: bool, TrueOrFalse;
        }
    }
}

/// Allowed rotation rates of a head.
pub(super) fn rpm() -> Limit<i128> {
    Limit::new(1..=6000, "rpm", PROFILES)
}

keys! {
    /// Permitted speeds of a head.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct RotationRates {
        range {
            /// Lowest rotation rate.
            pub min_rpm: u32, rpm();
            /// Highest rotation rate.
            pub max_rpm: u32, rpm();
        }
        step {
            /// Step of rotation rates.
            pub step_rpm: u32, rpm();
        }
    }
}

impl MotorSettings {
    /// Whether the interlock allows lasers to fire at this speed.
    pub(crate) fn lasers_fire_at(&self, rpm: f64) -> bool {
        rpm >= f64::from(self.interlock_rpm)
    }
}

/// Reads `motor` of a profile's root or of a rig's settings. Without `has_interlock`, the head has no interlock speed:
/// its lasers fire only while the speed is close to the set one.
pub(crate) fn read(keys: &mut Keys<'_>, has_interlock: bool, motor: &mut MotorSettings) {
    let says = match keys.is_profile() {
        true => "The motor of the head or of the mirror.",
        false => "Motor of the head.",
    };
    let field = keys.field("motor").meaning(says);
    keys.part(field, ["a motor", "{ starts_at_rest = true }"], motor, |mut keys, motor| {
        motor.acceleration(&mut keys);
        if has_interlock {
            motor.interlock(&mut keys);
        }
        if !keys.is_profile() {
            motor.start(&mut keys);
        }
        keys.finish()
    });
}
