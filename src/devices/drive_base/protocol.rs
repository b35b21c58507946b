//! What a protocol is to the drive bases that speak it.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use super::Unit;
use crate::config::toml::keys::Keys;
use crate::describe::Section;
use crate::time::SimTime;

/// What a rig may set on a base that speaks this protocol and on no other.
pub trait Dialect: Any + Debug + Send + Sync {
    /// The same with what the protocol's own table of a profile or rig says.
    fn read(&self, keys: &mut Keys<'_>) -> Arc<dyn Dialect>;

    /// What `menura profiles NAME` shows of it.
    fn describe(&self) -> Section;

    /// Switches a unit on.
    fn start(&self, unit: &Unit) -> Box<dyn Protocol>;
}

/// The messages and commands of a product. Instants never go back.
pub trait Protocol: Send {
    /// Bytes from the host, of which the last was whole at `at`.
    fn on_input(&mut self, at: SimTime, bytes: &[u8], unit: &mut Unit);

    /// When it next does something by itself.
    fn next_due(&self, _unit: &Unit) -> Option<SimTime> {
        None
    }

    /// The instant of [`Protocol::next_due`] has come; the next one is later.
    fn on_time(&mut self, _at: SimTime, _unit: &mut Unit) {}

    /// The motors' power is cut: the robot brakes whatever the motors are told.
    fn on_stop(&mut self, at: SimTime, unit: &mut Unit) {
        unit.stop(at);
    }

    /// The unit as it is when power is back, with what it keeps without power.
    fn switched_on(&self, _at: SimTime, unit: &mut Unit) -> Box<dyn Protocol> {
        let dialect = unit.settings.dialect.clone();
        dialect.start(unit)
    }

    /// Messages a second that nobody asks for one by one.
    fn rate_hz(&self) -> f64 {
        0.0
    }
}
