//! RXM messages: raw measurements, navigation messages, and received corrections.

use serde::Serialize;

use super::{MessageId, Payload};
use crate::ParseError;
use crate::record::{Reader, Record, put_le, record};

message! {
    /// Reports a received RTCM message. Version 2 of this UBX message.
    RxmRtcm 0x02 0x32 8 {
        /// Version of the message, 2.
        version: u8,
        /// Flags: bit 0 wrong checksum, 1-2 use of the message (0 unknown, 1 not used, 2 used).
        flags: u8,
        /// Subtype of message 4072.
        sub_type: u16,
        /// Id of the base station.
        station: u16,
        /// Number of the RTCM message.
        message: u16,
    }
    /// Reports a received correction message. Version 1 of this UBX message.
    RxmCor 0x02 0x34 12 {
        /// Version of the message, 1.
        version: u8,
        /// Eb/N0 of a satellite link, in units of 0.125 dB.
        ebno: u8,
        /// Reserved.
        reserved1: [u8; 2],
        /// Bits 0-4 protocol (1 RTCM 3), 5-6 errors (1 none), 7-8 use (1 not used, 2 used), 9-24 station, 25 number
        /// valid, 26 subtype valid, 27 input handled, 28-29 encryption (1 not encrypted), 30-31 decryption.
        status: u32,
        /// Number of the message.
        message: u16,
        /// Subtype of the message.
        sub_type: u16,
    }
}

record! {
    /// One signal of [`RxmRawx`].
    #[derive(Copy, Default, Serialize)]
    RawSignal: Le 32 {
        /// Pseudorange.
        pseudorange_m: f64,
        /// Carrier phase.
        carrier_cycles: f64,
        /// Doppler, positive while the satellite approaches.
        doppler_hz: f32,
        /// Satellite system as in [`super::nav::SatInfo`].
        gnss_id: u8,
        /// Number of the satellite within the system.
        sv_id: u8,
        /// Number of the signal within the system.
        sig_id: u8,
        /// GLONASS: frequency slot plus 7.
        freq_id: u8,
        /// Time for which the carrier has been tracked, at most 64,500.
        lock_time_ms: u16,
        /// Carrier-to-noise ratio.
        cno_dbhz: u8,
        /// Standard deviation of the pseudorange: 0.01 m times 2 to this power.
        pr_std: u8,
        /// Standard deviation of the carrier phase, in units of 0.004 cycles.
        cp_std: u8,
        /// Standard deviation of the Doppler: 0.002 Hz times 2 to this power.
        do_std: u8,
        /// State of tracking: bit 0 pseudorange valid, 1 carrier phase valid, 2 half cycle valid, 3 half
        /// cycle subtracted.
        tracking: u8,
        /// Reserved.
        reserved1: u8,
    }
}

/// Raw measurements of all signals at one instant. Version 1 of this UBX message.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RxmRawx {
    /// GPS time of week on the receiver's clock.
    pub receiver_tow_s: f64,
    /// GPS week on the receiver's clock.
    pub week: u16,
    /// GPS minus UTC.
    pub leap_s: i8,
    /// Status: bit 0 leap seconds known, 1 clock reset.
    pub status: u8,
    /// Version of the message, 1.
    pub version: u8,
    /// Reserved.
    pub reserved1: [u8; 2],
    /// The signals, at most 255.
    pub signals: Vec<RawSignal>,
}

impl Payload for RxmRawx {
    const ID: MessageId = MessageId::new(0x02, 0x15);
}

impl Record for RxmRawx {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("RxmRawx", payload);
        let (receiver_tow_s, week, leap_s) = (from.le()?, from.le()?, from.le()?);
        let [count, status, version] = from.array()?;
        let reserved1 = from.array()?;
        let signals = from.le_vec(count)?;
        from.finish()?;
        Ok(Self { receiver_tow_s, week, leap_s, status, version, reserved1, signals })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let signals = &self.signals[..self.signals.len().min(255)];
        put_le(out, &[self.receiver_tow_s]);
        put_le(out, &[self.week]);
        put_le(out, &[self.leap_s]);
        out.extend([signals.len() as u8, self.status, self.version]);
        out.extend(self.reserved1);
        put_le(out, signals);
    }
}

/// One part of a satellite's navigation message. Version 2 of this UBX message.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RxmSfrbx {
    /// Satellite system as in [`super::nav::SatInfo`].
    pub gnss_id: u8,
    /// Number of the satellite within the system.
    pub sv_id: u8,
    /// Number of the signal within the system.
    pub sig_id: u8,
    /// GLONASS: frequency slot plus 7.
    pub freq_id: u8,
    /// Channel of the signal.
    pub channel: u8,
    /// Version of the message, 2.
    pub version: u8,
    /// Reserved.
    pub reserved1: u8,
    /// Words of the subframe; at most 255.
    pub words: Vec<u32>,
}

impl Payload for RxmSfrbx {
    const ID: MessageId = MessageId::new(0x02, 0x13);
}

impl Record for RxmSfrbx {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("RxmSfrbx", payload);
        let [gnss_id, sv_id, sig_id, freq_id] = from.array()?;
        let [count, channel, version, reserved1] = from.array()?;
        let words = from.le_vec(count)?;
        from.finish()?;
        Ok(Self { gnss_id, sv_id, sig_id, freq_id, channel, version, reserved1, words })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let words = &self.words[..self.words.len().min(255)];
        out.extend([self.gnss_id, self.sv_id, self.sig_id, self.freq_id]);
        out.extend([words.len() as u8, self.channel, self.version, self.reserved1]);
        put_le(out, words);
    }
}
