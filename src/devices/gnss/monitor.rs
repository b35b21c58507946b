//! What the receiver tells of itself: MON-HW, MON-RF, MON-COMMS.
//!
//! The radio is that of a quiet place with a good antenna: noise, gain and interference are constant.
//! A host that switches the interference monitor on is told that there is no jamming. Of the ports
//! UART1 alone is emulated and counted.

use crate::wire::ubx::mon::{MonComms, MonHw, MonRf, PortTraffic, RfBlock};

/// Noise of a quiet place.
const NOISE_PER_MS: u16 = 92;
/// Gain in the middle of its range.
const AGC_COUNT: u16 = 5120;
/// Interference of a quiet place.
const JAMMING: u8 = 12;
/// Antenna status: good; power: on.
const ANTENNA: (u8, u8) = (2, 1);

/// Bytes and messages of UART1 since the start.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Bytes that found room.
    pub tx_bytes: u32,
    /// Most bytes that waited.
    pub tx_peak_bytes: usize,
    /// Bytes that came.
    pub rx_bytes: u32,
    /// Of these, bytes of messages.
    pub rx_message_bytes: u32,
    /// Messages that came: UBX, NMEA, RTCM 3.
    pub rx_messages: [u16; 3],
}

/// The port as it is now.
#[derive(Clone, Copy, Debug)]
pub struct PortState {
    /// Bytes that wait for the line.
    pub waiting_bytes: usize,
    /// Room for such bytes.
    pub buffer_bytes: usize,
    /// Whether bytes were lost.
    pub has_lost: bool,
}

/// Bits 0-1 of a jamming state.
fn jamming_state(is_looked_for: bool) -> u8 {
    u8::from(is_looked_for)
}

/// MON-HW.
pub fn hardware(looks_for_jamming: bool) -> MonHw {
    MonHw {
        noise_per_ms: NOISE_PER_MS,
        agc_count: AGC_COUNT,
        antenna_status: ANTENNA.0,
        antenna_power: ANTENNA.1,
        flags: 1 | jamming_state(looks_for_jamming) << 2,
        virtual_pins: [255; 17],
        jamming: JAMMING,
        ..MonHw::default()
    }
}

/// MON-RF with a block for each band.
pub fn radios(bands: u8, looks_for_jamming: bool) -> MonRf {
    let block = |block: u8| RfBlock {
        block,
        flags: jamming_state(looks_for_jamming),
        antenna_status: ANTENNA.0,
        antenna_power: ANTENNA.1,
        noise_per_ms: NOISE_PER_MS,
        agc_count: AGC_COUNT,
        jamming: JAMMING,
        magnitude_i: 160,
        magnitude_q: 160,
        ..RfBlock::default()
    };
    MonRf { blocks: (0..bands).map(block).collect(), ..MonRf::default() }
}

/// MON-COMMS with UART1.
pub fn communications(traffic: &Traffic, port: &PortState) -> MonComms {
    let percent = |bytes: usize| (bytes * 100 / port.buffer_bytes.max(1)).min(100) as u8;
    let [ubx, nmea, rtcm3] = traffic.rx_messages;
    let uart1 = PortTraffic {
        port: 0x0100,
        tx_pending: port.waiting_bytes.min(usize::from(u16::MAX)) as u16,
        tx_bytes: traffic.tx_bytes,
        tx_usage_percent: percent(port.waiting_bytes),
        tx_peak_percent: percent(traffic.tx_peak_bytes),
        rx_bytes: traffic.rx_bytes,
        messages: [ubx, nmea, rtcm3, 0],
        skipped: traffic.rx_bytes.saturating_sub(traffic.rx_message_bytes),
        ..PortTraffic::default()
    };
    MonComms {
        tx_errors: u8::from(port.has_lost) << 1,
        protocols: [0, 1, 5, 255],
        ports: vec![uart1],
        ..MonComms::default()
    }
}
