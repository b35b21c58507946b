//! A lidar whose receiver reports every echo of a pulse.

use super::Sensor;
use super::lidar::{Lidar, Scratch};
use super::noise::NoiseSource;
use super::optics_fault::LidarFault;
use super::pattern::LaserGeometry;
use super::{Measurement, MeasurementRequest, Outcome, Surroundings};
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
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        self.0.fire(requests, surroundings, scratch, Outcome::Echoes, |_, scatter, reception| {
            self.0.echoes(scatter, reception)
        })
    }
}
