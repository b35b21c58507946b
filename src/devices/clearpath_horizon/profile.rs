//! What profiles and rigs set on a Husky alone.

use std::sync::Arc;

use super::HorizonUnit;
use crate::config::toml::keys::Keys;
use crate::config::toml::reader::Limit;
use crate::describe::{Section, shortest};
use crate::drive_base::describe::ms;
use crate::drive_base::profile_read::{PROFILES, limit, whole};
use crate::drive_base::{Dialect, Protocol, Unit};

/// Settings of a Husky.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HorizonSettings {
    /// The platform's revision.
    pub revision: u8,
    /// Time without a commanded speed after which motors stop, nanoseconds; 0: never.
    pub timeout_ns: u64,
    /// Highest acceleration before a host sets another, m/s².
    pub max_accel_m_s2: f64,
    /// Between left and right wheels, metres: what it takes for turning rates and radii.
    pub track_m: f64,
    /// Highest rate of a subscription, Hz.
    pub max_rate_hz: u32,
    /// Subscriptions at a time.
    pub max_subscriptions: u32,
}

impl Dialect for HorizonSettings {
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect> {
        let mut all = self.clone();
        keys.table("horizon", "[horizon]", &mut all, self::keys);
        Arc::new(all)
    }

    fn describe(&self) -> Section {
        let rows = vec![
            ("revision", self.revision.to_string()),
            ("timeout_ms", ms(self.timeout_ns)),
            ("max_accel_m_s2", shortest(self.max_accel_m_s2)),
            ("track_mm", shortest(self.track_m * 1e3)),
            ("max_rate_hz", self.max_rate_hz.to_string()),
            ("max_subscriptions", self.max_subscriptions.to_string()),
        ];
        ("settings.horizon", rows)
    }

    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(HorizonUnit::new(self.clone(), unit))
    }
}

fn keys(mut keys: Keys<'_>, all: &mut HorizonSettings) -> Option<()> {
    keys.integer("revision", &whole(0, 255, "", "Horizon: one byte"), &mut all.revision);
    keys.time_ns("timeout_ms", &limit(0.0, 60_000.0, "ms"), 1e6, &mut all.timeout_ns);
    let accel = Limit::new(0.01..=300.0, "m/s²", "Horizon: hundredths in 16 bits");
    keys.number("max_accel_m_s2", &accel, &mut all.max_accel_m_s2);
    keys.scaled("track_mm", &limit(10.0, 10_000.0, "mm"), 1e-3, &mut all.track_m);
    keys.integer("max_rate_hz", &whole(1, 1000, "Hz", PROFILES), &mut all.max_rate_hz);
    keys.integer("max_subscriptions", &whole(1, 7, "", PROFILES), &mut all.max_subscriptions);
    keys.finish()
}
