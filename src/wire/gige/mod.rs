//! GigE Vision: the control protocol (GVCP) here, the stream protocol (GVSP) in [`gvsp`].
//!
//! Source: the dissectors of Wireshark, Aravis 0.8.26 (`arvgvcp.c`, `arvgvsp.c`), register tables of d3cam, and
//! recorded conversations of Aravis with a camera. All integers are big-endian.

pub mod gvsp;

use crate::ParseError;

/// UDP port of cameras.
pub const PORT: u16 = 3956;
/// First byte of a command.
const KEY: u8 = 0x42;
/// Length of the header of commands and acknowledgements, bytes.
pub const HEAD_LEN: usize = 8;
/// Largest payload of a command or acknowledgement, bytes.
pub const MAX_PAYLOAD: usize = 540;
/// Largest data length of a READMEM, bytes.
pub const MAX_READ: u16 = 536;

/// Commands; the code of an acknowledgement is one higher.
pub mod command {
    /// Searches for cameras.
    pub const DISCOVERY: u16 = 0x0002;
    /// Sets an IP address until the next start.
    pub const FORCE_IP: u16 = 0x0004;
    /// Requests packets of the stream to be sent again.
    pub const PACKET_RESEND: u16 = 0x0040;
    /// Command of a host to read registers.
    pub const READ_REGISTER: u16 = 0x0080;
    /// Command of a host to write registers.
    pub const WRITE_REGISTER: u16 = 0x0082;
    /// Command of a host to read memory.
    pub const READ_MEMORY: u16 = 0x0084;
    /// Command of a host to write memory.
    pub const WRITE_MEMORY: u16 = 0x0086;
    /// Announces a delayed acknowledgement. The camera sends this message, so its code is that of an acknowledgement.
    pub const PENDING_ACK: u16 = 0x0089;
    /// Triggers action signals of several cameras at the same time.
    pub const ACTION: u16 = 0x0100;
}

/// Status of an acknowledgement.
pub mod status {
    /// The command was executed.
    pub const SUCCESS: u16 = 0x0000;
    /// The camera does not support the command.
    pub const NOT_IMPLEMENTED: u16 = 0x8001;
    /// A value is outside its limits.
    pub const INVALID_PARAMETER: u16 = 0x8002;
    /// Unknown register.
    pub const INVALID_ADDRESS: u16 = 0x8003;
    /// The register cannot be written.
    pub const WRITE_PROTECT: u16 = 0x8004;
    /// Address or length is not a multiple of four, or only part of a register is accessed.
    pub const BAD_ALIGNMENT: u16 = 0x8005;
    /// Another host controls the camera, or no host does.
    pub const ACCESS_DENIED: u16 = 0x8006;
    /// The camera is busy streaming.
    pub const BUSY: u16 = 0x8007;
    /// The camera no longer stores the requested packet.
    pub const PACKET_UNAVAILABLE: u16 = 0x800c;
    /// Invalid header.
    pub const INVALID_HEADER: u16 = 0x800e;
    /// No clock master sets the camera's clock, so that an action cannot be scheduled.
    pub const NO_REF_TIME: u16 = 0x8013;
    /// The camera stores no more scheduled actions.
    pub const OVERFLOW: u16 = 0x8015;
    /// The time of a scheduled action has passed; the camera executes it at once.
    pub const ACTION_LATE: u16 = 0x8016;
    /// An error without a code of its own.
    pub const ERROR: u16 = 0x8fff;
    /// The packet of the stream is sent again, at a host's request.
    pub const RESENT: u16 = 0x0100;
}

/// A command of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// Flags: bit 0 requests an acknowledgement; the others depend on the command.
    pub flags: u8,
    /// A code of [`command`].
    pub code: u16,
    /// Number of the host's request; repeated requests have the same number.
    pub id: u16,
    /// Data of the command.
    pub payload: &'a [u8],
}

impl<'a> Command<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    /// The bytes are not a command, or their length is wrong.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let Some((head, payload)) = bytes.split_at_checked(HEAD_LEN) else {
            return Err(ParseError::Length { what: "a command", need: HEAD_LEN, got: bytes.len() });
        };
        let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let need = usize::from(half(4));
        if head[0] != KEY || half(6) == 0 {
            return Err(ParseError::value(
                "key of a command",
                head[0],
                "0x42, and an id that is not 0",
            ));
        }
        if payload.len() != need || need > MAX_PAYLOAD {
            return Err(ParseError::Length { what: "a payload", need, got: payload.len() });
        }
        Ok(Self { flags: head[1], code: half(2), id: half(6), payload })
    }

    /// Whether the host requests an acknowledgement.
    pub fn wants_ack(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether flag 0x10 is set; a [`Resend`] request then has a 64-bit block id.
    pub fn is_extended(&self) -> bool {
        self.flags & 0x10 != 0
    }

    /// Bytes of the command, for hosts and tests.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![KEY, self.flags];
        for half in [self.code, self.payload.len() as u16, self.id] {
            bytes.extend(half.to_be_bytes());
        }
        bytes.extend(self.payload);
        bytes
    }
}

