//! Reads captures as a stream of frames: pcap of any precision and byte order, pcapng, and ROS 2 bags with raw packets.
//! IP fragments are reassembled, so that every command gets whole datagrams.

mod fragments;
mod messages;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{PcapError, TsResolution};

use self::fragments::{Fragments, Outcome};
use self::messages::Datagrams;
pub(super) use self::messages::frame_id;
use super::bag::{Bag, BagError};
use crate::wire::ethernet::LinkType;

/// Largest plausible number of interfaces in a pcapng section.
const MAX_INTERFACES: usize = 4096;

/// A capture to read. It can be read several times.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Path of a capture file.
    File(&'a Path),
    /// Bytes of a capture.
    Bytes(&'a [u8]),
}

/// One captured frame.
#[derive(Clone, Debug)]
pub struct Captured<'a> {
    /// Number of the frame in the file, from 1.
    pub number: u64,
    /// Time of capture, POSIX time, nanoseconds.
    pub unix_ns: i128,
    /// Type of the header at the start of the frame.
    pub link: LinkType,
    /// Captured bytes of the frame.
    pub frame: &'a [u8],
}

/// Reason why a capture cannot be read at all, or can be read only in part.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file does not exist or cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is no capture; the text gives the reason.
    #[error("this is not a capture: {0}")]
    NotACapture(&'static str),
    /// A ROS 2 bag cannot be read at all, or can be read only in part.
    #[error(transparent)]
    Bag(#[from] BagError),
    /// The file was read to its end, but a part of its content cannot be used; the text names this part.
    #[error("{0} cannot be used")]
    Lost(String),
    /// The capture is damaged.
    #[error("{what}, after {packets} whole packets")]
    Broken {
        /// Description of the damage.
        what: String,
        /// Number of packets before the error.
        packets: u64,
    },
}

/// Reads a capture from start to end, with at most a few megabytes in memory.
pub struct CaptureReader<'a> {
    inner: Inner<'a>,
    packets: u64,
    frame: Vec<u8>,
    fragments: Fragments,
}

type Input<'a> = Box<dyn Read + 'a>;

