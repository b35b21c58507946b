//! What the receiver tells of itself: MON messages, SEC-UNIQID, SEC-SIG.
//!
//! The radio is that of a quiet place with a good antenna: noise, gain and interference are constant.
//! A host that switches the interference monitor on is told that there is no jamming. Of the ports
//! UART1 alone is emulated and counted.

use crate::sensors::noise::{NoiseSource, Quantity};
use crate::wire::ubx::mon::{MonComms, MonHw, MonRf, PortTraffic, RfBlock};
use crate::wire::ubx::mon_more::{
    MonHw2, MonHw3, MonIo, MonMsgpp, MonSys, MonTxbuf, PortErrors, SecSig, SecUniqid,
};

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

/// Of the port's transmit buffer.
fn percent(bytes: usize, port: &PortState) -> u8 {
    (bytes * 100 / port.buffer_bytes.max(1)).min(100) as u8
}

/// MON-COMMS with UART1.
pub fn communications(traffic: &Traffic, port: &PortState) -> MonComms {
    let [ubx, nmea, rtcm3] = traffic.rx_messages;
    let uart1 = PortTraffic {
        port: 0x0100,
        tx_pending: port.waiting_bytes.min(usize::from(u16::MAX)) as u16,
        tx_bytes: traffic.tx_bytes,
        tx_usage_percent: percent(port.waiting_bytes, port),
        tx_peak_percent: percent(traffic.tx_peak_bytes, port),
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

/// UART1 among the ports of messages that have one value for each.
const UART1: usize = 1;

/// MON-HW2: a quiet radio, configured by its ROM.
pub fn radio() -> MonHw2 {
    MonHw2 { magnitude_i: 160, magnitude_q: 160, config_source: b'r', ..MonHw2::default() }
}

/// MON-HW3, without pins.
pub fn pins(hardware: &str) -> MonHw3 {
    let mut text = [0; 10];
    for (byte, letter) in text.iter_mut().zip(hardware.bytes()) {
        *byte = letter;
    }
    MonHw3 { flags: 1, hardware: text, ..MonHw3::default() }
}

/// MON-IO.
pub fn bytes_of_ports(traffic: &Traffic, port: &PortState) -> MonIo {
    let mut ports = vec![PortErrors::default(); 6];
    ports[UART1] = PortErrors {
        rx_bytes: traffic.rx_bytes,
        tx_bytes: traffic.tx_bytes,
        tx_busy: (port.waiting_bytes > 0).into(),
        ..PortErrors::default()
    };
    MonIo { ports }
}

/// MON-MSGPP.
pub fn messages_of_ports(traffic: &Traffic) -> MonMsgpp {
    let [ubx, nmea, rtcm3] = traffic.rx_messages;
    let mut all = MonMsgpp::default();
    all.messages[UART1] = [ubx, nmea, 0, 0, 0, rtcm3, 0, 0];
    all.skipped[UART1] = traffic.rx_bytes.saturating_sub(traffic.rx_message_bytes);
    all
}

/// MON-TXBUF.
pub fn transmit_buffers(traffic: &Traffic, port: &PortState) -> MonTxbuf {
    let mut all = MonTxbuf::default();
    all.pending[UART1] = port.waiting_bytes.min(usize::from(u16::MAX)) as u16;
    all.usage_percent[UART1] = percent(port.waiting_bytes, port);
    all.peak_percent[UART1] = percent(traffic.tx_peak_bytes, port);
    all.total_percent = all.usage_percent[UART1];
    all.total_peak_percent = all.peak_percent[UART1];
    all.errors = u8::from(port.has_lost) << 7;
    all
}

/// MON-SYS: a processor that has enough time and memory.
pub fn processor(runtime_s: u32) -> MonSys {
    MonSys {
        version: 1,
        boot: 1,
        cpu_percent: 30,
        cpu_peak_percent: 40,
        memory_percent: 50,
        memory_peak_percent: 50,
        runtime_s,
        temperature_c: 35,
        ..MonSys::default()
    }
}

/// SEC-UNIQID: bytes that each unit draws, five in version 1 and six in version 2.
pub fn number(noise: &NoiseSource, bytes: usize) -> SecUniqid {
    let draw = |at| noise.request(u64::MAX - 1).whole(at, Quantity::GnssClock, 0, 255);
    let version = if bytes > 5 { 2 } else { 1 };
    SecUniqid { version, reserved1: [0; 3], id: (0..bytes).map(draw).collect() }
}

/// SEC-SIG, version 1: nobody jams or spoofs.
pub fn attacks(looks_for_jamming: bool) -> SecSig {
    let jamming = if looks_for_jamming { 0b011 } else { 0 };
    SecSig { version: 1, head: [0; 3], states: vec![jamming, 0, 0, 0, 0b011, 0, 0, 0] }
}
