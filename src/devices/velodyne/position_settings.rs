//! Keys of a profile about the position packets of a Velodyne.

use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Field, Limit, TableReader};

words!(Axis: "forward" => Forward, "back" => Back, "left" => Left, "right" => Right, "up" => Up,
    "down" => Down);

/// A direction of the unit's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Direction of azimuth 0.
    Forward,
    /// Opposite to azimuth 0.
    Back,
    /// The sector to the left of azimuth 0.
    Left,
    /// The sector to the right of azimuth 0.
    Right,
    /// Along the rotor's axis.
    Up,
    /// Along the rotation axis, downward.
    Down,
}

/// Position packets: times and content.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionProfile {
    /// Source and destination port.
    pub port: u16,
    /// IP time to live.
    pub ttl: u8,
    /// IP don't-fragment flag.
    pub dont_fragment: bool,
    /// Whether the UDP checksum is computed; zero otherwise.
    pub udp_checksum: bool,
    /// Periods of the timers that request a packet, nanoseconds. One packet answers all requests before it is
    /// made.
    pub timers_ns: Vec<u64>,
    /// Largest time from a request to the making of the packet, nanoseconds.
    pub jitter_ns: u64,
    /// Delay between the measurement and the packet, nanoseconds.
    pub lag_ns: u64,
    /// Room for the sentence, bytes.
    pub nmea_bytes: usize,
    /// Whether packets have the boards' temperatures and the calibration of the converters.
    pub tells_temperatures: bool,
    /// The inertial units of an HDL-32E.
    pub imu: Option<PositionImu>,
}

/// Three gyros with two accelerometers each.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionImu {
    /// Samples a second.
    pub sample_rate_hz: u32,
    /// Standard deviation of an angular rate, degrees/s.
    pub gyro_std_deg_s: f64,
    /// Standard deviation of an acceleration, g.
    pub accel_std_g: f64,
    /// Axes of each unit: the gyro's axis, and the directions of the first and the second
    /// accelerometer.
    pub axes: [[Axis; 3]; 3],
    /// Temperatures of the chips, degrees C.
    pub temperatures_c: [f64; 3],
}

/// Reads `[position]`.
pub(crate) fn profile(mut table: TableReader<'_>) -> Option<PositionProfile> {
    let port = table.required("port").integer(&Limit::new(1..=65535, "", "UDP"));
    let ttl = table.required("ttl").integer(&Limit::new(1..=255, "", "IPv4"));
    let dont_fragment = table.required("dont_fragment").boolean();
    let udp_checksum = table.required("udp_checksum").boolean();
    let timers_ns = timers(&table.required("timers_ms"));
    let us = Limit::new(0.0..=100_000.0, "us", PROFILES);
    let jitter_us = table.required("jitter_us").number(&us);
    let lag_us = table.required("lag_us").number(&us);
    let room = Limit::new(82..=306, "bytes", "the wire format, and NMEA 0183's longest sentence");
    let nmea_bytes = table.required("nmea_bytes").integer(&room);
    let tells_temperatures = table.required("tells_temperatures").boolean();
    let imu_field = table.optional("imu");
    let has_imu = imu_field.is_written();
    let imu = imu_field.table("[position.imu]").and_then(imu);
    table.finish();
    let ns = |us: f64| (us * 1000.0).round() as u64;
    Some(PositionProfile {
        port: port?,
        ttl: ttl?,
        dont_fragment: dont_fragment?,
        udp_checksum: udp_checksum?,
        timers_ns: timers_ns?,
        jitter_ns: ns(jitter_us?),
        lag_ns: ns(lag_us?),
        nmea_bytes: nmea_bytes?,
        tells_temperatures: tells_temperatures?,
        imu: if has_imu { Some(imu?) } else { None },
    })
}

fn timers(field: &Field<'_>) -> Option<Vec<u64>> {
    let (items, _) = field.array("an array of periods in ms")?;
    let period = Limit::new(0.5..=10_000.0, "ms", PROFILES);
    let ms: Vec<_> = items.iter().map(|item| item.number(&period)).collect();
    ms.into_iter().map(|ms| ms.map(|ms| (ms * 1e6).round() as u64)).collect()
}

fn imu(mut table: TableReader<'_>) -> Option<PositionImu> {
    let rate = Limit::new(10..=10_000, "Hz", PROFILES);
    let sample_rate_hz = table.required("sample_rate_hz").integer(&rate);
    let spread = Limit::new(0.0..=100.0, "degrees/s", PROFILES);
    let gyro_std_deg_s = table.required("gyro_std_deg_s").number(&spread);
    let accel_std_g = table.required("accel_std_g").number(&Limit::new(0.0..=1.0, "g", PROFILES));
    let axes = axes(&table.required("axes"));
    let celsius = Limit::new(-40.0..=125.0, "degrees C", PROFILES);
    let temperatures_c = table.required("temperatures_c").numbers::<3>(&celsius);
    table.finish();
    Some(PositionImu {
        sample_rate_hz: sample_rate_hz?,
        gyro_std_deg_s: gyro_std_deg_s?,
        accel_std_g: accel_std_g?,
        axes: axes?,
        temperatures_c: temperatures_c?,
    })
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
        field.fault(place.fault("these are not three units", format!("allowed: {expected}")));
    }
    found
}
