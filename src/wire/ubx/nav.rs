//! NAV messages: position, velocity, time and satellites. Positions are WGS84; `itow_ms` is the GPS time of week of the
//! epoch. The names of fields end in the unit.

use serde::Serialize;

use super::{MessageId, Payload};
use crate::ParseError;
use crate::record::{Reader, Record, put_le, record};

message! {
    /// Position, Earth-centred, Earth-fixed.
    NavPosecef 0x01 0x01 20 {
        /// GPS time of week.
        itow_ms: u32,
        /// Position: x, y, z.
        ecef_cm: [i32; 3],
        /// Accuracy of the position.
        p_acc_cm: u32,
    }
    /// Position: longitude, latitude and height.
    NavPosllh 0x01 0x02 28 {
        /// GPS time of week.
        itow_ms: u32,
        /// Longitude, positive to the east.
        lon_1e7_deg: i32,
        /// Latitude, positive to the north.
        lat_1e7_deg: i32,
        /// Height above the ellipsoid.
        height_mm: i32,
        /// Height above mean sea level.
        h_msl_mm: i32,
        /// Horizontal accuracy.
        h_acc_mm: u32,
        /// Vertical accuracy.
        v_acc_mm: u32,
    }
    /// State of the fix.
    NavStatus 0x01 0x03 16 {
        /// GPS time of week.
        itow_ms: u32,
        /// Kind of fix, as [`NavPvt::fix_type`].
        gps_fix: u8,
        /// Flags: bit 0 fix valid, 1 differential, 2 week valid, 3 time of week valid.
        flags: u8,
        /// Flags: bit 0 differential corrections, 1 carrier solution valid, 6-7 map matching.
        fix_stat: u8,
        /// Flags: bits 0-1 power save mode, 3-4 spoofing detection (1: none detected), 6-7 carrier solution (0 none, 1
        /// float, 2 fixed).
        flags2: u8,
        /// Time to first fix.
        ttff_ms: u32,
        /// Time since start or reset.
        msss_ms: u32,
    }
    /// Dilution of precision.
    NavDop 0x01 0x04 18 {
        /// GPS time of week.
        itow_ms: u32,
        /// Geometric dilution of precision.
        g_dop_centi: u16,
        /// Position dilution of precision.
        p_dop_centi: u16,
        /// Time dilution of precision.
        t_dop_centi: u16,
        /// Vertical dilution of precision.
        v_dop_centi: u16,
        /// Horizontal dilution of precision.
        h_dop_centi: u16,
        /// Dilution of precision to the north.
        n_dop_centi: u16,
        /// Dilution of precision to the east.
        e_dop_centi: u16,
    }
    /// The old navigation solution, removed in generation 9.
    NavSol 0x01 0x06 52 {
        /// GPS time of week.
        itow_ms: u32,
        /// Nanoseconds to add to the time of week.
        ftow_ns: i32,
        /// GPS week.
        week: i16,
        /// Kind of fix, as [`NavPvt::fix_type`].
        gps_fix: u8,
        /// Flags: bit 0 fix valid, 1 differential, 2 week valid, 3 time of week valid.
        flags: u8,
        /// Position, Earth-centred, Earth-fixed: x, y, z.
        ecef_cm: [i32; 3],
        /// Position accuracy.
        p_acc_cm: u32,
        /// Velocity, Earth-centred, Earth-fixed: x, y, z.
        ecef_v_cm_s: [i32; 3],
        /// Speed accuracy.
        s_acc_cm_s: u32,
        /// Position dilution of precision.
        p_dop_centi: u16,
        /// Reserved.
        reserved1: u8,
        /// Number of satellites used.
        num_sv: u8,
        /// Reserved.
        reserved2: u32,
    }
    /// Position, velocity and time.
    NavPvt 0x01 0x07 92 {
        /// GPS time of week.
        itow_ms: u32,
        /// Year, UTC.
        year: u16,
        /// Month, UTC, 1 to 12.
        month: u8,
        /// Day, UTC, 1 to 31.
        day: u8,
        /// Hour, UTC.
        hour: u8,
        /// Minute, UTC.
        minute: u8,
        /// Second, UTC; 60 in a leap second.
        second: u8,
        /// Valid fields: bit 0 date, 1 time, 2 fully resolved, 3 magnetic declination.
        valid: u8,
        /// Time accuracy.
        t_acc_ns: u32,
        /// Nanoseconds to add to the time of day; can be negative.
        nano_ns: i32,
        /// Kind of fix: 0 none, 1 dead reckoning, 2 two-dimensional, 3 three-dimensional, 4 GNSS with dead reckoning, 5
        /// time only.
        fix_type: u8,
        /// Flags: bit 0 fix within limits, 1 differential corrections, 6-7 carrier solution (0 none, 1 float, 2 fixed).
        flags: u8,
        /// Flags: bit 5 confirmation available, 6 date confirmed, 7 time confirmed.
        flags2: u8,
        /// Number of satellites used.
        num_sv: u8,
        /// Longitude, positive to the east.
        lon_1e7_deg: i32,
        /// Latitude, positive to the north.
        lat_1e7_deg: i32,
        /// Height above the ellipsoid.
        height_mm: i32,
        /// Height above mean sea level.
        h_msl_mm: i32,
        /// Horizontal accuracy.
        h_acc_mm: u32,
        /// Vertical accuracy.
        v_acc_mm: u32,
        /// Velocity: north, east, down.
        vel_ned_mm_s: [i32; 3],
        /// Speed over ground.
        g_speed_mm_s: i32,
        /// Course over ground, clockwise from north.
        head_mot_1e5_deg: i32,
        /// Speed accuracy.
        s_acc_mm_s: u32,
        /// Course accuracy.
        head_acc_1e5_deg: u32,
        /// Position dilution of precision.
        p_dop_centi: u16,
        /// Flags: bit 0 position invalid, 1-4 age of corrections.
        flags3: u16,
        /// Reserved.
        reserved1: [u8; 4],
        /// Heading of the vehicle.
        head_veh_1e5_deg: i32,
        /// Magnetic declination.
        mag_dec_centideg: i16,
        /// Accuracy of the declination.
        mag_acc_centideg: u16,
    }
    /// Velocity, Earth-centred, Earth-fixed.
    NavVelecef 0x01 0x11 20 {
        /// GPS time of week.
        itow_ms: u32,
        /// Velocity: x, y, z.
        ecef_v_cm_s: [i32; 3],
        /// Accuracy of the speed.
        s_acc_cm_s: u32,
    }
    /// Velocity, north-east-down, with speed and course.
    NavVelned 0x01 0x12 36 {
        /// GPS time of week.
        itow_ms: u32,
        /// Velocity: north, east, down.
        vel_ned_cm_s: [i32; 3],
        /// Three-dimensional speed.
        speed_cm_s: u32,
        /// Speed over ground.
        g_speed_cm_s: u32,
        /// Course over ground, clockwise from north.
        heading_1e5_deg: i32,
        /// Speed accuracy.
        s_acc_cm_s: u32,
        /// Course accuracy.
        c_acc_1e5_deg: u32,
    }
    /// Position, Earth-centred, Earth-fixed, with a resolution of 0.1 mm.
    NavHpposecef 0x01 0x13 28 {
        /// Version of the message, 0.
        version: u8,
        /// Reserved.
        reserved1: [u8; 3],
        /// GPS time of week.
        itow_ms: u32,
        /// Position: x, y, z.
        ecef_cm: [i32; 3],
        /// Parts to add to x, y and z: -99 to 99 each.
        ecef_hp_100um: [i8; 3],
        /// Flags: bit 0 position invalid.
        flags: u8,
        /// Accuracy of the position.
        p_acc_100um: u32,
    }
    /// Position with a resolution of 1e-9 degrees and 0.1 mm.
    NavHpposllh 0x01 0x14 36 {
        /// Version of the message, 0.
        version: u8,
        /// Reserved.
        reserved1: [u8; 2],
        /// Flags: bit 0 position invalid.
        flags: u8,
        /// GPS time of week.
        itow_ms: u32,
        /// Longitude, positive to the east.
        lon_1e7_deg: i32,
        /// Latitude, positive to the north.
        lat_1e7_deg: i32,
        /// Height above the ellipsoid.
        height_mm: i32,
        /// Height above mean sea level.
        h_msl_mm: i32,
        /// Part to add to the longitude, -99 to 99.
        lon_hp_1e9_deg: i8,
        /// Part to add to the latitude, -99 to 99.
        lat_hp_1e9_deg: i8,
        /// Part to add to the height, -9 to 9.
        height_hp_100um: i8,
        /// Part to add to the height above mean sea level, -9 to 9.
        h_msl_hp_100um: i8,
        /// Horizontal accuracy.
        h_acc_100um: u32,
        /// Vertical accuracy.
        v_acc_100um: u32,
    }
    /// GPS time.
    NavTimegps 0x01 0x20 16 {
        /// GPS time of week.
        itow_ms: u32,
        /// Nanoseconds to add to the time of week.
        ftow_ns: i32,
        /// GPS week.
        week: i16,
        /// GPS minus UTC.
        leap_s: i8,
        /// Valid fields: bit 0 time of week, 1 week, 2 leap seconds.
        valid: u8,
        /// Accuracy of the time.
        t_acc_ns: u32,
    }
    /// Date and time, UTC.
    NavTimeutc 0x01 0x21 20 {
        /// GPS time of week.
        itow_ms: u32,
        /// Accuracy of the time.
        t_acc_ns: u32,
        /// Nanoseconds to add to the time of day.
        nano_ns: i32,
        /// Year, four digits.
        year: u16,
        /// Month: 1 to 12.
        month: u8,
        /// Day: 1 to 31.
        day: u8,
        /// Hour: 0 to 23.
        hour: u8,
        /// Minute: 0 to 59.
        minute: u8,
        /// Second: 0 to 60.
        second: u8,
        /// Valid fields: bit 0 time of week, 1 week, 2 UTC, 4-7 source of UTC (3: USNO).
        valid: u8,
    }
    /// Bias and drift of the receiver's clock, with their accuracies.
    NavClock 0x01 0x22 20 {
        /// GPS time of week.
        itow_ms: u32,
        /// Bias of the clock.
        bias_ns: i32,
        /// Drift of the clock.
        drift_ns_s: i32,
        /// Accuracy of the time.
        t_acc_ns: u32,
        /// Accuracy of the frequency.
        f_acc_ps_s: u32,
    }
    /// Current number of leap seconds, and the next change of this number.
    NavTimels 0x01 0x26 24 {
        /// GPS time of week.
        itow_ms: u32,
        /// Version of the message, 0.
        version: u8,
        /// Reserved.
        reserved1: [u8; 3],
        /// Source of the current number of leap seconds: 0 firmware, 2 GPS.
        source: u8,
        /// GPS minus UTC.
        leap_s: i8,
        /// Source of the next change: 0 none, 2 GPS.
        change_source: u8,
        /// Size of the next change: -1, 0 or 1.
        change_s: i8,
        /// Time until the next change; negative if the change is in the past.
        time_to_event_s: i32,
        /// GPS week of the change.
        event_week: u16,
        /// Day of the change, 1 Sunday to 7 Saturday.
        event_day: u16,
        /// Reserved.
        reserved2: [u8; 3],
        /// Valid fields: bit 0 current number, 1 time to the change.
        valid: u8,
    }
    /// Covariances of position and velocity.
    NavCov 0x01 0x36 64 {
        /// GPS time of week.
        itow_ms: u32,
        /// Version of the message, 0.
        version: u8,
        /// 1 if the covariances of the position are valid.
        pos_valid: u8,
        /// 1 if the covariances of the velocity are valid.
        vel_valid: u8,
        /// Reserved.
        reserved1: [u8; 9],
        /// Covariances of the position: NN, NE, ND, EE, ED, DD.
        pos_m2: [f32; 6],
        /// Covariances of the velocity: NN, NE, ND, EE, ED, DD.
        vel_m2_s2: [f32; 6],
    }
    /// Position relative to a base station, version 1 of the message.
    NavRelposned 0x01 0x3c 64 {
        /// Version of the message, 1.
        version: u8,
        /// Reserved.
        reserved1: u8,
        /// Id of the base station.
        station: u16,
        /// GPS time of week.
        itow_ms: u32,
        /// Relative position: north, east, down.
        rel_pos_cm: [i32; 3],
        /// Length of the baseline.
        length_cm: i32,
        /// Heading of the baseline, clockwise from north.
        heading_1e5_deg: i32,
        /// Reserved.
        reserved2: [u8; 4],
        /// Parts to add to north, east and down: -99 to 99 each.
        rel_pos_hp_100um: [i8; 3],
        /// Part to add to the length, -99 to 99.
        length_hp_100um: i8,
        /// Accuracy of north, east, down.
        acc_100um: [u32; 3],
        /// Accuracy of the length.
        acc_length_100um: u32,
        /// Accuracy of the heading.
        acc_heading_1e5_deg: u32,
        /// Reserved.
        reserved3: [u8; 4],
        /// Flags: bit 0 fix valid, 1 differential corrections, 2 baseline valid, 3-4 carrier solution (0 none, 1 float,
        /// 2 fixed), 5 moving base, 8 heading valid.
        flags: u32,
    }
    /// State of the survey-in, which determines the antenna's position.
    NavSvin 0x01 0x3b 40 {
        /// Version of the message, 0.
        version: u8,
        /// Reserved.
        reserved1: [u8; 3],
        /// GPS time of week.
        itow_ms: u32,
        /// Duration of the survey so far.
        duration_s: u32,
        /// Mean position: x, y, z.
        mean_ecef_cm: [i32; 3],
        /// Parts to add to the mean position: -99 to 99 each.
        mean_ecef_hp_100um: [i8; 3],
        /// Reserved.
        reserved2: u8,
        /// Accuracy of the mean position.
        mean_acc_100um: u32,
        /// Number of positions in the mean.
        observations: u32,
        /// 1 if the requested time and accuracy are reached.
        valid: u8,
        /// 1 while the survey is in progress.
        active: u8,
        /// Reserved.
        reserved3: [u8; 2],
    }
    /// End of the epoch.
    NavEoe 0x01 0x61 4 {
        /// GPS time of week.
        itow_ms: u32,
    }
}

