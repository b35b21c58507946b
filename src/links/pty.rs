//! A pseudo-terminal that behaves like a serial port.
//!
//! The kernel moves the bytes of a pseudo-terminal at once, at any rate. Therefore the sender paces the device's bytes
//! ([`ByteLink::paces_itself`] returns false). If the rates of both ends differ, bytes arrive corrupted, as a UART
//! would receive them ([`received`]). While no program has the port open, output of the device is lost, as on a real
//! port. PPS is not supported, because a pseudo-terminal has no modem lines.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{self, OptionalActions, QueueSelector};

use super::ByteLink;
use super::pty_name::PtyName;
use crate::wire::line::{LineSettings, Parity, received};
use crate::wire::port::PtyOptions;

/// Longest time between two checks whether a program has opened the port.
const CLOSED_CHECK: Duration = Duration::from_millis(5);

/// An open pseudo-terminal. [`ByteLink::receive`] must be called all the time, because it notices that a program opens
/// or closes the port; [`ByteLink::send`] does not ask the kernel.
#[derive(Debug)]
pub struct PtyLink {
    options: PtyOptions,
    _name: PtyName,
    ours: OwnedFd,
    terminal: PathBuf,
    was_open: AtomicBool,
    line: Mutex<LineSettings>,
}

impl PtyLink {
    /// Creates a pseudo-terminal and a symbolic link to it; missing folders of the link are created. A link that a
    /// killed run left is replaced; any other file is kept and is an error. Errors name the path.
    pub fn open(options: PtyOptions, line: LineSettings) -> io::Result<Self> {
        let failed = |what: &str, error: io::Error| {
            io::Error::new(error.kind(), format!("cannot {what}: {error}"))
        };
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .and_then(|ours| grantpt(&ours).map(|()| ours))
            .and_then(|ours| unlockpt(&ours).map(|()| ours))
            .map_err(|error| failed("make a pseudo-terminal", error.into()))?;
        rustix::io::ioctl_fionbio(&ours, true)
            .map_err(|error| failed("make a pseudo-terminal", error.into()))?;
        let name = ptsname(&ours, Vec::new())
            .map_err(|error| failed("get the name of a pseudo-terminal", error.into()))?;
        let terminal = PathBuf::from(name.to_string_lossy().into_owned());
        open_terminal(&terminal)
            .and_then(|theirs| make_raw(&theirs, line))
            .map_err(|error| failed(&format!("set up {}", terminal.display()), error))?;
        let name = PtyName::claim(&options.path, &terminal)?;
        let was_open = AtomicBool::new(false);
        Ok(Self { options, _name: name, ours, terminal, was_open, line: Mutex::new(line) })
    }

    fn line(&self) -> LineSettings {
        *self.line.lock().expect("no holder panics")
    }

    /// Settings of the host's UART, read from the terminal.
    fn host_line(&self) -> io::Result<LineSettings> {
        let settings = termios::tcgetattr(&self.ours)?;
        let modes = settings.control_modes;
        use termios::ControlModes as Modes;
        Ok(LineSettings {
            baud: settings.output_speed(),
            data_bits: if modes & Modes::CSIZE == Modes::CS7 { 7 } else { 8 },
            parity: match (modes.contains(Modes::PARENB), modes.contains(Modes::PARODD)) {
                (false, _) => Parity::None,
                (true, false) => Parity::Even,
                (true, true) => Parity::Odd,
            },
            stop_bits: if modes.contains(Modes::CSTOPB) { 2 } else { 1 },
        })
    }

    /// Settings of the host and of the device; `None` if they match, if `strict_rate` is off, or if the device is on
    /// USB.
    fn mismatch(&self) -> io::Result<Option<(LineSettings, LineSettings)>> {
        if !self.options.strict_rate || self.line() == LineSettings::USB {
            return Ok(None);
        }
        let (host, device) = (self.host_line()?, self.line());
        let host_baud = if self.options.rate_aliases.contains(&[host.baud, device.baud]) {
            device.baud
        } else {
            host.baud
        };
        // A pseudo-terminal does not store parity (pty(7)), so the driver's parity is unknown.
        let host = LineSettings { baud: host_baud, ..device };
        Ok((host != device).then_some((host, device)))
    }

