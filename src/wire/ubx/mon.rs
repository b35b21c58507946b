//! MON and TIM messages: identity and state of the receiver, and time of its next PPS pulse.

use serde::Serialize;

use super::{MessageId, Payload};
use crate::ParseError;
use crate::record::{Reader, Record, put_le, record};

message! {
    /// Time of the next PPS pulse; sent before this pulse.
    TimTp 0x0d 0x01 16 {
        /// Time of week of the pulse, milliseconds.
        tow_ms: u32,
        /// Fraction to add to the time of week, 2^-32 ms.
        tow_sub_ms: u32,
        /// Quantisation error of the pulse.
        quantisation_error_ps: i32,
        /// Week of the pulse.
        week: u16,
        /// Flags: bit 0: time base (0 = GNSS, 1 = UTC); bit 1: UTC available; bits 2-3: RAIM (0 = unknown, 1 =
        /// inactive, 2 = active); bit 4: quantisation error invalid.
        flags: u8,
        /// References: bits 0-3 satellite system of the time (0 GPS), 4-7 source of UTC (3 USNO).
        reference: u8,
    }
}

message! {
    /// State of the hardware, generation 8 and earlier.
    MonHw 0x0a 0x09 60 {
        /// Function of each pin, one bit each: 0 peripheral, 1 general-purpose input or output.
        pin_select: u32,
        /// Bank of each pin, one bit each: 0 A, 1 B.
        pin_bank: u32,
        /// Direction of each pin, one bit each: 0 input, 1 output.
        pin_direction: u32,
        /// Level of each pin, one bit each: 0 low, 1 high.
        pin_value: u32,
        /// Noise level of the radio.
        noise_per_ms: u16,
        /// Count of the automatic gain control, 0 to 8191.
        agc_count: u16,
        /// State of the antenna: 0 starting, 1 unknown, 2 good, 3 short, 4 open.
        antenna_status: u8,
        /// Power of the antenna: 0 off, 1 on, 2 unknown.
        antenna_power: u8,
        /// Flags: bit 0 clock calibrated, 1 safe boot, 2-3 jamming (0 not examined, 1 none, 2 some, 3 too much for a
        /// fix), 4 no crystal.
        flags: u8,
        /// Reserved.
        reserved1: u8,
        /// Pins in use, one bit each.
        used_mask: u32,
        /// Pin of each peripheral.
        virtual_pins: [u8; 17],
        /// Strength of continuous-wave interference, from 0 (none) to 255.
        jamming: u8,
        /// Reserved.
        reserved2: [u8; 2],
        /// Pins with an interrupt, one bit each.
        pin_interrupt: u32,
        /// Pins pulled high, one bit each.
        pull_high: u32,
        /// Pins pulled low, one bit each.
        pull_low: u32,
    }
}

record! {
    /// One radio of [`MonRf`].
    #[derive(Copy, Default, Serialize)]
    RfBlock: Le 24 {
        /// Index of the radio: 0 the upper band, L1; 1 the lower band.
        block: u8,
        /// Flags: bits 0-1 jamming (0 not examined, 1 none, 2 some, 3 too much for a fix).
        flags: u8,
        /// State of the antenna: 0 starting, 1 unknown, 2 good, 3 short, 4 open.
        antenna_status: u8,
        /// Power of the antenna: 0 off, 1 on, 2 unknown.
        antenna_power: u8,
        /// Result of the self-test; 0: good.
        self_test: u32,
        /// Reserved.
        reserved1: [u8; 4],
        /// Noise level of the radio.
        noise_per_ms: u16,
        /// Count of the automatic gain control, 0 to 8191.
        agc_count: u16,
        /// Strength of continuous-wave interference, from 0 (none) to 255.
        jamming: u8,
        /// Imbalance of the I part.
        offset_i: i8,
        /// Magnitude of the I part.
        magnitude_i: u8,
        /// Imbalance of the Q part.
        offset_q: i8,
        /// Magnitude of the Q part.
        magnitude_q: u8,
        /// Reserved.
        reserved2: [u8; 3],
    }
    /// One port of [`MonComms`].
    #[derive(Copy, Default, Serialize)]
    PortTraffic: Le 40 {
        /// Port: 0x0000 I2C, 0x0100 UART1, 0x0201 UART2, 0x0300 USB, 0x0400 SPI.
        port: u16,
        /// Bytes waiting to be sent.
        tx_pending: u16,
        /// Bytes sent.
        tx_bytes: u32,
        /// Present usage of the transmit buffer.
        tx_usage_percent: u8,
        /// Highest usage of the transmit buffer.
        tx_peak_percent: u8,
        /// Bytes waiting to be read.
        rx_pending: u16,
        /// Bytes received.
        rx_bytes: u32,
        /// Present usage of the receive buffer.
        rx_usage_percent: u8,
        /// Highest usage of the receive buffer.
        rx_peak_percent: u8,
        /// Number of periods of 100 ms in which bytes were lost.
        overruns: u16,
        /// Numbers of messages received, one for each of [`MonComms::protocols`].
        messages: [u16; 4],
        /// Reserved.
        reserved1: [u8; 8],
        /// Received bytes that did not belong to a message.
        skipped: u32,
    }
}

