//! A camera and its host, without sockets.

use std::net::{IpAddr, Ipv4Addr};

use super::features::{Chunk, line};
use super::profile::{PtpState, Pulses, Trigger};
use super::*;
use crate::Output;
use crate::config::rig::Rig;
use crate::config::rig::faults::DeviceFaults;
use crate::families::catalogue;
use crate::sensors::Subject;
use crate::sensors::camera::lens::Lens;
use crate::wire::gige::gvsp::{Part, PixelFormat, chunks, parse};
use crate::wire::gige::{Command, command, status};

const HOST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

struct Bench {
    camera: GigeCamera,
    now: u64,
    id: u16,
    sent: Vec<(SimTime, Vec<u8>)>,
    hosts: Vec<HostAddress>,
    lenses: Vec<Lens>,
}

fn peer(connection: u64) -> Peer {
    Peer { connection, port: 0, from: IpAddr::V4(HOST) }
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(set: impl FnOnce(&mut CameraSettings)) -> Self {
        let profile = catalogue().profile("menura-gv121m").expect("it is embedded");
        let profile: &CameraProfile = profile.data().unwrap();
        let mut settings = profile.defaults.clone();
        settings.image_size = [64, 32];
        set(&mut settings);
        let noise = NoiseSource::new(1, "camera");
        let camera = GigeCamera::new(
            profile,
            &settings,
            None,
            noise,
            Epoch::new(jiff::Timestamp::UNIX_EPOCH),
        );
        let (sent, hosts, lenses) = (Vec::new(), Vec::new(), Vec::new());
        Self { camera, now: 1_000_000, id: 1, sent, hosts, lenses }
    }

    fn say_as(&mut self, who: u64, code: u16, payload: &[u8]) -> (u16, Vec<u8>) {
        self.id += 1;
        self.repeat(who, self.id, code, payload)
    }

    fn repeat(&mut self, who: u64, id: u16, code: u16, payload: &[u8]) -> (u16, Vec<u8>) {
        let bytes = Command { flags: 1, code, id, payload }.to_bytes();
        self.camera.handle_peer_input(SimTime(self.now), peer(who), &bytes);
        let mut answer = None;
        self.drain(&mut answer);
        let answer = answer.expect("a command is answered");
        assert_eq!(answer[2..4], code.wrapping_add(1).to_be_bytes());
        assert_eq!(answer[6..8], id.to_be_bytes());
        (u16::from_be_bytes([answer[0], answer[1]]), answer[8..].to_vec())
    }

    fn drain(&mut self, answer: &mut Option<Vec<u8>>) {
        while let Some(transmit) = self.camera.poll_transmit() {
            self.lenses.extend(transmit.truth.lens.as_deref());
            match transmit.output {
                Output::BytesTo(_, bytes) => *answer = Some(bytes),
                Output::Datagram { bytes, .. } => self.sent.push((transmit.due, bytes)),
                Output::Host(host) => self.hosts.push(host),
                Output::Revoke(_) | Output::Fragments(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn write_as(&mut self, who: u64, address: u32, value: u32) -> u16 {
        let payload: Vec<u8> =
            [address, value].iter().flat_map(|word| word.to_be_bytes()).collect();
        self.say_as(who, command::WRITE_REGISTER, &payload).0
    }

    fn write(&mut self, address: u32, value: u32) {
        assert_eq!(self.write_as(1, address, value), status::SUCCESS, "{address:#x} = {value}");
    }

    fn read(&mut self, address: u32) -> u32 {
        let (status, data) = self.say_as(1, command::READ_REGISTER, &address.to_be_bytes());
        assert_eq!(status, status::SUCCESS, "{address:#x}");
        u32::from_be_bytes(data.try_into().unwrap())
    }

    /// Lets the time go on, and answers what the camera wants measured with grey.
    fn run_ms(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += 1_000_000;
            let mut none = None;
            while let Some(request) = self.camera.poll_request(SimTime(self.now)) {
                let Subject::Tile(tile) = &request.subject else { panic!("{request:?}") };
                let pixels = vec![1000; tile.pixels()];
                self.camera.handle_measurement(&Measurement::new(request, Outcome::Pixels(pixels)));
            }
            self.camera.advance(SimTime(self.now));
            self.drain(&mut none);
        }
    }

    fn open(&mut self) {
        self.write(0x0a00, 2);
        self.write(0x0d18, HOST.to_bits());
        self.write(0x0d00, 5000);
        self.sent.clear();
    }

    fn leaders(&self) -> Vec<(u64, u64)> {
        let parts = self.sent.iter().filter_map(|(_, bytes)| match parse(bytes)? {
            (block, 0, Part::Leader(leader)) => Some((block, leader.timestamp)),
            _ => None,
        });
        parts.collect()
    }
}

#[test]
fn discovery_tells_the_camera() {
    let mut bench = Bench::new();
    let (status, data) = bench.say_as(1, command::DISCOVERY, &[]);
    assert_eq!((status, data.len()), (0, 248));
    assert_eq!(data[..8], [0, 2, 0, 0, 0x80, 0, 0, 1]);
    assert_eq!(&data[0x48..0x4e], b"Menura");
}

#[test]
fn the_description_names_every_register() {
    let mut bench = Bench::new();
    let (_, data) = bench.say_as(1, command::READ_MEMORY, &[0, 0, 2, 0, 0, 0, 2, 0]);
    let url: Vec<u8> = data[4..].iter().copied().take_while(|byte| *byte != 0).collect();
    let url = String::from_utf8(url).unwrap();
    let parts: Vec<_> = url.split(';').collect();
    let len = u32::from_str_radix(parts[2], 16).unwrap();
    let mut xml = Vec::new();
    while xml.len() < len as usize {
        let payload = [at::XML + xml.len() as u32, 512].map(u32::to_be_bytes).concat();
        let (status, data) = bench.say_as(1, command::READ_MEMORY, &payload);
        assert_eq!(status, 0);
        xml.extend(&data[4..]);
    }
    let xml = String::from_utf8(xml[..len as usize].to_vec()).unwrap();
    assert!(xml.trim_end().ends_with("</RegisterDescription>"));
    for feature in bench.camera.features.0.values() {
        assert!(xml.contains(&format!("Name=\"{}Reg\"", feature.name)), "{}", feature.name);
    }
    let table = include_str!("features.csv");
    for feature in bench.camera.features.0.values() {
        let row = format!("{:#07x},{},", feature.address, feature.name);
        assert!(table.contains(&row), "features.csv lacks {row}");
    }
}

#[test]
fn one_host_controls_and_others_read() {
    let mut bench = Bench::new();
    assert_eq!(bench.write_as(1, at::WIDTH, 32), status::ACCESS_DENIED);
    bench.write(0x0a00, 2);
    assert_eq!(bench.write_as(2, 0x0a00, 2), status::ACCESS_DENIED);
    assert_eq!(bench.write_as(2, at::WIDTH, 32), status::ACCESS_DENIED);
    assert_eq!(bench.say_as(2, command::READ_REGISTER, &at::WIDTH.to_be_bytes()).0, 0);
    bench.write(0x0a00, 0);
    assert_eq!(bench.write_as(2, 0x0a00, 1), 0);
    assert_eq!(
        bench.say_as(1, command::READ_REGISTER, &at::WIDTH.to_be_bytes()).0,
        status::ACCESS_DENIED
    );
}

#[test]
fn a_rig_sets_what_the_camera_can_do() {
    let read = |settings: &str| {
        let text = format!(
            "[world]\nscene = \"room\"\n[[device]]\nname = \"camera\"\n\
             profile = \"menura-gv231c\"\nsettings = {{ {settings} }}\n"
        );
        let rig = Rig::parse("rig.toml", &text, "".as_ref(), &[], catalogue());
        rig.map(|_| ()).map_err(|faults| faults.to_string())
    };
    for good in [
        "binning = 4",
        "exposure_us = 20.0",
        "exposure_us = 1e6",
        "lens_model = \"equidistant\", distortion = [0.1, 0, 0, 0]",
    ] {
        assert_eq!(read(good), Ok(()));
    }
    for (bad, told) in [
        ("binning = 3", "allowed: 1, 2, 4 pixels"),
        ("binning = 8", "allowed: 1, 2, 4 pixels"),
        ("exposure_us = 19.9", "allowed: 20 to 1000000 us"),
        ("distortion = [0, 0, 0, 0, 0, 0]", "allowed: 5 items at most"),
        ("lens_model = \"fov\", distortion = [0.1]", "allowed: 0 items at most"),
    ] {
        let fault = read(bad).unwrap_err();
        assert!(fault.contains(told), "{bad}: {fault}");
    }
}

#[test]
fn unknown_commands_are_refused() {
    let mut bench = Bench::new();
    for code in [0, 0x0088, u16::MAX] {
        assert_eq!(bench.say_as(1, code, &[]).0, status::NOT_IMPLEMENTED, "{code:#x}");
    }
    // The id of an answer that the camera remembers.
    let id = bench.id;
    assert_eq!(bench.repeat(1, id, u16::MAX, &[]).0, status::NOT_IMPLEMENTED);
}

#[test]
fn packets_carry_the_lens_of_their_image() {
    let mut bench = Bench::with(|settings| {
        settings.distortion = vec![-0.1, 0.02];
        settings.binning = 4;
        settings.image_size = [320, 240];
    });
    let whole = bench.camera.settings.optics(bench.camera.profile.size).lens;
    let taken = |bench: &mut Bench| {
        bench.lenses.clear();
        bench.write(at::START, 1);
        bench.run_ms(150);
        bench.write(at::STOP, 1);
        bench.run_ms(150);
        bench.lenses[0]
    };
    bench.open();
    // Offset in binned pixels, binning and whether the image is mirrored in x.
    let first = (taken(&mut bench), [0, 0], [4, 4], false);
    bench.write(at::BINNING_X, 2);
    bench.write(at::WIDTH, 64);
    bench.write(at::HEIGHT, 32);
    bench.write(at::OFFSET_X, 16);
    bench.write(at::OFFSET_Y, 8);
    let second = (taken(&mut bench), [16, 8], [2, 4], false);
    bench.write(at::REVERSE_X, 1);
    let third = (taken(&mut bench), [16, 8], [2, 4], true);
    assert_eq!((first.0.size, second.0.size), ([320, 240], [64, 32]));
    for (lens, offset, binning, is_mirrored) in [first, second, third] {
        for direction in [[0.0, 0.0, 1.0], [0.3, -0.2, 1.0], [-0.5, 0.4, 1.0]] {
            let (of_whole, mut of_image) =
                (whole.project(direction).unwrap(), lens.project(direction).unwrap());
            if is_mirrored {
                of_image[0] = f64::from(lens.size[0]) - 1.0 - of_image[0];
            }
            for axis in 0..2 {
                // A pixel of the image has the centre of the sensor's pixels that it is made of.
                let bin = f64::from(binning[axis]);
                let wanted = bin * (of_image[axis] + f64::from(offset[axis])) + 0.5 * (bin - 1.0);
                assert!((of_whole[axis] - wanted).abs() < 1e-9, "{direction:?} {lens:?}");
            }
        }
    }
}

#[test]
fn a_silent_host_loses_control() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::START, 1);
    bench.run_ms(2900);
    assert_eq!(bench.read(0x0a00), 2);
    bench.run_ms(3100);
    assert_eq!((bench.read(0x0a00), bench.read(0x0d00)), (0, 0));
    bench.sent.clear();
    bench.run_ms(500);
    assert_eq!(bench.sent, []);
}

#[test]
fn frames_are_as_wide_as_set_and_end_with_the_mode() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::MODE, 2);
    bench.write(at::FRAME_COUNT, 3);
    bench.write(at::PIXEL_FORMAT, PixelFormat::Mono16.code());
    assert_eq!(bench.read(at::PAYLOAD_SIZE), 64 * 32 * 2);
    bench.write(at::START, 1);
    bench.run_ms(20);
    assert_eq!(bench.write_as(1, at::WIDTH, 32), status::BUSY);
    bench.run_ms(600);
    let leaders = bench.leaders();
    assert_eq!(leaders.iter().map(|(block, _)| *block).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(leaders[1].1 - leaders[0].1, 100_000_000);
    let image: Vec<u8> = bench
        .sent
        .iter()
        .filter_map(|(_, bytes)| match parse(bytes)? {
            (1, _, Part::Payload(data)) => Some(data.to_vec()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(image.len(), 64 * 32 * 2);
    assert_eq!(image[..2], 16_000u16.to_le_bytes());
    let dues: Vec<_> = bench.sent.iter().map(|(due, _)| *due).collect();
    assert!(dues.is_sorted());
}

#[test]
fn a_repeated_trigger_takes_one_frame() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::RATE_ENABLE, 0);
    bench.write(at::TRIGGER_MODE, 1);
    bench.write(at::START, 1);
    let payload = [at::TRIGGER_SOFTWARE, 1].map(u32::to_be_bytes).concat();
    for _ in 0..3 {
        assert_eq!(bench.repeat(1, 777, command::WRITE_REGISTER, &payload).0, 0);
    }
    bench.run_ms(200);
    assert_eq!(bench.leaders().len(), 1);
    // The second comes while the first is exposed.
    for id in [778, 779] {
        assert_eq!(bench.repeat(1, id, command::WRITE_REGISTER, &payload).0, 0);
    }
    bench.run_ms(200);
    assert_eq!((bench.leaders().len(), bench.read(at::TRIGGERS_MISSED)), (2, 1));
    bench.write(at::TRIGGER_SOURCE, 1);
    bench.write(0x090c, 5);
    bench.write(0x9800, 6);
    bench.write(0x9804, 3);
    let action = |group: u32| [5, group, 1].map(u32::to_be_bytes).concat();
    assert_eq!(bench.say_as(2, command::ACTION, &action(7)).0, status::ACCESS_DENIED);
    assert_eq!(bench.say_as(2, command::ACTION, &action(6)).0, 0);
    bench.run_ms(200);
    assert_eq!(bench.leaders().len(), 3);
}

#[test]
fn packets_come_again() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::MODE, 1);
    bench.write(at::START, 1);
    bench.run_ms(100);
    let (_, second) = bench.sent[1].clone();
    bench.sent.clear();
    let resend = |block: u32| [block, 1, 1].map(u32::to_be_bytes).concat();
    for block in [1, 9] {
        let payload = resend(block);
        let bytes =
            Command { flags: 0, code: command::PACKET_RESEND, id: 5, payload: &payload }.to_bytes();
        bench.camera.handle_peer_input(SimTime(bench.now), peer(33), &bytes);
    }
    bench.drain(&mut None);
    assert_eq!(bench.sent[0].1[..2], status::RESENT.to_be_bytes());
    assert_eq!(bench.sent[0].1[2..], second[2..]);
    assert_eq!(bench.sent[1].1, [0x80, 0x0c, 0, 9, 3, 0, 0, 1]);
}

