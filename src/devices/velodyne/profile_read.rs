//! Reads the profile of a Velodyne with fixed optics, and what a rig sets on one.

use crate::config::profile::Profile;
use crate::config::profile::lidar_read as lidar;
use crate::config::profile::network::network;
use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::devices::spinning::clock_settings;
use crate::devices::spinning::motor_settings as motor;
use crate::devices::spinning::profile_read as spinning;
use crate::devices::velodyne::position_settings;
use crate::devices::velodyne::profile::{
    VelodyneLaser, VelodynePacket, VelodyneProfile, VelodyneSettings,
};
use crate::devices::velodyne::web_settings as web;

const ONE_BYTE: &str = "the wire format: one byte";
/// Lasers a model can have: whole blocks of 32 points hold one or more sequences, or the other way
/// round.
const LASERS: [usize; 3] = [16, 32, 128];

/// Reads what a profile says besides its name and sources.
pub(crate) fn profile(mut root: TableReader<'_>) -> Option<VelodyneProfile> {
    let network = root.required("network").table("[network]").and_then(network);
    let rotation =
        root.required("rotation").table("[rotation]").and_then(|t| spinning::rotation(t, true));
    let motor = root.required("motor").table("[motor]").and_then(motor::profile);
    let web = root.required("web").table("[web]").and_then(web::profile);
    let thermal = root.required("thermal").table("[thermal]").and_then(web::thermal);
    let return_modes = root
        .required("returns")
        .table("[returns]")
        .and_then(|table| spinning::return_modes(table, |_| None));
    let packet = root.required("packet").table("[packet]").and_then(packet);
    let position =
        root.required("position").table("[position]").and_then(position_settings::profile);
    let clock = root.required("clock").table("[clock]").and_then(clock_settings::profile);
    let beam = root.required("beam").table("[beam]");
    let beam = beam.and_then(|table| lidar::beam(table, None, &reach()));
    let noise = root.required("noise").table("[noise]").and_then(|t| lidar::noise(t, None));
    let lasers = root.required("lasers").table("[lasers]").and_then(lasers);
    root.finish();
    let (rotation, packet, return_modes) = (rotation?, packet?, return_modes?);
    let (sequence_ns, lasers) = lasers?;
    Some(VelodyneProfile {
        network: network?,
        min_rotation_rate_rpm: rotation.min_rpm,
        max_rotation_rate_rpm: rotation.max_rpm,
        rotation_rate_step_rpm: rotation.step_rpm,
        position: position?,
        packet: packet.packet,
        sequence_ns,
        lasers,
        web: web?,
        thermal: thermal?,
        defaults: VelodyneSettings {
            rotation_rate_rpm: rotation.default_rpm,
            return_mode: *return_modes.first()?,
            start_azimuth_rad: rotation.start_azimuth_rad,
            field_of_view_deg: [0, 359],
            azimuth_jitter_centideg: packet.azimuth_jitter_centideg,
            lag_ns: packet.lag_ns,
            motor: motor?,
            clock: clock?,
            beam: beam?,
            noise: noise?,
        },
        return_modes,
    })
}

/// Reads a rig's `settings`; what it leaves out is the profile's.
pub(crate) fn settings(
    mut table: TableReader<'_>,
    profile: &Profile,
    driver: &VelodyneProfile,
) -> Option<VelodyneSettings> {
    let mut all = driver.defaults.clone();
    let rates = [driver.min_rotation_rate_rpm, driver.max_rotation_rate_rpm];
    let step_rpm = driver.rotation_rate_step_rpm;
    spinning::rotation_rate(&mut table, profile, rates, step_rpm, &mut all.rotation_rate_rpm);
    spinning::return_mode(&mut table, profile, &driver.return_modes, &mut all.return_mode);
    spinning::start_azimuth(&mut table, &mut all.start_azimuth_rad);
    let degrees = Limit::new(0.0..=359.0, "degrees", "the unit's configuration page");
    if let Some(view) = table.optional("field_of_view_deg").numbers::<2>(&degrees) {
        all.field_of_view_deg = view.map(|degree| degree as u16);
    }
    let spread = table.optional("azimuth_jitter_centideg").number(&jitter());
    all.azimuth_jitter_centideg = spread.unwrap_or(all.azimuth_jitter_centideg);
    spinning::lag(&mut table, &mut all.lag_ns);
    motor::settings(&mut table, &mut all.motor);
    clock_settings::settings(&mut table, &mut all.clock);
    spinning::optics(&mut table, &reach(), &mut all.beam, &mut all.noise);
    table.finish();
    Some(all)
}

fn jitter() -> Limit<f64> {
    Limit::new(0.0..=10.0, "hundredths of a degree", PROFILES)
}

