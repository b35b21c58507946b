//! A channel of a Kangaroo: commands and state.

use super::text::Order;

/// Error codes; an answer contains the code instead of the requested number.
pub mod error {
    pub const NOT_STARTED: u8 = 1;
    pub const NOT_HOMED: u8 = 2;
    pub const CONTROL: u8 = 3;
    pub const WRONG_MODE: u8 = 4;
    pub const UNKNOWN: u8 = 5;
    pub const SERIAL_TIMEOUT: u8 = 6;
}

/// Speed error above which a channel is busy, as a fraction of the maximum speed; an assumption.
const BUSY_SHARE: f64 = 0.02;
/// A target position is reached if the encoder is at most this far from it, counts; an assumption.
const REACHED_COUNTS: f64 = 2.0;

/// Target of a channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// No target; the motor is stopped.
    Rest,
    /// A speed, counts/s.
    Speed(f64),
    /// A position, counts of the encoder.
    Position {
        /// Target position.
        counts: f64,
        /// Largest speed of the move; `None`: the maximum speed.
        limit_counts_s: Option<f64>,
    },
}

/// A channel of a Kangaroo.
#[derive(Clone, Debug)]
pub struct Channel {
    is_started: bool,
    pub is_homed: bool,
    error: Option<u8>,
    pub goal: Goal,
    pub counts_per_unit: f64,
    /// The encoder's counts at position 0.
    pub zero: f64,
}

impl Channel {
    /// A channel that is not started.
    pub fn new(counts_per_unit: f64) -> Self {
        let goal = Goal::Rest;
        Self { is_started: false, is_homed: false, error: None, goal, counts_per_unit, zero: 0.0 }
    }

    /// Enables the channel and clears errors.
    pub fn start(&mut self) {
        if !self.is_ready() {
            self.goal = Goal::Rest;
        }
        self.is_started = true;
        self.error = None;
    }

    /// Makes the encoder's present position (counts) the channel's position 0; ignored if the channel is not ready.
    pub fn home(&mut self, position: f64) {
        if self.is_ready() {
            self.zero = position;
            self.is_homed = true;
            self.goal = Goal::Rest;
        }
    }

    /// Disables the channel.
    pub fn power_down(&mut self) {
        self.is_started = false;
        self.is_homed = false;
        self.goal = Goal::Rest;
    }

    /// Stops the channel with an error until the next start.
    pub fn fail(&mut self, error: u8) {
        self.error = Some(error);
        self.goal = Goal::Rest;
    }

    /// Sets the error of a serial timeout. With `stops`, the motor stops too.
    pub fn time_out(&mut self, stops: bool) {
        self.error = Some(error::SERIAL_TIMEOUT);
        if stops {
            self.goal = Goal::Rest;
        }
    }

    /// Sets the scale: `desired` units correspond to `machine` encoder lines. Ignored if the channel is not started.
    pub fn set_units(&mut self, desired: f64, machine: f64) {
        let counts = machine.abs() * super::COUNTS_PER_LINE / desired.abs();
        if self.is_started && counts.is_finite() && counts > 0.0 {
            self.counts_per_unit = counts;
        }
    }

    /// Whether the channel accepts moves.
    pub fn is_ready(&self) -> bool {
        self.is_started && self.error.is_none()
    }

    /// Error code that answers contain instead of the requested number; `None` if the channel is started and has no error.
    pub fn error(&self) -> Option<u8> {
        self.error.or((!self.is_started).then_some(error::NOT_STARTED))
    }

    /// Sets the target from a move command, whose values are in counts. `position` (counts) and `speed` (counts/s) are the
    /// encoder's present values.
    pub fn take(&mut self, order: &Order, position: f64, speed: f64) {
        if let Some((counts, is_increment)) = order.position {
            let base = match self.goal {
                Goal::Position { counts, .. } if is_increment => counts,
                _ if is_increment => position,
                _ => self.zero,
            };
            let limit_counts_s = order.speed.map(|(limit, _)| limit.abs());
            self.goal = Goal::Position { counts: base + counts, limit_counts_s };
        } else if let Some((wanted, is_increment)) = order.speed {
            let base = match self.goal {
                Goal::Speed(set) if is_increment => set,
                Goal::Position { .. } if is_increment => speed,
                _ => 0.0,
            };
            self.goal = Goal::Speed(base + wanted);
        }
    }

    /// Speed that the target requires at the encoder position `position`, counts/s. During a move to a position, it is
    /// `gain_hz` times the remaining distance, limited to the speed of the move and to `most`.
    pub fn wanted_speed(&self, position: f64, gain_hz: f64, most: f64) -> f64 {
        match self.goal {
            Goal::Rest => 0.0,
            Goal::Speed(counts_s) => counts_s,
            Goal::Position { counts, limit_counts_s } => {
                let most = limit_counts_s.map_or(most, |limit| limit.min(most));
                let left = counts - position;
                if left.abs() <= REACHED_COUNTS { 0.0 } else { (gain_hz * left).clamp(-most, most) }
            }
        }
    }

    /// Whether the target is a position, which the channel approaches or holds.
    pub fn goes_to_position(&self) -> bool {
        matches!(self.goal, Goal::Position { .. })
    }

    /// Set points of the position (counts from position 0) and of the speed (counts/s). `position` is the present position
    /// in the same unit.
    pub fn set_points(&self, position: f64, gain_hz: f64) -> [f64; 2] {
        let speed = self.wanted_speed(position + self.zero, gain_hz, f64::INFINITY);
        match self.goal {
            Goal::Position { counts, .. } => [counts - self.zero, speed],
            Goal::Rest | Goal::Speed(_) => [position, speed],
        }
    }

    /// Whether the channel has not reached its target yet. `position` (counts) and `speed` (counts/s) are the encoder's
    /// present values, `most` is the maximum speed.
    pub fn is_busy(&self, position: f64, speed: f64, most: f64) -> bool {
        match self.goal {
            Goal::Rest => speed.abs() > BUSY_SHARE * most,
            Goal::Speed(set) => (speed - set.clamp(-most, most)).abs() > BUSY_SHARE * most,
            Goal::Position { counts, .. } => (counts - position).abs() > REACHED_COUNTS,
        }
    }
}
