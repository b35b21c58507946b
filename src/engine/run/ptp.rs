//! PTP messages between network and devices, and Menura's own PTP master.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::Sender;

use super::listeners::LinkFaults;
use crate::config::rig::DeviceId;
use crate::devices::ptp::master::PtpMaster;
use crate::engine::host_events::{HostEvent, HostInput, HostTarget, Payload};
use crate::links::ptp::{PtpEvent, PtpLink};
use crate::links::timestamps::StampReader;
use crate::time::SimTime;
use crate::timing::clock::{MonotonicClock, realtime_offset};
use crate::wire::ptp::HEADER_LEN;

/// Longest delay until the end of a run is noticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// Number of messages that one device accepts per second on average. Further messages are lost, so that a flood does
/// not slow other devices. The limit is above the assumed rate of a master, at most 400 messages per second.
const A_SECOND: f64 = 1000.0;
/// Number of messages that one device accepts in a burst.
const AT_ONCE: f64 = 200.0;
/// Message type that only masters process.
const DELAY_REQ: u8 = 1;

/// Passes messages from `link` to `device` until `over` is set; messages that arrive while the link is down
/// are lost.
pub fn listen(
    device: DeviceId,
    link: &PtpLink,
    clock: MonotonicClock,
    faults: &LinkFaults,
    events: &Sender<HostEvent>,
    over: &AtomicBool,
) {
    let mut reader = StampReader::default();
    let mut budget = Budget { left: AT_ONCE, at: clock.now() };
    let mut is_ill = false;
    let since_start = |unix_ns| since_start(clock, unix_ns);
    while !over.load(Ordering::Relaxed) {
        let happened = link.receive(&mut reader, PATIENCE, |event| {
            let payload = match event {
                PtpEvent::Left(unix_ns, key) => {
                    since_start(unix_ns).map(|at| Payload::PtpLeft { key, at })
                }
                PtpEvent::Arrived(unix_ns, from, bytes) => {
                    let is_wanted = bytes.len() >= HEADER_LEN && bytes[0] & 0x0f != DELAY_REQ;
                    let is_heard =
                        is_wanted && budget.takes(clock.now()) && !faults.is_down(clock.now());
                    let stamped = is_heard.then(|| since_start(unix_ns)).flatten();
                    stamped.map(|stamped| Payload::Ptp { stamped, from, bytes: bytes.to_vec() })
                }
            };
            if let Some(payload) = payload {
                let input = HostInput { at: clock.now(), to: HostTarget::Device(device), payload };
                // If the queue is full, the message is lost, as on a network.
                let _ = events.try_send(input.into());
            }
        });
        let was_ill = std::mem::replace(&mut is_ill, happened.is_err());
        if let Err(error) = happened {
            if !was_ill {
                tracing::warn!("cannot listen to {}: {error}", link.describe());
            }
            std::thread::park_timeout(PATIENCE);
        }
    }
}

/// Runs the PTP `master` on `link` until `over` is set.
pub fn lead(master: &mut PtpMaster, link: &PtpLink, clock: MonotonicClock, over: &AtomicBool) {
    let mut reader = StampReader::default();
    let mut budget = Budget { left: AT_ONCE, at: clock.now() };
    let (mut is_ill, mut was_passive) = (false, false);
    let mut noted = |failed: Option<std::io::Error>| {
        if let Some(error) = failed
            && !std::mem::replace(&mut is_ill, true)
        {
            tracing::warn!("the PTP master at {}: {error}", link.describe());
        }
    };
    while !over.load(Ordering::Relaxed) {
        let now = clock.now();
        master.advance(now);
        if std::mem::replace(&mut was_passive, master.is_passive()) != master.is_passive() {
            let what =
                if was_passive { "passive: the network has a better master" } else { "active" };
            tracing::warn!("the PTP master at {}: {what}", link.describe());
        }
        while let Some(send) = master.poll_send() {
            match (link.send(&send.bytes, send.key, send.to), send.key) {
                (Ok(false), Some(key)) => master.left(key, clock.now()),
                (Ok(_), _) => {}
                (Err(error), _) => noted(Some(error)),
            }
        }
        let patience = PATIENCE.min(clock.left_until(master.due()));
        let happened = link.receive(&mut reader, patience, |event| match event {
            PtpEvent::Left(unix_ns, key) => {
                if let Some(at) = since_start(clock, unix_ns) {
                    master.left(key, at);
                }
            }
            PtpEvent::Arrived(unix_ns, from, bytes) => {
                if let Some(at) = since_start(clock, unix_ns)
                    && budget.takes(clock.now())
                {
                    master.hear(clock.now(), at, from, bytes);
                }
            }
        });
        if let Err(error) = happened {
            noted(Some(error));
            std::thread::park_timeout(PATIENCE);
        }
    }
}

/// Time of the run at an instant of POSIX time; `None` before the first instant. Kernel timestamps use CLOCK_REALTIME.
/// That clock can be steered and set, so its present offset is used.
fn since_start(clock: MonotonicClock, unix_ns: u64) -> Option<SimTime> {
    let ns = i128::from(unix_ns)
        - i128::from(realtime_offset().offset_ns)
        - i128::from(clock.origin_ns());
    u64::try_from(ns).ok().map(SimTime)
}

/// Limits the number of messages that a device accepts per second.
struct Budget {
    left: f64,
    at: SimTime,
}

impl Budget {
    fn takes(&mut self, now: SimTime) -> bool {
        let passed_s = now.saturating_since(self.at).as_secs_f64();
        self.left = (self.left + passed_s * A_SECOND).min(AT_ONCE);
        self.at = now;
        let takes = self.left >= 1.0;
        self.left -= f64::from(u8::from(takes));
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_heard_in_part() {
        let mut budget = Budget { left: AT_ONCE, at: SimTime::ZERO };
        let heard = |budget: &mut Budget, at| (0..9999).filter(|_| budget.takes(at)).count();
        assert_eq!(heard(&mut budget, SimTime(1)), 200);
        assert_eq!(heard(&mut budget, SimTime(100_000_001)), 100);
        assert_eq!(heard(&mut budget, SimTime(9_000_000_000)), 200);
    }
}
