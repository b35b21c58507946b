//! A lidar with an IMU in its housing.

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::imu::ImuSensor;
use super::lidar::Scratch;
use super::{Measurement, MeasurementRequest, Sensor, Subject, Surroundings};
use crate::frames::Transform;

/// Combines `lidar` with an IMU at `imu_m` in the lidar's frame (forward, left, up, metres). If `imu_m` is `None`, the
/// product has no IMU.
pub fn with_imu<L: Sensor + 'static>(lidar: L, imu_m: Option<DVec3>) -> Arc<dyn Sensor> {
    match imu_m {
        Some(imu_m) => Arc::new(LidarWithImu { lidar, imu: ImuSensor::of_motion_alone(), imu_m }),
        None => Arc::new(lidar),
    }
}

/// A lidar and an IMU: the lidar measures sweeps, the IMU all other requests.
struct LidarWithImu<L> {
    lidar: L,
    imu: ImuSensor,
    /// Position of the IMU in the lidar's frame: forward, left, up, metres.
    imu_m: DVec3,
}

impl<L: Sensor> Sensor for LidarWithImu<L> {
    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        let is_sweep = |request: &MeasurementRequest| matches!(request.subject, Subject::Sweep(_));
        let in_sensor = Transform::new(self.imu_m, DQuat::IDENTITY);
        let body_from_sensor = surroundings.body_from_sensor * in_sensor;
        let at_imu = Surroundings { body_from_sensor, ..*surroundings };
        let alike = requests.chunk_by(|one, next| is_sweep(one) == is_sweep(next));
        let measured = alike.flat_map(|alike| match is_sweep(&alike[0]) {
            true => self.lidar.measure_all(alike.to_vec(), surroundings, scratch),
            false => self.imu.measure_all(alike.to_vec(), &at_imu, scratch),
        });
        measured.collect()
    }
}
