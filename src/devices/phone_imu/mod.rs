//! Compass, inclinometer and gyro of a phone, as on the robot Andabata (Universidad de Málaga). The phone sends one
//! [`Sentence`] per output period and answers no commands.

mod decoder;

use std::sync::Arc;

use crate::imu::output::{Stream, ned_from_frd, roll_pitch_yaw};
use crate::imu::{Dialect, ImuFamily, Protocol, Unit};
use crate::sensors::imu::Sample;
use crate::wire::phone::Sentence;

/// Names of the messages that a phone sends.
pub const MESSAGES: [&str; 1] = ["phone"];

/// Product family of phones that send [`Sentence`]s.
pub const FAMILY: ImuFamily = ImuFamily {
    key: "phone-imu",
    messages: || MESSAGES.to_vec(),
    dialect: |_| Some(Arc::new(Unasked)),
    commands: &[],
    decoder: decoder::decoder,
};

/// Protocol properties of phones, which answer no commands: their profiles have no further keys.
#[derive(Debug)]
struct Unasked;

impl Dialect for Unasked {
    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(PhoneUnit::new(unit))
    }
}

/// Protocol of a phone: sends one [`Sentence`] per output period.
pub struct PhoneUnit {
    stream: Stream,
    sequence: u16,
    rate_hz: f64,
    is_streaming: bool,
}

impl PhoneUnit {
    /// A phone whose app is running.
    pub fn new(unit: &Unit) -> Self {
        let divisor = unit.divisor(unit.settings.rate_hz);
        Self {
            stream: Stream::every(divisor),
            sequence: 0,
            rate_hz: f64::from(unit.profile.output.sample_rate_hz) / divisor as f64,
            is_streaming: unit.settings.is_streaming,
        }
    }
}

impl Protocol for PhoneUnit {
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit) {
        let decimation = unit.profile.output.decimation;
        let Some(measured) = self.stream.step(sample, unit.dt_s(), decimation) else { return };
        if !self.is_streaming {
            return;
        }
        let rpy = roll_pitch_yaw(ned_from_frd(sample.attitude)).to_array();
        let [roll, pitch, heading] = rpy.map(|rad| (rad.to_degrees() * 100.0).round() as i32);
        let sentence = Sentence {
            sequence: self.sequence,
            time_ms: unit.clock_ns(sample) / 1_000_000,
            compass_centideg: heading.rem_euclid(36_000) as u16,
            roll_centideg: roll as i16,
            pitch_centideg: pitch as i16,
            gyro_10urad_s: measured.gyro.to_array().map(|x| (x * 1e5).round() as i32),
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = Vec::new();
        sentence.emit(&mut bytes);
        unit.report(sample, bytes);
    }

    fn rate_hz(&self) -> f64 {
        if self.is_streaming { self.rate_hz } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::imu::tests::Bench;

    /// The phone has no commands: any input leaves the stream unchanged.
    #[test]
    fn nothing_is_heard() {
        let said = |bytes: &[u8]| {
            let mut bench = Bench::new("phone-imu", |_, _| {});
            bench.run(50);
            bench.say(bytes);
            bench.run(200);
            bench.bytes()
        };
        let silence = said(b"");
        let requests = [&b"?\r\n"[..], b"$VNRRG,01*XX\r\n", &[0xfa, 0xff, 0, 0, 1], &[0xff; 500]];
        assert!(!silence.is_empty());
        for bytes in requests {
            assert_eq!(said(bytes), silence, "{bytes:02x?}");
        }
    }
}
