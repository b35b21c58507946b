//! A real serial port: an RS-232 or RS-422 adapter. Handshake lines are unused, except the one that carries PPS.
//!
//! If an adapter is removed, the link logs one message and tries to open the port again twice per second. The link
//! continues when the adapter returns. Meanwhile the device keeps running, and its bytes are lost.

use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rustix::io::Errno;
use serialport::{ClearBuffer, DataBits, SerialPort, StopBits, TTYPort};

use super::{ByteLink, low_latency};
use crate::wire::line::{LineSettings, Parity};
use crate::wire::port::{PulseLine, SerialOptions};

/// Time between two attempts to open a port that has disappeared.
const RETRY: Duration = Duration::from_millis(500);

/// A serial port; its adapter may be missing at times.
pub struct SerialLink {
    options: SerialOptions,
    state: Mutex<State>,
}

struct State {
    line: LineSettings,
    /// `None` while the adapter is missing.
    port: Option<TTYPort>,
}

impl SerialLink {
    /// Opens the port. The text of an error contains the port's name.
    pub fn open(options: SerialOptions, line: LineSettings) -> io::Result<Self> {
        let port = open(&options, line).map_err(|error| {
            let name = options.port.display();
            io::Error::new(error.kind(), format!("cannot open the serial port {name}: {error}"))
        })?;
        Ok(Self { options, state: Mutex::new(State { line, port: Some(port) }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Waits, then tries to open the port again.
    fn try_again(&self) {
        std::thread::park_timeout(RETRY);
        let mut state = self.state();
        if let Ok(port) = open(&self.options, state.line) {
            tracing::warn!("{} is back", self.describe());
            state.port = Some(port);
        }
    }

    /// Closes a port after a failure.
    fn give_up(&self, error: &io::Error) {
        if self.state().port.take().is_some() {
            tracing::warn!("{} is gone ({error}); trying again", self.describe());
        }
    }
}

impl ByteLink for SerialLink {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state();
        let Some(port) = &mut state.port else { return Err(Errno::NODEV.into()) };
        match port.write(bytes) {
            Ok(sent) => Ok(sent),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(0),
            Err(error) => {
                drop(state);
                self.give_up(&error);
                Err(error)
            }
        }
    }

    fn receive(&self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        let reader = self.state().port.as_ref().map(TTYPort::try_clone_native);
        let Some(Ok(mut reader)) = reader else {
            self.try_again();
            return Ok(0);
        };
        let read = reader.set_timeout(timeout).map_err(io::Error::from);
        match read.and_then(|()| reader.read(buffer)) {
            // A read of 0 bytes means that the terminal has hung up.
            Ok(0) => {
                self.give_up(&io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up"));
                Ok(0)
            }
            Ok(count) => Ok(count),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::TimedOut
                        | io::ErrorKind::WouldBlock
                        | io::ErrorKind::Interrupted
                ) =>
            {
                Ok(0)
            }
            Err(error) => {
                self.give_up(&error);
                Err(error)
            }
        }
    }

    fn set_line(&self, line: LineSettings) {
        let mut state = self.state();
        state.line = line;
        let set = state.port.as_mut().map(|port| set_up(port, line));
        if let Some(Err(error)) = set {
            tracing::warn!("{} cannot run at {} baud: {error}", self.describe(), line.baud);
        }
    }

    fn set_pulse_per_second(&self, high: bool) {
        let mut state = self.state();
        let Some(port) = &mut state.port else { return };
        let set = match self.options.pulse_line {
            None => return,
            Some(PulseLine::Rts) => port.write_request_to_send(high),
            Some(PulseLine::Dtr) => port.write_data_terminal_ready(high),
        };
        if let Err(error) = set {
            tracing::debug!("{} has no modem lines: {error}", self.describe());
        }
    }

    fn paces_itself(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("serial {}", self.options.port.display())
    }
}

fn open(options: &SerialOptions, line: LineSettings) -> io::Result<TTYPort> {
    let name = options.port.to_string_lossy();
    // Bytes that do not fit are lost; sending never waits.
    let builder = serialport::new(name, line.baud).timeout(Duration::ZERO);
    let mut port = TTYPort::open(&builder)?;
    set_up(&mut port, line)?;
    port.clear(ClearBuffer::All)?;
    if let Err(error) = low_latency::request(&options.port) {
        tracing::debug!("{} has no low-latency flag: {error}", options.port.display());
    }
    Ok(port)
}

fn set_up(port: &mut TTYPort, line: LineSettings) -> serialport::Result<()> {
    port.set_baud_rate(line.baud)?;
    port.set_data_bits(if line.data_bits == 7 { DataBits::Seven } else { DataBits::Eight })?;
    port.set_parity(match line.parity {
        Parity::None => serialport::Parity::None,
        Parity::Even => serialport::Parity::Even,
        Parity::Odd => serialport::Parity::Odd,
    })?;
    port.set_stop_bits(if line.stop_bits == 2 { StopBits::Two } else { StopBits::One })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::pty::PtyLink;
    use crate::wire::port::PtyOptions;

    const LINE: LineSettings = LineSettings::eight_n_one(38_400);

    /// A pseudo-terminal in place of the adapter; the test uses its other end, which must receive before it sends.
    fn adapter(folder: &std::path::Path) -> PtyLink {
        let path = folder.join("adapter");
        PtyLink::open(PtyOptions { path, strict_rate: false, rate_aliases: Vec::new() }, LINE)
            .unwrap()
    }

    fn options(folder: &std::path::Path) -> SerialOptions {
        SerialOptions { port: folder.join("adapter"), pulse_line: Some(PulseLine::Rts) }
    }

    #[test]
    fn bytes_go_both_ways_and_rates_change() {
        let folder = tempfile::tempdir().unwrap();
        let robot = adapter(folder.path());
        let link = SerialLink::open(options(folder.path()), LINE).unwrap();
        let soon = Duration::from_secs(5);
        let mut buffer = [0; 64];
        assert_eq!(link.send(b"hello").unwrap(), 5);
        assert_eq!(robot.receive(&mut buffer, soon).unwrap(), 5);
        assert_eq!(robot.send(b"answer").unwrap(), 6);
        assert_eq!(link.receive(&mut buffer, soon).unwrap(), 6);
        assert_eq!(&buffer[..6], b"answer");
        assert_eq!(link.receive(&mut buffer, Duration::from_millis(1)).unwrap(), 0);
        link.set_line(LineSettings::eight_n_one(500_000));
        assert_eq!(link.state().port.as_ref().unwrap().baud_rate().unwrap(), 500_000);
        // A pseudo-terminal has no modem lines: this is logged and has no other effect.
        link.set_pulse_per_second(true);
    }

    #[test]
    fn an_adapter_that_is_pulled_out_is_taken_up_again() {
        let folder = tempfile::tempdir().unwrap();
        let robot = adapter(folder.path());
        let link = SerialLink::open(options(folder.path()), LINE).unwrap();
        drop(robot);
        let mut buffer = [0; 64];
        for _ in 0..3 {
            let _ = link.receive(&mut buffer, Duration::from_millis(10));
        }
        assert!(link.state().port.is_none());
        assert!(link.send(b"lost").unwrap_err().to_string().starts_with("No such device"));
        let robot = adapter(folder.path());
        link.receive(&mut buffer, Duration::from_millis(10)).unwrap();
        assert_eq!(link.send(b"back").unwrap(), 4);
        assert_eq!(robot.receive(&mut buffer, Duration::from_secs(5)).unwrap(), 4);
    }

    #[test]
    fn a_missing_port_is_named() {
        let options = SerialOptions { port: "/dev/no-such-port".into(), pulse_line: None };
        let Err(error) = SerialLink::open(options, LINE) else { panic!("it opened") };
        assert!(error.to_string().starts_with("cannot open the serial port /dev/no-such-port"));
    }
}
