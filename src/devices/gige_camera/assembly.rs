//! Reassembles images from the packets of a stream.

use crate::decoder::picture::Picture;
use crate::wire::gige::gvsp::{Leader, Part, PixelFormat, parse};

/// Largest number of images in progress; packets of an image can be resent while the next one arrives.
const MOST_OPEN: usize = 3;
/// Largest image that is reassembled, bytes.
const MOST_BYTES: usize = 32 << 20;

/// Images of which only some packets have arrived so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Assembly {
    open: Vec<Open>,
}

/// A partly received image.
#[derive(Clone, Debug)]
struct Open {
    block: u64,
    leader: Leader,
    format: PixelFormat,
    image: Vec<u8>,
    /// Payload length of a full packet, bytes; 0 before the first payload packet.
    stride: usize,
    /// For each payload packet, whether it was received.
    has: Vec<bool>,
    missing: usize,
}

impl Assembly {
    /// Adds a packet; returns the image that it completes, if any.
    pub fn take(&mut self, packet: &[u8]) -> Option<Picture> {
        match parse(packet)? {
            (block, _, Part::Leader(leader)) => {
                let format = PixelFormat::of_code(leader.pixel_format)?;
                let [width, height, ..] = leader.region;
                let bits = u64::from(leader.pixel_format >> 16 & 0xff);
                let length = (u64::from(width) * u64::from(height)).checked_mul(bits)?.div_ceil(8);
                let is_known = self.open.iter().any(|open| open.block == block);
                if is_known || length == 0 || length > MOST_BYTES as u64 {
                    return None;
                }
                if self.open.len() == MOST_OPEN {
                    self.open.remove(0);
                }
                let image = vec![0; length as usize];
                let (has, missing) = (Vec::new(), 0);
                self.open.push(Open { block, leader, format, image, stride: 0, has, missing });
                None
            }
            (block, packet, Part::Payload(data)) => {
                let place = self.open.iter().position(|open| open.block == block)?;
                let is_whole = self.open[place].add(packet, data);
                is_whole.then(|| self.open.remove(place).close())
            }
            (_, _, Part::Trailer) => None,
        }
    }
}

impl Open {
    /// Adds the data of a packet; returns whether the image is complete. All packets except the last have the same
    /// length. Data after the end of the image are ignored.
    fn add(&mut self, packet: u32, data: &[u8]) -> bool {
        if data.is_empty() {
            return false;
        }
        if self.stride == 0 {
            self.stride = data.len();
            self.missing = self.image.len().div_ceil(self.stride);
            self.has = vec![false; self.missing];
        }
        let place = (packet as usize).wrapping_sub(1);
        let Some(has @ false) = self.has.get_mut(place) else { return false };
        let from = place * self.stride;
        let length = self.stride.min(self.image.len() - from);
        let Some(data) = data.get(..length) else { return false };
        *has = true;
        self.image[from..from + length].copy_from_slice(data);
        self.missing -= 1;
        self.missing == 0
    }

    fn close(self) -> Picture {
        let [width, height, left, top] = self.leader.region;
        let (number, format, bytes) = (self.block, self.format, self.image);
        Picture { number, size: [width, height], offset: [left, top], format, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::gige::gvsp::Shape;

    fn packets(shape: Shape, block: u64, image: &[u8]) -> Vec<Vec<u8>> {
        let leader = Leader {
            timestamp: 0,
            pixel_format: PixelFormat::Mono8.code(),
            region: [50, 40, 0, 0],
            chunks: None,
        };
        (0..).map_while(|packet| shape.packet(0, block, packet, &leader, image)).collect()
    }

    #[test]
    fn an_image_is_whole_when_all_its_packets_have_come() {
        let image: Vec<u8> = (0..2000).map(|place| place as u8).collect();
        for is_extended in [false, true] {
            let shape = Shape { packet_size: 576, is_extended };
            let mut assembly = Assembly::default();
            let (mut late, all) = (packets(shape, 1, &image).remove(2), packets(shape, 2, &image));
            let first = packets(shape, 1, &image);
            for packet in first.iter().enumerate().filter(|(place, _)| *place != 2) {
                assert_eq!(assembly.take(packet.1), None);
            }
            for packet in &all[..3] {
                assert_eq!(assembly.take(packet), None);
            }
            // A resent packet.
            late[0] = 1;
            let found = assembly.take(&late).expect("all packets have come");
            assert_eq!((found.number, found.size, &found.bytes), (1, [50, 40], &image));
            assert_eq!(assembly.take(&all[1]), None, "a packet that comes twice counts once");
            let rest: Vec<_> = all[3..].iter().filter_map(|packet| assembly.take(packet)).collect();
            assert_eq!((rest.len(), &rest[0].bytes), (1, &image));
        }
    }

    #[test]
    fn hostile_packets_take_little_memory_and_make_no_image() {
        let huge = Leader {
            timestamp: 0,
            pixel_format: PixelFormat::Mono8.code(),
            region: [u32::MAX, u32::MAX, 0, 0],
            chunks: None,
        };
        let shape = Shape { packet_size: 576, is_extended: false };
        let mut assembly = Assembly::default();
        let leader = shape.packet(0, 1, 0, &huge, &[0; 9]).expect("a leader");
        assert_eq!(assembly.take(&leader), None);
        assert!(assembly.open.is_empty());
        for block in 1..100 {
            let all = packets(shape, block, &[0; 2000]);
            assembly.take(&all[0]);
            assembly.take(&all[2][..9]);
            assembly.take(&all[1]);
            assembly.take(&[]);
        }
        assert_eq!(assembly.open.len(), MOST_OPEN);
    }
}
