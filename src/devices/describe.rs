//! Description of a product for `menura profiles NAME`, in addition to its settings.

use crate::config::profile::lidar::BeamSettings;
use crate::wire::ethernet::FrameHeader;

/// A section: heading and rows.
pub type Section = (&'static str, Rows);
/// Rows of a section: label and text.
pub type Rows = Vec<(&'static str, String)>;

/// Sections that describe a lidar that sends datagrams.
pub(super) fn lidar_sections(
    mut device: Rows,
    network: &FrameHeader,
    beam: &BeamSettings,
) -> Vec<Section> {
    device.push(detection_row(beam));
    vec![("device", device), ("network, as recorded", network_rows(network))]
}

/// Row with the ranges at which a lidar detects dark and bright surfaces in clear air.
pub(super) fn detection_row(beam: &BeamSettings) -> (&'static str, String) {
    let [dark_m, bright_m] = [0.1, 0.8].map(|reflectance| beam.reach_m(reflectance));
    ("detects", format!("reflectance 10 % up to {dark_m:.0} m, 80 % up to {bright_m:.0} m"))
}

/// Text with the number of lasers and the span of their elevations.
pub(super) fn lasers(elevations_deg: impl ExactSizeIterator<Item = f64>) -> String {
    let count = elevations_deg.len();
    let (low, high) =
        elevations_deg.fold((f64::MAX, f64::MIN), |(low, high), deg| (low.min(deg), high.max(deg)));
    format!("{count}, {} to {} degrees", shortest(low), shortest(high))
}

pub(super) fn network_rows(network: &FrameHeader) -> Rows {
    let mac = |bytes: &[u8; 6]| bytes.map(|b| format!("{b:02x}")).join(":");
    let end =
        |ip: &std::net::Ipv4Addr, port: u16, bytes| format!("{ip}:{port}, MAC {}", mac(bytes));
    vec![
        ("from", end(&network.source_ip, network.source_port, &network.source_mac)),
        ("to", end(&network.destination_ip, network.destination_port, &network.destination_mac)),
        (
            "IP header",
            format!(
                "TTL {}, identification {}, {}",
                network.ttl,
                network.identification,
                if network.dont_fragment { "DF" } else { "no DF" }
            ),
        ),
        ("UDP checksum", if network.udp_checksum { "computed" } else { "zero" }.to_string()),
    ]
}

/// Shortest text of a converted number, rounded to nine decimals.
pub(super) fn shortest(x: f64) -> String {
    ((x * 1e9).round() / 1e9).to_string()
}
