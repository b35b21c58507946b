//! Tests of the web interface.

use crate::families::catalogue;
use crate::velodyne::profile::VelodyneProfile;
use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use super::changes::{MS, Run};
use super::*;
use crate::build;
use crate::commands::{Conduct, constants_hold, variants};
use crate::config::rig::Rig;
use crate::velodyne::web_settings::ThermalProfile;
use crate::wire::http::HttpMethod;
use crate::wire::velodyne::position::PpsStatus;

fn ask(run: &mut Run, method: HttpMethod, path: &str, body: &str) -> HttpResponse {
    let request =
        HttpRequest { method, path: path.into(), body: body.into(), ..HttpRequest::default() };
    let response = run.unit.handle_http(SimTime(run.now), &request);
    run.collect();
    response
}

pub(super) fn get(run: &mut Run, path: &str) -> Value {
    let response = ask(run, HttpMethod::Get, path, "");
    assert_eq!((response.status, response.content_type), (200, "application/json"), "{path}");
    serde_json::from_slice(&response.body).expect("JSON")
}

fn post(run: &mut Run, path: &str, body: &str) -> u16 {
    ask(run, HttpMethod::Post, path, body).status
}

fn vlp16() -> Run {
    Run::new(unit("velodyne-vlp16-3.0", |_| {}), 100)
}

#[test]
fn documents_have_the_shapes_that_clients_read() {
    let mut run = vlp16();
    run.until(100, 10);
    let response = ask(&mut run, HttpMethod::Get, "/cgi/settings.json", "");
    assert_eq!(
        String::from_utf8(response.body).unwrap(),
        r#"{"returns":"Strongest","rpm":600,"laser":"On","fov":{"start":0,"end":359},"host":{"addr":"255.255.255.255","dport":2368,"tport":8308},"net":{"addr":"192.168.1.201","mask":"255.255.255.0","gateway":"192.168.1.1","dhcp":"Off"},"phaselock":{"enabled":"Off","offset":0}}"#
    );
    let status = get(&mut run, "/cgi/status.json");
    let rpm = status["motor"]["rpm"].as_u64().unwrap();
    assert!((597..=603).contains(&rpm), "{rpm}");
    assert_eq!(status["gps"]["pps_state"], "Locked"); // the clock of these tests needs no GNSS receiver
    assert_eq!(
        (&status["motor"]["state"], &status["motor"]["lock"]),
        (&"On".into(), &"Off".into())
    );
    assert_eq!(status["laser"]["state"], "On");
    assert_eq!(get(&mut run, "/cgi/info.json")["model"], "VLP-16");
    let snapshot = get(&mut run, "/cgi/snapshot.hdl");
    assert_eq!(snapshot["config"], get(&mut run, "/cgi/settings.json"));
    // The manual's formulas give the physical quantities.
    let diag = get(&mut run, "/cgi/diag.json");
    let volts = |path: &str| diag.pointer(path).unwrap().as_f64().unwrap() * 5.0 / 4096.0;
    assert!((volts("/volt_temp/bot/pwr_v_in") * 11.0 - 12.2).abs() < 0.02);
    assert!((101.0 * (volts("/volt_temp/top/hv") - 5.0) + 141.0).abs() < 0.1);
}

#[test]
fn the_converters_read_what_the_unit_does() {
    let mut run = vlp16();
    run.unit.boards = Boards::new(&ThermalProfile {
        power_up_c: 25.0,
        top_c: 55.0,
        bottom_c: 45.0,
        warm_up_s: 1.0,
    });
    // Temperatures and current by the manual's formulas.
    let read = |run: &mut Run| {
        let diag = get(run, "/cgi/diag.json");
        let volts = |path: &str| diag.pointer(path).unwrap().as_f64().unwrap() * 5.0 / 4096.0;
        let celsius = |path: &str| (2.1962e6 + (1.8639 - volts(path)) / 3.88e-6).sqrt() - 1481.96;
        let amperes = 10.0 * (volts("/volt_temp/bot/i_out") - 2.5);
        [celsius("/volt_temp/top/lm20_temp"), celsius("/volt_temp/bot/lm20_temp"), amperes]
    };
    let is_near = |told: [f64; 3], expected: [f64; 3]| {
        // A count is 0.1 degrees or 12 mA.
        told.iter().zip(expected).all(|(told, expected)| (told - expected).abs() < 0.06)
    };
    let told = read(&mut run);
    assert!(is_near(told, [25.0, 25.0, 0.65]), "{told:?}");
    run.until(1000, 10);
    assert_eq!(post(&mut run, "/cgi/setting", "laser=Off&rpm=0"), 204);
    run.until(8000, 10);
    let told = read(&mut run);
    assert!(is_near(told, [54.99, 44.99, 0.45]), "{told:?}");
    let status = get(&mut run, "/cgi/status.json");
    assert_eq!((&status["laser"]["state"], &status["motor"]["rpm"]), (&"Off".into(), &0.into()));
}

