//! The user's adapter file: how a driver reports its observations of the sensor.

use std::path::PathBuf;

use regex::Regex;

/// Properties of a driver under test.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// Pattern of an output line by which the driver reports that it is ready. Without a pattern, the driver counts as
    /// ready after [`Adapter::start_s`].
    pub ready: Option<Regex>,
    /// Longest time until the driver is ready, seconds.
    pub ready_within_s: f64,
    /// Time until a driver without a `ready` pattern counts as ready, seconds.
    pub start_s: f64,
    /// Time from power-on of the sensor to the start of a case, seconds. In this time the driver configures the sensor
    /// and reaches a steady state.
    pub settle_s: f64,
    /// Whether a driver that ends is restarted, as by a supervisor.
    pub respawn: bool,
    /// Sources of the driver's reports.
    pub reads: Vec<Read>,
    /// Python functions that check each case.
    pub judges: Vec<PythonJudge>,
    /// Commands that run at the end of each case; an exit code other than 0 fails the case.
    pub asks: Vec<Vec<String>>,
}

/// A source of the driver's reports.
#[derive(Clone, Debug)]
pub enum Read {
    /// Output lines that match a pattern; its named groups are fields.
    Pattern {
        /// The pattern.
        pattern: Regex,
        /// Name of the event.
        event: String,
    },
    /// JSON objects: output lines, and datagrams to `{report}`.
    Json {
        /// Values that an object must have, each with the path of its key; other objects are ignored.
        only: Vec<(String, serde_json::Value)>,
        /// Name of the event (default: the object's own `event`).
        event: Option<String>,
        /// Fields: name in the kit, and path of the key in the object. If empty, all fields of the object are read.
        fields: Vec<(String, String)>,
    },
    /// A point-cloud file that the driver rewrites repeatedly.
    Cloud {
        /// Path of the file, with placeholders.
        path: String,
        /// Name of the event.
        event: String,
    },
    /// A command that runs repeatedly. Each run with exit code 0 is an event; its output may be a JSON object with
    /// fields.
    Ask {
        /// The command, with placeholders.
        command: Vec<String>,
        /// Period of the runs, seconds.
        every_s: f64,
        /// Name of the event.
        event: String,
    },
}

/// A Python function that receives the driver's reports and the ground truth, and returns complaints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonJudge {
    /// File of the function.
    pub file: PathBuf,
    /// Name of the function.
    pub function: String,
}

impl Default for Adapter {
    /// Adapter of a driver that reports in the kit's own JSON.
    fn default() -> Self {
        Self {
            ready: None,
            ready_within_s: 10.0,
            start_s: 0.3,
            settle_s: 1.5,
            respawn: false,
            reads: vec![Read::Json { only: Vec::new(), event: None, fields: Vec::new() }],
            judges: Vec::new(),
            asks: Vec::new(),
        }
    }
}