#[test]
fn packet_sizes_are_clamped_and_tested() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(0x0d04, 0xc000_0000 | 1401);
    assert_eq!(bench.read(0x0d04), 0x4000_0000 | 1400);
    assert_eq!(bench.sent.len(), 1);
    assert_eq!(bench.sent[0].1.len(), 1400 - 28);
    bench.write(0x0d04, 20_000);
    assert_eq!(bench.read(0x0d04), 9000);
    assert_eq!(bench.hosts.last().unwrap().ports, [5000]);
}

#[test]
fn exposure_is_found_and_then_left_alone() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::EXPOSURE_AUTO, 2);
    bench.write(at::START, 1);
    // Frames are grey whatever the exposure is: it grows to what the rate allows.
    for _ in 0..4 {
        bench.run_ms(1000);
        bench.read(0x0a00);
    }
    let payload = [at::EXPOSURE, 8].map(u32::to_be_bytes).concat();
    let (_, data) = bench.say_as(1, command::READ_MEMORY, &payload);
    let exposure_us = f64::from_be_bytes(data[4..12].try_into().unwrap());
    assert!((exposure_us - 90_000.0).abs() < 1.0, "{exposure_us}");
}

#[test]
fn user_sets_and_reset_bring_values_back() {
    let mut bench = Bench::new();
    bench.open();
    // A write to the upper half of a float would cut it.
    assert_eq!(bench.write_as(1, at::BLACK, 0), status::BAD_ALIGNMENT);
    bench.write(at::WIDTH, 32);
    bench.write(at::USER_SET, 1);
    bench.write(at::USER_SET_SAVE, 1);
    bench.write(at::USER_SET, 0);
    bench.write(at::USER_SET_LOAD, 1);
    assert_eq!(bench.read(at::WIDTH), 64);
    bench.write(at::USER_SET, 1);
    bench.write(at::USER_SET_LOAD, 1);
    assert_eq!(bench.read(at::WIDTH), 32);
    bench.write(at::RESET, 1);
    bench.run_ms(2100);
    assert_eq!((bench.read(at::WIDTH), bench.read(0x0a00)), (64, 0));
}

