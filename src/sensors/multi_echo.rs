//! A lidar whose receiver reports every echo of a pulse.

use super::lidar::{Lidar, Scratch};
use super::noise::Quantity;
use super::{Echoes, MAX_ECHOES, Measurement, MeasurementRequest, Outcome, Subject, Surroundings};
use super::{Sensor, beam};
use crate::world::raycast::Hit;

/// Random draws for the range and intensity errors of each echo.
const ERRORS: [[Quantity; 2]; MAX_ECHOES] = [
    [Quantity::FirstRange, Quantity::FirstIntensity],
    [Quantity::SecondRange, Quantity::SecondIntensity],
    [Quantity::ThirdRange, Quantity::ThirdIntensity],
    [Quantity::FourthRange, Quantity::FourthIntensity],
    [Quantity::FifthRange, Quantity::FifthIntensity],
];

/// A [`Lidar`] that answers with [`Outcome::Echoes`]. Each echo has errors of its own.
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
        let (echoes, fault_effects) = match &request.subject {
            Subject::Instant | Subject::Series { .. } => Default::default(),
            Subject::Sweep(sweep) => {
                let noise = lidar.noise_of(sweep);
                let receive = |hits: &[Hit], light: f32, index: usize| {
                    let mut echoes = Echoes::default();
                    let told = beam::echoes(hits, lidar.beam(), light);
                    for (echo, errors) in told.as_slice().iter().zip(ERRORS) {
                        echoes.push(lidar.with_error(*echo, index, &noise, errors));
                    }
                    echoes
                };
                lidar.fire(request.start, sweep, &noise, surroundings, scratch, receive)
            }
        };
        Measurement { request, outcome: Outcome::Echoes(echoes), fault_effects }
    }
}
