//! Documents of the HTTP interface: metadata, telemetry, alerts, times.

use serde_json::{Value, json};

use super::Ouster;
use super::faults::AlertEvent;
use super::words::TimestampMode;
use crate::decoder::object_of;
use crate::ptp::interval_ns;
use crate::time::SimTime;
use crate::wire::ouster::format::COLUMNS;
use crate::wire::ptp::{ClockIdentity, PortIdentity, flag};

const IDENTITY: [u8; 16] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
/// Current in operation and in standby, mA.
const CURRENT_MA: [u32; 2] = [644, 180];
const VOLTAGE_MV: u32 = 23_624;
const TEMPERATURE_C: u32 = 48;

/// The document at `path`, which is relative to the interface's prefix; `None` for an unknown path.
pub fn of_path(unit: &Ouster, path: &str) -> Option<Value> {
    if let Some(name) = path.strip_prefix("sensor/metadata/") {
        return of_metadata(unit, name);
    }
    Some(match path {
        "sensor/metadata" => metadata(unit),
        "sensor/telemetry" => telemetry(unit),
        "sensor/alerts" => alerts(unit, "").ok()?,
        "system/firmware" => json!({ "fw": unit.profile.identity.image }),
        "system/network" => network(unit),
        "time" => json!({
            "ptp": time_ptp(unit),
            "sensor": time_sensor(unit),
            "system": time_system(unit),
        }),
        "time/ptp" => time_ptp(unit),
        "time/ptp/profile" => json!(unit.clock.ptp_profile().word()),
        "time/sensor" => time_sensor(unit),
        "time/system" => time_system(unit),
        _ => return None,
    })
}

/// The document `name` of the metadata; `None` if the firmware lacks it.
pub fn of_metadata(unit: &Ouster, name: &str) -> Option<Value> {
    Some(match name {
        "sensor_info" => sensor_info(unit),
        "lidar_data_format" => lidar_data_format(unit),
        "beam_intrinsics" => beam_intrinsics(unit),
        "lidar_intrinsics" => {
            let mut transform = IDENTITY.map(f64::from);
            // The lidar's x axis points to the connector, the sensor's x axis away from it.
            (transform[0], transform[5]) = (-1.0, -1.0);
            transform[11] = mm(unit.profile.geometry.lidar_height_m);
            json!({ "lidar_to_sensor_transform": numbers(&transform) })
        }
        "imu_intrinsics" => {
            let mut transform = IDENTITY.map(f64::from);
            for (axis, metres) in unit.profile.geometry.imu_m.into_iter().enumerate() {
                transform[4 * axis + 3] = mm(metres);
            }
            json!({ "imu_to_sensor_transform": numbers(&transform) })
        }
        "calibration_status" if unit.profile.interface.has_calibration_status => json!({
            "reflectivity": { "timestamp": unit.profile.identity.calibrated, "valid": true },
        }),
        "imu_data_format" if unit.profile.interface.has_return_order => {
            json!({ "imu_measurements_per_packet": 0, "imu_packets_per_frame": 0 })
        }
        _ => return None,
    })
}

/// Makes the document `sensor/metadata`.
pub fn metadata(unit: &Ouster) -> Value {
    let mut all = serde_json::Map::new();
    for name in [
        "sensor_info",
        "lidar_data_format",
        "calibration_status",
        "imu_data_format",
        "imu_intrinsics",
        "lidar_intrinsics",
        "beam_intrinsics",
    ] {
        all.extend(of_metadata(unit, name).map(|part| (name.to_owned(), part)));
    }
    all.insert("config_params".into(), Value::Object(unit.control.active.clone()));
    Value::Object(all)
}

fn sensor_info(unit: &Ouster) -> Value {
    let identity = &unit.profile.identity;
    let mut all = object_of(json!({
        "build_date": identity.build_date,
        "build_rev": identity.build,
        "image_rev": identity.image,
        "initialization_id": unit.control.initialization_id,
        "prod_line": identity.product_line,
        "prod_pn": identity.part_number,
        "prod_sn": format!("{:012}", identity.serial),
        "status": unit.status(),
    }));
    if unit.profile.interface.has_tcp_commands {
        all.remove("initialization_id");
        // Firmware with TCP commands also has fields about the unit's base; here they are empty.
        all.extend(["base_pn", "base_sn", "proto_rev"].map(|key| (key.to_owned(), json!(""))));
    }
    Value::Object(all)
}

