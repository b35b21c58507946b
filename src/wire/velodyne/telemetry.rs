//! Telemetry in position packets of newer firmware: temperatures, and the calibration of the analogue-to-digital
//! converters (ADC).
//!
//! Source: VLP-32C manual, table 9-3; velodyne-decoder reads the same fields.

/// Length of the telemetry area, bytes.
pub const TELEMETRY_LEN: usize = 160;

/// Byte ranges in the area, which begins at byte 38 of the packet.
mod at {
    pub const TOP: usize = 149;
    pub const BOTTOM: usize = 150;
    pub const CALIBRATED: usize = 151;
    pub const CHANGE: std::ops::Range<usize> = 152..154;
    pub const SINCE: std::ops::Range<usize> = 154..158;
    pub const REASON: usize = 158;
    pub const FLAGS: usize = 159;
}

/// Reason for the last ADC calibration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdcCalibration {
    /// No calibration yet.
    #[default]
    None,
    /// Calibration at power-on.
    PowerOn,
    /// Manual calibration.
    Manual,
    /// Calibration because of a change of temperature.
    Temperature,
    /// Periodic calibration.
    Periodic,
}

impl AdcCalibration {
    const ALL: [Self; 5] =
        [Self::None, Self::PowerOn, Self::Manual, Self::Temperature, Self::Periodic];

    /// Name of the reason.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::PowerOn => "power-on",
            Self::Manual => "manual",
            Self::Temperature => "temperature",
            Self::Periodic => "periodic",
        }
    }
}

/// Fields of the telemetry area; all other bytes of the area are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Temperature of the top board, degrees C.
    pub top_board_c: u8,
    /// Temperature of the bottom board, degrees C.
    pub bottom_board_c: u8,
    /// Temperature at the last calibration, degrees C.
    pub calibrated_at_c: u8,
    /// Temperature change since the calibration, degrees C.
    pub change_since_calibration_c: i16,
    /// Time since the calibration, seconds.
    pub since_calibration_s: u32,
    /// Reason for the last calibration.
    pub calibration: AdcCalibration,
    /// State of the calibration: bit 0 in progress, bit 1 requested because of the temperature, bit 2 requested
    /// because of the time.
    pub flags: u8,
}

impl Telemetry {
    /// Bytes of the telemetry area.
    pub fn emit(&self) -> [u8; TELEMETRY_LEN] {
        let mut area = [0; TELEMETRY_LEN];
        area[at::TOP] = self.top_board_c;
        area[at::BOTTOM] = self.bottom_board_c;
        area[at::CALIBRATED] = self.calibrated_at_c;
        area[at::CHANGE].copy_from_slice(&self.change_since_calibration_c.to_le_bytes());
        area[at::SINCE].copy_from_slice(&self.since_calibration_s.to_le_bytes());
        area[at::REASON] = self.calibration as u8;
        area[at::FLAGS] = self.flags;
        area
    }

    /// Parses the telemetry area. `None` if all bytes are zero, as in older firmware, or if the reason of the
    /// calibration is unknown.
    pub fn parse(area: &[u8; TELEMETRY_LEN]) -> Option<Self> {
        if area.iter().all(|byte| *byte == 0) {
            return None;
        }
        let [low, high] = [area[at::CHANGE.start], area[at::CHANGE.start + 1]];
        let since = &area[at::SINCE];
        Some(Self {
            top_board_c: area[at::TOP],
            bottom_board_c: area[at::BOTTOM],
            calibrated_at_c: area[at::CALIBRATED],
            change_since_calibration_c: i16::from_le_bytes([low, high]),
            since_calibration_s: u32::from_le_bytes([since[0], since[1], since[2], since[3]]),
            calibration: *AdcCalibration::ALL.get(usize::from(area[at::REASON]))?,
            flags: area[at::FLAGS],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_where_the_manual_says() {
        let telemetry = Telemetry {
            top_board_c: 52,
            bottom_board_c: 47,
            calibrated_at_c: 25,
            change_since_calibration_c: -2,
            since_calibration_s: 0x0102_0304,
            calibration: AdcCalibration::Temperature,
            flags: 0b100,
        };
        let area = telemetry.emit();
        // Bytes 187..=197 of the packet.
        assert_eq!(area[149..], [52, 47, 25, 0xfe, 0xff, 4, 3, 2, 1, 3, 4]);
        assert_eq!(area[..149], [0; 149]);
        assert_eq!(Telemetry::parse(&area), Some(telemetry));
        assert_eq!(Telemetry::parse(&[0; TELEMETRY_LEN]), None);
        let unknown = [9; TELEMETRY_LEN];
        assert_eq!(Telemetry::parse(&unknown), None);
    }
}
