//! Values that hosts set and read back. The key of a value is the write command that sets it; the value has the layout
//! of this command's data. If a command has two layouts, the value has the longer one.

use std::collections::BTreeMap;

use super::profile::{PidOrder, RoboClawLayout, RoboClawSettings};
use crate::drive_base::Unit;
use crate::wire::roboclaw::command as c;

/// Baud rates by bits 5 to 7 of the configuration.
const BAUD_RATES: [u32; 8] = [2400, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800];
/// Bits of the configuration word that select packet serial mode.
const PACKET_SERIAL: u16 = 3;

/// Read commands. Each has the write commands whose stored data it returns, and the number of bytes that it returns for
/// each of them: in the classic layout, then in the extended layout.
const READS: [(u8, &[u8], [usize; 2]); 25] = [
    (c::READ_MAIN_VOLTAGES, &[c::SET_MAIN_VOLTAGES], [4, 5]),
    (c::READ_LOGIC_VOLTAGES, &[c::SET_LOGIC_VOLTAGES], [4, 4]),
    (c::READ_DEFAULT_SPEEDS, &[c::SET_DEFAULT_SPEED_M1, c::SET_DEFAULT_SPEED_M2], [2, 2]),
    (c::READ_PIN_FUNCTIONS, &[c::SET_PIN_FUNCTIONS], [3, 5]),
    (c::READ_DEAD_BAND, &[c::SET_DEAD_BAND], [2, 24]),
    (c::READ_DEFAULT_ACCELS, &[c::SET_DEFAULT_ACCEL_M1, c::SET_DEFAULT_ACCEL_M2], [4, 8]),
    (c::READ_ENCODER_MODES, &[c::SET_ENCODER_MODE_M1, c::SET_ENCODER_MODE_M2], [1, 1]),
    (c::READ_SERIAL_NUMBER, &[c::SET_SERIAL_NUMBER], [37, 37]),
    (c::READ_CONFIG, &[c::SET_CONFIG], [2, 2]),
    (c::READ_AUX_DUTIES, &[c::SET_AUX_DUTIES], [10, 10]),
    (c::READ_AUTO_HOME, &[c::SET_AUTO_HOME_M1, c::SET_AUTO_HOME_M2], [6, 4]),
    (c::READ_SPEED_ERROR_LIMITS, &[c::SET_SPEED_ERROR_LIMITS], [8, 4]),
    (c::READ_POSITION_ERROR_LIMITS, &[c::SET_POSITION_ERROR_LIMITS], [8, 4]),
    (c::READ_VOLTAGE_OFFSETS, &[c::SET_VOLTAGE_OFFSETS], [2, 2]),
    (c::READ_CURRENT_BLANKING, &[c::SET_CURRENT_BLANKING], [4, 4]),
    (c::READ_INDUCTANCE_M1, &[c::SET_INDUCTANCE_M1], [8, 8]),
    (c::READ_INDUCTANCE_M2, &[c::SET_INDUCTANCE_M2], [8, 8]),
    (c::READ_MAX_CURRENT_M1, &[c::SET_MAX_CURRENT_M1], [8, 8]),
    (c::READ_MAX_CURRENT_M2, &[c::SET_MAX_CURRENT_M2], [8, 8]),
    (c::READ_PRIORITY, &[c::SET_PRIORITY], [3, 3]),
    (c::READ_SCRIPT_AUTORUN, &[c::SET_SCRIPT_AUTORUN], [4, 4]),
    (c::READ_PWM_MODE, &[c::SET_PWM_MODE], [1, 2]),
    (c::READ_NODE_ID, &[c::SET_NODE_ID], [1, 1]),
    (c::READ_PWM_IDLE, &[c::SET_PWM_IDLE], [2, 2]),
    (c::READ_EMERGENCY_STOP_LOCK, &[c::SET_EMERGENCY_STOP_LOCK], [1, 1]),
];

/// All stored values of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Values(BTreeMap<u8, Vec<u8>>);