#[test]
fn a_reset_forgets_what_was_latched() {
    let latched = [at::PTP_STATUS, at::PTP_OFFSET, at::PTP_OFFSET_LOW, 0x0948, 0x094c];
    let mut bench = Bench::with(|settings| settings.ptp = PtpState::Virtual);
    let at_power_up = latched.map(|address| bench.read(address));
    bench.open();
    bench.write(0x0954, 1 << 19 | 1);
    bench.run_ms(30_000);
    bench.write(at::PTP_LATCH, 1);
    bench.write(0x0944, 2);
    assert_eq!(bench.read(at::PTP_STATUS), 9);
    assert_ne!(bench.read(0x094c), 0);
    bench.write(at::RESET, 1);
    bench.run_ms(2100);
    assert_eq!(latched.map(|address| bench.read(address)), at_power_up);
}

#[test]
fn the_rig_decides_the_address() {
    let mut bench = Bench::new();
    bench.camera.set_address(Ipv4Addr::new(127, 0, 0, 2));
    bench.open();
    // Current configuration, and the persistent address, mask and gateway.
    for (address, now, other) in [
        (0x0014, 5, 6),
        (0x064c, 0x7f00_0002, 0x7f00_0003),
        (0x065c, 0xff00_0000, 0xffff_ff00),
        (0x066c, 0, 0x7f00_0001),
    ] {
        assert_eq!(bench.read(address), now, "{address:#x}");
        bench.write(address, now);
        assert_eq!(bench.write_as(1, address, other), status::INVALID_PARAMETER);
        assert_eq!(bench.read(address), now, "{address:#x}");
    }
    let force = |bench: &mut Bench, ip: [u8; 4]| {
        let mut payload = [0; 56];
        payload[2..8].copy_from_slice(&bench.camera.mac);
        payload[20..24].copy_from_slice(&ip);
        bench.say_as(2, command::FORCE_IP, &payload).0
    };
    assert_eq!(force(&mut bench, [127, 0, 0, 2]), status::ACCESS_DENIED, "a host controls it");
    bench.write(0x0a00, 0);
    assert_eq!(force(&mut bench, [127, 0, 0, 2]), status::SUCCESS);
    assert_eq!(force(&mut bench, [127, 0, 0, 3]), status::INVALID_PARAMETER);
    assert_eq!(bench.read(0x0024), 0x7f00_0002);
}