record! {
    /// One satellite of [`NavSat`].
    #[derive(Copy, Default, Serialize)]
    SatInfo: Le 12 {
        /// Satellite system: 0 GPS, 1 SBAS, 2 Galileo, 3 BeiDou, 5 QZSS, 6 GLONASS.
        gnss_id: u8,
        /// Number of the satellite within the system.
        sv_id: u8,
        /// Carrier-to-noise ratio.
        cno_dbhz: u8,
        /// Elevation above the horizon, -90 to 90.
        elevation_deg: i8,
        /// Azimuth from north, clockwise.
        azimuth_deg: i16,
        /// Residual of the range.
        residual_dm: i16,
        /// Flags: bits 0-2 quality (0 none to 7), 3 used, 4-5 health (1 ok), 6 differential, 7 smoothed, 8-10
        /// orbit (1 ephemeris, 2 almanac), 11 ephemeris, 12 almanac available.
        flags: u32,
    }
    /// One signal of [`NavSig`].
    #[derive(Copy, Default, Serialize)]
    SignalInfo: Le 16 {
        /// Satellite system as in [`SatInfo`].
        gnss_id: u8,
        /// Number of the satellite within the system.
        sv_id: u8,
        /// Number of the signal within the system.
        sig_id: u8,
        /// GLONASS: frequency slot plus 7.
        freq_id: u8,
        /// Residual of the range.
        residual_dm: i16,
        /// Carrier-to-noise ratio.
        cno_dbhz: u8,
        /// Quality: 0 none, 1 searching, 4 code locked, 7 carrier tracked.
        quality: u8,
        /// Corrections: 0 none, 1 SBAS, 4 RTCM 3 observations (OSR), 5 RTCM 3 error states (SSR).
        correction_source: u8,
        /// Ionospheric correction: 0 none, 1 broadcast model, 8 two frequencies.
        ionosphere_model: u8,
        /// Flags: bits 0-1 health (1 ok), 2 smoothed, 3 range used, 4 carrier used, 5 Doppler used, 6 range
        /// corrected, 7 carrier corrected, 8 Doppler corrected.
        flags: u16,
        /// Reserved.
        reserved1: [u8; 4],
    }
    /// One channel of [`NavSvinfo`].
    #[derive(Copy, Default, Serialize)]
    ChannelInfo: Le 12 {
        /// Number of the channel; 255 if none is assigned.
        channel: u8,
        /// Number of the satellite in u-blox's numbering for all systems: GPS 1-32, BeiDou 159-163 and 33-64, GLONASS
        /// 65-96, Galileo 211-246.
        sv_id: u8,
        /// Flags: bit 0 used, 1 differential corrections, 2 orbit known, 3 ephemeris.
        flags: u8,
        /// Quality: 0 idle to 7.
        quality: u8,
        /// Carrier-to-noise ratio.
        cno_dbhz: u8,
        /// Elevation, degrees.
        elevation_deg: i8,
        /// Azimuth from north, clockwise.
        azimuth_deg: i16,
        /// Residual of the range.
        residual_cm: i32,
    }
}

