//! Tests for all units; `tests/dialogues/imu` has the recorded dialogues.

use crate::commands::{CommandRow, Conduct};
use crate::families::{catalogue, family_of};
use crate::imu::profile::ImuProfile;
use std::any::Any;
use std::sync::Arc;

use glam::DVec3;
use proptest::prelude::*;

use super::*;
use crate::Output;
use crate::frames::{Geodetic, quat_from_rpy};
use crate::sensors::Subject;
use crate::sensors::imu::InertialTruth;
use crate::wire::framer::Framer;
use crate::wire::vectornav::{Checksum, Frame, Line, VectorNav};
use crate::wire::{
    fdilink as fdilink_wire, mip as mip_wire, phone as phone_wire, sbg_ecom as sbg_wire,
    xbus as xbus_wire,
};

const PROFILES: [&str; 6] = [
    "wheeltec-n100",
    "vectornav-vn100",
    "xsens-mti30",
    "microstrain-3dmgx5",
    "sbg-ellipse2d",
    "phone-imu",
];

fn driver(name: &str) -> ImuProfile {
    let profile = catalogue().profile(name).unwrap();
    let Some(driver) = profile.data::<ImuProfile>() else { panic!("{name} is an IMU") };
    driver.clone()
}

/// Protocol properties of the profile `name`, which must have the type `T`.
pub(crate) fn dialect<T: Clone + 'static>(name: &str) -> T {
    let dialect: Arc<dyn Any + Send + Sync> = driver(name).dialect;
    dialect.downcast_ref::<T>().expect("the protocol's own").clone()
}

/// Motion of a level robot that heads 30 degrees north of east, accelerates and turns.
pub(crate) fn truth(at: SimTime) -> InertialTruth {
    InertialTruth {
        at,
        specific_force_m_s2: DVec3::new(0.5, -0.25, 9.8),
        angular_rate_rad_s: DVec3::new(0.01, -0.02, 0.3),
        magnetic_field_gauss: DVec3::new(0.2, 0.1, -0.4),
        world_from_sensor: quat_from_rpy(0.0, 0.0, 30f64.to_radians()),
        velocity_m_s: DVec3::X,
        acceleration_m_s2: DVec3::ZERO,
        position_m: DVec3::ZERO,
        place: Geodetic { latitude_deg: 33.0, longitude_deg: -88.0, altitude_m: 100.0 },
    }
}

/// Motion of a shaken robot: force, rate and field change all the time, so that filters have an effect.
pub(crate) fn shaken(at: SimTime) -> InertialTruth {
    let wave = |hz: f64| libm::sin(std::f64::consts::TAU * hz * at.as_secs_f64());
    let mut made = truth(at);
    made.specific_force_m_s2 += DVec3::new(wave(7.0), wave(3.0), wave(11.0));
    made.angular_rate_rad_s += DVec3::new(wave(5.0), wave(13.0), wave(2.0)) * 0.3;
    made.magnetic_field_gauss += DVec3::new(wave(3.0), wave(5.0), wave(7.0)) * 0.02;
    made.place.altitude_m += 20.0 * wave(9.0);
    made
}

/// Bytes from hexadecimal text with blanks.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// Rows of the product's only command table.
pub(crate) fn rows(name: &str) -> Vec<CommandRow> {
    let profile = catalogue().profile(name).unwrap();
    let tables = family_of(&profile).commands(&profile);
    assert_eq!(tables.len(), 1, "{name}");
    tables.into_iter().flat_map(|table| table.rows).collect()
}

/// Conduct that the product's command table states for the command `code`.
pub(crate) fn conduct(name: &str, code: &str) -> Conduct {
    let found = rows(name).into_iter().find(|row| row.code == code);
    found.unwrap_or_else(|| panic!("{name} has no row {code}")).conduct
}

/// Evidence of the effect that the product's table states for a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Proof {
    /// The stream differs from a stream without the command.
    Stream,
    /// The answer to the command shows the effect; the caller checks the answer.
    Answer,
    /// The baud rate changes to 230400.
    Line,
    /// The baud rate changes after a reset, which the caller sends.
    LineAfterReset,
    /// The unit stays in configuration mode after a reset, which the caller sends.
    StaysInConfiguration,
    /// The unit reads back the value; the product's table states that the unit only stores the value.
    StoredOnly,
    /// The command is acknowledged; the product's table states that the answer never changes.
    Nothing,
}

