//! Frames: their times, their measurements, and their packets.

use std::collections::VecDeque;
use std::sync::Arc;

use super::GigeCamera;
use super::features::{Chunk, Values, at};
use super::image::{Making, pattern};
use super::profile::{Pulses, Stamped};
use crate::config::profile::network::PortIndex;
use crate::sensors::camera::faults::CameraFault;
use crate::sensors::camera::lens::Mirror;
use crate::sensors::camera::truth::{FrameTruth, TileTruth};
use crate::sensors::camera::{FULL_SCALE, Shot, Tile};
use crate::sensors::fault::{EffectKind, FaultEffect};
use crate::sensors::noise::Quantity;
use crate::sensors::{MeasurementRequest, Subject};
use crate::time::SimTime;
use crate::wire::gige::gvsp::{Leader, Shape, end_chunk};
use crate::wire::gige::{Resend, status};
use crate::{Output, REACTION_NS, Transmit};

/// Approximate largest number of pixels per tile; tiles of a frame are computed in parallel.
const TILE_PIXELS: u32 = 40_000;
/// Largest number of frames that are taken and not sent yet.
const MOST_FRAMES: usize = 8;
/// Largest number of image bytes stored for resending. The latest two frames are stored even if they are larger.
const MOST_KEPT: usize = 64 << 20;
/// Target of auto functions, an assumption: mean brightness as a fraction of full scale.
const TARGET: f64 = 0.4;
/// Deviation from the target within which auto functions change nothing, as a fraction of the target; an assumption.
const DEAD_BAND: f64 = 0.05;
/// Transmission time of the resent packets that can wait at once; an assumption. Further requests are ignored.
const MOST_RESENT_NS: u64 = 100_000_000;
/// First number of the random streams that decide whether a fault drops a frame; the start time of the frame is added.
const LOSS_DRAWS: u64 = 1 << 62;
/// Bytes on the wire in addition to the packet size: preamble, Ethernet header and checksum, gap.
const ETHERNET_BYTES: u64 = 38;
/// Time of a byte on the wire at 1 Gbit/s.
const NS_PER_BYTE: u64 = 8;

/// Acquisition and stream of a unit.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Number of frames still to take; `None`: unlimited.
    left: Option<u64>,
    is_running: bool,
    /// Earliest start of the next frame.
    next_start: SimTime,
    /// Time up to which pulses at the input are processed.
    line_from: SimTime,
    /// Start of the exposure for each trigger that has no planned frame yet.
    triggers: VecDeque<SimTime>,
    frames: VecDeque<Frame>,
    /// Tiles of the newest frame that are not requested yet.
    unasked: VecDeque<Tile>,
    /// Start of the frame whose tiles are in `unasked`.
    unasked_start: SimTime,
    requests: u64,
    numbers: u64,
    /// Block id of the latest frame; at first, one less than the id of the first frame.
    block: u64,
    block_before: u64,
    kept: VecDeque<Sent>,
    /// Time at which the transmission of all packets so far ends.
    free_at: SimTime,
    /// Time at which the transmission of all resent packets so far ends.
    resent_free_at: SimTime,
    /// Frame number and mean brightness (fraction of full scale) of each frame that auto functions have not used yet.
    means: VecDeque<(u64, f64)>,
    /// Effects of faults that dropped frames; the next sent frame reports them.
    unreported: Vec<FaultEffect>,
    /// Settings and start of the latest frame.
    latest: Option<(Arc<Shot>, SimTime)>,
    /// Ground truth of sent frames.
    pub(super) told: VecDeque<FrameTruth>,
}

impl Stream {
    /// A stream that has no frames yet; its first frame will have the block id `first_block`.
    pub fn new(first_block: u32) -> Self {
        let block = u64::from(first_block) - 1;
        Self { block, block_before: block, ..Self::default() }
    }

    /// Records the effect of a fault that dropped a frame.
    fn note_drop(&mut self, effects: &[FaultEffect]) {
        for effect in effects {
            let EffectKind::FramesDropped { count } = effect.kind else { continue };
            let mut noted = self.unreported.iter_mut();
            let noted =
                noted.find(|noted| (noted.fault, noted.window) == (effect.fault, effect.window));
            match noted.map(|noted| &mut noted.kind) {
                Some(EffectKind::FramesDropped { count: sum }) => *sum += count,
                _ => self.unreported.push(*effect),
            }
        }
    }
}

