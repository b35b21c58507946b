//! `menura profiles`: lists the firmware profiles, or shows one with its sources.

mod gnss;
mod imu;
pub(super) mod sick_lms1xx;
pub(super) mod sick_lms2xx;
pub(super) mod velodyne;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::CliError;
use crate::config::hdl64e::{Hdl64eGeneration, Hdl64eProfile, PacketTiming};
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::profile::network::NetworkIdentity;
use crate::config::profile::{DriverProfile, Profile};

/// Arguments of `menura profiles`.
#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// The profile to show: a name from the list, or the path of a .toml file
    name: Option<String>,

    /// Write the profile's calibration: .xml as Velodyne delivers it, which PCL, MRPT and VeloView
    /// read, else YAML for the ROS velodyne driver; - is standard output
    #[arg(long, value_name = "FILE", requires = "name")]
    calibration: Option<PathBuf>,
}

impl Cmd {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Some(name) = self.name else {
            return print(&list());
        };
        let profile = Profile::find(&name)?;
        match self.calibration {
            Some(path) => write_calibration(&profile, &path),
            None => print(&show(&profile)),
        }
    }
}

fn print(text: &str) -> Result<(), CliError> {
    match std::io::stdout().write_all(text.as_bytes()) {
        // The reader has seen enough, as `head` does.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(|error| CliError::failed("cannot print", &error)),
    }
}

fn write_calibration(profile: &Profile, path: &Path) -> Result<(), CliError> {
    let DriverProfile::VelodyneHdl64e(driver) = &profile.driver else {
        return Err(CliError::Input(format!("error: {} has no calibration", profile.name)));
    };
    let table = &driver.defaults.calibration;
    let text = if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml")) {
        table.to_xml()
    } else {
        table.to_yaml().map_err(|error| CliError::failed("cannot write the calibration", &error))?
    };
    if path == Path::new("-") {
        return print(&text);
    }
    std::fs::write(path, text)
        .map_err(|error| CliError::failed(format!("cannot write {}", path.display()), &error))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

fn list() -> String {
    let profiles = Profile::embedded();
    let width = profiles.iter().map(|profile| profile.name.len()).max().unwrap_or(0);
    profiles.iter().map(|p| format!("{:width$}  {}\n", p.name, p.summary)).collect()
}

fn show(profile: &Profile) -> String {
    let mut text = format!("{}\n{}\n\n", profile.name, profile.summary);
    let sections = match &profile.driver {
        DriverProfile::VelodyneHdl64e(driver) => hdl64e_sections(driver),
        DriverProfile::SickLms2xx(driver) => sick_lms2xx::sections(driver),
        DriverProfile::Velodyne(driver) => velodyne::sections(driver),
        DriverProfile::Imu(driver) => imu::sections(driver),
        DriverProfile::Gnss(driver) => gnss::sections(driver),
        DriverProfile::SickLms1xx(driver) => sick_lms1xx::sections(driver),
    };
    for (heading, rows) in sections {
        section(&mut text, heading, &rows);
    }
    bullets(&mut text, "sources", &profile.sources);
    bullets(&mut text, "unsure", &profile.unsure);
    text
}

