//! The estimation filter as hosts see it: it initialises, then runs, and its initial heading comes from the configured
//! source. The attitude is the ground truth with slow errors; no filter is computed.
//!
//! With the magnetometer as source, alone or with external headings, the heading is correct immediately. With no source
//! or only external headings, the heading keeps the error that it had at the start or after the last correction.

use glam::DQuat;

use super::answers::MipAnswers;
use super::commands::filter;
use super::settings::Values;
use crate::frames::Geodetic;
use crate::imu::conditioning::{declination_of, declination_rad, turned_clockwise};
use crate::imu::output::{ned_from_frd, roll_pitch_yaw};
use crate::sensors::imu::{Sample, earth};
use crate::time::{Epoch, SimTime};
use crate::wire::mip::{reply, set};

const HEADING_SOURCE: (u8, u8) = (set::FILTER, filter::HEADING_SOURCE);
const DECLINATION: (u8, u8) = (set::FILTER, filter::DECLINATION);
const AUTO_INIT: (u8, u8) = (set::FILTER, filter::AUTO_INIT);

/// Values of [`filter::HEADING_SOURCE`].
mod source {
    pub const MAGNETOMETER: u8 = 1;
    pub const EXTERNAL: u8 = 3;
    pub const MAGNETOMETER_AND_EXTERNAL: u8 = 6;
}

/// Whether the magnetometer is a configured heading source.
fn has_magnetometer(values: &Values) -> bool {
    matches!(values.byte(HEADING_SOURCE), source::MAGNETOMETER | source::MAGNETOMETER_AND_EXTERNAL)
}

/// Whether external headings are a configured heading source.
fn has_external(values: &Values) -> bool {
    matches!(values.byte(HEADING_SOURCE), source::EXTERNAL | source::MAGNETOMETER_AND_EXTERNAL)
}

/// State of the filter in its status field during initialisation.
const INITIALISING: u16 = 1;

/// Initial heading that a host has set.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    /// A heading relative to the north (true or magnetic) to which the filter's output refers, rad.
    Heading(f64),
    /// Magnetic heading plus this declination, rad.
    Magnetic(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Initialising { since: SimTime, start: Option<Start> },
    Running,
}

/// State of the estimation filter.
#[derive(Clone, Debug)]
pub struct Estimator {
    state: State,
    /// Whether headings of samples refer to magnetic north.
    is_magnetic: bool,
    /// Heading of the output minus the magnetometer-aided heading, clockwise, rad.
    ahead_rad: f64,
}

/// Output of the filter at a sample.
#[derive(Clone, Copy, Debug)]
pub struct Solution {
    /// Rotation from the sensor frame (forward, left, up) to World.
    pub attitude: DQuat,
    /// Whether the attitude is valid.
    pub is_valid: bool,
    /// State in the filter's status field.
    pub state: u16,
    /// Heading sources as sent in the data field `filter-heading-update`: bit 0 magnetometer, bit 2 external.
    pub heading_source: u16,
}

impl Estimator {
    /// A filter that already runs at the start of the run; `is_magnetic`: headings of samples refer to magnetic north.
    pub fn running(is_magnetic: bool) -> Self {
        Self { state: State::Running, is_magnetic, ahead_rad: 0.0 }
    }

    /// Restarts the filter at `at`.
    pub fn reset(&mut self, at: SimTime) {
        self.state = State::Initialising { since: at, start: None };
        self.ahead_rad = 0.0;
    }

    /// Updates the estimate with a sample.
    pub fn step(&mut self, sample: &Sample, values: &Values, answers: &MipAnswers, epoch: Epoch) {
        if has_magnetometer(values) {
            self.ahead_rad = 0.0;
        }
        let State::Initialising { since, start } = self.state else { return };
        let is_time = sample.truth.at.0 >= since.0 + answers.filter_init_ns;
        if !is_time || (start.is_none() && values.byte(AUTO_INIT) == 0) {
            return;
        }
        self.state = State::Running;
        if !has_magnetometer(values) {
            let aided = heading_rad(self.aided(sample, values, epoch));
            let wanted = match start {
                None => 0.0,
                Some(Start::Heading(heading)) => heading,
                Some(Start::Magnetic(declination)) => {
                    aided - reference_rad(sample, values, epoch) + declination
                }
            };
            self.ahead_rad = wanted - aided;
        }
    }

