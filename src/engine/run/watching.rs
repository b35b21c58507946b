//! What others may know of a run that goes on, and do to it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::RealTimeRun;
use super::tap::Tap;
use crate::engine::LiveWorld;
use crate::engine::connections::Connections;
use crate::engine::host_events::{HostTarget, Said, Words};
use crate::engine::live_faults::FaultDesk;
use crate::engine::stats::{Counters, DeviceStats, LatenessBin};
use crate::wire::drive_order::DriveOrder;

impl RealTimeRun<'_> {
    /// Where faults are asked for that begin while it runs.
    pub fn fault_desk(&self) -> &Arc<FaultDesk> {
        &self.fault_desk
    }

    /// Lets somebody watch what is sent; nobody does until [`Tap::set_watched`].
    pub fn open_tap(&mut self) {
        self.tap = Some(Tap::new(self.rig.devices.len()));
    }

    /// Where what has been sent comes out.
    pub fn tap(&self) -> Option<&Tap> {
        self.tap.as_ref()
    }

    /// The world.
    pub fn world(&self) -> &LiveWorld {
        self.world
    }

    /// Gives an order to the robot, as if a host had; whether it was taken. It is in the host log as any
    /// other.
    pub fn order(&self, order: DriveOrder) -> bool {
        let is_driven = self.world.trajectory.driven().is_some();
        let said = Said { at: self.clock.now(), to: HostTarget::Robot, words: Words::Order(order) };
        is_driven && self.host_events.0.try_send(said.into()).is_ok()
    }

    /// How late each device's packets were so far.
    pub fn lateness(&self) -> Vec<Vec<LatenessBin>> {
        self.stats.iter().map(DeviceStats::lateness_bins).collect()
    }

    /// What was counted of each device's packets so far; much cheaper than [`RealTimeRun::figures`].
    pub fn counters(&self) -> Vec<Counters> {
        self.stats.iter().map(DeviceStats::counters).collect()
    }

    /// How many packets of each device had which lateness so far: nanoseconds, ascending, and packets.
    pub fn lateness_counts(&self) -> Vec<Vec<(u64, u64)>> {
        self.stats.iter().map(DeviceStats::lateness_counts).collect()
    }

    /// The hosts that are connected to each device by TCP.
    pub fn hosts(&self) -> Vec<Vec<SocketAddr>> {
        self.connections.iter().map(Connections::hosts).collect()
    }
}
