//! GVSP: frames as a leader packet, payload packets and a trailer packet.

/// Length of IP, UDP and standard GVSP headers, bytes. The packet size includes these headers.
pub const OVERHEAD: usize = 36;
/// Like [`OVERHEAD`], for the header with 64-bit block ids.
pub const OVERHEAD_EXTENDED: usize = 48;
/// Length of the id and length fields at the end of a chunk, bytes.
pub const CHUNK_TAIL: usize = 8;
/// Payload type of images.
const IMAGE: u32 = 1;
/// Flag of the payload type: chunks follow the image.
const HAS_CHUNKS: u32 = 0x4000;

/// Pixel formats with their codes in PFNC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PixelFormat {
    /// Monochrome, 8 bits.
    #[default]
    Mono8,
    /// Monochrome, 12 bits in the low bits of 16.
    Mono12,
    /// Monochrome, 16 bits.
    Mono16,
    /// Bayer mosaic, 8 bits.
    BayerRg8,
    /// Bayer mosaic, two pixels of 12 bits in three bytes.
    BayerRg12p,
    /// Red, green and blue, 8 bits each.
    Rgb8,
}

words!(PixelFormat: "Mono8" => Mono8, "Mono12" => Mono12, "Mono16" => Mono16, "BayerRG8" => BayerRg8, "BayerRG12p" => BayerRg12p, "RGB8" => Rgb8);

impl PixelFormat {
    /// PFNC code of the format. Bits 16 to 23 are the number of bits per pixel.
    pub fn code(self) -> u32 {
        match self {
            Self::Mono8 => 0x0108_0001,
            Self::Mono12 => 0x0110_0005,
            Self::Mono16 => 0x0110_0007,
            Self::BayerRg8 => 0x0108_0009,
            Self::BayerRg12p => 0x010c_0059,
            Self::Rgb8 => 0x0218_0014,
        }
    }

    /// The format with this PFNC code; `None` if it is not supported.
    pub fn of_code(code: u32) -> Option<Self> {
        Self::WORDS.into_iter().map(|(_, format)| format).find(|format| format.code() == code)
    }

    /// Size of an image, bytes.
    pub fn image_len(self, width: u32, height: u32) -> usize {
        let bits = u64::from(self.code() >> 16 & 0xff);
        (u64::from(width) * u64::from(height) * bits).div_ceil(8) as usize
    }
}

/// Content of a leader packet: description of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Timestamp, ticks of the camera's clock.
    pub timestamp: u64,
    /// Code of the pixel format.
    pub pixel_format: u32,
    /// Width, height, offset in x and in y, pixels.
    pub region: [u32; 4],
    /// Layout id of the chunks after the image; `None` without chunks. [`parse`] sets it to 0, because only the trailer
    /// contains the id.
    pub chunks: Option<u32>,
}

impl Leader {
    fn payload_type(&self) -> u32 {
        if self.chunks.is_some() { IMAGE | HAS_CHUNKS } else { IMAGE }
    }
}

/// Appends the end of a chunk, its id and length, to `bytes`. Before the call, `bytes` must end with the chunk's data
/// of `len` bytes: an image or other data.
pub fn end_chunk(bytes: &mut Vec<u8>, id: u32, len: usize) {
    bytes.extend(id.to_be_bytes());
    bytes.extend((len as u32).to_be_bytes());
}

/// Chunks of a payload with their ids, the last one first; `None` if the payload does not consist of chunks.
pub fn chunks(payload: &[u8]) -> Option<Vec<(u32, &[u8])>> {
    let mut rest = payload;
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (data, tail) = rest.split_last_chunk::<CHUNK_TAIL>()?;
        let [id, len] = [0, 4]
            .map(|at| u32::from_be_bytes([tail[at], tail[at + 1], tail[at + 2], tail[at + 3]]));
        let from = data.len().checked_sub(len as usize)?;
        all.push((id, &data[from..]));
        rest = &data[..from];
    }
    Some(all)
}

/// Packet size and form of the headers in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Packet size including IP and UDP headers, bytes.
    pub packet_size: usize,
    /// Whether block ids have 64 bits.
    pub is_extended: bool,
}

impl Shape {
    /// Number of image bytes in a full packet.
    pub fn data_len(self) -> usize {
        let overhead = if self.is_extended { OVERHEAD_EXTENDED } else { OVERHEAD };
        self.packet_size.saturating_sub(overhead).max(1)
    }

    /// Number of packets of an image of `len` bytes, including leader and trailer.
    pub fn packets(self, len: usize) -> u32 {
        len.div_ceil(self.data_len()) as u32 + 2
    }