    /// Output of the filter at a sample.
    pub fn solution(
        &self,
        sample: &Sample,
        values: &Values,
        answers: &MipAnswers,
        epoch: Epoch,
    ) -> Solution {
        let attitude = turned_clockwise(self.aided(sample, values, epoch), self.ahead_rad);
        let is_valid = self.state == State::Running;
        Solution {
            attitude,
            is_valid,
            state: if is_valid { answers.filter_state } else { INITIALISING },
            heading_source: u16::from(has_magnetometer(values))
                | u16::from(has_external(values)) << 2,
        }
    }

    /// Sets the initial heading, relative to the north (true or magnetic) to which the output refers.
    ///
    /// # Errors
    /// Returns a code of [`reply`] if the filter is already running.
    pub fn start_at(&mut self, heading_rad: f64) -> Result<(), u8> {
        self.start(Start::Heading(heading_rad))
    }

    /// Sets the initial heading from the magnetometer, with a declination from the host.
    ///
    /// # Errors
    /// Returns a code of [`reply`] if the filter is already running.
    pub fn start_magnetic(&mut self, declination_rad: f64) -> Result<(), u8> {
        self.start(Start::Magnetic(declination_rad))
    }

    fn start(&mut self, with: Start) -> Result<(), u8> {
        match &mut self.state {
            State::Initialising { start, .. } => *start = Some(with),
            State::Running => return Err(reply::FAILED),
        }
        Ok(())
    }

    /// Applies an external heading: rad, clockwise from true or magnetic north.
    ///
    /// # Errors
    /// Returns a code of [`reply`] if external headings are not the configured source, or if a true heading needs an
    /// unknown declination.
    pub fn external_heading(
        &mut self,
        heading: f64,
        is_magnetic: bool,
        latest: &Sample,
        values: &Values,
        epoch: Epoch,
    ) -> Result<(), u8> {
        let has_declination = values.byte(DECLINATION) != 1;
        if !has_external(values) || (!is_magnetic && !has_declination) {
            return Err(reply::FAILED);
        }
        let reference = reference_rad(latest, values, epoch);
        let wanted = if is_magnetic { heading + reference } else { heading };
        match &mut self.state {
            State::Initialising { start, .. } => *start = Some(Start::Heading(wanted)),
            State::Running => {
                self.ahead_rad = wanted - heading_rad(self.aided(latest, values, epoch));
            }
        }
        Ok(())
    }

    /// Attitude of a sample with the magnetometer-aided heading. The heading is relative to the north (true or
    /// magnetic) that the host has set.
    fn aided(&self, sample: &Sample, values: &Values, epoch: Epoch) -> DQuat {
        // A sample's heading refers to true or magnetic north, as the rig's settings select. It is converted to
        // magnetic north, then to the north that the host has set.
        let is_as_shipped = values.byte(DECLINATION) != 3 && values.reference_position().is_none();
        if is_as_shipped && self.is_magnetic == (values.byte(DECLINATION) == 1) {
            return sample.attitude;
        }
        let magnetic = if self.is_magnetic { 0.0 } else { -declination_rad(sample) };
        turned_clockwise(sample.attitude, magnetic + reference_rad(sample, values, epoch))
    }
}

fn heading_rad(world_from_sensor: DQuat) -> f64 {
    roll_pitch_yaw(ned_from_frd(world_from_sensor)).z
}

/// Angle that the filter adds to a magnetic heading to obtain its output heading, rad.
fn reference_rad(sample: &Sample, values: &Values, epoch: Epoch) -> f64 {
    match (values.byte(DECLINATION), values.reference_position()) {
        (1, _) => 0.0,
        (3, _) => values.float(DECLINATION, 1),
        // World Magnetic Model at the reference position of the host.
        (_, Some([latitude_deg, longitude_deg, altitude_m])) => {
            let place = Geodetic { latitude_deg, longitude_deg, altitude_m };
            let ned =
                earth::world_magnetic_field_gauss(&place, epoch.civil(sample.truth.at).date());
            declination_of(glam::DVec3::new(ned.y, ned.x, -ned.z))
        }
        _ => declination_rad(sample),
    }
}
