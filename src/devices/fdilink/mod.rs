//! The Wheeltec N100: frames with fixed content, and a text console for their rates.
//!
//! The maker's driver publishes a message at each AHRS frame, with the acceleration of the latest IMU frame. IMU frames
//! are therefore sent first.

mod console;
mod decoder;

use std::sync::Arc;

use self::console::{Console, Rates, Reaction};
use crate::imu::output::{Measured, Stream, f32s, frd, ned, ned_from_frd, roll_pitch_yaw, wxyz};
use crate::imu::unit::{Unit, believed_place};
use crate::imu::{Dialect, ImuFamily, Protocol};
use crate::sensors::imu::Sample;
use crate::sensors::imu::environment::pressure_altitude_m;
use crate::time::SimTime;
use crate::wire::fdilink::{Ahrs, Frame, GeodeticPosition, Imu, InsGps, Packet};

/// Names of the messages in profiles, in the order in which a unit sends them.
pub const MESSAGES: [&str; 4] = ["imu", "ahrs", "ins-gps", "geodetic-position"];

/// Family of Wheeltec's N100 with the protocol FDILink.
pub const FAMILY: ImuFamily = ImuFamily {
    key: "wheeltec-fdilink",
    messages: || MESSAGES.to_vec(),
    dialect: |_| Some(Arc::new(Unasked)),
    commands: &[("FDILink", include_str!("commands.csv"))],
    decoder: decoder::decoder,
};

/// Dialect of the N100. It adds no keys to profiles.
#[derive(Debug)]
struct Unasked;

impl Dialect for Unasked {
    fn start(&self, unit: &Unit) -> Box<dyn Protocol> {
        Box::new(FdiLinkUnit::new(unit))
    }
}

/// An N100 unit.
pub struct FdiLinkUnit {
    /// Stream of each message of [`MESSAGES`]; `None` if the message is disabled.
    streams: [Option<Stream>; 4],
    console: Console,
    silent_until: SimTime,
    sequence: u8,
    sample_rate_hz: f64,
}

impl FdiLinkUnit {
    /// A unit at the start of the run. It sends the messages that its settings enable.
    pub fn new(unit: &Unit) -> Self {
        let rates = MESSAGES.map(|name| {
            let is_sent =
                unit.settings.is_streaming && unit.settings.messages.iter().any(|m| m == name);
            if is_sent { unit.settings.rate_hz } else { 0 }
        });
        Self {
            streams: streams(rates, unit),
            console: Console::new(rates),
            silent_until: SimTime::ZERO,
            sequence: 0,
            sample_rate_hz: f64::from(unit.profile.output.sample_rate_hz),
        }
    }

    fn packet(name: &str, sample: &Sample, measured: &Measured, timestamp_us: i64) -> Packet {
        let attitude = ned_from_frd(sample.attitude);
        let truth = &sample.truth;
        let velocity_m_s = truth.velocity_m_s + sample.velocity_error_m_s;
        match name {
            "imu" => Packet::Imu(Imu {
                gyro_rad_s: f32s(measured.gyro),
                accel_m_s2: f32s(measured.accel),
                mag_mgauss: f32s(measured.mag * 1000.0),
                temperature_c: sample.temperature_c as f32,
                pressure_pa: sample.pressure_pa as f32,
                pressure_temperature_c: sample.temperature_c as f32,
                timestamp_us,
            }),
            "ahrs" => Packet::Ahrs(Ahrs {
                rates_rad_s: f32s(measured.gyro),
                rpy_rad: f32s(roll_pitch_yaw(attitude)),
                quaternion: wxyz(attitude),
                timestamp_us,
            }),
            "ins-gps" => Packet::InsGps(InsGps {
                body_velocity_m_s: f32s(frd(sample.attitude.conjugate() * velocity_m_s)),
                body_accel_m_s2: f32s(measured.accel),
                location_ned_m: f32s(ned(truth.position_m + sample.position_error_m)),
                velocity_ned_m_s: f32s(ned(velocity_m_s)),
                accel_ned_m_s2: f32s(ned(truth.acceleration_m_s2)),
                pressure_altitude_m: pressure_altitude_m(sample.pressure_pa) as f32,
                timestamp_us,
            }),
            _ => {
                let place = believed_place(sample);
                Packet::GeodeticPosition(GeodeticPosition {
                    latitude_rad: place.latitude_deg.to_radians(),
                    longitude_rad: place.longitude_deg.to_radians(),
                    height_m: place.altitude_m,
                    horizontal_accuracy_m: 0.0,
                    vertical_accuracy_m: 0.0,
                })
            }
        }
    }
}

/// For each message of [`console::PARAMETERS`], the stream at the message's rate (Hz); `None` for the rate 0.
fn streams(rates: Rates, unit: &Unit) -> [Option<Stream>; 4] {
    rates.map(|rate_hz| (rate_hz > 0).then(|| Stream::every(unit.divisor(rate_hz))))
}

impl Protocol for FdiLinkUnit {
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit) {
        let decimation = unit.profile.output.decimation;
        let is_heard = !self.console.is_open() && sample.truth.at >= self.silent_until;
        for (name, stream) in MESSAGES.iter().zip(&mut self.streams) {
            let Some(stream) = stream else { continue };
            let Some(measured) = stream.step(sample, unit.dt_s(), decimation) else { continue };
            if !is_heard {
                continue;
            }
            let measured = measured.in_frd();
            let timestamp_us = (unit.clock_ns(sample) / 1000) as i64;
            let mut packet = Self::packet(name, sample, &measured, timestamp_us);
            if let Packet::GeodeticPosition(p) = &mut packet {
                let std_m = unit.settings.model.navigation.position_std_m as f32;
                (p.horizontal_accuracy_m, p.vertical_accuracy_m) = (std_m, std_m);
            }
            let mut bytes = Vec::new();
            Frame { sequence: self.sequence, packet }.emit(&mut bytes);
            self.sequence = self.sequence.wrapping_add(1);
            unit.report(sample, bytes);
        }
    }

    fn on_input(&mut self, now: SimTime, bytes: &[u8], unit: &mut Unit) {
        for byte in bytes {
            if now < self.silent_until {
                return;
            }
            match self.console.take(now, *byte) {
                None => {}
                Some(Reaction::Say(text)) => unit.reply(now, text.into_bytes()),
                Some(Reaction::Restart(rates)) => {
                    self.streams = streams(rates, unit);
                    self.sequence = 0;
                    self.silent_until = SimTime(now.0 + unit.profile.line.serial.boot_ns);
                    unit.restart(self.silent_until);
                }
            }
        }
    }

    fn rate_hz(&self) -> f64 {
        if self.console.is_open() {
            return 0.0;
        }
        let sent = self.streams.iter().flatten();
        sent.map(|stream| self.sample_rate_hz / stream.divisor() as f64).sum()
    }
}

#[cfg(test)]
mod tests;
