//! Decodes Xbus messages.

use glam::DVec3;
use serde_json::{Map, Value, json};

use crate::decoder::StreamDecoder;
use crate::decoder::readings::Inertial;

use crate::imu::readings::some;
use crate::serial::decoder::{FrameDecoder, Shown, Summary, hex};
use crate::wire::xbus::{self, Item, Xbus, Xdi, mid};

pub(super) fn decoder(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, Xbus, Summary::Rates, show)
}

fn show(frame: &xbus::Message) -> Option<Shown> {
    let (kind, fields) = fields(frame);
    Some(Shown::new(kind, fields).with_inertial(inertial(frame)))
}

/// Name of a message, and its fields: items of an MTData2 by their hexadecimal XDI, otherwise the data as a whole.
fn fields(message: &xbus::Message) -> (String, Map<String, Value>) {
    if message.mid != mid::MT_DATA2 {
        let said = [("data".to_owned(), hex(&message.data).into())].into_iter().collect();
        return (format!("message {:#04x}", message.mid), said);
    }
    let mut said = Map::new();
    match Item::parse_all(&message.data) {
        Ok(items) => {
            for item in items {
                // Counters, times and states are integers.
                let is_real = !matches!(item.xdi.0 & 0xf800, 0x1000 | 0x3000 | 0xe000);
                let value = item.reals().filter(|_| is_real).map_or_else(
                    || {
                        let whole = item.data.iter().fold(0u128, |x, b| x << 8 | u128::from(*b));
                        u64::try_from(whole).map_or_else(|_| hex(&item.data).into(), Value::from)
                    },
                    |reals| json!(reals),
                );
                said.insert(format!("{:04x}", item.xdi.0), value);
            }
        }
        Err(error) => {
            said.insert("error".into(), error.to_string().into());
        }
    }
    ("MTData2".into(), said)
}

fn inertial(message: &xbus::Message) -> Option<Inertial> {
    if message.mid != mid::MT_DATA2 {
        return None;
    }
    let items = Item::parse_all(&message.data).ok()?;
    let reals = |what: Xdi| items.iter().find(|item| item.xdi.what() == what)?.reals();
    let three = |what| match reals(what)?[..] {
        [x, y, z] => Some(DVec3::new(x, y, z)),
        _ => None,
    };
    let ticks = items.iter().find(|item| item.xdi.what() == Xdi::SAMPLE_TIME_FINE);
    let stamp = ticks.and_then(|item| item.data.first_chunk()).map(|b| u32::from_be_bytes(*b));
    some(Inertial {
        // Ticks of 0.1 ms.
        stamp_s: stamp.map(|ticks| f64::from(ticks) * 1e-4),
        gyro_rad_s: three(Xdi::RATE_OF_TURN),
        accel_m_s2: three(Xdi::ACCELERATION),
        ..Inertial::default()
    })
}
