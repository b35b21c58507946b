//! What can be wrong with a scene, and where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Faults that are told one by one; the rest are counted.
const MAX_FAULTS: usize = 50;

/// Why a scene could not be loaded: all that was found wrong, one line each.
#[derive(Debug)]
pub struct SceneError {
    faults: Vec<Fault>,
    untold: usize,
}

impl SceneError {
    /// What is wrong, at least one, in the order found.
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
            count => write!(f, "\nand {count} more faults of this kind or others"),
        }
    }
}

impl From<Fault> for SceneError {
    fn from(fault: Fault) -> Self {
        Self { faults: vec![fault], untold: 0 }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

impl Fault {
    /// `problem` at `place`.
    pub fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem }
    }
}

/// A place in a file, as exact as its format allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: Option<u32>,
    /// The column of that line, in characters from 1.
    pub column: Option<u32>,
    /// The element: a JSON path such as `$.Objects[2].Mesh`, or words such as `triangle 7`.
    pub element: Option<String>,
}

impl Place {
    /// The file as a whole.
    pub fn of(file: &Path) -> Self {
        Self { file: file.to_owned(), line: None, column: None, element: None }
    }

    /// Line `line` of `file`, from 1.
    pub fn line(file: &Path, line: usize) -> Self {
        Self { line: Some(clipped(line)), ..Self::of(file) }
    }

    /// The byte at `offset` of `text`, the content of `file`.
    pub fn offset(file: &Path, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self {
            line: Some(clipped(before.bytes().filter(|&b| b == b'\n').count() + 1)),
            column: Some(clipped(before[line_start..].chars().count() + 1)),
            ..Self::of(file)
        }
    }

    /// An element of `file`.
    pub fn element(file: &Path, element: impl Into<String>) -> Self {
        Self { element: Some(element.into()), ..Self::of(file) }
    }
}

/// A count of lines or columns; four thousand million are enough for any reader.
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

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A file is named that does not exist.
    #[error("there is no file `{}`", .path.display())]
    MissingFile {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A file is there but cannot be read.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The file's name ends in nothing a loader knows.
    #[error("is of no known scene format; known are MAVS .json, .gltf, .glb, .obj, .ply and .stl")]
    UnknownSuffix,
    /// The file breaks its format's rules.
    #[error("{0}")]
    Syntax(String),
    /// Something that the format knows and this loader does not.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// A value is of the wrong type or outside its limits.
    #[error("expected {expected}, got {got}")]
    WrongValue {
        /// What is allowed.
        expected: String,
        /// What is written, shortened.
        got: String,
    },
    /// A required key is absent.
    #[error("has no `{key}`: expected {expected}")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// What is allowed.
        expected: &'static str,
    },
    /// An index points at nothing.
    #[error("{what} {index} does not exist; there are {available}, counted from {first}")]
    IndexOutOfRange {
        /// What is counted: `vertex`, `texture coordinate`.
        what: &'static str,
        /// The index as written.
        index: i64,
        /// How many there are.
        available: usize,
        /// Whether the format counts from 0 or 1.
        first: u8,
    },
    /// A coordinate is not a number, infinite, or too far out.
    #[error("coordinate {value} is not within ±{} m", super::MAX_COORDINATE_M)]
    BadCoordinate {
        /// The coordinate.
        value: f64,
    },
    /// A copy is placed by a transform that is not finite or squashes it flat.
    #[error("{0}")]
    BadTransform(&'static str),
    /// There is nothing to see.
    #[error("holds no triangle with an area; a lidar sees triangles only")]
    NoTriangles,
    /// More than a loader is willing to hold.
    #[error("{what}: {count}, but at most {limit} are allowed")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// How many there would be.
        count: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The file ends before what it announces.
    #[error("announces {announced} bytes of {what}, but only {available} are there")]
    Truncated {
        /// What is announced.
        what: String,
        /// Bytes that it takes.
        announced: u64,
        /// Bytes left in the file.
        available: u64,
    },
}

impl Problem {
    /// Why `path` could not be read.
    pub fn of_reading(path: &Path, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::MissingFile { path: path.to_owned() },
            _ => Self::Unreadable { path: path.to_owned(), reason: error.to_string() },
        }
    }

    /// A value that is not what it should be.
    pub fn wrong(expected: impl Into<String>, got: impl fmt::Display) -> Self {
        Self::WrongValue { expected: expected.into(), got: shortened(&got.to_string()) }
    }
}

/// Text from a file for a message: one line, 60 characters at most.
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
    /// Notes a fault.
    pub fn add(&mut self, fault: Fault) {
        if self.told.len() < MAX_FAULTS {
            self.told.push(fault);
        } else {
            self.untold += 1;
        }
    }

    /// No fault so far.
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
        assert!(error.to_string().ends_with("and 20 more faults of this kind or others"));
    }

    #[test]
    fn quoted_text_is_one_short_line() {
        assert_eq!(shortened("a\nb"), "a b");
        assert_eq!(shortened(&"ä".repeat(100)).chars().count(), 60);
    }
}
