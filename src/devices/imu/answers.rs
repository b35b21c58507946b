//! What an IMU answers where its protocol is known and its contents are not: status words of a healthy
//! unit, and what settings that change nothing here read back before a host writes them.

use std::collections::BTreeMap;

use super::protocol::ImuProtocol;
use crate::config::profile::read::PROFILES;
use crate::config::toml::reader::{Field, Limit, TableReader};
use crate::wire::sbg_ecom::command;
use crate::wire::xbus::mid;

/// A product's protocol, with `[answers]` of its profile where hosts ask.
#[derive(Clone, Debug, PartialEq)]
pub enum Dialect {
    /// Wheeltec; it is never asked.
    FdiLink,
    /// VectorNav: registers' contents by number.
    VectorNav(BTreeMap<u8, String>),
    /// Xsens.
    Xbus(XbusAnswers),
    /// MicroStrain.
    Mip(MipAnswers),
    /// SBG.
    SbgEcom(SbgAnswers),
    /// A phone; it is never asked.
    Phone,
}

impl Dialect {
    /// Which protocol it is.
    pub fn protocol(&self) -> ImuProtocol {
        match self {
            Self::FdiLink => ImuProtocol::FdiLink,
            Self::VectorNav(_) => ImuProtocol::VectorNav,
            Self::Xbus(_) => ImuProtocol::Xbus,
            Self::Mip(_) => ImuProtocol::Mip,
            Self::SbgEcom(_) => ImuProtocol::SbgEcom,
            Self::Phone => ImuProtocol::Phone,
        }
    }
}

/// Of an MTi.
#[derive(Clone, Debug, PartialEq)]
pub struct XbusAnswers {
    /// Result of the self-test, a bit for each test that was passed.
    pub self_test: u16,
    /// What its filter can be set to.
    pub filter_profiles: Vec<FilterProfile>,
    /// Settings' data by message id.
    pub stored: BTreeMap<u8, Vec<u8>>,
}

/// A filter profile of an MTi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterProfile {
    /// How it is chosen.
    pub number: u8,
    /// Its version.
    pub version: u8,
    /// Its name, at most 20 characters.
    pub label: String,
}

/// Of a 3DM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MipAnswers {
    /// Result of the built-in test; 0: nothing failed.
    pub built_in_test: u32,
    /// State, dynamics mode and flags of the filter's status field.
    pub filter_status: [u16; 3],
    /// Of the filter's data, Hz; a divisor of the sample rate.
    pub filter_base_rate_hz: u32,
    /// From a reset of the filter until it has a solution, ns.
    pub filter_init_ns: u64,
    /// Numbers of the filter's tuning by the command's descriptor.
    pub tuning: BTreeMap<u8, String>,
}

/// Of an Ellipse.
#[derive(Clone, Debug, PartialEq)]
pub struct SbgAnswers {
    /// General status.
    pub general: u16,
    /// Ports' status.
    pub com: u32,
    /// Status of aiding.
    pub aiding: u32,
    /// Load of the processor, percent.
    pub cpu_percent: u8,
    /// Of an IMU log when no range has ended.
    pub imu: u16,
    /// Of a magnetometer log.
    pub mag: u16,
    /// Of a UTC log.
    pub utc: u16,
    /// Of the filter's logs.
    pub solution: u32,
    /// Of the internal receiver, Hz; a divisor of the sample rate.
    pub gnss_rate_hz: u32,
    /// That the internal receiver uses.
    pub gnss_satellites: u8,
    /// Settings' data by command id.
    pub stored: BTreeMap<u8, Vec<u8>>,
}