#[derive(Debug)]
struct Frame {
    number: u64,
    shot: Arc<Shot>,
    start: SimTime,
    /// Earliest time at which the image can be sent: exposure and readout are complete then.
    ready_at: SimTime,
    making: Making,
    first_request: u64,
    requests: u64,
    /// Index of the request whose answer is expected next.
    next_request: u64,
    counts: Vec<u16>,
    chunks: Vec<Chunk>,
    effects: Vec<FaultEffect>,
    /// Ground truth of the tiles, if recorded.
    tiles: Vec<Arc<TileTruth>>,
    /// Whether the frame is dropped: by a fault, because tiles were revoked, or because the stream was stopped.
    is_lost: bool,
    /// Whether the frame was cancelled before its start, because trigger settings changed.
    is_void: bool,
}

impl Frame {
    fn is_complete(&self) -> bool {
        self.is_lost || self.is_void || self.next_request == self.first_request + self.requests
    }
}

/// A sent frame, stored for resending.
#[derive(Debug)]
struct Sent {
    block: u64,
    leader: Leader,
    image: Vec<u8>,
    shape: Shape,
    until: SimTime,
}

impl GigeCamera {
    /// Starts the acquisition.
    pub(super) fn start_stream(&mut self) {
        let stream = &mut self.stream;
        stream.left = match self.values.whole(at::MODE) {
            0 => None,
            1 => Some(1),
            _ => Some(self.values.whole(at::FRAME_COUNT).into()),
        };
        stream.is_running = true;
        stream.triggers.clear();
        stream.line_from = self.now;
        stream.next_start =
            stream.next_start.max(SimTime(self.now.0 + self.profile.timing.trigger_ns));
    }

    /// Stops the acquisition; no more frames are taken or sent.
    pub(super) fn stop_stream(&mut self) {
        self.stream.is_running = false;
        self.stream.latest = None;
        self.stream.next_start = self.now;
        // Resent packets that wait are withdrawn, too.
        self.stream.resent_free_at = self.now;
        self.stream.unasked.clear();
        self.stream.triggers.clear();
        self.stream.frames.iter_mut().for_each(|frame| frame.is_lost = true);
        self.ready.push_back(Transmit::new(self.now, Output::Revoke(PortIndex::DATA)));
    }

    pub(super) fn is_streaming(&self) -> bool {
        self.stream.is_running
    }

    /// Restarts block ids at the setting `first_block` (1 in the GigE Vision standard), because the channel was opened.
    pub(super) fn restart_blocks(&mut self) {
        self.stream.block = self.stream.block_before;
        self.stream.kept.clear();
    }

    /// Cancels frames that have not started, because the trigger settings have changed. If the camera waited for triggers
    /// before (`was_triggered`), a frame that needs none starts now at the earliest.
    pub(super) fn plan_again(&mut self, was_triggered: bool) {
        let now = self.now;
        let stream = &mut self.stream;
        stream.triggers.clear();
        stream.line_from = now;
        if was_triggered {
            stream.next_start = stream.next_start.max(now);
        }
        let mut voided = 0;
        for frame in stream.frames.iter_mut().filter(|frame| frame.start > now && !frame.is_void) {
            frame.is_void = true;
            // Tiles that were not requested are not needed any more. Their request indices are used for later frames.
            frame.requests = frame.requests.min(stream.requests - frame.first_request);
            stream.next_start = stream.next_start.min(frame.start);
            voided += 1;
        }
        if voided > 0 {
            stream.unasked.clear();
            let latest = stream.frames.iter().rfind(|frame| !frame.is_void);
            stream.latest = latest.map(|frame| (Arc::clone(&frame.shot), frame.start));
        }
        stream.left = stream.left.map(|left| left + voided);
    }

    /// Whether a frame is being exposed.
    pub(super) fn is_exposing(&self) -> bool {
        self.stream.frames.iter().any(|frame| {
            let end = frame.start.0 + frame.shot.exposure_ns;
            !frame.is_void && !frame.is_lost && (frame.start.0..end).contains(&self.now.0)
        })
    }

