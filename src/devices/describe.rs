//! What `menura profiles NAME` shows of a product: what families share in describing theirs.

use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::NetworkIdentity;

/// A heading and what stands below it.
pub type Section = (&'static str, Rows);
/// Keys with their values.
pub type Rows = Vec<(&'static str, String)>;

pub(super) fn network_rows(network: &NetworkIdentity) -> Rows {
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

pub(super) fn beam_rows(beam: &BeamSettings) -> Rows {
    let mrad = |rad: f64| shortest(rad * 1000.0);
    vec![
        ("shape", format!("{}, allowed ray, circular, elliptical, rectangular", beam.shape.word())),
        (
            "divergence_mrad",
            format!(
                "[{}, {}]",
                mrad(beam.divergence_horizontal_rad),
                mrad(beam.divergence_vertical_rad)
            ),
        ),
        ("signal_cutoff_m", shortest(beam.signal_cutoff_m)),
        ("min_range_m", shortest(beam.min_range_m)),
        ("max_range_m", shortest(beam.max_range_m)),
        ("detection_threshold", shortest(beam.detection_threshold)),
    ]
}

pub(super) fn noise_rows(noise: &NoiseSettings) -> Rows {
    vec![
        ("range_std_m", shortest(noise.range_std_m)),
        ("azimuth_std_deg", shortest(noise.azimuth_std_rad.to_degrees())),
        ("elevation_std_deg", shortest(noise.elevation_std_rad.to_degrees())),
        ("intensity_std", shortest(noise.intensity_std)),
    ]
}

/// A number whose unit was converted, without the digits that brought about.
pub(super) fn shortest(x: f64) -> String {
    ((x * 1e9).round() / 1e9).to_string()
}