/// A VectorNav's registers: key, number, how many numbers.
pub const VECTORNAV_REGISTERS: [(&str, u8, usize); 18] = [
    ("register_21", 21, 6),
    ("register_23", 23, 12),
    ("register_25", 25, 12),
    ("register_26", 26, 9),
    ("register_30", 30, 7),
    ("register_32", 32, 9),
    ("register_35", 35, 4),
    ("register_36", 36, 9),
    ("register_38", 38, 9),
    ("register_43", 43, 3),
    ("register_44", 44, 3),
    ("register_47", 47, 12),
    ("register_50", 50, 3),
    ("register_51", 51, 3),
    ("register_82", 82, 5),
    ("register_83", 83, 9),
    ("register_84", 84, 12),
    ("register_85", 85, 10),
];

/// The tuning of a 3DM's filter: key, descriptor of the command in set 0x0D, how many numbers.
pub const MIP_TUNING: [(&str, u8, usize); 16] = [
    ("vehicle_dynamics_mode", 0x10, 1),
    ("estimation_control", 0x14, 1),
    ("accelerometer_noise", 0x1a, 3),
    ("gyro_noise", 0x1b, 3),
    ("accelerometer_bias_model", 0x1c, 6),
    ("gyro_bias_model", 0x1d, 6),
    ("zero_angular_rate", 0x20, 2),
    ("magnetometer_auto_calibration", 0x25, 1),
    ("gravity_noise", 0x28, 3),
    ("hard_iron_noise", 0x2b, 3),
    ("soft_iron_noise", 0x2c, 9),
    ("measurements_enabled", 0x41, 1),
    ("magnetometer_noise", 0x42, 3),
    ("gravity_adaptive", 0x44, 7),
    ("magnetometer_adaptive", 0x45, 7),
    ("dip_angle_adaptive", 0x46, 5),
];

/// An MTi's settings: key, message id, bytes.
pub const XBUS_SETTINGS: [(&str, u8, usize); 9] = [
    ("period", mid::SET_PERIOD, 2),
    ("option_flags", mid::SET_OPTION_FLAGS, 4),
    ("filter_profile", mid::SET_FILTER_PROFILE, 2),
    ("lat_lon_alt", mid::SET_LAT_LON_ALT, 24),
    ("location_id", mid::SET_LOCATION_ID, 2),
    ("string_output_type", mid::SET_STRING_OUTPUT_TYPE, 2),
    ("output_mode", mid::SET_OUTPUT_MODE, 2),
    ("output_settings", mid::SET_OUTPUT_SETTINGS, 4),
    ("error_mode", mid::SET_ERROR_MODE, 2),
];

/// An Ellipse's settings: key, command id, bytes.
pub const SBG_SETTINGS: [(&str, u8, usize); 17] = [
    ("init_parameters", command::INIT_PARAMETERS, 28),
    ("motion_profile", command::MOTION_PROFILE_ID, 4),
    ("imu_alignment", command::IMU_ALIGNMENT_LEVER_ARM, 26),
    ("aiding_assignment", command::AIDING_ASSIGNMENT, 16),
    ("magnetometer_model", command::MAGNETOMETER_MODEL_ID, 4),
    ("magnetometer_reject", command::MAGNETOMETER_REJECT_MODE, 1),
    ("gnss_1_model", command::GNSS_1_MODEL_ID, 4),
    ("gnss_1_alignment", command::GNSS_1_LEVER_ARM_ALIGNMENT, 24),
    ("gnss_1_installation", command::GNSS_1_INSTALLATION, 26),
    ("gnss_1_reject", command::GNSS_1_REJECT_MODES, 4),
    ("odometer", command::ODO_CONF, 6),
    ("odometer_lever_arm", command::ODO_LEVER_ARM, 12),
    ("odometer_reject", command::ODO_REJECT_MODE, 1),
    ("sync_in", command::SYNC_IN_CONF, 5),
    ("sync_out", command::SYNC_OUT_CONF, 8),
    ("advanced", command::ADVANCED_CONF, 2),
    ("validity_thresholds", command::VALIDITY_THRESHOLDS, 16),
];

