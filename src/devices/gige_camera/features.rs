//! The one table of a camera's features. Registers, the GenICam description and the table of commands come of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::profile::CameraProfile;
use crate::wire::gige::gvsp::PixelFormat;
use crate::wire::gige::status;

/// Addresses of features.
pub(super) mod at {
    pub const WIDTH: u32 = 0x1_0000;
    pub const HEIGHT: u32 = 0x1_0004;
    pub const OFFSET_X: u32 = 0x1_0008;
    pub const OFFSET_Y: u32 = 0x1_000c;
    pub const SENSOR_WIDTH: u32 = 0x1_0010;
    pub const SENSOR_HEIGHT: u32 = 0x1_0014;
    pub const WIDTH_MAX: u32 = 0x1_0018;
    pub const HEIGHT_MAX: u32 = 0x1_001c;
    pub const PIXEL_FORMAT: u32 = 0x1_0020;
    pub const PAYLOAD_SIZE: u32 = 0x1_0024;
    pub const BINNING_X: u32 = 0x1_0028;
    pub const BINNING_Y: u32 = 0x1_002c;
    pub const TEST_PATTERN: u32 = 0x1_0030;
    pub const REVERSE_X: u32 = 0x1_0034;
    pub const REVERSE_Y: u32 = 0x1_0038;
    pub const MODE: u32 = 0x1_0100;
    pub const FRAME_COUNT: u32 = 0x1_0104;
    pub const START: u32 = 0x1_0108;
    pub const STOP: u32 = 0x1_010c;
    pub const RATE_ENABLE: u32 = 0x1_0110;
    pub const RATE: u32 = 0x1_0118;
    pub const RESULTING_RATE: u32 = 0x1_0120;
    pub const EXPOSURE: u32 = 0x1_0128;
    pub const EXPOSURE_AUTO: u32 = 0x1_0130;
    pub const TRIGGER_SELECTOR: u32 = 0x1_0134;
    pub const TRIGGER_MODE: u32 = 0x1_0138;
    pub const TRIGGER_SOURCE: u32 = 0x1_013c;
    pub const TRIGGER_SOFTWARE: u32 = 0x1_0140;
    pub const TRIGGER_DELAY: u32 = 0x1_0148;
    pub const TRIGGERS_MISSED: u32 = 0x1_0150;
    pub const TRIGGER_ACTIVATION: u32 = 0x1_0154;
    pub const GAIN: u32 = 0x1_0200;
    pub const GAIN_AUTO: u32 = 0x1_0208;
    pub const BLACK: u32 = 0x1_0210;
    pub const GAMMA: u32 = 0x1_0218;
    pub const USER_SET: u32 = 0x1_0300;
    pub const USER_SET_LOAD: u32 = 0x1_0304;
    pub const USER_SET_SAVE: u32 = 0x1_0308;
    pub const RESET: u32 = 0x1_0310;
    pub const TEMPERATURE: u32 = 0x1_0318;
    pub const PARAMS_LOCKED: u32 = 0x1_0320;
    pub const PACKETS_SENT: u32 = 0x1_0324;
    pub const PACKETS_RESENT: u32 = 0x1_0328;
    pub const FRAMES_DROPPED: u32 = 0x1_032c;
    /// First address of the description.
    pub const XML: u32 = 0x2_0000;
}

