//! Profile keys of a Velodyne's position packets.

use crate::config::profile::network::port;
use crate::config::profile::read::PROFILES;
use crate::config::toml::key_types::{By, Time, TrueOrFalse};
use crate::config::toml::reader::{Field, Limit};

words!(Axis: "forward" => Forward, "back" => Back, "left" => Left, "right" => Right, "up" => Up,
    "down" => Down);

/// Direction in the frame of the unit's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Direction of azimuth 0.
    Forward,
    /// Opposite to azimuth 0.
    Back,
    /// Left, seen in the direction of azimuth 0.
    Left,
    /// Right, seen in the direction of azimuth 0.
    Right,
    /// Along the rotation axis, upward.
    Up,
    /// Along the rotation axis, downward.
    Down,
}

/// Key type of a time in microseconds, up to 0.1 s.
fn microseconds() -> Time {
    Time(Limit::new(0.0..=100_000.0, "us", PROFILES), 1e3)
}

keys! {
    /// Position packets: timing and content.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PositionProfile {
        /// UDP source and destination port of position packets.
        pub port: u16, port();
        /// The IP time to live.
        pub ttl: u8, Limit::new(1..=255, "", "IPv4");
        /// The IP don't-fragment flag.
        pub dont_fragment: bool, TrueOrFalse;
        /// Whether the UDP checksum is computed; it is zero otherwise.
        pub udp_checksum: bool, TrueOrFalse;
        /// Periods of the timers that request position packets.
        pub timers_ns as "timers_ms": Vec<u64>, By(timers);
        /// Largest random delay of a position packet.
        pub jitter_ns as "jitter_us": u64, microseconds();
        /// Time from a position packet's request until it is sent.
        pub lag_ns as "lag_us": u64, microseconds();
        /// Length of the field for the NMEA sentence.
        pub nmea_bytes: usize,
            Limit::new(82..=306, "bytes", "the wire format, and NMEA 0183's longest sentence");
        /// Whether position packets contain the boards' temperatures.
        pub tells_temperatures: bool, TrueOrFalse;
    }
}

keys! {
    /// IMU of an HDL-32E: three gyros, each with two accelerometers.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PositionImu {
        /// Samples per second.
        pub sample_rate_hz: u32, Limit::new(10..=10_000, "Hz", PROFILES);
        /// Standard deviation of angular rates.
        pub gyro_std_deg_s: f64, Limit::new(0.0..=100.0, "degrees/s", PROFILES);
        /// Standard deviation of accelerations.
        pub accel_std_g: f64, Limit::new(0.0..=1.0, "g", PROFILES);
        /// Directions of the gyro and the two accelerometers of each of three sensors.
        pub axes: [[Axis; 3]; 3], By(axes);
        /// The temperature of each sensor.
        pub temperatures_c: [f64; 3], Limit::new(-40.0..=125.0, "degrees C", PROFILES);
    }
}

fn timers(field: &Field<'_>) -> Option<Vec<u64>> {
    let (items, _) = field.array("an array of periods in ms")?;
    let period = Limit::new(0.5..=10_000.0, "ms", PROFILES);
    let ms: Vec<_> = items.iter().map(|item| item.number(&period)).collect();
    ms.into_iter().map(|ms| ms.map(|ms| (ms * 1e6).round() as u64)).collect()
}

fn axes(field: &Field<'_>) -> Option<[[Axis; 3]; 3]> {
    let expected = "three rows [gyro, first accelerometer, second accelerometer] of directions";
    let (rows, place) = field.array_of(3..=3, expected)?;
    let row = |row: &Field<'_>| -> Option<[Axis; 3]> {
        let (items, _) = row.array_of(3..=3, expected)?;
        let words: Vec<_> =
            items.iter().map(|item| item.choice(&Axis::WORDS, "directions of the base")).collect();
        words.into_iter().collect::<Option<Vec<_>>>()?.try_into().ok()
    };
    let read: Vec<_> = rows.iter().map(row).collect();
    let found: Option<[[Axis; 3]; 3]> =
        read.into_iter().collect::<Option<Vec<_>>>().and_then(|rows| rows.try_into().ok());
    if found.is_none() {
        field.fault(
            place.fault("these are not the axes of three sensors", format!("allowed: {expected}")),
        );
    }
    found
}
