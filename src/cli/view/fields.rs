//! Keys of the faults that devices support, for the form on the page.

use serde::Serialize;
use serde_json::Value;

use super::super::schema::words;
use crate::config::rig::DeviceConfig;
use crate::config::rig::fault_read::{keys_of, kinds_of};
use crate::config::toml::spec::{KeySpec, Kind};
use crate::devices::families::catalogue;

/// A kind of fault.
#[derive(Debug, Serialize)]
pub struct FaultForm {
    /// Value of the fault's `kind` key.
    kind: &'static str,
    /// Keys of this fault kind, in addition to the keys that every fault has.
    keys: Vec<FaultKey>,
}

/// A key of a fault.
#[derive(Debug, Serialize)]
pub struct FaultKey {
    name: String,
    /// Form element: `number`, `integer`, `boolean`, `words`, `text` or `list`.
    form: &'static str,
    /// Type and unit, as text.
    is: String,
    /// Allowed values as text.
    allowed: String,
    unit: &'static str,
    least: Option<f64>,
    most: Option<f64>,
    words: Vec<String>,
    is_required: bool,
    default: Option<Value>,
    /// Documentation of the key: one sentence about the value that it sets.
    sets: String,
}

/// Faults that `device` supports, with the limits of its firmware.
pub fn fault_forms(device: &DeviceConfig) -> Vec<FaultForm> {
    let kinds = kinds_of(device, catalogue()).into_iter().filter_map(|kind| {
        let spec = keys_of(device, kind, catalogue())?;
        Some(FaultForm { kind, keys: spec.keys.iter().map(fault_key).collect() })
    });
    kinds.collect()
}

fn fault_key(key: &KeySpec) -> FaultKey {
    let (mut unit, mut least, mut most, mut words) = ("", None, None, Vec::new());
    let form = match key.kinds.first() {
        Some(Kind::Number(range)) => {
            (unit, least, most) = (range.unit, Some(range.least), Some(range.most));
            "number"
        }
        Some(Kind::Integer(range)) => {
            unit = range.unit;
            (least, most) = (Some(range.least as f64), Some(range.most as f64));
            "integer"
        }
        Some(Kind::OneOf(numbers)) => {
            words = numbers.iter().map(ToString::to_string).collect();
            "integer"
        }
        Some(Kind::Words(known)) => {
            words.clone_from(known);
            "words"
        }
        Some(Kind::Boolean) => "boolean",
        Some(Kind::Array { .. } | Kind::Table(_)) => "list",
        _ => "text",
    };
    FaultKey {
        name: key.name.clone(),
        form,
        is: words::type_of(key),
        allowed: words::allowed(key),
        unit,
        least,
        most,
        words,
        is_required: key.is_required,
        default: key.default.clone(),
        sets: key.meaning.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::rig::Rig;

    /// Fields of the form have the limits of the readers and of the device's firmware.
    #[test]
    fn forms_have_the_limits_of_the_device() {
        let text = r#"
            world = { scene = "room" }
            robot = { trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.0 } }
            [[device]]
            name = "lidar"
            profile = "velodyne-vlp16-3.0"
            link = { udp = { to = "127.0.0.1:9" } }
        "#;
        let rig = Rig::parse("rig.toml", text, Path::new(""), &[], catalogue()).unwrap();
        let forms = fault_forms(&rig.devices[0]);
        let key = |kind: &str, name: &str| {
            let form = forms.iter().find(|form| form.kind == kind).expect(kind);
            form.keys.iter().find(|key| key.name == name).expect(name)
        };
        let probability = key("packet-loss", "probability");
        assert_eq!((probability.form, probability.is_required), ("number", true));
        assert_eq!((probability.least, probability.most), (Some(0.0), Some(1.0)));
        assert!(!probability.sets.is_empty());
        assert_eq!(
            (key("delay", "delay_ms").unit, key("delay", "jitter_ms").form),
            ("ms", "number")
        );
        assert!(key("laser-dead", "lasers").allowed.contains("0 to 15"));
        assert!(forms.iter().any(|form| form.kind == "link-down" && form.keys.is_empty()));
    }
}
