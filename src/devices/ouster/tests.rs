use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::commands::{CommandRow, Conduct, constants_hold, variants};
use crate::config::profile::Profile;
use crate::config::rig::schedule::Schedule;
use crate::families::catalogue;
use crate::ouster::words::{OperatingMode, PtpState, TimestampMode};
use crate::ptp::testing::{self, with_master};
use crate::sensors::{Return, Subject};
use crate::spinning::testing::without_revoked;
use crate::wire::http::HttpMethod;
use crate::wire::ouster::lidar::{Packet, Pixel};

const NAME: &str = "ouster-os1-32-2.5";
const LATER: &str = "ouster-os1-32-3.1";
const MS: u64 = 1_000_000;

fn driver(name: &str) -> Arc<Profile> {
    catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"))
}

fn unit(name: &str, change: impl FnOnce(&mut OusterSettings)) -> Ouster {
    unit_to(Ipv4Addr::LOCALHOST.into(), name, change)
}

/// A unit that sends to `ip`.
fn unit_to(ip: IpAddr, name: &str, change: impl FnOnce(&mut OusterSettings)) -> Ouster {
    let profile = driver(name);
    let Some(driver) = profile.data::<OusterProfile>() else { panic!("{name}") };
    let mut settings = driver.defaults.clone();
    change(&mut settings);
    let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
    let host = HostAddress { ip, ports: vec![7502, 7503] };
    let (noise, faults) = (NoiseSource::new(1, name), DeviceFaults::default());
    Ouster::new(driver, &settings, Some(host), noise, epoch, &faults)
}

/// Runs the unit until `to` with an echo at 10 m for each pulse; returns its output.
fn run(unit: &mut Ouster, to: SimTime) -> Vec<Transmit> {
    let mut sent = Vec::new();
    while unit.stream.now < to {
        let now = SimTime(unit.stream.now.0 + MS);
        while let Some(request) = unit.poll_request(SimTime(now.0 + 100 * MS)) {
            let Subject::Sweep(sweep) = &request.subject else { continue };
            let mut echoes = Echoes::default();
            echoes.push(Return { range_m: 10.0, intensity: 0.5, signal: 0.005 });
            let outcome = Outcome::Echoes(vec![echoes; sweep.firings.len()]);
            unit.handle_measurement(&Measurement::new(request, outcome));
            sent.extend(std::iter::from_fn(|| unit.poll_transmit()));
        }
        unit.advance(now);
        sent.extend(std::iter::from_fn(|| unit.poll_transmit()));
    }
    without_revoked(sent)
}

fn lidar_packets(sent: &[Transmit]) -> impl Iterator<Item = (SimTime, &[u8])> {
    sent.iter().filter_map(|transmit| match &transmit.output {
        Output::Datagram { port, bytes } if port.0 == 0 => Some((transmit.due, &bytes[..])),
        _ => None,
    })
}

fn single(bytes: &[u8]) -> Packet<'_> {
    Packet::parse(LidarFormat::Single, 32, bytes).unwrap()
}

fn method(word: &str) -> HttpMethod {
    match word {
        "GET" => HttpMethod::Get,
        "POST" => HttpMethod::Post,
        "PUT" => HttpMethod::Put,
        _ => HttpMethod::Delete,
    }
}

