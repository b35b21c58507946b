//! Shares of full duty: commands of one byte to motor drivers.

/// A value of 0 to 127 as a share of full duty.
pub fn seven_bits(value: u8) -> f64 {
    f64::from(value.min(127)) / 127.0
}

/// A value of 0 to 127 with 64 as stop, as a share of full duty.
pub fn around_64(value: u8) -> f64 {
    ((f64::from(value) - 64.0) / 63.0).clamp(-1.0, 1.0)
}

/// Mixed commands, which take effect once both a drive and a turn have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mixer {
    /// Share of full duty, forward positive.
    pub drive: Option<f64>,
    /// Share of full duty, right positive.
    pub turn: Option<f64>,
}

impl Mixer {
    /// Shares of motor 1 (left) and motor 2; `None` until both commands have arrived.
    pub fn motors(&self) -> Option<[f64; 2]> {
        let (drive, turn) = (self.drive?, self.turn?);
        Some([drive + turn, drive - turn].map(|share| share.clamp(-1.0, 1.0)))
    }
}
