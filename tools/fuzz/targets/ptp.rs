//! PTP messages: any bytes are parsed or rejected, and each parsed message is encoded to the same bytes. Slaves of all
//! profiles and a master process any messages, and the slaves' clocks always advance.

use std::net::Ipv4Addr;

use menura::devices::ptp::master::{MasterSettings, PtpMaster};
use menura::devices::ptp::{DelayMechanism, PtpClock, PtpSettings, PtpSlave};
use menura::sensors::noise::NoiseSource;
use menura::time::{Epoch, SimTime};
use menura::wire::ptp::{Message, Transport, suffix};

const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

pub fn run(bytes: &[u8]) {
    if let Ok(message) = Message::parse(bytes) {
        assert_eq!(message.to_bytes(), bytes);
    }
    let parts = suffix::parts(bytes);
    assert_eq!(suffix::parts(&suffix::to_bytes(&parts)), parts);
    let delay = DelayMechanism::PeerToPeer;
    let of_peers = PtpSettings { delay, ..PtpSettings::default() };
    let unicast = PtpSettings { masters: vec![HOST], ..PtpSettings::default() };
    let automotive = PtpSettings { transport: Transport::Udp, ..PtpSettings::automotive() };
    let all = [PtpSettings::default(), of_peers, unicast, automotive, PtpSettings::gptp()];
    for settings in all {
        hear(&settings, bytes);
    }
    for (transport, delay) in [(Transport::Udp, DelayMechanism::EndToEnd), (Transport::Gptp, delay)]
    {
        let settings = MasterSettings { domain: 0, priority_1: 128, transport, delay };
        lead(settings, bytes);
    }
}

// Pieces have the same form as in `hear`; every other message, from the first on, is unicast to the master.
fn lead(settings: MasterSettings, bytes: &[u8]) {
    let epoch = Epoch::new("2026-06-01T12:00:00Z".parse().expect("a time"));
    let mut master = PtpMaster::new(settings, HOST, epoch, true);
    let mut now = SimTime::ZERO;
    for (place, piece) in bytes.chunks(65).take(32).enumerate() {
        let Some((wait, said)) = piece.split_first() else { continue };
        now = SimTime(now.0 + 10_000_000 * u64::from(*wait));
        master.advance(now);
        master.hear(now, now, (place % 2 == 0).then_some(HOST), said);
        while let Some(sent) = master.poll_send() {
            assert!(Message::parse(&sent.bytes).is_ok());
            if let Some(key) = sent.key {
                master.left(key, now);
            }
        }
    }
}

// Pieces have up to 65 bytes: the pause before the message in hundredths of a second (1 byte), then the message. The
// slave's own messages leave without delay.
fn hear(settings: &PtpSettings, bytes: &[u8]) {
    let from = settings.masters.first().copied();
    let clock = PtpClock::new(0.864, SimTime::ZERO, 0);
    let noise = NoiseSource::new(1, "slave");
    let mut slave = PtpSlave::new(settings, [1; 8], clock, noise, SimTime::ZERO);
    let mut now = SimTime::ZERO;
    for piece in bytes.chunks(65).take(32) {
        let Some((wait, said)) = piece.split_first() else { continue };
        now = SimTime(now.0 + 10_000_000 * u64::from(*wait));
        slave.hear(now, SimTime(now.0.saturating_sub(1000)), from, said);
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