    /// Whether a program has the port open. When the last program closes the port, unread bytes are discarded and echo
    /// is switched off.
    ///
    /// # Errors
    /// The state of the terminal cannot be read.
    pub fn is_open(&self) -> io::Result<bool> {
        let mut wait = [PollFd::from_borrowed_fd(self.ours.as_fd(), PollFlags::empty())];
        poll(&mut wait, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        let is_open = !wait[0].revents().contains(PollFlags::HUP);
        if self.was_open.swap(is_open, Ordering::Relaxed) && !is_open {
            let theirs = open_terminal(&self.terminal)?;
            termios::tcflush(&theirs, QueueSelector::IFlush)?;
            if termios::tcgetattr(&theirs)?.local_modes.contains(termios::LocalModes::ECHO) {
                make_raw(&theirs, self.line())?;
            }
        }
        Ok(is_open)
    }
}

impl ByteLink for PtyLink {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // Asking the kernel (`poll`) would wait until a thread of the kernel has delivered what the host wrote. On a
        // busy machine that takes seconds, in which the packets of all devices would be late.
        if !self.was_open.load(Ordering::Relaxed) {
            return Ok(bytes.len());
        }
        let heard;
        let arriving = match self.mismatch()? {
            None => bytes,
            Some((host, device)) => {
                heard = received(bytes, device, host);
                &heard
            }
        };
        match rustix::io::write(&self.ours, arriving) {
            Ok(written) if written == arriving.len() => Ok(bytes.len()),
            Ok(written) => Ok(written.min(bytes.len())),
            Err(Errno::AGAIN) if !arriving.is_empty() => Ok(0),
            Err(Errno::AGAIN) => Ok(bytes.len()),
            Err(error) => Err(error.into()),
        }
    }

    fn receive(&self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        let is_open = self.is_open()?;
        if is_open {
            let mut wait = [PollFd::from_borrowed_fd(self.ours.as_fd(), PollFlags::IN)];
            let (tv_sec, tv_nsec) = (timeout.as_secs() as i64, timeout.subsec_nanos().into());
            match poll(&mut wait, Some(&Timespec { tv_sec, tv_nsec })) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // A closed port is read too: a program can write and close the port at once.
        let count = match rustix::io::read(&self.ours, &mut *buffer) {
            Ok(count) => count,
            // EIO: the last program has closed the port, and all of its bytes are read.
            Err(Errno::AGAIN | Errno::INTR | Errno::IO) => {
                if !is_open {
                    // The kernel does not report when a program opens the port, so a closed port is polled.
                    std::thread::park_timeout(timeout.min(CLOSED_CHECK));
                }
                return Ok(0);
            }
            Err(error) => return Err(error.into()),
        };
        let Some((host, device)) = self.mismatch()? else { return Ok(count) };
        let heard = received(&buffer[..count], host, device);
        let kept = heard.len().min(buffer.len());
        buffer[..kept].copy_from_slice(&heard[..kept]);
        Ok(kept)
    }

    fn set_line(&self, line: LineSettings) {
        *self.line.lock().expect("no holder panics") = line;
    }

    fn set_pulse_per_second(&self, _high: bool) {}

    fn paces_itself(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        format!("pty {}", self.options.path.display())
    }
}

fn open_terminal(terminal: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(terminal, flags, Mode::empty())?)
}

