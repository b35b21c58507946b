//! `menura-mpi`: Menura for several processes that MPI connects (docs/SCALE.md).
//!
//! One thread uses MPI: it sends queued messages and receives others. It never waits for the other side, because two
//! processes that wait for each other would never end. Without messages, it sleeps between checks and uses a few per
//! cent of a processor.
//!
//! Messages longer than [`PART`] are sent in parts. MPI sends a short message at once, but asks the
//! receiver before a long one. The receiver of a long message then waits busily for the sender, and never
//! returns if the sender has crashed.

use std::process::ExitCode;
use std::thread::Builder;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use mpi::Tag;
use mpi::Threading;
use mpi::environment::processor_name;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::request::multiple_scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};

use menura::engine::ranks::line::Line;
use menura::engine::ranks::station::Station;
use menura::timing::clock::Stopwatch;

/// Largest length of a part, bytes. MPI sends such a part without asking the receiver. Open MPI's limit is 4 kB through
/// shared memory, including its own header, and higher on all networks.
const PART: usize = 3 << 10;
/// Tag of a part after which more parts of the same message follow.
const MORE: Tag = 1;
/// Tag of the last or only part of a message.
const LAST_PART: Tag = 0;
/// Largest number of messages that are being sent at a time.
const BATCH: usize = 256;
/// Sleep between two checks for messages.
const NAP: Duration = Duration::from_micros(50);
/// Sleep between two checks after the time [`CALM`] without messages.
const LONG_NAP: Duration = Duration::from_millis(1);
/// Time without messages after which checks become rarer.
const CALM: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    menura::cli::main_of_ranks(open)
}

/// Connects this process to the other processes of the MPI run.
///
/// # Errors
/// MPI or its thread cannot be started.
fn open() -> Result<Station, String> {
    let (post, outbox) = unbounded();
    let (inbox, mail) = unbounded();
    let (tell, told) = bounded(1);
    let (end, ended) = bounded(1);
    let talk = move || {
        // Only this thread calls MPI.
        let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
            return;
        };
        let world = universe.world();
        let host = processor_name().unwrap_or_default();
        let host = host.trim_end_matches('\0').to_owned();
        let _ = tell.send((world.rank() as usize, world.size() as usize, host));
        pump(&world, &outbox, &inbox);
        drop(universe);
        let _ = end.send(());
    };
    let started = Builder::new().name("mpi".into()).spawn(talk);
    started.map_err(|error| format!("cannot start the thread for MPI: {error}"))?;
    let (rank, processes, host) =
        told.recv().map_err(|_| "cannot start MPI: it was started before".to_owned())?;
    Ok(Station { rank, processes, host, line: Line { post, mail }, ended })
}

/// Sends and receives until all senders of `post` are dropped.
fn pump(
    world: &SimpleCommunicator,
    outbox: &Receiver<(usize, Vec<u8>)>,
    inbox: &Sender<(usize, Vec<u8>)>,
) {
    let mut last = Stopwatch::start();
    let mut arriving = Arriving::new(world);
    loop {
        let mut is_busy = arriving.receive(inbox);
        let nap = if last.elapsed() < CALM { NAP } else { LONG_NAP };
        let first = match is_busy {
            true => outbox.try_recv().map_err(|error| match error {
                crossbeam_channel::TryRecvError::Empty => RecvTimeoutError::Timeout,
                crossbeam_channel::TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            }),
            false => outbox.recv_timeout(nap),
        };
        match first {
            Ok(first) => {
                let mut batch = vec![first];
                batch.extend(outbox.try_iter().take(BATCH - 1));
                send(&batch, &mut arriving, inbox);
                is_busy = true;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if is_busy {
            last = Stopwatch::start();
        }
    }
}

/// Sends a batch, and receives messages until it has been sent.
fn send(batch: &[(usize, Vec<u8>)], arriving: &mut Arriving, inbox: &Sender<(usize, Vec<u8>)>) {
    let parts: Vec<_> = batch.iter().flat_map(|(rank, bytes)| parts(*rank, bytes)).collect();
    multiple_scope(parts.len(), |scope, sends| {
        for (rank, part, tag) in &parts {
            let to = arriving.world.process_at_rank(*rank as i32);
            sends.add(to.immediate_send_with_tag(scope, *part, *tag));
        }
        let mut sent = Vec::new();
        loop {
            sends.test_some(&mut sent);
            if sends.incomplete() == 0 {
                break;
            }
            if !arriving.receive(inbox) && sent.is_empty() {
                std::thread::park_timeout(NAP);
            }
        }
    });
}

/// The parts of a message for `rank`, each with its tag; an empty message has one part.
fn parts(rank: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8], Tag)> {
    let count = bytes.len().div_ceil(PART).max(1);
    (0..count).map(move |index| {
        let part = &bytes[index * PART..bytes.len().min((index + 1) * PART)];
        (rank, part, if index + 1 < count { MORE } else { LAST_PART })
    })
}

/// Incomplete messages. The messages of one sender arrive in order.
struct Arriving<'a> {
    world: &'a SimpleCommunicator,
    /// Incomplete messages, by sender.
    begun: Vec<Vec<u8>>,
}

impl<'a> Arriving<'a> {
    fn new(world: &'a SimpleCommunicator) -> Self {
        Self { world, begun: vec![Vec::new(); world.size() as usize] }
    }

    /// Receives the messages that have arrived; returns whether there were any.
    fn receive(&mut self, inbox: &Sender<(usize, Vec<u8>)>) -> bool {
        let mut has_come = false;
        while let Some(found) = self.world.any_process().immediate_matched_probe() {
            let (part, status) = found.matched_receive_vec::<u8>();
            self.take(status.source_rank() as usize, part, status.tag(), inbox);
            has_come = true;
        }
        has_come
    }

    fn take(&mut self, rank: usize, part: Vec<u8>, tag: Tag, inbox: &Sender<(usize, Vec<u8>)>) {
        let begun = &mut self.begun[rank];
        if begun.is_empty() {
            *begun = part;
        } else {
            begun.extend_from_slice(&part);
        }
        if tag == LAST_PART {
            let _ = inbox.send((rank, std::mem::take(begun)));
        }
    }
}
