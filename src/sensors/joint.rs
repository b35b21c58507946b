//! Sensor that measures position, rate and acceleration of the joint that carries it.

use super::fault::{EffectKind, FaultEffect};
use super::lidar::Scratch;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, Surroundings};
use crate::world::joints::JointState;

/// Answers a [`super::Subject::Series`] with [`Outcome::Joint`]: the true values, which a device converts to counts.
/// Without a joint, all values are zero.
#[derive(Clone, Copy, Debug)]
pub struct JointSensor;

impl Sensor for JointSensor {
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        _scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        let measure = |request: MeasurementRequest| {
            let state = |at| surroundings.carrier.map_or(JointState::default(), |on| on.state(at));
            let states: Vec<JointState> = request.instants().map(state).collect();
            let held = surroundings.carrier.and_then(|on| on.jammed_by(request.start));
            let effect = held.map(|(fault, window)| {
                let rate = states.first().map_or(0.0, |state| state.rate.abs());
                let rpm = (rate * 60.0 / std::f64::consts::TAU).round() as u64;
                FaultEffect { fault, window, kind: EffectKind::Stalled { rpm } }
            });
            let fault_effects = effect.into_iter().collect();
            Measurement { fault_effects, ..Measurement::new(request, Outcome::Joint(states)) }
        };
        requests.into_iter().map(measure).collect()
    }
}