/// Reads `[answers]`; protocols without commands have none.
pub(crate) fn read(root: &mut TableReader<'_>, protocol: ImuProtocol) -> Option<Dialect> {
    let mut answers = |read: fn(&mut TableReader<'_>) -> Option<Dialect>| {
        let mut table = root.required("answers").table("[answers]")?;
        let dialect = read(&mut table);
        table.finish();
        dialect
    };
    match protocol {
        ImuProtocol::FdiLink => Some(Dialect::FdiLink),
        ImuProtocol::VectorNav => {
            answers(|table| stored(table, &VECTORNAV_REGISTERS, numbers).map(Dialect::VectorNav))
        }
        ImuProtocol::Xbus => answers(|table| xbus(table).map(Dialect::Xbus)),
        ImuProtocol::Mip => answers(|table| mip(table).map(Dialect::Mip)),
        ImuProtocol::SbgEcom => answers(|table| sbg(table).map(Dialect::SbgEcom)),
        ImuProtocol::Phone => Some(Dialect::Phone),
    }
}

fn xbus(table: &mut TableReader<'_>) -> Option<XbusAnswers> {
    let self_test = word(table, "self_test");
    let field = table.required("filter_profiles");
    let filter_profiles = field.array("filter profiles").and_then(|(items, _)| {
        items.iter().map(filter_profile).collect::<Vec<_>>().into_iter().collect()
    });
    let stored = stored(table, &XBUS_SETTINGS, bytes);
    Some(XbusAnswers { self_test: self_test?, filter_profiles: filter_profiles?, stored: stored? })
}

fn filter_profile(item: &Field<'_>) -> Option<FilterProfile> {
    let mut table = item.table("filter_profiles")?;
    let (number, version) = (word(&mut table, "number"), word(&mut table, "version"));
    let field = table.required("label");
    let label = field.text("a name").and_then(|text| {
        let is_good =
            text.value.len() <= 20 && text.value.chars().all(|c| (' '..='~').contains(&c));
        if !is_good {
            let label = "allowed: at most 20 printable ASCII characters";
            field.fault(text.place.fault("`label` cannot be sent", label));
        }
        is_good.then_some(text.value)
    });
    table.finish();
    Some(FilterProfile { number: number?, version: version?, label: label? })
}

fn mip(table: &mut TableReader<'_>) -> Option<MipAnswers> {
    let built_in_test = word(table, "built_in_test");
    let status = ["filter_state", "filter_mode", "filter_flags"].map(|key| word(table, key));
    let [state, mode, flags] = status;
    let rate = Limit::new(1..=10_000, "Hz", PROFILES);
    let filter_base_rate_hz = table.required("filter_base_rate_hz").integer(&rate);
    let ms = Limit::new(0.0..=60_000.0, "ms", PROFILES);
    let init_ms = table.required("filter_init_ms").number(&ms);
    let tuning = stored(table, &MIP_TUNING, numbers);
    Some(MipAnswers {
        built_in_test: built_in_test?,
        filter_status: [state?, mode?, flags?],
        filter_base_rate_hz: filter_base_rate_hz?,
        filter_init_ns: (init_ms? * 1e6).round() as u64,
        tuning: tuning?,
    })
}

fn sbg(table: &mut TableReader<'_>) -> Option<SbgAnswers> {
    let (general, com, aiding) =
        (word(table, "general"), word(table, "com"), word(table, "aiding"));
    let percent = Limit::new(0..=100, "%", PROFILES);
    let cpu_percent = table.required("cpu_percent").integer(&percent);
    let (imu, mag, utc) = (word(table, "imu"), word(table, "magnetometer"), word(table, "utc"));
    let solution = word(table, "solution");
    let rate = Limit::new(1..=200, "Hz", PROFILES);
    let gnss_rate_hz = table.required("gnss_rate_hz").integer(&rate);
    let gnss_satellites = word(table, "gnss_satellites");
    let stored = stored(table, &SBG_SETTINGS, bytes);
    Some(SbgAnswers {
        general: general?,
        com: com?,
        aiding: aiding?,
        cpu_percent: cpu_percent?,
        imu: imu?,
        mag: mag?,
        utc: utc?,
        solution: solution?,
        gnss_rate_hz: gnss_rate_hz?,
        gnss_satellites: gnss_satellites?,
        stored: stored?,
    })
}

