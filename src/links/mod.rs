//! Destinations of bytes: sockets, serial lines, and recordings.

#[allow(unsafe_code)] // one ioctl that no library has
pub(crate) mod card_clock;
pub mod foxglove;
pub mod http;
pub(crate) mod interface;
#[allow(unsafe_code)] // one ioctl that no library has
mod low_latency;
#[allow(clippy::disallowed_methods)]
// the silence of a host is measured with real time, not with the time of the run
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
// the silence of a host is measured with real time, not with the time of the run
pub(crate) mod tcp_server;
pub mod timestamps;
#[allow(clippy::disallowed_methods)]
// a replaced socket waits in real time for the network card
pub(crate) mod udp;
pub(crate) mod udp_server;
pub mod v4l2;
mod visitors;

use std::io;
use std::time::Duration;

use crate::wire::line::LineSettings;

/// Returns an error of the same kind as `error`; its text names the failed operation, `what`.
fn told(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// A serial line or a substitute. One thread sends, another one receives.
pub trait ByteLink: Send + Sync {
    /// Sends the bytes that fit at once and returns their number; the rest is lost, as on a line without handshake. If
    /// no program reads the line, this is no error.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits up to `timeout` for bytes from the host; returns their number, 0 if none arrived. After a failure, the
    /// next call reopens the link if possible.
    fn receive(&self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize>;

    /// Sets the device's UART to `line` from now on.
    fn set_line(&self, line: LineSettings);

    /// Raises or lowers the PPS line, if the link has one.
    fn set_pulse_per_second(&self, high: bool);

    /// Whether the line itself paces bytes at the baud rate. If not, the sender writes them in pieces at that rate.
    fn paces_itself(&self) -> bool;

    /// Name of the link in the status view and in messages.
    fn describe(&self) -> String;
}
