//! The ear of a serial line: one thread waits for what the host sends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::Sender;

use crate::engine::clock::MonotonicClock;
use crate::links::ByteLink;
use crate::time::SimTime;

/// How long the end of a run may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes taken at once.
const PIECE: usize = 1024;

/// What a host sent.
pub struct Heard {
    /// The device's place in the rig.
    pub unit: usize,
    /// When it was read.
    pub at: SimTime,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Passes on what arrives on `line` until `over` is set. A full queue makes the host wait.
pub fn listen(
    unit: usize,
    line: &dyn ByteLink,
    clock: MonotonicClock,
    heard: &Sender<Heard>,
    over: &AtomicBool,
) {
    let mut buffer = [0; PIECE];
    let mut is_well = true;
    while !over.load(Ordering::Relaxed) {
        match line.receive(&mut buffer, PATIENCE) {
            Ok(0) => {}
            Ok(count) => {
                is_well = true;
                let mut piece = Heard { unit, at: clock.now(), bytes: buffer[..count].to_vec() };
                while let Err(refused) = heard.send_timeout(piece, PATIENCE) {
                    if refused.is_disconnected() || over.load(Ordering::Relaxed) {
                        return;
                    }
                    piece = refused.into_inner();
                }
            }
            Err(error) => {
                if std::mem::take(&mut is_well) {
                    tracing::warn!("cannot listen to {}: {error}", line.describe());
                }
                std::thread::park_timeout(PATIENCE);
            }
        }
    }
}