/// State of the radios, generation 9.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MonRf {
    /// Version of the message, 0.
    pub version: u8,
    /// Reserved.
    pub reserved1: [u8; 2],
    /// The blocks, at most 255.
    pub blocks: Vec<RfBlock>,
}

impl Payload for MonRf {
    const ID: MessageId = MessageId::new(0x0a, 0x38);
}

impl Record for MonRf {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("MonRf", payload);
        let [version, count] = from.array()?;
        let reserved1 = from.array()?;
        let blocks = from.le_vec(count)?;
        from.finish()?;
        Ok(Self { version, reserved1, blocks })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let blocks = &self.blocks[..self.blocks.len().min(255)];
        out.extend([self.version, blocks.len() as u8]);
        out.extend(self.reserved1);
        put_le(out, blocks);
    }
}

/// Traffic of the ports, generation 9.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MonComms {
    /// Version of the message, 0.
    pub version: u8,
    /// Errors: bit 0 out of memory, 1 lost bytes because a buffer was full.
    pub tx_errors: u8,
    /// Reserved.
    pub reserved1: u8,
    /// Protocols of the message counters: 0 UBX, 1 NMEA, 5 RTCM 3, 255 none.
    pub protocols: [u8; 4],
    /// The ports, at most 255.
    pub ports: Vec<PortTraffic>,
}

impl Payload for MonComms {
    const ID: MessageId = MessageId::new(0x0a, 0x36);
}

impl Record for MonComms {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("MonComms", payload);
        let [version, count, tx_errors, reserved1] = from.array()?;
        let protocols = from.array()?;
        let ports = from.le_vec(count)?;
        from.finish()?;
        Ok(Self { version, tx_errors, reserved1, protocols, ports })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let ports = &self.ports[..self.ports.len().min(255)];
        out.extend([self.version, ports.len() as u8, self.tx_errors, self.reserved1]);
        out.extend(self.protocols);
        put_le(out, ports);
    }
}

record! {
    /// Versions of the receiver. Text is padded with zero bytes.
    MonVer: Le {
        /// Version of the software.
        software: [u8; 30],
        /// Version of the hardware.
        hardware: [u8; 10],
        /// Further lines about software and hardware.
        extensions: Vec<[u8; 30]>,
    }
}

impl Payload for MonVer {
    const ID: MessageId = MessageId::new(0x0a, 0x04);
}

impl MonVer {
    /// Creates a message. Truncates `software` to 30 bytes, `hardware` to 10, and each extension to 30.
    pub fn new<'a>(
        software: &str,
        hardware: &str,
        extensions: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self {
            software: padded(software),
            hardware: padded(hardware),
            extensions: extensions.into_iter().map(padded).collect(),
        }
    }
}

/// Truncates the text to `N` bytes, or pads it with zeros.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    for (byte, letter) in bytes.iter_mut().zip(text.bytes()) {
        *byte = letter;
    }
    bytes
}

/// The text up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl Serialize for MonVer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("software", &text(&self.software))?;
        map.serialize_entry("hardware", &text(&self.hardware))?;
        let extensions: Vec<String> = self.extensions.iter().map(|e| text(e)).collect();
        map.serialize_entry("extensions", &extensions)?;
        map.end()
    }
}