/// A status word of the type that is wanted.
fn word<T: TryFrom<i128>>(table: &mut TableReader<'_>, key: &'static str) -> Option<T> {
    let most = (1_i128 << (8 * size_of::<T>())) - 1;
    table.required(key).integer(&Limit::new(0..=most, "", "the wire format"))
}

/// All settings of a list.
fn stored<T>(
    table: &mut TableReader<'_>,
    list: &[(&'static str, u8, usize)],
    read: fn(&Field<'_>, usize) -> Option<T>,
) -> Option<BTreeMap<u8, T>> {
    let all: Vec<_> = list
        .iter()
        .map(|(key, id, count)| Some((*id, read(&table.required(key), *count)?)))
        .collect();
    all.into_iter().collect()
}

/// So many bytes in hex.
fn bytes(field: &Field<'_>, count: usize) -> Option<Vec<u8>> {
    let text = field.text("bytes in hex")?;
    let bytes = text.value.split_whitespace().map(|byte| match byte.len() {
        2 => u8::from_str_radix(byte, 16).ok(),
        _ => None,
    });
    let bytes = bytes.collect::<Option<Vec<u8>>>().filter(|bytes| bytes.len() == count);
    if bytes.is_none() {
        let label = format!("allowed: two hex digits a byte, blanks between; bytes: {count}");
        let fault = text.place.fault("not the bytes of this setting", label);
        field.fault(fault.note("limit from the wire format"));
    }
    bytes
}

/// So many numbers with commas between, as the unit says them.
fn numbers(field: &Field<'_>, count: usize) -> Option<String> {
    let text = field.text("numbers with commas between")?;
    let is_number = |part: &str| part.parse::<f64>().is_ok_and(f64::is_finite);
    let is_good = text.value.split(',').count() == count && text.value.split(',').all(is_number);
    if !is_good {
        let label = format!("allowed: {count} numbers with commas between");
        let fault = text.place.fault("not the content of this register", label);
        field.fault(fault.note("limit from the register's layout"));
    }
    is_good.then_some(text.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::catalogue;
    use crate::imu::profile::ImuProfile;

    fn dialect(name: &str) -> Dialect {
        let profile = catalogue().profile(name).unwrap_or_else(|faults| panic!("{faults}"));
        let Some(driver) = profile.data::<ImuProfile>() else { panic!("an IMU") };
        driver.dialect.clone()
    }

    #[test]
    fn each_protocol_has_its_own() {
        assert_eq!(dialect("wheeltec-n100"), Dialect::FdiLink);
        let Dialect::VectorNav(registers) = dialect("vectornav-vn100") else { panic!() };
        assert_eq!(registers[&35], "1,1,1,1");
        let Dialect::Xbus(xbus) = dialect("xsens-mti30") else { panic!() };
        assert_eq!((xbus.self_test, xbus.filter_profiles.len()), (0x1ff, 5));
        assert_eq!(xbus.stored[&0x64], [0, 39]);
        let Dialect::Mip(mip) = dialect("microstrain-3dmgx5") else { panic!() };
        assert_eq!((mip.built_in_test, mip.filter_status), (0, [2, 2, 0]));
        assert_eq!((mip.filter_base_rate_hz, mip.tuning.len()), (500, 16));
        let Dialect::SbgEcom(sbg) = dialect("sbg-ellipse2d") else { panic!() };
        assert_eq!((sbg.general, sbg.solution), (0x7f, 0x0800_0ef4));
        assert_eq!(sbg.stored[&11], [201, 0, 0, 0]);
    }
}