impl Proof {
    /// Checks the effect of command `code` of `product`. `with` and `without` are the baud rate and the output of a
    /// unit that received the command, and of a unit that did not.
    pub fn check<T: PartialEq + std::fmt::Debug>(
        self,
        [product, code]: [&str; 2],
        with: &(Option<u32>, T),
        without: &(Option<u32>, T),
    ) {
        let told = match self {
            Self::StoredOnly => Conduct::Kept,
            Self::Nothing => Conduct::Constant,
            Self::Stream => return assert_ne!(with.1, without.1, "{code} changes nothing"),
            Self::Line => return assert_eq!(with.0, Some(230_400), "{code}"),
            Self::Answer | Self::LineAfterReset | Self::StaysInConfiguration => return,
        };
        assert_eq!(with.1, without.1, "{code} changes the stream");
        assert_eq!(conduct(product, code), told, "{code}");
    }
}

/// A sample without errors.
pub(crate) fn sample(truth: &InertialTruth) -> Sample {
    let reading = |value| crate::sensors::imu::errors::Reading { value, is_clipped: [false; 3] };
    Sample {
        truth: *truth,
        index: 0,
        gyro: reading(truth.angular_rate_rad_s),
        accel: reading(truth.specific_force_m_s2),
        mag: reading(truth.magnetic_field_gauss),
        pressure_pa: 101_325.0,
        temperature_c: 20.0,
        attitude: truth.world_from_sensor,
        position_error_m: DVec3::ZERO,
        velocity_error_m_s: DVec3::ZERO,
    }
}

/// A unit without errors, with its output.
pub(crate) struct Bench {
    pub imu: Imu,
    pub now: SimTime,
    pub sent: Vec<Transmit>,
    pub truth: fn(SimTime) -> InertialTruth,
}

impl Bench {
    pub fn new(name: &str, change: impl FnOnce(&mut ImuProfile, &mut ImuSettings)) -> Self {
        let mut profile = driver(name);
        let mut settings = profile.defaults.clone().without_errors();
        change(&mut profile, &mut settings);
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        let imu = Imu::new(&profile, &settings, 7, "imu", epoch);
        Self { imu, now: SimTime::ZERO, sent: Vec::new(), truth }
    }

