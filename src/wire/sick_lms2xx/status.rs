//! State of the scanner in telegram 0xB1.

use crate::record::record;

record! {
    /// All status values of a scanner. Times, counters, thresholds and angles are in the scanner's own units unless a
    /// field states a unit.
    #[derive(Default, Eq)]
    State: Le 152 {
        /// Version of the software, such as `V02.30 `.
        software_version: [u8; 7],
        /// Current operating mode, coded as in the parameter of command 0x20.
        operating_mode: u8,
        /// State of the device: 0 no error, 1 error.
        device_status: u8,
        /// Name of the manufacturer.
        manufacturer: [u8; 8],
        /// Type of the variant: 0 standard, 1 special (-S19, -S20).
        variant_type: u8,
        /// Pollution of the window, eight channels.
        pollution: [u16; 8],
        /// Pollution of the window, four reference channels.
        reference_pollution: [u16; 4],
        /// Pollution values of the eight channels when clean.
        pollution_calibration: [u16; 8],
        /// Pollution values of the four reference channels when clean.
        reference_pollution_calibration: [u16; 4],
        /// Revolutions of the motor, probably per minute.
        motor_revolutions: u16,
        /// Seven words in the order of the telegram: reserved, reference scales 1 and 2 (100 %), reserved, reference
        /// scales 1 and 2 (66 %), reserved.
        reference_scales: [u16; 7],
        /// Amplitude of the signal, percent.
        signal_amplitude: u16,
        /// Eight words about the receiver: current angle, peak threshold, angle of the reference measurement,
        /// calibrated signal amplitude, target stop threshold, target peak threshold, actual stop threshold, actual
        /// peak threshold.
        receiver: [u16; 8],
        /// Unused.
        reserved_101: u8,
        /// Measuring mode, coded as in block D of the configuration.
        measuring_mode: u8,
        /// Single and mean measured value of the reference target.
        reference_counters: [u16; 2],
        /// Scanning angle, degrees.
        angle_deg: u16,
        /// Resolution, hundredths of a degree.
        resolution_centideg: u16,
        /// Restart mode, coded as in block I of the configuration.
        restart_mode: u8,
        /// Restart time, coded as in block J of the configuration.
        restart_time: u16,
        /// Offset for multiple evaluation of field set 2.
        multiple_evaluation_offset: u8,
        /// Unused.
        reserved_115: u8,
        /// Bit rate, see [`LineRate::status_word`](super::LineRate::status_word).
        line_rate_word: u16,
        /// Number of scans that must agree before a field counts as infringed.
        evaluation_number: u8,
        /// 1 if the current bit rate is kept after power-off, otherwise 0.
        permanent_rate: u8,
        /// Address of the scanner, without the 0x80 that its telegrams add.
        address: u8,
        /// Number of the active field set.
        field_set: u8,
        /// Unit of ranges, coded as in block E of the configuration.
        unit: u8,
        /// State of the laser: 0 on, 1 off.
        laser_off: u8,
        /// Version of the boot PROM.
        boot_version: [u8; 7],
        /// Calibration values of counters 0 and 1, two each.
        counter_calibration: [u32; 4],
        /// M0 counters and the calibration interval.
        m0: [u16; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

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
        state.emit(&mut payload);
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
}