/// The parts of a frame's payload, put together.
fn payload_of(bench: &Bench, wanted: u64) -> Vec<u8> {
    let parts = bench.sent.iter().filter_map(|(_, bytes)| match parse(bytes)? {
        (block, _, Part::Payload(data)) if block == wanted => Some(data),
        _ => None,
    });
    parts.flatten().copied().collect()
}

#[test]
fn chunks_come_with_images() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::CHUNK_MODE, 1);
    for chunk in [Chunk::FrameId, Chunk::Timestamp, Chunk::Exposure] {
        bench.write(at::CHUNK_SELECTOR, chunk as u32);
        bench.write(at::CHUNK_ENABLE, 1);
    }
    bench.write(at::CHUNK_SELECTOR, Chunk::Gain as u32);
    assert_eq!(bench.read(at::CHUNK_ENABLE), 0);
    let image = Chunk::Image as u32;
    assert_eq!(bench.write_as(1, at::CHUNK_SELECTOR, image), status::INVALID_PARAMETER);
    assert_eq!(bench.read(at::PAYLOAD_SIZE), 64 * 32 + 8 + 3 * 16);
    bench.write(at::START, 1);
    bench.run_ms(250);
    let (block, timestamp) = bench.leaders()[1];
    let payload = payload_of(&bench, block);
    let chunks = chunks(&payload).unwrap();
    let of = |chunk: Chunk| chunks.iter().find(|(id, _)| *id == chunk.id()).unwrap().1;
    let image = of(Chunk::Image);
    assert_eq!((image.len(), image[0]), (64 * 32, 62));
    assert_eq!(of(Chunk::FrameId), block.to_be_bytes());
    assert_eq!(of(Chunk::Timestamp), timestamp.to_be_bytes());
    assert_eq!(of(Chunk::Exposure), 1000.0f64.to_be_bytes());
    assert_eq!(chunks.len(), 4);
    assert_eq!(bench.write_as(1, at::CHUNK_MODE, 0), status::BUSY);
}

