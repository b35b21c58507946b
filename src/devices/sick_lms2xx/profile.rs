//! The SICK LMS 2xx: differences between firmwares, and settings in a rig.

use super::profile_read::{
    ERROR_LEVELS, PROTOCOL, characters, errors, listed_modes, listed_rates, measuring_modes,
    milliseconds, password, phase, power_on_modes, quarter_order, range_limit, rates, seconds,
    variant, variants,
};
use crate::config::profile::lidar::{self, BeamSettings, NoiseSettings};
use crate::config::profile::read::PROFILES;
use crate::config::profile::{Profile, lag};
use crate::config::toml::key_types::{Among, By, OneOf, Table, TrueOrFalse};
use crate::config::toml::reader::{Field, Limit};
use crate::wire::sick_lms2xx::configuration::{CONFIGURATION_LEN, OLD_CONFIGURATION_LEN};
use crate::wire::sick_lms2xx::data::{MeasuringMode, Unit};
use crate::wire::sick_lms2xx::{LineRate, Variant};

words!(PowerOnMode:
    "on-request" => OnRequest, "continuous" => Continuous, "partial" => Partial,
    "reflectivity" => Reflectivity);
words!(SpoiltTelegram: "nak" => Nak, "silence" => Silence);
words!(TransmissionStart: "scan-end" => ScanEnd, "line-free" => LineFree);
words!(ScanIndexCounts: "revolutions" => Revolutions, "scans" => Scans);

/// Unit of ranges.
pub type RangeUnit = Unit;

/// The operating mode after power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerOnMode {
    /// Nothing is sent until the host requests it.
    OnRequest,
    /// The stream has every scan.
    Continuous,
    /// The stream has every revolution of the mirror.
    Partial,
    /// Every scan with its reflectivity.
    Reflectivity,
}

/// Reaction to a telegram with a wrong CRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpoiltTelegram {
    /// The byte NAK.
    Nak,
    /// No answer.
    Silence,
}

/// When the scanner starts to send a scan after the line was busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmissionStart {
    /// At the end of the next scan.
    ScanEnd,
    /// At once, with the latest complete scan.
    LineFree,
}

/// Unit in which the real-time scan index counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanIndexCounts {
    /// Revolutions of the mirror.
    Revolutions,
    /// Scans.
    Scans,
}

keys! {
    /// An LMS 2xx firmware.
    #[derive(Clone, Debug)]
    pub struct SickLms2xxProfile {
        /// Identity that the product reports.
        pub identity: Identity, Table("[identity]");
        /// The mirror and the directions that are measured.
        pub scan: Scan, Table("[scan]");
        /// The motor of the mirror.
        pub motor: Motor, Table("[motor]");
        /// Serial line, and times of the unit's answers.
        pub line: Line, Table("[line]");
        /// The configuration block and related values.
        pub configuration: StoredConfiguration, Table("[configuration]");
        /// Telegrams with reflectivity.
        pub reflectivity: Reflectivity, Table("[reflectivity]");
    } then optics => |root| lidar::profile_optics(root, &range_limit()); {
        /// Defaults that a rig may override.
        pub defaults: SickLms2xxSettings = SickLms2xxSettings {
            variant: *scan.variants.first()?,
            rate: *line.rates.first()?,
            unit: configuration.unit,
            measuring_mode: *configuration.measuring_modes.first()?,
            real_time_indices: false,
            sensitivity: 0,
            power_on_mode: PowerOnMode::OnRequest,
            password: configuration.password,
            address: 0,
            start_up_ns: 0,
            restart_ns: line.restart_ns,
            lag_ns: line.lag_ns,
            mirror_phase_rad: scan.mirror_phase_rad,
            errors: Vec::new(),
            error_level: 0,
            is_polluted: false,
            is_implausible: false,
            beam: optics.0,
            noise: optics.1,
        };
    }
}

