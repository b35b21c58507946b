//! Navigation messages: orbits and clocks of satellites, as receivers output them.

pub mod d1;
pub mod glonass;
pub mod inav;
pub mod lnav;

/// A sequence of bits of any length, most significant bit first.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    bits: Vec<bool>,
}

impl Bits {
    /// Appends the low `count` bits of a number, in two's complement.
    #[must_use]
    pub fn put(mut self, value: i64, count: usize) -> Self {
        self.bits.extend((0..count).rev().map(|bit| value >> bit.min(63) & 1 == 1));
        self
    }

    /// Appends ones and zeros alternately, starting with a one, until the sequence has `length` bits.
    #[must_use]
    pub fn fill(mut self, length: usize) -> Self {
        let missing = length.saturating_sub(self.bits.len());
        self.bits.extend((0..missing).map(|bit| bit % 2 == 0));
        self
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.bits.len()
    }

    /// Appends all bits of `other`.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.bits.extend(other.bits);
        self
    }

    /// Appends `count` bits of `other`, starting with bit `from`.
    #[must_use]
    pub fn put_bits(mut self, other: &Self, from: usize, count: usize) -> Self {
        self.bits.extend_from_slice(&other.bits[from..from + count]);
        self
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// The `count` bits starting with bit `from`, as a number; missing bits are zero.
    pub fn get(&self, from: usize, count: usize) -> u32 {
        let bit = |at: usize| u32::from(self.bits.get(at).copied().unwrap_or(false));
        (from..from + count).fold(0, |number, at| number << 1 | bit(at))
    }

    /// The bits as bytes; the last byte is padded with zeros.
    pub fn bytes(&self) -> Vec<u8> {
        (0..self.len().div_ceil(8)).map(|at| self.get(at * 8, 8) as u8).collect()
    }
}

/// Converts `value` to steps of 2^`exponent`, rounded to an integer.
pub fn steps(value: f64, exponent: i32) -> i64 {
    (value * libm::exp2(f64::from(-exponent))).round() as i64
}

/// Orbit and clock of a satellite, as parameters that GPS, Galileo and BeiDou share; angles in radians.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Keplerian {
    /// Issue of data: a number that changes with the content of the message.
    pub issue: u16,
    /// Reference time of orbit and clock, seconds of the week.
    pub toe_s: u32,
    /// Square root of the semi-major axis, m^1/2.
    pub sqrt_a: f64,
    /// Eccentricity.
    pub eccentricity: f64,
    /// Mean anomaly at the reference time.
    pub mean_anomaly_rad: f64,
    /// Correction of the mean motion, rad/s.
    pub mean_motion_rad_s: f64,
    /// Longitude of the ascending node at the beginning of the week.
    pub node_rad: f64,
    /// Rate of the ascending node, rad/s.
    pub node_rate_rad_s: f64,
    /// Inclination of the orbit.
    pub inclination_rad: f64,
    /// Argument of perigee.
    pub perigee_rad: f64,
    /// Offset of the satellite's clock from its constellation's system time, at the reference time, seconds; positive:
    /// the clock is ahead.
    pub clock_s: f64,
    /// Drift of the clock, s/s.
    pub drift: f64,
}

/// An angle in half circles (pi radians), reduced to -1..=1.
fn half_circles(angle_rad: f64) -> f64 {
    let turns = angle_rad / std::f64::consts::TAU;
    (turns - turns.round()) * 2.0
}

/// A rate in half circles per second.
fn half_circles_a_second(rate_rad_s: f64) -> f64 {
    rate_rad_s / std::f64::consts::PI
}
