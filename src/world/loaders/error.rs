//! Faults of scene files, with their positions.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Number of faults that are listed one by one; further faults are only counted.
const MAX_FAULTS: usize = 50;

/// All faults of a scene that could not be loaded; prints one per line.
#[derive(Debug)]
pub struct SceneError {
    faults: Vec<Fault>,
    untold: usize,
}

impl SceneError {
    /// At least one fault, in the order found.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl std::error::Error for SceneError {}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            write!(f, "{line_end}{fault}")?;
        }
        match self.untold {
            0 => Ok(()),
            count => write!(f, "\nand {count} more errors"),
        }
    }
}

impl From<Fault> for SceneError {
    fn from(fault: Fault) -> Self {
        Self { faults: vec![fault], untold: 0 }
    }
}

/// One fault of a scene file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct Fault {
    /// Position of the fault.
    pub place: Place,
    /// Kind of the fault, with its details.
    pub problem: Problem,
}

impl Fault {
    /// Creates a fault.
    pub fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem }
    }
}

/// A position in a file, as exact as its format permits.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// File as named by the rig or by another file.
    pub file: PathBuf,
    /// Line, counted from 1.
    pub line: Option<u32>,
    /// Column in characters, counted from 1.
    pub column: Option<u32>,
    /// A JSON path such as `$.Objects[2].Mesh`, or words such as `triangle 7`.
    pub element: Option<String>,
}

impl Place {
    /// Position of the file as a whole.
    pub fn of(file: &Path) -> Self {
        Self { file: file.to_owned(), line: None, column: None, element: None }
    }

    /// Position of line `line` of `file`, counted from 1.
    pub fn line(file: &Path, line: usize) -> Self {
        Self { line: Some(clipped(line)), ..Self::of(file) }
    }

    /// Position of the byte at `offset` of `text`, the content of `file`.
    pub fn offset(file: &Path, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self {
            line: Some(clipped(before.bytes().filter(|&b| b == b'\n').count() + 1)),
            column: Some(clipped(before[line_start..].chars().count() + 1)),
            ..Self::of(file)
        }
    }

    /// Position of an element of `file`.
    pub fn element(file: &Path, element: impl Into<String>) -> Self {
        Self { element: Some(element.into()), ..Self::of(file) }
    }
}

/// Converts a count of lines or columns; limits it to `u32::MAX`.
pub(super) fn clipped(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        match &self.element {
            Some(element) => write!(f, ": {element}"),
            None => Ok(()),
        }
    }
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A file does not exist, although the rig or another file names it.
    #[error("there is no file `{}`", .path.display())]
    MissingFile {
        /// Expected path of the file.
        path: PathBuf,
    },
    /// A file exists but cannot be read.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's message.
        reason: String,
    },
    /// No loader supports the extension of the file.
    #[error("has an unknown scene format; allowed: MAVS .json, .gltf, .glb, .obj, .ply and .stl")]
    UnknownSuffix,
    /// The file breaks its format's rules.
    #[error("{0}")]
    Syntax(String),
    /// The loader does not support a feature of the format.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// A value is of the wrong type or outside its limits.
    #[error("expected {expected}, got {got}")]
    WrongValue {
        /// The allowed values.
        expected: String,
        /// The value in the file, shortened.
        got: String,
    },
    /// A required key is absent.
    #[error("has no `{key}`: expected {expected}")]
    MissingKey {
        /// Name of the missing key.
        key: &'static str,
        /// Description of the required value.
        expected: &'static str,
    },
    /// An index is out of range.
    #[error("{what} {index} does not exist; there are {available}, counted from {first}")]
    IndexOutOfRange {
        /// Kind of the index, such as `vertex` or `texture coordinate`.
        what: &'static str,
        /// The index as written in the file.
        index: i64,
        /// Number of existing elements.
        available: usize,
        /// Lowest index in the format, 0 or 1.
        first: u8,
    },
    /// A coordinate is not a number, infinite, or too far out.
    #[error("coordinate {value} is not within ±{} m", super::MAX_COORDINATE_M)]
    BadCoordinate {
        /// Value as read from the file, metres.
        value: f64,
    },
    /// The rig scales or moves the scene too far.
    #[error(
        "coordinate {value} is not within ±{} m after `scale`, `rotate_deg` and `offset_m` of the rig",
        super::MAX_COORDINATE_M
    )]
    PlacedFarOut {
        /// Value after the rig's transform, metres.
        value: f64,
    },
    /// The transform of an instance is not finite or not invertible.
    #[error("{0}")]
    BadTransform(&'static str),
    /// The scene has no visible triangle, or a mesh has no triangle with an area.
    #[error("has no triangle with an area; lidars detect only triangles")]
    NoTriangles,
    /// A number exceeds the loader's limit.
    #[error("{what}: {count}, but at most {limit} are allowed, so that a scene fits into memory")]
    TooMany {
        /// Name of the counted items.
        what: &'static str,
        /// Number of items so far, which exceeds the limit.
        count: u64,
        /// Largest allowed number.
        limit: u64,
    },
    /// The file is shorter than its header says.
    #[error("declares {announced} bytes of {what}, but only {available} are left")]
    Truncated {
        /// Name of the missing data.
        what: String,
        /// Bytes according to the header.
        announced: u64,
        /// Bytes present in the file.
        available: u64,
    },
}

impl Problem {
    /// Problem for an error in reading `path`.
    pub fn of_reading(path: &Path, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::MissingFile { path: path.to_owned() },
            _ => Self::Unreadable { path: path.to_owned(), reason: error.to_string() },
        }
    }

    /// Creates a [`Problem::WrongValue`]; shortens `got`.
    pub fn wrong(expected: impl Into<String>, got: impl fmt::Display) -> Self {
        Self::WrongValue { expected: expected.into(), got: shortened(&got.to_string()) }
    }
}

/// Shortens a text of a file for a message: one line of at most 60 characters.
pub(super) fn shortened(text: &str) -> String {
    let mut line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(61).collect();
    if line.chars().count() > 60 {
        line.truncate(line.char_indices().nth(57).map_or(line.len(), |(at, _)| at));
        line.push_str("...");
    }
    line
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(super) struct Faults {
    told: Vec<Fault>,
    untold: usize,
}

impl Faults {
    /// Records a fault, or counts it if there are too many.
    pub fn add(&mut self, fault: Fault) {
        if self.told.len() < MAX_FAULTS {
            self.told.push(fault);
        } else {
            self.untold += 1;
        }
    }

    /// Whether no fault has been found so far.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The faults as an error, if there are any.
    pub fn into_error(self) -> Option<SceneError> {
        let Self { told: faults, untold } = self;
        (!faults.is_empty()).then_some(SceneError { faults, untold })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_columns_in_characters() {
        let place = Place::offset(Path::new("s.json"), "a\nbä c", 6);
        assert_eq!((place.line, place.column), (Some(2), Some(4)));
        assert_eq!(place.to_string(), "s.json:2:4");
    }

    #[test]
    fn many_faults_are_counted_not_kept() {
        let mut faults = Faults::default();
        for line in 1..=70 {
            faults.add(Fault::new(Place::line(Path::new("x"), line), Problem::NoTriangles));
        }
        let error = faults.into_error().unwrap();
        assert_eq!(error.faults().len(), MAX_FAULTS);
        assert!(error.to_string().ends_with("and 20 more errors"));
    }

    #[test]
    fn quoted_text_is_one_short_line() {
        assert_eq!(shortened("a\nb"), "a b");
        assert_eq!(shortened(&"ä".repeat(100)).chars().count(), 60);
    }
}
