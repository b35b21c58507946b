//! Conversion of one-byte motor commands to fractions of full duty.

/// Converts a byte from 0 to 127 to a fraction of full duty, 0 to 1; larger bytes give 1.
pub fn seven_bits(value: u8) -> f64 {
    f64::from(value.min(127)) / 127.0
}

/// Converts a byte to a fraction of full duty: 1 is full reverse (-1), 64 is stop (0), 127 is full forward (1). The
/// result is limited to this range.
pub fn around_64(value: u8) -> f64 {
    ((f64::from(value) - 64.0) / 63.0).clamp(-1.0, 1.0)
}

/// Mixed commands; they take effect when both a drive and a turn command have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mixer {
    /// Fraction of full duty, forward positive.
    pub drive: Option<f64>,
    /// Fraction of full duty, right positive.
    pub turn: Option<f64>,
}

impl Mixer {
    /// Fractions for motor 1 (left) and motor 2; `None` until both commands have arrived.
    pub fn motors(&self) -> Option<[f64; 2]> {
        let (drive, turn) = (self.drive?, self.turn?);
        Some([drive + turn, drive - turn].map(|share| share.clamp(-1.0, 1.0)))
    }
}