fn reach() -> Limit<f64> {
    Limit::new(0.0..=262.14, "m", "the wire format: 16 bits of 4 mm at most")
}

struct Packet {
    packet: VelodynePacket,
    azimuth_jitter_centideg: f64,
    lag_ns: u64,
}

fn packet(mut table: TableReader<'_>) -> Option<Packet> {
    let byte = Limit::new(0..=255, "", ONE_BYTE);
    let product_id = table.required("product_id").integer(&byte);
    let unit = Limit::new(1.0..=10.0, "mm", PROFILES);
    let distance_unit_mm = table.required("distance_unit_mm").number(&unit);
    let diffuse_full_scale = table.required("diffuse_full_scale").integer(&byte);
    let dark_intensity = spinning::dark_intensity(&mut table);
    let offset = Limit::new(0.0..=100.0, "us", PROFILES);
    let timestamp_offset_us = table.required("timestamp_offset_us").number(&offset);
    let azimuth_jitter_centideg = table.required("azimuth_jitter_centideg").number(&jitter());
    let flag = Limit::new(0..=0xffff, "", "the wire format: two bytes");
    let filler_flag = table.required("filler_flag").integer(&flag);
    let lag_ns = spinning::lag_ns(&mut table);
    table.finish();
    let packet = VelodynePacket {
        product_id: product_id?,
        distance_unit_m: distance_unit_mm? / 1000.0,
        diffuse_full_scale: diffuse_full_scale?,
        dark_intensity: dark_intensity?,
        timestamp_offset_ns: (timestamp_offset_us? * 1000.0).round() as u64,
        filler_flag: filler_flag?,
    };
    Some(Packet { packet, azimuth_jitter_centideg: azimuth_jitter_centideg?, lag_ns: lag_ns? })
}

/// The numbers of a laser's row: name, lowest, highest, unit.
const ROW: [(&str, f64, f64, &str); 5] = [
    ("id", 0.0, 127.0, ""),
    ("elevation_deg", -90.0, 90.0, "degrees"),
    ("azimuth_offset_deg", -180.0, 180.0, "degrees"),
    ("vertical_offset_mm", -500.0, 500.0, "mm"),
    ("firing_offset_us", 0.0, 1000.0, "us"),
];

/// The time of a sequence and its lasers.
fn lasers(mut table: TableReader<'_>) -> Option<(u64, Vec<VelodyneLaser>)> {
    let period = Limit::new(1.0..=1000.0, "us", PROFILES);
    let sequence_us = table.required("sequence_us").number(&period);
    let row_text = format!("rows [{}]", ROW.map(|column| column.0).join(", "));
    let expected = format!("an array of 16, 32 or 128 {row_text}");
    let (rows, place) = table.required("rows").array(&expected)?;
    if !LASERS.contains(&rows.len()) {
        let label = format!("this has {}; allowed: {expected}", rows.len());
        table.fault(place.fault("no model has so many lasers", label));
    }
    let lasers: Vec<_> =
        rows.iter().enumerate().map(|(index, row)| laser(row, index, &row_text)).collect();
    table.finish();
    let lasers: Option<Vec<_>> = lasers.into_iter().collect();
    let lasers = lasers.filter(|lasers| LASERS.contains(&lasers.len()))?;
    let sequence_ns = (sequence_us? * 1000.0).round() as u64;
    Some((sequence_ns, lasers))
}

fn laser(row: &Field<'_>, index: usize, expected: &str) -> Option<VelodyneLaser> {
    let (items, place) = row.array(expected)?;
    if items.len() != ROW.len() {
        let label = format!("this has {}; allowed: {expected}", items.len());
        row.fault(place.fault(format!("laser {index} must have {} numbers", ROW.len()), label));
        return None;
    }
    let numbers: Vec<_> = items
        .into_iter()
        .zip(ROW)
        .map(|(item, (name, low, high, unit))| {
            item.named(name).number(&Limit::new(low..=high, unit, PROFILES))
        })
        .collect();
    let numbers: Option<Vec<f64>> = numbers.into_iter().collect();
    let [id, elevation_deg, azimuth_offset_deg, vertical_offset_mm, firing_offset_us] =
        numbers?.try_into().ok()?;
    if id != index as f64 {
        let label = format!("its id is {id}; allowed: {index} in this row");
        row.fault(place.fault("lasers must stand in the order of their ids", label));
        return None;
    }
    Some(VelodyneLaser {
        elevation_rad: elevation_deg.to_radians(),
        azimuth_offset_rad: azimuth_offset_deg.to_radians(),
        vertical_offset_m: vertical_offset_mm / 1000.0,
        firing_offset_ns: (firing_offset_us * 1000.0).round() as u32,
    })
}