impl Values {
    /// Factory values with the rig's changes.
    pub fn factory(own: &RoboClawSettings, unit: &Unit) -> Self {
        let mut all = Self(BTreeMap::new());
        for (read, writes, [classic, extended]) in READS {
            let is_current = matches!(read, c::READ_MAX_CURRENT_M1 | c::READ_MAX_CURRENT_M2);
            for write in writes {
                let mut data = vec![0; classic.max(extended)];
                if is_current {
                    // Current limit of 30 A in units of 10 mA.
                    data[..4].copy_from_slice(&3000u32.to_be_bytes());
                }
                all.0.insert(*write, data);
            }
        }
        let volts = |[min, max]: [u16; 2]| [min.to_be_bytes(), max.to_be_bytes()].concat();
        all.set(c::SET_MAIN_VOLTAGES, &volts([60, 340]));
        all.set(c::SET_LOGIC_VOLTAGES, &volts([30, 340]));
        all.set(c::SET_DEAD_BAND, &[25, 25]);
        for motor in 0..2u8 {
            all.set(c::SET_DEFAULT_SPEED_M1 + motor, &i16::MAX.to_be_bytes());
            let wheels = &unit.settings.wheels;
            let top_counts_s = (wheels.max_speed_m_s * wheels.counts_per_m).round() as u32;
            let [p, i, d] = own.velocity_gains.map(|gain| (gain * 65_536.0).round() as u32);
            let velocity = [d, p, i, top_counts_s].map(u32::to_be_bytes).concat();
            all.set(c::SET_VELOCITY_PID_M1 + motor, &velocity);
            let p = (own.position_gain * 1024.0).round() as u32;
            all.set(
                c::SET_POSITION_PID_M1 + motor,
                &[0, p, 0, 0, 0, 0, 0].map(u32::to_be_bytes).concat(),
            );
        }
        let rate = BAUD_RATES.iter().position(|baud| *baud == unit.settings.baud_rate);
        let address = u16::from(own.address & 7) << 8;
        let config = PACKET_SERIAL | (rate.unwrap_or(0) as u16) << 5 | address;
        all.set(c::SET_CONFIG, &config.to_be_bytes());
        all
    }

    /// Stores the data of a write command in either layout.
    pub fn set(&mut self, write: u8, data: &[u8]) {
        let mut data = data.to_vec();
        // A single value applies to acceleration and deceleration, or to both motors.
        let is_single = matches!(
            (write, data.len()),
            (c::SET_DEFAULT_ACCEL_M1 | c::SET_DEFAULT_ACCEL_M2, 4) | (c::SET_PWM_MODE, 1)
        );
        if is_single {
            data.extend_from_within(..);
        }
        if let Some((.., [classic, extended])) =
            READS.iter().find(|(_, writes, _)| writes.contains(&write))
        {
            data.resize(*classic.max(extended), 0);
        }
        self.0.insert(write, data);
    }

    /// Whether the data of a write command are stored here.
    pub fn has(&self, write: u8) -> bool {
        self.0.contains_key(&write)
    }

    /// Stored data of the write command `write`; empty if there are none.
    fn of(&self, write: u8) -> &[u8] {
        self.0.get(&write).map_or(&[], Vec::as_slice)
    }

