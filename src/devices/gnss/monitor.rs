//! The receiver's status: MON messages, SEC-UNIQID, SEC-SIG.
//!
//! The radio environment is quiet and the antenna good: noise, gain and interference are constant. The interference
//! monitor, if a host enables it, reports no jamming.

use super::items::UART2;
use crate::sensors::noise::{NoiseSource, Quantity};
use crate::wire::ubx::mon::{MonComms, MonHw, MonRf, PortTraffic, RfBlock};
use crate::wire::ubx::mon_more::{
    MonHw2, MonHw3, MonIo, MonMsgpp, MonSys, MonTxbuf, PortErrors, SecSig, SecUniqid,
};

/// Noise level in a quiet environment: `noisePerMS` of MON-HW and MON-RF.
const NOISE_PER_MS: u16 = 92;
/// Count of the automatic gain control, on a scale of 0 to 8191.
const AGC_COUNT: u16 = 5120;
/// Strength of continuous-wave interference in a quiet environment, on a scale of 0 (none) to 255.
const JAMMING: u8 = 12;
/// Centre frequencies that SEC-SIG reports, L1 and L2 of GPS. Receivers report two; which ones is an assumption.
const CENTRES_KHZ: [u32; 2] = [1_575_420, 1_227_600];
/// Antenna status (2: good) and power (1: on).
const ANTENNA: (u8, u8) = (2, 1);

/// Counts of bytes and messages of a port since the receiver's start or restart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Bytes accepted by the transmit buffer.
    pub tx_bytes: u32,
    /// Peak number of bytes in the transmit buffer.
    pub tx_peak_bytes: usize,
    /// Received bytes.
    pub rx_bytes: u32,
    /// Received bytes that belong to messages.
    pub rx_message_bytes: u32,
    /// Received messages: UBX, NMEA, RTCM 3.
    pub rx_messages: [u16; 3],
}

/// Present state of a port.
#[derive(Clone, Copy, Debug)]
pub struct PortState {
    /// u-blox's port number, 0 to 4.
    pub number: u8,
    /// Counts of bytes and messages since the receiver's start or restart.
    pub traffic: Traffic,
    /// Bytes in the transmit buffer.
    pub waiting_bytes: usize,
    /// Size of the transmit buffer.
    pub buffer_bytes: usize,
    /// Whether output was lost because the transmit buffer was full.
    pub has_lost: bool,
}

/// Jamming state for two bits of a flags field: 1 (no jamming) if the interference monitor is on, otherwise 0
/// (unknown).
fn jamming_state(is_looked_for: bool) -> u8 {
    u8::from(is_looked_for)
}

/// MON-HW. `looks_for_jamming`: whether the interference monitor is on.
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

impl PortState {
    /// Share of the transmit buffer that `bytes` take up, percent.
    fn percent(&self, bytes: usize) -> u8 {
        (bytes * 100 / self.buffer_bytes.max(1)).min(100) as u8
    }

    fn pending(&self) -> u16 {
        self.waiting_bytes.min(usize::from(u16::MAX)) as u16
    }

    fn usage_percent(&self) -> u8 {
        self.percent(self.waiting_bytes)
    }

    fn peak_percent(&self) -> u8 {
        self.percent(self.traffic.tx_peak_bytes)
    }

    /// Received bytes outside messages.
    fn skipped(&self) -> u32 {
        self.traffic.rx_bytes.saturating_sub(self.traffic.rx_message_bytes)
    }

    /// Port number in MON-COMMS. Its low byte distinguishes ports of the same kind: 1 for UART2.
    fn id(&self) -> u16 {
        u16::from(self.number) << 8 | u16::from(self.number == UART2)
    }
}