fn ask(unit: &mut Ouster, method: HttpMethod, url: &str, body: &str) -> (u16, Value) {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let request = HttpRequest {
        method,
        path: format!("/api/v1/{path}"),
        query: query.to_owned(),
        body: body.into(),
        from: [10, 0, 0, 7].into(),
        ..HttpRequest::default()
    };
    let response = unit.handle_http(unit.stream.now, &request);
    (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
}

fn get(unit: &mut Ouster, url: &str) -> Value {
    let (status, body) = ask(unit, HttpMethod::Get, url, "");
    assert_eq!(status, 200, "{url}: {body}");
    body
}

#[test]
fn a_unit_at_rest_sends_when_it_is_at_speed() {
    let mut unit = unit(NAME, |settings| settings.motor.starts_at_rest = true);
    let sent = run(&mut unit, SimTime(3500 * MS));
    let (due, bytes) = lidar_packets(&sent).next().unwrap();
    // The rotor needs 2.7 s to reach 540 rpm at 200 rpm/s.
    assert!((2700..2850).contains(&(due.0 / MS)), "{}", due.0);
    assert_eq!(single(bytes).columns().next().unwrap().0.measurement_id, 0);
}

#[test]
fn turns_follow_one_another_without_a_gap() {
    let mut unit = unit(NAME, |_| {});
    let sent = run(&mut unit, SimTime(500 * MS));
    let mut expected = (0u32, 0u16);
    let mut last_ns = None;
    for (due, bytes) in lidar_packets(&sent) {
        let packet = single(bytes);
        assert_eq!(packet.header().frame_id, expected.0);
        assert_eq!(packet.footer(), Some(Footer::Crc64));
        for (column, pixels) in packet.columns() {
            assert!(column.is_valid && column.measurement_id == expected.1);
            expected.1 += 1;
            let step_ns = last_ns.map_or(97_650, |last| column.timestamp_ns - last);
            assert!((97_640..=97_670).contains(&step_ns), "{step_ns} ns");
            last_ns = Some(column.timestamp_ns);
            let pixel = Pixel::get(LidarFormat::Single, &pixels[..12]);
            assert_eq!(pixel.returns[0].range_mm, 10_016, "from the axis");
        }
        assert!(due.0 > last_ns.unwrap(), "packets leave after their last column");
        if expected.1 == 1024 {
            expected = (expected.0 + 1, 0);
        }
    }
    assert!(expected.0 >= 4, "{expected:?}");
}

#[test]
fn a_window_leaves_columns_out_and_packets_without_any() {
    let mut unit = unit(NAME, |settings| settings.azimuth_window_mdeg = [583, 39_402]);
    let sent = run(&mut unit, SimTime(300 * MS));
    let firsts: Vec<u16> = lidar_packets(&sent)
        .map(|(_, bytes)| single(bytes).columns().next().unwrap().0.measurement_id)
        .collect();
    assert_eq!(firsts[..8], [912, 928, 944, 960, 976, 992, 1008, 912]);
    let (_, last) = lidar_packets(&sent).nth(6).unwrap();
    let columns: Vec<_> = single(last).columns().collect();
    assert!(columns[14].0.is_valid && !columns[15].0.is_valid);
    assert_eq!(columns[15].0.measurement_id, 1023);
    assert!(columns[15].1.iter().all(|byte| *byte == 0));
    let told = get(&mut unit, "sensor/metadata/lidar_data_format");
    assert_eq!(told["column_window"], json!([912, 1022]));
}

/// Sends the requests of ouster-sdk 1.0.1 to units with firmware 3.1 and 2.5.
#[test]
fn a_configuration_is_staged_and_comes_with_a_new_id() {
    for name in [NAME, LATER] {
        let mut unit = unit(name, |_| {});
        run(&mut unit, SimTime(100 * MS));
        let old = get(&mut unit, "sensor/metadata/sensor_info");
        assert_eq!(old["status"], "RUNNING");
        let stage = "sensor/config?reinit=False&persist=False";
        let (status, _) = ask(&mut unit, HttpMethod::Post, stage, r#"{"udp_dest":"@auto"}"#);
        assert_eq!(status, 204);
        let read = |unit: &mut Ouster, which: &str| match name == NAME {
            true => get(unit, &format!("sensor/cmd/get_config_param?args={which}")),
            false => get(unit, &format!("sensor/config?staging={}", which == "staged")),
        };
        assert_eq!(read(&mut unit, "staged")["udp_dest"], "10.0.0.7");
        assert_eq!(read(&mut unit, "active")["udp_dest"], "127.0.0.1", "{name}");
        let mut wanted = read(&mut unit, "staged");
        wanted["lidar_mode"] = "512x20".into();
        let text = wanted.to_string();
        if name == NAME {
            let args: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
            let set = get(&mut unit, &format!("sensor/cmd/set_config_param?args=.+{args}"));
            assert_eq!(set, "set_config_param");
            assert_eq!(get(&mut unit, "sensor/cmd/reinitialize"), json!({}));
        } else {
            let url = "sensor/config?staging=true&reinit=false&persist=false";
            assert_eq!(ask(&mut unit, HttpMethod::Post, url, &text).0, 204);
            let url = "sensor/config?staging=true&reinit=true&persist=false";
            assert_eq!(ask(&mut unit, HttpMethod::Post, url, "{}").0, 204);
        }
        let new = get(&mut unit, "sensor/metadata/sensor_info");
        assert_eq!(new["status"], "INITIALIZING");
        assert_ne!(new["initialization_id"], old["initialization_id"]);
        let sent = run(&mut unit, SimTime(5000 * MS));
        assert_eq!(get(&mut unit, "sensor/metadata/sensor_info")["status"], "RUNNING");
        assert_eq!(read(&mut unit, "active"), wanted, "{name}");
        let hosts = sent.iter().filter_map(|t| match &t.output {
            Output::Host(host) => Some((host.ip.to_string(), t.due)),
            _ => None,
        });
        let hosts: Vec<_> = hosts.collect();
        assert_eq!(hosts.len(), 1);
        assert_eq!(hosts[0].0, "10.0.0.7");
        let ids = lidar_packets(&sent).map(|(due, bytes)| {
            let id = single(bytes).header().initialization_id;
            (due > hosts[0].1, json!(id))
        });
        for (is_new, id) in ids {
            let wanted = if is_new { &new } else { &old };
            assert_eq!(id, wanted["initialization_id"]);
        }
        let (_, last) = lidar_packets(&sent).last().unwrap();
        let stamps: Vec<_> = single(last).columns().map(|(c, _)| c.timestamp_ns).collect();
        assert_eq!((stamps[15] - stamps[0] + 5) / 15 / 10, 9765, "20 turns of 512 columns");
    }
}

/// Until version 0.15.1, ouster-sdk sends these requests to firmware 3.1 as well; scripts send them by POST.
#[test]
fn commands_configure_every_firmware_by_both_methods() {
    for name in [NAME, LATER] {
        for method in [HttpMethod::Get, HttpMethod::Post] {
            let mut unit = unit(name, |_| {});
            let mut command = |url: &str| ask(&mut unit, method, &format!("sensor/cmd/{url}"), "");
            let (status, mut wanted) = command("get_config_param?args=active");
            assert_eq!(status, 200, "{name} {method:?}");
            wanted["lidar_mode"] = "512x20".into();
            wanted["key_of_other_firmware"] = 1.into();
            let text = wanted.to_string();
            let args: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
            let set = command(&format!("set_config_param?args=.+{args}"));
            assert_eq!(set, (200, json!("set_config_param")));
            assert_eq!(command("reinitialize"), (200, json!({})));
            let mode = command("get_config_param?args=active+lidar_mode");
            assert_eq!(mode, (200, json!("512x20")));
            assert_eq!(command("get_config_param?args=active+no_such_key").0, 400);
            assert_eq!(command("no_such_command").0, 404);
        }
    }
}

#[test]
fn values_that_do_not_go_together_are_refused_when_they_become_active() {
    let mut unit = unit(NAME, |_| {});
    let mut get = |url: &str| ask(&mut unit, HttpMethod::Get, &format!("sensor/cmd/{url}"), "").0;
    assert_eq!(get("set_config_param?args=lidar_mode+9x9"), 400);
    assert_eq!(get("set_config_param?args=signal_multiplier+1.5"), 400);
    assert_eq!(get("set_config_param?args=udp_profile_lidar+RNG19_RFL8_SIG16_NIR16_DUAL"), 200);
    assert_eq!(get("set_config_param?args=lidar_mode+2048x10"), 200);
    assert_eq!(get("reinitialize"), 400);
    assert_eq!(unit.status(), "RUNNING");
    let url = "sensor/config?reinit=false&persist=false";
    assert_eq!(ask(&mut unit, HttpMethod::Post, url, r#"{"udp_dest":"@auto"}"#).0, 204);
    let (url, body) = ("sensor/config?reinit=true", r#"{"lidar_mode":"1024x10"}"#);
    assert_eq!(ask(&mut unit, HttpMethod::Post, url, body).0, 204);
}

#[test]
fn a_port_of_0_stops_one_stream_only() {
    let mut unit = unit(LATER, |_| {});
    run(&mut unit, SimTime(100 * MS));
    let url = "sensor/config?reinit=true&persist=false";
    let body = r#"{"udp_dest":"10.0.0.9","udp_port_lidar":17602,"udp_port_imu":0}"#;
    assert_eq!(ask(&mut unit, HttpMethod::Post, url, body).0, 204);
    let sent = run(&mut unit, SimTime(3000 * MS));
    let mut hosts = sent.iter().filter_map(|transmit| match &transmit.output {
        Output::Host(host) => Some((transmit.due, host)),
        _ => None,
    });
    let wanted = HostAddress { ip: [10, 0, 0, 9].into(), ports: vec![17_602, 0] };
    let (changed, host) = hosts.next().unwrap();
    assert_eq!(*host, wanted);
    assert!(lidar_packets(&sent).any(|(due, _)| due > changed));
    assert!(!unit.control.sends_imu());
}

#[test]
fn a_unit_on_an_ipv6_link_is_configured_and_restarts() {
    let mut unit = unit_to(Ipv6Addr::LOCALHOST.into(), LATER, |_| {});
    let mut all = get(&mut unit, "sensor/config");
    assert_eq!(all["udp_dest"], "::1");
    // Clients send back all values with their changes.
    all["lidar_mode"] = "512x10".into();
    let url = "sensor/config?reinit=true&persist=false";
    assert_eq!(ask(&mut unit, HttpMethod::Post, url, &all.to_string()).0, 204);
    let before = unit.control.initialization_id;
    assert_eq!(ask(&mut unit, HttpMethod::Post, "system/restart", "").0, 204);
    assert_ne!(unit.control.initialization_id, before);
    unit.advance(SimTime(100_000 * MS));
    assert_eq!(get(&mut unit, "sensor/config")["lidar_mode"], "1024x10");
}

fn alert(period_ns: Option<u64>) -> Timed<faults::Alert> {
    let kind = faults::Alert {
        id: 0x0100_0018,
        category: "UDP_TRANSMISSION".to_owned(),
        level: "WARNING",
        message: "text".to_owned(),
    };
    let (start, duration_ns) = (SimTime(100 * MS), Some(100 * MS));
    Timed { fault: 0, schedule: Schedule { start, duration_ns, period_ns }, kind }
}

#[test]
fn clients_ask_for_new_alerts_by_their_cursor() {
    let mut unit = unit(NAME, |_| {});
    unit.faults = OusterFaults { alerts: vec![alert(Some(300 * MS))], ..OusterFaults::default() };
    unit.advance(SimTime(450 * MS));
    let told = |list: &Value| -> Vec<_> {
        let all = list.as_array().unwrap().iter();
        all.map(|event| (event["cursor"].as_u64(), event["active"].as_bool())).collect()
    };
    let [first, end, second] =
        [(0_u64, true), (1, false), (2, true)].map(|(cursor, is_on)| (Some(cursor), Some(is_on)));
    let all = get(&mut unit, "sensor/alerts");
    assert_eq!(all["next_cursor"], 3);
    assert_eq!(told(&all["log"]), [first, end, second]);
    assert_eq!(told(&all["active"]), [second]);
    let new = get(&mut unit, "sensor/alerts?cursor=2");
    assert_eq!((told(&new["log"]), told(&new["active"])), (vec![second], vec![second]));
    assert_eq!(get(&mut unit, "sensor/alerts?cursor=3")["log"], json!([]));
    assert_eq!(get(&mut unit, "sensor/alerts?cursor=4"), all, "beyond the next cursor");
    assert_eq!(ask(&mut unit, HttpMethod::Get, "sensor/alerts?cursor=x", "").0, 400);
}

#[test]
fn what_it_does_not_have_is_refused_as_a_whole() {
    let mut unit = unit(NAME, |_| {});
    let before = get(&mut unit, "sensor/config?staging=true");
    for body in [
        r#"{"azimuth_window":[1,2],"lidar_mode":"512x10"}"#,
        r#"{"signal_multiplier":1.5}"#,
        r#"{"signal_multiplier":3}"#,
        r#"{"lidar_mode":"9x9"}"#,
        r#"{"no_such_key":1}"#,
        r#"{"udp_port_lidar":70000}"#,
        r#"{"udp_profile_lidar":"FUSA_RNG15_RFL8_NIR8_DUAL"}"#,
        r#"{"udp_profile_lidar":"RNG19_RFL8_SIG16_NIR16_DUAL","lidar_mode":"2048x10"}"#,
        r#"{"udp_dest":"nobody"}"#,
        r#"{"phase_lock_enable":true}"#,
        "[1]",
        "",
    ] {
        let (status, answer) = ask(&mut unit, HttpMethod::Post, "sensor/config", body);
        assert_eq!(status, 400, "{body}");
        assert!(answer["error"]["description"].is_string(), "{answer}");
    }
    assert_eq!(get(&mut unit, "sensor/config?staging=true"), before);
    assert_eq!(unit.status(), "RUNNING");
    assert_eq!(ask(&mut unit, HttpMethod::Get, "sensor/nothing", "").0, 404);
    assert_eq!(ask(&mut unit, HttpMethod::Post, "sensor/telemetry", "").0, 405);
    assert_eq!(ask(&mut unit, HttpMethod::Get, "/sensor//alerts", "").0, 200, "doubled slashes");
}

#[test]
fn standby_is_silent_until_it_ends() {
    let mut unit = unit(LATER, |settings| settings.operating_mode = OperatingMode::Standby);
    assert!(run(&mut unit, SimTime(500 * MS)).is_empty());
    assert_eq!(unit.status(), "STANDBY");
    let body = r#"{"operating_mode":"NORMAL"}"#;
    let url = "sensor/config?staging=true&reinit=true";
    assert_eq!(ask(&mut unit, HttpMethod::Post, url, body).0, 204);
    let sent = run(&mut unit, SimTime(5000 * MS));
    assert!(lidar_packets(&sent).count() > 500, "it spins up in 3 s");
    let first = lidar_packets(&sent).next().unwrap();
    assert_eq!(single(first.1).header().frame_id, 0);
    assert_eq!(unit.status(), "RUNNING");
    let is_plain = ask(&mut unit, HttpMethod::Post, "system/restart", "").0;
    assert_eq!(is_plain, 204);
    run(&mut unit, SimTime(5100 * MS));
    assert_eq!(ask(&mut unit, HttpMethod::Get, "sensor/metadata", "").0, 503);
}

#[test]
fn metadata_has_what_clients_need() {
    let mut unit = unit(LATER, |_| {});
    let all = get(&mut unit, "sensor/metadata");
    for key in [
        "sensor_info",
        "config_params",
        "lidar_data_format",
        "calibration_status",
        "imu_intrinsics",
        "lidar_intrinsics",
        "beam_intrinsics",
    ] {
        assert!(all[key].is_object(), "{key}");
    }
    let beams = &all["beam_intrinsics"];
    assert_eq!(beams["beam_altitude_angles"].as_array().map(Vec::len), Some(32));
    assert_eq!(beams["lidar_origin_to_beam_origin_mm"], 16.721);
    assert_eq!(all["lidar_data_format"]["pixel_shift_by_row"][0], 12);
    assert_eq!(all["config_params"]["signal_multiplier"].to_string(), "1", "not 1.0");
    assert_eq!(ask(&mut unit, HttpMethod::Put, "user/data", "\"kept\"").0, 204);
    assert_eq!(get(&mut unit, "user/data"), "kept");
    assert_eq!(ask(&mut unit, HttpMethod::Delete, "sensor/config", "").0, 204);
    assert_eq!(get(&mut unit, "user/data"), "");
}

#[test]
fn the_rotor_keeps_the_phase_of_an_outer_clock() {
    for eighths in 0..8 {
        let mut unit = unit(NAME, |settings| {
            settings.timestamp_mode = TimestampMode::Ptp1588;
            (settings.clock.ptp, settings.clock.ptp_ahead_s) = (PtpState::Locked, 37);
            settings.phase_lock_enable = true;
            settings.phase_lock_offset_mdeg = eighths * 45_000;
        });
        let sent = run(&mut unit, SimTime(3000 * MS));
        let columns: Vec<_> = lidar_packets(&sent)
            .flat_map(|(_, bytes)| single(bytes).columns().map(|(c, _)| c).collect::<Vec<_>>())
            .collect();
        for pair in columns.windows(2) {
            let [before, next] = [&pair[0], &pair[1]].map(|column| column.measurement_id);
            assert_eq!(next, (before + 1) % 1024, "while it corrects its phase");
        }
        let at = (1024 - 128 * eighths as u16) % 1024;
        let column = columns.iter().rfind(|column| column.measurement_id == at).unwrap();
        let off_ns = (column.timestamp_ns + 50 * MS) % (100 * MS);
        assert!(off_ns.abs_diff(50 * MS) < 1000, "{} ns", off_ns as i64 - 50 * MS as i64);
        assert_eq!(get(&mut unit, "sensor/telemetry")["phase_lock_status"], "LOCKED");
    }
}

#[test]
fn a_master_on_the_network_sets_the_stamps() {
    let mut unit = unit(NAME, |settings| {
        settings.timestamp_mode = TimestampMode::Ptp1588;
        (settings.clock.ptp, settings.clock.drift_s_per_day) = (PtpState::Wire, 0.864);
        settings.phase_lock_enable = true;
    });
    let stamp = |unit: &Ouster, at| unit.clock.stamp_ns(TimestampMode::Ptp1588, at);
    assert_eq!(stamp(&unit, SimTime(7000)), unit.settings.clock.power_up_ns + 7000);
    let port_state = |unit: &mut Ouster| {
        get(unit, "time/ptp")["port_data_set"]["port_state"].as_str().map(str::to_owned)
    };
    assert_eq!(port_state(&mut unit).as_deref(), Some("LISTENING"));
    assert_eq!(get(&mut unit, "time/system")["tracking"], json!({}));
    assert_eq!(unit.wanted_phase(), None);
    let tai_ns = 1_780_315_237_000_000_000;
    let now = with_master(&mut unit, SimTime(MS), 20, 0, tai_ns);
    assert_eq!(port_state(&mut unit).as_deref(), Some("SLAVE"));
    let off_ns = i128::from(stamp(&unit, now)) - (tai_ns + i128::from(now.0));
    assert!(off_ns.abs() < 100, "{off_ns}");
    let told = get(&mut unit, "time/ptp");
    let delay_ns = told["current_data_set"]["mean_path_delay"].as_f64().unwrap();
    assert!((delay_ns - testing::PATH_NS as f64).abs() < 50.0, "{delay_ns}");
    assert_eq!(told["parent_data_set"]["parent_port_identity"], "020000.fffe.00000a-1");
    assert_eq!(told["time_properties_data_set"]["current_utc_offset_valid"], 1);
    assert_eq!(told["time_status_np"]["gm_present"], true);
    let system = get(&mut unit, "time/system");
    let utc_s = (tai_ns + i128::from(now.0)) as f64 / 1e9 - 37.0;
    assert!((system["realtime"].as_f64().unwrap() - utc_s).abs() < 1e-5, "{system}");
    assert_eq!(system["tracking"]["remote_host"], "ptp");
    let ppm = system["tracking"]["frequency"].as_f64().unwrap();
    assert!((ppm + 10.0).abs() < 0.1, "{ppm}");
    let phase = unit.wanted_phase().unwrap();
    assert!(
        stamp(&unit, phase.second) % 1_000_000_000 < 20_000 || {
            stamp(&unit, phase.second) % 1_000_000_000 > 999_980_000
        }
    );
    // After the restart the unit has no PTP master.
    assert_eq!(ask(&mut unit, HttpMethod::Post, "system/restart", "").0, 204);
    unit.advance(SimTime(now.0 + 100_000 * MS));
    assert_eq!(port_state(&mut unit).as_deref(), Some("LISTENING"));
    assert!(stamp(&unit, unit.stream.now) < 100_000_000_000);
}

#[test]
fn requests_choose_the_profile_of_ptp() {
    let mut unit = unit(NAME, |settings| settings.clock.ptp = PtpState::Virtual);
    let profile = "time/ptp/profile";
    assert_eq!(get(&mut unit, profile), "default");
    let mut now = SimTime::ZERO;
    for (word, mechanism) in
        [("gptp", 2), ("automotive-slave", 2), ("gptp-relaxed", 2), ("default-relaxed", 1)]
    {
        let body = format!("\"{word}\"");
        assert_eq!(ask(&mut unit, HttpMethod::Put, profile, &body), (200, json!(word)));
        assert_eq!(get(&mut unit, "time/ptp")["port_data_set"]["port_state"], "LISTENING");
        now = SimTime(now.0 + 20_000 * MS);
        unit.advance(now);
        let told = get(&mut unit, "time/ptp");
        assert_eq!(
            (&told["profile"], &told["port_data_set"]["port_state"]),
            (&json!(word), &json!("SLAVE"))
        );
        assert_eq!(told["port_data_set"]["delay_mechanism"], mechanism);
    }
    // The unit refuses all of these; the last one is a profile of later firmware.
    for body in ["gptp", "\"power\"", "7", "\"default-l2-relaxed\""] {
        assert_eq!(ask(&mut unit, HttpMethod::Put, profile, body).0, 400, "{body}");
    }
    assert_eq!(get(&mut unit, profile), "default-relaxed");
}

#[test]
fn heat_limits_shots_and_stops_the_stream() {
    let mut unit = unit(NAME, |_| {});
    let window = |start: u64| Schedule {
        start: SimTime(start * MS),
        duration_ns: Some(100 * MS),
        period_ns: None,
    };
    let limit = faults::ShotLimiting { reduction: 0.4, announced_ns: 0 };
    let shutdown = faults::ThermalShutdown { announced_ns: 50 * MS };
    unit.faults = OusterFaults {
        alerts: Vec::new(),
        limits: vec![Timed { fault: 0, schedule: window(100), kind: limit }],
        shutdowns: vec![Timed { fault: 1, schedule: window(300), kind: shutdown }],
    };
    unit.stream.planner.set_faults(unit.faults.clone());
    let sent = run(&mut unit, SimTime(600 * MS));
    for (due, bytes) in lidar_packets(&sent) {
        let ms = due.0 / MS;
        let header = single(bytes).header();
        let limited = (103..200).contains(&ms);
        let normal = ms < 100 || (203..250).contains(&ms);
        assert!(!limited || header.shot_limiting == 5, "{ms}: {header:?}");
        assert!(!normal || header.shot_limiting == 0, "{ms}: {header:?}");
        assert!(!(253..300).contains(&ms) || header.thermal_shutdown == 1, "{ms}");
        assert!(!(302..400).contains(&ms), "a packet at {ms} ms");
    }
    let (last, _) = lidar_packets(&sent).last().unwrap();
    assert!(last.0 > 590 * MS, "it begins again with the next turn");
}

const PEER: Peer = Peer { connection: 1, port: 1, from: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)) };

/// Sends a line to the TCP port of firmware 2.0; returns the answer.
fn say(unit: &mut Ouster, line: &str) -> String {
    let now = SimTime(unit.stream.now.0 + MS);
    unit.handle_peer_input(now, PEER, format!("{line} \n").as_bytes());
    let sent = run(unit, SimTime(now.0 + 10 * MS));
    let mut answers = sent.iter().filter_map(|transmit| match &transmit.output {
        Output::BytesTo(PEER, bytes) => Some(String::from_utf8(bytes.clone()).unwrap()),
        _ => None,
    });
    let answer = answers.next().unwrap_or_else(|| panic!("no answer to {line}"));
    assert_eq!(answers.next(), None, "{line}");
    answer.strip_suffix('\n').unwrap().to_owned()
}

#[test]
fn firmware_2_0_is_configured_by_lines() {
    let mut unit = unit("ouster-os1-64-2.0", |_| {});
    unit.handle_peer(SimTime::ZERO, PEER, true);
    // Requests of ouster-sdk 0.15.1 at its start.
    let document =
        |unit: &mut Ouster, line| -> Value { serde_json::from_str(&say(unit, line)).unwrap() };
    let info = document(&mut unit, "get_sensor_info");
    assert_eq!((&info["build_rev"], &info["status"]), (&json!("v2.0.0"), &json!("RUNNING")));
    assert_eq!((info.get("initialization_id"), info.get("base_pn")), (None, Some(&json!(""))));
    let active = document(&mut unit, "get_config_param active");
    // A real unit has this number of keys in the configuration of its metadata.
    assert_eq!(active.as_object().unwrap().len(), 21);
    for later in ["columns_per_packet", "signal_multiplier", "udp_profile_imu", "udp_profile_lidar"]
    {
        assert_eq!(active.get(later), None);
    }
    assert_eq!(document(&mut unit, "get_beam_intrinsics")["beam_altitude_angles"][0], 20.47);
    assert!(document(&mut unit, "get_imu_intrinsics")["imu_to_sensor_transform"].is_array());
    assert!(document(&mut unit, "get_lidar_intrinsics")["lidar_to_sensor_transform"].is_array());
    assert_eq!(document(&mut unit, "get_calibration_status")["reflectivity"]["valid"], true);
    let format = document(&mut unit, "get_lidar_data_format");
    assert_eq!((&format["pixels_per_column"], format.get("udp_profile_lidar")), (&json!(64), None));
    for unknown in ["get_imu_data_format", "save_config_params", "hello"] {
        assert_eq!(say(&mut unit, unknown), "error: Command not recognized.");
    }

    assert_eq!(say(&mut unit, "set_config_param lidar_mode 512x10"), "set_config_param");
    assert_eq!(say(&mut unit, "set_udp_dest_auto"), "set_udp_dest_auto");
    let staged = document(&mut unit, "get_config_param staged");
    let expected = (&json!("10.0.0.9"), &json!("10.0.0.9"), &json!("512x10"));
    assert_eq!((&staged["udp_dest"], &staged["udp_ip"], &staged["lidar_mode"]), expected);
    assert!(say(&mut unit, "set_config_param signal_multiplier 2").starts_with("error: "));
    assert_eq!(document(&mut unit, "get_config_param staged"), staged);
    assert_eq!(document(&mut unit, "get_config_param active"), active);
    assert_eq!(say(&mut unit, "reinitialize"), "reinitialize");
    assert_eq!(document(&mut unit, "get_config_param active"), staged);
    assert_eq!(document(&mut unit, "get_sensor_info")["status"], "INITIALIZING");
    assert_eq!(say(&mut unit, "write_config_txt"), "write_config_txt");
    assert_eq!(document(&mut unit, "get_config_txt"), staged);
    let sent = run(&mut unit, SimTime(2000 * MS));
    let packets: Vec<_> = lidar_packets(&sent).collect();
    assert!(packets.iter().any(|(_, bytes)| bytes.len() == 12_608), "LEGACY, 64 pixels");
    assert_eq!(ask(&mut unit, HttpMethod::Get, "system/firmware", "").0, 200);
    assert_eq!(ask(&mut unit, HttpMethod::Get, "sensor/config", "").0, 404);
}

#[test]
fn lines_ask_for_one_value_and_for_new_alerts() {
    let mut unit = unit("ouster-os1-64-2.0", |_| {});
    unit.handle_peer(SimTime::ZERO, PEER, true);
    assert_eq!(say(&mut unit, "get_config_param active lidar_mode"), "\"1024x10\"");
    assert_eq!(say(&mut unit, "get_config_param staged udp_port_lidar"), "7502");
    assert!(say(&mut unit, "get_config_param active no_such_key").starts_with("error: "));
    unit.faults = OusterFaults { alerts: vec![alert(None)], ..OusterFaults::default() };
    run(&mut unit, SimTime(250 * MS));
    for (line, events) in [("get_alerts", 2), ("get_alerts 1", 1), ("get_alerts 2", 0)] {
        let told: Value = serde_json::from_str(&say(&mut unit, line)).unwrap();
        assert_eq!(told["log"].as_array().map(Vec::len), Some(events), "{line}");
        assert_eq!(told["next_cursor"], 2);
    }
}

#[test]
fn parameters_can_be_set_in_any_order() {
    let mut unit = unit("ouster-os1-64-2.0", |_| {});
    unit.handle_peer(SimTime::ZERO, PEER, true);
    // The same clients set parameters in alphabetical order.
    assert_eq!(say(&mut unit, "set_config_param phase_lock_enable true"), "set_config_param");
    assert!(say(&mut unit, "reinitialize").starts_with("error: phase_lock_enable"));
    let line = "set_config_param timestamp_mode \"TIME_FROM_PTP_1588\"";
    assert_eq!(say(&mut unit, line), "set_config_param");
    assert_eq!(say(&mut unit, "reinitialize"), "reinitialize");
    let line = "set_config_param . {\"lidar_mode\": \"512x10\", \"signal_multiplier\": 1}";
    assert_eq!(say(&mut unit, line), "set_config_param");
}

#[test]
fn firmware_2_0_shifts_pixels_and_reports_light_in_its_own_way() {
    let mut unit = unit("ouster-os1-64-2.0", |_| {});
    let format = documents::of_metadata(&unit, "lidar_data_format").unwrap();
    let shifts = &format["pixel_shift_by_row"];
    assert_eq!((&shifts[0], &shifts[1]), (&json!(16), &json!(0)));
    let sent = run(&mut unit, SimTime(200 * MS));
    let (_, bytes) = lidar_packets(&sent).next().unwrap();
    let packet = Packet::parse(LidarFormat::Legacy, 64, bytes).unwrap();
    let (_, pixels) = packet.columns().next().unwrap();
    let first = Pixel::get(LidarFormat::Legacy, &pixels[..12]).returns[0];
    // 100 photons times the square of 10.016 m.
    assert_eq!((first.range_mm, first.reflectivity), (10_016, 10_032));
}

#[test]
fn older_words_mean_what_newer_ones_do() {
    let mut unit = unit("ouster-os1-64-2.0", |_| {});
    unit.handle_peer(SimTime::ZERO, PEER, true);
    let staged = |unit: &mut Ouster| -> Value {
        serde_json::from_str(&say(unit, "get_config_param staged")).unwrap()
    };
    say(&mut unit, "set_config_param auto_start_flag 0");
    assert_eq!(staged(&mut unit)["operating_mode"], "STANDBY");
    say(&mut unit, "set_config_param operating_mode NORMAL");
    assert_eq!(staged(&mut unit)["auto_start_flag"], 1);
    say(&mut unit, "set_config_param udp_ip 10.0.0.7");
    assert_eq!(staged(&mut unit)["udp_dest"], "10.0.0.7");
    // Clients send back all values with their changes.
    let mut all = staged(&mut unit);
    all["udp_dest"] = json!("10.0.0.8");
    assert_eq!(say(&mut unit, &format!("set_config_param . {all}")), "set_config_param");
    assert_eq!(staged(&mut unit)["udp_ip"], "10.0.0.8");
}

/// Sends every request of the tables to each kind of firmware: valid, shortened, lengthened and doubled.
#[test]
fn every_request_is_answered_as_its_table_says() {
    for name in ["ouster-os1-64-2.0", NAME, LATER] {
        let profile = driver(name);
        let tables = crate::families::family_of(&profile).commands(&profile);
        for row in &tables[0].rows {
            let (word, url) = row.code.split_once(' ').unwrap();
            let method = method(word);
            for (nth, body) in variants(row.request.as_bytes()).iter().enumerate() {
                let mut unit = unit(name, |_| {});
                let body = String::from_utf8_lossy(body);
                let (status, answer) = ask(&mut unit, method, url, &body);
                assert!(answer.to_string().len() < 100_000);
                let is_served =
                    matches!(row.conduct, Conduct::Acts | Conduct::Kept | Conduct::Constant);
                if !is_served {
                    assert!(matches!(status, 404 | 405), "{name} {}: {status}", row.code);
                } else if nth == 0 {
                    assert!(status < 300, "{name} {}: {status} {answer}", row.code);
                }
                if nth == 0 && is_served && word == "PUT" {
                    assert_eq!(get(&mut unit, url).to_string(), row.request);
                }
                if !url.starts_with("system/") {
                    get(&mut unit, "time");
                }
            }
        }
        let is_early = name.ends_with("2.0");
        for row in tables[1].rows.iter().filter(|row| !row.request.is_empty()) {
            let wanted = row.request.replace(';', ",");
            for (nth, text) in variants(wanted.as_bytes()).iter().enumerate() {
                let mut unit = unit(name, |_| {});
                unit.handle_peer(SimTime::ZERO, PEER, true);
                let text = String::from_utf8_lossy(text);
                let (is_done, active) = if is_early {
                    let line = format!("set_config_param {} {text}", row.code);
                    let answer = say(&mut unit, &line);
                    say(&mut unit, "reinitialize");
                    let active = say(&mut unit, "get_config_param active");
                    (!answer.starts_with("error"), serde_json::from_str(&active).unwrap())
                } else {
                    let body = format!("{{\"{}\": {text}}}", row.code);
                    let (status, _) = ask(&mut unit, HttpMethod::Post, "sensor/config", &body);
                    (status < 300, get(&mut unit, "sensor/config"))
                };
                let is_refused = row.conduct == Conduct::Refused;
                assert!(!is_refused || !is_done, "{name} {}", row.code);
                if nth == 0 && !is_refused {
                    assert!(is_done, "{name} {}: {wanted}", row.code);
                    let read: &Value = &active[row.code];
                    assert_eq!(
                        *read,
                        serde_json::from_str::<Value>(&wanted).unwrap(),
                        "{name} {}",
                        row.code
                    );
                }
            }
        }
        for row in tables.get(2).iter().flat_map(|table| &table.rows) {
            for (nth, line) in variants(row.request.as_bytes()).iter().enumerate() {
                let mut unit = unit(name, |_| {});
                unit.handle_peer(SimTime::ZERO, PEER, true);
                let answer = say(&mut unit, &String::from_utf8_lossy(line));
                assert!(answer.len() < 20_000);
                if nth == 0 {
                    let is_refused = row.conduct == Conduct::Refused;
                    assert_eq!(answer.starts_with("error"), is_refused, "{}: {answer}", row.code);
                }
                assert!(say(&mut unit, "get_time_info").starts_with('{'));
            }
        }
    }
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    for name in ["ouster-os1-64-2.0", "ouster-os1-128-2.5", "ouster-os1-128-3.1"] {
        let profile = catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"));
        let tables = crate::families::family_of(&profile).commands(&profile);
        let mut unit = unit(name, |_| {});
        constants_hold(
            &tables[0].rows,
            &["POST system/cmd/reboot", "POST system/restart"],
            |row| {
                let (word, url) = row.code.split_once(' ').unwrap();
                ask(&mut unit, method(word), url, row.request)
            },
        );
        // A constant parameter has the factory value and accepts no other.
        let constant = |row: &&CommandRow| row.conduct == Conduct::Constant;
        for row in tables[1].rows.iter().filter(constant) {
            let factory = get(&mut unit, "sensor/config")[row.code].clone();
            assert_eq!(factory.to_string(), row.request, "{name} {}", row.code);
            for other in ["8", "\"ACCEL32_GYRO32_NMEA\""] {
                let body = format!("{{\"{}\": {other}}}", row.code);
                let (status, _) = ask(&mut unit, HttpMethod::Post, "sensor/config", &body);
                assert!(status >= 400, "{name} {}: {other}", row.code);
            }
            assert_eq!(get(&mut unit, "sensor/config")[row.code], factory, "{name} {}", row.code);
        }
        let Some(lines) = tables.get(2) else { continue };
        unit.handle_peer(SimTime::ZERO, PEER, true);
        constants_hold(&lines.rows, &["reinitialize"], |row| say(&mut unit, row.request));
    }
}