#[test]
fn forms_set_what_they_name_or_nothing() {
    let mut run = vlp16();
    for (path, body, key, value) in [
        ("/cgi/setting", "rpm=300", "/rpm", "300"),
        ("/cgi/setting", "laser=Off&rpm=0&returns=last", "/laser", "\"Off\""),
        ("/cgi/setting", "laser=on", "/laser", "\"On\""),
        ("/cgi/setting", "returns=Dual", "/returns", "\"Dual\""),
        ("/cgi/setting/", "fov_start=10&fov_end=20", "/fov/start", "10"),
        ("/cgi/setting/fov", "start=90&end=270", "/fov/end", "270"),
        ("/cgi/setting/host", "addr=192.168.1.77&dport=2369&tport=8309", "/host/dport", "2369"),
        (
            "/cgi/setting/net",
            "addr=10.0.0.2&mask=255.0.0.0&gateway=10.0.0.1&dhcp=on",
            "/net/dhcp",
            "\"On\"",
        ),
        (
            "/cgi/setting/phaselock",
            "enabled=on&offset=27000&offsetInput=270",
            "/phaselock/offset",
            "27000",
        ),
        ("/cgi/setting/phaselock", "offsetInput=12.5", "/phaselock/offset", "1250"),
    ] {
        assert_eq!(post(&mut run, path, body), 204, "{path} {body}");
        let settings = get(&mut run, "/cgi/settings.json");
        assert_eq!(settings.pointer(key).unwrap().to_string(), value, "{path} {body}");
    }
    let before = get(&mut run, "/cgi/settings.json");
    for (path, body) in [
        ("/cgi/setting", ""),
        ("/cgi/setting", "rpm"),
        ("/cgi/setting", "rpm=601"),
        ("/cgi/setting", "rpm=240"),
        ("/cgi/setting", "rpm=-300"),
        ("/cgi/setting", "rpm=600&laser=perhaps"),
        ("/cgi/setting", "returns=Triple"),
        ("/cgi/setting", "start=3"),
        ("/cgi/setting/fov", "start=360"),
        ("/cgi/setting/host", "addr=localhost"),
        ("/cgi/setting/host", "dport=0"),
        ("/cgi/setting/phaselock", "offset=36000"),
        ("/cgi/setting/phaselock", "offsetInput=NaN"),
        ("/cgi/setting/net", "mask=\u{ff}"),
    ] {
        assert_eq!(post(&mut run, path, body), 400, "{path} {body}");
    }
    assert_eq!(get(&mut run, "/cgi/settings.json"), before);
    for (method, path, status) in [
        (HttpMethod::Get, "/cgi/setting", 405),
        (HttpMethod::Get, "/cgi/nothing.json", 404),
        (HttpMethod::Post, "/cgi/status.json", 405),
        (HttpMethod::Post, "/tab/config.html", 404),
        (HttpMethod::Other, "/cgi/status.json", 405),
    ] {
        assert_eq!(ask(&mut run, method, path, "").status, status, "{path}");
    }
}

