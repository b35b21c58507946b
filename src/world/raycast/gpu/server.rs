//! The threads that combine requests into batches.
//!
//! There is no timer. Each thread has the memory of one batch. When it is free, the waiting requests of one kind become
//! a batch, as many as fit. A single lidar gets small batches without delay, many lidars get large batches. While one
//! thread waits for the GPU, the others copy pulses to it or wait until results are read.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::device::{Device, Kind, Results, Slot, most_pulses};
use crate::world::raycast::Hit;

/// Requests that wait for a thread.
#[derive(Default)]
pub struct Requests {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Request>,
    is_closed: bool,
}

impl Requests {
    /// Adds a request, unless the queue is closed.
    pub fn push(&self, request: Request) {
        let mut state = self.lock();
        if !state.is_closed {
            state.waiting.push_back(request);
            self.more.notify_one();
        }
    }

    /// Closes the queue, and drops the requests in it.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.waiting.clear();
        self.more.notify_all();
    }

    /// Waits for the next batch; `None` if the queue is closed.
    fn next(&self) -> Option<Vec<Request>> {
        let is_idle = |state: &mut State| state.waiting.is_empty() && !state.is_closed;
        let woken = self.more.wait_while(self.lock(), is_idle);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner);
        let batch = next_batch(&mut state.waiting);
        if !state.waiting.is_empty() {
            self.more.notify_one();
        }
        (!batch.is_empty()).then_some(batch)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pulses to cast, at most [`most_pulses`].
pub struct Request {
    pub kind: Kind,
    /// The pulses' own numbers, [`Kind::stride`] for each.
    pub pulses: Vec<f64>,
    /// Receives the answer; dropped without a message if the GPU is lost.
    pub answer: Sender<Answer>,
}

/// Answer to a [`Request`]. The caller reads the results where the GPU wrote them, so that no thread copies the results
/// of others. Until all answers of a batch are dropped, its thread waits.
pub struct Answer {
    /// Memory of the request's pulses, for another request.
    pub pulses: Vec<f64>,
    results: Arc<Results>,
    /// Rays of the request among those of the batch.
    rays: Range<usize>,
}

impl Answer {
    /// The hits of a request without [`Kind::any`]. The reflectance of a hit is [`UNKNOWN`](super::layout::UNKNOWN) if the
    /// processor must find it, or must cast the ray because the instance is [`UNDECIDED`](super::device::UNDECIDED).
    pub fn hits(&self) -> &[Hit] {
        &self.results.hits()[self.rays.clone()]
    }

    /// The instances that the rays of a request with [`Kind::any`] hit, or [`UNDECIDED`](super::device::UNDECIDED).
    pub fn instances(&self) -> &[u32] {
        &self.results.instances()[self.rays.clone()]
    }
}

impl Request {
    fn pulses(&self) -> usize {
        self.pulses.len() / self.kind.stride
    }
}

/// Processes requests with the memory of one batch, until the queue is closed. Closes it if the GPU is lost.
pub fn serve(device: Arc<Device>, slot: Slot, requests: &Requests) {
    let _closing = Closing(requests);
    // A lost GPU is never closed: wgpu, and therefore all waiting callers, would wait for it without limit.
    let memory = ManuallyDrop::new((device, slot));
    let (device, slot) = &*memory;
    let (read, is_read) = channel();
    while let Some(batch) = requests.next() {
        let parts: Vec<&[f64]> = batch.iter().map(|request| &request.pulses[..]).collect();
        let results = match device.cast(slot, &batch[0].kind, &parts, read.clone()) {
            Ok(results) => Arc::new(results),
            Err(reason) => {
                device.fault().set(reason);
                return;
            }
        };
        let mut first = 0;
        for request in batch {
            let end = first + request.pulses() * request.kind.stencil.len();
            let Request { pulses, answer, .. } = request;
            // The caller may have ended.
            let _ = answer.send(Answer { pulses, results: results.clone(), rays: first..end });
            first = end;
        }
        drop(results);
        let _ = is_read.recv();
        slot.unmap();
    }
    drop(ManuallyDrop::into_inner(memory));
}

/// Closes the queue when a thread ends, also by a panic: wgpu panics if the driver loses the GPU. Requests would
/// otherwise wait for threads that have ended.
struct Closing<'a>(&'a Requests);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Takes a batch from `waiting`: the first request and all later ones of its kind that fit.
fn next_batch(waiting: &mut VecDeque<Request>) -> Vec<Request> {
    let mut batch: Vec<Request> = Vec::new();
    let mut pulses = 0;
    let mut left = VecDeque::with_capacity(waiting.len());
    for request in waiting.drain(..) {
        let is_alike = batch.first().is_none_or(|first| first.kind == request.kind);
        if is_alike && pulses + request.pulses() <= most_pulses(&request.kind.stencil) {
            pulses += request.pulses();
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
    use super::*;
    use crate::world::raycast::Stencil;

    #[test]
    fn a_batch_holds_what_waits_of_one_kind_and_starts_with_the_first() {
        let kind = |any| Kind { stencil: Stencil::single(), any, stride: 6, common: [1.0; 16] };
        let request = |any, pulses: usize| Request {
            kind: kind(any),
            pulses: vec![0.0; 6 * pulses],
            answer: channel().0,
        };
        let most = most_pulses(&Stencil::single());
        let mut waiting = VecDeque::from([
            request(false, 400),
            request(true, 5),
            request(false, most - 500),
            request(false, 101),
            request(false, 100),
        ]);
        let of = |batch: Vec<Request>| {
            batch.iter().map(|r| (r.kind.any, r.pulses())).collect::<Vec<_>>()
        };
        let first = of(next_batch(&mut waiting));
        assert_eq!(first, [(false, 400), (false, most - 500), (false, 100)]);
        assert_eq!(of(next_batch(&mut waiting)), [(true, 5)]);
        assert_eq!(of(next_batch(&mut waiting)), [(false, 101)]);
        assert!(waiting.is_empty());
    }
}
