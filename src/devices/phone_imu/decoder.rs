//! Decodes the sentences of a phone.

use glam::DVec3;

use crate::decoder::StreamDecoder;
use crate::decoder::readings::Inertial;
use crate::serial::decoder::{FrameDecoder, Shown, Summary, object};
use crate::wire::phone::{Phone, Sentence};

pub(super) fn decoder(key: &'static str) -> Box<dyn StreamDecoder> {
    FrameDecoder::boxed(key, Phone, Summary::Rates, show)
}

fn show(sentence: &Sentence) -> Option<Shown> {
    Some(Shown::new("phone", object(sentence)).with_inertial(inertial(sentence)))
}

fn inertial(sentence: &Sentence) -> Option<Inertial> {
    let gyro = sentence.gyro_10urad_s.map(|raw| f64::from(raw) * 1e-5);
    Some(Inertial {
        stamp_s: Some(sentence.time_ms as f64 * 1e-3),
        gyro_rad_s: Some(DVec3::from_array(gyro)),
        ..Inertial::default()
    })
}
