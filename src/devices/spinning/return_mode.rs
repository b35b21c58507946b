//! Which echo of a pulse a lidar reports.

words!(ReturnMode: "strongest" => Strongest, "last" => Last, "dual" => Dual);

/// Which echo of a pulse is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnMode {
    /// The brightest.
    Strongest,
    /// The farthest.
    Last,
    /// Both.
    Dual,
}
