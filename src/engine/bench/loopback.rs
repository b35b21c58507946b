//! Sockets of this process in place of a rig's links, and the thread that sends, as in a run. The benchmark reads back
//! the sent bytes and discards them.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, TryRecvError};

use super::timed::{Costs, Meter, timed_briefly};
use crate::timing::clock::{MonotonicClock, thread_cpu_ns};

/// Largest number of bytes of one write to the byte stream; longer outputs are written in parts.
const MOST_AT_ONCE: usize = 32 << 10;

/// Time that the sending thread sleeps when no packet waits.
const PAUSE: Duration = Duration::from_millis(1);
/// Number of packets that wait for the sending thread at most.
pub(super) const MOST_WAITING: usize = 4096;
/// Numbers of packets and of bytes after which the receiving sockets are emptied; their buffers have room for more.
const DRAINED_AFTER: (usize, usize) = (16, 64 << 10);

/// A packet on its way to the sending thread.
pub(super) struct Waiting {
    /// Index of the device.
    pub device: usize,
    pub is_datagram: bool,
    pub bytes: Vec<u8>,
}

/// Pairs of connected sockets, one pair for datagrams and one for byte streams: the first socket sends, the second one
/// receives.
pub(super) struct Loopback {
    datagrams: (UdpSocket, UdpSocket),
    bytes: (UnixStream, UnixStream),
    buffer: Vec<u8>,
}

impl Loopback {
    pub(super) fn open() -> io::Result<Self> {
        let [from, to] = [
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
        ];
        from.connect(to.local_addr()?)?;
        to.set_nonblocking(true)?;
        let bytes = UnixStream::pair()?;
        bytes.0.set_nonblocking(true)?;
        bytes.1.set_nonblocking(true)?;
        Ok(Self { datagrams: (from, to), bytes, buffer: vec![0; 2 * MOST_AT_ONCE] })
    }

    /// Sends all packets, until nobody sends more. Adds the duration of sending to the cost of each device. Returns the
    /// processor time of this thread without that for reading back, nanoseconds.
    pub(super) fn send_all(
        &mut self,
        packets: &Receiver<Waiting>,
        costs: &[Arc<Costs>],
        meter: Meter,
    ) -> io::Result<u64> {
        let before_ns = thread_cpu_ns();
        let mut reading_ns = 0;
        let (clock, _) = MonotonicClock::starting_in(Duration::ZERO);
        let mut unread = (0, 0);
        loop {
            match packets.try_recv() {
                Ok(Waiting { device, is_datagram, bytes }) => {
                    let (outcome, took) = timed_briefly(|| self.send(is_datagram, &bytes));
                    outcome?;
                    costs[device].count_sent(took);
                    unread = (unread.0 + 1, unread.1 + bytes.len());
                    if unread.0 >= DRAINED_AFTER.0 || unread.1 >= DRAINED_AFTER.1 {
                        reading_ns += meter.measure(|| self.drain()).1;
                        unread = (0, 0);
                    }
                }
                Err(TryRecvError::Empty) => clock.rest(PAUSE),
                Err(TryRecvError::Disconnected) => {
                    return Ok((thread_cpu_ns() - before_ns).saturating_sub(reading_ns));
                }
            }
        }
    }

    /// Sends `bytes`, as a datagram or as part of the byte stream.
    fn send(&mut self, is_datagram: bool, bytes: &[u8]) -> io::Result<()> {
        if is_datagram {
            return self.datagrams.0.send(bytes).map(drop);
        }
        for part in bytes.chunks(MOST_AT_ONCE) {
            match self.bytes.0.write_all(part) {
                // The receiving socket is emptied only now and then, and one output may be longer than its buffer.
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.drain(),
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Reads and discards the bytes that have arrived.
    fn drain(&mut self) {
        while matches!(self.datagrams.1.recv(&mut self.buffer), Ok(length) if length > 0) {}
        while matches!(self.bytes.1.read(&mut self.buffer), Ok(length) if length > 0) {}
    }
}