enum Inner<'a> {
    Pcap { reader: PcapReader<Input<'a>>, link: LinkType, fraction_ns: u32 },
    PcapNg(PcapNgReader<Input<'a>>),
    Bag { format: &'static str, datagrams: Box<Datagrams<'a>> },
}

/// Whether the file name has the extension of a capture.
pub fn is_capture(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    ["pcap", "pcapng", "db3", "mcap"].iter().any(|known| extension == *known)
}

impl<'a> CaptureReader<'a> {
    /// Opens a capture and reads its header.
    pub fn open(source: Source<'a>) -> Result<Self, CaptureError> {
        let mut input: Input<'a> = match source {
            Source::File(path) => {
                if path.is_dir() {
                    return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
                }
                Box::new(File::open(path)?)
            }
            Source::Bytes(bytes) => Box::new(bytes),
        };
        let mut magic = Vec::new();
        input.by_ref().take(16).read_to_end(&mut magic)?;
        let not = |why| Err(CaptureError::NotACapture(why));
        let bag = |format, bag| Inner::Bag { format, datagrams: Box::new(Datagrams::new(bag)) };
        let opened = |inner| {
            let (frame, fragments) = Default::default();
            Ok(Self { inner, packets: 0, frame, fragments })
        };
        let pcapng = match magic[..] {
            [0xa1, 0xb2, 0xc3, 0xd4, ..] | [0xd4, 0xc3, 0xb2, 0xa1, ..] => false,
            [0xa1, 0xb2, 0x3c, 0x4d, ..] | [0x4d, 0x3c, 0xb2, 0xa1, ..] => false,
            [0x0a, 0x0d, 0x0d, 0x0a, ..] => true,
            [0x89, b'M', b'C', b'A', b'P', ..] => {
                let input = Box::new(Cursor::new(magic).chain(input));
                return opened(bag("MCAP", Bag::mcap(input)?));
            }
            _ if magic == *b"SQLite format 3\0" => {
                let Source::File(path) = source else {
                    return not("a SQLite bag can be read from a file only");
                };
                return opened(bag("ROS 2 bag", Bag::sqlite(path)?));
            }
            [0x1f, 0x8b, ..] => return not("it is compressed by gzip; unpack it first"),
            [0x28, 0xb5, 0x2f, 0xfd] => return not("it is compressed by zstd; unpack it first"),
            [] => return not("it is empty"),
            _ => return not("it is neither pcap, pcapng, MCAP nor a ROS 2 bag"),
        };
        let input: Input<'a> = Box::new(Cursor::new(magic).chain(input));
        let inner = if pcapng {
            Inner::PcapNg(PcapNgReader::new(input).map_err(|error| broken(error, None))?)
        } else {
            let reader = PcapReader::new(input).map_err(|error| broken(error, None))?;
            let header = reader.header();
            let fraction_ns = match header.ts_resolution {
                TsResolution::MicroSecond => 1000,
                TsResolution::NanoSecond => 1,
            };
            // The high bits may state the length of a frame check sequence.
            let link = LinkType(u32::from(header.datalink) & 0xffff);
            Inner::Pcap { reader, link, fraction_ns }
        };
        opened(inner)
    }

    /// Whether the capture is a ROS 2 bag.
    pub fn is_bag(&self) -> bool {
        matches!(self.inner, Inner::Bag { .. })
    }

    /// Name of the format: `pcap`, `pcapng`, `MCAP` or `ROS 2 bag`.
    pub fn format(&self) -> &'static str {
        match self.inner {
            Inner::Pcap { .. } => "pcap",
            Inner::PcapNg(_) => "pcapng",
            Inner::Bag { format, .. } => format,
        }
    }

    /// Next frame; `None` at the end. After an error, the caller must not read further.
    pub fn next_frame(&mut self) -> Option<Result<Captured<'_>, CaptureError>> {
        loop {
            self.frame.clear();
            let found = match &mut self.inner {
                Inner::Pcap { reader, link, fraction_ns } => {
                    next_of_pcap(reader, &mut self.frame, *fraction_ns).map(|at| (*link, at))
                }
                Inner::PcapNg(reader) => next_of_pcapng(reader, &mut self.frame),
                Inner::Bag { datagrams, .. } => match datagrams.next_into(&mut self.frame) {
                    Ok(at) => Ok((LinkType::ETHERNET, at)),
                    Err(error) => return Some(Err(error.into())),
                },
            };
            let (link, unix_ns) = match found {
                Ok((link, Some(unix_ns))) => (link, unix_ns),
                Ok((_, None)) => {
                    self.fragments.finish();
                    return None;
                }
                Err(error) => return Some(Err(broken(error, Some(self.packets)))),
            };
            self.packets += 1;
            match self.fragments.take(link, unix_ns, &self.frame) {
                Outcome::Whole => {}
                Outcome::Kept => continue,
                Outcome::Completed(frame) => self.frame = frame,
            }
            return Some(Ok(Captured { number: self.packets, unix_ns, link, frame: &self.frame }));
        }
    }

    /// Error about fragments of incomplete datagrams and about broken messages; `None` if there are none. The error is
    /// complete once the end of the capture has been read.
    pub fn lost(&self) -> Option<CaptureError> {
        let noun = |count: u64, one: &str| match count {
            1 => format!("1 {one}"),
            _ => format!("{count} {one}s"),
        };
        let mut lost = Vec::new();
        if self.fragments.lost > 0 {
            let count = noun(self.fragments.lost, "IP fragment");
            lost.push(format!("{count} without the rest of the datagram"));
        }
        if let Inner::Bag { datagrams, .. } = &self.inner
            && datagrams.unreadable > 0
        {
            lost.push(noun(datagrams.unreadable, "broken message"));
        }
        (!lost.is_empty()).then(|| CaptureError::Lost(lost.join(" and ")))
    }

    /// The messages of a bag that carry no packets: their number by message type. Empty for other captures.
    pub fn others(&self) -> BTreeMap<String, u64> {
        match &self.inner {
            Inner::Bag { datagrams, .. } => datagrams.others.clone(),
            _ => BTreeMap::new(),
        }
    }

    /// A line of text about the messages of [`CaptureReader::others`]; `None` if there are none. Such messages are not
    /// an error.
    pub fn others_told(&self) -> Option<String> {
        let others = self.others();
        let told = |(name, count): (&String, &u64)| format!("{count} × {name}");
        let told: Vec<String> = others.iter().map(told).collect();
        (!told.is_empty()).then(|| format!("skipped messages without packets: {}", told.join(", ")))
    }
}

