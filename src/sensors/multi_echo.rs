//! A lidar whose receiver reports every echo of a pulse.

use super::Sensor;
use super::lidar::{Fired, Lidar, Scratch};
use super::noise::NoiseSource;
use super::optics_fault::LidarFault;
use super::pattern::LaserGeometry;
use super::receiver::{Backscatter, Reception};
use super::{Measurement, MeasurementRequest, Outcome, Subject, Surroundings};
use crate::config::profile::lidar::{BeamSettings, NoiseSettings};
use crate::config::rig::faults::Timed;

/// A [`Lidar`] that answers with [`Outcome::Echoes`].
#[derive(Clone, Debug)]
pub struct MultiEchoLidar(pub Lidar);

impl MultiEchoLidar {
    /// A lidar with one beam, directed in a plane by a rotating mirror.
    pub fn single_beam(
        beam: &BeamSettings,
        settings: &NoiseSettings,
        noise: NoiseSource,
        faults: &[Timed<LidarFault>],
    ) -> Self {
        let lidar = Lidar::new(vec![LaserGeometry::default()], beam, settings, noise);
        Self(lidar.with_faults(faults))
    }
}

impl Sensor for MultiEchoLidar {
    fn measure(
        &self,
        request: MeasurementRequest,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Measurement {
        let lidar = &self.0;
        let fired = match &request.subject {
            Subject::Instant | Subject::Series { .. } | Subject::Tile(_) => Fired::default(),
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
