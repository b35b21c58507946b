//! The SICK LMS 2xx: each parsed reply or command is encoded to the same bytes. After any bytes in any pieces, the
//! scanner has not panicked, its output was bounded, and it answers a status request.

use menura::devices::families::catalogue;
use menura::devices::sick_lms2xx::SickLms2xx;
use menura::devices::sick_lms2xx::profile::SickLms2xxProfile;
use menura::devices::{Device, Output};
use menura::sensors::noise::NoiseSource;
use menura::sensors::{Measurement, Outcome, PulseReturns, Subject};
use menura::time::SimTime;
use menura::wire::framer::Framer;
use menura::wire::sick_lms2xx::command::Command;
use menura::wire::sick_lms2xx::frame::{self, Item, MAX_PAYLOAD, OVERHEAD, Telegrams};
use menura::wire::sick_lms2xx::reply::{Body, Reply};

const MS: u64 = 1_000_000;

pub fn run(bytes: &[u8]) {
    if let Ok(reply) = Reply::parse(bytes) {
        assert_eq!(reply.emit(), bytes);
    }
    if !bytes.is_empty() {
        assert_eq!(Command::parse(bytes).emit(), bytes);
    }
    for name in ["sick-lms291-s05-x1.27", "sick-lms291-s14"] {
        converse(name, bytes);
    }
}

/// Sends `bytes` piece by piece to a scanner. Each piece has a head byte: length of the piece (bits 0 to 5), telegram
/// with a valid CRC around the piece (bit 6), 25 ms instead of 1 ms until the next piece (bit 7).
fn converse(name: &str, mut bytes: &[u8]) {
    let profile = catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"));
    let Some(driver) = profile.data::<SickLms2xxProfile>() else { panic!("{name}") };
    let mut settings = driver.defaults.clone();
    settings.restart_ns = 20 * MS;
    let mut scanner = SickLms2xx::new(driver, &settings, NoiseSource::new(1, name));
    let mut now = 0;
    while let Some((head, rest)) = bytes.split_first() {
        let (piece, rest) = rest.split_at(usize::from(head & 0x3f).min(rest.len()));
        // Telegrams from the fuzzer would rarely have a valid CRC.
        if head & 0x40 != 0 && !piece.is_empty() {
            scanner.handle_input(SimTime(now), &frame::emit(0, piece));
        } else {
            scanner.handle_input(SimTime(now), piece);
        }
        pass_time(&mut scanner, &mut now, if head & 0x80 != 0 { 25 } else { 1 });
        bytes = rest;
    }
    // Enough time for all pending work: two averages of 255 scans take 27 s.
    pass_time(&mut scanner, &mut now, 60_000);
    scanner.handle_input(SimTime(now), &frame::emit(0, &Command::Status.emit()));
    let said = pass_time(&mut scanner, &mut now, 2000);
    let mut items = Framer::new(Telegrams::default()).frames(&said).into_iter();
    let answered = items.any(|item| match item {
        Item::Telegram { payload, .. } => {
            matches!(Reply::parse(&payload), Ok(Reply { body: Body::Status(_), .. }))
        }
        _ => false,
    });
    assert!(answered, "{name} does not tell its state");
}

/// Advances the scanner by `ms` milliseconds and returns its output.
fn pass_time(scanner: &mut SickLms2xx, now: &mut u64, ms: u64) -> Vec<u8> {
    let end = *now + ms * MS;
    let mut said = Vec::new();
    while *now < end {
        *now = (*now + 5 * MS).min(end);
        while let Some(request) = scanner.poll_request(SimTime(*now)) {
            let Subject::Sweep(sweep) = &request.subject else { panic!("not a sweep") };
            let outcome = Outcome::Returns(vec![PulseReturns::default(); sweep.firings.len()]);
            scanner.handle_measurement(&Measurement::new(request, outcome));
        }
        scanner.advance(SimTime(*now));
        let before = said.len();
        while let Some(transmit) = scanner.poll_transmit() {
            if let Output::Bytes(bytes) = transmit.output {
                assert!(bytes.len() <= MAX_PAYLOAD + OVERHEAD);
                said.extend(bytes);
            }
        }
        assert!(said.len() - before < 1 << 16);
    }
    said
}
