use crate::families::catalogue;
use crate::gnss::profile::GnssProfile;
use proptest::prelude::*;

use super::items::{UART1, output_key, signal_key};
use super::*;
use crate::Output;
use crate::frames::{GeoOrigin, Geodetic, Transform};
use crate::sensors::gnss::settings::{ErrorPreset, GnssSystem};
use crate::sensors::lidar::Scratch;
use crate::sensors::{Sensor, Surroundings};
use crate::wire::framer::Framer;
use crate::wire::nmea::{Content, RawSentence};
use crate::wire::record::Record;
use crate::wire::ubx::cfg::*;
use crate::wire::ubx::mon::MonVer;
use crate::wire::ubx::nav::{NavDop, NavPvt, NavSat, NavTimels};
use crate::wire::ubx::{Frame, Message, Payload};
use crate::world::raycast::OpenSky;
use crate::world::trajectory::Trajectory;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

mod base;
mod conversation;
mod faults;
mod messages;
mod ports;
mod receiver;
mod rover;
mod settings;
mod tables;
mod timing;

/// A receiver on a robot that drives east at 1.5 m/s, with its output.
struct Bench {
    device: Gnss,
    sensor: SkySensor,
    trajectory: Trajectory,
    origin: GeoOrigin,
    now_ns: u64,
    sent: Vec<Transmit>,
}

impl Bench {
    fn new(name: &str, change: impl Fn(&mut GnssSettings)) -> Self {
        Self::starting_at(name, "2026-11-21T09:27:20Z", change)
    }

    fn starting_at(name: &str, start: &str, change: impl Fn(&mut GnssSettings)) -> Self {
        let profile = catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"));
        let Some(driver) = profile.data::<GnssProfile>() else { panic!() };
        let mut settings = driver.defaults.clone();
        change(&mut settings);
        let epoch = Epoch::new(start.parse().unwrap());
        let sensor = SkySensor::new(&settings.receiver, epoch);
        let noise = NoiseSource::new(1, "gnss");
        let origin = GeoOrigin::new(Geodetic {
            latitude_deg: 47.285_233_167,
            longitude_deg: 8.565_265,
            altitude_m: 547.6,
        });
        let robot = crate::config::rig::RobotConfig::new(
            crate::config::rig::TrajectoryConfig::Line {
                start_m: [0.0; 3],
                yaw_rad: 0.0,
                speed_m_s: 1.5,
            },
            false,
        );
        Self {
            device: Gnss::new(driver, &settings, &sensor, noise, epoch),
            sensor,
            trajectory: Trajectory::new(&robot, &origin, None).unwrap(),
            origin,
            now_ns: 0,
            sent: Vec::new(),
        }
    }

    /// Puts the antenna at rest at the origin.
    fn stands(&mut self) {
        let still =
            crate::config::rig::TrajectoryConfig::Still { position_m: [0.0; 3], yaw_rad: 0.0 };
        let robot = crate::config::rig::RobotConfig::new(still, false);
        self.trajectory = Trajectory::new(&robot, &self.origin, None).unwrap();
    }

    /// Runs for `seconds` in steps of `step_ns`, with measurements 100 ms ahead.
    fn run_by(&mut self, seconds: f64, step_ns: u64) {
        let end_ns = self.now_ns + (seconds * 1e9) as u64;
        let mut scratch = Scratch::default();
        while self.now_ns < end_ns {
            self.now_ns = (self.now_ns + step_ns).min(end_ns);
            while let Some(request) = self.device.poll_request(SimTime(self.now_ns + 100 * MS)) {
                let surroundings = Surroundings {
                    caster: &OpenSky,
                    trajectory: &self.trajectory,
                    origin: &self.origin,
                    carrier: None,
                    body_from_sensor: Transform::IDENTITY,
                    weather: None,
                };
                let measurement = self.sensor.measure(request, &surroundings, &mut scratch);
                self.device.handle_measurement(&measurement);
                self.collect();
            }
            self.device.advance(SimTime(self.now_ns));
            self.collect();
        }
    }

    fn run(&mut self, seconds: f64) {
        self.run_by(seconds, 10 * MS);
    }