fn lidar_data_format(unit: &Ouster) -> Value {
    let now = &unit.control.effective;
    let turn = f64::from(now.lidar_mode.columns());
    let shift = |degrees: f64| (degrees * turn / 360.0).round() as i32;
    let mut shifts: Vec<i32> =
        unit.profile.beams.iter().map(|beam| shift(beam.azimuth_deg)).collect();
    // Before firmware 2.4, the smallest shift is 0.
    if unit.profile.interface.has_tcp_commands {
        let least = shifts.iter().copied().min().unwrap_or_default();
        shifts.iter_mut().for_each(|shift| *shift -= least);
    }
    let mut all = object_of(json!({
        "column_window": [now.window.first, now.window.last],
        "columns_per_frame": now.lidar_mode.columns(),
        "columns_per_packet": COLUMNS,
        "pixel_shift_by_row": shifts,
        "pixels_per_column": unit.profile.beams.len(),
    }));
    if !unit.profile.interface.has_tcp_commands {
        all.insert("udp_profile_imu".into(), json!("LEGACY"));
        all.insert("udp_profile_lidar".into(), json!(now.format.name()));
    }
    if unit.profile.interface.has_return_order {
        all.insert("fps".into(), json!(now.lidar_mode.turns_per_s()));
    }
    Value::Object(all)
}

fn beam_intrinsics(unit: &Ouster) -> Value {
    let origin_mm = mm(unit.profile.geometry.beam_origin_m);
    let mut transform = IDENTITY.map(f64::from);
    transform[3] = origin_mm;
    let beams = &unit.profile.beams;
    let altitudes: Vec<_> = beams.iter().map(|beam| beam.altitude_deg).collect();
    let azimuths: Vec<_> = beams.iter().map(|beam| beam.azimuth_deg).collect();
    let mut all = object_of(json!({
        "beam_altitude_angles": altitudes,
        "beam_azimuth_angles": azimuths,
        "lidar_origin_to_beam_origin_mm": origin_mm,
    }));
    if !unit.profile.interface.has_tcp_commands {
        all.insert("beam_to_lidar_transform".into(), numbers(&transform));
    }
    Value::Object(all)
}

fn telemetry(unit: &Ouster) -> Value {
    let now = unit.stream.now;
    let is_running = unit.stream.program.rotor().rpm(now) > 0.0;
    let phase_lock = match (unit.control.effective.phase_turn, unit.is_in_phase()) {
        (None, _) => "DISABLED",
        (Some(_), true) => "LOCKED",
        (Some(_), false) => "LOST",
    };
    json!({
        "input_current_ma": CURRENT_MA[usize::from(!is_running)],
        "input_voltage_mv": VOLTAGE_MV,
        "internal_temperature_deg_c": TEMPERATURE_C,
        "phase_lock_status": phase_lock,
        "timestamp_ns": unit.clock.stamp_ns(unit.control.effective.timestamp_mode, now),
    })
}

/// Makes the document `sensor/alerts`. Its log starts with the event number `cursor`, or with the oldest for an empty
/// text.
///
/// # Errors
/// Returns the reason why `cursor` is not a number.
pub fn alerts(unit: &Ouster, cursor: &str) -> Result<Value, String> {
    let first: u64 = match cursor {
        "" => 0,
        text => text.parse().map_err(|_| format!("cursor cannot be {text}; allowed: a number"))?,
    };
    let now = unit.stream.now;
    let next = unit.faults.alert_events(now);
    // A cursor beyond the next one selects the whole log.
    let first = if first > next { 0 } else { first };
    let told = |event: AlertEvent<'_>| {
        json!({
            "active": event.is_start,
            "category": event.alert.category,
            "cursor": event.cursor,
            "id": format!("{:#010x}", event.alert.id),
            "level": event.alert.level,
            "msg": event.alert.message,
            "msg_verbose": event.alert.message,
            "realtime": unit.epoch.unix_ns(event.at).to_string(),
        })
    };
    let log = unit.faults.alert_log(now).into_iter().filter(|event| event.cursor >= first);
    Ok(json!({
        "active": unit.faults.active_alerts(now).into_iter().map(told).collect::<Vec<_>>(),
        "log": log.map(told).collect::<Vec<_>>(),
        "next_cursor": next,
    }))
}

