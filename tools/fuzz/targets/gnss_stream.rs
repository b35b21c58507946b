//! The port of a GNSS receiver: the framer loses no byte, and each decoded sentence or UBX message is encoded to its
//! original bytes. A receiver or rover does not panic on any input.

use menura::devices::families::catalogue;
use menura::devices::gnss::profile::GnssProfile;
use std::sync::LazyLock;

use menura::devices::Device;
use menura::devices::gnss::Gnss;
use menura::sensors::gnss::SkySensor;
use menura::sensors::noise::NoiseSource;
use menura::time::{Epoch, SimTime};
use menura::wire::framer::Framer;
use menura::wire::gnss_stream::{Frame, GnssStream};
use menura::wire::nmea::{RawSentence, Sentence};
use menura::wire::ubx::Message;

static EPOCH: LazyLock<Epoch> =
    LazyLock::new(|| Epoch::new("2026-11-21T09:27:20Z".parse().expect("an instant")));

pub fn run(bytes: &[u8]) {
    let mut framer = Framer::new(GnssStream);
    let (mut joined, mut rest) = (Vec::<u8>::new(), bytes);
    loop {
        let Some(piece) = framer.next_piece(&mut rest) else {
            if !framer.is_amid() {
                break;
            }
            framer.end();
            continue;
        };
        match &piece.frame {
            Some(Frame::Line(line)) => {
                if let Ok(raw) = RawSentence::parse(line) {
                    assert_eq!(raw.to_bytes(), piece.bytes);
                    if let Some(Ok(sentence)) = Sentence::from_raw(&raw) {
                        assert_eq!(sentence.to_bytes(), piece.bytes);
                    }
                }
            }
            Some(Frame::Ubx(frame)) => {
                assert_eq!(frame.to_bytes(), piece.bytes);
                if let Some(Ok(message)) = Message::from_frame(frame) {
                    assert_eq!(message.to_frame(), *frame);
                }
            }
            Some(Frame::Rtcm3(_)) | None => {}
        }
        joined.extend(piece.bytes);
    }
    assert_eq!(joined, bytes);

    for profile in catalogue().profiles() {
        let Some(driver) = profile.data::<GnssProfile>() else { continue };
        let mut settings = driver.defaults.clone();
        if profile.product.corrections_port.is_some() {
            settings.receiver.acquisition.best_fix = None;
        }
        let sensor = SkySensor::new(&settings.receiver, *EPOCH);
        let noise = NoiseSource::new(1, "gnss");
        let mut device = Gnss::new(driver, &settings, &sensor, noise, *EPOCH);
        for (number, chunk) in bytes.chunks(100).enumerate() {
            let now = SimTime(number as u64 * 10_000_000);
            device.handle_input(now, chunk);
            for (_, port) in &profile.product.line_ports {
                device.handle_line_input(now, *port, chunk);
            }
            while device.poll_request(SimTime(now.0 + 100_000_000)).is_some() {}
            device.advance(now);
            while device.poll_transmit().is_some() {}
        }
    }
}