#[test]
fn pulses_at_the_input_take_frames() {
    let ms = 1_000_000;
    let pulses = Pulses { start: SimTime(5 * ms), period_ns: 50 * ms, high_ns: 10 * ms };
    let mut bench = Bench::with(|settings| {
        settings.line1 = Some(pulses);
        settings.trigger = Trigger::Line;
    });
    bench.open();
    assert_eq!((bench.read(at::TRIGGER_MODE), bench.read(at::TRIGGER_SOURCE)), (1, 2));
    bench.write(at::START, 1);
    bench.run_ms(120);
    let trigger_ns = bench.camera.profile.timing.trigger_ns;
    let starts: Vec<_> = bench.leaders().iter().map(|(_, at)| *at).collect();
    assert_eq!(starts, [5, 55, 105].map(|at| at * ms + trigger_ns));
    bench.write(at::TRIGGER_ACTIVATION, 1);
    bench.sent.clear();
    bench.run_ms(100);
    let starts: Vec<_> = bench.leaders().iter().map(|(_, at)| *at).collect();
    assert_eq!(starts[0] % (50 * ms), 15 * ms + trigger_ns, "{starts:?}");
    bench.write(at::LINE_SELECTOR, line::INPUT);
    let status = bench.read(at::LINE_STATUS);
    bench.write(at::LINE_INVERTER, 1);
    assert_eq!(bench.read(at::LINE_STATUS), 1 - status);
    assert_eq!(bench.read(at::LINE_MODE), 0);
    assert_eq!(bench.write_as(1, at::LINE_SOURCE, 0), status::WRITE_PROTECT);
}

