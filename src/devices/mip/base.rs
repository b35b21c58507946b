//! Commands of the sets base (0x01) and system (0x7F), and the device status (0x0C 0x64).

use super::commands::{COMMANDS, base, dm, function, system};
use super::fields::DATA;
use super::gps_time::GpsTime;
use super::identity::device_info;
use super::settings::SETTINGS;
use super::{Answer, MipUnit};
use crate::imu::Unit;
use crate::time::SimTime;
use crate::wire::mip::{Field, reply};

/// System state: running.
const RUNNING: u16 = 3;
/// Number of descriptors that fit into a packet after the acknowledgement.
const MOST_DESCRIPTORS: usize = 124;

impl MipUnit {
    pub(super) fn obey_base(&mut self, now: SimTime, command: &Field, unit: &mut Unit) -> Answer {
        match (command.descriptor, command.data.as_slice()) {
            (base::PING, _) => {}
            (base::IDLE, _) => self.is_idle = true,
            (base::RESUME, _) => self.is_idle = false,
            (base::DEVICE_INFO, _) => {
                return Ok(vec![Field::new(base::INFO_REPLY, device_info(unit))]);
            }
            (base::DESCRIPTORS, _) => {
                let list =
                    descriptors().into_iter().take(MOST_DESCRIPTORS).flatten().collect::<Vec<u8>>();
                return Ok(vec![Field::new(base::DESCRIPTORS_REPLY, list)]);
            }
            (base::EXTENDED_DESCRIPTORS, _) => {
                let list =
                    descriptors().into_iter().skip(MOST_DESCRIPTORS).flatten().collect::<Vec<u8>>();
                return Ok(vec![Field::new(base::EXTENDED_REPLY, list)]);
            }
            (base::BUILT_IN_TEST, _) => {
                let result = self.answers.built_in_test.to_be_bytes();
                return Ok(vec![Field::new(base::TEST_REPLY, result)]);
            }
            (base::GPS_TIME, &[function::READ, which, ..]) => {
                return Ok(vec![self.gps_time.read(now, which)?]);
            }
            (
                base::GPS_TIME,
                &[function::WRITE | function::WRITE_UNANSWERED, which, a, b, c, d],
            ) => {
                self.gps_time.set(now, which, u32::from_be_bytes([a, b, c, d]))?;
            }
            (base::GPS_TIME, _) => return Err(reply::BAD_PARAMETER),
            (base::RESET, _) => self.restart(now, unit),
            _ => return Err(reply::UNKNOWN_COMMAND),
        }
        Ok(Vec::new())
    }

    fn restart(&mut self, now: SimTime, unit: &mut Unit) {
        self.current = self.saved.clone();
        self.memory.current = self.memory.saved.clone();
        self.is_idle = false;
        self.latest = None;
        self.capture = None;
        self.bytes_read = 0;
        self.samples = 0;
        self.silent_until = SimTime(now.0 + unit.profile.line.serial.boot_ns);
        self.gps_time = GpsTime::unset(self.silent_until, 0);
        self.estimator.reset(self.silent_until);
        unit.restart(self.silent_until);
        if self.saved.baud_rate != unit.port.line().baud {
            self.next_baud = Some(self.saved.baud_rate);
        }
    }

    /// Answers a request (`model, selector`) with the basic status (selector 1) or the diagnostic status (selector 2),
    /// in the layout that MSCL expects.
    pub(super) fn device_status(&self, data: &[u8], unit: &Unit) -> Result<Field, u8> {
        let &[high, low, selector @ (1 | 2)] = data else { return Err(reply::BAD_PARAMETER) };
        let (_, number) = unit.profile.identity.model.split_once('/').unwrap_or_default();
        let model = number.split('-').next().and_then(|text| text.parse::<u16>().ok());
        if model != Some(u16::from_be_bytes([high, low])) {
            return Err(reply::BAD_PARAMETER);
        }
        let at_ms = self
            .latest
            .as_ref()
            .map_or(0, |(moment, _)| (unit.clock_ns(&moment.sample) / 1_000_000) as u32);
        let mut status = [&[high, low, selector][..], &[0; 4], &RUNNING.to_be_bytes()].concat();
        status.extend(at_ms.to_be_bytes());
        if selector == 2 {
            status.extend(self.current.is_on.map(u8::from));
            let lost = unit.port.lost().min(u64::from(u32::MAX)) as u32;
            // Dropped sensor and filter packets; bytes written (always 0) and read; write and read overruns; parser
            // errors; sensor messages; time of the last one, ms.
            let numbers = [lost, lost, 0, self.bytes_read, lost, 0, 0, self.samples, at_ms];
            status.extend(numbers.map(u32::to_be_bytes).concat());
        }
        Ok(Field::new(dm::STATUS_REPLY, status))
    }
}

/// Descriptor set and descriptor of each command and each data field.
fn descriptors() -> Vec<[u8; 2]> {
    let mut commands: Vec<_> =
        COMMANDS.into_iter().chain(SETTINGS.iter().map(|s| s.command)).collect();
    commands.sort_unstable();
    commands.dedup();
    let data = DATA.iter().map(|(_, s, d)| (*s, *d));
    commands.into_iter().chain(data).map(|(s, d)| [s, d]).collect()
}

/// Executes a command of set 0x7F. The only command of this set selects the communication mode, and the unit supports
/// only the standard mode.
///
/// # Errors
/// Returns a code of [`reply`] for other modes, functions and commands.
pub(super) fn system(command: &Field) -> Answer {
    match (command.descriptor, command.data.as_slice()) {
        (system::COM_MODE, [function::WRITE, system::NORMAL] | [function::DEFAULT, ..]) => {
            Ok(Vec::new())
        }
        (system::COM_MODE, [function::READ, ..]) => {
            Ok(vec![Field::new(system::COM_MODE_REPLY, [system::NORMAL])])
        }
        (system::COM_MODE, _) => Err(reply::BAD_PARAMETER),
        _ => Err(reply::UNKNOWN_COMMAND),
    }
}
