//! Which echo of a pulse a lidar reports.

words!(ReturnMode: "strongest" => Strongest, "last" => Last, "dual" => Dual);

/// The echo of a pulse that is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnMode {
    /// The brightest.
    #[default]
    Strongest,
    /// The farthest.
    Last,
    /// Both echoes.
    Dual,
}