#[test]
fn pulses_that_come_too_fast_are_missed() {
    let us = 1000;
    let pulses = Pulses { start: SimTime(0), period_ns: 500 * us, high_ns: 100 * us };
    let mut bench = Bench::with(|settings| {
        settings.line1 = Some(pulses);
        settings.trigger = Trigger::Line;
    });
    bench.open();
    bench.write(at::START, 1);
    bench.run_ms(100);
    let (frames, missed) = (bench.leaders().len(), bench.read(at::TRIGGERS_MISSED));
    // A frame takes 1.1 ms: of three pulses one counts.
    assert!((60..=70).contains(&frames), "{frames}");
    assert!((125..=140).contains(&missed), "{missed}");
}

#[test]
fn a_cable_at_the_input_takes_frames() {
    let mut bench = Bench::with(|settings| settings.trigger = Trigger::Line);
    bench.open();
    bench.write(at::START, 1);
    for second in 1..=2 {
        bench.run_ms(200);
        for is_high in [true, false] {
            let signal = CableSignal::PulsePerSecond(is_high);
            bench.camera.handle_cable(SimTime(bench.now), &signal);
        }
        bench.run_ms(100);
        assert_eq!(bench.leaders().len(), second);
    }
}

#[test]
fn numbers_wrap_past_zero() {
    let mut bench = Bench::with(|settings| settings.first_block = 65_534);
    bench.open();
    bench.write(at::START, 1);
    bench.run_ms(450);
    let blocks =
        |bench: &Bench| bench.leaders().iter().map(|(block, _)| *block).collect::<Vec<_>>();
    assert_eq!(blocks(&bench)[..4], [65_534, 65_535, 1, 2]);
    bench.write(at::STOP, 1);
    bench.write(0x0d00, 0);
    bench.write(0x0960, 1 << 30);
    bench.open();
    bench.write(at::START, 1);
    bench.run_ms(450);
    assert_eq!(blocks(&bench)[..4], [65_534, 65_535, 65_536, 65_537]);
}

