//! Switching off by command, and on again: CFG-PWR and RXM-PMREQ.
//!
//! A stopped receiver answers and does not navigate. In backup mode it is silent until the requested time has passed
//! or bytes arrive; those bytes wake the receiver and are lost.

use super::Gnss;
use super::Verdict;
use crate::time::SimTime;
use crate::wire::ubx::MessageId;

pub(super) const CFG_PWR: MessageId = MessageId::new(0x06, 0x57);
pub(super) const RXM_PMREQ: MessageId = MessageId::new(0x02, 0x41);
const RUN: u32 = 0x5255_4e20;
const STOP: u32 = 0x5354_4f50;
const BACKUP: u32 = 0x4243_4b50;

impl Gnss {
    pub(super) fn configure_power(&mut self, payload: &[u8]) -> Verdict {
        let [1, _, _, _, a, b, c, d] = *payload else { return Err(()) };
        match u32::from_le_bytes([a, b, c, d]) {
            RUN => self.is_navigating = true,
            STOP => self.is_navigating = false,
            BACKUP => self.wakes_at = Some(SimTime(u64::MAX)),
            _ => return Err(()),
        }
        Ok(())
    }

    /// RXM-PMREQ, with or without the version byte. Fields: duration in milliseconds (0: unlimited), flags (bit 1:
    /// backup).
    pub(super) fn request_power(&mut self, now: SimTime, payload: &[u8]) {
        let word =
            |at: usize| payload[at..at + 4].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
        let (duration_ms, flags) = match payload.len() {
            8 => (word(0), word(4)),
            16 if payload[0] == 0 => (word(4), word(8)),
            _ => return,
        };
        if flags & 2 != 0 {
            let after_ns = if duration_ms == 0 { u64::MAX } else { duration_ms * 1_000_000 };
            self.wakes_at = Some(SimTime(now.0.saturating_add(after_ns)));
        }
    }

    /// Wakes the receiver from backup mode.
    pub(super) fn wake(&mut self, at: SimTime) {
        self.wakes_at = None;
        self.restart(at, false, true);
    }
}
