//! Which echo of a pulse a lidar reports.

words!(ReturnMode: "strongest" => Strongest, "last" => Last, "dual" => Dual);

/// Which echo of a pulse is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnMode {
    /// The brightest.
    #[default]
    Strongest,
    /// The farthest.
    Last,
    /// Both.
    Dual,
}
