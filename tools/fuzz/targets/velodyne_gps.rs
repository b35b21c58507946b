//! The GPS input of a Velodyne: after any bytes on the cable, the clock shows a time within the hour, and the echo is
//! empty or a valid NMEA sentence.

use menura::devices::families::catalogue;
use menura::devices::velodyne::profile::VelodyneProfile;
use std::sync::LazyLock;

use menura::devices::CableSignal;
use menura::devices::spinning::clock::DeviceClock;
use menura::devices::spinning::clock_settings::ClockSettings;
use menura::time::{Epoch, SimTime};
use menura::wire::line::LineSettings;
use menura::wire::nmea::RawSentence;

static EPOCH: LazyLock<Epoch> =
    LazyLock::new(|| Epoch::new("2026-11-21T09:27:20Z".parse().expect("an instant")));

static CLOCKS: LazyLock<Vec<ClockSettings>> = LazyLock::new(|| {
    let units =
        catalogue().profiles().iter().filter_map(|profile| profile.data::<VelodyneProfile>());
    units.map(|unit| unit.defaults.clock.clone()).collect()
});

pub fn run(bytes: &[u8]) {
    for settings in CLOCKS.iter() {
        let mut clock = DeviceClock::new(settings, *EPOCH);
        let mut at = SimTime::ZERO;
        for piece in bytes.chunks(80) {
            // The first byte of a piece sets the pause before it (units of 10 ms) and its baud rate.
            at = SimTime(at.0 + u64::from(piece[0]) * 10_000_000);
            let baud = if piece[0] % 8 == 0 { 4800 } else { 9600 };
            clock.handle_signal(at, &CableSignal::PulsePerSecond(true));
            let line = LineSettings::eight_n_one(baud);
            clock.handle_signal(at, &CableSignal::Bytes(piece[1..].to_vec(), line));
            assert!(clock.micros_past_hour(at) < 3_600_000_000);
            clock.pps(at);
            clock.civil(at);
        }
        assert!(clock.sentence().is_empty() || RawSentence::parse(clock.sentence()).is_ok());
    }
}