/// Reads the next packet's bytes into `frame`; returns its time, or `None` at the end.
fn next_of_pcap(
    reader: &mut PcapReader<Input<'_>>,
    frame: &mut Vec<u8>,
    fraction_ns: u32,
) -> Result<Option<i128>, PcapError> {
    // Reads raw packets, because the checked form rejects packets that tcpdump accepts: packets longer than the snap
    // length, and packets whose fraction of a second is a second or more.
    let Some(packet) = reader.next_raw_packet().transpose()? else { return Ok(None) };
    frame.extend_from_slice(&packet.data);
    let fraction_ns = i128::from(packet.ts_frac) * i128::from(fraction_ns);
    Ok(Some(i128::from(packet.ts_sec) * 1_000_000_000 + fraction_ns))
}

/// Reads the next packet's bytes into `frame`; returns its link type and time, or `None` at the end.
fn next_of_pcapng(
    reader: &mut PcapNgReader<Input<'_>>,
    frame: &mut Vec<u8>,
) -> Result<(LinkType, Option<i128>), PcapError> {
    loop {
        if reader.interfaces().len() > MAX_INTERFACES {
            return Err(PcapError::InvalidField("too many interfaces"));
        }
        let little = reader.section().endianness.is_little();
        let (interface, ticks) = match reader.next_block().transpose()? {
            None => return Ok((LinkType::ETHERNET, None)),
            Some(Block::EnhancedPacket(packet)) => {
                frame.extend_from_slice(&packet.data);
                // The library treats every tick as a nanosecond; this converts back to ticks.
                (packet.interface_id, packet.timestamp.as_nanos() as u64)
            }
            Some(Block::SimplePacket(packet)) => {
                frame.extend_from_slice(&packet.data);
                (0, 0)
            }
            Some(Block::Packet(packet)) => {
                frame.extend_from_slice(&packet.data);
                // The timestamp is two 32-bit words, the high word first in any byte order; the library reads them as
                // one number.
                let ticks = packet.timestamp;
                let ticks = if little { ticks.rotate_left(32) } else { ticks };
                (u32::from(packet.interface_id), ticks)
            }
            Some(_) => continue,
        };
        let interface = reader
            .interfaces()
            .get(interface as usize)
            .ok_or(PcapError::InvalidInterfaceId(interface))?;
        return Ok((LinkType(interface.linktype.into()), Some(unix_ns(interface, ticks))));
    }
}

/// Converts an interface's ticks to POSIX time, nanoseconds.
fn unix_ns(interface: &InterfaceDescriptionBlock<'_>, ticks: u64) -> i128 {
    let (mut resolution, mut offset_s) = (6, 0);
    for option in &interface.options {
        match option {
            InterfaceDescriptionOption::IfTsResol(value) => resolution = *value,
            InterfaceDescriptionOption::IfTsOffset(value) => offset_s = *value as i64,
            _ => {}
        }
    }
    // The high bit selects powers of two instead of ten. If the number of ticks per second exceeds 127 bits, every tick
    // counts as 0 ns.
    let exponent = u32::from(resolution & 0x7f);
    let base: i128 = if resolution & 0x80 == 0 { 10 } else { 2 };
    let ns = base
        .checked_pow(exponent)
        .map_or(0, |ticks_per_s| i128::from(ticks) * 1_000_000_000 / ticks_per_s);
    i128::from(offset_s) * 1_000_000_000 + ns
}

