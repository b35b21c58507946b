//! Settings of a Husky in profiles and rigs.

use std::sync::Arc;

use super::HorizonUnit;
use crate::config::toml::key_types::{Scaled, Time};
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::config::toml::reader::Limit;
use crate::drive_base::profile::{PROFILES, limit};
use crate::drive_base::{Dialect, Protocol, Unit};

keys! {
    in profile and rig;
    /// Settings of a Husky.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct HorizonSettings {
        /// Revision of the platform.
        pub revision: u8, Limit::new(0..=255, "", "Horizon: one byte");
        /// Motors stop after this time without a speed; 0: never.
        pub timeout_ns as "timeout_ms": u64, Time(limit(0.0, 60_000.0, "ms"), 1e6);
        /// Largest acceleration before a host sets another, m/s².
        pub max_accel_m_s2: f64, Limit::new(0.01..=300.0, "m/s²", "Horizon: hundredths in 16 bits");
        /// Distance between left and right wheels, which the robot uses for turning rates and radii.
        pub track_m as "track_mm": f64, Scaled(limit(10.0, 10_000.0, "mm"), 1e-3);
        /// Highest rate of a subscription.
        pub max_rate_hz: u32, Limit::new(1..=1000, "Hz", PROFILES);
        /// Largest number of subscriptions at a time.
        pub max_subscriptions: u32, Limit::new(1..=7, "", PROFILES);
    }
}

impl Dialect for HorizonSettings {
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect> {
        let mut all = self.clone();
        let field = keys.field("horizon").meaning("Settings of a Husky only.");
        keys.table_in(&field, "[horizon]", &mut all, SharedKeys::read);
        Arc::new(all)
    }

    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(HorizonUnit::new(self.clone(), unit))
    }
}