/// Sets the terminal to pass bytes unchanged; the host's rate is initially the device's rate.
fn make_raw(terminal: &OwnedFd, line: LineSettings) -> io::Result<()> {
    let mut settings = termios::tcgetattr(terminal)?;
    settings.make_raw();
    settings.set_speed(line.baud)?;
    termios::tcsetattr(terminal, OptionalActions::Now, &settings)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::{Read, Write};

    const LINE: LineSettings = LineSettings::eight_n_one(38_400);
    const SOON: Duration = Duration::from_secs(5);

    fn open(folder: &Path, strict_rate: bool) -> PtyLink {
        let path = folder.join("deep/er/imu");
        let rate_aliases = vec![[19_200, 500_000]];
        PtyLink::open(PtyOptions { path, strict_rate, rate_aliases }, LINE).unwrap()
    }

    /// Opens the port, and lets the link notice it.
    fn host(link: &PtyLink) -> File {
        let host = File::options().read(true).write(true).open(&link.options.path).unwrap();
        assert!(link.is_open().unwrap());
        host
    }

    fn set_rate(host: &File, baud: u32) {
        let mut settings = termios::tcgetattr(host).unwrap();
        settings.set_speed(baud).unwrap();
        termios::tcsetattr(host, OptionalActions::Now, &settings).unwrap();
    }

    fn heard_by(link: &PtyLink) -> Vec<u8> {
        let mut buffer = [0; 4096];
        let count = link.receive(&mut buffer, SOON).unwrap();
        buffer[..count].to_vec()
    }

    #[test]
    fn bytes_go_both_ways() {
        let folder = tempfile::tempdir().unwrap();
        let link = open(folder.path(), true);
        let mut host = host(&link);
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(link.send(&all).unwrap(), 256);
        let mut heard = [0; 256];
        host.read_exact(&mut heard).unwrap();
        assert_eq!(heard.as_slice(), all);
        host.write_all(&all).unwrap();
        assert_eq!(heard_by(&link), all);
    }

    #[test]
    fn nothing_waits_for_the_next_program() {
        let folder = tempfile::tempdir().unwrap();
        let link = open(folder.path(), true);
        assert_eq!(link.send(b"nobody").unwrap(), 6);
        let first = host(&link);
        assert_eq!(link.send(b"unread").unwrap(), 6);
        drop(first);
        assert_eq!(link.receive(&mut [0; 9], SOON).unwrap(), 0);
        let mut second = host(&link);
        assert_eq!(link.send(b"hello").unwrap(), 5);
        let mut heard = [0; 5];
        second.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
    }

    #[test]
    fn bytes_arrive_although_their_program_has_closed_the_port() {
        let folder = tempfile::tempdir().unwrap();
        let link = open(folder.path(), true);
        let mut noticed = host(&link);
        noticed.write_all(b"first").unwrap();
        drop(noticed);
        assert_eq!(heard_by(&link), b"first");
        let mut unnoticed = File::options().write(true).open(&link.options.path).unwrap();
        set_rate(&unnoticed, 9600);
        unnoticed.write_all(b"second").unwrap();
        drop(unnoticed);
        assert_eq!(heard_by(&link), received(b"second", LineSettings::eight_n_one(9600), LINE));
        assert_eq!(heard_by(&link), b"");
    }

    #[test]
    fn another_rate_is_noise() {
        let folder = tempfile::tempdir().unwrap();
        let link = open(folder.path(), true);
        let mut host = host(&link);
        set_rate(&host, 9600);
        host.write_all(b"hello").unwrap();
        assert_eq!(heard_by(&link), received(b"hello", LineSettings::eight_n_one(9600), LINE));
        set_rate(&host, 38_400);
        host.write_all(b"hello").unwrap();
        assert_eq!(heard_by(&link), b"hello");
        link.set_line(LineSettings::eight_n_one(500_000));
        set_rate(&host, 19_200);
        host.write_all(b"alias").unwrap();
        assert_eq!(heard_by(&link), b"alias");
    }

    #[test]
    fn rates_may_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let link = open(folder.path(), false);
        let mut host = host(&link);
        set_rate(&host, 4800);
        host.write_all(b"hello").unwrap();
        assert_eq!(heard_by(&link), b"hello");
    }

    #[test]
    fn a_full_port_loses_bytes_and_does_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let link = open(folder.path(), true);
        let _host = host(&link);
        let sent: usize = (0..1000).map(|_| link.send(&[7; 1000]).unwrap()).sum();
        assert!(sent < 1_000_000, "{sent}");
    }

    #[test]
    fn the_name_is_kept_while_the_link_lives_and_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let link = open(folder.path(), true);
        let path = link.options.path.clone();
        let options =
            || PtyOptions { path: path.clone(), strict_rate: true, rate_aliases: Vec::new() };
        PtyLink::open(options(), LINE).unwrap_err();
        assert_eq!(fs::read_link(&path).unwrap(), link.terminal);
        drop(link);
        assert!(!path.exists() && fs::symlink_metadata(&path).is_err());
        fs::write(&path, "mine").unwrap();
        let error = PtyLink::open(options(), LINE).unwrap_err();
        assert!(error.to_string().contains("there is another file with this name"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
