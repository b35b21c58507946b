//! Sockets of this process in place of a rig's links. The benchmark reads back the sent bytes and discards them.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::net::UnixStream;

/// Largest number of bytes of one write to the byte stream; longer outputs are written in parts.
const MOST_AT_ONCE: usize = 32 << 10;

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

    /// Sends `bytes`, as a datagram or as part of the byte stream.
    pub(super) fn send(&mut self, is_datagram: bool, bytes: &[u8]) -> io::Result<()> {
        if is_datagram {
            return self.datagrams.0.send(bytes).map(drop);
        }
        for part in bytes.chunks(MOST_AT_ONCE) {
            match self.bytes.0.write_all(part) {
                // The receiving socket is emptied between packets, but one output may be longer than its buffer.
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.drain(),
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Reads and discards the bytes that have arrived.
    pub(super) fn drain(&mut self) {
        while matches!(self.datagrams.1.recv(&mut self.buffer), Ok(length) if length > 0) {}
        while matches!(self.bytes.1.read(&mut self.buffer), Ok(length) if length > 0) {}
    }
}