    pub fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            let horizon = SimTime(self.now.0 + 50_000_000);
            while let Some(request) = self.imu.poll_request(horizon) {
                let Subject::Series { count, period_ns } = request.subject else { panic!() };
                let instants = (0..u64::from(count)).map(|i| request.start.0 + i * period_ns);
                let truths = instants.map(|ns| (self.truth)(SimTime(ns))).collect();
                let measurement = Measurement::new(request, Outcome::Inertial(truths));
                self.imu.handle_measurement(&measurement);
            }
            self.now.0 += 1_000_000;
            self.imu.advance(self.now);
            self.collect();
        }
    }

    pub fn say(&mut self, bytes: &[u8]) {
        self.imu.handle_input(self.now, bytes);
        self.collect();
    }

    pub fn collect(&mut self) {
        while let Some(transmit) = self.imu.poll_transmit() {
            if let Some(last) = self.sent.last() {
                assert!(transmit.due >= last.due, "due times go back");
            }
            self.sent.push(transmit);
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let bytes = self.sent.iter().filter_map(|t| match &t.output {
            Output::Bytes(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        bytes.collect::<Vec<_>>().concat()
    }

    /// Baud rate to which the unit has switched its line; `None` if it has not.
    pub fn baud(&self) -> Option<u32> {
        self.sent.iter().find_map(|transmit| match &transmit.output {
            Output::Line(line) => Some(line.baud),
            _ => None,
        })
    }
}

#[test]
fn every_unit_streams_at_its_rate_and_keeps_its_line_busy_no_longer_than_it_lasts() {
    for name in PROFILES {
        let mut bench = Bench::new(name, |_, _| {});
        bench.run(1000);
        let wanted = bench.imu.nominal_rate_hz();
        let found = bench.sent.len() as f64;
        assert!((found - wanted).abs() <= wanted * 0.05 + 1.0, "{name}: {found} of {wanted}");
        let line = bench.imu.line().unwrap();
        let on_the_line_s = line.duration_ns(bench.bytes().len()) as f64 * 1e-9;
        assert!(on_the_line_s < 0.95, "{name}: {on_the_line_s}");
        for pair in bench.sent.windows(2) {
            let Output::Bytes(bytes) = &pair[0].output else { continue };
            assert!(pair[1].due.0 >= pair[0].due.0 + line.duration_ns(bytes.len()), "{name}");
        }
        assert_eq!(bench.imu.unit.port.lost(), 0, "{name}");
    }
}

#[test]
fn steps_of_time_do_not_matter() {
    for name in PROFILES {
        let mut fine = Bench::new(name, |_, _| {});
        fine.run(300);
        let mut coarse = Bench::new(name, |_, _| {});
        while let Some(request) = coarse.imu.poll_request(SimTime(350_000_000)) {
            let Subject::Series { count, period_ns } = request.subject else { panic!() };
            let instants = (0..u64::from(count)).map(|i| request.start.0 + i * period_ns);
            let truths = instants.map(|ns| truth(SimTime(ns))).collect();
            coarse.imu.handle_measurement(&Measurement::new(request, Outcome::Inertial(truths)));
        }
        coarse.imu.advance(SimTime(300_000_000));
        coarse.collect();
        assert_eq!(fine.sent, coarse.sent, "{name}");
    }
}

#[test]
fn the_same_truth_is_told_in_every_protocols_frame() {
    let last = |name: &str| {
        let mut bench = Bench::new(name, |_, _| {});
        bench.run(120);
        bench.bytes()
    };
    let close = |found: &[f32], wanted: [f64; 3], what: &str| {
        for (a, b) in found.iter().zip(wanted) {
            assert!((f64::from(*a) - b).abs() < 1e-5, "{what}: {found:?} {wanted:?}");
        }
    };
    let (force, rate) = ([0.5, 0.25, -9.8], [0.01, 0.02, -0.3]);
    // The robot heads 60 degrees east of north.
    let heading = 60f64.to_radians();

    let frames = Framer::new(fdilink_wire::FdiLink).frames(&last("wheeltec-n100"));
    let (mut imu_seen, mut ahrs_seen) = (false, false);
    for frame in frames {
        match frame.packet {
            fdilink_wire::Packet::Imu(p) => {
                close(&p.accel_m_s2, force, "n100");
                close(&p.gyro_rad_s, rate, "n100");
                close(&p.mag_mgauss.map(|x| x / 1000.0), [0.2, -0.1, 0.4], "n100");
                imu_seen = true;
            }
            fdilink_wire::Packet::Ahrs(p) => {
                close(&p.rpy_rad, [0.0, 0.0, heading], "n100");
                ahrs_seen = true;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(imu_seen && ahrs_seen);

    let frames = Framer::new(VectorNav).frames(&last("vectornav-vn100"));
    let Frame::Line(line) = &frames[2] else { panic!("{frames:?}") };
    let (kind, values) = line.fields();
    let values: Vec<f32> = values.iter().map(|v| v.parse().unwrap()).collect();
    assert_eq!(kind, "VNYMR");
    close(&values[..3], [60.0, 0.0, 0.0], "vn100");
    close(&values[6..9], force, "vn100");
    close(&values[9..], rate, "vn100");

    let messages = Framer::new(xbus_wire::Xbus).frames(&last("xsens-mti30"));
    let items = xbus_wire::Item::parse_all(&messages[3].data).unwrap();
    let reals = |xdi| {
        let item = items.iter().find(|i| i.xdi == xdi).unwrap();
        item.reals().unwrap().iter().map(|x| *x as f32).collect::<Vec<_>>()
    };
    close(&reals(xbus_wire::Xdi::ACCELERATION), [0.5, -0.25, 9.8], "mti30");
    close(&reals(xbus_wire::Xdi::RATE_OF_TURN), [0.01, -0.02, 0.3], "mti30");

    let packets = Framer::new(mip_wire::Mip).frames(&last("microstrain-3dmgx5"));
    let data = packets.iter().rfind(|p| p.descriptor_set == mip_wire::set::SENSOR_DATA).unwrap();
    close(&data.fields[0].f32s().unwrap(), force.map(|x| x / 9.806_65), "3dmgx5");
    close(&data.fields[1].f32s().unwrap(), rate, "3dmgx5");

    let frames = Framer::new(sbg_wire::SbgEcom).frames(&last("sbg-ellipse2d"));
    let logs: Vec<_> = frames.iter().map(|f| sbg_wire::Log::parse(f).unwrap().unwrap()).collect();
    let imu = logs.iter().rev().find_map(|log| match log {
        sbg_wire::Log::ImuData(imu) => Some(imu),
        _ => None,
    });
    close(&imu.unwrap().accel_m_s2, force, "ellipse2d");
    close(&imu.unwrap().gyro_rad_s, rate, "ellipse2d");
    close(&imu.unwrap().delta_angle_rad_s, rate, "ellipse2d");

    let sentences = Framer::new(phone_wire::Phone).frames(&last("phone-imu"));
    let gyro = sentences[2].gyro_10urad_s.map(|x| x as f32 * 1e-5);
    close(&gyro, [0.01, -0.02, 0.3], "phone");
    // The magnetic field of the test is to the left of forward: magnetic north is atan2(0.1, 0.2) to the left of the
    // robot's heading.
    let compass = 100.0 * libm::atan2(0.1, 0.2).to_degrees();
    assert!((f64::from(sentences[2].compass_centideg) - compass).abs() < 1.0);
}

#[test]
fn an_ellipse_says_its_height_above_the_sea_and_the_undulation() {
    let mut bench = Bench::new("sbg-ellipse2d", |_, _| {});
    bench.run(100);
    let frames = Framer::new(sbg_wire::SbgEcom).frames(&bench.bytes());
    let nav = frames.iter().find_map(|f| match sbg_wire::Log::parse(f) {
        Some(Ok(sbg_wire::Log::EkfNav(nav))) => Some(nav),
        _ => None,
    });
    let nav = nav.unwrap();
    // 100 m above the ellipsoid. At 33 degrees north and 88 degrees west the geoid is some 28 m below the ellipsoid.
    assert!((-31.0..-25.0).contains(&nav.undulation_m), "{nav:?}");
    assert!((nav.altitude_m + f64::from(nav.undulation_m) - 100.0).abs() < 1e-4, "{nav:?}");
}

#[test]
fn ends_of_ranges_raise_the_protocols_bits() {
    let narrow = |_: &mut ImuProfile, settings: &mut ImuSettings| {
        settings.model.accel.range = 5.0;
    };
    let mut bench = Bench::new("xsens-mti30", narrow);
    bench.run(50);
    let messages = Framer::new(xbus_wire::Xbus).frames(&bench.bytes());
    let items = xbus_wire::Item::parse_all(&messages[2].data).unwrap();
    let status = items.iter().find(|i| i.xdi == xbus_wire::Xdi::STATUS_WORD).unwrap();
    // Clipped axis z of the accelerometer, and the flag for any clipped axis.
    assert_eq!(status.data, (0x3u32 | 1 << 10 | 1 << 19).to_be_bytes());
    let mut bench = Bench::new("sbg-ellipse2d", narrow);
    bench.run(100);
    let frames = Framer::new(sbg_wire::SbgEcom).frames(&bench.bytes());
    let status = frames.iter().find_map(|f| match sbg_wire::Log::parse(f) {
        Some(Ok(sbg_wire::Log::ImuData(imu))) => Some(imu.status),
        _ => None,
    });
    assert_eq!(status, Some(0x2ff));
}

#[test]
fn a_short_second_answer_never_follows() {
    let mut bench = Bench::new("vectornav-vn100", |_, s| s.is_streaming = false);
    bench.run(10);
    for (body, wanted) in [
        ("VNRRG,99", "VNERR,08"),
        ("VNRRG", "VNERR,05"),
        ("VNRRG,01,2", "VNERR,06"),
        ("VNWRG,06,15", "VNERR,07"),
        ("VNWRG,01,VN-300", "VNERR,09"),
        ("VNWRG,27,1", "VNERR,09"),
        ("VNXYZ", "VNERR,04"),
        ("VNWRG,07", "VNERR,05"),
        ("VNWRG,75,1,1,01,FFFF", "VNERR,07"),
        ("VNWRG,75,1,1,01,7FFF", "VNERR,0C"),
        ("VNWRG,00,bench 3", "VNWRG,00,bench 3"),
        ("VNRRG,00", "VNRRG,00,bench 3"),
        ("VNRRG,6", "VNRRG,06,14"),
    ] {
        bench.sent.clear();
        let mut line = Vec::new();
        Line::new(body, Checksum::Xor).emit(&mut line);
        bench.say(&line);
        bench.run(100);
        let mut answer = Vec::new();
        Line::new(wanted, Checksum::Xor).emit(&mut answer);
        let sent = String::from_utf8(bench.bytes()).unwrap();
        assert_eq!(sent.as_bytes(), answer, "{body}: {sent}");
    }
}

#[test]
fn noise_does_not_depend_on_other_devices_or_on_order() {
    let run = |name: &str| {
        let profile = driver("wheeltec-n100");
        let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().unwrap());
        let mut imu = Imu::new(&profile, &profile.defaults, 7, name, epoch);
        let mut all = Vec::new();
        while let Some(request) = imu.poll_request(SimTime(50_000_000)) {
            let truths = (0..4).map(|_| truth(request.start)).collect();
            imu.handle_measurement(&Measurement::new(request, Outcome::Inertial(truths)));
        }
        imu.advance(SimTime(60_000_000));
        while let Some(transmit) = imu.poll_transmit() {
            all.push(transmit);
        }
        all
    };
    assert_eq!(run("a"), run("a"));
    assert_ne!(run("a"), run("b"));
}

/// Input from a host, valid or not.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let line =
        "VN(RRG|WRG|ASY|RST|RFS|TAR|BOM|WNV),?[0-9]{0,2}(,[0-9A-F]{0,4}){0,9}".prop_map(|body| {
            let mut bytes = Vec::new();
            Line::new(body, Checksum::Xor).emit(&mut bytes);
            bytes
        });
    let data = || prop::collection::vec(any::<u8>(), 0..30);
    let message = (any::<u8>(), data()).prop_map(|(mid, data)| {
        let mut bytes = Vec::new();
        xbus_wire::Message::new(mid, data).emit(&mut bytes);
        bytes
    });
    let packet = (prop::sample::select(vec![1u8, 12, 13, 127]), any::<u8>(), data()).prop_map(
        |(set, descriptor, data)| {
            let mut bytes = Vec::new();
            mip_wire::Packet::new(set, [mip_wire::Field::new(descriptor, data)]).emit(&mut bytes);
            bytes
        },
    );
    let command = (0u8..50, data()).prop_map(|(message, data)| {
        let mut bytes = Vec::new();
        sbg_wire::Frame { message, class: 0x10, data }.emit(&mut bytes);
        bytes
    });
    prop_oneof![line, message, packet, command, data()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_do_not_matter(inputs in prop::collection::vec(input(), 1..5), cut in 1usize..20) {
        for name in PROFILES {
            let bytes = inputs.concat();
            let mut whole = Bench::new(name, |_, _| {});
            whole.run(5);
            whole.say(&bytes);
            whole.run(20);
            let mut pieces = Bench::new(name, |_, _| {});
            pieces.run(5);
            for piece in bytes.chunks(cut) {
                pieces.say(piece);
            }
            pieces.run(20);
            prop_assert_eq!(whole.sent, pieces.sent, "{}", name);
        }
    }
}

/// Output latency delays messages about samples. Answers to commands overtake them, and a reset drops them.
#[test]
fn answers_overtake_what_a_lag_holds_back() {
    const LAG_MS: u64 = 300;
    let mut bench = Bench::new("vectornav-vn100", |_, settings| {
        settings.lag_ns = LAG_MS * 1_000_000;
    });
    bench.run(LAG_MS - 1);
    assert_eq!(bench.sent, [], "what was sampled first is still held back");
    bench.run(200);
    let streamed = bench.sent.len();
    assert!(streamed > 4, "{streamed}");
    let asked = bench.now;
    bench.say(b"$VNRRG,01*XX\r\n");
    bench.run(20);
    let answer = bench.sent.iter().find(|sent| match &sent.output {
        Output::Bytes(bytes) => bytes.starts_with(b"$VNRRG,01,"),
        _ => false,
    });
    let waited_ms = (answer.expect("an answer").due.0 - asked.0) / 1_000_000;
    // The answer waits for its own delay and for the end of a message on the line.
    assert!(waited_ms < 15, "{waited_ms}");
    let reset = bench.now;
    bench.say(b"$VNRST*XX\r\n");
    bench.run(200);
    let left_after = bench.sent.iter().filter(|sent| sent.due.0 > reset.0 + 20_000_000).count();
    assert_eq!(left_after, 0);
}