#[test]
fn a_change_of_the_trigger_loses_no_frame() {
    let mut bench = Bench::with(|settings| {
        settings.image_size = [640, 480];
        // The first frame is not sent before the second one is measured.
        settings.exposure_us = 50_000.0;
    });
    bench.open();
    bench.write(at::START, 1);
    // All tiles of a frame, and some of the next one, which has not begun.
    let horizon = SimTime(120_000_000);
    let mut requests: Vec<_> = (0..12).filter_map(|_| bench.camera.poll_request(horizon)).collect();
    assert_ne!(requests[0].start, requests[11].start);
    bench.now = 2_000_000;
    bench.write(at::TRIGGER_ACTIVATION, 1);
    requests.extend((0..12).filter_map(|_| bench.camera.poll_request(horizon)));
    for request in requests {
        let Subject::Tile(tile) = &request.subject else { panic!("{request:?}") };
        let pixels = vec![1000; tile.pixels()];
        bench.camera.handle_measurement(&Measurement::new(request, Outcome::Pixels(pixels)));
    }
    bench.run_ms(170);
    assert_eq!((bench.leaders().len(), bench.read(at::FRAMES_DROPPED)), (2, 0));
}

#[test]
fn a_locked_clock_shows_the_masters_time() {
    let mut bench = Bench::with(|settings| settings.ptp = PtpState::Locked);
    bench.open();
    assert_eq!((bench.read(0x096c), bench.read(at::PTP_STATUS)), (9, 3));
    bench.write(at::PTP_LATCH, 1);
    assert_eq!(bench.read(at::PTP_STATUS), 9);
    // A master sets the clock: a host does not.
    assert_eq!(bench.write_as(1, 0x0944, 1), status::ACCESS_DENIED);
    bench.write(at::START, 1);
    bench.run_ms(150);
    let (_, first) = bench.leaders()[0];
    assert!((37_000_000_000..37_100_000_000).contains(&first), "{first}");
    // Without PTP the clock goes on from there.
    bench.write(0x0954, 0);
    bench.sent.clear();
    bench.run_ms(150);
    let (_, next) = bench.leaders()[0];
    assert_eq!((next - first) % 100_000_000, 0);
    assert_eq!(bench.read(0x096c), 3);
    bench.write(0x0944, 1);
    bench.write(0x0944, 2);
    assert_eq!((bench.read(0x0948), bench.read(0x094c)), (0, 0));
}