/// Satellites in view.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NavSat {
    /// GPS time of week.
    pub itow_ms: u32,
    /// Version of the message, 1.
    pub version: u8,
    /// Reserved.
    pub reserved1: [u8; 2],
    /// The satellites, at most 255.
    pub satellites: Vec<SatInfo>,
}

impl Payload for NavSat {
    const ID: MessageId = MessageId::new(0x01, 0x35);
}

impl Record for NavSat {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("NavSat", payload);
        let (itow_ms, [version, count], reserved1) = (from.le()?, from.array()?, from.array()?);
        let satellites = from.le_vec(count)?;
        from.finish()?;
        Ok(Self { itow_ms, version, reserved1, satellites })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let satellites = &self.satellites[..self.satellites.len().min(255)];
        put_le(out, &[self.itow_ms]);
        out.extend([self.version, satellites.len() as u8]);
        out.extend(self.reserved1);
        put_le(out, satellites);
    }
}

/// Signals in view, from generation 9 on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NavSig {
    /// GPS time of week.
    pub itow_ms: u32,
    /// Version of the message, 0.
    pub version: u8,
    /// Reserved.
    pub reserved1: [u8; 2],
    /// The signals, at most 255.
    pub signals: Vec<SignalInfo>,
}

impl Payload for NavSig {
    const ID: MessageId = MessageId::new(0x01, 0x43);
}

