//! Decodes packets of a camera's stream.

use serde_json::{Map, Value, json};

use super::assembly::Assembly;
use super::profile::CameraProfile;
use crate::config::profile::Profile;
use crate::decoder::datagram::{DATA, DatagramDecoder, Head, Lines, PointSource, Sweep, Twin};
use crate::decoder::object_of;
use crate::decoder::picture::Picture;
use crate::wire::gige::gvsp::{Leader, Part, PixelFormat, parse};
use crate::wire::gige::status;

/// Largest distance of a repeated leader's block id from that of the latest leader.
const MOST_BEHIND: u64 = 2;

/// Decoder of a camera's stream, with its state from earlier packets.
#[derive(Clone, Debug, Default)]
pub(super) struct CameraDecoder {
    is_named: bool,
    leader: Option<Leader>,
    block: u64,
    frames: u64,
    missing: u64,
    /// Timestamp of the first frame, nanoseconds.
    first_ns: Option<u64>,
    /// Number of frames after the first one, including missing frames.
    since_first: u64,
    whole: u64,
    /// Number of packets that the camera marked as resent.
    resent: u64,
    assembly: Assembly,
    picture: Option<Picture>,
}

impl CameraDecoder {
    /// Decoder for the stream of any camera. `is_named`: whether the user has named a profile of a camera.
    pub(super) fn new(is_named: bool) -> Self {
        Self { is_named, ..Self::default() }
    }

    /// Frames per second by the camera's clock, which counts nanoseconds; `None` if no time has passed on it.
    fn rate_hz(&self) -> Option<f64> {
        let (first_ns, leader) = self.first_ns.zip(self.leader)?;
        let span_ns = leader.timestamp.checked_sub(first_ns).filter(|span_ns| *span_ns > 0)?;
        Some(self.since_first as f64 * 1e9 / span_ns as f64)
    }

    /// Whether a leader repeats that of a recent frame. Cameras mark resent packets only if their host enables it.
    fn is_repeated(&self, block: u64, leader: &Leader) -> bool {
        // Block ids of 16 bits go from 65535 to 1.
        let wrapped = || self.block.checked_add(0xffff)?.checked_sub(block);
        let behind = self.block.checked_sub(block).or_else(wrapped);
        let is_recent = behind.is_some_and(|behind| behind <= MOST_BEHIND);
        is_recent && self.leader.is_some_and(|latest| leader.timestamp <= latest.timestamp)
    }

    fn format(&self) -> &'static str {
        let code = self.leader.map_or(0, |leader| leader.pixel_format);
        PixelFormat::of_code(code).map_or("unknown format", PixelFormat::word)
    }
}

impl DatagramDecoder for CameraDecoder {
    fn boxed_clone(&self) -> Box<dyn DatagramDecoder> {
        Box::new(self.clone())
    }

    fn head(&self, _ports: [u16; 2], payload: &[u8]) -> Option<Head> {
        let (_, packet, part) = parse(payload)?;
        // Headers of payload and trailer packets have few fixed bits, so these packets count only after a leader or if the
        // user has named a camera's profile.
        let is_sound = match part {
            Part::Leader(leader) => {
                packet == 0 && PixelFormat::of_code(leader.pixel_format).is_some()
            }
            Part::Payload(_) | Part::Trailer => {
                packet > 0 && (self.leader.is_some() || self.is_named)
            }
        };
        is_sound.then_some(Head { kind: DATA, stamp: None })
    }

    fn learn(&mut self, payload: &[u8]) {
        let Some((block, _, part)) = parse(payload) else { return };
        let is_resent = payload.starts_with(&status::RESENT.to_be_bytes());
        self.resent += u64::from(is_resent);
        self.picture = self.assembly.take(payload);
        self.whole += u64::from(self.picture.is_some());
        if let Part::Leader(leader) = part
            && !is_resent
            && !self.is_repeated(block, &leader)
            && PixelFormat::of_code(leader.pixel_format).is_some()
        {
            self.first_ns.get_or_insert(leader.timestamp);
            if self.frames > 0 {
                // Block ids of 16 bits wrap to 1, and a reopened stream starts at 1.
                let step = if block < self.block { 1 } else { block - self.block };
                // Block ids of 64 bits can have any value.
                self.missing = self.missing.saturating_add(step.saturating_sub(1));
                self.since_first = self.since_first.saturating_add(step);
            }
            (self.leader, self.block, self.frames) = (Some(leader), block, self.frames + 1);
        }
    }

    fn sends_images(&self) -> bool {
        true
    }

    fn picture(&mut self) -> Option<Picture> {
        self.picture.take()
    }

    fn likelihood(&self) -> f64 {
        match (self.is_named, self.leader.is_some()) {
            (true, true) => 2.0,
            (false, true) => 1.0,
            (_, false) => 0.0,
        }
    }

    fn sweep(&self, _payload: &[u8]) -> Sweep {
        Sweep::default()
    }

