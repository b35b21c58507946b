//! Encoders at the wheels of a driven robot.

use super::lidar::Scratch;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, Surroundings};

/// Measures the rotation of the wheels; the device counts it.
#[derive(Clone, Copy, Debug, Default)]
pub struct WheelSensor;

impl Sensor for WheelSensor {
    /// A series gives one state per sample, an instant one state. Wheels of a robot that is not driven are at
    /// rest.
    fn measure(
        &self,
        request: MeasurementRequest,
        surroundings: &Surroundings<'_>,
        _scratch: &mut Scratch,
    ) -> Measurement {
        let state = |at| surroundings.trajectory.wheels(at).unwrap_or_default();
        let states = request.instants().map(state).collect();
        Measurement::new(request, Outcome::Wheels(states))
    }
}
