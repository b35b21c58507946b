//! The web interface.

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use super::changes::{MS, Run};
use super::*;
use crate::config::rig::Rig;
use crate::devices::build;
use crate::links::http::HttpMethod;

fn ask(run: &mut Run, method: HttpMethod, path: &str, body: &str) -> HttpResponse {
    let request = HttpRequest { method, path: path.into(), body: body.into() };
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
    assert_eq!(status["gps"]["pps_state"], "Locked"); // the clock of these tests is right by itself
    assert_eq!(
        (&status["motor"]["state"], &status["motor"]["lock"]),
        (&"On".into(), &"Off".into())
    );
    assert_eq!(status["laser"]["state"], "On");
    assert_eq!(get(&mut run, "/cgi/info.json")["model"], "VLP-16");
    let snapshot = get(&mut run, "/cgi/snapshot.hdl");
    assert_eq!(snapshot["config"], get(&mut run, "/cgi/settings.json"));
    // The manual's formulas give back the quantities.
    let diag = get(&mut run, "/cgi/diag.json");
    let volts = |path: &str| diag.pointer(path).unwrap().as_f64().unwrap() * 5.0 / 4096.0;
    assert!((volts("/volt_temp/bot/pwr_v_in") * 11.0 - 12.2).abs() < 0.02);
    assert!((101.0 * (volts("/volt_temp/top/hv") - 5.0) + 141.0).abs() < 0.1);
    let celsius =
        (2.1962e6 + (1.8639 - volts("/volt_temp/top/lm20_temp")) / 3.88e-6).sqrt() - 1481.96;
    assert!((celsius - 47.0).abs() < 0.2, "{celsius}");
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
        let profile = Profile::find("velodyne-vlp16-3.0").unwrap();
        let DriverProfile::Velodyne(driver) = &profile.driver else { panic!() };
        let mut driver = VelodyneProfile::clone(driver);
        driver.position.port = port;
        let settings = driver.defaults.clone();
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        Box::new(Velodyne::new(&driver, &settings, None, NoiseSource::new(1, "puck"), epoch))
    };
    let linked = |link: &str| {
        let rig = format!(
            "[world]\nscene = \"room\"\n[robot]\ntrajectory = {{ kind = \"still\" }}\n[[device]]\nname = \"puck\"\nprofile = \"velodyne-vlp16-3.0\"\n\
             link = {{ udp = {{ to = \"10.1.2.3:4000\"{link} }} }}\n"
        );
        let rig = Rig::parse("rig", &rig, Path::new("."), &[]).unwrap_or_else(|e| panic!("{e}"));
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        build(&rig.devices[0], &DeviceFaults::default(), 1, epoch).device
    };
    let units: [(Box<dyn Device>, u16); 3] =
        [(factory(9001), 9001), (linked(""), 8308), (linked(", position_port = 9308"), 9308)];
    for (mut unit, port) in units {
        let body = "addr=192.168.1.77".into();
        let request =
            HttpRequest { method: HttpMethod::Post, path: "/cgi/setting/host".into(), body };
        assert_eq!(unit.handle_http(SimTime(MS), &request).status, 204);
        let sent = std::iter::from_fn(|| unit.poll_transmit());
        let hosts: Vec<_> = sent
            .filter_map(|transmit| match transmit.output {
                Output::Host(host) => Some((host.ip.to_string(), host.telemetry_port)),
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
    // Down from 1.02 s to 1.52 s; the rotor runs down meanwhile, and up again.
    assert_eq!(gap(1270.0), 0);
    assert!(gap(1800.0) > 295);
    let modes: Vec<_> = run.packets().map(|(_, packet)| packet.status_bytes()[0]).collect();
    assert_eq!((modes[0], modes[modes.len() - 1]), (0x37, 0x38));
    assert!(modes.contains(&0x39));
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
