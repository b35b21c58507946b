//! Selection of the echoes that a lidar reports.

words!(ReturnMode: "strongest" => Strongest, "last" => Last, "dual" => Dual);

/// Echo or echoes of a pulse that the lidar reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnMode {
    /// The strongest echo.
    #[default]
    Strongest,
    /// The farthest echo.
    Last,
    /// Two echoes: the farthest, and the strongest of the others.
    Dual,
}
