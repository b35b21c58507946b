//! How a driver tells what it makes of its sensor, as the user's adapter file says.

use std::path::PathBuf;

use regex::Regex;

/// Facts about a driver under test.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// A line like this says that the driver is ready. Without it, it is ready once it has run for
    /// [`Adapter::start_s`].
    pub ready: Option<Regex>,
    /// The longest time that it may take to be ready, seconds.
    pub ready_within_s: f64,
    /// How long a driver that says nothing of it takes to be ready, seconds.
    pub start_s: f64,
    /// How long the sensor is on before a case begins, seconds: what the driver needs to configure it and to become
    /// steady.
    pub settle_s: f64,
    /// Whether a driver that ends is started again, as a supervisor would.
    pub respawn: bool,
    /// How what it says is read.
    pub reads: Vec<Read>,
    /// Functions that judge each case.
    pub judges: Vec<PythonJudge>,
    /// Commands that are asked at the end of each case; what ends with another code than 0 fails it.
    pub asks: Vec<Vec<String>>,
}

/// One way in which a driver tells something.
#[derive(Clone, Debug)]
pub enum Read {
    /// Lines of its output that are like a pattern, whose named groups are fields.
    Pattern {
        /// The pattern.
        pattern: Regex,
        /// The event.
        event: String,
    },
    /// Lines of its output and datagrams to `{report}` that are JSON objects.
    Json {
        /// Only objects that have these values, by the path of their keys.
        only: Vec<(String, serde_json::Value)>,
        /// The event; without it the object's own `event`.
        event: Option<String>,
        /// Fields by the path of the keys that hold them; without any, those of the object.
        fields: Vec<(String, String)>,
    },
    /// A point-cloud file that it writes again and again.
    Cloud {
        /// The file, with placeholders.
        path: String,
        /// The event.
        event: String,
    },
    /// A command that is asked again and again; each time that it ends with 0 is an event, and what it prints may be an
    /// object of fields.
    Ask {
        /// It, with placeholders.
        command: Vec<String>,
        /// How often, seconds.
        every_s: f64,
        /// The event.
        event: String,
    },
}

/// A function in Python that is given what the driver told and the truth, and answers with what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonJudge {
    /// Its file.
    pub file: PathBuf,
    /// Its name.
    pub function: String,
}

impl Default for Adapter {
    /// A driver that tells by the kit's own JSON.
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