type Rows = Vec<(&'static str, String)>;

fn hdl64e_sections(driver: &Hdl64eProfile) -> Vec<(&'static str, Rows)> {
    vec![
        ("device", device_rows(driver)),
        ("network, as recorded", network_rows(&driver.network)),
        ("settings of a rig, with their defaults", settings_rows(driver)),
        ("settings.beam", beam_rows(&driver.defaults.beam)),
        ("settings.noise", noise_rows(&driver.defaults.noise)),
    ]
}

fn section(text: &mut String, heading: &str, rows: &Rows) {
    let width = rows.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{heading}");
    for (key, value) in rows {
        let _ = writeln!(text, "  {key:width$}  {value}");
    }
    text.push('\n');
}

fn bullets(text: &mut String, heading: &str, lines: &[String]) {
    let _ = writeln!(text, "{heading}");
    for line in lines {
        let _ = writeln!(text, "  - {line}");
    }
    if lines.is_empty() {
        let _ = writeln!(text, "  (none)");
    }
    text.push('\n');
}

fn device_rows(driver: &Hdl64eProfile) -> Rows {
    let order = match driver.generation {
        Hdl64eGeneration::S1 => "S1: three upper blocks, then one lower",
        Hdl64eGeneration::S2 => "S2: upper and lower alternate, calibration in the status bytes",
        Hdl64eGeneration::S3 => "S3: as S2, with CRC and dual return",
    };
    let two_point = driver.defaults.calibration.two_point_correction;
    let mut rows = vec![
        ("driver", "velodyne-hdl64e".to_string()),
        ("generation", order.to_string()),
        (
            "rotation",
            format!("{} to {} rpm", driver.min_rotation_rate_rpm, driver.max_rotation_rate_rpm),
        ),
        ("rate", rate(&driver.timing, 384)),
    ];
    if let Some(dual) = &driver.dual_timing {
        rows.push(("rate, dual return", rate(dual, 384)));
    }
    let corrections = if two_point { "with two-point correction" } else { "one-point correction" };
    rows.push((
        "calibration",
        format!("64 lasers, {corrections}; --calibration FILE.yaml or FILE.xml writes it"),
    ));
    rows
}

fn rate(timing: &PacketTiming, points: u32) -> String {
    let packets = timing.packets_per_second;
    format!("{packets:.2} packets/s, {:.0} points/s", packets * f64::from(points))
}

fn network_rows(network: &NetworkIdentity) -> Rows {
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

fn settings_rows(driver: &Hdl64eProfile) -> Rows {
    let d = &driver.defaults;
    let modes: Vec<_> = driver.return_modes.iter().map(|mode| mode.word()).collect();
    let mut rows = vec![
        (
            "rotation_rate_rpm",
            format!(
                "{}, allowed {} to {}",
                d.rotation_rate_rpm, driver.min_rotation_rate_rpm, driver.max_rotation_rate_rpm
            ),
        ),
        ("return_mode", format!("{}, allowed {}", d.return_mode.word(), modes.join(", "))),
        ("start_azimuth_deg", shortest(d.start_azimuth_rad.to_degrees())),
        (
            "calibration_reading",
            format!("{}, allowed velodyne-decoder, ros", d.calibration_reading.word()),
        ),
        (
            "timestamp_marks",
            format!("{}, allowed first-firing, packet-end", d.timestamp_marks.word()),
        ),
    ];
    if driver.generation == Hdl64eGeneration::S1 {
        rows.push(("start_phase", format!("{}, allowed 0 to 3", d.s1_start_phase)));
        rows.push(("grouping", format!("{}, allowed block, datagram", d.s1_grouping.word())));
    }
    rows.push(("lag_ms", shortest(d.lag_ns as f64 / 1e6)));
    rows.push(("calibration", "the profile's; a rig may name a YAML file".to_string()));
    rows
}

fn beam_rows(beam: &BeamSettings) -> Rows {
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

fn noise_rows(noise: &NoiseSettings) -> Rows {
    vec![
        ("range_std_m", shortest(noise.range_std_m)),
        ("azimuth_std_deg", shortest(noise.azimuth_std_rad.to_degrees())),
        ("elevation_std_deg", shortest(noise.elevation_std_rad.to_degrees())),
        ("intensity_std", shortest(noise.intensity_std)),
    ]
}

/// A number whose unit was converted, without the digits that brought about.
fn shortest(x: f64) -> String {
    ((x * 1e9).round() / 1e9).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_profile_names_everything_a_user_needs() {
        for profile in Profile::embedded() {
            let text = show(profile);
            let words: &[&str] = match profile.driver {
                DriverProfile::VelodyneHdl64e(_) => {
                    &["rpm", "packets/s", "192.168.3.43:443", "return_mode"]
                }
                DriverProfile::SickLms2xx(_) => &["75 revolutions/s", "rate_baud", "12.9"],
                DriverProfile::Velodyne(_) => {
                    &["rpm", "packets/s", "192.168.1.201:2368", "return_mode", "lasers"]
                }
                DriverProfile::Imu(_) => &["baud", "Hz", "rate_hz", "noise_density", "messages"],
                DriverProfile::Gnss(_) => {
                    &["rate_hz", "baud", "hdop_final", "uere", "ch-rw+airsim"]
                }
                DriverProfile::SickLms1xx(_) => {
                    &["50 Hz at 0.5 deg", "TCP", "2112", "power_on_stream", "output_range_deg"]
                }
            };
            for word in words.iter().chain(&["sources", "unsure"]) {
                assert!(text.contains(word), "{}: no {word} in\n{text}", profile.name);
            }
            assert!(profile.unsure.iter().chain(&profile.sources).all(|line| text.contains(line)));
        }
    }
}
