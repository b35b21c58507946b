//! Decodes packets for all observers: the live view, Foxglove and video devices.
//!
//! One thread decodes for all observers, and only while there are any. It has the lowest priority; packets for which it
//! has no time are skipped.

mod device;
pub mod pictures;

use std::sync::atomic::Ordering;
use std::time::Duration;

use self::device::WatchedDevice;
use crate::config::rig::{DeviceId, Rig};
use crate::devices::decoder::Content;
use crate::devices::decoder::picture::Picture;
use crate::engine::run::tap::{Emitted, Tap};
use crate::engine::truth::labels::Labels;
use crate::engine::{LiveWorld, os};
use crate::frames::{Sensor, Transform, World};
use crate::sensors::camera::lens::Lens;
use crate::time::SimTime;

/// Length of a frame: observers see the packets that are due within this time together.
pub const FRAME: Duration = Duration::from_millis(100);
/// Time between two checks for sent packets. The thread polls, because waking it would be a system call for each
/// packet.
const REST: Duration = Duration::from_millis(15);
/// Period of checks for the end of a run.
pub const LOOK: Duration = Duration::from_millis(100);

/// An observer of decoded packets.
pub trait Audience {
    /// Whether any client is connected now.
    fn is_there(&self) -> bool;

    /// Whether a client wants data of this device now. Called for each packet.
    fn wants(&self, device: DeviceId) -> bool;

    /// Whether a client wants labels of points now; they are computed only then.
    fn wants_labels(&self) -> bool {
        false
    }

    /// Receives the content of a packet.
    fn take(&mut self, seen: &Seen<'_>);

    /// Ends a frame: later packets belong to the next one. `at` is the latest due time of its packets.
    fn end_frame(&mut self, at: SimTime);
}

/// A part of a packet's content.
pub struct Seen<'a> {
    /// Device that sent the packet.
    pub device: DeviceId,
    /// Due time of the packet.
    pub due: SimTime,
    /// Content of this part.
    pub what: What<'a>,
}

/// Content of a packet.
pub enum What<'a> {
    /// Points of a lidar or a scanner, and the sensor's pose.
    Points {
        /// Points in the sensor's frame.
        points: &'a [SeenPoint],
        /// Pose of the sensor when the packet was due.
        world_from_sensor: Transform<World, Sensor>,
    },
    /// A frame of a byte stream: its name for statistics (`None` for an invalid frame), and its content.
    Frame(Option<&'a str>, &'a dyn Content),
    /// A datagram without measurements: its kind, and text about it.
    Message(&'a str, &'a str),
    /// A complete image, with its lens (in pixels) if known.
    Picture(&'a Picture, Option<&'a Lens>),
}

/// A point of the cloud.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenPoint {
    /// Position in the sensor's axes (x forward, y left, z up), metres.
    pub position_m: glam::DVec3,
    /// Intensity, 0..=255.
    pub intensity: u8,
    /// Index of the laser, from 0.
    pub laser: u16,
    /// Label of the point, as an index into [`Labels::names`]; 0 if it is unknown or not requested.
    pub label: u16,
}

/// Decodes the packets of `tap` for all `audiences`, until `is_over` returns true.
pub fn watch(
    rig: &Rig,
    world: &LiveWorld,
    tap: &Tap,
    audiences: &mut [&mut dyn Audience],
    is_over: impl Fn() -> bool,
) {
    os::step_back(&rig.engine, os::ONLOOKER_NICE);
    let mut devices: Vec<_> = rig.devices.iter().map(WatchedDevice::new).collect();
    let mut labels: Option<Labels> = None;
    let mut begun: Option<SimTime> = None;
    let mut last = SimTime::ZERO;
    while !is_over() {
        tap.set_watched(audiences.iter().any(|audience| audience.is_there()));
        let wants_labels = audiences.iter().any(|audience| audience.wants_labels());
        world.shows_labels.store(wants_labels, Ordering::Relaxed);
        let mut was_idle = true;
        for Emitted { device, transmit } in tap.next_of_each() {
            was_idle = false;
            let due = transmit.due;
            let frame_begun = *begun.get_or_insert(due);
            if due.0 >= frame_begun.0 + FRAME.as_nanos() as u64 {
                begun = Some(due);
                audiences.iter_mut().for_each(|audience| audience.end_frame(last));
                devices.iter_mut().for_each(WatchedDevice::end_frame);
            }
            last = last.max(due);
            if !audiences.iter().any(|audience| audience.wants(device)) {
                continue;
            }
            let place = || {
                let mount = rig.devices[device.0].body_from_sensor;
                world.surroundings_of(device, &mount).world_from_sensor(due)
            };
            let labels =
                wants_labels.then(|| &*labels.get_or_insert_with(|| Labels::of(rig, world)));
            devices[device.0].decode(&transmit, labels, &place, &mut |what| {
                let seen = Seen { device, due, what };
                for audience in audiences.iter_mut().filter(|audience| audience.wants(device)) {
                    audience.take(&seen);
                }
            });
        }
        if was_idle {
            std::thread::park_timeout(REST);
        }
    }
    tap.set_watched(false);
    world.shows_labels.store(false, Ordering::Relaxed);
}
