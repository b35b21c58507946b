//! A product's firmware as data: typed, checked, nothing optional left.

pub mod lidar;
pub(crate) mod lidar_read;
pub mod network;
pub(crate) mod read;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::config::gnss::GnssProfile;
use crate::config::hdl64e::Hdl64eProfile;
use crate::config::imu::ImuProfile;
use crate::config::profile::network::DatagramPort;
use crate::config::sick_lms1xx::SickLms1xxProfile;
use crate::config::sick_lms2xx::SickLms2xxProfile;
use crate::config::toml::diagnostic::{Diagnostic, Diagnostics, SourceFile};
use crate::config::toml::reader::nearest;
use crate::config::velodyne::VelodyneProfile;

/// One firmware of one product.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The file's stem: `<vendor>-<model>-<firmware>`, or `<vendor>-<model>` if one is known.
    pub name: String,
    /// The file, as messages about its limits name it.
    pub file: String,
    /// Its text.
    pub source: Arc<SourceFile>,
    /// One line for `menura profiles`.
    pub summary: String,
    /// Where the numbers come from: manuals, captures, drivers.
    pub sources: Vec<String>,
    /// What no two sources confirm; each is a setting of the profile, not a constant of the code.
    pub unsure: Vec<String>,
    /// The family and its data.
    pub driver: DriverProfile,
}

/// The profiles that are part of the program: file name and text.
const EMBEDDED: &[(&str, &str)] = &[
    (
        "firmware-profiles/garmin-18x-lvc.toml",
        include_str!("../../../firmware-profiles/garmin-18x-lvc.toml"),
    ),
    (
        "firmware-profiles/microstrain-3dmgx5.toml",
        include_str!("../../../firmware-profiles/microstrain-3dmgx5.toml"),
    ),
    (
        "firmware-profiles/phone-gnss.toml",
        include_str!("../../../firmware-profiles/phone-gnss.toml"),
    ),
    ("firmware-profiles/phone-imu.toml", include_str!("../../../firmware-profiles/phone-imu.toml")),
    (
        "firmware-profiles/sbg-ellipse2d.toml",
        include_str!("../../../firmware-profiles/sbg-ellipse2d.toml"),
    ),
    (
        "firmware-profiles/sick-lms111.toml",
        include_str!("../../../firmware-profiles/sick-lms111.toml"),
    ),
    (
        "firmware-profiles/sick-lms200-v2.30.toml",
        include_str!("../../../firmware-profiles/sick-lms200-v2.30.toml"),
    ),
    (
        "firmware-profiles/sick-lms211.toml",
        include_str!("../../../firmware-profiles/sick-lms211.toml"),
    ),
    (
        "firmware-profiles/sick-lms221.toml",
        include_str!("../../../firmware-profiles/sick-lms221.toml"),
    ),
    (
        "firmware-profiles/sick-lms291-s05-x1.27.toml",
        include_str!("../../../firmware-profiles/sick-lms291-s05-x1.27.toml"),
    ),
    (
        "firmware-profiles/sick-lms291-s14.toml",
        include_str!("../../../firmware-profiles/sick-lms291-s14.toml"),
    ),
    (
        "firmware-profiles/sick-lms511.toml",
        include_str!("../../../firmware-profiles/sick-lms511.toml"),
    ),
    ("firmware-profiles/ublox-m8n.toml", include_str!("../../../firmware-profiles/ublox-m8n.toml")),
    (
        "firmware-profiles/ublox-zed-f9p-hpg1.11.toml",
        include_str!("../../../firmware-profiles/ublox-zed-f9p-hpg1.11.toml"),
    ),
    (
        "firmware-profiles/ublox-zed-f9p-hpg1.32.toml",
        include_str!("../../../firmware-profiles/ublox-zed-f9p-hpg1.32.toml"),
    ),
    (
        "firmware-profiles/vectornav-vn100.toml",
        include_str!("../../../firmware-profiles/vectornav-vn100.toml"),
    ),
    (
        "firmware-profiles/velodyne-hdl32e-2.2.toml",
        include_str!("../../../firmware-profiles/velodyne-hdl32e-2.2.toml"),
    ),
    (
        "firmware-profiles/velodyne-hdl64e-s1.toml",
        include_str!("../../../firmware-profiles/velodyne-hdl64e-s1.toml"),
    ),
    (
        "firmware-profiles/velodyne-hdl64e-s2.toml",
        include_str!("../../../firmware-profiles/velodyne-hdl64e-s2.toml"),
    ),
    (
        "firmware-profiles/velodyne-hdl64e-s3.toml",
        include_str!("../../../firmware-profiles/velodyne-hdl64e-s3.toml"),
    ),
    (
        "firmware-profiles/velodyne-puck-hires-3.0.toml",
        include_str!("../../../firmware-profiles/velodyne-puck-hires-3.0.toml"),
    ),
    (
        "firmware-profiles/velodyne-vlp16-3.0.toml",
        include_str!("../../../firmware-profiles/velodyne-vlp16-3.0.toml"),
    ),
    (
        "firmware-profiles/velodyne-vlp32c-3.0.toml",
        include_str!("../../../firmware-profiles/velodyne-vlp32c-3.0.toml"),
    ),
    (
        "firmware-profiles/velodyne-vls128-5.1.toml",
        include_str!("../../../firmware-profiles/velodyne-vls128-5.1.toml"),
    ),
    (
        "firmware-profiles/velodyne-vls128-5.1-captured.toml",
        include_str!("../../../firmware-profiles/velodyne-vls128-5.1-captured.toml"),
    ),
    (
        "firmware-profiles/velodyne-vls128-5.2.toml",
        include_str!("../../../firmware-profiles/velodyne-vls128-5.2.toml"),
    ),
    (
        "firmware-profiles/wheeltec-n100.toml",
        include_str!("../../../firmware-profiles/wheeltec-n100.toml"),
    ),
    (
        "firmware-profiles/xsens-mti30.toml",
        include_str!("../../../firmware-profiles/xsens-mti30.toml"),
    ),
];

