//! Settings of a 3DM's streams and low-pass filters that a host can save.

/// Low-pass filter of one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowPass {
    /// Whether the quantity is filtered.
    pub is_on: bool,
    /// Whether the host sets the corner frequency; else it is half the output rate.
    pub is_manual: bool,
    /// Corner frequency set by the host (-3 dB), Hz.
    pub corner_hz: f32,
}

impl LowPass {
    /// Factory setting of each filter.
    pub const FACTORY: Self = Self { is_on: true, is_manual: false, corner_hz: 0.0 };

    /// Whether the filter is on and its corner frequency follows from the output rate.
    pub fn is_automatic(&self) -> bool {
        self.is_on && !self.is_manual
    }
}

/// Format of a stream: field descriptors, each with its decimation.
pub type Format = Vec<(u8, u16)>;

/// Settings that a host can save, in addition to those of [`super::settings`].
#[derive(Clone, Debug, PartialEq)]
pub struct MipSettings {
    /// Formats of the sensor stream and the filter stream.
    pub formats: [Format; 2],
    /// Whether the sensor stream and the filter stream are enabled.
    pub is_on: [bool; 2],
    /// Baud rate, bits per second.
    pub baud_rate: u32,
    /// Low-pass filters in the order of [`super::low_pass::QUANTITIES`].
    pub low_pass: [LowPass; 4],
}
