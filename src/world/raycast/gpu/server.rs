//! The thread that combines requests into batches.
//!
//! There is no timer. When a slot of the GPU is free, the waiting requests of one kind become a batch, as many as fit.
//! A single lidar gets small batches without delay, many lidars get large batches.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::mpsc::{Receiver, Sender};

use super::device::{Device, MOST_PULSES, MOST_RAYS, PackedHit, PackedPulse, SLOTS};
use crate::world::raycast::Stencil;

/// Kind of a request: the rays of a pulse, and whether a ray ends at any surface instead of the nearest one. All
/// requests of a batch have the same kind.
#[derive(Clone, PartialEq)]
pub struct Kind {
    pub stencil: Stencil,
    pub any: bool,
}

/// Pulses and their hits. A caller sends the pulses and gets both back; the memory is used again.
#[derive(Default)]
pub struct Exchange {
    pub pulses: Vec<PackedPulse>,
    pub hits: Vec<PackedHit>,
}

/// Pulses to cast, at most [`Kind::most_pulses`].
pub struct Request {
    pub kind: Kind,
    pub exchange: Exchange,
    /// Receives the hits; dropped without a message if the GPU is lost.
    pub answer: Sender<Exchange>,
}

impl Request {
    fn pulses(&self) -> &[PackedPulse] {
        &self.exchange.pulses
    }
}

impl Kind {
    /// Largest number of pulses in a batch.
    pub fn most_pulses(&self) -> usize {
        MOST_PULSES.min(MOST_RAYS / self.stencil.len())
    }
}

/// Processes requests until all senders are dropped or the GPU is lost.
pub fn serve(device: Device, requests: &Receiver<Request>) {
    // A lost GPU is never closed: wgpu, and therefore all waiting callers, would wait for it without limit.
    let mut device = ManuallyDrop::new(device);
    let mut waiting = VecDeque::new();
    let mut flying: VecDeque<(usize, Vec<Request>)> = VecDeque::new();
    let mut next_slot = 0;
    loop {
        if waiting.is_empty() && flying.is_empty() {
            let Ok(request) = requests.recv() else {
                drop(ManuallyDrop::into_inner(device));
                return;
            };
            waiting.push_back(request);
        }
        waiting.extend(requests.try_iter());
        if flying.len() < SLOTS && !waiting.is_empty() {
            let batch = next_batch(&mut waiting);
            let parts: Vec<&[PackedPulse]> = batch.iter().map(Request::pulses).collect();
            let kind = &batch[0].kind;
            device.submit(next_slot, &kind.stencil, kind.any, &parts);
            flying.push_back((next_slot, batch));
            next_slot = (next_slot + 1) % SLOTS;
            continue;
        }
        let Some((slot, batch)) = flying.pop_front() else { continue };
        let waited = device.wait(slot, |mut hits| {
            for Request { kind, mut exchange, answer } in batch {
                let rays = exchange.pulses.len() * kind.stencil.len();
                let (now, later) = hits.split_at(rays);
                hits = later;
                exchange.hits.clear();
                exchange.hits.extend_from_slice(now);
                // The caller may have ended.
                let _ = answer.send(exchange);
            }
        });
        if let Err(reason) = waited {
            device.fault().set(reason);
            return;
        }
    }
}

/// Takes a batch from `waiting`: the first request and all later ones of its kind that fit.
fn next_batch(waiting: &mut VecDeque<Request>) -> Vec<Request> {
    let mut batch: Vec<Request> = Vec::new();
    let mut pulses = 0;
    let mut left = VecDeque::with_capacity(waiting.len());
    for request in waiting.drain(..) {
        let is_alike = batch.first().is_none_or(|first| first.kind == request.kind);
        if is_alike && pulses + request.pulses().len() <= request.kind.most_pulses() {
            pulses += request.pulses().len();
            batch.push(request);
        } else {
            left.push_back(request);
        }
    }
    *waiting = left;
    batch
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_batch_holds_what_waits_of_one_kind_and_starts_with_the_first() {
        let request = |any, pulses: usize| Request {
            kind: Kind { stencil: Stencil::single(), any },
            exchange: Exchange { pulses: vec![[0.0; 16]; pulses], hits: Vec::new() },
            answer: channel().0,
        };
        let most = Kind { stencil: Stencil::single(), any: false }.most_pulses();
        let mut waiting = VecDeque::from([
            request(false, 400),
            request(true, 5),
            request(false, most - 500),
            request(false, 101),
            request(false, 100),
        ]);
        let of = |batch: Vec<Request>| {
            batch.iter().map(|r| (r.kind.any, r.pulses().len())).collect::<Vec<_>>()
        };
        let first = of(next_batch(&mut waiting));
        assert_eq!(first, [(false, 400), (false, most - 500), (false, 100)]);
        assert_eq!(of(next_batch(&mut waiting)), [(true, 5)]);
        assert_eq!(of(next_batch(&mut waiting)), [(false, 101)]);
        assert!(waiting.is_empty());
    }
}