    fn has_stamps(&self) -> bool {
        false
    }

    fn protocol(&self, _has_stamps: bool) -> &'static str {
        "gige-vision"
    }

    fn model(&self) -> String {
        "camera".to_owned()
    }

    fn text(&self, payload: &[u8]) -> String {
        match parse(payload) {
            Some((block, _, Part::Leader(leader))) => {
                let [width, height, ..] = leader.region;
                let code = leader.pixel_format;
                let format = PixelFormat::of_code(code).map_or("unknown format", PixelFormat::word);
                format!("leader  #{block}  {width} x {height} {format}  t {} ns", leader.timestamp)
            }
            Some((block, packet, Part::Payload(data))) => {
                format!("image  #{block}  packet {packet}  {} bytes", data.len())
            }
            Some((block, packet, Part::Trailer)) => format!("trailer  #{block}  packet {packet}"),
            None => String::new(),
        }
    }

    fn fields(&self, payload: &[u8]) -> Map<String, Value> {
        let Some((block, packet, part)) = parse(payload) else { return Map::new() };
        object_of(match part {
            Part::Leader(leader) => json!({
                "part": "leader", "block": block, "timestamp_ns": leader.timestamp,
                "pixel_format": leader.pixel_format, "region": leader.region,
            }),
            Part::Payload(data) => {
                json!({ "part": "image", "block": block, "packet": packet, "bytes": data.len() })
            }
            Part::Trailer => json!({ "part": "trailer", "block": block, "packet": packet }),
        })
    }

    fn status_lines(&self) -> Lines {
        let Some(leader) = self.leader else { return Lines::new() };
        let [width, height, ..] = leader.region;
        let mut lines = vec![
            ("image", format!("{width} x {height} {}", self.format())),
            ("frames", format!("{}, {} whole", self.frames, self.whole)),
            ("missing frames", self.missing.to_string()),
            ("resent packets", self.resent.to_string()),
        ];
        if let Some(rate_hz) = self.rate_hz() {
            lines
                .push(("frame rate", format!("{rate_hz:.3} Hz, assuming a camera clock of 1 GHz")));
        }
        lines
    }

    fn status(&self) -> Value {
        let Some(leader) = self.leader else { return Value::Null };
        json!({
            "region": leader.region, "pixel_format": self.format(), "frames": self.frames,
            "whole_frames": self.whole, "missing_frames": self.missing,
            "resent_packets": self.resent, "frame_rate_hz": self.rate_hz(),
        })
    }

    fn point_source(&self) -> Result<PointSource, String> {
        Err("sends images, not points".to_owned())
    }

    fn twin(&self, profile: &Profile, _rate_rpm: f64) -> Result<Twin, String> {
        let leader = self.leader.ok_or("contains no image")?;
        if profile.data::<CameraProfile>().is_none() {
            return Err(format!("cannot be compared with {}", profile.name));
        }
        let ([width, height, ..], format) = (leader.region, self.format());
        let rate_hz = self.rate_hz().unwrap_or(1.0).clamp(0.1, 1000.0);
        Ok(Twin {
            settings: format!(
                "{{ image_width = {width}, image_height = {height}, pixel_format = {format:?}, \
                 frame_rate_hz = {rate_hz:.3}, streams_alone = true }}"
            ),
            title: format!("{width} x {height} {format}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::gige::gvsp::Shape;

    #[test]
    fn block_ids_of_any_size_are_counted() {
        let leader = Leader {
            timestamp: 0,
            pixel_format: PixelFormat::Mono8.code(),
            region: [50, 40, 0, 0],
            chunks: None,
        };
        let shape = Shape { packet_size: 576, is_extended: true };
        let mut decoder = CameraDecoder::new(true);
        for block in [1, u64::MAX, 0, u64::MAX] {
            let packet = shape.packet(0, block, 0, &leader, &[0; 2000]).expect("a leader");
            decoder.learn(&packet);
        }
        assert_eq!((decoder.frames, decoder.missing), (4, u64::MAX));
    }

    #[test]
    fn a_leader_that_comes_again_is_no_frame() {
        let leader = Leader {
            timestamp: 0,
            pixel_format: PixelFormat::Mono8.code(),
            region: [50, 40, 0, 0],
            chunks: None,
        };
        let shape = Shape { packet_size: 576, is_extended: false };
        // Ids of 16 bits go from 65535 to 1.
        for blocks in [[1, 2, 1, 2, 3], [0xffff, 1, 0xffff, 1, 2]] {
            let mut decoder = CameraDecoder::new(true);
            for (block, timestamp) in blocks.into_iter().zip([1, 2, 1, 2, 3]) {
                let leader = Leader { timestamp, ..leader };
                let packet = shape.packet(0, block, 0, &leader, &[0; 2000]).expect("a leader");
                decoder.learn(&packet);
            }
            assert_eq!((decoder.frames, decoder.missing), (3, 0), "{blocks:?}");
        }
    }
}
