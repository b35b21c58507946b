//! Poses as datagrams, for plots during a run. At each sampled instant, one datagram with a JSON object is sent for the
//! robot, for each present object and for each joint.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::messages;
use crate::config::rig::Rig;
use crate::engine::LiveWorld;
use crate::time::SimTime;
use crate::timing::clock::MonotonicClock;

/// A UDP socket that sends poses, and their destination.
#[derive(Debug)]
pub struct PoseStream {
    socket: UdpSocket,
    to: SocketAddr,
}

impl PoseStream {
    /// A stream of poses to the address `to`.
    ///
    /// # Errors
    /// The system cannot open a UDP socket.
    pub fn open(to: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = match to {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        Ok(Self { socket: UdpSocket::bind(any)?, to })
    }

    /// Sends the motion of the robot, objects and joints at the rig's rate until the run is `over`.
    pub fn send(&self, rig: &Rig, world: &LiveWorld, clock: MonotonicClock, over: &AtomicBool) {
        let period = Duration::from_secs_f64(1.0 / rig.engine.truth_rate_hz);
        let mut is_told = false;
        while !over.load(Ordering::Relaxed) {
            for value in things(rig, world, clock.now()) {
                let sent = self.socket.send_to(value.to_string().as_bytes(), self.to);
                if let Err(error) = sent
                    && !std::mem::replace(&mut is_told, true)
                {
                    tracing::warn!("cannot send the ground truth to {}: {error}", self.to);
                }
            }
            clock.rest(period);
        }
    }
}

/// Messages of the stream at `at`: one for the robot, one for each present object and one for each joint. A message has
/// a name, and the fields of `menura.Motion` or `menura.Joint`.
fn things(rig: &Rig, world: &LiveWorld, at: SimTime) -> Vec<Value> {
    let named = |name: String, mut value: Value| {
        value["name"] = json!(name);
        value
    };
    let known = |at: SimTime| {
        let driven = world.trajectory.driven().map(|driven| driven.known_until());
        at.min(driven.unwrap_or(at))
    };
    let motion = |trajectory: &crate::world::trajectory::Trajectory| {
        messages::motion(at, &trajectory.state(known(at)), &world.origin)
    };
    let mut all = vec![named("robot".into(), motion(&world.trajectory))];
    for object in world.objects.iter().filter(|object| object.is_there(at)) {
        all.push(named(format!("object/{}", object.name), motion(&object.trajectory)));
    }
    for (index, joint) in rig.joints.iter().enumerate() {
        let state = messages::joint(at, &world.joints.state(index, at));
        all.push(named(format!("joint/{}", joint.name), state));
    }
    all
}
