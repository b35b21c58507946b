//! The documents of the web interface: the unit's state as JSON.

use serde_json::{Map, Value, json};

use super::forms::word;
use crate::sensors::noise::Quantity;
use crate::spinning::clock::PpsState;
use crate::time::SimTime;
use crate::velodyne::Velodyne;
use crate::velodyne::web_settings::WebProfile;

const SECOND_NS: u64 = 1_000_000_000;
/// JSON document at the URL path `path`; `None` for other paths.
pub fn document(unit: &Velodyne, path: &str) -> Option<Value> {
    Some(match path {
        "/cgi/status.json" => status(unit),
        "/cgi/settings.json" => settings(unit),
        "/cgi/info.json" => info(unit),
        "/cgi/diag.json" => diagnosis(unit),
        "/cgi/snapshot.hdl" => json!({
            "config": settings(unit),
            "status": status(unit),
            "info": info(unit),
            "diag": diagnosis(unit),
        }),
        _ => return None,
    })
}

/// Makes `status.json`.
pub fn status(unit: &Velodyne) -> Value {
    let rotor = unit.stream.program.rotor();
    let speed = rotor.rpm(unit.stream.now);
    let phase_centideg = (rotor.turn(unit.last_second()) * 36_000.0).round() as u32 % 36_000;
    json!({
        "gps": { "pps_state": unit.pps_word(), "position": unit.position_text() },
        "motor": {
            "state": switch(unit.configuration.rpm > 0),
            "rpm": tachometer(unit, speed),
            "lock": switch(unit.is_in_phase()),
            "phase": phase_centideg,
        },
        "laser": { "state": laser_state(unit, speed) },
    })
}

fn laser_state(unit: &Velodyne, speed: f64) -> &'static str {
    match unit.stream.program.mode(unit.stream.now).laser_on {
        false => "Off",
        true if speed < f64::from(unit.settings.motor.interlock_rpm) => "Disabled",
        true => "On",
    }
}

fn tachometer(unit: &Velodyne, speed: f64) -> u32 {
    if speed == 0.0 {
        return 0;
    }
    let noise = unit.noise.request(unit.stream.now.0 / SECOND_NS);
    let most = unit.web.profile.tachometer_error_rpm;
    let error = noise.whole(0, Quantity::Tachometer, 0, 2 * most);
    (speed + f64::from(error) - f64::from(most)).round().max(0.0) as u32
}

/// Makes `settings.json`.
pub fn settings(unit: &Velodyne) -> Value {
    let c = &unit.configuration;
    json!({
        "returns": word(c.returns),
        "rpm": c.rpm,
        "laser": switch(c.laser_on),
        "fov": { "start": c.view.0[0], "end": c.view.0[1] },
        "host": {
            "addr": c.host.ip.to_string(),
            "dport": c.host.ports[0],
            "tport": c.host.ports[1],
        },
        "net": {
            "addr": c.net.addr.to_string(),
            "mask": c.net.mask.to_string(),
            "gateway": c.net.gateway.to_string(),
            "dhcp": switch(c.net.dhcp),
        },
        "phaselock": {
            "enabled": switch(c.phase_lock.is_on),
            "offset": c.phase_lock.offset_centideg,
        },
    })
}

/// Makes `info.json`.
pub fn info(unit: &Velodyne) -> Value {
    json!({ "model": unit.web.profile.model, "serial": unit.web.profile.serial })
}

