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

    fn measure_all(
        &self,
        requests: Vec<MeasurementRequest>,
        surroundings: &Surroundings<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Measurement> {
        if requests.iter().all(|request| matches!(request.subject, Subject::Sweep(_))) {
            return self.lidar.measure_all(requests, surroundings, scratch);
        }
        let each = |request| self.measure(request, surroundings, scratch);
        requests.into_iter().map(each).collect()
    }
}
