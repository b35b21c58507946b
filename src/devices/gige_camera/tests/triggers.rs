//! Tests of triggers by command and by the lines.

use super::*;
use crate::gige_camera::features::line;
use crate::gige_camera::profile::{PtpState, Pulses, Trigger};

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
    // The second trigger arrives during the exposure of the first frame.
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

impl Bench {
    /// Present reading of the camera's clock.
    fn ticks(&mut self) -> u64 {
        self.write(0x0944, 2);
        u64::from(self.read(0x0948)) << 32 | u64::from(self.read(0x094c))
    }

    /// Sends an action command that is scheduled for a reading of the camera's clock; returns the status of the answer.
    fn schedule(&mut self, ticks: u64) -> u16 {
        self.id += 1;
        let payload = [0, 0, 1, (ticks >> 32) as u32, ticks as u32].map(u32::to_be_bytes).concat();
        let command =
            Command { flags: 0x81, code: command::ACTION, id: self.id, payload: &payload };
        self.camera.handle_peer_input(SimTime(self.now), peer(2), &command.to_bytes());
        let mut answer = None;
        self.drain(&mut answer);
        let answer = answer.expect("an action is acknowledged");
        u16::from_be_bytes([answer[0], answer[1]])
    }
}

#[test]
fn scheduled_actions_need_a_master_and_late_ones_fire_at_once() {
    let mut bench = Bench::new();
    bench.open();
    bench.write(0x9804, 1);
    let soon = bench.ticks() + 50_000_000;
    assert_eq!(bench.schedule(soon), status::ERROR);
    // The host enables the status codes of GigE Vision 2.0.
    bench.write(0x0954, 1 << 18);
    assert_eq!(bench.schedule(soon), status::NO_REF_TIME);

    let mut bench = Bench::with(|settings| {
        settings.ptp = PtpState::Locked;
        settings.trigger = Trigger::Action;
    });
    bench.open();
    bench.write(0x9804, 1);
    bench.write(at::START, 1);
    let before = bench.ticks() - 1;
    assert_eq!(bench.schedule(before), status::ERROR);
    bench.run_ms(100);
    assert_eq!(bench.leaders().len(), 1, "it has fired");
    bench.write(0x0954, 1 << 19 | 1 << 18);
    assert_eq!(bench.schedule(before), status::ACTION_LATE);
    bench.run_ms(100);
    assert_eq!(bench.leaders().len(), 2);
    let far = bench.ticks() + 60_000_000_000;
    for _ in 0..bench.read(0x0970) {
        assert_eq!(bench.schedule(far), status::SUCCESS);
    }
    assert_eq!(bench.schedule(far), status::OVERFLOW);
}

#[test]
fn pulses_at_the_input_take_frames() {
    let ms = 1_000_000;
    let pulses = Pulses { start_ns: 5 * ms, period_ns: 50 * ms, high_ns: 10 * ms };
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
    let pulses = Pulses { start_ns: 0, period_ns: 500 * us, high_ns: 100 * us };
    let mut bench = Bench::with(|settings| {
        settings.line1 = Some(pulses);
        settings.trigger = Trigger::Line;
    });
    bench.open();
    bench.write(at::START, 1);
    bench.run_ms(100);
    let (frames, missed) = (bench.leaders().len(), bench.read(at::TRIGGERS_MISSED));
    // A frame takes 1.1 ms, so one pulse in three triggers.
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
fn a_change_of_the_trigger_loses_no_frame() {
    let mut bench = Bench::with(|settings| {
        settings.image_size = ImageSize { width: 640, height: 480 };
        // The first frame is not sent before the second one is measured.
        settings.start.exposure_us = 50_000.0;
    });
    bench.open();
    bench.write(at::START, 1);
    // These requests are for all tiles of one frame, and for some tiles of the next frame, which has not started.
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
