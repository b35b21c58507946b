//! Velodyne's position packet of 512 bytes: sentence and PPS state of a GNSS receiver, temperatures and, for an
//! HDL-32E, IMU values. Its UDP port differs from that of the data packet ([`super::DataPacket`]).
//!
//! All numbers are little-endian. Parsing keeps all received values.
//!
//! Sources: HDL-32E, VLP-16 and VLP-32C user manuals; captures of real devices.

use super::data::{exactly, u16_le, u32_le};
use crate::ParseError;

/// Length of a position packet, bytes.
pub const POSITION_PACKET_LEN: usize = 512;

/// Byte ranges of the fields.
mod at {
    use std::ops::Range;
    pub const LEAD: Range<usize> = 0..14;
    pub const IMU: Range<usize> = 14..38;
    pub const TELEMETRY: Range<usize> = 38..198;
    pub const TIMESTAMP: Range<usize> = 198..202;
    pub const PPS: usize = 202;
    pub const THERMAL_STATUS: usize = 203;
    pub const SHUTDOWN_TEMPERATURE: usize = 204;
    pub const POWER_UP_TEMPERATURE: usize = 205;
    pub const NMEA: Range<usize> = 206..512;
}

/// Words of one of the three IMUs of an HDL-32E; other models send zeros.
///
/// The low twelve bits of each word are a value in two's complement. The high four bits are the word's index: 0, 1,
/// 2, 3 in the order of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImuWords {
    /// Angular rate, in units of 0.09766 deg/s.
    pub gyro: u16,
    /// Temperature above 25 degrees C, in units of 0.1453 K.
    pub temperature: u16,
    /// Acceleration along the lidar's x axis, in units of 0.001221 g.
    pub acceleration_x: u16,
    /// Acceleration along the lidar's y axis, in units of 0.001221 g.
    pub acceleration_y: u16,
}

impl ImuWords {
    /// Value of a word: its low twelve bits in two's complement, -2048..=2047.
    pub const fn value(word: u16) -> i16 {
        ((word << 4) as i16) >> 4
    }
}

/// State of the PPS input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PpsStatus {
    /// There are no pulses.
    Absent,
    /// The clock is locking to the PPS.
    Synchronizing,
    /// The clock is locked to the PPS.
    Locked,
    /// Pulses are irregular.
    Error,
}

impl PpsStatus {
    /// The state as the byte in a position packet.
    pub const fn byte(self) -> u8 {
        match self {
            PpsStatus::Absent => 0,
            PpsStatus::Synchronizing => 1,
            PpsStatus::Locked => 2,
            PpsStatus::Error => 3,
        }
    }

    /// The state for a byte in a position packet; `None` for an unknown value.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(PpsStatus::Absent),
            1 => Some(PpsStatus::Synchronizing),
            2 => Some(PpsStatus::Locked),
            3 => Some(PpsStatus::Error),
            _ => None,
        }
    }

    /// Name of the state in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            PpsStatus::Absent => "absent",
            PpsStatus::Synchronizing => "synchronizing",
            PpsStatus::Locked => "locked",
            PpsStatus::Error => "error",
        }
    }
}

/// Payload of datagrams to UDP port 8308.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionPacket {
    /// Zero in all models.
    pub lead: [u8; 14],
    /// The three IMUs (HDL-32E only).
    pub imu: [ImuWords; 3],
    /// Temperatures and ADC calibration in newer firmware, zero in older firmware.
    pub telemetry: [u8; 160],
    /// Time in microseconds after the UTC hour.
    pub timestamp_us: u32,
    /// State of the PPS input, see [`PositionPacket::pps_status`].
    pub pps: u8,
    /// Thermal state: 0 normal, 1 thermal shutdown; only in newer firmware.
    pub thermal_status: u8,
    /// Temperature at the last shutdown, degrees C; only in newer firmware.
    pub shutdown_temperature: u8,
    /// Temperature at power-on, degrees C; only in newer firmware.
    pub power_up_temperature: u8,
    /// Last received NMEA sentence with CR LF, followed by zeros, see [`PositionPacket::nmea`].
    pub nmea_area: [u8; 306],
}

impl Default for PositionPacket {
    fn default() -> Self {
        Self {
            lead: [0; 14],
            imu: Default::default(),
            telemetry: [0; 160],
            timestamp_us: 0,
            pps: 0,
            thermal_status: 0,
            shutdown_temperature: 0,
            power_up_temperature: 0,
            nmea_area: [0; 306],
        }
    }
}

impl PositionPacket {
    /// Meaning of [`PositionPacket::pps`]; `None` for an unknown value.
    pub const fn pps_status(&self) -> Option<PpsStatus> {
        PpsStatus::from_byte(self.pps)
    }

    /// The NMEA sentence without its line end; `None` if it is empty or not ASCII.
    pub fn nmea(&self) -> Option<&str> {
        let text = self.nmea_area.split(|byte| *byte == 0).next()?;
        let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
        let text = text.trim_end_matches(['\r', '\n']);
        (!text.is_empty()).then_some(text)
    }

