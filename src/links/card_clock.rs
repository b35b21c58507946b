//! The clock of a network card (a PTP hardware clock). Opening it also enables the card's transmit timestamps.
//!
//! Sources: the kernel's `Documentation/networking/timestamping.rst`, sections 2.1.1 and 3, and
//! `Documentation/driver-api/ptp.rst`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::net::{AddressFamily, SocketType};

use super::told;

/// The clock of the card behind a network interface; the system reads it through a file descriptor. Its time counts
/// from an epoch of its own, often the start of 1970 in TAI.
#[derive(Debug)]
pub struct CardClock {
    file: File,
}

impl CardClock {
    /// Enables transmit timestamps of the card behind `interface` and opens the card's clock. The timestamps stay
    /// enabled until a program disables them.
    ///
    /// # Errors
    /// The clock is unavailable; the message has the reason and the remedy.
    pub fn open(interface: &str) -> io::Result<Self> {
        let path = device_of(Path::new("/sys"), interface)?;
        stamp_what_leaves(interface)?;
        let file = File::open(&path).map_err(|error| told(&error, &path.display().to_string()))?;
        Ok(Self { file })
    }
}

impl AsFd for CardClock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Path in `/dev` of the clock of the card behind `interface`; `sys` is the root of the sysfs tree.
///
/// # Errors
/// The card has no clock.
pub fn device_of(sys: &Path, interface: &str) -> io::Result<PathBuf> {
    let folder = sys.join("class/net").join(interface).join("device/ptp");
    let clock = std::fs::read_dir(folder).ok().and_then(|mut clocks| clocks.next()?.ok());
    let clock = clock.ok_or_else(|| {
        let text = format!("{interface} has no hardware clock, see `ethtool -T {interface}`");
        io::Error::new(io::ErrorKind::Unsupported, text)
    })?;
    Ok(Path::new("/dev").join(clock.file_name()))
}

/// Enables transmit timestamps. Receive timestamps stay unchanged, because a PTP daemon may need them.
fn stamp_what_leaves(interface: &str) -> io::Result<()> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let now = ask::<SIOCGHWTSTAMP>(&socket, interface, Stamping::default()).map_err(|error| {
        told(&error, &format!("cannot read the timestamping mode of {interface}"))
    })?;
    if now.departures != HWTSTAMP_TX_OFF {
        return Ok(());
    }
    let wanted = Stamping { departures: HWTSTAMP_TX_ON, ..now };
    ask::<SIOCSHWTSTAMP>(&socket, interface, wanted).map(drop).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "; this needs CAP_NET_ADMIN",
            _ => "",
        };
        told(&error, &format!("cannot enable transmit timestamps of {interface}{hint}"))
    })
}

/// `linux/sockios.h`: sets the timestamping mode of an interface.
const SIOCSHWTSTAMP: Opcode = 0x89b0;
/// `linux/sockios.h`: reads the timestamping mode of an interface.
const SIOCGHWTSTAMP: Opcode = 0x89b1;
/// `linux/net_tstamp.h`: the card takes no transmit timestamps.
const HWTSTAMP_TX_OFF: i32 = 0;
/// `linux/net_tstamp.h`: the card takes transmit timestamps that sockets request.
const HWTSTAMP_TX_ON: i32 = 1;

/// `struct hwtstamp_config` of `linux/net_tstamp.h`: selects the packets that get timestamps.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Stamping {
    flags: i32,
    departures: i32,
    arrivals: i32,
}

/// `struct ifreq` of `linux/if.h`, with the kernel's size and only the fields that the timestamping ioctls use.
#[repr(C)]
struct Request {
    interface: [u8; 16],
    stamping: *mut Stamping,
    unused: [usize; 3],
}

/// Calls the ioctl `CODE`, which reads or fills the struct.
fn ask<const CODE: Opcode>(
    socket: impl AsFd,
    interface: &str,
    mut stamping: Stamping,
) -> io::Result<Stamping> {
    let mut name = [0; 16];
    // The last byte stays 0: the name is a C string.
    for (place, byte) in name.iter_mut().take(15).zip(interface.bytes()) {
        *place = byte;
    }
    let mut request = Request { interface: name, stamping: &raw mut stamping, unused: [0; 3] };
    // SAFETY: the kernel reads the name, and reads or fills the struct behind the pointer. The struct lives longer than
    // the call, both have the layout of the kernel's headers, and the kernel keeps no pointer.
    unsafe { ioctl(socket, Updater::<CODE, Request>::new(&mut request)) }?;
    Ok(stamping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_room_for_what_the_kernel_copies() {
        assert!(size_of::<Request>() >= size_of::<nix::libc::ifreq>());
        assert_eq!(std::mem::offset_of!(Request, stamping), 16);
    }

    #[test]
    fn the_clock_is_found_where_the_kernel_lists_it() {
        let sys = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(sys.path().join("class/net/eth0/device/ptp/ptp3")).unwrap();
        assert_eq!(device_of(sys.path(), "eth0").unwrap(), Path::new("/dev/ptp3"));
        let error = device_of(sys.path(), "eth1").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("ethtool -T eth1"), "{error}");
    }

    #[test]
    fn an_interface_that_cannot_stamp_says_so() {
        let error = stamp_what_leaves("lo").unwrap_err();
        assert_eq!(error.raw_os_error(), None, "it is explained");
        assert!(
            error.to_string().starts_with("cannot read the timestamping mode of lo: "),
            "{error}"
        );
    }
}
