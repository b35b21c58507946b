//! Converts an azimuth window to columns.

const TURN_MDEG: u64 = 360_000;
/// Signal multipliers that units support.
pub(super) const MULTIPLIERS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 3.0];

/// First and last column of a window, in firing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnWindow {
    /// The first column of the window.
    pub first: u16,
    /// The last column of the window; it is less than `first` if the window continues from the highest column to column
    /// 0.
    pub last: u16,
}

impl ColumnWindow {
    /// Whether the window contains a column.
    pub fn contains(self, column: u16) -> bool {
        let Self { first, last } = self;
        match first <= last {
            true => (first..=last).contains(&column),
            false => column >= first || column <= last,
        }
    }

    /// Number of packets per rotation (of `turn` columns) that contain at least one column of the window.
    pub fn packets(self, turn: u16) -> usize {
        let has_one = |packet: &u16| (0..16).any(|place| self.contains(packet * 16 + place));
        (0..turn / 16).filter(has_one).count()
    }
}

/// Columns inside an azimuth window, for `turn` columns per rotation. The window is given by its first and last angle,
/// both included, in thousandths of a degree counter-clockwise from the connector. `None` if it contains no column.
///
/// The direction of column m is 360 degrees * (1 - m / turn). If the first angle is greater than the second, the window
/// includes the angle 0.
pub fn columns([from, to]: [u32; 2], turn: u16) -> Option<ColumnWindow> {
    let (turn, whole) = (u64::from(turn), (u64::from(from), u64::from(to)));
    if whole == (0, TURN_MDEG) {
        return Some(ColumnWindow { first: 0, last: turn as u16 - 1 });
    }
    // Angles times `turn`, so that nothing is rounded.
    let (from, to) = (whole.0 * turn, whole.1 * turn);
    let is_in = |column: u64| {
        let angle = (TURN_MDEG * (turn - column)) % (TURN_MDEG * turn);
        match from <= to {
            true => (from..=to).contains(&angle),
            false => angle >= from || angle <= to,
        }
    };
    // The search starts at a column outside the window.
    let outside = (0..turn).find(|column| !is_in(*column));
    let Some(outside) = outside else {
        return Some(ColumnWindow { first: 0, last: turn as u16 - 1 });
    };
    let mut inside = (1..turn).map(|step| (outside + step) % turn).filter(|column| is_in(*column));
    let first = inside.next()?;
    let last = inside.next_back().unwrap_or(first);
    Some(ColumnWindow { first: first as u16, last: last as u16 })
}

/// Width of a window, thousandths of a degree.
fn width_mdeg([from, to]: [u32; 2]) -> u32 {
    if from <= to { to - from } else { 360_000 - from + to }
}

/// Checks whether a signal multiplier is supported and possible with a window: multiplier 2 requires a window of at
/// most half a rotation, 3 of at most a third.
///
/// # Errors
/// Returns the reason why it is not.
pub fn check_multiplier(multiplier: f64, window: [u32; 2]) -> Result<(), String> {
    if !MULTIPLIERS.contains(&multiplier) {
        return Err("signal_multiplier is 0.25, 0.5, 1, 2 or 3".to_owned());
    }
    let widest = (360_000.0 / multiplier.max(1.0)) as u32;
    match width_mdeg(window) <= widest {
        true => Ok(()),
        false => Err(format!(
            "signal_multiplier {multiplier} goes with an azimuth_window of {} degrees at most",
            widest / 1000
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(window: [u32; 2], turn: u16) -> Option<(u16, u16)> {
        columns(window, turn).map(|window| (window.first, window.last))
    }

    #[test]
    fn windows_are_those_of_real_units() {
        assert_eq!(ends([0, 360_000], 1024), Some((0, 1023)));
        assert_eq!(ends([583, 39_402], 1024), Some((912, 1022)));
        assert_eq!(ends([180_000, 360_000], 512), Some((1, 256)));
        assert_eq!(ends([300_000, 100_000], 512), Some((370, 85)));
        assert_eq!(ends([0, 0], 512), Some((0, 0)));
        assert_eq!(ends([360_000, 0], 512), Some((0, 0)));
        for none in [[1, 1], [1, 2], [180_001, 180_002]] {
            assert_eq!(ends(none, 512), None, "{none:?}");
        }
    }

    #[test]
    fn packets_without_a_column_are_not_counted() {
        let through_zero = columns([300_000, 100_000], 512).unwrap();
        assert!(through_zero.contains(0) && through_zero.contains(400));
        assert!(!through_zero.contains(86));
        assert_eq!(through_zero.packets(512), 6 + 9);
        assert_eq!(columns([0, 360_000], 2048).unwrap().packets(2048), 128);
    }

    #[test]
    fn more_signal_takes_a_narrower_window() {
        assert!(check_multiplier(3.0, [0, 120_000]).is_ok());
        assert!(check_multiplier(3.0, [0, 120_001]).is_err());
        assert!(check_multiplier(2.0, [350_000, 10_000]).is_ok());
        assert!(check_multiplier(1.5, [0, 1000]).is_err());
    }
}
