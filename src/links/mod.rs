//! Destinations of bytes: sockets, serial lines, and recordings.

#[allow(unsafe_code)] // one ioctl that no library has
pub(crate) mod card_clock;
pub mod foxglove;
pub mod http;
pub(crate) mod interface;
#[allow(unsafe_code)] // one ioctl that no library has
mod low_latency;
#[allow(clippy::disallowed_methods)]
// how long a host is silent is told by the host's clock, not the run's
mod often;
pub mod part_file;
pub mod pcap;
pub mod ptp;
pub mod pty;
mod pty_name;
pub(crate) mod serial;
pub mod serial_record;
pub(crate) mod tcp;
#[allow(clippy::disallowed_methods)]
// how long a host is silent is told by the host's clock, not the run's
pub(crate) mod tcp_server;
pub mod timestamps;
pub(crate) mod udp;
pub(crate) mod udp_server;
pub mod v4l2;
mod visitors;

use std::io;
use std::time::Duration;

use crate::wire::line::LineSettings;

/// A system error of the same kind, with a text about the failed operation.
fn told(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// A serial line, or a substitute. Two threads use it: one sends, one receives.
pub trait ByteLink: Send + Sync {
    /// Sends the bytes that fit at once and returns their number; the rest is lost, as on a line without
    /// handshake. A missing reader is no error.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits up to `timeout` for bytes from the host; 0 if there are none. After a failure, the next call
    /// reopens the link if possible.
    fn receive(&self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize>;

    /// Sets the device's UART to `line` from now on.
    fn set_line(&self, line: LineSettings);

    /// Raises or lowers the pulse-per-second line, if there is one.
    fn set_pulse_per_second(&self, high: bool);

    /// Whether the line itself paces bytes.
    fn paces_itself(&self) -> bool;

    /// The link in the status view and in messages.
    fn describe(&self) -> String;
}
