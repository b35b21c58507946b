//! A lidar whose receiver reports every echo of a pulse.

use super::Sensor;
use super::lidar::{Fired, Lidar, Scratch};
use super::receiver::{Backscatter, Reception};
use super::{Measurement, MeasurementRequest, Outcome, Subject, Surroundings};

/// A [`Lidar`] that answers with [`Outcome::Echoes`].
#[derive(Clone, Debug)]
pub struct MultiEchoLidar(pub Lidar);

impl Sensor for MultiEchoLidar {
    fn measure(
        &self,
        request: MeasurementRequest,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Measurement {
        let lidar = &self.0;
        let fired = match &request.subject {
            Subject::Instant | Subject::Series { .. } => Fired::default(),
            Subject::Sweep(sweep) => {
                let noise = lidar.noise_of(sweep);
                let receive = |scatter: &[Backscatter], reception: &Reception<'_>| {
                    lidar.echoes(scatter, reception)
                };
                lidar.fire(request.start, sweep, &noise, surroundings, scratch, receive)
            }
        };
        fired.into_measurement(request, Outcome::Echoes)
    }
}