    /// Four-byte number with the index `place` in the stored data of a write command.
    fn long(&self, write: u8, place: usize) -> u32 {
        let bytes = self.of(write).get(4 * place..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }

    fn word(&self, write: u8, place: usize) -> u16 {
        let bytes = self.of(write).get(2 * place..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u16::from_be_bytes(*bytes))
    }

    /// Answer to a read command for stored values; `None` for other commands.
    pub fn answer(&self, read: u8, own: &RoboClawSettings) -> Option<Vec<u8>> {
        let gains = |write: u8, count: usize| {
            let mut all: Vec<u32> = (0..count).map(|place| self.long(write, place)).collect();
            if own.pid_order == PidOrder::Pid {
                // The gains are stored as D, P, I.
                all[..3].rotate_left(1);
            }
            all.into_iter().flat_map(u32::to_be_bytes).collect()
        };
        match read {
            c::READ_VELOCITY_PID_M1 | c::READ_VELOCITY_PID_M2 => {
                let motor = read - c::READ_VELOCITY_PID_M1;
                return Some(gains(c::SET_VELOCITY_PID_M1 + motor, 4));
            }
            c::READ_POSITION_PID_M1 | c::READ_POSITION_PID_M2 => {
                let motor = read - c::READ_POSITION_PID_M1;
                return Some(gains(c::SET_POSITION_PID_M1 + motor, 7));
            }
            c::READ_ADDRESS_MIXED => {
                let mixed = self.0.get(&c::SET_ADDRESS_MIXED);
                return Some(mixed.cloned().unwrap_or_else(|| vec![self.address(), 0]));
            }
            _ => {}
        }
        let (_, writes, lengths) = READS.iter().find(|(known, ..)| *known == read)?;
        let length = lengths[usize::from(own.layout == RoboClawLayout::Extended)];
        Some(writes.iter().flat_map(|write| self.of(*write)[..length].to_vec()).collect())
    }

    /// Address in the configuration, 0x80 to 0x87.
    pub fn address(&self) -> u8 {
        0x80 | (self.word(c::SET_CONFIG, 0) >> 8 & 7) as u8
    }

    /// Baud rate in the configuration.
    pub fn baud_rate(&self) -> u32 {
        BAUD_RATES[usize::from(self.word(c::SET_CONFIG, 0) >> 5 & 7)]
    }

    /// Lowest and highest voltage of the main and the logic battery, volts.
    pub fn voltages_v(&self) -> [[f64; 2]; 2] {
        let limits = |write| [0, 1].map(|place| f64::from(self.word(write, place)) / 10.0);
        [limits(c::SET_MAIN_VOLTAGES), limits(c::SET_LOGIC_VOLTAGES)]
    }

    /// Sets the lower (`place` 0) or upper (1) voltage limit that the command `write` stores, volts.
    pub fn set_voltage(&mut self, write: u8, place: usize, volts: f64) {
        let mut data = self.of(write).to_vec();
        let tenths = ((volts * 10.0).round() as u16).to_be_bytes();
        if let Some(bytes) = data.get_mut(2 * place..2 * place + 2) {
            bytes.copy_from_slice(&tenths);
        }
        self.set(write, &data);
    }

    /// Default acceleration of duties, in 1/32767 of full duty per second; 0: immediate.
    pub fn duty_accel(&self, motor: usize) -> u32 {
        self.long(c::SET_DEFAULT_ACCEL_M1 + motor as u8, 0)
    }

    /// Settings of the position controller: gain, 1/s; dead zone, counts; lowest and highest position, counts.
    pub fn position(&self, motor: usize) -> (f64, u32, [i32; 2]) {
        let write = c::SET_POSITION_PID_M1 + motor as u8;
        let gain_hz = f64::from(self.long(write, 1)) / 1024.0;
        let limits = [5, 6].map(|place| self.long(write, place) as i32);
        (gain_hz, self.long(write, 4), limits)
    }

    /// Speed of position commands without a speed, counts per second.
    pub fn default_speed_counts_s(&self, motor: usize) -> f64 {
        let top = f64::from(self.long(c::SET_VELOCITY_PID_M1 + motor as u8, 3));
        f64::from(self.word(c::SET_DEFAULT_SPEED_M1 + motor as u8, 0)) / 32_767.0 * top
    }
}

/// Read command that returns the data of the write command `write` in the same layout; `None` if none exists. For
/// tests.
#[cfg(test)]
pub(super) fn read_of(write: u8) -> Option<u8> {
    READS.iter().find(|(_, writes, _)| *writes == [write]).map(|(read, ..)| *read)
}
