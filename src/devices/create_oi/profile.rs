//! Settings of a Create in profiles and rigs.

use std::sync::Arc;

use super::CreateUnit;
use crate::config::toml::key_types::{KeyType, Scaled, Time};
use crate::config::toml::keys::{Keys, SharedKeys};
use crate::config::toml::reader::Field;
use crate::drive_base::profile::limit;
use crate::drive_base::{Dialect, Protocol, Unit};

keys! {
    in profile and rig;
    /// Settings of a Create.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct CreateSettings {
        /// Distance between the wheels, which the robot uses for radii and angles.
        pub wheel_base_m as "wheel_base_mm": f64, Scaled(limit(10.0, 10_000.0, "mm"), 1e-3);
        /// Time from one frame of a stream to the next.
        pub stream_period_ns as "stream_period_ms": u64, Time(limit(5.0, 10_000.0, "ms"), 1e6);
        /// The robot falls asleep in passive mode after this time without a command; 0: never.
        pub sleep_after_ns as "sleep_after_s": u64, Time(limit(0.0, 1e6, "s"), 1e9);
        /// Factor of the distance in packet 19. Firmware before 3.3.0 reports wrong distances.
        pub distance_scale: f64, limit(-100.0, 100.0, "");
        /// Factor of the angle in packet 20. Firmware before 3.4.0 reports wrong angles.
        pub angle_scale: f64, limit(-100.0, 100.0, "");
        /// Text that the robot prints after a reset.
        pub boot_text: String, BootText;
    }
}

impl Dialect for CreateSettings {
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect> {
        let mut all = self.clone();
        let field = keys.field("create").meaning("Settings of a Create or Roomba only.");
        keys.table_in(&field, "[create]", &mut all, SharedKeys::read);
        Arc::new(all)
    }

    fn start(&self, _unit: &Unit) -> Box<dyn Protocol> {
        Box::new(CreateUnit::new(self.clone()))
    }
}

/// ASCII text of at most 1024 characters.
struct BootText;

impl KeyType<String> for BootText {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        let text = field.text("the text after a reset")?;
        if text.value.is_ascii() && text.value.len() <= 1024 {
            return Some(text.value);
        }
        let label = "allowed: at most 1024 ASCII characters";
        field.fault(text.place.fault("`boot_text` cannot be sent", label));
        None
    }

    fn written(&self, value: &String) -> serde_json::Value {
        value.as_str().into()
    }
}
