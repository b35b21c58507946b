//! Reassembles IP datagrams that were captured in fragments.

use std::collections::VecDeque;
use std::net::IpAddr;

use etherparse::defrag::IpDefragBuf;
use etherparse::{
    IpFragOffset, IpNumber, Ipv4Header, Ipv6ExtensionSlice, Ipv6Header, LaxNetSlice,
    LaxSlicedPacket,
};

use crate::wire::ethernet::{LinkType, sliced};

/// Largest number of incomplete datagrams in memory, each at most 64 kB.
const MOST_WAITING: usize = 64;
/// Time after which the fragments of an incomplete datagram are dropped, nanoseconds: Linux's default of
/// `net.ipv4.ipfrag_time`.
const PATIENCE_NS: i128 = 30_000_000_000;

/// Source, destination, identification and protocol: equal in all fragments of one datagram.
type Id = (IpAddr, IpAddr, u32, IpNumber);

struct Waiting {
    id: Id,
    unix_ns: i128,
    buffer: IpDefragBuf,
    /// Number of fragments of this datagram that were received so far.
    count: u64,
}

/// Reassembles datagrams; keeps the fragments of incomplete ones.
#[derive(Default)]
pub(super) struct Fragments {
    waiting: VecDeque<Waiting>,
    /// Number of fragments that could not be reassembled to a datagram.
    pub lost: u64,
}

/// Result for one frame.
pub(super) enum Outcome {
    /// The frame is no fragment.
    Whole,
    /// The frame is a fragment. It is stored until the rest of its datagram arrives, or counted as lost.
    Kept,
    /// The last missing fragment arrived: bytes of a frame with the whole datagram. The frame has the header of this
    /// fragment's link type.
    Completed(Vec<u8>),
}

impl Fragments {
    /// Processes the next frame. Fragments are stored until their datagram is complete; other frames are only
    /// classified, as [`Outcome::Whole`].
    pub fn take(&mut self, link: LinkType, unix_ns: i128, frame: &[u8]) -> Outcome {
        let Ok(Some(sliced)) = sliced(link, frame) else {
            return Outcome::Whole;
        };
        let Some(fragment) = Fragment::of(&sliced) else { return Outcome::Whole };
        let link_header = &frame[..fragment.ip_at - frame.as_ptr().addr()];
        while self.waiting.front().is_some_and(|first| unix_ns - first.unix_ns > PATIENCE_NS) {
            self.give_up_first();
        }
        let place = self.waiting.iter().position(|waiting| waiting.id == fragment.id);
        let place = place.unwrap_or_else(|| {
            if self.waiting.len() == MOST_WAITING {
                self.give_up_first();
            }
            let buffer = IpDefragBuf::new(fragment.id.3, Vec::new(), Vec::new());
            self.waiting.push_back(Waiting { id: fragment.id, unix_ns, buffer, count: 0 });
            self.waiting.len() - 1
        });
        let own = &mut self.waiting[place];
        own.count += 1;
        if own.buffer.add(fragment.offset, fragment.more, fragment.payload).is_err() {
            own.count -= 1;
            self.lost += 1;
            return Outcome::Kept;
        }
        if !own.buffer.is_complete() {
            return Outcome::Kept;
        }
        let Some(done) = self.waiting.remove(place) else { return Outcome::Kept };
        let (payload, _) = done.buffer.take_bufs();
        let whole = fragment.header(payload.len()).map(|header| [header, payload].concat());
        let Some(whole) = whole else {
            self.lost += done.count;
            return Outcome::Kept;
        };
        Outcome::Completed([link_header, &whole].concat())
    }

    /// Ends the capture: counts the fragments of incomplete datagrams as lost.
    pub fn finish(&mut self) {
        while !self.waiting.is_empty() {
            self.give_up_first();
        }
    }

    fn give_up_first(&mut self) {
        self.lost += self.waiting.pop_front().map_or(0, |waiting| waiting.count);
    }
}

struct Fragment<'a> {
    id: Id,
    offset: IpFragOffset,
    more: bool,
    payload: &'a [u8],
    header: Header,
    /// Address of the first byte of the IP header.
    ip_at: usize,
}

enum Header {
    V4(Ipv4Header),
    V6(Ipv6Header),
}

impl<'a> Fragment<'a> {
    fn of(sliced: &LaxSlicedPacket<'a>) -> Option<Self> {
        match &sliced.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                let header = ip.header();
                header.is_fragmenting_payload().then(|| Self {
                    id: (
                        header.source_addr().into(),
                        header.destination_addr().into(),
                        header.identification().into(),
                        ip.payload().ip_number,
                    ),
                    offset: header.fragments_offset(),
                    more: header.more_fragments(),
                    payload: ip.payload().payload,
                    header: Header::V4(header.to_header()),
                    ip_at: header.slice().as_ptr().addr(),
                })
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                let own =
                    ip.extensions().clone().into_iter().find_map(|extension| match extension {
                        Ipv6ExtensionSlice::Fragment(fragment) => Some(fragment.to_header()),
                        _ => None,
                    });
                let own = own.filter(|own| own.is_fragmenting_payload())?;
                let header = ip.header();
                Some(Self {
                    id: (
                        header.source_addr().into(),
                        header.destination_addr().into(),
                        own.identification,
                        ip.payload().ip_number,
                    ),
                    offset: own.fragment_offset,
                    more: own.more_fragments,
                    payload: ip.payload().payload,
                    header: Header::V6(header.to_header()),
                    ip_at: header.slice().as_ptr().addr(),
                })
            }
            _ => None,
        }
    }

    /// Header of the complete datagram; `None` if the datagram is too long.
    fn header(&self, payload_len: usize) -> Option<Vec<u8>> {
        match &self.header {
            Header::V4(header) => {
                let mut header = header.clone();
                header.more_fragments = false;
                header.fragment_offset = IpFragOffset::ZERO;
                header.set_payload_len(payload_len).ok()?;
                header.header_checksum = header.calc_header_checksum();
                Some(header.to_bytes().to_vec())
            }
            Header::V6(header) => {
                let mut header = header.clone();
                header.next_header = self.id.3;
                header.set_payload_length(payload_len).ok()?;
                Some(header.to_bytes().to_vec())
            }
        }
    }
}
