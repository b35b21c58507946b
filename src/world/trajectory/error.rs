//! Errors of trajectories and of their files.

use std::fmt;
use std::path::PathBuf;

/// Errors of [`super::Trajectory::new`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrajectoryError {
    /// A key has an invalid value.
    #[error("{field}: {problem}; allowed: {allowed}")]
    Parameter {
        /// Name of the key, such as `follow_ground` or `trajectory.radius_m`.
        field: String,
        /// Description of the invalid value.
        problem: String,
        /// The allowed values.
        allowed: String,
    },
    /// A trajectory file is missing or wrong.
    #[error("{}{fault}", path.display())]
    File {
        /// Path as written in the rig.
        path: PathBuf,
        /// The first fault of the file.
        fault: FileFault,
    },
}

impl TrajectoryError {
    pub(super) fn parameter(
        field: &str,
        problem: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Parameter {
            field: field.to_owned(),
            problem: problem.into(),
            allowed: allowed.into(),
        }
    }
}

/// A fault in a file: prints as `:12: qx: found …`.
#[derive(Clone, Debug, PartialEq)]
pub struct FileFault {
    /// Line, counted from 1; `None` for a fault of the whole file.
    pub line: Option<u64>,
    /// Name of the column or element, if the fault is in one.
    pub field: Option<String>,
    /// Description of the fault: the value in the file, and the allowed values.
    pub problem: String,
}

impl FileFault {
    /// A fault of the whole file.
    pub fn whole(problem: impl Into<String>) -> Self {
        Self { line: None, field: None, problem: problem.into() }
    }

    /// A fault in a line, counted from 1.
    pub fn at_line(line: u64, problem: impl Into<String>) -> Self {
        Self { line: Some(line), field: None, problem: problem.into() }
    }

    /// Adds the name of the column or element to the fault.
    pub fn in_field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": ")?;
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for FileFault {}