/// The 32-bit words of a payload; an incomplete last word is dropped.
pub fn words(payload: &[u8]) -> impl Iterator<Item = u32> + '_ {
    payload.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word))
}

/// Bytes of an acknowledgement of the command with the code `command`. The code of the acknowledgement is one higher.
pub fn ack(status: u16, command: u16, id: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_LEN + payload.len());
    for half in [status, command.wrapping_add(1), payload.len() as u16, id] {
        bytes.extend(half.to_be_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// Bytes of a [`command::PENDING_ACK`]: the acknowledgement of request `id` will take `ms` milliseconds.
pub fn pending(id: u16, ms: u16) -> Vec<u8> {
    let [high, low] = ms.to_be_bytes();
    ack(status::SUCCESS, command::PENDING_ACK - 1, id, &[0, 0, high, low])
}

/// A request to send packets of the stream again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resend {
    /// Block id of the frame.
    pub block: u64,
    /// Id of the first requested packet.
    pub first: u32,
    /// Id of the last requested packet.
    pub last: u32,
}

impl Resend {
    /// Reads the payload of a [`command::PACKET_RESEND`]; `None` if it is invalid.
    pub fn parse(command: &Command<'_>) -> Option<Self> {
        let words: Vec<u32> = words(command.payload).collect();
        match (command.is_extended(), words.as_slice()) {
            (false, [channel, first, last]) => Some(Self {
                block: u64::from(channel & 0xffff),
                first: first & 0xff_ffff,
                last: last & 0xff_ffff,
            }),
            (true, [_, first, last, high, low]) => Some(Self {
                block: u64::from(*high) << 32 | u64::from(*low),
                first: *first,
                last: *last,
            }),
            _ => None,
        }
    }
}

/// A GVCP command ACTION_CMD, which triggers an action on several cameras at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// Device key. Only cameras with this device key execute the action.
    pub device_key: u32,
    /// Group key. Only action signals with this group key are triggered.
    pub group_key: u32,
    /// Group mask. Only action signals whose mask has a bit in common with this mask are triggered.
    pub group_mask: u32,
    /// Time of the action, ticks of the camera's clock; `None`: immediately.
    pub at: Option<u64>,
}

impl Action {
    /// Reads the payload of a [`command::ACTION`]; `None` if it is invalid.
    pub fn parse(command: &Command<'_>) -> Option<Self> {
        let words: Vec<u32> = words(command.payload).collect();
        let of = |at| match words.as_slice() {
            [device_key, group_key, group_mask, ..] => Some(Self {
                device_key: *device_key,
                group_key: *group_key,
                group_mask: *group_mask,
                at,
            }),
            _ => None,
        };
        match (command.flags & 0x80 != 0, words.as_slice()) {
            (false, [_, _, _]) => of(None),
            (true, [_, _, _, high, low]) => of(Some(u64::from(*high) << 32 | u64::from(*low))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_commands_are_read() {
        let bytes = [0x42, 1, 0, 0x82, 0, 8, 0xff, 0x2c, 0, 0, 0x0a, 0, 0, 0, 0, 2];
        let command = Command::parse(&bytes).unwrap();
        assert_eq!((command.code, command.id), (command::WRITE_REGISTER, 0xff2c));
        assert_eq!(words(command.payload).collect::<Vec<_>>(), [0x0a00, 2]);
        assert_eq!(command.to_bytes(), bytes);
        let done = ack(0, command.code, command.id, &[0, 0, 0, 1]);
        assert_eq!(done, [0, 0, 0, 0x83, 0, 4, 0xff, 0x2c, 0, 0, 0, 1]);
        assert_eq!(pending(0xff55, 1500), [0, 0, 0, 0x89, 0, 4, 0xff, 0x55, 0, 0, 5, 0xdc]);
        assert_eq!(ack(status::NOT_IMPLEMENTED, 0xffff, 1, &[]), [0x80, 1, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn recorded_resends_are_read() {
        let short = [0x42, 0, 0, 0x40, 0, 12, 0xff, 0x15, 0, 0, 0, 1, 0, 0, 0, 0x21, 0, 0, 0, 0x22];
        let resend = Resend::parse(&Command::parse(&short).unwrap());
        assert_eq!(resend, Some(Resend { block: 1, first: 0x21, last: 0x22 }));
        let mut long = vec![0x42, 0x10, 0, 0x40, 0, 20, 0xff, 0x15, 0, 0, 0, 0];
        long.extend([0, 0, 0, 0x4b, 0, 0, 0, 0x4b, 0, 0, 0, 0, 0, 0, 0, 1]);
        let resend = Resend::parse(&Command::parse(&long).unwrap());
        assert_eq!(resend, Some(Resend { block: 1, first: 0x4b, last: 0x4b }));
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for bytes in
            [&[][..], &[0x42; 7], &[0x41, 1, 0, 2, 0, 0, 0, 1], &[0x42, 1, 0, 2, 0, 4, 0, 1]]
        {
            assert!(Command::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
