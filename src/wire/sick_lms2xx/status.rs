//! State of the scanner in telegram 0xB1.

use crate::record::record;

record! {
    /// All status values of a scanner. Times and counters are raw; percentages, thresholds and angles are in
    /// the scanner's own units.
    #[derive(Default, Eq)]
    State: Le 152 {
        /// Version of the software, such as `V02.30 `.
        software_version: [u8; 7],
        /// The parameter of command 0x20 that is in force.
        operating_mode: u8,
        /// State of the device: 0 no error, 1 error.
        device_status: u8,
        /// Text.
        manufacturer: [u8; 8],
        /// Type of the variant: 0 standard, 1 special (-S19, -S20).
        variant_type: u8,
        /// Eight channels.
        pollution: [u16; 8],
        /// Four reference channels.
        reference_pollution: [u16; 4],
        /// Values of eight clean channels.
        pollution_calibration: [u16; 8],
        /// Values of four clean reference channels.
        reference_pollution_calibration: [u16; 4],
        /// Probably a minute.
        motor_revolutions: u16,
        /// Reserved, reference scale 1 and 2 (100 %), reserved, 1 and 2 (66 %), reserved, in the
        /// order of the telegram.
        reference_scales: [u16; 7],
        /// Percent.
        signal_amplitude: u16,
        /// Current angle, peak threshold, angle of the reference measurement, calibrated signal
        /// amplitude, target stop and peak threshold, actual stop and peak threshold.
        receiver: [u16; 8],
        /// Unused.
        reserved_101: u8,
        /// Block D.
        measuring_mode: u8,
        /// Single and mean, of the reference target.
        reference_counters: [u16; 2],
        /// Scanning angle, degrees.
        angle_deg: u16,
        /// Resolution, hundredths of a degree.
        resolution_centideg: u16,
        /// Block I.
        restart_mode: u8,
        /// Block J.
        restart_time: u16,
        /// Offset for multiple evaluation of field set 2.
        multiple_evaluation_offset: u8,
        /// Unused.
        reserved_115: u8,
        /// See [`LineRate::status_word`](super::LineRate::status_word).
        line_rate_word: u16,
        /// Scans that must agree before a field counts as infringed.
        evaluation_number: u8,
        /// Whether the rate survives power-off.
        permanent_rate: u8,
        /// Added to 0x80 in telegrams from the scanner.
        address: u8,
        /// The active field set.
        field_set: u8,
        /// Block E.
        unit: u8,
        /// State of the laser: 1 when it is off.
        laser_off: u8,
        /// Version of the boot PROM.
        boot_version: [u8; 7],
        /// Calibration of counters 0 and 1, two each.
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
