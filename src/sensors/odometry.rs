//! Encoders on the wheels of a driven robot.

use super::lidar::Scratch;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, Surroundings};

/// Measures the rotation of the wheels; the device converts it to counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct WheelSensor;

impl Sensor for WheelSensor {
    /// Returns [`Outcome::Wheels`] with one state of all wheels for each instant of the request. Without a driven
    /// robot, the wheels are at rest.
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        _scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        let measure = |request: MeasurementRequest| {
            let state = |at| surroundings.trajectory.wheels(at).unwrap_or_default();
            let states = request.instants().map(state).collect();
            Measurement::new(request, Outcome::Wheels(states))
        };
        requests.into_iter().map(measure).collect()
    }
}