#[test]
fn a_virtual_master_sets_the_clock() {
    let mut bench = Bench::with(|settings| settings.ptp = PtpState::Virtual);
    bench.open();
    bench.write(0x0954, 1 << 19 | 1);
    bench.run_ms(30_000);
    assert_eq!(bench.read(0x096c), 9);
    bench.write(at::START, 1);
    bench.run_ms(150);
    let (due, bytes) = &bench.sent[0];
    let Some((_, _, Part::Leader(leader))) = parse(bytes) else { panic!("no leader") };
    let off_ns = leader.timestamp as i64 - 37_000_000_000 - due.0 as i64;
    assert!((-3_000_000..0).contains(&off_ns), "{off_ns}");
}

#[test]
fn faults_lose_frames_and_move_the_exposure() {
    use crate::config::rig::schedule::Schedule;
    let always = Schedule { start: SimTime::ZERO, duration_ns: None, period_ns: None };
    let faults =
        |kind: CameraFault| DeviceFaults::from(vec![Timed { fault: 0, schedule: always, kind }]);
    let mut bench = Bench::new();
    bench.camera.set_faults(&faults(CameraFault::FramesDropped { probability: 0.5 }));
    bench.open();
    bench.write(at::START, 1);
    bench.run_ms(2000);
    let dropped = bench.read(at::FRAMES_DROPPED);
    let blocks: Vec<_> = bench.leaders().iter().map(|(block, _)| *block).collect();
    assert!((3..=17).contains(&dropped), "{dropped}");
    let newest = *blocks.last().unwrap();
    assert!(newest - blocks.len() as u64 <= dropped.into() && blocks.is_sorted());
    let hunts = CameraFault::ExposureHunts { swing_ev: 2.0, cycle_ns: 1_000_000_000 };
    bench.camera.set_faults(&faults(hunts));
    bench.write(at::STOP, 1);
    bench.write(at::CHUNK_MODE, 1);
    bench.write(at::CHUNK_SELECTOR, Chunk::Exposure as u32);
    bench.write(at::CHUNK_ENABLE, 1);
    bench.sent.clear();
    bench.write(at::START, 1);
    bench.run_ms(1000);
    let leaders = bench.leaders();
    let exposures = leaders.iter().map(|(block, _)| {
        let payload = payload_of(&bench, *block);
        let chunks = chunks(&payload).unwrap();
        f64::from_be_bytes(chunks[0].1.try_into().unwrap())
    });
    let exposures: Vec<_> = exposures.collect();
    assert!(exposures.iter().any(|us| *us > 3000.0), "{exposures:?}");
    assert!(exposures.iter().any(|us| *us < 350.0), "{exposures:?}");
    bench.camera.set_faults(&faults(CameraFault::HeartbeatLost));
    for _ in 0..40 {
        bench.run_ms(100);
        bench.say_as(1, command::READ_REGISTER, &0x0a00u32.to_be_bytes());
    }
    assert_eq!(bench.read(0x0a00), 0);
}

#[test]
fn any_bytes_are_answered_or_dropped() {
    let mut bench = Bench::new();
    bench.open();
    let mut draw = 1u64;
    for _ in 0..20_000 {
        let mut next = || {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (draw >> 33) as u32
        };
        let addresses = [next() % 0x1000, 0x1_0000 + next() % 0x400 / 4 * 4, next(), 0x0a00];
        let payload: Vec<u8> = [addresses[next() as usize % 4], next() % 4, next()]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .take(next() as usize % 13)
            .collect();
        let code = [2, 4, 0x40, 0x80, 0x82, 0x84, 0x86, 0x100, 7][next() as usize % 9];
        let (flags, id) = (next() as u8, next() as u16 | 1);
        let bytes = Command { flags, code, id, payload: &payload }.to_bytes();
        bench.camera.handle_peer_input(SimTime(bench.now), peer(1), &bytes);
        bench.drain(&mut None);
        if draw.is_multiple_of(64) {
            bench.run_ms(1);
            bench.sent.clear();
        }
    }
}
