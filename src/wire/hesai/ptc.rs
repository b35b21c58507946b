//! Commands on TCP port 9347 (PTC), version 1: frames and contents.
//!
//! Requests and answers have the same form. An answer repeats the command of its request.

use super::data::ReturnMode;
use super::format::HesaiFormat;
use crate::framer::{Framing, NoFrame, head, require, whole};
use crate::record::{Record as _, record};

/// TCP port of lidars for commands.
pub const PTC_PORT: u16 = 9347;
/// Largest payload, bytes. Drivers warn about larger payloads.
pub const MAX_PAYLOAD: usize = 10_240;
const FLAG: [u8; 2] = [0x47, 0x74];
const HEAD_LEN: usize = 8;

/// Commands that drivers send.
pub mod command {
    /// Requests the angle correction table.
    pub const CALIBRATION: u8 = 0x05;
    /// Requests a state of PTP. The request contains a [`super::PtpQuery`].
    pub const PTP_DIAGNOSTICS: u8 = 0x06;
    /// Requests an [`super::Inventory`].
    pub const INVENTORY: u8 = 0x07;
    /// Requests a [`super::Configuration`].
    pub const CONFIGURATION: u8 = 0x08;
    /// Requests a [`super::Status`].
    pub const STATUS: u8 = 0x09;
    /// Restarts the lidar.
    pub const REBOOT: u8 = 0x10;
    /// Sets the rotation rate.
    pub const SPIN_RATE: u8 = 0x17;
    /// Sets a [`super::SyncAngle`].
    pub const SYNC_ANGLE: u8 = 0x18;
    /// Sets the trigger of firings: by angle or by time.
    pub const TRIGGER: u8 = 0x1b;
    /// Switches standby on or off.
    pub const STANDBY: u8 = 0x1c;
    /// Sets the return mode.
    pub const RETURN_MODE: u8 = 0x1e;
    /// Sets the source of the clock.
    pub const CLOCK_SOURCE: u8 = 0x1f;
    /// Sets a [`super::Destination`] of packets.
    pub const DESTINATION: u8 = 0x20;
    /// Sets the lidar's network settings, [`super::OwnNetwork`].
    pub const OWN_NETWORK: u8 = 0x21;
    /// Sets a [`super::LidarRange`].
    pub const SET_RANGE: u8 = 0x22;
    /// Requests a [`super::LidarRange`].
    pub const GET_RANGE: u8 = 0x23;
    /// Sets a [`super::PtpConfiguration`].
    pub const SET_PTP: u8 = 0x24;
    /// Restores the factory configuration.
    pub const RESET: u8 = 0x25;
    /// Requests a [`super::PtpConfiguration`]. In the answer, one byte precedes it: 1 if the clock
    /// follows PTP.
    pub const GET_PTP: u8 = 0x26;
    /// Requests a [`super::Monitor`].
    pub const MONITOR: u8 = 0x27;
    /// Sets the largest offset from the PTP master at which the clock counts as locked: one byte, microseconds.
    pub const SET_PTP_LOCK_OFFSET: u8 = 0x39;
    /// Requests the offset that [`SET_PTP_LOCK_OFFSET`] sets.
    pub const GET_PTP_LOCK_OFFSET: u8 = 0x3a;
}

/// Codes of answers.
pub mod code {
    /// The request was executed.
    pub const OK: u8 = 0;
    /// A value is not allowed.
    pub const INVALID_PARAMETER: u8 = 1;
    /// The payload does not have the length that the command requires.
    pub const INVALID_DATA: u8 = 3;
    /// The lidar does not support the command.
    pub const UNSUPPORTED: u8 = 5;
}

record! {
    /// Head of a frame.
    FrameHead: Be 8 {
        /// Start of the frame: bytes `47 74`.
        flag: [u8; 2],
        /// Command, see [`command`].
        command: u8,
        /// Result code, see [`code`].
        code: u8,
        /// Length of the payload, which follows, bytes.
        payload_len: u32,
    }

    /// Answer to [`command::INVENTORY`]. Texts are padded with zeros.
    Inventory: Be 120 {
        /// Serial number.
        serial: [u8; 18],
        /// Date of manufacture.
        manufactured: [u8; 16],
        /// MAC address.
        mac: [u8; 6],
        /// Version of the software.
        software: [u8; 16],
        /// Version of the hardware.
        hardware: [u8; 16],
        /// Version of the controller's firmware.
        control_firmware: [u8; 16],
        /// Version of the sensor's firmware.
        sensor_firmware: [u8; 16],
        /// Angle of the encoder's zero, hundredths of a degree.
        zero_angle_centideg: i16,
        /// Code of the product.
        model: u8,
        /// Type of the motor; 0: the motor turns in one direction.
        motor_type: u8,
        /// Number of lasers.
        lines: u8,
        /// Zero.
        reserved: [u8; 11],
    }

