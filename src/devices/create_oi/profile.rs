//! What profiles and rigs set on a Create alone.

use std::sync::Arc;

use super::CreateUnit;
use crate::config::toml::keys::Keys;
use crate::describe::{Section, shortest};
use crate::drive_base::describe::ms;
use crate::drive_base::profile_read::limit;
use crate::drive_base::{Dialect, Protocol, Unit};

/// Settings of a Create.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateSettings {
    /// Between the wheels, metres: what it takes for radii and angles.
    pub wheel_base_m: f64,
    /// Period of a stream, nanoseconds.
    pub stream_period_ns: u64,
    /// Time without a command after which it sleeps in passive mode, nanoseconds; 0: never.
    pub sleep_after_ns: u64,
    /// What it tells of the true distance and angle: 1, but for early firmware.
    pub distance_scale: f64,
    /// See [`Self::distance_scale`].
    pub angle_scale: f64,
    /// Text that is printed after a reset.
    pub boot_text: String,
}

impl Dialect for CreateSettings {
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect> {
        let mut all = self.clone();
        keys.table("create", "[create]", &mut all, self::keys);
        Arc::new(all)
    }

    fn describe(&self) -> Section {
        let rows = vec![
            ("wheel_base_mm", shortest(self.wheel_base_m * 1e3)),
            ("stream_period_ms", ms(self.stream_period_ns)),
            ("sleep_after_s", shortest(self.sleep_after_ns as f64 / 1e9)),
            ("distance_scale", shortest(self.distance_scale)),
            ("angle_scale", shortest(self.angle_scale)),
            ("boot_text", format!("{:?}", self.boot_text)),
        ];
        ("settings.create", rows)
    }

    fn start(&self, _unit: &Unit) -> Box<dyn Protocol> {
        Box::new(CreateUnit::new(self.clone()))
    }
}

fn keys(mut keys: Keys<'_>, all: &mut CreateSettings) -> Option<()> {
    keys.scaled("wheel_base_mm", &limit(10.0, 10_000.0, "mm"), 1e-3, &mut all.wheel_base_m);
    keys.time_ns("stream_period_ms", &limit(5.0, 10_000.0, "ms"), 1e6, &mut all.stream_period_ns);
    keys.time_ns("sleep_after_s", &limit(0.0, 1e6, "s"), 1e9, &mut all.sleep_after_ns);
    keys.number("distance_scale", &limit(-100.0, 100.0, ""), &mut all.distance_scale);
    keys.number("angle_scale", &limit(-100.0, 100.0, ""), &mut all.angle_scale);
    keys.with_default("boot_text", all.boot_text.clone(), &mut all.boot_text, |field| {
        let text = field.text("what it prints after a reset")?;
        if text.value.is_ascii() && text.value.len() <= 1024 {
            return Some(text.value);
        }
        let label = "allowed: at most 1024 ASCII characters";
        field.fault(text.place.fault("`boot_text` cannot be sent", label));
        None
    });
    keys.finish()
}