    fn collect(&mut self) {
        while let Some(transmit) = self.device.poll_transmit() {
            if let Some(last) = self.sent.last() {
                assert!(last.due <= transmit.due, "due times went back");
            }
            self.sent.push(transmit);
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.device.handle_input(SimTime(self.now_ns), bytes);
        self.collect();
    }

    /// Sends a message, waits, and returns the received frames.
    fn ask(&mut self, message: &impl Payload) -> Vec<Frame> {
        self.ask_frame(&message.to_frame())
    }

    fn ask_frame(&mut self, frame: &Frame) -> Vec<Frame> {
        self.sent.clear();
        self.say(&frame.to_bytes());
        // Answers are queued behind the bytes that are being sent.
        for _ in 0..50 {
            self.run(0.02);
            let is_answered = |answer: &Frame| match frame.id.class {
                0x06 => answer.id.class == 0x05,
                _ => answer.id == frame.id,
            };
            if self.frames().iter().any(is_answered) {
                break;
            }
        }
        self.frames()
    }

    fn bytes(&self) -> impl Iterator<Item = (u64, &Vec<u8>)> {
        self.sent.iter().filter_map(|transmit| match &transmit.output {
            Output::Bytes(bytes) => Some((transmit.due.0, bytes)),
            _ => None,
        })
    }

    fn frames(&self) -> Vec<Frame> {
        self.bytes().filter_map(|(_, bytes)| Frame::parse(bytes).ok()).collect()
    }

    fn sentences(&self) -> Vec<RawSentence> {
        self.bytes().filter_map(|(_, bytes)| RawSentence::parse(bytes).ok()).collect()
    }

    fn count(&self, address: &str) -> usize {
        self.sentences().iter().filter(|sentence| sentence.address == address).count()
    }

    fn pvts(&self) -> Vec<NavPvt> {
        let messages = self.frames();
        let messages = messages.iter().filter(|frame| frame.id == NavPvt::ID);
        messages.map(|frame| NavPvt::parse(&frame.payload).unwrap()).collect()
    }
}

fn is_ack(frames: &[Frame], id: MessageId) -> bool {
    let ack = AckAck { class: id.class, id: id.id }.to_frame();
    let nak = AckNak { class: id.class, id: id.id }.to_frame();
    assert!(frames.contains(&ack) != frames.contains(&nak), "{frames:?}");
    frames.contains(&ack)
}

fn item(key: Key, value: u64) -> Item {
    Item { key, value }
}

fn valset(items: &[Item]) -> CfgValset {
    CfgValset { layers: 1, items: items.to_vec(), ..CfgValset::default() }
}

const F9P: &str = "ublox-zed-f9p-hpg1.11";

#[test]
fn an_epoch_has_the_captures_order() {
    let mut bench = Bench::new(F9P, |settings| {
        settings.sentences =
            crate::gnss::profile::SentenceKind::WORDS.iter().map(|(_, kind)| *kind).collect();
        settings.baud = 115_200;
    });
    bench.run(8.95);
    bench.sent.clear();
    bench.run(0.5);
    let mut order: Vec<String> = bench.sentences().iter().map(|s| s.address.clone()).collect();
    order.dedup();
    let expected = [
        "GNRMC", "GNVTG", "GNGNS", "GNGGA", "GNGSA", "GPGSV", "GLGSV", "GAGSV", "GBGSV", "GNGLL",
        "GNGST", "GNZDA", "GNGBS",
    ];
    assert_eq!(order, expected);
}

#[test]
fn sentences_agree_with_another_reader_and_with_the_truth() {
    let mut bench = Bench::new(F9P, |settings| {
        settings.receiver.apply(ErrorPreset::None);
        settings.receiver.grades.iter_mut().for_each(|grade| grade.velocity_std_m_s = 0.0);
        settings.baud = 115_200;
    });
    bench.run(12.5);
    let mut seen = 0;
    for (_, bytes) in bench.bytes() {
        let text = std::str::from_utf8(bytes).unwrap();
        let parsed = nmea::parse_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        match parsed {
            nmea::ParseResult::GGA(gga) if gga.latitude.is_some() => {
                seen += 1;
                assert!((gga.latitude.unwrap() - 47.285_233_167).abs() < 2e-7);
                // 12 s at 1.5 m/s are less than 20 m; a degree of longitude is 75 km here.
                let east_m = (gga.longitude.unwrap() - 8.565_265) * 75_640.0;
                assert!((0.0..20.0).contains(&east_m), "{east_m}");
                let height = gga.altitude.unwrap() + gga.geoid_separation.unwrap();
                assert!((height - 547.6).abs() < 0.11, "{height}");
            }
            nmea::ParseResult::RMC(rmc) if rmc.lat.is_some() => {
                assert!((rmc.true_course.unwrap() - 90.0).abs() < 0.01);
                assert!((rmc.speed_over_ground.unwrap() - 2.916).abs() < 0.002);
            }
            _ => {}
        }
    }
    assert!(seen >= 5, "{seen}");
}

#[test]
fn the_position_in_every_message_is_the_same() {
    let mut bench = Bench::new(F9P, |settings| {
        settings.messages =
            ["NAV-PVT", "NAV-HPPOSLLH", "NAV-DOP", "NAV-SAT", "NAV-COV"].map(String::from).to_vec();
        settings.high_precision = true;
        settings.baud = 460_800;
        settings.period_ns = 100 * MS;
    });
    bench.run(6.0);
    let mut gga = None;
    let mut compared = 0;
    let mut pvt: Option<NavPvt> = None;
    for (_, bytes) in bench.bytes() {
        if let Ok(raw) = RawSentence::parse(bytes) {
            if let Some(Ok(Sentence { content: Content::Gga(g), .. })) = Sentence::from_raw(&raw) {
                gga = g.position.map(|at| (at, g.hdop.unwrap().to_f64()));
            }
            continue;
        }
        let message = Message::from_frame(&Frame::parse(bytes).unwrap()).unwrap().unwrap();
        match (message, &gga, &pvt) {
            (Message::NavPvt(new), Some((at, _)), _) => {
                assert!((f64::from(new.lat_1e7_deg) * 1e-7 - at.latitude_deg()).abs() < 6e-8);
                assert!((f64::from(new.lon_1e7_deg) * 1e-7 - at.longitude_deg()).abs() < 6e-8);
                compared += 1;
                pvt = Some(new);
            }
            (Message::NavHpposllh(hp), _, Some(pvt)) => {
                assert_eq!(hp.lat_1e7_deg, pvt.lat_1e7_deg);
                assert!(hp.lat_hp_1e9_deg.abs() <= 50);
            }
            (Message::NavDop(dop), Some((_, hdop)), Some(pvt)) => {
                assert_eq!(dop.p_dop_centi, pvt.p_dop_centi);
                assert!((f64::from(dop.h_dop_centi) / 100.0 - hdop).abs() < 1e-9);
            }
            (Message::NavSat(sat), _, Some(pvt)) => {
                let used = sat.satellites.iter().filter(|s| s.flags & 8 != 0).count();
                assert_eq!(used, usize::from(pvt.num_sv));
            }
            (Message::NavCov(cov), _, Some(pvt)) => {
                let h_acc = f64::from(cov.pos_m2[0] + cov.pos_m2[3]).sqrt() * 1000.0;
                assert!((h_acc - f64::from(pvt.h_acc_mm)).abs() < 1.0 + h_acc * 1e-5);
            }
            _ => {}
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn steps_of_time_do_not_change_the_bytes() {
    let run = |step_ns| {
        let mut bench = Bench::new(F9P, |settings| settings.period_ns = 100 * MS);
        bench.run_by(5.0, step_ns);
        bench.sent
    };
    let fine = run(MS);
    let coarse = run(90 * MS);
    assert!(fine.len() > 200);
    assert_eq!(fine[..coarse.len()], coarse[..]);
}

#[test]
fn valset_changes_the_stream() {
    let mut bench = Bench::new(F9P, |settings| settings.baud = 460_800);
    bench.run(6.0);
    let pvt = rate_key(NavPvt::ID, UART1).unwrap();
    let gga = rate_key(MessageId::new(0xf0, 0), UART1).unwrap();
    let set = valset(&[item(key::RATE_MEAS, 100), item(pvt, 1), item(gga, 0)]);
    assert!(is_ack(&bench.ask(&set), CfgValset::ID));
    bench.run(1.0);
    bench.sent.clear();
    bench.run(2.0);
    let pvts = bench.pvts();
    assert!((18..=21).contains(&pvts.len()), "{}", pvts.len());
    for pair in pvts.windows(2) {
        assert_eq!(pair[1].itow_ms - pair[0].itow_ms, 100);
    }
    assert_eq!(bench.count("GNGGA"), 0);

    let asked = CfgValget::Request { layer: 0, position: 0, keys: vec![key::RATE_MEAS] };
    let frames = bench.ask(&asked);
    let answer =
        CfgValget::Answer { layer: 0, position: 0, items: vec![item(key::RATE_MEAS, 100)] };
    assert!(frames.contains(&answer.to_frame()) && is_ack(&frames, CfgValget::ID));
    // The factory value is unchanged, and flash has no value.
    let asked = CfgValget::Request { layer: 7, position: 0, keys: vec![key::RATE_MEAS] };
    let answer =
        CfgValget::Answer { layer: 7, position: 0, items: vec![item(key::RATE_MEAS, 1000)] };
    assert!(bench.ask(&asked).contains(&answer.to_frame()));
    let asked = CfgValget::Request { layer: 2, position: 0, keys: vec![key::RATE_MEAS] };
    assert!(!is_ack(&bench.ask(&asked), CfgValget::ID));
}

#[test]
fn valdel_forgets_a_layer() {
    let mut bench = Bench::new(F9P, |_| {});
    bench.run(1.0);
    let asked = CfgValget::Request { layer: 2, position: 0, keys: vec![key::RATE_MEAS] };
    let in_flash = CfgValset { layers: 4, ..valset(&[item(key::RATE_MEAS, 200)]) };
    assert!(is_ack(&bench.ask(&in_flash), CfgValset::ID));
    let answer =
        CfgValget::Answer { layer: 2, position: 0, items: vec![item(key::RATE_MEAS, 200)] };
    assert!(bench.ask(&asked).contains(&answer.to_frame()));
    // Items that are only in flash are not in effect.
    assert_eq!(bench.device.period_ns, SECOND);
    let delete = CfgValdel { layers: 4, keys: vec![key::RATE_MEAS], ..CfgValdel::default() };
    assert!(is_ack(&bench.ask(&delete), CfgValdel::ID));
    assert!(!is_ack(&bench.ask(&asked), CfgValget::ID));
    let unknown = CfgValdel { keys: vec![Key(0x3021_7777)], ..delete };
    assert!(!is_ack(&bench.ask(&unknown), CfgValdel::ID));
}

#[test]
fn unknown_keys_and_wild_values_are_refused_whole() {
    let mut bench = Bench::new(F9P, |_| {});
    bench.run(1.0);
    for items in [
        vec![item(key::RATE_MEAS, 100), item(Key(0x3021_7777), 1)],
        vec![item(key::RATE_MEAS, 0)],
        vec![item(key::UART1_BAUDRATE, 12_345)],
    ] {
        assert!(!is_ack(&bench.ask(&valset(&items)), CfgValset::ID), "{items:?}");
    }
    assert_eq!(bench.device.period_ns, SECOND);
}

#[test]
fn groups_are_read_in_pages_of_64() {
    let mut bench = Bench::new(F9P, |settings| settings.baud = 921_600);
    bench.run(0.5);
    let mut all = Vec::new();
    loop {
        let keys = vec![Key(0x2091_ffff)];
        let asked = CfgValget::Request { layer: 0, position: all.len() as u16, keys };
        let frames = bench.ask(&asked);
        let answer = frames.iter().find(|frame| frame.id == CfgValget::ID);
        let Some(answer) = answer else { break };
        let Ok(CfgValget::Answer { items, .. }) = CfgValget::parse(&answer.payload) else {
            panic!()
        };
        if items.is_empty() {
            break;
        }
        assert!(items.len() <= 64);
        all.extend(items);
    }
    // The messages of HPG 1.11, each on five ports.
    let rows = items::ROWS.iter().filter(|row| row.is_in(&bench.device.profile));
    assert_eq!(all.len(), rows.filter(|row| row.message.is_some()).count() * 5);
    assert!(all.len() > 300, "{}", all.len());
    assert!(all.iter().all(|item| item.key.group() == 0x91));
}

#[test]
fn a_new_baud_rate_is_acknowledged_at_the_old_one() {
    let mut bench = Bench::new("ublox-m8n", |settings| settings.sentences.clear());
    bench.run(1.0);
    let set = CfgPrt {
        port: 1,
        mode: 0x08d0,
        baud: 115_200,
        input_protocols: 0x23,
        output_protocols: 0x03,
        ..CfgPrt::default()
    };
    bench.sent.clear();
    bench.say(&set.to_frame().to_bytes());
    bench.run(0.1);
    let [ack, line] = bench.sent.as_slice() else { panic!("{:?}", bench.sent) };
    assert!(matches!(&ack.output, Output::Bytes(bytes) if bytes.len() == 10));
    assert_eq!(line.output, Output::Line(LineSettings::eight_n_one(115_200)));
    // Transmission time of ten bytes at 9600 baud.
    assert_eq!(line.due.0 - ack.due.0, LineSettings::eight_n_one(9600).duration_ns(10));
    let wrong = CfgPrt { baud: 1, ..set };
    assert!(!is_ack(&bench.ask(&wrong), CfgPrt::ID));
    let frames = bench.ask_frame(&Frame::new(CfgPrt::ID, vec![1]));
    let answer = frames.iter().find(|frame| frame.id == CfgPrt::ID).unwrap();
    assert_eq!(CfgPrt::parse(&answer.payload).unwrap().baud, 115_200);
}

/// Start-up of an M8 by the KumarRobotics driver.
#[test]
fn a_ros_driver_gets_its_answers() {
    let mut bench = Bench::new("ublox-m8n", |settings| settings.baud = 115_200);
    bench.run(3.0);
    let frames = bench.ask_frame(&Frame::new(MonVer::ID, vec![]));
    let version = MonVer::parse(&frames[0].payload).unwrap();
    assert!(version.extensions.iter().any(|e| e.starts_with(b"PROTVER=18.00")));
    let rate = CfgRate { measurement_ms: 250, measurements_per_solution: 1, time_reference: 1 };
    assert!(is_ack(&bench.ask(&rate), CfgRate::ID));
    let sbas = Frame::new(MessageId::new(0x06, 0x16), vec![3, 5, 3, 1, 0xc8, 0x2b, 7, 0]);
    let text = Frame::new(MessageId::new(0x06, 0x02), vec![1, 0, 0, 0, 7, 3, 7, 7, 7, 0]);
    let mut navx5 = vec![0; 40];
    // Version 2; only the limits of the number of satellites matter.
    (navx5[0], navx5[2], navx5[10], navx5[11], navx5[12]) = (2, 0x04, 4, 20, 33);
    let navx5 = Frame::new(MessageId::new(0x06, 0x23), navx5);
    for (set, poll) in [(&sbas, vec![]), (&text, vec![1])] {
        assert!(is_ack(&bench.ask_frame(set), set.id), "{}", set.id);
        assert!(bench.ask_frame(&Frame::new(set.id, poll)).contains(set), "{}", set.id);
    }
    assert!(is_ack(&bench.ask_frame(&navx5), navx5.id));
    let frames = bench.ask_frame(&Frame::new(navx5.id, vec![]));
    let answer = frames.iter().find(|frame| frame.id == navx5.id).unwrap();
    assert_eq!(answer.payload[10..13], [4, 20, 6], "the strength was not to be set");
    let nav5 = CfgNav5 { mask: 1, dynamic_model: 4, ..CfgNav5::default() };
    assert!(is_ack(&bench.ask(&nav5), CfgNav5::ID));
    let frames = bench.ask_frame(&Frame::new(CfgGnss::ID, vec![]));
    let gnss = CfgGnss::parse(&frames[0].payload).unwrap();
    let on: Vec<u8> = gnss.blocks.iter().filter(|b| b.flags & 1 == 1).map(|b| b.gnss_id).collect();
    assert_eq!(on, [0, 1, 5, 6], "GPS, SBAS, QZSS, GLONASS");
    assert!(is_ack(&bench.ask(&CfgMsg::ThisPort(NavPvt::ID, 2)), CfgMsg::ID));
    bench.run(0.5);
    bench.sent.clear();
    bench.run(2.0);
    // One solution per two measurements, at four measurements per second.
    assert!((3..=5).contains(&bench.pvts().len()), "{}", bench.pvts().len());
    // Generation 8 has no configuration items.
    assert!(!is_ack(&bench.ask(&valset(&[item(key::RATE_MEAS, 100)])), CfgValset::ID));
}

#[test]
fn systems_can_be_switched_off() {
    let mut bench = Bench::new(F9P, |settings| settings.baud = 115_200);
    bench.run(6.0);
    let off = [key::GLO_ENA, key::GAL_ENA, key::BDS_ENA].map(|key| item(key, 0));
    assert!(is_ack(&bench.ask(&valset(&off)), CfgValset::ID));
    bench.run(1.0);
    bench.sent.clear();
    bench.run(2.0);
    assert!(bench.count("GPGGA") >= 1 && bench.count("GNGGA") == 0);
    assert_eq!(bench.count("GLGSV"), 0);
    let frames = bench.ask_frame(&Frame::new(NavSat::ID, vec![]));
    let sat = NavSat::parse(&frames[0].payload).unwrap();
    assert!(!sat.satellites.is_empty() && sat.satellites.iter().all(|s| s.gnss_id == 0));
    assert!(bench.ask_frame(&Frame::new(NavDop::ID, vec![]))[0].id == NavDop::ID);
}

#[test]
fn a_cold_start_loses_the_fix_and_what_was_not_saved() {
    let mut bench = Bench::new(F9P, |settings| settings.messages = vec!["NAV-PVT".to_string()]);
    bench.run(8.0);
    assert_eq!(bench.pvts().last().unwrap().fix_type, 3);
    assert!(is_ack(&bench.ask(&valset(&[item(key::RATE_MEAS, 200)])), CfgValset::ID));
    bench.sent.clear();
    bench.say(&CfgRst { clear: 0xffff, mode: 0, reserved1: 0 }.to_frame().to_bytes());
    bench.run(3.0);
    assert!(bench.frames().iter().all(|frame| frame.id != AckAck::ID));
    assert_eq!(bench.device.period_ns, SECOND);
    assert!(bench.count("GNTXT") > 5);
    assert_eq!(bench.pvts()[0].fix_type, 0);
    assert_eq!(bench.pvts()[0].valid, 0);
    bench.run(6.0);
    assert_eq!(bench.pvts().last().unwrap().fix_type, 3);
    // Saved settings survive the reset.
    bench.ask(&valset(&[item(key::RATE_MEAS, 200)]));
    let save = CfgCfg { clear: 0, save: 0x1f1f, load: 0, devices: None };
    assert!(is_ack(&bench.ask(&save), CfgCfg::ID));
    bench.say(&CfgRst { clear: 0, mode: 1, reserved1: 0 }.to_frame().to_bytes());
    bench.run(1.0);
    assert_eq!(bench.device.period_ns, 200 * MS);
}

#[test]
fn a_slow_line_overflows_and_says_so() {
    let mut bench = Bench::new("ublox-m8n", |settings| {
        settings.period_ns = 100 * MS;
        settings.baud = 9600;
    });
    bench.run(12.0);
    assert!(bench.sentences().iter().any(|s| s.fields.last().is_some_and(|f| f == "txbuf alloc")));
    // Bytes never overlap in time on the line.
    let mut free = 0;
    for (due, bytes) in bench.bytes() {
        assert!(due >= free);
        free = due + LineSettings::eight_n_one(9600).duration_ns(bytes.len());
    }
}

#[test]
fn pubx_and_unknown_sentences_are_answered() {
    let mut bench = Bench::new("ublox-m8n", |settings| settings.sentences.clear());
    bench.run(10.0);
    bench.sent.clear();
    for text in ["$PUBX,00*33\r\n", "$PUBX,04*37\r\n", "$PGRMCE*0E\r\n"] {
        bench.say(text.as_bytes());
    }
    bench.run(0.5);
    let sentences = bench.sentences();
    assert_eq!(sentences[0].fields.len(), 20);
    assert_eq!(sentences[0].fields[7], "G3");
    assert_eq!(sentences[1].fields[5], "18");
    assert_eq!(sentences[2].fields[3], "PGRM inv format");
    bench.say(b"$PUBX,40,GLL,0,1,0,0,0,0*5D\r\n");
    bench.sent.clear();
    bench.run(1.0);
    assert_eq!(bench.count("GNGLL"), 1);
}

#[test]
fn pubx_00_tells_a_missing_fix_and_a_held_position() {
    let mut bench = Bench::new("ublox-m8n", |settings| {
        settings.sentences.clear();
        settings.receiver.acquisition.startup_ns = 100 * SECOND;
    });
    bench.run(2.5);
    bench.sent.clear();
    bench.say(b"$PUBX,00*33\r\n");
    bench.run(0.5);
    let none = "0000.00000,N,00000.00000,E,0.000,NF,5303302,3750001,0.000,0.00,0.000,,99.99,99.99,99.99,0,0,0";
    assert_eq!(bench.sentences()[0].fields[2..].join(","), none);

    let mut bench = Bench::new("ublox-zed-f9p-hpg1.32", |settings| {
        settings.sentences.clear();
        let place = Geodetic { latitude_deg: 47.29, longitude_deg: 8.57, altitude_m: 500.0 };
        settings.base_station = Some(crate::gnss::profile::BaseStation::Fixed(place));
    });
    bench.run(8.0);
    bench.sent.clear();
    bench.say(b"$PUBX,00*33\r\n");
    bench.run(0.5);
    assert_eq!(
        bench.sentences()[0].fields[2..8].join(","),
        "4717.40000,N,00834.20000,E,500.000,TT"
    );
}

#[test]
fn sentences_are_polled_and_pubx_03_names_the_satellites() {
    for name in ["ublox-m8n", F9P] {
        let mut bench = Bench::new(name, |settings| {
            settings.sentences.clear();
            settings.baud = 115_200;
        });
        bench.run(8.5);
        bench.sent.clear();
        // Two polls that name other talkers than the present one are not answered.
        for text in
            ["$EIGNQ,RMC*24\r\n", "$EIGPQ,RMC*3A\r\n", "$EIGLQ,RMC*26\r\n", "$PUBX,03*30\r\n"]
        {
            bench.say(text.as_bytes());
        }
        bench.run(0.4);
        let sentences = bench.sentences();
        let addresses: Vec<&str> = sentences.iter().map(|s| s.address.as_str()).collect();
        assert_eq!(addresses, ["GNRMC", "PUBX"], "{name}");
        let in_view = &bench.device.last.as_ref().unwrap().0.satellites;
        let fields = &sentences[1].fields;
        assert_eq!(fields[1], in_view.len().min(32).to_string(), "{name}");
        let rows: Vec<&[String]> = fields[2..].chunks_exact(6).collect();
        assert_eq!(rows.len(), in_view.len().min(32), "{name}");
        let used = |name: &str| rows.iter().any(|row| row[0] == name && row[1] == "U");
        for tracked in in_view.iter().filter(|t| t.satellite.system == GnssSystem::Gps) {
            assert_eq!(used(&tracked.satellite.svid.to_string()), tracked.is_used, "{name}");
        }
        for row in rows {
            let is_tracked = !row[4].is_empty();
            assert_eq!(row[1] == "-", !is_tracked, "{name}: {row:?}");
            assert_eq!(row[5] != "000", is_tracked, "{name}: {row:?}");
            assert_eq!((row[2].len(), row[3].len(), row[5].len()), (3, 2, 3), "{name}: {row:?}");
        }
    }
}

type Pair<'a> = (&'a str, &'a str);

/// The layout of captures: a ZED-F9P with two bands, and a MAX-M10S.
#[test]
fn gsv_of_nmea_4_11_has_the_tracked_satellites_of_each_signal() {
    for (name, systems) in [("ublox-zed-f9p-hpg1.32", "12345"), ("ublox-max-m10s-spg5.10", "135")] {
        let mut bench = Bench::new(name, |settings| {
            settings.receiver.acquisition.startup_ns = 2 * SECOND;
            settings.receiver.sky.min_cno_dbhz = 38.0;
            settings.baud = 115_200;
        });
        bench.run(1.9);
        assert!(bench.bytes().any(|(_, bytes)| bytes == b"$GPGSV,1,1,00,0*65\r\n"), "{name}");
        bench.run(6.95);
        bench.sent.clear();
        bench.run(1.0);
        let sentences = bench.sentences();
        let of = |kind: &'static str| sentences.iter().filter(move |s| s.address.ends_with(kind));
        let told: String = of("GSA").map(|s| s.fields.last().unwrap().as_str()).collect();
        assert_eq!(told, systems, "{name}");
        // Satellites of each group: number and strength, by talker and signal.
        let mut groups: Vec<(Pair<'_>, Vec<Pair<'_>>)> = Vec::new();
        for sentence in of("GSV") {
            let [head @ .., signal] = sentence.fields.as_slice() else { panic!("{sentence:?}") };
            let key = (sentence.address.as_str(), signal.as_str());
            if groups.last().is_none_or(|(last, _)| *last != key) {
                groups.push((key, Vec::new()));
            }
            let rows = head[3..].chunks_exact(4).map(|row| (row[0].as_str(), row[3].as_str()));
            groups.last_mut().unwrap().1.extend(rows);
        }
        assert_eq!(groups.last(), Some(&(("GQGSV", "0"), Vec::new())), "{name}");
        for pair in groups.windows(2) {
            let [((talker, signal), _), ((next, other), _)] = pair else { unreachable!() };
            assert!(talker != next || *other == "0" || signal < other, "{name}: {groups:?}");
            assert!(talker != next || *signal != "0", "{name}: {groups:?}");
        }
        for ((talker, signal), rows) in &groups {
            let is_untracked = *signal == "0";
            assert!(
                rows.iter().all(|(_, cno)| cno.is_empty() == is_untracked),
                "{name}: {groups:?}"
            );
            let first =
                of("GSV").find(|s| s.address == *talker && s.fields.last().unwrap() == signal);
            assert_eq!(first.unwrap().fields[2], format!("{:02}", rows.len()), "{name}");
        }
        let names = |signal: &str| -> Vec<&str> {
            let of_gps = groups.iter().find(|(key, _)| *key == ("GPGSV", signal)).unwrap();
            of_gps.1.iter().map(|(number, _)| *number).collect()
        };
        assert!(!names("0").iter().any(|number| names("1").contains(number)), "{name}");
    }
}

#[test]
fn garmin_takes_its_commands() {
    let mut bench = Bench::new("garmin-18x-lvc", |_| {});
    bench.run(10.0);
    assert!(bench.count("PGRMT") <= 1 && bench.count("GPRMC") >= 9);
    let rmc = bench.sentences().into_iter().rfind(|s| s.address == "GPRMC").unwrap();
    assert_eq!(rmc.fields.len(), 11);
    assert_eq!(rmc.fields[0].len(), 6);
    assert_eq!(rmc.fields[6].len(), 5);
    bench.sent.clear();
    bench.say(b"$PGRMO,,2*75\r\n$PGRMO,GPRMC,1*3D\r\n$PGRMC,A,,,,,,,,,8,1,2,4,30*06\r\n");
    bench.run(3.0);
    let addresses: Vec<_> = bench.sentences().iter().map(|s| s.address.clone()).collect();
    assert!(addresses.starts_with(&["PGRMO", "PGRMO", "PGRMC"].map(String::from)), "{addresses:?}");
    assert!(addresses[3..].iter().all(|address| address == "GPRMC"), "{addresses:?}");
    assert!(bench.sent.iter().any(|t| t.output == Output::Line(LineSettings::eight_n_one(38_400))));
    bench.sent.clear();
    bench.run(2.0);
    let edges: Vec<_> = bench
        .sent
        .iter()
        .filter(|transmit| matches!(transmit.output, Output::PulsePerSecond(_)))
        .skip_while(|transmit| transmit.output == Output::PulsePerSecond(false))
        .map(|transmit| transmit.due.0)
        .collect();
    // Length code 4 is 100 ms.
    assert_eq!(edges[1] - edges[0], 100 * MS);
}

#[test]
fn two_bytes_tell_the_same_time() {
    let mut bench = Bench::new("ublox-zed-f9p-hpg1.32", |settings| {
        settings.messages = vec!["NAV-PVT".to_string(), "NAV-TIMEGPS".to_string()];
        settings.receiver.leap_known_after_ns = 4 * SECOND;
        settings.firmware_leap_s = 17;
    });
    bench.run(12.0);
    let pvts = bench.pvts();
    let early = pvts.iter().find(|pvt| pvt.valid & 7 == 3).unwrap();
    let late = pvts.last().unwrap();
    assert_eq!(late.valid & 7, 7);
    // The receiver that assumes 17 instead of 18 leap seconds is one second ahead.
    let utc = |pvt: &NavPvt| u32::from(pvt.minute) * 60 + u32::from(pvt.second);
    let gps = |pvt: &NavPvt| pvt.itow_ms / 1000;
    assert_eq!(utc(early) + gps(late), utc(late) + gps(early) + 1);
}

#[test]
fn a_second_is_inserted_and_announced() {
    let start = "2026-06-30T23:59:55Z";
    let mut bench = Bench::starting_at("ublox-zed-f9p-hpg1.32", start, |settings| {
        settings.messages = vec!["NAV-PVT".to_string(), "NAV-TIMELS".to_string()];
        settings.receiver.acquisition.startup_ns = 0;
        settings.leap_second_on = "2026-06-30".parse().ok();
    });
    bench.run(9.0);
    let clock = |pvt: &NavPvt| (pvt.day, pvt.hour, pvt.minute, pvt.second);
    let told: Vec<_> = bench.pvts().iter().filter(|pvt| pvt.valid & 7 == 7).map(clock).collect();
    let sixtieth = told.iter().position(|clock| clock.3 == 60).unwrap();
    let around = [(30, 23, 59, 59), (30, 23, 59, 60), (1, 0, 0, 0), (1, 0, 0, 1)];
    assert_eq!(told[sixtieth - 1..sixtieth + 3], around, "{told:?}");
    let rmc =
        bench.sentences().into_iter().find(|s| s.address == "GNRMC" && s.fields[0] == "235960.00");
    assert_eq!(rmc.unwrap().fields[8], "300626");
    let announced: Vec<_> = bench
        .frames()
        .iter()
        .filter(|frame| frame.id == NavTimels::ID)
        .map(|frame| NavTimels::parse(&frame.payload).unwrap())
        .filter(|message| message.valid == 0b11)
        .map(|m| (m.time_to_event_s, m.change_s, m.leap_s, m.event_week, m.event_day))
        .collect();
    // The day of the leap second, 30 June 2026, is a Tuesday.
    for expected in
        [(2, 1, 18, 2425, 3), (1, 1, 18, 2425, 3), (0, 0, 19, 2425, 3), (-1, 0, 19, 2425, 3)]
    {
        assert!(announced.contains(&expected), "{announced:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Hostile bytes: no panic, no growth, and the stream continues.
    #[test]
    fn any_input_is_survived(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
        frames in prop::collection::vec(
            (prop::sample::select(vec![0x00_u8, 0x01, 0x02, 0x04, 0x08, 0x09, 0x16, 0x23, 0x24, 0x31,
                0x3e, 0x8a, 0x8b, 0x8c]), prop::collection::vec(any::<u8>(), 0..60)), 0..40),
        name in prop::sample::select(vec![
            F9P, "ublox-m8n", "ublox-max-m10s-spg5.10", "garmin-18x-lvc", "phone-gnss",
        ]),
    ) {
        let mut bench = Bench::new(name, |_| {});
        for chunk in chunks {
            bench.say(&chunk);
        }
        for (id, payload) in frames {
            bench.say(&Frame::new(MessageId::new(0x06, id), payload).to_bytes());
            bench.run_by(0.05, 50 * MS);
        }
        bench.run_by(1.0, 100 * MS);
        // 16 kB at the fastest rate exceed every buffer.
        prop_assert!(bench.device.slots.len() < 300);
    }
}