    /// Answer to [`command::CONFIGURATION`].
    Configuration: Be 47 {
        /// Address of the unit.
        ip: [u8; 4],
        /// Network mask.
        mask: [u8; 4],
        /// Gateway.
        gateway: [u8; 4],
        /// Destination of packets.
        destination: Destination,
        /// Configured rotation rate, rpm.
        rpm: u16,
        /// Phase lock of the rotor to the clock, with the angle in hundredths of a degree.
        sync: SyncAngle,
        /// Start of the sector in which lasers fire, tenths of a degree.
        start_decideg: u16,
        /// End of the sector in which lasers fire, tenths of a degree.
        stop_decideg: u16,
        /// Source of the clock: 0 GNSS receiver, 1 PTP.
        clock_source: u8,
        /// 1 if packets have a sequence number, otherwise 0.
        has_sequence: u8,
        /// Trigger of firings: 0 by angle, 1 by time.
        trigger: u8,
        /// Number of the return mode, see [`mode_number`].
        return_mode: u8,
        /// 1 in standby, otherwise 0.
        standby: u8,
        /// 1 while the motor is driven, otherwise 0.
        motor: u8,
        /// VLAN tag of frames.
        vlan: Vlan,
        /// Kind of sentence: 0 `GPRMC`, 1 `GPGGA`.
        sentence: u8,
        /// 1 if noise is filtered, otherwise 0.
        noise_filter: u8,
        /// Code of the mapping from reflectivity to a byte.
        reflectivity_mapping: u8,
        /// Zero.
        reserved: [u8; 6],
    }

    /// Destination of packets.
    Destination: Be 8 {
        /// IP address.
        ip: [u8; 4],
        /// Port of data packets.
        data_port: u16,
        /// Port of GPS packets.
        gps_port: u16,
    }

    /// Phase lock: the rotor has a given angle when a second begins.
    SyncAngle: Be 3 {
        /// 1 if enabled, otherwise 0.
        is_on: u8,
        /// The angle: degrees in a request, hundredths of a degree in an answer.
        angle: u16,
    }

    /// Settings of VLAN tags.
    Vlan: Be 3 {
        /// 1 if frames are tagged, otherwise 0.
        is_on: u8,
        /// Number of the VLAN.
        id: u16,
    }

    /// Network settings of the unit.
    OwnNetwork: Be 15 {
        /// IP address.
        ip: [u8; 4],
        /// Network mask.
        mask: [u8; 4],
        /// Gateway.
        gateway: [u8; 4],
        /// Settings of VLAN tags.
        vlan: Vlan,
    }

    /// Answer to [`command::STATUS`].
    Status: Be 54 {
        /// Time since power-on, seconds.
        uptime_s: u32,
        /// Speed of the motor, rpm.
        rpm: u16,
        /// Temperatures of the boards, hundredths of a degree Celsius.
        temperatures: [i32; 8],
        /// 1 while the clock is locked to the PPS, otherwise 0.
        pps_locked: u8,
        /// 1 while valid NMEA sentences arrive, otherwise 0.
        nmea_locked: u8,
        /// Number of starts.
        starts: i32,
        /// Operating time, minutes.
        operation_min: i32,
        /// State of PTP: 0 free, 1 tracking, 2 locked, 3 frozen.
        ptp: u8,
        /// Zero.
        reserved: [u8; 5],
    }

    /// Answer to [`command::MONITOR`].
    Monitor: Be 64 {
        /// Current, hundredths of a milliampere.
        current: i32,
        /// Voltage, hundredths of a volt.
        voltage: i32,
        /// Power, hundredths of a watt.
        power: i32,
        /// Deviation of the rotor from the angle of the phase lock, hundredths of a degree.
        phase_offset: i32,
        /// Zero.
        reserved: [u8; 48],
    }

    /// Sector in which lasers fire.
    LidarRange: Be 5 {
        /// Method; 0: one sector for all lasers.
        method: u8,
        /// Start of the sector, tenths of a degree.
        start_decideg: u16,
        /// End of the sector, tenths of a degree.
        stop_decideg: u16,
    }

    /// Settings of PTP.
    PtpConfiguration: Be 6 {
        /// PTP profile: 0 IEEE 1588 version 2, 1 IEEE 802.1AS, 2 automotive profile of IEEE 802.1AS.
        profile: u8,
        /// PTP domain.
        domain: u8,
        /// Transport: 0 UDP, 1 Ethernet.
        network: u8,
        /// Binary logarithm of the interval of Announce messages, seconds.
        log_announce_interval: i8,
        /// Binary logarithm of the interval of Sync messages, seconds.
        log_sync_interval: i8,
        /// Binary logarithm of the interval of delay requests, seconds.
        log_min_delay_interval: i8,
    }