fn network(unit: &Ouster) -> Value {
    let network = &unit.profile.network;
    let hardware = network.source_mac.map(|byte| format!("{byte:02x}")).join(":");
    json!({
        "carrier": true,
        "duplex": "full",
        "ethaddr": hardware,
        "hostname": format!("os-{:012}", unit.profile.identity.serial),
        "ipv4": { "link_local": format!("{}/16", network.source_ip), "override": null },
        "ipv6": { "link_local": link_local(network.source_mac) },
        "speed": 1000,
        "speed_override": null,
    })
}

/// IPv6 link-local address, with prefix length, of the network card with this MAC address (RFC 4291, appendix A).
fn link_local([a, b, c, d, e, f]: [u8; 6]) -> String {
    let pair = |high: u8, low: u8| u16::from_be_bytes([high, low]);
    let [one, two] = [pair(a ^ 2, b), pair(c, 0xff)];
    let [three, four] = [pair(0xfe, d), pair(e, f)];
    format!("fe80::{one:x}:{two:x}:{three:x}:{four:x}/64")
}

fn time_sensor(unit: &Ouster) -> Value {
    let now = unit.stream.now;
    let active = |key: &str| unit.control.active.get(key).cloned().unwrap_or_default();
    let seconds = |mode| unit.clock.stamp_ns(mode, now) as f64 / 1e9;
    let whole = |mode| unit.clock.stamp_ns(mode, now) / 1_000_000_000;
    let mode = unit.control.effective.timestamp_mode;
    let (pulses, period_ns) = unit.clock.pulses();
    json!({
        "timestamp": {
            "time": seconds(mode),
            "mode": mode.word(),
            "time_options": {
                "sync_pulse_in": whole(TimestampMode::SyncPulseIn),
                "internal_osc": whole(TimestampMode::InternalOsc),
                "ptp_1588": whole(TimestampMode::Ptp1588),
            },
        },
        "sync_pulse_in": {
            "locked": u8::from(unit.clock.has_pulse(now)),
            "diagnostics": {
                "last_period_nsec": period_ns,
                "count_unfiltered": pulses,
                "count": pulses,
            },
            "polarity": active("sync_pulse_in_polarity"),
        },
        "multipurpose_io": {
            "mode": active("multipurpose_io_mode"),
            "sync_pulse_out": {
                "pulse_width_ms": active("sync_pulse_out_pulse_width"),
                "angle_deg": active("sync_pulse_out_angle"),
                "frequency_hz": active("sync_pulse_out_frequency"),
                "polarity": active("sync_pulse_out_polarity"),
            },
            "nmea": {
                "locked": u8::from(unit.clock.has_nmea(now)),
                "baud_rate": active("nmea_baud_rate"),
                "diagnostics": { "decoding": { "last_read_message": unit.clock.sentence() } },
                "leap_seconds": active("nmea_leap_seconds"),
                "ignore_valid_char": active("nmea_ignore_valid_char"),
                "polarity": active("nmea_in_polarity"),
            },
        },
    })
}

fn time_system(unit: &Ouster) -> Value {
    let now = unit.stream.now;
    let monotonic_ns = unit.clock.stamp_ns(TimestampMode::InternalOsc, now);
    let (realtime_ns, tracking) = match unit.clock.system_ns(now) {
        Some(ns) => (ns, tracking(unit, ns)),
        None => (unit.epoch.unix_ns(now), json!({})),
    };
    json!({
        "monotonic": monotonic_ns as f64 / 1e9,
        "realtime": realtime_ns as f64 / 1e9,
        "tracking": tracking,
    })
}

/// Chrony's report on the system clock, which follows the unit's PTP clock.
fn tracking(unit: &Ouster, realtime_ns: i128) -> Value {
    let ptp = unit.clock.ptp();
    let offset_s = ptp.offset_ns() as f64 / 1e9;
    json!({
        "frequency": ptp.rate_ppb() / 1000.0,
        "last_offset": offset_s,
        "leap_status": "normal",
        // "ptp" in ASCII.
        "reference_id": "70747000",
        "ref_time_utc": realtime_ns as f64 / 1e9,
        "remote_host": "ptp",
        "residual_frequency": 0.0,
        "rms_offset": offset_s.abs(),
        "root_delay": 1e-9,
        "root_dispersion": offset_s.abs(),
        "skew": 0.0,
        "stratum": 1,
        "system_time_offset": offset_s,
        "update_interval": interval_ns(ptp.port_data_set().log_sync_interval) as f64 / 1e9,
    })
}

