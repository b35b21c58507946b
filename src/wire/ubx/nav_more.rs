//! NAV messages about other time scales, orbits, corrections, geofences and the odometer.

use serde::Serialize;

use super::{MessageId, Payload};
use crate::record::record;

message! {
    /// GLONASS time.
    NavTimeglo 0x01 0x23 20 {
        /// GPS time of week.
        itow_ms: u32,
        /// Time of the GLONASS day, UTC plus three hours.
        tod_s: u32,
        /// Nanoseconds to add to the time of day, -500,000,000 to 500,000,000.
        ftod_ns: i32,
        /// Day within the period of four years, from 1.
        day: u16,
        /// Number of the period of four years since 1996, from 1.
        four_years: u8,
        /// Valid fields: bit 0 time of day, 1 date.
        valid: u8,
        /// Accuracy of the time.
        t_acc_ns: u32,
    }
    /// BeiDou time.
    NavTimebds 0x01 0x24 20 {
        /// GPS time of week.
        itow_ms: u32,
        /// Time of the BeiDou week, to the nearest second.
        sow_s: u32,
        /// Nanoseconds to add to the time of week, -500,000,000 to 500,000,000.
        fsow_ns: i32,
        /// BeiDou week, since 2006.
        week: i16,
        /// BeiDou minus UTC.
        leap_s: i8,
        /// Valid fields: bit 0 time of week, 1 week, 2 leap seconds.
        valid: u8,
        /// Accuracy of the time.
        t_acc_ns: u32,
    }
    /// Galileo time.
    NavTimegal 0x01 0x25 20 {
        /// GPS time of week.
        itow_ms: u32,
        /// Time of the Galileo week, to the nearest second.
        tow_s: u32,
        /// Nanoseconds to add to the time of week, -500,000,000 to 500,000,000.
        ftow_ns: i32,
        /// Galileo week, since 1999.
        week: i16,
        /// Galileo minus UTC.
        leap_s: i8,
        /// Valid fields: bit 0 time of week, 1 week, 2 leap seconds.
        valid: u8,
        /// Accuracy of the time.
        t_acc_ns: u32,
    }
    /// QZSS time.
    NavTimeqzss 0x01 0x27 20 {
        /// GPS time of week.
        itow_ms: u32,
        /// Time of the QZSS week, to the nearest second.
        tow_s: u32,
        /// Nanoseconds to add to the time of week, -500,000,000 to 500,000,000.
        ftow_ns: i32,
        /// QZSS week.
        week: i16,
        /// QZSS minus UTC.
        leap_s: i8,
        /// Valid fields: bit 0 time of week, 1 week, 2 leap seconds.
        valid: u8,
        /// Accuracy of the time.
        t_acc_ns: u32,
    }
    /// Distance travelled.
    NavOdo 0x01 0x09 20 {
        /// Version of the message, 0.
        version: u8,
        /// Reserved.
        reserved1: [u8; 3],
        /// GPS time of week.
        itow_ms: u32,
        /// Distance since the last reset.
        distance_m: u32,
        /// Distance since the receiver's production.
        total_distance_m: u32,
        /// Standard deviation of the distance.
        distance_std_m: u32,
    }
    /// State of the autonomous orbit prediction.
    NavAopstatus 0x01 0x60 16 {
        /// GPS time of week.
        itow_ms: u32,
        /// Configuration: bit 0 is 1 if the prediction is enabled.
        config: u8,
        /// State: 0 idle, other values running.
        status: u8,
        /// Reserved.
        reserved1: [u8; 10],
    }
    /// Protection levels of position, velocity and time, each with a flag for its validity.
    NavPl 0x01 0x62 52 {
        /// Version of the message, 1.
        version: u8,
        /// Mantissa of the target integrity risk.
        risk_mantissa: u8,
        /// Exponent of the target integrity risk.
        risk_exponent: i8,
        /// 1: the protection levels of the position are valid; 0: they are not.
        position_valid: u8,
        /// Frame of the position's protection levels: 0 invalid, 1 north-east-down, 2 longitudinal-lateral-vertical, 3
        /// horizontal semi-major axis, horizontal semi-minor axis, vertical.
        position_frame: u8,
        /// 1: the protection levels of the velocity are valid; 0: they are not.
        velocity_valid: u8,
        /// Frame of the velocity's protection levels, coded as `position_frame`.
        velocity_frame: u8,
        /// 1: the protection level of the time is valid; 0: it is not.
        time_valid: u8,
        /// Reserved.
        reserved1: [u8; 4],
        /// GPS time of week.
        itow_ms: u32,
        /// Protection levels of the position, along the axes of `position_frame`.
        position_mm: [u32; 3],
        /// Protection levels of the velocity, along the axes of `velocity_frame`.
        velocity_mm_s: [u32; 3],
        /// Orientation of the position's protection ellipse, 0.01 degrees.
        position_orientation_centideg: u16,
        /// Orientation of the velocity's protection ellipse, 0.01 degrees.
        velocity_orientation_centideg: u16,
        /// Protection level of the time.
        time_ns: u32,
        /// Reserved.
        reserved2: [u8; 4],
    }
}

