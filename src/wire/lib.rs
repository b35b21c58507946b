#![doc = include_str!("README.md")]

#[macro_use]
mod words;

pub mod checksum;
pub mod cola;
pub mod corrections;
pub mod create_oi;
pub mod drive_order;
pub mod ethernet;
pub mod fdilink;
pub mod feed;
pub mod foxglove;
pub mod framer;
pub mod frames;
pub mod gige;
pub mod gnss_stream;
pub mod hesai;
pub mod horizon;
pub mod http;
pub mod joint_lines;
pub mod kangaroo;
pub mod line;
pub mod livox;
pub mod mip;
pub mod navigation;
pub mod nmea;
pub mod ntrip;
pub mod ouster;
pub mod phone;
pub mod port;
pub mod protobuf;
pub mod ptp;
pub mod record;
pub mod roboclaw;
pub mod robosense;
pub mod ros2;
pub mod rtcm;
pub mod sabertooth;
pub mod sbg_ecom;
pub mod scip;
pub mod sick_lms2xx;
pub mod time;
pub mod truth;
pub mod ubx;
pub mod vectornav;
pub mod velodyne;
pub mod xbus;

/// Reason why bytes do not fit a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The data or a part of it has the wrong length.
    #[error("{what}: {got} bytes where {need} are needed")]
    Length {
        /// Name of the value with the wrong length.
        what: &'static str,
        /// Required length, bytes.
        need: usize,
        /// Actual length, bytes.
        got: usize,
    },
    /// A field has a value that the format does not define.
    #[error("{field} is {value:#x}: {allowed}")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        value: u64,
        /// Text that describes the allowed values.
        allowed: &'static str,
    },
}

impl ParseError {
    /// The error [`ParseError::Value`] for an integer field; `allowed` describes the allowed values.
    pub fn value(field: &'static str, value: impl Into<u64>, allowed: &'static str) -> Self {
        Self::Value { field, value: value.into(), allowed }
    }
}

#[cfg(test)]
mod tests;
