//! Where bytes go: sockets, serial lines, and recordings of what would have left.

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

/// An error of the system, of the same kind, after what could not be done.
fn told(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// A serial line, or what stands for one. Used from two threads: one sends, one receives.
pub trait ByteLink: Send + Sync {
    /// Sends what fits at once and returns how much that was; the rest is lost, as on a line
    /// without handshake. Nobody being there to read is no error.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits up to `timeout` for bytes from the host; 0 when there are none. After a failure it
    /// is called again and opens the link anew where that can be done.
    fn receive(&self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize>;

    /// Sets the device's UART to `line` from now on.
    fn set_line(&self, line: LineSettings);

    /// Raises or lowers the pulse-per-second line, where there is one.
    fn set_pulse_per_second(&self, high: bool);

    /// Whether bytes take their time on the line without our doing.
    fn paces_itself(&self) -> bool;

    /// The link in the status view and in messages.
    fn describe(&self) -> String;
}
