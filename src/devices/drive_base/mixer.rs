//! Shares of full duty: what motor drivers are told in one byte.

/// A value of 0 to 127 as a share of full duty.
pub fn seven_bits(value: u8) -> f64 {
    f64::from(value.min(127)) / 127.0
}

/// A value of 0 to 127 with 64 as stop, as a share of full duty.
pub fn around_64(value: u8) -> f64 {
    ((f64::from(value) - 64.0) / 63.0).clamp(-1.0, 1.0)
}

/// Mixed commands, which act once both a drive and a turn have come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mixer {
    /// Share of full duty, forward positive.
    pub drive: Option<f64>,
    /// Share of full duty, right positive.
    pub turn: Option<f64>,
}

impl Mixer {
    /// The shares of motor 1 and motor 2, of which motor 1 is the left one; `None` as long as one of
    /// both commands lacks.
    pub fn motors(&self) -> Option<[f64; 2]> {
        let (drive, turn) = (self.drive?, self.turn?);
        Some([drive + turn, drive - turn].map(|share| share.clamp(-1.0, 1.0)))
    }
}