keys! {
    /// Texts and numbers of the status and type telegrams.
    #[derive(Clone, Debug)]
    pub struct Identity {
        /// The type, as the unit reports it.
        pub type_text as "type": String,
            By(|field: &Field<'_>| characters::<20>(field).map(|(text, _)| text));
        /// The software's version in the status telegram.
        pub software_version: [u8; 7],
            By(|field: &Field<'_>| characters(field).map(|(_, filled)| filled));
        /// The boot software's version in the status telegram.
        pub boot_version: [u8; 7],
            By(|field: &Field<'_>| characters(field).map(|(_, filled)| filled));
        /// The variant in the status telegram: 0 is the standard, 1 special.
        pub variant_type: u8, Limit::new(0..=1, "", "the status telegram: 0 standard, 1 special");
        /// Operating hours at the start of a run.
        pub operating_hours: u16, Limit::new(0..=65_535, "h", PROTOCOL);
        /// Number of power-ons before the run.
        pub power_on_count: u16, Limit::new(0..=65_535, "", "the wire format: two bytes");
    }
}

keys! {
    /// The mirror and the directions that are measured.
    #[derive(Clone, Debug)]
    pub struct Scan {
        /// Rotations of the mirror per second.
        pub mirror_millihertz as "mirror_hz": u64, By(|field: &Field<'_>| {
            let hz = field.number(&Limit::new(1.0..=1000.0, "Hz", PROFILES))?;
            Some((hz * 1000.0).round() as u64)
        });
        /// Pairs of scan angle and resolution, degrees; the first is the factory setting.
        pub variants: Vec<Variant>, By(variants);
        /// Whether a command can change the variant.
        pub can_switch_variant as "switchable": bool, TrueOrFalse;
        /// Whether a rotation has one sample per degree, so that finer scans take several rotations.
        pub is_interlaced as "interlaced": bool, TrueOrFalse;
        /// The quarter of a degree at which each of four revolutions starts.
        pub quarter_order: [u8; 4], By(quarter_order);
        /// Direction of the mirror at the start of a run, counter-clockwise from the right.
        pub mirror_phase_rad as "mirror_phase_deg": f64, phase();
    }
}

keys! {
    /// Reports about a mirror that is held. Gearbox has the error's number; no source has the rest.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Motor {
        /// Time from the end of a stall until scans are sent again.
        pub spin_up_ns as "spin_up_s": u64, seconds();
        /// The error level in the status byte while the motor is stalled.
        pub stalled_level: u8, OneOf(&ERROR_LEVELS, PROTOCOL);
        /// The number of the error that is listed while the motor is stalled.
        pub stalled_error: u8, Limit::new(0..=255, "", "the wire format: one byte");
    }
}

keys! {
    /// Serial line, and times of the unit's answers.
    #[derive(Clone, Debug)]
    pub struct Line {
        /// The rates that the scanner can run at; the first is the factory setting.
        pub rates as "rates_baud": Vec<LineRate>, By(rates);
        /// Time from a telegram's last byte to its acknowledgement.
        pub ack_ns as "ack_ms": u64, milliseconds(0.0);
        /// Time from the acknowledgement to the reply.
        pub reply_ns as "reply_ms": u64, milliseconds(0.0);
        /// Time from the acknowledgement to the reply to a configuration.
        pub configure_ns as "configure_ms": u64, milliseconds(0.0);
        /// A pause longer than this within a telegram aborts the telegram.
        pub byte_gap_ns as "byte_gap_ms": u64, milliseconds(1.0);
        /// Time from a reset to the power-on telegram.
        pub restart_ns as "restart_s": u64, seconds();
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        /// Reaction of the scanner to a wrong checksum.
        pub spoilt_telegram: SpoiltTelegram, OneOf(&SpoiltTelegram::WORDS, PROFILES);
        /// Start of a scan's telegram if the line was busy.
        pub transmission_start: TransmissionStart, OneOf(&TransmissionStart::WORDS, PROFILES);
    }
}

keys! {
    /// The configuration block and related values.
    #[derive(Clone, Debug)]
    pub struct StoredConfiguration {
        /// The length of the block, bytes.
        pub length: usize, Among(
            &[CONFIGURATION_LEN, OLD_CONFIGURATION_LEN].map(|len| (len as i128, len)), "bytes", PROTOCOL,
        );
        /// Values of block D that are accepted; the first is the factory setting.
        pub measuring_modes: Vec<MeasuringMode>, By(measuring_modes);
        /// The unit of distances: block E.
        pub unit: RangeUnit, OneOf(&RangeUnit::WORDS, PROTOCOL);
        /// The largest range of a target with 10 % reflectance for block B = 0, 1, 2 and 3.
        pub sensitivity_range_m: [f64; 4], Limit::new(0.1..=1000.0, "m", PROFILES);
        /// Ratio of signal to detection threshold from which an echo dazzles the scanner; 0 for never.
        pub dazzling_signal: f64, Limit::new(0.0..=1e9, "times the threshold", PROFILES);
        /// Events that the index of a scan counts.
        pub scan_index_counts: ScanIndexCounts, OneOf(&ScanIndexCounts::WORDS, PROFILES);
        /// The password of installation mode.
        pub password: [u8; 8], By(password);
    }
}

keys! {
    /// Telegrams with reflectivity.
    #[derive(Clone, Copy, Debug)]
    pub struct Reflectivity {
        /// Whether the scanner has telegrams with reflectivity.
        pub telegrams: bool, TrueOrFalse;
        /// The value of a white target that faces the scanner.
        pub full_scale: u8, Limit::new(1..=255, "", "the wire format: one byte");
        /// Value of a white target in telegram 0xF5 and for the amplitudes of echoes.
        pub remission_full_scale: u16, Limit::new(1..=65_535, "", "the wire format: two bytes");
    }
}

keys! {
    in profile and rig with (profile: &Profile, driver: &SickLms2xxProfile);
    /// Settings of an LMS 2xx in a rig; the profile has the defaults. Most of them are the stored configuration,
    /// which hosts change by commands.
    #[derive(Clone, Debug)]
    pub struct SickLms2xxSettings {
        /// Angle and resolution after power-on.
        pub variant: Variant => |all, keys| {
            let read = variant(&mut keys.table, driver, &format!("{}, [scan]", profile.file));
            keys.put(read, &mut all.variant);
        };
        /// Rate of the serial line after power-on.
        pub rate as "baud_rate": LineRate,
            Among(&listed_rates(&driver.line.rates), "baud", &format!("{}, [line]", profile.file));
        /// The unit of distances after power-on.
        pub unit: RangeUnit, OneOf(&RangeUnit::WORDS, PROTOCOL);
        /// The measuring mode after power-on: block D of the configuration.
        pub measuring_mode: MeasuringMode, Among(
            &listed_modes(&driver.configuration.measuring_modes), "",
            &format!("{}, [configuration]", profile.file),
        );
        /// Whether scans carry real-time indices.
        pub real_time_indices: bool, TrueOrFalse;
        /// The sensitivity: block B of the configuration.
        pub sensitivity: u8, Limit::new(0..=3, "", "block B of the configuration");
        /// Whether the scanner streams from power-on, or waits for a request.
        pub power_on_mode: PowerOnMode,
            OneOf(&power_on_modes(driver), &format!("{}, [reflectivity]", profile.file));
        /// The password of installation mode.
        pub password: [u8; 8] => |all, keys| {
            let default = String::from_utf8_lossy(&all.password).into_owned();
            keys.with_default("password", default, &mut all.password, password);
        };
        /// The scanner's address in its telegrams.
        pub address: u8, Limit::new(0..=127, "", "the wire format: seven bits");
        /// Time from the start of the run until the scanner is ready; 0 for a scanner that was on before.
        pub start_up_ns as "start_up_s": u64, seconds();
        /// Time that the scanner takes to restart after a reset.
        pub restart_ns as "restart_s": u64, seconds();
        /// Output latency in addition to the product's own delay.
        pub lag_ns as "lag_ms": u64, lag::key();
        /// Direction of the mirror at the first instant.
        pub mirror_phase_rad as "mirror_phase_deg": f64, phase();
        /// Errors that the scanner reports, each with its type and number.
        pub errors as "error_list": Vec<[u8; 2]>, By(errors);
        /// The error level in the status byte.
        pub error_level: u8, OneOf(&ERROR_LEVELS, PROTOCOL);
        /// Whether the scanner reports a dirty window.
        pub is_polluted as "polluted": bool, TrueOrFalse;
        /// Whether the scanner reports its measured values as implausible.
        pub is_implausible as "implausible": bool, TrueOrFalse;
        /// Optics of the laser beam.
        pub beam: BeamSettings =>
            |all, keys| lidar::rig_beam(keys, "{ shape = \"circular\" }", &range_limit(), &mut all.beam);
        /// Random errors, as standard deviations.
        pub noise: NoiseSettings =>
            |all, keys| lidar::rig_noise(keys, "{ range_std_m = 0.012 }", &mut all.noise);
    }
}
