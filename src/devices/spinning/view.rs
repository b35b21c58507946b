//! Sector of a rotation in which lasers fire.

/// Start and end of the sector, whole degrees from 0 to 359, clockwise; the end itself is outside the sector. If the start
/// is greater than the end, the sector continues across 0. The sector is the whole rotation if the end is one degree before
/// the start, as in `[0, 359]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View(pub [u16; 2]);

impl View {
    pub const ALL: Self = Self([0, 359]);

    /// Whether lasers fire at the rotor angle `turn`, a fraction of a rotation, 0..1.
    pub fn contains(self, turn: f64) -> bool {
        let [first, last] = self.0.map(f64::from);
        let degree = turn * 360.0;
        if self.is_whole() {
            true
        } else if first <= last {
            (first..last).contains(&degree)
        } else {
            degree >= first || degree < last
        }
    }

    /// Whether the sector is the whole rotation, with any start.
    pub fn is_whole(self) -> bool {
        let [first, last] = self.0;
        last + 1 == first || (first, last) == (0, 359)
    }

    /// Fraction of a rotation in which lasers fire.
    pub fn share(self) -> f64 {
        let [first, last] = self.0.map(f64::from);
        if self.is_whole() { 1.0 } else { (last - first).rem_euclid(360.0) / 360.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_may_run_through_zero() {
        assert!(View::ALL.contains(0.9999) && View::ALL.share() == 1.0);
        let back = View([270, 91]);
        assert!(back.contains(0.8) && back.contains(0.1) && !back.contains(0.5));
        assert!((back.share() - 181.0 / 360.0).abs() < 1e-12);
    }
}
