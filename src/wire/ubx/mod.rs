//! UBX, the binary protocol of u-blox receivers, generations 8 and 9.
//!
//! `B5 62`, class, id, length (two bytes, little-endian), payload, two checksum bytes: Fletcher's sums from class to
//! payload, modulo 256. [`Frame`] is the frame around any payload; [`Message`] has the fields of the usual messages.
//! All numbers are little-endian. The names of fields end in the unit: `height_mm`, `lon_1e7_deg` (1e-7 degrees).
//! Reserved bytes are stored, so that received messages are reproduced byte for byte.
//!
//! Sources: u-blox ZED-F9P interface description (UBX-18010854), u-blox 8/M8 receiver description; gpsd's captures of
//! a ZED-F9P and a NEO-M8T.

/// Declares messages as records: `Name class id length { fields }`; omit the length if it varies.
macro_rules! message {
    ($($(#[$doc:meta])* $name:ident $class:literal $id:literal $($length:literal)? {
        $($body:tt)+
    })+) => {
        $(
            $crate::record::record! {
                $(#[$doc])*
                #[derive(Copy, Default, serde::Serialize)]
                $name: Le $($length)? { $($body)+ }
            }

            impl $crate::ubx::Payload for $name {
                const ID: $crate::ubx::MessageId =
                    $crate::ubx::MessageId::new($class, $id);
            }
        )+
    };
}

pub mod cfg;
pub mod mon;
pub mod mon_more;
pub mod nav;
pub mod nav_more;
pub mod rxm;

use serde::Serialize;

use super::ParseError;
use super::checksum::fletcher8;
use super::record::Record;

/// First two bytes of a frame.
pub const SYNC: [u8; 2] = [0xb5, 0x62];

/// Length of a frame in addition to its payload, bytes.
pub const OVERHEAD: usize = 8;

/// Longest accepted payload, bytes. The longest known one, RXM-RAWX with 127 signals, has 4080 bytes.
pub const MAX_PAYLOAD_LEN: usize = 8192;

/// Message class and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct MessageId {
    /// The class: a group of messages.
    pub class: u8,
    /// Id of the message within its class.
    pub id: u8,
}

impl MessageId {
    /// A message id from class and id.
    pub const fn new(class: u8, id: u8) -> Self {
        Self { class, id }
    }
}

impl std::fmt::Display for MessageId {
    /// Writes the documented name of a known message, otherwise the two bytes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match name(*self) {
            Some(name) => f.write_str(name),
            None => write!(f, "UBX {:02X} {:02X}", self.class, self.id),
        }
    }
}

/// A frame around any payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Class and id of the message.
    pub id: MessageId,
    /// The payload, at most [`MAX_PAYLOAD_LEN`] bytes.
    pub payload: Vec<u8>,
}

impl Frame {
    /// A frame around `payload`.
    pub fn new(id: MessageId, payload: Vec<u8>) -> Self {
        Self { id, payload }
    }

    /// Reads one whole frame.
    ///
    /// # Errors
    /// The bytes are not exactly one frame, or the checksum is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let wrong_length = |need| ParseError::Length { what: "UBX frame", need, got: bytes.len() };
        if bytes.len() < OVERHEAD {
            return Err(wrong_length(OVERHEAD));
        }
        if bytes[..2] != SYNC {
            return Err(ParseError::Value {
                field: "sync",
                value: u64::from(bytes[0]) << 8 | u64::from(bytes[1]),
                allowed: "0xb562",
            });
        }
        let length = usize::from(u16::from_le_bytes([bytes[4], bytes[5]]));
        if length > MAX_PAYLOAD_LEN || bytes.len() != length + OVERHEAD {
            return Err(wrong_length(length + OVERHEAD));
        }
        let (body, sums) = bytes[2..].split_at(length + 4);
        if fletcher8(body) != sums {
            return Err(ParseError::Value {
                field: "checksum",
                value: u64::from(sums[0]) << 8 | u64::from(sums[1]),
                allowed: "Fletcher's sums of class to payload",
            });
        }
        Ok(Self { id: MessageId::new(body[0], body[1]), payload: body[4..].to_vec() })
    }

    /// Appends the frame.
    ///
    /// # Panics
    /// If the payload is longer than [`MAX_PAYLOAD_LEN`].
    pub fn emit(&self, out: &mut Vec<u8>) {
        assert!(self.payload.len() <= MAX_PAYLOAD_LEN, "{} has an oversized payload", self.id);
        let start = out.len() + 2;
        out.extend_from_slice(&SYNC);
        out.extend_from_slice(&[self.id.class, self.id.id]);
        out.extend_from_slice(&(self.payload.len() as u16).to_le_bytes());
        out.extend_from_slice(&self.payload);
        let sums = fletcher8(&out[start..]);
        out.extend_from_slice(&sums);
    }

    /// The frame as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.payload.len() + OVERHEAD);
        self.emit(&mut bytes);
        bytes
    }
}

/// A message that can be the payload of a frame.
pub trait Payload: Record {
    /// Class and id of the message.
    const ID: MessageId;

    /// Frame with the message.
    fn to_frame(&self) -> Frame {
        Frame::new(Self::ID, self.to_bytes())
    }
}

