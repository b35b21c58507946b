//! Access of observers to a running rig, and their commands.

use std::net::SocketAddr;
use std::sync::Arc;

use super::RealTimeRun;
use super::tap::Tap;
use crate::engine::LiveWorld;
use crate::engine::connections::Connections;
use crate::engine::host_events::{HostInput, HostTarget, Payload};
use crate::engine::live_faults::FaultControl;
use crate::engine::stats::{Counters, DeviceStats, LatenessBin};
use crate::wire::drive_order::DriveOrder;

impl RealTimeRun<'_> {
    /// Control that starts and ends faults during the run.
    pub fn fault_control(&self) -> &Arc<FaultControl> {
        &self.fault_control
    }

    /// Opens the tap for sent packets. It passes on no packets before [`Tap::set_watched`].
    pub fn open_tap(&mut self) {
        self.tap = Some(Tap::new(self.rig.devices.len()));
    }

    /// The tap for sent packets; `None` before [`RealTimeRun::open_tap`].
    pub fn tap(&self) -> Option<&Tap> {
        self.tap.as_ref()
    }

    /// The world in which the rig runs.
    pub fn world(&self) -> &LiveWorld {
        self.world
    }

    /// Sends a drive command to the robot, as a host would; the host log records it. Returns false if the robot is
    /// not driven or the command queue is full.
    pub fn order(&self, order: DriveOrder) -> bool {
        let is_driven = self.world.trajectory.driven().is_some();
        let input = HostInput {
            at: self.clock.now(),
            to: HostTarget::Robot,
            payload: Payload::Order(order),
        };
        is_driven && self.host_events.0.try_send(input.into()).is_ok()
    }

    /// Histogram of the lateness of each device's packets so far.
    pub fn lateness(&self) -> Vec<Vec<LatenessBin>> {
        self.stats.iter().map(DeviceStats::lateness_bins).collect()
    }

    /// Counters of each device's packets so far; much cheaper than [`RealTimeRun::figures`].
    pub fn counters(&self) -> Vec<Counters> {
        self.stats.iter().map(DeviceStats::counters).collect()
    }

    /// For each device, pairs of lateness (nanoseconds, ascending) and number of packets, so far.
    pub fn lateness_counts(&self) -> Vec<Vec<(u64, u64)>> {
        self.stats.iter().map(DeviceStats::lateness_counts).collect()
    }

    /// Addresses of the hosts that are connected to each device by TCP.
    pub fn hosts(&self) -> Vec<Vec<SocketAddr>> {
        self.connections.iter().map(Connections::hosts).collect()
    }
}
