//! Low-pass filter of each scaled quantity: one pole, with an automatic or a manual corner frequency.
//!
//! An automatic filter is emulated by the profile's `decimation`. With a manual corner, a field reports the filter's
//! output at the last sample; without a filter, it reports the last sample itself.

use glam::DVec3;

use super::commands::function;
use super::state::{LowPass, MipSettings};
use super::streams::DataStream;
use crate::imu::conditioning::SinglePole;
use crate::imu::output::frd;
use crate::sensors::imu::Sample;
use crate::wire::mip::{Field, reply, set};

/// Descriptors of the quantities in [`set::SENSOR_DATA`]: acceleration, angular rate, magnetic field, pressure.
pub const QUANTITIES: [u8; 4] = [0x04, 0x05, 0x06, 0x17];

/// State of the filters, and their last outputs (forward, right, down) in the order of [`QUANTITIES`]. The fourth output has
/// the pressure, Pa, as x.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    poles: [SinglePole; 4],
    last: [DVec3; 4],
}

impl Filters {
    /// Updates the filters with a sample.
    pub fn step(&mut self, sample: &Sample, settings: &[LowPass; 4], dt_s: f64) {
        let pressure = DVec3::X * sample.pressure_pa;
        let vectors = [sample.accel.value, sample.gyro.value, sample.mag.value].map(frd);
        let inputs = [vectors[0], vectors[1], vectors[2], pressure];
        let filters = self.poles.iter_mut().zip(settings);
        for ((last, x), (pole, setting)) in self.last.iter_mut().zip(inputs).zip(filters) {
            *last = if setting.is_on && setting.is_manual {
                pole.step(x, f64::from(setting.corner_hz), dt_s)
            } else {
                *pole = SinglePole::default();
                x
            };
        }
    }

    /// Last output of the filters, in the order of [`QUANTITIES`].
    pub fn last(&self) -> [DVec3; 4] {
        self.last
    }
}

/// Executes the older low-pass command: `function, descriptor, on, manual, corner as an integer, 0`. Returns the field of
/// the answer to a read; no field for other functions.
///
/// # Errors
/// Returns a code of [`reply`] if a value is invalid.
pub fn by_descriptor(
    data: &[u8],
    settings: [&mut MipSettings; 3],
    stream: &DataStream,
    base_rate_hz: u32,
) -> Result<Vec<Field>, u8> {
    let (&[function, descriptor], value) = data.split_first_chunk().ok_or(reply::BAD_PARAMETER)?;
    let wanted = wanted(function, value, |corner| match *corner {
        [high, low, _] => Some(f32::from(u16::from_be_bytes([high, low]))),
        _ => None,
    })?;
    let found = obey(function, descriptor, wanted, settings, base_rate_hz)?;
    let answer = found.map(|low_pass| {
        let corner = effective_hz(&low_pass, descriptor, stream, base_rate_hz) as u16;
        let [high, low] = corner.to_be_bytes();
        let flags = [low_pass.is_on.into(), low_pass.is_manual.into()];
        Field::new(0x8b, [descriptor, flags[0], flags[1], high, low, 0])
    });
    Ok(answer.into_iter().collect())
}

/// Executes the newer low-pass command: `function, descriptor set, descriptor, on, manual, corner as a float`. Returns the
/// field of the answer to a read; no field for other functions.
///
/// # Errors
/// Returns a code of [`reply`] if a value is invalid.
pub fn by_set(
    data: &[u8],
    settings: [&mut MipSettings; 3],
    stream: &DataStream,
    base_rate_hz: u32,
) -> Result<Vec<Field>, u8> {
    let (&[function, descriptor_set, descriptor], value) =
        data.split_first_chunk().ok_or(reply::BAD_PARAMETER)?;
    let names_all = (descriptor_set, descriptor) == (0, 0) && function != function::READ;
    if !names_all && descriptor_set != set::SENSOR_DATA {
        return Err(reply::BAD_PARAMETER);
    }
    let wanted =
        wanted(function, value, |corner| Some(f32::from_be_bytes(corner.try_into().ok()?)))?;
    let found = obey(function, descriptor, wanted, settings, base_rate_hz)?;
    let answer = found.map(|low_pass| {
        let corner = effective_hz(&low_pass, descriptor, stream, base_rate_hz);
        let flags = [descriptor_set, descriptor, low_pass.is_on.into(), low_pass.is_manual.into()];
        Field::new(0xd4, [&flags[..], &corner.to_be_bytes()].concat())
    });
    Ok(answer.into_iter().collect())
}

/// Setting in the data of a write command: two switches and the corner frequency, which `corner_hz` decodes. `None` for
/// functions other than a write.
fn wanted(
    function: u8,
    value: &[u8],
    corner_hz: impl Fn(&[u8]) -> Option<f32>,
) -> Result<Option<LowPass>, u8> {
    match value {
        _ if function != function::WRITE => Ok(None),
        [on @ (0 | 1), manual @ (0 | 1), corner @ ..] => {
            let corner_hz = corner_hz(corner).ok_or(reply::BAD_PARAMETER)?;
            Ok(Some(LowPass { is_on: *on == 1, is_manual: *manual == 1, corner_hz }))
        }
        _ => Err(reply::BAD_PARAMETER),
    }
}

/// Executes a function on the present, saved and factory settings of the quantity `descriptor` (0: all quantities).
/// Returns the present setting for a read, otherwise `None`.
fn obey(
    function: u8,
    descriptor: u8,
    wanted: Option<LowPass>,
    [current, saved, factory]: [&mut MipSettings; 3],
    base_rate_hz: u32,
) -> Result<Option<LowPass>, u8> {
    let chosen: Vec<usize> = match QUANTITIES.iter().position(|known| *known == descriptor) {
        Some(place) => vec![place],
        None if descriptor == 0 && function != function::READ => (0..QUANTITIES.len()).collect(),
        None => return Err(reply::BAD_PARAMETER),
    };
    for place in chosen {
        match function {
            function::WRITE => {
                let wanted = wanted.ok_or(reply::BAD_PARAMETER)?;
                let most = base_rate_hz as f32 / 2.0;
                if wanted.is_manual && !(1.0..=most).contains(&wanted.corner_hz) {
                    return Err(reply::BAD_PARAMETER);
                }
                current.low_pass[place] = wanted;
            }
            function::READ => return Ok(Some(current.low_pass[place])),
            function::SAVE => saved.low_pass[place] = current.low_pass[place],
            function::LOAD => current.low_pass[place] = saved.low_pass[place],
            function::DEFAULT => current.low_pass[place] = factory.low_pass[place],
            _ => return Err(reply::BAD_PARAMETER),
        }
    }
    Ok(None)
}

/// Corner frequency in effect, Hz; with an automatic filter, half of the quantity's output rate.
fn effective_hz(low_pass: &LowPass, descriptor: u8, stream: &DataStream, base_rate_hz: u32) -> f32 {
    if low_pass.is_manual {
        return low_pass.corner_hz;
    }
    let decimation = stream.format().iter().find(|(d, _)| *d == descriptor).map_or(1, |(_, n)| *n);
    base_rate_hz as f32 / f32::from(decimation) / 2.0
}