macro_rules! messages {
    ($($name:literal $module:ident $type:ident),+ $(,)?) => {
        /// A decoded message.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Message {
            $(#[doc = $name] $type($module::$type),)+
        }

        impl Message {
            /// Decodes `frame`; `None` if its message is not one of [`Message`].
            ///
            /// # Errors
            /// The payload is invalid for the message, for example the empty payload of a poll request.
            pub fn from_frame(frame: &Frame) -> Option<Result<Self, ParseError>> {
                $(if frame.id == $module::$type::ID {
                    return Some($module::$type::parse(&frame.payload).map(Self::$type));
                })+
                None
            }

            /// Frame with the message.
            pub fn to_frame(&self) -> Frame {
                match self {
                    $(Self::$type(message) => message.to_frame()),+
                }
            }
        }

        /// The documented name of a message; `None` for an unknown message.
        pub fn name(id: MessageId) -> Option<&'static str> {
            $(if id == $module::$type::ID {
                return Some($name);
            })+
            OTHER_NAMES.iter().find(|(other, _)| *other == id).map(|(_, name)| *name)
        }
    };
}

messages! {
    "NAV-POSECEF" nav NavPosecef,
    "NAV-POSLLH" nav NavPosllh,
    "NAV-STATUS" nav NavStatus,
    "NAV-DOP" nav NavDop,
    "NAV-SOL" nav NavSol,
    "NAV-PVT" nav NavPvt,
    "NAV-VELECEF" nav NavVelecef,
    "NAV-VELNED" nav NavVelned,
    "NAV-HPPOSECEF" nav NavHpposecef,
    "NAV-HPPOSLLH" nav NavHpposllh,
    "NAV-TIMEGPS" nav NavTimegps,
    "NAV-TIMEUTC" nav NavTimeutc,
    "NAV-CLOCK" nav NavClock,
    "NAV-TIMELS" nav NavTimels,
    "NAV-SVINFO" nav NavSvinfo,
    "NAV-SAT" nav NavSat,
    "NAV-COV" nav NavCov,
    "NAV-RELPOSNED" nav NavRelposned,
    "NAV-SVIN" nav NavSvin,
    "NAV-SIG" nav NavSig,
    "NAV-EOE" nav NavEoe,
    "RXM-RAWX" rxm RxmRawx,
    "RXM-SFRBX" rxm RxmSfrbx,
    "ACK-NAK" cfg AckNak,
    "ACK-ACK" cfg AckAck,
    "CFG-PRT" cfg CfgPrt,
    "CFG-MSG" cfg CfgMsg,
    "CFG-RST" cfg CfgRst,
    "CFG-RATE" cfg CfgRate,
    "CFG-CFG" cfg CfgCfg,
    "CFG-NAV5" cfg CfgNav5,
    "CFG-TP5" cfg CfgTp5,
    "CFG-GNSS" cfg CfgGnss,
    "CFG-VALSET" cfg CfgValset,
    "CFG-VALGET" cfg CfgValget,
    "CFG-VALDEL" cfg CfgValdel,
    "MON-VER" mon MonVer,
    "MON-HW" mon MonHw,
    "MON-RF" mon MonRf,
    "MON-COMMS" mon MonComms,
    "TIM-TP" mon TimTp,
    "NAV-TIMEGLO" nav_more NavTimeglo,
    "NAV-TIMEBDS" nav_more NavTimebds,
    "NAV-TIMEGAL" nav_more NavTimegal,
    "NAV-TIMEQZSS" nav_more NavTimeqzss,
    "NAV-ODO" nav_more NavOdo,
    "NAV-AOPSTATUS" nav_more NavAopstatus,
    "NAV-PL" nav_more NavPl,
    "NAV-ORB" nav_more NavOrb,
    "NAV-SBAS" nav_more NavSbas,
    "NAV-DGPS" nav_more NavDgps,
    "NAV-SLAS" nav_more NavSlas,
    "NAV-GEOFENCE" nav_more NavGeofence,
    "MON-GNSS" mon_more MonGnss,
    "MON-HW2" mon_more MonHw2,
    "MON-MSGPP" mon_more MonMsgpp,
    "MON-RXBUF" mon_more MonRxbuf,
    "MON-TXBUF" mon_more MonTxbuf,
    "MON-RXR" mon_more MonRxr,
    "MON-PATCH" mon_more MonPatch,
    "MON-SYS" mon_more MonSys,
    "MON-HW3" mon_more MonHw3,
    "MON-IO" mon_more MonIo,
    "SEC-UNIQID" mon_more SecUniqid,
    "SEC-SIG" mon_more SecSig,
    "MGA-ACK-DATA0" mon_more MgaAck,
    "RXM-RTCM" rxm RxmRtcm,
    "RXM-COR" rxm RxmCor,
}

/// Names of messages whose payload is not decoded.
const OTHER_NAMES: &[(MessageId, &str)] = &[
    (MessageId::new(0x04, 0x00), "INF-ERROR"),
    (MessageId::new(0x04, 0x01), "INF-WARNING"),
    (MessageId::new(0x04, 0x02), "INF-NOTICE"),
    (MessageId::new(0x06, 0x02), "CFG-INF"),
    (MessageId::new(0x06, 0x13), "CFG-ANT"),
    (MessageId::new(0x06, 0x16), "CFG-SBAS"),
    (MessageId::new(0x06, 0x17), "CFG-NMEA"),
    (MessageId::new(0x06, 0x1b), "CFG-USB"),
    (MessageId::new(0x06, 0x1e), "CFG-ODO"),
    (MessageId::new(0x06, 0x23), "CFG-NAVX5"),
    (MessageId::new(0x06, 0x39), "CFG-ITFM"),
    (MessageId::new(0x06, 0x70), "CFG-DGNSS"),
    (MessageId::new(0x06, 0x71), "CFG-TMODE3"),
    (MessageId::new(0x09, 0x14), "UPD-SOS"),
];

#[cfg(test)]
mod tests;
