//! Commands of the estimation filter (set 0x0D) that are not plain settings.

use glam::DQuat;

use super::commands::{COMMANDS, VEHICLE, filter, function};
use super::{Answer, MipUnit, settings};
use crate::frames::quat_from_rpy;
use crate::imu::Unit;
use crate::imu::output::{ned_from_frd, roll_pitch_yaw};
use crate::sensors::imu::Sample;
use crate::time::SimTime;
use crate::wire::mip::{Field, reply, set};

impl MipUnit {
    pub(super) fn obey_filter(&mut self, now: SimTime, command: &Field, unit: &Unit) -> Answer {
        let reals: Option<Vec<f64>> =
            command.f32s().map(|values| values.into_iter().map(f64::from).collect());
        let is_angle = |x: &f64| x.abs() <= std::f64::consts::PI + 1e-6;
        match (command.descriptor, reals.as_deref(), command.data.as_slice()) {
            (filter::RESET, _, []) => self.estimator.reset(now),
            // Only the heading matters, because gravity determines roll and pitch at once.
            (filter::INITIAL_ATTITUDE, Some([roll, pitch, heading]), _)
                if is_angle(roll) && is_angle(&(2.0 * pitch)) && is_angle(heading) =>
            {
                self.estimator.start_at(*heading)?;
            }
            (filter::INITIAL_HEADING, Some([heading]), _) if is_angle(heading) => {
                self.estimator.start_at(*heading)?;
            }
            (filter::INITIAL_MAGNETIC_HEADING, Some([declination]), _) if is_angle(declination) => {
                self.estimator.start_magnetic(*declination)?;
            }
            (filter::EXTERNAL_HEADING, _, data @ [.., 1 | 2]) if data.len() == 9 => {
                self.external_heading(data, unit)?;
            }
            (filter::TIMED_EXTERNAL_HEADING, _, data @ [.., 1 | 2]) if data.len() == 19 => {
                // The timestamp is ignored: the heading applies to the present time.
                self.external_heading(&data[10..], unit)?;
            }
            (filter::TARE, _, [function::WRITE, axes @ 0..=7]) => self.tare(*axes)?,
            (
                filter::TARE,
                _,
                [function @ (function::SAVE | function::LOAD | function::DEFAULT), ..],
            ) => {
                let setting = settings::find(VEHICLE.0, VEHICLE.1).ok_or(reply::UNKNOWN_COMMAND)?;
                self.memory.obey(setting, &[*function])?;
            }
            (filter::ZERO_ANGULAR_RATE, _, []) => {}
            (filter::CAPTURE_IRON, _, [function::WRITE | function::SAVE]) => {}
            (command, ..) if COMMANDS.contains(&(set::FILTER, command)) => {
                return Err(reply::BAD_PARAMETER);
            }
            _ => return Err(reply::UNKNOWN_COMMAND),
        }
        Ok(Vec::new())
    }

    /// Executes an external heading command: `heading, uncertainty, 1 true or 2 magnetic`.
    fn external_heading(&mut self, data: &[u8], unit: &Unit) -> Result<(), u8> {
        let float = |at: usize| f32::from_be_bytes(std::array::from_fn(|i| data[at + i]));
        let (heading, std_rad) = (f64::from(float(0)), float(4));
        if heading.is_nan()
            || heading.abs() > std::f64::consts::PI + 1e-6
            || std_rad.is_nan()
            || std_rad <= 0.0
        {
            return Err(reply::BAD_PARAMETER);
        }
        let (moment, _) = self.latest.as_ref().ok_or(reply::FAILED)?;
        let sensor = Sample { attitude: moment.complementary, ..moment.sample };
        let values = &self.memory.current;
        self.estimator.external_heading(heading, data[8] == 2, &sensor, values, unit.epoch)
    }

    /// Sets the rotation from the sensor frame to the vehicle frame so that the present roll (bit 0 of `axes`), pitch
    /// (1) or heading (2) of the vehicle becomes 0. Without axes, the vehicle frame equals the sensor frame.
    fn tare(&mut self, axes: u8) -> Result<(), u8> {
        let (moment, _) = self.latest.as_ref().ok_or(reply::FAILED)?;
        if !moment.solution.is_valid {
            return Err(reply::FAILED);
        }
        let ned_from_sensor = ned_from_frd(moment.solution.attitude);
        let sensor_from_vehicle = if axes == 0 {
            DQuat::IDENTITY
        } else {
            let now = roll_pitch_yaw(ned_from_frd(moment.attitude)).to_array();
            let kept = |axis: usize| if axes & (1 << axis) == 0 { now[axis] } else { 0.0 };
            ned_from_sensor.conjugate() * quat_from_rpy(kept(0), kept(1), kept(2))
        };
        let rpy = roll_pitch_yaw(sensor_from_vehicle.normalize());
        self.memory.current.put_floats(VEHICLE, &rpy.to_array());
        Ok(())
    }
}
