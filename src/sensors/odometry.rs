//! Encoders at the wheels of a driven robot.

use super::lidar::Scratch;
use super::{Measurement, MeasurementRequest, Outcome, Sensor, Subject, Surroundings};
use crate::time::SimTime;

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
        let (count, period_ns) = match request.subject {
            Subject::Series { count, period_ns } => (count, period_ns),
            Subject::Instant | Subject::Sweep(_) => (1, 0),
        };
        let state = |sample: u32| {
            let at = SimTime(request.start.0 + u64::from(sample) * period_ns);
            surroundings.trajectory.wheels(at).unwrap_or_default()
        };
        let states = (0..count).map(state).collect();
        Measurement::new(request, Outcome::Wheels(states))
    }
}