#[test]
fn a_change_of_host_leaves_the_position_port_as_profile_and_rig_say() {
    let factory = |port: u16| {
        let profile = catalogue().profile("velodyne-vlp16-3.0").unwrap();
        let Some(driver) = profile.data::<VelodyneProfile>() else { panic!() };
        let mut driver = VelodyneProfile::clone(driver);
        driver.position.port = port;
        let settings = driver.defaults.clone();
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        let (noise, faults) = (NoiseSource::new(1, "puck"), DeviceFaults::default());
        Box::new(Velodyne::new(&driver, &settings, None, noise, epoch, &faults))
    };
    let linked = |link: &str| {
        let rig = format!(
            "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n[[device]]\nname = \"puck\"\nprofile = \"velodyne-vlp16-3.0\"\n\
             link = {{ udp = {{ to = \"10.1.2.3:4000\"{link} }} }}\n"
        );
        let rig = Rig::parse("rig", &rig, Path::new("."), &[], catalogue())
            .unwrap_or_else(|e| panic!("{e}"));
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        build(&rig.devices[0], &DeviceFaults::default(), 1, epoch).device
    };
    let units: [(Box<dyn Device>, u16); 3] =
        [(factory(9001), 9001), (linked(""), 8308), (linked(", position_port = 9308"), 9308)];
    for (mut unit, port) in units {
        let body = "addr=192.168.1.77".into();
        let request = HttpRequest {
            method: HttpMethod::Post,
            path: "/cgi/setting/host".into(),
            body,
            ..HttpRequest::default()
        };
        assert_eq!(unit.handle_http(SimTime(MS), &request).status, 204);
        let sent = std::iter::from_fn(|| unit.poll_transmit());
        let hosts: Vec<_> = sent
            .filter_map(|transmit| match transmit.output {
                Output::Host(host) => Some((host.ip.to_string(), host.ports[1])),
                _ => None,
            })
            .collect();
        assert_eq!(hosts, [("192.168.1.77".to_owned(), port)]);
    }
}

#[test]
fn a_reset_goes_back_to_what_was_saved() {
    let mut run = vlp16();
    run.unit.web.profile.reset_ns = 500 * MS;
    run.until(10, 1);
    assert_eq!(post(&mut run, "/cgi/setting", "rpm=1200&returns=Last"), 204);
    assert_eq!(post(&mut run, "/cgi/save", "data=submit"), 204);
    assert_eq!(post(&mut run, "/cgi/setting", "rpm=300&returns=Dual"), 204);
    run.until(1000, 1);
    assert_eq!(post(&mut run, "/cgi/reset", "reset_system"), 204);
    assert_eq!(ask(&mut run, HttpMethod::Get, "/cgi/settings.json", "").status, 503);
    run.until(1600, 1);
    let settings = get(&mut run, "/cgi/settings.json");
    assert_eq!((&settings["rpm"], &settings["returns"]), (&1200.into(), &"Last".into()));
    run.until(2000, 1);
    let gap = |ms: f64| run.packets().filter(move |(due, _)| (due - ms).abs() < 200.0).count();
    // The unit is down from 1.02 s to 1.52 s; the rotor slows down and speeds up again.
    assert_eq!(gap(1270.0), 0);
    assert!(gap(1800.0) > 295);
    let modes: Vec<_> = run.packets().map(|(_, packet)| packet.status_bytes()[0]).collect();
    assert_eq!((modes[0], modes[modes.len() - 1]), (0x37, 0x38));
    assert!(modes.contains(&0x39));
}

/// According to the manuals, a reset restarts the whole system: all output stops, and the clock counts from zero.
#[test]
fn position_packets_pause_while_a_unit_starts_anew() {
    let mut run = Run::new(
        unit("velodyne-vls128-5.2", |settings| {
            settings.clock.reference = ClockReference::FreeRunning;
            settings.clock.pps_lock_s = 0;
        }),
        100,
    );
    run.unit.web.profile.reset_ns = 500 * MS;
    run.unit.connect_receiver();
    let pulse = |run: &mut Run| {
        let signal = CableSignal::PulsePerSecond(true);
        run.unit.handle_cable(SimTime(run.now), &signal);
        run.collect();
    };
    run.until(500, 7);
    pulse(&mut run);
    run.until(1000, 7);
    assert_eq!(post(&mut run, "/cgi/reset", "reset_system"), 204);
    run.until(1200, 7);
    pulse(&mut run); // the unit is down and ignores it
    run.until(2600, 7);
    let position = |from_ms: u64, to_ms: u64| {
        let range = SimTime(from_ms * MS)..SimTime(to_ms * MS);
        run.position.range(range).map(|(_, packet)| packet.clone()).collect::<Vec<_>>()
    };
    // A position packet every 2.4276 ms on average. It is created after up to 0.75 ms and leaves after 354 us.
    assert!((400..420).contains(&position(0, 1000).len()));
    assert_eq!(position(1001, 1520).len(), 0);
    let after = position(1520, 2600);
    assert!((435..450).contains(&after.len()), "{}", after.len());
    assert!(after[0].timestamp_us < 1000, "{}", after[0].timestamp_us);
    assert!(after.iter().all(|packet| packet.pps_status() == Some(PpsStatus::Absent)));
    assert_eq!(position(600, 1000)[0].pps_status(), Some(PpsStatus::Locked));
    let seconds = |packet: &PositionPacket| {
        let since = &packet.telemetry[154..158];
        u32::from_le_bytes([since[0], since[1], since[2], since[3]])
    };
    assert_eq!((seconds(&after[0]), seconds(&after[after.len() - 1])), (0, 1));
    // Data packets stop and start at the same times.
    let data = |from: f64, to: f64| run.packets().filter(move |(due, _)| (from..to).contains(due));
    assert_eq!(data(1020.2, 1520.0).count(), 0);
    let (due, first) = data(1520.0, 2600.0).next().unwrap();
    let started_us = (due - 1520.0) * 1e3 - 3.0 * 57.8;
    assert!((f64::from(first.timestamp_us()) - started_us - 8.7).abs() < 1.1);
}