    /// Writes `sentence`, which must include CR LF, to the NMEA area, and fills the rest of the area with zeros.
    ///
    /// # Errors
    /// The sentence does not fit.
    pub fn set_nmea(&mut self, sentence: &str) -> Result<(), ParseError> {
        let (need, got) = (self.nmea_area.len(), sentence.len());
        if got > need {
            return Err(ParseError::Length { what: "NMEA sentence", need, got });
        }
        self.nmea_area[..got].copy_from_slice(sentence.as_bytes());
        self.nmea_area[got..].fill(0);
        Ok(())
    }

    /// Writes the packet to `out`.
    pub fn emit(&self, out: &mut [u8; POSITION_PACKET_LEN]) {
        out[at::LEAD].copy_from_slice(&self.lead);
        for (imu, out) in self.imu.iter().zip(out[at::IMU].chunks_exact_mut(8)) {
            let words = [imu.gyro, imu.temperature, imu.acceleration_x, imu.acceleration_y];
            for (word, out) in words.iter().zip(out.chunks_exact_mut(2)) {
                out.copy_from_slice(&word.to_le_bytes());
            }
        }
        out[at::TELEMETRY].copy_from_slice(&self.telemetry);
        out[at::TIMESTAMP].copy_from_slice(&self.timestamp_us.to_le_bytes());
        out[at::PPS] = self.pps;
        out[at::THERMAL_STATUS] = self.thermal_status;
        out[at::SHUTDOWN_TEMPERATURE] = self.shutdown_temperature;
        out[at::POWER_UP_TEMPERATURE] = self.power_up_temperature;
        out[at::NMEA].copy_from_slice(&self.nmea_area);
    }

    /// Parses a packet; any 512 bytes are accepted.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let bytes: &[u8; POSITION_PACKET_LEN] = exactly(bytes, "position packet")?;
        let mut packet = Self {
            timestamp_us: u32_le(&bytes[at::TIMESTAMP]),
            pps: bytes[at::PPS],
            thermal_status: bytes[at::THERMAL_STATUS],
            shutdown_temperature: bytes[at::SHUTDOWN_TEMPERATURE],
            power_up_temperature: bytes[at::POWER_UP_TEMPERATURE],
            ..Self::default()
        };
        packet.lead.copy_from_slice(&bytes[at::LEAD]);
        for (imu, bytes) in packet.imu.iter_mut().zip(bytes[at::IMU].chunks_exact(8)) {
            *imu = ImuWords {
                gyro: u16_le(&bytes[0..2]),
                temperature: u16_le(&bytes[2..4]),
                acceleration_x: u16_le(&bytes[4..6]),
                acceleration_y: u16_le(&bytes[6..8]),
            };
        }
        packet.telemetry.copy_from_slice(&bytes[at::TELEMETRY]);
        packet.nmea_area.copy_from_slice(&bytes[at::NMEA]);
        Ok(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::DATA_PACKET_LEN;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_position_packet_survives(
            bytes in prop::collection::vec(any::<u8>(), POSITION_PACKET_LEN),
        ) {
            let packet = PositionPacket::parse(&bytes).unwrap();
            packet.nmea();
            let mut again = [0xa5; POSITION_PACKET_LEN];
            packet.emit(&mut again);
            prop_assert_eq!(again.as_slice(), bytes.as_slice());
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        let bytes = [0; DATA_PACKET_LEN];
        for len in (0..DATA_PACKET_LEN).filter(|len| *len != POSITION_PACKET_LEN) {
            assert!(PositionPacket::parse(&bytes[..len]).is_err());
        }
    }

    #[test]
    fn states_of_the_pulse_have_the_bytes_of_the_manual() {
        let states: Vec<_> = (0..=255).map_while(PpsStatus::from_byte).collect();
        use PpsStatus::{Absent, Error, Locked, Synchronizing};
        assert_eq!(states, [Absent, Synchronizing, Locked, Error]);
        assert!(states.iter().zip(0..).all(|(state, byte)| state.byte() == byte));
    }

    #[test]
    fn imu_words_are_twelve_bit() {
        assert_eq!(ImuWords::value(0x0fb4), -0x4c);
        assert_eq!(ImuWords::value(0x1052), 0x52);
        assert_eq!(ImuWords::value(0x3f21), -0xdf);
    }

    #[test]
    fn a_sentence_that_does_not_fit_is_refused() {
        let mut packet = PositionPacket::default();
        assert!(packet.set_nmea(&"x".repeat(307)).is_err());
        packet.set_nmea(&"x".repeat(306)).unwrap();
        assert_eq!(packet.nmea().map(str::len), Some(306));
        packet.set_nmea("$GPRMC\r\n").unwrap();
        assert_eq!(packet.nmea(), Some("$GPRMC"));
    }
}
