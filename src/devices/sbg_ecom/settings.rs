//! Settings of an Ellipse and their effects.

use std::collections::BTreeMap;

use glam::{DMat3, DQuat, DVec3};

use crate::frames::quat_from_rpy;
use crate::imu::Unit;
use crate::imu::conditioning::Correction;
use crate::wire::sbg_ecom::{code, command};

/// Settings that profiles do not list: command; number of pins, channels or ports (0 if the setting has none); factory
/// value. Hosts can write and read them; the stored values have no effect on the emulated unit.
const MORE: [(u8, u8, &[u8]); 10] = [
    // Port A is the connected line; the other ports are off.
    (command::UART_CONF, 5, &[0x00, 0xc2, 0x01, 0x00, 0x00]),
    (command::CAN_BUS_CONF, 0, &[0; 3]),
    (command::NMEA_TALKER_ID, 5, b"GP"),
    (command::DVL_MODEL_ID, 0, &[0; 4]),
    (command::DVL_INSTALLATION, 0, &[0; 25]),
    (command::DVL_REJECT_MODES, 0, &[1; 2]),
    (command::AIRDATA_MODEL_ID, 0, &[0; 4]),
    (command::AIRDATA_LEVER_ARM, 0, &[0; 12]),
    (command::AIRDATA_REJECT_MODES, 0, &[1; 2]),
    (command::ODO_CAN_CONF, 2, &[0; 24]),
];
/// Length of the advanced settings (time, GNSS options, NMEA options) since firmware 2.3, bytes.
const ADVANCED_LEN: usize = 9;
/// Length of the aiding assignment, bytes. Older documentation lists further, reserved bytes.
const AIDING_LEN: usize = 11;
/// Numbers of the messages that can be sent on the CAN bus.
const CAN_MESSAGES: std::ops::RangeInclusive<u16> = 0x100..=0x2ff;

/// Bits of the solution's status.
mod solution {
    pub const ATTITUDE_VALID: u32 = 1 << 4;
    pub const HEADING_VALID: u32 = 1 << 5;
    pub const VELOCITY_VALID: u32 = 1 << 6;
    pub const POSITION_VALID: u32 = 1 << 7;
    pub const MAGNETOMETER_USED: u32 = 1 << 9;
    pub const GPS1_VELOCITY_USED: u32 = 1 << 10;
    pub const GPS1_POSITION_USED: u32 = 1 << 11;
    pub const GPS1_HEADING_USED: u32 = 1 << 13;
}

/// Value of a rejection mode that excludes measurements from the solution.
const NEVER: u8 = 0;

/// Commands that configure one sync pin, each with the number of such pins.
const PINS: [(u8, u8); 2] = [(command::SYNC_IN_CONF, 2), (command::SYNC_OUT_CONF, 1)];

/// Settings that hosts can change.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Stored data by command and pin; the pin is 0 for commands without a pin.
    stored: BTreeMap<(u8, u8), Vec<u8>>,
    /// Settings of CAN messages that a host has changed, by message number: mode, identifier, and whether the
    /// identifier is extended.
    can: BTreeMap<u16, [u8; 7]>,
    /// Rotation from the sensor to the vehicle frame (forward, right, down).
    vehicle_from_sensor: DQuat,
    /// Magnetometer correction; its offset is in multiples of the profile's `magnetic_unit_gauss`.
    mag: Correction,
}

impl Settings {
    /// Creates the factory settings; `data` has the factory value of each command.
    pub fn factory(data: &BTreeMap<u8, Vec<u8>>) -> Self {
        let mut stored = BTreeMap::new();
        for (id, value) in data {
            let pins = PINS.iter().find(|(known, _)| known == id).map_or(1, |(_, pins)| *pins);
            stored.extend((0..pins).map(|pin| ((*id, pin), value.clone())));
        }
        for (id, pins, value) in MORE {
            stored.extend((0..pins.max(1)).map(|pin| ((id, pin), value.to_vec())));
        }
        for (id, length) in
            [(command::ADVANCED_CONF, ADVANCED_LEN), (command::AIDING_ASSIGNMENT, AIDING_LEN)]
        {
            stored.entry((id, 0)).or_default().resize(length, 0);
        }
        let can = BTreeMap::new();
        let mut made =
            Self { stored, can, vehicle_from_sensor: DQuat::IDENTITY, mag: Correction::NONE };
        made.vehicle_from_sensor =
            rotation(made.raw(command::IMU_ALIGNMENT_LEVER_ARM)).unwrap_or_default();
        made
    }

