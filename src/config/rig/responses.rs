//! `[[stimulus]]` and `[[response]]`: events that the robot should notice, and its responses.

use std::net::SocketAddr;

use regex::bytes::Regex;

use crate::rig::schedule::Schedule;

/// An event that the robot should notice.
#[derive(Clone, Debug)]
pub struct StimulusConfig {
    /// Name of the stimulus, unique among the rig's stimuli.
    pub name: String,
    /// Cause of the stimulus.
    pub cause: StimulusCause,
}

/// Cause of a stimulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StimulusCause {
    /// The fault with this index in the rig affects a packet.
    Fault(usize),
    /// A lidar's packet has a return from an object. The object exists only during the windows of its schedule.
    Object {
        /// Index of the object.
        object: usize,
        /// Schedule of the object.
        schedule: Schedule,
    },
}

/// A message that the robot sends in reaction to a stimulus.
#[derive(Clone, Debug)]
pub struct ResponseConfig {
    /// Name of the response, unique among the rig's responses.
    pub name: String,
    /// Index of the stimulus that the response answers.
    pub stimulus: usize,
    /// Source of the response.
    pub source: ResponseSource,
    /// Pattern of the bytes that count as a response.
    pub pattern: Regex,
    /// Longest time from a stimulus to a response that counts, nanoseconds.
    pub timeout_ns: u64,
}

/// Source of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseSource {
    /// Datagrams to this address of Menura.
    Udp(SocketAddr),
    /// Bytes over TCP connections to this address of Menura.
    Tcp(SocketAddr),
    /// Bytes from the host to the device with this index in the rig.
    Device(usize),
}
