//! Frames of any link type: a UDP payload is no longer than its frame, and each parsed Ethernet frame is encoded to the
//! same bytes.

use menura::wire::ethernet::{Content, FrameHeader, LinkType};

pub fn run(bytes: &[u8]) {
    let Some((link, frame)) = bytes.split_first() else { return };
    const LINKS: [LinkType; 8] = [
        LinkType::ETHERNET,
        LinkType::RAW,
        LinkType::NULL,
        LinkType::LOOP,
        LinkType::LINUX_SLL,
        LinkType::LINUX_SLL2,
        LinkType::IPV6,
        LinkType(9999),
    ];
    if let Ok(Content::Udp(datagram)) = Content::find(LINKS[usize::from(*link) % 8], frame) {
        assert!(datagram.payload.len() <= frame.len());
    }
    if let Ok((header, payload)) = FrameHeader::parse(frame) {
        let mut again = Vec::new();
        header.emit(payload, &mut again).expect("parsed from a frame");
        assert_eq!(again, frame);
    }
}
