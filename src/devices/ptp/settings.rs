//! What a product sets of its PTP slave.

/// How a slave speaks PTP. Intervals are logarithms to the base of 2 of seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtpSettings {
    /// Messages of other domains are not heard.
    pub domain: u8,
    /// How the path delay is measured.
    pub delay: DelayMechanism,
    /// Between announcements.
    pub log_announce: i8,
    /// Between synchronisations, until a master says otherwise.
    pub log_sync: i8,
    /// Between requests for the delay, until a master says otherwise.
    pub log_delay: i8,
    /// The master is lost when so many announcements are missing.
    pub announce_timeout: u8,
}

impl Default for PtpSettings {
    /// The default profile of IEEE 1588.
    fn default() -> Self {
        Self {
            domain: 0,
            delay: DelayMechanism::EndToEnd,
            log_announce: 1,
            log_sync: 0,
            log_delay: 0,
            announce_timeout: 3,
        }
    }
}

/// How the path delay is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayMechanism {
    /// To the master, E2E.
    EndToEnd,
    /// To the neighbour, P2P.
    PeerToPeer,
}
