//! A PTP master for tests of devices with a slave.

use crate::Device;
use crate::time::SimTime;
use crate::wire::ptp::{
    Announce, Body, ClockQuality, Message, PortIdentity, Response, Timestamp, flag,
};

const MS: u64 = 1_000_000;
/// Path delay in each direction, nanoseconds.
pub const PATH_NS: u64 = 4_000;
/// Port of the master.
pub const MASTER: PortIdentity = PortIdentity { clock: [2, 0, 0, 0xff, 0xfe, 0, 0, 0xa], port: 1 };

/// Runs `device` from `from` for `seconds` with a one-step master of `domain` on PTP's time scale. The master's clock
/// reads the time since the start of the run plus `ahead_ns`. Packets are discarded. Returns the end time.
pub fn with_master(
    device: &mut dyn Device,
    from: SimTime,
    seconds: u64,
    domain: u8,
    ahead_ns: i128,
) -> SimTime {
    let shows = |at: u64| Timestamp::of_ns(i128::from(at) + ahead_ns);
    for second in 0..seconds {
        let start = from.0 + second * 1000 * MS;
        let message = |body| Message::new(domain, MASTER, second as u16, body);
        let announce = Announce {
            origin: Timestamp::default(),
            utc_offset_s: 37,
            reserved: 0,
            priority_1: 10,
            quality: ClockQuality { class: 6, accuracy: 0x21, variance: 0xffff },
            priority_2: 128,
            grandmaster: MASTER.clock,
            steps_removed: 0,
            time_source: 0x20,
        };
        let flags = flag::UTC_OFFSET_VALID | flag::PTP_TIMESCALE;
        let announce = Message { flags, ..message(Body::Announce(announce)) };
        let sync = Message { log_interval: 0, ..message(Body::Sync(shows(start))) };
        let arrives = SimTime(start + PATH_NS);
        // The message is processed after its timestamp.
        let heard = SimTime(start + MS);
        device.handle_ptp(heard, arrives, None, &announce.to_bytes());
        device.handle_ptp(heard, arrives, None, &sync.to_bytes());
        for now in (start + 2 * MS..=start + 1000 * MS).step_by(MS as usize).map(SimTime) {
            device.advance(now);
            while device.poll_transmit().is_some() {}
            while let Some(sent) = device.poll_ptp() {
                let Ok(asked) = Message::parse(&sent.bytes) else { continue };
                let Some(key) = sent.key else { continue };
                device.handle_ptp_departure(now, key, now);
                let at = shows(now.0 + PATH_NS);
                let answer = Body::DelayResp(Response { at, requester: asked.source });
                let answer = Message::new(domain, MASTER, asked.sequence, answer);
                device.handle_ptp(now, now, None, &answer.to_bytes());
            }
        }
    }
    SimTime(from.0 + seconds * 1000 * MS)
}