    /// Processes a trigger at `when`. The trigger is missed in any of these cases: the acquisition is stopped; an
    /// earlier trigger still waits; [`MOST_FRAMES`] frames are unsent; its exposure would start less than the shortest
    /// frame period after the start of the previous exposure.
    pub(super) fn trigger(&mut self, when: SimTime) {
        let start = SimTime(when.0 + self.trigger_delay_ns());
        let is_free = start >= self.stream.next_start && self.stream.triggers.is_empty();
        if self.stream.is_running && is_free && self.stream.frames.len() < MOST_FRAMES {
            self.stream.triggers.push_back(start);
        } else {
            self.count(at::TRIGGERS_MISSED, 1);
        }
    }

    /// Time from a trigger to the start of the exposure.
    fn trigger_delay_ns(&self) -> u64 {
        (self.values.get(at::TRIGGER_DELAY) * 1e3) as u64 + self.profile.timing.trigger_ns
    }

    /// Start of the next frame triggered by a generated pulse at `Line1`, if it is before `horizon`. A pulse is
    /// missed if its exposure would start less than the shortest frame period after the previous start.
    fn next_pulse(&mut self, pulses: &Pulses, horizon: SimTime) -> Option<SimTime> {
        let (edges, delay_ns) = (self.wanted_edges(), self.trigger_delay_ns());
        loop {
            let edge = pulses.next_edge(self.stream.line_from, edges)?;
            let start = SimTime(edge.0 + delay_ns);
            if start >= horizon {
                return None;
            }
            self.stream.line_from = SimTime(edge.0 + 1);
            if start >= self.stream.next_start {
                return Some(start);
            }
            self.count(at::TRIGGERS_MISSED, 1);
        }
    }

    /// Transmission time of a frame's packets.
    pub(super) fn wire_ns(&self) -> u64 {
        let packets = u64::from(self.control.shape().packets(self.values.payload()));
        packets * self.packet_ns()
    }

    /// Time from the start of a packet to the start of the next one.
    fn packet_ns(&self) -> u64 {
        let wire_ns = (self.control.shape().packet_size as u64 + ETHERNET_BYTES) * NS_PER_BYTE;
        wire_ns + u64::from(self.control.packet_delay)
    }

    pub(super) fn next_request(&mut self, horizon: SimTime) -> Option<MeasurementRequest> {
        while self.stream.unasked.is_empty() {
            let start = self.next_frame(horizon)?;
            self.plan(start);
        }
        let tile = self.stream.unasked.pop_front()?;
        let index = self.stream.requests;
        self.stream.requests += 1;
        let start = self.stream.unasked_start;
        Some(MeasurementRequest { index, start, subject: Subject::Tile(tile) })
    }

    /// Start of the next frame, if it is before `horizon`; `None` also while no frame can be taken.
    fn next_frame(&mut self, horizon: SimTime) -> Option<SimTime> {
        let stream = &self.stream;
        if !stream.is_running || stream.left == Some(0) || stream.frames.len() >= MOST_FRAMES {
            return None;
        }
        let is_auto =
            [at::EXPOSURE_AUTO, at::GAIN_AUTO].iter().any(|auto| self.values.get(*auto) != 0.0);
        // Auto functions apply the brightness of a frame to the second frame after it, so at most two frames may be
        // incomplete.
        if is_auto && stream.frames.iter().filter(|frame| !frame.is_complete()).count() >= 2 {
            return None;
        }
        if let Some(pulses) = self.settings.line1.filter(|_| self.is_triggered_by_line()) {
            return self.next_pulse(&pulses, horizon);
        }
        let stream = &mut self.stream;
        if self.values.get(at::TRIGGER_MODE) != 0.0 {
            return stream.triggers.pop_front_if(|start| *start < horizon);
        }
        // The start does not depend on the present time, so that a busy machine sends the frames of a recording.
        Some(stream.next_start).filter(|start| *start < horizon)
    }

    /// Exposure time of a frame that begins at `start`: the set value, unless a fault makes the exposure time
    /// oscillate.
    fn exposed_ns(&self, start: SimTime) -> u64 {
        let on = self.faults.iter().filter(|fault| fault.is_on(start));
        let factor: f64 = on.map(|fault| fault.kind.exposure_factor(start)).product();
        if factor == 1.0 {
            return self.exposure_ns();
        }
        let [shortest, longest] = self.profile.exposure_ns();
        let longest = longest.min(self.period_ns()).max(shortest);
        ((self.exposure_ns() as f64 * factor) as u64).clamp(shortest, longest)
    }

