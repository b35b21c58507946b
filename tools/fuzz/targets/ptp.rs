//! PTP messages: any bytes are read or refused, and what is read is written again; a slave hears any messages, and its
//! clock goes on.

use menura::devices::ptp::{DelayMechanism, PtpClock, PtpSettings, PtpSlave};
use menura::sensors::noise::NoiseSource;
use menura::time::SimTime;
use menura::wire::ptp::Message;

pub fn run(bytes: &[u8]) {
    if let Ok(message) = Message::parse(bytes) {
        assert_eq!(message.to_bytes(), bytes);
    }
    for delay in [DelayMechanism::EndToEnd, DelayMechanism::PeerToPeer] {
        hear(delay, bytes);
    }
}

// Messages are pieces of up to 64 bytes, each after a byte that says how many hundredths of a second later it comes. What
// the slave sends has left at once.
fn hear(delay: DelayMechanism, bytes: &[u8]) {
    let settings = PtpSettings { delay, ..PtpSettings::default() };
    let clock = PtpClock::new(0.864, SimTime::ZERO, 0);
    let noise = NoiseSource::new(1, "slave");
    let mut slave = PtpSlave::new(&settings, [1; 8], clock, noise, SimTime::ZERO);
    let mut now = SimTime::ZERO;
    for piece in bytes.chunks(65).take(32) {
        let Some((wait, said)) = piece.split_first() else { continue };
        now = SimTime(now.0 + 10_000_000 * u64::from(*wait));
        slave.hear(now, SimTime(now.0.saturating_sub(1000)), said);
        while let Some(sent) = slave.poll_send() {
            assert!(Message::parse(&sent.bytes).is_ok());
            if let Some(key) = sent.key {
                slave.left(now, key, now);
            }
        }
        assert!(slave.shows_ns(SimTime(now.0 + 1_000_000)) > slave.shows_ns(now));
    }
    let _ = (slave.time_status(), slave.current_data_set(), slave.port_data_set());
}