/// MON-COMMS with the ports that are in use.
pub fn communications(ports: &[PortState]) -> MonComms {
    let traffic_of = |port: &PortState| {
        let [ubx, nmea, rtcm3] = port.traffic.rx_messages;
        PortTraffic {
            port: port.id(),
            tx_pending: port.pending(),
            tx_bytes: port.traffic.tx_bytes,
            tx_usage_percent: port.usage_percent(),
            tx_peak_percent: port.peak_percent(),
            rx_bytes: port.traffic.rx_bytes,
            messages: [ubx, nmea, rtcm3, 0],
            skipped: port.skipped(),
            ..PortTraffic::default()
        }
    };
    MonComms {
        tx_errors: u8::from(ports.iter().any(|port| port.has_lost)) << 1,
        protocols: [0, 1, 5, 255],
        ports: ports.iter().map(traffic_of).collect(),
        ..MonComms::default()
    }
}

/// MON-HW2 of a radio without interference whose configuration comes from ROM.
pub fn radio() -> MonHw2 {
    MonHw2 { magnitude_i: 160, magnitude_q: 160, config_source: b'r', ..MonHw2::default() }
}

/// MON-HW3 with the hardware version and no pins.
pub fn pins(hardware: &str) -> MonHw3 {
    let mut text = [0; 10];
    for (byte, letter) in text.iter_mut().zip(hardware.bytes()) {
        *byte = letter;
    }
    MonHw3 { flags: 1, hardware: text, ..MonHw3::default() }
}

/// MON-IO: byte counts of each port.
pub fn bytes_of_ports(ports: &[PortState]) -> MonIo {
    let mut all = vec![PortErrors::default(); 6];
    for port in ports {
        all[usize::from(port.number)] = PortErrors {
            rx_bytes: port.traffic.rx_bytes,
            tx_bytes: port.traffic.tx_bytes,
            tx_busy: (port.waiting_bytes > 0).into(),
            ..PortErrors::default()
        };
    }
    MonIo { ports: all }
}

/// MON-MSGPP: received messages of each port by protocol, and skipped bytes.
pub fn messages_of_ports(ports: &[PortState]) -> MonMsgpp {
    let mut all = MonMsgpp::default();
    for port in ports {
        let [ubx, nmea, rtcm3] = port.traffic.rx_messages;
        all.messages[usize::from(port.number)] = [ubx, nmea, 0, 0, 0, rtcm3, 0, 0];
        all.skipped[usize::from(port.number)] = port.skipped();
    }
    all
}

/// MON-TXBUF: use of the transmit buffer of each port.
pub fn transmit_buffers(ports: &[PortState]) -> MonTxbuf {
    let mut all = MonTxbuf::default();
    for port in ports {
        let place = usize::from(port.number);
        all.pending[place] = port.pending();
        all.usage_percent[place] = port.usage_percent();
        all.peak_percent[place] = port.peak_percent();
        all.total_percent = all.total_percent.max(port.usage_percent());
        all.total_peak_percent = all.total_peak_percent.max(port.peak_percent());
    }
    all.errors = u8::from(ports.iter().any(|port| port.has_lost)) << 7;
    all
}

/// MON-SYS: a processor with a low load.
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

/// SEC-UNIQID: a random number for each unit, five bytes in version 1 and six in version 2.
pub fn number(noise: &NoiseSource, bytes: usize) -> SecUniqid {
    let draw = |at| noise.request(u64::MAX - 1).whole(at, Quantity::GnssClock, 0, 255);
    let version = if bytes > 5 { 2 } else { 1 };
    SecUniqid { version, reserved1: [0; 3], id: (0..bytes).map(draw).collect() }
}

/// SEC-SIG, version 1: no spoofing, and no jamming if the interference monitor is on (`looks_for_jamming`).
pub fn attacks(looks_for_jamming: bool) -> SecSig {
    let jamming = if looks_for_jamming { 0b011 } else { 0 };
    SecSig { version: 1, head: [0; 3], states: vec![jamming, 0, 0, 0, 0b011, 0, 0, 0] }
}

/// SEC-SIG, version 2: detection of jamming and spoofing is on, there is neither, and no centre frequency is jammed.
pub fn attacks_by_frequency() -> SecSig {
    let states = CENTRES_KHZ.iter().flat_map(|khz| khz.to_le_bytes()).collect();
    SecSig { version: 2, head: [0b1_1011, 0, CENTRES_KHZ.len() as u8], states }
}
