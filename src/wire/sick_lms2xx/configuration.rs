//! The configuration block of commands 0x74 and 0x77.

/// Length of the block, bytes.
pub const CONFIGURATION_LEN: usize = 34;
/// Length of the block in old LMS200 firmware without block A4, bytes.
pub const OLD_CONFIGURATION_LEN: usize = 32;

mod field {
    pub const BLANKING: usize = 0;
    pub const SENSITIVITY: usize = 3;
    pub const AVAILABILITY: usize = 4;
    pub const MEASURING_MODE: usize = 5;
    pub const UNIT: usize = 6;
    pub const MULTIPLE_EVALUATION: usize = 9;
    pub const RESTART_MODE: usize = 10;
    pub const DAZZLE_EVALUATION: usize = 32;
}

/// The scanner's stored settings, in blocks that SICK calls A to Z and A1 to A4. Most blocks configure monitored fields
/// and contours; these blocks are stored, but have no effect here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    bytes: [u8; CONFIGURATION_LEN],
}

impl Default for Configuration {
    /// Factory configuration: unit centimetre, measuring mode 0.
    fn default() -> Self {
        let mut bytes = [0; CONFIGURATION_LEN];
        bytes[field::MULTIPLE_EVALUATION] = 2;
        bytes[field::RESTART_MODE] = 2;
        bytes[field::DAZZLE_EVALUATION] = 2;
        Self { bytes }
    }
}

impl Configuration {
    /// Configuration block with these bytes.
    pub fn from_bytes(bytes: [u8; CONFIGURATION_LEN]) -> Self {
        Self { bytes }
    }

    /// Bytes of the block.
    pub fn bytes(&self) -> &[u8; CONFIGURATION_LEN] {
        &self.bytes
    }

    /// The configuration block with its first bytes replaced by `prefix`; bytes of `prefix` beyond the block's end are
    /// ignored.
    #[must_use]
    pub fn overlaid(mut self, prefix: &[u8]) -> Self {
        let count = prefix.len().min(CONFIGURATION_LEN);
        self.bytes[..count].copy_from_slice(&prefix[..count]);
        self
    }

    /// Block A: echoes below this distance are ignored, centimetres.
    pub fn blanking_cm(&self) -> u16 {
        u16::from_le_bytes([self.bytes[field::BLANKING], self.bytes[field::BLANKING + 1]])
    }

    /// Block B, second byte. LMS211, 221, 291: sensitivity (0 standard, 1 medium, 2 low, 3 high). LMS200, 220: peak
    /// threshold.
    pub fn sensitivity(&self) -> u8 {
        self.bytes[field::SENSITIVITY]
    }

    /// Block C: bit 0 highest availability, bit 1 real-time indices, bit 2 dazzling does not switch the outputs.
    pub fn availability(&self) -> u8 {
        self.bytes[field::AVAILABILITY]
    }

    /// Whether scans have real-time indices.
    pub fn sends_indices(&self) -> bool {
        self.availability() & 0x02 != 0
    }

    /// Block D: measuring mode, see [`MeasuringMode`](super::data::MeasuringMode).
    pub fn measuring_mode(&self) -> u8 {
        self.bytes[field::MEASURING_MODE]
    }

    /// Block E: unit: 0 centimetres, 1 millimetres, 2 decimetres.
    pub fn unit(&self) -> u8 {
        self.bytes[field::UNIT]
    }

    /// The block with another sensitivity.
    #[must_use]
    pub fn with_sensitivity(mut self, sensitivity: u8) -> Self {
        self.bytes[field::SENSITIVITY] = sensitivity;
        self
    }

    /// The block with other availability bits.
    #[must_use]
    pub fn with_availability(mut self, bits: u8) -> Self {
        self.bytes[field::AVAILABILITY] = bits;
        self
    }

    /// The block with another measuring mode and unit.
    #[must_use]
    pub fn with_measuring(mut self, mode: u8, unit: u8) -> Self {
        self.bytes[field::MEASURING_MODE] = mode;
        self.bytes[field::UNIT] = unit;
        self
    }

    /// Block I: code of the restart mode.
    pub fn restart_mode(&self) -> u8 {
        self.bytes[field::RESTART_MODE]
    }
}
