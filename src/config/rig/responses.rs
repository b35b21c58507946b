//! `[[stimulus]]` and `[[response]]`: what the robot is to notice, and how it says that it has.

use std::net::SocketAddr;

use regex::bytes::Regex;

use crate::rig::schedule::Schedule;

/// Something the robot is to notice.
#[derive(Clone, Debug)]
pub struct StimulusConfig {
    /// Unique among the rig's stimuli.
    pub name: String,
    /// Cause of the stimulus.
    pub cause: StimulusCause,
}

/// Cause of a stimulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StimulusCause {
    /// The fault with this place in the rig does something to a packet.
    Fault(usize),
    /// The object with this place in the world is there while the schedule says so, and only then;
    /// a lidar's packet has a return from it.
    Object {
        /// Which.
        object: usize,
        /// When.
        schedule: Schedule,
    },
}

/// The robot's message after it has noticed a stimulus.
#[derive(Clone, Debug)]
pub struct ResponseConfig {
    /// Unique among the rig's responses.
    pub name: String,
    /// The place of what it answers.
    pub stimulus: usize,
    /// Source of the response.
    pub source: ResponseSource,
    /// Pattern of the bytes that count.
    pub pattern: Regex,
    /// An answer that takes longer is none, nanoseconds.
    pub timeout_ns: u64,
}

/// Source of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseSource {
    /// In datagrams to this address, where Menura listens.
    Udp(SocketAddr),
    /// In what is sent over connections to this address, where Menura listens.
    Tcp(SocketAddr),
    /// In what the host says to the device with this place in the rig.
    Device(usize),
}
