//! Position packets of two streams, held against each other.

use std::fmt::Write as _;

use super::figures::{Headers, Spread};
use crate::wire::ethernet::Datagram;
use crate::wire::velodyne::HOUR_US;
use crate::wire::velodyne::position::{ImuWords, PositionPacket};

/// Position packets, seen as a whole.
#[derive(Clone, Debug, Default)]
pub struct PositionFigures {
    /// How many.
    pub packets: u64,
    /// Between times of arrival, microseconds.
    pub arrival_spacing_us: Spread,
    /// Between device timestamps, microseconds.
    pub device_spacing_us: Spread,
    /// From timestamp to arrival, microseconds of an hour; the two clocks' difference is in it.
    pub delay_us: Spread,
    /// Of the first packet.
    pub headers: Option<Headers>,
    /// Steps of the identification that are not 1.
    pub odd_identifications: u64,
    /// The last packet.
    pub last: Option<PositionPacket>,
    before: Option<(i128, Option<u16>)>,
}

/// From a timestamp to an arrival, microseconds past the hour.
pub fn delay_us(unix_ns: i128, timestamp_us: u32) -> f64 {
    let arrived_us = unix_ns.rem_euclid(i128::from(HOUR_US) * 1000) as f64 / 1000.0;
    (arrived_us - f64::from(timestamp_us)).rem_euclid(f64::from(HOUR_US))
}

impl PositionFigures {
    /// Takes a packet.
    pub fn see(&mut self, unix_ns: i128, datagram: &Datagram<'_>, packet: PositionPacket) {
        self.packets += 1;
        let identification = datagram.ipv4.map(|fields| fields.identification);
        self.headers.get_or_insert_with(|| Headers::of(datagram));
        self.delay_us.see(delay_us(unix_ns, packet.timestamp_us));
        if let (Some((then_ns, then_id)), Some(last)) = (self.before, &self.last) {
            let passed_us = i64::from(packet.timestamp_us) - i64::from(last.timestamp_us);
            self.device_spacing_us.see(passed_us.rem_euclid(i64::from(HOUR_US)) as f64);
            self.arrival_spacing_us.see((unix_ns - then_ns) as f64 / 1000.0);
            let next = then_id.map(|id| id.wrapping_add(1));
            self.odd_identifications += u64::from(next != identification);
        }
        self.before = Some((unix_ns, identification));
        self.last = Some(packet);
    }
}

/// What is told apart field by field: name, what the stream has.
fn fields(figures: &PositionFigures) -> Vec<(&'static str, String)> {
    let (Some(packet), Some(headers)) = (&figures.last, &figures.headers) else {
        return Vec::new();
    };
    let used = |bytes: &[u8]| match bytes.iter().filter(|byte| **byte != 0).count() {
        0 => "zero".to_string(),
        count => format!("{count} bytes used"),
    };
    let nmea = packet.nmea();
    let address = nmea.and_then(|text| text.split(',').next()).unwrap_or("none");
    let padding = packet.nmea_area.iter().rev().take_while(|byte| **byte == 0).count();
    let has_units = packet.imu.iter().any(|unit| *unit != ImuWords::default());
    let ports = [&headers.source, &headers.destination]
        .map(|address| address.rsplit(':').next().unwrap_or_default().to_string());
    vec![
        ("ports", ports.join(" to ")),
        ("TTL", headers.ttl.to_string()),
        ("don't fragment", format!("{:?}", headers.dont_fragment.unwrap_or_default())),
        (
            "identification",
            match figures.odd_identifications {
                0 => "counts up".to_string(),
                odd => format!("{odd} odd steps"),
            },
        ),
        ("UDP checksum", if headers.has_checksum { "computed" } else { "zero" }.to_string()),
        ("first bytes", used(&packet.lead)),
        ("inertial units", if has_units { "told" } else { "zero" }.to_string()),
        ("telemetry", used(&packet.telemetry)),
        ("PPS", packet.pps_status().map_or("unknown", |status| status.name()).to_string()),
        ("sentence", address.to_string()),
        ("zeros after it", if padding > 0 { "yes" } else { "no" }.to_string()),
    ]
}

/// The fields of both, one a line; empty when one of them has no position packets.
pub fn table(real: &PositionFigures, ours: &PositionFigures) -> String {
    let mut text = String::new();
    for ((name, real), (_, ours)) in fields(real).into_iter().zip(fields(ours)) {
        let verdict = if real == ours { "same" } else { "differs" };
        let name = format!("position: {name}");
        let _ = writeln!(text, "{name:26} {real:>17} {ours:>17}  {verdict}");
    }
    text
}
