//! Ground truth of a case: the measurements of a sensor without errors.

use glam::DVec3;

use crate::config::rig::{DeviceId, Rig};
use crate::engine::LiveWorld;
use crate::engine::caster::for_few_rays;
use crate::sensors::imu::{ImuSensor, InertialTruth};
use crate::time::SimTime;
use crate::world::raycast::{Hit, Pulse, Stencil};

/// Largest distance at which surfaces are searched, metres.
const FARTHEST_M: f32 = 1000.0;
/// Largest number of rays in one call of the ray caster.
const BATCH: usize = 4096;

/// Ground truth for one device of a rig.
pub struct Truth {
    world: LiveWorld,
    rig: Rig,
    device: DeviceId,
}

impl Truth {
    /// Loads the world of `rig`; the device under test has the index `device`.
    ///
    /// # Errors
    /// A message about the part of the world that cannot be loaded.
    pub fn load(rig: &Rig, device: usize) -> Result<Self, String> {
        let world = LiveWorld::load(&for_few_rays(rig)).map_err(|error| error.to_string())?;
        Ok(Self { world, rig: rig.clone(), device: DeviceId(device) })
    }

    /// For each point, the absolute difference between its range and the range of the first surface in its direction,
    /// metres; infinite without a surface. Points are in the sensor's axes; the sensor has its pose at time `at`.
    pub fn off_surface_m(&self, at: SimTime, points: &[[f32; 3]]) -> Vec<f64> {
        let device = &self.rig.devices[self.device.0];
        let surroundings = self.world.surroundings_of(self.device, &device.body_from_sensor);
        let pose = surroundings.world_from_sensor(at);
        let single = Stencil::single();
        let mut found = Vec::with_capacity(points.len());
        for batch in points.chunks(BATCH) {
            let positions: Vec<_> =
                batch.iter().map(|point| DVec3::from_array(point.map(f64::from))).collect();
            let pulse = |position: &DVec3| Pulse {
                origin: pose.translation,
                start_m: 0.0,
                // A point at the sensor's origin has no direction, so an arbitrary one is used.
                direction: pose.direction(position.try_normalize().unwrap_or(DVec3::X)),
                half_axis_u: DVec3::ZERO,
                half_axis_v: DVec3::ZERO,
                max_range_m: FARTHEST_M,
            };
            let pulses: Vec<_> = positions.iter().map(pulse).collect();
            let mut hits = vec![Hit::MISS; pulses.len()];
            let fired = vec![at; pulses.len()];
            surroundings.caster.cast_at(&single, &pulses, &fired, &mut hits);
            let off = |(hit, position): (&Hit, &DVec3)| {
                (f64::from(hit.range_m) - position.length()).abs()
            };
            found.extend(hits.iter().zip(&positions).map(off));
        }
        found
    }

    /// Motion and position of the device: an error-free sample of an IMU in its place, without the Earth's rotation and
    /// the magnetic field.
    pub fn inertial(&self, at: SimTime) -> InertialTruth {
        let device = &self.rig.devices[self.device.0];
        let surroundings = self.world.surroundings_of(self.device, &device.body_from_sensor);
        ImuSensor::of_motion_alone().truth(at, &surroundings)
    }

    /// Straight-line distance of a latitude and longitude, at the device's true height, from the device's true
    /// position, metres.
    pub fn off_position_m(&self, at: SimTime, latitude_deg: f64, longitude_deg: f64) -> f64 {
        let truth = self.inertial(at).place;
        let told = crate::frames::Geodetic { latitude_deg, longitude_deg, ..truth };
        told.to_ecef().distance(truth.to_ecef())
    }

    /// Ground truth at the given instants as JSON, for checks in Python. Each item of `rig_s` is one instant in two
    /// scales: seconds after the start of the case (`t_s` in the JSON), and seconds of the rig's run.
    pub fn samples(&self, rig_s: impl Iterator<Item = (f64, f64)>) -> Vec<serde_json::Value> {
        rig_s
            .map(|(case_s, rig_s)| {
                let truth = self.inertial(SimTime::from_secs_f64(rig_s.max(0.0)));
                serde_json::json!({
                    "t_s": case_s,
                    "position_m": truth.position_m.to_array(),
                    "velocity_m_s": truth.velocity_m_s.to_array(),
                    "lat_deg": truth.place.latitude_deg,
                    "lon_deg": truth.place.longitude_deg,
                    "height_m": truth.place.altitude_m,
                    "altitude_m": truth.place.height_above_sea_level_m(),
                    "force_m_s2": truth.specific_force_m_s2.to_array(),
                    "rate_rad_s": truth.angular_rate_rad_s.to_array(),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::families::catalogue;
    use std::path::Path;

    #[test]
    fn points_are_measured_against_the_walls() {
        let (_, text) = crate::kit::library::rig("vlp16").unwrap();
        let sets = ["robot.trajectory.position_m=[0, 0, 0]", "robot.trajectory.yaw_deg=0"];
        let sets = sets.map(|set| set.parse().unwrap());
        let rig = Rig::parse("rig", text, Path::new(""), &sets, catalogue()).unwrap();
        let truth = Truth::load(&rig, 0).unwrap();
        let points = [[10.0, 0.0, 0.0], [0.0, -9.0, 0.0], [0.0, 0.0, 0.0]];
        let off = truth.off_surface_m(SimTime::ZERO, &points);
        assert!(off[0] < 1e-3 && (off[1] - 1.0).abs() < 1e-3 && off[2] > 5.0, "{off:?}");
        let place = truth.inertial(SimTime::ZERO).place;
        let off =
            truth.off_position_m(SimTime::ZERO, place.latitude_deg + 1e-5, place.longitude_deg);
        assert!((off - 1.11).abs() < 0.01, "{off}");
    }
}
