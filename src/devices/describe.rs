//! What `menura profiles NAME` shows of a product: what families share in describing theirs.

use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::wire::ethernet::FrameHeader;

/// A heading and what stands below it.
pub type Section = (&'static str, Rows);
/// Keys with their values.
pub type Rows = Vec<(&'static str, String)>;

/// The sections of a lidar that sends datagrams: what is its own, and what all of them have.
pub(super) fn lidar_sections(
    device: Rows,
    network: &FrameHeader,
    settings: Rows,
    beam: &BeamSettings,
    noise: &NoiseSettings,
) -> Vec<Section> {
    vec![
        ("device", device),
        ("network, as recorded", network_rows(network)),
        ("settings of a rig, with their defaults", settings),
        ("settings.beam", beam_rows(beam)),
        ("settings.noise", noise_rows(noise)),
    ]
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
        ("spot", format!("{}, {} rays, allowed mavs, printed, even", beam.spot.word(), beam.rays)),
        ("exit_width_mm", shortest(beam.exit_width_m * 1e3)),
        ("echoes", format!("{}, allowed waveform, window, window-mean, ray", beam.echoes.word())),
        ("signal_cutoff_m", shortest(beam.signal_cutoff_m)),
        ("min_range_m", shortest(beam.min_range_m)),
        ("max_range_m", shortest(beam.max_range_m)),
        (
            "sees",
            format!(
                "reflectance {} at {} m; 10 % to {:.0} m, 80 % to {:.0} m",
                shortest(beam.sees.reflectance),
                shortest(beam.sees.at_m),
                beam.reach_m(0.1),
                beam.reach_m(0.8)
            ),
        ),
        (
            "paper",
            match beam.papers.len() {
                0 => "none".to_owned(),
                _ => {
                    beam.papers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
                }
            },
        ),
    ]
}

pub(super) fn noise_rows(noise: &NoiseSettings) -> Rows {
    vec![
        ("signal_to_noise", shortest(noise.signal_to_noise)),
        ("range_std_m", shortest(noise.range_std_m)),
        ("weak_range_std_m", shortest(noise.weak_range_std_m)),
        ("weak_range_power", shortest(noise.weak_range_power)),
        ("scan_range_std_m", shortest(noise.scan_range_std_m)),
        ("scan_s", shortest(noise.scan_s)),
        ("laser_range_std_m", shortest(noise.laser_range_std_m)),
        ("walk_m", shortest(noise.walk_m)),
        ("saturation", shortest(noise.saturation)),
        ("saturation_shift_m", shortest(noise.saturation_shift_m)),
        ("warm_up_drift_m", shortest(noise.warm_up_drift_m)),
        ("warm_up_s", shortest(noise.warm_up_s)),
        ("azimuth_std_deg", shortest(noise.azimuth_std_rad.to_degrees())),
        ("laser_azimuth_std_deg", shortest(noise.laser_azimuth_std_rad.to_degrees())),
        ("elevation_std_deg", shortest(noise.elevation_std_rad.to_degrees())),
        ("laser_elevation_std_deg", shortest(noise.laser_elevation_std_rad.to_degrees())),
        ("intensity_std", shortest(noise.intensity_std)),
    ]
}

/// A number whose unit was converted, without the digits that brought about.
pub(super) fn shortest(x: f64) -> String {
    ((x * 1e9).round() / 1e9).to_string()
}
