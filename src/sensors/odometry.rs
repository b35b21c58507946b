//! Encoders at the wheels of a driven robot.

use super::lidar::Scratch;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, Surroundings};

/// Tells how far the wheels have turned. What a counter makes of it is the device's affair.
#[derive(Clone, Copy, Debug, Default)]
pub struct WheelSensor;

impl Sensor for WheelSensor {
    /// A series gives one state a sample, an instant one; a robot that is not driven has wheels that
    /// stand.
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
