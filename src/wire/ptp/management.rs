//! PTP management messages, and the data sets of clocks and ports that these messages contain.
//!
//! Sources: IEEE 1588-2019, clause 15; linuxptp's `tlv.h` for `TIME_STATUS_NP`.

use super::{ClockIdentity, ClockQuality, PortIdentity};
use crate::ParseError;
use crate::record::{Be, Field, Reader, record};

/// Values of [`Management::action`].
pub mod action {
    /// Requests a data set.
    pub const GET: u8 = 0;
    /// Changes a data set.
    pub const SET: u8 = 1;
    /// Answers a request for a data set.
    pub const RESPONSE: u8 = 2;
    /// Executes a command.
    pub const COMMAND: u8 = 3;
    /// Answers a command.
    pub const ACKNOWLEDGE: u8 = 4;
}

/// Ids of data sets, for [`Management::id`].
pub mod id {
    /// Id of the [`super::DefaultDataSet`].
    pub const DEFAULT: u16 = 0x2000;
    /// Id of the [`super::CurrentDataSet`].
    pub const CURRENT: u16 = 0x2001;
    /// Id of the [`super::ParentDataSet`].
    pub const PARENT: u16 = 0x2002;
    /// Id of the [`super::TimePropertiesDataSet`].
    pub const TIME_PROPERTIES: u16 = 0x2003;
    /// Id of the [`super::PortDataSet`].
    pub const PORT: u16 = 0x2004;
    /// Id of linuxptp's [`super::TimeStatus`].
    pub const TIME_STATUS: u16 = 0xc000;
}

/// Error codes: values of [`Management::id`] in an error answer.
pub mod error {
    /// Unknown data set.
    pub const NO_SUCH_ID: u16 = 0x0002;
    /// The value cannot be set.
    pub const NOT_SETABLE: u16 = 0x0005;
}

/// Type of the TLV with a data set.
const DATA: u16 = 0x0001;
/// Type of the TLV with an error.
const ERROR: u16 = 0x0002;

/// Wildcard for all ports of all clocks.
pub const ANY_PORT: PortIdentity = PortIdentity { clock: [0xff; 8], port: 0xffff };

/// Content of a management message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Management {
    /// Addressed port; all ones: all ports.
    pub target: PortIdentity,
    /// Initial value of [`Management::hops`].
    pub starting_hops: u8,
    /// Number of further clocks that are allowed to forward the message.
    pub hops: u8,
    /// A value of [`action`] in the lower four bits; the upper four bits are reserved.
    pub action: u8,
    /// Reserved.
    pub reserved: u8,
    /// Whether the message reports an error.
    pub is_error: bool,
    /// A value of [`id`], or of [`error`] if the message reports an error.
    pub id: u16,
    /// Bytes of the data set.
    pub data: Vec<u8>,
}

impl Field<Be> for Management {
    const MIN_LEN: usize = 20;

    fn read(from: &mut Reader<'_>) -> Result<Self, ParseError> {
        let target = from.be()?;
        let [starting_hops, hops, action, reserved] = from.array()?;
        let kind: u16 = from.be()?;
        if kind != DATA && kind != ERROR {
            return Err(ParseError::value("type of a management message", kind, "1, 2"));
        }
        let length: u16 = from.be()?;
        let id = from.be()?;
        let data = usize::from(length).checked_sub(2);
        let data = data.ok_or_else(|| ParseError::value("length", length, "2 and more"))?;
        let data = from.bytes(data)?.to_vec();
        let is_error = kind == ERROR;
        Ok(Self { target, starting_hops, hops, action, reserved, is_error, id, data })
    }

    fn write(&self, out: &mut Vec<u8>) {
        Field::<Be>::write(&self.target, out);
        out.extend([self.starting_hops, self.hops, self.action, self.reserved]);
        let kind = if self.is_error { ERROR } else { DATA };
        let data = &self.data[..self.data.len().min(usize::from(u16::MAX) - 2)];
        for word in [kind, data.len() as u16 + 2, self.id] {
            Field::<Be>::write(&word, out);
        }
        out.extend_from_slice(data);
    }
}

