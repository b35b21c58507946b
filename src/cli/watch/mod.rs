//! What devices send, decoded from the bytes as they leave, for all who look on: the live view, Foxglove.
//!
//! One thread decodes for everybody, and only while somebody is there. It steps back for all others; what it has
//! no time for it misses.

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
use crate::time::SimTime;

/// A frame is what was sent in so long.
pub const FRAME: Duration = Duration::from_millis(100);
/// Time between two looks at what has been sent. Nobody wakes the thread: that would be a system call a packet.
const REST: Duration = Duration::from_millis(15);
/// How often it is looked whether a run is over.
pub const LOOK: Duration = Duration::from_millis(100);

/// Somebody who looks on.
pub trait Audience {
    /// Whether anybody is there now.
    fn is_there(&self) -> bool;

    /// Whether what this device sends is of use now. It is asked for each packet.
    fn wants(&self, device: DeviceId) -> bool;

    /// Whether labels of points are of use now: they are worked out while somebody wants them.
    fn wants_labels(&self) -> bool {
        false
    }

    /// Takes what a packet says.
    fn take(&mut self, seen: &Seen<'_>);

    /// A frame is over: what comes now was sent later. `at` is when its last packet was due.
    fn end_frame(&mut self, at: SimTime);
}

/// What a part of a packet says.
pub struct Seen<'a> {
    /// Whose it is.
    pub device: DeviceId,
    /// When the packet was due.
    pub due: SimTime,
    /// What it says.
    pub what: What<'a>,
}

/// Something that a device has sent.
pub enum What<'a> {
    /// Points.
    Points {
        /// In the sensor's frame.
        points: &'a [SeenPoint],
        /// Where the sensor was when the packet was due.
        world_from_sensor: Transform<World, Sensor>,
    },
    /// A frame of a stream: what it is counted as, and what it says.
    Frame(Option<&'a str>, &'a dyn Content),
    /// A datagram without measurements: its kind, and what it says for people.
    Message(&'a str, &'a str),
    /// An image, when its last datagram has come.
    Picture(&'a Picture),
}

/// A point of the cloud.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenPoint {
    /// Forward, left, up of the sensor, metres.
    pub position_m: glam::DVec3,
    /// 0..=255.
    pub intensity: u8,
    /// Counts from 0.
    pub laser: u16,
    /// What it is of, by [`Labels::names`]; 0 if that is not known or nobody wants it.
    pub label: u16,
}

/// Decodes what comes by `tap` and shows it to all of `audiences`, until `is_over`.
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
