//! The scanner's state, as telegram 0xB1 says it.

use super::Reader;
use crate::wire::ParseError;

/// Bytes of the state, without code and status byte.
pub const STATE_LEN: usize = 152;

/// All that a scanner says about itself. Times and counters are raw; percentages, thresholds and
/// angles are in the scanner's own units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Of the software, such as `V02.30 `.
    pub software_version: [u8; 7],
    /// The parameter of command 0x20 that is in force.
    pub operating_mode: u8,
    /// 0 all right, 1 error.
    pub device_status: u8,
    /// Text.
    pub manufacturer: [u8; 8],
    /// 0 standard, 1 special (-S19, -S20).
    pub variant_type: u8,
    /// Eight channels.
    pub pollution: [u16; 8],
    /// Four reference channels.
    pub reference_pollution: [u16; 4],
    /// Values of eight clean channels.
    pub pollution_calibration: [u16; 8],
    /// Values of four clean reference channels.
    pub reference_pollution_calibration: [u16; 4],
    /// Probably a minute.
    pub motor_revolutions: u16,
    /// Reserved, reference scale 1 and 2 (100 %), reserved, 1 and 2 (66 %), reserved, in the
    /// order of the telegram.
    pub reference_scales: [u16; 7],
    /// Percent.
    pub signal_amplitude: u16,
    /// Current angle, peak threshold, angle of the reference measurement, calibrated signal
    /// amplitude, target stop and peak threshold, actual stop and peak threshold.
    pub receiver: [u16; 8],
    /// Unused.
    pub reserved_101: u8,
    /// Block D.
    pub measuring_mode: u8,
    /// Single and mean, of the reference target.
    pub reference_counters: [u16; 2],
    /// Degrees.
    pub angle_deg: u16,
    /// Hundredths of a degree.
    pub resolution_centideg: u16,
    /// Block I.
    pub restart_mode: u8,
    /// Block J.
    pub restart_time: u16,
    /// Offset for multiple evaluation of field set 2.
    pub multiple_evaluation_offset: u8,
    /// Unused.
    pub reserved_115: u8,
    /// See [`LineRate::status_word`](super::LineRate::status_word).
    pub line_rate_word: u16,
    /// Scans that must agree before a field counts as infringed.
    pub evaluation_number: u8,
    /// Whether the rate survives power-off.
    pub permanent_rate: u8,
    /// Added to 0x80 in telegrams from the scanner.
    pub address: u8,
    /// Which field set is active.
    pub field_set: u8,
    /// Block E.
    pub unit: u8,
    /// 1 when the laser is off.
    pub laser_off: u8,
    /// Of the boot PROM.
    pub boot_version: [u8; 7],
    /// Calibration of counters 0 and 1, two each.
    pub counter_calibration: [u32; 4],
    /// M0 counters and the calibration interval.
    pub m0: [u16; 3],
}

impl State {
    /// What the bytes between code and status byte say.
    ///
    /// # Errors
    /// There are not [`STATE_LEN`] of them.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        if bytes.len() != STATE_LEN {
            let (need, got) = (STATE_LEN, bytes.len());
            return Err(ParseError::Length { what: "scanner state", need, got });
        }
        let mut reader = Reader::new("scanner state", bytes);
        let r = &mut reader;
        let state = Self {
            software_version: r.array()?,
            operating_mode: r.u8()?,
            device_status: r.u8()?,
            manufacturer: r.array()?,
            variant_type: r.u8()?,
            pollution: r.u16s()?,
            reference_pollution: r.u16s()?,
            pollution_calibration: r.u16s()?,
            reference_pollution_calibration: r.u16s()?,
            motor_revolutions: r.u16()?,
            reference_scales: r.u16s()?,
            signal_amplitude: r.u16()?,
            receiver: r.u16s()?,
            reserved_101: r.u8()?,
            measuring_mode: r.u8()?,
            reference_counters: r.u16s()?,
            angle_deg: r.u16()?,
            resolution_centideg: r.u16()?,
            restart_mode: r.u8()?,
            restart_time: r.u16()?,
            multiple_evaluation_offset: r.u8()?,
            reserved_115: r.u8()?,
            line_rate_word: r.u16()?,
            evaluation_number: r.u8()?,
            permanent_rate: r.u8()?,
            address: r.u8()?,
            field_set: r.u8()?,
            unit: r.u8()?,
            laser_off: r.u8()?,
            boot_version: r.array()?,
            counter_calibration: [r.u32()?, r.u32()?, r.u32()?, r.u32()?],
            m0: r.u16s()?,
        };
        reader.finish()?;
        Ok(state)
    }

    /// Appends the [`STATE_LEN`] bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(self.software_version);
        out.extend([self.operating_mode, self.device_status]);
        out.extend(self.manufacturer);
        out.push(self.variant_type);
        words(out, &self.pollution);
        words(out, &self.reference_pollution);
        words(out, &self.pollution_calibration);
        words(out, &self.reference_pollution_calibration);
        words(out, &[self.motor_revolutions]);
        words(out, &self.reference_scales);
        words(out, &[self.signal_amplitude]);
        words(out, &self.receiver);
        out.extend([self.reserved_101, self.measuring_mode]);
        words(out, &self.reference_counters);
        words(out, &[self.angle_deg, self.resolution_centideg]);
        out.push(self.restart_mode);
        words(out, &[self.restart_time]);
        out.extend([self.multiple_evaluation_offset, self.reserved_115]);
        words(out, &[self.line_rate_word]);
        out.extend([self.evaluation_number, self.permanent_rate, self.address]);
        out.extend([self.field_set, self.unit, self.laser_off]);
        out.extend(self.boot_version);
        out.extend(self.counter_calibration.iter().flat_map(|value| value.to_le_bytes()));
        words(out, &self.m0);
        debug_assert_eq!(out.len() - start, STATE_LEN);
    }
}

fn words(out: &mut Vec<u8>, values: &[u16]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_stand_where_drivers_read_them() {
        let state = State {
            software_version: *b"X01.27 ",
            operating_mode: 0x25,
            manufacturer: *b"SICK AG\0",
            motor_revolutions: 4500,
            measuring_mode: 6,
            angle_deg: 180,
            resolution_centideg: 100,
            restart_mode: 2,
            line_rate_word: 0x8019,
            evaluation_number: 1,
            field_set: 1,
            unit: 1,
            boot_version: *b"X01.27 ",
            m0: [1, 2, 3],
            ..State::default()
        };
        let mut payload = vec![0xb1];
        state.write(&mut payload);
        assert_eq!(payload.len(), 153);
        assert_eq!(payload[8], 0x25);
        assert_eq!(payload[10..18], *b"SICK AG\0");
        assert_eq!(payload[67..69], [0x94, 0x11]);
        assert_eq!(payload[102], 6);
        assert_eq!(payload[107..112], [0xb4, 0x00, 0x64, 0x00, 0x02]);
        assert_eq!(payload[116..124], [0x19, 0x80, 0x01, 0x00, 0x00, 0x01, 0x01, 0x00]);
        assert_eq!(payload[124..131], *b"X01.27 ");
        assert_eq!(payload[147..153], [1, 0, 2, 0, 3, 0]);
    }

    proptest! {
        #[test]
        fn states_come_back(bytes in proptest::collection::vec(any::<u8>(), STATE_LEN)) {
            let mut back = Vec::new();
            State::parse(&bytes).unwrap().write(&mut back);
            prop_assert_eq!(back, bytes);
        }
    }
}