/// PTP data sets, with the field names of linuxptp's `pmc`.
fn time_ptp(unit: &Ouster) -> Value {
    let ptp = unit.clock.ptp();
    let (current, parent, port) =
        (ptp.current_data_set(), ptp.parent_data_set(), ptp.port_data_set());
    let (time, status) = (ptp.time_properties(), ptp.time_status());
    let time_flag = |bit: u16| u8::from(u16::from(time.flags) & bit != 0);
    let ns = |scaled: i64| scaled as f64 / 65_536.0;
    json!({
        "current_data_set": {
            "steps_removed": current.steps_removed,
            "offset_from_master": ns(current.offset_from_master),
            "mean_path_delay": ns(current.mean_path_delay),
        },
        "parent_data_set": {
            "parent_port_identity": port_name(parent.parent),
            "parent_stats": parent.has_statistics,
            "observed_parent_offset_scaled_log_variance": parent.variance,
            "observed_parent_clock_phase_change_rate": parent.phase_change_rate,
            "grandmaster_priority1": parent.priority_1,
            "gm_clock_class": parent.quality.class,
            "gm_clock_accuracy": parent.quality.accuracy,
            "gm_offset_scaled_log_variance": parent.quality.variance,
            "grandmaster_priority2": parent.priority_2,
            "grandmaster_identity": clock_name(parent.grandmaster),
        },
        "port_data_set": {
            "port_identity": port_name(port.identity),
            "port_state": ptp.state().word(),
            "log_min_delay_req_interval": port.log_min_delay_interval,
            "peer_mean_path_delay": ns(port.peer_mean_path_delay),
            "log_announce_interval": port.log_announce_interval,
            "announce_receipt_timeout": port.announce_receipt_timeout,
            "log_sync_interval": port.log_sync_interval,
            "delay_mechanism": port.delay_mechanism,
            "log_min_pdelay_req_interval": port.log_min_pdelay_interval,
            "version_number": port.version,
        },
        "profile": unit.clock.ptp_profile().word(),
        "time_properties_data_set": {
            "current_utc_offset": time.utc_offset_s,
            "leap61": time_flag(flag::LEAP_61),
            "leap59": time_flag(flag::LEAP_59),
            "current_utc_offset_valid": time_flag(flag::UTC_OFFSET_VALID),
            "ptp_timescale": time_flag(flag::PTP_TIMESCALE),
            "time_traceable": time_flag(flag::TIME_TRACEABLE),
            "frequency_traceable": time_flag(flag::FREQUENCY_TRACEABLE),
            "time_source": time.time_source,
        },
        "time_status_np": {
            "master_offset": status.master_offset_ns,
            "ingress_time": status.ingress_time_ns,
            "cumulative_scaled_rate_offset": f64::from(status.cumulative_scaled_rate_offset),
            "scaled_last_gm_phase_change": status.scaled_last_gm_phase_change,
            "gm_time_base_indicator": status.gm_time_base,
            "last_gm_phase_change": "0x0000'0000000000000000.0000",
            "gm_present": status.gm_present != 0,
            "gm_identity": clock_name(status.gm_identity),
        },
    })
}

/// A clock's identity in linuxptp's form.
fn clock_name([a, b, c, d, e, f, g, h]: ClockIdentity) -> String {
    format!("{a:02x}{b:02x}{c:02x}.{d:02x}{e:02x}.{f:02x}{g:02x}{h:02x}")
}

fn port_name(port: PortIdentity) -> String {
    format!("{}-{}", clock_name(port.clock), port.port)
}

impl Ouster {
    /// Whether phase lock is in effect and the rotor has the required phase.
    fn is_in_phase(&self) -> bool {
        let Some(phase) = self.wanted_phase() else { return false };
        let now = self.stream.now;
        let past_ns = now.0.saturating_sub(phase.second.0) % 1_000_000_000;
        let second = SimTime(now.0.saturating_sub(past_ns));
        let off = self.stream.program.rotor().turn(second) - phase.turn;
        ((off + 0.5).rem_euclid(1.0) - 0.5).abs() < 0.001
    }
}

/// Length in millimetres, rounded as in the metadata.
fn mm(metres: f64) -> f64 {
    (metres * 1e6).round() / 1e3
}

/// Numbers as units write them in JSON: without a decimal point if they are integers.
fn numbers(values: &[f64]) -> Value {
    let number = |value: &f64| match value.fract() == 0.0 {
        true => json!(*value as i64),
        false => json!(value),
    };
    values.iter().map(number).collect()
}