    fn raw(&self, id: u8) -> &[u8] {
        self.stored.get(&(id, 0)).map_or(&[], Vec::as_slice)
    }

    /// Reads or writes a setting. Returns the data of the answer, or `None` if the answer is a plain acknowledgement.
    ///
    /// # Errors
    /// Returns a code of [`code`].
    pub fn obey(&mut self, id: u8, data: &[u8]) -> Result<Option<Vec<u8>>, u16> {
        if id == command::SET_MAG_CALIB {
            let values = floats(data);
            // Newer hosts append the mode (2-D or 3-D).
            if !matches!(data.len(), 48 | 49) || !values.iter().all(|x| x.is_finite()) {
                return Err(code::INVALID_FRAME);
            }
            let rows: [f64; 9] = std::array::from_fn(|i| values[3 + i]);
            let matrix = DMat3::from_cols_array(&rows).transpose();
            self.mag = Correction { matrix, offset: DVec3::from_slice(&values[..3]) };
            return Ok(None);
        }
        if id == command::CAN_OUTPUT_CONF {
            return self.can_output(data);
        }
        let has_pin = PINS.iter().any(|(known, _)| *known == id)
            || MORE.iter().any(|(known, pins, _)| *known == id && *pins > 0);
        let (pin, value) = match data {
            [pin, value @ ..] if has_pin => (*pin, value),
            [] if has_pin => return Err(code::INVALID_FRAME),
            _ => (0, data),
        };
        let stored = self.stored.get_mut(&(id, pin)).ok_or(code::INVALID_PARAMETER)?;
        if value.is_empty() {
            let head = if has_pin { vec![pin] } else { Vec::new() };
            return Ok(Some([&head[..], stored.as_slice()].concat()));
        }
        let value = match id {
            // Older hosts send no options, or reserved bytes.
            command::ADVANCED_CONF if matches!(value.len(), 1 | 2 | 5) => {
                &[value, &stored[value.len()..]].concat()
            }
            command::AIDING_ASSIGNMENT if value.len() == 16 => &value[..AIDING_LEN],
            _ => value,
        };
        if value.len() != stored.len() {
            return Err(code::INVALID_FRAME);
        }
        if !is_allowed(id, value) {
            return Err(code::INVALID_PARAMETER);
        }
        stored.copy_from_slice(value);
        match id {
            command::IMU_ALIGNMENT_LEVER_ARM => {
                self.vehicle_from_sensor = rotation(value).unwrap_or_default();
            }
            // The older command and its successor set the same lever arm.
            command::GNSS_1_LEVER_ARM_ALIGNMENT => {
                self.copy_arm(value, command::GNSS_1_INSTALLATION);
            }
            command::GNSS_1_INSTALLATION => {
                self.copy_arm(value, command::GNSS_1_LEVER_ARM_ALIGNMENT);
            }
            _ => {}
        }
        Ok(None)
    }

    /// Reads or writes the settings of a CAN message. A read has the data `message`, a write `message, mode,
    /// identifier, is extended`.
    fn can_output(&mut self, data: &[u8]) -> Result<Option<Vec<u8>>, u16> {
        let Some((message, rest)) = data.split_first_chunk() else {
            return Err(code::INVALID_FRAME);
        };
        let number = u16::from_le_bytes(*message);
        if !CAN_MESSAGES.contains(&number) {
            return Err(code::INVALID_PARAMETER);
        }
        if let Ok(wanted) = <[u8; 7]>::try_from(rest) {
            self.can.insert(number, wanted);
            return Ok(None);
        }
        if !rest.is_empty() {
            return Err(code::INVALID_FRAME);
        }
        // Factory value: off, with the message number as identifier.
        let factory = [0, 0, message[0], message[1], 0, 0, 0];
        let stored = self.can.get(&number).copied().unwrap_or(factory);
        Ok(Some([&message[..], &stored].concat()))
    }

    fn copy_arm(&mut self, from: &[u8], to: u8) {
        if let Some(stored) = self.stored.get_mut(&(to, 0)) {
            stored[..12].copy_from_slice(&from[..12]);
        }
    }

    /// Rotation from the sensor to the vehicle frame (forward, right, down).
    pub fn vehicle_from_sensor(&self) -> DQuat {
        self.vehicle_from_sensor
    }

    /// Magnetometer correction; its offset is in multiples of the profile's `magnetic_unit_gauss`.
    pub fn magnetometer(&self) -> Correction {
        self.mag
    }

    /// Lever arm from the unit to the main antenna, vehicle frame, metres.
    pub fn antenna_lever_arm_m(&self) -> DVec3 {
        let values = floats(self.raw(command::GNSS_1_INSTALLATION));
        DVec3::new(values[0], values[1], values[2])
    }