#[test]
fn the_page_tells_what_it_is() {
    let mut run = vlp16();
    run.unit.web.profile.model = "<b>\"&".into();
    let response = ask(&mut run, HttpMethod::Get, "/", "");
    let page = String::from_utf8(response.body).unwrap();
    assert!(page.contains("emulated by Menura") && page.contains("&lt;b&gt;&quot;&amp;"), "{page}");
    assert!(!page.contains("<b>\"") && !page.contains("http://") && !page.contains("https://"));
    for field in ["motor.rpm", "gps.pps_state", "volt_temp.bot.i_out", "phaselock.offset"] {
        assert!(page.contains(&format!("<td>{field}</td>")), "{field}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn anything_is_answered(
        path in prop::sample::select(vec![
            "/cgi/setting", "/cgi/setting/fov", "/cgi/setting/host", "/cgi/setting/net",
            "/cgi/setting/phaselock", "/cgi/save", "/x",
        ]),
        body in "((rpm|returns|laser|start|end|addr|dport|offset|offsetInput|enabled|dhcp)(=([0-9]{1,6}|on|off|Dual|-1|1e9|NaN|%00|1.2.3.4)?)?&?){0,4}",
    ) {
        let mut run = vlp16();
        let status = post(&mut run, path, &body);
        prop_assert!([204, 400, 404].contains(&status), "{status}");
    }
}

/// Sends every request of the command table to each product, also shortened, lengthened and doubled.
#[test]
fn every_request_is_answered_as_its_table_says() {
    let profiles = catalogue().profiles().iter();
    for profile in profiles.filter(|profile| profile.data::<VelodyneProfile>().is_some()) {
        let [table] = &crate::families::family_of(profile).commands(profile)[..] else { panic!() };
        for row in &table.rows {
            let mut words = row.code.split(' ');
            let (word, path) = (words.next().unwrap(), words.next().unwrap());
            let method = if word == "GET" { HttpMethod::Get } else { HttpMethod::Post };
            for (nth, body) in variants(row.request.as_bytes()).iter().enumerate() {
                let mut run = Run::new(unit(&profile.name, |_| {}), 100);
                let body = String::from_utf8_lossy(body);
                let response = ask(&mut run, method, path, &body);
                assert!(response.body.len() < 100_000);
                match row.conduct {
                    Conduct::Refused | Conduct::NotMade => assert_eq!(response.status, 404),
                    _ if nth == 0 => {
                        assert!(response.status < 400, "{} {}", profile.name, row.code);
                    }
                    _ => {}
                }
                if path == "/cgi/reset" {
                    continue;
                }
                let settings = get(&mut run, "/cgi/settings.json");
                if nth == 0 && row.conduct == Conduct::Kept {
                    let (key, value) = row.request.split_once('=').unwrap();
                    assert_eq!(settings["net"][key], value, "{}", row.code);
                }
            }
        }
    }
}

#[test]
fn constant_answers_stay_whatever_is_set() {
    let profiles = catalogue().profiles().iter();
    for profile in profiles.filter(|profile| profile.data::<VelodyneProfile>().is_some()) {
        let [table] = &crate::families::family_of(profile).commands(profile)[..] else { panic!() };
        let mut run = Run::new(unit(&profile.name, |_| {}), 100);
        constants_hold(&table.rows, &["POST /cgi/reset"], |row| {
            let (word, path) = row.code.split_once(' ').unwrap();
            let path = path.split(' ').next().unwrap_or_default();
            let method = if word == "GET" { HttpMethod::Get } else { HttpMethod::Post };
            ask(&mut run, method, path, row.request).body
        });
    }
}
