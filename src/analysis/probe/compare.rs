//! Compares received packets with the sender's certificate.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::stream::StreamFigures;
use crate::timing::ErrorFigures;

/// Comparison of one device's departures and arrivals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of the device in the certificate.
    pub device: String,
    /// Local address at which the device's packets arrived; `None` if none arrived.
    pub at: Option<String>,
    /// Address of the sender; `None` if no packet arrived.
    pub from: Option<String>,
    /// Number of packets sent to the port of the device's link, by the certificate; packets to other ports are not
    /// included.
    pub sent: u64,
    /// Number of received packets, including duplicates.
    pub received: u64,
    /// Number of packets that did not arrive; negative if more arrived than were sent.
    pub missing: i64,
    /// Departure errors, microseconds. Usually, the smallest error is subtracted from each. If any packet left early,
    /// these are the absolute values of the errors.
    pub departed: Spread,
    /// Arrival errors, microseconds: delays relative to a straight line through the smallest delays.
    pub arrived: Spread,
    /// State of the sender's clock, from the certificate.
    pub sender_clock: String,
}

/// Distribution of times, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of values.
    #[serde(default)]
    pub count: u64,
    /// Median, microseconds.
    pub p50_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
    /// 99.9th percentile, microseconds.
    pub p99_9_us: f64,
    /// Largest value, microseconds.
    pub max_us: f64,
}

impl Spread {
    /// Statistics of the errors in `figures`, each minus the smallest error, so that a constant delay has no effect; if
    /// any error is negative, of their absolute values.
    fn over_least(figures: &ErrorFigures) -> Self {
        let least_us = figures.timeline.iter().map(|w| w.least_us).fold(f64::MAX, f64::min);
        // Percentiles are of absolute errors. If some errors are negative, the smallest error cannot be subtracted from
        // them.
        let least_us = if figures.count == 0 || figures.early > 0 { 0.0 } else { least_us };
        let over = |us: f64| (us - least_us).max(0.0);
        Self {
            count: figures.count,
            p50_us: over(figures.p50_us),
            p99_us: over(figures.p99_us),
            p99_9_us: over(figures.p99_9_us),
            max_us: over(figures.max_us),
        }
    }
}

/// Departures of a device's packets to the address of one link, as a certificate reports them.
#[derive(Clone, Copy, Debug)]
pub struct Departures<'a> {
    /// The device's name.
    pub device: &'a str,
    /// Text of the link in certificates: `udp ADDRESS:PORT` for datagrams.
    pub link: &'a str,
    /// Number of packets sent to the link's address.
    pub packets: u64,
    /// Timing errors of the departures.
    pub errors: &'a ErrorFigures,
}

/// Pairs every device that sends datagrams with the received stream at the same destination port. If several senders
/// use a port, the one with the most packets counts.
pub fn compare<'a>(
    departures: impl Iterator<Item = Departures<'a>>,
    sender_clock: &str,
    streams: &[StreamFigures],
) -> Vec<Comparison> {
    departures
        .filter_map(|device| Some((device, address(device.link.strip_prefix("udp ")?)?.port())))
        .map(|(device, port)| {
            let stream = streams
                .iter()
                .filter(|stream| address(&stream.at).is_some_and(|at| at.port() == port))
                .max_by_key(|stream| stream.packets);
            let received = stream.map_or(0, |stream| stream.packets);
            let jitter = stream.map(|stream| Spread::over_least(&stream.jitter));
            Comparison {
                device: device.device.to_owned(),
                at: stream.map(|stream| stream.at.clone()),
                from: stream.map(|stream| stream.from.clone()),
                sent: device.packets,
                received,
                missing: device.packets as i64 - received as i64,
                departed: Spread::over_least(device.errors),
                arrived: jitter.unwrap_or_default(),
                sender_clock: sender_clock.to_owned(),
            }
        })
        .collect()
}

fn address(text: &str) -> Option<SocketAddr> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SimTime;
    use crate::timing::ErrorRecord;

    #[test]
    fn a_constant_delay_is_no_spread() {
        let mut record = ErrorRecord::default();
        for n in 0..1000_u64 {
            let late_us = if n == 500 { 900 } else { 100 + n as i64 % 10 };
            record.record(n, SimTime(n * 1_000_000), late_us * 1000);
        }
        let spread = Spread::over_least(&record.figures());
        assert!((spread.p50_us - 4.0).abs() < 1.1, "{spread:?}");
        assert_eq!(spread.max_us, 800.0);
        assert_eq!(Spread::over_least(&ErrorFigures::default()), Spread::default());
    }
}