impl Record for NavSig {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("NavSig", payload);
        let (itow_ms, [version, count], reserved1) = (from.le()?, from.array()?, from.array()?);
        let signals = from.le_vec(count)?;
        from.finish()?;
        Ok(Self { itow_ms, version, reserved1, signals })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let signals = &self.signals[..self.signals.len().min(255)];
        put_le(out, &[self.itow_ms]);
        out.extend([self.version, signals.len() as u8]);
        out.extend(self.reserved1);
        put_le(out, signals);
    }
}

/// Channels and their satellites; the message was removed in generation 9.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NavSvinfo {
    /// GPS time of week.
    pub itow_ms: u32,
    /// Flags: bits 0-2 generation of the chip.
    pub global_flags: u8,
    /// Reserved.
    pub reserved1: [u8; 2],
    /// The channels, at most 255.
    pub channels: Vec<ChannelInfo>,
}

impl Payload for NavSvinfo {
    const ID: MessageId = MessageId::new(0x01, 0x30);
}

impl Record for NavSvinfo {
    fn parse(payload: &[u8]) -> Result<Self, ParseError> {
        let mut from = Reader::new("NavSvinfo", payload);
        let (itow_ms, [count, global_flags], reserved1) =
            (from.le()?, from.array()?, from.array()?);
        let channels = from.le_vec(count)?;
        from.finish()?;
        Ok(Self { itow_ms, global_flags, reserved1, channels })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let channels = &self.channels[..self.channels.len().min(255)];
        put_le(out, &[self.itow_ms]);
        out.extend([channels.len() as u8, self.global_flags]);
        out.extend(self.reserved1);
        put_le(out, channels);
    }
}