    fn plan(&mut self, start: SimTime) {
        self.adapt();
        let (exposure_ns, readout_ns) = (self.exposed_ns(start), self.readout_ns());
        let region @ [_, _, width, height] = self.values.region();
        let number = self.stream.numbers;
        self.stream.numbers += 1;
        let binning = [at::BINNING_X, at::BINNING_Y].map(|address| self.values.whole(address));
        let latest = self.stream.latest.take();
        let before = latest
            .filter(|(shot, _)| (shot.region, shot.binning) == (region, binning))
            .map(|(shot, start)| shot.exposed(start));
        let shot = Arc::new(Shot {
            // The noise depends on the start time, not on the frame number, so that a recording and a live host get the
            // same frames.
            number: start.0,
            exposure_ns,
            line_ns: self.profile.rolling_ns(),
            region,
            binning,
            gain_db: self.values.get(at::GAIN),
            black: self.values.get(at::BLACK),
            before,
        });
        self.stream.latest = Some((Arc::clone(&shot), start));
        let making = Making {
            format: self.values.format(),
            width,
            height,
            gamma: self.values.get(at::GAMMA),
            mirror: Mirror {
                axes: [at::REVERSE_X, at::REVERSE_Y].map(|address| self.values.get(address) != 0.0),
                is_colour: self.profile.sensor.chip.is_colour,
            },
        };
        let kind = self.values.whole(at::TEST_PATTERN);
        let drawn = pattern(kind, width, height, making.mirror.is_colour, number);
        let rows = (TILE_PIXELS / width.max(1)).max(8) / 8 * 8;
        if drawn.is_none() {
            let starts = (0..height).step_by(rows as usize);
            let tiles = starts
                .map(|row| Tile { shot: Arc::clone(&shot), rows: [row, height.min(row + rows)] });
            self.stream.unasked = tiles.collect();
        }
        self.stream.unasked_start = start;
        let (is_lost, effects) = self.disturb(start);
        if is_lost {
            self.stream.unasked.clear();
        }
        let requests = self.stream.unasked.len() as u64;
        self.stream.next_start = SimTime(start.0 + self.period_ns());
        self.stream.left = self.stream.left.map(|left| left - 1);
        self.stream.frames.push_back(Frame {
            number,
            start,
            ready_at: SimTime(start.0 + exposure_ns + readout_ns),
            making,
            chunks: self.values.chunks(),
            effects,
            is_void: false,
            first_request: self.stream.requests,
            next_request: self.stream.requests,
            requests,
            counts: drawn.unwrap_or_default(),
            tiles: Vec::new(),
            shot,
            is_lost,
        });
    }

    /// Effects of faults on the frame that begins at `start`: whether it is dropped, and the effects to report.
    fn disturb(&self, start: SimTime) -> (bool, Vec<FaultEffect>) {
        let mut is_lost = false;
        let mut effects: Vec<FaultEffect> =
            crate::ptp::faults::effects(self.clock.faults(), start, start).collect();
        for fault in &self.faults {
            let Some(window) = fault.schedule.window_at(start) else { continue };
            let kind = match fault.kind {
                CameraFault::FramesDropped { probability } => {
                    let draws = self.noise.request(LOSS_DRAWS + start.0);
                    if draws.uniform(fault.fault, Quantity::FrameLoss) >= probability {
                        continue;
                    }
                    is_lost = true;
                    EffectKind::FramesDropped { count: 1 }
                }
                CameraFault::HeartbeatLost => continue,
                // Faults of the picture act on whole frames.
                _ => EffectKind::PictureDisturbed,
            };
            effects.push(FaultEffect { fault: fault.fault, window, kind });
        }
        (is_lost, effects)
    }

    /// Takes the pixels and the ground truth of the tile with the request `index`, or `None` if this request was
    /// revoked. Its frame is then lost.
    pub(super) fn take_tile(
        &mut self,
        index: u64,
        tile: Option<(&[u16], Option<&Arc<TileTruth>>)>,
    ) {
        let frames = self.stream.frames.iter_mut();
        let mut waiting = frames.filter(|frame| !frame.is_complete());
        let Some(frame) = waiting.find(|frame| index == frame.next_request) else { return };
        frame.next_request += 1;
        match tile {
            None => {
                frame.is_lost = true;
                if waiting.next().is_none() {
                    self.stream.unasked.clear();
                }
            }
            Some((pixels, truth)) => {
                frame.counts.extend_from_slice(pixels);
                frame.tiles.extend(truth.cloned());
            }
        }
    }

