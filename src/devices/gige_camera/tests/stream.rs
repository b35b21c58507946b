//! Tests of frames and their packets.

use super::*;
use crate::gige_camera::features::Chunk;
use crate::wire::gige::gvsp::{PixelFormat, chunks};

#[test]
fn packets_carry_the_lens_of_their_image() {
    let mut bench = Bench::with(|settings| {
        settings.lens.distortion = vec![-0.1, 0.02];
        settings.binning = 4;
        settings.image_size = ImageSize { width: 320, height: 240 };
    });
    let whole = bench.camera.settings.optics(bench.camera.profile.size()).lens;
    let taken = |bench: &mut Bench| {
        bench.lenses.clear();
        bench.write(at::START, 1);
        bench.run_ms(150);
        bench.write(at::STOP, 1);
        bench.run_ms(150);
        bench.lenses[0]
    };
    bench.open();
    // Offset in binned pixels, binning, and whether the image is mirrored left-right.
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
                // The centre of an image pixel is the centre of its binned sensor pixels.
                let bin = f64::from(binning[axis]);
                let wanted = bin * (of_image[axis] + f64::from(offset[axis])) + 0.5 * (bin - 1.0);
                assert!((of_whole[axis] - wanted).abs() < 1e-9, "{direction:?} {lens:?}");
            }
        }
    }
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
fn packets_come_again() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::MODE, 1);
    bench.write(at::START, 1);
    bench.run_ms(100);
    let (_, second) = bench.sent[1].clone();
    bench.sent.clear();
    // The host enables the status code of resent packets.
    for (enabled, status) in [(0, status::SUCCESS), (1 << 2, status::RESENT)] {
        bench.write(0x0954, enabled);
        bench.sent.clear();
        for block in [1, 9] {
            bench.request_again(HOST, block, 1, 1);
        }
        assert_eq!(bench.sent[0].1[..2], status.to_be_bytes());
        assert_eq!(bench.sent[0].1[2..], second[2..]);
        assert_eq!(bench.sent[1].1, [0x80, 0x0c, 0, 9, 3, 0, 0, 1]);
    }
}

impl Bench {
    /// Requests the packets `first` to `last` of the frame `block` again, from a host at `from`.
    fn request_again(&mut self, from: Ipv4Addr, block: u32, first: u32, last: u32) {
        let payload = [block, first, last].map(u32::to_be_bytes).concat();
        let bytes =
            Command { flags: 0, code: command::PACKET_RESEND, id: 5, payload: &payload }.to_bytes();
        let peer = Peer { connection: 33, port: 0, from: IpAddr::V4(from) };
        self.camera.handle_peer_input(SimTime(self.now), peer, &bytes);
        self.drain(&mut None);
    }

    /// Times between the due times of the packets sent.
    fn gaps_ns(&self) -> Vec<u64> {
        self.sent.windows(2).map(|pair| pair[1].0.0 - pair[0].0.0).collect()
    }
}

#[test]
fn resent_packets_share_the_line_and_few_wait() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::MODE, 1);
    bench.write(at::START, 1);
    bench.run_ms(100);
    bench.sent.clear();
    for _ in 0..10_000 {
        bench.request_again(HOST, 1, 0, 3);
    }
    // Packets of 1500 bytes for 0.1 s.
    assert!((8_000..8_200).contains(&bench.sent.len()), "{}", bench.sent.len());
    assert!(bench.gaps_ns().iter().all(|gap_ns| *gap_ns == 12_304));
}

#[test]
fn receivers_of_the_stream_and_its_controller_request_packets_again() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::MODE, 1);
    bench.write(at::START, 1);
    bench.run_ms(100);
    let [other, group] = [Ipv4Addr::new(127, 0, 0, 10), Ipv4Addr::new(239, 1, 2, 3)];
    for (destination, from, count) in
        [(HOST, other, 0), (group, other, 1), (other, other, 1), (other, HOST, 1)]
    {
        bench.write(0x0d18, destination.to_bits());
        bench.sent.clear();
        bench.request_again(from, 1, 1, 1);
        assert_eq!(bench.sent.len(), count, "{from} requests packets to {destination}");
    }
}

#[test]
fn the_packet_delay_is_a_pause_between_packets() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::MODE, 1);
    for (delay_ns, wanted_ns) in [(0, 12_304), (12_304, 24_608)] {
        bench.write(0x0d08, delay_ns);
        bench.sent.clear();
        bench.write(at::START, 1);
        bench.run_ms(200);
        assert_eq!(bench.gaps_ns(), [wanted_ns; 3]);
    }
}

#[test]
fn exposure_is_found_and_then_left_alone() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::EXPOSURE_AUTO, 2);
    bench.write(at::START, 1);
    // The bench's images are dark grey at any exposure, so the exposure grows to the limit of the frame rate.
    for _ in 0..4 {
        bench.run_ms(1000);
        bench.read(0x0a00);
    }
    let payload = [at::EXPOSURE, 8].map(u32::to_be_bytes).concat();
    let (_, data) = bench.say_as(1, command::READ_MEMORY, &payload);
    let exposure_us = f64::from_be_bytes(data[4..12].try_into().unwrap());
    assert!((exposure_us - 90_000.0).abs() < 1.0, "{exposure_us}");
}

/// Reassembled payload of a frame.
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

/// A machine that is busy for two seconds measures late, but the same frames.
#[test]
fn late_frames_keep_their_times() {
    let stamps = |starved_ms| {
        let mut bench = Bench::new();
        bench.open();
        bench.write(at::START, 1);
        bench.run_ms(250);
        bench.starve_ms(starved_ms);
        bench.run_ms(3000 - starved_ms);
        bench.leaders()
    };
    assert_eq!(stamps(0).len(), 31);
    assert_eq!(stamps(2000), stamps(0));
}

/// Frames whose measurements come too late are dropped, also if none of their measurements is in time. Block ids and a
/// register count them.
#[test]
fn revoked_frames_are_counted() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::START, 1);
    bench.run_ms(250);
    let first = bench.leaders().len() as u64;
    bench.starve_ms(2000);
    bench.measure(false);
    bench.run_ms(450);
    let blocks: Vec<_> = bench.leaders().iter().map(|(block, _)| *block).collect();
    let dropped = bench.read(at::FRAMES_DROPPED);
    assert!((19..=21).contains(&dropped), "{dropped}");
    let next = first + u64::from(dropped) + 1;
    let wanted: Vec<_> = (1..=first).chain(next..next + blocks.len() as u64 - first).collect();
    assert_eq!(blocks, wanted);
    assert!(blocks.len() as u64 - first >= 4, "{blocks:?}");
}

/// After a camera has waited for triggers, it takes frames from now on.
#[test]
fn free_running_frames_begin_at_the_present() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(at::TRIGGER_MODE, 1);
    bench.write(at::START, 1);
    bench.run_ms(2000);
    assert_eq!(bench.leaders(), []);
    bench.write(at::TRIGGER_MODE, 0);
    bench.run_ms(450);
    assert!((4..=5).contains(&bench.leaders().len()), "{:?}", bench.leaders());
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