record! {
    /// Properties of the answering clock.
    DefaultDataSet: Be 20 {
        /// Flags: bit 0 two-step, bit 1 slave only.
        flags: u8,
        /// Zero.
        reserved: u8,
        /// Number of ports.
        ports: u16,
        /// First priority; the lower value is preferred as master.
        priority_1: u8,
        /// Quality of the answering clock.
        quality: ClockQuality,
        /// Second priority, compared if the quality is equal; the lower value is preferred.
        priority_2: u8,
        /// Identity of the answering clock.
        identity: ClockIdentity,
        /// PTP domain of the clock.
        domain: u8,
        /// Zero.
        reserved_2: u8,
    }

    /// Number of hops from the grandmaster; offset from the master, and path delay.
    CurrentDataSet: Be 18 {
        /// Number of hops from the grandmaster: 0 for the grandmaster itself, 1 for its direct slave.
        steps_removed: u16,
        /// Own time minus the master's, nanoseconds times 65 536.
        offset_from_master: i64,
        /// Path delay, nanoseconds times 65 536.
        mean_path_delay: i64,
    }

    /// Data set of the parent: the clock's master.
    ParentDataSet: Be 32 {
        /// The master's port.
        parent: PortIdentity,
        /// 1: the two following values are measured; 0: they are not.
        has_statistics: u8,
        /// Zero.
        reserved: u8,
        /// Measured variance of the parent's clock; 0xffff: not measured.
        variance: u16,
        /// Measured phase change rate of the parent's clock; 0x7fffffff: not measured.
        phase_change_rate: i32,
        /// First priority of the grandmaster.
        priority_1: u8,
        /// Quality of the grandmaster's clock.
        quality: ClockQuality,
        /// Second priority of the grandmaster.
        priority_2: u8,
        /// Identity of the grandmaster.
        grandmaster: ClockIdentity,
    }

    /// Properties of the master's time.
    TimePropertiesDataSet: Be 4 {
        /// TAI minus UTC, seconds.
        utc_offset_s: i16,
        /// Lower byte of the message flags, bits of [`super::flag`].
        flags: u8,
        /// Time source as [`super::Announce::time_source`].
        time_source: u8,
    }

    /// Settings and state of a port.
    PortDataSet: Be 26 {
        /// Identity of the port.
        identity: PortIdentity,
        /// State of the port: 4 listening, 8 uncalibrated, 9 slave.
        state: u8,
        /// Shortest interval between delay requests, base-2 logarithm of seconds.
        log_min_delay_interval: i8,
        /// Path delay to the neighbour, nanoseconds times 65 536.
        peer_mean_path_delay: i64,
        /// Interval between announcements, base-2 logarithm of seconds.
        log_announce_interval: i8,
        /// Number of missing announcements after which the master counts as lost.
        announce_receipt_timeout: u8,
        /// Interval between the master's Sync messages, base-2 logarithm of seconds.
        log_sync_interval: i8,
        /// Measurement of the delay: 1 end to end, 2 peer to peer.
        delay_mechanism: u8,
        /// Shortest interval between delay requests to the neighbour, base-2 logarithm of seconds.
        log_min_pdelay_interval: i8,
        /// Version of the protocol, 2.
        version: u8,
    }

    /// Data of linuxptp's `TIME_STATUS_NP`.
    TimeStatus: Be 50 {
        /// Own time minus the master's, nanoseconds.
        master_offset_ns: i64,
        /// Arrival time of the last Sync message, nanoseconds.
        ingress_time_ns: i64,
        /// Rate ratio of the grandmaster minus 1, times 2^41.
        cumulative_scaled_rate_offset: i32,
        /// Last change of the grandmaster's rate, times 2^41, although linuxptp's name of the field says phase.
        scaled_last_gm_phase_change: i32,
        /// Number of the grandmaster's current time base.
        gm_time_base: u16,
        /// Last change of the grandmaster's phase, nanoseconds times 65 536.
        last_gm_phase_change: [u8; 12],
        /// 1: the clock has a grandmaster other than itself; 0: it has none.
        gm_present: i32,
        /// Identity of the grandmaster.
        gm_identity: ClockIdentity,
    }
}
