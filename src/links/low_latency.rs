//! The kernel's low-latency flag of a serial port. With it, the driver passes received bytes on sooner. For example,
//! the latency timer of FTDI's USB adapters is 1 ms with the flag and 16 ms without it (the kernel's driver
//! `ftdi_sio`).

use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Opcode, Updater, ioctl};

/// `struct serial_struct` of `linux/serial.h`; this module uses only `flags`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SerialStruct {
    kind: i32,
    line: i32,
    port: u32,
    irq: i32,
    flags: i32,
    xmit_fifo_size: i32,
    custom_divisor: i32,
    baud_base: i32,
    close_delay: u16,
    io_type: u8,
    reserved_char: u8,
    hub6: i32,
    closing_wait: u16,
    closing_wait2: u16,
    iomem_base: usize,
    iomem_reg_shift: u16,
    port_high: u32,
    iomap_base: usize,
}

const TIOCGSERIAL: Opcode = 0x541E;
const TIOCSSERIAL: Opcode = 0x541F;
/// `ASYNC_LOW_LATENCY` of `linux/tty_flags.h`.
const LOW_LATENCY: i32 = 1 << 13;

/// Sets the low-latency flag of the serial port at `path`, until a program clears it. Fails if the driver has no such
/// flag, as for a pseudo-terminal.
pub fn request(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let port = rustix::fs::open(path, flags, Mode::empty())?;
    let mut settings = SerialStruct::default();
    // SAFETY: the kernel fills the struct, which has the layout of `linux/serial.h`, and keeps no pointer to it.
    unsafe { ioctl(&port, Updater::<TIOCGSERIAL, SerialStruct>::new(&mut settings)) }?;
    settings.flags |= LOW_LATENCY;
    // SAFETY: as above, except that the kernel reads the struct.
    unsafe { ioctl(&port, Updater::<TIOCSSERIAL, SerialStruct>::new(&mut settings)) }?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_struct_is_the_kernels() {
        #[cfg(target_pointer_width = "64")]
        assert_eq!(size_of::<SerialStruct>(), 72);
    }

    #[test]
    fn a_port_without_the_flag_says_so() {
        assert!(request(Path::new("/dev/ptmx")).is_err());
    }
}