    /// Adapts exposure and gain to earlier frames, if auto functions are on.
    fn adapt(&mut self) {
        let number = self.stream.numbers;
        while let Some((_, mean)) =
            self.stream.means.pop_front_if(|(frame, _)| *frame + 2 <= number)
        {
            let mut factor = (TARGET / mean.max(1e-3)).clamp(0.1, 10.0).sqrt();
            let is_settled = (mean / TARGET - 1.0).abs() < DEAD_BAND;
            for (auto, address, is_gain) in
                [(at::EXPOSURE_AUTO, at::EXPOSURE, false), (at::GAIN_AUTO, at::GAIN, true)]
            {
                let mode = self.values.get(auto);
                if mode == 0.0 {
                    continue;
                }
                if is_settled {
                    if mode == 1.0 {
                        self.values.set(auto, 0.0);
                    }
                    continue;
                }
                let Some(feature) = self.features.0.get(&address) else { continue };
                let before = self.values.get(address);
                let wanted =
                    if is_gain { before + 20.0 * libm::log10(factor) } else { before * factor };
                // The exposure is limited by the frame rate; the gain compensates for the rest.
                let rate_hz = self.values.get(at::RATE).min(self.fastest_hz());
                let most = self.values.get(at::EXPOSURE_MOST).min(0.9e6 / rate_hz);
                let least = self.values.get(at::EXPOSURE_LEAST).min(most);
                let wanted = if is_gain { wanted } else { wanted.clamp(least, most) };
                let set = self.features.checked(feature, wanted, None).unwrap_or(before);
                factor = if is_gain || before == 0.0 { factor } else { factor / (set / before) };
                self.values.set(address, set);
            }
        }
        self.refresh();
    }

    /// Sends frames that are due.
    pub(super) fn release(&mut self) {
        while let Some(frame) = self.stream.frames.front() {
            // Future readings of a clock that a PTP slave adjusts are unknown, so the frame waits for the time of its
            // timestamp.
            let is_due = frame.ready_at.0 <= self.now.0 + REACTION_NS
                && (!self.clock.is_steered() || self.stamped(frame) <= self.now);
            if !frame.is_complete() || !(is_due || frame.is_lost || frame.is_void) {
                break;
            }
            let Some(frame) = self.stream.frames.pop_front() else { break };
            if frame.is_void {
                continue;
            }
            if frame.is_lost && self.stream.is_running {
                self.count(at::FRAMES_DROPPED, 1);
                self.next_block();
                self.stream.note_drop(&frame.effects);
            }
            if !frame.is_lost {
                self.send(frame);
            }
        }
        let now = self.now;
        self.stream.kept.retain(|sent| sent.until >= now);
        if self.stream.left == Some(0)
            && self.stream.frames.is_empty()
            && self.stream.unasked.is_empty()
        {
            self.stream.is_running = false;
        }
    }

    /// Counts a frame; returns its block id. Without extended ids, only the lower 16 bits are sent.
    fn next_block(&mut self) -> u64 {
        self.stream.block += 1;
        if !self.control.is_extended() && self.stream.block & 0xffff == 0 {
            self.stream.block += 1; // block id 0 is invalid
        }
        self.stream.block
    }

    /// Time at which a frame is timestamped.
    fn stamped(&self, frame: &Frame) -> SimTime {
        match self.settings.start.stamped {
            Stamped::ExposureStart => frame.start,
            Stamped::ExposureEnd => SimTime(frame.start.0 + frame.shot.exposure_ns),
        }
    }

