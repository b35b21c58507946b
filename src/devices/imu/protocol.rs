//! What a protocol is to the IMUs that speak it.

use std::any::Any;
use std::fmt::Debug;

use super::Unit;
use crate::sensors::imu::Sample;
use crate::time::SimTime;

/// What a firmware says of its protocol alone.
pub trait Dialect: Any + Debug + Send + Sync {
    /// Switches a unit on.
    fn start(&self, unit: &Unit) -> Box<dyn Protocol>;
}

/// A product's messages and commands.
pub trait Protocol: Send {
    /// A sample is due. Called in the samples' order.
    fn on_sample(&mut self, sample: &Sample, unit: &mut Unit);

    /// Bytes from the host.
    fn on_input(&mut self, _now: SimTime, _bytes: &[u8], _unit: &mut Unit) {}

    /// The time has come to `now`; called before the samples of that time.
    fn on_time(&mut self, _now: SimTime, _unit: &mut Unit) {}

    /// Messages a second as it is configured now.
    fn rate_hz(&self) -> f64;
}
