//! Fits parameters of error models to recordings of a real unit at rest.
//!
//! [`inertial`] fits gyros, accelerometers and magnetometers from their Allan deviation. [`position`] fits GNSS
//! receivers from the Allan deviation of their positions, and [`ranges`] fits lidars from the scatter of ranges in each
//! direction. Each result is a [`Fragment`] of a profile or of a rig.

pub(crate) mod drift;
mod fragment;
pub mod inertial;
mod inertial_log;
pub mod position;
mod position_log;
pub mod ranges;
mod ranges_log;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

pub use self::fragment::{Form, Fragment};
use super::ReportError;
use super::stream::RecordedStream;
use crate::config::profile::Profile;
use crate::config::toml::diagnostic::Diagnostics;

/// Reason why a fit is impossible.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The log cannot be read, comes from another product, or has too little data.
    #[error("{0}")]
    Log(String),
    /// A file that the decoder's hints name, such as a calibration, has errors.
    #[error(transparent)]
    Hints(#[from] Diagnostics),
}

impl From<ReportError> for FitError {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::OtherProduct(why) => {
                Self::Log(format!("this is another product's log: {why}"))
            }
            other => Self::Log(other.to_string()),
        }
    }
}

impl FitError {
    fn log(text: impl Into<String>) -> Self {
        Self::Log(text.into())
    }
}

/// A log and its used part.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    /// The file.
    pub path: &'a Path,
    /// Profile of the unit that was recorded.
    pub profile: &'a Profile,
    /// Start of the used part, seconds after the first sample.
    pub from_s: f64,
    /// End of the used part, seconds after the first sample.
    pub to_s: f64,
    /// Samples per second, if the user sets this rate; otherwise it is found from the log.
    pub rate_hz: Option<f64>,
}

impl Log<'_> {
    fn is_used(&self, time_s: f64) -> bool {
        (self.from_s..=self.to_s).contains(&time_s)
    }

    fn stream(&self) -> Result<RecordedStream<'_>, FitError> {
        Ok(RecordedStream::open(self.path, Some(self.profile), false)?)
    }

    /// Text with the name of the log file and the first bytes of its SHA-256.
    fn identity(&self) -> Result<String, FitError> {
        let unreadable = |error: std::io::Error| FitError::log(error.to_string());
        let mut file = File::open(self.path).map_err(unreadable)?;
        let (mut hasher, mut portion) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut portion).map_err(unreadable)? {
                0 => break,
                count => hasher.update(&portion[..count]),
            }
        }
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let digest: String = hasher.finalize()[..8].iter().map(|b| format!("{b:02x}")).collect();
        Ok(format!("{name} (SHA-256 {digest}...)"))
    }
}

/// Sorts `values` and returns their median; NaN if there are none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}
