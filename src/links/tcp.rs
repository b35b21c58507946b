//! A serial line over TCP, like that of a terminal server: raw bytes, one host at a time.
//!
//! The host that connected last gets the line, so that a host that crashed does not block it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Mutex;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ByteLink;
use crate::wire::line::LineSettings;

/// A listening socket and the host that is connected to it.
#[derive(Debug)]
pub struct TcpLink {
    listener: TcpListener,
    address: SocketAddr,
    host: Mutex<Option<TcpStream>>,
}

impl TcpLink {
    /// Listens at `address`. Errors name the address.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let told = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot listen at {address}: {error}"))
        };
        let listener = TcpListener::bind(address).map_err(told)?;
        listener.set_nonblocking(true).map_err(told)?;
        let address = listener.local_addr().map_err(told)?;
        Ok(Self { listener, address, host: Mutex::new(None) })
    }

    fn host(&self) -> io::Result<Option<TcpStream>> {
        self.host.lock().expect("no holder panics").as_ref().map(TcpStream::try_clone).transpose()
    }

    fn take_new_host(&self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((host, from)) => {
                    host.set_nonblocking(true)?;
                    host.set_nodelay(true)?;
                    tracing::info!("{from} is connected to {}", self.address);
                    *self.host.lock().expect("no holder panics") = Some(host);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn forget_host(&self) {
        *self.host.lock().expect("no holder panics") = None;
    }
}

impl ByteLink for TcpLink {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let host = self.host.lock().expect("no holder panics");
        let Some(mut stream) = host.as_ref() else { return Ok(bytes.len()) };
        match stream.write(bytes) {
            Ok(sent) => Ok(sent),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            // The receiving thread notices this and drops the host.
            Err(error) if is_gone(&error) => Ok(bytes.len()),
            Err(error) => Err(error),
        }
    }

    fn receive(&self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        let host = self.host()?;
        wait(self.listener.as_fd(), host.as_ref().map(AsFd::as_fd), timeout)?;
        self.take_new_host()?;
        let Some(mut host) = host else { return Ok(0) };
        match host.read(buffer) {
            Ok(0) => {
                // A new host may have replaced this one; the new one stays.
                if self.host()?.is_some_and(|now| now.peer_addr().ok() == host.peer_addr().ok()) {
                    self.forget_host();
                }
                Ok(0)
            }
            Ok(count) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) if is_gone(&error) => {
                self.forget_host();
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    fn set_line(&self, _line: LineSettings) {}

    fn set_pulse_per_second(&self, _high: bool) {}

    fn paces_itself(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        format!("tcp {}", self.address)
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::BrokenPipe | Kind::ConnectionReset | Kind::ConnectionAborted | Kind::NotConnected
    )
}

/// Waits up to `timeout` until `first` or `second` can be read.
fn wait(
    first: BorrowedFd<'_>,
    second: Option<BorrowedFd<'_>>,
    timeout: Duration,
) -> io::Result<()> {
    let both = [Some(first), second];
    let mut waits: Vec<_> =
        both.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let timeout =
        Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
    match poll(&mut waits, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    fn link() -> TcpLink {
        TcpLink::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap()
    }

    fn connect(link: &TcpLink) -> TcpStream {
        let host = TcpStream::connect(link.address).unwrap();
        assert_eq!(link.receive(&mut [0; 9], SOON).unwrap(), 0);
        host
    }

    #[test]
    fn bytes_go_both_ways_and_hosts_come_and_go() {
        let link = link();
        assert_eq!(link.send(b"nobody").unwrap(), 6);
        for _ in 0..2 {
            let mut host = connect(&link);
            assert_eq!(link.send(b"hello").unwrap(), 5);
            let mut heard = [0; 5];
            host.read_exact(&mut heard).unwrap();
            assert_eq!(&heard, b"hello");
            host.write_all(b"answer").unwrap();
            let mut buffer = [0; 64];
            assert_eq!(link.receive(&mut buffer, SOON).unwrap(), 6);
            assert_eq!(&buffer[..6], b"answer");
            drop(host);
            assert_eq!(link.receive(&mut buffer, SOON).unwrap(), 0);
            assert!(link.host().unwrap().is_none());
        }
    }

    #[test]
    fn the_last_host_has_the_line() {
        let link = link();
        let mut first = connect(&link);
        let mut second = connect(&link);
        link.send(b"x").unwrap();
        let mut heard = [0; 1];
        second.read_exact(&mut heard).unwrap();
        assert_eq!(first.read(&mut heard).unwrap(), 0, "the first host is told by an end of file");
    }

    #[test]
    fn a_taken_port_is_named() {
        let link = link();
        let error = TcpLink::listen(link.address).unwrap_err();
        assert!(error.to_string().starts_with("cannot listen at 127.0.0.1:"), "{error}");
    }
}