    /// Direction from the main to the second antenna, degrees to the right of forward.
    pub fn antenna_yaw_deg(&self) -> f64 {
        floats(self.raw(command::GNSS_1_LEVER_ARM_ALIGNMENT))[4].to_degrees()
    }

    /// Status of the solution: `healthy` with some bits cleared. A measurement's "used" bit is cleared if its rejection
    /// mode excludes it. A "valid" bit is cleared if the standard deviation exceeds the configured threshold; a
    /// threshold of 0 clears no bit.
    pub fn solution_status(&self, healthy: u32, unit: &Unit) -> u32 {
        use solution::*;
        let mut status = healthy;
        let reject = self.raw(command::GNSS_1_REJECT_MODES);
        let modes = [(0, GPS1_POSITION_USED), (1, GPS1_VELOCITY_USED), (3, GPS1_HEADING_USED)];
        for (place, bit) in modes {
            if reject.get(place) == Some(&NEVER) {
                status &= !bit;
            }
        }
        if self.raw(command::MAGNETOMETER_REJECT_MODE).first() == Some(&NEVER) {
            status &= !MAGNETOMETER_USED;
        }
        let model = &unit.settings.model;
        let found = [
            (model.navigation.position_std_m * 3f64.sqrt(), POSITION_VALID),
            (model.navigation.velocity_std_m_s * 3f64.sqrt(), VELOCITY_VALID),
            (model.attitude.roll_pitch_std_rad * 2f64.sqrt(), ATTITUDE_VALID),
            (model.attitude.heading_std_rad, HEADING_VALID),
        ];
        for ((std, bit), most) in found.iter().zip(floats(self.raw(command::VALIDITY_THRESHOLDS))) {
            if most > 0.0 && *std > most {
                status &= !bit;
            }
        }
        status
    }
}

fn floats(data: &[u8]) -> Vec<f64> {
    data.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect()
}

/// Rotation from sensor to vehicle frame. `data` has the directions of the x and y axes (codes, one byte each), then
/// roll, pitch and yaw of the misalignment (f32, rad), then the lever arm. `None` if `data` is invalid.
fn rotation(data: &[u8]) -> Option<DQuat> {
    // Codes: forward, backward, left, right, up, down.
    let direction = |id: u8| match id {
        0 => Some(DVec3::X),
        1 => Some(-DVec3::X),
        2 => Some(-DVec3::Y),
        3 => Some(DVec3::Y),
        4 => Some(-DVec3::Z),
        5 => Some(DVec3::Z),
        _ => None,
    };
    let &[x, y, ref rest @ ..] = data else { return None };
    let (x, y) = (direction(x)?, direction(y)?);
    let angles = floats(rest);
    if x.dot(y) != 0.0 || angles.len() < 3 || !angles.iter().all(|x| x.is_finite()) {
        return None;
    }
    let rough = DQuat::from_mat3(&DMat3::from_cols(x, y, x.cross(y)));
    Some((quat_from_rpy(angles[0], angles[1], angles[2]) * rough).normalize())
}

/// Whether a setting can have `value`.
fn is_allowed(id: u8, value: &[u8]) -> bool {
    let is_finite = |from: usize| floats(&value[from..]).iter().all(|x| x.is_finite());
    // Modes: never, automatic, always.
    let is_mode = |mode: &u8| *mode <= 2;
    match id {
        command::IMU_ALIGNMENT_LEVER_ARM => rotation(value).is_some(),
        command::MAGNETOMETER_REJECT_MODE
        | command::ODO_REJECT_MODE
        | command::GNSS_1_REJECT_MODES
        | command::DVL_REJECT_MODES
        | command::AIRDATA_REJECT_MODES => value.iter().all(is_mode),
        command::GNSS_1_LEVER_ARM_ALIGNMENT
        | command::VALIDITY_THRESHOLDS
        | command::AIRDATA_LEVER_ARM => is_finite(0),
        command::DVL_INSTALLATION => {
            floats(&value[..24]).iter().all(|x| x.is_finite()) && value[24] <= 1
        }
        command::GNSS_1_INSTALLATION => {
            let arms = [&value[..12], &value[13..25]];
            arms.iter().all(|arm| floats(arm).iter().all(|x| x.is_finite())) && value[25] <= 4
        }
        command::ODO_LEVER_ARM => is_finite(0),
        command::ODO_CONF => floats(&value[..4])[0] > 0.0 && value[5] <= 1,
        _ => true,
    }
}