/// What a feature is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Least, greatest, step; the greatest may be another register's value.
    Integer(u32, u32, u32, Option<u32>),
    /// Least, greatest, unit.
    Float(f64, f64, &'static str),
    Choice(Vec<(&'static str, u32)>),
    Switch,
    Command,
}

/// When a feature can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Not while frames are taken.
    Idle,
}

#[derive(Clone, Debug)]
pub(super) struct Feature {
    pub address: u32,
    pub name: &'static str,
    category: &'static str,
    pub kind: Kind,
    pub access: Access,
    /// Its value at power-on.
    pub start: f64,
}

impl Feature {
    /// Bytes of its register.
    pub fn len(&self) -> u32 {
        if matches!(self.kind, Kind::Float(..)) { 8 } else { 4 }
    }

    /// The register's bytes.
    pub fn to_bytes(&self, value: f64) -> Vec<u8> {
        match self.kind {
            Kind::Float(..) => value.to_be_bytes().to_vec(),
            _ => (value as u32).to_be_bytes().to_vec(),
        }
    }

    /// What bytes of its length mean.
    pub fn of_bytes(&self, bytes: &[u8]) -> f64 {
        match (&self.kind, bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
            (Kind::Float(..), Some(eight), _) => f64::from_be_bytes(*eight),
            (_, _, Some(four)) => u32::from_be_bytes(*four).into(),
            _ => f64::NAN,
        }
    }
}

/// The features of a model, by address.
#[derive(Clone, Debug)]
pub(super) struct Features(pub BTreeMap<u32, Feature>);

impl Features {
    pub fn of(profile: &CameraProfile) -> Self {
        use Access::{Idle, Read, Write};
        use Kind::{Choice, Command, Float, Integer, Switch};
        let settings = &profile.defaults;
        let [width, height] = profile.size;
        let us = profile.timing.exposure_ns.map(|ns| ns as f64 / 1e3);
        let formats = profile.formats().iter().map(|f| (f.word(), f.code())).collect();
        let whole = |greatest: u32| Integer(0, greatest, 1, None);
        let choice = |words: &[&'static str]| Choice(words.iter().copied().zip(0..).collect());
        let auto = || choice(&["Off", "Once", "Continuous"]);
        const IMAGE: &str = "ImageFormatControl";
        const ACQUISITION: &str = "AcquisitionControl";
        const ANALOG: &str = "AnalogControl";
        const DEVICE: &str = "DeviceControl";
        const TRANSPORT: &str = "TransportLayerControl";
        const SETS: &str = "UserSetControl";
        let rows = [
            (
                at::WIDTH,
                "Width",
                IMAGE,
                Integer(16, width, 4, Some(at::WIDTH_MAX)),
                Idle,
                settings.image_size[0].into(),
            ),
            (
                at::HEIGHT,
                "Height",
                IMAGE,
                Integer(16, height, 2, Some(at::HEIGHT_MAX)),
                Idle,
                settings.image_size[1].into(),
            ),
            (at::OFFSET_X, "OffsetX", IMAGE, Integer(0, width, 4, None), Idle, 0.0),
            (at::OFFSET_Y, "OffsetY", IMAGE, Integer(0, height, 2, None), Idle, 0.0),
            (at::SENSOR_WIDTH, "SensorWidth", IMAGE, whole(width), Read, width.into()),
            (at::SENSOR_HEIGHT, "SensorHeight", IMAGE, whole(height), Read, height.into()),
            (at::WIDTH_MAX, "WidthMax", IMAGE, whole(width), Read, width.into()),
            (at::HEIGHT_MAX, "HeightMax", IMAGE, whole(height), Read, height.into()),
            (
                at::PIXEL_FORMAT,
                "PixelFormat",
                IMAGE,
                Choice(formats),
                Idle,
                settings.pixel_format.code().into(),
            ),
            (
                at::BINNING_X,
                "BinningHorizontal",
                IMAGE,
                Choice(vec![("1", 1), ("2", 2), ("4", 4)]),
                Idle,
                1.0,
            ),
            (
                at::BINNING_Y,
                "BinningVertical",
                IMAGE,
                Choice(vec![("1", 1), ("2", 2), ("4", 4)]),
                Idle,
                1.0,
            ),
            (
                at::TEST_PATTERN,
                "TestPattern",
                IMAGE,
                choice(&["Off", "GreyHorizontalRamp", "GreyHorizontalRampMoving", "ColorBar"]),
                Write,
                0.0,
            ),
            (at::REVERSE_X, "ReverseX", IMAGE, Switch, Idle, 0.0),
            (at::REVERSE_Y, "ReverseY", IMAGE, Switch, Idle, 0.0),
            (
                at::MODE,
                "AcquisitionMode",
                ACQUISITION,
                choice(&["Continuous", "SingleFrame", "MultiFrame"]),
                Idle,
                0.0,
            ),
            (
                at::FRAME_COUNT,
                "AcquisitionFrameCount",
                ACQUISITION,
                Integer(1, 65_535, 1, None),
                Idle,
                1.0,
            ),
            (at::START, "AcquisitionStart", ACQUISITION, Command, Write, 0.0),
            (at::STOP, "AcquisitionStop", ACQUISITION, Command, Write, 0.0),
            (at::RATE_ENABLE, "AcquisitionFrameRateEnable", ACQUISITION, Switch, Write, 1.0),
            (
                at::RATE,
                "AcquisitionFrameRate",
                ACQUISITION,
                Float(0.1, 1000.0, "Hz"),
                Write,
                settings.frame_rate_hz,
            ),
            (
                at::RESULTING_RATE,
                "AcquisitionResultingFrameRate",
                ACQUISITION,
                Float(0.0, 1000.0, "Hz"),
                Read,
                0.0,
            ),
            (
                at::EXPOSURE,
                "ExposureTime",
                ACQUISITION,
                Float(us[0], us[1], "us"),
                Write,
                settings.exposure_us,
            ),
            (at::EXPOSURE_AUTO, "ExposureAuto", ACQUISITION, auto(), Write, 0.0),
            (
                at::TRIGGER_SELECTOR,
                "TriggerSelector",
                ACQUISITION,
                choice(&["FrameStart"]),
                Write,
                0.0,
            ),
            (at::TRIGGER_MODE, "TriggerMode", ACQUISITION, choice(&["Off", "On"]), Write, 0.0),
            (
                at::TRIGGER_SOURCE,
                "TriggerSource",
                ACQUISITION,
                choice(&["Software", "Action1"]),
                Write,
                0.0,
            ),
            (
                at::TRIGGER_ACTIVATION,
                "TriggerActivation",
                ACQUISITION,
                choice(&["RisingEdge"]),
                Write,
                0.0,
            ),
            (at::TRIGGER_SOFTWARE, "TriggerSoftware", ACQUISITION, Command, Write, 0.0),
            (at::TRIGGER_DELAY, "TriggerDelay", ACQUISITION, Float(0.0, 1e6, "us"), Write, 0.0),
            (at::TRIGGERS_MISSED, "MissedTriggerCount", ACQUISITION, whole(u32::MAX), Read, 0.0),
            (at::GAIN, "Gain", ANALOG, Float(0.0, 48.0, "dB"), Write, settings.gain_db),
            (at::GAIN_AUTO, "GainAuto", ANALOG, auto(), Write, 0.0),
            (at::BLACK, "BlackLevel", ANALOG, Float(0.0, 255.0, "DN"), Write, 0.0),
            (at::GAMMA, "Gamma", ANALOG, Float(0.1, 4.0, ""), Write, 1.0),
            (at::USER_SET, "UserSetSelector", SETS, choice(&["Default", "UserSet1"]), Write, 0.0),
            (at::USER_SET_LOAD, "UserSetLoad", SETS, Command, Idle, 0.0),
            (at::USER_SET_SAVE, "UserSetSave", SETS, Command, Write, 0.0),
            (at::RESET, "DeviceReset", DEVICE, Command, Write, 0.0),
            (
                at::TEMPERATURE,
                "DeviceTemperature",
                DEVICE,
                Float(-273.0, 500.0, "C"),
                Read,
                profile.identity.temperature_c,
            ),
            (at::PAYLOAD_SIZE, "PayloadSize", TRANSPORT, whole(u32::MAX), Read, 0.0),
            (at::PARAMS_LOCKED, "TLParamsLocked", TRANSPORT, whole(1), Write, 0.0),
            (at::PACKETS_SENT, "StreamPacketsSent", TRANSPORT, whole(u32::MAX), Read, 0.0),
            (at::PACKETS_RESENT, "StreamPacketsResent", TRANSPORT, whole(u32::MAX), Read, 0.0),
            (at::FRAMES_DROPPED, "StreamFramesDropped", TRANSPORT, whole(u32::MAX), Read, 0.0),
        ];
        let features = rows.into_iter().map(|(address, name, category, kind, access, start)| {
            (address, Feature { address, name, category, kind, access, start })
        });
        Self(features.collect())
    }

    /// The feature whose register holds the word at `address`, and the word's place in it.
    pub fn word(&self, address: u32) -> Option<(&Feature, usize)> {
        let (_, feature) = self.0.range(..=address).next_back()?;
        let into = address - feature.address;
        (into < feature.len()).then_some((feature, into as usize))
    }

    /// A value as the camera takes it.
    ///
    /// # Errors
    /// The status that refuses it.
    pub fn checked(&self, feature: &Feature, value: f64, most: Option<f64>) -> Result<f64, u16> {
        let refused = Err(status::INVALID_PARAMETER);
        match &feature.kind {
            Kind::Integer(least, greatest, step, _) => {
                let greatest = most.unwrap_or_else(|| (*greatest).into());
                let fits = (f64::from(*least)..=greatest).contains(&value);
                if fits && (value - f64::from(*least)) % f64::from(*step) == 0.0 {
                    Ok(value)
                } else {
                    refused
                }
            }
            // Floats are clipped, as cameras do; clients read back.
            Kind::Float(least, greatest, _) => {
                if value.is_finite() {
                    Ok(value.clamp(*least, *greatest))
                } else {
                    refused
                }
            }
            Kind::Choice(words) if words.iter().all(|(_, number)| f64::from(*number) != value) => {
                refused
            }
            Kind::Switch if value > 1.0 => refused,
            Kind::Choice(_) | Kind::Switch | Kind::Command => Ok(value),
        }
    }

    /// The description of the camera for GenICam clients.
    pub fn xml(&self, profile: &CameraProfile) -> String {
        let [vendor, model, ..] = &profile.identity.texts;
        let minor = profile.identity.schema_minor;
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<RegisterDescription ModelName=\"{}\" VendorName=\"{vendor}\" ToolTip=\"{model}\" StandardNameSpace=\"GEV\" SchemaMajorVersion=\"1\" SchemaMinorVersion=\"{minor}\" SchemaSubMinorVersion=\"0\" MajorVersion=\"1\" MinorVersion=\"0\" SubMinorVersion=\"0\" ProductGuid=\"6d656e75-7261-4000-8000-000000000001\" VersionGuid=\"6d656e75-7261-4000-8000-000000000002\" xmlns=\"http://www.genicam.org/GenApi/Version_1_{minor}\">\n",
            model.replace(' ', "_"),
        );
        let mut categories: Vec<(&str, Vec<&str>)> = Vec::new();
        for feature in self.0.values() {
            match categories.iter_mut().find(|(name, _)| *name == feature.category) {
                Some((_, names)) => names.push(feature.name),
                None => categories.push((feature.category, vec![feature.name])),
            }
        }
        const TRANSPORT: [&str; 3] = ["GevSCPSPacketSize", "GevSCPSFireTestPacket", "GevSCPD"];
        const TEXTS: [(&str, u32, u32, &str); 6] = [
            ("DeviceVendorName", 0x48, 32, "RO"),
            ("DeviceModelName", 0x68, 32, "RO"),
            ("DeviceVersion", 0x88, 32, "RO"),
            ("DeviceManufacturerInfo", 0xa8, 48, "RO"),
            ("DeviceSerialNumber", 0xd8, 16, "RO"),
            ("DeviceUserID", 0xe8, 16, "RW"),
        ];
        for (name, names) in &mut categories {
            match *name {
                "TransportLayerControl" => names.extend(TRANSPORT),
                "DeviceControl" => names.extend(TEXTS.map(|(name, ..)| name)),
                _ => {}
            }
        }
        // Writing to a string cannot fail.
        let mut category = |name: &str, names: &[&str]| {
            let _ = writeln!(xml, "<Category Name=\"{name}\">");
            names.iter().for_each(|name| _ = writeln!(xml, "<pFeature>{name}</pFeature>"));
            let _ = writeln!(xml, "</Category>");
        };
        category("Root", &categories.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        categories.iter().for_each(|(name, names)| category(name, names));
        for feature in self.0.values() {
            self.node(feature, &mut xml);
        }
        for (name, address, len, access) in TEXTS {
            let _ = writeln!(
                xml,
                "<StringReg Name=\"{name}\"><Address>{address:#x}</Address><Length>{len}</Length><AccessMode>{access}</AccessMode><pPort>Device</pPort></StringReg>"
            );
        }
        let masked = |name: &str, bits: &str| {
            format!(
                "<MaskedIntReg Name=\"{name}\"><Address>0xd04</Address><Length>4</Length><AccessMode>RW</AccessMode><pPort>Device</pPort><Cachable>NoCache</Cachable>{bits}<Sign>Unsigned</Sign><Endianess>BigEndian</Endianess></MaskedIntReg>\n"
            )
        };
        xml.push_str("<Integer Name=\"GevSCPSPacketSize\"><pValue>GevSCPSPacketSizeReg</pValue><Min>220</Min><Max>9000</Max><Inc>4</Inc></Integer>\n");
        xml.push_str(&masked("GevSCPSPacketSizeReg", "<LSB>31</LSB><MSB>16</MSB>"));
        xml.push_str("<Command Name=\"GevSCPSFireTestPacket\"><pValue>GevSCPSFireTestPacketReg</pValue><CommandValue>1</CommandValue></Command>\n");
        xml.push_str(&masked("GevSCPSFireTestPacketReg", "<Bit>0</Bit>"));
        xml.push_str("<Integer Name=\"GevSCPD\"><pValue>GevSCPDReg</pValue><Min>0</Min><Max>10000000</Max></Integer>\n<IntReg Name=\"GevSCPDReg\"><Address>0xd08</Address><Length>4</Length><AccessMode>RW</AccessMode><pPort>Device</pPort><Cachable>NoCache</Cachable><Sign>Unsigned</Sign><Endianess>BigEndian</Endianess></IntReg>\n");
        xml.push_str("<Port Name=\"Device\"/>\n</RegisterDescription>\n");
        xml
    }

    fn node(&self, feature: &Feature, xml: &mut String) {
        let Feature { name, address, .. } = feature;
        let access = match feature.access {
            Access::Read => "RO",
            Access::Write | Access::Idle if feature.kind == Kind::Command => "WO",
            Access::Write | Access::Idle => "RW",
        };
        let value = format!("<pValue>{name}Reg</pValue>");
        let _ = match &feature.kind {
            Kind::Integer(least, greatest, step, register) => {
                let most = register.and_then(|address| self.0.get(&address));
                let most = match most {
                    Some(most) => format!("<pMax>{}</pMax>", most.name),
                    None => format!("<Max>{greatest}</Max>"),
                };
                writeln!(
                    xml,
                    "<Integer Name=\"{name}\">{value}<Min>{least}</Min>{most}<Inc>{step}</Inc></Integer>"
                )
            }
            Kind::Float(least, greatest, unit) => writeln!(
                xml,
                "<Float Name=\"{name}\">{value}<Min>{least}</Min><Max>{greatest}</Max><Unit>{unit}</Unit></Float>"
            ),
            Kind::Choice(words) => {
                let entries: String = words
                    .iter()
                    .map(|(word, number)| {
                        format!("<EnumEntry Name=\"{word}\"><Value>{number}</Value></EnumEntry>")
                    })
                    .collect();
                // Numbers are integers to clients.
                if words.iter().all(|(word, _)| word.parse::<u32>().is_ok()) {
                    let most = words.last().map_or(1, |(_, number)| *number);
                    writeln!(
                        xml,
                        "<Integer Name=\"{name}\">{value}<Min>1</Min><Max>{most}</Max><Inc>1</Inc></Integer>"
                    )
                } else {
                    writeln!(xml, "<Enumeration Name=\"{name}\">{entries}{value}</Enumeration>")
                }
            }
            Kind::Switch => writeln!(
                xml,
                "<Boolean Name=\"{name}\">{value}<OnValue>1</OnValue><OffValue>0</OffValue></Boolean>"
            ),
            Kind::Command => {
                writeln!(
                    xml,
                    "<Command Name=\"{name}\">{value}<CommandValue>1</CommandValue></Command>"
                )
            }
        };
        let (tag, sign) = match feature.kind {
            Kind::Float(..) => ("FloatReg", ""),
            _ => ("IntReg", "<Sign>Unsigned</Sign>"),
        };
        let len = feature.len();
        let _ = writeln!(
            xml,
            "<{tag} Name=\"{name}Reg\"><Address>{address:#x}</Address><Length>{len}</Length><AccessMode>{access}</AccessMode><pPort>Device</pPort><Cachable>NoCache</Cachable>{sign}<Endianess>BigEndian</Endianess></{tag}>"
        );
    }
}

/// The values of all features.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Values(BTreeMap<u32, f64>);

impl Values {
    pub fn of(features: &Features) -> Self {
        Self(features.0.values().map(|feature| (feature.address, feature.start)).collect())
    }

    pub fn get(&self, address: u32) -> f64 {
        self.0.get(&address).copied().unwrap_or(0.0)
    }

    pub fn whole(&self, address: u32) -> u32 {
        self.get(address) as u32
    }

    pub fn set(&mut self, address: u32, value: f64) {
        self.0.insert(address, value);
    }

    /// How pixels are written.
    pub fn format(&self) -> PixelFormat {
        PixelFormat::of_code(self.whole(at::PIXEL_FORMAT)).unwrap_or(PixelFormat::Mono8)
    }

    /// Offset in x and y, width and height.
    pub fn region(&self) -> [u32; 4] {
        [at::OFFSET_X, at::OFFSET_Y, at::WIDTH, at::HEIGHT].map(|address| self.whole(address))
    }

    /// Bytes of an image.
    pub fn payload(&self) -> usize {
        let [_, _, width, height] = self.region();
        self.format().image_len(width, height)
    }
}
