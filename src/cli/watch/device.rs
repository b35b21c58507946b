//! Decoders of one device's bytes.

use super::{SeenPoint, What};
use crate::analysis::truth::join::PacketJoin;
use crate::analysis::truth::points::{PointPlace, SensorPoint, scan_points};
use crate::config::rig::DeviceConfig;
use crate::devices::decoder::datagram::{CloudPoint, DATA, DatagramDecoder, PointSource};
use crate::devices::decoder::{Hints, StreamDecoder};
use crate::devices::families::{catalogue, family_of};
use crate::devices::{Output, Transmit};
use crate::engine::truth::labels::Labels;
use crate::engine::truth::packets::returns_of;
use crate::frames::{Sensor, Transform, World};
use crate::sensors::camera::lens::Lens;
use crate::time::SimTime;
use crate::wire::port::Peer;
use crate::wire::truth::PacketRecord;

/// Number of points of one device in a frame above which fewer of its packets are decoded.
const MOST_POINTS: usize = 60_000;
/// Ports for a decoder that identifies packets by their content only.
const NO_PORTS: [u16; 2] = [0, 0];
/// Longest pause of the decoded connection, nanoseconds. After a longer pause, the connection of the next host that
/// gets data is decoded instead.
const PEER_PATIENCE_NS: u64 = 1_000_000_000;

/// Function that returns a sensor's pose.
type Place<'a> = &'a dyn Fn() -> Transform<World, Sensor>;
/// Function that returns the ground truth of a packet, if known.
type Record<'a> = &'a dyn Fn() -> Option<PacketRecord>;

/// Decoders of a device, with their state.
pub struct WatchedDevice {
    datagrams: Option<Box<dyn DatagramDecoder>>,
    source: Option<PointSource>,
    /// Lens of a camera's latest image.
    lens: Option<Box<Lens>>,
    stream: Option<Box<dyn StreamDecoder>>,
    /// The host whose connection is decoded, and the time of the last bytes to it.
    peer: Option<(Peer, SimTime)>,
    /// Number of points decoded in the present frame; reset to 0 whenever `stride` increases.
    in_frame: usize,
    packets: u64,
    /// One in `stride` packets is decoded. The stride grows until a frame has at most about [`MOST_POINTS`] points.
    stride: u64,
    cloud: Vec<CloudPoint>,
    points: Vec<SensorPoint>,
    seen: Vec<SeenPoint>,
}

impl WatchedDevice {
    /// State for a device that has sent nothing yet.
    pub fn new(config: &DeviceConfig) -> Self {
        let family = family_of(&config.profile);
        let profile = Some(&*config.profile);
        let hints = Hints { profile, anyway: true, calibration: None };
        Self {
            datagrams: family.datagram_decoder(&hints, catalogue().profiles()).ok().flatten(),
            source: None,
            lens: None,
            stream: family.stream_decoder(profile),
            peer: None,
            in_frame: 0,
            packets: 0,
            stride: 1,
            cloud: Vec::new(),
            points: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Ends the present frame; the next packet belongs to a new frame.
    pub fn end_frame(&mut self) {
        self.in_frame = 0;
    }

    /// Decodes a packet and passes its content to `tell`; with `labels`, the decoded points get labels.
    pub fn decode(
        &mut self,
        transmit: &Transmit,
        labels: Option<&Labels>,
        place: Place<'_>,
        tell: &mut dyn FnMut(What<'_>),
    ) {
        let due = transmit.due;
        if let Some(lens) = &transmit.truth.lens {
            self.lens = Some(lens.clone());
        }
        let labels = labels.filter(|_| !transmit.truth.sweeps.is_empty());
        let record = || labels.map(|labels| returns_of(&transmit.truth, due, labels));
        match &transmit.output {
            Output::Datagram { bytes, .. } => self.decode_datagram(bytes, &record, place, tell),
            Output::Bytes(bytes) => self.decode_stream(bytes, &record, place, tell),
            Output::BytesTo(peer, bytes) => {
                let is_followed = self.peer.is_none_or(|(followed, at)| {
                    followed == *peer || due.0 > at.0 + PEER_PATIENCE_NS
                });
                if is_followed {
                    self.peer = Some((*peer, due));
                    self.decode_stream(bytes, &record, place, tell);
                }
            }
            _ => {}
        }
    }

    fn decode_datagram(
        &mut self,
        bytes: &[u8],
        record: Record<'_>,
        place: Place<'_>,
        tell: &mut dyn FnMut(What<'_>),
    ) {
        let Some(decoder) = &mut self.datagrams else { return };
        let Some(head) = decoder.head(NO_PORTS, bytes) else { return };
        if head.kind != DATA {
            decoder.learn_aside(bytes);
            tell(What::Message(head.kind, &decoder.text(bytes)));
            return;
        }
        self.packets += 1;
        if self.in_frame > MOST_POINTS {
            // From now on fewer packets are decoded, also in the rest of this frame.
            self.stride += 1;
            self.in_frame = 0;
        }
        if !self.packets.is_multiple_of(self.stride) {
            return;
        }
        if self.source.is_none() {
            decoder.learn(bytes);
            if let Some(picture) = decoder.picture() {
                tell(What::Picture(&picture, self.lens.as_deref()));
            }
            self.source = decoder.point_source().ok();
        }
        let Some(source) = &self.source else { return };
        self.cloud.clear();
        for block in 0..decoder.sweep(bytes).azimuths_centideg.len() {
            (source.decode)(bytes, block, &mut self.cloud);
        }
        let point = |point: &CloudPoint| SensorPoint {
            position_m: point.position_m,
            intensity: point.intensity,
            laser: point.laser,
            range_m: point.range_m,
            place: PointPlace::Firing(point.firing),
        };
        self.points.clear();
        self.points.extend(self.cloud.iter().map(point));
        self.in_frame += self.points.len();
        label(&self.points, record().as_ref(), &mut self.seen);
        tell(What::Points { points: &self.seen, world_from_sensor: place() });
    }

    fn decode_stream(
        &mut self,
        mut bytes: &[u8],
        record: Record<'_>,
        place: Place<'_>,
        tell: &mut dyn FnMut(What<'_>),
    ) {
        let Some(decoder) = &mut self.stream else { return };
        while let Some(frame) = decoder.next_frame(&mut bytes) {
            let Some(scan) = frame.content.scan() else {
                tell(What::Frame(frame.kind.as_deref(), &*frame.content));
                continue;
            };
            label(&scan_points(&scan), record().as_ref(), &mut self.seen);
            tell(What::Points { points: &self.seen, world_from_sensor: place() });
        }
    }
}

/// Replaces the content of `seen` by `points`, with labels if the packet's ground truth is known.
fn label(points: &[SensorPoint], truth: Option<&PacketRecord>, seen: &mut Vec<SeenPoint>) {
    let truth = truth.map(PacketJoin::new);
    let label_of = |point: &SensorPoint| Some(truth.as_ref()?.find(point)?.seen.label);
    seen.clear();
    seen.extend(points.iter().map(|point| SeenPoint {
        position_m: point.position_m,
        // Points of scanners without intensities are drawn bright.
        intensity: if point.intensity.is_nan() {
            255
        } else {
            point.intensity.clamp(0.0, 255.0) as u8
        },
        laser: point.laser as u16,
        label: label_of(point).unwrap_or(0),
    }));
}