/// Makes `diag.json`: ADC readings. The supply voltages of the boards are nominal.
pub fn diagnosis(unit: &Velodyne) -> Value {
    let has_16_lasers = unit.lasers.len() == 16;
    let WebProfile { high_voltage_v, supply_v, current_a: [idle_a, firing_a], .. } =
        unit.web.profile;
    let speed = unit.stream.program.rotor().rpm(unit.stream.now);
    let current_a = if laser_state(unit, speed) == "On" { firing_a } else { idle_a };
    let [top_c, bottom_c] = unit.boards.temperatures_c(unit.stream.now);
    let high_voltage = high_voltage_v / 101.0 + 5.0;
    let mut top = Map::new();
    let mut put = |key: &str, volts: f64| {
        top.insert(key.into(), counts(volts).into());
    };
    put("hv", high_voltage);
    if !has_16_lasers {
        put("ad_temp", thermometer_v(top_c));
    }
    put("lm20_temp", thermometer_v(top_c));
    put("pwr_5v", 5.0 / 2.0);
    put("pwr_2_5v", 2.5);
    put("pwr_3_3v", 3.3);
    put(if has_16_lasers { "pwr_5v_raw" } else { "pwr_raw" }, 5.0 / 2.0);
    put("pwr_vccint", 1.2);
    json!({
        "volt_temp": {
            "top": top,
            "bot": {
                "i_out": counts(current_a / 10.0 + 2.5),
                "pwr_1_2v": counts(1.2),
                "lm20_temp": counts(thermometer_v(bottom_c)),
                "pwr_5v": counts(5.0 / 2.0),
                "pwr_2_5v": counts(2.5),
                "pwr_3_3v": counts(3.3),
                "pwr_v_in": counts(supply_v / 11.0),
                "pwr_1_25v": counts(1.25),
            },
        },
        "vhv": counts(high_voltage),
        "adc_nf": 0,
        "adc_stats": 0,
        "ixe": 0,
        "adctp_stat": 0,
    })
}

fn switch(is_on: bool) -> &'static str {
    if is_on { "On" } else { "Off" }
}

/// Reading of a 12-bit ADC with a range of 5 V, counts.
fn counts(volts: f64) -> u16 {
    (volts * 4096.0 / 5.0).round().clamp(0.0, 4095.0) as u16
}

/// Output voltage of an LM20 temperature sensor (parabola of its data sheet).
fn thermometer_v(celsius: f64) -> f64 {
    let root = celsius + 1481.96;
    1.8639 - 3.88e-6 * (root * root - 2.1962e6)
}

impl Velodyne {
    /// Word for the state of PPS.
    fn pps_word(&self) -> &'static str {
        match self.clock.pps(self.stream.now) {
            PpsState::Absent => "Absent",
            PpsState::Synchronizing => "Synchronizing",
            PpsState::Locked => "Locked",
            PpsState::Error => "Error",
        }
    }

    /// Latitude and longitude that the GNSS receiver reports, as text; empty if no sentence has them.
    fn position_text(&self) -> String {
        let sentence = String::from_utf8_lossy(self.clock.sentence());
        let fields: Vec<_> = sentence.split(',').collect();
        let first = if fields[0].ends_with("RMC") { 3 } else { 2 };
        let Some([latitude, north, longitude, east]) = fields.get(first..first + 4) else {
            return String::new();
        };
        match (latitude.split_at_checked(2), longitude.split_at_checked(3)) {
            (Some((lat, lat_min)), Some((lon, lon_min))) => {
                format!("{lat} {lat_min}{north} {lon} {lon_min}{east}")
            }
            _ => String::new(),
        }
    }

    /// Whether phase lock keeps the rotor at the configured phase.
    fn is_in_phase(&self) -> bool {
        let second = self.last_second();
        self.wanted_phase().is_some_and(|phase| {
            let off = self.stream.program.rotor().turn(second) - phase.turn;
            self.configuration.rpm > 0 && ((off + 0.5).rem_euclid(1.0) - 0.5).abs() < 0.01
        })
    }

    /// Time of the last whole second of UTC.
    fn last_second(&self) -> SimTime {
        let past_ns = self.epoch.unix_ns(self.stream.now).rem_euclid(i128::from(SECOND_NS)) as u64;
        SimTime(self.stream.now.0.saturating_sub(past_ns))
    }
}
