//! Analysis of received or recorded streams, and of their senders. Live streams and recordings share one
//! implementation.

pub mod allan;
pub(crate) mod bag;
pub mod capture;
pub mod convert;
pub mod damage;
pub(crate) mod data_flow;
pub mod fit;
pub mod flows;
pub mod gaps;
pub mod pictures;
pub mod probe;
pub mod report;
pub mod rotation;
pub mod spread;
pub mod stream;
pub mod truth;
pub mod twin;

use std::io;

/// Reason why a report was not finished.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The recording cannot be read.
    #[error("{0}")]
    Input(String),
    /// The recording is from another product than the user named; the text gives the reason.
    #[error("{0}")]
    OtherProduct(String),
    /// The report cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}
