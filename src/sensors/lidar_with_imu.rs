//! A lidar with an IMU in its housing.

use glam::{DQuat, DVec3};

use super::imu::ImuSensor;
use super::lidar::Scratch;
use super::{Measurement, MeasurementRequest, Sensor, Subject, Surroundings};
use crate::frames::Transform;

/// The lidar measures sweeps, the units measure series.
pub struct LidarWithImu<L> {
    /// The lidar.
    pub lidar: L,
    /// The units.
    pub imu: ImuSensor,
    /// Position of the IMU in the lidar's frame: forward, left, up, metres.
    pub imu_m: DVec3,
}

impl<L: Sensor> Sensor for LidarWithImu<L> {
    fn measure(
        &self,
        request: MeasurementRequest,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Measurement {
        match request.subject {
            Subject::Sweep(_) => self.lidar.measure(request, surroundings, scratch),
            Subject::Series { .. } | Subject::Instant | Subject::Tile(_) => {
                let in_sensor = Transform::new(self.imu_m, DQuat::IDENTITY);
                let body_from_sensor = surroundings.body_from_sensor * in_sensor;
                let there = Surroundings { body_from_sensor, ..*surroundings };
                self.imu.measure(request, &there, scratch)
            }
        }
    }
}
