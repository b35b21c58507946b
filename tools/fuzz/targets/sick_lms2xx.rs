//! The SICK LMS 2xx: any telegram that is read comes back; a scanner that hears any bytes in any
//! pieces stays alive, small, and still tells its state.

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

/// The first byte of each piece is its length and the time until the next.
fn converse(name: &str, mut bytes: &[u8]) {
    let profile = catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"));
    let Some(driver) = profile.data::<SickLms2xxProfile>() else { panic!("{name}") };
    let mut settings = driver.defaults.clone();
    settings.restart_ns = 20 * MS;
    let mut scanner = SickLms2xx::new(driver, &settings, NoiseSource::new(1, name));
    let mut now = 0;
    while let Some((head, rest)) = bytes.split_first() {
        let (piece, rest) = rest.split_at(usize::from(head & 0x3f).min(rest.len()));
        // Telegrams of the fuzzer's making would seldom have the right CRC.
        if head & 0x40 != 0 && !piece.is_empty() {
            scanner.handle_input(SimTime(now), &frame::emit(0, piece));
        } else {
            scanner.handle_input(SimTime(now), piece);
        }
        pass_time(&mut scanner, &mut now, if head & 0x80 != 0 { 25 } else { 1 });
        bytes = rest;
    }
    // Until all is done that may wait: a mean of 255 scans, twice, takes 27 s.
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

/// What it says while so many milliseconds pass.
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