/// No profile is longer than this.
const MAX_PROFILE_BYTES: u64 = 1 << 20;

impl Profile {
    /// The ports the product sends datagrams to; none of products that send no datagrams.
    pub fn ports(&self) -> Vec<DatagramPort> {
        match &self.driver {
            DriverProfile::VelodyneHdl64e(driver) => vec![driver.network.data_port()],
            DriverProfile::Velodyne(driver) => driver.ports(),
            DriverProfile::SickLms2xx(_)
            | DriverProfile::Imu(_)
            | DriverProfile::Gnss(_)
            | DriverProfile::SickLms1xx(_) => Vec::new(),
        }
    }

    /// Whether the product has an input for a GPS receiver's pulse and sentences.
    pub fn has_gps_input(&self) -> bool {
        match &self.driver {
            DriverProfile::VelodyneHdl64e(driver) => driver.defaults.clock.is_some(),
            DriverProfile::Velodyne(_) => true,
            _ => false,
        }
    }

    /// What kind of link it has.
    pub fn interface(&self) -> Interface {
        match &self.driver {
            DriverProfile::VelodyneHdl64e(_) | DriverProfile::Velodyne(_) => Interface::Datagrams,
            DriverProfile::SickLms1xx(_) => Interface::Server,
            DriverProfile::SickLms2xx(_) | DriverProfile::Imu(_) | DriverProfile::Gnss(_) => {
                Interface::Line
            }
        }
    }

    /// The second way to a device of it, if it has one.
    pub fn control(&self) -> Option<Control> {
        match &self.driver {
            DriverProfile::Velodyne(_) => Some(Control::Web),
            DriverProfile::VelodyneHdl64e(_) => Some(Control::Line),
            _ => None,
        }
    }

    /// The profiles that are part of the program, by name.
    pub fn embedded() -> &'static [Arc<Profile>] {
        static PROFILES: LazyLock<Vec<Arc<Profile>>> = LazyLock::new(|| {
            let parse = |(file, text): &(&str, &str)| match Profile::parse(file, text) {
                Ok(profile) => Arc::new(profile),
                // Their text is part of the program: this is a bug in Menura, seen by its tests.
                Err(faults) => panic!("{faults}"),
            };
            EMBEDDED.iter().map(parse).collect()
        });
        &PROFILES
    }

    /// A profile by name, or by the path of a `.toml` file.
    ///
    /// # Errors
    /// An unknown name, or everything that is wrong with the file.
    pub fn find(name_or_path: &str) -> Result<Arc<Profile>, Diagnostics> {
        if Self::is_path(name_or_path) {
            return Self::load(name_or_path, Path::new(name_or_path)).map(Arc::new);
        }
        Self::by_name(name_or_path).ok_or_else(|| {
            let fault = Diagnostic::new(format!("there is no profile `{name_or_path}`"));
            Diagnostics::from(fault.help(Self::suggestion(name_or_path)))
        })
    }

    /// Whether a rig's `profile` key means a file rather than a name.
    pub(crate) fn is_path(name_or_path: &str) -> bool {
        name_or_path.contains(['/', '\\']) || name_or_path.ends_with(".toml")
    }

    /// One of [`Profile::embedded`].
    pub(crate) fn by_name(name: &str) -> Option<Arc<Profile>> {
        Self::embedded().iter().find(|profile| profile.name == name).cloned()
    }

    /// What to write instead of an unknown name.
    pub(crate) fn suggestion(name: &str) -> String {
        let names: Vec<_> = Self::embedded().iter().map(|profile| profile.name.as_str()).collect();
        let near = nearest(name, names.iter().copied());
        let mean = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        format!("{mean}allowed: {}, or the path of a .toml file", names.join(", "))
    }

    /// Reads the profile at `path`, which messages call `file`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(file: &str, path: &Path) -> Result<Profile, Diagnostics> {
        let source = SourceFile::read(file, path, MAX_PROFILE_BYTES).map_err(|why| {
            Diagnostics::from(Diagnostic::new(format!("cannot read profile `{file}`: {why}")))
        })?;
        read::parse(&source)
    }

    /// Reads a profile from its text; messages call it `file`, whose stem is the name.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(file: &str, text: &str) -> Result<Profile, Diagnostics> {
        read::parse(&SourceFile::new(file, text, ""))
    }
}

/// How a product is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// It sends UDP datagrams.
    Datagrams,
    /// It has a serial line.
    Line,
    /// Hosts connect to it by TCP.
    Server,
}

/// How hosts talk to a product that sends datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// It has a web interface.
    Web,
    /// It takes commands from a serial line.
    Line,
}

/// The data of each family. The variant is what a profile's `driver` key says.
#[derive(Clone, Debug)]
pub enum DriverProfile {
    /// `velodyne-hdl64e`
    VelodyneHdl64e(Arc<Hdl64eProfile>),
    /// `sick-lms2xx`
    SickLms2xx(Arc<SickLms2xxProfile>),
    /// `velodyne`
    Velodyne(Arc<VelodyneProfile>),
    /// The words of [`crate::config::imu::ImuProtocol`].
    Imu(Arc<ImuProfile>),
    /// `gnss`
    Gnss(Arc<GnssProfile>),
    /// `sick-lms1xx`
    SickLms1xx(Arc<SickLms1xxProfile>),
}