    fn head(self, status: u16, block: u64, format: u8, packet: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.packet_size);
        bytes.extend(status.to_be_bytes());
        if self.is_extended {
            bytes.extend([0, 0, 0x80 | format, 0, 0, 0]);
            bytes.extend(block.to_be_bytes());
            bytes.extend(packet.to_be_bytes());
        } else {
            bytes.extend((block as u16).to_be_bytes());
            bytes.extend((u32::from(format) << 24 | packet & 0xff_ffff).to_be_bytes());
        }
        bytes
    }

    /// Bytes of packet number `packet` of the frame `block`; `None` if the number is too high. `image` contains the
    /// image and its chunks.
    pub fn packet(
        self,
        status: u16,
        block: u64,
        packet: u32,
        leader: &Leader,
        image: &[u8],
    ) -> Option<Vec<u8>> {
        let last = self.packets(image.len()) - 1;
        if packet == 0 {
            let mut bytes = self.head(status, block, 1, packet);
            bytes.extend(leader.payload_type().to_be_bytes());
            bytes.extend(leader.timestamp.to_be_bytes());
            bytes.extend(leader.pixel_format.to_be_bytes());
            leader.region.iter().for_each(|part| bytes.extend(part.to_be_bytes()));
            bytes.extend([0; 4]);
            return Some(bytes);
        }
        if packet < last {
            let from = (packet as usize - 1) * self.data_len();
            let mut bytes = self.head(status, block, 3, packet);
            bytes.extend(&image[from..image.len().min(from + self.data_len())]);
            return Some(bytes);
        }
        (packet == last).then(|| {
            let mut bytes = self.head(status, block, 2, packet);
            bytes.extend(leader.payload_type().to_be_bytes());
            bytes.extend(leader.region[1].to_be_bytes());
            if let Some(layout) = leader.chunks {
                bytes.extend((image.len() as u32).to_be_bytes());
                bytes.extend(layout.to_be_bytes());
            }
            bytes
        })
    }

    /// Answer to a request for a packet that is no longer stored.
    pub fn unavailable(self, block: u64, packet: u32) -> Vec<u8> {
        self.head(super::status::PACKET_UNAVAILABLE, block, 3, packet)
    }
}

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// First packet of a frame.
    Leader(Leader),
    /// A piece of the image.
    Payload(&'a [u8]),
    /// Last packet of a frame.
    Trailer,
}

/// Reads a packet: block id, packet id and content; `None` if it is invalid.
pub fn parse(bytes: &[u8]) -> Option<(u64, u32, Part<'_>)> {
    let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let first = word(4)?;
    let (block, format, packet, rest) = if first >> 31 != 0 {
        let block = u64::from(word(8)?) << 32 | u64::from(word(12)?);
        (block, first >> 24 & 0x7f, word(16)?, bytes.get(20..)?)
    } else {
        (u64::from(word(0)? & 0xffff), first >> 24, first & 0xff_ffff, bytes.get(8..)?)
    };
    let at = |place: usize| Some(u32::from_be_bytes(*rest.get(place..)?.first_chunk()?));
    let part = match format {
        1 if rest.len() == 36 => Part::Leader(Leader {
            timestamp: u64::from(at(4)?) << 32 | u64::from(at(8)?),
            pixel_format: at(12)?,
            region: [at(16)?, at(20)?, at(24)?, at(28)?],
            // The layout id is in the trailer.
            chunks: (at(0)? & HAS_CHUNKS != 0).then_some(0),
        }),
        2 if matches!(rest.len(), 8 | 16) => Part::Trailer,
        3 => Part::Payload(rest),
        _ => return None,
    };
    Some((block, packet, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pairs = digits.as_chunks::<2>().0.iter();
        pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// A frame that Aravis 0.8.26 received from a camera: 640 x 480 Mono8, packets of 1500 bytes.
    #[test]
    fn packets_are_as_recorded() {
        let leader = Leader {
            timestamp: 0x18ea_6faf_b4ac_52ba,
            pixel_format: PixelFormat::Mono8.code(),
            region: [640, 480, 0, 0],
            chunks: None,
        };
        let image = vec![7; 640 * 480];
        let shape = Shape { packet_size: 1500, is_extended: false };
        let golden = hex(
            "0000 0001 01000000 0000 0001 18ea6fafb4ac52ba 01080001 00000280 000001e0 00000000 00000000 0000 0000",
        );
        let packet = |block, number| shape.packet(0, block, number, &leader, &image);
        assert_eq!(packet(1, 0).unwrap(), golden);
        assert_eq!(packet(0x38, 211).unwrap(), hex("0000 0038 020000d3 0000 0001 000001e0"));
        assert_eq!(packet(1, 210).unwrap().len(), 8 + 1224);
        assert_eq!(packet(1, 212), None);
        assert_eq!(shape.unavailable(1, 0x21), hex("800c 0001 03000021"));
        let long = Shape { is_extended: true, ..shape };
        let trailer = long.packet(0, 1, 0xd5, &leader, &image).unwrap();
        let golden = hex("0000 0000 82000000 0000000000000001 000000d5 00000001 000001e0");
        assert_eq!(trailer, golden);
        assert_eq!(parse(&golden), Some((1, 0xd5, Part::Trailer)));
        assert_eq!(parse(&packet(9, 0).unwrap()), Some((9, 0, Part::Leader(leader))));
    }

    /// Chunks in the form that Wireshark's dissector and Aravis read.
    #[test]
    fn chunks_follow_an_image() {
        let mut payload = vec![7; 16];
        end_chunk(&mut payload, 1, 16);
        payload.extend(5u64.to_be_bytes());
        end_chunk(&mut payload, 2, 8);
        let all = chunks(&payload).unwrap();
        assert_eq!(all, [(2, &5u64.to_be_bytes()[..]), (1, &[7; 16][..])]);
        assert_eq!(chunks(&payload[1..]), None);
        assert_eq!(chunks(&[0xff; 8]), None);
        let leader = Leader {
            timestamp: 1,
            pixel_format: PixelFormat::Mono8.code(),
            region: [4, 4, 0, 0],
            chunks: Some(3),
        };
        let shape = Shape { packet_size: 1500, is_extended: false };
        let packet = |number| shape.packet(0, 1, number, &leader, &payload).unwrap();
        assert_eq!(packet(0)[8..12], [0, 0, 0x40, 1]);
        assert_eq!(packet(2), hex("0000 0001 02000002 0000 4001 00000004 00000028 00000003"));
        let first = packet(0);
        assert_eq!(
            parse(&first).unwrap(),
            (1, 0, Part::Leader(Leader { chunks: Some(0), ..leader }))
        );
        assert_eq!(parse(&packet(2)), Some((1, 2, Part::Trailer)));
    }
}