/// Converts an error that occurred after `packets` packets; `packets` is `None` for an error in the file header.
fn broken(error: PcapError, packets: Option<u64>) -> CaptureError {
    let place = match packets {
        None => "its header".to_owned(),
        Some(packets) => format!("packet {}", packets + 1),
    };
    let what = match error {
        PcapError::IoError(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            return CaptureError::Io(error);
        }
        PcapError::IoError(_) | PcapError::IncompleteBuffer => {
            format!("the file ends within {place}, or a length in it is wrong")
        }
        PcapError::InvalidField(field) => format!("{place} is invalid ({field})"),
        PcapError::InvalidInterfaceId(id) => {
            format!("{place} names interface {id}, which the file does not describe")
        }
        PcapError::Utf8Error(_) | PcapError::FromUtf8Error(_) => {
            format!("{place} is invalid (text that is not UTF-8)")
        }
    };
    CaptureError::Broken { what, packets: packets.unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let len = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes(), &len, body, &len].concat()
    }

    fn pcapng(resolution: Option<u8>, ticks: u64) -> Vec<u8> {
        let section = [0x1a2b_3c4d_u32.to_le_bytes(), [1, 0, 0, 0], [0xff; 4], [0xff; 4]].concat();
        let mut interface = vec![1, 0, 0, 0, 0, 0, 4, 0];
        if let Some(resolution) = resolution {
            interface.extend([9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0]);
        }
        let mut packet = vec![0; 4];
        packet.extend(((ticks >> 32) as u32).to_le_bytes());
        packet.extend((ticks as u32).to_le_bytes());
        packet.extend([4, 0, 0, 0, 4, 0, 0, 0]);
        packet.extend(b"abcd");
        [block(0x0a0d_0d0a, &section), block(1, &interface), block(6, &packet)].concat()
    }

    fn only_packet(bytes: &[u8]) -> (i128, Vec<u8>) {
        let mut reader = CaptureReader::open(Source::Bytes(bytes)).unwrap();
        let packet = reader.next_frame().unwrap().unwrap();
        let found = (packet.unix_ns, packet.frame.to_vec());
        assert!(reader.next_frame().is_none());
        found
    }

    #[test]
    fn pcapng_ticks_follow_the_interface() {
        for (resolution, ticks, ns) in [
            (None, 1_500_000, 1_500_000_000),
            (Some(6), 1_500_000, 1_500_000_000),
            (Some(9), 1_500_000_001, 1_500_000_001),
            (Some(0x80 | 10), 1536, 1_500_000_000),
            (Some(120), 1, 0),
        ] {
            let found = only_packet(&pcapng(resolution, ticks));
            assert_eq!(found, (ns, b"abcd".to_vec()), "{resolution:?}");
        }
    }

    #[test]
    fn a_capture_cut_anywhere_is_told() {
        let whole = pcapng(Some(9), 1);
        let header_len = whole.len() - 36;
        for cut in 1..whole.len() {
            let outcome = CaptureReader::open(Source::Bytes(&whole[..cut]));
            let error = match outcome {
                Err(error) => error,
                Ok(mut reader) => match reader.next_frame() {
                    Some(Err(error)) => error,
                    None if cut == 28 || cut == header_len => continue,
                    other => panic!("cut at {cut}: {other:?}"),
                },
            };
            match error {
                CaptureError::NotACapture(_) if cut < 4 => {}
                CaptureError::Broken { packets: 0, .. } => {}
                other => panic!("cut at {cut}: {other}"),
            }
        }
    }

    /// A pcap file with a datagram of `len` bytes in IP fragments of `step` bytes. `order` has the indices of the
    /// fragments in the order of their frames. The link type is raw IP.
    fn fragmented(len: usize, step: usize, order: &[usize]) -> Vec<u8> {
        fragmented_on((LinkType::RAW, &[]), len, step, order)
    }

    /// Like [`fragmented`], with another link type and its header.
    fn fragmented_on(
        (link, link_header): (LinkType, &[u8]),
        len: usize,
        step: usize,
        order: &[usize],
    ) -> Vec<u8> {
        let payload: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let udp_len = (8 + len) as u16;
        let mut whole = [7502u16.to_be_bytes(), 7502u16.to_be_bytes()].concat();
        whole.extend([udp_len.to_be_bytes(), [0, 0]].concat());
        whole.extend(&payload);
        let mut file = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        file.extend([0, 0, 4, 0]);
        file.extend(link.0.to_le_bytes());
        let parts: Vec<_> = whole.chunks(step).collect();
        for (nth, part) in order.iter().enumerate() {
            let more = u16::from(*part + 1 < parts.len()) << 13;
            let flags = more | (part * step / 8) as u16;
            let total = (20 + parts[*part].len()) as u16;
            let mut ip = vec![0x45, 0];
            ip.extend(total.to_be_bytes());
            ip.extend([[0x12, 0x34], flags.to_be_bytes(), [64, 17], [0, 0]].concat());
            ip.extend([10, 0, 0, 1, 10, 0, 0, 2]);
            ip.extend(parts[*part]);
            let length = ((link_header.len() + ip.len()) as u32).to_le_bytes();
            let fraction = (nth as u32).to_le_bytes();
            file.extend([[1, 0, 0, 0], fraction, length, length].concat());
            file.extend(link_header);
            file.extend(ip);
        }
        file
    }

    #[test]
    fn fragments_become_their_datagram_in_any_order() {
        use crate::wire::ethernet::Content;
        for order in [&[0, 1, 2][..], &[2, 0, 1], &[1, 1, 2, 0]] {
            let file = fragmented(4000, 1480, order);
            let mut reader = CaptureReader::open(Source::Bytes(&file)).unwrap();
            let captured = reader.next_frame().unwrap().unwrap();
            assert_eq!(captured.unix_ns, 1_000_000_000 + order.len() as i128 - 1);
            let Ok(Content::Udp(datagram)) = Content::find(captured.link, captured.frame) else {
                panic!("no datagram")
            };
            assert_eq!((datagram.payload.len(), datagram.missing), (4000, 0));
            assert!(datagram.payload.iter().enumerate().all(|(at, byte)| *byte == at as u8));
            assert!(datagram.ipv4.unwrap().checksum_ok);
            assert!(reader.next_frame().is_none());
            assert!(reader.lost().is_none());
        }
    }

    #[test]
    fn a_datagram_of_fragments_keeps_its_link_type() {
        use crate::wire::ethernet::Content;
        let mut cooked = [0; 16];
        cooked[14] = 8;
        let mut tagged = [0; 18];
        tagged[12..].copy_from_slice(&[0x81, 0, 0, 7, 8, 0]);
        let kinds: [(LinkType, &[u8]); 4] = [
            (LinkType::RAW, &[]),
            (LinkType::NULL, &[2, 0, 0, 0]),
            (LinkType::LINUX_SLL, &cooked),
            (LinkType::ETHERNET, &tagged),
        ];
        for (link, header) in kinds {
            let file = fragmented_on((link, header), 4000, 1480, &[0, 1, 2]);
            let mut reader = CaptureReader::open(Source::Bytes(&file)).unwrap();
            let captured = reader.next_frame().unwrap().unwrap();
            assert_eq!((captured.link, &captured.frame[..header.len()]), (link, header));
            let found = Content::find(captured.link, captured.frame);
            let Ok(Content::Udp(datagram)) = found else { panic!("{link:?}: {found:?}") };
            assert_eq!(datagram.payload.len(), 4000, "{link:?}");
        }
    }

    #[test]
    fn fragments_without_their_rest_are_counted() {
        let file = fragmented(4000, 1480, &[0, 2]);
        let mut reader = CaptureReader::open(Source::Bytes(&file)).unwrap();
        assert!(reader.next_frame().is_none());
        let lost = "2 IP fragments without the rest of the datagram cannot be used";
        assert_eq!(reader.lost().unwrap().to_string(), lost);
    }

    #[test]
    fn other_files_are_named() {
        let text = |bytes: &[u8]| match CaptureReader::open(Source::Bytes(bytes)) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("taken for a capture"),
        };
        assert_eq!(text(b""), "this is not a capture: it is empty");
        assert!(text(b"\x1f\x8b\x08\0").contains("gzip"));
        assert!(text(b"hello, world").contains("neither pcap, pcapng"));
    }
}
