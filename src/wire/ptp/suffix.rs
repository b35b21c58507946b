//! Optional parts (TLVs) after a message, each with a type and a length: requests for unicast messages and their
//! answers, and the additions of IEEE 802.1AS to announcements and follow-ups.
//!
//! Sources: IEEE 1588-2019, clauses 14.3 and 16.1; IEEE 802.1AS-2020, clauses 10.6.3.2.8 and 11.4.4.3.

use super::ClockIdentity;
use crate::ParseError;
use crate::record::{Be, Field, Reader, Record as _, record};

const ORGANIZATION: u16 = 0x0003;
const REQUEST: u16 = 0x0004;
const GRANT: u16 = 0x0005;
const CANCEL: u16 = 0x0006;
const CANCELLED: u16 = 0x0007;
const PATH_TRACE: u16 = 0x0008;
/// Largest number of parts that are read from a message.
const MOST: usize = 16;

record! {
    /// Type and length at the start of each part.
    Head: Be 4 {
        /// Type of the part.
        kind: u16,
        /// Number of bytes that follow in the part.
        length: u16,
    }

    /// Requests unicast messages of one kind.
    UnicastRequest: Be 6 {
        /// Kind of the messages ([`super::Body::kind`]), in the upper four bits.
        kind: u8,
        /// Interval between the messages, base-2 logarithm of seconds.
        log_interval: i8,
        /// Duration for which messages are requested, seconds.
        duration_s: u32,
    }

    /// Answer to a request for unicast messages.
    UnicastGrant: Be 8 {
        /// Kind of the messages ([`super::Body::kind`]), in the upper four bits.
        kind: u8,
        /// Interval between the messages, base-2 logarithm of seconds.
        log_interval: i8,
        /// Duration for which messages are sent, seconds; 0: refused.
        duration_s: u32,
        /// Zero.
        reserved: u8,
        /// 1: the request can be renewed before the duration ends; 0: it cannot.
        renewal: u8,
    }

    /// Ends unicast messages of one kind.
    UnicastCancel: Be 2 {
        /// Kind of the messages ([`super::Body::kind`]), in the upper four bits.
        kind: u8,
        /// Zero.
        reserved: u8,
    }
}

/// Content of [`Part::FollowUpInformation`]: id of the organisation (IEEE 802.1) and subtype 1. The other fields are
/// zero: the grandmaster's rate and phase have not changed.
const FOLLOW_UP_INFORMATION: [u8; 28] = {
    let mut bytes = [0; 28];
    (bytes[1], bytes[2], bytes[5]) = (0x80, 0xc2, 1);
    bytes
};

/// A part of a suffix.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Requests unicast messages.
    Request(UnicastRequest),
    /// Grants or refuses unicast messages.
    Grant(UnicastGrant),
    /// Ends unicast messages.
    Cancel(UnicastCancel),
    /// Confirms the end of unicast messages.
    Cancelled(UnicastCancel),
    /// Clocks through which the announcement has passed.
    PathTrace(Vec<ClockIdentity>),
    /// Follow-up information of IEEE 802.1AS for a grandmaster whose rate and phase have not changed.
    FollowUpInformation,
}

/// Decodes the first 16 parts of a suffix, and returns the parts of known types. Stops at an incomplete or invalid
/// part; never fails.
pub fn parts(suffix: &[u8]) -> Vec<Part> {
    let mut from = Reader::new("a suffix", suffix);
    let mut next = || -> Result<Option<Part>, ParseError> {
        let head: Head = from.be()?;
        let body = from.bytes(head.length.into())?;
        Ok(match head.kind {
            REQUEST => Some(Part::Request(UnicastRequest::parse(body)?)),
            GRANT => Some(Part::Grant(UnicastGrant::parse(body)?)),
            CANCEL => Some(Part::Cancel(UnicastCancel::parse(body)?)),
            CANCELLED => Some(Part::Cancelled(UnicastCancel::parse(body)?)),
            PATH_TRACE => Some(Part::PathTrace(body.as_chunks::<8>().0.to_vec())),
            ORGANIZATION if body == FOLLOW_UP_INFORMATION => Some(Part::FollowUpInformation),
            _ => None,
        })
    };
    let all = std::iter::from_fn(|| next().ok()).take(MOST);
    all.flatten().collect()
}

/// Encodes `parts` as the bytes of a suffix.
pub fn to_bytes(parts: &[Part]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        let (kind, body) = match part {
            Part::Request(request) => (REQUEST, request.to_bytes()),
            Part::Grant(grant) => (GRANT, grant.to_bytes()),
            Part::Cancel(cancel) => (CANCEL, cancel.to_bytes()),
            Part::Cancelled(cancel) => (CANCELLED, cancel.to_bytes()),
            Part::PathTrace(clocks) => (PATH_TRACE, clocks.concat()),
            Part::FollowUpInformation => (ORGANIZATION, FOLLOW_UP_INFORMATION.to_vec()),
        };
        for word in [kind, body.len() as u16] {
            Field::<Be>::write(&word, &mut out);
        }
        out.extend(body);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_the_rest_is_passed_over() {
        let all = [
            Part::Request(UnicastRequest { kind: 0xb0, log_interval: 1, duration_s: 60 }),
            Part::Grant(UnicastGrant {
                kind: 0x90,
                log_interval: -3,
                duration_s: 0,
                reserved: 0,
                renewal: 1,
            }),
            Part::Cancel(UnicastCancel { kind: 0, reserved: 0 }),
            Part::Cancelled(UnicastCancel { kind: 0, reserved: 0 }),
            Part::PathTrace(vec![[7; 8], [8; 8]]),
            Part::FollowUpInformation,
        ];
        let bytes = to_bytes(&all);
        assert_eq!(bytes[..10], [0, 4, 0, 6, 0xb0, 1, 0, 0, 0, 60]);
        assert_eq!(parts(&bytes), all);
        let unknown = [&[0x20, 0, 0, 2, 1, 2][..], &bytes].concat();
        assert_eq!(parts(&unknown), all);
        for length in 0..bytes.len() {
            assert!(parts(&bytes[..length]).len() < all.len());
        }
    }
}