    fn send(&mut self, frame: Frame) {
        let mean = frame.counts.iter().map(|count| u64::from(*count)).sum::<u64>() as f64;
        let mean = mean / frame.counts.len().max(1) as f64 / f64::from(FULL_SCALE);
        self.stream.means.push_back((frame.number, mean));
        if self.control.port() == 0 {
            return;
        }
        let number = self.next_block();
        let block = if self.control.is_extended() { number } else { number & 0xffff };
        let leader = Leader {
            timestamp: self.clock.ticks(self.stamped(&frame)),
            chunks: (!frame.chunks.is_empty())
                .then(|| frame.chunks.iter().map(|chunk| 1 << *chunk as u32).sum()),
            pixel_format: frame.making.format.code(),
            region: [
                frame.making.width,
                frame.making.height,
                frame.shot.region[0],
                frame.shot.region[1],
            ],
        };
        let mut image = frame.making.image(&frame.counts);
        for chunk in &frame.chunks {
            let before = image.len();
            match chunk {
                Chunk::Image => {}
                Chunk::FrameId => image.extend(number.to_be_bytes()),
                Chunk::Timestamp => image.extend(leader.timestamp.to_be_bytes()),
                Chunk::Exposure => {
                    let exposure_us = frame.shot.exposure_ns as f64 / 1e3;
                    image.extend(exposure_us.to_be_bytes());
                }
                Chunk::Gain => image.extend(frame.shot.gain_db.to_be_bytes()),
            }
            let len = if *chunk == Chunk::Image { before } else { image.len() - before };
            end_chunk(&mut image, chunk.id(), len);
        }
        let mut effects = std::mem::take(&mut self.stream.unreported);
        effects.extend(frame.effects);
        let shape = self.control.shape();
        let packets = shape.packets(image.len());
        let packet_ns = self.packet_ns();
        let lens = self.settings.optics(self.profile.size()).lens;
        let lens = lens.of_image(frame.shot.region, frame.shot.binning, frame.making.mirror);
        let mut due = frame.ready_at.max(self.now).max(self.stream.free_at);
        self.stream.told.push_back(FrameTruth {
            due,
            block,
            stamp: leader.timestamp,
            start: frame.start,
            shot: Arc::clone(&frame.shot),
            mirror: frame.making.mirror,
            tiles: frame.tiles,
        });
        for packet in 0..packets {
            let Some(bytes) = shape.packet(status::SUCCESS, block, packet, &leader, &image) else {
                break;
            };
            let mut transmit = Transmit::datagram(due, bytes);
            if packet == 0 {
                transmit.points = 1;
                transmit.fault_effects = std::mem::take(&mut effects);
                transmit.truth.lens = Some(Box::new(lens));
            }
            self.ready.push_back(transmit);
            due = SimTime(due.0 + packet_ns);
        }
        self.stream.free_at = due;
        self.count(at::PACKETS_SENT, packets);
        let until = SimTime(due.0 + self.profile.timing.kept_ns);
        self.stream.kept.push_back(Sent { block, leader, image, shape, until });
        let bytes = |kept: &VecDeque<Sent>| kept.iter().map(|sent| sent.image.len()).sum::<usize>();
        while self.stream.kept.len() > 2 && bytes(&self.stream.kept) > MOST_KEPT {
            self.stream.kept.pop_front();
        }
    }

    /// Sends stored packets again, one after the other, unless too many already wait.
    pub(super) fn resend(&mut self, resend: Resend) {
        const MOST: u32 = 512;
        let mut due = self.now.max(self.stream.resent_free_at);
        if due.0 > self.now.0 + MOST_RESENT_NS {
            return;
        }
        let status = self.control.resent_status();
        let shape = self.control.shape();
        let sent = self.stream.kept.iter().find(|sent| sent.block == resend.block);
        let last = resend.last.min(resend.first.saturating_add(MOST - 1));
        let mut count = 0;
        for packet in resend.first..=last {
            let bytes = match sent {
                Some(sent) => {
                    sent.shape.packet(status, sent.block, packet, &sent.leader, &sent.image)
                }
                None => Some(shape.unavailable(resend.block, packet)),
            };
            let Some(bytes) = bytes else { break };
            self.ready.push_back(Transmit::datagram(due, bytes));
            due = SimTime(due.0 + self.packet_ns());
            count += 1;
            if sent.is_none() {
                break;
            }
        }
        self.stream.resent_free_at = due;
        self.count(at::PACKETS_RESENT, count);
    }

    fn count(&mut self, address: u32, more: u32) {
        let count = self.values.whole(address).wrapping_add(more);
        self.values.set(address, count.into());
    }

    /// Resets the unit to its state at power-on: counters, and values of the default user set.
    pub(super) fn power_on(&mut self) {
        self.stop_stream();
        let start_set = self.values.get(at::USER_SET_DEFAULT);
        self.values = Values::of(&self.features);
        if start_set != 0.0 {
            self.values.load(&self.saved, &self.features);
        }
        self.values.set(at::USER_SET_DEFAULT, start_set);
        self.values.set(at::USER_SET, start_set);
        self.refresh();
    }
}