record! {
    /// One satellite of [`NavOrb`].
    #[derive(Copy, Default, Serialize)]
    OrbitInfo: Le 6 {
        /// Satellite system: 0 GPS, 1 SBAS, 2 Galileo, 3 BeiDou, 5 QZSS, 6 GLONASS.
        gnss_id: u8,
        /// Number of the satellite within the system.
        sv_id: u8,
        /// Flags: bits 0-1 health (0 unknown, 1 healthy, 2 not healthy), 2-3 visibility (0 unknown, 1 below the
        /// horizon, 2 above it, 3 above the elevation mask).
        flags: u8,
        /// Ephemeris: bits 0-4 time for which it can be used, in quarters of an hour, 5-7 source (0 none, 1 received
        /// from the satellite).
        ephemeris: u8,
        /// Almanac: bits 0-4 time for which it can be used, in days, 5-7 source (0 none, 1 received from the
        /// satellite).
        almanac: u8,
        /// Other orbit data: bits 5-7 are its kind, 0 none.
        other: u8,
    }
    /// Orbit data stored in the receiver.
    #[derive(Default, Serialize)]
    NavOrb: Le {
        /// GPS time of week.
        itow_ms: u32,
        /// Version of the message, 1.
        version: u8,
        /// Number of satellites.
        count: u8,
        /// Reserved.
        reserved1: [u8; 2],
        /// The satellites, at most 255.
        satellites: Vec<OrbitInfo>,
    }
    /// State of SBAS and of the SBAS corrections.
    #[derive(Default, Serialize)]
    NavSbas: Le {
        /// GPS time of week.
        itow_ms: u32,
        /// PRN of the SBAS satellite whose corrections are used.
        geo: u8,
        /// Mode: 0 off, 1 on for integrity, 3 on in test mode.
        mode: u8,
        /// SBAS system of the satellite: -1 unknown, 0 WAAS, 1 EGNOS, 2 MSAS, 3 GAGAN.
        system: i8,
        /// Services: bit 0 ranging, 1 corrections, 2 integrity, 3 test, 4 bad.
        service: u8,
        /// Number of satellites.
        count: u8,
        /// State: bits 0-1 integrity used (0 unknown, 1 no, 2 yes).
        status: u8,
        /// Reserved.
        reserved1: [u8; 2],
        /// One block of 12 bytes, not decoded, for each satellite.
        satellites: Vec<[u8; 12]>,
    }
    /// State of the differential corrections.
    #[derive(Default, Serialize)]
    NavDgps: Le {
        /// GPS time of week.
        itow_ms: u32,
        /// Age of the newest correction.
        age_ms: i32,
        /// Id of the base station.
        station: i16,
        /// Health of the station.
        health: i16,
        /// Number of satellites.
        count: u8,
        /// State of corrections: 0 none, 1 range and range-rate corrections.
        status: u8,
        /// Reserved.
        reserved1: [u8; 2],
        /// One block of 12 bytes, not decoded, for each satellite.
        satellites: Vec<[u8; 12]>,
    }
    /// SLAS: corrections for the first frequency band, sent by QZSS satellites.
    #[derive(Default, Serialize)]
    NavSlas: Le {
        /// GPS time of week.
        itow_ms: u32,
        /// Version of the message, 0.
        version: u8,
        /// Reserved.
        reserved1: [u8; 3],
        /// Longitude and latitude of the monitoring station, 0.001 degrees.
        station_mdeg: [i32; 2],
        /// Code of the monitoring station.
        station: u8,
        /// Number of the satellite that sends the corrections.
        sv_id: u8,
        /// Flags: bit 0 station available, 1 satellite available, 2 test mode.
        flags: u8,
        /// Number of satellites.
        count: u8,
        /// One block of 8 bytes, not decoded, for each satellite.
        satellites: Vec<[u8; 8]>,
    }
    /// State of one fence.
    #[derive(Copy, Default, Serialize)]
    FenceState: Le 2 {
        /// State of the fence: 0 unknown, 1 inside, 2 outside.
        state: u8,
        /// Index of the fence, from 1 on.
        id: u8,
    }
    /// State of the geofences.
    #[derive(Default, Serialize)]
    NavGeofence: Le {
        /// GPS time of week.
        itow_ms: u32,
        /// Version of the message, 0.
        version: u8,
        /// State: 0 off, 1 on.
        status: u8,
        /// Number of fences.
        count: u8,
        /// Combined state: 0 unknown, 1 inside at least one fence, 2 outside all fences.
        combined: u8,
        /// The fences, at most four.
        fences: Vec<FenceState>,
    }
}

impl Payload for NavOrb {
    const ID: MessageId = MessageId::new(0x01, 0x34);
}

impl Payload for NavSbas {
    const ID: MessageId = MessageId::new(0x01, 0x32);
}

impl Payload for NavDgps {
    const ID: MessageId = MessageId::new(0x01, 0x31);
}

impl Payload for NavSlas {
    const ID: MessageId = MessageId::new(0x01, 0x42);
}

impl Payload for NavGeofence {
    const ID: MessageId = MessageId::new(0x01, 0x39);
}