    /// Answer to [`PtpQuery::Status`].
    PtpStatus: Be 16 {
        /// Offset from the master's clock, nanoseconds.
        master_offset_ns: i64,
        /// State of PTP, coded as [`Status::ptp`].
        state: i32,
        /// Time since the last Sync, milliseconds.
        elapsed_ms: i32,
    }

    /// Answer to [`PtpQuery::Grandmaster`], as linuxptp's `GRANDMASTER_SETTINGS_NP`.
    PtpGrandmaster: Be 8 {
        /// Class (8 bits), accuracy (8 bits) and variance (16 bits), the class in the most significant bits.
        clock_quality: i32,
        /// TAI minus UTC, seconds.
        utc_offset_s: i16,
        /// Lower byte of the flag field in PTP messages, bits of [`crate::ptp::flag`].
        time_flags: u8,
        /// Code of the time source as in IEEE 1588, for example 0x20 for a GNSS receiver.
        time_source: u8,
    }
}

/// Query of [`command::PTP_DIAGNOSTICS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtpQuery {
    /// Requests a [`PtpStatus`].
    Status,
    /// Requests a [`PortDataSet`](crate::ptp::management::PortDataSet).
    Port,
    /// Requests a [`TimeStatus`](crate::ptp::management::TimeStatus).
    Time,
    /// Requests a [`PtpGrandmaster`].
    Grandmaster,
}

impl PtpQuery {
    /// Query that a request's byte selects; `None` for an unknown byte.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Status),
            2 => Some(Self::Port),
            3 => Some(Self::Time),
            4 => Some(Self::Grandmaster),
            _ => None,
        }
    }
}

/// Return modes of a lidar with packets of `format`, by their number in commands; `None` for a number without a mode.
fn modes(format: HesaiFormat) -> [Option<ReturnMode>; 6] {
    use ReturnMode::{First, FirstStrongest, Last, LastFirst, LastStrongest, Strongest};
    match format {
        // Two returns of a PandarQT64 are the last and the first.
        HesaiFormat::Qt64 => [Some(Last), None, Some(LastFirst), Some(First), None, None],
        _ => [Last, Strongest, LastStrongest, First, LastFirst, FirstStrongest].map(Some),
    }
}

/// Return mode with this number in commands to a lidar with packets of `format`; `None` for a number without a mode.
pub fn mode_of(format: HesaiFormat, number: u8) -> Option<ReturnMode> {
    modes(format).get(usize::from(number)).copied().flatten()
}

/// Number of a return mode in commands to a lidar with packets of `format`; 255 for modes without a number.
pub fn mode_number(format: HesaiFormat, mode: ReturnMode) -> u8 {
    let number = modes(format).iter().position(|known| *known == Some(mode));
    number.map_or(u8::MAX, |number| number as u8)
}

/// A text in a field of fixed length, padded with zeros; longer text is truncated.
pub fn text<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [0; N];
    let len = text.len().min(N);
    field[..len].copy_from_slice(&text.as_bytes()[..len]);
    field
}

/// A request or an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtcFrame {
    /// Command, see [`command`].
    pub command: u8,
    /// Result code, see [`code`]; 0 in requests.
    pub code: u8,
    /// The payload, at most [`MAX_PAYLOAD`] bytes.
    pub payload: Vec<u8>,
}

impl PtcFrame {
    /// Bytes of the frame.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { command, code, payload } = self;
        let payload_len = payload.len() as u32;
        let head = FrameHead { flag: FLAG, command: *command, code: *code, payload_len };
        let mut bytes = head.to_bytes();
        bytes.extend_from_slice(payload);
        bytes
    }
}

/// Finds [`PtcFrame`]s in a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ptc;

impl Framing for Ptc {
    type Frame = PtcFrame;

    fn max_len(&self) -> usize {
        HEAD_LEN + MAX_PAYLOAD
    }

    fn begins(&self, byte: u8) -> bool {
        byte == FLAG[0]
    }

    fn scan(&self, bytes: &[u8]) -> Result<(PtcFrame, usize), NoFrame> {
        require(bytes.get(1).is_none_or(|second| *second == FLAG[1]))?;
        let FrameHead { command, code, payload_len, .. } =
            FrameHead::parse(&head::<HEAD_LEN>(bytes)?)?;
        require(payload_len as usize <= MAX_PAYLOAD)?;
        let len = HEAD_LEN + payload_len as usize;
        let payload = whole(bytes, len)?[HEAD_LEN..].to_vec();
        Ok((PtcFrame { command, code, payload }, len))
    }
}
